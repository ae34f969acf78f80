"""Questions to an engine: integers, one for each key, to which each unit contributes a bounded amount.

How a person's contribution is bounded. Let a person have c rows in a group and rows in m groups, of which at most R
and G may count. Each of their contributions to a sum is multiplied by min(1, R/c) · min(1, G/m), or by slightly less
where that is computed in doubles, and cut to whole steps towards zero. A person who stays within both bounds is not
touched; one who does not counts as much as R average rows of theirs in each of G groups: what a random choice of rows
and groups would give on average, without its luck.

Guarantee: with |value of a row| ≤ X, one person moves the integers of all groups together by at most G·R·X in L1 and
√G·R·X in L2. Proof: in a group, |Σ of c rows| · R/c ≤ R·X if c > R, and ≤ c·X ≤ R·X otherwise. If m ≤ G, then at most
G groups move by R·X each. If m > G, then m groups move by at most R·X·G/m each: G·R·X together, and in L2 √m ·
R·X·G/m = R·X·G/√m < √G·R·X. Cutting towards zero only makes numbers smaller. Nobody else's rows take part. ∎
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from giveortake.mechanisms.bounded_integers import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    from giveortake.engines.vector_sums import VectorSum
    from giveortake.plan import Expression, Relation, Value

WIDEST = 1 << 62  # combinations of key columns that have positions in their product

SummandKind: TypeAlias = Literal["rows", "values", "persons", "sum"]


@final
@dataclass(frozen=True, slots=True)
class Quantum:
    """Numbers as whole steps of a public granularity: x becomes ⌊x/g + ½⌋ − shift, clamped to `low` … `high` before.

    `least` and `most` are what the bounds themselves become, by the same operations on doubles, in the same order, that
    the engine does on values. None of them decreases in x, so every value lies between `least` and `most`.
    """

    granularity: Fraction
    low: Fraction
    high: Fraction
    shift: int = 0
    is_whole: bool = False  # the values are whole numbers by their type, and no rounding is needed

    @property
    def least(self) -> int:
        """The least number of steps."""
        return self._steps(self.low) - self.shift

    @property
    def most(self) -> int:
        """The greatest number of steps."""
        return self._steps(self.high) - self.shift

    @property
    def reach(self) -> int:
        """The greatest distance from zero, in steps."""
        return max(abs(self.least), abs(self.most))

    def _steps(self, bound: Fraction) -> int:
        if self.is_whole:
            return bound.numerator // bound.denominator
        return math.floor(float(bound) * float(1 / self.granularity) + 0.5)


@final
@dataclass(frozen=True, slots=True)
class Summand:
    """One integer for each key: the number of rows, of values, of persons, or a sum of values in steps.

    `fineness` is how many steps a whole contribution is cut into, so that parts of it can be counted.
    """

    kind: SummandKind
    of: Expression | None = None
    quantum: Quantum | None = None
    fineness: int = 1

    @property
    def most(self) -> int:
        """What no sum exceeds, in steps: every row counts in full at most, and sums saturate at `MOST_ROWS` rows."""
        return MOST_ROWS * self.fineness * (1 if self.quantum is None else max(self.quantum.reach, 1))

    @property
    def reads_values(self) -> bool:
        """Whether rows contribute by what they hold, and not only by being there."""
        return self.of is not None

    @property
    def counts_persons(self) -> bool:
        """Whether a person counts once, however many rows they have."""
        return self.kind == "persons"


@final
@dataclass(frozen=True, slots=True)
class Bounding:
    """At most `groups` groups of a person count, and at most `rows` rows in each."""

    groups: int
    rows: int


@final
@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One column of the keys, and its values if they are known; None says that they are to be found in the data."""

    name: str
    expression: Expression
    values: tuple[Value, ...] | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Found keys that may be released: too many to be held, or to have positions in a product of columns.

    `lists` gives them anew at each call, in order, some at a time.
    """

    size: int
    lists: Callable[[], Iterator[list[tuple[Value, ...]]]]


@final
@dataclass(frozen=True, slots=True)
class Keys:
    """The groups: every combination of the columns' values, or only those `wanted`, as positions in that product.

    Or those that were `found`, as a list.
    """

    columns: tuple[KeyColumn, ...] = ()
    wanted: tuple[int, ...] | None = None
    found: Found | None = None

    @property
    def product(self) -> int:
        """How many combinations there are."""
        return math.prod(len(column.values or ()) for column in self.columns)

    @property
    def size(self) -> int:
        """How many groups are answered."""
        if self.found is not None:
            return self.found.size
        return self.product if self.wanted is None else len(self.wanted)

    def rows(self) -> list[tuple[Value, ...]]:
        """Every key, in the order of the answer."""
        if self.found is not None:
            return [row for rows in self.found.lists() for row in rows]
        values = [column.values or () for column in self.columns]
        if self.wanted is None:
            return list(itertools.product(*values))
        listed = []
        for code in self.wanted:
            row: list[Value] = []
            rest = code
            for each in reversed(values):
                rest, place = divmod(rest, len(each))
                row.append(each[place])
            listed.append(tuple(reversed(row)))
        return listed


@final
@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over groups. Without `bounding` every row counts in full, because a unit is known to have few."""

    relation: Relation
    keys: Keys
    summands: tuple[Summand, ...]
    bounding: Bounding | None = None


@final
@dataclass(frozen=True, slots=True)
class Bins:
    """How many values of each group fall into each of `count` bins, which split low … high evenly."""

    relation: Relation
    keys: Keys
    of: Expression
    low: Fraction
    width: Fraction
    count: int
    bounding: Bounding | None = None
    fineness: int = 1

    @property
    def most(self) -> int:
        """What no number exceeds, in parts of a value."""
        return MOST_ROWS * self.fineness


@final
@dataclass(frozen=True, slots=True)
class Distinct:
    """How many distinct values each group has, of at most `rows` values in each of at most `groups` groups of a person.

    Which of a person's groups and values count is decided by a hash of the person and of them.
    """

    relation: Relation
    keys: Keys
    of: Expression
    bounding: Bounding | None = None

    @property
    def most(self) -> int:
        """What no number exceeds."""
        return MOST_ROWS


@final
@dataclass(frozen=True, slots=True)
class Persons:
    """For every key that occurs, how many units have it; at most `groups` keys of each unit count.

    With `weights` it is a sum of weights instead: a person of m keys gives weights[m − 1] to each of them, and one of
    more than `groups` the last weight to so many. Which of a person's keys count is decided by a hash of the person and
    the key: by nobody else's rows. Only the keys of persons with more than `groups` are put in order.
    """

    relation: Relation
    keys: Keys
    groups: int
    weights: tuple[int, ...] | None = None

    @property
    def most(self) -> int:
        """What no sum of weights exceeds."""
        return MOST_ROWS * max(self.weights or (1,))


Asked: TypeAlias = "Tally | Bins | Distinct | Persons | VectorSum"
