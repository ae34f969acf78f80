"""SQL as Spark reads it in ANSI mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, final

from giveortake.engines.sql.dialect import Dialect
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from giveortake.engines.sql.dialect import TimePart

_TYPES: Mapping[Kind, str] = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "STRING",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP_NTZ",
}
_TOO_LARGE = 2.0**63  # a cast to 64 bits makes 2^63 - 1 of it
_ALL_WHOLE = 2.0**53  # doubles from here on have no decimals
_MOST_ROWS = 2**40  # of one table, by which no sum of 64 bits overflows
_LIMB = 22  # bits: 2^40 numbers of 22 bits fit into 63 with a sign
_HALVES = 32
_PIECES = re.compile("_+|[^a-zA-Z0-9]")


@final
class SparkDialect(Dialect):
    """Spark's SQL: names differ by case, texts are compared by bytes, and casts and sums that overflow fail.

    Moments are wall clocks without a time zone; those that Spark stores as instants are read as they are in UTC.
    """

    # -- names, types and constants -----------------------------------------------------------------------------

    def type_name(self, kind: Kind) -> str:
        return _TYPES[kind]

    def identifier(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def whole_literal(self, value: int) -> str:
        return str(value)

    # -- stored columns -----------------------------------------------------------------------------------------

    def read_whole(self, column: str) -> str:
        return f"CAST({column} AS BIGINT)"

    def read_text(self, column: str) -> str:
        """Bytes that are no UTF-8 become U+FFFD, because no text in Python can hold them."""
        return f"make_valid_utf8(CAST({column} AS STRING))"

    def read_time(self, column: str, kind: Kind) -> str:
        return f"TRY_CAST({column} AS {_TYPES[kind]})"

    def usual_number(self, real: str) -> str:
        return f"CASE WHEN isnan({real}) THEN NULL ELSE {real} END"

    # -- from one kind to another -------------------------------------------------------------------------------

    def truth_as_real(self, truth: str) -> str:
        return f"CAST({truth} AS DOUBLE)"

    def truth_as_number(self, truth: str) -> str:
        return truth

    def whole(self, real: str) -> str:
        return f"CASE WHEN {real} < {self.double(_TOO_LARGE)} THEN TRY_CAST({real} AS BIGINT) END"

    def narrow(self, whole: str) -> str:
        return f"TRY_CAST({whole} AS BIGINT)"

    def matches(self, text: str, pattern: str) -> str:
        whole = self.text(rf"\A(?:{pattern})\z")
        return f"({text} RLIKE {whole})"

    def parsed_number(self, text: str) -> str:
        return f"TRY_CAST({text} AS DOUBLE)"

    def parsed_date(self, text: str) -> str:
        return f"TRY_CAST({text} AS DATE)"

    def to_text(self, value: str) -> str:
        return f"CAST({value} AS STRING)"

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
        """Spark's floor is a whole number of 64 bits, and fails beyond them."""
        return f"CASE WHEN abs({real}) < {self.double(_ALL_WHOLE)} THEN CAST(floor({real}) AS DOUBLE) ELSE {real} END"

    def ceil(self, real: str) -> str:
        return f"(- {self.floor(f'(- {real})')})"

    def modulo(self, one: str, other: str) -> str:
        remainder = f"CAST({one} % nullif({other}, 0) AS BIGINT)"
        return f"CASE WHEN {other} = -1 THEN {one} - {one} ELSE {remainder} END"

    def once(self, arguments: list[str], write: Callable[[list[str]], str]) -> str:
        """Write the arguments as they are: Spark finds equal expressions by itself."""
        return write(arguments)

    # -- texts and times ----------------------------------------------------------------------------------------

    def octets(self, text: str) -> str:
        return f"octet_length({text})"

    def is_ascii(self, text: str) -> str:
        return f"octet_length({text}) = char_length({text})"

    def brief(self, text: str) -> str:
        return text

    def trim(self, text: str) -> str:
        return f"trim(BOTH ' ' FROM {text})"

    def substring(self, text: str, *positions: str) -> str:
        return f"substring({', '.join([text, *positions])})"

    def length(self, text: str) -> str:
        return f"CAST(length({text}) AS BIGINT)"

    def like(self, text: str, pattern: str) -> str:
        """Match in time linear in the text; Spark's LIKE tries every way to match the pieces between several %.

        A piece between two % has a fixed length, so that taking the first place where it fits misses nothing: atomic
        groups do that.
        """
        if "%" not in pattern[1:-1]:
            escaped = pattern.replace("\\", "\\\\")  # a backslash stands for itself when it is doubled
            return f"({text} LIKE {self.text(escaped)})"
        first, *pieces, last = map(_fixed, re.split("%+", pattern))
        middle = "".join(f"(?>.*?{piece})" for piece in pieces)
        end = rf".*?{last}\z" if last else ""
        whole = self.text(rf"(?s)\A{first}{middle}{end}")
        return f"({text} RLIKE {whole})"

    def part(self, name: TimePart, time: str) -> str:
        if name == "dayofweek":
            return f"CAST(weekday({time}) + 1 AS BIGINT)"
        return f"CAST({'weekofyear' if name == 'week' else name}({time}) AS BIGINT)"

    def date_trunc(self, unit: str, time: str) -> str:
        day = f"CAST({time} AS DATE)"
        return day if unit == "'day'" else f"trunc({day}, {unit})"

    def days(self, date: str) -> str:
        return f"CAST(unix_date({date}) AS BIGINT)"

    def add_days(self, time: str, amount: int, kind: Kind) -> str:
        return f"date_add({time}, {amount})" if kind is Kind.DATE else f"({time} + INTERVAL '{amount}' DAY)"

    def add_months(self, time: str, amount: int, kind: Kind) -> str:
        return f"add_months({time}, {amount})" if kind is Kind.DATE else f"({time} + INTERVAL '{amount}' MONTH)"

    def add_seconds(self, moment: str, amount: int) -> str:
        return f"({moment} + make_dt_interval(0, 0, 0, {amount}))"

    # -- choices and equality -----------------------------------------------------------------------------------

    def condition(self, truth: str) -> str:
        """FALSE in place of a bare NULL, which has no type."""
        return "FALSE" if truth == "NULL" else truth

    def same(self, one: str, other: str) -> str:
        return f"{one} <=> {other}"

    def digest(self, text: str) -> str:
        return f"CAST(conv(left(md5(CAST({text} AS BINARY)), 15), 16, 10) AS BIGINT)"

    # -- sums ---------------------------------------------------------------------------------------------------

    def total(self, steps: str, reach: int) -> str:
        """Several sums of fewer bits: sums of 64 bits fail when they overflow, and those of decimals are slow."""
        if reach * _MOST_ROWS < 2**63:
            return f"sum({steps})"
        if reach >= 2**63:
            return f"sum(CAST({steps} AS DECIMAL(38, 0)))"
        count, whole = -(-reach.bit_length() // _LIMB), f"CAST({steps} AS BIGINT)"
        limbs = [f"sum(({whole} >> {_LIMB * index}) & {2**_LIMB - 1}L)" for index in range(count - 1)]
        limbs.append(f"sum({whole} >> {_LIMB * (count - 1)})")
        parts = [f"{_decimal(limb)} * {_decimal(f'{2 ** (_LIMB * index)}L')}" for index, limb in enumerate(limbs)]
        return f"({' + '.join(parts)})"

    def short_total(self, steps: str) -> str:
        return self.narrow_total(steps)

    def narrow_total(self, steps: str) -> str:
        return f"try_sum({steps})"

    def wide(self, whole: str) -> str:
        return f"CAST({whole} AS DECIMAL(38, 0))"

    def real_sum(self, total: str, reach: int) -> str:
        return self.real(total)

    def cut(self, real: str, greatest: int) -> str:
        """Casts to whole numbers cut towards zero; those to decimals do not, and go by the digits that are shown."""
        if greatest < 2**62:
            return f"CAST({real} AS BIGINT)"
        unit = self.double(2.0**_HALVES)
        high = f"CAST({real} / {unit} AS BIGINT)"
        low = f"CAST({real} - CAST({high} AS DOUBLE) * {unit} AS BIGINT)"
        return f"({_decimal(high)} * {_decimal(f'{2**_HALVES}L')} + {_decimal(low)})"

    def square(self, whole: str) -> str:
        return f"(CAST({whole} AS DECIMAL(16, 0)) * CAST({whole} AS DECIMAL(16, 0)))"

    def lattice(self, real: str, granularity: Fraction) -> str:
        return f"floor({real} * {self.double(1 / granularity)} + 0.5)"

    # -- queries ------------------------------------------------------------------------------------------------

    def require_columns(self, names: list[str]) -> None:
        """Do nothing: Spark takes any columns."""

    def fence(self, select: str) -> str:
        """Return it as it is: Spark computes what a subquery selects once, or finds equal expressions."""
        return select

    def by_person(self, lines: str) -> str:
        """One shuffle by person, after which a person's groups and windows need no other one."""
        return f"SELECT /*+ REPARTITION(p) */ * FROM ({lines}) AS lines"

    def with_groups(self, pairs: str) -> str:
        """Count by a window, which reads the pairs once."""
        return f"SELECT *, count(*) OVER (PARTITION BY p) AS m FROM ({pairs}) AS pairs"

    def with_counts(self, cells: str) -> str:
        """Count by windows, which read the cells once."""
        ranks = "dense_rank() OVER (PARTITION BY p ORDER BY code) AS place"
        placed = f"SELECT *, sum(n) OVER (PARTITION BY p, code) AS c, {ranks} FROM ({cells}) AS cells"
        return f"SELECT *, max(place) OVER (PARTITION BY p) AS m FROM ({placed}) AS placed"

    def with_sums(self, rows: str, sums: list[tuple[str, str]]) -> str:
        """Sum by a window, which reads the rows once."""
        sum_columns = ", ".join(f"sum({text}) OVER (PARTITION BY p) AS {name}" for text, name in sums)
        return f"SELECT *, {sum_columns} FROM ({rows}) AS rows"

    def unfolded(self, rows: str, columns: list[str], pairs: list[tuple[str, str]], names: tuple[str, str]) -> str:
        lines = ", ".join(f"CAST({number} AS BIGINT)" for pair in pairs for number in pair)
        select_list = ", ".join([*columns, *names])
        return (
            f"SELECT {select_list} FROM ({rows}) AS t LATERAL VIEW stack({len(pairs)}, {lines}) u AS {', '.join(names)}"
        )


def _fixed(piece: str) -> str:
    """A pattern without % as a regular expression of Java; other characters than letters and digits are escaped."""
    return _PIECES.sub(lambda match: _java(match[0]), piece)


def _java(piece: str) -> str:
    return f".{{{len(piece)}}}" if piece[0] == "_" else rf"\x{{{ord(piece):x}}}"


def _decimal(whole: str) -> str:
    return f"CAST({whole} AS DECIMAL(20, 0))"
