"""Answers and estimates: values with intervals, and where they came from; large answers as a stream.

- An estimate: one number with its interval, and where they came from.
- A released table that is too large to be held: one `Answer` after another.
- Groups whose key is missing, in words: they come last, and a page that shows the first rows alone would hide them.
"""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction
from itertools import islice, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, final

import numpy as np

from giveortake.answers import arrow, codec, render
from giveortake.answers.column import Column, Value, plain
from giveortake.answers.render import as_markdown
from giveortake.answers.terms import Confidence
from giveortake.answers.text import printable, shown_with_margin
from giveortake.errors import InvalidParameter, NotFound, Unprovable, package
from giveortake.exact import counted
from giveortake.progress import rows_shown

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    from giveortake.answers.column import Values
    from giveortake.answers.terms import Caps, LeftOut, SpendTerms
    from giveortake.exact import Number


_USUAL_CONFIDENCE = Fraction(95, 100)
_UNSEEN = r"[\s\x00-\x1f\x7f-\xa0\u200b-\u200f\u2060\ufeff]*"  # characters that some spreadsheets skip at the beginning
_FORMULA = re.compile(rf"^(?=[\t\r\n])|(?:^|(?<=[;\t]))(?={_UNSEEN}[-=+@＝＋－＠])")  # where a formula begins


class Released(ABC):
    """Released values, how sure they are, what was promised and what they cost; they convert to any kind of table."""

    __slots__ = (
        "caps",
        "citations",
        "confidence",
        "cost",
        "entropy",
        "guarantee",
        "left_out",
        "notes",
        "recipe",
        "release_id",
    )

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

    def __init__(
        self,
        *,
        guarantee: Any = None,
        cost: Any = None,
        release_id: str | None = None,
        confidence: Number = _USUAL_CONFIDENCE,
        citations: tuple[str, ...] = (),
        recipe: Mapping[str, object] | Sequence[str] = (),
        entropy: str = "",
        notes: tuple[str, ...] = (),
        caps: Caps | None = None,
        left_out: LeftOut | None = None,
    ) -> None:
        self._keep(
            guarantee=guarantee,
            cost=cost,
            release_id=release_id,
            confidence=Confidence(confidence),
            citations=tuple(citations),
            recipe=MappingProxyType(dict(recipe)) if isinstance(recipe, Mapping) else tuple(recipe),
            entropy=entropy,
            notes=tuple(notes),
            caps=caps,
            left_out=left_out,
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

    def __init__(self, value: Value, low: Value, high: Value, *, name: str = "value", **provenance: Any) -> None:
        super().__init__(**provenance)
        self._keep(_column=Column(name, [value], [low], [high]))

    @classmethod
    def of_columns(cls, columns: Sequence[Column], provenance: dict[str, Any]) -> Estimate:
        value, low, high = next(columns[0].triples())
        return cls(value, low, high, name=columns[0].name, **provenance)

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
    for names, row in islice(zip(zip(*keys, strict=True), estimate.triples(), strict=True), after, None):
        if None in names:
            key_texts = [
                f"without `{key.name}`" if name is None else f"{key.name} {name}"
                for key, name in zip(keys, names, strict=True)
            ]
            yield f"{', '.join(key_texts)}: {estimate.name} {' '.join(shown_with_margin(*row))}"
