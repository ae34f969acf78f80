"""What somebody writes who has not read the pages is told in words, by the name of what is missing or wrong."""

from __future__ import annotations

import pickle
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
from giveortake.arguments import told_by_name
from giveortake.client.connection import Connection
from giveortake.client.query import RemoteQuery
from giveortake.client.workload import RemoteWorkload
from giveortake.errors import BudgetExceeded, GiveOrTakeError, InvalidParameter, NotFound, QueryRefused
from giveortake.session import registration

FRAME = pd.DataFrame({"u": [1, 2, 3], "x": [1.0, 2.0, 3.0], "c": ["a", "b", "a"], "c2": ["a", "b", "a"]})
WORKLOAD = gt.workload.marginals(["c"])


def _protected(source: Any = FRAME, **more: Any) -> Any:
    said: dict[str, Any] = {
        "unit": "u",
        "budget": gt.ApproxDP(9, "1e-6"),
        "domains": {"x": (0, 9), "c": ["a", "b"], "c2": ["a", "b"]},
    }
    return gt.protect(source, rows_per_person=1, **{"table": "people", **said, **more})


@pytest.fixture(scope="module")
def world() -> Iterator[Any]:
    """What the calls below are about; Any, so that a wrong call is no error to a type checker."""
    with _protected() as session:
        query = session.sql("SELECT COUNT(*) AS n FROM people")
        yield SimpleNamespace(
            connection=Connection,
            remote=RemoteQuery,
            gt=gt,
            s=session,
            q=query,
            t=session.table("people"),
            a=query.answer(epsilon="0.1"),
            p=session.profile(epsilon="0.1"),
            parts=session.partition("c"),
        )


Call = Callable[[Any], object]

WITHOUT_NAME: dict[str, tuple[Call, str]] = {
    "answer": (lambda w: w.q.answer(0.1), "epsilon takes its value by name\n\n  hint: write answer(epsilon=…)"),
    "quote": (lambda w: w.q.quote(0.1), "write quote(epsilon=…)"),
    "stream": (lambda w: w.q.stream(0.1), "write stream(epsilon=…)"),
    "frames": (lambda w: w.t.agg(n=gt.count()).answer(0.1), "write answer(epsilon=…)"),
    "refine": (lambda w: w.a.refine(0.1), "write refine(epsilon=…)"),
    "batch": (lambda w: w.s.batch([w.q], 0.1), "write batch(…, epsilon=…)"),
    "workload": (lambda w: w.s.workload(WORKLOAD).answer(1), "write answer(epsilon=…)"),
    "quote of a workload": (lambda w: w.s.workload(WORKLOAD).quote(1), "write quote(epsilon=…)"),
    "marginals": (lambda w: w.gt.workload.marginals(["c"], 2), "write marginals(…, up_to=…)"),
    "total": (lambda w: w.gt.workload.total("x"), "write total(of=…)"),
    "profile": (lambda w: w.s.profile("people", 0.1), "write profile(…, epsilon=…)"),
    "suggest_bounds": (lambda w: w.s.suggest_bounds(0.1), "write suggest_bounds(epsilon=…)"),
    "counter": (lambda w: w.s.counter("x", 5), "write counter(…, horizon=…)"),
    "protect": (lambda w: w.gt.protect(FRAME, "u"), "write protect(…, unit=…)"),
    "connect": (lambda w: w.gt.connect("http://localhost", "x"), "write connect(…, token=…)"),
    "laplace": (lambda w: w.gt.laplace(5, 1, 0.1), "write laplace(…, sensitivity=…, epsilon=…)"),
    "gaussian": (lambda w: w.gt.gaussian(5, 1), "write gaussian(…, sensitivity=…)"),
    "exponential": (lambda w: w.gt.exponential(["a"], [1], 1), "write exponential(…, sensitivity=…)"),
    "randomized_response": (lambda w: w.gt.randomized_response(True, 1), "write randomized_response(…, epsilon=…)"),
    "histogram": (lambda w: w.gt.histogram([1], ["a"]), "write histogram(…, categories=…)"),
    "compose": (lambda w: w.gt.compose(gt.PureDP(1), gt.PureDP(1)), "gt.compose([one, other], delta="),
    "PureDP": (lambda w: w.gt.PureDP(1, "1e-6"), "a promise with a δ is gt.ApproxDP("),
    "synthesize": (lambda w: w.gt.synth.synthesize(w.s, ["x", "c"]), "write synthesize(…, columns=…)"),
    "quote of a synthesis": (lambda w: w.gt.synth.quote(w.s, ["x", "c"]), "write quote(…, columns=…)"),
    "a learner": (lambda w: w.gt.learn.LinearRegression("x", ["c"], 1), "write LinearRegression(…, epsilon=…)"),
    "moments": (lambda w: w.gt.learn.moments(w.s, ["x"], 1), "write moments(…, epsilon=…)"),
    "contingency": (lambda w: w.gt.learn.contingency(w.s, "x", "c"), "contingency(s, ["),
    "statistical_query": (lambda w: w.gt.learn.statistical_query(w.s, "x", 1), "(…, tolerance=…)"),
    "row": (lambda w: w.a.row("a"), 'answer.row(region="north")'),
    "left_out": (lambda w: w.p.left_out(5), "write left_out(rows_per_person=…)"),
    "derive": (lambda w: w.t.derive("x"), "derive(double="),
    "Rappor": (lambda w: w.gt.local.Rappor(["a"], 1), "it needs no list of values"),
    "a remote question": (lambda w: RemoteQuery(w, w, {}).answer(*[0.1]), "write answer(epsilon=…)"),
    "a remote quote": (lambda w: RemoteQuery(w, w, {}).quote(*[0.1]), "write quote(epsilon=…)"),
    "a remote workload": (lambda w: RemoteWorkload.answer(w, *[0.1]), "write answer(epsilon=…)"),
}


@pytest.mark.parametrize(("call", "told"), WITHOUT_NAME.values(), ids=WITHOUT_NAME)
def test_an_argument_without_its_name_is_told_which_it_was(world: Any, call: Call, told: str) -> None:
    with pytest.raises(InvalidParameter, match=r"takes its values? by name") as refused:
        call(world)
    assert told in str(refused.value)


WRONG: dict[str, tuple[Call, str]] = {
    "a batch of a number": (lambda w: w.s.batch(0.1, epsilon=1), "is not a list of questions"),
    "a batch of one question": (lambda w: w.s.batch(w.q, epsilon=1), "is not a list of questions"),
    "a batch of numbers": (lambda w: w.s.batch([5], epsilon=1), "is not a question"),
    "SQL as a list": (lambda w: w.s.sql(["SELECT"]), "."),
    "a table that is a number": (lambda w: w.s.table(5), "is not the name of a table"),
    "a join with a table": (lambda w: w.t.join(w.t, on="u"), "is not the name of a table"),
    "a join with a frame": (lambda w: w.t.join(FRAME, on="c"), r'public=\{"regions": table\}'),
    "public tables without names": (lambda w: _protected(public=pl.DataFrame(FRAME)), r'public=\{"regions": table\}'),
    "a bound that is None": (lambda w: _protected(domains={"x": (0, None)}), "None is none"),
    "reals in a list": (lambda w: _protected(domains={"x": [0, 9.5]}), r"in parentheses: \(0, 9\.5\)"),
    "categories of polars": (lambda w: _protected(domains={"c": pl.Series(["a"])}), r"list\(…\)"),
    "two values of SQL": (lambda w: w.s.sql("SELECT 1", [5]), r"takes text, and no more\n\n  hint: values stand in"),
    "the scale of noise": (lambda w: w.gt.laplace(10, scale=2), "sensitivity= and epsilon= decide the scale"),
    "conditions by name": (lambda w: w.t.filter(c="a"), r'filter\(gt\.col\("region"\) == "north"\)'),
    "an expression of polars": (lambda w: w.t.filter(pl.col("x") > 1), r'of polars\n\n  hint: write gt\.col\("name"\)'),
    "a chain of comparisons": (lambda w: 1 < w.gt.col("x") < 3, r"\.between\(1, 3\)"),
    "a number as an aggregate": (lambda w: w.t.agg(n=5), r"n=gt\.count\(\)"),
    "a count of everything": (lambda w: w.gt.count("*"), r"gt\.count\(\) counts rows"),
    "a distinct count of nothing": (lambda w: w.gt.count_distinct(), "of is missing"),
    "percents": (lambda w: w.s.sql("SELECT QUANTILE(x, 90) FROM people"), "write 0.9 for 90 percent"),
    "a part that is misspelt": (lambda w: w.s.partition("cc"), "the columns are c, c2, u, x"),
    "a style": (lambda w: w.a.plot(kind="bar"), "is unknown to plot\n\n  hint: plot takes title= alone"),
    "a chart in the second place": (lambda w: w.gt.plot.save("b.png", 5), r"save\(chart, 'b.png'\)"),
    "a survey without ε": (lambda w: w.gt.local.RandomizedResponse(["a", "b"]), "epsilon is missing"),
    "a plan without n": (lambda w: w.gt.local.plan(["a", "b"], epsilon=1), "n is missing"),
    "bounds apart": (lambda w: w.gt.local.Mean(0, 200, epsilon=1), "epsilon takes one value, and has two"),
    "scores in a table": (lambda w: w.gt.exponential({"a": 1}, sensitivity=1, epsilon=1), "utilities is missing"),
    "a poll without coins": (lambda w: w.gt.local.Poll(), "truth is missing, and so is epsilon"),
    "an answer beside": (lambda w: w.gt.local.Poll(truth="1/2").randomize(["maybe"]), "more answers than two"),
    "an unknown analyst": (lambda w: w.s.as_analyst("ann"), r'ledger\.analyst\("ann", datasets='),
    "a join on nothing": (lambda w: w.t.join("p"), "on is missing"),
    "columns of a profile": (lambda w: w.s.profile(epsilon=1, columns=5), "is not a list of columns"),
    "a profile without a price": (lambda w: w.s.profile(), "epsilon is missing"),
    "weights of no table": (lambda w: w.gt.workload.marginals(["c"], weights=5), "says of no table"),
    "domains that are a list": (lambda w: _protected(domains=["x"]), "says of no column"),
    "domains that are a number": (lambda w: _protected(domains=5), "says of no column"),
    "a number as a budget": (lambda w: _protected(budget=1), "budget = 1"),
    "a number as a name": (lambda w: _protected(table=5), "is not the name of a table"),
    "the index as the unit": (lambda w: _protected(FRAME.set_index("u")), "is the index of the table"),
    "no columns": (lambda w: _protected(pd.DataFrame()), "has no columns"),
    "no columns of polars": (lambda w: _protected(pl.DataFrame()), "has no columns"),
    "candidates": (lambda w: w.gt.exponential(5, 5, sensitivity=1, epsilon=1), "is not a list of candidates"),
    "no sensitivity": (lambda w: w.gt.laplace(5, epsilon=1), "sensitivity is missing"),
    "no epsilon": (lambda w: w.gt.laplace(5, sensitivity=1), "epsilon is missing"),
    "one promise": (lambda w: w.gt.parallel(gt.PureDP(1)), "is not a list of promises"),
    "an address": (lambda w: w.connection(5, "x", 60), "is not the address"),
    "an address without its scheme": (lambda w: w.connection("127.0.0.1:8431", "x", 60), "url = '127.0.0.1:8431'"),
    "an address with a password": (lambda w: w.connection("ann:secret@host", "x", 60), "url = <hidden>"),
    "no token": (lambda w: w.gt.connect("http://localhost"), "token is missing"),
    "a token that is a number": (lambda w: w.connection("http://localhost", 5, 60), "is not a token"),
    "a timeout": (lambda w: w.connection("http://localhost", "x", "x"), "is not a positive number"),
    "a frame to synthesise": (lambda w: w.gt.synth.quote(FRAME, columns=["x", "c"], epsilon=1, delta=0.1), "session"),
    "zeros": (lambda w: w.gt.synth.quote(w.s, columns=["c", "c2"], epsilon=1, delta=0.1, zeros=5), "is not a list"),
    "a target": (lambda w: w.gt.learn.LinearRegression(5, epsilon=1, delta=0.1).fit(w.s), "is not a column"),
    "features": (lambda w: w.gt.learn.LinearRegression("x", 5, epsilon=1, delta=0.1).fit(w.s), "needs a list"),
    "a model": (lambda w: w.gt.learn.LinearRegression.from_json(5), "is not JSON"),
    "a table of probabilities": (lambda w: w.gt.verify.table([[1]]), "does not say each input's outputs"),
    "a row of probabilities": (lambda w: w.gt.verify.table({0: 1}), "does not say each input's outputs"),
    "a program": (lambda w: w.gt.verify.program(5, inputs=[0, 1]), "takes no coins"),
    "inputs": (
        lambda w: w.gt.verify.program(lambda x, flip: x, inputs=2),
        "inputs = 2 is not a list of different inputs",
    ),
    "a program without coins": (lambda w: w.gt.verify.program(lambda x: x, inputs=[0, 1]), "takes no coins"),
    "a picture of a frame": (lambda w: w.gt.plot.intervals(FRAME), "is not an answer: its type is DataFrame"),
}


@pytest.mark.parametrize(("call", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_words(world: Any, call: Call, told: str) -> None:
    with pytest.raises(GiveOrTakeError, match=told):
        call(world)


def test_names_and_values_of_a_call_go_through_and_are_told_where_they_are_unknown() -> None:
    @told_by_name()
    def call(first: int, /, *, epsilon: int = 0, key: int = 0) -> int:
        return first + epsilon + key

    assert call(1, epsilon=2, key=3) == 6
    with pytest.raises(InvalidParameter, match="did you mean `epsilon`"):
        call(1, epslion=2)  # type: ignore[call-arg]
    with pytest.raises(InvalidParameter, match=r"hint: write call\(…, epsilon=…\)"):
        call(1, 2)  # type: ignore[call-arg]


@pytest.mark.parametrize("term", ["epsilon", "rho", "rows_per_person", "key"])
def test_terms_of_an_answer_are_told_where_they_belong(world: Any, term: str) -> None:
    with pytest.raises(InvalidParameter, match="it belongs to the answer") as refused:
        world.s.sql("SELECT COUNT(*) AS n FROM people", **{term: 1})
    assert refused.value.name == term


ELSEWHERE: dict[str, tuple[Call, str]] = {
    "columns of a session": (lambda w: w.s.columns, "lists the tables and their columns"),
    "a session that is asked": (lambda w: w.s.answer, r"session\.sql"),
    "a session that is grouped": (lambda w: w.s.group_by, r"session\.table\(\)"),
    "order of a question": (lambda w: w.q.order_by, "ORDER BY"),
    "the price of a question": (lambda w: w.q.cost, r"query\.quote"),
    "the value of a question": (lambda w: w.q.value, r"answer\(epsilon=0\.1\)\.value"),
    "order of a remote question": (lambda w: w.remote(w, w, {}).order_by, "ORDER BY"),
    "a table of a session": (lambda w: w.s.people, r'session\.table\("people"\)'),
    "a name for an aggregate": (lambda w: w.gt.sum("x").alias("s"), "the name stands before it"),
    "gt.max": (lambda w: w.gt.max, r'gt\.maximum\("fee"\)'),
    "gt.Session": (lambda w: w.gt.Session, r"gt\.protect"),
    "missing values filled": (lambda w: w.gt.col("x").fillna(0), "coalesce"),
    "the mean of a column": (lambda w: w.a["n"].mean(), "to_pandas"),
    "the head of an answer": (lambda w: w.a.head(), r"answer\.rows\(\)"),
    "the price of an answer": (lambda w: w.a.epsilon, r"answer\.cost"),
    "approx": (lambda w: w.gt.ZCDP("0.1").approx("1e-6"), "approximate"),
    "a part by its name": (lambda w: w.parts.a, r'parts\["a"\]'),
    "a name that nobody knows": (lambda w: w.s.wibble, "no attribute 'wibble'$"),
}


@pytest.mark.parametrize(("call", "told"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_attributes_of_other_libraries_are_told_what_stands_for_them(world: Any, call: Call, told: str) -> None:
    with pytest.raises(AttributeError, match=told):
        call(world)


def test_an_answer_of_one_number_is_a_number(world: Any) -> None:
    assert float(world.a) == int(world.a) == world.a.value
    with pytest.raises(GiveOrTakeError, match="2 rows"):
        float(world.s.sql("SELECT c, COUNT(*) AS n FROM people GROUP BY c").answer(epsilon="0.1"))


@pytest.mark.parametrize("name", ["save", "path", "filename"])
def test_a_chart_is_told_how_it_is_saved(world: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=r'plot\("chart\.svg"\) saves'):
        world.a.plot(**{name: "x.png"})


def test_tables_say_how_they_are_asked(world: Any) -> None:
    with pytest.raises(AttributeError, match="agg"):
        world.t.answer(epsilon=1)
    with pytest.raises(QueryRefused, match="there is no table"):
        world.s.table("peple")


def test_a_table_that_is_not_in_a_workload_is_told_with_those_that_are(world: Any) -> None:
    made = world.s.workload(WORKLOAD + gt.workload.total() + gt.workload.ranges("x", bins=3)).answer(epsilon="0.1")
    for wrong, near in (("cc", "did you mean `c`? "), (("c", "x"), "did you mean `x`? "), (0, "")):
        with pytest.raises(NotFound, match="there is no table of") as refused:
            made[wrong]
        assert refused.value.hint == f"{near}the tables are c, () for the total, x"
    assert repr(WORKLOAD) == "<Workload: 1 marginal of 1 column>"


def test_rows_to_predict_are_lists_and_columns_are_called_as_they_were(world: Any) -> None:
    model = gt.learn.LinearRegression("x", ["c"], epsilon="0.1", delta="1e-7").fit(world.s)
    with pytest.raises(InvalidParameter, match="X = 'c' is not a list of values"):
        model.predict({"c": "aba"})
    with pytest.raises(InvalidParameter, match="is not a table of 1 column\n"):
        model.predict("a")
    with pytest.raises(InvalidParameter, match="columns = 'x' has no declared classes"):
        gt.learn.contingency(world.s, ["c", "x"], epsilon="0.1", delta="1e-7")
    assert "cost μ" in repr(gt.learn.statistical_query(world.s, "x", tolerance=4, n=10))


def test_workloads_can_be_summed() -> None:
    parts = [WORKLOAD, gt.workload.total()]
    assert sum(parts) == WORKLOAD + gt.workload.total()
    with pytest.raises(TypeError):
        1 + WORKLOAD


def test_functions_whose_arguments_nobody_can_list_may_be_programs() -> None:
    def program(*arguments: Any) -> Any:
        return arguments[0] if arguments[1]() else arguments[1]()

    assert str(gt.verify.program(program, inputs=[0, 1]).epsilon()) == "ln 3"


def test_features_may_be_an_array_of_names(world: Any, tmp_path: Path) -> None:
    model = gt.learn.LinearRegression("x", np.array(["c"]), epsilon="0.1", delta="1e-7")  # type: ignore[arg-type]
    assert model.quote(world.s) is not None


PYTHONS_OWN: dict[str, tuple[Call, str]] = {
    "a session by its table": (lambda w: w.s["people"], r'session\.table\("people"\)'),
    "arithmetic of a column": (lambda w: w.a["n"] * 2, "to_pandas"),
    "a column compared": (lambda w: w.a["n"] > 5, "to_pandas"),
    "a sum of promises": (lambda w: w.gt.PureDP(1) + w.gt.PureDP(1), r"one\.compose\(other\)"),
    "the length of a table": (lambda w: len(w.t), r"gt\.count\(\)"),
    "a session in a pickle": (lambda w: pickle.dumps(w.s), "stays in its process"),
}


@pytest.mark.parametrize(("call", "told"), PYTHONS_OWN.values(), ids=PYTHONS_OWN)
def test_operators_that_things_do_not_have_are_errors_of_python_with_a_hint(world: Any, call: Call, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        call(world)


@pytest.mark.parametrize("data", [FRAME.to_dict("records"), FRAME.to_dict("list"), {"t": FRAME.to_dict("list")}, []])
def test_rows_in_lists_are_refused_before_their_texts_are_looked_for_among_files(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "require_one_budget", None)
    with pytest.raises(InvalidParameter, match="its type is") as refused:
        _protected(data)
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("pl.DataFrame(data)")


def test_what_is_printed_is_one_line(world: Any) -> None:
    verdict = gt.verify.program(lambda x, flip: x if flip() else flip(), inputs=[0, 1]).check("ln 3")
    printed = [world.s.history()[-1], world.s.catalog, world.s.standing(), world.p.left_out(rows_per_person=1), verdict]
    for each in printed:
        assert repr(each).startswith("<")
        assert len(repr(each).splitlines()) == 1
        assert len(repr(each)) < 300
    assert repr(gt.sum("x") / gt.count() * 2) == "<sum of x / count rows * 2>"
    assert repr(gt.over("rank", order_by=gt.count())) == "<rank over rows of the answer>"
    assert repr(gt.sum(gt.col("x") + 1).round()) == "<round(sum of (x + 1))>"


def test_numbers_of_numpy_are_bounds_and_a_list_of_columns_is_grouped_by() -> None:
    with _protected(domains={"x": (0, np.float32(9.5)), "c": ["a", "b"], "c2": ["a", "b"]}) as session:
        assert session.table().relation.schema["x"].high == Fraction(19, 2)
        grouped = session.table().group_by(["c", "c2"]).agg(n=gt.count())
        assert [column.name for column in grouped.answer(epsilon="0.1").keys] == ["c", "c2"]


def test_a_closed_session_charges_nothing_whosever_the_ledger_is() -> None:
    with gt.ledger.open(":memory:") as book:
        session = _protected(ledger=book)
        query = session.sql("SELECT COUNT(*) AS n FROM people")
        session.close()
        with pytest.raises(QueryRefused, match="this session is closed; nothing was charged"):
            query.answer(epsilon="0.1")
        assert [level.share for level in book.levels() if level.kind == "population"] == [0]
    with pytest.raises(GiveOrTakeError, match="and so are its sessions"):
        session.history()


def test_a_session_of_rows_says_that_each_is_protected_by_itself() -> None:
    with gt.protect(FRAME, unit=gt.ROW, budget=gt.PureDP(1)) as session:
        assert "each row is protected by itself" in repr(session)


def test_completion_offers_what_is_public() -> None:
    assert {name for name in dir(gt) if not name.startswith("__")} == {*gt.__all__} - {"__version__"}


def test_hints_name_the_column_that_they_are_about(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    FRAME.assign(paid=["true", "false", "true"], n=[1, 2, 3]).to_csv(file, index=False)
    domains = {"n": (1, 3)}
    zones = pl.DataFrame({"c": ["a", "a"], "k": [1, 2]})
    with _protected(file, domains=domains, table=None, public={"zones": zones}) as session:
        for question, told in (
            ("SELECT COUNT_IF(paid) FROM people", 'domains={"paid": [True, False]}'),
            ("SELECT n, COUNT(*) FROM people GROUP BY n", 'domains={"n": {"bounds": (1, 20), "integer": True}}'),
            ("SELECT COUNT(*) FROM people JOIN zones ON people.c = zones.c", "make `c` unique in `zones`"),
        ):
            with pytest.raises(QueryRefused) as refused:
                session.sql(question)
            assert told in str(refused.value)


def test_a_pure_budget_says_that_it_cannot_pay_for_gaussian_noise() -> None:
    with _protected(budget=gt.PureDP(1)) as session:
        query = session.sql("SELECT COUNT(*) AS n FROM people")
        with pytest.raises(BudgetExceeded, match="a pure ε budget cannot pay for Gaussian noise"):
            query.answer(rho="0.1")
