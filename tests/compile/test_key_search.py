"""Which way keys are found, how the spend is shared, and what the answer says about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.compile import Measurement, Spend, Terms
from giveortake.compile.partition_selection import DEGREE, LENGTH, NoisyCounts, NoisyWeights, OptimalChances, key_delta
from giveortake.compile.spend import charges_of
from giveortake.engines import Persons
from giveortake.exact import sqrt_up
from giveortake.mechanisms import CountedKeys, Gaussian, Laplace
from giveortake.mechanisms.partition_selection import KeyCaps
from giveortake.plan import Derive, Filter, KeepParts
from giveortake.privacy import ApproxDP, Neighbours, gaussian_mu
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from inside import measured

PERSONS = "SELECT k, COUNT(DISTINCT p) AS n FROM t GROUP BY k"
ROWS = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
SUMS = "SELECT k, SUM(x) AS s FROM t GROUP BY k"
BOTH = "SELECT k, COUNT(DISTINCT p) AS n, SUM(x) AS s FROM t GROUP BY k"
MEAN = "SELECT k, AVG(x) AS m FROM t GROUP BY k"
PURE = Spend(epsilon=F(1), keys=F(1, 10**6))
APPROX = Spend(epsilon=F(1), delta=F(1, 10**5), keys=F(1, 10**6))
OTHERS = [APPROX, Spend(rho=F(1, 50), keys=F(1, 10**6)), Spend(mu=F(1, 5), keys=F(1, 10**6))]
GROUPS = [replace(spend, aim="groups") for spend in OTHERS]
VALUES = "SELECT k, COUNT(x) AS n FROM t GROUP BY k"
NUMBERS = "SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY k"


def session(
    unit: Any = "p", neighbours: Neighbours = "add-remove", groups: int = 3, rows: int = 4, delta: str = "1e-3"
) -> Session:
    size = 6000
    table = pl.DataFrame(
        {
            "p": [row // 3 for row in range(size)],
            "k": [f"key {(row * row) % 7}" if row % 50 else f"rare {row}" for row in range(size)],
            "x": [float(row % 5) for row in range(size)],
        }
    )
    caps: dict[str, Any] = {} if unit == gt.ROW else {"groups_per_person": groups, "rows_per_group": rows}
    budget = gt.ApproxDP(10**4, delta, neighbours=neighbours)
    return gt.protect(table, unit=unit, budget=budget, name="t", domains={"x": (0, 8)}, caps=caps)


OPENED: dict[str, Session] = {}


@pytest.fixture(autouse=True, scope="module")
def _closed() -> Iterator[None]:
    yield
    for s in OPENED.values():
        s.close()
    OPENED.clear()


def made(text: str, spend: Spend, **options: Any) -> Measurement:
    """What is measured, by a session that many questions share: nothing is charged."""
    name = repr(sorted(options.items()))
    s = OPENED[name] if name in OPENED else OPENED.setdefault(name, session(**options))
    return measured(s, text, spend)


def told(answer: gt.answers.Answer) -> dict[str, Any]:
    return answer.to_dict()


# -- which way -------------------------------------------------------------------------------------------------------


@all_cases("text", [PERSONS, ROWS, SUMS, BOTH, MEAN])
@all_cases("spend", GROUPS)
def test_many_groups_are_found_by_weights(text: str, spend: Spend) -> None:
    selection = made(text, spend).selection
    assert isinstance(selection, NoisyWeights)
    assert (selection.touched, selection.mechanism.degree, selection.mechanism.length) == (DEGREE, DEGREE, LENGTH)
    assert selection.decides is None


@all_cases(
    ("text", "options", "decides"),
    [
        (PERSONS, {}, (0, "persons", 3, 1, 3)),
        (BOTH, {}, (0, "persons", 3, 1, 3)),
        (ROWS, {"rows": 1}, (0, "persons", 3, 1, 3)),
        (ROWS, {"unit": gt.ROW}, (0, "persons", 1, 1, 1)),
        (ROWS, {}, (0, "rows", 3, 4, 12)),
        (VALUES, {}, (0, "values", 3, 4, 12)),
        (MEAN, {}, (0, "values", 3, 4, 12)),
        (NUMBERS, {}, (0, "rows", 3, 4, 12)),
        ("SELECT k, COUNT(*) AS n, SUM(x) / COUNT(*) AS m FROM t GROUP BY k", {}, (0, "rows", 3, 4, 12)),
        ("SELECT k, VAR_POP(x) AS v FROM t GROUP BY k", {"rows": 1}, (0, "values", 3, 1, 3)),
        (SUMS, {}, None),
        ("SELECT k, AVG(x) AS m, SUM(CLAMP(p, 0, 9)) AS s FROM t GROUP BY k", {}, None),  # rows without x count there
        ("SELECT k, AVG(x) AS m, SUM(COALESCE(x, 1)) AS s FROM t GROUP BY k", {}, None),
        ("SELECT k, SUM(COUNT(*)) OVER (ORDER BY k) AS n FROM t GROUP BY k", {}, None),  # of many numbers at once
    ],
)
@all_cases("spend", [PURE, *OTHERS])
def test_one_count_finds_keys_and_is_their_number_where_it_can(
    text: str, options: dict[str, Any], decides: tuple[Any, ...] | None, spend: Spend
) -> None:
    found = made(text, spend, **options)
    assert found.selection is not None
    assert len(found.measured) == len(found.measures) - (decides is not None)
    if decides is None:
        assert found.selection.decides is None
        assert found.relation is found.question.relation
        return
    assert isinstance(found.selection, NoisyCounts)
    assert isinstance(found.selection.mechanism.noise, Laplace if spend.is_pure else Gaussian)
    counted = found.selection.mechanism.caps
    told = (found.selection.decides, found.selection.counted, counted.groups, counted.rows, counted.total)
    assert told == decides
    asked = next(found.asked())
    assert isinstance(asked, Persons)
    assert (asked.groups, asked.rows, asked.weights) == (counted.groups, counted.rows, None)


@all_cases(("text", "rows", "decides"), [(PERSONS, 4, True), (ROWS, 4, True), (BOTH, 4, False), (MEAN, 1, False)])
def test_to_find_many_groups_a_pure_count_decides_where_nothing_else_is_asked(
    text: str, rows: int, decides: bool
) -> None:
    selection = made(text, replace(PURE, aim="groups"), rows=rows).selection
    assert selection is not None
    assert (selection.decides is not None) is decides


def test_of_one_key_a_unit_many_groups_are_found_by_their_number() -> None:
    for spend in GROUPS:
        selection = made(ROWS, spend, unit=gt.ROW).selection
        assert isinstance(selection, NoisyCounts)
        assert isinstance(made(PERSONS, spend, groups=1).selection, NoisyWeights)


def test_what_is_measured_beside_a_count_is_about_the_rows_that_it_counted() -> None:
    """As the sum of AVG over the number of its values, which were counted in three keys of a person, not scaled."""
    found = made(MEAN, PURE)
    assert isinstance(found.relation, KeepParts)
    assert (found.relation.columns, found.relation.most) == (("k",), 3)
    assert isinstance(found.relation.source, Filter)
    assert found.relation.most_rows == found.question.relation.most_rows
    bucket = made("SELECT BUCKET(CLAMP(x, 0, 8), 2) AS b, k, AVG(x) AS m FROM t GROUP BY b, k", PURE).relation
    assert isinstance(bucket, KeepParts)
    assert bucket.columns[1] == "k"
    derived: Any = bucket.source
    while isinstance(derived, Filter):  # to the values that may be groups, of every key
        derived = derived.source
    assert isinstance(derived, Derive)
    assert made(MEAN, PURE, unit=gt.ROW).relation.person is None  # whose rows have one key


@all_cases("neighbours", ["add-remove", "change-one"])
def test_optimal_chances_are_taken_where_they_show_more(neighbours: Neighbours) -> None:
    found = made(SUMS, PURE, neighbours=neighbours).selection
    assert isinstance(found, OptimalChances)
    sides = 2 if neighbours == "change-one" else 1
    assert found.sensitivity == 3 * sides
    assert found.event().epsilon == 3 * sides * found.mechanism.epsilon
    assert found.event().delta == F(1, 10**6)
    counts = CountedKeys.calibrated(KeyCaps(3), epsilon=found.event().epsilon, delta="1e-6", sensitivity=sides)
    assert found.least < counts.threshold


# -- names and prices ------------------------------------------------------------------------------------------------


@all_cases("text", [PERSONS, ROWS, SUMS, BOTH])
@all_cases("spend", OTHERS)
def test_what_is_drawn_in_another_way_has_another_name(text: str, spend: Spend) -> None:
    names = [made(text, each).digest() for each in (spend, PURE, replace(spend, aim="groups"))]
    assert len(set(names)) == (2 if text == SUMS else 3)
    assert made(text, spend).digest() == names[0]


@all_cases("neighbours", ["add-remove", "change-one"])
@all_cases("text", [PERSONS, SUMS, BOTH])
def test_the_whole_promise_is_what_was_to_be_spent(text: str, neighbours: Neighbours) -> None:
    with session(neighbours=neighbours) as s:
        unit = mechanism_of(s).budget.unit
    asked = made(text, APPROX, neighbours=neighbours)
    assert asked.promise(unit) == ApproxDP(1, F(1, 10**5), unit=unit, neighbours=neighbours)
    charged = charges_of(asked.event)  # and the event keeps it, by a road of its own
    values = gt.GaussianDP(sqrt_up(charged.squares)).epsilon_at(F(1, 10**5) - charged.delta)
    assert F("0.98") < charged.keys + values <= F("1.000001")  # thresholds are whole: some δ may be left
    pure = made(text, PURE, neighbours=neighbours).promise(unit)
    assert isinstance(pure, ApproxDP)
    assert F("0.999") < pure.epsilon <= 1
    assert pure.delta <= F(1, 10**6)


def test_weights_have_no_price_in_epsilon_and_the_quote_says_so() -> None:
    with session() as s:
        weighted, pure = s.sql(PERSONS).quote(mu="1/4", aim="groups"), s.sql(PERSONS).quote(epsilon=1)
        assert ["ends the sum of ε" in str(quote) for quote in (weighted, pure)] == [True, False]
        s.sql(PERSONS).answer(epsilon=1)
        remaining: Any = s.budget.left
        assert remaining["ε"] > 0
        s.sql(PERSONS).answer(mu="1/4", aim="groups")
        remaining = s.budget.left
        assert remaining["ε"] == 0


def test_lower_caps_leave_more_to_finding_keys() -> None:
    of_one, of_many = (made(ROWS, APPROX, rows=rows).selection for rows in (2, 50))
    assert of_one is not None
    assert of_many is not None
    assert of_one.least < of_many.least
    shares = [made(text, APPROX).event for text in (PERSONS, BOTH)]
    assert shares[0] != shares[1]


def test_of_a_stated_delta_as_much_finds_keys_as_lowers_the_threshold_most() -> None:
    spend = Spend(epsilon=F(1), delta=F(1, 10**7))
    best = key_delta(spend, F(1))
    assert F(1, 4) <= best / F(1, 10**7) <= F(1, 2)
    assert key_delta(spend, F(1, 10**9)) == F(1, 10**9)
    assert key_delta(Spend(mu=F(1)), F(1, 10**9)) == F(1, 10**9)
    assert gaussian_mu(1, F(1, 10**7) - best) > 0


# -- answers ---------------------------------------------------------------------------------------------------------


@all_cases("options", [{}, {"unit": gt.ROW}, {"neighbours": "change-one"}, {"groups": 1}])
@all_cases("spend", [{"epsilon": 5}, {"mu": 2}, {"epsilon": 3, "delta": "1e-11"}])
def test_common_keys_are_found_rare_ones_are_not_and_numbers_are_at_least_one(
    spend: dict[str, Any], options: dict[str, Any]
) -> None:
    with session(**options, delta="1e-9") as s:  # each of 120 rare keys is shown with about a δ's share
        text = ROWS if "unit" in options else PERSONS
        asked = s.sql(text)
        answer = asked.answer(**spend)
        assert sorted(told(answer)["k"]) == sorted({f"key {(row * row) % 7}" for row in range(7)})
        stated = Terms.of(spend).spend
        assert stated is not None
        selection = mechanism_of(s).measured(asked.question, s.describe().caps, stated).selection
        assert selection is not None
        if selection.decides is not None:
            assert min(told(answer)["n_low"]) >= 1
        again = asked.answer(**spend)
        assert told(again) == told(answer)
        assert again.notes[0].startswith("asked before")


def test_a_refined_number_that_decided_is_measured_at_the_shown_keys() -> None:
    with session() as s:
        first = s.sql(PERSONS).answer(epsilon=5)
        refined = first.refine(epsilon=100)
        assert told(refined)["k"] == told(first)["k"]
        widths = [high - low for low, high in zip(told(refined)["n_low"], told(refined)["n_high"], strict=True)]
        assert max(widths) <= 4


@all_cases("text", [ROWS, MEAN, NUMBERS])
def test_a_refined_answer_is_about_the_rows_that_were_counted(text: str) -> None:
    """Also of persons with more keys than count: later numbers count the same rows, and both releases are used."""
    with session(groups=2, rows=2) as s:
        asked = s.sql(text)
        first = asked.answer(epsilon=20)
        again = first.refine(epsilon=40)
        assert told(again)["k"] == told(first)["k"]
        counted = [name for name in ("n", "m") if name in told(first)]
        for name in counted:
            for low, high, before in zip(
                told(again)[f"{name}_low"], told(again)[f"{name}_high"], told(first)[name], strict=True
            ):
                assert low - 3 <= before <= high + 3


def test_of_rows_both_releases_of_a_refined_number_count() -> None:
    with session(unit=gt.ROW) as s:
        first = s.sql(ROWS).answer(epsilon=5)
        worse = first.refine(epsilon="0.001")
        for before, after in zip(told(first)["n"], told(worse)["n"], strict=True):
            assert abs(before - after) <= 5
        assert told(worse)["n_high"][0] - told(worse)["n_low"][0] < 10
