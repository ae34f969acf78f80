"""Charges flattened for pricing: the Gaussian noise in all, loss laws with their counts, and moment curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from giveortake.accounting import laws
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
from giveortake.exact import sqrt_up
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
    sequential,
)

if TYPE_CHECKING:
    from giveortake.privacy import Neighbours, Unit

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
    losses: Counter[laws.Law] = field(default_factory=Counter)
    sampled: Counter[tuple[laws.Law, Fraction]] = field(default_factory=Counter)
    moments: list[tuple[Guarantee, int]] = field(default_factory=list)
    worst: Counter[laws.Law] = field(default_factory=Counter)  # upper bounds of laws: they give no lower bound

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
                losses[laws.two_points(epsilon)] += times
            case ApproxDP(epsilon=epsilon, delta=delta) | ProbabilisticDP(epsilon=epsilon, delta=delta):
                losses[laws.two_points(epsilon, delta)] += times
            case GaussianDP(mu=mu) if attained:
                self.mu_squared += times * mu**2
            case GaussianDP(mu=mu):
                losses[laws.Normal(float(mu) * (1 + 2.0**-50))] += times
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

    def single_law(self) -> laws.Law | None:
        """The one law that this bundle consists of, if it is symmetric and finite."""
        if self.moments or self.sampled:
            return None
        if self.worst:
            return next(iter(self.worst)) if self.is_one_maximum() else None
        if self.mu_squared and not self.losses:
            return laws.Normal(float(self.mu()))
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
    given: object = charges
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidParameter("charges", charges, "is not a list of events or promises")
    listed = list(given)
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


def law_of(event: events.Event) -> laws.Law | None:
    """The law of the privacy loss of a single release, if one dominates it."""
    match event:
        case events.Laplace(noise_multiplier=noise):
            return laws.Ramp(1 / noise, ends=True)
        case events.Exponential(epsilon=epsilon):
            return laws.Ramp(epsilon, ends=False)
        case events.Geometric(scale=scale, sensitivity=steps) if steps < _MOST_ATOMS:
            return laws.geometric(scale, steps)
        case events.RandomizedResponse(epsilon=epsilon, categories=categories):
            return laws.categorical(epsilon, categories)
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
