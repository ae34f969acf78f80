"""What processes that are killed over and over leave behind: what a harness is told, and what it finds.

A harness is a script with the arguments WHERE FOLDER --kills N; it prints what it found as JSON and ends with 1 if
anything is wrong. It runs in a process of its own, because it forks.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.ledger import BudgetStatus, Entry, Ledger


@dataclass
class Found:
    """What was killed, and what was left behind."""

    kills: Counter[str] = field(default_factory=Counter)
    charges: int = 0
    releases: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)  # whatever else is counted
    cases: dict[str, Counter[str]] = field(default_factory=dict)  # of each case: kills, and what was wrong
    began: float = field(default_factory=time.monotonic)

    @property
    def killed(self) -> int:
        return sum(self.kills.values())

    def told(self) -> int:
        """Print all of it, and say how the process ends."""
        document = {
            "kills": self.killed,
            "by kind": self.kills,
            "charges": self.charges,
            "releases": self.releases,
            "refused": self.refused,
            "cases": self.cases,
            **self.more,
            "seconds": round(time.monotonic() - self.began, 1),
            "problems": self.problems,
        }
        sys.stdout.write(json.dumps(document) + "\n")
        return 1 if self.problems else 0

    def left_in(self, opened: Callable[[], Ledger]) -> Left | None:
        """What a ledger holds after the kills; None if it does not verify, which is a problem."""
        try:
            with opened() as ledger:
                ledger.verify()
                left = Left(ledger.history(), list(ledger.levels()))
        except LedgerError as error:
            self.problems.append(f"{type(error).__name__}: {error}")
            return None
        self.charges += len(left.reserved)
        for what, counted in (("charged", left.charged_under), ("answered", left.answers_of)):
            self.problems += [f"{name} was {what} {times} times" for name, times in counted().items() if times > 1]
        return left


@dataclass
class Left:
    """The entries of a ledger that verifies, and its levels."""

    history: list[Entry]
    levels: list[BudgetStatus]

    def __post_init__(self) -> None:
        self.reserved = {entry.number: entry.content for entry in self.history if entry.kind == "reserved"}
        self.settled = [entry.content for entry in self.history if entry.kind == "settled"]

    def charged_under(self) -> Counter[tuple[Any, Any]]:
        return Counter((content["analyst"], content["key"]) for content in self.reserved.values())

    def answers_of(self) -> Counter[str]:
        return Counter(f"reservation {content['reservation']}" for content in self.settled)

    def kept(self) -> dict[tuple[Any, Any], tuple[Any, Any]]:
        """By analyst and key: the id of what was charged and answered, and the answer."""
        paid = ((self.reserved[content["reservation"]], content["answer"]) for content in self.settled)
        return {(each["analyst"], each["key"]): (each["id"], answer) for each, answer in paid}


def released_lines(folder: Path) -> list[dict[str, Any]]:
    """Every line that writers or clients wrote once an answer was out."""
    logs = sorted(folder.glob("*.jsonl"))
    return [json.loads(text) for log in logs for text in log.read_text(encoding="ascii").splitlines()]


def arguments(description: str | None, kills: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("where")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()
