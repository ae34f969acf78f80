"""Small files that are written whole or not at all, synced to disk, and writable for their owner alone."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from giveortake.errors import LedgerUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


VARIABLE = "GIVEORTAKE_STATE"
CHOOSE = f"set {VARIABLE} to a writable folder that outlives the ledger's own, or pass mark="


def content_of(path: Path) -> bytes | None:
    """What a file holds; None if there is none."""
    require_private(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnavailable(f"{path} cannot be read: {error.strerror}", hint=CHOOSE) from error


def write_once(path: Path, content: bytes) -> None:
    """Write a new file, unless there is one already."""
    _write(path, content, over=False)


def write_over(path: Path, content: bytes) -> None:
    """Write a file in the place of whatever was there."""
    _write(path, content, over=True)


def require_private(path: Path) -> None:
    """Refuse a file that other users may write: they could take back what was spent."""
    if os.name != "posix":
        return
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # whoever opens it says why that fails
    if stat.S_ISREG(mode) and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise LedgerUnavailable(
            f"other users can write to {path}, and could undo what it remembers", hint=f"chmod go-w {path}"
        )


def create_private(path: Path) -> None:
    """Create an empty file for its owner alone, unless there is one."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise LedgerUnavailable(f"{path} cannot be created: {error.strerror}") from error


def make_private_folder(folder: Path) -> None:
    """Create a folder, and the missing ones above it, for the user alone."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock file, and remove it afterwards; the system releases the lock when the process ends.

    It yields whether somebody else held it.
    """
    import fcntl  # noqa: PLC0415 (not on every platform)

    waited = False
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LedgerUnavailable(f"nothing can be kept at {path}: {error.strerror}", hint=CHOOSE) from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waited = True
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, path):  # else whoever had it has removed it meanwhile
                try:
                    yield waited
                finally:
                    path.unlink(missing_ok=True)
                return
            waited = True
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def sync(descriptor: int) -> None:
    """Wait until what was written is on the disk."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 (not on every platform)

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the creation or removal of a file is on the disk."""
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write(path: Path, content: bytes, *, over: bool) -> None:
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        make_private_folder(path.parent)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            sync(file.fileno())
        if over:
            fresh.replace(path)
        else:
            with suppress(FileExistsError):
                os.link(fresh, path)  # whole or not at all, and never over another one
        sync_folder(path)
    except OSError as error:
        raise LedgerUnavailable(f"nothing can be kept at {path}: {error.strerror}", hint=CHOOSE) from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
