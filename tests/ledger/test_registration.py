"""Populations, data sets, levels and limits: what is registered, what is refused, and what every level admits."""

from __future__ import annotations

import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace, Place
from ledger_places import place as any_place
from ledger_places import place_of_rules as place

import giveortake as gt
from giveortake import cli
from giveortake.errors import (
    AccessDenied,
    AllowanceExceeded,
    ApprovalRequired,
    BudgetExceeded,
    InvalidParameter,
    LedgerMismatch,
    NotFound,
    SameTable,
)
from giveortake.ledger import Charge, Ledger, Registered, restore
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, unit
from giveortake.privacy.events import AboveThreshold, Composed, Gaussian, Geometric, Laplace, Parallel, Pure, Repeated
from giveortake.server import routes

TENTH = Laplace(10)


def remaining(ledger: Ledger, name: str) -> Any:
    return next(level.remaining for level in ledger.levels() if level.name == name)


def two_hospitals(ledger: Ledger) -> None:
    ledger.population("patients", budget=PureDP(1), unit="person", analysts="pooled")
    ledger.dataset("north", population="patients", budget=PureDP("0.5"))
    ledger.dataset("south", population="patients")
    ledger.analyst("ann", datasets=["north", "south"], budget=PureDP("0.4"))
    ledger.analyst("bob", datasets=["south"])


def test_ten_tenths_fit_one_and_nothing_after_not_even_1e_300(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("one", budget=PureDP(1.0))
        ledger.dataset("d1", population="one")
        ledger.population("three tenths", budget=PureDP(0.3))
        ledger.dataset("d3", population="three tenths")
        for dataset, times in (("d1", 10), ("d3", 3)):
            for _ in range(times):
                ledger.reserve(Charge(Pure(0.1), dataset=dataset))
            for amount in ("0.1", "1e-300"):
                with pytest.raises(BudgetExceeded):
                    ledger.reserve(Charge(Pure(amount), dataset=dataset))
        assert remaining(ledger, "one") == remaining(ledger, "three tenths") == 0
        ledger.verify()


def test_amounts_that_are_none_never_reach_the_ledger() -> None:
    amounts: list[Any] = [-1, 0, float("nan"), float("inf"), "1e301", -1e-9]
    for amount in amounts:
        with pytest.raises(InvalidParameter):
            Pure(amount)


def test_a_charge_is_admitted_only_if_every_level_admits_it_and_a_refusal_changes_nothing(place: Place) -> None:
    with place.open() as ledger:
        two_hospitals(ledger)
        ledger.reserve(Charge(Pure("0.3"), dataset="north", analyst="ann"))
        before = ledger.levels(), len(ledger.history())
        with pytest.raises(BudgetExceeded, match="analyst 'ann'"):
            ledger.reserve(Charge(Pure("0.2"), dataset="north", analyst="ann"))
        with pytest.raises(BudgetExceeded, match="data set 'north'"):
            ledger.reserve(Charge(Pure("0.3"), dataset="north"))
        with pytest.raises(BudgetExceeded, match="population 'patients'"):
            ledger.reserve(Charge(Pure("0.8"), dataset="south", analyst="bob"))
        assert (ledger.levels(), len(ledger.history())) == before
        assert ledger.reserve(Charge(Pure("0.1"), dataset="north", analyst="ann")).charged == (
            "patients",
            "north",
            "ann",
        )
        ledger.verify()


def test_the_same_people_in_two_data_sets_share_one_cap_and_an_analysts_cap_spans_both(place: Place) -> None:
    with place.open() as ledger:
        two_hospitals(ledger)
        ledger.reserve(Charge(Pure("0.3"), dataset="north", analyst="ann"))
        ledger.reserve(Charge(Pure("0.7"), dataset="south", analyst="bob"))
        assert remaining(ledger, "patients") == 0
        assert remaining(ledger, "ann") == Fraction(1, 10)
        with pytest.raises(BudgetExceeded, match="patients"):
            ledger.reserve(Charge(Pure("0.1"), dataset="south", analyst="ann"))


def test_a_refusal_kills_no_filter_of_a_race(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=ApproxDP(1, "1e-6"))
        ledger.dataset("d", population="people", budget=PureDP("0.2"))
        untouched = ledger.levels()
        for amount in ("0.9", "0.5", "3"):
            with pytest.raises(BudgetExceeded):
                ledger.reserve(Charge(Pure(amount), dataset="d"))
        assert ledger.levels() == untouched


def test_only_admitted_analysts_ask_and_a_revoked_one_gets_nothing_more(place: Place) -> None:
    with place.open() as ledger:
        two_hospitals(ledger)
        with pytest.raises(NotFound, match="'north'"):
            ledger.reserve(Charge(TENTH, dataset="north", analyst="bob"))
        with pytest.raises(NotFound):
            ledger.reserve(Charge(TENTH, dataset="south", analyst="nobody"))
        paid = ledger.reserve(Charge(TENTH, dataset="south", analyst="bob", key="k"))
        ledger.revoke("bob", reason="left")
        ledger.revoke("bob", reason="left again")
        for refused in (
            lambda: ledger.reserve(Charge(TENTH, dataset="south", analyst="bob")),
            lambda: ledger.reserve(Charge(TENTH, dataset="south", analyst="bob", key="k")),
            lambda: ledger.settle(paid, 1),
            lambda: ledger.analyst("bob", datasets=["south"]),
            lambda: ledger.entries(analyst="bob"),
            lambda: ledger.profiles("south", analyst="bob", version="1"),  # of which there is none
        ):
            with pytest.raises(AccessDenied, match="revoked"):
                refused()
        ledger.readmit("bob", reason="came back")
        assert ledger.settle(paid, 1) == 1
        assert remaining(ledger, "patients") == Fraction(9, 10)
        with pytest.raises(NotFound):
            ledger.revoke("nobody", reason="never was")
        ledger.verify()


def test_a_large_spend_waits_for_approval_and_one_approval_is_for_one_spend(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1), approval_above=PureDP("0.1"))
        ledger.dataset("d", population="people")
        ledger.reserve(Charge(Pure("0.1"), dataset="d"))
        with pytest.raises(ApprovalRequired) as asked:
            ledger.reserve(Charge(Pure("0.2"), dataset="d", name={"sql": "big"}))
        with pytest.raises(ApprovalRequired) as again:
            ledger.reserve(Charge(Pure("0.2"), dataset="d", name={"sql": "big"}))
        assert [asked.value.request] == [again.value.request] == ledger.waiting()
        with pytest.raises(NotFound):
            ledger.approve(asked.value.request + 1, reason="fine")
        ledger.approve(asked.value.request, reason="fine")
        assert ledger.waiting() == []
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(Pure("0.2"), dataset="d", name={"sql": "another big one"}))
        ledger.reserve(Charge(Pure("0.2"), dataset="d", name={"sql": "big"}))
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(Pure("0.2"), dataset="d", name={"sql": "big"}, key="once more"))
        assert remaining(ledger, "people") == Fraction(7, 10)
        ledger.verify()


CHANGES: list[dict[str, Any]] = [
    {"budget": PureDP(2)},
    {"unit": "visit", "rows_per_person": 3},
    {"population": "others"},
    {"approval_above": PureDP("0.1")},
    {"fingerprint": "cd"},
    {"rows_per_person": 2, "unit": ROW},
]


def test_reopening_with_something_else_is_an_error(place: Place) -> None:
    said: dict[str, Any] = {
        "population": "people",
        "budget": PureDP(1),
        "domains": {"amount": (0, 500)},
        "fingerprint": "ab",
    }
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(2), unit="person")
        ledger.population("others", budget=PureDP(2), unit="person")
        ledger.dataset("d", **said)
    with place.open() as ledger:
        entries = len(ledger.history())
        assert ledger.dataset("d", **said).budget == PureDP(1, unit=unit("person"))
        assert ledger.dataset("d") == ledger.dataset("d", **said)
        for change in CHANGES:
            with pytest.raises(LedgerMismatch):
                ledger.dataset("d", **(said | change))
            with pytest.raises(LedgerMismatch):
                ledger.dataset("d", **change)
        for budget, protected in ((PureDP(3), "person"), (PureDP(2), "household"), (ApproxDP(2, "1e-9"), "person")):
            with pytest.raises(LedgerMismatch):
                ledger.population("people", budget=budget, unit=protected)
        assert len(ledger.history()) == entries


def test_other_domains_are_named_column_by_column_with_the_way_out(place: Place) -> None:
    text = {"kind": "text", "nullable": True}
    first = {
        "amount": text,
        "age": {"kind": "integer", "nullable": True, "low": "0", "high": "99"},
        "region": {**text, "categories": list("abcdefgh")},
        "code": text,
        "same": text,
    }
    second = {
        "amount": {"kind": "real", "nullable": True, "low": "0", "high": "500"},
        "age": {"kind": "integer", "nullable": False, "low": "0", "high": "99"},
        "region": {**text, "categories": list("abcdefgx")},
        "code": {**text, "longest": 3},
        "same": text,
    }
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(2), unit="person")
        ledger.dataset("d", population="people", domains={"d": first})
        ledger.reserve(Charge(Laplace(10), dataset="d"))
        with pytest.raises(LedgerMismatch) as refused:
            ledger.dataset("d", population="people", domains={"d": second})
        assert all(name in refused.value.message for name in ("'d'", "age", "amount", "code", "1 more"))
        assert refused.value.hint is not None
        assert 'name="d_2" with population="people"' in refused.value.hint
        with pytest.raises(LedgerMismatch, match=r"region: .* x; .* h;"):
            ledger.dataset("d", population="people", domains={"d": {**first, "region": second["region"]}})
        with pytest.raises(LedgerMismatch, match="budget"):
            ledger.population("people", budget=PureDP(3), unit="person")


def test_the_same_table_under_a_second_name_needs_the_owners_word(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.population("twins", budget=PureDP(1))
        ledger.dataset("d", population="people", fingerprint="ab")
        for population in ("people", "twins"):
            with pytest.raises(SameTable, match="registered as 'd'"):
                ledger.dataset("e", population=population, fingerprint="ab")
        ledger.dataset("e", population="people", fingerprint="ab", owner_confirms="a view for another team")
        ledger.dataset("f", population="people", fingerprint="ef")
        with pytest.raises(SameTable):
            ledger.new_version("f", version="2", fingerprint="ab")
        ledger.new_version("f", version="2", fingerprint="gh")
        ledger.new_version("f", version="2", fingerprint="gh")
        with pytest.raises(LedgerMismatch, match="already had"):
            ledger.new_version("f", version="1", fingerprint="xy")
        confirmed = [entry.content.get("owner_confirms") for entry in ledger.history()]
        assert "a view for another team" in confirmed
        assert [entry.content["version"] for entry in ledger.history() if entry.kind == "version"] == ["2"]


GROUPED = [
    (Laplace(10), PureDP("0.4")),
    (Pure("0.1"), PureDP("0.4")),
    (AboveThreshold("0.1"), PureDP("0.4")),
    (Geometric(10, 1), PureDP("0.4")),
    (Gaussian(8), GaussianDP("0.5")),
    (Composed([Laplace(20), Pure("0.05")]), PureDP("0.4")),
    (Repeated(Laplace(20), 2), PureDP("0.4")),
    (Parallel([Pure("0.1"), Pure("0.05")]), PureDP("0.4")),
]


@pytest.mark.parametrize(("event", "cost"), GROUPED)
def test_rows_join_a_population_of_persons_as_groups(event: Any, cost: Guarantee) -> None:
    from giveortake.ledger import open as open_ledger  # noqa: PLC0415

    budget = PureDP(1) if isinstance(cost, PureDP) else GaussianDP(1)
    with open_ledger(":memory:") as ledger:
        ledger.population("people", budget=budget, unit="person")
        with pytest.raises(LedgerMismatch, match="rows_per_person"):
            ledger.dataset("rows", population="people", unit=ROW)
        ledger.dataset("rows", population="people", unit=ROW, rows_per_person=4, budget=budget)
        ledger.reserve(Charge(event, dataset="rows"))
        spent = {level.name: level.spent for level in ledger.levels()}
        if isinstance(cost, PureDP):
            assert spent == {"people": cost.epsilon, "rows": cost.epsilon / 4}
        else:
            assert spent == {"people": Fraction(1, 4), "rows": Fraction(1, 64)}
        ledger.verify()


def test_caps_do_not_span_populations_and_rows_do_not_hold_people(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1), unit="person")
        ledger.population("rows", budget=PureDP(1))
        ledger.dataset("d", population="people")
        ledger.dataset("e", population="rows")
        with pytest.raises(LedgerMismatch, match="different people"):
            ledger.analyst("ann", datasets=["d", "e"])
        with pytest.raises(LedgerMismatch):
            ledger.dataset("f", population="rows", unit="person")
        with pytest.raises(InvalidParameter, match="not needed"):
            ledger.dataset("f", population="people", rows_per_person=3)
        with pytest.raises(LedgerMismatch, match="neighbours"):
            ledger.dataset("f", population="people", budget=PureDP(1, neighbours="change-one"))
        with pytest.raises(NotFound, match="'g'"):
            ledger.reserve(Charge(TENTH, dataset="g"))
        with pytest.raises(NotFound, match="people, rows"):
            ledger.dataset("g", population="nobody")
        with pytest.raises(InvalidParameter):
            ledger.population("bad\nname", budget=PureDP(1))


def test_raising_a_cap_is_an_entry_and_lowering_it_under_what_is_spent_is_refused(place: Place) -> None:
    with place.open() as ledger:
        level = ledger.population("people", budget=PureDP("0.3"))
        ledger.dataset("d", population="people")
        for _ in range(3):
            ledger.reserve(Charge(TENTH, dataset="d"))
        with pytest.raises(BudgetExceeded):
            ledger.change_budget(level, PureDP("0.29"), reason="too generous")
        raised = ledger.change_budget(level, PureDP("0.4"), reason="the board agreed")
        assert (raised.spent, raised.remaining) == (Fraction(3, 10), Fraction(1, 10))
        ledger.reserve(Charge(TENTH, dataset="d"))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(TENTH, dataset="d"))
        race = ledger.change_budget(level, ApproxDP(1, "1e-6"), reason="a weaker promise")
        assert race.spent["ε"] == Fraction(4, 10)
        lowered = ledger.change_budget(level, PureDP("0.4"), reason="back, to exactly what is spent")
        assert lowered.remaining == 0
        assert [entry.content["reason"] for entry in ledger.history() if entry.kind == "budget"] == [
            "the board agreed",
            "a weaker promise",
            "back, to exactly what is spent",
        ]
        ledger.verify()
    with place.open() as ledger:
        assert ledger.population("people", budget=PureDP("0.4")).remaining == 0


def test_a_cap_given_later_counts_all_that_was_asked_before(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        level = ledger.dataset("d", population="people")
        assert (level.budget, level.spent) == (None, None)
        ledger.reserve(Charge(TENTH, dataset="d"))
        with pytest.raises(LedgerMismatch, match="neighbours"):
            ledger.change_budget(level, PureDP(1, neighbours="change-one"), reason="another relation")
        capped = ledger.change_budget(level, PureDP("0.2"), reason="from now on")
        assert capped.remaining == Fraction(1, 10)
        ledger.verify()


def test_what_is_affordable_follows_every_charge_whoever_made_it(place: Place) -> None:
    with place.open() as ledger, place.open() as other:
        ledger.population("people", budget=PureDP(1), unit="person")
        ledger.dataset("visits", population="people")
        for left in (Fraction(1), Fraction(9, 10), Fraction(8, 10)):
            for one in (ledger, other, other):  # a second look does not search again
                standing, affordable = one.rest("visits")
                assert standing == one.deciding("visits")
                assert affordable == one.affordable(standing) == left
            ledger.reserve(Charge(Pure("1/10"), dataset="visits"))


CONTENT, OTHER = (hashlib.sha256(text).hexdigest() for text in (b"a table", b"one row fewer"))


def put(ledger: Ledger, name: str, fingerprint: str = CONTENT, **said: Any) -> Registered:
    said = {"budget": PureDP(1), "unit": "person", "domains": {}, "first": f"people of {name}", **said}
    return ledger.register(name, fingerprint=fingerprint, **said)


def test_on_a_ledger_that_knows_people_the_owner_says_whose_a_table_is(any_place: Place) -> None:
    with any_place.open() as ledger:
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


def test_of_two_who_register_the_first_table_at_once_one_has_to_say_whose_it_is(any_place: Place) -> None:
    def attempt(name: str) -> str:
        with any_place.open() as ledger:
            try:
                return put(ledger, name, name).population
            except SameTable:
                return "refused"

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(attempt, "abcd"))
    assert sorted(found)[1:] == ["refused"] * 3 or found.count("refused") == 3


def test_a_registration_that_was_killed_half_way_is_ended_by_the_next(any_place: Place) -> None:
    with any_place.open() as ledger:
        ledger.population("people of visits", budget=PureDP(1), unit="person")
        assert put(ledger, "visits").population == "people of visits"


def test_fingerprints_are_keyed_with_a_secret_that_is_not_in_the_ledger(any_place: Place) -> None:
    with any_place.open() as ledger:
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
    if isinstance(any_place, FilePlace):
        assert secret not in any_place.path.read_bytes()
        assert any_place.mark_file().with_name("mark.secret").read_bytes() == secret


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
    any_place = FilePlace(tmp_path)
    with any_place.open() as ledger:
        put(ledger, "visits")
    assert cli.main(["ledger", "export", any_place.where]) == 0
    assert CONTENT not in capsys.readouterr().out


def test_domains_may_change_until_a_question_is_charged_and_each_declaration_is_a_new_version(any_place: Place) -> None:
    found, bounded, other = ({"t": {"n": {"kind": kind}}} for kind in ("text", "real", "integer"))
    with any_place.open() as ledger:
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
    with any_place.open() as ledger:
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
    any_place = FilePlace(tmp_path)
    with any_place.open() as ledger:
        put(ledger, "t", domains={"t": {}})
    before = any_place.backup()
    with any_place.open() as ledger:
        ledger.reserve(Charge(Laplace(10), dataset="t"))
    any_place.put_back(before)
    restore(any_place.where, reason="an old copy")
    with any_place.open() as ledger:
        assert not ledger.is_open("t")


def test_a_table_that_changed_when_its_domains_were_declared_has_a_version_for_each(any_place: Place) -> None:
    with any_place.open() as ledger:
        put(ledger, "t", declared=False)
        assert put(ledger, "t", OTHER, domains={"t": {}}).version == "3"
        assert [version for version, _ in ledger.versions("t")] == ["1", "2", "3"]


def test_no_two_versions_have_one_name(any_place: Place) -> None:
    with any_place.open() as ledger:
        put(ledger, "t", declared=False)
        ledger.new_version("t", version="3", fingerprint=OTHER)
        ledger.new_version("t", version="4", fingerprint=CONTENT)
        assert put(ledger, "t", OTHER, domains={"t": {}}).version == "6"  # declared, and with other content
        assert [version for version, _ in ledger.versions("t")] == ["1", "3", "4", "5", "6"]


SMALL = gt.accounting.events.Pure("0.01")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger"
    with gt.ledger.open(path) as ledger:
        ledger.population("patients", budget=gt.PureDP(2), unit="person_id")
        ledger.dataset("visits", population="patients")
        ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1), questions=1)
    return path


def ask(ledger: Ledger, key: str) -> None:
    ledger.reserve(Charge(SMALL, dataset="visits", analyst="ann", key=key, name=key))


def test_a_changed_limit_decides_about_the_next_charge_and_what_was_before_still_counts(path: Path) -> None:
    with gt.ledger.open(path) as ledger:
        (ann,) = ledger.levels(analyst="ann")
        ask(ledger, "one")
        with pytest.raises(AllowanceExceeded):
            ask(ledger, "two")
        ledger.change_limits(ann, questions=2, reason="a course")
        ask(ledger, "two")
        with pytest.raises(AllowanceExceeded):
            ask(ledger, "three")
        ledger.change_limits(ann, questions="none", failures=5, reason="it goes on")
        ask(ledger, "three")
        changed = ledger.change_limits(ann, approval_above=gt.PureDP("0.001"), reason="small ones")
        assert changed.approval_above == gt.PureDP("0.001", unit=gt.unit("person_id"))
        with pytest.raises(ApprovalRequired):
            ask(ledger, "four")
        ledger.change_limits(ann, approval_above="none", reason="trusted")
    with gt.ledger.open(path) as ledger:  # all of it is in the chain
        ask(ledger, "four")
        (allowance,) = (allowance for allowance in ledger.failures() if allowance.name == "ann")
        assert (allowance.allowed, allowance.left) == (5, 5)
        assert len([entry for entry in ledger.entries(analyst="ann") if entry.kind == "limits"]) == 4
        ledger.verify()


def test_who_is_registered_again_is_compared_with_the_limits_of_now(path: Path) -> None:
    with gt.ledger.open(path) as ledger:
        (ann,) = ledger.levels(analyst="ann")
        ledger.change_limits(ann, questions=7, reason="a course")
        ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1), questions=7)
        with pytest.raises(LedgerMismatch):
            ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1), questions=1)


def test_a_change_of_nothing_or_of_what_a_data_set_does_not_count_is_refused(path: Path) -> None:
    with gt.ledger.open(path) as ledger:
        before = len(ledger.history())
        (visits,) = (level for level in ledger.levels() if level.kind == "data set")
        (ann,) = ledger.levels(analyst="ann")
        for level, limits in (
            (visits, {"questions": 3}),
            (visits, {"failures": 3}),
            (ann, {}),
            (ann, {"failures": -1}),
        ):
            with pytest.raises(InvalidParameter):
                ledger.change_limits(level, reason="?", **limits)  # type: ignore[arg-type]  # (numbers)
        assert len(ledger.history()) == before
        ledger.change_limits(visits, approval_above=gt.PureDP("0.1"), reason="large ones wait")


def spending(ledger: Ledger, budget: Guarantee, people: str = "people", data: str = "d") -> None:
    ledger.population(people, budget=budget)
    ledger.dataset(data, population=people)
    event = TENTH if isinstance(budget, PureDP | ApproxDP) else Gaussian(10)
    for number in range(3):
        ledger.reserve(Charge(event, dataset=data, name=str(number)))


BUDGETS: list[Guarantee] = [
    PureDP(1, neighbours="add-remove"),
    ApproxDP(1, "1e-6"),
    ZCDP(1, neighbours="add-remove"),
    GaussianDP(1, neighbours="add-remove"),
    RenyiDP({2: 1, 8: 4}, neighbours="add-remove"),
]


def test_a_budget_is_lowered_to_what_was_spent_in_one_act(place: Place) -> None:
    with place.open() as ledger:
        for number, budget in enumerate(BUDGETS):
            spending(ledger, budget, people=f"people {number}", data=f"d{number}")
            before = ledger.population(f"people {number}")
            lowered = ledger.change_budget(before, "spent", reason="the study is over")
            assert type(lowered.budget) is type(budget)
            assert lowered.own is not None
            assert lowered.own > Fraction(99, 100)
            with pytest.raises(BudgetExceeded):
                ledger.reserve(Charge(TENTH, dataset=f"d{number}", name="more"))
        ledger.verify()


def test_a_pure_budget_is_lowered_exactly_and_what_was_given_stays_given(place: Place) -> None:
    with place.open() as ledger:
        spending(ledger, PureDP(1))
        ledger.analyst("ann", datasets=["d"], budget=PureDP("0.5"))
        ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="q"))
        people, ann = ledger.levels()[0], ledger.levels(analyst="ann")[0]
        assert ledger.change_budget(ann, "spent", reason="left").budget == PureDP("0.1")
        assert ledger.change_budget(people, "spent", reason="over").budget == PureDP("0.8")
        ledger.verify()


def test_a_budget_is_lowered_while_others_charge(place: Place) -> None:
    """Whoever reads what was spent and then states it loses the race; one act does not."""
    with place.open() as ledger:
        spending(ledger, PureDP(1))
        level = ledger.levels()[0]

        def charge(_: int) -> int:
            with place.open() as other:
                try:
                    other.reserve(Charge(Laplace(100), dataset="d"))
                except BudgetExceeded:
                    return 0
                return 1

        with ThreadPoolExecutor(2) as pool:
            charging = [pool.submit(charge, number) for number in range(6)]
            lowered = ledger.change_budget(level, "spent", reason="over")
            charged = sum(each.result() for each in charging)
        assert lowered.budget == PureDP(Fraction(3, 10) + Fraction(charged, 100))
        assert ledger.verify().reservations == 3 + charged


def test_what_has_no_known_spending_is_not_lowered_to_it(place: Place) -> None:
    with place.open() as ledger:
        spending(ledger, PureDP(1))
        with pytest.raises(LedgerMismatch):
            ledger.change_budget(ledger.levels()[1], "spent", reason="it has no cap")


def test_the_command_lowers_a_budget_to_what_was_spent(place: Place) -> None:
    with place.open() as ledger:
        spending(ledger, PureDP(1))
    line = ["admin", "budget", "change", "--population", "people", "--budget", "spent", "--reason", "over"]
    assert cli.main([*line, "--ledger", place.where]) == 0
    with place.open() as ledger:
        assert ledger.levels()[0].budget == PureDP("0.3")


NAMES = ["Ann", "ANN ", " ann", "\uff41nn", "custodian", "Custodian", "\uff23ustodian "]


def test_a_name_that_reads_as_another_or_as_the_custodian_is_refused(place: Place) -> None:
    with place.open() as ledger:
        spending(ledger, PureDP(1))
        ledger.analyst("ann", datasets=["d"], budget=PureDP("0.1"))
        before = len(ledger.history())
        for name in NAMES:
            with pytest.raises(InvalidParameter):
                ledger.analyst(name, datasets=["d"], budget=PureDP("0.1"))
        assert len(ledger.history()) == before
        ledger.analyst("ann", datasets=["d"], budget=PureDP("0.1"))  # the name itself is known
        ledger.analyst("anna", datasets=["d"], budget=PureDP("0.1"))


def test_a_reason_is_as_long_in_the_ledger_as_the_service_says(place: Place) -> None:
    longest = routes.REASON["maxLength"]
    with place.open() as ledger:
        spending(ledger, PureDP(1))
        level = ledger.levels()[0]
        ledger.change_budget(level, PureDP(2), reason="x" * longest)
        with pytest.raises(InvalidParameter):
            ledger.change_budget(level, PureDP(3), reason="x" * (longest + 1))
