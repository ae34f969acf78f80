"""Coins of any probability, at their thresholds, at their extremes, and in the long run."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake import exact
from giveortake.randomness import bernoulli, bernoulli_exp, bernoulli_real, uniform_integers
from giveortake.randomness.distributions import BLOCK, survives
from giveortake.randomness.entropy import Uniform
from recorded_entropy import RecordedEntropy, ScriptedEntropy
from statistics_of_draws import CLAIMS, counts_are_plausible

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.randomness import Entropy

ZEROS, ONES = 0x00, 0xFF
NEVER_READ = 0x55


@some_examples
@given(st.fractions(min_value=0, max_value=1, max_denominator=2**70), st.lists(st.integers(0, 2**63 - 1), min_size=1))
def test_a_coin_is_true_exactly_when_its_uniform_lies_below_the_probability(
    probability: Fraction, uniforms: list[int]
) -> None:
    near = math.floor(probability * 2**63)
    chosen = [*uniforms, *(word for word in (near - 1, near + 1) if 0 <= word < 2**63)]
    coins = bernoulli(probability, len(chosen), ScriptedEntropy(chosen, then=NEVER_READ)).tolist()
    for word, coin in zip(chosen, coins, strict=True):
        if word != near:  # then no digit that follows can matter
            assert coin == (Fraction(word, 2**63) < probability)


def test_a_uniform_at_the_threshold_of_a_fair_coin_is_decided_by_its_word() -> None:
    threshold = 2**62
    words = [threshold - 1, threshold, threshold + 1, 0, 2**63 - 1]
    for then in (NEVER_READ, ONES):
        coins = bernoulli(Fraction(1, 2), len(words), ScriptedEntropy(words, then=then))
        assert coins.tolist() == [True, False, False, True, False]


def test_the_sign_bit_of_a_word_does_not_matter_to_a_coin() -> None:
    words = [2**62 - 1, 2**62 + 1]
    plain = bernoulli(Fraction(1, 2), 2, ScriptedEntropy(words))
    signed = bernoulli(Fraction(1, 2), 2, ScriptedEntropy([word + 2**63 for word in words]))
    assert plain.tolist() == signed.tolist() == [True, False]


@all_cases("size", [1, 5])
def test_a_uniform_at_the_threshold_of_a_third_is_decided_by_the_digits_that_follow(size: int) -> None:
    threshold = 2**63 // 3
    assert bernoulli(Fraction(1, 3), size, ScriptedEntropy([threshold] * size, then=ZEROS)).all()
    assert not bernoulli(Fraction(1, 3), size, ScriptedEntropy([threshold] * size, then=ONES)).any()


def test_digits_follow_until_the_decision_is_certain() -> None:
    """The digits of 1/3 are 010101…: repeating them leaves the coin open; the first that differs settles it."""
    threshold = 2**63 // 3
    agreeing = int.from_bytes(b"\xaa" * 8, "little")  # the 64 digits of 1/3 that follow the first 63
    for last, expected in ((0, True), (2**64 - 1, False)):
        entropy = ScriptedEntropy([threshold, agreeing, int.from_bytes(b"\xaa" * 8, "little"), last], then=NEVER_READ)
        assert bernoulli(Fraction(1, 3), 1, entropy).tolist() == [expected]
        assert entropy.left == 0


def test_certain_coins_never_fail(entropy: RecordedEntropy) -> None:
    size = BLOCK + 1
    assert bernoulli(Fraction(1), size, entropy).all()
    assert not bernoulli(Fraction(0), size, entropy).any()
    assert bernoulli_exp(Fraction(0), size, entropy).all()


def test_certain_coins_never_fail_at_the_ends_of_the_words_either() -> None:
    ends = [0, 1, 2**63 - 2, 2**63 - 1, 2**64 - 1, 2**63]
    assert bernoulli(Fraction(1), len(ends), ScriptedEntropy(ends, then=NEVER_READ)).all()
    assert bernoulli_exp(Fraction(0), len(ends), ScriptedEntropy(ends, then=NEVER_READ)).all()
    assert not bernoulli(Fraction(0), len(ends), ScriptedEntropy(ends, then=NEVER_READ)).any()


@all_cases("gamma", [Fraction(1000), Fraction(10**6), Fraction(10**300)])
def test_hopeless_coins_never_come_up(gamma: Fraction, entropy: RecordedEntropy) -> None:
    assert not bernoulli_exp(gamma, BLOCK + 1, entropy).any()
    assert not bernoulli_exp(gamma, 3, ScriptedEntropy([0, 0, 0], then=NEVER_READ)).any()


@all_cases("probability", [Fraction(1, 10**300), Fraction(1, 2**70)])
def test_a_coin_rarer_than_one_word_in_all_is_decided_by_further_digits(probability: Fraction) -> None:
    length = math.ceil(math.log2(probability.denominator) / 64) + 1
    assert bernoulli(probability, 1, ScriptedEntropy([0] * (length + 1), then=NEVER_READ)).tolist() == [True]
    assert bernoulli(probability, 1, ScriptedEntropy([0], then=ONES)).tolist() == [False]
    assert bernoulli(probability, 1, ScriptedEntropy([1], then=ZEROS)).tolist() == [False]
    assert bernoulli(1 - probability, 1, ScriptedEntropy([2**63 - 1], then=NEVER_READ)).tolist() == [True]
    nearly_one = ScriptedEntropy([2**63 - 1] + [2**64 - 1] * length, then=NEVER_READ)
    assert bernoulli(1 - probability, 1, nearly_one).tolist() == [False]


@all_cases("size", [0, 1, 3, BLOCK - 1, BLOCK, BLOCK + 1])
def test_as_many_coins_are_tossed_as_asked_for(size: int, entropy: RecordedEntropy) -> None:
    assert bernoulli(Fraction(1, 3), size, entropy).shape == (size,)
    assert bernoulli(Fraction(1, 3), size, entropy).dtype == np.bool_


@all_cases("bound", [1, 2, 3, 5, 8])
def test_every_uniform_integer_below_a_small_bound_comes_from_equally_many_words(bound: int) -> None:
    bits = (bound - 1).bit_length()
    prefixes = [prefix << (64 - bits) for prefix in range(2**bits)] if bits else [0]
    counts = [0] * bound
    for word in prefixes:
        for filler in (0, (1 << (64 - bits)) - 1):
            entropy = ScriptedEntropy([word + filler, 0], then=ZEROS)
            drawn = uniform_integers(bound, 1, entropy).tolist()
            if entropy.left == 8 or bits == 0:  # accepted at once
                counts[drawn[0]] += 1
    assert len(set(counts)) == 1
    assert counts[0] > 0


def test_an_exponential_outlives_what_it_exceeds_and_borderline_ones_are_settled_exactly() -> None:
    gamma = Fraction(1, 3)
    border = math.floor(exact.exp_down(-gamma) * 2**63)
    words = [border - 1, border + 1, border, 1, 2**63 - 2]

    def survivors(then: int) -> list[bool]:
        entropy = ScriptedEntropy(words, then=then)
        asked: list[int] = []

        def exact_gamma(index: int) -> tuple[Callable[[], exact.Ball], Uniform]:
            asked.append(index)
            return (lambda: exact.enclosure(gamma)), Uniform(entropy)

        drawn = survives(np.full(len(words), float(gamma)), 2.0**-50, exact_gamma, entropy).tolist()
        assert asked == [0, 1, 2, 3]
        return [bool(outcome) for outcome in drawn]

    assert survivors(ZEROS) == [True, False, True, True, False]
    assert survivors(ONES) == [True, False, False, True, False]


def toss(law: str, entropy: Entropy) -> list[bool]:
    size = 3 * BLOCK + 1
    tosses: dict[str, Callable[[], np.ndarray[tuple[int], np.dtype[np.bool_]]]] = {
        "1/3": lambda: bernoulli(Fraction(1, 3), size, entropy),
        "1/20": lambda: bernoulli(Fraction(1, 20), size, entropy),
        "e^-1": lambda: bernoulli_exp(Fraction(1), size, entropy),
        "e^-1/10": lambda: bernoulli_exp(Fraction(1, 10), size, entropy),
        "1/π": lambda: bernoulli_real(lambda: 1 / exact.pi(), size, entropy),
        "few": lambda: np.concatenate([bernoulli(Fraction(1, 3), 3, entropy) for _ in range(4000)]),
    }
    return [bool(coin) for coin in tosses[law]().tolist()]


PROBABILITIES = {
    "1/3": 1 / 3,
    "1/20": 1 / 20,
    "e^-1": math.exp(-1),
    "e^-1/10": math.exp(-0.1),
    "1/π": 1 / math.pi,
    "few": 1 / 3,
}


@pytest.mark.statistical
@all_cases("law", PROBABILITIES)
def test_a_coin_has_its_probability_and_a_wrong_one_is_caught(law: str, entropy: RecordedEntropy) -> None:
    coins = toss(law, entropy)
    heads = sum(coins)
    for claim, plausible in CLAIMS:
        odds = PROBABILITIES[law] / (1 - PROBABILITIES[law]) * float(claim)
        assert counts_are_plausible([heads, len(coins) - heads], [odds / (1 + odds), 1 / (1 + odds)]) is plausible
