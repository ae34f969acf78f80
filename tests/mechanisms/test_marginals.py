"""Residuals of marginals: their integers, their law against their price, and tables made of them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import laws
from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.marginals import (
    Contribution,
    InteractionResiduals,
    Residual,
    cell_variance,
    covariance,
    projected,
    rebuilt,
    row_sensitivity,
    shrinkage,
)
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.privacy import GaussianDP
from recorded_entropy import RecordedEntropy
from statistics_of_draws import ALPHA

SIZES: list[tuple[int, ...]] = [(), (2,), (3,), (5,), (2, 2), (3, 2), (4, 3), (2, 2, 3), (3, 4, 5)]


def _centred(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _tables(sizes: tuple[int, ...], rows: int, values: tuple[int, ...] = (1,)) -> list[npt.NDArray[np.float64]]:
    """Every table that some rows make, each in a cell with a value; fewer rows are there too."""
    cells = list(itertools.product(*map(range, sizes)))
    made = [np.zeros(sizes)]
    for several in range(1, rows + 1):
        for chosen in itertools.product(itertools.product(cells, values), repeat=several):
            table = np.zeros(sizes)
            for cell, value in chosen:
                table[cell] += value
            made.append(table)
    return made


@all_cases("sizes", SIZES)
def test_what_leaves_does_not_change_with_tables_that_are_constant_along_an_axis(sizes: tuple[int, ...]) -> None:
    residual, generator = Residual(sizes, 1), np.random.default_rng(1)
    table = generator.integers(0, 100, sizes)
    for axis in range(len(sizes)):
        constant = np.broadcast_to(generator.integers(-9, 9, sizes).take([0], axis=axis), sizes)
        assert np.array_equal(
            residual.differences(table.reshape(-1)), residual.differences((table + constant).reshape(-1))
        )
    assert residual.differences(table.reshape(-1)).size == residual.released


@all_cases("sizes", SIZES)
def test_without_noise_the_estimate_is_the_table_less_all_means(sizes: tuple[int, ...]) -> None:
    residual = Residual(sizes, 1)
    table = np.random.default_rng(2).integers(0, 100, sizes)
    found = residual.estimate(residual.differences(table.reshape(-1) * residual.cells))
    assert np.allclose(found, _centred(table.astype(float)))


@all_cases("sizes", [(2,), (3,), (2, 2), (3, 2)])
@all_cases("rows", [1, 2])
def test_the_price_is_the_greatest_move_of_all_units(sizes: tuple[int, ...], rows: int) -> None:
    contribution = Contribution(rows)
    moves = [float((_centred(table) ** 2).sum()) for table in _tables(sizes, rows)]
    assert max(moves) == pytest.approx(float(contribution.square_if_added(sizes)))
    units = [table for table in _tables(sizes, rows) if table.sum() == rows]
    changes = [float((_centred(one - other) ** 2).sum()) for one in units for other in units]
    assert max(changes) == pytest.approx(float(contribution.square_if_moved(sizes)))


@all_cases(("least", "most"), [(0, 3), (-3, 3), (-1, 3), (1, 3)])
def test_the_price_of_sums_covers_all_values_and_both_ways_of_changing(least: int, most: int) -> None:
    contribution, sizes = Contribution(1, least, most), (3, 2)
    values = tuple(range(least, most + 1))
    added = [float((_centred(table) ** 2).sum()) for table in _tables(sizes, 1, values)]
    assert max(added) == pytest.approx(float(contribution.square_if_added(sizes)))
    units = _tables(sizes, 1, values)[1:]
    changed = max(float((_centred(one - other) ** 2).sum()) for one in units for other in units)
    assert changed == pytest.approx(float(contribution.square_if_moved(sizes)))
    totals = max((one.sum() - other.sum()) ** 2 for one in units for other in units)
    assert totals == contribution.square_if_moved(())


def test_rows_in_cells_apart_are_bounded_by_their_number_and_others_are_not() -> None:
    sizes, rows = (6, 6), 5
    apart = Contribution(rows, apart=True)
    assert apart.square_if_added(sizes) == rows
    assert apart.square_if_moved(sizes) == 2 * rows
    one_cell = np.zeros(sizes)
    one_cell[0, 0] = rows
    assert float((_centred(one_cell) ** 2).sum()) > rows  # √m would not do where rows share a cell
    assert Contribution(rows).square_if_added(sizes) == rows**2 * shrinkage(sizes)
    assert Contribution(1, apart=True).square_if_added(sizes) == shrinkage(sizes)


def _law(residual: Residual, reach: int) -> tuple[list[tuple[int, ...]], npt.NDArray[np.float64]]:
    """The law of what leaves for an empty table, by enumeration of all noise up to `reach`."""
    single = laws.rounded_normal(residual.cells * residual.sigma)
    chances = np.array([float(single(k)) for k in range(-reach, reach + 1)])
    noise = np.array(list(itertools.product(range(-reach, reach + 1), repeat=residual.cells)))
    weights = np.prod(chances[noise + reach], axis=1)
    table = noise.reshape(-1, *residual.sizes)
    for axis in range(1, len(residual.sizes) + 1):
        table = np.take(table, range(1, table.shape[axis]), axis=axis) - np.take(table, [0], axis=axis)
    outcomes, places = np.unique(table.reshape(len(noise), -1), axis=0, return_inverse=True)
    return list(map(tuple, outcomes.tolist())), np.bincount(places.reshape(-1), weights).astype(np.float64)


def _excess(residual: Residual, change: npt.NDArray[np.int64], epsilon: float, reach: int) -> float:
    """δ(ε) between two tables that differ by `change`."""
    outcomes, chances = _law(residual, reach)
    known = dict(zip(outcomes, chances.tolist(), strict=True))
    shift = residual.differences(change.reshape(-1) * residual.cells).tolist()
    moved = [known.get(tuple(a - b for a, b in zip(each, shift, strict=True)), 0.0) for each in outcomes]
    return float(np.maximum(chances - math.exp(epsilon) * np.array(moved), 0).sum())


@all_cases(("sizes", "sigma", "reach"), [((2,), "3/4", 12), ((3,), "1/2", 10), ((2, 2), "1/3", 7), ((), "2", 18)])
@all_cases("changed", [False, True])
def test_the_law_of_a_release_is_within_its_price_and_near_it(
    sizes: tuple[int, ...], sigma: str, reach: int, *, changed: bool
) -> None:
    residual = Residual(sizes, Fraction(sigma))
    row, other = np.zeros(sizes, dtype=np.int64), np.zeros(sizes, dtype=np.int64)
    row[(0,) * len(sizes)] = 1
    other[(1, *[0] * (len(sizes) - 1))[: len(sizes)]] = 1
    square = Contribution().square_if_moved(sizes) if changed else Contribution().square_if_added(sizes)
    change = row - other if changed else row
    for epsilon in ("0.1", "0.5", "1"):
        exactly = _excess(residual, change, float(epsilon), reach)
        if square == 0:
            assert exactly < 1e-12  # the total does not change with a row
            continue
        promised = float(GaussianDP(math.sqrt(square / residual.sigma**2)).delta_at(epsilon))
        assert exactly <= promised + 1e-6  # what lies beyond the reach
        assert exactly >= 0.6 * promised


def test_twice_p_is_no_price_of_a_changed_row() -> None:
    residual = Residual((2,), Fraction(1))
    exactly = _excess(residual, np.array([1, -1]), 0.5, 14)
    claimed = math.sqrt(2 * shrinkage((2,)) / residual.sigma**2)
    assert exactly > 1.3 * float(GaussianDP(claimed).delta_at("0.5"))


def test_tables_are_rebuilt_from_their_residuals_exactly_if_there_is_no_noise() -> None:
    sizes = (3, 4, 2)
    table = np.random.default_rng(3).integers(0, 50, sizes)
    parts = {}
    for length in range(4):
        for axes in itertools.combinations(range(3), length):
            others = tuple(axis for axis in range(3) if axis not in axes)
            residual = Residual([sizes[axis] for axis in axes], 1)
            kept = Sensitive(BoundedIntegers.clamped(table.reshape(-1), 50)).summed(sizes, axes)
            exactly = kept.open(residual).released()
            assert np.array_equal(exactly, table.sum(axis=others).reshape(-1))
            parts[axes] = residual.estimate(residual.differences(exactly * residual.cells))
    assert np.allclose(rebuilt(sizes, parts), table)


def test_a_sum_over_axes_keeps_the_order_that_was_asked_for() -> None:
    table = np.arange(24)
    swapped = (
        Sensitive(BoundedIntegers.clamped(table, 24)).summed((2, 3, 4), (2, 0)).open(Residual((4, 2), 1)).released()
    )
    assert np.array_equal(swapped, table.reshape(2, 3, 4).sum(axis=1).T.reshape(-1))


def test_cells_have_the_stated_covariance_and_another_is_caught() -> None:
    sizes, draws = (3, 2), 600
    sigmas = {(): Fraction(2), (0,): Fraction(3), (1,): Fraction(1), (0, 1): Fraction(4)}
    residuals = {axes: Residual([sizes[axis] for axis in axes], sigma) for axes, sigma in sigmas.items()}
    variances = {axes: residual.variance for axes, residual in residuals.items()}
    stated = covariance(sizes, variances)
    assert np.allclose(np.diag(stated), cell_variance(sizes, variances))
    found = np.array(
        [
            rebuilt(
                sizes,
                {
                    axes: residual.estimate(residual.release(np.zeros(residual.cells, dtype=np.int64)))
                    for axes, residual in residuals.items()
                },
            ).reshape(-1)
            for _ in range(draws)
        ]
    )
    root = np.linalg.cholesky(np.linalg.inv(stated))
    whitened = found @ root
    square = float((whitened**2).sum())
    law = stats.chi2(draws * found.shape[1])
    assert law.ppf(ALPHA) < square < law.isf(ALPHA)
    assert not law.ppf(ALPHA) < square * 1.3 < law.isf(ALPHA)
    crossed = np.abs(np.cov(whitened.T) - np.eye(found.shape[1])).max()
    assert crossed < 9 / math.sqrt(draws)  # six deviations of a variance, and nine of a covariance


def test_integers_beyond_64_bits_stay_exact() -> None:
    residual = Residual((3, 2), Fraction(1, 100))
    table = np.array([2**61, 0, 5, 0, 0, 1])
    found = residual.release(table)
    assert found.dtype == object
    assert abs(found[0] - 6 * (2**61 - 5)) <= 6


def test_an_attribute_of_one_value_has_no_residual() -> None:
    with pytest.raises(InvalidParameter, match="one value"):
        Residual((3, 1), 1)
    with pytest.raises(InvalidParameter, match="cells"):
        Residual((3,), 1).release(np.array([1, 2]))


SHAPES: list[tuple[int, ...]] = [(2, 2), (2, 3), (3, 4), (2, 2, 3), (2, 3, 2, 2)]


def _cell(shape: tuple[int, ...], place: tuple[int, ...]) -> npt.NDArray[np.int64]:
    table = np.zeros(shape, dtype=np.int64)
    table[place] = 1
    return table


def _without_noise(table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.asarray(projected(table * table.size))


@all_cases("shape", SHAPES)
def test_single_columns_and_the_total_are_taken_out(shape: tuple[int, ...]) -> None:
    released = InteractionResiduals(shape, 5).release(np.arange(math.prod(shape)).reshape(shape))
    for axis in range(len(shape)):
        others = tuple(each for each in range(len(shape)) if each != axis)
        assert not released.sum(axis=others).any()


@all_cases("shape", SHAPES)
def test_a_row_moves_the_integers_exactly_as_far_as_is_declared(shape: tuple[int, ...]) -> None:
    cells, count = list(itertools.product(*map(range, shape))), math.prod(shape)
    first = _cell(shape, cells[0])
    added = Fraction(int((_without_noise(first) ** 2).sum()), count**4)
    changed = max(
        Fraction(int((_without_noise(first - _cell(shape, other)) ** 2).sum()), count**4) for other in cells[1:]
    )
    for relation, length in (("add-remove", added), ("change-one", changed)):
        declared = row_sensitivity(shape, relation) ** 2  # type: ignore[arg-type]
        assert length <= declared < length * Fraction(10**9 + 1, 10**9)
    assert added < 1


@all_cases("shape", [shape for shape in SHAPES if len(shape) == 2])
def test_of_two_columns_it_is_their_residual_at_the_same_price(shape: tuple[int, ...]) -> None:
    price = Contribution()
    for relation, square in (
        ("add-remove", price.square_if_added(shape)),
        ("change-one", price.square_if_moved(shape)),
    ):
        assert row_sensitivity(shape, relation) ** 2 == pytest.approx(square, rel=1e-9)  # type: ignore[arg-type]
    table, residual = np.arange(math.prod(shape)).reshape(shape) ** 2, Residual(shape, 1)
    exact = residual.estimate(residual.differences(table.ravel() * residual.cells))
    assert np.allclose(exact, _without_noise(table) / residual.cells**2)


@all_cases("shape", SHAPES)
def test_on_neighbours_the_same_noise_gives_integers_that_differ_by_the_shift_of_the_proof(
    shape: tuple[int, ...],
) -> None:
    table = np.random.default_rng(3).integers(0, 50, shape)
    row = _cell(shape, tuple(size - 1 for size in shape))
    mechanism, count = InteractionResiduals(shape, 2), math.prod(shape)
    with_row, without = (
        mechanism.release(Sensitive(each), RecordedEntropy("the same")) for each in (table + row, table)
    )
    shift = _without_noise(row)
    assert np.array_equal(with_row - without, shift)
    assert (shift % count == 0).all()  # so that the noise, which is on the integers, is moved by whole steps


def test_the_noise_of_an_estimate_has_the_stated_deviation_and_no_other() -> None:
    shape, sigma = (4, 5), 3
    released = np.array(
        [InteractionResiduals(shape, sigma).release(np.zeros(shape, dtype=np.int64)) for _ in range(300)]
    )
    squares = float(((released / 400.0) ** 2).sum())
    freedom = 300 * 3 * 4
    for claim, plausible in ((sigma, True), (0.85 * sigma, False), (1.2 * sigma, False)):
        chance = 2 * min(stats.chi2.cdf(squares / claim**2, freedom), stats.chi2.sf(squares / claim**2, freedom))
        assert (chance > ALPHA) == plausible


def test_its_event_is_gaussian_in_units_of_what_rows_move() -> None:
    mechanism = InteractionResiduals((2, 2), 1)
    assert mechanism.event(3 * row_sensitivity((2, 2), "add-remove")).guarantee() == GaussianDP(
        3 * row_sensitivity((2, 2), "add-remove")
    )


def test_counts_beyond_64_bits_stay_exact() -> None:
    table = np.array([[2**61, 0], [0, 0]])
    released = InteractionResiduals((2, 2), "1e-3").release(table)  # noise that rounds to zero
    assert released.tolist() == [[4 * 2**61, -4 * 2**61], [-4 * 2**61, 4 * 2**61]]


@all_cases("shape", [(3,), (1, 4), ()])
def test_tables_without_interactions_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidParameter, match="no interactions"):
        InteractionResiduals(shape, 1)
