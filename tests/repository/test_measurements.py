"""No measured number in the pages that a benchmark did not write: they stand between markers, which name it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WRITTEN = {"accuracy-learning.md": "`giveortake bench learning` wrote this page"}  # as a whole
MARKED = re.compile(r"<!-- giveortake bench (?P<name>[\w-]+)(?:: [^>]+)? -->.*?<!-- end -->", re.DOTALL)
CODE = re.compile(r"```.*?```", re.DOTALL)
MEASURED = re.compile(
    r"\d[\d.,]* (?:ns|µs|ms|s|seconds|minutes|KB|MB|GB)\b|\d× (?:faster|slower|narrower)|\d+ to \d[\d.]* %"
)
STATED = {  # settings and limits, which nobody measures
    "console.md": {"40 KB"},
    "deploy.md": {"10 seconds", "30 seconds", "64 KB"},
    "http.md": {"64 KB"},
    "scaling.md": {"19 GB", "6.4 MB", "8 MB", "256 MB", "0.3 GB", "1 GB", "100 MB", "2 GB"},
    "sharp-edges.md": {"1500 MB", "200 MB", "512 MB", "1 MB"},
    "accuracy.md": {"95 to 98 %"},
}


def typed(page: Path) -> str:
    """What somebody wrote of a page: neither code nor what a benchmark wrote."""
    text = MARKED.sub("", CODE.sub("", page.read_text(encoding="utf-8")))
    assert "<!-- end -->" not in text
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_was_measured_carries_the_marker_of_its_command(page: Path) -> None:
    if page.name in WRITTEN:
        assert WRITTEN[page.name] in page.read_text(encoding="utf-8")
        return
    stated = STATED.get(page.name, set())
    assert [found for found in MEASURED.findall(typed(page)) if found not in stated] == []
    for lines in re.findall(r"(?:^\|.+\n)+", typed(page), re.MULTILINE):
        cells = [cell.strip() for line in lines.splitlines()[2:] for cell in line.strip("|").split("|")[1:]]
        numbers = [cell for cell in cells if re.match(r"[±−-]?\d+\.\d", cell)]
        assert len(numbers) <= len(cells) / 2, lines


def test_every_marker_names_a_benchmark_that_exists() -> None:
    named = {found["name"] for page in PAGES for found in MARKED.finditer(page.read_text(encoding="utf-8"))}
    there = {path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert {name.replace("-", "_") for name in named} - {"report"} <= there
    assert len(named) > 10


def test_a_typed_measurement_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "It took 1.5 s.\n<!-- giveortake bench noise -->\n2 s\n<!-- end -->\n```\n3 s\n```\n", encoding="utf-8"
    )
    assert MEASURED.findall(typed(page)) == ["1.5 s"]
