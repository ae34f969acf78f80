"""An error of ours in a worker: the asker observes one, and the custodian reads where it was raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from demo_service import running_demo
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")

BROKEN = """
import os, sys
if "giveortake.server.worker" in sys.orig_argv:
    from giveortake.engines.duckdb.engine import DuckDBEngine
    from giveortake.engines.failures import out_of_time
    from giveortake.server import session_desk
    usual, written = DuckDBEngine._guarded, session_desk.formatted
    def guarded(self, *statement):
        if "7777" in str(statement):
            raise OverflowError("a row")
        if "9999" in str(statement):
            os.abort()
        if "8888" in str(statement):
            raise out_of_time()
        return usual(self, *statement)
    def formatted(found, kind):
        if kind == "csv":
            raise OverflowError("a row")
        return written(found, kind)
    DuckDBEngine._guarded, session_desk.formatted = guarded, formatted
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose workers raise for some constants, and while they write CSV."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "sitecustomize.py").write_text(BROKEN)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(folder))
        with running_demo(folder) as found:
            yield found


def above(amount: int) -> str:
    return f"SELECT region, COUNT(*) AS n FROM visits WHERE amount < {amount} GROUP BY region"


def admitted(service: Running, name: str) -> None:
    with service.book() as book:
        book.analyst(name, datasets=["visits"], budget=PureDP("1/50"))
        service.tokens[name] = book.issue_token(role="analyst", analyst=name)[1]


def asked(service: Running, name: str, amount: int, kind: str = "json") -> str:
    """The cause of what became of a question, or that it was answered."""
    body = {"sql": above(amount), "terms": {"epsilon": "1/1000"}, "key": f"{name} {amount}"}
    response = service.call(name, "POST", f"/v1/datasets/visits/answer?format={kind}", body)
    return "answered" if response.status_code == 200 else response.json()["error"]["cause"]


def failures(service: Running, name: str) -> dict[str, Any]:
    found = service.call("custodian", "GET", "/v1/failures").json()
    return {"all": found, **next(each for each in found["failures"] if each["name"] == name)}


def test_the_first_error_of_ours_locks_the_asker_and_is_told_to_the_custodian_with_its_line(broken: Running) -> None:
    admitted(broken, "dora")
    assert asked(broken, "dora", 5) == "answered"
    assert [asked(broken, "dora", amount) for amount in (7777, 77777, 6)] == ["failed", "allowance", "allowance"]
    hers = failures(broken, "dora")
    assert (hers["failed"], hers["left"], hers["defects"]) == (1, 0, 1)
    assert any("OverflowError at sitecustomize:" in each for each in hers["all"]["service"]["last"])
    assert hers["all"]["revealed"] >= hers["revealed"] > 0
    assert asked(broken, "dora", 5) == "answered"  # what was paid is still read
    level = hers["level"]
    reset = broken.call("custodian", "POST", f"/v1/failures/{level}/reset", {"reason": "mended"})
    assert (reset.status_code, asked(broken, "dora", 6)) == (200, "answered")


def test_a_worker_that_crashes_locks_the_asker_too(broken: Running) -> None:
    admitted(broken, "emma")
    assert [asked(broken, "emma", amount) for amount in (9999, 6)] == ["worker_lost", "allowance"]
    hers = failures(broken, "emma")
    assert (hers["failed"], hers["left"], hers["defects"]) == (1, 0, 1)


def test_a_question_that_takes_too_long_uses_up_one_failure(broken: Running) -> None:
    admitted(broken, "emil")
    assert [asked(broken, "emil", amount) for amount in (8888, 6)] == ["failed", "answered"]
    his = failures(broken, "emil")
    assert (his["failed"], his["left"], his["defects"]) == (1, 2, 0)


def test_an_error_of_ours_after_the_answer_is_stored_locks_the_asker_too(broken: Running) -> None:
    """Nobody can tell from outside what led to it; whoever sends the key again gets what is stored."""
    admitted(broken, "fred")
    assert asked(broken, "fred", 5, "csv") == "internal"
    assert asked(broken, "fred", 6) == "allowance"
    his = failures(broken, "fred")
    assert (his["failed"], his["left"], his["defects"]) == (1, 0, 1)
    assert asked(broken, "fred", 5) == "answered"
    with broken.book() as book:
        book.verify()
