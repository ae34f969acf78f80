"""Expressions over columns, and checks of the arguments of functions.

- Expressions over columns. Each has a domain derived from those of its parts, and none can fail on any row.
- Checks of the arguments of functions and of conditions on rows, and domains of computed numbers.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.codec import stored
from giveortake.errors import QueryRefused, did_you_mean
from giveortake.plan.domains import Domain, Kind, Schema, Value

if TYPE_CHECKING:
    from collections.abc import Iterator


DEEPEST = 100  # expressions nest no deeper than this


@dataclass(frozen=True, slots=True)
class Expression(ABC):
    """A column, a literal, or a function of expressions."""

    @abstractmethod
    def domain(self, schema: Schema) -> Domain:
        """The domain of its values on rows of a schema; raises a refusal if types do not fit."""

    @abstractmethod
    def columns(self) -> Iterator[str]:
        """The columns that it reads."""


@final
@stored("column")
@dataclass(frozen=True, slots=True)
class ColumnReference(Expression):
    """The value of a column, by name, as in `gt.col("x")`."""

    name: str

    def domain(self, schema: Schema) -> Domain:
        try:
            return schema[self.name]
        except KeyError:
            columns = f"the columns are {', '.join(schema) or 'none'}"
            raise QueryRefused(
                f"there is no column `{self.name}` here", hint=f"{did_you_mean(self.name, schema)}{columns}"
            ) from None

    def columns(self) -> Iterator[str]:
        yield self.name


@final
@stored("literal")
@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """A value written in the question itself. Literals are equal if type and value are: 1 is not TRUE."""

    value: Value

    def __post_init__(self) -> None:
        if isinstance(self.value, str) and any("\ud800" <= character <= "\udfff" for character in self.value):
            raise QueryRefused("a text contains half a character (a lone surrogate)", hint="write the whole character")
        if isinstance(self.value, dt.datetime) and self.value.tzinfo is not None:
            raise QueryRefused("a time has a zone, and columns have none", hint="write it without one")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def domain(self, schema: Schema) -> Domain:
        match self.value:
            case None:
                return Domain(Kind.BOOLEAN, nullable=True)
            case bool():
                return Domain(Kind.BOOLEAN, categories=(self.value,), nullable=False)
            case int():
                number = Fraction(self.value)
                return Domain(Kind.INTEGER, number, number, nullable=False)
            case Fraction():
                return Domain(Kind.REAL, self.value, self.value, nullable=False)
            case str():
                return Domain(Kind.TEXT, categories=(self.value,), nullable=False, longest_computed=len(self.value))
            case dt.datetime():
                return Domain(Kind.TIMESTAMP, categories=(self.value,), nullable=False)
            case dt.date():
                return Domain(Kind.DATE, categories=(self.value,), nullable=False)

    def columns(self) -> Iterator[str]:
        return iter(())


@final
@stored("call")
@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A function from the allow-list (see `functions`) of other expressions."""

    name: str
    arguments: tuple[Expression, ...]
    _last: list[tuple[Schema, Domain]] = field(default_factory=list, init=False, repr=False, compare=False)

    def domain(self, schema: Schema) -> Domain:
        """The domain of the call. The last one is cached: printers ask for the domains of all nested parts."""
        from giveortake.plan.functions import domain_of_call  # noqa: PLC0415 (functions need expressions)

        for before, domain in self._last:
            if before is schema:
                return domain
        domain = domain_of_call(self, schema)
        self._last[:] = [(schema, domain)]
        return domain

    def columns(self) -> Iterator[str]:
        for argument in self.arguments:
            yield from argument.columns()


def is_missing(expression: Expression) -> bool:
    """Whether an expression is the literal NULL, which has no kind of its own."""
    return isinstance(expression, Literal) and expression.value is None


def require_shallow(expression: Expression, depth: int = 0) -> None:
    """Refuse expressions that nest too deeply."""
    if depth > DEEPEST:
        raise QueryRefused(f"an expression nests deeper than {DEEPEST} levels", hint="split it over subqueries")
    if isinstance(expression, Call):
        for argument in expression.arguments:
            require_shallow(argument, depth + 1)


Bound: TypeAlias = "Fraction | None"

SAFE_INTEGER = Fraction(2**53)  # whole numbers up to here are exact in arithmetic, which is done in doubles
CSV_HINT = "CAST(x AS DATE) or CAST(x AS DOUBLE) convert a text; in a CSV file a declared domain does"


def number_arguments(call: Call, domains: list[Domain]) -> list[Domain]:
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


def condition_hint(expression: Expression, domain: Domain) -> str:
    """What to write instead of something that is no condition.

    >>> condition_hint(ColumnReference("amount"), Domain(Kind.REAL))
    'compare it: amount > 0'
    """
    name = column_in_sql(expression)
    if domain.kind in {Kind.DATE, Kind.TIMESTAMP}:
        return f"compare it: {name} > DATE '2024-01-31'"
    if domain.kind is not Kind.TEXT:
        return f"compare it: {name} > 0"
    example = next(
        (category for category in domain.categories or () if isinstance(category, str) and "'" not in category), "…"
    )
    compared = f"compare it with a text: {name} = '{example}'"
    if not isinstance(expression, ColumnReference):
        return compared
    return f'{compared}, or declare it: domains={{"{expression.name}": [True, False]}}'


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
