"""Acts of a custodian: lowering a budget to what was spent, names that cannot be confused, and long reasons."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from ledger_places import Place
from ledger_places import place_of_rules as place

from giveortake import cli
from giveortake.errors import BudgetExceeded, InvalidParameter, LedgerMismatch
from giveortake.ledger import Charge, Ledger
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP
from giveortake.privacy.events import Gaussian, Laplace
from giveortake.server import routes

TENTH = Laplace(10)


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
