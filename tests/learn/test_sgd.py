"""Descent on samples of persons: who is sampled, what is charged, and what is kept."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.engines import Component, Sample, VectorSum
from giveortake.errors import BudgetExceeded, InvalidParameter, QueryRefused, Unprovable
from giveortake.learn.sgd import Descent, sgd
from giveortake.privacy import events
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from replay import Revealing

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(0, 1, 4000)
ROWS = pl.DataFrame(
    {"who": np.arange(4000) // 2, "x": X, "bought": RANDOM.random(4000) < 1 / (1 + np.exp(-3 * X)), "price": 2 * X}
)
USUAL: dict[str, Any] = {"steps": 12, "rate": "1/4", "n": 2000, "epsilon": 3, "delta": "1e-6", "learning_rate": 8.0}


def session(**more: Any) -> Session:
    usual: dict[str, Any] = {
        "unit": "who",
        "budget": gt.ApproxDP(8, "1e-5"),
        "domains": {"x": (-4, 4), "price": (-8, 8)},
    }
    return gt.protect(ROWS, **usual | more)


CALIBRATED = Fraction(915, 512)  # the least noise that gt.accounting.calibrate certifies for these steps


def test_a_descent_learns_is_charged_once_and_kept() -> None:
    with session() as s:
        made = sgd(s, "bought", ["x"], **USUAL)
        assert (made.predict(ROWS) == ROWS["bought"].to_numpy()).mean() > 0.8
        assert made.predict_proba(ROWS).sum(axis=1) == pytest.approx(1)
        assert [each.kind for each in s.history()].count("reserved") == 1
        declared = events.Repeated(events.Subsampled(events.Gaussian(CALIBRATED), Fraction(1, 4)), 12)
        alone = gt.accounting.filter(gt.ApproxDP(8, "1e-5"))
        alone.charge(declared)
        assert s.remaining == alone.remaining
        spent = s.spent
        again = sgd(s, "bought", ["x"], **USUAL)
        assert s.spent == spent
        assert np.array_equal(again.path, made.path)
        assert "nothing was charged" in str(again.card())
        assert np.array_equal(Descent.from_json(made.to_json()).predict(ROWS), made.predict(ROWS))
        prices = sgd(s, "price", ["x"], loss="squared", **USUAL | {"learning_rate": 1.0})
        assert np.corrcoef(prices.predict(ROWS), ROWS["price"])[0, 1] > 0.99


def test_an_interrupted_descent_goes_on_with_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with session() as s:
        engine = type(mechanism_of(s).engine)
        calls: list[Sample] = []
        right = engine.vectors

        def interrupted(self: Any, asked: VectorSum) -> Any:
            assert asked.sample is not None
            calls.append(asked.sample)
            if len(calls) == 5:
                raise KeyboardInterrupt
            return right(self, asked)

        monkeypatch.setattr(engine, "vectors", interrupted)
        with suppress(KeyboardInterrupt):
            sgd(s, "bought", ["x"], **USUAL)
        sgd(s, "bought", ["x"], **USUAL)
        assert len(calls) == 5 + 8
        assert len({each.salt for each in calls}) == len(calls)  # every sample is fresh
        assert all(each.below == 2**58 for each in calls)
        assert "salt" not in repr(calls[0])


def test_all_rows_of_a_person_are_in_a_sample_or_none_and_persons_are_drawn_apart() -> None:
    with session() as s:
        relation = mechanism_of(s).origin.relations["data"]
        engine = mechanism_of(s).engine
        sizes = []
        for salt in range(60):
            asked = VectorSum(relation, (), (), (Component(),), 10, Sample(f"{salt} ", 2**58))
            (count,) = Revealing().release(engine.vectors(asked))
            assert count % 2 == 0  # everybody has two rows
            sizes.append(count // 2)
        assert np.mean(sizes) == pytest.approx(500, abs=6 * np.sqrt(2000 * 3 / 16 / 60))
        assert np.std(sizes) == pytest.approx(np.sqrt(2000 * 3 / 16), rel=0.6)


def test_what_has_no_price_or_no_meaning_is_refused_at_no_cost() -> None:
    with session(neighbours="change-one") as s, pytest.raises(Unprovable, match="changed"):
        sgd(s, "bought", ["x"], **USUAL)
    with session(unit=gt.ROW) as s, pytest.raises(QueryRefused, match="no names"):
        sgd(s, "bought", ["x"], **USUAL)
    with session(budget=gt.ApproxDP(1, "1e-5")) as s:
        with pytest.raises(BudgetExceeded, match="nothing was charged"):
            sgd(s, "bought", ["x"], **USUAL)
        with pytest.raises(InvalidParameter, match="loss"):
            sgd(s, "bought", ["x"], loss="hinge", **USUAL)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="rate"):
            sgd(s, "bought", ["x"], **USUAL | {"rate": 1})
        with pytest.raises(InvalidParameter, match="classes"):
            sgd(s, "price", ["x"], **USUAL)
        assert not [each for each in s.history() if each.kind == "reserved"]
