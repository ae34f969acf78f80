"""One measurement in a process of its own: a warm-up on a small table, then the work once, timed.

Every contestant is such a script: `script.py TASK TABLE SMALL` prints a line of JSON with seconds and peak memory. It
needs nothing but Python, because peers live in environments of their own.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Prepared = Callable[[], Any]  # the work to be timed, after what comes before it


def main(
    tasks: Mapping[str, Callable[[str], Prepared]], warm_ups: Mapping[str, Callable[[str], Prepared]] | None = None
) -> None:
    """Run the task that the command line names; `tasks` prepare a table and return the work to time.

    The work returns how many rows were released, or something to call for that and more.
    """
    task, table, small = sys.argv[1:4]
    (warm_ups or tasks)[task](small)()
    work = tasks[task](table)
    started = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - started
    shape = found() if callable(found) else {"rows": found}
    print("\n" + json.dumps({"seconds": seconds, "peak": peak_memory(), **shape}), flush=True)


def peak_memory() -> int:
    """The most memory that this process and those it started have held, in bytes, each at its own peak."""
    if not Path("/proc/self/status").exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parents: dict[str, list[str]] = {}
    peaks: dict[str, int] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text(encoding="utf-8")
        except OSError:
            continue  # it has ended
        high = re.search(r"VmHWM:\s*(\d+) kB", text)
        parent = re.search(r"PPid:\s*(\d+)", text)
        if high and parent:
            parents.setdefault(parent[1], []).append(status.parent.name)
            peaks[status.parent.name] = 1024 * int(high[1])
    found, waiting = 0, [Path("/proc/self").resolve().name]
    while waiting:
        process = waiting.pop()
        found += peaks.get(process, 0)
        waiting += parents.get(process, [])
    return found
