"""Calls with wrong values and types: refused by the argument's name, at no cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import giveortake as gt
from giveortake.client.connection import Connection
from giveortake.configuration import protection_arguments
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound, QueryRefused
from giveortake.session import protection

DAYS = pd.date_range("2024-01-01", periods=3)
FRAME = pd.DataFrame(
    {
        "u": [1, 2, 3],
        "x": [1.0, 2.0, 3.0],
        "c": ["a", "b", "a"],
        "c2": ["a", "b", "a"],
        "b": [True, False, True],
        "at": DAYS,
        "day": DAYS.date,
        "zoned": DAYS.tz_localize("UTC"),
        "lasting": pd.to_timedelta([1, 2, 3], unit="h"),
    }
)
NAN = float("nan")
YEAR = ("2024-01-01", "2024-12-31")
WORKLOAD = gt.workload.marginals(["c"])
Call = Callable[[Any], object]


def _protected(source: Any = FRAME, **more: Any) -> Any:
    options: dict[str, Any] = {
        "unit": "u",
        "budget": gt.ApproxDP(9, "1e-6"),
        "domains": {"x": (0, 9), "c": ["a", "b"], "c2": ["a", "b"], "at": YEAR, "day": YEAR},
    }
    return gt.protect(source, rows_per_person=1, **protection_arguments({"name": "people", **options, **more}))


@pytest.fixture(scope="module")
def world() -> Iterator[Any]:
    """What the calls below are about; Any, so that a wrong call is no error to a type checker."""
    with _protected() as session:
        query = session.sql("SELECT COUNT(*) AS n FROM people")
        yield SimpleNamespace(
            gt=gt,
            s=session,
            q=query,
            t=session.table("people"),
            a=query.answer(epsilon="0.1"),
            p=session.profile().answer(epsilon="0.1"),
            parts=session.partition("c"),
        )


WRONG: list[tuple[str, Call]] = [
    ("truth", lambda w: w.gt.local.Poll()),
    ("epsilon", lambda w: w.s.profile().answer()),
    ("epsilon", lambda w: w.s.batch([w.q]).answer()),
    ("epsilon", lambda w: w.s.weights(["c"]).quote()),
    ("queries", lambda w: w.s.batch(0.1).answer(epsilon=1)),
    ("queries", lambda w: w.s.batch(w.q).answer(epsilon=1)),
    ("queries", lambda w: w.s.batch([5]).answer(epsilon=1)),
    ("queries", lambda w: w.s.batch({"a": w.q}).answer(epsilon=1)),
    ("queries", lambda w: w.s.batch([w.s.profile()])),
    ("rho", lambda w: w.s.profile().answer(rho=1)),
    ("margin", lambda w: w.s.weights(["c"]).answer(margin=1)),
    ("n", lambda w: w.s.batch([w.q]).answer(epsilon=1, n=5)),
    ("columns", lambda w: w.s.weights("c")),
    ("table", lambda w: w.s.table(5)),
    ("table", lambda w: w.t.join(w.t, on="u")),
    ("table", lambda w: w.t.join(FRAME, on="c")),
    ("public", lambda w: _protected(public=pl.DataFrame({"c": ["a"]}))),
    ("domains['x']", lambda w: _protected(domains={"x": (0, None)})),
    ("domains['x']", lambda w: _protected(domains={"x": [0, 9.5]})),
    ("domains['x']", lambda w: _protected(domains={"x": (9, 0)})),
    ("domains['c']", lambda w: _protected(domains={"c": pl.Series(["a"])})),
    ("domains['c']", lambda w: _protected(domains={"c": FRAME.c.unique()})),
    ("domains['c']", lambda w: _protected(domains={"c": ["a", np.nan]})),
    ("domains['at']", lambda w: _protected(domains={"at": ("01/02/2024", "3/2/2024")})),
    ("domains", lambda w: _protected(domains={"zoned": YEAR})),
    ("domains", lambda w: _protected(domains=["x"])),
    ("domains", lambda w: _protected(domains=5)),
    ("partition", lambda w: w.s.partition("cc")),
    ("chart", lambda w: w.gt.plot.save("b.png", 5)),
    ("answer", lambda w: w.gt.plot.intervals(FRAME)),
    ("answer", lambda w: w.gt.local.Poll(truth="1/2").randomize(["maybe"])),
    ("columns", lambda w: w.s.profile(columns=5).answer(epsilon=1)),
    ("weights", lambda w: w.gt.workload.marginals(["c"], weights=5)),
    ("budget", lambda w: _protected(budget=1)),
    ("budget", lambda w: _protected(budget=(1, 1e-6))),
    ("delta", lambda w: w.gt.ApproxDP("1e-6", 1)),
    ("name", lambda w: _protected(name=5)),
    ("unit", lambda w: _protected(FRAME.set_index("u"))),
    ("unit", lambda w: _protected(unit="lasting")),
    ("unit", lambda w: _protected(FRAME.assign(u=[1, 2, np.nan]))),
    ("source", lambda w: _protected(pd.DataFrame())),
    ("source", lambda w: _protected(pl.DataFrame())),
    ("source", lambda w: _protected(FRAME.assign(p=DAYS.to_period("M")))),
    ("source", lambda w: _protected(FRAME.assign(p=1j))),
    ("candidates", lambda w: w.gt.exponential(5, 5, sensitivity=1, epsilon=1)),
    ("promises", lambda w: w.gt.parallel(gt.PureDP(1))),
    ("url", lambda w: Connection(5, "x", 60)),  # type: ignore[arg-type]  # (refused)
    ("url", lambda w: Connection("127.0.0.1:8431", "x", 60)),
    ("token", lambda w: Connection("http://localhost", 5, 60)),  # type: ignore[arg-type]  # (refused)
    ("timeout", lambda w: Connection("http://localhost", "x", "x")),  # type: ignore[arg-type]  # (refused)
    ("session", lambda w: w.gt.synth.quote(FRAME, columns=["x", "c"], epsilon=1, delta=0.1)),
    ("zeros", lambda w: w.gt.synth.quote(w.s, columns=["c", "c2"], epsilon=1, delta=0.1, zeros=5)),
    ("target", lambda w: w.gt.learn.LinearRegression(5, epsilon=1, delta=0.1).fit(w.s)),
    ("features", lambda w: w.gt.learn.LinearRegression("x", 5, epsilon=1, delta=0.1).fit(w.s)),
    ("columns", lambda w: w.gt.learn.contingency(w.s, ["c", "x"], epsilon="0.1", delta="1e-7")),
    ("text", lambda w: w.gt.learn.LinearRegression.from_json(5)),
    ("rows", lambda w: w.gt.verify.table([[1]])),
    ("rows", lambda w: w.gt.verify.table({0: 1})),
    ("program", lambda w: w.gt.verify.program(5, inputs=[0, 1])),
    ("program", lambda w: w.gt.verify.program(lambda x: x, inputs=[0, 1])),
    ("inputs", lambda w: w.gt.verify.program(lambda x, flip: x, inputs=2)),
]
REFUSED: list[Call] = [
    lambda w: w.s.sql(["SELECT"]),
    lambda w: w.t.filter(pl.col("x") > 1),
    lambda w: 1 < w.gt.col("x") < 3,
    lambda w: w.t.agg(n=5),
    lambda w: w.gt.count("*"),
    lambda w: w.s.sql("SELECT QUANTILE(x, 90) FROM people"),
    lambda w: w.s.table("peple"),
    lambda w: w.gt.col("c") == None,  # noqa: E711 (what is refused)
    lambda w: w.gt.col("c") == NAN,
    lambda w: w.s.sql("SELECT AVG(b) AS n FROM people"),
    lambda w: w.s.sql("SELECT MAX(day) AS n FROM people"),
    lambda w: w.t.group_by("at").agg(n=gt.count()),
    lambda w: w.t.group_by(k=gt.col("at").bucket(7)).agg(n=gt.count()),
    lambda w: w.t.filter(gt.col("day") > "2.1.2024"),
    lambda w: w.t.filter(gt.col("day") > 2024),
    lambda w: w.s.sql("SELECT COUNTIF(c) AS n FROM people"),
    lambda w: w.s.sql("SELECT COUNT(zoned) AS n FROM people"),
    lambda w: w.t.agg(n=gt.sum("lasting")),
    lambda w: w.t.agg(m=gt.median("x")).quote(margin=1, n=17),
]


def test_a_wrong_call_is_refused_by_the_name_of_its_argument(world: Any) -> None:
    problems = []
    for place, (name, call) in enumerate(WRONG):
        try:
            call(world)
            problems.append(f"{place}, {name}: not refused")
        except InvalidParameter as refused:
            if refused.name != name:
                problems.append(f"{place}, {name}: refused as {refused.name}")
    assert problems == []


def test_a_wrong_question_is_refused_before_it_costs(world: Any) -> None:
    before = len(world.s.history())
    for call in REFUSED:
        with pytest.raises(QueryRefused):
            call(world)
    with pytest.raises(NotFound, match="ann"):
        world.s.as_analyst("ann")
    assert len(world.s.history()) == before


def test_an_address_with_a_password_is_hidden_in_its_refusal() -> None:
    with pytest.raises(InvalidParameter) as refused:
        Connection("ann:secret@host", "x", 60)
    assert (refused.value.name, "secret" in str(refused.value)) == ("url", False)


def test_an_answer_of_one_number_is_a_number(world: Any) -> None:
    assert float(world.a) == int(world.a) == world.a.value
    with pytest.raises(GiveOrTakeError):
        float(world.s.sql("SELECT c, COUNT(*) AS n FROM people GROUP BY c").answer(epsilon="0.1"))


def test_a_table_that_is_not_in_a_workload_is_not_found(world: Any) -> None:
    answer = world.s.workload(WORKLOAD + gt.workload.total() + gt.workload.ranges("x", bins=3)).answer(epsilon="0.1")
    for wrong in ("cc", ("c", "x"), 0):
        with pytest.raises(NotFound):
            answer[wrong]
    assert sum([WORKLOAD, gt.workload.total()]) == WORKLOAD + gt.workload.total()


def test_rows_to_predict_are_lists_and_features_may_be_an_array_of_names(world: Any) -> None:
    names: Any = np.array(["c"])
    model = gt.learn.LinearRegression("x", names, epsilon="0.1", delta="1e-7").fit(world.s)
    assert world.s.release(model.provenance_.release_id).features == ("c",)
    for wrong in ({"c": "aba"}, "a"):
        with pytest.raises(InvalidParameter) as refused:
            model.predict(wrong)
        assert refused.value.name == "X"


def test_functions_whose_arguments_nobody_can_list_may_be_programs() -> None:
    def program(*arguments: Any) -> Any:
        return arguments[0] if arguments[1]() else arguments[1]()

    assert str(gt.verify.program(program, inputs=[0, 1]).epsilon()) == "ln 3"


def test_rows_in_lists_are_refused_before_their_texts_are_looked_for_among_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protection, "require_one_budget", None)
    lists: list[Any] = [FRAME.to_dict("records"), FRAME.to_dict("list"), {"t": FRAME.to_dict("list")}, []]
    for data in lists:
        with pytest.raises(InvalidParameter):
            _protected(data)


def test_what_is_no_place_for_a_ledger_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    places: list[Any] = [5, "None", 1.5, b"x"]
    for place in places:
        for opened in (lambda place=place: _protected(ledger=place), lambda place=place: gt.ledger.open(place)):
            with pytest.raises(InvalidParameter, match="ledger"):
                opened()
    assert not list(tmp_path.iterdir())


def test_what_is_printed_is_one_line(world: Any) -> None:
    verdict = gt.verify.program(lambda x, flip: x if flip() else flip(), inputs=[0, 1]).check("ln 3")
    printed = [
        world.s.history()[-1],
        world.s.describe().catalog,
        world.s.budget.status(),
        world.p.left_out(rows_per_person=1),
        verdict,
    ]
    for each in printed:
        assert repr(each).startswith("<")
        assert len(repr(each).splitlines()) == 1
        assert len(repr(each)) < 300


def test_numbers_of_numpy_are_bounds_and_a_list_of_columns_is_grouped_by() -> None:
    with _protected(domains={"x": (0, np.float32(9.5)), "c": ["a", "b"], "c2": ["a", "b"]}) as session:
        assert session.table().relation.schema["x"].high == Fraction(19, 2)
        grouped = session.table().group_by(["c", "c2"]).agg(n=gt.count())
        assert [column.name for column in grouped.answer(epsilon="0.1").keys] == ["c", "c2"]


def test_a_series_keeps_its_name_and_its_objects_are_texts() -> None:
    numbers = pd.Series([1, "2", None], name="fee", dtype=object)
    with gt.protect(numbers, unit=gt.ROW, budget=gt.PureDP(1)) as session:
        assert [*session.table().relation.schema] == ["fee"]
    with gt.protect(pd.Series([1.5]), unit=gt.ROW, budget=gt.PureDP(1)) as session:
        assert [*session.table().relation.schema] == ["value"]


def test_a_closed_session_charges_nothing_whosever_the_ledger_is() -> None:
    with gt.ledger.open(":memory:") as book:
        session = _protected(ledger=book)
        query = session.sql("SELECT COUNT(*) AS n FROM people")
        session.close()
        with pytest.raises(QueryRefused):
            query.answer(epsilon="0.1")
        assert [level.share for level in book.levels() if level.kind == "population"] == [0]
    with pytest.raises(GiveOrTakeError):
        session.history()


def test_completion_offers_what_is_public() -> None:
    assert {name for name in dir(gt) if not name.startswith("__")} == {
        *gt.__all__,
        *gt.frame.aggregates.__all__,
    } - {"__version__"}


# -- tables in the place of arguments: nothing of a row is in a refusal ----------------------------------------------

HIDDEN = "HIDDENROW"
TABLES: dict[str, Any] = {
    "pandas": pd.DataFrame({"p": [HIDDEN, "x"]}),
    "a column of pandas": pd.Series([HIDDEN, "x"]),
    "polars": pl.DataFrame({"p": [HIDDEN, "x"]}),
    "arrow": pl.DataFrame({"p": [HIDDEN, "x"]}).to_arrow(),
    "an array": np.array([HIDDEN, "x"]),
    "in a list": [pd.Series([HIDDEN])],
    "in a dictionary": {"a": np.array([HIDDEN])},
}


def test_no_refusal_tells_what_is_in_a_table(world: Any) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda table: world.s.profile(table).answer(epsilon=1),
        lambda table: world.s.batch(table).answer(epsilon=1),
        world.s.table,
        lambda table: world.q.answer(epsilon=table),
        lambda table: _protected(name=table),
        lambda table: _protected(domains=table),
    ]
    for name, table in TABLES.items():
        assert HIDDEN not in str(InvalidParameter("epsilon", table, "is not a number")), name
        for call in calls:
            with pytest.raises(GiveOrTakeError) as refused:
                call(table)
            assert HIDDEN not in str(refused.value), name
