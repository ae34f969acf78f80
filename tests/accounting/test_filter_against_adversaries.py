"""Every adversary against every filter: the exact worst case keeps the promise, and unsound guards are caught."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest
from brute_force import (
    Composing,
    Forgiving,
    Frozen,
    Guarded,
    Move,
    Refunding,
    excess_over,
    leaky,
    randomized_response,
    worst,
)

from cases import all_cases
from giveortake.accounting.filters import ApproxDPFilter, Filter, filter  # noqa: A004
from giveortake.accounting.pricing import Currency, Divergence, Epsilon, Rho, SquaredMu
from giveortake.exact import exp_up, log_up
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, events, gaussian_delta

EPSILON = Fraction(1)
ZERO = Fraction(0)
FAMILIES = [
    pytest.param([Fraction(5, 4), Fraction(3, 2), Fraction(2)], 10, id="5/4, 3/2, 2"),
    pytest.param([Fraction(6, 5), Fraction(3)], 12, id="6/5, 3"),
    pytest.param([Fraction(11, 10), Fraction(3, 2)], 14, id="11/10, 3/2"),
]
DELTAS = [Fraction(1, 5), Fraction(1, 20), Fraction(1, 100)]


def contestants(delta: Fraction) -> dict[str, list[tuple[Currency, Fraction]]]:
    return {
        "concentrated alone": [(Rho(), delta)],
        "Gaussian alone": [(SquaredMu(), delta)],
        "order 4 alone": [(Divergence(Fraction(4)), delta)],
        "sum and two orders": [
            (Epsilon(), ZERO),
            (Divergence(Fraction(3)), delta / 2),
            (Divergence(Fraction(9)), delta / 2),
        ],
        "sum, order and Gaussian": [(Epsilon(), ZERO), (Divergence(Fraction(5)), delta / 2), (SquaredMu(), delta / 2)],
    }


@all_cases(("odds", "rounds"), FAMILIES)
@all_cases("delta", DELTAS)
def test_no_adversary_beats_a_race(odds: list[Fraction], rounds: int, delta: Fraction) -> None:
    moves = [randomized_response(each) for each in odds]
    budget = ApproxDP(EPSILON, delta)
    guards = [
        ApproxDPFilter(budget),
        *(ApproxDPFilter(budget, keys=0, contestants=each) for each in contestants(delta).values()),
    ]
    for guard in guards:
        assert worst(Guarded(guard), moves, excess_over(EPSILON), rounds=rounds) <= delta


@all_cases(("odds", "rounds"), FAMILIES)
def test_no_adversary_beats_the_pure_filter(odds: list[Fraction], rounds: int) -> None:
    moves = [randomized_response(each) for each in odds]
    guard = Guarded(filter(PureDP(EPSILON)))
    assert worst(guard, moves, excess_over(EPSILON), rounds=rounds) == 0
    assert worst(guard, moves, excess_over(Fraction(4, 5)), rounds=rounds) > 0


@all_cases("order", [2, 3, 6])
@all_cases("kind", ["Rényi", "concentrated"])
def test_no_adversary_beats_the_divergence_that_is_promised(order: int, kind: str) -> None:
    """E_P[(P/Q)^(α−1)] ≤ e^((α−1)·ε_α), exactly."""
    moves = [randomized_response(Fraction(odds)) for odds in ("5/4", "3/2", "2")]
    rho = Fraction(1, 8)
    guard: Filter = filter(RenyiDP({order: order * rho}) if kind == "Rényi" else ZCDP(rho))
    moment = worst(Guarded(guard), moves, lambda _state, ratio: ratio ** (1 - order), rounds=10)
    assert 1 < moment <= exp_up((order - 1) * order * rho)


@all_cases("epsilon", ["1/4", "1/2", "1"])
def test_no_adversary_beats_the_gaussian_curve(epsilon: str) -> None:
    moves = [randomized_response(Fraction(odds)) for odds in ("5/4", "3/2", "2")]
    mu = Fraction(4, 5)
    found = worst(Guarded(filter(GaussianDP(mu))), moves, excess_over(Fraction(epsilon)), rounds=10)
    assert 0 < found <= gaussian_delta(mu, Fraction(epsilon))


def test_no_adversary_beats_the_pot_for_queries_that_spend_delta() -> None:
    delta, keys = Fraction(1, 10), Fraction(1, 20)
    small, half = Fraction(1, 100), Fraction(1, 40)
    moves = [
        leaky(Fraction(3, 2), small),
        leaky(Fraction(6, 5), half),
        randomized_response(Fraction(3, 2)),
    ]
    lineup = [(Epsilon(), ZERO), (Divergence(Fraction(4)), delta - keys)]
    guard = ApproxDPFilter(ApproxDP(EPSILON, delta), keys=keys, contestants=lineup)
    found = worst(Guarded(guard), moves, excess_over(EPSILON), rounds=8)
    assert keys / 2 < found <= delta
    assert worst(Guarded(ApproxDPFilter(ApproxDP(EPSILON, delta))), moves, excess_over(EPSILON), rounds=8) <= delta


def test_no_adversary_beats_the_pot_for_keys_that_are_found_by_gaussian_noise() -> None:
    """Randomized response that leaks is one of the mechanisms that such an event may be: its odds are μ-close."""
    delta, keys = Fraction(1, 10), Fraction(1, 20)

    def found_keys(odds: Fraction, chance: Fraction) -> Move:
        mu = PureDP(log_up(odds)).gaussian().mu
        return replace(leaky(odds, chance), event=events.GaussianKeys(1 / mu, chance))

    moves = [
        found_keys(Fraction(3, 2), Fraction(1, 100)),
        found_keys(Fraction(6, 5), Fraction(1, 40)),
        randomized_response(Fraction(3, 2)),
    ]
    lineup = [(Epsilon(), ZERO), (Divergence(Fraction(4)), (delta - keys) / 2), (SquaredMu(), (delta - keys) / 2)]
    guard = ApproxDPFilter(ApproxDP(EPSILON, delta), keys=keys, contestants=lineup)
    found = worst(Guarded(guard), moves, excess_over(EPSILON), rounds=8)
    assert keys / 2 < found <= delta
    free = [replace(move, event=events.Gaussian(move.event.noise_multiplier)) for move in moves[:2]]  # type: ignore[attr-defined]  # (of keys)
    assert worst(Guarded(guard), free, excess_over(EPSILON), rounds=8) > delta  # δ that nobody pays for is caught


def test_composing_curves_along_the_path_is_caught() -> None:
    """Declared together every admitted set of moves is (1, 1/20)-DP; chosen adaptively they are not."""
    moves = [randomized_response(Fraction(odds)) for odds in ("5/4", "3/2", "2")]
    delta = Fraction(1, 20)
    assert worst(Composing(EPSILON, delta), moves, excess_over(EPSILON), rounds=9) > delta * Fraction(6, 5)


def test_refunding_failed_queries_is_caught() -> None:
    moves = [randomized_response(Fraction(3, 2))]
    guard = Refunding(Guarded(filter(PureDP(EPSILON))))
    assert worst(guard, moves, excess_over(EPSILON), rounds=8) > Fraction(1, 100)


def test_a_race_without_death_is_caught() -> None:
    """Filters that count only what they admit themselves let an adversary spend each of them separately."""
    delta = Fraction(1, 20)
    budget = ApproxDP(EPSILON, delta)
    moves = [randomized_response(Fraction(odds)) for odds in ("6/5", "2")]
    alone = [ApproxDPFilter(budget, keys=0, contestants=[each]) for each in ((Epsilon(), ZERO), (Rho(), delta))]
    assert worst(Forgiving(*alone), moves, excess_over(EPSILON), rounds=14) > delta
    together = ApproxDPFilter(budget, keys=0, contestants=[(Epsilon(), ZERO), (Rho(), delta)])
    assert worst(Guarded(together), moves, excess_over(EPSILON), rounds=14) <= delta


def test_the_solver_finds_the_exact_delta_of_plain_composition() -> None:
    """With one kind of move there is nothing to choose but when to stop, and stopping early never helps."""
    move = randomized_response(Fraction(2))
    truth, lie = Fraction(2, 3), Fraction(1, 3)
    reward = excess_over(EPSILON)
    exactly = sum(
        (comb(4, k) * truth**k * lie ** (4 - k) * reward((), Fraction(1, 2) ** (2 * k - 4)) for k in range(5)), ZERO
    )
    assert worst(_Anything(), [move], reward, rounds=4) == exactly


class _Anything:
    start: Hashable = ()

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        return state


def test_states_of_the_game_are_compared_by_what_the_filter_knows() -> None:
    one, two = Guarded(filter(PureDP(1))), Guarded(filter(PureDP(1)))
    assert isinstance(one.start, Frozen)
    assert one.start == two.start
