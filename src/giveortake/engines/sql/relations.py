"""Relations of a plan as SQL: how tables are read, joined, and reduced to persons."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.engines.sql.expressions import Expressions, some
from giveortake.engines.sql.hashes import hash_of, mark
from giveortake.exact import power_of_two_at_least
from giveortake.plan import (
    AggregateKind,
    Call,
    ColumnReference,
    Derive,
    Domain,
    Expression,
    Filter,
    JoinPersons,
    JoinPublic,
    KeepParts,
    Kind,
    Literal,
    PerPerson,
    Relation,
    Scan,
    SemiJoin,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from giveortake.engines.sql.dialect import Dialect
    from giveortake.plan import Aggregate, Schema

_FEATURE_STEPS = 2**30
_LAST = 2**62  # the order number of rows without a value


@final
class Printer:
    """Writes relations in a dialect, in the same way for all engines.

    `sources` says how each table is read, and each relation that was made into a table before. A column of real
    numbers has no NaN in it (they are missing), dates lie between the years 1 and 9999, texts have a greatest length,
    and rows without a person are left out: all of that is settled where tables are read.
    """

    def __init__(self, dialect: Dialect, sources: Mapping[object, str]) -> None:
        self.dialect = dialect
        self._sources = sources
        self._expressions = Expressions(dialect)

    def expression(self, expression: Expression, schema: Schema, table: str | None = None) -> str:
        """An expression as SQL of the type that belongs to its kind."""
        return self._expressions.write(expression, schema, table)

    def relation(self, relation: Relation, needed: Iterable[str] | None = None) -> str:
        """A SELECT of a relation's columns, or of those needed: perhaps with others, and with at least one."""
        wanted = _wanted(relation, relation.schema if needed is None else needed)
        self.dialect.require_columns(wanted)
        prepared = self._sources.get(relation) if isinstance(relation, KeepParts | PerPerson) else None
        if prepared is not None:  # it was made into a table, as no other kind is
            return f"SELECT {self._names(wanted)} FROM {prepared} AS t"
        match relation:
            case Scan():
                return self._scan(relation, wanted)
            case Filter():
                condition = self.expression(relation.condition, relation.source.schema)
                inner = self.relation(relation.source, {*wanted, *relation.condition.columns()})
                return f"SELECT * FROM ({inner}) AS t WHERE {condition}"
            case Derive():
                return self._derive(relation, wanted)
            case JoinPublic():
                return self._join_public(relation, wanted)
            case SemiJoin():
                return self._semi_join(relation, wanted)
            case JoinPersons():
                return self._join_persons(relation, wanted)
            case Union():
                return " UNION ALL ".join(self._side(relation, each, wanted) for each in relation.sources)
            case PerPerson():
                return self._per_person(relation, wanted)
            case KeepParts():
                return self._keep_parts(relation, wanted)
        raise TypeError(f"no relation: {type(relation).__name__}")

    # -- tables -------------------------------------------------------------------------------------------------

    def _scan(self, scan: Scan, wanted: list[str]) -> str:
        """The wanted columns, of the rows in which no required value is missing.

        A table with few rows of each person has the types of their kinds already.
        """
        complete = [name for name, domain in scan.table.columns if not domain.nullable]
        read = [(name, domain) for name, domain in scan.table.columns if name in {*wanted, *complete}]
        if scan.most_rows_of_person is None:
            text = f"SELECT {self.read_all(read, scan.table.person)} FROM {self._sources[scan.table.name]} AS t"
        else:
            text = f"SELECT {self._names(name for name, _ in read)} FROM {self._sources[bounded_name(scan)]} AS t"
        if not complete:
            return text
        there = " AND ".join(f"{self.dialect.identifier(name)} IS NOT NULL" for name in complete)
        return f"SELECT {self._names(wanted)} FROM ({text}) AS t WHERE {there}"

    def read_all(self, columns: Iterable[tuple[str, Domain]], person: str | None = None) -> str:
        """Stored columns, each cast to the one type of its kind."""
        return ", ".join(
            f"{self.read(name, domain, is_person=name == person)} AS {self.dialect.identifier(name)}"
            for name, domain in columns
        )

    def read(self, name: str, domain: Domain, *, is_person: bool = False) -> str:
        """A stored column, cast to the one type of its kind; texts are cut to their greatest length.

        A person's name that is longer is missing: cut, it might be another person's. So is one with U+FFFD in it, which
        stands for bytes that were no text: in another person's name they were perhaps others.
        """
        dialect, column = self.dialect, self.dialect.identifier(name)
        match domain.kind:
            case Kind.INTEGER:
                return dialect.read_whole(column)
            case Kind.REAL:
                return dialect.usual_number(dialect.real(column))
            case Kind.TEXT:
                text = dialect.read_text(column)
                return dialect.name(text, domain.width) if is_person else dialect.shortened(text, domain.width)
            case Kind.DATE | Kind.TIMESTAMP:
                return dialect.usual_time(dialect.read_time(column, domain.kind), domain.kind)
            case _:
                return column

    def few_rows(self, scan: Scan) -> str:
        """A table with few rows of each person, chosen by their content; rows without a person are left out."""
        named = [self.dialect.identifier(name) for name, _ in scan.table.columns]
        columns, person = ", ".join(named), self.dialect.identifier(str(scan.table.person))
        order = ", ".join([self.hash_of_row(scan), *(f"{column} NULLS LAST" for column in named)])
        rank = unused("row_rank", (name for name, _ in scan.table.columns))
        ranks = f"row_number() OVER (PARTITION BY {person} ORDER BY {order}) AS {rank}"
        ranked = f"SELECT {columns}, {ranks} FROM ({self.stored(scan)}) AS t WHERE {person} IS NOT NULL"
        return f"SELECT {columns} FROM ({ranked}) AS t WHERE {rank} <= {scan.most_rows_of_person}"

    def stored(self, scan: Scan) -> str:
        """All rows and columns of a table as it is stored."""
        return (
            f"SELECT {self.read_all(scan.table.columns, scan.table.person)} FROM {self._sources[scan.table.name]} AS t"
        )

    def hash_of_row(self, scan: Scan) -> str:
        """The number that orders a person's rows: a hash of their content, or the value of `first_by`."""
        if scan.first_by is not None:
            return self.expression(_order_number(scan.first_by, scan.table.schema), scan.table.schema)
        named = ((self.dialect.identifier(name), domain.kind) for name, domain in scan.table.columns)
        return hash_of(*(mark(self.dialect, column, kind) for column, kind in named))

    def _names(self, names: Iterable[str]) -> str:
        return ", ".join(self.dialect.identifier(name) for name in names)

    # -- columns ------------------------------------------------------------------------------------------------

    def _derive(self, derive: Derive, wanted: list[str]) -> str:
        schema, named = derive.source.schema, dict(derive.named)
        expressions = {name: named.get(name, ColumnReference(name)) for name in wanted}
        columns = [
            f"{self.expression(each, schema)} AS {self.dialect.identifier(name)}" for name, each in expressions.items()
        ]
        read = [column for each in expressions.values() for column in each.columns()]
        text = f"SELECT {', '.join(columns)} FROM ({self.relation(derive.source, read)}) AS t"
        return self.fenced(text, expressions.values())

    def fenced(self, select: str, expressions: Iterable[Expression | None]) -> str:
        """A SELECT whose expressions are computed only once for each row."""
        return self.dialect.fence(select) if any(isinstance(each, Call) for each in expressions) else select

    # -- joins --------------------------------------------------------------------------------------------------

    def _join_public(self, join: JoinPublic, wanted: list[str]) -> str:
        ours = self.expression(join.on, join.source.schema, table="ours")
        on = f"{ours} = theirs.{self.dialect.identifier(join.public_column)}"
        used = {join.public_column, *(old for old, new in join.taken if new in wanted)}
        columns = [(name, domain) for name, domain in join.public.columns if name in used]
        public = f"SELECT {self.read_all(columns)} FROM {self._sources[join.public.name]} AS t"
        left = self.relation(join.source, {*_wanted(join.source, wanted), *join.on.columns()})
        return self._joined(join, wanted, left, public, on)

    def _semi_join(self, join: SemiJoin, wanted: list[str]) -> str:
        """IN or NOT IN with public rows, cast to their types first; missing values are treated as in SQL."""
        name = self.dialect.identifier
        used = {join.public_column, *(() if join.condition is None else join.condition.columns())}
        columns = [(each, domain) for each, domain in join.public.columns if each in used]
        public = f"SELECT {self.read_all(columns)} FROM {self._sources[join.public.name]} AS t"
        listed = f"SELECT theirs.{name(join.public_column)} FROM ({public}) AS theirs"
        if join.condition is not None:
            listed += f" WHERE {self.expression(join.condition, join.public.schema, table='theirs')}"
        inner = self.relation(join.source, {*wanted, *join.on.columns()})
        among = "NOT IN" if join.negated else "IN"
        on = self.expression(join.on, join.source.schema, table="ours")
        return f"SELECT {self._names(wanted)} FROM ({inner}) AS ours WHERE {on} {among} ({listed})"

    def _join_persons(self, join: JoinPersons, wanted: list[str]) -> str:
        left, right = str(join.left.person), str(join.right.person)
        on = f"ours.{self.dialect.identifier(left)} = theirs.{self.dialect.identifier(right)}"
        ours = self.relation(join.left, {*_wanted(join.left, wanted), left})
        theirs = self.relation(join.right, {right, *(old for old, new in join.taken if new in wanted)})
        return self._joined(join, wanted, ours, theirs, on)

    def _joined(self, join: JoinPublic | JoinPersons, wanted: list[str], left: str, right: str, on: str) -> str:
        name, taken = self.dialect.identifier, {new: old for old, new in join.taken}
        columns = (
            f"theirs.{name(taken[each])} AS {name(each)}" if each in taken else f"ours.{name(each)}" for each in wanted
        )
        kind = "LEFT JOIN" if join.optional else "JOIN"
        return f"SELECT {', '.join(columns)} FROM ({left}) AS ours {kind} ({right}) AS theirs ON {on}"

    def _side(self, union: Union, side: Relation, wanted: list[str]) -> str:
        """One side of a union, its numbers cast to the kind of both sides: decimals may become doubles."""
        kinds, both, name = side.schema, union.schema, self.dialect.identifier
        columns = (
            name(each)
            if kinds[each].kind is both[each].kind
            else f"{self.dialect.real(name(each), kinds[each].kind)} AS {name(each)}"
            for each in wanted
        )
        return f"SELECT {', '.join(columns)} FROM ({self.relation(side, wanted)}) AS t"

    # -- persons ------------------------------------------------------------------------------------------------

    def _per_person(self, relation: PerPerson, wanted: list[str]) -> str:
        """One row for each person and their keys, whichever columns are wanted."""
        schema, name = relation.source.schema, self.dialect.identifier
        used = [(named, each) for named, each in relation.features if named in wanted]
        keys = [str(relation.person), *relation.keys]
        read = [*keys, *(column for _, each in used if each.of is not None for column in each.of.columns())]
        groups = [name(key) for key in keys]
        features = [f"{self.feature(each, schema)} AS {name(named)}" for named, each in used]
        inner = self.relation(relation.source, read)
        return f"SELECT {', '.join([*groups, *features])} FROM ({inner}) AS t GROUP BY {', '.join(groups)}"

    def feature(self, feature: Aggregate, schema: Schema) -> str:
        """An exact aggregate of one person's rows. Sums run over whole steps, so that the order does not matter."""
        if feature.of is None:
            return "count(*)"
        dialect, of = self.dialect, self.expression(feature.of, schema)
        match feature.kind:
            case AggregateKind.COUNT_ROWS:
                return "count(*)"
            case AggregateKind.COUNT_VALUES:
                return f"count({of})"
            case AggregateKind.COUNT_DISTINCT:
                is_text = feature.of.domain(schema).kind is Kind.TEXT
                return f"count(DISTINCT {dialect.brief(of) if is_text else of})"
            case AggregateKind.MINIMUM:
                return dialect.real(f"min({of})")
            case AggregateKind.MAXIMUM:
                return dialect.real(f"max({of})")
        domain = feature.of.domain(schema)
        reach = _feature_reach(domain)
        steps = dialect.total(_feature_steps(dialect, of, domain), reach)
        total = f"({dialect.real_sum(steps, reach)}) * {dialect.double(_feature_granularity(domain))}"
        return total if feature.kind is AggregateKind.SUM else f"{total} / nullif(count({of}), 0)"

    def _keep_parts(self, relation: KeepParts, wanted: list[str]) -> str:
        person, column = self.dialect.identifier(str(relation.person)), self.dialect.identifier(relation.column)
        hashed = hash_of(
            mark(self.dialect, person, relation.schema[str(relation.person)].kind),
            mark(self.dialect, column, relation.schema[relation.column].kind),
        )
        rank = unused("part_rank", relation.schema)
        ranks = f"dense_rank() OVER (PARTITION BY {person} ORDER BY {hashed}, {column} NULLS LAST) AS {rank}"
        source = self.relation(relation.source, {*wanted, str(relation.person), relation.column})
        inner = f"SELECT t.*, {ranks} FROM ({source}) AS t"
        return f"SELECT {self._names(wanted)} FROM ({inner}) AS t WHERE {rank} <= {relation.most}"


def _wanted(relation: Relation, needed: Iterable[str]) -> list[str]:
    """The columns of a relation that are needed, in their order; the first if none is, as a SELECT has at least one."""
    chosen, schema = set(needed), relation.schema
    return [name for name in schema if name in chosen] or list(schema)[:1]


def bounded_name(scan: Scan) -> tuple[str, int | None, str | None]:
    """The key of a table with few rows of each person among the sources; no table of a user has it."""
    return scan.table.name, scan.most_rows_of_person, scan.first_by


def _order_number(name: str, schema: Mapping[str, Domain]) -> Expression:
    """A whole number that rises with a column of days, times or whole numbers; what is missing comes last."""
    column: Expression = ColumnReference(name)
    if schema[name].kind is not Kind.INTEGER:
        column = Call("date_diff", (Literal("day"), Literal(dt.date(1970, 1, 1)), column))
    return Call("coalesce", (column, Literal(_LAST)))


def unused(name: str, taken: Iterable[str]) -> str:
    """A name that no column has, in whatever case."""
    known = {each.casefold() for each in taken}
    while name in known:
        name += "_"
    return name


def _feature_steps(dialect: Dialect, of: str, domain: Domain) -> str:
    """The values of a person's feature as whole steps, clamped and moved to a lattice; they are not released."""
    low, high = some(domain.low), some(domain.high)
    if domain.kind is Kind.INTEGER:
        clamped = dialect.between(of, str(math.ceil(low)), str(math.floor(high)))
    else:
        real = dialect.between(dialect.real(of), dialect.double(low), dialect.double(high))
        clamped = dialect.lattice(real, _feature_granularity(domain))
    return f"CASE WHEN {of} IS NULL THEN NULL ELSE CAST({clamped} AS BIGINT) END"


def _feature_granularity(domain: Domain) -> Fraction:
    """The lattice of a person's sums: whole numbers, or a power of two far below the bounds."""
    if domain.kind is Kind.INTEGER:
        return Fraction(1)
    greatest = max(abs(some(domain.low)), abs(some(domain.high)), Fraction(1, 2**60))
    return power_of_two_at_least(greatest / _FEATURE_STEPS)


def _feature_reach(domain: Domain) -> int:
    """The greatest distance from zero of a feature's value, in steps."""
    return math.ceil(max(abs(some(domain.low)), abs(some(domain.high))) / _feature_granularity(domain))
