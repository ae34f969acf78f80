"""Mistakes that synthesisers are known for, planted one by one: what the tests look at tells each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.session.session import Session, mechanism_of
from giveortake.synth import rounds
from giveortake.synth.maximum_likelihood import released_total

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

ROWS = 900
DOMAINS: dict[str, Any] = {"a": ["x", "y", "z"], "b": ["u", "v"]}
ASKED: dict[str, Any] = {"columns": ["a", "b"], "epsilon": 2, "delta": "1e-6"}


def _frame() -> pl.DataFrame:
    """Nobody is z."""
    return pl.DataFrame({"a": ["x", "x", "y"] * (ROWS // 3), "b": ["u", "u", "v"] * (ROWS // 3)})


def _session(frame: Any = None, epsilon: int = 2) -> Session:
    frame = _frame() if frame is None else frame
    return gt.protect({"t": frame}, unit=gt.ROW, budget=gt.ApproxDP(epsilon, "1e-6"), domains=DOMAINS)


def _follows_from_releases(made: gt.synth.SyntheticTable) -> bool:
    """Whether the number of rows and all values are what releases and declarations say."""
    listed = [each.categories for each in made.model.columns]
    return len(made) == round(released_total(made.measured)) and listed == [("x", "y", "z"), ("u", "v")]


def test_what_is_made_follows_from_releases_and_declarations() -> None:
    with _session() as session:
        assert _follows_from_releases(gt.synth.synthesize(session, **ASKED))


def test_rows_that_are_read_again_after_the_run_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def peeks(session: Session) -> None:
        with monkeypatch.context() as watched:
            watched.setattr(type(mechanism_of(session).engine), "tally", lambda *_: pytest.fail("rows were read"))
            gt.synth.synthesize(session, **ASKED).sample(10)

    with _session() as session:
        gt.synth.synthesize(session, **ASKED)
        peeks(session)
        fits, engine = vars(rounds)["fit"], mechanism_of(session).engine
        monkeypatch.setattr(rounds, "fit", lambda *said, **more: (engine.tally(None), fits(*said, **more))[1])  # type: ignore[arg-type]
        with pytest.raises(pytest.fail.Exception):
            peeks(session)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_tables_are_counted_where_they_are_and_the_rows_that_are_made_show_what_was_counted(
    name: str, request: pytest.FixtureRequest
) -> None:
    with _session(place(name, request)("t", _frame()), epsilon=200) as session:
        told: list[tuple[int, int]] = []
        made = gt.synth.synthesize(
            session, **ASKED | {"epsilon": 200}, progress=lambda done, planned: told.append((done, planned))
        )
        assert told == sorted(told)  # a bar of rounds, on a terminal
        assert told[-1][0] == told[-1][1] > 0
        assert len([entry for entry in session.history() if entry.kind == "reserved"]) == 1
    assert len(made) == pytest.approx(ROWS, abs=5)
    assert np.abs(made.model.counts("a", "b") - [[600, 0], [0, 300], [0, 0]]).max() < 5
