"""The questions in SmartNoise SQL, over pandas. It has no median."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import pandas as pd
import snsql
from five_questions import main
from snsql import Privacy

METADATA = {
    "": {
        "clinic": {
            "visits": {
                "max_ids": 4,
                "sample_max_ids": True,
                "censor_dims": True,
                "person_id": {"type": "int", "private_id": True},
                "region": {"type": "string"},
                "reason": {"type": "string"},
                "amount": {"type": "float", "lower": 0.0, "upper": 500.0},
            }
        }
    }
}


def visits(table: str, columns: int = 2) -> Any:
    """Its ε is for each column: a count has another one for its keys, and a mean is made of two."""
    privacy = Privacy(epsilon=1 / columns, delta=1e-6 / 1.5)  # get_privacy_cost: ε = 1, δ = 1e-6
    return snsql.from_df(pd.read_csv(table), privacy=privacy, metadata=METADATA)


def count(table: str) -> Any:
    return visits(table).execute("SELECT COUNT(*) AS n FROM clinic.visits")


def mean(table: str) -> Any:
    return visits(table, columns=3).execute("SELECT AVG(amount) AS mean FROM clinic.visits")


def regions(table: str) -> Any:
    return visits(table).execute("SELECT region, COUNT(*) AS n FROM clinic.visits GROUP BY region")


def reasons(table: str) -> Any:
    return visits(table).execute("SELECT reason, COUNT(*) AS n FROM clinic.visits GROUP BY reason")


def released(rows: Any) -> Any:
    _header, *cells = rows
    return float(cells[0][0]) if len(cells[0]) == 1 else {key: float(value) for key, value in cells}


def margin(query: str, table: str) -> float:
    return float(visits(table).get_simple_accuracy(query, alpha=0.05)[-1])


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    asked = {"count": count, "mean": mean, "regions": regions, "reasons": reasons}
    stated = {
        "count": "SELECT COUNT(*) AS n FROM clinic.visits",
        "regions": "SELECT region, COUNT(*) AS n FROM clinic.visits GROUP BY region",
        "reasons": "SELECT reason, COUNT(*) AS n FROM clinic.visits GROUP BY reason",
    }
    main("smartnoise-sql", asked, released, {name: partial(margin, query) for name, query in stated.items()})
