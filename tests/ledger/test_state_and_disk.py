"""What a ledger has in memory is what it has on disk: whatever is refused, interrupted or fails, and wherever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ledger_places import Place, place

from giveortake.errors import LedgerDamaged, LedgerRolledBack, LedgerTooNew, LedgerUnavailable
from giveortake.ledger import Charge, Ledger
from giveortake.ledger.chain.state import ENTRY_TYPES
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

TENTH = Laplace(10)


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
