"""What the page of results tells of a run: its table, its terms, its circumstances."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from harness import terms
from harness.processors import disturbance

if TYPE_CHECKING:
    from harness.results import Run

_LONG = 100  # seconds from which on minutes are easier to read
_HEADINGS = ("case", "ours", "peer or floor", "ratio", "goal", "met?")


def table(run: Run) -> list[str]:
    """The cases of a run, without columns that say nothing."""
    rows = [cells(row) for row in run["rows"]]
    if not rows:
        return ["The run has no cases."]
    used = [index for index in range(len(_HEADINGS)) if any(row[index] for row in rows)]
    return [
        f"| {' | '.join(_HEADINGS[index] for index in used)} |",
        f"|{'---|' * len(used)}",
        *(f"| {' | '.join(row[index] for index in used)} |" for row in rows),
    ]


def filled(text: str, runs: dict[str, Run | None]) -> str:
    """A page with its tables written anew: `<!-- run: cases -->` begins one, and `<!-- end -->` ends it.

    Its rows are the cases that begin with that word; `calls` stands for what both sides were asked.
    """

    def block(match: re.Match[str]) -> str:
        name, cases = match.groups()
        run = runs.get(name)
        if run is None:
            lines = [f"**Not measured with this version yet**: `giveortake bench {name.replace('_', '-')} --save`.", ""]
        elif cases == "calls":
            lines = asked(run)
        else:
            rows = [row for row in run["rows"] if row["case"].startswith(cases)]
            short = [row | {"case": row["case"].removeprefix(cases).removeprefix(": ")} for row in rows]
            lines = [*table(run | {"rows": short}), "", provenance(run), ""]
        return "\n".join([f"<!-- {name}: {cases} -->", "", *lines, "<!-- end -->"])

    return re.sub(r"<!-- (\w+): (\w*) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)


def asked(run: Run) -> list[str]:
    """The terms of both sides; of a run that did not record them, that alone."""
    if run.get("terms"):
        return ["Asked of each side, with the ε and δ that the whole call spends:", "", *terms.table(run["terms"]), ""]
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
