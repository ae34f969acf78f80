"""Profiles: what they release, what they cost, who finds them again, and their faces."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake import codec
from giveortake.answers.terms import least_error
from giveortake.compile import Spend, Terms
from giveortake.errors import IdempotencyConflict, InvalidParameter, QueryRefused
from giveortake.privacy import events
from giveortake.session.profiles.best_caps import paid_profiles
from giveortake.session.profiles.histograms import Magnitude, RowsOfPerson, size_edges
from giveortake.session.profiles.profile import Profile, ProfileRequest
from giveortake.session.session import mechanism_of
from inside import engine_of, ledger_of
from profiled_trips import COUNT, PLENTY, session, trips
from replay import CHANGES, exact_integers

ONE: Any = {"epsilon": 1}
SPEND = Spend(epsilon=Fraction(1))


# -- what is released -------------------------------------------------------------------------------------------------


def test_how_precise_a_profile_will_be_is_told_by_the_request_alone() -> None:
    with session() as asked:
        alone, beside = (asked.profile(columns=each).quote(epsilon="0.1") for each in ((), ["amount"]))
    assert [round(float(quote.margins["persons"] or 0)) for quote in (alone, beside)] == [30, 60]
    assert any("± 30" in note for note in alone.notes)
    assert any("300" in note for note in beside.notes)  # where bounds of a column show
    assert (alone.kind, alone.spend, alone.cost) == ("profile", "ε = 0.1", gt.PureDP("0.1", unit=gt.unit("person")))


def test_a_column_that_is_named_twice_is_profiled_once() -> None:
    with session() as asked:
        once, twice = (asked.profile(by=["region"], columns=["amount"] * n).answer(epsilon="0.1") for n in (1, 200))
        assert twice.release_id == once.release_id
        assert [each.release_id for each in asked.profiles()] == [once.release_id]


def test_people_are_counted_once_in_each_dimension() -> None:
    profile = session().profile(by=["region"], columns=["amount"]).answer(epsilon=9_000)
    assert profile.rows is not None
    assert profile.groups is not None
    assert profile.largest_groups is not None
    rows = {edge: n for edge, n in zip(profile.rows.edges, profile.rows.counts, strict=True) if n}
    assert rows == {1: 200, 40: 40, 320: 1}
    assert {e: n for e, n in zip(profile.groups.edges, profile.groups.counts, strict=True) if n} == {1: 201, 2: 40}
    largest = {e: n for e, n in zip(profile.largest_groups.edges, profile.largest_groups.counts, strict=True) if n}
    assert largest == {1: 200, 20: 40, 320: 1}
    assert profile.bounds == {"amount": (-4, 4)}  # one in 241 has −40
    assert profile.bounds_at("0.999") == {"amount": (-64, 64)}
    assert profile.caps() == {"rows_per_person": 40, "groups_per_person": 2, "rows_per_group": 20}
    assert profile.caps("0.999") == {"rows_per_person": 320, "groups_per_person": 2, "rows_per_group": 320}


def test_where_only_zeros_are_seen_no_bounds_are_suggested() -> None:
    table = pl.DataFrame({"person": range(1000), "fine": [0.0] * 960 + [4.0] * 40})
    said: Any = {"unit": "person", "budget": gt.PureDP(10_000), "rows_per_person": 1, "name": "t"}
    with gt.protect(table, **said) as s:
        dim = s.profile(columns=["fine"]).answer(epsilon="0.2")
        assert (dim.bounds, dim.bounds_at("0.99")) == ({}, {})
        assert s.profile(columns=["fine"]).answer(epsilon=1000).bounds_at("0.99") == {"fine": (0, 4)}
        with pytest.raises(InvalidParameter):
            s.profile(columns=["fine,person"]).answer(epsilon=1)


def test_a_person_without_any_number_has_a_bin_of_their_own() -> None:
    table = pl.DataFrame({"person": [1, 2, 2, 3], "x": [None, 3.0, -1.0, 0.0]})
    with gt.protect(table, unit="person", budget=PLENTY, name="t", engine={"threads": 1}) as s:
        profile = ProfileRequest("t", columns=("x",)).bind(mechanism_of(s), Terms.of(ONE))
        counts = exact_integers(profile.at(SPEND).parts[1].made, engine_of(s))[0].tolist()
    powers = 81  # from 2^−40 to 2^40
    assert {place: n for place, n in enumerate(counts) if n} == {0: 1, 1: 1, 1 + powers + 42: 1}  # |x| ≤ 4 with −1


def test_groups_whose_keys_are_known_end_with_them_and_a_maximum_ends_the_rows() -> None:
    profile = session().profile(by=["region"], most_rows=300).answer(epsilon=1)
    assert profile.rows is not None
    assert profile.groups is not None
    assert profile.groups.edges == (1, 2, 3)
    assert profile.groups.closed
    assert profile.rows.edges[-1] == 300
    assert profile.rows.closed


@all_cases("change", CHANGES)
def test_dimensions_share_the_spend_and_the_event_says_what_that_costs(change: Any) -> None:
    moved = {"add-remove": 1, "change-one": 2}[change]
    s = session(neighbours=change, budget=gt.PureDP(10))
    s.profile(by=["region"], columns=["amount"]).answer(epsilon=1)
    (entry,) = [entry for entry in ledger_of(s).history() if entry.kind == "reserved"]
    event = codec.read(events.Event, entry.content["event"])
    assert isinstance(event, events.Composed)
    scale = Fraction(4 * moved)  # four dimensions
    assert [each.noise_multiplier * moved for each in event.events] == [scale] * 4  # type: ignore[attr-defined]
    assert s.budget.spent == 1
    profile = ProfileRequest("trips", by=("region",), columns=("amount",)).bind(mechanism_of(s), Terms.of(ONE))
    measurements = profile.at(SPEND).made()
    assert {made.noises[0] for made in measurements} == {profile.noise(SPEND)}
    for made in measurements:
        (measure,) = made.measures
        assert measure.l1 == moved
        assert measure.l2**2 <= moved + Fraction(1, 10**9)


def test_what_cannot_be_profiled_is_refused_at_no_cost() -> None:
    s = session()
    for wrong, name in (
        ({"by": "region"}, "by"),
        ({"by": ["nowhere"]}, "by"),
        ({"by": ["person"]}, "by"),
        ({"by": ["region", "region"]}, "by"),
        ({"columns": ["region"]}, "columns"),
        ({"most_rows": 0}, "most_rows"),
    ):
        with pytest.raises(InvalidParameter) as refused:
            s.profile().answer(epsilon=1, **wrong)
        assert refused.value.name == name
    with pytest.raises(InvalidParameter):
        s.partition("region")["north"].profile().answer(epsilon=1)
    assert s.budget.spent == 0


def test_rows_that_are_protected_by_themselves_have_bounds_and_no_caps() -> None:
    with gt.protect(trips(), unit=gt.ROW, budget=PLENTY, name="trips", engine={"threads": 1}) as s:
        profile = s.profile(columns=["amount"]).answer(epsilon=9_000)
        assert profile.bounds_at("0.99") == {"amount": (-64, 64)}
        assert profile.caps() == {}
        with pytest.raises(InvalidParameter):
            profile.left_out(rows_per_person=3)
        with pytest.raises(InvalidParameter):
            s.profile().answer(epsilon=1)
        with pytest.raises(InvalidParameter):
            s.profile(by=["region"], columns=["amount"]).answer(epsilon=1)


# -- who finds it again -----------------------------------------------------------------------------------------------


def test_a_profile_is_charged_once_and_found_again(tmp_path: Path) -> None:
    place = tmp_path / "t.ledger"
    with session(ledger=place, budget=gt.PureDP(2)) as s:
        first = s.profile().answer(epsilon=1, key="mine")
        assert s.profile().answer(epsilon=1, key="mine").rows == first.rows
        again = s.profile().answer(epsilon=1)
        assert again.rows == first.rows
        assert (len(first.notes), len(again.notes)) == (0, 1)
        with pytest.raises(IdempotencyConflict):
            s.profile().answer(epsilon="0.5", key="mine")
        assert s.budget.spent == 1
    with session(ledger=place, budget=gt.PureDP(2)) as s:
        assert s.profile("trips").answer(epsilon=1).rows == first.rows
        assert [each.rows for each in paid_profiles(mechanism_of(s), "trips")] == [first.rows]
        assert s.budget.spent == 1
        with pytest.raises(gt.errors.BudgetExceeded):
            s.profile().answer(epsilon=2)
        ledger_of(s).verify()


def test_an_analyst_finds_what_their_own_level_or_the_custodian_paid_for(tmp_path: Path) -> None:
    place = tmp_path / "t.ledger"
    with session(ledger=place, budget=gt.PureDP(20)) as s:
        s.sql(COUNT).answer(epsilon=1, rows_per_person=1)
        for name in ("ann", "bob"):
            ledger_of(s).analyst(name, datasets=["trips"], budget=gt.PureDP(5))
    with session(ledger=place, budget=gt.PureDP(20), analyst="ann") as ann:
        query = ann.sql(COUNT)
        with pytest.raises(QueryRefused):
            query.quote(epsilon=1, caps="best")
        told = query.quote(epsilon=1, rows_per_person=40).left_out
        assert told is not None
        assert not told.profiled
        first = ann.profile().answer(epsilon=1)
        assert ann.budget.spent == 1
        assert query.quote(epsilon=1, caps="best").left_out.is_known  # type: ignore[union-attr]
    with session(ledger=place, budget=gt.PureDP(20), analyst="bob") as bob:
        assert paid_profiles(mechanism_of(bob), "trips") == []
        bob.profile().answer(epsilon=1)
    with session(ledger=place, budget=gt.PureDP(20), analyst="ann") as ann:
        assert [each.release_id for each in ann.profiles()] == [first.release_id]  # nothing tells of bob's
    with session(ledger=place, budget=gt.PureDP(20)) as s:
        assert paid_profiles(mechanism_of(s), "trips") == []  # what analysts paid for is theirs
        shared = s.profile().answer(epsilon=2)
    with session(ledger=place, budget=gt.PureDP(20), analyst="ann") as ann:
        assert [each.release_id for each in ann.profiles()] == [shared.release_id, first.release_id]
        assert ann.budget.spent == 1
    with session(ledger=place, budget=gt.PureDP(20), analyst="bob") as bob:
        assert next(each.release_id for each in bob.profiles()) == shared.release_id
        caps = bob.sql(COUNT).quote(epsilon=1).caps  # the best ones by it, as nothing else is stated
        assert caps == bob.sql(COUNT).quote(epsilon=1, caps="best").caps


def test_a_profile_of_another_version_says_nothing(tmp_path: Path) -> None:
    place = tmp_path / "t.ledger"
    with session(ledger=place) as s:
        s.profile().answer(epsilon=1)
    more = pl.concat([trips(), trips()[:5]])
    domains = {"region": ["north", "south", "west"], "amount": (-50, 50)}
    with gt.protect(
        more, unit="person", budget=PLENTY, name="trips", ledger=place, domains=domains, engine={"threads": 1}
    ) as s:
        assert paid_profiles(mechanism_of(s), "trips") == []


# -- faces ------------------------------------------------------------------------------------------------------------


def test_a_profile_prints_what_caps_leave_out_and_draws_noise_and_bias_apart() -> None:
    profile = session().profile(most_rows=300, columns=["amount"]).answer(epsilon=500)
    text = str(profile)
    assert "rows_per_person=40" in text
    assert "domains={'amount': (-4, 4)}" in text
    parts = {row["part"] for row in profile.plot(epsilon="0.1").layer[1].data.values}
    assert len(parts) == 3
    band = profile.plot(epsilon="0.1").to_dict()["layer"][0]["encoding"]["fill"]
    assert "legend" in band
    assert "40 rows" in profile.plot(epsilon=1).title.text
    assert profile.plot(title="Trips").title.text == "Trips"


@all_cases("epsilon", [1, 10, 1000, 10**9])
@all_cases("most", [None, 300])
def test_the_lines_of_a_profile_go_on_until_the_error_grows_or_nothing_is_left_out(
    epsilon: int, most: int | None
) -> None:
    counts = tuple({40: 240, 96: 40}.get(each, 0) for each in size_edges(most))
    sizes = RowsOfPerson(cast("Any", None), most=most)  # no table is asked
    profile = Profile("trips", (), (), most, Fraction(1), "r", (), (sizes,), (counts,), 2.0)
    lines = profile.lines(epsilon)
    best, is_open = least_error(lines)
    assert not is_open
    assert best is not lines[-1] or best["bias"] == 0
    shorter = [line for line in lines if line["cap"] <= 80]
    assert least_error(shorter) == (shorter[-1], True)


def test_bins_cover_every_size_once() -> None:
    for most in (None, 1, 2, 9, 300, 2**20):
        edges = size_edges(most)
        assert list(edges) == sorted(set(edges))
        assert edges[0] == 1
        assert edges[-1] == (most or 2**20)
        assert all(after <= before * 1.25 + 1 for before, after in pairwise(edges))
    assert len(size_edges(None)) == 76


def test_a_magnitude_is_of_a_column_of_numbers() -> None:
    relation = mechanism_of(session()).origin.uncapped["trips"]
    with pytest.raises(InvalidParameter):
        Magnitude(relation, "region")
