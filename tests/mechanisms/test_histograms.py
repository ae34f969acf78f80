"""Histograms, discovered keys, key selection and randomized response."""

from __future__ import annotations

import datetime
import itertools
import math
from collections import defaultdict
from decimal import Decimal
from enum import Enum
from fractions import Fraction as F
from itertools import product
from math import prod
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import giveortake as gt
import laws
from cases import all_cases, some_examples
from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import (
    DiscoveredHistogram,
    Histogram,
    KeySelection,
    Laplace,
    RandomizedResponse,
    Sensitive,
    WeightedKeys,
)
from giveortake.mechanisms.histogram import counts_of, discovered_counts
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.mechanisms.partition_selection import weights
from giveortake.privacy import ApproxDP, GaussianDP, PureDP, events
from recorded_entropy import RecordedEntropy
from statistics_of_draws import ALPHA

SLACK = F(1, 10**40)


def test_a_histogram_costs_its_sensitivity_under_both_relations() -> None:
    histogram = Histogram(["a", "b"], scale=10)
    assert histogram.event(1).guarantee() == PureDP("0.1")
    assert histogram.event(2).guarantee(neighbours="change-one") == PureDP("0.2", neighbours="change-one")


@all_cases("counts", [2, 10, 1000])
def test_splitting_the_budget_over_k_counts_costs_k_times_the_noise_of_one_histogram(counts: int) -> None:
    """[PDP21], exercises 1.4 and 1.5: k counts of sensitivity 1 at ε/k each, or one histogram of sensitivity 2."""
    epsilon = F(1, 2)
    apart = Laplace(1 / (epsilon / counts))
    together = Histogram(range(counts), 2 / epsilon)
    assert apart.event(1).guarantee().repeat(counts) == together.event(2).guarantee() == PureDP(epsilon)
    assert apart.scale / together.scale == F(counts, 2)


@pytest.mark.statistical
@all_cases(("neighbours", "scale"), [("add-remove", F(2)), ("change-one", F(4))])
@all_cases(("claim", "plausible"), [(F(1), True), (F(7, 10), False), (F(13, 10), False)])
def test_histogram_noise_has_the_scale_that_the_relation_asks_for(
    neighbours: gt.privacy.Neighbours, scale: F, claim: F, plausible: bool
) -> None:
    categories = range(20_000)
    released = gt.histogram([], categories=categories, epsilon="1/2", neighbours=neighbours)
    law = laws.rounded_laplace(scale * claim)
    assert list(released) == list(categories)
    assert laws.looks_like(np.array(list(released.values())), lambda k: float(law(k))) is plausible


@all_cases(
    "values",
    [
        ["a", "b", "a", None, "z", float("nan")],
        np.array(["a", "b", "a", "z"]),
        pl.Series(["a", "b", "a", None, "z"]),
        pd.Series(["a", "b", "a", None, "z"]),
        pa.array(["a", "b", "a", None, "z"]),
        ("a", "b", "a", ["unhashable"]),
    ],
    ids=["list", "numpy", "polars", "pandas", "arrow", "unhashable"],
)
def test_rows_are_counted_from_any_column_and_strangers_count_nowhere(values: Any) -> None:
    assert counts_of(values, ("a", "b", "c")).tolist() == [2, 1, 0]


def exceeding(first: dict[str, int], second: dict[str, int], mechanism: DiscoveredHistogram, epsilon: F) -> F:
    """δ(ε) between the releases of two tables, by enumeration; counts far in the tail are one outcome."""
    law, beyond = laws.rounded_laplace(mechanism.scale), mechanism.threshold + 25

    def outcomes(count: int) -> list[F]:
        """The probabilities of every shown count, of the tail, and of not being shown."""
        if count == 0:
            return [F(0)] * (beyond - mechanism.threshold) + [F(0), F(1)]
        shown = [law(m - count) for m in range(mechanism.threshold, beyond)]
        tail = exact.exp_up(-(beyond - count - F(1, 2)) / mechanism.scale) / 2
        return [*shown, tail, 1 - sum(shown) - tail]

    keys = sorted(first.keys() | second.keys())
    pairs = [list(zip(outcomes(first.get(k, 0)), outcomes(second.get(k, 0)), strict=True)) for k in keys]
    factor = exact.exp_up(epsilon)
    gaps = (prod(p for p, _ in cell) - factor * prod(q for _, q in cell) for cell in product(*pairs))
    return sum((gap for gap in gaps if gap > 0), F(0))


@all_cases("epsilon", [F(1), F(3)])
@all_cases("delta", [F(1, 100), F(1, 10)])
@all_cases(
    ("first", "second", "sensitivity"),
    [
        ({"escargots": 1}, {}, 1),
        ({"a": 2}, {"a": 1}, 1),
        ({"a": 1}, {"b": 1}, 2),
        ({"a": 2}, {"a": 1, "b": 1}, 2),
        ({"a": 4, "b": 4}, {"a": 3, "b": 5}, 2),
    ],
)
def test_a_thresholded_histogram_keeps_epsilon_and_delta_on_every_set_of_outcomes(
    epsilon: F, delta: F, first: dict[str, int], second: dict[str, int], sensitivity: int
) -> None:
    mechanism = DiscoveredHistogram.calibrated(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    charged = mechanism.event(sensitivity)
    assert charged.epsilon == epsilon
    assert charged.delta <= delta
    for one, other in ((first, second), (second, first)):
        assert exceeding(one, other, mechanism, epsilon) <= charged.delta + SLACK


def test_more_lone_values_need_a_higher_threshold_and_are_charged() -> None:
    three = DiscoveredHistogram.calibrated(epsilon=1, delta="1e-6", sensitivity=3)
    assert three.event(3).delta <= F(1, 10**6)
    assert three.event(3).delta == 3 * three.lone_value_chance()
    assert three.event(3, lone_values=1).delta == three.lone_value_chance()
    assert three.event(3, lone_values=10**6).delta == 10**6 * three.lone_value_chance()


def test_a_person_who_changes_keys_costs_key_selection_twice() -> None:
    selection = KeySelection(1, "1e-3")
    changed = selection.event(2).guarantee(neighbours="change-one")
    assert changed == ApproxDP(1, "1e-3").under("change-one")
    with exact.precision():
        shown = {n: exact.upper(selection.chance(n)) for n in (6, 7)}
    outcomes = [(a, b) for a in (True, False) for b in (True, False)]

    def chance(first: int, second: int, outcome: tuple[bool, bool]) -> F:
        return F(prod(shown[n] if kept else 1 - shown[n] for n, kept in zip((first, second), outcome, strict=True)))

    factor = exact.exp_up(F(2))
    spent = sum(max(F(0), chance(7, 6, outcome) - factor * chance(6, 7, outcome)) for outcome in outcomes)
    assert spent <= changed.delta_at(2)


@all_cases(("epsilon", "delta"), [(F(1), F(1, 10**6)), (F(1, 10), F(1, 10**8)), (F(5), F(3, 4))])
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: F, delta: F) -> None:
    mechanism = DiscoveredHistogram.calibrated(epsilon=epsilon, delta=delta)
    assert mechanism.lone_value_chance() <= delta
    if mechanism.threshold > 2:
        assert DiscoveredHistogram(mechanism.scale, mechanism.threshold - 1).lone_value_chance() > delta


@pytest.mark.statistical
def test_a_lone_value_is_shown_as_often_as_charged_at_equality_too(entropy: RecordedEntropy) -> None:
    mechanism = DiscoveredHistogram(scale=2, threshold=5)
    shown = np.array([bool(mechanism.release(["escargots"], entropy)) for _ in range(10_000)]).astype(int)
    for off_by, plausible in ((0, True), (1, False), (-1, False)):
        chance = float(DiscoveredHistogram(scale=2, threshold=5 + off_by).lone_value_chance())
        law = defaultdict(float, {0: 1 - chance, 1: chance})
        assert laws.looks_like(shown, law.__getitem__) is plausible


def test_the_order_and_the_kind_of_equal_rows_leave_no_trace() -> None:
    rows = [True] * 50 + [1] * 50 + [1.0] * 50 + [0.0] * 50 + [-0.0] * 3 + [2.5] + [Decimal("1.0")] * 2
    for arranged in (rows, rows[::-1]):
        kinds = [(type(key), repr(key), count) for key, count in discovered_counts(arranged)]
        assert kinds == [
            (Decimal, "Decimal('1.0')", 2),
            (bool, "True", 50),
            (float, "2.5", 1),
            (int, "0", 53),
            (int, "1", 100),
        ]


@all_cases("strange", [True, 1.0, Decimal(1), np.float64(1), (1,), None, float("nan"), [1]])
def test_one_strange_row_cannot_choose_how_a_frequent_value_is_shown(strange: Any) -> None:
    for rows in ([strange] + [1] * 5000, pd.Series([strange] + [1] * 5000)):
        released = gt.histogram(rows, epsilon=1, delta="1e-9")
        assert [type(key) for key in released] == [int]


@all_cases(
    "row",
    [
        10**5000,
        -(10**5000),
        Decimal("sNaN"),
        Decimal("1e999999"),
        ("x", [1]),
        float("inf"),
        pd.NA,
        pd.NaT,
        {1},
    ],
    ids=["long", "negative", "sNaN", "huge", "unhashable", "infinite", "NA", "NaT", "set"],
)
def test_no_row_can_make_a_histogram_fail(row: Any) -> None:
    nested: Any = row
    for _ in range(2000):
        nested = (nested,)
    for rows in (["a", row], [row, "a"], [nested, "a"], [(row,), "a"]):
        assert ("a", 1) in discovered_counts(rows)
        assert counts_of(rows, ("a", "b")).tolist() == [1, 0]


class Colour(Enum):
    RED = 1
    BLUE = 2


def test_columns_of_every_usual_kind_are_discovered() -> None:
    days = pd.Series(pd.to_datetime(["2024-01-01"] * 500 + [None]))
    assert list(gt.histogram(days, epsilon=1, delta="1e-6")) == [datetime.datetime(2024, 1, 1)]
    assert list(gt.histogram(days.dt.to_period("M"), epsilon=1, delta="1e-6")) == ["2024-01"]
    assert len(gt.histogram(pd.cut(pd.Series(range(900)), 3), epsilon=1, delta="1e-6")) == 3
    assert list(gt.histogram([Colour.RED] * 500, epsilon=1, delta="1e-6")) == [Colour.RED]
    key = UUID(int=5)
    assert list(gt.histogram([key] * 500, epsilon=1, delta="1e-6")) == [key]
    assert list(gt.histogram(pl.Series([1, None] * 500), epsilon=1, delta="1e-6")) == [1]


def test_times_whose_zones_merely_print_alike_are_not_merged() -> None:
    class Zone(datetime.tzinfo):
        def utcoffset(self, _: datetime.datetime | None) -> datetime.timedelta:
            return datetime.timedelta(hours=1)

        def dst(self, _: datetime.datetime | None) -> None:
            return None

        def tzname(self, _: datetime.datetime | None) -> str:
            return "somewhere"

        def __repr__(self) -> str:
            return "Zone"

    moment = datetime.datetime(2024, 1, 1, tzinfo=Zone())
    known = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    assert discovered_counts([moment, known]) == [(known, 1)]


def test_dates_tuples_and_missing_values_in_discovered_histograms() -> None:
    day = datetime.date(2020, 2, 29)
    rows = [day] * 3000 + [("a", 1)] * 2000 + [None] * 4000 + [float("nan")] * 4000 + [{"no": "key"}] * 4000
    assert list(gt.histogram(rows, epsilon=1, delta="1e-9")) == [day, ("a", 1)]


def test_rare_values_stay_hidden_and_frequent_ones_are_shown_greatest_first() -> None:
    released = gt.histogram(["b"] * 500 + ["a"] * 900 + ["rare"], epsilon=1, delta="1e-9")
    assert list(released) == ["a", "b"]


def test_the_values_of_optimal_key_selection() -> None:
    selection = KeySelection(epsilon=F("0.693147180559945309417232121458176568"), delta="0.1")
    with exact.precision():
        chances = [float(exact.upper(selection.chance(n))) for n in range(7)]
    assert chances == pytest.approx([0, 0.1, 0.3, 0.7, 0.9, 1, 1], abs=1e-12)


@some_examples
@given(st.sampled_from(["0.01", "0.3", "1", "2.5"]), st.sampled_from(["1e-9", "1e-3", "0.2", "0.9"]))
def test_key_selection_follows_its_recursion_and_keeps_its_promise(epsilon: str, delta: str) -> None:
    selection = KeySelection(epsilon, delta)
    growth, chance = exact.exp_up(F(epsilon)), F(0)
    for n in range(1, 400):
        step = min(growth * chance + F(delta), 1 - (1 - chance - F(delta)) / growth, F(1))
        with exact.precision():
            closed = exact.probability_up(selection.chance(n))
        assert abs(closed - step) < F(1, 10**35)
        assert step <= growth * chance + F(delta)
        assert 1 - chance <= growth * (1 - step) + F(delta) + SLACK
        chance = closed if n % 50 == 0 else step


@pytest.mark.statistical
@all_cases(("persons", "plausible"), [(3, True), (2, False), (4, False)])
def test_keys_are_selected_as_often_as_stated(persons: int, plausible: bool, entropy: RecordedEntropy) -> None:
    selection = KeySelection("0.7", "0.05")
    kept = len(selection.release({f"key {i}": 3 for i in range(20_000)}, entropy))
    with exact.precision():
        chance = float(exact.upper(selection.chance(persons)))
    coins = np.repeat([1, 0], [kept, 20_000 - kept])
    assert laws.looks_like(coins, lambda k: {0: 1 - chance, 1: chance}.get(k, 0.0)) is plausible


@all_cases("confidence", ["0.05", "0.5", "0.95", "0.999"])
def test_the_margin_of_key_selection_is_the_least_number_of_persons(confidence: str) -> None:
    selection = KeySelection("0.3", "1e-4")
    needed = selection.margin(confidence)
    with exact.precision():
        assert exact.lower(selection.chance(needed)) >= F(confidence)
        assert exact.upper(selection.chance(needed - 1)) < F(confidence)


def test_key_selection_copes_with_the_smallest_epsilon_and_with_empty_keys() -> None:
    selection = KeySelection("1e-300", "1e-9")
    assert selection.release({"everyone": 2 * 10**9, "someone": 1, "nobody": 0}) == ["everyone"]
    assert 9 * 10**8 < selection.margin("0.95") < 10**9


@all_cases("categories", [2, 3, 10])
@all_cases("epsilon", [F(1, 10), F(1), F(4)])
def test_randomized_response_attains_exactly_its_epsilon(categories: int, epsilon: F) -> None:
    response = RandomizedResponse(epsilon, range(categories))
    with exact.precision():
        truth = response.truth()
        ratio = truth / ((1 - truth) / (categories - 1))
        assert exact.lower(ratio) <= exact.exp_up(epsilon)
        assert exact.upper(ratio) >= exact.exp_down(epsilon)
        assert exact.upper(ratio) - exact.lower(ratio) < F(1, 10**40)
    assert response.event() == events.RandomizedResponse(epsilon, categories)
    assert response.event().guarantee() == PureDP(epsilon)


def test_at_epsilon_ln_3_three_answers_in_four_are_true() -> None:
    with exact.precision():
        assert float(exact.upper(RandomizedResponse(exact.log_up(F(3))).truth())) == 0.75


@pytest.mark.statistical
@all_cases(("claim", "plausible"), [(1.0, True), (0.7, False), (1.3, False)])
@all_cases("categories", [(False, True), ("a", "b", "c", "d")])
def test_reports_have_the_stated_law_and_a_wrong_epsilon_is_caught(
    claim: float, plausible: bool, categories: tuple[object, ...], entropy: RecordedEntropy
) -> None:
    reports = RandomizedResponse(1, categories).release([categories[1]] * 30_000, entropy).tolist()
    codes = np.array([categories.index(report) for report in reports])
    lie = 1 / (np.exp(claim) + len(categories) - 1)
    law = {k: lie if k != 1 else np.exp(claim) * lie for k in range(len(categories))}
    assert laws.looks_like(codes, lambda k: float(law.get(k, 0.0))) is plausible


@all_cases(
    "answers",
    [["no", "yes"], ("no", "yes"), np.array(["no", "yes"]), pl.Series(["no", "yes"]), pd.Series(["no", "yes"])],
    ids=["list", "tuple", "numpy", "polars", "pandas"],
)
def test_columns_of_answers_come_back_as_arrays(answers: object) -> None:
    reports = gt.randomized_response(answers, epsilon=100, categories=["yes", "no"])
    assert isinstance(reports, np.ndarray)
    assert reports.tolist() == ["no", "yes"]


def test_reports_keep_their_python_types() -> None:
    assert gt.randomized_response(True, epsilon=100) is True
    assert gt.randomized_response(np.True_, epsilon=100) is True
    assert gt.randomized_response([True, False], epsilon=100).dtype == np.bool_
    assert gt.randomized_response(3, epsilon=100, categories=[1, 2, 3]) == 3


@all_cases(
    ("answer", "categories", "name"),
    [
        ("maybe", ["yes", "no"], "answer"),
        (["yes", None], ["yes", "no"], "answer"),
        ([["yes"]], ["yes", "no"], "answer"),
        ("yes", ["yes", "yes"], "categories"),
        ("yes", ["yes"], "categories"),
        ("yes", [], "categories"),
        ("yes", "yes", "categories"),
        ("yes", ["yes", None], "categories"),
        ("yes", ["yes", float("nan")], "categories"),
        ("yes", ["yes", []], "categories"),
    ],
)
def test_answers_and_categories_that_cannot_be_are_refused(answer: object, categories: list[str], name: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        gt.randomized_response(answer, epsilon=1, categories=categories)
    assert caught.value.name == name


def test_estimates_from_reports_stay_within_the_margin(entropy: RecordedEntropy) -> None:
    response = RandomizedResponse(1)
    truth = float(np.e / (1 + np.e))
    misses = 0
    for _ in range(200):
        reports = response.release([True] * 300 + [False] * 700, entropy)
        estimate = (reports.mean() - (1 - truth)) / (2 * truth - 1)
        misses += abs(estimate - 0.3) > response.margin("0.8", answers=1000)
    assert misses <= 40 + 6 * np.sqrt(200 * 0.2 * 0.8)


def test_a_discovered_histogram_needs_delta_and_a_known_one_refuses_it() -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        gt.histogram(["a"], epsilon=1)
    with pytest.raises(InvalidParameter, match="delta"):
        gt.histogram(["a"], categories=["a"], epsilon=1, delta="1e-6")
    assert DiscoveredHistogram.calibrated(epsilon=1, delta="1e-6").event().guarantee().epsilon == 1
    assert isinstance(DiscoveredHistogram.calibrated(epsilon=1, delta="1e-6").event().guarantee(), ApproxDP)


def test_noise_of_a_histogram_is_the_laplace_mechanisms() -> None:
    assert Histogram(["a"], 7).margin("0.9") == Laplace(7).margin("0.9") == DiscoveredHistogram(7, 9).margin("0.9")


phi = stats.norm.cdf


@some_examples
@given(st.integers(10, 10**9), st.integers(1, 100))
def test_weights_are_the_greatest_whole_numbers_within_the_length(length: int, degree: int) -> None:
    found = weights(length, degree)
    assert len(found) == degree
    for keys, weight in enumerate(found, 1):
        assert keys * weight**2 <= length**2 < keys * (weight + 1) ** 2


@all_cases(("length", "degree"), [(1, 1), (1 << 16, 50), (1000, 100), (1 << 16, 3)])
@all_cases(("mu", "delta"), [("0.2", "1e-7"), ("2", "1e-3"), ("0.01", "1e-12")])
def test_the_threshold_is_the_least_that_hides_every_number_of_lone_keys(
    length: int, degree: int, mu: str, delta: str
) -> None:
    found = WeightedKeys.calibrated(mu=mu, delta=delta, length=length, degree=degree)
    assert found.sigma == length / F(mu)

    def chance(threshold: int) -> float:
        tails = [stats.norm.sf((threshold - 0.5 - w) / float(found.sigma)) for w in weights(length, degree)]
        return max(-math.expm1(t * math.log1p(-tail)) for t, tail in enumerate(tails, 1))

    assert chance(found.threshold) <= float(delta) * (1 + 1e-9)
    assert chance(found.threshold - 1) > float(delta) or found.threshold == length + 1
    assert found.event().delta <= F(delta)
    assert float(found.event().delta) == pytest.approx(chance(found.threshold), rel=1e-9)


def test_a_changed_unit_moves_weights_by_the_root_of_two_and_costs_the_same_delta() -> None:
    added = WeightedKeys.calibrated(mu=1, delta="1e-6", length=100, degree=4)
    assert added.event() == events.GaussianKeys(1, added.event().delta)
    assert added.event(2).delta == added.event().delta
    assert float(1 / added.event(2).noise_multiplier) == pytest.approx(math.sqrt(2))
    changed = WeightedKeys.calibrated(mu=1, delta="1e-6", length=100, degree=4, sensitivity=2)
    assert 1 / changed.event(2).noise_multiplier <= 1
    assert changed.event(2).delta <= F(1, 10**6)
    for wrong in (0, 3, F(3, 2)):
        with pytest.raises(InvalidParameter, match="sensitivity"):
            added.event(wrong)


@all_cases("wrong", [{"length": 2, "degree": 5}, {"threshold": 100}, {"sigma": 0}, {"degree": 0}])
def test_weights_that_leave_nothing_and_thresholds_below_one_person_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        WeightedKeys(**({"sigma": 5, "threshold": 1000, "length": 100, "degree": 4} | wrong))


# -- the promise, on every pair of tables of three keys --------------------------------------------------------------

KEYS, DEGREE, LENGTH = 3, 3, 4
PERSONS = [frozenset(held) for size in range(1, 4) for held in itertools.combinations(range(KEYS), size)]


def weight_of(table: list[frozenset[int]]) -> list[int]:
    given_away = weights(LENGTH, DEGREE)
    return [sum(given_away[len(person) - 1] for person in table if key in person) for key in range(KEYS)]


def law(mechanism: WeightedKeys, table: list[frozenset[int]]) -> npt.NDArray[np.float64]:
    """The chance of every outcome: of each key nothing, or its noisy weight, of which the farthest are one."""
    sigma, least = float(mechanism.sigma), mechanism.threshold
    cuts = np.arange(least, least + 40) - 0.5
    sides = []
    for key, weight in enumerate(weight_of(table)):
        below = phi((cuts - weight) / sigma)
        if not any(key in person for person in table):
            below = np.ones_like(below)  # what does not occur is not shown
        sides.append(np.diff(np.concatenate([[0.0], below, [1.0]])))
    joint: npt.NDArray[np.float64] = np.einsum("i,j,k->ijk", *sides)
    return joint


def true_delta(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def promised_delta(event: events.GaussianKeys, epsilon: float) -> float:
    mu = 1 / float(event.noise_multiplier)
    return float(phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)) + float(event.delta)


def excess(mechanism: WeightedKeys, one: list[frozenset[int]], other: list[frozenset[int]], sensitivity: int) -> float:
    """How far the true δ(ε) exceeds what is promised, at the worst ε."""
    event = mechanism.event(sensitivity)
    p, q = law(mechanism, one), law(mechanism, other)
    return max(true_delta(p, q, epsilon) - promised_delta(event, epsilon) for epsilon in (0.0, 0.3, 1.0, 2.0, 4.0))


def pairs(sensitivity: int) -> list[tuple[list[frozenset[int]], list[frozenset[int]]]]:
    bases: list[list[frozenset[int]]] = [[], [PERSONS[0]], [PERSONS[6], PERSONS[3]]]
    found = []
    for base, person in itertools.product(bases, PERSONS):
        others = [[*base, other] for other in PERSONS if other != person] if sensitivity == 2 else [base]
        found += [([*base, person], other) for other in others]
    return found


@all_cases("sensitivity", [1, 2])
def test_no_pair_of_small_tables_exceeds_the_promise(sensitivity: int) -> None:
    mechanism = WeightedKeys.calibrated(mu=2, delta="0.01", length=LENGTH, degree=DEGREE, sensitivity=sensitivity)
    found = pairs(sensitivity)
    worst = max(excess(mechanism, *pair, sensitivity) for x, y in found for pair in ((x, y), (y, x)))
    assert worst <= 1e-9


def test_a_threshold_or_a_noise_that_is_too_low_is_caught() -> None:
    sound = WeightedKeys.calibrated(mu=2, delta="0.01", length=LENGTH, degree=DEGREE)
    low = WeightedKeys(sound.sigma, sound.threshold - 3, LENGTH, DEGREE)
    lone = next(x for x, y in pairs(1) if not y and len(x[0]) == 1)
    shown = 1 - law(low, lone)[0, 0, 0]
    assert float(sound.event().delta) < shown <= float(low.event().delta) + 1e-9
    quiet = WeightedKeys(sound.sigma / 2, sound.threshold, LENGTH, DEGREE)
    many = [PERSONS[0]] * 4
    p, q = law(quiet, [*many, PERSONS[0]]), law(quiet, many)
    assert true_delta(p, q, 1.0) > promised_delta(sound.event(), 1.0)
    assert true_delta(p, q, 1.0) <= promised_delta(quiet.event(), 1.0)


# -- drawing ---------------------------------------------------------------------------------------------------------


@pytest.mark.statistical
@all_cases(("claim", "plausible"), [(1.0, True), (0.7, False), (1.3, False)])
def test_keys_are_shown_as_often_as_their_weight_says_and_a_wrong_scale_is_caught(
    claim: float, plausible: bool
) -> None:
    mechanism = WeightedKeys.calibrated(mu="0.2", delta="1e-7", length=1 << 16, degree=50)
    size, weight = 20_000, mechanism.threshold - int(mechanism.sigma)
    found = mechanism.select(Sensitive((list(range(size)), BoundedIntegers.clamped([weight] * size, weight))))
    chance = stats.norm.sf(float((mechanism.threshold - weight - F(1, 2)) / mechanism.sigma) / claim)
    assert bool(stats.binomtest(len(found), size, chance).pvalue >= ALPHA) is plausible
    assert found == sorted(found)


def test_a_release_tells_the_weights_that_are_shown_and_no_other() -> None:
    mechanism = WeightedKeys(2, 20)  # nine deviations above the weight of a few
    found = mechanism.release({"many": 1000, "few": 1, "some": 500})
    assert set(found) == {"many", "some"}
    assert abs(found["many"] - 1000) < 40
    keys, noisy = mechanism.release_with_numbers(Sensitive((["x", "y"], BoundedIntegers.clamped([300, 0], 300))))
    assert keys == ["x"]
    assert abs(noisy[0] - 300) < 40


def test_what_a_promise_says_is_a_point_of_the_curve() -> None:
    event = events.GaussianKeys(5, "1e-8")
    promise = event.guarantee()
    assert promise.delta == F(2, 10**8)
    assert GaussianDP("0.2").delta_at(promise.epsilon) <= F(1, 10**8)
