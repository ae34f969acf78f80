"""Hadamard response: a report is one number, and estimating is one fast transform."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.local.frequencies import FrequencyOracle, survey_categories
from giveortake.local.oracle import is_one, read_fraction, registered, source, survey_name, written
from giveortake.local.rationals import ratio_below, survey_epsilon
from giveortake.local.reports import whole_numbers
from giveortake.randomness import bernoulli, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from giveortake.exact import Number
    from giveortake.randomness import Entropy


@registered
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class HadamardResponse(FrequencyOracle):
    """Report a column of a Hadamard matrix in which your row is +1, with probability r/(r + 1), else one with −1.

    Guarantee [ASZ19]: ε-DP for the person who answers: half of the columns are +1 in every row, so each has probability
    2r/((r + 1)K) or 2/((r + 1)K). Category v has row v + 1; the row of ones has none. Reports of log K bits, and
    the variance of the binary local hashing; the optimised ones are better from ε ≈ ½ on.

    >>> HadamardResponse(range(5), epsilon=1).columns
    8
    """

    categories: tuple[Hashable, ...]
    epsilon: Fraction
    ratio: Fraction
    name: str

    kind: ClassVar[str] = "hadamard-response"
    citation: ClassVar[str] = "Acharya, Sun, Zhang: Hadamard response, AISTATS 2019"

    def __init__(self, categories: Iterable[Hashable], epsilon: Number, *, name: str = "") -> None:
        object.__setattr__(self, "categories", survey_categories(categories))
        object.__setattr__(self, "name", survey_name(name))
        object.__setattr__(self, "epsilon", survey_epsilon(epsilon))
        object.__setattr__(self, "ratio", ratio_below(self.epsilon))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> HadamardResponse:
        """The survey that `to_json` described."""
        epsilon = read_fraction("epsilon", parameters["epsilon"])
        return cls(parameters["categories"], epsilon, name=parameters.get("name", ""))

    def parameters(self) -> dict[str, Any]:
        return {"categories": list(self.categories), "epsilon": written(self.epsilon)}

    @property
    def columns(self) -> int:
        """K: the least power of two with a row for every category beside the row of ones."""
        return 1 << len(self.categories).bit_length()

    def bits(self) -> int:
        return len(self.categories).bit_length()

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        return self.ratio / (self.ratio + 1), Fraction(1, 2)

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        row = int(self.codes([value])[0]) + 1
        unit = 2 / ((self.ratio + 1) * self.columns)
        return {j: unit * (1 if (row & j).bit_count() % 2 else self.ratio) for j in range(self.columns)}

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        rows = self.codes([values] if is_one(values) else values) + 1
        coins = source(entropy)
        reports = uniform_integers(self.columns, rows.size, coins)
        plus = bernoulli(self.support[0], rows.size, coins)
        # Changing a column in a bit that the row has changes the sign, and pairs the columns of either sign.
        wrong = odd_ones(self.columns).take(rows & reports) == plus
        reports ^= np.where(wrong, rows & -rows, 0)
        return int(reports[0]) if is_one(values) else self._reports(reports)

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        differences = transformed(np.bincount(data, minlength=self.columns))
        return (len(data) + differences[1 : len(self.categories) + 1]) // 2

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        return whole_numbers(listed, self.columns)


def odd_ones(size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For every number below a power of two, whether it has an odd number of ones."""
    odd = np.zeros(1, dtype=np.bool_)
    while odd.size < size:
        odd = np.concatenate([odd, ~odd])
    return odd


def transformed(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The Walsh–Hadamard transform in integers: entry i is the sum of ± number j, minus where i & j has odd ones."""
    out, half = numbers.astype(np.int64), 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out
