"""Routes of custodians and auditors, made of the table of operations. Every change is in the ledger, with its token."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from giveortake import codec
from giveortake.operations import BY_NAME, OPERATIONS, Instead, kind_of
from giveortake.server.responses import Refusal
from giveortake.server.routes import TEXT, WHOLE, Call, Result, Route, Schema, inlined, maybe, object_of

if TYPE_CHECKING:
    from giveortake.operations import Operation


async def run(operation: Operation, call: Call) -> Result:
    """The handler of a row: what the path, the query and the body say are its arguments."""
    numbers = {name: _number(text) for name, text in call.path.items() if kind_of(operation.parts[name]) == "number"}
    return await perform(call, operation.name, call.query | call.body | call.path | numbers)


async def perform(call: Call, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """Let a ledger worker do the operation of that name; after a change, this process looks up every token again."""
    slow = name in {"ledger entries", "ledger releases"}
    document = await call.service.ask_ledger(call, "run", slow=slow, name=name, arguments=arguments or {})
    if BY_NAME[name].changes:
        call.service.expire_tokens()
    return document


async def verify(call: Call) -> Result:
    """Verify the ledger: derive everything in it anew, however long that takes."""
    verification = await call.service.check.run()
    assert verification is not None  # noqa: S101 (it was waited for)
    return verification


async def progress(call: Call) -> Result:
    """How far the check of the ledger is, or what the last one found."""
    return call.service.check.progress()


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Refusal("not_found")
    return int(text)


def _route(operation: Operation) -> Route:
    """The route of a row; what its path says is no field of its body."""
    method, path = operation.route.split()
    parts = {
        name: part
        for name, part in operation.parts.items()
        if not {name, *(mark.of for mark in part.remarks if isinstance(mark, Instead))} & set(_NAMES.findall(path))
    }
    fields = {name: inlined(codec.schema(part.hint)) for name, part in parts.items()}
    needed = [name for name, part in parts.items() if not part.has_default]
    return Route(
        *(cast("Literal['GET', 'POST']", method), path, operation.role, operation.summary),
        verify if operation.name == "ledger verify" else partial(run, operation),
        body=object_of(*needed, **fields) if method == "POST" and operation.changes else None,
        query=fields if method == "GET" else {},
        result=_RESULTS.get(operation.name, {"type": "object"}),
    )


_NAMES = re.compile(r"{(\w+)}")
_VERIFIED = object_of("entries", entries=WHOLE, ledger=TEXT, reservations=WHOLE, answers=WHOLE, levels=WHOLE, head=TEXT)
_RESULTS: dict[str, Schema] = {"ledger verify": _VERIFIED}
_CHECKS: Schema = {"type": "string", "enum": ["none", "running", "holds", "failed"]}
ROUTES = (
    *map(_route, OPERATIONS),
    Route(
        *("GET", "/v1/ledger/check", "auditor", "how far the check is, or what the last one found", progress),
        result=object_of(
            "state", "checked", "entries", state=_CHECKS, checked=WHOLE, entries=WHOLE, result=maybe(_VERIFIED)
        ),
    ),
)
