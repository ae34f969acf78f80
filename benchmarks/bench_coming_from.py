"""Five questions to the same table here and in five other libraries: spent, margin, error and time.

Our lines are the blocks of `docs/coming-from.md`, which the tests run too; theirs are the files `coming_from_*.py` of
`benchmarks/peers/`, which the page shows. `--peer-python` names the environments of those that are to be asked.
"""

from __future__ import annotations

import csv
import doctest
import json
import subprocess
import sys
import time
from collections import Counter
from importlib.resources import files
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, cast

from giveortake import __version__

sys.path.append(str(Path(__file__).parent / "peers"))

from five_questions import QUESTIONS

from harness.report import duration
from harness.terms import Terms, body

if TYPE_CHECKING:
    from harness.report import Report

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"
TABLE = Path(str(files("giveortake") / "data" / "visits.csv"))
LIBRARIES = {  # name: the script, and the module that it needs
    "OpenDP": ("coming_from_opendp.py", "opendp"),
    "Tumult Analytics": ("coming_from_tumult.py", "tmlt.analytics"),
    "SmartNoise SQL": ("coming_from_smartnoise.py", "snsql"),
    "diffprivlib": ("coming_from_diffprivlib.py", "diffprivlib"),
    "PipelineDP": ("coming_from_pipelinedp.py", "pipeline_dp"),
}
EPSILON, KEY_DELTA = "1", "1e-6"  # which the page states, and its blocks and the other libraries' scripts spend
ASKED = {  # of those that cannot be asked everything
    "SmartNoise SQL": ("count", "mean", "regions", "reasons"),
    "diffprivlib": ("count", "mean", "regions", "median"),
}
UNEQUAL = {  # what a library spends where it is not the same
    ("SmartNoise SQL", question): (EPSILON, KEY_DELTA, "unequal: it has no answers without δ")
    for question in ("count", "mean", "regions")
}
GROUPS, WIDTH = 10, 12.5  # of reasons: how many, and how near
TURNS, QUICK_TURNS = 20, 2
PATIENCE = 600.0  # seconds for all turns of a library
UNITS = {"count": "visits", "mean": "euros", "regions": "visits", "reasons": "visits", "median": "euros"}

Found = dict[str, Any]


def _examples() -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))


def _terms(question: str) -> list[Terms]:
    """The block of the page, and the functions that the page shows of other libraries."""
    examples = _examples()
    ours = examples[_position(examples, question)].source.strip()
    delta = KEY_DELTA if question == "reasons" else "0"
    found = [Terms(question, "ours", ours, EPSILON, delta)]
    for name, (script, _) in LIBRARIES.items():
        if question in ASKED.get(name, QUESTIONS):
            epsilon, their_delta, remark = UNEQUAL.get((name, question), (EPSILON, delta, ""))
            found.append(Terms(question, name, body(f"peers/{script}", question), epsilon, their_delta, remark))
    return found


def run(report: Report) -> None:
    turns = QUICK_TURNS if report.quick else TURNS
    found: dict[str, Found] = {f"**giveortake {__version__}**": ours(turns)}
    for name, (script, module) in LIBRARIES.items():
        python = report.python_with(name, module)
        if report.progress is not None:
            report.progress.says(name)
        answered = None if python is None else theirs(python, script, turns)
        found[name if answered is None else f"{name} {answered['version']}"] = (answered or {}).get("questions", {})
        if python is None:
            report.note(f"{name} was left out.")
        elif answered is None:
            report.unanswered(name)
    for question in QUESTIONS:
        for name, each in found.items():
            if question in each:
                case, is_goal = f"{question}: {name.strip('*')}", question == "reasons" and name.startswith("**")
                met = _shows_enough(each[question]) if is_goal else None
                goal = f"≥ {GROUPS} at ± {WIDTH}" if is_goal else ""
                report.fact(case, _summary(each[question], question), goal=goal, met=met)
    report.note(
        f"Each question was asked {turns} times, each time of a session of its own; errors are from all visits."
    )


def _shows_enough(reasons: Found) -> bool:
    return reasons["margin"] <= WIDTH and median(len(answer) for answer in reasons["answers"]) >= GROUPS


def ours(turns: int) -> Found:
    """Run the blocks of the page: what comes before the first question each time, then one question."""
    examples = _examples()
    begins = {name: _position(examples, name) for name in QUESTIONS}
    before = [example.source for example in examples[: min(begins.values())]]
    found: Found = {}
    for name in QUESTIONS:
        answers, seconds, processor = [], [], []
        margin = None
        for turn in range(turns + 1):
            names: dict[str, Any] = {}
            wall, cpu = time.perf_counter(), time.process_time()
            for source in [*before, examples[begins[name]].source]:
                exec(source, names)  # noqa: S102 (the page is ours)
            answer = names[name]
            if turn:  # the first one loads what is loaded once
                seconds.append(time.perf_counter() - wall)
                processor.append(time.process_time() - cpu)
            columns = answer.to_dict()
            number = next(each for each in columns if f"{each}_low" in columns)
            keys = next((columns[each] for each in ("region", "reason") if each in columns), None)
            values = columns[number]
            margin = fmean(
                (high - low) / 2 for low, high in zip(columns[f"{number}_low"], columns[f"{number}_high"], strict=True)
            )
            answers.append(values[0] if keys is None else dict(zip(keys, values, strict=True)))
            names["s"].close()
        found[name] = {"answers": answers[1:], "seconds": seconds, "cpu": processor, "margin": margin}
    return found


def theirs(python: str, script: str, turns: int) -> Found | None:
    """What a library's own script says, in the environment that has it."""
    path = Path(__file__).parent / "peers" / script
    line = [python, "-W", "ignore", str(path), str(TABLE), str(turns)]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603 (ours)
    except subprocess.TimeoutExpired:
        return None
    said = [each for each in done.stdout.splitlines() if each.startswith('{"package"')]
    return cast("Found", json.loads(said[-1])) if said else None


def truths() -> Found:
    """The exact answers, of all visits."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    amounts = [float(row["amount"]) for row in rows]
    return {
        "count": len(rows),
        "mean": fmean(amounts),
        "regions": Counter(row["region"] for row in rows),
        "reasons": Counter(row["reason"] for row in rows),
        "median": median(amounts),
    }


def error(question: str, answer: Any) -> float:
    """How far an answer is from the truth, on average over its keys."""
    truth = truths()[question]
    if isinstance(answer, dict):
        return fmean(abs(value - truth[key]) for key, value in answer.items())
    return float(abs(answer - truth))


def _position(examples: list[doctest.Example], name: str) -> int:
    return next(index for index, example in enumerate(examples) if example.source.startswith(f"{name} = "))


TERMS = [each for question in QUESTIONS for each in _terms(question)]


def _summary(each: Found, question: str) -> str:
    answer = each["answers"][-1]
    if isinstance(answer, dict):
        counts = sorted({len(one) for one in each["answers"]})
        shown = f"{' to '.join(map(str, [counts[0], *counts[1:][-1:]]))} of {len(truths()[question])} keys"
    else:
        shown = f"{answer:,.0f}" if question == "count" else f"{answer:.2f}"
    margin = "no" if each["margin"] is None else f"± {each['margin']:.3g}"
    wrong = fmean(error(question, one) for one in each["answers"] if one != {})
    cpu = duration(median(each["cpu"]))
    return f"{shown}; margin {margin}; mean error {wrong:.3g} {UNITS[question]}; {cpu} of CPU"
