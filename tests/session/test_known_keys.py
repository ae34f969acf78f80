"""SELECT DISTINCT of declared keys is told by the domains: free, without a row, and nothing else is told."""

from __future__ import annotations

import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import QueryRefused

TRIPS = pl.DataFrame({"u": [1, 2], "region": ["north", "mars"], "age": [3, 4], "note": ["a", "b"]})


@pytest.fixture
def session() -> gt.session.Session:
    domains = {"region": ["south", "north"], "age": (0, 3)}
    return gt.protect({"trips": TRIPS}, name="trips", unit="u", budget=gt.PureDP(1), domains=domains)


def test_declared_keys_are_told_at_no_cost_whatever_the_rows_hold(session: gt.session.Session) -> None:
    query = session.sql("SELECT DISTINCT region, age FROM trips ORDER BY age DESC, region LIMIT 3")
    answer = query.answer()
    assert answer.to_dict() == {"region": ["north", "south", "north"], "age": [3, 3, 2]}
    assert answer.cost is None
    assert query.quote().cost is None
    assert "10 known" in str(query.quote().keys)
    assert [each.to_dict() for each in query.stream()] == [answer.to_dict()]
    assert session.budget.left == 1
    assert "reservation" not in {entry.kind for entry in session.history()}


def test_frames_tell_the_same(session: gt.session.Session) -> None:
    assert session.table("trips").distinct("region").answer().to_dict() == {"region": ["south", "north"]}


def test_what_rows_decide_is_refused(session: gt.session.Session) -> None:
    with pytest.raises(QueryRefused):
        session.sql("SELECT DISTINCT note FROM trips")
    with pytest.raises(QueryRefused):
        session.sql("SELECT DISTINCT region FROM trips WHERE age > 1")
    with pytest.raises(QueryRefused, match="names people"):
        session.table("trips").distinct("u")


def test_a_batch_pays_for_nothing_that_is_known(session: gt.session.Session) -> None:
    with pytest.raises(QueryRefused):
        session.batch([session.sql("SELECT DISTINCT region FROM trips")]).answer(epsilon=1)
    assert session.budget.left == 1
