"""Mechanisms that add independent integer noise to an integer or to every integer of an array."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from giveortake.exact import open_probability
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.bounded_integers import BoundedIntegers
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.exact import Number
    from giveortake.mechanisms.shaped_numbers import Numeric
    from giveortake.mechanisms.tails import Tail
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy, IntArray


class AdditiveNoise(Mechanism["Numeric", "Numeric"]):
    """value + noise on the integers, the noise independent of the value and of every other coordinate."""

    __slots__ = ()

    @abstractmethod
    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone."""

    @abstractmethod
    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m for which |noise| ≤ m holds with at least that probability, for one coordinate."""

    def release(self, value: Numeric | Sensitive[Numeric], entropy: Entropy | None = None) -> Any:
        """The integers plus noise: an int for an int, an array for an array or a column."""
        exactly = opened(value, self)
        if isinstance(exactly, BoundedIntegers):
            return exactly.plus(self.noise(exactly.size, source(entropy)).reshape(exactly.shape)).released()
        given = shaped_numbers.whole_numbers("value", exactly)
        return given.shaped(shaped_numbers.added(given.flat, self.noise(given.flat.size, source(entropy))))

    def stream(self, chunks: Iterable[Numeric], entropy: Entropy | None = None) -> Iterator[Any]:
        """Release one chunk after another, so that the whole never has to fit into memory."""
        for chunk in chunks:
            yield self.release(chunk, entropy)


class RoundedNoise(AdditiveNoise):
    """Noise of a continuous law, rounded to whole steps, and what quotes and margins say about it.

    On integers, value + round(Z) is round(value + Z): post-processing of the continuous mechanism.
    """

    __slots__ = ()

    label: ClassVar[str]  # the law's name in texts

    @property
    @abstractmethod
    def scale_in_steps(self) -> Fraction:
        """The scale of the law; the standard deviation of a normal one."""

    @property
    @abstractmethod
    def tail(self) -> Tail:
        """The tail of the continuous law, in steps."""

    @abstractmethod
    def event_within(self, l1: Fraction, l2: Fraction) -> Event:
        """The event of a release, when one unit moves the integers by at most `l1` in L1 and `l2` in L2."""

    def told(self, step: Fraction) -> str:
        """The noise in words; `step` is what one step is worth.

        >>> gt.mechanisms.Laplace(10).told(Fraction(1, 2))
        'Laplace noise of scale 5'
        """
        return f"{self.label} noise of scale {float(self.scale_in_steps * step):.6g}"


def miss_probability(confidence: Number) -> Fraction:
    """One minus the confidence, which must lie strictly between 0 and 1."""
    return 1 - open_probability("confidence", confidence)
