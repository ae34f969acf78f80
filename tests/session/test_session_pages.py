"""How sessions, quotes and standings look in a notebook."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars as pl

import giveortake as gt
from giveortake.ledger import Charge

EVIL = "<img src=x onerror=alert(1)>"


def opened(name: str = "trips", **said: Any) -> gt.session.Session:
    table = pl.DataFrame({"who": range(20), "region": ["a", "b"] * 10, "amount": [1.0] * 20, EVIL: ["\x1b[2J"] * 20})
    domains = {"region": ["a", EVIL, *map(str, range(9))], "amount": (0, 500)}
    return gt.protect(
        table,
        unit="who",
        budget=gt.PureDP(2),
        domains=domains,
        name=name,
        **said,
        caps={"groups_per_person": 2, "rows_per_group": 3},
    )


def test_a_session_shows_its_promise_what_is_left_and_what_is_declared() -> None:
    with opened() as s:
        s.sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon="0.5")
        page = s._repr_html_()
    assert all(fact in page for fact in ("trips", "ε = 2 (pure)", "25 %", "1.5", "500"))
    assert EVIL not in page
    assert "\x1b" not in page


def test_a_session_whose_ledger_is_closed_still_has_a_page(tmp_path: Path) -> None:
    session = opened(ledger=tmp_path / "trips.ledger")
    session.close()
    assert "closed" in session._repr_html_()


def test_a_quote_shows_every_margin_and_what_would_be_cheaper() -> None:
    with opened() as s:
        query = s.sql("SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM trips GROUP BY region")
        page = query.quote(epsilon="0.5")._repr_html_()
        refused = query.quote(epsilon="3")._repr_html_()
    assert all(fact in page for fact in ("95 %", "<td", "mean", "/ n", "25 %", "yes"))
    assert "yes" not in refused


def test_standings_are_one_table_and_escape_their_names(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "people.ledger") as ledger:
        ledger.population(EVIL, budget=gt.PureDP(1), unit="who")
        ledger.dataset("visits", population=EVIL)
        ledger.reserve(Charge(gt.accounting.events.Pure("1/4"), dataset="visits"))
        page = ledger.levels()._repr_html_()
        assert page.count("<tr>") == 3
        assert "25 %" in page
        assert EVIL not in page
        assert ledger.levels()[0]._repr_html_().count("<tr>") == 2


def test_dates_are_declared_in_words() -> None:
    table = pl.DataFrame({"day": [dt.date(2020, 5, 1)]})
    bounds = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    with gt.protect(table, unit=gt.ROW, budget=gt.PureDP(1), domains={"day": bounds}, name="days") as s:
        assert "date from 2020-01-01 to 2020-12-31" in s._repr_html_()


def test_a_quote_is_json_for_programs_and_says_what_its_page_says() -> None:
    with opened() as s:
        query = s.sql(
            "SELECT region, COUNT(*) AS n, AVG(amount) AS mean, MEDIAN(amount) AS mid FROM trips GROUP BY region"
        )
        quote = query.quote(epsilon="0.5")
    found = json.loads(quote.to_json())
    assert found["margins"]["n"] == quote.margins["n"]
    assert (found["spend"], found["admitted"], found["confidence"]) == ("ε = 0.5", True, "19/20")
    assert found["margins"]["mid"].endswith("ranks away")
    assert f'<td style="text-align:left">{found["margins"]["mid"]}</td>' in quote._repr_html_()
    assert f"  mid {found['margins']['mid']}  (with 95 %)" in str(quote)


def test_a_session_without_caps_says_that_questions_state_them() -> None:
    rows = {"who": [1, 2], "n": [1, 2]}
    with gt.protect(pl.DataFrame(rows), unit="who", budget=gt.PureDP(1)) as session:
        assert "no caps" in session._repr_html_()
