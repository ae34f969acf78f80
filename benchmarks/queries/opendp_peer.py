"""OpenDP: its Context over Polars. Groups are kept with keep="first": keep="sample" raises an error in 0.16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import opendp.prelude as dp
import polars as pl
import questions
from contestant import main
from table import CATEGORIES, GREATEST, REGIONS

if TYPE_CHECKING:
    from collections.abc import Callable

dp.enable_features("contrib")
MOST_ROWS = 200_000_000
KEYS = pl.DataFrame({"category": [f"category_{index:04d}" for index in range(CATEGORIES)]})
CANDIDATES = [float(number) for number in range(0, GREATEST + 1, 5)]
AMOUNT: Any = pl.col("amount")
SUM = AMOUNT.dp.sum((0.0, 100.0))
PERSON = dp.unit_of(contributions=1, identifier=pl.col("user_id"))


def query(path: str, unit: Any, by: list[str], groups: int | None, loss: Any = None, **margin: Any) -> Any:
    margins = [] if groups is None else [dp.polars.Margin(by=by, max_length=MOST_ROWS, max_groups=groups, **margin)]
    return dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=unit,
        privacy_loss=loss or dp.loss_of(epsilon=float(questions.EPSILON)),
        split_evenly_over=1,
        margins=margins,
    ).query()


def count(path: str) -> Any:
    start = query(path, dp.unit_of(contributions=1), ["region"], REGIONS, invariant="keys")
    return start.group_by("region").agg(dp.len(signed=True)).release().collect()


def sums(path: str) -> Any:
    start = query(path, dp.unit_of(contributions=1), ["category"], CATEGORIES, invariant="keys")
    return averaged(start.group_by("category").agg(dp.len(signed=True).alias("n"), SUM))


def persons(path: str) -> Any:
    start = query(path, PERSON, ["category"], CATEGORIES).truncate_per_group(
        questions.ROWS, by=["category"], keep="sample"
    )
    kept = start.truncate_num_groups(questions.GROUPS, by=["category"], keep="first")
    return averaged(kept.group_by("category").agg(dp.len(signed=True).alias("n"), SUM).with_keys(KEYS))


def averaged(found: Any) -> Any:
    return found.release().collect().with_columns((pl.col("amount") / pl.col("n")).alias("mean"))


def discovered(path: str) -> Any:
    keys = ["category", "day"]
    loss = dp.loss_of(epsilon=float(questions.EPSILON), delta=float(questions.KEY_DELTA))
    start = query(path, PERSON, keys, None, loss).truncate_per_group(1, by=keys)
    kept = start.truncate_num_groups(questions.GROUPS, by=keys, keep="first")
    return kept.group_by(*keys).agg(dp.len(signed=True)).release().collect()


def quantiles(path: str) -> Any:
    start = query(path, dp.unit_of(contributions=1), ["region"], REGIONS, invariant="keys")
    amount = AMOUNT.fill_null(0.0).fill_nan(0.0)
    asked = [amount.dp.quantile(level, CANDIDATES).alias(f"q{level}") for level in questions.QUANTILES]
    return start.group_by("region").agg(asked).release().collect()


def task(work: Callable[[str], Any]) -> Callable[[str], Callable[[], int]]:
    return lambda path: lambda: len(work(path))


if __name__ == "__main__":
    main({each.__name__: task(each) for each in (count, sums, persons, discovered, quantiles)})
