"""Exponential, PermuteAndFlip and ReportNoisyMax: promises on exact probabilities, laws on draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import giveortake as gt
import laws
from cases import all_cases
from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import Exponential, PermuteAndFlip, ReportNoisyMax
from giveortake.privacy import PureDP
from recorded_entropy import RecordedEntropy

CLASSES = ["freshman", "sophomore", "junior", "senior"]
EXAMPLE_10 = [0, 4, 6, 6]
LN_2 = F(math.log(2))


def softmax(utilities: list[int], scale: float) -> list[float]:
    weights = [math.exp(utility / scale) for utility in utilities]
    return [weight / sum(weights) for weight in weights]


def flips(utilities: list[int], scale: float) -> list[float]:
    """Permute-and-flip by its definition: over all orders, the first candidate whose coin comes up."""
    chances = [0.0] * len(utilities)
    orders = list(permutations(range(len(utilities))))
    for order in orders:
        left = 1 / len(orders)
        for index in order:
            taken = math.exp((utilities[index] - max(utilities)) / scale)
            chances[index] += left * taken
            left *= 1 - taken
    return chances


def noisy_maximum(utilities: list[int], scale: float) -> list[float]:
    """Report-noisy-max by numerical integration of density times the others' distribution functions."""
    grid = np.linspace(min(utilities) - 40 * scale, max(utilities) + 40 * scale, 400_001)

    def cdf(x: npt.NDArray[np.float64]) -> Any:
        return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))

    chances = []
    for i, utility in enumerate(utilities):
        density = np.exp(-np.abs((grid - utility) / scale)) / (2 * scale)
        for j, other in enumerate(utilities):
            if j != i:
                density = density * cdf((grid - other) / scale)
        chances.append(float(np.trapezoid(density, grid)))
    return chances


FAMILIES = [
    pytest.param(Exponential, softmax, id="exponential"),
    pytest.param(PermuteAndFlip, flips, id="permute and flip"),
    pytest.param(ReportNoisyMax, noisy_maximum, id="report noisy max"),
]


def test_example_10_of_fre18_has_mass_21_not_20() -> None:
    chances = Exponential(2 / LN_2).probabilities(EXAMPLE_10)
    assert [21 * p for p in chances] == pytest.approx([1, 4, 8, 8], abs=1e-13)
    assert sum(chances) == pytest.approx(1)


@all_cases(("mechanism", "law"), FAMILIES)
@all_cases("changes", [[1, -1, -1, -1], [-1, 1, 1, 1], [0, 0, 1, -1], [1, 1, -1, 1]])
def test_a_selection_keeps_its_promise_when_every_utility_moves_by_the_sensitivity(
    mechanism: type[Exponential], law: Callable[[list[int], float], list[float]], changes: list[int]
) -> None:
    scale = 2.5
    promise = mechanism(F(scale)).event(sensitivity=1).guarantee()
    assert isinstance(promise, PureDP)
    assert promise.epsilon == 2 / F(scale)
    before = law(EXAMPLE_10, scale)
    after = law([u + c for u, c in zip(EXAMPLE_10, changes, strict=True)], scale)
    factor = float(exact.exp_up(promise.epsilon)) * (1 + 1e-6)
    assert all(p <= factor * q and q <= factor * p for p, q in zip(before, after, strict=True))


@cache
def selected(mechanism: type[Exponential]) -> list[int]:
    """What was selected in many turns; all claims are about the same draws."""
    selector, entropy = mechanism(F(3)), RecordedEntropy(mechanism.__name__)
    return [selector.release(EXAMPLE_10, entropy) for _ in range(12_000)]


@pytest.mark.statistical
@all_cases(("mechanism", "law"), FAMILIES)
@all_cases(("claim", "plausible"), [(1.0, True), (0.7, False), (1.3, False)])
def test_selections_have_the_stated_law_and_a_wrong_scale_is_caught(
    mechanism: type[Exponential], law: Callable[[list[int], float], list[float]], claim: float, plausible: bool
) -> None:
    chances = law(EXAMPLE_10, 3 * claim)
    assert laws.looks_like(selected(mechanism), lambda k: chances[k] if 0 <= k < 4 else 0.0) is plausible


@all_cases("mechanism", [Exponential, PermuteAndFlip, ReportNoisyMax])
def test_the_selected_utility_stays_within_the_margin(mechanism: type[Exponential], entropy: RecordedEntropy) -> None:
    utilities = np.arange(200)
    selector = mechanism(2)
    margin = selector.margin("0.9", candidates=200)
    misses = sum(199 - utilities[selector.release(utilities, entropy)] > margin for _ in range(1000))
    assert misses <= 100 + 6 * 10


@all_cases(
    "utilities",
    [
        [1e300, -1e300, 0.0],
        [2**62, 2**62 - 1, 2**62 + 1],
        [F(1, 3), F(1, 3) + F(1, 10**40), F(0)],
        np.array([1e308, -1e308]),
        [0] * 10,
        [10**299, 1],
        [10**400, -(10**400), 0],
        [F(10**400), F(1, 10**400)],
    ],
)
def test_extreme_and_nearly_equal_utilities_are_decided(utilities: object) -> None:
    for mechanism in (Exponential(F(1, 10**200)), PermuteAndFlip(1), ReportNoisyMax(10**250)):
        assert 0 <= mechanism.release(utilities) < 10


def test_a_difference_that_doubles_cannot_see_still_decides() -> None:
    utilities = [2**62, 2**62 + 50]  # equal as doubles
    assert {Exponential(F(1, 10)).release(utilities) for _ in range(50)} == {1}


def test_gt_exponential_returns_a_candidate_and_takes_columns_of_utilities() -> None:
    for utilities in ([0, 4, 6, 600], np.array([0, 4, 6, 600]), [0.0, 4.0, 6.0, 600.0], [F(0), F(4), F(6), F(600)]):
        assert gt.exponential(CLASSES, utilities, sensitivity=1, epsilon=1) == "senior"


@all_cases(
    ("candidates", "utilities", "name"),
    [
        ([], [], "candidates"),
        (CLASSES, [1, 2], "utilities"),
        (CLASSES, 5, "utilities"),
        (CLASSES, [1, 2, 3, float("nan")], "utilities"),
        (CLASSES, [1, 2, 3, float("inf")], "utilities"),
        (CLASSES, ["a", "b", "c", "d"], "utilities"),
        (CLASSES, [True, False, True, False], "utilities"),
    ],
)
def test_bad_candidates_are_refused_by_name(candidates: list[str], utilities: object, name: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        gt.exponential(candidates, utilities, sensitivity=1, epsilon=1)
    assert caught.value.name == name
