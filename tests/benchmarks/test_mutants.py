"""The mutation check still fits the source: every mistake of its list can be planted, and the tests it names exist."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

import mutants
from mutant_list import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]


def test_every_mutant_can_be_planted_and_still_parses() -> None:
    for mutant in MUTANTS:
        text = (ROOT / "src" / "giveortake" / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.before) == 1, mutant.name
        assert mutant.before != mutant.after, mutant.name
        ast.parse(mutants.mutated(ROOT, mutant), mutant.name)


def test_every_mutant_has_a_name_of_its_own_and_tests_that_exist() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 50
    missing = [(mutant.name, each) for mutant in MUTANTS for each in mutant.tests if not (ROOT / each).is_file()]
    assert missing == []
    assert [mutant.name for mutant in MUTANTS if not mutant.tests] == []


def test_a_mutant_is_caught_or_survives_and_without_it_there_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    _write(tmp_path, "def bound():\n    return 2\n\n\ndef spare():\n    return 1\n")
    planted = [_mutant("return 2", "return 3"), _mutant("return 1", "return 0")]
    found = list(mutants.verdicts(tmp_path, planted, "tests", control=False))
    assert [(each.caught, each.by) for each in found] == [(True, "tests/test_bound.py::test_bound"), (False, "")]
    shutil.copytree(tmp_path / "src" / "giveortake", tmp_path / "giveortake")  # which comes first on the path
    with pytest.raises(RuntimeError):
        list(mutants.verdicts(tmp_path, planted, "tests", control=False))


def _write(root: Path, package: str) -> None:
    """A checkout with one module and one test."""
    (root / "src" / "giveortake").mkdir(parents=True)
    (root / "src" / "giveortake" / "__init__.py").write_text(package)
    (root / "tests").mkdir()
    (root / "tests" / "test_bound.py").write_text(
        "import giveortake\n\n\ndef test_bound():\n    assert giveortake.bound() == 2\n"
    )
    (root / "pytest.ini").write_text("[pytest]\nmarkers = long\n")


def _mutant(before: str, after: str) -> Mutant:
    return Mutant(before, "__init__.py", before, after, ("tests/test_bound.py",))
