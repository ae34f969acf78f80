"""The best caps: chosen by a profile, at the spend, and what quotes and answers say that they leave out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import giveortake as gt
from giveortake.answers.terms import Caps
from profiled_trips import BY_REGION, BY_TOWN, COUNT, found_keys, profiled, session


def test_the_best_caps_are_those_of_the_least_error_at_the_spend() -> None:
    s = profiled()
    dear, cheap = (s.sql(COUNT).quote(epsilon=epsilon, caps="best") for epsilon in ("100", "1"))
    assert dear.contributions == str(Caps(rows_per_group=300))
    assert cheap.contributions == str(Caps(rows_per_group=40))  # ± 900 for one person's 260 rows is too much
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
            profile = made.profile(columns=columns).answer(epsilon=9_000)
            assert profile.usual_magnitude("amount") == (pytest.approx(2.7, abs=0.3) if columns else None)
            left = made.sql(sums).quote(epsilon=100, rows_per_group=40).left_out
            assert left is not None
            return {line.caps: line.error - line.margin for line in left.lines}

    with session() as counted:
        counted.profile().answer(epsilon=9_000)
        left = counted.sql(COUNT).quote(epsilon=100, rows_per_group=40).left_out
        assert left is not None
        rows = {line.caps: line.error - line.margin for line in left.lines}
    unknown, known = errors([]), errors(["amount"])
    cap = "at most 40 rows of a person"
    assert rows[cap] == pytest.approx(260, abs=15)  # of the one who has three hundred
    assert unknown[cap] == pytest.approx(rows[cap] / 2, rel=0.05)
    assert known[cap] == pytest.approx(rows[cap] / 2 * 2.7 / 50, rel=0.15)


def _errors(question: str, **more: Any) -> dict[str, tuple[float, float]]:
    left = profiled().sql(question).quote(epsilon=5, caps="best", **more).left_out
    assert left is not None
    return {line.caps: (line.margin, line.error) for line in left.lines}


def test_every_column_is_weighed_as_what_it_is_and_several_alike() -> None:
    asked = {
        name: _errors(f"SELECT {text} FROM trips")
        for name, text in [("count", "COUNT(*)"), ("mean", "AVG(amount)"), ("median", "MEDIAN(amount)")]
    }
    cap = "at most 24 rows of a person"
    bias = {name: lines[cap][1] - lines[cap][0] for name, lines in asked.items()}
    noise = {name: lines[cap][0] for name, lines in asked.items()}
    assert bias["count"] == pytest.approx(0.39 * 2_100, rel=0.1)  # the rows that are left out
    for name in ("mean", "median"):  # which differ from the others, and of which a mean has fewer
        less = noise[name] * (1 / (1 - 0.39) - 1)
        assert bias[name] == pytest.approx(bias["count"] / 4 + less, rel=0.1)
    s = profiled()
    mean, count = (
        s.sql(f"SELECT {text} FROM trips").quote(epsilon=5, caps="best") for text in ("AVG(amount)", "COUNT(*)")
    )
    assert mean.contributions == str(Caps(rows_per_group=40))
    assert count.contributions == str(Caps(rows_per_group=256))
    assert any("these caps" in note for note in mean.notes)
    assert not any("these caps" in note for note in count.notes)
    stated = s.sql("SELECT AVG(amount) FROM trips").quote(epsilon=5, rows_per_person=40)
    assert not any("these caps" in note for note in stated.notes)  # whoever states caps compares none
    by_region = s.sql("SELECT region, AVG(amount) AS m FROM trips GROUP BY region")
    for best in by_region.quote(epsilon=5, caps="best").advice:
        assert "rows_per_group" not in best.terms  # there are no better caps than the best
    both = _errors("SELECT SUM(amount) AS s, AVG(amount) AS m FROM trips")[cap]
    assert both[1] < bias["count"]


def test_a_number_of_persons_beside_rows_does_not_change_the_caps() -> None:
    s = profiled()
    alone = s.sql(COUNT).quote(epsilon=5, caps="best")
    beside = s.sql("SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS p FROM trips").quote(epsilon=10, caps="best")
    assert beside.contributions == alone.contributions


def test_what_was_chosen_names_the_question_and_an_answer_says_what_it_leaves_out() -> None:
    s = profiled()
    before = s.budget.spent
    best = s.sql(COUNT).answer(epsilon=100, caps="best")
    assert best.caps == Caps(rows_per_group=300)
    assert best.left_out is not None
    assert best.left_out.high == 0
    assert str(best.left_out) in best.notes
    stated = s.sql(COUNT).answer(epsilon=100, rows_per_group=300)
    assert stated.columns == best.columns  # the same question, which is free
    assert s.budget.spent == before + 100
    other = s.sql(COUNT).answer(epsilon=100, rows_per_group=40)
    assert "12 %" in str(other.left_out)
    assert str(other.left_out) in other.notes
    assert gt.answers.Answer.from_json(other.to_json()).left_out == other.left_out


def test_defaults_of_the_custodian_give_way_and_maxima_hold() -> None:
    default = profiled(groups_per_person=1, rows_per_group=2)
    assert default.sql(COUNT).quote(epsilon=100, caps="best").contributions == str(Caps(rows_per_group=300))
    grouped = default.sql(BY_REGION).quote(epsilon=100, caps="best")
    assert str(grouped.contributions).startswith(str(Caps(rows_per_group=300)))
    most = profiled(rows_per_group=20, groups_per_person=2, caps="maximum")
    quote = most.sql(COUNT).quote(epsilon=100, caps="best")
    assert quote.contributions == str(Caps(rows_per_group=20))


def test_where_nothing_has_to_be_capped_nothing_is() -> None:
    s = profiled()
    quote = s.sql("SELECT COUNT(DISTINCT person) AS n FROM trips").quote(epsilon=1, caps="best")
    assert quote.contributions is None
    assert quote.left_out is None


def test_gaussian_noise_lets_groups_and_rows_in_each_be_capped_apart() -> None:
    s = session(budget=gt.ApproxDP(2_000, "1e-3"))
    s.profile(by=["region"], most_rows=300).answer(epsilon=500)
    laplace = s.sql(BY_REGION).quote(epsilon=1, caps="best")
    gaussian = s.sql(BY_REGION).quote(mu="0.2", caps="best")
    assert "filter" in str(laplace.contributions)
    assert "2 groups" in str(gaussian.contributions)
    assert gaussian.left_out is not None
    assert gaussian.left_out.is_known


def test_after_a_filter_or_a_join_it_is_not_known_and_that_is_said() -> None:
    s = profiled()
    quote = s.sql("SELECT COUNT(*) AS n FROM trips WHERE amount > 0").quote(epsilon=1, caps="best")
    assert quote.left_out is not None
    assert not quote.left_out.is_known
    derived = s.table().derive(double=gt.col("amount") * 2).agg(n=gt.count()).quote(epsilon=1, caps="best")
    assert derived.left_out is not None
    assert derived.left_out.is_known
    answer = s.sql("SELECT COUNT(*) AS n FROM trips WHERE amount > 0").answer(epsilon=1, rows_per_person=40)
    assert str(answer.left_out) in answer.notes


def test_a_margin_decides_the_noise_so_that_caps_are_those_of_most_persons() -> None:
    for terms in ({}, {"caps": "best"}):
        with profiled() as s:
            quote = s.sql(COUNT).quote(margin=50, **terms)
            assert quote.caps == Caps(rows_per_person=s.profiles()[0].caps()["rows_per_person"])
    with profiled(rows_per_person=7) as s:
        assert s.sql(COUNT).quote(margin=50).caps == Caps(rows_per_person=7)


def test_the_best_caps_of_a_share_are_those_of_the_spend_that_it_comes_to() -> None:
    s = profiled()
    budget = s.budget.granted
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
    one, two = s.batch([COUNT, BY_REGION]).answer(epsilon=100, caps="best")
    assert one.caps == Caps(rows_per_group=300)
    assert str(two.caps).startswith(str(Caps(rows_per_person=300)))


def test_where_keys_are_found_all_caps_are_searched_together_and_the_quote_lists_none_that_is_better() -> None:
    s = found_keys()
    usual = s.profile(by=["town"], most_rows=300).answer(epsilon=100).caps()
    query = s.sql(BY_TOWN)
    best, plain = query.quote(epsilon=2, caps="best"), query.quote(epsilon=2, **usual)  # type: ignore[arg-type]
    assert best.left_out is not None
    assert plain.left_out is not None
    errors = {line.caps: line.error for line in (*plain.left_out.lines, *best.left_out.lines)}
    assert best.contributions is not None
    assert errors[best.contributions] == min(errors.values())
    assert plain.contributions in errors


def test_a_quote_with_stated_caps_compares_them_with_others_once_each() -> None:
    s = found_keys()
    s.profile(by=["town"], most_rows=300).answer(epsilon=100)
    quote = s.sql(BY_TOWN).quote(epsilon=2, groups_per_person=2, rows_per_group=10)
    assert quote.left_out is not None
    listed = [line.caps for line in quote.left_out.lines]
    assert len(listed) == len(set(listed)) > 3
    assert quote.contributions in listed
    assert quote.left_out.estimate is not None
    assert 0.6 < quote.left_out.estimate < 0.85  # about 11 of 40 rows are kept: half of 10, 4, 4 and 4


def test_caps_without_a_profile_leave_out_what_is_not_known_and_that_is_said() -> None:
    s = session(rows_per_person=4)
    asked = (s.sql(COUNT), s.sql(f"{COUNT} WHERE region = 'north'"), s.partition("region")["north"].sql(COUNT))
    for answer in [query.answer(epsilon=1) for query in asked]:
        assert answer.left_out is not None
        assert not answer.left_out.is_known
        assert str(answer.left_out) in answer.notes
        assert "unknown" in str(answer)
