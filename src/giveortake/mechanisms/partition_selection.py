"""Partition selection: which discovered groups may be shown.

`KeySelection` shows each with the best chance there is [DVG22]; `CountedKeys` by a noisy count, which is also the
group's number [KKMN09]; `WeightedKeys` by Gaussian noise on weights that each unit shares out among its groups
[GGKSW20].
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, final

import numpy as np

from giveortake import exact
from giveortake.caching import cached
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.mechanisms.additive import Gaussian, Laplace, miss_probability
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, scale_for, source
from giveortake.privacy import ApproxDP, events
from giveortake.randomness import bernoulli_real

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Ball, Number
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.randomness import Entropy


Key = TypeVar("Key")
KeyTotals: TypeAlias = "Sensitive[tuple[list[Key], BoundedIntegers]]"


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
        selected = self._select(list(persons), list(persons.values()), entropy)
        return sorted(selected, key=lambda key: (type(key).__name__, repr(key)))

    def select(self, value: KeyTotals[Key], entropy: Entropy | None = None) -> list[Key]:
        """The keys selected, in their order; `value` holds the keys and the numbers of persons."""
        keys, counts = value.open(self)
        return self._select(keys, counts.tolist(), entropy)

    def _select(self, keys: list[Key], counts: list[int], entropy: Entropy | None) -> list[Key]:
        """Toss a coin for each key. Keys with equally many persons share a chance, which is computed once."""
        indexes_by_count: dict[int, list[int]] = {}
        for index, count in enumerate(counts):
            indexes_by_count.setdefault(count, []).append(index)
        coins = source(entropy)
        selected: list[int] = []
        for count, indexes in indexes_by_count.items():
            coins_up = bernoulli_real(partial(self.chance, count), len(indexes), coins)
            selected.extend(index for index, keep in zip(indexes, coins_up, strict=True) if keep)
        return [keys[index] for index in sorted(selected)]


@cached(1024)
def _persons_needed(mechanism: KeySelection, probability: Fraction) -> int:
    """The least number of persons whose key is shown with that probability."""

    def surely(persons: int) -> bool:
        with exact.precision():
            return exact.probability_down(mechanism.chance(persons)) >= probability

    high = 1
    while not surely(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if surely(middle) else (middle, high)
    return high


class ThresholdedKeys(Mechanism[Any, Any]):
    """Noise on the number of every key that occurs; a key is shown, with that, if it reaches the threshold."""

    __slots__ = ()

    threshold: int
    if TYPE_CHECKING:  # (a field of one, computed by the other)

        @property
        def noise(self) -> Laplace | Gaussian: ...

    def release(self, value: Any, entropy: Entropy | None = None) -> dict[Any, int]:
        """The noisy numbers that reach the threshold; `value` maps every key to its number."""
        numbers = opened(value, self)
        selected, noisy = self._shown(list(numbers), np.array(list(numbers.values()), dtype=np.int64), entropy)
        return dict(zip(selected, noisy.tolist(), strict=True))

    def select(self, value: KeyTotals[Key], entropy: Entropy | None = None) -> list[Key]:
        """The keys that are shown; `value` holds the keys and their numbers."""
        return self.release_with_numbers(value, entropy)[0]

    def release_with_numbers(
        self, value: KeyTotals[Key], entropy: Entropy | None = None
    ) -> tuple[list[Key], npt.NDArray[Any]]:
        """The keys that are shown and their noisy numbers."""
        return self._shown(*value.open(self), entropy)

    def _shown(
        self, keys: list[Key], numbers: BoundedIntegers | npt.NDArray[np.int64], entropy: Entropy | None
    ) -> tuple[list[Key], npt.NDArray[Any]]:
        noisy = np.asarray(self.noise.release(numbers, entropy))
        indexes = np.flatnonzero(noisy >= self.threshold)
        return [keys[index] for index in indexes], noisy[indexes]


@final
@dataclass(frozen=True, slots=True)
class KeyCaps:
    """How much of one unit counts: at most `groups` keys, at most `rows` in each, and at most `total` in all."""

    groups: int
    rows: int
    total: int

    def __init__(self, groups: int, rows: int = 1, total: int | None = None) -> None:
        checked_groups, most = exact.whole("groups", groups), exact.whole("rows", rows)
        whole = checked_groups * most if total is None else min(checked_groups * most, exact.whole("total", total))
        object.__setattr__(self, "groups", min(checked_groups, whole))
        object.__setattr__(self, "rows", min(most, whole))
        object.__setattr__(self, "total", whole)

    @property
    def l2(self) -> Fraction:
        """The greatest L2 norm of what counts in each key, rounded up: as many keys at `rows` as fit, and one rest."""
        full, rest = divmod(self.total, self.rows)
        return exact.sqrt_up(Fraction(full * self.rows**2 + rest**2))

    def spreads(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """Every spread over lone keys that may be the likeliest to be seen, as pairs (keys, how much counts in each).

        Theorem. Let h(r) be −ln of the chance that a lone key of number r stays hidden: convex and rising, for both
        noises have log-concave distribution functions. Of all spreads over t keys of numbers from 1 to `rows` and a sum
        of at most `total`, Σh is greatest at a corner: as many keys at `rows` as fit, one between, the rest at 1. If
        `total` fills them all, more keys are worse. Beyond that, one key more takes h(b) − h(b − 1) off the one between
        and adds h(1): these steps rise from one t at which none is between to the next, so that Σh is convex there; and
        from each such t to the next it changes by the same amount. So over t it is greatest at the first or last t, or
        at the first or last t at which none is between. ∎
        """
        first = min(self.groups, -(-self.total // self.rows))
        candidates = {first, self.groups}
        if self.rows > 1:
            beyond = self.rows - 1
            candidates |= {first + (self.total - first) % beyond, self.groups - (self.groups - self.total) % beyond}
        for keys in sorted(keys for keys in candidates if first <= keys <= self.groups):
            yield self.spread(keys)

    def spread(self, keys: int) -> tuple[tuple[int, int], ...]:
        """The spread over so many keys that is the likeliest to be seen."""
        extra = min(self.total, keys * self.rows) - keys
        full, rest = divmod(extra, self.rows - 1) if self.rows > 1 else (0, 0)
        between = 1 if rest else 0
        parts = ((full, self.rows), (between, 1 + rest), (keys - full - between, 1))
        return tuple((count, number) for count, number in parts if count)


@final
@dataclass(frozen=True, slots=True)
class CountedKeys(ThresholdedKeys):
    """Add noise to how often every key occurs, and show the keys whose noisy count reaches the threshold, with it.

    One count finds a key and is its number. Of a unit `caps` counts: the caps hold, and nothing is scaled.

    Guarantee [KKMN09]: let δ be the greatest chance, over all ways in which a unit's rows may lie in keys that nobody
    else has, that any of these is shown. If one unit is added, then but for an event of probability δ a release is that
    of noise on counts moved by at most `caps`: (total / scale)-DP with Laplace noise, (l2 / σ)-GDP with
    Gaussian noise. If one unit is changed: twice that in L1, √2 times that in L2, with the same δ.

    Proof. Let A be the keys that occur in the first table alone, with numbers r₁, r₂ … of at least 1: all are the
    unit's. None of them is shown with probability Π P[noise < threshold − r] ≥ 1 − δ, whatever the noise of all other
    keys. So the law of the first release is (1 − δ)P′ + δP″, where P′ is what is shown of the keys that both tables
    have; in the same way that of the second is (1 − δ)Q′ + δQ″. P′ and Q′ are the same post-processing of noise on the
    counts of common keys. Those differ by what the unit gives, if it is added; if it is changed, by the difference of
    two vectors without a negative coordinate: at most 2·total in L1, and √2·l2 in L2, as their inner product is not
    negative. ∎ A key without a row that counts is not looked at. What is released of shown keys afterwards composes.

    Rounding of numbers: the threshold and δ are enclosed and rounded against the user; the sampler is exact.
    """

    noise: Laplace | Gaussian
    threshold: int
    caps: KeyCaps

    citation: ClassVar[str] = "Korolova, Kenthapadi, Mishra, Ntoulas: Releasing search queries privately, WWW 2009"

    def __init__(self, noise: Laplace | Gaussian, threshold: int, caps: KeyCaps) -> None:
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "threshold", exact.whole("threshold", threshold, least=caps.rows + 1))
        object.__setattr__(self, "caps", caps)

    @classmethod
    def calibrated(
        cls,
        caps: KeyCaps,
        *,
        delta: Number,
        epsilon: Number | None = None,
        mu: Number | None = None,
        sensitivity: int = 1,
    ) -> CountedKeys:
        """The least threshold, at the least noise, that keeps ε (by Laplace noise) or μ (by Gaussian noise), and δ.

        >>> CountedKeys.calibrated(KeyCaps(5), epsilon=1, delta="1e-7").threshold
        87
        >>> CountedKeys.calibrated(KeyCaps(4, 4, 4), epsilon=1, delta="1e-6").threshold
        60
        """
        chance = exact.open_probability("delta", delta)
        noise: Laplace | Gaussian
        if mu is None:
            assert epsilon is not None  # noqa: S101 (one of them is stated)
            noise = Laplace(scale_for(_l1(caps, sensitivity), epsilon))
        else:
            noise = Gaussian(_l2(caps, sensitivity) / exact.spendable("mu", mu))
        if noise.scale_in_steps > exact.GREATEST / _FARTHEST:
            stated = ("epsilon", epsilon) if mu is None else ("mu", mu)
            raise InvalidParameter(*stated, "asks for noise beyond the supported range", hint="ask for more")
        return cls(noise, _least_threshold(noise, caps, chance), caps)

    def event(self, sensitivity: Number = 1) -> events.DiscoveredKeys | events.GaussianKeys:
        """The event of a release; `sensitivity` is 1 under add-remove; 2 under change-one: one leaves, one enters."""
        chance = _lone_count_chance(self.noise, self.threshold, self.caps)
        if isinstance(self.noise, Laplace):
            return events.DiscoveredKeys(_l1(self.caps, sensitivity) / self.noise.scale, chance)
        return events.GaussianKeys(self.noise.sigma / _l2(self.caps, sensitivity), chance)


def _l1(caps: KeyCaps, sensitivity: Number) -> Fraction:
    """How far all counts are moved in L1 when one unit is added, or one leaves and another enters."""
    return Fraction(caps.total * (2 if _is_changed(sensitivity) else 1))


def _l2(caps: KeyCaps, sensitivity: Number) -> Fraction:
    """The same in L2, rounded up."""
    return caps.l2 * (exact.sqrt_up(Fraction(2)) if _is_changed(sensitivity) else 1)


def _is_changed(sensitivity: Number) -> bool:
    """Whether a unit is changed, and not added or removed."""
    if sensitivity not in {1, 2}:
        raise InvalidParameter("sensitivity", sensitivity, "is neither 1 (add-remove) nor 2 (change-one)")
    return sensitivity == 2


_FARTHEST = 2000  # scales from zero to the threshold at the least δ
_HALVINGS = 80


@cached(256)
def _least_threshold(noise: Laplace | Gaussian, caps: KeyCaps, delta: Fraction) -> int:
    """The least threshold at which the chance that a lone key is seen is at most δ: by doubles, then exactly."""

    def hides(threshold: int) -> bool:
        return _lone_count_chance(noise, threshold, caps) <= delta

    least = caps.rows + 1
    high = max(least, _rough_threshold(noise, caps, delta))
    step = 1
    while not hides(high):
        high, step = high + step, 2 * step
    low, step = high - 1, 1
    while low >= least and hides(low):
        high, low, step = low, low - step, 2 * step
    low = max(low, least - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if hides(middle) else (middle, high)
    return high


def _rough_threshold(noise: Laplace | Gaussian, caps: KeyCaps, delta: Fraction) -> int:
    """About that threshold, by doubles."""
    scale, normal = float(noise.scale_in_steps), isinstance(noise, Gaussian)
    enough = -math.log1p(-float(delta))

    def seen(threshold: float) -> float:
        sums = []
        for spread in caps.spreads():
            z = [(count, (threshold - 0.5 - number) / scale) for count, number in spread]
            tails = [(count, math.erfc(x / math.sqrt(2)) / 2 if normal else math.exp(-x) / 2) for count, x in z]
            sums.append(-sum(count * math.log1p(-tail) for count, tail in tails))
        return max(sums)

    low, high = caps.rows + 0.5, caps.rows + 0.5 + scale * _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) <= enough else (middle, high)
    return math.ceil(high)


@cached(1024)
def _lone_count_chance(noise: Laplace | Gaussian, threshold: int, caps: KeyCaps) -> Fraction:
    """The greatest of 1 − Π P[noise < threshold − r] over spreads of lone keys, rounded up."""
    greatest = Fraction(0)
    with exact.precision():
        for spread in caps.spreads():
            logarithms = [count * (-_tail(noise, threshold - number)).log1p() for count, number in spread]
            hidden = sum(logarithms, exact.enclosure(0))
            greatest = max(greatest, exact.probability_up(-hidden.expm1()))
    return max(exact.shorter_up(greatest), exact.LEAST)


def _tail(noise: Laplace | Gaussian, steps: int) -> Ball:
    """P[rounded noise ≥ steps] for steps above zero, enclosed."""
    z = exact.enclosure((Fraction(1, 2) - steps) / noise.scale_in_steps)
    return z.exp() / 2 if isinstance(noise, Laplace) else exact.normal_cdf(z)


@final
@dataclass(frozen=True, slots=True)
class WeightedKeys(ThresholdedKeys):
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
        mechanism = cls(sigma, max(least, length + 1), length, degree)
        while (
            _lone_key_chance(sigma, mechanism.threshold, length, degree) > chance
        ):  # within the rounding of enclosures
            mechanism = cls(sigma, mechanism.threshold + 1, length, degree)
        return mechanism

    def event(self, sensitivity: Number = 1) -> events.GaussianKeys:
        """The event of a release; `sensitivity` is 1 under add-remove; 2 under change-one: one leaves, one enters."""
        chance = _lone_key_chance(self.sigma, self.threshold, self.length, self.degree)
        return events.GaussianKeys(self.sigma / _moved(self.length, sensitivity), chance)

    @property
    def noise(self) -> Gaussian:
        """The noise that each weight gets."""
        return Gaussian(self.sigma)


@cached(64)
def weights(length: int, degree: int) -> tuple[int, ...]:
    """The weights that units of m = 1, 2, … `degree` keys give to each: ⌊length / √m⌋, so that m·w² ≤ length².

    >>> weights(100, 4)
    (100, 70, 57, 50)
    """
    sizes = tuple(isqrt(length * length // m) for m in range(1, degree + 1))
    assert all(m * weight * weight <= length * length for m, weight in enumerate(sizes, 1))  # noqa: S101 (the theorem needs it)
    return sizes


def _moved(length: int, sensitivity: Number) -> Fraction:
    """How far all weights are moved in L2 when one unit is added, or one leaves and another enters, rounded up."""
    return length * exact.sqrt_up(Fraction(2)) if _is_changed(sensitivity) else Fraction(length)


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
