"""Matrices for running totals: their integers, their price, and what is known from them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from cases import all_cases
from giveortake.codec import tag_of
from giveortake.errors import SensitiveValue
from giveortake.mechanisms import Laplace, Sensitive
from giveortake.mechanisms import additive as tails
from giveortake.mechanisms.additive import LaplaceTail, quantile, reach
from giveortake.mechanisms.mechanism import BoundedIntegers, PrefixStrategy
from giveortake.mechanisms.prefix_sums import ConsistentTree, SquareRoot
from statistics_of_draws import ALPHA

SIZES = [1, 2, 7, 33, 100, 500, 1000, 1024]
STRATEGIES: list[PrefixStrategy] = [
    *(SquareRoot(size) for size in SIZES),
    *(ConsistentTree.over(size) for size in SIZES),
    ConsistentTree((2, 3, 4), 20),
]
FEW: list[PrefixStrategy] = [SquareRoot(6), *(ConsistentTree(*each) for each in (((6,), 6), ((2, 3), 6), ((3, 2), 5)))]


def _name(strategy: PrefixStrategy) -> str:
    return f"{tag_of(type(strategy))} over {strategy.size}"


def _matrix(strategy: PrefixStrategy) -> np.ndarray:
    return strategy.transform(np.eye(strategy.size, dtype=np.int64)).T


def _sections(strategy: PrefixStrategy, change: np.ndarray) -> list[list[int]]:
    ends = np.cumsum([0, *strategy.sections])
    return [change[start:end].tolist() for start, end in itertools.pairwise(ends)]


def test_the_square_root_has_the_nearest_whole_numbers_to_the_central_binomials() -> None:
    entries = SquareRoot(1024).column
    for place, entry in enumerate(entries):
        exact = Fraction(1024 * math.comb(2 * place, place), 4**place)
        assert abs(entry - exact) <= Fraction(1, 2)
    assert entries[:8] == (1024, 512, 384, 320, 280, 252, 231, 215)


def test_the_square_root_times_itself_is_the_matrix_of_running_totals_up_to_rounding() -> None:
    matrix = _matrix(SquareRoot(64)) / 1024
    assert np.abs(matrix @ matrix - np.tril(np.ones((64, 64)))).max() < 0.02


@all_cases("strategy", STRATEGIES)
def test_the_declared_norms_are_those_of_the_longest_column(strategy: PrefixStrategy) -> None:
    matrix = _matrix(strategy)
    assert (matrix >= 0).all()
    assert matrix.shape == (sum(strategy.sections), strategy.size)
    norms = [_sections(strategy, column) for column in matrix.T]
    assert strategy.l1 == max(sum(part) for parts in norms for part in parts)
    square = max(sum(entry * entry for entry in part) for parts in norms for part in parts)
    assert square <= strategy.l2**2 < square * (1 + Fraction(1, 10**9))


@all_cases("strategy", FEW)
@all_cases("rows", [1, 2, 3])
def test_no_person_moves_more_than_their_rows_times_the_longest_column(strategy: PrefixStrategy, rows: int) -> None:
    """Every way to put so many rows, or fewer, into the bins; added, and put in the place of every other way."""
    matrix = _matrix(strategy)
    bins = range(strategy.size)
    ways = {
        tuple(combination.count(place) for place in bins)
        for count in range(rows + 1)
        for combination in itertools.combinations_with_replacement(bins, count)
    }
    moved = {way: matrix @ np.array(way) for way in ways}
    nearest = Fraction(0)
    for vector in moved.values():
        for part in _sections(strategy, vector):
            square = sum(entry * entry for entry in part)
            assert sum(part) <= rows * strategy.l1
            assert square <= (rows * strategy.l2) ** 2
            nearest = max(nearest, square / (rows * strategy.l2) ** 2)
    assert nearest > 1 - Fraction(1, 10**9)  # so that the square root of the rows would be too little
    for one, other in itertools.combinations(moved.values(), 2):
        for part in _sections(strategy, one - other):
            assert sum(map(abs, part)) <= 2 * rows * strategy.l1
            assert sum(entry * entry for entry in part) <= 2 * (rows * strategy.l2) ** 2


@all_cases("strategy", STRATEGIES)
def test_running_totals_are_exact_without_noise(strategy: PrefixStrategy) -> None:
    bins = np.random.default_rng(3).integers(0, 1000, (3, strategy.size))
    totals = strategy.running_totals(strategy.transform(bins).astype(np.float64))
    assert totals.shape == (3, strategy.size + 1)
    assert not totals[:, 0].any()
    assert np.allclose(totals[:, 1:], bins.cumsum(axis=1), rtol=1e-9, atol=1e-6)
    weights = strategy.weights()
    assert np.allclose(weights @ strategy.transform(bins)[0], totals[0], rtol=1e-9, atol=1e-6)


@all_cases("strategy", FEW)
def test_no_keys_are_transformed_to_no_integers(strategy: PrefixStrategy) -> None:
    empty = strategy.transform(np.zeros((0, strategy.size), dtype=np.int64))
    assert empty.shape == (0, sum(strategy.sections))
    assert strategy.running_totals(empty.astype(np.float64)).shape == (0, strategy.size + 1)


@all_cases("size", [10**6, 2**45, 2**58, 2**62])
def test_products_are_exact_beyond_what_doubles_hold(size: int) -> None:
    strategy = SquareRoot(5)
    bins = np.array([[size, 1, size - 1, 3, 7]])
    expected = [[sum(strategy.column[i - j] * int(bins[0, j]) for j in range(i + 1)) for i in range(5)]]
    exactly = Sensitive(BoundedIntegers.clamped(bins, size)).through(strategy)
    assert Laplace("1e-3").release(exactly).tolist() == expected  # noise that rounds to zero


def test_the_square_root_has_the_error_that_is_known_of_it() -> None:
    strategy = SquareRoot(1024)
    deviations = np.linalg.norm(strategy.weights()[1:], axis=1) * float(strategy.l2)
    assert round(float(deviations.max()), 2) == 3.27
    assert round(math.sqrt(float((deviations**2).mean())), 2) == 3.11


def _rank_error(tree: ConsistentTree) -> float:
    """The deviation of a median's rank at ε = 1, over all borders."""
    weights = tree.weights()
    variances = 2 * ((weights - weights[-1] / 2) ** 2).sum(axis=1)
    return math.sqrt(float(variances.mean())) * float(tree.l1) * len(tree.branches)


@all_cases("size", [16, 40, 41, 100, 300, 500, 1000])
def test_no_other_equal_branching_is_much_better(size: int) -> None:
    chosen = _rank_error(ConsistentTree.over(size))
    for levels in (1, 2, 3, 4):
        each = math.ceil(round(size ** (1 / levels), 9))
        assert chosen <= 1.05 * _rank_error(ConsistentTree((each,) * levels, size))


def test_a_tree_of_ten_by_ten_by_ten_halves_the_error_of_a_binary_one() -> None:
    assert _rank_error(ConsistentTree.over(1000)) < 9.6
    assert _rank_error(ConsistentTree((2,) * 10, 1000)) > 15


def test_estimates_of_a_tree_are_those_of_least_squares() -> None:
    tree = ConsistentTree((2, 3, 4), 24)
    matrix = _matrix(tree) / 64
    released = np.random.default_rng(5).normal(0, 1000, (4, sum(tree.sections)))
    leaves = np.linalg.lstsq(matrix, released.T / 64, rcond=None)[0].T
    assert np.allclose(tree.running_totals(released)[:, 1:], leaves.cumsum(axis=1))


def test_only_a_strategy_may_transform_what_is_sensitive() -> None:
    bins = Sensitive(BoundedIntegers.clamped(np.array([[1, 2]]), 2))
    assert repr(bins.through(SquareRoot(2))) == "<sensitive>"
    with pytest.raises(SensitiveValue):
        bins.through(print)  # type: ignore[arg-type]


@all_cases("miss", [0.2, 0.05, 0.01, 0.001])
def test_quantiles_of_sums_of_laplace_noises_are_never_too_small_and_seldom_much_too_large(miss: float) -> None:
    one, two, alike, none = tails.quantiles(np.array([[1.0, 0], [1, 0.3], [1, 1], [0, 0]]), miss)
    exactly = -math.log(miss)
    assert exactly <= one <= 1.02 * exactly
    far = two  # P = (b² e^(−t/b) − c² e^(−t/c)) / (b² − c²) for b = 1 and c = 0.3
    chance = (math.exp(-far) - 0.09 * math.exp(-far / 0.3)) / 0.91
    assert 0.9 * miss <= chance <= miss
    equal = (1 + alike / 2) * math.exp(-alike)  # P = (1 + t/2b) e^(−t/b)
    assert 0.9 * miss <= equal <= miss
    assert none == 0
    assert alike <= quantile([LaplaceTail(1.0), LaplaceTail(1.0)], miss)


@all_cases("miss", [5e-4, 1e-7, 1e-12])
def test_quantiles_at_rare_chances_are_bounded_too(miss: float) -> None:
    one, alike = tails.quantiles(np.array([[1.0, 0], [1, 1]]), miss)
    assert -math.log(miss) <= one <= 1.5 * -math.log(miss)
    assert (1 + alike / 2) * math.exp(-alike) <= miss


@pytest.mark.statistical
def test_sums_of_many_laplace_noises_stray_as_often_as_they_say() -> None:
    luck = np.random.default_rng(7)
    weights = luck.normal(size=(5, 60)) * luck.integers(0, 2, (5, 60))
    draws = np.abs(luck.laplace(size=(200_000, 60)) @ weights.T)
    found = (draws > tails.quantiles(weights, 0.05)).mean(axis=0)
    deviation = math.sqrt(0.05 * 0.95 / 200_000)
    assert (found <= 0.05 + 6 * deviation).all()
    assert (found >= 0.046 - 6 * deviation).all()


WEIGHTS = {
    "one": np.array([3.0]),
    "equal": np.ones(12),
    "growing": 1.25 ** np.arange(20.0),
    "of both signs": np.array([1.0, -4.0, 2.0, -0.5, 8.0]),
    "few of many": np.array([0.0] * 30 + [5.0, 6.0]),
}
DRAWS = 100_000


def rounded(scale: float, shape: tuple[int, int]) -> np.ndarray:
    dice = np.random.default_rng(20261116)
    return np.round(dice.laplace(0, scale, shape))


@pytest.mark.statistical
@all_cases("scale", [1e-5, 0.2, 1.0, 30.0])
@all_cases("name", WEIGHTS)
def test_a_sum_strays_further_no_more_often_than_stated(name: str, scale: float) -> None:
    weights, miss = WEIGHTS[name], 0.01
    sums = rounded(scale, (DRAWS, len(weights))) @ weights
    (bound,) = reach(weights, scale, miss)
    beyond = int((sums > bound).sum())
    assert stats.binomtest(beyond, DRAWS, miss, alternative="greater").pvalue > ALPHA
    half = int((sums > bound / 2).sum())  # and half of it would be told from the truth
    assert stats.binomtest(half, DRAWS, miss, alternative="greater").pvalue < ALPHA or scale < 1


def test_one_noise_is_bounded_by_little_more_than_its_own_tail() -> None:
    scale, miss = 10.0, 1e-4
    exact = scale * math.log(1 / (2 * miss))  # P[Z > t] = e^(−t/b) / 2
    (bound,) = reach(np.array([1.0]), scale, miss)
    assert exact < bound < 1.5 * exact


def test_nothing_strays_where_nothing_weighs() -> None:
    assert reach(np.zeros((2, 5)), 1.0, 0.05).tolist() == [0.0, 0.0]


def test_signs_do_not_matter_and_multiples_are_multiples() -> None:
    weights = np.array([1.0, 2.0, 5.0])
    rows = np.array([weights, -weights, 3 * weights])
    plain, turned, thrice = reach(rows, 2.0, 0.01)
    assert plain == turned
    assert math.isclose(thrice, 3 * plain)
