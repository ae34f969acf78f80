"""Values of a plan as constants of DuckDB: their types, and the parameters that hold them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.exact import exact_decimal
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.plan import Domain, Value

_BUCKET_DIGITS = 9  # of the edges of buckets
_dialect = DuckDBDialect()


def parameters(rows: Sequence[tuple[Value, ...]]) -> list[list[Any]]:
    """Rows as a list for each column, of values that DuckDB casts to the type of their kind without loss."""
    return [[_parameter(value) for value in column] for column in zip(*rows, strict=True)]


def _parameter(value: Value | Decimal) -> Any:
    if isinstance(value, Fraction):
        value = exact_decimal(value)
    return f"{value:f}" if isinstance(value, Decimal) else value


def sql_type(domain: Domain, values: Sequence[Value] | None = None) -> str:
    """The type of constants of a domain; of whole numbers that are all known, the narrowest."""
    match domain.kind:
        case Kind.INTEGER:
            narrow = values is not None and all(value is None or abs(value) < 2**63 for value in values)  # type: ignore[arg-type, operator]
            return "BIGINT" if narrow else "HUGEINT"
        case Kind.DECIMAL:
            return f"DECIMAL(38, {_BUCKET_DIGITS if domain.step is None else _digits(domain.step)})"
    return _dialect.type_name(domain.kind)


def _digits(step: Fraction) -> int:
    """How many decimals the multiples of a step have."""
    return next(count for count in range(39) if 10**count % step.denominator == 0)
