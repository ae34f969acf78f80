"""Profiles: what they release, what they cost, who finds them again, and what quotes and answers make of them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from evil_tables import Table, random_table
from giveortake.compile import Caps, Spend
from giveortake.errors import IdempotencyConflict, InvalidParameter, QueryRefused
from giveortake.privacy import events
from giveortake.session import Session, dimensions
from giveortake.session.best_caps import paid_profiles
from giveortake.session.dimensions import Magnitude, RowsOfPerson, dimensions_of, size_edges
from giveortake.session.profile_releases import ProfileRequest
from giveortake.session.session import mechanism_of
from inside import engine_of, ledger_of
from replay import CHANGES, MODES, Mode, exact_integers

PLENTY = gt.PureDP(10_000)
COUNT = "SELECT COUNT(*) AS n FROM trips"
BY_REGION = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"


def trips() -> pl.DataFrame:
    """Two hundred people with one trip, forty with twenty in each of two regions, one with three hundred in one."""
    people = [*range(200), *(p for p in range(200, 240) for _ in range(40)), *[999] * 300]
    regions = ["north"] * 200 + ["north", "south"] * 800 + ["west"] * 300
    amounts = [1.5 + p % 3 if p < 999 else -40.0 for p in people]
    return pl.DataFrame({"person": people, "region": regions, "amount": amounts})


def session(**more: Any) -> Session:
    options: dict[str, Any] = {"unit": "person", "budget": PLENTY, "name": "trips"} | more
    domains = {"region": ["north", "south", "west"], "amount": (-50, 50)}
    return gt.protect(trips(), domains=domains, threads=1, **options)


# -- what is released -------------------------------------------------------------------------------------------------


def test_people_are_counted_once_in_each_dimension() -> None:
    profile = session().profile(epsilon=9_000, by=["region"], columns=["amount"])
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


def test_a_person_without_any_number_has_a_bin_of_their_own() -> None:
    table = pl.DataFrame({"person": [1, 2, 2, 3], "x": [None, 3.0, -1.0, 0.0]})
    with gt.protect(table, unit="person", budget=PLENTY, name="t", threads=1) as s:
        request = ProfileRequest.of(mechanism_of(s), "t", epsilon=1, by=(), columns=["x"], most_rows=None)
        counts = exact_integers(request.price()[1].made, engine_of(s))[0].tolist()
    powers = 81  # from 2^−40 to 2^40
    assert {place: n for place, n in enumerate(counts) if n} == {0: 1, 1: 1, 1 + powers + 42: 1}  # |x| ≤ 4 with −1


def test_groups_whose_keys_are_known_end_with_them_and_a_maximum_ends_the_rows() -> None:
    profile = session().profile(epsilon=1, by=["region"], most_rows=300)
    assert profile.rows is not None
    assert profile.groups is not None
    assert profile.groups.edges == (1, 2, 3)
    assert profile.groups.closed
    assert profile.rows.edges[-1] == 300
    assert profile.rows.closed


@pytest.mark.parametrize("change", CHANGES)
def test_dimensions_share_the_spend_and_the_event_says_what_that_costs(change: Any) -> None:
    moved = {"add-remove": 1, "change-one": 2}[change]
    s = session(neighbours=change, budget=gt.PureDP(10))
    s.profile(epsilon=1, by=["region"], columns=["amount"])
    (entry,) = [entry for entry in ledger_of(s).history() if entry.kind == "reserved"]
    event = events.Event.from_json(json.dumps(entry.content["event"]))
    assert isinstance(event, events.Composed)
    scale = Fraction(4 * moved)  # four dimensions
    assert [each.noise_multiplier * moved for each in event.events] == [scale] * 4  # type: ignore[attr-defined]
    assert s.spent == 1
    mechanism = mechanism_of(s)
    request = ProfileRequest.of(mechanism, "trips", epsilon=1, by=["region"], columns=["amount"], most_rows=None)
    assert {each.made.noises[0] for each in request.price()} == {request.noise}
    for each in request.price():
        (measure,) = each.made.measures
        assert measure.l1 == moved
        assert measure.l2**2 <= moved + Fraction(1, 10**9)


def test_what_cannot_be_profiled_is_refused_at_no_cost() -> None:
    s = session()
    for wrong, said in (
        ({"by": "region"}, "is a text, not a list"),
        ({"by": ["nowhere"]}, "is no column"),
        ({"by": ["person"]}, "names the persons themselves"),
        ({"by": ["region", "region"]}, "twice"),
        ({"columns": ["region"]}, "no column of numbers"),
        ({"most_rows": 0}, "most_rows"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            s.profile(epsilon=1, **wrong)
    with pytest.raises(InvalidParameter, match="in part only"):
        s.partition("region")["north"].profile(epsilon=1)
    assert s.spent == 0


def test_rows_that_are_protected_by_themselves_have_bounds_and_no_caps() -> None:
    with gt.protect(trips(), unit=gt.ROW, budget=PLENTY, name="trips", threads=1) as s:
        profile = s.profile(epsilon=9_000, columns=["amount"])
        assert profile.bounds_at("0.99") == {"amount": (-64, 64)}
        assert profile.caps() == {}
        with pytest.raises(InvalidParameter, match="every row is protected by itself"):
            profile.left_out(rows_per_person=3)
        with pytest.raises(InvalidParameter, match="rows have no caps"):
            s.profile(epsilon=1)
        with pytest.raises(InvalidParameter, match="groups of persons"):
            s.profile(epsilon=1, by=["region"], columns=["amount"])


# -- neighbours -------------------------------------------------------------------------------------------------------


def moved_by(mode: Mode, table: Table, other: Table) -> list[tuple[int, int]]:
    """How far each dimension moves between two tables, in L1, and how many bins of it do."""
    found = []
    for each in (table, other):
        with mode.session(each) as s:
            relation = mechanism_of(s).origin.uncapped["data"]
            columns = [name for name, domain in relation.schema.items() if domain.kind.is_number and name != "p"][:2]
            by = [name for name in relation.schema if name != "p"][:2]
            listed = dimensions_of(relation, by if mode.by_person else (), columns, None)
            measure = mechanism_of(s).measure
            made = [measure(dimension.question(), Caps(), Spend(epsilon=Fraction(1))) for dimension in listed]
            found.append([exact_integers(one, engine_of(s))[0] for one in made])
    return [(int(abs(one - two).sum()), int((one != two).sum())) for one, two in zip(found[0], found[1], strict=True)]


@pytest.mark.parametrize("mode", MODES[:2] + MODES[3:5], ids=lambda mode: f"{mode.name}, {mode.change}")
def test_no_neighbour_moves_a_dimension_by_more_than_one_bin_or_two(mode: Mode) -> None:
    luck = random.Random(f"profiles {mode}")  # noqa: S311 (which tables are tried need not be secret)
    most = 2 if mode.change == "change-one" else 1
    reached = 0
    for _ in range(10 if mode.change == "change-one" else 3):
        table = random_table(luck)
        moves = moved_by(mode, table, mode.neighbour(luck, table))
        assert all(l1 <= most and bins <= most for l1, bins in moves), moves
        reached = max(reached, *(l1 for l1, _ in moves))
    assert reached == most


def test_people_who_are_in_two_bins_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant counts pairs of persons and groups where persons are meant."""

    def pairs(self: RowsOfPerson) -> Any:
        sound = dimensions.GroupsOfPerson(self.relation, self.by, self.most).question()
        source: Any = sound.relation
        return replace(sound, relation=source.source) if self.by else sound

    mode = MODES[1]
    luck = random.Random("mutant")  # noqa: S311 (which tables are tried need not be secret)
    monkeypatch.setattr(RowsOfPerson, "question", pairs)
    caught = False
    for _ in range(6):
        table = random_table(luck)
        try:
            moves = moved_by(mode, table, mode.neighbour(luck, table))
        except QueryRefused as refusal:
            caught = "any number of" in refusal.message  # what is not one row a person has no price without caps
            break
        caught = caught or any(l1 > 1 for l1, _ in moves)
    assert caught


# -- who finds it again -----------------------------------------------------------------------------------------------


def test_a_profile_is_charged_once_and_found_again(tmp_path: Path) -> None:
    place = tmp_path / "t.ledger"
    with session(ledger=place, budget=gt.PureDP(2)) as s:
        first = s.profile(epsilon=1, key="mine")
        assert s.profile(epsilon=1, key="mine").rows == first.rows
        again = s.profile(epsilon=1)
        assert again.rows == first.rows
        assert "nothing was charged" in again.notes[0]
        assert first.notes == ()
        with pytest.raises(IdempotencyConflict):
            s.profile(epsilon="0.5", key="mine")
        assert s.spent == 1
    with session(ledger=place, budget=gt.PureDP(2)) as s:
        assert s.profile("trips", epsilon=1).rows == first.rows
        assert [each.rows for each in paid_profiles(mechanism_of(s), "trips")] == [first.rows]
        assert s.spent == 1
        with pytest.raises(gt.errors.BudgetExceeded):
            s.profile(epsilon=2)
        ledger_of(s).verify()


def test_an_analyst_finds_only_what_their_own_level_paid_for(tmp_path: Path) -> None:
    place = tmp_path / "t.ledger"
    with session(ledger=place, budget=gt.PureDP(20)) as s:
        s.profile(epsilon=1)
        for name in ("ann", "bob"):
            ledger_of(s).analyst(name, datasets=["trips"], budget=gt.PureDP(5))
    with session(ledger=place, budget=gt.PureDP(20), analyst="ann") as ann:
        query = ann.sql(COUNT)
        with pytest.raises(QueryRefused, match="none of trips was released to you"):
            query.quote(epsilon=1, caps="best")
        told = query.quote(epsilon=1, rows_per_person=40).left_out
        assert told is not None
        assert not told.profiled
        ann.profile(epsilon=1)
        assert ann.spent == 1
        assert query.quote(epsilon=1, caps="best").left_out.is_known  # type: ignore[union-attr]
    with session(ledger=place, budget=gt.PureDP(20), analyst="bob") as bob:
        assert paid_profiles(mechanism_of(bob), "trips") == []
    with session(ledger=place, budget=gt.PureDP(20)) as s:
        assert len(paid_profiles(mechanism_of(s), "trips")) == 1


def test_a_profile_of_another_version_says_nothing(tmp_path: Path) -> None:
    place = tmp_path / "t.ledger"
    with session(ledger=place) as s:
        s.profile(epsilon=1)
    more = pl.concat([trips(), trips()[:5]])
    domains = {"region": ["north", "south", "west"], "amount": (-50, 50)}
    with gt.protect(more, unit="person", budget=PLENTY, name="trips", ledger=place, domains=domains, threads=1) as s:
        assert paid_profiles(mechanism_of(s), "trips") == []


# -- what is made of it -----------------------------------------------------------------------------------------------


def profiled(**more: Any) -> Session:
    s = session(**more)
    s.profile(epsilon=500, most_rows=300)
    return s


def test_the_best_caps_are_those_of_the_least_error_at_the_spend() -> None:
    s = profiled()
    dear, cheap = (s.sql(COUNT).quote(epsilon=epsilon, caps="best") for epsilon in ("100", "1"))
    assert dear.contributions == "at most 300 rows of a person"
    assert cheap.contributions == "at most 40 rows of a person"  # ± 900 for one person's 260 rows is too much
    for quote in (dear, cheap):
        assert quote.left_out is not None
        assert quote.left_out.estimate is not None
        assert min(line.error for line in quote.left_out.lines) >= 0
    assert dear.left_out is not None
    assert dear.left_out.high == 0
    assert cheap.left_out is not None
    assert cheap.left_out.low is not None
    assert cheap.left_out.high is not None
    true = 260 / 2100
    assert cheap.left_out.low <= true <= cheap.left_out.high
    assert abs((cheap.left_out.estimate or 0) - true) < 0.02


def test_of_a_sum_a_row_that_is_left_out_counts_as_a_usual_value_and_not_as_the_greatest() -> None:
    sums = "SELECT SUM(amount) AS s FROM trips"

    def errors(columns: list[str]) -> dict[str, float]:
        with session() as made:
            profile = made.profile(epsilon=9_000, columns=columns)
            assert profile.usual_magnitude("amount") == (pytest.approx(2.7, abs=0.3) if columns else None)
            left = made.sql(sums).quote(epsilon=100, rows_per_group=40).left_out
            assert left is not None
            return {line.caps: line.error - line.margin for line in left.lines}

    with session() as counted:
        counted.profile(epsilon=9_000)
        left = counted.sql(COUNT).quote(epsilon=100, rows_per_group=40).left_out
        assert left is not None
        rows = {line.caps: line.error - line.margin for line in left.lines}
    unknown, known = errors([]), errors(["amount"])
    cap = "at most 40 rows of a person"
    assert rows[cap] == pytest.approx(260, abs=15)  # of the one who has three hundred
    assert unknown[cap] == pytest.approx(rows[cap] / 2, rel=0.05)
    assert known[cap] == pytest.approx(rows[cap] / 2 * 2.7 / 50, rel=0.15)


def test_what_was_chosen_names_the_question_and_an_answer_says_what_it_leaves_out() -> None:
    s = profiled()
    before = s.spent
    best = s.sql(COUNT).answer(epsilon=100, caps="best")
    assert str(best.caps) == "at most 300 rows of a person"
    assert best.left_out is not None
    assert best.left_out.high == 0
    assert any("no row is left out" in note for note in best.notes)
    stated = s.sql(COUNT).answer(epsilon=100, rows_per_group=300)
    assert stated.columns == best.columns  # the same question, which is free
    assert s.spent == before + 100
    other = s.sql(COUNT).answer(epsilon=100, rows_per_group=40)
    assert "about 12 % of the rows are left out" in str(other.left_out)
    assert str(other.left_out) in other.notes
    assert gt.answers.Answer.from_json(other.to_json()).left_out == other.left_out


def test_defaults_of_the_custodian_give_way_and_maxima_hold() -> None:
    default = profiled(groups_per_person=1, rows_per_group=2)
    assert "at most 300 rows of a person" in str(default.sql(COUNT).quote(epsilon=100, caps="best").contributions)
    grouped = default.sql(BY_REGION).quote(epsilon=100, caps="best")
    assert str(grouped.contributions).startswith("at most 300 rows of a person")
    most = profiled(rows_per_group=20, groups_per_person=2, caps="maximum")
    quote = most.sql(COUNT).quote(epsilon=100, caps="best")
    assert quote.contributions == "at most 20 rows of a person"


def test_where_nothing_has_to_be_capped_nothing_is() -> None:
    s = profiled()
    quote = s.sql("SELECT COUNT(DISTINCT person) AS n FROM trips").quote(epsilon=1, caps="best")
    assert quote.contributions is None
    assert quote.left_out is None


def test_gaussian_noise_lets_groups_and_rows_in_each_be_capped_apart() -> None:
    s = session(budget=gt.ApproxDP(2_000, "1e-3"))
    s.profile(epsilon=500, by=["region"], most_rows=300)
    laplace = s.sql(BY_REGION).quote(epsilon=1, caps="best")
    gaussian = s.sql(BY_REGION).quote(mu="0.2", caps="best")
    assert "chosen before any filter" in str(laplace.contributions)
    assert "in each of at most 2 groups" in str(gaussian.contributions)
    assert gaussian.left_out is not None
    assert gaussian.left_out.is_known


def test_after_a_filter_or_a_join_it_is_not_known_and_that_is_said() -> None:
    s = profiled()
    quote = s.sql("SELECT COUNT(*) AS n FROM trips WHERE amount > 0").quote(epsilon=1, caps="best")
    assert quote.left_out is not None
    assert not quote.left_out.is_known
    assert "after a filter" in str(quote.left_out)
    derived = s.table().derive(double=gt.col("amount") * 2).agg(n=gt.count()).quote(epsilon=1, caps="best")
    assert derived.left_out is not None
    assert derived.left_out.is_known
    answer = s.sql("SELECT COUNT(*) AS n FROM trips WHERE amount > 0").answer(epsilon=1, rows_per_person=40)
    assert any("is not known" in note for note in answer.notes)


def test_a_margin_decides_the_noise_so_that_no_caps_are_best() -> None:
    with pytest.raises(InvalidParameter, match="goes with a spend"):
        profiled().sql(COUNT).quote(margin=5, caps="best")


def test_the_best_caps_of_a_share_are_those_of_the_spend_that_it_comes_to() -> None:
    s = profiled()
    budget = s.budget
    assert isinstance(budget, gt.PureDP)
    for epsilon in (1, 100):
        stated = s.sql(COUNT).quote(epsilon=epsilon, caps="best")
        shared = s.sql(COUNT).quote(share=Fraction(epsilon) / budget.epsilon, caps="best")
        assert (shared.contributions, str(shared.spend)) == (stated.contributions, str(stated.spend))
    asked = s.sql(COUNT).answer(share=Fraction(1) / budget.epsilon, caps="best")
    again = s.sql(COUNT).answer(share=Fraction(1) / budget.epsilon, caps="best")
    assert again.columns == asked.columns


def test_questions_of_a_batch_each_have_their_own_best_caps() -> None:
    s = profiled()
    one, two = s.batch([COUNT, BY_REGION], epsilon=100, caps="best")
    assert str(one.caps) == "at most 300 rows of a person"
    assert str(two.caps).startswith("at most 300 rows of a person, chosen")


def found_keys() -> Session:
    """Four hundred people with forty rows in four of twenty towns, most of them in one; ten have many, everywhere."""
    luck = random.Random("towns")  # noqa: S311 (of a table that is not secret)
    people = [p for p in range(400) for _ in range(40 if p % 40 else 200)]
    towns = [f"town {(p + (max(0, luck.randrange(10) - 6) if p % 40 else luck.randrange(20))) % 20}" for p in people]
    table = pl.DataFrame({"person": people, "town": towns})
    return gt.protect(table, unit="person", budget=gt.ApproxDP(2_000, "1e-3"), name="trips", threads=1)


BY_TOWN = "SELECT town, COUNT(*) AS n FROM trips GROUP BY town"


def test_where_keys_are_found_all_caps_are_searched_together_and_the_quote_lists_none_that_is_better() -> None:
    s = found_keys()
    usual = s.profile(epsilon=100, by=["town"], most_rows=300).caps()
    query = s.sql(BY_TOWN)
    best, plain = query.quote(epsilon=2, caps="best"), query.quote(epsilon=2, **usual)  # type: ignore[arg-type]
    assert best.left_out is not None
    assert plain.left_out is not None
    errors = {line.caps: line.error for line in (*plain.left_out.lines, *best.left_out.lines)}
    assert best.contributions is not None
    assert errors[best.contributions] == min(errors.values())
    assert plain.contributions in errors
    assert "chosen before any filter; then" in best.contributions
    assert "in a group" in str(best.left_out.lines[0])


def test_a_quote_with_stated_caps_compares_them_with_others_once_each() -> None:
    s = found_keys()
    s.profile(epsilon=100, by=["town"], most_rows=300)
    quote = s.sql(BY_TOWN).quote(epsilon=2, groups_per_person=2, rows_per_group=10)
    assert quote.left_out is not None
    listed = [line.caps for line in quote.left_out.lines]
    assert len(listed) == len(set(listed)) > 3
    assert quote.contributions in listed
    assert quote.left_out.estimate is not None
    assert 0.6 < quote.left_out.estimate < 0.85  # about 11 of 40 rows are kept: half of 10, 4, 4 and 4


def test_caps_without_a_profile_leave_out_what_is_not_known_and_that_is_said() -> None:
    answer = session().sql(COUNT).answer(epsilon=1, rows_per_person=4)
    assert any("is not known: no profile of it was released" in note for note in answer.notes)
    assert "is not known" in str(answer)
    part = session(rows_per_person=4).partition("region")["north"].sql(COUNT).answer(epsilon=1)
    assert any("this is a part of it" in note for note in part.notes)


# -- what would be worthless ------------------------------------------------------------------------------------------


def test_keys_that_nobody_could_show_are_seen_before_they_are_paid() -> None:
    s = session(budget=gt.ApproxDP(2_000, "1e-6"))
    by_amount = s.sql(
        "SELECT k, COUNT(*) AS n FROM (SELECT person, ROUND(CLAMP(amount * 1e5, -1e6, 1e6)) AS k FROM trips) GROUP BY k"
    )
    unknown = by_amount.quote(epsilon="0.01", rows_per_person=1)
    assert unknown.worthless is None  # nobody knows how many there are
    assert "an empty answer costs as much as a full one" in str(unknown)
    paid = by_amount.answer(epsilon="0.01", rows_per_person=1)
    assert len(paid) == 0
    assert any("no key was shown" in note for note in paid.notes)
    stated = by_amount.quote(epsilon="0.01", rows_per_person=1, n=50)
    assert "hardly any key would be shown" in str(stated.worthless)
    assert str(stated.worthless) in str(stated)
    assert "an empty answer costs" not in str(stated)
    s.profile(epsilon=100)
    assert "the profile tells of at most" in str(by_amount.quote(epsilon="0.01", rows_per_person=1).worthless)
    assert by_amount.quote(epsilon=5, rows_per_person=1).worthless is None


def test_margins_as_wide_as_what_they_are_about_are_called_worthless() -> None:
    s = session()
    mean = s.sql("SELECT AVG(amount) AS m FROM trips")
    assert "n would have to be larger" in str(mean.quote(epsilon=1, rows_per_group=1, n=3).worthless)
    assert mean.quote(epsilon=1, rows_per_group=1, n=3_000).worthless is None
    count = s.sql(COUNT)
    assert "is as large as the 10 rows" in str(count.quote(epsilon="0.01", rows_per_group=1, n=10).worthless)
    assert count.quote(epsilon="0.01", rows_per_group=1).worthless is None
    s.profile(epsilon=100)
    assert "by the profile" in str(count.quote(epsilon="0.0001", rows_per_group=40).worthless)
    assert count.quote(epsilon=1, rows_per_group=40).worthless is None


def test_a_sum_is_compared_with_the_greatest_sum_and_not_with_a_number_of_rows() -> None:
    table = trips().with_columns(amount=pl.col("amount").cast(pl.Int64))
    said: dict[str, Any] = {"unit": "person", "budget": PLENTY, "name": "trips", "threads": 1}
    with gt.protect(table, domains={"amount": (-50, 50)}, **said) as made:
        made.profile(epsilon=100)
        total = made.sql("SELECT SUM(amount) AS s FROM trips")
        assert total.quote(epsilon=1, rows_per_group=40).worthless is None
        assert "the greatest sum of the" in str(total.quote(epsilon="0.01", rows_per_group=40).worthless)
        assert total.quote(epsilon="0.1", rows_per_group=1, n=100).worthless is None
        assert "greatest sum of the 10 rows" in str(total.quote(epsilon="0.1", rows_per_group=1, n=10).worthless)


def test_keys_that_few_groups_could_reach_and_distinct_values_below_the_noise_are_called_worthless() -> None:
    s = found_keys()
    query = s.sql(BY_TOWN)
    assert query.quote(epsilon="0.5", rows_per_person=100).worthless is None
    s.profile(epsilon=100, by=["town"])
    assert "in a group at most" in str(query.quote(epsilon=2, rows_per_person=50).worthless)
    assert query.quote(epsilon=8, rows_per_person=300, groups_per_person=4, rows_per_group=80).worthless is None
    distinct = session().sql("SELECT COUNT(DISTINCT region) AS n FROM trips")
    assert "the 3 values that there may be" in str(distinct.quote(epsilon="0.1", rows_per_group=3).worthless)
    assert distinct.quote(epsilon=50, rows_per_group=3).worthless is None
    persons = s.sql("SELECT COUNT(DISTINCT person) AS n FROM trips")
    assert "the number of persons" in str(persons.quote(epsilon="0.001").worthless)
    assert persons.quote(epsilon=1).worthless is None


# -- faces ------------------------------------------------------------------------------------------------------------


def test_a_profile_prints_what_caps_leave_out_and_draws_noise_and_bias_apart() -> None:
    profile = session().profile(epsilon=500, most_rows=300, columns=["amount"])
    text = str(profile)
    assert "rows_per_person=40" in text
    assert "domains={'amount': (-4, 4)}" in text
    assert "nobody has more than 300 rows, as was declared" in text
    parts = {row["part"] for row in profile.plot(epsilon="0.1").layer[1].data.values}
    assert parts == {"margin of the noise", "rows left out, about", "both together"}
    band = profile.plot(epsilon="0.1").to_dict()["layer"][0]["encoding"]["fill"]
    assert band["scale"]["domain"] == ["between which the rows left out lie"]
    assert "legend" in band
    assert "least error is at 40 rows" in profile.plot(epsilon=1).title.text
    assert profile.plot(title="Trips").title.text == "Trips"


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
    with pytest.raises(InvalidParameter, match="no column of numbers"):
        Magnitude(relation, "region")
