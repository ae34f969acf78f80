"""Folders for what an engine cannot hold in memory: on disk while the engine lives, and no longer."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import final

_PREFIX, _LOCK = "giveortake-rows-", "lock"


@final
class ScratchFolder:
    """A folder that its user alone can read. If its process dies, the next scratch folder removes it.

    Its lock is held while the process lives, and released by the system however it dies. A process that inherits the
    lock's descriptor holds it too.
    """

    def __init__(self, *, sweep: bool = True) -> None:
        import fcntl  # noqa: PLC0415 (not on every platform)

        if sweep:
            remove_abandoned()
        made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self.lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.path = made.rename(made.with_name(made.name.removeprefix(".")))  # nobody finds it before it is locked
        self._removal = weakref.finalize(self, _remove, self.path, os.getpid())  # at the latest when the process ends

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        self._removal()
        lock, self.lock = self.lock, -1
        with suppress(OSError):  # it is closed already
            os.close(lock)


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # and not in a fork of it
        shutil.rmtree(path, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove the folders of processes that are gone."""
    import fcntl  # noqa: PLC0415 (not on every platform)

    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or somebody else was faster
            lock = os.open(left / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)
