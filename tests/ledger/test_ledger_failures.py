"""Questions that fail, questions that are asked twice at once, and what either can tell; on both backends."""

from __future__ import annotations

import json
import math
import signal
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import dying_writers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_places import FilePlace, Place, place
from rich.console import Console

from forked import begun, ended, exit_code
from giveortake import cli
from giveortake.cli.ledger import print_failures
from giveortake.errors import AllowanceExceeded, FailureCause, InvalidParameter, LedgerMismatch
from giveortake.ledger import Charge, Ledger, restore
from giveortake.ledger import reservations as failures_module
from giveortake.ledger.reservations import bits_of
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace, Pure

TENTH = Laplace(1000)


def begin(ledger: Ledger, **allowance: Any) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")
    ledger.analyst("ann", datasets=["d"], budget=PureDP("0.4"), **allowance)
    ledger.analyst("bob", datasets=["d"], budget=PureDP("0.4"))


def failures(ledger: Ledger) -> dict[str, tuple[int, int]]:
    return {each.name: (each.failed, each.left) for each in ledger.failures()}


def ask(ledger: Ledger, question: str, analyst: str | None = "ann") -> int:
    return ledger.reserve(Charge(TENTH, dataset="d", analyst=analyst, name=question)).number


def test_whoever_is_told_of_a_failure_has_it_counted_even_if_an_answer_came_in_the_last_moment(place: Place) -> None:
    def ask(ledger: Ledger, key: str) -> None:
        ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", key=key)), 41)

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
        assert ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", key="late")).answer == 41
        ledger.verify()
        before = ledger.levels()
    with place.open() as ledger:
        assert (ledger.levels(), failures(ledger)["ann"]) == (before, (1, 2))


def test_three_failures_stop_an_analyst_and_nobody_else_until_the_owner_has_looked(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        kept = ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="answered"))
        ledger.settle(kept, 41)
        for number in range(3):
            ledger.fail(ask(ledger, f"q{number}"))
        assert failures(ledger) == {"people": (0, 3), "ann": (3, 0), "bob": (0, 3)}
        before = ledger.levels()
        with pytest.raises(AllowanceExceeded, match="3 questions"):
            ask(ledger, "another")
        with pytest.raises(AllowanceExceeded):
            ledger.begin_again(ask(ledger, "q0"))
        assert ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="answered")).answer == 41
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
        again = ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="q"))
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
        keyed = ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="q", key="k"))
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
        assert ann.spent == questions * TENTH.guarantee().epsilon
        assert place.where.startswith("postgresql") or not list(FilePlace.mark_file(place).parent.glob("*.turn"))  # type: ignore[arg-type]  # (a file)


def test_a_turn_ends_with_the_process_that_had_it(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        assert exit_code(dying_writers.reserve_and_die, place.where) == -signal.SIGKILL
        with ledger.turn(Charge(TENTH, dataset="d", analyst="ann", name="q")):
            found = ledger.reserve(Charge(TENTH, dataset="d", analyst="ann", name="q"))
            assert (found.fresh, found.settled, found.charged) == (False, False, ())
            ledger.begin_again(found)
        assert failures(ledger)["ann"] == (1, 2)


def test_an_error_inside_a_turn_is_told_as_it_is(place: Place) -> None:
    with place.open() as ledger:
        for _ in range(2):
            with pytest.raises(FileNotFoundError), ledger.turn(Charge(TENTH, dataset="d", name="q")):
                raise FileNotFoundError
