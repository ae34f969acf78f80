"""`giveortake bench report`: some benchmarks in a stated time, and one page and one figure of what they wrote.

Every number of the page stands in `docs/results.json` beside it, which the benchmarks wrote in that run. Each of them
is a process of its own; one that takes too long is ended, and the page says that it is missing.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from giveortake import __version__, plot
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

CHOSEN = (  # what an answer costs, how sure it is, and who tried to break it; the cheapest first
    *("import", "noise", "accounting", "filters", "verify", "latency", "path", "widths", "runs"),
    *("surveys", "workloads", "quantiles", "service", "queries", "audit"),
)
MINUTES = 9.0
_LEAST, _MOST = 5.0, 100.0  # seconds: nothing is begun with less, and none may take all that is left
_PLACES = {"page": "results.md", "json": "results.json", "figure": "figures/results.svg"}


def report(arguments: Any, folder: Path, out: Console, describe: Callable[[str], str]) -> int:
    """Run what is chosen until the time is over, and write the page, its numbers and its figure."""
    if arguments.minutes <= 0:
        raise InvalidParameter("minutes", arguments.minutes, "is not positive", hint="--minutes 9")
    docs = folder.parent / "docs"
    end = time.monotonic() + 60 * arguments.minutes
    done = []
    for name in CHOSEN:
        out.print(f"{name}: {describe(name)}")
        done.append({"name": name, "about": describe(name)} | measured(name, folder, arguments.peer_python, end))
    found = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "minutes": arguments.minutes,
        "command": "giveortake bench report",
        "versions": {"giveortake": __version__, "Python": platform.python_version()},
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}",
        "load": os.getloadavg()[0],
        "benchmarks": done,
    }
    (docs / _PLACES["json"]).write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write(found, docs)
    out.print(f"written: docs/{_PLACES['page']}, docs/{_PLACES['json']}, docs/{_PLACES['figure']}")
    return 0


def measured(name: str, folder: Path, peers: Sequence[str], end: float) -> dict[str, Any]:
    """The lines that one benchmark saves, or why there are none."""
    left = end - time.monotonic()
    if left < _LEAST:
        return {"missing": "the time was over", "rows": []}
    options = [word for python in peers for word in ("--peer-python", python)]
    line = [sys.executable, "-m", "giveortake", "bench", name, "--quick", "--save", *options]
    saved = folder / "results" / f"{name}.jsonl"
    before = saved.stat().st_size if saved.exists() else 0
    started = time.monotonic()
    try:
        ended = subprocess.run(line, cwd=folder.parent, capture_output=True, timeout=min(left, _MOST), check=False)  # noqa: S603 (ourselves)
    except subprocess.TimeoutExpired:
        return {"missing": f"it took longer than {min(left, _MOST):.0f} s", "rows": []}
    if ended.returncode or not saved.exists():
        return {"missing": f"it failed with code {ended.returncode}", "rows": []}
    with saved.open("rb") as file:
        file.seek(before)
        rows = [json.loads(each) for each in file.read().decode().splitlines()]
    return {"seconds": round(time.monotonic() - started, 1), "rows": rows}


def write(found: dict[str, Any], docs: Path) -> None:
    """The page and the figure, from the numbers alone."""
    bars = [
        {"case": f"{each['name']}: {row['case']}", "ratio": row["other_seconds"] / row["ours_seconds"]}
        for each in found["benchmarks"]
        for row in each["rows"]
        if row["ours_seconds"] and row["other_seconds"]
    ]
    (docs / _PLACES["page"]).write_text(page(found, has_figure=bool(bars)), encoding="utf-8")
    if bars:
        plot.save(_figure(bars), docs / _PLACES["figure"])


def page(found: dict[str, Any], *, has_figure: bool) -> str:
    """The page, as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines = [
        "# Results",
        "",
        (
            f"Written by `{found['command']}` on {found['time']}, in at most {found['minutes']:g} minutes, on one "
            f"machine ({found['machine']}; load {found['load']:.1f} at the end), with {versions}. Nothing here was "
            "typed: every number stands in [results.json](results.json) too. The benchmarks ran with `--quick`: fewer "
            "repetitions, smaller tables. Ratios are of medians that took turns in the same run; *no* under *met?* "
            "means that a goal was missed."
        ),
        "",
    ]
    if has_figure:
        lines += ["![how many times faster than a peer or a floor, each case a point](figures/results.svg)", ""]
    for each in found["benchmarks"]:
        lines += [f"## {each['name']}", "", f"{each['about']} `giveortake bench {each['name']}`", ""]
        if "missing" in each:
            lines += [f"Not measured: {each['missing']}.", ""]
            continue
        lines += ["| case | ours | peer or floor | ratio | goal | met? |", "|---|---|---|---|---|---|"]
        for row in each["rows"]:
            met = {True: "yes", False: "**no**", None: ""}[row["met"]]
            cells = (row["case"], row["ours"], row["other"], row["ratio"], row["goal"], met)
            lines.append(f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


def _figure(bars: list[dict[str, Any]]) -> Any:
    alt: Any = importlib.import_module("altair")  # an extra, needed for the figure alone
    return (
        alt.Chart(alt.Data(values=bars), width=420, title="Times faster than the peer or the floor")
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("ratio:Q", scale=alt.Scale(type="log"), title="times faster (left of 1: slower)"),
            y=alt.Y("case:N", sort=None, title=None, axis=alt.Axis(labelLimit=420)),
        )
    )
