"""Consistent tables: never negative, in agreement with each other, and near what was released."""

from __future__ import annotations

import itertools

import numpy as np

from cases import all_cases
from giveortake.workload.bound_workload import Layout
from giveortake.workload.results import consistent_tables, rising

SIZES = (3, 4, 5, 2)
PAIRS: list[tuple[int, ...]] = list(itertools.combinations(range(4), 2))


def _noisy(
    rows: int, deviation: float, seed: int
) -> tuple[dict[tuple[int, ...], np.ndarray], dict[tuple[int, ...], np.ndarray]]:
    random = np.random.default_rng(seed)
    joint = random.multinomial(rows, random.dirichlet(np.full(120, 0.2))).reshape(SIZES).astype(float)
    truth = {pair: joint.sum(axis=tuple(axis for axis in range(4) if axis not in pair)) for pair in PAIRS}
    return truth, {pair: table + random.normal(0, deviation, table.shape) for pair, table in truth.items()}


@all_cases(("rows", "deviation"), [(1000, 10), (100, 30), (10, 50), (0, 5)])
def test_tables_are_never_negative_and_their_sums_agree(rows: int, deviation: float) -> None:
    _, noisy = _noisy(rows, deviation, seed=rows)
    found = consistent_tables(SIZES, noisy, dict.fromkeys(PAIRS, deviation**2))
    totals = [found.tables[pair].sum() for pair in PAIRS]
    assert np.ptp(totals) < 1e-6 * max(1.0, *totals)
    for pair in PAIRS:
        assert found.tables[pair].min() >= 0
        for attribute in pair:
            axis = 1 - pair.index(attribute)
            assert np.allclose(found.tables[pair].sum(axis=axis), found.table((attribute,)), atol=1e-6 * max(rows, 1))


def test_they_are_nearer_to_the_truth_than_what_was_released() -> None:
    errors = []
    for seed in range(5):
        truth, noisy = _noisy(300, 10, seed)
        found = consistent_tables(SIZES, noisy, dict.fromkeys(PAIRS, 100.0))
        errors.append(
            [
                np.mean([((tables[pair] - truth[pair]) ** 2).mean() for pair in PAIRS])
                for tables in (noisy, found.tables)
            ]
        )
    released, consistent = np.mean(errors, axis=0)
    assert consistent < 0.7 * released


def test_tables_that_are_consistent_stay_as_they_are() -> None:
    truth, _ = _noisy(500, 0, seed=9)
    found = consistent_tables(SIZES, truth, dict.fromkeys(PAIRS, 1.0))
    for pair in PAIRS:
        assert np.allclose(found.tables[pair], truth[pair], atol=1e-6)


def test_running_totals_are_made_to_rise() -> None:
    assert rising(np.array([[1.0, 3.0, 2.0, 2.0, 9.0], [-4.0, -2.0, -3.0, 5.0, 5.0]])).tolist() == [
        [1.0, 7 / 3, 7 / 3, 7 / 3, 9.0],
        [0.0, 0.0, 0.0, 5.0, 5.0],
    ]


def test_the_largest_marginals_are_part_of_no_other() -> None:
    layout = Layout.of([2] * 5, [(0,), (0, 1), (1, 2, 3), (2, 3), (4,), ()])
    assert layout.largest() == [(0, 1), (1, 2, 3), (4,)]
