"""The page that adds a table by a form: a file, its columns by header and types, their domains, and a budget.

What does not fit is reported by the names of the form's fields, before anything is tried.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from giveortake.server import added_tables
from giveortake.server.console.login import Notice, notice_of
from giveortake.server.console.views import at, page, parsed_number
from giveortake.server.custodian_routes import perform
from giveortake.server.guard import require_shape
from giveortake.server.responses import Refusal
from giveortake.server.routes import Call, Result, Route, object_of, text
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
    known, unit = units.get(people), body.get("unit", "")
    if known and unit not in {known, "row"}:
        yield Misfit(
            f"Who is protected is {unit}, and the same as {people} are told apart by {known}",
            f"rename the column {unit} in the file to {known}, if it holds the same, and read its header again",
        )


def _of_budget(body: Mapping[str, str]) -> Iterator[Misfit]:
    stated = [name for name in ("epsilon", "rho", "mu") if body.get(name)]
    if not stated:
        yield Misfit("Budget is empty", "fill in ε, or ρ, or μ")
    elif len(stated) > 1 or (body.get("delta") and stated != ["epsilon"]):
        yield Misfit("Budget states several promises", "fill in ε, or ε and δ, or ρ, or μ, and leave the others empty")
    for name, sign in _SIGNS.items():
        number = body.get(name)
        if number and parsed_number(number) is None:
            example = "1e-8" if name == "delta" else "0.5"
            yield Misfit(f"{sign} of the budget is {number!r}", f"write a number as {example}")


def _of_column(body: Mapping[str, str], column: Mapping[str, Any]) -> Iterator[Misfit]:
    prefix, name = f"c{column['place']}", column["name"]
    kind = column["kind"] or body.get(f"{prefix}-kind") or "text"
    ends = {end: body.get(f"{prefix}-{end}", "") for end in _ENDS}
    if body.get(f"{prefix}-values") or not any(ends.values()):
        return
    if kind == "text":
        yield Misfit(
            f"Lowest and highest of {name} are said, and its type is text",
            "choose whole numbers, numbers or dates as its type, or write its values",
        )
        return
    for end, words in _ENDS.items():
        if not ends[end]:
            yield Misfit(f"{words} of {name} is empty", "write both bounds, or values, or leave the line empty")
        elif kind in _WRITE and not _fits(ends[end], kind):
            yield Misfit(f"{words} of {name} is {ends[end]!r}", _WRITE[kind])


def _fits(bound: str, kind: str) -> bool:
    if kind != "date":
        number = parsed_number(bound)
        return number is not None and (kind != "integer" or number.denominator == 1)
    try:
        date.fromisoformat(bound)
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
        none = Notice("no_folder", added_tables.NO_FOLDER, "", added_tables.HOW, "", calm=True)
        return await _tables_page(call, notice=none)
    try:
        document: Any = await added_tables.files(at(call))
    except Refusal as refused:
        return await _tables_page(call, notice=notice_of(refused))
    return await _tables_page(call, files=document["files"])


async def filled_in(call: Call) -> Result:
    """Show the columns of a chosen file, or add the table once the form is filled in."""
    body = {name: value if name.endswith("-name") else value.strip() for name, value in call.body.items()}
    file = {"file": body["file"], **({"table": body["table"]} if body.get("table") else {})}
    if body["do"] == "columns":
        try:
            document: Any = await added_tables.columns(replace(at(call), body=file))
        except Refusal as refused:
            return await _tables_page(call, notice=notice_of(refused))
        columns = [{"place": index, **column} for index, column in enumerate(document["columns"])]
        return await _tables_page(call, body=body, columns=columns)
    columns = _columns(body)
    try:
        known = await _known(call)
        units = {name: str(promise.get("unit") or "") for name, promise in known.items()}
        _require_fit(list(misfits(body, columns, units, _SAME)))
        fields = _table_fields(body, {column["place"]: column["name"] for column in columns}, known) | file
        require_shape(fields, added_tables.TABLE)
        added_table: Any = await added_tables.add(replace(at(call), body=fields))
    except Refusal as refused:
        return await _tables_page(call, body=body, columns=columns, notice=notice_of(refused))
    charged = "Written to the ledger, with your token's name."
    done = Notice("done", f"{added_table['name']} is behind its budget, and served", "", "", charged, calm=True)
    return await _tables_page(call, notice=done, added=added_table)


def _columns(body: dict[str, str]) -> list[dict[str, Any]]:
    """The columns as the form has them; they are checked again before anything is added."""
    return [
        {"place": index, "name": body[f"c{index}-name"], "kind": body.get(f"c{index}-type") or None}
        for index in range(_MOST_COLUMNS)
        if f"c{index}-name" in body
    ]


def _require_fit(misfits: list[Misfit]) -> None:
    """Refuse a form with everything that does not fit, at once."""
    if misfits:
        problems, hints = (
            ". ".join(misfit.problem for misfit in misfits),
            "; ".join(dict.fromkeys(misfit.hint for misfit in misfits)),
        )
        raise Refusal("invalid", document_of(BY_NAME["invalid"], problems, hints))


async def _known(call: Call) -> dict[str, dict[str, Any]]:
    """The promises to the populations that are registered already, by their names."""
    document = await perform(call, "budget list")
    return {level["name"]: level["promise"] or {} for level in document["levels"] if level["level"] == "population"}


def _table_fields(body: dict[str, str], names: dict[int, str], known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The form as the body of the route. What does not fit is passed on unchanged, and refused there.

    Known people keep the budget that they have, whatever the form says.
    """
    people = body.get("people", "")
    promise: dict[str, Any] = known.get(people.removeprefix(_SAME), {}) if people.startswith(_SAME) else body
    fields: dict[str, Any] = {
        "name": body.get("name", ""),
        "unit": body.get("unit", ""),
        "budget": {name: str(promise[name]).removesuffix("/1") for name in _PROMISE if promise.get(name)},
        "domains": _domains(body, names),
    }
    if people == _OTHERS:
        fields["new_population"] = f"people of {fields['name']}"
    else:
        fields["population"] = people.removeprefix(_SAME)
    if body.get("rows_per_person"):
        fields["rows_per_person"] = _whole(body["rows_per_person"])
    return fields


def _domains(body: dict[str, str], names: dict[int, str]) -> dict[str, dict[str, Any]]:
    """The domains of columns; columns about which the form says nothing are left out."""
    domains: dict[str, dict[str, Any]] = {}
    for field, value in body.items():
        match = _FIELD.fullmatch(field)
        if match is not None and value and int(match[1]) in names:
            domains.setdefault(names[int(match[1])], {})[match[2]] = _value(match[2], value)
    return {name: domain for name, domain in domains.items() if set(domain) - {"kind"}}


def _value(field: str, content: str) -> Any:
    if field == "values":
        return [value for part in content.splitlines() for value in map(str.strip, part.split(",")) if value]
    return _whole(content) if field == "longest" else content


def _whole(number: str) -> int | str:
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else number


async def _tables_page(
    call: Call,
    *,
    notice: Notice | None = None,
    files: list[str] | None = None,
    body: dict[str, str] | None = None,
    columns: list[dict[str, Any]] | None = None,
    added: Any = None,
) -> Result:
    people = [] if columns is None else list(await _known(call))
    return page(
        call,
        "tables.html",
        here="custodian",
        dataset=None,
        notice=notice,
        files=files,
        body=body or {},
        columns=columns,
        untyped=bool(columns) and all(column["kind"] is None for column in columns or ()),
        kinds=_KINDS,
        people=people,
        added=added,
    )


_FORM = {
    **object_of("do", "file", do={"type": "string", "enum": ["columns", "add"]}, file=text(1000)),
    "additionalProperties": text(20_000, 0),
    "maxProperties": 2000,
}
ROUTES = (
    Route("GET", "/tables", "custodian", "files that may become data sets", chosen, page=True),
    Route("POST", "/tables", "custodian", "add a table by a form", filled_in, body=_FORM, page=True),
)
