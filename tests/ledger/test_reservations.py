"""One charge for one answer: keys, repeats, draws, failures and their allowance."""

from __future__ import annotations

import json
import math
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, get_args

import dying_writers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_places import FilePlace, Place, place
from rich.console import Console

import giveortake as gt
from forked import begun, ended, exit_code
from giveortake import cli
from giveortake.cli.ledger import print_failures
from giveortake.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    FailureCause,
    IdempotencyConflict,
    InvalidParameter,
    LedgerMismatch,
    NotFound,
)
from giveortake.ledger import Charge, Ledger, Reservation, restore
from giveortake.ledger import open as open_ledger
from giveortake.ledger import reservations as failures_module
from giveortake.ledger.reservations import ALIASES, bits_of
from giveortake.privacy import PureDP, events
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


THOUSANDTH = Laplace(1000)


def begin(ledger: Ledger, **allowance: Any) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")
    ledger.analyst("ann", datasets=["d"], budget=PureDP("0.4"), **allowance)
    ledger.analyst("bob", datasets=["d"], budget=PureDP("0.4"))


def failures(ledger: Ledger) -> dict[str, tuple[int, int]]:
    return {each.name: (each.failed, each.left) for each in ledger.failures()}


def ask(ledger: Ledger, question: str, analyst: str | None = "ann") -> int:
    return ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst=analyst, name=question)).number


def test_whoever_is_told_of_a_failure_has_it_counted_even_if_an_answer_came_in_the_last_moment(place: Place) -> None:
    def ask(ledger: Ledger, key: str) -> None:
        ledger.settle(ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst="ann", key=key)), 41)

    with place.open() as ledger:
        begin(ledger)
        earlier, later = datetime(2000, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
        ask(ledger, "late")
        ledger.fail_key("late", analyst="ann")  # by who does not know when it was asked for
        ledger.fail_key("late", analyst="ann", since=later)  # it was there before
        ledger.fail_key("nothing was charged", analyst="ann", since=earlier)
        assert failures(ledger)["ann"] == (0, 3)
        ledger.fail_key("late", analyst="ann", since=earlier)
        assert failures(ledger)["ann"] == (1, 2)
        (release,) = ledger.releases(analyst="ann")
        assert (release.settled, release.failed) == (True, False)  # whoever asks again gets it
        assert ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst="ann", key="late")).answer == 41
        ledger.verify()
        before = ledger.levels()
    with place.open() as ledger:
        assert (ledger.levels(), failures(ledger)["ann"]) == (before, (1, 2))


def test_three_failures_stop_an_analyst_and_nobody_else_until_the_owner_has_looked(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        kept = ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst="ann", name="answered"))
        ledger.settle(kept, 41)
        for number in range(3):
            ledger.fail(ask(ledger, f"q{number}"))
        assert failures(ledger) == {"people": (0, 3), "ann": (3, 0), "bob": (0, 3)}
        before = ledger.levels()
        with pytest.raises(AllowanceExceeded, match="3 questions"):
            ask(ledger, "another")
        with pytest.raises(AllowanceExceeded):
            ledger.begin_again(ask(ledger, "q0"))
        assert ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst="ann", name="answered")).answer == 41
        assert ledger.levels() == before
        ask(ledger, "another", "bob")
        ask(ledger, "another", None)
    with place.open() as ledger:
        (ann,) = ledger.levels(analyst="ann")
        ledger.reset_failures(ann, reason="a disk was full")
        ask(ledger, "another")
        (hers,) = (each for each in ledger.failures() if each.name == "ann")
        assert (hers.failed, hers.left, hers.allowed, hers.questions) == (3, 3, 6, 5)
        ledger.verify()


def test_a_crash_counts_only_when_somebody_executes_the_question_again(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        crashed = ask(ledger, "q")
    with place.open() as ledger:
        again = ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst="ann", name="q"))
        assert (again.number, again.fresh, again.charged, again.settled) == (crashed, False, (), False)
        assert failures(ledger)["ann"] == (0, 3)
        ledger.begin_again(again)
        assert failures(ledger)["ann"] == (1, 2)
        ledger.fail(again)
        assert failures(ledger)["ann"] == (2, 1)
        ledger.begin_again(again)
        assert ledger.settle(again, 1) == 1
        ledger.fail(again)  # an answer that is there did not fail
        ledger.begin_again(again)
        assert failures(ledger)["ann"] == (3, 0)
        ledger.verify()


def test_the_custodian_has_an_allowance_too_and_what_is_pooled_is_counted_apart(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1), analysts="pooled", failures=1)
        ledger.dataset("d", population="people")
        ledger.analyst("ann", datasets=["d"], failures=0)
        with pytest.raises(AllowanceExceeded):
            ask(ledger, "q")
        ledger.analyst("bob", datasets=["d"], questions=2)
        ledger.fail(ask(ledger, "q", "bob"))
        assert failures(ledger) == {"people": (0, 1), "ann": (0, 0), "bob": (1, 2)}
        ask(ledger, "r", "bob")
        with pytest.raises(AllowanceExceeded, match="2 questions"):
            ask(ledger, "s", "bob")
        ledger.fail(ask(ledger, "q", None))
        with pytest.raises(AllowanceExceeded):
            ask(ledger, "r", None)
        with pytest.raises(LedgerMismatch, match="another failures"):
            ledger.analyst("bob", datasets=["d"], failures=5)
        with pytest.raises(InvalidParameter):
            ledger.analyst("cyd", datasets=["d"], failures=-1)
        ledger.verify()


@given(st.integers(0, 40), st.integers(0, 12))
def test_bits_are_those_of_the_number_of_ways_to_fail(questions: int, allowed: int) -> None:
    ways = sum(math.comb(questions, failed) for failed in range(allowed + 1))
    assert math.log2(ways) <= bits_of(questions, allowed) + Fraction(1, 10**9)
    assert bits_of(questions, allowed) < Fraction(math.log2(ways)) + Fraction(1, 10) + Fraction(1, 10**9)


def test_what_causes_can_tell_is_said_of_as_many_as_there_are() -> None:
    causes = len(get_args(FailureCause))
    page = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text(encoding="utf-8")
    assert f"causes up to log₂ {causes}, or {math.ceil(10 * math.log2(causes)) / 10}, more for each" in page
    assert f"to log₂ {causes} bits more" in (failures_module.__doc__ or "")


def test_each_step_of_a_run_might_have_failed_and_is_counted(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    with place.open() as ledger:
        begin(ledger, questions=2)
        run = ask(ledger, "a run")
        for step in range(50):
            ledger.keep(run, step, step)
        (hers,) = (each for each in ledger.failures() if each.name == "ann")
        assert (hers.questions, hers.steps, hers.bits) == (2, 50, bits_of(52, 3))
        ledger.fail(run)
        ledger.settle(run, "ended")
        ask(ledger, "one more")
        with pytest.raises(AllowanceExceeded, match="2 questions"):  # a step is not a question
            ask(ledger, "too many")
        assert {each.steps for each in ledger.failures() if each.name != "ann"} == {0}
    with place.open() as ledger:
        (hers,) = (each for each in ledger.failures() if each.name == "ann")
        assert (hers.steps, hers.bits) == (50, bits_of(52, 3))
        print_failures(Console(width=200), ledger.failures())
        assert f"{float(hers.bits):.1f} bits" in capsys.readouterr().out


def test_the_command_shows_what_failures_can_tell_and_resets_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        begin(ledger, questions=10**6)
        for number in range(3):
            ledger.fail(ask(ledger, f"q{number}"))
    assert cli.main(["ledger", "show", place.where]) == 0
    text = " ".join(capsys.readouterr().out.split())
    told = "ann (analyst) 3 of 3 allowed failures used; failures could reveal at most 57.3 bits in addition to ε"
    assert told in text
    assert cli.main(["admin", "failures", "show", "--ledger", place.where]) == 0
    assert told in " ".join(capsys.readouterr().out.split())
    assert cli.main(["ledger", "show", place.where, "--json"]) == 0
    shown = {each["name"]: each for each in json.loads(capsys.readouterr().out)["failures"]}
    assert (shown["ann"]["k"], shown["ann"]["N"], shown["ann"]["bits"]) == (3, 10**6, "573/10")
    reset = ["admin", "failures", "reset", "--ledger", place.where, "--reason", "looked"]
    assert cli.main([*reset, "--analyst", "nobody"]) == 2
    assert "no analyst" in capsys.readouterr().err
    assert cli.main([*reset, "--analyst", "ann"]) == 0
    assert "ann" in capsys.readouterr().out
    with place.open() as ledger:
        ask(ledger, "another")
    assert cli.main([*reset, "--population", "people"]) == 0


# -- the same question at the same moment -------------------------------------------------------------------------


def test_the_same_question_is_charged_once_while_it_is_not_answered(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        first = ask(ledger, "q")
        assert ask(ledger, "q") == first
        assert ask(ledger, "q", "bob") != first
        assert ask(ledger, "q", None) != first
        assert (
            ledger.reserve(Charge(Pure("0.01"), dataset="d", analyst="ann", name="q")).number != first
        )  # another price
        ledger.settle(first, 41)
        keyed = ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst="ann", name="q", key="k"))
        assert (keyed.answer, keyed.charged) == (41, ())
        ledger.new_version("d", version="2")
        assert ask(ledger, "q") != first
        ledger.verify()


def test_what_a_lost_ledger_may_have_answered_is_not_found_again(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        first = ask(ledger, "q")
        backup = place.backup()
        ledger.settle(first, 41)
    place.put_back(backup)
    restore(place.where, reason="an old copy", charge=Pure("0.01"))
    with place.open() as ledger:
        assert ask(ledger, "q") != first
        with pytest.raises(LedgerMismatch):
            ledger.begin_again(first)


def test_of_many_who_ask_the_same_at_once_one_is_charged_and_one_executes(place: Place, tmp_path: Path) -> None:
    questions, processes = 8, 3
    with place.open() as ledger:
        begin(ledger)
    logs = [tmp_path / f"{number}.log" for number in range(processes)]
    running = [begun(dying_writers.ask_together, place.where, questions, log) for log in logs]
    assert ended(*running) == [0] * processes
    lines = [line for log in logs for line in log.read_text().splitlines()]
    assert len(lines) == 2 * processes * questions
    assert len(set(lines)) == questions  # every asker was given the same answer
    with place.open() as ledger:
        assert ledger.verify().reservations == questions
        assert failures(ledger)["ann"] == (0, 3)
        (ann,) = ledger.levels(analyst="ann")
        assert ann.spent == questions * THOUSANDTH.guarantee().epsilon
        assert place.where.startswith("postgresql") or not list(FilePlace.mark_file(place).parent.glob("*.turn"))  # type: ignore[arg-type]  # (a file)


def test_a_turn_ends_with_the_process_that_had_it(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        assert exit_code(dying_writers.reserve_and_die, place.where) == -signal.SIGKILL
        with ledger.turn(Charge(THOUSANDTH, dataset="d", analyst="ann", name="q")):
            found = ledger.reserve(Charge(THOUSANDTH, dataset="d", analyst="ann", name="q"))
            assert (found.fresh, found.settled, found.charged) == (False, False, ())
            ledger.begin_again(found)
        assert failures(ledger)["ann"] == (1, 2)


def test_an_error_inside_a_turn_is_told_as_it_is(place: Place) -> None:
    with place.open() as ledger:
        for _ in range(2):
            with pytest.raises(FileNotFoundError), ledger.turn(Charge(THOUSANDTH, dataset="d", name="q")):
                raise FileNotFoundError


def _begun(ledger: Ledger) -> Reservation:
    ledger.population("people", budget=gt.ZCDP(1))
    ledger.dataset("visits", population="people")
    ledger.analyst("anna", datasets=["visits"], budget=gt.ZCDP("1/2"))
    return ledger.reserve(Charge(events.ZCDP("1/4"), dataset="visits", analyst="anna", name="a run"))


def test_what_is_drawn_is_kept_in_order_and_stays_what_it_is(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        reservation = _begun(ledger)
        assert ledger.keep(reservation, 0, {"n": 5}) == {"n": 5}
        assert ledger.keep(reservation, 1, {"n": 7}) == {"n": 7}
        for wrong in (-1, 0, 1, 3):  # somebody is behind, or ahead: nothing is written
            with pytest.raises(LedgerMismatch):
                ledger.keep(reservation, wrong, {"n": 99})
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        assert ledger.kept(reservation) == [{"n": 5}, {"n": 7}]
        assert ledger.verify().entries == len(ledger.history())
        again = ledger.reserve(Charge(events.ZCDP("1/4"), dataset="visits", analyst="anna", name="a run"))
        assert (again.number, again.fresh, again.settled) == (reservation.number, False, False)


def test_an_analyst_sees_their_own_draws_and_nobody_elses(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        reservation = _begun(ledger)
        ledger.analyst("ben", datasets=["visits"], budget=gt.ZCDP("1/4"))
        ledger.keep(reservation, 0, {"n": 5})
        (own,) = [entry for entry in ledger.entries(analyst="anna") if entry.kind == "drawn"]
        assert dict(own.content) == {"place": 0, "drawn": {"n": 5}, "id": reservation.id}
        assert not [entry for entry in ledger.entries(analyst="ben") if entry.kind == "drawn"]


def test_nothing_is_drawn_after_the_answer_or_for_no_reservation(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        reservation = _begun(ledger)
        ledger.keep(reservation, 0, {"n": 5})
        ledger.settle(reservation, {"steps": 1})
        with pytest.raises(LedgerMismatch):
            ledger.keep(reservation, 1, {"n": 7})
        with pytest.raises(NotFound, match="not a reservation"):
            ledger.keep(1, 0, {})
        assert ledger.verify().entries == len(ledger.history())
