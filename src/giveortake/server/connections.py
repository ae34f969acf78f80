"""Connections that cost little, whoever is at the other end: slow and endless requests are cut.

uvicorn waits for ever for the end of a header, and reads for ever what nobody wants. Here

- a request line and its headers have to arrive whole within `patience` seconds of the first byte, or of the connection;
- of a body that was refused unread, a little is read and thrown away, so that the refusal arrives; then it is cut;
- a response that the other side does not take in `patience` seconds is cut;
- a request that says in two ways where its body ends is refused, and its connection closed (RFC 9112, 6.1).

The time for a body is kept by the guard, which reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from giveortake.server.refusals import refusal_bytes
from giveortake.wire.causes import BY_NAME

if TYPE_CHECKING:
    import asyncio

_LONGEST_HEAD = 16 * 1024  # bytes of a request line and its headers
_THROWN_AWAY = 1 << 20  # bytes of a body that was refused


_TWO_ENDS = frozenset({b"content-length", b"transfer-encoding"})


class _OneEnd(h11.Connection):
    """A connection on which no other reader, such as a proxy, can take a part of a body for the next request."""

    def next_event(self) -> Any:  # (of many types, as h11 has it)
        event = super().next_event()
        if isinstance(event, h11.Request) and _TWO_ENDS.issubset(name for name, _ in event.headers):
            raise h11.RemoteProtocolError("a body with two ends")
        return event


class PatientProtocol(H11Protocol):
    """The HTTP/1.1 protocol of uvicorn, with time limits."""

    patience = 10.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _OneEnd(h11.SERVER, _LONGEST_HEAD)
        self._head: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._thrown_away = 0

    def connection_made(self, transport: Any) -> None:  # (a transport of asyncio, as uvicorn narrows it)
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        if self._between_requests:
            self._await_head()
        elif self.cycle.response_complete:
            self._thrown_away += len(data)
            if self._thrown_away > _THROWN_AWAY:
                self.transport.abort()
                return
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if not self._between_requests:
            self._head = _cancelled(self._head)
        if self.conn.their_state is not h11.SEND_BODY:
            self._rest = _cancelled(self._rest)

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY and self._rest is None:
            self._thrown_away = 0
            self._rest = self.loop.call_later(self.patience, self.transport.abort)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._writing = _cancelled(self._writing)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head, self._rest, self._writing = map(_cancelled, (self._head, self._rest, self._writing))
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse in the shape of all refusals, without uvicorn's words."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers, body = refusal_bytes(BY_NAME["malformed"], "this is not a valid HTTP/1.1 request")
            event = h11.Response(status_code=400, headers=[*headers, (b"connection", b"close")], reason=b"Bad Request")
            for each in (event, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(each) or b"")
        self.transport.close()

    @property
    def _between_requests(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _await_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(self.patience, self.transport.abort)


def protocol(patience: float) -> type[PatientProtocol]:
    """The protocol with this patience, in seconds."""
    return type("Protocol", (PatientProtocol,), {"patience": patience})


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer, and return None."""
    if timer is not None:
        timer.cancel()
    return None
