"""What Spark SQL says differently, in ANSI mode: nothing that a row can make fail, and DuckDB's values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from giveortake.engines.sql.expressions import Writer
from giveortake.engines.sql.relations import Printer
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.plan import Domain

_TOO_LARGE = 2.0**63  # a cast to 64 bits makes 2^63 - 1 of it
_ALL_WHOLE = 2.0**53  # doubles from here on have no decimals
_MOST_ROWS = 2**40  # of one table, by which no sum of 64 bits overflows
_LIMB = 22  # bits: 2^40 numbers of 22 bits fit into 63 with a sign
_HALVES = 32
_PIECES = re.compile("_+|[^a-zA-Z0-9]")


class SparkPrinter(Printer):
    """Prints what Spark runs. Names are told apart by case, and texts are compared by their bytes.

    Moments are wall clocks without a time zone; those that Spark stores as instants are read as they are in UTC.
    """

    types: ClassVar[Mapping[Kind, str]] = {
        **Writer.types,
        Kind.TEXT: "STRING",
        Kind.TIMESTAMP: "TIMESTAMP_NTZ",
    }

    # -- values -------------------------------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def read(self, name: str, domain: Domain) -> str:
        """Bytes that are no UTF-8 become U+FFFD, because no text in Python can hold them."""
        match domain.kind:
            case Kind.INTEGER:
                return f"CAST({self.identifier(name)} AS BIGINT)"
            case Kind.TEXT:
                text = f"make_valid_utf8(CAST({self.identifier(name)} AS STRING))"
                return text if domain.longest is None else f"left({text}, {domain.longest})"
            case _:
                return super().read(name, domain)

    def whole(self, text: str) -> str:
        return f"CASE WHEN {text} < {self.double(_TOO_LARGE)} THEN TRY_CAST({text} AS BIGINT) END"

    def floor(self, real: str) -> str:
        """Spark's floor is a whole number of 64 bits, and fails beyond them."""
        return f"CASE WHEN abs({real}) < {self.double(_ALL_WHOLE)} THEN CAST(floor({real}) AS DOUBLE) ELSE {real} END"

    def matches(self, text: str, pattern: str) -> str:
        whole = self.text(rf"\A(?:{pattern})\z")
        return f"({text} RLIKE {whole})"

    def parsed_number(self, text: str) -> str:
        return f"TRY_CAST({text} AS DOUBLE)"

    def is_ascii(self, text: str) -> str:
        return f"octet_length({text}) = char_length({text})"

    def like(self, text: str, pattern: str) -> str:
        """In time linear in the text, where Spark's own tries every way to match what is between several %.

        What stands between two % has a fixed length, so that to take the first place where it fits, for good, misses
        nothing: that is what atomic groups say.
        """
        if "%" not in pattern[1:-1]:
            escaped = pattern.replace("\\", "\\\\")  # a backslash stands for itself when it is doubled
            return f"({text} LIKE {self.text(escaped)})"
        first, *others, last = map(_fixed, re.split("%+", pattern))
        found = "".join(f"(?>.*?{each})" for each in others)
        end = rf".*?{last}\z" if last else ""
        whole = self.text(rf"(?s)\A{first}{found}{end}")
        return f"({text} RLIKE {whole})"

    arithmetic: ClassVar[Mapping[str, Callable[[Writer, list[str]], str]]] = {
        **Writer.arithmetic,
        "ceil": lambda self, a: f"(- {self.floor(f'(- {a[0]})')})",
    }
    plain: ClassVar[Mapping[str, Callable[[Writer, list[str]], str]]] = {
        **Writer.plain,
        "case": lambda _, a: Writer.plain["case"](_, [*_conditions(a), a[-1]]),
        "trim": lambda _, a: f"trim(BOTH ' ' FROM {a[0]})",
        "week": lambda _, a: f"CAST(weekofyear({a[0]}) AS BIGINT)",
        "dayofweek": lambda _, a: f"CAST(weekday({a[0]}) + 1 AS BIGINT)",
        "date_trunc": lambda _, a: (
            f"CAST({a[1]} AS DATE)" if a[0] == "'day'" else f"trunc(CAST({a[1]} AS DATE), {a[0]})"
        ),
    }

    # -- choosing -----------------------------------------------------------------------------------------------

    def digest(self, text: str) -> str:
        return f"CAST(conv(left(md5(CAST({text} AS BINARY)), 15), 16, 10) AS BIGINT)"

    def days(self, date: str) -> str:
        return f"CAST(unix_date({date}) AS BIGINT)"

    def same(self, one: str, other: str) -> str:
        return f"{one} <=> {other}"

    def by_person(self, lines: str) -> str:
        """One shuffle, which groups and windows of a person need no other one after."""
        return f"SELECT /*+ REPARTITION(p) */ * FROM ({lines}) AS lines"

    def with_groups(self, pairs: str) -> str:
        """By a window, which reads the pairs once."""
        return f"SELECT *, count(*) OVER (PARTITION BY p) AS m FROM ({pairs}) AS pairs"

    def with_counts(self, cells: str) -> str:
        """By windows, which read the cells once."""
        ranks = "dense_rank() OVER (PARTITION BY p ORDER BY code) AS place"
        placed = f"SELECT *, sum(n) OVER (PARTITION BY p, code) AS c, {ranks} FROM ({cells}) AS cells"
        return f"SELECT *, max(place) OVER (PARTITION BY p) AS m FROM ({placed}) AS placed"

    # -- numbers ------------------------------------------------------------------------------------------------

    def real_sum(self, total: str, reach: int) -> str:
        return self.real(total)

    def total(self, steps: str, reach: int) -> str:
        """Sums of 64 bits fail when they overflow, and sums of decimals are slow: several sums of fewer bits each."""
        if reach * _MOST_ROWS < 2**63:
            return f"sum({steps})"
        if reach >= 2**63:
            return f"sum(CAST({steps} AS DECIMAL(38, 0)))"
        count, whole = -(-reach.bit_length() // _LIMB), f"CAST({steps} AS BIGINT)"
        limbs = [f"sum(({whole} >> {_LIMB * place}) & {2**_LIMB - 1}L)" for place in range(count - 1)]
        limbs.append(f"sum({whole} >> {_LIMB * (count - 1)})")
        parts = [f"{_decimal(limb)} * {_decimal(f'{2 ** (_LIMB * place)}L')}" for place, limb in enumerate(limbs)]
        return f"({' + '.join(parts)})"

    def total_of_person(self, steps: str, reach: int) -> str:
        return f"try_sum({steps})" if reach < 2**31 else self.total(steps, reach)

    def cut(self, real: str, greatest: int) -> str:
        """Casts to whole numbers cut towards zero; those to decimals do not, and go by the digits that are shown."""
        if greatest < 2**62:
            return f"CAST({real} AS BIGINT)"
        unit = self.double(2.0**_HALVES)
        high = f"CAST({real} / {unit} AS BIGINT)"
        low = f"CAST({real} - CAST({high} AS DOUBLE) * {unit} AS BIGINT)"
        return f"({_decimal(high)} * {_decimal(f'{2**_HALVES}L')} + {_decimal(low)})"


def _conditions(printed: list[str]) -> list[str]:
    """The conditions and values of a choice; a condition that is NULL has no type, and holds as little as FALSE."""
    return ["FALSE" if place % 2 == 0 and text == "NULL" else text for place, text in enumerate(printed[:-1])]


def _fixed(piece: str) -> str:
    """A pattern without % as a regular expression of Java; code points that are no letters or digits are numbered."""
    return _PIECES.sub(lambda found: _java(found[0]), piece)


def _java(piece: str) -> str:
    return f".{{{len(piece)}}}" if piece[0] == "_" else rf"\x{{{ord(piece):x}}}"


def _decimal(whole: str) -> str:
    return f"CAST({whole} AS DECIMAL(20, 0))"
