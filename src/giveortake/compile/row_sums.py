"""Margins of sums of a linear formula over several keys.

Guarantee: the noise of k keys is k independent copies of one, so with the logarithm K(s) of a noise's moment-generating
function P[|Σ| > t] ≤ 2·e^(k·K(s) − s·t) for every s > 0 (Chernoff): t = min over s of (ln(2/miss) + k·K(s)) / s misses
with probability at most `miss`. Laplace noise of scale b has K(s) = −ln(1 − s²b²) below s = 1/b; normal noises add to a
normal one exactly. Rounding moves each key by at most `slack`, symmetrically and independently: by Hoeffding's
inequality [Hoe63] the sum of it exceeds slack·√(2k·ln(2/miss)) with probability at most `miss`, and k·slack never.
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

_ROUNDING = 1 / 64  # of the probability to miss, for rounding
_FEW = 8  # Laplace terms whose law is added up exactly
_GRID = np.linspace(0.002, 0.998, 400)


def sum_margins(formula: Linear, measures: Mapping[int, Combined], counts: Floats, miss: float) -> Floats:
    """For each number of keys, the margin of the sum of the formula over that many keys; 0 for none."""
    strays: list[Tail] = []
    slack = 0.0
    for index, weight in formula.weights.items():
        size = abs(float(weight))
        strays += [each.times(size) for each in measures[index].tails]
        slack += measures[index].slack * size
    known, places = np.unique(np.nan_to_num(counts), return_inverse=True)
    noise = np.array([_noise_margin(strays, int(count), miss * (1 - _ROUNDING)) for count in known])
    rounding = np.minimum(known * slack, slack * np.sqrt(2 * known * math.log(2 / (miss * _ROUNDING))))
    found: Floats = (noise + rounding)[places]
    return found


def _noise_margin(strays: list[Tail], count: int, miss: float) -> float:
    if count == 0 or not strays:
        return 0.0
    if count * len(strays) <= _FEW:
        return tails.quantile(strays * count, miss)
    laplace = [float(each.scale) for each in strays if isinstance(each, LaplaceTail)]
    normal = [float(each.scale) for each in strays if isinstance(each, NormalTail)]
    each = miss / 2 if laplace and normal else miss
    deviation = math.sqrt(count * sum(scale * scale for scale in normal))
    total = deviation * -NormalDist().inv_cdf(each / 2) if normal else 0.0
    return total + (_laplace_margin(laplace, count, each) if laplace else 0.0)


def _laplace_margin(scales: list[float], count: int, miss: float) -> float:
    greatest = max(scales)
    if greatest == 0:
        return 0.0
    s = _GRID / greatest
    cumulant = sum(-np.log1p(-((s * scale) ** 2)) for scale in scales)
    return float(((math.log(2 / miss) + count * cumulant) / s).min())
