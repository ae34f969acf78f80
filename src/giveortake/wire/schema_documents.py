"""Descriptions of data sets as documents and back: tables, columns and their domains; never a row or a count."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.plan import Domain, Kind, Origin, PrivateTable, PublicTable
from giveortake.privacy.documents import promise_to_json
from giveortake.session.session import mechanism_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.plan.domains import Value
    from giveortake.session import Session

_NUMBER = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")  # the limits of doubles have fewer digits


def described(session: Session) -> dict[str, Any]:
    """The description of a session's data set: everything that an analyst may know before asking."""
    caps = session.caps
    return {
        "name": session.name,
        "population": session.population,
        "unit": session.budget.unit.column,
        "neighbours": session.budget.neighbours,
        "budget": str(session.budget),
        "promise": promise_to_json(session.budget),
        "promise_to_all": _promise_to_all(session),
        "caps": caps.to_json() if caps.stated else None,
        "caps_in_words": str(caps) if caps.stated else "each question says how much of a person counts",
        "tables": [_table(name, relation) for name, relation in session.catalog.private.items()],
        "public": [_public(table) for table in session.catalog.public.values()],
    }


def _promise_to_all(session: Session) -> dict[str, Any] | None:
    """The promise that all answers to all analysts together keep: it is public."""
    levels = mechanism_of(session).ledger.levels()
    found = next(each.budget for each in levels if (each.kind, each.name) == ("population", session.population))
    return None if found is None else promise_to_json(found)


def origin_of(document: Mapping[str, Any]) -> Origin:
    """The tables in a description, with which questions can be parsed without any data."""
    private = [
        PrivateTable(each["name"], tuple((c["name"], _domain_of(c)) for c in each["columns"]), document["unit"])
        for each in document["tables"]
    ]
    public = [
        PublicTable(
            each["name"],
            tuple((c["name"], _domain_of(c)) for c in each["columns"]),
            frozenset(each["unique"]),
            each["fingerprint"],
        )
        for each in document["public"]
    ]
    rows = {each["name"]: each["rows_per_person"] for each in document["tables"]}
    return Origin.of(private, public, rows.__getitem__)


def _table(name: str, relation: Any) -> dict[str, Any]:
    return {
        "name": name,
        "rows_per_person": relation.most_rows_of_person,
        "columns": [_column(column, domain) for column, domain in relation.table.columns],
    }


def _public(table: PublicTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "unique": sorted(table.unique),
        "fingerprint": table.fingerprint,
        "columns": [_column(name, domain) for name, domain in table.columns],
    }


def _column(name: str, domain: Domain) -> dict[str, Any]:
    return {
        "name": name,
        "kind": str(domain.kind),
        "nullable": domain.nullable,
        "low": _number(domain.low),
        "high": _number(domain.high),
        "step": _number(domain.step),
        "longest": domain.longest,
        "categories": None if domain.categories is None else [_value(each) for each in domain.categories],
        "words": _words(domain),
    }


def _domain_of(column: Mapping[str, Any]) -> Domain:
    kind = Kind(column["kind"])
    listed = column["categories"]
    return Domain(
        kind,
        _fraction(column["low"]),
        _fraction(column["high"]),
        None if listed is None else tuple(_value_of(each, kind) for each in listed),
        column["nullable"],
        _fraction(column["step"]),
        column["longest"],
    )


def _number(number: Fraction | None) -> str | None:
    return None if number is None else str(number)


def _fraction(text: str | None) -> Fraction | None:
    """A number as `_number` wrote it, and nothing else: an exponent could mean an endlessly long number."""
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise InvalidParameter("number", text[:40], "is not written as p or p/q", hint="upgrade the service")
    return Fraction(text)


def _value(value: Value) -> Any:
    match value:
        case dt.date():
            return value.isoformat()
        case Fraction():
            return str(value)
    return value


def _value_of(value: Any, kind: Kind) -> Value:
    match kind, value:
        case (Kind.DATE, str()):
            return dt.date.fromisoformat(value)
        case (Kind.TIMESTAMP, str()):
            return dt.datetime.fromisoformat(value)
        case ((Kind.DECIMAL | Kind.REAL), str()):
            return Fraction(value)
    found: Value = value
    return found


def _words(domain: Domain) -> str:
    """A domain in a few words, for people."""
    if domain.categories is not None:
        return f"{len(domain.categories)} categories"
    if domain.longest is not None:
        return f"{domain.kind} of at most {domain.longest:,} characters"
    if domain.low is None or domain.high is None:
        return f"{domain.kind}, nothing declared"
    ends = (domain.low, domain.high)
    if domain.kind in {Kind.DATE, Kind.TIMESTAMP}:
        first, last = (dt.date.fromordinal(int(each)).isoformat() for each in ends)
        return f"{domain.kind}, {first} to {last}"
    return f"{domain.kind}, {float(domain.low):,g} to {float(domain.high):,g}"
