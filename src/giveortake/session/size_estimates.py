"""Estimates of how many persons have each size, from a noisy histogram: those who were seen, and a tail beyond.

Estimates are not bounds; those are in `size_bounds`. They lean upward: where noise may hide people, zero would be too
low. Beyond the last size at which people were seen, their number falls as a power of the size, as fast as it fell over
the two doublings before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from giveortake.caching import cached

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.session.size_bounds import Sizes

    Floats: TypeAlias = npt.NDArray[np.float64]

USUAL = 1.0  # deviations of the noise that are added to the estimate of the first people who were not seen
LARGE = 4.0  # the same, for an estimate that should hardly be too low
_STEEPNESS = (0.5, 8.0)  # the least and the greatest power of the size
_NOBODY = 0.05  # persons: where fewer are expected, the tail ends
_GRID = (np.arange(16) + 0.5) / 16  # places of a person's groups, from the largest to the smallest


@cached(256)
def people(sizes: Sizes, miss: float, lean: float) -> Floats:
    """An estimate of the number of persons in each bin."""
    last, counts = sizes.last_seen(miss), np.array(sizes.counts, dtype=np.float64)
    places = np.arange(len(counts))
    seen: Floats = np.where(places <= last, counts, 0.0)
    if last == len(counts) - 1:
        return seen
    start = float(sizes.most[last])
    window = (sizes.least > start) & (sizes.most <= 2 * start)
    if not window.any():
        window = places == last + 1
    deviation = sizes.scale * math.sqrt(2 * int(window.sum()))
    first = _at_least_none(float(counts[window].sum()), deviation) + lean * deviation
    before = max(float(seen[sizes.most > start / 4].sum()) + first, 2 * first)
    steepness = min(max(math.log(before / first) / math.log(4), _STEEPNESS[0]), _STEEPNESS[1])
    end = min(float(sizes.most[-1]), start * max(1.0, first / _NOBODY) ** (1 / steepness))
    above = first * (start / np.clip(np.concatenate([[0.0], sizes.most]), start, end)) ** steepness
    return seen + np.where(places > last, above[:-1] - above[1:], 0.0)


def _at_least_none(found: float, deviation: float) -> float:
    """The posterior mean of a number that is not negative, given its value with normal noise."""
    z = found / deviation
    if z < -8:  # where the fraction below is about this, and its parts vanish
        return deviation / -z
    return found + deviation * math.exp(-z * z / 2) / (math.sqrt(math.pi / 2) * math.erfc(-z / math.sqrt(2)))


def mean_size(sizes: Sizes, miss: float) -> float:
    """An estimate of the mean size of a person."""
    there = np.clip(people(sizes, miss, USUAL), 0.0, None)
    return float(_middle(sizes) @ there / there.sum()) if there.sum() > 0 else 1.0


def rows_left(sizes: Sizes, miss: float, lean: float) -> tuple[Floats, float]:
    """Estimates of the rows that the cap at the end of each bin leaves out, and of the number of all rows."""
    there, middle = people(sizes, miss, lean), _middle(sizes)
    left = np.maximum(middle[np.newaxis, :] - sizes.most[:, np.newaxis], 0.0) @ there
    falling: Floats = np.minimum.accumulate(np.clip(left, 0.0, None))
    return falling, max(float(middle @ there), 1.0)


def rows_share(sizes: Sizes, cap: int, miss: float, lean: float) -> float:
    """An estimate of the share of rows that a cap on all rows of a person leaves out."""
    left, total = rows_left(sizes, miss, lean)
    return min(1.0, float(np.interp(cap, sizes.most, left)) / total)


def groups_share(
    of: tuple[Sizes, Sizes, Sizes], caps: tuple[int, int], most: int | None, miss: float, lean: float
) -> float:
    """An estimate of the share left out by caps on groups and on rows in each, after a cap of `most` on all rows.

    It assumes that persons with more rows have more groups and a larger largest one, and that the sizes of a person's
    groups fall evenly from the largest to one row.
    """
    persons, rows, in_groups = _in_order(of, miss, lean)
    groups = rows / in_groups.mean(axis=1)
    chosen = np.ones_like(rows) if most is None else np.minimum(1.0, most / rows)
    met = 1.0 - (1.0 - chosen[:, np.newaxis]) ** in_groups
    inside = np.minimum(chosen[:, np.newaxis] * in_groups, caps[1]).mean(axis=1) * groups
    kept = inside * np.minimum(1.0, caps[0] / np.maximum(met.mean(axis=1) * groups, 1e-9))
    return float(np.clip(1.0 - (persons @ kept) / (persons @ rows), 0.0, 1.0))


@cached(64)
def _in_order(of: tuple[Sizes, Sizes, Sizes], miss: float, lean: float) -> tuple[Floats, Floats, Floats]:
    """Persons in order of size: shares of all persons, their rows, and the rows in some of their groups."""
    reached = []
    for sizes in of:
        there = np.clip(people(sizes, miss, lean), 0.0, None)
        there[0] += there.sum() == 0  # nobody at all was seen
        reached.append(np.cumsum(there) / there.sum())
    steps = np.unique(np.concatenate([[0.0], *reached]))
    persons, at = np.diff(steps), (steps[1:] + steps[:-1]) / 2
    rows, groups, largest = (
        _middle(sizes)[np.minimum(np.searchsorted(upto, at), len(upto) - 1)]
        for sizes, upto in zip(of, reached, strict=True)
    )
    groups = np.clip(groups, 1.0, rows)
    largest = np.clip(largest, rows / groups, rows - groups + 1)
    mean = np.clip((rows / groups - 1) / np.maximum(largest - 1, 1e-9), 1e-3, 1.0)
    shrinks = _decay(mean)
    shape = np.exp(-shrinks[:, np.newaxis] * _GRID)
    shape *= (mean / shape.mean(axis=1))[:, np.newaxis]
    return persons, rows, 1.0 + (largest - 1)[:, np.newaxis] * shape


def _decay(mean: Floats) -> Floats:
    """The k for which e^(−kx) has this mean over x from 0 to 1."""
    low, high = np.full_like(mean, 1e-9), np.full_like(mean, 2e3)
    for _ in range(60):
        middle = (low + high) / 2
        more = -np.expm1(-middle) / middle > mean
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return low


def _middle(sizes: Sizes) -> Floats:
    middle: Floats = (sizes.least + sizes.most) / 2
    return middle
