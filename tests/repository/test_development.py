"""The quick loop, the hooks and the locked environment say the same as the one command that runs everything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import checks
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()
LOCKED = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in LOCK}


def test_the_lock_is_names_and_versions_and_nothing_else() -> None:
    assert [line for line in LOCK if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []
    assert len(LOCKED) == len(LOCK)
    assert "giveortake" not in LOCKED


def test_the_lock_holds_what_development_needs() -> None:
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    needed = [Requirement(line) for line in lines]
    missing = [each for each in needed if not each.specifier.contains(LOCKED.get(canonicalize_name(each.name), "0"))]
    assert missing == []


def test_the_hooks_call_the_tools_that_the_one_command_calls() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"entry: \.venv/bin/(.+)", text)
    assert entries == [" ".join(line) for line in checks.TOOLS.values()]


def test_every_package_has_something_to_run() -> None:
    assert {"session", "docs", "errors", "benchmarks", "repository"} <= set(checks.packages())
    assert [package for package in checks.packages() if not checks.test_paths(package)] == []


def test_a_changed_file_runs_the_packages_that_it_decides_about() -> None:
    for file, packages in {
        "src/giveortake/session/session.py": {"session"},
        "src/giveortake/errors.py": {"errors"},
        "tests/ledger/ledger_of_0_2/visits.ledger": {"ledger"},
        "tests/spark_cluster.py": {"engines"},
        "tests/statistics_of_draws.py": {"randomness", "mechanisms", "local"},
        "docs/adr/0001-habits-and-dependencies.md": {"docs", "repository"},
        "benchmarks/harness/report.py": {"benchmarks"},
        "pyproject.toml": {"repository"},
    }.items():
        assert checks.packages_of(Path(file)) >= packages, file


def test_an_unknown_package_is_refused_with_the_list() -> None:
    line = [sys.executable, "script/checks.py", "--quick", "sesion"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "accounting, " in done.stderr


PYTHON = """#!/bin/sh
# Notes its arguments instead of installing anything, and makes environments with a copy of itself.
echo "$*" >> calls
case "$*" in
*venv*) mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0" .venv/bin/pip ;;
--version) echo "Python 3.11" ;;
esac
"""


def test_an_environment_is_made_once_and_again_if_it_is_half_made_or_its_files_change(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "script", tmp_path / "script")
    for name in ("pyproject.toml", "requirements-dev.lock"):
        (tmp_path / name).touch()
    python, calls = tmp_path / "python", tmp_path / "calls"
    python.write_text(PYTHON)
    python.chmod(0o755)

    def installed(purpose: str) -> list[str]:
        calls.write_text("")
        line = ["sh", "-euc", f". script/environment; environment {purpose}"]
        subprocess.run(line, cwd=tmp_path, env={**os.environ, "PYTHON": str(python)}, check=True, capture_output=True)
        return re.findall(
            r"venv --without-pip|install --quiet pip|\.\[dev\]|install .*--editable \.$",
            calls.read_text(),
            re.MULTILINE,
        )

    made = ["venv --without-pip", "install --quiet pip"]
    assert installed("demo")[:2] == made
    assert installed("demo") == []
    assert installed("development") == [".[dev]"]
    assert installed("demo") == installed("development") == []
    (tmp_path / "pyproject.toml").write_text("[project]")
    assert installed("development") == [".[dev]"]
    (tmp_path / ".venv" / "installed").unlink()  # the last thing that is written
    assert installed("development") == [".[dev]"]
    for name in ("python", "pip"):
        (tmp_path / ".venv" / "bin" / name).unlink()
    assert installed("development") == [*made, ".[dev]"]


GROUPED = """
import os, pathlib, pytest

@pytest.fixture
def server():
    return "none is needed to see where tests run"

@pytest.mark.parametrize("turn", range(8))
def test_of_a_group(turn, server):
    with pathlib.Path(os.environ["SEEN"]).open("a") as seen:
        seen.write(f"{os.getpid()} ")
"""


@pytest.mark.long  # the locked versions do; whoever writes the lock again runs this
def test_tests_that_share_a_server_run_in_one_process(tmp_path: Path) -> None:
    """Versions of pytest and pytest-xdist that do not understand each other forget groups without a word."""
    (tmp_path / "test_groups.py").write_text(GROUPED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = postgres")
    places = [str(ROOT), str(ROOT / "tests"), *sys.path]
    subprocess.run(
        [sys.executable, "-m", *checks.PYTEST, "-p", "conftest", "test_groups.py"],
        cwd=tmp_path,
        env={**os.environ, "SEEN": str(tmp_path / "seen"), "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        check=True,
    )
    seen = (tmp_path / "seen").read_text().split()
    assert (len(seen), len(set(seen))) == (8, 1)
