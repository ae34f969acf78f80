"""What commands tell in sentences that somebody's budget or somebody's safety depends on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from trips import COUNT, PROTECTED, TOML, WHOM, folder, query

from giveortake import cli
from giveortake.engines.duckdb.engine import DuckDBEngine

TOTAL = "SELECT COUNT(*) AS n FROM trips"


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """What was written since the last look, without line breaks."""
    return " ".join("".join(capsys.readouterr()).split())


def test_what_is_used_and_left_is_told_with_answers_and_refusals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert query(COUNT, "--epsilon", "0.4") == 0
    assert "40 % of the budget is used, with room for about 1 more like this one; kept in trips.csv.ledger" in told(
        capsys
    )
    assert query(COUNT, "--epsilon", "0.4") == 0
    assert told(capsys).count("asked before") == 1
    assert query(TOTAL, "--epsilon", "0.7") == 2
    assert "ε of up to 0.6 would fit" in told(capsys)
    assert query(TOTAL, "--epsilon", "0.6") == 0
    assert "100 % of the budget is used, with room for no more like this one" in told(capsys)
    assert query("SELECT SUM(amount) AS s FROM trips", "--epsilon", "0.1") == 2
    assert "nothing is left; the custodian can raise the budget" in told(capsys)


def test_a_ledger_in_memory_is_said_to_forget(capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.9", "--ledger", ":memory:") == 0
    assert "kept nowhere: the ledger was in memory" in told(capsys)
    assert query(COUNT, "--epsilon", "0.9", "--ledger", ":memory:", "--output", "/dev/full") == 2
    assert "the answer is lost" in told(capsys)


def test_what_is_charged_and_not_shown_is_said_to_be_free_when_it_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as busy:
            busy.setattr(DuckDBEngine, "_tally", lambda *_: os.kill(os.getpid(), signal.SIGINT))
            assert query(TOTAL, "--epsilon", "0.1") == 130
    finally:
        signal.signal(signal.SIGINT, before)
    message = told(capsys)
    assert "interrupted: the question was charged, ε = 0.1 (entry 4 of trips.csv.ledger)" in message
    assert "asking the same again is free" in message
    assert query(COUNT, "--epsilon", "0.1", "--output", "/dev/full") == 2
    assert "the answer is in the ledger: ask the same again, for free" in told(capsys)


def test_a_budget_that_protects_hardly_anybody_is_warned_of_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, budget, warning in (
        ("a", "400", "warning: ε = 400 is so large"),
        ("b", "1,0.5", "warning: δ = 0.5 allows all about a person"),
    ):
        (folder / f"{name}.csv").write_text("user_id\n1\n")
        asked = ["query", f"{name}.csv", f"SELECT COUNT(*) FROM {name}", "--unit", "user_id", "--budget", budget]
        for is_first in (True, False):
            assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "1"]) == 0
            assert (warning in told(capsys)) == is_first
    (folder / "giveortake.toml").write_text(TOML.replace('"1e-8"', '"0.5"'))
    assert cli.main(["doctor", "giveortake.toml"]) == 0
    assert "δ = 0.5 allows all" in told(capsys)


def test_what_was_said_before_can_be_pasted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tours.csv").write_text("user_id\n1\n")
    assert query(COUNT, "--epsilon", "0.1", "--ledger", "all.ledger") == 0
    tours = ["query", "tours.csv", "SELECT COUNT(*) FROM tours", "--unit", "user_id", "--budget", "1"]
    capsys.readouterr()
    assert cli.main([*tours, "--ledger", "all.ledger", "--epsilon", "0.1", "--rows-per-person", "1"]) == 2
    message = told(capsys)
    assert '--population "people of trips" says that it is' in message
    assert '--new-population "people of tours" is your word' in message


def test_a_restored_ledger_says_what_it_takes_from_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy of a ledger is refused, and whoever brings it back on purpose is told that its people are closed."""
    assert query(COUNT, "--epsilon", "0.1") == 0
    copy = (folder / "trips.csv.ledger").read_bytes()
    assert query(TOTAL, "--epsilon", "0.1") == 0
    (folder / "trips.csv.ledger").write_bytes(copy)
    capsys.readouterr()
    assert cli.main(["ledger", "verify", "trips.csv.ledger"]) == 2
    assert "`giveortake ledger restore --help`" in told(capsys)
    assert cli.main(["ledger", "restore", "trips.csv.ledger", "--reason", "the disk died"]) == 0
    assert "closed until" in told(capsys)
    assert cli.main(["query", "trips.csv", TOTAL, "--epsilon", "0.1", *PROTECTED]) == 2
    assert "restored" in told(capsys)
    assert cli.main(["publish", "trips.csv", "--list", *WHOM]) == 0
