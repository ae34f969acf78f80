"""OpenDP on capped rows of aircraft: reads `table question cap epsilon turns`, writes the mean error of a cell."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

DISTANCES = (0, 5000)
MOST_ROWS = 1_000_000
BY = {"count": [], "sum": [], "carriers": ["carrier"], "months": ["carrier", "month"]}


class Asked(NamedTuple):
    """One line of what is asked for."""

    path: str
    question: str
    cap: int
    epsilon: float
    turns: int

    @classmethod
    def read(cls, line: str) -> Asked:
        path, question, cap, epsilon, turns = line.split()
        return cls(path, question, int(cap), float(epsilon), int(turns))


def mean_error(dp: Any, pl: Any, asked: Asked) -> float:
    """The mean distance of released cells from the truth without any cap."""
    by = BY[asked.question]
    table = pl.read_parquet(asked.path)
    if not by:
        counts = asked.question == "count"
        truth = len(table) if counts else table["distance"].sum()
        column = dp.len(signed=True) if counts else pl.col("distance").cast(int).dp.sum(DISTANCES)
        errors: list[float] = [
            abs(kept(dp, pl, asked).select(column).release().collect().item() - truth) for _ in range(asked.turns)
        ]
        return sum(errors) / len(errors)
    keys = table.select(pl.col(by[0]).unique())
    for name in by[1:]:
        keys = keys.join(table.select(pl.col(name).unique()), how="cross")
    truth = keys.join(table.group_by(by).agg(pl.len().alias("true")), on=by, how="left").fill_null(0)
    means: list[float] = []
    for _ in range(asked.turns):
        found = (
            kept(dp, pl, asked, len(keys))
            .group_by(*by)
            .agg(dp.len(signed=True).alias("n"))
            .with_keys(keys)
            .release()
            .collect()
        )
        both = truth.join(found, on=by, how="left")
        means.append(both.select((pl.col("n") - pl.col("true").cast(int)).abs().mean()).item())
    return sum(means) / len(means)


def kept(dp: Any, pl: Any, asked: Asked, groups: int | None = None) -> Any:
    """A query over the rows that count."""
    margin = dp.polars.Margin(by=BY[asked.question], max_length=MOST_ROWS, max_groups=groups)
    context = dp.Context.compositor(
        data=pl.scan_parquet(asked.path),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("tailnum")),
        privacy_loss=dp.loss_of(epsilon=asked.epsilon),
        split_evenly_over=1,
        margins=[margin],
    )
    return context.query().truncate_per_group(asked.cap, keep="sample")


def main() -> None:
    try:
        import opendp.prelude as dp  # noqa: PLC0415 (it may be missing)
        import polars as pl  # noqa: PLC0415 (it may be missing)
    except ImportError:
        print("missing", flush=True)
        return
    dp.enable_features("contrib")
    print("ready", flush=True)
    for line in sys.stdin:
        print(mean_error(dp, pl, Asked.read(line)), flush=True)


if __name__ == "__main__":
    main()
