"""Learners as scikit-learn's estimators: its own checks, with those excused that cannot hold, and why."""

from __future__ import annotations

from typing import Any
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

import giveortake as gt
import tiers
from giveortake.errors import InvalidParameter, NotFitted
from giveortake.learn import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    ClassMeans,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    Ridge,
)

NOISE = "every fit draws its own noise, and there is no random_state by which anybody could have the same again"
EXCUSED = {
    "check_fit_idempotent": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_transformer_data_not_an_array": NOISE,
    "check_transformer_general": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_regressors_int": NOISE,
    "check_classifiers_one_label": "ten rows are few beside the noise: a class that nobody has may be nearer by chance",
    "check_clustering": "labels of the rows that were fitted would be an exact answer about each of them",
    "check_classifiers_classes": "classes are declared: those of the rows are not looked at, and others are refused",
}
BUDGET = gt.ApproxDP(200, "1e-3")  # little noise: what is checked here is the face
CLASSES: Any = {"domains": {"*": (-10, 10), "y": [0, 1]}, "budget": BUDGET}
NUMBERS: Any = {"domains": {"*": (-10, 10), "y": (-200, 200)}, "budget": BUDGET}
ALONE: Any = {"domains": {"*": (-10, 10)}, "budget": BUDGET}
LEARNERS: list[Any] = [
    ClassMeans(**CLASSES),
    Ridge(**NUMBERS),
    NaiveBayes(**CLASSES),
    LogisticRegression(**CLASSES),
    AdditiveClassifier(bins=4, **CLASSES),
    LinearRegression(**NUMBERS),
    AdditiveRegressor(bins=4, **NUMBERS),
    PCA(**ALONE),
    KMeans(n_clusters=3, **ALONE),
]


@pytest.mark.filterwarnings("ignore")  # scikit-learn warns of what it checks
@pytest.mark.parametrize("learner", tiers.tiered(LEARNERS[:2], LEARNERS), ids=lambda learner: type(learner).__name__)
def test_learners_pass_the_checks_of_scikit_learn_but_for_those_that_are_excused(learner: Any) -> None:
    """Usually a classifier and a regressor, since they share the code of faces; in a long run all."""
    checks = [*estimator_checks_generator(learner, expected_failed_checks=EXCUSED, mark="skip")]
    failed = {}
    for estimator, check in checks:
        name = f"{getattr(check, 'func', check).__name__} {getattr(check, 'keywords', '')}"
        try:
            check(estimator)
        except SkipTest:  # what is excused, or asked of the deterministic alone
            continue
        except Exception as error:  # noqa: BLE001 (told below, with all others)
            failed[name] = str(error)[:200]
    assert len(checks) > 40
    assert not failed


def test_a_fitted_model_is_the_last_step_of_a_pipeline_and_a_clone_is_not_fitted() -> None:
    rows = np.random.default_rng(5).uniform(-1, 1, (800, 2))
    wanted = np.where(rows[:, 0] > 0, "yes", "no")
    learner = AdditiveClassifier(domains={"*": (-1, 1), "y": ["no", "yes"]}, budget=BUDGET, bins=8)
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    pipeline = make_pipeline(FunctionTransformer(lambda table: np.clip(table, -1, 1)), learner)
    assert pipeline.fit(rows, wanted).score(rows, wanted) > 0.8
    assert pipeline.predict_proba(rows).shape == (800, 2)
    with pytest.raises(NotFitted):
        copy.predict(rows)
    assert learner.get_params()["target"] is None  # what arrays call it is gone after the fit
    assert "random_state" not in learner.get_params()


def test_rows_of_your_own_need_domains_and_a_budget() -> None:
    rows, wanted = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    with pytest.raises(InvalidParameter, match="domains="):
        ClassMeans(epsilon=1, delta="1e-6").fit(rows, wanted)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):  # no Gaussian noise
        ClassMeans(domains={"*": (0, 1), "y": [0, 1]}, budget=gt.PureDP(1)).fit(rows, wanted)  # type: ignore[arg-type]
