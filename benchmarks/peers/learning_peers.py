"""Other private learners, and those without privacy: reads `MODEL FOLDER TABLE EPSILON TURN`, writes a score.

The score is the area under the ROC curve, or R², on the rows that are left out; `seconds` asks for the CPU seconds of
the last one. δ is 1e-6 for the peer that has one. A model that fails scores `nan`.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from learning_data import REGRESSIONS, split

DELTA = 1e-6
for each in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[each] = "1"  # threads that wait for each other on a busy machine measure the machine


def encoded(np: Any, rows: Any, declared: list[list[Any]]) -> Any:
    """Numbers from -1 to 1 by their declared bounds, categories as 0 and 1."""
    parts = []
    for place, each in enumerate(declared):
        column = rows[:, place]
        if each[0] == "number":
            parts.append((2 * (np.clip(column, each[1], each[2]) - each[1]) / (each[2] - each[1]) - 1)[:, None])
        else:
            parts.append(np.eye(each[1])[column.astype(int)][:, 1:])
    return np.hstack(parts)


def learner(model: str, declared: list[list[Any]], bounds: Any, epsilon: float) -> tuple[Any, bool]:
    """A learner, and whether it takes encoded columns."""
    numbers = [each[0] == "number" for each in declared]
    if model.startswith("dp-ebm"):
        from interpret.privacy import (  # type: ignore[import-not-found]  # noqa: PLC0415 (a peer's environment has it)
            DPExplainableBoostingClassifier,
            DPExplainableBoostingRegressor,
        )

        usual: dict[str, Any] = {
            "feature_types": ["continuous" if each else "nominal" for each in numbers],
            "privacy_bounds": {f"f{i}": (each[1], each[2]) for i, each in enumerate(declared) if each[0] == "number"},
            "epsilon": epsilon,
            "delta": DELTA,
            "n_jobs": 1,
        }
        if bounds is None:
            return DPExplainableBoostingClassifier(**usual), False
        usual |= {"privacy_target_min": bounds[0], "privacy_target_max": bounds[1]}
        return DPExplainableBoostingRegressor(**usual), False
    if model.startswith("diffprivlib"):
        import diffprivlib.models as peer  # noqa: PLC0415 (as above)

        made = {
            "diffprivlib-bayes": lambda: peer.GaussianNB(epsilon=epsilon, bounds=(-1, 1)),
            "diffprivlib-logistic": lambda: peer.LogisticRegression(
                epsilon=epsilon, data_norm=math.sqrt(len(declared)), max_iter=300
            ),
            "diffprivlib-forest": lambda: peer.RandomForestClassifier(
                epsilon=epsilon, bounds=(-1, 1), classes=[0, 1], n_jobs=1
            ),
            "diffprivlib-linear": lambda: peer.LinearRegression(epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=bounds),
        }
        return made[model](), True
    from sklearn import ensemble, linear_model  # noqa: PLC0415

    if model == "boosting":
        kind = ensemble.HistGradientBoostingClassifier if bounds is None else ensemble.HistGradientBoostingRegressor
        return kind(), False
    return (linear_model.LogisticRegression(max_iter=300) if bounds is None else linear_model.LinearRegression()), True


def score(model: str, folder: str, table: str, epsilon: float, turn: int, *, make: Any) -> float:
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415
    from sklearn.metrics import r2_score, roc_auc_score  # noqa: PLC0415

    held = np.load(Path(folder) / f"{table}.npz")
    declared = json.loads((Path(folder) / f"{table}.json").read_text())
    rows, target, bounds = held["X"], held["y"], REGRESSIONS.get(table)
    made, is_encoded = make(model, declared, bounds, epsilon)
    if is_encoded:
        columns = encoded(np, rows, declared)
    elif model == "boosting":
        columns = rows
    else:
        texts = [
            rows[:, i] if each[0] == "number" else rows[:, i].astype(int).astype(str) for i, each in enumerate(declared)
        ]
        columns = pd.DataFrame({f"f{place}": each for place, each in enumerate(texts)})
    first, last = split(len(target), turn)
    take = columns.iloc.__getitem__ if isinstance(columns, pd.DataFrame) else columns.__getitem__
    if model == "linear":  # without privacy columns may be made alike
        centre, spread = take(first).mean(axis=0), take(first).std(axis=0) + 1e-9
        columns = (columns - centre) / spread
        take = columns.__getitem__
    made.fit(take(first), target[first])
    if bounds is None:
        return float(roc_auc_score(target[last], made.predict_proba(take(last))[:, 1]))
    return float(r2_score(target[last], np.clip(made.predict(take(last)), *bounds)))


def answer(needed: tuple[str, ...], make: Any) -> None:
    """Say whether the modules are there, and answer lines until there are no more."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if not all(map(find_spec, needed)):
        print("missing", flush=True)
        return
    print("ready", flush=True)
    seconds = math.nan
    for line in sys.stdin:
        if line.strip() == "seconds":
            print(seconds, flush=True)
            continue
        model, folder, table, epsilon, turn = line.split()
        started = time.process_time()
        try:
            found = score(model, folder, table, float(epsilon), int(turn), make=make)
        except Exception as error:  # noqa: BLE001 (a peer that fails is a result)
            print(f"{model} {table} {epsilon}: {type(error).__name__}", file=sys.stderr)
            found = math.nan
        seconds = time.process_time() - started
        print(found, flush=True)


if __name__ == "__main__":
    answer(("diffprivlib", "interpret"), learner)
