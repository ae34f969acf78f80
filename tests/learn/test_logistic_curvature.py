"""The curvature of a logistic fit is what normal log-odds have, however wide, and never beyond what is possible."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from giveortake.learn.classification import LineCurvature, steepness

DEVIATIONS = np.array([0.01, 0.1, 0.5, 1, 2, 3.99, 4.01, 8, 10, 16, 25, 100, 1000])
MEANS = (-2.5, -1.0, -0.3, 0.0, 0.7, 2.0)  # in deviations


def integrals(mean: float, deviation: float) -> Any:
    """E[w], E[w′] and E[w″] by brute force."""
    nodes = np.linspace(-10, 10, 100_001)
    weights = np.exp(-(nodes**2) / 2) * (nodes[1] - nodes[0]) / np.sqrt(2 * np.pi)
    half = np.tanh((mean + deviation * nodes) / 2)
    slope = (1 - half**2) / 4
    return np.array([slope @ weights, -(slope * half) @ weights, (slope * (half**2 - 2 * slope)) @ weights])


def errors(found: Any, mean: float, deviation: float) -> float:
    """The largest error, as a part of what E[w], E[w′] and E[w″] are by size."""
    true = integrals(mean, deviation)
    return float(np.max(np.abs(found - true) / (true[0] / max(deviation, 1.0) ** np.arange(3))))


def test_the_steepness_of_wide_and_narrow_log_odds_is_that_of_a_fine_integral() -> None:
    """Also at a deviation of 25, where nodes within four deviations gave 10,000 rows a curvature of -18,690."""
    for deviation in DEVIATIONS:
        most = 1e-7 if deviation > 4 else 2e-4  # nodes within four deviations miss a little
        for mean in deviation * np.array(MEANS):
            assert errors(steepness(np.array(mean), deviation**2), mean, deviation) < most, (mean, deviation)


def test_steepness_takes_wide_and_narrow_log_odds_together() -> None:
    means = np.array([[-1.0], [3.0]])
    together = steepness(means, DEVIATIONS**2)
    for row, column in np.ndindex(together.shape[1:]):
        alone = steepness(means[row, 0], DEVIATIONS[column] ** 2)
        assert together[:, row, column] == pytest.approx(alone, rel=1e-12)


def line(count: int, seed: int, *, categories: bool) -> tuple[LineCurvature, Any, Any]:
    """The curvature of random columns, a random direction of deviation 1 of log-odds, and the means of columns."""
    random = np.random.default_rng(seed)
    columns = random.normal(size=(count + 2, count)) @ random.normal(size=(count, count))
    if categories:
        columns = (columns > 1).astype(float)
    shares = np.clip(columns.mean(axis=0), 0.05, 0.95)
    deviations = np.maximum(columns.std(axis=0), 0.1)
    ends = np.insert((np.array([[1.0], [0.0]]) - shares) / deviations, 0, 1.0, axis=1)
    rows = np.insert((columns - shares) / deviations, 0, 1.0, axis=1)
    theta = np.insert(random.normal(size=count), 0, 0.0)
    moments = 1000 * rows.T @ rows
    made = LineCurvature(moments, ends, np.insert(shares * categories, 0, 0.0))
    return made, theta / max(np.std(rows @ theta), 1e-9), rows.mean(axis=0)


@pytest.mark.parametrize("categories", [False, True])
def test_a_curvature_is_between_nothing_and_a_quarter_of_the_products(categories: bool) -> None:
    for count, seed in product([1, 2, 12], range(4)):
        is_between(*line(count, seed, categories=categories), categories)


def is_between(made: LineCurvature, unit: Any, means: Any, categories: bool) -> None:
    quarter, little = made.moments / 4, 1e-9 * np.trace(made.moments)
    for deviation in DEVIATIONS:
        for mean in (-5.0, -4.0, *MEANS, 3.9):
            theta = deviation * unit
            theta[0] = mean * deviation - theta[1:] @ means[1:]
            found = made.at(theta)
            assert np.linalg.eigvalsh(found)[0] >= -little
            assert np.all(np.diag(found) <= np.diag(quarter) + little)
            if not categories:  # what is added to squares of columns of categories only shortens steps
                assert np.linalg.eigvalsh(quarter - found)[0] >= -little


def test_no_step_goes_backwards_however_steep_a_fit_is() -> None:
    made = LineCurvature(1e4 * np.eye(2), np.ones((2, 2)), np.zeros(2))
    for theta in (10.0, 16.0, 25.0, 1000.0):
        curvature = made.at(np.array([0.0, theta]))
        assert np.all(np.diag(curvature) > 0)
        assert np.linalg.eigvalsh(made.inverse(curvature, 1.0, 1.0))[0] > 0
