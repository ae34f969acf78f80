"""A service whose workers raise or crash for some constants, and whose checks take as long as a test says."""

from __future__ import annotations

import os
from collections import UserDict
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from demo_service import running_demo
from giveortake.server.workers.pool import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from demo_service import Running

TAMPERED = """
import os, sys
from pathlib import Path
if "giveortake.server.workers.worker" in sys.orig_argv:
    from giveortake.engines.duckdb.engine import DuckDBEngine
    from giveortake.engines.runtime import out_of_time
    from giveortake.ledger.ledger import Ledger
    from giveortake.server.workers import ledger_worker, session_worker
    folder, verifying_as_usual = Path({!r}), Ledger.verifying
    guarded_as_usual, formatted_as_usual = DuckDBEngine._guarded, session_worker.formatted

    def guarded(self, *statement):
        if "7777" in str(statement):
            raise OverflowError("a row")
        if "9999" in str(statement):
            os.abort()
        if "8888" in str(statement):
            raise out_of_time()
        return guarded_as_usual(self, *statement)

    def formatted(found, kind):
        if kind in ("csv", "parquet"):
            raise OverflowError("a row") if kind == "csv" else MemoryError
        return formatted_as_usual(found, kind)

    def verifying(self):
        with (folder / "begun").open("a") as begun:
            begun.write("begun\\n")
        while not (folder / "gate").exists():
            yield 1, 7
        if (folder / "broken").exists():
            raise OverflowError
        return (yield from verifying_as_usual(self))

    DuckDBEngine._guarded, session_worker.formatted, Ledger.verifying = guarded, formatted, verifying
    ledger_worker._TURN = 0.0
"""


class Environment(UserDict[str, str]):
    """The variables of this process as a pool reads them, with a folder for the workers of one service."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.is_tampered = str(folder), ContextVar("is_tampered", default=False)

    @property
    def data(self) -> dict[str, str]:  # type: ignore[override]  # (read whenever somebody asks)
        return {**os.environ, **({"PYTHONPATH": self.folder} if self.is_tampered.get() else {})}


@contextmanager
def running_tampered(folder: Path) -> Iterator[Running]:
    """The service of `serve --demo`, tampered with; its checks wait for a file `gate` in the folder."""
    (folder / "sitecustomize.py").write_text(TAMPERED.format(str(folder)))
    environment, start = Environment(folder), Worker.start

    async def start_tampered(task: dict[str, Any]) -> Worker:
        environment.is_tampered.set(str(folder) in str(task))
        return await start(task)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Worker, "start", start_tampered)
        patched.setattr("giveortake.server.workers.pool.os", SimpleNamespace(environ=environment))
        with running_demo(folder) as service:
            yield service
