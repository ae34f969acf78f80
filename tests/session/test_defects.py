"""Errors that no limit explains: whoever meets one observes no other, and the custodian is told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.errors import AllowanceExceeded, InvalidParameter, LedgerBusy, QueryFailed
from giveortake.ledger.reservations import bits_of, revealed
from giveortake.session.steps import sealed
from small_session import COUNT, ROWS, small_session
from waiting import LONGEST

PERSON = 59  # whose rows the broken code does not bear


def breaking(monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception]) -> None:
    """An engine with a mistake: it reads as it should, and raises if some group has the rows of one person."""
    usual = DuckDBEngine._guarded

    def broken(self: DuckDBEngine, *statement: Any) -> Any:
        found = usual(self, *statement)
        if "120" in str(found) or str(60 * 1024) in str(found):  # with that person's: in all, or in a group
            raise error()
        return found

    monkeypatch.setattr(DuckDBEngine, "_guarded", broken)


def asked(book: gt.ledger.Ledger, table: Any = ROWS) -> list[str]:
    """What becomes of four questions of an analyst, one after the other."""
    outcomes = []
    with small_session(table, ledger=book, analyst="ann") as ann:
        for number in range(4):
            try:
                ann.sql(f"SELECT r, COUNT(*) AS n FROM data WHERE x > -{number + 1} GROUP BY r").answer(epsilon=1)
                outcomes.append("answer")
            except QueryFailed as failed:
                outcomes.append(failed.cause)
            except AllowanceExceeded:
                outcomes.append("refused")
    return outcomes


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OverflowError, ["defect", "refused", "refused", "refused"]),
        (lambda: InvalidParameter("steps", 1, "is a mistake"), ["defect", "refused", "refused", "refused"]),
        (MemoryError, ["memory", "memory", "memory", "refused"]),
        (lambda: QueryFailed("too slow", cause="time"), ["time", "time", "time", "refused"]),
    ],
    ids=["an error of Python", "one of ours", "memory", "time"],
)
def test_an_error_that_no_limit_explains_uses_up_all_failures_and_a_limit_uses_up_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Callable[[], Exception],
    expected: list[str],
) -> None:
    where = tmp_path / "people.ledger"
    with gt.ledger.open(where) as book:
        small_session(ledger=book).close()
        book.analyst("ann", datasets=["data"], budget=gt.PureDP(20))
        book.analyst("bob", datasets=["data"], budget=gt.PureDP(20))
        breaking(monkeypatch, error)
        with caplog.at_level(logging.ERROR, logger="giveortake"):
            assert asked(book) == expected
    is_defect = expected[0] == "defect"
    assert any("test_defects" in each.getMessage() for each in caplog.records) == is_defect
    with gt.ledger.open(where) as book:  # it is durable
        ann, bob = (each for each in book.failures() if each.kind == "analyst")
        assert (ann.failed, ann.left, ann.defects) == ((1, 0, 1) if is_defect else (3, 0, 0))
        assert (bob.failed, bob.left, bob.defects) == (0, 3, 0)
        assert ann.executions == (2 if is_defect else 6)
        assert ann.revealed == revealed(book.failures()) == bits_of(ann.executions, ann.failed)
        kinds = [entry.kind for entry in book.entries(analyst="ann")]
        assert kinds.count("defect") == is_defect
        book.verify()
        book.reset_failures(*book.levels(analyst="ann"), reason="the mistake is mended")
        ann = next(each for each in book.failures() if each.name == "ann")
        assert (ann.left, ann.defects) == (3, int(is_defect))


def test_one_failure_at_most_tells_the_tables_of_two_neighbours_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken code tells of one person by one failure; asked of the next, it is silent."""
    outcomes = {}
    breaking(monkeypatch, OverflowError)
    for name, table in (("with", ROWS), ("without", ROWS.filter(ROWS["p"] != PERSON))):
        with gt.ledger.open(tmp_path / name) as book:
            small_session(table, ledger=book).close()
            book.analyst("ann", datasets=["data"], budget=gt.PureDP(20))
            outcomes[name] = asked(book, table)
    assert outcomes == {"with": ["defect", "refused", "refused", "refused"], "without": ["answer"] * 4}


def test_what_was_under_way_when_a_defect_came_looks_like_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many questions at once, each would tell of another person; now all that follow the first look alike."""
    is_reading, goes_on = threading.Event(), threading.Event()
    usual = DuckDBEngine._guarded

    def broken(self: DuckDBEngine, *statement: Any) -> Any:
        if "7777" in str(statement):
            raise OverflowError
        if "5555" in str(statement):
            is_reading.set()
            assert goes_on.wait(LONGEST)
        return usual(self, *statement)

    outcomes: list[Exception] = []

    def ask(session: gt.session.Session, limit: int) -> None:
        with pytest.raises(QueryFailed) as caught:
            session.sql(f"SELECT r, COUNT(*) AS n FROM data WHERE x < {limit} GROUP BY r").answer(epsilon=1)
        outcomes.append(caught.value)

    with gt.ledger.open(tmp_path / "people.ledger") as book:
        small_session(ledger=book).close()
        book.analyst("ann", datasets=["data"], budget=gt.PureDP(20))
        monkeypatch.setattr(DuckDBEngine, "_guarded", broken)
        with small_session(ledger=book, analyst="ann") as one, small_session(ledger=book, analyst="ann") as other:
            sound = threading.Thread(target=ask, args=(one, 5555))
            sound.start()
            assert is_reading.wait(LONGEST)
            ask(other, 7777)
            goes_on.set()
            sound.join(LONGEST)
        assert [str(each) for each in outcomes] == [str(outcomes[0])] * 2
        assert {each.cause for each in outcomes if isinstance(each, QueryFailed)} == {"defect"}
        assert not any(entry.kind == "settled" for entry in book.entries(analyst="ann"))


def test_a_defect_stops_its_asker_in_every_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gt.ledger.open(tmp_path / "people.ledger") as book:
        for name in ("one", "two"):
            small_session(ledger=book, name=name, population="people").close()
            book.analyst("ann", datasets=[name], budget=gt.PureDP(9))

        def broken(*_statement: object) -> None:
            raise OverflowError

        monkeypatch.setattr(DuckDBEngine, "_guarded", broken)
        outcomes = []
        for name in ("one", "two"):
            with small_session(ledger=book, name=name, analyst="ann") as session:
                with pytest.raises((QueryFailed, AllowanceExceeded)) as caught:
                    session.sql(f"SELECT r, COUNT(*) AS n FROM {name} GROUP BY r").answer(epsilon=1)
                outcomes.append(caught.type)
        assert outcomes == [QueryFailed, AllowanceExceeded]


def test_an_error_that_is_no_exception_is_a_defect_and_an_interruption_is_none() -> None:
    class PanicException(BaseException):
        """As libraries in Rust raise it."""

    def panic() -> None:
        raise PanicException("a row")

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(QueryFailed) as failed:
        sealed(panic)
    assert (failed.value.cause, "a row" in str(failed.value)) == ("defect", False)
    with pytest.raises(KeyboardInterrupt):
        sealed(interrupted)


def test_what_the_ledger_refuses_is_no_defect() -> None:
    def refused() -> None:
        raise LedgerBusy("try again")

    with pytest.raises(LedgerBusy):
        sealed(refused)


def test_a_workload_that_meets_a_defect_stops_its_asker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gt.ledger.open(tmp_path / "people.ledger") as book, small_session(ledger=book) as session:

        def broken(*_statement: object) -> None:
            raise OverflowError

        monkeypatch.setattr(DuckDBEngine, "_guarded", broken)
        workload = session.workload("SELECT r, COUNT(*) AS n FROM data GROUP BY ROLLUP (r)")
        with pytest.raises(QueryFailed):
            workload.answer(epsilon=1, rows_per_person=4)
        with pytest.raises(AllowanceExceeded):
            session.sql(COUNT).answer(epsilon=1)
