"""Ten thousand random runs of steps under one charge: none of them ever spends more than was charged."""

from __future__ import annotations

import random
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.codec import stored
from giveortake.compile import Terms
from giveortake.engines import KeyColumn
from giveortake.errors import BudgetExceeded
from giveortake.learn.noisy_sums import FitRequest, Fitting
from giveortake.mechanisms.selection import Candidate
from giveortake.plan import ColumnReference
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.kinds.runs import PlannedRun, Run
from giveortake.session.pricing import price
from giveortake.session.session import mechanism_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.compile import Spend
    from giveortake.session import Session
    from giveortake.session.kinds.runs import AdaptiveRun
    from harness.report import Report

RUNS, QUICK_RUNS = 10_000, 200
A = KeyColumn("a", ColumnReference("a"), (0, 1, 2))
B = KeyColumn("b", ColumnReference("b"), ("x", "y"))
MOST_STEPS = 6
TOGETHER = 250  # runs of one session


def run(report: Report) -> None:
    dice = random.Random(15)  # noqa: S311 (choices of a benchmark)
    runs = QUICK_RUNS if report.quick else RUNS
    steps = refused = over = beyond = 0
    nearest = Fraction(0)
    for first in range(0, runs, TOGETHER):
        neighbours: Any = dice.choice(("add-remove", "change-one"))
        rows = dice.choice((1, 1, 3))
        frame = pl.DataFrame(
            {"who": [n // rows for n in range(40)], "a": [n % 3 for n in range(40)], "b": ["x", "y"] * 20}
        )
        with gt.protect(
            frame,
            unit="who",
            rows_per_person=rows,
            budget=gt.ZCDP(10**6, neighbours=neighbours),
            domains={"a": [0, 1, 2], "b": ["x", "y"]},
        ) as session:
            for number in range(first, min(first + TOGETHER, runs)):
                rho = Fraction(dice.randint(1, 10**6), 10 ** dice.randint(4, 9))
                before = session.budget.spent
                with _begun(session, rho, number) as began:
                    taken, denied = _steps(began, dice, rho)
                    spent = sum((cost for _, cost in began.charges()), Fraction(0))
                    charged = began.rho
                steps, refused = steps + taken, refused + denied
                over += spent > charged
                beyond += session.budget.spent - before > charged
                nearest = max(nearest, spent / charged)
    report.fact(
        f"{runs:,} random runs: those that spent more than was charged",
        f"{over} ({steps:,} steps taken, {refused:,} refused; the fullest spent {float(nearest):.6f} of its charge)",
        goal="0",
        met=over == 0,
    )
    report.fact("runs that moved the budget by more than their charge", f"{beyond}", goal="0", met=beyond == 0)


@final
@stored("numbered run")
@dataclass(frozen=True)
class NumberedRun(Fitting):
    """A run of tables that others steer."""

    number: int

    def planned(self, data: LearningData, spend: Spend, _n: int | None = None) -> PlannedRun:
        identity, words = {"number": self.number}, "a run"
        return PlannedRun(Run.of_tables(data.mechanism, data.relation, spend, identity, words), lambda run: run)


@contextmanager
def _begun(session: Session, rho: Fraction, number: int) -> Iterator[AdaptiveRun]:
    """A run of tables that was charged."""
    mechanism, terms = mechanism_of(session), Terms.of({"rho": rho})
    bound = FitRequest(NumberedRun(number), LearningData.of(session).relation).bind_paid(mechanism, terms)
    priced = price(bound, terms)
    with mechanism.steps(priced, terms, None) as steps:
        yield bound.adaptive_run(priced.measurement, steps)


def _steps(began: AdaptiveRun, dice: random.Random, rho: Fraction) -> tuple[int, int]:
    """A few steps of random kinds and sizes: how many were taken, and how many refused."""
    refused = 0
    for _ in range(dice.randint(1, MOST_STEPS)):
        part = began.left if dice.random() < 0.2 else rho * Fraction(dice.randint(1, 700), 1000)
        before = len(began.steps)
        with suppress(BudgetExceeded):
            match dice.randint(0, 2) if part > 0 else 3:
                case 0:
                    began.measure((A,), part, residual=False)
                case 1:
                    began.measure((A, B), part, residual=True)
                case 2:
                    offered = [Candidate.from_counts(np.full(size, 7.0)) for size in (3, 6)]
                    began.select([(A,), (A, B)], offered, part)
        refused += len(began.steps) == before
    return len(began.steps), refused
