"""A privacy-loss law on a grid, from above and from below.

From above [DGKKM22, connect the dots]: the outcomes whose loss lies in (g, g + d] are replaced by two outcomes of
losses g and g + d with the same P- and Q-probability together. That is the reverse of a post-processing, so the curve
δ(ε) can only rise; it keeps its value at every grid point, so it rises by the square of d only.

From below: the outcomes whose loss lies within d/2 of g are merged, a post-processing, so the curve can only fall.
The merged loss ln(P/Q) differs from g by the square of d where the law is smooth; `excess` is g − ln(P/Q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from giveortake.accounting.laws import Cells
from giveortake.accounting.rounding import FUNCTION_ERROR, UNIT, Floats, Indices, NotResolved, exp_error, spaced

if TYPE_CHECKING:
    from giveortake.accounting.laws import Atoms, Law

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


def on_grid(law: Law, step: Fraction, *, stride: int = 1, rest: float) -> GridLaw:
    """The law on a grid of this step; `rest` is the probability that may be moved to infinity."""
    atoms, wide = law.atoms, step * stride
    offset = atoms.start if atoms is not None and atoms.start is not None else Fraction(0)
    low, high = _ends(law, rest)
    first = math.floor((Fraction(low) - offset) / wide - Fraction(1, 2**20))
    last = max(first + 1, math.ceil((Fraction(high) - offset) / wide + Fraction(1, 2**20)))
    if atoms is not None and atoms.start is not None and low >= float(atoms.start):
        first = 0  # the grid begins at the lowest atom, exactly
    if last - first > MOST_POINTS:
        raise NotResolved
    points = spaced(float(offset + first * wide), float(wide), last - first + 1)
    slack = law.loss_error + 16 * UNIT * float(np.max(np.abs(points)))
    grid = _Filling(points, float(wide), slack)
    if law.span(rest) is not None:
        grid.add_continuous(law)
    if atoms is not None:
        grid.add_atoms(atoms, offset + first * wide, wide)
    leak = float(law.infinite)
    infinite = (leak * (1 - 4 * UNIT), leak * (1 + 4 * UNIT) + grid.beyond)
    excess = grid.excess()
    return GridLaw(offset, first * stride, stride, grid.upper, grid.kept, excess, infinite, slack)


def _ends(law: Law, rest: float) -> tuple[float, float]:
    ends = list(law.span(rest) or ())
    if law.atoms is not None:
        ends += [float(law.atoms.losses[0]), float(law.atoms.losses[-1])]
    return min(ends), max(ends)


class _Filling:
    """The masses at the grid points, to which the parts of a law are added."""

    def __init__(self, points: Floats, wide: float, slack: float) -> None:
        self.points, self.wide = points, wide
        self.upper, self.kept, self.other = (np.zeros_like(points) for _ in range(3))
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
        for target, part in ((self.kept, least), (self.other, most)):
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
        places = _exact_places(atoms, origin, wide)
        if places is not None:
            np.add.at(self.upper, places, most)
            nearest = places
        else:
            spot = (atoms.losses - self.points[0]) / self.wide
            left = np.clip(np.floor(spot), 0, len(self.points) - 2).astype(np.int64)
            inside = np.clip(atoms.losses - self.points[left], 0.0, self.wide)
            rising = np.clip(-np.expm1(-inside) / self.shrink, 0.0, 1.0)
            margin = 4 * self.scale / self.shrink
            np.add.at(self.upper, left, most * np.minimum(1 - rising + margin, 1.0))
            np.add.at(self.upper, left + 1, most * np.minimum(rising + margin, 1.0))
            nearest = np.clip(np.rint(spot), 0, len(self.points) - 1).astype(np.int64)
        np.add.at(self.kept, nearest, least)
        np.add.at(self.other, nearest, most * np.exp(-atoms.losses) * (1 + self.scale))

    def excess(self) -> Floats:
        """The excess g − ln(P/Q) of every bin, rounded up; bins that are too light to tell are emptied."""
        unknown = ~((self.kept > LEAST_MASS) & (self.other > LEAST_MASS))
        self.kept[unknown] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = self.points + np.log(self.other / self.kept)
        excess += self.scale + FUNCTION_ERROR * np.abs(self.points)
        excess[unknown] = 0.0
        return excess


def _pairs(halves: Floats) -> Floats:
    inner: Floats = halves[1:-1:2] + halves[2:-1:2]
    return inner


def _exact_places(atoms: Atoms, origin: Fraction, wide: Fraction) -> Indices | None:
    if atoms.start is None or atoms.step is None:
        return None
    begin, jump = (atoms.start - origin) / wide, atoms.step / wide
    if begin.denominator != 1 or jump.denominator != 1:
        return None
    return begin.numerator + jump.numerator * np.arange(len(atoms.losses), dtype=np.int64)
