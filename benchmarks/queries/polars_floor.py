"""Plain Polars: the bounding by pre-aggregation, as it is written by hand; no noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import questions
from contestant import main

if TYPE_CHECKING:
    from collections.abc import Callable

CLAMPED = pl.col("amount").clip(0, 100)


def first_groups(pairs: pl.LazyFrame, *key: str) -> pl.LazyFrame:
    ranked = pairs.with_columns(pl.struct("user_id", *key).hash(42).alias("place"))
    return ranked.filter(pl.col("place").rank("ordinal").over("user_id") <= questions.GROUPS)


def preaggregated(path: str) -> Any:
    sums = CLAMPED.sum().clip(0, 100 * questions.ROWS).alias("total")
    pairs = pl.scan_parquet(path).group_by("user_id", "category").agg(sums, pl.len().alias("n"))
    kept = first_groups(pairs.with_columns(pl.col("n").clip(0, questions.ROWS)), "category")
    found = kept.group_by("category").agg(pl.col("n").sum(), pl.col("total").sum())
    return collected(found.with_columns(mean=pl.col("total") / pl.col("n")))


def discovered(path: str) -> Any:
    pairs = pl.scan_parquet(path).select("user_id", "category", "day").unique()
    found = first_groups(pairs, "category", "day").group_by("category", "day").len()
    return collected(found.filter(pl.col("len") >= 5))


def collected(frame: pl.LazyFrame) -> Any:
    return frame.collect()


def task(work: Callable[[str], Any]) -> Callable[[str], Callable[[], int]]:
    return lambda path: lambda: len(work(path))


if __name__ == "__main__":
    main({"preaggregated": task(preaggregated), "discovered": task(discovered)})
