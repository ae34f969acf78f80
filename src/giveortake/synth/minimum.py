"""The minimum of a smooth convex function, by its values and gradients alone: L-BFGS [LN89]."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

_MEMORY = 10  # of earlier steps
_ENOUGH = 1e-4  # of the decrease that the slope promises
_SHORTER, _TRIALS = 0.4, 24  # of a step that does not decrease enough


@final
@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """Where a search has ended, and whether the gradient there is as small as was wanted."""

    place: Floats
    steepness: float  # the greatest entry of the gradient
    converged: bool
    steps: int


def minimum(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    tolerance: float,
    steps: int,
    least_gain: float = 0.0,
) -> Minimum:
    """Search for the minimum until no entry of the gradient exceeds the tolerance, or for `steps` steps.

    Every step is taken only if it decreases the function, so that what is returned is never worse than the start.
    `least_gain` ends the search early, not converged, where a step gains less.
    """
    place = start
    value, gradient = function(place)
    if not math.isfinite(value):
        raise ArithmeticError("the function has no value where the search begins")
    earlier: deque[_Taken] = deque(maxlen=_MEMORY)
    made = steps
    for step in range(steps):
        steepness = _greatest(gradient)
        if steepness <= tolerance:
            return Minimum(place, steepness, converged=True, steps=step)
        direction = _direction(gradient, earlier)
        slope = product(gradient, direction)
        if slope >= 0:
            earlier.clear()
            direction = -gradient / max(steepness, 1.0)
            slope = product(gradient, direction)
        taken = _step(function, place, value, direction, slope)
        if taken is None:
            if not earlier:
                made = step
                break
            earlier.clear()  # what was remembered misleads: begin again with the gradient alone
            continue
        length, next_value, next_gradient = taken
        moved, turned = length * direction, next_gradient - gradient
        curvature = product(moved, turned)
        if curvature > 1e-12:
            earlier.append(_Taken(moved, turned, curvature))
        gain = value - next_value
        place, value, gradient = place + moved, next_value, next_gradient
        if gain < least_gain:
            made = step + 1
            break
    steepness = _greatest(gradient)
    return Minimum(place, steepness, converged=steepness <= tolerance, steps=made)


def product(one: Floats, other: Floats) -> float:
    """The inner product, in this thread: starting others for it would take longer."""
    return float(np.einsum("i,i", one, other))


def _greatest(gradient: Floats) -> float:
    return float(np.abs(gradient).max(initial=0.0))


class _Taken(NamedTuple):
    """A step that was taken: how far, by how much the gradient turned, and the inner product of both."""

    moved: Floats
    turned: Floats
    curvature: float


def _direction(gradient: Floats, earlier: deque[_Taken]) -> Floats:
    """The two-loop recursion: minus an estimate of the inverse Hessian times the gradient."""
    if not earlier:
        return -gradient * min(1.0, 1.0 / max(_greatest(gradient), 1e-12))
    rest, factors = gradient.copy(), []
    for each in reversed(earlier):
        factor = product(each.moved, rest) / each.curvature
        factors.append(factor)
        rest -= factor * each.turned
    last = earlier[-1]
    rest *= last.curvature / product(last.turned, last.turned)
    for each, factor in zip(earlier, reversed(factors), strict=True):
        rest += (factor - product(each.turned, rest) / each.curvature) * each.moved
    return -rest


def _step(
    function: Callable[[Floats], tuple[float, Floats]], place: Floats, value: float, direction: Floats, slope: float
) -> tuple[float, float, Floats] | None:
    """How far to go so that the function decreases enough, with its value and gradient there."""
    length = 1.0
    for _ in range(_TRIALS):
        found, gradient = function(place + length * direction)
        if math.isfinite(found) and found <= value + _ENOUGH * length * slope:
            return length, found, gradient
        length *= _SHORTER
    return None
