"""The engine protocol, backends that open engines, and public tables.

The engine of a table is the one that is where the table is. Our own engines are imported when one is opened; other
packages register theirs as entry points.
"""

from __future__ import annotations

import re
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final, runtime_checkable
from urllib.parse import parse_qs

from giveortake.errors import HIDDEN, InvalidParameter, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.engines.questions import Asked, Bins, Distinct, Persons, Tally, VectorSum
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.plan import Domain, Kind, Relation, Value


FoundUnits: TypeAlias = "tuple[list[tuple[Value, ...]], BoundedIntegers]"


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A table as an engine sees it: its columns with what their types say, and a fingerprint of its content.

    `unasked` lists the columns of types that cannot be asked about, and these types; `loose` those in which the server
    takes texts of several spellings for one.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    fingerprint: str
    unasked: tuple[tuple[str, str], ...] = ()
    loose: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What an engine may use, where it can be limited: memory and threads of this process, seconds of a question.

    `cache` is a folder for copies of what takes long to load, if there may be any.
    """

    memory: str
    threads: int | None
    seconds: float | None
    cache: Path | None = None


class Engine(Protocol):
    """Executes questions where the data is. Nothing but integers, and keys that are to be selected, comes back.

    Integers come as arrays with one row for each key in the order of `Keys`, all of them, zeros included, with the
    bound that the question states (`most`). They do not depend on the order of rows, the number of threads or the
    engine, and neither does how long they take to be computed with. What an engine knows of private tables leaves it
    wrapped in `Sensitive`, or not at all.
    """

    @property
    def identity(self) -> str:
        """The engine and its version: another one may choose, by hash, other parts of a person."""

    @property
    def has_witnesses(self) -> bool:
        """Whether anybody but this process sees the texts of statements: a server's monitors and logs, Spark's pages.

        Whoever watches may not be allowed to read rows. So no text that is seen holds anything that rows decided.
        """

    # -- tables -------------------------------------------------------------------------------------------------

    @abstractmethod
    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Register a private table. `kinds` says what untyped cells are read as; `table` names one of several."""

    @abstractmethod
    def add_public(self, name: str, source: object) -> PublicContent:
        """Register a table that everybody may know, and return what is in it."""

    def prepare(self, relations: Iterable[Relation]) -> None:
        """Make beforehand what every question about these relations needs, outside the time of any question."""

    @abstractmethod
    def lock(self) -> None:
        """Make everything but the registered tables unreachable from now on."""

    @abstractmethod
    def unchanged(self) -> bool:
        """Whether the data is still what it was when it was registered, as far as can be told without reading it."""

    @abstractmethod
    def hold_to_content(self) -> None:
        """From now on answer questions from exactly the content that was registered, or fail.

        Parts and counters need it: in one version, a person is in no more parts than declared, and once in a count.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the engine, and release the data."""

    # -- questions ----------------------------------------------------------------------------------------------

    def require_runnable(self, questions: Iterable[Asked]) -> None:
        """Refuse what this engine could not run, by what the questions say alone: no row is looked at.

        It is asked before anything is charged. Keys that are still to be found have no values yet.
        """

    def tally(self, tally: Tally) -> Sensitive[list[BoundedIntegers]]:
        """The sums of all groups: one array for each summand."""

    def bins(self, bins: Bins) -> Sensitive[BoundedIntegers]:
        """The counts of all groups and bins: an array of keys × bins."""

    def distinct(self, distinct: Distinct) -> Sensitive[BoundedIntegers]:
        """The number of distinct values for each key."""

    def persons(self, persons: Persons) -> Iterator[Sensitive[FoundUnits]]:
        """Yield the keys that occur and the number of units of each: some at a time, each once, in any order."""

    def vectors(self, vector_sum: VectorSum, *, remember: bool = True) -> Sensitive[BoundedIntegers]:
        """The sum of vectors: an array of all cells, in their order.

        Without `remember` the statement is executed, whatever was asked before, and not kept for the next time: where
        a question depends on rows, what an engine remembers of it would, too.
        """

    def in_parts(self, question: Tally | Bins | Distinct, size: int) -> Iterator[Sensitive[Any]]:
        """The result of `tally`, `bins` or `distinct` for `size` keys at a time, in the order of the keys."""


@runtime_checkable
class HandsOverRows(Protocol):
    """An engine in this process, which can hand rows to code that the custodian trusts. No other engine has to."""

    def rows_of_units(self, vector_sum: VectorSum) -> Sensitive[list[list[list[int]]]]:
        """The values of every row of each unit, in steps; nothing is cut, named or remembered."""


class Backend(Protocol):
    """What a package registers: which sources are its own, and how an engine that asks them is opened."""

    @property
    def name(self) -> str:
        """The name of the place where such tables are."""

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes of its addresses, without ://."""

    def claims(self, source: object) -> bool:
        """Whether a source that is no address is a table of this engine. Nothing heavy is imported to tell."""

    def open(self, source: object, limits: Limits) -> Engine:
        """An engine for a source, without any table yet."""


_TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}")


@final
class PostgresBackend:
    """The backend for tables that a URL of PostgreSQL names."""

    name = "postgresql"
    schemes: tuple[str, ...] = ("postgresql", "postgres")

    def claims(self, source: object) -> bool:
        return False

    def open(self, source: object, limits: Limits) -> Engine:
        from giveortake.engines.postgres.engine import PostgresEngine  # noqa: PLC0415 (brings psycopg)

        return PostgresEngine(str(source), seconds=limits.seconds)


@final
class SparkBackend:
    """The backend for tables of an active Spark session, or of one that a URL names."""

    name = "spark"
    schemes: tuple[str, ...] = ("spark", "sc")

    def claims(self, source: object) -> bool:
        """Whether it is a DataFrame, or names a table of the session that is active; a file of that name goes first."""
        if type(source).__module__.partition(".")[0] == "pyspark":
            return True
        if not isinstance(source, str) or "pyspark" not in sys.modules:
            return False
        if not _TABLE_NAME.fullmatch(source) or Path(source).exists():
            return False
        session = sys.modules["pyspark.sql"].SparkSession.getActiveSession()
        return session is not None and bool(session.catalog.tableExists(source))

    def open(self, source: object, limits: Limits) -> Engine:
        from giveortake.engines.spark.engine import SparkEngine, session_of  # noqa: PLC0415 (brings Spark)

        return SparkEngine(session_of(source), seconds=limits.seconds)


@final
class DuckDBBackend:
    """The backend for files, and for tables of pandas, Polars or Arrow in memory."""

    name = "here"
    schemes: tuple[str, ...] = ()

    def claims(self, source: object) -> bool:
        if isinstance(source, str | Path | Sequence) or type(source).__module__.partition(".")[0] == "pandas":
            return True
        return hasattr(source, "__arrow_c_stream__") or type(source).__name__ == "LazyFrame"

    def open(self, source: object, limits: Limits) -> Engine:
        from giveortake.engines.duckdb.engine import DuckDBEngine  # noqa: PLC0415 (brings DuckDB)

        return DuckDBEngine(memory=limits.memory, threads=limits.threads, seconds=limits.seconds, cache=limits.cache)


BUILT_IN: tuple[Backend, ...] = (PostgresBackend(), SparkBackend(), DuckDBBackend())  # whoever knows a source first


MOST_ROWS_SENT = 1_000_000  # of a public table that is sent to another engine


@final
@dataclass(frozen=True, slots=True)
class PublicColumn:
    """The values of a column, in order, and whether each occurs once and none is missing."""

    values: tuple[Value, ...]
    is_unique: bool


@final
@dataclass(frozen=True, slots=True)
class PublicContent:
    """A public table, and what is in each of its columns."""

    source: Source
    columns: Mapping[str, PublicColumn]


@final
@dataclass(frozen=True, slots=True)
class PublicRows:
    """A public table, its content and its rows, for engines that are somewhere else."""

    content: PublicContent
    rows: list[tuple[Value, ...]]


def read_public_table(name: str, source: object) -> PublicRows:
    """Read a public table here: a file or a table in memory. DuckDB reads it, in a database of its own."""
    from giveortake.engines.duckdb.tables import read_here  # noqa: PLC0415 (brings DuckDB)

    public_rows = read_here(name, source, MOST_ROWS_SENT + 1)
    if len(public_rows.rows) > MOST_ROWS_SENT:
        raise InvalidParameter("public", name, f"has more than {MOST_ROWS_SENT:,} rows")
    return public_rows


GROUP = "giveortake.engines"  # of entry points, by which other packages register a `Backend`
HERE = "here"
_ADDRESS = re.compile(r"\s*(jdbc:|[^/\\]*://)", re.IGNORECASE)


def open_engine(
    source: Any, *, memory: str, threads: int | None, seconds: float | None, cache: Path | None = None
) -> Engine:
    """Open an engine for a source, or for a dictionary of sources, which have to be in one place."""
    sources = list(source.values()) if isinstance(source, Mapping) else [source]
    backends = {backend.name: backend for backend in map(backend_of, sources or [None])}
    if len(backends) > 1:
        raise InvalidParameter(
            "source", sorted(backends), "are different places: tables that are asked together lie together"
        )
    (backend,) = backends.values()
    return backend.open(sources[0] if sources else None, Limits(memory, threads, seconds, cache))


def require_tables(source: object) -> None:
    """Refuse rows in Python's own lists before anything looks for files among their texts."""
    for table_source in source.values() if isinstance(source, Mapping) else [source]:
        files = (
            isinstance(table_source, list | tuple)
            and table_source
            and all(isinstance(path, str | Path) for path in table_source)
        )
        if isinstance(table_source, list | tuple | Set | Mapping) and not files:
            raise not_a_table(table_source)


def not_a_table(source: object) -> InvalidParameter:
    """What is said of a source that is neither a file nor a table of any library."""
    return InvalidParameter(
        "source",
        HIDDEN,
        f"is not a table: its type is {type(source).__name__}",
        hint="pl.DataFrame(data) makes a table of lists; else pass a path to CSV, Parquet or DuckDB, or a Polars, "
        "pandas or Arrow table",
    )


def place_of(source: object) -> str:
    """Where a source is: in a server that its URL names, in Spark, or else `HERE`."""
    return backend_of(source).name


def backend_of(source: object) -> Backend:
    """The backend of a source: one of our own if it knows it, or else the one other package that does."""
    *remote_backends, local_backend = BUILT_IN
    for backend in (*remote_backends, local_backend):
        if _knows(backend, source):
            return backend
    claimants = [backend for backend in _registered() if _knows(backend, source)]
    if len(claimants) > 1:
        names = ", ".join(backend.name for backend in claimants)
        raise InvalidParameter(
            "source", HIDDEN, f"is claimed by several engines: {names}", hint="uninstall all but one"
        )
    if claimants:
        return claimants[0]
    if is_address(source):
        schemes = [scheme for backend in (*remote_backends, *_registered()) for scheme in backend.schemes]
        raise InvalidParameter(
            "source",
            HIDDEN,
            "is an address of a kind that is not known",
            hint=f"{', '.join(f'{scheme}://' for scheme in schemes)}, or the path of a file",
        )
    return local_backend  # which says what can be read here


def is_address(source: object) -> bool:
    """Whether a source is the URL of a server, known or not, which may hold a password and is never shown."""
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def table_in(source: str) -> str | None:
    """The table that a URL names, without its schema."""
    tables = parse_qs(source.partition("?")[2]).get("table")
    return tables[-1].rpartition(".")[2] if tables else None


def file_and_table(source: Any) -> tuple[Any, str | None]:
    """A source, and the table that `?table=` names in a file with several; an address keeps its own.

    >>> file_and_table("clinic.duckdb?table=visits"), file_and_table("visits.csv")
    (('clinic.duckdb', 'visits'), ('visits.csv', None))
    """
    if not isinstance(source, str) or is_address(source) or _TABLE not in source:
        return source, None
    file, _, table = source.rpartition(_TABLE)
    return file, table


_TABLE = "?table="


def with_table(source: str, table: str | None) -> str:
    """A source that names its table."""
    return source if table is None else f"{source}{'&' if '?' in source else '?'}table={table}"


def _knows(backend: Backend, source: object) -> bool:
    if isinstance(source, str) and is_address(source):
        return source.partition("://")[0].strip().lower() in backend.schemes
    return backend.claims(source)


def _registered() -> Iterator[Backend]:
    """What other packages register, loaded only when no engine of our own knows a source."""
    from importlib.metadata import entry_points  # noqa: PLC0415 (slow to import, and seldom needed)

    for entry in sorted(entry_points(group=GROUP), key=lambda entry_point: entry_point.name):
        try:
            backend: Backend = entry.load()
        except Exception:  # noqa: BLE001 (whatever the other package raises)
            raise NotFound(
                f"the engine {entry.name!r} that another package registers cannot be loaded",
                hint=f"import {entry.module} says why",
            ) from None
        yield backend
