"""What does not fit in the form that adds a table, told by the names of its fields before anything is tried."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

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
    """What is wrong in which field, and what to write there."""

    problem: str
    hint: str


def misfits(
    body: Mapping[str, str], columns: Sequence[Mapping[str, Any]], units: Mapping[str, str], same: str
) -> Iterator[Misfit]:
    """What does not fit, field by field. `units` says by which column people that are known already are told apart.

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
        if said and not _is_number(said):
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
        return _is_number(said) and (kind != "integer" or Decimal(said) == Decimal(said).to_integral_value())
    try:
        date.fromisoformat(said)
    except ValueError:
        return False
    return True


def _is_number(said: str) -> bool:
    try:
        return Decimal(said).is_finite()
    except InvalidOperation:
        return False
