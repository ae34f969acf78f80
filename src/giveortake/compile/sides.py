"""The two sides of bounded values: their number and their sum from one release, at the price of the sum alone.

A value x between a and b is counted twice over: by its distance from a, and by its distance from b. In steps of the
lattice the two are R together, whatever x is. So with A = Σ(x − a) and B = Σ(b − x), the number of values is
(A + B) / (b − a), their sum is A + a · number, and the rows without a value, each counted as R, may stand beside them.

Guarantee: every row adds a vector (distance from a, distance from b, R if it has no value) of integers that are not
negative, whose L1 norm is at most R, and so is its L2 norm. So one unit moves the whole vector, over all groups, as it
moves a histogram of such rows: `Stability.sensitivity(0, R, binned=True)`. Proof. Bounding multiplies what a person
adds to a group by one factor for all three, at most rows/c for c rows, and cuts towards zero; so a person's vector in
a group has an L1 norm of at most rows·R, and an L2 norm of no more. Over groups the proof of
`giveortake.engines.questions` holds word for word. A unit that is changed is removed and another added: twice that in
L1, and for one row √2 of it in L2, because vectors without negative numbers have no negative inner product. ∎

If coordinate i, in steps of its own, gets noise of scale m · (the sensitivity of such a histogram in those steps), then
the vector, each coordinate divided by its sensitivity, moves by at most one: it is one Laplace release, or one Gaussian
one, of noise multiplier m.

Measured apart, number and sum would each take a part of the spend. With Laplace noise the sides take one part for both:
the variance of a mean halves, wherever the mean lies. With Gaussian noise they are as good as two equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.compile.measures import MeasureOfSteps, MeasureOfValues, fineness_of, quantum_of
from giveortake.engines import Summand
from giveortake.plan import Call, ColumnReference
from giveortake.plan import Literal as Constant

FARTHEST = 1 << 62  # steps between the ends; engines compute distances in 64 bits
_NEAREST = Fraction(1, 2**380)

if TYPE_CHECKING:
    from giveortake.compile.measures import Inquiry
    from giveortake.compile.stability import Stability
    from giveortake.plan import Domain, Expression


@final
@dataclass(frozen=True, slots=True)
class Side(MeasureOfSteps):
    """The sum of the distances of values from one end of their bounds; from the upper end they are negative."""

    upper: bool

    kind: ClassVar[str] = "side"

    @property
    def joined(self) -> bool:
        return self.upper

    @property
    def name(self) -> str:
        what = self.of.name if isinstance(self.of, ColumnReference) else "expression"
        return f"sum of ({what} − {'upper' if self.upper else 'lower'} bound)"


@final
@dataclass(frozen=True, slots=True)
class MissingCount(MeasureOfValues):
    """The number of rows that have no value, each of which may count in parts of 1 / `fineness`."""

    fineness: int

    kind: ClassVar[str] = "missing"

    @property
    def joined(self) -> bool:
        return True

    @property
    def granularity(self) -> Fraction:
        return Fraction(1, self.fineness)

    @property
    def name(self) -> str:
        return f"rows without a value {self.of_what}"

    def ask(self, inquiry: Inquiry, index: int) -> None:
        missing = Call("case", (Call("is_null", (self.of,)), Constant(1), Constant(None)))
        inquiry.add_summand(index, Summand("values", missing, fineness=self.fineness))

    def to_json(self) -> list[Any]:
        return self._written(self.of, fineness=self.fineness)


@final
@dataclass(frozen=True, slots=True)
class Sides:
    """The measures of one release of sides, and the weights that give the number and the sum of values."""

    low: Side
    high: Side
    missing: MissingCount | None

    @classmethod
    def within(cls, stability: Stability, of: Expression, domain: Domain, *, missing: bool) -> Sides:
        """The sides of values of a domain; with `missing`, also the number of rows without a value."""
        quantum = quantum_of(domain, of, centred=False)
        least, most = quantum.least, quantum.most
        coarse = quantum.granularity * 2**20 > quantum.high - quantum.low
        fine = fineness_of(stability) if coarse else 1
        l1, l2 = stability.sensitivity(0, fine * (most - least), binned=True)
        ends = (replace(quantum, shift=quantum.shift + least), replace(quantum, shift=quantum.shift + most))
        low, high = (Side(l1, l2, of, end, fine, upper) for end, upper in zip(ends, (False, True), strict=True))
        parts = fineness_of(stability)
        beside = MissingCount(*stability.sensitivity(0, parts, binned=True), of, parts) if missing else None
        return cls(low, high, beside)

    @property
    def measures(self) -> tuple[Side | MissingCount, ...]:
        """The measures, in the order in which they follow one another."""
        return (self.low, self.high) if self.missing is None else (self.low, self.high, self.missing)

    @property
    def number(self) -> tuple[Fraction, Fraction]:
        """The weights of both sides in the number of values."""
        width = (self.high.quantum.shift - self.low.quantum.shift) * self.low.quantum.granularity
        return 1 / width, -1 / width

    @property
    def rows(self) -> tuple[Fraction, ...]:
        """The weights of both sides, and of the rows without a value, in the number of rows."""
        return self.number if self.missing is None else (*self.number, Fraction(1))

    @property
    def total(self) -> tuple[Fraction, Fraction]:
        """The weights of both sides in the sum of values."""
        least = self.low.quantum.shift * self.low.quantum.granularity
        one, other = self.number
        return 1 + least * one, least * other


def has_sides(of: Expression, domain: Domain) -> bool:
    """Whether values can be measured by sides: they have two different bounds, at most 2^62 steps apart.

    Nor may the steps be so small that doubles cannot hold one over the distance.
    """
    quantum = quantum_of(domain, of, centred=False)
    return 0 < quantum.most - quantum.least <= FARTHEST and quantum.granularity >= _NEAREST
