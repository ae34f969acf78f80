"""Expressions as SQL that no row can make fail, and that gives the same values on every engine."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from giveortake.errors import QueryRefused
from giveortake.exact import exact_decimal
from giveortake.plan import Call, Column, Domain, Expression, Kind, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.plan import Schema, Value

LONGEST = 200_000  # characters of what a question says; some expressions repeat their argument
_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_NUMBER = "[+-]?([0-9]{1,100}([.][0-9]{0,100})?|[.][0-9]{1,100})([eE][+-]?[0-9]{1,2})?"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_LAST_CASED = 0x530  # Latin, Greek and Cyrillic letters; engines differ in others


def _cased() -> tuple[str, str]:
    """Letters beyond ASCII that have exactly one small and one capital form."""
    pairs = [(letter, letter.upper()) for letter in map(chr, range(0x80, _LAST_CASED)) if letter.islower()]
    paired = [(small, capital) for small, capital in pairs if len(capital) == 1 and capital.lower() == small != capital]
    return "".join(small for small, _ in paired), "".join(capital for _, capital in paired)


SMALL, CAPITAL = _cased()


class Writer:
    """Writes values and functions as DuckDB reads them; dialects of other engines override what differs.

    Numbers are computed as doubles, which never overflow into an error; the four operations, square roots and rounding
    are the same to the last bit everywhere. Capitals and small letters are those of Latin, Greek and Cyrillic that
    correspond one to one; other letters stay as they are. Texts are compared by their code points.
    """

    types: ClassVar[Mapping[Kind, str]] = {
        Kind.INTEGER: "BIGINT",
        Kind.REAL: "DOUBLE",
        Kind.TEXT: "VARCHAR",
        Kind.BOOLEAN: "BOOLEAN",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }

    carries_nan: ClassVar[bool] = True  # whether arithmetic passes NaN on, as IEEE 754 has it

    # -- values -------------------------------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """A name, quoted."""
        return '"' + name.replace('"', '""') + '"'

    def literal(self, value: Value) -> str:
        """A value of the question as SQL."""
        match value:
            case None:
                return "NULL"
            case bool():
                return "TRUE" if value else "FALSE"
            case int():
                if abs(value) >= 1 << 63:
                    raise QueryRefused("a whole number is beyond 64 bits")
                return self.whole_literal(value)
            case Fraction():
                return self.double(value)
            case str():
                if "\0" in value:
                    raise QueryRefused("a text holds a NUL character")
                return self.text(value)
            case dt.datetime():
                return f"{self.types[Kind.TIMESTAMP]} '{value.isoformat(sep=' ')}'"
            case dt.date():
                return f"DATE '{value.isoformat()}'"

    def whole_literal(self, value: int) -> str:
        """A whole number of 64 bits."""
        return str(value)

    def text(self, value: str) -> str:
        """A text, quoted."""
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: Fraction | float) -> str:
        """The double nearest to a number."""
        return f"CAST('{float(value)!r}' AS {self.types[Kind.REAL]})"

    def real(self, text: str, kind: Kind = Kind.INTEGER) -> str:
        """A number or truth value of some kind as a double."""
        return text if kind is Kind.REAL else f"CAST({text} AS {self.types[Kind.REAL]})"

    def usual_number(self, text: str) -> str:
        """A double, or nothing in the place of NaN. Written out, so that what grows is seen to grow (`LONGEST`)."""
        return f"CASE WHEN isnan({text}) THEN NULL ELSE {text} END"

    def whole(self, text: str) -> str:
        """A double without decimals as a whole number of 64 bits; what does not fit, and NaN, is missing."""
        return f"TRY_CAST({text} AS BIGINT)"

    def floor(self, real: str) -> str:
        """The greatest whole number that is not above a double, as a double."""
        return f"floor({real})"

    def usual_time(self, text: str, kind: Kind) -> str:
        """A date or moment of the years 1 to 9999; others, infinite ones included, are missing."""
        last = "9999-12-31" if kind is Kind.DATE else "9999-12-31 23:59:59"
        first = self.types[kind] + " '0001-01-01'" if kind is Kind.DATE else self.types[kind] + " '0001-01-01 00:00:00'"
        return f"CASE WHEN {text} BETWEEN {first} AND {self.types[kind]} '{last}' THEN {text} END"

    def matches(self, text: str, pattern: str) -> str:
        """Whether a whole text matches a pattern of digits and signs."""
        return f"regexp_full_match({text}, '{pattern}')"

    def parsed_number(self, text: str) -> str:
        """A text that is known to write a number, as a double."""
        return f"CAST({text} AS {self.types[Kind.REAL]})"

    def parsed_date(self, text: str) -> str:
        """A text of the form 2024-01-31 as a date; missing if there is no such day."""
        return f"TRY_CAST({text} AS DATE)"

    def recased(self, text: str, *, capital: bool) -> str:
        """Capitals or small letters; ASCII, which is most of what there is, by the engine's own function."""
        name, source, target = ("upper", SMALL, CAPITAL) if capital else ("lower", CAPITAL, SMALL)
        ascii_source, ascii_target = ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        if not capital:
            ascii_source, ascii_target = ascii_target, ascii_source
        table = f"{self.text(ascii_source + source)}, {self.text(ascii_target + target)}"
        return f"CASE WHEN {self.is_ascii(text)} THEN {name}({text}) ELSE translate({text}, {table}) END"

    def is_ascii(self, text: str) -> str:
        """Whether a text has as many bytes as letters."""
        return f"strlen({text}) = length({text})"

    def like(self, text: str, pattern: str) -> str:
        """Whether a text matches a pattern in which % and _ alone are special."""
        return f"({text} LIKE {self.text(pattern)})"

    # -- expressions --------------------------------------------------------------------------------------------

    def expression(self, expression: Expression, schema: Schema, table: str | None = None) -> str:
        """An expression as SQL of the type that belongs to its kind."""
        prefix = "" if table is None else f"{table}."
        match expression:
            case Column():
                return prefix + self.identifier(expression.name)
            case Literal():
                return self.literal(expression.value)
            case Call() if expression.name in self.arithmetic:
                number = self._number(expression, schema, table)
                is_whole = expression.domain(schema).kind is Kind.INTEGER
                return _not_too_long(self.whole(number) if is_whole else self.usual_number(number))
            case Call():
                printed = [self.expression(argument, schema, table) for argument in expression.arguments]
                kinds = [argument.domain(schema).kind for argument in expression.arguments]
                return _not_too_long(self.call(expression, printed, kinds, expression.domain(schema)))
        raise TypeError(f"no expression: {type(expression).__name__}")

    def _number(self, call: Call, schema: Schema, table: str | None) -> str:
        """A number as a double, in which NaN stands for what is missing, as it does inside of an expression."""
        operands = []
        for argument in call.arguments:
            if isinstance(argument, Call) and argument.name in self.arithmetic:
                inner = self._number(argument, schema, table)
                carried = self.carries_nan and call.name not in {"greatest", "least"}
                operands.append(inner if carried else self.usual_number(inner))
            else:
                operands.append(self.real(self.expression(argument, schema, table), argument.domain(schema).kind))
        return _not_too_long(self.arithmetic[call.name](self, operands))

    def call(self, call: Call, printed: list[str], kinds: list[Kind], domain: Domain) -> str:
        """A function's value."""
        name = call.name
        if name == "nullif":
            one, other = self._alike(printed, kinds)
            return f"CASE WHEN {one} = {other} THEN NULL ELSE {printed[0]} END"
        if name in _COMPARISONS or name == "in":
            printed = self._alike(printed, kinds)
        if name in _COMPARISONS:
            return f"({printed[0]} {_COMPARISONS[name]} {printed[1]})"
        if name in {"case", "coalesce"}:
            printed = [
                self.real(text, kind) if domain.kind is Kind.REAL and _is_value(name, index, len(printed)) else text
                for index, (text, kind) in enumerate(zip(printed, kinds, strict=True))
            ]
        if name == "clamp":
            return self._clamp(printed[0], kinds[0], domain)
        if name == "bucket":
            return self._bucket(self.real(printed[0], kinds[0]), call, domain)
        if name in {"to_real", "to_integer", "to_date"}:
            return self._converted(name, printed[0], kinds[0])
        if name in {"like", "ilike"}:
            return self._like(call, printed[0])
        return self.plain[name](self, printed)

    def _alike(self, printed: list[str], kinds: list[Kind]) -> list[str]:
        """Numbers of different kinds as doubles, dates beside moments as moments."""
        same = len(set(kinds)) == 1 and kinds[0] is not Kind.DECIMAL  # decimals of two scales need not fit one another
        if same or not all(kind.is_number for kind in kinds):
            if set(kinds) == {Kind.DATE, Kind.TIMESTAMP}:
                return [f"CAST({text} AS {self.types[Kind.TIMESTAMP]})" for text in printed]
            return printed
        return [self.real(text, kind) for text, kind in zip(printed, kinds, strict=True)]

    def _clamp(self, of: str, kind: Kind, domain: Domain) -> str:
        low, high = some(domain.low), some(domain.high)
        if kind is Kind.INTEGER and domain.kind is Kind.INTEGER:
            bounds = self.between(of, self.whole_literal(int(low)), self.whole_literal(int(high)))
            bounds = f"CAST({bounds} AS BIGINT)"
        else:
            bounds = self.between(self.real(of, kind), self.double(low), self.double(high))
        return f"CASE WHEN {of} IS NULL THEN NULL ELSE {bounds} END"

    def between(self, of: str, low: str, high: str) -> str:
        """A number that is there, moved between two others."""
        return f"least(greatest({of}, {low}), {high})"

    def _bucket(self, real: str, call: Call, domain: Domain) -> str:
        width = call.arguments[1]
        assert isinstance(width, Literal) and isinstance(width.value, int | Fraction)  # noqa: S101, PT018 (checked)
        each = Fraction(width.value)
        low, high = some(domain.low) / each, some(domain.high) / each
        quotient = self.arithmetic["divide"](self, [real, self.double(each)])
        index = f"CAST(floor({self.between(quotient, self.double(low), self.double(high))}) AS BIGINT)"
        if each.denominator == 1:
            value = f"{index} * {each.numerator}"
        else:
            decimal = exact_decimal(each)
            value = f"CAST({index} * CAST('{decimal:f}' AS DECIMAL(18, 9)) AS DECIMAL(38, 9))"
        return f"CASE WHEN {real} IS NULL THEN NULL ELSE {value} END"

    def _converted(self, name: str, text: str, kind: Kind) -> str:
        if name == "to_date":
            if kind is Kind.DATE:
                return text
            if kind is Kind.TIMESTAMP:
                return f"CAST({text} AS DATE)"
            trimmed = self.plain["trim"](self, [text])
            day = self.usual_time(self.parsed_date(trimmed), Kind.DATE)
            return f"CASE WHEN {self.matches(trimmed, _DATE)} THEN {day} END"
        if name == "to_real":
            if kind is not Kind.TEXT:
                return self.real(text, kind)
            trimmed = self.plain["trim"](self, [text])
            return f"CASE WHEN {self.matches(trimmed, _NUMBER)} THEN {self.parsed_number(trimmed)} END"
        if kind is Kind.INTEGER:
            return text
        if kind is Kind.BOOLEAN:
            return f"CAST({self.truth_as_number(text)} AS BIGINT)"
        return self.whole(self.floor(self.arithmetic["add"](self, [self.real(text, kind), self.double(0.5)])))

    def truth_as_number(self, text: str) -> str:
        """1 or 0."""
        return text

    def _like(self, call: Call, text: str) -> str:
        pattern = call.arguments[1]
        assert isinstance(pattern, Literal) and isinstance(pattern.value, str)  # noqa: S101, PT018 (checked)
        if call.name == "like":
            return self.like(text, pattern.value)
        return self.like(self.recased(text, capital=False), small(pattern.value))

    arithmetic: ClassVar[Mapping[str, Callable[[Writer, list[str]], str]]] = {
        "add": lambda _, a: f"({a[0]} + {a[1]})",
        "subtract": lambda _, a: f"({a[0]} - {a[1]})",
        "multiply": lambda _, a: f"({a[0]} * {a[1]})",
        "divide": lambda _, a: f"({a[0]} / CASE WHEN {a[1]} <> 0 THEN {a[1]} END)",
        "negate": lambda _, a: f"(- {a[0]})",
        "abs": lambda _, a: f"abs({a[0]})",
        "floor": lambda self, a: self.floor(a[0]),
        "ceil": lambda _, a: f"ceil({a[0]})",
        "round": lambda self, a: self.floor(self.arithmetic["add"](self, [a[0], self.double(0.5)])),
        "sqrt": lambda _, a: f"sqrt(CASE WHEN {a[0]} >= 0 THEN {a[0]} END)",
        "ln": lambda _, a: f"ln(CASE WHEN {a[0]} > 0 THEN {a[0]} END)",
        "exp": lambda _, a: f"exp({a[0]})",
        "greatest": lambda _, a: known(a, f"greatest({', '.join(a)})"),
        "least": lambda _, a: known(a, f"least({', '.join(a)})"),
    }
    plain: ClassVar[Mapping[str, Callable[[Writer, list[str]], str]]] = {
        "in": lambda _, a: f"({a[0]} IN ({', '.join(a[1:])}))",
        "and": lambda _, a: f"({a[0]} AND {a[1]})",
        "or": lambda _, a: f"({a[0]} OR {a[1]})",
        "not": lambda _, a: f"(NOT {a[0]})",
        "is_null": lambda _, a: f"({a[0]} IS NULL)",
        "case": lambda _, a: _case(a),
        "coalesce": lambda _, a: f"coalesce({', '.join(a)})",
        "modulo": lambda _, a: (
            f"CASE WHEN {a[1]} = -1 THEN {a[0]} - {a[0]} ELSE CAST({a[0]} % nullif({a[1]}, 0) AS BIGINT) END"
        ),
        "lower": lambda self, a: self.recased(a[0], capital=False),
        "upper": lambda self, a: self.recased(a[0], capital=True),
        "trim": lambda _, a: f"trim({a[0]}, ' ')",
        "concat": lambda _, a: f"({' || '.join(a)})",
        "substring": lambda _, a: f"substring({', '.join(a)})",
        "length": lambda _, a: f"CAST(length({a[0]}) AS BIGINT)",
        "year": lambda _, a: f"CAST(year({a[0]}) AS BIGINT)",
        "quarter": lambda _, a: f"CAST(quarter({a[0]}) AS BIGINT)",
        "month": lambda _, a: f"CAST(month({a[0]}) AS BIGINT)",
        "week": lambda _, a: f"CAST(week({a[0]}) AS BIGINT)",
        "day": lambda _, a: f"CAST(day({a[0]}) AS BIGINT)",
        "dayofweek": lambda _, a: f"CAST(isodow({a[0]}) AS BIGINT)",
        "dayofyear": lambda _, a: f"CAST(dayofyear({a[0]}) AS BIGINT)",
        "hour": lambda _, a: f"CAST(hour({a[0]}) AS BIGINT)",
        "minute": lambda _, a: f"CAST(minute({a[0]}) AS BIGINT)",
        "date_trunc": lambda _, a: f"CAST(date_trunc({a[0]}, {a[1]}) AS DATE)",
        "to_text": lambda self, a: f"CAST({a[0]} AS {self.types[Kind.TEXT]})",
    }


PRINTED = frozenset(
    {*_COMPARISONS, *Writer.arithmetic, *Writer.plain}
    | {"clamp", "bucket", "nullif", "to_real", "to_integer", "to_date", "like", "ilike"}
)


def small(text: str) -> str:
    """The small letters that `recased` gives, of a text that is known."""
    return text.translate(str.maketrans(CAPITAL, SMALL)).translate(
        {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
    )


def _not_too_long(text: str) -> str:
    if len(text) > 8 * LONGEST:  # a statement repeats some of it
        raise QueryRefused("an expression is too long", hint="split it over subqueries")
    return text


def some(bound: Fraction | None) -> Fraction:
    """A bound that is there."""
    assert bound is not None  # noqa: S101 (checked when the plan was made)
    return bound


def known(printed: list[str], value: str) -> str:
    """A value of arguments none of which may be missing."""
    return f"CASE WHEN {' OR '.join(f'{text} IS NULL' for text in printed)} THEN NULL ELSE {value} END"


def _case(printed: list[str]) -> str:
    pairs = zip(printed[:-1:2], printed[1:-1:2], strict=True)
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in pairs)} ELSE {printed[-1]} END"


def _is_value(name: str, index: int, count: int) -> bool:
    return name == "coalesce" or index % 2 == 1 or index == count - 1
