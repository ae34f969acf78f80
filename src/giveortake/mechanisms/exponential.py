"""The exponential mechanism [MT07], [Fre18, definition 9]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.exact import at_least, positive
from giveortake.mechanisms.selection import NoisySelection
from giveortake.privacy import events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from giveortake.exact import Number
    from giveortake.randomness.selection import Noise


@final
@dataclass(frozen=True, slots=True)
class Exponential(NoisySelection):
    """Select candidate i with probability proportional to exp(utilityᵢ / scale).

    Guarantee [MT07]: for utilities of sensitivity d, a selection is (2d / scale)-DP, and of bounded range [DR19].
    It is drawn as the greatest utility / scale + Gumbel noise. Rounding of numbers: none; the sampler is exact.
    """

    scale: Fraction

    noise: ClassVar[Noise] = "gumbel"
    citation: ClassVar[str] = "McSherry, Talwar: Mechanism design via differential privacy, FOCS 2007"

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    def event(self, sensitivity: Number = 1) -> events.Exponential:
        """The event of a selection by utilities of that sensitivity."""
        return events.Exponential(2 * at_least("sensitivity", sensitivity) / self.scale)

    def probabilities(self, utilities: Sequence[Number]) -> list[float]:
        """The probability of each candidate, correctly rounded to a double: for teaching and for tests.

        These are functions of the data: they must not be released.

        >>> twice_two = Exponential(2 / exact.log_down(exact.rational("two", 2)))  # [Fre18, example 10]: ε = ln 2
        >>> [round(21 * p, 9) for p in twice_two.probabilities([0, 4, 6, 6])]
        [1.0, 4.0, 8.0, 8.0]
        """
        numbers = [exact.rational("utilities", utility) for utility in utilities]
        if not numbers:
            raise InvalidParameter("candidates", "[]", "is empty", hint="offer at least one candidate to choose from")
        with exact.precision():
            weights = [exact.enclosure((number - max(numbers)) / self.scale).exp() for number in numbers]
            total = sum(weights[1:], weights[0])
            return [float(exact.probability_up(weight / total)) for weight in weights]
