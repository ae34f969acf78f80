"""Scores: numbers computed from an output that are larger where one input is likelier than the other.

They are learned on a part of the pilot sample and never see the samples that bounds are computed from, so a bad score
costs power, not correctness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.audit.features import Floats, View, distinct, label

if TYPE_CHECKING:
    from collections.abc import Iterator

Score: TypeAlias = Callable[[View], Floats]

_BINS = 48
_FEWEST_REPEATS = 4  # outputs for each label, on average, for labels to be learned one by one
_PEEK = 4096
_MOST_EXACT = 64  # numbers that occur often enough to be told apart from all others


@final
@dataclass(frozen=True, slots=True)
class ByColumn:
    """The values of one column."""

    name: str

    def __call__(self, view: View) -> Floats:
        return view.columns.get(self.name, np.full(view.size, np.nan))

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True)
class BySum:
    """The sum, the least, the greatest, or the place of the greatest of all columns."""

    kind: str
    names: tuple[str, ...]

    def __call__(self, view: View) -> Floats:
        columns = np.array([ByColumn(name)(view) for name in self.names])
        columns = np.where(np.isnan(columns), 0, columns)
        found: Floats
        match self.kind:
            case "sum":
                found = columns.sum(axis=0)
            case "least":
                found = columns.min(axis=0)
            case "greatest":
                found = columns.max(axis=0)
            case _:
                found = columns.argmax(axis=0).astype(np.float64)
        return found

    def __str__(self) -> str:
        return f"the {self.kind} of the coordinates"


@final
class ByCell:
    """How much likelier x is than y given the cell of one column: quantile bins, frequent values, not-a-number."""

    __slots__ = ("_exact", "_ratios", "edges", "name")

    def __init__(self, name: str, x: Floats, y: Floats) -> None:
        self.name = name
        both = np.concatenate([x, y])
        finite = both[~np.isnan(both)]
        cuts = np.quantile(finite, np.linspace(0, 1, _BINS + 1)[1:-1], method="nearest") if finite.size else []
        self.edges = np.unique(cuts)
        values, counts = np.unique(finite, return_counts=True)
        frequent = values[counts > max(2, both.size / (4 * _BINS))]
        self._exact = frequent if frequent.size <= _MOST_EXACT else values[:0]
        size = 2 + len(self.edges) + len(self._exact)
        hits = [np.bincount(self._cells(sample), minlength=size) for sample in (x, y)]
        self._ratios = np.log(hits[0] + 1.0) - np.log(hits[1] + 1.0) - np.log(len(x) / max(1, len(y)))

    def _cells(self, column: Floats) -> Any:
        cells = np.searchsorted(self.edges, column, side="left")
        if len(self._exact):
            places = np.searchsorted(self._exact, column).clip(0, len(self._exact) - 1)
            same = self._exact[places] == column
            cells = np.where(same, len(self.edges) + 1 + places, cells)
        return np.where(np.isnan(column), len(self.edges) + 1 + len(self._exact), cells)

    def __call__(self, view: View) -> Floats:
        found: Floats = self._ratios[self._cells(ByColumn(self.name)(view))]
        return found

    def __str__(self) -> str:
        return f"the likelihood of {self.name}"


@final
@dataclass(frozen=True, slots=True)
class ByCells:
    """The sum of the `ByCell` scores of all columns, as if these were independent."""

    parts: tuple[ByCell, ...]

    def __call__(self, view: View) -> Floats:
        return sum((part(view) for part in self.parts), np.zeros(view.size))

    def __str__(self) -> str:
        return "the likelihood of all coordinates"


@final
@dataclass(frozen=True, slots=True)
class ByLabel:
    """How much likelier x is than y given the whole output, or the keys of a table."""

    ratios: Mapping[Hashable, float]

    def __call__(self, view: View) -> Floats:
        labels = view.labels()
        if isinstance(labels, np.ndarray):
            values, places, _ = distinct(labels)
            return np.array([self.ratios.get(each, 0.0) for each in map(label, values)])[places]
        return np.array([self.ratios.get(each, 0.0) for each in labels]) if labels else np.zeros(view.size)

    def chosen(self, least: float, *, above: bool) -> list[Hashable]:
        """The labels on one side of a threshold."""
        return [each for each, ratio in self.ratios.items() if (ratio >= least if above else ratio <= least)]

    def __str__(self) -> str:
        return "the likelihood of the output"


@final
@dataclass(frozen=True, slots=True)
class ByDistance:
    """How much nearer the output is to one exact value than to the other, in L1: best for Laplace noise."""

    names: tuple[str, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __call__(self, view: View) -> Floats:
        total = np.zeros(view.size)
        for name, on_x, on_y in zip(self.names, self.x, self.y, strict=True):
            column = ByColumn(name)(view)
            total += np.abs(column - on_y) - np.abs(column - on_x)
        return total

    def __str__(self) -> str:
        return "the distances to the two exact values"


def scores(x: View, y: View, exact: tuple[Any, Any]) -> Iterator[Score]:
    """All scores that are worth trying on these outputs."""
    names = tuple(dict.fromkeys([*x.columns, *y.columns]))
    cells = []
    for name in names:
        column = ByColumn(name)
        yield column
        cells.append(ByCell(name, column(x), column(y)))
        yield cells[-1]
    if len(names) > 1:
        yield ByCells(tuple(cells))
        for kind in ("sum", "least", "greatest", "place of the greatest"):
            yield BySum(kind, names)
    places = tuple(name for name in names if name.startswith("output["))
    ends = tuple(_coordinates(end, len(places)) for end in exact)
    if ends[0] is not None and ends[1] is not None and len(places) > 1:
        yield ByDistance(places, ends[0], ends[1])
    labels = _labels(x, y)
    if labels is not None:
        yield labels


def _labels(x: View, y: View) -> ByLabel | None:
    if not all(_repeat_themselves(view) for view in (x, y)):
        return None
    counts = [_counted(view) for view in (x, y)]
    distinct = len(counts[0] | counts[1])
    if not distinct or distinct * _FEWEST_REPEATS > x.size + y.size:
        return None
    scale = np.log(x.size / max(1, y.size))
    return ByLabel(
        {
            each: float(np.log(counts[0][each] + 1.0) - np.log(counts[1][each] + 1.0) - scale)
            for each in counts[0] | counts[1]
        }
    )


def _counted(view: View) -> Counter[Hashable]:
    labels = view.labels()
    if isinstance(labels, np.ndarray):
        values, _, counts = distinct(labels)
        found: Counter[Hashable] = Counter()
        for value, count in zip(values, counts, strict=True):
            found[label(value)] += count
        return found
    return Counter(labels)


def _repeat_themselves(view: View) -> bool:
    """Whether, among the first outputs, at least one in eight has been seen before."""
    labels = view.labels(_PEEK)
    return len(labels) > 0 and len(set(labels if isinstance(labels, list) else labels.tolist())) < 7 / 8 * len(labels)


def _coordinates(value: Any, size: int) -> tuple[float, ...] | None:
    try:
        flat = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return None
    return tuple(flat.tolist()) if flat.size == size else None
