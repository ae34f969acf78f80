"""SQL as PostgreSQL reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from giveortake.engines.postgres import arithmetic
from giveortake.engines.postgres.arithmetic import double, once
from giveortake.engines.postgres.limits import require_columns
from giveortake.engines.sql.dialect import Dialect, double_quoted, single_quoted
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

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
        return once([one, other], lambda v: arithmetic.total(v[0], v[1]))

    def subtract(self, one: str, other: str) -> str:
        return once([one, other], lambda v: arithmetic.total(v[0], f"(- {v[1]})"))

    def multiply(self, one: str, other: str) -> str:
        return once([one, other], lambda v: arithmetic.product(v[0], v[1]))

    def divide(self, one: str, other: str) -> str:
        return once([one, other], lambda v: arithmetic.quotient(v[0], v[1]))

    def exp(self, real: str) -> str:
        return once([real], lambda v: arithmetic.exponential(v[0]))

    def floor(self, real: str) -> str:
        return f"floor({real})"

    def ceil(self, real: str) -> str:
        return f"ceil({real})"

    def modulo(self, one: str, other: str) -> str:
        return once([one, other], lambda v: f"({v[0]} % nullif({v[1]}, 0))")

    def once(self, arguments: list[str], write: Callable[[list[str]], str]) -> str:
        return once(arguments, write)

    # -- texts and times ----------------------------------------------------------------------------------------

    def octets(self, text: str) -> str:
        return f"octet_length({text})"

    def is_ascii(self, text: str) -> str:
        return f"octet_length({text}) = char_length({text})"

    def brief(self, text: str) -> str:
        return text

    def trim(self, text: str) -> str:
        return f"btrim({text}, ' ')"

    def substring(self, text: str, *places: str) -> str:
        return f"substring({', '.join([text, *(f'CAST({place} AS INTEGER)' for place in places)])})"

    def length(self, text: str) -> str:
        return f"CAST(char_length({text}) AS BIGINT)"

    def like(self, text: str, pattern: str) -> str:
        return f"({text} LIKE {self.text(pattern)} ESCAPE '')"

    def year(self, time: str) -> str:
        return _part("year", time)

    def quarter(self, time: str) -> str:
        return _part("quarter", time)

    def month(self, time: str) -> str:
        return _part("month", time)

    def week(self, time: str) -> str:
        return _part("week", time)

    def day(self, time: str) -> str:
        return _part("day", time)

    def dayofweek(self, time: str) -> str:
        return _part("isodow", time)

    def dayofyear(self, time: str) -> str:
        return _part("doy", time)

    def hour(self, moment: str) -> str:
        return _part("hour", moment)

    def minute(self, moment: str) -> str:
        return _part("minute", moment)

    def date_trunc(self, unit: str, time: str) -> str:
        return f"CAST(date_trunc({unit}, CAST({time} AS TIMESTAMP)) AS DATE)"

    def days(self, date: str) -> str:
        return f"CAST({date} - DATE '1970-01-01' AS BIGINT)"

    def add_days(self, time: str, by: int, kind: Kind) -> str:
        return f"({time} + ({by}))" if kind is Kind.DATE else f"({time} + INTERVAL '{by} days')"

    def add_months(self, time: str, by: int, kind: Kind) -> str:
        return f"CAST({time} + INTERVAL '{by} months' AS {TYPES[kind]})"

    def add_seconds(self, moment: str, by: int) -> str:
        return f"({moment} + INTERVAL '{by} seconds')"

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
        require_columns(names)

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
        place = "dense_rank() OVER (PARTITION BY p ORDER BY code) AS place"
        counted = f"SELECT t.*, {by_pair}, {place} FROM ({cells}) AS t"
        return f"SELECT t.*, max(place) OVER (PARTITION BY p) AS m FROM ({counted}) AS t"

    def with_sums(self, rows: str, sums: list[tuple[str, str]]) -> str:
        listed = ", ".join(f"sum({text}) OVER (PARTITION BY p) AS {name}" for text, name in sums)
        return f"SELECT t.*, {listed} FROM ({rows}) AS t"

    def unfolded(self, rows: str, kept: list[str], pairs: list[tuple[str, str]], names: tuple[str, str]) -> str:
        lines = ", ".join(f"({', '.join(f'CAST({each} AS BIGINT)' for each in pair)})" for pair in pairs)
        listed = ", ".join([*(f"t.{each}" for each in kept), *(f"u.{each}" for each in names)])
        return f"SELECT {listed} FROM ({rows}) AS t CROSS JOIN LATERAL (VALUES {lines}) AS u({', '.join(names)})"


def _part(name: str, time: str) -> str:
    return f"CAST(extract({name} FROM {time}) AS BIGINT)"
