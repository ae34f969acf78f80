"""The index of the greatest noisy score: its law for three kinds of noise, and its exactness at the border."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pytest
from flint import arb, arf, ctx, fmpq
from scipy import integrate

from cases import all_cases
from giveortake.randomness import noisy_argmax
from giveortake.randomness.distributions import Noise, exact_score
from giveortake.randomness.entropy import words
from recorded_entropy import RecordedEntropy, ScriptedEntropy
from statistics_of_draws import CLAIMS, counts_are_plausible
from tiers import tiered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.randomness.distributions import Scores

NOISES: tuple[Noise, ...] = get_args(Noise)
every_noise = all_cases("noise", NOISES)

DISTANCES = [Fraction(0), Fraction(1), Fraction(5, 2)]
ScoreKind = Literal["fractions", "doubles", "enormous integers", "enormous fractions"]
TURNS = 6000  # a scale 30 % off escapes with probability below 1e-10


def softmax(scores: Sequence[float]) -> list[float]:
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def permute_and_flip(scores: Sequence[float]) -> list[float]:
    """Go through the candidates in random order; take one with probability exp(score − best), else go on."""
    chances = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        still_open = 1 / len(orders)
        for index in order:
            taken = math.exp(scores[index] - max(scores))
            chances[index] += still_open * taken
            still_open *= 1 - taken
    return chances


def noisy_max_with_laplace(scores: Sequence[float]) -> list[float]:
    """∫ f(x − sᵢ) Π F(x − sⱼ) dx."""

    def below(x: float) -> float:
        return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2

    def chance(index: int) -> float:
        def density(x: float) -> float:
            others = (below(x - score) for other, score in enumerate(scores) if other != index)
            return math.exp(-abs(x - scores[index])) / 2 * math.prod(others)

        low, high = min(scores) - 40, max(scores) + 40
        return float(integrate.quad(density, low, high, points=sorted(set(scores)), limit=200)[0])

    return [chance(index) for index in range(len(scores))]


CHANCES = {"gumbel": softmax, "exponential": permute_and_flip, "laplace": noisy_max_with_laplace}


def test_the_three_laws_are_laws() -> None:
    scores = [float(distance) for distance in DISTANCES]
    for law in CHANCES.values():
        assert math.fsum(law(scores)) == pytest.approx(1, abs=1e-9)
        assert law([1.0, 1.0, 1.0]) == pytest.approx([1 / 3] * 3, abs=1e-9)


def scores_of(kind: ScoreKind, scale: Fraction) -> Scores:
    """The same distances in every kind; their unit is the scale."""
    match kind:
        case "fractions":
            return [distance * scale for distance in DISTANCES]
        case "doubles":
            return np.array([float(distance * scale) for distance in DISTANCES])
        case "enormous integers":  # doubles cannot tell them apart
            return np.array([2**62 + int(distance * scale) for distance in DISTANCES])
        case "enormous fractions":
            return [10**290 + distance * scale for distance in DISTANCES]


@cache
def selections(kind: ScoreKind, noise: Noise, scale: Fraction) -> list[int]:
    entropy = RecordedEntropy((kind, noise, scale))
    scores = scores_of(kind, scale)
    return count([noisy_argmax(scores, scale, noise, entropy) for _ in range(TURNS)])


def count(chosen: list[int]) -> list[int]:
    return [chosen.count(index) for index in range(len(DISTANCES))]


SELECTED: list[tuple[ScoreKind, Fraction]] = [
    ("doubles", Fraction(2)),
    ("enormous integers", Fraction(2)),
    ("enormous fractions", Fraction(1, 3)),
    ("fractions", Fraction(1, 10**300)),
    ("fractions", Fraction(10**299)),
]


@pytest.mark.statistical
@every_noise
@all_cases(("kind", "scale"), tiered(SELECTED[:2], SELECTED))  # settled in doubles, and exactly
def test_candidates_are_selected_as_often_as_the_law_says_and_a_wrong_scale_is_caught(
    kind: ScoreKind, scale: Fraction, noise: Noise
) -> None:
    chosen = selections(kind, noise, scale)
    for claim, plausible in CLAIMS:
        claimed = CHANCES[noise]([float(distance / claim) for distance in DISTANCES])
        assert counts_are_plausible(chosen, claimed) is plausible


def noise_of(noise: Noise, word: int) -> arb:
    """The noise that a word stands for, whatever digits follow."""
    return noise_at(noise, arb(arf((2 * (word % 2**63) + 1, -64)), arf((1, -64))), negative=word < 0)


def noise_at(noise: Noise, uniform: arb, *, negative: bool = False) -> arb:
    exponential = -uniform.log()
    if noise == "gumbel":
        return -exponential.log()
    return -exponential if noise == "laplace" and negative else exponential


def exact_winner(scores: Scores, scale: Fraction, noise: Noise, drawn: list[int]) -> int | None:
    """The winner by interval arithmetic with 300 bits, if the words alone settle it."""

    def total(index: int) -> arb:
        distance = exact_score(scores, index) / scale
        return arb(fmpq(distance.numerator, distance.denominator)) + noise_of(noise, drawn[index])

    with ctx.workprec(300):
        totals = [total(index) for index in range(len(drawn))]
        winners = [
            index
            for index, mine in enumerate(totals)
            if all(mine > other for rival, other in enumerate(totals) if rival != index)
        ]
    return winners[0] if winners else None


@every_noise
def test_the_winner_is_that_of_exact_arithmetic_even_when_scores_nearly_tie(
    noise: Noise, entropy: RecordedEntropy
) -> None:
    settled = 0
    for turn in range(400):
        drawn = [int(word) for word in words(entropy, 3)]
        if turn % 4 == 1:  # a tiny uniform, which the fast path cannot evaluate
            drawn[turn % 3] = (drawn[0] >> 40) or 1
        if turn % 4 == 2:  # a uniform near one: the exponential nearly vanishes, the Gumbel is large
            drawn[turn % 3] = 2**63 - 2 - (abs(drawn[0]) >> 30)
        drawn[-1] = drawn[0] + 1 if turn % 4 == 3 and abs(drawn[0]) < 2**62 else drawn[-1]  # the noises nearly tie
        scores = [Fraction(0), Fraction(1, 3 + turn), Fraction(turn % 2, 10**15)]
        expected = exact_winner(scores, Fraction(1), noise, drawn)
        if expected is not None:
            settled += 1
            assert noisy_argmax(scores, Fraction(1), noise, ScriptedEntropy(drawn)) == expected
    assert settled > 350


def as_fraction(number: arb) -> Fraction:
    mantissa, exponent = number.mid().man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)


@every_noise
def test_the_winner_is_that_of_exact_arithmetic_when_doubles_cannot_tell(
    noise: Noise, entropy: RecordedEntropy
) -> None:
    settled = 0
    for turn in range(300):
        drawn = [int(word) for word in words(entropy, 2)]
        with ctx.workprec(200):
            tie = as_fraction(noise_of(noise, drawn[0]) - noise_of(noise, drawn[1]))
        scores = [Fraction(0), tie + Fraction((-1) ** turn, 2**56)]
        expected = exact_winner(scores, Fraction(1), noise, drawn)
        if expected is not None:
            settled += 1
            assert noisy_argmax(scores, Fraction(1), noise, ScriptedEntropy(drawn)) == expected
    assert settled > 200


@all_cases(("noise", "word"), [("gumbel", 1), ("exponential", 1), ("laplace", 1), ("gumbel", 2**63 - 2)])
def test_the_digits_that_follow_an_extreme_word_matter(noise: Noise, word: int) -> None:
    with ctx.workprec(200):
        ends = [noise_at(noise, arb(arf((numerator, -63)))) for numerator in (word, word + 1)]
        middle = as_fraction((ends[0] + ends[1]) / 2 - noise_at(noise, arb(0.5)))
        expected = [0 if end > (ends[0] + ends[1]) / 2 else 1 for end in ends]
    scores = [Fraction(0), middle]
    found = [noisy_argmax(scores, Fraction(1), noise, ScriptedEntropy([word, 2**62], then=t)) for t in (0x00, 0xFF)]
    assert found == expected
    assert set(found) == {0, 1}


@every_noise
def test_a_tie_of_the_known_digits_is_broken_by_the_digits_that_follow(noise: Noise) -> None:
    word = 2**61 + 12345
    winners = {
        noisy_argmax([Fraction(0), Fraction(0)], Fraction(1), noise, ScriptedEntropy([word, word, first, second]))
        for first, second in ((0, 2**64 - 1), (2**64 - 1, 0))
    }
    assert winners == {0, 1}


@every_noise
def test_a_hopeless_candidate_is_never_selected(noise: Noise, entropy: RecordedEntropy) -> None:
    spread: list[Scores] = [
        np.array([1e308, -1e308]),
        np.array([0.0, -1e6]),
        np.array([2**63 - 1, -(2**63)]),
        [Fraction(10**300), Fraction(-(10**300))],
    ]
    for scores in spread:
        for scale in (Fraction(1), Fraction(1, 10**300)):
            assert {noisy_argmax(scores, scale, noise, entropy) for _ in range(20)} == {0}


@every_noise
def test_a_single_candidate_is_selected(noise: Noise, entropy: RecordedEntropy) -> None:
    assert noisy_argmax([Fraction(7)], Fraction(1), noise, entropy) == 0


@pytest.mark.statistical
@every_noise
def test_equal_candidates_are_equally_likely_however_many_there_are(noise: Noise, entropy: RecordedEntropy) -> None:
    scores = np.zeros(50, dtype=np.int64)
    chosen = [noisy_argmax(scores, Fraction(1), noise, entropy) for _ in range(3000)]
    assert counts_are_plausible(np.bincount(chosen, minlength=50).tolist(), [1 / 50] * 50)
