"""Spark, where its tables are: statements run on the cluster, and nothing but aggregates comes back."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, final
from uuid import uuid4

import numpy as np

from giveortake.engines.failures import failure, out_of_time
from giveortake.engines.protocol import Source
from giveortake.engines.questions import Bins, Tally
from giveortake.engines.spark.dialect import SparkDialect
from giveortake.engines.spark.tables import (
    Files,
    connect,
    found_table,
    is_connect,
    offered_columns,
    require_readable,
    selected,
    unasked_columns,
)
from giveortake.engines.sql import statements
from giveortake.engines.sql.engine import SQLEngine
from giveortake.engines.time_limits import no_question
from giveortake.errors import GiveOrTakeError, NotFound, QueryFailed
from giveortake.exact import exact_decimal
from giveortake.mechanisms import Sensitive
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from giveortake.engines.protocol import FoundUnits
    from giveortake.engines.public_tables import PublicContent
    from giveortake.engines.questions import Asked, Distinct, Persons
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Domain, Scan, Value

Taken = TypeVar("Taken")
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
}
_FORGOTTEN = ("spark.sql.legacy.", "spark.sql.ansi.", "spark.sql.parser.")
_KEPT = ("spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold")
_AT_ONCE = 1 << 18  # keys that are read at once
_MOST_BROADCAST = 2_000_000  # rows that are sent to every worker
_LONGEST = 1_000_000  # characters of a question; some functions take five times what they take elsewhere
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@final
class SparkEngine(SQLEngine):
    """Tables of one Spark session, read in place by statements of a session of our own beside it.

    That one shares the cluster and the cache, but neither settings nor functions nor views, so that what a user sets
    changes no integer. Rows must be the same each time they are read: streams, samples, limits and what is computed
    with luck are refused; user-defined functions that fail or that keep no promise to be deterministic are not seen.
    """

    def __init__(self, session: SparkSession, *, seconds: float | None = None) -> None:
        super().__init__(SparkDialect(), longest=_LONGEST, seconds=seconds)
        self._identity = f"spark {session.version}"
        self._session = session
        try:
            self._own = _session_beside(session)
        except Exception:  # noqa: BLE001 (Spark raises whatever it pleases)
            raise NotFound("the Spark session does not answer", hint="was it stopped? start one anew") from None
        self._context = None if is_connect(session) else session.sparkContext
        self._files: list[Files] = []
        self._views: dict[object, str] = {}
        self._numbers = count()

    @property
    def identity(self) -> str:
        return self._identity

    # -- registering --------------------------------------------------------------------------------------------

    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Find a table, a DataFrame or the name of one, and read its columns' types; its rows stay where they are.

        Instants (Spark's TIMESTAMP) are offered as what clocks in UTC show.
        """
        given = table or (connect(source)[1] if isinstance(source, str) else source)
        frame = found_table(self._session, given)
        require_readable(frame)
        columns = offered_columns(frame)
        self._sources[name] = self._seen_from_beside(name, selected(frame, columns))
        self._files.append(Files.of(frame, given))
        fingerprint = self._fingerprint(frame, columns, self._sources[name])
        return Source(name, columns, fingerprint, unasked_columns(frame))

    def add_public(self, name: str, source: object) -> PublicContent:
        return self._send_public(name, source)

    def lock(self) -> None:
        """Spark reads what its session may see: there is nothing more to lock."""

    def unchanged(self) -> bool:
        return all(files.unchanged() for files in self._files)

    def close(self) -> None:
        for view in self._views.values():
            with suppress(Exception):  # the session may have been stopped before, and its views with it
                self._own.sql(f"DROP VIEW IF EXISTS {view}")
        self._views.clear()

    def _seen_from_beside(self, name: str, frame: DataFrame) -> str:
        """A view of a DataFrame in the session of our own; all sessions can see it for a moment."""
        passing = f"giveortake_{uuid4().hex}"
        database = str(self._own.conf.get("spark.sql.globalTempDatabase"))
        frame.createGlobalTempView(passing)
        try:
            return self._view(("table", name), self._own.table(f"{database}.{passing}"))
        finally:
            frame.sparkSession.sql(
                f"DROP VIEW {database}.{passing}"
            )  # the catalog's own way would empty a user's cache

    def _view(self, key: object, frame: DataFrame) -> str:
        view = f"view_{next(self._numbers)}"
        frame.createOrReplaceTempView(view)
        self._views[key] = view
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
        """The keys are kept on the cluster until the last of them is taken.

        Which part a key is in is decided by the key alone, so that each comes once, even if a part has to be computed
        again because a worker was lost.
        """
        self._prepare(persons.relation)
        with self._kept(self._found_statement(persons)) as kept:
            parts = max(1, -(-self._guarded(kept, lambda frame: frame.count()) // _AT_ONCE))
            keys = ", ".join(f"k{index}" for index in range(len(persons.keys.columns)))
            for part in range(parts):
                table = self._guarded(kept.where(f"pmod(xxhash64({keys}), {parts}) = {part}"), _taken)
                *columns, units = (column.to_pylist() for column in table.columns)
                yield Sensitive((list(zip(*columns, strict=True)), np.array(units, dtype=np.int64)))

    def in_parts(self, asked: Tally | Bins | Distinct, size: int) -> Iterator[Sensitive[Any]]:
        if asked.keys.found is None:
            yield from super().in_parts(asked, size)
            return
        self._prepare(asked.relation)
        with self._coded(asked.keys, asked.relation.schema) as coded, self._kept(self._statement(asked, coded)) as kept:
            for start in range(0, max(asked.keys.size, 1), size):
                some = kept.where(f"code >= {start} AND code < {start + size}")
                table = self._guarded(some, _taken)
                rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
                yield Sensitive(_filled(asked, rows, start, min(size, asked.keys.size - start)))

    def _statement(self, asked: Tally | Bins | Distinct, coded: Coded) -> str:
        """One row for each key, those of neighbouring keys side by side."""
        text = statements.statement_of(self._printer, asked, coded)
        return f"SELECT /*+ REPARTITION_BY_RANGE(code) */ * FROM ({text}) AS t"

    @contextmanager
    def _kept(self, text: str) -> Iterator[DataFrame]:
        """The result of a statement, computed once and kept on the cluster while parts of it are read."""
        kept = self._guarded(text, lambda frame: frame.persist())
        try:
            yield kept
        finally:
            kept.unpersist()

    # -- inside -------------------------------------------------------------------------------------------------

    def _constants(self, columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> str:
        table = _arrow_table(columns, rows)
        key = _digest(table)
        if key not in self._views:
            frame = self._made(table)
            self._view(key, frame.hint("broadcast") if len(rows) <= _MOST_BROADCAST else frame)
        return self._views[key]

    def _require_own_limits(self, asked: Asked) -> None:
        """Spark has none that a question could reach."""

    def _few_rows(self, scan: Scan) -> str:
        return f"({self._printer.few_rows(scan)})"

    def _make_few_rows(self, scan: Scan) -> None:
        """It is part of the statements that read it."""

    def _listed(self, columns: Sequence[tuple[str, Domain]], lists: Iterable[list[tuple[Value, ...]]]) -> str:
        import pyarrow as pa  # noqa: PLC0415 (a heavy library, needed from here on)

        table = pa.concat_tables([_arrow_table(columns, rows) for rows in lists], promote_options="permissive")
        return self._view(uuid4().hex, self._made(table))

    def _forget(self, listed: str) -> None:
        self._own.catalog.dropTempView(listed)
        self._views = {key: view for key, view in self._views.items() if view != listed}

    def _made(self, table: pa.Table) -> DataFrame:
        """Constants in the session of our own. To make them makes it active; who was active before is so again."""
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

    def _guarded(self, asked: str | DataFrame, take: Callable[[DataFrame], Taken]) -> Taken:
        """Run a statement. What Spark says when it fails may quote rows, and is never told."""
        with self._limited():
            try:
                with self._described(), _silent():
                    return take(self._own.sql(asked) if isinstance(asked, str) else asked)
            except Exception as error:  # noqa: BLE001 (Spark raises whatever it pleases)
                kind, is_over = type(error), self._time.is_over
        if is_over:
            raise out_of_time(kind)  # out here, so that it does not hold the error of Spark
        raise failure("other", kind)

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
        """Interrupt what is still running after the seconds that there are, and whatever it starts from then on."""
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


def session_of(source: object) -> SparkSession:
    """The session that a source belongs to."""
    if not isinstance(source, str):
        return source.sparkSession  # type: ignore[attr-defined, no-any-return]  # (a DataFrame, of either kind)
    try:
        return connect(source)[0]
    except GiveOrTakeError:
        raise
    except ImportError:
        raise NotFound("a table of Spark needs pyspark", hint="pip install 'giveortake[spark]'") from None
    except Exception:  # noqa: BLE001 (Spark raises whatever it pleases, with addresses in it)
        raise NotFound(
            "Spark cannot be started or reached",
            hint="is Java 17 or newer installed (`java -version`, JAVA_HOME), and does the master answer?",
        ) from None


def _filled(asked: Tally | Bins | Distinct, rows: list[tuple[Any, ...]], start: int, size: int) -> Any:
    """The integers of so many keys from `start` on; keys without rows have zeros."""
    if isinstance(asked, Tally):
        sums: list[npt.NDArray[Any]] = []
        for index in range(len(asked.summands)):
            column = [int(row[index + 1]) for row in rows]
            sums.append(np.zeros(size, dtype=np.int64 if all(abs(each) < 1 << 62 for each in column) else object))
            sums[-1][[row[0] - start for row in rows]] = column
        return sums
    counts = np.zeros((size, asked.count) if isinstance(asked, Bins) else size, dtype=np.int64)
    for code, *place, number in rows:
        counts[code - start, *place] = number
    return counts


def _taken(frame: DataFrame) -> pa.Table:
    return frame.toArrow()


def _session_beside(session: SparkSession) -> SparkSession:
    beside = session.newSession()
    for setting in list(beside.conf.getAll):
        if setting.startswith(_FORGOTTEN):
            beside.conf.unset(setting)
    for setting in _KEPT:
        beside.conf.set(setting, str(session.conf.get(setting)))
    for setting, value in _SETTINGS.items():
        beside.conf.set(setting, value)
    return beside


@contextmanager
def _silent() -> Iterator[None]:
    """Keep pyspark from logging what Spark says when it fails."""
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


def _arrow_table(columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> pa.Table:
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


def _digest(table: pa.Table) -> str:
    import pyarrow as pa  # noqa: PLC0415 (see above)

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()
