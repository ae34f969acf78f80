"""Checkpoints, indexes and answers that somebody edited: one that lies is not believed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from checkpointed_ledger import EVERY, TENTH, ask, fill, told
from ledger_places import FilePlace, Place, ServerPlace

from giveortake.errors import LedgerDamaged, LedgerError, LedgerRolledBack
from giveortake.ledger import Charge, reindex
from giveortake.ledger.chain.entries import asked_of, canonical, entries_of


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
