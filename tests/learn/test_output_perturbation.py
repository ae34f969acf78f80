"""Descent with noise on its end: how far neighbours move it, what engines compute, and that no row decides passes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.compile import Spend
from giveortake.configuration import protection_arguments
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.learn import PerturbedModel, output_perturbation
from giveortake.learn.features import features_of
from giveortake.learn.gradient_descent import FINENESS, Risk, chain, steepest, target_of
from giveortake.learn.noisy_sums import FitContext
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.mechanisms.vectors import GradientOracle, OutputPerturbation
from giveortake.session import Session
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.session import mechanism_of
from replay import Revealing

DOMAINS: dict[str, Any] = {"x": (-1, 1), "c": ["a", "b"], "y": (-1, 1)}
KINDS = {"who": pl.Int64, "x": pl.Float64, "c": pl.String, "y": pl.Float64, "bought": pl.Boolean}
RANDOM = np.random.default_rng(3)


def session(rows: Any, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.GaussianDP(50), "domains": DOMAINS, "name": "rows"}
    return gt.protect(rows, **protection_arguments(usual | more))


def table(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Of (who, x, c, y, bought)."""
    return pl.DataFrame(rows, schema=KINDS, orient="row")


def some(count: int) -> list[tuple[Any, ...]]:
    drawn = RANDOM.uniform(-1, 1, (count, 2)).tolist()
    return [(who, x, "ab"[who % 2], y, x + y > 0) for who, (x, y) in enumerate(drawn)]


def risk(s: Session, loss: Any, strength: Fraction, passes: int = 12) -> Risk:
    data = LearningData.of(s)
    target = target_of(
        data.schema, "bought" if loss == "logistic" else "y", "logistic" if loss == "logistic" else "squared"
    )
    context = FitContext.from_parameters(data, Spend(mu=Fraction(1)), None, None)
    return Risk(context, features_of(data.schema, ["x", "c"], target.name), target, loss, strength, passes)


Rows = tuple[Any, Any]  # numbers (1, z…) of rows, multiples of 2⁻¹⁰, and targets


def gradient(loss: str, rows: Rows, steps: int, point: tuple[int, ...]) -> Any:
    """What engines are asked for, in fine steps, computed here: every double of it is exact."""
    x, y = rows
    score = x @ (np.array(point, dtype=float) / FINENESS)
    slope = np.clip(score - y, -1, 1)
    if loss == "logistic":
        slope = 0.5 + sum(float(h) * np.clip(score, -float(b), float(b)) for h, b in chain()) - y
    fine = np.floor(slope * steps**2 + 0.5)
    return (x.T @ (fine * 1024)).astype(np.int64).astype(object)


def bare(loss: Any, strength: Fraction, passes: int, columns: int = 2) -> OutputPerturbation:
    fine = (1 << 15) ** 2
    sizes = (1 + columns, passes, FINENESS, fine * 1024, Fraction(1, fine), 1 + columns, 64)
    return OutputPerturbation(Fraction(1), strength, steepest(loss), *sizes)


def end(mechanism: OutputPerturbation, loss: str, rows: Rows, told: int | None = None) -> Any:
    slopes = GradientOracle(
        Sensitive(BoundedIntegers.public(np.array([len(rows[1]) if told is None else told]))),
        lambda point: Sensitive(BoundedIntegers.public(gradient(loss, rows, 1 << 15, point))),
    )
    return np.array(mechanism.point(slopes), dtype=object)


def drawn_rows(loss: str, count: int, pull: float) -> Rows:
    x = np.column_stack([np.ones(count), RANDOM.integers(-1024, 1025, count) / 1024, RANDOM.integers(0, 2, count)])
    y = np.clip(RANDOM.normal(pull, 0.5, count), -1, 1)
    return x, (y > 0) * 1.0 if loss == "logistic" else np.round(y * 1024) / 1024


def length(moved: Any) -> float:
    return float(np.linalg.norm(moved.astype(float)))


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_one_unit_moves_the_end_of_a_descent_by_no_more_than_it_is_priced_for(loss: str) -> None:
    closest = {False: 0.0, True: 0.0}
    far = [((1.0, 1.0, 1.0), 1.0), ((1.0, -1.0, 1.0), -1.0 if loss == "huber" else 0.0), ((1.0, -1.0, 0.0), 1.0)]
    for _ in range(40):
        size, passes = int(RANDOM.integers(0, 60)), int(RANDOM.integers(1, 30))
        mechanism = bare(loss, Fraction(2) ** int(RANDOM.integers(-10, 8)), passes)
        x, y = drawn_rows(loss, size, RANDOM.uniform(-1, 1))
        base = end(mechanism, loss, (x, y))
        ends = [end(mechanism, loss, (np.vstack([x, row]), np.append(y, wanted))) for row, wanted in far]
        pairs = [(False, each - base) for each in ends] + [(True, one - two) for one in ends for two in ends]
        for changed, moved in pairs:
            share = length(moved) / float(mechanism.sensitivity(1, changed=changed))
            assert share <= 1
            closest[changed] = max(closest[changed], share)
    assert min(closest.values()) > (0.5 if loss == "huber" else 0.2)  # a logistic slope is ½ where nothing is known


def test_the_rows_of_a_person_move_it_together() -> None:
    mechanism, (x, y) = bare("huber", Fraction(40), 12), drawn_rows("huber", 6, 0)
    more = (np.vstack([x, [[1.0, 1.0, 1.0]] * 3]), np.append(y, [1.0] * 3))
    moved = length(end(mechanism, "huber", more) - end(mechanism, "huber", (x, y)))
    assert float(mechanism.sensitivity(1, changed=False)) < moved <= float(mechanism.sensitivity(3, changed=False))
    with session(table(some(6)), unit="who", rows_per_person=3) as s:
        asked = risk(s, "huber", Fraction(40))
        assert asked.rows == 3
        assert asked.mechanism(Fraction(1), changed=False).sigma >= mechanism.sensitivity(3, changed=False)


# -- the theorem by itself --------------------------------------------------------------------------------------------


def test_the_bound_holds_for_every_number_of_rows_and_is_nearly_reached() -> None:
    """Rows in one dimension that all pull with slope 1."""
    for passes in (1, 2, 7, 40):
        mechanism = OutputPerturbation(
            Fraction(1), Fraction(1), Fraction(1, 1000), 1, passes, 1 << 40, 1, Fraction(0), 1, 1 << 20
        )
        ends = [
            mechanism.point(
                GradientOracle(
                    Sensitive(BoundedIntegers.clamped([n], 200)),
                    lambda _, n=n: Sensitive(BoundedIntegers.clamped([-n], 200)),  # type: ignore[misc]
                )
            )[0]
            for n in range(200)
        ]
        priced = mechanism.sensitivity(1, changed=False)
        assert 0.49 < max(Fraction(two - one) for one, two in pairwise(ends)) / priced <= 1
        assert priced / mechanism.fineness < (1.2 if passes >= 7 else 2.001)


def test_steps_that_are_too_long_for_the_rows_would_be_caught() -> None:
    """The mutant is told of no rows: its steps jump over the minimum, and a row more sends them elsewhere."""
    mechanism, worst = bare("huber", Fraction(1), 9), {False: 0.0, True: 0.0}
    for _ in range(20):
        x, y = drawn_rows("huber", 30, 0)
        more = np.vstack([x, [1.0, 1.0, 1.0]]), np.append(y, 1.0)
        for mutant in (False, True):
            one, two = (end(mechanism, "huber", each, told=0 if mutant else None) for each in ((x, y), more))
            worst[mutant] = max(worst[mutant], length(one - two) / float(mechanism.sensitivity(1, changed=False)))
    assert worst[False] <= 1 < worst[True]


def test_a_descent_comes_to_the_minimum() -> None:
    x, y = drawn_rows("huber", 40, 0.3)
    found = end(bare("huber", Fraction(20), 60), "huber", (x, y)).astype(float) / FINENESS
    assert length(x.T @ np.clip(x @ found - y, -1, 1) + 20 * found) < 1e-3


# -- what engines compute ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERYWHERE)
def test_every_engine_computes_gradients_to_the_last_step(name: str, request: pytest.FixtureRequest) -> None:
    rows = some(25)
    put = place(name, request)
    with session(put("descent", table(rows).drop("who"))) as s:
        asked, engine = risk(s, "logistic", Fraction(1)), mechanism_of(s).engine
        x = np.array([[1, np.floor(row[1] * 1024 + 0.5) / 1024, row[2] == "b"] for row in rows], dtype=float)
        y = np.array([row[4] for row in rows], dtype=float)
        points = [(12345677, -70000001, 3), (64 * FINENESS, -64 * FINENESS, 64 * FINENESS), (0, 0, 0)]
        for point in points[: 1 if name == "spark" else 3]:
            drawn = asked.joined(engine.vectors(asked.gradient_sum(point)).open(Revealing()))
            assert drawn.tolist() == gradient("logistic", (x, y), asked.slope_steps, point).tolist()
        assert int(Revealing().release(engine.vectors(asked.counted()))[0]) == len(rows)
        if name != "duckdb":
            with pytest.raises(QueryRefused):  # whose statements others see
                output_perturbation(s, "bought", ["x"], regularisation=1, mu=1)
            assert not s.budget.spent


@pytest.mark.parametrize("most", [1, 2, 3])
def test_persons_with_as_many_rows_as_count_are_counted_whole(most: int) -> None:
    rows = [(who, *row[1:]) for row in some(8) for who in [row[0]] * 3]
    with session(table(rows), unit="who", rows_per_person=most) as s:
        engine, asked = mechanism_of(s).engine, risk(s, "logistic", Fraction(1))
        assert int(Revealing().release(engine.vectors(asked.counted()))[0]) == most * len({row[0] for row in rows})


def test_slopes_grow_no_faster_than_is_said_and_stay_below_one() -> None:
    assert all(height > 0 for height, _ in chain())
    assert steepest("logistic") < Fraction(1, 4)
    assert Fraction(1, 2) + sum((height * knot for height, knot in chain()), Fraction(0)) < 1


@pytest.mark.parametrize("rows", [0, 200])
def test_every_table_takes_the_same_number_of_statements_and_none_is_remembered(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of no rows every pass is the same question; nevertheless each is executed."""
    with session(table(some(rows)).drop("who")) as s:
        engine = type(mechanism_of(s).engine)
        right, executed = engine._vectors, [0]  # type: ignore[attr-defined]  # (below what engines have in common)

        def counted(self: Any, asked: Any) -> Any:
            executed[0] += 1
            return right(self, asked)

        monkeypatch.setattr(engine, "_vectors", counted)
        for mu in (1, 2):
            output_perturbation(s, "bought", ["x", "c"], regularisation=10, passes=4, mu=mu)
        assert executed[0] == 2 * 5


# -- the learner ------------------------------------------------------------------------------------------------------


def test_a_fit_learns_is_charged_once_and_reads_back_from_json() -> None:
    rows = table(some(4_000)).drop("who").with_columns(bought=pl.col("x") > 0.2)
    with session(rows) as s:
        made = output_perturbation(s, "bought", ["x", "c"], regularisation=200, passes=12, mu=1)
        assert float(s.budget.spent) == pytest.approx(1)
        assert (made.predict(rows) == rows["bought"].to_numpy()).mean() > 0.85
        assert made.deviation == pytest.approx(1.16 * 3**0.5 / 200, rel=0.05)
        again = output_perturbation(s, "bought", ["x", "c"], regularisation=200, passes=12, mu=1)
        assert np.array_equal(again.coefficients, made.coefficients)
        assert float(s.budget.spent) == pytest.approx(1)
        read = PerturbedModel.from_json(made.to_json())
        assert np.array_equal(read.predict_proba(rows), made.predict_proba(rows))
        huber = output_perturbation(s, "y", ["x"], regularisation=100, passes=12, loss="huber", mu=1)
        assert np.abs(huber.predict(rows)).max() < 0.5
    with session(rows, neighbours="change-one") as s:
        twice = output_perturbation(s, "bought", ["x", "c"], regularisation=200, passes=12, mu=1)
        assert twice.deviation == pytest.approx(2 * made.deviation, rel=0.01)


def test_rows_of_no_declared_class_are_not_learned_from() -> None:
    odd = table([*some(300), *[(9, 1.0, "b", 1.0, None)] * 3_000]).drop("who")
    with session(odd) as s:
        made = output_perturbation(s, "bought", ["x", "c"], regularisation=20, passes=12, mu=20)
        assert made.coefficients[1] > 0.3  # the 3,000 rows would pull x to the other side


def test_what_has_no_bound_is_refused_at_no_cost() -> None:
    rows = table(some(4))
    with session(rows, unit="who") as s, pytest.raises(QueryRefused):  # any number of rows
        output_perturbation(s, "bought", ["x"], regularisation=1, mu=1)
    with session(rows.drop("who")) as s:
        wrongs: list[dict[str, Any]] = [
            {"loss": "squared"},
            {"regularisation": 0},
            {"passes": 0},
            {"passes": 10**6},
        ]
        for wrong in wrongs:
            with pytest.raises(InvalidParameter):
                output_perturbation(s, "bought", ["x"], **{"regularisation": 1, "mu": 1} | wrong)
        assert not s.budget.spent


def test_no_row_is_in_two_categories_whatever_python_tells_apart() -> None:
    """Columns of one category exclude each other, by which the sensitivity is 2 and not 1 + their number."""
    codes = [Decimal(10**18 + each) for each in range(100)]
    rows = pa.table({"code": pa.array([codes[1]], pa.decimal128(19, 0)), "y": pa.array([1.0])})
    with (
        gt.protect(rows, unit=gt.ROW, budget=gt.GaussianDP(1), domains={"code": codes, "y": (-1, 1)}) as s,
        pytest.raises(InvalidParameter, match="code"),
    ):
        output_perturbation(s, "y", ["code"], regularisation=10, mu="1/2")
    moments = [pd.Timestamp("2020-01-01") + pd.Timedelta(each, "ns") for each in range(3)]
    with session(table(some(5))) as s:
        late = gt.when(gt.col("y") > 2).then(moments[0]).when(gt.col("y") > 3).then(moments[1]).otherwise(moments[2])
        with pytest.raises(InvalidParameter, match="k"):
            output_perturbation(s.table().derive(k=late), "y", ["k"], regularisation=10, mu="1/2")
        with pytest.raises(QueryRefused, match="zone"):
            gt.col("y").isin([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)])
