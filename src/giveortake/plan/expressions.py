"""Expressions over columns. Each has a domain derived from those of its parts, and none can fail on any row."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import QueryRefused, meant
from giveortake.plan.domains import Domain, Kind, Value, stored_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.plan.tables import Schema

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

    @abstractmethod
    def to_json(self) -> Any:
        """The expression as plain lists, numbers and text; equal expressions have equal JSON."""


@final
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
                f"there is no column `{self.name}` here", hint=f"{meant(self.name, schema)}{columns}"
            ) from None

    def columns(self) -> Iterator[str]:
        yield self.name

    def to_json(self) -> Any:
        return ["column", self.name]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """A value written in the question itself. Literals are equal if type and value are: 1 is not TRUE."""

    value: Value

    def __post_init__(self) -> None:
        if isinstance(self.value, str) and any("\ud800" <= each <= "\udfff" for each in self.value):
            raise QueryRefused("a text contains half a character (a lone surrogate)", hint="write the whole character")

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
                return Domain(Kind.TEXT, categories=(self.value,), nullable=False, made=len(self.value))
            case dt.datetime():
                return Domain(Kind.TIMESTAMP, categories=(self.value,), nullable=False)
            case dt.date():
                return Domain(Kind.DATE, categories=(self.value,), nullable=False)

    def columns(self) -> Iterator[str]:
        return iter(())

    def to_json(self) -> Any:
        value = self.value
        return ["literal", stored_type(value), None if value is None else str(value)]


@final
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

    def to_json(self) -> Any:
        return ["call", self.name, *(argument.to_json() for argument in self.arguments)]


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
