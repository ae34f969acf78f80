"""Whoever reads a ledger sees all of it, and keeps nobody from writing meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checkpointed_ledger import EVERY, ask, fill
from ledger_places import Place, place

from giveortake.ledger.chain.watermark import FileMark
from giveortake.ledger.opening import opened


def test_pages_put_together_are_the_history_while_somebody_charges(place: Place) -> None:
    with place.open(every=EVERY) as ledger, place.open(every=EVERY) as other:
        fill(ledger)
        whole, pages, last = ledger.history(), [], 0
        while page := ledger.entries(after=last, limit=5):
            pages += page
            last = page[-1].number
            if last < 20:
                ask(other, 100 + last)
        assert pages[: len(whole)] == whole
        assert len(pages) > len(whole)
        mine = ledger.entries(analyst="ann")
        assert [each.number for each in mine] == list(range(1, len(mine) + 1))
        assert ledger.entries(analyst="ann", after=3, limit=2) == mine[3:5]
        assert ledger.entries(after=10**9) == []


def test_whoever_reads_holds_no_lock(tmp_path: Path) -> None:
    """A charge goes through between any two statements of a reader, in the same process and in another."""
    with opened(str(tmp_path / "l")) as ledger, opened(str(tmp_path / "l")) as other:
        fill(ledger, 3)
        with ledger.chain.glancing() as reader:
            assert len(reader.between(1, 5)) == 5
            ask(other, 10)
            ask(ledger, 11)
            assert reader.between(1, 5)


@pytest.mark.parametrize("read_only", [False, True])
def test_whoever_reads_a_long_history_lets_others_write_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, read_only: bool
) -> None:
    """There is no checkpoint, and a charge goes through before each of the first pages: no lock is held."""
    monkeypatch.setattr("giveortake.ledger.chain.chain._PAGE", 10)
    monkeypatch.setattr("giveortake.ledger.chain.store._PATIENCE", 0.2)
    where, mark = str(tmp_path / "l"), tmp_path / "mark"
    with opened(where, mark=mark) as other:
        fill(other)
        read, pages = FileMark.read, iter(range(100, 103))

        def reading(self: FileMark) -> Any:
            found = read(self)
            number = None if self is other.chain.mark else next(pages, None)
            if number is not None:
                ask(other, number)
            return found

        monkeypatch.setattr(FileMark, "read", reading)
        with opened(where, mark=mark, read_only=read_only) as ledger:
            monkeypatch.undo()
            assert [each.hash for each in ledger.history()] == [each.hash for each in other.history()]
            assert next(pages, None) is None


__all__ = ["place"]
