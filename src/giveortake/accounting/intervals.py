"""ε from δ, δ from ε and the trade-off curve of everything together, as intervals that contain the truth.

The truth is the least ε (or δ) for which the worst case of the charges is (ε, δ)-DP: of noise, its own distribution; of
promises, the worst mechanism that keeps them. Charges of which only moments are known (zCDP, Rényi), and those
whose worst case is not known exactly, count from above only, so the interval may be wide below. So do exponential
mechanisms, unless there is only one: the upper end is that of a product that no mechanism attains.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.accounting import bounds, laws
from giveortake.accounting.bounds import LossSum, RepeatedLaw
from giveortake.accounting.charges import Bundle, Charge, flattened
from giveortake.accounting.gridded import GriddedCurve, GriddedLaw
from giveortake.accounting.interval import Interval
from giveortake.accounting.responses import responses_epsilon
from giveortake.accounting.rounding import NotResolved
from giveortake.errors import Unprovable
from giveortake.exact import (
    LEAST,
    Number,
    closed_probability,
    enclosure,
    non_negative,
    normal_cdf,
    open_probability,
    precision,
    probability_down,
    probability_up,
    sqrt_down,
    sqrt_up,
)
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, gaussian_delta, sequential
from giveortake.privacy.guarantee import raised
from giveortake.privacy.wording import bound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.privacy import Neighbours, Unit

_LARGEST = 10**9  # an ε beyond it is answered without a grid
_SMALLEST = 1e-12  # losses narrower than this are priced without a grid
_NARROW = Fraction(1, 2**40)
_FEW = 64  # charges whose own δ is added up exactly
_TRADE_DELTA, _TRADE_POINTS = Fraction(1, 10**9), 32  # where trade-off curves end, and of how many points they are made


def epsilon_interval(
    charges: Charge | Iterable[Charge],
    delta: Number,
    *,
    unit: Unit | None = None,
    neighbours: Neighbours | None = None,
) -> Interval:
    """The least ε for which all charges together are (ε, δ)-DP, as an interval.

    >>> found = epsilon_interval([gt.GaussianDP("0.02")] * 1000, "1e-6")
    >>> print(found)
    between 2.9216... and 2.9216...
    """
    return bundle_epsilon(flattened(charges, unit=unit, neighbours=neighbours), open_probability("delta", delta))


def delta_interval(
    charges: Charge | Iterable[Charge],
    epsilon: Number,
    *,
    unit: Unit | None = None,
    neighbours: Neighbours | None = None,
) -> Interval:
    """The least δ for which all charges together are (ε, δ)-DP, as an interval.

    >>> import giveortake as gt
    >>> least = delta_interval(gt.PureDP("1"), "1/2")
    >>> round(float(least.low), 4), round(float(least.high), 4)
    (0.2876, 0.2876)
    """
    return bundle_delta(flattened(charges, unit=unit, neighbours=neighbours), non_negative("epsilon", epsilon))


def bundle_epsilon(bundle: Bundle, delta: Fraction) -> Interval:
    """`epsilon_interval` of a bundle."""
    if _only_gaussian(bundle):
        return _gaussian_epsilon(bundle, delta)
    _refuse_leaks(bundle, delta)
    closed = _closed_form(bundle, delta)
    if closed is not None:
        return Interval(Fraction(closed[0]), Fraction(closed[1]))
    crude = crude_epsilon(bundle, delta)
    low, high = _least_known(bundle, delta), Fraction(0)
    for losses in _directions(bundle):
        found = _epsilon_bounds(losses, delta, low)
        if found is None:
            return Interval(min(low, crude), crude)
        low, high = max(low, Fraction(found[0])), max(high, Fraction(found[1]))
    high = min(high, crude)
    return Interval(min(low, high), high)


def _closed_form(bundle: Bundle, delta: Fraction) -> tuple[float, float] | None:
    """Bounds of ε in closed form if all charges are equal (ε, δ) promises, else None."""
    if bundle.mu_squared or bundle.moments or bundle.sampled or bundle.worst or len(bundle.losses) > 1:
        return None
    ((law, times),) = bundle.losses.items()
    if not isinstance(law, laws.Lattice) or len(law.masses) != 2 or law.start != -law.largest:
        return None
    if float(law.leak) >= 1:
        return None
    return responses_epsilon(law.largest, law.leak, times, delta)


def _least_known(bundle: Bundle, delta: Fraction) -> Fraction:
    """A lower bound of ε from the charges whose worst case is known; 0 if all charges or none are such."""
    known = bundle.known()
    if known == bundle:
        return Fraction(0)
    return bundle_epsilon(known, delta).low if known.mu_squared or known.losses or known.sampled else Fraction(0)


def bundle_delta(bundle: Bundle, epsilon: Fraction) -> Interval:
    """`delta_interval` of a bundle."""
    if _only_gaussian(bundle):
        return Interval(_gaussian_delta_down(bundle, epsilon), gaussian_delta(bundle.mu(), epsilon))
    low = high = Fraction(0)
    for losses in _directions(bundle):
        try:
            found = _delta_bounds(losses, epsilon)
        except NotResolved:
            found = None
        if found is None:
            return Interval(Fraction(0), crude_delta(bundle, epsilon))
        low, high = max(low, Fraction(found[0])), max(high, Fraction(found[1]))
    return Interval(min(low, Fraction(1)), min(high, Fraction(1)))


def least_miss_rate(
    charges: Charge | Iterable[Charge],
    fpr: Number,
    *,
    unit: Unit | None = None,
    neighbours: Neighbours | None = None,
) -> Fraction:
    """The least false-negative rate, rounded down, of any attacker who sees all releases at this false-positive rate.

    Theorem [WZ10], [KOV15]: (ε, δ)-DP leaves max(0, 1 − δ − e^ε·fpr, e^−ε(1 − δ − fpr)); this is the greatest of these
    over points (ε, δ(ε)) of the composed curve, with δ(ε) from above. The points end where δ(ε) is next to nothing, or
    twice what the charges have of their own.

    >>> import giveortake as gt
    >>> round(float(least_miss_rate(gt.PureDP("1"), "1/10")), 4)
    0.7282
    """
    rate = closed_probability("fpr", fpr)
    bundle = flattened(charges, unit=unit, neighbours=neighbours)
    leak = _leak(bundle)
    if leak == 1:
        return Fraction(0)
    top = bundle_epsilon(bundle, max(_TRADE_DELTA, min(2 * leak, (1 + leak) / 2))).high
    promises = (_pair(top * place / _TRADE_POINTS, bundle) for place in range(_TRADE_POINTS + 1))
    return max((promise.tradeoff(rate) for promise in promises if promise is not None), default=Fraction(0))


def _pair(epsilon: Fraction, bundle: Bundle) -> ApproxDP | None:
    delta = bundle_delta(bundle, epsilon).high
    return ApproxDP(epsilon, max(delta, LEAST)) if delta < 1 else None


# -- laws of losses, and their bounds -----------------------------------------------------------------------------


def _directions(bundle: Bundle) -> list[list[RepeatedLaw]]:
    """The laws of the losses when a unit is removed, and when one is added where that differs."""
    one = bundle.is_one_maximum()
    common = [RepeatedLaw(GriddedLaw(law), times) for law, times in bundle.losses.items()]
    common += [RepeatedLaw(GriddedLaw(law), times, known=one) for law, times in bundle.worst.items()]
    if bundle.mu_squared:
        common.append(RepeatedLaw(GriddedLaw(laws.Normal(float(bundle.mu()))), 1))
    moments = bundle.moment_promise()
    if moments is not None:
        common.append(RepeatedLaw(GriddedCurve(moments), 1, known=False))
    if not bundle.sampled:
        return [common]
    return [
        common
        + [
            RepeatedLaw(GriddedLaw(laws.Sampled(law, rate, way)), times, known=one or law.attained)
            for (law, rate), times in bundle.sampled.items()
        ]
        for way in (True, False)
    ]


def _sizeable(losses: list[RepeatedLaw]) -> bool:
    return min(each.law.reach for each in losses) > _SMALLEST


def _epsilon_bounds(losses: list[RepeatedLaw], delta: Fraction, known: Fraction) -> tuple[float, float] | None:
    """Bounds of ε on a grid; (0, 0) if this ε cannot exceed `known`; None if floats cannot tell."""
    try:
        if not _sizeable(losses):
            return None
        if known and LossSum(losses, delta=math.nextafter(float(delta), 0.0)).chernoff() <= known:
            return 0.0, 0.0
        found = bounds.epsilon_bounds(losses, math.nextafter(float(delta), 0.0), math.nextafter(float(delta), 1.0))
    except NotResolved:
        return None
    return found if math.isfinite(found[1]) else None


def _leak(bundle: Bundle) -> Fraction:
    """The probability that some loss is infinite, 1 − Π (1 − δ)^k: exact for a few charges, else rounded up."""
    leaky = [(law, times) for law, times in [*bundle.losses.items(), *bundle.worst.items()] if law.infinite]
    if not leaky:
        return Fraction(0)
    if sum(times for _, times in leaky) <= _FEW:
        return 1 - math.prod(((1 - law.infinite) ** times for law, times in leaky), start=Fraction(1))
    with precision():
        logs = sum((times * enclosure(-law.infinite).log1p() for law, times in leaky), enclosure(0))
        rounded = probability_up(-logs.expm1())
    return min(rounded, sum((times * law.infinite for law, times in leaky), Fraction(0)))


def _delta_bounds(losses: list[RepeatedLaw], epsilon: Fraction) -> tuple[float, float] | None:
    if epsilon > _LARGEST or not _sizeable(losses):
        return None
    near = float(epsilon)
    return bounds.delta_bounds(losses, max(0.0, math.nextafter(near, -math.inf)), math.nextafter(near, math.inf))


def _refuse_leaks(bundle: Bundle, delta: Fraction) -> None:
    leak = _leak(bundle)
    if leak > delta:
        raise Unprovable(
            f"the charges have δ = {bound(leak)} of their own, and no ε makes up for that",
            hint=f"ask for a δ above {bound(leak)}",
        )


# -- without a grid -------------------------------------------------------------------------------------------------


def _only_gaussian(bundle: Bundle) -> bool:
    return not (bundle.losses or bundle.worst or bundle.sampled or bundle.moments)


def _gaussian_epsilon(bundle: Bundle, delta: Fraction) -> Interval:
    """ε of Gaussian noise alone, from the exact curve of μ-GDP; both ends are certified."""
    high = GaussianDP(bundle.mu()).epsilon_at(delta)
    gap = high * _NARROW
    while gap < high:
        if _gaussian_delta_down(bundle, high - gap) > delta:
            return Interval(high - gap, high)
        gap *= 16
    return Interval(Fraction(0), high)


def _gaussian_delta_down(bundle: Bundle, epsilon: Fraction) -> Fraction:
    """Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), rounded down [BW18, Thm 8]; it increases with μ."""
    mu = sqrt_down(bundle.mu_squared)
    if abs(epsilon / mu - mu / 2) > 40:
        return Fraction(0)
    with precision(256 + max(0, mu.denominator.bit_length() - mu.numerator.bit_length())):
        ratio, half = enclosure(epsilon / mu), enclosure(mu / 2)
        return probability_down(normal_cdf(half - ratio) - enclosure(epsilon).exp() * normal_cdf(-half - ratio))


def crude_epsilon(bundle: Bundle, delta: Fraction) -> Fraction:
    """An ε that needs no grid: the least of basic composition and of the sum of ρ [BS16], [KOV15]."""
    pairs, curves = _as_promises(bundle)
    leak = _leak(bundle)
    found = []
    if not curves and leak <= delta:
        found.append(sum((times * epsilon for epsilon, times in pairs), Fraction(0)))
    if leak < delta:
        if curves:
            rest = sequential(curves).epsilon_at(delta - leak)
            found.append(rest + sum((times * epsilon for epsilon, times in pairs), Fraction(0)))
        with suppress(Unprovable):  # beyond 1e300
            found.append(_concentrated(pairs, curves).epsilon_at(delta - leak))
    if not found:
        raise Unprovable("the δ asked for lies between the charges' own and what floating-point numbers can resolve")
    return min(found)


def crude_delta(bundle: Bundle, epsilon: Fraction) -> Fraction:
    """A δ that needs no grid: the one that follows from the sum of ρ, plus the charges' own δ."""
    pairs, curves = _as_promises(bundle)
    if not curves and epsilon >= sum((times * largest for largest, times in pairs), Fraction(0)):
        return _leak(bundle)
    try:
        return min(Fraction(1), _leak(bundle) + _concentrated(pairs, curves).delta_at(epsilon))
    except Unprovable:
        return Fraction(1)


def _concentrated(pairs: list[tuple[Fraction, int]], curves: list[Guarantee]) -> Guarantee:
    """All charges together: ε-DP is ε²/2-zCDP [BS16, Prop. 1.4]; (ε, δ)-DP is ε-DP but for probability δ [KOV15]."""
    rhos = [ZCDP(raised("ρ", times * epsilon**2 / 2)) for epsilon, times in pairs if epsilon]
    return sequential([*rhos, *curves]) if rhos or curves else PureDP(LEAST)


def _as_promises(bundle: Bundle) -> tuple[list[tuple[Fraction, int]], list[Guarantee]]:
    """Pairs (ε, how often) of charges that have an ε, and curves of the others; ignoring sampling only overstates."""
    pairs: list[tuple[Fraction, int]] = []
    squares = bundle.mu_squared
    everything = [*bundle.losses.items(), *bundle.worst.items()]
    everything += [(law, times) for (law, _), times in bundle.sampled.items()]
    for law, times in everything:
        if isinstance(law, laws.Normal):
            squares += times * Fraction(law.mu) ** 2 * (1 + Fraction(1, 2**40))
        else:
            pairs.append((law.largest, times))
    moments = bundle.moment_promise()
    curves: list[Guarantee] = [] if moments is None else [replace(moments, unit=ROW, neighbours="add-remove")]
    if squares:
        curves.append(GaussianDP(raised("μ", sqrt_up(squares))))
    return pairs, curves
