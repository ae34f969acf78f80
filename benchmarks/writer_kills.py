"""Writers that share one ledger and are killed, over and over, at random and at every labelled step.

`python writer_kills.py WHERE FOLDER --kills 200` prints what was found as JSON and ends with 1 if anything is wrong.
It runs in a process of its own, because it forks: writers cost milliseconds to start, and nothing else is shared.
WHERE is a path or a PostgreSQL URL; each episode of kills begins a new ledger there, whose beginning is raced for too.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import secrets
import select
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from giveortake.errors import BudgetExceeded, LedgerError
from giveortake.ledger import Charge
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace
from kill_findings import Found, arguments, released_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRITERS = 4
EPISODE = 50  # kills of one ledger's life
CHARGE = Laplace(100)  # ε = 0.01
TRIED = 5  # by each writer on each population
AFFORDED = 15  # of the twenty that four writers try
BUDGET = PureDP(AFFORDED * CHARGE.guarantee().epsilon)
CHECKPOINT = ("checkpoint derived", "checkpoint written", "checkpoint committed", "checkpoint marked")
LABELS = ("begun", "written", "committed", "mark written", "mark moved", "marked", *CHECKPOINT)
EVERY = 20  # entries from one checkpoint to the next, so that many are written between kills
BEGINNING = ("mark begun", "tables created", "begun ledger written", "begun ledger committed")
LONGEST = 600.0  # seconds, in which a writer comes to its step; if not, something is wrong


@dataclass
class Death:
    """How a writer is going to die: at the n-th passing of a step, or at some moment."""

    label: str | None
    passing: int
    moment: float
    reached: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 1))  # whether it came to its step; it says so

    @property
    def limit(self) -> float:
        """Seconds after which it dies in any case."""
        return self.moment if self.label is None else LONGEST

    @property
    def kind(self) -> str:
        return str(self.label) if self.reached[0] else "any moment"


def main() -> int:
    said, found = arguments(__doc__, 200), Found()
    labels: tuple[str, ...] = LABELS
    if said.where.startswith("postgresql://"):
        labels = tuple(label for label in LABELS if label != "mark written")  # which is a step of files
        import_module("giveortake.ledger.chain.postgres")  # once, so that a writer lives long enough to do something
    deaths, episode = Deaths(labels, said.seed), 0
    while found.killed < said.kills and not found.problems:
        where, logs = place(said.where, episode), said.folder / f"episode-{episode}"
        logs.mkdir(parents=True)
        kill_writers(where, logs, min(EPISODE, said.kills - found.killed), deaths, found)
        check(where, logs, found)
        episode += 1
    found.more["episodes"] = episode
    return found.told()


def place(where: str, episode: int) -> str:
    """A new ledger for each episode."""
    if where.startswith("postgresql://"):
        return f"{where}{'&' if '?' in where else '?'}schema=crash_{os.getpid()}_{episode}"
    return f"{where}-{episode}.ledger"


def kill_writers(where: str, logs: Path, kills: int, deaths: Deaths, found: Found) -> None:
    """Keep up to four writers alive until each has died as it was to; then let them end what they began."""
    alive: dict[int, tuple[int, float, Death]] = {}
    begun = 0
    while alive or begun < kills:
        for writer in set(range(WRITERS)) - {writer for writer, _, _ in alive.values()}:
            if begun < kills:
                death = deaths.next(beginning=begun < WRITERS)
                alive[start(where, logs, writer, dying(death))] = writer, time.monotonic() + death.limit, death
                begun += 1
        wait_for_one(alive)
        for pid, (_, until, death) in list(alive.items()):
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del alive[pid]
                if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
                    found.problems.append(f"a writer ended with status {status}")
                    kills = 0
                elif death.label is not None and time.monotonic() > until:
                    found.problems.append(f"a writer did not come to its step: {death.label}")
                found.kills[death.kind] += 1
    if not found.problems:
        end_writers(where, logs, found)


def end_writers(where: str, logs: Path, found: Found) -> None:
    """All four writers ask, unharmed, as much as the one who came furthest, and the rest of that population."""
    furthest = 1 + max((int(line["number"]) for line in released_lines(logs)), default=-1)  # which may be charged
    last = (furthest // TRIED + 1) * TRIED
    for pid in [start(where, logs, writer, lambda _: None, last) for writer in range(WRITERS)]:
        status = os.waitpid(pid, 0)[1]
        if status:
            found.problems.append(f"a writer that nobody killed ended with status {status}")


def wait_for_one(alive: dict[int, tuple[int, float, Death]]) -> None:
    """Sleep until a writer has ended, or has to."""
    ends = [os.pidfd_open(pid) for pid in alive]
    try:
        first = min(until for _, until, _ in alive.values())
        select.select(ends, [], [], max(0.0, first - time.monotonic()))
    finally:
        for each in ends:
            os.close(each)


class Deaths:
    """One way to die after the other: each step comes as often as any other, in a random order."""

    def __init__(self, labels: tuple[str, ...], seed: int) -> None:
        self._chosen = random.Random(seed)  # noqa: S311 (when to kill)
        self._ways = {True: BEGINNING, False: (None, *labels)}
        self._left: dict[bool, list[str | None]] = {True: [], False: []}

    def next(self, *, beginning: bool) -> Death:
        """The next one; those who begin a ledger die at its own steps, if they are the ones to come to them."""
        left = self._left[beginning]
        if not left:
            left += self._ways[beginning]
            self._chosen.shuffle(left)
        label = left.pop()
        passing = 1 if label in CHECKPOINT else self._chosen.randrange(1, 13)
        return Death(label, passing, self._chosen.uniform(0.001, 0.1))


def start(where: str, logs: Path, writer: int, at: Callable[[str], None], last: int | None = None) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        write(where, logs / f"writer-{writer}.jsonl", writer, at, last)
        code = 0
    except LedgerError as error:
        sys.stderr.write(f"writer {writer}: {type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def dying(death: Death) -> Callable[[str], None]:
    """What a writer does at each labelled step: count, and at its own one die.

    Only one writer begins a ledger. Another that was to die at one of these steps does so when it has begun as many
    transactions as it may.
    """
    passed = Counter[str]()

    def at(label: str) -> None:
        passed[label] += 1
        if death.label in BEGINNING:
            death.reached[0] = label == death.label
            dies = bool(death.reached[0]) or passed["begun"] == death.passing
        else:
            dies = label == death.label and passed[label] == death.passing
            death.reached[0] = dies
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)

    return at


def write(where: str, log: Path, writer: int, at: Callable[[str], None], end: int | None = None) -> None:
    """Charge, answer and release under one key after the other, from where this writer's log ends."""
    released = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    last = log.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2]
    number = json.loads(last)["number"] if last else -1
    with opened(where, at=at, every=EVERY) as ledger:
        registered = -1
        while end is None or number < end - 1:
            number += 1
            group, name, key = number // TRIED, f"writer-{writer}", f"question-{number}"
            if group != registered:
                ledger.population(f"people-{group}", budget=BUDGET, analysts="pooled")
                ledger.dataset(f"data-{group}", population=f"people-{group}")
                ledger.analyst(name, datasets=[f"data-{group}"], budget=BUDGET)
                registered = group
            line: dict[str, Any] = {"number": number, "analyst": name, "key": key}
            try:
                paid = ledger.reserve(Charge(CHARGE, dataset=f"data-{group}", analyst=name, key=key, name=[name, key]))
                line["answer"] = ledger.settle(paid, {"noise": secrets.token_hex(8)})
            except BudgetExceeded:
                line["answer"] = None
            os.write(released, json.dumps(line).encode() + b"\n")  # the answer is out


def check(where: str, logs: Path, found: Found) -> None:
    """Every released answer is charged and is the one that is kept, once; no cap is exceeded; the chain is whole."""
    left = found.left_in(partial(opened, where, create=False))
    if left is None:
        return
    kept, charged = left.kept(), Counter(content["dataset"] for content in left.reserved.values())
    found.problems += [f"{name} was charged {times} times" for name, times in charged.items() if times > AFFORDED]
    for standing in left.levels:
        if standing.kind == "population":
            owed = charged[standing.name.replace("people", "data")] * CHARGE.guarantee().epsilon
            if standing.spent != owed:
                found.problems.append(f"{standing.name} has spent {standing.spent}, not {owed}")
    for line in released_lines(logs):
        if line["answer"] is None:
            found.refused += 1
        else:
            found.releases += 1
            if kept.get((line["analyst"], line["key"]), (None, None))[1] != line["answer"]:
                found.problems.append(f"released but not kept: {line}")
    found.more["entries"] += len(left.history)
    found.more["populations"] += len(charged)
    found.more["used up"] += list(charged.values()).count(AFFORDED)


if __name__ == "__main__":
    sys.exit(main())
