"""Every kind of request, in coupled runs on neighbouring tables; and mistakes, which the harness finds."""

from __future__ import annotations

import inspect
import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mistakes import ANYWHERE, BY_KIND, IN_THE_GATE, SHOWN_BY, SOMEWHERE, SOMEWHERE_IN_THE_GATE, is_found

from engine_places import OTHERS as PLACES
from engine_places import place
from evil_tables import SCHEMAS, frame
from giveortake import learn
from giveortake.audit.cases import OTHERS, queries, query, shapes_of
from giveortake.audit.conformance import DECLARATIONS, Case, Report, compare, conform
from giveortake.audit.coupling import charged, coupled
from giveortake.audit.neighbours import Row, Table, random_row, random_rows, random_visits
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.learn.base import Learner
from giveortake.learn.noisy_sums import FitPlan
from giveortake.mechanisms import Laplace, Sensitive
from giveortake.session.requests import Request
from query_shapes import together
from replay import Revealing
from tiers import is_long, tiered

EVERYTHING = [*queries(), *OTHERS]
ONLY_HERE = {"output perturbation", "descent by trusted code"}  # which other engines refuse
ONE_OF_EACH = [
    *("several by declared", "batch", "refinement", "workload", "counter", "profile", "naive Bayes", "synthesis"),
    "weights",
]


def stored(name: str, rows: Sequence[Row]) -> Any:
    """Rows in a Polars table, which has decimals, and dates that Python has not."""
    return frame(rows, SCHEMAS[name])


def _spend(case: Case) -> str:
    """A currency in which there is an answer, with a δ where there may be one."""
    return "ε" if case.kind == "profile" else case.spends[1 % len(case.spends)]


def _persons(seed: str, persons: int, *, heavy: int = 0) -> Table:
    """Whatever a table can hold, of some persons and of nobody, without NUL, which not every engine stores."""
    dice = random.Random(seed)  # noqa: S311 (which rows are tried need not be secret)
    rows = [row for person in range(persons) for row in random_rows(dice, person)]
    rows += [random_row(dice, dice.choice([77, None, 2**63 - 1, -1, *range(30)])) for _ in range(heavy)]
    visits = [visit for person in [*range(persons), None] for visit in random_visits(dice, person)]
    return Table(tuple({**row, "q": (row["q"] or "").replace("\0", "") or None} for row in rows), tuple(visits))


# -- everything is in it ----------------------------------------------------------------------------------------------


def _below(base: type[Any]) -> list[type[Any]]:
    return [each for direct in base.__subclasses__() for each in (direct, *_below(direct))]


def test_every_registered_kind_of_request_is_in_the_harness() -> None:
    kinds = {vars(request)["kind"] for request in _below(Request) if isinstance(vars(request).get("kind"), str)}
    assert kinds | {"fit", "synthesis"} <= {case.kind for case in EVERYTHING}
    assert {case.name for case in EVERYTHING} >= set(ONE_OF_EACH)
    assert {case.kind for case in EVERYTHING if case.name in ONE_OF_EACH} == {case.kind for case in EVERYTHING}


def test_every_learner_and_every_plan_of_a_fit_is_in_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, sound = set(), Learner.fit

    def fit(self: Any, *arguments: Any, **options: Any) -> Any:
        fitted.add(type(self))
        return sound(self, *arguments, **options)

    monkeypatch.setattr(Learner, "fit", fit)
    with DECLARATIONS["few rows, add-remove"].session(_persons("learners", 9)) as session:
        for case in OTHERS:
            if case.kind == "fit":
                case.run(session, _spend(case))
        names = [entry.content["name"] for entry in session.history() if entry.kind == "reserved"]
    plans = {plan.stored_name for plan in _below(FitPlan) if not inspect.isabstract(plan)}
    assert {name["run"]["learner"] for name in names} >= plans | {"sgd"}
    public = [getattr(learn, name) for name in learn.__all__]
    assert fitted >= {each for each in public if inspect.isclass(each) and issubclass(each, Learner)}


REFUSED = {  # by kind or case, and currency
    *(("profile", spend) for spend in ("(ε, δ)", "ρ", "μ")),
    *((kind, "ε") for kind in ("counter", "weights", "synthesis", "fit", "workload of clipped persons")),
    *(("synthesis", spend) for spend in ("ρ", "μ")),  # it has no such parameters
}
UNPRICED = {"descent", "descent by trusted code"}  # where a person is changed
OF_PERSONS = {"profile", "scores", "workload of clipped persons"}  # which rows alone cannot buy


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_a_kind_is_sold_in_every_currency_but_those_that_it_refuses(change: str) -> None:
    table = _persons("currencies", 5)
    sessions = {unit: DECLARATIONS[f"{unit}, {change}"].session(table) for unit in ("rows", "few rows")}
    named = {*ONE_OF_EACH, *UNPRICED, *OF_PERSONS}
    for case in (case for cases in BY_KIND.values() for case in cases if is_long() or case.name in named):
        session = sessions["few rows" if case.name in OF_PERSONS else "rows"]
        for spend in case.spends:
            is_refused = bool({(case.kind, spend), (case.name, spend)} & REFUSED)
            is_refused |= case.name in UNPRICED and change == "change-one"
            assert isinstance(case.run(session, spend)[-1], tuple) == is_refused, (case.name, spend)
    for session in sessions.values():
        session.close()


# -- nothing is lost beyond the charge --------------------------------------------------------------------------------


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_neighbours_lose_no_more_than_is_charged_and_look_alike(declaration: str) -> None:
    chosen = {declaration: DECLARATIONS[declaration]}
    report = conform(
        EVERYTHING, chosen, tables=tiered(1, 2), neighbours=tiered(1, 3), seed=8, every=tiered(13, 1), place=stored
    )
    assert report.violations == []
    assert report.draws["query", "duckdb"] > report.compared["query", "duckdb"] / 2
    assert max(report.nearest.values()) > 0.5  # and something comes near


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_each_kind_comes_near_its_charge_and_never_above(change: str) -> None:
    cases = [replace(case, spends=(_spend(case),)) for case in EVERYTHING if case.name in ONE_OF_EACH]
    chosen = {name: DECLARATIONS[name] for name in (f"rows, {change}", f"few rows, {change}")}
    report = conform(cases, chosen, tables=2, neighbours=tiered(4, 40), seed=1)
    assert report.violations == []
    assert min(report.nearest.values()) > 0.49  # of the square, where noise is normal


def _placed(where: str, request: pytest.FixtureRequest) -> Callable[[str, Sequence[Row]], Any]:
    put, number = place(where, request), itertools.count()
    return lambda name, rows: put(f"{name}_{next(number)}", stored(name, rows))  # two tables of a server have two names


@pytest.mark.parametrize("where", PLACES if is_long() else PLACES[:1])
def test_neighbours_look_alike_on_every_engine(where: str, request: pytest.FixtureRequest) -> None:
    cases = EVERYTHING if is_long() else [case for case in EVERYTHING if case.name in ONE_OF_EACH]
    cases = [case if is_long() else replace(case, spends=(_spend(case),)) for case in cases]
    chosen = {name: DECLARATIONS[name] for name in tiered(["few rows, change-one"], list(DECLARATIONS))}
    report = conform(cases, chosen, seed="engines", place=_without_nul(_placed(where, request)), engine=where)
    assert report.violations == []
    assert {kind for kind, engine in report.draws if engine == where} == {case.kind for case in cases}


def _without_nul(put: Callable[[str, Sequence[Row]], Any]) -> Callable[[str, Sequence[Row]], Any]:
    return lambda name, rows: put(
        name, [{**row, "q": row["q"].replace("\0", "")} if isinstance(row.get("q"), str) else row for row in rows]
    )


# -- engines ----------------------------------------------------------------------------------------------------------


FIRST = "few rows, add-remove"  # under which all cases are asked; under others every ninth is, in the gate


def _asked_of(where: str) -> list[Case]:
    """Of Spark, which is slow to plan, one case for each kind and some shapes in the gate, several in one question."""
    if where != "spark" or is_long():
        return [case for case in EVERYTHING if case.name not in ONLY_HERE]
    shapes = shapes_of(by_person=True, few_rows=True)
    some = together({name: shapes[name] for name in sorted(shapes)[::4]})
    return [
        *(Case(name, "query", query(text)) for name, text in some.items()),
        *(case for case in OTHERS if case.name in ONE_OF_EACH),
    ]


@pytest.mark.parametrize("where", PLACES)
def test_every_kind_has_the_same_integers_and_words_on_every_engine(where: str, request: pytest.FixtureRequest) -> None:
    """The share of the budget is large, so that discovered groups are shown; one table is empty."""
    report, cases = Report(), _asked_of(where)
    tables = {
        FIRST: _persons("engines", 9, heavy=200),
        "caps of each request, change-one": _persons("caps", 9, heavy=50),
        **tiered({}, {"persons, add-remove": _persons("more", 12, heavy=400)}),
        "rows, change-one": Table(()),
    }
    for name, table in tables.items():
        declared = DECLARATIONS[name]
        with (
            declared.session(table, _placed("duckdb", request)) as one,
            declared.session(table, _placed(where, request)) as two,
        ):
            assert repr(one.describe().catalog) == repr(two.describe().catalog)
            for turn, case in enumerate(cases[:: 1 if name == FIRST or is_long() else 9]):
                stated = declared.stated_caps(turn) if case.kind in {"query", "batch"} else {}
                spend = "share" if case.kind == "query" and "share" in case.spends else _spend(case)
                report.add(name, compare(replace(case, caps=stated), spend, one, two, same=True), where)
    assert report.violations == []
    assert {kind for kind, _ in report.draws} >= set(BY_KIND)
    assert report.draws["query", where] > 3 * report.compared["query", where] / 2


@pytest.mark.parametrize("kind", sorted(BY_KIND))
def test_an_engine_that_loses_a_row_is_found_by_every_kind(kind: str) -> None:
    declared, rows = DECLARATIONS["few rows, add-remove"], _persons("lost", 9).rows
    lost = {**rows[0], "p": 500, "r": "north", "b": True, "e": 19_723, "x": 6.0, "i": 300, "n": "a"}
    with declared.session(Table((*rows, lost))) as one, declared.session(Table(rows)) as two:
        (case,) = (case for case in EVERYTHING if case.name in ONE_OF_EACH and case.kind == kind)
        assert compare(case, _spend(case), one, two, same=True).violations


# -- mistakes ---------------------------------------------------------------------------------------------------------


def test_at_least_three_mistakes_are_planted_where_each_kind_would_go_wrong() -> None:
    planted = Counter(cases[0].kind for _, _, cases in SOMEWHERE.values())
    assert set(planted) == set(BY_KIND)
    assert min(planted.values()) >= 3
    in_the_gate = Counter(SOMEWHERE[name][2][0].kind for name in SOMEWHERE_IN_THE_GATE)
    assert min(in_the_gate[kind] for kind in BY_KIND) >= 3


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in ANYWHERE for kind in sorted(BY_KIND)] if is_long() else IN_THE_GATE
)
def test_mistakes_anywhere_are_found_in_every_kind(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ANYWHERE[name](monkeypatch)
    declaration, spend = SHOWN_BY.get(kind, ("rows", "(ε, δ)"))
    cases = [case for case in BY_KIND[kind] if spend in case.spends and (is_long() or case.name in ONE_OF_EACH)]
    assert is_found(cases, f"{declaration}, add-remove", spend=spend)


@pytest.mark.parametrize("name", list(SOMEWHERE) if is_long() else SOMEWHERE_IN_THE_GATE)
def test_mistakes_somewhere_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    declaration, mistake, cases = SOMEWHERE[name]
    mistake(monkeypatch)
    chosen = declaration if ", " in declaration else f"{declaration}, add-remove"
    assert is_found(cases, chosen, seeds=40)


# -- the harness itself -----------------------------------------------------------------------------------------------


def test_a_durable_session_is_never_compared(tmp_path: Path) -> None:
    declared, table = DECLARATIONS["rows, add-remove"], Table(())
    with declared.session(table, ledger=tmp_path / "live.ledger") as live, declared.session(table) as made:
        for pair in ((live, made), (made, live)):
            with pytest.raises(GiveOrTakeError, match="durable"):
                compare(EVERYTHING[0], "ε", *pair)
    with pytest.raises(InvalidParameter):
        declared.session([{"p": 1}])  # type: ignore[arg-type]  # (rows of a list are not generated)


def test_another_thread_draws_as_ever_while_a_thread_is_coupled() -> None:
    released: list[int] = []
    with coupled(object()) as first:
        Laplace(10**9).release(Sensitive(0))
    with coupled(object(), first) as second:
        assert Laplace(10**9).release(Sensitive(7)) == first.draws[0].released
        thread = threading.Thread(target=lambda: released.append(Laplace(10**9).release(Sensitive(7))))
        thread.start()
        thread.join()
    assert (len(first.draws), len(second.draws)) == (1, 1)
    assert released != [first.draws[0].released]  # by chance less than once in 10⁹
    assert second.loss(first) == charged(Laplace(10**9).event(7))
    assert Laplace(10**9).release(Sensitive(7)) != first.draws[0].released


def test_what_opens_a_value_and_is_no_known_mechanism_is_a_violation() -> None:
    with coupled(object()) as one:
        Revealing().release(Sensitive(5))
    assert "Revealing" in " ".join(one.differences(one))
