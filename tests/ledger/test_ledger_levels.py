"""One suite for both backends: who pays, who may ask, and what cannot be redefined."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from ledger_places import Place
from ledger_places import place_of_rules as place

from giveortake.errors import (
    AccessDenied,
    ApprovalRequired,
    BudgetExceeded,
    InvalidParameter,
    LedgerMismatch,
    NotFound,
    SameTable,
)
from giveortake.ledger import Charge, Ledger
from giveortake.privacy import ROW, ApproxDP, GaussianDP, Guarantee, PureDP, unit
from giveortake.privacy.events import AboveThreshold, Composed, Gaussian, Geometric, Laplace, Parallel, Pure, Repeated

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
