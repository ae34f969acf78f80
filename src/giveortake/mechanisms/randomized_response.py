"""Randomized response [War65], binary and with many categories; [Lal20] and [Fre18]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms.additive import miss_probability
from giveortake.mechanisms.histogram import checked_categories, positions
from giveortake.mechanisms.mechanism import Mechanism, opened, source
from giveortake.privacy import events
from giveortake.randomness import bernoulli_real, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from giveortake.exact import Ball, Number
    from giveortake.randomness import Entropy


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
