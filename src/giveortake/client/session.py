"""Sessions and queries that a service answers, with the interfaces of `gt.protect(…)` sessions and of `session.Query`.

They are for analysts, who have a token and no data.
"""

from __future__ import annotations

import json
import secrets
import sys
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, Unpack, final

from giveortake import codec, frame, sql
from giveortake.answers import Answer, Stream
from giveortake.answers import codec as answer_documents
from giveortake.answers.terms import CAP_TERMS, TERMS, Caps
from giveortake.client.connection import Connection
from giveortake.codec import text_of
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound, did_you_mean
from giveortake.exact import decimal, percent, read_fraction
from giveortake.ledger.releases import History, Releases
from giveortake.plan import Catalog, PublicTable
from giveortake.privacy import Guarantee
from giveortake.session.session import asked_together
from giveortake.wire.documents import (
    amount_of,
    entry_of,
    origin_of,
    profile_of,
    quote_of,
    release_of,
    workload_document,
)
from giveortake.workload.results import StackedFaces, stacked_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from giveortake.answers.terms import AskTerms, SpendTerms
    from giveortake.exact import Number
    from giveortake.ledger import ReleaseRecord
    from giveortake.plan import Question, Relation
    from giveortake.session import Quote
    from giveortake.session.profiles.profile import Profile
    from giveortake.workload import Workload


def new_key() -> str:
    """A random key, which makes a retry safe."""
    return secrets.token_hex(16)


def stated_terms(terms: Mapping[str, Any]) -> dict[str, Any]:
    """The stated terms; unknown names are refused here, as in a local session."""
    known = (*TERMS, *CAP_TERMS)
    for name, value in terms.items():
        if name not in known:
            raise InvalidParameter(
                name, value, "is unknown", hint=f"{did_you_mean(name, known)}known: {', '.join(known)}"
            )
    return {name: value for name, value in terms.items() if value is not None}


@final
class RemoteQuery:
    """A question that can be answered. It is a value: asking it twice asks the same. Terms are those of `Query`."""

    is_remote = True

    def __init__(self, session: RemoteSession, question: Question, document: dict[str, Any]) -> None:
        self.session = session
        self.question = question
        self.document = document

    def quote(self, **terms: Unpack[AskTerms]) -> Quote:
        """What an answer would cost, and its margins. No row is read, and nothing is charged."""
        return quote_of(self.session.post("quote", {**self.document, "terms": stated_terms(terms)}))

    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> Answer:
        """The answer. `key` makes a retry in another call safe; retries within this call always are."""
        body = {**self.document, "terms": stated_terms(terms), "key": new_key() if key is None else key}
        return self.session.answered(self.session.post("answer", body))

    def stream(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> Stream:
        """The answer as a stream of answers about some keys each, for tables that are too large for memory."""
        body = {**self.document, "terms": stated_terms(terms), "key": new_key() if key is None else key}

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
    columns, provenance = answer_documents.from_json(json.dumps(document), "answer")
    return Answer(columns, refine=refine, **provenance)


@final
class RemoteBatch:
    """Questions that are asked together, under one charge."""

    def __init__(self, session: RemoteSession, documents: list[dict[str, Any]]) -> None:
        self._session, self._documents = session, documents

    def quote(self, **terms: Unpack[AskTerms]) -> Quote:
        """What all answers together would cost, and their margins."""
        return quote_of(self._session.post("batch/quote", {"questions": self._documents, "terms": stated_terms(terms)}))

    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> list[Answer]:
        """All answers, in order."""
        body = {"questions": self._documents, "terms": stated_terms(terms), "key": key or new_key()}
        documents = self._session.post("batch", body)["answers"]
        return [self._session.answered(document, index) for index, document in enumerate(documents)]


@final
class RemoteProfile:
    """A profile of a table, under one charge."""

    def __init__(self, session: RemoteSession, fields: dict[str, Any]) -> None:
        self._session, self._fields = session, fields

    def quote(self, *, epsilon: Number) -> Quote:
        """What it would cost, and how precise it would be."""
        return quote_of(self._session.post("profile/quote", {**self._fields, "epsilon": epsilon}))

    def answer(self, *, epsilon: Number, key: str | None = None) -> Profile:
        """The profile, as released."""
        document = self._session.post("profile", {**self._fields, "epsilon": epsilon, "key": key or new_key()})
        return profile_of(document, self._session.uncapped(document["table"]))


@final
class RemoteWorkload:
    """Tables that are asked for together: quoted for free, answered under one charge."""

    def __init__(
        self,
        session: RemoteSession,
        workload: Workload | str,
        table: str | None,
        minimise: str,
        norm: Number | None = None,
    ) -> None:
        self.workload = workload
        self._session = session
        self._document = {
            **workload_document(workload),
            "minimise": minimise,
            **({} if table is None else {"table": table}),
            **({} if norm is None else {"norm": str(norm)}),
        }

    def quote(self, **terms: Unpack[AskTerms]) -> Quote:
        """What an answer would cost, and the margins of every table."""
        return quote_of(
            self._session.post("workload/quote", {"workload": self._document, "terms": stated_terms(terms)})
        )

    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> RemoteWorkloadAnswer:
        """All tables, under one charge."""
        body = {"workload": self._document, "terms": stated_terms(terms), "key": key or new_key()}
        return RemoteWorkloadAnswer(self._session, self._session.post("workload", body))


@final
class RemoteWorkloadAnswer(StackedFaces):
    """The requested tables, by the names of their columns: `r["age", "sex"]`, and `r[()]` for the total."""

    def __init__(self, session: RemoteSession, document: dict[str, Any]) -> None:
        self.release_id: str = document["release_id"]
        self.notes: tuple[str, ...] = tuple(document["notes"])
        self._tables = {
            tuple(table["columns"]): session.answered({**table["answer"], "release_id": None})
            for table in document["tables"]
        }
        self._stacking: list[str] = document["stacking"]
        self._first: dict[str, Any] = document["tables"][0]["answer"]

    def stacked(self) -> Answer:
        """All tables as one; see `gt.workload.WorkloadAnswer.stacked`."""
        tables = [(_grouping(names, answer), answer) for names, answer in self._tables.items()]
        _, provenance = answer_documents.from_json(json.dumps(self._first), "answer")
        return Answer(stacked_columns(tables, self._stacking), **provenance)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of every requested table."""
        return tuple(self._tables)

    def __getitem__(self, columns: str | tuple[str, ...]) -> Answer:
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        for names, answer in self._tables.items():
            if set(names) == set(wanted) and len(names) == len(wanted):
                return answer
        listed = ", ".join(str(names_of_table) for names_of_table in self.tables[:6])
        raise NotFound(f"no table of {', '.join(wanted) or 'the total'} was asked for", hint=f"there are {listed}, …")

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<RemoteWorkloadAnswer {self.release_id}: {len(self)} tables>"


def _grouping(names: tuple[str, ...], answer: Answer) -> str:
    """The label of a table: its columns, with `_below` after the column of a range."""
    column_names = {column.name for column in answer.columns}
    return " × ".join(name if name in column_names else f"{name}_below" for name in names) or "total"


_PAGE = 1000
_BESIDE_THE_DATA = frozenset({"as_analyst", "check_bounds", "counter", "weights", "partition", "suggest_bounds"})


def connect(url: str, dataset: str | None = None, *, token: str, timeout: float = 60) -> RemoteSession:
    """A session with the service at an address, for whoever has the token.

    If the token is for several data sets, `dataset` says which is meant. Only questions are sent, and only answers come
    back; use https unless the service is on this machine.
    """
    connection = Connection(url, token, timeout)
    try:
        return _connected(connection, dataset)
    except BaseException:
        connection.close()
        raise


def _connected(connection: Connection, dataset: str | None) -> RemoteSession:
    names = connection.get("me")["datasets"]
    if dataset is None and len(names) == 1:
        dataset = names[0]
    if dataset is None or dataset not in names:
        problem = "is missing, and there are several" if dataset is None else "is not among those you may ask"
        raise InvalidParameter("dataset", dataset, problem, hint=f"one of {', '.join(names) or 'none'}")
    return RemoteSession(connection, dataset)


@final
class RemoteSession:
    """Tables behind a budget at a service; made by `gt.connect`. It has the interface of a local session.

    What needs the rows (`gt.learn`, `gt.synth`, counters, partitions) is refused by name.

    Questions are parsed here, with the custodian's declarations, so that most mistakes are found without a request; the
    service parses them again.
    """

    is_remote = True

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._described = connection.get("datasets", name)
        self._origin = origin_of(self._described)

    @property
    def population(self) -> str:
        """The people whose budget the data set spends."""
        return str(self._described["population"])

    @property
    def budget(self) -> Guarantee:
        """The asker's current budget, which the custodian may change."""
        budget: Guarantee = codec.read(Guarantee, self._connection.get("datasets", self.name)["promise"])
        return budget

    @property
    def caps(self) -> Caps:
        """The custodian's caps: how much of one person counts, unless a question states allowed caps of its own."""
        document = self._described["caps"]
        return Caps() if document is None else Caps(**document)

    @cached_property
    def catalog(self) -> Catalog:
        """The tables that may be asked about."""
        return Catalog(self._origin.relations, self._origin.public)

    # -- asking -------------------------------------------------------------------------------------------------

    def sql(self, text: str) -> RemoteQuery:
        """A question in SQL; refused here, at no cost, if it cannot be answered."""
        read = sql.read(text, self.catalog)
        return RemoteQuery(self, read.question, {"sql": text})

    def table(self, name: str | None = None) -> frame.Table:
        """A question in Python, starting from a table; the only one if no name is given."""
        relation = self.catalog.find(self._named(name))
        if isinstance(relation, PublicTable):
            raise InvalidParameter(
                "table", name, "is a public table: there is nothing to protect", hint="join it to a private table"
            )
        return frame.Table(relation, self.catalog, self._ask)

    def _ask(self, question: Question) -> RemoteQuery:
        plan = text_of(question, references=self._origin)  # a text: plans may nest deeper than bodies
        return RemoteQuery(self, question, {"plan": plan})

    def _named(self, name: str | None) -> str:
        tables = list(self.catalog.private)
        if name is None and len(tables) > 1:
            raise InvalidParameter("table", None, "is missing: there are several tables", hint=", ".join(tables))
        return tables[0] if name is None else name

    def batch(self, queries: Sequence[RemoteQuery | str]) -> RemoteBatch:
        """Several questions under one charge: the answer is a list of answers."""
        return RemoteBatch(self, [query.document for query in asked_together(self, queries)])

    def workload(
        self,
        workload: Workload | str,
        *,
        table: str | None = None,
        minimise: str = "rms",
        norm: Number | None = None,
    ) -> RemoteWorkload:
        """Many tables of one private table, declared together and answered under one charge: see `gt.workload`."""
        return RemoteWorkload(self, workload, table, minimise, norm)

    def profile(
        self,
        table: str | None = None,
        *,
        by: Sequence[str] = (),
        columns: Sequence[str] = (),
        most_rows: Number | None = None,
    ) -> RemoteProfile:
        """A profile: how many rows people have, with noise. It costs a pure `epsilon`, once; the ledger keeps it."""
        fields = {"table": self._named(table), "by": list(by), "columns": list(columns)}
        return RemoteProfile(self, fields | ({} if most_rows is None else {"most_rows": most_rows}))

    def profiles(self, table: str | None = None) -> list[Profile]:
        """The profiles of a table that the asker's levels paid for, newest first, as released; free."""
        name = self._named(table)
        documents = self.get("profiles")["profiles"]
        return [
            profile_of(document, self._origin.uncapped[name]) for document in documents if document["table"] == name
        ]

    # -- the budget ---------------------------------------------------------------------------------------------

    @property
    def spent(self) -> Any:
        """How much of the budget is used: by questions, and for a custodian also what was `given` to analysts."""
        return amount_of(self.get("budget")["spent"])

    @property
    def given(self) -> Fraction:
        """The part of the budget that the custodian has given to analysts, used or not; 0 for an analyst's own."""
        return read_fraction("promise", self.get("budget")["given_exactly"])

    @property
    def remaining(self) -> Any:
        """How much of the asker's budget is left."""
        return amount_of(self.get("budget")["remaining"])

    @property
    def affordable(self) -> Fraction | None:
        """The greatest pure ε, up to rounding, that would be admitted now."""
        left = self.get("budget")["affordable_exactly"]
        return None if left is None else read_fraction("promise", left)

    # -- what was asked -----------------------------------------------------------------------------------------

    def history(self, after: int | None = None, limit: int | None = None) -> History:
        """The ledger's entries about the asker, in order; those `after` a number, and at most `limit`, if stated."""
        entries = History(neighbours=self._described["neighbours"])
        has_more, most = True, sys.maxsize if limit is None else limit
        while has_more and len(entries) < most:
            last = entries[-1].number if entries else after or 0
            page = self.get("history", after=last, limit=min(most - len(entries), _PAGE))
            entries += map(entry_of, page["entries"])
            has_more = page["more"]
        return entries

    def releases(self, after: str | None = None, limit: int = 100, *, newest_first: bool = False) -> Releases:
        """The asker's paid releases, oldest first; `after` is the id of the last one that was seen."""
        order = "newest" if newest_first else None
        releases = Releases()
        while len(releases) < limit:
            page = self.get("releases", after=after, limit=min(limit - len(releases), _PAGE), order=order)
            releases += map(release_of, page["releases"])
            if not page["more"]:
                break
            after = releases[-1].id
        return releases

    def release(self, release_id: str, *, place: int | None = None) -> Answer:
        """The answer that was released under an id, as it was; free however often. It can be refined."""
        return self.answered(self.get("releases", release_id, place=place), place)

    def release_record(self, release_id: str) -> ReleaseRecord:
        """The ledger's record of one release, as `releases` lists it."""
        after = None
        while releases := self.releases(after, _PAGE, newest_first=True):
            for release in releases:
                if release.id == release_id:
                    return release
            after = releases[-1].id
        raise NotFound(f"there is no release {release_id!r}", hint="session.releases() lists them")

    def release_tables(self, release_id: str) -> list[Answer]:
        """All tables released under an id, in order: one for a question, several for a batch or a workload."""
        count = self.release_record(release_id).tables
        indices = range(count) if count > 1 else [None]  # if there is no table, the service says why
        return [self.release(release_id, place=index) for index in indices]

    def refine(
        self, release_id: str, *, place: int | None = None, key: str | None = None, **terms: Unpack[SpendTerms]
    ) -> Answer:
        """Ask a released question again, at a further price, and combine all answers."""
        if not isinstance(release_id, str):
            raise InvalidParameter(
                "release_id", release_id, "is not an id", hint="answer.release_id, or answer.refine(…)"
            )
        body = {"terms": stated_terms(terms), "key": key or new_key()}
        path = ("datasets", self.name, "releases", release_id, "refine")
        return self.answered(self._connection.post(*path, body=body, place=place), place)

    def uncapped(self, table: str) -> Relation:
        """A private table before caps: what a profile describes."""
        return self._origin.uncapped[table]

    # -- requests -----------------------------------------------------------------------------------------------

    def get(self, *path: str, **query: Any) -> dict[str, Any]:
        """Send a GET request about this data set, and return the document of the reply."""
        return self._connection.get("datasets", self.name, *path, **query)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a POST request about this data set, and return the document of the reply."""
        return self._connection.post("datasets", self.name, *path.split("/"), body=body)

    def answered(self, document: dict[str, Any], index: int | None = None) -> Answer:
        """The answer in a document, which can be refined if it has a release id."""
        release = document["release_id"]
        return answer_of(document, None if release is None else partial(self.refine, release, place=index))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __getattr__(self, name: str) -> Any:
        if name in _BESIDE_THE_DATA:
            raise AttributeError(f"a remote session has no `{name}`: it is made beside the data, where gt.protect is")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = [f"  {name}({', '.join(relation.schema)})" for name, relation in self.catalog.private.items()]
        description = self._described
        try:
            description, standing = self._connection.get("datasets", self.name), self.get("budget")
        except GiveOrTakeError:
            standing = None
        promise = codec.read(Guarantee, description["promise"])
        lines = [f"<RemoteSession {self.name}: {promise!r}", *tables, f"  {description['caps_in_words']}"]
        if standing is None:
            return "\n".join([*lines, "  its service cannot be reached"]) + ">"
        used, left = standing["share"], standing["affordable_exactly"]
        if used is not None and left is not None:
            race = standing["remaining"]["exactly"] is None
            epsilon = read_fraction("promise", left)
            rest = f"a pure ε of up to {decimal(epsilon, 3)} is left" if epsilon else "nothing is left"
            rest = f"left: {standing['remaining']['words']}" if race else rest
            lines.append(f"  {percent(Fraction(used), 3)} of the budget is used; {rest}")
        return "\n".join(lines) + ">"
