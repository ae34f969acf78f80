"""How much one unit can move what is measured: the stability of a question, turned into sensitivities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.engines.questions import Bounding
from giveortake.exact import sqrt_up

if TYPE_CHECKING:
    from giveortake.compile.caps import Caps
    from giveortake.plan import Question
    from giveortake.privacy.units import Neighbours


@final
@dataclass(frozen=True, slots=True)
class Stability:
    """How a unit's rows reach the aggregates: `rows` of them at most, or bounded by `bounding`."""

    rows: int | None
    bounding: Bounding | None
    neighbours: Neighbours
    grouped: bool
    keys: int | None

    @classmethod
    def of(cls, question: Question, caps: Caps, neighbours: Neighbours, keys: int | None) -> Stability:
        """Derived from the structure of the question; where that bounds nothing, the caps do."""
        relation = question.relation
        grouped = bool(question.keys)
        bounding = None
        if relation.most_rows is None:
            groups = 1 if not grouped else caps.groups if keys is None else max(1, min(caps.groups, keys))
            bounding = Bounding(groups, caps.rows)
        return cls(relation.most_rows, bounding, neighbours, grouped, keys)

    @property
    def scales(self) -> bool:
        """Whether a contribution may have to be cut to a part of itself."""
        return self.bounding is not None

    @property
    def touched(self) -> int:
        """How many keys one unit can have."""
        if self.bounding is not None:
            return self.bounding.groups
        assert self.rows is not None  # noqa: S101 (one of the two bounds rows)
        return self.rows if self.keys is None else max(1, min(self.rows, self.keys))

    def sensitivity(self, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
        """L1 and L2 of sums of values between `least` and `most` steps.

        Guarantee (seed 003, global sensitivity of count and bounded sum; seed 001, histograms under both relations):
        with X = max(|least|, |most|), a unit of at most s rows moves sums by at most s·X when it is added or removed;
        for bounded persons see `giveortake.engines.questions`. When a unit is changed, it is removed and another added:
        twice that. One row that is changed moves X in two groups, so 2X in L1 and √2·X in L2, or stays in its group
        and moves most − least there; that alone if there is but one group. Any row may be left out or have no value,
        whatever the schema says (a missing value is found where none was declared, 1/x is missing where x is zero
        against its bounds), so that zero is always among the values.
        """
        reach = max(abs(least), abs(most))
        spread = max(most, 0) - min(least, 0)
        changed = self.neighbours == "change-one"
        alone = not self.grouped and not binned
        if self.bounding is not None:
            groups, rows = self.bounding.groups, self.bounding.rows
            if changed and alone:
                return Fraction(rows * spread), Fraction(rows * spread)
            twice = 2 if changed else 1
            return Fraction(twice * groups * rows * reach), twice * rows * reach * sqrt_up(Fraction(groups))
        assert self.rows is not None  # noqa: S101 (one of the two bounds rows)
        if not changed:
            return Fraction(self.rows * reach), Fraction(self.rows * reach)
        if self.rows > 1:
            return Fraction(2 * self.rows * reach), Fraction(2 * self.rows * reach)
        if alone:
            return Fraction(spread), Fraction(spread)
        return Fraction(2 * reach), max(reach * sqrt_up(Fraction(2)), Fraction(spread))

    def of_persons(self, fineness: int) -> tuple[Fraction, Fraction]:
        """L1 and L2 of numbers of persons: one for each group that they touch."""
        touched = self.touched if self.grouped else 1
        twice = 2 if self.neighbours == "change-one" and self.grouped else 1
        return Fraction(twice * touched * fineness), twice * fineness * sqrt_up(Fraction(touched))

    def of_distinct(self) -> tuple[Fraction, Fraction]:
        """L1 and L2 of numbers of distinct values: one for each value that a unit has in a group."""
        twice = 2 if self.neighbours == "change-one" else 1
        if self.bounding is not None:
            groups, rows = self.bounding.groups, self.bounding.rows
            return Fraction(twice * groups * rows), twice * rows * sqrt_up(Fraction(groups))
        assert self.rows is not None  # noqa: S101 (one of the two bounds rows)
        return Fraction(twice * self.rows), Fraction(twice * self.rows)
