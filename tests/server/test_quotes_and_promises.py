"""What a service tells for free: the price of few enough aggregates at once, and promises as they are now."""

from __future__ import annotations

from itertools import product

import giveortake as gt
from demo_service import COUNT, Running
from giveortake.privacy import ApproxDP

AT = "/v1/datasets/visits"
MOST, MOST_BY_BEST_CAPS = 200, 50  # aggregates, of which some count several times


def columns(count: int, aggregate: str) -> str:
    listed = ", ".join(f"{aggregate.format(k / 1000)} AS c{k}" for k in range(1, count + 1))
    return f"SELECT {listed} FROM visits"


def pids(service: Running) -> set[int]:
    return {worker.process.pid for worker in service.service.pools["visits"].working}


def test_what_would_take_long_to_price_is_refused_before_it_is_priced(service: Running) -> None:
    before = pids(service)
    much = (
        columns(MOST // 3 + 1, "QUANTILE(amount, {})"),
        columns(MOST // 4 + 1, "STDDEV(CLAMP(amount, 0, {}))"),
        columns(MOST + 1, "SUM(CLAMP(amount, 0, {}))"),
    )
    paths: dict[str, dict[str, object]] = {
        "quote": {},
        "curve": {},
        "answer": {"key": "much"},
        "stream": {"key": "much", "part": 0},
    }
    for sql, (path, more) in product(much, paths.items()):
        refused = service.call("ann", "POST", f"{AT}/{path}", {"sql": sql, "terms": {"epsilon": "0.001"}, **more})
        error = refused.json()["error"]
        assert (refused.status_code, error["cause"]) == (422, "refused"), (sql[:40], path)
        assert str(MOST) in error["message"]
    assert pids(service) == before


def test_best_caps_are_found_for_fewer_aggregates(service: Running) -> None:
    much = columns(MOST_BY_BEST_CAPS + 1, "SUM(CLAMP(amount, 0, {}))")
    for caps, refused in (({}, False), ({"caps": "best"}, True)):
        told = service.call("ann", "POST", f"{AT}/quote", {"sql": much, "terms": {"epsilon": "0.001", **caps}}).json()
        assert (" 50 " in told.get("error", {}).get("message", "")) == refused


def test_questions_of_a_batch_are_counted_together_and_few_are_priced(service: Running) -> None:
    each = {"sql": columns(MOST // 2 + 1, "SUM(CLAMP(amount, 0, {}))")}
    batch = {"queries": [each, each], "terms": {"epsilon": "0.001"}, "key": "much"}
    assert service.call("ann", "POST", f"{AT}/answer", batch).json()["error"]["cause"] == "refused"
    priced = service.call("ann", "POST", f"{AT}/quote", {**each, "terms": {"epsilon": "0.001"}})
    assert len(priced.json()["margins"]) == MOST // 2 + 1


def test_a_promise_that_was_changed_is_told_as_it_is_now(service: Running) -> None:
    who = {"name": "ida", "datasets": ["visits"], "budget": {"epsilon": "0.01", "delta": "1e-9"}}
    service.call("custodian", "POST", "/v1/analysts", who).raise_for_status()
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "ida"}).json()
    service.tokens["ida"] = made["token"]
    with gt.connect(service.address, token=made["token"]) as session:
        share = session.sql(COUNT).quote(epsilon="0.001").share
        levels = service.call("custodian", "GET", "/v1/budgets").json()["levels"]
        level = next(each["number"] for each in levels if each["name"] == "ida")
        change = {"budget": {"epsilon": "0.02", "delta": "1e-9"}, "reason": "more is needed"}
        service.call("custodian", "POST", f"/v1/budgets/{level}", change).raise_for_status()
        found = service.call("ida", "GET", AT).json()
        assert found["budget"].startswith("ε = 0.02, δ = 1e-9")
        assert found["standing"]["budget"].startswith("ε = 0.02, δ = 1e-9")
        assert session.budget.granted == ApproxDP("0.02", "1e-9", unit=gt.unit("person_id"))
        assert "ApproxDP('0.02'" in repr(session)
        now = session.sql(COUNT).quote(epsilon="0.001").share
        assert share is not None
        assert now is not None
        assert now < share
