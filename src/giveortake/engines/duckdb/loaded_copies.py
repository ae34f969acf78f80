"""Loaded copies of CSV files, kept in a folder of their user, so that the same file need not be read as text again.

A copy is a database of DuckDB with the rows of the table as it was loaded: exact rows, readable by its user alone. It
is attached, and read as far as questions need it: a question that was answered before needs none of it. Its name is
made with a secret of the folder, of the path, of the content, of how cells are read, and of the copy itself. So a copy
of another content or reading is not found, and one that was damaged, changed or put there by somebody else is noticed,
removed and made anew. Whatever goes wrong with a copy, the file itself is read. A copy that is removed while it is
attached can still be read: it is open.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.engines.cache_folder import is_own
from giveortake.engines.sql.dialect import single_quoted

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from giveortake.engines.cache_folder import CacheFolder

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
        path, content, read = map(self.folder.name_of, texts)
        return path, content, read

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


def _write(connection: duckdb.DuckDBPyConnection, table: str, place: Path) -> None:
    """Write the rows of a table to a new file, all of them or an error."""
    connection.execute(f"ATTACH {single_quoted(str(place))} AS {table}_draft")
    try:
        place.chmod(0o600)  # DuckDB would let others read it, and no row is in it yet
        connection.execute(f"CREATE TABLE {table}_draft.{_ROWS} AS SELECT * FROM {table}")
    finally:
        connection.execute(f"DETACH {table}_draft")  # which writes what is not written yet
