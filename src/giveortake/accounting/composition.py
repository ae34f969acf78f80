"""Composition of charges that are declared together, as intervals that contain the truth, and the least noise for them.

`compose` and the theorems behind its methods hold for adaptively chosen *queries*; what must be declared beforehand is
the list of charges itself. For charges that are chosen adaptively there are filters. `calibrate` finds the least noise
for a number of releases under a budget.

Charges are flattened into a `Bundle`: the Gaussian noise in all, loss distributions with their counts, and moment
curves. Many equal promises (ε, δ) compose in closed form, without a grid.

Theorem [KOV15, Thm 3.3]. Of k responses with losses ±ε₀, j have loss +ε₀ with P-probability p_j, which is
C(k, j)e^(jε₀)/(1 + e^ε₀)^k, and Q-probability p_(k−j). The best tests are "at least j", so δ(ε) is the greatest of
A_j − e^ε·B_j, with A_j the sum of p_i and B_j that of p_(k−i) over i ≥ j, and

    ε(δ) = max(0, max_j ln((A_j − δ)/B_j)).

If each of them leaks with probability δ₀, all of this happens with probability (1 − δ₀)^k and all is lost otherwise.

The truth is the least ε (or δ) for which the worst case of the charges is (ε, δ)-DP: of noise, its own distribution; of
promises, the worst mechanism that keeps them. Charges of which only moments are known (zCDP, Rényi), and those
whose worst case is not known exactly, count from above only, so the interval may be wide below. So do exponential
mechanisms, unless there is only one: the upper end is that of a product that no mechanism attains.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final, get_args

import numpy as np

from giveortake.accounting import convolution, privacy_loss
from giveortake.accounting.convolution import LossSum, RepeatedLaw
from giveortake.accounting.privacy_loss import (
    FUNCTION_ERROR,
    TINY,
    UNIT,
    GriddedCurve,
    NotResolved,
    two_points,
)
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
from giveortake.exact import (
    LEAST,
    Number,
    closed_probability,
    decimal,
    decimal_up,
    enclosure,
    exact_or_up,
    non_negative,
    normal_cdf,
    open_probability,
    positive,
    precision,
    probability_down,
    probability_up,
    sqrt_down,
    sqrt_up,
    upper,
    whole,
)
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    events,
    gaussian_delta,
    gaussian_mu,
    sequential,
)
from giveortake.privacy.guarantee import raised

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.accounting.privacy_loss import Floats
    from giveortake.privacy import Neighbours, Unit


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """low ≤ the number meant ≤ high, both certified.

    >>> Interval(Fraction(1, 2), Fraction(3, 4)).width
    Fraction(1, 4)
    """

    low: Fraction
    high: Fraction

    @property
    def width(self) -> Fraction:
        """The distance between the two ends."""
        return self.high - self.low

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int | float | Fraction) and self.low <= number <= self.high

    def __str__(self) -> str:
        return f"between {decimal(self.low, 9)} and {decimal_up(self.high, 9)}"


Charge: TypeAlias = events.Event | Guarantee

_MOST_ATOMS = 1 << 16


@dataclass(slots=True)
class Bundle:
    """The sum of some charges.

    Laws in `losses` are exact worst cases; laws in `worst` are upper bounds only. Exponential mechanisms are among the
    latter, because the law of one release is the greatest over several pairs, none of which is the worst throughout;
    for `sampled` ones the law says which they are, see `Law.attained`.

    Theorem [DRS22, Cor. 3.3]: Gaussian noise adds by μ². Promises of which only moments are known add in their own
    currency [BS16], [Mir17]. All else is a law of the privacy loss and a number of times.
    """

    unit: Unit = ROW
    neighbours: Neighbours = "add-remove"
    mu_squared: Fraction = Fraction(0)
    losses: Counter[privacy_loss.Law] = field(default_factory=Counter)
    sampled: Counter[tuple[privacy_loss.Law, Fraction]] = field(default_factory=Counter)
    moments: list[tuple[Guarantee, int]] = field(default_factory=list)
    worst: Counter[privacy_loss.Law] = field(default_factory=Counter)  # upper bounds of laws: they give no lower bound

    def mu(self) -> Fraction:
        """μ of all Gaussian noise together, rounded up."""
        return sqrt_up(self.mu_squared)

    def add(self, charge: Charge, times: int = 1) -> None:
        """Count a charge `times` times."""
        match charge:
            case Guarantee():
                self._add_promise(charge, times)
            case events.Composed(events=parts):
                for part in parts:
                    self.add(part, times)
            case events.Repeated(event=event, times=repetitions):
                self.add(event, times * repetitions)
            case events.Parallel():
                self._add_parallel(charge, times)
            case events.InPart() | events.GaussianKeys():
                self._add_bounds(charge, times)
            case events.Subsampled():
                self._add_sampled(charge, times)
            case events.Gaussian(noise_multiplier=noise):
                self.mu_squared += times / noise**2
            case events.ZCDP() | events.DiscreteGaussian():
                self.moments.append((charge.guarantee(unit=self.unit, neighbours=self.neighbours), times))
            case _:
                law = law_of(charge)
                if law is None:
                    promise = charge.guarantee(unit=self.unit, neighbours=self.neighbours)
                    self._add_promise(promise, times, attained=not isinstance(charge, events.Geometric))
                else:
                    (self.losses if law.attained else self.worst)[law] += times

    def _add_bounds(self, event: events.InPart | events.GaussianKeys, times: int) -> None:
        """Add promises that bound a release from above only: no pair of tables is known to attain them.

        It is not known in which parts the worst pair differs; and of found keys only a part of the noise is shown.
        """
        terms: Any = {"unit": self.unit, "neighbours": self.neighbours}
        if isinstance(event, events.InPart):
            bounds: list[Guarantee] = [event.guarantee(**terms)]
        else:
            bounds = [GaussianDP(1 / event.noise_multiplier, **terms), ApproxDP(0, event.delta, **terms)]
        for promise in bounds:
            self._add_promise(promise, times, attained=False)

    def _add_promise(self, promise: Guarantee, times: int, *, attained: bool = True) -> None:
        """Add a promise as the worst mechanism that keeps it: exact if `attained`, otherwise an upper bound."""
        losses = self.losses if attained else self.worst
        match promise:
            case PureDP(epsilon=epsilon):
                losses[privacy_loss.two_points(epsilon)] += times
            case ApproxDP(epsilon=epsilon, delta=delta) | ProbabilisticDP(epsilon=epsilon, delta=delta):
                losses[privacy_loss.two_points(epsilon, delta)] += times
            case GaussianDP(mu=mu) if attained:
                self.mu_squared += times * mu**2
            case GaussianDP(mu=mu):
                losses[privacy_loss.Normal(float(mu) * (1 + 2.0**-50))] += times
            case ZCDP() | RenyiDP():
                self.moments.append((promise, times))
            case _:
                raise Unprovable(
                    f"{type(promise).__name__} adds up by basic composition only",
                    hint='use method="basic"' if isinstance(promise, ComputationalDP) else None,
                )

    def _add_parallel(self, charge: events.Parallel, times: int) -> None:
        """Theorem [Fre18, Thm 14]: one unit touches `touched` parts.

        Of equal parts that many count; of parts with one kind of noise the least noisy count, because less noise
        dominates more; others go by their promises.
        """
        promise = charge.guarantee(unit=self.unit, neighbours=self.neighbours)  # refuses change-one
        ranked = _least_noisy(charge.events)
        touched = min(charge.touched, len(charge.events))
        if ranked is None:
            self._add_promise(promise, times, attained=False)
            return
        for part in ranked[:touched]:
            self.add(part, times)

    def _add_sampled(self, charge: events.Subsampled, times: int) -> None:
        """Add a Poisson sample of a symmetric law as a sampled law, and anything else by its amplified promise."""
        promise = charge.guarantee(unit=self.unit, neighbours=self.neighbours)  # refuses what has no theorem
        inner = Bundle(self.unit, self.neighbours)
        inner.add(charge.event)
        if charge.rate == 1:
            self.add(charge.event, times)
            return
        base = inner.single_law()
        if charge.scheme == "poisson" and base is not None:
            self.sampled[base, charge.rate] += times
        else:
            self._add_promise(promise, times, attained=False)

    def single_law(self) -> privacy_loss.Law | None:
        """The one law that this bundle consists of, if it is symmetric and finite."""
        if self.moments or self.sampled:
            return None
        if self.worst:
            return next(iter(self.worst)) if self.is_one_maximum() else None
        if self.mu_squared and not self.losses:
            return privacy_loss.Normal(float(self.mu()))
        if not self.mu_squared and list(self.losses.values()) == [1]:
            (law,) = self.losses
            return law if law.infinite == 0 else None
        return None

    def is_one_maximum(self) -> bool:
        """Whether this is a single release, sampled or not, of a law that is the greatest over several pairs.

        Then the law is exact: at every ε some pair attains it. Sampling keeps the order of curves, so that it stays so.
        """
        if self.mu_squared or self.moments or self.losses:
            return False
        releases = [*self.worst.items(), *((law, times) for (law, _), times in self.sampled.items())]
        return [(law.attained, times) for law, times in releases] == [(False, 1)]

    def known(self) -> Bundle:
        """This bundle without the charges of which only an upper bound is known."""
        sampled = Counter({key: times for key, times in self.sampled.items() if key[0].attained})
        return replace(self, moments=[], worst=Counter(), sampled=sampled)

    def moment_promise(self) -> ZCDP | RenyiDP | None:
        """The promises of which only moments are known, together."""
        if not self.moments:
            return None
        combined = sequential(promise.repeat(times) for promise, times in self.moments)
        if not isinstance(combined, ZCDP | RenyiDP):
            raise Unprovable(f"{type(combined).__name__} has no curve of moments")
        return combined


def flattened(
    charges: Charge | Iterable[Charge], *, unit: Unit | None = None, neighbours: Neighbours | None = None
) -> Bundle:
    """All charges in one bundle."""
    listed = listed_charges(charges)
    bundle = Bundle(*common_terms(listed, unit, neighbours))
    for charge in listed:
        bundle.add(charge)
    return bundle


def listed_charges(charges: Charge | Iterable[Charge]) -> list[Charge]:
    """The charges as a list; a single charge becomes a list of one."""
    if isinstance(charges, events.Event | Guarantee):
        return [charges]
    candidates: object = charges
    if not isinstance(candidates, Iterable) or isinstance(candidates, str | bytes):
        raise InvalidParameter("charges", charges, "is not a list of events or promises")
    listed = list(candidates)
    if not listed:
        raise InvalidParameter("charges", listed, "is empty", hint="nothing was released, so there is nothing to state")
    for charge in listed:
        if not isinstance(charge, events.Event | Guarantee):
            raise InvalidParameter(
                "charges", charge, "is neither an event nor a promise", hint='write, for example, PureDP("0.1")'
            )
    return listed


def common_terms(
    charges: Iterable[Charge], unit: Unit | None, neighbours: Neighbours | None
) -> tuple[Unit, Neighbours]:
    """The unit and the neighbours that all promises state, or those given; events state none."""
    stated = {(charge.unit, charge.neighbours) for charge in charges if isinstance(charge, Guarantee)}
    if len(stated) > 1:
        raise MismatchedPromises(
            "the promises protect different units or count neighbours differently",
            hint="bound how many rows one unit holds, and state all promises for the same unit and neighbours",
        )
    for known_unit, known_neighbours in stated:
        if unit not in {None, known_unit} or neighbours not in {None, known_neighbours}:
            raise MismatchedPromises("the promises were made to another unit, or count neighbours differently")
        return known_unit, known_neighbours
    return ROW if unit is None else unit, "add-remove" if neighbours is None else neighbours


def law_of(event: events.Event) -> privacy_loss.Law | None:
    """The law of the privacy loss of a single release, if one dominates it."""
    match event:
        case events.Laplace(noise_multiplier=noise):
            return privacy_loss.Ramp(1 / noise, ends=True)
        case events.Exponential(epsilon=epsilon):
            return privacy_loss.Ramp(epsilon, ends=False)
        case events.Geometric(scale=scale, sensitivity=steps) if steps < _MOST_ATOMS:
            return privacy_loss.geometric(scale, steps)
        case events.RandomizedResponse(epsilon=epsilon, categories=categories):
            return privacy_loss.categorical(epsilon, categories)
        case _:
            return None


def _least_noisy(parts: tuple[events.Event, ...]) -> list[events.Event] | None:
    """The parts from the least to the most noise, if all are of one kind for which that order is known."""
    if len(set(parts)) == 1:
        return list(parts)
    kind = type(parts[0])
    if any(type(part) is not kind for part in parts):
        return None
    if kind in {events.Laplace, events.Gaussian}:
        return sorted(parts, key=attrgetter("noise_multiplier"))
    if kind in {events.Pure, events.Exponential, events.AboveThreshold}:
        return sorted(parts, key=attrgetter("epsilon"), reverse=True)
    return None


MOST = 4096  # responses: beyond it the sums of logarithms lose digits, and the grid is as fast
_LARGEST_RESPONSES = 600.0  # of kε₀: probabilities stay above the least double


def responses_epsilon(epsilon: Fraction, leak: Fraction, times: int, delta: Fraction) -> tuple[float, float] | None:
    """A lower and an upper bound of ε; None if doubles are not precise enough."""
    loss = float(epsilon)
    if times > MOST or not 1e-6 < loss * times < _LARGEST_RESPONSES:
        return None
    unleaked = math.exp(times * math.log1p(-float(leak)))
    left = float(delta) + math.expm1(times * math.log1p(-float(leak)))
    error = _relative_error(times, loss)
    least, most = (
        (left - error * float(delta)) / unleaked * (1 - error),
        (left + error * float(delta)) / unleaked * (1 + error),
    )
    if least <= 0 or most >= 1:
        return None
    hits = np.arange(times + 1, dtype=np.float64)
    choices = np.concatenate([[0.0], np.cumsum(np.log((times - hits[:-1]) / hits[1:]))])
    common = choices - times * math.log1p(math.exp(-loss))
    ahead, behind = _from_each(np.exp(common - (times - hits) * loss)), _from_each(np.exp(common - hits * loss))
    if np.any((ahead * (1 + error) > least) & (behind < TINY)):
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = np.log((ahead * (1 + error) - least) / (behind * (1 - error)))
        below = np.log((ahead * (1 - error) - most) / (behind * (1 + error)))
    high, low = (float(np.max(ends[np.isfinite(ends)], initial=0.0)) for ends in (above, below))
    return low * (1 - 2 * FUNCTION_ERROR), high * (1 + 2 * FUNCTION_ERROR)


def _from_each(masses: Floats) -> Floats:
    """For every j, the sum of the masses from j to the end."""
    sums: Floats = np.cumsum(masses[::-1])[::-1]
    return sums


def _relative_error(times: int, loss: float) -> float:
    """The relative error of A_j and B_j: k logarithms, their running sum of at most k ln 2, e^x and k additions."""
    logarithms = FUNCTION_ERROR * times * (2 + math.log(times + 1)) + UNIT * times * times
    return 2 * (logarithms + 16 * UNIT * times * (loss + 1) + 8 * FUNCTION_ERROR + 4 * UNIT * times)


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

    >>> interval = epsilon_interval([gt.GaussianDP("0.02")] * 1000, "1e-6")
    >>> print(interval)
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
        ends = _epsilon_bounds(losses, delta, low)
        if ends is None:
            return Interval(min(low, crude), crude)
        low, high = max(low, Fraction(ends[0])), max(high, Fraction(ends[1]))
    high = min(high, crude)
    return Interval(min(low, high), high)


def _closed_form(bundle: Bundle, delta: Fraction) -> tuple[float, float] | None:
    """Bounds of ε in closed form if all charges are equal (ε, δ) promises, else None."""
    if bundle.mu_squared or bundle.moments or bundle.sampled or bundle.worst or len(bundle.losses) > 1:
        return None
    ((law, times),) = bundle.losses.items()
    if not isinstance(law, privacy_loss.Lattice) or len(law.masses) != 2 or law.start != -law.largest:
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
            ends = _delta_bounds(losses, epsilon)
        except NotResolved:
            ends = None
        if ends is None:
            return Interval(Fraction(0), crude_delta(bundle, epsilon))
        low, high = max(low, Fraction(ends[0])), max(high, Fraction(ends[1]))
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
    promises = (_pair(top * point / _TRADE_POINTS, bundle) for point in range(_TRADE_POINTS + 1))
    return max((promise.tradeoff(rate) for promise in promises if promise is not None), default=Fraction(0))


def _pair(epsilon: Fraction, bundle: Bundle) -> ApproxDP | None:
    delta = bundle_delta(bundle, epsilon).high
    return ApproxDP(epsilon, max(delta, LEAST)) if delta < 1 else None


# -- laws of losses, and their bounds -----------------------------------------------------------------------------


def _directions(bundle: Bundle) -> list[list[RepeatedLaw]]:
    """The laws of the losses when a unit is removed, and when one is added where that differs."""
    is_one = bundle.is_one_maximum()
    common = [RepeatedLaw(law, times) for law, times in bundle.losses.items()]
    common += [RepeatedLaw(law, times, known=is_one) for law, times in bundle.worst.items()]
    if bundle.mu_squared:
        common.append(RepeatedLaw(privacy_loss.Normal(float(bundle.mu())), 1))
    moments = bundle.moment_promise()
    if moments is not None:
        common.append(RepeatedLaw(GriddedCurve(moments), 1, known=False))
    if not bundle.sampled:
        return [common]
    return [
        common
        + [
            RepeatedLaw(privacy_loss.Sampled(law, rate, way), times, known=is_one or law.attained)
            for (law, rate), times in bundle.sampled.items()
        ]
        for way in (True, False)
    ]


def _sizeable(losses: list[RepeatedLaw]) -> bool:
    return min(repeated.law.reach for repeated in losses) > _SMALLEST


def _epsilon_bounds(losses: list[RepeatedLaw], delta: Fraction, known: Fraction) -> tuple[float, float] | None:
    """Bounds of ε on a grid; (0, 0) if this ε cannot exceed `known`; None if floats cannot tell."""
    try:
        if not _sizeable(losses):
            return None
        if known and LossSum(losses, delta=math.nextafter(float(delta), 0.0)).chernoff() <= known:
            return 0.0, 0.0
        ends = convolution.epsilon_bounds(losses, math.nextafter(float(delta), 0.0), math.nextafter(float(delta), 1.0))
    except NotResolved:
        return None
    return ends if math.isfinite(ends[1]) else None


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
    return convolution.delta_bounds(losses, max(0.0, math.nextafter(near, -math.inf)), math.nextafter(near, math.inf))


def _refuse_leaks(bundle: Bundle, delta: Fraction) -> None:
    leak = _leak(bundle)
    if leak > delta:
        raise Unprovable(
            f"the charges have δ = {exact_or_up(leak)} of their own, and no ε makes up for that",
            hint=f"ask for a δ above {exact_or_up(leak)}",
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
    candidates = []
    if not curves and leak <= delta:
        candidates.append(sum((times * epsilon for epsilon, times in pairs), Fraction(0)))
    if leak < delta:
        if curves:
            curve_epsilon = sequential(curves).epsilon_at(delta - leak)
            candidates.append(curve_epsilon + sum((times * epsilon for epsilon, times in pairs), Fraction(0)))
        with suppress(Unprovable):  # beyond 1e300
            candidates.append(_concentrated(pairs, curves).epsilon_at(delta - leak))
    if not candidates:
        raise Unprovable("the δ asked for lies between the charges' own and what floating-point numbers can resolve")
    return min(candidates)


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
        if isinstance(law, privacy_loss.Normal):
            squares += times * Fraction(law.mu) ** 2 * (1 + Fraction(1, 2**40))
        else:
            pairs.append((law.largest, times))
    moments = bundle.moment_promise()
    curves: list[Guarantee] = [] if moments is None else [replace(moments, unit=ROW, neighbours="add-remove")]
    if squares:
        curves.append(GaussianDP(raised("μ", sqrt_up(squares))))
    return pairs, curves


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
_LEAST_NOISE, _MOST_NOISE = Fraction(1, 2**10), Fraction(2**30)  # noise multipliers that are tried


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
            return _least(
                lambda multiplier: delta_interval(_event(noise, multiplier, count, share), epsilon).high <= delta
            )
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


def _least(fits: Callable[[Fraction], bool]) -> Fraction:
    """The least multiplier found to fit, by doubling and halving the interval; what is returned was checked."""
    high = Fraction(1)
    while not fits(high):
        high *= 2
        if high > _MOST_NOISE:
            raise Unprovable("no noise multiplier up to 2^30 can be certified for this budget")
    low = high / 2
    while low > _LEAST_NOISE and fits(low):
        low, high = low / 2, low
    while high - low > low * _FINENESS:
        middle = (low + high) / 2
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
