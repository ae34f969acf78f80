"""Which of several tables of counts a model fits worst, selected by the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.exponential import Exponential
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.privacy import events
    from giveortake.privacy.units import Neighbours
    from giveortake.randomness import Entropy

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[Any]

FINENESS = 64  # steps of one row, in which a model's counts are stated
_MOST = 1 << 40  # rows of a model, a weight, or a handicap in rows


@final
@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """What a model expects of one table, in steps; how much a misfit weighs; and from which misfit on it counts.

    All of this is public. Only whole numbers are compared with exact counts, so that the sensitivity is exact too.
    """

    expected: npt.NDArray[np.int64]
    weight: int = 1
    handicap: int = 0

    @classmethod
    def of(cls, counts: npt.NDArray[np.float64], *, weight: int = 1, handicap: float = 0.0) -> Candidate:
        """A model's counts and a handicap in rows, put on the lattice first."""
        if not (np.isfinite(counts).all() and np.abs(counts).max(initial=0) < _MOST and abs(handicap) < _MOST):
            raise InvalidParameter("counts", "of a model", "are not numbers of rows")
        if not 1 <= weight <= _MOST:
            raise InvalidParameter("weight", weight, "is not a whole number above zero")
        return cls(np.rint(counts * FINENESS).astype(np.int64), weight, round(handicap * FINENESS))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Misfits(Mechanism["Sequence[Integers | Sensitive[Integers]]", int]):
    """Select table i with probability proportional to exp(weightᵢ·(Σ|F·xᵢ − expectedᵢ| − handicapᵢ) / scale).

    Guarantee: a selection is that of the exponential mechanism [MT07] for scores of sensitivity d: weights are at most
    w, and a row changes one cell of every table by 1, so all scores move by at most w·F where a row is added or
    removed, 2·w·F where it is changed, m times that for m rows. It is (2d/scale)-DP, and ε²/8-zCDP [CR21]. Scores are
    computed on whole numbers: nothing is rounded that depends on a row.
    """

    candidates: tuple[Candidate, ...]
    epsilon: Fraction
    rows: int
    neighbours: Neighbours

    citation: ClassVar[str] = "McSherry, Talwar: Mechanism design via differential privacy, FOCS 2007"

    def __init__(
        self, candidates: tuple[Candidate, ...], epsilon: Number, rows: int = 1, neighbours: Neighbours = "add-remove"
    ) -> None:
        if not candidates:
            raise InvalidParameter("candidates", "[]", "is empty", hint="offer at least one table to choose")
        object.__setattr__(self, "candidates", tuple(candidates))
        object.__setattr__(self, "epsilon", exact.spendable("epsilon", epsilon))
        object.__setattr__(self, "rows", exact.whole("rows", rows))
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def sensitivity(self) -> int:
        """How far one unit moves any score."""
        twice = 2 if self.neighbours == "change-one" else 1
        return twice * self.rows * FINENESS * max(each.weight for each in self.candidates)

    @property
    def selection(self) -> Exponential:
        """The mechanism that selects by the scores."""
        return Exponential(2 * self.sensitivity / self.epsilon)

    def event(self, sensitivity: Number = 1) -> events.Exponential:
        """The event of a selection; `sensitivity` is a number of units: one."""
        return self.selection.event(self.sensitivity * exact.at_least("sensitivity", sensitivity))

    def release(
        self,
        value: Sequence[Integers | Sensitive[Integers]] | Sensitive[Sequence[Integers | Sensitive[Integers]]],
        entropy: Entropy | None = None,
    ) -> int:
        """The place of the selected table."""
        tables: list[Any] = [opened(each, self) for each in opened(value, self)]
        return self.selection.release(np.array(self.scores(tables), dtype=object), entropy)

    def scores(self, tables: Sequence[Integers]) -> list[int]:
        """The exact scores: functions of the data, never to be released."""
        if len(tables) != len(self.candidates):
            raise InvalidParameter("tables", len(tables), "are not as many as candidates")
        return [
            each.weight * (_distance(shaped_numbers.bounded("value", table), each.expected) - each.handicap)
            for table, each in zip(tables, self.candidates, strict=True)
        ]


def _distance(counts: BoundedIntegers, expected: npt.NDArray[np.int64]) -> int:
    return counts.mapped(np.ravel, 1).times(FINENESS).distance(expected.ravel())
