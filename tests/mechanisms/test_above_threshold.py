"""The sparse vector technique: its promise by exact summation, its law on draws, and that it stops."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction as F
from functools import cache
from typing import Any

import numpy as np
import pytest

import laws
from cases import all_cases
from giveortake.errors import InvalidParameter, LedgerMismatch, MechanismSpent, SensitiveValue
from giveortake.mechanisms import AboveThreshold, Sensitive
from giveortake.mechanisms.selection import PaddedThreshold
from giveortake.privacy import PureDP
from recorded_entropy import RecordedEntropy

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
