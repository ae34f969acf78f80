"""Bad input gets a typed error that names the parameter, before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake import randomness
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import (
    AboveThreshold,
    DiscoveredHistogram,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Histogram,
    KeySelection,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    Sensitive,
)

NOT_POSITIVE: list[Any] = [0, -1, 0.0, -0.0, F(0), "0", float("nan"), -float("inf"), "inf", "1e400", "1e-400"]
NOT_NUMBERS: list[Any] = [True, np.True_, None, [1], (1,), {}, "one", "", 1j, np.array([1.0]), b"1"]
BAD_PROBABILITIES: list[Any] = [0, 1, -0.1, 1.5, "1", float("nan"), True, [0.1], "x"]


@pytest.fixture(autouse=True)
def _nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: object, _count: int) -> bytes:
        pytest.fail("random bytes were read although the input is bad")

    monkeypatch.setattr(randomness.SystemEntropy, "read", refuse)


def refused(call: Callable[[], object], name: str) -> InvalidParameter:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.name == name
    assert str(caught.value).startswith((f"{name} = ", f"{name} is missing"))
    return caught.value


@all_cases("bad", NOT_POSITIVE + NOT_NUMBERS)
def test_epsilon_must_be_a_positive_number(bad: Any) -> None:
    for call in (
        lambda: gt.laplace(1, sensitivity=1, epsilon=bad),
        lambda: gt.exponential(["a"], [1], sensitivity=1, epsilon=bad),
        lambda: gt.randomized_response(True, epsilon=bad),
        lambda: gt.histogram([1], categories=[1], epsilon=bad),
        lambda: gt.histogram([1], epsilon=bad, delta="1e-6"),
        lambda: RandomizedResponse(bad),
        lambda: KeySelection(bad, "1e-6"),
        lambda: AboveThreshold(1, bad),
    ):
        refused(call, "epsilon")
    if bad is not None:
        refused(lambda: gt.gaussian(1, sensitivity=1, epsilon=bad, delta="1e-6"), "epsilon")


@all_cases("bad", NOT_POSITIVE + NOT_NUMBERS)
def test_sensitivity_must_be_a_positive_number(bad: Any) -> None:
    for call in (
        lambda: gt.laplace(1, sensitivity=bad, epsilon=1),
        lambda: gt.gaussian(1, sensitivity=bad, rho=1),
        lambda: gt.exponential(["a"], [1], sensitivity=bad, epsilon=1),
        lambda: Laplace(1).event(bad),
        lambda: Gaussian(1).event(bad),
        lambda: Geometric(1).event(bad),
        lambda: DiscreteGaussian(1).event(bad),
        lambda: Exponential(1).event(bad),
        lambda: RandomizedResponse(1).event(bad),
        lambda: AboveThreshold(1, 1, bad),
    ):
        refused(call, "sensitivity")


@all_cases("bad", NOT_POSITIVE + NOT_NUMBERS)
def test_scales_and_granularities_must_be_positive_numbers(bad: Any) -> None:
    for scaled in (Laplace, Geometric, Exponential, PermuteAndFlip, ReportNoisyMax):
        refused(partial(scaled, bad), "scale")
    for spread in (Gaussian, DiscreteGaussian):
        refused(partial(spread, bad), "sigma")
    refused(lambda: Histogram(["a"], bad), "scale")
    refused(lambda: DiscoveredHistogram(bad, 5), "scale")
    if bad is not None:
        refused(lambda: gt.laplace(1.5, sensitivity=1, epsilon=1, granularity=bad), "granularity")
        refused(lambda: gt.gaussian(1, sensitivity=1, rho=bad), "rho")
        refused(lambda: gt.gaussian(1, sensitivity=1, mu=bad), "mu")


@all_cases("bad", BAD_PROBABILITIES)
def test_delta_and_confidence_lie_strictly_between_zero_and_one(bad: Any) -> None:
    refused(lambda: gt.gaussian(1, sensitivity=1, epsilon=1, delta=bad), "delta")
    refused(lambda: gt.histogram(["a"], epsilon=1, delta=bad), "delta")
    refused(lambda: KeySelection(1, bad), "delta")
    refused(lambda: Laplace(1).margin(bad), "confidence")
    refused(lambda: Gaussian(1).margin(bad), "confidence")


def test_delta_is_asked_for_where_the_mechanism_needs_it() -> None:
    assert "gt.laplace" in str(refused(lambda: gt.gaussian(1, sensitivity=1, epsilon=1), "delta"))
    assert "categories" in str(refused(lambda: gt.histogram(["a"], epsilon=1), "delta"))


def test_a_gaussian_promise_is_stated_once() -> None:
    refused(lambda: gt.gaussian(1, sensitivity=1), "epsilon, rho, mu")
    refused(lambda: gt.gaussian(1, sensitivity=1, rho=1, mu=1), "epsilon, rho, mu")
    refused(lambda: gt.gaussian(1, sensitivity=1, epsilon=1, delta=0.1, mu=1), "epsilon, rho, mu")
    refused(lambda: gt.gaussian(1, sensitivity=1, rho=1, delta="1e-6"), "delta")


@all_cases(
    "bad",
    [
        float("nan"),
        float("inf"),
        True,
        None,
        "12",
        [1, float("nan")],
        np.array([1.0, np.inf]),
        np.array([True, False]),
        np.array(["a"]),
        [1, None],
        [1, "2"],
        [True, F(1)],
        np.array([1 + 1j]),
        Decimal("nan"),
        np.datetime64("2020-01-01"),
        np.timedelta64(5, "s"),
        np.longdouble(1),
        np.array([1.0], dtype=np.longdouble),
        np.ma.masked_array([1, 10**6], mask=[False, True]),
        [[1, 2], [3]],
        [Decimal("1e-999")],
        [Decimal("sNaN")],
        {"a": 1},
        {1, 2},
    ],
)
def test_values_that_are_not_finite_numbers_are_refused(bad: Any) -> None:
    refused(lambda: gt.laplace(bad, sensitivity=1, epsilon=1), "value")
    refused(lambda: gt.gaussian(bad, sensitivity=1, mu=1), "value")
    refused(lambda: Laplace(1).release(bad), "value")


SECRETS: list[Any] = [
    [123456.25, float("nan")],
    "123456 and more",
    ["123456 and more"],
    np.array(["123456 and more"]),
    [True, 123456],
    Decimal("-Infinity"),
    [Decimal("1.23456e-999")],
]


@all_cases("secret", SECRETS)
def test_an_error_tells_nothing_about_the_value(secret: Any) -> None:
    for call in (
        lambda: gt.laplace(secret, sensitivity=1, epsilon=1),
        lambda: Laplace(1).release(Sensitive(secret)),
        lambda: gt.exponential(["a", "b"], secret, sensitivity=1, epsilon=1),
    ):
        with pytest.raises(InvalidParameter) as caught:
            call()
        told = f"{caught.value} {caught.value.value!r} {caught.value.__context__!r}"
        assert not any(part in told for part in ("123456", "more", "True", "-Inf", "352", "480", "15"))


@all_cases("secret", [3.14159, F(314159, 2), np.array([3.14159])])
def test_a_mechanism_on_integers_does_not_quote_what_is_none(secret: Any) -> None:
    for mechanism in (Laplace(1), AboveThreshold(1, 1)):
        assert "314159" not in str(refused(partial(mechanism.release, secret), "value")).replace(".", "")


def test_an_answer_outside_the_categories_is_not_quoted() -> None:
    with pytest.raises(InvalidParameter) as caught:
        gt.randomized_response("my secret", epsilon=1, categories=["yes", "no"])
    assert "secret" not in f"{caught.value} {caught.value.value!r} {caught.value.__context__!r}"


def test_mechanisms_on_integers_do_not_take_real_numbers() -> None:
    for value in (0.5, [0.5], F(1, 2), np.array([1.0])):
        assert "lattice" in str(refused(partial(Laplace(1).release, value), "value"))


@all_cases(
    ("value", "sensitivity", "epsilon"),
    [(1, "1e-200", 1), (1, "1/1000", 10**6), (1.5, "1e-300", 1), (1, F(1, 10**299), 10), (1, "0.1", 1500)],
)
def test_noise_that_vanishes_because_no_step_is_protected_is_refused(
    value: Any, sensitivity: Any, epsilon: Any
) -> None:
    with pytest.raises(InvalidParameter, match=r"no noise|range"):
        gt.laplace(value, sensitivity=sensitivity, epsilon=epsilon)
    with pytest.raises(InvalidParameter, match=r"no noise|range"):
        gt.gaussian(value, sensitivity=sensitivity, mu=epsilon)


def test_noise_beyond_all_measure_is_refused_by_what_was_asked_for() -> None:
    refused(lambda: gt.laplace(1.5, sensitivity=1, epsilon="1e-300"), "noise")
    refused(lambda: gt.gaussian([1, 2], sensitivity="1e200", mu="1e-200"), "noise")


def test_values_of_a_histogram_must_be_a_list_or_a_column() -> None:
    number: Any = 5
    relation: Any = "swap"
    refused(lambda: gt.histogram("abc", categories=["a"], epsilon=1), "values")
    refused(lambda: gt.histogram(number, categories=["a"], epsilon=1), "values")
    for table in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), {"a": 100}, np.zeros((2, 2))):
        refused(partial(gt.histogram, table, categories=["a"], epsilon=1), "values")
    refused(lambda: gt.histogram(["a"], categories=["a", "a"], epsilon=1), "categories")
    refused(lambda: gt.histogram(["a"], categories=[], epsilon=1), "categories")
    refused(lambda: gt.histogram(["a"], categories=["a"], epsilon=1, neighbours=relation), "neighbours")


def test_whole_parameters_must_be_whole() -> None:
    half: Any = 2.5
    text: Any = "x"
    refused(lambda: DiscoveredHistogram(1, 1), "threshold")
    refused(lambda: DiscoveredHistogram(1, half), "threshold")
    refused(lambda: Geometric(1).event("1/2"), "sensitivity")
    refused(lambda: AboveThreshold(text, 1), "threshold")
    refused(lambda: Exponential(1).margin(candidates=0), "candidates")
    refused(lambda: KeySelection(1, "0.1").release({"a": half}), "persons")
