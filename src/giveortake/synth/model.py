"""A fitted model of a table, which can be asked, sampled and saved for free; its columns, and rows drawn from it.

Rows are made clique by clique. Within every group of rows that agree on what is known already, new values get their
expected numbers of rows, rounded up or down, which makes samples much closer to the model than independent draws.
*Which* rows of the group get which value is a fresh permutation for every clique. If it were the order of the rows, one
clique's order would be the next one's, and columns that the model has no relation between would be correlated.
"""

from __future__ import annotations

import datetime as dt
import json
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.compile.postprocessing import FACES
from giveortake.errors import InvalidParameter, NotFound, did_you_mean
from giveortake.exact import rational, whole
from giveortake.plan import Kind
from giveortake.plan.expressions import in_days
from giveortake.randomness import SYSTEM_ENTROPY, uniform_integers
from giveortake.synth.junction_tree import JunctionTree
from giveortake.synth.maximum_likelihood import with_zeros

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.answers.column import Kind as ShownKind
    from giveortake.plan import Value
    from giveortake.randomness import Entropy
    from giveortake.synth.junction_tree import Calibrated, Columns
    from giveortake.synth.maximum_likelihood import Fitted

    Indices: TypeAlias = npt.NDArray[np.integer[Any]]
    SampledCodes: TypeAlias = npt.NDArray[np.int32]
    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]


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
        """How many categories or bins it has."""
        if self.categories is not None:
            return len(self.categories)
        assert self.edges is not None  # noqa: S101 (one of the two is there)
        return len(self.edges) - 1 + self.nullable

    @property
    def shown_kind(self) -> ShownKind:
        """The kind of its values in tables."""
        return FACES[self.kind]

    def labels(self) -> list[Any]:
        """The labels of a table of counts: categories, or bins in words."""
        if self.categories is not None:
            return [_table_value(category) for category in self.categories]
        assert self.edges is not None  # noqa: S101 (one of the two is there)
        ends = [dt.date.fromordinal(int(edge)) if self.kind is Kind.DATE else _number(edge) for edge in self.edges]
        alone, last = self.alone(), len(ends) - 2
        bins: list[Any] = []
        for index, (low, high) in enumerate(pairwise(ends)):
            opened, closed = "(" if index and alone[index - 1] else "[", "]" if index == last else ")"
            bins.append(f"[{low}]" if alone[index] else f"{opened}{low}, {high}{closed}")
        return [*bins, None] if self.nullable else bins

    def alone(self) -> list[bool]:
        """For each bin, whether it holds one number, an edge that is listed twice."""
        return [low == high for low, high in pairwise(self.edges or ())]

    def values(self, indices: Indices, entropy: Entropy) -> Any:
        """Values for indices: categories as they are, numbers drawn evenly from their bins."""
        if self.categories is not None:
            return self._of_categories(indices)
        assert self.edges is not None  # noqa: S101 (one of the two is there)
        missing = indices >= len(self.edges) - 1
        inside = np.minimum(indices, len(self.edges) - 2)
        drawn = self._within(inside, entropy)
        if not missing.any():
            return drawn
        return [
            None if is_missing else value for value, is_missing in zip(drawn.tolist(), missing.tolist(), strict=True)
        ]

    def _of_categories(self, indices: Indices) -> Any:
        listed = [_table_value(category) for category in self.categories or ()]
        if self.kind is Kind.INTEGER and all(type(category) is int for category in listed):
            return np.array(listed, dtype=np.int64)[indices]
        if self.kind is Kind.BOOLEAN and None not in listed:
            return np.array(listed, dtype=bool)[indices]
        return [listed[index] for index in indices.tolist()]

    def _within(self, bins: Indices, entropy: Entropy) -> npt.NDArray[Any]:
        """Draw numbers from their bins; whole numbers stay whole, and multiples of the step stay multiples."""
        assert self.edges is not None  # noqa: S101 (asked only then)
        share = uniform_integers(_DIGITS, bins.size, entropy) / _DIGITS
        if self.kind is Kind.REAL:
            ends = np.array([float(edge) for edge in self.edges])
            return np.asarray(ends[bins] + share * (ends[bins + 1] - ends[bins]))
        step = Fraction(1) if self.step is None else self.step
        ceilings = [-(-edge // step) for edge in self.edges]
        alone = self.alone()
        for index, edge in enumerate(self.edges[1:], start=1):
            if alone[index - 1] or index == len(alone):  # the last edge belongs to the last bin
                ceilings[index] = edge // step + 1
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
            "categories": None if self.categories is None else [_json_value(category) for category in self.categories],
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
            None if categories is None else tuple(_value_from_json(kind, category) for category in categories),
            None if edges is None else tuple(Fraction(edge) for edge in edges),
            bool(content["nullable"]),
            None if step is None else Fraction(step),
        )

    def index_of(self, value: object) -> int:
        """The index of a category."""
        listed = self.categories or ()
        for index, category in enumerate(listed):
            if type(category) is type(value) and category == value:
                return index
        raise InvalidParameter(f"zeros[{self.name!r}]", value, "is not a declared category", hint=f"there are {listed}")


def edge_of(name: str, kind: Kind, edge: Any) -> Fraction:
    """Read an edge: a number, or a date as days."""
    if kind is not Kind.DATE:
        return rational(name, edge)
    if isinstance(edge, str):
        with suppress(ValueError):
            edge = dt.date.fromisoformat(edge)
    if not isinstance(edge, dt.date):
        raise InvalidParameter(name, edge, "is not a date", hint='datetime.date(2024, 1, 31), or "2024-01-31"')
    return in_days(edge)


def _number(edge: Fraction) -> int | float:
    return edge.numerator if edge.denominator == 1 else float(edge)


def _table_value(value: Value) -> Any:
    return Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else value


def _json_value(value: Value) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _value_from_json(kind: Kind, value: Any) -> Value:
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
            plain_value: Value = value
            return plain_value


_SAMPLE_DIGITS = 1 << 62


def systematic_sample(calibrated: Calibrated, rows: int, entropy: Entropy = SYSTEM_ENTROPY) -> SampledCodes:
    """A sample of `rows` rows; each column holds the indices of its values."""
    tree = calibrated.tree
    table = np.zeros((rows, len(tree.sizes)), dtype=np.int32)
    for index in tree.order:
        known = tree.separators[index]
        clique = tree.cliques[index]
        new = tuple(column for column in clique if column not in known)
        groups = _codes(table, known, tree.sizes)
        belief = np.transpose(calibrated.beliefs[index], [clique.index(column) for column in (*known, *new)])
        chances = np.maximum(belief.reshape(int(np.prod([tree.sizes[column] for column in known])), -1), 0.0)
        codes = _drawn(groups, chances, entropy)
        for column in reversed(new):
            codes, table[:, column] = np.divmod(codes, tree.sizes[column])
    return table


def _codes(table: SampledCodes, columns: tuple[int, ...], sizes: tuple[int, ...]) -> Integers:
    codes = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        codes = codes * sizes[column] + table[:, column]
    return codes


def _drawn(groups: Integers, chances: Floats, entropy: Entropy) -> Integers:
    """A value for every row, by the probabilities of its group."""
    count, values = chances.shape
    sums = chances.sum(axis=1, keepdims=True)
    cumulated = np.cumsum(np.divide(chances, sums, out=np.full_like(chances, 1 / values), where=sums > 0), axis=1)
    cumulated /= cumulated[:, -1:]
    levels = _levels(groups, count, entropy)
    stacked = (cumulated + np.arange(count)[:, np.newaxis]).ravel()
    indices = np.searchsorted(stacked, groups + levels, side="right") - groups * values
    indices = np.clip(indices, 0, values - 1)
    return _possible(indices, groups, chances)


def _levels(groups: Integers, count: int, entropy: Entropy) -> Floats:
    """For every row a number in [0, 1): those of a group are evenly spaced, in a random order."""
    rows = len(groups)
    shuffled = np.argsort(uniform_integers(_SAMPLE_DIGITS, rows, entropy), kind="stable")
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    ordered = groups[order]
    sizes = np.bincount(ordered, minlength=count)
    first = np.cumsum(sizes) - sizes
    offsets = uniform_integers(_SAMPLE_DIGITS, count, entropy) / _SAMPLE_DIGITS
    levels = np.empty(rows)
    levels[order] = (np.arange(rows) - first[ordered] + offsets[ordered]) / sizes[ordered]
    nearly: Floats = np.minimum(levels, 1 - 1e-12)
    return nearly


def _possible(indices: Integers, groups: Integers, chances: Floats) -> Integers:
    """Replace cells of probability zero, which rounding may have led to, by the likeliest of the group."""
    impossible = chances[groups, indices] <= 0
    if impossible.any():
        indices = np.where(impossible, chances.argmax(axis=1)[groups], indices)
    return indices


FORMAT = "giveortake model 1"
MOST_CELLS = 10**7  # of a marginal that is asked of a model
MOST_ROWS = 10**8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A distribution over declared columns, and the number of rows that was released.

    It is made of released counts alone: whatever is computed from it is post-processing, and costs nothing.
    """

    columns: tuple[ModelColumn, ...]
    total: float
    factors: Mapping[Columns, Floats]
    zeros: Mapping[Columns, Floats]
    calibrated: Calibrated
    together: tuple[Columns, ...] = ()

    @classmethod
    def from_fit(cls, columns: Sequence[ModelColumn], fitted: Fitted, zeros: Mapping[Columns, Floats]) -> Model:
        """The model that a fit has found."""
        cliques = tuple(fitted.tree.cliques)
        return cls(tuple(columns), fitted.total, dict(fitted.factors), dict(zeros), fitted.calibrated, cliques)

    def counts(self, *names: str) -> Floats:
        """The expected numbers of rows for all combinations of some columns, in the order in which they are named."""
        column_indices = [self._column_index(name) for name in names]
        if not column_indices or len(set(column_indices)) < len(column_indices):
            raise InvalidParameter("columns", names, "is empty, or names a column twice")
        cells = int(np.prod([self.columns[column_index].size for column_index in column_indices], dtype=np.float64))
        if cells > MOST_CELLS:
            raise InvalidParameter(
                "columns", names, f"have {cells:,} cells, more than {MOST_CELLS:,}", hint="name fewer columns"
            )
        ordered = tuple(sorted(column_indices))
        table = self.calibrated.marginal(ordered) * self.total
        return np.transpose(table, [ordered.index(column_index) for column_index in column_indices])

    def marginal(self, *names: str) -> Answer:
        """The expected counts as a table: one row for each combination, and its expected number of rows `n`."""
        table = self.counts(*names)
        columns = []
        for axis, name in enumerate(names):
            column = self.columns[self._column_index(name)]
            labels = column.labels()
            repeated = np.broadcast_to(
                np.arange(column.size).reshape([-1 if other_axis == axis else 1 for other_axis in range(table.ndim)]),
                table.shape,
            )
            kind = "text" if column.edges is not None else column.shown_kind
            columns.append(Column(name, [labels[index] for index in repeated.ravel().tolist()], kind=kind))
        return Answer([*columns, Column("n", table.ravel())], notes=("expected by a model: post-processing, no cost",))

    def sample(self, rows: int | None = None, entropy: Entropy = SYSTEM_ENTROPY) -> Answer:
        """Draw rows, as many as were released unless `rows` is stated, by the operating system's randomness."""
        count = round(self.total) if rows is None else whole("rows", rows, least=0)
        if count > MOST_ROWS:
            raise InvalidParameter("rows", count, f"are more than {MOST_ROWS:,}", hint="draw some at a time")
        codes = systematic_sample(self.calibrated, count, entropy)
        columns = [
            Column(column.name, column.values(codes[:, column_index], entropy), kind=column.shown_kind)
            for column_index, column in enumerate(self.columns)
        ]
        return Answer(columns, notes=("synthetic rows: none of them is a person's",))

    def save(self, path: str | Path) -> None:
        """Write the model to a file, of numbers and JSON alone."""
        arrays = {}
        groups: dict[str, list[list[int]]] = {"factors": [], "zeros": []}
        for name, tables in (("factors", self.factors), ("zeros", self.zeros)):
            for columns, table in tables.items():
                arrays[f"{name}{len(groups[name])}"] = table
                groups[name].append(list(columns))
        document = {
            "format": FORMAT,
            "columns": [column.to_json() for column in self.columns],
            "total": self.total,
            "together": [list(group) for group in self.together],
            **groups,
        }
        with Path(path).open("wb") as file:
            np.savez_compressed(file, model=np.array(json.dumps(document, ensure_ascii=False)), **arrays)  # type: ignore[arg-type]  # (named arrays)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read what `save` wrote. The file is never run: it holds numbers and JSON."""
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                document: Any = json.loads(str(file["model"]))
                if document["format"] != FORMAT:
                    raise InvalidParameter("path", str(path), f"holds a model of another format: {document['format']}")
                columns = tuple(ModelColumn.from_json(fields) for fields in document["columns"])
                factors, zeros = (
                    {tuple(group): np.array(file[f"{name}{index}"]) for index, group in enumerate(document[name])}
                    for name in ("factors", "zeros")
                )
        except FileNotFoundError:
            raise NotFound(f"there is no file {str(path)!r}") from None
        except (KeyError, TypeError, ValueError, OSError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter("path", str(path), "is not a saved model") from None
        together = tuple(tuple(group) for group in document["together"])
        tree = JunctionTree.from_groups([column.size for column in columns], [*factors, *zeros, *together])
        calibrated, _ = tree.calibrate(with_zeros(factors, zeros))
        return cls(columns, float(document["total"]), factors, zeros, calibrated, together)

    def _column_index(self, name: str) -> int:
        names = [column.name for column in self.columns]
        if name not in names:
            raise NotFound(
                f"the model has no column {name!r}", hint=f"{did_you_mean(name, names)}it has {', '.join(names)}"
            )
        return names.index(name)

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"<Model of {names}: about {round(self.total):,} rows, {self.calibrated.tree.cells:,} cells>"
