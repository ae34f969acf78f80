"""Coins with rational probabilities that never spend more than ε."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import floor

from giveortake.errors import InvalidParameter
from giveortake.exact import Number, exp_down, positive

MOST_EPSILON = 32  # from here on a report is the truth, give or take one in 10^13
LEAST_EPSILON = Fraction(1, 10**6)  # a survey of everybody on earth learns nothing from less
_BITS = 32


def survey_epsilon(epsilon: Number) -> Fraction:
    """Check the ε of a survey; one that protects nobody, or from which nobody learns, is refused."""
    asked = positive("epsilon", epsilon)
    if asked > MOST_EPSILON:
        raise InvalidParameter(
            "epsilon", epsilon, f"is above {MOST_EPSILON} and protects nobody", hint="between 0.5 and 4 is usual"
        )
    if asked < LEAST_EPSILON:
        raise InvalidParameter("epsilon", epsilon, "is below 1e-6, and nothing could be learned from any survey")
    return asked


@lru_cache(maxsize=256)
def ratio_below(epsilon: Fraction) -> Fraction:
    """The ratio of two probabilities that a coin is given: a fraction at most e^ε, and less by at most ε·2^-32.

    Rounding is downwards, so that the promise is kept with something to spare, and every probability of a report is
    rational: whoever doubts the promise can add them up.

    >>> ratio_below(Fraction(1))
    Fraction(23349863109, 8589934592)
    """
    bits = _BITS + max(0, (1 / epsilon).numerator.bit_length() - (1 / epsilon).denominator.bit_length() + 1)
    return Fraction(floor(exp_down(epsilon) * 2**bits), 2**bits)
