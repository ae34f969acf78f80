"""An error of ours in a worker: the asker observes one, and the custodian reads where it was raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from giveortake.privacy import PureDP

if TYPE_CHECKING:
    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")


def above(amount: int) -> str:
    return f"SELECT region, COUNT(*) AS n FROM visits WHERE amount < {amount} GROUP BY region"


def admitted(service: Running, name: str) -> None:
    with service.book() as book:
        book.analyst(name, datasets=["visits"], budget=PureDP("1/100"))
        service.tokens[name] = book.issue_token(role="analyst", analyst=name)[1]


def asked(service: Running, name: str, amount: int, kind: str = "json") -> str:
    """The cause of what became of a question, or that it was answered."""
    body = {"sql": above(amount), "terms": {"epsilon": "1/1000"}, "key": f"{name} {amount}"}
    response = service.call(name, "POST", f"/v1/datasets/visits/answer?format={kind}", body)
    return "answered" if response.status_code == 200 else response.json()["error"]["cause"]


def failures(service: Running, name: str) -> dict[str, Any]:
    found = service.call("custodian", "GET", "/v1/failures").json()
    return {"all": found, **next(each for each in found["failures"] if each["name"] == name)}


def test_the_first_error_of_ours_locks_the_asker_and_is_told_to_the_custodian_with_its_line(tampered: Running) -> None:
    admitted(tampered, "dora")
    assert asked(tampered, "dora", 5) == "answered"
    assert [asked(tampered, "dora", amount) for amount in (7777, 77777, 6)] == ["failed", "allowance", "allowance"]
    hers = failures(tampered, "dora")
    assert (hers["failed"], hers["left"], hers["defects"]) == (1, 0, 1)
    assert "OverflowError at sitecustomize:" in tampered.call("custodian", "GET", "/custodian").text
    assert hers["all"]["revealed"] >= hers["revealed"] > 0
    assert asked(tampered, "dora", 5) == "answered"  # what was paid is still read
    level = hers["level"]
    reset = tampered.call("custodian", "POST", f"/v1/failures/{level}/reset", {"reason": "mended"})
    assert (reset.status_code, asked(tampered, "dora", 6)) == (200, "answered")


def test_a_worker_that_crashes_locks_the_asker_too(tampered: Running) -> None:
    admitted(tampered, "emma")
    assert [asked(tampered, "emma", amount) for amount in (9999, 6)] == ["worker_lost", "allowance"]
    hers = failures(tampered, "emma")
    assert (hers["failed"], hers["left"], hers["defects"]) == (1, 0, 1)


def test_a_question_that_takes_too_long_uses_up_one_failure(tampered: Running) -> None:
    admitted(tampered, "emil")
    assert [asked(tampered, "emil", amount) for amount in (8888, 6)] == ["failed", "answered"]
    his = failures(tampered, "emil")
    assert (his["failed"], his["left"], his["defects"]) == (1, 2, 0)


def test_an_error_of_ours_after_the_answer_is_stored_locks_the_asker_too(tampered: Running) -> None:
    """Nobody can tell from outside what led to it; whoever sends the key again gets what is stored."""
    admitted(tampered, "fred")
    assert asked(tampered, "fred", 5, "csv") == "internal"
    assert asked(tampered, "fred", 6) == "allowance"
    his = failures(tampered, "fred")
    assert (his["failed"], his["left"], his["defects"]) == (1, 0, 1)
    assert asked(tampered, "fred", 5) == "answered"
    with tampered.book() as book:
        book.verify()


def test_a_worker_that_ran_out_of_memory_is_asked_nothing_more(tampered: Running) -> None:
    def pids() -> set[int]:
        return {worker.process.pid for worker in tampered.service.pools["visits"].working}

    admitted(tampered, "gina")
    assert asked(tampered, "gina", 5) == "answered"
    before = pids()
    assert asked(tampered, "gina", 5, "parquet") == "internal"
    assert asked(tampered, "gina", 6) == "answered"  # by another
    assert not before & pids()
