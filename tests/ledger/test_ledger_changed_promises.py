"""Promises that change after analysts were granted parts of them: whatever was granted and spent stays counted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_places import Place
from ledger_places import place_of_rules as place

from giveortake.errors import BudgetExceeded, LedgerDamaged, LedgerMismatch
from giveortake.ledger import Charge, Ledger
from giveortake.ledger import open as open_ledger
from giveortake.privacy import ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP, events
from giveortake.privacy.events import Event, Pure
from tiers import tiered

__all__ = ["place"]  # a fixture


def begin(ledger: Ledger, budget: Guarantee, **more: Any) -> None:
    ledger.population("people", budget=budget, **more)
    ledger.dataset("d", population="people")


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
