"""Sensitivities of measures, the shares of the spend that they get, and quantiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer
from giveortake.codec import write
from giveortake.compile import Measurement, Release, Spend, combined
from giveortake.compile.design import plain_design, vectors
from giveortake.compile.formulas import Evaluated, Linear, Ratio
from giveortake.compile.measurement import prepared
from giveortake.compile.measures import PLAIN, MissingCount, PrefixSums, Side, without_data
from giveortake.compile.sensitivity import Stability
from giveortake.mechanisms import additive as tails
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from inside import engine_of, measured
from recorded_entropy import RecordedEntropy
from replay import exact_integers
from tiers import tiered

SPENDS = {"Laplace": Spend(epsilon=Fraction(1, 10)), "Gaussian": Spend(mu=Fraction(1, 10))}
QUESTIONS = (
    "AVG(x) AS a",
    "COUNT(*) AS n, AVG(x) AS a",
    "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a",
    "COUNT(*) AS n, SUM(x) AS s",
    "SUM(x) AS s, COUNT(x) AS n",
    "SUM(x) AS s, SUM(i) AS t",
    "AVG(x) AS a, AVG(i) AS b",
    "COUNT(*) AS n, AVG(x) AS a, AVG(i) AS b, AVG(f) AS c",
    "SUM(x) / SUM(i) AS q, COUNT(*) AS n",
    "VAR_POP(x) AS v",
    "STDDEV(i) AS d, COUNT(*) AS n, AVG(i) AS a",
    "COUNT(*) AS n, MEDIAN(x) AS m, AVG(x) AS a",
    "COUNT(DISTINCT i) AS d, SUM(x) AS s, COUNT(*) AS n",
)
BOUNDS: dict[str, tuple[int, int]] = {"x": (0, 100), "i": (-30, 90), "f": (1000, 1001)}
TABLE = pl.DataFrame(
    {
        "p": [j % 40 for j in range(120)],
        "k": ["a", "b", "c"] * 40,
        "x": [None if j % 7 == 3 else float(j * 37 % 101) for j in range(120)],
        "i": [None if j % 11 == 5 else j * 13 % 121 - 30 for j in range(120)],
        "f": [None if j % 5 == 1 else 1000 + (j % 9) / 8 for j in range(120)],
    }
)


def session(*, nullable: bool = True, neighbours: Any = "add-remove", unit: Any = gt.ROW) -> Session:
    domains: dict[str, Any] = {name: {"bounds": list(ends), "nullable": nullable} for name, ends in BOUNDS.items()}
    table = TABLE if nullable else TABLE.drop_nulls()
    caps: dict[str, int] = {} if unit == gt.ROW else {"groups_per_person": 2, "rows_per_group": 3}
    return gt.protect(
        table,
        unit=unit,
        budget=gt.ApproxDP(1000, "1e-6", neighbours=neighbours),
        domains=domains | {"k": ["a", "b", "c"]},
        caps=caps,
        engine={"threads": 1},
        name="t",
    )


def made(s: Session, text: str, spend: Spend) -> Measurement:
    return measured(s, text, spend)


def plain(s: Session, text: str, spend: Spend) -> Measurement:
    """The same question with every number and every sum by itself, and with equal shares."""
    mechanism, pure = mechanism_of(s), spend.is_pure
    ready = prepared(s.sql(text).question, s.describe().caps, mechanism.budget.neighbours, spend=spend)
    return replace(ready, chosen=plain_design(ready.question, ready.stability, pure=pure)).at(spend)


def deviations(found_by: Measurement) -> list[float]:
    """The noise in every number and every part of one, of a mean at five places between its bounds."""
    measures = without_data(found_by.measures, found_by.noises)
    found = []
    stack: list[Any] = [formula for _, formula in found_by.formulas]
    while stack:
        formula = stack.pop()
        if isinstance(formula, Ratio):
            low, high = (Fraction(0), Fraction(1)) if formula.low is None else (formula.low, formula.high)
            means = [low + (high - low) * Fraction(j, 4) for j in range(5)]  # type: ignore[operator]  # (both or none)
            stack += [formula.over.plus(formula.under.times(-mean)) for mean in means]
        elif isinstance(formula, Linear):
            noises: list[tails.Tail] = [
                tail.times(abs(float(weight)))
                for index, weight in formula.weights.items()
                for tail in measures[index].tails
            ]
            found.append(math.sqrt(sum(tail.variance for tail in noises)))
        else:
            stack += getattr(formula, "parts", ())
    return found


PAIRS = [  # any two of the three together
    (True, "add-remove", gt.ROW),
    (True, "change-one", "p"),
    (False, "add-remove", "p"),
    (False, "change-one", gt.ROW),
]
WAYS = tiered(PAIRS, list(product((True, False), ("add-remove", "change-one"), (gt.ROW, "p"))))


@all_cases(("nullable", "neighbours", "unit"), WAYS)
def test_no_number_gets_more_noise_than_alone_with_an_equal_share(nullable: bool, neighbours: str, unit: Any) -> None:
    narrower = 0
    with session(nullable=nullable, neighbours=neighbours, unit=unit) as s:
        for text, grouped, spend in product(QUESTIONS, ("", " GROUP BY k"), SPENDS.values()):
            asked = f"SELECT {'k, ' if grouped else ''}{text} FROM t{grouped}"
            before, after = (deviations(way(s, asked, spend)) for way in (plain, made))
            assert all(new <= old * (1 + 1e-6) for old, new in zip(before, after, strict=True)), asked
            narrower += any(new < old * 0.9 for old, new in zip(before, after, strict=True))
    assert narrower >= 8


@all_cases("text", [text for text in QUESTIONS if "MEDIAN" not in text])
def test_exact_integers_give_the_same_answers_in_every_basis(text: str) -> None:
    for nullable in (True, False):
        with session(nullable=nullable) as s:
            asked = f"SELECT k, {text} FROM t GROUP BY k"
            answers = []
            for spend, way in product(SPENDS.values(), (plain, made)):
                asking = way(s, asked, spend)
                release = Release(exact_integers(asking, engine_of(s)), asking.noises)
                values = combined(asking.measures, [release])
                answers.append([formula.evaluate(values, 0.05, 3).values for _, formula in asking.formulas])
            for other in answers[1:]:
                for one, two in zip(answers[0], other, strict=True):
                    np.testing.assert_allclose(np.asarray(two, float), np.asarray(one, float), rtol=1e-6, atol=1e-3)


def test_a_pure_mean_has_the_square_root_of_half_the_noise() -> None:
    """Two sides for one price: the variance halves wherever the mean lies; exactly, as scales are fractions."""
    with session(nullable=False) as s:
        before, after = (way(s, "SELECT AVG(x) AS a FROM t", SPENDS["Laplace"]) for way in (plain, made))
    for old, new in zip(deviations(before), deviations(after), strict=True):
        assert new == pytest.approx(old / math.sqrt(2), rel=1e-6)


def test_number_and_sum_cost_what_the_sum_alone_costs() -> None:
    for neighbours in ("add-remove", "change-one"):
        with session(neighbours=neighbours) as s:
            alone, both = (
                made(s, f"SELECT k, {text} FROM t GROUP BY k", SPENDS["Laplace"])
                for text in ("SUM(x) AS s", "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a")
            )
        assert both.event == alone.event == gt.privacy.events.Laplace(10)
        assert {type(each) for each in both.measures} == {Side, MissingCount}
        assert vectors(both.measures) == [(0, 1, 2)]
        assert both.noises[0] == alone.noises[0]


def test_numbers_that_have_nothing_in_common_share_equally_and_keep_their_name() -> None:
    with session() as s:
        for text in ("SUM(x) AS s, SUM(i) AS t", "COUNT(*) AS n, MEDIAN(x) AS m", "COUNT(*) AS n"):
            for spend in SPENDS.values():
                alone, chosen = (way(s, f"SELECT {text} FROM t", spend) for way in (plain, made))
                assert (chosen.basis, len(set(chosen.shares))) == (PLAIN, 1)
                assert alone.digest() == chosen.digest()


def test_shares_minimise_the_product_of_the_variances() -> None:
    """Two means over one number, beside it: the shares of the minimum, by hand."""
    with session(nullable=False) as s:
        shares = made(s, "SELECT COUNT(*) AS n, SUM(x) AS s FROM t", SPENDS["Gaussian"]).shares
    # V of the number is 1/w, that of the sum, counted from the middle of 0 … 100, 50²/(1 − w) + 50²/w: their product is
    # proportional to 1 / (w² (1 − w)), which is least at w = 2/3
    assert shares == (Fraction(667, 1000), Fraction(333, 1000))


def test_shares_enter_the_name_of_a_question_and_nothing_else_decides_them() -> None:
    asked = "SELECT COUNT(*) AS n, SUM(x) AS s FROM t"
    with session(nullable=False) as s:
        one, other = (made(s, asked, Spend(mu=Fraction(mu))) for mu in ("0.1", "3"))
        assert one.shares == other.shares
        assert len({one.digest(), other.digest()}) == 1
        assert made(s, asked, SPENDS["Laplace"]).digest() != one.digest()
        assert plain(s, asked, SPENDS["Gaussian"]).digest() != one.digest()


def test_the_parts_of_any_shares_cost_no_more_than_the_whole() -> None:
    for spend in (*SPENDS.values(), Spend(rho=Fraction(1, 7)), Spend(epsilon=Fraction(1), delta=Fraction(1, 10**6))):
        with session() as s:
            for text in QUESTIONS:
                asking = made(s, f"SELECT k, {text} FROM t GROUP BY k", spend)  # priced again, or refused
                assert sum(asking.shares) == 1
                assert min(asking.shares) > 0


def test_a_refinement_is_measured_as_what_it_refines() -> None:
    with session() as s:
        first = s.sql("SELECT k, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY k").answer(epsilon=10)
        refined = first.refine(mu=10)
        assert width(refined, "a") < width(first, "a")
        assert width(refined, "n") <= width(first, "n")  # which are whole numbers
        truth = TABLE.group_by("k").agg(pl.col("x").clip(0, 100).mean()).sort("k")["x"].to_list()
        np.testing.assert_allclose(np.array(refined["a"].values, dtype=float), truth, atol=3)


def width(answer: Answer, column: str) -> float:
    """The widest interval of a column."""
    ends = [np.array(each, dtype=float) for each in (answer[column].low, answer[column].high)]
    return float((ends[1] - ends[0]).max())


def test_a_part_of_a_partition_is_priced_in_its_own_basis() -> None:
    with session(neighbours="change-one") as s:
        for part in s.partition("k").values():
            answer = part.sql("SELECT AVG(x) AS a FROM t").answer(epsilon="0.1")
            assert answer.cost == gt.PureDP("0.1", neighbours="change-one")
        assert s.budget.spent["ε"] == Fraction(1, 10)


@all_cases("far", [2**62, 2**63 - 1], ids=["both ends far", "one end farther"])
@all_cases("shown", ["AVG(i)", "COUNT(*), AVG(i)", "COUNT(i), SUM(i)", "STDDEV(i)"])
def test_no_row_is_so_far_from_a_bound_that_its_distance_fails(shown: str, far: int) -> None:
    low = -far if far == 2**62 else -1
    case = f"CASE WHEN sick THEN {far} ELSE {low} END"
    for sick in (False, True):
        table = pl.DataFrame({"sick": [sick, False, False]})
        with gt.protect(table, unit=gt.ROW, budget=gt.PureDP(1), name="t", engine={"threads": 1}) as session:
            text = f"SELECT {shown.replace('i)', f'{case})')} FROM t"
            assert len(session.sql(text).answer(epsilon="1e-6")) == 1


Rows = tuple[tuple[int, int], ...]  # of a unit: the group and the value of each
GROUPS = 3
CUT = [(None, 2, 2), (3, 2, 2), (3, 3, 2), (3, 1, 1), (1, 1, 1)]  # rows of a unit, groups, rows in a group that count


def _stability(rows: int | None, groups: int, rows_in_group: int, **terms: Any) -> Stability:
    usual: dict[str, Any] = {"is_cut": True, "neighbours": "add-remove", "grouped": True, "keys": GROUPS}
    return Stability(rows, groups, rows_in_group, **(usual | terms))


def _units(values: range, most: int) -> list[Rows]:
    """Everybody with up to so many rows."""
    single = list(itertools.product(range(GROUPS), values))
    return [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(single, size)]


def _sums(unit: Rows, stability: Stability) -> tuple[Fraction, ...]:
    """What a unit adds to the sum of each group, as the bounds of the engine leave it."""
    held = [[value for group, value in unit if group == place] for place in range(GROUPS)]
    several = max(sum(map(bool, held)), 1)
    part = min(Fraction(1), Fraction(stability.touched, several))
    return tuple(sum(own) * part * min(Fraction(1), Fraction(stability.most_in_group, len(own) or 1)) for own in held)


def _norms(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> tuple[Fraction, Fraction]:
    apart = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return sum(apart, Fraction(0)), sum((each * each for each in apart), Fraction(0))


def test_no_unit_moves_sums_by_more_than_their_sensitivity_and_some_by_as_much() -> None:
    for (rows, groups, in_group), (least, most) in itertools.product(CUT, [(0, 1), (-2, 1), (-1, 2)]):
        stability = _stability(rows, groups, in_group)
        units = _units(range(least, most + 1), 4 if rows is None else rows)
        l1, l2 = stability.sensitivity(least, most)
        found = [_norms(_sums(unit, stability), (Fraction(0),) * GROUPS) for unit in units]
        assert max(each for each, _ in found) == l1, (rows, groups, in_group, least, most)
        greatest = max(square for _, square in found)
        assert greatest <= l2**2, (rows, groups, in_group, least, most)
        assert math.isclose(greatest, l2**2, rel_tol=1e-9), (rows, groups, in_group, least, most)


def test_no_changed_unit_moves_sums_by_more_than_their_sensitivity() -> None:
    kept = [(3, 1, 1, True), (2, 2, 2, False), (1, 1, 1, True), (1, 1, 1, False)]
    for (rows, groups, in_group, is_cut), (least, most) in itertools.product(kept, [(0, 1), (-2, 1), (1, 2)]):
        for grouped in (True, False):
            terms: dict[str, Any] = {"neighbours": "change-one", "is_cut": is_cut, "grouped": grouped}
            stability = _stability(rows, groups, in_group, **terms)
            units = [unit for unit in _units(range(least, most + 1), rows) if grouped or not any(at for at, _ in unit)]
            l1, l2 = stability.sensitivity(least, most)
            sums = {_sums(unit, stability) for unit in units}
            found = list(itertools.starmap(_norms, itertools.combinations(sums, 2)))
            assert max(each for each, _ in found) <= l1, (stability, least, most)
            assert max(square for _, square in found) <= l2**2, (stability, least, most)


def test_distinct_values_of_a_changed_unit_leave_and_enter() -> None:
    for is_cut in (True, False):
        added, changed = (
            _stability(3, 3, 1, is_cut=is_cut, neighbours=each).of_distinct() for each in ("add-remove", "change-one")
        )
        assert changed == (2 * added[0], 2 * added[1])
        assert added[0] == 3


MEDIAN = "SELECT MEDIAN(x) AS a FROM data"
REDRAWS = tiered(500, 2_000)
ENOUGH = 0.95 - 6 * math.sqrt(0.95 * 0.05 / REDRAWS)
STRATEGIES = {"tree": Spend(epsilon=Fraction(1)), "square root": Spend(mu=Fraction(1, 2))}


def _skewed(rows: int) -> list[float]:
    """Continuous values between 0 and 500, the median near 33."""
    drawn: list[float] = np.clip(np.random.default_rng(11).lognormal(3.5, 1.0, rows), 0, 500).tolist()
    return drawn


def _asked(
    values: list[float] | pl.Series,
    text: str,
    spend: Spend,
    entropy: RecordedEntropy,
    **more: Any,
) -> Evaluated:
    """Intervals from noise that is drawn again and again on the same integers."""
    table = pl.DataFrame({"x": values, "p": list(range(len(values)))})
    options: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(100, "1e-6"), "domains": {"x": (0, 500)}}
    with gt.protect(table, **{**options, **more}, engine={"threads": 1}) as session:
        made = measured(session, f"SELECT {text} AS a FROM data", spend)
        (exact,) = exact_integers(made, engine_of(session))
    noise = made.noises[0]
    drawn = noise.release(np.repeat(exact.reshape(1, -1), REDRAWS, axis=0).ravel(), entropy).reshape(REDRAWS, -1)
    ((_, formula),) = made.formulas
    return formula.evaluate(combined(made.measures, [Release((drawn,), (noise,))]), 0.05, REDRAWS)


def _truth(values: Sequence[float], quantile: float) -> float:
    return sorted(values)[max(0, math.ceil(quantile * len(values)) - 1)]


@pytest.mark.statistical
@all_cases("name", STRATEGIES)
@all_cases("quantile", [0.25, 0.5, 0.9])
def test_intervals_over_continuous_values_hold_and_are_missed_now_and_then(
    name: str, quantile: float, entropy: RecordedEntropy
) -> None:
    for rows in (20_000, 2_000):
        values = _skewed(rows)
        truth = _truth(values, quantile)
        found = _asked(values, f"QUANTILE(x, {quantile})", STRATEGIES[name], entropy)
        held = (found.low <= truth) & (found.high >= truth)
        assert ENOUGH <= held.mean() < (0.999 if rows == 2_000 else 2)


@pytest.mark.statistical
@all_cases("name", STRATEGIES)
@all_cases("values", [[7] * 400, [0] * 200 + [500] * 201, [], [250]], ids=["one", "two", "none", "single"])
def test_intervals_over_few_values_hold(name: str, values: list[int], entropy: RecordedEntropy) -> None:
    found = _asked(pl.Series(values, dtype=pl.Int64), "MEDIAN(x)", STRATEGIES[name], entropy)
    truth = _truth(values, 0.5) if values else 250.0
    assert ((found.low <= truth) & (found.high >= truth)).mean() >= ENOUGH
    assert found.values.dtype == np.int64
    assert ((found.low <= found.values) & (found.values <= found.high)).all()


@all_cases("name", STRATEGIES)
def test_least_and_greatest_are_within_bounds_and_intervals_hold_them(name: str, entropy: RecordedEntropy) -> None:
    values = _skewed(3_000)
    for text, truth in (("MIN(x)", min(values)), ("MAX(x)", max(values))):
        found = _asked(values, text, STRATEGIES[name], entropy)
        assert ((found.low <= truth) & (truth <= found.high)).mean() >= ENOUGH
        assert ((found.low >= 0) & (found.high <= 500)).all()


@all_cases("neighbours", ["add-remove", "change-one"])
@all_cases("name", STRATEGIES)
def test_the_price_is_that_of_the_longest_column_times_what_a_person_may_have(name: str, neighbours: Any) -> None:
    table = pl.DataFrame({"x": [1.5], "p": [1], "k": ["a"]})
    caps: Any = {"groups_per_person": 4, "rows_per_group": 3}
    domains: Any = {"x": (0, 10), "k": list("abcdef")}
    with gt.protect(
        table,
        unit="p",
        budget=gt.ApproxDP(9, "1e-6", neighbours=neighbours),
        domains=domains,
        caps=caps,
        engine={"threads": 1},
    ) as session:
        (measure,) = measured(session, "SELECT k, MEDIAN(x) AS a FROM data GROUP BY k", STRATEGIES[name]).measures
    assert isinstance(measure, PrefixSums)
    in_l1, in_l2 = (2, math.sqrt(2)) if neighbours == "change-one" else (1, 1)
    assert measure.l1 == in_l1 * 4 * 3 * 1024 * measure.strategy.l1
    assert math.isclose(measure.l2, in_l2 * math.sqrt(4) * 3 * 1024 * measure.strategy.l2, rel_tol=1e-9)
    assert measure.l2 >= Fraction(in_l2) * 2 * 3 * 1024 * measure.strategy.l2 * (1 - Fraction(1, 10**15))


def test_each_strategy_has_a_name_of_its_own() -> None:
    with gt.protect(
        pl.DataFrame({"x": [1.5]}), unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains={"x": (0, 10)}
    ) as session:
        made = [measured(session, MEDIAN, spend) for spend in STRATEGIES.values()]
    assert made[0].digest() != made[1].digest()
    tree, root = (write(measurement.measures[0])["strategy"] for measurement in made)
    assert tree == {"kind": "tree", "branches": [10, 10, 10], "size": 1000}
    assert root == {"kind": "square root", "size": 1024}


def test_whole_numbers_are_never_split_between_bins() -> None:
    domains: Any = {"x": (-3, 5000)}
    with gt.protect(
        pl.DataFrame({"x": [1, 2]}), unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains=domains
    ) as session:
        sizes = []
        for spend in STRATEGIES.values():
            (measure,) = measured(session, MEDIAN, spend).measures
            assert isinstance(measure, PrefixSums)
            assert measure.whole
            assert measure.width == (6 if spend.is_pure else 5)
            sizes.append(measure.strategy.size)
        answer = session.sql(MEDIAN).answer(epsilon=1)
    assert sizes == [834, 1001]
    shown = answer.to_polars()
    assert {each.is_integer() for each in shown.dtypes} == {True}
    assert -3 <= shown["a_low"][0] <= shown["a"][0] <= shown["a_high"][0] <= 5000
