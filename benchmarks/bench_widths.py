"""How wide intervals are, by the first rules and by the latest; and what a share of the budget buys, by noise."""

from __future__ import annotations

from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.compile import Rules, Spend, combined, evaluated
from giveortake.session.session import mechanism_of

if TYPE_CHECKING:
    from giveortake.compile import Measurement
    from giveortake.session import Session
    from harness.report import Report

ROWS, DRAWS = 20_000, 15
QUESTIONS = {
    "mean": "AVG(x) AS mean",
    "number and mean": "COUNT(*) AS n, AVG(x) AS mean",
    "number, sum and mean": "COUNT(*) AS n, SUM(x) AS total, AVG(x) AS mean",
    "number and sum": "COUNT(*) AS n, SUM(x) AS total",
    "two means": "AVG(x) AS mean, AVG(y) AS other",
    "deviation": "STDDEV_POP(x) AS spread",
    "two sums": "SUM(x) AS total, SUM(y) AS other",
}
SPENDS = {"ε = 0.1": Spend(epsilon=Fraction(1, 10)), "μ = 0.1": Spend(mu=Fraction(1, 10))}
SHARES = ("1/2", "1/10", "1/100", "1/1000")
GOAL = 1.05  # widths differ from draw to draw, and ends of whole numbers are rounded outwards


def run(report: Report) -> None:
    with _session() as session:
        for asked, columns in QUESTIONS.items():
            for spent, spend in SPENDS.items():
                before, after = (_widths(_measured(session, columns, spend, rules), session) for rules in Rules)
                told = ", ".join(f"{name} {after[name] / before[name]:.2f}" for name in before)
                no_wider = all(after[name] <= before[name] * GOAL for name in before)
                report.fact(f"{asked}, {spent}", told, goal=f"≤ {GOAL}", met=no_wider)
        query = session.sql("SELECT k, COUNT(*) AS n FROM data GROUP BY k")
        for share in SHARES:
            quote = query.quote(share=share)
            report.fact(f"share {share} of (1, 1e-6), a number by key", f"± {quote.margins['n']:g}  {quote.spend}")
    report.note(
        f"Widths of 95 % intervals by the latest rules, over those by the first; medians of {DRAWS} draws at four keys "
        f"of {ROWS:,} rows, each a person. Columns between 0 and 100 with missing values, means at 38 and 62."
    )


def _session() -> Session:
    luck = np.random.default_rng(1)
    x = 100 * luck.beta(2, 3.2, ROWS)
    table = pl.DataFrame(
        {
            "k": [f"k{place % 4}" for place in range(ROWS)],
            "x": [None if place % 50 == 7 else each for place, each in enumerate(x.tolist())],
            "y": (100 - x).tolist(),
        }
    )
    domains = {"k": [f"k{place}" for place in range(4)], "x": (0, 100), "y": (0, 100)}
    return gt.protect(table, unit=gt.ROW, budget=gt.ApproxDP(1, "1e-6"), domains=domains, name="data")


def _measured(session: Session, columns: str, spend: Spend, rules: Rules) -> Measurement:
    question = session.sql(f"SELECT k, {columns} FROM data GROUP BY k").question  # noqa: S608 (one of those above)
    return mechanism_of(session).measure(question, session.caps, spend, rules=rules)


def _widths(made: Measurement, session: Session) -> dict[str, float]:
    """The median width of every column's intervals; the table is made here, and nothing is released."""
    found: dict[str, list[float]] = {name: [] for name, _ in made.formulas}
    for _ in range(DRAWS):
        release = made.release(mechanism_of(session).engine, made.keys)
        measures = combined(made.measures, [release])
        for name, formula in made.formulas:
            each = evaluated(formula, measures, 0.05, 4)
            found[name] += (np.asarray(each.high, float) - np.asarray(each.low, float)).tolist()
    return {name: median(widths) for name, widths in found.items()}
