"""Binary trees over bins: sums over pairs of bins, pairs of pairs, and so on, level by level, without the root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers: TypeAlias = npt.NDArray[np.int64]


def nodes_of(leaves: Integers) -> Integers:
    """All levels of the tree side by side: 2, 4, 8, … columns, the leaves last. A leaf moves one node of each.

    >>> nodes_of(np.array([[1, 2, 3, 4]])).tolist()
    [[3, 7, 1, 2, 3, 4]]
    """
    levels = [leaves]
    while levels[0].shape[1] > 2:
        finer = levels[0]
        levels.insert(0, finer[:, 0::2] + finer[:, 1::2])
    return np.concatenate(levels, axis=1)


def levels_of(nodes: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Split what `nodes_of` returned into its levels.

    >>> [level.tolist() for level in levels_of(np.array([[3, 7, 1, 2, 3, 4]]))]
    [[[3, 7]], [[1, 2, 3, 4]]]
    """
    levels, start, width = [], 0, 2
    while start < nodes.shape[1]:
        levels.append(nodes[:, start : start + width])
        start, width = start + width, width * 2
    return levels


def size_of(levels: int) -> int:
    """How many nodes a tree of so many levels has.

    >>> size_of(2)
    6
    """
    return (1 << (levels + 1)) - 2
