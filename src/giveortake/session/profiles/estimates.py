"""Estimates and bounds of people's sizes from a noisy histogram.

Bounds from a noisy histogram of people's sizes, for all caps at once: how much is kept, how much is left out.

A cap of R keeps Σ min(n, R) and leaves out Σ max(0, n − R), over the sizes n of all persons. The histogram says how
many persons lie in each bin, give or take noise. All bounds here hold together with the stated confidence: each is a
sum of weighted counts that lies on one side of the truth, plus how far its noise strays (`mechanisms.additive`),
and the chance to miss is shared out evenly among them (union bound).

Estimates of how many persons have each size, from a noisy histogram: those who were seen, and a tail beyond.

Estimates are not bounds; those are `SizeBounds`. Where noise may hide people, zero would be too low: beyond the last
size at which people were seen, their number falls as a power of the size.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from giveortake.caching import cached
from giveortake.compile.measures import FINE
from giveortake.mechanisms.additive import reach

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]


Lean: TypeAlias = Literal["mean", "large"]  # of estimates of persons who were not seen: "large" is hardly too low
USUAL: Lean = "mean"
LARGE: Lean = "large"
_POWERS = np.geomspace(0.5, 5, 24)  # of the size, by which the number of persons may fall
_NOBODY = 0.1  # the chance, before the counts are looked at, that nobody is beyond
_HARDLY = 0.98  # of the weight of all powers
_GRID = (np.arange(16) + 0.5) / 16  # places of a person's groups, from the largest to the smallest


@cached(256)
def people(sizes: Sizes, miss: float, lean: Lean) -> Floats:
    """An estimate of the number of persons in each bin.

    Beyond the last size at which people were seen, K of them in the two doublings before, their number falls as a power
    of the size, or there is nobody. Each power is weighed by how likely the noise makes the counts beyond it.
    """
    last, counts = sizes.last_seen(miss), np.array(sizes.counts, dtype=np.float64)
    beyond = np.arange(len(counts)) > last
    seen: Floats = np.where(beyond, 0.0, counts)
    if not beyond.any():
        return seen
    start = float(sizes.most[last])
    known = max(float(seen[sizes.most > start / 4].sum()), sizes.scale)
    powers = _POWERS[:, np.newaxis]
    ends = np.append((start / np.maximum(sizes.least - 1, start)) ** powers, np.zeros_like(powers), axis=1)
    falling = np.where(beyond, (ends[:, :-1] - ends[:, 1:]) * known / (4**powers - 1), 0.0)
    expected = np.concatenate([falling, np.zeros((1, len(counts)))])
    chances = np.append(np.full(len(powers), (1 - _NOBODY) / len(powers)), _NOBODY)
    logarithms = np.log(chances) - np.abs(counts - expected)[:, beyond].sum(axis=1) / sizes.scale
    weights = np.exp(logarithms - logarithms.max())
    weights /= weights.sum()
    unseen: Floats = weights @ expected
    if lean == LARGE:
        order = np.argsort(expected.sum(axis=1))
        unseen = expected[order[np.searchsorted(np.cumsum(weights[order]), _HARDLY)]]
    return seen + unseen


def mean_size(sizes: Sizes, miss: float) -> float:
    """An estimate of the mean size of a person."""
    persons = np.clip(people(sizes, miss, USUAL), 0.0, None)
    return float(_middle(sizes) @ persons / persons.sum()) if persons.sum() > 0 else 1.0


def rows_left(sizes: Sizes, miss: float, lean: Lean) -> tuple[Floats, float]:
    """Estimates of the rows that the cap at the end of each bin leaves out, and of the number of all rows."""
    persons, middle = people(sizes, miss, lean), _middle(sizes)
    left = np.maximum(middle[np.newaxis, :] - sizes.most[:, np.newaxis], 0.0) @ persons
    falling: Floats = np.minimum.accumulate(np.clip(left, 0.0, None))
    return falling, max(float(middle @ persons), 1.0)


def rows_share(sizes: Sizes, cap: int, miss: float, lean: Lean) -> float:
    """An estimate of the share of rows that a cap on all rows of a person leaves out."""
    left, total = rows_left(sizes, miss, lean)
    return min(1.0, float(np.interp(cap, sizes.most, left)) / total)


def groups_share(
    histograms: tuple[Sizes, Sizes, Sizes], caps: tuple[int, int], most: int | None, miss: float, lean: Lean
) -> float:
    """An estimate of the share left out by caps on groups and on rows in each, after a cap of `most` on all rows.

    It assumes that persons with more rows have more groups and a larger largest one, and that the sizes of a person's
    groups fall evenly from the largest to one row.
    """
    persons, rows, in_groups = _in_order(histograms, miss, lean)
    groups = rows / in_groups.mean(axis=1)
    chosen = np.ones_like(rows) if most is None else np.minimum(1.0, most / rows)
    met = 1.0 - (1.0 - chosen[:, np.newaxis]) ** in_groups
    inside = np.minimum(chosen[:, np.newaxis] * in_groups, caps[1]).mean(axis=1) * groups
    kept_rows = inside * np.minimum(1.0, caps[0] / np.maximum(met.mean(axis=1) * groups, 1e-9))
    return float(np.clip(1.0 - (persons @ kept_rows) / (persons @ rows), 0.0, 1.0))


@cached(64)
def _in_order(histograms: tuple[Sizes, Sizes, Sizes], miss: float, lean: Lean) -> tuple[Floats, Floats, Floats]:
    """Persons in order of size: shares of all persons, their rows, and the rows in some of their groups."""
    cumulative_shares = []
    for sizes in histograms:
        bin_counts = np.clip(people(sizes, miss, lean), 0.0, None)
        bin_counts[0] += bin_counts.sum() == 0  # nobody at all was seen
        cumulative_shares.append(np.cumsum(bin_counts) / bin_counts.sum())
    steps = np.unique(np.concatenate([[0.0], *cumulative_shares]))
    persons, midpoints = np.diff(steps), (steps[1:] + steps[:-1]) / 2
    rows, groups, largest = (
        _middle(sizes)[np.minimum(np.searchsorted(cumulative_share, midpoints), len(cumulative_share) - 1)]
        for sizes, cumulative_share in zip(histograms, cumulative_shares, strict=True)
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
        is_above = -np.expm1(-middle) / middle > mean
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return low


def _middle(sizes: Sizes) -> Floats:
    middle: Floats = (sizes.least + sizes.most) / 2
    return middle


_NEXT, _BEYOND_GAP = 1.5, 4.0  # deviations of noise above which a count is taken for people, for estimates
_OCTAVES = (1, 2, 3, 5, 8)  # doublings above a cap within which people are looked for; those beyond are ignored


@final
@dataclass(frozen=True)
class Sizes:
    """Noisy numbers of persons in bins of sizes that end at `edges`; the last bin is open unless it is `closed`."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    scale: float
    closed: bool

    @cached_property
    def most(self) -> Floats:
        """The greatest size in each bin."""
        return np.array(self.edges, dtype=np.float64)

    @cached_property
    def least(self) -> Floats:
        """The least size in each bin."""
        return np.concatenate([[1.0], self.most[:-1] + 1])

    def noisy(self, weights: Floats) -> Floats:
        """Σ weight · count, for each row of weights."""
        total: Floats = np.atleast_2d(weights) @ np.array(self.counts, dtype=np.float64)
        return total

    def bin_below(self, cap: int) -> int | None:
        """The last bin whose end is at most the cap; None if even the first lies above."""
        index = bisect_right(self.edges, cap) - 1
        return None if index < 0 else index

    def bin_above(self, cap: int) -> int | None:
        """The first bin whose end is at least the cap; None if none is."""
        index = bisect_left(self.edges, cap)
        return None if index == len(self.edges) else index

    def bounded(self, miss: float) -> SizeBounds:
        """Bounds for every cap that all hold together, except with probability `miss`."""
        return _bounded(self, miss)

    # -- estimates ----------------------------------------------------------------------------------------------

    def last_seen(self, miss: float) -> int:
        """The first bin above which the histogram shows no more people than noise may.

        People are sure to be above every earlier bin, or the doubling above it has more people than noise would show:
        a little more if it is the next one, far more if it lies beyond a gap.
        """
        above = self.bounded(miss).above_low
        last = next((index for index in range(len(self.edges)) if above[index] <= 0), len(self.edges) - 1)
        while True:
            shown = [
                index
                for index in range(last, len(self.edges) - 1)
                if self._deviations_above(index) > (_NEXT if index == last else _BEYOND_GAP)
            ]
            if not shown:
                return last
            last = shown[-1] + 1

    def _deviations_above(self, index: int) -> float:
        """How many deviations of the noise the count of the doubling above a bin is."""
        window = (self.least > self.most[index]) & (self.most <= 2 * self.most[index])
        deviation = self.scale * float(np.sqrt(2 * window.sum()))
        return float(self.noisy(window.astype(np.float64))[0]) / deviation if deviation else 0.0

    def left_estimates(self, miss: float) -> tuple[Floats, float]:
        """Estimates of the number of rows that each cap leaves out, and of the number of all rows."""
        return rows_left(self, miss, USUAL)


@final
@dataclass(frozen=True)
class SizeBounds:
    """For the cap at the end of each bin: rows kept and left out, persons above it, each between two bounds."""

    kept_low: Floats
    kept_high: Floats
    left_low: Floats
    left_high: Floats
    above_low: Floats
    above_high: Floats

    @property
    def persons_high(self) -> float:
        """The greatest number of persons there may be: a cap of one row keeps one of each."""
        return float(self.kept_high[0])

    @property
    def rows_low(self) -> float:
        """The least number of rows there may be."""
        return float(self.kept_low[-1])


@cached(64)
def _bounded(sizes: Sizes, miss: float) -> SizeBounds:
    families, strays = _families(sizes.edges, sizes.closed, sizes.scale, miss)
    values = [sizes.noisy(family) for family in families]
    lows = [value - stray for value, stray in zip(values, strays, strict=True)]
    highs = [value + stray for value, stray in zip(values, strays, strict=True)]
    windows = len(_OCTAVES)
    kept_low = np.maximum.accumulate(np.clip(lows[0], 0.0, None))
    kept_high = np.minimum.accumulate(np.clip(highs[1], 0.0, None)[::-1])[::-1]
    left_high = np.minimum.accumulate(np.clip(highs[2], 0.0, None))
    above_high = np.minimum.accumulate(np.clip(highs[3], 0.0, None))
    left_low = np.clip(np.max(lows[4 : 4 + windows], axis=0), 0.0, None)
    above_low = np.clip(np.max(lows[4 + windows :], axis=0), 0.0, None)
    if sizes.closed:
        left_high[-1] = above_high[-1] = 0.0
    else:
        left_high = np.full(len(sizes.edges), np.inf)
    left_low = np.maximum.accumulate(left_low[::-1])[::-1]  # a lower cap leaves out no less
    above_low = np.maximum.accumulate(above_low[::-1])[::-1]
    return SizeBounds(kept_low, kept_high, left_low, left_high, above_low, above_high)


@cached(64)
def _families(edges: tuple[int, ...], closed: bool, scale: float, miss: float) -> tuple[list[Floats], list[Floats]]:
    """The weights of all sums that are bounds, one row for each cap, and how far the noise of each may stray.

    In order: lower and upper bounds of the rows kept, upper bounds of the rows left out and of the persons above; then
    lower bounds of both, from the persons in each window above the cap.
    """
    most = np.array(edges, dtype=np.float64)
    least = np.concatenate([[1.0], most[:-1] + 1])
    caps = most[:, np.newaxis]
    greatest = np.append(most[:-1], most[-1] if closed else np.inf)
    windows = [(least > caps) & (most <= caps * 2**octaves) for octaves in _OCTAVES]
    families = [
        np.minimum(least, caps),
        np.minimum(greatest, caps),
        np.maximum(most - caps, 0.0),
        (least > caps).astype(np.float64),
        *(np.where(window, least - caps, 0.0) for window in windows),
        *(window.astype(np.float64) for window in windows),
    ]
    miss_of_sum = miss / (len(families) * len(edges))
    return families, [reach(family, scale, miss_of_sum) for family in families]


@final
@dataclass(frozen=True, slots=True)
class Share:
    """A share of rows: two bounds, an estimate, and a value that it hardly exceeds."""

    low: float
    high: float
    estimate: float
    likely: float

    @classmethod
    def of(cls, low: float, high: float, about: Callable[[Lean], float]) -> Share:
        """A share with estimates that are moved between the bounds; `likely` is no less than `estimate`."""
        estimate = min(max(about(USUAL), low), high)
        return cls(low, high, estimate, min(max(about(LARGE), estimate), high))


def share_left_out(rows: Sizes, cap: int, miss: float) -> Share:
    """The share of rows that a cap on all rows of a person leaves out."""
    bounds = rows.bounded(miss)
    inner, outer = rows.bin_below(cap), rows.bin_above(cap)
    low, high = 0.0, 1.0
    if outer is not None:  # a cap that is as great or greater leaves out no more
        low = _ratio(bounds.left_low[outer], bounds.kept_high[outer], nothing=0.0)
    elif rows.closed:
        high = 0.0
    if inner is not None:
        high = min(high, _ratio(bounds.left_high[inner], bounds.kept_low[inner], nothing=1.0))
    return Share.of(low, high, lambda lean: rows_share(rows, cap, miss, lean))


def share_left_out_of_groups(
    rows: Sizes, groups: Sizes, largest: Sizes, caps: tuple[int, int], miss: float, *, most: int | None = None
) -> Share:
    """The share left out where at most `caps[0]` groups of a person count, with at most `caps[1]` rows in each.

    If a cap of `most` rows per person comes first, its share is added: of fewer rows the caps on groups leave out no
    more. Both together miss with probability 2 · `miss`.

    Of a person with n rows in m groups, at most c in one, min(1, G/m) · Σ min(rows, R) are kept. That is at most G·R
    and at least min(n, G, R), and all n if m ≤ G and c ≤ R. So at least max(n − G·R, m − G, c − R) are left out, and
    at most n − min(n, G, R), of no more than the persons above one of both caps: X of them have at most X·r +
    Σ max(0, n − r) rows, for whatever r. Each of the three histograms misses with a third of `miss`.
    """
    most_groups, most_rows = caps
    miss_of_histogram = miss / 3
    bounded = [sizes.bounded(miss_of_histogram) for sizes in (rows, groups, largest)]
    lows = [0.0]
    for sizes, bounds, cap in (
        (rows, bounded[0], most_groups * most_rows),
        (groups, bounded[1], most_groups),
        (largest, bounded[2], most_rows),
    ):
        outer = sizes.bin_above(cap)
        if outer is not None:
            lows.append(float(bounds.left_low[outer]))
    kept_bin = rows.bin_above(most_groups * most_rows)
    low = _ratio(max(lows), float(bounded[0].kept_high[-1 if kept_bin is None else kept_bin]), nothing=0.0)
    above = 0.0
    for sizes, bounds, cap in ((groups, bounded[1], most_groups), (largest, bounded[2], most_rows)):
        inner = sizes.bin_below(cap)
        above += float(bounds.above_high[inner]) if inner is not None else bounds.persons_high
    heaviest = float(np.min(above * rows.most + bounded[0].left_high))
    fewest = rows.bin_below(min(caps))
    if fewest is not None:
        heaviest = min(heaviest, float(bounded[0].left_high[fewest]))
    least_rows = max(bounded[0].rows_low, 1e-9)
    high = min(1.0, heaviest / least_rows)
    if most is not None:
        first = share_left_out(rows, most, miss)
        low, high = max(low, first.low), min(1.0, high + first.high)
    histograms = (rows, groups, largest)
    return Share.of(min(low, high), high, lambda lean: groups_share(histograms, caps, most, miss_of_histogram, lean))


def most_rows_left_out(
    rows: Sizes,
    groups: Sizes | None,
    largest: Sizes | None,
    *,
    most: int | None,
    caps: tuple[int | None, int | None] | None,
    miss: float,
) -> float:
    """An upper limit of the rows that caps leave out, of the whole table or of any part of it; infinite if unknown.

    First `most` rows of a person count, then of a question in groups `caps[0]` groups with `caps[1]` rows in each; of
    one without, `caps` is None, and `most` holds all caps. Without `caps[1]`, persons are counted.

    Guarantee: the limit holds for all caps together, except with probability `miss`, so that caps may have been chosen
    by the same noise. A part of the rows of a person has no more rows, groups or rows in a group than all of them, and
    so no more beyond any cap. Of a person with n rows in m groups, at least min(n, G, R) are kept, and all if m ≤ G and
    none of their groups has more than R. Where groups are weighted by G/m, each is cut to a whole number of parts of a
    row: at most m ≤ n parts are lost by that.
    """
    miss_of_histogram = miss if groups is None and largest is None else miss / 3
    total = 0.0 if most is None else _rows_above(rows, most, miss_of_histogram)
    if caps is None or (caps[0] is None and caps[1] is None):
        return total
    cap = min(cap for cap in caps if cap is not None)
    if most is not None and most <= cap:
        return total
    limits = [_rows_above(rows, cap, miss_of_histogram)]
    inner = rows.bin_below(cap)
    if inner is not None:
        limits[0] += (limits[0] + cap * float(upper_limits(rows, miss_of_histogram)[1][inner])) / FINE
    if groups is not None and largest is not None:
        if caps[1] is None and caps[0] is not None:
            limits.append(_rows_above(groups, caps[0], miss_of_histogram))
        else:
            limits.append(_rows_of_persons_above(rows, groups, largest, caps, miss_of_histogram))
    return total + min(limits)


def _rows_above(sizes: Sizes, cap: int, miss: float) -> float:
    """An upper limit of what all persons have beyond a cap."""
    if sizes.closed and cap >= sizes.edges[-1]:
        return 0.0
    inner = sizes.bin_below(cap)
    return math.inf if inner is None else float(upper_limits(sizes, miss)[0][inner])


def _rows_of_persons_above(
    rows: Sizes, groups: Sizes, largest: Sizes, caps: tuple[int | None, int | None], miss: float
) -> float:
    """An upper limit of all rows of persons above either cap: X of them have at most X·r + Σ max(0, n − r)."""
    persons = 0.0
    for sizes, cap in ((groups, caps[0]), (largest, caps[1])):
        if cap is None or (sizes.closed and cap >= sizes.edges[-1]):
            continue
        inner = sizes.bin_below(cap)
        persons += sizes.bounded(miss).persons_high if inner is None else float(upper_limits(sizes, miss)[1][inner])
    return float(np.min(persons * rows.most + upper_limits(rows, miss)[0])) if persons else 0.0


_DRAWS = 50_000  # of the noise, to learn how far the greatest of all sums strays
_UNLUCKY = 1e-9  # the chance that these draws say too little
_FEWEST = 100  # draws that have to stray further


@cached(64)
def upper_limits(sizes: Sizes, miss: float) -> tuple[Floats, Floats]:
    """For the cap at the end of each bin, upper limits of what is left out and of the persons above it.

    Guarantee: all of them hold together, except with probability `miss`, so that the cap may be chosen by the same
    noise. Each is a sum of counts, in all of which noise strays by so many deviations together that, of `_DRAWS` draws
    of the same noise, so few stray further as hardly ever happens (with a chance of 10⁻⁹, by Chernoff) if more of all
    draws did than `miss`. Where that takes more draws, each sum gets its part of `miss`, and a bound of its own.
    """
    weights, strays = _strays(sizes.edges, sizes.scale, miss)
    limits = np.clip(sizes.noisy(weights) + strays, 0.0, None)
    left, above = (np.minimum.accumulate(array) for array in np.split(limits, 2))
    return (left if sizes.closed else np.full(len(left), np.inf)), above


@cached(64)
def _strays(edges: tuple[int, ...], scale: float, miss: float) -> tuple[Floats, Floats]:
    """The weights of the sums that are limits, first of what is left out, and how far the noise of each may stray."""
    most = np.array(edges, dtype=np.float64)
    least, caps = np.concatenate([[1.0], most[:-1] + 1]), most[:, np.newaxis]
    weights = np.concatenate([np.maximum(most - caps, 0.0), (least > caps).astype(np.float64)])
    if _DRAWS * miss < _FEWEST:
        return weights, reach(weights, scale, miss / len(weights))
    deviations = np.sqrt((weights**2).sum(axis=1))
    unit = weights / np.where(deviations > 0, deviations, 1.0)[:, np.newaxis]
    noise = np.rint(np.random.default_rng(0).laplace(scale=scale, size=(_DRAWS, len(edges))))
    greatest = np.sort((noise @ unit.T).max(axis=1))
    return weights, deviations * greatest[-1 - _exceeding(miss)]


def _exceeding(miss: float) -> int:
    """So few of `_DRAWS` draws are expected with a chance of at most `_UNLUCKY` if each counts with `miss`."""
    counts = np.arange(1, int(_DRAWS * miss))
    share = counts / _DRAWS
    divergence = share * np.log(share / miss) + (1 - share) * np.log((1 - share) / (1 - miss))
    return int(counts[_DRAWS * divergence >= -math.log(_UNLUCKY)][-1])


def _ratio(left_rows: float, kept_rows: float, *, nothing: float) -> float:
    """The ratio left / (left + kept) of rows: 1 if `left_rows` is infinite, and `nothing` if both are 0."""
    if np.isinf(left_rows):
        return 1.0
    return float(left_rows / (left_rows + kept_rows)) if left_rows + kept_rows > 0 else nothing
