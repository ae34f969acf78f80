"""Tables with several rows a person in SmartNoise SQL, over pandas."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import snsql
from panel_questions import main
from snsql import Privacy


def panel(task: Any, columns: int, *, hides_groups: bool = False) -> Any:
    """Its ε is for each column: a mean is made of two, and groups that are not declared need one more."""
    metadata = {
        "max_ids": task.cap,
        "sample_max_ids": True,
        "censor_dims": hides_groups,
        "person": {"type": "string", "private_id": True},
        "key": {"type": "string"},
        "found": {"type": "string"},
        "value": {"type": "float", "lower": float(task.bounds[0]), "upper": float(task.bounds[1])},
    }
    privacy = Privacy(epsilon=task.epsilon / columns, delta=task.delta / 1.5)  # get_privacy_cost: no more than stated
    table = pd.read_parquet(task.path)
    return snsql.from_df(table, privacy=privacy, metadata={"": {"study": {"panel": metadata}}})


def count(task: Any) -> Any:
    return panel(task, columns=1).execute("SELECT COUNT(*) AS n FROM study.panel")


def groups(task: Any) -> Any:
    return panel(task, columns=1).execute("SELECT key, COUNT(*) AS n FROM study.panel GROUP BY key")


def total(task: Any) -> Any:
    return panel(task, columns=1).execute("SELECT SUM(value) AS n FROM study.panel")


def mean(task: Any) -> Any:
    return panel(task, columns=2).execute("SELECT AVG(value) AS n FROM study.panel")


def discovered(task: Any) -> Any:
    query = "SELECT found, COUNT(*) AS n FROM study.panel GROUP BY found"
    return panel(task, columns=2, hides_groups=True).execute(query)


def released(rows: Any) -> Any:
    _header, *cells = rows
    return float(cells[0][0]) if cells and len(cells[0]) == 1 else {key: float(number) for key, number in cells}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main({"count": count, "groups": groups, "sum": total, "mean": mean, "found": discovered}, released)
