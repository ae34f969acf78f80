"""Tables, relations derived from them, and aggregates over their rows; every row belongs to one privacy unit.

Guarantee (bounded cost of a row): the characters that an engine makes for one row are at most `MOST_MADE`, and those
that it keeps of it, in keys and distinct values, at most `MOST_KEPT`, whatever the row holds. Of a person's rows that a
join multiplies, it keeps at most `MOST_JOINED`. All joins and unions of a question together repeat a stored row at most
`_MOST_REPEATED` times, unless caps bound all rows that they make of a person's.

Proof: a stored text is cut to the width of its column where it is read. A function's text is at most as long as its
domain says (`plan.functions`), by induction over its arguments. The texts that a question makes of a row are those of
its functions, once each, and their widths are added up here. ∎ So no question makes a text of one person grow until it
fails, which would be an answer without noise. What a person has stored themselves, in however many rows, is read all
the same: see the page on sharp edges.

Locality: every row of a private relation belongs to one unit (a person, or a row of the table), and the rows of a unit
are a function of that unit's own rows and of public tables. Each node below keeps that, given that its inputs do. So
adding or removing a unit adds or removes its rows of the relation and changes no other row, and what one unit can do
to an aggregate is what its own rows can do: the stability that `compile` turns into a sensitivity. `most_rows` bounds
how many rows a unit has, where the structure bounds it; None where nothing does.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Never, TypeAlias, final

from giveortake.codec import stored
from giveortake.errors import QueryRefused
from giveortake.plan.expressions import (
    Call,
    ColumnReference,
    Domain,
    Expression,
    Kind,
    Literal,
    Schema,
    require_shallow,
    require_true_or_false,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set


class AggregateKind(StrEnum):
    """The kinds of aggregates."""

    COUNT_ROWS = "count rows"
    COUNT_VALUES = "count values"
    COUNT_PERSONS = "count persons"
    COUNT_DISTINCT = "count distinct"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    DEVIATION = "standard deviation"
    SAMPLE_VARIANCE = "sample variance"
    SAMPLE_DEVIATION = "sample standard deviation"
    QUANTILE = "quantile"
    MINIMUM = "minimum"  # exact only as a feature of one person's rows, never released
    MAXIMUM = "maximum"
    COVARIANCE = "covariance"
    SAMPLE_COVARIANCE = "sample covariance"
    CORRELATION = "correlation"
    SLOPE = "slope"
    INTERCEPT = "intercept"


_COUNTS = {  # these need no bounds
    AggregateKind.COUNT_ROWS,
    AggregateKind.COUNT_VALUES,
    AggregateKind.COUNT_PERSONS,
    AggregateKind.COUNT_DISTINCT,
}
_GREATEST = 2**500  # the greatest value: doubles can hold its square
_LONGEST = 6_000  # bits of a bound: Python refuses to print its square beyond 4,300 digits
_EXTREMES = {AggregateKind.MINIMUM: Fraction(0), AggregateKind.MAXIMUM: Fraction(1)}
_FEATURES = {
    AggregateKind.COUNT_ROWS,
    AggregateKind.COUNT_VALUES,
    AggregateKind.COUNT_DISTINCT,
    AggregateKind.SUM,
    AggregateKind.MEAN,
    AggregateKind.MINIMUM,
    AggregateKind.MAXIMUM,
}
_OF_PAIRS = {
    AggregateKind.COVARIANCE,
    AggregateKind.SAMPLE_COVARIANCE,
    AggregateKind.CORRELATION,
    AggregateKind.SLOPE,
    AggregateKind.INTERCEPT,
}


@final
@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of an expression; or of pairs (y, x), where `expression` is y and `beside` is x, as in SQL.

    `quantile` is the fraction of a quantile.
    """

    kind: AggregateKind
    expression: Expression | None = None
    quantile: Fraction | None = None
    beside: Expression | None = None

    def __post_init__(self) -> None:
        is_of_rows = self.kind in {AggregateKind.COUNT_ROWS, AggregateKind.COUNT_PERSONS}
        if (
            (self.expression is None) != is_of_rows
            or (self.quantile is not None) != (self.kind is AggregateKind.QUANTILE)
            or (self.beside is not None) != (self.kind in _OF_PAIRS)
        ):
            raise QueryRefused(f"a {self.kind} is not of that", hint="SELECT SUM(amount), CORR(amount, age) FROM trips")
        for expression in self.expressions:
            require_shallow(expression)
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            part = self.quantile / 100
            hint = f"write {float(part):g} for {float(self.quantile):g} percent" if 0 <= part <= 1 else "write 0.9"
            raise QueryRefused("a quantile is a fraction from 0 to 1", hint=hint)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions that it aggregates."""
        return tuple(expression for expression in (self.expression, self.beside) if expression is not None)

    @property
    def is_distinct(self) -> bool:
        """Whether it counts distinct values, so that all of them have to be kept."""
        return self.kind is AggregateKind.COUNT_DISTINCT

    @property
    def is_clamped(self) -> bool:
        """Whether values beyond their bounds count as these."""
        return self.kind not in _COUNTS

    def require_releasable(self, schema: Schema) -> None:
        """Refuse an aggregate that cannot be released with a finite amount of noise."""
        if self.kind in _EXTREMES:
            raise QueryRefused("the least and the greatest value are single persons' values", hint="take a quantile")
        self._require_bounds(schema)

    def require_feature(self, schema: Schema) -> None:
        """Refuse an aggregate that is not available within one person's rows."""
        if self.kind not in _FEATURES:
            raise QueryRefused(
                f"the {self.kind} is not available within one person's rows",
                hint="COUNT, SUM, AVG, MIN, MAX and COUNT(DISTINCT …) are",
            )
        self._require_bounds(schema)

    def _require_bounds(self, schema: Schema) -> None:
        for expression in self.expressions:
            domain = expression.domain(schema)
            if self.is_clamped:
                _require_bounded(_ENDS.get(self.quantile, self.kind), expression, domain)

    def feature_domain(self, schema: Schema, most_rows: int | None) -> Domain:
        """The domain of one person's value, given the schema and the most rows a person can have."""
        rows = None if most_rows is None else Fraction(most_rows)
        if self.kind in _COUNTS:
            return Domain(Kind.INTEGER, Fraction(0), rows, nullable=False)
        assert self.expression is not None  # noqa: S101 (the others are of something)
        least, greatest = self.expression.domain(schema).ends()
        if self.kind is AggregateKind.SUM:
            low = None if rows is None else min(Fraction(0), rows * least)
            high = None if rows is None else max(Fraction(0), rows * greatest)
            return Domain(Kind.REAL, low, high, nullable=True)
        return Domain(Kind.REAL, least, greatest, nullable=True)

    def released(self, person: str | None) -> Aggregate:
        """The aggregate to release: extremes become quantiles, distinct values of the person's column persons."""
        if self.kind in _EXTREMES:
            return Aggregate(AggregateKind.QUANTILE, self.expression, _EXTREMES[self.kind])
        if (
            self.kind is AggregateKind.COUNT_DISTINCT
            and person is not None
            and self.expression == ColumnReference(person)
        ):
            return Aggregate(AggregateKind.COUNT_PERSONS)
        return self

    def where(self, condition: Expression) -> Aggregate:
        """The same aggregate over the rows for which a condition is true."""
        match self.kind:
            case AggregateKind.COUNT_PERSONS:
                raise QueryRefused(
                    "COUNT(DISTINCT person) with FILTER is not answered", hint="put the condition into WHERE"
                )
            case AggregateKind.COUNT_ROWS:
                return count_if(condition)
            case _:
                assert self.expression is not None  # noqa: S101 (the others are of something)
                return replace(self, expression=_when(condition, self.expression))


def count_if(condition: Expression) -> Aggregate:
    """The number of rows for which a condition is true."""
    return Aggregate(AggregateKind.COUNT_VALUES, _when(condition, Literal(1)))


def _when(condition: Expression, value: Expression) -> Expression:
    return Call("case", (condition, value, Literal(None)))


@final
@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate function of one or two expressions, for SQL and frames."""

    sql: tuple[str, ...]  # how SQL spells it
    build: Callable[..., Aggregate]
    arguments: int = 1

    @property
    def label(self) -> str:
        """The name of a column without a stated one."""
        return self.sql[0].lower()


def _of_one(kind: AggregateKind, *sql: str, quantile: Fraction | None = None) -> AggregateFunction:
    return AggregateFunction(sql, partial(Aggregate, kind, quantile=quantile))


def _of_pairs(kind: AggregateKind, sql: str) -> AggregateFunction:
    return AggregateFunction((sql,), lambda y, x: Aggregate(kind, y, beside=x), arguments=2)


AGGREGATES = {  # by their names in frames; COUNT(*), COUNT(DISTINCT …) and quantiles have forms of their own
    "sum": _of_one(AggregateKind.SUM, "SUM"),
    "mean": _of_one(AggregateKind.MEAN, "AVG", "MEAN"),
    "variance": _of_one(AggregateKind.VARIANCE, "VARIANCE", "VAR_POP"),
    "stddev": _of_one(AggregateKind.DEVIATION, "STDDEV", "STDDEV_POP"),
    "sample_variance": _of_one(AggregateKind.SAMPLE_VARIANCE, "VAR_SAMP"),
    "sample_stddev": _of_one(AggregateKind.SAMPLE_DEVIATION, "STDDEV_SAMP"),
    "minimum": _of_one(AggregateKind.MINIMUM, "MIN"),
    "maximum": _of_one(AggregateKind.MAXIMUM, "MAX"),
    "median": _of_one(AggregateKind.QUANTILE, "MEDIAN", quantile=Fraction(1, 2)),
    "corr": _of_pairs(AggregateKind.CORRELATION, "CORR"),
    "covar_pop": _of_pairs(AggregateKind.COVARIANCE, "COVAR_POP"),
    "covar_samp": _of_pairs(AggregateKind.SAMPLE_COVARIANCE, "COVAR_SAMP"),
    "regr_slope": _of_pairs(AggregateKind.SLOPE, "REGR_SLOPE"),
    "regr_intercept": _of_pairs(AggregateKind.INTERCEPT, "REGR_INTERCEPT"),
    "count_if": AggregateFunction(("COUNT_IF", "COUNTIF"), count_if),
}


_ENDS: dict[Fraction | None, AggregateKind] = {Fraction(0): AggregateKind.MINIMUM, Fraction(1): AggregateKind.MAXIMUM}


def _require_bounded(kind: AggregateKind, expression: Expression, domain: Domain) -> None:
    named = f"`{expression.name}`" if isinstance(expression, ColumnReference) else "the expression"
    name = expression.name if isinstance(expression, ColumnReference) else "x"
    declared = f'the custodian can declare it: domains={{"{name}": (0, 500)}}'
    if not domain.kind.is_number:
        converted = f"CAST({name} AS DOUBLE) converts a text; or {declared}"
        raise QueryRefused(
            f"the {kind} of {named} needs numbers, and its values are {domain.kind}",
            hint=_as_bounds(expression, domain) or _NUMBERS_INSTEAD.get(domain.kind, converted),
        )
    if not domain.is_bounded:
        raise QueryRefused(
            f"the {kind} of {named} needs bounds, or no amount of noise would hide one row",
            hint=f"narrow it: CLAMP({name}, 0, 500), or {declared}",
        )
    ends = domain.ends()
    if max(map(abs, ends)) > _GREATEST or any(
        part.bit_length() > _LONGEST for end in ends for part in end.as_integer_ratio()
    ):
        raise QueryRefused(
            f"the {kind} is of numbers beyond 2^500, or their bounds have more than 1,800 digits",
            hint="narrow them: CLAMP(x, lower, upper)",
        )


_NUMBERS_INSTEAD = {
    Kind.BOOLEAN: "COUNTIF(x) counts, AVG(CASE WHEN x THEN 1 ELSE 0 END) is the share",
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP), "ask for the days since one: DATE_DIFF('day', DATE '2024-01-01', x)"),
}


def _as_bounds(expression: Expression, domain: Domain) -> str | None:
    """The hint for a column whose one declared category was probably meant as bounds, such as `0-5000`."""
    if not isinstance(expression, ColumnReference) or domain.categories is None:
        return None
    texts = [category for category in domain.categories if isinstance(category, str)]
    ends = span_of(texts[0]) if len(texts) == 1 else None
    if ends is None:
        return None
    declared = f'domains={{"{expression.name}": ({ends[0]}, {ends[1]})}}'
    return f"its one category, {texts[0]!r}, looks like bounds: {declared}"


def span_of(text: str) -> tuple[str, str] | None:
    """The ends of a text that looks like bounds, the lower one first; None if it does not.

    >>> span_of("0-5000"), span_of("9-1"), span_of("north-west")
    (('0', '5000'), None, None)
    """
    match = _SPAN.fullmatch(text)
    return None if match is None or Fraction(match[1]) >= Fraction(match[2]) else (match[1], match[2])


_SPAN = re.compile(r" *(-?[0-9]{1,30}(?:\.[0-9]{1,30})?) *(?:-|–|\.\.|to) *(-?[0-9]{1,30}(?:\.[0-9]{1,30})?) *")


_STORED_INSTEAD = {
    "TIMESTAMP WITH TIME ZONE": 'without a zone (pandas: df["{0}"].dt.tz_convert(None))',
    "INTERVAL": 'as a number (pandas: df["{0}"].dt.total_seconds())',
}


def store_instead(column: str, kind: str) -> str:
    """The hint for a column of a type that cannot be asked about."""
    return f"store it {_STORED_INSTEAD.get(kind, 'as numbers, texts, dates or times').format(column)}"


def unasked_column(column: str, kind: str) -> QueryRefused:
    """The refusal of a column that exists, but has a type that cannot be asked about."""
    return QueryRefused(
        f"`{column}` cannot be asked about: its type is {kind or 'unknown'}", hint=store_instead(column, kind)
    )


@final
@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A table in which every row belongs to one person, named by the column `person`; if None, each row is a unit.

    `unasked` are the columns of types that cannot be asked about, and these types.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    person: str | None
    unasked: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def schema(self) -> dict[str, Domain]:
        """Every column and its domain."""
        return _Columns(self.columns, self.unasked)


@final
class _Columns(dict[str, Domain]):
    """Columns by name; looking up one of a type that cannot be asked about raises a refusal that says so."""

    def __init__(self, columns: tuple[tuple[str, Domain], ...], unasked: tuple[tuple[str, str], ...]) -> None:
        super().__init__(columns)
        self._unasked = unasked

    def __missing__(self, name: str) -> Never:
        kind = dict(self._unasked).get(name)
        raise KeyError(name) if kind is None else unasked_column(name, kind)


@final
@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table that everybody may know.

    `unique` lists the columns whose values occur once each: a join on one of them multiplies no rows. `fingerprint`
    identifies its content, so that a question about other content is another question.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    unique: frozenset[str]
    fingerprint: str = ""

    @property
    def schema(self) -> dict[str, Domain]:
        """Every column and its domain; for text and whole numbers with the values that occur, which are public."""
        return dict(self.columns)


_MOST_PERSON_JOINS = 3
_LONGEST_NAME = 100
Named: TypeAlias = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Relation(ABC):
    """A private relation."""

    @property
    @abstractmethod
    def sources(self) -> tuple[Relation, ...]:
        """The relations that it is derived from."""

    @property
    @abstractmethod
    def schema(self) -> dict[str, Domain]:
        """Its columns and their domains."""

    @property
    @abstractmethod
    def person(self) -> str | None:
        """The column that names the unit of each row; None where each row of the table is a unit by itself."""

    @property
    @abstractmethod
    def most_rows(self) -> int | None:
        """The most rows that a unit can have here, or None if nothing bounds them."""

    def is_one_row_for(self, columns: Set[str]) -> bool:
        """Whether no person has two rows here with the same values of these columns."""
        return self.most_rows == 1

    def scans(self) -> list[Scan]:
        """All scans of private tables in it, repeated ones included."""
        return [scan for source in self.sources for scan in source.scans()]

    def tables(self) -> list[PrivateTable]:
        """The private tables it reads."""
        return [scan.table for scan in self.scans()]


@dataclass(frozen=True, slots=True)
class Unary(Relation):
    """A relation derived from one source, whose properties it keeps unless it overrides them."""

    source: Relation

    def computed(self) -> tuple[Expression, ...]:
        """The expressions that it computes from each row of its source."""
        return ()

    @property
    def sources(self) -> tuple[Relation, ...]:
        return (self.source,)

    @property
    def schema(self) -> dict[str, Domain]:
        return self.source.schema

    @property
    def person(self) -> str | None:
        return self.source.person

    @property
    def most_rows(self) -> int | None:
        return self.source.most_rows


@dataclass(frozen=True, slots=True)
class Binary(Relation):
    """A relation derived from two sources about the same people; the person's column is that of the left."""

    left: Relation
    right: Relation

    @property
    def sources(self) -> tuple[Relation, ...]:
        return self.left, self.right

    @property
    def person(self) -> str | None:
        return self.left.person


ROW_RULE = "hash of content and ordinal"  # by which engines choose rows: it names questions and partitions, too


@final
@dataclass(frozen=True, slots=True)
class Scan(Relation):
    """A private table. The engine keeps at most `most_rows_of_person` rows of each person first, if stated.

    A scan that `is_whole` gets no such cap: it serves to choose caps. With `first_by`, a column, the rows with its
    least values are kept: later rows then never change which rows of a person count.
    """

    table: PrivateTable
    most_rows_of_person: int | None = None
    is_whole: bool = False
    first_by: str | None = None

    @property
    def sources(self) -> tuple[Relation, ...]:
        return ()

    @property
    def schema(self) -> dict[str, Domain]:
        return self.table.schema

    @property
    def person(self) -> str | None:
        return self.table.person

    @property
    def most_rows(self) -> int | None:
        return 1 if self.table.person is None else self.most_rows_of_person

    @property
    def rule(self) -> list[str | list[str]]:
        """By what rows of a person are chosen, for names in ledgers: nothing, a column, or the rule of engines."""
        if self.most_rows_of_person is None:
            return []
        return [[ROW_RULE] if self.first_by is None else self.first_by]

    def scans(self) -> list[Scan]:
        return [self]


@final
@stored("filter")
@dataclass(frozen=True, slots=True)
class Filter(Unary):
    """The rows for which a condition is true."""

    condition: Expression

    def __post_init__(self) -> None:
        require_true_or_false(self.condition, self.source.schema)

    def computed(self) -> tuple[Expression, ...]:
        return (self.condition,)

    def is_one_row_for(self, columns: Set[str]) -> bool:
        return self.source.is_one_row_for(columns)


@final
@stored("derive")
@dataclass(frozen=True, slots=True)
class Derive(Unary):
    """New columns computed row by row; the column of the person is always carried along.

    A column that is defined anew has the domain of its new definition: old bounds do not survive.
    """

    named: Named
    _schema: dict[str, Domain] = field(init=False, repr=False, compare=False)  # cached: every node above asks for it

    def __post_init__(self) -> None:
        _require_names_apart([name for name, _ in self.named])
        inside, person = self.source.schema, self.source.person
        schema = {}
        for name, expression in self.named:
            require_shallow(expression)
            if expression != ColumnReference(name):
                require_name(name)
            schema[name] = expression.domain(inside)
            if person is not None and _same(name, person) and (name, expression) != (person, ColumnReference(person)):
                raise QueryRefused(
                    f"`{name}` says whose row it is and cannot be redefined", hint="give the new column another name"
                )
        if person is not None and person not in schema:
            schema[person] = inside[person]
        object.__setattr__(self, "_schema", schema)

    @property
    def schema(self) -> dict[str, Domain]:
        return dict(self._schema)

    def computed(self) -> tuple[Expression, ...]:
        return tuple(expression for _, expression in self.named)

    def is_one_row_for(self, columns: Set[str]) -> bool:
        same = {
            expression.name
            for name, expression in self.named
            if name in columns and isinstance(expression, ColumnReference)
        }
        return self.source.is_one_row_for(same)


@final
@stored("join public")
@dataclass(frozen=True, slots=True)
class JoinPublic(Unary):
    """Each row joined to the one row of a public table with its key; `optional` keeps rows without a match.

    The column joined on occurs once in the public table (checked when the table is registered), so no row multiplies.
    """

    public: PublicTable
    on: Expression
    public_column: str
    taken: tuple[tuple[str, str], ...]  # public column, new name
    optional: bool = False

    def __post_init__(self) -> None:
        if self.public_column not in self.public.unique:
            raise QueryRefused(
                f"`{self.public_column}` is not unique in the public table `{self.public.name}`, so that a join would "
                "multiply rows",
                hint=f"make `{self.public_column}` unique in `{self.public.name}`"
                + "".join(f", or join on `{column}`" for column in sorted(self.public.unique & {*self.source.schema})),
            )
        inside = self.source.schema
        theirs, ours = self.public.schema[self.public_column], self.on.domain(inside)
        if theirs.kind is not ours.kind:
            raise QueryRefused(f"a {ours.kind} column cannot be joined with a {theirs.kind} column")
        if theirs.kind in {Kind.REAL, Kind.DECIMAL}:
            raise QueryRefused(
                f"tables cannot be joined on {theirs.kind} numbers", hint="join on whole numbers or text"
            )
        _require_taken(self.taken, self.public.schema)
        _require_names_apart([*inside, *(name for _, name in self.taken)])

    @property
    def schema(self) -> dict[str, Domain]:
        theirs = self.public.schema
        added = {new: theirs[old].maybe_missing() if self.optional else theirs[old] for old, new in self.taken}
        return {**self.source.schema, **added}

    def computed(self) -> tuple[Expression, ...]:
        return (self.on,)

    def is_one_row_for(self, columns: Set[str]) -> bool:
        return self.source.is_one_row_for(columns & set(self.source.schema))


@final
@stored("join persons")
@dataclass(frozen=True, slots=True)
class JoinPersons(Binary):
    """The join of two private relations on the person: rows are matched only with rows of the same person."""

    taken: tuple[tuple[str, str], ...]  # column of the right, new name
    optional: bool = False

    def __post_init__(self) -> None:
        if self.left.person is None or self.right.person is None:
            raise QueryRefused("private tables are joined on the person, and these have no person column")
        if person_joins(self) > _MOST_PERSON_JOINS:
            raise QueryRefused(
                f"there are more than {_MOST_PERSON_JOINS} joins on the person, and each multiplies a person's rows",
                hint="make one row for each person first: GROUP BY the person in a subquery",
            )
        one, other = self.left.schema[self.left.person], self.right.schema[self.right.person]
        if one.kind is not other.kind:
            raise QueryRefused("the two tables store the person as values of different types")
        _require_taken(self.taken, self.right.schema)
        _require_names_apart([*self.left.schema, *(name for _, name in self.taken)])

    @property
    def schema(self) -> dict[str, Domain]:
        theirs = self.right.schema
        added = {new: theirs[old].maybe_missing() if self.optional else theirs[old] for old, new in self.taken}
        return {**self.left.schema, **added}

    @property
    def most_rows(self) -> int | None:
        one, other = self.left.most_rows, self.right.most_rows
        return None if one is None or other is None else one * max(other, 1)


@final
@stored("union")
@dataclass(frozen=True, slots=True)
class Union(Binary):
    """The rows of two relations, one below the other; a unit has its rows from both."""

    def __post_init__(self) -> None:
        if (self.left.person is None) != (self.right.person is None):
            raise QueryRefused("UNION ALL cannot mix rows that belong to people with rows that do not")
        if self.left.person != self.right.person:
            raise QueryRefused("both sides of UNION ALL must use the same name for the person's column")
        left, right = ({table.name for table in side.tables()} for side in (self.left, self.right))
        if self.left.person is None and left != right:
            raise QueryRefused(
                "UNION ALL of two tables needs a person that both know",
                hint="protect the persons that both tables name",
            )
        theirs = self.right.schema
        for name, one in self.left.schema.items():
            other = theirs.get(name)
            if other is None or other.kind is not one.kind:
                raise QueryRefused(f"both sides of UNION ALL must have a column `{name}` of the same type")

    @property
    def schema(self) -> dict[str, Domain]:
        theirs = self.right.schema
        return {name: _either(one, theirs[name]) for name, one in self.left.schema.items()}

    @property
    def most_rows(self) -> int | None:
        one, other = self.left.most_rows, self.right.most_rows
        return None if one is None or other is None else one + other


@final
@stored("per person")
@dataclass(frozen=True, slots=True)
class PerPerson(Unary):
    """One row per person, and per value of `keys`, with exact features computed from that person's rows alone."""

    keys: tuple[str, ...]
    features: tuple[tuple[str, Aggregate], ...]

    def __post_init__(self) -> None:
        if self.source.person is None:
            raise QueryRefused("there are no persons to group by: every row is protected by itself")
        inside = self.source.schema
        for key in self.keys:
            ColumnReference(key).domain(inside)
        _require_names_apart([self.source.person, *self.keys, *(name for name, _ in self.features)])
        for name, feature in self.features:
            require_name(name)
            feature.require_feature(inside)

    @property
    def schema(self) -> dict[str, Domain]:
        inside = self.source.schema
        person = str(self.source.person)
        schema = {person: inside[person], **{key: inside[key] for key in self.keys}}
        most = self.source.most_rows
        schema.update({name: feature.feature_domain(inside, most) for name, feature in self.features})
        return schema

    @property
    def most_rows(self) -> int | None:
        return self.source.most_rows if self.keys else 1

    def is_one_row_for(self, columns: Set[str]) -> bool:
        return set(self.keys) <= columns

    def computed(self) -> tuple[Expression, ...]:
        return tuple(feature.expression for _, feature in self.features if feature.expression is not None)


@final
@stored("keep parts")
@dataclass(frozen=True, slots=True)
class KeepParts(Unary):
    """For each person, the rows with at most `most` values of some columns; a hash of person and values decides."""

    columns: tuple[str, ...]
    most: int

    def __post_init__(self) -> None:
        for column in self.columns:
            ColumnReference(column).domain(self.schema)
        if self.person is None or self.most < 1 or not self.columns:
            raise QueryRefused("parts are kept of persons, one of each at least")


def _same(one: str, other: str) -> bool:
    """Whether two names are the same to an engine, which ignores the case of letters."""
    return one.casefold() == other.casefold()


def require_name(name: str) -> str:
    """Check that every engine can write a name, and return it."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise QueryRefused(f"a column's name has 1 to {_LONGEST_NAME} printable characters", hint="choose another name")
    return name


def _require_taken(taken: tuple[tuple[str, str], ...], schema: Schema) -> None:
    """Check the columns that a join takes from the other table, and their new names."""
    for old, new in taken:
        if old not in schema:
            raise QueryRefused("a join takes a column that its table does not have")
        if new != old:
            require_name(new)


def _require_names_apart(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise QueryRefused(
                f"there are two columns `{name}`",
                hint="give them different names; upper and lower case count as the same",
            )
        seen.add(name.casefold())


def person_joins(relation: Relation) -> int:
    """The number of joins on the person in a relation."""
    return isinstance(relation, JoinPersons) + sum(map(person_joins, relation.sources))


def _either(one: Domain, other: Domain) -> Domain:
    low = None if one.low is None or other.low is None else min(one.low, other.low)
    high = None if one.high is None or other.high is None else max(one.high, other.high)
    listed = None
    if one.categories is not None and other.categories is not None:
        listed = tuple(dict.fromkeys((*one.categories, *other.categories)))
    step = one.step if one.step == other.step else None
    kind = Kind.REAL if one.kind is Kind.DECIMAL and step is None else one.kind
    longest = max(one.width, other.width) if kind is Kind.TEXT else None
    return Domain(kind, low, high, listed, one.nullable or other.nullable, step, longest_computed=longest)


MOST_MADE = 1 << 16  # characters of all texts that a question makes from one row
MOST_KEPT = 1 << 14  # characters of the texts that it groups by or counts distinct values of
MOST_JOINED = 1 << 24  # characters of these, in all rows that a join makes for one person
_MOST_STEPS = 200  # relations that one question is built of
_MOST_MATCHES = 100_000  # rows that a join may make of one person's rows, where both sides bound them
_MOST_REPEATED = 100  # times that all joins and unions may repeat a row, where nothing bounds a person's rows

_SHORTER = "take parts of texts first: SUBSTRING(x, 1, 100); or let the custodian declare a max_length"


def require_short_texts(relation: Relation, expressions: Iterable[Expression]) -> None:
    """Refuse a question whose texts could be too long together; `expressions` are its keys and what it aggregates."""
    characters = _computed_characters_in(relation) + _computed_characters(expressions, relation.schema)
    if characters > MOST_MADE:
        raise QueryRefused(
            f"the texts that the question makes of one row could have {characters:,} characters, more than "
            f"{MOST_MADE:,}",
            hint=_SHORTER,
        )


def require_short_keys(relation: Relation, expressions: Iterable[Expression]) -> None:
    """Refuse to group by, or count distinct, computed texts that could be too long together."""
    characters = _key_characters(expressions, relation.schema) + _key_characters_in(relation)
    rows = (relation.most_rows or 1) if person_joins(relation) else 1
    if characters > MOST_KEPT or characters * rows > MOST_JOINED:
        raise QueryRefused(
            f"the keys and distinct values that the question makes could have {characters:,} characters in a row, and "
            f"{characters * rows:,} in all that a join makes of a person's rows",
            hint=_SHORTER,
        )


def _key_characters_in(relation: Relation) -> int:
    own = 0
    if isinstance(relation, PerPerson):
        distinct = (
            feature.expression
            for _, feature in relation.features
            if feature.is_distinct and feature.expression is not None
        )
        own = _key_characters([*map(ColumnReference, relation.keys), *distinct], relation.source.schema)
    return own + sum(map(_key_characters_in, relation.sources))


def _key_characters(expressions: Iterable[Expression], schema: Schema) -> int:
    """The widths of computed texts; stored texts take no additional room."""
    return sum(expression.domain(schema).longest_computed or 0 for expression in expressions)


def _computed_characters_in(relation: Relation) -> int:
    characters = sum(map(_computed_characters_in, relation.sources))
    return (
        characters + _computed_characters(relation.computed(), relation.source.schema)
        if isinstance(relation, Unary)
        else characters
    )


def _computed_characters(expressions: Iterable[Expression], schema: Schema) -> int:
    return sum(_characters_of_call(expression, schema) for expression in expressions)


def _characters_of_call(expression: Expression, schema: Schema) -> int:
    """The widths of all texts that functions make, nested ones included."""
    if not isinstance(expression, Call):
        return 0
    characters = sum(_characters_of_call(argument, schema) for argument in expression.arguments)
    if expression.name == "ilike":  # makes a text in lower case first
        return characters + expression.arguments[0].domain(schema).width
    domain = expression.domain(schema)
    return characters + domain.width if domain.kind is Kind.TEXT else characters


def require_few_steps(relation: Relation) -> None:
    """Refuse a relation of too many steps. A step that is used twice counts twice, as engines would compute it."""
    sizes: dict[int, int] = {}

    def size(node: Relation) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum(map(size, node.sources))
        return sizes[id(node)]

    if size(relation) > _MOST_STEPS:
        raise QueryRefused(f"the question takes more than {_MOST_STEPS} steps", hint="ask a simpler one")


def require_few_matches(relation: Relation) -> None:
    """Refuse joins and unions that could make very many rows of one person's: a square of them, or a large multiple."""
    for source in relation.sources:
        require_few_matches(source)
    rows, times = _grown(relation)
    if isinstance(relation, JoinPersons) and rows > _MOST_MATCHES:
        raise QueryRefused(
            f"a join could make {rows:,} rows of a person's, more than {_MOST_MATCHES:,}",
            hint="state a smaller rows_per_person, or make one row for each person first",
        )
    if times > _MOST_REPEATED:
        raise QueryRefused(
            f"the joins and unions of the question could repeat a row {times:,} times, more than {_MOST_REPEATED}",
            hint="state a smaller rows_per_person, or make one row for each person first",
        )


def _grown(relation: Relation) -> tuple[int, int]:
    """How many rows a person can have at most: so many, and so often each stored row that nothing bounds."""
    match relation:
        case PerPerson(keys=()):
            return 1, 0
        case JoinPersons():
            (left_rows, left_times), (right_rows, right_times) = _grown(relation.left), _grown(relation.right)
            if left_times and right_times:
                raise QueryRefused(
                    "a person may have any number of rows on both sides of the join, and all pairs of them would be "
                    "made",
                    hint=(
                        "rows_per_person=10; or make one row for each person first (GROUP BY the person in a subquery)"
                    ),
                )
            right_rows = max(right_rows, 1)  # a row that finds none is kept by a left join
            return left_rows * right_rows, left_times * right_rows + left_rows * right_times
        case _ if relation.sources:
            grown = [_grown(source) for source in relation.sources]
            return sum(rows for rows, _ in grown), sum(times for _, times in grown)
        case _:
            return (0, 1) if relation.most_rows is None else (relation.most_rows, 0)


@final
@stored("semi join")
@dataclass(frozen=True, slots=True)
class SemiJoin(Unary):
    """The rows whose value occurs in a column of a public table, or with `negated` those whose value does not.

    `condition` says which rows of the public table count. Locality: whether a row stays depends on itself and on what
    is public; no row multiplies, however often a value occurs there. As in SQL, a missing value never matches, and
    with `negated` no row stays if a value in the column is missing.
    """

    public: PublicTable
    on: Expression
    public_column: str
    condition: Expression | None = None
    negated: bool = False

    def __post_init__(self) -> None:
        require_shallow(self.on)
        theirs, ours = (
            ColumnReference(self.public_column).domain(self.public.schema),
            self.on.domain(self.source.schema),
        )
        if theirs.kind is not ours.kind or theirs.kind in {Kind.REAL, Kind.DECIMAL}:
            raise QueryRefused(
                f"{ours.kind} values cannot be looked up among {theirs.kind} values",
                hint="whole numbers, texts and dates are, in columns of the same kind",
            )
        if self.condition is not None:
            require_true_or_false(self.condition, self.public.schema)

    def computed(self) -> tuple[Expression, ...]:
        return (self.on,)
