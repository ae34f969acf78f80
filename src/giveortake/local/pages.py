"""What respondents and collectors see: a page that randomises in the browser, and reports as columns of text.

- Answers and reports as columns of text, which is what CSV files hold.
- A page that asks one question and randomises the answer in the respondent's own browser.
"""

from __future__ import annotations

import json
import math
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import HIDDEN, DamagedReports, ForeignReports, InvalidParameter
from giveortake.local.categories import RandomizedResponse
from giveortake.local.frequencies import FrequencyOracle, listed_shortly
from giveortake.local.mean import Mean
from giveortake.local.poll import SPELLINGS, Poll

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from giveortake.local.survey import Oracle, Reports


def answers_of(survey: Oracle, texts: Sequence[str], place_of: Callable[[int], str] | None = None) -> list[Any]:
    """The answers in a column of texts; a text that is no answer is refused with its place, and not quoted.

    >>> answers_of(Poll(truth="1/2"), ["yes", "No", "1"])
    [True, False, True]
    """
    if isinstance(survey, Poll):
        return _known_answers(SPELLINGS, [text.strip().lower() for text in texts], place_of)
    if isinstance(survey, FrequencyOracle):
        known = {str(category): category for category in survey.categories}
        return _known_answers(known, [text if text in known else text.strip() for text in texts], place_of)
    if isinstance(survey, Mean):
        return [_number(text, index, place_of) for index, text in enumerate(texts)]
    return list(texts)


def report_rows(reports: Reports) -> list[tuple[str, str]]:
    """One row for each report: the survey's fingerprint, and the report as text."""
    data = reports.data
    texts = [str(item) for item in data.tolist()] if data.ndim == 1 else [bytes(row).hex() for row in data]
    return [(reports.survey, text) for text in texts]


def reports_of(survey: Oracle, rows: Sequence[tuple[str, str]]) -> Reports:
    """The reports in rows of `report_rows`, if all of them were made for this survey."""
    for fingerprint, _ in rows:
        if fingerprint != survey.fingerprint:
            raise ForeignReports(
                f"a report belongs to survey {fingerprint[:8]}, and this is {survey.fingerprint[:8]}",
                hint="estimate reports with the parameters they were made with",
            )
    texts = [text for _, text in rows]
    if not all(text.isascii() for text in texts):
        raise DamagedReports("a report contains characters that no report has")
    return survey.received(texts)


def _known_answers(known: dict[str, Any], texts: list[str], place_of: Callable[[int], str] | None) -> list[Any]:
    for index, text in enumerate(texts):
        if text not in known:
            raise InvalidParameter(_name(index, place_of), HIDDEN, f"is not one of {listed_shortly(list(known))}")
    return [known[text] for text in texts]


def _number(text: str, index: int, place_of: Callable[[int], str] | None) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise InvalidParameter(_name(index, place_of), HIDDEN, "is not a number")
    return number


def _name(index: int, place_of: Callable[[int], str] | None) -> str:
    return "answer" if place_of is None else f"answer in {place_of(index)}"


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
    parameters = {
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
        "survey": json.dumps(parameters, ensure_ascii=True).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)  # once: a question may hold braces


def _pair(number: Fraction) -> list[str]:
    """A fraction as two whole numbers in text: they may be longer than a double is exact."""
    return [str(number.numerator), str(number.denominator)]
