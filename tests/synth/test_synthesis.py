"""Synthetic tables, from a session to rows: what is charged, what is kept, and what never appears."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake import codec
from giveortake.configuration import protection_arguments
from giveortake.errors import BudgetExceeded, InvalidParameter, NotFound, QueryRefused
from giveortake.plan import Kind
from giveortake.privacy import events
from giveortake.randomness import SYSTEM_ENTROPY
from giveortake.session.kinds.runs import AdaptiveRun
from giveortake.session.session import Session, mechanism_of
from giveortake.synth import Model, maximum_likelihood
from giveortake.synth import rounds as rounds_of
from giveortake.synth.columns import zero_factors
from giveortake.synth.model import ModelColumn
from giveortake.synth.synthetic_table import Report

ROWS = 3000
COLUMNS = ["region", "married", "age", "amount", "day"]
DOMAINS: dict[str, Any] = {
    "region": ["south", "north", "west", None],
    "married": {"nullable": False},
    "age": (0, 99),
    "amount": (0, 500),
    "day": (dt.date(2024, 1, 1), dt.date(2024, 12, 31)),
}
BINS = {"age": [0, 18, 65, 99], "amount": 6, "day": [dt.date(2024, 1, 1), dt.date(2024, 7, 1), dt.date(2024, 12, 31)]}
ASKED: dict[str, Any] = {"columns": COLUMNS, "epsilon": 3, "delta": "1e-6", "bins": BINS}
NEVER = {"age": (0, 18), "married": True}


def _frame() -> pl.DataFrame:
    generator = np.random.default_rng(4)
    age = generator.integers(0, 90, ROWS)
    married = (age >= 18) & (generator.random(ROWS) < 0.6)
    names = ["north", "south", None]  # nobody lives in the west
    region = [names[each] for each in generator.choice(3, ROWS, p=[0.5, 0.3, 0.2])]
    amount = np.where(married, 300, 100) + generator.random(ROWS) * 100
    day = [dt.date(2024, 1, 1) + dt.timedelta(days=int(each)) for each in generator.integers(0, 366, ROWS)]
    return pl.DataFrame({"region": region, "married": married, "age": age, "amount": amount, "day": day})


def _session(**more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(3, "1e-6"), "domains": DOMAINS, "name": "people"}
    return gt.protect(_frame(), **protection_arguments(usual | more))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with _session() as opened:
        yield opened


@pytest.fixture(scope="module")
def made(session: Session) -> gt.synth.SyntheticTable:
    return gt.synth.synthesize(session, zeros=[NEVER], **ASKED)


def test_the_whole_run_is_one_charge_of_zcdp_that_the_race_admits(
    made: gt.synth.SyntheticTable, session: Session
) -> None:
    charged = [entry for entry in session.history() if entry.kind == "reserved"]
    assert [entry.content["event"] for entry in charged] == [codec.write(events.ZCDP(made.rho))]
    assert sum(cost for _, cost in made.charges) <= made.rho
    assert made.charged
    assert made.guarantee == gt.ZCDP(made.rho)


def test_rows_are_as_many_as_were_released_and_never_the_true_number(made: gt.synth.SyntheticTable) -> None:
    singles = [each for each in made.measured if len(each.columns) == 1]
    weights = [1 / (each.counts.size * each.sigma**2) for each in singles]
    released = sum(w * each.counts.sum() for w, each in zip(weights, singles, strict=True)) / sum(weights)
    assert len(made) == round(released)
    assert made.model.total == pytest.approx(released)
    assert len(made.sample(17)) == 17


def test_types_order_missing_values_and_zeros_are_kept(made: gt.synth.SyntheticTable) -> None:
    table = made.to_polars()
    assert dict(zip(table.columns, table.dtypes, strict=True)) == {
        "region": pl.String,
        "married": pl.Boolean,
        "age": pl.Int64,
        "amount": pl.Float64,
        "day": pl.Date,
    }
    assert made.model.columns[0].categories == ("south", "north", "west", None)  # as declared, though nobody is west
    assert 0.1 < table["region"].null_count() / len(table) < 0.3
    assert not len(table.filter((pl.col("age") < 18) & pl.col("married")))
    assert table["age"].is_between(0, 99).all()
    assert table["day"].is_between(dt.date(2024, 1, 1), dt.date(2024, 12, 31)).all()


def test_relations_that_were_measured_are_there(made: gt.synth.SyntheticTable) -> None:
    table = made.to_polars()
    means = {row["married"]: row["amount"] for row in table.group_by("married").agg(pl.col("amount").mean()).to_dicts()}
    assert means[True] - means[False] > 120
    told = made.marginal("married", "region")
    assert len(told) == 8
    assert sum(told.to_dict()["n"]) == pytest.approx(made.model.total)  # type: ignore[arg-type]  # (numbers)


def test_bins_by_quantiles_are_charged_and_made_of_noisy_counts(made: gt.synth.SyntheticTable) -> None:
    (column,) = [each for each in made.model.columns if each.name == "amount"]
    assert column.edges is not None
    assert 3 <= len(column.edges) <= 8
    step, cost = made.charges[0]
    assert step.names == ("narrow bins of amount",)
    assert 0 < cost <= made.rho / 20


def test_the_same_again_is_free_and_the_same_without_a_look_at_rows(
    made: gt.synth.SyntheticTable, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = mechanism_of(session).engine
    monkeypatch.setattr(type(engine), "tally", lambda *_: pytest.fail("rows were read after the fit"))
    spent = session.budget.spent
    again = gt.synth.synthesize(session, zeros=[NEVER], rows=50, **ASKED)
    assert session.budget.spent == spent
    assert not again.charged
    assert len(again) == 50
    assert again.model.total == made.model.total
    for one, other in (("region", "married"), ("age", "day")):
        assert np.array_equal(again.model.counts(one, other), made.model.counts(one, other))
    made.sample(10)
    made.marginal("age", "region")
    made.report(simulations=1)


def test_what_is_told_of_a_run_follows_from_what_was_released_alone(made: gt.synth.SyntheticTable) -> None:
    fields = [made.measured, made.charges, made.fitted.factors, made.model.columns]
    assert "Sensitive" not in repr(fields)


def test_an_interrupted_synthesis_goes_on_and_a_failed_fit_is_fitted_again_for_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with _session() as session:
        asked: dict[str, Any] = {"columns": ["region", "married", "age"], "epsilon": 1, "delta": "1e-6", "bins": BINS}
        asked["bins"] = {"age": BINS["age"]}
        right, calls = AdaptiveRun.select, []

        def interrupted(self: AdaptiveRun, *args: Any) -> int:
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return right(self, *args)

        monkeypatch.setattr(AdaptiveRun, "select", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gt.synth.synthesize(session, **asked)
        spent = session.budget.spent
        drawn = [entry.content["drawn"] for entry in session.history() if entry.kind == "drawn"]
        monkeypatch.undo()

        def broken(*_: Any, **__: Any) -> Any:
            raise ArithmeticError

        monkeypatch.setattr(rounds_of, "fit", broken)
        with pytest.raises(ArithmeticError):
            gt.synth.synthesize(session, **asked)
        monkeypatch.undo()
        table = gt.synth.synthesize(session, **asked)
        kept = [entry.content["drawn"] for entry in session.history() if entry.kind == "drawn"]
        assert kept[: len(drawn)] == drawn
        assert len(kept) > len(drawn)
        assert session.budget.spent == spent
        assert len(table.charges) == len(kept)
        assert sum(cost for _, cost in table.charges) <= table.rho


def test_a_person_counts_with_as_many_rows_as_are_capped_and_gets_a_fresh_key() -> None:
    frame = _frame().with_columns(who=pl.Series([f"person {n // 3}" for n in range(ROWS)]))
    asked: dict[str, Any] = {"columns": ["who", "region", "married"], "epsilon": 3, "delta": "1e-6"}
    common: dict[str, Any] = {"unit": "who", "budget": gt.ApproxDP(3, "1e-6"), "domains": DOMAINS}
    with gt.protect(frame, **common) as session, pytest.raises(QueryRefused):
        gt.synth.synthesize(session, **asked)
    with gt.protect(frame, rows_per_person=2, **common) as session:
        table = gt.synth.synthesize(session, **asked)
    rows = table.to_polars()
    assert rows["who"].to_list() == list(range(1, len(rows) + 1))
    assert len(rows) == pytest.approx(2000, abs=400)  # two of three rows of each person count
    assert table.notes  # which rows belong to one person is lost


# -- quotes and reports -----------------------------------------------------------------------------------------------


def test_a_quote_says_the_charge_and_which_contestants_it_ends() -> None:
    with _session() as session:
        quote = gt.synth.quote(session, **ASKED)
        assert session.budget.spent["ε"] == 0
        assert quote.admitted
        (ends,) = [note for note in quote.notes if "ends" in note]
        assert all(symbol in ends for symbol in ("ε", "μ²"))
    with _session(budget=gt.ApproxDP("1/2", "1e-6")) as session:
        assert not gt.synth.quote(session, **ASKED).admitted
        with pytest.raises(BudgetExceeded):
            gt.synth.synthesize(session, **ASKED)


def test_a_report_tells_charges_errors_and_what_was_not_measured(made: gt.synth.SyntheticTable) -> None:
    report = made.report(simulations=2)
    assert len(report.rounds) == len(made.charges)
    measured = {each.columns for each in report.tables if each.times}
    assert measured | set(report.unmeasured) == {each.columns for each in report.tables}
    assert len(report.tables) == 10
    truth = _frame()
    for each in report.tables:
        assert 0 < each.predicted < 0.2
    drawn = report.plot().to_dict()
    assert len(drawn["data"]["values"]) == len(report.tables)
    assert f"{len(measured)} of 10" in str(drawn["title"])
    text, page = report.to_markdown(), report.to_html()
    assert "| select |" in text
    assert text.count("not measured") == len(report.unmeasured) + 1
    assert page.startswith("<!doctype html>")
    assert str(len(truth)) not in re.sub(r"\d+,\d+", "", text)


def test_predicted_errors_are_near_true_ones(made: gt.synth.SyntheticTable) -> None:
    predicted = {each.columns: each.predicted for each in made.report(simulations=4).tables}
    truth = _frame()
    counted = truth.group_by("region", "married").len()
    table = np.zeros((4, 2))
    for region, married, count in counted.rows():
        table[["south", "north", "west", None].index(region), int(married)] = count
    error = 0.5 * np.abs(made.model.counts("region", "married") / made.model.total - table / ROWS).sum()
    assert error < 4 * predicted["region", "married"]
    assert predicted["region", "married"] < 0.05


# -- models in files --------------------------------------------------------------------------------------------------


def test_a_saved_model_is_the_same_and_is_read_without_running_anything(
    made: gt.synth.SyntheticTable, tmp_path: Path
) -> None:
    made.model.save(tmp_path / "people.model")
    again = Model.load(tmp_path / "people.model")
    assert again.columns == made.model.columns
    assert np.allclose(again.counts("region", "age", "day"), made.model.counts("region", "age", "day"))
    assert not len(again.sample(500).to_polars().filter((pl.col("age") < 18) & pl.col("married")))
    with pytest.raises(NotFound, match="no file"):
        Model.load(tmp_path / "nowhere")
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidParameter, match="path"):
        Model.load(tmp_path / "evil.npy")


def test_tables_are_written_to_files(made: gt.synth.SyntheticTable, tmp_path: Path) -> None:
    made.to_parquet(tmp_path / "a.parquet")
    made.to_duckdb(tmp_path / "a.duckdb", "people")
    assert pl.read_parquet(tmp_path / "a.parquet").equals(made.to_polars())
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchall() == [(len(made),)]
    with pytest.raises(InvalidParameter, match="already exists"):
        made.to_duckdb(tmp_path / "a.duckdb")


def test_a_model_refuses_what_it_does_not_have(made: gt.synth.SyntheticTable) -> None:
    with pytest.raises(NotFound, match="no column"):
        made.marginal("regoin")
    with pytest.raises(InvalidParameter, match="twice"):
        made.marginal("age", "age")
    assert made.to_pandas().shape == (len(made), 5)


def test_decimals_and_categories_of_any_kind_come_back_as_they_were() -> None:
    price = ModelColumn("price", Kind.DECIMAL, None, (Fraction(0), Fraction(1), Fraction(2)), False, Fraction(1, 100))
    drawn = price.values(np.array([0, 1] * 200), SYSTEM_ENTROPY).tolist()
    assert all(isinstance(each, Decimal) and -each.as_tuple().exponent <= 2 for each in drawn)  # type: ignore[operator]
    assert all(0 <= each < 1 for each in drawn[::2])
    assert all(1 <= each <= 2 for each in drawn[1::2])
    for column in (price, ModelColumn("d", Kind.DATE, (dt.date(2024, 1, 5), None), None, True)):
        assert ModelColumn.from_json(column.to_json()) == column


# -- bad input --------------------------------------------------------------------------------------------------------

FEW: dict[str, Any] = {"columns": ["region", "married"], "bins": None}
BAD: dict[str, dict[str, Any]] = {
    "an unknown column": {"columns": ["region", "regoin"], "bins": None},
    "one column": {"columns": ["region"]},
    "a text": {"columns": "region"},
    "an undeclared domain": {"columns": ["region", "amount"], "bins": None},
    "bins of a text": {"bins": BINS | {"region": 4}},
    "bins of another column": {"bins": {"regoin": 4}},
    "edges that do not increase": {"bins": BINS | {"age": [0, 9, 5]}},
    "an edge three times": {"bins": BINS | {"age": [0, 5, 5, 5]}},
    "edges that are no dates": {"bins": BINS | {"day": ["2024-01-01", 2, 3]}},
    "bins of no column": {"bins": [0, 10]},
    "no delta": {"delta": None},
    "no epsilon": {"epsilon": None},
    "a zero of dates that are none": {"zeros": [{"day": (1, "x")}]},
    "one bin": {"bins": BINS | {"amount": 1}},
    "a zero of no column": {"zeros": [{"sex": 1}]},
    "a zero of no category": {"zeros": [{"region": "east"}], **FEW},
    "a zero of bins that are not known": {"zeros": [{"amount": (0, 10)}]},
    "contradictory zeros": {"zeros": [{"married": [True]}, {"married": [False]}], **FEW},
    "too little for the rounds": {"epsilon": "1e-5", "delta": "1e-12"},
    "a workload of other columns": {"workload": [("region", "sex")]},
    "a workload of no pair": {"workload": [("region",)]},
    "a workload that is none": {"workload": "region"},
    "a table of too many cells": {"columns": ["age", "day"], "bins": None, "workload": [("age", "day")]},
    "rows that are no number": {"rows": -3},
    "a table that is not there": {"table": "peple"},
}


def test_bad_input_is_refused_before_any_charge_in_one_line_each(session: Session) -> None:
    before, taken, lines = len(session.history()), [], set()
    for name, wrong in BAD.items():
        try:
            gt.synth.synthesize(session, **(ASKED | wrong))
        except (InvalidParameter, QueryRefused) as error:
            lines.add(error.message)
        else:
            taken.append(name)
    assert taken == []
    assert len(lines) > 20  # each says something of its own
    assert len(session.history()) == before


def test_edges_of_dates_may_be_written_as_texts(session: Session) -> None:
    texts = BINS | {"day": ["2024-01-01", "2024-07-01", "2024-12-31"]}
    assert gt.synth.quote(session, **(ASKED | {"bins": texts})) == gt.synth.quote(session, **ASKED)


def test_moments_are_told_that_they_have_neither_bins_nor_bounds_yet() -> None:
    moments = pl.DataFrame({"p": [1], "at": [dt.datetime(2024, 1, 31, 12)], "region": ["south"]})
    said: dict[str, Any] = {"unit": "p", "budget": gt.ApproxDP(1, "1e-6"), "domains": {"region": ["south", "north"]}}
    with gt.protect(moments, name="t", rows_per_person=1, **said) as session:
        for bins in (None, {"at": 8}):
            with pytest.raises(InvalidParameter, match="at"):
                gt.synth.quote(session, columns=["at", "region"], bins=bins, epsilon="0.1", delta="1e-7")
        with pytest.raises(QueryRefused, match=r'"at": \("2024-01-01", "2024-12-31"\)'):
            session.workload(gt.workload.ranges("at")).quote(epsilon="0.1")


def test_a_column_with_one_value_is_refused() -> None:
    with (
        _session(domains=DOMAINS | {"region": ["south"]}) as session,
        pytest.raises(InvalidParameter, match="one value"),
    ):
        gt.synth.synthesize(session, columns=["region", "married"], epsilon=1, delta="1e-6")


def test_one_column_may_determine_another_and_has_to_do_so_for_all_its_values() -> None:
    columns = [
        ModelColumn("zip", Kind.TEXT, ("10", "20", "30")),
        ModelColumn("state", Kind.TEXT, ("A", "B")),
    ]
    states = gt.synth.FunctionalDependency("zip", "state", {"10": "A", "20": "A", "30": "B"})
    (factor,) = zero_factors([states], columns, 99).values()
    assert np.isfinite(factor).tolist() == [[True, False], [True, False], [False, True]]
    with pytest.raises(InvalidParameter, match="every category"):
        zero_factors([gt.synth.FunctionalDependency("zip", "state", {"10": "A"})], columns, 99)
    with pytest.raises(InvalidParameter, match="cells"):
        zero_factors([states], columns, 5)


def test_a_fit_that_did_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maximum_likelihood, "STEPS", 1)
    with _session() as session:
        table = gt.synth.synthesize(session, **ASKED)
    assert not table.fitted.converged
    assert any("minimum" in note for note in table.notes)


def test_a_report_is_printed_as_plain_text_and_shown_as_markdown() -> None:
    report = Report("A table of person_id", (("charge", "ρ = 1: once"),), (("measure", "a_b", "1"),), (), ("Mind.",))
    assert "\\" not in str(report)
    assert report._repr_markdown_() == report.to_markdown()
    assert "person\\_id" in report.to_markdown()
