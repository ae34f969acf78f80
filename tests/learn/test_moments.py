"""Moments: what one unit moves, what they cost, and what follows from them at no cost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
import tiers
from giveortake.compile import Spend
from giveortake.configuration import protection_arguments
from giveortake.engines import VectorSum
from giveortake.errors import InvalidParameter, LedgerDamaged, QueryRefused
from giveortake.learn import noisy_sums
from giveortake.learn.features import features_of
from giveortake.learn.moments import MomentsPlan
from giveortake.learn.noisy_sums import FitContext
from giveortake.session import Session
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.session import mechanism_of
from replay import Revealing

DOMAINS = {"x": (-4, 4), "y": (0, 10), "city": ["a", "b", "c"]}
FEW: dict[str, list[Any]] = {
    "who": [1, 1, 1, 1, 2, 3, 3],
    "x": [4.0, -4.0, 4.0, 3.99, 0.3, None, 9.0],
    "y": [10.0, 0.0, 10.0, 10.0, 5.1, 3.0, -7.0],
    "city": ["b", "b", "b", "b", "a", "c", "z"],
}
RANDOM = np.random.default_rng(5)
N = 20_000
X = RANDOM.normal(0, 1, N)
CITY = RANDOM.integers(0, 3, N)
MANY = pl.DataFrame(
    {
        "x": X,
        "y": np.clip(5 + X + (CITY == 1) + RANDOM.normal(0, 0.5, N), 0, 10),
        "city": np.array(["a", "b", "c"])[CITY],
    }
)


def session(rows: Any, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.GaussianDP(5), "domains": DOMAINS, "name": "t"}
    return gt.protect(rows, **protection_arguments(usual | more))


def asked(s: Session, clip: int | None = None) -> VectorSum:
    data = LearningData.of(s)
    context = FitContext.from_parameters(data, Spend(mu=Fraction(1)), clip, None)
    (found,) = MomentsPlan(context, features_of(data.schema, None)).known()
    return found


def integers(rows: dict[str, list[Any]], clip: int | None, **more: Any) -> tuple[Any, Any, int, int]:
    with session(pl.DataFrame(rows, schema_overrides={"x": pl.Float64}), **more) as s:
        question = asked(s, clip)
        sums = np.array(Revealing().release(mechanism_of(s).engine.vectors(question)), dtype=object)
        weights = np.array([each.weight for each in question.components], dtype=object)
        return sums, weights, question.moved_squared(changed=False), question.moved_squared(changed=True)


def test_changing_a_row_costs_the_root_of_two_and_not_two() -> None:
    _, _, added, changed = integers(FEW, None)
    assert added == (4 * 1024**2) ** 2  # 1 + three columns, in steps of 1/1024 squared
    assert changed == 2 * added
    *_, added, changed = integers(FEW, 32, unit="who")
    assert changed / added < 2.001
    with session(MANY) as s, session(MANY, neighbours="change-one") as t:
        one, two = (gt.learn.moments(each, mu=1).noise for each in (s, t))
        assert two / one == pytest.approx(math.sqrt(2), rel=1e-6)


def test_doubles_alone_would_not_keep_a_bound_and_integers_tell() -> None:
    """Where vectors may have 2⁵² steps some draws are too long; the engines' check on integers leaves these out."""
    bound = 2**52
    drawn = np.random.default_rng(1).normal(size=(400, 3)) * 2.0**60
    shorter = np.trunc(drawn * (bound / np.sqrt((drawn**2).sum(axis=1)))[:, None])
    lengths = [sum(int(cell) ** 2 for cell in each) for each in shorter.tolist()]
    assert 4 < sum(length > bound**2 for length in lengths) < 200


def test_what_follows_from_moments_is_near_what_rows_would_say() -> None:
    with session(MANY) as s:
        made = gt.learn.moments(s, mu=2)
        assert s.budget.spent == 4
        design = np.column_stack([np.ones(N), X, MANY["y"], CITY == 1, CITY == 2]).astype(float)
        assert made.n == pytest.approx(N, abs=8 * made.noise)
        assert made.xtx == pytest.approx(design.T @ design, abs=200 * made.noise)
        assert made.names == ["x", "y", "city=b", "city=c"]
        assert made.means() == pytest.approx(design[:, 1:].mean(axis=0), abs=0.02)
        assert made.covariance() == pytest.approx(np.cov(design[:, 1:].T), abs=0.05)
        assert made.correlations() == pytest.approx(np.corrcoef(design[:, 1:].T), abs=0.05)
        model = made.ridge("y")
        assert model.coefficients == pytest.approx([1, 1, 0], abs=0.1)
        assert model.intercept == pytest.approx(5, abs=0.1)
        assert model.predict(MANY) == pytest.approx(5 + X + (CITY == 1), abs=0.5)
        assert made.ridge("y", ["x"]).coefficients == pytest.approx([1], abs=0.1)
        assert abs(made.ridge("y", ["x"], penalty=10**6).coefficients[0]) < 0.1
        assert made.ridge("x", ["y"]).coefficients == pytest.approx(
            [np.cov(X, MANY["y"])[0, 1] / np.var(MANY["y"].to_numpy())], abs=0.1
        )
        read = gt.learn.Moments.from_json(made.to_json())
        assert np.array_equal(read.ridge("y").weights, model.weights)
        assert read.guarantee == made.guarantee == gt.GaussianDP(2)
        assert "city=b" in repr(made)
        assert s.budget.spent == 4


def test_principal_components_are_those_of_the_covariance_and_noise_is_marked() -> None:
    with session(MANY) as s:
        fitted = gt.learn.PCA(features=["x", "y", "city"], n_components=3, mu=2).fit(s)
        encoded = np.column_stack([X / 4, MANY["y"].to_numpy() / 5 - 1, CITY == 1, CITY == 2]).astype(float)
        sizes, directions = np.linalg.eigh(np.cov(encoded.T))
        assert np.abs(np.diag(fitted.components_ @ directions[:, ::-1][:, :3])) == pytest.approx([1, 1, 1], abs=0.02)
        assert fitted.explained_variance_ratio_ == pytest.approx(sizes[::-1][:3] / sizes.sum(), abs=0.02)
        shown = fitted.transform(MANY.head(3))
        assert shown == pytest.approx((encoded[:3] - fitted.model_.mean) @ fitted.components_.T)
        again = gt.learn.PCA.from_json(fitted.to_json())
        assert np.array_equal(again.transform(MANY.head(3)), shown)
        assert again.get_params()["n_components"] == 3
        assert "?" not in repr(fitted.model_)
        spent = s.budget.spent
        fewer = gt.learn.PCA(features=["x", "y", "city"], n_components=1, mu=2).fit(s)
        assert s.budget.spent == spent  # how many are asked for decides nothing that is measured
        assert np.array_equal(fewer.components_[0], fitted.components_[0])
        noisy = gt.learn.PCA(features=["x", "y"], n_components=2, mu="1/5000").fit(s)
        assert "may be noise" in repr(noisy.model_)


def test_wide_tables_are_learned_from() -> None:
    """Conditions and sums of many columns nest no deeper than a request may."""
    wide = pl.DataFrame({f"x{place}": [0.5, None, 1.0] for place in range(70)} | {"y": [True, False, True]})
    with session(wide, domains=dict.fromkeys(wide.columns[:-1], (-1, 1))) as s:
        if tiers.is_long():
            assert len(gt.learn.moments(s, wide.columns[:-1], mu=1).correlations()) == 70
        fitted = gt.learn.ClassMeans("y", mu=1).fit(s)
        assert fitted.predict(wide.fill_null(0)).shape == (3,)


def test_what_has_no_moments_is_refused_at_no_cost() -> None:
    with session(MANY) as s:
        with pytest.raises(InvalidParameter, match="nothing"):
            gt.learn.moments(s, ["nothing"], mu=1)
        with pytest.raises(InvalidParameter, match="delta"):
            gt.learn.moments(s, epsilon=1)
        with pytest.raises(InvalidParameter, match="clip"):
            gt.learn.moments(s, mu=1, clip=3)
        with pytest.raises(InvalidParameter, match="columns"):
            gt.learn.PCA(n_components=9, mu=1).fit(s)
        assert not s.budget.spent
        made = gt.learn.moments(s, mu=1)
        for target, features in (("nothing", None), ("city", None), ("y", ["y", "x"]), ("y", ["x", "x"]), ("y", [])):
            with pytest.raises(InvalidParameter):
                made.ridge(target, features)
        with pytest.raises(InvalidParameter, match="penalty"):
            made.ridge("y", penalty=-1)
        with pytest.raises(InvalidParameter, match="kind"):
            gt.learn.Moments.from_json("{}")
    with session(pl.DataFrame(FEW), unit="who") as s:
        with pytest.raises(QueryRefused):  # any number of rows
            gt.learn.moments(s, ["x", "y"], mu=1)
        assert gt.learn.moments(s, ["x", "y"], mu=1, clip=1000).noise > 1000 * Fraction(1)


def test_a_fit_on_another_lattice_is_another_fit_and_kept_passes_of_another_size_are_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with session(MANY) as s:
        made = gt.learn.moments(s, ["x", "y"], mu=1)
        assert gt.learn.moments(s, ["x", "y"], mu=1).n == made.n
        monkeypatch.setattr(noisy_sums, "STEPS", 1 << 9)
        coarse = gt.learn.moments(s, ["x", "y"], mu=1)
        assert [each.kind for each in s.history()].count("reserved") == 2
        assert made.n == pytest.approx(N, rel=0.01)
        assert coarse.n == pytest.approx(N, rel=0.01)  # kept integers of other steps would be four times as many
        monkeypatch.setattr(noisy_sums, "lattice_of", lambda _: [])  # a name that tells too little
        monkeypatch.setattr(MomentsPlan, "names", lambda _: {})
        monkeypatch.setattr(noisy_sums, "Filter", lambda relation, _: relation)
        gt.learn.moments(s, ["x", "y"], mu=1)
        with pytest.raises(LedgerDamaged, match="other passes"):
            gt.learn.moments(s, ["x"], mu=1)
