"""Private multiplicative weights: adaptively chosen counts behind the sparse vector technique."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake import codec
from giveortake.configuration import protection_arguments
from giveortake.errors import (
    AllowanceExceeded,
    InvalidParameter,
    LedgerMismatch,
    MechanismSpent,
    QueryFailed,
    QueryRefused,
)
from giveortake.ledger import Ledger
from giveortake.mechanisms import Gaussian, Sensitive
from giveortake.mechanisms.selection import NoisyCount, PaddedThreshold, SparseVectorCheck
from giveortake.privacy import events
from giveortake.session.kinds.weights import Weights, WeightsState
from giveortake.session.session import Session, mechanism_of

ROWS = 40_000
DOMAINS: dict[str, Any] = {"a": [0, 1, 2, 3], "b": ["x", "y"], "c": [False, True]}
SPEND: dict[str, Any] = {"epsilon": 8, "delta": "1e-6"}
PATTERNS: list[dict[str, Any]] = [{"a": 0}, {"c": True}, {"a": 1}, {"b": "x"}, {"a": 2, "c": False}, {"b": "y"}]


def _frame(rows: int = ROWS) -> pl.DataFrame:
    generator = np.random.default_rng(1)
    a = generator.choice(4, rows, p=[0.85, 0.05, 0.05, 0.05])
    return pl.DataFrame({"a": a, "b": np.where(a == 0, "x", "y"), "c": generator.random(rows) < 0.5})


def _session(table: Any = None, **more: Any) -> Session:
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(8, "1e-6"), "domains": DOMAINS, "name": "t"}
    return gt.protect(_frame() if table is None else table, **protection_arguments(usual | more))


def _weights(session: Session, *, key: str | None = None, **stated: Any) -> Weights:
    asked: dict[str, Any] = {"columns": ["a", "b", "c"], "accuracy": "1/5", "queries": 50} | stated
    return session.weights(**asked).answer(**SPEND, key=key)


@pytest.fixture
def session() -> Iterator[Session]:
    with _session() as opened:
        yield opened


def _left(weights: Weights) -> Fraction:
    """What the inner filter has left of the charge."""
    with weights._mechanism.steps(weights._priced, weights._terms, None) as steps:
        left: Fraction = weights._bound.adaptive_run(weights._priced.measurement, steps).left
        return left


def _drawn(session: Session) -> list[Any]:
    return [entry.content["drawn"] for entry in session.history() if entry.kind == "drawn"]


def _watches_and_alarms(session: Session) -> tuple[int, int]:
    drawn = _drawn(session)
    return sum(step["do"] == "watch" for step in drawn), sum(bool(step.get("is_far")) for step in drawn)


def _require_one_sound_run(session: Session) -> None:
    """One charge; one sequence of steps; every comparison has a watch of its own that no alarm has ended."""
    assert [entry.kind for entry in session.history()].count("reserved") == 1
    places = [entry.content["place"] for entry in session.history() if entry.kind == "drawn"]
    assert places == list(range(len(places)))
    watching = False
    for step in _drawn(session):
        if step["do"] == "watch":
            assert not watching
            watching = True
        if step["do"] == "compare":
            assert watching
            watching = not step["is_far"]
    assert _left(_weights(session)) >= 0


# -- answers ----------------------------------------------------------------------------------------------------------


def test_answers_are_within_the_bound_of_the_theorem_and_cost_one_charge(session: Session) -> None:
    frame, weights = _frame(), _weights(session)
    for a in (0, 1, 2, 3):
        for b in ("x", "y"):
            answer = weights.count({"a": a, "b": b})
            exact = len(frame.filter((pl.col("a") == a) & (pl.col("b") == b)))
            assert abs(float(answer.value) - exact) <= weights.plan.bound(ROWS * 1.01)  # type: ignore[arg-type]
    assert 1 <= weights.updates <= weights.plan.updates == math.ceil(4 * math.log(16) * 25)
    either = weights.count({"a": 0}, {"b": "x", "c": [True, False]})
    same = weights.count({"a": [0]}, {"b": "x", "c": [False, True]})  # the same cells, said otherwise
    assert same.to_dict() == either.to_dict()
    (charged,) = [entry for entry in session.history() if entry.kind == "reserved"]
    assert charged.content["event"] == codec.write(events.ZCDP(weights.plan.rho))
    assert len(weights.answers()) == len(session.release(weights.release_id)) == 9


def test_a_query_that_was_far_is_measured_and_moves_the_weights(session: Session) -> None:
    weights = _weights(session)
    answer = weights.count({"a": 0})
    assert answer.notes[0].startswith("measured")
    assert float(answer.value) == pytest.approx(0.85 * ROWS, rel=0.05)  # type: ignore[arg-type]
    assert weights.updates == 1
    assert weights.count({"a": 0}).to_dict() == answer.to_dict()


def test_a_quote_says_what_is_bought_and_whether_it_was_paid(session: Session) -> None:
    asked = session.weights(["a", "b", "c"], accuracy="1/5", queries=50)
    quote = asked.quote(**SPEND)
    assert (quote.kind, quote.paid, quote.admitted) == ("weights", False, True)
    plan = asked.answer(**SPEND).plan
    assert (quote.facts["updates"], quote.facts["queries"]) == (plan.updates, 50)
    assert asked.quote(**SPEND).paid


# -- one run, wherever it goes on -------------------------------------------------------------------------------------


def test_weights_go_on_in_other_sessions_with_the_answers_and_the_threshold_that_they_have(tmp_path: Path) -> None:
    more: dict[str, Any] = {"ledger": tmp_path / "t.ledger"}
    with _session(**more) as session:
        weights = _weights(session)
        first = [weights.count(pattern).value for pattern in PATTERNS[:2]]
        spent = dict(session.budget.spent)
        open_watch = _drawn(session)[-2:]
        assert [step["do"] for step in open_watch] == ["watch", "compare"]
        assert not open_watch[1]["is_far"]
    with _session(**more) as session:
        again = _weights(session, key="another")
        assert [again.count(pattern).value for pattern in PATTERNS[:2]] == first
        assert again.updates == weights.updates
        before = _watches_and_alarms(session)[0]
        again.count({"c": False})
        assert _watches_and_alarms(session)[0] == before  # it is compared with the threshold that is there
        assert dict(session.budget.spent) == spent
        _require_one_sound_run(session)


def test_two_who_have_the_same_weights_see_each_others_answers_and_one_threshold(tmp_path: Path) -> None:
    more: dict[str, Any] = {"ledger": tmp_path / "t.ledger"}
    with _session(**more) as one_session, _session(**more) as other_session:
        assert mechanism_of(one_session).ledger is not mechanism_of(other_session).ledger
        one, other = _weights(one_session, key="one"), _weights(other_session, key="other")
        answers = [(one, other)[index % 2].count(pattern).value for index, pattern in enumerate(PATTERNS)]
        for weights in (one, other, _weights(one_session)):
            assert [weights.count(pattern).value for pattern in PATTERNS] == answers
        assert one.updates == other.updates
        _require_one_sound_run(one_session)


_COUNTING = """
import sys, json
import giveortake as gt
domains = {"a": [0, 1, 2, 3], "b": ["x", "y"], "c": [False, True]}
terms = {"unit": gt.ROW, "budget": gt.ApproxDP(8, "1e-6"), "domains": domains, "name": "t", "ledger": sys.argv[2]}
with gt.protect(sys.argv[1], **terms) as s:
    weights = s.weights(["a", "b", "c"], accuracy="1/5", queries=50).answer(epsilon=8, delta="1e-6")
    print(json.dumps([weights.count(pattern).value for pattern in json.loads(sys.argv[3])]))
"""


def test_two_processes_that_count_at_once_draw_one_sequence(tmp_path: Path) -> None:
    file, ledger = tmp_path / "t.parquet", tmp_path / "t.ledger"
    _frame().write_parquet(file)
    with _session(file, ledger=ledger) as session:  # registers the table
        orders = (PATTERNS, PATTERNS[::-1])
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", _COUNTING, file, ledger, json.dumps(patterns)], stdout=subprocess.PIPE
            )
            for patterns in orders
        ]
        one, other = (json.loads(process.communicate()[0]) for process in processes)
        assert one == other[::-1]
        _require_one_sound_run(session)
        assert "repeated" not in [entry.kind for entry in session.history()]


@all_cases("moment", [(name, index) for name in ("before", "after") for index in range(1, 8)])
def test_wherever_it_is_interrupted_the_same_run_goes_on(moment: tuple[str, int], tmp_path_factory: Any) -> None:
    """Between a watch and its comparison too: a new watch would be a new threshold, at a further cost."""
    name, last = moment
    keep, more = Ledger.keep, {"ledger": tmp_path_factory.mktemp("ledger") / "t.ledger"}

    def keep_and_stop(ledger: Ledger, reservation: Any, index: int, drawn: Any) -> Any:
        if name == "before" and index == last:
            raise KeyboardInterrupt
        stored = keep(ledger, reservation, index, drawn)
        if name == "after" and index == last:
            raise KeyboardInterrupt
        return stored

    told: dict[int, Any] = {}
    with _session(**more) as session, pytest.MonkeyPatch.context() as late:
        weights = _weights(session)
        late.setattr(Ledger, "keep", keep_and_stop)
        with pytest.raises(KeyboardInterrupt):
            told.update((index, weights.count(pattern).value) for index, pattern in enumerate(PATTERNS))
        kept = _drawn(session)
        assert len(kept) == last + (name == "after")
        late.setattr(Ledger, "keep", keep)
        told |= {index: weights.count(pattern).value for index, pattern in enumerate(PATTERNS[:3]) if index not in told}
    with _session(**more) as session:
        again = _weights(session)
        assert {index: again.count(PATTERNS[index]).value for index in told} == told
        assert _drawn(session)[: len(kept)] == kept
        assert [again.count(pattern).value for pattern in PATTERNS] == [
            _weights(session).count(pattern).value for pattern in PATTERNS
        ]
        _require_one_sound_run(session)


def test_weights_that_are_interrupted_while_they_move_move_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, take_up = _weights(session), WeightsState._take_up_step

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as late:
        late.setattr(WeightsState, "_take_up_step", stopped)
        with pytest.raises(KeyboardInterrupt):
            weights.count({"a": 0})
    assert WeightsState._take_up_step is take_up
    other = _weights(session)
    for pattern in PATTERNS:
        assert weights.count(pattern).value == other.count(pattern).value
    assert weights.updates == other.updates


def test_a_threshold_that_is_stored_tells_nothing_without_the_pad_and_is_never_read_with_another(
    tmp_path: Path,
) -> None:
    pads: list[int] = []
    for name in ("one", "two"):
        with _session(ledger=tmp_path / f"{name}.ledger") as session:
            _weights(session).count({"c": True})
            (watch,) = [step for step in _drawn(session) if step["do"] == "watch"]
            pads.append(int(watch["under_pad"]))
    assert all(pad > 2**200 for pad in pads)
    assert len(set(pads)) == 2
    with pytest.raises(LedgerMismatch, match="another one"):
        PaddedThreshold(8000, Fraction(1)).is_above(1, pads[0], Sensitive(7))


# -- versions of the table --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "mine"])
def test_another_version_of_the_table_is_another_charge_and_each_goes_on_with_its_own(
    key: str | None, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"ledger": tmp_path / "t.ledger", "budget": gt.ApproxDP(30, "1e-5"), "appended": True}
    with _session(**more) as older, _session(_frame(2 * ROWS), **more) as newer:
        assert (older.describe().version, newer.describe().version) == ("1", "2")
        with pytest.raises(LedgerMismatch):
            _weights(older, key=key)  # nothing new is charged about an older version
    with _session(**more) as older:
        old = _weights(older, key=key)
        counted = old.count({"a": 0}).value
        with _session(_frame(2 * ROWS), **more) as newer:
            new = _weights(newer, key=key)
            assert new.release_id != old.release_id
            assert float(new.count({"a": 0}).value) == pytest.approx(2 * float(counted), rel=0.1)  # type: ignore[arg-type]
            before = _drawn(newer)
            old.count({"c": True})  # its own table is still there, and its own charge
            assert old.count({"a": 0}).value == counted
            assert old.release_id == _weights(older, key=key).release_id
            assert len(_drawn(newer)) > len(before)
            reservations = {
                entry.number: entry.content["version"] for entry in newer.history() if entry.kind == "reserved"
            }
            assert len(reservations) == 2


def test_a_table_that_has_changed_under_its_session_is_not_counted(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    _frame().write_parquet(file)
    with _session(file, ledger=tmp_path / "t.ledger") as session:
        weights = _weights(session)
        first = weights.count({"a": 0})
        _frame(2 * ROWS).write_parquet(file)
        drawn = _drawn(session)
        with pytest.raises(LedgerMismatch):
            weights.count({"c": True})
        assert weights.count({"a": 0}).to_dict() == first.to_dict()  # what was told is told again
        assert _drawn(session) == drawn


def test_a_closed_session_draws_nothing_more() -> None:
    with _session() as session:
        weights = _weights(session)
    with pytest.raises(QueryRefused, match="closed"):
        weights.count({"a": 0})


# -- what ends it -----------------------------------------------------------------------------------------------------


def test_failures_are_counted_wherever_they_come_and_then_stop_the_asker(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = mechanism_of(session).ledger

    def full(*_: object) -> None:
        raise QueryFailed("out of memory")

    with monkeypatch.context() as broken:
        broken.setattr(type(mechanism_of(session).engine), "tally", full)
        with pytest.raises(QueryFailed):
            _weights(session)
        with pytest.raises(QueryFailed):  # executed again, and failed again
            _weights(session)
        assert [allowance.failed for allowance in ledger.failures()] == [3]
    with pytest.raises(AllowanceExceeded):
        _weights(session)


def test_an_interruption_shows_no_variable_of_a_draw(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Gaussian, "noise", stopped)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        _weights(session)
    names = [frame.frame.code.name for frame in interrupted.traceback]
    assert names[-1] == "sealed"
    assert not {"release", "stopped"} & set(names)


def test_threads_draw_one_after_the_other(session: Session) -> None:
    weights = _weights(session)
    with ThreadPoolExecutor(6) as threads:
        asked = [{"a": place % 4, "b": "xy"[place % 2], "c": place % 3 == 0} for place in range(24)]
        assert all(threads.map(lambda pattern: weights.count(pattern) is not None, asked))
    _require_one_sound_run(session)
    assert session.sql("SELECT COUNT(*) AS n FROM t").quote(epsilon="0.001") is not None  # the ledger is whole


def test_no_more_is_asked_than_was_planned_and_paid_for(session: Session) -> None:
    weights = _weights(session, queries=2)
    weights.count({"a": 1})
    weights.count({"a": 2})
    with pytest.raises(MechanismSpent):
        weights.count({"a": 3})
    assert _left(weights) >= 0


def test_far_queries_without_end_stop_at_what_was_paid(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparseVectorCheck, "release", lambda *_: True)
    weights = _weights(session, accuracy="9/10", queries=500)
    names = [{"a": [0, 1, 2, 3][: n % 4 + 1], "b": "x" if n % 8 < 4 else "y", "c": n % 16 < 8} for n in range(16)]
    with pytest.raises(MechanismSpent):
        [weights.count(name) for name in names]
    assert weights.updates == weights.plan.updates
    assert 0 <= _left(weights) < weights.plan.for_update
    counted = [step for step in _drawn(session) if step["do"] == "count"]
    assert len(counted) == weights.updates + 1
    assert len({step["sigma"] for step in counted[1:]}) == 1  # none with less than was planned for it


def test_counts_and_distances_move_by_one_for_every_row() -> None:
    chosen, table = np.array([True, False, True]), np.array([5, 7, 1])
    counted = {
        NoisyCount(chosen, Gaussian("1/1000")).release(Sensitive(table + np.eye(3, dtype=int)[row])) for row in range(3)
    }
    assert counted == {6, 7}
    guard, pad = PaddedThreshold(100, Fraction(1000)), Sensitive(2**255 + 3)
    under_pad = guard.drawn(pad)

    def check(expected: int) -> SparseVectorCheck:
        return SparseVectorCheck(chosen, expected, guard, under_pad, pad)

    assert not check(6).release(Sensitive(table))
    assert check(600).release(Sensitive(table))
    assert check(-600).release(Sensitive(table))
    assert check(600).event() == guard.event() == events.AboveThreshold(1000)
    for expected in (6 + 100, 6 - 100):  # at that distance, and one row nearer
        assert check(expected).release(Sensitive(table))
        nearer = table + (1 if expected > 0 else -1) * np.array([1, 0, 0])
        assert not check(expected).release(Sensitive(nearer))


def test_what_fails_reads_no_row_and_bad_words_are_refused_at_no_cost(session: Session) -> None:
    before = len(session.history())
    for stated, name in (
        ({"columns": ["a", "z"]}, "columns"),
        ({"columns": []}, "columns"),
        ({"accuracy": 2}, "accuracy"),
        ({"queries": 0}, "queries"),
    ):
        with pytest.raises(InvalidParameter) as refused:
            _weights(session, **stated)
        assert refused.value.name == name
    for spend in ({"epsilon": 1}, {**SPEND, "margin": 10}, {**SPEND, "rows_per_person": 2}):
        with pytest.raises(InvalidParameter):
            session.weights(["a"]).answer(**spend)
    assert len(session.history()) == before
    weights = _weights(session)
    for pattern in ({"z": 1}, {"a": 9}, {"c": 1}):
        with pytest.raises(InvalidParameter):
            weights.count(pattern)
    with pytest.raises(InvalidParameter):
        weights.count()
    assert len(_drawn(session)) == 1
