"""Junction trees against the whole distribution, written out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from giveortake.synth.junction_tree import Calibrated, JunctionTree, Triangulation, cells_of

SIZES = [2, 3, 4, 3, 2, 3]
GROUPS: dict[str, list[tuple[int, ...]]] = {
    "a cycle and a column alone": [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (5,)],
    "a chain": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "columns alone": [(each,) for each in range(6)],
    "a star": [(0, each) for each in range(1, 6)],
    "triples": [(0, 1, 2), (2, 3, 4), (0, 5)],
}


def _made(groups: list[tuple[int, ...]], *, zeros: bool = False) -> tuple[Calibrated, float, Any]:
    generator = np.random.default_rng(len(groups))
    factors = {group: generator.normal(size=[SIZES[each] for each in group]) for group in groups}
    if zeros:
        factors[groups[0]].ravel()[:2] = -math.inf
    whole = np.zeros(SIZES)
    for group, factor in factors.items():
        whole = whole + factor.reshape([SIZES[each] if each in group else 1 for each in range(len(SIZES))])
    calibrated, logarithm = JunctionTree.from_groups(SIZES, groups).calibrate(factors)
    return calibrated, logarithm, np.exp(whole)


def test_every_marginal_is_that_of_the_whole_distribution() -> None:
    for (name, groups), zeros in itertools.product(GROUPS.items(), (False, True)):
        calibrated, logarithm, whole = _made(groups, zeros=zeros and len(groups[0]) > 1)
        assert logarithm == pytest.approx(math.log(whole.sum()))
        for count in range(1, len(SIZES) + 1):
            for columns in itertools.combinations(range(len(SIZES)), count):
                others = tuple(each for each in range(len(SIZES)) if each not in columns)
                marginal = whole.sum(axis=others) / whole.sum()
                assert np.allclose(calibrated.marginal(columns), marginal, atol=1e-12), (name, columns)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
def test_every_group_lies_in_a_clique_and_columns_are_in_all_cliques_between(groups: list[tuple[int, ...]]) -> None:
    tree = JunctionTree.from_groups(SIZES, groups)
    assert all(tree.home(group) is not None for group in groups)
    assert tree.cells == sum(cells_of(clique, SIZES) for clique in tree.cliques)
    for column in range(len(SIZES)):
        holding = [each for each, clique in enumerate(tree.cliques) if column in clique]
        tops = [each for each in holding if tree.parents[each] not in holding]
        assert len(tops) == 1  # those that hold it are connected


def test_what_cannot_be_has_no_sum() -> None:
    tree = JunctionTree.from_groups([2, 2], [(0,), (1,)])
    factors: dict[tuple[int, ...], Any] = {(0,): np.full(2, -math.inf), (1,): np.zeros(2)}
    assert tree.calibrate(factors)[1] == -math.inf


def test_columns_that_nothing_relates_are_not_put_together() -> None:
    made = Triangulation.from_groups([10, 20, 30], [(0, 1)])
    assert made.cliques == ((0, 1), (2,))
    assert made.cells == 230
