"""Caps that a profile chooses where a few people are heavy: their error beside the best there is, and coverage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.session.profiles.histograms import size_edges

if TYPE_CHECKING:
    import numpy.typing as npt

    from harness.report import Report

PEOPLE, ROWS, MOST = 400, 3_000, 1_000
TAILS = (1.3, 1.5, 2.0)
EPSILONS = ("0.2", "0.5", "1")
SESSIONS, QUICK_SESSIONS = 30, 5


def run(report: Report) -> None:
    sessions = QUICK_SESSIONS if report.quick else SESSIONS
    for tail in TAILS:
        for epsilon in EPSILONS:
            _one(report, tail, epsilon, sessions)


def _one(report: Report, tail: float, epsilon: str, sessions: int) -> None:
    """COUNT(*) with the best caps of a profile at the same ε, on a fresh table each time."""
    dice = np.random.default_rng(14)
    held = below = 0
    errors, least = [], []
    for _ in range(sessions):
        sizes = _sizes(dice, tail)
        total = int(sizes.sum())
        table = pl.DataFrame({"person": np.repeat(np.arange(PEOPLE), sizes)})
        with gt.protect(table, unit="person", budget=gt.PureDP(10), name="visits", engine={"threads": 1}) as session:
            session.profile(most_rows=MOST).answer(epsilon=epsilon)
            answer = session.sql("SELECT COUNT(*) AS n FROM visits").answer(epsilon=epsilon, caps="best")
        left: Any = answer.left_out
        column: Any = answer["n"]
        caps: Any = answer.caps
        cap = caps.rows_per_group
        held += bool(column.low[0] <= total <= column.high[0] / max(1 - left.likely, 1e-9))
        below += bool(left.estimate < _left(sizes, cap) / total)
        errors.append(_error(sizes, cap, epsilon))
        least.append(min(_error(sizes, each, epsilon) for each in size_edges(MOST)))
    error, best = float(np.mean(errors)), float(np.mean(least))
    report.fact(
        f"COUNT(*) of {PEOPLE} people, Pareto sizes of tail {tail}, ε = {epsilon}",
        f"interval and likely share hold {held / sessions:.0%}; estimate below the truth {below / sessions:.0%}; "
        f"error {error:,.0f} rows, of the best cap {best:,.0f}",
    )


def _sizes(dice: np.random.Generator, tail: float) -> npt.NDArray[np.int64]:
    least = ROWS / PEOPLE * (tail - 1) / tail
    return np.clip(np.round((dice.pareto(tail, PEOPLE) + 1) * least), 1, MOST).astype(np.int64)


def _left(sizes: npt.NDArray[np.int64], cap: int) -> int:
    return int(np.maximum(sizes - cap, 0).sum())


def _error(sizes: npt.NDArray[np.int64], cap: int, epsilon: str) -> float:
    """The margin of Laplace noise with 95 %, and what the cap leaves out."""
    return cap / float(epsilon) * math.log(20) + _left(sizes, cap)
