"""A million draws of every noise, and one scalar release, beside OpenDP and numpy; and draws at any scale."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import giveortake as gt
from giveortake import randomness
from giveortake.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from giveortake.randomness import SYSTEM_ENTROPY
from harness.report import Case, Report, below, faster, slower_at_most, timed
from harness.terms import NONE, Terms, call

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 1_000_000
CALLS, BATCHES = 50, 21
SCALE = 10
LAPLACE: dict[str, Any] = {"sensitivity": 1, "epsilon": "1/10"}  # noise of that scale
GAUSSIAN: dict[str, Any] = {"sensitivity": 1, "mu": "1/10"}
ALIKE = "both draw noise of scale 10 at sensitivity 1"
TERMS = [
    Terms("Laplace", "ours", call("gt.laplace", "…", **LAPLACE), LAPLACE["epsilon"]),
    Terms("Laplace", "ours, the mechanism", f"Laplace({SCALE}).release(…)", "1/10"),
    Terms("Laplace", "OpenDP", f"dp.m.make_laplace(…, scale={SCALE}.0)", "1/10"),
    Terms("Gaussian", "ours", call("gt.gaussian", "…", **GAUSSIAN), delta=NONE, remark=ALIKE),
    Terms("Gaussian", "OpenDP", f"dp.m.make_gaussian(…, scale={SCALE}.0)", delta=NONE, remark=ALIKE),
]
AT_ANY_SCALE = 100_000  # draws
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
    opendp = report.peer("OpenDP", "opendp_noise.py", "opendp")
    insecure = np.random.default_rng()
    whole, real = np.zeros(DRAWS, dtype=np.int64), np.zeros(DRAWS)
    laplace: Any = partial(gt.laplace, **LAPLACE)
    gaussian: Any = partial(gt.gaussian, **GAUSSIAN)
    vector = partial(timed, units=DRAWS)
    scalar = partial(timed, calls=CALLS, batches=BATCHES)

    peer = opendp.named("OpenDP")
    opendp_laplace, opendp_gaussian = opendp.stopwatch("laplace i64"), opendp.stopwatch("gaussian i64")
    numpy_laplace = vector(lambda: insecure.laplace(0, SCALE, DRAWS))
    numpy_normal = vector(lambda: insecure.normal(0, SCALE, DRAWS))
    numpy_geometric = vector(lambda: insecure.geometric(1 / SCALE, DRAWS) - insecure.geometric(1 / SCALE, DRAWS))

    report.measure(
        [
            Case("gt.laplace int64", vector(lambda: laplace(whole)), peer, opendp_laplace, faster(100), DRAWS),
            Case("gt.laplace int64", vector(lambda: laplace(whole)), "numpy", numpy_laplace, slower_at_most(4), DRAWS),
            Case(
                "Laplace.release int64",
                vector(lambda: Laplace(SCALE).release(whole)),
                "numpy",
                numpy_laplace,
                slower_at_most(4),
                DRAWS,
            ),
            Case("gt.gaussian int64", vector(lambda: gaussian(whole)), peer, opendp_gaussian, faster(100), DRAWS),
            Case(
                "Gaussian.release int64",
                vector(lambda: Gaussian(SCALE).release(whole)),
                "numpy",
                numpy_normal,
                units=DRAWS,
            ),
            Case(
                "gt.laplace float64",
                vector(lambda: laplace(real)),
                peer,
                opendp.stopwatch("laplace f64"),
                units=DRAWS,
            ),
            Case(
                "gt.gaussian float64",
                vector(lambda: gaussian(real)),
                peer,
                opendp.stopwatch("gaussian f64"),
                units=DRAWS,
            ),
            Case(
                "Geometric.release",
                vector(lambda: Geometric(SCALE).release(whole)),
                "numpy",
                numpy_geometric,
                units=DRAWS,
            ),
            Case("DiscreteGaussian.release", vector(lambda: DiscreteGaussian(SCALE).release(whole)), units=DRAWS),
            Case(
                "gt.laplace(5)",
                scalar(lambda: laplace(5)),
                peer,
                opendp.stopwatch("scalar i64"),
                below(60e-6),
            ),
            Case(
                "gt.laplace(5.0)",
                scalar(lambda: laplace(5.0)),
                peer,
                opendp.stopwatch("scalar f64"),
            ),
            Case(
                "Laplace(10).release(5)",
                scalar(partial(Laplace(SCALE).release, 5)),
                peer,
                opendp.stopwatch("scalar i64"),
            ),
            Case("gt.gaussian(5)", scalar(lambda: gaussian(5))),
        ]
    )
    report.note("Arrays: 10⁶ draws of scale 10. OpenDP draws 10⁵ (a list in, a list out); its time is scaled to 10⁶.")
    report.note("numpy's generators are neither secure nor exact: they are the floor.")
    report.measure(
        [
            Case(
                f"{sampler.__name__} {'2^33' if scale == '8589934592' else scale}",
                timed(partial(sampler, Fraction(scale), AT_ANY_SCALE, SYSTEM_ENTROPY)),
                goal=below(1),
            )
            for sampler in SAMPLERS
            for scale in SCALES
        ],
        rounds=3,
    )
    report.note("Samplers by scale: 10⁵ draws each. For bernoulli_exp the number is γ in exp(−γ).")
