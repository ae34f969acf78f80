"""Caps that a profile chooses for tables with a few heavy people: their error beside the best there is, and coverage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.session.dimensions import size_edges

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
        with gt.protect(table, unit="person", budget=gt.PureDP(10), name="visits", threads=1) as session:
            session.profile(epsilon=epsilon, most_rows=MOST)
            answer = session.sql("SELECT COUNT(*) AS n FROM visits").answer(epsilon=epsilon, caps="best")
        left, column = answer.left_out, answer["n"]
        cap = None if answer.caps is None else answer.caps.rows_per_group
        if left is None or left.estimate is None or left.likely is None or cap is None or column.high is None:
            raise AssertionError("the profile tells what is left out")
        high = column.high[0] / max(1 - left.likely, 1e-9)
        held += bool(column.low is not None and column.low[0] <= total <= high)
        below += bool(left.estimate < _left(sizes, cap) / total)
        errors.append(_error(sizes, cap, epsilon))
        least.append(min(_error(sizes, each, epsilon) for each in size_edges(MOST)))
    name = f"Pareto sizes of tail {tail}, ε = {epsilon}"
    report.add(f"{name}: truth held by the interval and the likely share", held / sessions, "of sessions")
    report.add(f"{name}: estimates below the truth", below / sessions, "of sessions")
    report.add(f"{name}: error (the best cap: {np.mean(least):,.0f})", float(np.mean(errors)), "rows")


def _sizes(dice: np.random.Generator, tail: float) -> npt.NDArray[np.int64]:
    least = ROWS / PEOPLE * (tail - 1) / tail
    return np.clip(np.round((dice.pareto(tail, PEOPLE) + 1) * least), 1, MOST).astype(np.int64)


def _left(sizes: npt.NDArray[np.int64], cap: int) -> int:
    return int(np.maximum(sizes - cap, 0).sum())


def _error(sizes: npt.NDArray[np.int64], cap: int, epsilon: str) -> float:
    """The margin of Laplace noise with 95 %, and what the cap leaves out."""
    return cap / float(epsilon) * math.log(20) + _left(sizes, cap)
