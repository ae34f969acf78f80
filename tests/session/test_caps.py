"""Caps are stated, for a table and for a question, or the question is refused; nothing is cut in silence."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers.terms import Caps
from giveortake.compile import Measurement
from giveortake.configuration import from_toml, protection_arguments
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.plan import identity
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from inside import engine_of, measured
from replay import SPEND, exact_integers

CARRIERS = ["AA", "DL", "UA"]
TAILS = [f"N{number}" for number in range(20)]
FLIGHTS = pl.DataFrame(
    {
        "tail": [*(tail for tail in TAILS for _ in range(30)), *[None] * 7],
        "carrier": [CARRIERS[row % 3] for row in range(607)],
        "route": [f"r{row % 11}" for row in range(607)],
        "delay": [float(row % 50) for row in range(607)],
    }
)
PLANES = pl.DataFrame({"tail": [*TAILS, "N1", "N1"], "seats": [50 + number for number in range(22)]})
DOMAINS = {"carrier": CARRIERS, "delay": (0, 50), "seats": {"bounds": (0, 100), "integer": True}}
COUNT = "SELECT COUNT(*) AS n FROM flights"
BY_CARRIER = "SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier"
BY_ROUTE = "SELECT route, COUNT(*) AS n FROM flights GROUP BY route"
MATCHED = "SELECT COUNT(*) AS n FROM flights JOIN planes ON flights.tail = planes.tail"
JOINED = "SELECT COUNT(*) AS n, SUM(seats) AS s FROM flights JOIN planes ON flights.tail = planes.tail"
UNBOUNDED = [
    COUNT,
    BY_CARRIER,
    BY_ROUTE,
    JOINED,
    "SELECT SUM(delay) AS n FROM flights",
    "SELECT MEDIAN(delay) AS n FROM flights",
    "SELECT COUNT(DISTINCT route) AS n FROM flights",
    "SELECT route, COUNT(DISTINCT tail) AS n FROM flights GROUP BY route",
    "SELECT COUNT(DISTINCT tail) AS n, COUNT(*) AS m FROM flights",
]
BOUNDED = [
    "SELECT COUNT(DISTINCT tail) AS n FROM flights",
    "SELECT carrier, COUNT(DISTINCT tail) AS n FROM flights GROUP BY carrier",
    "SELECT COUNT(*) AS n FROM (SELECT tail, COUNT(*) AS c FROM flights GROUP BY tail) WHERE c > 3",
    "SELECT AVG(CLAMP(d, 0, 99)) AS n FROM (SELECT tail, SUM(delay) AS d FROM flights GROUP BY tail)",
    "SELECT carrier, COUNT(*) AS n FROM (SELECT DISTINCT tail, carrier FROM flights) GROUP BY carrier",
    "SELECT carrier, AVG(m) AS n FROM (SELECT tail, carrier, MAX(delay) AS m FROM flights GROUP BY 1, 2) GROUP BY 1",
]


def session(**options: Any) -> Session:
    said: dict[str, Any] = {
        "unit": "tail",
        "budget": gt.ApproxDP(10**6, "1e-3"),
        "domains": DOMAINS,
        "threads": 1,
        **options,
    }
    return gt.protect({"flights": FLIGHTS, "planes": PLANES}, **protection_arguments(said))


@pytest.fixture(scope="module")
def shared() -> Iterator[Session]:
    """For what leaves no trace that another test would see."""
    with session() as s:
        yield s


def made(s: Session, text: str, caps: Caps) -> Measurement:
    return measured(s, text, SPEND, caps)


def counted(s: Session, text: str, caps: Caps) -> list[list[int]]:
    return [each.tolist() for each in exact_integers(made(s, text, caps), engine_of(s))]


# -- no silent cap ----------------------------------------------------------------------------------------------------


@all_cases("text", UNBOUNDED)
def test_a_question_that_nothing_bounds_is_refused_at_no_cost_with_lines_that_run(text: str, shared: Session) -> None:
    query = shared.sql(text)  # which is no answer yet
    ways = (query.quote, query.answer, query.stream, lambda **terms: shared.batch([query]).answer(**terms))
    before = len(shared.history())
    hints = []
    for ask in ways:
        with pytest.raises(QueryRefused) as refusal:
            ask(epsilon=1)
        hints.append(str(refusal.value.hint))
    assert len(shared.history()) == before
    hint = hints[0]
    lines = hint.partition("; ")[0].split(", or ")
    assert len(lines) == (1 if text is JOINED else 2)
    for line in lines:
        stated: dict[str, Any] = dict(part.split("=") for part in line.split(" with "))
        assert query.answer(epsilon=1, **stated).caps is not None
    with session(rows_per_person=10) as other:
        assert other.sql(text).quote(epsilon=1).admitted


@all_cases("text", BOUNDED)
def test_what_the_structure_of_a_question_bounds_needs_no_cap_and_leaves_nothing_out(
    text: str, shared: Session
) -> None:
    answer = shared.sql(text).answer(epsilon=1)
    assert answer.caps is None
    assert answer.left_out is None
    assert "contributions" not in answer.recipe


def test_a_table_of_one_row_a_person_needs_no_other_cap() -> None:
    with session(rows_per_person={"planes": 1}) as s:
        assert s.sql("SELECT COUNT(*) AS n FROM planes").answer(epsilon=1).caps == Caps(rows_per_person=1)
        with pytest.raises(QueryRefused):
            s.sql(COUNT).quote(epsilon=1)


def test_rows_that_are_protected_by_themselves_have_no_caps() -> None:
    with gt.protect(FLIGHTS, unit=gt.ROW, budget=gt.PureDP(1), name="flights") as s:
        assert s.sql(COUNT).answer(epsilon="0.5").notes == ()
        with pytest.raises(InvalidParameter):
            s.sql(COUNT).quote(epsilon="0.5", rows_per_person=3)
    with pytest.raises(InvalidParameter):
        gt.protect(FLIGHTS, unit=gt.ROW, budget=gt.PureDP(1), rows_per_person=3)


# -- caps of tables and questions -------------------------------------------------------------------------------------


def test_the_noise_follows_the_caps_of_a_question() -> None:
    with session(rows_per_person=30) as s:
        scales = [s.sql(COUNT).quote(epsilon=1, rows_per_person=rows).margins["n"] for rows in (None, 30, 100, 10, 1)]
    usual, same, more, fewer, one = scales
    assert usual == same
    assert more > usual > fewer > one  # type: ignore[operator]


def test_every_cap_only_lowers_what_one_person_moves() -> None:
    stated = [Caps(groups, rows, total) for groups in (None, 1, 2) for rows in (None, 1, 4) for total in (None, 3, 9)]
    with session() as s:
        for text, one in itertools.product((COUNT, BY_CARRIER), stated):
            for other in stated:
                if not all(
                    theirs is None or (ours is not None and ours <= theirs)  # type: ignore[operator]
                    for ours, theirs in (
                        (one.groups_per_person, other.groups_per_person),
                        (one.rows_per_group, other.rows_per_group),
                        (one.rows_per_person, other.rows_per_person),
                    )
                ):
                    continue
                try:
                    loose = made(s, text, other)
                except QueryRefused:
                    continue
                tight = made(s, text, one)
                fineness = [each.measures[0].granularity for each in (tight, loose)]
                assert tight.measures[0].l1 * fineness[0] <= loose.measures[0].l1 * fineness[1]
                assert tight.measures[0].l2 * fineness[0] <= loose.measures[0].l2 * fineness[1]


def test_flights_joined_with_planes_cost_no_more_than_flights() -> None:
    with session(rows_per_person={"flights": 600, "planes": 1}) as s:
        alone = s.sql(COUNT).quote(epsilon=1).margins["n"]
        joined = s.sql(MATCHED)
        assert joined.quote(epsilon=1).margins["n"] == alone
        assert joined.quote(epsilon=1, rows_per_person={"planes": 2}).margins["n"] > alone  # type: ignore[operator]
        assert joined.quote(epsilon=1, rows_per_person=600).margins["n"] == alone  # planes stay a table of one row each


def test_a_cap_of_one_row_drops_rows_by_what_they_hold_and_is_no_error() -> None:
    one = Caps(rows_per_person={"flights": 600, "planes": 1})
    with session() as s, session() as again:
        assert counted(s, MATCHED, one) == [[600]]  # the three rows of N1 are one
        assert counted(s, JOINED, one) == counted(again, JOINED, one)
        assert counted(s, MATCHED, Caps(rows_per_person={"flights": 600, "planes": 3})) == [[660]]


def test_one_row_is_kept_of_the_persons_whom_a_join_takes_for_one() -> None:
    """Names that differ in case, in spaces, or in how a letter is composed are persons of their own, in both."""
    names = ["Ann", "ann", "ann ", " ann", "é", "e\u0301", "ß", "ss", ""]
    flights = pl.DataFrame({"tail": names * 3, "delay": [1.0] * 27})
    planes = pl.DataFrame({"tail": names * 4, "seats": list(range(36))})
    said: dict[str, Any] = {"unit": "tail", "budget": gt.ApproxDP(10, "1e-6"), "domains": {"seats": (0, 99)}}
    with gt.protect({"flights": flights, "planes": planes}, **said) as s:
        one = made(s, MATCHED, Caps(rows_per_person={"flights": 3, "planes": 1}))
        assert one.stability.rows == 3
        assert exact_integers(one, engine_of(s))[0].tolist() == [27]


def test_tables_are_named_as_they_are_called() -> None:
    with session(rows_per_person={"FLIGHTS": 600}) as s:
        assert s.describe().caps.rows_per_person == {"flights": 600}
        assert s.sql(COUNT).answer(epsilon=1, rows_per_person={"Flights": 3}).caps == Caps(rows_per_person=3)
        with pytest.raises(InvalidParameter) as refusal:
            s.sql(COUNT).answer(epsilon=1, rows_per_person={"flihgts": 3})
        assert refusal.value.name == "rows_per_person"
    with pytest.raises(InvalidParameter):
        session(rows_per_person={"trips": 3})


@all_cases("value", [0, -1, "1.5", 10**10, {}, {"flights": 0}, [], "many", True])
def test_caps_are_whole_numbers(value: Any, shared: Session) -> None:
    for state in (session, partial(shared.sql(COUNT).quote, epsilon=1)):
        with pytest.raises(InvalidParameter, match="rows_per_person"):
            state(rows_per_person=value)


# -- maxima -----------------------------------------------------------------------------------------------------------


def test_no_question_states_more_than_a_custodians_maximum() -> None:
    with session(rows_per_person={"flights": 20, "planes": 1}, rows_per_group=5, caps="maximum") as s:
        query = s.sql(COUNT)
        assert query.answer(epsilon=1).caps == Caps(None, 5, 20)
        assert query.answer(epsilon=1, rows_per_person=4).caps == Caps(rows_per_person=4)
        assert query.answer(epsilon=1, rows_per_group=2, groups_per_person=9).caps == Caps(None, 2, 20)
        spent = s.budget.spent
        for caps in ({"rows_per_person": 21}, {"rows_per_person": {"planes": 2}}, {"rows_per_group": 6}):
            with pytest.raises(QueryRefused, match="maximum") as refusal:
                query.answer(epsilon=1, **caps)
            ((name, most),) = re.findall(r"(\w+)=(\d+)", str(refusal.value.hint))
            lowered = {"planes": int(most)} if isinstance(caps.get(name), dict) else int(most)
            assert query.quote(epsilon=1, **{name: lowered}).admitted  # type: ignore[arg-type]
        assert s.budget.spent == spent


def test_maxima_have_to_be_stated() -> None:
    with pytest.raises(InvalidParameter):
        session(caps="maximum")
    with pytest.raises(InvalidParameter, match="is unknown"):
        session(caps="minimum")


# -- names ------------------------------------------------------------------------------------------------------------


def test_the_caps_are_part_of_what_names_a_question_wherever_they_are_stated() -> None:
    with session(rows_per_person=8) as s:
        first = s.sql(COUNT).answer(epsilon=1)
        spent = s.budget.spent
        alike = [
            s.sql(COUNT).answer(epsilon=1, rows_per_person=8),
            s.sql(COUNT).answer(epsilon=1, rows_per_person={"flights": 8}),
            s.sql(COUNT).answer(epsilon=1, groups_per_person=50, rows_per_group=50),  # which lower nothing
            s.sql("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rows_per_person = 8) COUNT(*) AS n FROM flights").answer(
                epsilon=1
            ),
            s.table("flights").agg(n=gt.count()).answer(epsilon=1, rows_per_person="8"),
        ]
        assert all(each.to_dict() == first.to_dict() for each in alike)
        assert s.budget.spent == spent
        s.sql(COUNT).answer(epsilon=1, rows_per_person=7)
        assert s.budget.spent != spent


def test_questions_that_measure_otherwise_have_other_names() -> None:
    stated = [
        Caps(groups, rows, total)
        for groups in (None, 1, 4, 5)
        for rows in (None, 1, 4)
        for total in (None, 1, 4, {"flights": 4}, {"flights": 4, "planes": 1}, {"planes": 4})
    ]
    persons = "SELECT route, COUNT(DISTINCT tail) AS n FROM flights GROUP BY route"
    months = "SELECT MONTH(DATE '2020-01-01') AS m, COUNT(DISTINCT tail) AS n FROM flights GROUP BY 1"
    pairs = "SELECT carrier, COUNT(*) AS n FROM (SELECT DISTINCT tail, carrier FROM flights) GROUP BY carrier"
    with session() as s:
        for text in (COUNT, BY_CARRIER, BY_ROUTE, JOINED, persons, pairs, months):
            named: dict[str, Any] = {}
            for caps in stated:
                try:
                    one = mechanism_of(s).measured(s.sql(text).question, caps, SPEND)
                except QueryRefused:
                    continue
                told = one.measures, identity(one.question.relation)
                assert named.setdefault(one.digest(), told) == told, (text, caps)


def test_a_refinement_keeps_the_caps_of_its_answer() -> None:
    with session() as s:
        answer = s.sql(COUNT).answer(epsilon=1, rows_per_person=5)
        with pytest.raises(InvalidParameter):
            answer.refine(epsilon=1, rows_per_person=9)  # type: ignore[call-arg]


# -- other words ------------------------------------------------------------------------------------------------------


@all_cases(
    ("options", "caps"),
    [
        ("rows_per_person = 9", Caps(rows_per_person=9)),
        ("groups_per_person = 2, rows_per_group = 3", Caps(2, 3)),
        ("max_groups_contributed = 2, max_rows_contributed = 9", Caps(2, None, 9)),
    ],
)
def test_options_of_sql_state_caps(options: str, caps: Caps, shared: Session) -> None:
    text = BY_CARRIER.removeprefix("SELECT ")
    query = shared.sql(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, {options}) {text}")
    stated: Any = {name: cap for name, cap in caps.to_json().items() if cap is not None}
    assert query.answer().caps == shared.sql(BY_CARRIER).quote(epsilon=1, **stated).caps
    assert query.answer(rows_per_person=1).caps != query.answer().caps  # what is said here comes first


@all_cases("options", ["rows_per_person = 3, max_rows_contributed = 3", "rows_per_person = 'x'", "rows_a_person = 3"])
def test_other_options_are_refused(options: str, shared: Session) -> None:
    with pytest.raises(QueryRefused, match="option"):
        shared.sql(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) COUNT(*) AS n FROM flights")


def test_a_file_states_caps_of_tables_and_that_they_are_maxima(tmp_path: Path) -> None:
    FLIGHTS.write_csv(tmp_path / "flights.csv")
    PLANES.write_csv(tmp_path / "planes.csv")
    (tmp_path / "air.toml").write_text(
        """
        [air]
        source = { flights = "flights.csv", planes = "planes.csv" }
        unit = "tail"
        budget = { epsilon = 9 }
        rows_per_person = { flights = 600, planes = 1 }
        caps = "maximum"
        """
    )
    with from_toml(tmp_path / "air.toml") as s:
        assert s.describe().caps == Caps(rows_per_person={"flights": 600, "planes": 1})
        with pytest.raises(QueryRefused, match="maximum"):
            s.sql(COUNT).quote(epsilon=1, rows_per_person=601)


# -- parts and copies -------------------------------------------------------------------------------------------------


def test_parts_in_which_other_rows_count_are_another_partition() -> None:
    """Which parts of a person are kept depends on the rows that count: all parts together would be more than one."""
    with gt.protect(FLIGHTS, unit="tail", budget=gt.PureDP(100), domains=DOMAINS_OF_FLIGHTS, name="flights") as s:
        parts = s.partition("carrier")
        for carrier in CARRIERS:
            parts[carrier].sql(COUNT).answer(epsilon=1, rows_per_person=5)
        assert s.budget.spent == 1
        parts["AA"].sql(COUNT).answer(epsilon=1, rows_per_group=5)
        assert s.budget.spent == 2
        for carrier in CARRIERS:
            parts[carrier].sql(COUNT).answer(epsilon=1, rows_per_person=6)
        assert s.budget.spent == 3
        together = s.partition("carrier", parts_per_person=3)  # keeps all parts, whatever counts
        together["AA"].sql(COUNT).answer(epsilon=1, rows_per_person=5)
        together["AA"].sql(COUNT).answer(epsilon=1, rows_per_person=6)
        assert s.budget.spent == 5


def test_duckdb_keeps_few_copies_of_a_table_however_many_caps_are_asked_for() -> None:
    with session() as s:
        before = counted(s, COUNT, Caps(rows_per_person=3))
        for rows in range(1, 20):
            counted(s, BY_CARRIER, Caps(rows_per_person=rows))
        kept = engine_of(s)._connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'bounded%'")
        assert kept.fetchone()[0] <= 10
        engine_of(s)._results.clear()
        assert counted(s, COUNT, Caps(rows_per_person=3)) == before  # made again


DOMAINS_OF_FLIGHTS = {name: DOMAINS[name] for name in ("carrier", "delay")}


def test_best_caps_of_two_private_tables_are_refused_with_caps_that_can_be_stated() -> None:
    with session() as s:
        with pytest.raises(QueryRefused) as refusal:
            s.sql(MATCHED).quote(epsilon=1, caps="best")
        assert "flights" in str(refusal.value.hint)
        assert s.sql(MATCHED).quote(epsilon=1, rows_per_person={"flights": 10, "planes": 10}).admitted


@all_cases("caps", [{"rows_per_person": 4}, {"groups_per_person": 2, "rows_per_group": 3}])
@all_cases("spend", ["epsilon", "mu"])
def test_what_a_joint_release_saves_is_what_quotes_of_single_groups_say(caps: dict[str, Any], spend: str) -> None:
    rows = pl.DataFrame({"p": [1, 2], "b": ["x", "y"]})
    whole: dict[str, Any] = {spend: 1, **caps}
    part = whole | {spend: 1 / 5 if spend == "epsilon" else 1 / 5**0.5}
    part.pop("groups_per_person", None)
    with gt.protect(rows, unit="p", budget=gt.ApproxDP(4, "1e-6"), domains={"b": list("vwxyz")}, name="t") as s:
        together = s.sql("SELECT b, COUNT(*) AS n FROM t GROUP BY b").quote(**whole)
        alone = s.sql("SELECT COUNT(*) AS n FROM t WHERE b = 'x'").quote(**part)
        times = str(together).split("each would get ")[1].split(" times")[0]
        seen = float(str(alone.margins["n"])) / float(str(together.margins["n"]))
    assert seen == pytest.approx(float(times), rel=0.1)
