"""`giveortake admin`: analysts, budgets, data sets, tokens, approvals and failures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake import cli
from giveortake.errors import AccessDenied, ApprovalDenied, ApprovalRequired
from giveortake.ledger import Charge

EVIL = "eve\x1b[2J"


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    path = tmp_path / "clinic.ledger"
    with gt.ledger.open(path) as ledger:
        ledger.population("patients", budget=gt.PureDP(2), unit="person_id")
        domains = {"visits": {"cost": {"kind": "real", "low": "0", "high": "500"}, "why": {"kind": "text"}}}
        ledger.dataset("visits", population="patients", domains=domains)
        ledger.dataset("letters", population="patients")
    return path


def admin(book: Path, *words: str) -> int:
    return cli.main(["admin", *words, "--ledger", str(book)])


def test_an_analyst_is_added_asks_is_revoked_and_readmitted(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "analyst", "list") == 0
    capsys.readouterr()
    added = ["analyst", "add", "ann", "--dataset", "visits", "--dataset", "letters", "--budget", "0.5"]
    assert admin(book, *added, "--questions", "9") == 0
    told = capsys.readouterr().out
    assert all(fact in told for fact in ("ann", "visits", "letters", "ε = 0.5"))
    event = gt.accounting.events.Pure("0.1")
    with gt.ledger.open(book) as ledger:
        ledger.reserve(Charge(event, dataset="letters", analyst="ann"))
    assert admin(book, "analyst", "revoke", "ann", "--reason", "left the house") == 0
    with gt.ledger.open(book) as ledger, pytest.raises(AccessDenied):
        ledger.reserve(Charge(event, dataset="letters", analyst="ann"))
    capsys.readouterr()
    assert admin(book, "analyst", "list") == 0
    shown = capsys.readouterr().out
    assert "20 %" in shown
    assert "revoked: ann" in shown
    assert admin(book, "analyst", "readmit", "ann", "--reason", "came back") == 0
    with gt.ledger.open(book) as ledger:
        ledger.reserve(Charge(event, dataset="letters", analyst="ann"))
    capsys.readouterr()
    assert admin(book, "analyst", "list") == 0
    assert "revoked" not in capsys.readouterr().out


def test_an_allotment_that_does_not_fit_is_refused_and_nothing_is_taken(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = book.read_bytes()
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits", "--budget", "3") == 2
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits") == 2
    assert "budget" in capsys.readouterr().err
    assert admin(book, "analyst", "revoke", "bob", "--reason", "?") == 2
    assert "'bob'" in capsys.readouterr().err
    assert book.read_bytes() == before


def test_budgets_are_changed_on_record(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits", "--budget", "0.5") == 0
    changed = ["budget", "change", "--budget", "0.75", "--reason", "approved"]
    assert admin(book, *changed, "--analyst", "ann") == 0
    assert re.search("ann: ε = 0.5 .* ε = 0.75 ", capsys.readouterr().out)
    assert admin(book, *changed, "--population", "patients") == 0
    assert admin(book, *changed, "--population", "strangers") == 2
    assert "patients" in capsys.readouterr().err
    assert admin(book, "budget", "change", "--budget", "0.1", "--reason", "less", "--population", "patients") == 2
    assert admin(book, "budget", "list") == 0
    assert "ε = 0.75" in capsys.readouterr().out
    with gt.ledger.open(book) as ledger:
        assert [entry.content["reason"] for entry in ledger.history() if entry.kind == "budget"] == ["approved"] * 2
        ledger.verify()


def test_a_change_says_what_it_takes_from_the_people_and_what_it_leaves_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "late.ledger"
    with gt.ledger.open(book) as ledger:
        ledger.population("patients", budget=gt.ApproxDP(3, "1e-6"), unit="person_id")
        ledger.dataset("visits", population="patients")
        ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1))
        ledger.reserve(Charge(gt.accounting.events.Pure("0.5"), dataset="visits"))
    assert admin(book, "budget", "change", "--analyst", "ann", "--budget", "1.2", "--reason", "more") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search("patients: 40 %.* ε ≤ 1.5 .* ε ≤ 0.3 ", told)
    assert admin(book, "budget", "change", "--population", "patients", "--budget", "4,1e-6", "--reason", "more") == 0
    assert "%" not in capsys.readouterr().out


def test_an_analyst_with_several_budgets_is_not_guessed(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for dataset in ("visits", "letters"):
        assert admin(book, "analyst", "add", "ann", "--dataset", dataset, "--budget", "0.5") == 0
    change = ["budget", "change", "--budget", "1", "--reason", "more"]
    assert admin(book, *change, "--analyst", "ann") == 2
    refused = capsys.readouterr().err
    assert "2 budgets" in refused
    assert "dataset" in refused
    assert admin(book, *change, "--analyst", "ann", "--dataset", "letters") == 0
    assert re.search("ann: ε = 0.5 .* ε = 1 ", capsys.readouterr().out)
    with gt.ledger.open(book) as ledger:
        (letters,) = ledger.levels(analyst="ann", dataset="letters")
        assert str(letters.budget).startswith("ε = 1 ")
    assert admin(book, *change, "--analyst", "ann", "--dataset", "diaries") == 2
    assert "letters, visits" in capsys.readouterr().err


def test_a_change_names_one_budget(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = book.read_bytes()
    change = ["budget", "change", "--budget", "1", "--reason", "more"]
    for named in ([], ["--population", "patients", "--dataset", "visits"]):
        assert admin(book, *change, *named) == 2
        told = capsys.readouterr().err
        assert all(name in told for name in ("population", "dataset", "analyst"))
    assert book.read_bytes() == before


def test_analysts_are_listed_with_the_data_sets_that_each_budget_is_for(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert admin(book, "analyst", "add", "ann", "--dataset", "letters", "--budget", "0.5") == 0
    assert admin(book, "analyst", "add", "bob", "--dataset", "visits", "--dataset", "letters", "--budget", "0.5") == 0
    capsys.readouterr()
    assert admin(book, "analyst", "list") == 0
    heading, ann, bob, *_ = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["level", "name", "may", "ask"]
    assert ann.split()[:3] == ["analyst", "ann", "letters"]
    assert bob.split()[:4] == ["analyst", "bob", "letters,", "visits"]


def test_data_sets_are_listed_with_what_is_declared(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "dataset", "list") == 0
    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split() == ["data", "set", "population", "version", "declared"]
    assert first.split() == ["visits", "patients", "1", "cost"]
    assert second.split() == ["letters", "patients", "1", "nothing", "yet"]


def test_a_token_is_issued_shown_once_listed_and_revoked(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "token", "list") == 0
    assert "got_" not in capsys.readouterr().out
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits", "--budget", "0.5") == 0
    capsys.readouterr()
    assert admin(book, "token", "issue", "--analyst", "ann", "--expires", "2099-01-31", "--by", "olga") == 0
    issued = capsys.readouterr()
    text = issued.out.removesuffix("\n")
    assert text.startswith("got_")
    assert len(text.split()) == 1  # so that TOKEN=$(…) holds the token alone
    assert "2099-01-31 23:59 UTC" in issued.err
    with gt.ledger.open(book) as ledger:
        found = ledger.authenticate(text)
        assert found is not None
        assert (found.role, found.analyst) == ("analyst", "ann")
    assert admin(book, "token", "list") == 0
    shown = capsys.readouterr().out
    assert text not in shown
    assert shown.splitlines()[1].split() == [
        found.token,
        "analyst",
        "ann",
        "2099-01-31",
        "23:59",
        "UTC",
        "valid",
        "olga",
    ]
    assert admin(book, "token", "revoke", found.token, "--reason", "lost") == 0
    assert admin(book, "token", "revoke", "0" * 16, "--reason", "lost") == 2
    with gt.ledger.open(book) as ledger:
        assert ledger.authenticate(text) is None
    assert admin(book, "token", "issue", "--analyst", "nobody") == 2
    assert admin(book, "token", "issue", "--expires", "yesterday") == 2
    assert admin(book, "token", "issue") == 0
    capsys.readouterr()
    assert admin(book, "token", "list") == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]] == ["analyst", "custodian"]


def test_a_large_spend_is_shown_with_what_it_asks_and_decided(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    event = gt.accounting.events.Pure("0.25")
    asked: Any = {
        "name": "q",
        "description": "count rows in visits",
        "record": {"parts": [{"sql": f"SELECT {EVIL}"}]},
    }
    with gt.ledger.open(book) as ledger:
        ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1), approval_above=gt.PureDP("0.1"))
        with pytest.raises(ApprovalRequired) as waits:
            ledger.reserve(Charge(event, dataset="visits", analyst="ann", **asked))
    request = str(waits.value.request)
    assert admin(book, "approval", "list") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{request}  waiting: ann asks visits, ε = 0.25\n  SELECT eve")
    assert "\x1b" not in shown
    assert admin(book, "approval", "deny", request, "--reason", "too fine", "--by", "olga") == 0
    with gt.ledger.open(book) as ledger, pytest.raises(ApprovalDenied, match="too fine"):
        ledger.reserve(Charge(event, dataset="visits", analyst="ann", **asked))
    capsys.readouterr()
    assert admin(book, "approval", "list") == 0
    assert "too fine, by olga" in capsys.readouterr().out
    assert admin(book, "approval", "approve", request, "--reason", "after all", "--expires", "2099-01-31") == 0
    with gt.ledger.open(book) as ledger:
        assert ledger.reserve(Charge(event, dataset="visits", analyst="ann", **asked)).fresh
    assert admin(book, "approval", "approve", "7", "--reason", "?") == 2
    assert "no request 7 waits" in capsys.readouterr().err


def test_who_decides_is_kept_and_is_the_login_unless_stated(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "olga")
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits", "--budget", "0.5") == 0
    assert admin(book, "analyst", "revoke", "ann", "--reason", "left", "--by", "paul") == 0
    with gt.ledger.open(book) as ledger:
        assert [entry.content.get("by") for entry in ledger.history()][-2:] == ["olga", "paul"]


def test_names_are_shown_without_what_is_hidden_in_them(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "analyst", "add", EVIL, "--dataset", "visits", "--budget", "0.5") == 2
    assert "\x1b" not in capsys.readouterr().err
    assert admin(book, "analyst", "add", "[red]ann", "--dataset", "visits", "--budget", "0.5") == 0
    assert "[red]ann" in capsys.readouterr().out


def test_a_ledger_that_is_not_there_is_not_begun(tmp_path: Path) -> None:
    subjects = ("analyst", "budget", "dataset", "token", "approval")
    for words in (*([subject, "list"] for subject in subjects), ["failures", "show"]):
        assert admin(tmp_path / "absent.ledger", *words) == 2
    assert not (tmp_path / "absent.ledger").exists()


def test_a_ledger_that_is_not_there_is_named_as_one_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meant = tmp_path / "spend.csv.ledger"
    meant.touch()
    for command in (["ledger", "show", "spend.ledger"], ["admin", "analyst", "list", "--ledger", "spend.ledger"]):
        command[-1] = str(tmp_path / command[-1])
        assert cli.main(command) == 2
        assert str(meant) in "".join(capsys.readouterr().err.split("\n"))
