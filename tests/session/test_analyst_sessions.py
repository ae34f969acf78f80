"""One engine, one ledger, several askers: each is told their own and nothing else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import AccessDenied, BudgetExceeded, LedgerMismatch, NotFound
from giveortake.session import Session
from giveortake.session.session import session_as_now
from inside import ledger_of
from small_session import COUNT, small_session

TOTAL = "SELECT COUNT(*) AS n FROM data"


@pytest.fixture
def book() -> Any:
    with gt.ledger.open(":memory:") as ledger:
        yield ledger


@pytest.fixture
def s(book: gt.ledger.Ledger) -> Any:
    with small_session(ledger=book, budget=gt.PureDP(100)) as session:
        for name, budget in (("ann", 3), ("bob", 2)):
            book.analyst(name, datasets=["data"], budget=gt.PureDP(budget))
        yield session


def test_each_asks_within_their_own_budget_and_sees_their_own_alone(s: Session) -> None:
    ann, bob = s.as_analyst("ann"), s.as_analyst("bob")
    assert (ann.describe().analyst, ann.budget.granted, bob.budget.granted) == (
        "ann",
        gt.PureDP(3, unit=s.budget.granted.unit),
        gt.PureDP(2, unit=s.budget.granted.unit),
    )
    told = ann.sql(COUNT).answer(epsilon=1)
    assert (ann.budget.spent, bob.budget.spent) == (1, 0)
    assert [each.id for each in ann.releases()] == [told.release_id]
    assert bob.releases() == []
    with pytest.raises(NotFound):
        bob.release(told.release_id or "")
    with pytest.raises(NotFound):
        bob.releases(after=told.release_id)
    with pytest.raises(NotFound):
        bob.release(told.release_id or "").refine(epsilon=1)
    assert bob.sql(COUNT).answer(epsilon=1).release_id != told.release_id  # drawn anew, and paid by bob
    with pytest.raises(BudgetExceeded):
        bob.sql(TOTAL).answer(epsilon="1.1")
    assert len(s.releases()) == 2
    assert {entry.kind for entry in bob.history()} == {"analyst", "reserved", "settled"}


def test_who_is_unknown_or_revoked_is_refused_as_the_ledger_does(s: Session, book: gt.ledger.Ledger) -> None:
    with pytest.raises(NotFound, match="'eve'"):
        s.as_analyst("eve")
    ann = s.as_analyst("ann")
    told = ann.sql(COUNT).answer(epsilon=1)
    book.revoke("ann", reason="left")
    for ask in (
        lambda: s.as_analyst("ann"),
        lambda: ann.sql(TOTAL).quote(epsilon=1),
        lambda: ann.sql(COUNT).answer(epsilon=1),
        lambda: ann.release(told.release_id or ""),
        ann.releases,
    ):
        with pytest.raises(AccessDenied):
            ask()
    assert s.release(told.release_id or "").to_dict() == told.to_dict()  # the custodian's is another session


def test_an_analyst_speaks_for_nobody_else(s: Session) -> None:
    ann = s.as_analyst("ann")
    assert ann.as_analyst("ann").describe().analyst == "ann"
    with pytest.raises(AccessDenied):
        ann.as_analyst("bob")


def test_closing_an_analysts_session_closes_nothing(s: Session) -> None:
    with s.as_analyst("ann") as ann:
        ann.partition("r")["north"].close()
    assert len(s.as_analyst("bob").sql(TOTAL).answer(epsilon=1)) == 1


def test_the_same_promise_as_if_the_session_had_been_opened_for_the_analyst(book: gt.ledger.Ledger, s: Session) -> None:
    with small_session(ledger=book, budget=gt.PureDP(100), analyst="ann", population="people of data") as opened:
        handed = s.as_analyst("ann")
        assert (opened.budget.granted, opened.budget.affordable) == (handed.budget.granted, handed.budget.affordable)
        first = opened.sql(COUNT).answer(epsilon=1, key="k")
        assert handed.sql(COUNT).answer(epsilon=1, key="k").to_dict() == first.to_dict()
        assert handed.budget.spent == 1


def test_pooled_analysts_share_the_budget_of_the_people(book: gt.ledger.Ledger) -> None:
    book.population("people", budget=gt.PureDP(3), unit="p", analysts="pooled")
    with small_session(ledger=book, budget=gt.PureDP(3), population="people") as s:
        book.analyst("ann", datasets=["data"])
        ann = s.as_analyst("ann")
        ann.sql(COUNT).answer(epsilon=1)
        assert (ann.budget.granted, ann.budget.left, s.budget.left) == (s.budget.granted, 2, 2)


def test_when_something_was_paid_for_is_told_to_whoever_paid_and_not_to_others(book: gt.ledger.Ledger) -> None:
    book.population("people", budget=gt.PureDP(30), unit="p", analysts="pooled")
    with small_session(ledger=book, budget=gt.PureDP(30), population="people") as s:
        for name in ("ann", "bob"):
            book.analyst(name, datasets=["data"], budget=gt.PureDP(9))
        ann, bob = s.as_analyst("ann"), s.as_analyst("bob")
        assert "asked before" not in " ".join(ann.sql(COUNT).answer(epsilon=1).notes)
        assert "asked before" not in " ".join(bob.sql(COUNT).answer(epsilon=1).notes)  # whose own budget pays
        for who in (ann, bob):
            moment = next(each.at for each in who.history() if each.kind == "reserved")[:16].replace("T", " ")
            for key in (None, f"{who.describe().analyst} 1", f"{who.describe().analyst} 1"):
                assert f"{moment} UTC" in who.sql(COUNT).answer(epsilon=1, key=key).notes[0]
        told = s.sql(COUNT).answer(epsilon=1)  # the people have paid, and the custodian has not
        assert "asked before" in told.notes[0]
        assert "UTC" not in told.notes[0]


def test_a_session_can_be_had_with_the_promise_of_now(book: gt.ledger.Ledger, s: Session) -> None:
    ann = s.as_analyst("ann")
    assert session_as_now(ann) is ann
    before = ann.budget.granted
    level = next(each for each in book.levels(analyst="ann"))
    book.change_budget(level, gt.PureDP(4, unit=s.budget.granted.unit), reason="more is needed")
    now = [session_as_now(known).budget.granted for known in (ann, s)]
    assert (ann.budget.granted, *now) == (before, gt.PureDP(4, unit=before.unit), s.budget.granted)


def test_a_table_whose_data_set_got_a_cap_is_protected_again(tmp_path: Path) -> None:
    where = tmp_path / "people.ledger"
    with small_session(ledger=where) as session:
        ledger = ledger_of(session)
        (level,) = (level for level in ledger.levels() if level.kind == "data set")
        ledger.change_budget(level, gt.PureDP(1, unit=session.budget.granted.unit), reason="a part of it is enough")
    with small_session(ledger=where) as session, pytest.raises(BudgetExceeded):
        session.sql(COUNT).answer(epsilon=2)


def test_several_threads_ask_one_engine_for_several_analysts(s: Session) -> None:
    texts = [COUNT, TOTAL, "SELECT q, SUM(x) AS a FROM data WHERE x > 3 GROUP BY q", "SELECT AVG(x) AS m FROM data"]
    spend = Fraction(1, 8)

    def ask(place: int) -> list[Any]:
        session = s.as_analyst(("ann", "bob")[place % 2])
        query = session.sql(texts[place // 2 % len(texts)])
        options: Any = {"key_delta": "1e-6"} if query.finds_keys else {}
        query.quote(epsilon=spend, **options)
        answer = query.answer(epsilon=spend, **options) if not query.finds_keys else None
        return [session.describe().analyst, query.text, None if answer is None else answer.to_dict()]

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(ask, range(48)))
    for one in told:
        assert all(other[2] == one[2] for other in told if other[:2] == one[:2])  # drawn once for each analyst
    assert [s.as_analyst(name).budget.spent for name in ("ann", "bob")] == [3 * spend, 3 * spend]


@pytest.mark.parametrize("ask", ["an analyst", "a part", "a workload"])
def test_whoever_is_charged_first_and_for_whatever_freezes_the_domains(ask: str) -> None:
    table = pl.DataFrame({"u": range(60), "g": ["a", "b", "c"] * 20})
    with gt.ledger.open(":memory:") as ledger:
        ledger.population("people", budget=gt.PureDP(9), unit="u")
        said: Any = {"unit": "u", "budget": gt.PureDP(9), "rows_per_person": 1, "name": "t"}
        said["ledger"] = gt.ledger.at(ledger, population="people")
        with gt.protect(table, domains={"g": ["a"]}, **said):
            pass
        with gt.protect(table, domains={"g": ["a", "b"]}, **said) as s:  # nothing was charged yet
            if ask == "an analyst":
                ledger.analyst("ann", datasets=["t"], budget=gt.PureDP(2))
                s.as_analyst("ann").sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=1)
            elif ask == "a part":
                s.partition("g")["a"].sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=1)
            else:
                s.workload(gt.workload.marginals(["g"])).answer(epsilon=1)
        with pytest.raises(LedgerMismatch, match="other domains"):
            gt.protect(table, domains={"g": ["a", "b", "c"]}, **said)
