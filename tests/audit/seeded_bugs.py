"""Mistakes that shipped in the field, planted one by one; each comes with the sound twin it was made from.

Every entry is a function that audits and says whether something was found. `BUGS` must be found, `TWINS` must not.
`TELLING` has one mistake of each class, and its twin.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pipelines
from pipelines import Pipeline

import giveortake as gt
from giveortake import audit
from giveortake.audit.adversaries import Chaser, Doubler, Mixer, Repeater, Scraper
from giveortake.errors import BudgetExceeded
from giveortake.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from giveortake.privacy import Guarantee, events
from statistics_of_draws import ALPHA

Audit: TypeAlias = Callable[[], bool]  # whether a problem was found
CONFIDENCE = 1 - ALPHA
QUERIES = ("sum", "count", "mean")
DICE = np.random.default_rng(20240917)
BEGINNING = DICE.bit_generator.state


def sampled(
    mechanism: Any, x: Any, y: Any, promise: Guarantee, samples: int = 200_000, confidence: float = CONFIDENCE
) -> Audit:
    return lambda: audit.check(mechanism, x, y, promise, samples=samples, confidence=confidence).violated


def replayed(pipeline: type[Pipeline]) -> Audit:
    return lambda: not audit.replay(pipeline, QUERIES)


def observed(pipeline: type[Pipeline]) -> Audit:
    return lambda: not audit.observations(pipeline, [*QUERIES, "drop table"])


def played(adversary: Any, guard: Any, rounds: int = 12, trials: int = 2000) -> Audit:
    """Mistakes are given twice the trials, or more, with which they were found four times out of four."""
    return lambda: audit.play(adversary, guard, rounds=rounds, trials=trials, confidence=CONFIDENCE).violated


# -- mechanisms -------------------------------------------------------------------------------------------------


def laplace(scale: float) -> Callable[..., Any]:
    return lambda x, size: np.round(x + DICE.laplace(0, scale, size))


def normal(sigma: float) -> Callable[..., Any]:
    return lambda x, size: np.round(x + DICE.normal(0, sigma, size))


def classical_sigma(epsilon: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def thresholded(persons: bool, threshold: int, scale: float) -> Callable[..., Any]:
    """Shows a key if its noisy number of persons, or of rows, reaches the threshold; one person wrote four rows."""

    def shown(rows: tuple[int, ...], size: int) -> Any:
        count = len(set(rows)) if persons else len(rows)
        return count + DICE.laplace(0, scale, size) >= threshold if count else np.zeros(size, dtype=bool)

    return shown


def off_by_one(count: int, size: int) -> Any:
    """Calibrated for `>` but compares with `≥`; the δ of one lone person is that of the next step."""
    threshold = 8
    return (count + np.round(DICE.laplace(0, 1, size)) >= threshold) if count else np.zeros(size, dtype=bool)


def selects(factor: float) -> Callable[..., Any]:
    """The exponential mechanism with exponent factor · ε · utility, at ε = 1; ½ is right."""

    def chosen(utilities: tuple[int, ...], size: int) -> Any:
        weights = np.exp(factor * np.array(utilities))
        return DICE.choice(len(utilities), size=size, p=weights / weights.sum())

    return chosen


def noisy_max_tells_value(utilities: tuple[int, ...], size: int) -> Any:
    """Report-noisy-max that also tells the winning noisy value, for the same price."""
    noisy = np.array(utilities) + DICE.laplace(0, 2, (size, len(utilities)))
    return np.column_stack([noisy.argmax(axis=1), noisy.max(axis=1)])


def sign_lost(x: int, size: int) -> Any:
    """Noise that can only be positive."""
    return x + np.round(DICE.exponential(1, size))


def clipped_noise(x: int, size: int) -> Any:
    """Noise cut off at ±3 scales, "because larger values are implausible"."""
    return x + np.round(np.clip(DICE.laplace(0, 1, size), -3, 3))


def truth_too_often(x: int, size: int) -> Any:
    """Randomized response that keeps the truth with ½ + ½·e^ε/(1 + e^ε)."""
    keeps = 0.5 + 0.5 * math.e / (1 + math.e)
    return np.where(DICE.random(size) < keeps, x, 1 - x)


def shared_noise(x: tuple[int, int], size: int) -> Any:
    """One draw for two counts: their difference is exact."""
    return np.array(x) + np.round(DICE.laplace(0, 2, (size, 1)))


def poisson_by_position(rows: tuple[int, ...], size: int) -> Any:
    """ "Sampling" that always takes the first half of the rows, charged as amplified by sampling."""
    return sum(rows[: len(rows) // 2]) + np.round(DICE.laplace(0, 1, size))


# -- the sparse vector technique and its broken variants [LSL17] --------------------------------------------------


def sparse_vector(variant: int) -> Callable[..., Any]:
    """Answers to queries around a threshold of 0 until the first ⊤; ε = 1, sensitivity 1, one ⊤.

    0 is sound [DR14]. 3 tells the noisy value instead of ⊤, 4 adds noise of scale 4/3 only to the queries for any
    number of ⊤, 5 adds no noise to the queries, 6 does not stop at the first ⊤ (algorithms 3 to 6 of [LSL17]).
    """

    def answers(queries: tuple[int, ...], size: int) -> Any:
        rho = DICE.laplace(0, 2, (size, 1))
        scale = {0: 4.0, 3: 2.0, 4: 4 / 3, 5: 0.0, 6: 2.0}[variant]
        noise = DICE.laplace(0, scale, (size, len(queries))) if scale else np.zeros((size, len(queries)))
        noisy = np.array(queries) + noise
        above = noisy >= rho
        told = np.where(above, noisy, -1000.0) if variant == 3 else above.astype(np.float64)
        if variant in {0, 3, 5}:
            stopped = np.cumsum(above, axis=1) - above > 0
            told = np.where(stopped, -2000.0, told)
        return told

    return answers


SPARSE = {
    0: ((0, 0, 0, 0), (1, 1, 1, 1)),
    3: ((0, 0, 0, 1), (1, 1, 1, 0)),
    4: ((0,) * 5 + (1,) * 5, (1,) * 5 + (0,) * 5),
    5: ((0, 1), (1, 0)),
    6: ((0,) * 5 + (1,) * 5, (1,) * 5 + (0,) * 5),
}


def sparse(variant: int) -> Audit:
    """Several tests ask about a variant: a process audits it once."""
    return lambda: _is_found(variant)


@functools.cache
def _is_found(variant: int) -> bool:
    return sampled(sparse_vector(variant), *SPARSE[variant], gt.PureDP(1), samples=400_000)()


# -- filters ------------------------------------------------------------------------------------------------------


@dataclass
class Counting:
    """A guard that adds up ε in doubles, with one mistake."""

    mistake: str
    budget: Guarantee = gt.PureDP(1)  # noqa: RUF009 (a frozen value)
    spent: float = 0.0
    charges: int = 0

    def charge(self, event: events.Event) -> None:
        cost = float(event.guarantee().epsilon)  # type: ignore[attr-defined]
        self.charges += 1
        if self.mistake == "refund" and self.charges % 2:
            return  # the query "failed" after it was answered, and its charge was given back
        if self.mistake == "largest":
            self.spent, cost = max(self.spent, cost), 0.0
        if self.mistake == "average":
            self.spent, cost = self.spent * (self.charges - 1) / self.charges, cost / self.charges
        if self.mistake == "crumbs" and cost < 0.25:
            return  # too small to count
        if self.spent + cost > 1 + (4 if self.mistake == "check-then-charge" else 1e-12):
            raise BudgetExceeded("nothing is left")
        self.spent += cost


@dataclass
class CachedForAnyone:
    """Two analysts with a budget each; an answer bought by one is free for the other, and noise is drawn anew."""

    budget: Guarantee = gt.PureDP(1)  # noqa: RUF009

    def __post_init__(self) -> None:
        self.seen: set[Hashable] = set()
        self.inner = gt.accounting.filter(self.budget)

    def charge(self, event: events.Event) -> None:
        if event not in self.seen:
            self.inner.charge(event)
            self.seen.add(event)


class ForgetsAfterRestart:
    """A log that loses its tail: every fourth charge is written, the others are gone after a crash."""

    budget = gt.PureDP(1)

    def __init__(self) -> None:
        self.inner = gt.accounting.filter(self.budget)
        self.count = 0

    def charge(self, event: events.Event) -> None:
        self.count += 1
        if self.count % 4 == 1:
            self.inner.charge(event)


# -- traces -------------------------------------------------------------------------------------------------------


def doubles(x: float, size: int) -> Any:
    """Textbook Laplace noise added to a double [Mir12]."""
    return x + DICE.laplace(0, 1, size)


def on_lattice(x: float, size: int) -> Any:
    return np.array(Laplace(2**20).release(np.full(size, int(x * 2**20)))) / 2.0**20


def forked(_x: int, size: int) -> Any:
    return FORKED.normal(size=size)


FORKED = np.random.default_rng(7)


def reseeded(x: int) -> float:
    """Seeded by the query, so that the same question has the same noise: differences of answers are exact."""
    return x + random.Random(1).gauss(0, 1)  # noqa: S311 (the mistake itself)


def timed(steps: Callable[[int], int]) -> Audit:
    """Audits how long an answer takes, by a clock that counts steps; some answers take a few more by chance."""
    clock = [0.0]

    def answer(x: int) -> int:
        clock[0] += steps(x) + DICE.integers(0, 3)
        return 0

    def found() -> bool:
        bound = audit.timing(answer, 0, 1, samples=1200, confidence=CONFIDENCE, clock=lambda: clock[0])
        return bool(bound > 1)

    return found


def low_bits(mechanism: Any, x: float, y: float) -> Audit:
    return lambda: audit.low_bits(mechanism, x, y, samples=100_000, confidence=CONFIDENCE) > 1.05


def discrete_gaussian_vector(x: tuple[int, ...], size: int) -> Any:
    noise = DiscreteGaussian(Fraction(3, 5)).noise(size)
    return np.asarray(noise) + x[0]


BUGS: dict[str, Audit] = {
    # calibration
    "noise of half the scale": sampled(laplace(0.5), 0, 1, gt.PureDP(1)),
    "noise 30 % too small": sampled(laplace(0.7), 0, 1, gt.PureDP(1)),
    "Gaussian by the classical formula beyond ε = 1": sampled(
        normal(100 * classical_sigma(8, 0.1)), 0, 100, gt.ApproxDP(8, "0.1"), samples=400_000
    ),
    "standard deviation used as variance": sampled(normal(math.sqrt(2)), 0, 1, gt.GaussianDP("1/2")),
    "sensitivity 1 under change-one": sampled(
        lambda x, size: np.array(x) + np.round(DICE.laplace(0, 1, (size, 2))), (5, 5), (4, 6), gt.PureDP(1)
    ),
    "L2 sensitivity for Laplace noise on a vector": sampled(
        lambda x, size: np.array(x) + np.round(DICE.laplace(0, 2, (size, 4))), (0,) * 4, (1,) * 4, gt.PureDP(1)
    ),
    "discrete Gaussian priced by the continuous curve": sampled(
        discrete_gaussian_vector, (0,), (1,), gt.GaussianDP("1.6"), samples=1_000_000
    ),
    "discrete Laplace composed as if it were continuous": sampled(
        lambda x, size: np.asarray(Geometric(1).noise(2 * size)).reshape(size, 2) + x,
        0,
        1,
        gt.compose([events.Laplace(1)] * 2, delta="0.03"),
        samples=400_000,
    ),
    "exponential mechanism without the factor two": sampled(selects(1.0), (0, 1, 0), (1, 0, 1), gt.PureDP(1)),
    "noisy max that tells the value": sampled(noisy_max_tells_value, (0,) * 6, (1,) * 6, gt.PureDP(1), samples=400_000),
    "noise of one sign": sampled(sign_lost, 0, 1, gt.ApproxDP(1, "1e-3")),
    "noise cut off at three scales": sampled(clipped_noise, 0, 1, gt.ApproxDP(1, "1e-3")),
    "randomized response that is too honest": sampled(truth_too_often, 0, 1, gt.PureDP(1)),
    "one draw of noise for two counts": sampled(shared_noise, (3, 3), (4, 3), gt.PureDP("1/2")),
    "sampling by position charged as amplified": sampled(
        poisson_by_position, (1, 0, 0, 0), (0, 0, 0, 0), gt.PureDP("0.62")
    ),
    # keys found in the data
    "thresholding rows instead of persons": sampled(
        thresholded(False, 9, 1.0), (), (1, 1, 1, 1), gt.ApproxDP(1, "2e-4")
    ),
    "threshold off by one at equality": sampled(off_by_one, 0, 1, gt.ApproxDP(1, "5.6e-4"), samples=2_000_000),
    "keys shown without a threshold": sampled(
        lambda rows: dict(gt.histogram(rows, categories=set(rows), epsilon=1)),
        ("p",),
        ("p", "s"),
        gt.ApproxDP(1, "1e-6"),
        samples=2000,
    ),
    # the sparse vector technique
    "sparse vector that tells values": sparse(3),
    "sparse vector with noise for one answer": sparse(4),
    "sparse vector without noise on queries": sparse(5),
    "sparse vector that does not stop": sparse(6),
    # pipelines
    "bounds survive redefinition": replayed(pipelines.BoundsSurviveRedefinition),
    "sum of doubles": replayed(pipelines.SumOfDoubles),
    "rows instead of persons": replayed(pipelines.RowsInsteadOfPersons),
    "odd width rounded down": replayed(pipelines.OddWidthRoundedDown),
    "quantised without deriving the sensitivity": replayed(pipelines.QuantisedWithoutDeriving),
    "lower bound used twice": replayed(pipelines.LowerBoundTwice),
    "missing bounds give no noise": replayed(pipelines.MissingBoundsNoNoise),
    "not-a-number escapes the clamp": replayed(pipelines.NanIsUpperBound),
    "scale from the data": replayed(pipelines.ScaleFromData),
    "rows selected by position": replayed(pipelines.FirstRowByPosition),
    "mean charged once": replayed(pipelines.MeanChargedOnce),
    "overflowing sum": replayed(pipelines.OverflowingSum),
    # what can be seen
    "group keys leak who is there": observed(pipelines.KeysFromData),
    "error texts quote a row": observed(pipelines.ErrorQuotesRow),
    "the charge depends on rows": observed(pipelines.ChargeDependsOnRows),
    "division by zero shows": observed(pipelines.DivisionByZeroShows),
    "an engine that raises": observed(pipelines.FailsOnInfinity),
    # budgets
    "refund on failure": played(Repeater(Fraction(1, 2)), lambda: Counting("refund"), trials=6000),
    "check, then charge": played(Repeater(Fraction(1, 2)), lambda: Counting("check-then-charge"), trials=6000),
    "only the largest charge counts": played(Repeater(Fraction(1, 2)), lambda: Counting("largest")),
    "the average counts": played(Repeater(Fraction(1, 2)), lambda: Counting("average")),
    "small charges are free": played(Repeater(Fraction(1, 5)), lambda: Counting("crumbs"), rounds=40, trials=3000),
    "a stored answer is free, and drawn anew": played(Repeater(Fraction(1, 2)), CachedForAnyone),
    "a log that forgets": played(Repeater(Fraction(1, 2)), ForgetsAfterRestart, trials=4000),
    # traces
    "low bits of a double": low_bits(doubles, 0.0, 1.0),
    "noise repeats after a fork": lambda: not audit.repetition(forked, 0),
    "noise seeded by the query": lambda: not audit.repetition(reseeded, 0),
    "time depends on the data": timed(lambda x: 2 * (1 + 4 * x)),
}

TWINS: dict[str, Audit] = {
    "Laplace": sampled(Laplace(1), 0, 1, gt.PureDP(1)),
    "Gaussian": sampled(Gaussian(2), 0, 1, gt.GaussianDP("1/2")),
    "Laplace on a vector": sampled(Laplace(4), (0,) * 4, (1,) * 4, gt.PureDP(1)),
    "discrete Gaussian, priced as zCDP": sampled(
        DiscreteGaussian(Fraction(3, 5)), 0, 1, gt.ZCDP(Fraction(25, 18)), samples=1_000_000
    ),
    "exponential mechanism": sampled(selects(0.5), (0, 1, 0), (1, 0, 1), gt.PureDP(1)),
    "thresholding persons": sampled(thresholded(True, 9, 1.0), (), (1, 1, 1, 1), gt.ApproxDP(1, "2e-4")),
    "sparse vector": sparse(0),
    "pipeline replayed": replayed(Pipeline),
    "pipeline observed": observed(Pipeline),
    "pure filter against repetition": played(Repeater(Fraction(1, 2)), gt.PureDP(1)),
    "pure filter against doubling": played(Doubler(Fraction(1, 10)), gt.PureDP(1)),
    "race against chasing": played(Chaser(), gt.ApproxDP(1, "1e-3")),
    "race against mixing": played(Mixer(), gt.ApproxDP(1, "1e-3")),
    "race against scraping": played(Scraper(), gt.ApproxDP(1, "1e-3")),
    "low bits on a lattice": low_bits(on_lattice, 0.0, 1.0),
    "noise after a fork": lambda: not audit.repetition(Laplace(1000), 0),
    "time that does not depend on the data": timed(lambda _: 2),
}

TELLING = {
    "noise 30 % too small": "Laplace",
    "standard deviation used as variance": "Gaussian",
    "one draw of noise for two counts": "Laplace on a vector",
    "exponential mechanism without the factor two": "exponential mechanism",
    "thresholding rows instead of persons": "thresholding persons",
    "sparse vector without noise on queries": "sparse vector",
    "rows instead of persons": "pipeline replayed",
    "error texts quote a row": "pipeline observed",
    "check, then charge": "pure filter against repetition",
    "low bits of a double": "low bits on a lattice",
}
