"""Wrong requests to every route: what comes back says what to do, in the words of requests and not of Python."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

import giveortake as gt
from demo_service import Running

PYTHON = re.compile(r"\b\w+=(?![=>])|\bgt\.|\b[sqc]\.\w|\bsession\.\w|\bledger\.\w|answer\(|\w\(…|[a-z]DP\b")
AT, N = "/v1/datasets/visits", "SELECT COUNT(*) AS n FROM visits"
BY = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@pytest.fixture(scope="module", autouse=True)
def _newcomer(service: Running) -> None:
    """An analyst who has made no profile."""
    with service.book() as book:
        book.analyst("wally", datasets=["visits"], budget=gt.ApproxDP("1/100", "1e-9"))
        service.tokens["wally"] = book.issue_token(role="analyst", analyst="wally")[1]


def refused(service: Running, path: str, body: Any, who: str = "wally") -> dict[str, Any]:
    reply = service.call(who, "POST", path, body)
    assert 400 <= reply.status_code < 500, (path, body, reply.text)
    error: dict[str, Any] = reply.json()["error"]
    assert not PYTHON.search(f"{error['message']} {error['hint'] or ''}"), error
    return error


TERMS: list[dict[str, Any]] = [
    {},
    {"epsilon": 0},
    {"delta": "1e-9"},
    {"epsilon": "0.1", "rho": 1},
    {"epsilon": "0.1", "confidence": 1},
    {"epsilon": "0.1", "confidence_over": "all"},
    {"epsilon": "0.1", "rows_per_person": []},
    {"epsilon": "0.1", "rows_per_persn": 4},
    {"epsilon": "0.1", "caps": "best"},
    {"margin": 5, "caps": "best"},
]


def test_wrong_terms_are_refused_with_a_hint_in_the_words_of_a_request(service: Running) -> None:
    for terms, path in product(TERMS, ("quote", "answer")):
        body = {"sql": BY, "terms": terms} | ({"key": "wrong"} if path == "answer" else {})
        assert refused(service, f"{AT}/{path}", body)["hint"], terms


QUESTIONS: list[tuple[str, Any]] = [
    ("curve", {"sql": BY, "terms": {"epsilon": 0}}),
    ("quote", {"sql": f"{N} GROUP BY CUBE (region)", "terms": {"epsilon": "1"}}),
    ("quote", {"terms": {"epsilon": "1"}}),
    ("answer?format=xml", {"sql": N, "terms": {"epsilon": "1"}, "key": "k"}),
    ("answer?form=csv", {"sql": N, "terms": {"epsilon": "1"}, "key": "k"}),
    ("answer", {"queries": [], "terms": {"epsilon": "1"}, "key": "k"}),
    ("quote", {"workload": {}, "terms": {"epsilon": "1"}}),
    ("quote", {"workload": {"tables": [{"columns": ["reason"]}]}, "terms": {"rho": "1"}}),
    ("quote", {"workload": {"tables": [{"columns": ["amount"]}]}, "terms": {"rho": "1"}}),
    ("quote", {"workload": {"ranges": [{"column": "reason"}]}, "terms": {"rho": "1"}}),
    (
        "answer",
        {"request": {"kind": "profile", "table": "visits", "by": "region"}, "terms": {"epsilon": "1"}, "key": "k"},
    ),
]
CUSTODIANS: list[tuple[str, Any]] = [
    ("analysts", {"name": "zoe", "datasets": ["visits"]}),
    ("analysts", {"name": "zoe", "datasets": ["visits"], "budget": {}}),
    ("analysts", {"name": "zoe", "datasets": ["visits"], "budget": {"rho": "1"}}),
    ("analysts", {"name": "ann", "datasets": ["visits"], "budget": {"epsilon": "1"}}),
    ("tokens", {"role": "analyst"}),
    ("tokens", {"role": "king"}),
    ("tokens", {"role": "analyst", "analyst": "ann", "expires": "soon"}),
    ("budgets/2", {"budget": {"epsilon": "1"}, "reason": "less"}),
    ("tokens/x/revoke", {}),
]


def test_wrong_questions_and_acts_are_refused_without_a_word_of_python(service: Running) -> None:
    for path, body in QUESTIONS:
        refused(service, f"{AT}/{path}", body)
    for path, body in CUSTODIANS:
        refused(service, f"/v1/{path}", body, "custodian")


def test_a_client_of_the_same_service_is_told_in_python(service: Running) -> None:
    with gt.connect(service.address, token=service.tokens["wally"]) as session:
        with pytest.raises(gt.errors.InvalidParameter) as wrong:
            session.sql(BY).quote()
        assert wrong.value.hint == 'share="5 %", or margin=50, or epsilon="0.1"'
        with pytest.raises(gt.errors.QueryRefused) as missing:
            session.sql(BY).quote(epsilon="0.1", caps="best")
        assert missing.value.hint
