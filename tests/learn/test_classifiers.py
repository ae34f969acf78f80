"""Classifiers and additive models: what they learn, what they are charged, and what of them comes from rows."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
import tiers
from giveortake.audit.conformance import Case, compare
from giveortake.configuration import protection_arguments
from giveortake.engines import VectorSum
from giveortake.errors import InvalidParameter, NotFitted, QueryRefused
from giveortake.learn import (
    AdditiveClassifier,
    AdditiveRegressor,
    ClassMeans,
    KMeans,
    LogisticRegression,
    NaiveBayes,
)
from giveortake.session import Session
from giveortake.session.session import mechanism_of

RANDOM = np.random.default_rng(3)
COUNT = 6000
X, COLOUR = RANDOM.uniform(-2, 2, COUNT), RANDOM.choice(["red", "green", "blue"], COUNT)
LOG_ODDS = 3 * X + 2 * (COLOUR == "red") - 1
ROWS = pl.DataFrame(
    {
        "who": np.arange(COUNT) // 2,
        "x": X,
        "y": RANDOM.normal(0, 1, COUNT),
        "colour": COLOUR,
        "bought": np.where(RANDOM.random(COUNT) < 1 / (1 + np.exp(-LOG_ODDS)), "yes", "no"),
        "price": 5 * X**2 + 3 * (COLOUR == "red") + RANDOM.normal(0, 0.5, COUNT),
    }
)
DOMAINS: dict[str, Any] = {
    "x": (-2, 2),
    "y": (-4, 4),
    "colour": ["red", "green", "blue"],
    "bought": ["no", "yes"],
    "price": (-3, 25),
}
FEATURES = ["x", "y", "colour"]
CLASSIFIERS = [LogisticRegression, AdditiveClassifier, NaiveBayes, ClassMeans]
LEARNERS = [*CLASSIFIERS, AdditiveRegressor]
SPEND: dict[str, Any] = {"epsilon": 2, "delta": "1e-6"}


def session(rows: pl.DataFrame = ROWS, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(8, "1e-5"), "domains": DOMAINS, "name": "shop"}
    return gt.protect(rows, **protection_arguments(usual | more))


def made(learner: Any, **more: Any) -> Any:
    if learner is KMeans:
        return KMeans(features=FEATURES, n_clusters=2, **SPEND | more)
    target = "price" if learner is AdditiveRegressor else "bought"
    return learner(target, FEATURES, **SPEND | more)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_learns_is_charged_once_and_free_when_it_is_asked_again(learner: Any) -> None:
    with session() as s:
        quote = made(learner).quote(s, n=COUNT)
        assert quote.facts["noise_to_signal"] < 0.2
        assert all(line["noise"] is not None for line in quote.lines)
        assert not [each for each in s.history() if each.kind == "reserved"]
        model = made(learner).fit(s)
        assert model.score(ROWS, ROWS[model.target]) > 0.75
        assert [each.kind for each in s.history()].count("reserved") == 1
        spent = s.budget.spent
        again = made(learner).fit(s)
        assert s.budget.spent == spent
        assert np.array_equal(again.predict(ROWS), model.predict(ROWS))
        assert model.target in model.card().to_html()
        read = learner.from_json(model.to_json())
        assert np.array_equal(read.predict(ROWS), model.predict(ROWS))
        assert read.to_json() == model.to_json()
        if learner is not AdditiveRegressor:
            assert model.classes_.tolist() == ["no", "yes"]
            chances = model.predict_proba(ROWS)
            assert chances.sum(axis=1) == pytest.approx(1)
            assert np.array_equal(read.predict_proba(ROWS), chances)
            assert ((model.decision_function(ROWS) > 0) == (model.predict(ROWS) == "yes")).all()
        if learner is LogisticRegression:
            assert model.model_.names == ["x", "y", "colour=green", "colour=blue"]
            columns = [ROWS["x"], ROWS["y"], ROWS["colour"] == "green", ROWS["colour"] == "blue"]
            log_odds = model.intercept_ + np.column_stack(columns) @ model.coef_[0]
            assert model.decision_function(ROWS) == pytest.approx(log_odds)


@pytest.mark.parametrize("learner", tiers.tiered([AdditiveClassifier, NaiveBayes], LEARNERS))
def test_an_interrupted_fit_goes_on_without_new_noise(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = {NaiveBayes: 1, ClassMeans: 1, AdditiveRegressor: 6}.get(learner, 7)
    with session() as s:
        engine = type(mechanism_of(s).engine)
        right, calls = engine.vectors, [0]

        def interrupted(self: Any, asked: VectorSum) -> Any:
            calls[0] += 1
            if calls[0] == min(3, passes):
                raise KeyboardInterrupt
            return right(self, asked)

        monkeypatch.setattr(engine, "vectors", interrupted)
        with suppress(KeyboardInterrupt):
            made(learner).fit(s)
        spent = s.budget.spent
        made(learner).fit(s)
        assert s.budget.spent == spent
        assert calls[0] == passes + 1  # what was drawn before was not drawn again


SMALL = ROWS.head(60)


# -- what comes from declarations alone -------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_classes_and_categories_are_the_declared_ones_whatever_the_rows_hold(learner: Any) -> None:
    odd = SMALL.with_columns(bought=pl.lit("yes"), colour=pl.lit("mauve"))
    stray = pl.concat([odd, odd.head(1).with_columns(bought=pl.lit("zebra"))])
    for rows in (odd, stray) if tiers.is_long() else (stray,):
        with session(rows) as s:
            model = made(learner).fit(s)
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.predict_proba(ROWS.head(5)).shape == (5, 2)
        assert "zebra" not in model.to_json()
        assert "mauve" not in model.to_json()


@pytest.mark.parametrize("learner", [LogisticRegression, KMeans])
def test_rows_without_a_declared_category_are_not_counted_with_the_first(
    learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = [SMALL.with_columns(colour=pl.lit(each, dtype=pl.String)) for each in ("mauve", None)]
    case = Case("stray rows", "fit", lambda s, _terms: iter([made(learner).fit(s)]))
    with session(SMALL, unit=gt.ROW) as few, session(pl.concat([SMALL, *stray]), unit=gt.ROW) as many:
        assert compare(case, "μ", few, many, same=True).violations == ()


def refused_parameter(learner: Any, s: Session) -> str:
    with pytest.raises(InvalidParameter) as error:
        learner.fit(s)
    return error.value.name


def test_what_cannot_be_learned_is_refused_before_it_is_paid() -> None:
    targets = {learner: "price" if learner is AdditiveRegressor else "bought" for learner in LEARNERS}
    many = [str(each) for each in range(100_000)]
    with session(domains=DOMAINS | {"colour": many, "y": (1, 1), "bought": ["no"], "price": (1, 1)}) as s:
        for learner, target in targets.items():
            for features in (["x", "colour"], ["y"]):  # too many categories; a constant
                refused_parameter(learner("who", features, **SPEND), s)
            refused_parameter(learner(target, ["x"], **SPEND), s)  # one class
        assert not [each for each in s.history() if each.kind == "reserved"]
    with session(domains={"bought": ["no", "yes"], "price": (0, 1)}) as s:
        for learner, target in targets.items():
            refused_parameter(learner(target, ["x"], **SPEND), s)  # no bounds
            assert refused_parameter(learner(None, ["x"], **SPEND), s) == "target"
            with pytest.raises(NotFitted):
                learner(target).predict(ROWS)
    with session(unit="who") as people, session() as s:
        for learner in LEARNERS:
            with pytest.raises(QueryRefused, match="clip"):
                made(learner).fit(people)
            refused_parameter(made(learner, epsilon="0.001", n=50), s)  # more noise than rows
            assert refused_parameter(made(learner, delta=None), s) == "delta"
        assert not [each for each in s.history() if each.kind == "reserved"]


def test_shapes_have_a_number_and_a_band_for_each_bin_and_can_be_drawn() -> None:
    with session() as s:
        model = AdditiveRegressor("price", FEATURES, bins={"y": [-1, 1]}, **SPEND | {"epsilon": 6}).fit(s)
    shapes = model.shapes()
    assert [label for label, *_ in shapes["colour"]] == ["red", "green", "blue"]
    assert [label for label, *_ in shapes["y"]] == ["-4 … -1", "-1 … 1", "1 … 4"]
    assert len(shapes["x"]) > 6
    effects = {label: effect for label, effect, _ in shapes["colour"]}
    assert effects["red"] - effects["green"] == pytest.approx(3, abs=0.4)
    assert all(0 < doubt < 1 for each in shapes.values() for _, _, doubt in each)
    assert "vega-lite" in model.plot().to_json()


def test_bins_of_few_rows_are_drawn_to_the_rate_of_all_and_their_bands_say_that_little_is_known() -> None:
    """One in ten says yes, in a group of 150 as in one of 2,000; noise is about 30 rows."""
    colours = ["red"] * 150 + ["green"] * 2_000 + ["blue"] * 1_850
    rows = pl.DataFrame({"colour": colours, "bought": ["yes" if place % 10 == 0 else "no" for place in range(4_000)]})
    found = []
    for _ in range(5):
        with session(rows, domains={name: DOMAINS[name] for name in ("colour", "bought")}) as s:
            fit = AdditiveClassifier("bought", ["colour"], mu="0.25").fit(s)
        found.append(fit.predict_proba(pl.DataFrame({"colour": ["red"]}))[0, 1])
        bands = {name: deviation for name, _, deviation in fit.shapes()["colour"]}
        assert bands["red"] > bands["green"]
    assert 0.05 < np.median(found) < 0.2  # at even odds before: 0.3 to 0.5
