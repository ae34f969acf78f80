"""The split of a promise among residuals: in closed form, and the best there is."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from cases import all_cases
from giveortake.mechanisms.marginals import cell_variance
from giveortake.workload.bound_workload import Layout
from giveortake.workload.designs import goal_weights, least_noise


def _all_up_to(attributes: int, most: int) -> list[tuple[int, ...]]:
    return [each for length in range(1, most + 1) for each in itertools.combinations(range(attributes), length)]


def _prices(layout: Layout) -> np.ndarray:
    return np.array([math.prod(1 - 1 / layout.sizes[each] for each in residual) for residual in layout.residuals])


def test_the_residuals_of_marginals_are_all_their_subsets() -> None:
    layout = Layout.of([2, 3, 4, 5], [(0, 1), (1, 2, 3)])
    subsets = {each for marginal in layout.marginals for k in range(4) for each in itertools.combinations(marginal, k)}
    assert set(layout.residuals) == subsets
    assert len(layout.residuals) == len(subsets)


@all_cases("attributes", [4, 70])
def test_variances_are_those_of_a_rebuilt_table(attributes: int) -> None:
    sizes = [2 + place % 4 for place in range(attributes)]
    layout = Layout.of(sizes, [(), (0,), (0, 2), (1, 2, 3), (attributes - 3, attributes - 2, attributes - 1)])
    noise = np.random.default_rng(1).uniform(1, 9, len(layout.residuals))
    known = dict(zip(layout.residuals, noise.tolist(), strict=True))
    for marginal, variance in zip(layout.marginals, layout.variances(noise), strict=True):
        axes = [c for k in range(len(marginal) + 1) for c in itertools.combinations(range(len(marginal)), k)]
        parts = {each: known[tuple(marginal[axis] for axis in each)] for each in axes}
        assert cell_variance([sizes[each] for each in marginal], parts) == pytest.approx(variance)


def test_the_plan_spends_the_promise_and_no_other_plan_is_better() -> None:
    layout = Layout.of([2, 3, 4, 10], _all_up_to(4, 2))
    prices, weights = _prices(layout), np.linspace(1, 3, 10)
    coefficients = layout.coefficients(weights)
    best = least_noise(coefficients, prices, 0.25)
    assert (prices / best).sum() == pytest.approx(0.25)
    loss = weights @ layout.variances(best)
    generator = np.random.default_rng(2)
    for _ in range(200):
        other = best * np.exp(generator.normal(0, 0.2, len(best)))
        other *= (prices / other).sum() / 0.25
        assert weights @ layout.variances(other) >= loss * (1 - 1e-12)


def test_the_greatest_variance_is_the_least_up_to_half_a_percent() -> None:
    layout = Layout.of([2, 3, 4, 10, 40], _all_up_to(5, 3))
    prices, weights = _prices(layout), np.ones(len(layout.marginals))
    found = {}
    for goal in ("rms", "maximum"):
        chosen = goal_weights(layout.incidence, prices, weights, goal)
        found[goal] = layout.variances(least_noise(layout.coefficients(chosen), prices, 1.0))
    assert found["rms"].mean() <= found["maximum"].mean()
    assert found["maximum"].max() < found["rms"].max()
    assert found["maximum"].max() <= 1.01 * found["maximum"][found["maximum"] > 0].mean()


def test_a_hundred_attributes_are_planned_in_seconds() -> None:
    layout = Layout.of([10] * 100, _all_up_to(100, 3))
    assert len(layout.marginals) == 166_750
    noise = least_noise(layout.coefficients(np.ones(166_750)), _prices(layout), 0.03)
    assert math.sqrt(layout.variances(noise)[-1]) == pytest.approx(1754.1, abs=0.1)  # an equal split has 2,357.6
