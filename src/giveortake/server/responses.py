"""What is read and sent: strict JSON, refusals of one shape, results in several formats, at fixed times.

- JSON that means one thing only: what two readers could read differently is refused, and so is what costs too much.
- Refusals as responses: one shape, lengths that reveal nothing, and headers that forbid caching.
- Results as JSON, Arrow IPC, Parquet, or CSV without formulas. Workers write them, and the front process hands on the
  bytes: it has one loop for everybody, which a large document would keep waiting.
- Fixed times: the moment at which a result is sent reveals nothing about rows.
"""

from __future__ import annotations

import io
import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import InvalidParameter
from giveortake.wire.errors import BY_NAME, document_of

if TYPE_CHECKING:
    from giveortake.answers import Answer
    from giveortake.wire.errors import Cause

    Result = dict[str, Any] | tuple[dict[str, Any], bytes]


DEEPEST = 16
_MOST_DIGITS = 64  # of a number


class NotStrict(ValueError):
    """The text is not JSON, or could be read in two ways. The error says nothing about its content."""


def read(body: bytes, deepest: int = DEEPEST) -> Any:
    """Read a JSON text in UTF-8.

    Names that occur twice in an object, NaN and infinities, halves of characters, numbers of very many digits and deep
    nesting are refused: different readers make different things of them.

    >>> read(b'{"epsilon": "0.1", "n": [1, 2.5, null]}')
    {'epsilon': '0.1', 'n': [1, 2.5, None]}
    >>> read(b'{"epsilon": 1, "epsilon": 2}')
    Traceback (most recent call last):
    giveortake.server.responses.NotStrict
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_finite,
        )
    except (ValueError, RecursionError):
        raise NotStrict from None
    _require_plain(value, deepest)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise NotStrict
    return fields


def _refuse(_text: str) -> Any:
    raise NotStrict


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise NotStrict
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if len(text) > _MOST_DIGITS or not math.isfinite(number):
        raise NotStrict
    return number


def _require_plain(value: Any, deepest: int) -> None:
    """Refuse deep nesting and lone surrogates, wherever they are."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > deepest:
            raise NotStrict
        below: list[Any] = []
        for node in level:
            if isinstance(node, str):
                _require_whole(node)
            elif isinstance(node, list):
                below.extend(node)
            elif isinstance(node, dict):
                for name in node:
                    _require_whole(name)
                below.extend(node.values())
        level = below


def _require_whole(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotStrict from None


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


class StaleTable(Exception):
    """What a worker has loaded is not the newest version of its table any more; nothing was done."""


class Refusal(Exception):
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
    refusal = document_of(cause, message, hint) if document is None else document
    body = json.dumps(refusal, ensure_ascii=False).encode()
    body = body.ljust(-(-len(body) // _LENGTH) * _LENGTH)
    challenge: Headers = [(b"www-authenticate", b"Bearer")] if cause.status == 401 else []
    return [*_JSON, *challenge, (b"content-length", str(len(body)).encode())], body


def json_bytes(document: Any) -> tuple[Headers, bytes]:
    """Headers and body of a result."""
    body = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return [*_JSON, (b"content-length", str(len(body)).encode())], body


def malformed(problem: str, hint: str | None = None) -> Refusal:
    """The refusal of a request whose shape is wrong, in words of our own."""
    cause = BY_NAME["malformed"]
    return Refusal(cause, document_of(cause, problem, hint))


MEDIA = {
    "json": "application/json",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv; charset=utf-8",
}


def formatted(answer: Answer, wanted: str) -> Result:
    """An answer as the bytes of a file in a format, with the id of its release."""
    return {"release_id": answer.release_id}, _WRITERS[wanted](answer)


def json_result(document: dict[str, Any], release: str | None = None) -> Result:
    """A large JSON document as bytes, with the id of its release."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return {"release_id": release}, text.encode()


def _json(answer: Answer) -> bytes:
    return answer.to_json().encode()


def _arrow(answer: Answer) -> bytes:
    try:
        import pyarrow  # noqa: PLC0415 (heavy, and optional)
    except ImportError:
        raise InvalidParameter(
            "format", "arrow", "is not available here: pyarrow is not installed", hint="format=parquet"
        ) from None
    out, table = io.BytesIO(), answer.to_arrow()
    with pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _parquet(answer: Answer) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.parquet"
        answer.to_parquet(path)
        return path.read_bytes()


def _csv(answer: Answer) -> bytes:
    return (answer.to_csv() or "").encode()


_WRITERS = {"json": _json, "arrow": _arrow, "parquet": _parquet, "csv": _csv}


@final
@dataclass(frozen=True, slots=True)
class SendTime:
    """The moment when a result is sent, and how many fixed times that takes; more than one is an overrun."""

    at: float
    turns: int

    @property
    def is_overrun(self) -> bool:
        """Whether it took more than one fixed time."""
        return self.turns > 1


def send_time(arrived: float, done: float, fixed: float) -> SendTime:
    """When to send a result that was asked for at `arrived` and is ready at `done`.

    Guarantee: it leaves a whole number of times `fixed` after its request, whatever it is: an answer, a stored answer,
    a refusal or a failure. So its time tells that number alone, which is one unless it is an overrun. Who sees that
    k of N requests were overruns learns at most log₂ Σ_{j ≤ k} C(N, j) bits from which, as long as none takes twice.

    >>> send_time(10.0, 10.3, 2.0), send_time(10.0, 12.5, 2.0).is_overrun
    (SendTime(at=12.0, turns=1), True)
    """
    turns = max(1, math.ceil((done - arrived) / fixed))
    return SendTime(arrived + turns * fixed, turns)
