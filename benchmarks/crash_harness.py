"""Writers that share one ledger and are killed, over and over, at random and at every labelled step.

`python crash_harness.py WHERE FOLDER --kills 200` prints what was found as JSON and ends with 1 if anything is wrong.
It runs in a process of its own, because it forks: writers cost milliseconds to start, and nothing else is shared.
WHERE is a path or a PostgreSQL URL; each episode of kills begins a new ledger there, whose beginning is raced for too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import BudgetExceeded, LedgerError
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS = 4
EPISODE = 50  # kills of one ledger's life
CHARGE = Laplace(100)  # ε = 0.01
BUDGET = PureDP("0.3")  # thirty charges, of forty that are tried
TRIED = 10  # by each writer on each population
CHECKPOINT = ("checkpoint derived", "checkpoint written", "checkpoint committed", "checkpoint marked")
LABELS = ("begun", "written", "committed", "mark written", "mark moved", "marked", *CHECKPOINT)
EVERY = 20  # entries from one checkpoint to the next, so that many are written between kills
BEGINNING = ("mark begun", "tables created", "begun ledger written", "begun ledger committed")
LONGEST = 1.0  # seconds until a writer that never reaches its step is killed anyway


@dataclass
class Plan:
    """How a writer is going to die: at the n-th passing of a step, or at some moment."""

    label: str | None
    passing: int
    moment: float


@dataclass
class Found:
    """What an episode, or all of them, left behind."""

    kills: Counter[str] = field(default_factory=Counter)
    charges: int = 0
    releases: int = 0
    refused: int = 0
    entries: int = 0
    problems: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found, chosen, started = Found(), random.Random(arguments.seed), time.monotonic()  # noqa: S311 (when to kill)
    episode = 0
    if arguments.where.startswith("postgresql://"):
        import_module("giveortake.ledger.postgres")  # once, so that a writer lives long enough to do something
    while sum(found.kills.values()) < arguments.kills and not found.problems:
        where = place(arguments.where, episode)
        logs = arguments.folder / f"episode-{episode}"
        logs.mkdir(parents=True)
        kill_writers(where, logs, min(EPISODE, arguments.kills - sum(found.kills.values())), chosen, found)
        check(where, logs, found)
        episode += 1
    print(
        json.dumps(
            {
                "kills": sum(found.kills.values()),
                "by step": found.kills,
                "episodes": episode,
                "charges": found.charges,
                "releases": found.releases,
                "refused": found.refused,
                "entries": found.entries,
                "seconds": round(time.monotonic() - started, 1),
                "problems": found.problems,
            }
        )
    )
    return 1 if found.problems else 0


def place(where: str, episode: int) -> str:
    """A new ledger for each episode."""
    if where.startswith("postgresql://"):
        return f"{where}{'&' if '?' in where else '?'}schema=crash_{os.getpid()}_{episode}"
    return f"{where}-{episode}.ledger"


def kill_writers(where: str, logs: Path, kills: int, chosen: random.Random, found: Found) -> None:
    """Keep four writers alive and kill them until enough have died; then let them end."""
    alive: dict[int, tuple[int, float, Plan]] = {}
    done = 0
    while done < kills:
        for writer in set(range(WRITERS)) - {writer for writer, _, _ in alive.values()}:
            plan = planned(chosen, beginning=done < 2 * WRITERS)
            alive[start(where, logs, writer, plan)] = writer, time.monotonic(), plan
        for pid, (_writer, began, plan) in list(alive.items()):
            limit = plan.moment if plan.label is None else LONGEST
            if time.monotonic() - began > limit:
                os.kill(pid, signal.SIGKILL)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del alive[pid]
                if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                    done += 1
                    reached = plan.label if time.monotonic() - began <= limit else None
                    found.kills[reached or "any moment"] += 1
                else:
                    found.problems.append(f"a writer ended with status {status}")
                    kills = 0
        time.sleep(0.0005)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def planned(chosen: random.Random, *, beginning: bool) -> Plan:
    labels = (*BEGINNING, *LABELS) if beginning else LABELS
    label = chosen.choice((None, *labels))
    passing = 1 if label in (*BEGINNING, *CHECKPOINT) else chosen.randrange(1, 13)
    return Plan(label, passing, chosen.uniform(0.001, 0.1))


def start(where: str, logs: Path, writer: int, plan: Plan) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        write(where, logs / f"writer-{writer}.jsonl", writer, dying(plan))
        code = 0
    except LedgerError as error:
        sys.stderr.write(f"writer {writer}: {type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def dying(plan: Plan) -> Callable[[str], None]:
    """What a writer does at each labelled step: count, and at the planned one die."""
    passed = Counter[str]()

    def at(label: str) -> None:
        passed[label] += 1
        if label == plan.label and passed[label] == plan.passing:
            os.kill(os.getpid(), signal.SIGKILL)

    return at


def write(where: str, log: Path, writer: int, at: Callable[[str], None]) -> None:
    """Charge, answer and release under one key after the other, from where this writer's log ends."""
    released = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    last = log.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2]
    number = json.loads(last)["number"] if last else -1
    with opened(where, at=at, every=EVERY) as ledger:
        registered = -1
        while True:
            number += 1
            group, name, key = number // TRIED, f"writer-{writer}", f"question-{number}"
            if group != registered:
                ledger.population(f"people-{group}", budget=BUDGET, analysts="pooled")
                ledger.dataset(f"data-{group}", population=f"people-{group}")
                ledger.analyst(name, datasets=[f"data-{group}"], budget=BUDGET)
                registered = group
            line: dict[str, Any] = {"number": number, "analyst": name, "key": key}
            try:
                paid = ledger.reserve(CHARGE, dataset=f"data-{group}", analyst=name, key=key, request={"sql": key})
                line["answer"] = ledger.settle(paid, {"noise": secrets.token_hex(8)})
            except BudgetExceeded:
                line["answer"] = None
            os.write(released, json.dumps(line).encode() + b"\n")  # the answer is out


def check(where: str, logs: Path, found: Found) -> None:
    """Every released answer is charged and is the one that is kept, once; no cap is exceeded; the chain is whole."""
    try:
        with opened(where, create=False) as ledger:
            ledger.verify()
            history, standings = ledger.history(), ledger.levels()
    except LedgerError as error:
        found.problems.append(f"{type(error).__name__}: {error}")
        return
    reserved = {entry.number: entry.content for entry in history if entry.kind == "reserved"}
    settled = [entry.content for entry in history if entry.kind == "settled"]
    keys = Counter((content["analyst"], content["key"]) for content in reserved.values())
    found.problems += [f"{key} was charged {times} times" for key, times in keys.items() if times > 1]
    answers = {
        (reserved[content["reservation"]]["analyst"], reserved[content["reservation"]]["key"]): content["answer"]
        for content in settled
    }
    if len(answers) < len(settled):
        found.problems.append("something was answered twice")
    charged = Counter(content["dataset"] for content in reserved.values())
    found.problems += [f"{dataset} was charged {times} times" for dataset, times in charged.items() if times > 30]
    for standing in standings:
        if standing.kind == "population":
            owed = charged[standing.name.replace("people", "data")] * CHARGE.guarantee().epsilon
            if standing.spent != owed:
                found.problems.append(f"{standing.name} has spent {standing.spent}, not {owed}")
    for log in logs.glob("*.jsonl"):
        for text in log.read_text(encoding="ascii").splitlines():
            line = json.loads(text)
            if line["answer"] is None:
                found.refused += 1
            else:
                found.releases += 1
                if answers.get((line["analyst"], line["key"])) != line["answer"]:
                    found.problems.append(f"released but not kept: {line}")
    found.charges += len(reserved)
    found.entries += len(history)


if __name__ == "__main__":
    sys.exit(main())
