"""Choosing among models: who is held out, what is charged, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.engines import Component, VectorSum
from giveortake.errors import BudgetExceeded, InvalidParameter, QueryRefused, Unprovable
from giveortake.learn import LinearRegression, Ridge, select
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from replay import Revealing

RANDOM = np.random.default_rng(5)
X, Z = RANDOM.uniform(-1, 1, (2, 6000))
ROWS = pl.DataFrame(
    {"who": np.arange(6000) // 2, "x": X, "z": Z, "y": np.clip(0.8 * X + RANDOM.normal(0, 0.1, 6000), -1, 1)}
)


def session(rows: pl.DataFrame = ROWS, **more: Any) -> Session:
    domains = {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}
    usual: dict[str, Any] = {"unit": "who", "budget": gt.GaussianDP(4), "domains": domains, "name": "rows"}
    return gt.protect(rows, **protection_arguments(usual | more))


def candidates() -> list[Any]:
    return [LinearRegression("y", [name], mu=1, clip=2) for name in ("z", "x")]


def recorded_sums(s: Session, monkeypatch: pytest.MonkeyPatch) -> list[VectorSum]:
    """Every sum that the engine is asked for from now on."""
    asked: list[VectorSum] = []
    engine = type(mechanism_of(s).engine)
    right = engine.vectors

    def recording(self: Any, question: VectorSum) -> Any:
        asked.append(question)
        return right(self, question)

    monkeypatch.setattr(engine, "vectors", recording)
    return asked


def test_every_fit_and_every_score_is_charged_and_the_best_is_found() -> None:
    with session() as s:
        found = select(s, candidates(), mu=2, clip=2)
        assert found.best.features == ["x"]
        assert [each.kind for each in s.history()].count("reserved") == 4
        assert float(s.budget.spent) == pytest.approx(2 * 1 + 2 * 4)
        truth = 1 - 0.08 / 2
        assert found.scores[1].value == pytest.approx(truth, abs=0.02)  # ten deviations of the noise
        assert found.scores[0].value < found.scores[1].value - 3 * found.scores[0].deviation
        spent = s.budget.spent
        assert [each.value for each in select(s, candidates(), mu=2, clip=2).scores] == [
            each.value for each in found.scores
        ]
        assert s.budget.spent == spent


def test_a_person_is_held_out_with_all_rows_and_never_fitted_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with session() as s:
        asked = recorded_sums(s, monkeypatch)
        select(s, candidates()[:1], mu="1/2", clip=2)
        *fits, score = [each.sample for each in asked]
        assert score is not None
        assert not score.others
        assert all(each is not None and each.others and each.salt == score.salt for each in fits)
        counts = []
        for sample in (fits[0], score):
            rows = VectorSum(asked[0].relation, (), (), (Component(),), 10, sample)
            counts.append(int(Revealing().release(mechanism_of(s).engine.vectors(rows))[0]))
        assert sum(counts) == 6000
        assert all(count % 2 == 0 for count in counts)
        assert counts[1] == pytest.approx(1200, abs=6 * 2 * np.sqrt(3000 * 0.16))


def test_a_score_is_what_the_model_gains_and_moves_by_no_more_than_a_person_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with session() as s, monkeypatch.context() as patched:
        asked = recorded_sums(s, patched)
        model: Any = select(s, candidates()[1:], mu="1/2", clip=1).best
    score, sums = replace(asked[-1], sample=None), []
    for rows in (ROWS, ROWS.filter(pl.col("who") != 7)):
        with session(rows) as s:
            sums.append(Revealing().release(mechanism_of(s).engine.vectors(score)).astype(float))
    assert 0 < np.linalg.norm(sums[0] - sums[1]) <= score.bound
    gains = 1 - np.abs(model.predict(ROWS) - ROWS["y"].to_numpy()) / 2
    pairs = gains.reshape(-1, 2).sum(axis=1), np.full(3000, 2.0)
    shorter = np.minimum(1, np.sqrt(2) / np.hypot(*pairs))  # one row's worth of each person
    assert sums[0] / 1024 == pytest.approx([(pairs[0] * shorter).sum(), (pairs[1] * shorter).sum()], rel=0.002)


def test_classes_are_scored_by_how_many_are_right() -> None:
    rows = ROWS.with_columns(b=pl.Series(X + RANDOM.normal(0, 0.3, 6000) > 0))
    with session(rows, budget=gt.GaussianDP(9)) as s:
        learners: list[Any] = [
            gt.learn.LogisticRegression("b", ["x", "z"], mu=3, clip=2),
            gt.learn.AdditiveClassifier("b", ["x"], mu=3, clip=2, bins=8),
            gt.learn.AdditiveRegressor("y", ["x"], mu=3, clip=2, bins=8),
        ]
        found = select(s, learners, mu=3, clip=2)
    for learner, score in zip(learners[:2], found.scores, strict=False):
        truth = float((learner.predict(rows) == rows["b"].to_numpy()).mean())
        assert score.value == pytest.approx(truth, abs=0.03 + 4 * score.deviation)
        assert truth > 0.8
    near = 1 - np.abs(learners[2].predict(rows) - rows["y"].to_numpy()).mean() / 2
    assert found.scores[2].value == pytest.approx(near, abs=0.01 + 4 * found.scores[2].deviation)


def test_what_cannot_be_chosen_among_is_refused_at_no_cost() -> None:
    with session() as s:
        with pytest.raises(Unprovable, match="secret"):
            select(s, candidates(), mu=1, clip=2, trials="secret")
        with pytest.raises(InvalidParameter, match="candidates"):
            select(s, [], mu=1, clip=2)
        with pytest.raises(InvalidParameter, match="trials"):
            select(s, candidates(), mu=1, clip=2, trials="free")  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="held_out"):
            select(s, candidates(), mu=1, clip=2, held_out=1)
        with pytest.raises(InvalidParameter, match="epsilon"):
            select(s, candidates(), clip=2)
        with pytest.raises(QueryRefused):  # its target is no column
            select(s, [gt.learn.NaiveBayes("b", ["x"], mu=1, clip=2)], mu=1, clip=2)
        assert not [each for each in s.history() if each.kind == "reserved"]
        with pytest.raises(BudgetExceeded):
            select(s, [Ridge("y", ["x"], penalty=1, mu=5, clip=2)], mu=1, clip=2)
    with session(unit=gt.ROW) as s, pytest.raises(QueryRefused, match="no ids"):
        select(s, [LinearRegression("y", ["x"], mu=1)], mu=1)
