"""How tests wait: for something that happens, never for a time.

A test that waits here fails only if what it waits for does not happen within ten minutes, on however busy a machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

LONGEST = 600.0  # seconds; whatever takes longer does not happen
INTERVAL = 0.005

Result = TypeVar("Result")


def until(condition: Callable[[], Result], event: str) -> Result:
    """The first result of `condition` that is true; fails with the name of the event if there is none."""
    deadline = time.monotonic() + LONGEST
    while not (result := condition()):
        assert time.monotonic() < deadline, f"did not happen: {event}"
        time.sleep(INTERVAL)
    return result


async def until_async(condition: Callable[[], Result], event: str) -> Result:
    """As `until`, while other tasks of the event loop go on."""
    deadline = time.monotonic() + LONGEST
    while not (result := condition()):
        assert time.monotonic() < deadline, f"did not happen: {event}"
        await asyncio.sleep(INTERVAL)
    return result
