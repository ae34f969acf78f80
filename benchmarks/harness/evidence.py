"""`giveortake bench report`: what is claimed, measured in a stated time, on one page that nobody typed.

What measures time runs now, each benchmark in a process of its own, until the time is over; what takes longer is read
from the last run of this version (`giveortake bench NAME --save`), with its date. Every number of the page stands in
`docs/results.json` beside it. Tables in other pages that name a benchmark are written from the same runs.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from giveortake import plot
from giveortake.errors import InvalidParameter
from harness import pages, results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console

    from harness.results import Run

SECTIONS = {  # what is claimed, and the benchmarks that measure it
    "Speed, beside peers and a floor": (
        *("import", "noise", "scales", "accounting", "latency", "queries", "engines", "path"),
    ),
    "Answers for one budget": ("filters", "widths", "intervals", "caps"),
    "The same questions elsewhere": ("coming_from",),
    "Tables, marginals and synthesis": ("workloads", "synthetic"),
    "Learning": ("learning",),
    "Surveys": ("surveys",),
    "Coverage": ("quantiles", "flights", "learning_coverage"),
    "Kills": ("crash", "kills"),
    "Audits, proofs and attempts to refute": ("audit", "verify", "runs", "fuzz", "timing"),
    "A service": ("service", "ledger", "limits", "command", "stream"),
}
MEASURED = (  # now, the cheapest first
    *("import", "noise", "accounting", "filters", "verify", "latency", "path", "widths", "runs", "surveys"),
    *("workloads", "quantiles", "service", "coming_from", "audit", "queries"),
)
HOURS = 12.0  # how long `--resume` takes a run for one of the same report
_LEAST, _MOST = 5.0, 120.0  # seconds: nothing is begun with less, and none may take all that is left
_PLACES = {"page": "results.md", "json": "results.json", "figure": "figures/results.svg"}
_WORDS = """Written by `giveortake bench report`; nothing on this page was typed, and every number stands in
[results.json](results.json) too. Under each table are its date, its command, and whether the machine did other work
at the time. Ratios are of medians that took turns in the same run; **no** under *met?* means that a goal was missed."""


def report(arguments: Any, folder: Path, out: Console, describe: Callable[[str], str]) -> int:
    """Measure until the time is over, and write the page, its numbers, its figure and the tables of other pages."""
    if arguments.minutes < 0:
        raise InvalidParameter("minutes", arguments.minutes, "is negative", hint="--minutes 9, or 0 to write alone")
    end = time.monotonic() + 60 * arguments.minutes
    missing: dict[str, str] = {}
    for name in MEASURED if arguments.minutes else ():
        before = results.last(folder, name)
        if arguments.resume and before is not None and results.is_younger(before, HOURS):
            out.print(f"{name}: measured on {before['time']}")
            continue
        out.print(f"{name}: {describe(name)}")
        problem = measured(name, folder, _options(arguments), end)
        if problem:
            missing[name] = problem
            out.print(f"  {problem}")
    docs = folder.parent / "docs"
    runs = {name: results.last(folder, name) for names in SECTIONS.values() for name in names}
    found = results.circumstances() | {"command": "giveortake bench report", "missing": missing, "runs": runs}
    (docs / _PLACES["json"]).write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write(found, docs, describe)
    changed = pages.fill(docs, folder)
    out.print(f"written: {', '.join(f'docs/{name}' for name in [*_PLACES.values(), *changed])}")
    return 0


def measured(name: str, folder: Path, options: list[str], end: float) -> str:
    """Run one benchmark, which saves what it found; what went wrong, if anything did."""
    left = end - time.monotonic()
    if left < _LEAST:
        return "the time was over"
    line = [sys.executable, "-m", "giveortake", "bench", name, "--quick", "--save", *options]
    try:
        ended = subprocess.run(line, cwd=folder.parent, capture_output=True, timeout=min(left, _MOST), check=False)  # noqa: S603 (ourselves)
    except subprocess.TimeoutExpired:
        return f"it took longer than {min(left, _MOST):.0f} s"
    return f"it failed with code {ended.returncode}" if ended.returncode else ""


def write(found: dict[str, Any], docs: Path, describe: Callable[[str], str]) -> None:
    """The page and the figure, from the numbers alone."""
    points = list(_points(found["runs"]))
    (docs / _PLACES["page"]).write_text(page(found, describe, has_figure=bool(points)), encoding="utf-8")
    if points:
        plot.save(_figure(points), docs / _PLACES["figure"])


def page(found: dict[str, Any], describe: Callable[[str], str], *, has_figure: bool) -> str:
    """The page, as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines = ["<!-- giveortake bench report -->", "# Results", "", _WORDS, ""]
    lines += [f"Last written on {found['time'][:10]} on {found['machine']}, with {versions}.", ""]
    if has_figure:
        lines += ["![how many times faster than a peer or a floor, each case a point](figures/results.svg)", ""]
    for title, names in SECTIONS.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += [f"### {_said(name)}", "", describe(name), "", *_section(name, found), ""]
    return "\n".join([*lines, "<!-- end -->", ""])


def _section(name: str, found: dict[str, Any]) -> list[str]:
    run: Run | None = found["runs"][name]
    problem = found["missing"].get(name)
    if run is None:
        why = f" ({problem})" if problem else ""
        return [f"**Not measured with this version yet**: `giveortake bench {_said(name)} --save`{why}."]
    notes = [line for note in run["notes"] for line in (note, "")]
    late = [f"Not measured in the last report: {problem}.", ""] if problem else []
    return [*pages.table(run), "", *notes, *late, pages.provenance(run)]


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
