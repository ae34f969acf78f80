"""SQL as DuckDB reads it, and values of a plan as its constants."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.engines.sql.dialect import Dialect, double_quoted, single_quoted
from giveortake.exact import exact_decimal
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from giveortake.engines.sql.dialect import TimePart
    from giveortake.plan import Domain, Value

TYPES: Mapping[Kind, str] = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


@final
class DuckDBDialect(Dialect):
    """DuckDB's SQL: arithmetic of IEEE 754, TRY_CAST gives NULL where a cast would fail, sums widen to 128 bits."""

    # -- names, types and constants -----------------------------------------------------------------------------

    def type_name(self, kind: Kind) -> str:
        return TYPES[kind]

    def identifier(self, name: str) -> str:
        return double_quoted(name)

    def text(self, value: str) -> str:
        return single_quoted(value)

    def whole_literal(self, value: int) -> str:
        return str(value)

    # -- stored columns -----------------------------------------------------------------------------------------

    def read_whole(self, column: str) -> str:
        return column

    def read_text(self, column: str) -> str:
        return f"CAST({column} AS VARCHAR)"

    def read_time(self, column: str, kind: Kind) -> str:
        return f"TRY_CAST({column} AS {TYPES[kind]})"

    def usual_number(self, real: str) -> str:
        """A CASE that is written out, so that the length of the text shows how it grows."""
        return f"CASE WHEN isnan({real}) THEN NULL ELSE {real} END"

    # -- from one kind to another -------------------------------------------------------------------------------

    def truth_as_real(self, truth: str) -> str:
        return f"CAST({truth} AS DOUBLE)"

    def truth_as_number(self, truth: str) -> str:
        return truth

    def whole(self, real: str) -> str:
        return f"TRY_CAST({real} AS BIGINT)"

    def narrow(self, whole: str) -> str:
        return f"TRY_CAST({whole} AS BIGINT)"

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_full_match({text}, '{pattern}')"

    def parsed_number(self, text: str) -> str:
        return f"CAST({text} AS DOUBLE)"

    def parsed_date(self, text: str) -> str:
        return f"TRY_CAST({text} AS DATE)"

    def to_text(self, value: str) -> str:
        return f"CAST({value} AS VARCHAR)"

    # -- arithmetic of doubles ----------------------------------------------------------------------------------

    @property
    def carries_nan(self) -> bool:
        return True

    def add(self, one: str, other: str) -> str:
        return f"({one} + {other})"

    def subtract(self, one: str, other: str) -> str:
        return f"({one} - {other})"

    def multiply(self, one: str, other: str) -> str:
        return f"({one} * {other})"

    def divide(self, one: str, other: str) -> str:
        return f"({one} / CASE WHEN {other} <> 0 THEN {other} END)"

    def exp(self, real: str) -> str:
        return f"exp({real})"

    def floor(self, real: str) -> str:
        return f"floor({real})"

    def ceil(self, real: str) -> str:
        return f"ceil({real})"

    def modulo(self, one: str, other: str) -> str:
        """Avoid what DuckDB cannot compute: the least 64-bit number modulo −1, and numbers of 128 bits."""
        one, other = self.narrow(one), self.narrow(other)
        return f"CASE WHEN {other} = -1 THEN {one} - {one} ELSE {one} % nullif({other}, 0) END"

    def once(self, arguments: list[str], write: Callable[[list[str]], str]) -> str:
        """Write the arguments as they are: DuckDB finds equal expressions by itself."""
        return write(arguments)

    # -- texts and times ----------------------------------------------------------------------------------------

    def octets(self, text: str) -> str:
        return f"strlen({text})"

    def is_ascii(self, text: str) -> str:
        return f"strlen({text}) = length({text})"

    def brief(self, text: str) -> str:
        """The text itself if it has fewer than 64 bytes, else its SHA-256 in hexadecimal."""
        return f"CASE WHEN strlen({text}) < 64 THEN {text} ELSE sha256({text}) END"

    def trim(self, text: str) -> str:
        return f"trim({text}, ' ')"

    def substring(self, text: str, *positions: str) -> str:
        return f"substring({', '.join([text, *positions])})"

    def length(self, text: str) -> str:
        return f"CAST(length({text}) AS BIGINT)"

    def like(self, text: str, pattern: str) -> str:
        return f"({text} LIKE {self.text(pattern)})"

    def part(self, name: TimePart, time: str) -> str:
        return f"CAST({'isodow' if name == 'dayofweek' else name}({time}) AS BIGINT)"

    def date_trunc(self, unit: str, time: str) -> str:
        return f"CAST(date_trunc({unit}, {time}) AS DATE)"

    def days(self, date: str) -> str:
        return f"date_diff('day', DATE '1970-01-01', {date})"

    def add_days(self, time: str, amount: int, kind: Kind) -> str:
        return f"({time} + {amount})" if kind is Kind.DATE else f"({time} + to_days({amount}))"

    def add_months(self, time: str, amount: int, kind: Kind) -> str:
        return f"CAST({time} + to_months({amount}) AS {TYPES[kind]})"

    def add_seconds(self, moment: str, amount: int) -> str:
        return f"({moment} + to_seconds({amount}))"

    # -- choices and equality -----------------------------------------------------------------------------------

    def condition(self, truth: str) -> str:
        return truth

    def same(self, one: str, other: str) -> str:
        return f"{one} IS NOT DISTINCT FROM {other}"

    def digest(self, text: str) -> str:
        return f"CAST('0x' || left(md5({text}), 15) AS BIGINT)"

    # -- sums ---------------------------------------------------------------------------------------------------

    def total(self, steps: str, reach: int) -> str:
        return f"sum({steps})"

    def short_total(self, steps: str) -> str:
        """A sum in 64 bits, which DuckDB itself chooses where it knows the range of a column."""
        return f"sum_no_overflow({steps})"

    def narrow_total(self, steps: str) -> str:
        return f"TRY_CAST(sum({steps}) AS BIGINT)"

    def wide(self, whole: str) -> str:
        return f"CAST({whole} AS HUGEINT)"

    def real_sum(self, total: str, reach: int) -> str:
        """Convert wide sums in two parts: a cast from 128 bits is not always to the nearest double."""
        if reach < 2**31:
            return self.real(total)
        return f"{self.real(f'({total} // {2**32})')} * {self.double(2.0**32)} + {self.real(f'({total} % {2**32})')}"

    def cut(self, real: str, greatest: int) -> str:
        return f"CAST(trunc({real}) AS {'BIGINT' if greatest < 2**62 else 'HUGEINT'})"

    def square(self, whole: str) -> str:
        return f"({self.wide(whole)} * {whole})"

    def lattice(self, real: str, granularity: Fraction) -> str:
        return f"floor({real} * {self.double(1 / granularity)} + 0.5)"

    # -- queries ------------------------------------------------------------------------------------------------

    def require_columns(self, names: list[str]) -> None:
        """Do nothing: DuckDB takes any columns."""

    def fence(self, select: str) -> str:
        """Return it as it is: DuckDB computes the expressions of a subquery once."""
        return select

    def by_person(self, lines: str) -> str:
        """Return them as they are: all rows are in one place."""
        return lines

    def with_groups(self, pairs: str) -> str:
        groups = "SELECT p, count(*) AS m FROM pairs GROUP BY p"
        return f"WITH pairs AS MATERIALIZED ({pairs}), groups AS ({groups}) SELECT * FROM pairs JOIN groups USING (p)"

    def with_counts(self, cells: str) -> str:
        return (
            f"WITH cells AS MATERIALIZED ({cells}), "
            "pairs AS (SELECT p, code, sum(n) AS c FROM cells GROUP BY p, code), "
            "groups AS (SELECT p, count(*) AS m FROM pairs GROUP BY p) "
            "SELECT * FROM cells JOIN pairs USING (p, code) JOIN groups USING (p)"
        )

    def with_sums(self, rows: str, sums: list[tuple[str, str]]) -> str:
        sum_columns = ", ".join(f"sum({text}) AS {name}" for text, name in sums)
        totals = f"SELECT p, {sum_columns} FROM rows GROUP BY p"
        return f"WITH rows AS MATERIALIZED ({rows}), totals AS ({totals}) SELECT * FROM rows JOIN totals USING (p)"

    def unfolded(self, rows: str, columns: list[str], pairs: list[tuple[str, str]], names: tuple[str, str]) -> str:
        lists = [
            f"unnest([{', '.join(f'CAST({pair[index]} AS BIGINT)' for pair in pairs)}]) AS {name}"
            for index, name in enumerate(names)
        ]
        return f"SELECT {', '.join([*columns, *lists])} FROM ({rows}) AS t"


_BUCKET_DIGITS = 9  # of the edges of buckets


def parameters(rows: Sequence[tuple[Value, ...]]) -> list[list[Any]]:
    """Rows as a list for each column, of values that DuckDB casts to the type of their kind without loss."""
    return [[_parameter(value) for value in column] for column in zip(*rows, strict=True)]


def _parameter(value: Value | Decimal) -> Any:
    if isinstance(value, Fraction):
        value = exact_decimal(value)
    return f"{value:f}" if isinstance(value, Decimal) else value


def sql_type(domain: Domain, values: Sequence[Value] | None = None) -> str:
    """The SQL type for constants of a domain; for whole numbers, BIGINT only if all `values` are known to fit."""
    match domain.kind:
        case Kind.INTEGER:
            narrow = values is not None and all(value is None or abs(value) < 2**63 for value in values)  # type: ignore[arg-type, operator]  # (whole numbers, by their kind)
            return "BIGINT" if narrow else "HUGEINT"
        case Kind.DECIMAL:
            return f"DECIMAL(38, {_BUCKET_DIGITS if domain.step is None else _digits(domain.step)})"
    return TYPES[domain.kind]


def _digits(step: Fraction) -> int:
    """How many decimals the multiples of a step have."""
    return next(count for count in range(39) if 10**count % step.denominator == 0)
