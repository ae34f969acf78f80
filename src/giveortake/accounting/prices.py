"""What an event costs: an exact number in each currency, short enough for sums that never grow long.

All amounts are whole numbers of *grains*, one grain being 1/GRAINS. Decimals of up to 320 places, halves of squares
of fractions with denominators up to 1,000, and multiples of 2^-100 are whole numbers of grains, so charges and budgets
as people write them add up exactly. A price that is not (an irrational one, or 1/1009) is rounded *up* to a multiple
of 2^-100. Totals are therefore integers of bounded length whatever was charged, and do not depend on the order.
"""

from __future__ import annotations

import math
from fractions import Fraction
from heapq import nlargest
from typing import TYPE_CHECKING

from giveortake.caching import cached
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.privacy import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    events,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.accounting.currencies import Currency
    from giveortake.privacy import Neighbours
    from giveortake.privacy.events import Event

GRAINS = 2**100 * 10**320 * math.lcm(*range(1, 1001)) ** 2
_FINEST = 1 << 100
_STEP = GRAINS // _FINEST
_KEPT = 1 << 14  # prices remembered


def grains_up(amount: Fraction) -> int:
    """An amount in grains: exact if it is a whole number of them, otherwise rounded up to a multiple of 2^-100.

    A longer binary fraction is rounded up too: it encloses an irrational number, and would make every sum as long.
    """
    if GRAINS % amount.denominator == 0 and not _is_long_binary(amount.denominator):
        return amount.numerator * (GRAINS // amount.denominator)
    return -(-amount.numerator * _FINEST // amount.denominator) * _STEP


def _is_long_binary(denominator: int) -> bool:
    return denominator > _FINEST and denominator & (denominator - 1) == 0


def grains_down(limit: Fraction) -> int:
    """A limit in grains, rounded down: a whole number of grains exceeds both or neither."""
    return limit.numerator * GRAINS // limit.denominator


def amount(grains: int) -> Fraction:
    """What a number of grains is worth."""
    return Fraction(grains, GRAINS)


def price(event: Event, currency: Currency, neighbours: Neighbours) -> int | None:
    """What an event costs in a currency, in grains; None when it has no price there.

    An event that spends δ is priced by the ε, or of keys found by Gaussian noise the μ², that holds when its failure
    event, of probability δ, does not happen: see `failure` for the decomposition and `giveortake.accounting.race` for
    why this is sound.

    Theorem (sequential and parallel composition inside one currency): of `Composed` and `Repeated` the prices add;
    of `Parallel` only the parts that one unit touches differ between neighbours, so the largest `touched` prices
    add, "largest" taken in this very currency; of `InPart` the dearest of its `cases` counts, here and inside the
    others. What is charged to a filter by itself shares its price with the other parts: see `partitions`.
    """
    return _price(event, currency, neighbours)


def failure(event: Event, neighbours: Neighbours) -> int:
    """The δ that an event spends, in grains.

    Theorem [KOV15], [MV16]: if the output laws P, Q of a release on two neighbours are
    (ε, δ)-close, then P = (1−δ)P′ + δP″ and Q = (1−δ)Q′ + δQ″ with P′ and Q′ ε-close. Proof: the release is
    post-processing of the mechanism that with probability δ reveals its input and otherwise answers by
    ε-randomized response (the pair of `giveortake.privacy.dominating`); P″ and Q″ are what becomes of the first case,
    P′ and Q′ of the second. ∎ For `GaussianKeys`, where P′ and Q′ are μ-close instead, the decomposition is in
    `giveortake.mechanisms.WeightedKeys`.
    """
    return _failure(event, neighbours)


@cached(_KEPT)
def _price(event: Event, currency: Currency, neighbours: Neighbours) -> int | None:
    match event:
        case events.Composed():
            return _sum(event.events, len(event.events), lambda part: _price(part, currency, neighbours))
        case events.Repeated():
            each = _price(event.event, currency, neighbours)
            return None if each is None else event.times * each
        case events.Parallel():
            if neighbours == "change-one":
                return None
            return _sum(event.events, event.touched, lambda part: _price(part, currency, neighbours))
        case events.InPart():
            cases = [_price(case, currency, relation) for case, relation in event.cases(neighbours)]
            return None if None in cases else max(each for each in cases if each is not None)
        case _:
            exactly = _single(event, currency, neighbours)
            return None if exactly is None else grains_up(exactly)


@cached(_KEPT)
def _failure(event: Event, neighbours: Neighbours) -> int:
    match event:
        case events.Composed():
            return sum(_failure(part, neighbours) for part in event.events)
        case events.Repeated():
            return event.times * _failure(event.event, neighbours)
        case events.Parallel():
            return sum(nlargest(event.touched, (_failure(part, neighbours) for part in event.events)))
        case events.InPart():
            return max(_failure(case, relation) for case, relation in event.cases(neighbours))
        case events.Approx() | events.DiscoveredKeys() | events.GaussianKeys():
            return grains_up(event.delta)
        case _:
            promise = _promise(event, neighbours)
            return grains_up(promise.delta) if isinstance(promise, ApproxDP | ProbabilisticDP) else 0


def _sum(parts: tuple[Event, ...], count: int, of: Callable[[Event], int | None]) -> int | None:
    prices = []
    for part in parts:
        each = of(part)
        if each is None:
            return None
        prices.append(each)
    return sum(prices) if count >= len(prices) else sum(nlargest(count, prices))


def _single(event: Event, currency: Currency, neighbours: Neighbours) -> Fraction | None:
    """The price of a single release; a kind that is not listed here is priced by its promise."""
    match event:
        case events.Laplace():
            return currency.laplace(1 / event.noise_multiplier)
        case events.Exponential():
            return currency.bounded_range(event.epsilon)
        case events.Gaussian() | events.GaussianKeys():
            return currency.gaussian(1 / event.noise_multiplier**2)
        case events.ZCDP():
            return currency.concentrated(event.rho)
        case events.DiscreteGaussian():
            return currency.concentrated((event.sensitivity / event.sigma) ** 2 / 2)
        case _:
            return _by_promise(_promise(event, neighbours), currency)


def _by_promise(promise: Guarantee | None, currency: Currency) -> Fraction | None:
    match promise:
        case PureDP() | ApproxDP() | ProbabilisticDP():
            return currency.pure(promise.epsilon) if promise.epsilon else Fraction(0)
        case ZCDP():
            return currency.concentrated(promise.rho)
        case GaussianDP():
            return currency.gaussian(promise.mu**2)
        case RenyiDP():
            return currency.renyi(promise.curve)
        case _:
            return None


def _promise(event: Event, neighbours: Neighbours) -> Guarantee | None:
    if not isinstance(event, events.Event):
        raise InvalidParameter("event", event, "is not an event", hint='charge what ran, such as events.Pure("0.1")')
    try:
        promise = event.guarantee(neighbours=neighbours)
    except Unprovable:
        return None
    return promise if promise.neighbours == neighbours else None
