"""Asking again for a surer answer: releases are combined, and what they promise together is said."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import giveortake as gt
from giveortake.compile.measures import worthwhile
from giveortake.errors import Unprovable
from giveortake.mechanisms.additive import LaplaceTail, NormalTail, quantile
from small_session import COUNT, FOUND, charges_of, small_session


def _widths(answer: Any) -> list[Any]:
    return [row["n_high"] - row["n_low"] for row in answer.rows()]


def test_refining_combines_answers_into_a_surer_one() -> None:
    with small_session() as session:
        first = session.sql(COUNT).answer(epsilon="0.5")
        second = first.refine(epsilon="0.5")
        third = second.refine(epsilon=2)
        widths = [_widths(each) for each in (first, second, third)]
        assert widths[0] > widths[1] > widths[2]
        assert charges_of(session) == 3
        assert first.refine(epsilon="0.5").to_dict() == second.to_dict()  # the same step is the same answer
        spent = str(session.budget.spent)
        again = session.sql(COUNT).answer(epsilon="0.5", key="another")
        assert again.refine(epsilon="0.5").refine(epsilon=2).to_dict() == third.to_dict()  # so is that of a free copy
        assert session.release(str(again.release_id)).refine(epsilon="0.5").to_dict() == second.to_dict()
        assert str(session.budget.spent) == spent


def test_questions_of_a_batch_that_differ_in_their_order_alone_are_refined_each_by_itself() -> None:
    with small_session() as session:
        ordered = session.sql(f"{COUNT} ORDER BY 1")
        first, second = session.batch([session.sql(COUNT), ordered]).answer(epsilon="0.5")
        refined = [each.refine(epsilon="0.5") for each in (first, second)]
        assert refined[0].release_id != refined[1].release_id
        assert charges_of(session) == 3
        for each in refined:
            assert session.release(str(each.release_id)).to_dict() == each.to_dict()
        deeper = refined[1].refine(epsilon=2)
        assert session.release(str(deeper.release_id)).to_dict() == deeper.to_dict()
        assert second.refine(epsilon="0.5").to_dict() == refined[1].to_dict()
        assert charges_of(session) == 4


def test_refining_never_widens_whatever_noise_is_added() -> None:
    """A sum of real numbers, whose interval has the width of its noise: by Laplace noise, normal noise, or both."""
    told: Any = pl.DataFrame({"x": [0.5, 1.5]})
    spends: list[dict[str, Any]] = [{"epsilon": "1/10"}, {"mu": "1/1000"}, {"mu": "1/10"}, {"epsilon": "1/1000"}]
    with gt.protect(told, unit=gt.ROW, budget=gt.ApproxDP(99, "1e-6"), domains={"x": (0, 2)}, name="t") as session:
        answer = session.sql("SELECT SUM(x) AS s FROM t").answer(epsilon="1/100")
        widths: list[float] = []
        for spend in spends:
            answered: Any = answer.to_dict()
            widths.append(answered["s_high"][0] - answered["s_low"][0])
            answer = answer.refine(**spend)
        assert all(after <= before * (1 + 1e-9) for before, after in pairwise(widths))
        assert widths[1] < widths[0] / 9
        assert widths[3] < widths[2] * 0.95


LAWS = st.one_of(st.floats(0.1, 100).map(LaplaceTail), st.floats(0.1, 100).map(NormalTail))


@settings(max_examples=15)
@given(st.lists(LAWS, min_size=1, max_size=4), st.sampled_from([0.3, 0.05, 1e-6, 1e-12]))
def test_a_release_is_averaged_only_where_that_makes_the_interval_no_wider(laws: list[Any], miss: float) -> None:
    reached = []
    for count in range(1, len(laws) + 1):
        chosen = [laws[place] for place in worthwhile(laws[:count], miss)]
        total = sum(1 / each.variance for each in chosen)
        reached.append(quantile([each.times(1 / each.variance / total) for each in chosen], miss))
        assert reached[-1] <= quantile(laws[count - 1 : count], miss) * (1 + 1e-12)
    assert reached == sorted(reached, reverse=True)


def test_normal_noise_is_left_alone_where_rare_misses_would_be_those_of_laplace_noise() -> None:
    assert worthwhile([NormalTail(1.0), LaplaceTail(1.0)], 0.05) == [0, 1]
    assert worthwhile([NormalTail(1.0), LaplaceTail(1.0)], 1e-12) == [0]
    assert worthwhile([LaplaceTail(1.0), NormalTail(1.0)], 1e-12) == [1]


def test_refining_keeps_the_keys_that_were_found() -> None:
    with small_session() as session:
        first = session.sql(FOUND).answer(epsilon=60)
        assert list(first["q"].values) == ["q0", "q1", "q2"]
        assert list(first.refine(epsilon=1)["q"].values) == ["q0", "q1", "q2"]


def test_a_refined_answer_promises_what_all_its_releases_do_together() -> None:
    with gt.protect(pl.DataFrame({"x": range(50)}), unit=gt.ROW, budget=gt.ApproxDP(99, "1e-6"), name="t") as session:
        first = session.sql("SELECT COUNT(*) AS n FROM t").answer(epsilon="1/4")
        third = first.refine(epsilon=1).refine(epsilon=1)
        assert (third.guarantee, third.cost) == (gt.PureDP("9/4"), gt.PureDP(1))
        assert any("ε = 2.25 (pure)" in note for note in third.notes)
        assert third.refine(mu="1/2").guarantee == gt.PureDP("9/4").compose(gt.GaussianDP("1/2"))


def test_quantiles_are_not_refined() -> None:
    with small_session() as session, pytest.raises(Unprovable):
        session.sql("SELECT MEDIAN(x) AS m FROM data").answer(epsilon=1).refine(epsilon=1)


def test_a_pooled_analyst_refines_an_answer_once_however_often_it_was_asked() -> None:
    """Another analyst drew it; each reading of one's own refers to what one has paid for oneself."""
    table = pl.DataFrame({"u": range(60), "g": ["a", "b", "c"] * 20})
    budget: Any = gt.ApproxDP(20, "1e-3")
    with gt.ledger.open(":memory:") as ledger:
        ledger.population("p", budget=budget, unit="u", analysts="pooled")
        said: dict[str, Any] = {"domains": {"g": ["a", "b", "c"]}, "rows_per_person": 1}
        with gt.protect(
            {"t": table}, unit="u", budget=budget, ledger=gt.ledger.at(ledger, population="p"), **said
        ) as session:
            for name in ("ann", "bob"):
                ledger.analyst(name, datasets=["t"], budget=gt.ApproxDP(5, "1e-4"))
            ann, bob = session.as_analyst("ann"), session.as_analyst("bob")
            text = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
            drawn = ann.sql(text).answer(epsilon=1)
            told = [bob.sql(text).answer(epsilon=1, key=key) for key in (None, None, "k")]
            assert [each.to_dict() for each in told] == [drawn.to_dict()] * 3
            first = told[0].refine(epsilon=1)
            spent = str(bob.budget.spent)
            for each in told:
                assert bob.release(str(each.release_id)).to_dict() == drawn.to_dict()
                refined = each.refine(epsilon=1)
                assert refined.to_dict() == first.to_dict()
                assert bob.release(str(refined.release_id)).to_dict() == first.to_dict()
            assert str(bob.budget.spent) == spent
