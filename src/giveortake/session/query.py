"""A question to a session: quoted for free, answered at a price."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.compile import Spend, measurement, spend_of
from giveortake.errors import InvalidParameter
from giveortake.session import answering
from giveortake.session.margins import spend_for_margin
from giveortake.session.quote import Quote, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.answers import Answer, Stream
    from giveortake.compile import Measurement
    from giveortake.exact import Number
    from giveortake.plan import Question
    from giveortake.session.session import Session

_USUAL_CONFIDENCE = Fraction(95, 100)


@final
class Query:
    """A question that can be answered. It is a value: asking it twice asks the same."""

    def __init__(self, session: Session, question: Question, options: Mapping[str, Any]) -> None:
        self.session = session
        self.question = question
        self.options = dict(options)

    def quote(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        margin: Number | None = None,
        confidence: Number = _USUAL_CONFIDENCE,
        key_delta: Number | None = None,
        n: Number | None = None,
    ) -> Quote:
        """What an answer would cost and how sure it would be. No data is touched, and nothing spent.

        `n` is how many rows a group has, if that is public or was released: means are as sure as it is large.
        """
        spend = self._spend(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mu=mu,
            margin=margin,
            confidence=confidence,
            key_delta=key_delta,
            n=n,
        )
        return quoted(self.session, self.measured(spend), spend, confidence, n)

    def answer(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        margin: Number | None = None,
        confidence: Number = _USUAL_CONFIDENCE,
        key_delta: Number | None = None,
        n: Number | None = None,
        key: str | None = None,
    ) -> Answer:
        """The answer, at the cost of the whole question however many columns it has.

        The spend is a pure `epsilon` (Laplace noise), or `epsilon` and `delta`, `rho` or `mu` (Gaussian noise), or the
        least that reaches a `margin` with the stated confidence. `key` makes a retry safe: the same key and question
        give the same answer and are charged once. The same question at the same price is free the second time.
        """
        spend = self._spend(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mu=mu,
            margin=margin,
            confidence=confidence,
            key_delta=key_delta,
            n=n,
        )
        return answering.answer(self.session, self.measured(spend), spend, confidence, key)

    def stream(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        margin: Number | None = None,
        confidence: Number = _USUAL_CONFIDENCE,
        key_delta: Number | None = None,
        n: Number | None = None,
        key: str | None = None,
    ) -> Stream:
        """The answer as a stream of answers about some keys each, for tables that are too large to be held at once.

        The arguments and the price are those of `answer`, and so is what is kept: it is drawn once.
        """
        spend = self._spend(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mu=mu,
            margin=margin,
            confidence=confidence,
            key_delta=key_delta,
            n=n,
        )
        return answering.stream(self.session, self.measured(spend), spend, confidence, key)

    @property
    def finds_keys(self) -> bool:
        """Whether some keys are not known beforehand."""
        schema = self.question.relation.schema
        return any(key.domain(schema).keys() is None for _, key in self.question.keys)

    def measured(self, spend: Spend) -> Measurement:
        """The measurement that such a spend buys."""
        session = self.session
        return measurement(self.question, session.caps, session.budget.neighbours, spend)

    def _spend(
        self,
        *,
        epsilon: Number | None,
        delta: Number | None,
        rho: Number | None,
        mu: Number | None,
        margin: Number | None,
        confidence: Number,
        key_delta: Number | None,
        n: Number | None,
    ) -> Spend:
        if epsilon is None and rho is None and mu is None and margin is None:
            epsilon, delta = self.options.get("epsilon"), delta or self.options.get("delta")
        spend = spend_of(epsilon, delta, rho, mu, key_delta)
        if margin is not None:
            if spend is not None:
                raise InvalidParameter("margin", margin, "decides the spend; do not state both")
            return self.with_keys(spend_for_margin(self, margin, confidence, key_delta, n))
        if spend is None:
            raise InvalidParameter(
                "epsilon", None, "is missing: say what the answer may cost", hint='epsilon="0.1", or margin=50'
            )
        return self.with_keys(spend)

    def with_keys(self, spend: Spend) -> Spend:
        """The δ for finding keys, a tenth of the pot unless said otherwise; none if all keys are known."""
        if not self.finds_keys:
            return replace(spend, keys=None)
        if spend.keys is not None or self.session.key_pot is None:
            return spend
        usual = self.session.key_pot / 10
        return replace(spend, keys=usual if spend.delta is None else min(usual, spend.delta / 2))

    def __repr__(self) -> str:
        columns = ", ".join([*(name for name, _ in self.question.keys), *(name for name, _ in self.question.outputs)])
        return f"<Query of {self.session.name}: {columns}>"
