"""Margins of sums of a linear formula over several keys.

Guarantee: the noise of k keys is k independent copies of one. In standard deviations, the sum S of Laplace noises of
scales bᵢ and a normal one of deviation σ has the characteristic function φ(u) = e^(−kσ²u²/2) Π (1 + bᵢ²u²)^(−k), and
P[|S| ≤ t] = 2t/T + Σ 2/(πj)·φ(uⱼ)·sin(uⱼt) over uⱼ = 2πj/T, j = 1, 2, …, but for the chance that |S| exceeds T − t,
which is nothing at T = 64. Where u is large, φ falls to less than 0.4 of itself whenever u doubles, so that the terms
after the J-th are together less than φ(u_J); they are taken off the miss. Where they matter beside it, `tails` has the
law of few noises, and of many Chernoff's bound is taken: with the logarithm K(s) of a noise's moment-generating
function P[|Σ| > t] ≤ 2·e^(k·K(s) − s·t) for every s > 0, and K(s) = −ln(1 − s²b²) below s = 1/b for Laplace noise.
More noise only lengthens the tail [Bir48], so that a large k may be rounded up, by at most 1 %. Rounding moves each key
by at most `slack`, symmetrically and independently: by Hoeffding's inequality [Hoe63] the sum of it exceeds
slack·√(2k·ln(2/miss)) with probability at most `miss`, and k·slack never.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from giveortake.mechanisms import tails
from giveortake.mechanisms.tails import LaplaceTail, NormalTail

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from giveortake.compile.outputs import Linear
    from giveortake.compile.releases import Combined
    from giveortake.mechanisms.tails import Tail

    Floats: TypeAlias = npt.NDArray[np.float64]

_ROUNDING = 1 / 64  # of the probability to miss, for what rounding adds
_FEW = 8  # noises whose law is added up in `tails`
_GRID = np.linspace(0.002, 0.998, 400)
_PERIOD = 64.0  # standard deviations after which the series repeats
_FREQUENCIES = 2 * np.pi / _PERIOD * np.arange(1, 1025)
_FARTHEST = 16.0  # standard deviations, beyond which a sum lies less often than …
_RAREST = 1e-8
_DOUBLES = 1e-12  # what a sum of so many doubles may be off
_BESIDE = 100  # times what the series leaves out, if that matters little beside the miss
_STEPS = 40  # of halving
_EACH = 200  # keys up to which every number of them is judged by itself
_APART = 1.01  # the ratio of others


def sum_margins(formula: Linear, measures: Mapping[int, Combined], counts: Floats, miss: float) -> Floats:
    """For each number of keys, the margin of the sum of the formula over that many keys; 0 for none."""
    strays: list[Tail] = []
    slack = 0.0
    for index, weight in formula.weights.items():
        size = abs(float(weight))
        strays += [each.times(size) for each in measures[index].tails]
        slack += measures[index].slack * size
    known, places = np.unique(np.nan_to_num(counts), return_inverse=True)
    noise = _noise_margins([each for each in strays if each.scale > 0], known, miss * (1 - _ROUNDING))
    rounding = np.minimum(known * slack, slack * np.sqrt(2 * known * math.log(2 / (miss * _ROUNDING))))
    found: Floats = (noise + rounding)[places]
    return found


def _noise_margins(strays: list[Tail], counts: Floats, miss: float) -> Floats:
    if not strays:
        return np.zeros(len(counts))
    laplace = [float(each.scale) for each in strays if isinstance(each, LaplaceTail)]
    normal = math.hypot(*(float(each.scale) for each in strays if isinstance(each, NormalTail)))
    if not laplace:
        return np.sqrt(counts) * normal * -NormalDist().inv_cdf(miss / 2)
    powers = np.ceil(np.log(np.maximum(counts, _EACH) / _EACH) / math.log(_APART) - 1e-9)
    rounded = np.where(counts > _EACH, np.ceil(_EACH * _APART**powers), counts)
    judged, places = np.unique(rounded, return_inverse=True)
    found = _by_series(laplace, normal, judged, miss)
    for place in np.flatnonzero(np.isnan(found)).tolist():
        count = int(judged[place])
        few = count * len(strays) <= _FEW
        found[place] = tails.quantile(strays * count, miss) if few else _by_moments(laplace, normal, count, miss)
    return found[places]


def _by_series(laplace: list[float], normal: float, counts: Floats, miss: float) -> Floats:
    """What the series says of sums over so many keys; not a number where it says too little."""
    deviation = math.sqrt(2 * sum(scale**2 for scale in laplace) + normal**2)
    found = np.where(counts > 0, np.nan, 0.0)
    copies = counts[:, np.newaxis]
    u = _FREQUENCIES / np.sqrt(np.maximum(copies, 1.0)) / deviation
    characteristic = np.exp(-copies * (sum(np.log1p((u * scale) ** 2) for scale in laplace) + (u * normal) ** 2 / 2))
    left_out = 2 * characteristic[:, -1] + _DOUBLES
    several = (counts * len(laplace) > 1) | (normal > 0)  # of one noise there is a formula
    told = (counts > 0) & several & (left_out * _BESIDE <= miss) & (miss >= _RAREST)
    amplitudes = 2 * characteristic[told] / np.arange(1, len(_FREQUENCIES) + 1)
    wanted = np.pi * (1 - miss + left_out[told])
    below, above = np.zeros(len(wanted)), np.full(len(wanted), _FARTHEST)
    for _ in range(_STEPS):
        middle = (below + above) / 2
        waves = np.sin(np.outer(middle, _FREQUENCIES))
        enough = _FREQUENCIES[0] * middle + (amplitudes * waves).sum(axis=1) >= wanted
        below, above = np.where(enough, below, middle), np.where(enough, middle, above)
    found[told] = above * deviation * np.sqrt(counts[told])
    return found


def _by_moments(laplace: list[float], normal: float, count: int, miss: float) -> float:
    """Chernoff's bound for Laplace noises, and beside it, by the union bound, the law of the normal one."""
    each = miss / 2 if normal else miss
    s = _GRID / max(laplace)
    cumulant = sum(-np.log1p(-((s * scale) ** 2)) for scale in laplace)
    found = float(((math.log(2 / each) + count * cumulant) / s).min())
    return found + math.sqrt(count) * normal * -NormalDist().inv_cdf(each / 2)
