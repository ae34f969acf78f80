"""Composition of charges that are declared together, and the least noise that fits a budget.

`compose` and the theorems behind its methods hold for adaptively chosen *queries*; what must be declared beforehand is
the list of charges itself. For charges that are chosen adaptively there are filters. `calibrate` finds the least noise
for a number of releases under a budget.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from giveortake.accounting.intervals import (
    Bundle,
    Charge,
    bundle_epsilon,
    common_terms,
    delta_interval,
    flattened,
    listed_charges,
)
from giveortake.accounting.pld.loss import two_points
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import (
    Number,
    enclosure,
    exact_or_up,
    open_probability,
    positive,
    precision,
    sqrt_down,
    sqrt_up,
    upper,
    whole,
)
from giveortake.privacy import (
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    events,
    gaussian_mu,
    sequential,
)
from giveortake.privacy.guarantee import raised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from giveortake.privacy import Neighbours, Unit


Method: TypeAlias = Literal["basic", "advanced", "optimal", "tight"]


def compose(
    charges: Charge | Iterable[Charge],
    *,
    delta: Number | None = None,
    method: Method = "tight",
    unit: Unit | None = None,
    neighbours: Neighbours | None = None,
) -> Guarantee:
    """The promise of all charges together: events, promises, or both, nested as they come.

    With `delta`, an ApproxDP at that δ, its ε rounded up:

    - "basic" [PDP21, L1.2], [Lal20, Prop. 8]: ε and δ add; what has no ε takes an equal share of the δ that is left;
    - "advanced" [Rot11, Theorem 6], for charges that promise (ε, δ): see `advanced_epsilon`;
    - "optimal" [KOV15], [MV16], for the same: the least ε that follows from the pairs (ε, δ) alone;
    - "tight": the least ε that follows from the distributions of the privacy losses, see `epsilon_interval`; for two or
      more exponential mechanisms an upper bound of it.

    Without it, the promises are added in a currency that all of them share, by "basic" and "tight" alike.

    >>> gt.compose([gt.PureDP("0.1")] * 100, delta="1e-6", method="basic")
    ApproxDP('10', '1e-6')
    >>> print(f"{float(gt.compose([gt.PureDP('0.1')] * 100, delta='1e-6').epsilon):.6f}")
    4.774568
    """
    if method not in get_args(Method):
        raise InvalidParameter("method", method, "is unknown", hint=f"there are {', '.join(get_args(Method))}")
    listed = listed_charges(charges)
    terms = common_terms(listed, unit, neighbours)
    if delta is None:
        if method in {"advanced", "optimal"}:
            raise InvalidParameter("delta", delta, f"is missing, and {method} composition trades ε for it")
        return sequential(_promise(charge, *terms) for charge in listed)
    allowed = open_probability("delta", delta)
    match method:
        case "basic":
            epsilon = basic_epsilon([_promise(charge, *terms) for charge in listed], allowed)
        case "advanced":
            epsilon = advanced_epsilon(_pairs(listed, *terms), allowed)
        case "optimal":
            bundle = Bundle(*terms)
            for own_epsilon, own_delta, times in _pairs(listed, *terms):
                bundle.losses[two_points(own_epsilon, own_delta)] += times
            epsilon = bundle_epsilon(bundle, allowed).high
        case _:
            epsilon = bundle_epsilon(flattened(listed, unit=terms[0], neighbours=terms[1]), allowed).high
    return ApproxDP(raised("ε", epsilon), allowed, unit=terms[0], neighbours=terms[1])


def basic_epsilon(promises: list[Guarantee], delta: Fraction) -> Fraction:
    """Σε if Σδ ≤ δ; curves are added in their own currency and stated at the δ that the pairs leave."""
    if any(isinstance(promise, ComputationalDP) for promise in promises):
        raise Unprovable(
            "a computational promise does not imply a statistical one",
            hint="compose without delta: ε and δ add, and the promise stays computational",
        )
    pairs = [p for p in promises if isinstance(p, PureDP | ApproxDP | ProbabilisticDP)]
    curves = [p for p in promises if not isinstance(p, PureDP | ApproxDP | ProbabilisticDP)]
    left = delta - sum((Fraction(0) if isinstance(p, PureDP) else p.delta for p in pairs), Fraction(0))
    _refuse_if_exceeded(left, delta, strict=bool(curves))
    curve_epsilon = sequential(curves).epsilon_at(left) if curves else Fraction(0)
    return curve_epsilon + sum((p.epsilon for p in pairs), Fraction(0))


def advanced_epsilon(pairs: Iterable[tuple[Fraction, Fraction, int]], delta: Fraction) -> Fraction:
    """√(2 ln(1/δ′) Σε²) + Σε(e^ε − 1) with δ′ = δ − Σδ, rounded up, for triples (ε, δ, how often).

    Theorem [Rot11, Theorem 6], [DRV10, Thm 3.3]. For different ε: by Lemma 7 the expected losses are at most
    ε(e^ε − 1), and Azuma's inequality takes the sum of the squares of their ranges.

    >>> print(f"{float(advanced_epsilon([(Fraction(1, 10), Fraction(0), 100)], Fraction(1, 10**6))):.9f}")
    6.308230951
    """
    listed = list(pairs)
    left = delta - sum((times * own for _, own, times in listed), Fraction(0))
    _refuse_if_exceeded(left, delta, strict=True)
    squares = sum((times * epsilon**2 for epsilon, _, times in listed), Fraction(0))
    with precision():
        means = sum((times * enclosure(e) * enclosure(e).expm1() for e, _, times in listed), enclosure(0))
        return upper((2 * -enclosure(left).log() * enclosure(squares)).sqrt() + means)


def _refuse_if_exceeded(left: Fraction, delta: Fraction, *, strict: bool) -> None:
    if left < 0 or (strict and left == 0):
        own = exact_or_up(delta - left)
        raise Unprovable(
            f"the charges have δ = {own} of their own, which leaves nothing of {exact_or_up(delta)}",
            hint=f"ask for a δ above {own}",
        )


def _promise(charge: Charge, unit: Unit, neighbours: Neighbours) -> Guarantee:
    return charge if isinstance(charge, Guarantee) else charge.guarantee(unit=unit, neighbours=neighbours)


def _pairs(charges: Iterable[Charge], unit: Unit, neighbours: Neighbours) -> list[tuple[Fraction, Fraction, int]]:
    """The charges as (ε, δ, how often); refused if one promises no such pair."""
    pairs: list[tuple[Fraction, Fraction, int]] = []
    for charge, times in _leaves(charges, 1):
        match _promise(charge, unit, neighbours):
            case PureDP(epsilon=epsilon):
                pairs.append((epsilon, Fraction(0), times))
            case ApproxDP(epsilon=epsilon, delta=delta) | ProbabilisticDP(epsilon=epsilon, delta=delta):
                pairs.append((epsilon, delta, times))
            case other:
                raise Unprovable(
                    f"{type(other).__name__} is not a pair (ε, δ), and this method composes only such pairs",
                    hint='use method="tight", or state it with .approximate(delta) first',
                )
    return pairs


def _leaves(charges: Iterable[Charge], times: int) -> Iterable[tuple[Charge, int]]:
    for charge in charges:
        match charge:
            case events.Composed(events=parts):
                yield from _leaves(parts, times)
            case events.Repeated(event=event, times=repetitions):
                yield from _leaves([event], times * repetitions)
            case _:
                yield charge, times


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
    release = events.Laplace(multiplier) if noise == "laplace" else events.Gaussian(multiplier)
    return events.Repeated(release if share == 1 else events.Subsampled(release, share), count)


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
