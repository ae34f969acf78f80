"""What people's safety depends on is said in words: what is refused, what is left out, what an interval is about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers.terms import Caps
from giveortake.configuration import protection_arguments
from giveortake.errors import AllowanceExceeded, BudgetExceeded, QueryFailed
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from inside import measured
from replay import SPEND

TAILS = [f"N{number}" for number in range(20)]
FLIGHTS = pl.DataFrame(
    {
        "tail": [*(tail for tail in TAILS for _ in range(30)), *[None] * 7],
        "carrier": [["AA", "DL", "UA"][row % 3] for row in range(607)],
        "day": [1 + row % 40 for row in range(607)],
    }
)
DOMAINS: dict[str, Any] = {"carrier": ["AA", "DL", "UA"], "day": (1, 40)}
COUNT = "SELECT COUNT(*) AS n FROM flights"
BY_CARRIER = "SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier"


def session(**more: Any) -> Session:
    options: dict[str, Any] = {"unit": "tail", "budget": gt.ApproxDP("1", "1e-6"), "domains": DOMAINS, "threads": 1}
    return gt.protect({"flights": FLIGHTS}, **protection_arguments(options | more))


def test_a_refusal_says_what_was_asked_of_whose_budget_and_that_nothing_was_charged() -> None:
    with gt.ledger.open(":memory:") as book, session(ledger=book, rows_per_person=2) as s:
        with pytest.raises(BudgetExceeded, match="ε = 2 is more than the whole budget of the people of flights; noth"):
            s.sql(COUNT).answer(epsilon=2)
        s.sql(COUNT).answer(epsilon="0.9")
        with pytest.raises(BudgetExceeded, match=r"ε = 0\.8 no longer fits the budget"):
            s.sql(COUNT).answer(epsilon="0.8")
        assert "the budget does not admit it any more" in str(s.sql(COUNT).quote(epsilon="0.8"))
        assert "it is more than the whole budget" in str(s.sql(COUNT).quote(epsilon=2))
        assert "90 % of the budget is used" in repr(s)
        book.analyst("ana", datasets=["flights"], budget=gt.PureDP("1/100"))
        with pytest.raises(BudgetExceeded, match="is more than the whole budget of the analyst 'ana'"):
            s.as_analyst("ana").sql(COUNT).answer(epsilon="1/10")


def test_a_paid_question_is_said_to_be_free_and_a_pure_budget_to_have_no_price_for_gaussian_noise() -> None:
    with session(budget=gt.PureDP(1), rows_per_person=2) as s:
        s.sql(COUNT).answer(epsilon=1)
        assert "it was asked before at this price, and is free" in str(s.sql(COUNT).quote(epsilon=1))
        assert "nothing was charged again" in s.sql(COUNT).answer(epsilon=1).notes[0]
        assert "it has no price in this budget" in str(s.sql(COUNT).quote(rho="1/1000"))


def test_who_has_used_up_their_failures_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise QueryFailed("out of memory", cause="memory")

    with session(rows_per_person=2, failures=1) as s:
        with monkeypatch.context() as broken:
            broken.setattr(type(mechanism_of(s).engine), "_guarded", full)
            with pytest.raises(QueryFailed, match="out of memory"):
                s.sql(COUNT).answer(epsilon="0.1")
        with pytest.raises(AllowanceExceeded, match="fail"):
            s.sql(COUNT).answer(epsilon="0.2")


@all_cases(
    ("text", "caps", "words"),
    [
        (BY_CARRIER, Caps(4, 4), "at most 4 rows of a person in each of at most 3 groups"),
        (COUNT, Caps(4, 4), "at most 4 rows of a person"),
        (COUNT, Caps(rows_per_person=1), "at most 1 row of a person, chosen before any filter"),
        (
            BY_CARRIER,
            Caps(2, 3, 9),
            f"{Caps(rows_per_person=9)}; then at most 3 rows of a person in each of at most 2 groups",
        ),
        (
            "SELECT carrier, COUNT(DISTINCT tail) AS n FROM flights GROUP BY carrier",
            Caps(2),
            "at most 2 groups of a person",
        ),
    ],
)
def test_caps_are_said_in_words(text: str, caps: Caps, words: str) -> None:
    with session() as s:
        assert str(measured(s, text, SPEND, caps).binding_caps) == words
    both = Caps(rows_per_person={"flights": 600, "planes": 1})
    assert str(both) == "at most 600 rows of a person in flights and 1 in planes, chosen before any filter"


def test_every_face_says_what_counts_and_never_how_many_rows_belong_to_nobody() -> None:
    with session() as s:
        query = s.sql(BY_CARRIER)
        words = "at most 2 rows of a person in each of at most 2 groups"
        terms: dict[str, Any] = {"epsilon": "1/2", "groups_per_person": 2, "rows_per_group": 2}
        quote, answer = query.quote(**terms), query.answer(**terms)
        capped, _, unknown = answer.notes
        assert unknown.startswith("truncation bias unknown: no profile of the table was at hand")
        assert unknown in str(quote)
        faces = [str(quote), str(answer), repr(answer), answer._repr_html_(), answer.to_json(), capped]
        faces += [str(answer.plot().to_dict()), str(answer.recipe["contributions"]), str(answer.caps)]  # type: ignore[call-overload]
        assert all(words in face for face in faces)
        assert any("rows without a tail are left out" in note for note in answer.notes)
        assert "rows with another `carrier` than the declared ones, or with none, are in no group" in answer.notes
        assert not re.search(r"\b7\b", " ".join(answer.notes))
        assert answer.refine(epsilon="1/4").caps == answer.caps


def test_a_counter_says_which_rows_its_numbers_are_of() -> None:
    with session(rows_per_person=1) as s:
        asked = s.counter("day", horizon=3)
        counter = asked.answer(mu="1/10")
        faces = [str(asked.quote(mu="1/10")), repr(counter.next()), counter.next().to_html()]
        assert all("truncation bias unknown" in face for face in faces)
        assert all("chosen before any filter; more rows are not in" in " ".join(face.split()) for face in faces[1:])
    with session(unit=gt.ROW) as s:
        alone = s.counter("day", horizon=3)
        assert "more rows" not in f"{alone.quote(mu='1/10')}{alone.answer(mu='1/10').next()}"


def test_a_refined_answer_and_a_large_spend_say_what_they_mean(tmp_path: Path) -> None:
    with session(ledger=tmp_path / "flights.ledger", rows_per_person=1, budget=gt.PureDP(9)) as s:
        refined = s.sql(COUNT).answer(epsilon="1/4").refine(epsilon=2)
        assert any("together with what it refines, it keeps ε = 2.25 (pure)" in note for note in refined.notes)
        mechanism_of(s).ledger.analyst(
            "ann", datasets=["flights"], budget=gt.PureDP(1), approval_above=gt.PureDP("1/20")
        )
        large = s.as_analyst("ann").sql(COUNT).quote(epsilon="1/10")
        assert "waits for the custodian's approval" in str(large)
        assert "nothing is charged until then" in large._repr_html_()
