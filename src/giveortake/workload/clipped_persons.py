"""Persons of bounded L2 norm: who exceeds it is scaled down, equally in all tables of a workload."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.advice import Advice
from giveortake.engines import Component, KeyColumn, Quantum, Summand, VectorSum
from giveortake.engines.vector_sums import LONGEST
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import ceiling, power_of_two_at_least
from giveortake.plan import ColumnReference, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.engines import Engine
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.plan import Domain
    from giveortake.workload.asked_workload import AskedWorkload

MOST_TABLES = 1_000  # every row is expanded into each of them
_HEAVIEST = 1 << 12  # the weight of the table with the least noise
_FINEST, _COARSEST = 1 << 16, 1 << 6  # steps of one row


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClippedPersons:
    """What persons add to the measured tables of a workload, each of bounded length, as one sum of vectors.

    A table that gets the noise σ has the weight W = ⌈κ/σ²⌉, κ the same for all. A person whose counts v have a length
    √(Σ W·v²) of more than B is multiplied by what makes it B, and cut towards zero to whole steps: one factor for all
    tables, so that they still count the same rows.

    Guarantee: engines check Σ W·v² ≤ B² on the integers of every person (`VectorSum`). P is a projection, so that
    ‖Pv‖ ≤ ‖v‖ in every table: all parts together, each in units of its noise, are shifted by one person who is added or
    removed by at most Σ ‖Pv‖²/σ² ≤ Σ W·v²/κ ≤ B²/κ, squared, and by one who changes by what `VectorSum.moved_squared`
    says, divided by κ. Where that is at most μ², the release is μ-GDP. Residuals save nothing here: scaled rows may lie
    anywhere, and nothing is left of the mean that P takes out.
    """

    vector: VectorSum
    scale: Fraction  # κ
    changed: bool
    places: dict[tuple[int, tuple[int, ...]], int]  # of the component of a layer's table

    @classmethod
    def of(cls, asked: AskedWorkload, sigmas: Sequence[Sequence[Fraction]], mu: Fraction) -> ClippedPersons:
        """The persons with the greatest norm for which the given noise keeps μ."""
        changed = asked.neighbours == "change-one"
        scale = _HEAVIEST * min(itertools.chain(*sigmas)) ** 2
        places: dict[tuple[int, tuple[int, ...]], int] = {}
        components: list[Component] = []
        for place, (layer, noises) in enumerate(zip(asked.layers, sigmas, strict=True)):
            for residual, sigma in zip(layer.layout.residuals, noises, strict=True):
                places[place, residual] = len(components)
                components.append(Component((place,), residual, ceiling(scale / sigma**2)))
        values = tuple(_summand(layer.of, layer.quantum) for layer in asked.layers)
        columns: tuple[KeyColumn, ...] = asked.attributes.keys(range(len(asked.attributes.names))).columns
        shortest = VectorSum(asked.question.relation, values, columns, tuple(components), 1)
        return cls(_longest(shortest, scale * mu**2, changed=changed), scale, changed, places)

    def square(self) -> Fraction:
        """The greatest squared length of the shift of one person, each part in units of its noise."""
        return Fraction(self.vector.moved_squared(changed=self.changed)) / self.scale

    def tables(self, engine: Engine) -> ClippedTables:
        """The exact tables that an engine computes."""
        return ClippedTables(self, engine.vectors(self.vector))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClippedTables:
    """Exact tables over persons of bounded norm, in steps."""

    persons: ClippedPersons
    found: Sensitive[BoundedIntegers]

    def table(self, layer: int, places: tuple[int, ...]) -> Sensitive[BoundedIntegers]:
        """The table of some attributes of a layer, flat and still sensitive."""
        vector, component = self.persons.vector, self.persons.places[layer, places]
        start = vector.offsets()[component]
        return self.found.part(start, start + vector.sizes[component])


def steps_of_row(norm: Fraction, tables: int) -> int:
    """The number of steps per row that scales persons of a norm finely enough; refused if none fits."""
    if tables > MOST_TABLES:
        raise QueryRefused(
            f"a norm scales persons in {tables:,} tables at once, more than {MOST_TABLES:,}",
            hint=Advice("{fewer_tables}", "{rows_per_person} instead of the norm", rows_per_person=10),
        )
    steps = _FINEST
    while 2 * norm * steps * (math.isqrt(tables * _HEAVIEST) + 1) > LONGEST:
        steps //= 2
        if steps < _COARSEST:
            raise InvalidParameter(
                "norm", str(norm), "is too large for so many tables", hint="a smaller norm, or fewer tables"
            )
    return steps


def quantum_of_rows(steps: int) -> Quantum:
    """The lattice of rows with a number of steps each."""
    return Quantum(Fraction(1, steps), Fraction(0), Fraction(1))


def quantum_of_values(domain: Domain, steps: int) -> Quantum:
    """The lattice of values with steps of a power of two, about `steps` of them in the greatest value."""
    low, high = domain.ends()
    greatest = max(abs(low), abs(high))
    return Quantum(power_of_two_at_least(greatest / steps) if greatest else Fraction(1), low, high)


def _summand(of: str | None, quantum: Quantum | None) -> Summand:
    return Summand("sum", Literal(Fraction(1)) if of is None else ColumnReference(of), quantum)


def _longest(vector: VectorSum, square: Fraction, *, changed: bool) -> VectorSum:
    """The vector sum with the greatest bound at which one unit moves it by at most the given square."""

    def fits(bound: int) -> bool:
        return replace(vector, bound=bound).moved_squared(changed=changed) <= square

    low, high = 1, LONGEST + 1
    if not fits(low):
        raise InvalidParameter("norm", "", "is too small for the lattice", hint="a greater norm")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return replace(vector, bound=low)
