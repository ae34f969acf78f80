"""DuckDB, embedded and locked down: no files but the table's own, no extensions, no settings that can be changed."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from giveortake.engines import sorting, statements
from giveortake.engines.loading import Loaded, load
from giveortake.engines.printer import LONGEST, Printer, bounded_name, identifier
from giveortake.engines.statements import Coded
from giveortake.errors import QueryFailed, QueryRefused
from giveortake.mechanisms import Sensitive
from giveortake.plan import JoinPersons, Kind, Scan, Union

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from giveortake.engines.engine import Source
    from giveortake.engines.tally import Bins, Distinct, Keys, Persons, Tally
    from giveortake.plan import Relation, Value

Found = TypeVar("Found")
_REMEMBERED = 64  # exact results, so that the same question at another price does not read the rows again


@final
class DuckDBEngine:
    """Tables of one session in a private, in-memory DuckDB."""

    def __init__(self, *, memory: str = "1500MB", threads: int | None = None, seconds: float | None = None) -> None:
        import duckdb  # noqa: PLC0415 (a heavy library, needed from here on)

        self._folder = Path(tempfile.mkdtemp(prefix="giveortake-"))
        self._error: type[Exception] = duckdb.Error
        self.identity = f"duckdb {duckdb.__version__}"
        self._connection = duckdb.connect(":memory:", config={"temp_directory": str(self._folder)})
        self._run(f"SET memory_limit = '{memory}'")
        self._run("SET preserve_insertion_order = false")
        if threads is not None:
            self._run(f"SET threads = {threads}")
        self._seconds = seconds
        self._threads = threads or os.cpu_count()
        self._loaded: dict[str, Loaded] = {}
        self._sources: dict[str, str] = {}
        self._printer = Printer(self._sources)
        self._lock = threading.RLock()
        self._tables: dict[object, str] = {}
        self._results: OrderedDict[object, Any] = OrderedDict()
        self._locked = False

    # -- registering --------------------------------------------------------------------------------------------

    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Read a table's columns, and copy it unless it is stored in columns already.

        `kinds` types untyped files; without it, as for public tables, what their cells look like does.
        """
        loaded = load(self._connection, name, source, kinds, table)
        self._loaded[name] = loaded
        self._sources[name] = loaded.text
        return loaded.source

    def values(self, name: str, column: str) -> tuple[list[Value], bool]:
        """The values of a public table's column, and whether each occurs once."""
        domain = dict(self._loaded[name].source.columns)[column]
        read = self._printer.read(column, domain)  # unique as it is joined, not as it is stored
        text = f"SELECT {read}, count(*) FROM {self._sources[name]} GROUP BY 1 ORDER BY 1 NULLS LAST"
        rows = self._connection.execute(text).fetchall()
        return [value for value, _ in rows], all(count == 1 and value is not None for value, count in rows)

    def lock(self) -> None:
        """From now on nothing but the files of the tables can be read, and no setting can be changed."""
        paths = [path for loaded in self._loaded.values() for path in loaded.paths]
        if paths:
            listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
            self._run(f"SET allowed_paths = [{listed}]")
        for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
            self._run(f"SET {setting} = false")
        self._run("SET enable_external_access = false")
        self._run("SET lock_configuration = true")
        self._locked = True

    def unchanged(self) -> bool:
        return all(loaded.unchanged() for loaded in self._loaded.values())

    def close(self) -> None:
        self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- asking -------------------------------------------------------------------------------------------------

    def tally(self, tally: Tally) -> Sensitive[list[npt.NDArray[Any]]]:
        return self._remembered(tally, lambda: self._tally(tally))

    def bins(self, bins: Bins) -> Sensitive[npt.NDArray[np.int64]]:
        return self._remembered(bins, lambda: self._bins(bins))

    def distinct(self, distinct: Distinct) -> Sensitive[npt.NDArray[np.int64]]:
        return self._remembered(distinct, lambda: self._distinct(distinct))

    def persons(self, persons: Persons) -> Sensitive[tuple[list[tuple[Value, ...]], npt.NDArray[np.int64]]]:
        return self._remembered(persons, lambda: self._persons(persons))

    def _tally(self, tally: Tally) -> list[npt.NDArray[Any]]:
        self._prepare(tally.relation)
        coded = self._coded(tally.keys)
        sorted_out = self._sorted(tally, coded)
        if sorted_out is not None:
            return sorted_out
        rows = self._fetch(statements.tally_statement(self._printer, tally, coded))
        arrays: list[npt.NDArray[Any]] = []
        places = self._places(tally.keys, np.array([row[0] for row in rows], dtype=np.int64))
        for index in range(len(tally.summands)):
            column = [row[index + 1] for row in rows]
            small = all(-(1 << 62) < value < 1 << 62 for value in column)
            dense = np.zeros(tally.keys.size, dtype=np.int64 if small else object)
            dense[places] = column
            arrays.append(dense)
        return arrays

    def _sorted(self, tally: Tally, coded: Coded) -> list[npt.NDArray[Any]] | None:
        """The tally by sorting, where that is possible and worth it. Which way it went cannot be told by the result."""
        if tally.bounding is None or not self._names_persons_by_number(tally.relation):
            return None
        ((rows,),) = self._fetch(statements.number_of_rows_statement(self._printer, tally.relation))
        if not sorting.suits(tally, rows):
            return None
        text = statements.lines_statement(self._printer, tally, coded)
        persons, codes, *steps = self._guarded(text, None, lambda cursor: cursor.fetchnumpy()).values()
        if persons.size < 2 or persons.dtype.kind not in "iu":
            return None
        numbered = dict(zip(sorting.counted(tally.summands), steps, strict=True))
        return sorting.bounded_sums(tally, persons, codes, numbered, self._threads)

    def _sorted_persons(self, persons: Persons, coded: Coded) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        if not self._names_persons_by_number(persons.relation):
            return None
        ((rows,),) = self._fetch(statements.number_of_rows_statement(self._printer, persons.relation))
        if not sorting.FEWEST_ROWS <= rows <= sorting.MOST_ROWS:
            return None
        text = statements.person_lines_statement(self._printer, persons, coded)
        numbers, codes, hashes = self._guarded(text, None, lambda cursor: cursor.fetchnumpy()).values()
        if numbers.size < 2 or numbers.dtype.kind not in "iu":
            return None
        return sorting.first_keys(persons.groups, numbers, codes, hashes, math.prod(coded.sizes), threads=self._threads)

    @staticmethod
    def _names_persons_by_number(relation: Relation) -> bool:
        person = relation.person
        return person is not None and relation.schema[person].kind is Kind.INTEGER

    def _bins(self, bins: Bins) -> npt.NDArray[np.int64]:
        self._prepare(bins.relation)
        found = self._fetch_columns(statements.bins_statement(self._printer, bins, self._coded(bins.keys)))
        dense = np.zeros((bins.keys.size, bins.count), dtype=np.int64)
        dense[self._places(bins.keys, found[0]), found[1]] = found[2]
        return dense

    def _distinct(self, distinct: Distinct) -> npt.NDArray[np.int64]:
        self._prepare(distinct.relation)
        found = self._fetch_columns(statements.distinct_statement(self._printer, distinct, self._coded(distinct.keys)))
        dense = np.zeros(distinct.keys.size, dtype=np.int64)
        dense[self._places(distinct.keys, found[0])] = found[1]
        return dense

    def _persons(self, persons: Persons) -> tuple[list[tuple[Value, ...]], npt.NDArray[np.int64]]:
        self._prepare(persons.relation)
        values = [
            self._occurring(persons.relation, column.expression) if column.values is None else list(column.values)
            for column in persons.keys.columns
        ]
        coded = Coded(
            tuple(self._marked_dictionary(tuple(each)) for each in values),
            tuple(None in each for each in values),
            tuple(len(each) for each in values),
        )
        if coded.is_too_wide:
            return self._persons_of_wide_keys(persons, coded, values)
        sorted_out = self._sorted_persons(persons, coded)
        codes, counts = sorted_out or self._fetch_columns(statements.persons_statement(self._printer, persons, coded))
        order = np.argsort(codes)
        return _decoded(codes[order], values), counts[order]

    def _persons_of_wide_keys(
        self, persons: Persons, coded: Coded, values: list[list[Value]]
    ) -> tuple[list[tuple[Value, ...]], npt.NDArray[np.int64]]:
        """The same where positions in the product of all columns do not fit into 64 bits: the same keys are chosen."""
        table = f"combinations_{len(self._tables)}"
        self._execute(
            f"CREATE OR REPLACE TABLE {table} AS {statements.combinations_statement(self._printer, persons, coded)}"
        )
        narrow = replace(coded, combinations=table)
        codes, counts = self._fetch_columns(statements.persons_statement(self._printer, persons, narrow))
        rows = {row[-1]: row[:-1] for row in self._fetch(f"SELECT * FROM {table}")}
        self._execute(f"DROP TABLE {table}")
        order = np.argsort(codes)
        keys = [
            tuple(each[place] for each, place in zip(values, rows[code], strict=True)) for code in codes[order].tolist()
        ]
        return keys, counts[order]

    # -- inside -------------------------------------------------------------------------------------------------

    def _occurring(self, relation: Relation, expression: Any) -> list[Value]:
        rows = self._fetch(statements.values_statement(self._printer, relation, expression))
        return [row[0] for row in rows]

    def _coded(self, keys: Keys) -> Coded:
        columns = [column.values or () for column in keys.columns]
        return Coded(
            tuple(self._dictionary(values) for values in columns),
            tuple(None in values for values in columns),
            tuple(len(values) for values in columns),
            None if keys.wanted is None else self._wanted(keys.wanted),
        )

    def _dictionary(self, values: tuple[Value, ...]) -> str:
        """A table (code, value), made once for equal values."""
        return self._table(
            ("dictionary", tuple((type(value).__name__, value) for value in values)),
            "SELECT unnest(?) AS value, unnest(range(?)) AS code",
            [[_parameter(value) for value in values] or [None], max(len(values), 1)],
        )

    def _marked_dictionary(self, values: tuple[Value, ...]) -> str:
        """The same with a mark of each value, which no other value decides, as a place does."""
        marks = [_mark(value) for value in values] or [0]
        return self._table(
            ("marked", tuple((type(value).__name__, value) for value in values)),
            "SELECT unnest(?) AS value, unnest(range(?)) AS code, CAST(unnest(?) AS BIGINT) AS mark",
            [[_parameter(value) for value in values] or [None], len(marks), marks],
        )

    def _wanted(self, codes: tuple[int, ...]) -> str:
        return self._table(("wanted", codes), "SELECT unnest(?) AS code", [list(codes) or [-1]])

    def _table(self, key: object, select: str, parameters: list[Any]) -> str:
        known = self._tables.get(key)
        if known is None:
            known = f"key_table_{len(self._tables)}"
            self._execute(f"CREATE TABLE {known} AS {select}", parameters)
            self._tables[key] = known
        return known

    @staticmethod
    def _places(keys: Keys, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if keys.wanted is None:
            return codes
        return np.searchsorted(np.array(keys.wanted, dtype=np.int64), codes)

    def _prepare(self, relation: Relation) -> None:
        """Make the tables in which each person has few rows, once."""
        for scan in _scans(relation):
            name = bounded_name(scan)
            if scan.most_rows_of_person is None or name in self._sources:
                continue
            stored = f"bounded_{len(self._sources)}"
            columns = ", ".join(identifier(each) for each, _ in scan.table.columns)
            person = identifier(str(scan.table.person))
            order = f"{self._printer.hash(columns)}, {columns}"
            domain = dict(scan.table.columns)[str(scan.table.person)]
            read = self._printer.read(str(scan.table.person), domain)
            rank = f"row_number() OVER (PARTITION BY {read} ORDER BY {order})"
            source = self._sources[scan.table.name]
            self._execute(
                f"CREATE TABLE {stored} AS SELECT {columns} FROM (SELECT {columns}, {rank} AS _rank FROM {source} "
                f"WHERE {person} IS NOT NULL) WHERE _rank <= {scan.most_rows_of_person}"
            )
            self._sources[name] = stored

    def _remembered(self, key: Any, compute: Any) -> Sensitive[Any]:
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            else:
                self._results[key] = compute()
                if len(self._results) > _REMEMBERED:
                    self._results.popitem(last=False)
            return Sensitive(self._results[key])

    def _fetch(self, text: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._guarded(text, None, lambda cursor: cursor.fetchall())
        return rows

    def _fetch_columns(self, text: str) -> list[npt.NDArray[np.int64]]:
        found = self._guarded(f"SELECT * FROM ({text})", None, lambda cursor: cursor.fetchnumpy())
        return [np.asarray(column).astype(np.int64) for column in found.values()]

    def _execute(self, text: str, parameters: list[Any] | None = None) -> None:
        self._guarded(text, parameters, lambda _cursor: None)

    def _guarded(self, text: str, parameters: list[Any] | None, take: Any) -> Any:
        """Run a statement. What the engine says when it fails may quote rows, and is never told."""
        if len(text) > LONGEST:
            raise QueryRefused("the question is too long", hint="ask for less at once")
        timer = None if self._seconds is None else threading.Timer(self._seconds, self._connection.interrupt)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            return take(self._connection.execute(text, parameters))
        except (self._error, RuntimeError, MemoryError):
            raise QueryFailed(
                "the engine could not finish the question; what it was charged stands",
                hint="it may have run out of memory or time: ask for fewer groups",
            ) from None
        finally:
            if timer is not None:
                timer.cancel()

    def _run(self, text: str) -> None:
        self._connection.execute(text)


def _decoded(codes: npt.NDArray[np.int64], values: list[list[Value]]) -> list[tuple[Value, ...]]:
    """Combinations of values from their positions in the product."""
    columns: list[list[Value]] = []
    rest = codes
    for each in reversed(values):
        size = max(len(each), 1)
        columns.append([each[position] for position in (rest % size).tolist()])
        rest = rest // size
    return list(zip(*reversed(columns), strict=True))


def _scans(relation: Relation) -> list[Scan]:
    match relation:
        case Scan():
            return [relation]
        case JoinPersons() | Union():
            return [*_scans(relation.left), *_scans(relation.right)]
        case _:
            return _scans(relation.source)  # type: ignore[attr-defined]


def _mark(value: Value | Decimal) -> int:
    """A number of 63 bits that a value alone decides."""
    number = str(Fraction(value)) if isinstance(value, Decimal | Fraction) else str(value)
    text = f"{'number' if isinstance(value, Decimal | Fraction) else type(value).__name__}:{number}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def _parameter(value: Value) -> Any:
    return Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else value
