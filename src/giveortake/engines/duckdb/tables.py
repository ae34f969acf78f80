"""How sources become tables of DuckDB: files, folders of files, databases, and tables in memory."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

from giveortake.engines.duckdb.csv_files import cast_text, load_csv, require_distinct, separator_of
from giveortake.engines.duckdb.database import open_database
from giveortake.engines.duckdb.loaded_copies import SMALLEST, LoadedCopies, Original
from giveortake.engines.duckdb.pandas_objects import without_objects
from giveortake.engines.protocol import Source
from giveortake.engines.registry import not_a_table
from giveortake.engines.sql.dialect import double_quoted as identifier
from giveortake.engines.sql.dialect import single_quoted
from giveortake.errors import HIDDEN, InvalidParameter, NotFound, meant, safe_text
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Kind.INTEGER),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), Kind.INTEGER),
    **dict.fromkeys(("DOUBLE", "FLOAT", "REAL"), Kind.REAL),
    **dict.fromkeys(("VARCHAR", "UUID"), Kind.TEXT),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Kind.TIMESTAMP),
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
}
_DECIMAL = re.compile(r"DECIMAL\(\d+, ?(\d+)\)")
_CHUNK = 1 << 22
_SUFFIXES = "CSV files end in .csv, .tsv or .txt, Parquet in .parquet or .pq, DuckDB in .duckdb, .ddb or .db"
Read = TypeVar("Read")


@final
@dataclass(frozen=True, slots=True)
class Loaded:
    """A table that can be read as `text`, from the files `paths` or from memory."""

    source: Source
    text: str
    paths: tuple[str, ...] = ()
    states: tuple[tuple[int, int, int], ...] = ()

    def unchanged(self) -> bool:
        """Whether the files are the ones that were registered, as far as size, time and place tell."""
        try:
            return tuple(_state(path) for path in self.paths) == self.states
        except OSError:
            return False


def load(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    source: object,
    kinds: Mapping[str, Kind] | None,
    table: str | None,
    *,
    copies: LoadedCopies | None = None,
) -> Loaded:
    """Make a source readable by the connection. Its types are fixed from here on."""
    if isinstance(source, str | Path):
        path = Path(source)
        return told_without_content(path, lambda: _from_path(connection, name, path, kinds, table, copies=copies))
    if isinstance(source, Sequence) and source and all(isinstance(each, str | Path) for each in source):
        paths = [Path(each) for each in source]
        return told_without_content(f"{len(paths)} files", lambda: _from_parquet(connection, name, paths))
    if type(source).__module__.partition(".")[0] == "pandas":
        whole = source.to_frame(getattr(source, "name", None) or "value") if hasattr(source, "to_frame") else source
        texts, objects = without_objects(whole, kinds)
        return _from_memory(connection, name, texts, objects)
    if type(source).__name__ == "LazyFrame" and hasattr(source, "collect"):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        return _from_memory(connection, name, _Stream(source))
    raise not_a_table(source)


def told_without_content(source: object, read: Callable[[], Read]) -> Read:
    """Run `read`. Error messages of DuckDB and the system may quote the file, and are not passed on."""
    import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

    with suppress(library.Error, OSError, EOFError, zlib.error):
        return read()
    raise InvalidParameter(  # out here, so that it does not hold the other error
        "source",
        safe_text(source),
        "cannot be read: it is empty, cut off, locked, or not of the kind that its name says",
        hint=_SUFFIXES,
    )


def absent(path: Path, hint: str = "") -> NotFound:
    """The error about a file that is not there, with the name of one beside it that is spelled alike."""
    names: list[str] = []
    with suppress(OSError):  # a folder that is not there, or not for us to read, has no names to tell
        names = sorted(each.name for each in path.parent.iterdir() if safe_text(each.name) == each.name)
    told = f"{meant(path.name, names)}{hint}".strip()
    return NotFound(f"there is no file {safe_text(path)}", hint=told or None)


def _from_path(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    path: Path,
    kinds: Mapping[str, Kind] | None,
    table: str | None,
    *,
    copies: LoadedCopies | None,
) -> Loaded:
    if _is_pattern(path) and path.exists():
        raise InvalidParameter(
            "source",
            safe_text(path),
            "has one of * ? [ in its name, and would be taken for a pattern",
            hint="rename it",
        )
    if _is_pattern(path):
        found = sorted(path.parent.glob(path.name))
        if not found:
            raise NotFound(f"no file matches {safe_text(path)}")
        return _from_parquet(connection, name, found)
    if path.is_dir():
        return _from_parquet(connection, name, sorted(path.glob("**/*.parquet")))
    if not path.is_file():
        raise absent(path)
    if (separator := separator_of(path)) is not None:
        return _from_csv(connection, name, path, separator, kinds, copies=copies)
    match path.suffix.lower():
        case ".parquet" | ".pq":
            return _from_parquet(connection, name, [path])
        case ".duckdb" | ".db" | ".ddb":
            return _from_database(connection, name, path, table)
    raise _of_no_kind(path)


def _of_no_kind(path: Path) -> InvalidParameter:
    return InvalidParameter("source", str(path), "is neither CSV nor Parquet nor DuckDB by its name", hint=_SUFFIXES)


def typed_columns(
    connection: duckdb.DuckDBPyConnection, path: Path, table: str | None
) -> tuple[tuple[str, Domain], ...]:
    """The columns of a file that states their types, by these alone: no row is looked at."""
    match path.suffix.lower():
        case ".parquet" | ".pq" if not _is_pattern(path):
            text = f"read_parquet({single_quoted(str(path.resolve()))})"
        case ".duckdb" | ".db" | ".ddb":
            text = _attached(connection, path.stem, path, table)[0]
        case _:
            raise _of_no_kind(path)
    return _source(connection, path.stem, text, "").columns


def _is_pattern(path: Path) -> bool:
    return any(character in str(path) for character in "*?[")


def _from_parquet(connection: duckdb.DuckDBPyConnection, name: str, paths: list[Path]) -> Loaded:
    for path in paths:
        if not path.is_file():
            raise absent(path)
        if _is_pattern(path):
            raise InvalidParameter("source", safe_text(path), "has one of * ? [ in its name", hint="rename it")
    if not paths:
        raise NotFound("the folder holds no Parquet files", hint=_SUFFIXES)
    absolute = [str(path.resolve()) for path in paths]
    listed = ", ".join(map(single_quoted, absolute))
    text = f"read_parquet([{listed}])"
    states = tuple(_state(path) for path in absolute)
    first, *others = [
        connection.execute(f"DESCRIBE SELECT * FROM read_parquet({single_quoted(path)})").fetchall()
        for path in absolute
    ]
    if any(other != first for other in others):
        raise InvalidParameter("source", f"{len(paths)} files", "do not all have the same columns of the same types")
    source = _source(connection, name, text, _digest_files(absolute))
    _require_readable(connection, text, [column for column, _ in source.columns])
    return Loaded(source, text, tuple(absolute), states)


def _require_readable(connection: duckdb.DuckDBPyConnection, text: str, columns: list[str]) -> None:
    """Read every value once: a text that is no UTF-8 or a time out of range would make questions fail."""
    import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

    listed = ", ".join(map(identifier, columns))
    problem: type[Exception] | None = None
    try:
        connection.execute(f"SELECT max(hash({listed})) FROM {text}" if columns else f"SELECT count(*) FROM {text}")
    except library.Error as error:
        problem = type(error)
    if problem is None:
        return
    if issubclass(problem, library.OutOfMemoryException):
        raise InvalidParameter(
            "source",
            "a Parquet file",
            "has groups of rows that do not fit into the memory that there is",
            hint="pass a larger memory=, or write the file with fewer rows in a group",
        )
    raise InvalidParameter(
        "source",
        "a Parquet file",
        "holds values that cannot be read: texts that are not UTF-8, or times out of range",
        hint="leave out or repair that column",
    )


def _from_csv(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    path: Path,
    separator: str,
    kinds: Mapping[str, Kind] | None,
    *,
    copies: LoadedCopies | None,
) -> Loaded:
    """Load a CSV file. Cells are text unless the custodian declares them; in public tables, their content decides."""
    absolute = str(path.resolve())
    fingerprint = _digest_files([absolute])
    if kinds is None:
        return _copied(connection, name, f"SELECT * FROM read_csv({single_quoted(absolute)})", fingerprint)
    stored = _stored_name(name)
    original = Original(absolute, fingerprint, json.dumps([separator, sorted(kinds.items(), key=str)]))
    worth_it = copies if path.stat().st_size >= SMALLEST else None
    text = None if worth_it is None else worth_it.attach(connection, stored, original)
    if text is None:
        text = stored
        load_csv(connection, stored, path, separator, kinds)
        if worth_it is not None and _digest_files([absolute]) == fingerprint:  # nobody wrote it meanwhile
            worth_it.keep(connection, stored, original)
    return Loaded(_source(connection, name, text, fingerprint), text)


def _from_database(connection: duckdb.DuckDBPyConnection, name: str, path: Path, table: str | None) -> Loaded:
    text, chosen = _attached(connection, name, path, table)
    absolute = str(path.resolve())
    source = _source(connection, name, text, _digest_files([absolute], chosen))
    return Loaded(source, text, (absolute,), (_state(absolute),))


def _attached(connection: duckdb.DuckDBPyConnection, name: str, path: Path, table: str | None) -> tuple[str, str]:
    """Attach a database file; return how its table is read, and the name of that table."""
    absolute = str(path.resolve())
    alias = f"attached_{hashlib.sha256(absolute.encode()).hexdigest()[:12]}"
    connection.execute(f"ATTACH IF NOT EXISTS {single_quoted(absolute)} AS {alias} (READ_ONLY)")
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = ? UNION "
        "SELECT view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal",
        [alias, alias],
    ).fetchall()
    tables = sorted(each for (each,) in rows)
    written = connection.execute(
        "SELECT sql FROM duckdb_tables() WHERE database_name = ? UNION ALL "
        "SELECT sql FROM duckdb_views() WHERE database_name = ? AND NOT internal",
        [alias, alias],
    ).fetchall()
    if any("COLLATE" in str(text).upper() for (text,) in written):
        raise InvalidParameter(
            "source", path.name, "has columns with a collation, under which different texts are equal"
        )
    chosen = table or (tables[0] if len(tables) == 1 else name)
    if chosen not in tables:
        raise NotFound(
            f"the database has no table {chosen!r}", hint=f"it has {', '.join(tables) or 'none'}: pass table="
        )
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE database_name = ?", [alias]).fetchall()
    if (chosen,) in views:
        _require_within(path, chosen)
    return f"{alias}.{identifier(chosen)}", chosen


def _require_within(path: Path, view: str) -> None:
    """Refuse a view that reads what is not in its database: nobody has said that these files may be read."""
    import duckdb as library  # noqa: PLC0415 (it is there)

    outside = False
    with open_database() as alone:
        alone.execute(f"ATTACH {single_quoted(str(path.resolve()))} AS alone (READ_ONLY)")
        alone.execute("SET enable_external_access = false")
        try:
            alone.execute(f"DESCRIBE alone.{identifier(view)}")
        except library.Error:
            outside = True
    if outside:
        raise InvalidParameter("source", path.name, f"has a view {view} that reads other files", hint="make it a table")


@final
@dataclass(frozen=True, slots=True)
class _Stream:
    """A table in memory as nothing but an Arrow stream, which DuckDB reads without further libraries."""

    table: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def _from_memory(
    connection: duckdb.DuckDBPyConnection, name: str, source: Any, kinds: Mapping[str, Kind] | None = None
) -> Loaded:
    """Copy a table in memory, so that nobody can change it afterwards, and cast texts to the given kinds."""
    import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

    names = _names_in_memory(source)
    if names is not None and not names:
        raise InvalidParameter("source", HIDDEN, "has no columns")
    require_distinct(names or (), HIDDEN)
    view = "incoming_table"
    try:
        connection.register(view, source)
    except library.NotImplementedException:
        raise _of_unknown_type(connection, source) from None
    casts = ", ".join(cast_text(identifier(column), kind) for column, kind in (kinds or {}).items())
    try:
        return _copied(connection, name, f"SELECT *{f' REPLACE ({casts})' if casts else ''} FROM {view}", None)
    finally:
        connection.unregister(view)


def _of_unknown_type(connection: duckdb.DuckDBPyConnection, frame: Any) -> InvalidParameter:
    """The refusal of a pandas column whose type DuckDB does not know, by its name; no row is looked at."""
    import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

    named, hint = "", "leave such columns out"
    for place, dtype in enumerate(frame.dtypes):
        try:
            connection.register("incoming_column", frame.iloc[:0, [place]])
            connection.unregister("incoming_column")
        except library.NotImplementedException:
            column = frame.columns[place]
            named = f" `{column}` of type {dtype}"
            way = "dt.to_timestamp()" if str(dtype).startswith("period") else "astype(str)"
            hint = f'convert it, such as by df["{column}"].{way}, or leave it out'
            break
    return InvalidParameter("source", HIDDEN, f"has a column{named} that cannot be read", hint=hint)


def _names_in_memory(source: Any) -> list[str] | None:
    """The names of a table's columns before DuckDB renames any that differ only in case; None if unknown."""
    table = source.table if isinstance(source, _Stream) else source
    of_arrow = getattr(getattr(table, "schema", None), "names", None)
    names = of_arrow if isinstance(of_arrow, list) else getattr(table, "columns", None)
    return [str(name) for name in names] if isinstance(names, Iterable) else None


def _stored_name(name: str) -> str:
    return f"stored_{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _copied(connection: duckdb.DuckDBPyConnection, name: str, select: str, fingerprint: str | None) -> Loaded:
    stored = _stored_name(name)
    connection.execute(f"CREATE TABLE {stored} AS {select}")
    if fingerprint is None:
        columns = ", ".join(identifier(each) for each, *_ in connection.execute(f"DESCRIBE {stored}").fetchall())
        mixed_rows = f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM {stored}"
        count, mixed = connection.execute(mixed_rows).fetchone() or (0, 0)
        fingerprint = hashlib.sha256(f"{columns}|{count}|{mixed}".encode()).hexdigest()
    return Loaded(_source(connection, name, stored, fingerprint), stored)


def _source(connection: duckdb.DuckDBPyConnection, name: str, text: str, fingerprint: str) -> Source:
    """A table with the columns that can be asked about, and apart those that cannot: lists, structs and blobs."""
    columns, unasked = [], []
    for column, kind, *_ in connection.execute(f"DESCRIBE SELECT * FROM {text}").fetchall():
        domain = _domain(kind)
        if domain is None:
            unasked.append((column, kind))
        else:
            columns.append((column, domain))
    return Source(name, tuple(columns), fingerprint, tuple(unasked))


def _domain(kind: str) -> Domain | None:
    """The domain of a type, by its whole name: a list, `DECIMAL(10,2)[]`, begins as its elements do."""
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        return Domain(Kind.DECIMAL, step=Fraction(1, 10 ** int(decimal[1])))
    if kind.startswith("ENUM(") and kind.endswith(")"):
        return Domain(Kind.TEXT)
    return Domain(_KINDS[kind]) if kind in _KINDS else None


def _state(path: str) -> tuple[int, int, int]:
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


def _digest_files(paths: list[str], extra: str = "") -> str:
    """SHA-256 of the content of files, so that the same table under another name is noticed."""
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()
