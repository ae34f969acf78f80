"""Private multiplicative weights: adaptively chosen counts behind the sparse vector technique."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import AllowanceExceeded, InvalidParameter, MechanismSpent, QueryFailed, QueryRefused
from giveortake.ledger import Ledger
from giveortake.mechanisms import AboveThreshold, Gaussian, Sensitive
from giveortake.mechanisms.selection import NoisyCount, SparseVectorCheck
from giveortake.privacy import events
from giveortake.session.runs import Counted, Watch
from giveortake.session.session import Session, mechanism_of

ROWS = 40_000
DOMAINS: dict[str, Any] = {"a": [0, 1, 2, 3], "b": ["x", "y"], "c": [False, True]}
ASKED: dict[str, Any] = {"columns": ["a", "b", "c"], "epsilon": 8, "delta": "1e-6", "accuracy": "1/5", "queries": 50}


def _frame() -> pl.DataFrame:
    generator = np.random.default_rng(1)
    a = generator.choice(4, ROWS, p=[0.85, 0.05, 0.05, 0.05])
    return pl.DataFrame({"a": a, "b": np.where(a == 0, "x", "y"), "c": generator.random(ROWS) < 0.5})


def _session(**more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(8, "1e-6"), "domains": DOMAINS, "table": "t"}
    return gt.protect(_frame(), **usual | more)


@pytest.fixture
def session() -> Iterator[Session]:
    with _session() as opened:
        yield opened


def test_answers_are_within_the_bound_of_the_theorem_and_cost_one_charge(session: Session) -> None:
    frame = _frame()
    with session.weights().answer(**ASKED) as weights:
        for a in (0, 1, 2, 3):
            for b in ("x", "y"):
                answer = weights.count({"a": a, "b": b})
                exact = len(frame.filter((pl.col("a") == a) & (pl.col("b") == b)))
                assert abs(float(answer.value) - exact) <= weights.plan.bound(ROWS * 1.01)  # type: ignore[arg-type]
        assert 1 <= weights.updates <= weights.plan.updates == math.ceil(4 * math.log(16) * 25)
        either = weights.count({"a": 0}, {"b": "x", "c": [True, False]})
        assert weights.count({"a": [0]}, {"b": "x", "c": [False, True]}) is either  # the same cells, said otherwise
    (charged,) = [entry for entry in session.history() if entry.kind == "reserved"]
    assert charged.content["event"] == events.ZCDP(weights.plan.rho).to_dict()


def test_a_query_that_was_far_is_measured_and_moves_the_weights(session: Session) -> None:
    with session.weights().answer(**ASKED) as weights:
        answer = weights.count({"a": 0})
        assert answer.notes[0].startswith("measured")
        assert float(answer.value) == pytest.approx(0.85 * ROWS, rel=0.05)  # type: ignore[arg-type]
        assert weights.updates == 1
        for _ in range(40):  # towards the count, a step at a time
            weights._shares[weights._cells_of("[[[0, [0]]]]")] *= 1.1
        assert weights.count({"a": 0}) is answer


def test_an_interrupted_run_goes_on_with_the_answers_it_gave(tmp_path: Path) -> None:
    more: dict[str, Any] = {"ledger": tmp_path / "t.ledger"}
    with _session(**more) as session:
        with suppress(KeyboardInterrupt), session.weights().answer(**ASKED) as weights:
            first = [weights.count({"a": a}).value for a in (0, 1, 2)]
            raise KeyboardInterrupt
        spent = dict(session.spent)
    with _session(**more) as session:
        with session.weights().answer(**ASKED) as again:
            assert [again.count({"a": a}).value for a in (0, 1, 2)] == first
            assert again.updates == weights.updates
            again.count({"b": "y"})  # which needs a watch of its own: the threshold's noise is gone with its process
            old, new = ([step for step in each._run.steps if isinstance(step, Watch)] for each in (weights, again))
            assert len(new) == len(old) + 1
        assert dict(session.spent) == spent
        with session.weights().answer(**ASKED) as closed:
            assert closed.count({"a": 0}).value == first[0]
            with pytest.raises(MechanismSpent, match="are closed"):
                closed.count({"c": True})


def _watches_and_alarms(session: Session) -> tuple[int, int]:
    drawn = [entry.content["drawn"] for entry in session.history() if entry.kind == "drawn"]
    return sum(each["do"] == "watch" for each in drawn), sum(bool(each.get("is_far")) for each in drawn)


def test_a_handle_that_was_interrupted_draws_nothing_more(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a step behind, and what it thinks it drew next would be older: every alarm needs a watch of its own."""
    weights = session.weights().answer(**ASKED)
    keep = Ledger.keep

    def keep_and_stop(ledger: Ledger, reservation: Any, place: int, drawn: Any) -> Any:
        keep(ledger, reservation, place, drawn)
        raise KeyboardInterrupt

    with monkeypatch.context() as late:
        late.setattr(Ledger, "keep", keep_and_stop)
        with pytest.raises(KeyboardInterrupt):
            weights.count({"a": 0})
    for a in (0, 1, 2):
        with pytest.raises(MechanismSpent, match="interrupted"):
            weights.count({"a": a})
    with suppress(RuntimeError), weights:
        raise RuntimeError("whoever asked gives up")
    with session.weights().answer(**ASKED) as again:
        for a in (0, 1, 2, 3):
            again.count({"a": a})
    watches, alarms = _watches_and_alarms(session)
    assert alarms <= watches


def test_a_handle_whose_turn_is_over_draws_nothing_more(session: Session) -> None:
    weights = session.weights().answer(**ASKED)
    known = weights.count({"a": 0})
    with suppress(RuntimeError), weights:
        raise RuntimeError("whoever asked gives up")
    with pytest.raises(MechanismSpent, match="ended"):
        weights.count({"a": 1})
    assert weights.count({"a": 0}, {"a": 0}) is known  # what was told is told again


def test_what_its_own_thread_has_open_is_refused_and_not_waited_for(session: Session) -> None:
    with session.weights().answer(**ASKED), pytest.raises(QueryRefused, match="already open"):
        session.weights().answer(**ASKED)
    session.weights().answer(**ASKED).close()


def test_failures_are_counted_wherever_they_come_and_then_stop_the_asker(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = mechanism_of(session).ledger

    def full(*_: object) -> None:
        raise QueryFailed("out of memory")

    with monkeypatch.context() as broken:
        broken.setattr(type(mechanism_of(session).engine), "tally", full)
        with pytest.raises(QueryFailed):
            session.weights().answer(**ASKED)
        with pytest.raises(QueryFailed):  # executed again, and failed again
            session.weights().answer(**ASKED)
        assert [each.failed for each in ledger.failures()] == [3]
    with pytest.raises(AllowanceExceeded):
        session.weights().answer(**ASKED)


def test_an_interruption_shows_no_variable_of_a_draw(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Gaussian, "noise", stopped)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        session.weights().answer(**ASKED)
    names = [frame.frame.code.name for frame in interrupted.traceback]
    assert "sealed" in names
    assert not {"release", "stopped", "draw"} & set(names)


def test_threads_draw_one_after_the_other(session: Session) -> None:
    with session.weights().answer(**ASKED) as weights, ThreadPoolExecutor(6) as threads:
        asked = [{"a": place % 4, "b": "xy"[place % 2], "c": place % 3 == 0} for place in range(24)]
        assert all(threads.map(lambda pattern: weights.count(pattern) is not None, asked))
    watches, alarms = _watches_and_alarms(session)
    assert alarms <= watches
    assert session.sql("SELECT COUNT(*) AS n FROM t").quote(epsilon="0.001") is not None  # the ledger is whole


def test_no_more_is_asked_than_was_planned_and_paid_for(session: Session) -> None:
    with session.weights().answer(**ASKED | {"queries": 2}) as weights:
        weights.count({"a": 1})
        weights.count({"a": 2})
        with pytest.raises(MechanismSpent):
            weights.count({"a": 3})
        assert weights._run.left >= 0


def test_far_queries_without_end_stop_at_what_was_paid(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparseVectorCheck, "release", lambda self, value, entropy=None: _far(self))
    asked = ASKED | {"accuracy": "9/10", "queries": 500}
    with session.weights().answer(**asked) as weights:
        names = [{"a": [0, 1, 2, 3][: n % 4 + 1], "b": "x" if n % 8 < 4 else "y", "c": n % 16 < 8} for n in range(16)]
        with pytest.raises(MechanismSpent):
            [weights.count(name) for name in names]
        assert weights.updates >= weights.plan.updates - 1
        assert weights._run.left >= 0
        assert len([step for step in weights._run.steps if isinstance(step, Counted)]) == weights.updates + 1


def _far(surprise: SparseVectorCheck) -> bool:
    surprise.guard._spent = True
    return True


def test_counts_and_distances_move_by_one_for_every_row() -> None:
    chosen, table = np.array([True, False, True]), np.array([5, 7, 1])
    counted = {
        NoisyCount(chosen, Gaussian("1/1000")).release(Sensitive(table + np.eye(3, dtype=int)[row])) for row in range(3)
    }
    assert counted == {6, 7}
    guard = AboveThreshold(threshold=100, epsilon=1000)
    assert not SparseVectorCheck(chosen, 6, guard).release(Sensitive(table))
    assert SparseVectorCheck(chosen, 600, guard).release(Sensitive(table))
    assert SparseVectorCheck(chosen, 600, guard).event() == guard.event()


def test_what_fails_reads_no_row_and_bad_words_are_refused_at_no_cost(session: Session) -> None:
    before = len(session.history())
    for said, name in (
        ({"columns": ["a", "z"]}, "columns"),
        ({"columns": []}, "columns"),
        ({"accuracy": 2}, "accuracy"),
        ({"queries": 0}, "queries"),
    ):
        with pytest.raises(InvalidParameter) as refused:
            session.weights().answer(**ASKED | said)
        assert refused.value.name == name
    assert len(session.history()) == before
    with session.weights().answer(**ASKED) as weights:
        for pattern in ({"z": 1}, {"a": 9}, {"c": 1}):
            with pytest.raises(InvalidParameter):
                weights.count(pattern)
        with pytest.raises(InvalidParameter):
            weights.count()
    assert mechanism_of(session).engine is not None
