"""Descent on samples of persons: who is sampled, what is charged, and what is kept."""

from __future__ import annotations

import sys
from contextlib import suppress
from fractions import Fraction
from hashlib import md5
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.engines import Component, Sample, VectorSum
from giveortake.errors import BudgetExceeded, InvalidParameter, LedgerDamaged, QueryRefused, Unprovable
from giveortake.learn.gradient_descent import Descent, Schedule, sgd
from giveortake.learn.noisy_sums import value
from giveortake.mechanisms.vectors import VectorNoise
from giveortake.plan import Call, ColumnReference, Filter
from giveortake.plan import Literal as Constant
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


module = sys.modules["giveortake.learn.gradient_descent"]  # the package gives its name to the function


def session(rows: pl.DataFrame = ROWS, **more: Any) -> Session:
    usual: dict[str, Any] = {
        "unit": "who",
        "budget": gt.ApproxDP(8, "1e-5"),
        "domains": {"x": (-4, 4), "price": (-8, 8)},
    }
    return gt.protect(rows, **protection_arguments(usual | more))


SAMPLES = 24
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
        assert s.budget.left == alone.remaining
        spent = s.budget.spent
        again = sgd(s, "bought", ["x"], **USUAL)
        assert s.budget.spent == spent
        assert np.array_equal(again.path, made.path)
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


def sampled_counts(s: Session, rate: int, times: int = SAMPLES) -> list[int]:
    """How many rows are in samples of 1/rate of all units."""
    relation, engine = mechanism_of(s).origin.relations["data"], mechanism_of(s).engine
    samples = [Sample(f"{salt} ", 2**60 // rate) for salt in range(times)]
    asked = [VectorSum(relation, (), (), (Component(),), 10, each) for each in samples]
    return [int(Revealing().release(engine.vectors(each))[0]) for each in asked]


def test_all_rows_of_a_person_are_in_a_sample_or_none_and_persons_are_drawn_apart() -> None:
    with session() as s, session(unit=gt.ROW) as mutant:
        counts = sampled_counts(s, 4)
        assert all(count % 2 == 0 for count in counts)  # everybody has two rows
        sizes = [count // 2 for count in counts]
        assert np.mean(sizes) == pytest.approx(500, abs=6 * np.sqrt(2000 * 3 / 16 / SAMPLES))
        assert np.std(sizes) == pytest.approx(np.sqrt(2000 * 3 / 16), rel=0.6)
        assert not all(count % 2 == 0 for count in sampled_counts(mutant, 4))  # what samples rows is told from it


def test_where_rows_are_protected_rows_are_sampled_apart_though_they_are_alike() -> None:
    alike = ROWS.with_columns(x=pl.lit(1.0), bought=pl.lit(value=True))
    for rows in (ROWS, alike):
        with session(rows, unit=gt.ROW) as s:
            sizes = sampled_counts(s, 4)
            assert np.mean(sizes) == pytest.approx(1000, abs=6 * np.sqrt(4000 * 3 / 16 / SAMPLES))
            assert np.std(sizes) == pytest.approx(np.sqrt(4000 * 3 / 16), rel=0.6)
            made = sgd(s, "bought", ["x"], **USUAL | {"n": 4000})
            assert (made.predict(rows) == rows["bought"].to_numpy()).mean() > 0.8


@pytest.mark.parametrize("more", [0, 2])
def test_a_row_more_is_one_more_that_is_sampled_on_its_own_and_no_other_row_is_sampled_otherwise(more: int) -> None:
    rows = pl.DataFrame({"x": [0.5, 0.5, -0.5, 0.25] + [0.5] * more})
    counts = []
    with gt.protect(rows, unit=gt.ROW, budget=gt.ZCDP(1), domains={"x": (-1, 1)}, name="data") as s:
        relation, engine = mechanism_of(s).origin.relations["data"], mechanism_of(s).engine
        values = (value(ColumnReference("x")),)
        for salt in range(60):
            sample = Sample(f"{salt} ", 2**59)
            cells = [
                VectorSum(
                    Filter(relation, Call("eq", (ColumnReference("x"), Constant(Fraction(each))))),
                    values,
                    (),
                    parts,
                    10,
                    sample,
                )
                for each, parts in ((0.5, (Component(),)), (-0.5, (Component(),)))
            ]
            counts.append([int(Revealing().release(engine.vectors(each))[0]) for each in cells])
    others = [count for _, count in counts]
    assert others == [
        int(md5(f"{salt} -512,1".encode(), usedforsecurity=False).hexdigest()[:15], 16) < 2**59 for salt in range(60)
    ]
    assert np.mean([count for count, _ in counts]) == pytest.approx((2 + more) / 2, abs=0.8)


def followed(s: Session, monkeypatch: pytest.MonkeyPatch, **more: Any) -> tuple[Descent, list[Any]]:
    """A descent without noise, on secret samples, and the sums that it saw."""
    sums: list[Any] = []

    def bare(self: VectorNoise, exact: Any, entropy: Any = None) -> Any:
        sums.append(exact.open(self).released().astype(object))
        return sums[-1]

    monkeypatch.setattr(VectorNoise, "release", bare)
    return sgd(s, "bought", ["x"], **USUAL | more), sums


def divides_by_what_is_public(made: Descent, sums: list[Any], expected: float) -> bool:
    """Whether each step is its sum divided by rate times the public number of persons."""
    steps = -np.diff(np.vstack([np.zeros(2), made.path]), axis=0) * np.sqrt(1 + np.arange(12) / 10)[:, None]
    means = np.array(sums, dtype=float) / 2**20 / expected
    return bool(np.allclose(steps, 8 * means, atol=1e-4))


def test_a_step_is_a_sum_divided_by_a_public_number_and_never_by_the_size_of_its_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with session() as s:
        made, sums = followed(s, monkeypatch)
        assert divides_by_what_is_public(made, sums, 500)
    with session() as s:  # an n that is wrong is taken as it was said
        made, sums = followed(s, monkeypatch, n=4000)
        assert divides_by_what_is_public(made, sums, 1000)
    with session() as s:  # a mutant that divides by what it has sampled
        sizes = iter(np.random.default_rng(1).binomial(2000, 0.25, 100))
        monkeypatch.setattr(Schedule, "mean", lambda self, steps: steps.astype(float) / 2**20 / next(sizes))
        made, sums = followed(s, monkeypatch)
        assert not divides_by_what_is_public(made, sums, 500)


def test_what_cannot_be_computed_counts_as_zero_and_a_person_is_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ROWS.with_columns(x=pl.when(pl.col("who") < 1000).then(float("nan")).otherwise(pl.col("x")))
    once: dict[str, Any] = {"steps": 1, "rate": "1/2"}
    with session(broken) as s:
        domain = mechanism_of(s).origin.relations["data"]
        engine = mechanism_of(s).engine
        parts = (Component((0, 0)), Component())
        sums, rows = Revealing().release(
            engine.vectors(VectorSum(domain, (value(ColumnReference("x")),), (), parts, 2**30))
        )
    with session(ROWS.filter(pl.col("who") >= 1000)) as s:
        relation, engine = mechanism_of(s).origin.relations["data"], mechanism_of(s).engine
        assert (
            sums
            == Revealing().release(
                engine.vectors(VectorSum(relation, (value(ColumnReference("x")),), (), parts, 2**30))
            )[0]
        )
    assert rows == 4000
    one = pl.DataFrame({"who": [1] * 50, "x": [1.0] * 50, "bought": [True] * 50, "price": [0.0] * 50})
    with session(one) as s:
        _, found = followed(s, monkeypatch, **once | {"n": 1, "clip": "1/2"})
        assert sum(each**2 for each in found[0]) <= 2**38  # all fifty together, or nobody
    with session() as s:
        made, found = followed(s, monkeypatch, **once, loss=lambda score, y: (score - score - 1).ln() + y)
        assert not np.any(found[0])
        assert not np.any(made.path)


def test_a_loss_is_an_expression_and_nothing_that_sees_rows() -> None:
    with session() as s:
        seen: list[Any] = []

        def robust(score: gt.frame.Expr, y: gt.frame.Expr) -> gt.frame.Expr:
            seen.append((repr(score), repr(y)))
            return (score - y).clamp(-0.25, 0.25)

        made = sgd(s, "price", ["x"], loss=robust, **USUAL | {"learning_rate": 2.0})
        assert seen == [("score", "target")]
        assert np.corrcoef(made.predict(ROWS), ROWS["price"])[0, 1] > 0.99
        wrongs: tuple[Any, ...] = (lambda s, y: 1.0, lambda s, y: gt.col("who") - y, lambda s, y: s > y)
        for wrong in wrongs:
            with pytest.raises(InvalidParameter, match="loss"):
                sgd(s, "price", ["x"], loss=wrong, **USUAL)


def test_a_descent_on_another_lattice_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with session(budget=gt.ApproxDP(12, "1e-5")) as s:
        made = sgd(s, "bought", ["x"], **USUAL)
        monkeypatch.setattr(module, "value", lambda expression, low=-1: value(expression, low, steps=512))
        again = sgd(s, "bought", ["x"], **USUAL)
        assert [each.kind for each in s.history()].count("reserved") == 2
        assert not np.array_equal(again.path, made.path)
        monkeypatch.setattr(module, "lattice_of", lambda _: [])  # a name that tells too little
        monkeypatch.setattr(module._Descent, "_request_fields", lambda *_: {})
        sgd(s, "bought", ["x"], **USUAL)
        with pytest.raises(LedgerDamaged, match="other steps"):
            sgd(s, "bought", ["x", "price"], **USUAL)


def test_what_has_no_price_or_no_meaning_is_refused_at_no_cost() -> None:
    with session(neighbours="change-one") as s, pytest.raises(Unprovable, match="changed"):
        sgd(s, "bought", ["x"], **USUAL)
    with session(unit=gt.ROW) as s:
        with pytest.raises(QueryRefused, match="union"):
            sgd(s.table().union(s.table()), "bought", ["x"], **USUAL)
        assert not [each for each in s.history() if each.kind == "reserved"]
    with session(budget=gt.ApproxDP(1, "1e-5")) as s:
        with pytest.raises(BudgetExceeded):
            sgd(s, "bought", ["x"], **USUAL)
        with pytest.raises(InvalidParameter, match="loss"):
            sgd(s, "bought", ["x"], loss="hinge", **USUAL)
        with pytest.raises(InvalidParameter, match="rate"):
            sgd(s, "bought", ["x"], **USUAL | {"rate": 1})
        with pytest.raises(InvalidParameter, match="classes"):
            sgd(s, "price", ["x"], **USUAL)
        assert not [each for each in s.history() if each.kind == "reserved"]
