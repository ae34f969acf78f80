"""Facts of fitted models: for which class they speak, what they make of public rows, and what they have not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import InvalidParameter
from giveortake.learn import PCA, AdditiveClassifier, KMeans, LogisticRegression, NaiveBayes
from giveortake.session import Session

COUNT = 4000
PLACE = np.arange(COUNT)
X = np.linspace(-1, 1, COUNT)
ROWS = pl.DataFrame(
    {
        "x": X,
        "amount": PLACE % 50,
        "plan": ["free", "pro"] * (COUNT // 2),
        "churn": X > 0,
        "day": [dt.date(2024, 1, 1 + place % 28) for place in PLACE.tolist()],
    }
)
DOMAINS: dict[str, Any] = {
    "x": (-1, 1),
    "amount": (0, 50),
    "plan": ["free", "pro"],
    "churn": [True, False],
    "day": (dt.date(2024, 1, 1), dt.date(2024, 2, 1)),
}
SPEND: dict[str, Any] = {"epsilon": 4, "delta": "1e-6"}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with gt.protect(ROWS, unit=gt.ROW, budget=gt.ApproxDP(99, "1e-4"), domains=DOMAINS, name="shop") as opened:
        yield opened


@pytest.fixture(scope="module")
def line(session: Session) -> Any:
    return LogisticRegression("churn", ["x"], **SPEND).fit(session)


@pytest.fixture(scope="module")
def shapes(session: Session) -> Any:
    return AdditiveClassifier("churn", ["x", "plan"], **SPEND).fit(session)


def test_models_speak_for_true_in_whatever_order_truth_values_are_declared(line: Any, shapes: Any) -> None:
    for model, row in ((line, {"x": [0.9]}), (shapes, {"x": [0.9], "plan": ["pro"]})):
        assert model.classes_.tolist() == [False, True]
        assert model.predict_proba(row)[0, 1] > 0.5
        assert type(model).from_json(model.to_json()).classes_.tolist() == [False, True]
    assert line.coef_[0, 0] > 0
    assert shapes.shapes()["x"][-1][1] > 0


def test_a_model_that_was_written_with_its_classes_in_another_order_keeps_them(line: Any) -> None:
    text = line.to_json()
    assert "[false,true]" in text
    older = LogisticRegression.from_json(text.replace("[false,true]", "[true,false]"))
    assert older.classes_.tolist() == [True, False]


def test_a_feature_of_truth_values_is_measured_from_false(session: Session) -> None:
    model: Any = LogisticRegression("plan", ["churn"], **SPEND).fit(session)
    assert model.model_.names == ["churn=True"]


def test_public_rows_are_clamped_and_those_without_a_number_or_of_no_category_are_refused(
    session: Session, shapes: Any
) -> None:
    logistic: Any = LogisticRegression("churn", ["x", "plan"], **SPEND).fit(session)
    bayes: Any = NaiveBayes("churn", ["x", "plan"], **SPEND).fit(session)
    for model in (logistic, shapes, bayes):
        at, beyond = (model.predict_proba({"x": [x], "plan": ["pro"]}) for x in (1.0, 200.0))
        assert np.array_equal(at, beyond)
        for x, plan in ((np.nan, "pro"), (0.5, "gold")):
            with pytest.raises(InvalidParameter, match="x" if plan == "pro" else "gold"):
                model.predict({"x": [x], "plan": [plan]})
    missing: dict[str, Any] = {"x": [0.9], "plan": [None]}
    with pytest.raises(InvalidParameter, match="plan"):
        logistic.predict(missing)
    assert shapes.predict(missing).tolist() == bayes.predict(missing).tolist() == [True]


def test_learners_without_a_target_take_values_by_name_and_have_what_was_released_alone(session: Session) -> None:
    wrong: list[tuple[Any, tuple[Any, ...]]] = [(KMeans, (["amount", "x"], 3)), (KMeans, (3,)), (PCA, (2,))]
    for learner, arguments in wrong:
        with pytest.raises(TypeError):
            learner(*arguments)
    components: Any = PCA(features=["amount", "x"], **SPEND).fit(session)
    assert components.feature_names_in_.tolist() == ["amount", "x"]
    variances = components.explained_variance_
    assert variances / variances.sum() == pytest.approx(components.explained_variance_ratio_, abs=0.02)
    clusters = KMeans(features=["amount"], n_clusters=2, **SPEND)
    assert not hasattr(clusters, "feature_names_in_")
    clusters.fit(session)
    assert [name for name in ("labels_", "inertia_") if hasattr(clusters, name)] == []


def test_columns_that_cannot_be_learned_from_are_refused_by_name_at_no_cost(session: Session) -> None:
    spent = session.budget.spent
    with pytest.raises(InvalidParameter, match="day"):
        LogisticRegression("churn", ["day"], **SPEND).fit(session)
    with pytest.raises(InvalidParameter) as error:
        gt.learn.moments(session, "amount", **SPEND)
    assert error.value.name == "columns"
    assert session.budget.spent == spent


def test_the_axis_of_shapes_reaches_beyond_every_band(shapes: Any) -> None:
    bands = [(effect - 2 * doubt, effect + 2 * doubt) for each in shapes.shapes().values() for _, effect, doubt in each]
    low, high = min(low for low, _ in bands), max(high for _, high in bands)
    domains = [each["encoding"]["y"]["scale"]["domain"] for each in _layers(shapes.plot().to_dict())]
    assert domains
    assert all(start < low and high < end for start, end in domains)


def _layers(chart: Any) -> list[Any]:
    return [layer for row in chart["vconcat"] for part in row["hconcat"] for layer in part["layer"]]


def test_a_share_pays_for_fits_and_statistics_and_is_used_up_as_it_says() -> None:
    spends: list[Any] = []
    with gt.protect(ROWS, unit=gt.ROW, budget=gt.ApproxDP(3, "1e-4"), domains=DOMAINS, name="shop") as s:
        learner = LogisticRegression("churn", ["x"], share="1/4")
        quote = learner.quote(s)
        assert quote.used_after == pytest.approx(0.25, rel=1e-3)
        spends += [learner.fit(s).provenance_.guarantee, gt.learn.moments(s, ["x"], share="1/4").guarantee]
        spends.append(gt.learn.contingency(s, ["plan"], share="1/4").guarantee)
        line = gt.learn.output_perturbation(s, "churn", ["x"], regularisation=100, passes=2, share="1/4")
        spends.append(line.provenance.guarantee)
        with pytest.raises(gt.errors.BudgetExceeded):
            gt.learn.contingency(s, ["churn"], share="1/4")
    assert spends == [spends[0]] * 4
    again = LogisticRegression.from_json(learner.to_json())
    assert again.get_params()["share"] is None
