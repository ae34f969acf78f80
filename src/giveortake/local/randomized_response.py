"""Randomized response over many categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.arguments import told_by_name
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.local.frequencies import FrequencyOracle, survey_categories
from giveortake.local.oracle import is_one, read_fraction, registered, source, survey_name, written
from giveortake.local.rationals import ratio_below, survey_epsilon
from giveortake.local.reports import Reports, whole_numbers
from giveortake.mechanisms.histogram import positions
from giveortake.privacy import events
from giveortake.randomness import bernoulli, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from fractions import Fraction

    from giveortake.exact import Number
    from giveortake.randomness import Entropy

_RESPONSE = 'RandomizedResponse(["yes", "no"], epsilon=1)'


@registered
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class RandomizedResponse(FrequencyOracle):
    """Report your own category with probability r/(r + k − 1), else one of the other k − 1 at random.

    Guarantee [War65, KOV16]: ε-DP for the person who answers; r is a fraction just below e^ε. The best survey for few
    categories or a large ε.

    >>> survey = RandomizedResponse(["never", "once", "often"], epsilon=1)
    >>> survey.support[0] / survey.support[1] == survey.ratio
    True
    """

    categories: tuple[Hashable, ...]
    epsilon: Fraction
    ratio: Fraction
    name: str

    kind: ClassVar[str] = "randomized-response"
    citation: ClassVar[str] = (
        "Warner: Randomized response, JASA 1965; Kairouz, Oh, Viswanath: Extremal mechanisms, 2016"
    )

    @told_by_name({"categories": _RESPONSE, "epsilon": _RESPONSE})
    def __init__(self, categories: Iterable[Hashable], epsilon: Number, *, name: str = "") -> None:
        object.__setattr__(self, "categories", survey_categories(categories))
        object.__setattr__(self, "name", survey_name(name))
        object.__setattr__(self, "epsilon", survey_epsilon(epsilon))
        object.__setattr__(self, "ratio", ratio_below(self.epsilon))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> RandomizedResponse:
        """The survey that `to_json` described."""
        epsilon = read_fraction("epsilon", parameters["epsilon"])
        return cls(parameters["categories"], epsilon, name=parameters.get("name", ""))

    def parameters(self) -> dict[str, Any]:
        return {"categories": list(self.categories), "epsilon": written(self.epsilon)}

    def event(self) -> events.RandomizedResponse:
        return events.RandomizedResponse(self.epsilon, len(self.categories))

    def bits(self) -> int:
        return (len(self.categories) - 1).bit_length()

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        total = self.ratio + len(self.categories) - 1
        return self.ratio / total, 1 / total

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = self.categories[int(self.codes([value])[0])]
        true, false = self.support
        return {category: true if category == own else false for category in self.categories}

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        codes = self.codes([values] if is_one(values) else values)
        reports = respond(codes, len(self.categories), self.support[1], source(entropy))
        return self.categories[int(reports[0])] if is_one(values) else self._reports(reports)

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.bincount(data, minlength=len(self.categories))

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        if isinstance(listed, np.ndarray) and listed.dtype.kind in "iu" and self._are_places():
            return whole_numbers(listed, len(self.categories))
        try:
            return positions(listed, self.categories)
        except InvalidParameter:
            raise DamagedReports("a report is not one of the categories of this survey") from None

    def stored(self, data: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        return whole_numbers(data, len(self.categories))

    def from_plain(self, listed: list[Any]) -> Any:
        return whole_numbers(listed, len(self.categories))

    def _reports(self, data: np.ndarray[Any, np.dtype[Any]]) -> Reports:
        return Reports(self.fingerprint, data, self.categories)


def respond(
    codes: np.ndarray[Any, np.dtype[np.int64]], categories: int, false: Fraction, coins: Entropy
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Randomized response on places: with probability 1 − k·q the truth, else any of the k at random.

    The truth then comes with 1 − (k − 1)q, any other category with q: the same law, and one array less.
    """
    honest = bernoulli(1 - categories * false, codes.size, coins)
    reports = uniform_integers(categories, codes.size, coins)
    np.copyto(reports, codes, where=honest)
    return reports
