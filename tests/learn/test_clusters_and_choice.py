"""Clusters, and which learner is chosen for a table: from declarations, the spend and a number that is public."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.learn import KMeans, choose
from giveortake.session import Session

RANDOM = np.random.default_rng(11)
CENTRES = np.array([[10.0, 10.0], [80.0, 20.0], [40.0, 90.0]])
PLACES = RANDOM.integers(0, 3, 3000)
POINTS = CENTRES[PLACES] + RANDOM.normal(0, 4, (3000, 2))
ROWS = pl.DataFrame(
    {"who": np.arange(3000) // 3, "x": POINTS[:, 0], "y": POINTS[:, 1], "place": PLACES, "near": PLACES == 0}
)
DOMAINS: dict[str, Any] = {"x": (0, 100), "y": (0, 100), "place": [0, 1, 2]}
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def session(rows: pl.DataFrame = ROWS, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(8, "1e-5"), "domains": DOMAINS, "name": "points"}
    return gt.protect(rows, **protection_arguments(usual | more))


def test_clusters_are_found_kept_and_free_when_they_are_asked_for_again() -> None:
    spend = SPEND | {"epsilon": 6}  # with 1, noise moves a centre by more than 3 in a few of a hundred runs
    with session() as s:
        model = KMeans(features=["x", "y"], n_clusters=3, **spend).fit(s)
        spent = s.budget.spent
        again = KMeans(features=["x", "y"], n_clusters=3, **spend).fit(s)
        assert s.budget.spent == spent
    assert np.array_equal(again.cluster_centers_, model.cluster_centers_)
    nearest = np.abs(model.cluster_centers_[:, None, :] - CENTRES[None]).max(axis=2).min(axis=0)
    assert nearest.max() < 3
    read = KMeans.from_json(model.to_json())
    assert np.array_equal(read.predict(ROWS), model.predict(ROWS))
    assert model.transform(ROWS).shape == (3000, 3)
    assert model.score(ROWS) == pytest.approx(-(model.transform(ROWS).min(axis=1) ** 2).sum())


@pytest.mark.parametrize(
    ("target", "n", "epsilon", "learner"),
    [
        ("near", 100, "0.1", "ClassMeans"),
        ("near", 2_000, "0.5", "LogisticRegression"),
        ("near", 10**6, "1", "AdditiveClassifier"),
        ("place", 10**6, "1", "NaiveBayes"),
        ("place", 100, "0.1", "ClassMeans"),
        ("y", 1_000, "0.1", "LinearRegression"),
        ("y", 10**6, "1", "AdditiveRegressor"),
    ],
)
def test_the_choice_follows_from_what_is_public_and_says_why(target: str, n: int, epsilon: str, learner: str) -> None:
    found = []
    for rows in (ROWS, ROWS.head(1)):  # whatever the rows are
        with session(rows) as s:
            features = ["x"] if target == "y" else ["x", "y"]
            choice = choose(s, target, features, n=n, epsilon=epsilon, delta="1e-6")
            assert not [each for each in s.history() if each.kind == "reserved"]
            found.append(choice)
    assert str(found[0]) == str(found[1])
    assert type(found[0].learner).__name__ == learner
    assert learner in found[0].why


def test_no_choice_is_made_by_the_exact_number_of_rows() -> None:
    with session(unit="who") as s:
        with pytest.raises(QueryRefused, match="not public"):
            choose(s, "near", ["x"], clip=3, **SPEND)
        s.profile().answer(epsilon=1)
        about = choose(s, "near", ["x"], clip=3, **SPEND)
        assert about.learner is not None
    with session() as s, pytest.raises(InvalidParameter, match="n_clusters"):
        KMeans(features=["x"], n_clusters=1000, **SPEND).fit(s)
