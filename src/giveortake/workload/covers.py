"""Choose the tables to ask an engine for, so that every marginal is a sum over one of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = 1 << 14  # cells of a merged table; merging saves passes over the rows
_FEW = 5_000  # tables; more are not merged


def covers(sizes: Sequence[int], marginals: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Sets of attributes, each in rising order, such that every marginal is part of one; found greedily in one pass.

    A marginal joins the table that grows least by it, unless that would have too many cells.
    """
    made: list[set[int]] = []
    for marginal in sorted(map(set, marginals), key=lambda each: (-_cells(sizes, each), sorted(each))):
        if any(marginal <= each for each in made):
            continue
        grown = [(_cells(sizes, each | marginal), place) for place, each in enumerate(made)] if len(made) < _FEW else []
        _, place = min((pair for pair in grown if pair[0] <= LARGEST), default=(0, -1))
        if place < 0:
            made.append(marginal)
        else:
            made[place] |= marginal
    return [tuple(sorted(each)) for each in made]


def _cells(sizes: Sequence[int], attributes: set[int]) -> int:
    return math.prod(sizes[each] for each in attributes)
