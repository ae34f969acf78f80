"""Tokens: shown once, kept as a hash, ended by the clock or by a custodian; and who did what."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace, Place
from ledger_places import place_of_rules as place

from giveortake.errors import AccessDenied, InvalidParameter, LedgerTooNew, NotFound
from giveortake.ledger import Charge, Ledger, Principal
from giveortake.ledger.chain.state import ENTRY_TYPES
from giveortake.privacy import PureDP
from giveortake.privacy.events import Pure

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> str:
        return self.now.isoformat()


def clinic(ledger: Ledger) -> None:
    ledger.population("patients", budget=PureDP(1), unit="person", by="olga")
    ledger.dataset("visits", population="patients", by="olga")
    ledger.analyst("ann", datasets=["visits"], budget=PureDP("0.4"), by="olga")


def test_a_token_lets_in_whom_it_was_issued_to_until_it_is_revoked(place: Place) -> None:
    with place.open() as ledger, place.open() as other:
        clinic(ledger)
        name, text = ledger.issue_token(role="analyst", analyst="ann", by="olga")
        assert re.fullmatch(r"got_[0-9a-f]{16}_[0-9a-f]{64}", text)
        assert other.authenticate(text) == Principal(name, "analyst", "ann")
        own, secret = ledger.issue_token(role="custodian")
        assert ledger.authenticate(secret) == Principal(own, "custodian")
        ledger.revoke_token(name, reason="lost", by="olga")
        ledger.revoke_token(name, reason="lost again", by="olga")
        assert other.authenticate(text) is None
        assert ledger.authenticate(secret) is not None
        assert [(each.id, each.is_valid, each.by) for each in ledger.tokens()] == [
            (name, False, "olga"),
            (own, True, None),
        ]
        assert [entry.kind for entry in ledger.history()].count("withdrawn") == 1
        ledger.verify()


def test_only_the_whole_text_is_a_token(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        name, text = ledger.issue_token(role="analyst", analyst="ann")
        _, second = ledger.issue_token(role="custodian")
        secret = text.rpartition("_")[2]
        changed = text[:-1] + ("0" if text[-1] != "0" else "1")
        wrong: list[Any] = [
            "", "got_", name, secret, changed, text.upper(), f"{text} ", f" {text}", f"{text}\n", text + "0",
            f"got_{name}_{second.rpartition('_')[2]}", f"got_{'0' * 16}_{secret}", "got_é_x", "\ud800", None, 7, b"got",
        ]  # fmt: skip
        assert [ledger.authenticate(each) for each in wrong] == [None] * len(wrong)
        assert ledger.authenticate(text) is not None


def test_the_ledger_cannot_tell_a_token(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        clinic(ledger)
        _, text = ledger.issue_token(role="analyst", analyst="ann")
        secret = text.rpartition("_")[2]
        assert secret not in "".join(entry.body for entry in ledger.history())
        assert secret not in repr(ledger.tokens())
        assert text not in repr(ledger.authenticate(text))
    assert secret.encode() not in place.path.read_bytes()


def test_a_token_ends_by_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    with FilePlace(tmp_path).open(now=clock) as ledger:
        clinic(ledger)
        _, usual = ledger.issue_token(role="custodian")
        _, short = ledger.issue_token(role="custodian", expires=timedelta(hours=1))
        _, of_a_day = ledger.issue_token(role="custodian", expires="2026-11-02")
        _, of_a_zone = ledger.issue_token(role="custodian", expires="2026-11-02T00:00:00+02:00")
        valid: dict[timedelta, str] = {}
        for hours in (0.9, 1, 9.9, 10, 35.9, 36, 24 * 89, 24 * 91):
            clock.now = START + timedelta(hours=hours)
            valid[timedelta(hours=hours)] = "".join(
                "01"[ledger.authenticate(text) is not None] for text in (usual, short, of_a_day, of_a_zone)
            )
        assert list(valid.values()) == ["1111", "1011", "1011", "1010", "1010", "1000", "1000", "0000"]
        assert all(each.expired for each in ledger.tokens())


WRONG: list[dict[str, Any]] = [
    {"role": "king"},
    {"role": "analyst"},
    {"role": "custodian", "analyst": "ann"},
    {"role": "custodian", "expires": timedelta(0)},
    {"role": "custodian", "expires": "2020-01-01"},
    {"role": "custodian", "expires": "soon"},
    {"role": "custodian", "expires": datetime(2099, 1, 1)},
    {"role": "custodian", "expires": timedelta.max},
    {"role": "custodian", "by": ""},
    {"role": "custodian", "by": "a\nb"},
]


def test_what_is_no_token_is_not_issued(tmp_path: Path) -> None:
    with FilePlace(tmp_path).open() as ledger:
        clinic(ledger)
        before = len(ledger.history())
        for wrong in WRONG:
            with pytest.raises(InvalidParameter):
                ledger.issue_token(**wrong)
        assert len(ledger.history()) == before


def test_tokens_are_for_analysts_that_the_ledger_knows(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        with pytest.raises(NotFound, match="no analyst 'bob'"):
            ledger.issue_token(role="analyst", analyst="bob")
        _, text = ledger.issue_token(role="analyst", analyst="ann")
        ledger.revoke("ann", reason="left", by="olga")
        with pytest.raises(AccessDenied):
            ledger.issue_token(role="analyst", analyst="ann")
        known = ledger.authenticate(text)  # who they are is known, and they are told that they were revoked
        assert known is not None
        with pytest.raises(AccessDenied):
            ledger.reserve(Charge(Pure("0.1"), dataset="visits", analyst=known.analyst))
        with pytest.raises(NotFound):
            ledger.revoke_token("0" * 16, reason="?")


def test_every_administrative_act_says_who_did_it_and_questions_say_nothing(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        ledger.new_version("visits", version="2", by="olga")
        (level,) = ledger.levels(analyst="ann")
        ledger.change_budget(level, PureDP("0.5"), reason="more", by="olga")
        ledger.revoke("ann", reason="left", by="paul")
        ledger.readmit("ann", reason="came back", by="paul")
        ledger.reset_failures(level, reason="looked", by="paul")
        name, _ = ledger.issue_token(role="custodian", by="paul")
        ledger.revoke_token(name, reason="lost", by="paul")
        ledger.settle(ledger.reserve(Charge(Pure("0.1"), dataset="visits", analyst="ann")), {"n": 1})
        who = [(entry.kind, entry.content.get("by")) for entry in ledger.history()]
        assert who == [
            ("ledger", None), ("population", "olga"), ("dataset", "olga"), ("analyst", "olga"), ("version", "olga"),
            ("budget", "olga"), ("revoked", "paul"), ("readmitted", "paul"), ("forgiven", "paul"), ("token", "paul"),
            ("withdrawn", "paul"), ("reserved", None), ("settled", None),
        ]  # fmt: skip
        assert "by" not in {name for entry in ledger.entries(analyst="ann") for name in entry.content}
        ledger.population("patients", budget=PureDP(1), unit="person", by="somebody else")  # the same again
        assert len(ledger.history()) == len(who)
        ledger.verify()
        assert all(later.previous == earlier.hash for earlier, later in pairwise(ledger.history()))


def test_a_kind_of_a_later_version_is_told_from_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        clinic(ledger)
        ledger.issue_token(role="custodian")
    monkeypatch.setattr(
        "giveortake.ledger.chain.state.ENTRY_TYPES",
        {kind: taken for kind, taken in ENTRY_TYPES.items() if kind != "token"},
    )
    with pytest.raises(LedgerTooNew, match="'token'"):
        place.open()
