"""Classifiers where one class is rare: fits reach what a fit without privacy says, and bands hold the truth."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
import tiers
from giveortake.configuration import protection_arguments
from giveortake.learn import AdditiveClassifier, LogisticRegression

COUNT = 30_000
SLOPE = -2.2


def fitted(learner: Any, level: float, epsilon: Any, seed: int = 0, *, count: int = COUNT, **more: Any) -> Any:
    """A fit, the rate of the class, and the log-odds of the rows with their feature."""
    random = np.random.default_rng(seed)
    x = random.uniform(0, 1, count)
    odds = level + SLOPE * x
    late = random.random(count) < 1 / (1 + np.exp(-odds))
    rows = pl.DataFrame({"who": np.arange(count) // 2, "x": x, "late": late})
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(200, "1e-5"), "domains": {"x": (0, 1)}}
    clip = {"clip": 2} if "unit" in more else {}
    with gt.protect(rows, **protection_arguments(usual | more)) as s:
        return learner("late", ["x"], epsilon=epsilon, delta="1e-6", **clip).fit(s), late.mean(), x, odds


LEVELS: list[float] = [1.1, -1.9, -3.9]
SESSIONS: list[Any] = [{}, {"neighbours": "change-one"}, {"unit": "who"}]


@pytest.mark.parametrize(
    ("level", "more"), tiers.tiered(list(zip(LEVELS, SESSIONS, strict=True)), list(product(LEVELS, SESSIONS))), ids=str
)
def test_chances_and_coefficients_of_a_rare_class_are_right_where_there_is_little_noise(
    level: float, more: Any
) -> None:
    """Before, at a rate of 0.008: a coefficient of -0.2, and chances of 0.04 or 0.05 on average."""
    line, rate, x, _ = fitted(LogisticRegression, level, 100, **more)
    shapes, *_ = fitted(AdditiveClassifier, level, 100, **more)
    for model in (line, shapes):
        assert model.predict_proba({"x": x})[:, 1].mean() == pytest.approx(rate, rel=0.03)
    assert line.coef_[0, 0] == pytest.approx(SLOPE, abs=0.4)
    assert "shrunk" not in str(line.card())
    effects = [effect for _, effect, _ in shapes.shapes()["x"]]
    assert effects[0] - effects[-1] > 1.3


@cache
def distances() -> tuple[Any, Any]:
    """How many deviations shapes are from the truth, at a rate of 0.02, and from one that is a third as large."""
    found: list[Any] = [[], []]
    for seed in range(6):
        model, _, x, odds = fitted(AdditiveClassifier, -2.9, 10, seed)
        shape = model.model_.shapes[0]
        bins = shape.bins.indexes(x)
        rows = np.bincount(bins, minlength=shape.bins.size)
        chances = np.bincount(bins, weights=1 / (1 + np.exp(-odds)), minlength=shape.bins.size) / rows
        truth = np.log(chances / (1 - chances))
        truth -= np.average(truth, weights=rows)
        for each, scale in zip(found, (1, 0.3), strict=True):
            each.append(np.abs(shape.effects - scale * truth) / shape.deviations)
    return np.concatenate(found[0]), np.concatenate(found[1])


@pytest.mark.statistical
def test_bands_of_a_rare_class_hold_the_truth_and_not_one_that_is_flatter() -> None:
    """Of about 90 bins with bands of two deviations, at most a tenth misses; before, nine of ten did."""
    right, flat = distances()
    assert (right < 2).mean() > 0.9
    assert (flat < 2).mean() < 0.85
    assert np.sqrt((right**2).mean()) > 0.4  # else bands are much wider than they have to be


@pytest.mark.parametrize(
    ("learner", "epsilon"),
    tiers.tiered(
        [(LogisticRegression, 1), (AdditiveClassifier, 100)],
        list(product([LogisticRegression, AdditiveClassifier], [1, 100])),
    ),
)
def test_columns_that_add_up_to_others_do_not_lead_a_fit_astray(learner: Any, epsilon: Any) -> None:
    """No row has one of the first hours, so the others add up to 1, and one column is another once more."""
    random = np.random.default_rng(4)
    x, hour = random.normal(0, 1, COUNT).clip(-4, 4), 5 + random.binomial(18, 0.5, COUNT)
    odds = -2 + 0.8 * x + 0.25 * (hour - 14)
    late = random.random(COUNT) < 1 / (1 + np.exp(-odds))
    rows = pl.DataFrame({"x": x, "again": x, "hour": hour, "late": late})
    domains = {"x": (-4, 4), "again": (-4, 4), "hour": list(range(24))}
    with gt.protect(rows, unit=gt.ROW, budget=gt.ApproxDP(200, "1e-5"), domains=domains) as s:
        model = learner("late", ["x", "again", "hour"], epsilon=epsilon, delta="1e-6").fit(s)
    chances, truth = model.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-odds))
    assert chances.mean() == pytest.approx(late.mean(), rel=0.05)
    assert np.abs(chances - truth).mean() < 0.03
