"""What quotes and cards of models say, where somebody would believe a model otherwise, or pay for it twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.learn import KMeans, LogisticRegression
from giveortake.session import Session

COUNT = 4000
X = np.linspace(-1, 1, COUNT)
ROWS = pl.DataFrame({"who": np.arange(COUNT) // 4, "x": X, "churn": X > 0, "rare": np.arange(COUNT) % 100 == 0})


def session(**more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(9, "1e-5"), "domains": {"x": (-1, 1)}}
    return gt.protect(ROWS, **protection_arguments(usual | more))


def learner(target: str = "churn", epsilon: Any = 4) -> Any:
    return LogisticRegression(target, ["x"], epsilon=epsilon, delta="1e-6")


def test_a_fit_whose_noise_hides_everything_is_called_worthless_before_and_after() -> None:
    """Six deviations: of 50 sums of noise alone one is beyond them once in ten million fits."""
    with session() as s:
        little, enough = learner(epsilon="0.001").quote(s, n=COUNT), learner().quote(s, n=COUNT)
        noise, model = learner(epsilon="0.00001").fit(s), learner().fit(s)
    for bad, good in ((little, enough), (noise.card(), model.card())):
        assert "worthless" in str(bad)
        assert "worthless" not in str(good)


def test_a_card_says_for_which_class_a_model_speaks_when_it_is_shrunk_and_that_a_fit_again_is_free() -> None:
    with session() as s:
        model, rare, again = learner().fit(s), learner("rare", epsilon=1).fit(s), learner().fit(s)
    assert "churn = True more likely" in str(model.card())
    assert "shrunk" in str(rare.card())
    assert "nothing was charged" in str(again.card())
    assert "nothing was charged" not in str(model.card())


def test_a_card_says_that_rows_near_a_centre_are_counted_with_the_clip() -> None:
    with session(unit="who") as s:
        model = KMeans(features=["x"], n_clusters=2, clip=2, epsilon=1, delta="1e-7").fit(s)
    assert "counted with the clip" in str(model.card())
