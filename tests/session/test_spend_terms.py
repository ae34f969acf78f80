"""What an answer may cost is said in the same words everywhere; other words are refused before anything is charged."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer
from giveortake.answers.cap_terms import CAP_TERMS, CapTerms
from giveortake.answers.spend_terms import TERMS, SpendTerms
from giveortake.cli import session_options
from giveortake.errors import InvalidParameter
from giveortake.session import Query, Session

TEXT = "SELECT COUNT(*) AS n FROM t"
STATED: list[Callable[..., Any]] = [Query.quote, Query.answer, Query.stream, Session.batch, Answer.refine]
Asking = Callable[..., Any]


def session() -> Session:
    return gt.protect(pl.DataFrame({"p": [1, 2]}), unit="p", budget=gt.PureDP(10), name="t", rows_per_person=1)


def ways(s: Session) -> dict[str, Asking]:
    """Everything that takes a spend."""
    query = s.sql(TEXT)
    return {
        "quote": query.quote,
        "answer": query.answer,
        "stream": query.stream,
        "batch": lambda **terms: s.batch([query], **terms),
        "refine": query.answer(epsilon="0.5").refine,
    }


WAYS = ("quote", "answer", "stream", "batch", "refine")


@all_cases("method", STATED)
def test_the_terms_are_written_once(method: Callable[..., Any]) -> None:
    parameters = inspect.signature(method).parameters
    refines = method is Answer.refine  # whose caps are those of the answer
    assert parameters["terms"].annotation == f"Unpack[{'SpendTerms' if refines else 'AskTerms'}]"
    assert not set(parameters) & {*TERMS, *CAP_TERMS}


@all_cases("term", [*TERMS, *CAP_TERMS])
def test_every_term_is_explained_and_has_an_option_of_the_command_line(term: str) -> None:
    for explained in (SpendTerms if term in TERMS else CapTerms, Query, Query.quote, Query.answer):
        assert f"`{term}`" in (explained.__doc__ or "")
    parser = argparse.ArgumentParser()
    session_options.add_arguments(parser)
    assert hasattr(parser.parse_args(["t.csv", TEXT]), term)


@all_cases("way", WAYS)
@all_cases(
    ("terms", "message"),
    [
        ({"epsilno": 1}, "epsilno = 1 is not a term of a question\n\n  hint: did you mean `epsilon`?"),
        ({"epsilon": 1, "colour": "red"}, "colour = 'red' is not a term"),
        ({"epsilon": []}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"epsilon": 1, "rho": 1}, "epsilon = 1 is one of several spends: state only one"),
        ({"delta": "1e-6"}, "delta"),
        ({"epsilon": 1, "confidence": 95}, "confidence"),
        ({"epsilon": 1, "confidence": "high"}, "confidence"),
        ({}, "missing"),
    ],
)
def test_other_words_and_values_are_refused_at_no_cost(way: str, terms: dict[str, Any], message: str) -> None:
    with session() as s:
        ask = ways(s)[way]
        spent = s.spent
        with pytest.raises(InvalidParameter, match=message.replace("?", r"\?")):
            ask(**terms)
        assert s.spent == spent


@all_cases(
    ("way", "term"),
    [
        ("batch", "margin"),
        ("batch", "share"),
        ("batch", "n"),
        ("refine", "margin"),
        ("refine", "share"),
        ("refine", "key_delta"),
        ("refine", "n"),
    ],
)
def test_terms_that_have_no_meaning_are_refused(way: str, term: str) -> None:
    with session() as s, pytest.raises(InvalidParameter):
        ways(s)[way](epsilon=1, **{term: 1})


def test_the_confidence_of_a_refinement_is_that_of_the_answer_unless_stated() -> None:
    with session() as s:
        first = s.sql(TEXT).answer(epsilon=1, confidence="0.9")
        kept, surer = first.refine(epsilon=1), first.refine(epsilon=1, confidence="0.999")
    assert str(kept.confidence) == "9/10"
    assert str(surer.confidence) == "999/1000"
    assert kept.value == surer.value
    assert float(str(surer.high)) > float(str(kept.high))


def test_what_is_not_said_may_be_said_to_be_none() -> None:
    with session() as s:
        unsaid: Any = dict.fromkeys(TERMS)
        assert s.sql(TEXT).quote(**{**unsaid, "epsilon": 1}).confidence == s.sql(TEXT).quote(epsilon=1).confidence


def test_a_question_that_is_read_before_it_is_asked_says_how_to_ask() -> None:
    with session() as s:
        with pytest.raises(AttributeError):
            _ = s.sql(TEXT).to_pandas  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
            _ = s.sql(TEXT).nothing  # type: ignore[attr-defined]


def test_an_epsilon_of_nothing_and_a_delta_in_the_place_of_epsilon_are_told_what_to_write() -> None:
    with (
        session() as s,
        pytest.raises(InvalidParameter),
    ):
        s.sql(TEXT).quote(epsilon=0)
    with pytest.raises(InvalidParameter, match=r"hint: a δ is tiny, .* ε comes first, δ second"):
        gt.ApproxDP("1e-6", 1)


def test_domains_of_real_numbers_that_are_listed_or_reversed_are_told_as_bounds() -> None:
    for said, hint in (([0, 10], r"bounds stand in parentheses: \(0, 10\)"), ((10, 0), r"comes first: \(0, 10\)")):
        with pytest.raises(InvalidParameter, match=hint):
            gt.protect(
                pl.DataFrame({"p": [1], "fee": [1.5]}), unit="p", budget=gt.PureDP(1), name="t", domains={"fee": said}
            )


def test_a_quote_of_a_mean_gives_an_example_and_advises_nothing_that_cannot_be_left_out() -> None:
    frame = pl.DataFrame({"p": [1, 2], "fee": [1.0, 2.0]})
    said: dict[str, Any] = {"name": "t", "rows_per_person": 1, "domains": {"fee": (0, 1000)}}
    with gt.protect(frame, unit="p", budget=gt.PureDP(10), **said) as s:
        mean = str(s.sql("SELECT AVG(fee) AS m FROM t").quote(epsilon="0.1"))
        assert re.search(r"m ± \S+ / n \(of a group of n rows; ± 30 if it has 1,000\)", mean)
        assert "share the spend" not in mean
        both = str(s.sql("SELECT SUM(fee) AS m, MEDIAN(fee) AS n FROM t").quote(epsilon="0.1"))
        assert "numbers share the spend; asking for fewer makes each surer" in both
        median = str(s.sql("SELECT MEDIAN(fee) AS m FROM t").quote(epsilon="0.1"))
        assert "note: a narrower CLAMP gives quantiles finer bins, at the same cost" in median
        assert "cheaper: a narrower" not in median
