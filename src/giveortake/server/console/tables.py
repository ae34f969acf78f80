"""The page that adds a table by a form: a file, its columns by header and types, their domains, and a budget.

What does not fit is reported by the names of the form's fields, before anything is tried.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from giveortake.server import added_tables, custodian_routes
from giveortake.server.console.login import Told, told
from giveortake.server.console.views import at, number_said, page
from giveortake.server.guard import shaped
from giveortake.server.responses import Refused
from giveortake.server.routes import Call, Result, Route, of, text
from giveortake.wire.errors import BY_NAME, document_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_ENDS = {"low": "Lowest", "high": "Highest"}
_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ"}
_WRITE = {
    "date": "write a date as 2025-01-31",
    "integer": "write a whole number as 10",
    "real": "write a number as 10.5",
    "decimal": "write a number as 10.5",
}


class Misfit(NamedTuple):
    """What is wrong in a field, and what to write there."""

    problem: str
    hint: str


def misfits(
    body: Mapping[str, str], columns: Sequence[Mapping[str, Any]], units: Mapping[str, str], same: str
) -> Iterator[Misfit]:
    """Yield what does not fit, field by field. `units` has the column that identifies each population's people.

    >>> columns = [{"place": 0, "name": "Fee (EUR)", "kind": None}]
    >>> body = {"c0-kind": "real", "c0-low": "0", "c0-high": "10,5", "people": "others", "unit": "member"}
    >>> for each in misfits(body, columns, {}, "same as "): print(*each, sep=": ")
    Budget is empty: fill in ε, or ρ, or μ
    Highest of Fee (EUR) is '10,5': write a number as 10.5
    """
    people = body.get("people", "")
    if people.startswith(same):
        yield from _of_known(body, people.removeprefix(same), units)
    else:
        yield from _of_budget(body)
    for column in columns:
        yield from _of_column(body, column)


def _of_known(body: Mapping[str, str], people: str, units: Mapping[str, str]) -> Iterator[Misfit]:
    known, said = units.get(people), body.get("unit", "")
    if known and said not in {known, "row"}:
        yield Misfit(
            f"Who is protected is {said}, and the same as {people} are told apart by {known}",
            f"rename the column {said} in the file to {known}, if it holds the same, and read its header again",
        )


def _of_budget(body: Mapping[str, str]) -> Iterator[Misfit]:
    stated = [name for name in ("epsilon", "rho", "mu") if body.get(name)]
    if not stated:
        yield Misfit("Budget is empty", "fill in ε, or ρ, or μ")
    elif len(stated) > 1 or (body.get("delta") and stated != ["epsilon"]):
        yield Misfit("Budget states several promises", "fill in ε, or ε and δ, or ρ, or μ, and leave the others empty")
    for name, sign in _SIGNS.items():
        said = body.get(name)
        if said and number_said(said) is None:
            example = "1e-8" if name == "delta" else "0.5"
            yield Misfit(f"{sign} of the budget is {said!r}", f"write a number as {example}")


def _of_column(body: Mapping[str, str], column: Mapping[str, Any]) -> Iterator[Misfit]:
    place, name = f"c{column['place']}", column["name"]
    kind = column["kind"] or body.get(f"{place}-kind") or "text"
    said = {end: body.get(f"{place}-{end}", "") for end in _ENDS}
    if body.get(f"{place}-values") or not any(said.values()):
        return
    if kind == "text":
        yield Misfit(
            f"Lowest and highest of {name} are said, and its type is text",
            "choose whole numbers, numbers or dates as its type, or write its values",
        )
        return
    for end, words in _ENDS.items():
        if not said[end]:
            yield Misfit(f"{words} of {name} is empty", "write both bounds, or values, or leave the line empty")
        elif kind in _WRITE and not _fits(said[end], kind):
            yield Misfit(f"{words} of {name} is {said[end]!r}", _WRITE[kind])


def _fits(said: str, kind: str) -> bool:
    if kind != "date":
        number = number_said(said)
        return number is not None and (kind != "integer" or number.denominator == 1)
    try:
        date.fromisoformat(said)
    except ValueError:
        return False
    return True


_FIELD = re.compile(r"c(\d{1,4})-(kind|low|high|values|longest)")
_MOST_COLUMNS = 300
_PROMISE = ("epsilon", "delta", "rho", "mu")
_OTHERS, _SAME = "others", "same as "  # people, one of which the form has to choose
_KINDS = {"text": "text", "integer": "whole numbers", "real": "numbers", "date": "dates"}


async def chosen(call: Call) -> Result:
    """Which file."""
    if not call.service.settings.folders:
        none = Told("no_folder", added_tables.NO_FOLDER, "", added_tables.HOW, "", calm=True)
        return await _shown(call, said=none)
    try:
        found: Any = await added_tables.files(at(call))
    except Refused as refused:
        return await _shown(call, said=told(refused))
    return await _shown(call, files=found["files"])


async def filled_in(call: Call) -> Result:
    """Show the columns of a chosen file, or add the table once the form is filled in."""
    body = {name: value if name.endswith("-name") else value.strip() for name, value in call.body.items()}
    file = {"file": body["file"], **({"table": body["table"]} if body.get("table") else {})}
    if body["do"] == "columns":
        try:
            found: Any = await added_tables.columns(replace(at(call), body=file))
        except Refused as refused:
            return await _shown(call, said=told(refused))
        columns = [{"place": place, **each} for place, each in enumerate(found["columns"])]
        return await _shown(call, body=body, columns=columns)
    columns = _columns(body)
    try:
        known = await _known(call)
        units = {name: str(promise.get("unit") or "") for name, promise in known.items()}
        _require_fit(list(misfits(body, columns, units, _SAME)))
        said = _said(body, {each["place"]: each["name"] for each in columns}, known) | file
        shaped(said, added_tables.TABLE)
        made: Any = await added_tables.add(replace(at(call), body=said))
    except Refused as refused:
        return await _shown(call, body=body, columns=columns, said=told(refused))
    written = "Written to the ledger, with your token's name."
    done = Told("done", f"{made['name']} is behind its budget, and served", "", "", written, calm=True)
    return await _shown(call, said=done, made=made)


def _columns(body: dict[str, str]) -> list[dict[str, Any]]:
    """The columns as the form has them; they are checked again before anything is added."""
    return [
        {"place": place, "name": body[f"c{place}-name"], "kind": body.get(f"c{place}-type") or None}
        for place in range(_MOST_COLUMNS)
        if f"c{place}-name" in body
    ]


def _require_fit(found: list[Misfit]) -> None:
    """Refuse a form with everything that does not fit, at once."""
    if found:
        problems, hints = (
            ". ".join(each.problem for each in found),
            "; ".join(dict.fromkeys(each.hint for each in found)),
        )
        raise Refused("invalid", document_of(BY_NAME["invalid"], problems, hints))


async def _known(call: Call) -> dict[str, dict[str, Any]]:
    """The promises to the populations that are registered already, by their names."""
    found: Any = await custodian_routes.levels(at(call))
    return {each["name"]: each["promise"] or {} for each in found["levels"] if each["level"] == "population"}


def _said(body: dict[str, str], names: dict[int, str], known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The form as the body of the route. What does not fit is passed on unchanged, and refused there.

    Known people keep the budget that they have, whatever the form says.
    """
    people = body.get("people", "")
    promise: dict[str, Any] = known.get(people.removeprefix(_SAME), {}) if people.startswith(_SAME) else body
    found: dict[str, Any] = {
        "name": body.get("name", ""),
        "unit": body.get("unit", ""),
        "budget": {name: str(promise[name]).removesuffix("/1") for name in _PROMISE if promise.get(name)},
        "domains": _domains(body, names),
    }
    if people == _OTHERS:
        found["new_population"] = f"people of {found['name']}"
    else:
        found["population"] = people.removeprefix(_SAME)
    if body.get("rows_per_person"):
        found["rows_per_person"] = _whole(body["rows_per_person"])
    return found


def _domains(body: dict[str, str], names: dict[int, str]) -> dict[str, dict[str, Any]]:
    """The domains of columns; columns about which the form says nothing are left out."""
    said: dict[str, dict[str, Any]] = {}
    for field, value in body.items():
        match = _FIELD.fullmatch(field)
        if match is not None and value and int(match[1]) in names:
            said.setdefault(names[int(match[1])], {})[match[2]] = _value(match[2], value)
    return {name: each for name, each in said.items() if set(each) - {"kind"}}


def _value(field: str, said: str) -> Any:
    if field == "values":
        return [each for part in said.splitlines() for each in map(str.strip, part.split(",")) if each]
    return _whole(said) if field == "longest" else said


def _whole(said: str) -> int | str:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else said


async def _shown(
    call: Call,
    *,
    said: Told | None = None,
    files: list[str] | None = None,
    body: dict[str, str] | None = None,
    columns: list[dict[str, Any]] | None = None,
    made: Any = None,
) -> Result:
    people = [] if columns is None else list(await _known(call))
    return page(
        call,
        "tables.html",
        here="custodian",
        dataset=None,
        told=said,
        files=files,
        body=body or {},
        columns=columns,
        untyped=bool(columns) and all(each["kind"] is None for each in columns or ()),
        kinds=_KINDS,
        people=people,
        made=made,
    )


_FORM = {
    **of("do", "file", do={"type": "string", "enum": ["columns", "add"]}, file=text(1000)),
    "additionalProperties": text(20_000, 0),
    "maxProperties": 2000,
}
ROUTES = (
    Route("GET", "/tables", "custodian", "files that may become data sets", chosen, page=True),
    Route("POST", "/tables", "custodian", "add a table by a form", filled_in, body=_FORM, page=True),
)
