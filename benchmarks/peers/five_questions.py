"""Five questions to one table, asked the same way of every library: what is answered, what it costs, and how long.

`python <script> TABLE TURNS` prints one line of JSON. A script needs its own library and Python alone; each function is
one question, as a user of that library would write it, and a session is opened anew each turn.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

QUESTIONS = ("count", "mean", "regions", "reasons", "median")


def main(
    package: str,
    questions: Mapping[str, Callable[[str], Any]],
    released: Callable[[Any], Any],
    margins: Mapping[str, Callable[[str], float]],
) -> None:
    """Ask each question of the table that the command line names, and print what came of it.

    `released` makes a number, or a number for each key, of what a question gives.
    """
    table, turns = sys.argv[1], int(sys.argv[2])
    found: dict[str, Any] = {"package": package, "version": metadata.version(package), "questions": {}}
    for name, ask in questions.items():
        released(ask(table))  # the first one loads what is loaded once
        answers, seconds, processor = [], [], []
        for _ in range(turns):
            wall, cpu = time.perf_counter(), time.process_time()
            answers.append(released(ask(table)))
            seconds.append(time.perf_counter() - wall)
            processor.append(time.process_time() - cpu)
        margin = margins[name](table) if name in margins else None
        found["questions"][name] = {"answers": answers, "seconds": seconds, "cpu": processor, "margin": margin}
    print("\n" + json.dumps(found), flush=True)
