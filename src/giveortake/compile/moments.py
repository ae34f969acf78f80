"""Covariance, correlation and the line of least squares, from noisy moments of pairs of bounded values.

With u = x − c and v = y − d around the middles of the bounds, over the pairs in which nothing is missing:
cov = E[uv] − E[u]·E[v], var = E[u²] − E[u]², corr = cov / √(var x · var y), slope = cov / var x,
intercept = E[y] − slope·E[x].

Guarantee: each moment is a quotient with an interval of its own, at its share of the probability to miss, so that all
hold together (union bound). Where they do, every one of these functions lies between its extremes over the intervals,
which interval arithmetic contains. By Cauchy and Schwarz |cov| ≤ √(var x · var y), a correlation lies between −1 and 1,
and variances and covariances of bounded values have bounds, to which all of them are cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.compile.outputs import Evaluated, Formula

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from giveortake.compile.outputs import Linear, Ratio
    from giveortake.compile.releases import Combined

    Floats: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Moments(Formula):
    """A function of the moments of pairs (u, v): means, means of products, and how many pairs there are.

    Parts that a function does not need are absent, so that they take no share of the confidence.
    """

    function: str
    u: Ratio
    v: Ratio
    uv: Ratio
    uu: Ratio | None = None
    vv: Ratio | None = None
    number: Linear | None = None
    middles: tuple[float, float] = (0.0, 0.0)
    reach: float = np.inf  # the greatest possible covariance of values within these bounds

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        share = miss / self.leaves
        found = {
            name: _floats(part.evaluate(measures, share, size))
            for name, part in (("u", self.u), ("v", self.v), ("uv", self.uv), ("uu", self.uu), ("vv", self.vv))
            if part is not None
        }
        number = None if self.number is None else _floats(self.number.evaluate(measures, share, size))
        covariance = _cut(_minus(found["uv"], _times(found["u"], found["v"])), self.reach)
        match self.function:
            case "covariance":
                return covariance
            case "sample covariance":
                assert number is not None  # noqa: S101 (given for it)
                return _times(covariance, _bessel(number))
            case "correlation":
                return _correlation(covariance, _spread(found["uu"], found["u"]), _spread(found["vv"], found["v"]))
        slope = _over(covariance, _spread(found["uu"], found["u"]))
        if self.function == "slope":
            return slope
        x, y = self.middles
        of_x, of_y = _shifted(found["u"], x), _shifted(found["v"], y)
        return _minus(of_y, _times(slope, of_x))

    @property
    def leaves(self) -> int:
        return 3 + sum(part is not None for part in (self.uu, self.vv, self.number))


def _floats(part: Evaluated) -> Evaluated:
    return Evaluated(*(np.asarray(each, dtype=np.float64) for each in (part.values, part.low, part.high)))


def _cut(a: Evaluated, reach: float) -> Evaluated:
    return Evaluated(*(np.clip(each, -reach, reach) for each in (a.values, a.low, a.high)))


def _shifted(a: Evaluated, by: float) -> Evaluated:
    return Evaluated(a.values + by, a.low + by, a.high + by)


def _minus(a: Evaluated, b: Evaluated) -> Evaluated:
    return Evaluated(a.values - b.values, a.low - b.high, a.high - b.low)


def _times(a: Evaluated, b: Evaluated) -> Evaluated:
    """The product; zero times an infinite end is zero."""
    with np.errstate(invalid="ignore"):
        products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    corners = np.array([np.where(np.isnan(each), 0.0, each) for each in products])
    return Evaluated(a.values * b.values, corners.min(axis=0), corners.max(axis=0))


def _over(a: Evaluated, b: Evaluated) -> Evaluated:
    """A quotient by a number that is not negative; unbounded where that may be zero."""
    apart = b.low > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.where(apart, 1 / b.high, 0.0), np.where(apart, 1 / b.low, np.inf)
        inverse = Evaluated(np.where(b.values > 0, 1 / b.values, np.nan), low, high)
    found = _times(a, inverse)
    unbounded = ~apart
    return Evaluated(found.values, np.where(unbounded, -np.inf, found.low), np.where(unbounded, np.inf, found.high))


def _spread(a: Evaluated, b: Evaluated) -> Evaluated:
    """E[u²] − E[u]², which is not negative."""
    ends = b.low**2, b.high**2
    least = np.where((b.low <= 0) & (b.high >= 0), 0.0, np.minimum(*ends))
    low, high = np.maximum(a.low - np.maximum(*ends), 0.0), np.maximum(a.high - least, 0.0)
    return Evaluated(np.maximum(a.values - b.values**2, 0.0), low, high)


def _correlation(covariance: Evaluated, of_x: Evaluated, of_y: Evaluated) -> Evaluated:
    root: Callable[[Floats], Floats] = np.sqrt
    both = Evaluated(root(of_x.values * of_y.values), root(of_x.low * of_y.low), root(of_x.high * of_y.high))
    return _cut(_over(covariance, both), 1.0)


def _bessel(number: Evaluated) -> Evaluated:
    """The factor n / (n − 1), which falls in n; unbounded where n may be one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(number.values > 1, number.values / (number.values - 1), np.nan)
        low = np.where(number.high > 1, number.high / (number.high - 1), 1.0)
        high = np.where(number.low > 1, number.low / (number.low - 1), np.inf)
    return Evaluated(value, low, high)
