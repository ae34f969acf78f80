"""Rows of a fitted distribution: systematic samples, randomly permuted within each group.

The rows are made clique by clique. Within every group of rows that agree on what is known already, new values get
their expected numbers of rows, rounded up or down, which makes samples much closer to the model than independent draws.
*Which* rows of the group get which value is a fresh permutation for every clique. If it were the order of the rows, one
clique's order would be the next one's, and columns that the model has no relation between would be correlated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from giveortake.randomness import SYSTEM_ENTROPY, uniform_integers

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.randomness import Entropy
    from giveortake.synth.junction_tree import Calibrated

    Places: TypeAlias = npt.NDArray[np.int32]
    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

_DIGITS = 1 << 62


def systematic_sample(calibrated: Calibrated, rows: int, entropy: Entropy = SYSTEM_ENTROPY) -> Places:
    """A sample of `rows` rows; each column holds the places of its values."""
    tree = calibrated.tree
    table = np.zeros((rows, len(tree.sizes)), dtype=np.int32)
    for each in tree.order:
        known = tree.separators[each]
        clique = tree.cliques[each]
        new = tuple(column for column in clique if column not in known)
        groups = _codes(table, known, tree.sizes)
        belief = np.transpose(calibrated.beliefs[each], [clique.index(column) for column in (*known, *new)])
        chances = np.maximum(belief.reshape(int(np.prod([tree.sizes[column] for column in known])), -1), 0.0)
        codes = _drawn(groups, chances, entropy)
        for column in reversed(new):
            codes, table[:, column] = np.divmod(codes, tree.sizes[column])
    return table


def _codes(table: Places, columns: tuple[int, ...], sizes: tuple[int, ...]) -> Integers:
    codes = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        codes = codes * sizes[column] + table[:, column]
    return codes


def _drawn(groups: Integers, chances: Floats, entropy: Entropy) -> Integers:
    """A value for every row, by the probabilities of its group."""
    count, values = chances.shape
    sums = chances.sum(axis=1, keepdims=True)
    cumulated = np.cumsum(np.divide(chances, sums, out=np.full_like(chances, 1 / values), where=sums > 0), axis=1)
    cumulated /= cumulated[:, -1:]
    levels = _levels(groups, count, entropy)
    stacked = (cumulated + np.arange(count)[:, np.newaxis]).ravel()
    places = np.searchsorted(stacked, groups + levels, side="right") - groups * values
    places = np.clip(places, 0, values - 1)
    return _possible(places, groups, chances)


def _levels(groups: Integers, count: int, entropy: Entropy) -> Floats:
    """For every row a number in [0, 1): those of a group are evenly spaced, in a random order."""
    rows = len(groups)
    shuffled = np.argsort(uniform_integers(_DIGITS, rows, entropy), kind="stable")
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    ordered = groups[order]
    sizes = np.bincount(ordered, minlength=count)
    first = np.cumsum(sizes) - sizes
    offsets = uniform_integers(_DIGITS, count, entropy) / _DIGITS
    levels = np.empty(rows)
    levels[order] = (np.arange(rows) - first[ordered] + offsets[ordered]) / sizes[ordered]
    nearly: Floats = np.minimum(levels, 1 - 1e-12)
    return nearly


def _possible(places: Integers, groups: Integers, chances: Floats) -> Integers:
    """Replace cells of probability zero, which rounding may have led to, by the likeliest of the group."""
    impossible = chances[groups, places] <= 0
    if impossible.any():
        places = np.where(impossible, chances.argmax(axis=1)[groups], places)
    return places
