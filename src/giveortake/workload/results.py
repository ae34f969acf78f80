"""Answers to workloads: all tables with their errors, one by one, stacked, or made consistent.

Consistent tables are not negative and have equal sums. They are post-processing, and no longer unbiased.
"""

from __future__ import annotations

import bisect
import datetime as dt
import html
import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.answers import Answer
from giveortake.answers.column import Column, plain
from giveortake.answers.render import FOR_ALL_ROWS, as_html, head_lines, rows_counted, shown_cost
from giveortake.answers.terms import LeftOut
from giveortake.compile.postprocessing import FACES, face
from giveortake.errors import InvalidParameter, NotFound, did_you_mean
from giveortake.exact import counted, percent
from giveortake.mechanisms.marginals import rebuilt
from giveortake.plan import ColumnReference
from giveortake.workload.designs import LaplaceDesign, laplace_margin, normal_margin

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from giveortake.answers.column import Kind, Listed, Value, Values
    from giveortake.answers.terms import Confidence
    from giveortake.workload.bound_workload import BoundWorkload
    from giveortake.workload.designs import Design, RangeNoise
    from giveortake.workload.measurement import WorkloadRelease

    Floats: TypeAlias = npt.NDArray[np.float64]


MOST_CELLS = 300_000  # of all largest tables together; more would take minutes
_NEAREST = 30  # rounds of the search for the nearest tables
_ROUNDS = 400  # rounds of the search for any consistent tables near those
_BEYOND = 2.5  # how far beyond zero negative cells are moved in these rounds
_ABOVE = 5e-4  # of the noise, and a little more


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConsistentTables:
    """Tables of sets of attributes; tables of fewer attributes are sums over them."""

    sizes: tuple[int, ...]
    tables: Mapping[tuple[int, ...], Floats]

    def table(self, attributes: tuple[int, ...]) -> Floats:
        """The table of some attributes, flat: a sum over any table that has all of them."""
        largest = next(candidate for candidate in self.tables if set(attributes) <= set(candidate))
        summed_axes = tuple(axis for axis, attribute in enumerate(largest) if attribute not in attributes)
        table: Floats = self.tables[largest].sum(axis=summed_axes).reshape(-1)
        return table


def consistent_tables(
    sizes: Sequence[int], tables: Mapping[tuple[int, ...], Floats], variances: Mapping[tuple[int, ...], float]
) -> ConsistentTables:
    """Non-negative tables with the same sums, near the given ones.

    Dykstra's algorithm projects in turn on the tables that agree (their residuals are averaged, by the inverse of the
    variances) and on those that are not negative. It finds the nearest tables, but slowly; so after some rounds
    negative cells are moved beyond zero, which soon ends the search. If it does not, uniform tables are mixed in until
    no cell is below zero.
    """
    shaped = {
        attributes: table.reshape([sizes[attribute] for attribute in attributes])
        for attributes, table in tables.items()
    }
    weights = {attributes: 1 / variances[attributes] for attributes in tables}
    noise = min(math.sqrt(variance) for variance in variances.values())
    now = _agreeing(sizes, shaped, weights)
    total = max(float(next(iter(now.values())).sum()), 0.0)
    below = {attributes: np.zeros_like(table) for attributes, table in now.items()}
    now = _agreeing(sizes, now, weights, total)
    for round_number in range(_NEAREST + _ROUNDS):
        if min(float(table.min()) for table in now.values()) >= 0:
            break
        for attributes, table in now.items():
            if round_number < _NEAREST:
                moved = table + below[attributes]
                now[attributes] = np.maximum(moved, 0.0)
                below[attributes] = moved - now[attributes]
            else:
                above = min(_ABOVE * noise, 1e-3 * total / table.size)
                now[attributes] = np.where(table < 0, above - _BEYOND * table, table)
        now = _agreeing(sizes, now, weights, total)
    return ConsistentTables(tuple(sizes), _lifted(now, total))


def _agreeing(
    sizes: Sequence[int],
    tables: Mapping[tuple[int, ...], Floats],
    weights: Mapping[tuple[int, ...], float],
    total: float | None = None,
) -> dict[tuple[int, ...], Floats]:
    """The nearest tables that agree: each residual is the weighted average of its values in all tables."""
    sums: dict[tuple[int, ...], Floats] = {}
    shares: dict[tuple[int, ...], float] = {}
    for attributes, table in tables.items():
        for axes, subset in _subsets(attributes):
            summed_axes = tuple(axis for axis in range(table.ndim) if axis not in axes)
            cells = math.prod(table.shape[axis] for axis in summed_axes)
            weight = weights[attributes] / cells  # a sum over n cells has n times the variance
            sums[subset] = sums.get(subset, 0.0) + weight * np.add.reduce(table, axis=summed_axes)
            shares[subset] = shares.get(subset, 0.0) + weight
    parts = {
        subset: _centred(weighted_sum / shares[subset]) for subset, weighted_sum in sums.items()
    }  # once for all: it is linear
    if total is not None:
        parts[()] = np.array(total)
    return {
        attributes: rebuilt(
            [sizes[attribute] for attribute in attributes],
            {axes: parts[subset] for axes, subset in _subsets(attributes)},
        )
        for attributes in tables
    }


def _centred(table: Floats) -> Floats:
    """A table minus all means: the residual of its attributes."""
    for axis in range(table.ndim):
        table = table - np.add.reduce(table, axis=axis, keepdims=True) / table.shape[axis]
    return table


def _subsets(attributes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for length in range(len(attributes) + 1):
        for axes in itertools.combinations(range(len(attributes)), length):
            yield axes, tuple(attributes[axis] for axis in axes)


def _lifted(tables: Mapping[tuple[int, ...], Floats], total: float) -> dict[tuple[int, ...], Floats]:
    """The tables without negative cells: each is mixed with the uniform table, all in the same proportion."""
    share = 0.0
    for table in tables.values():
        least, alike = float(table.min()), total / table.size
        if least < 0:
            share = max(share, 1.0 if alike == 0 else -least / (alike - least))
    return {
        attributes: np.maximum((1 - share) * table + share * total / table.size, 0.0)
        for attributes, table in tables.items()
    }


def rising(totals: Floats) -> Floats:
    """For each row of running totals, the nearest that never fall nor are negative (pool adjacent violators)."""
    rising_totals = np.empty_like(totals)
    for row_index, row in enumerate(totals):
        rising_totals[row_index] = np.maximum(_isotonic(row), 0.0)
    return rising_totals


def _isotonic(row: Floats) -> Floats:
    means: list[float] = []
    counts: list[int] = []
    for value in row.tolist():
        means.append(value)
        counts.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mean, count = means.pop(), counts.pop()
            together = counts[-1] + count
            means[-1] = (means[-1] * counts[-1] + mean * count) / together
            counts[-1] = together
    return np.repeat(means, counts)


def lines_of(workload: BoundWorkload, design: Design, miss: float) -> list[dict[str, Any]]:
    """For every table: its columns, cells, the standard deviation and margin of a cell, and both by an equal split.

    For ranges, it is the border with the greatest error, compared with noise on every bin. Nothing depends on rows.
    """
    names = workload.attributes.labels
    lines: list[dict[str, Any]] = []
    equal_sd, equal_margin = _equal_split(workload, design, miss)
    for layer_index, layer in enumerate(workload.layers):
        unit, reach = float(layer.unit), layer.contribution(1).reach
        lines.extend(
            {
                "table": tuple(names[attribute] for attribute in marginal),
                "of": "n" if layer.of is None else layer.name,
                "cells": layer.layout.cells_of(marginal),
                "sd": math.sqrt(design.variance(layer_index, marginal)) * unit,
                "margin": design.margin(layer_index, marginal, miss) * unit,
                "equal_sd": equal_sd * reach * unit,
                "equal_margin": equal_margin * reach * unit,
            }
            for marginal in layer.layout.marginals
        )
    for noise in design.runs:
        table = noise.table
        lines.append(
            {
                "table": (table.column, *(names[attribute] for attribute in table.by)),
                "of": "n",
                "cells": workload.attributes.keys(table.by).size * table.bins,
                "sd": float(noise.deviations().max()),
                "margin": float(noise.margins(noise.strategy.weights()[1:], miss).max()),
                "equal_sd": equal_sd * math.sqrt(table.bins),
                "equal_margin": equal_margin * math.sqrt(table.bins),
            }
        )
    return lines


def _equal_split(workload: BoundWorkload, design: Design, miss: float) -> tuple[float, float]:
    """The standard deviation and margin of every cell, or bin, if every table got an equal part of the promise."""
    tables = sum(len(layer.layout.marginals) for layer in workload.layers) + len(workload.ranges)
    changed = 2 if workload.neighbours == "change-one" else 1
    if isinstance(design, LaplaceDesign):
        scale = tables * changed * float(workload.most) / float(design.epsilon)
        return scale * math.sqrt(2), laplace_margin(scale, 1, miss)
    scale = math.sqrt(tables * changed) * float(workload.most) * float(design.event.noise_multiplier)  # type: ignore[attr-defined]  # (Gaussian)
    return scale, normal_margin(scale, miss)


GROUPING = "grouping"


def stacked_columns(tables: Sequence[tuple[str, Answer]], order: Sequence[str]) -> list[Column]:
    """The columns of all tables, one table below the other, in the given order; the first column names the table."""
    names: chain[str] = chain.from_iterable([name] * len(table) for name, table in tables)
    lengths = [len(table) for _, table in tables]
    columns_by_name = [{column.name: column for column in table.columns} for _, table in tables]
    stacked = [Column(GROUPING, list(names), kind="text")]
    for name in order:
        columns = [table_columns.get(name) for table_columns in columns_by_name]
        present = [column for column in columns if column is not None]
        if not present:
            continue
        values = _stacked_below(lengths, [None if column is None else column.values for column in columns])
        if not present[0].has_interval:
            stacked.append(Column(name, values, kind=_kind(present)))
            continue
        low = _stacked_below(lengths, [None if column is None else column.low for column in columns])
        high = _stacked_below(lengths, [None if column is None else column.high for column in columns])
        ends = [None if column is None else column.noise or (column.low, column.high) for column in columns]
        noise = tuple(_stacked_below(lengths, [None if end is None else end[side] for end in ends]) for side in (0, 1))
        below, above = (any(column.open_sides[side] for column in present) for side in (0, 1))
        stacked.append(
            Column(
                name,
                values,
                low,
                high,
                kind=_kind(present),
                noise=(noise[0], noise[1]) if any(column.noise is not None for column in present) else None,
                open_sides=(below, above),
            )
        )
    return stacked


def _kind(columns: Sequence[Column]) -> Kind:
    return next((column.kind for column in columns if column.kind != "nothing"), "nothing")


def _stacked_below(lengths: Sequence[int], parts: Sequence[Values | None]) -> Listed:
    """Concatenate values: an array if all of them are numbers, else a list, with None for missing ones."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.concatenate(arrays)
    listed: list[Value] = []
    for length, part in zip(lengths, parts, strict=True):
        listed.extend([None] * length if part is None else plain(part))
    return listed


class StackedFaces(ABC):
    """Tables that can be stacked into one answer, and exported like one."""

    @abstractmethod
    def stacked(self) -> Answer:
        """All tables as one, as SQL stacks GROUPING SETS: a column that a table lacks is missing."""

    def to_dict(self) -> dict[str, list[Any]]:
        """All tables stacked, as lists by column."""
        return self.stacked().to_dict()

    def to_json(self) -> str:
        """All tables stacked, and where they came from, as JSON; `gt.answers.Answer.from_json` reads it."""
        return self.stacked().to_json()

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """All tables stacked, as CSV: written to `path`, or returned if there is none."""
        return self.stacked().to_csv(path)

    def to_arrow(self) -> Any:
        """All tables stacked, as a pyarrow Table."""
        return self.stacked().to_arrow()

    def to_polars(self) -> Any:
        """All tables stacked, as a polars DataFrame."""
        return self.stacked().to_polars()

    def to_pandas(self) -> Any:
        """All tables stacked, as a pandas DataFrame."""
        return self.stacked().to_pandas()

    def to_parquet(self, path: str | Path) -> None:
        """All tables stacked, as a Parquet file."""
        self.stacked().to_parquet(path)


_SHOWN = 3  # tables on a page
_ROWS = 5  # of each
_DRAWN = 6  # tables in one picture
POST_PROCESSED = "_consistent is post-processing: not negative, and sums agree; it is not unbiased"


@final
class WorkloadAnswer(StackedFaces):
    """Tables by the names of their columns: `r["age", "sex"]`, `r["age"]`, and `r[()]` for the total.

    Each is an `Answer`: `n` is unbiased, with an interval from the known covariance of the noise; `n_consistent` is
    never negative, and its sums agree between tables. Every table over some of the columns of a requested table is
    there too. `between` answers one range, and `r["income"]` has all of them.
    """

    def __init__(self, release: WorkloadRelease, confidence: Confidence, provenance: Mapping[str, Any]) -> None:
        self._workload, self._design = release.workload, release.design
        self._layers, self._runs = release.layers, release.runs
        self._provenance = dict(provenance)
        self._left_out: LeftOut | None = provenance["left_out"]
        self.confidence = confidence
        self.guarantee = provenance["guarantee"]
        self.cost = provenance["cost"]
        self.release_id: str = provenance["release_id"]
        self.notes: tuple[str, ...] = provenance["notes"]

    # -- tables -------------------------------------------------------------------------------------------------

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of every requested table."""
        return (
            *self._marginals,
            *(self._names_of_range(range_index) for range_index in range(len(self._workload.ranges))),
        )

    @property
    def _marginals(self) -> list[tuple[str, ...]]:
        marginals = (marginal for layer in self._workload.layers for marginal in layer.layout.marginals)
        return [tuple(self._labels[attribute] for attribute in marginal) for marginal in dict.fromkeys(marginals)]

    @property
    def _labels(self) -> tuple[str, ...]:
        return self._workload.attributes.labels

    def _names_of_range(self, range_index: int) -> tuple[str, ...]:
        range_table = self._workload.ranges[range_index]
        return (range_table.column, *(self._labels[attribute] for attribute in range_table.by))

    def __getitem__(self, columns: str | tuple[str, ...]) -> Answer:
        wanted = tuple(columns) if isinstance(columns, tuple | list) else (columns,)
        for range_index in range(len(self._workload.ranges)):
            names = self._names_of_range(range_index)
            if set(wanted) == set(names) and len(names) == len(wanted):
                return self._range(range_index)
        return self._table(wanted)

    def __iter__(self) -> Iterator[Answer]:
        return (self[columns] for columns in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def _table(self, wanted: tuple[str, ...]) -> Answer:
        attributes = self._attributes_of(wanted)
        layers = [
            layer_index for layer_index in range(len(self._workload.layers)) if self._is_known(layer_index, attributes)
        ]
        if not layers:
            listed = ", ".join(str(names) for names in self.tables[:6])
            raise NotFound(
                f"no table of {', '.join(wanted) or 'the total'} was asked for", hint=f"there are {listed}, …"
            )
        columns = self._keys(wanted)
        order = self._order(attributes, wanted)
        for layer in layers:
            columns += self._estimates(layer, attributes, order)
        return Answer(columns, **self._provenance, confidence=self.confidence)

    def _estimates(self, layer: int, attributes: tuple[int, ...], order: npt.NDArray[np.int64]) -> list[Column]:
        measured_layer = self._workload.layers[layer]
        unit = float(measured_layer.unit)
        values = self._design.estimate(layer, attributes, self._layers[layer])[order] * unit
        margin = self._design.margin(layer, attributes, self._miss) * unit
        ends = measured_layer.contribution(1)
        noisy = Column(measured_layer.name, values, values - margin, values + margin)
        columns = [noisy.truncated(self._left_out, ends.least * unit, ends.most * unit)]
        if measured_layer.of is None and self._agrees:
            columns.append(Column(f"{measured_layer.name}_consistent", self._consistent(attributes)[order]))
        return columns

    def _consistent(self, attributes: tuple[int, ...]) -> Floats:
        table: Floats = self._consistent_counts.table(attributes)
        return table

    @cached_property
    def _agrees(self) -> bool:
        """Whether tables are few enough to be made consistent."""
        layer = next(layer for layer in self._workload.layers if layer.of is None)
        return sum(map(layer.layout.cells_of, layer.layout.largest())) <= MOST_CELLS

    @cached_property
    def _consistent_counts(self) -> Any:
        layer = next(index for index, candidate in enumerate(self._workload.layers) if candidate.of is None)
        layout = self._workload.layers[layer].layout
        largest = layout.largest()
        tables = {attributes: self._design.estimate(layer, attributes, self._layers[layer]) for attributes in largest}
        variances = {attributes: self._design.variance(layer, attributes) for attributes in largest}
        return consistent_tables(layout.sizes, tables, variances)

    def _is_known(self, layer: int, attributes: tuple[int, ...]) -> bool:
        return any(set(attributes) <= set(marginal) for marginal in self._workload.layers[layer].layout.marginals)

    def _attributes_of(self, wanted: tuple[str, ...]) -> tuple[int, ...]:
        for label in wanted:
            if label not in self._labels or wanted.count(label) > 1:
                tables = ", ".join(" × ".join(names) or "() for the total" for names in self.tables[:12])
                near = did_you_mean(
                    str(label), [*self._labels, *(range_table.column for range_table in self._workload.ranges)]
                )
                raise NotFound(f"there is no table of {label!r}", hint=f"{near}the tables are {tables}")
        return tuple(sorted(map(self._labels.index, wanted)))

    def _order(self, attributes: tuple[int, ...], wanted: tuple[str, ...]) -> npt.NDArray[np.int64]:
        """The indices of the cells, in the requested order of columns."""
        sizes = [self._workload.attributes.sizes[attribute] for attribute in attributes]
        names = [self._labels[attribute] for attribute in attributes]
        cells = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
        return cells.transpose([names.index(label) for label in wanted]).reshape(-1)

    def _keys(self, wanted: tuple[str, ...]) -> list[Column]:
        """The columns of all combinations of some attributes, the last one fastest."""
        attributes, schema = self._workload.attributes, self._workload.question.relation.schema
        columns = []
        before, after = 1, math.prod(attributes.sizes[self._labels.index(label)] for label in wanted)
        for label in wanted:
            attribute = self._labels.index(label)
            after //= attributes.sizes[attribute]
            once = [key for value in attributes.values[attribute] for key in itertools.repeat(face(value), after)]
            kind = FACES[ColumnReference(attributes.names[attribute]).domain(schema).kind]
            columns.append(Column(label, once * before, kind=kind))
            before *= attributes.sizes[attribute]
        return columns

    # -- ranges -------------------------------------------------------------------------------------------------

    def _range(self, range_index: int) -> Answer:
        """How many rows lie below every border, in every combination of the other columns."""
        noise = self._design.runs[range_index]
        range_table = noise.table
        totals = noise.totals(self._runs[range_index])[:, 1:]
        margins = np.tile(noise.margins(noise.strategy.weights()[1:], self._miss), len(totals))
        keys = [
            Column(column.name, [value for value in column for _ in range(range_table.bins)], kind=column.kind)
            for column in self._keys(tuple(self._labels[attribute] for attribute in range_table.by))
        ]
        borders = Column(_below(range_table.column), range_table.borders() * len(totals))
        values = totals.reshape(-1)
        columns = [
            *keys,
            borders,
            Column("n", values, values - margins, values + margins).truncated(self._left_out),
            Column("n_consistent", rising(totals).reshape(-1)),
        ]
        return Answer(columns, **self._provenance, confidence=self.confidence)

    def between(self, column: str, low: Any, high: Any, **by: Any) -> Answer:
        """How many rows have low ≤ column < high, both borders of its bins; `by` chooses values of other columns."""
        range_index = self._range_of(column, by)
        noise = self._design.runs[range_index]
        borders = [noise.table.start(), *noise.table.borders()]
        ends = [_border(borders, name, border) for name, border in (("low", low), ("high", high))]
        if ends[0] >= ends[1]:
            raise InvalidParameter("high", high, "is not above low")
        weights = noise.strategy.weights()
        row = self._key_of(noise, by)
        total = noise.totals(self._runs[range_index])[row]
        value = float(total[ends[1]] - total[ends[0]])
        margin = float(noise.margins((weights[ends[1]] - weights[ends[0]])[np.newaxis, :], self._miss)[0])
        noisy = Column("n", [value], [value - margin], [value + margin])
        return Answer([noisy.truncated(self._left_out)], **self._provenance, confidence=self.confidence)

    def _range_of(self, column: str, by: Mapping[str, Any]) -> int:
        for range_index, range_table in enumerate(self._workload.ranges):
            if range_table.column == column and {self._labels[attribute] for attribute in range_table.by} == set(by):
                return range_index
        range_names = "; ".join(
            ", ".join(self._names_of_range(range_index)) for range_index in range(len(self._workload.ranges))
        )
        raise NotFound(
            f"no ranges of {column!r} by these columns were asked for", hint=f"there are {range_names or 'none'}"
        )

    def _key_of(self, noise: RangeNoise, by: Mapping[str, Any]) -> int:
        code = 0
        for attribute in noise.table.by:
            name, values = self._labels[attribute], self._workload.attributes.values[attribute]
            if by[name] not in values:
                raise NotFound(f"{by[name]!r} is not a declared value of `{name}`")
            code = code * len(values) + values.index(by[name])
        return code

    # -- stacked ------------------------------------------------------------------------------------------------

    def stacked(self) -> Answer:
        """All tables as one, as SQL stacks GROUPING SETS: a column that a table lacks is missing.

        `grouping` names the columns of each table, because a missing value may also be a declared one. Ranges have one
        row for each border, in a column such as `income_below`: `n` is how many rows lie below it.
        """
        tables = [(" × ".join(marginal) or "total", self._table(marginal)) for marginal in self._marginals]
        for range_index in range(len(self._workload.ranges)):
            column, *by = self._names_of_range(range_index)
            tables.append((" × ".join([_below(column), *by]), self._range(range_index)))
        return Answer(stacked_columns(tables, self.stacking), **self._provenance, confidence=self.confidence)

    @property
    def stacking(self) -> list[str]:
        """The columns of all tables stacked, in order."""
        order = [*self._labels, *(_below(range_table.column) for range_table in self._workload.ranges)]
        for layer in self._workload.layers:
            order += [layer.name, *([f"{layer.name}_consistent"] if layer.of is None else [])]
        order += ["n", "n_consistent"] if self._workload.ranges else []
        return list(dict.fromkeys(order))

    # -- all together -------------------------------------------------------------------------------------------

    @cached_property
    def _miss(self) -> float:
        return LeftOut.confidence_of_noise(self._left_out, self.confidence).miss(self._workload.cells)

    def lines(self) -> list[dict[str, Any]]:
        """For every table: its cells, the standard deviation and margin of a cell, and both by an equal split."""
        return lines_of(self._workload, self._design, self._miss)

    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """An altair chart of the tables, the first six of many, with their intervals; a path saves it.

        `answer["age"].plot()` draws one table, and the quote's `plot` how exact all of them are.
        """
        from giveortake import plot  # noqa: PLC0415 (heavy)

        named = [(" × ".join(columns) or "total", self[columns]) for columns in self.tables[:_DRAWN]]
        remaining = len(self.tables) - len(named)
        return plot.titled_or_saved(lambda words: plot.panels(named, more=remaining, title=words), title)

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(self._headline())}</p>"]
        for columns in self.tables[:_SHOWN]:
            heading = html.escape(" × ".join(columns) or "total")
            parts.append(
                f"<details open><summary>{heading}</summary>{as_html(self[columns], _ROWS, foot=False)}</details>"
            )
        parts += [f"<p><small>{html.escape(line)}</small></p>" for line in self._closing_lines()]
        return "".join(parts)

    def __repr__(self) -> str:
        lines = [f"<{self._headline()}"]
        for columns in self.tables[:_SHOWN]:
            table = self[columns]
            lines += ["", " × ".join(columns) or "total", *head_lines(table, _ROWS)]
            lines += [f"… {counted(len(table) - _ROWS, 'more row')}"] if len(table) > _ROWS else []
        return "\n".join([*lines, "", *self._closing_lines()]) + ">"

    def _headline(self) -> str:
        together = "each" if self.confidence.over == "cell" else "all together"
        limit = None if self._left_out is None else self._left_out.rows
        scope = FOR_ALL_ROWS if limit else ""
        is_open = self._left_out is not None and limit is None
        rows = f"{rows_counted(self._provenance['caps'], several=True)}; " if is_open else ""
        sure = f"{rows}intervals hold with {percent(self.confidence)} {together}{scope}"
        return (
            f"WorkloadAnswer: {counted(len(self), 'table')}; {self._design.name}; {sure}; cost {shown_cost(self.cost)}"
        )

    def _closing_lines(self) -> list[str]:
        """A line about the tables that are not shown, and the notes."""
        examples = [", ".join(repr(name) for name in columns) or "()" for columns in self.tables[_SHOWN : 2 * _SHOWN]]
        remaining = len(self) - _SHOWN
        remaining_lines = (
            [f"and {counted(remaining, 'more table')}, such as r[{'], r['.join(examples)}]"] if remaining > 0 else []
        )
        return [*remaining_lines, *self.notes]


def _below(column: str) -> str:
    """The name of the column of borders."""
    return f"{column}_below"


def _border(borders: list[Any], name: str, value: Any) -> int:
    """The index of a border; dates may also be written as text."""
    stated_value = value
    if isinstance(value, str) and isinstance(borders[0], dt.date):
        try:
            value = dt.date.fromisoformat(value)
        except ValueError:
            raise InvalidParameter(name, stated_value, "is not a date", hint=f'"{borders[0]}"') from None
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        value = value.date()
    try:
        index = bisect.bisect_left(borders, value)
    except TypeError:
        raise InvalidParameter(
            name, stated_value, "is not a border of the bins", hint=f"such as {borders[0]!r}"
        ) from None
    if index == len(borders) or borders[index] != value:
        near = [str(border) for border in borders[max(index - 1, 0) : index + 1]]
        raise InvalidParameter(
            name, stated_value, "is not a border of the bins", hint=f"the nearest are {' and '.join(near)}"
        )
    return index
