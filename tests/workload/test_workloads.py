"""Workloads, asked and answered: tables, ranges, prices, refusals and every form of the answer."""

from __future__ import annotations

import csv
import datetime as dt
import html
import io
import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer
from giveortake.audit.conformance import Case, Comparison, compare
from giveortake.compile import Caps, Spend
from giveortake.configuration import protection_arguments
from giveortake.errors import BudgetExceeded, InvalidParameter, NotFound, QueryRefused
from giveortake.exact import sqrt_up
from giveortake.session import Session
from giveortake.session.quotes import Quote
from giveortake.session.session import mechanism_of
from giveortake.workload.bound_workload import BoundWorkload
from giveortake.workload.designs import ResidualDesign
from giveortake.workload.measurement import measured
from giveortake.workload.results import WorkloadAnswer
from inside import line_of
from statistics_of_draws import ALPHA

GREAT: list[dict[str, Any]] = [{"mu": 10**4}, {"epsilon": 10**5}]
COLUMNS = ["age", "sex", "region"]
DOMAINS: dict[str, Any] = {
    "age": {"bounds": (20, 24), "nullable": False},
    "sex": ["f", "m"],
    "region": ["north", "south", None],
    "income": (0, 99),
    "day": (dt.date(2024, 1, 1), dt.date(2024, 1, 31)),
}


def _people(count: int = 400, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": random.integers(0, max(count // 3, 1), count),
            "age": random.integers(20, 25, count),
            "sex": random.choice(["f", "m", "?"], count, p=[0.5, 0.4, 0.1]),
            "region": pl.Series(random.choice(["north", "south", "none"], count)).replace("none", None),
            "income": random.integers(0, 100, count),
            "day": [dt.date(2024, 1, 1) + dt.timedelta(int(each)) for each in random.integers(0, 31, count)],
        }
    )


def _session(table: pl.DataFrame | None = None, **more: Any) -> gt.session.Session:
    said: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ZCDP(100), "domains": DOMAINS} | more
    return gt.protect({"people": _people() if table is None else table}, **protection_arguments(said))


def _total(answer: WorkloadAnswer) -> float:
    return float(answer[()].to_dict()["n"][0])  # type: ignore[arg-type]  # (a number)


def _exactly(table: pl.DataFrame, columns: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    kept = table.filter(pl.col("sex") != "?")
    return Counter(kept.select(columns).iter_rows()) if columns else Counter({(): len(kept)})


def test_at_a_great_spend_every_table_is_the_exact_one() -> None:
    table = _people()
    asked = gt.workload.marginals(COLUMNS, up_to=3) + gt.workload.total()
    for spend in GREAT:
        answer = _session(table, budget=gt.ApproxDP(10**9, "1e-9")).workload(asked).answer(**spend)
        for length in range(4):
            for columns in itertools.permutations(COLUMNS, length):
                exactly = _exactly(table, columns)
                for row in answer[columns].rows():
                    key = tuple(row[each] for each in columns)
                    assert row["n"] == pytest.approx(exactly[key], abs=0.01), spend
                    assert row["n_consistent"] == pytest.approx(exactly[key], abs=0.01)


def test_sums_by_cell_stand_beside_counts() -> None:
    table = _people()
    asked = gt.workload.marginals(["sex", "region"]) + gt.workload.marginals(["sex"], of="income")
    answer = _session(table, budget=gt.ApproxDP(10**9, "1e-9")).workload(asked).answer(mu=10**4)["sex"]
    for row in answer.rows():
        expected = table.filter(pl.col("sex") == row["sex"])["income"].sum()
        assert row["income_sum"] == pytest.approx(expected, abs=1)
        ends: Any = row["income_sum_low"], row["income_sum_high"]
        assert ends[0] <= expected <= ends[1]


def test_ranges_of_numbers_and_days_are_running_totals() -> None:
    table = _people()
    asked = gt.workload.ranges("income", by="sex") + gt.workload.ranges("day") + gt.workload.marginals(["sex"])
    for spend in GREAT:
        answer = _session(table, budget=gt.ApproxDP(10**9, "1e-9")).workload(asked).answer(**spend)
        kept = table.filter(pl.col("sex") != "?")
        for row in answer["sex", "income"].rows():
            below = kept.filter((pl.col("sex") == row["sex"]) & (pl.col("income") < row["income_below"]))
            assert row["n"] == pytest.approx(len(below), abs=0.1)
        days = answer["day"].rows()
        assert days[9]["day_below"] == dt.date(2024, 1, 11)
        assert days[9]["n"] == pytest.approx(len(kept.filter(pl.col("day") < dt.date(2024, 1, 11))), abs=0.1)
        between = answer.between("income", 10, 50, sex="m")
        inside = kept.filter((pl.col("sex") == "m") & pl.col("income").is_between(10, 49))
        assert between.value == pytest.approx(len(inside), abs=0.1)
        with pytest.raises(InvalidParameter, match="border"):
            answer.between("income", 10.5, 50, sex="m")
        with pytest.raises(NotFound, match="declared"):
            answer.between("income", 10, 50, sex="?")


def test_a_quote_reads_no_row_and_costs_nothing_and_says_what_an_equal_split_would_do() -> None:
    session = _session()
    query = session.workload(gt.workload.marginals(COLUMNS, up_to=2))
    quote = query.quote(rho="1/10")
    assert session.budget.spent == 0
    assert quote.facts["rms"] < quote.facts["equal_rms"] == pytest.approx(math.sqrt(6 / 0.2))
    assert line_of(quote, "sex", "age")["sd"] < quote.facts["equal_rms"]
    assert [name in str(quote) for name in ("equal sd", "equal rms", "age × sex")] == [True] * 3
    assert quote.admitted
    assert query.answer(rho="1/10").lines() == list(quote.lines)


def test_one_charge_pays_for_all_tables_and_asking_again_is_free_and_the_same(tmp_path: Path) -> None:
    table, ledger = _people(), str(tmp_path / "l.ledger")
    asked = gt.workload.marginals(COLUMNS) + gt.workload.ranges("income")
    with _session(table, ledger=ledger) as session:
        first = session.workload(asked).answer(rho="1/10")
        assert float(session.budget.spent) == pytest.approx(0.1, rel=1e-6)
    with _session(table, ledger=ledger) as again:
        second = again.workload(asked).answer(rho="1/10")
        assert second["age", "sex"].to_dict() == first["age", "sex"].to_dict()
        assert second["income"].to_dict() == first["income"].to_dict()
        assert float(again.budget.spent) == pytest.approx(0.1, rel=1e-6)
        other = again.workload(gt.workload.marginals(COLUMNS)).answer(rho="1/10")
        assert other["age"].to_dict() != first["age"].to_dict()


def test_an_answer_that_is_too_large_for_the_ledger_is_kept_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giveortake.session.kinds.workloads.MANY", 5)
    table, ledger = _people(), str(tmp_path / "l.ledger")
    asked = gt.workload.marginals(COLUMNS)
    told = []
    for _ in range(2):
        with _session(table, ledger=ledger) as session:
            told.append(session.workload(asked).answer(rho="1/10")["age", "sex"].to_dict())
    assert told[0] == told[1]
    assert [path for path in tmp_path.rglob("*.answer") if path.is_file()]


def test_a_workload_may_spend_the_whole_budget() -> None:
    for budget, spend in [(gt.ZCDP("1/10"), {"rho": "1/10"}), (gt.PureDP("1/3"), {"epsilon": "1/3"})]:
        session = _session(budget=budget)
        session.workload(gt.workload.marginals(COLUMNS)).answer(**spend)
        with pytest.raises(BudgetExceeded):
            session.workload(gt.workload.marginals(["age"])).answer(**spend)


def test_what_does_not_fit_is_refused_before_a_row_is_read() -> None:
    session = _session(budget=gt.ZCDP("1/100"))
    query = session.workload(gt.workload.marginals(COLUMNS))
    assert not query.quote(rho="1").admitted
    with pytest.raises(BudgetExceeded):
        query.answer(rho="1")
    assert session.budget.spent == 0


@all_cases("neighbours", ["add-remove", "change-one"])
@all_cases("spend", [{"rho": "1/20"}, {"epsilon": "1/2"}, {"epsilon": "1", "delta": "1e-9"}])
def test_the_noise_keeps_the_promise_in_every_relation(neighbours: str, spend: dict[str, str]) -> None:
    budget = gt.ApproxDP(10, "1e-6")
    query = _session(budget=budget, neighbours=neighbours).workload(
        gt.workload.marginals(COLUMNS) + gt.workload.ranges("income")
    )
    quote, answer = query.quote(**spend), query.answer(**spend)
    assert quote.cost == answer.cost
    added = _session(budget=gt.ApproxDP(10, "1e-6")).workload(gt.workload.marginals(COLUMNS)).quote(**spend)
    if neighbours == "change-one":
        assert quote.facts["rms"] > 1.2 * added.facts["rms"]


def test_under_change_one_the_total_costs_nothing_beside_other_tables() -> None:
    said: dict[str, Any] = {"budget": gt.ZCDP(1), "neighbours": "change-one"}
    tables = gt.workload.marginals(["age", "sex"])
    alone = _session(**said).workload(tables).quote(rho="1/10")
    with_total = _session(**said).workload(tables + gt.workload.total()).quote(rho="1/10")
    assert line_of(with_total, "age", "sex")["sd"] == pytest.approx(line_of(alone, "age", "sex")["sd"], rel=1e-6)
    assert line_of(with_total)["sd"] < line_of(alone, "age", "sex")["sd"]
    total = _session(**said).workload(gt.workload.total()).quote(rho="1/2")
    assert line_of(total)["sd"] == pytest.approx(
        math.sqrt(1 + 1 / 12), rel=1e-6
    )  # a row may become one of no declared value


def test_the_greatest_noise_is_less_if_that_is_what_is_minimised() -> None:
    session = _session()
    asked = gt.workload.marginals(["age", "sex", "region", "day"], up_to=2)
    rms, maximum = (session.workload(asked, minimise=each).quote(rho="1/10") for each in ("rms", "maximum"))
    assert max(line["sd"] for line in maximum.lines) < max(line["sd"] for line in rms.lines)
    assert maximum.facts["rms"] > rms.facts["rms"]
    with pytest.raises(InvalidParameter, match="minimise"):
        session.workload(asked, minimise="mean")


def test_a_weight_makes_a_table_surer() -> None:
    session = _session()
    plain = session.workload(gt.workload.marginals(COLUMNS)).quote(mu=1)
    heavy = session.workload(gt.workload.marginals(COLUMNS, weights={("sex", "age"): 20, 1: "0.5"})).quote(mu=1)
    assert line_of(heavy, "age", "sex")["sd"] < line_of(plain, "age", "sex")["sd"]
    assert line_of(heavy, "region")["sd"] > line_of(plain, "region")["sd"]


def test_persons_pay_for_every_row_that_counts() -> None:
    table = _people()
    session = _session(table, unit="id", budget=gt.ZCDP(10**8))
    query = session.workload(gt.workload.marginals(["age", "sex"]))
    with pytest.raises(QueryRefused):
        query.quote(mu=1)
    one, three = (query.quote(mu="1/100", rows_per_person=each) for each in (1, 3))
    assert three.facts["rms"] == pytest.approx(3 * one.facts["rms"], rel=1e-4)
    found = query.answer(mu=10_000, rows_per_person=10**4)
    assert line_of(query.quote(mu=10_000, rows_per_person=10**4), "age", "sex")["sd"] < 10 / 8  # eight deviations
    for row in found["age", "sex"].rows():
        assert row["n"] == pytest.approx(_exactly(table, ("age", "sex"))[row["age"], row["sex"]], abs=10)


def test_parts_of_a_partition_have_workloads_of_their_own() -> None:
    session = _session()
    parts = session.partition("sex")
    for part in parts.values():
        assert len(part.workload(gt.workload.marginals(["age"])).answer(rho="1/10")["age"]) == 5
    assert float(session.budget.spent) == pytest.approx(0.1, rel=1e-6)


def test_intervals_hold_as_often_as_they_say_and_all_together_if_asked() -> None:
    table, runs, miss = _people(60), 150, 0.1
    exactly = {("age",): _exactly(table, ("age",)), ("age", "sex"): _exactly(table, ("age", "sex"))}
    session = _session(table)
    mechanism = mechanism_of(session)
    for spend in (Spend(mu=Fraction(1)), Spend(epsilon=Fraction(1))):
        asked = BoundWorkload.of(
            gt.workload.marginals(["age", "sex"]), session.describe().catalog.private["people"], Caps(), "add-remove"
        )
        made = measured(asked, spend, "rms")
        misses: dict[float, list[list[bool]]] = {miss: [], miss / asked.cells: []}
        for _ in range(runs):
            release = made.read(made.draw(mechanism.engine))
            for level, found in misses.items():
                found.append([])
                for columns, counts in exactly.items():
                    places = asked.attributes.indices_of(columns)
                    keys = itertools.product(*(asked.attributes.values[place] for place in places))
                    values = release.design.estimate(0, places, release.layers[0]).tolist()
                    margin = release.design.margin(0, places, level)
                    found[-1] += [abs(value - counts[key]) > margin for key, value in zip(keys, values, strict=True)]
        slack = math.sqrt(math.log(1 / ALPHA) / (2 * runs))  # Hoeffding; cells of a run depend on each other
        each = np.mean(misses[miss])
        assert each < miss + slack
        assert each > miss / 4  # and are not much too wide
        assert np.mean([any(run) for run in misses[miss / asked.cells]]) < miss + slack


def test_bad_workloads_are_refused_with_what_to_change_and_cost_nothing() -> None:
    session = _session(domains={**DOMAINS, "constant": ["a"]}, table=_people().with_columns(constant=pl.lit("a")))
    marginals = gt.workload.marginals
    for asked in [
        marginals(["id"]),  # which is not declared
        marginals(["constant"]),  # which has one value
        marginals(["nothing"]),
        gt.workload.ranges("id"),  # which has no bounds
        gt.workload.total(of="sex"),
    ]:
        with pytest.raises(QueryRefused):
            session.workload(asked).quote(mu=1)
    named = gt.protect({"t": pl.DataFrame({"n": ["a"]})}, unit=gt.ROW, budget=gt.ZCDP(1), domains={"n": ["a", "b"]})
    for asked in (marginals(["n"]), gt.workload.ranges("n")):
        with pytest.raises(QueryRefused):  # an answer could not be read: its number has that name
            named.workload(asked).answer(rho="1/2")
    assert named.budget.spent == 0
    wide = {f"c{place}": list(range(60)) for place in range(5)}
    table = pl.DataFrame({name: [0] for name in wide})
    large = gt.protect({"wide": table}, unit=gt.ROW, budget=gt.ZCDP(1), domains=wide)
    with pytest.raises(QueryRefused, match="cells"):
        large.workload(marginals(list(wide), up_to=4)).quote(mu=1)
    for wrong in (
        lambda: marginals([]),
        lambda: marginals("age"),
        lambda: marginals(["age", "age"]),
        lambda: marginals(["age"], up_to=0),
        lambda: marginals(["age"], weights={("sex",): 2}),
        lambda: marginals(["age"], weights={("age",): -2}),
        lambda: marginals([f"c{each}" for each in range(1000)], up_to=3),
        lambda: gt.workload.ranges("income", by="income"),
        lambda: session.workload(3),  # type: ignore[arg-type]  # (on purpose)
        lambda: session.workload(marginals(["age"])).quote(),
        lambda: session.workload(gt.workload.ranges("income", bins=1)).quote(mu=1),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
    with pytest.raises(QueryRefused, match="nothing"):
        session.workload(gt.workload.Workload(())).quote(mu=1)
    assert session.budget.spent == 0


def test_caps_of_one_table_are_refused_by_name_with_the_one_that_a_workload_takes() -> None:
    session = _session(unit="id")
    query = session.workload(gt.workload.marginals(["age", "sex"]))
    for name, value in [("groups_per_person", 2), ("rows_per_group", 2), ("caps", "best")]:
        said: Any = {name: value, "mu": 1}
        for asked in (query.quote, query.answer):
            with pytest.raises(InvalidParameter) as refused:
                asked(**said)
            assert refused.value.name == name
    assert query.quote(mu=1, rows_per_person=10).caps == Caps(rows_per_person=10)
    said = {"norm": 3, "mu": 1}
    with pytest.raises(InvalidParameter) as refused:
        query.quote(**said)
    assert refused.value.name == "norm"
    assert session.budget.spent == 0


def test_with_a_norm_all_rows_of_a_person_count_and_the_noise_follows_the_norm() -> None:
    w = gt.workload.marginals(COLUMNS, up_to=2)
    session = _session(unit="id", budget=gt.ZCDP(10**9))
    short, long = (session.workload(w, norm=norm) for norm in ("3/2", 600))
    quotes = [each.quote(mu=1) for each in (short, long)]
    assert quotes[1].facts["rms"] / quotes[0].facts["rms"] == pytest.approx(400, rel=0.01)
    assert quotes[0].caps is None
    assert "scaled down" in str(quotes[0])
    table, exactly = _people(), _exactly(_people(), ("age", "sex"))
    everything: dict[str, Any] = long.answer(mu=10**4)["age", "sex"].to_dict()
    found = dict(zip(zip(everything["age"], everything["sex"], strict=True), everything["n"], strict=True))
    assert all(abs(found[key] - count) < 1 for key, count in exactly.items())
    less = short.answer(mu=10**4)
    assert 0.3 * len(table) < _total(less) < 0.8 * sum(exactly.values())
    assert any("norm = 1.5" in note for note in less.notes)
    with_both = session.workload(w, norm=600).answer(mu=10**4, rows_per_person=1)
    assert _total(with_both) < 140  # each of both only lowers what counts


def test_a_norm_that_bounds_nothing_is_refused_with_what_to_change() -> None:
    w = gt.workload.marginals(COLUMNS, up_to=2)
    persons = _session(unit="id", budget=gt.ApproxDP(10, "1e-6"))
    before = persons.budget.spent
    for said, terms, name in [
        ({"norm": "1/2"}, {"mu": 1}, "norm"),  # less than the length of a single row
        ({"norm": 10**9}, {"mu": 1}, "norm"),
        ({"norm": 10}, {"epsilon": 1}, "norm"),  # for which there is Gaussian noise alone
    ]:
        with pytest.raises(InvalidParameter, match=name):
            persons.workload(w, **said).answer(**terms)  # type: ignore[arg-type]  # (as it is said)
    with pytest.raises(QueryRefused, match="without a norm"):
        persons.workload(w + gt.workload.ranges("income"), norm=10).answer(mu=1)
    with pytest.raises(InvalidParameter):
        _session().workload(w, norm=10).quote(mu=1)
    assert persons.budget.spent == before


def test_a_table_that_was_not_asked_for_is_not_there() -> None:
    answer = _session().workload(gt.workload.marginals(["age", "sex"], up_to=1)).answer(mu=1)
    with pytest.raises(NotFound, match="asked for"):
        answer["age", "sex"]
    with pytest.raises(NotFound):
        answer["agee"]
    assert len(answer) == len(list(answer)) == 2


def test_rollup_cube_and_grouping_sets_are_workloads() -> None:
    session = _session(budget=gt.ApproxDP(10**9, "1e-9"))
    select = "SELECT sex, region, COUNT(*) AS n, SUM(income) AS total FROM people WHERE age > 21 GROUP BY "
    for text, tables in [
        ("ROLLUP (sex, region)", [("sex", "region"), ("sex",), ()]),
        ("CUBE (sex, region)", [("sex", "region"), ("sex",), ("region",), ()]),
        ("GROUPING SETS ((sex, region), (region), ())", [("sex", "region"), ("region",), ()]),
        ("sex, ROLLUP (region)", [("sex", "region"), ("sex",)]),
    ]:
        query = session.workload(select + text)
        assert [line["table"] for line in query.quote(mu=1).lines if line["of"] == "n"] == tables
    answer = session.workload(select + "CUBE (sex, region)").answer(mu=10**4)
    kept = _people().filter((pl.col("sex") != "?") & (pl.col("age") > 21))
    stacked = answer.to_polars()
    assert len(stacked) == 6 + 2 + 3 + 1
    for row in stacked.iter_rows(named=True):
        part = kept
        for name in [] if row["grouping"] == "total" else row["grouping"].split(" × "):
            part = part.filter(pl.col(name).eq_missing(row[name]))
        assert row["n"] == pytest.approx(len(part), abs=0.1)
        assert row["total"] == pytest.approx(part["income"].sum(), abs=1)
    with pytest.raises(QueryRefused):
        session.workload("SELECT sex, AVG(income) AS m FROM people GROUP BY CUBE (sex)")
    with pytest.raises(QueryRefused, match="has ROLLUP"):
        session.workload("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    with pytest.raises(QueryRefused, match="HAVING"):
        session.workload("SELECT sex, COUNT(*) AS n FROM people GROUP BY CUBE (sex) ORDER BY n")


def test_all_faces_show_the_tables(tmp_path: Path) -> None:
    query = _session().workload(gt.workload.marginals(["age", "sex"]) + gt.workload.ranges("income"))
    quote, answer = query.quote(rho=1), query.answer(rho=1)
    assert "age × sex" in quote._repr_html_()
    assert len(json.loads(quote.to_json())["lines"]) == len(quote.lines) == len(quote.margins) == 4
    assert Quote.from_json(quote.to_json()) == quote
    assert "age × sex" in answer._repr_html_()
    answer.to_parquet(tmp_path / "tables.parquet")
    assert (
        len(pl.read_parquet(tmp_path / "tables.parquet"))
        == len(answer.to_pandas())
        == answer.to_arrow().num_rows
        == 17 + 100
    )
    assert "4 tables" in quote.plot().to_dict()["title"]["text"]
    with pytest.raises(InvalidParameter):
        query.session.sql("SELECT COUNT(*) AS n FROM people").quote(rho=1).plot()
    drawn = answer.plot().to_dict()
    assert drawn["title"]["text"] == "4 tables"
    assert [each["title"]["text"] for each in drawn["concat"]] == [
        " × ".join(each) or "total" for each in answer.tables
    ]
    assert answer["sex"].plot().to_dict()["title"]["text"] == "n by sex"
    assert gt.answers.Answer.from_json(answer["sex"].to_json()) == answer["sex"]
    assert "n_consistent" in str(answer["sex"])


REGIONS_AND_DAYS: dict[str, Any] = {
    "city": ["Rome", "Oslo", None],
    "sex": ["m", "f"],
    "age": (20, 23),
    "day": ("2024-01-01", "2024-01-04"),
}
ROWS = 240


def _session_of_texts(**more: Any) -> Session:
    table = pl.DataFrame(
        {
            "city": [["Rome", "Oslo", None][row % 3] for row in range(ROWS)],
            "sex": ["mf"[row % 2] for row in range(ROWS)],
            "age": [20 + row % 4 for row in range(ROWS)],
            "day": [dt.date(2024, 1, 1 + row % 4) for row in range(ROWS)],
        }
    )
    said: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ZCDP(10**9), "domains": REGIONS_AND_DAYS} | more
    return gt.protect({"staff": table}, **said)


EVERYTHING = (
    gt.workload.marginals(["city", "sex"])
    + gt.workload.ranges("age", by="sex")
    + gt.workload.ranges("day")
    + gt.workload.total()
    + gt.workload.total(of="age")
)


def test_the_stacked_table_has_every_cell_of_every_table_and_every_border_of_every_range() -> None:
    answer = _session_of_texts().workload(EVERYTHING).answer(rho=10**8)
    stacked = answer.stacked()
    rows = stacked.rows()
    assert [column.name for column in stacked.columns] == [
        "grouping",
        "city",
        "sex",
        "age_below",
        "day_below",
        "n",
        "n_consistent",
        "age_sum",
    ]
    assert len(rows) == sum(len(answer[each]) for each in answer.tables)
    for table in answer.tables:
        named = " × ".join(table) or "total"
        if table and table[0] in {"age", "day"}:
            named = " × ".join([f"{table[0]}_below", *table[1:]])
        part = [row for row in rows if row["grouping"] == named]
        for ours, theirs in zip(part, answer[table].rows(), strict=True):
            assert all(ours[name] == value for name, value in theirs.items())
            assert all(value is None for name, value in ours.items() if name not in {*theirs, "grouping"})
    below = {row["day_below"]: row["n"] for row in rows if row["grouping"] == "day_below"}
    assert below[dt.date(2024, 1, 3)] == pytest.approx(ROWS / 2, abs=1)


def test_a_workload_of_ranges_alone_is_stacked_too() -> None:
    answer = _session_of_texts().workload(gt.workload.ranges("age")).answer(rho=10**8)
    assert answer.stacked().to_dict()["age_below"] == [21, 22, 23, 24]
    assert [round(each) for each in answer.to_polars()["n"]] == [ROWS // 4, ROWS // 2, 3 * ROWS // 4, ROWS]


def test_all_texts_hold_the_stacked_table(tmp_path: Any) -> None:
    answer = _session_of_texts().workload(EVERYTHING).answer(rho=1)
    stacked = answer.stacked()
    assert answer.to_dict() == stacked.to_dict()
    assert Answer.from_json(answer.to_json()) == stacked
    lines = list(csv.DictReader(io.StringIO(answer.to_csv() or "")))
    assert [line["n"] for line in lines] == ["" if each is None else str(each) for each in stacked.to_dict()["n"]]
    assert answer.to_csv(tmp_path / "all.csv") is None
    assert (tmp_path / "all.csv").read_bytes().decode() == answer.to_csv()
    assert pl.DataFrame(answer.to_arrow()).equals(answer.to_polars())


def test_pages_show_the_first_rows_of_a_few_tables_and_which_others_there_are() -> None:
    answer = _session_of_texts().workload(EVERYTHING).answer(rho=10**8)
    text, page = repr(answer), answer._repr_html_()
    first = answer["city"].to_dict()
    for shown in (text, page):
        assert all(fact in shown for fact in ("6 tables", "95 %", "n_consistent"))
        assert f"{first['n'][0]:,.0f}"[:2] in shown
        assert "3 more" in shown
    assert "r[()]" in text
    assert "<table>" in page
    assert (
        "<script>"
        not in _session_of_texts(
            domains=REGIONS_AND_DAYS | {"city": ["<script>", "Oslo", None]},
        )
        .workload(gt.workload.marginals(["city"]))
        .answer(rho=1)
        ._repr_html_()
    )


def test_names_that_sql_gives_are_those_of_the_answer_and_cost_nothing_more() -> None:
    session = _session_of_texts(budget=gt.ZCDP(10))
    plain = session.workload("SELECT city, sex, COUNT(*) AS n, SUM(age) AS a FROM staff GROUP BY CUBE (city, sex)")
    spent = plain.answer(rho=1) and session.budget.spent
    named = session.workload(
        "SELECT city AS town, sex AS gender, COUNT(*) AS heads, SUM(age) AS years FROM staff GROUP BY CUBE (city, sex)"
    )
    answer = named.answer(rho=1)
    assert session.budget.spent == spent  # the same question by other names
    assert answer.tables == (("town", "gender"), ("town",), ("gender",), ())
    assert sorted(answer["town"].to_dict()) == sorted(
        ["town", "heads", "heads_low", "heads_high", "heads_consistent", "years", "years_low", "years_high"]
    )
    assert [*answer["gender", "town"]["heads"]] == [*plain.answer(rho=1)["sex", "city"]["n"]]
    assert [column.name for column in answer.stacked().columns] == [
        "grouping",
        "town",
        "gender",
        "heads",
        "heads_consistent",
        "years",
    ]
    assert "heads_consistent" in str(answer["town"])
    assert next(line["table"] for line in named.quote(rho=1).lines) == ("town", "gender")
    assert named.quote(rho=1).facts == plain.quote(rho=1).facts
    alias = session.workload("SELECT city AS town, COUNT(*) AS heads FROM staff GROUP BY ROLLUP (town)")
    assert alias.answer(rho=1).tables == (("town",), ())
    with pytest.raises(QueryRefused, match="`again` repeats `n`"):
        session.workload("SELECT sex, COUNT(*) AS n, COUNT(*) AS again FROM staff GROUP BY CUBE (sex)")


def test_days_may_be_written_as_text_where_a_range_is_asked_for() -> None:
    answer = _session_of_texts().workload(gt.workload.ranges("day")).answer(rho=10**8)
    days = dt.date(2024, 1, 2), dt.date(2024, 1, 4)
    assert answer.between("day", *days) == answer.between("day", *map(str, days))
    assert answer.between("day", "2024-01-02", "2024-01-04").value == pytest.approx(ROWS / 2, abs=1)
    with pytest.raises(InvalidParameter):
        answer.between("day", "yesterday", "2024-01-04")
    with pytest.raises(InvalidParameter):
        answer.between("day", 3, "2024-01-04")
    with pytest.raises(InvalidParameter, match="nearest are 2024-01-05"):
        answer.between("day", "2024-01-02", "2024-02-04")


def test_hundreds_of_tables_are_stacked_as_whole_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is never made by itself: whatever asks an answer for its rows would be slow."""
    answer = _session_of_texts().workload(EVERYTHING).answer(rho=1)
    monkeypatch.setattr(Answer, "rows", lambda _: pytest.fail("rows were made"))
    columns = {column.name: column for column in answer.stacked().columns}
    assert {type(each).__name__ for each in columns["n"].parts().values()} == {"ndarray"}
    assert {type(each).__name__ for each in columns["age_sum"].parts().values()} == {"tuple"}  # where some are missing


def test_a_workload_says_what_caps_and_bounds_do_on_every_face() -> None:
    table = pl.DataFrame({"who": range(60), "sex": ["m", "f"] * 30, "age": [20 + row for row in range(60)]})
    domains: dict[str, Any] = {"sex": ["m", "f"], "age": (20, 23)}
    said: dict[str, Any] = {"unit": "who", "budget": gt.PureDP(10**9), "domains": domains, "rows_per_person": 1}
    with gt.protect({"staff": table}, **said) as s:
        query = s.workload(gt.workload.marginals(["sex"]) + gt.workload.ranges("age", by="sex"))
        quote, answer = query.quote(epsilon=10**6), query.answer(epsilon=10**6)
        one = answer.between("age", 20, 24, sex="m")
        faces = (
            str(quote),
            quote._repr_html_(),
            repr(answer),
            answer._repr_html_(),
            repr(one),
            answer["sex"].to_html(),
        )
        assert quote.left_out is not None
        assert not quote.left_out.is_known
        assert all(str(quote.left_out) in html.unescape(face) for face in faces)
        assert one.value == pytest.approx(30, abs=0.1)  # 28 of them are older
        assert any("`age`" in note for note in one.notes)
        s.profile(most_rows=1).answer(epsilon=10**6)
        assert query.quote(epsilon=10**6).left_out.high == 0  # type: ignore[union-attr]  # (a profile tells)


# -- rows that move between tables ------------------------------------------------------------------------------------

NEARLY = Decimal("0.10000000000000000001")  # a double does not tell it from 0.1, which is declared
WIDE: dict[str, Any] = {
    "a": [Decimal(tenths) / 10 for tenths in range(200)],
    "b": [f"v{place}" for place in range(199)],
}


def _nearly_declared(unit: Any, rows: int) -> Comparison:
    """A unit leaves the cells of one column, which has the total, and moves in another."""
    schema: dict[str, Any] = {"id": pl.Int64, "a": pl.Decimal(38, 20), "b": pl.String}
    caps = {} if unit is gt.ROW else {"rows_per_person": rows}
    one, other = (
        gt.protect(
            {"t": pl.DataFrame([(1, Decimal("0.3"), "v5"), *[(99, *cells)] * rows], schema=schema, orient="row")},
            unit=unit,
            budget=gt.GaussianDP(10, neighbours="change-one"),
            domains={"t": WIDE},
            caps=caps,
        )
        for cells in ((Decimal("0.1"), "v0"), (NEARLY, "v1"))
    )

    def purchase(session: gt.session.Session, terms: Any) -> Any:
        yield session.workload(gt.workload.marginals(["a", "b"], up_to=1)).answer(**terms)

    return compare(Case("nearly declared", "workload", purchase), "μ", one, other)


@pytest.mark.parametrize(("unit", "rows"), [(gt.ROW, 1), ("id", 2)])
def test_a_row_that_leaves_one_table_and_moves_in_another_pays_for_both(
    unit: Any, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = _nearly_declared(unit, rows)
    assert compared.violations == ()
    assert compared.used > 0.64  # of the square
    monkeypatch.setattr(BoundWorkload, "is_all_or_none", True)
    assert _nearly_declared(unit, rows).used > 1.21  # what a price that believes the filter would miss


def test_numbers_that_no_column_holds_are_refused_before_anything_is_charged() -> None:
    with _session() as session:
        for number in (2**63, -(2**63) - 1, 2**127):
            derived = f"(SELECT sex, CASE WHEN age > 21 THEN {number} ELSE 0 END AS x FROM people)"
            with pytest.raises(QueryRefused):
                session.workload(f"SELECT sex, SUM(x) AS s FROM {derived} AS d GROUP BY ROLLUP (sex)")
        assert session.budget.spent == 0


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("rows", [1, 3])
def test_what_is_charged_is_the_least_that_the_parts_cost(neighbours: Any, rows: int) -> None:
    with _session() as session:
        relation = session.describe().catalog.private["people"]
        tables = gt.workload.marginals(["sex", "region"], up_to=2) + gt.workload.marginals(["sex"], of="income")
        bound = replace(BoundWorkload.of(tables, relation, session.describe().caps, neighbours), rows=rows)
        design = measured(bound, Spend(mu=Fraction(1, 3)), "rms").design
    assert isinstance(design, ResidualDesign)
    assert design.square() <= design.charged**2
    assert float(sqrt_up(design.square())) == pytest.approx(1 / 3, rel=1e-6)
