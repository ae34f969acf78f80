"""How large the project is, and how far one question walks through it: what a newcomer has to read.

- *files* and *lines* are of Python; a line of code is neither blank nor a comment nor part of a docstring.
- *files of one COUNT*: those in which a function is called between `s.sql(text)` and the answer, in a fresh process;
  what runs while a module is imported does not count. A *change of file* is a call from one of them into another.
- *vague names*: identifiers such as `found` or `each`, which say the grammatical role of a thing and not the thing.
- *words* are those of README and `docs/`, without decisions, the changelog, generated pages and code blocks.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, final

import giveortake as gt

if TYPE_CHECKING:
    from types import FrameType

    from harness.report import Report

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "giveortake"
QUESTION = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
VAGUE = {
    *("found", "said", "told", "asked", "kept", "made", "each"),
    *("place", "of", "given", "shown", "written", "meant", "held"),
}
# written by a benchmark, or a copy of another file
NOT_WRITTEN = {"results.md", "accuracy-learning.md", "changelog.md", "contributing.md", "security.md"}


@final
@dataclass(frozen=True, slots=True)
class Target:
    """A number of the project, and the most that it should be."""

    name: str
    number: int
    most: int | None = None

    def __str__(self) -> str:
        goal = "" if self.most is None else f" (≤ {self.most:,})"
        return f"{self.name} {self.number:,}{goal}"


def run(report: Report) -> None:
    child = subprocess.run(  # noqa: S603 (this file, in a process that remembers no earlier question)
        [sys.executable, __file__], check=True, capture_output=True, text=True
    )
    walk = json.loads(child.stdout)
    for target in [
        *sizes(),
        Target("files of one COUNT", len(walk["files"]), 55),
        Target("changes of file of one COUNT", walk["changes"]),
    ]:
        most = target.most
        report.fact(
            target.name,
            f"{target.number:,}",
            goal="" if most is None else f"≤ {most:,}",
            met=None if most is None else target.number <= most,
        )
    report.note("Files of one COUNT: " + ", ".join(walk["files"]) + ".")


def sizes() -> list[Target]:
    """What can be counted without running anything."""
    source = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")]
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    session = [name for name in dir(gt.session.Session) if not name.startswith("_")]
    return [
        Target("source files", len(source), 270),
        Target("lines of code", sum(map(code_lines, source)), 57_500),
        Target("vague names", sum(map(vague_names, source)), 1_000),
        Target("parameters of gt.protect", len(inspect.signature(gt.protect).parameters), 14),
        Target("public members of Session", len(session), 20),
        Target("lines of test code", sum(map(code_lines, tests)), 38_000),
        Target("words of documentation", sum(words(path) for path in pages()), 42_000),
    ]


def code_lines(text: str) -> int:
    """Lines that are neither blank nor a comment nor part of a docstring."""
    lines = enumerate(text.splitlines(), 1)
    code = {number for number, line in lines if line.strip() and not line.lstrip().startswith("#")}
    return len(code - docstring_lines(ast.parse(text)))


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of all docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    return {
        line
        for node in first
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def vague_names(text: str) -> int:
    """Uses of vague names as variables, parameters and attributes."""
    count = 0
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                count += name in VAGUE
    return count


def pages() -> list[Path]:
    """The pages that people write and read."""
    docs = ROOT / "docs"
    written = [path for path in docs.glob("*.md") if path.name not in NOT_WRITTEN]
    return [ROOT / "README.md", *sorted(written)]


def words(page: Path) -> int:
    """Words of a page outside its blocks of code."""
    return len(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL).split())


@final
class Walk:
    """Follows one thread through the package by `sys.setprofile`."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.changes = 0
        self._callers: list[str | None] = []  # the file of every function that runs, None outside the package
        self._imports = 0

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._enter(frame)
        elif event == "return" and self._callers:
            self._callers.pop()
            self._imports -= frame.f_code.co_name == "<module>"

    def _enter(self, frame: FrameType) -> None:
        code = frame.f_code
        self._imports += code.co_name == "<module>"
        path = Path(code.co_filename)
        file = str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else None
        caller = next((name for name in reversed(self._callers) if name is not None), None)
        self._callers.append(file)
        if file is None or self._imports:
            return
        self.files.add(file)
        self.changes += caller is not None and caller != file


def walk() -> dict[str, object]:
    """One COUNT, followed from the text to the answer."""
    table = files("giveortake") / "data" / "visits.csv"
    regions = ["north", "east", "south", "west", "coast", "islands"]
    with gt.protect(
        table,
        unit="person_id",
        budget=gt.ApproxDP("1", "1e-6"),
        domains={"region": regions, "amount": (0, 500)},
        rows_per_person=4,
    ) as session:
        followed = Walk()
        sys.setprofile(followed)
        try:
            session.sql(QUESTION).answer(epsilon="0.5")
        finally:
            sys.setprofile(None)
    return {"files": sorted(followed.files), "changes": followed.changes}


if __name__ == "__main__":
    print(", ".join(map(str, sizes())) if sys.argv[1:] == ["sizes"] else json.dumps(walk()))
