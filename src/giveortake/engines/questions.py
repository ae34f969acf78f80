"""Questions to an engine: bounded integers for each group, and sums of bounded vectors.

- `Tally`, `Bins`, `Distinct` and `Persons`: integers, one for each key; each unit contributes a bounded amount to them.
- `VectorSum`: sums over units of integer vectors whose length is bounded, which is what every learner asks for.

How a person's contribution to an integer is bounded. Let a person have c rows in a group and rows in m groups, of which
at most R and G may count. Each of their contributions to a sum is multiplied by min(1, R/c) · min(1, G/m), or by
slightly less where that is computed in doubles, and cut to whole steps towards zero. A person who stays within both
bounds is not touched; one who does not counts as much as R average rows of theirs in each of G groups: what a random
choice of rows and groups would give on average, without its luck.

Guarantee: with |value of a row| ≤ X, one person moves the integers of all groups together by at most G·R·X in L1 and
√G·R·X in L2. Proof: in a group, |Σ of c rows| · R/c ≤ R·X if c > R, and ≤ c·X ≤ R·X otherwise. If m ≤ G, then at most
G groups move by R·X each. If m > G, then m groups move by at most R·X·G/m each: G·R·X together, and in L2 √m ·
R·X·G/m = R·X·G/√m < √G·R·X. Cutting towards zero only makes numbers smaller. Nobody else's rows take part. ∎

How the length of a unit's vector is bounded. A row has whole numbers q₀, q₁, …, its values in steps. Each component of
a vector is a product of some of them, in one cell, or in the cell that the row's keys name. A unit's vector v is the
sum over its rows. Its length is ‖v‖² = Σ w·v² over all cells of all components together, with the public weight w of
each component.

A unit with ‖v‖ ≤ C, the `bound`, is not touched. Any other is multiplied by a number just below C/‖v‖, cut towards zero
to whole steps, and left out altogether if Σ w·v² ≤ C² does not hold for the integers that result.

Guarantee: each unit's vector has length at most C, on the integers that are summed, whatever the engine's arithmetic
with doubles does, and it is a function of this unit's rows alone. So a unit that is added or removed moves the sum by
at most C, and one that is changed by at most 2·C. Proof: the last step checks exactly that, on integers of 64 bits,
which hold the sum because C ≤ 2³⁰. All sums over rows and over cells that come in no fixed order are sums of integers,
which no order changes, also where doubles hold them: these are exact below 2⁵³, and no more rows are added so than stay
there. What else is computed in doubles are expressions of these. ∎ Without the check doubles do not keep C:
at C = 2⁵² one draw in ten was longer.

Where each row is a unit, and the components are all products of two values with weight 1 on the diagonal and 2 beside
it (a Gram matrix), the row's values are made shorter instead of the products: ‖qqᵀ‖ = Σ q², which is checked to be at
most C. What is summed is a product of integers then.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from giveortake.codec import stored
from giveortake.errors import QueryRefused
from giveortake.mechanisms.mechanism import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.plan import Expression, Relation, Value


WIDEST = 1 << 62  # combinations of key columns that have positions in their product

SummandKind: TypeAlias = Literal["rows", "values", "persons", "sum"]


@final
@stored("quantum")
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
    expression: Expression | None = None
    quantum: Quantum | None = None
    fineness: int = 1

    @property
    def most(self) -> int:
        """What no sum exceeds, in steps: every row counts in full at most, and sums saturate at `MOST_ROWS` rows."""
        return MOST_ROWS * self.fineness * (1 if self.quantum is None else max(self.quantum.reach, 1))

    @property
    def reads_values(self) -> bool:
        """Whether rows contribute by what they hold, and not only by being there."""
        return self.expression is not None

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

    Or those that were `discovered`, as a list.
    """

    columns: tuple[KeyColumn, ...] = ()
    wanted: tuple[int, ...] | None = None
    discovered: Found | None = None

    @property
    def product(self) -> int:
        """How many combinations there are."""
        return math.prod(len(column.values or ()) for column in self.columns)

    @property
    def size(self) -> int:
        """How many groups are answered."""
        if self.discovered is not None:
            return self.discovered.size
        return self.product if self.wanted is None else len(self.wanted)

    def rows(self) -> list[tuple[Value, ...]]:
        """Every key, in the order of the answer."""
        if self.discovered is not None:
            return [row for rows in self.discovered.lists() for row in rows]
        values = [column.values or () for column in self.columns]
        if self.wanted is None:
            return list(itertools.product(*values))
        keys = []
        for code in self.wanted:
            row: list[Value] = []
            remaining = code
            for column_values in reversed(values):
                remaining, index = divmod(remaining, len(column_values))
                row.append(column_values[index])
            keys.append(tuple(reversed(row)))
        return keys


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
    expression: Expression
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
    expression: Expression
    bounding: Bounding | None = None

    @property
    def most(self) -> int:
        """What no number exceeds."""
        return MOST_ROWS


@final
@dataclass(frozen=True, slots=True)
class Persons:
    """For every key that occurs, how many units have it; at most `groups` keys of each unit count.

    With `rows` it is the number of rows, at most so many of each unit in a key. With `weights` it is a sum of weights
    instead: a person of m keys gives weights[m − 1] to each of them, and one of more than `groups` the last weight to
    so many. Which of a person's keys count is decided by a hash of the person and the key: by nobody else's rows. Only
    the keys of persons with more than `groups` are put in order.
    """

    relation: Relation
    keys: Keys
    groups: int
    weights: tuple[int, ...] | None = None
    rows: int = 1

    @property
    def most(self) -> int:
        """What no sum of weights exceeds."""
        return MOST_ROWS * max(self.weights or (1,))

    @property
    def counts_all_rows(self) -> bool:
        """Whether no row has to be left out, because no unit has more rows than may count in one key and in all."""
        most = 1 if self.relation.person is None else self.relation.most_rows
        return self.weights is None and most is not None and most <= min(self.groups, self.rows)


Asked: TypeAlias = "Tally | Bins | Distinct | Persons | VectorSum"


MOST_CELLS = 1 << 20
LONGEST = 1 << 30  # the greatest bound: its square has 60 bits
MOST_OF_CELL = 1 << 45  # what a cell that was found by its key is moved to before squares are taken, in 128 bits
SAMPLED_OF = 1 << 60  # hashes that a person can have
MOST_OF_ROW = (1 << 31) - 1  # steps of one row in one cell


@final
@dataclass(frozen=True, slots=True)
class Component:
    """Of each row the product of the values at `factors`, or 1 if there are none, in the cell that `keys` name.

    Both are places in the question's lists. A row in which one of the values is missing, or a key is none of the known
    values, adds nothing here.
    """

    factors: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    weight: int = 1


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """The persons whose salted names have a hash below `below`, out of 2⁶⁰; with `others`, all other persons.

    Guarantee: with a fresh secret salt of 128 random bits each person is in it on their own, with probability
    `below`/2⁶⁰: as far as the hash, MD5 under a secret prefix, cannot be told from random bits. With a public one it
    is a fixed split. Where rows are units, a row is called by the integers that count of it and by its number among the
    rows with the same integers. A row more is one name more, and changes no other; which of several rows that are
    alike has which name changes no sum. So rows are sampled on their own, too.
    """

    salt: str = field(repr=False)
    below: int
    others: bool = False


@final
@dataclass(frozen=True)
class VectorSum:
    """The sum over units of vectors of length at most `bound`, in steps: one integer for each cell, in order.

    With a `sample` only some units count.
    """

    relation: Relation
    values: tuple[Summand, ...]
    columns: tuple[KeyColumn, ...]
    components: tuple[Component, ...]
    bound: int
    sample: Sample | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.bound <= LONGEST:
            raise QueryRefused(f"a vector may have at most {LONGEST:,} steps, and at least one")
        if self.sample is not None and self.relation.person is None and self.relation.most_rows != 1:
            raise QueryRefused("rows that a union repeats are not sampled", hint="take the table itself")
        if self.size > MOST_CELLS:
            raise QueryRefused(f"a vector of {self.size:,} cells is too long", hint=f"at most {MOST_CELLS:,} cells")
        for component in self.components:
            if component.weight < 1 or self.reach(component) >= MOST_OF_ROW:
                raise QueryRefused("a row could add too many steps to one cell", hint="declare narrower bounds")

    @property
    def keys(self) -> Keys:
        """All columns of keys."""
        return Keys(self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each component has."""
        lengths = [len(column.values or ()) for column in self.columns]
        return tuple(
            math.prod(lengths[column_index] for column_index in component.keys) for component in self.components
        )

    @property
    def size(self) -> int:
        """How many cells there are in all."""
        return sum(self.sizes)

    def offsets(self) -> list[int]:
        """Where the cells of each component begin."""
        return list(itertools.accumulate(self.sizes, initial=0))[:-1]

    def reach(self, component: Component) -> int:
        """How far from zero one row can move a cell of a component, at most."""
        return math.prod(self._reaches[value_index] for value_index in component.factors)

    @cached_property
    def _reaches(self) -> tuple[int, ...]:
        """How far from zero each value can be."""
        quanta = [summand.quantum for summand in self.values]
        assert None not in quanta  # noqa: S101 (values have one)
        return tuple(quantum.reach for quantum in quanta if quantum is not None)

    @property
    def is_dense(self) -> bool:
        """Whether no component has keys."""
        return not any(component.keys for component in self.components)

    @property
    def is_gram(self) -> bool:
        """Whether the components are all products of two values, with weight 2 off the diagonal."""
        count = len(self.values)
        pairs = [((one, other), 1 if one == other else 2) for one in range(count) for other in range(one, count)]
        return self.is_dense and [(component.factors, component.weight) for component in self.components] == pairs

    @property
    def longest_row(self) -> int:
        """The greatest squared length of a row's vector, before anything is cut."""
        return sum(component.weight * self.reach(component) ** 2 for component in self.components)

    @property
    def most(self) -> int:
        """What no cell of the sum exceeds, in steps: no unit moves one by more than the bound."""
        return MOST_ROWS * self.bound

    @property
    def by_row(self) -> bool:
        """Whether each row is cut by itself: rows are the units, or no unit has more than one."""
        return self.relation.person is None or self.relation.most_rows == 1

    @property
    def keeps_order(self) -> bool:
        """Whether no inner product of two units' vectors is negative, before they are cut."""
        grams = self.is_gram
        counts = all(
            (quantum := self.values[value_index].quantum) is not None and quantum.least >= 0
            for component in self.components
            for value_index in component.factors
        )
        return grams or counts

    def moved_squared(self, *, changed: bool) -> int:
        """The square of how far one unit moves the sum in the weighted length, rounded up to a whole number.

        A unit that is added or removed: C². One that is changed: (2C)²; where inner products of uncut vectors are not
        negative, less. Let a unit's integers be w = f·v − r, 0 ≤ f ≤ 1, with |r| < 2 in each cell: less than 1 by
        cutting, and less than 1 by doubles, because f·v is at most 2³⁰. Then for two units
        ⟨w, w′⟩ ≥ −‖r‖·‖w′‖ − ‖w‖·‖r′‖ − ‖r‖·‖r′‖ ≥ −(2·C·R + R²) with R² = 4·Σ weights of all cells, and
        ‖w − w′‖² ≤ 2·C² + 4·C·R + 2·R². ∎ Rows that are units of a Gram matrix are cut as integers: 2·C².
        Where rows are units and a join repeats a row up to m times, all of that m² times.
        """
        rows = (self.relation.most_rows or 1) if self.relation.person is None else 1
        square = self.bound**2
        if not changed:
            return square * rows**2
        if not self.keeps_order:
            return 4 * square * rows**2
        slack = 4 * sum(component.weight * size for component, size in zip(self.components, self.sizes, strict=True))
        if self.by_row and (self.is_gram or self.is_uncut):
            slack = 0
        length = math.isqrt(slack - 1) + 1 if slack else 0
        return min((2 * square + 4 * self.bound * length + 2 * slack) * rows**2, 4 * square * rows**2)

    @property
    def is_uncut(self) -> bool:
        """Whether no row can be too long, so that rows are summed as they are."""
        return self.by_row and self.longest_row <= self.bound**2
