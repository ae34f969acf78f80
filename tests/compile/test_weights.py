"""Shares of the spend and sides of bounds: the same answers with less noise, and never more in any column."""

from __future__ import annotations

import math
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
from giveortake.compile import Measurement, Release, Spend, combined
from giveortake.compile.design import plain_design, vectors
from giveortake.compile.formulas import Linear, Ratio
from giveortake.compile.measurement import prepared
from giveortake.compile.measures import PLAIN, MissingCount, Side, without_data
from giveortake.mechanisms import tails
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from inside import engine_of, measured
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
    ready = prepared(s.sql(text).question, s.caps, mechanism.budget.neighbours, pure=pure)
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
        assert s.spent["ε"] == Fraction(1, 10)


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
