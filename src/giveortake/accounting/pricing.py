"""What events cost in each currency in which adaptive spending may be added up, and running totals of it.

`Currency` prices single releases, `price` and `failure` whole events; a `Total` is what a filter has added up in one
currency, with the parts of partitions in it, and how a snapshot stores it. `priced_within` and `noise_multiplier` are
for whoever spends all that is left: amounts that a filter does not round up when it prices them.

Guarantee: a price is an upper bound, proved in the docstring that gives it, on the privacy loss of *one* release in
one currency, whichever outputs came before it. Which sums of such prices make a valid filter is the subject of
`giveortake.accounting.filters`.

All amounts are whole numbers of *grains*, one grain being 1/GRAINS. Decimals of up to 320 places, halves of squares
of fractions with denominators up to 1,000, and multiples of 2^-100 are whole numbers of grains, so charges and budgets
as people write them add up exactly. A price that is not (an irrational one, or 1/1009) is rounded *up* to a multiple
of 2^-100. Totals are therefore integers of bounded length whatever was charged, and do not depend on the order.

Theorem (parallel composition, exactly; [Har25], [Fre18, Thm 14] with its correction). Parts are disjoint, and one
unit has rows in at most m of them. Fix two neighbours. Under add-remove they differ in at most m parts, so that
releases from other parts have the same law on both; what differs is the composition, chosen as adaptively as may be,
of the releases from those m parts, and in every currency of a filter that costs the sum of what each part has cost so
far: at most the sum of the m largest parts. Under change-one a unit that stays where it was changes m parts, each by
a change-one step; one that moves leaves m parts and enters m others, each an add-remove step in 2m disjoint parts; in
between, a part that it stays in costs a change-one step and the others one add-remove step each, of which the former
is charged here with both. So the greater of the m largest change-one sums and the 2m largest add-remove sums bounds
the first two cases, and where m > 1 the mixed ones are bounded by charging each part the greater of its two sums, the
2m largest. A running total that always contains that much stays a filter: the pair of neighbours that an attacker
bets on sees costs that never exceed it, and zero for releases from parts that do not differ. ∎
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from heapq import nlargest
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from giveortake.caching import cached
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import ceiling, enclosure, exact_or_up, fraction_text, precision, read_fraction, sqrt_up, upper
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, ProbabilisticDP, PureDP, RenyiDP, events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from giveortake.privacy import Neighbours
    from giveortake.privacy.events import Event, InPart


_STEPS = 1 << 100


def short_up(irrational: Fraction) -> Fraction:
    """Round a number up to a multiple of 2^-100, so that sums of irrational prices stay short."""
    return Fraction(ceiling(irrational * _STEPS), _STEPS)


def short_down(irrational: Fraction) -> Fraction:
    """Round a number, such as a limit, down to a multiple of 2^-100."""
    return Fraction((irrational * _STEPS).__floor__(), _STEPS)


@dataclass(frozen=True, slots=True)
class Currency(ABC):
    """A measure of privacy loss that adds up. Methods price kinds of releases: None if one has no price here."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The total in words."""

    @property
    @abstractmethod
    def symbol(self) -> str:
        """The symbol that is written in front of an amount."""

    @abstractmethod
    def pure(self, epsilon: Fraction) -> Fraction:
        """The price of some ε-DP release."""

    def laplace(self, epsilon: Fraction) -> Fraction:
        """The price of continuous Laplace noise of scale Δ/ε; by default that of any ε-DP release."""
        return self.pure(epsilon)

    def bounded_range(self, epsilon: Fraction) -> Fraction:
        """The price of the exponential mechanism; by default that of any ε-DP release."""
        return self.pure(epsilon)

    def concentrated(self, rho: Fraction) -> Fraction | None:
        """The price of some ρ-zCDP release."""
        return None

    def gaussian(self, squared_mu: Fraction) -> Fraction | None:
        """The price of continuous Gaussian noise of standard deviation Δ/μ, which is ½μ²-zCDP [BS16, Prop. 1.6]."""
        return self.concentrated(squared_mu / 2)

    def renyi(self, curve: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
        """The price of a release of which Rényi divergences are known at some orders."""
        return None


@final
@dataclass(frozen=True, slots=True)
class Epsilon(Currency):
    """ε of pure differential privacy: the largest privacy loss."""

    name: ClassVar[str] = "sum of ε"
    symbol: ClassVar[str] = "ε"

    def pure(self, epsilon: Fraction) -> Fraction:
        """ε itself, by definition."""
        return epsilon


@final
@dataclass(frozen=True, slots=True)
class Rho(Currency):
    """ρ of zero-concentrated differential privacy: D_α ≤ αρ at every order."""

    name: ClassVar[str] = "sum of ρ"
    symbol: ClassVar[str] = "ρ"

    def pure(self, epsilon: Fraction) -> Fraction:
        """ε²/2 [BS16, Prop. 1.4]; and ε, because D_α ≤ D_∞ ≤ ε ≤ αε, which is less when ε exceeds 2."""
        return min(epsilon, epsilon**2 / 2)

    def bounded_range(self, epsilon: Fraction) -> Fraction:
        """ε²/8 [CR21], as the range of the exponential mechanism is bounded by ε [DR19]."""
        return min(epsilon, epsilon**2 / 8)

    def concentrated(self, rho: Fraction) -> Fraction:
        """ρ itself, by definition."""
        return rho


@final
@dataclass(frozen=True, slots=True)
class SquaredMu(Currency):
    """μ² of Gaussian differential privacy."""

    name: ClassVar[str] = "sum of μ²"
    symbol: ClassVar[str] = "μ²"

    def pure(self, epsilon: Fraction) -> Fraction:
        """The square of μ = 2Φ⁻¹(e^ε/(1 + e^ε)), rounded up; proof in `PureDP.gaussian`."""
        return short_up(PureDP(epsilon).gaussian().mu ** 2)

    def gaussian(self, squared_mu: Fraction) -> Fraction:
        """μ² itself, by definition [DRS22]."""
        return squared_mu


@final
@dataclass(frozen=True, slots=True)
class Divergence(Currency):
    """The Rényi divergence of one order α > 1, fixed before anything is released."""

    order: Fraction

    @property
    def name(self) -> str:
        return f"Rényi divergences of order {exact_or_up(self.order)}"

    @property
    def symbol(self) -> str:
        return f"D({exact_or_up(self.order)})"

    def pure(self, epsilon: Fraction) -> Fraction:
        """The divergence of randomized response, which dominates every ε-DP release [KOV15]; rounded up."""
        ((_, divergence),) = PureDP(epsilon).renyi([self.order]).curve
        return min(epsilon, self.order * epsilon**2 / 2, short_up(divergence))

    def laplace(self, epsilon: Fraction) -> Fraction:
        """ln(α/(2α−1)·e^((α−1)ε) + (α−1)/(2α−1)·e^(−αε)) / (α−1), rounded up [Mir17, Prop. 6].

        For a vector whose coordinates move by d₁, d₂, … scales, Σdᵢ ≤ ε, the divergences f(dᵢ) add. (α−1)f is the
        logarithm of a sum of exponentials of d, hence convex; f(0) = 0 and f′(0) = 0. So f increases, and
        f(d₁) + f(d₂) ≤ f(d₁ + d₂) ≤ f(ε): one coordinate that moves by everything is the worst case.
        """
        order = self.order
        with precision():
            slope = enclosure(order / (2 * order - 1))
            tail = enclosure((order - 1) / (2 * order - 1)) * enclosure(-(2 * order - 1) * epsilon).exp()
            exact = upper(enclosure(epsilon) + (slope + tail).log() / enclosure(order - 1))
        return min(self.pure(epsilon), short_up(max(Fraction(0), exact)))

    def bounded_range(self, epsilon: Fraction) -> Fraction:
        """At most αε²/8 [CR21], and at most that of any ε-DP release."""
        return min(self.pure(epsilon), self.order * epsilon**2 / 8)

    def concentrated(self, rho: Fraction) -> Fraction:
        """αρ, by the definition of zCDP."""
        return self.order * rho

    def renyi(self, curve: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
        """The bound at the least order known that is at least α: D_α increases with α [EH14]."""
        return min((divergence for order, divergence in curve if order >= self.order), default=None)


@final
@dataclass(frozen=True, slots=True)
class Delta(Currency):
    """δ that events spend themselves. A release that is ε-DP spends none; see `failure`."""

    name: ClassVar[str] = "δ for discovered keys"
    symbol: ClassVar[str] = "δ"

    def pure(self, epsilon: Fraction) -> Fraction:
        """Zero: an ε-DP release spends no δ."""
        return Fraction(0)


GRAINS = 2**100 * 10**320 * math.lcm(*range(1, 1001)) ** 2
_FINEST = 1 << 100
_STEP = GRAINS // _FINEST
_CACHED = 1 << 14  # prices


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


@cached(_CACHED)
def price(event: Event, currency: Currency, neighbours: Neighbours) -> int | None:
    """What an event costs in a currency, in grains; None when it has no price there.

    An event that spends δ is priced by the ε, or of keys found by Gaussian noise the μ², that holds when its failure
    event, of probability δ, does not happen: see `failure` for the decomposition and `giveortake.accounting.filters`
    for why this is sound.

    Theorem (sequential and parallel composition inside one currency): of `Composed` and `Repeated` the prices add;
    of `Parallel` only the parts that one unit touches differ between neighbours, so the largest `touched` prices
    add, "largest" taken in this very currency; of `InPart` the dearest of its `cases` counts, here and inside the
    others. What is charged to a filter by itself shares its price with the other parts of its partition.
    """
    match event:
        case events.Composed():
            return _sum(event.events, len(event.events), lambda part: price(part, currency, neighbours))
        case events.Repeated():
            unit_price = price(event.event, currency, neighbours)
            return None if unit_price is None else event.times * unit_price
        case events.Parallel():
            if neighbours == "change-one":
                return None
            return _sum(event.events, event.touched, lambda part: price(part, currency, neighbours))
        case events.InPart():
            cases = [price(case, currency, relation) for case, relation in event.cases(neighbours)]
            return None if None in cases else max(case_price for case_price in cases if case_price is not None)
        case _:
            exactly = _single(event, currency, neighbours)
            return None if exactly is None else grains_up(exactly)


@cached(_CACHED)
def failure(event: Event, neighbours: Neighbours) -> int:
    """The δ that an event spends, in grains.

    Theorem [KOV15], [MV16]: if the output laws P, Q of a release on two neighbours are
    (ε, δ)-close, then P = (1−δ)P′ + δP″ and Q = (1−δ)Q′ + δQ″ with P′ and Q′ ε-close. Proof: the release is
    post-processing of the mechanism that with probability δ reveals its input and otherwise answers by
    ε-randomized response (the pair of `giveortake.privacy.definitions`); P″ and Q″ are what becomes of the first case,
    P′ and Q′ of the second. ∎ For `GaussianKeys`, where P′ and Q′ are μ-close instead, the decomposition is in
    `giveortake.mechanisms.WeightedKeys`.
    """
    match event:
        case events.Composed():
            return sum(failure(part, neighbours) for part in event.events)
        case events.Repeated():
            return event.times * failure(event.event, neighbours)
        case events.Parallel():
            return sum(nlargest(event.touched, (failure(part, neighbours) for part in event.events)))
        case events.InPart():
            return max(failure(case, relation) for case, relation in event.cases(neighbours))
        case events.Approx() | events.DiscoveredKeys() | events.GaussianKeys():
            return grains_up(event.delta)
        case _:
            promise = _promise(event, neighbours)
            return grains_up(promise.delta) if isinstance(promise, ApproxDP | ProbabilisticDP) else 0


def _sum(parts: tuple[Event, ...], count: int, price_of: Callable[[Event], int | None]) -> int | None:
    prices = []
    for part in parts:
        part_price = price_of(part)
        if part_price is None:
            return None
        prices.append(part_price)
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


def priced_within(amount: Fraction) -> Fraction:
    """The greatest amount, up to 2^-100, that is within a given one and is its own price.

    Guarantee: the price of what is returned, in grains, is at most the given amount, if that is at least 2^-100. Proof:
    a whole number of grains is its own price; a multiple of 2^-100 is one. ∎ Prices of parts add, so parts whose
    amounts add up to at most a budget fit it. Smaller amounts stay as they are, and a filter rounds them up.

    >>> priced_within(Fraction(1, 10)), Fraction(1, 1009) - priced_within(Fraction(1, 1009)) < Fraction(1, 2**100)
    (Fraction(1, 10), True)
    """
    if _is_exact(amount):
        return amount
    return short_down(amount) or amount


def noise_multiplier(squared_mu: Fraction) -> Fraction:
    """The least multiplier of Gaussian noise, rounded up, that costs no more than μ² and no more than ρ = μ²/2.

    Guarantee: with m for what is returned, the prices of 1/m² and of 1/(2m²), in grains, are at most μ² and μ²/2, if
    μ² is at least 2^-99. Proof: if μ is a fraction whose square and half square are whole numbers of grains, m = 1/μ
    has these prices exactly. Else let r be μ²/2 rounded down to a multiple of 2^-100, and m ≥ 1/√(2r). Then 1/(2m²) ≤ r
    and 1/m² ≤ 2r, and as r and 2r are multiples of 2^-100, rounding up to such a multiple stays below them. ∎ Below
    2^-99 noise is the least there is, and a filter rounds its price up.

    >>> noise_multiplier(Fraction(1, 100))
    Fraction(10, 1)
    >>> 0 < Fraction(1, 5) - 1 / noise_multiplier(Fraction(1, 5)) ** 2 < Fraction(1, 2**98)
    True
    """
    root = _root(squared_mu)
    if root is not None and _is_exact(squared_mu) and _is_exact(squared_mu / 2):
        return 1 / root
    return sqrt_up(1 / (2 * (short_down(squared_mu / 2) or squared_mu / 2)))


def _is_exact(number: Fraction) -> bool:
    return amount(grains_up(number)) == number


def _root(square: Fraction) -> Fraction | None:
    """The square root of a fraction if it is rational, else None."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else None


Partition: TypeAlias = "tuple[int, int]"  # its number, and how many parts a unit touches
Sums: TypeAlias = "dict[int, tuple[int, int]]"  # of each part: its costs as `event` and as `added`
Parts: TypeAlias = "dict[Partition, Sums]"


def weight(sums: Sums, touched: int, neighbours: Neighbours) -> int:
    """What all parts of a partition cost together."""
    if neighbours == "add-remove":
        return sum(nlargest(touched, (single for single, _ in sums.values())))
    if touched > 1:
        return sum(nlargest(2 * touched, (max(pair) for pair in sums.values())))
    changed = max((single for single, _ in sums.values()), default=0)
    return max(changed, sum(nlargest(2, (added for _, added in sums.values()))))


def prices_of(event: InPart, currency: Currency, neighbours: Neighbours) -> tuple[int, int] | None:
    """What a release from a part costs in a currency, as `event` and as `added`; None if either has no price."""
    single = price(event.event, currency, neighbours)
    added = price(event.added, currency, "add-remove")
    return None if single is None or added is None else (single, added)


def failures_of(event: InPart, neighbours: Neighbours) -> tuple[int, int]:
    """The δ that a release from a part spends, as `event` and as `added`."""
    return failure(event.event, neighbours), failure(event.added, "add-remove")


def entered(parts: Parts, event: InPart, costs: tuple[int, int]) -> Sums:
    """The sums of a partition after one more release from one of its parts."""
    before = parts.get((event.partition, event.touched), {})
    single, added = before.get(event.part, (0, 0))
    return {**before, event.part: (single + costs[0], added + costs[1])}


def increase(parts: Parts, event: InPart, costs: tuple[int, int], neighbours: Neighbours) -> int:
    """How much more a partition costs after one more release from one of its parts."""
    before = parts.get((event.partition, event.touched), {})
    after = entered(parts, event, costs)
    return weight(after, event.touched, neighbours) - weight(before, event.touched, neighbours)


def to_json(parts: Parts) -> list[list[str | int]]:
    """The sums of all parts as snapshots store them, in grains."""
    return [
        [str(partition), touched, str(part), str(single), str(added)]
        for (partition, touched), sums in sorted(parts.items())
        for part, (single, added) in sorted(sums.items())
    ]


def from_json(content: object) -> Parts:
    """Read the sums that `to_json` wrote."""
    parts: Parts = {}
    try:
        listed: Any = content  # what is no list is refused below
        for partition, touched, part, single, added in listed:
            sums = parts.setdefault((int(partition), int(touched)), {})
            sums[int(part)] = int(single), int(added)
    except (TypeError, ValueError):
        raise InvalidParameter("snapshot", content, "does not hold the sums of parts") from None
    return parts


JSON: TypeAlias = "str | int | list[JSON] | dict[str, JSON] | None"
Snapshot: TypeAlias = "dict[str, JSON]"

_KINDS: dict[type[Guarantee], str] = {
    PureDP: "PureDP",
    ApproxDP: "ApproxDP",
    ZCDP: "ZCDP",
    GaussianDP: "GaussianDP",
    RenyiDP: "RenyiDP",
}
_NAMED: dict[str, Currency] = {"epsilon": Epsilon(), "rho": Rho(), "squared-mu": SquaredMu(), "delta": Delta()}


@final
@dataclass(frozen=True, slots=True)
class Account:
    """One running total of a filter, to be read: its currency, what is spent, its limit, and the δ its proof costs."""

    currency: Currency
    spent: Fraction
    limit: Fraction
    delta: Fraction
    alive: bool

    @property
    def remaining(self) -> Fraction:
        """How much still fits; 0 once the account is closed."""
        return self.limit - self.spent if self.alive else Fraction(0)


@final
class Total:
    """One running total inside a filter, in grains. It is plain and mutable; the filter's lock guards it."""

    __slots__ = ("alive", "currency", "delta", "limit", "parts", "spent")

    def __init__(
        self, currency: Currency, limit: Fraction, delta: Fraction = Fraction(0), spent: int = 0, alive: bool = True
    ) -> None:
        self.currency = currency
        self.limit = grains_down(limit)
        self.delta = delta
        self.spent = spent
        self.alive = alive
        self.parts: Parts = {}

    def resumed(self, content: Mapping[str, JSON]) -> Total:
        """A copy of this total in the state that a snapshot holds; refused if the total cannot have that state."""
        twin = self.copy()
        twin.spent, twin.alive = grains_down(exact_number(content.get("spent"))), content.get("alive") is True
        twin.parts = from_json(content["parts"]) if "parts" in content else {}
        if (twin.alive and twin.spent > twin.limit) or twin.as_json() != content:
            raise InvalidParameter("snapshot", content, "is not a state of this total")
        return twin

    def copy(self) -> Total:
        """An independent total in the same state."""
        twin = Total(self.currency, Fraction(0), self.delta, self.spent, self.alive)
        twin.limit = self.limit
        twin.parts = {partition: dict(sums) for partition, sums in self.parts.items()}
        return twin

    def fits(self, cost: int | None) -> bool:
        """Whether this much more stays within the limit."""
        return self.alive and cost is not None and self.spent + cost <= self.limit

    def enter(self, event: InPart, costs: tuple[int, int]) -> None:
        """Remember which part of a partition was charged; the increase is in `spent` already."""
        self.parts[event.partition, event.touched] = entered(self.parts, event, costs)

    def account(self) -> Account:
        """This total as an `Account`, in fractions instead of grains."""
        return Account(self.currency, amount(self.spent), amount(self.limit), self.delta, self.alive)

    def state(self) -> tuple[object, ...]:
        """The values by which totals are compared."""
        return self.currency, self.limit, self.delta, self.spent, self.alive, to_json(self.parts)

    def as_json(self) -> dict[str, JSON]:
        """This total as snapshots store it, without the limit, which follows from the budget, the currency and δ."""
        kind = next((name for name, currency in _NAMED.items() if currency == self.currency), None)
        content: dict[str, JSON] = {
            "currency": kind or "renyi",
            "delta": fraction_text(self.delta),
            "spent": fraction_text(amount(self.spent)),
            "alive": self.alive,
        }
        if isinstance(self.currency, Divergence):
            content["order"] = fraction_text(self.currency.order)
        if self.parts:
            content["parts"] = [list(part) for part in to_json(self.parts)]
        return content


def exact_number(value: object) -> Fraction:
    """A number of a snapshot."""
    return read_fraction("snapshot", value, 'is not an exact number "p/q"')


def budget_as_json(budget: Guarantee) -> JSON:
    """Every number of a budget, exactly, whom it protects, and its kind."""
    content: dict[str, JSON] = {
        "kind": _KINDS[type(budget)],
        "unit": budget.unit.column,
        "neighbours": budget.neighbours,
    }
    numbers = {field.name: getattr(budget, field.name) for field in fields(budget)}
    content |= {name: fraction_text(numbers[name]) for name in ("epsilon", "delta", "rho", "mu") if name in numbers}
    if isinstance(budget, RenyiDP):
        content["curve"] = [[fraction_text(order), fraction_text(epsilon)] for order, epsilon in budget.curve]
    return content


def currency_named(content: Mapping[str, JSON]) -> Currency:
    """The currency of a total in a snapshot. δ is refused: only pots are kept in it."""
    kind = content.get("currency")
    if kind == "delta":
        raise InvalidParameter("snapshot", kind, "is not a currency of a total")
    if kind == "renyi":
        order = exact_number(content.get("order"))
        if order <= 1:
            raise InvalidParameter("snapshot", content, "holds an order that is not above 1")
        return Divergence(order)
    if isinstance(kind, str) and kind in _NAMED:
        return _NAMED[kind]
    raise InvalidParameter("snapshot", kind, "is not a currency")


def stored_totals(snapshot: Mapping[str, JSON], name: str = "totals") -> list[dict[str, JSON]]:
    """The totals in a snapshot, as JSON."""
    totals = snapshot.get(name) if isinstance(snapshot, dict) else None
    if not isinstance(totals, list):
        raise InvalidParameter("snapshot", totals, f"is not a list of {name}")
    return [content for content in totals if isinstance(content, dict)]
