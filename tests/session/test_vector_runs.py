"""Runs of sums of vectors: one Gaussian charge, draws that are kept, and integers that move no further than priced."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.compile import Spend
from giveortake.configuration import protection_arguments
from giveortake.engines import Component, KeyColumn, Quantum, Summand, VectorSum
from giveortake.errors import BudgetExceeded, InvalidParameter, MechanismSpent, QueryRefused
from giveortake.mechanisms.vectors import VectorNoise
from giveortake.plan import ColumnReference
from giveortake.privacy import events
from giveortake.session import Session
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.session import mechanism_of
from inside import begun
from replay import Revealing
from tiers import tiered

MU = Fraction(1, 2)
DOMAINS = {"x": (-1, 1), "y": (-1, 1), "city": ["a", "b"]}
ROWS: dict[str, list[Any]] = {
    "who": [1, 1, 2, 3, 3, 3],
    "x": [0.5, -1.0, 1.0, 0.2, 0.3, -0.9],
    "y": [1.0, 0.5, -1.0, 0.25, -0.5, 1.0],
    "city": ["a", "b", "a", "a", "b", "b"],
}


def session(rows: dict[str, list[Any]] | None = None, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": "who", "budget": gt.GaussianDP(1), "domains": DOMAINS, "name": "t"}
    return gt.protect(pl.DataFrame(ROWS if rows is None else rows), **protection_arguments(usual | more))


def _asked(data: LearningData, shape: str, bound: int) -> VectorSum:
    one = Quantum(Fraction(1, 32), Fraction(-1), Fraction(1))
    share = Quantum(Fraction(1, 32), Fraction(0), Fraction(1))
    x, y, count = (
        Summand("sum", ColumnReference("x"), one),
        Summand("sum", ColumnReference("y"), one),
        Summand("sum", ColumnReference("x"), share),
    )
    city = KeyColumn("city", ColumnReference("city"), ("a", "b"))
    gram = tuple(Component(pair, weight=1 + (pair[0] != pair[1])) for pair in [(0, 0), (0, 1), (1, 1)])
    return {
        "gram": VectorSum(data.relation, (x, y), (), gram, bound),
        "gradient": VectorSum(data.relation, (x, y), (), (Component((0,)), Component((0, 1))), bound),
        "signed cells": VectorSum(data.relation, (x,), (city,), (Component((0,), (0,)), Component()), bound),
        "counts": VectorSum(data.relation, (count,), (city,), (Component((0,), (0,)), Component((), (0,), 2)), bound),
    }[shape]


def test_a_run_of_sums_is_one_gaussian_charge_however_many_sums_it_draws() -> None:
    with session() as s:
        data = LearningData.of(s)
        asked = _asked(data, "gram", 500)
        request = data.request([asked], Spend(mu=MU), {"learner": "test"}, "a model of t")
        with begun(request) as run:
            for place in range(4):
                run.add_up(f"step {place}", asked, MU / 2 * (1 - Fraction(1, 2**30)))
            with pytest.raises(BudgetExceeded):
                run.add_up("too much", asked, Fraction(1, 1000))
            run.settle()
        assert [entry.kind for entry in s.history()].count("reserved") == 1
        assert request.event == events.Gaussian(2)
        assert request.promise == gt.GaussianDP(MU, unit=gt.unit("who"))
        assert s.budget.spent == MU**2
        with begun(request) as again:
            assert [step.names for step in again.steps] == [(f"step {place}",) for place in range(4)]
            assert not again.charged


def test_an_interrupted_run_goes_on_with_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with session() as s:
        data = LearningData.of(s)
        asked = _asked(data, "gradient", 500)
        request = data.request([asked], Spend(mu=MU), {"learner": "test"}, "a model of t")
        engine = mechanism_of(s).engine
        with suppress(KeyboardInterrupt), begun(request) as run:
            first = run.add_up("first", asked, MU / 2)
            monkeypatch.setattr(type(engine), "vectors", _interrupted)
            run.add_up("second", asked, MU / 2)
        with pytest.raises(MechanismSpent):
            run.add_up("second", asked, MU / 2)
        monkeypatch.undo()
        with begun(request) as again:
            (kept,) = again.steps
            assert np.array_equal(kept.steps, first.steps)  # type: ignore[union-attr]
            again.add_up("second", asked, MU / 2)
        assert s.budget.spent == MU**2


def _interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


def test_noise_has_the_stated_deviation_and_less_where_cells_are_heavier() -> None:
    noise = VectorNoise(40, ((4000, 1), (4000, 4)))
    drawn = noise.release(np.zeros(8000, dtype=np.int64)).astype(float)
    for cells, deviation in ((drawn[:4000], 40), (drawn[4000:], 20)):
        assert cells.std() == pytest.approx(deviation, rel=6 / math.sqrt(8000))
        assert abs(cells.mean()) < 6 * deviation / math.sqrt(4000)
    assert noise.deviations().tolist() == [40.0] * 4000 + [20.0] * 4000


def test_only_rows_behind_a_session_are_learned_from() -> None:
    with session() as s:
        assert LearningData.of(s.table().filter(gt.col("x") > 0)).name == "t"
        assert "who" not in LearningData.of(s).schema
        with pytest.raises(InvalidParameter, match="neither a session"):
            LearningData.of(pl.DataFrame(ROWS))  # type: ignore[arg-type]
        part = s.partition("city")["a"]
        data = LearningData.of(part)
        with pytest.raises(QueryRefused):
            data.request([_asked(data, "gram", 5)], Spend(mu=MU), {}, "a model")
        with session() as other, pytest.raises(QueryRefused):
            data.require(_asked(LearningData.of(other), "gram", 5))


# -- replay on neighbours ---------------------------------------------------------------------------------------------


BOUNDS: Any = tiered((3, 33), (3, 33, 200))


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", ["who", gt.ROW])
def test_one_unit_moves_the_integers_by_no_more_than_they_were_priced_for(unit: Any, neighbours: Any) -> None:
    """A unit is taken out, or changed to one that points the other way; the tightest case comes close."""
    asked = [(shape, bound) for shape in ("gram", "gradient", "signed cells", "counts") for bound in BOUNDS]
    closest = dict.fromkeys([shape for shape, _ in asked], 0.0)
    for who in (2,) if unit is gt.ROW else (1, 2, 3):  # the second has one row
        sides = [_sums(rows, asked, unit, neighbours) for rows in _neighbours(neighbours, who)]
        for place, (shape, bound) in enumerate(asked):
            for one, other in itertools.combinations([side[place] for side in sides], 2):
                length = int((one.weights * (one.sums - other.sums) ** 2).sum())
                assert length <= one.moved, f"{shape} of {who} at {bound}"
                closest[shape] = max(closest[shape], length / one.moved)
    assert min(closest.values()) > 0.5, closest  # else the price is more than it has to be


@dataclass
class Side:
    sums: Any
    weights: Any
    moved: int


def _sums(rows: dict[str, list[Any]], asked: list[tuple[str, int]], unit: Any, neighbours: Any) -> list[Side]:
    found = []
    with session(rows, unit=unit, neighbours=neighbours) as s:
        for shape, bound in asked:
            each = _asked(LearningData.of(s), shape, bound)
            sums = np.array(Revealing().release(mechanism_of(s).engine.vectors(each)), dtype=object)
            weights = np.repeat([component.weight for component in each.components], each.sizes)
            found.append(Side(sums, weights, each.moved_squared(changed=neighbours == "change-one")))
    return found


def _neighbours(neighbours: str, who: int) -> list[dict[str, list[Any]]]:
    kept = [index for index, each in enumerate(ROWS["who"]) if each != who]
    without = {name: [values[index] for index in kept] for name, values in ROWS.items()}
    if neighbours == "add-remove":
        return [ROWS, without]
    changed = ((1.0, 1.0, "a"), (-1.0, -1.0, "a"), (1.0, -1.0, "b"), (-1.0, 1.0, "b"))
    persons = [dict(zip(ROWS, (who, *cells), strict=True)) for cells in changed]
    return [ROWS, *({name: [*values, cells[name]] for name, values in without.items()} for cells in persons)]
