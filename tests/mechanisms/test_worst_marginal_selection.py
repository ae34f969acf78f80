"""Selection of the table that a model fits worst: scores on integers, and how far rows move them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cases import all_cases
from giveortake import accounting
from giveortake.accounting.pricing import Rho
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import Sensitive, selection
from giveortake.mechanisms.selection import FINENESS, Candidate, WorstMarginalSelection
from giveortake.privacy import ZCDP

SHAPES = [(2, 3), (4,), (3, 2, 2)]


def _candidates(generator: np.random.Generator) -> tuple[Candidate, ...]:
    return tuple(
        Candidate.from_counts(generator.random(shape) * 20, weight=weight, handicap=3.3)
        for shape, weight in zip(SHAPES, (5, 1, 3), strict=True)
    )


def _greatest_move(
    mechanism: WorstMarginalSelection, generator: np.random.Generator, rows: int, *, changed: bool
) -> int:
    """How far scores move over random neighbours, at most."""
    moved = 0
    for _ in range(200):
        tables: list[Any] = [generator.integers(0, 30, shape) for shape in SHAPES]
        others = [table.copy() for table in tables]
        for _row in range(rows):
            for table in others:
                table[tuple(generator.integers(0, size) for size in table.shape)] += 1
                if changed:
                    table[tuple(generator.integers(0, size) for size in table.shape)] -= 1
        pairs = zip(mechanism.scores(tables), mechanism.scores(others), strict=True)
        moved = max(moved, *(abs(one - other) for one, other in pairs))
    return moved


@all_cases("rows", [1, 3])
@all_cases("relation", ["add-remove", "change-one"])
def test_no_neighbour_moves_a_score_by_more_than_was_declared_and_some_do(relation: Any, rows: int) -> None:
    generator = np.random.default_rng(rows)
    mechanism = WorstMarginalSelection(_candidates(generator), 1, rows, relation)
    moved = _greatest_move(mechanism, generator, rows, changed=relation == "change-one")
    assert moved <= mechanism.sensitivity
    assert moved > mechanism.sensitivity / 2


def test_scores_that_are_off_by_a_factor_of_two_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = selection._distance
    monkeypatch.setattr(selection, "_distance", lambda counts, expected: 2 * right(counts, expected))
    generator = np.random.default_rng(0)
    mechanism = WorstMarginalSelection(_candidates(generator), 1)
    assert _greatest_move(mechanism, generator, 1, changed=False) > mechanism.sensitivity


def test_a_selection_costs_an_eighth_of_epsilon_squared() -> None:
    mechanism = WorstMarginalSelection(_candidates(np.random.default_rng(0)), "1/3", 2, "change-one")
    assert mechanism.event().epsilon == Fraction(1, 3)
    assert accounting.filter(ZCDP(1)).cost(mechanism.event(), Rho()) == pytest.approx(Fraction(1, 72), rel=1e-9)


def test_the_worst_fitted_table_is_selected_if_much_is_spent() -> None:
    offered = tuple(Candidate.from_counts(np.zeros(shape)) for shape in SHAPES)
    tables: list[Any] = [
        Sensitive(np.zeros(SHAPES[0], dtype=np.int64)),
        Sensitive(np.full(SHAPES[1], 9)),
        np.zeros(SHAPES[2], dtype=np.int64),
    ]
    assert WorstMarginalSelection(offered, 1000).release(tables) == 1
    handicapped = (offered[0], Candidate.from_counts(np.zeros(SHAPES[1]), handicap=100), offered[2])
    assert WorstMarginalSelection(handicapped, 1000).release(tables) != 1


def test_a_models_counts_are_put_on_the_lattice_before_they_meet_exact_ones() -> None:
    (candidate,) = (Candidate.from_counts(np.array([1.004, 2.5]), handicap=0.75),)
    assert candidate.expected.tolist() == [FINENESS, 2 * FINENESS + FINENESS // 2]
    assert candidate.handicap == 48


@all_cases("counts", [[np.nan], [np.inf], [2.0**60]])
def test_what_is_no_number_of_rows_is_refused(counts: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="rows"):
        Candidate.from_counts(np.array(counts))
    with pytest.raises(InvalidParameter, match="is empty"):
        WorstMarginalSelection((), 1)
