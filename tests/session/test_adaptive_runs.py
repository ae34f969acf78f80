"""Runs under one charge: what they spend, what they keep, and what of them is exact."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake import codec
from giveortake.compile import Spend
from giveortake.configuration import protection_arguments
from giveortake.engines import KeyColumn
from giveortake.errors import BudgetExceeded, LedgerMismatch, MechanismSpent, QueryFailed, QueryRefused
from giveortake.mechanisms.selection import Candidate
from giveortake.plan import ColumnReference
from giveortake.privacy import events
from giveortake.session.kinds.runs import AdaptiveRun, Choice, NoisyTable, Run
from giveortake.session.session import Session, mechanism_of
from inside import begun

A = KeyColumn("a", ColumnReference("a"), (0, 1, 2))
B = KeyColumn("b", ColumnReference("b"), ("x", "y"))
RHO = Fraction(1, 50)


def _session(rows: int = 40, *, seed: int = 0, extra: dict[str, list[Any]] | None = None, **more: Any) -> Session:
    draw = random.Random(seed)  # noqa: S311 (data of a test)
    table: dict[str, list[Any]] = {
        "a": [draw.choice([0, 1, 2]) for _ in range(rows)],
        "b": [draw.choice("xy") for _ in range(rows)],
    }
    domains = {"a": [0, 1, 2], "b": ["x", "y"]}
    frame = pl.DataFrame({name: [*values, *(extra or {}).get(name, [])] for name, values in table.items()})
    if "persons" in more:
        frame = frame.with_columns(who=pl.Series(more.pop("persons")))
    usual: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ZCDP("1/10"), "domains": domains}
    return gt.protect(frame, **protection_arguments(usual | more))


def _run(session: Session, rho: Fraction = RHO, said: str = "a run") -> Run:
    mechanism = mechanism_of(session)
    relation = next(iter(mechanism.origin.relations.values()))
    return Run.of_tables(mechanism, relation, Spend(rho=rho), {"said": said}, "a run")


def _offers(count: int = 2) -> list[Candidate]:
    return [Candidate.from_counts(np.full(size, 7.0)) for size in (3, 6)[:count]]


@pytest.fixture
def session() -> Iterator[Session]:
    with _session() as opened:
        yield opened


def test_a_run_is_charged_once_as_what_it_is_and_keeps_what_it_draws(session: Session) -> None:
    with begun(_run(session)) as run:
        run.measure((A,), RHO / 4, residual=False)
        place = run.select([(A,), (A, B)], _offers(), RHO / 4)
        run.measure((A, B), RHO / 4, residual=True)
        run.settle()
    (reserved,) = [entry for entry in session.history() if entry.kind == "reserved"]
    assert reserved.content["event"] == codec.write(events.ZCDP(RHO))
    assert session.budget.spent == RHO
    assert [entry.kind for entry in session.history()][-4:] == ["drawn", "drawn", "drawn", "settled"]
    assert isinstance(run.steps[1], Choice)
    assert run.steps[1].names == (("a",), ("a", "b"))[place]


def test_whatever_a_run_asks_for_it_never_spends_more_than_was_charged() -> None:
    draw = random.Random(7)  # noqa: S311 (choices of a test)
    with _session(budget=gt.ZCDP(10)) as session:
        for number in range(40):
            rho = Fraction(draw.randint(1, 1000), 10**4)
            with begun(_run(session, rho, f"run {number}")) as run:
                for _ in range(draw.randint(1, 6)):
                    part = rho * Fraction(draw.randint(1, 700), 1000)
                    with suppress(BudgetExceeded):
                        _any_step(run, draw, part)
                spent = sum((cost for _, cost in run.charges()), Fraction(0))
                assert spent <= rho
                assert run.left == pytest.approx(rho - spent)
                with pytest.raises(BudgetExceeded):
                    run.measure((A,), run.left + rho / 100, residual=False)


def _any_step(run: AdaptiveRun, draw: random.Random, rho: Fraction) -> None:
    match draw.randint(0, 2):
        case 0:
            run.measure((A,), rho, residual=False)
        case 1:
            run.measure((A, B), rho, residual=True)
        case _:
            run.select([(A,), (A, B)], _offers(), rho)


def test_an_interrupted_run_stays_charged_and_goes_on_without_new_noise(tmp_path: Path) -> None:
    more: dict[str, Any] = {"ledger": tmp_path / "t.ledger", "name": "t"}
    with _session(**more) as session:
        with suppress(KeyboardInterrupt), begun(_run(session)) as run:
            first = run.measure((A,), RHO / 4, residual=False)
            run.select([(A,), (A, B)], _offers(), RHO / 4)
            raise KeyboardInterrupt
        assert session.budget.spent == RHO
        drawn = [step.names for step in run.steps]
    with _session(**more) as session, begun(_run(session)) as again:
        assert [step.names for step in again.steps] == drawn
        kept = again.steps[0]
        assert isinstance(kept, NoisyTable)
        assert np.array_equal(kept.steps, first.steps)
        assert session.budget.spent == RHO
        assert again.left == run.left
        again.settle()


def test_an_interrupted_run_does_not_go_on_with_other_rows(tmp_path: Path) -> None:
    more: dict[str, Any] = {"ledger": tmp_path / "t.ledger", "name": "t"}
    with _session(**more) as session, suppress(KeyboardInterrupt), begun(_run(session), "k") as run:
        run.measure((A,), RHO / 4, residual=False)
        raise KeyboardInterrupt
    with (
        _session(80, **more) as session,
        pytest.raises(LedgerMismatch),
        begun(_run(session), "k"),
    ):
        pass


def test_a_run_that_has_ended_reads_no_row_and_draws_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with begun(_run(session)) as run:
        first = run.measure((A,), RHO / 2, residual=False)
        run.settle()
    engine = mechanism_of(session).engine
    monkeypatch.setattr(type(engine), "tally", lambda *_: pytest.fail("rows were read"))
    with begun(_run(session)) as again:
        (kept,) = again.steps
        assert isinstance(kept, NoisyTable)
        assert np.array_equal(kept.steps, first.steps)
        with pytest.raises(MechanismSpent, match="has ended"):
            again.measure((A,), RHO / 4, residual=False)
    assert session.budget.spent == RHO


def test_what_fails_is_counted_and_tells_nothing_of_rows(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ValueError("row 17 holds 'Anna'")

    monkeypatch.setattr(type(mechanism_of(session).engine), "tally", fails)
    with pytest.raises(QueryFailed) as failed, begun(_run(session)) as run:
        run.measure((A,), RHO / 2, residual=False)
    assert "Anna" not in str(failed.value)
    assert failed.value.__context__ is None
    assert [entry.kind for entry in session.history()][-1] == "defect"
    assert session.budget.spent == RHO


def test_without_a_cap_on_the_rows_of_a_person_a_run_is_refused_at_no_cost() -> None:
    persons = [n % 9 for n in range(40)]
    with _session(persons=persons, unit="who") as session, pytest.raises(QueryRefused, match="any number"):
        _run(session)


def test_a_part_and_values_that_are_not_known_are_refused(session: Session) -> None:
    part = session.partition("b")["x"]
    with pytest.raises(QueryRefused, match="a part"):
        _run(part)
    with pytest.raises(QueryRefused, match="declared"):
        _run(session).require([(KeyColumn("a", ColumnReference("a"), (0, 0, 1)),)])


def test_a_run_that_its_thread_has_open_over_another_ledger_object_of_the_same_file_is_refused(tmp_path: Path) -> None:
    """Whoever waited for the turn would wait for themselves."""
    where = tmp_path / "people.ledger"
    with _session(ledger=where) as first, _session(ledger=where) as second:
        assert mechanism_of(first).ledger is not mechanism_of(second).ledger
        with begun(_run(first)) as run:
            with pytest.raises(QueryRefused, match="already open"), begun(_run(second)):
                pass
            run.measure([A], RHO / 2, residual=False)
        with begun(_run(second)) as again:
            assert len(again.steps) == 1
