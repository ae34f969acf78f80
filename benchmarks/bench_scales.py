"""A hundred thousand draws at scales from 1e-300 to 1e300: no legal scale hangs."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from giveortake import randomness
from giveortake.randomness import SYSTEM_ENTROPY
from harness.report import Case, Report, below, timed

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 100_000
SCALES = ("1e-300", "1e-3", "1", "1e6", "8589934592", "1e18", "1e300")
SAMPLERS: tuple[Callable[..., object], ...] = (
    randomness.rounded_laplace,
    randomness.rounded_normal,
    randomness.geometric,
    randomness.two_sided_geometric,
    randomness.discrete_gaussian,
    randomness.bernoulli_exp,
)


def run(report: Report) -> None:
    report.measure(
        [
            Case(
                f"{sampler.__name__} {'2^33' if scale == '8589934592' else scale}",
                timed(partial(sampler, Fraction(scale), DRAWS, SYSTEM_ENTROPY)),
                goal=below(1),
            )
            for sampler in SAMPLERS
            for scale in SCALES
        ],
        rounds=3,
    )
    report.note("10⁵ draws each. For bernoulli_exp the number is γ in exp(−γ).")
