"""What a respondent runs: one person who is asked again and again, and a page that randomises in the browser."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from giveortake import codec
from giveortake.codec import stored
from giveortake.errors import (
    HIDDEN,
    BudgetExceeded,
    DamagedReports,
    ForeignReports,
    InvalidParameter,
    SensitiveValue,
    Unprovable,
)
from giveortake.exact import Number, decimal_up, positive
from giveortake.local.categories import RandomizedResponse
from giveortake.local.frequencies import FrequencyOracle, listed_shortly
from giveortake.local.mean import Mean
from giveortake.local.poll import SPELLINGS, Poll
from giveortake.local.rappor import Rappor
from giveortake.local.survey import Oracle, checked_texts, is_one, read_document
from giveortake.mechanisms.mechanism import source
from giveortake.randomness import uniform_integers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from giveortake.local.survey import Reports
    from giveortake.privacy import PureDP
    from giveortake.randomness import Entropy


_PATTERNS = (
    "with memory, a report that changes tells that the answer did: the promise only compares lifetimes in which "
    "answers repeat in the same places"
)


@final
@stored("respondent")
@dataclass(frozen=True, slots=True)
class _Lifetime:
    """What a respondent keeps."""

    survey: Oracle
    memoise: bool
    budget: Fraction | None
    memory: dict[str, Any]
    paid: int
    cohort: int | None


@final
class Respondent:
    """Answers a survey repeatedly, and knows what that has cost.

    Guarantee [PDP21, L1.2], [EPK14]: without memory every report is paid for, and k reports cost kε, whatever the
    answers are. With memory the first report on a value is kept and repeated. As long as one value was reported, that
    costs ε among all lifetimes that keep to one value; with d distinct values it costs dε, but only among lifetimes in
    which answers repeat in the same places: that an answer changed can be seen when the report does. With RAPPOR the
    permanent response is kept, and reports differ.

    With memory and a budget, a new value that can no longer be paid for is not refused, which would show that it is
    new: the report that was kept last is repeated instead. Estimates over such respondents are biased towards what
    they answered before. With a budget for one value, everything reported is made from the first report, and the
    promise holds whatever the answers are.

    The memory is private: it stays on the respondent's machine. Threads may share a respondent.

    >>> from giveortake.local import Poll
    >>> person = Respondent(Poll(truth="1/2"))
    >>> len({person.report(True) for _ in range(100)})
    1
    >>> person.guarantee == Poll(truth="1/2").guarantee
    True
    """

    def __init__(self, survey: Oracle, *, memoise: bool = True, budget: Number | None = None) -> None:
        if not isinstance(memoise, bool):
            raise InvalidParameter("memoise", memoise, "is neither True nor False")
        self.survey = survey
        self.memoise = memoise
        self.budget: Fraction | None = None if budget is None else positive("budget", budget)
        self._memory: dict[str, Any] = {}
        self._paid = 0
        self._cohort: int | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        """What was spent, and never what was answered."""
        spent = f"ε = {decimal_up(self._paid * self.survey.epsilon)}"
        limit = "" if self.budget is None else f" of {decimal_up(self.budget)}"
        return f"<a respondent to survey {self.survey.fingerprint[:8]} ({self.survey.kind}): {spent}{limit} spent>"

    @property
    def paid(self) -> int:
        """How many times ε was spent: distinct values with memory, reports without."""
        return self._paid

    @property
    def guarantee(self) -> PureDP | None:
        """What is promised about everything reported so far; None if nothing was.

        Without memory, among all lifetimes with as many answers; with memory, among those that keep to one value. Once
        a second value was paid for with memory there is no such promise: see `guarantee_for_equal_patterns`.
        """
        if self.memoise and self._paid > 1:
            raise Unprovable(_PATTERNS, hint="ask for `guarantee_for_equal_patterns`, or use memoise=False")
        return self.guarantee_for_equal_patterns

    @property
    def guarantee_for_equal_patterns(self) -> PureDP | None:
        """The promise among lifetimes whose answers repeat in the same places; None if nothing was reported."""
        return self.survey.asked(self._paid) if self._paid else None

    def report(self, value: Any, entropy: Entropy | None = None) -> Any:
        """A report for today's answer.

        Without memory, or before anything was kept, one that would exceed the budget is refused before anything is
        drawn; with memory the report that was kept last is repeated. Everything is charged before it is drawn.
        """
        if not is_one(value):
            raise InvalidParameter("answer", HIDDEN, "is not one answer", hint="report one answer at a time")
        if isinstance(self.survey, Poll):
            value = SPELLINGS.get(str(value).strip().lower(), value)  # yes, True and 1 are one answer
        key = json.dumps(self.survey.code(value), ensure_ascii=False)
        with self._lock:
            if self.memoise and key in self._memory:
                return self._fresh(self._memory[key], entropy)
            cost = (self._paid + 1) * self.survey.epsilon
            if self.budget is not None and cost > self.budget:
                if self._memory:
                    return self._fresh(self._memory[next(reversed(self._memory))], entropy)
                raise BudgetExceeded(
                    f"one more answer would bring this respondent to ε = {decimal_up(cost)} "
                    f"of {decimal_up(self.budget)}",
                    cost=self.survey.epsilon,
                    remaining=self.budget - self._paid * self.survey.epsilon,
                    hint="answers that are memoised cost nothing when they are repeated",
                )
            self._paid += 1
            memoised = self._first(value, entropy)
            if self.memoise:
                self._memory[key] = memoised
            return self._fresh(memoised, entropy)

    def to_json(self) -> str:
        """The memory, for the respondent's own machine: it tells what was answered, and must not leave it."""
        with self._lock:
            lifetime = _Lifetime(self.survey, self.memoise, self.budget, self._memory, self._paid, self._cohort)
            return codec.text_of(lifetime)

    @classmethod
    def from_json(cls, text: str) -> Respondent:
        """The respondent that `to_json` wrote; a memory that no respondent could have is refused."""
        lifetime: _Lifetime = read_document(_Lifetime, text, "respondent")
        respondent = cls(lifetime.survey, memoise=lifetime.memoise, budget=lifetime.budget)
        if not respondent._restored(lifetime):
            raise DamagedReports("no respondent to this survey could have this memory")
        return respondent

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Copies and pickles are refused: they would carry the answers away, and spend the budget twice."""
        raise SensitiveValue(
            "a respondent's memory tells what was answered, and is neither copied nor pickled",
            hint="to_json and from_json keep it on the respondent's own machine",
        )

    def _restored(self, lifetime: _Lifetime) -> bool:
        memory, paid, cohort = lifetime.memory, lifetime.paid, lifetime.cohort
        if paid < len(memory) or (memory and not self.memoise):
            return False
        if self.budget is not None and paid * self.survey.epsilon > self.budget:
            return False
        if not all(map(self._is_key, memory)):
            return False
        self.survey.checked(list(memory.values()))
        if isinstance(self.survey, Rappor):
            heads = {int.from_bytes(bytes.fromhex(pattern)[:2], "little") for pattern in memory.values()}
            if cohort is None and (heads or paid):
                return False
            if cohort is not None and (not 0 <= cohort < self.survey.cohorts or heads - {cohort}):
                return False
        elif cohort is not None:
            return False
        self._memory, self._paid, self._cohort = memory, paid, cohort
        return True

    def _is_key(self, key: str) -> bool:
        """Whether a memory could be kept under this key: the code of an answer, written as `report` writes it."""
        try:
            code = json.loads(key)
        except (ValueError, RecursionError):
            return False
        return self.survey.is_code(code) and json.dumps(code, ensure_ascii=False) == key

    def _first(self, value: Any, entropy: Entropy | None) -> Any:
        if not isinstance(self.survey, Rappor):
            return self.survey.randomize(value, entropy)
        coins = source(entropy)
        if self._cohort is None:
            self._cohort = int(uniform_integers(self.survey.cohorts, 1, coins)[0])
        cohorts = np.array([self._cohort])
        return self.survey.drawn(checked_texts([value]), cohorts, self.survey.permanent, coins)[0].tobytes().hex()

    def _fresh(self, memoised: Any, entropy: Entropy | None) -> Any:
        if not isinstance(self.survey, Rappor):
            return memoised
        return self.survey.instantaneous_report(bytes.fromhex(memoised), entropy).hex()


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
