"""Features in bins, each with one number in an additive model: for the engine and for public rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.engines import KeyColumn
from giveortake.errors import InvalidParameter
from giveortake.exact import rational, whole
from giveortake.learn.features import Category, Feature, ScaledNumber, feature_from_json, matches
from giveortake.plan import Call, ColumnReference, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake.plan import Expression

    Reals: TypeAlias = npt.NDArray[np.float64]

MOST_BINS = 256  # of one number


def by_halves(column: ColumnReference, edges: Sequence[Literal], chosen: Sequence[Expression]) -> Expression:
    """Choose an expression by how many edges a column has reached, with as few comparisons as possible."""
    if len(chosen) == 1:
        return chosen[0]
    half = len(chosen) // 2
    below = Call("lt", (column, edges[half - 1]))
    lower, upper = by_halves(column, edges[: half - 1], chosen[:half]), by_halves(column, edges[half:], chosen[half:])
    return Call("case", (below, lower, upper))


@final
@dataclass(frozen=True, slots=True)
class BinnedNumber:
    """A number, cut at edges within its declared bounds. Numbers outside are in the first or the last bin."""

    number: ScaledNumber
    edges: tuple[Fraction, ...]

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.number.name

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.edges) + 1

    def key(self) -> KeyColumn:
        """The key column in which the engine finds a row's bin."""
        places = [Literal(place) for place in range(self.size)]
        return KeyColumn(self.name, self._by_bin(places), tuple(range(self.size)))

    def _by_bin(self, of_bins: Sequence[Expression]) -> Expression:
        return by_halves(ColumnReference(self.name), [Literal(each) for each in self.edges], of_bins)

    def effect(self, bins: ColumnReference, effects: Sequence[float], counts: Reals) -> Expression:
        """The number of a row's bin; the column `bins` holds the bin's place."""
        edges = [Literal(place) for place in range(1, self.size)]
        return by_halves(bins, edges, [Literal(Fraction(each)) for each in effects])

    def places(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The bins of public values; values beyond the bounds are in the outermost."""
        cuts = np.array([float(each) for each in self.edges])
        return np.searchsorted(cuts, self.number.numbers(values), side="right").astype(np.int64)

    def merged(self, counts: Reals, least: float) -> BinnedNumber:
        """Merge neighbouring bins until each has `least` rows by released counts."""
        kept, rows = [], 0.0
        for place, count in enumerate(counts.tolist()):
            rows += count
            if rows >= least and place < len(self.edges):
                kept.append(self.edges[place])
                rows = 0.0
        if rows < least and kept:
            kept.pop()
        return BinnedNumber(self.number, tuple(kept))

    def ends(self) -> list[tuple[float, float]]:
        """Where each bin begins and ends."""
        cuts = [float(each) for each in (self.number.low, *self.edges, self.number.high)]
        return list(itertools.pairwise(cuts))

    def labels(self) -> list[str]:
        """The name of each bin."""
        return [f"{low:g} … {high:g}" for low, high in self.ends()]

    def to_json(self) -> Any:
        """The bins as JSON lists and texts."""
        return ["bins", self.number.to_json(), [str(each) for each in self.edges]]


@final
@dataclass(frozen=True, slots=True)
class BinnedCategory:
    """A column of categories: each is a bin."""

    category: Category

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.category.name

    @property
    def size(self) -> int:
        """How many categories there are."""
        return len(self.category.values)

    def key(self) -> KeyColumn:
        """The key column that holds a row's category."""
        return KeyColumn(self.name, ColumnReference(self.name), self.category.values)

    def effect(self, bins: ColumnReference, effects: Sequence[float], counts: Reals) -> Expression:
        """The number of a row's category, which the column `bins` holds; frequent categories are tested first."""
        branches: list[Expression] = []
        for place in np.argsort(-counts, kind="stable").tolist():
            branches += [matches(bins, self.category.values[place]), Literal(Fraction(effects[place]))]
        return Call("case", (*branches, Literal(Fraction(0))))

    def places(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The places of public values among the categories; -1 where one is missing. Others are refused."""
        return self.category.places(values)

    def labels(self) -> list[str]:
        """The name of each category."""
        return ["–" if each is None else str(each) for each in self.category.values]

    def to_json(self) -> Any:
        """The categories as JSON lists and texts."""
        return self.category.to_json()


Binned: TypeAlias = "BinnedNumber | BinnedCategory"


def binned(feature: Feature, bins: object, usual: int) -> Binned:
    """Put a feature in bins: a number of equal bins, or stated edges, by name or for all features."""
    if isinstance(feature, Category):
        return BinnedCategory(feature)
    said = bins.get(feature.name, usual) if isinstance(bins, Mapping) else (usual if bins is None else bins)
    if isinstance(said, list | tuple):
        edges = tuple(rational("bins", each) for each in said)
        inside = all(feature.low < each < feature.high for each in edges)
        if not inside or list(edges) != sorted(set(edges)) or len(edges) >= MOST_BINS:
            raise InvalidParameter("bins", said, f"are not increasing edges within the bounds of {feature.name}")
        return BinnedNumber(feature, edges)
    count = whole("bins", said)  # type: ignore[arg-type]  # (checked there)
    if not 1 <= count <= MOST_BINS:
        raise InvalidParameter("bins", said, f"is not a number of bins up to {MOST_BINS}", hint="bins=32")
    width = (feature.high - feature.low) / count
    cuts = (feature.low + place * width for place in range(1, count))
    return BinnedNumber(feature, tuple(Fraction(float(each)) for each in cuts))


def is_stated(feature: Feature, bins: object) -> bool:
    """Whether the bins of a feature stay as they are: categories, and numbers with stated edges."""
    if isinstance(feature, Category):
        return True
    return isinstance(bins.get(feature.name) if isinstance(bins, Mapping) else bins, list | tuple)


def binned_from_json(content: Any) -> Binned:
    """Read the bins that `to_json` wrote."""
    if content[0] == "category":
        found = feature_from_json(content)
        assert isinstance(found, Category)  # noqa: S101 (so it was written)
        return BinnedCategory(found)
    number = feature_from_json(content[1])
    assert isinstance(number, ScaledNumber)  # noqa: S101 (so it was written)
    return BinnedNumber(number, tuple(Fraction(each) for each in content[2]))
