"""Adversarial tables as Polars has them: the same rows as those of the harness, with every type that can be stored."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from giveortake.audit import conformance
from giveortake.audit.neighbours import Row, Table

SCHEMA: dict[str, Any] = {
    "p": pl.Int64,
    "x": pl.Float64,
    "y": pl.Float64,
    "i": pl.Int64,
    "w": pl.Int64,
    "r": pl.String,
    "n": pl.String,
    "q": pl.String,
    "b": pl.Boolean,
    "d": pl.Date,
    "e": pl.Date,
    "t": pl.Datetime("ms"),
    "c": pl.Decimal(18, 2),
}
VISITS_SCHEMA: dict[str, Any] = {"p": pl.Int64, "k": pl.String, "v": pl.Float64}
DOMAINS: dict[str, Any] = conformance.DOMAINS["data"]
SCHEMAS = {"data": SCHEMA, "visits": VISITS_SCHEMA}
VISITS_DOMAINS: dict[str, Any] = conformance.DOMAINS["visits"]


def frame(rows: Sequence[Row], schema: dict[str, Any]) -> pl.DataFrame:
    """A Polars table; dates are given in days, moments in milliseconds, decimals in hundredths."""
    columns = []
    for name, kind in schema.items():
        values = [row[name] for row in rows]
        if kind in {pl.Date, pl.Datetime("ms")}:
            physical = pl.Int32 if kind == pl.Date else pl.Int64
            columns.append(pl.Series(name, values, dtype=physical).cast(kind))
        elif kind == pl.Decimal(18, 2):
            hundredths = [None if value is None else Decimal(value).scaleb(-2) for value in values]
            columns.append(pl.Series(name, hundredths, dtype=kind))
        else:
            columns.append(pl.Series(name, values, dtype=kind))
    return pl.DataFrame(columns)


def frames(table: Table) -> dict[str, pl.DataFrame]:
    """The tables of persons and of their visits."""
    return {"data": frame(table.rows, SCHEMA), "visits": frame(table.visits, VISITS_SCHEMA)}
