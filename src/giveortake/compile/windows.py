"""Functions of the rows of a noisy answer: totals, running sums, ranks, the row before. All of it is post-processing.

Guarantee: an interval holds what the same function gives of the true values at the same keys.

- *Sums and means* of a linear formula over rows that were not chosen by their noise: the noise of different keys is
  independent, so that of k rows is a sum of k independent noises, whose law is known. What rounding adds to each is
  symmetric, bounded and independent, so that Hoeffding's inequality bounds the sum. One row keeps its own interval.
- *Other sums, least and greatest values, ranks*: all cells of the answer hold together, each at its share of the
  probability to miss (union bound). Where they do, a sum lies between the sums of the ends, and as many rows are
  certainly before a row as have their interval wholly before its own. That holds whichever rows HAVING left, or a
  search found.
- *The row before, the first, the last*, by keys: the interval of that row.
- *By the noisy order* (the row before in a ranking, a running sum along it) no interval is claimed: which rows enter is
  chosen by the noise. A number of rows, a part of NTILE, and a place in the order of keys have none either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.formulas import Evaluated, Formula, Linear, OverRows, floats, truncation, whole
from giveortake.compile.intervals import sum_margins
from giveortake.plan.question import RANKED, SHIFTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.compile.measures import Combined
    from giveortake.plan import Value, Window
    from giveortake.plan.question import Order

    Floats: TypeAlias = npt.NDArray[np.float64]
    Indices: TypeAlias = npt.NDArray[np.int64]

_OWN_SHARE = 7 / 8  # of the probability to miss, for a row's own number in its share of a total


@final
@dataclass(frozen=True, slots=True, eq=False)
class AnswerRows:
    """The rows of an answer: their keys, and which of them HAVING keeps.

    `chosen` says that noise decides which rows there are: by HAVING, or by a search for keys.
    """

    names: tuple[str, ...]
    keys: Sequence[tuple[Value, ...]]
    row_mask: npt.NDArray[np.bool_]
    chosen: bool

    def column(self, name: str) -> list[Value]:
        """The values of a key column."""
        column_index = self.names.index(name)
        return [row[column_index] for row in self.keys]


@final
@dataclass(frozen=True, slots=True)
class WindowOf(OverRows):
    """A window function over rows of the answer; `rows` is None until there is an answer."""

    window: Window
    argument: Formula | None
    order: tuple[tuple[Order, Formula | None], ...]
    rows: AnswerRows | None = None

    def bound(self, rows: AnswerRows) -> WindowOf:
        return replace(self, rows=rows)

    @property
    def by_noise(self) -> bool:
        """Whether noise decides the order."""
        return any(formula is not None for _, formula in self.order)

    @property
    def has_interval(self) -> bool:
        if self.window.function in RANKED:
            return self.order[0][1] is not None
        return (
            self.window.function != "count"
            and not self.by_noise
            and self.argument is not None
            and self.argument.has_interval
        )

    @property
    def is_plain_total(self) -> bool:
        """Whether it is a sum over rows that always include the row itself."""
        return self.window.function == "sum" and self.window.frame is None and not self.by_noise

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        assert self.rows is not None  # noqa: S101 (bound before anything is evaluated)
        groups = _Groups(self, measures, size)
        function = self.window.function
        if function in RANKED:
            return self._ranks(groups, measures, miss, size)
        if function == "ntile":
            return _tiles(groups, self.window.places, size)
        if function == "count" or self.argument is None:
            return _counts(groups, size)
        if function in SHIFTED or function in {"first", "last"}:
            cells = self.argument.evaluate(measures, miss / max(size, 1) if self.rows.chosen else miss, size)
            return _taken(groups, self.window, floats(cells), size)
        if function in {"minimum", "maximum"}:
            cells = floats(self.argument.evaluate(measures, miss / max(size, 1), size))
            extremes = _extremes(groups, cells, function, size)
            return whole(extremes) if self.argument.counts else extremes
        return self._sums(groups, measures, miss, size)

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str | None:
        return None if self.has_interval else "no interval"

    def could_be_missing(self, measures: Mapping[int, Combined], miss: float, size: int) -> npt.NDArray[np.bool_]:
        """Counts and sums are missing only where a frame has no row, which is known; anything else may be missing."""
        if isinstance(self.argument, Linear) or self.argument is None:
            return np.isnan(np.asarray(self.evaluate(measures, miss, size).values, dtype=np.float64))
        return np.ones(size, dtype=bool)

    def _sums(self, groups: _Groups, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        assert self.argument is not None and self.rows is not None  # noqa: S101, PT018 (checked by the plan)
        exact = isinstance(self.argument, Linear) and not self.rows.chosen
        cells = floats(self.argument.evaluate(measures, miss if exact else miss / max(size, 1), size))
        totals = groups.totals(cells.values)
        counts = groups.totals((~np.isnan(cells.values)).astype(np.float64))
        if exact and isinstance(self.argument, Linear):
            half, alone = sum_margins(self.argument, measures, counts, miss), counts == 1
            below, above = truncation(self.argument, measures)  # of all rows together
            low, high = (
                np.where(alone, groups.totals(cells.low), totals - half + below),
                np.where(alone, groups.totals(cells.high), totals + half + above),
            )
        else:
            low, high = groups.totals(cells.low), groups.totals(cells.high)
        values = np.where(counts > 0, totals, np.nan)
        if self.window.function == "sum" and self.argument.counts:
            return whole(Evaluated(values, np.floor(low), np.ceil(high)))
        if self.window.function == "mean":
            with np.errstate(divide="ignore", invalid="ignore"):
                return Evaluated(values / counts, low / counts, high / counts)
        return Evaluated(values, low, high)

    def _ranks(self, groups: _Groups, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        values = groups.ranks(self.window.function)
        order, formula = self.order[0]
        if formula is None:
            return Evaluated(values, values, values)
        cells = floats(formula.evaluate(measures, miss / max(size, 1), size))
        low, high = (-cells.high, -cells.low) if order.descending else (cells.low, cells.high)
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
        least, most = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        for group in groups.listed:
            before = np.searchsorted(np.sort(high[group]), low[group], side="left")  # rows whose intervals end earlier
            perhaps = np.searchsorted(np.sort(low[group]), high[group], side="right")  # including the row itself
            least[group] = np.minimum(before, 1) if self.window.function == "dense_rank" else before
            most[group] = perhaps
        return Evaluated(values, np.minimum(least + 1, values), np.maximum(most, values))


@final
@dataclass(frozen=True, slots=True)
class ShareOf(OverRows):
    """A number's share of a total over rows that it belongs to, where none of them is negative.

    Guarantee: x / (x + rest) rises in x and falls in the rest, and both intervals hold together (union bound).
    """

    over: Linear
    total: WindowOf
    factor: Fraction

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        total = self.total
        assert total.rows is not None  # noqa: S101 (bound before anything is evaluated)
        groups = _Groups(total, measures, size)
        if total.rows.chosen:
            own = rest_ends = floats(self.over.evaluate(measures, miss / max(size, 1), size))
            sums = [groups.totals(array) for array in (own.values, own.low, own.high)]
            low, high = sums[1] - rest_ends.low, sums[2] - rest_ends.high
        else:
            own = floats(self.over.evaluate(measures, miss * _OWN_SHARE, size))
            sums = [groups.totals(own.values)]
            other_rows = groups.totals(np.ones(size)) - 1
            half = sum_margins(self.over, measures, other_rows, miss * (1 - _OWN_SHARE))
            below, above = truncation(self.over, measures)
            low, high = sums[0] - own.values - half + below, sums[0] - own.values + half + above
        factor = float(self.factor)
        ends = [
            _share(np.maximum(own.low, 0.0), np.maximum(high, 0.0), 0.0),
            _share(np.maximum(own.high, 0.0), np.maximum(low, 0.0), 1.0),
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(sums[0] > 0, np.clip(own.values / np.where(sums[0] > 0, sums[0], 1.0), 0.0, 1.0), np.nan)
        first, last = (end * factor for end in (ends if factor >= 0 else reversed(ends)))
        return Evaluated(value * factor, first, last)

    def bound(self, rows: AnswerRows) -> ShareOf:
        return replace(self, total=self.total.bound(rows))

    def could_be_missing(self, measures: Mapping[int, Combined], miss: float, size: int) -> npt.NDArray[np.bool_]:
        """A share is missing where the total may be zero."""
        return np.asarray(self.total.evaluate(measures, miss, size).low) <= 0

    @property
    def has_interval(self) -> bool:
        return self.total.has_interval


def _share(part: Floats, remainder: Floats, otherwise: float) -> Floats:
    whole = part + remainder
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), otherwise)
        return share


class _Groups:
    """The kept rows, partitioned by the keys of a window, each group in its order."""

    def __init__(self, window_formula: WindowOf, measures: Mapping[int, Combined], size: int) -> None:
        rows, window = window_formula.rows, window_formula.window
        assert rows is not None  # noqa: S101 (bound before anything is evaluated)
        self.window = window
        self.size = size
        keys = [rows.column(name) for name in window.partition]
        rows_by_key: dict[tuple[Value, ...], list[int]] = {}
        for row_index in np.flatnonzero(rows.row_mask).tolist():
            rows_by_key.setdefault(tuple(column[row_index] for column in keys), []).append(row_index)
        self._ordered = [
            _sorting_values(rows, order, formula, measures, size) for order, formula in window_formula.order
        ]
        self.listed = [self._in_order(row_indices) for row_indices in rows_by_key.values()]

    def _in_order(self, row_indices: list[int]) -> Indices:
        for values, order in zip(reversed(self._ordered), reversed(self.window.order), strict=True):
            row_indices = in_order(values, row_indices, order)
        return np.array(row_indices, dtype=np.int64)

    def peers(self, group: Indices) -> Indices:
        """For each row of a group, the number of its run of equal rows."""
        numbers = np.zeros(len(group), dtype=np.int64)
        for at in range(1, len(group)):
            same = all(values[group[at]] == values[group[at - 1]] for values in self._ordered)
            numbers[at] = numbers[at - 1] + (not same)
        return numbers

    def stretches(self, group: Indices) -> tuple[Indices, Indices]:
        """For each row of a group, the index of the first row of its frame, and the one after the last."""
        count = len(group)
        every = np.arange(count)
        frame = self.window.frame
        if not self.window.order:
            return np.zeros(count, dtype=np.int64), np.full(count, count)
        if frame is not None and not frame.peers:
            first = np.zeros(count, dtype=np.int64) if frame.before is None else every - frame.before
            last = np.full(count, count) if frame.after is None else every + frame.after + 1
            return np.clip(first, 0, count), np.clip(np.maximum(last, first), 0, count)
        numbers = self.peers(group)
        ends = np.searchsorted(numbers, numbers, side="right")
        if frame is not None and frame.after is None:
            ends = np.full(count, count)
        return np.zeros(count, dtype=np.int64), ends

    def totals(self, values: Floats) -> Floats:
        """For each row, the sum over its frame, without missing values."""
        totals = np.full(self.size, np.nan)
        for group in self.listed:
            first, last = self.stretches(group)
            within = values[group]
            running = [
                np.concatenate(([0.0], np.cumsum(addends)))
                for addends in (np.where(np.isfinite(within), within, 0.0), within == np.inf, within == -np.inf)
            ]
            finite, above, below = (sums[last] - sums[first] for sums in running)
            unbounded = np.where(above > 0, np.inf, 0.0) + np.where(below > 0, -np.inf, 0.0)
            totals[group] = finite + unbounded
        return totals

    def ranks(self, function: str) -> Indices:
        """The rank of each row; equal rows have the same rank, except for ROW_NUMBER."""
        ranks = np.zeros(self.size, dtype=np.int64)
        for group in self.listed:
            numbers = self.peers(group)
            if function == "row_number":
                ranks[group] = np.arange(1, len(group) + 1)
            elif function == "dense_rank":
                ranks[group] = numbers + 1
            else:
                ranks[group] = np.searchsorted(numbers, numbers, side="left") + 1
        return ranks


def _sorting_values(
    rows: AnswerRows, order: Order, formula: Formula | None, measures: Mapping[int, Combined], size: int
) -> list[Any]:
    if formula is None:
        return list(rows.column(order.column))
    values = np.asarray(formula.evaluate(measures, 0.5, size).values).tolist()
    return [None if value != value else value for value in values]  # noqa: PLR0124 (not a number)


def in_order(values: Sequence[Any], row_indices: list[int], order: Order) -> list[int]:
    """Row indices, sorted by their values; the sort is stable."""
    present = [row_index for row_index in row_indices if values[row_index] is not None]
    missing = [row_index for row_index in row_indices if values[row_index] is None]
    present.sort(key=lambda row_index: values[row_index], reverse=order.descending)
    return [*missing, *present] if order.missing_first else [*present, *missing]


def _counts(groups: _Groups, size: int) -> Evaluated:
    counts = np.nan_to_num(groups.totals(np.ones(size))).astype(np.int64)
    return Evaluated(counts, counts, counts)


def _tiles(groups: _Groups, parts: int, size: int) -> Evaluated:
    """The number of the part that a row is in; a group is divided evenly, and the first parts may have one row more."""
    tiles = np.zeros(size, dtype=np.int64)
    for group in groups.listed:
        small, larger = divmod(len(group), parts)
        every = np.arange(len(group))
        tiles[group] = (
            np.where(every < larger * (small + 1), every // (small + 1), (every - larger) // max(small, 1)) + 1
        )
    return Evaluated(tiles, tiles, tiles)


def _taken(groups: _Groups, window: Window, cells: Evaluated, size: int) -> Evaluated:
    """The values of another row of the same group."""
    source = np.full(size, -1, dtype=np.int64)
    for group in groups.listed:
        count = len(group)
        every = np.arange(count)
        if window.function in SHIFTED:
            at = every + (window.places if window.function == "lead" else -window.places)
            is_inside = (at >= 0) & (at < count)
        else:
            first, last = groups.stretches(group)
            at, is_inside = (first if window.function == "first" else last - 1), last > first
        source[group] = np.where(is_inside, group[np.clip(at, 0, count - 1)], -1)
    parts = (np.where(source >= 0, array[source], np.nan) for array in (cells.values, cells.low, cells.high))
    return Evaluated(*parts)


def _extremes(groups: _Groups, cells: Evaluated, function: str, size: int) -> Evaluated:
    """The least or greatest value of each frame; most frames begin with the first row, and grow."""
    pick = np.fmin if function == "minimum" else np.fmax
    arrays = (cells.values, cells.low, cells.high)
    extremes = [np.full(size, np.nan) for _ in arrays]
    for group in groups.listed:
        first, last = groups.stretches(group)
        has_rows = last > first
        for array, source in zip(extremes, arrays, strict=True):
            within = source[group]
            if not first.any():
                chosen = pick.accumulate(within)[np.maximum(last - 1, 0)]
            else:
                pairs = zip(first.tolist(), last.tolist(), strict=True)
                chosen = np.array([pick.reduce(within[a:b]) if b > a else np.nan for a, b in pairs])
            array[group] = np.where(has_rows, chosen, np.nan)
    return Evaluated(*extremes)
