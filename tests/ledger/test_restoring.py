"""A ledger that lost something is refused, and restored as its custodian says."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ledger_places import TENTH, FilePlace, Place, begin, begun, charge, forget_a_charge, place

from giveortake.errors import (
    ApprovalRequired,
    BudgetExceeded,
    GiveOrTakeError,
    IdempotencyConflict,
    InvalidParameter,
    LedgerDamaged,
    LedgerError,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerRolledBack,
    LedgerTooNew,
    LedgerUnavailable,
    NotFound,
    PopulationClosed,
    SameTable,
)
from giveortake.ledger import Charge, Ledger, restore
from giveortake.ledger.chain.entries import canonical, digest
from giveortake.ledger.chain.postgres import PostgresStore, split
from giveortake.ledger.chain.state import ENTRY_TYPES
from giveortake.ledger.opening import rehearsal
from giveortake.privacy import PureDP, unit
from giveortake.privacy.events import Laplace, Pure


def left(ledger: Ledger) -> Fraction:
    remaining = ledger.population("people").remaining
    assert isinstance(remaining, Fraction)
    return remaining


def test_an_old_backup_is_refused(place: Place) -> None:
    forget_a_charge(place)
    for options in ({}, {"read_only": True}):
        with pytest.raises(LedgerRolledBack, match="entry 7"):
            place.open(**options)


def test_an_old_backup_that_grew_again_is_refused(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        backup, mark = place.backup(), ledger.verify()
        charge(ledger, "k1")
        later = place.backup()
    place.put_back(backup)
    restore(place.where, reason="to write a second history")
    with place.open() as ledger:
        ledger.change_budget(ledger.population("people"), PureDP(1), reason="opened again")
        charge(ledger, "another history")
    place.put_back(later)
    with pytest.raises(LedgerRolledBack):
        place.open()
    assert mark.entries == 5


def test_a_backup_put_back_under_an_open_ledger_is_refused(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        backup = place.backup()
        charge(ledger, "k1")
        place.put_back(backup)
        with pytest.raises(LedgerRolledBack):
            charge(ledger, "k2")


def test_a_deleted_ledger_is_not_created_again(place: Place) -> None:
    begun(place)
    place.delete()
    for options in ({}, {"read_only": True}, {"create": False}):
        with pytest.raises(LedgerMissing, match="remembers 5 entries"):
            place.open(**options)
    with pytest.raises(LedgerMissing):
        restore(place.where, reason="there is nothing to restore")


def test_a_ledger_deleted_while_it_is_open_is_missed(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        place.delete()
        with pytest.raises(LedgerMissing):
            charge(ledger, "k1")


def test_a_ledger_without_its_mark_is_refused(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        place.lose_mark()
        with pytest.raises(LedgerMissing, match="mark"):
            charge(ledger, "k1")
    with pytest.raises(LedgerForeign, match="no mark"):
        place.open()


def test_a_ledger_ahead_of_its_mark_is_repaired(place: Place) -> None:
    def stop(label: str) -> None:
        if label == "committed":
            raise KeyboardInterrupt

    begun(place)
    with place.open(at=stop) as ledger, pytest.raises(KeyboardInterrupt):
        ledger.reserve(Charge(TENTH, dataset="d", key="k1"))
    with pytest.raises(LedgerUnavailable, match="mark"):
        place.open(read_only=True)
    with place.open() as ledger:
        found = ledger.reserve(Charge(TENTH, dataset="d", key="k1"))
        assert (found.fresh, found.settled, left(ledger)) == (False, False, Fraction(8, 10))
        backup = place.backup()
        charge(ledger, "k2")
    place.put_back(backup)
    with pytest.raises(LedgerRolledBack):
        place.open()


@pytest.mark.parametrize("label", ["begun", "written"])
def test_what_stops_before_the_commit_has_not_happened(place: Place, label: str) -> None:
    armed = [False]

    def stop(reached: str) -> None:
        if armed[0] and reached == label:
            armed[0] = False
            raise KeyboardInterrupt

    with place.open(at=stop) as ledger:
        begin(ledger)
        armed[0] = True
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(Charge(TENTH, dataset="d", key="k1"))
        assert left(ledger) == Fraction(9, 10)
        assert ledger.reserve(Charge(TENTH, dataset="d", key="k1")).fresh
        ledger.verify()


def forged(body: str, **changes: Any) -> tuple[str, str]:
    text = canonical(json.loads(body) | changes)
    return text, digest(text)


TAMPERED = [
    "UPDATE entries SET body = replace(body, '10/1', '99/1') WHERE number = 4",
    "UPDATE entries SET hash = '0' WHERE number = 4",
    "UPDATE entries SET number = 99 WHERE number = 4",
    "DELETE FROM entries WHERE number = 4",
    "DELETE FROM entries WHERE number = 5",
    "DELETE FROM entries",
    'UPDATE snapshots SET snapshot = replace(snapshot, \'"spent":"1/10"\', \'"spent":"0/1"\')',
    "DELETE FROM snapshots",
    "UPDATE about SET value = 'x'",
    "DELETE FROM about",
]


def test_what_is_changed_behind_its_back_is_noticed(place: Place) -> None:
    begun(place)
    whole = place.backup()
    for statement in TAMPERED:
        place.sql(statement)
        with pytest.raises(LedgerError) as found, place.open() as ledger:
            left(ledger)
        assert isinstance(found.value, LedgerDamaged | LedgerRolledBack | LedgerForeign), statement
        place.put_back(whole)
        place.open().close()


def test_a_whole_chain_forged_with_good_hashes_is_noticed_by_the_mark_and_by_verify(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        history = ledger.history()
    previous, content = history[2].hash, json.loads(history[3].body)["content"]
    content["event"]["noise_multiplier"] = "1000/1"
    fourth = forged(history[3].body, content=content)
    fifth = forged(history[4].body, previous=fourth[1])
    place.sql("UPDATE entries SET body = ?, hash = ? WHERE number = 4", *fourth)
    place.sql("UPDATE entries SET body = ?, hash = ? WHERE number = 5", *fifth)
    assert previous == history[3].previous
    with pytest.raises(LedgerRolledBack, match="another history"):
        place.open()
    restore(place.where, reason="as if the mark agreed")
    with place.open() as ledger, pytest.raises(LedgerDamaged, match="entry 4 misstates"):
        ledger.verify()


def test_the_database_itself_refuses_to_change_entries(place: Place) -> None:
    begun(place)
    for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
        with pytest.raises((sqlite3.IntegrityError, psycopg.Error), match="append-only"):
            run_plainly(place, statement)


def run_plainly(place: Place, statement: str) -> None:
    if isinstance(place, FilePlace):
        with closing(sqlite3.connect(place.path)) as connection:
            connection.execute(statement)
    else:
        address, schema = split(place.where)
        with psycopg.connect(address) as session:
            session.execute(f"SET search_path = {schema}".encode())
            session.execute(statement.encode())


def test_a_read_only_ledger_changes_nothing(place: Place) -> None:
    with pytest.raises(NotFound):
        place.open(read_only=True)
    with pytest.raises(NotFound):
        place.open(create=False)
    begun(place)
    with place.open(read_only=True) as ledger:
        assert left(ledger) == Fraction(9, 10)
        ledger.verify()
        with pytest.raises(LedgerUnavailable, match="reading only"):
            ledger.population("others", budget=PureDP(1))
        with pytest.raises(LedgerUnavailable, match="reading only"):
            ledger.reserve(Charge(TENTH, dataset="d"))
    with pytest.raises(LedgerUnavailable, match="closed"):
        left(ledger)


def test_files_that_are_no_ledgers_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, other, empty = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "empty"
    text.write_text("not a ledger" * 100)
    empty.touch()
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    for path in (text, other, empty, tmp_path):
        before = path.read_bytes() if path.is_file() else None
        for options in ({}, {"read_only": True}):
            with pytest.raises(LedgerForeign):
                FilePlace.open(_at(path), **options)
        assert (path.read_bytes() if path.is_file() else None) == before
    with pytest.raises(LedgerUnavailable):
        FilePlace.open(_at(tmp_path / "nowhere" / "people.ledger"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "notes.txt", "other.db"]


def _at(path: Path) -> FilePlace:
    found = FilePlace(path.parent)
    found.path, found.where = path, str(path)
    return found


def test_a_file_that_was_switched_to_a_write_ahead_log_is_switched_back(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    begun(place)
    with closing(sqlite3.connect(place.path)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchall() == [("wal",)]
    with place.open() as ledger:
        charge(ledger, "k1")
    with closing(sqlite3.connect(place.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]


def test_a_restored_ledger_is_closed_until_the_owner_sets_a_budget(place: Place) -> None:
    forget_a_charge(place)
    restore(place.where, reason="the disk died; backup of Monday")
    with place.open() as ledger:
        acknowledged = ledger.history()[-1]
        assert acknowledged.kind == "restored"
        assert acknowledged.content["mark"]["number"] == 7
        assert ledger.reserve(Charge(TENTH, dataset="d", key="k0")).answer == "k0"
        with pytest.raises(PopulationClosed, match="restored"):
            ledger.reserve(Charge(TENTH, dataset="d", key="k1"))
        assert ledger.population("people").closed
        ledger.change_budget(ledger.population("people"), PureDP("0.5"), reason="half is written off")
        charge(ledger, "k1")
        assert left(ledger) == Fraction(3, 10)
        ledger.verify()


def test_a_ledger_that_has_forgotten_nothing_needs_no_restore(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        before = ledger.verify()
    with pytest.raises(LedgerMismatch):
        restore(place.where, reason="nothing happened")
    with place.open() as ledger:
        assert ledger.verify() == before


def test_a_restore_may_charge_what_was_lost_instead(place: Place) -> None:
    forget_a_charge(place)
    with pytest.raises(BudgetExceeded):
        restore(place.where, reason="more than there is", charge=Pure(1))
    with pytest.raises(LedgerRolledBack):
        place.open()
    restore(place.where, reason="at most 0.3 was lost", charge=Pure("0.3"))
    with place.open() as ledger:
        assert left(ledger) == Fraction(6, 10)
        charge(ledger, "k1")
        ledger.verify()


def test_a_lost_mark_can_be_acknowledged_too(place: Place) -> None:
    begun(place)
    place.lose_mark()
    restore(place.where, reason="moved to another machine", charge=Pure("1e-9"))
    with place.open() as ledger:
        charge(ledger, "k1")
        assert ledger.history()[5].content["mark"] is None
        ledger.verify()


def test_the_mark_may_be_kept_elsewhere(place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    place.mark = str(tmp_path / "elsewhere" / "people.mark")
    forget_a_charge(place)
    with pytest.raises(LedgerRolledBack):
        place.open()
    restore(place.where, mark=place.mark, reason="backup", charge=Pure("0.1"))
    with place.open() as ledger:
        ledger.verify()


@pytest.mark.parametrize(("lost", "kind"), [(0, "settled"), (2, "restored")])
def test_a_lost_ledger_is_written_anew_from_its_export(place: Place, lost: int, kind: str) -> None:
    with place.open() as ledger:
        begin(ledger)
        charge(ledger, "k1")
        export = [canonical({"entry": json.loads(entry.body), "hash": entry.hash}) for entry in ledger.history()]
        before = ledger.levels()
    with pytest.raises(LedgerMismatch, match="already"):
        restore(place.where, reason="it is still there", export=export)
    place.delete()
    for wrong in ([*export[:3], *export[4:]], [*export[:4], export[4].replace("k0", "k9")], ["{}"], ["[]"], ["x"]):
        with pytest.raises(LedgerDamaged):
            restore(place.where, reason="a bad export", export=wrong)
        with pytest.raises(LedgerError):
            place.open()
    restore(place.where, reason="written anew", export=export[: len(export) - lost])
    with place.open() as ledger:
        assert ledger.history()[-1].kind == kind
        assert ledger.reserve(Charge(TENTH, dataset="d", key="k0")).answer == "k0"
        ledger.verify()
        if not lost:
            assert ledger.levels() == before


def test_many_may_begin_the_same_ledger_at_once(place: Place) -> None:
    def begin_and_ask(_number: int) -> str:
        with place.open() as ledger:
            ledger.population("people", budget=PureDP(1))
            return ledger.verify().ledger

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(begin_and_ask, range(16)))) == 1
    with place.open() as ledger:
        assert ledger.verify().entries == 2


def test_a_file_can_have_its_mark_on_a_server(server: str, tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    place.mark = f"{server}&schema=for_a_file"
    forget_a_charge(place)
    with pytest.raises(LedgerRolledBack):
        place.open()


PURE_TENTH = Pure("0.1")


def test_an_answer_that_may_be_in_the_world_is_not_given_a_second_time(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("d", population="people")
        reserved = ledger.reserve(Charge(Pure("0.9"), dataset="d", key="k"))
        backup = place.backup()
        assert ledger.settle(reserved, 41) == 41
    place.put_back(backup)
    restore(place.where, reason="the disk died", charge=Pure("0.05"))
    with place.open() as ledger:
        with pytest.raises(LedgerMismatch, match="new charge"):
            ledger.reserve(Charge(Pure("0.9"), dataset="d", key="k"))
        with pytest.raises(LedgerMismatch):
            ledger.settle(reserved, 57)
        ledger.verify()


def test_every_level_with_a_budget_is_closed_also_those_that_come_back_later(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("d", population="people")
        ledger.analyst("ann", datasets=["d"], budget=PureDP("0.1"))
        backup = place.backup()
        ledger.reserve(Charge(PURE_TENTH, dataset="d", analyst="ann"))
        ledger.population("others", budget=PureDP("0.1"))
        ledger.dataset("e", population="others")
        ledger.reserve(Charge(PURE_TENTH, dataset="e"))
    place.put_back(backup)
    restore(place.where, reason="the disk died")
    with place.open() as ledger:
        ledger.change_budget(ledger.population("people"), PureDP(1), reason="all is known here")
        with pytest.raises(PopulationClosed, match="ann"):
            ledger.reserve(Charge(PURE_TENTH, dataset="d", analyst="ann"))
        ledger.population("others", budget=PureDP("0.1"))
        ledger.dataset("e", population="others")
        with pytest.raises(PopulationClosed, match="others"):
            ledger.reserve(Charge(PURE_TENTH, dataset="e"))
        ledger.change_budget(ledger.population("others"), PureDP("0.1"), reason="nothing was asked")
        ledger.reserve(Charge(PURE_TENTH, dataset="e"))
        ledger.verify()


def test_what_was_lost_is_charged_to_people_as_a_group_of_rows(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1, unit=unit("person")))
        ledger.dataset("d", population="people", unit=PureDP(1).unit, rows_per_person=5)
        backup = place.backup()
        ledger.reserve(Charge(PURE_TENTH, dataset="d"))
        assert ledger.population("people").spent == Fraction(1, 2)
    place.put_back(backup)
    restore(place.where, reason="the disk died", charge=PURE_TENTH)
    with place.open() as ledger:
        assert ledger.population("people").spent == Fraction(1, 2)
        ledger.verify()


def test_halves_of_characters_are_refused_because_they_would_merge(place: Place) -> None:
    halves = "\ud83d\ude00"
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("d", population="people")
        attempts: list[dict[str, Any]] = [
            {"key": halves},
            {"name": halves},
            {"name": {halves: 1}},
            {"name": [halves]},
        ]
        for attempt in attempts:
            with pytest.raises(InvalidParameter, match="half a character"):
                ledger.reserve(Charge(PURE_TENTH, dataset="d", **attempt))
        ledger.reserve(Charge(PURE_TENTH, dataset="d", key="\U0001f600"))
    with place.open() as ledger:
        assert ledger.population("people").spent == Fraction(1, 10)
        ledger.verify()


def test_a_key_stands_for_its_question_and_an_approval_for_its_question_and_version(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1), approval_above=PureDP("0.05"))
        ledger.dataset("d", population="people", version="1")
        small = Pure("0.01")
        ledger.settle(ledger.reserve(Charge(small, dataset="d", key="small", name="one")), 1)
        with pytest.raises(IdempotencyConflict):
            ledger.reserve(Charge(small, dataset="d", key="small", name="another"))
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(PURE_TENTH, dataset="d", key="k", name="harmless"))
        (asked,) = ledger.waiting()
        ledger.approve(asked, reason="harmless indeed")
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(PURE_TENTH, dataset="d", key="k", name="victim"))
        ledger.new_version("d", version="2")
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(PURE_TENTH, dataset="d", key="k", name="harmless"))


@pytest.fixture
def folder(tmp_path: Path) -> FilePlace:
    found = FilePlace(tmp_path)
    with found.open() as ledger:
        ledger.population("people", budget=PureDP(1), unit="p")
        ledger.dataset("visits", population="people", fingerprint="f" * 64, domains={"visits": {}})
        ledger.settle(ledger.reserve(Charge(Pure("0.6"), dataset="visits", name="q")), [41])
    return found


def test_a_rehearsal_knows_what_the_ledger_knows_and_changes_nothing(folder: FilePlace) -> None:
    before = Path(folder.where).read_bytes()
    with rehearsal(folder.where, mark=folder.mark) as copy:
        assert copy.population("people").spent == PureDP("0.6").epsilon
        assert copy.domains("visits") == {"visits": {}}
        with pytest.raises(SameTable):  # fingerprints are keyed with the same secret
            copy.dataset("letters", population="people", fingerprint="f" * 64)
        copy.dataset("letters", population="people")
        assert copy.domains("letters") is None
        with pytest.raises(BudgetExceeded):
            copy.reserve(Charge(Pure("0.5"), dataset="letters"))
        copy.reserve(Charge(Pure("0.4"), dataset="letters"))
        assert copy.population("people").remaining == 0
        copy.verify()
    assert Path(folder.where).read_bytes() == before
    with folder.open() as ledger:
        assert ledger.population("people").spent == PureDP("0.6").epsilon
        assert [level.name for level in ledger.levels()] == ["people", "visits"]
        ledger.verify()


def test_there_is_no_rehearsal_of_what_is_no_ledger_in_a_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        rehearsal(tmp_path / "none.ledger")
    assert not list(tmp_path.iterdir())
    (tmp_path / "text.ledger").write_text("no ledger")
    with pytest.raises(GiveOrTakeError):
        rehearsal(tmp_path / "text.ledger")
    with pytest.raises(NotFound):
        rehearsal(":memory:")
