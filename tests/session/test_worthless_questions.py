"""What would be worthless is called so before it is paid."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import polars as pl

import giveortake as gt
from profiled_trips import BY_TOWN, COUNT, PLENTY, found_keys, session, trips


def test_keys_that_nobody_could_show_are_seen_before_they_are_paid() -> None:
    s = session(budget=gt.ApproxDP(2_000, "1e-6"))
    by_amount = s.sql(
        "SELECT k, COUNT(*) AS n FROM (SELECT person, ROUND(CLAMP(amount * 1e5, -1e6, 1e6)) AS k FROM trips) GROUP BY k"
    )
    unknown = by_amount.quote(epsilon="0.01", rows_per_person=1)
    assert unknown.worthless is None  # nobody knows how many there are
    assert unknown.doubt is not None
    paid = by_amount.answer(epsilon="0.01", rows_per_person=1)
    assert len(paid) == 0
    assert len(paid.notes) > 0
    stated = by_amount.quote(epsilon="0.01", rows_per_person=1, n=50)
    assert stated.worthless is not None
    assert str(stated.worthless) in str(stated)
    assert stated.doubt is None
    s.profile().answer(epsilon=100)
    assert "profile" in str(by_amount.quote(epsilon="0.01", rows_per_person=1).worthless)
    assert by_amount.quote(epsilon=5, rows_per_person=1).worthless is None


def test_margins_as_wide_as_what_they_are_about_are_called_worthless() -> None:
    s = session()
    mean = s.sql("SELECT AVG(amount) AS m FROM trips")
    assert "n is 3" in str(mean.quote(epsilon=1, rows_per_group=1, n=3).worthless)
    assert mean.quote(epsilon=1, rows_per_group=1, n=3_000).worthless is None
    count = s.sql(COUNT)
    assert "10 rows" in str(count.quote(epsilon="0.01", rows_per_group=1, n=10).worthless)
    assert count.quote(epsilon="0.01", rows_per_group=1).worthless is None
    s.profile().answer(epsilon=100)
    assert "profile" in str(count.quote(epsilon="0.0001", rows_per_group=40).worthless)
    assert count.quote(epsilon=1, rows_per_group=40).worthless is None


def test_how_many_rows_a_mean_needs_is_said_before_it_is_paid_and_compared_with_a_profile() -> None:
    s = session()
    mean = s.sql("SELECT AVG(amount) AS m FROM trips")
    unknown = mean.quote(epsilon=1, rows_per_group=40)
    assert unknown.worthless is None
    assert any("`m` says" in note for note in unknown.notes)
    s.profile().answer(epsilon=100)
    assert mean.quote(epsilon=1, rows_per_group=40).worthless is None
    assert "profile" in str(mean.quote(epsilon="0.01", rows_per_group=40).worthless)
    beside = s.sql("SELECT COUNT(*) AS n, AVG(amount) AS m FROM trips")
    few, many = (beside.quote(epsilon=1, rows_per_group=1, n=n) for n in (5, 5_000))
    assert any("`m` says nothing" in note for note in few.notes)
    assert not any("`m` says nothing" in note for note in many.notes)


def test_a_sum_is_compared_with_the_greatest_sum_and_not_with_a_number_of_rows() -> None:
    table = trips().with_columns(amount=pl.col("amount").cast(pl.Int64))
    said: dict[str, Any] = {"unit": "person", "budget": PLENTY, "name": "trips"}
    with gt.protect(table, domains={"amount": (-50, 50)}, **said) as made:
        made.profile().answer(epsilon=100)
        total = made.sql("SELECT SUM(amount) AS s FROM trips")
        assert total.quote(epsilon=1, rows_per_group=40).worthless is None
        assert total.quote(epsilon="0.01", rows_per_group=40).worthless is not None
        assert total.quote(epsilon="0.1", rows_per_group=1, n=100).worthless is None
        assert "10 rows" in str(total.quote(epsilon="0.1", rows_per_group=1, n=10).worthless)


def test_keys_that_few_groups_could_reach_and_distinct_values_below_the_noise_are_called_worthless() -> None:
    s = found_keys()
    query = s.sql(BY_TOWN)
    assert query.quote(epsilon="0.5", rows_per_person=100).worthless is None
    s.profile(by=["town"]).answer(epsilon=100)
    assert query.quote(epsilon=2, rows_per_person=50).worthless is None
    assert query.quote(epsilon="0.5", rows_per_person=50).worthless is not None
    assert query.quote(epsilon=8, rows_per_person=300, groups_per_person=4, rows_per_group=80).worthless is None
    distinct = session().sql("SELECT COUNT(DISTINCT region) AS n FROM trips")
    assert "3 values" in str(distinct.quote(epsilon="0.1", rows_per_group=3).worthless)
    assert distinct.quote(epsilon=50, rows_per_group=3).worthless is None
    persons = s.sql("SELECT COUNT(DISTINCT person) AS n FROM trips")
    assert persons.quote(epsilon="0.001").worthless is not None
    assert persons.quote(epsilon=1).worthless is None


def test_a_quote_says_that_there_is_no_delta_left_for_finding_keys() -> None:
    visits = files("giveortake") / "data" / "visits.csv"
    with gt.protect(visits, unit="person_id", budget=gt.ApproxDP(9, "1e-6"), rows_per_person=4) as s:
        q = s.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region")
        assert q.quote(epsilon=1).doubt is not None
        q.answer(epsilon=1, key_delta="1e-7")
        quote = q.quote(epsilon=1, key_delta="9e-8")
        assert not quote.admitted
        assert any("δ = " in each for each in quote.notes)
        assert quote.used_after is None


def test_what_is_always_zero_has_a_price_beside_a_profile_too() -> None:
    s = session(budget=gt.ApproxDP(2_000, "1e-6"))
    s.profile().answer(epsilon=100)
    for text in ("COUNT(*) - COUNT(*)", "0 * COUNT(*)"):
        quote = s.sql(f"SELECT {text} AS n FROM trips").quote(epsilon="0.01", rows_per_person=1, n=50)
        assert (quote.worthless, quote.margins["n"]) == (None, 0)
