"""Asking again for a surer answer: releases are combined, and what they promise together is said."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import Unprovable
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
        assert charges_of(session) == 3


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
        assert "with what it refines it promises ε = 2.25 (pure)" in third.notes
        assert third.refine(mu="1/2").guarantee == gt.PureDP("9/4").compose(gt.GaussianDP("1/2"))


def test_quantiles_are_not_refined() -> None:
    with small_session() as session, pytest.raises(Unprovable):
        session.sql("SELECT MEDIAN(x) AS m FROM data").answer(epsilon=1).refine(epsilon=1)
