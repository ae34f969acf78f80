"""Tests of hypotheses: uniform under the hypothesis, small when it is false, and refused where they do not hold."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.learn import (
    Contingency,
    HypothesisTest,
    Moments,
    anova,
    contingency,
    correlation,
    difference_of_means,
    goodness_of_fit,
    hypothesis_tests,
    independence,
)
from giveortake.learn.features import Category, ScaledNumber
from giveortake.session import Session
from statistics_of_draws import ALPHA

RANDOM = np.random.default_rng(31)
N = 3_000
GROUP = RANDOM.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
SMOKES = RANDOM.random(N) < np.where(GROUP == "a", 0.5, 0.2)
X = RANDOM.normal(size=N) + (GROUP == "b")
TABLE = pl.DataFrame(
    {"group": GROUP, "smokes": SMOKES, "x": X, "y": 0.3 * X + RANDOM.normal(size=N), "who": np.arange(N) // 2}
).with_columns(coin=pl.Series(RANDOM.random(N) < 0.5))
DOMAINS: dict[str, Any] = {"group": ["a", "b", "c"], "x": (-5, 5), "y": (-5, 5)}


def session(rows: pl.DataFrame = TABLE, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.GaussianDP(9), "domains": DOMAINS, "name": "t"}
    return gt.protect(rows if "unit" in more else rows.drop("who"), **protection_arguments(usual | more))


def test_false_hypotheses_are_seen_and_true_ones_are_not() -> None:
    with session() as s:
        related = independence(contingency(s, ["group", "smokes"], mu=1))
        assert related.p_value < 0.001
        assert independence(contingency(s, ["group", "coin"], mu=1)).p_value > 1e-4
        one = contingency(s, ["group"], mu=1)
        assert goodness_of_fit(one).p_value < 0.001
        assert goodness_of_fit(one, {"a": 5, "b": 3, "c": 2}).p_value > 1e-4
        assert goodness_of_fit(one, [5, 3, 2]) == goodness_of_fit(Contingency.from_json(one.to_json()), [5, 3, 2])
        spent = s.budget.spent
        made = gt.learn.moments(s, mu=3)  # what is checked below is nine deviations away
        assert s.budget.spent == spent + 9
        assert anova(made, "x", "group").p_value < 0.001
        assert anova(made, "x", "coin").p_value > 1e-4
        found = difference_of_means(made, "y", "smokes")
        y = TABLE["y"].to_numpy()
        assert found.estimate == pytest.approx(y[SMOKES].mean() - y[~SMOKES].mean(), abs=0.3)
        assert correlation(made, "x", "y").p_value < 0.001
        assert correlation(made, "x", "y").estimate == pytest.approx(0.33, abs=0.1)
        assert s.budget.spent == spent + 9


def test_rows_without_a_declared_category_are_in_no_group() -> None:
    """Half of the rows have none, and other numbers: counted with the first group, they would move its mean by 2."""
    odd = TABLE.with_columns(group=pl.Series([None, "z"] * (N // 2)), x=pl.lit(4.0))
    with session(pl.concat([TABLE, odd])) as s:
        made = gt.learn.moments(s, ["x", "group", "coin"], mu=2)
        fitted = gt.learn.LinearRegression("x", ["group"], mu=2).fit(s)
    assert made.n == pytest.approx(N, abs=6 * made.noise)
    assert fitted.intercept_ == pytest.approx(X[GROUP == "a"].mean(), abs=0.3)
    two = difference_of_means(made, "x", "coin")
    coin = TABLE["coin"].to_numpy()
    assert two.estimate == pytest.approx(X[coin].mean() - X[~coin].mean(), abs=0.3)


# -- under the hypothesis ---------------------------------------------------------------------------------------------


TESTS = ("independence", "fit", "means", "correlation")


@cache
def p_values(claim: float) -> dict[str, list[float]]:
    """Released numbers under each hypothesis, and the p-values of tests that are told a share of the true noise."""
    random = np.random.default_rng(1)
    group, coin = Category("group", ("a", "b", "c")), Category("coin", (False, True))
    columns = (ScaledNumber("x", Fraction(-1), Fraction(1)), ScaledNumber("y", Fraction(-1), Fraction(1)), group)
    shares, n, mu = np.array([0.5, 0.3, 0.2]), 500, 0.2
    sigma, noise, many = 1 / 0.03, claim / 0.03, 2_000  # of tables, where a row moves less
    found: dict[str, list[float]] = {name: [] for name in TESTS}

    def keep(name: str, test: HypothesisTest) -> None:
        found[name].append(test.p_value)

    for _ in range(300):
        counts = random.multinomial(many, np.outer(shares, [0.7, 0.3]).ravel()).reshape(3, 2)
        both = counts + sigma * random.normal(size=(3, 2))
        keep("independence", independence(Contingency((group, coin), both, noise, by_row=True)))
        one = random.multinomial(many, shares) + sigma * random.normal(size=3)
        keep("fit", goodness_of_fit(Contingency((group,), one, noise, by_row=True), shares.tolist()))
        of = random.choice(3, n, p=shares)
        x, y = np.clip(random.gamma(2, 0.15, n) - 0.6, -1, 1), random.uniform(-0.5, 0.9, n)
        design = np.column_stack([np.ones(n), x, y, of == 1, of == 2]).astype(float)
        drawn = np.triu(random.normal(size=(5, 5))) * np.where(np.eye(5) > 0, 1, 0.5**0.5) * 4 / mu
        scaled = design.T @ design + drawn + np.triu(drawn, 1).T
        made = Moments(columns, scaled, 4 * claim / mu, by_row=True)
        keep("means", anova(made, "x", "group"))
        keep("correlation", correlation(made, "x", "y"))
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(("claim", "plausible"), [(1.0, True), (0.6, False)])
def test_p_values_are_uniform_under_the_hypothesis(
    name: str, claim: float, plausible: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At n·μ = 60 and 100, where noise is most of it; a test that is told of less noise finds too much."""
    monkeypatch.setattr(hypothesis_tests, "_DRAWS", 399)
    chance = stats.kstest(p_values(claim)[name], "uniform", alternative="greater").pvalue
    assert (chance >= ALPHA) == plausible
    if plausible:
        assert stats.kstest(p_values(claim)[name], "uniform").pvalue >= ALPHA


# -- what they are made of --------------------------------------------------------------------------------------------


def test_what_cannot_be_tested_is_refused() -> None:
    with session(unit="who", rows_per_person=2) as s:
        table = contingency(s, ["group", "smokes"], mu=1)
        made = gt.learn.moments(s, ["x", "y", "group"], mu=1)
        several: list[Any] = [  # rows of a person, who are not independent
            lambda: independence(table),
            lambda: anova(made, "x", "group"),
            lambda: correlation(made, "x", "y"),
        ]
        for each in several:
            with pytest.raises(QueryRefused):
                each()
    with session() as s:
        for columns in (["x"], "group", [], ["group", "group"], ["group", "smokes", "coin"]):
            with pytest.raises(InvalidParameter):
                contingency(s, columns, mu=1)
        assert not s.budget.spent
        one, two = contingency(s, ["group"], mu=1), contingency(s, ["group", "smokes"], mu=1)
        made = gt.learn.moments(s, mu=1)
        bad: list[Any] = [
            lambda: independence(one),
            lambda: goodness_of_fit(two),
            lambda: goodness_of_fit(one, [1, 2]),
            lambda: goodness_of_fit(one, {"a": 1, "b": 2}),
            lambda: goodness_of_fit(one, [1, 2, -1]),
            lambda: anova(made, "group", "smokes"),
            lambda: anova(made, "x", "y"),
            lambda: difference_of_means(made, "x", "group"),
            lambda: correlation(made, "x", "x"),
            lambda: correlation(made, "x", "group"),
            lambda: Contingency.from_json("[]"),
            lambda: independence(s),  # type: ignore[arg-type]  # (a session, as the next)
            lambda: goodness_of_fit(s),  # type: ignore[arg-type]
            lambda: anova(s, "x", "group"),  # type: ignore[arg-type]
            lambda: difference_of_means(s, "x", "smokes"),  # type: ignore[arg-type]
            lambda: correlation(s, "x", "y"),  # type: ignore[arg-type]
        ]
        for each in bad:
            with pytest.raises(InvalidParameter):
                each()
