"""Processes that tests start: forked from one that has imported the ledger, so that each costs milliseconds.

Nothing is shared with the process of the tests. A function that runs here lies in a module of its own, which is
imported again in the process.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        f"giveortake.{name}"
        for name in ("ledger.opening", "ledger.chain.store", "ledger.chain.postgres", "accounting.filters")
    ]
)


def begun(function: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """A process that runs the function, with the environment of the test."""
    process = _CONTEXT.Process(target=_run, args=(dict(os.environ), function, arguments))
    process.start()
    return process


def exit_code(function: Callable[..., None], *arguments: Any) -> int | None:
    """How such a process ends: 0 if the function returns, 1 if it raises, and −9 if it is killed."""
    return ended(begun(function, *arguments))[0]


def ended(*processes: ForkServerProcess) -> list[int | None]:
    """How processes end."""
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def _run(environment: dict[str, str], function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    function(*arguments)
