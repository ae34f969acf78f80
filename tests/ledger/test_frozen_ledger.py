"""A ledger that 0.1.0 wrote opens, verifies and replays for free, in this version and in every later one."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import frozen_ledger as frozen
import pytest

import giveortake as gt
from giveortake.errors import AccessDenied, ApprovalRequired, IdempotencyConflict, LedgerMismatch, PopulationClosed
from giveortake.ledger.kinds import KINDS
from giveortake.privacy import events

EXPECTED: dict[str, Any] = json.loads((frozen.FROZEN / "expected.json").read_text(encoding="utf-8"))
UPGRADE = {"moved", "rekeyed"}  # the entries that an upgrade writes
CLOSE = 1e-12  # relative: margins are doubles, whose last digit may differ between machines


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the frozen ledger, with the engine's version of then: it names the partitions of a table."""
    engine, _, version = EXPECTED["made with"]["engine"].partition(" ")
    assert engine == "duckdb"
    monkeypatch.setattr(duckdb, "__version__", version)
    monkeypatch.setenv("GIVEORTAKE_STATE", str(tmp_path / "state"))  # every copy is the first that was ever seen
    shutil.copytree(frozen.FROZEN, tmp_path / "frozen")
    for path in (tmp_path / "frozen").rglob("*"):  # a checkout may let others write, and a ledger may not
        path.chmod(0o700 if path.is_dir() else 0o600)
    return tmp_path / "frozen"


@pytest.fixture
def ledger(folder: Path) -> Iterator[gt.ledger.Ledger]:
    with gt.ledger.open(folder / "people.ledger") as found:
        yield found


@pytest.fixture
def free(ledger: gt.ledger.Ledger) -> Iterator[None]:
    """Whatever happens in the test, the ledger ends as it was: nothing but the upgrade is written, no level moved."""
    yield
    history = ledger.history()
    assert history[EXPECTED["ledger"]["entries"] - 1].hash == EXPECTED["ledger"]["head"]
    assert {entry.kind for entry in history[EXPECTED["ledger"]["entries"] :]} <= UPGRADE
    assert frozen.standings(ledger) == EXPECTED["levels"]


def assert_same(found: Any, expected: Any) -> None:
    """Texts, whole numbers and exact ones to the letter; doubles to the last digits."""
    if isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=CLOSE)
    elif isinstance(expected, dict):
        assert set(found) == set(expected)
        for name, each in expected.items():
            assert_same(found[name], each)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert found == expected


def test_every_entry_verifies_and_every_level_stands_where_it_stood(ledger: gt.ledger.Ledger) -> None:
    found = ledger.verify()
    assert (found.ledger, found.entries) == (EXPECTED["ledger"]["id"], EXPECTED["ledger"]["entries"] + 1)
    assert [entry.hash for entry in ledger.history()][-2] == EXPECTED["ledger"]["head"]
    assert ledger.history()[-1].kind == "moved"
    assert frozen.standings(ledger) == EXPECTED["levels"]
    shares = {number: steps[-1] for number, steps in ledger.burn_down().items()}
    assert frozen.plain(shares) == EXPECTED["shares"]
    assert ledger.waiting() == EXPECTED["waiting"]
    assert [name for name, _ in ledger.versions("visits")] == EXPECTED["versions"]
    assert {entry.kind for entry in ledger.history()[:-1]} == set(EXPECTED["kinds"]) <= set(KINDS)


@pytest.mark.usefixtures("free")
def test_every_question_is_answered_again_with_the_same_numbers_for_nothing(folder: Path) -> None:
    with frozen.visits(folder) as s:
        assert_same(frozen.asked_of_visits(s), EXPECTED["visits"])
        assert_same(frozen.asked_of_version_1(s), EXPECTED["version 1"])
        assert_same(frozen.streamed(s), EXPECTED["stream"])
    with frozen.visits_and_homes(folder) as s:
        assert_same(frozen.asked_of_both(s), EXPECTED["both"])
    for neighbours in ("add-remove", "change-one"):  # parts of rows
        with frozen.ratings(folder, neighbours=neighbours) as s:
            assert_same(frozen.asked_of_ratings(s), EXPECTED[f"ratings, {neighbours}"])


@pytest.mark.usefixtures("free")
def test_an_analyst_is_answered_again_and_waits_where_they_waited(folder: Path) -> None:
    with frozen.visits(folder, analyst="ann") as s:
        large = s.sql("SELECT SUM(age) AS ages FROM visits")
        found = {**frozen.asked_as_analyst(s), "approved": frozen.told(large.answer(epsilon=1, key="large"))}
        assert_same(found, EXPECTED["ann"])
        with pytest.raises(ApprovalRequired) as waiting:
            large.answer(epsilon="1.5")
        assert waiting.value.request == EXPECTED["request"]
    with frozen.visits(folder, analyst="bob") as s, pytest.raises(AccessDenied, match="revoked"):
        s.sql(frozen.COUNT).answer(epsilon="0.125")


@pytest.mark.usefixtures("free")
def test_a_direct_charge_is_found_by_its_key_with_its_answer(ledger: gt.ledger.Ledger) -> None:
    for each in EXPECTED["charges"]:
        event = events.event_from_json(json.dumps(each["event"]))
        said = {name: each[name] for name in ("dataset", "key", "request")}
        held = ledger.reserve(event, **said)
        assert (held.number, held.answer, held.charged, held.fresh) == (each["entry"], each["answer"], (), False)
        with pytest.raises(IdempotencyConflict):
            ledger.reserve(event, **{**said, "request": "another one"})
    for number, key in zip(EXPECTED["asked twice"], ("asked first", "asked second"), strict=True):
        asked: dict[str, Any] = {"question": "how many", "request": {"sql": "SELECT 1"}, "key": key}
        held = ledger.reserve(events.Laplace(16), dataset="persons of pure people", **asked)
        assert (held.number, held.answer) == (number, {"n": 7})


def test_a_reservation_of_then_is_settled_now_without_a_charge(ledger: gt.ledger.Ledger) -> None:
    held = ledger.reserve(events.Pure("0.5"), dataset="persons of pure people", key="never settled")
    assert (held.number, held.charged, held.settled) == (EXPECTED["unsettled"], (), False)
    assert ledger.settle(held, {"n": 1}) == {"n": 1}
    assert frozen.standings(ledger) == EXPECTED["levels"]
    ledger.verify()
    with pytest.raises(LedgerMismatch):  # what was lost stays lost, and what was closed stays closed
        ledger.reserve(events.Pure("0.1"), dataset="carried on", key="lost")
    with pytest.raises(PopulationClosed):
        ledger.reserve(events.Pure("0.1"), dataset="left behind")
    assert ledger.reserve(events.Pure("0.1"), dataset="carried on", key="before the loss").answer == {"n": 41}
