"""Gaussian noise for a sum of vectors, in which some cells weigh more than others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.randomness import Entropy

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[Any]


@final
@dataclass(frozen=True, slots=True)
class VectorNoise(Mechanism["Integers", "npt.NDArray[Any]"]):
    """Add normal noise, rounded to whole steps, to blocks of integers: the heavier a block, the less noise it gets.

    `blocks` lists (number of cells, weight) in the order of the cells. A cell of weight w gets noise of deviation
    σ/√w, rounded up.

    Guarantee [DRS22]: if a unit moves the integers by Δ with Σ w·Δ² ≤ d², a release is (d/σ)-GDP. Proof: divide each
    cell by its deviation. The continuous noise is standard normal then, and the shift has length at most
    √(Σ Δ²·w/σ²) ≤ d/σ; rounding on the integers is post-processing. ∎

    >>> VectorNoise(4, ((2, 1), (1, 2))).event(2).guarantee()
    GaussianDP('0.5')
    """

    sigma: Fraction
    blocks: tuple[tuple[int, int], ...]

    citation: ClassVar[str] = "Dong, Roth, Su: Gaussian differential privacy, JRSS B 2022"

    def __init__(self, sigma: Number, blocks: tuple[tuple[int, int], ...]) -> None:
        if any(size < 0 or weight < 1 for size, weight in blocks):
            raise InvalidParameter("blocks", blocks, "needs numbers of cells and weights of at least 1")
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))
        object.__setattr__(self, "blocks", tuple(blocks))

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release; `sensitivity` is the weighted length d."""
        return events.Gaussian(self.sigma / exact.at_least("sensitivity", sensitivity))

    def deviation(self, weight: int) -> Fraction:
        """The deviation of the noise in cells of a weight."""
        return self.sigma if weight == 1 else exact.sqrt_up(self.sigma**2 / weight)

    def deviations(self) -> npt.NDArray[np.float64]:
        """The deviation of the noise in each cell."""
        each = [np.full(size, float(self.deviation(weight))) for size, weight in self.blocks]
        return np.concatenate(each) if each else np.zeros(0)

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> npt.NDArray[Any]:
        """The integers with noise."""
        exact_sums = shaped_numbers.bounded("value", opened(value, self))
        if exact_sums.shape != (sum(size for size, _ in self.blocks),):
            raise InvalidParameter("value", exact_sums.shape, "is not one integer for each cell")
        weights = np.concatenate([np.full(size, weight) for size, weight in self.blocks])
        noise = np.zeros(exact_sums.shape, dtype=object)
        for weight in sorted({weight for _, weight in self.blocks}):
            here = weights == weight
            noise[here] = rounded_normal(self.deviation(weight), int(here.sum()), source(entropy))
        return exact_sums.plus(noise).released().astype(object)
