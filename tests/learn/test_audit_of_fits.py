"""Whole fits as a black box: samples of them refute no promise, and refute that of a mutant that does not cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.engines import VectorSum
from giveortake.engines.questions import LONGEST
from giveortake.learn import NaiveBayes
from giveortake.session import Session
from giveortake.session.session import mechanism_of

DELTA = "0.01"
FIRST = pl.DataFrame({"who": [0] * 4000, "x": [1.0] * 4000, "bought": [True] * 4000})
OTHERS = pl.DataFrame(
    {"who": range(1, 8), "x": np.linspace(-1, 1, 7), "bought": [place % 2 == 0 for place in range(7)]}
)


@contextmanager
def neighbours() -> Iterator[tuple[Session, Session]]:
    """Two small tables, one of them without a person who has many rows, with budget for many fits."""
    usual: dict[str, Any] = {"unit": "who", "budget": gt.GaussianDP(100), "domains": {"x": (-1, 1)}, "name": "rows"}
    with gt.protect(pl.concat([FIRST, OTHERS]), **usual) as one, gt.protect(OTHERS, **usual) as other:
        yield one, other


def fits() -> Any:
    """A fit, and the chance that its model gives a public row; each costs a little less, so that none is a replay."""
    number = count()

    def fit(s: Session) -> float:
        made = NaiveBayes("bought", ["x"], mu=1 - Fraction(next(number), 10**6), clip=1).fit(s)
        return float(made.predict_proba({"x": np.array([1.0])})[0, 1])

    return fit


@pytest.mark.long  # replays of neighbours find the same in the gate
@pytest.mark.statistical
def test_samples_of_whole_fits_refute_no_promise_and_refute_that_of_a_mutant_that_does_not_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim = gt.GaussianDP(1).epsilon_at(DELTA)
    with neighbours() as (one, other):
        usual: dict[str, Any] = {"samples": 200, "confidence": "0.9999", "delta": DELTA}
        assert float(gt.audit.epsilon_lower_bound(fits(), one, other, **usual)) <= claim
    with neighbours() as (one, other):
        engine = type(mechanism_of(one).engine)
        right = engine.vectors

        def uncut(self: Any, asked: VectorSum) -> Any:
            return right(self, replace(asked, bound=LONGEST))

        monkeypatch.setattr(engine, "vectors", uncut)
        usual |= {"confidence": "0.95"}
        assert float(gt.audit.epsilon_lower_bound(fits(), one, other, **usual)) > claim
