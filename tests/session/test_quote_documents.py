"""Quotes are read as they were written."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.session.quotes import Quote
from inside import ledger_of
from small_session import COUNT, FOUND, small_session
from tiers import tiered

BUDGETS = [gt.PureDP(10), gt.ApproxDP(10, "1e-4"), gt.ZCDP(3), gt.GaussianDP(3)]
TERMS: list[Any] = [{"epsilon": 1}, {"epsilon": 10**6}, {"share": "1/3"}]
MEAN = "SELECT r, AVG(x) AS m, MEDIAN(x) AS q FROM data GROUP BY r"


@all_cases("budget", tiered([gt.PureDP(10), gt.ApproxDP(10, "1e-4")], BUDGETS))
def test_every_quote_is_read_as_it_was_written(budget: Any) -> None:
    pure = isinstance(budget, gt.PureDP)
    with small_session(budget=budget) as s:
        s.profile().answer(epsilon=1)
        for text in (COUNT, MEAN, "SELECT DISTINCT r FROM data"):
            for terms in [*TERMS, *([] if pure else [{"mu": 1}])]:
                quote = s.sql(text).quote(confidence="0.9", confidence_over="answer", **terms)
                again = Quote.from_json(quote.to_json())
                assert again == quote
                assert again.confidence == quote.confidence
                assert str(again) == str(quote)
                assert again.to_json() == quote.to_json()


def test_keys_that_are_found_and_margins_without_bound_are_kept() -> None:
    with small_session() as s:
        quote = s.sql(FOUND).quote(epsilon=1, delta="1e-6")
        quote = replace(quote, margins={**quote.margins, "n": math.inf})
        assert json.loads(quote.to_json())["margins"]["n"] == {"float": "inf"}
        assert Quote.from_json(quote.to_json()) == quote


@all_cases("text", ["", "7", "[]", "{}", '{"format": 1}', '{"format": 9}', "[" * 99_999])
def test_what_is_no_quote_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        Quote.from_json(text)


def test_a_quote_says_what_waits_for_approval_and_how_wide_a_mean_can_be() -> None:
    session = small_session(budget=gt.PureDP(1))
    ledger_of(session).analyst(
        "ann", datasets=[session.name], budget=gt.PureDP("0.5"), approval_above=gt.PureDP("0.05")
    )
    asked = session.as_analyst("ann").sql(COUNT)
    small, large = asked.quote(epsilon="0.05"), asked.quote(epsilon="0.1")
    assert (small.approval, large.approval) == (False, True)
    assert ["approval" in face for face in (str(small), str(large), large._repr_html_())] == [False, True, True]
    assert Quote.from_json(large.to_json()).approval
    wide = session.sql("SELECT AVG(x) AS m FROM data").quote(epsilon="0.001")
    assert wide.spans == {"m": 10.0}
    with pytest.raises(gt.errors.ApprovalRequired):
        asked.answer(epsilon="0.1")


BY_DAY = pl.DataFrame(
    {
        "p": range(60),
        "r": ["north", "south"] * 30,
        "x": [float(row % 10) for row in range(60)],
        "day": [dt.date(2024, 1, 1 + row % 3) for row in range(60)],
    }
)
DAYS = {"r": ["north", "south"], "x": (0, 10), "day": (dt.date(2024, 1, 1), dt.date(2024, 1, 3))}
BINS: Any = {"columns": ["r", "x"], "bins": {"x": [0, 5, 10]}, "delta": "1e-6"}
PRICED: dict[str, tuple[Callable[[Any, str], Any], Callable[[Any, str], Any]]] = {  # quotes, and what they are of
    "workload": (
        lambda s, spend: s.workload(gt.workload.marginals(["r"])).quote(mu=spend),
        lambda s, spend: s.workload(gt.workload.marginals(["r"])).answer(mu=spend),
    ),
    "counter": (
        lambda s, spend: s.counter("day", horizon=3).quote(mu=spend),
        lambda s, spend: s.counter("day", horizon=3).answer(mu=spend).next(),
    ),
    "fit": (
        lambda s, spend: gt.learn.ClassMeans("r", ["x"], mu=spend).quote(s),
        lambda s, spend: gt.learn.ClassMeans("r", ["x"], mu=spend).fit(s),
    ),
    "synthesis": (
        lambda s, spend: gt.synth.quote(s, epsilon=spend, **BINS),
        lambda s, spend: gt.synth.synthesize(s, epsilon=spend, **BINS),
    ),
}


@all_cases(("quote", "ask"), PRICED.values())
def test_whatever_is_quoted_says_what_waits_for_approval_and_what_is_free_by_now(
    quote: Callable[[Any, str], Any], ask: Callable[[Any, str], Any]
) -> None:
    with gt.protect(BY_DAY, unit="p", budget=gt.ApproxDP(10, "1e-4"), rows_per_person=1, domains=DAYS) as session:
        book = ledger_of(session)
        grant: Any = {"datasets": [session.name], "budget": gt.ApproxDP(5, "5e-5")}
        book.analyst("ann", **grant, approval_above=gt.ApproxDP("1/2", "1e-5"))
        asker = session.as_analyst("ann")
        small, large = quote(asker, "1/20"), quote(asker, "1")
        assert (small.approval, large.approval) == (False, True)
        assert ["approval" in str(each) for each in (small, large)] == [False, True]
        with pytest.raises(gt.errors.ApprovalRequired) as waiting:
            ask(asker, "1")
        assert quote(asker, "1").approval
        book.approve(waiting.value.request, reason="fine")
        assert not quote(asker, "1").approval
        ask(asker, "1")
        paid = quote(asker, "1")
        assert paid.admitted
        assert not paid.approval
        assert "before" in str(paid)
