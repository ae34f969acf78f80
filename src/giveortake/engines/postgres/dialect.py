"""The shared SQL as PostgreSQL reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from giveortake.engines.postgres.arithmetic import ARITHMETIC, double, once
from giveortake.engines.sql.expressions import Writer
from giveortake.engines.sql.relations import Printer
from giveortake.plan import Call, Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from fractions import Fraction

    from giveortake.plan import Expression

_BELOW_WHOLE, _ABOVE_WHOLE = double(-(2.0**63) - 2048), double(2.0**63)  # the doubles next to those of 64 bits
_DIVISION = 2.0**62


def _part(name: str) -> Callable[[Writer, list[str]], str]:
    return lambda _, a: f"CAST(extract({name} FROM {a[0]}) AS BIGINT)"


class PostgresPrinter(Printer):
    """What differs from DuckDB. PostgreSQL raises where a cast or a result is out of range: everything here asks first.

    Texts carry the collation "C" from where they are read or written, so that they are compared by code points.
    """

    types: ClassVar[Mapping[Kind, str]] = {**Writer.types, Kind.REAL: "DOUBLE PRECISION", Kind.TEXT: "TEXT"}
    carries_nan: ClassVar[bool] = False  # it is the greatest number here, and would be taken for an overflow

    # -- values -------------------------------------------------------------------------------------------------

    def whole_literal(self, value: int) -> str:
        return f"CAST('{value}' AS BIGINT)"

    def text(self, value: str) -> str:
        return f'({super().text(value)} COLLATE "C")'

    def real(self, text: str, kind: Kind = Kind.INTEGER) -> str:
        return super().real(f"CAST({text} AS INTEGER)" if kind is Kind.BOOLEAN else text, kind)

    def usual_number(self, text: str) -> str:
        return f"nullif({text}, CAST('NaN' AS DOUBLE PRECISION))"

    def whole(self, text: str) -> str:
        """Moved to the doubles next to those that fit, which are then missing; so are NaN and what is missing."""
        moved = f"least(greatest({text}, {_BELOW_WHOLE}), {_ABOVE_WHOLE})"
        return f"CAST(nullif(nullif({moved}, {_BELOW_WHOLE}), {_ABOVE_WHOLE}) AS BIGINT)"

    def narrow(self, whole: str) -> str:
        """Whole numbers are of 64 bits wherever they are read; no person has the 2^32 rows that a sum would need."""
        return f"CAST({whole} AS BIGINT)"

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} ~ '^({pattern})$'"

    def parsed_date(self, text: str) -> str:
        """No date is made before its month is known to be one; a day that its month lacks falls into another month."""
        year, month, day = (f"CAST(substr({text}, {at}) AS INTEGER)" for at in ("1, 4", "6, 2", "9, 2"))
        date = f"(make_date({year}, {month}, 1) + ({day} - 1))"
        exists = f"{day} > 0 AND extract(month FROM {date}) = {month}"
        return f"CASE WHEN {year} > 0 AND {month} BETWEEN 1 AND 12 THEN CASE WHEN {exists} THEN {date} END END"

    def recased(self, text: str, *, capital: bool) -> str:
        return once([text], lambda v: super(PostgresPrinter, self).recased(v[0], capital=capital))

    def is_ascii(self, text: str) -> str:
        return f"octet_length({text}) = char_length({text})"

    def like(self, text: str, pattern: str) -> str:
        return f"({text} LIKE {self.text(pattern)} ESCAPE '')"

    def truth_as_number(self, text: str) -> str:
        return f"CAST(CAST({text} AS INTEGER) AS BIGINT)"

    # -- expressions --------------------------------------------------------------------------------------------

    def _clamp(self, of: str, kind: Kind, domain: Domain) -> str:
        return once([of], lambda v: super(PostgresPrinter, self)._clamp(v[0], kind, domain))

    def _bucket(self, real: str, call: Call, domain: Domain) -> str:
        return once([real], lambda v: super(PostgresPrinter, self)._bucket(v[0], call, domain))

    def _converted(self, name: str, text: str, kind: Kind) -> str:
        if kind is not Kind.TEXT:
            return super()._converted(name, text, kind)
        return once([f"btrim({text}, ' ')"], lambda v: super(PostgresPrinter, self)._converted(name, v[0], kind))

    arithmetic: ClassVar[Mapping[str, Callable[[Writer, list[str]], str]]] = ARITHMETIC
    plain: ClassVar[Mapping[str, Callable[[Writer, list[str]], str]]] = {
        **Writer.plain,
        "modulo": lambda _, a: once(a, lambda v: f"({v[0]} % nullif({v[1]}, 0))"),
        "trim": lambda _, a: f"btrim({a[0]}, ' ')",
        "substring": lambda _, a: f"substring({', '.join([a[0], *(f'CAST({at} AS INTEGER)' for at in a[1:])])})",
        "length": lambda _, a: f"CAST(char_length({a[0]}) AS BIGINT)",
        **{name: _part(name) for name in ("year", "quarter", "month", "week", "day", "hour", "minute")},
        "dayofweek": _part("isodow"),
        "dayofyear": _part("doy"),
        "date_trunc": lambda _, a: f"CAST(date_trunc({a[0]}, CAST({a[1]} AS TIMESTAMP)) AS DATE)",
        "to_text": lambda _, a: f'(CAST({a[0]} AS TEXT) COLLATE "C")',
    }

    # -- relations ----------------------------------------------------------------------------------------------

    def read(self, name: str, domain: Domain) -> str:
        """Tables are read as columns of these types already (see `tables`)."""
        if domain.kind in {Kind.DATE, Kind.TIMESTAMP}:
            return self.usual_time(self.identifier(name), domain.kind)
        return super().read(name, domain)

    def fenced(self, select: str, expressions: Iterable[Expression | None]) -> str:
        return f"{select} OFFSET 0" if any(isinstance(each, Call) for each in expressions) else select

    # -- choosing -----------------------------------------------------------------------------------------------

    def digest(self, text: str) -> str:
        return f"CAST(CAST('x' || left(md5({text}), 15) AS BIT(60)) AS BIGINT)"

    def days(self, date: str) -> str:
        return f"CAST({date} - DATE '1970-01-01' AS BIGINT)"

    def same(self, one: str, other: str) -> str:
        """Arrays are equal if what they hold is equal or both missing; unlike IS NOT DISTINCT FROM, this is hashed."""
        return f"ARRAY[{one}] = ARRAY[{other}]"

    def with_groups(self, pairs: str) -> str:
        """One sort, and no join whose size PostgreSQL would have to guess."""
        return f"SELECT t.*, count(*) OVER (PARTITION BY p) AS m FROM ({pairs}) AS t"

    def with_counts(self, cells: str) -> str:
        by_pair = "CAST(sum(n) OVER (PARTITION BY p, code) AS BIGINT) AS c"
        place = "dense_rank() OVER (PARTITION BY p ORDER BY code) AS place"
        counted = f"SELECT t.*, {by_pair}, {place} FROM ({cells}) AS t"
        return f"SELECT t.*, max(place) OVER (PARTITION BY p) AS m FROM ({counted}) AS t"

    # -- numbers ------------------------------------------------------------------------------------------------

    def real_sum(self, total: str, reach: int) -> str:
        return self.real(total)

    def total(self, steps: str, reach: int) -> str:
        """Sums of 64-bit numbers are kept in 128 bits and returned without a bound."""
        return f"sum(CAST({steps} AS {'BIGINT' if reach < 2**62 else 'NUMERIC'}))"

    def cut(self, real: str, greatest: int) -> str:
        """Large numbers in two parts: a cast of a double to NUMERIC keeps 15 digits only."""
        if greatest < 2**62:
            return super().cut(real, greatest)
        upper = f"trunc(trunc({real}) * {double(1 / _DIVISION)})"
        lower = f"trunc({real}) - {upper} * {double(_DIVISION)}"
        return f"CAST({upper} AS BIGINT) * CAST({_DIVISION:.0f} AS NUMERIC) + CAST({lower} AS BIGINT)"

    def lattice(self, real: str, granularity: Fraction) -> str:
        """What is below 2^-60 of a step is no step, and is not multiplied: the product might be rounded to zero."""
        negligible = double(float(granularity) * 2.0**-60)
        return (
            f"floor(CASE WHEN abs({real}) < {negligible} THEN 0 ELSE {real} END * {self.double(1 / granularity)} + 0.5)"
        )
