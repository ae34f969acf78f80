"""Linear regression: what it learns, what it costs, what it refuses, and that its intervals hold."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.errors import InvalidParameter, NotFitted, QueryRefused
from giveortake.learn import LinearRegression, Ridge
from giveortake.session import Session

RANDOM = np.random.default_rng(11)
N = 20_000
X = RANDOM.normal(0, 1, N)
Z = 0.6 * X + 0.8 * RANDOM.normal(0, 1, N)
KIND = RANDOM.integers(0, 3, N)
Y = 3 + 2 * X - Z + 1.5 * (KIND == 1) + RANDOM.normal(0, 1, N) * (0.5 + 0.5 * np.abs(X))
ROWS = pl.DataFrame({"x": X, "z": Z, "kind": np.array(["a", "b", "c"])[KIND], "y": Y, "who": np.arange(N) // 2})
DOMAINS: dict[str, Any] = {"x": (-4, 4), "z": (-4, 4), "kind": ["a", "b", "c"], "y": (-12, 20)}


def session(rows: Any = ROWS, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.GaussianDP(9), "domains": DOMAINS, "name": "t"}
    return gt.protect(rows.drop("who") if "unit" not in more else rows, **protection_arguments(usual | more))


def test_a_regression_predicts_nearly_as_well_as_least_squares_and_is_one_charge() -> None:
    with session() as s:
        model = LinearRegression("y", mu=1)
        quote = model.quote(s, n=N)
        assert not s.budget.spent
        assert 0 < quote.facts["noise_to_signal"] < 0.01
        assert model.fit(s) is model
        assert s.budget.spent == 1
        design = np.column_stack([np.ones(N), X, Z, KIND == 1, KIND == 2]).astype(float)
        best = 1 - np.var(Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]) / np.var(Y)
        assert model.score(ROWS, Y) > best - 0.01
        assert model.coef_ == pytest.approx([2, -1, 1.5, 0], abs=0.4)
        assert model.intercept_ == pytest.approx(3, abs=0.4)
        assert model.model_.names == ["x", "z", "kind=b", "kind=c"]
        tuned = Ridge("y", mu=1, penalty=0).fit(s)
        stiff = Ridge("y", mu=1, penalty=10**7).fit(s)
        assert s.budget.spent == 1  # the penalty decides nothing that is measured
        assert tuned.coef_ == pytest.approx(model.coef_, abs=0.05)
        assert np.abs(stiff.coef_).max() < 0.05
        assert model.model_.followed == (5, 5)


def test_fitted_regressions_read_back_from_json() -> None:
    learners: list[Any] = [
        LinearRegression("y", mu=1, intervals=True, reach=50),
        Ridge("y", mu=1, penalty=2),
        Ridge("y", mu=1, penalty="0.5"),
        Ridge("y", mu=1, penalty=Fraction(1, 3)),
    ]
    with session() as s:
        for learner in learners:
            learner.fit(s)
    for learner in learners:
        again = type(learner).from_json(learner.to_json())
        assert np.array_equal(again.predict(ROWS), learner.predict(ROWS))
        assert again.provenance_ == learner.provenance_
        stored, stated = again.get_params(), learner.get_params()
        assert all(stored[name] == stated[name] for name in ("target", "intervals", "reach") if name in stated)
        assert Fraction(stored.get("penalty", 0)) == Fraction(stated.get("penalty", 0))
    line, again = learners[0], LinearRegression.from_json(learners[0].to_json())
    assert again.coefficients() == line.coefficients()
    assert gt.answers.Answer.from_json(again.coefficients().to_json()) == again.coefficients()


def test_coefficients_have_intervals_where_they_were_paid_for_and_none_elsewhere() -> None:
    with session() as s:
        fitted = LinearRegression("y", mu=3, intervals=True).fit(s)
        table = fitted.coefficients().to_dict()
        assert table["column"] == ["(intercept)", "x", "z", "kind=b", "kind=c"]
        wide: Any = fitted.coefficients(confidence="0.999999").to_dict()
        low, high = (np.array(wide[f"coefficient_{end}"]) for end in ("low", "high"))
        truth = np.array([3, 2, -1, 1.5, 0])
        assert ((low < truth) & (truth < high)).all()
        assert (low < np.array(table["coefficient_low"])).all()
        assert fitted.model_.evidence is not None
        assert fitted.model_.evidence.shortened < 0.01
        plain = LinearRegression("y", mu=1).fit(s)
        with pytest.raises(InvalidParameter, match="intervals"):
            plain.coefficients()
        few = LinearRegression("y", mu="1/1000", intervals=True).fit(s)
        assert math.inf in {row["coefficient_high"] for row in few.coefficients().rows()}
        assert few.model_.followed[0] < 5  # 3 at most in 25 fits
        assert few.predict(ROWS).std() < 10 * Y.std()  # 4.1 at most in as many: noise decides little
    with session(unit="who", rows_per_person=2) as s:
        with pytest.raises(QueryRefused):  # several rows a person
            LinearRegression("y", mu=1, intervals=True).fit(s)
        assert not s.budget.spent
        assert LinearRegression("y", mu=2).fit(s).score(ROWS, Y) > 0.7


def test_what_cannot_be_learned_is_refused_at_no_cost() -> None:
    with session() as s:
        for learner, name in [
            (LinearRegression(mu=1), "target"),
            (LinearRegression("kind", mu=1), "target"),
            (LinearRegression("y", ["y"], mu=1), "features"),
            (LinearRegression("y", ["nothing"], mu=1), "features"),
            (LinearRegression("y"), "epsilon"),
            (LinearRegression("y", epsilon=1), "delta"),
            (LinearRegression("y", mu=1, reach=0), "reach"),
            (Ridge("y", mu=1, penalty=-1), "penalty"),
        ]:
            with pytest.raises(InvalidParameter) as error:
                learner.fit(s)
            assert error.value.name == name
        with pytest.raises(NotFitted):
            LinearRegression("y").predict(ROWS)
        assert not s.budget.spent
    with session(domains=DOMAINS | {"x": (1, 1)}) as s, pytest.raises(InvalidParameter, match="constant"):
        LinearRegression("y", ["x"], mu=1).fit(s)
    with session(domains={"y": (-12, 20)}) as s, pytest.raises(InvalidParameter):  # no bounds
        LinearRegression("y", ["x"], mu=1).fit(s)
