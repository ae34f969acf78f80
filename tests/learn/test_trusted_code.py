"""Gradients by code that a custodian trusts: cut whatever it returns, no outcome of its own, and no analyst's."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.engines import Component, Sample, VectorSum
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.sql.engine import SQLEngine
from giveortake.errors import InvalidParameter, QueryRefused, Unprovable
from giveortake.learn.gradient_descent import sgd
from giveortake.learn.noisy_sums import value
from giveortake.mechanisms.vectors import TrustedGradients, UnitRows, VectorNoise
from giveortake.plan import ColumnReference
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from recorded_entropy import recorded_system
from replay import Revealing

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(0, 1, 1200)
ROWS = pl.DataFrame({"who": np.arange(1200) // 3, "x": X, "bought": RANDOM.random(1200) < 1 / (1 + np.exp(-3 * X))})
USUAL: dict[str, Any] = {"steps": 12, "rate": "1/4", "n": 400, "epsilon": 3, "delta": "1e-6", "learning_rate": 8.0}
BOUND = 1 << 12
NOISE = VectorNoise(Fraction(1, 100), ((3, 1),))


@pytest.fixture(autouse=True)
def multiplier(monkeypatch: pytest.MonkeyPatch) -> None:
    """What calibration certifies for these steps; `test_sgd` has it certified."""
    monkeypatch.setattr(sys.modules["giveortake.learn.gradient_descent"], "_multiplier", lambda *_: Fraction(915, 512))


def logistic(theta: npt.NDArray[np.float64], rows: UnitRows) -> Any:
    return rows.x.T @ (1 / (1 + np.exp(-rows.x @ theta)) - rows.y)


def session(rows: pl.DataFrame = ROWS, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": "who", "budget": gt.ApproxDP(12, "1e-5"), "domains": {"x": (-4, 4)}}
    return gt.protect(
        rows, **protection_arguments(usual | {"name": "data", "trusted": {"logistic@1": logistic}} | more)
    )


def reserved(s: Session) -> int:
    return [each.kind for each in s.history()].count("reserved")


def test_trusted_code_makes_the_same_descent_as_an_expression_of_the_same_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        VectorNoise, "release", lambda self, exact, entropy=None: exact.open(self).released().astype(object)
    )
    paths = []
    for loss in ("logistic", "logistic@1"):
        with session() as s, recorded_system("samples of the same persons"):
            paths.append(sgd(s, "bought", ["x"], loss=loss, **USUAL).path)
    assert np.allclose(paths[0], paths[1], atol=0.02)


def test_what_names_a_fit_is_what_the_custodian_calls_the_code() -> None:
    with session(trusted={"logistic@1": logistic, "logistic@2": lambda theta, rows: logistic(theta, rows) / 2}) as s:
        made = sgd(s, "bought", ["x"], loss="logistic@1", **USUAL)
        assert (made.predict(ROWS) == ROWS["bought"].to_numpy()).mean() > 0.7
        assert "logistic@1" in str(made.card())
        spent = s.budget.spent
        again = sgd(s, "bought", ["x"], loss="logistic@1", **USUAL)
        assert (s.budget.spent, reserved(s)) == (spent, 1)
        assert np.array_equal(again.path, made.path)
        sgd(s, "bought", ["x"], loss="logistic@2", **USUAL)
        assert reserved(s) == 2


def test_code_sees_all_rows_of_one_person_or_one_row_where_rows_are_protected() -> None:
    for unit, rows in (("who", 3), (gt.ROW, 1)):
        seen: list[Any] = []

        def shapes(theta: Any, found: UnitRows, seen: list[Any] = seen) -> Any:
            seen.append((theta.shape, found.x.shape, found.y.shape, set(found.x[:, 0]), set(found.y) <= {0, 1}))
            return theta

        with session(unit=unit, trusted={"shapes@1": shapes}) as s:
            sgd(s, "bought", ["x"], loss="shapes@1", **USUAL | {"steps": 1})
        assert all(each == ((2,), (rows, 2), (rows,), {1.0}, True) for each in seen)
        sampled = 1200 / rows / 4
        assert len(seen) == pytest.approx(sampled, abs=6 * np.sqrt(sampled))


def fails(theta: Any, rows: UnitRows) -> Any:
    raise SystemExit if rows.y[0] else ValueError(rows)


def changes_its_arguments(theta: Any, rows: UnitRows) -> Any:
    theta += 1e6
    rows.x[:] = theta
    return theta


CODES: dict[str, Any] = {
    "long": lambda theta, rows: rows.x.sum(axis=0) * 1e300,
    "infinite": lambda theta, rows: [np.inf * rows.y[0], 1, np.nan],
    "short": lambda theta, rows: rows.x[0, :2],
    "nothing": lambda theta, rows: None,
    "text": lambda theta, rows: "rows",
    "tiny": lambda theta, rows: rows.x[0] * 5e-324,
    "by order": lambda theta, rows: rows.x[0] * 7,
    "warns": lambda theta, rows: rows.x[0] / (rows.y[0] * 0),
    "fails": fails,
    "changes": changes_its_arguments,
}


def gradients(code: Any, bound: int = BOUND) -> TrustedGradients:
    return TrustedGradients(code, (0.5, -0.5, 0.25), 1 << 10, 1 << 20, bound, NOISE)


def moved_too_far(made: TrustedGradients, units: list[Any]) -> bool:
    """Whether a unit more moves the sum by more than the bound."""
    whole = made.summed(units)
    moves = [whole - made.summed(units[:place] + units[place + 1 :]) for place in range(len(units))]
    return any(sum(int(each) ** 2 for each in move) > made.bound**2 for move in moves)


def units_of(rows: pl.DataFrame, who: int | None = None) -> list[Any]:
    """What an engine hands over of a sample, without one person."""
    with session(rows if who is None else rows.filter(pl.col("who") != who)) as s:
        relation, engine = mechanism_of(s).origin.relations["data"], mechanism_of(s).engine
        values = (value(ColumnReference("x")), value(ColumnReference("x"), steps=512), value(ColumnReference("x")))
        asked = VectorSum(relation, values, (), (Component((0,)),) * 3, BOUND, Sample("salt", 2**59))
        assert isinstance(engine, DuckDBEngine)
        handed = engine.rows_of_units(asked)
        assert repr(handed) == "<sensitive>"
        found: list[Any] = Revealing().release(handed)
        return sorted(sorted(unit) for unit in found)


def test_no_person_moves_a_sum_by_more_than_the_bound_whatever_the_code_returns() -> None:
    units = units_of(ROWS.head(60))
    assert 3 < len(units) < 17
    assert {len(unit) for unit in units} == {3}
    for who in range(4):  # one person less is one unit less, or none: nobody else's rows are others
        others = units_of(ROWS.head(60), who)
        assert len(others) >= len(units) - 1
        assert all(each in units for each in others)
    for name, code in CODES.items():
        assert not moved_too_far(gradients(code), units), name


def test_rows_come_in_an_order_of_their_own_and_nothing_that_code_does_reaches_another_person() -> None:
    units = units_of(ROWS.head(60))
    turned = [unit[::-1] for unit in units[::-1]]
    for name in ("by order", "changes"):
        made = gradients(CODES[name])
        assert np.array_equal(made.summed(units), made.summed(turned))
    alone = [gradients(changes_its_arguments).summed([unit]) for unit in units]
    assert np.array_equal(gradients(changes_its_arguments).summed(units), np.sum(alone, axis=0))


@pytest.mark.parametrize("name", ["infinite", "short", "nothing", "text", "fails", "warns"])
def test_what_is_no_gradient_counts_as_zero_and_is_no_outcome(name: str) -> None:
    with session(trusted={"code@1": CODES[name]}) as s:
        made = sgd(s, "bought", ["x"], loss="code@1", **USUAL | {"steps": 2})  # warnings are errors in tests
        assert made.path.shape == (2, 2)
    if name != "warns":
        assert not gradients(CODES[name]).summed([[[1, 2, 3]], [[0, 5, 6]]]).any()


def test_cut_vectors_are_no_longer_than_the_bound_on_integers_of_any_size() -> None:
    draws = np.random.default_rng(2).normal(0, 1, (300, 3)) * 10.0 ** np.arange(-3, 297)[:, None]
    for bound in (1, 1 << 12, 1 << 30):
        lengths = [sum(each**2 for each in gradients(None, bound).cut(draw)) for draw in draws]
        assert max(lengths) <= bound**2
        assert max(lengths) > 0.99 * bound**2 or bound == 1
    assert gradients(None).cut(np.array([2.0**-19, -(2.0**-20), 2.0**-21])) == [2, -1, 0]


def test_an_analyst_has_no_code_and_brings_none() -> None:
    with gt.ledger.open(":memory:") as book, session(ledger=book) as s:
        book.analyst("ann", datasets=["data"], budget=gt.ApproxDP(6, "1e-6"))
        ann = s.as_analyst("ann")
        assert not mechanism_of(ann).trusted
        for asker, called in ((ann, "logistic@1"), (ann, "absent@1"), (s, "absent@1")):
            with pytest.raises(InvalidParameter, match=called):
                sgd(asker, "bought", ["x"], loss=called, **USUAL)
        with pytest.raises(AttributeError, match="Expr"):  # a function of theirs is called once, with two columns
            sgd(ann, "bought", ["x"], loss=logistic, **USUAL)  # type: ignore[arg-type]
        assert reserved(s) == 0
    with pytest.raises(InvalidParameter, match="analyst"):
        session(analyst="ann")
    wrong: tuple[dict[Any, Any], ...] = ({"logistic": logistic}, {"logistic@": logistic}, {"a@1": 1}, {1: logistic})
    for each in wrong:
        with pytest.raises(InvalidParameter, match="trusted"):
            session(trusted=each)


class Elsewhere:
    """An engine that hands no rows over, and does all else as another one."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        if name == "rows_of_units":
            raise AttributeError(name)
        return getattr(self._engine, name)


def test_an_engine_that_hands_no_rows_over_is_refused_at_no_cost() -> None:
    with session(neighbours="change-one") as s, pytest.raises(Unprovable, match="changed"):
        sgd(s, "bought", ["x"], loss="logistic@1", **USUAL)
    with session() as s:
        mechanism = mechanism_of(s)
        object.__setattr__(mechanism, "engine", Elsewhere(mechanism.engine))
        with pytest.raises(QueryRefused):
            sgd(s, "bought", ["x"], loss="logistic@1", **USUAL)
        assert reserved(s) == 0
    assert not hasattr(SQLEngine, "rows_of_units")  # nor has any engine whose rows are elsewhere
