"""The questions in diffprivlib. It protects rows: persons are capped by hand, and ε is divided by the cap."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from diffprivlib import BudgetAccountant, tools
from five_questions import main

REGIONS = ["north", "east", "south", "west", "coast", "islands"]


def capped(table: str) -> pd.DataFrame:
    shuffled = pd.read_csv(table).sample(frac=1)
    return shuffled.groupby("person_id").head(4)


def count(table: str) -> Any:
    accountant = BudgetAccountant(epsilon=1.0)
    return tools.count_nonzero(np.ones(len(capped(table))), epsilon=1.0 / 4, accountant=accountant)


def mean(table: str) -> Any:
    accountant = BudgetAccountant(epsilon=1.0)
    return tools.mean(capped(table)["amount"], epsilon=1.0 / 4, bounds=(0, 500), accountant=accountant)


def regions(table: str) -> Any:
    accountant = BudgetAccountant(epsilon=1.0)
    codes = capped(table)["region"].map({name: code for code, name in enumerate(REGIONS)})
    counts, _edges = tools.histogram(codes, epsilon=1.0 / 4, bins=6, range=(-0.5, 5.5), accountant=accountant)
    return dict(zip(REGIONS, counts, strict=True))


def median(table: str) -> Any:
    accountant = BudgetAccountant(epsilon=1.0)
    return tools.median(capped(table)["amount"], epsilon=1.0 / 4, bounds=(0, 500), accountant=accountant)


def released(value: Any) -> Any:
    return {key: float(each) for key, each in value.items()} if isinstance(value, dict) else float(value)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    asked = {"count": count, "mean": mean, "regions": regions, "median": median}
    main("diffprivlib", asked, released, {})
