"""Refusals as responses: one shape, lengths that reveal nothing, and headers that forbid caching."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from giveortake.wire.causes import BY_NAME, document_of

if TYPE_CHECKING:
    from giveortake.wire.causes import Cause

Headers = list[tuple[bytes, bytes]]

_LENGTH = 1024  # bytes; every refusal is a multiple of it long
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE: Headers = [  # of every response, whoever makes it: the server adds them
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", POLICY.encode()),
]
_JSON: Headers = [(b"content-type", b"application/json")]


class Superseded(Exception):
    """What a worker has loaded is not the newest version of its table any more; nothing was done."""


class Refused(Exception):
    """A request is refused: the cause, and what may be said about it."""

    def __init__(
        self,
        cause: Cause | str,
        document: dict[str, Any] | None = None,
        *,
        without_token: bool = False,
        why: str | None = None,
        defect: bool = False,
        retry_after: int = 1,
    ) -> None:
        self.without_token = without_token  # nobody was named: a first visit
        self.why = why  # for custodians alone
        self.defect = defect  # an error of ours, which no limit explains
        self.retry_after = retry_after  # seconds, after too many requests
        self.cause = BY_NAME[cause] if isinstance(cause, str) else cause
        self.document = document_of(self.cause) if document is None else document
        super().__init__(self.cause.name)


def refusal_bytes(
    cause: Cause, message: str | None = None, hint: str | None = None, document: dict[str, Any] | None = None
) -> tuple[Headers, bytes]:
    """Headers and body of a refusal."""
    told = document_of(cause, message, hint) if document is None else document
    body = json.dumps(told, ensure_ascii=False).encode()
    body = body.ljust(-(-len(body) // _LENGTH) * _LENGTH)
    more: Headers = [(b"www-authenticate", b"Bearer")] if cause.status == 401 else []
    return [*_JSON, *more, (b"content-length", str(len(body)).encode())], body


def json_bytes(document: Any) -> tuple[Headers, bytes]:
    """Headers and body of a result."""
    body = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return [*_JSON, (b"content-length", str(len(body)).encode())], body


def malformed(problem: str, hint: str | None = None) -> Refused:
    """The refusal of a request whose shape is wrong, in words of our own."""
    cause = BY_NAME["malformed"]
    return Refused(cause, document_of(cause, problem, hint))
