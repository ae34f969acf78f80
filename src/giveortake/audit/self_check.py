"""An audit of this installation: every mechanism, sampler, filter and kind of request, with what is known about each.

A check draws from the real thing on the machine where it is installed and compares the samples with the promise, or
with the law that the documentation states. Requests run on generated neighbouring tables, where what they lose is
compared with what is charged. All checks share one failure probability: a sound installation is suspected once
in `1/alpha` audits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake import mechanisms as m
from giveortake.audit import adversaries, cases
from giveortake.audit.bounds import check, drawn, epsilon_lower_bound, greatest_probability, least_probability
from giveortake.audit.conformance import conform
from giveortake.audit.game import play
from giveortake.audit.traces import low_bits, repetition
from giveortake.exact import decimal
from giveortake.mechanisms.functions import laplace
from giveortake.mechanisms.partition_selection import KeyCaps
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from giveortake.randomness import SYSTEM_ENTROPY, uniform_integers
from giveortake.randomness.distributions import (
    bernoulli,
    bernoulli_exp,
    geometric,
    rounded_laplace,
    rounded_normal,
    two_sided_geometric,
)

if TYPE_CHECKING:
    from giveortake.audit.conformance import Case
    from giveortake.privacy import Guarantee


Run: TypeAlias = Callable[[float, float], "Outcome"]  # how much work, 1 in full, and the failure probability

_ENGINE = "DuckDB"
_ALIKE = "within the charge, alike"
_NOTHING = "too few samples to see anything"
_REACH = 200  # all laws that are checked lie within ± this
_HALF, _THIRD, _TAIL = Fraction(1, 2), Fraction(1, 3), Fraction(1, 100)


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What one check found."""

    sound: bool
    claim: str
    finding: str


@final
@dataclass(frozen=True, slots=True)
class Check:
    """One check: its group, its name, and the function that runs it."""

    group: str
    name: str
    run: Run


def checks() -> list[Check]:
    """All checks, in the order of the report."""
    return [
        *(_promise("mechanisms", *case) for case in _mechanisms()),
        *(Check("samplers", name, _law(draw, law)) for name, draw, law in _samplers()),
        *_traces(),
        *(
            Check("filters", f"{budget!r} against {type(adversary).__name__}", _game(adversary, budget))
            for adversary, budget in _games()
        ),
        *requests(),
    ]


def requests() -> list[Check]:
    """One check for each kind of request on DuckDB: on generated tables, never on live ones."""
    everything = [*cases.queries(), *cases.OTHERS]
    kinds = dict.fromkeys(case.kind for case in everything)
    return [Check("requests", f"{kind}, {_ENGINE}", _conforms(kind, everything)) for kind in kinds]


def _conforms(kind: str, everything: list[Case]) -> Run:
    def run(effort: float, _alpha: float) -> Outcome:
        every = max(1, round(1 / (2 * effort)))  # currency: at half of the work, each once
        try:
            report = conform([case for case in everything if case.kind == kind], every=every, engine=_ENGINE)
        except Exception as error:  # noqa: BLE001 (a broken installation is reported, however it breaks)
            return Outcome(False, _ALIKE, f"raised {type(error).__name__}")
        if report.violations:
            return Outcome(False, _ALIKE, report.violations[0])
        most = 100 * max(report.nearest.values(), default=0.0)
        ((_, _, compared, refused, draws),) = report.lines
        counted = f"{compared:>4} compared, {refused:>3} refused, {draws:>5} draws, {most:>3.0f} % lost"
        return Outcome(True, _ALIKE, counted)

    return run


def _mechanisms() -> Iterator[tuple[str, Any, Any, Any, Guarantee, int]]:
    """Name, mechanism, two neighbouring inputs, what is promised for them, and how many samples."""
    million = 1_000_000
    yield "Laplace", m.Laplace(2), 0, 2, PureDP(1), million
    yield "Laplace, vector", m.Laplace(4), (0, 0, 0), (1, 1, 2), PureDP(1), million // 2
    yield "Laplace, tiny scale", m.Laplace(Fraction(1, 4)), 0, 1, PureDP(4), million
    yield "Gaussian", m.Gaussian(8), 0, 8, GaussianDP(1), million
    yield "Gaussian, vector", m.Gaussian(5), (0, 0), (3, 4), GaussianDP(1), million // 2
    yield "geometric", m.Geometric(2), 0, 2, PureDP(1), million
    yield "discrete Gaussian", m.DiscreteGaussian(2), 0, 2, ZCDP(_HALF), million
    yield "randomized response", m.RandomizedResponse(1, ("a", "b", "c")), "a", "b", PureDP(1), million
    one, other = (0, 1, 0, 1), (1, 0, 1, 0)
    for name, mechanism in (
        ("exponential", m.Exponential(2)),
        ("permute and flip", m.PermuteAndFlip(2)),
        ("report noisy max", m.ReportNoisyMax(2)),
    ):
        yield name, mechanism, one, other, PureDP(1), 20_000
    categories = m.Histogram(["a", "b"], 1)
    yield "histogram", categories, ("a", "b"), ("a", "b", "b"), PureDP(1), 10_000
    discovered = m.DiscoveredHistogram.calibrated(epsilon=1, delta="0.01")
    promised = ApproxDP(1, "0.01")
    yield "discovered histogram", discovered, ("a",) * 4, ("a", "a", "a", "a", "b"), promised, 10_000
    keys = m.KeySelection(1, "0.1")
    yield "key selection", keys, {"a": 2}, {"a": 3}, ApproxDP(1, "0.1"), 10_000
    yield "key selection, new key", keys, {"a": 2}, {"a": 2, "b": 1}, ApproxDP(1, "0.1"), 10_000
    counted = m.CountedKeys.calibrated(KeyCaps(2, 2, 3), epsilon=1, delta="0.05")
    promised = ApproxDP(1, "0.05")
    yield "counted keys", counted, {"a": 4, "b": 3}, {"a": 6, "b": 4}, promised, 10_000
    yield "counted keys, new keys", counted, {"a": 4}, {"a": 4, "b": 2, "c": 1}, promised, 10_000
    weighted = m.WeightedKeys.calibrated(mu=1, delta="0.05")
    promised = weighted.event().guarantee()
    yield "weighted keys", weighted, {"a": 2}, {"a": 3}, promised, 10_000
    yield "weighted keys, new key", weighted, {"a": 2}, {"a": 2, "b": 1}, promised, 10_000
    yield "above threshold", _above_threshold, (-2,) * 6 + (2,), (-1,) * 6 + (1,), PureDP(1), 20_000
    yield "gt.laplace of a float", _float_release, 0.0, 1.0, PureDP(1), 400_000


def _above_threshold(values: tuple[int, ...]) -> tuple[bool, ...]:
    alarm = m.AboveThreshold(threshold=1, epsilon=1)
    answers: list[bool] = []
    for value in values:
        answers.append(alarm.release(value))
        if answers[-1]:
            break
    return tuple(answers)


def _float_release(value: float, size: int) -> Any:
    """Many releases of one float in one call: each alone has sensitivity 1 and ε = 1 (nearly: the lattice is finer)."""
    return laplace(np.full(size, value), sensitivity=size, epsilon=size)


def _promise(group: str, name: str, mechanism: Any, x: Any, y: Any, promise: Guarantee, samples: int) -> Check:  # noqa: PLR0917 (a table of checks calls it by place)
    delta = Fraction(0) if isinstance(promise, PureDP) else promise.delta if isinstance(promise, ApproxDP) else _TAIL
    promised = promise.epsilon if isinstance(promise, PureDP | ApproxDP) else promise.epsilon_at(delta)

    def run(effort: float, alpha: float) -> Outcome:
        count, sure = max(400, int(samples * effort)), 1 - alpha / 2
        finding = check(mechanism, x, y, promise, samples=count, confidence=sure)
        bound = epsilon_lower_bound(mechanism, x, y, samples=count, confidence=sure, delta=delta)
        at = f", δ = {decimal(delta)}" if delta else ""
        text = f"ε ≥ {float(bound):.3f} of {decimal(promised, 4)}{at}" if bound else _NOTHING
        return Outcome(bool(finding) and bound <= promised, repr(promise), text)

    return Check(group, name, run)


def _samplers() -> Iterator[tuple[str, Callable[[int], Any], Callable[[int], float]]]:
    """Name, how to draw, and P[X = k] from the definition."""
    coins = SYSTEM_ENTROPY

    def split(cdf: Callable[[float], float]) -> Callable[[int], float]:
        return lambda k: cdf(k + 0.5) - cdf(k - 0.5)

    yield "rounded Laplace", lambda n: rounded_laplace(Fraction(3), n, coins), split(lambda x: _laplace_cdf(x / 3))
    yield "rounded normal", lambda n: rounded_normal(Fraction(3), n, coins), split(lambda x: _normal_cdf(x / 3))
    half = -math.expm1(-0.5)
    yield "geometric", lambda n: geometric(Fraction(2), n, coins), lambda k: math.exp(-k / 2) * half if k >= 0 else 0.0
    both = math.tanh(0.25)
    yield (
        "two-sided geometric",
        lambda n: two_sided_geometric(Fraction(2), n, coins),
        lambda k: both * math.exp(-abs(k) / 2),
    )
    mass = sum(math.exp(-(k**2) / 8) for k in range(-60, 61))
    gauss = m.DiscreteGaussian(2)
    yield "discrete Gaussian", gauss.noise, lambda k: math.exp(-(k**2) / 8) / mass
    yield "uniform below 7", lambda n: uniform_integers(7, n, coins), lambda k: 1 / 7 if 0 <= k < 7 else 0.0
    third, inverse = {0: 2 / 3, 1: 1 / 3}, {0: 1 - math.exp(-1), 1: math.exp(-1)}
    yield "coin of 1/3", lambda n: bernoulli(_THIRD, n, coins).astype(np.int64), lambda k: third.get(k, 0.0)
    yield "coin of e^-1", lambda n: bernoulli_exp(Fraction(1), n, coins).astype(np.int64), lambda k: inverse.get(k, 0.0)


def _law(draw: Callable[[int], Any], law: Callable[[int], float]) -> Run:
    """Every frequent value must have its probability inside an exact interval, with α split among them."""

    def run(effort: float, alpha: float) -> Outcome:
        count = max(2000, int(1_000_000 * effort))
        values, hits = np.unique(np.asarray(draw(count)), return_counts=True)
        seen = dict(zip(map(int, values), map(int, hits), strict=True))
        likely = [(k, seen.get(k, 0)) for k in range(-_REACH, _REACH) if law(k) * count > 20]
        share = alpha / (2 * max(1, len(likely)))
        for k, n in likely:
            if not least_probability(n, count, share) <= law(k) * (1 + 1e-12) or not law(k) <= greatest_probability(
                n, count, share
            ) * (1 + 1e-12):
                return Outcome(False, f"P[{k}] = {law(k):.6g}", f"{n:,} of {count:,} draws")
        return Outcome(True, "its stated law", f"{len(likely)} values, {count:,} draws")

    return run


def _traces() -> Iterator[Check]:
    def bits(effort: float, alpha: float) -> Outcome:
        count = max(2000, int(200_000 * effort))
        bound = low_bits(_float_release, 0.0, 1.0, samples=count, confidence=1 - alpha)
        return Outcome(bound <= 1.001, "ε = 1 from low bits at most", f"ε ≥ {float(bound):.3g}" if bound else _NOTHING)

    def repeated(_effort: float, _alpha: float) -> Outcome:
        report = repetition(m.Laplace(10**6), 0)
        return Outcome(bool(report), "noise never comes twice", str(report))

    def distinct(effort: float, _alpha: float) -> Outcome:
        count = max(1000, int(20_000 * effort))
        seen = Counter(map(int, drawn(m.Gaussian(10**12), 0, count)))
        most = max(seen.values())
        return Outcome(most <= 2, "wide noise hardly ever repeats a value", f"the commonest came {most} times")

    yield Check("traces", "low bits of a float", bits)
    yield Check("traces", "noise after a fork, in threads, in a row", repeated)
    yield Check("traces", "values of wide noise", distinct)


def _games() -> Iterator[tuple[Any, Guarantee]]:
    for adversary in adversaries.ALL:
        yield adversary, PureDP(1)
        yield adversary, ApproxDP(1, "0.01")
    for budget in (ZCDP(_HALF), GaussianDP(1), RenyiDP({2: 1, 8: 2})):
        yield adversaries.Repeater(Fraction(1, 4)), budget


def _game(adversary: Any, budget: Guarantee) -> Run:
    def run(effort: float, alpha: float) -> Outcome:
        report = play(adversary, budget, rounds=12, trials=max(400, int(1500 * effort)), confidence=1 - alpha)
        text = (
            f"advantage ≥ {report.advantage:.3g}, {report.promised_advantage:.3g} promised, "
            f"{report.admitted:.1f} rounds"
        )
        return Outcome(bool(report), repr(budget), text)

    return run


def _laplace_cdf(x: float) -> float:
    return 1 - math.exp(-x) / 2 if x >= 0 else math.exp(x) / 2


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
