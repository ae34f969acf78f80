"""SQL as PostgreSQL reads it, with its limits, and with arithmetic that does not raise.

PostgreSQL refuses a sum, product or quotient that overflows, and a product or quotient that is rounded to zero. What is
written here asks first whether that would happen, by multiplications with powers of two that are exact and in range
for every pair of arguments, and gives what IEEE 754 says. One case is settled otherwise: a product above half of the
least number, 2^-1075, by less than a part of 2^-53 is 0 here.

Conditions are tested in the order of a CASE, also where arguments are constants that PostgreSQL computes beforehand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, final

from giveortake.engines.questions import Tally, VectorSum
from giveortake.engines.sql.dialect import Dialect, double_quoted, single_quoted
from giveortake.errors import QueryRefused
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from fractions import Fraction

    from giveortake.engines.questions import Asked
    from giveortake.engines.sql.dialect import TimePart


_MOST_COLUMNS = 1664  # of one SELECT
_LONGEST_NAME = 63  # bytes; the rest is cut off silently
_OUR_OWN = 4  # columns that statements add


def require_within_limits(question: Asked) -> None:
    """Refuse a question whose statement PostgreSQL would refuse or misread."""
    numbers = 1
    if isinstance(question, Tally):
        numbers = len(question.summands)
    elif isinstance(question, VectorSum):
        numbers = max(len(question.values), 2 * len(question.components))
    _require_few(len(question.keys.columns) + numbers)
    schema = question.relation.schema
    for column in question.keys.columns:
        if column.values is not None and column.expression.domain(schema).kind is Kind.TEXT:
            _require_texts(column.values)


def _require_few(columns: int) -> None:
    if columns + _OUR_OWN > _MOST_COLUMNS:
        raise QueryRefused(
            f"the question takes more than the {_MOST_COLUMNS:,} columns that a SELECT of PostgreSQL may have",
            hint="ask for fewer numbers at once",
        )


def _require_texts(values: Collection[object]) -> None:
    if "\0" in "".join(str(value) for value in values):
        raise QueryRefused(
            "a key is a text with a NUL character in it, which PostgreSQL does not have",
            hint="declare only the column's other categories",
        )


_NAME = r'(?:\w+\.)?(?:"(?:[^"]|"")*"|\w+)'
_TYPE = r"[A-Z ]+"
_CONSTANT = re.compile(rf"NULL|CAST\('[^']*' AS {_TYPE}\)")
_SIMPLE = re.compile(rf"{_CONSTANT.pattern}|{_NAME}|CAST\({_NAME} AS {_TYPE}\)")
_LARGEST_EXPONENT, _LEAST_EXPONENT = 709.782712893384, -745.1332191019411  # e to these is finite, and not zero


def double(value: float) -> str:
    """A double as SQL."""
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


def two_to(power: int) -> str:
    """A power of two as SQL."""
    return double(2.0**power)


_INFINITY = double(float("inf"))


def total(a: str, b: str) -> str:
    """The sum. Halves of numbers that large are exact, and their sum is rounded as the sum is."""
    halves = f"abs(trunc({a}) * {double(0.5)} + trunc({b}) * {double(0.5)})"
    return (
        f"CASE WHEN abs({a}) < {two_to(1022)} AND abs({b}) < {two_to(1022)} THEN {a} + {b} "
        f"WHEN abs({a}) = {_INFINITY} OR abs({b}) = {_INFINITY} THEN {a} + {b} "
        f"WHEN {halves} >= {two_to(1023)} THEN sign({a}) * {_INFINITY} ELSE {a} + {b} END"
    )


def _usual(a: str, b: str) -> str:
    """Whether neither the product nor the quotient of two numbers can leave the doubles."""
    return " AND ".join(f"abs({operand}) BETWEEN {two_to(-500)} AND {two_to(500)}" for operand in (a, b))


def _special(a: str, b: str) -> str:
    """Whether one of two numbers is zero or infinite: PostgreSQL does not raise then."""
    return f"{a} = 0 OR {b} = 0 OR abs({a}) = {_INFINITY} OR abs({b}) = {_INFINITY}"


def product(a: str, b: str) -> str:
    """The product.

    Too large: the larger is above 2^511 and the other above 1. Too small: the smaller is below 2^-537, none
    above 1. Both conditions are tested on arguments that are moved to where they may hold.
    """
    larger, smaller = f"greatest(abs({a}), abs({b}))", f"least(abs({a}), abs({b}))"
    high = f"greatest({larger}, {two_to(511)}) * {two_to(-600)} * greatest(least({smaller}, {two_to(513)}), 1)"
    low = f"least({smaller}, {two_to(-537)}) * {two_to(600)} * least(greatest({larger}, {two_to(-600)}), 1)"
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN {_usual(a, b)} OR {_special(a, b)} THEN {a} * {b} "
        f"WHEN {high} >= {two_to(424)} THEN sign({a}) * sign({b}) * {_INFINITY} "
        f"WHEN {low} <= {two_to(-475)} THEN {double(0.0)} ELSE {a} * {b} END"
    )


def quotient(a: str, b: str) -> str:
    """The quotient.

    Too large: |a| ≥ |b| · 2^1024, for no quotient of doubles lies halfway. Too small: |a| ≤ |b| · 2^-1075.
    """
    high = f"greatest(abs({a}), {two_to(-60)}) * {two_to(-512)} >= least(abs({b}), 1) * {two_to(512)}"
    low = f"least(abs({a}), 1) * {two_to(512)} <= greatest(abs({b}), 1) * {two_to(-563)}"
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL OR {b} = 0 THEN NULL "
        f"WHEN {_usual(a, b)} OR {_special(a, b)} THEN {a} / {b} "
        f"WHEN {high} THEN sign({a}) * sign({b}) * {_INFINITY} WHEN {low} THEN {double(0.0)} ELSE {a} / {b} END"
    )


def exponential(a: str) -> str:
    """The exponential."""
    return (
        f"CASE WHEN {a} > {double(_LARGEST_EXPONENT)} THEN {_INFINITY} "
        f"WHEN {a} < {double(_LEAST_EXPONENT)} THEN {double(0.0)} ELSE exp({a}) END"
    )


TYPES: Mapping[Kind, str] = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE PRECISION",
    Kind.TEXT: "TEXT",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
_BELOW_WHOLE, _ABOVE_WHOLE = double(-(2.0**63) - 2048), double(2.0**63)  # the doubles next to those of 64 bits
_DIVISION = 2.0**62


@final
class PostgresDialect(Dialect):
    """PostgreSQL raises where a cast or a result is out of range: everything here checks first.

    Texts carry the collation "C" from where they are read or written, so that they are compared by code points.
    """

    # -- names, types and constants -----------------------------------------------------------------------------

    def type_name(self, kind: Kind) -> str:
        return TYPES[kind]

    def identifier(self, name: str) -> str:
        return double_quoted(name)

    def text(self, value: str) -> str:
        return f'({single_quoted(value)} COLLATE "C")'

    def whole_literal(self, value: int) -> str:
        return f"CAST('{value}' AS BIGINT)"

    # -- stored columns: tables are read as columns of these types already (see `tables`) -----------------------

    def read_whole(self, column: str) -> str:
        return column

    def read_text(self, column: str) -> str:
        return f"CAST({column} AS TEXT)"

    def read_time(self, column: str, kind: Kind) -> str:
        return column

    def usual_number(self, real: str) -> str:
        return f"nullif({real}, CAST('NaN' AS DOUBLE PRECISION))"

    # -- from one kind to another -------------------------------------------------------------------------------

    def truth_as_real(self, truth: str) -> str:
        return f"CAST(CAST({truth} AS INTEGER) AS DOUBLE PRECISION)"

    def truth_as_number(self, truth: str) -> str:
        return f"CAST(CAST({truth} AS INTEGER) AS BIGINT)"

    def whole(self, real: str) -> str:
        """Move numbers that do not fit to the doubles next to the range, and make these missing; NaN too."""
        moved = self.between(real, _BELOW_WHOLE, _ABOVE_WHOLE)
        return f"CAST(nullif(nullif({moved}, {_BELOW_WHOLE}), {_ABOVE_WHOLE}) AS BIGINT)"

    def narrow(self, whole: str) -> str:
        """Cast: whole numbers have 64 bits wherever they are read."""
        return f"CAST({whole} AS BIGINT)"

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} ~ '^({pattern})$'"

    def parsed_number(self, text: str) -> str:
        return f"CAST({text} AS DOUBLE PRECISION)"

    def parsed_date(self, text: str) -> str:
        """Make a date only of a valid month; a day that its month lacks falls into another, and is missing."""
        year, month, day = (f"CAST(substr({text}, {at}) AS INTEGER)" for at in ("1, 4", "6, 2", "9, 2"))
        date = f"(make_date({year}, {month}, 1) + ({day} - 1))"
        exists = f"{day} > 0 AND extract(month FROM {date}) = {month}"
        return f"CASE WHEN {year} > 0 AND {month} BETWEEN 1 AND 12 THEN CASE WHEN {exists} THEN {date} END END"

    def to_text(self, value: str) -> str:
        return f'(CAST({value} AS TEXT) COLLATE "C")'

    # -- arithmetic of doubles ----------------------------------------------------------------------------------

    @property
    def carries_nan(self) -> bool:
        """False: NaN is the greatest number here, and would be taken for an overflow."""
        return False

    def add(self, one: str, other: str) -> str:
        return self.once([one, other], lambda v: total(v[0], v[1]))

    def subtract(self, one: str, other: str) -> str:
        return self.once([one, other], lambda v: total(v[0], f"(- {v[1]})"))

    def multiply(self, one: str, other: str) -> str:
        return self.once([one, other], lambda v: product(v[0], v[1]))

    def divide(self, one: str, other: str) -> str:
        return self.once([one, other], lambda v: quotient(v[0], v[1]))

    def exp(self, real: str) -> str:
        return self.once([real], lambda v: exponential(v[0]))

    def floor(self, real: str) -> str:
        return f"floor({real})"

    def ceil(self, real: str) -> str:
        return f"ceil({real})"

    def modulo(self, one: str, other: str) -> str:
        return self.once([one, other], lambda v: f"({v[0]} % nullif({v[1]}, 0))")

    def once(self, arguments: list[str], write: Callable[[list[str]], str]) -> str:
        """OFFSET 0 keeps PostgreSQL from putting the arguments back into the places where they are needed."""
        if all(_SIMPLE.fullmatch(text) for text in arguments):
            return write(arguments)
        names = [text if _CONSTANT.fullmatch(text) else f"v.a{index}" for index, text in enumerate(arguments)]
        bound = [f"{text} AS a{index}" for index, text in enumerate(arguments) if not _CONSTANT.fullmatch(text)]
        return f"(SELECT {write(names)} FROM (SELECT {', '.join(bound)} OFFSET 0) AS v)"

    # -- texts and times ----------------------------------------------------------------------------------------

    def octets(self, text: str) -> str:
        return f"octet_length({text})"

    def is_ascii(self, text: str) -> str:
        return f"octet_length({text}) = char_length({text})"

    def brief(self, text: str) -> str:
        return text

    def trim(self, text: str) -> str:
        return f"btrim({text}, ' ')"

    def substring(self, text: str, *positions: str) -> str:
        return f"substring({', '.join([text, *(f'CAST({position} AS INTEGER)' for position in positions)])})"

    def length(self, text: str) -> str:
        return f"CAST(char_length({text}) AS BIGINT)"

    def like(self, text: str, pattern: str) -> str:
        return f"({text} LIKE {self.text(pattern)} ESCAPE '')"

    def part(self, name: TimePart, time: str) -> str:
        field = {"dayofweek": "isodow", "dayofyear": "doy"}.get(name, name)
        return f"CAST(extract({field} FROM {time}) AS BIGINT)"

    def date_trunc(self, unit: str, time: str) -> str:
        return f"CAST(date_trunc({unit}, CAST({time} AS TIMESTAMP)) AS DATE)"

    def days(self, date: str) -> str:
        return f"CAST({date} - DATE '1970-01-01' AS BIGINT)"

    def add_days(self, time: str, amount: int, kind: Kind) -> str:
        return f"({time} + ({amount}))" if kind is Kind.DATE else f"({time} + INTERVAL '{amount} days')"

    def add_months(self, time: str, amount: int, kind: Kind) -> str:
        return f"CAST({time} + INTERVAL '{amount} months' AS {TYPES[kind]})"

    def add_seconds(self, moment: str, amount: int) -> str:
        return f"({moment} + INTERVAL '{amount} seconds')"

    # -- choices and equality -----------------------------------------------------------------------------------

    def condition(self, truth: str) -> str:
        return truth

    def same(self, one: str, other: str) -> str:
        """Arrays are equal if what they hold is equal or both missing; unlike IS NOT DISTINCT FROM, this is hashed."""
        return f"ARRAY[{one}] = ARRAY[{other}]"

    def digest(self, text: str) -> str:
        return f"CAST(CAST('x' || left(md5({text}), 15) AS BIT(60)) AS BIGINT)"

    # -- sums ---------------------------------------------------------------------------------------------------

    def total(self, steps: str, reach: int) -> str:
        """Sums of 64-bit numbers are kept in 128 bits and returned without a bound."""
        return f"sum(CAST({steps} AS {'BIGINT' if reach < 2**62 else 'NUMERIC'}))"

    def short_total(self, steps: str) -> str:
        return f"CAST(sum(CAST({steps} AS BIGINT)) AS BIGINT)"

    def narrow_total(self, steps: str) -> str:
        """A sum that leaves 64 bits, which takes 2^32 rows of one person, is missing."""
        total = f"sum(CAST({steps} AS BIGINT))"
        return f"CASE WHEN abs({total}) < {2**63} THEN CAST({total} AS BIGINT) END"

    def wide(self, whole: str) -> str:
        return f"CAST({whole} AS NUMERIC)"

    def real_sum(self, total: str, reach: int) -> str:
        return self.real(total)

    def cut(self, real: str, greatest: int) -> str:
        """Large numbers in two parts: a cast of a double to NUMERIC keeps 15 digits only."""
        if greatest < 2**62:
            return f"CAST(trunc({real}) AS BIGINT)"
        upper = f"trunc(trunc({real}) * {double(1 / _DIVISION)})"
        lower = f"trunc({real}) - {upper} * {double(_DIVISION)}"
        return f"CAST({upper} AS BIGINT) * CAST({_DIVISION:.0f} AS NUMERIC) + CAST({lower} AS BIGINT)"

    def square(self, whole: str) -> str:
        return f"({self.wide(whole)} * {whole})"

    def lattice(self, real: str, granularity: Fraction) -> str:
        """What is below 2^-60 of a step is no step, and is not multiplied: the product might be rounded to zero."""
        negligible = double(float(granularity) * 2.0**-60)
        return (
            f"floor(CASE WHEN abs({real}) < {negligible} THEN 0 ELSE {real} END * {self.double(1 / granularity)} + 0.5)"
        )

    # -- queries ------------------------------------------------------------------------------------------------

    def require_columns(self, names: list[str]) -> None:
        """Refuse too many columns in one SELECT, or names that PostgreSQL would cut to the same name."""
        _require_few(len(names))
        if len({name.encode()[:_LONGEST_NAME] for name in names}) < len(names):
            raise QueryRefused(
                f"two columns' names differ only after {_LONGEST_NAME} bytes, where PostgreSQL cuts names off",
                hint="take shorter names",
            )

    def fence(self, select: str) -> str:
        """OFFSET 0 keeps PostgreSQL from putting expressions into the places that refer to them."""
        return f"{select} OFFSET 0"

    def by_person(self, lines: str) -> str:
        """Return them as they are: all rows are in one place."""
        return lines

    def with_groups(self, pairs: str) -> str:
        """A window: one sort, and no join whose size PostgreSQL would have to guess."""
        return f"SELECT t.*, count(*) OVER (PARTITION BY p) AS m FROM ({pairs}) AS t"

    def with_counts(self, cells: str) -> str:
        by_pair = "CAST(sum(n) OVER (PARTITION BY p, code) AS BIGINT) AS c"
        rank = "dense_rank() OVER (PARTITION BY p ORDER BY code) AS place"
        counted = f"SELECT t.*, {by_pair}, {rank} FROM ({cells}) AS t"
        return f"SELECT t.*, max(place) OVER (PARTITION BY p) AS m FROM ({counted}) AS t"

    def with_sums(self, rows: str, sums: list[tuple[str, str]]) -> str:
        sum_columns = ", ".join(f"sum({text}) OVER (PARTITION BY p) AS {name}" for text, name in sums)
        return f"SELECT t.*, {sum_columns} FROM ({rows}) AS t"

    def unfolded(self, rows: str, columns: list[str], pairs: list[tuple[str, str]], names: tuple[str, str]) -> str:
        lines = ", ".join(f"({', '.join(f'CAST({number} AS BIGINT)' for number in pair)})" for pair in pairs)
        select_list = ", ".join([*(f"t.{column}" for column in columns), *(f"u.{name}" for name in names)])
        return f"SELECT {select_list} FROM ({rows}) AS t CROSS JOIN LATERAL (VALUES {lines}) AS u({', '.join(names)})"
