"""Histograms over categories that are found in the data: noise, then a threshold; [Lal20, "Escargots"]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, final

import numpy as np

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms.categories import discovered_counts
from giveortake.mechanisms.laplace import Laplace
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened
from giveortake.mechanisms.scales import scale_for
from giveortake.privacy import events

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.randomness import Entropy

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[np.int64]

Key = TypeVar("Key")
Found: TypeAlias = "Sensitive[tuple[list[Key], BoundedIntegers]]"


@final
@dataclass(frozen=True, slots=True)
class DiscoveredHistogram(Mechanism[Iterable[Any], dict[Any, int]]):
    """Count rows by the values that occur, add Laplace noise, and show the counts that reach the threshold.

    Guarantee [KKMN09]: let p = P[1 + noise ≥ threshold], the chance that a value held by one row alone is shown. If one
    unit changes counts by at most s in total, by one each, and holds at most k values that nobody else holds, a
    release is (s / scale, kp)-DP. Proof: let X be the values held by the first table alone, Y by the second
    alone, shown with probabilities x and y. On the other counts the probabilities a and a′ of any event satisfy
    a ≤ e^ε′ a′, where ε′ = s / scale ≤ ε. For any set of outcomes, P − e^ε P′ ≤ x + (1 − x) a − e^ε (1 − y) a′
    ≤ x + a ((1 − x) − (1 − y)) ≤ max(x, y). ∎ Under add-remove s = k = 1 for a row; under change-one s = 2 and k = 1.

    >>> DiscoveredHistogram.calibrated(epsilon=1, delta="1e-6").threshold
    15
    """

    scale: Fraction
    threshold: int

    citation: ClassVar[str] = "Korolova, Kenthapadi, Mishra, Ntoulas: Releasing search queries privately, WWW 2009"

    def __init__(self, scale: Number, threshold: int) -> None:
        object.__setattr__(self, "scale", exact.positive("scale", scale))
        object.__setattr__(self, "threshold", exact.whole("threshold", threshold, least=2))

    @classmethod
    def calibrated(
        cls, *, epsilon: Number, delta: Number, sensitivity: Number = 1, lone_values: int | None = None
    ) -> DiscoveredHistogram:
        """The least threshold, at the least noise, that keeps (ε, δ); s and k of the guarantee as in `event`."""
        spread = exact.at_least("sensitivity", sensitivity)
        scale = scale_for(sensitivity, epsilon)
        chance = exact.open_probability("delta", delta) / _lone_values(lone_values, spread)
        # P[noise ≥ m] = ½ exp(−(m − ½) / scale) for m ≥ 1, and a lone value is shown when noise ≥ threshold − 1.
        least = max(1, exact.ceiling(Fraction(1, 2) + scale * exact.log_up(1 / (2 * chance))))
        if least >= exact.GREATEST:
            raise InvalidParameter(
                "epsilon", epsilon, "asks for a threshold beyond the supported range", hint="ask for more epsilon"
            )
        return cls(scale, least + 1)

    def event(self, sensitivity: Number = 1, *, lone_values: int | None = None) -> events.DiscoveredKeys:
        """A thresholded histogram of L1 sensitivity s, when a unit has k values of its own.

        k is as large as the sensitivity allows unless `lone_values` says less; for one row it is 1 under add-remove
        (s = 1) and under change-one (s = 2).
        """
        spread = exact.at_least("sensitivity", sensitivity)
        chance = exact.shorter_up(_lone_values(lone_values, spread) * self.lone_value_chance())
        return events.DiscoveredKeys(spread / self.scale, max(chance, exact.LEAST))

    def lone_value_chance(self) -> Fraction:
        """An upper bound of P[1 + noise ≥ threshold] = ½ exp(−(threshold − 3⁄2) / scale)."""
        with exact.precision():
            exponent = exact.enclosure((Fraction(3, 2) - self.threshold) / self.scale)
            return exact.probability_up(exponent.exp() / 2)

    def release(
        self, value: Iterable[Any] | Sensitive[Iterable[Any]], entropy: Entropy | None = None
    ) -> dict[Any, int]:
        """The noisy counts that reach the threshold, the greatest first; `value` holds the rows."""
        pairs = discovered_counts(opened(value, self))
        counts = np.array([count for _, count in pairs], dtype=np.int64)
        noisy = Laplace(self.scale).release(counts, entropy).tolist()
        found: dict[Any, int] = {}
        for (key, _), count in sorted(zip(pairs, noisy, strict=True), key=lambda item: -item[1]):
            if count >= self.threshold:
                found[key] = found.get(key, 0) + count  # True and 1 are one key of a dictionary
        return found

    def select(self, value: Found[Key], entropy: Entropy | None = None) -> list[Key]:
        """The keys whose noisy number of units reaches the threshold; `value` holds the keys and the numbers."""
        return self.shown(value, entropy)[0]

    def shown(self, value: Found[Key], entropy: Entropy | None = None) -> tuple[list[Key], npt.NDArray[Any]]:
        """The keys that `select` returns, and their noisy numbers of units."""
        return shown_keys(Laplace(self.scale), self.threshold, *value.open(self), entropy)

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """How far a count that is shown is off at most before selection, with at least that probability."""
        return Laplace(self.scale).margin(confidence)


def shown_keys(
    noise: RoundedNoise, threshold: int, keys: list[Key], exact: Integers, entropy: Entropy | None
) -> tuple[list[Key], npt.NDArray[Any]]:
    """The keys whose numbers reach the threshold once they have their noise, and these noisy numbers."""
    noisy = np.asarray(noise.release(exact, entropy))
    places = np.flatnonzero(noisy >= threshold)
    return [keys[place] for place in places], noisy[places]


def _lone_values(given: int | None, sensitivity: Fraction) -> int:
    return exact.ceiling(sensitivity) if given is None else exact.whole("lone_values", given)


def require_delta(delta: Number | None) -> Number:
    """Check that a δ is given, and return it."""
    if delta is None:
        raise InvalidParameter(
            "delta",
            delta,
            "is missing: showing values found in the data has a small chance to reveal one",
            hint='pass delta="1e-8" (far below one in the number of people), or list the categories',
        )
    return delta
