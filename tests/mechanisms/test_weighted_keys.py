"""Keys found by weights: integer weights, certified thresholds, and the promise on every pair of small tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cases import all_cases, some_examples
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import Sensitive, WeightedKeys
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.mechanisms.partition_selection import weights
from giveortake.privacy import GaussianDP, events
from statistics_of_draws import ALPHA

phi = stats.norm.cdf


@some_examples
@given(st.integers(10, 10**9), st.integers(1, 100))
def test_weights_are_the_greatest_whole_numbers_within_the_length(length: int, degree: int) -> None:
    found = weights(length, degree)
    assert len(found) == degree
    for keys, weight in enumerate(found, 1):
        assert keys * weight**2 <= length**2 < keys * (weight + 1) ** 2


@all_cases(("length", "degree"), [(1, 1), (1 << 16, 50), (1000, 100), (1 << 16, 3)])
@all_cases(("mu", "delta"), [("0.2", "1e-7"), ("2", "1e-3"), ("0.01", "1e-12")])
def test_the_threshold_is_the_least_that_hides_every_number_of_lone_keys(
    length: int, degree: int, mu: str, delta: str
) -> None:
    found = WeightedKeys.calibrated(mu=mu, delta=delta, length=length, degree=degree)
    assert found.sigma == length / F(mu)

    def chance(threshold: int) -> float:
        tails = [stats.norm.sf((threshold - 0.5 - w) / float(found.sigma)) for w in weights(length, degree)]
        return max(-math.expm1(t * math.log1p(-tail)) for t, tail in enumerate(tails, 1))

    assert chance(found.threshold) <= float(delta) * (1 + 1e-9)
    assert chance(found.threshold - 1) > float(delta) or found.threshold == length + 1
    assert found.event().delta <= F(delta)
    assert float(found.event().delta) == pytest.approx(chance(found.threshold), rel=1e-9)


def test_a_changed_unit_moves_weights_by_the_root_of_two_and_costs_the_same_delta() -> None:
    added = WeightedKeys.calibrated(mu=1, delta="1e-6", length=100, degree=4)
    assert added.event() == events.GaussianKeys(1, added.event().delta)
    assert added.event(2).delta == added.event().delta
    assert float(1 / added.event(2).noise_multiplier) == pytest.approx(math.sqrt(2))
    changed = WeightedKeys.calibrated(mu=1, delta="1e-6", length=100, degree=4, sensitivity=2)
    assert 1 / changed.event(2).noise_multiplier <= 1
    assert changed.event(2).delta <= F(1, 10**6)
    for wrong in (0, 3, F(3, 2)):
        with pytest.raises(InvalidParameter, match="sensitivity"):
            added.event(wrong)


@all_cases("wrong", [{"length": 2, "degree": 5}, {"threshold": 100}, {"sigma": 0}, {"degree": 0}])
def test_weights_that_leave_nothing_and_thresholds_below_one_person_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        WeightedKeys(**({"sigma": 5, "threshold": 1000, "length": 100, "degree": 4} | wrong))


# -- the promise, on every pair of tables of three keys --------------------------------------------------------------

KEYS, DEGREE, LENGTH = 3, 3, 4
PERSONS = [frozenset(held) for size in range(1, 4) for held in itertools.combinations(range(KEYS), size)]


def weight_of(table: list[frozenset[int]]) -> list[int]:
    given_away = weights(LENGTH, DEGREE)
    return [sum(given_away[len(person) - 1] for person in table if key in person) for key in range(KEYS)]


def law(mechanism: WeightedKeys, table: list[frozenset[int]]) -> npt.NDArray[np.float64]:
    """The chance of every outcome: of each key nothing, or its noisy weight, of which the farthest are one."""
    sigma, least = float(mechanism.sigma), mechanism.threshold
    cuts = np.arange(least, least + 40) - 0.5
    sides = []
    for key, weight in enumerate(weight_of(table)):
        below = phi((cuts - weight) / sigma)
        if not any(key in person for person in table):
            below = np.ones_like(below)  # what does not occur is not shown
        sides.append(np.diff(np.concatenate([[0.0], below, [1.0]])))
    joint: npt.NDArray[np.float64] = np.einsum("i,j,k->ijk", *sides)
    return joint


def true_delta(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def promised_delta(event: events.GaussianKeys, epsilon: float) -> float:
    mu = 1 / float(event.noise_multiplier)
    return float(phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)) + float(event.delta)


def excess(mechanism: WeightedKeys, one: list[frozenset[int]], other: list[frozenset[int]], sensitivity: int) -> float:
    """How far the true δ(ε) exceeds what is promised, at the worst ε."""
    event = mechanism.event(sensitivity)
    p, q = law(mechanism, one), law(mechanism, other)
    return max(true_delta(p, q, epsilon) - promised_delta(event, epsilon) for epsilon in (0.0, 0.3, 1.0, 2.0, 4.0))


def pairs(sensitivity: int) -> list[tuple[list[frozenset[int]], list[frozenset[int]]]]:
    bases: list[list[frozenset[int]]] = [[], [PERSONS[0]], [PERSONS[6], PERSONS[3]]]
    found = []
    for base, person in itertools.product(bases, PERSONS):
        others = [[*base, other] for other in PERSONS if other != person] if sensitivity == 2 else [base]
        found += [([*base, person], other) for other in others]
    return found


@all_cases("sensitivity", [1, 2])
def test_no_pair_of_small_tables_exceeds_the_promise(sensitivity: int) -> None:
    mechanism = WeightedKeys.calibrated(mu=2, delta="0.01", length=LENGTH, degree=DEGREE, sensitivity=sensitivity)
    found = pairs(sensitivity)
    worst = max(excess(mechanism, *pair, sensitivity) for x, y in found for pair in ((x, y), (y, x)))
    assert worst <= 1e-9


def test_a_threshold_or_a_noise_that_is_too_low_is_caught() -> None:
    sound = WeightedKeys.calibrated(mu=2, delta="0.01", length=LENGTH, degree=DEGREE)
    low = WeightedKeys(sound.sigma, sound.threshold - 3, LENGTH, DEGREE)
    lone = next(x for x, y in pairs(1) if not y and len(x[0]) == 1)
    shown = 1 - law(low, lone)[0, 0, 0]
    assert float(sound.event().delta) < shown <= float(low.event().delta) + 1e-9
    quiet = WeightedKeys(sound.sigma / 2, sound.threshold, LENGTH, DEGREE)
    many = [PERSONS[0]] * 4
    p, q = law(quiet, [*many, PERSONS[0]]), law(quiet, many)
    assert true_delta(p, q, 1.0) > promised_delta(sound.event(), 1.0)
    assert true_delta(p, q, 1.0) <= promised_delta(quiet.event(), 1.0)


# -- drawing ---------------------------------------------------------------------------------------------------------


@pytest.mark.statistical
@all_cases(("claim", "plausible"), [(1.0, True), (0.7, False), (1.3, False)])
def test_keys_are_shown_as_often_as_their_weight_says_and_a_wrong_scale_is_caught(
    claim: float, plausible: bool
) -> None:
    mechanism = WeightedKeys.calibrated(mu="0.2", delta="1e-7", length=1 << 16, degree=50)
    size, weight = 20_000, mechanism.threshold - int(mechanism.sigma)
    found = mechanism.select(Sensitive((list(range(size)), BoundedIntegers.clamped([weight] * size, weight))))
    chance = stats.norm.sf(float((mechanism.threshold - weight - F(1, 2)) / mechanism.sigma) / claim)
    assert bool(stats.binomtest(len(found), size, chance).pvalue >= ALPHA) is plausible
    assert found == sorted(found)


def test_a_release_tells_the_weights_that_are_shown_and_no_other() -> None:
    mechanism = WeightedKeys(2, 20)  # nine deviations above the weight of a few
    found = mechanism.release({"many": 1000, "few": 1, "some": 500})
    assert set(found) == {"many", "some"}
    assert abs(found["many"] - 1000) < 40
    keys, noisy = mechanism.release_with_numbers(Sensitive((["x", "y"], BoundedIntegers.clamped([300, 0], 300))))
    assert keys == ["x"]
    assert abs(noisy[0] - 300) < 40


def test_what_a_promise_says_is_a_point_of_the_curve() -> None:
    event = events.GaussianKeys(5, "1e-8")
    promise = event.guarantee()
    assert promise.delta == F(2, 10**8)
    assert GaussianDP("0.2").delta_at(promise.epsilon) <= F(1, 10**8)
