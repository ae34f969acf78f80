"""docs/theorems.md is complete: no row points to nothing, and nothing that claims a guarantee lacks a row."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<statement>.+) \| `(?P<home>[\w.]+)` \| `(?P<test>[^`]+)` \|$", re.MULTILINE)
ROWS = [match.groupdict() for match in ROW.finditer(PAGE)]
CITATION = re.compile(r"\[([A-Z][A-Za-z+]+\d{2})(?=[\],])")


@cache
def functions_in(path: Path) -> frozenset[str]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return frozenset(re.findall(r"^\s*def (\w+)\(", text, re.MULTILINE))


def found(home: str) -> object:
    """The object that a dotted name leads to, through the longest prefix that is a module."""
    parts = home.split(".")
    for length in range(len(parts), 0, -1):
        try:
            target: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            target = getattr(target, name)
        return target
    raise ModuleNotFoundError(home)


def test_every_row_of_a_table_is_read() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| statement")]
    assert len(rows) == len(ROWS) > 80


def test_every_home_exists() -> None:
    assert [home for home in sorted({row["home"] for row in ROWS}) if not exists(home)] == []


def exists(home: str) -> bool:
    try:
        return found(home) is not None
    except (AttributeError, ModuleNotFoundError):
        return False


def test_every_test_exists() -> None:
    named = {tuple(row["test"].split("::")) for row in ROWS}
    assert [(path, name) for path, name in sorted(named) if name not in functions_in(ROOT / path)] == []


@cache
def claims() -> list[str]:
    """Classes and functions whose docstring states a guarantee of its own."""
    found_claims = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "Guarantee" in source else ():
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if re.search(r"^Guarantee\b.*:", text, re.MULTILINE):
                    found_claims.append(node.name)
    return found_claims


def test_whatever_claims_a_guarantee_has_a_row() -> None:
    known = {part for row in ROWS for part in row["home"].split(".")}
    assert len(claims()) > 20
    assert [name for name in claims() if name not in known] == []


def test_every_citation_in_the_code_is_in_the_references() -> None:
    references = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^- \[([^\]]+)\]", references, re.MULTILINE))
    cited = {key for path in (ROOT / "src").rglob("*.py") for key in CITATION.findall(path.read_text(encoding="utf-8"))}
    assert cited - listed == set()
