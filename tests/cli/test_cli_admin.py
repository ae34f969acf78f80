"""`giveortake admin`: analysts, budgets, data sets and failures."""

from __future__ import annotations

from pathlib import Path

import pytest

import giveortake as gt
from giveortake import cli
from giveortake.errors import AccessDenied

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
    assert "no analyst is in the ledger" in capsys.readouterr().out
    added = ["analyst", "add", "ann", "--dataset", "visits", "--dataset", "letters", "--budget", "0.5"]
    assert admin(book, *added, "--questions", "9") == 0
    assert capsys.readouterr().out == "ann may ask visits, letters, up to ε = 0.5\n"
    event = gt.accounting.events.Pure("0.1")
    with gt.ledger.open(book) as ledger:
        ledger.reserve(event, dataset="letters", analyst="ann")
    assert admin(book, "analyst", "revoke", "ann", "--reason", "left the house") == 0
    with gt.ledger.open(book) as ledger, pytest.raises(AccessDenied):
        ledger.reserve(event, dataset="letters", analyst="ann")
    capsys.readouterr()
    assert admin(book, "analyst", "list") == 0
    shown = capsys.readouterr().out
    assert "20 %" in shown
    assert "revoked: ann" in shown
    assert admin(book, "analyst", "readmit", "ann", "--reason", "came back") == 0
    with gt.ledger.open(book) as ledger:
        ledger.reserve(event, dataset="letters", analyst="ann")
    capsys.readouterr()
    assert admin(book, "analyst", "list") == 0
    assert "revoked" not in capsys.readouterr().out


def test_an_allotment_that_does_not_fit_is_refused_and_nothing_is_taken(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = book.read_bytes()
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits", "--budget", "3") == 2
    assert "cannot grant that" in capsys.readouterr().err
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits") == 2
    assert "budget" in capsys.readouterr().err
    assert admin(book, "analyst", "revoke", "bob", "--reason", "?") == 2
    assert "the ledger has no analyst 'bob'" in capsys.readouterr().err
    assert book.read_bytes() == before


def test_budgets_are_changed_on_record(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "analyst", "add", "ann", "--dataset", "visits", "--budget", "0.5") == 0
    changed = ["budget", "change", "--budget", "0.75", "--reason", "approved"]
    assert admin(book, *changed, "--analyst", "ann") == 0
    assert "analyst ann: ε = 0.5 before, ε = 0.75 from now on" in capsys.readouterr().out
    assert admin(book, *changed, "--population", "patients") == 0
    assert admin(book, *changed, "--population", "strangers") == 2
    assert "there are: patients" in capsys.readouterr().err
    assert admin(book, "budget", "change", "--budget", "0.1", "--reason", "less", "--population", "patients") == 2
    assert admin(book, "budget", "list") == 0
    assert "ε = 0.75" in capsys.readouterr().out
    with gt.ledger.open(book) as ledger:
        assert [entry.content["reason"] for entry in ledger.history() if entry.kind == "budget"] == ["approved"] * 2
        ledger.verify()


def test_an_analyst_with_several_budgets_is_not_guessed(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for dataset in ("visits", "letters"):
        assert admin(book, "analyst", "add", "ann", "--dataset", dataset, "--budget", "0.5") == 0
    assert admin(book, "budget", "change", "--analyst", "ann", "--budget", "1", "--reason", "more") == 2
    assert "2 budgets" in capsys.readouterr().err


def test_data_sets_are_listed_with_what_is_declared(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "dataset", "list") == 0
    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split() == ["data", "set", "population", "version", "declared"]
    assert first.split() == ["visits", "patients", "1", "cost"]
    assert second.split() == ["letters", "patients", "1", "nothing", "yet"]


def test_names_are_shown_without_what_is_hidden_in_them(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert admin(book, "analyst", "add", EVIL, "--dataset", "visits", "--budget", "0.5") == 2
    assert "\x1b" not in capsys.readouterr().err
    assert admin(book, "analyst", "add", "[red]ann", "--dataset", "visits", "--budget", "0.5") == 0
    assert "[red]ann may ask" in capsys.readouterr().out


def test_a_ledger_that_is_not_there_is_not_begun(tmp_path: Path) -> None:
    for words in (["analyst", "list"], ["budget", "list"], ["dataset", "list"], ["failures", "show"]):
        assert admin(tmp_path / "absent.ledger", *words) == 2
    assert not (tmp_path / "absent.ledger").exists()
