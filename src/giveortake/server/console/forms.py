"""Forms that are made of the table of operations: what is filled in, and the arguments in what was sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from giveortake.operations import BY_NAME, Instead, kind_of, words_of
from giveortake.server.custodian_routes import perform
from giveortake.server.responses import malformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from giveortake.codec import Part
    from giveortake.operations import Operation
    from giveortake.server.routes import Call

DAYS = {"": "as long as usual", "1": "a day", "7": "a week", "30": "30 days", "90": "90 days", "365": "a year"}
_NUMBERS = {"epsilon": "ε", "delta": "δ, beside ε", "rho": "or ρ", "mu": "or μ"}
_REASON = "by the custodian, in the console"


def form_of(name: str, typed: Mapping[str, str], choices: Mapping[str, Iterable[tuple[str, str]]]) -> dict[str, Any]:
    """A form as a template draws it: its fields, and what was typed into them if it was sent before."""
    operation = BY_NAME[name]
    filled = typed if typed.get("do") == name else {}
    fields = [
        {
            "name": part.name,
            "label": part.name.replace("_", " ").capitalize(),
            "help": part.description,
            "kind": kind_of(part),
            "required": not part.has_default,
            "words": words_of(part),
            "choices": choices.get(part.name),
        }
        for part in _parts(operation)
    ]
    summary = operation.summary
    return {"do": name, "title": summary[:1].upper() + summary[1:], "fields": fields, "filled": filled}


async def perform_form(call: Call, form: Mapping[str, str]) -> dict[str, Any]:
    """Do the operation that a form names, with what is filled in; a reason that is left empty names the console."""
    operation = BY_NAME[form["do"]]
    arguments = {part.name: argument for part in _parts(operation) if (argument := _argument(part, form)) is not None}
    if "reason" in operation.parts:
        arguments.setdefault("reason", _REASON)
    return await perform(call, operation.name, arguments)


def _parts(operation: Operation) -> list[Part]:
    """The arguments that a form asks for: a page knows the numbers of budgets."""
    return [part for part in operation.parts.values() if not any(isinstance(mark, Instead) for mark in part.remarks)]


def _argument(part: Part, form: Mapping[str, str]) -> Any:
    """What a form states for an argument; None if nothing."""
    text = form.get(part.name, "")
    if text in words_of(part):
        return text
    match kind_of(part):
        case "budget":
            return {name: form[f"{part.name}-{name}"] for name in _NUMBERS if form.get(f"{part.name}-{name}")} or None
        case "names":
            return [field.removeprefix(f"{part.name}-") for field in form if field.startswith(f"{part.name}-")] or None
        case "number" | "moment" if text and not (text.isascii() and text.isdigit() and len(text) < 16):
            raise malformed(f"“{part.name.replace('_', ' ').capitalize()}” is not a whole number")
        case "number":
            return int(text) if text else None
        case "moment":
            return (datetime.now(UTC) + timedelta(days=int(text))).isoformat() if text in DAYS and text else None
    return text or None
