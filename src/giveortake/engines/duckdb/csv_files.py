"""CSV files as tables: a cell changes nothing but itself, and no row makes the loading fail.

The rules. The first record names the columns, and decides what stands between cells: commas, or semicolons, tabs or
bars if it has none outside of quotes; in .tsv files it is tabs. A cell that is empty, or cannot be read as what was
declared, is missing. Where semicolons stand between cells, a number that is not whole may be written with a decimal
comma. A record with too few cells has missing ones at its end; cells beyond the columns are left out; an empty line
is no record, unless there is one column only. Lines end with LF, CR LF or CR. Quotes, with any spaces around them,
enclose cells that may hold separators, line ends and doubled quotes. Files are UTF-8, or UTF-16 or UTF-32 with their
mark, perhaps packed by gzip; bytes that are no text become U+FFFD, are refused in the names of columns, and whose name
has one has no rows (see `Printer`). Where quotes do not match, records cannot be told apart, and the file is refused by
a sentence that quotes none of it.

DuckDB reads by these rules what it can, which is nearly every file. If it stumbles over anything, the whole file is
read again here. Nobody is told which way was taken, and the tables are the same.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import shlex
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, NoReturn

import numpy as np

from giveortake.engines.duckdb.dialect import TYPES
from giveortake.engines.sql.dialect import double_quoted, single_quoted
from giveortake.errors import InvalidParameter
from giveortake.plan import Kind
from giveortake.plan.expressions import MOST_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import duckdb
    import numpy.typing as npt

_TYPES = {**TYPES, Kind.DECIMAL: "DOUBLE"}
_EXACT = "DECIMAL(38, 18)"  # holds every BIGINT and its fraction
_MARKS = {  # longer marks first: that of UTF-32 begins like that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SEPARATORS = (",", ";", "\t", "|")
_SPACES = re.compile(" *")
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 22
_AT_ONCE = 10_000  # records
_MOST_CELLS = 20_000  # of a line


def separator_of(path: Path) -> str | None:
    """The separator between cells, by the name of a file and, if that leaves it open, its first record alone.

    None if it is no such file. Guarantee: what the other records look like decides nothing.
    """
    match path.suffix.lower():
        case ".tsv":
            return "\t"
        case ".csv" | ".txt":
            first_cells = {separator: _first_line(path, separator) for separator in _SEPARATORS}
            several = [separator for separator, cells in first_cells.items() if len(cells) > 1]
            unquoted = [
                separator for separator in several if not any('"' in cell for cell in first_cells[separator])
            ]  # no quoted cell is cut
            return next(iter([*unquoted, *several, _SEPARATORS[0]]))
    return None


def _first_line(path: Path, separator: str) -> list[str]:
    """The cells of the first line under this separator; none if a quote is open at its end.

    A wrong separator may open a quote that only some later row closes, or none.
    """
    with suppress(InvalidParameter), _opened(path) as file:
        return next(records(islice(file, 1), path, separator), [])
    return []


def load_csv(
    connection: duckdb.DuckDBPyConnection, table: str, path: Path, separator: str, kinds: Mapping[str, Kind]
) -> None:
    """Load a CSV file into a table. Columns that are not in `kinds` are text."""
    texts = f"{table}_texts"
    try:
        columns = header(path, separator)
        plain = len(columns) > 1 and _is_plain(path, separator)  # with one column, an empty line is ambiguous
        if not (plain and _read_by_duckdb(connection, texts, path, separator, columns)):
            _read_here(connection, texts, path, separator, columns)
        casts = ", ".join(
            cast_text(double_quoted(column), kinds.get(column, Kind.TEXT), separator) for column in columns
        )
        connection.execute(f"CREATE TABLE {table} AS SELECT {casts} FROM {texts}")
    finally:
        connection.execute(f"DROP TABLE IF EXISTS {texts}")


def cast_text(column: str, kind: Kind, separator: str = ",") -> str:
    """A column of texts as one of a kind, cell by cell: what a cell is not is missing, as a fraction is no integer."""
    cast = f"TRY_CAST({column} AS {_TYPES[kind]})"
    if kind is Kind.INTEGER:  # the cast would round
        cast = f"CASE WHEN TRY_CAST({column} AS {_EXACT}) = {cast} THEN {cast} END"
    if separator == ";" and kind in {Kind.REAL, Kind.DECIMAL}:
        cast = f"COALESCE({cast}, TRY_CAST(replace({column}, ',', '.') AS {_TYPES[kind]}))"
    return f"{cast} AS {column}"


# -- by DuckDB --------------------------------------------------------------------------------------------------------


def _is_plain(path: Path, separator: str) -> bool:
    """Whether DuckDB reads byte order marks, line ends and quotes by these rules; False if in doubt.

    Quotes are plain if every other one follows a separator, a line end or a quote, and the ones between are followed
    by one of these: then there is but one way to pair them.
    """
    with path.open("rb") as file:
        if file.read(4).startswith((_GZIP, *_MARKS)):
            return False
    content = np.memmap(path, dtype=np.uint8, mode="r") if path.stat().st_size else np.zeros(0, dtype=np.uint8)
    borders = np.frombuffer(f'{separator}\r\n"'.encode(), dtype=np.uint8)
    quotes, kinds_of_ends, unfinished = 0, set[bool](), 0
    for start in range(0, content.size, _CHUNK):
        chunk = content[start : start + _CHUNK]
        positions = {sign: start + np.flatnonzero(chunk == ord(sign)) for sign in '\0\r\n"'}
        kinds_of_ends |= set((_bytes_at(content, positions["\n"] - 1) == ord("\r")).tolist())
        opening, closing = positions['"'][quotes % 2 :: 2], positions['"'][1 - quotes % 2 :: 2]
        quotes += positions['"'].size
        before = np.searchsorted(
            start + np.flatnonzero(chunk == ord(separator)), [start, *positions["\n"], start + _CHUNK]
        )
        cells = np.diff(before)
        cells[0] += unfinished
        unfinished = int(cells[-1])
        plain = (
            not positions["\0"].size,
            len(kinds_of_ends) < 2,
            cells.max() < _MOST_CELLS,  # DuckDB's time grows with their square
            (_bytes_at(content, positions["\r"] + 1) == ord("\n")).all(),
            np.isin(_bytes_at(content, opening - 1), borders).all(),
            np.isin(_bytes_at(content, closing + 1), borders).all(),
        )
        if not all(plain):
            return False
    return quotes % 2 == 0


def _bytes_at(content: npt.NDArray[np.uint8], positions: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """The bytes at places; beyond both ends there is a line end."""
    inside = (positions >= 0) & (positions < content.size)
    return np.where(inside, content[np.where(inside, positions, 0)], ord("\n")).astype(np.uint8)


def _read_by_duckdb(
    connection: duckdb.DuckDBPyConnection, table: str, path: Path, separator: str, columns: list[str]
) -> bool:
    """Let DuckDB read the file, and return whether it took every record. Quotes need a single thread."""
    import duckdb as library  # noqa: PLC0415 (it is there: this is its connection)

    column_types = ", ".join(f"{single_quoted(column)}: 'VARCHAR'" for column in columns)
    reader = (
        f"read_csv({single_quoted(str(path.resolve()))}, delim = {single_quoted(separator)}, "
        "all_varchar = true, header = true, "
        "quote = '\"', escape = '\"', auto_detect = false, strict_mode = true, null_padding = false, "
        f"parallel = {'false' if _has_quotes(path) else 'true'}, ignore_errors = true, store_rejects = true, "
        f"rejects_table = '{table}_errors', rejects_scan = '{table}_scans', rejects_limit = 1, "
        f"columns = {{{column_types}}})"
    )
    try:
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM {reader}")
        ((errors,),) = connection.execute(f"SELECT count(*) FROM {table}_errors").fetchall()
    except library.Error:
        errors = 1
    for leftover in (f"{table}_errors", f"{table}_scans", *([table] if errors else [])):
        connection.execute(f"DROP TABLE IF EXISTS {leftover}")
    return not errors


def _has_quotes(path: Path) -> bool:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if b'"' in chunk:
                return True
    return False


# -- here -------------------------------------------------------------------------------------------------------------


def _read_here(
    connection: duckdb.DuckDBPyConnection, table: str, path: Path, separator: str, columns: list[str]
) -> None:
    column_definitions = ", ".join(f"{double_quoted(column)} VARCHAR" for column in columns)
    connection.execute(f"CREATE TABLE {table} ({column_definitions})")
    placeholders = ", ".join("unnest(?::VARCHAR[])" for _ in columns)
    with _opened(path) as file:
        rows = records(file, path, separator)
        next(rows)  # the header
        while batch := list(islice(rows, _AT_ONCE)):
            padded = ((cells + [""] * len(columns))[: len(columns)] for cells in batch if cells or len(columns) == 1)
            cut = [[cell[: MOST_CHARACTERS + 1] or None for cell in cells] for cells in padded]
            if cut:
                connection.execute(
                    f"INSERT INTO {table} SELECT {placeholders}",
                    [list(column_cells) for column_cells in zip(*cut, strict=True)],
                )


def records(lines: Iterator[str], path: Path | None, separator: str) -> Iterator[list[str]]:
    r"""The cells of each record; none of an empty line. Lines keep their ends.

    >>> list(records(iter(['a,b\n', '1, "x\n', 'y"\r\n']), None, ","))
    [['a', 'b'], ['1', 'x\ny']]
    """
    for line in lines:
        cells, position, text = [], 0, line
        while True:
            start = _after_spaces(text, position)
            if text[start : start + 1] == '"':
                cell, text, position = _quoted(text, start + 1, lines, path)
                position = _after_spaces(text, position)
            else:
                end = text.find(separator, position)
                stop = len(text.rstrip("\r\n")) if end < 0 else end
                cell, position = text[position:stop], stop
            cells.append(cell)
            if text[position : position + 1] != separator:
                break
            position += 1
        if text[position : position + 1] not in {"", "\r", "\n"}:
            _refuse_quotes(path)
        yield [] if cells == [""] and '"' not in line else cells


def _after_spaces(line: str, position: int) -> int:
    match = _SPACES.match(line, position)
    return position if match is None else match.end()


def _quoted(line: str, position: int, lines: Iterator[str], path: Path | None) -> tuple[str, str, int]:
    """A quoted cell, the line in which it ends, and the place behind its closing quote."""
    parts = []
    while True:
        close = line.find('"', position)
        if close < 0:
            parts.append(line[position:])
            line, position = next(lines, ""), 0
            if not line:
                _refuse_quotes(path)
        elif line[close + 1 : close + 2] == '"':
            parts.append(line[position : close + 1])
            position = close + 2
        else:
            parts.append(line[position:close])
            return "".join(parts), line, close + 1


def _refuse_quotes(path: Path | None) -> NoReturn:
    raise InvalidParameter(
        "source",
        str(path),
        "has quotes that do not match, so that its records cannot be told apart",
        hint="write it again by a program that doubles quotes inside of cells",
    )


def header(path: Path, separator: str) -> list[str]:
    """The names of the columns, from the first record alone: the other records decide nothing."""
    with _opened(path) as file:
        header = next(records(file, path, separator), [])
    if not header or "" in header:
        raise InvalidParameter(
            "source",
            str(path),
            "does not begin with the names of its columns, each once",
            hint="name every column in the first line; upper and lower case are one",
        )
    if any("\N{REPLACEMENT CHARACTER}" in name for name in header):
        raise InvalidParameter(
            "source",
            str(path),
            "names columns in a first line that is not UTF-8",
            hint=f"iconv -f latin1 -t utf-8 {shlex.quote(str(path))} > {shlex.quote(f'{path.stem}-utf8{path.suffix}')}",
        )
    require_distinct(header, str(path))
    return header


def require_distinct(names: Iterable[str], source: object) -> None:
    """Refuse a table in which two columns have the same name, whatever their case; names are public."""
    first: dict[str, str] = {}
    for name in names:
        if name.casefold() in first:
            raise InvalidParameter(
                "source",
                source,
                f"has two columns of one name: `{first[name.casefold()]}` and `{name}`",
                hint="rename one of them; upper and lower case are one",
            )
        first[name.casefold()] = name


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[str]]:
    """Open a file as text, with its line ends as they are."""
    with path.open("rb") as raw:
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        plain: IO[bytes] = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if packed else raw
        start = plain.read(4)
        plain.seek(0)
        encoding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8-sig")
        with io.TextIOWrapper(plain, encoding=encoding, errors="replace", newline="") as file:
            yield (line.replace("\0", "\N{REPLACEMENT CHARACTER}") for line in file)  # some engines accept no U+0000
