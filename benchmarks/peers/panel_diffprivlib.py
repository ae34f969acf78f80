"""Tables with several rows a person in diffprivlib, which protects rows: caps by hand, ε divided by the cap."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from diffprivlib import tools
from panel_questions import main


def capped(task: Any) -> pd.DataFrame:
    shuffled = pd.read_parquet(task.path).sample(frac=1)
    return shuffled.groupby("person").head(task.cap)


def count(task: Any) -> Any:
    """With one bin: `count_nonzero` never says more than the array has, so half of its answers would be exact."""
    rows = np.zeros(len(capped(task)))
    counts, _edges = tools.histogram(rows, epsilon=task.epsilon / task.cap, bins=1, range=(-0.5, 0.5))
    return counts[0]


def groups(task: Any) -> Any:
    codes = capped(task)["key"].map({key: code for code, key in enumerate(task.keys)})
    size = len(task.keys)
    counts, _edges = tools.histogram(codes, epsilon=task.epsilon / task.cap, bins=size, range=(-0.5, size - 0.5))
    return dict(zip(task.keys, counts, strict=True))


def total(task: Any) -> Any:
    return tools.sum(capped(task)["value"].astype(float), epsilon=task.epsilon / task.cap, bounds=tuple(task.bounds))


def mean(task: Any) -> Any:
    return tools.mean(capped(task)["value"], epsilon=task.epsilon / task.cap, bounds=tuple(task.bounds))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main({"count": count, "groups": groups, "sum": total, "mean": mean}, lambda answer: answer)
