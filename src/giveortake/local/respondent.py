"""One person who is asked again and again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.errors import BudgetExceeded, DamagedReports, InvalidParameter
from giveortake.exact import Number, positive, shown_up
from giveortake.local.oracle import Oracle, from_json, source
from giveortake.local.poll import SPELLINGS, Poll
from giveortake.local.rappor import Rappor
from giveortake.local.texts import checked_texts
from giveortake.randomness import uniform_integers

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.privacy import PureDP
    from giveortake.randomness import Entropy


@final
class Respondent:
    """Answers a survey repeatedly, and knows what that has cost.

    Guarantee (seed 000 L1.2, [EPK14]): without memory every report is paid for, k reports cost kε. With memory the
    first report on a value is kept and repeated, so a lifetime costs ε times the number of *distinct* values ever
    reported, however often each is. With RAPPOR the permanent response is kept, and reports differ. That a value
    changed can still be seen when the report does.

    The memory is private: it stays on the respondent's machine.

    >>> from giveortake.local import Poll
    >>> person = Respondent(Poll(truth="1/2"))
    >>> len({person.report(True) for _ in range(100)})
    1
    >>> person.guarantee == Poll(truth="1/2").guarantee
    True
    """

    def __init__(self, survey: Oracle, *, memoise: bool = True, budget: Number | None = None) -> None:
        self.survey = survey
        self.memoise = memoise
        self.budget: Fraction | None = None if budget is None else positive("budget", budget)
        self._memory: dict[str, Any] = {}
        self._paid = 0
        self._cohort: int | None = None

    def __repr__(self) -> str:
        """What was spent, and never what was answered."""
        spent = f"ε = {shown_up(self._paid * self.survey.epsilon)}"
        limit = "" if self.budget is None else f" of {shown_up(self.budget)}"
        return f"<a respondent to survey {self.survey.fingerprint[:8]} ({self.survey.kind}): {spent}{limit} spent>"

    @property
    def paid(self) -> int:
        """How many times ε was spent: distinct values with memory, reports without."""
        return self._paid

    @property
    def guarantee(self) -> PureDP | None:
        """What is promised about everything reported so far; None if nothing was."""
        return self.survey.asked(self._paid) if self._paid else None

    def report(self, value: Any, entropy: Entropy | None = None) -> Any:
        """A report for today's answer; refused, before anything is drawn, if it would exceed the budget."""
        if isinstance(self.survey, Poll):
            value = SPELLINGS.get(str(value).strip().lower(), value)  # yes, True and 1 are one answer
        key = json.dumps(value, ensure_ascii=False) if isinstance(value, str | int | float | bool) else repr(value)
        if self.memoise and key in self._memory:
            return self._fresh(self._memory[key], entropy)
        cost = (self._paid + 1) * self.survey.epsilon
        if self.budget is not None and cost > self.budget:
            raise BudgetExceeded(
                f"one more answer would bring this respondent to ε = {shown_up(cost)} of {shown_up(self.budget)}",
                cost=self.survey.epsilon,
                remaining=self.budget - self._paid * self.survey.epsilon,
                hint="a value that was reported before costs nothing if answers are memoised",
            )
        kept = self._first(value, entropy)
        self._paid += 1
        if self.memoise:
            self._memory[key] = kept
        return self._fresh(kept, entropy)

    def to_json(self) -> str:
        """The memory, for the respondent's own machine: it tells what was answered, and must not leave it."""
        return json.dumps(
            {
                "survey": json.loads(self.survey.to_json()),
                "memoise": self.memoise,
                "budget": None if self.budget is None else str(self.budget),
                "memory": self._memory,
                "paid": self._paid,
                "cohort": self._cohort,
            },
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Respondent:
        """The respondent that `to_json` wrote."""
        try:
            document = json.loads(text)
            survey = from_json(json.dumps(document["survey"]))
            found = cls(survey, memoise=document["memoise"], budget=document["budget"])
            found._memory, found._paid, found._cohort = document["memory"], document["paid"], document["cohort"]
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InvalidParameter | DamagedReports):
                raise
            raise DamagedReports("this is not the memory of a respondent") from None
        return found

    def _first(self, value: Any, entropy: Entropy | None) -> Any:
        if not isinstance(self.survey, Rappor):
            return self.survey.randomize(value, entropy)
        coins = source(entropy)
        if self._cohort is None:
            self._cohort = int(uniform_integers(self.survey.cohorts, 1, coins)[0])
        cohorts = np.array([self._cohort])
        return self.survey.drawn(checked_texts([value]), cohorts, self.survey.permanent, coins)[0].tobytes().hex()

    def _fresh(self, kept: Any, entropy: Entropy | None) -> Any:
        if not isinstance(self.survey, Rappor):
            return kept
        return self.survey.again(bytes.fromhex(kept), entropy).hex()
