"""One suite for both backends: reserving, settling, asking again, and who has paid for a stored answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_places import Place, place

from giveortake.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    IdempotencyConflict,
    InvalidParameter,
    LedgerMismatch,
    NotFound,
)
from giveortake.ledger import Charge, Ledger
from giveortake.ledger import open as open_ledger
from giveortake.ledger.reservations import ALIASES
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace, Pure
from tiers import tiered

TENTH = Laplace(10)


def clinic(ledger: Ledger) -> None:
    ledger.population("patients", budget=PureDP(1), analysts="pooled")
    ledger.dataset("visits", population="patients")
    ledger.analyst("ann", datasets=["visits"], budget=PureDP("0.5"))
    ledger.analyst("bob", datasets=["visits"], budget=PureDP("0.5"))


def spent(ledger: Ledger) -> dict[str, Fraction]:
    return {level.name: level.spent for level in ledger.levels() if level.budget is not None}


def test_the_same_key_and_request_give_the_stored_answer_and_one_charge(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        paid = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", key="k", name={"sql": "a", "n": 1}))
        again = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", key="k", name={"n": 1, "sql": "a"}))
        assert (paid.fresh, again.fresh, again.number, again.settled) == (True, False, paid.number, False)
        assert ledger.settle(again, {"n": [1, 2.5, None]}) == {"n": [1, 2.5, None]}
    with place.open() as ledger:
        held = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", key="k", name={"sql": "a", "n": 1}))
        assert (held.settled, held.answer, held.charged) == (True, {"n": [1, 2.5, None]}, ())
        assert spent(ledger) == {"patients": Fraction(1, 10), "ann": Fraction(1, 10), "bob": 0}


def test_the_same_key_for_another_request_is_a_conflict_and_keys_belong_to_an_analyst(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        ledger.dataset("bills", population="patients")
        ledger.analyst("ann", datasets=["bills"])
        ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", key="k", name="a"))
        with pytest.raises(IdempotencyConflict):
            ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", key="k", name="b"))
        with pytest.raises(IdempotencyConflict):
            ledger.reserve(Charge(Laplace(20), dataset="visits", analyst="ann", key="k", name="a"))
        with pytest.raises(IdempotencyConflict):
            ledger.reserve(Charge(TENTH, dataset="bills", analyst="ann", key="k", name="a"))
        other = ledger.reserve(Charge(TENTH, dataset="visits", analyst="bob", key="k", name="b"))
        owner = ledger.reserve(Charge(TENTH, dataset="visits", key="k", name="c"))
        assert other.fresh
        assert owner.fresh
        assert spent(ledger)["patients"] == Fraction(3, 10)
        with pytest.raises(InvalidParameter):
            ledger.reserve(Charge(TENTH, dataset="visits", key=""))


def test_a_reservation_that_never_settles_counts_as_spent(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        ledger.reserve(Charge(Pure("0.5"), dataset="visits", analyst="ann"))
    with place.open() as ledger:
        assert spent(ledger)["patients"] == Fraction(1, 2)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(Pure("1e-9"), dataset="visits", analyst="ann"))
        ledger.verify()


def test_settling_inserts_if_absent_and_returns_what_the_ledger_holds(place: Place) -> None:
    with place.open() as ledger, place.open() as other:
        clinic(ledger)
        paid = ledger.reserve(Charge(TENTH, dataset="visits"))
        assert other.settle(paid.number, "first") == "first"
        assert ledger.settle(paid, "second") == "first"
        assert ledger.verify().answers == 1
        with pytest.raises(NotFound):
            ledger.settle(1, "not a reservation")
        waiting = ledger.reserve(Charge(TENTH, dataset="visits"))
        for wrong in (float("nan"), object(), {1: 2}, [float("inf")], {"x": b"bytes"}):
            with pytest.raises(InvalidParameter):
                ledger.settle(waiting, wrong)


def test_a_stored_answer_is_free_only_for_levels_that_have_paid(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        asked = {"dataset": "visits", "name": "n, bounds 0..5", "event": TENTH}

        def ask(analyst: str, key: str | None = None) -> tuple[object, tuple[str, ...]]:
            paid = ledger.reserve(Charge(analyst=analyst, key=key, **asked))  # type: ignore[arg-type]
            answer = paid.answer if paid.settled else ledger.settle(paid, f"drawn for {analyst}")
            return answer, paid.charged

        assert ask("ann") == ("drawn for ann", ("patients", "visits", "ann"))
        assert ask("ann") == ("drawn for ann", ())
        assert ask("ann", "another key") == ("drawn for ann", ())
        assert ask("bob") == ("drawn for ann", ("bob",))
        assert ask("bob") == ("drawn for ann", ())
        assert spent(ledger) == dict.fromkeys(("patients", "ann", "bob"), Fraction(1, 10))
        asked["event"] = Laplace(20)
        assert ask("ann")[1] == ("patients", "visits", "ann")
        ledger.new_version("visits", version="2")
        assert ask("ann")[1] == ("patients", "visits", "ann")
        ledger.verify()


def test_a_level_that_came_later_has_not_paid(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        ledger.settle(ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", name="q")), 1)
        ledger.dataset("bills", population="patients")
        ledger.analyst("ann", datasets=["visits", "bills"], budget=PureDP("0.1"))
        again = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", name="q"))
        assert (again.charged, again.answer) == (("ann",), 1)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Charge(TENTH, dataset="bills", analyst="ann"))
        ledger.verify()


def test_a_question_about_an_old_version_is_not_charged_to_the_new_one(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        first = ledger.reserve(Charge(TENTH, dataset="visits", key="k", name="q"))
        ledger.settle(first, 1)
        ledger.new_version("visits", version="2", fingerprint="ab")
        with pytest.raises(LedgerMismatch, match="version '2'"):
            ledger.reserve(Charge(TENTH, dataset="visits", name="q", version="1"))
        assert ledger.reserve(Charge(TENTH, dataset="visits", key="k", name="q")).answer == 1
        assert ledger.reserve(Charge(TENTH, dataset="visits", name="q")).answer is None
        assert spent(ledger)["patients"] == Fraction(2, 10)


def test_order_is_by_number_whatever_the_clock_says(place: Place) -> None:
    years = count()

    def drunk() -> str:
        return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=3652 * (-1) ** next(years))).isoformat()

    with place.open(now=drunk) as ledger:
        clinic(ledger)
        for key in "abc":
            ledger.settle(ledger.reserve(Charge(TENTH, dataset="visits", key=key)), key)
    with place.open() as ledger:
        history = ledger.history()
        assert [entry.number for entry in history] == list(range(1, len(history) + 1))
        assert {entry.at[:4] for entry in history} == {"2016", "2036"}
        assert ledger.reserve(Charge(TENTH, dataset="visits", key="b")).answer == "b"
        assert spent(ledger)["patients"] == Fraction(3, 10)
        ledger.verify()


def test_threads_may_share_a_ledger_and_several_may_be_open(place: Place) -> None:
    with place.open() as ledger, place.open() as other:
        clinic(ledger)

        def ask(number: int) -> bool:
            try:
                (ledger, other)[number % 2].reserve(Charge(TENTH, dataset="visits", key=str(number)))
            except BudgetExceeded:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(ask, range(24))) == 10
        assert spent(ledger) == spent(other)
        assert ledger.verify() == other.verify()


@settings(max_examples=tiered(40, 200))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["north", "south"]),
            st.sampled_from([None, "ann", "bob"]),
            st.sampled_from(["1/10", "1/3", "1/7", "1e-9"]),
            st.sampled_from([None, "q"]),
        ),
        max_size=25,
    )
)
def test_levels_add_up_as_a_list_of_charges_does(asked: list[tuple[str, str | None, str, str | None]]) -> None:
    caps = {"people": Fraction(1), "north": Fraction(1, 2), "ann": Fraction(2, 5), "bob": Fraction(3, 5)}
    plainly = dict.fromkeys(caps, Fraction(0))
    paid: dict[tuple[str, str], set[str]] = {}
    with open_ledger(":memory:") as ledger:
        ledger.population("people", budget=PureDP(caps["people"]), analysts="pooled")
        ledger.dataset("north", population="people", budget=PureDP(caps["north"]))
        ledger.dataset("south", population="people")
        for analyst in ("ann", "bob"):
            ledger.analyst(analyst, datasets=["north", "south"], budget=PureDP(caps[analyst]))
        for dataset, who, amount, question in asked:
            levels = {"people", dataset, *([who] if who else [])}
            owed = levels - (paid.get((dataset, amount), set()) if question else set())
            fits = all(plainly[level] + Fraction(amount) <= caps[level] for level in owed & set(caps))
            try:
                reserved = ledger.reserve(Charge(Pure(amount), dataset=dataset, analyst=who, name=question))
            except BudgetExceeded:
                assert not fits
                continue
            assert fits
            assert set(reserved.charged) == owed
            if not reserved.settled:
                ledger.settle(reserved, amount)
            for level in owed & set(caps):
                plainly[level] += Fraction(amount)
            if question:
                paid.setdefault((dataset, amount), set()).update(levels)
        assert {level.name: level.spent for level in ledger.levels() if level.budget is not None} == plainly
        ledger.verify()


def test_the_same_question_again_takes_over_a_charge_that_has_no_answer_yet(place: Place) -> None:
    """Whoever was interrupted asks again for free; whoever asks at the same moment pays nothing more."""
    with place.open() as ledger:
        clinic(ledger)
        paid = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", name="q"))
    with place.open() as ledger:
        again = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", name="q"))
        assert (again.number, again.fresh, again.settled, again.charged) == (paid.number, False, False, ())
        assert ledger.settle(paid, 1) == 1
        assert ledger.settle(again, 2) == 1  # whoever is second tells what the first told
        held = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", name="q"))
        assert (held.number, held.settled, held.answer) == (paid.number, True, 1)
        assert spent(ledger) == {"patients": Fraction(1, 10), "ann": Fraction(1, 10), "bob": 0}
        assert ledger.verify().reservations == 1


def test_only_the_same_question_of_the_same_analyst_takes_over_a_charge(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        small = Laplace(100)
        ledger.reserve(Charge(small, dataset="visits", analyst="ann", name="q"))
        for changed in (
            {"analyst": "bob", "name": "q"},
            {"analyst": "ann", "name": "other"},
            {"analyst": "ann", "name": "q", "key": "k"},
            {"analyst": "ann"},
        ):
            assert ledger.reserve(Charge(small, dataset="visits", **changed)).fresh
        assert ledger.reserve(Charge(Laplace(200), dataset="visits", analyst="ann", name="q")).fresh
        ledger.new_version("visits", version="2")
        assert ledger.reserve(Charge(small, dataset="visits", analyst="ann", name="q")).fresh


def bodies(ledger: Ledger) -> list[str]:
    return [entry.body for entry in ledger.history()]


def test_a_free_repeat_under_a_new_key_writes_one_short_entry_and_only_a_few_of_them(place: Place) -> None:
    """The question is stored once, however often it is asked, and whatever the asker calls it."""
    asked: Any = {"dataset": "visits", "analyst": "ann", "name": "r" * 30_000, "record": "p" * 9}
    with place.open() as ledger:
        clinic(ledger)
        paid = ledger.reserve(Charge(TENTH, key="k", **asked))
        ledger.settle(paid, 41)
        before, counted = bodies(ledger), spent(ledger)
        for number in range(3 * ALIASES):
            again = ledger.reserve(Charge(TENTH, key=f"again {number}", **asked))
            assert (again.id, again.answer, again.charged) == (paid.id, 41, ())
        written = bodies(ledger)[len(before) :]
        assert len(written) == ALIASES
        assert max(map(len, written)) < 500
        ledger.reserve(Charge(TENTH, key="again 0", **asked))  # is remembered already
        assert bodies(ledger) == [*before, *written]
        assert spent(ledger) == counted
        assert len(ledger.releases(analyst="ann")) == 1
        ledger.verify()
        before_closing = ledger.levels()
    with place.open() as ledger:
        assert ledger.levels() == before_closing
        assert ledger.reserve(Charge(TENTH, key="again 1", **asked)).id == paid.id


def test_a_key_of_a_free_repeat_stands_for_its_request_and_version_from_then_on(place: Place) -> None:
    asked: Any = {"dataset": "visits", "analyst": "ann", "name": "q"}
    with place.open() as ledger:
        clinic(ledger)
        paid = ledger.reserve(Charge(TENTH, key="k", **asked))
        ledger.settle(paid, 41)
        assert ledger.reserve(Charge(TENTH, key="again", **asked)).id == paid.id
        with pytest.raises(IdempotencyConflict):
            ledger.reserve(Charge(TENTH, key="again", dataset="visits", analyst="ann", name="another"))
        ledger.new_version("visits", version="2")
        before = spent(ledger)
        late = ledger.reserve(Charge(TENTH, key="again", **asked))  # as whoever did not get the reply asks again
        assert (late.id, late.answer, late.version, late.charged) == (paid.id, 41, "1", ())
        assert spent(ledger) == before
        assert ledger.reserve(Charge(TENTH, key="new", **asked)).charged
        mine = [entry for entry in ledger.entries(analyst="ann") if entry.kind == "alias"]
        assert [entry.content for entry in mine] == [{"key": "again", "release": paid.id}]
        assert not [entry for entry in ledger.entries(analyst="bob") if entry.kind == "alias"]
        ledger.verify()


def test_free_repeats_count_as_questions_and_write_nothing_once_these_are_used_up(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("patients", budget=PureDP(1))
        ledger.dataset("visits", population="patients")
        ledger.analyst("ann", datasets=["visits"], budget=PureDP("0.5"), questions=3)
        asked: Any = {"dataset": "visits", "analyst": "ann"}
        ledger.settle(ledger.reserve(Charge(TENTH, key="k", name="q", **asked)), 41)
        ledger.reserve(Charge(TENTH, key="second", name="q", **asked))
        ledger.reserve(Charge(TENTH, key="third", name="q", **asked))
        before = bodies(ledger)
        for key in ("fourth", "fifth"):
            assert ledger.reserve(Charge(TENTH, key=key, name="q", **asked)).answer == 41
        with pytest.raises(AllowanceExceeded):
            ledger.reserve(Charge(TENTH, key="sixth", name="another", **asked))
        assert bodies(ledger) == before


def test_the_custodian_reads_a_pooled_answer_under_a_key_and_writes_no_copy(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        paid = ledger.reserve(Charge(TENTH, dataset="visits", analyst="ann", key="k", name="q"))
        ledger.settle(paid, 41)
        again = ledger.reserve(Charge(TENTH, dataset="visits", key="k", name="q"))
        assert (again.id, again.answer, again.charged) == (paid.id, 41, ())
        assert ledger.history()[-1].kind == "alias"
        ledger.verify()
