"""How often intervals hold: each for itself, or all of an answer at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias, cast, final, get_args

from giveortake.advice import Advice
from giveortake.errors import InvalidParameter
from giveortake.exact import Number, open_probability, rational, shown

Over: TypeAlias = Literal["cell", "answer"]


@final
class Confidence(Fraction):
    """A probability with which every interval holds (`over="cell"`), or all of one answer together (`over="answer"`).

    It is the number itself, so that code that needs only the number can use it as one.

    >>> Confidence("0.95") == Fraction(19, 20), Confidence("0.95", "answer").miss(10) == 0.005
    (True, True)
    """

    __slots__ = ("cells", "over")

    over: Over
    cells: int | None  # of the whole answer, where only a part of it is looked at

    def __new__(cls, level: Number, over: str | None = None, cells: int | None = None) -> Confidence:
        """Take the level as stated; unless `over` is stated, it is that of the level if this is a Confidence."""
        known = over if over is not None else getattr(level, "over", "cell")
        if known not in get_args(Over):
            raise InvalidParameter(
                "confidence_over", known, 'is neither "cell" nor "answer"', hint='confidence_over="cell" or "answer"'
            )
        made = super().__new__(cls, _level(level))
        made.over, made.cells = cast("Over", known), cells
        return made

    def miss(self, cells: int) -> float:
        """The probability with which one of `cells` intervals may miss.

        Guarantee: if `over` is the answer, each of its c intervals misses with probability at most (1 − level) / c, so
        that any of them misses with probability at most 1 − level, by the union bound.
        """
        count = max(1, cells if self.cells is None else self.cells)
        return float((1 - self) / (count if self.over == "answer" else 1))

    def __reduce__(self) -> tuple[type[Confidence], tuple[str, Over, int | None]]:
        return type(self), (str(self), self.over, self.cells)

    def __copy__(self) -> Confidence:
        return self

    def __deepcopy__(self, _memo: object) -> Confidence:
        return self


def _level(said: Number) -> Fraction:
    """Check the probability; a refusal of 95 suggests 0.95."""
    level = rational("confidence", said)
    if not 0 < level < 1:
        meant = shown(level / 100, 12) if 50 <= level < 100 else "0.95"
        hint = Advice("{confidence}", confidence=meant)
        raise InvalidParameter("confidence", said, "is not strictly between 0 and 1", hint=hint)
    return open_probability("confidence", said)
