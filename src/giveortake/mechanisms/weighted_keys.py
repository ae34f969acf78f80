"""Which keys found in the data may be shown, by Gaussian noise on weights that each unit shares out [GGKSW20]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, final

import numpy as np

from giveortake import exact
from giveortake.caching import cached
from giveortake.errors import InvalidParameter
from giveortake.mechanisms.discovered_histogram import shown_keys
from giveortake.mechanisms.gaussian import Gaussian
from giveortake.mechanisms.mechanism import Mechanism, opened
from giveortake.privacy import events

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.discovered_histogram import Found
    from giveortake.randomness import Entropy

Key = TypeVar("Key")


@final
@dataclass(frozen=True, slots=True)
class WeightedKeys(Mechanism[Any, Any]):
    """Add normal noise to the weight of every key that occurs, and show the keys that reach the threshold.

    A unit of m keys gives w_m = ⌊length / √m⌋ to each of them; of more keys than `degree`, that many count. So the
    weights that one unit gives have Σw² ≤ length², in whole numbers (`weights`).

    Guarantee [GGKSW20]: let δ = max over t ≤ degree of 1 − Φ((threshold − ½ − w_t) / sigma)^t. If one unit is added,
    then but for an event of probability δ a release is that of normal noise on weights moved by at most `length` in
    L2, that is (length / sigma)-GDP; if one unit is changed, (√2·length / sigma)-GDP, with the same δ.

    Proof. Let A be the keys that occur in the first table alone, t of them. Only the unit that differs has them. It has
    m ≥ t keys that count, so each of the t has the weight w_m ≤ w_t, and stays hidden if its rounded noise is below
    threshold − w_m, that is if the noise is below threshold − ½ − w_m. The t noises are independent: none of A is shown
    with probability at least Φ((threshold − ½ − w_t) / sigma)^t ≥ 1 − δ. Whether that happens is independent of the
    noise of all other keys. So the law of the first release is (1 − δ)P′ + δP″, where P′ is what is shown of the keys
    that both tables have (if less than δ is needed, the rest of δ is P′ too); in the same way that of the second is
    (1 − δ)Q′ + δQ″, with keys that occur in the second table alone. P′ and Q′ are the same post-processing of normal
    noise on the weights of common keys. Those differ by what the unit gives: at most `length` in L2 if it is added; if
    it is changed, by the difference of two vectors of at most that length without a negative coordinate, whose inner
    product is not negative: √2·length. ∎ Under change-one δ is not doubled: each law has its own P″, of its own A.
    The noisy weights of the shown keys may be shown as well: they are part of P′ and Q′.

    Rounding of numbers: the threshold and δ are enclosed and rounded against the user; the sampler is exact.
    """

    sigma: Fraction
    threshold: int
    length: int
    degree: int

    citation: ClassVar[str] = (
        "Gopi, Gulhane, Kulkarni, Shen, Wutschitz, Zanella-Béguelin: Differentially private set union, ICML 2020"
    )

    def __init__(self, sigma: Number, threshold: int, length: int = 1, degree: int = 1) -> None:
        keys, total = exact.whole("degree", degree), exact.whole("length", length)
        if total * total < keys:
            raise InvalidParameter("length", length, "leaves nothing for each key", hint=f"at least {isqrt(keys) + 1}")
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))
        object.__setattr__(self, "threshold", exact.whole("threshold", threshold, least=total + 1))
        object.__setattr__(self, "length", total)
        object.__setattr__(self, "degree", keys)

    @classmethod
    def calibrated(
        cls, *, mu: Number, delta: Number, length: int = 1, degree: int = 1, sensitivity: int = 1
    ) -> WeightedKeys:
        """The least threshold, at the least noise, that keeps μ and δ; `sensitivity` as in `event`.

        >>> WeightedKeys.calibrated(mu="0.2", delta="1e-7").threshold
        28
        """
        wanted, chance = exact.spendable("mu", mu), exact.open_probability("delta", delta)
        sigma = _moved(exact.whole("length", length), sensitivity) / wanted
        if sigma > exact.GREATEST:
            raise InvalidParameter("mu", mu, "asks for noise beyond the supported range", hint="ask for more")
        least = max(
            exact.ceiling(Fraction(1, 2) + weight + sigma * quantile)
            for weight, quantile in zip(
                weights(length, degree), _quantiles(chance, exact.whole("degree", degree)), strict=True
            )
        )
        found = cls(sigma, max(least, length + 1), length, degree)
        while _lone_key_chance(sigma, found.threshold, length, degree) > chance:  # within the rounding of enclosures
            found = cls(sigma, found.threshold + 1, length, degree)
        return found

    def event(self, sensitivity: Number = 1) -> events.GaussianKeys:
        """The event of a release; `sensitivity` is 1 under add-remove; 2 under change-one: one leaves, one enters."""
        chance = _lone_key_chance(self.sigma, self.threshold, self.length, self.degree)
        return events.GaussianKeys(self.sigma / _moved(self.length, sensitivity), chance)

    @property
    def noise(self) -> Gaussian:
        """The noise that each weight gets."""
        return Gaussian(self.sigma)

    def release(self, value: Any, entropy: Entropy | None = None) -> dict[Any, int]:
        """The noisy weights that reach the threshold; `value` maps every key to its weight."""
        weighed = opened(value, self)
        keys, total = list(weighed), np.array(list(weighed.values()), dtype=np.int64)
        shown, noisy = shown_keys(self.noise, self.threshold, keys, total, entropy)
        return dict(zip(shown, noisy.tolist(), strict=True))

    def select(self, value: Found[Key], entropy: Entropy | None = None) -> list[Key]:
        """The keys that are shown; `value` holds the keys and the weights."""
        return self.shown(value, entropy)[0]

    def shown(self, value: Found[Key], entropy: Entropy | None = None) -> tuple[list[Key], npt.NDArray[Any]]:
        """The keys that are shown and their noisy weights."""
        return shown_keys(self.noise, self.threshold, *value.open(self), entropy)


@cached(64)
def weights(length: int, degree: int) -> tuple[int, ...]:
    """The weights that units of m = 1, 2, … `degree` keys give to each: ⌊length / √m⌋, so that m·w² ≤ length².

    >>> weights(100, 4)
    (100, 70, 57, 50)
    """
    found = tuple(isqrt(length * length // m) for m in range(1, degree + 1))
    assert all(m * weight * weight <= length * length for m, weight in enumerate(found, 1))  # noqa: S101 (the theorem needs it)
    return found


def _moved(length: int, sensitivity: Number) -> Fraction:
    """How far all weights are moved in L2 when one unit is added, or one leaves and another enters, rounded up."""
    if sensitivity == 1:
        return Fraction(length)
    if sensitivity == 2:
        return length * exact.sqrt_up(Fraction(2))
    raise InvalidParameter("sensitivity", sensitivity, "is neither 1 (add-remove) nor 2 (change-one)")


@cached(64)
def _quantiles(delta: Fraction, degree: int) -> tuple[Fraction, ...]:
    """For t = 1, 2, … an upper bound of the z at which Φ(z)^t = 1 − δ."""
    with exact.precision():
        return tuple(
            exact.upper(-exact.normal_quantile(-((exact.enclosure(-delta).log1p() / t).expm1())))
            for t in range(1, degree + 1)
        )


@cached(256)
def _lone_key_chance(sigma: Fraction, threshold: int, length: int, degree: int) -> Fraction:
    """The greatest of 1 − Φ((threshold − ½ − w_t) / sigma)^t over t, rounded up."""
    greatest = Fraction(0)
    with exact.precision():
        for t, weight in enumerate(weights(length, degree), 1):
            tail = exact.normal_cdf(exact.enclosure((weight + Fraction(1, 2) - threshold) / sigma))
            greatest = max(greatest, exact.probability_up(-((t * (-tail).log1p()).expm1())))
    return max(exact.shorter_up(greatest), exact.LEAST)
