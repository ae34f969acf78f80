"""The fault matrix of a ledger in a file: never more budget than before, whatever happens to the bytes."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import dying_writers
import pytest
from ledger_places import FilePlace, Place, place

from forked import exit_code
from giveortake.errors import BudgetExceeded, LedgerError, LedgerUnavailable
from giveortake.ledger import Charge, Ledger
from giveortake.ledger import open as open_ledger
from giveortake.ledger.chain import store
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.events import Laplace, Pure
from tiers import tiered

TENTH = Laplace(10)
FLIPS = tiered(150, 1500)


def fill(ledger: Ledger, charges: int = 9) -> None:
    ledger.population("people", budget=ApproxDP(5, "1e-6"), unit="person")
    ledger.dataset("d", population="people", budget=PureDP(1))
    for key in range(charges):
        ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key=str(key), name=f"SELECT {key}")), [key])


def served(place: FilePlace) -> Any:
    """Everything that somebody who opens the ledger can learn and do, or the error that keeps them out."""
    try:
        with place.open() as ledger:
            standings, report = ledger.levels(), ledger.verify()
            answers = [
                ledger.reserve(Charge(TENTH, dataset="d", key=str(key), name=f"SELECT {key}")) for key in range(9)
            ]
            try:
                too_much = ledger.reserve(Charge(Pure("0.2"), dataset="d"))
            except BudgetExceeded:
                too_much = None
            return standings, report, answers, too_much
    except LedgerError as error:
        return type(error).__name__


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> FilePlace:
    found = FilePlace(tmp_path_factory.mktemp("pristine"), beside=True)
    with found.open() as ledger:
        fill(ledger)
    return found


def test_every_flipped_bit_is_noticed_or_changes_nothing(pristine: FilePlace, tmp_path: Path) -> None:
    expected = served(pristine)
    files = {name: (pristine.path.parent / name).read_bytes() for name in ("people.ledger", "people.ledger.mark")}
    chosen = random.Random(20261115)  # noqa: S311
    spots = [(name, index) for name, content in files.items() for index in range(len(content))]
    written = [(name, index) for name, index in spots if files[name][index]]
    place, outcomes = FilePlace(tmp_path, beside=True), []
    for flip in range(FLIPS):
        name, index = chosen.choice(written if flip % 5 else spots)
        for file, content in files.items():
            (tmp_path / file).write_bytes(content)
        broken = bytearray(files[name])
        broken[index] ^= 1 << chosen.randrange(8)
        (tmp_path / name).write_bytes(broken)
        found = served(place)
        assert isinstance(found, str) or found == expected, (name, index)
        outcomes.append(found)
    refused = sum(isinstance(found, str) for found in outcomes)
    assert refused > FLIPS // 3  # most bytes mean something
    assert refused < FLIPS


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_refused(pristine: FilePlace, tmp_path: Path, share: float) -> None:
    place = FilePlace(tmp_path, beside=True)
    for path in pristine.path.parent.iterdir():
        shutil.copy(path, tmp_path)
    os.truncate(place.path, int(place.path.stat().st_size * share))
    size = place.path.stat().st_size
    assert isinstance(served(place), str)
    assert place.path.stat().st_size == size


def torn(folder: Path) -> tuple[bytes, bytes, bytes]:
    """A file in the middle of a commit, with its journal and its mark, as a power failure leaves them."""
    place = FilePlace(folder, beside=True)
    with place.open() as ledger:
        fill(ledger, 3)
        before, mark = place.backup(), Path(f"{place.where}.mark").read_bytes()
        for key in range(3, 9):
            ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key=str(key), name=f"SELECT {key}")), [key])
    with closing(sqlite3.connect(place.path)) as later:
        entries = later.execute("SELECT * FROM entries WHERE number > 9").fetchall()
        snapshots = later.execute("SELECT * FROM snapshots").fetchall()
    place.put_back(before)
    with closing(sqlite3.connect(place.path, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")  # pages are written long before the commit
        writer.execute("BEGIN")
        writer.executemany("INSERT INTO entries VALUES (?, ?, ?)", entries)
        writer.executemany("REPLACE INTO snapshots VALUES (?, ?)", snapshots)
        writer.execute("PRAGMA cache_spill = 1")
        writer.execute("CREATE TABLE filler (a)")
        writer.executemany("INSERT INTO filler VALUES (?)", [("x" * 900,)] * 60)
        torn_file, journal = place.backup(), Path(f"{place.where}-journal").read_bytes()
        writer.execute("ROLLBACK")
    assert torn_file != before
    assert len(journal) > 4 * 512
    return torn_file, journal, mark


def test_a_journal_cut_anywhere_or_left_behind_never_gives_budget_back(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    torn_file, journal, mark = torn(tmp_path / "made")
    place = FilePlace(tmp_path, beside=True)
    outcomes = []
    for length in [None, *range(0, len(journal) + 512, 512)]:
        for path in tmp_path.glob("people*"):
            path.unlink()
        place.put_back(torn_file)
        Path(f"{place.where}.mark").write_bytes(mark)
        if length is not None:
            Path(f"{place.where}-journal").write_bytes(journal[:length])
        try:
            with place.open() as ledger:
                ledger.verify()
                spent = next(level.spent for level in ledger.levels() if level.name == "d")
                assert spent >= 3 * TENTH.guarantee().epsilon
                reserved = [entry for entry in ledger.history() if entry.kind == "reserved"]
                assert spent == len(reserved) * TENTH.guarantee().epsilon
                outcomes.append("served")
        except LedgerError as error:
            outcomes.append(type(error).__name__)
    assert outcomes[-1] == "served"  # the whole journal rolls the file back to where the mark is
    assert set(outcomes) > {"served"}


def test_a_full_disk_refuses_and_forgets_nothing(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1000))
        ledger.dataset("d", population="people")
    assert exit_code(dying_writers.fill_the_disk, place.where, tmp_path / "log") == 0
    released = int((tmp_path / "log").read_text())  # which is empty if it was not refused
    assert 3 < released < 1000
    with place.open() as ledger:
        report = ledger.verify()
        assert report.answers in {released, released + 1}
        for key in range(released):
            assert ledger.reserve(Charge(TENTH, dataset="d", key=str(key))).answer == "x" * 500


def test_a_read_only_folder_refuses_to_charge_and_lets_read(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="read-only"))  # pytest's own folders are closed to other users
    try:
        place = FilePlace(folder, beside=True)
        with place.open() as ledger:
            fill(ledger, 1)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        assert exit_code(dying_writers.use_a_closed_folder, place.where, tmp_path / "log") == 0
        assert (tmp_path / "log").read_text().splitlines() == ["1/10 5", "refused", "refused"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_mark_that_cannot_be_written_keeps_the_answer_in(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        fill(ledger, 1)
        paid = ledger.reserve(Charge(TENTH, dataset="d"))
        mark = place.mark_file()
        aside = mark.rename(tmp_path / "aside")
        mark.mkdir()
        with pytest.raises(LedgerUnavailable):
            ledger.settle(paid, "not released")
        mark.rmdir()
        aside.rename(mark)
        assert ledger.settle(paid, "released") == "released"
        ledger.verify()


def test_an_interruption_when_a_transaction_has_just_begun_leaves_none_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = store._begin

    def begin_and_stop(connection: sqlite3.Connection, statement: str) -> None:
        begin(connection, statement)
        raise KeyboardInterrupt

    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.population("people", budget=PureDP(1))
        with monkeypatch.context() as interrupted:
            interrupted.setattr(store, "_begin", begin_and_stop)
            for call in (ledger.levels, lambda: ledger.dataset("visits", population="people")):
                with pytest.raises(KeyboardInterrupt):
                    call()
        ledger.dataset("visits", population="people")
        assert ledger.verify().entries == len(ledger.history())


def test_a_child_that_inherits_an_open_ledger_opens_its_own(place: Place, tmp_path: Path) -> None:
    assert exit_code(dying_writers.fork_with_open_ledgers, place.where, tmp_path / "log") == 0
    assert (tmp_path / "log").read_text() == "[0, 0, 0, 0] 13/5 1/10 25"


def test_no_fork_happens_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    where, log = str(tmp_path / "people.ledger"), tmp_path / "log"
    assert exit_code(dying_writers.fork_while_threads_charge, where, log) == 0
    assert log.read_text() == "{0} 135"
