"""What an answer may cost is said in the same words everywhere; other words are refused before anything is charged."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer
from giveortake.answers.terms import CAP_TERMS, TERMS, CapTerms, SpendTerms
from giveortake.cli import session_options
from giveortake.errors import InvalidParameter
from giveortake.session import Query, Session

TEXT = "SELECT COUNT(*) AS n FROM t"
STATED: list[Callable[..., Any]] = [Query.quote, Query.answer, Query.stream, Answer.refine]
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
        "batch": lambda **terms: s.batch([query]).answer(**terms),
        "refine": query.answer(epsilon="0.5").refine,
    }


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


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"epsilno": 1}, "epsilno"),
    ({"epsilon": 1, "colour": "red"}, "colour"),
    ({"epsilon": []}, "epsilon"),
    ({"epsilon": True}, "epsilon"),
    ({"epsilon": "much"}, "epsilon"),
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": 1, "rho": 1}, "epsilon"),
    ({"delta": "1e-6"}, "delta"),
    ({"epsilon": 1, "confidence": 95}, "confidence"),
    ({"epsilon": 1, "confidence": "high"}, "confidence"),
    ({}, "epsilon"),
]
WITHOUT_EFFECT = {"batch": ("margin", "share", "n"), "refine": ("margin", "share", "key_delta", "n")}


def test_other_words_and_values_are_refused_by_name_at_no_cost() -> None:
    with session() as s:
        asking = ways(s)
        spent = s.budget.spent
        for way, ask in asking.items():
            more = [({"epsilon": 1, term: 1}, term) for term in WITHOUT_EFFECT.get(way, ())]
            for terms, name in [*REFUSED, *more]:
                with pytest.raises(InvalidParameter) as refused:
                    ask(**terms)
                assert refused.value.name == name, (way, terms)
        assert s.budget.spent == spent


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


def test_a_quote_of_a_mean_gives_an_example_and_of_a_quantile_says_what_makes_bins_finer() -> None:
    frame = pl.DataFrame({"p": [1, 2], "fee": [1.0, 2.0]})
    said: dict[str, Any] = {"name": "t", "rows_per_person": 1, "domains": {"fee": (0, 1000)}}
    with gt.protect(frame, unit="p", budget=gt.PureDP(10), **said) as s:
        mean, median = (
            s.sql(f"SELECT {text} FROM t").quote(epsilon="0.1") for text in ("AVG(fee) AS m", "MEDIAN(fee) AS m")
        )
        assert "± 30" in str(mean)
        assert any("CLAMP" in each for each in median.notes)
        assert not mean.advice  # a pure budget has one noise
