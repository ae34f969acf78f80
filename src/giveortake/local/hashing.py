"""Local hashing: a random function with few values, drawn anew by every respondent, then randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.local.affine import bucket, meeting, prime_from, supports
from giveortake.local.frequencies import FrequencyOracle, survey_categories
from giveortake.local.oracle import is_one, read_fraction, registered, source, survey_name, written
from giveortake.local.randomized_response import respond
from giveortake.local.rationals import ratio_below, survey_epsilon
from giveortake.local.reports import whole_numbers
from giveortake.randomness import uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from fractions import Fraction

    from giveortake.exact import Number
    from giveortake.randomness import Entropy

_MOST_BUCKETS = 1 << 16
_MOST_REPORTS = 1 << 63  # a report is one 64-bit number
_PLACES = 16  # for each bucket, at the least, so that buckets are of almost equal size


@registered
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class LocalHashing(FrequencyOracle):
    """Draw a function from categories to g buckets, and report it with your bucket after randomized response.

    Guarantee [WBLJ17]: the function is drawn without looking at the answer, and given it the report is randomized
    response over g buckets, so it is ε-DP for the person who answers. Optimised: g = ⌊r⌉ + 1 buckets, of the least
    variance; binary: `buckets=2`. Functions are x ↦ ((a·x + b) mod P) mod g [CW79], pairwise independent, and the
    probability that two categories meet is used exactly. A report is the number (a·P + b)·g + y.

    >>> LocalHashing(range(1000), epsilon=1).buckets
    4
    """

    categories: tuple[Hashable, ...]
    epsilon: Fraction
    buckets: int
    prime: int
    ratio: Fraction
    name: str

    kind: ClassVar[str] = "local-hashing"
    citation: ClassVar[str] = "Wang, Blocki, Li, Jha: Locally differentially private protocols, USENIX Security 2017"

    def __init__(
        self, categories: Iterable[Hashable], epsilon: Number, *, buckets: int | None = None, name: str = ""
    ) -> None:
        object.__setattr__(self, "categories", survey_categories(categories))
        object.__setattr__(self, "name", survey_name(name))
        object.__setattr__(self, "epsilon", survey_epsilon(epsilon))
        object.__setattr__(self, "ratio", ratio_below(self.epsilon))
        best = round(self.ratio) + 1 if self.ratio < _MOST_BUCKETS else _MOST_BUCKETS
        chosen = best if buckets is None else whole("buckets", buckets, least=2)
        if chosen > _MOST_BUCKETS:
            raise InvalidParameter("buckets", buckets, f"is above {_MOST_BUCKETS}")
        object.__setattr__(self, "buckets", min(chosen, max(2, len(self.categories))) if buckets is None else chosen)
        object.__setattr__(self, "prime", prime_from(max(len(self.categories), _PLACES * self.buckets)))
        if self.prime**2 * self.buckets >= _MOST_REPORTS:
            raise InvalidParameter(
                "categories", len(self.categories), "are too many for reports of 64 bits", hint="use a CountMeanSketch"
            )

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> LocalHashing:
        """The survey that `to_json` described."""
        epsilon = read_fraction("epsilon", parameters["epsilon"])
        buckets, name = parameters["buckets"], parameters.get("name", "")
        return cls(parameters["categories"], epsilon, buckets=buckets, name=name)

    def parameters(self) -> dict[str, Any]:
        return {"categories": list(self.categories), "epsilon": written(self.epsilon), "buckets": self.buckets}

    def bits(self) -> int:
        return (self.prime**2 * self.buckets - 1).bit_length()

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        total = self.ratio + self.buckets - 1
        met = meeting(self.prime, self.buckets)
        return self.ratio / total, (met * self.ratio + (1 - met)) / total

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = int(self.codes([value])[0])
        unit = 1 / ((self.ratio + self.buckets - 1) * self.prime**2)
        return {
            (a * self.prime + b) * self.buckets + y: unit
            * (self.ratio if bucket(own, a, b, self.prime, self.buckets) == y else 1)
            for a in range(self.prime)
            for b in range(self.prime)
            for y in range(self.buckets)
        }

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        codes = self.codes([values] if is_one(values) else values)
        coins = source(entropy)
        functions = uniform_integers(self.prime**2, codes.size, coins)
        a, b = np.divmod(functions, self.prime)
        hashed = bucket(codes, a, b, self.prime, self.buckets)
        answers = respond(hashed, self.buckets, 1 / (self.ratio + self.buckets - 1), coins)
        reports = functions * self.buckets + answers
        return int(reports[0]) if is_one(values) else self._reports(reports)

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        functions, y = np.divmod(data, self.buckets)
        a, b = np.divmod(functions, self.prime)
        places = np.arange(len(self.categories), dtype=np.int64)
        return supports((a, b, y), places, self.prime, self.buckets)

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        return whole_numbers(listed, self.prime**2 * self.buckets)
