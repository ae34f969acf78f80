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


TERMS: list[tuple[dict[str, Any], str]] = [
    ({}, '"epsilon": "0.1", or "margin": 50, or "share": "1/10"'),
    ({"epsilon": 0}, 'send "epsilon": "0.1"; the larger it is, the less noise'),
    ({"delta": "1e-9"}, 'send "epsilon": "0.5", "delta": "1e-8"'),
    ({"epsilon": "0.1", "rho": 1}, 'send "epsilon", "rho" or "mu"'),
    ({"epsilon": "0.1", "confidence": 1}, '"confidence": "0.95"'),
    ({"epsilon": "0.1", "confidence_over": "all"}, "one of cell, answer"),
    ({"epsilon": "0.1", "rows_per_person": []}, '"rows_per_person": 10, or {"trips": 10}'),
    ({"epsilon": "0.1", "rows_per_persn": 4}, "did you mean `rows_per_person`?"),
    ({"epsilon": "0.1", "caps": "best"}, "POST /v1/datasets/NAME/profile makes one"),
    ({"margin": 5, "caps": "best"}, 'send "epsilon": "0.1" or "share": "1/10" instead of the margin'),
]


def test_wrong_terms_are_told_in_the_words_of_a_request(service: Running) -> None:
    for (terms, hint), path in product(TERMS, ("quote", "answer")):
        body = {"sql": BY, "terms": terms} | ({"key": "wrong"} if path == "answer" else {})
        assert hint in refused(service, f"{AT}/{path}", body)["hint"], terms


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        ("curve", {"sql": BY, "terms": {"epsilon": 0}}, None),
        ("quote", {"sql": f"{N} GROUP BY CUBE (region)", "terms": {"epsilon": "1"}}, "POST /v1/datasets/NAME/workload"),
        ("quote", {"terms": {"epsilon": "1"}}, '"sql": "SELECT COUNT(*) AS n FROM trips"'),
        ("answer?format=xml", {"sql": N, "terms": {"epsilon": "1"}, "key": "k"}, "one of json, arrow, parquet, csv"),
        ("answer?form=csv", {"sql": N, "terms": {"epsilon": "1"}, "key": "k"}, "known: format"),
        ("batch", {"questions": [], "terms": {"epsilon": "1"}, "key": "k"}, "name a question"),
        ("workload/quote", {"workload": {}, "terms": {"epsilon": "1"}}, '"tables": [{"columns": ["region"]}]'),
        ("workload/quote", {"workload": {"tables": [{"columns": ["reason"]}]}, "terms": {"rho": "1"}}, "the custodian"),
        ("workload/quote", {"workload": {"tables": [{"columns": ["amount"]}]}, "terms": {"rho": "1"}}, '"ranges": [{'),
        ("workload/quote", {"workload": {"ranges": [{"column": "reason"}]}, "terms": {"rho": "1"}}, "the custodian"),
        (
            "workload/quote",
            {"workload": {"tables": [{"columns": ["region"]}]}, "terms": {"rho": "1", "groups_per_person": 2}},
            '"rows_per_person": 10 bounds',
        ),
        (
            "workload/quote",
            {"workload": {"tables": [{"columns": ["region"]}], "norm": 10}, "terms": {"epsilon": "1"}},
            '"rho": "1/100": Gaussian noise does',
        ),
        ("profile", {"epsilon": "1", "key": "k", "by": "region"}, None),
    ],
)
def test_wrong_questions_are_told_so_too(service: Running, path: str, body: Any, hint: str | None) -> None:
    found = refused(service, f"{AT}/{path}", body)["hint"]
    assert hint is None or hint in found


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        ("analysts", {"name": "zoe", "datasets": ["visits"]}, 'send "budget": {"epsilon": "1"}'),
        ("analysts", {"name": "zoe", "datasets": ["visits"], "budget": {}}, "epsilon and delta, rho, or mu"),
        ("analysts", {"name": "zoe", "datasets": ["visits"], "budget": {"rho": "1"}}, "grant a pure ε or ε and δ"),
        ("analysts", {"name": "ann", "datasets": ["visits"], "budget": {"epsilon": "1"}}, "POST /v1/budgets/LEVEL"),
        ("tokens", {"role": "analyst"}, '"role": "analyst", "analyst": "ann"'),
        ("tokens", {"role": "king"}, "one of monitor, auditor, analyst, custodian"),
        ("tokens", {"role": "analyst", "analyst": "ann", "expires": "soon"}, '"expires": "2027-01-31T12:00:00+00:00"'),
        ("budgets/2", {"budget": {"epsilon": "1"}, "reason": "less"}, "grant a pure ε"),
        ("tokens/x/revoke", {}, '"reason": "'),
    ],
)
def test_custodians_are_told_so_too(service: Running, path: str, body: Any, hint: str) -> None:
    assert hint in refused(service, f"/v1/{path}", body, "custodian")["hint"]


def test_a_client_of_the_same_service_is_told_in_python(service: Running) -> None:
    with gt.connect(service.address, token=service.tokens["wally"]) as session:
        with pytest.raises(gt.errors.InvalidParameter) as wrong:
            session.sql(BY).quote()
        assert wrong.value.hint == 'epsilon="0.1", or margin=50, or share="1/10"'
        with pytest.raises(gt.errors.QueryRefused) as missing:
            session.sql(BY).quote(epsilon="0.1", caps="best")
        assert missing.value.hint == 's.profile().answer(epsilon="0.1") makes one'
