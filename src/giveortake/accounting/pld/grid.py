"""Privacy-loss distributions on a grid, from above and from below.

From above [DGKKM22, connect the dots]: the outcomes whose loss lies in (g, g + d] are replaced by two outcomes of
losses g and g + d with the same P- and Q-probability together. That is the reverse of a post-processing, so the curve
δ(ε) can only rise; it keeps its value at every grid point, so it rises by the square of d only.

From below: the outcomes whose loss lies within d/2 of g are merged, a post-processing, so the curve can only fall.
The merged loss ln(P/Q) differs from g by the square of d where the distribution is smooth; `excess` is g − ln(P/Q).

Distributions of the loss are put on a grid, and promises of which only a curve δ(ε) is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from giveortake.accounting.pld.floating_point import (
    FUNCTION_ERROR,
    UNIT,
    Floats,
    Indices,
    NotResolved,
    exp_error,
    spaced,
)
from giveortake.accounting.pld.loss import Cells
from giveortake.caching import cached

if TYPE_CHECKING:
    from giveortake.accounting.pld.loss import Atoms, Law
    from giveortake.privacy import ZCDP, RenyiDP


MOST_POINTS = 1 << 21
LEAST_MASS = 1e-250  # lighter bins are left out of lower bounds: their losses could not be computed


@final
@dataclass(frozen=True, slots=True, eq=False)
class GridLaw:
    """Losses offset + (first + stride·i)·step: masses at least (`upper`) and at most (`lower`) those of the law.

    `infinite` bounds the probability of an infinite loss from below and from above. Each true loss is at most its
    grid loss plus `slack` from above, and at least grid loss − excess − slack from below.
    """

    offset: Fraction
    first: int
    stride: int
    upper: Floats
    lower: Floats
    excess: Floats
    infinite: tuple[float, float]
    slack: float

    def indices(self) -> Indices:
        """The place of every point on the common grid."""
        return self.first + self.stride * np.arange(len(self.upper), dtype=np.int64)


def on_grid(law: Law, step: Fraction, *, stride: int = 1, tail_mass: float) -> GridLaw:
    """The law on a grid of this step; `tail_mass` is the probability that may be moved to infinity."""
    atoms, wide = law.atoms, step * stride
    offset = atoms.start if atoms is not None and atoms.start is not None else Fraction(0)
    low, high = _ends(law, tail_mass)
    first = math.floor((Fraction(low) - offset) / wide - Fraction(1, 2**20))
    last = max(first + 1, math.ceil((Fraction(high) - offset) / wide + Fraction(1, 2**20)))
    if atoms is not None and atoms.start is not None and low >= float(atoms.start):
        first = 0  # the grid begins at the lowest atom, exactly
    if last - first > MOST_POINTS:
        raise NotResolved
    points = spaced(float(offset + first * wide), float(wide), last - first + 1)
    slack = law.loss_error + 16 * UNIT * float(np.max(np.abs(points)))
    grid = _Filling(points, float(wide), slack)
    if law.span(tail_mass) is not None:
        grid.add_continuous(law)
    if atoms is not None:
        grid.add_atoms(atoms, offset + first * wide, wide)
    leak = float(law.infinite)
    infinite = (leak * (1 - 4 * UNIT), leak * (1 + 4 * UNIT) + grid.beyond)
    excess = grid.excess()
    return GridLaw(offset, first * stride, stride, grid.upper, grid.p_mass, excess, infinite, slack)


def _ends(law: Law, tail_mass: float) -> tuple[float, float]:
    ends = list(law.span(tail_mass) or ())
    if law.atoms is not None:
        ends += [float(law.atoms.losses[0]), float(law.atoms.losses[-1])]
    return min(ends), max(ends)


class _Filling:
    """The masses at the grid points, to which the parts of a law are added."""

    def __init__(self, points: Floats, wide: float, slack: float) -> None:
        self.points, self.wide = points, wide
        self.upper, self.p_mass, self.q_mass = (np.zeros_like(points) for _ in range(3))
        self.beyond = 0.0
        self.shrink = -math.expm1(-wide)
        self.scale = exp_error(float(np.max(np.abs(points)))) + 2 * slack

    def add_continuous(self, law: Law) -> None:
        """Add the continuous part in cells half a step wide: two make an interval between points, or a bin at one."""
        halves = np.empty(2 * len(self.points) - 1)
        halves[::2] = self.points
        halves[1::2] = self.points[:-1] + self.wide / 2
        cells = law.between(np.concatenate([[-np.inf], halves, [np.inf]]))
        top = cells.p + cells.p_error
        self.upper[0] += top[0]
        self.beyond += float(top[-1])
        p, q, p_error, q_error = (_pairs(part) for part in (cells.p, cells.q, cells.p_error, cells.q_error))
        self._split(Cells(p, q, p_error, q_error))
        least, most = np.maximum(cells.p - cells.p_error, 0.0), cells.q + cells.q_error
        for target, part in ((self.p_mass, least), (self.q_mass, most)):
            target[:-1] += part[1:-1:2]
            target[1:] += part[2:-1:2]
            target[-1] += part[-1]

    def _split(self, cells: Cells) -> None:
        """Replace every cell between neighbouring points by two atoms there, with the same P and Q together."""
        growth = np.exp(self.points[:-1])
        shifted = cells.q * growth
        error = cells.q_error * growth + cells.p_error + self.scale * (cells.p + 2 * shifted) + FUNCTION_ERROR * cells.p
        error = 1.0001 * error / self.shrink
        rising = np.clip((cells.p - shifted) / self.shrink, 0.0, cells.p)
        most = cells.p + cells.p_error
        self.upper[:-1] += np.minimum(cells.p - rising + error, most)
        self.upper[1:] += np.minimum(rising + error, most)

    def add_atoms(self, atoms: Atoms, origin: Fraction, wide: Fraction) -> None:
        """Add atoms: exactly if they lie on the grid; otherwise split for upper and rounded for lower masses."""
        most, least = atoms.masses * (1 + atoms.error), atoms.masses * (1 - atoms.error)
        indices = _exact_indices(atoms, origin, wide)
        if indices is not None:
            np.add.at(self.upper, indices, most)
            nearest = indices
        else:
            spot = (atoms.losses - self.points[0]) / self.wide
            left = np.clip(np.floor(spot), 0, len(self.points) - 2).astype(np.int64)
            inside = np.clip(atoms.losses - self.points[left], 0.0, self.wide)
            rising = np.clip(-np.expm1(-inside) / self.shrink, 0.0, 1.0)
            margin = 4 * self.scale / self.shrink
            np.add.at(self.upper, left, most * np.minimum(1 - rising + margin, 1.0))
            np.add.at(self.upper, left + 1, most * np.minimum(rising + margin, 1.0))
            nearest = np.clip(np.rint(spot), 0, len(self.points) - 1).astype(np.int64)
        np.add.at(self.p_mass, nearest, least)
        np.add.at(self.q_mass, nearest, most * np.exp(-atoms.losses) * (1 + self.scale))

    def excess(self) -> Floats:
        """The excess g − ln(P/Q) of every bin, rounded up; bins that are too light to tell are emptied."""
        unknown = ~((self.p_mass > LEAST_MASS) & (self.q_mass > LEAST_MASS))
        self.p_mass[unknown] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = self.points + np.log(self.q_mass / self.p_mass)
        excess += self.scale + FUNCTION_ERROR * np.abs(self.points)
        excess[unknown] = 0.0
        return excess


def _pairs(halves: Floats) -> Floats:
    inner: Floats = halves[1:-1:2] + halves[2:-1:2]
    return inner


def _exact_indices(atoms: Atoms, origin: Fraction, wide: Fraction) -> Indices | None:
    if atoms.start is None or atoms.step is None:
        return None
    begin, jump = (atoms.start - origin) / wide, atoms.step / wide
    if begin.denominator != 1 or jump.denominator != 1:
        return None
    return begin.numerator + jump.numerator * np.arange(len(atoms.losses), dtype=np.int64)


_NEGLIGIBLE = 1e-14  # of a law, when its width is judged
_CURVE_POINTS = 192


@final
@dataclass(frozen=True, slots=True)
class GriddedLaw:
    """A law of the privacy loss, to be put on a grid."""

    law: Law

    @property
    def lattice(self) -> Fraction | None:
        return None if self.law.atoms is None else self.law.atoms.step

    @property
    def smooth(self) -> bool:
        return self.law.span(_NEGLIGIBLE) is not None

    @property
    def reach(self) -> float:
        ends = list(self.law.span(_NEGLIGIBLE) or ())
        if self.law.atoms is not None:
            ends += [float(self.law.atoms.losses[0]), float(self.law.atoms.losses[-1])]
        return 2 * max(1e-300, *map(abs, ends))

    def on(self, step: Fraction, stride: int, tail_mass: float) -> GridLaw:
        return on_grid(self.law, step, stride=stride, tail_mass=tail_mass)


@final
@dataclass(frozen=True, slots=True)
class GriddedCurve:
    """A promise that bounds δ(ε) for every ε, both ways: the pair whose curve connects its values on a grid.

    Theorem: let h(e^ε) be the true curve, v its bounds at some points. A line through bounds that is convex in e^ε is
    the curve of a pair [ZDW22, Prop. 9], and it lies above h, which is convex and at most v at the points. Below ε = 0,
    δ(−ε) = 1 − e^−ε(1 − δ′(ε)) with δ′ the curve of the other direction, which the promise bounds too.
    """

    promise: ZCDP | RenyiDP

    lattice = None
    smooth = True

    @property
    def reach(self) -> float:
        return 2 * self._end(Fraction(1, 10**14))

    def _end(self, tail_mass: Fraction) -> float:
        return float(self.promise.epsilon_at(tail_mass)) + 1e-9

    def on(self, step: Fraction, stride: int, tail_mass: float) -> GridLaw:
        end = self._end(Fraction(max(tail_mass, 1e-290)))
        apart = max(1, math.ceil(2 * end / (_CURVE_POINTS * float(step))))
        half = math.ceil(end / (apart * float(step)))
        values = _values(self.promise, step * apart, half)
        masses = _connected(values, float(step * apart))
        nothing = np.zeros_like(masses)
        slack = 16 * UNIT * half * float(step * apart)
        return GridLaw(Fraction(0), -half * apart, apart, masses, nothing, nothing, (0.0, float(values[-1])), slack)


@cached(64)
def _values(promise: ZCDP | RenyiDP, apart: Fraction, half: int) -> Floats:
    """Bounds of δ at −half·apart, …, half·apart, rounded up."""
    positive = np.array([float(promise.delta_at(apart * i)) for i in range(half + 1)]) * (1 + 4 * UNIT)
    points = float(apart) * np.arange(half, 0, -1)
    negative = -np.expm1(-points) + np.exp(-points) * positive[:0:-1]
    values: Floats = np.minimum(np.concatenate([negative * (1 + 8 * FUNCTION_ERROR), positive]), 1.0)
    return values


def _connected(values: Floats, apart: float) -> Floats:
    """The P-probabilities at the points, at least those of the convex line through some of the values.

    Between neighbours a and b of a point c, at distances l and r, its probability is the change of slope,
    (v_b − v_c)/(e^r − 1) − (v_c − v_a)/(1 − e^−l); before the first point the line starts from (0, 1).
    """
    chosen: list[int] = []
    for index in range(len(values)):
        while chosen and _change(values, apart, [*chosen[-2:-1], chosen[-1], index], len(chosen) > 1) < 0:
            chosen.pop()
        chosen.append(index)
    masses = np.zeros_like(values)
    for rank, index in enumerate(chosen):
        rising = falling = 0.0
        if rank + 1 < len(chosen):
            after = chosen[rank + 1]
            rising = (values[after] - values[index]) / math.expm1(apart * (after - index))
        if rank:
            before = chosen[rank - 1]
            falling = (values[index] - values[before]) / -math.expm1(-apart * (index - before))
        else:
            falling = values[index] - 1
        masses[index] = max(rising - falling, 0.0) + 16 * FUNCTION_ERROR * (
            abs(rising) + abs(falling) + 1e-3 * values[index]
        )
    return masses


def _change(values: Floats, apart: float, triple: list[int], inner: bool) -> float:
    """The change of slope at the middle of three points, or at the first point."""
    *before, middle, after = triple
    rising = (values[after] - values[middle]) / math.expm1(apart * (after - middle))
    if not inner:
        return float(rising - (values[middle] - 1))
    return float(rising - (values[middle] - values[before[0]]) / -math.expm1(-apart * (middle - before[0])))
