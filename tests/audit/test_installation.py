from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveortake import cli, mechanisms
from giveortake.audit import cases, self_check
from giveortake.audit.cases import OTHERS, queries
from giveortake.audit.self_check import Check, Outcome, checks
from giveortake.compile.sensitivity import Stability
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.privacy import PureDP
from tiers import is_long


def test_every_mechanism_is_looked_at() -> None:
    looked_at = " ".join(check.name for check in checks()).lower().replace(" ", "")
    for name in mechanisms.__all__:
        thing = getattr(mechanisms, name)
        if isinstance(thing, type) and issubclass(thing, mechanisms.Mechanism) and thing is not mechanisms.Mechanism:
            assert name.lower().replace("and", "and") in looked_at


def test_every_group_is_there_and_so_is_every_kind_of_request() -> None:
    groups = [*dict.fromkeys(check.group for check in checks())]
    assert groups == ["mechanisms", "samplers", "traces", "filters", "requests"]
    kinds = {"query"} | {case.kind for case in OTHERS}
    assert {check.name for check in self_check.requests()} == {f"{kind}, DuckDB" for kind in kinds}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are compared in test_coupled_runs.py."""
    monkeypatch.setattr(cases, "OTHERS", [case for case in OTHERS if case.kind == "counter"])
    shapes = [case for case in queries() if case.name in {"rows, ungrouped", "sum, ungrouped"}]
    monkeypatch.setattr(cases, "queries", lambda: shapes)


@pytest.mark.usefixtures("few")
def test_a_quick_audit_of_requests_suspects_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", "requests", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "2 of 2" in out
    assert "SUSPECT" not in out


@pytest.mark.usefixtures("few")
def test_an_audit_names_the_kinds_of_request_that_a_mistake_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Stability.sensitivity
    monkeypatch.setattr(Stability, "sensitivity", lambda *a, **k: tuple(each / 2 for each in sound(*a, **k)))
    verdicts = {check.name: check.run(0.05, 1e-9).sound for check in self_check.requests()}
    assert verdicts == {"query, DuckDB": False, "counter, DuckDB": True}


@pytest.mark.usefixtures("few")
def test_an_installation_that_raises_is_suspected(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such library")

    monkeypatch.setattr(DuckDBEngine, "_tally", broken)
    assert not self_check.requests()[0].run(0.05, 1e-9).sound


@pytest.mark.statistical
def test_a_quick_audit_of_this_installation_suspects_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    mechanisms_too = ["mechanisms"] if is_long() else []
    assert cli.main(["audit", *mechanisms_too, "samplers", "traces", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "SUSPECT" not in out
    assert "no proof" in " ".join(out.split())


@pytest.mark.statistical
def test_a_wrong_scale_and_a_wrong_law_are_suspected() -> None:
    halved = self_check._promise("mechanisms", "halved", mechanisms.Laplace(1), 0, 2, PureDP(1), 100_000)
    assert not halved.run(1.0, 1e-9).sound
    dice = np.random.default_rng(5)
    loaded = self_check._law(
        lambda n: (dice.random(n) < 0.35).astype(np.int64), lambda k: {0: 2 / 3, 1: 1 / 3}.get(k, 0.0)
    )
    assert not loaded(0.1, 1e-9).sound
    holes = self_check._law(lambda n: 2 * dice.integers(0, 3, n), lambda k: 1 / 6 if 0 <= k < 6 else 0.0)
    assert not holes(0.1, 1e-9).sound


def test_a_suspicion_is_reported_and_ends_with_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Check(
        "filters",
        "a broken thing",
        lambda effort, alpha: Outcome(sound=False, claim="all is well", finding="it is not"),
    )
    monkeypatch.setattr("giveortake.cli.audit.checks", lambda: [bad, replace(bad, group="samplers")])
    assert cli.main(["audit"]) == 1
    assert "SUSPECT" in capsys.readouterr().out
    assert cli.main(["audit", "unknown"]) == 2
    assert "filters, samplers" in capsys.readouterr().err
