"""Systematic samples: close to the model, and without relations that the model does not have."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from giveortake.synth import model as sampler
from giveortake.synth.junction_tree import Calibrated, JunctionTree
from giveortake.synth.model import systematic_sample
from recorded_entropy import RecordedEntropy

SIZES = [4, 5, 6, 3]
ROWS = 6000


def _chain() -> Calibrated:
    generator = np.random.default_rng(2)
    factors = {(0, 1): generator.normal(size=(4, 5)), (1, 2): generator.normal(size=(5, 6)), (3,): np.zeros(3)}
    return JunctionTree.from_groups(SIZES, factors).calibrate(factors)[0]


def _distances(model: Calibrated, table: Any) -> dict[tuple[int, int], float]:
    found = {}
    for one, other in itertools.combinations(range(4), 2):
        counts = np.bincount(table[:, one] * SIZES[other] + table[:, other], minlength=SIZES[one] * SIZES[other])
        found[one, other] = float(0.5 * np.abs(counts / len(table) - model.marginal((one, other)).ravel()).sum())
    return found


def test_tables_of_a_sample_are_those_of_the_model_also_where_nothing_was_measured() -> None:
    model = _chain()
    drawn = systematic_sample(model, ROWS, RecordedEntropy("rows"))
    found = _distances(model, drawn)
    assert max(found[0, 1], found[1, 2]) < 0.004  # systematic: independent draws would be at .02
    assert max(found[0, 2], found[0, 3], found[2, 3]) < 0.03


def test_rows_that_are_ranked_in_their_own_order_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_row_order(groups: Any, count: int, entropy: Any) -> Any:
        order = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups, minlength=count)
        first = np.cumsum(sizes) - sizes
        levels = np.empty(len(groups))
        levels[order] = (np.arange(len(groups)) - first[groups[order]] + 0.5) / sizes[groups[order]]
        return levels

    monkeypatch.setattr(sampler, "_levels", in_row_order)
    model = _chain()
    found = _distances(model, systematic_sample(model, ROWS, RecordedEntropy("rows")))
    assert max(found[0, 2], found[0, 3], found[2, 3]) > 0.1


def test_cells_of_no_chance_are_never_drawn() -> None:
    factors = {(0, 1): np.where(np.eye(4, 5, dtype=bool), -np.inf, 0.0), (1, 2): np.zeros((5, 6)), (3,): np.zeros(3)}
    model = JunctionTree.from_groups(SIZES, factors).calibrate(factors)[0]
    drawn = systematic_sample(model, 2000)
    assert not (drawn[:, 0] == drawn[:, 1]).any()


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_few_rows_are_drawn_too(rows: int) -> None:
    drawn = systematic_sample(_chain(), rows)
    assert drawn.shape == (rows, 4)
    assert (drawn < SIZES).all()
