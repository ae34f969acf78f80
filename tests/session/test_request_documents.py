"""Documents of requests that nobody's code has written: whoever may ask may send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from golden_requests import PURCHASES, golden_session

import giveortake as gt
from cases import all_cases
from giveortake.learn.gradient_descent import PerturbationFitting, Schedule
from giveortake.learn.moments import MeanFitting
from giveortake.mechanisms.vectors import OutputPerturbation
from giveortake.plan import ColumnReference
from giveortake.session.requests import Record, request_of
from giveortake.session.session import mechanism_of, query_of
from small_session import small_session
from tiers import tiered

ODD: list[Any] = [-1, 0, "-1/1", "0/1", f"{10**400}/1", "inf", True, [], "nothing"]
TERMS: list[dict[str, str]] = [{"epsilon": "1"}, {"epsilon": "1", "delta": "1e-6"}, {"mu": "1/2"}]


def mangled(document: Any) -> Iterator[Any]:
    """The document with one of its leaves replaced, each by everything odd."""
    if not isinstance(document, dict | list):
        yield from ODD
        return
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for place, part in items:
        for odd in mangled(part):
            copy: Any = dict(document) if isinstance(document, dict) else list(document)
            copy[place] = odd
            yield copy


@all_cases("name", tiered(["weights", "counter", "profile", "descent", "statistical query"], [*PURCHASES]))
def test_a_mangled_request_is_quoted_or_refused_and_nothing_else(name: str) -> None:
    with golden_session() as session:
        list(PURCHASES[name](session))
        origin, before = mechanism_of(session).origin, len(session.history())
        texts = {record.request for release in session.releases() if (record := Record.of(release.record)) is not None}
        for document in (json.loads(text) for text in texts):
            for odd in mangled(document):
                for terms in TERMS[1:2]:
                    try:
                        quote = query_of(session, request_of(odd, origin)).quote(**terms)
                    except gt.errors.GiveOrTakeError:
                        continue
                    assert quote.cost is not None
        assert len(session.history()) == before


def test_what_a_proof_needs_is_checked_where_it_is_stored() -> None:
    """These reached a mechanism with a negative strength: it claimed no sensitivity, and added no noise."""
    for number in (Fraction(-1), Fraction(0), Fraction(-186_761)):
        with pytest.raises(gt.errors.InvalidParameter):
            PerturbationFitting("z", None, number, 10, "logistic")
        with pytest.raises(gt.errors.InvalidParameter):
            OutputPerturbation(Fraction(1), number, Fraction(1), 1, 3, 1000, 1, Fraction(0), 1, 1)
        with pytest.raises(gt.errors.InvalidParameter):
            Schedule(10, number, 100, Fraction(1), 1.0)
        with pytest.raises(gt.errors.InvalidParameter):
            MeanFitting(ColumnReference("x"), number, Fraction(1, 2), 100, is_certain=True)
    sound = OutputPerturbation(Fraction(1), Fraction(1), Fraction(1), 1, 3, 1000, 1, Fraction(0), 1, 1)
    with pytest.raises(gt.errors.InvalidParameter):
        sound.event(-1)
    with pytest.raises(gt.errors.InvalidParameter):
        Schedule(10**9, Fraction(1, 10), 100, Fraction(1), 1.0)


def test_a_refinement_by_its_document_is_checked_as_by_its_answer() -> None:
    with small_session() as s:
        median = s.sql("SELECT MEDIAN(x) AS m FROM data").answer(epsilon=1)
        count = s.sql("SELECT COUNT(*) AS n FROM data").answer(epsilon=1)
        origin = mechanism_of(s).origin
        before = len(s.history())
        for fields, error in (
            ({"release": median.release_id}, gt.errors.Unprovable),
            ({"release": count.release_id, "portion": 7}, gt.errors.GiveOrTakeError),
            ({"release": "0" * 24}, gt.errors.NotFound),
        ):
            with pytest.raises(error):
                query_of(s, request_of({"kind": "refinement", **fields}, origin)).answer(epsilon=1)
        assert len(s.history()) == before


def test_a_mean_is_not_bought_below_the_price_of_its_tolerance() -> None:
    with golden_session() as s:
        gt.learn.statistical_query(s, gt.col("x"), tolerance="2", n=100)
        (release,) = s.releases()
        record = Record.of(release.record)
        assert record is not None
        query = query_of(s, request_of(json.loads(record.request), mechanism_of(s).origin))
        for terms in ({"mu": "1/100000"}, {"share": "1/1000"}):
            with pytest.raises(gt.errors.InvalidParameter):
                query.quote(**terms)
