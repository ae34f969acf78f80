"""Which keys found in the data may be shown, with the best chance for each [DVG22]."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar, final

from giveortake import exact
from giveortake.caching import cached
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.mechanisms.additive import miss_probability
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import ApproxDP, events
from giveortake.randomness import bernoulli_real

if TYPE_CHECKING:
    from giveortake.exact import Ball, Number
    from giveortake.mechanisms.discovered_histogram import Found
    from giveortake.randomness import Entropy

Key = TypeVar("Key")


@final
@dataclass(frozen=True, slots=True)
class KeySelection(Mechanism[Mapping[Hashable, int], list[Hashable]]):
    """Show each key with the greatest probability that its number of persons allows.

    Guarantee [DVG22, theorem 1]: with π₀ = 0 and π₍ₙ₊₁₎ = min(e^ε πₙ + δ, 1 − e^(−ε)(1 − πₙ − δ), 1), showing a key
    of n persons with probability πₙ is (ε, δ)-DP when a person holds one key and is added or removed, and no rule
    shows any key more often. It is the truncated geometric mechanism with a threshold. Rounding of numbers: none.

    Counts must be of distinct persons. Only keys are shown, no counts.

    >>> KeySelection("1", "1e-6").event(1)
    DiscoveredKeys(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000))
    """

    epsilon: Fraction
    delta: Fraction

    citation: ClassVar[str] = (
        "Desfontaines, Voss, Gipson, Mandayam: Differentially private partition selection, PETS 2022"
    )

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", exact.spendable("epsilon", epsilon))
        object.__setattr__(self, "delta", exact.open_probability("delta", delta))

    def event(self, sensitivity: Number = 1) -> events.DiscoveredKeys:
        """A selection of keys when a unit may touch that many of them, by one person each.

        For one key per person it is 1 under add-remove and 2 under change-one: a changed person leaves one key and
        enters another. More than one is priced by group privacy [Lal20, Prop. 6].
        """
        promise = ApproxDP(self.epsilon, self.delta).group(exact.whole("sensitivity", sensitivity))
        return events.DiscoveredKeys(promise.epsilon, promise.delta)

    def event_of_keys(self, touched: int) -> events.DiscoveredKeys:
        """The same event by sequential composition [Lal20, Prop. 8], because the keys' coins are independent.

        It costs less than by group privacy: a person counts once in each key that they touch, not several times in one.
        """
        keys = exact.whole("touched", touched)
        return events.DiscoveredKeys(keys * self.epsilon, keys * self.delta)

    def chance(self, persons: int) -> Ball:
        """πₙ, enclosed at the ambient precision, in closed form so that no ε is too small to compute it.

        Up to n₁ persons the first branch of the recursion is the least: πₙ = δ (e^(nε) − 1) / (e^ε − 1). From there on
        the second is: 1 − π is multiplied by e^(−ε) after δ is taken off, until nothing is left.
        """
        count = exact.whole("persons", persons, least=0)
        epsilon, delta = exact.enclosure(self.epsilon), exact.enclosure(self.delta)
        turn = self.turning_point()
        ratio = delta / epsilon.expm1()
        if count <= turn:
            return ratio * (count * epsilon).expm1()
        hidden = 1 - ratio * (turn * epsilon).expm1()
        passed = -(count - turn) * epsilon
        return 1 - exact.positive_part(passed.exp() * hidden + ratio * passed.expm1())

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """How many persons a key needs at least to be shown with that probability."""
        return _persons_needed(self, 1 - miss_probability(confidence))

    def turning_point(self) -> int:
        """n₁: the first n with πₙ > (1 − δ) / (e^ε + 1); where the two branches tie, either serves."""
        for bits in (192, 1024, 8192):
            with exact.precision(bits):
                floor = exact.floor_if_certain(self._level())
                if floor is not None:
                    return floor + 1
        with exact.precision():
            return round(exact.upper(self._level()))

    def _level(self) -> Ball:
        """The real n at which δ (e^(nε) − 1) / (e^ε − 1) is (1 − δ) / (e^ε + 1)."""
        half = (exact.enclosure(self.epsilon) / 2).tanh()
        return (exact.enclosure(1 / self.delta - 1) * half).log1p() / exact.enclosure(self.epsilon)

    def release(
        self, value: Mapping[Hashable, int] | Sensitive[Mapping[Hashable, int]], entropy: Entropy | None = None
    ) -> list[Hashable]:
        """The keys selected, sorted by how they print; `value` maps every key found to its number of persons."""
        persons = opened(value, self)
        if not isinstance(persons, Mapping):
            raise InvalidParameter("value", HIDDEN, "does not map keys to numbers of persons")
        if any(type(count) is not int or count < 0 for count in persons.values()):
            raise InvalidParameter("persons", HIDDEN, "is not a number of persons")
        shown = self._shown(list(persons), list(persons.values()), entropy)
        return sorted(shown, key=lambda key: (type(key).__name__, repr(key)))

    def select(self, value: Found[Key], entropy: Entropy | None = None) -> list[Key]:
        """The keys selected, in their order; `value` holds the keys and the numbers of persons."""
        keys, counts = value.open(self)
        return self._shown(keys, counts.tolist(), entropy)

    def _shown(self, keys: list[Key], counts: list[int], entropy: Entropy | None) -> list[Key]:
        """Toss a coin for each key. Keys with equally many persons share a chance, which is computed once."""
        places_by_count: dict[int, list[int]] = {}
        for place, count in enumerate(counts):
            places_by_count.setdefault(count, []).append(place)
        coins = source(entropy)
        shown: list[int] = []
        for count, places in places_by_count.items():
            kept = bernoulli_real(partial(self.chance, count), len(places), coins)
            shown.extend(place for place, keep in zip(places, kept, strict=True) if keep)
        return [keys[place] for place in sorted(shown)]


@cached(1024)
def _persons_needed(mechanism: KeySelection, asked: Fraction) -> int:
    """The least number of persons whose key is shown with that probability."""

    def surely(persons: int) -> bool:
        with exact.precision():
            return exact.probability_down(mechanism.chance(persons)) >= asked

    high = 1
    while not surely(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if surely(middle) else (middle, high)
    return high
