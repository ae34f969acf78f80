"""Quotes are read as they were written."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

import giveortake as gt
from giveortake.errors import InvalidParameter
from giveortake.session.quote import Quote
from inside import ledger_of
from small_session import COUNT, FOUND, small_session

TERMS: list[Any] = [{"epsilon": 1}, {"epsilon": 10**6}, {"share": "1/3"}]
MEAN = "SELECT r, AVG(x) AS m, MEDIAN(x) AS q FROM data GROUP BY r"


@pytest.mark.parametrize("budget", [gt.PureDP(10), gt.ApproxDP(10, "1e-4"), gt.ZCDP(3), gt.GaussianDP(3)], ids=str)
def test_every_quote_is_read_as_it_was_written(budget: Any) -> None:
    pure = isinstance(budget, gt.PureDP)
    with small_session(budget=budget) as s:
        s.profile(epsilon=1)
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
        assert json.loads(quote.to_json())["margins"]["n"] is None
        assert Quote.from_json(quote.to_json()) == quote


@pytest.mark.parametrize("text", ["", "7", "[]", "{}", '{"format": 1}', '{"format": 9}', "[" * 99_999])
def test_what_is_no_quote_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="the document"):
        Quote.from_json(text)


def test_a_quote_says_what_waits_for_approval_and_how_wide_a_mean_can_be() -> None:
    session = small_session(budget=gt.PureDP(1))
    ledger_of(session).analyst(
        "ann", datasets=[session.name], budget=gt.PureDP("0.5"), approval_above=gt.PureDP("0.05")
    )
    asked = session.as_analyst("ann").sql(COUNT)
    small, large = asked.quote(epsilon="0.05"), asked.quote(epsilon="0.1")
    assert (small.approval, large.approval) == (False, True)
    assert "waits for the custodian's approval" in str(large)
    assert "approval; nothing is charged until then" in large._repr_html_()
    assert Quote.from_json(large.to_json()).approval
    wide = session.sql("SELECT AVG(x) AS m FROM data").quote(epsilon="0.001")
    assert wide.spans == {"m": 10.0}
    assert "± 10 if it has 1,000" in str(wide)
    with pytest.raises(gt.errors.ApprovalRequired):
        asked.answer(epsilon="0.1")
