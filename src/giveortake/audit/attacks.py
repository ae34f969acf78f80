"""What an attacker can compute from an output: features, scores, and sets of outputs.

- Features: numbers and a label. Every one is a function of one output alone, whatever the outputs beside it are;
  otherwise an event would mean one thing on the pilot sample and another on fresh ones, and a bound would mean nothing.
  Which columns there are (one for a scalar, one for each coordinate of a vector, one for each key of a table) is fixed
  by the pilot sample and never changes after it. What an output does not have is not-a-number there.
- Scores: numbers computed from an output that are larger where one input is likelier than the other. They are learned
  on a part of the pilot sample and never see the samples that bounds are computed from, so a bad score costs power, not
  correctness.
- Sets of outputs, chosen on a pilot sample because they tell two inputs apart best.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from giveortake.audit.bounds import Outputs


Floats: TypeAlias = "npt.NDArray[np.float64]"
Labels: TypeAlias = "Callable[[int, int], list[Hashable] | npt.NDArray[Any]]"
Layout: TypeAlias = "Mapping[str, Callable[[Any], float]]"  # the name of a column, and how to read it off one output

_MOST_COLUMNS = 64
_NUMERIC = "biuf"  # kinds of arrays whose elements are real numbers
_PLAIN = frozenset({bool, int, str, bytes})  # types whose equal values are written alike


@final
class View:
    """Outputs as columns of numbers with their names, and as labels, which are made only where they are asked for."""

    __slots__ = ("_labels", "_start", "columns", "size")

    def __init__(self, columns: dict[str, Floats], labels: Labels, size: int, start: int = 0) -> None:
        self.columns = columns
        self.size = size
        self._labels = labels
        self._start = start

    def labels(self, most: int | None = None) -> list[Hashable] | npt.NDArray[Any]:
        """The labels of all outputs, or of the first `most`; for an array of numbers, the numbers themselves."""
        count = self.size if most is None else min(most, self.size)
        return self._labels(self._start, self._start + count)

    def part(self, start: int, stop: int) -> View:
        """Some of the outputs."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        return View(columns, self._labels, stop - start, self._start + start)


def layout(*samples: Outputs) -> Layout:
    """The columns of these outputs, of all kinds that occur among them."""
    readers: dict[str, Callable[[Any], float]] = {}
    widths: set[int] = set()
    sizes: set[int] = set()
    keys: dict[Hashable, None] = {}
    scalar = False
    for outputs in samples:
        if _is_numeric(outputs):
            scalar = scalar or outputs.ndim == 1
            widths |= {math.prod(outputs.shape[1:])} if outputs.ndim > 1 else set()
            continue
        for output in outputs:
            scalar = scalar or _is_number(output)
            if isinstance(output, Mapping):
                sizes.add(len(output))
                keys.update(dict.fromkeys(output))
            elif _is_row(output):
                widths.add(len(_coordinates(output)))
    if scalar:
        readers["output"] = _number
    for index in range(min(_MOST_COLUMNS, max(widths, default=0))):
        readers[f"output[{index}]"] = _Item(index)
    for key in sorted(keys, key=repr)[:_MOST_COLUMNS]:
        readers[f"output[{key!r}]"] = _Item(key)
    if len(widths) > 1:
        readers["length"] = _length
    if len(sizes) > 1:
        readers["number of keys"] = _keys
    return readers


def view(outputs: Outputs, columns: Layout | None = None) -> View:
    """Outputs of any kind as numbers and labels, in the columns of a pilot sample, or in their own."""
    columns = layout(outputs) if columns is None else columns
    if _is_numeric(outputs):
        return _array_view(outputs, columns)
    listed = list(outputs)
    arrays = {name: np.array([read(output) for output in listed], dtype=np.float64) for name, read in columns.items()}
    return View(arrays, lambda start, end: [label(output) for output in listed[start:end]], len(listed))


@final
class Label(NamedTuple):
    """An output by its type and by how it is written: 1, 1.0 and True are three, as they are to a reader."""

    kind: type
    representation: Hashable

    def __repr__(self) -> str:
        is_text = isinstance(self.representation, str) and self.kind is not str
        return str(self.representation) if is_text else repr(self.representation)


def label(output: Any) -> Hashable:
    """The label of an output, which outputs share that nobody can tell apart; of a table, its keys."""
    return frozenset(map(_label, output)) if isinstance(output, Mapping) else _label(output)


def _array_view(outputs: npt.NDArray[Any], columns: Layout) -> View:
    """What `view` makes of a list of the elements, but quicker."""
    size = len(outputs)
    if outputs.ndim == 1:
        numbers = outputs.astype(np.float64)
        arrays = {name: numbers if name == "output" else np.full(size, np.nan) for name in columns}
        return View(arrays, lambda start, stop: outputs[start:stop], size)
    flat = outputs.reshape(size, -1)
    arrays = {}
    for name, read in columns.items():
        index = read.key if isinstance(read, _Item) else None
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < flat.shape[1]:
            arrays[name] = flat[:, index].astype(np.float64)
        else:
            arrays[name] = np.full(size, float(flat.shape[1]) if name == "length" else np.nan)

    return View(arrays, lambda start, stop: list(map(_array_label, outputs[start:stop])), size)


def distinct(numbers: npt.NDArray[Any]) -> tuple[list[Any], npt.NDArray[np.intp], list[int]]:
    """The different numbers of an array, zeros by their signs; which of them each is; and how often they occur."""
    by_bits = numbers.dtype.kind == "f" and numbers.itemsize <= 8
    bits = numbers.view(f"u{numbers.itemsize}") if by_bits else numbers
    _, first, places, counts = np.unique(bits, return_index=True, return_inverse=True, return_counts=True)
    return numbers[first].tolist(), places, counts.tolist()


@final
class _Item:
    """Reads one coordinate of a vector, or one key of a table."""

    __slots__ = ("key",)

    def __init__(self, key: Hashable) -> None:
        self.key = key

    def __call__(self, output: Any) -> float:
        if isinstance(output, Mapping):
            return _number(output.get(self.key))
        if not _is_row(output) or not isinstance(self.key, int) or isinstance(self.key, bool):
            return math.nan
        row = _coordinates(output)
        return _number(row[self.key]) if 0 <= self.key < len(row) else math.nan


def _length(output: Any) -> float:
    return float(len(_coordinates(output))) if _is_row(output) else math.nan


def _keys(output: Any) -> float:
    return float(len(output)) if isinstance(output, Mapping) else math.nan


def _is_numeric(outputs: Any) -> TypeGuard[npt.NDArray[Any]]:
    return isinstance(outputs, np.ndarray) and outputs.ndim > 0 and outputs.dtype.kind in _NUMERIC


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal | np.bool_) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in _NUMERIC
    )


def _is_row(value: Any) -> bool:
    return isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _coordinates(row: Any) -> Any:
    return row.reshape(-1) if isinstance(row, np.ndarray) else row


def _number(value: Any) -> float:
    if not _is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction beyond all doubles
        return math.inf if value > 0 else -math.inf


def _label(value: Any) -> Hashable:
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        value = value.item()  # the same, whether it comes in an array or alone
    if isinstance(value, np.ndarray):
        return _array_label(value)
    kind: Any = type(value)
    if isinstance(value, tuple | list):
        return Label(kind, tuple(map(_label, value)))
    if isinstance(value, Mapping):
        return Label(kind, frozenset((_label(key), _label(item)) for key, item in value.items()))
    if isinstance(value, set | frozenset):
        return Label(kind, frozenset(map(_label, value)))
    if kind in _PLAIN or (kind.__repr__ is object.__repr__ and kind.__hash__ is not None):
        return Label(kind, value)  # the repr of such objects is only their place in memory
    return Label(kind, repr(value))


def _array_label(value: npt.NDArray[Any]) -> Label:
    """By its elements and its shape, which the brackets show unless there are no elements."""
    return Label(np.ndarray, repr(value.tolist()) if value.size else f"[] of shape {value.shape}")


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
        scores: Floats
        match self.kind:
            case "sum":
                scores = columns.sum(axis=0)
            case "least":
                scores = columns.min(axis=0)
            case "greatest":
                scores = columns.max(axis=0)
            case _:
                scores = columns.argmax(axis=0).astype(np.float64)
        return scores

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
        scores: Floats = self._ratios[self._cells(ByColumn(self.name)(view))]
        return scores

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
            return np.array([self.ratios.get(key, 0.0) for key in map(label, values)])[places]
        return np.array([self.ratios.get(key, 0.0) for key in labels]) if labels else np.zeros(view.size)

    def chosen(self, least: float, *, above: bool) -> list[Hashable]:
        """The labels on one side of a threshold."""
        return [key for key, ratio in self.ratios.items() if (ratio >= least if above else ratio <= least)]

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
    ends = tuple(_value_coordinates(end, len(places)) for end in exact)
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
            key: float(np.log(counts[0][key] + 1.0) - np.log(counts[1][key] + 1.0) - scale)
            for key in counts[0] | counts[1]
        }
    )


def _counted(view: View) -> Counter[Hashable]:
    labels = view.labels()
    if isinstance(labels, np.ndarray):
        values, _, counts = distinct(labels)
        totals: Counter[Hashable] = Counter()
        for value, count in zip(values, counts, strict=True):
            totals[label(value)] += count
        return totals
    return Counter(labels)


def _repeat_themselves(view: View) -> bool:
    """Whether, among the first outputs, at least one in eight has been seen before."""
    labels = view.labels(_PEEK)
    return len(labels) > 0 and len(set(labels if isinstance(labels, list) else labels.tolist())) < 7 / 8 * len(labels)


def _value_coordinates(value: Any, size: int) -> tuple[float, ...] | None:
    try:
        flat = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return None
    return tuple(flat.tolist()) if flat.size == size else None


Objective: TypeAlias = Callable[[Floats, Floats, int], Floats]  # hits on the likelier input, on the other, trials each

_THRESHOLDS = 160
_TAILS = np.array([1, 2, 4, 8, 16, 32, 64])


@final
@dataclass(frozen=True, slots=True)
class OutputSet:
    """The outputs whose score is at least (or at most) a threshold, and on which input they are likelier."""

    score: Score
    threshold: float
    above: bool
    likelier_on_x: bool

    def holds(self, view: View) -> Any:
        """Which outputs are in the set. Not-a-number is in no set of numbers."""
        values = self.score(view)
        with np.errstate(invalid="ignore"):
            return values >= self.threshold if self.above else values <= self.threshold

    def hits(self, view: View) -> int:
        """How many outputs are in the set."""
        return int(self.holds(view).sum())

    def __str__(self) -> str:
        if isinstance(self.score, ByLabel):
            chosen = sorted(map(_short, self.score.chosen(self.threshold, above=self.above)))
            return f"the output is one of {{{', '.join(chosen[:6])}{', …' if len(chosen) > 6 else ''}}}"
        sign = "≥" if self.above else "≤"
        if isinstance(self.score, ByColumn):
            return f"{self.score} {sign} {self.threshold:.12g}"
        return f"{self.score} speaks {'for' if self.above else 'against'} x by {abs(self.threshold):.3g} or more"


def best_output_set(x: View, y: View, exact: tuple[Any, Any], objective: Objective) -> OutputSet:
    """Learn scores on one half of a pilot sample, and choose the best set of outputs on the other half."""
    learn_x, choose_x = halves(x)
    learn_y, choose_y = halves(y)
    best, greatest = None, -np.inf
    for outputs, value in _candidates(scores(learn_x, learn_y, exact), choose_x, choose_y, objective):
        if best is None or value > greatest:
            best, greatest = outputs, value
    return best if best is not None else OutputSet(ByLabel({}), 1.0, above=True, likelier_on_x=True)


def _candidates(scores: Iterator[Score], x: View, y: View, objective: Objective) -> Iterator[tuple[OutputSet, float]]:
    trials = min(x.size, y.size)
    for score in scores:
        values_x, values_y = (_sorted(score(view)) for view in (x, y))
        cuts = thresholds(np.concatenate([values_x, values_y]))
        if not cuts.size:
            continue
        for above in (True, False):
            hits_x, hits_y = (_hits(values, cuts, above=above) for values in (values_x, values_y))
            for likelier_on_x, (p, q) in ((True, (hits_x, hits_y)), (False, (hits_y, hits_x))):
                values = objective(p, q, trials)
                best = int(np.argmax(values))
                yield OutputSet(score, float(cuts[best]), above, likelier_on_x), float(values[best])


def thresholds(values: Floats) -> Floats:
    """The thresholds to try: quantiles, and the most extreme values, where rare outputs are."""
    if not values.size:
        return values
    ordered = np.sort(values)
    places = np.linspace(0, ordered.size - 1, _THRESHOLDS).astype(np.int64)
    tails = _TAILS[ordered.size > _TAILS]
    return np.unique(ordered[np.concatenate([places, tails - 1, ordered.size - tails])])


def halves(view: View) -> tuple[View, View]:
    """The first half, and the rest."""
    middle = view.size // 2
    return view.part(0, middle), view.part(middle, view.size)


def log_ratio(alpha: float, delta: float = 0.0) -> Objective:
    """ln((p − δ) / q), with p and q at the cautious ends of approximate intervals [Wil27]."""
    z = _cautious(alpha)

    def value(p: Floats, q: Floats, trials: int) -> Floats:
        low, high = wilson(p, trials, -z) - delta, wilson(q, trials, z)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(low > 0, np.log(np.maximum(low, 1e-300) / np.maximum(high, 1e-300)), -np.inf)

    return value


def excess(alpha: float, ratio: float) -> Objective:
    """The excess p − `ratio`·q, with p and q at the cautious ends of approximate intervals [Wil27]."""
    z = _cautious(alpha)
    return lambda p, q, trials: wilson(p, trials, -z) - ratio * wilson(q, trials, z)


def difference(p: Floats, q: Floats, trials: int) -> Floats:
    """How much likelier a set is: best for common outputs, whose search costs little."""
    return (p - q) / trials


def beyond(allowed: Callable[[Floats], Floats]) -> Objective:
    """By how many standard deviations p exceeds what a promise allows at q."""

    def value(p: Floats, q: Floats, trials: int) -> Floats:
        rate_p, rate_q = (p + 1) / (trials + 2), (q + 1) / (trials + 2)
        spread_p, spread_q = (np.sqrt(rate * (1 - rate) / trials) for rate in (rate_p, rate_q))
        slack = allowed(np.minimum(1, rate_q + spread_q)) - allowed(rate_q)
        return (rate_p - allowed(rate_q)) / np.sqrt(spread_p**2 + slack**2 + 1e-30)

    return value


def _cautious(alpha: float) -> float:
    """Standard deviations to allow for on the pilot: the best of thousands of sets looks better than it is."""
    return max(4.0, NormalDist().inv_cdf(1 - alpha / 2))


def wilson(hits: Floats, trials: int, z: float) -> Floats:
    """The lower end (z < 0) or the upper end (z > 0) of Wilson's interval."""
    rate, square = hits / trials, z * z
    centre = rate + square / (2 * trials)
    width = z * np.sqrt(rate * (1 - rate) / trials + square / (4.0 * trials * trials))
    return np.clip((centre + width) / (1 + square / trials), 0, 1)


def _sorted(values: Floats) -> Floats:
    return np.sort(values[~np.isnan(values)])


def _hits(ordered: Floats, cuts: Floats, *, above: bool) -> Floats:
    if above:
        return (ordered.size - np.searchsorted(ordered, cuts, side="left")).astype(np.float64)
    return np.searchsorted(ordered, cuts, side="right").astype(np.float64)


def _short(label: Any) -> str:
    text = repr(label)
    return text if len(text) <= 24 else f"{text[:23]}…"
