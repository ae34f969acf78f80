"""Files for answers that are too large for the ledger, which keeps only their digests.

A file has one line for each portion of the answer. It is written aside, made durable and renamed before its digest is
settled; no line is shown before that. A settled answer can be read any number of times, and is never drawn again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from giveortake.advice import Advice
from giveortake.engines.runtime import failure
from giveortake.errors import LedgerDamaged, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_CHUNK = 1 << 20


@final
@dataclass(slots=True)
class Spool:
    """A folder of answer files; a temporary one, which is removed with the session, if none was stated."""

    folder: Path | None
    _temporary: Path | None = field(default=None, init=False)

    def write(self, lines: Iterable[Any]) -> dict[str, Any]:
        """Write lines to a new file, durably; return its name, length and digest, for the ledger."""
        with self._aside() as aside:
            digest, count = _write_lines(aside, lines)
            name = f"{digest[:16]}-{secrets.token_hex(4)}.answer"
            aside.replace(self.place() / name)
            _sync(self.place())
        return {"file": name, "lines": count, "sha256": digest}

    def first(self, name: str, lines: Callable[[], Iterable[Any]]) -> Path:
        """Write lines to a named file, durably, unless it exists: then keep that one, whoever wrote it."""
        path = self.place() / name
        if not path.exists():
            with self._aside() as aside:
                _write_lines(aside, lines())
                _put_first(aside, path)
                _sync(self.place())
        return path

    def has(self, name: str) -> bool:
        """Whether a named file exists."""
        return (self.place() / name).exists()

    def forget(self, name: str) -> None:
        """Remove a named file."""
        (self.place() / name).unlink(missing_ok=True)

    @contextmanager
    def _aside(self) -> Iterator[Path]:
        """A private temporary file, which is removed afterwards unless it was renamed."""
        handle, name = tempfile.mkstemp(dir=self.place(), prefix=".")
        os.close(handle)
        try:
            yield Path(name)
        except OSError:
            failed = True
        else:
            failed = False
        finally:
            Path(name).unlink(missing_ok=True)
        if failed:
            raise failure("storage")

    def read(self, kept: Any) -> Iterator[Any]:
        """The lines of a file, after its digest was checked."""
        path = self.place() / Path(str(kept["file"])).name
        if not path.is_file():
            raise NotFound(
                f"the file {path.name} of a stored answer is not in the spool",
                hint=Advice("{spool}"),
            )
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
            if digest.hexdigest() != kept["sha256"]:
                raise LedgerDamaged(f"the file {path.name} of a stored answer is not what the ledger says")
            file.seek(0)
            for line in file:
                yield json.loads(line)

    def close(self) -> None:
        """Remove the temporary folder, if there is one."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def place(self) -> Path:
        """The folder, which is made when it is first needed."""
        if self.folder is not None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self.folder
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="giveortake-spool-"))
        return self._temporary


def _write_lines(path: Path, lines: Iterable[Any]) -> tuple[str, int]:
    """Write lines of JSON, durably; return their digest and their number."""
    digest, count = hashlib.sha256(), 0
    with path.open("wb") as file:
        for line in lines:
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            digest.update(text)
            file.write(text)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), count


def _put_first(aside: Path, path: Path) -> None:
    """Rename a file unless the name is taken; on a file system without links the later file may win."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return
    except OSError:
        aside.replace(path)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
