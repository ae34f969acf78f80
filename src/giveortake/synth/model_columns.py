"""Columns of a model: which category or which bin of numbers is at each place."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.postprocessing import FACES
from giveortake.errors import InvalidParameter
from giveortake.exact import rational
from giveortake.plan import Kind
from giveortake.plan.domains import in_days
from giveortake.randomness import uniform_integers

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.answers.column import Kind as ShownKind
    from giveortake.plan import Value
    from giveortake.randomness import Entropy

    Places: TypeAlias = npt.NDArray[np.integer[Any]]

_DIGITS = 1 << 53


@final
@dataclass(frozen=True, slots=True)
class ModelColumn:
    """One column: its declared categories in their order, or the edges of its bins, the first and the last included.

    An edge that is listed twice is a bin of its own, of that one number; the next bin does not contain it. A
    missing value is a category of its own, the last. `step` is what decimals are multiples of.
    """

    name: str
    kind: Kind
    categories: tuple[Value, ...] | None = None
    edges: tuple[Fraction, ...] | None = None
    nullable: bool = False
    step: Fraction | None = None

    @property
    def size(self) -> int:
        """How many places it has."""
        if self.categories is not None:
            return len(self.categories)
        assert self.edges is not None  # noqa: S101 (one of the two is there)
        return len(self.edges) - 1 + self.nullable

    @property
    def shown_kind(self) -> ShownKind:
        """The kind of its values in tables."""
        return FACES[self.kind]

    def labels(self) -> list[Any]:
        """The label of each place in a table of counts: a category, or a bin in words."""
        if self.categories is not None:
            return [_shown(each) for each in self.categories]
        assert self.edges is not None  # noqa: S101 (one of the two is there)
        ends = [dt.date.fromordinal(int(edge)) if self.kind is Kind.DATE else _number(edge) for edge in self.edges]
        alone, last = self.alone(), len(ends) - 2
        bins: list[Any] = []
        for place, (low, high) in enumerate(pairwise(ends)):
            opened, closed = "(" if place and alone[place - 1] else "[", "]" if place == last else ")"
            bins.append(f"[{low}]" if alone[place] else f"{opened}{low}, {high}{closed}")
        return [*bins, None] if self.nullable else bins

    def alone(self) -> list[bool]:
        """For each bin, whether it holds one number, an edge that is listed twice."""
        return [low == high for low, high in pairwise(self.edges or ())]

    def values(self, places: Places, entropy: Entropy) -> Any:
        """Values for places: categories as they are, numbers drawn evenly from their bins."""
        if self.categories is not None:
            return self._of_categories(places)
        assert self.edges is not None  # noqa: S101 (one of the two is there)
        missing = places >= len(self.edges) - 1
        inside = np.minimum(places, len(self.edges) - 2)
        drawn = self._within(inside, entropy)
        if not missing.any():
            return drawn
        return [None if gone else each for each, gone in zip(drawn.tolist(), missing.tolist(), strict=True)]

    def _of_categories(self, places: Places) -> Any:
        listed = [_shown(each) for each in self.categories or ()]
        if self.kind is Kind.INTEGER and all(type(each) is int for each in listed):
            return np.array(listed, dtype=np.int64)[places]
        if self.kind is Kind.BOOLEAN and None not in listed:
            return np.array(listed, dtype=bool)[places]
        return [listed[place] for place in places.tolist()]

    def _within(self, bins: Places, entropy: Entropy) -> npt.NDArray[Any]:
        """Draw numbers from their bins; whole numbers stay whole, and multiples of the step stay multiples."""
        assert self.edges is not None  # noqa: S101 (asked only then)
        share = uniform_integers(_DIGITS, bins.size, entropy) / _DIGITS
        if self.kind is Kind.REAL:
            ends = np.array([float(edge) for edge in self.edges])
            return np.asarray(ends[bins] + share * (ends[bins + 1] - ends[bins]))
        step = Fraction(1) if self.step is None else self.step
        ceilings = [-(-edge // step) for edge in self.edges]
        alone = self.alone()
        for place, edge in enumerate(self.edges[1:], start=1):
            if alone[place - 1] or place == len(alone):  # the last edge belongs to the last bin
                ceilings[place] = edge // step + 1
        first = np.array(ceilings[:-1], dtype=np.int64)
        count = np.maximum(np.diff(np.array(ceilings, dtype=np.int64)), 1)
        whole = first[bins] + (share * count[bins]).astype(np.int64)
        if self.kind is Kind.INTEGER:
            return np.asarray(whole)
        if self.kind is Kind.DATE:
            return np.array([dt.date.fromordinal(day) for day in whole.tolist()], dtype=object)
        scaled = Decimal(step.numerator) / Decimal(step.denominator)
        return np.array([number * scaled for number in whole.tolist()], dtype=object)

    def to_json(self) -> dict[str, Any]:
        """The column as a model's file holds it."""
        return {
            "name": self.name,
            "kind": str(self.kind),
            "categories": None if self.categories is None else [_written(each) for each in self.categories],
            "edges": None if self.edges is None else [str(edge) for edge in self.edges],
            "nullable": self.nullable,
            "step": None if self.step is None else str(self.step),
        }

    @classmethod
    def from_json(cls, content: Any) -> ModelColumn:
        """Read the column that `to_json` wrote."""
        kind = Kind(content["kind"])
        categories, edges, step = content["categories"], content["edges"], content["step"]
        return cls(
            str(content["name"]),
            kind,
            None if categories is None else tuple(_read(kind, each) for each in categories),
            None if edges is None else tuple(Fraction(edge) for edge in edges),
            bool(content["nullable"]),
            None if step is None else Fraction(step),
        )

    def place_of(self, value: object) -> int:
        """The place of a category."""
        listed = self.categories or ()
        for place, each in enumerate(listed):
            if type(each) is type(value) and each == value:
                return place
        raise InvalidParameter(f"zeros[{self.name!r}]", value, "is not a declared category", hint=f"there are {listed}")


def edge_of(name: str, kind: Kind, said: Any) -> Fraction:
    """Read an edge: a number, or a date as days."""
    if kind is not Kind.DATE:
        return rational(name, said)
    if isinstance(said, str):
        with suppress(ValueError):
            said = dt.date.fromisoformat(said)
    if not isinstance(said, dt.date):
        raise InvalidParameter(name, said, "is not a date", hint='datetime.date(2024, 1, 31), or "2024-01-31"')
    return in_days(said)


def _number(edge: Fraction) -> int | float:
    return edge.numerator if edge.denominator == 1 else float(edge)


def _shown(value: Value) -> Any:
    return Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else value


def _written(value: Value) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _read(kind: Kind, value: Any) -> Value:
    if value is None:
        return None
    match kind:
        case Kind.DATE:
            return dt.date.fromisoformat(value)
        case Kind.TIMESTAMP:
            return dt.datetime.fromisoformat(value)
        case Kind.DECIMAL | Kind.REAL:
            return value if isinstance(value, int) else Fraction(value)
        case _:
            found: Value = value
            return found
