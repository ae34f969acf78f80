"""What a ledger remembers and what it refuses to believe, on both backends."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ledger_places import FilePlace, Place, place

from giveortake.errors import (
    LedgerDamaged,
    LedgerError,
    LedgerForeign,
    LedgerMissing,
    LedgerRolledBack,
    LedgerTooNew,
    LedgerUnavailable,
    NotFound,
)
from giveortake.ledger import Charge, Ledger, restore
from giveortake.ledger.chain.entries import canonical, digest
from giveortake.ledger.chain.postgres import PostgresStore, split
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

TENTH = Laplace(10)


def begin(ledger: Ledger) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")
    charge(ledger, "k0")


def charge(ledger: Ledger, key: str) -> Any:
    return ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key=key)), key)


def left(ledger: Ledger) -> Fraction:
    remaining = ledger.population("people").remaining
    assert isinstance(remaining, Fraction)
    return remaining


def test_an_old_backup_is_refused(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        backup = place.backup()
        charge(ledger, "k1")
    place.put_back(backup)
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
    with place.open() as ledger:
        begin(ledger)
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

    with place.open() as ledger:
        begin(ledger)
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
    with place.open() as ledger:
        begin(ledger)
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
    with place.open() as ledger:
        begin(ledger)
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
    with place.open() as ledger:
        begin(ledger)
    with place.open(read_only=True) as ledger:
        assert left(ledger) == Fraction(9, 10)
        ledger.verify()
        with pytest.raises(LedgerUnavailable, match="reading only"):
            ledger.population("others", budget=PureDP(1))
        with pytest.raises(LedgerUnavailable, match="reading only"):
            ledger.reserve(Charge(TENTH, dataset="d"))
    with pytest.raises(LedgerUnavailable, match="closed"):
        left(ledger)


def test_the_passwords_of_servers_stay_out_of_messages() -> None:
    assert "secret" not in PostgresStore("postgresql://ann:secret@nowhere.invalid/db").name


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
    with place.open() as ledger:
        begin(ledger)
    with closing(sqlite3.connect(place.path)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchall() == [("wal",)]
    with place.open() as ledger:
        charge(ledger, "k1")
    with closing(sqlite3.connect(place.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
