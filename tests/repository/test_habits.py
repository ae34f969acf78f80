"""The repository keeps its own rules."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import giveortake
from giveortake import errors, mechanisms

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
HEAVY = [
    "cryptography",
    "rich",
    "duckdb",
    "sqlglot",
    "pyspark",
    "psycopg",
    "starlette",
    "uvicorn",
    "httpx",
    "jinja2",
    "altair",
    "sklearn",
    "pandas",
    "scipy",
]
SILENCED = re.compile(r"# (noqa|type: ignore)")
REASON = re.compile(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\]  #) \(.+\)$")


def test_the_readme_shows_the_two_scripts_and_ci_runs_the_second() -> None:
    assert re.findall(r"```sh\n(.+?)\n```", README, re.DOTALL) == ["script/demo", "script/test"]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "exec script/test"


def test_importing_loads_nothing_heavy() -> None:
    program = "import sys, giveortake; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "giveortake.privacy" in loaded
    assert not [name for name in HEAVY if name in loaded]
    assert not {"giveortake.mechanisms", "giveortake.local", "giveortake.ledger", "giveortake.accounting"} & set(loaded)


def test_rooms_at_the_edge_are_loaded_when_first_used() -> None:
    program = "import giveortake as gt; print(gt.local.Poll.__name__, hasattr(gt, 'lokal'), gt.compose, gt.protect)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Poll False <function compose at")


def test_every_public_name_is_found() -> None:
    assert [name for name in giveortake.__all__ if not hasattr(giveortake, name)] == []
    assert set(giveortake.__all__) <= set(dir(giveortake))


def test_the_version_is_said_once_and_the_changelog_begins_with_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/giveortake/__init__.py"
    versions = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert next(version for version in versions if not version.endswith("(unreleased)")) == giveortake.__version__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_in_a_page_is_an_example_that_the_tests_run(page: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        assert block.startswith(">>> ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists()


def test_privacy_comes_first_in_the_changelog() -> None:
    sections = re.findall(r"^### (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[0] == "Privacy"


def test_every_mechanism_cites_its_source_and_says_what_it_guarantees() -> None:
    found = [thing for thing in vars(mechanisms).values() if isinstance(thing, type)]
    concrete = [
        thing for thing in found if issubclass(thing, mechanisms.Mechanism) and thing is not mechanisms.Mechanism
    ]
    assert len(concrete) == 13
    for mechanism in concrete:
        assert mechanism.citation
        assert "Guarantee [" in (mechanism.__doc__ or "")


def test_every_error_is_one_of_ours_and_says_when_it_is_raised() -> None:
    for name in errors.__all__:
        error = getattr(errors, name)
        assert issubclass(error, errors.GiveOrTakeError)
        assert error.__doc__


def test_every_decision_is_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_whoever_silences_a_tool_says_why() -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SILENCED.search(line) and not REASON.search(line)
    ]
    assert lines == []
