"""Backups that are whole and have no mark, and ledgers that move to another path, disk or machine."""

from __future__ import annotations

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from kept_ledgers import begin, charge, place
from ledger_places import FilePlace, ServerPlace

from giveortake.errors import (
    InvalidParameter,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerRolledBack,
    NotFound,
)
from giveortake.ledger import backup, move, restore
from giveortake.ledger import open as open_ledger
from giveortake.privacy.events import Pure


def test_a_backup_is_whole_and_has_no_mark_and_is_refused_once_it_is_old(place: FilePlace, tmp_path: Path) -> None:
    point = backup(place.where, tmp_path / "monday.ledger")
    assert (point.number, (tmp_path / "monday.ledger").stat().st_mode & 0o777) == (5, 0o600)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["house", "monday.ledger"]
    with pytest.raises(LedgerMismatch, match="already"):
        backup(place.where, tmp_path / "monday.ledger")
    with place.open() as ledger:
        charge(ledger, "k1")
    with pytest.raises(LedgerRolledBack):
        open_ledger(tmp_path / "monday.ledger")
    shutil.copy(tmp_path / "monday.ledger", place.path)
    restore(place.where, reason="back to Monday", charge=Pure("0.1"))
    with place.open() as ledger:
        ledger.verify()


def test_a_backup_makes_the_folder_that_it_is_put_into(place: FilePlace, tmp_path: Path) -> None:
    backup(place.where, tmp_path / "of" / "november" / "monday.ledger")
    assert (tmp_path / "of" / "november").stat().st_mode & 0o777 == 0o700


def test_a_backup_while_others_write_is_one_state(place: FilePlace, tmp_path: Path) -> None:
    with place.open() as ledger, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(lambda: [charge(ledger, f"w{number}") for number in range(8)])
        copies = [tmp_path / f"{number}.ledger" for number in range(8)]
        for copy in copies:
            backup(place.where, copy)
        writing.result()
    for copy in copies:
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            (last,) = connection.execute("SELECT max(number) FROM entries").fetchone()
            assert connection.execute("SELECT count(*) FROM entries").fetchone() == (last,)


def test_an_owner_who_moves_house_takes_everything_along(place: FilePlace, tmp_path: Path) -> None:
    new = tmp_path / "new.ledger"
    mark = place.mark_file()
    move(place.where, new, reason="a larger disk")
    assert not place.path.exists()
    with pytest.raises(LedgerMissing, match=r"new\.ledger"):
        place.open()
    with open_ledger(new) as ledger:
        assert ledger.history()[-1].content == {"what": "ledger", "reason": "a larger disk"}
        charge(ledger, "k1")
    assert mark.exists()
    move(new, place.where, reason="back again", new_mark=tmp_path / "usb.mark")
    assert not mark.exists()
    with pytest.raises(LedgerForeign):
        place.open()
    place.mark = str(tmp_path / "usb.mark")
    with place.open() as ledger:
        assert ledger.population("people").spent == Fraction(2, 10)
    move(place.where, new, reason="home", mark=place.mark)
    assert not (tmp_path / "usb.mark").exists()
    with open_ledger(new) as ledger:
        ledger.verify()
    with pytest.raises(NotFound):
        move(tmp_path / "nothing.ledger", tmp_path / "x.ledger", reason="nothing is there")
    with open_ledger(tmp_path / "other.ledger") as other:
        begin(other)
    (tmp_path / "other.ledger").unlink()
    with pytest.raises(LedgerMismatch):
        move(new, tmp_path / "other.ledger", reason="over another one's memory")


@pytest.mark.parametrize("label", ["copied", "old mark voided", "mark begun", "places noted"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_move_that_is_killed_never_leaves_two_lives(
    place: FilePlace, tmp_path: Path, label: str, elsewhere: bool
) -> None:
    new, mark = tmp_path / "new.ledger", tmp_path / "new.mark" if elsewhere else None

    def stop(reached: str) -> None:
        if reached == label:
            raise KeyboardInterrupt

    if not elsewhere and label in {"old mark voided", "mark begun"}:
        move(place.where, new, reason="nothing to stop at", at=stop)
        return
    with pytest.raises(KeyboardInterrupt):
        move(place.where, new, reason="killed", new_mark=mark, at=stop)
    lives = []
    for path, kept in ((place.path, None), (new, mark)):
        try:
            with open_ledger(path, mark=kept, create=False) as ledger:
                charge(ledger, "k1")
                lives.append(path)
        except (LedgerRolledBack, LedgerForeign, LedgerMissing, NotFound):
            continue
    assert len(lives) <= 1


@pytest.mark.parametrize("there", ["an old copy", "nothing", "the ledger"])
def test_a_mark_elsewhere_does_not_pass_by_the_one_that_remembers_the_path(
    place: FilePlace, tmp_path: Path, there: str
) -> None:
    """An old copy with a mark as old as itself would be believed, and what was spent since then be forgotten."""
    elsewhere = tmp_path / "elsewhere.mark"
    copy = place.backup()
    shutil.copy(place.mark_file(), elsewhere)
    with place.open() as ledger:
        charge(ledger, "k1")
    if there == "an old copy":
        place.put_back(copy)
    if there == "nothing":
        place.delete()
        elsewhere.unlink()
    before = place.path.exists() and place.backup()
    for attempt in (open_ledger, partial(open_ledger, read_only=True), partial(restore, reason="an old copy")):
        with pytest.raises(LedgerMismatch, match="7 entries") as told:
            attempt(place.where, mark=elsewhere)
        assert "--new-mark" in str(told.value.hint)
    assert (place.path.exists() and place.backup()) == before
    if there == "the ledger":
        with open_ledger(place.where, mark=place.mark_file()) as ledger:  # it is the same mark, however it is said
            charge(ledger, "k2")
        place.open().close()


def test_a_mark_elsewhere_is_believed_once_the_ledger_was_moved_to_it(
    place: FilePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, elsewhere = tmp_path / "new.ledger", tmp_path / "elsewhere.mark"
    move(place.where, target, new_mark=elsewhere, reason="to another disk")
    move(target, place.where, mark=elsewhere, new_mark=tmp_path / "again.mark", reason="and back")
    open_ledger(place.where, mark=tmp_path / "again.mark").close()
    monkeypatch.delenv("GIVEORTAKE_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr(Path, "home", no_home)
    open_ledger(place.where, mark=tmp_path / "again.mark").close()  # who has no state folder remembers nothing


def no_home() -> Path:
    raise RuntimeError


def test_what_lies_in_a_server_is_neither_copied_nor_moved(server: str, tmp_path: Path) -> None:
    place = ServerPlace(server)
    with place.open() as ledger:
        begin(ledger)
        assert ledger.chain.mark.secret(create=True) == ledger.chain.mark.secret(create=False)
    with pytest.raises(InvalidParameter, match="pg_dump"):
        backup(place.where, tmp_path / "copy.ledger")
    with pytest.raises(InvalidParameter, match="pg_dump"):
        move(place.where, tmp_path / "copy.ledger", reason="out of the server")
