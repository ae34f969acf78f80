"""Quotes show better ways to ask: each is taken by its arguments, has the margin it says, and costs no more."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.hints import rendered
from giveortake.session import Session
from giveortake.session.quotes import Alternative, Quote

YEARS = list(range(2000, 2015))
ROWS = pl.DataFrame(
    {
        "p": [person for person in range(40) for _ in YEARS],
        "year": YEARS * 40,
        "wage": [float(i % 100) for i in range(600)],
        "reason": [f"r{i % 7}" for i in range(600)],
    }
)
BY_YEAR = "SELECT year, COUNT(*) AS n, SUM(wage) AS w FROM t GROUP BY year"
COUNT = "SELECT COUNT(*) AS n FROM t"
BOTH = "SELECT reason, COUNT(*) AS n, SUM(wage) AS w FROM t GROUP BY reason"
DISCOVERED = "SELECT reason, COUNT(*) AS n FROM t GROUP BY reason"


def session(rows_per_person: int = 15) -> Session:
    domains, caps = {"year": YEARS, "wage": (0, 100)}, {"rows_per_person": rows_per_person}
    return gt.protect(ROWS, unit="p", name="t", budget=gt.ApproxDP("1", "1e-6"), domains=domains, caps=caps)


def taken(query: Any, terms: dict[str, Any], way: Alternative) -> Quote:
    """The quote with a way's arguments: a spend among them replaces the one that was stated."""
    kept = {} if {"epsilon", "mu"} & way.terms.keys() else terms
    quote: Quote = query.quote(**{**kept, **way.terms})
    return quote


@all_cases("terms", [{"share": "5 %"}, {"epsilon": "0.1"}, {"mu": "0.05"}, {"epsilon": "0.2", "delta": "1e-8"}])
@all_cases("sql", [BY_YEAR, COUNT, DISCOVERED])
def test_every_way_has_the_margin_that_it_says_and_costs_no_more(sql: str, terms: dict[str, Any]) -> None:
    with session() as s:
        query = s.sql(sql)
        quote = query.quote(**terms)
        assert len(quote.advice) <= 2
        for way in quote.advice:
            assert way.narrower >= 0.1
            if "domains" in way.terms:
                continue
            better = taken(query, terms, way)
            assert quote.share is not None
            assert better.share is not None
            assert way.column is not None
            assert better.margins[way.column] == pytest.approx(way.margin, rel=0.01)
            assert quote.margins[way.column] == way.now
            assert better.share <= (quote.share if way.share is None else way.share)
            assert better.spend in {quote.spend, better.spend}
        assert Quote.from_json(quote.to_json()) == quote


def test_panel_data_is_offered_one_row_in_each_group_and_its_quote_offers_nothing_more() -> None:
    with session() as s:
        query = s.sql(BY_YEAR)
        (way, *_) = query.quote(share="5 %").advice
        assert dict(way.terms) == {"rows_per_group": "1"}
        assert way.now is not None
        assert way.margin is not None
        assert way.now / way.margin > 3.5  # the root of fifteen
        assert not query.quote(share="5 %", **way.terms).advice
        pure = query.quote(epsilon="0.1").advice
        assert {"mu", "rows_per_group"} == pure[0].terms.keys()
    with session(rows_per_person=1) as s:
        assert not s.sql(BY_YEAR).quote(share="5 %").advice  # one row already


def test_declared_groups_have_the_margin_that_declaring_them_gives() -> None:
    """Of a count alone they save no noise: it finds them itself."""
    with session() as s:
        way = next(way for way in s.sql(BOTH).quote(epsilon="0.1").advice if "domains" in way.terms)
    domains: Any = {"reason": [f"r{i}" for i in range(20)], "wage": (0, 100)}
    with gt.protect(
        ROWS, unit="p", name="t", budget=gt.PureDP(1), domains=domains, caps={"rows_per_person": 15}
    ) as declared:
        assert declared.sql(BOTH).quote(epsilon="0.1").margins["n"] == pytest.approx(way.margin)


def test_a_pair_shows_laplace_noise_where_it_is_narrower_and_dearer() -> None:
    with session() as s:
        s.sql(COUNT).answer(mu="0.01")  # shares are measured in μ², where Laplace noise at this ε is dearer
        quote = s.sql("SELECT SUM(wage) AS n FROM t").quote(epsilon="0.2", delta="1e-8")
        way = quote.advice[0]
        assert dict(way.terms) == {"epsilon": "0.2"}
        assert way.share is not None
        assert quote.share is not None
        assert way.share > quote.share
        assert "of the budget" in str(way)


def test_several_counts_are_offered_as_one_workload_where_that_is_narrower() -> None:
    with session() as s:
        half = "SELECT CASE WHEN wage > 50 THEN 1 ELSE 0 END AS h, COUNT(*) AS n FROM t GROUP BY h"
        assert not s.batch([COUNT, half]).quote(share="5 %").advice  # not by columns
        batch = s.batch([COUNT, "SELECT year, COUNT(*) AS n FROM t GROUP BY year"])
        for way in batch.quote(share="5 %").advice:
            now, then = batch.quote(share="5 %"), s.workload(way.terms["workload"]).quote(share="5 %")
            assert _mean(then) < 0.9 * _mean(now)
            assert then.share == now.share


def _mean(quote: Quote) -> float:
    widths = [float(margin) for margin in quote.margins.values() if isinstance(margin, int | float)]
    return float(pl.Series(widths).log().mean() or 0)  # type: ignore[arg-type]  # (a number)


def test_a_way_is_said_in_the_words_of_every_face() -> None:
    way = Alternative({"groups_per_person": "15", "rows_per_group": "1", "mu": "0.05"}, "n", 76.0, 382.0, 0.8)
    assert 'each group: groups_per_person=15, rows_per_group=1, mu="0.05": n ± 76 instead of ± 382' in str(way)
    command = rendered(str(way), "command") or ""
    assert re.search(r"--groups-per-person 15, --rows-per-group 1, --mu 0.05: ", command)
    assert "“Rows in each group”: 1" in (rendered(str(way), "console") or "")
    with session() as s:
        document = json.loads(s.sql(BY_YEAR).quote(share="5 %").to_json())
    assert document["advice"][0]["terms"] == {"rows_per_group": "1"}
