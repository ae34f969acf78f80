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
import secrets
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.engines.sql.dialect import single_quoted

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

SMALLEST = 1 << 20  # bytes of a file that is worth a copy
_RULES = 2  # raised whenever `csv_files` makes another table of the same file
_UNUSED_DAYS = 30
_HALF_WRITTEN_DAYS = 1
_CHUNK = 1 << 22
_ROWS = "kept_rows"  # the table in a copy
_SECRET, _SECRET_SIZE = "secret", 32
_DAY = 24 * 60 * 60


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

    folder: Path

    def attach(self, connection: duckdb.DuckDBPyConnection, table: str, original: Original) -> str | None:
        """How the copy of a file is read as a table; None if there is none that is whole."""
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

        draft = self.folder / f"{secrets.token_hex(8)}.draft"
        try:
            self._prepare()
            _write(connection, table, draft)
            same_path, same_content, same_reading = self._names(original)
            name = f"{same_path}-{same_content}-{same_reading}-{self._seal(draft)}.duckdb"
            older = [copy for copy in self._copies((same_path,)) if same_content not in copy.name]
            draft.replace(self.folder / name)
            for copy in (*older, *self._unused()):
                copy.unlink(missing_ok=True)
        except (OSError, library.Error):
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    # -- inside -------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        if not (self.folder / _SECRET).exists():
            draft = self.folder / f"{secrets.token_hex(8)}.draft"
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_SECRET_SIZE))
            with suppress(FileExistsError):  # another process was faster, and theirs is the secret
                os.link(draft, self.folder / _SECRET)
            draft.unlink()

    def _secret(self) -> bytes:
        """The secret of the folder; OSError if there is none, or if others may read it."""
        place = self.folder / _SECRET
        found = place.read_bytes()
        if not _is_own(place) or len(found) != _SECRET_SIZE:
            raise PermissionError
        return found

    def _names(self, original: Original) -> tuple[str, str, str]:
        import duckdb as library  # noqa: PLC0415 (it is there)

        secret = self._secret()
        reading = f"{_RULES} {library.__version__} {original.reading}"
        texts = (f"path {original.path}", f"content {original.content}", f"reading {original.content} {reading}")
        path, content, read = (
            hmac.new(secret, text.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[:24] for text in texts
        )
        return path, content, read

    def _copies(self, names: tuple[str, ...]) -> list[Path]:
        return sorted(self.folder.glob(f"{'-'.join(names)}-*.duckdb"))

    def _is_whole(self, copy: Path) -> bool:
        """Whether a copy is a file of this user that nobody else may touch, with the content that its name says."""
        return _is_own(copy) and hmac.compare_digest(copy.stem.rpartition("-")[2], self._seal(copy))

    def _seal(self, copy: Path) -> str:
        digest = hmac.new(self._secret(), b"copy ", hashlib.sha256)
        with copy.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def _unused(self) -> list[Path]:
        now = time.time()
        old = [copy for copy in self.folder.glob("*.duckdb") if now - copy.lstat().st_mtime > _UNUSED_DAYS * _DAY]
        return old + [
            draft for draft in self.folder.glob("*.draft*") if now - draft.lstat().st_mtime > _HALF_WRITTEN_DAYS * _DAY
        ]


def _write(connection: duckdb.DuckDBPyConnection, table: str, place: Path) -> None:
    """Write the rows of a table to a new file, all of them or an error."""
    connection.execute(f"ATTACH {single_quoted(str(place))} AS {table}_draft")
    try:
        place.chmod(0o600)  # DuckDB would let others read it, and no row is in it yet
        connection.execute(f"CREATE TABLE {table}_draft.{_ROWS} AS SELECT * FROM {table}")
    finally:
        connection.execute(f"DETACH {table}_draft")  # which writes what is not written yet


def _is_own(path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
