"""Group keys that are found: how many are shown at the same ε and δ, beside OpenDP and Tumult.

Category × day of ten million payments of a million people, up to five keys of a person. Ours is asked both ways: keys
by a threshold on the very counts that are released (`key_delta=`), and keys by weights (`delta=`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

FOLDER = Path(__file__).parent
sys.path += [str(FOLDER), str(FOLDER / "queries")]

from bench_queries import QUICK, USUAL, Contest, ours, sides  # noqa: E402 (beside this file)

if TYPE_CHECKING:
    from bench_queries import Contestant
    from harness.report import Report

TURNS = {"OpenDP": 3, "Tumult": 1}  # the rest is fast
OURS = 5
GOALS = {"ours": 1.0, "ours, by weights": 1.9}  # times as many as OpenDP shows
TERMS = [*sides("discovered"), ours("weights")]


def run(report: Report) -> None:
    rows = report.table_rows or (QUICK if report.quick else USUAL)
    contest = Contest(report, rows)
    contestants: dict[str, Contestant | None] = {
        "ours": contest.contestant("ours.py", "discovered"),
        **{name.removesuffix(" left out"): rival for name, rival, _ in contest.peers("discovered")},
        "ours, by weights": contest.contestant("ours.py", "weights"),
    }
    fewest = {}
    for terms in TERMS:
        contestant = contestants[terms.side]
        name = f"keys shown at ε = {terms.epsilon}, δ = {terms.delta}: {terms.side}"
        if contestant is None:
            report.fact(name, f"{terms.side} left out")
            continue
        for _ in range(1 if report.quick else TURNS.get(terms.side, OURS)):
            contestant()
        if not contestant.shown:
            report.unanswered(name)
            continue
        numbers = sorted({min(contestant.shown), max(contestant.shown)})
        margin = f"; intervals of counts ± {contestant.margins[-1]:,.3g} on average" if contestant.margins else ""
        fewest[terms.side] = numbers[0]
        report.fact(name, " to ".join(f"{number:,}" for number in numbers) + margin)
    for side, goal in GOALS.items():
        if {side, "OpenDP"} <= fewest.keys():
            ratio = fewest[side] / fewest["OpenDP"]
            report.fact(f"keys shown over OpenDP's: {side}", f"{ratio:.2f}×", goal=f"≥ {goal:g}×", met=ratio >= goal)
    report.note(f"{rows:,} rows of {rows // 10:,} people, up to 5 keys of a person; the fewest and most of some turns.")
    report.note(
        "OpenDP adds the noise of ours and shows from 86 where ours shows from 87. It keeps the first five keys of a "
        'person in sorted order (keep="first"; keep="sample" raises an error in 0.16), ours five at random: the same '
        "keys of many people, instead of all over the table."
    )
