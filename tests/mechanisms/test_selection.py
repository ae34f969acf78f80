"""Exponential, PermuteAndFlip and ReportNoisyMax: promises on exact probabilities, laws on draws."""

from __future__ import annotations

import copy
import math
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
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
from giveortake import accounting, exact
from giveortake.accounting.pricing import Rho
from giveortake.errors import InvalidParameter, LedgerMismatch, MechanismSpent, SensitiveValue
from giveortake.mechanisms import AboveThreshold, Exponential, PermuteAndFlip, ReportNoisyMax, Sensitive, selection
from giveortake.mechanisms.selection import FINENESS, Candidate, PaddedThreshold, WorstMarginalSelection
from giveortake.privacy import ZCDP, PureDP
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


REACH = 250


def first_true(values: list[int], threshold: int, epsilon: F) -> np.ndarray:
    """The law of the position of the first True (the last entry: none), summed over the threshold's noise."""
    offsets = np.arange(-REACH, REACH + 1)
    threshold_noise = np.array([float(laws.rounded_laplace(2 / epsilon)(int(k))) for k in offsets])
    value_noise = np.array([float(laws.rounded_laplace(4 / epsilon)(int(k))) for k in offsets])
    at_least = np.concatenate([np.cumsum(value_noise[::-1])[::-1], [0.0]])
    chances = np.zeros(len(values) + 1)
    for offset, weight in zip(offsets, threshold_noise, strict=True):
        left = weight
        for position, value in enumerate(values):
            needed = np.clip(threshold + offset - value + REACH, 0, at_least.size - 1)
            chances[position] += left * at_least[needed]
            left *= 1 - at_least[needed]
        chances[-1] += left
    return chances


@all_cases("epsilon", [F(1), F(1, 2)])
@all_cases(
    ("first", "second"),
    [
        ([0] * 8, [1] * 8),
        ([0] * 7 + [1], [1] * 7 + [0]),
        ([5, -5, 5, -5], [4, -4, 6, -6]),
        ([3] * 8, [2] * 8),
    ],
)
def test_the_position_of_the_first_true_keeps_epsilon(epsilon: F, first: list[int], second: list[int]) -> None:
    assert AboveThreshold(2, epsilon).event().guarantee() == PureDP(epsilon)
    p, q = first_true(first, 2, epsilon), first_true(second, 2, epsilon)
    factor = float(np.exp(float(epsilon))) * (1 + 1e-9)
    assert (p <= factor * q + 1e-12).all()
    assert (q <= factor * p + 1e-12).all()


VALUES = [0, 3, 1, 4]


def in_memory(threshold: int, epsilon: F, sensitivity: int, entropy: RecordedEntropy) -> Callable[[int], bool]:
    """Comparisons whose threshold is held in memory."""
    alarm = AboveThreshold(threshold, epsilon, sensitivity)
    return lambda value: alarm.release(value, entropy)


def under_a_pad(threshold: int, epsilon: F, sensitivity: int, entropy: RecordedEntropy) -> Callable[[int], bool]:
    """Comparisons each of which begins anew, with the threshold that is stored under a pad."""
    pad = Sensitive(int.from_bytes(RecordedEntropy((threshold, epsilon)).read(32), "big"))
    under_pad = PaddedThreshold(threshold, epsilon, sensitivity).drawn(pad, entropy)
    return lambda value: PaddedThreshold(threshold, epsilon, sensitivity).is_above(value, under_pad, pad, entropy)


@cache
def positions(technique: Any) -> list[int]:
    """Where the first True was, in many turns; all claims are about the same draws."""
    found, entropy = [], RecordedEntropy("positions")
    for _ in range(12_000):
        is_above = technique(6, F(1, 2), 1, entropy)
        position = 0
        while position < len(VALUES) and not is_above(VALUES[position]):
            position += 1
        found.append(position)
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("technique", [in_memory, under_a_pad])
@all_cases(("claim", "plausible"), [(F(1), True), (F(7, 10), False), (F(13, 10), False)])
def test_answers_have_the_stated_law_and_a_wrong_epsilon_is_caught(technique: Any, claim: F, plausible: bool) -> None:
    law = first_true(VALUES, 6, F(1, 2) * claim)
    assert laws.looks_like(positions(technique), lambda k: float(law[k]) if 0 <= k < law.size else 0.0) is plausible


def test_noise_of_another_scale_under_the_pad_is_caught() -> None:
    answers = [
        [technique(-7, F(1, 10), sensitivity, RecordedEntropy(turn))(13) for turn in range(300)]
        for technique, sensitivity in ((in_memory, 4), (under_a_pad, 4), (under_a_pad, 3))
    ]
    assert answers[0] == answers[1] != answers[2]


def test_a_padded_threshold_needs_a_positive_epsilon_and_whole_steps() -> None:
    for epsilon, sensitivity in ((F(0), 1), (F(-1), 1), (F(1), 0)):
        with pytest.raises(InvalidParameter):
            PaddedThreshold(0, epsilon, sensitivity)


def test_it_refuses_to_answer_after_the_first_true() -> None:
    alarm = AboveThreshold(0, epsilon=10)
    assert alarm.release(10**9)
    for _ in range(3):
        with pytest.raises(MechanismSpent):
            alarm.release(-(10**9))


def test_the_noise_on_the_threshold_is_drawn_once(entropy: RecordedEntropy) -> None:
    alarm = AboveThreshold(10**6, epsilon="0.01")
    noisy = set()
    for _ in range(20):
        alarm.release(0, entropy)
        noisy.add(alarm._noisy_threshold)
    assert len(noisy) == 1


def test_values_beyond_the_margin_are_answered_rightly(entropy: RecordedEntropy) -> None:
    margin = AboveThreshold(0, 1).margin("0.9", questions=20)
    wrong = 0
    for _ in range(300):
        alarm = AboveThreshold(0, 1)
        early = any(alarm.release(-int(margin) - 1, entropy) for _ in range(19))
        wrong += early or not alarm.release(int(margin) + 1, entropy)
    assert wrong <= 30 + 6 * np.sqrt(300 * 0.1 * 0.9)


def test_a_rejected_value_spends_nothing() -> None:
    alarm = AboveThreshold(0, epsilon=1)
    for value in (0.5, float("nan"), "7", True):
        with pytest.raises(InvalidParameter):
            alarm.release(value)
    assert not alarm.spent
    assert alarm._noisy_threshold is None


def test_a_threshold_between_two_integers_is_the_upper_one() -> None:
    alarm = AboveThreshold("100.5", epsilon=10**4)
    assert not alarm.release(100)
    assert alarm.release(101)


def test_its_noise_can_be_neither_copied_nor_carried_into_a_child() -> None:
    alarm = AboveThreshold(10**6, epsilon=1)
    alarm.release(0)
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(SensitiveValue):
            copying(alarm)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            alarm.release(0)
        except MechanismSpent:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 100) == b"refused"
    os.close(reader)


def test_threads_get_one_true_between_them() -> None:
    for _ in range(20):
        alarm = AboveThreshold(0, epsilon=1)

        def ask(alarm: AboveThreshold = alarm) -> bool:
            try:
                return alarm.release(10**6)
            except MechanismSpent:
                return False

        with ThreadPoolExecutor(8) as pool:
            answers = [future.result() for future in [pool.submit(ask) for _ in range(16)]]
        assert sum(answers) == 1


def test_it_answers_about_one_value_at_a_time() -> None:
    with pytest.raises(InvalidParameter, match="value"):
        AboveThreshold(0, epsilon=1).release([1, 2])


def test_a_threshold_under_a_pad_answers_as_the_one_in_memory_and_tells_nothing_without_its_pad() -> None:
    for number in range(200):
        threshold, values = 6 - number % 13, range(-20, 40, 3)
        in_memory = AboveThreshold(threshold, "1/2", 2)
        coins = RecordedEntropy(f"a threshold {number}")
        expected: list[bool] = []
        for value in values:
            expected.append(in_memory.release(value, coins))
            if expected[-1]:
                break
        padded, pad = PaddedThreshold(threshold, F(1, 2), 2), Sensitive((number + 1) << 250)
        assert padded.event() == in_memory.event()
        assert padded.margin("0.9", questions=7) == in_memory.margin("0.9", questions=7)
        coins = RecordedEntropy(f"a threshold {number}")
        under_pad = padded.drawn(pad, coins)
        assert [padded.is_above(value, under_pad, pad, coins) for value in values[: len(expected)]] == expected
        with pytest.raises(LedgerMismatch):
            padded.is_above(0, under_pad, Sensitive(1 << 249))


def test_every_pad_makes_another_stored_number_of_the_same_threshold() -> None:
    padded = PaddedThreshold(3, F(1))
    stored = [padded.drawn(Sensitive(pad), RecordedEntropy("the same")) for pad in (0, 1, 2**255, 2**256 - 1)]
    noisy = stored[0]
    assert [(number - noisy) % 2**256 for number in stored] == [0, 1, 2**255, 2**256 - 1]


def test_a_padded_threshold_that_was_not_drawn_answers_nothing() -> None:
    with pytest.raises(MechanismSpent):
        PaddedThreshold(0, F(1)).release(5)


SHAPES = [(2, 3), (4,), (3, 2, 2)]


def _candidates(generator: np.random.Generator) -> tuple[Candidate, ...]:
    return tuple(
        Candidate.from_counts(generator.random(shape) * 20, weight=weight, handicap=3.3)
        for shape, weight in zip(SHAPES, (5, 1, 3), strict=True)
    )


def _greatest_move(
    mechanism: WorstMarginalSelection, generator: np.random.Generator, rows: int, *, changed: bool
) -> int:
    """How far scores move over random neighbours, at most."""
    moved = 0
    for _ in range(200):
        tables: list[Any] = [generator.integers(0, 30, shape) for shape in SHAPES]
        others = [table.copy() for table in tables]
        for _row in range(rows):
            for table in others:
                table[tuple(generator.integers(0, size) for size in table.shape)] += 1
                if changed:
                    table[tuple(generator.integers(0, size) for size in table.shape)] -= 1
        pairs = zip(mechanism.scores(tables), mechanism.scores(others), strict=True)
        moved = max(moved, *(abs(one - other) for one, other in pairs))
    return moved


@all_cases("rows", [1, 3])
@all_cases("relation", ["add-remove", "change-one"])
def test_no_neighbour_moves_a_score_by_more_than_was_declared_and_some_do(relation: Any, rows: int) -> None:
    generator = np.random.default_rng(rows)
    mechanism = WorstMarginalSelection(_candidates(generator), 1, rows, relation)
    moved = _greatest_move(mechanism, generator, rows, changed=relation == "change-one")
    assert moved <= mechanism.sensitivity
    assert moved > mechanism.sensitivity / 2


def test_scores_that_are_off_by_a_factor_of_two_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = selection._distance
    monkeypatch.setattr(selection, "_distance", lambda counts, expected: 2 * right(counts, expected))
    generator = np.random.default_rng(0)
    mechanism = WorstMarginalSelection(_candidates(generator), 1)
    assert _greatest_move(mechanism, generator, 1, changed=False) > mechanism.sensitivity


def test_a_selection_costs_an_eighth_of_epsilon_squared() -> None:
    mechanism = WorstMarginalSelection(_candidates(np.random.default_rng(0)), "1/3", 2, "change-one")
    assert mechanism.event().epsilon == Fraction(1, 3)
    assert accounting.filter(ZCDP(1)).cost(mechanism.event(), Rho()) == pytest.approx(Fraction(1, 72), rel=1e-9)


def test_the_worst_fitted_table_is_selected_if_much_is_spent() -> None:
    offered = tuple(Candidate.from_counts(np.zeros(shape)) for shape in SHAPES)
    tables: list[Any] = [
        Sensitive(np.zeros(SHAPES[0], dtype=np.int64)),
        Sensitive(np.full(SHAPES[1], 9)),
        np.zeros(SHAPES[2], dtype=np.int64),
    ]
    assert WorstMarginalSelection(offered, 1000).release(tables) == 1
    handicapped = (offered[0], Candidate.from_counts(np.zeros(SHAPES[1]), handicap=100), offered[2])
    assert WorstMarginalSelection(handicapped, 1000).release(tables) != 1


def test_a_models_counts_are_put_on_the_lattice_before_they_meet_exact_ones() -> None:
    (candidate,) = (Candidate.from_counts(np.array([1.004, 2.5]), handicap=0.75),)
    assert candidate.expected.tolist() == [FINENESS, 2 * FINENESS + FINENESS // 2]
    assert candidate.handicap == 48


@all_cases("counts", [[np.nan], [np.inf], [2.0**60]])
def test_what_is_no_number_of_rows_is_refused(counts: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="rows"):
        Candidate.from_counts(np.array(counts))
    with pytest.raises(InvalidParameter, match="is empty"):
        WorstMarginalSelection((), 1)
