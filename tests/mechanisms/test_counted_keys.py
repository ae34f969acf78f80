"""Groups found by the noisy count that is also their number: the chance of lone keys, the promise, and drawing."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import CountedKeys, Gaussian, Laplace, Sensitive
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.mechanisms.partition_selection import KeyCaps
from giveortake.privacy import ApproxDP, events
from statistics_of_draws import ALPHA
from tiers import tiered

Noise: TypeAlias = Laplace | Gaussian
Vector: TypeAlias = tuple[int, ...]  # how much of a person counts in each key


def below(noise: Noise, steps: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """P[noise < steps − ½], the chance that rounded noise is below whole steps."""
    z = (np.asarray(steps, dtype=np.float64) - 0.5) / float(noise.scale_in_steps)
    return np.asarray((stats.laplace if isinstance(noise, Laplace) else stats.norm).cdf(z), dtype=np.float64)


def above(noise: Noise, steps: int) -> float:
    z = (steps - 0.5) / float(noise.scale_in_steps)
    return float((stats.laplace if isinstance(noise, Laplace) else stats.norm).sf(z))


def seen(noise: Noise, threshold: int, numbers: Vector) -> float:
    """The chance that any of some lone keys is shown."""
    return -math.expm1(sum(math.log1p(-above(noise, threshold - number)) for number in numbers))


def all_spreads(caps: KeyCaps) -> list[Vector]:
    """Every way in which what counts of a person may lie in keys that nobody else has."""
    return [
        spread
        for keys in range(1, caps.groups + 1)
        for spread in itertools.combinations_with_replacement(range(1, caps.rows + 1), keys)
        if sum(spread) <= caps.total
    ]


def calibrated(caps: KeyCaps, kind: str, amount: F, delta: str, sensitivity: int = 1) -> CountedKeys:
    epsilon, mu = (amount, None) if kind == "epsilon" else (None, amount)
    return CountedKeys.calibrated(caps, delta=delta, epsilon=epsilon, mu=mu, sensitivity=sensitivity)


NOISES: list[Noise] = [Laplace(F(1, 2)), Laplace(7), Gaussian(1), Gaussian(20)]
SHAPES = list(itertools.product(range(1, 6), range(1, tiered(5, 6)), range(1, tiered(12, 20))))


@all_cases("noise", NOISES)
def test_the_chance_of_lone_keys_is_that_of_the_worst_of_all_spreads(noise: Noise) -> None:
    for shape in SHAPES:
        caps = KeyCaps(*shape)
        for above_rows in (1, 4, 25):
            threshold = caps.rows + above_rows
            worst = max(seen(noise, threshold, spread) for spread in all_spreads(caps))
            charged = float(CountedKeys(noise, threshold, caps).event().delta)
            assert worst * (1 - 1e-9) <= charged <= worst * (1 + 1e-9)


@all_cases("noise", NOISES)
def test_the_worst_spreads_are_not_lone_rows_alone_nor_one_lone_key(noise: Noise) -> None:
    """Which of them is worst depends on the noise: as many keys as there may be, or as few as are filled."""
    caps = KeyCaps(4, 3, 6)
    assert {(count, number) for spread in caps.spreads() for count, number in spread} >= {(2, 3), (3, 1)}
    wide = isinstance(noise, Laplace) and noise.scale == 7
    many, few = (seen(noise, 40, spread) for spread in ((3, 1, 1, 1), (3, 3)))
    assert (many > few) is (wide or noise == Gaussian(20))


@all_cases("shape", [(1,), (5,), (4, 4, 4), (3, 2), (50, 10, 60), (20, 30)])
@all_cases(("amount", "delta"), [("1", "1e-7"), ("0.2", "1e-3"), ("3", "1e-12"), ("0.001", "1e-300")])
@all_cases("sensitivity", [1, 2])
def test_the_threshold_is_the_least_that_keeps_delta(
    shape: tuple[int, ...], amount: str, delta: str, sensitivity: int
) -> None:
    caps = KeyCaps(*shape)
    for kind in ("epsilon", "mu"):
        found = calibrated(caps, kind, F(amount), delta, sensitivity)
        event = found.event(sensitivity)
        assert event.delta <= F(delta)
        assert CountedKeys(found.noise, found.threshold - 1, caps).event().delta > F(delta)
        if isinstance(event, events.DiscoveredKeys):
            assert event.epsilon == F(amount)
            assert found.noise == Laplace(sensitivity * caps.total / F(amount))
        else:
            assert float(1 / event.noise_multiplier) == pytest.approx(float(amount))
            assert 1 / event.noise_multiplier <= F(amount)


def test_a_changed_unit_moves_counts_twice_as_far_and_costs_the_same_delta() -> None:
    laplace, gaussian = (CountedKeys(noise, 30, KeyCaps(3, 2, 4)) for noise in (Laplace(4), Gaussian(4)))
    assert laplace.event().guarantee().epsilon == 1
    assert laplace.event(2).guarantee().epsilon == 2
    added, changed = gaussian.event(), gaussian.event(2)
    assert isinstance(added, events.GaussianKeys)
    assert isinstance(changed, events.GaussianKeys)
    assert float(1 / added.noise_multiplier) == pytest.approx(math.sqrt(8) / 4)
    assert float(1 / changed.noise_multiplier) == pytest.approx(math.sqrt(16) / 4)
    assert (laplace.event(2).delta, changed.delta) == (laplace.event().delta, added.delta)
    for wrong in (0, 3, F(3, 2)):
        with pytest.raises(InvalidParameter, match="sensitivity"):
            laplace.event(wrong)
    with pytest.raises(InvalidParameter, match="threshold"):
        CountedKeys(Laplace(4), 2, KeyCaps(3, 2, 4))  # a key of one person's rows alone would be shown by them


def test_no_more_counts_than_there_is() -> None:
    assert KeyCaps(5, 9, 3) == KeyCaps(3, 3, 3)
    assert KeyCaps(5, 2) == KeyCaps(5, 2, 10) == KeyCaps(5, 2, 99)
    assert [float(KeyCaps(*shape).l2) for shape in [(4,), (4, 4, 4), (3, 2, 5)]] == pytest.approx([2, 4, 3])


# -- the promise, on every pair of tables of three keys ---------------------------------------------------------------

SMALL = KeyCaps(2, 2, 3)
VECTORS: list[Vector] = [
    vector
    for vector in itertools.product(range(3), repeat=3)
    if 0 < sum(vector) <= SMALL.total and sum(number > 0 for number in vector) <= SMALL.groups
]
BASES: list[Vector] = [(0, 0, 0), (1, 4, 0), (22, 30, 0)]


def law(mechanism: CountedKeys, counts: Vector) -> npt.NDArray[np.float64]:
    """The chance of every outcome: of each key nothing, or its noisy count, of which the farthest are one."""
    cuts = np.arange(mechanism.threshold, mechanism.threshold + 24)
    sides = []
    for count in counts:
        hidden = below(mechanism.noise, cuts - count) if count else np.ones(cuts.size)  # what is not there stays hidden
        sides.append(np.diff(np.concatenate([[0.0], hidden, [1.0]])))
    joint: npt.NDArray[np.float64] = np.einsum("i,j,k->ijk", *sides)
    return joint


def promised_delta(event: events.DiscoveredKeys | events.GaussianKeys, epsilon: float) -> float:
    if isinstance(event, events.DiscoveredKeys):
        return float(event.delta) if epsilon >= float(event.epsilon) else 1.0
    mu = 1 / float(event.noise_multiplier)
    phi = stats.norm.cdf
    curve = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    return float(curve) + float(event.delta) * (1 - float(curve))


def excess(mechanism: CountedKeys, promise: CountedKeys, one: Vector, other: Vector, sensitivity: int) -> float:
    """How far the true δ(ε) between two tables exceeds what is promised, at the worst ε."""
    event = promise.event(sensitivity)
    p, q = law(mechanism, one), law(mechanism, other)
    own = [float(event.epsilon), 9.0] if isinstance(event, events.DiscoveredKeys) else [0.0, 0.5, 1.0, 2.0, 9.0]
    return max(float(np.maximum(p - math.exp(e) * q, 0).sum()) - promised_delta(event, e) for e in own)


def plus(one: Vector, other: Vector) -> Vector:
    return tuple(map(sum, zip(one, other, strict=True)))


def pairs(sensitivity: int) -> list[tuple[Vector, Vector]]:
    found = []
    for base, vector in itertools.product(BASES, VECTORS):
        others = [plus(base, other) for other in VECTORS if other != vector] if sensitivity == 2 else [base]
        found += [(plus(base, vector), other) for other in others]
    return found + [(other, one) for one, other in found]


@all_cases("kind", ["epsilon", "mu"])
@all_cases("sensitivity", [1, 2])
def test_no_pair_of_small_tables_exceeds_the_promise(kind: str, sensitivity: int) -> None:
    mechanism = calibrated(SMALL, kind, F(3, 2), "0.02", sensitivity)
    worst = max(excess(mechanism, mechanism, *pair, sensitivity) for pair in pairs(sensitivity))
    assert worst <= 1e-9


@all_cases("kind", ["epsilon", "mu"])
def test_mistakes_in_noise_or_threshold_exceed_the_promise(kind: str) -> None:
    """A threshold for one lone key or one lone row, and noise for one group or 30 % too little."""
    sound, of_one_key = (calibrated(each, kind, F(1, 2), "0.02") for each in (SMALL, KeyCaps(1)))
    noises: dict[str, Noise] = {
        "one group": of_one_key.noise,
        "less": type(sound.noise)(sound.noise.scale_in_steps * F(7, 10)),
    }
    for noise in noises.values():
        wrong = CountedKeys(noise, sound.threshold, SMALL)
        assert max(excess(wrong, sound, *pair, 1) for pair in pairs(1)) > 1e-4
    for lone in ((1,), (1, 1), (2,), (2, 1)):  # a lone row, lone rows alone, one lone key alone; and the worst spread
        least = next(threshold for threshold in range(3, 99) if seen(sound.noise, threshold, lone) <= 0.02)
        wrong = CountedKeys(sound.noise, least, SMALL)
        exceeds = max(excess(wrong, sound, *pair, 1) for pair in pairs(1)) > 1e-4
        assert exceeds is (least < sound.threshold)
        assert exceeds is (lone != (2, 1))


# -- drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.statistical
@all_cases(("claim", "plausible"), [(1.0, True), (0.7, False), (1.3, False)])
@all_cases("kind", ["epsilon", "mu"])
def test_keys_are_shown_as_often_as_their_count_says_and_a_wrong_scale_is_caught(
    kind: str, claim: float, plausible: bool
) -> None:
    mechanism = calibrated(KeyCaps(4, 4, 4), kind, F(1, 5), "1e-7")
    scale = mechanism.noise.scale_in_steps
    size, count = 20_000, mechanism.threshold - int(scale)
    keys, numbers = mechanism.release_with_numbers(
        Sensitive((list(range(size)), BoundedIntegers.clamped([count] * size, count)))
    )
    claimed = type(mechanism.noise)(scale * F(claim))
    chance = above(claimed, mechanism.threshold - count)
    assert bool(stats.binomtest(len(keys), size, chance).pvalue >= ALPHA) is plausible
    assert keys == sorted(keys)
    assert int(numbers.min()) >= mechanism.threshold


def test_a_release_tells_the_counts_that_are_shown_and_no_other() -> None:
    mechanism = CountedKeys(Gaussian(2), 20, KeyCaps(1))  # nine deviations above the count of a few
    found = mechanism.release({"many": 1000, "few": 1, "some": 500})
    assert set(found) == {"many", "some"}
    assert abs(found["many"] - 1000) < 40
    assert mechanism.select(Sensitive((["x", "y"], BoundedIntegers.clamped([300, 0], 300)))) == ["x"]


def test_laplace_counts_keep_epsilon_and_delta() -> None:
    event = CountedKeys.calibrated(KeyCaps(5), epsilon=1, delta="1e-7").event()
    assert isinstance(event.guarantee(), ApproxDP)
    assert event.guarantee().epsilon == 1
