"""Tables and the people in them: whose they are is said, and no reader of a ledger can test what a table holds."""

from __future__ import annotations

import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace, Place, place

from giveortake import cli
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, SameTable
from giveortake.ledger import Charge, Ledger, Registered, restore
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

CONTENT, OTHER = (hashlib.sha256(text).hexdigest() for text in (b"a table", b"one row fewer"))


def put(ledger: Ledger, name: str, fingerprint: str = CONTENT, **said: Any) -> Registered:
    said = {"budget": PureDP(1), "unit": "person", "domains": {}, "first": f"people of {name}", **said}
    return ledger.register(name, fingerprint=fingerprint, **said)


def test_on_a_ledger_that_knows_people_the_owner_says_whose_a_table_is(place: Place) -> None:
    with place.open() as ledger:
        assert put(ledger, "visits") == Registered("people of visits", "1")
        assert put(ledger, "visits") == Registered("people of visits", "1")
        before = len(ledger.history())
        for name, fingerprint in (("visits2", OTHER), ("visits_copy", CONTENT)):
            with pytest.raises(SameTable) as refused:
                put(ledger, name, fingerprint)
            assert 'population="people of visits"' in str(refused.value)
            assert f'new_population="people of {name}"' in str(refused.value)
        with pytest.raises(NotFound, match='new_population="strangers"'):
            put(ledger, "letters", OTHER, population="strangers")
        with pytest.raises(LedgerMismatch, match="already"):
            put(ledger, "letters", OTHER, new_population="people of visits")
        with pytest.raises(InvalidParameter):
            put(ledger, "letters", OTHER, new_population="a", population="b")
        with pytest.raises(LedgerMismatch, match="another population"):
            put(ledger, "visits", population="strangers")
        assert len(ledger.history()) == before
        assert put(ledger, "letters", OTHER, population="people of visits").population == "people of visits"
        for _ in range(2):
            assert put(ledger, "bills", "ab", new_population="strangers") == Registered("strangers", "1")
        with pytest.raises(SameTable, match="registered as 'visits'"):
            put(ledger, "visits_copy", CONTENT, new_population="others")
        assert put(ledger, "visits_copy", CONTENT, population="people of visits").version == "1"
        assert put(ledger, "visits", OTHER).version == "2"
        ledger.verify()


def test_of_two_who_register_the_first_table_at_once_one_has_to_say_whose_it_is(place: Place) -> None:
    def attempt(name: str) -> str:
        with place.open() as ledger:
            try:
                return put(ledger, name, name).population
            except SameTable:
                return "refused"

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(attempt, "abcd"))
    assert sorted(found)[1:] == ["refused"] * 3 or found.count("refused") == 3


def test_a_registration_that_was_killed_half_way_is_ended_by_the_next(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people of visits", budget=PureDP(1), unit="person")
        assert put(ledger, "visits").population == "people of visits"


def test_fingerprints_are_keyed_with_a_secret_that_is_not_in_the_ledger(place: Place) -> None:
    with place.open() as ledger:
        put(ledger, "visits")
        secret = ledger.chain.mark.secret(create=False)
        assert secret is not None
        written = json.dumps([dict(entry.content) for entry in ledger.history()])
        expected = hmac.new(secret, CONTENT.encode(), "sha256").hexdigest()
        assert ledger.versions("visits") == [("1", f"hmac-sha256:{expected}")]
        for hidden in (CONTENT, secret.hex()):
            assert hidden not in written
        assert ledger.holder(CONTENT) == ("visits", "people of visits")
        assert ledger.holder(OTHER) is None
    if isinstance(place, FilePlace):
        assert secret not in place.path.read_bytes()
        assert place.mark_file().with_name("mark.secret").read_bytes() == secret


def test_the_same_table_has_another_fingerprint_in_another_ledger(tmp_path: Path) -> None:
    found = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with FilePlace(tmp_path / name).open() as ledger:
            put(ledger, "visits")
            found.add(ledger.versions("visits")[0][1])
    assert len(found) == 2


def test_an_export_holds_no_fingerprint_that_could_be_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        put(ledger, "visits")
    assert cli.main(["ledger", "export", place.where]) == 0
    assert CONTENT not in capsys.readouterr().out


def test_domains_may_change_until_a_question_is_charged_and_each_declaration_is_a_new_version(place: Place) -> None:
    found, bounded, other = ({"t": {"n": {"kind": kind}}} for kind in ("text", "real", "integer"))
    with place.open() as ledger:
        assert put(ledger, "t", domains=found, declared=False).version == "1"
        assert put(ledger, "t", domains=other, declared=False).version == "1"
        assert put(ledger, "t", domains=bounded).version == "2"
        assert put(ledger, "t", domains=bounded).version == "2"
        assert ledger.is_open("t")  # nothing was charged
        assert put(ledger, "t", domains=other).version == "3"
        assert put(ledger, "t", domains=other, declared=False).version == "4"
        assert ledger.domains("t") is None
        assert put(ledger, "t", domains=bounded).version == "5"
        ledger.verify()
    with place.open() as ledger:
        with pytest.raises(LedgerMismatch, match="at version '5' now"):  # by a session that was opened before
            ledger.reserve(Charge(Laplace(10), dataset="t", version="4"))
        ledger.reserve(Charge(Laplace(10), dataset="t", version="5"))
        assert not ledger.is_open("t")
        for said in ({"domains": other}, {"domains": found, "declared": False}):
            with pytest.raises(LedgerMismatch, match="domains"):
                put(ledger, "t", **said)
        assert put(ledger, "t", OTHER, domains=bounded).version == "6"
        ledger.verify()


def test_after_a_restoration_nobody_knows_whether_domains_may_change(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        put(ledger, "t", domains={"t": {}})
    before = place.backup()
    with place.open() as ledger:
        ledger.reserve(Charge(Laplace(10), dataset="t"))
    place.put_back(before)
    restore(place.where, reason="an old copy")
    with place.open() as ledger:
        assert not ledger.is_open("t")


def test_a_table_that_changed_when_its_domains_were_declared_has_a_version_for_each(place: Place) -> None:
    with place.open() as ledger:
        put(ledger, "t", declared=False)
        assert put(ledger, "t", OTHER, domains={"t": {}}).version == "3"
        assert [version for version, _ in ledger.versions("t")] == ["1", "2", "3"]


def test_no_two_versions_have_one_name(place: Place) -> None:
    with place.open() as ledger:
        put(ledger, "t", declared=False)
        ledger.new_version("t", version="3", fingerprint=OTHER)
        ledger.new_version("t", version="4", fingerprint=CONTENT)
        assert put(ledger, "t", OTHER, domains={"t": {}}).version == "6"  # declared, and with other content
        assert [version for version, _ in ledger.versions("t")] == ["1", "3", "4", "5", "6"]
