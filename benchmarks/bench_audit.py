"""Black-box audits: a million samples of one mechanism, and the composition game."""

from __future__ import annotations

from functools import partial

import giveortake as gt
from giveortake import audit
from giveortake.audit.bounds import drawn
from giveortake.mechanisms import Gaussian, Laplace, RandomizedResponse
from harness.report import Case, Report, Row, below, timed

MILLION = 1_000_000


def run(report: Report) -> None:
    samples = MILLION // 10 if report.quick else MILLION
    cases = {
        "Laplace": (Laplace(2), 0, 2, 1.0),
        "Gaussian at δ = 0.01": (Gaussian(8), 0, 8, float(gt.GaussianDP(1).epsilon_at("0.01"))),
        "Laplace, 4 numbers": (Laplace(4), (0,) * 4, (1,) * 4, 1.0),
        "randomized response": (RandomizedResponse(1, (0, 1, 2)), 0, 1, 1.0),
    }
    measured = []
    for name, (mechanism, x, y, truth) in cases.items():
        delta = 0.01 if "δ" in name else 0
        bound = audit.epsilon_lower_bound(mechanism, x, y, samples=samples, delta=delta)
        report.rows.append(Row(f"{name}: ε ≥", f"{float(bound):.3f}", f"{truth:.3f} is true", met=bound <= truth))
        measured.append(
            Case(
                f"audit of {samples:,} samples: {name}",
                timed(
                    partial(audit.epsilon_lower_bound, mechanism, x, y, samples=samples, delta=delta),
                    calls=1,
                    batches=1,
                ),
                "drawing them",
                timed(partial(draw_both, mechanism, x, y, samples), calls=1, batches=1),
                below(5),
            )
        )
    report.measure(measured, rounds=3)
    report.measure(
        [Case("1,000 games of 12 rounds", timed(game, calls=1, batches=1), goal=below(10))],
        rounds=3,
    )


def draw_both(mechanism: object, x: object, y: object, samples: int) -> None:
    for end in (x, y):
        drawn(mechanism, end, samples)


def game() -> None:
    audit.play(audit.adversaries.Repeater(), gt.ApproxDP(1, "1e-6"), rounds=12, trials=500)
