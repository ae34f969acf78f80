"""The stability of a question, and the sensitivities of its measures: how much one unit can move them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.answers.terms import Caps
from giveortake.compile.caps import unbounded
from giveortake.engines.questions import Bounding
from giveortake.exact import sqrt_up

if TYPE_CHECKING:
    from giveortake.plan import Question, Relation
    from giveortake.privacy.guarantee import Neighbours


@final
@dataclass(frozen=True, slots=True)
class Stability:
    """How many rows and groups of one unit reach the aggregates.

    At most `rows`, by the structure of the question and the caps on its tables; in at most `groups` groups, with at
    most `rows_in_group` in each. None means that nothing bounds the number: whatever needs the bound is refused.
    `is_cut` says that the engine has to enforce the last two, because nothing else does.
    """

    rows: int | None
    groups: int | None
    rows_in_group: int | None
    is_cut: bool
    neighbours: Neighbours
    grouped: bool
    keys: int | None

    @classmethod
    def of(cls, question: Question, caps: Caps, neighbours: Neighbours, keys: int | None) -> Stability:
        """The stability from the structure of the question and the caps on its tables; further caps only lower it."""
        relation = question.relation
        grouped = bool(question.keys)
        most = relation.most_rows
        possible = _least(most, None if keys is None else max(keys, 1)) if grouped else 1
        groups, rows = possible, most
        if relation.person is not None:
            groups = _least(possible, caps.groups_per_person) if grouped else 1
            rows = 1 if question.has_one_row_in_group else _least(most, caps.rows_per_group)
        is_cut = most is None or groups != possible or rows != most
        return cls(most, groups, rows, is_cut, neighbours, grouped, keys)

    @property
    def bounding(self) -> Bounding | None:
        """The bounds that an engine has to enforce; one row per group is enough if only persons are counted."""
        return Bounding(self.touched, self.rows_in_group or 1) if self.is_cut else None

    def binding_caps(self, caps: Caps, relation: Relation, *, rows_count: bool) -> Caps | None:
        """The caps that affect an answer; None if everything counts. `rows_count` is False if only persons count."""
        read = {each.table.name: each.most_rows_of_person for each in relation.scans()}
        rows = {name: most for name, most in read.items() if most is not None}
        total = rows if len(read) > 1 and rows else next(iter(rows.values()), None)
        groups = rows_in_group = None
        if self.is_cut and caps.rows_per_group and rows_count:
            groups, rows_in_group = self.groups if self.grouped else None, self.rows_in_group
        elif self.is_cut and self.grouped and (self.keys is None or self.touched < self.keys):
            groups = self.groups
        found = Caps(groups, rows_in_group, total)
        return found if found.stated else None

    @property
    def scales(self) -> bool:
        """Whether only a part of a contribution may count."""
        return self.is_cut

    @property
    def touched(self) -> int:
        """How many groups one unit can be in."""
        if self.groups is None:
            raise unbounded("groups")
        return self.groups

    @property
    def most_in_group(self) -> int:
        """How many rows of a unit can count in one group."""
        if self.rows_in_group is None:
            raise unbounded("rows")
        return self.rows_in_group

    def sensitivity(self, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of sums of values between `least` and `most` steps.

        Guarantee ([Fre18], global sensitivity of count and bounded sum; [Har25], histograms under both relations):
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
        if self.is_cut:
            if changed and alone:
                return Fraction(self.most_in_group * spread), Fraction(self.most_in_group * spread)
            twice = 2 if changed else 1
            l1, l2 = self._counted()
            return twice * l1 * reach, twice * l2 * reach
        assert self.rows is not None  # noqa: S101 (what is not cut is bounded)
        if not changed:
            return Fraction(self.rows * reach), Fraction(self.rows * reach)
        if self.rows > 1:
            return Fraction(2 * self.rows * reach), Fraction(2 * self.rows * reach)
        if alone:
            return Fraction(spread), Fraction(spread)
        return Fraction(2 * reach), max(reach * sqrt_up(Fraction(2)), Fraction(spread))

    def _counted(self) -> tuple[Fraction, Fraction]:
        """The L1 and L2 norm of the numbers of rows of a unit that count in each group, if the engine cuts the rest.

        Guarantee: with R rows in each of G groups and n = min(s, G·R) of the s that a unit has, n in L1 and the root of
        ⌊n/R⌋·R² + (n mod R)² in L2. Proof: a unit with c rows in each of m groups counts t = min(c, R) there, times
        min(1, G/m) (see `giveortake.engines.questions`), and the t add up to at most min(s, m·R). If m ≤ G, they add up
        to at most n, and squares of numbers up to R that add up to n are greatest when as many of them as possible are
        R. If m > G, each is multiplied by G/m: what was at most min(s, m·R) is at most n then; of the squares, if
        s ≤ G·R they were within the bound before, and else their sum is at most R·m·R·(G/m)² < G·R². ∎
        """
        groups, rows = self.touched, self.most_in_group
        most = groups * rows if self.rows is None else min(self.rows, groups * rows)
        full, rest = divmod(most, rows)
        l2 = rows * sqrt_up(Fraction(full)) if rest == 0 else sqrt_up(Fraction(full * rows**2 + rest**2))
        return Fraction(most), l2

    def of_persons(self, fineness: int) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of numbers of persons: a person counts one in each of their groups."""
        touched = self.touched if self.grouped else 1
        twice = 2 if self.neighbours == "change-one" and self.grouped else 1
        return Fraction(twice * touched * fineness), twice * fineness * sqrt_up(Fraction(touched))

    def of_distinct(self) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of numbers of distinct values: one for each value of a unit in a group."""
        twice = 2 if self.neighbours == "change-one" else 1
        if self.is_cut:
            l1, l2 = self._counted()
            return twice * l1, twice * l2
        assert self.rows is not None  # noqa: S101 (what is not cut is bounded)
        return Fraction(twice * self.rows), Fraction(twice * self.rows)


def _least(one: int | None, other: int | None) -> int | None:
    """The lesser of two bounds; None stands for no bound."""
    known = [each for each in (one, other) if each is not None]
    return min(known) if known else None
