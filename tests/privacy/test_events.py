"""Events: what they promise, alone and from samples, and that their JSON is exact, strict and stays as it is."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_strategies import deltas, sizes
from scipy.integrate import quad
from scipy.stats import norm

from cases import all_cases, some_examples
from giveortake import codec
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    Neighbours,
    PureDP,
    RenyiDP,
    Unit,
    events,
    unit,
)
from giveortake.privacy.events import Event, amplified, sampled_gaussian_divergence

GOLDEN = json.loads((Path(__file__).parent / "golden" / "events.json").read_text(encoding="utf-8"))

ONE_OF_EACH: list[tuple[Event, Guarantee]] = [
    (events.Pure("0.1"), PureDP("0.1")),
    (events.Approx("0.5", "1e-6"), ApproxDP("0.5", "1e-6")),
    (events.ZCDP("0.125"), ZCDP("0.125")),
    (events.Laplace(10), PureDP("0.1")),
    (events.Gaussian("3.73"), GaussianDP("100/373")),
    (events.Geometric("2.5", 2), PureDP("0.8")),
    (events.DiscreteGaussian(4, 2), ZCDP("0.125")),
    (events.Exponential("0.2"), PureDP("0.2")),
    (events.RandomizedResponse(1, 4), PureDP(1)),
    (events.DiscoveredKeys("0.1", "1e-8"), ApproxDP("0.1", "1e-8")),
    (events.AboveThreshold("0.25"), PureDP("0.25")),
    (events.Composed([events.Laplace(4), events.Exponential("0.25")]), PureDP("0.5")),
    (events.Repeated(events.Gaussian(3), 9), GaussianDP(1)),
    (events.Parallel([events.Pure("0.1"), events.Pure("0.3")], touched=2), PureDP("0.4")),
    (events.Subsampled(events.Pure(1), 1), PureDP(1)),
    (events.GaussianKeys(5, "1e-8"), ApproxDP(GaussianDP("0.2").epsilon_at("1e-8"), "2e-8")),
]

simple = st.one_of(
    st.builds(events.Laplace, sizes),
    st.builds(events.Gaussian, sizes),
    st.builds(events.Geometric, sizes, st.integers(1, 100)),
    st.builds(events.Approx, sizes, deltas),
    st.builds(events.RandomizedResponse, sizes, st.integers(2, 9)),
)
nested: st.SearchStrategy[Event] = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(events.Composed, st.lists(inner, min_size=1, max_size=3)),
        st.builds(events.Repeated, inner, st.integers(1, 10**6)),
        st.builds(events.Parallel, st.lists(inner, min_size=1, max_size=3), st.integers(1, 3)),
        st.builds(
            events.Subsampled, inner, st.fractions(Fraction(1, 9), 1), st.sampled_from(["poisson", "fixed-size"])
        ),
    ),
    max_leaves=8,
)


@all_cases(("event", "promise"), ONE_OF_EACH)
def test_each_event_makes_its_promise_to_the_unit_that_is_asked_for(event: Event, promise: Guarantee) -> None:
    assert event.guarantee() == promise
    assert event.guarantee(unit=unit("user_id")).unit == unit("user_id")


@all_cases(("event", "content"), list(zip([event for event, _ in ONE_OF_EACH], GOLDEN, strict=True)))
def test_the_json_of_every_kind_stays_what_it_was(event: Event, content: dict[str, Any]) -> None:
    assert codec.write(event) == content
    assert codec.read(Event, content) == event


@settings(max_examples=80, deadline=None)
@given(nested)
def test_json_makes_the_same_event_again(event: Event) -> None:
    again = codec.value_of(Event, codec.text_of(event))
    assert again == event
    assert hash(again) == hash(event)
    assert codec.text_of(again) == codec.text_of(event)


def test_the_range_of_the_exponential_mechanism_makes_it_four_times_as_concentrated() -> None:
    event = events.Exponential("0.4")
    assert event.concentrated() == ZCDP("0.02")
    assert event.concentrated().rho * 4 == event.guarantee().concentrated().rho


def test_parts_are_restated_before_they_are_added() -> None:
    mixed = events.Composed([events.Laplace(10), events.Laplace(10), events.DiscreteGaussian(2, 1)])
    assert mixed.guarantee() == ZCDP(Fraction(2, 200) + Fraction(1, 8))


def test_parallel_events_are_refused_under_change_one() -> None:
    with pytest.raises(Unprovable, match="change-one"):
        events.Parallel([events.Pure(1)]).guarantee(neighbours="change-one")


def rewritten(**changes: Any) -> str:
    content: dict[str, Any] = {"kind": "geometric", "scale": "5/2", "sensitivity": 2}
    content |= changes
    return json.dumps({key: value for key, value in content.items() if value != "absent"})


@all_cases(
    "changes",
    [
        {"kind": "telepathy"},
        {"kind": None},
        {"kind": ["geometric"]},
        {"kind": "absent"},
        {"scale": "absent"},
        {"extra": 1},
        {"scale": "2.5"},
        {"scale": 2.5},
        {"scale": 2},
        {"scale": "10/4"},
        {"scale": "05/2"},
        {"scale": "5/0"},
        {"scale": "five"},
        {"scale": "nan"},
        {"scale": "poisson"},
        {"scale": "-5/2"},
        {"scale": "0/1"},
        {"scale": " 5/2"},
        {"scale": "٥/2"},
        {"scale": None},
        {"scale": True},
        {"scale": []},
        {"scale": {"kind": "pure", "epsilon": "1/1"}},
        {"scale": "1/" + "7" * 301},
        {"sensitivity": "2/1"},
        {"sensitivity": 2.0},
        {"sensitivity": True},
        {"sensitivity": 0},
        {"sensitivity": -3},
    ],
)
def test_anything_unknown_missing_or_inexact_is_refused(changes: dict[str, Any]) -> None:
    assert codec.value_of(Event, rewritten()) == events.Geometric("5/2", 2)
    with pytest.raises(InvalidParameter):
        codec.value_of(Event, rewritten(**changes))


@all_cases(
    "text",
    [
        "",
        "null",
        "[]",
        "3",
        '"pure"',
        "{",
        "NaN",
        '{"kind": "pure", "epsilon": NaN}',
        '{"kind": "pure", "epsilon": "1/2", "epsilon": "1/1"}',
        '{"kind": "composed", "events": []}',
        '{"kind": "composed", "events": [1]}',
        '{"kind": "composed", "events": {"kind": "pure", "epsilon": "1/1"}}',
        '{"kind": "repeated", "of": "1/1", "times": 2}',
        '{"kind": "geometric", "scale": "1/1", "sensitivity": 1' + "0" * 5000 + "}",
        "[" * 100_000,
        '{"kind": "repeated", "times": 1, "of": ' * 2000,
        None,
        b"{}",
        {"kind": "pure"},
    ],
)
def test_text_that_is_no_event_is_refused(text: Any) -> None:
    with pytest.raises(InvalidParameter):
        codec.value_of(Event, text)


def test_events_nest_to_a_limit_and_then_refuse() -> None:
    event: Event = events.Laplace(1)
    while event.depth < 32:
        event = events.Repeated(event, 1)
    assert codec.value_of(Event, codec.text_of(event)) == event
    assert event.guarantee() == PureDP(1)
    with pytest.raises(InvalidParameter, match="deeper than 32"):
        events.Composed([event])


@all_cases("levels", [33, 100, 330, 900, 5000])
def test_json_that_nests_deeper_is_refused_before_it_exhausts_the_stack(levels: int) -> None:
    before, core = '{"kind": "repeated", "times": 1, "of": ', codec.text_of(events.Laplace(1))
    assert codec.value_of(Event, before * 31 + core + "}" * 31).depth == 32
    with pytest.raises(InvalidParameter):
        codec.value_of(Event, before * levels + core + "}" * levels)


@all_cases("value", [0, -1, True, None, "nan", "1e400", [1], Fraction(1, 3**6000)])
@all_cases(
    "make",
    [
        events.Pure,
        events.ZCDP,
        events.Laplace,
        events.Gaussian,
        events.Exponential,
        events.AboveThreshold,
        lambda value: events.Approx(1, value),
        lambda value: events.DiscoveredKeys(1, value),
        lambda value: events.Geometric(value, 1),
        lambda value: events.Geometric(1, value),
        lambda value: events.DiscreteGaussian(value, 1),
        lambda value: events.DiscreteGaussian(1, value),
        lambda value: events.RandomizedResponse(value, 2),
        lambda value: events.RandomizedResponse(1, value),
        lambda value: events.Repeated(events.Pure(1), value),
        lambda value: events.Repeated(value, 2),
        lambda value: events.Parallel([events.Pure(1)], value),
        lambda value: events.Subsampled(events.Pure(1), value),
        lambda value: events.Subsampled(value, "0.1"),
        lambda value: events.Subsampled(events.Pure(1), "0.1", value),
        events.Composed,
        lambda value: events.Composed([value]),
    ],
)
def test_bad_fields_are_refused_at_construction(make: Any, value: Any) -> None:
    with pytest.raises(InvalidParameter):
        make(value)


def test_a_number_too_long_to_be_written_down_is_not_kept() -> None:
    with pytest.raises(InvalidParameter, match="digits"):
        events.Pure(1 + Fraction(1, 3**6000))


def test_randomized_response_needs_two_categories() -> None:
    with pytest.raises(InvalidParameter, match="categories"):
        events.RandomizedResponse(1, 1)


@all_cases("event", [event for event, _ in ONE_OF_EACH])
def test_events_are_frozen_slotted_values(event: Event) -> None:
    assert not hasattr(event, "__dict__")
    for field in fields(event):
        with pytest.raises(FrozenInstanceError):
            setattr(event, field.name, 1)


def test_an_event_of_a_foreign_kind_equals_itself_only() -> None:
    class Foreign(Event):
        kind = "foreign"

        def __init__(self, epsilon: int) -> None:
            object.__setattr__(self, "epsilon", epsilon)

        def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
            return PureDP(1, unit=unit, neighbours=neighbours)

    small, large = Foreign(1), Foreign(50)
    assert small != large
    assert len({small, large}) == 2


rates = st.fractions(Fraction(1, 50), 1, max_denominator=50)
sizes = st.fractions(Fraction(1, 50), 5, max_denominator=50)


@some_examples
@given(sizes, rates)
def test_sampled_randomized_response_attains_the_amplified_epsilon(epsilon: Fraction, rate: Fraction) -> None:
    """Present with probability q: P = qR + (1−q)R′ against Q = R′; the largest ratio is 1 + q(e^ε − 1)."""
    grown = math.exp(epsilon)
    with_it, without = grown / (1 + grown), 1 / (1 + grown)
    ratio = (float(rate) * with_it + float(1 - rate) * without) / without
    promise = events.Subsampled(events.Pure(epsilon), rate).guarantee()
    assert isinstance(promise, PureDP)
    assert float(promise.epsilon) == pytest.approx(math.log(ratio), rel=1e-9)
    assert promise.epsilon <= epsilon


@some_examples
@given(sizes, rates)
def test_amplified_epsilons_are_rounded_up_and_grow_with_the_rate(epsilon: Fraction, rate: Fraction) -> None:
    assert amplified(epsilon, rate) <= amplified(epsilon, min(Fraction(1), rate * 2))
    assert amplified(epsilon, Fraction(1)) >= epsilon * (1 - Fraction(1, 2**50))
    assert amplified(epsilon, rate) >= rate * epsilon  # ln(1 + q(e^ε − 1)) is concave in q


def test_delta_shrinks_by_the_rate() -> None:
    promise = events.Subsampled(events.Approx(1, "1e-6"), "0.01").guarantee()
    assert isinstance(promise, ApproxDP)
    assert promise.delta == Fraction(1, 10**8)
    assert float(promise.epsilon) == pytest.approx(math.log1p(0.01 * math.expm1(1)), rel=1e-12)


def test_huge_epsilons_are_amplified_without_overflow() -> None:
    assert float(amplified(Fraction(5000), Fraction(1, 100))) == pytest.approx(5000 - math.log(100))


@all_cases(("rate", "sigma", "order"), [(0.01, 1.0, 2), (0.1, 2.0, 8), (0.5, 0.7, 3), (0.3, 4.0, 32)])
def test_the_divergence_of_sampled_gaussian_noise_is_that_of_the_mixture(rate: float, sigma: float, order: int) -> None:
    """∫ Q (P/Q)^α, and not less than the other way round."""

    def moment(x: float, way: int) -> float:
        ratio = rate * math.exp((2 * x - 1) / (2 * sigma**2)) + 1 - rate
        base = norm.pdf(x, 0, sigma)
        return float(base * ratio**order) if way > 0 else float(base * ratio ** (1 - order))

    stated = float(sampled_gaussian_divergence(1 / Fraction(sigma), Fraction(rate), order))
    ends = (-12 * sigma, order + 12 * sigma)
    one, other = (math.log(quad(moment, *ends, args=(way,), limit=500)[0]) / (order - 1) for way in (1, -1))
    assert stated == pytest.approx(one, rel=1e-6)
    assert stated >= other * (1 - 1e-9)


def test_sampled_gaussian_noise_promises_a_renyi_curve_that_composes() -> None:
    step = events.Subsampled(events.Gaussian(1), "0.01")
    promise = step.guarantee()
    assert isinstance(promise, RenyiDP)
    assert events.Repeated(step, 10).guarantee() == promise.repeat(10)


@all_cases(
    ("event", "neighbours"),
    [
        (events.Subsampled(events.Pure(1), "0.1"), "change-one"),
        (events.Subsampled(events.Pure(1), "0.1", "fixed-size"), "add-remove"),
        (events.Subsampled(events.Gaussian(1), "0.1", "fixed-size"), "change-one"),
        (events.Subsampled(events.ZCDP(1), "0.1"), "add-remove"),
        (events.Subsampled(events.Subsampled(events.Gaussian(1), "0.1"), "0.1"), "add-remove"),
    ],
)
def test_what_has_no_theorem_is_refused(event: Event, neighbours: str) -> None:
    with pytest.raises(Unprovable):
        event.guarantee(neighbours=neighbours)  # type: ignore[arg-type]


def test_fixed_size_samples_amplify_under_change_one() -> None:
    event = events.Subsampled(events.Laplace(1), "0.1", "fixed-size")
    assert event.guarantee(neighbours="change-one") == PureDP(
        amplified(Fraction(1), Fraction(1, 10)), neighbours="change-one"
    )


@all_cases("rate", [0, -1, "1.1", "nan", None, True])
def test_rates_that_are_none_are_refused(rate: object) -> None:
    with pytest.raises(InvalidParameter):
        events.Subsampled(events.Pure(1), rate)  # type: ignore[arg-type]


@all_cases("scheme", ["bernoulli", "", "1/2", "Poisson", 3, None])
def test_schemes_that_are_none_are_refused_in_json_too(scheme: object) -> None:
    content = codec.write(events.Subsampled(events.Pure(1), "1/2"))
    assert codec.read(Event, content) == events.Subsampled(events.Pure(1), "0.5")
    with pytest.raises(InvalidParameter):
        codec.read(Event, content | {"scheme": scheme})
