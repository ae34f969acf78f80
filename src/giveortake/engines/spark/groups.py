"""Discovered groups on Spark: lists of them as tables, and their selection by weights."""

from __future__ import annotations

import shutil
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, final
from uuid import uuid4

from giveortake.engines.runtime import ScratchFolder, failure
from giveortake.engines.sql import statements
from giveortake.engines.sql.printer import hash_of, mark
from giveortake.exact import exact_decimal
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from giveortake.engines.questions import Persons
    from giveortake.engines.sql.printer import Printer
    from giveortake.plan import Domain, Value


def arrow_table(columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> pa.Table:
    """Constants as Arrow. Decimals get no more digits than they need, so that comparing them widens no column."""
    import pyarrow as pa  # noqa: PLC0415 (a heavy library, needed from here on)

    types = {
        Kind.INTEGER: pa.int64(),
        Kind.REAL: pa.float64(),
        Kind.TEXT: pa.string(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.DATE: pa.date32(),
        Kind.TIMESTAMP: pa.timestamp("us"),
    }
    arrays = []
    for (_, domain), values in zip(columns, zip(*rows, strict=True), strict=True):
        if domain.kind is Kind.DECIMAL:
            decimals = [exact_decimal(value) if isinstance(value, Fraction) else value for value in values]
            known = any(value is not None for value in decimals)
            arrays.append(pa.array(decimals, None if known else pa.decimal128(1, 0)))
        else:
            plain = [float(value) if isinstance(value, Fraction) else value for value in values]
            arrays.append(pa.array(plain, types[domain.kind]))
    return pa.table(arrays, names=[name for name, _ in columns])


_FEW = 1 << 18  # keys that a worker may hold all of
_TYPES = {"int64": "BIGINT", "bool": "BOOLEAN", "date32[day]": "DATE", "timestamp[us]": "TIMESTAMP_NTZ"}
_AS_WRITTEN = {"datetimeRebaseMode": "CORRECTED"}  # days of the calendar that Arrow has too


def _larger(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Merge parts that are alike, while they are not very large: Spark takes long to plan many parts."""
    import pyarrow as pa  # noqa: PLC0415 (a heavy library, needed from here on)

    tables: list[pa.Table] = []
    for part in parts:
        if tables and (tables[0].schema != part.schema or sum(table.num_rows for table in tables) >= _FEW):
            yield pa.concat_tables(tables)
            tables = []
        tables.append(part)
    yield pa.concat_tables(tables)


@final
class KeyLists:
    """Lists of keys while they are read.

    For a Spark on this machine they are in files: neither Python nor the virtual machine holds the keys. For a Spark
    elsewhere `to_frame` puts them into the driver's virtual machine, because no place is known that its workers read.
    """

    def __init__(self, session: SparkSession, to_frame: Callable[[pa.Table], DataFrame] | None = None) -> None:
        self._session = session
        self._to_frame = to_frame
        self._folder: ScratchFolder | None = None
        self._own: dict[str, Path] = {}

    def frame(self, name: str, parts: Iterable[pa.Table]) -> DataFrame:
        """All parts of a list as one DataFrame. Decimals are as wide as the widest of them."""
        frames, size = [], 0
        for part in _larger(parts):
            frames.append(self._in_file(name, part) if self._to_frame is None else self._to_frame(part))
            size += part.num_rows
        whole = reduce(lambda above, below: above.union(below), frames)
        return whole if size <= _FEW else whole.hint("merge")  # the other joins hold all keys in one place

    def _in_file(self, name: str, part: pa.Table) -> DataFrame:
        types = [f"{field.name} {_TYPES.get(str(field.type), field.type)}" for field in part.schema]
        text = ", ".join(types).replace("decimal128", "DECIMAL")
        return self._session.read.options(**_AS_WRITTEN).schema(text).parquet(self._write(name, part).as_uri())

    def _write(self, name: str, part: pa.Table) -> Path:
        """Write a part to a file of its own, in the folder of its list."""
        import pyarrow.parquet as pq  # noqa: PLC0415 (a heavy library, needed from here on)

        try:
            if self._folder is None:
                self._folder = ScratchFolder()
            folder = self._own.setdefault(name, self._folder.path / name)
            folder.mkdir(mode=0o700, exist_ok=True)
            path = folder / f"{uuid4().hex}.parquet"
            pq.write_table(part, path)
        except OSError as error:
            kind = type(error)
        else:
            return path
        raise failure("other", kind)

    def forget(self, name: str) -> None:
        """Drop a list; one in the virtual machine goes with its view."""
        if name in self._own:
            shutil.rmtree(self._own.pop(name), ignore_errors=True)

    def close(self) -> None:
        """Drop all lists in files."""
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


MOST_IN_ARRAY = 1 << 24  # bytes of one person's keys that are held at once
FEW_ROWS = 1 << 6  # of a person, whose keys may always be held
_OF_ROW = 1 << 9  # bytes that a key takes besides its texts


def heavy_statement(printer: Printer, persons: Persons, declared: Mapping[int, str]) -> str:
    """Persons p whose keys may exceed `MOST_IN_ARRAY` bytes: for n rows of short keys, at most n / 32,768."""
    texts = [f"k{index}" for index, kind in enumerate(_kinds(persons)) if kind is Kind.TEXT]
    octets = "".join(f" + coalesce(sum({printer.dialect.octets(text)}), 0)" for text in texts)
    lines = _lines(printer, persons, declared)
    return f"SELECT p FROM ({lines}) AS l GROUP BY p HAVING count(*) * {_OF_ROW}{octets} > {MOST_IN_ARRAY}"


def weighted_statement(
    printer: Printer, persons: Persons, declared: Mapping[int, str], table: str, heavy: str | None
) -> str:
    """One row for each key that occurs: the same keys and sums as from `engines.sql.statements`.

    `heavy` is a table of the persons whose keys no array holds; None says that there are none. Theirs are put in
    order by windows, which need no memory that grows with one person's keys.
    """
    names = ", ".join(f"k{index}" for index in range(len(persons.keys.columns)))
    lines = _lines(printer, persons, declared)
    weights = _weights_of_arrays(printer, persons, lines if heavy is None else _joined("LEFT ANTI", lines, heavy))
    if heavy is not None:
        weights += f" UNION ALL ({_weights_by_windows(printer, persons, _joined('LEFT SEMI', lines, heavy), table)})"
    return f"SELECT {names}, {statements.total_weight(printer, persons)} AS n FROM ({weights}) AS g GROUP BY {names}"


def _lines(printer: Printer, persons: Persons, declared: Mapping[int, str]) -> str:
    """Rows (p, k0, k1 …): the keys of each person."""
    key_columns = ", ".join(f"r.k{index} AS k{index}" for index in range(len(persons.keys.columns)))
    return f"SELECT r.p AS p, {key_columns} FROM {statements.known_rows(printer, persons, declared)}"


def _joined(how: str, lines: str, heavy: str) -> str:
    return f"SELECT * FROM ({lines}) AS l {how} JOIN {heavy} AS h ON l.p = h.p"


def _weights_of_arrays(printer: Printer, persons: Persons, lines: str) -> str:
    """Rows of a key and the weight that one person gives it, from an array of each person's distinct keys.

    Spark compares values as they are stored, so equal doubles are made to be stored alike: a set that held 0 and −0
    would count a person twice for one key. Values of other kinds are stored alike whenever they are equal.
    """
    assert persons.weights is not None  # noqa: S101 (asked only then)
    kinds = _kinds(persons)
    normalized_keys = ", ".join(f"{_plain(printer, f'k{i}', kind)} AS k{i}" for i, kind in enumerate(kinds))
    sets = f"SELECT p, collect_set(struct({normalized_keys})) AS s FROM ({lines}) AS l GROUP BY p"
    weights = ", ".join(f"{weight}L" for weight in persons.weights)
    weight = f"element_at(array({weights}), least(size(s), {persons.groups}))"
    counting = f"CASE WHEN size(s) > {persons.groups} THEN {_first(printer, persons)} ELSE s END"
    names = ", ".join(f"x.k{i} AS k{i}" for i in range(len(kinds)))
    return f"SELECT {names}, w FROM (SELECT explode({counting}) AS x, {weight} AS w FROM ({sets}) AS t) AS u"


def _first(printer: Printer, persons: Persons) -> str:
    """The keys of an array that count, in the order of `engines.sql.statements`; what is missing comes last."""
    kinds = _kinds(persons)
    person = mark(printer.dialect, "p", persons.relation.schema[str(persons.relation.person)].kind)
    hashed = hash_of(person, *(mark(printer.dialect, f"x.k{i}", kind) for i, kind in enumerate(kinds)))
    values = "".join(f", x.k{i} IS NULL AS n{i}, x.k{i} AS k{i}" for i in range(len(kinds)))
    ordered = f"sort_array(transform(s, x -> struct({hashed} AS h{values})))"
    names = ", ".join(f"y.k{i} AS k{i}" for i in range(len(kinds)))
    return f"transform(slice({ordered}, 1, {persons.groups}), y -> struct({names}))"


def _plain(printer: Printer, column: str, kind: Kind) -> str:
    zero = printer.dialect.double(0)
    return f"CASE WHEN {column} = {zero} THEN {zero} ELSE {column} END" if kind is Kind.REAL else column


def _kinds(persons: Persons) -> list[Kind]:
    schema = persons.relation.schema
    return [column.expression.domain(schema).kind for column in persons.keys.columns]


def _weights_by_windows(printer: Printer, persons: Persons, lines: str, table: str) -> str:
    names = ", ".join(f"k{index}" for index in range(len(persons.keys.columns)))
    pairs = f"SELECT DISTINCT p, {names} FROM ({printer.dialect.by_person(lines)}) AS l"
    order = statements.order_of_keys(printer, persons)
    return statements.key_weights_statement(printer, persons, pairs, names=names, order=order, table=table)
