"""The proofs of the lectures, run as checks."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import giveortake as gt
from cases import all_cases
from giveortake.verify import Flip, Log, family, program, table

HALF = Fraction(1, 2)


def randomized_response(x: int, flip: Flip, p: Fraction = HALF) -> int:
    return x if flip(p) else flip(p)


def test_randomized_response_is_exactly_ln_3_private() -> None:
    """[Fre18, Theorem 3]."""
    t = program(randomized_response)
    assert t.law(0) == {0: Fraction(3, 4), 1: Fraction(1, 4)}
    assert t.epsilon() == Log(3)
    assert t.check("ln 3")
    assert not t.check("ln 2.999999999")


def test_randomized_response_for_every_p_at_once() -> None:
    """[Fre18], the exercise after Theorem 3: ε = ln max((2 − p)/(1 − p), (1 − p + p²)/(1 − p)²)."""
    found = family(randomized_response)
    first, second = found.ratios()
    assert (repr(first), repr(second)) == ("(1 − p + p²) / (1 − 2p + p²)", "(2 − p) / (1 − p)")
    for p in (Fraction(k, 16) for k in range(1, 16)):
        exactly = program(lambda x, flip, p=p: randomized_response(x, flip, p))
        assert found.at(p) == exactly
        assert exactly.ratio() == max(first.at(p), second.at(p))
        assert exactly.ratio() == max((2 - p) / (1 - p), (1 - p + p * p) / (1 - p) ** 2)


def test_the_poll_of_lal20_for_every_p_at_once() -> None:
    """A(D) = XD + (1 − X)Y: ε = ln(1 + 2p/(1 − p)), [Lal20, equations 7 and 8]."""
    (only,) = family(lambda d, flip, p: d if flip(p) else flip()).ratios()
    assert repr(only) == "(1 + p) / (1 − p)"
    assert only.at("1/3") == 1 + 2 * Fraction(1, 3) / Fraction(2, 3)


def test_example_10_of_fre18_has_mass_21() -> None:
    """Utilities 0, 4, 6, 6 at ε = ln 2: weights 2^(q/2), and one student who moves changes utilities by one each."""

    def ranks(counts: tuple[int, ...], flip: Flip) -> str:
        doubled = max(counts) % 2  # keeps exponents whole: all counts of an input are even, or all are odd
        weights = {name: 2 ** ((q - doubled) // 2) for name, q in zip(("Fr", "So", "Ju", "Se"), counts, strict=True)}
        return str(flip.categorical(weights))

    t = program(ranks, inputs=[(0, 4, 6, 6)])
    assert t.law((0, 4, 6, 6)) == {name: Fraction(w, 21) for name, w in (("Fr", 1), ("So", 4), ("Ju", 8), ("Se", 8))}
    moved = program(ranks, inputs=[(0, 4, 6, 6), (0, 6, 4, 6), (2, 4, 4, 6)])  # two students each: at most 2ε = ln 4
    assert moved.epsilon() <= Log(4)


def hacked(ratio: int, delta: Fraction) -> gt.verify.Table:
    """[Lal20, equations 22 and 23]."""
    high, low = (1 - delta) * Fraction(ratio, 1 + ratio), (1 - delta) / (1 + ratio)
    return table({0: {0: delta, 1: high, 2: low}, 1: {1: low, 2: high, 3: delta}})


def test_the_post_processing_hack_breaks_probabilistic_privacy_but_not_approximate() -> None:
    """[Lal20, Prop. 4, equations 22] to 24."""
    delta = Fraction(1, 10)
    t = hacked(3, delta)
    assert t.probabilistic_delta("ln 3") == delta
    assert t.delta("ln 3") == delta
    hack = t.post_process({0: 4, 1: 4, 2: 2, 3: 3}.__getitem__)
    assert hack.probabilistic_delta("ln 3") == delta + Fraction(3, 4) * (1 - delta) > delta
    assert hack.delta("ln 3") == delta
    assert hack.check("ln 3", delta)


@all_cases("ratio", [1, 2, 3, 10])
@all_cases("delta", [Fraction(1, 100), Fraction(1, 3)])
def test_probabilistic_privacy_implies_approximate(ratio: int, delta: Fraction) -> None:
    """[Lal20, Prop. 5], on every table: the δ of (ε, δ)-DP is at most P[loss > ε]."""
    t = hacked(ratio, delta)
    for k in range(1, 40):
        level = Log(1 + Fraction(k, 8))
        assert t.delta(level) <= t.probabilistic_delta(level)
        assert t.repeat(3).delta(level) <= t.repeat(3).probabilistic_delta(level)


def name_and_shame(rows: tuple[int, ...], flip: Flip, delta: Fraction = Fraction(1, 10)) -> tuple[object, ...]:
    return tuple((i, row) if flip(delta) else "⊥" for i, row in enumerate(rows))


def test_name_and_shame_keeps_additive_secrecy_and_nothing_else() -> None:
    """[PDP21, Exercise 2.3]: δ-additive secrecy holds, DP fails, and so does equation 7 of Theorem 2.1."""
    people = list(product((0, 1), repeat=3))
    t = program(name_and_shame, people, neighbours="change-one")
    assert t.additive_secrecy() == Fraction(1, 10)
    assert t.epsilon().ratio == math.inf
    somebody = t.post_process(lambda reports: any(report != "⊥" for report in reports))
    assert somebody.probability((0, 0, 0), True) == 1 - Fraction(9, 10) ** 3
    even = dict.fromkeys(people, Fraction(1, 8))
    assert t.belief_ratio(even, without=lambda rows: (0, *rows[1:])) == math.inf
    private = program(lambda rows, flip: tuple(randomized_response(row, flip) for row in rows), people)
    assert private.under("change-one").belief_ratio(even, without=lambda rows: (0, *rows[1:])) <= 9


def clamped_noise(flip: Flip, most: int = 6) -> int:
    """Two-sided geometric noise with P[k] ∝ 2^−|k|, the tails moved to ±6."""
    weights = {k: Fraction(1, 3) * Fraction(1, 2) ** abs(k) for k in range(-most + 1, most)}
    tail = (1 - sum(weights.values())) / 2
    return int(flip.categorical(weights | {-most: tail, most: tail}))


def foods(rows: tuple[str, ...], flip: Flip, threshold: int | None) -> tuple[tuple[str, int], ...]:
    noisy = {food: rows.count(food) + clamped_noise(flip) for food in sorted(set(rows))}
    return tuple((food, n) for food, n in noisy.items() if threshold is None or n >= threshold)


def test_the_histogram_with_escargots_before_and_after_thresholding() -> None:
    """[Lal20, section 3]: noise alone shows that somebody wrote "Escargots"; a threshold leaves a small δ."""
    before, after = ("Pizza", "Pizza"), ("Pizza", "Pizza", "Escargots")
    bare = program(lambda rows, flip: foods(rows, flip, None), [before, after])
    assert bare.ratio() == math.inf
    assert bare.delta("ln 2") == 1  # the two tables never look alike
    shown = program(lambda rows, flip: foods(rows, flip, 5), [before, after])
    alone = program(lambda n, flip: n + clamped_noise(flip) >= 5, [1]).probability(1, output=True)
    assert shown.delta("ln 2") == alone == Fraction(1, 24)
    assert shown.probabilistic_delta("ln 2") == alone


def test_a_count_with_geometric_noise_keeps_ln_2_and_pays_for_the_clamped_tail() -> None:
    counts = program(lambda n, flip: n + clamped_noise(flip), range(4), neighbours=lambda n, m: m == n + 1)
    assert counts.epsilon().ratio == math.inf  # the ends of the support move
    assert counts.delta("ln 2") == Fraction(1, 96)


def test_two_surveys_of_the_same_people_compose() -> None:
    """[PDP21, scenario 1 and Lemma 1.1]: ε adds, and no more."""
    t = program(randomized_response)
    assert t.compose(t).epsilon() == Log(9)
    assert t.compose(t).delta("ln 3") == Fraction(9, 16) - 3 * Fraction(1, 16)


def test_group_privacy_of_randomized_response_is_attained() -> None:
    """[PDP21, L1.7]: two people who answer alike are twice as exposed."""
    people = list(product((0, 1), repeat=2))
    t = program(lambda rows, flip: tuple(randomized_response(r, flip) for r in rows), people, neighbours="change-one")
    assert t.epsilon() == Log(3)
    assert t.group(2).epsilon() == 2 * Log(3)


@all_cases("epsilon", ["0.8", "0.9", "1"])
def test_the_crude_trade_of_lal20_proposition_9_is_above_the_exact_one(epsilon: str) -> None:
    t = program(randomized_response)
    crude = gt.PureDP(t.epsilon().up()).trade(epsilon).delta
    assert t.delta(epsilon) <= crude
