"""The commands for ledgers, and ledgers of earlier versions."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from ledger_places import FilePlace

import giveortake as gt
from giveortake import cli
from giveortake.errors import LedgerTooOld
from giveortake.ledger import Charge
from giveortake.ledger.chain.entries import NOTHING, Point
from giveortake.ledger.chain.store import SQLiteStore, silent
from giveortake.ledger.chain.watermark import Home
from giveortake.ledger.opening import rehearsal
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.events import Composed, Laplace, Pure, Repeated


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FilePlace:
    monkeypatch.setenv("COLUMNS", "100")
    found = FilePlace(tmp_path)
    with found.open() as ledger:
        ledger.population("patients", budget=PureDP(1), unit="person_id", analysts="pooled")
        ledger.population("staff", budget=ApproxDP(1, "1e-6"))
        ledger.dataset("visits", population="patients")
        ledger.dataset("shifts", population="staff")
        ledger.analyst("ann", datasets=["visits"], budget=PureDP("0.5"))
        for _ in range(4):
            ledger.settle(ledger.reserve(Charge(Laplace(10), dataset="visits", analyst="ann")), [1])
        ledger.reserve(Charge(Composed([Repeated(Laplace(100), 3), Pure("0.01")]), dataset="shifts"))
    return found


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["ledger", *arguments]) == 0
    return capsys.readouterr().out


def test_verify_says_that_a_ledger_is_whole(place: FilePlace, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "verify", place.where)
    assert text.startswith("whole ")
    assert all(number in text for number in ("15 entries", "5 reservations"))
    report = json.loads(output(capsys, "verify", place.where, "--json"))
    assert (report["entries"], report["answers"], report["head"] in text) == (15, 4, True)


def test_show_draws_what_is_left_and_how_it_went(place: FilePlace, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in output(capsys, "show", place.where, "--last", "3").splitlines()]
    assert "population patients person_id ε = 1 ███░░░░░ 40 % ε ≤ 0.6" in lines
    assert "population patients ██▇▆▅ 60 % left" in lines
    assert "analyst ann █▇▅▄▂ 20 % left" in lines
    assert "The last 3 entries" in lines
    assert lines[-1].endswith("reserved shifts: ε = 0.04")


def test_the_burn_down_is_of_the_same_whole_as_the_columns_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    place = FilePlace(tmp_path)

    def shown() -> str:
        lines = [" ".join(line.split()) for line in output(capsys, "show", place.where).splitlines()]
        return next(line for line in lines if line.startswith("population people") and line.endswith("left"))

    with place.open() as ledger:
        ledger.population("people", budget=ApproxDP(3, "1e-6"))
        ledger.dataset("d", population="people")
        ann = ledger.analyst("ann", datasets=["d"], budget=PureDP(1))
        ledger.reserve(Charge(Pure("0.5"), dataset="d"))
    assert shown() == "population people █▆▅ 50 % left"
    with place.open() as ledger:
        ledger.change_budget(ann, PureDP("1.2"), reason="charged whole")
    assert shown() == "population people █▆▅▁ 10 % left"
    with place.open() as ledger:
        ledger.change_budget(ledger.population("people"), ApproxDP(4, "1e-6"), reason="set aside anew: 1.2 and 0.5")
        standing = ledger.population("people")
        assert standing.own is not None
        assert 1 - standing.given - standing.own == Fraction("2.3") / 4
    assert shown() == "population people █▆▅▁▅ 57 % left"


def test_show_cuts_nothing_on_a_narrow_terminal(
    place: FilePlace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = output(capsys, "show", place.where, "--last", "20")
    assert "…" not in text
    assert "ε = 1, δ = 1e-6" in text
    assert all(fact in text for fact in ("ann", "ε = 0.5", "visits: ε = 0.1", "entry 7"))


def test_show_gives_programs_exact_numbers(place: FilePlace, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(output(capsys, "show", place.where, "--json"))
    patients = next(level for level in found["levels"] if level["name"] == "patients")
    assert (patients["spent"], patients["remaining"]) == ("2/5", "3/5")
    assert [share for _, share in patients["burn_down"]] == ["0", "1/10", "1/5", "3/10", "2/5"]


def test_an_export_can_be_checked_with_five_lines(place: FilePlace, capsys: pytest.CaptureFixture[str]) -> None:
    previous = "0" * 64
    lines = output(capsys, "export", place.where).splitlines()
    for line in lines:
        kept = json.loads(line)
        body = json.dumps(kept["entry"], sort_keys=True, separators=(",", ":"))
        assert sha256(body.encode()).hexdigest() == kept["hash"]
        assert kept["entry"]["previous"] == previous
        previous = kept["hash"]
    assert len(lines) == 15


def test_a_damaged_or_missing_ledger_is_an_error_with_a_hint(
    place: FilePlace, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = place.backup()
    with place.open() as ledger:
        ledger.reserve(Charge(Laplace(10), dataset="visits"))
    place.put_back(backup)
    assert cli.main(["ledger", "verify", place.where]) == 2
    assert "ledger restore" in capsys.readouterr().err
    assert cli.main(["ledger", "verify", f"{place.where}.not"]) == 2
    capsys.readouterr()
    assert not Path(f"{place.where}.not").exists()
    assert cli.main(["ledger"]) == 2
    assert "ACTION" in capsys.readouterr().err


@pytest.mark.parametrize(("lost", "said"), [([], "closed until"), (["--lost", "0.1"], "ε = 0.1 was charged")])
def test_restore_is_acknowledged_in_the_ledger(
    place: FilePlace, capsys: pytest.CaptureFixture[str], lost: list[str], said: str
) -> None:
    backup = place.backup()
    with place.open() as ledger:
        ledger.reserve(Charge(Laplace(10), dataset="visits"))
    place.put_back(backup)
    assert cli.main(["ledger", "restore", place.where]) == 2
    assert "--reason" in capsys.readouterr().err
    text = output(capsys, "restore", place.where, "--reason", "the disk died", *lost)
    assert "entry 16" in text
    assert said in " ".join(text.split())
    text = output(capsys, "show", place.where)
    assert "the disk died" in text
    assert ("closed" in text) == (not lost)


def test_restore_writes_a_lost_ledger_anew_from_its_export(
    place: FilePlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "entries.jsonl"
    export.write_text(output(capsys, "export", place.where))
    before = output(capsys, "verify", place.where)
    place.delete()
    arguments = ["restore", place.where, "--reason", "deleted by accident", "--from-export"]
    assert cli.main(["ledger", *arguments, str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in "".join(capsys.readouterr().err.split("\n"))
    output(capsys, *arguments, str(export))
    assert output(capsys, "verify", place.where) == before


WRITTEN = Path(__file__).parent / "ledger_of_0_2" / "visits.ledger"
SENTENCE = "the ledger has schema 2, of giveortake 0.2 or earlier, which this one does not read"
HINT = "read it with the giveortake that wrote it; a new ledger at another path begins with nothing spent"
TABLE = pl.DataFrame({"person": [1, 1, 2, 3], "region": ["n", "s", "n", "n"]})


@pytest.fixture(params=["without a mark", "with its mark"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the ledger, where nobody has seen it or where its mark is."""
    monkeypatch.setenv("GIVEORTAKE_STATE", str(tmp_path / "state"))
    copy = Path(shutil.copy(WRITTEN, tmp_path))
    copy.chmod(0o600)
    if request.param == "with its mark":
        store = SQLiteStore(copy)
        with store.reading() as tables:
            *_, last = tables.entries(1, NOTHING)
            ledger = tables.entry(1).content["ledger"]
        store.close()
        Home(copy, silent).accept(Point(ledger, last.number, last.hash))
    return copy


def _protected(path: Path) -> object:
    return gt.protect(
        TABLE,
        unit="person",
        budget=gt.ApproxDP(1, "1e-6"),
        domains={"region": ["n", "s"]},
        name="visits",
        ledger=path,
    )


CALLS: dict[str, Callable[[Path], object]] = {
    "open": gt.ledger.open,
    "open to read": lambda path: gt.ledger.open(path, read_only=True),
    "protect": _protected,
    "rehearse": rehearsal,
    "restore": lambda path: gt.ledger.restore(path, reason="a disk failed"),
    "reindex": gt.ledger.reindex,
    "move": lambda path: gt.ledger.move(path, path.with_name("new.ledger"), reason="a larger disk"),
    "backup": lambda path: gt.ledger.backup(path, path.with_name("copy.ledger")),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_ledger_of_0_2_is_refused_by_name_and_stays_as_it_was(path: Path, call: str) -> None:
    with pytest.raises(LedgerTooOld, match=SENTENCE) as refusal:
        CALLS[call](path)
    assert str(refusal.value.hint).startswith(HINT)
    assert path.read_bytes() == WRITTEN.read_bytes()


def test_the_command_line_refuses_it_in_the_same_words(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ledger", "show", str(path)]) == 2
    error = capsys.readouterr().err
    assert SENTENCE in error
    assert HINT in error


def test_a_ledger_of_0_1_is_refused_too(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE about SET value = '1' WHERE name = 'schema'")
    connection.close()
    with pytest.raises(LedgerTooOld, match="schema 1"):
        gt.ledger.open(path)
