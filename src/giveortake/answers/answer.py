"""Answers and estimates: values with intervals, and where they came from; large answers as a stream; differences."""

from __future__ import annotations

import csv
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, final

import numpy as np

from giveortake.answers import arrow, codec, render
from giveortake.answers.column import NUMBERS, Column, Margins, Value, plain
from giveortake.answers.render import as_markdown, printable, shown_cells, with_beyond
from giveortake.answers.terms import Confidence
from giveortake.errors import InvalidParameter, NotFound, QueryRefused, Unprovable, package
from giveortake.exact import counted
from giveortake.progress import rows_shown

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    from giveortake.answers.column import Values
    from giveortake.answers.terms import Caps, LeftOut, SpendTerms


_UNSTATED: dict[str, Any] = {
    **dict.fromkeys(("guarantee", "cost", "release_id", "caps", "left_out")),
    **dict.fromkeys(("citations", "recipe", "notes"), ()),
    "confidence": Fraction(95, 100),
    "entropy": "",
}
_UNSEEN = r"[\s\x00-\x1f\x7f-\xa0\u200b-\u200f\u2060\ufeff]*"  # characters that some spreadsheets skip at the beginning
_FORMULA = re.compile(rf"^(?=[\t\r\n])|(?:^|(?<=[;\t]))(?={_UNSEEN}[-=+@＝＋－＠])")  # where a formula begins


class Released(ABC):
    """Released values, how sure they are, what was promised and what they cost; they convert to any kind of table."""

    __slots__ = codec.NAMES

    stored_name: ClassVar[str]  # in JSON
    guarantee: Any
    cost: Any
    release_id: str | None
    confidence: Confidence
    citations: tuple[str, ...]
    recipe: Mapping[str, object] | tuple[str, ...]
    entropy: str
    notes: tuple[str, ...]
    caps: Caps | None  # how much of a person counts; None if everything does
    left_out: LeftOut | None  # how much the caps leave out, as far as that was released

    def __init__(self, **provenance: Any) -> None:
        stated = codec.Provenance(**{**_UNSTATED, **provenance})
        recipe = stated.recipe
        self._keep(**{name: getattr(stated, name) for name in codec.NAMES})
        self._keep(
            confidence=Confidence(stated.confidence),
            citations=tuple(stated.citations),
            recipe=MappingProxyType(dict(recipe)) if isinstance(recipe, Mapping) else tuple(recipe),
            notes=tuple(stated.notes),
        )

    def _keep(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} of an answer cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} of an answer cannot be deleted")

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns, keys first, in order."""

    @classmethod
    @abstractmethod
    def of_columns(cls, columns: Sequence[Column], provenance: dict[str, Any]) -> Self:
        """Make an object of this kind from its columns and its provenance."""

    @property
    def margins(self) -> dict[str, Margins]:
        """The two parts of the margins of every estimate, by its name: `noise` and `truncation`."""
        return {column.name: column.apart for column in self.columns if column.has_interval}

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """The rows, as `rows` lists them: so that `pandas.DataFrame(answer)` is the table."""
        return iter(self.rows())

    # -- as other tables --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[Value]]:
        """Lists by column; an estimate `n` comes with `n_low` and `n_high`."""
        return {name: list(plain(values)) for name, values in self._parts().items()}

    def rows(self) -> list[dict[str, Value]]:
        """One dict for each row, with the ends of intervals."""
        parts = self.to_dict()
        return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]

    def to_json(self) -> str:
        """The table and its provenance as JSON, which `from_json` reads.

        In `columns`, numbers that are not finite are texts, as decimals, days and times are.
        """
        return codec.to_json(self, self.stored_name)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the answer that `to_json` wrote. It equals that answer, but cannot be refined."""
        return cls.of_columns(*codec.from_json(text, cls.stored_name))

    def to_parquet(self, path: str | Path) -> None:
        """Write the table to a Parquet file, with the ends of intervals as columns.

        Its metadata `giveortake` holds, as JSON, what `to_json` holds besides the numbers: caps, cost, confidence, the
        id of the release and so on. A CSV file has no place for it.
        """
        from giveortake.engines.duckdb.tables import write_parquet  # noqa: PLC0415 (upwards, and heavy)

        write_parquet(self, Path(path), codec.provenance_of(self))

    def to_markdown(self) -> str:
        """All rows as a table in Markdown, with what was promised below. No text of the data is taken for markup."""
        return as_markdown(self)

    def to_html(self) -> str:
        """All rows as a table in HTML, as a notebook shows the first of them. Every text is escaped."""
        return render.as_html(self, rows=len(self))

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """The table as CSV: written to `path`, or returned if there is none. A missing value is an empty cell.

        Where a spreadsheet would run a text as a formula, it gets an apostrophe: before `=`, `+`, `-` or `@` at its
        beginning, or behind a semicolon or a tab, which some of them take for the end of a cell. Numbers stay numbers.
        Other formats hold every text as it is.
        """
        parts = self.to_dict()
        out = _Lines()
        writer = csv.writer(out)
        writer.writerow(map(_inert, parts))
        writer.writerows(map(_inert, row) for row in zip(*parts.values(), strict=True))
        if path is None:
            return "".join(out.lines)
        Path(path).write_text("".join(out.lines), encoding="utf-8", newline="")
        return None

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        try:
            import polars  # noqa: PLC0415 (heavy)
        except ImportError:
            raise _without("polars") from None

        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """A pandas DataFrame; columns of integers or truth values with missing ones get pandas' nullable types."""
        try:
            import pandas  # noqa: PLC0415 (heavy)
        except ImportError:
            raise _without("pandas") from None

        nullable = {"integer": "Int64", "truth": "boolean"}
        kinds = {name: column.kind for column in self.columns for name in column.parts()}
        arrays = {}
        for name, values in self._parts().items():
            listed = plain(values)
            missing = not isinstance(values, np.ndarray) and None in listed
            fits = kinds[name] != "integer" or all(-(2**63) <= v < 2**63 for v in listed if isinstance(v, int))
            dtype = nullable.get(kinds[name]) if missing and fits else None
            arrays[name] = pandas.array(listed, dtype=dtype) if dtype else values
        return pandas.DataFrame(arrays, columns=list(arrays))

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        try:
            import pyarrow  # noqa: PLC0415 (heavy)
        except ImportError:
            raise _without("pyarrow") from None

        return pyarrow.RecordBatchReader.from_stream(self).read_all()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow C stream, for every library that reads one; needs no Arrow library here."""
        parts = [(name, column.kind, values) for column in self.columns for name, values in column.parts().items()]
        return arrow.stream(parts)

    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """A chart of the values and their intervals, in the form that suits the keys; needs the extra `[plot]`.

        If a path is given instead of the title, `a.plot("visits.svg")`, the picture is saved there too.
        """
        from giveortake import plot  # noqa: PLC0415 (the one import upwards: charts are heavy and optional)

        return plot.titled_or_saved(lambda words: plot.intervals(self, title=words), title)

    # -- as text ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return render.as_text(self)

    def __rich__(self) -> Any:
        return render.as_rich(self)

    def _repr_html_(self) -> str:
        return render.as_html(self)

    # -- comparing --------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Released) or type(other) is not type(self):
            return NotImplemented
        return self.columns == other.columns and all(
            getattr(self, name) == getattr(other, name) for name in Released.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.columns, self.release_id, self.confidence))

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies and other processes: everything but the way to refine the answer."""
        provenance = {name: getattr(self, name) for name in Released.__slots__}
        if isinstance(self.recipe, Mapping):
            provenance["recipe"] = dict(self.recipe)
        return _restored, (type(self), self.columns, provenance)

    def _parts(self) -> dict[str, Values]:
        return {name: values for column in self.columns for name, values in column.parts().items()}


@final
class Remark(str):
    """A note that follows from the released numbers, and not from the question alone: another draw may lack it."""

    __slots__ = ()


@final
class Answer(Released):
    """A table of values with intervals, and where they came from. It cannot be changed.

    >>> regions = Column("region", ["north", "south"])
    >>> counts = Column("n", [1204, 873], low=[1190, 859], high=[1218, 887])
    >>> Answer([regions, counts], cost=Fraction(1, 5))
    region  n
    north   1,204 ± 14
    south     873 ± 14
    2 rows · intervals hold with 95 % each · cost ε = 0.2
    """

    stored_name: ClassVar[str] = "answer"
    __slots__ = ("_columns", "_refine")

    _columns: tuple[Column, ...]
    _refine: Callable[..., Answer] | None

    def __init__(
        self, columns: Sequence[Column], *, refine: Callable[..., Answer] | None = None, **provenance: Any
    ) -> None:
        super().__init__(**provenance)
        answer_columns = tuple(columns)
        if not answer_columns:
            raise InvalidParameter("columns", [], "is empty")
        names = [name for column in answer_columns for name in column.parts()]
        for name in names:
            if names.count(name) > 1:
                raise InvalidParameter("columns", name, "occurs twice", hint="ends of intervals are …_low and …_high")
        for column in answer_columns:
            if len(column) != len(answer_columns[0]):
                raise InvalidParameter(
                    "columns", column.name, f"has {len(column)} rows and not {len(answer_columns[0])}"
                )
        self._keep(_columns=answer_columns, _refine=refine)

    @classmethod
    def of_columns(cls, columns: Sequence[Column], provenance: dict[str, Any]) -> Answer:
        return cls(columns, **provenance)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    @property
    def keys(self) -> tuple[Column, ...]:
        """The columns without intervals."""
        return tuple(column for column in self._columns if not column.has_interval)

    @property
    def estimates(self) -> tuple[Column, ...]:
        """The columns with intervals."""
        return tuple(column for column in self._columns if column.has_interval)

    def __getitem__(self, name: str) -> Column:
        for column in self._columns:
            if column.name == name:
                return column
        known = ", ".join(printable(column.name) for column in self._columns)
        raise NotFound(f"this answer has no column {name!r}", hint=f"its columns are {known}")

    def row(self, **keys: Value) -> dict[str, Value]:
        """The one row whose keys have these values."""
        for name in keys:
            self[name]  # an unknown name is refused with the names there are
        rows = [row for row in self.rows() if all(row[name] == value for name, value in keys.items())]
        if len(rows) != 1:
            raise NotFound(f"{len(rows) or 'no'} rows have {', '.join(f'{k} = {v!r}' for k, v in keys.items())}")
        return rows[0]

    @property
    def value(self) -> Value:
        """The estimate, if there is exactly one."""
        return self._single()[0]

    @property
    def low(self) -> Value:
        """The lower end of the interval around the one estimate."""
        return self._single()[1]

    @property
    def high(self) -> Value:
        """The upper end of the interval around the one estimate."""
        return self._single()[2]

    def __float__(self) -> float:
        """The one estimate as a float."""
        return float(self._number())

    def __int__(self) -> int:
        """The one estimate, truncated to an integer."""
        return int(self._number())

    def refine(self, *, key: str | None = None, **terms: Unpack[SpendTerms]) -> Answer:
        """Ask again for a narrower interval, if whoever gave this answer can.

        The spend is `epsilon`, or `epsilon` and `delta`, `rho` or `mu`; `confidence` is that of this answer unless
        stated. `key` makes a retry safe.
        """
        if self._refine is None:
            raise Unprovable("nothing stands behind this answer that could be asked again")
        return self._refine(key=key, **terms)

    def _number(self) -> int | float | Decimal:
        value = self.value
        if isinstance(value, int | float | Decimal):
            return value
        raise Unprovable("the estimate is not a number", hint="answer.value is what it is")

    def _single(self) -> tuple[Value, Value, Value]:
        estimates = self.estimates
        if len(self) != 1 or len(estimates) != 1:
            size = f"{counted(len(self), 'row')} and {counted(len(estimates), 'estimate')}"
            raise Unprovable(
                f"this answer has {size}, not one of each",
                hint=f'answer["{(estimates or self.columns)[0].name}"] is a column, answer.rows() are the rows',
            )
        return next(estimates[0].triples())


@final
class _Lines:
    """Collects rows of CSV that end with LF. The writer ends them with CR LF, so that it quotes cells with either."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, row: str) -> None:
        self.lines.append(f"{row.removesuffix(csv.excel.lineterminator)}\n")


def _restored(kind: type[Released], columns: Sequence[Column], provenance: dict[str, Any]) -> Released:
    """Make the object again, in a copy or in another process."""
    return kind.of_columns(columns, provenance)


def _without(library: str) -> NotFound:
    return NotFound(f"a table of {library} needs {library}", hint=f"{package(library)}; to_dict() needs nothing")


def _inert(cell: Value) -> Value:
    """A cell of a CSV file that no spreadsheet takes for a formula."""
    return _FORMULA.sub("'", cell) if isinstance(cell, str) else cell


@final
class Estimate(Released):
    """One number, give or take: a value, an interval, and where they came from.

    >>> Estimate(0.31, 0.28, 0.34, name="share")
    share
    0.310 ± 0.030
    1 row · intervals hold with 95 % each
    """

    stored_name: ClassVar[str] = "estimate"
    __slots__ = ("_column",)

    _column: Column

    def __init__(
        self,
        value: Value,
        low: Value,
        high: Value,
        *,
        name: str = "value",
        open_sides: tuple[bool, bool] = (False, False),
        **provenance: Any,
    ) -> None:
        super().__init__(**provenance)
        self._keep(_column=Column(name, [value], [low], [high], open_sides=open_sides))

    @classmethod
    def of_columns(cls, columns: Sequence[Column], provenance: dict[str, Any]) -> Estimate:
        value, low, high = next(columns[0].triples())
        sides = columns[0].open_sides
        return cls(value, low, high, name=columns[0].name, open_sides=sides, **provenance)

    @property
    def columns(self) -> tuple[Column]:
        return (self._column,)

    @property
    def value(self) -> Any:
        """The estimate."""
        return next(self._column.triples())[0]

    @property
    def low(self) -> Any:
        """The lower end of the interval."""
        return next(self._column.triples())[1]

    @property
    def high(self) -> Any:
        """The upper end of the interval."""
        return next(self._column.triples())[2]

    @property
    def margin(self) -> Any:
        """How far the farther end of the interval is from the value."""
        return self._column.margins[0]


@final
class Stream:
    """Answers to one question, each about some of the keys; each states the cost of all of them together.

    It can be read any number of times: noise is drawn once, and kept.
    """

    __slots__ = ("_first", "_portions")

    def __init__(self, portions: Callable[[], Iterator[Answer]]) -> None:
        self._portions = portions
        first = next(portions(), None)
        if first is None:
            raise NotFound("the stream has no answer")
        self._first = first

    def __iter__(self) -> Iterator[Answer]:
        return self._portions()

    @property
    def guarantee(self) -> Any:
        """What the whole table promises."""
        return self._first.guarantee

    @property
    def cost(self) -> Any:
        """What the whole table cost."""
        return self._first.cost

    @property
    def release_id(self) -> str | None:
        """The id of the release in the ledger."""
        return self._first.release_id

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the table."""
        return self._first.notes

    def to_reader(self) -> Any:
        """A pyarrow RecordBatchReader; needs pyarrow."""
        import pyarrow  # noqa: PLC0415 (heavy)

        schema = self._first.to_arrow().schema
        batches = (batch for portion in self for batch in portion.to_arrow().cast(schema).to_batches())
        return pyarrow.RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow C stream, for every library that reads one."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: str | Path, *, progress: Callable[[int], None] | None = None) -> None:
        """The table as a Parquet file; needs pyarrow.

        `progress` is called with the number of rows written; without it, a terminal shows the number.
        """
        import pyarrow.parquet  # noqa: PLC0415 (heavy)

        reader, rows = self.to_reader(), 0
        with _watched(progress) as report, pyarrow.parquet.ParquetWriter(path, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
                report(rows)

    def __repr__(self) -> str:
        return f"<Stream {self.release_id}: {', '.join(printable(column.name) for column in self._first.columns)}>"


def _watched(progress: Callable[[int], None] | None) -> AbstractContextManager[Callable[[int], None]]:
    if progress is not None:
        return nullcontext(progress)
    return rows_shown("writing")


_MOST = 3  # groups that are listed


def told_without_key(columns: Sequence[Column], after: int) -> list[str]:
    """The first groups with a missing key after the first `after` rows, in words, each with its first number.

    >>> from giveortake.answers.column import Column
    >>> told_without_key([Column("day", [1, 2, None]), Column("n", [5, 6, 7], [4, 5, 6], [6, 7, 8])], after=2)
    ['without `day`: n 7 ± 1']
    """
    return list(islice(_rows_with_missing_keys(columns, after), _MOST))


def _rows_with_missing_keys(columns: Sequence[Column], after: int) -> Iterator[str]:
    keys = list(takewhile(lambda column: not column.has_interval, columns))
    estimate = next((column for column in columns if column.has_interval), None)
    if estimate is None or not keys or len(estimate) <= after:
        return
    for index, names in islice(enumerate(zip(*keys, strict=True)), after, None):
        if None in names:
            [(value, *margins)] = shown_cells(estimate.selected([index]), 1)
            key_texts = [
                f"without `{key.name}`" if name is None else f"{key.name} {name}"
                for key, name in zip(keys, names, strict=True)
            ]
            yield f"{', '.join(key_texts)}: {estimate.name} {value} {with_beyond(*margins)}"


_TWICE = "has several rows with the same keys: they cannot be told apart"


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one release to another: keys, a column for each common estimate, and what has no match."""

    keys: tuple[Column, ...]
    estimates: tuple[Column, ...]
    before: tuple[Column, ...]
    after: tuple[Column, ...]
    confidence: Fraction
    together: bool  # whether all intervals hold together with that confidence, or each by itself
    only_before: int
    only_after: int
    left_aside: tuple[str, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.estimates[0])

    @property
    def certain(self) -> tuple[bool, ...]:
        """For each row, whether the interval of the first difference lies on one side of zero."""
        return tuple(_beside_zero(low, high) for _, low, high in self.estimates[0].triples())


def difference(before: Answer, after: Answer) -> Difference:
    """`after` minus `before`, for rows with the same keys and estimates of the same name, in the order of `after`.

    Guarantee [union bound]: where the intervals of two numbers hold with confidence 1 − α and 1 − β, the interval from
    `low − other's high` to `high − other's low` holds the difference with at least 1 − α − β, however the noises hang
    together. Two releases may share noise (one refines the other), so nothing is won by calling them independent: that
    would raise 90 % to 90.25 % at most. Where both state their confidence for all cells together, so does the result.
    Rounding of numbers: the ends go to the next float outwards.
    """
    names = [key.name for key in after.keys]
    if sorted(names) != sorted(key.name for key in before.keys):
        raise QueryRefused(
            "these two releases are grouped by different columns", hint="compare answers that are grouped alike"
        )
    columns_before = {column.name: column for column in before.estimates}
    common = [
        column.name
        for column in after.estimates
        if column.name in columns_before and {column.kind, columns_before[column.name].kind} <= NUMBERS
    ]
    if not common:
        raise QueryRefused(
            "these two releases have no column of numbers with the same name", hint="give both the same names, with AS"
        )
    rows_before, rows_after = _row_indices(before, names), _row_indices(after, names)
    shared = [key for key in rows_after if key in rows_before]
    indices_after, indices_before = [rows_after[key] for key in shared], [rows_before[key] for key in shared]
    new = [after[name].selected(indices_after) for name in common]
    old = [before[name].selected(indices_before) for name in common]
    missed = (1 - Fraction(before.confidence)) + (1 - Fraction(after.confidence))
    everything = {column.name for column in (*before.estimates, *after.estimates)}
    return Difference(
        keys=tuple(after[name].selected(indices_after) for name in names),
        estimates=tuple(_difference(a, b) for a, b in zip(new, old, strict=True)),
        before=tuple(old),
        after=tuple(new),
        confidence=max(Fraction(0), 1 - missed),
        together=before.confidence.over == after.confidence.over == "answer",
        only_before=len(rows_before) - len(shared),
        only_after=len(rows_after) - len(shared),
        left_aside=tuple(sorted(everything - set(common))),
        notes=tuple(_notes(before, after)),
    )


def _notes(before: Answer, after: Answer) -> list[str]:
    if before.release_id == after.release_id:
        return ["both are the same release: every difference is zero, and the intervals say nothing"]
    open_sides = render.which_rows(after) or render.which_rows(before)
    rows = [f"{open_sides}: a change of theirs is not told"] if open_sides else []
    if before.caps != after.caps:
        first, second = (printable(str(answer.caps or "everything of a person counts")) for answer in (before, after))
        different = (
            f"they count differently: {first} in the first, {second} in the second; part of a change may be that"
        )
        return [*rows, different]
    return rows


def _row_indices(answer: Answer, names: Sequence[str]) -> dict[tuple[Value, ...], int]:
    keys = zip(*(answer[name] for name in names), strict=True) if names else [()] * len(answer)
    indices: dict[tuple[Value, ...], int] = {}
    for index, key in enumerate(keys):
        if key in indices:
            raise InvalidParameter("releases", "one of them", _TWICE)
        indices[key] = index
    return indices


def _difference(after: Column, before: Column) -> Column:
    values = [_minus(value, other, 0) for value, other in zip(after, before, strict=True)]
    whole = [[(low, high) for _, low, high in column.triples()] for column in (after, before)]
    covers = after.noise is not None or before.noise is not None
    return Column(
        after.name,
        values,
        *_ends_of_difference(*whole),
        noise=_ends_of_difference(list(after.noise_ends()), list(before.noise_ends())) if covers else None,
        open_sides=(after.open_sides[0] or before.open_sides[1], after.open_sides[1] or before.open_sides[0]),
    )


def _ends_of_difference(
    after: Sequence[tuple[Value, Value]], before: Sequence[tuple[Value, Value]]
) -> tuple[list[int | float | None], list[int | float | None]]:
    pairs = list(zip(after, before, strict=True))
    return [_minus(low, high, -1) for (low, _), (_, high) in pairs], [
        _minus(high, low, 1) for (_, high), (low, _) in pairs
    ]


def _minus(value: Value, other: Value, outwards: int) -> int | float | None:
    """A difference; that of floats goes to the next float outwards, so that no interval shrinks by rounding."""
    if isinstance(value, int) and isinstance(other, int):
        return value - other
    if value is None or other is None:
        return None
    a, b = _float(value), _float(other)
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and a == b):
        return None if outwards == 0 else outwards * math.inf
    change = a - b
    return math.nextafter(change, outwards * math.inf) if outwards and math.isfinite(change) else change


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int | float | Decimal) else math.nan


def _beside_zero(low: Value, high: Value) -> bool:
    return isinstance(low, int | float) and isinstance(high, int | float) and (low > 0 or high < 0)
