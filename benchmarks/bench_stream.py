"""A hundred million Laplace draws, streamed, and a million found keys from Spark: how fast, and in how much memory.

Where pyspark and Java are, found keys are streamed from a local Spark too, a hundred thousand and a million of them,
each in a process of its own. What is compared is the most that Python held, and the most that was left of the virtual
machine's heap after a collection while no task ran: a local Spark is driver and workers in one, and tasks take as much
of the heap as Spark's settings let them.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from giveortake.mechanisms import Laplace
from harness.peer import has_module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.report import Report

CHUNK = 1 << 20
MEGABYTES = 100
KEYS = (100_000, 1_000_000)


def run(report: Report) -> None:
    from_memory(report)
    if report.quick or not has_module(sys.executable, "pyspark"):
        report.note("Found keys were not streamed from Spark: it takes minutes, and pyspark.")
    else:
        from_spark(report)


def from_memory(report: Report) -> None:
    draws = 10**7 if report.quick else 10**8
    # A process of its own, so that the memory of earlier benchmarks does not hide this one's.
    child = subprocess.run(  # noqa: S603 (this file)
        [sys.executable, __file__, str(draws)], check=True, capture_output=True, text=True
    )
    found = json.loads(child.stdout)
    report.fact(f"{draws:.0e} draws", f"{found['seconds']:.2f} s")
    report.fact("draws per second", f"{draws / found['seconds'] / 1e6:.1f} million")
    growth = found["growth"] / 2**20
    report.fact("growth of peak memory", f"{growth:.0f} MB", goal=f"< {MEGABYTES} MB", met=growth < MEGABYTES)
    report.note(f"Chunks of {CHUNK:,} int64, one pass; all draws at once would take {8 * draws / 2**20:,.0f} MB.")


def from_spark(report: Report) -> None:
    """The same question about few keys and about many."""
    script = Path(__file__).with_name("stream_from_spark.py")
    few, many = (
        json.loads(
            subprocess.run(  # noqa: S603 (the file beside this one)
                [sys.executable, str(script), str(keys)], check=True, capture_output=True, text=True
            ).stdout
        )
        for keys in KEYS
    )
    for keys, found in zip(KEYS, (few, many), strict=True):
        report.fact(f"Spark, {keys:,} found keys", f"{found['seconds']:.0f} s")
    for what, held in (("Python", "python"), ("the driver", "driver")):
        growth = (many[held] - few[held]) / 2**20
        text = f"{few[held] / 2**20:.0f} → {many[held] / 2**20:.0f} MB"
        report.fact(f"  memory of {what}", text, goal=f"< {MEGABYTES} MB more", met=growth < MEGABYTES)
    text = f"{few['machine'] / 2**20:.0f} → {many['machine'] / 2**20:.0f} MB"
    report.fact("  … and of the tasks that run in the same virtual machine", text)


def stream(draws: int) -> dict[str, float]:
    """Release zeros in chunks and throw the answers away."""
    chunk = np.zeros(CHUNK, dtype=np.int64)
    mechanism = Laplace(10)
    mechanism.release(chunk[:1000])  # loads what is loaded on first use
    before, started = peak_memory(), time.perf_counter()
    released = sum(answer.size for answer in mechanism.stream(chunks(chunk, draws)))
    if released != draws:
        raise ValueError(f"{released} draws instead of {draws}")
    return {"seconds": time.perf_counter() - started, "growth": peak_memory() - before}


def chunks(chunk: np.ndarray[tuple[int], np.dtype[np.int64]], draws: int) -> Iterator[object]:
    for start in range(0, draws, chunk.size):
        yield chunk[: draws - start]


def peak_memory() -> int:
    """The most memory that this program has held so far, in bytes.

    Not `ru_maxrss` where there is a choice: on Linux it starts at the size of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(re.findall(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"))[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(json.dumps(stream(int(sys.argv[1]))))
