"""Time limits, failures that quote nothing, and scratch folders."""

from __future__ import annotations

import logging
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.engines import runtime
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.duckdb.long_texts import ordered
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.engines.runtime import ScratchFolder, TimeLimit, failure, in_own_time, one_question
from giveortake.errors import QueryFailed, QueryRefused
from giveortake.mechanisms import Laplace
from giveortake.plan import Domain, Kind
from inside import engine_of, ledger_of

ENDLESS = "SELECT count(DISTINCT hash(a.range, b.range)) FROM range(1000000) AS a, range(1000000) AS b"
ENDLESS_THERE = "SELECT pg_sleep(86400)"


class Clock:
    """The clock of limits, which goes on when the test says so, or a step with every look at it."""

    def __init__(self) -> None:
        self.now = self.step = 0.0

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(runtime, "time", clock)
    return clock


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a million rows with a text each."""
    path = tmp_path_factory.mktemp("large") / "rows.parquet"
    numbers = np.arange(500_000)
    pl.DataFrame({"p": numbers // 4, "i": numbers}).with_columns(
        q=pl.format("text number {} of all", pl.col("i"))
    ).write_parquet(path)
    return path


def protect(source: Any, **more: Any) -> gt.session.Session:
    options: dict[str, Any] = {
        "unit": "p", "budget": gt.ApproxDP(1000, "1e-5"), "name": "t", "groups_per_person": 2, "rows_per_group": 2,
        "threads": 1, "failures": 9,
    }  # fmt: skip
    return gt.protect(source, **protection_arguments({**options, **more}))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(DISTINCT UPPER(q) || 'x') AS n FROM t",
        "SELECT q, COUNT(*) AS n FROM t GROUP BY q",
        "SELECT COUNT(*) AS n FROM (SELECT p, q, COUNT(*) AS c FROM t GROUP BY p, q)",
    ],
)
def test_a_question_that_takes_too_long_is_given_up_and_the_next_one_answers(large: Path, text: str) -> None:
    with protect(large, seconds=0.001) as s:  # in which no machine reads so many texts
        with pytest.raises(QueryFailed) as failed:
            s.sql(text).answer(epsilon=1)
        assert failed.value.cause == "time"
        engine_of(s)._time = TimeLimit(None)
        assert s.sql("SELECT COUNT(*) AS n FROM t WHERE i < 100").answer(epsilon=1).to_dict()["n"]
        (asker,) = ledger_of(s).failures()
        assert asker.failed == 1
        ledger_of(s).verify()


def test_an_engine_is_interrupted_again_until_it_stops(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first interruption comes before the statement runs, and is lost."""
    engine = DuckDBEngine(threads=1, seconds=0.001)
    opened, calls = engine._connection, [0]
    interrupted = threading.Event()

    class Late:
        """A connection on which statements begin late."""

        def execute(self, text: str, parameters: Any) -> Any:
            interrupted.wait()
            return opened.execute(text, parameters)

        def interrupt(self) -> None:
            calls[0] += 1
            clock.now += 1
            opened.interrupt()
            interrupted.set()

    monkeypatch.setattr(engine, "_connection", Late())
    with pytest.raises(QueryFailed, match="in time"):
        engine._rows(ENDLESS)
    assert calls[0] > 1
    monkeypatch.setattr(engine, "_connection", opened)
    engine._time = TimeLimit(None)
    assert engine._rows("SELECT 1") == [(1,)]
    engine.close()


def test_the_statements_of_one_question_share_its_seconds(clock: Clock) -> None:
    engine = DuckDBEngine(threads=1, seconds=60)
    with one_question():
        with engine._time.counted():
            clock.now += 61
        with pytest.raises(QueryFailed, match="in time"):
            engine._rows("SELECT 1")
    assert engine._rows("SELECT 1") == [(1,)]  # the next one has its own
    engine.close()


def test_waiting_for_others_is_not_counted(clock: Clock) -> None:
    limit = TimeLimit(20)
    with one_question():
        clock.now += 25
        assert not limit.is_over
        with limit.counted(), limit.counted():  # once, not twice
            clock.now += 12
            assert not limit.is_over
        assert limit.left == 8
    assert TimeLimit(None).left is None


def test_tables_of_keys_do_not_stay_behind_when_the_time_is_over(clock: Clock) -> None:
    engine = DuckDBEngine(threads=1, seconds=60)
    domain = gt.plan.Domain(gt.plan.Kind.INTEGER)

    def lists() -> Any:
        yield [(1,)]
        clock.now += 61
        yield [(2,)]

    with one_question(), engine._time.counted(), pytest.raises(QueryFailed, match="in time"):
        engine._listed([("k0", domain)], lists())
    left = "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'key_list%'"
    assert engine._connection.execute(left).fetchall() == [(0,)]  # by itself: it may take longer than a question may
    engine.close()


def test_sorting_stops_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    given_up = threading.Event()

    class Pool(ThreadPoolExecutor):
        """Says when what has not begun was given up."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            given_up.set()
            super().shutdown(wait=wait)

    def check() -> None:
        raise failure("time")

    def work(block: Any) -> int:
        done.append(block)
        if len(done) > 1:
            given_up.wait()
        return 0

    monkeypatch.setattr(fast_paths, "ThreadPoolExecutor", Pool)
    with pytest.raises(QueryFailed, match="in time"):
        list(fast_paths.map_blocks(iter([np.zeros(1, dtype=np.int64)] * 99), work, 1, check))
    assert len(done) <= 2


def test_sorted_tallies_have_a_limit_too(large: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = fast_paths.packed

    def slow(*given: Any) -> Any:
        clock.now += 1000
        return sound(*given)

    monkeypatch.setattr(fast_paths, "packed", slow)
    with (
        protect(large, domains={"i": (0, 10)}, seconds=500) as s,
        pytest.raises(QueryFailed, match="in time"),
    ):
        s.sql("SELECT SUM(i) AS n FROM t").answer(epsilon=1)


# -- what is told -----------------------------------------------------------------------------------------------------


def test_a_question_that_doubles_a_text_is_refused_and_not_begun() -> None:
    """It ran for 25 seconds under a limit of 2."""
    text = "SELECT p, CASE WHEN p = 1 THEN 'xxxxxxxxxxxxxxxxxxxx' ELSE '' END AS s FROM t"
    for _ in range(20):
        text = f"SELECT p, s || s AS s FROM ({text})"
    assert len(text) < 800
    with (
        protect(pl.DataFrame({"p": [1, 2, 3]}), seconds=2) as s,
        pytest.raises(QueryRefused, match="characters"),
    ):
        s.sql(f"SELECT COUNT(DISTINCT s) AS n FROM ({text})").answer(epsilon="1e-6")


def test_a_question_without_memory_says_so() -> None:
    engine = DuckDBEngine(threads=1, memory="20MB")
    with pytest.raises(QueryFailed, match="memory") as failed:
        engine._rows("SELECT length(list(range)) FROM range(20000000)")
    assert failed.value.cause == "memory"
    engine.close()


def test_the_log_names_the_kind_of_error_and_quotes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    engine = DuckDBEngine(threads=1)
    with caplog.at_level(logging.WARNING, logger="giveortake"), pytest.raises(QueryFailed) as failed:
        engine._rows("SELECT CAST(x AS INTEGER) FROM (SELECT 'zebra' AS x)")
    assert failed.value.cause == "defect"
    (record,) = caplog.records
    assert record.args == ("defect", "ConversionException")
    assert "zebra" not in f"{failed.value}{caplog.text}"
    engine.close()


def test_nothing_is_printed_to_who_asks(capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(logging.getLogger("giveortake").handlers[0], logging.NullHandler)
    failure("other", ValueError)
    assert capfd.readouterr().err == ""


# -- servers ----------------------------------------------------------------------------------------------------------


def test_the_server_gives_up_in_time_and_is_asked_to_if_it_does_not(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = PostgresEngine(server, seconds=0.1)
    for limit in (engine._limit, int):  # its own limit, or 0, which is none: then it is cancelled
        monkeypatch.setattr(engine, "_limit", limit)
        with pytest.raises(QueryFailed, match="in time") as failed:
            engine._rows(ENDLESS_THERE)
        assert failed.value.cause == "time"
    engine._time = TimeLimit(None)  # a busy machine may need more than a part of a second
    assert engine._rows("SELECT 1") == [(1,)]
    engine.close()


def test_noise_of_many_keys_is_drawn_in_the_time_of_the_question(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    portions, release = [], Laplace.release

    def slowly(noise: Laplace, *given: Any) -> Any:
        portions.append(given)
        clock.now += 10
        return release(noise, *given)

    monkeypatch.setattr(import_module("giveortake.compile.measurement"), "_AT_ONCE", 10)
    monkeypatch.setattr(Laplace, "release", slowly)
    table = pl.DataFrame({"p": range(9), "k": range(9)})
    with protect(table, domains={"k": list(range(1000))}, seconds=200) as s:
        with pytest.raises(QueryFailed, match="in time"):
            s.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").answer(epsilon=1)
        assert len(portions) == 20
        (asker,) = ledger_of(s).failures()
        assert asker.failed == 1


def test_noise_in_portions_is_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("giveortake.compile.measurement"), "_AT_ONCE", 7)
    table = pl.DataFrame(
        {"p": range(90), "k": [each % 30 for each in range(90)], "x": [each % 30 for each in range(90)]}
    )
    text = "SELECT k, COUNT(*) AS n, SUM(x) AS a, MEDIAN(x) AS m FROM t GROUP BY k"
    with protect(table, budget=gt.PureDP(10**9), domains={"k": list(range(31)), "x": (0, 40)}) as s:
        found = s.sql(text).answer(epsilon=10**6).to_dict()
    assert found["n"] == [3] * 30 + [0]
    assert found["a"] == [3 * key for key in range(30)] + [0]
    assert found["m"][:30] == list(range(30))


def test_putting_keys_in_order_ends_with_the_time(clock: Clock, tmp_path: Path) -> None:
    def endless() -> Any:
        while True:
            yield [(number,) for number in range(1000)]

    clock.step = 1
    with one_question():
        with TimeLimit(50).counted():
            pass
        with pytest.raises(QueryFailed, match="in time"):
            list(ordered(endless(), [Domain(Kind.INTEGER)], tmp_path, 1000))


def test_what_is_written_to_a_file_is_made_in_the_time_of_the_question(clock: Clock) -> None:
    made: list[int] = []

    def slowly() -> Any:
        for number in range(100):
            clock.now += 5
            yield number

    with one_question():
        with TimeLimit(50).counted():
            pass
        with pytest.raises(QueryFailed, match="in time"):
            made.extend(in_own_time(slowly()))
    assert len(made) == 10
    assert list(in_own_time([1, 2])) == [1, 2]  # outside of questions nothing is limited


def test_an_answer_of_more_noisy_numbers_than_are_computed_is_refused_at_no_cost() -> None:
    domains = {"k": list(range(1000)), "m": list(range(100)), "x": (0, 1)}
    table = pl.DataFrame({"p": [1], "k": [1], "m": [1], "x": [0.5]})
    with protect(table, domains=domains) as s:
        before = s.budget.spent
        with pytest.raises(QueryRefused):
            s.sql("SELECT k, m, MEDIAN(x) AS a FROM t GROUP BY k, m").answer(epsilon=1)
        assert s.budget.spent == before
        assert "100,000" in str(s.sql("SELECT k, m, COUNT(*) AS n FROM t GROUP BY k, m").quote(epsilon=1).keys)


ENGINE = """
import sys
from giveortake.engines.duckdb.engine import DuckDBEngine
engine = DuckDBEngine(memory="100MB")
path = engine._scratch.path
(path / "rows").write_text("exact rows")
print(path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_a_folder_is_its_users_alone_and_gone_when_it_is_closed() -> None:
    folder = ScratchFolder()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in folder.path.iterdir())
    folder.remove()
    assert not folder.path.exists()


def test_the_rows_of_a_process_that_was_killed_are_removed_by_the_next_and_those_of_a_living_one_are_not() -> None:
    processes = [subprocess.Popen([sys.executable, "-c", ENGINE], stdin=PIPE, stdout=PIPE, text=True) for _ in range(2)]
    try:
        paths = [Path(process.stdout.readline().strip()) for process in processes if process.stdout is not None]
        assert all((path / "rows").is_file() for path in paths)
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        assert paths[0].exists()
        folder = ScratchFolder()
        assert [path.exists() for path in paths] == [False, True]
        folder.remove()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
