"""Verifying the ledger for a custodian: one check at a time, in a process of its own, for as long as it takes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.server.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.settings import Settings

State: TypeAlias = Literal["none", "running", "holds", "failed"]

_A_DAY = 86_400.0  # seconds for one step, which takes about one


@final
@dataclass(slots=True)
class LedgerCheck:
    """The check of a ledger that runs now, or the last one.

    It has no deadline of a request and takes no clerk. Whoever asks while it runs joins it; nobody who leaves ends it.
    """

    settings: Settings
    on_loss: Callable[[str], None]
    on_trouble: Callable[[str], None]
    state: State = "none"
    checked: int = 0
    entries: int = 0
    result: dict[str, Any] | None = None
    _running: asyncio.Task[dict[str, Any]] | None = field(default=None, repr=False)

    def progress(self) -> dict[str, Any]:
        """How far it is, and what the last one found."""
        return {"state": self.state, "checked": self.checked, "entries": self.entries, "result": self.result}

    async def run(self, patience: float | None = None) -> dict[str, Any] | None:
        """Begin a check, or join the one that runs; return what it finds, or None if `patience` ends before that."""
        if self._running is None or self._running.done():
            self.state, self.checked, self.entries, self.result = "running", 0, 0, None
            self._running = asyncio.ensure_future(self._run())
            self._running.add_done_callback(self._ended)
        await asyncio.wait({self._running}, timeout=patience)
        return await self._running if self._running.done() else None

    async def _run(self) -> dict[str, Any]:
        pool = Pool("check", self.settings.ledger_task, 1, 0, _A_DAY, on_loss=self.on_loss, on_trouble=self.on_trouble)
        try:
            await pool.open()
            while True:
                document, _ = await pool.ask("check")
                self.checked, self.entries = document["checked"], document["entries"]
                if "result" in document:
                    self.result = dict(document["result"])
                    return self.result
        finally:
            await pool.close()

    def _ended(self, running: asyncio.Task[dict[str, Any]]) -> None:
        failed = running.cancelled() or running.exception() is not None
        self.state = "failed" if failed else "holds"

    async def close(self) -> None:
        """End the check that runs."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._running
