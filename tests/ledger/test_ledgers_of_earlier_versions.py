"""A ledger that 0.2.0 wrote (`ledger_of_0_2/`) is refused by name, and nothing in it changes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import giveortake as gt
from giveortake import cli
from giveortake.errors import LedgerTooOld
from giveortake.ledger.chain.entries import NOTHING, Point
from giveortake.ledger.chain.store import SQLiteStore, silent
from giveortake.ledger.chain.watermark import Home
from giveortake.ledger.opening import rehearsal

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
