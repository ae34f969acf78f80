"""Processes that are killed and clients that race, on both backends; `giveortake bench kills` has more of both."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import dying_writers
import pytest
from ledger_places import FilePlace, Place, place

import race_for_the_last_unit
import writer_kills
from forked import exit_code
from giveortake.ledger import Charge
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace
from kill_findings import Found
from tiers import tiered
from writer_kills import AFFORDED, BEGINNING, CHECKPOINT, TRIED, WRITERS

KILLS = tiered(15, 1000)  # four while a ledger begins, and then one at each step and one at any moment, over and over
ROUNDS = tiered(10, 200)  # of which a check before the turn loses nearly all


def test_killed_writers_leave_every_release_charged_once_within_the_cap_and_the_chain_whole(
    place: Place, tmp_path: Path
) -> None:
    """Each writer dies where it is to, and whoever comes after asks the rest: of twenty questions fifteen fit."""
    where, logs = place.where.partition("&schema")[0], tmp_path / "logs"
    command = [sys.executable, writer_kills.__file__, where, str(logs), "--kills", str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["kills"] == KILLS
    steps = {"begun", "written", "committed", "mark moved", "marked", "any moment", *CHECKPOINT}
    assert steps | ({"mark written"} if isinstance(place, FilePlace) else set()) <= set(found["by kind"])
    populations = found["populations"]
    assert populations == found["used up"] > 0
    assert found["charges"] == found["releases"] == AFFORDED * populations
    assert found["refused"] == (WRITERS * TRIED - AFFORDED) * populations


def test_the_check_after_the_kills_finds_what_is_wrong(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        ledger.population("people-0", budget=PureDP("0.3"), analysts="pooled")
        ledger.dataset("data-0", population="people-0")
        ledger.analyst("writer-0", datasets=["data-0"])
        paid = ledger.reserve(Charge(Laplace(100), dataset="data-0", analyst="writer-0", key="question-0"))
        ledger.settle(paid, {"noise": "1"})
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "writer-0.jsonl"
    line = {"number": 0, "analyst": "writer-0", "key": "question-0", "answer": {"noise": "1"}}
    for wrong, expected in (({}, []), ({"answer": {"noise": "2"}}, ["released"]), ({"key": "q"}, ["released"])):
        log.write_text(json.dumps(line | wrong) + "\n")
        found = Found()
        writer_kills.check(place.where, tmp_path / "logs", found)
        assert [problem.split()[0] for problem in found.problems] == expected


def test_of_thirty_two_clients_exactly_one_gets_the_last_unit(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, race_for_the_last_unit.__file__, place.where, str(ROUNDS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    found = json.loads(done.stdout)
    assert found["wins"] == [1] * ROUNDS
    assert found["left"] == ["0"] * ROUNDS
    assert found["codes"] == [0] * 8
    assert found["reservations"] == 3 * ROUNDS


@pytest.mark.parametrize("label", [*BEGINNING, "mark moved"])
def test_a_ledger_that_was_killed_while_it_began_begins_again(place: Place, label: str) -> None:
    if label == "mark begun" and not isinstance(place, FilePlace):
        label = "tables created"  # a mark in PostgreSQL begins in one transaction, without steps
    assert exit_code(dying_writers.open_until, place.where, label) == -signal.SIGKILL
    with place.open() as ledger:
        assert ledger.population("people", budget=PureDP(1)).spent == 0
        assert ledger.verify().entries == 2
