"""What a page says that both sides of a comparison spend, beside what our ledger was charged for the same call."""

from __future__ import annotations

import importlib
import json
import re
from collections import defaultdict
from dataclasses import asdict
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import giveortake as gt
from giveortake.accounting import epsilon_interval
from giveortake.mechanisms import Laplace
from harness import evidence, pages, results, terms
from harness.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.privacy.events import Event
    from harness.terms import Terms

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
TINY = "1e-30"  # instead of δ = 0
CLOSE = Fraction(95, 100)  # of what is stated: whole thresholds, and the ε of several events, take a little less
SMALL = 20_000


def benchmark(name: str) -> Any:
    return importlib.import_module(f"bench_{name}")


def of_ours(name: str) -> list[Terms]:
    return [each for each in benchmark(name).TERMS if each.side.startswith("ours") and each.epsilon != terms.NONE]


class Ledgers(list[Path]):
    """Files of all sessions that a benchmark opens."""

    def charged(self) -> list[Event]:
        with gt.ledger.open(self[-1]) as ledger:
            return [record.event for record in ledger.releases()]


@pytest.fixture
def ledgers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledgers:
    paths, protect = Ledgers(), gt.protect

    def protected(*arguments: Any, **options: Any) -> Any:
        paths.append(tmp_path / f"ledger-{len(paths)}.db")
        return protect(*arguments, **options | {"ledger": paths[-1]})

    monkeypatch.setattr(gt, "protect", protected)
    return paths


def agrees(stated: Terms, charged: list[Event]) -> None:
    """The charges cost what is stated: no more, and no less but for rounding."""
    epsilon, delta = Fraction(stated.epsilon), stated.delta if Fraction(stated.delta) else TINY
    price = epsilon_interval(charged, delta).high
    assert CLOSE * epsilon <= price <= epsilon * (1 + Fraction(1, 10**9)), (stated, float(price))


# -- what is stated ---------------------------------------------------------------------------------------------------


def test_every_benchmark_with_a_peer_states_its_terms() -> None:
    peered = {
        path.stem.removeprefix("bench_")
        for path in BENCHMARKS.glob("bench_*.py")
        if re.search(r"report\.peer\(|report\.python_with\(|Contest\(", path.read_text(encoding="utf-8"))
    } - {"limits"}  # which needs engines, and has no peer
    assert peered == set(terms.COMPARED)
    for name in terms.COMPARED:
        sides = {each.side for each in benchmark(name).TERMS}
        assert "ours" in sides
        assert any(not side.startswith("ours") for side in sides), name


def test_sides_of_a_comparison_spend_the_same_or_say_that_they_do_not() -> None:
    for name in terms.COMPARED:
        prices = defaultdict(list)
        for each in benchmark(name).TERMS:
            prices[each.comparison].append(each)
        for sides in prices.values():
            ours = {(each.epsilon, each.delta) for each in sides if each.side == "ours"}
            unequal = [each for each in sides if (each.epsilon, each.delta) not in ours]
            assert [each for each in unequal if not each.remark] == [], name


def test_a_saved_run_has_the_terms_of_its_benchmark_or_its_page_says_that_it_has_none() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for name in terms.COMPARED:
        run = results.last(BENCHMARKS, name)
        if run is None:
            continue
        if run.get("terms"):
            assert run["terms"] == [asdict(each) for each in benchmark(name).TERMS]
        assert "\n".join(pages.asked(run)) in page, name


def test_the_report_names_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for each in evidence.SECTIONS.values() for name in each]
    run = {"report": "", "terms": [{"side": "ours"}], "missing": []}
    whole: dict[str, Any] = {"missing": {}, "runs": dict.fromkeys(names, run)}
    assert evidence.lacking(whole) == {}
    for lack in (None, run | {"missing": ["dp-accounting: i"]}, {"report": ""}):
        assert set(evidence.lacking(whole | {"runs": whole["runs"] | {"accounting": lack}})) == {"accounting"}
    assert set(evidence.lacking(whole | {"missing": {"noise": "it failed: OpenDP is missing"}})) == {"noise"}


# -- what is charged --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["queries", "keys", "engines"])
def test_answers_from_payments_are_charged_as_stated(name: str, ledgers: Ledgers, tmp_path: Path) -> None:
    queries, ours = benchmark("queries"), importlib.import_module("ours")
    path = str(queries.payments(SMALL, tmp_path))
    tasks: dict[str, Callable[[str], Callable[[], Any]]] = ours.tasks()
    stated = of_ours(name)
    by_call = {queries.ours(task): task for task in queries.TASKS}
    for each in stated:
        tasks[by_call[each]](path)()
        agrees(each, ledgers.charged())


def test_medians_are_measured_as_stated() -> None:
    quantiles = benchmark("quantiles")
    for each in of_ours("quantiles"):
        spend = quantiles.Spend(epsilon=Fraction(each.epsilon))
        with quantiles.session_of([1.0, 2.0, 3.0]) as session:
            agrees(each, [quantiles.measured(session, quantiles.MEDIAN, spend).event])


def test_panels_are_charged_as_stated(ledgers: Ledgers, tmp_path: Path) -> None:
    truth = benchmark("truth")
    rows = 2_000
    table = {
        "person": [f"N{index % 400}" for index in range(rows)],
        "key": [str(1984 + index % 5) for index in range(rows)],
        "value": [float(index % 100) for index in range(rows)],
        "found": [str(index % 3) for index in range(rows)],
    }
    pl.DataFrame(table).write_parquet(tmp_path / "panel.parquet")
    study = truth.Study("panel", truth.PANELS["rwm5yr"], tmp_path / "panel.parquet")
    for each in of_ours("truth"):
        if each.comparison == "found":
            truth.discovered(study, 1)
        else:
            truth.ours(study, each.epsilon, 1, (each.comparison,))
        agrees(each, ledgers.charged())


def test_the_five_questions_are_charged_as_stated(ledgers: Ledgers) -> None:
    coming = benchmark("coming_from")
    coming.ours(0)
    for place, each in enumerate(of_ours("coming_from")):
        assert each.comparison == coming.QUESTIONS[place]
        agrees(each, Ledgers(ledgers[place : place + 1]).charged())


def test_a_synthesis_is_charged_as_stated(ledgers: Ledgers) -> None:
    synthetic = benchmark("synthetic")
    table = np.random.default_rng(1).integers(0, 3, (2_000, 3))
    synthetic._compare(Report("synthetic", Console(file=StringIO()), BENCHMARKS, quick=True), "small", table, [3, 3, 3])
    (stated,) = of_ours("synthetic")
    agrees(stated, ledgers.charged())


@pytest.mark.long
def test_learners_are_charged_as_stated(ledgers: Ledgers, tmp_path: Path) -> None:
    learning = benchmark("learning")
    draws = np.random.default_rng(1)
    rows = draws.random((400, 2))
    for name, target in (("breast", rows[:, 0] > 0.5), ("diabetes", 400 * rows[:, 0])):
        np.savez(tmp_path / f"{name}.npz", X=rows, y=target.astype(int if name == "breast" else float))
        (tmp_path / f"{name}.json").write_text(json.dumps([["number", 0, 1], ["number", 0, 1]]))
    stated = of_ours("learning")
    assert [re.findall(r"\w+", each.call)[2] for each in stated] == list(learning.OURS)
    for each, model in zip(stated, learning.OURS, strict=True):
        for epsilon in learning.EPSILONS:
            learning._ours(tmp_path, model, "breast" if model in learning.CLASSIFIERS else "diabetes", epsilon, 0)
            agrees(terms.Terms(each.comparison, each.side, each.call, epsilon, each.delta), ledgers.charged())


def test_surveys_and_noise_promise_what_is_stated() -> None:
    surveys = benchmark("surveys")
    promised = {name: survey.epsilon for name, survey in surveys.SURVEYS.values()}
    promised["RAPPOR, 64 bits, 8 cohorts"] = surveys.BLOOM.epsilon
    assert {each.comparison: Fraction(each.epsilon) for each in of_ours("surveys")} == promised
    noise = benchmark("noise")
    for each in of_ours("noise"):
        agrees(each, [Laplace(noise.SCALE).event(1)])
    assert Fraction(noise.LAPLACE["epsilon"]) == Fraction(noise.LAPLACE["sensitivity"], noise.SCALE)
