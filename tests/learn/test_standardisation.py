"""Means and deviations by one release: a row moves it no farther than it is priced for, and none is cut."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.compile import Spend
from giveortake.learn.features import features_of, standardisation_sum
from giveortake.learn.noisy_sums import FitContext
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.session import mechanism_of
from replay import Revealing

DOMAINS: dict[str, Any] = {"x": (-3, 5), "y": (0, 1), "kind": ["a", "b", "c"]}
FARTHEST = [  # every corner of the declared bounds, and beyond them
    {"x": x, "y": y, "kind": kind} for x, y, kind in product((-9.0, -3.0, 5.0), (0.0, 1.0), ("a", "b", "c", "other"))
]


def _sums(rows: list[dict[str, Any]]) -> tuple[Any, Any]:
    """The exact integers, and what was asked."""
    frame = pl.DataFrame(rows, schema={"x": pl.Float64, "y": pl.Float64, "kind": pl.String})
    with gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(1, "1e-6"), domains=DOMAINS) as s:
        data = LearningData.of(s)
        context = FitContext.from_parameters(data, Spend(mu=Fraction(1)), None, None)
        asked = standardisation_sum(context, features_of(data.schema, None))
        return Revealing().release(mechanism_of(s).engine.vectors(asked)), asked


def test_one_row_moves_the_sums_by_the_length_that_is_priced_at_most() -> None:
    base = {"x": 1.0, "y": 0.5, "kind": "b"}
    before, asked = _sums([base])
    for row in FARTHEST:
        after, _ = _sums([base, row])
        moved = (after - before).astype(object)
        length = sum(int(each) ** 2 for each in moved)
        assert length <= asked.moved_squared(changed=False), row
        if row["kind"] in {"b", "c"}:  # the price is not larger than it has to be, and the longest rows are not cut
            assert length >= 0.99 * asked.bound**2, row
            assert np.abs(moved).max() == 1 << 20, row
