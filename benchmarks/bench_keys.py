"""Group keys that are found: how many are shown at the same ε and δ, beside OpenDP and Tumult.

Category × day of ten million payments of a million people. Ours is asked in three ways: by the very counts that are
released, of five keys of a person as OpenDP is asked, and of two; and by weights (`aim="groups"`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

FOLDER = Path(__file__).parent
sys.path += [str(FOLDER), str(FOLDER / "queries")]

from bench_queries import QUICK, USUAL, Contest, ours, sides  # noqa: E402 (beside this file)

if TYPE_CHECKING:
    from bench_queries import Contestant
    from harness.report import Report

TURNS = {"OpenDP": 3, "Tumult": 1}  # the rest is fast
OURS = 5
TWO = "ours, two keys of a person"  # with two fifths of the noise
GOALS = {TWO: 1.0, "ours, by weights": 1.9}  # times as many as OpenDP shows
TERMS = [*sides("discovered"), ours("two groups"), ours("weights")]


def run(report: Report) -> None:
    rows = report.table_rows or (QUICK if report.quick else USUAL)
    contest = Contest(report, rows)
    contestants: dict[str, Contestant | None] = {
        "ours": contest.contestant("ours.py", "discovered"),
        **{name.removesuffix(" left out"): rival for name, rival, _ in contest.peers("discovered")},
        TWO: contest.contestant("ours.py", "two groups"),
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
    for side in ("ours", *GOALS):
        if {side, "OpenDP"} <= fewest.keys():
            ratio, goal = fewest[side] / fewest["OpenDP"], GOALS.get(side)
            met: Any = {} if goal is None else {"goal": f"≥ {goal:g}×", "met": ratio >= goal}
            report.fact(f"keys shown over OpenDP's: {side}", f"{ratio:.2f}×", **met)
    report.note(f"{rows:,} rows of {rows // 10:,} people; the fewest and most of some turns.")
    report.note(
        "Of five keys OpenDP adds the noise of ours and shows from 86 where ours shows from 87. It keeps the first of "
        'a person in sorted order (keep="first"; keep="sample" raises an error in 0.16), ours five at random: the same '
        "keys of many people, instead of all over the table. With two keys of a person it shows fewer."
    )
