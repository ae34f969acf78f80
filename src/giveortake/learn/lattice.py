"""Numbers of a row as whole steps, and the vectors that learners add up."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.engines import Component, Quantum, Summand, VectorSum
from giveortake.engines.questions import LONGEST
from giveortake.errors import QueryRefused
from giveortake.plan import Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.engines import KeyColumn
    from giveortake.plan import Expression, Relation

STEPS = 1 << 10  # of 1
GRAIN = 1 << 20  # parts of 1 to which released numbers are rounded before the next pass is made of them
_FEWEST_STEPS = 1 << 6  # of 1, where vectors are long


def value(
    expression: Expression, low: float | Fraction = -1, high: float | Fraction = 1, steps: int = STEPS
) -> Summand:
    """A number between two bounds, in `steps` steps for 1. Numbers outside are moved to the bounds."""
    return Summand("sum", expression, Quantum(Fraction(1, steps), Fraction(low), Fraction(high)))


def one(weight: float = 1, steps: int = STEPS) -> Summand:
    """The same number for each row, to count rows or for an intercept."""
    return value(Literal(Fraction(weight)), 0, weight, steps)


def gram(count: int) -> tuple[Component, ...]:
    """All products of two of `count` values, on and above the diagonal."""
    pairs = [(first, second) for first in range(count) for second in range(first, count)]
    return tuple(Component(pair, weight=1 if pair[0] == pair[1] else 2) for pair in pairs)


def vector_sum(
    relation: Relation,
    values: Sequence[Summand],
    components: Sequence[Component],
    rows: int,
    *,
    keys: Sequence[KeyColumn] = (),
    longest: float | None = None,
) -> VectorSum:
    """A sum of vectors, to which a unit adds at most as much as `rows` of the longest rows.

    `longest` is the length of a row's vector, in whole numbers, not in steps, where it is known to be shorter than the
    bounds of its values alone say; what is longer is cut.
    """
    made = VectorSum(relation, tuple(values), tuple(keys), tuple(components), 1)
    unit = math.isqrt(made.longest_row - 1) + 1
    if longest is not None:
        unit = min(unit, math.ceil(longest * max(_steps_of(made, each) for each in components)))
    try:
        return VectorSum(relation, made.values, made.columns, made.components, unit * rows)
    except QueryRefused as refusal:
        raise QueryRefused(str(refusal), hint="let fewer rows of a person count, or take fewer features") from None


def gram_sum(
    relation: Relation, values: Sequence[tuple[Expression, float, float]], rows: int, *, longest: float
) -> VectorSum:
    """All products of two of some numbers of a row, each with its bounds; Σ x² is at most `longest`, or is cut to it.

    Values have as many steps as fit: fewer where much of a unit counts, because a vector's length is bounded.
    """
    steps = steps_for(longest, rows, factors=2)
    summands = [value(expression, low, high, steps) for expression, low, high in values]
    return vector_sum(relation, summands, gram(len(summands)), rows, longest=longest)


def steps_for(longest: float, rows: int, *, factors: int, most: int | None = None) -> int:
    """How many steps 1 has, so that products of `factors` values in `rows` rows are no longer than engines take."""
    steps = most or STEPS
    while steps > _FEWEST_STEPS and math.ceil(longest * steps**factors) * rows > LONGEST:
        steps //= 2
    return steps


def lattice_of(asked: VectorSum) -> list[Any]:
    """The lattice of a sum, as ledgers keep it: its bound, its number of cells, and the steps and bounds of its values.

    Integers that were kept mean nothing on another lattice.
    """
    quanta = [each.quantum for each in asked.values if each.quantum is not None]
    values = [[str(each.granularity), str(each.low), str(each.high)] for each in quanta]
    return [asked.bound, asked.size, values]


def _steps_of(asked: VectorSum, component: Component) -> Fraction:
    """How many steps of a component make 1."""
    quanta = [asked.values[place].quantum for place in component.factors]
    return math.prod((1 / quantum.granularity for quantum in quanta if quantum is not None), start=Fraction(1))
