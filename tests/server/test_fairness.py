"""One analyst among others: turns, limits and wrong tokens, so that nobody keeps anybody else out."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from demo_service import COUNT, client_at
from giveortake.server.limits import Backlog, Rate, Strangers, Turns, Work
from giveortake.server.responses import Refusal
from giveortake.server.workers import session_worker
from giveortake.server.workers.pool import Worker
from small_session import small_session
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running

CURVE = "/v1/datasets/visits/curve"
QUOTE = "/v1/datasets/visits/quote"
BODY = {"sql": COUNT, "terms": {"epsilon": "0.1"}}


def new_token(service: Running, **whose: Any) -> str:
    with service.book() as book:
        return str(book.issue_token(**whose)[1])


@contextmanager
def held_back(service: Running, analyst: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers do what an analyst asks for only after the block."""
    gate, asked = asyncio.Event(), Worker.ask

    async def ask(worker: Worker, request: dict[str, Any]) -> Any:
        if request.get("analyst") == analyst:
            await gate.wait()
        return await asked(worker, request)

    with monkeypatch.context() as patched:
        patched.setattr(Worker, "ask", ask)
        try:
            yield
        finally:
            service.loop.call_soon_threadsafe(gate.set)


def test_while_one_analyst_s_requests_wait_under_two_tokens_another_s_are_answered(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.tokens["eve again"] = new_token(service, role="analyst", analyst="eve")

    def share() -> Any:
        return service.service.pools["visits"]._turns._shares.get("analyst eve")

    with ThreadPoolExecutor(8) as asking:
        with held_back(service, "eve", monkeypatch):
            tokens = ["eve", "eve again"] * 4
            flood = [asking.submit(service.call, token, "POST", CURVE, BODY) for token in tokens]
            until(lambda: share() is not None and len(share().turns) == 7, "seven requests wait")
            assert share().busy == 1
            assert service.call("ann", "POST", QUOTE, BODY).status_code == 200
            assert service.call("custodian", "GET", "/v1/datasets/visits").status_code == 200
            for token in ("eve", "eve again"):
                refused = service.call(token, "POST", QUOTE, BODY)
                assert (refused.status_code, refused.json()["error"]["cause"]) == (429, "too_many")
                assert int(refused.headers["retry-after"]) >= 1
        assert [each.result().status_code for each in flood] == [200] * 8


def served(turns: Turns, asker: str, order: list[str], seconds: float = 0.0) -> asyncio.Task[None]:
    """A request that notes when it is served, and takes that many seconds of a worker."""

    async def run() -> None:
        work = Work(asker)
        worker = await turns.worker(work, slow=False)
        order.append(asker)
        turns.idle.put_nowait(worker)
        turns.end(work, slow=False, seconds=seconds)

    return asyncio.ensure_future(run())


def test_a_free_worker_goes_to_whoever_used_the_fewest_seconds() -> None:
    async def run() -> list[str]:
        worker: Any = object()
        turns = Turns(asyncio.Queue(), 1, 64, clock=lambda: 0.0)
        order: list[str] = []
        turns.idle.put_nowait(worker)
        await served(turns, "heavy", order, seconds=5)
        turns.idle.get_nowait()
        waiting = [served(turns, each, order, seconds=1) for each in ("heavy", "heavy", "light", "light", "new")]
        await asyncio.sleep(0)
        turns.idle.put_nowait(worker)
        turns.serve()
        await asyncio.gather(*waiting)
        return order

    assert asyncio.run(run()) == ["heavy", "light", "new", "light", "heavy", "heavy"]


def test_of_several_workers_nobody_has_all_and_nobody_s_queue_is_longer_than_it_may_be() -> None:
    async def run() -> None:
        turns = Turns(asyncio.Queue(), 3, 2)
        for _ in range(3):
            turns.idle.put_nowait(object())  # type: ignore[arg-type]  # (nobody asks it)
        works = [Work("ann") for _ in range(4)]
        waiting = [asyncio.ensure_future(turns.worker(each, slow=False)) for each in works]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [each.done() for each in waiting] == [True, True, False, False]
        with pytest.raises(Refusal) as refused:
            await turns.worker(Work("ann"), slow=False)
        assert refused.value.cause.status == 429
        await turns.worker(Work("bob"), slow=False)
        turns.idle.put_nowait(waiting[0].result())
        turns.end(works[0], slow=False, seconds=1.0)
        await waiting[2]
        waiting[3].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[3]
        assert not turns._shares["ann"].turns

    asyncio.run(run())


def test_whoever_asks_one_thing_after_the_other_is_never_refused_however_long_it_takes() -> None:
    now = [0.0]
    backlog = Backlog(5.0, clock=lambda: now[0])
    for _ in range(20):
        work = backlog.begin("ann", "answer")
        now[0] += 40.0
        work.seconds += 40.0
        backlog.end(work)


def test_who_has_more_seconds_under_way_than_may_be_is_refused_and_told_when_to_come_back() -> None:
    now = [0.0]
    backlog = Backlog(5.0, clock=lambda: now[0])
    flood = [backlog.begin("eve", "curve") for _ in range(8)]  # nobody knows yet what they take
    now[0] += 2.0
    flood[0].seconds = 2.0
    backlog.end(flood[0])
    with pytest.raises(Refusal) as refused:
        backlog.begin("eve", "curve")
    assert (refused.value.cause.name, refused.value.retry_after) == ("too_many", 11)  # 7 × 2 under way, and this one
    backlog.begin("ann", "curve")
    for work in flood[1:]:  # on seven workers at once: what is more than one worker's is owed
        work.seconds = 2.0
        backlog.end(work)
    with pytest.raises(Refusal) as refused:
        backlog.begin("eve", "quote")
    assert refused.value.retry_after == 9
    now[0] += refused.value.retry_after
    backlog.begin("eve", "quote")


def test_a_curve_in_parts_is_the_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    with small_session() as session:
        query = session.sql("SELECT COUNT(*) AS n FROM data")
        monkeypatch.setattr(session_worker, "_SLICE", float("inf"))
        whole = session_worker.curve_of(session, query, {})
        monkeypatch.setattr(session_worker, "_SLICE", 0.0)
        part = session_worker.curve_of(session, query, {})
        points = part["points"]
        while part["spends"]:
            assert len(part["points"]) == 1
            part = session_worker.curve_of(session, query, {}, None, part["spends"])
            points = points + part["points"]
    assert len(points) == session_worker.POINTS
    assert {**part, "points": points} == whole


# -- wrong tokens -----------------------------------------------------------------------------------------------------


def test_one_wrong_token_a_second_keeps_nobody_out_and_many_are_not_looked_up() -> None:
    now = [0.0]
    strangers = Strangers(Rate(2.0, 60.0, clock=lambda: now[0]))
    for number in range(600):
        now[0] += 1.0
        assert strangers.enters("here", f"wrong {number}")
        strangers.leaves("here", f"wrong {number}", wrong=True)
        assert strangers.enters("here", "valid")
        strangers.leaves("here", "valid", wrong=False)
    flood = [strangers.enters("here", f"guess {number}") for number in range(100)]
    assert 0 < sum(flood) <= 60
    assert strangers.enters("elsewhere", "guess 99")


def test_a_token_takes_room_once_however_often_it_is_sent_and_none_if_it_is_valid() -> None:
    strangers = Strangers(Rate(2.0, 1.0, clock=lambda: 0.0))
    assert [strangers.enters("here", "valid") for _ in range(48)] == [True] * 48
    for _ in range(48):
        strangers.leaves("here", "valid", wrong=False)
    assert strangers.enters("here", "wrong")
    assert not strangers.enters("here", "another")
    strangers.leaves("here", "wrong", wrong=True)
    assert strangers.was_wrong("here", "wrong")
    assert not strangers.was_wrong("elsewhere", "wrong")
    assert not strangers.enters("here", "another")


def test_a_custodian_s_first_request_is_let_in_beside_wrong_tokens_of_the_same_address(service: Running) -> None:
    def status(token: str) -> int:
        headers = {"authorization": f"Bearer {token}"}
        return service.call(None, "GET", "/v1/me", headers=headers, client=client).status_code

    with client_at("127.0.0.5") as client:
        assert {status(f"got_{number % 30:016x}_" + "0" * 64) for number in range(90)} == {401}
        assert status(new_token(service, role="custodian")) == 200


def test_many_valid_tokens_are_let_in_at_once_for_the_first_time(service: Running) -> None:
    tokens = [new_token(service, role="analyst", analyst="bob") for _ in range(6)]
    tokens += [new_token(service, role="custodian") for _ in range(42)]

    def status(token: str) -> int:
        headers = {"authorization": f"Bearer {token}"}
        return service.call(None, "GET", "/v1/me", headers=headers, client=client).status_code

    with client_at("127.0.0.6") as client, ThreadPoolExecutor(len(tokens)) as asking:
        assert list(asking.map(status, tokens)) == [200] * len(tokens)


# -- the log ----------------------------------------------------------------------------------------------------------


def test_the_log_names_the_address_of_the_connection_and_the_id_that_the_response_has(service: Running) -> None:
    for name in ("page-17.b_2", "x" * 65, "two words", "zwölf", ""):
        headers = {"x-request-id": name.encode(), "x-forwarded-for": "203.0.113.9"}
        response = service.call("ann", "GET", "/v1/me", headers=headers)
        request = response.headers["x-request-id"]
        assert (request == name) == (name == "page-17.b_2")
        assert request.isascii()
        assert 0 < len(request) <= 64
        lines = [json.loads(line) for line in (service.folder / "service.log").read_text("utf-8").splitlines()]
        (line,) = [each for each in lines if each.get("request") == request]
        assert (line["address"], line["status"]) == ("127.0.0.1", 200)
