"""Checkpoints: a ledger opened from one is the ledger that is read whole."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from checkpointed_ledger import EVERY, ask, checkpoints, fill, told
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_places import Place, place

from giveortake.errors import GiveOrTakeError
from giveortake.ledger import Charge, Ledger, restore
from giveortake.ledger.chain.checkpoints import checkpoint_of
from giveortake.ledger.chain.entries import canonical
from giveortake.ledger.chain.state import State
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace, Pure
from tiers import tiered


def test_a_ledger_opened_from_a_checkpoint_is_the_one_that_is_read_whole(place: Place) -> None:
    with place.open(every=EVERY) as ledger:
        fill(ledger)
        expected = told(ledger)
        assert len(checkpoints(ledger)) > 3
        report = ledger.verify()
    with place.open(every=EVERY) as ledger:
        assert ledger.chain._state.hashes.base > 0  # it began at a checkpoint
        assert told(ledger) == expected
        assert ledger.verify() == report
    with place.open(read_only=True) as ledger:
        assert ledger.verify() == report
        assert (ledger.levels(), ledger.burn_down()) == (expected[2], expected[4])
    place.sql("DELETE FROM checkpoints")
    with place.open(every=10**9) as ledger:
        assert ledger.chain._state.hashes.base == 0
        assert told(ledger) == expected


def test_nothing_that_grows_with_charges_stays_in_memory(tmp_path: Path) -> None:
    with opened(str(tmp_path / "l"), every=EVERY) as ledger:
        fill(ledger, 40)
        ledger.levels()
        state = ledger.chain._state
        assert len(state._recent) <= EVERY
        assert len(state._settlements) <= EVERY
        assert len(state.entry_index._here) <= 4 * EVERY
        assert state.hashes.head - state.hashes.base <= EVERY + 3


def test_several_processes_go_on_from_each_others_checkpoints(place: Place) -> None:
    with place.open(every=EVERY) as first, place.open(every=EVERY) as second, place.open(every=10**9) as third:
        fill(first, 0)
        for number in range(8):
            ask((first, second)[number % 2], number)
            if number == 4:
                assert third.levels() == first.levels() == second.levels()
        assert told(third) == told(first) == told(second)
        assert first.verify() == third.verify()


def test_a_checkpoint_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Python hashes texts anew in every process: no order of a set may get into what is written down."""
    code = """
import sys
from giveortake.ledger import Charge
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace
with opened(sys.argv[1], every=9) as ledger:
    if sys.argv[2] == "1":
        ledger.population("people", budget=PureDP(10))
        ledger.dataset("d", population="people")
        for name in map(str, range(8)):
            ledger.analyst(name, datasets=["d"], budget=PureDP(1))
            ledger.reserve(Charge(Laplace(10), dataset="d", analyst=name))
    ledger.verify()
"""
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, str(tmp_path / "l"), seed]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


QUESTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["reserve", "keyed", "settle", "draw", "fail", "grant", "revoke", "readmit", "budget", "request"]
        ),
        st.integers(0, 3),
    ),
    max_size=30,
)


@settings(max_examples=tiered(15, 100))
@given(QUESTIONS, st.integers(1, 6), st.booleans())
def test_the_state_of_a_checkpoint_and_what_follows_is_the_state_of_all_entries(
    steps: list[tuple[str, int]], every: int, persons: bool
) -> None:
    with opened(":memory:", every=every) as ledger:
        analysts: Any = "pooled" if len(steps) % 2 == 0 else "allotted"
        ledger.population("people", budget=PureDP(5), unit="person" if persons else None, analysts=analysts)
        ledger.dataset("d", population="people")
        paid: list[Any] = []
        for step, number in steps:
            with suppress(GiveOrTakeError):
                act(ledger, step, number, paid)
        whole = State()
        for entry in ledger.history():
            whole.apply(entry)
        with ledger.chain.looking() as transaction:
            assert (
                transaction.state.hashes.base or transaction.state.head.number < every
            )  # it has begun at checkpoints, over and over
            assert checkpoint_of(transaction.state).text == checkpoint_of(whole).text
        ledger.verify()


def act(ledger: Ledger, step: str, number: int, paid: list[Any]) -> None:
    analyst = (None, "ann", "bob", "cyd")[number]
    match step:
        case "grant":
            ledger.analyst(analyst or "ann", datasets=["d"], budget=PureDP(1), approval_above=PureDP("1/2"))
        case "reserve":
            paid.append(ledger.reserve(Charge(Laplace(20), dataset="d", analyst=analyst, name=str(len(paid) % 3))))
        case "keyed":
            paid.append(ledger.reserve(Charge(Laplace(20), dataset="d", analyst=analyst, key=str(number), name="0")))
        case "request":
            ledger.reserve(Charge(Pure("3/4"), dataset="d", analyst=analyst, name={"profile": number}))
        case "settle" if paid:
            ledger.settle(paid[number % len(paid)], number)
        case "draw" if paid:
            ledger.keep(paid[number % len(paid)], len(ledger.kept(paid[number % len(paid)])), number)
        case "fail" if paid:
            ledger.fail(paid[number % len(paid)])
        case "revoke":
            ledger.revoke(analyst or "ann", reason="left")
        case "readmit":
            ledger.readmit(analyst or "ann", reason="back")
        case "budget":
            level = random.Random(number).choice(ledger.levels())  # noqa: S311 (which level)
            ledger.change_budget(level, PureDP(5 + number), reason="more")


def test_what_an_export_writes_anew_has_its_indexes_and_makes_checkpoints(place: Place) -> None:
    with place.open(every=EVERY) as ledger:
        fill(ledger)
        expected = told(ledger)
        lines = [canonical({"entry": json.loads(entry.body), "hash": entry.hash}) for entry in ledger.history()]
    place.delete()
    restore(place.where, mark=place.mark, reason="the disk is gone", export=lines)
    with place.open(every=EVERY) as ledger:
        assert told(ledger) == expected
        ask(ledger, 50)
        assert place.sql("SELECT 1 FROM checkpoints")
        ledger.verify()


def test_a_checkpoint_of_another_shape_is_left_aside(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that another version wrote, whose states know other things: everything is read instead."""
    from giveortake.ledger.chain import checkpoints as module  # noqa: PLC0415 (to be changed)

    with place.open(every=EVERY) as ledger:
        fill(ledger)
        expected = told(ledger)
    monkeypatch.setattr(module, "shape", lambda: "another")
    with place.open(every=EVERY) as ledger:
        assert ledger.chain._state.hashes.base == 0
        assert told(ledger) == expected
        ask(ledger, 50)
        ledger.verify()
    with place.open() as ledger:
        assert ledger.chain._state.hashes.base > 0


__all__ = ["place"]
