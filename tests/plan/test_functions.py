"""The functions of questions: each has a rule for its domain and a way to be printed, and both languages know it."""

from __future__ import annotations

import datetime as dt
import random
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlglot
from sqlglot import exp

import giveortake as gt
from asked_tables import CATALOG, table
from giveortake import frame, sql
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.sql.printer import PRINTED, Expressions
from giveortake.plan import Call, ColumnReference, Domain, Expression, Kind, Literal
from giveortake.plan.expressions import first_day
from giveortake.plan.functions import CASTS, FUNCTIONS
from giveortake.plan.relations import AGGREGATES
from giveortake.session import Session
from giveortake.sql.rows import OUR_OWN, OUR_OWN_AGGREGATES, Text

TEXTS = {"lower", "upper", "trim", "length"}
NUMBERS = {"abs", "floor", "ceil", "sqrt", "ln", "exp", "sign"}
OF_ONE = [(name, spelled) for name, each in FUNCTIONS.items() if each.most == 1 for spelled in each.sql]
SPELLED = [(name, spelled) for name, each in AGGREGATES.items() for spelled in each.sql]


def test_every_function_that_has_a_domain_can_be_printed_and_none_else() -> None:
    assert set(FUNCTIONS) == PRINTED


@pytest.mark.parametrize(("name", "spelled"), OF_ONE)
def test_both_languages_build_the_same_call_of_each_function(name: str, spelled: str) -> None:
    column = "note" if name in TEXTS else "age" if name in NUMBERS else "at"
    written = sql.parse(f"SELECT COUNT({spelled}({column})) AS a FROM trips", CATALOG)
    assert written == table("trips").agg(a=gt.count(getattr(gt.col(column), name)()))


@pytest.mark.parametrize(("name", "spelled"), SPELLED)
def test_both_languages_build_the_same_aggregate_by_each_name(name: str, spelled: str) -> None:
    columns = ["paid"] if name == "count_if" else ["amount", "age"][: AGGREGATES[name].arguments]
    written = sql.parse(f"SELECT {spelled}({', '.join(columns)}) AS a FROM trips", CATALOG)
    assert written == table("trips").agg(a=getattr(gt, name)(*map(gt.col, columns)))


def test_every_aggregate_of_the_table_is_a_word_of_frames_and_of_the_package() -> None:
    assert AGGREGATES.keys() <= set(frame.aggregates.__all__) <= set(frame.__all__)
    assert set(frame.aggregates.__all__) <= set(dir(gt))


def test_every_function_of_the_table_is_a_word_of_frames() -> None:
    page = Path(frame.expressions.__file__).read_text(encoding="utf-8")
    called = {*re.findall(r'_call\("(\w+)"', page), *re.findall(r'Call\("(\w+)"', page), *CASTS.values()}
    assert called == FUNCTIONS.keys()


def test_the_parser_takes_names_for_ours_exactly_where_we_say_so() -> None:
    own = {*OUR_OWN, *OUR_OWN_AGGREGATES}
    for name, spelled in [*OF_ONE, *SPELLED]:
        arguments = "x, y" if name in AGGREGATES and AGGREGATES[name].arguments == 2 else "x"
        (node,) = sqlglot.parse_one(f"SELECT {spelled}({arguments})", dialect=Text).expressions
        assert isinstance(node, exp.Anonymous) == (spelled in own)
        assert isinstance(node, exp.Anonymous) or type(node) is exp.FUNCTION_BY_NAME[spelled]


LUCK = random.Random("bounds")  # noqa: S311 (which values are tried need not be secret)
FIRST, LAST = dt.date(1, 1, 1), dt.date(9999, 12, 31)
REAL = {"a": Domain(Kind.REAL, Fraction(-3), Fraction(7)), "b": Domain(Kind.REAL, Fraction(1, 3), Fraction(40))}
BOUNDED_NUMBERS = [-3.0, -2.5, -1.0, -1e-300, 0.0, 0.145, 0.5, 1.0, 2.005, 6.999999, 7.0]
POSITIVE = [1 / 3, 0.5, 1.0, 1.7, 2.675, 33.3, 40.0]


KINDS = {Kind.REAL: "DOUBLE", Kind.DATE: "DATE", Kind.INTEGER: "BIGINT", Kind.TIMESTAMP: "TIMESTAMP"}


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """One for all: opening it costs more than what it is asked."""
    return duckdb.connect()


def _values(expression: Expression, schema: dict[str, Domain], rows: dict[str, list[Any]]) -> list[Any]:
    text = Expressions(DuckDBDialect()).write(expression, schema)
    return _by_duckdb(text, {name: (KINDS[schema[name].kind], values) for name, values in rows.items()})


def _by_duckdb(text: str, columns: dict[str, tuple[str, list[Any]]]) -> list[Any]:
    """What DuckDB makes of each row of some columns, by their names, types and values."""
    unnested = ", ".join(f"unnest(CAST(? AS {kind}[])) AS {name}" for name, (kind, _) in columns.items())
    values = [each for _, each in columns.values()]
    return [value for (value,) in _duckdb().execute(f"SELECT {text} FROM (SELECT {unnested})", values).fetchall()]


def _require_inside(values: list[Any], domain: Domain) -> None:
    present = [value for value in values if value is not None]
    assert present
    assert domain.nullable or len(present) == len(values)
    known = domain.keys()
    if known is not None and domain.kind is Kind.DATE:
        assert set(present) <= set(known)
    for value in present:
        place = Fraction(value.toordinal() if isinstance(value, dt.date) else value)
        assert domain.low is None or domain.low <= place
        assert domain.high is None or place <= domain.high


@pytest.mark.parametrize(
    "exponent", [0, 1, 2, 3, 4, 7, 32, -1, -2, -5, Fraction(1, 2), Fraction(-1, 2), Fraction(7, 3)]
)
@pytest.mark.parametrize(("name", "values"), [("a", BOUNDED_NUMBERS), ("b", POSITIVE)])
def test_powers_stay_between_their_bounds(name: str, values: list[float], exponent: int | Fraction) -> None:
    call = Call("power", (ColumnReference(name), Literal(exponent)))
    _require_inside(_values(call, REAL, {name: values}), call.domain(REAL))


@pytest.mark.parametrize("digits", [1, 2, 9, -1, -2])
@pytest.mark.parametrize(("name", "values"), [("a", BOUNDED_NUMBERS), ("b", POSITIVE)])
def test_rounded_numbers_stay_between_their_bounds(name: str, values: list[float], digits: int) -> None:
    call = Call("round", (ColumnReference(name), Literal(digits)))
    _require_inside(_values(call, REAL, {name: values}), call.domain(REAL))


@pytest.mark.parametrize(("name", "values"), [("a", BOUNDED_NUMBERS), ("b", POSITIVE)])
def test_signs_stay_between_their_bounds(name: str, values: list[float]) -> None:
    call = Call("sign", (ColumnReference(name),))
    _require_inside(_values(call, REAL, {name: values}), call.domain(REAL))


def _days(first: dt.date, last: dt.date) -> tuple[Domain, list[dt.date]]:
    low, high = first.toordinal(), last.toordinal()
    days = [first, last, *(dt.date.fromordinal(LUCK.randint(low, high)) for _ in range(40))]
    return Domain(Kind.DATE, Fraction(low), Fraction(high), nullable=False), days


STRETCHES = [
    (dt.date(2024, 1, 29), dt.date(2024, 3, 31)),
    (FIRST, dt.date(3, 3, 3)),
    (dt.date(9998, 6, 5), LAST),
    (FIRST, LAST),
]


@pytest.mark.parametrize("stretch", STRETCHES)
@pytest.mark.parametrize("by", [1, -1, 13, -25, 400, -30_000, 100_000])
@pytest.mark.parametrize("name", ["add_days", "add_months"])
def test_moved_days_are_those_of_duckdb_and_stay_between_their_bounds(
    name: str, by: int, stretch: tuple[dt.date, dt.date]
) -> None:
    domain, days = _days(*stretch)
    call = Call(name, (ColumnReference("d"), Literal(by)))
    moved = _values(call, {"d": domain}, {"d": days})
    unit = "days" if name == "add_days" else "months"
    plain = _by_duckdb(f"CAST(d + to_{unit}({by}) AS VARCHAR)", {"d": ("DATE", days)})
    within = [
        dt.date.fromisoformat(text) if len(text) == 10 else None
        for text in (each[:10] if len(each) == 19 else each for each in plain)
    ]
    assert moved == within
    if any(day is not None for day in moved):
        _require_inside(moved, call.domain({"d": domain}))


@pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
def test_differences_of_days_are_those_of_duckdb_and_stay_between_their_bounds(unit: str) -> None:
    for one in STRETCHES:
        for other in STRETCHES:
            (first, starts), (last, ends) = _days(*one), _days(*other)
            schema = {"a": first, "b": last}
            call = Call("date_diff", (Literal(unit), ColumnReference("a"), ColumnReference("b")))
            found = _values(call, schema, {"a": starts, "b": ends})
            if unit == "week":  # which begins on Monday here; DuckDB counts from a Thursday
                pairs = zip(starts, ends, strict=True)
                plain = [(b.toordinal() - 1) // 7 - (a.toordinal() - 1) // 7 for a, b in pairs]
            else:
                plain = _by_duckdb(f"date_diff('{unit}', a, b)", {"a": ("DATE", starts), "b": ("DATE", ends)})
            assert found == plain
            _require_inside(found, call.domain(schema))


@pytest.mark.parametrize("unit", ["hour", "minute"])
@pytest.mark.parametrize("kinds", [(Kind.TIMESTAMP, Kind.TIMESTAMP), (Kind.DATE, Kind.TIMESTAMP)])
def test_hours_and_minutes_between_moments_are_those_of_duckdb_and_stay_between_their_bounds(
    unit: str, kinds: tuple[Kind, Kind]
) -> None:
    for stretch in STRETCHES:
        schema: dict[str, Domain] = {}
        rows: dict[str, list[Any]] = {}
        for name, kind in zip("ab", kinds, strict=True):
            domain, days = _days(*stretch)
            times = [dt.time.min, dt.time(23, 59, 59), *(dt.time(LUCK.randrange(24), LUCK.randrange(60)) for _ in days)]
            moments = [dt.datetime.combine(day, time) for day, time in zip([*days[:2], *days], times, strict=True)]
            schema[name] = Domain(kind, domain.low, domain.high, nullable=False)
            rows[name] = moments if kind is Kind.TIMESTAMP else [*days[:2], *days]
        rows["b"][:2] = rows["b"][1::-1]  # the first beside the last
        call = Call("date_diff", (Literal(unit), ColumnReference("a"), ColumnReference("b")))
        found = _values(call, schema, rows)
        typed = {name: (KINDS[kind], rows[name]) for name, kind in zip("ab", kinds, strict=True)}
        plain = _by_duckdb(f"date_diff('{unit}', a::TIMESTAMP, b::TIMESTAMP)", typed)
        assert found == plain
        _require_inside(found, call.domain(schema))


def test_known_days_stay_known_when_they_are_moved() -> None:
    domain = Domain(Kind.DATE, categories=(dt.date(2024, 1, 31), dt.date(2024, 1, 30), None))
    call = Call("add_months", (ColumnReference("d"), Literal(1)))
    assert call.domain({"d": domain}).keys() == (dt.date(2024, 2, 29), None)


FIRST_DAY, LAST_DAY = dt.date(2023, 12, 29), dt.date(2024, 3, 2)


def domain(period: str, low: dt.date = FIRST_DAY, high: dt.date = LAST_DAY, **more: Any) -> Domain:
    days = Domain(Kind.DATE, Fraction(low.toordinal()), Fraction(high.toordinal()), **more)
    return Call("date_trunc", (Literal(period), ColumnReference("day"))).domain({"day": days})


@pytest.mark.parametrize(
    ("period", "keys"),
    [
        ("year", ["2023-01-01", "2024-01-01"]),
        ("quarter", ["2023-10-01", "2024-01-01"]),
        ("month", ["2023-12-01", "2024-01-01", "2024-02-01", "2024-03-01"]),
        ("week", ["2023-12-25", "2024-01-01"]),
    ],
)
def test_periods_between_bounds_are_listed_in_order(period: str, keys: list[str]) -> None:
    last = dt.date(2024, 1, 7) if period == "week" else LAST_DAY
    found = domain(period, high=last, nullable=False).keys()
    assert found == tuple(map(dt.date.fromisoformat, keys))
    assert domain(period, high=last).keys() == (*found, None)


def test_days_are_the_days_themselves_and_too_many_are_not_listed() -> None:
    assert len(domain("day", nullable=False).keys() or ()) == (LAST_DAY - FIRST_DAY).days + 1
    ages = (dt.date(1000, 1, 1), dt.date(9000, 1, 1))
    assert domain("day", *ages).keys() is None
    assert domain("month", *ages).keys() is None
    assert len(domain("year", dt.date(1000, 1, 1), dt.date(3000, 1, 1), nullable=False).keys() or ()) == 2001
    assert domain("week", dt.date(1, 1, 1), dt.date(1, 2, 1)).keys() is None  # its first week begins before all dates
    assert (
        Call("date_trunc", (Literal("month"), ColumnReference("day"))).domain({"day": Domain(Kind.DATE)}).keys() is None
    )


def trips(where: str = "duckdb") -> Session:
    days = [FIRST_DAY + dt.timedelta(days=i) for i in range((LAST_DAY - FIRST_DAY).days + 1)]
    table = pl.DataFrame({"day": days})
    return gt.protect(
        table,
        unit=gt.ROW,
        budget=gt.ApproxDP(10_000, "1e-6"),
        domains={"day": {"bounds": (FIRST_DAY, LAST_DAY), "nullable": False}},
        name="trips",
        engine={"threads": 1},
    )


@pytest.mark.parametrize("period", ["year", "quarter", "month", "week", "day"])
def test_an_answer_has_every_period_and_the_engine_truncates_alike(period: str) -> None:
    with trips() as s:
        query = s.sql(f"SELECT DATE_TRUNC('{period}', day) AS k, COUNT(*) AS n FROM trips GROUP BY k")
        assert not query.finds_keys
        answer = query.answer(epsilon=1_000)
    days = [FIRST_DAY + dt.timedelta(days=i) for i in range((LAST_DAY - FIRST_DAY).days + 1)]
    counted: dict[dt.date, int] = {}
    for day in days:
        start = first_day(day, period)  # type: ignore[arg-type]
        counted[start] = counted.get(start, 0) + 1
    assert dict(zip(answer["k"].values, answer["n"].values, strict=True)) == counted
