"""Marks and the state folder, moves and backups."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import dying_writers
import pytest
from ledger_places import TENTH, FilePlace, ServerPlace, begin, charge
from ledger_places import begun_file as place

from forked import begun, ended, exit_code
from giveortake import cli
from giveortake.errors import (
    InvalidParameter,
    LedgerDamaged,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerRolledBack,
    LedgerTooNew,
    LedgerUnavailable,
    NotFound,
)
from giveortake.ledger import Charge, backup, move, restore
from giveortake.ledger import open as open_ledger
from giveortake.ledger.chain.entries import canonical, digest
from giveortake.ledger.chain.watermark import FileMark, state_folder
from giveortake.ledger.opening import opened
from giveortake.privacy.events import Pure


def test_a_folder_that_was_copied_with_its_ledger_and_put_back_is_refused(place: FilePlace, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "house", tmp_path / "copy")
    with place.open() as ledger:
        charge(ledger, "k1")
    shutil.rmtree(tmp_path / "house")
    (tmp_path / "copy").rename(tmp_path / "house")
    for options in ({}, {"read_only": True}):
        with pytest.raises(LedgerRolledBack, match="entry 7"):
            place.open(**options)


def test_nothing_but_the_ledger_lies_in_its_folder(place: FilePlace) -> None:
    assert [path.name for path in place.path.parent.iterdir()] == ["people.ledger"]
    assert state_folder() in place.mark_file().parents


def test_a_deleted_folder_is_noticed_when_its_path_is_asked_for_again(place: FilePlace, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "house")
    (tmp_path / "house").mkdir()
    for options in ({}, {"read_only": True}, {"create": False}):
        with pytest.raises(LedgerMissing, match="remembers 5 entries"):
            place.open(**options)


def test_a_ledger_that_was_moved_by_hand_is_found_by_its_id_and_its_copies_never_have_two_lives(
    place: FilePlace, tmp_path: Path
) -> None:
    copy, aside = tmp_path / "elsewhere.ledger", tmp_path / "aside"
    shutil.copy(place.path, copy)
    with pytest.raises(LedgerForeign, match="house"):
        open_ledger(copy)
    with open_ledger(copy, read_only=True) as ledger:
        assert ledger.population("people").spent == Fraction(1, 10)
    with place.open() as ledger:  # which goes on as if there were no copy
        assert ledger.population("people").spent == Fraction(1, 10)
    shutil.move(place.path, aside)
    with open_ledger(copy) as ledger:
        charge(ledger, "k1")
    shutil.move(aside, place.path)
    with pytest.raises(LedgerRolledBack):
        place.open()
    with open_ledger(copy) as ledger:
        assert ledger.population("people").spent == Fraction(2, 10)


def test_another_ledger_at_the_same_path_is_foreign_until_the_owner_says_otherwise(
    place: FilePlace, tmp_path: Path
) -> None:
    with open_ledger(tmp_path / "fresh.ledger") as other:
        begin(other)
    shutil.move(tmp_path / "fresh.ledger", place.path)
    with pytest.raises(LedgerForeign):
        place.open()
    restore(place.where, reason="the other one is meant", charge=Pure("0.5"))
    with place.open() as ledger:
        assert ledger.population("people").spent == Fraction(6, 10)
        ledger.verify()


def test_links_and_relative_paths_lead_to_the_same_mark(
    place: FilePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "house")
    (tmp_path / "file").symlink_to(place.path)
    monkeypatch.chdir(tmp_path / "house")
    spelled: list[str | Path] = [
        "people.ledger",
        "../house/people.ledger",
        tmp_path / "link" / "people.ledger",
        tmp_path / "file",
    ]
    for number, path in enumerate(spelled, start=1):
        with open_ledger(path) as ledger:
            charge(ledger, f"k{number}")
    with place.open() as ledger:
        assert ledger.population("people").spent == Fraction(5, 10)
    place.delete()
    for path in spelled:
        with pytest.raises(LedgerMissing):
            open_ledger(path)


def test_another_user_without_the_mark_is_told_where_to_look(place: FilePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEORTAKE_STATE", f"{place.where}-state-of-another")
    for options in ({}, {"read_only": True}):
        with pytest.raises(LedgerForeign, match="GIVEORTAKE_STATE"):
            place.open(**options)
    assert not Path(f"{place.where}-state-of-another").exists()


def test_the_state_folder_is_the_users_own_unless_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEORTAKE_STATE", str(tmp_path / "said"))
    assert state_folder() == tmp_path / "said"
    monkeypatch.delenv("GIVEORTAKE_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_folder() == tmp_path / "xdg" / "giveortake"
    monkeypatch.setenv("HOME", str(tmp_path))
    for relative in ("", "not/absolute"):
        monkeypatch.setenv("XDG_STATE_HOME", relative)
        assert state_folder() == tmp_path / ".local" / "state" / "giveortake"


def test_without_a_place_for_the_mark_there_is_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for state in (tmp_path / "file", Path("/proc/nowhere")):
        monkeypatch.setenv("GIVEORTAKE_STATE", str(state))
        with pytest.raises(LedgerUnavailable, match="GIVEORTAKE_STATE"):
            open_ledger(tmp_path / "new.ledger")
        assert not (tmp_path / "new.ledger").exists()
    open_ledger(":memory:").close()


def test_a_mark_that_is_lost_is_not_begun_again(place: FilePlace) -> None:
    place.lose_mark()
    with pytest.raises(LedgerForeign, match="no mark"):
        place.open()
    place.delete()
    with pytest.raises(LedgerMissing):
        place.open()


def test_many_may_begin_the_same_ledger_at_the_same_moment(tmp_path: Path) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(4)]
    running = [begun(dying_writers.write_facts, str(tmp_path / "people.ledger"), log) for log in logs]
    assert ended(*running) == [0] * 4
    assert len({log.read_text() for log in logs}) == 1  # the same ledger, and two entries


# -- files --------------------------------------------------------------------------------------------------------


def test_files_are_for_their_owner_alone(place: FilePlace, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with open_ledger(tmp_path / "new.ledger", mark=tmp_path / "new.mark") as ledger:
            begin(ledger)
            assert ledger.chain.mark.secret(create=True)
    finally:
        os.umask(before)
    for path in (place.path, place.mark_file(), *tmp_path.glob("new.*")):
        assert path.stat().st_mode & 0o777 == 0o600, path
    assert place.mark_file().parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_ledger_or_a_mark_that_others_may_write_is_refused(place: FilePlace, mode: int) -> None:
    for path in (place.path, place.mark_file()):
        path.chmod(mode)
        for options in ({}, {"read_only": True}):
            with pytest.raises(LedgerUnavailable, match="chmod go-w"):
                place.open(**options)
        path.chmod(0o644)
    place.open().close()


@pytest.mark.parametrize("is_read_only", [False, True])
@pytest.mark.parametrize("is_whole", [False, True])
def test_a_mark_beside_a_ledger_is_not_believed(place: FilePlace, is_whole: bool, is_read_only: bool) -> None:
    """Whoever may write there can make one for an old copy, and take it to where nobody has seen the ledger."""
    with place.open() as ledger:
        head = ledger.chain.head
        forged = head if is_whole else replace(head, number=0, hash="")
        before = place.backup()
        charge(ledger, "k1")
    place.put_back(before)
    shutil.rmtree(state_folder())
    FileMark(Path(f"{place.where}.mark")).begin(forged)
    with pytest.raises(LedgerForeign, match="no mark"):
        place.open(read_only=is_read_only)


# -- versions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [True, False])
def test_a_ledger_of_a_later_version_is_too_new_and_not_damaged(place: FilePlace, read_only: bool) -> None:
    with place.open() as running:
        place.sql("UPDATE about SET value = '4'")
        with pytest.raises(LedgerTooNew, match="schema 4"):
            running.levels()
    with pytest.raises(LedgerTooNew, match="upgrade giveortake"):
        place.open(read_only=read_only)
    with pytest.raises(LedgerTooNew):
        restore(place.where, reason="an old program must not touch it")


LATER: list[dict[str, Any]] = [
    {"kind": "prophecy", "content": {}},
    {"kind": "reserved", "event": {"kind": "prophecy"}},
    {"kind": "budget", "budget": {"promise": "prophecy"}},
]


@pytest.mark.parametrize("later", LATER, ids=lambda later: str(later["kind"]))
def test_entries_of_a_later_version_are_told_from_damage(place: FilePlace, later: dict[str, Any]) -> None:
    with place.open() as ledger:
        paid = ledger.reserve(Charge(TENTH, dataset="d"))
        content = dict(ledger.history()[-1].content)
        previous = ledger.history()[-1].hash
    if later["kind"] == "budget":
        content = {"level": 2, "budget": later["budget"], "reason": "x", "filter": {}}
    elif later["kind"] == "reserved":
        content |= {"event": later["event"]}
    else:
        content = later["content"]
    body = canonical(
        {"number": paid.number + 1, "kind": later["kind"], "at": "", "previous": previous, "content": content}
    )
    place.sql("INSERT INTO entries VALUES (?, ?, ?)", paid.number + 1, body, digest(body))
    with pytest.raises(LedgerTooNew), place.open() as ledger:
        ledger.verify()
    place.sql("UPDATE entries SET hash = '0' WHERE number = ?", paid.number + 1)
    with pytest.raises(LedgerDamaged):
        place.open()


# -- commands -----------------------------------------------------------------------------------------------------


def test_the_commands_for_owners(place: FilePlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def output(*arguments: object) -> str:
        assert cli.main(["ledger", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    assert "5 entries" in output("backup", place.where, "--to", tmp_path / "copy.ledger")
    assert "entry 6" in output("move", place.where, "--to", tmp_path / "new.ledger", "--reason", "a new disk")
    assert "6 entries" in output("verify", tmp_path / "new.ledger")
    assert cli.main(["ledger", "verify", place.where]) == 2
    assert "new.ledger" in "".join(capsys.readouterr().err.split("\n"))


def test_a_ledger_in_memory_needs_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEORTAKE_STATE", str(tmp_path / "state"))
    with opened(":memory:") as ledger:
        begin(ledger)
    assert not (tmp_path / "state").exists()


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
