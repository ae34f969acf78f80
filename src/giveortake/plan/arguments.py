"""Checks of the arguments of functions and of conditions on rows, and domains of computed numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from giveortake.advice import FACES, Advice
from giveortake.errors import QueryRefused
from giveortake.plan.domains import Domain, Kind
from giveortake.plan.expressions import Call, ColumnReference, Literal, is_missing, require_shallow

if TYPE_CHECKING:
    from giveortake.plan.expressions import Expression
    from giveortake.plan.tables import Schema

Bound: TypeAlias = "Fraction | None"

SAFE_INTEGER = Fraction(2**53)  # whole numbers up to here are exact in arithmetic, which is done in doubles
CSV_HINT = "CAST(x AS DATE) or CAST(x AS DOUBLE) convert a text; in a CSV file a declared domain does"


def numbers(call: Call, domains: list[Domain]) -> list[Domain]:
    """Check that all arguments are numbers; return their domains."""
    for argument, domain in zip(call.arguments, domains, strict=True):
        if not domain.kind.is_number and not is_missing(argument):
            raise QueryRefused(
                f"{call.name.upper()} needs numbers, and got a {domain.kind} value",
                hint="DATE_TRUNC('week', x), or DATE_DIFF('day', DATE '2024-01-01', x)"
                if domain.kind in {Kind.DATE, Kind.TIMESTAMP}
                else "convert it: CAST(x AS DOUBLE), or CASE WHEN x THEN 1 ELSE 0 END",
            )
    return domains


def kinds_only(call: Call, domains: list[Domain], *kinds: Kind) -> list[Domain]:
    """Check that all arguments are of the given kinds; return their domains."""
    for argument, domain in zip(call.arguments, domains, strict=True):
        if domain.kind not in kinds and not is_missing(argument):
            raise QueryRefused(
                f"{call.name.upper()} needs {' or '.join(kinds)} values, and got {domain.kind} values",
                hint=CSV_HINT if domain.kind is Kind.TEXT else None,
            )
    return domains


def require_written(call: Call) -> None:
    """Refuse the literal NULL as an argument, for which engines cannot tell which of several functions is meant."""
    if any(map(is_missing, call.arguments)):
        raise QueryRefused(f"{call.name.upper()}(NULL) is always missing", hint="write NULL")


def literal_number(call: Call, position: int) -> Fraction:
    """The argument at a position, which must be a literal number."""
    value = call.arguments[position].value if isinstance(call.arguments[position], Literal) else None  # type: ignore[attr-defined]  # (mypy narrows no subscript)
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    raise QueryRefused(f"{call.name.upper()} needs a number as its argument {position + 1}, written out")


def literal_text(call: Call, position: int) -> str:
    """The argument at a position, which must be a literal text."""
    argument = call.arguments[position]
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return argument.value
    raise QueryRefused(f"{call.name.upper()} needs a text as its argument {position + 1}, written out")


def require_true_or_false(condition: Expression, schema: Schema) -> None:
    """Refuse a condition of WHERE that nests too deeply, or that is neither true nor false."""
    require_shallow(condition)
    domain = condition.domain(schema)
    if domain.kind is not Kind.BOOLEAN:
        raise QueryRefused(
            "WHERE needs a condition, something that is true or false", hint=condition_hint(condition, domain)
        )


def condition_hint(written: Expression, domain: Domain) -> str | Advice:
    """What to write instead of something that is no condition.

    >>> condition_hint(ColumnReference("amount"), Domain(Kind.REAL))
    'compare it: amount > 0'
    """
    name = column_in_sql(written)
    if domain.kind in {Kind.DATE, Kind.TIMESTAMP}:
        return f"compare it: {name} > DATE '2024-01-31'"
    if domain.kind is not Kind.TEXT:
        return f"compare it: {name} > 0"
    said = next((each for each in domain.categories or () if isinstance(each, str) and "'" not in each), "…")
    compared = f"compare it with a text: {name} = '{said}'"
    if not isinstance(written, ColumnReference):
        return compared
    python = f'{compared}, or declare it: domains={{"{written.name}": [True, False]}}'
    return Advice.spoken({face: python if face == "python" else compared for face in FACES})


def column_in_sql(expression: Expression) -> str:
    """A column as SQL writes it, or x for whatever is none, for a hint."""
    name = expression.name if isinstance(expression, ColumnReference) else "x"
    return name if name.isidentifier() else f'"{name}"'


def is_int(domain: Domain) -> bool:
    """Whether a domain holds bounded whole numbers, which double arithmetic keeps whole."""
    return domain.kind is Kind.INTEGER and domain.is_bounded


def number_between(low: Bound, high: Bound, *, nullable: bool, integer: bool = False) -> Domain:
    """A number between two bounds: whole if doubles keep it so, otherwise real, with bounds rounded outwards."""
    if integer and low is not None and high is not None and max(abs(low), abs(high)) <= SAFE_INTEGER:
        return Domain(Kind.INTEGER, low, high, nullable=nullable)
    return Domain(Kind.REAL, _outwards(low, up=False), _outwards(high, up=True), nullable=nullable)


def _outwards(bound: Bound, *, up: bool) -> Bound:
    """A bound moved by more than the rounding of one operation on doubles."""
    if bound is None or bound == 0:
        return bound
    slack = abs(bound) / 2**50
    return bound + slack if up else bound - slack
