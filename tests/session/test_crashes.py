"""What fails after the charge: it stays charged once, is answered once, and nothing of a row is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.errors import IdempotencyConflict, LedgerMismatch, QueryFailed
from giveortake.ledger import reservations
from giveortake.session import Session
from giveortake.session.storage import DrawnAnswer
from inside import engine_of, ledger_of
from small_session import COUNT, FOUND, charges_of, small_session


def test_a_failure_after_the_charge_keeps_it_and_a_retry_by_key_is_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = tmp_path / "people.ledger"
    with small_session(ledger=where) as session, monkeypatch.context() as broken:
        secret = "the row of a person"  # noqa: S105 (not a password)

        def fail(*_: object) -> None:
            raise RuntimeError(secret)

        broken.setattr(DuckDBEngine, "_tally", fail)
        with pytest.raises(RuntimeError):
            session.sql(COUNT).answer(epsilon=1, key="first")
        spent = session.budget.spent
        assert charges_of(session) == 1
        ledger_of(session).reset_failures(session.budget.status(), reason="the mistake is mended")
    answers = []
    for _ in range(2):
        with small_session(ledger=where) as session:
            answers.append(session.sql(COUNT).answer(epsilon=1, key="first").to_dict())
            assert session.budget.spent == spent
            assert charges_of(session) == 1
            with pytest.raises(IdempotencyConflict):
                session.sql(COUNT).answer(epsilon=2, key="first")
    assert answers[0] == answers[1]


def test_what_the_engine_says_when_it_fails_is_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with small_session() as session:
        monkeypatch.setattr(
            "giveortake.engines.duckdb.engine.DuckDBEngine._tally_statement",
            lambda *_: "SELECT CAST(r AS INTEGER) FROM " + engine_of(session)._sources["data"],
        )
        with pytest.raises(QueryFailed) as caught:
            session.sql(COUNT).answer(epsilon=1)
        assert "north" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


def _variables(trace: TracebackType | None) -> list[object]:
    """The variables of all frames of the package in a traceback, and those that its functions hold."""
    variables: list[object] = []
    while trace is not None:
        if "giveortake" in str(trace.tb_frame.f_globals.get("__name__")):
            variables += trace.tb_frame.f_locals.values()
        trace = trace.tb_next
    for variable in list(variables):
        variables += [cell.cell_contents for cell in getattr(variable, "__closure__", None) or ()]
    return variables


def _packed(thing: object) -> Iterator[str]:
    """All noisy integers in lists, documents and draws, as they are stored."""
    if isinstance(thing, DrawnAnswer):
        thing = thing.stored
    if isinstance(thing, dict):
        if "int64" in thing:
            yield thing["int64"]
        thing = list(thing.values())
    for part in thing if isinstance(thing, list | tuple) else ():
        yield from _packed(part)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.sql(COUNT).answer(epsilon=1),
        lambda s: s.batch([s.sql(COUNT), s.sql("SELECT COUNT(*) AS n FROM data")]).answer(epsilon=1),
        lambda s: s.sql(FOUND).answer(epsilon=1, delta="1e-6"),
        lambda s: s.workload(gt.workload.marginals(["r"])).answer(rho=1, rows_per_person=2),
    ],
)
def test_an_interruption_while_an_answer_is_stored_leaves_no_draw_in_its_trace(
    ask: Callable[[Session], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was drawn and is not kept is drawn again: both draws together would tell more than was paid for."""

    def stopped(_transaction: object, _number: int, answer: object) -> None:
        drawn.append(answer)
        raise KeyboardInterrupt

    drawn: list[object] = []
    with small_session() as session:
        with monkeypatch.context() as interrupted:
            interrupted.setattr(reservations, "settle", stopped)
            with pytest.raises(KeyboardInterrupt) as found:
                ask(session)
        assert drawn
        names = [frame.frame.code.name for frame in found.traceback]
        assert names[-1] == "sealed"
        assert not {"draw", "stopped"} & set(names)
        assert found.value.__context__ is None
        assert not set(_packed(drawn)) & set(_packed(_variables(found.value.__traceback__)))
        assert set(_packed(drawn))
        assert charges_of(session) == 1
        assert ask(session) is not None  # it is drawn once more, and paid for once
        assert charges_of(session) == 1


@pytest.mark.parametrize("version", [1, 2])
def test_a_charge_without_an_answer_is_drawn_from_the_version_that_was_charged_for(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One key is one answer: of the rows that were charged for, and of no later ones."""

    def opened(rows: int) -> Session:
        table = pl.DataFrame({"p": range(rows)})
        said: dict[str, Any] = {"unit": "p", "rows_per_person": 1, "budget": gt.PureDP(100)}
        return gt.protect(table, name="t", ledger=tmp_path / "t.ledger", **said)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    asked = "SELECT COUNT(*) AS n FROM t"
    with opened(1_000) as session, monkeypatch.context() as interrupted:
        interrupted.setattr(reservations, "settle", stopped)
        with pytest.raises(KeyboardInterrupt):
            session.sql(asked).answer(key="k", epsilon=10)
    with opened(1_000 * version) as session:
        assert session.describe().version == str(version)
        if version == 1:
            first = session.sql(asked).answer(key="k", epsilon=10)
        else:
            with pytest.raises(LedgerMismatch):
                session.sql(asked).answer(key="k", epsilon=10)
            first = session.sql(asked).answer(key="anew", epsilon=10)
        assert first.value == pytest.approx(1_000 * version, abs=50)
        assert session.budget.spent == 10 * version
    with opened(5_000) as session:
        again = session.sql(asked).answer(key="k" if version == 1 else "anew", epsilon=10)
        assert again.value == first.value
        assert any(f"'{version}'" in note and f"'{version + 1}'" in note for note in again.notes)
        assert session.sql(asked).answer(epsilon=10).value == pytest.approx(5_000, abs=50)
