"""How often intervals of coefficients hold, over 1,000 redraws of rows and noise, with heteroskedastic errors."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.compile import Spend
from giveortake.learn.linear import Evidence, LeastDistance
from giveortake.session.kinds.learning_data import LearningData
from learning_redraws import DrawnSums

if TYPE_CHECKING:
    from typing import Any

    from giveortake.learn.linear import LinearPlan
    from harness.report import Report

REDRAWS = 1_000
TRUTH = (2.0, -1.0, 1.5)
DOMAINS: dict[str, Any] = {"x": (-4, 4), "z": (-4, 4), "kind": ["a", "b"], "y": (-14, 20)}
MOST = 3.841458820694124  # the square of a normal deviation that 95 % are below


def run(report: Report) -> None:
    """Coverage of each coefficient at two sizes and three spends; how wide intervals are, and how many have no end."""
    for n in (5_000, 50_000):
        for epsilon in ("0.3", "1", "3"):
            held, evidence = redraws(n, epsilon, REDRAWS)
            said = ", ".join(f"{share:.1%}" for share in held.mean(axis=0))
            widths = np.array(
                [(high - low) / 2 for each in evidence[:25] for _, low, high in [each.intervals(0.95)[1]]]
            )
            wide = f"x ± {np.median(widths):.2g}, {np.isinf(widths).mean():.0%} without end"
            report.fact(f"n = {n:,}, ε = {epsilon}", f"{said}; {wide}")


def redraws(n: int, epsilon: str, times: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], list[Evidence]]:
    """For each redraw and each slope whether its interval holds the truth; and what was released."""
    plan = linear_plan(epsilon)
    mu, held, found = float(plan.context.mu), [], []
    for time in range(times):
        random = np.random.default_rng([seed, time])
        evidence = plan.learn(DrawnSums(rows(n, random), mu, random)).evidence  # type: ignore[arg-type]  # (as good)
        if evidence is None:
            raise NotImplementedError("a fit without intervals")
        held.append([distance(evidence, place, truth) <= MOST for place, truth in enumerate(TRUTH, 1)])
        found.append(evidence)
    return np.array(held), found


def distance(evidence: Evidence, place: int, truth: float) -> float:
    """How far a coefficient is from a value, as the interval's test has it: at most `MOST` inside of 95 %."""
    return LeastDistance(evidence, evidence.transform[place]).distance(truth - float(evidence.shift[place]))


def linear_plan(epsilon: str) -> LinearPlan:
    """The fit that is repeated; its session has no rows worth the name."""
    nothing = pl.DataFrame({"x": [0.0], "z": [0.0], "kind": ["a"], "y": [0.0]})
    with gt.protect(nothing, unit=gt.ROW, budget=gt.ApproxDP(10, "1e-5"), domains=DOMAINS, name="t") as s:
        learner = gt.learn.LinearRegression("y", intervals=True)
        spend = Spend(Fraction(epsilon), Fraction("1e-6"))
        return learner._plan(LearningData.of(s), spend)  # noqa: SLF001 (the fit without its charge)


def rows(n: int, random: np.random.Generator) -> dict[str, Any]:
    """Columns that depend on each other, and errors whose variance grows with one of them."""
    x = random.normal(size=n)
    z = 0.6 * x + 0.8 * random.normal(size=n)
    kind = random.integers(0, 2, n)
    errors = random.normal(size=n) * (0.5 + 0.5 * np.abs(x))
    y = 3 + TRUTH[0] * x + TRUTH[1] * z + TRUTH[2] * kind + errors
    return {"x": x, "z": z, "kind": np.array(["a", "b"])[kind], "y": y}
