"""Expressions and relations as SQL that no row can make fail."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan import (
    AggregateKind,
    Call,
    Column,
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
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.engines.tally import Quantum
    from giveortake.plan import Aggregate, Schema, Value

LONGEST = 200_000  # characters of a statement; some expressions repeat their argument
_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FEATURE_STEPS = 2**30


def identifier(name: str) -> str:
    """A name, quoted."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """A value of the question as SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            if abs(value) >= 1 << 63:
                raise QueryRefused("a whole number is beyond 64 bits")
            return str(value)
        case Fraction():
            return double(value)
        case str():
            if "\0" in value:
                raise QueryRefused("a text holds a NUL character")
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"


def double(value: Fraction) -> str:
    """The double nearest to a number, as SQL."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


class Printer:
    """Prints what DuckDB runs; dialects of other engines override what differs.

    `sources` says how each table is read. A column of real numbers has no NaN in it (they are missing), dates lie
    between the years 1 and 9999, and rows without a person are left out: all three are settled where tables are read.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    # -- relations ----------------------------------------------------------------------------------------------

    def relation(self, relation: Relation) -> str:
        """A SELECT of all its columns."""
        match relation:
            case Scan():
                return self._scan(relation)
            case Filter():
                condition = self.expression(relation.condition, relation.source.schema)
                return f"SELECT * FROM ({self.relation(relation.source)}) WHERE {condition}"
            case Derive():
                return self._derive(relation)
            case JoinPublic():
                return self._join_public(relation)
            case JoinPersons():
                return self._join_persons(relation)
            case Union():
                names = ", ".join(identifier(name) for name in relation.schema)
                one, other = self.relation(relation.left), self.relation(relation.right)
                return f"SELECT {names} FROM ({one}) UNION ALL SELECT {names} FROM ({other})"
            case PerPerson():
                return self._per_person(relation)
            case KeepParts():
                return self._keep_parts(relation)
        raise TypeError(f"no relation: {type(relation).__name__}")

    def _scan(self, scan: Scan) -> str:
        columns = ", ".join(f"{self.read(name, domain)} AS {identifier(name)}" for name, domain in scan.table.columns)
        source = self._sources[scan.table.name if scan.most_rows_of_person is None else bounded_name(scan)]
        text = f"SELECT {columns} FROM {source}"
        complete = [identifier(name) for name, domain in scan.table.columns if not domain.nullable]
        if complete:
            text = f"SELECT * FROM ({text}) WHERE {' AND '.join(f'{name} IS NOT NULL' for name in complete)}"
        return text

    def read(self, name: str, domain: Domain) -> str:
        """A stored column, brought to the one type of its kind."""
        column = identifier(name)
        match domain.kind:
            case Kind.REAL:
                return f"nullif(CAST({column} AS DOUBLE), CAST('NaN' AS DOUBLE))"
            case Kind.TEXT:
                text = f"CAST({column} AS VARCHAR)"
                return text if domain.longest is None else f"left({text}, {domain.longest})"
            case Kind.DATE | Kind.TIMESTAMP:
                return _usual(f"TRY_CAST({column} AS {_TYPES[domain.kind]})", domain.kind)
            case _:
                return column

    def _derive(self, derive: Derive) -> str:
        schema = derive.source.schema
        named = dict(derive.named)
        columns = [
            f"{self.expression(named.get(name, Column(name)), schema)} AS {identifier(name)}" for name in derive.schema
        ]
        return f"SELECT {', '.join(columns)} FROM ({self.relation(derive.source)})"

    def _join_public(self, join: JoinPublic) -> str:
        taken = "".join(f", theirs.{identifier(old)} AS {identifier(new)}" for old, new in join.taken)
        kind = "LEFT JOIN" if join.optional else "JOIN"
        on = self.expression(join.on, join.source.schema, table="ours")
        columns = ", ".join(f"ours.{identifier(name)}" for name in join.source.schema)
        public = ", ".join(f"{self.read(name, domain)} AS {identifier(name)}" for name, domain in join.public.columns)
        return (
            f"SELECT {columns}{taken} FROM ({self.relation(join.source)}) AS ours {kind} "
            f"(SELECT {public} FROM {self._sources[join.public.name]}) AS theirs "
            f"ON {on} = theirs.{identifier(join.public_column)}"
        )

    def _join_persons(self, join: JoinPersons) -> str:
        taken = "".join(f", theirs.{identifier(old)} AS {identifier(new)}" for old, new in join.taken)
        kind = "LEFT JOIN" if join.optional else "JOIN"
        columns = ", ".join(f"ours.{identifier(name)}" for name in join.left.schema)
        return (
            f"SELECT {columns}{taken} FROM ({self.relation(join.left)}) AS ours {kind} "
            f"({self.relation(join.right)}) AS theirs "
            f"ON ours.{identifier(str(join.left.person))} = theirs.{identifier(str(join.right.person))}"
        )

    def _per_person(self, relation: PerPerson) -> str:
        inner, schema = self.relation(relation.source), relation.source.schema
        groups = [identifier(str(relation.person)), *(identifier(key) for key in relation.keys)]
        features = [f"{self.feature(each, schema)} AS {identifier(name)}" for name, each in relation.features]
        return f"SELECT {', '.join([*groups, *features])} FROM ({inner}) GROUP BY {', '.join(groups)}"

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
                return f"CAST(min({of}) AS DOUBLE)"
            case AggregateKind.MAXIMUM:
                return f"CAST(max({of}) AS DOUBLE)"
        domain = feature.of.domain(schema)
        granularity = feature_granularity(domain)
        total = f"CAST(sum({self.steps(of, domain, granularity)}) AS DOUBLE) * {double(granularity)}"
        return total if feature.kind is AggregateKind.SUM else f"{total} / nullif(count({of}), 0)"

    def _keep_parts(self, relation: KeepParts) -> str:
        person, column = identifier(str(relation.person)), identifier(relation.column)
        rank = f"dense_rank() OVER (PARTITION BY {person} ORDER BY {self.hash(person, column)}, {column})"
        columns = ", ".join(identifier(name) for name in relation.schema)
        inner = f"SELECT *, {rank} AS _rank FROM ({self.relation(relation.source)})"
        return f"SELECT {columns} FROM ({inner}) WHERE _rank <= {relation.most}"

    # -- values -------------------------------------------------------------------------------------------------

    def hash(self, *columns: str) -> str:
        """A hash of a person and of what is theirs. Equal values may follow in any order that they themselves fix."""
        return f"hash({', '.join(columns)})"

    def short_hash(self, *columns: str) -> str:
        """The first 31 bits of a hash."""
        return f"CAST({self.hash(*columns)} >> 33 AS INTEGER)"

    def quantised(self, column: str, kind: Kind, quantum: Quantum) -> str:
        """A column of numbers as whole steps: clamped, then moved to the lattice. Missing stays missing."""
        shift = f" - ({quantum.shift})" if quantum.shift else ""
        if quantum.is_whole and kind is Kind.INTEGER:
            low, high = quantum.least + quantum.shift, quantum.most + quantum.shift
            clamped = f"CAST(least(greatest({column}, {low}), {high}) AS BIGINT){shift}"
        else:
            inverse = double(1 / quantum.granularity)
            real = f"least(greatest(CAST({column} AS DOUBLE), {double(quantum.low)}), {double(quantum.high)})"
            stored = "INTEGER" if quantum.reach + abs(quantum.shift) < 2**31 - 1 else "BIGINT"
            clamped = f"CAST(floor({real} * {inverse} + 0.5) AS {stored}){shift}"
        return f"CASE WHEN {column} IS NULL THEN NULL ELSE {clamped} END"

    def steps(self, of: str, domain: Domain, granularity: Fraction) -> str:
        """The same for the features of persons, whose values are not released."""
        if domain.kind is Kind.INTEGER:
            low, high = math.ceil(_some(domain.low)), math.floor(_some(domain.high))
            return f"CASE WHEN {of} IS NULL THEN NULL ELSE CAST(least(greatest({of}, {low}), {high}) AS BIGINT) END"
        real = f"least(greatest(CAST({of} AS DOUBLE), {double(_some(domain.low))}), {double(_some(domain.high))})"
        return f"CASE WHEN {of} IS NULL THEN NULL ELSE CAST(floor({real} / {double(granularity)} + 0.5) AS BIGINT) END"

    def bin_index(self, column: str, kind: Kind, low: Fraction, width: Fraction, count: int) -> str:
        """Which of `count` bins a number falls into; those beyond the ends fall into the first and the last."""
        real = _as(column, kind, Kind.REAL)
        index = f"floor(({real} - {double(low)}) / {double(width)})"
        return f"CAST(least(greatest({index}, 0), {count - 1}) AS INTEGER)"

    def first_groups(self, rows: str, code: str, marks: str, groups: int, *, small: bool) -> str:
        """Of rows with a person p: for each code, how many p have it among the first `groups` of theirs by hash.

        The hash is of the person and the key's `marks`, which its values alone decide. Codes do not: they are places in
        lists that other people's rows make longer. Hash and code are one number, the hash in front, so that equal
        hashes are ordered by code; a longer list changes no two values' order.
        """
        kind, bits = ("BIGINT", 32) if small else ("HUGEINT", 63)
        ordered = f"(CAST({self.short_hash('r.p', marks)} AS {kind}) << {bits}) + {code}"
        pairs = f"SELECT DISTINCT r.p AS p, {ordered} AS ordered FROM {rows}"
        chosen = f"SELECT unnest(min(ordered, {groups})) & {2**bits - 1} AS code FROM ({pairs}) GROUP BY p"
        return f"SELECT CAST(code AS BIGINT) AS code, count(*) FROM ({chosen}) GROUP BY code"

    # -- expressions --------------------------------------------------------------------------------------------

    def expression(self, expression: Expression, schema: Schema, table: str | None = None) -> str:
        """An expression as SQL of the type that belongs to its kind."""
        prefix = "" if table is None else f"{table}."
        match expression:
            case Column():
                return prefix + identifier(expression.name)
            case Literal():
                return literal(expression.value)
            case Call():
                printed = [self.expression(argument, schema, table) for argument in expression.arguments]
                kinds = [argument.domain(schema).kind for argument in expression.arguments]
                text = self.call(expression, printed, kinds, expression.domain(schema))
                if len(text) > LONGEST:
                    raise QueryRefused("an expression is too long", hint="split it over subqueries")
                return text
        raise TypeError(f"no expression: {type(expression).__name__}")

    def call(self, call: Call, printed: list[str], kinds: list[Kind], domain: Domain) -> str:
        """A function's value; numbers are computed as doubles, which never overflow into an error."""
        name = call.name
        if name in _COMPARISONS or name in {"in", "nullif"}:
            printed = _alike(printed, kinds)
        if name in _COMPARISONS:
            return f"({printed[0]} {_COMPARISONS[name]} {printed[1]})"
        if name in {"case", "coalesce"}:
            printed = [
                _as(text, kind, domain.kind) if _is_value(name, index, len(printed)) else text
                for index, (text, kind) in enumerate(zip(printed, kinds, strict=True))
            ]
        if name in _ARITHMETIC:
            reals = [_as(text, kind, Kind.REAL) for text, kind in zip(printed, kinds, strict=True)]
            value = f"nullif({_ARITHMETIC[name](reals)}, CAST('NaN' AS DOUBLE))"
            return f"TRY_CAST({value} AS BIGINT)" if domain.kind is Kind.INTEGER else value
        if name == "clamp":
            return self._clamp(printed[0], kinds[0], domain)
        if name == "bucket":
            return _bucket(_as(printed[0], kinds[0], Kind.REAL), call, domain)
        if name in {"to_real", "to_integer", "to_date"}:
            return _converted(name, printed[0], kinds[0])
        return _PLAIN[name](printed)

    def _clamp(self, of: str, kind: Kind, domain: Domain) -> str:
        low, high = _some(domain.low), _some(domain.high)
        if kind is Kind.INTEGER and domain.kind is Kind.INTEGER:
            bounds = f"CAST(least(greatest({of}, {int(low)}), {int(high)}) AS BIGINT)"
        else:
            bounds = f"least(greatest(CAST({of} AS DOUBLE), {double(low)}), {double(high)})"
        return f"CASE WHEN {of} IS NULL THEN NULL ELSE {bounds} END"


def bounded_name(scan: Scan) -> str:
    """The name under which a table with few rows of each person is prepared."""
    return f"{scan.table.name} with at most {scan.most_rows_of_person} rows of a person"


def feature_granularity(domain: Domain) -> Fraction:
    """The lattice of a person's sums: whole numbers, or a power of two far below the bounds."""
    if domain.kind is Kind.INTEGER:
        return Fraction(1)
    greatest = max(abs(_some(domain.low)), abs(_some(domain.high)), Fraction(1, 2**60))
    return power_of_two_at_least(greatest / _FEATURE_STEPS)


def power_of_two_at_least(number: Fraction) -> Fraction:
    """The least power of two that is at least that."""
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
    while power < number:
        power *= 2
    return power


def _some(bound: Fraction | None) -> Fraction:
    assert bound is not None  # noqa: S101 (checked when the plan was made)
    return bound


def _usual(text: str, kind: Kind) -> str:
    """A date or moment of the years 1 to 9999; others, infinite ones included, are missing."""
    first, last = ("'0001-01-01'", "'9999-12-31'") if kind is Kind.DATE else ("'0001-01-01'", "'9999-12-31 23:59:59'")
    return f"CASE WHEN {text} BETWEEN {kind.upper()} {first} AND {kind.upper()} {last} THEN {text} END"


def _as(text: str, kind: Kind, wanted: Kind) -> str:
    return f"CAST({text} AS DOUBLE)" if wanted is Kind.REAL and kind is not Kind.REAL else text


def _alike(printed: list[str], kinds: list[Kind]) -> list[str]:
    """Numbers of different kinds as doubles, dates beside moments as moments."""
    same = len(set(kinds)) == 1 and kinds[0] is not Kind.DECIMAL  # decimals of two scales need not fit one another
    if same or not all(kind.is_number for kind in kinds):
        if set(kinds) == {Kind.DATE, Kind.TIMESTAMP}:
            return [f"CAST({text} AS TIMESTAMP)" for text in printed]
        return printed
    return [_as(text, kind, Kind.REAL) for text, kind in zip(printed, kinds, strict=True)]


def _is_value(name: str, index: int, count: int) -> bool:
    return name == "coalesce" or index % 2 == 1 or index == count - 1


def _bucket(real: str, call: Call, domain: Domain) -> str:
    width = call.arguments[1]
    assert isinstance(width, Literal) and isinstance(width.value, int | Fraction)  # noqa: S101, PT018 (checked)
    each = Fraction(width.value)
    low, high = _some(domain.low) / each, _some(domain.high) / each
    index = f"CAST(least(greatest(floor({real} / {double(each)}), {double(low)}), {double(high)}) AS BIGINT)"
    if each.denominator == 1:
        value = f"{index} * {each.numerator}"
    else:
        decimal = Decimal(each.numerator) / Decimal(each.denominator)
        value = f"CAST({index} * CAST('{decimal:f}' AS DECIMAL(18, 9)) AS DECIMAL(38, 9))"
    return f"CASE WHEN {real} IS NULL THEN NULL ELSE {value} END"


def _converted(name: str, text: str, kind: Kind) -> str:
    if name == "to_date":
        return text if kind is Kind.DATE else _usual(f"TRY_CAST({text} AS DATE)", Kind.DATE)
    if name == "to_real":
        return text if kind is Kind.REAL else f"nullif(TRY_CAST({text} AS DOUBLE), CAST('NaN' AS DOUBLE))"
    if kind is Kind.INTEGER:
        return text
    if kind is Kind.BOOLEAN:
        return f"CAST({text} AS BIGINT)"
    return f"TRY_CAST(floor(CAST({text} AS DOUBLE) + 0.5) AS BIGINT)"


def _case(printed: list[str]) -> str:
    pairs = zip(printed[:-1:2], printed[1:-1:2], strict=True)
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in pairs)} ELSE {printed[-1]} END"


def _known(printed: list[str], value: str) -> str:
    """A value of arguments none of which may be missing."""
    return f"CASE WHEN {' OR '.join(f'{text} IS NULL' for text in printed)} THEN NULL ELSE {value} END"


_ARITHMETIC: dict[str, Callable[[list[str]], str]] = {
    "add": lambda a: f"({a[0]} + {a[1]})",
    "subtract": lambda a: f"({a[0]} - {a[1]})",
    "multiply": lambda a: f"({a[0]} * {a[1]})",
    "divide": lambda a: f"({a[0]} / nullif({a[1]}, 0))",
    "modulo": lambda a: f"({a[0]} % nullif({a[1]}, 0))",
    "negate": lambda a: f"(- {a[0]})",
    "abs": lambda a: f"abs({a[0]})",
    "floor": lambda a: f"floor({a[0]})",
    "ceil": lambda a: f"ceil({a[0]})",
    "round": lambda a: f"floor({a[0]} + 0.5)",
    "sqrt": lambda a: f"sqrt(CASE WHEN {a[0]} >= 0 THEN {a[0]} END)",
    "ln": lambda a: f"ln(CASE WHEN {a[0]} > 0 THEN {a[0]} END)",
    "exp": lambda a: f"exp({a[0]})",
    "greatest": lambda a: _known(a, f"greatest({', '.join(a)})"),
    "least": lambda a: _known(a, f"least({', '.join(a)})"),
}
_PLAIN: dict[str, Callable[[list[str]], str]] = {
    "in": lambda a: f"({a[0]} IN ({', '.join(a[1:])}))",
    "and": lambda a: f"({a[0]} AND {a[1]})",
    "or": lambda a: f"({a[0]} OR {a[1]})",
    "not": lambda a: f"(NOT {a[0]})",
    "is_null": lambda a: f"({a[0]} IS NULL)",
    "like": lambda a: f"({a[0]} LIKE {a[1]})",
    "ilike": lambda a: f"({a[0]} ILIKE {a[1]})",
    "case": _case,
    "coalesce": lambda a: f"coalesce({', '.join(a)})",
    "nullif": lambda a: f"nullif({a[0]}, {a[1]})",
    "lower": lambda a: f"lower({a[0]})",
    "upper": lambda a: f"upper({a[0]})",
    "trim": lambda a: f"trim({a[0]})",
    "concat": lambda a: f"({' || '.join(a)})",
    "substring": lambda a: f"substring({', '.join(a)})",
    "length": lambda a: f"CAST(length({a[0]}) AS BIGINT)",
    "year": lambda a: f"CAST(year({a[0]}) AS BIGINT)",
    "quarter": lambda a: f"CAST(quarter({a[0]}) AS BIGINT)",
    "month": lambda a: f"CAST(month({a[0]}) AS BIGINT)",
    "week": lambda a: f"CAST(week({a[0]}) AS BIGINT)",
    "day": lambda a: f"CAST(day({a[0]}) AS BIGINT)",
    "dayofweek": lambda a: f"CAST(isodow({a[0]}) AS BIGINT)",
    "dayofyear": lambda a: f"CAST(dayofyear({a[0]}) AS BIGINT)",
    "hour": lambda a: f"CAST(hour({a[0]}) AS BIGINT)",
    "minute": lambda a: f"CAST(minute({a[0]}) AS BIGINT)",
    "date_trunc": lambda a: f"CAST(date_trunc({a[0]}, {a[1]}) AS DATE)",
    "to_text": lambda a: f"CAST({a[0]} AS VARCHAR)",
}
PRINTED = frozenset({*_COMPARISONS, *_ARITHMETIC, *_PLAIN, "clamp", "bucket", "to_real", "to_integer", "to_date"})
