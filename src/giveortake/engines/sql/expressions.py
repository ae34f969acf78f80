"""Expressions of a plan as SQL that no row can make fail, and that has the same values on every engine."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.errors import QueryRefused
from giveortake.exact import exact_decimal
from giveortake.plan import Call, ColumnReference, Domain, Expression, Kind, Literal
from giveortake.plan.times import DAYS, IN_A_DAY, MONTHS, before_moving, in_days

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.engines.sql.dialect import Dialect
    from giveortake.plan import Schema

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
                days = [self._converted("to_date", *each) for each in zip(printed[1:], kinds[1:], strict=True)]
                return dialect.once(days, lambda v: _difference(dialect, _unit(call), v[0], v[1]))
            case _ if name in _COMPARISONS:
                one, other = self._alike(printed, kinds)
                return f"({one} {_COMPARISONS[name]} {other})"
            case "in":
                printed = self._alike(printed, kinds)
            case "case" | "coalesce" if domain.kind is Kind.REAL:
                printed = [
                    dialect.real(text, kind) if _is_value(name, index, len(printed)) else text
                    for index, (text, kind) in enumerate(zip(printed, kinds, strict=True))
                ]
        return PLAIN[name](dialect, printed)

    def _clock(self, call: Call, moment: str, kind: Kind) -> str:
        """How many hours or minutes there are from 1970 to a moment."""
        dialect, unit = self._dialect, _unit(call)
        days = f"{dialect.days(self._converted('to_date', moment, kind))} * {IN_A_DAY[unit]}"
        if kind is Kind.DATE:
            return f"({days})"
        hours = dialect.hour(moment)
        return f"({days} + {hours})" if unit == "hour" else f"({days} + {hours} * 60 + {dialect.minute(moment)})"

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

    def _clamp(self, of: str, kind: Kind, domain: Domain) -> str:
        dialect, low, high = self._dialect, some(domain.low), some(domain.high)
        if kind is Kind.INTEGER and domain.kind is Kind.INTEGER:
            bounds = dialect.between(of, dialect.whole_literal(int(low)), dialect.whole_literal(int(high)))
            bounds = f"CAST({bounds} AS BIGINT)"
        else:
            bounds = dialect.between(dialect.real(of, kind), dialect.double(low), dialect.double(high))
        return f"CASE WHEN {of} IS NULL THEN NULL ELSE {bounds} END"

    def _bucket(self, real: str, call: Call, domain: Domain) -> str:
        dialect, width = self._dialect, call.arguments[1]
        assert isinstance(width, Literal) and isinstance(width.value, int | Fraction)  # noqa: S101, PT018 (checked)
        each = Fraction(width.value)
        low, high = some(domain.low) / each, some(domain.high) / each
        quotient = dialect.divide(real, dialect.double(each))
        index = f"CAST(floor({dialect.between(quotient, dialect.double(low), dialect.double(high))}) AS BIGINT)"
        if each.denominator == 1:
            value = f"{index} * {each.numerator}"
        else:
            decimal = exact_decimal(each)
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
        by = int(_constant(call, 1))
        first, last = (self._dialect.literal(end) for end in before_moving(call.name, by, kind))
        return self._dialect.once(
            [time],
            lambda v: f"CASE WHEN {v[0]} BETWEEN {first} AND {last} THEN {self._later(call.name, v[0], by, kind)} END",
        )

    def _later(self, name: str, time: str, by: int, kind: Kind) -> str:
        match name:
            case "add_days":
                return self._dialect.add_days(time, by, kind)
            case "add_months":
                return self._dialect.add_months(time, by, kind)
            case _:
                return self._dialect.add_seconds(time, by)

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
    listed = " ".join(f"WHEN {place} THEN {dialect.text(name)}" for place, name in enumerate(names, 1))
    return f"CASE {number} {listed} END"


def _difference(dialect: Dialect, unit: str, first: str, last: str) -> str:
    """The number of units (days, weeks, months …) that begin after one day, up to another."""
    if unit == "week":
        weeks = " - ".join(dialect.days(dialect.date_trunc("'week'", day)) for day in (last, first))
        return f"CAST(({weeks}) / 7 AS BIGINT)"
    places: dict[str, Callable[[str], str]] = {
        "day": dialect.days,
        "month": lambda day: f"({dialect.year(day)} * 12 + {dialect.month(day)})",
        "quarter": lambda day: f"({dialect.year(day)} * 4 + {dialect.quarter(day)})",
        "year": dialect.year,
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


# Functions of doubles, which are written into one another, and all others that take what is printed as it is.
ARITHMETIC: Mapping[str, Callable[[Dialect, list[str]], str]] = {
    "add": lambda dialect, a: dialect.add(*a),
    "subtract": lambda dialect, a: dialect.subtract(*a),
    "multiply": lambda dialect, a: dialect.multiply(*a),
    "divide": lambda dialect, a: dialect.divide(*a),
    "negate": lambda _, a: f"(- {a[0]})",
    "abs": lambda _, a: f"abs({a[0]})",
    "floor": lambda dialect, a: dialect.floor(*a),
    "ceil": lambda dialect, a: dialect.ceil(*a),
    "round": lambda dialect, a: _rounded(dialect, *a),
    "sign": lambda dialect, a: _sign(dialect, *a),
    "sqrt": lambda dialect, a: dialect.once(a, lambda v: f"sqrt(CASE WHEN {v[0]} >= 0 THEN {v[0]} END)"),
    "ln": lambda dialect, a: dialect.once(a, lambda v: f"ln(CASE WHEN {v[0]} > 0 THEN {v[0]} END)"),
    "exp": lambda dialect, a: dialect.exp(*a),
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
    "modulo": lambda dialect, a: dialect.modulo(*a),
    "lower": lambda dialect, a: _recased(dialect, a[0], capital=False),
    "upper": lambda dialect, a: _recased(dialect, a[0], capital=True),
    "trim": lambda dialect, a: dialect.trim(*a),
    "concat": lambda _, a: f"({' || '.join(a)})",
    "substring": lambda dialect, a: dialect.substring(*a),
    "length": lambda dialect, a: dialect.length(*a),
    "year": lambda dialect, a: dialect.year(*a),
    "quarter": lambda dialect, a: dialect.quarter(*a),
    "month": lambda dialect, a: dialect.month(*a),
    "week": lambda dialect, a: dialect.week(*a),
    "day": lambda dialect, a: dialect.day(*a),
    "dayofweek": lambda dialect, a: dialect.dayofweek(*a),
    "dayofyear": lambda dialect, a: dialect.dayofyear(*a),
    "hour": lambda dialect, a: dialect.hour(*a),
    "minute": lambda dialect, a: dialect.minute(*a),
    "date_trunc": lambda dialect, a: dialect.date_trunc(*a),
    "dayname": lambda dialect, a: _name(dialect, dialect.dayofweek(*a), DAYS),
    "monthname": lambda dialect, a: _name(dialect, dialect.month(*a), MONTHS),
    "to_text": lambda dialect, a: dialect.to_text(*a),
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


def _is_value(name: str, index: int, count: int) -> bool:
    return name == "coalesce" or index % 2 == 1 or index == count - 1
