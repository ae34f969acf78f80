"""Values of categories: histograms over declared and over discovered ones, and randomized response.

`Histogram` is for categories that are known beforehand [Har25], `DiscoveredHistogram` for those that are found in the
data: noise, then a threshold [Lal20, "Escargots"]. `RandomizedResponse` [War65] reports one of two or of many.
"""

from __future__ import annotations

import datetime
import enum
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final
from uuid import UUID

import numpy as np

from giveortake import exact
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.exact import positive
from giveortake.mechanisms.additive import Laplace, miss_probability
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, scale_for, source
from giveortake.privacy import events
from giveortake.randomness import bernoulli_real, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake.exact import Ball, Number
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.randomness import Entropy

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[np.int64]


_SHOWN_AS_THEY_ARE = (str, bytes, bool, int)  # equal values of one of these types look the same
_SHOWN_BY_REPR = (float, Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta, UUID)
_DEEPEST = 8  # levels of tuples within tuples


def checked_categories(categories: Iterable[Hashable], *, least: int = 1) -> tuple[Hashable, ...]:
    """Check that there are enough categories, all distinct, and return them in the order given."""
    if isinstance(categories, str | bytes) or not isinstance(categories, Iterable):
        raise InvalidParameter("categories", categories, "is not a list of categories")
    listed = tuple(_plain(category) for category in categories)
    if len(listed) < least:
        raise InvalidParameter("categories", list(listed), f"has fewer than {least} categories")
    seen: set[Hashable] = set()
    for category in listed:
        if not isinstance(category, Hashable) or _is_missing(category):
            raise InvalidParameter("categories", category, "cannot be a category")
        if category in seen:
            raise InvalidParameter("categories", category, "occurs twice", hint="list every category once")
        seen.add(category)
    return listed


def positions(answers: Iterable[Any], categories: tuple[Hashable, ...]) -> npt.NDArray[np.int64]:
    """The index of every answer's category; an answer outside them is refused."""
    index = _index(categories)
    indexes = [_position(answer, index) for answer in elements(answers)]
    if None in indexes:
        allowed = ", ".join(repr(category) for category in categories[:10])
        raise InvalidParameter("answer", HIDDEN, f"is not one of the categories {allowed}")
    return np.array(indexes, dtype=np.int64)


def counts_of(values: Iterable[Any], categories: tuple[Hashable, ...]) -> npt.NDArray[np.int64]:
    """How many values fall into each category; missing values and values outside the categories count nowhere."""
    index = _index(categories)
    counts = Counter(_position(value, index) for value in elements(values))
    return np.array([counts[position] for position in range(len(categories))], dtype=np.int64)


def discovered_counts(values: Iterable[Any]) -> list[tuple[Hashable, int]]:
    """Every value that occurs and how often, in an order that does not depend on the order of the values.

    How a key is shown depends on the value alone, not on who came first: 1.0 is shown as 1, whether or not a missing
    value elsewhere made a library turn integers into floats, and True stays apart from 1. Text, numbers, dates, UUIDs,
    enumerations and tuples of these are counted; missing values, and values of other types, count nowhere. No row can
    make this fail.
    """
    keys: dict[Hashable, Any] = {}
    counts: Counter[Hashable] = Counter()
    for value in elements(values):
        identity = _identity(value)
        if identity is not None:
            key = _key(value)
            identity = _identity(key)
            keys.setdefault(identity, key)
            counts[identity] += 1
    return [(keys[identity], count) for identity, count in sorted(counts.items())]


def elements(values: Iterable[Any]) -> list[Any]:
    """The elements of a sequence or of a numpy, Polars, pandas or Arrow column, as plain Python values."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidParameter("values", HIDDEN, "is not a list or a column of values", hint="pass one value per row")
    if hasattr(values, "columns") or getattr(values, "ndim", 1) != 1:
        raise InvalidParameter("values", HIDDEN, "is a table, not a column", hint="pass one of its columns")
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, method):
            return [_plain(value) for value in getattr(values, method)()]
    return [_plain(value) for value in values]


def _index(categories: tuple[Hashable, ...]) -> dict[Hashable, int]:
    return {category: position for position, category in enumerate(categories)}


def _position(value: Any, index: dict[Hashable, int]) -> int | None:
    try:
        return index.get(value)
    except TypeError:  # what cannot be hashed is no category
        return None


def _identity(value: Any, depth: int = 0) -> tuple[str, Any] | None:
    """What a reader can see of a key, in a form that sorts; None if it is missing or of a type that is not counted."""
    kind = type(value)
    if kind in _SHOWN_AS_THEY_ARE:
        return kind.__name__, value
    if kind in _SHOWN_BY_REPR:
        return None if _is_missing(value) or not _has_known_zone(value) else (kind.__name__, repr(value))
    if isinstance(value, enum.Enum):
        return f"{kind.__module__}.{kind.__qualname__}", value.name
    if kind is tuple and depth < _DEEPEST:
        parts = tuple(_identity(part, depth + 1) for part in value)
        return None if None in parts else ("tuple", parts)
    return None


def _key(value: Any) -> Any:
    """The one form in which a value is shown as a key: whole floats as integers, also inside tuples."""
    if type(value) is float and value.is_integer():
        return int(value)
    return tuple(_key(part) for part in value) if type(value) is tuple else value


def _has_known_zone(value: Any) -> bool:
    """Whether a time has no zone, or one that its printed form describes fully."""
    zone = getattr(value, "tzinfo", None)
    return zone is None or type(zone) is datetime.timezone


def _plain(value: Any) -> Any:
    """A numpy or pandas scalar as a plain Python value; an interval or a period as its text."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value).__module__.partition(".")[0] != "pandas":
        return value
    if hasattr(value, "to_pydatetime"):
        return None if value.year != value.year else value.to_pydatetime(warn=False)
    return str(value) if hasattr(value, "left") or hasattr(value, "freqstr") else None


def _is_missing(value: Any) -> bool:
    """Whether a value is missing: None or not-a-number."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, Decimal) and value.is_nan())


@final
@dataclass(frozen=True, slots=True)
class Histogram(Mechanism[Iterable[Any], dict[Any, int]]):
    """Count rows by category and add Laplace noise of that scale to every count, zeros included.

    Guarantee [DMNS06], [Har25, "DP histograms"]: adding or removing one row changes one count by one, so a release is
    (1 / scale)-DP; changing one row changes two counts, so it is (2 / scale)-DP. The number of categories does not
    matter. Rows that are missing or in no category count nowhere.

    >>> Histogram(["north", "south"], scale=10).event(sensitivity=2).guarantee(neighbours="change-one")
    PureDP('0.2', neighbours='change-one')
    """

    categories: tuple[Hashable, ...]
    scale: Fraction

    citation: ClassVar[str] = Laplace.citation

    def __init__(self, categories: Iterable[Hashable], scale: Number) -> None:
        object.__setattr__(self, "categories", checked_categories(categories))
        object.__setattr__(self, "scale", positive("scale", scale))

    def event(self, sensitivity: Number = 1) -> events.Laplace:
        """A Laplace release of that L1 sensitivity: 1 under add-remove, 2 under change-one."""
        return Laplace(self.scale).event(sensitivity)

    def release(
        self, value: Iterable[Any] | Sensitive[Iterable[Any]], entropy: Entropy | None = None
    ) -> dict[Any, int]:
        """A noisy count for every category, in the order of the categories; `value` holds the rows."""
        counts = counts_of(opened(value, self), self.categories)
        return dict(zip(self.categories, Laplace(self.scale).release(counts, entropy).tolist(), strict=True))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """How far one count is off at most, with at least that probability."""
        return Laplace(self.scale).margin(confidence)


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
        released: dict[Any, int] = {}
        for (key, _), count in sorted(zip(pairs, noisy, strict=True), key=lambda item: -item[1]):
            if count >= self.threshold:
                released[key] = released.get(key, 0) + count  # True and 1 are one key of a dictionary
        return released

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """How far a count that is shown is off at most before selection, with at least that probability."""
        return Laplace(self.scale).margin(confidence)


def _lone_values(lone_values: int | None, sensitivity: Fraction) -> int:
    return exact.ceiling(sensitivity) if lone_values is None else exact.whole("lone_values", lone_values)


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


@final
@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism[Any, Any]):
    """Tell the truth with probability e^ε / (e^ε + k − 1), else one of the other k − 1 categories at random.

    Guarantee [War65, KOV16]: ε-DP for the person who answers, whoever collects the answers. The ratio of the
    probabilities of any report under any two truths is at most e^ε, and is e^ε. What somebody answered is protected,
    not that they did: the number of reports is public, so state the promise of a survey under change-one. Rounding
    of numbers: none.

    >>> RandomizedResponse(1, categories=("yes", "no")).event()
    RandomizedResponse(epsilon=Fraction(1, 1), categories=2)
    """

    epsilon: Fraction
    categories: tuple[Hashable, ...]

    citation: ClassVar[str] = (
        "Warner: Randomized response, JASA 1965; Kairouz, Oh, Viswanath: Extremal mechanisms, 2016"
    )

    def __init__(self, epsilon: Number, categories: Sequence[Hashable] = (False, True)) -> None:
        object.__setattr__(self, "epsilon", exact.spendable("epsilon", epsilon))
        object.__setattr__(self, "categories", checked_categories(categories, least=2))

    def event(self, sensitivity: Number = 1) -> events.RandomizedResponse:
        """One answer of one person; who answers k times makes k such events."""
        if exact.positive("sensitivity", sensitivity) != 1:
            raise InvalidParameter("sensitivity", sensitivity, "is not 1", hint="repeat the event for repeated answers")
        return events.RandomizedResponse(self.epsilon, len(self.categories))

    def truth(self) -> Ball:
        """The probability of a true report, as an enclosure at the ambient precision."""
        return 1 / (1 + (len(self.categories) - 1) * (-exact.enclosure(self.epsilon)).exp())

    def release(self, value: Any, entropy: Entropy | None = None) -> Any:
        """A report for one answer, or an array of reports for a sequence or a column of answers."""
        answers = opened(value, self)
        single = _is_one_answer(answers, self.categories)
        codes = positions([answers] if single else list(answers), self.categories)
        coins = source(entropy)
        lies = ~bernoulli_real(self.truth, codes.size, coins)
        shifts = 1 + uniform_integers(len(self.categories) - 1, int(lies.sum()), coins)
        codes[lies] = (codes[lies] + shifts) % len(self.categories)
        if single:
            return self.categories[int(codes[0])]
        return np.array(self.categories, dtype=_common_dtype(self.categories))[codes]

    def margin(self, confidence: Number = Fraction(95, 100), *, answers: int) -> Fraction:
        """How far an unbiased estimate of one category's share is off at most (Hoeffding), with that probability."""
        miss = miss_probability(confidence)
        count, other_categories = exact.whole("answers", answers), len(self.categories) - 1
        with exact.precision():
            gap = self.truth() - (1 - self.truth()) / other_categories
            return exact.upper((exact.enclosure(2 / miss).log() / (2 * count)).sqrt() / gap)


def _is_one_answer(answers: Any, categories: tuple[Hashable, ...]) -> bool:
    """Whether this is one category, rather than a sequence or a column of them."""
    if isinstance(answers, str | bytes) or not hasattr(answers, "__len__"):
        return True
    return isinstance(answers, tuple) and any(isinstance(category, tuple) for category in categories)


def _common_dtype(categories: tuple[Hashable, ...]) -> Any:
    kinds = {type(category) for category in categories}
    return {bool: np.bool_, int: np.int64}.get(kinds.pop(), object) if len(kinds) == 1 else object
