"""Pure promises: exact sums, the dominating randomized response, and the theorems that lead elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_strategies import sizes
from scipy.stats import norm

from cases import all_cases
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import exp_down, exp_up, log_up
from giveortake.privacy import ZCDP, ApproxDP, PureDP


def hockey_stick(p: list[Fraction], q: list[Fraction], factor: Fraction) -> Fraction:
    """The greatest P[S] − factor·Q[S] over all sets S of outputs, by trying every set."""
    return max(
        sum((a - factor * b for a, b, inside in zip(p, q, chosen, strict=True) if inside), Fraction(0))
        for chosen in product([False, True], repeat=len(p))
    )


def test_three_tenths_are_three_times_one_tenth() -> None:
    assert PureDP(0.1).compose(PureDP(0.1)).compose(PureDP(0.1)) == PureDP("0.3") == PureDP(0.1).repeat(3)


def test_a_group_of_k_costs_k_epsilon() -> None:
    assert PureDP("0.1").group(5) == PureDP("0.5")


@all_cases(("factor", "asked"), [(3, 1), (3, 2), (5, 3), (9, 2), (2, 1)])
def test_randomized_response_attains_delta_at_exactly(factor: int, asked: int) -> None:
    """With e^ε = 3 the poll of [Fre18] answers truly three times in four; every set of outputs is tried."""
    truth, lie = Fraction(factor, 1 + factor), Fraction(1, 1 + factor)
    exact = hockey_stick([truth, lie], [lie, truth], Fraction(asked))
    epsilon, epsilon_asked = log_up(Fraction(factor)), log_up(Fraction(asked)) if asked > 1 else Fraction(0)
    bound = PureDP(epsilon).delta_at(epsilon_asked)
    assert exact - Fraction(1, 10**40) <= bound <= exact + Fraction(1, 10**40)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_no_pair_of_laws_with_bounded_ratio_exceeds_delta_at(p: list[int], q: list[int]) -> None:
    first, second = [Fraction(a, sum(p)) for a in p], [Fraction(b, sum(q)) for b in q]
    ratio = max(max(a / b, b / a) for a, b in zip(first, second, strict=True))
    if ratio == 1:
        return
    promise = PureDP(log_up(ratio))
    for share in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
        asked = promise.epsilon * share
        assert hockey_stick(first, second, exp_up(asked)) <= promise.delta_at(asked)


@settings(max_examples=60, deadline=None)
@given(sizes, sizes)
def test_delta_at_is_the_formula_of_kairouz_oh_and_viswanath(epsilon: Fraction, asked: Fraction) -> None:
    bound = PureDP(epsilon).delta_at(asked)
    if asked >= epsilon:
        assert bound == 0
    else:
        formula = (math.exp(epsilon) - math.exp(asked)) / (1 + math.exp(epsilon))
        assert float(bound) == pytest.approx(formula, rel=1e-9)


def test_epsilon_at_never_exceeds_epsilon_and_reaches_zero() -> None:
    assert PureDP(1).epsilon_at("1e-300") <= 1
    assert PureDP(1).epsilon_at("0.47") == 0  # tanh(1/2) = 0.4621…
    assert float(PureDP(1).epsilon_at("0.1")) == pytest.approx(math.log(math.e - 0.1 * (1 + math.e)), rel=1e-14)


def test_lal20_proposition_9_trades_epsilon_for_delta() -> None:
    traded = PureDP("0.2").trade("0.1")
    assert traded.epsilon == Fraction(1, 10)
    assert float(traded.delta) == pytest.approx(math.exp(0.2) - math.exp(0.1), rel=1e-14)
    assert traded.delta >= exp_down(Fraction(1, 5)) - exp_up(Fraction(1, 10))
    assert ApproxDP("0.2", "1e-3").trade("0.1").delta == pytest.approx(traded.delta + Fraction(1, 1000))
    assert ApproxDP("0.2", "1e-3").trade("0.2") == ApproxDP("0.2", "1e-3")


def test_a_trade_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(Unprovable):
        PureDP(1).trade(0)  # e − 1 > 1
    with pytest.raises(InvalidParameter, match="epsilon"):
        PureDP(1).trade(2)
    with pytest.raises(InvalidParameter, match="epsilon"):
        PureDP(1).trade(1)


def test_pure_implies_concentrated_with_half_the_square() -> None:
    assert PureDP("0.1").concentrated() == ZCDP("0.005")


@all_cases("epsilon", ["0.001", "0.1", "1", "3", "10", "40", "700"])
def test_pure_implies_gaussian_and_the_curves_touch_at_the_kink(epsilon: str) -> None:
    promise = PureDP(epsilon)
    gaussian = promise.gaussian()
    assert float(gaussian.mu) == pytest.approx(-2 * norm.ppf(1 / (1 + math.exp(float(epsilon)))), rel=1e-9)
    for fpr in (Fraction(k, 40) for k in range(1, 40)):
        assert gaussian.tradeoff(fpr) <= promise.tradeoff(fpr)
    if float(epsilon) < 30:
        kink = 1 / (1 + exp_up(promise.epsilon))
        assert float(gaussian.tradeoff(kink)) == pytest.approx(float(promise.tradeoff(kink)), rel=1e-12)


@all_cases("epsilon", ["1e-6", "0.01", "0.5", "2", "30"])
def test_pure_implies_the_renyi_divergence_of_randomized_response(epsilon: str) -> None:
    size = float(epsilon)
    log_truth, log_lie = -math.log1p(math.exp(-size)), -math.log1p(math.exp(size))
    for order, bound in PureDP(epsilon).renyi(["1.5", 2, 7, 64]).curve:
        alpha = float(order)
        terms = [alpha * p + (1 - alpha) * q for p, q in [(log_truth, log_lie), (log_lie, log_truth)]]
        exact = (max(terms) + math.log1p(math.exp(min(terms) - max(terms)))) / (alpha - 1)
        assert float(bound) == pytest.approx(exact, rel=1e-6, abs=1e-15)
        assert bound <= PureDP(epsilon).epsilon
        assert bound <= order * PureDP(epsilon).epsilon ** 2 / 2


def test_beliefs_with_and_without_one_person_stay_within_two_epsilon_for_every_prior() -> None:
    """[PDP21, Thm 2.1] on all tables of two people and a grid of priors, dependent ones included.

    Each person's value is reported by a law that differs from that of an absent person by a factor of at most 3.
    """
    report = {"+": [Fraction(9, 12), Fraction(3, 12)], "-": [Fraction(1, 12), Fraction(11, 12)]}
    absent = [Fraction(3, 12), Fraction(9, 12)]
    promise = PureDP(
        log_up(max(max(a / b, b / a) for law in report.values() for a, b in zip(law, absent, strict=True)))
    )
    tables = list(product("+-", repeat=2))

    def posterior(prior: list[Fraction], output: tuple[int, ...], *, without_first: bool) -> list[Fraction]:
        seen = [(absent if without_first else report[one])[output[0]] * report[two][output[1]] for one, two in tables]
        mass = sum(a * b for a, b in zip(prior, seen, strict=True))
        return [a * b / mass for a, b in zip(prior, seen, strict=True)]

    worst = Fraction(1)
    for weights in product([1, 100, 10**6], repeat=4):
        prior = [Fraction(weight, sum(weights)) for weight in weights]
        for output in product([0, 1], repeat=2):
            used = posterior(prior, output, without_first=False)
            unused = posterior(prior, output, without_first=True)
            # the greatest ratio over events is reached by a single table
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(used, unused, strict=True)))
    assert worst <= exp_up(promise.belief_distance())
    assert worst > exp_up(promise.epsilon)  # ε alone would not have been enough
