"""The residual part of a table: its integers, and how far rows move them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.marginals import Contribution, InteractionResiduals, Residual, projected, row_sensitivity
from giveortake.privacy import GaussianDP
from recorded_entropy import RecordedEntropy
from statistics_of_draws import ALPHA

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
