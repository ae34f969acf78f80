"""The least noise for a number of releases under a budget."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from giveortake.accounting.intervals import delta_interval
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import Number, positive, sqrt_down, sqrt_up, whole
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, events, gaussian_mu

if TYPE_CHECKING:
    from collections.abc import Callable

Noise: TypeAlias = Literal["laplace", "gaussian"]

_FINENESS = Fraction(1, 2**11)  # relative: noise is at most this much above the least that could be certified
_SPARE = Fraction(1, 2**56)  # so that composing what was calibrated stays within the budget after all roundings
_LEAST, _MOST = Fraction(1, 2**10), Fraction(2**30)  # noise multipliers that are tried


def calibrate(noise: Noise, budget: Guarantee, *, releases: int = 1, rate: Number = 1) -> Fraction:
    """The least noise multiplier, rounded up, with which `releases` releases keep the promise `budget` together.

    Each release sees all units, or a Poisson sample of them at `rate` (stochastic gradient descent). Exact for Laplace
    under PureDP and for Gaussian noise on all units; otherwise the noise found is certified by `delta_interval` and
    within a two-thousandth of the least that can be.

    >>> print(f"{float(calibrate('gaussian', gt.ApproxDP(1, '1e-5'))):.9f}")
    3.730631635
    >>> calibrate("laplace", gt.PureDP("0.5"), releases=10)
    Fraction(20, 1)
    """
    if noise not in get_args(Noise):
        raise InvalidParameter("noise", noise, "is unknown", hint='write "laplace" or "gaussian"')
    count, share = whole("releases", releases), positive("rate", rate)
    if share > 1:
        raise InvalidParameter("rate", rate, "is above 1")
    match budget:
        case PureDP(epsilon=epsilon) if noise == "laplace" and share == 1:
            return count / epsilon
        case ApproxDP(epsilon=epsilon, delta=delta) if noise == "gaussian" and share == 1:
            return _root(count) / gaussian_mu(epsilon, delta) * (1 + _SPARE)
        case GaussianDP(mu=mu) if noise == "gaussian" and share == 1:
            return _root(count) / mu
        case ZCDP(rho=rho) if noise == "gaussian" and share == 1:
            return _root(count) / sqrt_down(2 * rho)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return _least(lambda multiplier: _fits(_event(noise, multiplier, count, share), epsilon, delta))
    raise Unprovable(
        f"{noise} noise is not calibrated to {type(budget).__name__}" + (" after sampling" if share < 1 else ""),
        hint="state the budget as ApproxDP(epsilon, delta)",
    )


def _root(count: int) -> Fraction:
    """√count, exact, or rounded up with a margin for later roundings."""
    root = isqrt(count)
    return Fraction(root) if root**2 == count else sqrt_up(Fraction(count)) * (1 + _SPARE)


def _event(noise: Noise, multiplier: Fraction, count: int, share: Fraction) -> events.Event:
    one = events.Laplace(multiplier) if noise == "laplace" else events.Gaussian(multiplier)
    return events.Repeated(one if share == 1 else events.Subsampled(one, share), count)


def _fits(event: events.Event, epsilon: Fraction, delta: Fraction) -> bool:
    return delta_interval(event, epsilon).high <= delta


def _least(fits: Callable[[Fraction], bool]) -> Fraction:
    """The least multiplier found to fit, by doubling and halving the interval; what is returned was checked."""
    high = Fraction(1)
    while not fits(high):
        high *= 2
        if high > _MOST:
            raise Unprovable("no noise multiplier up to 2^30 can be certified for this budget")
    low = high / 2
    while low > _LEAST and fits(low):
        low, high = low / 2, low
    while high - low > low * _FINENESS:
        middle = (low + high) / 2
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
