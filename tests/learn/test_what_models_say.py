"""What fitted models say of classes and of public rows, and what their cards say of noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import InvalidParameter
from giveortake.learn import AdditiveClassifier, LogisticRegression, NaiveBayes
from giveortake.session import Session

COUNT = 4000
X = np.linspace(-1, 1, COUNT)
ROWS = pl.DataFrame({"x": X, "plan": ["free", "pro"] * (COUNT // 2), "churn": X > 0})
SPEND: dict[str, Any] = {"epsilon": 4, "delta": "1e-6"}


def session(**more: Any) -> Session:
    domains = {"x": (-1, 1), "plan": ["free", "pro"], "churn": [True, False]}
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(9, "1e-5"), "domains": domains, "name": "shop"}
    return gt.protect(ROWS, **usual | more)


def test_models_speak_for_true_in_whatever_order_truth_values_are_declared_and_say_so() -> None:
    with session() as s:
        line = LogisticRegression("churn", ["x"], **SPEND).fit(s)
        shapes = AdditiveClassifier("churn", ["x"], **SPEND).fit(s)
    for model, what in ((line, "positive coefficients"), (shapes, "shapes above 0")):
        assert model.classes_.tolist() == [False, True]
        assert model.predict_proba({"x": [0.9]})[0, 1] > 0.5
        assert f"classes: False and True; {what} make churn = True more likely" in str(model.card())
        assert type(model).from_json(model.to_json()).classes_.tolist() == [False, True]
    assert line.coef_[0, 0] > 0
    assert shapes.shapes()["x"][-1][1] > 0
    assert shapes.plot().to_dict()["title"]["text"] == "Above 0: churn = True is more likely"
    named = shapes.plot(title="Who leaves").to_dict()["title"]
    assert (named["text"], named["subtitle"][0]) == ("Who leaves", "Above 0: churn = True is more likely")


def test_a_feature_of_truth_values_is_measured_from_false() -> None:
    with session() as s:
        model = LogisticRegression("plan", ["churn"], **SPEND).fit(s)
    assert model.model_.names == ["churn=True"]


def test_a_model_that_was_written_with_its_classes_in_another_order_keeps_them() -> None:
    with session() as s:
        model = LogisticRegression("churn", ["x"], **SPEND).fit(s)
    first, second = '["literal", "bool", "False"]', '["literal", "bool", "True"]'
    text = model.to_json()
    assert f"[{first}, {second}]" in text
    older = LogisticRegression.from_json(text.replace(f"[{first}, {second}]", f"[{second}, {first}]"))
    assert older.classes_.tolist() == [True, False]


def test_a_quote_whose_noise_is_no_smaller_than_the_rows_is_called_worthless_and_says_what_helps() -> None:
    with session() as s:
        little = LogisticRegression("churn", ["x"], epsilon="0.001", delta="1e-6").quote(s, n=COUNT)
        enough = LogisticRegression("churn", ["x"], **SPEND).quote(s, n=COUNT)
    assert "worthless: the noise in a sum is no smaller than all rows together" in str(little)
    assert "hint: spend more" in str(little)
    assert "worthless" not in str(enough)


def test_a_card_says_when_no_released_sum_stands_out_from_its_noise() -> None:
    """Six deviations: of 50 sums of noise alone one is beyond them once in ten million fits."""
    with session() as s:
        noise = LogisticRegression("churn", ["x"], epsilon="0.00001", delta="1e-6").fit(s)
        model = LogisticRegression("churn", ["x"], **SPEND).fit(s)
    assert "note: worthless: no sum of the first pass stands out from its noise" in str(noise.card())
    assert "worthless" not in str(model.card())


@pytest.mark.parametrize("learner", [LogisticRegression, AdditiveClassifier, NaiveBayes])
def test_public_rows_are_told_as_the_page_says(learner: Any) -> None:
    with session() as s:
        model = learner("churn", ["x", "plan"], **SPEND).fit(s)
    at, beyond = (model.predict_proba({"x": [x], "plan": ["pro"]}) for x in (1.0, 200.0))
    assert np.array_equal(at, beyond)
    with pytest.raises(InvalidParameter, match="is a missing number of `x`"):
        model.predict({"x": [np.nan], "plan": ["pro"]})
    with pytest.raises(InvalidParameter, match="'gold' is not a declared category of `plan`") as told:
        model.predict({"x": [0.5], "plan": ["gold"]})
    assert told.value.hint == "categories: 'free', 'pro'"
    if learner is LogisticRegression:
        with pytest.raises(InvalidParameter, match="is a missing category of `plan`"):
            model.predict({"x": [0.5], "plan": [None]})
    else:
        assert model.predict({"x": [0.9], "plan": [None]}).tolist() == [True]
