"""The fault matrix of a ledger in a file: never more budget than before, whatever happens to the bytes."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace, Place, place

from giveortake.errors import BudgetExceeded, LedgerError, LedgerUnavailable
from giveortake.ledger import Ledger, sqlite
from giveortake.ledger import open as open_ledger
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.events import Laplace, Pure

TENTH = Laplace(10)
FLIPS = 500


def fill(ledger: Ledger, charges: int = 9) -> None:
    ledger.population("people", budget=ApproxDP(5, "1e-6"), unit="person")
    ledger.dataset("d", population="people", budget=PureDP(1))
    for key in range(charges):
        ledger.settle(ledger.reserve(TENTH, dataset="d", key=str(key), request={"sql": "SELECT 1"}), [key])


def served(place: FilePlace) -> Any:
    """Everything that somebody who opens the ledger can learn and do, or the error that keeps them out."""
    try:
        with place.open() as ledger:
            standings, report = ledger.levels(), ledger.verify()
            answers = [
                ledger.reserve(TENTH, dataset="d", key=str(key), request={"sql": "SELECT 1"}) for key in range(9)
            ]
            try:
                too_much = ledger.reserve(Pure("0.2"), dataset="d")
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
            ledger.settle(ledger.reserve(TENTH, dataset="d", key=str(key), request={"sql": "SELECT 1"}), [key])
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


def in_a_child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    imports = (
        "import os, resource, sys\nfrom pathlib import Path\nfrom giveortake.errors import *\n"
        "from giveortake.ledger import open as open_ledger\nfrom giveortake.privacy import PureDP\n"
        "from giveortake.privacy.events import Laplace, Pure\n"
        "import giveortake.ledger.sqlite, giveortake.accounting.race\n"
    )
    command = [sys.executable, "-c", imports + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_full_disk_refuses_and_forgets_nothing(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1000))
        ledger.dataset("d", population="people")
    code = """
resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))
ledger = open_ledger(sys.argv[1])
for number in range(1000):
    try:
        ledger.settle(ledger.reserve(Laplace(10), dataset="d", key=str(number)), "x" * 500)
    except LedgerUnavailable:
        break
    print(number, flush=True)
try:
    ledger.reserve(Laplace(10), dataset="d", request="y" * 50_000)
except LedgerUnavailable as error:
    print("refused", error.message)
"""
    done = in_a_child(code, place.where)
    *released, refused = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert refused.startswith("refused")
    assert 3 < len(released) < 1000
    with place.open() as ledger:
        report = ledger.verify()
        assert report.answers in {len(released), len(released) + 1}
        for key in released:
            assert ledger.reserve(TENTH, dataset="d", key=key).answer == "x" * 500


def test_a_read_only_folder_refuses_to_charge_and_lets_read() -> None:
    folder = Path(tempfile.mkdtemp(prefix="read-only"))  # pytest's own folders are closed to other users
    try:
        place = FilePlace(folder, beside=True)
        with place.open() as ledger:
            fill(ledger, 1)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        code = """
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)  # root may write everywhere
mark = sys.argv[1] + ".mark"
with open_ledger(sys.argv[1], mark=mark, read_only=True) as ledger:
    print(ledger.dataset("d").spent, ledger.verify().entries)
for attempt in (
    lambda: open_ledger(sys.argv[1], mark=mark).reserve(Laplace(10), dataset="d"),
    lambda: open_ledger(Path(sys.argv[1]).with_name("new.ledger"), mark=Path(sys.argv[1]).with_name("new.mark")),
):
    try:
        attempt()
        print("charged")
    except LedgerUnavailable:
        print("refused")
"""
        done = in_a_child(code, place.where)
        assert (done.stdout.splitlines(), done.stderr) == (["1/10 5", "refused", "refused"], "")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_mark_that_cannot_be_written_keeps_the_answer_in(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        fill(ledger, 1)
        paid = ledger.reserve(TENTH, dataset="d")
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
    begin = sqlite._begin

    def begin_and_stop(connection: sqlite3.Connection, statement: str) -> None:
        begin(connection, statement)
        raise KeyboardInterrupt

    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.population("people", budget=PureDP(1))
        with monkeypatch.context() as interrupted:
            interrupted.setattr(sqlite, "_begin", begin_and_stop)
            for call in (ledger.levels, lambda: ledger.dataset("visits", population="people")):
                with pytest.raises(KeyboardInterrupt):
                    call()
        ledger.dataset("visits", population="people")
        assert ledger.verify().entries == len(ledger.history())


def test_a_child_that_inherits_an_open_ledger_opens_its_own(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(10))
        ledger.dataset("d", population="people")
    code = """
ledger = open_ledger(sys.argv[1])
memory = open_ledger(":memory:")
for each in (ledger, memory):
    each.population("people", budget=PureDP(10))
    each.dataset("d", population="people")
    each.reserve(Pure("0.1"), dataset="d", key="before")
children = []
for child in range(4):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for number in range(5):
                ledger.settle(ledger.reserve(Pure("0.1"), dataset="d", key=f"{child}-{number}"), number)
            try:
                memory.reserve(Pure("0.1"), dataset="d")
            except LedgerUnavailable:
                code = 0
        finally:
            os._exit(code)
    children.append(pid)
for number in range(5):
    ledger.settle(ledger.reserve(Pure("0.1"), dataset="d", key=f"parent-{number}"), number)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
print(codes, ledger.population("people").spent, memory.population("people").spent, ledger.verify().answers)
"""
    done = in_a_child(code, place.where)
    assert (done.stdout, done.stderr) == ("[0, 0, 0, 0] 13/5 1/10 25\n", "")


def test_no_fork_happens_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    code = """
import threading
ledger = open_ledger(sys.argv[1])
ledger.population("people", budget=PureDP(100))
ledger.dataset("d", population="people")
def spend():
    for number in range(60):
        ledger.reserve(Pure("0.1"), dataset="d")
threads = [threading.Thread(target=spend) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for child in range(15):
    pid = os.fork()
    if pid == 0:
        ledger.reserve(Pure("0.1"), dataset="d")
        ledger.close()
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
for thread in threads:
    thread.join()
print(set(codes), ledger.verify().reservations)
"""
    done = in_a_child("import warnings; warnings.simplefilter('ignore')\n" + code, tmp_path / "people.ledger")
    assert (done.stdout, done.stderr) == ("{0} 135\n", "")
