"""Numbers in pages, between `<!-- giveortake bench NAME -->` and `<!-- end -->`, which `bench report` writes.

With `NAME: PART` it is the table that the benchmark made for that part, or its cases that begin with these words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from harness import results, terms
from harness.processors import disturbance

if TYPE_CHECKING:
    from pathlib import Path

    from harness.results import Run

_MARKER = re.compile(
    r"(?P<begin><!-- giveortake bench (?!report )(?P<name>[\w-]+)(?:: (?P<part>[^>]+?))? -->)\n"
    r".*?(?P<end><!-- end -->)",
    re.DOTALL,
)
_LONG = 100  # seconds from which on minutes are easier to read
_HEADINGS = ("case", "ours", "peer or floor", "ratio", "goal", "met?")


def fill(docs: Path, benchmarks: Path) -> list[str]:
    """Write the numbers of the last runs into all pages; the names of those that changed."""
    changed = []
    for page in sorted(docs.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = _MARKER.sub(lambda found: _filled(found, benchmarks), text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            changed.append(page.name)
    return changed


def _filled(found: re.Match[str], benchmarks: Path) -> str:
    run = results.last(benchmarks, found["name"].replace("-", "_"))
    lines = ["", f"Not measured with this version yet: `giveortake bench {found['name']}`."] if run is None else []
    if run is not None:
        lines = ["", *table(run, found["part"] or ""), "", *asked(run, found["part"] or ""), provenance(run)]
    return "\n".join([found["begin"], *lines, "", found["end"]])


def table(run: Run, part: str = "") -> list[str]:
    """What a run made for a part, or its cases that begin with these words, without columns that say nothing."""
    made: dict[str, list[str]] = run.get("tables", {})
    if part in made:
        return made[part]
    rows = [cells(row) for row in run["rows"] if row["case"].startswith(part)]
    if not rows:
        return [f"The run has no case of this kind: {part or run['name']}."]
    used = [index for index in range(len(_HEADINGS)) if any(row[index] for row in rows)]
    return [
        f"| {' | '.join(_HEADINGS[index] for index in used)} |",
        f"|{'---|' * len(used)}",
        *(f"| {' | '.join(row[index] for index in used)} |" for row in rows),
    ]


def asked(run: Run, part: str = "") -> list[str]:
    """The terms of both sides, of comparisons that begin with a word; of a run that did not record them, that alone."""
    if run.get("terms"):
        lines = [each for each in run["terms"] if each["comparison"].startswith(part)]
        words = "Asked of each side, with the ε and δ that the whole call spends:"
        return [words, "", *terms.table(lines), ""] if lines else []
    again = f"`giveortake bench {run['name'].replace('_', '-')} --save`"
    old = f"**This run did not record what it asked each side, and at which ε and δ**: {again} measures it again."
    return [old, ""] if run["name"] in terms.COMPARED else []


def provenance(run: Run) -> str:
    """One sentence: when, for how long, with which versions and by which command."""
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    when = f"{run['time'][:16].replace('T', ' ')} UTC{_minutes(run['seconds'])}"
    beside = "" if run["seconds"] is None else disturbance(run["others"])
    few = "; `--quick`: fewer repetitions, smaller tables" if run["quick"] else ""
    return f"*{when}, `{run['command']}`, {versions}, {run['machine']}{f'; {beside}' if beside else ''}{few}.*"


def _minutes(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f", {seconds:.0f} s" if seconds < _LONG else f", {seconds / 60:.0f} min"


def cells(row: dict[str, Any]) -> list[str]:
    """The cells of a case, in the order of the headings."""
    met = {True: "yes", False: "**no**", None: ""}[row["met"]]
    found = (row["case"], row["ours"], row["other"], row["ratio"], row["goal"], met)
    return [cell.replace("|", "∣") for cell in found]
