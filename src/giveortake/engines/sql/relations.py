"""Relations as SQL, on top of expressions: how tables are read, joined, and reduced to persons."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.engines.sql.expressions import LONGEST, Writer, some
from giveortake.errors import QueryRefused
from giveortake.exact import power_of_two_at_least
from giveortake.plan import (
    AggregateKind,
    Column,
    Derive,
    Domain,
    Expression,
    Filter,
    JoinPersons,
    JoinPublic,
    KeepParts,
    Kind,
    PerPerson,
    Relation,
    Scan,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from giveortake.engines.questions import Quantum
    from giveortake.plan import Aggregate, Expression, Schema

_FEATURE_STEPS = 2**30
_PRIME = 2**31 - 1
_SCRAMBLE = 1_583_458_089  # the constants are the hash's key: public, because no promise depends on them
_OF_PERSON, _OF_PART = 14_348_907, 11_184_811
_MISSING = -1
_MOST_MARKED = 2.0**40
_SMALL = 2**31


class Printer(Writer):
    """Prints what DuckDB runs; dialects of other engines override what differs.

    `sources` says how each table is read. A column of real numbers has no NaN in it (they are missing), dates lie
    between the years 1 and 9999, and rows without a person are left out: all three are settled where tables are read.
    """

    def __init__(self, sources: Mapping[object, str]) -> None:
        self._sources = sources

    # -- relations ----------------------------------------------------------------------------------------------

    def relation(self, relation: Relation) -> str:
        """A SELECT of all its columns."""
        match relation:
            case Scan():
                return self._scan(relation)
            case Filter():
                condition = self.expression(relation.condition, relation.source.schema)
                return f"SELECT * FROM ({self.relation(relation.source)}) AS t WHERE {condition}"
            case Derive():
                return self._derive(relation)
            case JoinPublic():
                return self._join_public(relation)
            case JoinPersons():
                return self._join_persons(relation)
            case Union():
                names = ", ".join(self.identifier(name) for name in relation.schema)
                one, other = self.relation(relation.left), self.relation(relation.right)
                return f"SELECT {names} FROM ({one}) AS t UNION ALL SELECT {names} FROM ({other}) AS t"
            case PerPerson():
                return self._per_person(relation)
            case KeepParts():
                return self._keep_parts(relation)
        raise TypeError(f"no relation: {type(relation).__name__}")

    def _scan(self, scan: Scan) -> str:
        source = self._sources[scan.table.name if scan.most_rows_of_person is None else bounded_name(scan)]
        text = f"SELECT {self.read_all(scan.table.columns)} FROM {source} AS t"
        complete = [self.identifier(name) for name, domain in scan.table.columns if not domain.nullable]
        if complete:
            text = f"SELECT * FROM ({text}) AS t WHERE {' AND '.join(f'{name} IS NOT NULL' for name in complete)}"
        return text

    def read_all(self, columns: Iterable[tuple[str, Domain]]) -> str:
        """Stored columns, each brought to the one type of its kind."""
        return ", ".join(f"{self.read(name, domain)} AS {self.identifier(name)}" for name, domain in columns)

    def read(self, name: str, domain: Domain) -> str:
        """A stored column, brought to the one type of its kind."""
        column = self.identifier(name)
        match domain.kind:
            case Kind.REAL:
                return self.usual_number(self.real(column))
            case Kind.TEXT:
                text = f"CAST({column} AS {self.types[Kind.TEXT]})"
                return text if domain.longest is None else f"left({text}, {domain.longest})"
            case Kind.DATE | Kind.TIMESTAMP:
                return self.usual_time(f"TRY_CAST({column} AS {self.types[domain.kind]})", domain.kind)
            case _:
                return column

    def few_rows(self, scan: Scan) -> str:
        """A table with at most so many rows of each person, chosen by what is in them; rows of nobody are left out."""
        columns = ", ".join(self.identifier(name) for name, _ in scan.table.columns)
        person = self.identifier(str(scan.table.person))
        marks = [self.mark(self.identifier(name), domain.kind) for name, domain in scan.table.columns]
        order = [self.hash(*marks), *(f"{self.identifier(name)} NULLS LAST" for name, _ in scan.table.columns)]
        rank = f"row_number() OVER (PARTITION BY {person} ORDER BY {', '.join(order)})"
        named = unused("row_rank", (name for name, _ in scan.table.columns))
        stored = f"SELECT {self.read_all(scan.table.columns)} FROM {self._sources[scan.table.name]} AS t"
        ranked = f"SELECT {columns}, {rank} AS {named} FROM ({stored}) AS t WHERE {person} IS NOT NULL"
        return f"SELECT {columns} FROM ({ranked}) AS t WHERE {named} <= {scan.most_rows_of_person}"

    def _derive(self, derive: Derive) -> str:
        schema = derive.source.schema
        named = dict(derive.named)
        columns = [
            f"{self.expression(named.get(name, Column(name)), schema)} AS {self.identifier(name)}"
            for name in derive.schema
        ]
        text = f"SELECT {', '.join(columns)} FROM ({self.relation(derive.source)}) AS t"
        return self.fenced(text, named.values())

    def fenced(self, select: str, expressions: Iterable[Expression | None]) -> str:
        """A SELECT of expressions, each computed once for each row however often what follows refers to it."""
        return select

    def _join_public(self, join: JoinPublic) -> str:
        ours = self.expression(join.on, join.source.schema, table="ours")
        on = f"{ours} = theirs.{self.identifier(join.public_column)}"
        public = f"SELECT {self.read_all(join.public.columns)} FROM {self._sources[join.public.name]} AS t"
        return self._joined(join, join.source, public, on)

    def _join_persons(self, join: JoinPersons) -> str:
        ours, theirs = self.identifier(str(join.left.person)), self.identifier(str(join.right.person))
        return self._joined(join, join.left, self.relation(join.right), f"ours.{ours} = theirs.{theirs}")

    def _joined(self, join: JoinPublic | JoinPersons, left: Relation, right: str, on: str) -> str:
        columns = [f"ours.{self.identifier(name)}" for name in left.schema]
        columns += [f"theirs.{self.identifier(old)} AS {self.identifier(new)}" for old, new in join.taken]
        kind = "LEFT JOIN" if join.optional else "JOIN"
        return f"SELECT {', '.join(columns)} FROM ({self.relation(left)}) AS ours {kind} ({right}) AS theirs ON {on}"

    def _per_person(self, relation: PerPerson) -> str:
        inner, schema = self.relation(relation.source), relation.source.schema
        groups = [self.identifier(str(relation.person)), *(self.identifier(key) for key in relation.keys)]
        features = [f"{self.feature(each, schema)} AS {self.identifier(name)}" for name, each in relation.features]
        return f"SELECT {', '.join([*groups, *features])} FROM ({inner}) AS t GROUP BY {', '.join(groups)}"

    def feature(self, feature: Aggregate, schema: Schema) -> str:
        """An exact aggregate of one person's rows. Sums run over whole steps, so that the order does not matter."""
        if feature.of is None:
            return "count(*)"
        of = self.expression(feature.of, schema)
        match feature.kind:
            case AggregateKind.COUNT_ROWS:
                return "count(*)"
            case AggregateKind.COUNT_VALUES:
                return f"count({of})"
            case AggregateKind.COUNT_DISTINCT:
                return f"count(DISTINCT {of})"
            case AggregateKind.MINIMUM:
                return self.real(f"min({of})")
            case AggregateKind.MAXIMUM:
                return self.real(f"max({of})")
        domain = feature.of.domain(schema)
        granularity = feature_granularity(domain)
        reach = math.ceil(max(abs(some(domain.low)), abs(some(domain.high))) / granularity)
        steps = self.total(self.steps(of, domain, granularity), reach)
        total = f"({self.real_sum(steps, reach)}) * {self.double(granularity)}"
        return total if feature.kind is AggregateKind.SUM else f"{total} / nullif(count({of}), 0)"

    def _keep_parts(self, relation: KeepParts) -> str:
        person, column = self.identifier(str(relation.person)), self.identifier(relation.column)
        hashed = self.hash(
            self.mark(person, relation.schema[str(relation.person)].kind),
            self.mark(column, relation.schema[relation.column].kind),
        )
        rank = f"dense_rank() OVER (PARTITION BY {person} ORDER BY {hashed}, {column} NULLS LAST)"
        columns = ", ".join(self.identifier(name) for name in relation.schema)
        named = unused("part_rank", relation.schema)
        inner = f"SELECT t.*, {rank} AS {named} FROM ({self.relation(relation.source)}) AS t"
        return f"SELECT {columns} FROM ({inner}) AS t WHERE {named} <= {relation.most}"

    # -- choosing -----------------------------------------------------------------------------------------------

    def mark(self, column: str, kind: Kind) -> str:
        """A number below 2³¹ that a value alone decides, on every engine alike; different values seldom share one."""
        match kind:
            case Kind.INTEGER:
                number = column
            case Kind.BOOLEAN:
                number = self.truth_as_number(column)
            case Kind.TEXT:
                number = self.digest(column)
            case Kind.DATE:
                number = self.days(column)
            case Kind.TIMESTAMP:
                hour, minute = (self.plain[part](self, [column]) for part in ("hour", "minute"))
                number = f"({self.days(f'CAST({column} AS DATE)')} * 1440 + {hour} * 60 + {minute})"
            case _:
                real, most = self.real(column, kind), self.double(_MOST_MARKED)
                steps = f"CAST(floor({real} * {self.double(2.0**20)}) AS BIGINT)"
                number = f"CASE WHEN abs({real}) < {most} THEN {steps} WHEN {real} IS NOT NULL THEN 1 END"
        return f"((coalesce({self.narrow(number)}, {_MISSING}) % {_PRIME}) * {_SCRAMBLE}) % {_PRIME}"

    def hash(self, *marks: str) -> str:
        """A number of 31 bits made of marks: what orders a person's parts when not all of them can count.

        Remainders modulo the prime 2³¹ − 1, multiplied. No product leaves 64 bits: remainders are below 2³¹ and the
        constants added to them below 2²⁴. Equal numbers are followed by an order of the values themselves.
        """
        text, *others = (f"({mark})" for mark in marks)
        for other in others:
            text = f"((({text} + {_OF_PERSON}) * ({other} + {_OF_PART})) % {_PRIME})"
        return f"abs({text})"

    def digest(self, text: str) -> str:
        """The first 60 bits of the MD5 of a text in UTF-8."""
        return f"CAST('0x' || left(md5({text}), 15) AS BIGINT)"

    def days(self, date: str) -> str:
        """The days from 1970-01-01 to a date."""
        return f"date_diff('day', DATE '1970-01-01', {date})"

    def same(self, one: str, other: str) -> str:
        """Whether two values are equal, or both missing."""
        return f"{one} IS NOT DISTINCT FROM {other}"

    def by_person(self, lines: str) -> str:
        """Rows of many persons, brought together by person where an engine has them in many places."""
        return lines

    def with_groups(self, pairs: str) -> str:
        """Rows (p, code, …), one for each pair, and with each the number m of its person's codes."""
        groups = "SELECT p, count(*) AS m FROM pairs GROUP BY p"
        return f"WITH pairs AS MATERIALIZED ({pairs}), groups AS ({groups}) SELECT * FROM pairs JOIN groups USING (p)"

    def with_counts(self, cells: str) -> str:
        """Rows (p, code, b, n), one for each triple, with the sum c of n over a pair and the number m of codes."""
        return (
            f"WITH cells AS MATERIALIZED ({cells}), "
            "pairs AS (SELECT p, code, sum(n) AS c FROM cells GROUP BY p, code), "
            "groups AS (SELECT p, count(*) AS m FROM pairs GROUP BY p) "
            "SELECT * FROM cells JOIN pairs USING (p, code) JOIN groups USING (p)"
        )

    # -- numbers ------------------------------------------------------------------------------------------------

    def total(self, steps: str, reach: int) -> str:
        """The exact sum of whole numbers that are at most so far from zero."""
        return f"sum({steps})"

    def total_of_person(self, steps: str, reach: int) -> str:
        """The sum of one person's whole numbers; of small ones in 64 bits, which nobody has enough rows to fill."""
        return self.narrow(self.total(steps, reach)) if reach < _SMALL else self.total(steps, reach)

    def narrow(self, whole: str) -> str:
        """A whole number that seldom leaves 64 bits, in 64 bits; missing if it does."""
        return f"TRY_CAST({whole} AS BIGINT)"

    def real_sum(self, total: str, reach: int) -> str:
        """A sum of numbers that are at most so far from zero, as the nearest double.

        Wide ones are in two parts: a cast of 128 bits is not always to the nearest, but a sum of doubles is.
        """
        if reach < 2**31:
            return self.real(total)
        return f"{self.real(f'({total} // {2**32})')} * {self.double(2.0**32)} + {self.real(f'({total} % {2**32})')}"

    def cut(self, real: str, greatest: int) -> str:
        """A double that is at most so far from zero, cut to a whole number towards zero."""
        return f"CAST(trunc({real}) AS {'BIGINT' if greatest < 2**62 else 'HUGEINT'})"

    def lattice(self, real: str, granularity: Fraction) -> str:
        """A clamped double in steps of a power of two, as the nearest whole number of them; halves upwards."""
        return f"floor({real} * {self.double(1 / granularity)} + 0.5)"

    def quantised(self, column: str, kind: Kind, quantum: Quantum) -> str:
        """A column of numbers as whole steps: clamped, then moved to the lattice. Missing stays missing."""
        shift = f" - ({quantum.shift})" if quantum.shift else ""
        if quantum.is_whole and kind is Kind.INTEGER:
            low, high = quantum.least + quantum.shift, quantum.most + quantum.shift
            clamped = f"CAST({self.between(column, str(low), str(high))} AS BIGINT){shift}"
        else:
            real = self.between(self.real(column), self.double(quantum.low), self.double(quantum.high))
            stored = "INTEGER" if quantum.reach + abs(quantum.shift) < 2**31 - 1 else "BIGINT"
            clamped = f"CAST({self.lattice(real, quantum.granularity)} AS {stored}){shift}"
        return f"CASE WHEN {column} IS NULL THEN NULL ELSE {clamped} END"

    def steps(self, of: str, domain: Domain, granularity: Fraction) -> str:
        """The same for the features of persons, whose values are not released."""
        low, high = some(domain.low), some(domain.high)
        if domain.kind is Kind.INTEGER:
            clamped = self.between(of, str(math.ceil(low)), str(math.floor(high)))
        else:
            real = self.between(self.real(of), self.double(low), self.double(high))
            clamped = self.lattice(real, granularity)
        return f"CASE WHEN {of} IS NULL THEN NULL ELSE CAST({clamped} AS BIGINT) END"

    def bin_index(self, column: str, kind: Kind, low: Fraction, width: Fraction, count: int) -> str:
        """Which of `count` bins a number falls into; those beyond the ends fall into the first and the last."""
        from_low = self.arithmetic["subtract"](self, [self.real(column, kind), self.double(low)])
        place = self.arithmetic["divide"](self, [from_low, self.double(width)])
        return f"CAST(floor({self.between(place, self.double(0), self.double(count - 1))}) AS INTEGER)"


def require_printable(relation: Relation, expressions: Iterable[Expression]) -> None:
    """Refuse what would make a statement too long, before anything is charged for it, whatever the engine."""
    printer = Printer(defaultdict(str))
    length = len(printer.relation(relation))
    length += sum(len(printer.expression(each, relation.schema)) for each in expressions)
    if length > LONGEST:
        raise QueryRefused("the question is too long", hint="ask for less at once")


def bounded_name(scan: Scan) -> tuple[str, int | None]:
    """The name under which a table with few rows of each person is prepared; no table of a user has it."""
    return scan.table.name, scan.most_rows_of_person


def unused(name: str, taken: Iterable[str]) -> str:
    """A name that no column has, in whatever case."""
    known = {each.casefold() for each in taken}
    while name in known:
        name += "_"
    return name


def feature_granularity(domain: Domain) -> Fraction:
    """The lattice of a person's sums: whole numbers, or a power of two far below the bounds."""
    if domain.kind is Kind.INTEGER:
        return Fraction(1)
    greatest = max(abs(some(domain.low)), abs(some(domain.high)), Fraction(1, 2**60))
    return power_of_two_at_least(greatest / _FEATURE_STEPS)
