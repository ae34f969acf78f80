"""Minimisers with noise: how far neighbours move them, what is monotone, and what happens without a minimum."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.engines import VectorSum
from giveortake.errors import AllowanceExceeded, InvalidParameter, QueryFailed, QueryRefused
from giveortake.learn import output_perturbation as module
from giveortake.learn.features import features_of
from giveortake.learn.output_perturbation import FINENESS, PerturbedModel, _Risk, chain, output_perturbation
from giveortake.learn.scores import target_of
from giveortake.learn.task import Ground
from giveortake.mechanisms.minimiser import PerturbedMinimiser
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from giveortake.session.vector_run import LearningData

DOMAINS: dict[str, Any] = {"x": (-1, 1), "c": ["a", "b"], "y": (-1, 1)}
LARGE = Fraction(32)  # so strong a pull that a row of its own is followed almost as far as can be


def session(rows: dict[str, list[Any]], **more: Any) -> Session:
    domains = {name: each for name, each in DOMAINS.items() if name in rows}
    kinds = {"who": pl.Int64, "x": pl.Float64, "c": pl.String, "y": pl.Float64, "bought": pl.Boolean}
    table = pl.DataFrame(rows, schema={name: kinds[name] for name in rows})
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(50, "1e-5"), "domains": domains, "name": "rows"}
    return gt.protect(table, **usual | more)


def risk(s: Session, loss: Any, strength: Fraction) -> _Risk:
    data = LearningData.of(s)
    target = target_of(
        data.schema, "bought" if loss == "logistic" else "y", "logistic" if loss == "logistic" else "squared"
    )
    ground = Ground.of(data, {"mu": 1}, None, None)
    return _Risk(ground, features_of(data.schema, ["x", "c"], target.name), target, loss, strength)


def minimiser(rows: list[tuple[Any, ...]], loss: Any, strength: Fraction, **more: Any) -> np.ndarray[Any, Any]:
    """The point that noise is added to, on a table of (x, c, y, bought)."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("x", "c", "y", "bought"))}
    if more:
        columns = {"who": [row[4] for row in rows]} | columns
    with session(columns, **more) as s:
        asked = risk(s, loss, strength)
        engine = mechanism_of(s).engine
        found = asked.mechanism(Fraction(1), changed=False).minimiser(
            lambda point: tuple(engine.vectors(each) for each in asked.asked(point))  # type: ignore[arg-type,return-value]
        )
    assert found is not None
    return np.array(found) / FINENESS


def longest(rows: int = 1) -> float:
    return rows * 3**0.5 * (1 + 1e-6)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_minimisers_of_neighbours_differ_by_no_more_than_was_said(loss: str) -> None:
    random = np.random.default_rng(3)
    far = 0.0
    for size in (0, 4, 30):
        rows = [
            (x, c, y, bool(b))
            for x, c, y, b in zip(
                random.uniform(-1, 1, size).tolist(),
                random.choice(["a", "b"], size).tolist(),
                random.uniform(-1, 1, size).tolist(),
                random.integers(0, 2, size).tolist(),
                strict=True,
            )
        ]
        strength = LARGE if size < 4 else Fraction(1, 2)
        bound = longest() * (1 + 2 / 32) / float(strength)
        base = minimiser(rows, loss, strength)
        for more in ((1.0, "b", 1.0, True), (-1.0, "b", -1.0, False)):
            moved = float(np.linalg.norm(minimiser([*rows, more], loss, strength) - base))
            assert moved <= bound, f"{size} rows"
            far = max(far, moved / bound)
    assert far > (0.7 if loss == "huber" else 0.3)  # the slope of a logistic loss is ½ where nothing is known


def test_the_rows_of_a_person_move_a_minimiser_together_and_a_changed_person_twice_as_far() -> None:
    usual: dict[str, Any] = {"unit": "who", "rows_per_person": 3}
    one = [(1.0, "b", 1.0, True, 1)] * 5  # of which three count
    other = [(-1.0, "b", -1.0, False, 1)] * 5
    bound = 3 * longest() * (1 + 2 / 32) / float(2 * LARGE)
    nobody = minimiser([], "huber", 2 * LARGE, **usual)
    somebody = minimiser(one, "huber", 2 * LARGE, **usual)
    assert 0.8 * bound < np.linalg.norm(somebody - nobody) <= bound
    moved = float(np.linalg.norm(minimiser(other, "huber", 2 * LARGE, **usual) - somebody))
    assert bound < moved <= 2 * bound  # a price of adding would be too little for a change
    with session({"who": [1], "x": [1.0], "c": ["a"], "y": [0.0]}, **usual) as s:
        asked = risk(s, "huber", LARGE)
        added, changed = (asked.mechanism(Fraction(1), changed=each).sigma for each in (False, True))
        assert 3 * longest() / 32 * FINENESS < added < 3 * longest() * 1.07 / 32 * FINENESS
        assert Fraction(3, 2) * added < changed < 2 * added


def test_slopes_grow_with_the_score_on_the_doubles_that_are_computed() -> None:
    scores = np.unique(np.random.default_rng(0).integers(-(2**36) * 9, 2**36 * 9, 200_000)) / 2**36
    slopes = (
        np.zeros(len(scores))
        + 0.5
        + sum(float(height) * np.clip(scores, -float(end), float(end)) for height, end in chain())
    )
    assert np.all(np.diff(slopes) >= 0)
    assert np.max(np.abs(slopes - 1 / (1 + np.exp(-scores)))) < 0.0075
    exactly = [
        Fraction(1, 2) + sum(h * max(-e, min(e, Fraction(float(s)))) for h, e in chain()) for s in scores[::2000]
    ]
    assert [Fraction(float(each)) for each in slopes[::2000]] == exactly
    assert all(abs(each) <= 1 for each in exactly)


def test_a_mutant_that_does_not_test_the_gradient_moves_farther(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0.9, "a", 1.0, True)] * 40 + [(-0.9, "a", -1.0, False)] * 40
    bound = longest() * (1 + 2 / 32) / 0.125
    strength = Fraction(1, 8)
    monkeypatch.setattr(PerturbedMinimiser, "_point", lambda self, start, far: (here(self), 0, 0))
    monkeypatch.setattr(
        PerturbedMinimiser, "_force", lambda self, here, gradient: [Fraction(0 if here[0] else 1000)] * 3
    )
    places = iter((1, 2))

    def here(self: PerturbedMinimiser) -> int:
        return 100 * FINENESS * (1 if next(places) == 1 else -1)

    found = [minimiser(each, "huber", strength) for each in (rows, rows[1:])]
    assert np.linalg.norm(found[0] - found[1]) > bound


def test_a_model_is_one_release_that_learns_and_is_kept() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, 5000)
    rows = pl.DataFrame({"x": x, "y": np.clip(x / 2, -1, 1), "bought": random.random(5000) < 1 / (1 + np.exp(-6 * x))})
    with gt.protect(rows, unit=gt.ROW, budget=gt.ApproxDP(8, "1e-5"), domains={"x": (-1, 1), "y": (-1, 1)}) as s:
        made = output_perturbation(s, "bought", ["x"], regularisation=25, epsilon=1, delta="1e-6")
        assert (made.predict(rows) == rows["bought"].to_numpy()).mean() > 0.85
        assert [each.kind for each in s.history()].count("reserved") == 1
        spent = s.spent
        again = output_perturbation(s, "bought", ["x"], regularisation=25, epsilon=1, delta="1e-6")
        assert s.spent == spent
        assert np.array_equal(again.coefficients, made.coefficients)
        assert "Λ = 25" in str(again.card())
        assert np.array_equal(PerturbedModel.from_json(made.to_json()).predict(rows), made.predict(rows))
        numbers = output_perturbation(s, "y", ["x"], loss="huber", regularisation=25, mu="1/2")
        assert np.corrcoef(numbers.predict(rows), rows["y"])[0, 1] > 0.99


def test_a_search_without_end_is_one_fixed_sentence_as_long_as_any_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: dict[str, list[Any]] = {"x": [0.5] * 50, "y": [1.0] * 50, "bought": [True] * 50}
    passes: list[VectorSum] = []
    with session(rows, failures=1) as s:
        engine = type(mechanism_of(s).engine)
        right = engine.vectors

        def counted(self: Any, asked: VectorSum) -> Any:
            passes.append(asked)
            return right(self, asked)

        monkeypatch.setattr(engine, "vectors", counted)
        output_perturbation(s, "bought", ["x"], regularisation=1, mu=1)
        assert len(passes) == 2 * 16  # as many, whenever the minimum was found
        monkeypatch.setattr(module, "_PASSES", 1)
        with pytest.raises(QueryFailed, match="no minimum was found") as failed:
            output_perturbation(s, "bought", ["x"], regularisation=1, mu=1)
        assert failed.value.cause == "convergence"
        with pytest.raises(AllowanceExceeded, match="failed"):  # the one failure that there was
            output_perturbation(s, "bought", ["x"], regularisation=2, mu=1)


def test_what_nothing_bounds_is_refused_at_no_cost() -> None:
    with session({"who": [1], "x": [0.5], "y": [1.0], "bought": [True]}, unit="who") as s:
        with pytest.raises(QueryRefused, match="any number of rows"):
            output_perturbation(s, "bought", ["x"], regularisation=1, mu=1)
        with pytest.raises(InvalidParameter, match="convex"):
            output_perturbation(s, "bought", ["x"], loss="hinge", regularisation=1, mu=1)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="regularisation"):
            output_perturbation(
                s.table().per_person(x=gt.mean("x"), y=gt.mean("y")), "y", loss="huber", regularisation=0, mu=1
            )
        assert not [each for each in s.history() if each.kind == "reserved"]
