"""The questions of `bench truth`, asked the same way of every library, of a table with several rows a person.

A script says `ready`, then reads one task a line and writes the mean distance from the raw truth: of a number, of the
numbers of declared groups, or how many groups were discovered. Each function is one question, as a user of that library
would write it; a session is opened anew each turn.
"""

from __future__ import annotations

import json
import sys
from statistics import fmean
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def distance(answer: Any, truth: Any) -> float:
    """How far a released number, or those of declared groups, are from the truth."""
    if isinstance(truth, dict):
        return fmean(abs(float(answer.get(key, 0)) - number) for key, number in truth.items())
    return abs(float(answer) - float(truth))


def main(questions: Mapping[str, Callable[[Any], Any]], released: Callable[[Any], Any]) -> None:
    """Answer tasks; `released` makes a number, or a number for each group, of what a question gives.

    A task states question, path, cap, epsilon, delta, keys, bounds, turns and truth; without one, groups are counted.
    """
    print("ready", flush=True)
    for line in sys.stdin:
        task = SimpleNamespace(**json.loads(line))
        answers = [released(questions[task.question](task)) for _ in range(task.turns)]
        print(
            fmean(float(len(answer)) if task.truth is None else distance(answer, task.truth) for answer in answers),
            flush=True,
        )
