"""Domains of truth values and of choices between values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan.arguments import CSV_HINT, column_in_sql, condition_hint, kinds_only, literal_text
from giveortake.plan.domains import Domain, Kind, Value, any_nullable
from giveortake.plan.expressions import ColumnReference, Literal, is_missing

if TYPE_CHECKING:
    from giveortake.plan.expressions import Call, Expression


def _truth(domains: list[Domain]) -> Domain:
    return Domain(Kind.BOOLEAN, nullable=any_nullable(domains))


def comparable(one: Domain, other: Domain) -> bool:
    """Whether values of two domains may be compared."""
    moments = {Kind.DATE, Kind.TIMESTAMP}
    return one.kind is other.kind or (one.kind.is_number and other.kind.is_number) or {one.kind, other.kind} <= moments


def compare(call: Call, domains: list[Domain]) -> Domain:
    """A comparison of values of one kind."""
    present = [domain for argument, domain in zip(call.arguments, domains, strict=True) if not is_missing(argument)]
    for domain in present[1:]:
        if not comparable(present[0], domain):
            kinds = {present[0].kind, domain.kind}
            moments = kinds & {Kind.DATE, Kind.TIMESTAMP}
            dated = moments and (any(map(_is_written_text, call.arguments)) or any(kind.is_number for kind in kinds))
            raise QueryRefused(
                f"{present[0].kind} values cannot be compared with {domain.kind} values",
                hint=_truth_hint(call)
                if Kind.BOOLEAN in kinds
                else _DATE_HINT
                if dated
                else CSV_HINT
                if Kind.TEXT in kinds
                else None,
            )
    return _truth(domains)


_DATE_HINT = "write a date: DATE '2024-01-31', or in Python datetime.date(2024, 1, 31)"


def _truth_hint(call: Call) -> str:
    column = next((each for each in call.arguments if isinstance(each, ColumnReference)), call.arguments[0])
    return f"a truth value is compared with TRUE or FALSE: {column_in_sql(column)} = TRUE"


def _is_written_text(argument: Expression) -> bool:
    return isinstance(argument, Literal) and isinstance(argument.value, str)


def logic(call: Call, domains: list[Domain]) -> Domain:
    """AND, OR, NOT."""
    return _truth(kinds_only(call, domains, Kind.BOOLEAN))


def is_null(_call: Call, _domains: list[Domain]) -> Domain:
    """Whether a value is missing."""
    return Domain(Kind.BOOLEAN, nullable=False)


def like(call: Call, domains: list[Domain]) -> Domain:
    """Whether a text matches a literal pattern."""
    literal_text(call, 1)
    return _truth(kinds_only(call, domains, Kind.TEXT))


def case_of(call: Call, domains: list[Domain]) -> Domain:
    """The domain of CASE; its arguments are condition, value, condition, value, …, otherwise."""
    conditions, values = domains[:-1:2], [*domains[1:-1:2], domains[-1]]
    if len(call.arguments) % 2 == 0 or any(each.kind is not Kind.BOOLEAN for each in conditions):
        found = zip(call.arguments[:-1:2], conditions, strict=True)
        other = next((each for each in found if each[1].kind is not Kind.BOOLEAN), None)
        if other is None:
            raise QueryRefused("CASE needs conditions and values")
        raise QueryRefused(
            f"a condition is true or false, and this one is a {other[1].kind} value", hint=condition_hint(*other)
        )
    parts = [*call.arguments[1:-1:2], call.arguments[-1]]
    return _hull(call, parts, values)


def _hull(call: Call, parts: list[Expression] | tuple[Expression, ...], values: list[Domain]) -> Domain:
    present = [domain for part, domain in zip(parts, values, strict=True) if not is_missing(part)]
    if not present:
        raise QueryRefused(f"{call.name.upper()} has no value that is not NULL")
    nullable = any_nullable(values)
    kinds = {domain.kind for domain in present}
    if len(kinds) > 1 and not all(kind.is_number for kind in kinds):
        raise QueryRefused(f"{call.name.upper()} mixes {' and '.join(sorted(kinds))} values")
    if not all(kind.is_number for kind in kinds):
        listed = _union(present, missing=len(present) < len(values))
        return Domain(present[0].kind, categories=listed, nullable=nullable, made=_longest(present))
    low = None if any(domain.low is None for domain in present) else min(domain.low for domain in present)  # type: ignore[type-var]  # (none of them is None)
    high = None if any(domain.high is None for domain in present) else max(domain.high for domain in present)  # type: ignore[type-var]  # (none of them is None)
    whole = kinds == {Kind.INTEGER}
    return Domain(Kind.INTEGER if whole else Kind.REAL, low, high, nullable=nullable)


def _longest(domains: list[Domain]) -> int | None:
    """The greatest width, if the domains are texts."""
    return max(domain.width for domain in domains) if domains[0].kind is Kind.TEXT else None


def _union(domains: list[Domain], *, missing: bool) -> tuple[Value, ...] | None:
    found: dict[Value, None] = {}
    for domain in domains:
        if domain.categories is None:
            return None
        found.update(dict.fromkeys(domain.categories))
    if missing:
        found[None] = None
    return tuple(found)


def coalesce(call: Call, domains: list[Domain]) -> Domain:
    """The first value that is not missing."""
    hull = _hull(call, call.arguments, domains)
    return replace(hull, nullable=all(domain.nullable for domain in domains))


def null_if(call: Call, domains: list[Domain]) -> Domain:
    """A value, missing where it equals another."""
    compare(call, domains)
    return domains[0].maybe_missing()
