"""`publish`: releases as files, or in a schema of a DuckDB file or a PostgreSQL database: all of them, or nothing."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final
from uuid import uuid4

from giveortake.engines.duckdb.tables import open_database, without_metadata, write_parquets
from giveortake.engines.protocol import is_address
from giveortake.engines.sql.dialect import double_quoted, single_quoted
from giveortake.errors import HIDDEN, InvalidParameter, NotFound, extra, safe_text
from giveortake.exact import counted
from giveortake.publication.tables import CATALOGUE, LONGEST, PROVENANCE_COLUMNS, catalogue, collected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import duckdb
    from psycopg import Connection

    from giveortake.answers import Answer
    from giveortake.answers.column import Kind, Value
    from giveortake.publication.tables import LeftOut, PublishedTable
    from giveortake.session import Session


_SCHEMA = "giveortake"
_SERVERS = ("postgresql://", "postgres://")
_DATABASES = frozenset({".duckdb", ".ddb", ".db"})
_ONE_TABLE = frozenset({".parquet", ".pq", ".csv"})
_WORKBOOKS = frozenset({".xlsx", ".xls", ".ods"})
_PAGES = frozenset({".html", ".htm"})
_WHERE = (
    "answers.parquet or answers.csv for one table, answers/ for a folder of them, answers.duckdb, or "
    "postgresql://…/database"
)
_PUBLISHED = re.compile(  # a header's end
    rb"(_[0-9]+)?,".join(map(str.encode, PROVENANCE_COLUMNS)) + rb"(_[0-9]+)?\s*$"
)
_FOREIGN = "exists, and was not published by giveortake"


@final
@dataclass(frozen=True, slots=True)
class Publication:
    """What was written: the names of tables with what was asked, and the releases left out and why."""

    tables: tuple[tuple[str, str], ...]
    left_out: tuple[LeftOut, ...]
    catalogue: bool = True

    def __str__(self) -> str:
        number = counted(len(self.tables), "table")
        lines = [
            f"{number} and a catalogue, {CATALOGUE}, are published" if self.catalogue else f"{number} is published"
        ]
        lines += [f"  {name}: {' '.join(query.split())}" for name, query in self.tables]
        lines += [f"  not {omission.release_id}: {omission.why}" for omission in self.left_out]
        return "\n".join(lines)


def publish(
    session: Session,
    to: str | Path,
    *,
    release: str | Sequence[str] | None = None,
    schema: str = _SCHEMA,
) -> Publication:
    """Write the releases of a session where other programs read them: an analyst's own, or all of the custodian's.

    `to` is a Parquet or CSV file for one table, a folder for a Parquet file each, a DuckDB file, or the URL of a
    PostgreSQL database; of the latter two, `schema` is what they are written into. `release` names one release, or
    some. Each table has the ends of intervals, margins, promise and caps as columns, and says what they are in comments
    (Parquet: in its metadata `giveortake`; CSV has none). The table `releases` lists them all, and what holds no table
    and why. Publishing again replaces what was published, in one transaction, and nothing else. No budget is spent:
    everything was paid.
    """
    destination = str(to)
    if not schema or len(schema.encode()) > LONGEST or not schema.isprintable():
        raise InvalidParameter("schema", schema, "cannot be the name of a schema", hint='schema="answers"')
    write_to = _writer(destination, schema)
    tables, omissions = collected(session, release)
    if not tables:
        reason = f": {omissions[0].why}" if omissions else ""
        raise NotFound(f"there is nothing to publish{reason}", hint="session.releases() lists what was paid for")
    write_to(tables, omissions)
    listed = tuple((published.name, published.query) for published in tables)
    return Publication(listed, tuple(omissions), catalogue=Path(destination).suffix.lower() not in _ONE_TABLE)


def _writer(destination: str, schema: str) -> Callable[[list[PublishedTable], list[LeftOut]], None]:
    """The function that writes to a destination, chosen before anything is read."""
    if destination.startswith(_SERVERS):
        return lambda tables, omissions: _into_database(postgres_schema(destination, schema), tables, omissions)
    if is_address(destination):
        raise InvalidParameter("to", HIDDEN, "is an address of a kind that is not known", hint=_WHERE)
    path = Path(destination)
    if path.suffix.lower() in _DATABASES:
        return lambda tables, omissions: _into_database(duckdb_schema(path, schema), tables, omissions)
    if path.suffix.lower() in _ONE_TABLE:
        return lambda tables, _omissions: _into_file(path, tables)
    if path.suffix.lower() in _WORKBOOKS:
        csv = path.with_suffix(".csv")
        raise InvalidParameter("to", destination, "is a workbook, and none is written", hint=f"spreadsheets open {csv}")
    if path.is_dir() or destination.endswith(("/", os.sep)):
        return lambda tables, omissions: _into_folder(path, tables, omissions)
    if path.suffix.lower() in _PAGES:
        hint = f'report(session, id, "{destination}"); `--report {destination}` of the command'
        raise InvalidParameter("to", destination, "is a page, which is made of one release", hint=hint)
    raise InvalidParameter("to", destination, "has a name that does not say what to write", hint=_WHERE)


def _into_database(
    opened: AbstractContextManager[Target], tables: list[PublishedTable], omissions: list[LeftOut]
) -> None:
    with opened as target:
        write(target, tables, omissions)


def _into_file(path: Path, tables: list[PublishedTable]) -> None:
    if len(tables) != 1:
        ids = [published.record.id for published in tables]
        single = min(ids, key=ids.count, default="ID")  # a release with one table, if there is one
        raise InvalidParameter(
            "to",
            str(path),
            f"can hold one table, and there are {len(tables)}",
            hint=f'release="{single}" publishes one; {path.with_suffix("")}/ is a folder of all',
        )
    if path.suffix.lower() == ".csv":
        _replace_csv(path, str(tables[0].table.to_csv()).encode("utf-8-sig"))  # by which spreadsheets know UTF-8
    else:
        _replace([(path, tables[0].table, tables[0].metadata)])


def _replace_csv(path: Path, content: bytes) -> None:
    """Write a CSV file whole or not at all; an existing file is replaced only if it was published by us."""
    try:
        if path.exists():
            with path.open("rb") as file:
                if not _PUBLISHED.search(file.readline(1 << 20)):
                    raise InvalidParameter("to", str(path), _FOREIGN, hint="name another file")
        draft = _draft_of(path)
        try:
            draft.write_bytes(content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError:
        raise InvalidParameter("to", str(path), "cannot be written", hint="does its folder exist?") from None


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid4().hex}.draft")


def _into_folder(folder: Path, tables: list[PublishedTable], omissions: list[LeftOut]) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        raise InvalidParameter("to", str(folder), "cannot be made", hint="does the folder above it exist?") from None
    catalogue_table, _ = catalogue(tables, omissions)
    files = [(folder / f"{published.name}.parquet", published.table, published.metadata) for published in tables]
    _replace([*files, (folder / f"{CATALOGUE}.parquet", catalogue_table, f'{{"about": "{ABOUT}"}}')])


def _replace(files: Sequence[tuple[Path, Answer, str]]) -> None:
    """Write files, and move each into place once all are whole; only published files are replaced."""
    foreign = without_metadata(path for path, _, _ in files if path.exists())
    if foreign is not None:
        raise InvalidParameter("to", str(foreign), _FOREIGN, hint="name another file")
    drafts = [_draft_of(path) for path, _, _ in files]
    try:
        write_parquets((draft, table, metadata) for draft, (_, table, metadata) in zip(drafts, files, strict=True))
        for draft, (path, _, _) in zip(drafts, files, strict=True):
            draft.replace(path)
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)


MARK = "published by giveortake"  # the last line of the comment of every table that is ours to replace
ABOUT = "What was released, the promise that came with it, and where its numbers are."
_MIXED = "has a table of that name that giveortake did not publish; nothing was written"


def write(target: Target, tables: Sequence[PublishedTable], omissions: Sequence[LeftOut]) -> None:
    """Write tables and the catalogue into a schema. Published tables of the same name are replaced, others never."""
    existing = target.existing()
    for name in (CATALOGUE, *(published.name for published in tables)):
        if name in existing and not existing[name][1].endswith(MARK):
            raise InvalidParameter(
                "to", safe_text(target.location), f"{_MIXED}: {name}", hint='schema="answers", one of its own'
            )
    for published in tables:
        columns = target.types(published.table)
        if published.name in existing and existing[published.name][0] == columns:
            target.empty(published.name)
        else:
            if published.name in existing:
                target.drop(published.name)
            target.create(published.name, columns)
        target.fill(published.name, published.table)
        target.comment(published.name, f"{published.comment}\n{MARK}", published.comments)
    catalogue_table, comments = catalogue(tables, omissions)
    if CATALOGUE in existing:
        target.forget(
            [*(published.record.id for published in tables), *(omission.release_id for omission in omissions)]
        )
    else:
        target.create(CATALOGUE, target.types(catalogue_table))
    target.fill(CATALOGUE, catalogue_table)
    target.comment(CATALOGUE, f"{ABOUT}\n{MARK}", comments)


@contextmanager
def duckdb_schema(path: Path, schema: str) -> Iterator[Target]:
    """Open a schema of a file, in one transaction. A file that holds anything but publications is refused."""
    import duckdb  # noqa: PLC0415 (heavy)

    existed = path.exists()
    try:
        with open_database(file=path) as connection:
            connection.execute("BEGIN")
            target = _DuckDBSchema(connection, schema, str(path))
            if existed:
                _require_ours(connection, path)
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {double_quoted(schema)}")
            yield target
            connection.execute("COMMIT")
    except (duckdb.IOException, duckdb.CatalogException, duckdb.DependencyException) as error:
        problem = type(error).__name__.removesuffix("Exception")
        raise InvalidParameter(
            "to",
            str(path),
            f"cannot be written ({problem}); nothing was changed",
            hint="is it a DuckDB file that no other program has open, in a folder that exists?",
        ) from None


def _require_ours(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a file with tables that we did not publish: a protected table may lie in a DuckDB file."""
    comments = connection.execute("SELECT comment FROM duckdb_tables() WHERE NOT internal").fetchall()
    if not all((comment or "").endswith(MARK) for (comment,) in comments):
        raise InvalidParameter(
            "to", str(path), "holds tables that were not published by giveortake", hint="name a file of its own"
        )


@final
class _DuckDBSchema:
    """A schema of a file, inside one transaction."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: str, location: str) -> None:
        self._connection = connection
        self._schema = schema
        self.location = location

    def existing(self) -> Mapping[str, tuple[list[tuple[str, str]], str]]:
        """The tables that are there: the names and types of their columns, and their comments."""
        tables = "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = ?"
        rows = self._connection.execute(tables, [self._schema]).fetchall()
        columns = (
            "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ? "
            "ORDER BY column_index"
        )
        return {
            name: (self._connection.execute(columns, [self._schema, name]).fetchall(), comment or "")
            for name, comment in rows
        }

    def types(self, table: Answer) -> list[tuple[str, str]]:
        """The names and types of the columns that a table will have."""
        self._connection.register("published_now", table)
        columns = self._connection.execute("DESCRIBE SELECT * FROM published_now").fetchall()
        self._connection.unregister("published_now")
        return [(name, "VARCHAR" if kind == '"NULL"' else kind) for name, kind, *_ in columns]

    def create(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        """Create an empty table."""
        column_list = ", ".join(f"{double_quoted(column)} {kind}" for column, kind in columns)
        self._connection.execute(f"CREATE TABLE {self._named(name)} ({column_list})")

    def empty(self, name: str) -> None:
        """Delete the rows of a table: what others have built on it stays."""
        self._connection.execute(f"DELETE FROM {self._named(name)}")  # noqa: S608 (a quoted name)

    def drop(self, name: str) -> None:
        """Delete a table."""
        self._connection.execute(f"DROP TABLE {self._named(name)}")

    def fill(self, name: str, table: Answer) -> None:
        """Add the rows of a table."""
        self._connection.register("published_now", table)
        self._connection.execute(f"INSERT INTO {self._named(name)} SELECT * FROM published_now")  # noqa: S608 (as above)
        self._connection.unregister("published_now")

    def forget(self, release_ids: Sequence[str]) -> None:
        """Delete the rows of the catalogue about some releases."""
        statement = f"DELETE FROM {self._named(CATALOGUE)} WHERE release_id = ?"  # noqa: S608 (as above)
        if release_ids:
            self._connection.executemany(statement, [[release_id] for release_id in dict.fromkeys(release_ids)])

    def comment(self, name: str, text: str, columns: Sequence[tuple[str, str]]) -> None:
        """Put comments on a table and its columns."""
        self._connection.execute(f"COMMENT ON TABLE {self._named(name)} IS {single_quoted(text)}")
        for column, column_comment in columns:
            self._connection.execute(
                f"COMMENT ON COLUMN {self._named(name)}.{double_quoted(column)} IS {single_quoted(column_comment)}"
            )

    def _named(self, name: str) -> str:
        return f"{double_quoted(self._schema)}.{double_quoted(name)}"


_TYPES: dict[Kind, str] = {
    "integer": "bigint",
    "float": "double precision",
    "text": "text",
    "truth": "boolean",
    "date": "date",
    "time": "timestamp without time zone",
    "decimal": "numeric",
    "nothing": "text",
}
_EXISTING = """
SELECT c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''),
       coalesce(array_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped), '{}'),
       coalesce(array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum)
                FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped), '{}')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname = %s AND c.relkind IN ('r', 'v', 'm', 'p', 'f', 'S') GROUP BY c.oid, c.relname
"""
_PINNED = "SET LOCAL search_path = pg_catalog, pg_temp"  # functions of others, which fit better, are not found
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('giveortake publication ' || %s, 0))"


@contextmanager
def postgres_schema(address: str, schema: str) -> Iterator[Target]:
    """Open a schema of a database, in one transaction, which waits for any other that publishes there."""
    try:
        import psycopg  # noqa: PLC0415 (heavy)
        from psycopg import sql  # noqa: PLC0415 (heavy)
    except ImportError:
        raise NotFound("PostgreSQL needs psycopg", hint=extra("postgres")) from None
    try:
        with psycopg.connect(address) as connection:
            connection.execute(_PINNED)
            connection.execute(_ONE_AT_A_TIME, [schema])
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
            yield _PostgresSchema(connection, schema)
    except psycopg.Error as error:
        message = error.diag.message_primary or type(error).__name__
        raise InvalidParameter(
            "to",
            HIDDEN,
            f"cannot be written ({message}); nothing was changed",
            hint="postgresql://user@host/database, whose user may create a schema",
        ) from None


@final
class _PostgresSchema:
    """A schema of a database, inside one transaction."""

    def __init__(self, connection: Connection[Any], schema: str) -> None:
        from psycopg import sql  # noqa: PLC0415 (it is there: this is its connection)

        self._connection, self._schema, self._sql = connection, schema, sql
        self.location = schema

    def existing(self) -> Mapping[str, tuple[list[tuple[str, str]], str]]:
        """The tables that are there: the names and types of their columns, and their comments."""
        rows = self._connection.execute(_EXISTING, [self._schema]).fetchall()
        return {name: (list(zip(columns, kinds, strict=True)), comment) for name, comment, columns, kinds in rows}

    def types(self, table: Answer) -> list[tuple[str, str]]:
        """The names and types of the columns that a table will have."""
        return [(column.name, _type(column.kind, column)) for column in table.columns]

    def create(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        """Create an empty table."""
        column_list = [self._formatted("{} " + kind, column) for column, kind in columns]  # kinds are our own
        self._connection.execute(
            self._sql.SQL("CREATE TABLE {} ({})").format(self._named(name), self._sql.SQL(", ").join(column_list))
        )

    def empty(self, name: str) -> None:
        """Delete the rows of a table: what others have built on it stays."""
        self._run("DELETE FROM {}", name)

    def drop(self, name: str) -> None:
        """Delete a table."""
        self._run("DROP TABLE {}", name)

    def fill(self, name: str, table: Answer) -> None:
        """Add the rows of a table."""
        rows = zip(*table.columns, strict=True)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(self._sql.SQL("COPY {} FROM STDIN").format(self._named(name))) as copy,
        ):
            for row in rows:
                copy.write_row([storable(value) for value in row])

    def forget(self, release_ids: Sequence[str]) -> None:
        """Delete the rows of the catalogue about some releases."""
        statement = self._sql.SQL("DELETE FROM {} WHERE release_id = ANY(%s)").format(self._named(CATALOGUE))
        self._connection.execute(statement, [list(release_ids)])

    def comment(self, name: str, text: str, columns: Sequence[tuple[str, str]]) -> None:
        """Put comments on a table and its columns."""
        literal = self._sql.Literal(text)
        self._connection.execute(self._sql.SQL("COMMENT ON TABLE {} IS {}").format(self._named(name), literal))
        for column, column_comment in columns:
            statement = self._sql.SQL("COMMENT ON COLUMN {}.{} IS {}").format(
                self._named(name), self._sql.Identifier(column), self._sql.Literal(column_comment)
            )
            self._connection.execute(statement)

    def _run(self, statement: str, name: str) -> None:
        self._connection.execute(self._sql.SQL(statement).format(self._named(name)))

    def _formatted(self, text: str, name: str) -> Any:
        return self._sql.SQL(text).format(self._sql.Identifier(name))

    def _named(self, name: str) -> Any:
        return self._sql.Identifier(self._schema, name)


def _type(kind: Kind, values: Any) -> str:
    """The type of a column; whole numbers beyond 64 bits are numeric."""
    if kind == "integer" and any(value is not None and not -(2**63) <= value < 2**63 for value in values):
        return "numeric"
    return _TYPES[kind]


def storable(value: Value) -> Value:
    """A value as PostgreSQL can hold it: NUL in texts is replaced."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


Target: TypeAlias = "_DuckDBSchema | _PostgresSchema"
