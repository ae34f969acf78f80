"""Partitions, batches, and bounds that are found privately."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.compile import Caps
from giveortake.session import Session
from giveortake.session.partitions import Part
from stated_caps import stating_caps

REGIONS = ["north", "south", "east"]


def trips(people: int = 300, rows: int = 3) -> pl.DataFrame:
    n = people * rows
    return pl.DataFrame(
        {
            "person": [i % people for i in range(n)],
            "region": [REGIONS[(i % people + i // people) % 3] for i in range(n)],
            "amount": [float(i % 100) for i in range(n)],
        }
    )


def session(budget: Any = None, **options: Any) -> Session:
    said: dict[str, Any] = {
        "unit": "person",
        "budget": gt.PureDP(100) if budget is None else budget,
        "domains": {"region": REGIONS, "amount": (0, 100)},
        "name": "trips",
    }
    return gt.protect(trips(), **stating_caps({**said, **options}))


def test_parts_together_cost_the_dearest_one() -> None:
    s = session(groups_per_person=1, rows_per_group=3)
    parts = s.partition("region")
    for region in parts:
        parts[region].sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon=2)
    assert s.budget.spent == 2
    parts["south"].sql("SELECT AVG(amount) AS m FROM trips").answer(epsilon=1)
    assert s.budget.spent == 3
    s.sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon=1)
    assert s.budget.spent == 4


def test_the_quote_of_a_part_knows_what_the_parts_cost_together() -> None:
    s = session(budget=gt.PureDP(2), groups_per_person=1, rows_per_group=3)
    parts = s.partition("region")
    questions = {region: parts[region].sql("SELECT COUNT(*) AS n FROM trips") for region in parts}
    questions["north"].answer(epsilon=2)
    assert questions["south"].quote(epsilon=2).admitted  # the whole budget, of a part that has spent nothing
    assert not questions["north"].quote(epsilon=1).admitted
    questions["south"].answer(epsilon=2)
    assert s.budget.spent == 2


def test_a_person_counts_in_as_many_parts_as_was_said() -> None:
    """300 people have a row in each of 3 regions: with one part each, the parts hold 300 rows together, not 900."""
    for most, expected in [(1, 300), (2, 600), (3, 900)]:
        s = session(budget=gt.PureDP(10**6), groups_per_person=3, rows_per_group=3)
        parts = s.partition("region", parts_per_person=most)
        found = [parts[r].sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon=1000).value for r in parts]
        assert sum(found) == expected  # type: ignore[arg-type]
        assert s.budget.spent == 1000 * most


def test_nobody_finds_two_partitions_with_one_number() -> None:
    """Two columns and caps whose hashes share 56 bits, as a search of three minutes found them."""

    def number(column: str, rows: int) -> int:
        identity = ("duckdb 2.0.0", "v", "1", column, 1, 1)
        part = Part(column, "yes", 0, identity, "v", Caps(), touched=1, keep=1)
        return part.partition(Caps(rows_per_person=rows))

    first, second = number("urban", 8_015_971), number("sex", 18_758_980)
    assert first >> 72 == second >> 72 == 0x584A4F7949242C
    assert first != second


def test_rows_that_may_be_changed_pay_for_two_parts() -> None:
    s = session(unit=gt.ROW, neighbours="change-one")
    parts = s.partition("region")
    for place, region in enumerate(parts):
        parts[region].sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon=1)
        assert s.budget.spent == min(place + 1, 2)  # a count moves by one when a row enters, leaves or is changed


def test_parts_are_declared_and_not_nested() -> None:
    s = session(domains={"amount": (0, 100)})
    with pytest.raises(gt.errors.InvalidParameter):
        s.partition("region")
    parts = session().partition("region")
    with pytest.raises(gt.errors.InvalidParameter):
        parts["west"]
    with pytest.raises(gt.errors.InvalidParameter, match="already a part"):
        parts["north"].partition("region")


def test_a_batch_is_one_charge_of_the_whole_spend() -> None:
    s = session()
    queries = [
        s.sql("SELECT COUNT(*) AS n FROM trips"),
        s.sql("SELECT region, SUM(amount) AS t FROM trips GROUP BY region"),
    ]
    before = len(s.history())
    one, two = s.batch(queries).answer(epsilon=3)
    assert len(s.history()) == before + 2  # reserved, settled
    assert s.budget.spent == 3
    assert len(one) == 1
    assert len(two) == 3
    again = s.batch(queries).answer(epsilon=3)
    assert s.budget.spent == 3
    assert [a.columns for a in again] == [one.columns, two.columns]


def test_a_gaussian_batch_costs_no_more_than_one_gaussian_release() -> None:
    s = session(budget=gt.GaussianDP(1))
    s.batch([s.table().filter(gt.col("amount") > i).agg(n=gt.count()) for i in range(10)]).answer(
        epsilon=1, delta="1e-6"
    )
    assert s.budget.spent <= gt.privacy.gaussian_mu(1, "1e-6") ** 2 + Fraction(1, 2**90)  # prices are rounded up
    assert s.budget.spent >= Fraction(999, 1000) * gt.privacy.gaussian_mu(1, "1e-6") ** 2


def test_a_batch_refuses_other_sessions_questions() -> None:
    s, other = session(), session()
    with pytest.raises(gt.errors.InvalidParameter, match="another session"):
        s.batch([s.sql("SELECT COUNT(*) AS n FROM trips"), other.sql("SELECT COUNT(*) AS n FROM trips")]).answer(
            epsilon=1
        )
    with pytest.raises(gt.errors.InvalidParameter, match="is empty"):
        s.batch([]).answer(epsilon=1)


def test_parts_say_what_they_are_and_whose_rows_they_leave_out() -> None:
    rows = pl.DataFrame({"who": [0, 0, 1, 1], "kind": ["a", "b", "a", "b"]})
    said: dict[str, Any] = {"unit": "who", "budget": gt.PureDP(9), "domains": {"kind": ["a", "b"]}}
    with gt.protect(rows, name="t", rows_per_person=2, **said) as s:
        parts = s.partition("kind")
        query = parts["a"].sql("SELECT COUNT(*) AS n FROM t")
        for told in (query.quote(epsilon=1).notes, query.answer(epsilon=1).notes):
            assert any("parts_per_person" in each for each in told)
        whole = s.partition("kind", parts_per_person=2)["a"].sql("SELECT COUNT(*) AS n FROM t").quote(epsilon=1)
        assert not any("parts_per_person" in each for each in whole.notes)
