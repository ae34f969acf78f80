"""Dialects: the constructs of SQL that engines write differently, each of which a dialect has to define."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, final, get_args

from giveortake.errors import QueryRefused
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan import Value

TimePart: TypeAlias = Literal["year", "quarter", "month", "week", "day", "dayofweek", "dayofyear", "hour", "minute"]
TIME_PARTS: tuple[TimePart, ...] = get_args(TimePart)
_REPLACED = "%\N{REPLACEMENT CHARACTER}%"  # bytes that were no text


class Dialect(ABC):
    """The SQL of one engine. Nothing here has a default: a dialect that lacks a method cannot be made.

    A construct has one meaning, which its docstring states and all engines share; how it is written is the dialect's
    business. No row may make what is written fail. Arguments are SQL; numbers that are called doubles have that type.
    Methods marked final are composed of the others, and are the same for all.
    """

    # -- names, types and constants -----------------------------------------------------------------------------

    @abstractmethod
    def type_name(self, kind: Kind) -> str:
        """The type of columns of a kind; decimals, whose digits vary, have none of their own."""

    @abstractmethod
    def identifier(self, name: str) -> str:
        """A name, quoted."""

    @abstractmethod
    def text(self, value: str) -> str:
        """A text, quoted, to be compared by code points."""

    @abstractmethod
    def whole_literal(self, value: int) -> str:
        """A whole number of 64 bits."""

    @final
    def double(self, value: Fraction | float) -> str:
        """The double nearest to a number."""
        return f"CAST('{float(value)!r}' AS {self.type_name(Kind.REAL)})"

    @final
    def literal(self, value: Value) -> str:
        """A constant of the question."""
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
                return f"{self.type_name(Kind.TIMESTAMP)} '{value.isoformat(sep=' ')}'"
            case dt.date():
                return f"DATE '{value.isoformat()}'"

    # -- stored columns -----------------------------------------------------------------------------------------

    @abstractmethod
    def read_whole(self, column: str) -> str:
        """A stored column of whole numbers, in 64 bits or more."""

    @abstractmethod
    def read_text(self, column: str) -> str:
        """A stored column of texts, compared by code points."""

    @abstractmethod
    def read_time(self, column: str, kind: Kind) -> str:
        """A stored column of dates or moments; those that the type of the kind cannot hold are missing."""

    @abstractmethod
    def usual_number(self, real: str) -> str:
        """A double; NaN becomes missing."""

    @final
    def usual_time(self, time: str, kind: Kind) -> str:
        """A date or moment of the years 1 to 9999; others, infinite ones included, are missing."""
        name = self.type_name(kind)
        first, last = ("0001-01-01", "9999-12-31")
        if kind is not Kind.DATE:
            first, last = f"{first} 00:00:00", f"{last} 23:59:59"
        return f"CASE WHEN {time} BETWEEN {name} '{first}' AND {name} '{last}' THEN {time} END"

    # -- from one kind to another -------------------------------------------------------------------------------

    @abstractmethod
    def truth_as_real(self, truth: str) -> str:
        """1 or 0, as a double."""

    @abstractmethod
    def truth_as_number(self, truth: str) -> str:
        """1 or 0, as something that a cast makes a whole number."""

    @abstractmethod
    def whole(self, real: str) -> str:
        """A double without decimals as a whole number of 64 bits; what does not fit, and NaN, is missing."""

    @abstractmethod
    def narrow(self, whole: str) -> str:
        """A whole number that seldom leaves 64 bits, in 64 bits; missing if it does."""

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str:
        """Whether a whole text matches a pattern of digits and signs."""

    @abstractmethod
    def parsed_number(self, text: str) -> str:
        """A text that is known to write a number, as a double."""

    @abstractmethod
    def parsed_date(self, text: str) -> str:
        """A text of the form 2024-01-31 as a date; missing if there is no such day."""

    @abstractmethod
    def to_text(self, value: str) -> str:
        """A whole number, truth value, date or text as text."""

    @final
    def real(self, value: str, kind: Kind = Kind.INTEGER) -> str:
        """A number or truth value of some kind as a double."""
        match kind:
            case Kind.REAL:
                return value
            case Kind.BOOLEAN:
                return self.truth_as_real(value)
            case _:
                return f"CAST({value} AS {self.type_name(Kind.REAL)})"

    # -- arithmetic of doubles ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def carries_nan(self) -> bool:
        """Whether arithmetic passes NaN on, as IEEE 754 has it; if not, NULL is put in its place at each operation."""

    @abstractmethod
    def add(self, one: str, other: str) -> str:
        """The sum, rounded and overflowing as IEEE 754 has it."""

    @abstractmethod
    def subtract(self, one: str, other: str) -> str:
        """The difference, likewise."""

    @abstractmethod
    def multiply(self, one: str, other: str) -> str:
        """The product, likewise."""

    @abstractmethod
    def divide(self, one: str, other: str) -> str:
        """The quotient, likewise; missing if the divisor is zero."""

    @abstractmethod
    def exp(self, real: str) -> str:
        """The exponential; infinite or zero where it leaves the doubles."""

    @abstractmethod
    def floor(self, real: str) -> str:
        """The greatest whole number that is not above a double, as a double."""

    @abstractmethod
    def ceil(self, real: str) -> str:
        """The least whole number that is not below a double, as a double."""

    @abstractmethod
    def modulo(self, one: str, other: str) -> str:
        """The remainder of whole numbers of 64 bits, with the sign of the first; missing if the other is zero."""

    @final
    def between(self, number: str, low: str, high: str) -> str:
        """A number that is not missing, clamped to two others."""
        return f"least(greatest({number}, {low}), {high})"

    @abstractmethod
    def once(self, arguments: list[str], write: Callable[[list[str]], str]) -> str:
        """Write SQL that needs its arguments several times, so that the engine computes each of them once."""

    # -- texts and times ----------------------------------------------------------------------------------------

    @abstractmethod
    def octets(self, text: str) -> str:
        """The number of bytes of a text in UTF-8; known without looking at them, where an engine can."""

    @abstractmethod
    def is_ascii(self, text: str) -> str:
        """Whether a text has as many bytes as characters."""

    @final
    def shortened(self, text: str, most: int) -> str:
        """The first `most` characters of a text. A text with no more bytes than that is not looked at."""
        return f"CASE WHEN {self.octets(text)} <= {most} THEN {text} ELSE left({text}, {most}) END"

    @final
    def name(self, text: str, most: int) -> str:
        """A person's name of at most so many characters. A longer one is missing, and so is one with U+FFFD in it."""
        short = f"({self.octets(text)} <= {most} OR {self.length(text)} <= {most})"
        return f"CASE WHEN {short} AND NOT {self.like(text, _REPLACED)} THEN {text} END"

    @abstractmethod
    def brief(self, text: str) -> str:
        """A substitute for a text that is only compared: equal if and only if the texts are.

        It is short on engines that handle long texts badly. No two texts with the same substitute are known.
        """

    @abstractmethod
    def trim(self, text: str) -> str:
        """A text without the spaces around it."""

    @abstractmethod
    def substring(self, text: str, *positions: str) -> str:
        """The part of a text from a place on, counted from 1, and perhaps of at most so many characters."""

    @abstractmethod
    def length(self, text: str) -> str:
        """The number of code points, in 64 bits."""

    @abstractmethod
    def like(self, text: str, pattern: str) -> str:
        """Whether a text matches a known pattern in which % and _ alone are special."""

    @abstractmethod
    def part(self, name: TimePart, time: str) -> str:
        """A part of a date or moment, in 64 bits.

        Weeks are those of ISO 8601, 1 to 53, and so are the days of a week: Monday is 1. Days are counted from 1 in a
        month and in a year, hours and minutes from 0.
        """

    @abstractmethod
    def date_trunc(self, unit: str, time: str) -> str:
        """The first day of the year, quarter, month or week of a time, or its day, as a date."""

    @abstractmethod
    def days(self, date: str) -> str:
        """The days from 1970-01-01 to a date."""

    @abstractmethod
    def add_days(self, time: str, amount: int, kind: Kind) -> str:
        """A date or moment so many days later, which is known to be between the years 1 and 9999."""

    @abstractmethod
    def add_months(self, time: str, amount: int, kind: Kind) -> str:
        """The same day so many months later, likewise; the last one of the month where that has no such day."""

    @abstractmethod
    def add_seconds(self, moment: str, amount: int) -> str:
        """A moment so many seconds later, likewise."""

    # -- choices and equality -----------------------------------------------------------------------------------

    @abstractmethod
    def condition(self, truth: str) -> str:
        """The condition of a CASE; one that is NULL holds as little as one that is false."""

    @abstractmethod
    def same(self, one: str, other: str) -> str:
        """Whether two values are equal, or both missing."""

    @abstractmethod
    def digest(self, text: str) -> str:
        """The first 60 bits of the MD5 of a text in UTF-8, as a whole number."""

    # -- sums ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def total(self, steps: str, reach: int) -> str:
        """The exact sum of whole numbers that are at most `reach` from zero."""

    @abstractmethod
    def short_total(self, steps: str) -> str:
        """A sum of integers of at most 20 bits, of which no table has enough to fill 64 bits."""

    @abstractmethod
    def narrow_total(self, steps: str) -> str:
        """The sum of one person's numbers of 32 bits, in 64 bits, which nobody has enough rows to fill."""

    @abstractmethod
    def wide(self, whole: str) -> str:
        """A whole number, also one that `total` made, in a type that holds its products with whole numbers."""

    @abstractmethod
    def real_sum(self, total: str, reach: int) -> str:
        """A sum of whole numbers that are at most `reach` from zero, as the nearest double."""

    @abstractmethod
    def cut(self, real: str, greatest: int) -> str:
        """A double that is at most `greatest` from zero, cut to a whole number towards zero."""

    @abstractmethod
    def square(self, whole: str) -> str:
        """The exact square of a whole number of at most 2⁴⁵, of a type that holds sums of 2²⁰ of them."""

    @abstractmethod
    def lattice(self, real: str, granularity: Fraction) -> str:
        """A clamped double in steps of a power of two, as the nearest whole number of them; halves upwards."""

    # -- queries ------------------------------------------------------------------------------------------------

    @abstractmethod
    def require_columns(self, names: list[str]) -> None:
        """Refuse too many columns in one SELECT, or names that the engine would confuse."""

    @abstractmethod
    def fence(self, select: str) -> str:
        """A SELECT whose expressions are computed once for each row, however often what follows refers to them."""

    @abstractmethod
    def by_person(self, lines: str) -> str:
        """Rows of many persons (p, …), brought together by person where an engine has them in many places."""

    @abstractmethod
    def with_groups(self, pairs: str) -> str:
        """Rows (p, code, …), one for each pair, and with each the number m of its person's codes."""

    @abstractmethod
    def with_counts(self, cells: str) -> str:
        """Rows (p, code, b, n), one for each triple, with the sum c of n over a pair and the number m of codes."""

    @abstractmethod
    def with_sums(self, rows: str, sums: list[tuple[str, str]]) -> str:
        """Rows (p, …), each with sums of whole numbers over all rows of its person, under the given names."""

    @abstractmethod
    def unfolded(self, rows: str, columns: list[str], pairs: list[tuple[str, str]], names: tuple[str, str]) -> str:
        """For each row and each pair of whole numbers, a row with the `columns` and the pair under `names`."""


def double_quoted(name: str) -> str:
    """A name as the SQL standard quotes it."""
    return '"' + name.replace('"', '""') + '"'


def single_quoted(text: str) -> str:
    """A text as the SQL standard quotes it."""
    return "'" + text.replace("'", "''") + "'"
