"""The walks of docs/extending.md lead where they say: what they make is held to the same contracts as what is there."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import filter_contract
import giveortake as gt
import laws
import noise_contract
import tiers
from giveortake.accounting import Filter, Snapshot
from recorded_entropy import RecordedEntropy

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def walked() -> dict[str, Any]:
    """Everything that the examples about mechanisms and filters define."""
    names: dict[str, Any] = {"gt": gt, "__name__": "extending"}
    for example in doctest.DocTestParser().get_examples(section("A mechanism") + section("A filter")):
        if example.exc_msg is None:  # those that are refused define nothing
            exec(compile(example.source, "extending.md", "exec", dont_inherit=True), names)  # noqa: S102 (our own page)
    return names


# -- a mechanism ------------------------------------------------------------------------------------------------------


def uniform(width: Fraction) -> laws.Law:
    whole = round(width)
    return lambda k: Fraction(abs(k) <= whole, 2 * whole + 1)


def test_the_mechanism_of_the_page_keeps_its_promise_and_has_a_margin(walked: dict[str, Any]) -> None:
    for shift in (1, 3):
        noise_contract.keeps_its_promise(walked["Uniform"](10), uniform(Fraction(10)), shift, reach=20)
    for confidence in (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)):
        noise_contract.has_a_margin_that_covers(walked["Uniform"](33), uniform(Fraction(33)), confidence)


@pytest.mark.statistical
def test_the_mechanism_of_the_page_has_its_law(walked: dict[str, Any], entropy: RecordedEntropy) -> None:
    noise_contract.has_the_stated_law_and_no_other(walked["Uniform"](10), uniform, Fraction(10), entropy)


def test_the_mechanism_of_the_page_says_what_it_is_and_releases_in_kind(walked: dict[str, Any]) -> None:
    noise = walked["Uniform"](5)
    noise_contract.says_what_it_is(noise)
    noise_contract.is_widened_and_never_wraps(noise)
    noise_contract.releases_in_kind(noise, lambda: RecordedEntropy("twice the same"))


def test_the_contract_catches_a_mechanism_that_promises_too_much(walked: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        noise_contract.keeps_its_promise(walked["Uniform"](11), uniform(Fraction(10)), 1, reach=20)


def test_the_change_that_names_the_mechanism_fits_the_package() -> None:
    found = changes("A mechanism")
    assert {name for name, _, _ in found} == {"src/giveortake/mechanisms/__init__.py"}
    assert [(ROOT / name).read_text(encoding="utf-8").count(old) for name, old, _ in found] == [1, 1]


# -- a filter ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", tiers.tiered([Fraction(1, 20)], [Fraction(1, 20), Fraction(2)]))
def test_the_filter_of_the_page_keeps_the_laws_of_filters(walked: dict[str, Any], rho: Fraction) -> None:
    def make(*, snapshot: Snapshot | None = None) -> Filter:
        guard: Filter = walked["PureAndConcentrated"](gt.PureDP(1), rho)
        if snapshot is not None:
            guard.resume(snapshot)
        return guard

    for law in filter_contract.LAWS:
        law(make)


# -- an aggregate -----------------------------------------------------------------------------------------------------

ASKED = """
import json
import polars as pl
import giveortake as gt

values = [-3.0, 1.0, 2.0, None, 6.0, 40.0]
table = pl.DataFrame({"p": range(6), "g": ["a", "b"] * 3, "x": values, "free": values})
domains = {"x": (-5, 7), "g": ["a", "b"]}
budget = gt.ApproxDP(10**12, "1e-3")
session = gt.protect({"t": table}, name="t", unit="p", budget=budget, domains=domains, rows_per_person=1)
written = session.sql("SELECT g, RMS(x) AS r FROM t GROUP BY g")
framed = session.table("t").group_by("g").agg(r=gt.rms("x"))
found = {"same": written.question == framed.question, "unnamed": session.sql("SELECT RMS(x) FROM t").question.columns}
answer = written.answer(epsilon=10**9, confidence="0.999999999").to_dict()  # that the interval holds is asserted
found["values"], found["low"], found["high"] = answer["r"], answer["r_low"], answer["r_high"]
found["noises"], found["refused"] = len(written.quote(epsilon=1).noise), []
bad = ("SELECT RMS(free) FROM t", "SELECT AVG(r) FROM (SELECT p, RMS(x) AS r FROM t GROUP BY p)")  # bounds; one person
for place, text in enumerate(bad):
    try:
        session.sql(text)
    except gt.errors.QueryRefused:
        found["refused"].append(place)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the changes of the page."""
    copy = tmp_path_factory.mktemp("walk")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in changes("An aggregate"):
        file = copy / name
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old)
        file.write_text(text.replace(old, new), encoding="utf-8")
    return copy


def changes(title: str) -> list[tuple[str, str, str]]:
    """File, old lines, new lines: of every hunk in one of the page's walks."""
    found = []
    for block in re.findall(r"```diff\n(.*?)```", section(title), re.DOTALL):
        name, _, hunks = block.removeprefix("+++ ").partition("\n")
        for hunk in hunks.split("@@\n"):
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            found.append((name, old, new))
    return found


def run(changed: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(changed / "src")}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("title", "most"), [("A mechanism", 5), ("An aggregate", 3), ("A kind of request", 4), ("An engine", 4)]
)
def test_an_addition_touches_few_files(title: str, most: int) -> None:
    steps = re.findall(r"^\d+\. \*\*", section(title), re.MULTILINE)
    assert 3 <= len(steps) <= most
    assert len({name for name, _, _ in changes(title)}) <= most


def test_the_aggregate_of_the_page_is_answered_in_both_languages(changed: Path) -> None:
    found = json.loads(run(changed, "-c", ASKED))
    a, b = ((9 + 4 + 36) / 3) ** 0.5, ((1 + 49) / 2) ** 0.5  # 40 was clamped to 7
    assert found["same"]
    assert found["unnamed"] == ["rms_x"]
    assert found["values"] == pytest.approx([a, b], abs=1e-3)
    assert found["low"][0] <= a <= found["high"][0]
    assert found["noises"] == 2  # of sums above the lower bound, and below the upper one
    assert found["refused"] == [0, 1]


@pytest.mark.long
def test_the_tests_of_both_languages_hold_for_the_aggregate_of_the_page(changed: Path) -> None:
    told = run(changed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/plan/test_functions.py")
    assert " passed" in told
