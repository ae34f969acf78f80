"""Counts of chosen cells of a table: with noise, or compared with what somebody expects of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.above_threshold import AboveThreshold
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.mechanisms.gaussian import Gaussian
    from giveortake.privacy import events
    from giveortake.randomness import Entropy

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[Any]
    Chosen: TypeAlias = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyCount(Mechanism["Integers", int]):
    """How many rows are in the chosen cells, with normal noise.

    Guarantee: a row is in one cell, so that it moves the count by at most 1, added, removed or changed; with that
    sensitivity the release is that of `Gaussian`.
    """

    chosen: Chosen
    noise: Gaussian

    citation: ClassVar[str] = "Hardt, Rothblum: A multiplicative weights mechanism, FOCS 2010"

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release; `sensitivity` is the number of rows of a unit."""
        return self.noise.event(sensitivity)

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> int:
        """The noisy count."""
        count = _count(shaped_numbers.bounded("value", opened(value, self)), self.chosen)
        return int(np.asarray(self.noise.release(count, entropy))[0])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Surprise(Mechanism["Integers", bool]):
    """Whether the number of rows in the chosen cells is far from what was expected, by the sparse vector technique.

    Guarantee: |count − expected|, of a whole number that was expected, is moved by a row by at most 1; `guard`, which
    was made for that sensitivity and charged when it was made, says whether it reaches its threshold.
    """

    chosen: Chosen
    expected: int
    guard: AboveThreshold

    citation: ClassVar[str] = "Hardt, Rothblum: A multiplicative weights mechanism, FOCS 2010"

    def event(self, sensitivity: Number = 1) -> events.AboveThreshold:
        """What the guard was charged for all its answers together."""
        return self.guard.event()

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> bool:
        """Whether the guard finds the count that far from the expected one."""
        (count,) = _count(shaped_numbers.bounded("value", opened(value, self)), self.chosen).tolist()
        return self.guard.release(abs(count - self.expected), entropy)


def _count(counts: BoundedIntegers, chosen: Chosen) -> BoundedIntegers:
    return counts.mapped(lambda limb: limb.ravel()[chosen.ravel()].sum(keepdims=True), int(chosen.sum()))
