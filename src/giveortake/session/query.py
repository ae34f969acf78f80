"""A question to a session: quoted for free, answered at a price."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Never, Unpack, final

from giveortake.answers import Answer, Stream
from giveortake.answers.terms import CAP_TERMS
from giveortake.arguments import told_by_name
from giveortake.compile import Terms
from giveortake.errors import no_attribute
from giveortake.frame.habits import instead_of_question
from giveortake.plan.codec import question_to_json
from giveortake.session.arguments import require_here
from giveortake.session.known_keys import known_answer, known_quote
from giveortake.session.quote import quote_of
from giveortake.session.serving import served

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.answers.terms import AskTerms
    from giveortake.plan import Question
    from giveortake.session.mechanism import InteractiveMechanism, Priced
    from giveortake.session.quote import Quote
    from giveortake.session.session import Session


@final
@served
class Query:
    """A question that can be answered. It is a value: asking it twice asks the same.

    The terms are those of `quote`, `answer` and `stream` alike: a pure `epsilon` (Laplace noise); or `epsilon` and
    `delta`, `rho`, or `mu` (Gaussian noise); or the least that reaches a `margin`; or a `share` of the whole budget,
    such as "1/10". For the last two the noise is chosen too: Laplace or Gaussian, whichever leaves more of the budget,
    or makes narrower intervals. `confidence` is that of every interval, 0.95 unless stated, or of all of them together
    where `confidence_over` is "answer"; `key_delta` is the δ for finding keys in the data; `n` is how many rows a group
    has, if that is public or was released: the margins of means depend on it.

    How much of one person counts is capped by `rows_per_person`, `groups_per_person` and `rows_per_group`, which
    override the custodian's caps; the noise depends on them. `caps` says `"best"` to choose them by a profile.
    """

    def __init__(
        self,
        session: Session,
        mechanism: InteractiveMechanism,
        question: Question,
        options: Mapping[str, Any],
        text: str | None = None,
    ) -> None:
        self.session = session
        self.question = question
        self.text = text  # of the question, if it was written in SQL
        self.options = dict(options)
        self._mechanism = mechanism

    if not TYPE_CHECKING:  # a wrong name stays an error for a type checker

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, instead_of_question(name))

    @told_by_name()
    def quote(self, **terms: Unpack[AskTerms]) -> Quote:
        """What an answer would cost, and its margins. No row is read, and nothing is charged.

        The terms: `epsilon`, `delta`, `rho`, `mu`, `margin`, `share`, `confidence`, `confidence_over`, `key_delta` and
        `n`; `rows_per_person`, `groups_per_person`, `rows_per_group`, `caps`; see the class.
        """
        said = self._terms(terms)
        if self.question.distinct:
            return known_quote(self._mechanism, self.question, said.confidence)
        return quote_of(self._mechanism, self._mechanism.price(self.question, said), said)

    @told_by_name()
    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> Answer:
        """The answer, at the cost of the whole question however many columns it has.

        The terms: `epsilon`, `delta`, `rho`, `mu`, `margin`, `share`, `confidence`, `confidence_over`, `key_delta` and
        `n`; `rows_per_person`, `groups_per_person`, `rows_per_group`, `caps`; see the class. `key` makes a retry safe:
        the same key and question give the same answer and are charged once. The same question at the same price is free
        the second time.
        """
        said = self._terms(terms)
        if self.question.distinct:
            return known_answer(self._mechanism, self.question)
        (only,) = self._mechanism.answer([self._priced(said)], said.confidence, key)
        return only

    @told_by_name()
    def stream(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> Stream:
        """The answer as a stream of answers about some keys each, for tables that are too large for memory.

        The terms, the price and the stored release are those of `answer`: either draws it, once.
        """
        said = self._terms(terms)
        if self.question.distinct:
            return Stream(lambda: iter([known_answer(self._mechanism, self.question)]))
        return self._mechanism.stream(self._priced(said), said.confidence, key)

    def _priced(self, said: Terms) -> Priced:
        return replace(self._mechanism.price(self.question, said), text=self.text)

    def plan(self) -> dict[str, Any]:
        """The question as plain lists, numbers and text, from which `session.from_plan` makes the same question."""
        return question_to_json(self.question, self._mechanism.origin)

    @property
    def finds_keys(self) -> bool:
        """Whether some keys have to be found in the data."""
        return self.question.finds_keys

    def _terms(self, said: AskTerms) -> Terms:
        """The stated terms, with those in the question's own text where none are stated."""
        stated = any(said.get(name) is not None for name in ("epsilon", "rho", "mu", "margin", "share"))
        names = {*CAP_TERMS, *(() if stated else ("epsilon", "delta", "share"))}
        own = {name: each for name, each in self.options.items() if name in names}
        return Terms.of(own | {name: value for name, value in said.items() if value is not None})

    def __repr__(self) -> str:
        columns = ", ".join([*(name for name, _ in self.question.keys), *(name for name, _ in self.question.outputs)])
        return f"<Query of {self.session.name}: {columns}>"


def mechanism_of_query(query: Query) -> InteractiveMechanism:
    """The mechanism that answers a question. Like `mechanism_of`, it is not part of the public interface."""
    require_here(query)
    return query._mechanism  # noqa: SLF001 (the one way in)
