"""What learners and tests of hypotheses say to whoever calls them wrongly: what it is, and what to write instead."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import InvalidParameter
from giveortake.session import Session

COUNT = 2_000
KMEANS: Any = gt.learn.KMeans  # as whoever has no types calls them
COMPONENTS: Any = gt.learn.PCA
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-7"}


@pytest.fixture
def s() -> Iterator[Session]:
    place = np.arange(COUNT)
    columns = {
        "who": place // 4,
        "amount": place % 50,
        "quantity": place % 7,
        "channel": np.where(place % 3 == 0, "web", "shop"),
        "returned": place % 2 == 0,
        "day": [dt.date(2024, 1, 1 + each % 28) for each in place.tolist()],
    }
    domains: dict[str, Any] = {"amount": (0, 50), "quantity": (0, 7), "channel": ["web", "shop"]}
    domains["day"] = (dt.date(2024, 1, 1), dt.date(2024, 2, 1))
    with gt.protect(pl.DataFrame(columns), unit=gt.ROW, budget=gt.ApproxDP(30, "1e-5"), domains=domains) as s:
        yield s


def test_tests_of_hypotheses_say_what_they_take(s: Session) -> None:
    both = gt.learn.contingency(s, ["channel", "returned"], **SPEND)
    one = gt.learn.contingency(s, ["channel"], **SPEND)
    with pytest.raises(
        InvalidParameter, match="'channel by returned' has 2 columns, and goodness_of_fit takes"
    ) as told:
        gt.learn.goodness_of_fit(both)
    assert 'contingency(s, ["channel"], ' in str(told.value.hint)
    with pytest.raises(InvalidParameter, match="'channel' has 1 column, and independence takes two") as told:
        gt.learn.independence(one)
    assert 'contingency(s, ["channel", "…"], ' in str(told.value.hint)
    assert "its distribution includes the noise" in str(gt.learn.independence(both))


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (gt.learn.independence, 'gt.learn.independence(gt.learn.contingency(s, ["region", "sex"], '),
        (gt.learn.goodness_of_fit, 'gt.learn.goodness_of_fit(gt.learn.contingency(s, ["region"], '),
        (lambda s: gt.learn.anova(s, "amount", "channel"), "gt.learn.moments(s, "),
        (lambda s: gt.learn.difference_of_means(s, "amount", "channel"), "gt.learn.moments(s, "),
        (lambda s: gt.learn.correlation(s, "amount", "quantity"), "gt.learn.moments(s, "),
    ],
)
def test_a_test_of_a_hypothesis_refuses_a_session_and_says_what_it_takes(s: Session, call: Any, hint: str) -> None:
    with pytest.raises(InvalidParameter, match="Session") as told:
        call(s)
    assert hint in str(told.value.hint)
    assert not [each for each in s.history() if each.kind == "reserved"]


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: KMEANS(["amount", "quantity"], 3), 'gt.learn.KMeans(features=["age", "weight"], n_clusters=3)'),
        (lambda: KMEANS(3), 'gt.learn.KMeans(features=["age", "weight"], n_clusters=3)'),
        (lambda: COMPONENTS(2), 'gt.learn.PCA(features=["age", "weight"], n_components=2)'),
    ],
)
def test_learners_without_a_target_are_told_what_is_what_when_they_are_made(call: Any, hint: str) -> None:
    with pytest.raises(InvalidParameter, match="takes its value by name") as told:
        call()
    assert told.value.hint == hint


def test_columns_that_cannot_be_learned_from_are_called_what_they_are(s: Session) -> None:
    with pytest.raises(InvalidParameter, match="is a date, and learners take numbers and categories") as told:
        gt.learn.LogisticRegression("returned", ["day"], **SPEND).fit(s)
    assert ".month()" in str(told.value.hint)
    with pytest.raises(InvalidParameter, match="columns = 'amount' needs a list of columns, each once") as told:
        gt.learn.moments(s, "amount", **SPEND)
    assert "target" not in str(told.value)
    assert told.value.hint == '["amount"]'
    with pytest.raises(InvalidParameter, match="X = nan is a missing number of `amount`"):
        gt.learn.LogisticRegression("returned", ["amount"], **SPEND).fit(s).predict({"amount": [np.nan]})


def test_fitted_learners_have_what_was_released_and_say_why_the_rest_is_missing(s: Session) -> None:
    found = gt.learn.PCA(features=["amount", "quantity"], **SPEND).fit(s)
    assert found.feature_names_in_.tolist() == ["amount", "quantity"]
    assert found.explained_variance_ / found.explained_variance_.sum() == pytest.approx(
        found.explained_variance_ratio_, abs=0.02
    )
    clusters = gt.learn.KMeans(features=["amount"], n_clusters=2, **SPEND)
    assert not hasattr(clusters, "feature_names_in_")
    clusters.fit(s)
    assert "with the clip" not in str(clusters.card())
    for name, hint in (("labels_", "predict"), ("inertia_", "score")):
        with pytest.raises(AttributeError, match=rf"(?s)no attribute '{name}'.*hint: .*{hint}\(rows\)"):
            getattr(clusters, name)


def test_a_card_says_that_rows_near_a_centre_are_counted_with_the_clip() -> None:
    rows = pl.DataFrame({"who": np.arange(COUNT) // 4, "x": np.arange(COUNT) % 10})
    with gt.protect(rows, unit="who", budget=gt.ApproxDP(3, "1e-5"), domains={"x": (0, 9)}) as s:
        model = gt.learn.KMeans(features=["x"], n_clusters=2, clip=2, **SPEND).fit(s)
    assert "counted with the clip, so too low where people have many rows" in str(model.card())


def test_a_card_speaks_of_other_directions_only_where_there_are_some(s: Session) -> None:
    model = gt.learn.LinearRegression("amount", ["quantity"], **SPEND).fit(s)
    for followed, rest in (((2, 2), False), ((1, 2), True)):
        model.model_ = replace(model.model_, followed=followed)
        assert f"directions followed: {followed[0]} of 2" in str(model.card())
        assert ("in the others noise decides" in str(model.card())) == rest


def test_the_axis_of_shapes_reaches_beyond_every_band(s: Session) -> None:
    model = gt.learn.AdditiveClassifier("returned", ["amount", "channel"], **SPEND).fit(s)
    bands = [(effect - 2 * doubt, effect + 2 * doubt) for each in model.shapes().values() for _, effect, doubt in each]
    low, high = min(low for low, _ in bands), max(high for _, high in bands)
    domains = [each["encoding"]["y"]["scale"]["domain"] for each in _layers(model.plot().to_dict())]
    assert domains
    assert all(start < low and high < end for start, end in domains)


def _layers(chart: Any) -> list[Any]:
    return [layer for row in chart["vconcat"] for part in row["hconcat"] for layer in part["layer"]]
