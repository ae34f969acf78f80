"""Unary encoding: one bit for each category, each flipped on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.local.bits import column_sums, set_bits
from giveortake.local.frequencies import FrequencyOracle, survey_categories
from giveortake.local.oracle import is_one, read_fraction, registered, source, survey_name, written
from giveortake.local.rationals import ratio_below, survey_epsilon
from giveortake.local.reports import packed_rows
from giveortake.randomness import bernoulli, packed_bernoulli

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    import numpy as np

    from giveortake.exact import Number
    from giveortake.randomness import Entropy


@registered
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class UnaryEncoding(FrequencyOracle):
    """A row of bits, one for each category: yours is set with probability p, every other one with probability q.

    Guarantee [WBLJ17]: two answers differ in two bits, so the ratio of the probabilities of any report is at most
    p(1−q)/(q(1−p)), which is at most e^ε. Optimised: p = ½ and q = 1/(r + 1), of least variance for rare categories.
    Symmetric: p = s/(s + 1) = 1 − q with s just below e^(ε/2).

    >>> UnaryEncoding(range(100), epsilon=1).support[0]
    Fraction(1, 2)
    """

    categories: tuple[Hashable, ...]
    epsilon: Fraction
    symmetric: bool
    support: tuple[Fraction, Fraction]
    name: str

    kind: ClassVar[str] = "unary-encoding"
    in_rows: ClassVar[bool] = True
    citation: ClassVar[str] = "Wang, Blocki, Li, Jha: Locally differentially private protocols, USENIX Security 2017"

    def __init__(
        self, categories: Iterable[Hashable], epsilon: Number, *, symmetric: bool = False, name: str = ""
    ) -> None:
        object.__setattr__(self, "categories", survey_categories(categories))
        object.__setattr__(self, "name", survey_name(name))
        object.__setattr__(self, "epsilon", survey_epsilon(epsilon))
        object.__setattr__(self, "symmetric", bool(symmetric))
        whole_ratio, half_ratio = ratio_below(self.epsilon), ratio_below(self.epsilon / 2)
        optimised = Fraction(1, 2), 1 / (whole_ratio + 1)
        even = half_ratio / (half_ratio + 1), 1 / (half_ratio + 1)
        object.__setattr__(self, "support", even if symmetric else optimised)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> UnaryEncoding:
        """The survey that `to_json` described."""
        epsilon = read_fraction("epsilon", parameters["epsilon"])
        symmetric, name = parameters["symmetric"], parameters.get("name", "")
        return cls(parameters["categories"], epsilon, symmetric=symmetric, name=name)

    def parameters(self) -> dict[str, Any]:
        return {
            "categories": list(self.categories),
            "epsilon": written(self.epsilon),
            "symmetric": self.symmetric,
        }

    @property
    def ratio(self) -> Fraction:
        true, false = self.support
        return true * (1 - false) / (false * (1 - true))

    def bits(self) -> int:
        return len(self.categories)

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = int(self.codes([value])[0])
        chances = [self.support[place != own] for place in range(len(self.categories))]
        return {
            report: prod((p if bit else 1 - p for p, bit in zip(chances, report, strict=True)), start=Fraction(1))
            for report in product((0, 1), repeat=len(chances))
        }

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        codes = self.codes([values] if is_one(values) else values)
        true, false = self.support
        coins = source(entropy)
        rows = packed_bernoulli(false, codes.size, len(self.categories), coins)
        set_bits(rows, codes, bernoulli(true, codes.size, coins))
        reports = self._reports(rows)
        return reports[0] if is_one(values) else reports

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return column_sums(data, len(self.categories))

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return packed_rows(listed, len(self.categories))
