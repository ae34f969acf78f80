"""What is killed, full, flipped, interrupted or forked leaves memory and disk as the chain says."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import dying_writers
import pytest
from ledger_places import FilePlace, Place, place

import race_for_the_last_unit
import writer_kills
from forked import exit_code
from giveortake.errors import (
    BudgetExceeded,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    LedgerTooNew,
    LedgerUnavailable,
)
from giveortake.ledger import Charge, Ledger
from giveortake.ledger import open as open_ledger
from giveortake.ledger.chain import store
from giveortake.ledger.chain.state import ENTRY_TYPES
from giveortake.ledger.opening import opened
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.events import Laplace, Pure
from kill_findings import Found
from tiers import tiered
from writer_kills import AFFORDED, BEGINNING, CHECKPOINT, TRIED, WRITERS

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


def begin(ledger: Ledger) -> None:
    ledger.population("people", budget=PureDP(1), unit="person")
    ledger.dataset("d", population="people")
    ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key="first")), [1])


def told(ledger: Ledger) -> Any:
    """Everything that is told of it from memory."""
    return ledger.levels(), ledger.failures(), ledger.verify(), [entry.hash for entry in ledger.history()]


def same_when_opened_again(ledger: Ledger, place: Place) -> bool:
    with place.open() as other:
        return bool(told(ledger) == told(other))


def test_a_look_is_few_statements_and_the_text_of_a_checkpoint_is_read_once(tmp_path: Path) -> None:
    with opened(str(tmp_path / "l"), every=4) as ledger:
        begin(ledger)
    with opened(str(tmp_path / "l"), every=10**9) as ledger:
        ledger.levels()
        connection: Any = ledger.chain.store._connection  # type: ignore[attr-defined]
        said: list[str] = []
        connection.set_trace_callback(said.append)
        ledger.levels()
        assert len(said) == 5, said  # begin, what the ledger says of itself, the last checkpoint, entries, commit
        said.clear()
        ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key="next")), [2])
        # where a random id is looked for depends on the id: in a table of its own, or in a chunk that others share
        asked = [statement for statement in said if statement.startswith("SELECT") and "finds" not in statement]
        assert len(asked) == 8, asked  # three of each change, as above, and the last entry before each move of the mark


def test_a_mark_is_moved_past_what_another_wrote_in_between(tmp_path: Path) -> None:
    where = str(tmp_path / "l")
    with opened(where) as other:
        begin(other)
        paid: list[Any] = []

        def write(label: str) -> None:
            if label == "committed" and not paid:
                paid.append(other.reserve(Charge(TENTH, dataset="d", key="in between")))

        with opened(where, at=write) as ledger:
            mine = ledger.reserve(Charge(TENTH, dataset="d", key="mine"))
            assert (mine.fresh, paid[0].fresh) == (True, True)
            assert told(ledger) == told(other)
            assert ledger.chain.mark.read() == other.chain.head == ledger.chain.head


FORGERIES: list[tuple[str, dict[str, Any]]] = [
    ("settled", {"reservation": 4, "answer": "another answer"}),
    ("settled", {"reservation": 99, "answer": 1}),
    ("drawn", {"reservation": 4, "place": 7, "drawn": 1}),
    ("failed", {"reservation": 99}),
    ("invented", {}),
]


def test_what_does_not_follow_from_history_is_never_committed(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        for number, (kind, content) in enumerate(FORGERIES):
            before = told(ledger)
            with pytest.raises((LedgerDamaged, LedgerTooNew)), ledger.chain.changing() as transaction:
                transaction.add(kind, content)
            assert told(ledger) == before, kind
            assert ledger.reserve(Charge(TENTH, dataset="d", key=f"next {number}")).fresh
        assert same_when_opened_again(ledger, place)


def test_a_good_entry_before_a_bad_one_is_not_committed_either(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        before = told(ledger)
        with pytest.raises(LedgerDamaged), ledger.chain.changing() as transaction:
            [transaction.add("forgiven", {"level": level, "reason": "looked"}) for level in (2, 99)]
        assert told(ledger) == before
        assert same_when_opened_again(ledger, place)


@pytest.mark.parametrize("kind", ["reserved", "settled", "drawn", "failed"])
def test_an_interruption_while_the_state_takes_an_entry_leaves_nothing_of_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    handler = ENTRY_TYPES[kind].apply

    def stopped(*asked: Any) -> None:
        handler(*asked)
        raise KeyboardInterrupt

    calls: dict[str, Callable[[Ledger], Any]] = {
        "reserved": lambda ledger: ledger.reserve(Charge(TENTH, dataset="d", key="next")),
        "settled": lambda ledger: ledger.settle(begun, [2]),
        "drawn": lambda ledger: ledger.keep(begun, 0, [2]),
        "failed": lambda ledger: ledger.fail(begun),
    }
    with place.open() as ledger:
        begin(ledger)
        begun = ledger.reserve(Charge(TENTH, dataset="d", key="begun"))
        before = told(ledger)
        with monkeypatch.context() as interrupted:
            interrupted.setitem(ENTRY_TYPES, kind, replace(ENTRY_TYPES[kind], apply=stopped))
            with pytest.raises(KeyboardInterrupt):
                calls[kind](ledger)
        assert told(ledger) == before
        calls[kind](ledger)
        assert same_when_opened_again(ledger, place)


def test_an_interruption_while_another_writers_entry_is_read_does_not_count_it_twice(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = ENTRY_TYPES["reserved"].apply

    def stopped(*asked: Any) -> None:
        handler(*asked)
        raise KeyboardInterrupt

    with place.open() as ledger, place.open() as other:
        begin(ledger)
        other.levels()
        ledger.reserve(Charge(TENTH, dataset="d", key="next"))
        with monkeypatch.context() as interrupted:
            interrupted.setitem(ENTRY_TYPES, "reserved", replace(ENTRY_TYPES["reserved"], apply=stopped))
            with pytest.raises(KeyboardInterrupt):
                other.levels()
        assert told(other) == told(ledger)


def test_a_commit_that_fails_leaves_nothing_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = tmp_path / "people.ledger"
    written = [False]

    def note(label: str) -> None:
        written[0] = label == "written"

    with opened(str(where), at=note) as ledger:
        begin(ledger)
        before = told(ledger)
        store: Any = ledger.chain.store
        check = store._check_inside

        def fails(connection: Any) -> None:
            check(connection)
            if written[0]:
                raise LedgerUnavailable("the disk is full")

        with monkeypatch.context() as full:
            full.setattr(store, "_check_inside", fails)
            with pytest.raises(LedgerUnavailable, match="disk"):
                ledger.reserve(Charge(TENTH, dataset="d", key="next"))
        written[0] = False
        assert told(ledger) == before
        assert ledger.reserve(Charge(TENTH, dataset="d", key="next")).fresh
        ledger.verify()


def test_an_interruption_after_the_commit_leaves_memory_as_the_disk_is(place: Place) -> None:
    armed = [False]

    def stop(label: str) -> None:
        if armed[0] and label == "committed":
            armed[0] = False
            raise KeyboardInterrupt

    with place.open(at=stop) as ledger:
        begin(ledger)
        armed[0] = True
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(Charge(TENTH, dataset="d", key="next"))
        assert not ledger.reserve(Charge(TENTH, dataset="d", key="next")).fresh
        assert same_when_opened_again(ledger, place)


def test_a_state_that_is_read_again_still_knows_what_it_has_seen(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old copy, with the mark of that time, is noticed by whoever has seen more."""
    with place.open() as ledger:
        begin(ledger)
        backup, mark = place.backup(), ledger.chain.mark.read()
        ledger.reserve(Charge(TENTH, dataset="d", key="next"))
        ledger.levels()
        with pytest.raises(LedgerTooNew), ledger.chain.changing() as transaction:
            transaction.add("invented", {})
        place.put_back(backup)
        assert mark is not None
        monkeypatch.setattr(ledger.chain.mark, "read", lambda: mark)
        with pytest.raises(LedgerRolledBack, match="a moment ago"):
            ledger.levels()
