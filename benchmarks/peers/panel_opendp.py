"""Tables with several rows a person in OpenDP, with its Context API over Polars."""

from __future__ import annotations

import warnings
from typing import Any

import opendp.prelude as dp
import polars as pl
from panel_questions import main

dp.enable_features("contrib")


def capped(task: Any, delta: float | None = None, **margin: Any) -> Any:
    context = dp.Context.compositor(
        data=pl.scan_parquet(task.path),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person")),
        privacy_loss=dp.loss_of(epsilon=task.epsilon, delta=delta),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=1_000_000, **margin)],
    )
    return context.query().truncate_per_group(task.cap, keep="sample")


def value() -> Any:
    return pl.col("value").cast(float).fill_null(0.0).fill_nan(0.0)


def count(task: Any) -> Any:
    return capped(task).select(dp.len(signed=True))


def groups(task: Any) -> Any:
    query = capped(task, by=["key"], max_groups=len(task.keys))
    return query.group_by("key").agg(dp.len(signed=True)).with_keys(pl.DataFrame({"key": task.keys}))


def total(task: Any) -> Any:
    return capped(task).select(value().dp.sum((float(task.bounds[0]), float(task.bounds[1]))))


def mean(task: Any) -> Any:
    return capped(task).select(value().dp.mean((float(task.bounds[0]), float(task.bounds[1]))))


def discovered(task: Any) -> Any:
    return capped(task, delta=task.delta, by=["found"]).group_by("found").agg(dp.len(signed=True))


def released(query: Any) -> Any:
    frame = query.release().collect()
    return frame.item() if frame.width == 1 else dict(frame.iter_rows())


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main({"count": count, "groups": groups, "sum": total, "mean": mean, "found": discovered}, released)
