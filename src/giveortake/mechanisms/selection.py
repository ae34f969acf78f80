"""The base of the three mechanisms that select one of several candidates."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from giveortake.errors import InvalidParameter
from giveortake.exact import GREATEST, log_up, whole
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.additive import miss_probability
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.mechanisms.scales import scale_for
from giveortake.randomness import noisy_argmax

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.shaped_numbers import Numeric
    from giveortake.randomness import Entropy
    from giveortake.randomness.selection import Noise, Scores


class NoisySelection(Mechanism["Numeric", int]):
    """Select the index of the greatest utility / scale + noise."""

    __slots__ = ()

    noise: ClassVar[Noise]

    @classmethod
    def calibrated(cls, *, epsilon: Number, sensitivity: Number = 1) -> Self:
        """The selection by utilities of that sensitivity that is ε-DP."""
        return cls(scale_for(sensitivity, epsilon, factor=2))

    @abstractmethod
    def __init__(self, scale: Number) -> None: ...

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """How much utility one unit of noise is worth."""

    def release(self, value: Numeric | Sensitive[Numeric], entropy: Entropy | None = None) -> int:
        """The index of the candidate selected; `value` holds the utilities, one for each candidate.

        Utilities beyond ±1e300 count as ±1e300.
        """
        utilities = shaped_numbers.read("utilities", opened(value, self)).flat
        if utilities.size == 0:
            raise InvalidParameter("candidates", "[]", "is empty", hint="offer at least one candidate to choose from")
        return noisy_argmax(_scores(utilities), self.scale, self.noise, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100), *, candidates: int) -> Fraction:
        """How far below the best utility the selected one lies at most, with at least that probability."""
        miss = miss_probability(confidence)
        return self.scale * log_up(whole("candidates", candidates) / miss)


def _scores(utilities: npt.NDArray[Any]) -> Scores:
    if utilities.dtype != object:
        return utilities
    # Clamping moves no two utilities further apart, so it keeps the sensitivity; an error would depend on data.
    return [max(-GREATEST, min(GREATEST, Fraction(number))) for number in utilities.tolist()]
