"""The five questions in OpenDP, with its Context API over Polars."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import opendp.prelude as dp
import polars as pl
from five_questions import main

if TYPE_CHECKING:
    from collections.abc import Callable

dp.enable_features("contrib")


def visits(table: str, delta: float | None = None, **margin: Any) -> Any:
    context = dp.Context.compositor(
        data=pl.scan_csv(table),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person_id")),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=delta),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=100_000, **margin)],
    )
    return context.query().truncate_per_group(4)


def count(table: str) -> Any:
    return visits(table).select(dp.len(signed=True))


def mean(table: str) -> Any:
    amount: Any = pl.col("amount").fill_null(0.0).fill_nan(0.0)
    return visits(table).select(amount.dp.mean((0.0, 500.0)))


def regions(table: str) -> Any:
    keys = pl.DataFrame({"region": ["north", "east", "south", "west", "coast", "islands"]})
    query = visits(table, by=["region"], max_groups=6)
    return query.group_by("region").agg(dp.len(signed=True)).with_keys(keys)


def reasons(table: str) -> Any:
    return visits(table, delta=1e-6, by=["reason"]).group_by("reason").agg(dp.len(signed=True))


def median(table: str) -> Any:
    amount: Any = pl.col("amount").fill_null(0.0).fill_nan(0.0)
    return visits(table).select(amount.dp.median([float(euros) for euros in range(501)]))


def released(query: Any) -> Any:
    frame = query.release().collect()
    return frame.item() if frame.width == 1 else dict(frame.iter_rows())


def margin(ask: Callable[[str], Any], table: str) -> float:
    return float(ask(table).summarize(alpha=0.05)["accuracy"].item())


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    asked = {"count": count, "mean": mean, "regions": regions, "reasons": reasons, "median": median}
    stated = {"count": count, "regions": regions, "reasons": reasons}
    main("opendp", asked, released, {name: partial(margin, ask) for name, ask in stated.items()})
