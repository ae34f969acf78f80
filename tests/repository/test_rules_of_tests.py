"""Rules for the tests themselves: no chance, no clock, no private names, no wording, nothing left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

pytestmark = pytest.mark.xdist_group("rules of tests")  # every file is parsed once

ROOT = Path(__file__).resolve().parents[2]
WAITING, MESSAGES = "waiting.py", "_messages.py"

Names: TypeAlias = dict[str, str]
Rule: TypeAlias = Callable[[ast.AST, Names], bool]

CLOCKS = {
    f"time.{name}{unit}"
    for name in ("monotonic", "perf_counter", "process_time", "thread_time", "time")
    for unit in ("", "_ns")
} | {"datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"}
LEFT_OUT = {
    "pytest.skip",
    "pytest.xfail",
    "pytest.importorskip",
    "pytest.mark.skip",
    "pytest.mark.skipif",
    "pytest.mark.xfail",
    "unittest.skip",
    "unittest.skipIf",
    "unittest.skipUnless",
}
SENTENCE = re.compile(r"[A-Za-z]{2,}(?:['’][a-z]+)?[ ,.:;]+(?:[A-Za-z]+[ ,.:;]+)+[A-Za-z]{2,}")
SQL = re.compile(r"\b(SELECT|FROM|GROUP BY|COUNT|WHERE|CREATE|INSERT|UPDATE|JOIN)\b")


def imported_names(tree: ast.AST) -> Names:
    """What the names that a file imports stand for."""
    names: Names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                whole = name.name if name.asname else name.name.partition(".")[0]
                names[name.asname or whole] = whole
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return names


def dotted(node: ast.AST, names: Names) -> str:
    """The full name that an expression stands for; empty if it does not begin with an imported one."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, names)
        return f"{base}.{node.attr}" if base else ""
    return ""


# -- the rules: whether a node breaks one -----------------------------------------------------------------------------


def sleeps_or_reads_a_clock(node: ast.AST, names: Names) -> bool:
    if isinstance(node, ast.Call):
        name = dotted(node.func, names)
        yields = [argument.value for argument in node.args if isinstance(argument, ast.Constant)] == [0]
        in_browser = isinstance(node.func, ast.Attribute) and node.func.attr == "wait_for_timeout"
        return in_browser or name == "time.sleep" or (name == "asyncio.sleep" and not yields)
    return dotted(node, names) in CLOCKS


def imports_a_private_name(node: ast.AST, names: Names) -> bool:
    if isinstance(node, ast.ImportFrom):
        paths = [f"{node.module}.{name.name}" for name in node.names]
    elif isinstance(node, ast.Import):
        paths = [name.name for name in node.names]
    else:
        return False
    parts = [path.split(".") for path in paths]
    return any(path[0] == "giveortake" and re.search(r"(^| )_(?!_)", " ".join(path)) for path in parts)


def matches_a_sentence(node: ast.AST, names: Names) -> bool:
    if not isinstance(node, ast.keyword) or node.arg != "match":
        return False
    return any(is_sentence(text_of(each)) for each in ast.walk(node.value))


def text_of(node: ast.AST) -> str:
    """A text as it stands in the code; what is put into it is a blank."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return " ".join(text_of(part) for part in parts)
    return ""


def is_sentence(text: str) -> bool:
    """Whether three or more English words follow each other."""
    return not SQL.search(text) and len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and SENTENCE.search(text) is not None


def leaves_something_out(node: ast.AST, names: Names) -> bool:
    raised = isinstance(node, ast.Raise) and node.exc is not None and "SkipTest" in ast.dump(node.exc)
    return raised or dotted(node, names) in LEFT_OUT


RULES: dict[Rule, str | None] = {  # and the end of the name of files in which it does not hold
    sleeps_or_reads_a_clock: WAITING,
    imports_a_private_name: None,
    matches_a_sentence: MESSAGES,
    leaves_something_out: None,
}


# -- who breaks them --------------------------------------------------------------------------------------------------


def lines_of(source: str) -> Iterator[tuple[Rule, int]]:
    """Every line of a text that breaks a rule."""
    tree = ast.parse(source)
    names = imported_names(tree)
    for node in ast.walk(tree):
        for rule in RULES:
            if rule(node, names):
                yield rule, getattr(node, "lineno", 0)


def broken(rule: Rule, source: str) -> list[int]:
    """The lines of a planted text that break a rule."""
    return sorted({line for one, line in lines_of(source) if one is rule})


@pytest.fixture(scope="module")
def offenders() -> dict[Rule, list[str]]:
    """Every place in the tests that breaks a rule."""
    found: dict[Rule, list[str]] = {rule: [] for rule in RULES}
    files = [ROOT / "conftest.py", *sorted((ROOT / "tests").rglob("*.py"))]
    for file in files:
        path = file.relative_to(ROOT).as_posix()
        if "/frozen_" in path:  # what older versions left behind
            continue
        for rule, line in lines_of(file.read_text(encoding="utf-8")):
            allowed = RULES[rule]
            if allowed is None or not file.name.endswith(allowed):
                found[rule].append(f"{path}:{line}")
    assert len(files) > 100
    return found


CLOCK = """
import asyncio, datetime, time
import time as t
from time import monotonic
from asyncio import sleep as nap
time.sleep(0)
t.perf_counter_ns()
monotonic()
asyncio.sleep(0.01)
nap(delay)
begin = time.time
datetime.datetime.now(datetime.UTC)
page.wait_for_timeout(100)
asyncio.sleep(0)
monkeypatch.setattr(time, "monotonic", clock)
clock.time()
"""


def test_tests_neither_sleep_nor_read_a_clock_outside_of_the_one_place_that_waits(
    offenders: dict[Rule, list[str]],
) -> None:
    assert broken(sleeps_or_reads_a_clock, CLOCK) == list(range(6, 14))
    assert not offenders[sleeps_or_reads_a_clock], "\n".join(offenders[sleeps_or_reads_a_clock])


PRIVATE = """
from giveortake.local import _hidden
from giveortake._hidden import shown
import giveortake.local._hidden as hidden
from giveortake import __version__
from elsewhere import _hidden
import giveortake.local
"""


def test_tests_import_no_private_name(offenders: dict[Rule, list[str]]) -> None:
    assert broken(imports_a_private_name, PRIVATE) == [2, 3, 4]
    assert not offenders[imports_a_private_name], "\n".join(offenders[imports_a_private_name])


WORDS = """
pytest.raises(InvalidParameter, match="is not a number")
pytest.warns(UserWarning, match=rf"(?s)the {name} is missing.*hint")
pytest.raises(InvalidParameter, match="rows_per_person")
pytest.raises(QueryRefused, match="SELECT x FROM t")
pytest.raises(QueryRefused, match="no ids")
"""


def test_errors_are_told_by_type_and_facts_and_sentences_are_matched_in_tests_of_messages_alone(
    offenders: dict[Rule, list[str]],
) -> None:
    assert broken(matches_a_sentence, WORDS) == [2, 3]
    assert not offenders[matches_a_sentence], "\n".join(offenders[matches_a_sentence])


OUT = """
import pytest
from pytest import importorskip, mark
pytest.skip("not today")
importorskip("pandas")
@pytest.mark.skipif(True, reason="")
def test_one(): ...
@mark.xfail
def test_two(): ...
raise SkipTest
@pytest.mark.long
def test_three(): ...
pytest.fail("no")
"""


def test_no_test_is_skipped_or_expected_to_fail(offenders: dict[Rule, list[str]]) -> None:
    assert broken(leaves_something_out, OUT) == [4, 5, 6, 8, 10]
    assert not offenders[leaves_something_out], "\n".join(offenders[leaves_something_out])


CONCURRENT = re.compile(r"^\s*(?:from|import) (?:waiting|threading|multiprocessing|concurrent|forked)\b", re.MULTILINE)


def test_every_file_that_waits_or_races_is_in_the_list_of_what_could_fail_by_chance() -> None:
    listed = (ROOT / "tests" / "chance.md").read_text(encoding="utf-8")
    files = [
        file for file in (ROOT / "tests").rglob("test_*.py") if CONCURRENT.search(file.read_text(encoding="utf-8"))
    ]
    assert len(files) > 20
    names = {file.name for folder in ("tests", "benchmarks", "src") for file in (ROOT / folder).rglob("*.py")}
    assert [file.name for file in files if file.name not in listed] == [], "add a row to tests/chance.md"
    assert [name for name in re.findall(r"\w+\.py", listed) if name not in names] == []
