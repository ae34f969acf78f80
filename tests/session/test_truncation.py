"""Numbers under contribution bounds: which bounds are applied, and intervals that hold the numbers of all rows."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from scipy import stats

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer, Column
from giveortake.answers.terms import Caps
from giveortake.session import Session
from profiled_trips import trips
from statistics_of_draws import ALPHA
from tiers import tiered

MOST = 300  # trips of a person, as is declared
EXACT = "1000000"  # an ε at which noise moves no number


def session(*, epsilon: str | None = EXACT, by: tuple[str, ...] = (), **more: Any) -> Session:
    """Trips of a few heavy people, with a missing amount in ten rows, and a profile of the custodian's."""
    rows = trips().with_row_index()
    table = rows.with_columns(amount=pl.when(pl.col("index") % 10 == 0).then(None).otherwise(pl.col("amount")))
    options: dict[str, Any] = {"unit": "person", "budget": gt.PureDP(10**9), "name": "trips"} | more
    domains = {"region": ["north", "south", "west", "east"], "amount": (-50, 50), "index": (0, 2099)}
    s = gt.protect(table, domains=domains, public={"names": NAMES}, engine={"threads": 1}, **options)
    if epsilon is not None:
        s.profile(most_rows=MOST, by=by).answer(epsilon=epsilon)
    return s


NAMES = pl.DataFrame({"region": ["north", "south", "west"], "side": ["up", "down", "left"]})
QUESTIONS = [
    "COUNT(*)",
    "COUNT(amount)",
    "COUNT(*) - COUNT(amount)",
    "COUNT(DISTINCT region)",
    "SUM(amount)",
    "3 - 2 * SUM(amount)",
    "SUM(amount) + COUNT(*)",
    "AVG(amount)",
    "ROUND(AVG(amount) * 2 + 1)",
    "SUM(amount) / COUNT(*)",
    "SUM(amount) / SUM(index)",
    "VARIANCE(amount)",
    "STDDEV(amount)",
    "CORR(amount, index)",
    "REGR_SLOPE(amount, index)",
    "MEDIAN(amount)",
    "QUANTILE_CONT(amount, 0.9)",
    "MIN(amount)",
]
ROWS = ["trips", "trips WHERE index % 3 = 1", "trips LEFT JOIN names USING (region) WHERE side <> 'down'"]


def wide(interval: Column, row: int) -> tuple[float, float]:
    """The interval of a row, a little wider than numbers in doubles may be off."""
    assert interval.low is not None
    assert interval.high is not None
    ends: Any = interval.low[row], interval.high[row]
    low, high = map(float, ends)
    slack = 0.2 + 1e-6 * (abs(low) + abs(high))  # quantiles lie in bins of a tenth
    return low - slack, high + slack


@pytest.mark.parametrize("caps", [{"rows_per_person": 7}, {"rows_per_group": 7}], ids=str)
def test_intervals_hold_the_numbers_of_all_rows(caps: Any) -> None:
    whole, s = session(epsilon=None), session()
    narrow = 0
    for question in QUESTIONS:
        for rows in ROWS:
            query = f"SELECT {question} AS x FROM {rows}"
            (true,) = whole.sql(query).answer(epsilon=EXACT, rows_per_person=MOST)["x"]
            answer = s.sql(query).answer(epsilon=EXACT, **caps)
            assert isinstance(true, int | float)
            low, high = wide(answer["x"], 0)
            assert low <= true <= high, (question, rows, true, answer)
            assert answer.margins["x"].truncation[0] is not None
            assert answer.left_out is not None
            assert answer.left_out.rows is not None
            noise: Any = answer["x"].noise
            narrow += not noise[0][0] - 0.2 <= true <= noise[1][0] + 0.2
    assert narrow > len(QUESTIONS)  # without their part for truncation, most intervals miss


@all_cases(
    "caps",
    [
        {"rows_per_person": 7},
        {"groups_per_person": 1, "rows_per_group": 300},
        {"groups_per_person": 1, "rows_per_group": 5},
        {"groups_per_person": 4, "rows_per_group": 5},
        {"rows_per_person": 30, "groups_per_person": 2, "rows_per_group": 3},
    ],
)
def test_so_they_do_in_every_group(caps: Any) -> None:
    names = ["COUNT(*)", "COUNT(DISTINCT person)", "SUM(amount)", "AVG(amount)", "SUM(COUNT(*)) OVER ()"]
    query = f"SELECT region, {', '.join(f'{name} AS x{i}' for i, name in enumerate(names))} FROM trips GROUP BY region"
    whole = session(epsilon=None).sql(query).answer(epsilon=EXACT, rows_per_person=MOST)
    for by in ((), ("region",)):
        answer = session(by=by).sql(query).answer(epsilon=EXACT, **caps)
        for i, name in enumerate(names):
            for row, true in enumerate(whole[f"x{i}"]):
                if true is not None and not math.isnan(float(str(true))):
                    low, high = wide(answer[f"x{i}"], row)
                    assert isinstance(true, int | float)
                    assert low <= true <= high, (by, name, row, true, answer)


@pytest.mark.statistical
def test_counts_of_all_rows_are_held_as_often_as_stated_and_no_oftener_than_noise_explains() -> None:
    """Of the cap at a maximum nothing is left out: the interval is exact. Of a low cap, it misses no oftener."""
    redraws, held, tight = tiered(200, 1_000), {7: 0, MOST: 0}, 0
    for _ in range(redraws):
        s = session(epsilon="1", budget=gt.PureDP(4))
        for cap in held:
            column = s.sql("SELECT COUNT(*) AS x FROM trips").answer(epsilon=1, rows_per_person=cap)["x"]
            ends: Any = column.low, column.high
            held[cap] += int(ends[0][0]) <= 2_100 <= int(ends[1][0])
            tight += cap == 7 and int(ends[1][0]) - 700 <= 2_100
    assert stats.binomtest(held[7], redraws, 0.95, alternative="less").pvalue > ALPHA
    assert stats.binomtest(held[MOST], redraws, 0.95).pvalue > ALPHA
    assert stats.binomtest(tight, redraws, 0.95, alternative="less").pvalue < ALPHA  # narrower ones would miss


def test_without_a_profile_numbers_are_of_the_rows_that_count_and_open_on_the_other_side() -> None:
    columns = {"n": "COUNT(*)", "s": "SUM(amount)", "p": "SUM(ABS(amount))", "m": "AVG(amount)", "q": "MEDIAN(amount)"}
    sides = {"n": (False, True), "s": (True, True), "p": (False, True), "m": (True, True), "q": (True, True)}
    listed = ", ".join(f"{text} AS {name}" for name, text in columns.items())
    answer = session(epsilon=None).sql(f"SELECT {listed} FROM trips").answer(epsilon=1, rows_per_person=3)
    assert {name: answer[name].open_sides for name in columns} == sides
    assert "of at most 3 rows of a person" in repr(answer).splitlines()[2]
    assert set(answer.margins["n"].truncation) == {None}
    capped = session(epsilon=None).sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon=1, rows_per_person=MOST)
    assert capped["n"].open_sides == (False, True)  # that nobody has more is not known
    known = session().sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon=1, rows_per_person=MOST)
    assert known["n"].open_sides == (False, False)
    assert known["n"].noise is None  # nothing is left out, and all of the confidence is for the noise


PERSONS = "COUNT(DISTINCT person)"
NEGATIVE = "JOIN (SELECT DISTINCT person FROM trips WHERE amount < 0) AS o USING (person)"


@all_cases(
    ("query", "applied"),
    [
        (f"SELECT {PERSONS} AS n FROM trips", Caps()),
        (f"SELECT {PERSONS} AS n FROM trips WHERE region = 'south'", Caps()),
        (f"SELECT {PERSONS} AS n FROM trips {NEGATIVE}", Caps()),
        ("SELECT AVG(a) AS n FROM (SELECT person, MAX(amount) AS a FROM trips GROUP BY person)", Caps()),
        (f"SELECT region, {PERSONS} AS n FROM trips GROUP BY region", Caps(None, None, 2)),
        (f"SELECT {PERSONS} AS n, COUNT(*) AS r FROM trips", Caps(None, None, 2)),
        ("SELECT COUNT(*) AS n FROM trips", Caps(None, None, 2)),
    ],
)
def test_a_cap_that_lowers_no_noise_is_not_applied(query: str, applied: Caps) -> None:
    whole = session(epsilon=None).sql(query)
    cases: list[tuple[str | None, Any]] = [("default", {}), (None, {"rows_per_person": 2})]
    for role, stated in cases:
        declared: Any = {} if role is None else {"rows_per_person": 2}
        with session(epsilon=None, **declared) as s:
            quote, answer = s.sql(query).quote(epsilon=1, **stated), s.sql(query).answer(epsilon=EXACT, **stated)
            assert (answer.caps or Caps()) == applied
            assert quote.caps == answer.caps
            if applied == Caps():
                plain = whole.quote(epsilon=1)
                assert (quote.margins, quote.cost) == (plain.margins, plain.cost)
                assert answer["n"][0] == pytest.approx(whole.answer(epsilon=EXACT)["n"][0], abs=1e-3)
                assert any("they would lower no noise" in note for note in quote.notes)
    with session(epsilon=None, caps="maximum", rows_per_person=2) as s:
        assert s.sql(query).quote(epsilon=1).caps == Caps(None, None, 2)


def test_a_custodians_profile_chooses_the_caps_of_everybody_who_states_nothing() -> None:
    s = session(rows_per_person=3, epsilon="10")
    count = s.sql("SELECT COUNT(*) AS n FROM trips")
    best = count.quote(epsilon=1, caps="best").caps
    assert best is not None
    assert best != Caps(rows_per_person=3)
    for quote in (count.quote(epsilon=1), s.batch([count, count]).quote(epsilon=2)):
        assert quote.caps == best
    assert any("of the least error" in note for note in count.quote(epsilon=1).notes)
    for stated in ({"epsilon": 1, "rows_per_person": 5}, {"margin": 50}):
        quote = count.quote(**stated)  # type: ignore[arg-type]
        assert quote.caps == Caps(rows_per_person=stated.get("rows_per_person", 3))
    with session(rows_per_person=3) as quiet:
        answer = quiet.sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon=1, rows_per_person=3)
        assert Answer.from_json(answer.to_json()) == answer


QUOTED = [
    ("COUNT(*)", "n"),
    ("SUM(amount)", "n"),
    ("3 - 2 * SUM(amount)", "n"),
    ("SUM(amount) + COUNT(*)", "n"),
    ("COUNT(DISTINCT region)", "n"),
]


@all_cases(("formula", "name"), QUOTED)
@pytest.mark.parametrize("by", ["", " GROUP BY region"], ids=["whole", "groups"])
def test_a_quote_tells_both_parts_of_the_margin_beforehand(formula: str, name: str, by: str) -> None:
    keys = "region, " if by else ""
    query = session().sql(f"SELECT {keys}{formula} AS {name} FROM trips{by}")
    quote = query.quote(epsilon="1", rows_per_person=7)
    answer = query.answer(epsilon="1", rows_per_person=7)
    parts = answer.margins[name]
    assert parts.truncation[0] == pytest.approx(quote.truncation[name], abs=1)  # ends are rounded outwards
    for noise in parts.noise:
        assert noise == pytest.approx(quote.margins[name], abs=1)
    assert quote.which_rows == ""
    assert f"{quote.truncation[name]:,.6g}"[:3] in str(quote)
    assert gt.session.Quote.from_json(quote.to_json()) == quote


def test_the_quote_of_a_mean_bounds_what_truncation_adds_by_the_number_of_rows() -> None:
    query = session().sql("SELECT AVG(amount) AS m, MEDIAN(amount) AS half FROM trips")
    answer: Any = query.answer(epsilon=EXACT, rows_per_person=7)
    rows: Any
    (rows,) = session().sql("SELECT COUNT(amount) AS n FROM trips").answer(epsilon=EXACT, rows_per_person=7)["n"]
    quotes: Any = [query.quote(epsilon=EXACT, rows_per_person=7, n=n) for n in (rows, None)]
    known, unknown = quotes
    assert answer.margins["m"].truncation[0] <= known.truncation["m"] * 1.01
    assert answer.left_out is not None
    assert answer.left_out.rows is not None
    assert float(str(unknown.truncation["m"]).removesuffix(" / n").replace(",", "")) == pytest.approx(
        100 * answer.left_out.rows, rel=1e-3
    )
    assert "ranks" in str(unknown.truncation["half"])


def test_a_quote_without_a_profile_says_which_rows_it_is_about() -> None:
    s = session(epsilon=None)
    query = s.sql("SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS persons FROM trips")
    quote = query.quote(epsilon="1", rows_per_person=3)
    assert quote.truncation["n"] is None
    for face in (str(quote), quote._repr_html_()):
        assert "at most 3 rows of a person" in face
        assert "more rows are not in" in face
    persons = s.sql("SELECT COUNT(DISTINCT person) AS n FROM trips").quote(epsilon="1", rows_per_person=3)
    assert (persons.truncation, persons.which_rows) == ({}, "")
    by_row = gt.protect(trips(), unit=gt.ROW, budget=gt.PureDP(1), name="trips")
    assert by_row.sql("SELECT COUNT(*) AS n FROM trips").quote(epsilon="1").truncation == {}


def test_who_pays_by_margin_gets_that_margin_of_noise_beside_a_profile() -> None:
    s = session()
    answer: Any = s.sql("SELECT COUNT(*) AS n FROM trips").answer(margin=50, rows_per_person=7)
    assert answer.margins["n"].noise[0] <= 50


def test_counters_and_workloads_quote_both_parts() -> None:
    s = session(epsilon=None, budget=gt.GaussianDP(10**6), rows_per_person=7)
    tables = gt.workload.marginals(["region"], up_to=1) + gt.workload.marginals(["region"], up_to=1, of="amount")
    workload, counter = s.workload(tables), s.counter("index", horizon=10)
    assert set(workload.quote(mu="1").truncation.values()) == set(counter.quote(mu="1").truncation.values()) == {None}
    assert "at most 7 rows of a person" in str(workload.quote(mu="1"))
    s.profile(most_rows=MOST).answer(epsilon="100")
    quote, answer = workload.quote(mu="1"), workload.answer(mu="1")
    assert list(quote.truncation) == list(quote.margins) == ["region", "amount_sum by region"]
    for label, column in zip(quote.margins, answer["region"].estimates, strict=True):
        assert column.apart.noise[0] == pytest.approx(quote.margins[label])
        assert column.apart.truncation[0] == pytest.approx(quote.truncation[label])
    quote = counter.quote(mu="1")
    parts: Any = counter.answer(mu="1").next().margins["n"]
    assert parts.truncation[0] == pytest.approx(quote.truncation["n"])
    assert 0 < parts.noise[0] <= quote.margins["n"]


FEATURES = "(SELECT person, COUNT(*) AS k FROM trips GROUP BY person)"


@all_cases(
    "query",
    [
        f"SELECT SUM(CLAMP(k, 0, 500)) AS n FROM {FEATURES}",
        f"SELECT COUNT(*) AS n FROM trips JOIN {FEATURES} AS f ON f.person = trips.person WHERE k < 3",
        f"SELECT COUNT(*) AS n FROM trips LEFT JOIN {FEATURES} AS f ON f.person = trips.person WHERE k IS NULL",
    ],
)
def test_where_a_row_that_is_left_out_decides_about_others_both_sides_are_open(query: str) -> None:
    for s in (session(epsilon=None), session()):
        answer = s.sql(query).answer(epsilon=EXACT, rows_per_person=2)
        assert answer["n"].open_sides == (True, True)
        assert set(answer.margins["n"].truncation) == {None}


def test_what_was_paid_for_before_a_profile_is_found_again_by_the_same_words() -> None:
    s = session(epsilon=None, rows_per_person=3)
    query = s.sql("SELECT COUNT(*) AS n FROM trips")
    paid, keyed = query.answer(epsilon=1), query.answer(epsilon=2, key="K1")
    batch = s.batch([query, s.sql("SELECT SUM(amount) AS n FROM trips")])
    together = batch.answer(epsilon=3, key="K2")
    s.profile(most_rows=MOST).answer(epsilon=3)
    spent = s.budget.spent
    for options in ({}, {"key": "K2"}):
        repeated = batch.answer(epsilon=3, **options)
        assert [answer["n"].values for answer in repeated] == [answer["n"].values for answer in together]
    again, retried = query.answer(epsilon=1), query.answer(epsilon=2, key="K1")
    assert query.quote(epsilon=1).paid
    assert (again["n"].values, retried["n"].values) == (paid["n"].values, keyed["n"].values)
    assert s.budget.spent == spent
    assert query.answer(epsilon=4).caps != again.caps  # which was not paid for


def test_beside_a_count_that_finds_groups_are_sums_of_the_rows_that_it_counted() -> None:
    """Also where a key that is computed takes values that no group has, of which a person would have used up one."""
    rows = [(person, "k", region, 9.0) for person in range(400) for region in ("u", "w")]
    table = pl.DataFrame(rows, schema=["person", "town", "region", "x"], orient="row")
    domains = {"region": ["u", "v"], "x": (0, 10)}
    s = gt.protect(
        table, unit="person", budget=gt.ApproxDP(10**10, "0.1"), domains=domains, engine={"threads": 1}, name="trips"
    )
    key = "town, COALESCE(region, 'u')"
    text = f"SELECT town, COALESCE(region, 'u') AS c, COUNT(x) AS n, SUM(x) AS s, AVG(x) AS m FROM trips GROUP BY {key}"
    answer = s.sql(text).answer(epsilon=EXACT, key_delta="0.001", groups_per_person=1, rows_per_group=1)
    assert answer["n"][0] == 400
    assert answer["s"][0] == pytest.approx(3_600, abs=1)
    assert answer["m"][0] == pytest.approx(9, abs=1e-3)
