"""Spark, asked where its tables are: statements run on the cluster, and nothing but aggregates comes back."""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, final
from uuid import uuid4

import numpy as np

from giveortake.engines.protocol import Source
from giveortake.engines.questions import Bins, Tally
from giveortake.engines.runtime import failure, no_question, out_of_time
from giveortake.engines.spark import groups
from giveortake.engines.spark.dialect import SparkDialect
from giveortake.engines.spark.groups import KeyLists, arrow_table
from giveortake.engines.spark.tables import (
    Files,
    connect,
    frame_of,
    is_connect,
    offered_columns,
    require_readable,
    selected,
    unasked_columns,
)
from giveortake.engines.sql import statements
from giveortake.engines.sql.engine import SQLEngine, tallied
from giveortake.errors import GiveOrTakeError, NotFound, QueryFailed, extra
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.mechanism import BoundedIntegers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from giveortake.engines.protocol import FoundUnits, PublicContent
    from giveortake.engines.questions import Distinct, Keys, Persons
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Domain, Kind, Relation, Value


_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # results are read once
    "spark.sql.parser.manageParserCaches": "true",  # what the parser learns of each question would stay for ever,
    "spark.sql.parser.parserDfaCacheFlushRatio": "5",  # gigabytes after many; it forgets at 5 % of the driver's memory
}
_FORGOTTEN = ("spark.sql.legacy.", "spark.sql.ansi.", "spark.sql.parser.")
_KEPT = ("spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold")
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def session_of(source: object) -> SparkSession:
    """The session that a source belongs to."""
    if not isinstance(source, str):
        return source.sparkSession  # type: ignore[attr-defined, no-any-return]  # (a DataFrame, of either kind)
    try:
        return connect(source)[0]
    except GiveOrTakeError:
        raise
    except ImportError:
        raise NotFound("a table of Spark needs pyspark", hint=extra("spark")) from None
    except Exception:  # noqa: BLE001 (Spark raises whatever it pleases, with addresses in it)
        raise NotFound(
            "Spark cannot be started or reached",
            hint="is Java 17 or newer installed (`java -version`, JAVA_HOME), and does the master answer?",
        ) from None


def session_beside(session: SparkSession) -> SparkSession:
    """A session on the same cluster, with the settings under which integers are the same everywhere."""
    own_session = session.newSession()
    for setting in list(own_session.conf.getAll):
        if setting.startswith(_FORGOTTEN):
            own_session.conf.unset(setting)
    for setting in _KEPT:
        own_session.conf.set(setting, str(session.conf.get(setting)))
    for setting, value in _SETTINGS.items():
        own_session.conf.set(setting, value)
    return own_session


@contextmanager
def silent() -> Iterator[None]:
    """Keep pyspark from logging Spark's error messages."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 (a heavy library)

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


Taken = TypeVar("Taken")
_MANY_GROUPS = {
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",  # no small table is tried before the large one
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1",  # one person's array is held at a time
}
_LOST = ("Py4J", "SparkConnect", "SparkException", "Unknown")  # errors by which Spark tells that a machine gave up
_AT_ONCE = 1 << 18  # keys that are read at once, as Arrow
_AS_PYTHON = 1 << 15  # keys of these that are converted to Python at once, in ten times the memory
_MOST_BROADCAST = 2_000_000  # rows that are sent to every worker
_LONGEST = 1_000_000  # characters of a question; some functions take five times what they take elsewhere


@final
class SparkEngine(SQLEngine):
    """Tables of one Spark session, read in place by statements of a session of our own beside it.

    Our session shares the cluster and the cache, but neither settings nor functions nor views, so that what a user sets
    changes no integer. Rows must be the same each time they are read: streams, samples, limits and random values are
    refused; user-defined functions that fail, or that are declared deterministic and are not, go unnoticed.
    """

    has_witnesses = True

    def __init__(self, session: SparkSession, *, seconds: float | None = None) -> None:
        super().__init__(SparkDialect(), longest=_LONGEST, seconds=seconds)
        self._identity = f"spark {session.version}"
        self._session = session
        try:
            self._own = session_beside(session)
        except Exception:  # noqa: BLE001 (Spark raises whatever it pleases)
            raise NotFound("the Spark session does not answer", hint="was it stopped? start one anew") from None
        self._context = None if is_connect(session) else session.sparkContext
        self._key_lists = KeyLists(self._own, None if self._is_here() else self._to_frame)
        self._files: list[Files] = []
        self._without_heavy: set[tuple[Relation, Keys]] = set()
        self._views: dict[str, str | None] = {}  # and the key list that each reads, if it reads one
        self._numbers = count()

    # -- registering --------------------------------------------------------------------------------------------

    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Find a table, a DataFrame or the name of one, and read its columns' types; its rows stay where they are.

        Instants (Spark's TIMESTAMP) are offered as wall clock times in UTC.
        """
        table_or_frame = table or (connect(source)[1] if isinstance(source, str) else source)
        frame = frame_of(self._session, table_or_frame)
        require_readable(frame)
        columns = offered_columns(frame)
        self._sources[name] = self._seen_from_beside(name, selected(frame, columns))
        self._files.append(Files.of(frame, table_or_frame))
        fingerprint = self._fingerprint(frame, columns, self._sources[name])
        return Source(name, columns, fingerprint, unasked_columns(frame))

    def add_public(self, name: str, source: object) -> PublicContent:
        return self._send_public(name, source)

    def lock(self) -> None:
        """Do nothing: Spark reads what its session may see."""

    def unchanged(self) -> bool:
        return all(files.unchanged() for files in self._files)

    def hold_to_content(self) -> None:
        """Do nothing: files are compared around each question; other DataFrames always give the same rows."""

    def close(self) -> None:
        for view in self._views:
            with suppress(Exception):  # the session may have been stopped before, and its views with it
                self._own.sql(f"DROP VIEW IF EXISTS {view}")
        self._views.clear()
        self._key_lists.close()

    def _is_here(self) -> bool:
        """Whether Spark runs on this machine alone, and so can read its files."""
        return self._context is not None and str(self._context.master).startswith("local")

    def _seen_from_beside(self, name: str, frame: DataFrame) -> str:
        """Make a view of a DataFrame in our own session; all sessions can see it for a moment."""
        global_view = f"giveortake_{uuid4().hex}"
        database = str(self._own.conf.get("spark.sql.globalTempDatabase"))
        frame.createGlobalTempView(global_view)
        try:
            return self._view(self._own.table(f"{database}.{global_view}"))
        finally:
            frame.sparkSession.sql(
                f"DROP VIEW {database}.{global_view}"
            )  # the catalog's own way would empty a user's cache

    def _view(self, frame: DataFrame, key_list: str | None = None) -> str:
        view = f"view_{next(self._numbers)}"
        frame.createOrReplaceTempView(view)
        self._views[view] = key_list
        return view

    def _fingerprint(self, frame: DataFrame, columns: tuple[tuple[str, Domain], ...], view: str) -> str:
        """A hash of the content, by one scan. It tells tables apart; differential privacy does not depend on it."""
        types = frame.select(*(self._printer.dialect.identifier(column) for column, _ in columns)).schema.simpleString()
        names = ", ".join(self._printer.dialect.identifier(column) for column, _ in columns)
        mixed = self._printer.dialect.total(f"xxhash64({names})", 2**63 - 1) if columns else "0"
        try:
            with no_question():
                ((rows, sum_of_hashes),) = self._rows(f"SELECT count(*), {mixed} FROM {view}")
        except QueryFailed:
            raise NotFound(
                "Spark cannot read the whole table", hint='spark.sql("SELECT * FROM …").count() says why, to its owner'
            ) from None
        return hashlib.sha256(f"{types}|{rows}|{sum_of_hashes}".encode()).hexdigest()

    # -- asking -------------------------------------------------------------------------------------------------

    def persons(self, persons: Persons) -> Iterator[Sensitive[FoundUnits]]:
        """Yield the keys in parts; the cluster keeps them until the last one is taken.

        Which part a key is in is decided by the key alone, so that each comes once, even if a part has to be computed
        again because a worker was lost.
        """
        self._prepare(persons.relation)
        with self._finding(persons) as text, self._cached_frame(text) as frame:
            with self._many_groups():
                count = self._guarded(frame, _count)
            parts = max(1, -(-count // _AT_ONCE))
            keys = ", ".join(f"k{index}" for index in range(len(persons.keys.columns)))
            for part in range(parts):
                table = self._guarded(frame.where(f"pmod(xxhash64({keys}), {parts}) = {part}"), _taken)
                for start in range(0, max(table.num_rows, 1), _AS_PYTHON):
                    *columns, units = (column.to_pylist() for column in table.slice(start, _AS_PYTHON).columns)
                    yield Sensitive((list(zip(*columns, strict=True)), BoundedIntegers.clamped(units, persons.most)))

    @contextmanager
    def _finding(self, persons: Persons) -> Iterator[str]:
        """Yield the statement that finds keys; the tables that it reads are there until the block ends."""
        if persons.weights is None or persons.relation.person is None:
            yield self._discovery_statement(persons)
            return
        declared, table = self._declared(persons), str(self._weights(persons.weights))
        with self._heavy(persons, declared) as heavy:
            yield groups.weighted_statement(self._printer, persons, declared, table, heavy)

    @contextmanager
    def _heavy(self, persons: Persons, declared: Mapping[int, str]) -> Iterator[str | None]:
        """A table of the persons with very many keys, on the cluster; None if there are none."""
        most = persons.relation.most_rows
        if most is not None and most <= groups.FEW_ROWS:
            yield None
            return
        search = (persons.relation, persons.keys)
        if search in self._without_heavy:
            yield None
            return
        with self._cached_frame(groups.heavy_statement(self._printer, persons, declared)) as frame:
            count = self._guarded(frame, _count)
            if not count:
                self._without_heavy.add(search)
                yield None
                return
            view = self._view(frame.hint("broadcast") if count <= _MOST_BROADCAST else frame)
            try:
                yield view
            finally:
                self._forget(view)

    @contextmanager
    def _many_groups(self) -> Iterator[None]:
        """Make Spark group rows as is best for many groups; the settings change no integer."""
        for setting, value in _MANY_GROUPS.items():
            self._own.conf.set(setting, value)
        try:
            yield
        finally:
            for setting in _MANY_GROUPS:
                self._own.conf.unset(setting)

    def in_parts(self, question: Tally | Bins | Distinct, size: int) -> Iterator[Sensitive[Any]]:
        if question.keys.discovered is None:
            yield from super().in_parts(question, size)
            return
        self._prepare(question.relation)
        with (
            self._coded(question.keys, question.relation.schema) as coded,
            self._cached_frame(self._statement(question, coded)) as frame,
        ):
            chunk_size = size * max(1, _AT_ONCE // size)
            for first in range(0, max(question.keys.size, 1), chunk_size):
                table = self._guarded(frame.where(f"code >= {first} AND code < {first + chunk_size}"), _taken)
                codes = table.column("code").to_numpy()
                for start in range(first, min(first + chunk_size, max(question.keys.size, 1)), size):
                    part = table.filter((codes >= start) & (codes < start + size))
                    rows = list(zip(*(column.to_pylist() for column in part.columns), strict=True))
                    yield Sensitive(_filled(question, rows, start, min(size, question.keys.size - start)))

    def _statement(self, question: Tally | Bins | Distinct, coded: Coded) -> str:
        """One row for each key, those of neighbouring keys side by side."""
        text = statements.statement_of(self._printer, question, coded)
        return f"SELECT /*+ REPARTITION_BY_RANGE(code) */ * FROM ({text}) AS t"

    @contextmanager
    def _cached_frame(self, text: str) -> Iterator[DataFrame]:
        """The result of a statement, computed once and kept on the cluster while parts of it are read."""
        frame = self._guarded(text, _persisted)
        try:
            yield frame
        finally:
            frame.unpersist()

    # -- inside -------------------------------------------------------------------------------------------------

    def _create_constants(self, columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> str:
        frame = self._to_frame(arrow_table(columns, rows))
        return self._view(frame.hint("broadcast") if len(rows) <= _MOST_BROADCAST else frame)

    def _listed(self, columns: Sequence[tuple[str, Domain]], lists: Iterable[list[tuple[Value, ...]]]) -> str:
        name = uuid4().hex
        try:
            frame = self._key_lists.frame(name, (arrow_table(columns, rows) for rows in lists))
            return self._view(frame, name)
        except BaseException:
            self._key_lists.forget(name)
            raise

    def _forget(self, table: str) -> None:
        self._own.catalog.dropTempView(table)
        key_list = self._views.pop(table)
        if key_list is not None:
            self._key_lists.forget(key_list)

    def _to_frame(self, table: pa.Table) -> DataFrame:
        """Constants in our own session, which becomes active by that; then reactivate the one before."""
        from pyspark.sql import SparkSession  # noqa: PLC0415 (a heavy library)

        before = SparkSession.getActiveSession()
        try:
            return self._own.createDataFrame(table)
        finally:
            if before is not None:
                before.createDataFrame([], "nothing INT")

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        table = self._guarded(text, _taken)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def _columns(self, text: str) -> list[npt.NDArray[np.int64]]:
        table = self._guarded(text, _taken)
        return [column.cast("int64").to_numpy() for column in table.columns]

    def _guarded(self, statement: str | DataFrame, take: Callable[[DataFrame], Taken]) -> Taken:
        """Run a statement. Spark's error messages may quote rows, and are never passed on."""
        with self._limited():
            try:
                with self._described(), silent():
                    return take(self._own.sql(statement) if isinstance(statement, str) else statement)
            except Exception as error:  # noqa: BLE001 (Spark raises whatever it pleases)
                kind, is_over = type(error), self._time.is_over
        if is_over:
            raise out_of_time(kind)  # out here, so that it does not hold the error of Spark
        is_lost = issubclass(kind, OSError | MemoryError) or kind.__name__.startswith(_LOST)
        raise failure("other" if is_lost else "defect", kind)

    @contextmanager
    def _described(self) -> Iterator[None]:
        """Jobs are shown under a name that says nothing about the question."""
        if self._context is None:
            yield
            return
        before = self._context.getLocalProperty("spark.job.description")
        self._context.setJobDescription("giveortake")
        try:
            yield
        finally:
            self._context.setJobDescription(before)  # type: ignore[arg-type]  # (None takes it away)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Interrupt what is still running when the time is over, and whatever it starts afterwards."""
        if self._time.left is None:
            yield
            return
        tag = f"giveortake-{uuid4().hex}"
        if self._context is None:
            self._own.addTag(tag)
        else:
            self._context.addJobTag(tag)
        try:
            with self._time.interrupting(partial(self._interrupt, tag)):
                yield
        finally:
            if self._context is None:
                self._own.removeTag(tag)
            else:
                self._context.removeJobTag(tag)

    def _interrupt(self, tag: str) -> None:
        if self._context is None:
            self._own.interruptTag(tag)
        else:
            self._context.cancelJobsWithTag(tag)


def _filled(question: Tally | Bins | Distinct, rows: list[tuple[Any, ...]], start: int, size: int) -> Any:
    """The integers of `size` keys from `start` on; keys without rows have zeros."""
    if isinstance(question, Tally):
        return tallied(question, rows, np.array([row[0] - start for row in rows], dtype=np.int64), size)
    codes = tuple(np.array([row[:-1] for row in rows], dtype=np.int64).reshape(len(rows), -1).T)
    numbers = BoundedIntegers.clamped([int(row[-1]) for row in rows], question.most)
    shape = (size, question.count) if isinstance(question, Bins) else (size,)
    return numbers.placed((codes[0] - start, *codes[1:]) if rows else (), shape)


def _taken(frame: DataFrame) -> pa.Table:
    return frame.toArrow()


def _count(frame: DataFrame) -> int:
    return frame.count()


def _persisted(frame: DataFrame) -> DataFrame:
    """Keep a result on the disks of the workers, so that no memory grows with it."""
    from pyspark import StorageLevel  # noqa: PLC0415 (a heavy library)

    return frame.persist(StorageLevel.DISK_ONLY)


_TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}")
