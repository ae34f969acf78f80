"""Multiplicative weights over all combinations of values: what the theorem says, beside what is so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import InvalidParameter
from giveortake.privacy import events
from giveortake.session.runs import AdaptiveRun, NoisyTable
from giveortake.session.session import Session

ROWS, SIZES = 4000, {"a": 3, "b": 4, "c": 2, "d": 5}
ASKED: dict[str, Any] = {"columns": list(SIZES), "epsilon": 2, "delta": "1e-6"}


def _frame() -> pl.DataFrame:
    generator = np.random.default_rng(9)
    a = generator.integers(0, 3, ROWS)
    b = (a + generator.integers(0, 2, ROWS)) % 4
    c = (b > 1).astype(int)
    return pl.DataFrame({"a": a, "b": b, "c": c, "d": generator.integers(0, 5, ROWS)})


@pytest.fixture
def session() -> Iterator[Session]:
    domains = {name: list(range(size)) for name, size in SIZES.items()}
    with gt.protect(_frame(), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains) as opened:
        yield opened


def test_weights_are_charged_once_keep_the_bound_and_learn_relations(session: Session) -> None:
    made = gt.synth.mwem(session, rounds=9, **ASKED)
    (charged,) = [entry for entry in session.history() if entry.kind == "reserved"]
    assert charged.content["event"] == events.ZCDP(made.table.rho).to_dict()
    assert made.rounds == 9
    assert 0 < made.seen < made.bound
    assert f"{made.bound:.3f}" in repr(made)
    rows = made.table.to_polars()
    assert abs(len(rows) - ROWS) < 400
    assert len(rows.filter((pl.col("b") > 1) == (pl.col("c") == 1))) > 0.9 * len(rows)
    again = gt.synth.mwem(session, rounds=9, **ASKED)
    assert not again.table.charged
    assert np.array_equal(again.table.model.counts("a", "d"), made.table.model.counts("a", "d"))


def test_the_potential_falls_as_the_proof_says(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean over rounds of the true squared misfits, within the bound made of the noise that was drawn."""
    truth = np.zeros(tuple(SIZES.values()))
    np.add.at(truth, tuple(_frame()[name].to_numpy() for name in SIZES), 1 / ROWS)
    names, before = list(SIZES), []
    right = AdaptiveRun.select

    def watched(self: AdaptiveRun, tables: Any, offers: Any, rho: Any) -> int:
        place = right(self, tables, offers, rho)
        axes = tuple(names.index(column.name) for column in tables[place])
        exact = truth.sum(axis=tuple(each for each in range(4) if each not in axes))
        model = offers[place].expected.reshape(exact.shape)
        before.append(float(np.abs(exact - model / model.sum()).sum()) ** 2)
        return place

    monkeypatch.setattr(AdaptiveRun, "select", watched)
    made = gt.synth.mwem(session, rounds=12, **ASKED)
    assert len(before) == 12
    assert np.mean(before) <= made.bound**2
    assert np.mean(before[-4:]) < np.mean(before[:4])


def test_an_interrupted_run_of_weights_goes_on(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    right, calls = AdaptiveRun.measure, []

    def interrupted(self: AdaptiveRun, *args: Any, **more: Any) -> NoisyTable:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return right(self, *args, **more)

    monkeypatch.setattr(AdaptiveRun, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gt.synth.mwem(session, rounds=5, **ASKED)
    monkeypatch.undo()
    made = gt.synth.mwem(session, rounds=5, **ASKED)
    assert made.rounds == 5
    assert sum(cost for _, cost in made.table.charges) <= made.table.rho


def test_too_many_combinations_and_bins_nobody_knows_are_refused() -> None:
    frame = pl.DataFrame({name: [0, 1] for name in "abcdef"})
    domains: dict[str, Any] = dict.fromkeys("abcdef", (0, 99))
    with gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains) as session:
        asked: dict[str, Any] = {"columns": list("abcd"), "epsilon": 2, "delta": "1e-6"}
        with pytest.raises(InvalidParameter, match="combinations"):
            gt.synth.mwem(session, **asked)
        with pytest.raises(InvalidParameter, match="quantiles"):
            gt.synth.mwem(session, **asked | {"bins": {"a": 4}})
