"""A page that asks one question and randomises the answer in the respondent's own browser."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.local.poll import Poll
from giveortake.local.randomized_response import RandomizedResponse

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.local.oracle import Oracle


def page(survey: Oracle, question: str | None = None) -> str:
    """One HTML file that needs no server and talks to none.

    Guarantee [War65]: the report has exactly the law of `survey.randomize`: coins are compared with the survey's
    fractions as whole numbers of any size, drawn from `crypto.getRandomValues`. Whoever answers twice would spend
    twice, so the page draws once for each survey and question, and shows the same report from then on.

    The question is the survey's name unless it is given.
    """
    text = (survey.name if question is None else question).strip()
    if not text:
        raise InvalidParameter("question", question, "is empty", hint="say what the respondent is asked")
    if isinstance(survey, Poll):
        labels = ["no", "yes"]
        coins: dict[str, Any] = {"truth": _pair(survey.truth), "otherwise": _pair(survey.otherwise)}
    elif isinstance(survey, RandomizedResponse):
        labels = [str(category) for category in survey.categories]
        coins = {"ratio": _pair(survey.ratio)}
    else:
        raise InvalidParameter(
            "survey", survey.kind, "has no page", hint="hold a Poll or a RandomizedResponse, or randomise with Python"
        )
    shown = {
        "kind": survey.kind,
        "survey": survey.fingerprint,
        "question": text,
        "labels": labels,
        "coins": coins,
    }
    template = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
    parts = {
        "question": escape(text),
        "promise": escape(survey.promise),
        "survey": json.dumps(shown, ensure_ascii=True).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)  # once: a question may hold braces


def _pair(number: Fraction) -> list[str]:
    """A fraction as two whole numbers in text: they may be longer than a double is exact."""
    return [str(number.numerator), str(number.denominator)]
