"""How far from zero sums of very many weighted Laplace noises may lie, for a whole table of sums at once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

_APART = 1.01  # weights are moved up to a grid with this ratio
_LEAST = 1e-3  # of the standard deviation: smaller weights count as that
_PERIOD = 16.0  # standard deviations after which the Fourier series repeats
_TERMS = 256
_ERROR = 1e-5  # bounds what the series leaves out, as a probability
_STEPS = 20  # of halving
_NOTHING = 1e-9
_RARE = 1e-3  # a chance that no sum has beyond …
_FARTHEST = 5.5  # … standard deviations: one noise alone has e^(−5.5·√2)


def quantiles(weights: Floats, miss: float) -> Floats:
    """For every row w of weights, the t with P[|Σ wᵢ·Zᵢ| > t] ≤ miss, where the Zᵢ are Laplace noises of scale 1.

    Guarantee: the characteristic function of the sum is Π 1/(1 + wᵢ²u²), and P[|Σ| ≤ t] = 2/π ∫ sin(ut)/u of it.
    Weights are moved up first, by at most 1 %, which only lengthens the tail: a symmetric unimodal noise that is scaled
    up leaves every interval around zero more often, whatever such noise is added to it [Bir48]. The integral is a
    series whose error is less than `_ERROR`, which is taken off the miss. Where that is not far below the miss,
    Chernoff's bound is taken: P[|Σ| > t] ≤ 2 e^(−st) Π 1/(1 − wᵢ²s²) for every s below 1 / max wᵢ.
    """
    if miss < _RARE:
        return _moment_quantiles(np.abs(weights), miss)
    deviation = np.sqrt(2 * (weights**2).sum(axis=1))
    some = deviation > 0
    found = np.zeros(len(weights))
    if some.any():
        relative = np.abs(weights[some]) / deviation[some, np.newaxis]
        found[some] = deviation[some] * _standard_quantiles(relative, miss - _ERROR)
    return found


def _moment_quantiles(weights: Floats, miss: float) -> Floats:
    """The least t that Chernoff's bound allows, over a grid of s."""
    greatest = weights.max(axis=1)
    relative = weights / np.where(greatest > 0, greatest, 1.0)[:, np.newaxis]
    best = np.full(len(weights), np.inf)
    for s in np.linspace(0.02, 0.98, 49).tolist():
        best = np.minimum(best, (np.log(2 / miss) - np.log1p(-((s * relative) ** 2)).sum(axis=1)) / s)
    found: Floats = np.where(greatest > 0, best * greatest, 0.0)
    return found


def _standard_quantiles(relative: Floats, miss: float) -> Floats:
    """The quantiles for weights that are stated in standard deviations of the sum."""
    grid, logs = _grid()
    places = np.ceil(np.log(np.maximum(relative, _LEAST) / _LEAST) / np.log(_APART) - 1e-9).astype(np.int64)
    places = np.where(relative > 0, np.minimum(places, len(grid) - 1), -1)
    size = len(grid) + 1
    flat = (places + 1 + np.arange(len(places))[:, np.newaxis] * size).ravel()
    counts = np.bincount(flat, minlength=size * len(places)).reshape(len(places), size)[:, 1:].astype(np.float64)
    found = np.zeros(len(relative))
    left = np.arange(len(relative))
    for terms in (_TERMS // 8, _TERMS):  # sums of many noises are smooth, and need few terms
        characteristic = np.exp(-(counts[left] @ logs[:, :terms]))
        done = characteristic[:, -1] < _NOTHING if terms < _TERMS else np.full(len(left), True)
        found[left[done]] = _crossing(characteristic[done], miss)
        left = left[~done]
    return found


def _crossing(characteristic: Floats, miss: float) -> Floats:
    """Where P[|Σ| ≤ t] reaches 1 − miss, by halving."""
    terms = characteristic.shape[1]
    frequencies = _frequencies()[:terms]
    amplitudes = 2 * characteristic / np.arange(1, terms + 1)
    below, above = np.zeros(len(characteristic)), np.full(len(characteristic), _FARTHEST)
    for _ in range(_STEPS):
        middle = (below + above) / 2
        inside = frequencies[0] * middle + (amplitudes * np.sin(np.outer(middle, frequencies))).sum(axis=1)
        enough = inside >= np.pi * (1 - miss)
        below, above = np.where(enough, below, middle), np.where(enough, middle, above)
    return above


@lru_cache(maxsize=1)
def _grid() -> tuple[Floats, Floats]:
    """The weights that others are moved up to, and ln(1 + w²u²) of each at every frequency."""
    count = int(np.ceil(np.log(1 / _LEAST) / np.log(_APART))) + 1
    grid: Floats = _LEAST * _APART ** np.arange(count, dtype=np.float64)
    logs: Floats = np.log1p((grid[:, np.newaxis] * _frequencies()) ** 2)
    return grid, logs


def _frequencies() -> Floats:
    frequencies: Floats = 2 * np.pi / _PERIOD * np.arange(1, _TERMS + 1, dtype=np.float64)
    return frequencies
