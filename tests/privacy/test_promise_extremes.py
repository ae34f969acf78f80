"""At the ends of the supported range every question is answered or refused by a typed error; nothing hangs."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from cases import all_cases
from giveortake.errors import Unprovable
from giveortake.exact import LEAST
from giveortake.privacy import ZCDP, ApproxDP, ComputationalDP, GaussianDP, Guarantee, PureDP, RenyiDP, gaussian_mu

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS = ["1e-300", "1e-150", "1e-20", "1e-3", "1", "1e3", "1e20", "1e150", "1e300"]
NEARLY_ONE = 1 - Fraction(1, 10**300)

PROMISES: list[Guarantee] = [
    *(kind(size) for kind in (PureDP, ZCDP, GaussianDP) for size in ENDS),
    *(RenyiDP({order: size}) for order in ("1.0001", "2", "1e300") for size in ENDS),
    RenyiDP({"1e300": "1e-300", 1 + Fraction(1, 10**299): "1e300"}),
    *(kind(size, delta) for kind in (ApproxDP, ComputationalDP) for size in ENDS for delta in ("1e-300", NEARLY_ONE)),
    ApproxDP(0, "1e-300"),
]

QUESTIONS: list[Callable[[Guarantee], object]] = [
    *(lambda promise, delta=delta: promise.epsilon_at(delta) for delta in ("1e-300", "1e-6", "0.5", NEARLY_ONE)),
    *(lambda promise, epsilon=epsilon: promise.delta_at(epsilon) for epsilon in (0, *ENDS)),
    *(lambda promise, fpr=fpr: promise.tradeoff(fpr) for fpr in (0, "1e-300", "0.5", NEARLY_ONE, 1)),
    lambda promise: promise.posterior("1e-300", failure="1e-300"),
    lambda promise: promise.posterior(NEARLY_ONE, failure=NEARLY_ONE),
    lambda promise: promise.repeat(10**300),
    lambda promise: promise.group(10**300),
    lambda promise: promise.group(3),
    lambda promise: promise.compose(promise),
    lambda promise: promise.under("change-one"),
    lambda promise: promise.approximate("1e-300"),
]


@all_cases("promise", PROMISES)
def test_every_question_is_answered_or_refused_by_a_typed_error(promise: Guarantee) -> None:
    for ask in QUESTIONS:
        with suppress(Unprovable):
            ask(promise)


@all_cases("promise", PROMISES)
def test_every_promise_can_be_read(promise: Guarantee) -> None:
    assert str(promise).endswith(".")
    assert type(promise).__name__ in repr(promise)


@all_cases("promise", PROMISES)
def test_epsilon_at_is_confirmed_by_delta_at_at_the_ends_too(promise: Guarantee) -> None:
    for delta in (LEAST, Fraction(1, 10**6), Fraction(1, 2), NEARLY_ONE):
        try:
            epsilon = promise.epsilon_at(delta)
        except Unprovable:
            continue
        assert promise.delta_at(epsilon) <= delta


@all_cases("epsilon", ENDS)
@all_cases("delta", ["1e-300", "1e-6", "0.999", NEARLY_ONE])
def test_calibration_is_safe_at_the_ends(epsilon: str, delta: str | Fraction) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert mu > 0
    if LEAST <= mu <= 10**300:
        assert GaussianDP(mu).delta_at(epsilon) <= Fraction(delta)


def test_a_bound_is_rounded_up_into_the_supported_range_and_never_to_zero() -> None:
    assert GaussianDP(1).delta_at(1000) == LEAST
    assert ZCDP(1).delta_at("1e300") == LEAST
    assert PureDP("1e-200").concentrated() == ZCDP(LEAST)
    assert PureDP(1).delta_at(1 - LEAST) >= LEAST * Fraction(1, 4)


@all_cases("exponent", [10, 50, 150, 250])
def test_a_tiny_mu_loses_no_digits_to_cancellation(exponent: int) -> None:
    advantage = GaussianDP(Fraction(1, 10**exponent)).advantage() * 10**exponent
    assert float(advantage) == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-12)


def test_a_hundred_thousand_small_promises_add_up_exactly() -> None:
    assert PureDP("1e-5").repeat(10**5) == PureDP(1)
    assert ApproxDP("1e-5", "1e-11").repeat(10**5) == ApproxDP(1, "1e-6")
