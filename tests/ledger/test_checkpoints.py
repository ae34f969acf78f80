"""Checkpoints and indexes: the same state as from all entries, and nobody is misled by one that was edited."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_places import EVERY, TENTH, FilePlace, Place, ServerPlace, ask, checkpoints, fill, place, told

from giveortake.errors import GiveOrTakeError, LedgerDamaged, LedgerError, LedgerRolledBack
from giveortake.ledger import Charge, Ledger, reindex, restore, verification
from giveortake.ledger.chain.checkpoints import checkpoint_of
from giveortake.ledger.chain.entries import Entry, Sieve, asked_of, canonical, entries_of, entry
from giveortake.ledger.chain.state import State
from giveortake.ledger.chain.store import Tables
from giveortake.ledger.chain.watermark import FileMark
from giveortake.ledger.opening import opened
from giveortake.ledger.verification import Replay
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


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> FilePlace:
    found = FilePlace(tmp_path_factory.mktemp("pristine"), beside=True)
    with found.open(every=EVERY) as ledger:
        fill(ledger)
    return found


@pytest.fixture
def attacked(pristine: FilePlace, tmp_path: Path) -> FilePlace:
    """A ledger of its own for each attack, with the mark that remembers it."""
    for path in pristine.path.parent.glob("people.ledger*"):
        shutil.copy(path, tmp_path)
    return FilePlace(tmp_path, beside=True)


def state(place: Place) -> tuple[int, dict[str, Any]]:
    ((number, text),) = place.sql("SELECT number, content FROM checkpoints ORDER BY number DESC LIMIT 1")
    return number, json.loads(text)


def refused(place: Place) -> None:
    """Whoever opens it is refused; nobody is told anything."""
    with pytest.raises((LedgerDamaged, LedgerRolledBack)):
        place.open()
    with pytest.raises((LedgerDamaged, LedgerRolledBack)):
        place.open(read_only=True)


def test_a_checkpoint_whose_state_was_edited_is_refused(attacked: Place) -> None:
    number, content = state(attacked)
    for _, level in content["state"]["levels"]:
        level["failed"], level["asked"] = 0, 0
    attacked.sql("UPDATE checkpoints SET content = ? WHERE number = ?", canonical(content), number)
    refused(attacked)


def test_a_checkpoint_whose_state_and_hash_were_edited_is_refused(attacked: Place) -> None:
    from giveortake.ledger.chain.entries import digest, entry  # noqa: PLC0415 (what the attacker uses)

    number, content = state(attacked)
    content["state"]["revoked"] = ["ann"]
    text = canonical(content)
    ((body,),) = attacked.sql("SELECT body FROM entries WHERE number = ?", number)
    said = json.loads(body)
    forged = entry(number, said["kind"], said["at"], said["previous"], said["content"] | {"digest": digest(text)})
    attacked.sql("UPDATE checkpoints SET content = ? WHERE number = ?", text, number)
    attacked.sql("UPDATE entries SET body = ?, hash = ? WHERE number = ?", forged.body, forged.hash, number)
    refused(attacked)


def test_an_older_checkpoint_in_the_place_of_the_last_one_is_refused(attacked: Place) -> None:
    (_, text), (newer, _) = attacked.sql("SELECT number, content FROM checkpoints ORDER BY number")
    attacked.sql("UPDATE checkpoints SET content = ? WHERE number = ?", text, newer)
    refused(attacked)


def test_if_only_an_older_checkpoint_is_left_all_that_followed_is_read(attacked: Place) -> None:
    with attacked.open() as ledger:
        expected = told(ledger)
    older, newer = (number for (number,) in attacked.sql("SELECT number FROM checkpoints ORDER BY number"))
    attacked.sql("DELETE FROM checkpoints WHERE number = ?", newer)
    with attacked.open() as ledger:
        assert ledger.chain._state.hashes.base == older - 1
        assert told(ledger) == expected


def test_a_checkpoint_that_the_mark_does_not_remember_has_to_follow_from_history(attacked: Place) -> None:
    from giveortake.ledger.chain.entries import digest, entry  # noqa: PLC0415 (what the attacker uses)

    number, content = state(attacked)
    content["state"]["asked"] = 0
    text = canonical(content)
    ((last, hashed),) = attacked.sql("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1")
    shape = json.loads(attacked.sql("SELECT body FROM entries WHERE number = ?", number)[0][0])["content"]["shape"]
    forged = entry(last + 1, "checkpoint", "now", hashed, {"digest": digest(text), "shape": shape})
    attacked.sql("INSERT INTO entries VALUES (?, ?, ?)", forged.number, forged.body, forged.hash)
    attacked.sql("INSERT INTO checkpoints VALUES (?, ?)", forged.number, text)
    with pytest.raises(LedgerDamaged, match="follow"):
        attacked.open()


def test_on_a_server_nobody_is_misled_either(server: str) -> None:
    place = ServerPlace(server)
    with place.open(every=EVERY) as ledger:
        fill(ledger, 5)
    _, _, name = old_key(place)
    place.sql("DELETE FROM finds WHERE name = ?", name)
    with place.open(every=10**9) as ledger, pytest.raises(LedgerDamaged, match="index"):
        ledger.reserve(Charge(TENTH, dataset="d", key="0", name="how many 0?"))
    number, content = state(place)
    content["state"]["revoked"] = ["ann"]
    place.sql("UPDATE checkpoints SET content = ? WHERE number = ?", canonical(content), number)
    refused(place)


def old_key(place: Place) -> tuple[int, int, bytes]:
    """The row by which the first key is found, long before the last checkpoint."""
    from giveortake.ledger.chain.entries import bucket_of, name_of  # noqa: PLC0415 (what the attacker uses)

    name = name_of("key", None, "0")
    ((number,),) = place.sql("SELECT number FROM finds WHERE name = ?", name)
    return bucket_of(name), number, name


@pytest.mark.parametrize("attack", ["delete", "point elsewhere", "move", "add"])
def test_an_index_that_was_changed_misleads_nobody(attacked: Place, attack: str) -> None:
    """A key that cannot be found would be charged again; one that leads elsewhere would give out another's answer."""
    bucket, number, name = old_key(attacked)
    match attack:
        case "delete":
            attacked.sql("DELETE FROM finds WHERE name = ?", name)
        case "point elsewhere":
            attacked.sql("UPDATE finds SET number = ? WHERE name = ?", number + 1, name)
        case "move":
            attacked.sql("UPDATE finds SET bucket = ? WHERE name = ?", bucket ^ 1, name)
        case "add":
            attacked.sql("INSERT INTO finds VALUES (?, ?, ?)", bucket, 2, name)
    with attacked.open(every=10**9) as ledger:
        before = ledger.levels(), len(ledger.history())
        with pytest.raises(LedgerDamaged, match="index"):
            ledger.reserve(Charge(TENTH, dataset="d", key="0", name="how many 0?"))
        with pytest.raises(LedgerDamaged, match="index"):
            ledger.verify()
        assert (ledger.levels(), len(ledger.history())) == before  # nothing was charged, nothing is lost
        ask(ledger, 100)  # and whoever was not misled goes on


def test_a_settled_reservation_is_never_answered_a_second_time(attacked: Place) -> None:
    """Without its row it would look unanswered: fresh noise for an old charge."""
    from giveortake.ledger.chain.entries import name_of  # noqa: PLC0415 (what the attacker uses)

    _, number, _ = old_key(attacked)
    attacked.sql("DELETE FROM finds WHERE name = ?", name_of("settled", number))
    with attacked.open(every=10**9) as ledger:
        with pytest.raises(LedgerDamaged, match="index"):
            ledger.settle(number, {"n": "another"})
        with pytest.raises(LedgerDamaged, match="index"):
            ledger.reserve(Charge(TENTH, dataset="d", key="0", name="how many 0?"))


def test_an_answer_that_was_edited_before_the_last_checkpoint_is_not_given_out(attacked: Place) -> None:
    from giveortake.ledger.chain.entries import entry  # noqa: PLC0415 (what the attacker uses)

    _, number, _ = old_key(attacked)
    ((body,),) = attacked.sql("SELECT body FROM entries WHERE number = ?", number + 1)
    said = json.loads(body)
    assert said["kind"] == "settled"
    forged = entry(number + 1, "settled", said["at"], said["previous"], said["content"] | {"answer": "another"})
    attacked.sql("UPDATE entries SET body = ?, hash = ? WHERE number = ?", forged.body, forged.hash, number + 1)
    with attacked.open(every=10**9) as ledger:
        with pytest.raises(LedgerDamaged, match="replaced"):
            ledger.reserve(Charge(TENTH, dataset="d", key="0", name="how many 0?"))
        with pytest.raises(LedgerError):
            ledger.verify()


def test_an_analyst_is_shown_nobody_elses_entries_whatever_the_index_says(attacked: Place) -> None:
    ((other,),) = attacked.sql("SELECT number FROM lists WHERE name = ? AND place = 2", entries_of("bob"))
    for name in (entries_of("ann"), asked_of("ann", None)):
        attacked.sql("UPDATE lists SET number = ? WHERE name = ? AND place = 2", other, name)
    with attacked.open() as ledger:
        with pytest.raises(LedgerDamaged, match="index"):
            ledger.entries(analyst="ann")
        with pytest.raises(LedgerDamaged, match="index"):
            ledger.releases(analyst="ann")
        assert ledger.entries(analyst="bob")
        with pytest.raises(LedgerDamaged, match="index"):
            ledger.verify()


@pytest.mark.parametrize("change", ["UPDATE used SET share = '0'", "DELETE FROM used WHERE number > 9"])
def test_a_burn_down_that_was_changed_is_refused(attacked: Place, change: str) -> None:
    attacked.sql(change)
    with attacked.open() as ledger, pytest.raises(LedgerDamaged, match="index"):
        ledger.burn_down()


@pytest.mark.parametrize("array", ["anchors", "finds"])
def test_a_chunk_that_was_changed_is_refused(attacked: Place, array: str) -> None:
    attacked.sql("UPDATE chunks SET content = ? WHERE name = ?", bytes(8192), array)
    with pytest.raises(LedgerDamaged, match=array), attacked.open(every=10**9) as ledger:
        ledger.reserve(Charge(TENTH, dataset="d", key="0", name="how many 0?"))


def test_the_owner_has_indexes_derived_anew_while_others_have_it_open(attacked: Place) -> None:
    with attacked.open(every=10**9) as other:
        expected = told(other)
        attacked.sql("DELETE FROM finds")
        attacked.sql("UPDATE used SET share = '0'")
        attacked.sql("UPDATE checkpoints SET content = 'nothing'")
        with pytest.raises(LedgerDamaged):
            attacked.open()
        assert reindex(attacked.where, mark=attacked.mark).number == len(expected[-1])
        with attacked.open(every=10**9) as ledger:
            assert told(ledger) == told(other) == expected
            ledger.verify()


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


def test_pages_put_together_are_the_history_while_somebody_charges(place: Place) -> None:
    with place.open(every=EVERY) as ledger, place.open(every=EVERY) as other:
        fill(ledger)
        whole, pages, last = ledger.history(), [], 0
        while page := ledger.entries(after=last, limit=5):
            pages += page
            last = page[-1].number
            if last < 20:
                ask(other, 100 + last)
        assert pages[: len(whole)] == whole
        assert len(pages) > len(whole)
        mine = ledger.entries(analyst="ann")
        assert [each.number for each in mine] == list(range(1, len(mine) + 1))
        assert ledger.entries(analyst="ann", after=3, limit=2) == mine[3:5]
        assert ledger.entries(after=10**9) == []


def test_whoever_reads_holds_no_lock(tmp_path: Path) -> None:
    """A charge goes through between any two statements of a reader, in the same process and in another."""
    with opened(str(tmp_path / "l")) as ledger, opened(str(tmp_path / "l")) as other:
        fill(ledger, 3)
        with ledger.chain.glancing() as reader:
            assert len(reader.between(1, 5)) == 5
            ask(other, 10)
            ask(ledger, 11)
            assert reader.between(1, 5)


@pytest.mark.parametrize("read_only", [False, True])
def test_whoever_reads_a_long_history_lets_others_write_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, read_only: bool
) -> None:
    """There is no checkpoint, and a charge goes through before each of the first pages: no lock is held."""
    monkeypatch.setattr("giveortake.ledger.chain.chain._PAGE", 10)
    monkeypatch.setattr("giveortake.ledger.chain.store._PATIENCE", 0.2)
    where, mark = str(tmp_path / "l"), tmp_path / "mark"
    with opened(where, mark=mark) as other:
        fill(other)
        read, pages = FileMark.read, iter(range(100, 103))

        def reading(self: FileMark) -> Any:
            found = read(self)
            number = None if self is other.chain.mark else next(pages, None)
            if number is not None:
                ask(other, number)
            return found

        monkeypatch.setattr(FileMark, "read", reading)
        with opened(where, mark=mark, read_only=read_only) as ledger:
            monkeypatch.undo()
            assert [each.hash for each in ledger.history()] == [each.hash for each in other.history()]
            assert next(pages, None) is None
