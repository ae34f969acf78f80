"""SELECT DISTINCT of declared keys: answered from the domains, without reading rows and without a charge."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.answers import Answer
from giveortake.compile.postprocessing import known_columns
from giveortake.engines import KeyColumn, Keys
from giveortake.errors import QueryRefused
from giveortake.plan.domains import MOST_KEYS
from giveortake.session.quote import Quote

if TYPE_CHECKING:
    from giveortake.plan import Question
    from giveortake.session.mechanism import InteractiveMechanism

_NOTE = "these are the declared keys: no row was asked, and nothing is charged; which of them occur is not told"


def known_answer(mechanism: InteractiveMechanism, question: Question) -> Answer:
    """The declared keys as an answer. It uses no row, so it carries no promise and costs nothing."""
    mechanism.origin.require(question)
    return Answer(known_columns(question, _keys(question)), notes=(_NOTE,))


def known_quote(mechanism: InteractiveMechanism, question: Question, confidence: Fraction) -> Quote:
    """The quote for such an answer: it costs nothing."""
    mechanism.origin.require(question)
    return Quote(
        cost=None,
        spend="nothing",
        share=Fraction(0),
        margins={},
        noise={},
        contributions=None,
        keys=f"{_keys(question).size:,} known beforehand, all answered",
        remaining=mechanism.standing().remaining,
        admitted=True,
        confidence=confidence,
        advice=(),
        remarks=(_NOTE,),
    )


def _keys(question: Question) -> Keys:
    schema = question.relation.schema
    keys = Keys(tuple(KeyColumn(name, key, key.domain(schema).keys()) for name, key in question.keys))
    if keys.size > MOST_KEYS:
        raise QueryRefused(f"the answer would have {keys.size:,} keys, more than {MOST_KEYS:,}", hint="fewer columns")
    return keys
