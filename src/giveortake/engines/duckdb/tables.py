"""Sources as DuckDB tables: files, databases, tables in memory, and public tables. Results as Parquet files.

A CSV file is loaded once and kept as a copy, so that it need not be read as text again. A copy is a database of DuckDB
with the rows of the table as it was loaded: exact rows, readable by its user alone. It is attached, and read as far as
questions need it: a question that was answered before needs none of it. Its name is made with a secret of the folder,
of the path, of the content, of how cells are read, and of the copy itself. So a copy of another content or reading is
not found, and one that was damaged, changed or put there by somebody else is noticed, removed and made anew. Whatever
goes wrong with a copy, the file itself is read. A copy that is removed while it is attached can still be read: it is
open.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

from giveortake.engines.duckdb import csv_files
from giveortake.engines.duckdb.csv_files import cast_text, load_csv, require_distinct, separator_of
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.protocol import PublicColumn, PublicContent, PublicRows, Source, not_a_table
from giveortake.engines.runtime import is_own
from giveortake.engines.sql.dialect import double_quoted as identifier
from giveortake.engines.sql.dialect import single_quoted
from giveortake.engines.sql.printer import Printer
from giveortake.errors import HIDDEN, InvalidParameter, NotFound, did_you_mean, safe_text
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb
    import numpy as np
    import numpy.typing as npt

    from giveortake.engines.runtime import CacheFolder


_NO_EXTENSIONS = dict.fromkeys(  # a file of another kind would have them looked for on a network
    ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"), "false"
)


def open_database(folder: Path | None = None, *, file: Path | None = None) -> duckdb.DuckDBPyConnection:
    """An empty database, which uses files in the folder when memory is short; or the one in a file."""
    import duckdb  # noqa: PLC0415 (a heavy library, needed from here on)

    memory = {} if folder is None else {"temp_directory": str(folder)}
    return duckdb.connect(":memory:" if file is None else str(file), config={**memory, **_NO_EXTENSIONS})


def held(columns: Mapping[str, npt.NDArray[np.float64 | np.int64 | np.bool_ | np.str_]]) -> Any:
    """A table of arrays (numbers, truth values or texts) in this process, which can be protected."""
    arrays = dict(columns)  # by this name DuckDB finds them
    connection = open_database()
    connection.execute("SET threads = 1")
    table = connection.sql("SELECT * FROM arrays")
    assert arrays is not None  # noqa: S101 (it is read by its name, above)
    return table


def write_table(table: Any, path: Path, name: str) -> None:
    """Write a table that offers an Arrow stream into a new DuckDB file."""
    import duckdb  # noqa: PLC0415 (heavy, and already there when a question was answered)

    if path.exists():
        raise InvalidParameter("path", str(path), "already exists", hint="name a new file")
    with open_database() as connection:
        connection.register("answer", table)
        try:
            connection.execute(f"ATTACH {single_quoted(str(path))} AS file")
            connection.execute(f"CREATE TABLE file.{identifier(name)} AS SELECT * FROM answer")
            connection.execute("DETACH file")
        except duckdb.IOException:
            raise InvalidParameter("path", str(path), "cannot be written", hint="does its folder exist?") from None


SMALLEST = 1 << 20  # bytes of a file that is worth a copy
_RULES = 3  # raised whenever `csv_files` makes another table of the same file
_CHUNK = 1 << 22
_ROWS = "kept_rows"  # the table in a copy


@final
@dataclass(frozen=True, slots=True)
class Original:
    """What a copy is made of: a file, its content by a digest, and how its cells are read."""

    path: str
    content: str
    reading: str


@final
@dataclass(frozen=True, slots=True)
class LoadedCopies:
    """The copies in a folder. Several processes may use it at the same time."""

    folder: CacheFolder

    def attach(self, connection: duckdb.DuckDBPyConnection, table: str, original: Original) -> str | None:
        """Attach the copy of a file and return the name of its table; None if there is no intact copy."""
        import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

        with suppress(OSError, library.Error):  # somebody removed it, or it is none: then the file itself is read
            for copy in self._copies(self._names(original)):
                if self._is_whole(copy):
                    connection.execute(f"ATTACH {single_quoted(str(copy))} AS {table}_copy (READ_ONLY)")
                    os.utime(copy)
                    return f"{table}_copy.{_ROWS}"
                copy.unlink(missing_ok=True)
        return None

    def keep(self, connection: duckdb.DuckDBPyConnection, table: str, original: Original) -> None:
        """Keep a copy of a table, and remove what it replaces and what nobody used for long.

        A folder that cannot be written, or a full disk, means that there is no copy.
        """
        import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

        draft = self.folder.draft()
        try:
            self.folder.prepare()
            _write(connection, table, draft)
            same_path, same_content, same_reading = self._names(original)
            name = f"{same_path}-{same_content}-{same_reading}-{self._seal(draft)}.duckdb"
            older = [copy for copy in self._copies((same_path,)) if same_content not in copy.name]
            draft.replace(self.folder.path / name)
            for copy in (*older, *self.folder.unused(".duckdb")):
                copy.unlink(missing_ok=True)
        except (OSError, library.Error):
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    # -- inside -------------------------------------------------------------------------------------------------

    def _names(self, original: Original) -> tuple[str, str, str]:
        import duckdb as library  # noqa: PLC0415 (it is there)

        reading = f"{_RULES} {library.__version__} {original.reading}"
        texts = (f"path {original.path}", f"content {original.content}", f"reading {original.content} {reading}")
        path, content, cells = map(self.folder.name_of, texts)
        return path, content, cells

    def _copies(self, names: tuple[str, ...]) -> list[Path]:
        return sorted(self.folder.path.glob(f"{'-'.join(names)}-*.duckdb"))

    def _is_whole(self, copy: Path) -> bool:
        """Whether a copy is this user's alone, and has the content that its name says."""
        return is_own(copy) and hmac.compare_digest(copy.stem.rpartition("-")[2], self._seal(copy))

    def _seal(self, copy: Path) -> str:
        digest = hmac.new(self.folder.secret(), b"copy ", hashlib.sha256)
        with copy.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()


def _write(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Write the rows of a table to a new file, all of them or an error."""
    connection.execute(f"ATTACH {single_quoted(str(path))} AS {table}_draft")
    try:
        path.chmod(0o600)  # DuckDB would let others read it, and no row is in it yet
        connection.execute(f"CREATE TABLE {table}_draft.{_ROWS} AS SELECT * FROM {table}")
    finally:
        connection.execute(f"DETACH {table}_draft")  # which writes what is not written yet


_HALVES = re.compile("[\ud800-\udfff]")


def without_objects(frame: Any, kinds: Mapping[str, Kind] | None) -> tuple[Any, dict[str, Kind]]:
    """The table with texts in place of objects, and the kinds that are declared for those columns.

    Guarantee: what a cell holds decides about that cell alone. DuckDB would look at all of them and choose the type of
    the column, so that one row could change which rows of everybody count. Of a public table it may: `kinds` is None.
    """
    if kinds is None or not hasattr(frame, "isetitem"):  # it is public, or no table
        return frame, {}
    objects = [column_index for column_index, dtype in enumerate(frame.dtypes) if str(dtype) == "object"]
    texts = frame.copy(deep=False)
    for column_index in objects:
        texts.isetitem(column_index, frame.iloc[:, column_index].map(_text).astype("string"))
    names = [str(frame.columns[column_index]) for column_index in objects]
    return texts, {name: kinds[name] for name in names if kinds.get(name, Kind.TEXT) is not Kind.TEXT}


def _text(cell: Any) -> str | None:
    """A cell as text; None if it is missing, or cannot be converted.

    1.0 is 1, because pandas writes it so beside 2.5. Halves of letters, which no file holds, are U+FFFD.
    """
    if isinstance(cell, float):
        if cell != cell:  # noqa: PLR0124 (not a number)
            return None
        return str(int(cell)) if cell.is_integer() else repr(float(cell))
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    try:
        text = str.__str__(cell) if isinstance(cell, str) else str(cell)
    except Exception:  # noqa: BLE001 (objects raise what they please, and one of them must not decide about the others)
        return None
    return _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)


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
_SUFFIXES = "CSV files end in .csv, .tsv or .txt, Parquet in .parquet or .pq, DuckDB in .duckdb, .ddb or .db"
Read = TypeVar("Read")


FileState: TypeAlias = tuple[int, int, int]


@final
@dataclass(frozen=True, slots=True)
class Loaded:
    """A table that can be read as `text`, from files or from memory; `files` are their paths with their states."""

    source: Source
    text: str
    files: tuple[tuple[str, FileState], ...] = ()


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
        return read_without_quoting(path, lambda: _from_path(connection, name, path, kinds, table, copies=copies))
    if isinstance(source, Sequence) and source and all(isinstance(file, str | Path) for file in source):
        paths = [Path(file) for file in source]
        return read_without_quoting(f"{len(paths)} files", lambda: _from_parquet(connection, name, paths))
    if type(source).__module__.partition(".")[0] == "pandas":
        frame = source.to_frame(getattr(source, "name", None) or "value") if hasattr(source, "to_frame") else source
        texts, objects = without_objects(frame, kinds)
        return _from_memory(connection, name, texts, objects)
    if type(source).__name__ == "LazyFrame" and hasattr(source, "collect"):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        return _from_memory(connection, name, _Stream(source))
    raise not_a_table(source)


def read_without_quoting(source: object, read: Callable[[], Read]) -> Read:
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
        names = sorted(sibling.name for sibling in path.parent.iterdir() if safe_text(sibling.name) == sibling.name)
    suggestion = f"{did_you_mean(path.name, names)}{hint}".strip()
    return NotFound(f"there is no file {safe_text(path)}", hint=suggestion or None)


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
        paths = sorted(path.parent.glob(path.name))
        if not paths:
            raise NotFound(f"no file matches {safe_text(path)}")
        return _from_parquet(connection, name, paths)
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
    path_list = ", ".join(map(single_quoted, absolute))
    text = f"read_parquet([{path_list}])"
    files = tuple((path, file_state(path)) for path in absolute)
    first, *others = [
        connection.execute(f"DESCRIBE SELECT * FROM read_parquet({single_quoted(path)})").fetchall()
        for path in absolute
    ]
    if any(other != first for other in others):
        raise InvalidParameter("source", f"{len(paths)} files", "do not all have the same columns of the same types")
    source = _source(connection, name, text, _digest_files(absolute))
    _require_readable(connection, text, [column for column, _ in source.columns])
    return Loaded(source, text, files)


def _require_readable(connection: duckdb.DuckDBPyConnection, text: str, columns: list[str]) -> None:
    """Read every value once: a text that is no UTF-8 or a time out of range would make questions fail."""
    import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

    column_list = ", ".join(map(identifier, columns))
    problem: type[Exception] | None = None
    try:
        connection.execute(
            f"SELECT max(hash({column_list})) FROM {text}" if columns else f"SELECT count(*) FROM {text}"
        )
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
    file_copies = copies if path.stat().st_size >= SMALLEST else None
    text = None if file_copies is None else file_copies.attach(connection, stored, original)
    if text is None:
        text = stored
        load_csv(connection, stored, path, separator, kinds)
        if file_copies is not None and _digest_files([absolute]) == fingerprint:  # nobody wrote it meanwhile
            file_copies.keep(connection, stored, original)
    return Loaded(_source(connection, name, text, fingerprint), text)


def _from_database(connection: duckdb.DuckDBPyConnection, name: str, path: Path, table: str | None) -> Loaded:
    text, table_name = _attached(connection, name, path, table)
    absolute = str(path.resolve())
    source = _source(connection, name, text, _digest_files([absolute], table_name))
    return Loaded(source, text, ((absolute, file_state(absolute)),))


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
    tables = sorted(table_name for (table_name,) in rows)
    definitions = connection.execute(
        "SELECT sql FROM duckdb_tables() WHERE database_name = ? UNION ALL "
        "SELECT sql FROM duckdb_views() WHERE database_name = ? AND NOT internal",
        [alias, alias],
    ).fetchall()
    if any("COLLATE" in str(text).upper() for (text,) in definitions):
        raise InvalidParameter(
            "source", path.name, "has columns with a collation, under which different texts are equal"
        )
    chosen_table = table or (tables[0] if len(tables) == 1 else name)
    if chosen_table not in tables:
        raise NotFound(
            f"the database has no table {chosen_table!r}",
            hint=f"it has {', '.join(tables) or 'none'}: ?table=NAME after the path says which",
        )
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE database_name = ?", [alias]).fetchall()
    if (chosen_table,) in views:
        _require_within(path, chosen_table)
    return f"{alias}.{identifier(chosen_table)}", chosen_table


def _require_within(path: Path, view: str) -> None:
    """Refuse a view that reads what is not in its database: nobody has said that these files may be read."""
    import duckdb as library  # noqa: PLC0415 (it is there)

    outside = False
    with open_database() as isolated:
        isolated.execute(f"ATTACH {single_quoted(str(path.resolve()))} AS alone (READ_ONLY)")
        isolated.execute("SET enable_external_access = false")
        try:
            isolated.execute(f"DESCRIBE alone.{identifier(view)}")
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

    column_label, hint = "", "leave such columns out"
    for column_index, dtype in enumerate(frame.dtypes):
        try:
            connection.register("incoming_column", frame.iloc[:0, [column_index]])
            connection.unregister("incoming_column")
        except library.NotImplementedException:
            column = frame.columns[column_index]
            column_label = f" `{column}` of type {dtype}"
            way = "dt.to_timestamp()" if str(dtype).startswith("period") else "astype(str)"
            hint = f'convert it, such as by df["{column}"].{way}, or leave it out'
            break
    return InvalidParameter("source", HIDDEN, f"has a column{column_label} that cannot be read", hint=hint)


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
        columns = ", ".join(identifier(column) for column, *_ in connection.execute(f"DESCRIBE {stored}").fetchall())
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


def file_state(path: str) -> FileState:
    """Size, time and place of a file: as long as they stay, it is taken to be unchanged."""
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _digest_files(paths: list[str], extra: str = "") -> str:
    """SHA-256 of the content of files, so that the same table under another name is noticed."""
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def columns_of(path: Path, table: str | None = None) -> dict[str, Kind | None]:
    """The name and kind of every column that can be asked about; the kind is None where cells are untyped text.

    Guarantee: nothing depends on any row. Of a CSV file the first record is read, of Parquet files and databases what
    they say about their types.
    """
    if not path.is_file():
        raise absent(path, "`giveortake init` takes one CSV, Parquet or DuckDB file")
    separator = read_without_quoting(path, lambda: csv_files.separator_of(path))
    if separator is not None:
        return read_without_quoting(path, lambda: dict.fromkeys(csv_files.header(path, separator)))
    with open_database() as connection:
        columns = read_without_quoting(path, lambda: typed_columns(connection, path, table))
    if not columns:
        raise InvalidParameter("file", path.name, "has no column of a type that can be asked about")
    return {name: domain.kind for name, domain in columns}


def write_parquet(table: Any, path: Path, metadata: str) -> None:
    """Write a table that offers an Arrow stream to a Parquet file; `metadata` is what it says as `giveortake`."""
    write_parquets([(path, table, metadata)])


def write_parquets(files: Iterable[tuple[Path, Any, str]]) -> None:
    """Write several Parquet files: the path, the table and the metadata of each."""
    import duckdb  # noqa: PLC0415 (heavy, and already there when a question was answered)

    with open_database() as connection:
        for path, table, metadata in files:
            connection.register("answer", table)
            try:
                key_values = f"KV_METADATA {{giveortake: {single_quoted(metadata)}}}"
                connection.execute(f"COPY answer TO {single_quoted(str(path))} (FORMAT parquet, {key_values})")
            except duckdb.IOException:
                raise InvalidParameter(
                    "output", str(path), "cannot be written", hint="does its folder exist?"
                ) from None
            connection.unregister("answer")


def without_metadata(paths: Iterable[Path]) -> Path | None:
    """The first of some files that does not have this metadata; None if all have it."""
    import duckdb  # noqa: PLC0415 (as above)

    query = "SELECT 1 FROM parquet_kv_metadata(?) WHERE key = 'giveortake'::BLOB"
    with open_database() as connection:
        for path in paths:
            try:
                metadata = connection.execute(query, [str(path)]).fetchone()
            except duckdb.Error:
                return path
            if metadata is None:
                return path
    return None


_printer = Printer(DuckDBDialect(), {})


def content_of(connection: duckdb.DuckDBPyConnection, loaded: Loaded) -> PublicContent:
    """What is in a public table that the connection can read."""
    columns = {name: _column(connection, loaded, name, domain) for name, domain in loaded.source.columns}
    return PublicContent(loaded.source, columns)


def _column(connection: duckdb.DuckDBPyConnection, loaded: Loaded, name: str, domain: Domain) -> PublicColumn:
    column = _printer.read(name, domain)  # unique as it is joined, not as it is stored
    text = f"SELECT {column}, count(*) FROM {loaded.text} GROUP BY 1 ORDER BY 1 NULLS LAST"
    rows = connection.execute(text).fetchall()
    return PublicColumn(
        tuple(value for value, _ in rows), all(count == 1 and value is not None for value, count in rows)
    )


def read_here(name: str, source: object, most: int) -> PublicRows:
    """Read a public table, and at most `most` of its rows, in a database of its own."""
    with open_database() as connection:
        loaded = load(connection, name, source, None, None)
        text = f"SELECT {_printer.read_all(loaded.source.columns)} FROM {loaded.text} AS t"
        return PublicRows(content_of(connection, loaded), connection.execute(text).fetchmany(most))
