"""Confidence intervals for a quotient of two noisy numbers: all r that may be the true one, within its known bounds.

A quotient r is judged by how likely noise is to move over − r·under as far from zero as it is. Without bounds this is
Fieller's theorem [Fie54]. If noise took the quotient out of its bounds, perhaps no r within them looks likely; then
each r is compared with the likeliest one, as in the ordering of Feldman and Cousins [FC98].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.mechanisms import tails

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.compile.releases import Combined

    Floats: TypeAlias = npt.NDArray[np.float64]

_HALVINGS = 44  # of the interval in which an end is searched for
_DOUBLINGS = 80
_LEAST = 1e-280  # smaller probabilities underflow


@final
class Acceptance:
    """Tests of over − r·under = 0, for every key; `parts` are the measures with their weights in `over` and `under`.

    Guarantee: let p(r) be the chance that noise moves over − r·under from zero as far as it is. An r is accepted if
    p(r) ≥ miss · p(r*), where r* is the quotient of what was released or the bound next to it. The true quotient has
    p(r) < miss with probability at most `miss`, and p(r*) ≤ 1, so that it is left out no oftener. r* itself is
    accepted: no interval is empty, or one point because it was cut off at a bound.
    """

    def __init__(self, over: Floats, under: Floats, parts: list[tuple[Combined, float, float]], miss: float) -> None:
        self._over, self._under, self._parts, self._miss = over, under, parts, miss

    def interval(self, low: float, high: float, slack: float) -> tuple[Floats, Floats, Floats]:
        """The quotient, and the ends of what is accepted between `low` and `high`; rounding may add `slack`.

        If the released `under` is not above zero, only the bounds are known. The same holds if noise took the quotient
        out of them and everything between them is accepted: then the value is their middle, because a bound would look
        like an estimate.
        """
        known = self._under > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = np.where(known, self._over / np.where(known, self._under, 1), np.nan)
        middle = (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else np.nan
        value = np.clip(np.where(known, quotient, middle), low, high)
        start = np.where(known, value, 0.0)
        outside = known & (quotient != value)
        ends = self._ends(start, self._levels(start, outside=outside), low, high)
        below, above = np.clip(ends[0] - slack, low, high), np.clip(ends[1] + slack, low, high)
        nothing = outside & (below <= low) & (above >= high) & np.isfinite(middle)
        return np.where(nothing, middle, value), np.where(known, below, low), np.where(known, above, high)

    def _levels(self, start: Floats, *, outside: npt.NDArray[np.bool_]) -> Floats:
        """The level of every key's tests: less than `miss` where the quotient lies outside its bounds."""
        levels = np.full(len(start), self._miss)
        if outside.any():
            away, strays = self._noise(start, self._over, self._under)
            levels[outside] *= np.maximum(tails.chance(away, strays)[outside], _LEAST)
        return levels

    def _noise(self, r: Floats, over: Floats, under: Floats) -> tuple[Floats, list[tails.Tail]]:
        """How far over − r·under is from zero, less what rounding explains, and the noise in it."""
        away = np.abs(over - r * under)
        strays: list[tails.Tail] = []
        for combined, above, below in self._parts:
            weight = np.abs(above - r * below)
            strays += [each.times(weight) for each in combined.tails]
            away = away - combined.slack * weight
        return away, strays

    def _ends(self, start: Floats, levels: Floats, low: float, high: float) -> tuple[Floats, Floats]:
        """The least and greatest accepted r around `start`, which is accepted; or the limits, if all are accepted.

        |over − r·under| is linear on each side and the bound on the noise is convex in r, so that the rejected r on a
        side are one interval, and halving finds its edge. Both edges are searched for at once.
        """
        size = start.size
        over, under, level = (np.concatenate([each, each]) for each in (self._over, self._under, levels))

        def accepted(r: Floats) -> npt.NDArray[np.bool_]:
            return tails.plausible(*self._noise(r, over, under), level)

        near = np.concatenate([start, start])
        limits = np.repeat([low, high], size)
        beyond = limits if np.isfinite(limits).all() else _far_enough(accepted, near, limits)
        open_ended = accepted(beyond)
        for _ in range(_HALVINGS):
            middle = near + (beyond - near) / 2
            inside = accepted(middle)
            near, beyond = np.where(inside, middle, near), np.where(inside, beyond, middle)
        found = np.where(open_ended, limits, beyond)
        return found[:size], found[size:]


def _far_enough(accepted: Callable[[Floats], npt.NDArray[np.bool_]], start: Floats, limits: Floats) -> Floats:
    """The limits, with infinite ones replaced by a number beyond the edge, if there is an edge."""
    finite = np.isfinite(limits)
    step = np.where(limits > 0, 1.0, -1.0) * np.maximum(np.abs(start), 1.0)
    far: Floats = np.where(finite, limits, start + step)
    for _ in range(_DOUBLINGS):
        inside = accepted(far) & ~finite
        if not inside.any():
            break
        step = step * 2
        far = np.where(inside, start + step, far)
    return far
