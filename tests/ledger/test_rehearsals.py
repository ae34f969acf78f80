"""A rehearsal says what a ledger would say, and is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger_places import FilePlace

from giveortake.errors import BudgetExceeded, GiveOrTakeError, NotFound, SameTable
from giveortake.ledger import Charge
from giveortake.ledger.opening import rehearsal
from giveortake.privacy import PureDP
from giveortake.privacy.events import Pure


@pytest.fixture
def place(tmp_path: Path) -> FilePlace:
    found = FilePlace(tmp_path)
    with found.open() as ledger:
        ledger.population("people", budget=PureDP(1), unit="p")
        ledger.dataset("visits", population="people", fingerprint="f" * 64, domains={"visits": {}})
        ledger.settle(ledger.reserve(Charge(Pure("0.6"), dataset="visits", name="q")), [41])
    return found


def test_a_rehearsal_knows_what_the_ledger_knows_and_changes_nothing(place: FilePlace) -> None:
    before = Path(place.where).read_bytes()
    with rehearsal(place.where, mark=place.mark) as copy:
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
    assert Path(place.where).read_bytes() == before
    with place.open() as ledger:
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
