"""`giveortake bench report`: what is claimed, measured in one run, on one page that nobody typed.

All benchmarks run one after another, each in a process of its own. What the time did not suffice for is read from the
last run of this version, and says so. Every number of the page stands in `docs/results.json` beside it. Other
pages link to its sections.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake import plot
from giveortake.errors import InvalidParameter
from harness import pages, results
from harness.schedule import Schedule
from harness.terms import COMPARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from harness.results import Run

SECTIONS = {  # what is claimed, and the benchmarks that measure it
    "Speed, beside peers and a floor": (*("import", "noise", "accounting", "latency", "queries", "engines", "house"),),
    "Answers for one budget": ("filters", "keys"),
    "The same questions elsewhere": ("coming_from",),
    "Tables, marginals and synthesis": ("workloads", "synthetic"),
    "Learning": ("learning",),
    "Surveys": ("surveys",),
    "Near to the truth": ("truth", "quantiles", "learning_coverage"),
    "Kills": ("kills",),
    "Audits, proofs and attempts to refute": ("audit", "verify", "runs", "fuzz", "timing"),
    "A service": ("service", "ledger", "limits", "command", "stream"),
}
_PLACES = {
    "page": "results.md",
    "json": "results.json",
    "figure": "figures/results.svg",
    "nearness": "near-the-truth.md",
}
_WORDS = """Written by `giveortake bench report`; nothing on this page was typed, and every number stands in
[results.json](results.json) too. Ratios are of medians that took turns in the same run. What measures time ran alone;
what counts something, or measures CPU seconds of its own, ran two at a time."""


def report(arguments: Any, folder: Path, out: Console, describe: Callable[[str], str]) -> int:
    """Measure until the time is over, and write the page, its numbers and its figure."""
    if arguments.minutes < 0:
        raise InvalidParameter("minutes", arguments.minutes, "is negative", hint="--minutes 120, or 0 to write alone")
    runs = _runs(folder)
    began = _report_of(runs) if arguments.resume or not arguments.minutes else ""
    began = began or results.circumstances()["time"]
    missing: dict[str, str] = {}
    if arguments.minutes:
        with tempfile.TemporaryDirectory() as temporary:
            kept = Path(arguments.data or temporary) / "ledgers"
            kept.mkdir(parents=True, exist_ok=True)
            options = _options(arguments)
            schedule = Schedule(folder, kept, began, options, 60 * arguments.minutes, arguments.quick, out.print)
            missing = schedule.run(lambda name: (runs[name] or {}).get("report") == began)
    docs = folder.parent / "docs"
    found = results.circumstances() | {"report": began, "missing": missing, "runs": _runs(folder)}
    (docs / _PLACES["json"]).write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write(found, docs, describe)
    out.print(f"written: {', '.join(f'docs/{name}' for name in _PLACES.values())}")
    gaps = lacking(found)
    for name, why in gaps.items():
        print(f"error: {_said(name)}: {why}", file=sys.stderr)
    return 1 if gaps else 0


def lacking(found: dict[str, Any]) -> dict[str, str]:
    """What the page does not tell, by benchmark: what failed, peers without an answer, terms that nobody recorded."""
    gaps = {}
    for name, run in found["runs"].items():
        problem = found["missing"].get(name, "")
        unanswered = "; ".join((run or {}).get("missing", ()))
        if run is None:
            gaps[name] = problem or "not measured with this version"
        elif unanswered or problem:
            gaps[name] = f"no answer from {unanswered}" if unanswered else problem
        elif name in COMPARED and not run.get("terms"):
            gaps[name] = "its run did not record what it asked each side"
    return gaps


def _runs(folder: Path) -> dict[str, Run | None]:
    return {name: results.last(folder, name) for names in SECTIONS.values() for name in names}


def _report_of(runs: dict[str, Run | None]) -> str:
    """When the last report began; nothing if there was none of this version."""
    return max((run["report"] for run in runs.values() if run), default="")


def write(found: dict[str, Any], docs: Path, describe: Callable[[str], str]) -> None:
    """The page, the tables of the page on nearness, and the figure, from the numbers alone."""
    points = list(_points(found["runs"]))
    (docs / _PLACES["page"]).write_text(page(found, describe, has_figure=bool(points)), encoding="utf-8")
    nearness = docs / _PLACES["nearness"]
    nearness.write_text(pages.filled(nearness.read_text(encoding="utf-8"), found["runs"]), encoding="utf-8")
    if points:
        plot.save(_figure(points), docs / _PLACES["figure"])


def page(found: dict[str, Any], describe: Callable[[str], str], *, has_figure: bool) -> str:
    """The page, as Markdown."""
    lines = ["<!-- giveortake bench report -->", "# Results", "", _WORDS, "", *_head(found), ""]
    if has_figure:
        lines += ["![how many times faster than a peer or a floor, each case a point](figures/results.svg)", ""]
    lines += [*_missed(found["runs"]), ""]
    for title, names in SECTIONS.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += [f"### {_said(name)}", "", describe(name), "", *_section(name, found), ""]
    return "\n".join([*lines, "<!-- end -->", ""])


def _head(found: dict[str, Any]) -> list[str]:
    """Whether it is one run: of all benchmarks, or with which exceptions."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    runs: dict[str, Run | None] = found["runs"]
    inside = {name: run for name, run in runs.items() if run and run["report"] == found["report"]}
    ended = max((run["time"] for run in inside.values()), default=found["report"])
    what = "One run" if len(inside) == len(runs) else f"{len(inside)} of {len(runs)} benchmarks in one run"
    when = f"from {_moment(found['report'])} to {_moment(ended)} UTC"
    lines = [f"**{what}**, {when} on {found['machine']}, with {versions}."]
    quick = [_said(name) for name, run in inside.items() if run["quick"]]
    outside = [_said(name) for name in runs if name not in inside]
    if quick:
        lines += ["", f"With `--quick`, fewer repetitions and smaller tables: {', '.join(quick)}."]
    if outside:
        lines += ["", f"Not in this run, each with a date of its own: {', '.join(outside)}."]
    return lines


def _moment(time: str) -> str:
    return time[:16].replace("T", " ")


def _missed(runs: dict[str, Run | None]) -> list[str]:
    """How many goals were met, by section, and every one that was not."""
    lines = ["## Goals", "", "| claim | goals met | of |", "|---|---|---|"]
    missed = []
    for title, names in SECTIONS.items():
        stated = [
            (name, row) for name in names for row in (runs[name] or {"rows": ()})["rows"] if row["met"] is not None
        ]
        lines.append(f"| {title} | {sum(row['met'] for _, row in stated)} | {len(stated)} |")
        missed += [(name, row) for name, row in stated if not row["met"]]
    if missed:
        lines += ["", "Missed:", "", "| benchmark | case | ours | peer or floor | goal |", "|---|---|---|---|---|"]
        lines += [
            f"| [{_said(name)}](#{_said(name)}) | {' | '.join(pages.cells(row)[place] for place in (0, 1, 2, 4))} |"
            for name, row in missed
        ]
    return lines


def _section(name: str, found: dict[str, Any]) -> list[str]:
    run: Run | None = found["runs"][name]
    problem = found["missing"].get(name)
    if run is None:
        why = f" ({problem})" if problem else ""
        return [f"**Not measured with this version yet**: `giveortake bench {_said(name)} --save`{why}."]
    notes = [line for note in run["notes"] for line in (note, "")]
    short = [f"Of the whole benchmark: {problem}.", ""] if problem else []
    return [*pages.table(run), "", *pages.asked(run), *notes, *short, pages.provenance(run)]


def _said(name: str) -> str:
    """A benchmark as it is called on the command line."""
    return name.replace("_", "-")


def _points(runs: dict[str, Run | None]) -> Iterator[dict[str, Any]]:
    for name, run in runs.items():
        for row in run["rows"] if run else ():
            if row["ours_seconds"] and row["other_seconds"]:
                beside = row["other"].rsplit(" ", 2)[0]
                case = f"{name}: {row['case']}, beside {beside}"
                yield {"case": case, "ratio": row["other_seconds"] / row["ours_seconds"]}


def _options(arguments: Any) -> list[str]:
    found = [word for python in arguments.peer_python for word in ("--peer-python", python)]
    found += [word for name in arguments.without for word in ("--without", name)]
    return [*found, *(["--data", arguments.data] if arguments.data else [])]


def _figure(points: list[dict[str, Any]]) -> Any:
    alt: Any = importlib.import_module("altair")  # an extra, needed for the figure alone
    return (
        alt.Chart(alt.Data(values=points), width=420, title="Times faster than the peer or the floor")
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("ratio:Q", scale=alt.Scale(type="log"), title="times faster (left of 1: slower)"),
            y=alt.Y("case:N", sort=None, title=None, axis=alt.Axis(labelLimit=420)),
        )
    )
