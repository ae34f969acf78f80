"""Counters: one charge for a horizon, steps that are kept, and a price that counts every row of a person."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.answers.terms import Caps
from giveortake.configuration import protection_arguments
from giveortake.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    InvalidParameter,
    LedgerMismatch,
    QueryFailed,
    QueryRefused,
)
from giveortake.mechanisms import Gaussian
from giveortake.mechanisms.prefix_sums import RunningCount, SquareRoot, running_count_sensitivity
from giveortake.session.session import mechanism_of
from statistics_of_draws import ALPHA

FIRST = dt.date(2024, 1, 1)
DOMAINS: dict[str, Any] = {"day": (FIRST, dt.date(2024, 12, 31))}


def _table(days: list[int], persons: list[int] | None = None) -> pl.DataFrame:
    listed = [FIRST + dt.timedelta(each) for each in days]
    return pl.DataFrame(
        {"id": persons or list(range(len(days))), "day": listed}, schema={"id": pl.Int64, "day": pl.Date}
    )


def _session(table: pl.DataFrame, ledger: str | None = None, **more: Any) -> gt.session.Session:
    said: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(10**9, "1e-6"), "domains": DOMAINS} | more
    return gt.protect({"visits": table}, **protection_arguments(said | ({} if ledger is None else {"ledger": ledger})))


def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gaussian, "noise", lambda _, size, __=None: np.zeros(size, dtype=np.int64))


def test_a_counter_goes_on_in_new_processes_and_versions_under_one_charge(tmp_path: Path) -> None:
    ledger = str(tmp_path / "visits.ledger")
    days = [0, 0, 0, 1, 3, 3]
    told, spent = [], []
    for today in range(4):
        with _session(_table([day for day in days if day <= today]), ledger, appended=True) as session:
            counter = session.counter("day", horizon=10).answer(mu=1000)
            told.append(counter.next())
            spent.append(str(session.budget.spent))
            assert [*counter.answers()["n"]] == [each.value for each in told]
            assert [*counter.answers()["day"]] == [each["day"][0] for each in told]
    assert [round(float(each.value)) for each in told] == [3, 4, 4, 6]  # type: ignore[arg-type]
    assert [each["day"][0] for each in told] == [FIRST + dt.timedelta(each) for each in range(4)]
    assert len(set(spent)) == 1
    with gt.ledger.open(ledger) as book:
        kinds = [entry.kind for entry in book.history()]
        assert kinds.count("reserved") == 1
        assert kinds.count("drawn") == 4
        assert book.verify().entries == len(kinds)


def test_a_crash_before_a_step_is_kept_costs_nothing_more_and_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = str(tmp_path / "visits.ledger")
    with _session(_table([0, 0]), ledger) as session, monkeypatch.context() as patch:
        counter = session.counter("day", horizon=5).answer(mu=1000)

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr("giveortake.ledger.reservations.keep", crash)
        with pytest.raises(KeyboardInterrupt):
            counter.next()
        spent = str(session.budget.spent)
        assert len(counter.answers()) == 0
    with _session(_table([0, 0]), ledger) as session:
        assert round(float(session.counter("day", horizon=5).answer(mu=1000).next().value)) == 2  # type: ignore[arg-type]
        assert str(session.budget.spent) == spent


def test_beyond_the_horizon_nothing_is_told() -> None:
    session = _session(_table([0, 1, 2]))
    counter = session.counter("day", horizon=2).answer(mu=1)
    counter.next()
    counter.next()
    spent = str(session.budget.spent)
    with pytest.raises(QueryRefused, match="horizon"):
        counter.next()
    assert len(counter.answers()) == 2
    assert str(session.budget.spent) == spent


def test_rows_that_come_late_never_count_and_decide_nothing(tmp_path: Path) -> None:
    ledger = str(tmp_path / "visits.ledger")
    with _session(_table([0, 0]), ledger) as session:
        session.counter("day", horizon=5).answer(mu=1000).next()
    with _session(
        _table([0, 0, 0, 0, 1]), ledger, appended=True
    ) as session:  # two rows come late for a day that was answered
        counter = session.counter("day", horizon=5).answer(mu=1000)
        assert round(float(counter.next().value)) == 3  # type: ignore[arg-type]
        assert [round(each) for each in counter.answers().to_dict()["n"]] == [2, 3]  # type: ignore[arg-type]
    with gt.ledger.open(ledger) as book:
        assert "failed" not in [entry.kind for entry in book.history()]


def test_a_counter_goes_on_with_another_table_only_by_the_custodians_word(tmp_path: Path) -> None:
    """Of a table that holds today's rows alone, a person with one row each day would count on every day."""
    ledger, said = str(tmp_path / "visits.ledger"), {"unit": "id", "rows_per_person": 1}
    with _session(_table([0, 0], [1, 2]), ledger, **said) as session:
        counter = session.counter("day", horizon=5).answer(mu=1000)
        counter.next()
        counter.next()  # the same table
    with _session(_table([2], [1]), ledger, **said) as session:
        counter = session.counter("day", horizon=5).answer(mu=1000)
        for _ in range(2):
            with pytest.raises(QueryRefused):
                counter.next()
        assert len(counter.answers()) == 2
    with gt.ledger.open(ledger) as book:
        assert [entry.kind for entry in book.history()].count("drawn") == 2
    with _session(_table([0, 0, 2], [1, 2, 3]), ledger, appended=True, **said) as session:
        assert round(float(session.counter("day", horizon=5).answer(mu=1000).next().value)) == 3  # type: ignore[arg-type]


def test_a_counter_that_is_answered_twice_under_any_keys_is_one_counter_in_all_sessions(tmp_path: Path) -> None:
    ledger = str(tmp_path / "visits.ledger")
    with _session(_table([0, 1, 1]), ledger) as one, _session(_table([0, 1, 1]), ledger) as other:
        counters = [
            session.counter("day", horizon=6).answer(mu=1, key=key, confidence=confidence)
            for session in (one, other)
            for key, confidence in ((None, "0.9"), ("a key", "0.9"), ("another", "0.99"))
        ]
        told = [counter.next() for counter in counters]
        assert [answer["day"][0] for answer in told] == [FIRST + dt.timedelta(period) for period in range(6)]
        for counter in counters:
            assert [*counter.answers()["n"]] == [answer.value for answer in told]
            with pytest.raises(QueryRefused, match="horizon"):
                counter.next()
        entries = list(one.history())
    assert [entry.kind for entry in entries].count("reserved") == 1
    drawn = [entry.content for entry in entries if entry.kind == "drawn"]
    assert [draw["place"] for draw in drawn] == list(range(6))  # each pad is used once
    assert len({draw["drawn"]["under_pad"] for draw in drawn}) == 6


def test_a_session_of_an_older_version_does_not_go_on_after_a_newer_one(tmp_path: Path) -> None:
    """Rows that were added are not there in it, so that one person could count once in each of several versions."""
    ledger, said = str(tmp_path / "visits.ledger"), {"unit": "id", "rows_per_person": 1, "appended": True}
    with (
        _session(_table([1], [1]), ledger, **said) as older,
        _session(_table([1, 0], [1, 1]), ledger, **said) as newer,
    ):
        with pytest.raises(LedgerMismatch):
            older.counter("day", horizon=5).answer(mu=1000)  # nothing new is charged about an older version
        counters = [each.counter("day", horizon=5).answer(mu=1000) for each in (newer, older)][::-1]
        assert round(float(counters[1].next().value)) == 1  # type: ignore[arg-type]
        with pytest.raises(QueryRefused):
            counters[0].next()
        assert len(counters[0].answers()) == 1
        assert round(float(counters[1].next().value)) == 1  # type: ignore[arg-type]
    with gt.ledger.open(ledger) as book:
        assert [entry.kind for entry in book.history()].count("drawn") == 2


def test_failures_of_steps_are_counted_and_then_stop_the_asker(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session(_table([0, 1]))
    counter, mechanism = session.counter("day", horizon=5).answer(mu=1), mechanism_of(session)
    counter.next()

    def full(*_: object) -> None:
        raise QueryFailed("out of memory")

    with monkeypatch.context() as broken:
        broken.setattr(type(mechanism.engine), "tally", full)
        for expected in (1, 3):  # executed again, and failed again
            with pytest.raises(QueryFailed):
                counter.next()
            assert [each.failed for each in mechanism.ledger.failures()] == [expected]
    with pytest.raises(AllowanceExceeded):
        counter.next()
    mechanism.ledger.reset_failures(*mechanism.ledger.levels()[:1], reason="looked")
    assert counter.next()["day"][0] == FIRST + dt.timedelta(1)


def test_with_a_pace_a_step_that_was_ended_is_begun_again_on_a_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may have decided when it ended: the entry that says that it is executed once more does not tell."""
    session = _session(_table([0, 1]))
    counter, mechanism = session.counter("day", horizon=5).answer(mu=1), mechanism_of(session)

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(type(mechanism.engine), "tally", end)
        with pytest.raises(KeyboardInterrupt):
            counter.next()
    seen: list[int] = []

    def written() -> int:
        return [entry.kind for entry in mechanism.ledger.history()].count("repeated")

    paced: Any = SimpleNamespace(begin=lambda: None, wait=lambda since=None: seen.append(written()))
    mechanism.ledger.pace = paced
    counter.next()
    assert seen[0] == 0
    assert written() == 1


def test_the_ledger_does_not_tell_what_was_counted(tmp_path: Path) -> None:
    """Of two ledgers that count the same rows nothing is the same, and a foreign secret reads nothing."""
    written = []
    for name in ("one", "two"):
        ledger = str(tmp_path / f"{name}.ledger")
        with _session(_table([0, 0, 1]), ledger) as session:
            counter = session.counter("day", horizon=5).answer(mu=1000)
            counter.next()
            counter.next()
        with gt.ledger.open(ledger) as book:
            drawn = [entry.content["drawn"]["under_pad"] for entry in book.history() if entry.kind == "drawn"]
            assert all(int(each) > 2**200 for each in drawn)
            written += drawn
    assert len(set(written)) == 4
    noise = RunningCount.calibrated(5, Fraction(1000), 1, "add-remove")
    with pytest.raises(LedgerMismatch, match="another one"):
        noise.next(np.array([1]), [int(each) for each in written[:1]], [7, 8])


def test_of_a_person_the_first_rows_in_time_count_and_later_ones_decide_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _quiet(monkeypatch)
    days, persons = [0, 1, 2, 2, 3, 3], [1, 1, 1, 1, 1, 2]
    for most, expected in [(1, [1, 1, 1, 2]), (2, [1, 2, 2, 3]), (4, [1, 2, 4, 5])]:
        session = _session(_table(days, persons), unit="id", rows_per_person=most)
        counter = session.counter("day", horizon=4).answer(mu=1)
        assert [round(float(counter.next().value)) for _ in range(4)] == expected  # type: ignore[arg-type]


def test_whole_numbers_and_times_are_periods_too(monkeypatch: pytest.MonkeyPatch) -> None:
    _quiet(monkeypatch)
    table = pl.DataFrame({"week": [5, 5, 6, 8], "at": [dt.datetime(2024, 1, 1, hour) for hour in (1, 5, 9, 23)]})
    domains = {"week": (5, 52), "at": ("2024-01-01", "2024-01-31")}
    session = gt.protect({"t": table}, unit=gt.ROW, budget=gt.ZCDP(10), domains=domains)
    weeks = session.counter("week", horizon=4).answer(rho=1)
    assert [round(float(weeks.next().value)) for _ in range(4)] == [2, 3, 3, 4]  # type: ignore[arg-type]
    assert round(float(session.counter("at", horizon=2).answer(rho=1).next().value)) == 4  # type: ignore[arg-type]


def test_the_price_is_the_farthest_that_any_rows_move_all_steps() -> None:
    horizon = 6
    matrix = SquareRoot(horizon).transform(np.eye(horizon, dtype=np.int64)).T
    for rows in (1, 2, 3):
        farthest = max(
            math.sqrt(float((matrix[:, list(periods)].sum(axis=1) ** 2).sum()))
            for periods in itertools.product(range(horizon), repeat=rows)
        )
        assert farthest == pytest.approx(float(running_count_sensitivity(horizon, rows, "add-remove")), rel=1e-9)
        assert (
            math.sqrt(rows) * float(running_count_sensitivity(horizon, 1, "add-remove")) < farthest or rows == 1
        )  # √m is false


def test_rows_of_consecutive_days_cost_nearly_as_much_as_rows_of_one_day() -> None:
    matrix = SquareRoot(365).transform(np.eye(365, dtype=np.int64)).T
    longest = float(SquareRoot(365).l2)
    costs = [math.sqrt(float((matrix[:, :days].sum(axis=1) ** 2).sum())) / longest for days in (2, 4, 16)]
    assert [round(each, 1) for each in costs] == [1.9, 3.6, 12.9]


def test_intervals_hold_and_are_known_before_a_row_is_read() -> None:
    counts = [3, 0, 5, 1, 2, 2, 0, 4]
    noise = RunningCount.calibrated(8, Fraction(1, 2), 1, "add-remove")
    counter = _session(_table([0])).counter("day", horizon=8).answer(mu="1/2", confidence="0.9")
    runs, missed = 400, 0
    for _ in range(runs):
        released = [noise.release(np.array(counts[: place + 1])) for place in range(8)]
        total = float(SquareRoot(8).running_totals(np.array([released], dtype=float))[0, -1])
        missed += abs(total - sum(counts)) > counter.margin(8)
    slack = math.sqrt(math.log(1 / ALPHA) / (2 * runs))
    assert missed / runs < 0.1 + slack
    assert missed > 0


def test_the_square_root_is_far_better_than_noise_on_every_day() -> None:
    counter = _session(_table([0])).counter("day", horizon=365).answer(mu=1)
    alone = 1.96 * math.sqrt(365)
    assert counter.margin(365) < alone / 6


def test_what_cannot_be_counted_is_refused_before_the_charge() -> None:
    session = _session(_table([0]).with_columns(x=pl.lit(1.5), free=pl.lit(3)), budget=gt.ZCDP(1))
    for column, words in [("x", "periods are days"), ("free", "first period"), ("nothing", "no column")]:
        with pytest.raises(QueryRefused, match=words):
            session.counter(column, horizon=3).answer(rho="1/10")
    wrong: list[tuple[int, dict[str, Any], str]] = [
        (0, {"rho": "1/10"}, "horizon"),
        (10**6, {"rho": "1/10"}, "horizon"),
        (3, {"epsilon": 1}, "epsilon"),
        (3, {"rho": "1/10", "n": 5}, "n"),
    ]
    for horizon, terms, name in wrong:
        with pytest.raises(InvalidParameter) as refused:
            session.counter("day", horizon=horizon).answer(**terms)
        assert refused.value.name == name
    parts = _session(_table([0]), domains={**DOMAINS, "id": [0, 1]}).partition("id")
    with pytest.raises(QueryRefused, match="part of"):
        parts[0].counter("day", horizon=3).answer(rho="1/10")
    with pytest.raises(QueryRefused):
        _session(_table([0]), unit="id").counter("day", horizon=3).answer(rho="1/10")
    with pytest.raises(BudgetExceeded):
        session.counter("day", horizon=3).answer(rho=2).next()
    assert session.budget.spent == 0


def test_a_margin_is_told_for_the_periods_of_the_horizon_alone() -> None:
    counter = _session(_table([0])).counter("day", horizon=8).answer(mu=1)
    for period in (0, -1, 9):
        with pytest.raises(InvalidParameter):
            counter.margin(period)


def test_a_quote_charges_nothing_reads_no_row_and_says_the_margin_of_every_period(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = _table([0, 1, 1], [1, 1, 2])
    session = _session(table, unit="id", rows_per_person=2, budget=gt.ApproxDP(2, "1e-6"))
    with monkeypatch.context() as unread:
        unread.setattr(type(mechanism_of(session).engine), "tally", lambda *_: pytest.fail("a row was read"))
        wanted = session.counter("day", horizon=60)
        quote = wanted.quote(rho="1/50")
        assert not quote.paid
        assert not any(entry.kind == "reserved" for entry in session.history())
        counter = wanted.answer(rho="1/50")
        assert [entry.kind for entry in session.history()].count("reserved") == 1
        assert str(quote.cost) == str(counter.cost)
        assert {line["periods"]: line["margin"] for line in quote.lines} == {
            period: counter.margin(period) for period in (1, 7, 30, 60)
        }
    assert quote.margins == {"n": counter.margin(60)}
    assert counter.margin(60) == max(counter.margin(period) for period in range(1, 61)) < quote.facts["alone"] / 2
    weights, sigma = SquareRoot(17).last_weights(), counter._priced.measurement.noise.sigma
    assert counter.margin(17) == pytest.approx(1.96 * float(sigma) * math.sqrt((weights**2).sum()), rel=1e-3)
    assert all(fact in str(quote) for fact in ("ρ = 0.02", "60", "2024-01-01", "2024-02-29", "22.8 %"))
    assert json.loads(quote.to_json())["facts"]["horizon"] == 60
    first = counter.next()
    assert first.caps == Caps(rows_per_person=2)
    assert (first["n"].high or [0])[0] - (first["n"].values[0]) == pytest.approx(counter.margin(1))  # type: ignore[operator]
    assert wanted.quote(rho="1/50").paid
    assert "2024-01-02" in repr(counter)
    assert not wanted.quote(rho=9).admitted


def test_everything_that_was_told_is_one_table_and_none_before_the_first() -> None:
    session = _session(_table([0, 1, 1, 3]))
    counter = session.counter("day", horizon=3).answer(mu=1000)
    assert counter.answers().to_dict() == {"day": [], "n": [], "n_low": [], "n_high": []}
    told = [counter.next() for _ in range(3)]
    table = counter.answers()
    assert [row["day"] for row in table.rows()] == [FIRST + dt.timedelta(each) for each in range(3)]
    assert table.to_dict()["n_low"] == [each.to_dict()["n_low"][0] for each in told]
    session.close()
    assert "closed" in repr(counter)


def test_a_horizon_beyond_what_is_declared_is_refused_before_the_charge() -> None:
    session = _session(_table([0]))
    with pytest.raises(InvalidParameter, match="366"):
        session.counter("day", horizon=367).answer(rho=1)
    assert "2024-12-31" in session.counter("day", horizon=366).quote(rho=1).title
    weeks = gt.protect({"t": pl.DataFrame({"week": [5]})}, unit=gt.ROW, budget=gt.ZCDP(1), domains={"week": (5, 52)})
    with pytest.raises(InvalidParameter, match="beyond 52"):
        weeks.counter("week", horizon=49).answer(rho="1/10")


def test_words_that_are_missing_are_named() -> None:
    session = _session(_table([0]), unit="id")
    asked: Any = session.counter
    with pytest.raises(TypeError, match="horizon"):
        asked("day")
    for words, name in [({}, "epsilon"), ({"epsilon": 1}, "epsilon"), ({"roh": 1}, "roh")]:
        with pytest.raises(InvalidParameter) as refused:
            asked("day", horizon=3).answer(rows_per_person=1, **words)
        assert refused.value.name == name
    with pytest.raises(QueryRefused, match="rows_per_person"):
        asked("day", horizon=3).answer(rho=1)
    with pytest.raises(QueryRefused, match="rows_per_person"):
        session.workload(gt.workload.ranges("day")).quote(rho=1)
