"""Allotments and changed budgets add up, whoever asks in whatever order."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_places import Place, everyone
from ledger_places import place_of_rules as place

from giveortake.errors import (
    AccessDenied,
    BudgetExceeded,
    GiveOrTakeError,
    InvalidParameter,
    LedgerDamaged,
    LedgerMismatch,
    NotFound,
)
from giveortake.ledger import Charge, Ledger
from giveortake.ledger import open as open_ledger
from giveortake.ledger.chain.entries import canonical, digest
from giveortake.ledger.verification import Replay
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, events
from giveortake.privacy.events import Event, Gaussian, Laplace, Pure
from tiers import tiered

TENTH = Laplace(10)


def begin(ledger: Ledger, budget: Guarantee, **more: Any) -> None:
    ledger.population("people", budget=budget, **more)
    ledger.dataset("d", population="people")


def fitting(promise: Callable[[str], Guarantee], whole: Guarantee, each: str) -> int:
    """How many allotments of that size fit."""
    with open_ledger(":memory:") as ledger:
        begin(ledger, whole)
        for number in itertools.count():
            try:
                ledger.analyst(f"a{number}", datasets=["d"], budget=promise(each))
            except BudgetExceeded:
                ledger.verify()
                return number
    return -1


@pytest.mark.parametrize(
    ("promise", "whole", "each", "count"),
    [
        (PureDP, PureDP(1), "0.1", 10),
        (ZCDP, ZCDP("0.5"), "0.1", 5),
        (GaussianDP, GaussianDP(1), "0.5", 4),  # μ² adds, not μ
        (PureDP, ApproxDP(1, "1e-6"), "0.1", 10),  # however many a race would admit
        (lambda e: ApproxDP(e, "1e-7"), ApproxDP(1, "1e-6"), "0.1", 10),
        (lambda e: ApproxDP(e, "4e-7"), ApproxDP(1, "1e-6"), "0.1", 2),  # δ adds as well
        (PureDP, ZCDP("0.02"), "0.1", 4),  # ε²/2 each
    ],
)
def test_allotments_add_up_in_the_currency_of_the_promise(
    promise: Callable[[str], Guarantee], whole: Guarantee, each: str, count: int
) -> None:
    assert fitting(promise, whole, each) == count


def test_promises_that_do_not_add_up_are_no_allotments() -> None:
    for whole, part in ((PureDP(1), ApproxDP("0.1", "1e-9")), (GaussianDP(1), PureDP("0.1")), (ZCDP(1), GaussianDP(1))):
        with open_ledger(":memory:") as ledger:
            begin(ledger, whole)
            with pytest.raises(LedgerMismatch):
                ledger.analyst("ann", datasets=["d"], budget=part)
            with pytest.raises(InvalidParameter):
                ledger.analyst("ann", datasets=["d"])


def test_the_custodian_holds_the_rest_and_an_allotment_never_comes_back(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger, PureDP(1))
        ann = ledger.analyst("ann", datasets=["d"], budget=PureDP("0.6"))
        assert ledger.reserve(Charge(Pure("0.3"), dataset="d")).charged == ("people", "d")
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(Pure("0.2"), dataset="d"))
        assert ledger.reserve(Charge(Pure("0.2"), dataset="d", analyst="ann")).charged == ("ann",)
        ledger.revoke("ann", reason="left")
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(Pure("0.2"), dataset="d"))
        ledger.readmit("ann", reason="came back")
        ledger.change_budget(ann, PureDP("0.2"), reason="less is enough")
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(Pure("0.2"), dataset="d"))
        ledger.change_budget(ann, PureDP("0.7"), reason="more is needed")
        assert ledger.population("people").remaining == 0
        with pytest.raises(BudgetExceeded, match="grant"):
            ledger.change_budget(ann, PureDP("0.8"), reason="more than there is")
        assert ledger.population("people").allotments == (PureDP("0.7"),)
        ledger.verify()
    with place.open() as ledger:
        ledger.verify()


@pytest.mark.parametrize(
    ("whole", "granted", "other"),
    [
        (RenyiDP({32: 3}), PureDP(2), ZCDP("1.9")),  # D(32) = 60.8: it was taken for less than ε²/2
        (ZCDP(2), PureDP(1), ZCDP("0.4")),  # people who become pure would not know that this is none
        (ZCDP(2), ZCDP("0.4"), PureDP(1)),
    ],
)
def test_an_allotment_stays_of_its_kind(whole: Guarantee, granted: Guarantee, other: Guarantee) -> None:
    with open_ledger(":memory:") as ledger:
        begin(ledger, whole)
        ann = ledger.analyst("ann", datasets=["d"], budget=granted)
        with pytest.raises(LedgerMismatch, match="neither"):
            ledger.change_budget(ann, other, reason="another kind")
        assert [level.budget for level in ledger.levels()] == [whole, None, granted]
        ledger.verify()


def test_a_chain_in_which_an_allotment_became_another_kind_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("giveortake.ledger.budgets.require_same_kind", lambda *_: None)
    with open_ledger(":memory:") as ledger:
        begin(ledger, RenyiDP({32: 3}))
        ann = ledger.analyst("ann", datasets=["d"], budget=PureDP(2))
        ledger.change_budget(ann, ZCDP("1.9"), reason="another kind")
        with pytest.raises(LedgerDamaged):
            ledger.verify()


def test_a_pure_allotment_may_become_approximate_and_both_parts_are_counted() -> None:
    with open_ledger(":memory:") as ledger:
        begin(ledger, ApproxDP(2, "1e-6"))
        ann = ledger.analyst("ann", datasets=["d"], budget=PureDP("0.6"))
        ledger.change_budget(ann, ApproxDP("0.5", "1e-7"), reason="with a δ")
        assert ledger.population("people").allotments == (ApproxDP("0.6", "1e-7"),)
        ledger.verify()


def test_the_rest_of_an_approximate_budget_is_a_race_that_begins_anew_until_its_first_charge(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger, ApproxDP(1, "1e-6"))
        ledger.analyst("ann", datasets=["d"], budget=ApproxDP("0.5", "5e-7"))
        (people,) = (level for level in ledger.levels() if level.kind == "population")
        assert ledger.affordable(people) == Fraction(1, 2)
        ledger.reserve(Charge(Pure("0.1"), dataset="d"))
        with pytest.raises(BudgetExceeded):  # only the pot for keys still has a δ to give
            ledger.analyst("bob", datasets=["d"], budget=ApproxDP("0.1", "1e-7"))
        ledger.analyst("bob", datasets=["d"], budget=ApproxDP("0.1", "1e-8"))
        cyd = ledger.analyst("cyd", datasets=["d"], budget=PureDP("0.1"))
        ledger.change_budget(cyd, PureDP("0.2"), reason="more")
        assert ledger.affordable(people) == Fraction(1, 10)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(Pure("0.3"), dataset="d"))
        ledger.change_budget(people, ApproxDP(2, "2e-6"), reason="a weaker promise")
        assert ledger.affordable(people) == Fraction(11, 10)
        ledger.analyst("dan", datasets=["d"], budget=PureDP("0.5"))
        ledger.verify()
    with place.open() as ledger:
        ledger.verify()
        before = ledger.levels()
    with place.open() as ledger:
        assert ledger.levels() == before


def test_everything_may_be_granted_and_then_nothing_is_left() -> None:
    for whole, halves in (
        (ApproxDP(1, "1e-6"), ApproxDP("0.5", "5e-7")),
        (ApproxDP(1, "1e-6"), PureDP("0.5")),
        (PureDP(1), PureDP("0.5")),
        (GaussianDP(5), GaussianDP(3)),
    ):
        with open_ledger(":memory:") as ledger:
            begin(ledger, whole)
            ledger.analyst("ann", datasets=["d"], budget=halves)
            ledger.analyst("bob", datasets=["d"], budget=GaussianDP(4) if isinstance(whole, GaussianDP) else halves)
            for event in (Pure("1e-9"), Gaussian(10**9)):
                assert not ledger.admits(event, dataset="d")
            with pytest.raises(BudgetExceeded):
                ledger.reserve(Charge(Gaussian(10**9) if isinstance(whole, GaussianDP) else Pure("1e-9"), dataset="d"))
            ledger.verify()


def test_a_capped_data_set_grants_too_and_one_in_another_unit_does_not() -> None:
    with open_ledger(":memory:") as ledger:
        ledger.population("people", budget=PureDP(1), unit="person")
        ledger.dataset("d", population="people", budget=PureDP("0.5"))
        ledger.dataset("e", population="people")
        ledger.dataset("rows", population="people", unit=ROW, rows_per_person=2, budget=PureDP("0.5"))
        ledger.analyst("ann", datasets=["d", "e"], budget=PureDP("0.4"))
        with pytest.raises(BudgetExceeded, match="data set 'd' cannot grant"):
            ledger.analyst("bob", datasets=["d"], budget=PureDP("0.2"))
        with pytest.raises(LedgerMismatch):
            ledger.analyst("bob", datasets=["rows"], budget=PureDP("0.2"))
        ledger.analyst("bob", datasets=["e"], budget=PureDP("0.2"))
        ledger.verify()


def test_people_of_before_stay_pooled_and_pooling_can_be_chosen(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger, PureDP(1), analysts="pooled")
        ledger.analyst("ann", datasets=["d"], budget=PureDP("0.9"))
        ledger.analyst("bob", datasets=["d"], budget=PureDP("0.9"))
        assert ledger.reserve(Charge(Pure("0.8"), dataset="d", analyst="ann")).charged == ("people", "d", "ann")
        with pytest.raises(BudgetExceeded, match="population 'people'"):
            ledger.reserve(Charge(Pure("0.3"), dataset="d", analyst="bob"))
        with pytest.raises(LedgerMismatch, match="another analysts"):
            ledger.population("people", budget=PureDP(1), analysts="allotted")
        ledger.verify()


# -- one analyst and the others -----------------------------------------------------------------------------------

STEPS = [("reserve", "0.1"), ("reserve", "0.3"), ("admits", "0.2"), ("affordable", ""), ("other", "d"), ("other", "z")]


def told(ledger: Ledger, analyst: str, step: tuple[str, str], number: int) -> object:
    """Everything that an analyst is told when they take a step."""
    what, amount = step
    try:
        match what:
            case "reserve":
                paid = ledger.reserve(Charge(Pure(amount), dataset=f"of {analyst}", analyst=analyst, name=amount))
                answer = paid.answer if paid.settled else ledger.settle(paid, f"{analyst} {number}")
                return paid.charged, paid.fresh, paid.settled, paid.version, answer
            case "admits":
                return ledger.admits(Pure(amount), dataset=f"of {analyst}", analyst=analyst)
            case "other":
                return ledger.admits(TENTH, dataset=amount, analyst=analyst)
    except GiveOrTakeError as error:
        return type(error).__name__, error.message, error.hint, getattr(error, "remaining", None)
    (level,) = ledger.levels(analyst=analyst)
    return ledger.affordable(level), level.spent, level.remaining, level.share


@pytest.mark.parametrize(
    ("whole", "each", "before", "after"),
    [
        (PureDP(1), PureDP("1/4"), Fraction(1, 10), Fraction(1, 10)),
        (GaussianDP(1), GaussianDP("1/2"), Fraction(1, 4), Fraction(1, 4)),
        (ZCDP(1), ZCDP("1/4"), Fraction(1, 200), Fraction(1, 200)),
        (ApproxDP(1, "1e-6"), ApproxDP("1/4", "1e-8"), Fraction(1, 10), None),
        (RenyiDP({2: 1}), ZCDP("1/8"), None, None),
    ],
)
def test_what_is_given_away_is_told_apart_from_what_is_spent(
    whole: Guarantee, each: Guarantee, before: Fraction | None, after: Fraction | None
) -> None:
    """Grants, a question of the custodian's own, and a grant after it, which an (ε, δ) budget charges to its race."""
    event = Gaussian(2) if isinstance(whole, GaussianDP) else TENTH
    with open_ledger(":memory:") as ledger:
        begin(ledger, whole)
        assert (ledger.population("people").given, ledger.population("people").own) == (Fraction(0), Fraction(0))
        ledger.analyst("ann", datasets=["d"], budget=each)
        granted = ledger.population("people")
        assert (granted.given, granted.own) == (Fraction(1, 4), Fraction(0))
        ledger.reserve(Charge(event, dataset="d", name="q"))
        asked = ledger.population("people")
        assert asked.given == Fraction(1, 4)
        assert asked.own is not None
        assert 0 < asked.own < Fraction(3, 4)
        assert before in {None, asked.own}
        later = replace(each, delta=Fraction(1, 10**9)) if isinstance(each, ApproxDP) else each
        ledger.analyst("bob", datasets=["d"], budget=later)
        found = ledger.population("people")
        assert found.own is not None
        assert (found.given, after) in {(Fraction(1, 2), found.own), (found.given, None)}
        assert found.given + found.own <= 1
        ann = ledger.levels(analyst="ann")[0]
        assert ann.given == 0


def raised_after_a_question() -> Ledger:
    """People of ε = 3 of whom ann holds 1, a question of the custodian's for 0.5, and then 1.2 for ann."""
    ledger = open_ledger(":memory:")
    begin(ledger, ApproxDP(3, "1e-6"))
    ann = ledger.analyst("ann", datasets=["d"], budget=PureDP(1))
    ledger.reserve(Charge(Pure("0.5"), dataset="d"))
    ledger.change_budget(ann, PureDP("1.2"), reason="more is needed")
    return ledger


def test_a_raise_that_is_charged_whole_counts_as_given_twice_and_never_as_spent() -> None:
    with raised_after_a_question() as ledger:
        people = ledger.population("people")
        assert people.own == Fraction(1, 6)
        assert people.given == (1 + Fraction("1.2")) / 3
        assert people.given + people.own == Fraction("0.9")
        admission = ledger.admission(Charge(Pure("0.15"), dataset="d", version="1"))
        assert admission.used_after == Fraction("0.95")
        ledger.verify()


def test_a_raise_that_does_not_fit_names_the_ways_out_and_a_second_name_is_one() -> None:
    with raised_after_a_question() as ledger:
        bob = ledger.analyst("bob", datasets=["d"], budget=PureDP("0.1"))
        with pytest.raises(BudgetExceeded) as charged_before:  # a raise of what is charged costs its difference alone
            ledger.change_budget(bob, PureDP("0.4"), reason="more than there is")
        assert "another name" not in str(charged_before.value.hint)
    with open_ledger(":memory:") as ledger:
        begin(ledger, ApproxDP(3, "1e-6"))
        ann = ledger.analyst("ann", datasets=["d"], budget=PureDP(1))
        ledger.reserve(Charge(Pure("0.5"), dataset="d"))
        with pytest.raises(BudgetExceeded, match="grant") as refused:
            ledger.change_budget(ann, PureDP("1.6"), reason="too late")
        assert "another name" in str(refused.value.hint)
        with pytest.raises(BudgetExceeded, match="whole budget") as too_much:
            ledger.change_budget(ann, PureDP(4), reason="more than there is")
        assert "another name" not in str(too_much.value.hint)
        ledger.analyst("ann too", datasets=["d"], budget=PureDP("0.6"))
        ledger.verify()


def test_a_grant_that_comes_after_the_first_question_names_what_still_fits() -> None:
    with open_ledger(":memory:") as ledger:
        begin(ledger, ApproxDP(2, "1e-6"))
        ledger.analyst("ann", datasets=["d"], budget=ApproxDP("0.5", "1e-7"))
        ledger.reserve(Charge(Pure("0.1"), dataset="d"))
        with pytest.raises(BudgetExceeded, match="δ = 9e-8") as refused:
            ledger.analyst("bob", datasets=["d"], budget=ApproxDP("0.5", "1e-7"))
        assert "ε = 0.5, δ = 9e-8" in str(refused.value.hint)
        ledger.analyst("bob", datasets=["d"], budget=ApproxDP("0.5", "9e-8"))
        with pytest.raises(BudgetExceeded) as used_up:
            ledger.analyst("eve", datasets=["d"], budget=ApproxDP("0.5", "1e-8"))
        assert "ε = 0.5 without" in str(used_up.value.hint)
        ledger.analyst("eve", datasets=["d"], budget=PureDP("0.5"))
        ledger.verify()


def views(ledger: Ledger, analyst: str) -> object:
    kept = ledger.entries(analyst=analyst)
    return [(entry.number, entry.kind, {k: v for k, v in entry.content.items() if k != "id"}) for entry in kept]


@settings(max_examples=tiered(30, 200))
@given(st.lists(st.tuples(st.sampled_from(["ann", "bob", None]), st.sampled_from(STEPS)), max_size=14))
def test_what_an_analyst_is_told_is_a_function_of_their_own_history(
    asked: list[tuple[str | None, tuple[str, str]]],
) -> None:
    promises = [(PureDP(1), PureDP("0.5")), (ApproxDP(1, "1e-6"), ApproxDP("0.5", "5e-7"))]
    for budget, allotment in promises:
        with everyone(budget, allotment, "ann", "bob") as together, everyone(budget, allotment, "ann", "bob") as alone:
            for number, (who, step) in enumerate(asked):
                if who is not None:
                    found = told(together, who, step, number)
                    if who == "ann":
                        assert found == told(alone, who, step, number)
                elif step[0] == "reserve" and together.admits(Pure(step[1]), dataset="of ann"):
                    together.reserve(Charge(Pure(step[1]), dataset="of ann", name=step[1]))
            assert views(together, "ann") == views(alone, "ann")
            together.verify()


def test_the_same_question_has_one_answer_for_each_of_those_who_paid_for_it(place: Place) -> None:
    askers = (None, "ann", "bob")
    with place.open() as ledger:
        begin(ledger, PureDP(1))
        for analyst in ("ann", "bob"):
            ledger.analyst(analyst, datasets=["d"], budget=PureDP("0.3"))
        for name in askers:
            reservation = ledger.reserve(Charge(TENTH, dataset="d", analyst=name, name="q"))
            assert (reservation.fresh, reservation.settled, len(reservation.charged) > 0) == (True, False, True)
            ledger.settle(reservation, f"the answer of {name}")
        for name in askers:
            again = ledger.reserve(Charge(TENTH, dataset="d", analyst=name, name="q"))
            assert (again.charged, again.answer) == ((), f"the answer of {name}")
        ledger.verify()


def test_a_name_that_is_not_theirs_is_as_unknown_as_one_that_does_not_exist(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger, PureDP(1))
        ledger.dataset("secret study", population="people")
        ledger.analyst("ann", datasets=["d"], budget=PureDP("0.5"))
        texts = set()
        for name in ("secret study", "no such one"):
            for ask in (
                lambda name=name: ledger.reserve(Charge(TENTH, dataset=name, analyst="ann")),
                lambda name=name: ledger.admits(TENTH, dataset=name, analyst="ann"),
                lambda name=name: ledger.levels(analyst="ann", dataset=name),
            ):
                with pytest.raises(NotFound) as found:
                    ask()
                texts.add(str(found.value).replace(name, "…"))
        (text,) = texts
        assert text.endswith("hint: there are: d")
        ledger.revoke("ann", reason="left")
        with pytest.raises(AccessDenied):
            ledger.reserve(Charge(TENTH, dataset="no such one", analyst="ann"))


def test_releases_have_names_that_count_nothing_and_belong_to_who_asked(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger, PureDP(1))
        for name in ("ann", "bob"):
            ledger.analyst(name, datasets=["d"], budget=PureDP("0.5"))
        hers = ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="n"))
        his = ledger.reserve(Charge(TENTH, dataset="d", analyst="bob", name="n"))
        ledger.settle(hers, 41)
        assert (his.settled, len(hers.id), hers.id != his.id) == (False, 24, True)
        assert ledger.release(hers.id, analyst="ann").answer == ledger.release(hers.id).answer == 41
        assert ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="n")).id == hers.id
        for wrong in (his.id, "d/6", "6", "nothing"):
            with pytest.raises(NotFound, match="no release"):
                ledger.release(wrong, analyst="ann")
        kinds = [entry.kind for entry in ledger.entries(analyst="ann")]
        assert kinds == ["analyst", "reserved", "settled"]
        assert [entry.number for entry in ledger.entries(analyst="ann", after=1, limit=1)] == [2]
        assert "bob" not in json.dumps([dict(entry.content) for entry in ledger.entries(analyst="ann")])
        assert [entry.number for entry in ledger.entries(after=3, limit=2)] == [4, 5]


def test_a_chain_that_grants_without_taking_is_damaged() -> None:
    with open_ledger(":memory:") as ledger:
        begin(ledger, ApproxDP(1, "1e-6"))
        ledger.analyst("ann", datasets=["d"], budget=ApproxDP("0.5", "5e-7"))
        ledger.reserve(Charge(Pure("0.1"), dataset="d"))
        ledger.analyst("bob", datasets=["d"], budget=PureDP("0.1"))
        history = ledger.history()
    forgeries: list[tuple[int, Callable[[dict[str, Any]], None]]] = [
        (4, lambda content: content.pop("above")),
        (4, lambda content: content["above"].clear()),
        (6, lambda content: content["above"]["2"]["event"].update(epsilon="1/100")),
        (6, lambda content: content["above"].update({"2": history[3].content["above"]["2"]})),
        (4, lambda content: content["above"].update({"3": content["above"]["2"]})),
    ]
    for number, forge in forgeries:
        body = json.loads(history[number - 1].body)
        forge(body["content"])
        text = canonical(body)
        forged = replace(history[number - 1], content=body["content"], body=text, hash=digest(text))
        replay = Replay()
        for entry in history[: number - 1]:
            replay.take(entry)
        with pytest.raises(LedgerDamaged):
            replay.take(forged)
        replay.take(history[number - 1])


__all__ = ["place"]  # a fixture


@pytest.mark.parametrize(
    ("promise", "own", "more"),
    [
        (PureDP(1), Pure("1/10"), Pure("1/100")),
        (ZCDP("1/2"), events.ZCDP("19/200"), events.ZCDP("1/100")),  # ρ = 0.9²/2 is given
        (RenyiDP({2: 1}), events.ZCDP("19/200"), events.ZCDP("1/5")),
    ],
)
def test_what_an_approximate_promise_set_aside_is_charged_to_another_kind_of_promise(
    place: Place, promise: Guarantee, own: Event, more: Event
) -> None:
    """An allotment that is beside the race of the rest would be in nobody's filter any more."""
    with place.open() as ledger:
        begin(ledger, ApproxDP(1, "1e-6"))
        ledger.analyst("ann", datasets=["d"], budget=PureDP("9/10"))
        people = ledger.population("people")
        with pytest.raises(BudgetExceeded):
            ledger.change_budget(people, PureDP("1/2"), reason="less than is given")
        ledger.change_budget(people, promise, reason="another kind")
        ledger.reserve(Charge(Pure("9/10"), dataset="d", analyst="ann"))
        ledger.reserve(Charge(own, dataset="d"))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(more, dataset="d"))
        ledger.verify()
        before = ledger.levels()
    with place.open() as ledger:
        assert ledger.levels() == before
        ledger.change_budget(ledger.population("people"), ApproxDP(10, "1e-6"), reason="and back")
        ledger.analyst("bob", datasets=["d"], budget=PureDP("1/2"))
        ledger.verify()


def test_a_chain_that_forgot_what_was_set_aside_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("budgets", "chain.state"):
        monkeypatch.setattr(f"giveortake.ledger.{module}.charged_for", lambda level: level.granted)
    with open_ledger(":memory:") as ledger:
        begin(ledger, ApproxDP(1, "1e-6"))
        ledger.analyst("ann", datasets=["d"], budget=PureDP("9/10"))
        ledger.change_budget(ledger.population("people"), PureDP(1), reason="another kind")
        ledger.reserve(Charge(Pure(1), dataset="d"))
        with pytest.raises(LedgerDamaged):
            ledger.verify()


@pytest.mark.parametrize("whole", [PureDP(10), ApproxDP(10, "1e-6"), ZCDP(40)])
def test_a_data_set_is_capped_before_it_is_granted_and_not_after(whole: Guarantee, monkeypatch: Any) -> None:
    """A cap that comes later knows neither what was granted nor what was spent of it."""
    with open_ledger(":memory:") as ledger:
        begin(ledger, whole)
        (data,) = (level for level in ledger.levels() if level.kind == "data set")
        ledger.dataset("e", population="people")
        ledger.analyst("ann", datasets=["d"], budget=PureDP(5))
        ledger.reserve(Charge(Pure(5), dataset="d", analyst="ann"))
        with pytest.raises(LedgerMismatch, match="'ann'"):
            ledger.change_budget(data, PureDP(1), reason="a cap")
        (other,) = (level for level in ledger.levels() if level.name == "e")
        ledger.change_budget(other, whole, reason="a cap of what nobody was granted")
        ledger.verify()
        monkeypatch.setattr("giveortake.ledger.budgets.require_ungranted", lambda *_: None)
        ledger.change_budget(data, PureDP(1), reason="a cap")
        with pytest.raises(LedgerDamaged):
            ledger.verify()


def test_a_data_set_of_pooled_analysts_may_be_capped_later_by_what_they_spent() -> None:
    with open_ledger(":memory:") as ledger:
        begin(ledger, PureDP(10), analysts="pooled")
        ledger.analyst("ann", datasets=["d"])
        ledger.reserve(Charge(Pure(5), dataset="d", analyst="ann"))
        (data,) = (level for level in ledger.levels() if level.kind == "data set")
        with pytest.raises(BudgetExceeded):
            ledger.change_budget(data, PureDP(1), reason="less than is spent")
        ledger.change_budget(data, PureDP(6), reason="a cap")
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(Pure(2), dataset="d", analyst="ann"))
        ledger.verify()


PROMISES = st.tuples(st.sampled_from(["pure", "approximate", "zcdp"]), st.integers(1, 20))
ACTS = st.one_of(
    st.tuples(st.just("grant"), st.integers(1, 10)),
    st.tuples(st.just("change a grant"), st.integers(1, 12)),
    st.tuples(st.just("ask"), st.integers(1, 8)),
    st.tuples(st.just("promise"), PROMISES),
)


@settings(max_examples=tiered(40, 200))
@given(PROMISES, st.lists(ACTS, max_size=8))
def test_whatever_is_granted_asked_and_promised_anew_adds_up(first: tuple[str, int], acts: list[Any]) -> None:
    """Pure allotments and questions, by an oracle that adds what is promised to everybody in the promise's currency."""

    def promised(kind: str, tenths: int) -> Guarantee:
        epsilon = Fraction(tenths, 10)
        kinds = {"pure": PureDP(epsilon), "approximate": ApproxDP(epsilon, "1e-6"), "zcdp": ZCDP(epsilon**2 / 2)}
        return kinds[kind]

    granted: dict[str, Fraction] = {}
    asked: list[Fraction] = []
    with open_ledger(":memory:") as ledger:
        begin(ledger, promise := promised(*first))
        for act, amount in acts:
            try:
                match act:
                    case "grant":
                        ledger.analyst(name := f"a{len(granted)}", datasets=["d"], budget=PureDP(Fraction(amount, 10)))
                        granted[name] = Fraction(amount, 10)
                    case "change a grant" if granted:
                        (level,) = ledger.levels(analyst="a0")
                        ledger.change_budget(level, PureDP(Fraction(amount, 10)), reason="anew")
                        granted["a0"] = max(granted["a0"], Fraction(amount, 10))
                    case "ask":
                        ledger.reserve(Charge(Pure(Fraction(amount, 10)), dataset="d"))
                        asked.append(Fraction(amount, 10))
                    case "promise":
                        ledger.change_budget(ledger.population("people"), promised(*amount), reason="anew")
                        promise = promised(*amount)
            except BudgetExceeded:
                continue
            if isinstance(promise, ZCDP):
                assert sum((each**2 / 2 for each in (*granted.values(), *asked)), Fraction(0)) <= promise.rho
            elif isinstance(promise, PureDP):
                assert sum(granted.values(), Fraction(0)) + sum(asked, Fraction(0)) <= promise.epsilon
            else:
                assert isinstance(promise, ApproxDP)
                assert sum(granted.values(), Fraction(0)) <= promise.epsilon
        ledger.verify()


def test_an_allotment_of_a_promise_without_an_epsilon_is_a_part_of_its_delta() -> None:
    with open_ledger(":memory:") as ledger:
        begin(ledger, ApproxDP(0, "1e-4"))
        ledger.analyst("ann", datasets=["d"], budget=ApproxDP(0, "25e-6"))
        assert ledger.population("people").given == Fraction(1, 4)


UNITS = (1, 2)  # a question costs one or two units of ε = 0.1; its answer moves the likelihood ratio by e^(±ε)

DEPTH = tiered(4, 5)  # with four steps both have used up what they have


def test_two_analysts_who_interleave_as_they_like_learn_no_more_than_the_sum_of_their_allotments() -> None:
    """Every adaptive strategy of that depth, against randomised response: the exact log-likelihood of each transcript.

    A strategy chooses who asks next and how much from the answers so far. The answers are the worst ones, each a step
    of its full ε in one direction or the other; over all strategies that is every word over (who, how much, which way).
    """
    greatest = {"both": 0, "ann": 0, "bob": 0}
    moves = list(itertools.product(("ann", "bob"), UNITS))
    for number, strategy in enumerate(itertools.product(moves, repeat=DEPTH - 1)):
        with everyone(PureDP("0.7"), PureDP("0.3"), "ann", "bob") as ledger:
            loss = {"ann": 0, "bob": 0}
            for step, (who, units) in enumerate((*strategy, moves[number % len(moves)])):
                for each in moves if step == DEPTH - 1 else ():  # a look changes nothing: the last step goes each way
                    if is_admitted(ledger, loss, *each):
                        after = {**loss, each[0]: loss[each[0]] + each[1]}
                        seen = {"both": sum(after.values()), **after}
                        greatest = {name: max(most, seen[name]) for name, most in greatest.items()}
                if is_admitted(ledger, loss, who, units):
                    ledger.reserve(Charge(Pure(Fraction(units, 10)), dataset=f"of {who}", analyst=who))
                    loss[who] += units
            if set(strategy) == {moves[0]}:
                ledger.verify()
    assert greatest == {"both": 6, "ann": 3, "bob": 3}  # of the seven units that the people promised


def is_admitted(ledger: Ledger, loss: dict[str, int], who: str, units: int) -> bool:
    """What a ledger admits, which is what the asker has left: nobody else's choices matter."""
    found = ledger.admits(Pure(Fraction(units, 10)), dataset=f"of {who}", analyst=who)
    assert found == (loss[who] + units <= 3)
    return found


def likely(ratio: Fraction, delta: Fraction) -> dict[str, tuple[Fraction, Fraction]]:
    """The worst mechanism that is (ln ratio, δ)-DP, as the probabilities of its outputs on two neighbours."""
    high, low = (1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)
    return {"x": (delta, Fraction(0)), "a": (high, low), "b": (low, high), "y": (Fraction(0), delta)}


def hockey_stick(ratio: Fraction, game: Callable[[tuple[str, ...]], str | None]) -> Fraction:
    """δ at ln ratio, exactly, of the transcripts of a game that chooses which mechanism is asked next."""
    kinds = {"ann": likely(Fraction(2), Fraction(1, 100)), "bob": likely(Fraction(3), Fraction(1, 50))}
    reached: dict[tuple[str, ...], tuple[Fraction, Fraction]] = {(): (Fraction(1), Fraction(1))}
    ended: list[tuple[Fraction, Fraction]] = []
    while reached:
        after = {}
        for transcript, (p, q) in reached.items():
            who = game(transcript)
            if who is None:
                ended.append((p, q))
                continue
            for output, (one, other) in kinds[who].items():
                after[*transcript, f"{who} {output}"] = p * one, q * other
        reached = after
    return sum((max(Fraction(0), p - ratio * q) for p, q in ended), Fraction(0))


def test_concurrent_allotments_keep_the_sum_of_their_epsilons_and_deltas_exactly() -> None:
    """Each analyst's allotment is one worst (ε, δ) mechanism; whoever is asked first, and whether the other is at all,
    depends on what came out: e^Σε = 6, and δ never exceeds the sum of both."""

    def first(who: str, then: Callable[[str], bool]) -> Callable[[tuple[str, ...]], str | None]:
        other = "bob" if who == "ann" else "ann"
        return lambda seen: who if not seen else other if len(seen) == 1 and then(seen[0][-1]) else None

    outputs = "xaby"
    games = [
        first(who, lambda output, chosen=chosen: output in chosen)  # type: ignore[misc]  # (a lambda's default)
        for who in ("ann", "bob")
        for size in range(5)
        for chosen in itertools.combinations(outputs, size)
    ]
    worst = max(hockey_stick(Fraction(6), game) for game in games)
    assert worst <= Fraction(1, 100) + Fraction(1, 50)
    assert max(hockey_stick(Fraction(5), game) for game in games) > Fraction(1, 100) + Fraction(1, 50)  # and not less ε
