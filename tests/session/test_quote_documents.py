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
