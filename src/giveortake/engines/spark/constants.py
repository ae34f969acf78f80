"""Constants as Arrow tables, to be sent to Spark."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.exact import exact_decimal
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from giveortake.plan import Domain, Value


def arrow_table(columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> pa.Table:
    """Constants as Arrow. Decimals get no more digits than they need, so that comparing them widens no column."""
    import pyarrow as pa  # noqa: PLC0415 (a heavy library, needed from here on)

    types = {
        Kind.INTEGER: pa.int64(),
        Kind.REAL: pa.float64(),
        Kind.TEXT: pa.string(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.DATE: pa.date32(),
        Kind.TIMESTAMP: pa.timestamp("us"),
    }
    arrays = []
    for (_, domain), values in zip(columns, zip(*rows, strict=True), strict=True):
        if domain.kind is Kind.DECIMAL:
            decimals = [exact_decimal(value) if isinstance(value, Fraction) else value for value in values]
            known = any(value is not None for value in decimals)
            arrays.append(pa.array(decimals, None if known else pa.decimal128(1, 0)))
        else:
            plain = [float(value) if isinstance(value, Fraction) else value for value in values]
            arrays.append(pa.array(plain, types[domain.kind]))
    return pa.table(arrays, names=[name for name, _ in columns])
