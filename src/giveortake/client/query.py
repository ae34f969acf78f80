"""Questions that a service answers, with the interface of `session.Query`."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Never, Unpack, final

from giveortake.answers import Answer, Stream, codec
from giveortake.answers.terms import CAP_TERMS, TERMS
from giveortake.arguments import told_by_name
from giveortake.errors import InvalidParameter, meant, no_attribute
from giveortake.frame.habits import instead_of_question
from giveortake.wire.quote_documents import quote_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from giveortake.answers.terms import AskTerms
    from giveortake.client.session import RemoteSession
    from giveortake.plan import Question
    from giveortake.session import Quote


def new_key() -> str:
    """A random key, which makes a retry safe."""
    return secrets.token_hex(16)


def said_terms(terms: Mapping[str, Any]) -> dict[str, Any]:
    """The stated terms; unknown names are refused here, as in a local session."""
    known = (*TERMS, *CAP_TERMS)
    for name, value in terms.items():
        if name not in known:
            raise InvalidParameter(name, value, "is unknown", hint=f"{meant(name, known)}known: {', '.join(known)}")
    return {name: value for name, value in terms.items() if value is not None}


@final
class RemoteQuery:
    """A question that can be answered. It is a value: asking it twice asks the same. Terms are those of `Query`."""

    is_remote = True

    def __init__(self, session: RemoteSession, question: Question, said: dict[str, Any]) -> None:
        self.session = session
        self.question = question
        self.said = said

    if not TYPE_CHECKING:  # a wrong name stays an error for a type checker

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, instead_of_question(name))

    @told_by_name()
    def quote(self, **terms: Unpack[AskTerms]) -> Quote:
        """What an answer would cost, and its margins. No row is read, and nothing is charged."""
        return quote_of(self.session.post("quote", {**self.said, "terms": said_terms(terms)}))

    @told_by_name()
    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> Answer:
        """The answer. `key` makes a retry in another call safe; retries within this call always are."""
        body = {**self.said, "terms": said_terms(terms), "key": new_key() if key is None else key}
        return self.session.answered(self.session.post("answer", body))

    @told_by_name()
    def stream(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> Stream:
        """The answer as a stream of answers about some keys each, for tables that are too large for memory."""
        body = {**self.said, "terms": said_terms(terms), "key": new_key() if key is None else key}

        def portions() -> Iterator[Answer]:
            portion, last = 0, False
            while not last:
                document = self.session.post("stream", {**body, "part": portion})
                yield self.session.answered(document["answer"])
                portion, last = portion + 1, document["last"]

        return Stream(portions)

    @property
    def finds_keys(self) -> bool:
        """Whether some keys have to be found in the data."""
        return self.question.finds_keys

    def __repr__(self) -> str:
        columns = ", ".join([*(name for name, _ in self.question.keys), *(name for name, _ in self.question.outputs)])
        return f"<RemoteQuery of {self.session.name}: {columns}>"


def answer_of(document: dict[str, Any], refine: Any) -> Answer:
    """The answer in a document; `refine` refines it at the service."""
    columns, provenance = codec.from_json(json.dumps(document), "answer")
    return Answer(columns, refine=refine, **provenance)
