"""Requests to a service: retries use the same key, so that they cost once; errors are those of a local session."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any, final
from urllib.parse import quote, urlencode, urlsplit
from weakref import WeakSet

from giveortake.errors import HIDDEN, InvalidParameter, LedgerUnavailable, Unavailable, safe_text
from giveortake.wire.errors import error_of

_PAUSES = (0.2, 1.0, 3.0)  # seconds before each retry
_MOST = 1 << 30  # bytes of a reply


@final
class _ThreadConnection:
    """The connection of one thread, which is closed when the thread ends."""

    __slots__ = ("__weakref__", "busy", "http")

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.http, self.busy = connection, threading.Lock()

    def __del__(self) -> None:
        self.http.close()


@final
class Connection:
    """A service at an address, and a token. Threads may share it; each has a connection of its own."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        parts = urlsplit(url if hasattr(url, "encode") else "")
        if parts.scheme not in {"http", "https"} or parts.hostname is None:
            shown_url = HIDDEN if "@" in str(url) else safe_text(url)  # a password may precede the @
            raise InvalidParameter(
                "url", shown_url, "is not the address of a service", hint="it begins with http:// or https://"
            )
        token = token.strip() if hasattr(token, "encode") else ""  # files end with a line break
        if not token or not token.isascii() or not token.isprintable():
            raise InvalidParameter("token", HIDDEN, "is not a token", hint="the custodian issues them")
        if not hasattr(timeout, "as_integer_ratio") or not 0 < timeout < float("inf"):
            raise InvalidParameter("timeout", timeout, "is not a positive number of seconds")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._token, self._timeout = token, float(timeout)
        self._per_thread = threading.local()
        self._all: WeakSet[_ThreadConnection] = WeakSet()  # of all threads that are alive
        self._adding = threading.Lock()
        self._is_closed = False

    def get(self, *path: str, **query: Any) -> dict[str, Any]:
        """Send a GET request, and return the document of the reply."""
        return self._sent("GET", path, {name: value for name, value in query.items() if value is not None}, None)

    def post(self, *path: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
        """Send a POST request, and return the document of the reply. If it costs something, the body has a key."""
        parameters = {name: value for name, value in query.items() if value is not None}
        return self._sent("POST", path, parameters, json.dumps(json_value(body)).encode())

    def close(self) -> None:
        """Close the connections of all threads; those with a request under way, when their threads end."""
        self._is_closed = True
        with self._adding:
            connections = list(self._all)
        for connection in connections:
            if connection.busy.acquire(blocking=False):
                try:
                    connection.http.close()
                finally:
                    connection.busy.release()

    def _sent(self, method: str, path: tuple[str, ...], query: dict[str, Any], body: bytes | None) -> dict[str, Any]:
        target = f"{self._prefix}/v1/" + "/".join(quote(part, safe="") for part in path)
        if query:
            target += f"?{urlencode(query)}"
        if self._is_closed:
            raise LedgerUnavailable("this session is closed", hint="gt.connect(…) opens it again")
        pauses = [*_PAUSES]
        while True:
            pause = pauses.pop(0) if pauses else None
            try:
                status, content = self._once(method, target, body)
            except (OSError, http.client.HTTPException) as error:
                if pause is None:
                    port = "" if self._port is None else f":{self._port}"
                    plain = ", or does it speak plain http://" if isinstance(error, ssl.SSLError) else ""
                    raise Unavailable(
                        f"the service at {self._host}{port} cannot be reached: {type(error).__name__}",
                        hint=f"is its address right{plain}, and is it running?",
                    ) from None
            else:
                document = _read(content)
                if status == 200:
                    return document
                if status == 202:  # it is under way, and has waited: the same request goes on waiting
                    pauses = [*_PAUSES]
                    continue
                refusal, retryable = error_of(document)
                if not retryable or pause is None:
                    raise refusal
            time.sleep(pause)

    def _once(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        own = self._connection()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        with own.busy:
            try:
                own.http.request(method, target, body=body, headers=headers)
                reply = own.http.getresponse()
                return reply.status, reply.read(_MOST)
            except BaseException:
                own.http.close()  # a late reply must not be read as the next one
                raise

    def _connection(self) -> _ThreadConnection:
        own: _ThreadConnection | None = getattr(self._per_thread, "connection", None)
        if own is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            own = self._per_thread.connection = _ThreadConnection(kind(self._host, self._port, timeout=self._timeout))
            with self._adding:
                self._all.add(own)
        return own

    def __repr__(self) -> str:
        return f"<Connection to {self._host}>"


def json_value(value: Any) -> Any:
    """A value that JSON can hold exactly: fractions and decimals become texts.

    >>> json_value({"epsilon": Fraction(1, 3), "margin": Decimal("0.5"), "n": 3})
    {'epsilon': '1/3', 'margin': '0.5', 'n': 3}
    """
    match value:
        case Fraction() | Decimal():
            return str(value)
        case dict():
            return {name: json_value(element) for name, element in value.items()}
        case list() | tuple():
            return [json_value(element) for element in value]
        case None | bool() | int() | float() | str():
            return value
    item = getattr(value, "item", None)  # a numpy number
    if callable(item):
        return json_value(item())
    raise InvalidParameter("terms", value, f"hold a {type(value).__name__}, which cannot be sent")


def _read(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {}
