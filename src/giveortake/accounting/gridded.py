"""What the accountant puts on a grid: laws of the loss, and promises of which only a curve δ(ε) is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from giveortake.accounting.grid import GridLaw, on_grid
from giveortake.accounting.rounding import FUNCTION_ERROR, UNIT, Floats
from giveortake.caching import cached

if TYPE_CHECKING:
    from giveortake.accounting.laws import Law
    from giveortake.privacy import ZCDP, RenyiDP

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

    def on(self, step: Fraction, stride: int, rest: float) -> GridLaw:
        return on_grid(self.law, step, stride=stride, rest=rest)


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

    def _end(self, rest: Fraction) -> float:
        return float(self.promise.epsilon_at(rest)) + 1e-9

    def on(self, step: Fraction, stride: int, rest: float) -> GridLaw:
        end = self._end(Fraction(max(rest, 1e-290)))
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
    for place, index in enumerate(chosen):
        rising = falling = 0.0
        if place + 1 < len(chosen):
            after = chosen[place + 1]
            rising = (values[after] - values[index]) / math.expm1(apart * (after - index))
        if place:
            before = chosen[place - 1]
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
