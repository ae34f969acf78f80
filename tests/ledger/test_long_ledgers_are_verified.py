"""Verification of long ledgers: it forgets what it can look up, asks seldom, and lets nothing through that repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from checkpointed_ledger import EVERY, checkpoints, fill

from giveortake.errors import LedgerDamaged
from giveortake.ledger import Ledger, verification
from giveortake.ledger.chain.entries import Entry, Sieve, entry
from giveortake.ledger.chain.store import Tables
from giveortake.ledger.opening import opened
from giveortake.ledger.verification import Replay

CHARGES = 24
NEVER = 10**9
Content = dict[str, Any]


@contextmanager
def replayed(ledger: Ledger, entries: int | None = None) -> Iterator[Replay]:
    """A ledger that is verified as far as its last entry, by a sieve for as many entries as one says."""
    history = ledger.history()
    with ledger.chain.glancing() as reader:
        replay = Replay(reader, len(history) if entries is None else entries)
        for each in history:
            replay.take(each)
        yield replay


@pytest.fixture(scope="module", params=[EVERY, NEVER], ids=["with checkpoints", "without"])
def ledger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with (
        pytest.MonkeyPatch.context() as short,
        opened(tmp_path_factory.mktemp("l") / "l", every=request.param) as ledger,
    ):
        short.setattr(verification, "_LONG", 2 * EVERY)
        fill(ledger, CHARGES)
        assert (len(checkpoints(ledger)) > 5) == (request.param == EVERY)
        yield ledger


def test_verification_keeps_little_in_memory_whether_or_not_there_are_checkpoints(ledger: Ledger) -> None:
    with replayed(ledger) as replay:
        state = replay.state
        assert state.hashes.head - state.hashes.base <= 2 * EVERY
        assert len(state._recent) + len(state._settlements) <= 2 * EVERY
        assert len(state.entry_index._here) <= 8 * EVERY
        assert state.head == ledger.chain.head
    assert ledger.verify().reservations == CHARGES


def test_verification_looks_up_little_that_is_not_there(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every charge asks whether its key and its question are new; both are, and the sieve says so."""
    asked: list[int] = []
    finds = Tables.finds

    def counted(self: Tables, bucket: int, until: int) -> list[tuple[int, bytes]]:
        asked.append(bucket)
        return finds(self, bucket, until)

    monkeypatch.setattr(Tables, "finds", counted)
    with replayed(ledger):
        seldom = len(asked)
    with replayed(ledger, 0):  # a sieve that is full at once lets everything through
        assert len(asked) - seldom > CHARGES > 2 * seldom


def key_twice(found: dict[str, Content]) -> tuple[str, Content]:
    return "reserved", found["reserved"] | {"id": "another", "name": "another", "answered_by": None}


def settled_twice(found: dict[str, Content]) -> tuple[str, Content]:
    return "settled", found["settled"] | {"answer": "another"}


def drawn_twice(found: dict[str, Content]) -> tuple[str, Content]:
    return "drawn", {"reservation": found["waiting"]["reservation"], "place": 0, "draw": "another"}


def answer_of_nobody(found: dict[str, Content]) -> tuple[str, Content]:
    return "reserved", found["reserved"] | {"id": "another", "key": None, "name": "new", "answered_by": 5}


def answer_of_another(found: dict[str, Content]) -> tuple[str, Content]:
    given = {"id": "another", "key": None, "answered_by": found["second"]["number"], "levels": {}}
    return "reserved", found["reserved"] | given


def charged_to_nobody(found: dict[str, Content]) -> tuple[str, Content]:
    return "reserved", found["reserved"] | {"id": "another", "key": None, "name": "new", "levels": {}}


def alias_of_a_known_key(found: dict[str, Content]) -> tuple[str, Content]:
    reserved = found["reserved"]
    return "alias", {"analyst": reserved["analyst"], "key": reserved["key"], "release": reserved["id"], "request": ""}


def alias_of_another(found: dict[str, Content]) -> tuple[str, Content]:
    return "alias", {"analyst": "nobody", "key": "new", "release": found["reserved"]["id"], "request": ""}


FORGERIES: list[tuple[Callable[[dict[str, Content]], tuple[str, Content]], str]] = [
    (key_twice, "key twice"),
    (settled_twice, "not waiting"),
    (drawn_twice, "not waiting"),
    (answer_of_nobody, "somebody else"),
    (answer_of_another, "somebody else"),
    (charged_to_nobody, "had to pay"),
    (alias_of_a_known_key, "key twice"),
    (alias_of_another, "derived again"),
]


def early(history: list[Entry]) -> dict[str, Content]:
    """What the first question says and what became of it, long before the last checkpoint."""
    reserved = next(each for each in history if each.kind == "reserved")
    settled = [each for each in history if each.kind == "settled"]
    done = {each.content["reservation"] for each in settled}
    waiting = next(each for each in history if each.kind == "drawn" and each.content["reservation"] not in done)
    said = {name: each for name, each in reserved.content.items() if name not in {"snapshots", "used"}}
    second = {"number": settled[1].number}
    return {"reserved": said, "settled": dict(settled[0].content), "waiting": dict(waiting.content), "second": second}


@pytest.mark.parametrize("entries", [None, 0], ids=["a sieve", "a full one"])
def test_what_repeats_an_entry_before_a_checkpoint_is_refused(ledger: Ledger, entries: int | None) -> None:
    for forge, reason in FORGERIES:
        with replayed(ledger, entries) as replay:
            head = replay.state.head
            kind, content = forge(early(ledger.history()))
            with pytest.raises(LedgerDamaged, match=reason):
                replay.take(entry(head.number + 1, kind, "now", head.hash, content))


def test_a_sieve_holds_all_that_was_added_and_little_else() -> None:
    names = [sha256(str(number).encode()).digest()[:16] for number in range(40_000)]
    sieve = Sieve(10_000)
    for name in names[:10_000]:
        sieve.add(name)
    assert all(name in sieve for name in names[:10_000])
    assert sum(name in sieve for name in names[10_000:]) < 300
    for name in names[10_000:]:  # more than it was made for
        sieve.add(name)
    assert all(name in sieve for name in names)
