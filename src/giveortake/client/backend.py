"""Sessions that a service answers: the same `Session` as beside the data, over HTTP.

`connect` gives a session whose mechanism holds no rows. It sends requests, and reads releases as every session does:
by the measurement that was charged, on steps that are all stored. What a service sends is what it has released, and
what is declared about its tables; so all that is computed here is post-processing.
"""

from __future__ import annotations

import json
import secrets
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, final

from giveortake import codec
from giveortake.answers import Answer, Stream
from giveortake.client.connection import Connection
from giveortake.compile import Caps, CustodianCaps
from giveortake.errors import AccessDenied, InvalidParameter, NotFound, Unavailable
from giveortake.exact import read_fraction
from giveortake.ledger import BudgetStatus
from giveortake.plan import Value
from giveortake.privacy import ROW, Guarantee, unit
from giveortake.session.kinds.queries import BatchRequest, QueryRequest
from giveortake.session.mechanism import InteractiveMechanism
from giveortake.session.releases import Reading
from giveortake.session.session import Session
from giveortake.session.steps import Steps, steps_in
from giveortake.wire.documents import amount_of, entry_of, origin_of, quote_of, release_of, reservation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.compile import Terms
    from giveortake.ledger import Entry, ReleaseRecord
    from giveortake.session.quotes import Quote
    from giveortake.session.requests import Priced, Request

_PAGE = 1000  # entries and releases of a page


def connect(url: str, dataset: str | None = None, *, token: str, timeout: float = 60) -> Session:
    """A session with the service at an address, for whoever has the token.

    If the token is for several data sets, `dataset` says which is meant. Only requests are sent, and only releases come
    back; use https unless the service is on this machine.
    """
    connection = Connection(url, token, timeout)
    try:
        who = connection.get("me")
        name = _chosen(dataset, who["datasets"])
        mechanism = RemoteMechanism.of(connection, connection.get("datasets", name), who["analyst"])
    except BaseException:
        connection.close()
        raise
    return Session(mechanism, unasked={}, owns_ledger=True, owns_engine=False, durable=True)


def _chosen(dataset: str | None, names: list[str]) -> str:
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is None or dataset not in names:
        problem = "is missing, and there are several" if dataset is None else "is not among those you may ask"
        raise InvalidParameter("dataset", dataset, problem, hint=f"one of {', '.join(names) or 'none'}")
    return dataset


@final
@dataclass(frozen=True, slots=True)
class NoEngine:
    """Stands where the engine of a service would: it has no rows, and what it cannot run the service refuses."""

    identity: str
    has_witnesses: bool = False

    def require_runnable(self, questions: Iterable[object]) -> None:
        """Nothing: the service asks its own engine."""

    def hold_to_content(self) -> None:
        """Nothing, as above."""


@final
@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of large releases, by their files, as the service sent them."""

    files: dict[str, list[Any]]

    def read(self, entry: Any) -> Iterator[Any]:
        """The lines of a file."""
        return iter(self.files[entry["file"]])


@final
@dataclass(frozen=True, slots=True)
class RemoteLedger:
    """What an analyst may read of a service's ledger."""

    connection: Connection
    dataset: str
    unit: str | None
    analyst: str | None

    def get(self, *path: str, **query: Any) -> dict[str, Any]:
        """Read what a path below the data set leads to."""
        return self.connection.get("datasets", self.dataset, *path, **query)

    def post(self, *path: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
        """Send a document to a path below the data set."""
        return self.connection.post("datasets", self.dataset, *path, body=body, **query)

    def deciding(self, _dataset: str, *, analyst: str | None = None) -> BudgetStatus:
        """The state of the level that decides about the next question."""
        return self.rest("")[0]

    def rest(self, _dataset: str, *, analyst: str | None = None) -> tuple[BudgetStatus, Fraction | None]:
        """That state, and the greatest pure ε, up to rounding, that would be admitted now."""
        document = self.get("budget")
        budget = document["promise"]
        status = BudgetStatus(
            number=0,
            kind=document["level"],
            name=self.analyst or self.dataset,
            unit=ROW if self.unit is None else unit(self.unit),
            budget=None if budget is None else codec.read(Guarantee, budget),
            spent=amount_of(document["spent"]),
            remaining=amount_of(document["remaining"]),
            share=None if document["share"] is None else Fraction(document["share"]),
            meter=document["meter"],
            closed=document["closed"],
            given=read_fraction("promise", document["given_exactly"]),
            own=None if document["own"] is None else Fraction(document["own"]),
        )
        left = document["affordable_exactly"]
        return status, None if left is None else read_fraction("promise", left)

    def entries(self, *, analyst: str | None = None, after: int | None = None, limit: int = sys.maxsize) -> list[Entry]:
        """The ledger's entries about the asker, in order."""
        entries: list[Entry] = []
        has_more = True
        while has_more and len(entries) < limit:
            last = entries[-1].number if entries else after or 0
            page = self.get("history", after=last, limit=min(limit - len(entries), _PAGE))
            entries += map(entry_of, page["entries"])
            has_more = page["more"]
        return entries

    def releases(
        self,
        *,
        analyst: str | None = None,
        dataset: str | None = None,
        after: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> list[ReleaseRecord]:
        """The asker's paid releases."""
        order: str | None = "newest" if newest_first else None
        releases: list[ReleaseRecord] = []
        while len(releases) < limit:
            page = self.get("releases", after=after, limit=min(limit - len(releases), _PAGE), order=order)
            releases += map(release_of, page["releases"])
            if not page["more"]:
                break
            after = releases[-1].id
        return releases

    def release_record(self, release: str, *, analyst: str | None = None) -> ReleaseRecord:
        """The ledger's record of one release."""
        if not hasattr(release, "encode") or not release:
            raise NotFound(f"there is no release {release!r}", hint="s.releases() lists them")
        return release_of(self.get("releases", release, "record"))

    def profiles(
        self, _dataset: str, *, version: str, analyst: str | None = None, before: int | None = None
    ) -> list[tuple[Any, str, Any]]:
        """The profiles that the asker's levels paid for, as they are stored, newest first."""
        return [(name, release, answer) for name, release, answer in self.get("profiles", format="stored")["profiles"]]

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


@final
@dataclass(frozen=True, slots=True, eq=False)
class RemoteMechanism(InteractiveMechanism):
    """The mechanism of a service, as seen from outside: it quotes, answers and goes on over HTTP, and has no rows."""

    @classmethod
    def of(cls, connection: Connection, description: dict[str, Any], analyst: str | None) -> RemoteMechanism:
        """The mechanism of the data set that is described."""
        made, own = description["version_of_service"].split("."), version("giveortake").split(".")
        if made[:2] != own[:2]:
            raise Unavailable(
                f"the service runs giveortake {'.'.join(made)}, and this is {'.'.join(own)}",
                hint=f"pip install 'giveortake=={'.'.join(made[:2])}.*'",
            )
        ledger: Any = RemoteLedger(connection, description["name"], description["unit"], analyst)
        engine: Any = NoEngine(description["engine"])
        lines: Any = Lines({})
        caps: Any = description["caps"] or {}
        tables = tuple(table["name"] for table in description["tables"])
        return cls(
            engine=engine,
            ledger=ledger,
            spool=lines,
            origin=origin_of(description),
            dataset=description["name"],
            population=description["population"],
            version=description["version"],
            budget=codec.read(Guarantee, description["promise"]),
            caps=CustodianCaps(
                Caps(**caps), tables, description["caps_are_maxima"], of_persons=description["unit"] is not None
            ),
            analyst=analyst,
            declared=description["declared"],
        )

    def as_analyst(self, name: str) -> InteractiveMechanism:
        if name == self.analyst:
            return self
        raise AccessDenied("the token says who asks", hint=f"connect with the token of {name}; the custodian issues it")

    @property
    def granted(self) -> Guarantee:
        granted: Guarantee = codec.read(Guarantee, self._ledger.get()["promise"])  # the custodian may have changed it
        return granted

    @property
    def _ledger(self) -> RemoteLedger:
        ledger: Any = self.ledger
        assert isinstance(ledger, RemoteLedger)  # noqa: S101 (`of` made it)
        return ledger

    # -- asking -------------------------------------------------------------------------------------------------

    def quote(self, request: Request, terms: Terms) -> Quote:
        return quote_of(self._ledger.post("quote", body=self._body(request, terms)))

    def answer(self, request: Request, terms: Terms, key: str | None) -> Any:
        body = {**self._body(request, terms), "key": new_key() if key is None else key}
        document = self._ledger.post("answer", body=body, format="stored")
        return self._reading(document, request).read(terms)

    def stream(self, request: Request, terms: Terms, key: str | None) -> Stream:
        body = {**self._body(request, terms), "key": new_key() if key is None else key}

        def portions() -> Iterator[Answer]:
            portion, is_last = 0, False
            while not is_last:
                document = self._ledger.post("stream", body={**body, "part": portion})
                yield Answer.from_json(json.dumps(document["answer"]))
                portion, is_last = portion + 1, document["last"]

        return Stream(portions)

    def advance(self, priced: Priced[Any], _terms: Terms, release_id: str, argument: Any) -> Steps:
        if argument is None:  # the step after those that are there: sent again, it is drawn once
            argument = len(self.stored(priced, release_id).stored)
        document = self._ledger.post("releases", release_id, "advance", body={"argument": argument})
        return self._steps(document).admitted_by(priced.bound.inner_filter(priced.measurement))

    def stored(self, priced: Priced[Any], release_id: str) -> Steps:
        document = self._ledger.get("releases", release_id, format="stored")
        return self._steps(document).admitted_by(priced.bound.inner_filter(priced.measurement))

    def reading(self, release_id: str) -> Reading:
        return self._reading(self._ledger.get("releases", release_id, format="stored"))

    def _body(self, request: Request, terms: Terms) -> dict[str, Any]:
        if getattr(request, "progress", None) is not None:
            raise InvalidParameter(
                "progress", "a function", "cannot be called by a service", hint="leave it out, and wait for the answer"
            )
        part = self.part
        scope: dict[str, Any] = {}
        if part is not None:
            value = codec.write(part.value, Value)
            scope = {"part_of_tables": {"column": part.column, "value": value, "parts_per_person": part.touched}}
        return {**self._wanted(request), "terms": terms.to_json(), **scope}

    def _wanted(self, request: Request) -> dict[str, Any]:
        """A request as it is sent: SQL as its text, which the service reads itself."""
        if isinstance(request, BatchRequest):
            return {"queries": [self._wanted(query) for query in request.queries]}
        if isinstance(request, QueryRequest):
            if request.text is not None:
                return {"sql": request.text}
            return {"plan": codec.text_of(request.question, references=self.origin)}  # plans nest deeper than bodies
        return {"request": codec.text_of(request, references=self.origin)}

    # -- reading ------------------------------------------------------------------------------------------------

    def _reading(self, document: dict[str, Any], request: Request | None = None) -> Reading:
        mechanism = replace(
            self,
            spool=Lines(document["files"]),  # type: ignore[arg-type]  # (all that reading needs of a spool)
            version=document["version"],
            paid_profiles=tuple((name, release, answer) for name, release, answer in document["profiles"]),
        )
        return Reading(mechanism, release_of(document["release"]), self._steps(document), request)

    def _steps(self, document: dict[str, Any]) -> Steps:
        reservation = reservation_of(document["reservation"])
        return Steps(self, reservation, steps_in(reservation.answer) if reservation.settled else document["steps"])


def new_key() -> str:
    """A random key, which makes a retry safe."""
    return secrets.token_hex(16)
