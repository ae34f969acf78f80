"""The five questions in PipelineDP, which is built on Google's library, with its local backend."""

from __future__ import annotations

import csv
import warnings
from operator import itemgetter
from pathlib import Path
from typing import Any

import pipeline_dp
from five_questions import main
from pipeline_dp import Metrics

REGIONS = ["north", "east", "south", "west", "coast", "islands"]


def aggregated(table: str, metric: Any, key: Any, public: list[str] | None, **more: Any) -> dict[str, float]:
    with Path(table).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=more.pop("delta", 0))
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    caps = more or {"max_contributions": 4}
    parameters = pipeline_dp.AggregateParams(metrics=[metric], min_value=0, max_value=500, **caps)
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=itemgetter("person_id"),
        partition_extractor=key,
        value_extractor=lambda row: float(row["amount"]),
    )
    found = engine.aggregate(rows, parameters, extractors, public_partitions=public)
    accountant.compute_budgets()
    return {group: values[0] for group, values in found}


def count(table: str) -> Any:
    return aggregated(table, Metrics.COUNT, lambda _row: "all", ["all"])["all"]


def mean(table: str) -> Any:
    return aggregated(table, Metrics.MEAN, lambda _row: "all", ["all"])["all"]


def regions(table: str) -> Any:
    return aggregated(table, Metrics.COUNT, itemgetter("region"), REGIONS)


def reasons(table: str) -> Any:
    caps = {"max_partitions_contributed": 4, "max_contributions_per_partition": 4}
    return aggregated(table, Metrics.COUNT, itemgetter("reason"), None, delta=1e-6, **caps)


def median(table: str) -> Any:
    caps = {"max_partitions_contributed": 1, "max_contributions_per_partition": 4}
    return aggregated(table, Metrics.PERCENTILE(50), lambda _row: "all", ["all"], **caps)["all"]


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    asked = {"count": count, "mean": mean, "regions": regions, "reasons": reasons, "median": median}
    main("pipeline-dp", asked, lambda answer: answer, {})
