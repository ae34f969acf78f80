"""What a ledger refuses of its own callers, and what its readers may see, on both backends."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledger_places import Place, ServerPlace, place

from giveortake.errors import (
    InvalidParameter,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerMismatch,
    LedgerRolledBack,
    LedgerUnavailable,
    NotFound,
)
from giveortake.ledger import Charge, Ledger
from giveortake.ledger import open as open_ledger
from giveortake.ledger.chain import chain as chains
from giveortake.ledger.chain.entries import Point
from giveortake.ledger.chain.postgres import PostgresMark, PostgresStore
from giveortake.ledger.chain.watermark import FileMark
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace, Pure

TENTH = Laplace(10)


def begin(ledger: Ledger) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")


class Stop:
    """Raise at one label, once it is armed."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.armed = False

    def __call__(self, label: str) -> None:
        if self.armed and label == self.label:
            self.armed = False
            raise KeyboardInterrupt


# -- a call from inside a transaction ---------------------------------------------------------------------------


class Calling(Mapping[str, int]):
    """An answer that calls the ledger back when it is read."""

    def __init__(self, call: Any) -> None:
        self.call = call

    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        self.call()
        return iter(["a"])

    def __len__(self) -> int:
        return 1

    def items(self) -> ItemsView[str, int]:
        self.call()
        return super().items()


CALLS = {
    "reserve": lambda ledger: ledger.reserve(Charge(TENTH, dataset="d", key="inner")),
    "levels": lambda ledger: ledger.levels(),
    "close": lambda ledger: ledger.close(),
}


def test_a_call_from_inside_a_transaction_is_refused_and_spoils_nothing(place: Place) -> None:
    armed: list[tuple[str, str]] = []

    def interrupt(reached: str) -> None:
        if armed and reached == armed[0][0]:
            _, call = armed.pop()
            with pytest.raises(LedgerBusy) as refused:
                CALLS[call](ledger)
            assert refused.value.hint

    with place.open(at=interrupt) as ledger:
        begin(ledger)
        for number, (label, call) in enumerate(itertools.product(["begun", "written", "committed"], CALLS)):
            armed.append((label, call))
            assert ledger.reserve(Charge(Laplace(100), dataset="d", key=f"outer {number}")).fresh
            assert not armed, (label, call)
            assert [entry.kind for entry in ledger.history()][3:] == ["reserved"] * (number + 1), (label, call)
        ledger.verify()


def test_an_answer_that_calls_the_ledger_writes_nothing(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        paid = ledger.reserve(Charge(TENTH, dataset="d", key="outer"))
        with pytest.raises((LedgerBusy, InvalidParameter)):
            ledger.settle(paid, Calling(lambda: ledger.reserve(Charge(TENTH, dataset="d", key="inner"))))
        assert len(ledger.history()) == 4
        assert ledger.reserve(Charge(TENTH, dataset="d", key="inner")).fresh


def _write_after_the_end(store: Any, tables: Any) -> None:
    store._connection.execute("ROLLBACK")
    with pytest.raises(LedgerUnavailable, match="ended"):
        tables.keep_snapshot(2, "{}")
    raise KeyboardInterrupt


def test_a_transaction_that_somebody_ended_is_not_committed(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        store: Any = ledger.chain.store
        with pytest.raises(KeyboardInterrupt), store.writing() as tables:
            _write_after_the_end(store, tables)
        with pytest.raises(LedgerUnavailable, match="ended"), store.writing():
            store._connection.execute("COMMIT")
        ledger.verify()


def test_a_connection_in_the_middle_of_a_transaction_is_not_used(server: str) -> None:
    place = ServerPlace(server)
    with place.open() as ledger:
        begin(ledger)
        store: Any = ledger.chain.store
        store.connected().execute("BEGIN")
        with pytest.raises(LedgerUnavailable, match="transaction"):
            ledger.levels()
        assert len(ledger.levels()) == 2


def test_every_commit_is_durable_whatever_the_session_says(server: str) -> None:
    place = ServerPlace(server)
    with place.open() as ledger:
        begin(ledger)
        for kept in (ledger.chain.store, ledger.chain.mark):
            assert isinstance(kept, PostgresStore | PostgresMark)
            kept.connected().execute("SET synchronous_commit = off")
            with kept.in_transaction() as connection:
                assert connection.execute("SHOW synchronous_commit").fetchall() == [("on",)]


# -- what is committed and not marked ---------------------------------------------------------------------------


def test_an_answer_is_not_shown_before_it_is_marked(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_PATIENCE", 0.05)
    stop = Stop("committed")
    with place.open(at=stop) as ledger:
        begin(ledger)
        held = ledger.reserve(Charge(TENTH, dataset="d", key="k"))
        reader = place.open(read_only=True)
        stop.armed = True
        with pytest.raises(KeyboardInterrupt):
            ledger.settle(held, "forty-one")
    for look in (
        lambda: place.open(read_only=True),
        reader.history,
        reader.levels,
        lambda: reader.settle(held, None),
        lambda: reader.reserve(Charge(TENTH, dataset="d", key="k")),
    ):
        with pytest.raises(LedgerUnavailable, match="mark") as found:
            look()
        assert "forty-one" not in str(found.value)
        assert found.value.hint
    steps: list[str] = []
    with place.open(at=steps.append) as ledger:
        assert "mark moved" in steps
        assert ledger.history()[-1].content["answer"] == "forty-one"
    assert reader.settle(held, None) == "forty-one"
    reader.close()


@pytest.mark.parametrize("look", ["history", "levels", "verify"])
def test_a_ledger_that_can_write_moves_the_mark_before_it_shows_anything(place: Place, look: str) -> None:
    stop, steps = Stop("committed"), list[str]()
    with place.open(at=stop) as writer, place.open(at=steps.append) as other:
        begin(writer)
        held = writer.reserve(Charge(TENTH, dataset="d", key="k"))
        other.levels()
        steps.clear()
        stop.armed = True
        with pytest.raises(KeyboardInterrupt):
            writer.settle(held, "forty-one")
        getattr(other, look)()
        assert steps.count("mark moved") == 1
        mark = other.chain.mark.read()
        assert mark is not None
        assert mark.number == other.chain.length == 5
        getattr(other, look)()
        assert steps.count("mark moved") == 1


def test_a_mark_that_cannot_be_moved_keeps_the_answer_in(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop("committed")
    with place.open(at=stop) as writer, place.open() as other:
        begin(writer)
        held = writer.reserve(Charge(TENTH, dataset="d", key="k"))
        stop.armed = True
        with pytest.raises(KeyboardInterrupt):
            writer.settle(held, "forty-one")

        def full(*_: object) -> bool:
            raise LedgerUnavailable("the disk is full")

        monkeypatch.setattr(type(other.chain.mark), "move", full)
        with pytest.raises(LedgerUnavailable, match="full"):
            other.history()
        with pytest.raises(LedgerUnavailable, match="full"):
            other.settle(held, None)


# -- arguments, marks and passwords -----------------------------------------------------------------------------


def test_a_mark_on_a_server_is_moved_from_where_it_is_or_not_at_all(server: str) -> None:
    place = ServerPlace(server)
    with place.open() as ledger:
        begin(ledger)
    mark = PostgresMark(place.where)
    found = mark.read()
    assert found is not None
    assert found.number == 3
    further = replace(found, number=9, hash="0" * 64)
    assert not mark.move(found, replace(further, ledger="another ledger"))
    assert not mark.move(replace(found, hash="1" * 64), further)
    assert mark.read() == found
    assert mark.move(found, further)
    assert not mark.move(found, found), "it has been moved once"
    assert mark.read() == further
    mark.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@nowhere.invalid/db",
        "postgresql://ann:x@hunter2@nowhere.invalid/db",
        "postgresql://ann@nowhere.invalid/db?password=hunter2",
        "postgresql://ann@nowhere.invalid/db?sslmode=disable&sslpassword=hunter2&schema=s",
        "postgresql://ann@nowhere.invalid/db?PASSWORD=hunter2",
        "postgresql://ann:hunter2%zz@nowhere.invalid/db",
        "postgresql://ann@nowhere.invalid/db?password=hunter2\0",
    ],
)
def test_passwords_stay_out_of_names_and_errors(url: str) -> None:
    assert "hunter2" not in PostgresStore(url).name
    assert "nowhere.invalid" in PostgresStore(url).name
    with pytest.raises((LedgerError, InvalidParameter)) as found:
        opened(url)
    error: BaseException | None = found.value
    while error is not None:
        assert "hunter2" not in f"{error} {error.args!r}"
        error = error.__cause__


def test_a_budget_is_changed_only_by_a_standing_of_the_same_ledger(place: Place) -> None:
    with place.open() as ledger, opened(":memory:") as other:
        begin(ledger)
        foreign = other.population("patients", budget=PureDP(1))
        other.dataset("d", population="patients")
        later = other.population("others", budget=PureDP(1))
        for standing in (foreign, later):
            with pytest.raises(LedgerMismatch):
                ledger.change_budget(standing, PureDP(2), reason="a mistake")
        with pytest.raises(InvalidParameter, match="standing"):
            ledger.change_budget(2, PureDP(2), reason="a mistake")  # type: ignore[arg-type]
        assert len(ledger.history()) == 3
        assert ledger.change_budget(ledger.levels()[0], PureDP(2), reason="more").budget == PureDP(2)


def test_only_a_whole_number_names_a_reservation(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        held = ledger.reserve(Charge(TENTH, dataset="d"))
        assert held.number == 4
        wrong: list[Any] = [True, 4.0, "4", None]
        for number in wrong:
            with pytest.raises(InvalidParameter, match="reservation"):
                ledger.settle(number, "answer")
        with pytest.raises(NotFound):
            ledger.settle(1, "answer")
        assert ledger.settle(4, "answer") == "answer"


def test_what_is_no_promise_is_no_budget() -> None:
    budgets: list[Any] = [(1, "1e-6"), 0.3, "1"]
    with open_ledger(":memory:") as ledger:
        begin(ledger)
        for budget in budgets:
            with pytest.raises(InvalidParameter):
                ledger.population("others", budget=budget)
            with pytest.raises(InvalidParameter):
                ledger.analyst("ann", datasets=["d"], budget=budget)
        assert len(ledger.history()) == 3


def test_what_a_level_can_afford_is_admitted_and_a_little_more_is_not(place: Place) -> None:
    with place.open() as ledger:
        level = ledger.population("people", budget=PureDP("0.3"))
        uncapped = ledger.dataset("d", population="people")
        ledger.reserve(Charge(Pure("0.1"), dataset="d"))
        assert ledger.affordable(level) == Fraction(1, 5)
        assert ledger.affordable(uncapped) is None
        ledger.reserve(Charge(Pure("0.2"), dataset="d"))
        assert ledger.affordable(level) == 0


@pytest.mark.parametrize("moment", ["written", "compared"])
def test_of_two_copies_with_one_mark_only_one_gives_an_answer_out(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first.ledger", tmp_path / "second.ledger"
    with open_ledger(first) as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("visits", population="people")
        paid = ledger.reserve(Charge(Pure(1), dataset="visits", key="k"))
    shutil.move(first, second)
    open_ledger(second).close()  # both paths are known
    shutil.copy(second, first)
    kept: list[str] = []
    with open_ledger(first) as ledger:

        def meanwhile(now: str) -> None:
            if now == moment and not kept:
                kept.append("first")
                ledger.settle(paid.number, {"n": 41})

        move = FileMark.move

        def moved(mark: FileMark, before: Point, point: Point) -> bool:
            meanwhile("compared")  # whatever was compared before this is not believed
            return move(mark, before, point)

        monkeypatch.setattr(FileMark, "move", moved)
        with opened(second, at=meanwhile) as other, pytest.raises(LedgerRolledBack):
            other.settle(paid.number, {"n": 43})
    assert kept == ["first"]


def test_a_reader_of_one_copy_does_not_take_the_mark_of_another_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark may be further on than what was read, and yet not vouch for it: a copy may have moved it."""
    first, second, mark = tmp_path / "first.ledger", tmp_path / "second.ledger", tmp_path / "mark"
    with opened(first, mark=mark) as ledger:
        ledger.population("people", budget=PureDP(9))
        ledger.dataset("visits", population="people")
        paid = ledger.reserve(Charge(Pure(1), dataset="visits", key="k"))
    shutil.copy(first, second)

    def killed(now: str) -> None:
        if now == "committed":
            raise KeyboardInterrupt

    with opened(second, mark=mark) as reader:
        with opened(second, mark=mark, at=killed) as other, pytest.raises(KeyboardInterrupt):
            other.settle(paid.number, {"n": 41})
        look, looks = FileMark.read, [0]

        def looked(mark: FileMark) -> Point | None:
            looks[0] += 1
            if looks[0] == 3:  # after the reader has read the entries by a mark that is behind them
                with opened(first, mark=tmp_path / "mark") as ledger:
                    assert ledger.settle(paid.number, {"n": 57}) == {"n": 57}
                    ledger.reserve(Charge(Pure(1), dataset="visits", key="other"))
            return look(mark)

        monkeypatch.setattr(FileMark, "read", looked)
        with pytest.raises(LedgerRolledBack):
            reader.release(paid.id)
    assert looks[0] > 3
