"""Expressions and relations of a plan as SQL that no row can make fail, with hashes that all engines compute alike."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from giveortake.engines.sql.dialect import TIME_PARTS
from giveortake.errors import QueryRefused
from giveortake.exact import exact_decimal, power_of_two_at_least
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
from giveortake.plan.times import DAYS, IN_A_DAY, MONTHS, before_moving, in_days

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from giveortake.engines.sql.dialect import Dialect, TimePart
    from giveortake.plan import Aggregate, Schema


_PRIME = 2**31 - 1
_SCRAMBLE = 1_583_458_089  # the constants are the hash's key: public, because no promise depends on them
_OF_PERSON, _OF_PART = 14_348_907, 11_184_811
_MISSING = -1
_MOST_MARKED = 2.0**40


def mark(dialect: Dialect, column: str, kind: Kind) -> str:
    """A number below 2³¹ made of a value alone, the same on every engine; different values seldom share one."""
    match kind:
        case Kind.INTEGER:
            number = column
        case Kind.BOOLEAN:
            number = dialect.truth_as_number(column)
        case Kind.TEXT:
            number = dialect.digest(column)
        case Kind.DATE:
            number = dialect.days(column)
        case Kind.TIMESTAMP:
            days = dialect.days(f"CAST({column} AS DATE)")
            number = f"({days} * 1440 + {dialect.part('hour', column)} * 60 + {dialect.part('minute', column)})"
        case _:
            real, most = dialect.real(column, kind), dialect.double(_MOST_MARKED)
            steps = f"CAST(floor({real} * {dialect.double(2.0**20)}) AS BIGINT)"
            number = f"CASE WHEN abs({real}) < {most} THEN {steps} WHEN {real} IS NOT NULL THEN 1 END"
    return f"((coalesce({dialect.narrow(number)}, {_MISSING}) % {_PRIME}) * {_SCRAMBLE}) % {_PRIME}"


def hash_of(*marks: str) -> str:
    """A number of 31 bits made of marks, by which a person's parts are ordered.

    Remainders modulo the prime 2³¹ − 1, multiplied. No product leaves 64 bits: remainders are below 2³¹ and the
    constants added to them below 2²⁴. Equal numbers are followed by an order of the values themselves.
    """
    text, *other_marks = (f"({mark})" for mark in marks)
    for other_mark in other_marks:
        text = f"((({text} + {_OF_PERSON}) * ({other_mark} + {_OF_PART})) % {_PRIME})"
    return f"abs({text})"


def hash_with_ordinal(dialect: Dialect, hashed: str, ordinal: str) -> str:
    """A number for each of several equal rows, whose content has one hash: that hash for the first of them.

    For others the ordinal is multiplied in twice. Once would make an arithmetic progression of the numbers of equal
    rows, of which long stretches can lie below a border: as many would count as in a sample only on average.
    """
    number = mark(dialect, ordinal, Kind.INTEGER)
    return f"CASE WHEN {ordinal} = 1 THEN {hashed} ELSE {hash_of(hashed, number, number)} END"


def hashes_of(numbers: npt.NDArray[np.int64], marks: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Compute `hash_of` for many persons, who are whole numbers, and many parts, in NumPy: the same integers.

    Remainders have the sign of what is divided, as in SQL.
    """
    hashes: npt.NDArray[np.int64] = np.fmod(np.fmod(numbers, _PRIME) * _SCRAMBLE, _PRIME)
    for column_marks in marks:
        hashes = np.fmod((hashes + _OF_PERSON) * (column_marks + _OF_PART), _PRIME)
    return np.abs(hashes)


LONGEST_EXPRESSION = 1_600_000  # characters; some expressions repeat their argument
_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_NUMBER = "[+-]?([0-9]{1,100}([.][0-9]{0,100})?|[.][0-9]{1,100})([eE][+-]?[0-9]{1,2})?"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_COMPARING = frozenset({"greatest", "least", "sign"})  # to which NaN is a number like others
_LAST_CASED = 0x530  # Latin, Greek and Cyrillic letters; engines differ in others


def _cased() -> tuple[str, str]:
    """Letters beyond ASCII that have exactly one small and one capital form."""
    pairs = [(letter, letter.upper()) for letter in map(chr, range(0x80, _LAST_CASED)) if letter.islower()]
    paired = [(small, capital) for small, capital in pairs if len(capital) == 1 and capital.lower() == small != capital]
    return "".join(small for small, _ in paired), "".join(capital for _, capital in paired)


SMALL, CAPITAL = _cased()


@final
class Expressions:
    """Writes expressions in a dialect.

    Numbers are computed as doubles, which never overflow into an error; the four operations, square roots and rounding
    are the same to the last bit everywhere. Capitals and small letters are those of Latin, Greek and Cyrillic that
    correspond one to one; other letters stay as they are. Texts are compared by their code points.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def write(self, expression: Expression, schema: Schema, table: str | None = None) -> str:
        """An expression as SQL of the type that belongs to its kind."""
        prefix = "" if table is None else f"{table}."
        match expression:
            case ColumnReference():
                return prefix + self._dialect.identifier(expression.name)
            case Literal():
                return self._dialect.literal(expression.value)
            case Call() if (dated := _in_days(expression, schema)) is not None:
                return self.write(dated, schema, table)
            case Call() if expression.name in NUMBERS:
                number = self._number(expression, schema, table)
                is_whole = expression.domain(schema).kind is Kind.INTEGER
                return _not_too_long(self._dialect.whole(number) if is_whole else self._dialect.usual_number(number))
            case Call():
                printed = [self.write(argument, schema, table) for argument in expression.arguments]
                kinds = [argument.domain(schema).kind for argument in expression.arguments]
                return _not_too_long(self._call(expression, printed, kinds, expression.domain(schema)))
        raise TypeError(f"no expression: {type(expression).__name__}")

    def _number(self, call: Call, schema: Schema, table: str | None) -> str:
        """A number as a double, in which NaN may mean a missing value inside of an expression."""
        dialect = self._dialect
        operands = []
        for argument in call.arguments:
            if isinstance(argument, Call) and argument.name in NUMBERS and _in_days(argument, schema) is None:
                inner = self._number(argument, schema, table)
                carried = dialect.carries_nan and call.name not in _COMPARING
                operands.append(inner if carried else dialect.usual_number(inner))
            else:
                operands.append(dialect.real(self.write(argument, schema, table), argument.domain(schema).kind))
        if call.name in BY_CONSTANT and len(operands) == 2:
            return _not_too_long(BY_CONSTANT[call.name](dialect, operands[0], _constant(call, 1)))
        return _not_too_long(ARITHMETIC[call.name](dialect, operands))

    def _call(self, call: Call, printed: list[str], kinds: list[Kind], domain: Domain) -> str:
        """The SQL of a function call."""
        dialect, name = self._dialect, call.name
        match name:
            case "nullif":
                one, other = self._alike(printed, kinds)
                return f"CASE WHEN {one} = {other} THEN NULL ELSE {printed[0]} END"
            case "clamp":
                return dialect.once([printed[0]], lambda v: self._clamp(v[0], kinds[0], domain))
            case "bucket":
                real = dialect.real(printed[0], kinds[0])
                return dialect.once([real], lambda v: self._bucket(v[0], call, domain))
            case "to_real" | "to_integer" | "to_date":
                return self._converted(name, printed[0], kinds[0])
            case "like" | "ilike":
                return self._like(call, printed[0])
            case "add_days" | "add_months" | "add_seconds":
                return self._moved(call, printed[0], kinds[0])
            case "date_diff" if _unit(call) in IN_A_DAY:
                first, last = kinds[1:]
                return dialect.once(
                    printed[1:], lambda v: f"({self._clock(call, v[1], last)} - {self._clock(call, v[0], first)})"
                )
            case "date_diff":
                days = [self._converted("to_date", *operand) for operand in zip(printed[1:], kinds[1:], strict=True)]
                return dialect.once(days, lambda v: _difference(dialect, _unit(call), v[0], v[1]))
            case _ if name in _COMPARISONS:
                one, other = self._alike(printed, kinds)
                return f"({one} {_COMPARISONS[name]} {other})"
            case "in":
                printed = self._alike(printed, kinds)
            case "case" | "coalesce" if domain.kind is Kind.REAL:
                printed = [
                    dialect.real(text, kind)
                    if name == "coalesce" or index % 2 == 1 or index == len(printed) - 1
                    else text
                    for index, (text, kind) in enumerate(zip(printed, kinds, strict=True))
                ]
        return PLAIN[name](dialect, printed)

    def _clock(self, call: Call, moment: str, kind: Kind) -> str:
        """How many hours or minutes there are from 1970 to a moment."""
        dialect, unit = self._dialect, _unit(call)
        days = f"{dialect.days(self._converted('to_date', moment, kind))} * {IN_A_DAY[unit]}"
        if kind is Kind.DATE:
            return f"({days})"
        hours = dialect.part("hour", moment)
        return (
            f"({days} + {hours})" if unit == "hour" else f"({days} + {hours} * 60 + {dialect.part('minute', moment)})"
        )

    def _alike(self, printed: list[str], kinds: list[Kind]) -> list[str]:
        """Bring operands to one kind: different numbers to doubles, dates beside moments to moments."""
        null = self._dialect.literal(None)
        known = {kind for text, kind in zip(printed, kinds, strict=True) if text != null}
        same = len(known) == 1 and Kind.DECIMAL not in known  # decimals of two scales need not fit one another
        if same or not all(kind.is_number for kind in known):
            if known == {Kind.DATE, Kind.TIMESTAMP}:
                return [f"CAST({text} AS {self._dialect.type_name(Kind.TIMESTAMP)})" for text in printed]
            return printed
        pairs = zip(printed, kinds, strict=True)
        return [text if text == null else self._dialect.real(text, kind) for text, kind in pairs]

    def _clamp(self, value: str, kind: Kind, domain: Domain) -> str:
        dialect, low, high = self._dialect, some(domain.low), some(domain.high)
        if kind is Kind.INTEGER and domain.kind is Kind.INTEGER:
            bounds = dialect.between(value, dialect.whole_literal(int(low)), dialect.whole_literal(int(high)))
            bounds = f"CAST({bounds} AS BIGINT)"
        else:
            bounds = dialect.between(dialect.real(value, kind), dialect.double(low), dialect.double(high))
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE {bounds} END"

    def _bucket(self, real: str, call: Call, domain: Domain) -> str:
        dialect, width = self._dialect, call.arguments[1]
        assert isinstance(width, Literal) and isinstance(width.value, int | Fraction)  # noqa: S101, PT018 (checked)
        bucket_width = Fraction(width.value)
        low, high = some(domain.low) / bucket_width, some(domain.high) / bucket_width
        quotient = dialect.divide(real, dialect.double(bucket_width))
        index = f"CAST(floor({dialect.between(quotient, dialect.double(low), dialect.double(high))}) AS BIGINT)"
        if bucket_width.denominator == 1:
            value = f"{index} * {bucket_width.numerator}"
        else:
            decimal = exact_decimal(bucket_width)
            exact = f"CAST({index} AS DECIMAL(19, 0)) * CAST('{decimal:f}' AS DECIMAL(18, 9))"  # 38 digits hold it
            value = f"CAST({exact} AS DECIMAL(38, 9))"
        return f"CASE WHEN {real} IS NULL THEN NULL ELSE {value} END"

    def _converted(self, name: str, text: str, kind: Kind) -> str:
        dialect = self._dialect
        match name, kind:
            case ("to_date", Kind.DATE) | ("to_integer", Kind.INTEGER):
                return text
            case "to_date", Kind.TIMESTAMP:
                return f"CAST({text} AS DATE)"
            case "to_date", _:
                return dialect.once([dialect.trim(text)], lambda v: self._date(v[0]))
            case "to_real", Kind.TEXT:
                return dialect.once([dialect.trim(text)], lambda v: self._real(v[0]))
            case "to_real", _:
                return dialect.real(text, kind)
            case _, Kind.BOOLEAN:
                return f"CAST({dialect.truth_as_number(text)} AS BIGINT)"
        return dialect.whole(_rounded(dialect, dialect.real(text, kind)))

    def _moved(self, call: Call, time: str, kind: Kind) -> str:
        """A date or moment moved by a constant; missing if it would leave the years 1 to 9999."""
        amount = int(_constant(call, 1))
        first, last = (self._dialect.literal(end) for end in before_moving(call.name, amount, kind))
        return self._dialect.once(
            [time],
            lambda v: (
                f"CASE WHEN {v[0]} BETWEEN {first} AND {last} THEN {self._later(call.name, v[0], amount, kind)} END"
            ),
        )

    def _later(self, name: str, time: str, amount: int, kind: Kind) -> str:
        match name:
            case "add_days":
                return self._dialect.add_days(time, amount, kind)
            case "add_months":
                return self._dialect.add_months(time, amount, kind)
            case _:
                return self._dialect.add_seconds(time, amount)

    def _date(self, text: str) -> str:
        day = self._dialect.usual_time(self._dialect.parsed_date(text), Kind.DATE)
        return f"CASE WHEN {self._dialect.matches(text, _DATE)} THEN {day} END"

    def _real(self, text: str) -> str:
        return f"CASE WHEN {self._dialect.matches(text, _NUMBER)} THEN {self._dialect.parsed_number(text)} END"

    def _like(self, call: Call, text: str) -> str:
        pattern = call.arguments[1]
        assert isinstance(pattern, Literal) and isinstance(pattern.value, str)  # noqa: S101, PT018 (checked)
        if call.name == "like":
            return self._dialect.like(text, pattern.value)
        return self._dialect.like(_recased(self._dialect, text, capital=False), _small(pattern.value))


def _recased(dialect: Dialect, text: str, *, capital: bool) -> str:
    """A text in capitals or small letters; ASCII, which is most of what there is, by the engine's own function."""
    name, source, target = ("upper", SMALL, CAPITAL) if capital else ("lower", CAPITAL, SMALL)
    ascii_source, ascii_target = ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if not capital:
        ascii_source, ascii_target = ascii_target, ascii_source
    table = f"{dialect.text(ascii_source + source)}, {dialect.text(ascii_target + target)}"
    return dialect.once(
        [text],
        lambda once: (
            f"CASE WHEN {dialect.is_ascii(once[0])} THEN {name}({once[0]}) ELSE translate({once[0]}, {table}) END"
        ),
    )


def _small(text: str) -> str:
    """A known text in small letters, as `_recased` gives them."""
    return text.translate(str.maketrans(CAPITAL, SMALL)).translate(
        {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
    )


def _rounded(dialect: Dialect, real: str) -> str:
    return dialect.floor(dialect.add(real, dialect.double(0.5)))


def _rounded_to(dialect: Dialect, real: str, digits: Fraction) -> str:
    """A number rounded to digits after the point, or before it, by operations that engines round alike."""
    tenth = dialect.double(Fraction(10) ** int(abs(digits)))
    scaled = dialect.multiply(real, tenth) if digits >= 0 else dialect.divide(real, tenth)
    steps = _rounded(dialect, scaled)
    return dialect.divide(steps, tenth) if digits >= 0 else dialect.multiply(steps, tenth)


def _power(dialect: Dialect, real: str, exponent: Fraction) -> str:
    """A power: whole ones by squaring, from the highest bit; others by logarithms, and of 0 by the exponent's sign."""
    if exponent.denominator != 1:
        beyond = "NULL" if exponent < 0 else dialect.double(0.0)
        logarithm = "ln(CASE WHEN {0} > 0 THEN {0} END)"
        return dialect.once(
            [real],
            lambda v: (
                f"CASE WHEN {v[0]} = 0 THEN {beyond} ELSE "
                f"{dialect.exp(dialect.multiply(logarithm.format(v[0]), dialect.double(exponent)))} END"
            ),
        )
    whole = dialect.once([real], lambda v: _product(dialect, v[0], abs(int(exponent))))
    return whole if exponent >= 0 else dialect.divide(dialect.double(1.0), whole)


def _product(dialect: Dialect, real: str, factors: int) -> str:
    if factors < 2:
        return real if factors else f"CASE WHEN {real} IS NOT NULL THEN {dialect.double(1.0)} END"
    half = dialect.once([_product(dialect, real, factors // 2)], lambda v: dialect.multiply(v[0], v[0]))
    return dialect.multiply(half, real) if factors % 2 else half


def _sign(dialect: Dialect, real: str) -> str:
    one, none = dialect.double(1.0), dialect.double(0.0)
    return dialect.once(
        [real],
        lambda v: f"CASE WHEN {v[0]} > 0 THEN {one} WHEN {v[0]} < 0 THEN (- {one}) WHEN {v[0]} = 0 THEN {none} END",
    )


def _name(dialect: Dialect, number: str, names: tuple[str, ...]) -> str:
    listed = " ".join(f"WHEN {index} THEN {dialect.text(name)}" for index, name in enumerate(names, 1))
    return f"CASE {number} {listed} END"


def _difference(dialect: Dialect, unit: str, first: str, last: str) -> str:
    """The number of units (days, weeks, months …) that begin after one day, up to another."""
    if unit == "week":
        weeks = " - ".join(dialect.days(dialect.date_trunc("'week'", day)) for day in (last, first))
        return f"CAST(({weeks}) / 7 AS BIGINT)"
    places: dict[str, Callable[[str], str]] = {
        "day": dialect.days,
        "month": lambda day: f"({dialect.part('year', day)} * 12 + {dialect.part('month', day)})",
        "quarter": lambda day: f"({dialect.part('year', day)} * 4 + {dialect.part('quarter', day)})",
        "year": partial(dialect.part, "year"),
    }
    return f"({places[unit](last)} - {places[unit](first)})"


def _in_days(call: Call, schema: Schema) -> Call | None:
    """The function that a sum or difference of dates means; None for anything else."""
    if call.name not in {"add", "subtract"}:
        return None
    return in_days(call, [argument.domain(schema) for argument in call.arguments])


def _constant(call: Call, position: int) -> Fraction:
    value = call.arguments[position]
    assert isinstance(value, Literal) and isinstance(value.value, int | Fraction)  # noqa: S101, PT018 (checked)
    return Fraction(value.value)


def _unit(call: Call) -> str:
    unit = call.arguments[0]
    assert isinstance(unit, Literal)  # noqa: S101 (checked)
    return str(unit.value)


def _extreme(dialect: Dialect, name: str, printed: list[str]) -> str:
    """The greatest or least of some numbers; missing if one of them is."""
    return dialect.once(
        printed,
        lambda v: f"CASE WHEN {' OR '.join(f'{text} IS NULL' for text in v)} THEN NULL ELSE {name}({', '.join(v)}) END",
    )


def _case(dialect: Dialect, printed: list[str]) -> str:
    pairs = zip(map(dialect.condition, printed[:-1:2]), printed[1:-1:2], strict=True)
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in pairs)} ELSE {printed[-1]} END"


def _construct(name: str) -> Callable[[Dialect, list[str]], str]:
    """A function that is a construct of the dialect."""
    return lambda dialect, printed: str(getattr(dialect, name)(*printed))


def _time_part(name: TimePart) -> Callable[[Dialect, list[str]], str]:
    return lambda dialect, printed: dialect.part(name, *printed)


# Functions of doubles, which are written into one another, and all others that take what is printed as it is.
ARITHMETIC: Mapping[str, Callable[[Dialect, list[str]], str]] = {
    **{name: _construct(name) for name in ("add", "subtract", "multiply", "divide", "floor", "ceil", "exp")},
    "negate": lambda _, a: f"(- {a[0]})",
    "abs": lambda _, a: f"abs({a[0]})",
    "round": lambda dialect, a: _rounded(dialect, *a),
    "sign": lambda dialect, a: _sign(dialect, *a),
    "sqrt": lambda dialect, a: dialect.once(a, lambda v: f"sqrt(CASE WHEN {v[0]} >= 0 THEN {v[0]} END)"),
    "ln": lambda dialect, a: dialect.once(a, lambda v: f"ln(CASE WHEN {v[0]} > 0 THEN {v[0]} END)"),
    "greatest": lambda dialect, a: _extreme(dialect, "greatest", a),
    "least": lambda dialect, a: _extreme(dialect, "least", a),
}
BY_CONSTANT: Mapping[str, Callable[[Dialect, str, Fraction], str]] = {"power": _power, "round": _rounded_to}
NUMBERS = ARITHMETIC.keys() | BY_CONSTANT.keys()
PLAIN: Mapping[str, Callable[[Dialect, list[str]], str]] = {
    "in": lambda _, a: f"({a[0]} IN ({', '.join(a[1:])}))",
    "and": lambda _, a: f"({a[0]} AND {a[1]})",
    "or": lambda _, a: f"({a[0]} OR {a[1]})",
    "not": lambda _, a: f"(NOT {a[0]})",
    "is_null": lambda _, a: f"({a[0]} IS NULL)",
    "case": _case,
    "coalesce": lambda _, a: f"coalesce({', '.join(a)})",
    "lower": lambda dialect, a: _recased(dialect, a[0], capital=False),
    "upper": lambda dialect, a: _recased(dialect, a[0], capital=True),
    "concat": lambda _, a: f"({' || '.join(a)})",
    **{name: _construct(name) for name in ("modulo", "trim", "substring", "length", "date_trunc", "to_text")},
    **{name: _time_part(name) for name in TIME_PARTS},
    "dayname": lambda dialect, a: _name(dialect, dialect.part("dayofweek", *a), DAYS),
    "monthname": lambda dialect, a: _name(dialect, dialect.part("month", *a), MONTHS),
}
PRINTED = frozenset(
    {*_COMPARISONS, *NUMBERS, *PLAIN}
    | {"clamp", "bucket", "nullif", "to_real", "to_integer", "to_date", "like", "ilike"}
    | {"add_days", "add_months", "add_seconds", "date_diff"}
)


def _not_too_long(text: str) -> str:
    if len(text) > LONGEST_EXPRESSION:
        raise QueryRefused("an expression is too long", hint="split it over subqueries")
    return text


def some(bound: Fraction | None) -> Fraction:
    """A bound, which is known to be there."""
    assert bound is not None  # noqa: S101 (checked when the plan was made)
    return bound


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
                return " UNION ALL ".join(self._side(relation, side, wanted) for side in relation.sources)
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
        columns = [(name, domain) for name, domain in scan.table.columns if name in {*wanted, *complete}]
        if scan.most_rows_of_person is None:
            text = f"SELECT {self.read_all(columns, scan.table.person)} FROM {self._sources[scan.table.name]} AS t"
        else:
            text = f"SELECT {self._names(name for name, _ in columns)} FROM {self._sources[bounded_name(scan)]} AS t"
        if not complete:
            return text
        is_complete = " AND ".join(f"{self.dialect.identifier(name)} IS NOT NULL" for name in complete)
        return f"SELECT {self._names(wanted)} FROM ({text}) AS t WHERE {is_complete}"

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

    def capped_rows(self, scan: Scan, rows: str | None = None) -> str:
        """A table with few rows of each person, out of `rows` or all of its rows; rows without a person are left out.

        Guarantee: of a person with n rows min(n, `most_rows_of_person`) count, and that person's rows alone decide
        which contents count how often. Rows are ranked by a hash of their content and of their ordinal among the equal
        rows *of the same person*, so that of equal rows some may count and others not, as in a sample without
        replacement. Whichever of them has which ordinal, the same contents count. What has one hash is ordered by
        content, and by ordinals. With `first_by`, its values rank rows, and then the content.

        Among equal rows of the table, an ordinal would depend on how many of them others have: if one person leaves,
        rows of others would step in.
        """
        names, owner = [name for name, _ in scan.table.columns], str(scan.table.person)
        hashed, ordinal, rank = (unused(name, names) for name in ("row_hash", "row_ordinal", "row_rank"))
        columns, person = self._names(names), self.dialect.identifier(owner)
        others = [f"{self.dialect.identifier(name)} NULLS LAST" for name in names if name != owner]
        content = ", ".join([hashed, *others])
        hashes = f"SELECT {columns}, {self.hash_of_row(scan)} AS {hashed} FROM ({rows or self.stored(scan)}) AS t"
        ranked = (
            f"SELECT {columns}, {hashed}, row_number() OVER w AS {rank}, "
            f"1 + row_number() OVER w - rank() OVER w AS {ordinal} FROM ({hashes} WHERE {person} IS NOT NULL) AS t "
            f"WINDOW w AS (PARTITION BY {person} ORDER BY {content})"
        )
        if scan.first_by is None:
            order = f"{hash_with_ordinal(self.dialect, hashed, ordinal)}, {rank}"
            ranks = f"row_number() OVER (PARTITION BY {person} ORDER BY {order}) AS {rank}"
            ranked = f"SELECT {columns}, {ranks} FROM ({ranked}) AS t"
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
        columns = ((self.dialect.identifier(name), domain.kind) for name, domain in scan.table.columns)
        return hash_of(*(mark(self.dialect, column, kind) for column, kind in columns))

    def _names(self, names: Iterable[str]) -> str:
        return ", ".join(self.dialect.identifier(name) for name in names)

    # -- columns ------------------------------------------------------------------------------------------------

    def _derive(self, derive: Derive, wanted: list[str]) -> str:
        schema, definitions = derive.source.schema, dict(derive.named)
        expressions = {name: definitions.get(name, ColumnReference(name)) for name in wanted}
        columns = [
            f"{self.expression(expression, schema)} AS {self.dialect.identifier(name)}"
            for name, expression in expressions.items()
        ]
        source_columns = [column for expression in expressions.values() for column in expression.columns()]
        text = f"SELECT {', '.join(columns)} FROM ({self.relation(derive.source, source_columns)}) AS t"
        return self.fenced(text, expressions.values())

    def fenced(self, select: str, expressions: Iterable[Expression | None]) -> str:
        """A SELECT whose expressions are computed only once for each row."""
        return self.dialect.fence(select) if any(isinstance(expression, Call) for expression in expressions) else select

    # -- joins --------------------------------------------------------------------------------------------------

    def _join_public(self, join: JoinPublic, wanted: list[str]) -> str:
        ours = self.expression(join.on, join.source.schema, table="ours")
        on = f"{ours} = theirs.{self.dialect.identifier(join.public_column)}"
        used_columns = {join.public_column, *(old for old, new in join.taken if new in wanted)}
        columns = [(name, domain) for name, domain in join.public.columns if name in used_columns]
        public = f"SELECT {self.read_all(columns)} FROM {self._sources[join.public.name]} AS t"
        left = self.relation(join.source, {*_wanted(join.source, wanted), *join.on.columns()})
        return self._joined(join, wanted, left, public, on)

    def _semi_join(self, join: SemiJoin, wanted: list[str]) -> str:
        """IN or NOT IN with public rows, cast to their types first; missing values are treated as in SQL."""
        name = self.dialect.identifier
        used_columns = {join.public_column, *(() if join.condition is None else join.condition.columns())}
        columns = [(column, domain) for column, domain in join.public.columns if column in used_columns]
        public = f"SELECT {self.read_all(columns)} FROM {self._sources[join.public.name]} AS t"
        public_values = f"SELECT theirs.{name(join.public_column)} FROM ({public}) AS theirs"
        if join.condition is not None:
            public_values += f" WHERE {self.expression(join.condition, join.public.schema, table='theirs')}"
        inner = self.relation(join.source, {*wanted, *join.on.columns()})
        operator = "NOT IN" if join.negated else "IN"
        on = self.expression(join.on, join.source.schema, table="ours")
        return f"SELECT {self._names(wanted)} FROM ({inner}) AS ours WHERE {on} {operator} ({public_values})"

    def _join_persons(self, join: JoinPersons, wanted: list[str]) -> str:
        left, right = str(join.left.person), str(join.right.person)
        on = f"ours.{self.dialect.identifier(left)} = theirs.{self.dialect.identifier(right)}"
        ours = self.relation(join.left, {*_wanted(join.left, wanted), left})
        theirs = self.relation(join.right, {right, *(old for old, new in join.taken if new in wanted)})
        return self._joined(join, wanted, ours, theirs, on)

    def _joined(self, join: JoinPublic | JoinPersons, wanted: list[str], left: str, right: str, on: str) -> str:
        name, taken = self.dialect.identifier, {new: old for old, new in join.taken}
        columns = (
            f"theirs.{name(taken[column])} AS {name(column)}" if column in taken else f"ours.{name(column)}"
            for column in wanted
        )
        kind = "LEFT JOIN" if join.optional else "JOIN"
        return f"SELECT {', '.join(columns)} FROM ({left}) AS ours {kind} ({right}) AS theirs ON {on}"

    def _side(self, union: Union, side: Relation, wanted: list[str]) -> str:
        """One side of a union, its numbers cast to the kind of both sides: decimals may become doubles."""
        kinds, both, name = side.schema, union.schema, self.dialect.identifier
        columns = (
            name(column)
            if kinds[column].kind is both[column].kind
            else f"{self.dialect.real(name(column), kinds[column].kind)} AS {name(column)}"
            for column in wanted
        )
        return f"SELECT {', '.join(columns)} FROM ({self.relation(side, wanted)}) AS t"

    # -- persons ------------------------------------------------------------------------------------------------

    def _per_person(self, relation: PerPerson, wanted: list[str]) -> str:
        """One row for each person and their keys, whichever columns are wanted."""
        schema, name = relation.source.schema, self.dialect.identifier
        used_features = [
            (feature_name, feature) for feature_name, feature in relation.features if feature_name in wanted
        ]
        keys = [str(relation.person), *relation.keys]
        source_columns = [
            *keys,
            *(
                column
                for _, feature in used_features
                if feature.expression is not None
                for column in feature.expression.columns()
            ),
        ]
        groups = [name(key) for key in keys]
        features = [
            f"{self.feature(feature, schema)} AS {name(feature_name)}" for feature_name, feature in used_features
        ]
        inner = self.relation(relation.source, source_columns)
        return f"SELECT {', '.join([*groups, *features])} FROM ({inner}) AS t GROUP BY {', '.join(groups)}"

    def feature(self, feature: Aggregate, schema: Schema) -> str:
        """An exact aggregate of one person's rows. Sums run over whole steps, so that the order does not matter."""
        if feature.expression is None:
            return "count(*)"
        dialect, value = self.dialect, self.expression(feature.expression, schema)
        match feature.kind:
            case AggregateKind.COUNT_ROWS:
                return "count(*)"
            case AggregateKind.COUNT_VALUES:
                return f"count({value})"
            case AggregateKind.COUNT_DISTINCT:
                is_text = feature.expression.domain(schema).kind is Kind.TEXT
                return f"count(DISTINCT {dialect.brief(value) if is_text else value})"
            case AggregateKind.MINIMUM:
                return dialect.real(f"min({value})")
            case AggregateKind.MAXIMUM:
                return dialect.real(f"max({value})")
        domain = feature.expression.domain(schema)
        reach = _feature_reach(domain)
        steps = dialect.total(_feature_steps(dialect, value, domain), reach)
        total = f"({dialect.real_sum(steps, reach)}) * {dialect.double(_feature_granularity(domain))}"
        return total if feature.kind is AggregateKind.SUM else f"{total} / nullif(count({value}), 0)"

    def _keep_parts(self, relation: KeepParts, wanted: list[str]) -> str:
        person, schema = str(relation.person), relation.schema
        columns = {name: self.dialect.identifier(name) for name in (person, *relation.columns)}
        hashed = hash_of(*(mark(self.dialect, column, schema[name].kind) for name, column in columns.items()))
        order = ", ".join([hashed, *(f"{columns[name]} NULLS LAST" for name in relation.columns)])
        rank = unused("part_rank", schema)
        ranks = f"dense_rank() OVER (PARTITION BY {columns[person]} ORDER BY {order}) AS {rank}"
        source = self.relation(relation.source, {*wanted, *columns})
        inner = f"SELECT t.*, {ranks} FROM ({source}) AS t"
        return f"SELECT {self._names(wanted)} FROM ({inner}) AS t WHERE {rank} <= {relation.most}"


def _wanted(relation: Relation, needed: Iterable[str]) -> list[str]:
    """The columns of a relation that are needed, in their order; the first if none is, as a SELECT has at least one."""
    names, schema = set(needed), relation.schema
    return [name for name in schema if name in names] or list(schema)[:1]


def bounded_name(scan: Scan) -> tuple[str, int | None, str | None]:
    """The key of a table with few rows of each person among the sources; no table of a user has it."""
    return scan.table.name, scan.most_rows_of_person, scan.first_by


def _order_number(name: str, schema: Mapping[str, Domain]) -> Expression:
    """A whole number that rises with a column of days, times or whole numbers; what is missing comes last."""
    column: Expression = ColumnReference(name)
    if schema[name].kind is not Kind.INTEGER:
        column = Call("date_diff", (Literal("day"), Literal(dt.date(1970, 1, 1)), column))
    return Call("coalesce", (column, Literal(_LAST)))


def unused(name: str, columns: Iterable[str]) -> str:
    """A name that no column has, in whatever case."""
    taken = {column.casefold() for column in columns}
    while name in taken:
        name += "_"
    return name


def _feature_steps(dialect: Dialect, value: str, domain: Domain) -> str:
    """The values of a person's feature as whole steps, clamped and moved to a lattice; they are not released."""
    low, high = some(domain.low), some(domain.high)
    if domain.kind is Kind.INTEGER:
        clamped = dialect.between(value, str(math.ceil(low)), str(math.floor(high)))
    else:
        real = dialect.between(dialect.real(value), dialect.double(low), dialect.double(high))
        clamped = dialect.lattice(real, _feature_granularity(domain))
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE CAST({clamped} AS BIGINT) END"


def _feature_granularity(domain: Domain) -> Fraction:
    """The lattice of a person's sums: whole numbers, or a power of two far below the bounds."""
    if domain.kind is Kind.INTEGER:
        return Fraction(1)
    greatest = max(abs(some(domain.low)), abs(some(domain.high)), Fraction(1, 2**60))
    return power_of_two_at_least(greatest / _FEATURE_STEPS)


def _feature_reach(domain: Domain) -> int:
    """The greatest distance from zero of a feature's value, in steps."""
    return math.ceil(max(abs(some(domain.low)), abs(some(domain.high))) / _feature_granularity(domain))
