"""DuckDB, embedded and locked down: no files but the table's own, no extensions, no settings that can be changed.

Some statements are for DuckDB alone: rows as numbers, which are tallied here, and keys by codes.
"""

from __future__ import annotations

import math
import os
from itertools import chain, count
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.dialect import DuckDBDialect, parameters, sql_type
from giveortake.engines.duckdb.fast_paths import row_tally_statement
from giveortake.engines.duckdb.long_texts import Tables, WideRows, ranked_or_grouped
from giveortake.engines.duckdb.tables import Loaded, LoadedCopies, content_of, file_state, load, open_database
from giveortake.engines.questions import WIDEST
from giveortake.engines.runtime import CacheFolder, ScratchFolder, failure, out_of_time
from giveortake.engines.sql.dialect import single_quoted
from giveortake.engines.sql.engine import SQLEngine, in_order_of_keys, indexes_of
from giveortake.engines.sql.printer import bounded_name, hash_of, mark
from giveortake.engines.sql.statements import (
    Coded,
    fits_doubles,
    key_weights_statement,
    rows_of,
    steps_of,
    steps_statement,
    total_weight,
    vector_statement,
)
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.plan import KeepParts, Kind, PerPerson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb
    import numpy.typing as npt

    from giveortake.engines.protocol import FoundUnits, PublicContent, Source
    from giveortake.engines.questions import Asked, Distinct, Persons, Tally, VectorSum
    from giveortake.engines.sql.printer import Printer
    from giveortake.plan import Domain, Expression, Relation, Scan, Value


def lines_statement(printer: Printer, tally: Tally, coded: Coded) -> str:
    """Every row as numbers: its person, its code, and the steps of each summand that has some (`fast_paths`)."""
    inner = rows_of(printer, tally)
    columns = ["r.p AS p", f"{coded.code()} AS code"]
    for index, summand in enumerate(tally.summands):
        if summand.quantum is not None:
            columns.append(f"coalesce({steps_of(printer, tally.relation, summand, index)}, 0) AS a{index}")
        elif summand.reads_values:
            columns.append(f"CAST(r.v{index} IS NOT NULL AS TINYINT) AS a{index}")
    return f"SELECT {', '.join(columns)} FROM ({inner}) AS r{coded.joins(printer, 'r')}"


def number_of_rows_statement(printer: Printer, relation: Relation) -> str:
    """The number of rows of a relation, which nobody is told."""
    return f"SELECT count(*) FROM ({printer.relation(relation, ())}) AS t"


def persons_statement(printer: Printer, persons: Persons, coded: Coded, weights: str | None = None) -> str:
    """One row for each key that occurs: code, number of units or rows that it was kept for, or the sum of weights.

    Of each person the first `groups` keys count, by a hash of the person and the key's `marks`, which its values alone
    decide. Codes do not: they are places in lists that other people's rows make longer. Hash and code are one number,
    the hash in front, so that equal hashes are ordered by code; a longer list changes no two values' order. Memory
    follows the keys that persons have, never the number that they may have.
    """
    inner = rows_of(printer, persons)
    code = coded.code()
    rows = f"({inner}) AS r{coded.joins(printer, 'r')}"
    if persons.relation.person is None or persons.counts_all_rows:  # a row has one key
        return f"SELECT {code} AS code, count(*) FROM {rows} GROUP BY ALL"
    person = mark(printer.dialect, "r.p", persons.relation.schema[str(persons.relation.person)].kind)
    key_hash = hash_of(person, *coded.marks())
    kind, bits = ("BIGINT", 32) if coded.is_small else ("HUGEINT", 63)
    ordered = f"(CAST({key_hash} AS {kind}) << {bits}) + {code}"
    pairs = f"SELECT DISTINCT r.p AS p, {ordered} AS ordered FROM {rows}"
    if weights is not None:
        weight_rows = key_weights_statement(printer, persons, pairs, names="ordered", order="ordered", table=weights)
        code_bits = f"CAST(ordered & {2**bits - 1} AS BIGINT)"
        total = total_weight(printer, persons)
        return f"SELECT {code_bits} AS code, {total} FROM ({weight_rows}) AS g GROUP BY {code_bits}"
    if persons.rows > 1:
        counted = f"least(count(*), {persons.rows})"
        pairs = f"SELECT r.p AS p, {{'o': {ordered}, 'c': {counted}}} AS ordered FROM {rows} GROUP BY r.p, {ordered}"
    first = f"list_slice(list_sort(list(ordered)), 1, {persons.groups})"
    counted_keys = f"CASE WHEN count(*) <= {persons.groups} THEN list(ordered) ELSE {first} END"
    if persons.rows > 1:
        listed = f"SELECT unnest({counted_keys}) AS x FROM ({pairs}) AS t GROUP BY p"
        codes = f"SELECT CAST(x.o & {2**bits - 1} AS BIGINT) AS code, x.c AS c FROM ({listed}) AS l"
        return f"SELECT code, CAST(sum(c) AS BIGINT) FROM ({codes}) AS t GROUP BY code"
    codes = f"SELECT unnest({counted_keys}) & {2**bits - 1} AS code FROM ({pairs}) AS t GROUP BY p"
    return f"SELECT CAST(code AS BIGINT) AS code, count(*) FROM ({codes}) AS t GROUP BY code"


def capped_rows_statement(printer: Printer, scan: Scan) -> str:
    """The rows of `Printer.capped_rows`, of which only those of persons with more than count are hashed and ranked."""
    person, rows = printer.dialect.identifier(str(scan.table.person)), printer.stored(scan)
    beyond = f"SELECT {person} AS p FROM ({rows}) AS t GROUP BY {person} HAVING count(*) > {scan.most_rows_of_person}"
    few = f"SELECT t.* FROM ({rows}) AS t ANTI JOIN beyond ON t.{person} = beyond.p WHERE t.{person} IS NOT NULL"
    many = printer.capped_rows(scan, f"SELECT t.* FROM ({rows}) AS t SEMI JOIN beyond ON t.{person} = beyond.p")
    return f"WITH beyond AS MATERIALIZED ({beyond}) {few} UNION ALL {many}"


_AT_ONCE = 1 << 17  # values converted from or to Python's before the time is checked
_STOPPED = "Query interrupted"  # all that DuckDB says if Ctrl-C arrives: whoever asked has decided that, and no row
_WIDE_AT_ONCE = 1 << 10  # long rows fetched before the time is checked
_FEW_TABLES = 8  # with few rows of each person that are kept beside those that a question needs
_LONGEST = 200_000  # characters of a question; DuckDB plans these in some seconds


@final
class DuckDBEngine(SQLEngine):
    """Tables of one session in a private, in-memory DuckDB."""

    has_witnesses = False

    def __init__(
        self,
        *,
        memory: str = "1500MB",
        threads: int | None = None,
        seconds: float | None = None,
        cache: Path | None = None,
    ) -> None:
        import duckdb  # noqa: PLC0415 (a heavy library, needed from here on)

        super().__init__(DuckDBDialect(), longest=_LONGEST, seconds=seconds)
        self._scratch = ScratchFolder()
        self._error: type[Exception] = duckdb.Error
        self._memory_error: type[Exception] = duckdb.OutOfMemoryException
        self._io_error: type[Exception] = duckdb.IOException  # of a disk, as against a value
        self._identity = f"duckdb {duckdb.__version__}"
        self._connection = open_database(self._scratch.path)
        self._run(f"SET memory_limit = '{memory}'")
        self._run("SET preserve_insertion_order = false")
        if threads is not None:
            self._run(f"SET threads = {threads}")
        self._threads = threads or os.cpu_count()
        self._copies = None if cache is None else LoadedCopies(CacheFolder(cache))
        self._loaded: dict[str, Loaded] = {}
        self._numbers = count()
        self._bounded: list[str] = []
        self._temporary_relations: list[Relation] = []
        self._wide = WideRows(
            self._printer, Tables(self._rows, self._one_by_one, self._execute, self._make, self._forget)
        )

    # -- registering --------------------------------------------------------------------------------------------

    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Register a table: read its columns, and copy it unless it is stored in columns already.

        `kinds` says what untyped cells are read as; without it, as for public tables, their content decides.
        """
        loaded = load(self._connection, name, source, kinds, table, copies=self._copies)
        self._loaded[name] = loaded
        self._sources[name] = loaded.text
        return loaded.source

    def add_public(self, name: str, source: object) -> PublicContent:
        """Register a table that everybody may know, and return what is in it."""
        self.add(name, source, None)
        return content_of(self._connection, self._loaded[name])

    def lock(self) -> None:
        """From now on nothing but the files of the tables can be read, and no setting can be changed."""
        paths = [path for loaded in self._loaded.values() for path, _ in loaded.files]
        if paths:
            self._run(f"SET allowed_paths = [{', '.join(map(single_quoted, paths))}]")
        self._run("SET enable_external_access = false")
        self._run("SET lock_configuration = true")

    def unchanged(self) -> bool:
        try:
            files = [file for loaded in self._loaded.values() for file in loaded.files]
            return all(file_state(path) == state for path, state in files)
        except OSError:
            return False

    def hold_to_content(self) -> None:
        """Do nothing: copies never change, and files are compared before and after each question."""

    def close(self) -> None:
        self._connection.close()
        self._scratch.remove()

    # -- asking -------------------------------------------------------------------------------------------------

    def _tally(self, tally: Tally) -> list[BoundedIntegers]:
        sums = self._sorted(tally)
        if sums is None:
            return super()._tally(tally)
        return [
            BoundedIntegers.clamped(totals, summand.most) for totals, summand in zip(sums, tally.summands, strict=True)
        ]

    def _sorted(self, tally: Tally) -> list[npt.NDArray[Any]] | None:
        """The tally by sorting, if that is possible and faster, else None. The result is the same either way."""
        if tally.bounding is None or tally.keys.discovered or not self._names_persons_by_number(tally.relation):
            return None
        ((rows,),) = self._rows(number_of_rows_statement(self._printer, tally.relation))
        if not fast_paths.suits_sorted_tally(tally, rows):
            return None
        coded = self._coded_by_values(tally.keys, tally.relation.schema)
        text = lines_statement(self._printer, tally, coded)
        persons, codes, *steps = self._guarded(text, None, lambda cursor: cursor.fetchnumpy()).values()
        if persons.size < 2 or persons.dtype.kind not in "iu":
            return None
        numbered = dict(zip(fast_paths.counted(tally.summands), steps, strict=True))
        return fast_paths.bounded_sums(tally, persons, codes, numbered, threads=self._threads, check=self._time.check())

    def _tally_statement(self, tally: Tally, coded: Coded) -> str:
        if tally.bounding is None:
            return row_tally_statement(self._printer, tally, coded)
        return super()._tally_statement(tally, coded)

    def _vectors(self, vector_sum: VectorSum) -> BoundedIntegers:
        """The same integers in less time: summed in doubles, or here by sorting or counting, where that is exact."""
        if fast_paths.suits_sorted_vectors(vector_sum) and self._names_persons_by_number(vector_sum.relation):
            text = fast_paths.lines_statement(self._printer, vector_sum)
            rows = self._guarded(text, None, lambda cursor: cursor.fetchnumpy())
            totals = fast_paths.person_sums(vector_sum, rows, threads=self._threads, check=self._time.check())
            if totals is not None:
                return BoundedIntegers.clamped(totals, vector_sum.most)
        if fits_doubles(vector_sum):
            (cells,) = self._rows(vector_statement(self._printer, vector_sum, (), in_doubles=True))
            if None not in cells:
                return BoundedIntegers.clamped([int(value) for value in cells], vector_sum.most)
        if fast_paths.suits_counted_cells(vector_sum):
            text = fast_paths.cells_statement(self._printer, vector_sum, self._dictionaries(vector_sum))
            rows = self._guarded(text, None, lambda cursor: cursor.fetchnumpy())
            if len(rows["c0"]) <= fast_paths.most_cell_rows(vector_sum):
                return BoundedIntegers.clamped(
                    fast_paths.cell_sums(vector_sum, rows, self._time.check()), vector_sum.most
                )
        return super()._vectors(vector_sum)

    @staticmethod
    def _names_persons_by_number(relation: Relation) -> bool:
        person = relation.person
        return person is not None and relation.schema[person].kind is Kind.INTEGER

    def _persons(self, persons: Persons) -> FoundUnits:
        """The same keys as by the general statement, but by codes, which are faster to sort than values.

        Codes are in the order of values, declared ones too: where hashes are equal, codes and values give one order, so
        that nobody's rows change, for others, what counts.
        """
        schema = persons.relation.schema
        if self._wide.has_wide_keys(persons):
            rows = self._wide.keys(persons, self._declared(persons), self._weights(persons.weights))
            return in_order_of_keys(rows, persons)
        domains = [column.expression.domain(schema) for column in persons.keys.columns]
        values = [
            self._occurring(persons.relation, column.expression) if column.values is None else _in_order(column.values)
            for column in persons.keys.columns
        ]
        if math.prod(len(column_values) for column_values in values) >= WIDEST:
            return super()._persons(persons)
        coded = Coded(
            tuple(
                self._marked_dictionary(tuple(column_values), domain)
                for column_values, domain in zip(values, domains, strict=True)
            ),
            tuple(None in column_values for column_values in values),
            tuple(len(column_values) for column_values in values),
        )
        sorted_out = self._sorted_persons(persons, coded)
        codes, counts = sorted_out or self._columns(
            persons_statement(self._printer, persons, coded, self._weights(persons.weights))
        )
        check = self._time.check()
        check()
        order = np.argsort(codes)
        keys: list[tuple[Value, ...]] = []
        for start in range(0, order.size, _AT_ONCE):
            check()
            keys += _decoded(codes[order[start : start + _AT_ONCE]], values)
        return keys, BoundedIntegers.clamped(counts[order], persons.most)

    def _distinct(self, distinct: Distinct) -> BoundedIntegers:
        if not self._wide.has_wide_values(distinct):
            return super()._distinct(distinct)
        with self._coded(distinct.keys, distinct.relation.schema) as coded:
            rows = list(self._wide.numbers(distinct, coded))
        codes = np.array([code for code, _ in rows], dtype=np.int64)
        numbers = BoundedIntegers.clamped([int(number) for _, number in rows], distinct.most)
        return numbers.placed(indexes_of(distinct.keys, codes), (distinct.keys.size,))

    def _sorted_persons(self, persons: Persons, coded: Coded) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        if not self._names_persons_by_number(persons.relation) or persons.counts_all_rows:
            return None
        ((rows,),) = self._rows(number_of_rows_statement(self._printer, persons.relation))
        if not fast_paths.FEWEST_ROWS <= rows <= fast_paths.MOST_ROWS:
            return None
        joined = f"({rows_of(self._printer, persons)}) AS r{coded.joins(self._printer, 'r')}"
        text = f"SELECT r.p AS p, {coded.code()} AS code FROM {joined}"
        numbers, codes = self._guarded(text, None, lambda cursor: cursor.fetchnumpy()).values()
        if numbers.size < 2 or numbers.dtype.kind not in "iu":
            return None
        marks = [self._columns(f"SELECT mark FROM {dictionary} ORDER BY code")[0] for dictionary in coded.dictionaries]
        return fast_paths.key_totals(persons, numbers, codes, marks, threads=self._threads, check=self._time.check())

    # -- inside -------------------------------------------------------------------------------------------------

    def _occurring(self, relation: Relation, expression: Expression) -> list[Value]:
        """The values of a key column that occur, in order."""
        text = self._printer.expression(expression, relation.schema)
        source = self._printer.relation(relation, expression.columns())
        rows = self._rows(f"SELECT DISTINCT {text} AS value FROM ({source}) AS t ORDER BY value NULLS LAST")
        return [value for (value,) in rows]

    def _create_constants(self, columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> str:
        typed = [
            (name, sql_type(domain, [row[column_index] for row in rows]))
            for column_index, (name, domain) in enumerate(columns)
        ]
        lists = (parameters(rows[start : start + _AT_ONCE]) for start in range(0, len(rows), _AT_ONCE))
        table = f"key_table_{next(self._numbers)}"
        self._fill(table, f"SELECT {self._unnested(typed)}", lists)
        return table

    def _listed(self, columns: Sequence[tuple[str, Domain]], lists: Iterable[list[tuple[Value, ...]]]) -> str:
        typed = [(name, sql_type(domain)) for name, domain in columns]
        table = f"key_list_{next(self._numbers)}"
        empty: list[list[Any]] = [[] for _ in typed]
        self._fill(table, f"SELECT {self._unnested(typed)}", chain([empty], map(parameters, lists)))
        return table

    def _unnested(self, typed: Sequence[tuple[str, str]]) -> str:
        """Parameters as columns whose types are known, whatever the first values are."""
        name_of = self._printer.dialect.identifier
        return ", ".join(f"CAST(unnest(?) AS {kind}) AS {name_of(name)}" for name, kind in typed)

    def _marked_dictionary(self, values: tuple[Value, ...], domain: Domain) -> str:
        """A dictionary with a mark of each value, which, unlike a code, depends on that value alone."""
        plain = self._dictionary(values, domain)
        cached = self._constant_tables.get(("marked", plain))
        if cached is not None:
            return cached
        marked = mark(self._printer.dialect, "value", domain.kind)
        table = f"key_table_{next(self._numbers)}"
        self._make(table, f"SELECT value, code, {marked} AS mark FROM {plain}")
        return self._constant_tables.put(("marked", plain), table, 3 * len(values))

    def _fill(self, table: str, select: str, lists: Iterable[list[Any] | None]) -> None:
        """Make a table by a SELECT with each of some parameters; nothing is left behind if that fails."""
        is_created = False
        try:
            for parameters in lists:
                self._execute(
                    f"INSERT INTO {table} {select}" if is_created else f"CREATE TABLE {table} AS {select}", parameters
                )
                is_created = True
        except BaseException:
            if is_created:
                self._forget(table)
            raise

    def _make(self, table: str, select: str) -> None:
        self._fill(table, select, [None])

    def _forget(self, table: str) -> None:
        self._run(f"DROP TABLE {table}")  # also when the time is over

    def _capped_rows(self, scan: Scan) -> str:
        return f"bounded_{next(self._numbers)}"

    def _make_capped_rows(self, scan: Scan) -> None:
        table = self._sources[bounded_name(scan)]
        if table not in self._bounded:
            if self._wide.has_wide_rows(scan):
                self._wide.make_capped_rows(scan, table)
            else:
                self._make(table, capped_rows_statement(self._printer, scan))
            self._bounded.append(table)

    def _prepare(self, relation: Relation) -> None:
        super()._prepare(relation)
        needed = {self._sources.get(bounded_name(scan)) for scan in relation.scans()}
        for table in [bounded for bounded in self._bounded if bounded not in needed][:-_FEW_TABLES]:
            self._forget(table)
            self._bounded.remove(table)
        self._make_wide_relations(relation)

    def rows_of_units(self, vector_sum: VectorSum) -> Sensitive[list[list[list[int]]]]:
        """The rows of each unit, which are in this process, for code that the custodian trusts."""

        def read() -> list[list[list[int]]]:
            rows = steps_statement(self._printer, vector_sum)
            row = f"[{', '.join(f'q{value_index}' for value_index in range(len(vector_sum.values)))}]"
            text = f"SELECT {f'[{row}]' if vector_sum.by_row else f'list({row})'} FROM ({rows}) AS q"
            return [unit for (unit,) in self._rows(text if vector_sum.by_row else f"{text} GROUP BY p")]

        return Sensitive(self._remembered(vector_sum, read, remember=False))

    def _remembered(self, question: Asked, compute: Callable[[], Any], *, remember: bool = True) -> Any:
        with self._lock:
            try:
                return super()._remembered(question, compute, remember=remember)
            finally:
                for relation in self._temporary_relations:
                    self._forget(self._sources.pop(relation))
                self._temporary_relations.clear()

    def _make_wide_relations(self, relation: Relation) -> None:
        """Make tables, for one question, of relations too wide for DuckDB to group or rank."""
        for subrelation in ranked_or_grouped(relation):
            if (
                isinstance(subrelation, KeepParts | PerPerson)
                and subrelation not in self._sources
                and self._wide.is_wide(subrelation)
            ):
                table = f"made_{next(self._numbers)}"
                self._wide.make_relation(subrelation, table)
                self._sources[subrelation] = table
                self._temporary_relations.append(subrelation)

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._guarded(text, None, self._fetched)
        return rows

    def _fetched(self, cursor: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
        """Fetch all rows, some at a time, and check the time between: fetching cannot be interrupted."""
        rows: list[tuple[Any, ...]] = []
        while batch := cursor.fetchmany(_AT_ONCE):
            rows += batch
            if self._time.is_over:
                raise TimeoutError
        return rows

    def _one_by_one(self, text: str, take: Callable[[Iterator[Any]], Any]) -> Any:
        """Pass long rows to `take` one by one, so that few are held at a time."""

        def read(cursor: duckdb.DuckDBPyConnection) -> Iterator[Any]:
            while batch := cursor.fetchmany(_WIDE_AT_ONCE):
                yield from batch
                if self._time.is_over:
                    raise TimeoutError

        return self._guarded(text, None, lambda cursor: take(read(cursor)))

    def _columns(self, text: str) -> list[npt.NDArray[np.int64]]:
        arrays = self._guarded(f"SELECT * FROM ({text})", None, lambda cursor: cursor.fetchnumpy())
        return [np.asarray(column).astype(np.int64) for column in arrays.values()]

    def _execute(self, text: str, parameters: list[Any] | None = None) -> None:
        self._guarded(text, parameters, lambda _cursor: None)

    def _guarded(self, text: str, parameters: list[Any] | None, take: Any) -> Any:
        """Run a statement. The engine's error messages may quote rows, and are never passed on."""
        with self._time.interrupting(self._connection.interrupt):
            try:
                return take(self._connection.execute(text, parameters))
            except (self._error, RuntimeError, MemoryError, TimeoutError) as error:
                kind, is_over, is_stopped = type(error), self._time.is_over, str(error) == _STOPPED
        if is_over:
            raise out_of_time(kind)
        if issubclass(kind, (self._memory_error, MemoryError)):
            raise failure("memory", kind)
        raise failure("other" if is_stopped or issubclass(kind, self._io_error) else "defect", kind)

    def _run(self, text: str) -> None:
        self._connection.execute(text)


def _in_order(values: Iterable[Value]) -> list[Value]:
    """Values of one kind in DuckDB's order, missing last."""
    ordered: list[Any] = sorted(value for value in values if value is not None)
    return [*ordered, None] if None in values else ordered


def _decoded(codes: npt.NDArray[np.int64], values: list[list[Value]]) -> list[tuple[Value, ...]]:
    """Combinations of values from their positions in the product."""
    columns: list[list[Value]] = []
    for column_values in reversed(values):
        lookup = np.empty(len(column_values), dtype=object)
        lookup[:] = column_values
        quotients = codes // max(lookup.size, 1)
        columns.append(lookup[codes - quotients * lookup.size].tolist())
        codes = quotients
    return list(zip(*reversed(columns), strict=True))
