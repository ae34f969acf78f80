"""A session: the public interface of the interactive mechanism, and the queries made by it.

- Whoever asks is served from a cache of their own (`giveortake.caching`).
- Checks of arguments that are questions or sessions.
- A question to a session: quoted for free, answered at a price.
- A session: the public interface of the interactive mechanism. It gives no access to rows or exact counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Never, Self, TypeVar, Unpack, cast, final

from giveortake import codec, frame, sql
from giveortake.answers import Answer, Stream
from giveortake.answers.terms import CAP_TERMS
from giveortake.caching import served
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.ledger.releases import History, Releases
from giveortake.plan import Catalog, PublicTable, Question
from giveortake.session.budget import Budget
from giveortake.session.kinds.queries import BatchRequest, QueryRequest, known_answer, known_quote
from giveortake.session.partitions import Partition, key_of, parts_of
from giveortake.session.profiles.best_caps import paid_profiles
from giveortake.session.profiles.profile import ProfileRequest
from giveortake.session.releases import released
from giveortake.session.render import columns_in_words, session_page, session_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from giveortake.answers.terms import AskTerms
    from giveortake.compile import Caps, Terms
    from giveortake.exact import Number
    from giveortake.privacy import Unit
    from giveortake.session.kinds.counters import Counter
    from giveortake.session.kinds.weights import Weights
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profiles.profile import Profile
    from giveortake.session.quotes import Quote
    from giveortake.session.requests import Request
    from giveortake.workload.results import WorkloadAnswer
    from giveortake.workload.workload import Workload


def asked_together(session: Any, queries: Any) -> list[Any]:
    """The questions of a batch, with texts read as SQL; refuse an empty batch and questions to another session."""
    is_list = isinstance(queries, Iterable) and not isinstance(queries, str | Mapping) and not hasattr(queries, "shape")
    listed = queries if is_list else None
    batch = [session.sql(query) if isinstance(query, str) else query for query in (() if listed is None else listed)]
    if not batch:
        problem = "is not a list of questions" if listed is None else "is empty: ask something"
        hint = "s.batch([q1, q2])" if listed is None else "name a question"
        raise InvalidParameter("queries", queries, problem, hint=hint)
    for query in batch:
        if not hasattr(query, "session"):
            raise InvalidParameter("queries", query, "is not a question", hint="s.sql(…) makes one")
        if query.session is not session:
            raise InvalidParameter("queries", query, "holds a question to another session or part")
    return batch


_Release_co = TypeVar("_Release_co", covariant=True)


@final
@served
class Query(Generic[_Release_co]):
    """Something that can be bought from a session: quoted for free, answered under one charge.

    `s.sql(…)`, `s.table(…)`, `s.batch(…)`, `s.workload(…)`, `s.profile(…)`, `s.counter(…)` and `s.weights(…)` make one.
    It is a value: asking it twice asks the same.

    The terms are those of `quote`, `answer` and `stream` alike: a pure `epsilon` (Laplace noise); or `epsilon` and
    `delta`, `rho`, or `mu` (Gaussian noise); or the least that reaches a `margin`; or a `share` of the whole budget,
    such as "1/10". For the last two the noise is chosen too: Laplace or Gaussian, whichever leaves more of the budget,
    or makes narrower intervals. `confidence` is that of every interval, 0.95 unless stated, or of all of them together
    where `confidence_over` is "answer"; `key_delta` is the δ for finding keys in the data, and `aim` says whether to
    find surer "numbers" or more "groups"; `n` is how many rows a group has, if that is public or was released: the
    margins of means depend on it.

    How much of one person counts is capped by `rows_per_person`, `groups_per_person` and `rows_per_group`, which
    override the custodian's caps; the noise depends on them. `caps` says `"best"` to choose them by a profile.
    """

    def __init__(self, session: Session, mechanism: InteractiveMechanism, request: Request) -> None:
        self.session = session
        self.request = request
        self._mechanism = mechanism

    def quote(self, **terms: Unpack[AskTerms]) -> Quote:
        """What an answer would cost, and its margins. No row is read, and nothing is charged.

        The terms: `epsilon`, `delta`, `rho`, `mu`, `margin`, `share`, `confidence`, `confidence_over`, `key_delta`,
        `aim` and `n`; `rows_per_person`, `groups_per_person`, `rows_per_group`, `caps`; see the class.
        """
        stated_terms, known = self.terms(terms), self._known_keys()
        if known is not None:
            return known_quote(self._mechanism, known, stated_terms.confidence)
        return self._mechanism.quote(self.request, stated_terms)

    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> _Release_co:
        """The answer, at the cost of the whole request: a table; for a batch a list of them; for a counter, a counter.

        The terms: `epsilon`, `delta`, `rho`, `mu`, `margin`, `share`, `confidence`, `confidence_over`, `key_delta`,
        `aim` and `n`; `rows_per_person`, `groups_per_person`, `rows_per_group`, `caps`; see the class. `key` makes a
        retry safe: the same key and request give the same answer and are charged once. The same request at the same
        price is free the second time.
        """
        stated_terms, known = self.terms(terms), self._known_keys()
        release: Any
        if known is not None:
            release = known_answer(self._mechanism, known)
        else:
            release = self._mechanism.answer(self.request, stated_terms, key)
        return cast("_Release_co", release)

    def stream(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> Stream:
        """The answer as a stream of answers about some keys each, for tables that are too large for memory.

        The terms, the price and the stored release are those of `answer`: either draws it, once.
        """
        stated_terms, known, question = self.terms(terms), self._known_keys(), self.question
        if known is not None:
            return Stream(lambda: iter([known_answer(self._mechanism, known)]))
        if question.order:
            raise QueryRefused("ORDER BY needs the whole table at once", hint="sort the rows where you write them")
        if question.has_windows:
            raise QueryRefused("OVER needs the whole table at once", hint="compute it where you write the rows")
        return self._mechanism.stream(self.request, stated_terms, key)

    def _known_keys(self) -> Question | None:
        """The question, if declared keys answer it: SELECT DISTINCT."""
        request = self.request
        return request.question if isinstance(request, QueryRequest) and request.question.distinct else None

    @property
    def question(self) -> Question:
        """The one question that is asked; a request of another kind is refused."""
        if not isinstance(self.request, QueryRequest):
            raise QueryRefused(f"a {self.request.kind} is not one question", hint="s.sql(…), or s.table(…), makes one")
        return self.request.question

    @property
    def text(self) -> str | None:
        """The text of the question, if it was written in SQL."""
        return self.request.text if isinstance(self.request, QueryRequest) else None

    def plan(self) -> dict[str, Any]:
        """The question as plain lists, numbers and text, from which `session.answer` makes the same question."""
        document: dict[str, Any] = codec.write(self.question, references=self._mechanism.origin)
        return document

    @property
    def finds_keys(self) -> bool:
        """Whether some keys have to be found in the data."""
        return self.question.finds_keys

    def terms(self, terms: AskTerms | Mapping[str, Any]) -> Terms:
        """The stated terms, with those in the question's own text where none are stated."""
        stated = {name: value for name, value in terms.items() if value is not None}
        options = (self.request.options or {}) if isinstance(self.request, QueryRequest) else {}
        priced = any(name in stated for name in ("epsilon", "rho", "mu", "margin", "share"))
        names = {*CAP_TERMS, "aim", *(() if priced else ("epsilon", "delta", "share"))}
        own = {name: option for name, option in options.items() if name in names}
        return self.request.terms(own | stated)

    def __repr__(self) -> str:
        if not isinstance(self.request, QueryRequest):
            return f"<Query of {self.session.name}: {self.request.kind}>"
        question = self.request.question
        columns = ", ".join([*(name for name, _ in question.keys), *(name for name, _ in question.outputs)])
        return f"<Query of {self.session.name}: {columns}>"


def session_as_now(session: Session) -> Session:
    """A session with the current budget of the ledger; the same object unless the custodian changed it."""
    known = mechanism_of(session)
    mechanism = known.as_now()
    return session if mechanism is known else session._sharing_session(mechanism)  # noqa: SLF001 (as `mechanism_of`)


def query_of_plan(session: Session, plan: Mapping[str, Any]) -> Query[Answer]:
    """A question that `Query.plan` wrote; refused here, at no cost, if it is not about these tables."""
    question = codec.read(Question, plan, references=mechanism_of(session).origin, what="plan")
    return query_of(session, QueryRequest(question))


def query_of(session: Session, request: Request) -> Query[Any]:
    """A request as a query of a session."""
    return Query(session, mechanism_of(session), request)


def mechanism_of_query(query: Query[Any]) -> InteractiveMechanism:
    """The mechanism that answers a question. Like `mechanism_of`, it is not part of the public interface."""
    return query._mechanism  # noqa: SLF001 (the one way in)


@final
@dataclass(frozen=True, slots=True)
class Description:
    """What may be asked of a session, and by whom; never a row or a count."""

    name: str
    population: str
    version: str
    analyst: str | None
    caps: Caps
    catalog: Catalog
    unit: Unit
    durable: bool  # whether the ledger outlives the session

    def __repr__(self) -> str:
        lines = [f"{self.name}, version {self.version}: {self.population}, {self.unit}"]
        for name, relation in self.catalog.private.items():
            lines += [f"  {name}", *(f"    {column}: {words}" for column, words in columns_in_words(relation))]
        lines += [f"  {name}, public" for name in self.catalog.public]
        return "\n".join(
            [*lines, f"  caps: {self.caps}" if self.caps.stated else "  no caps: each query states its own"]
        )


_NOT_COPIED = "a session stays in its process: gt.protect(…, ledger=…) opens one in another, and answers can be sent"


@final
@served
class Session:
    """Tables behind a budget; made by `gt.protect`.

    An analyst may choose every question after seeing all earlier answers. Each is charged to the ledger, at every
    level, before a row is read; what the ledger refuses is not asked. So all answers together keep the budget of the
    population: `InteractiveMechanism` says why.

    The engine and the ledger are not part of this interface: the custodian opens the ledger with `gt.ledger.open`.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism,
        *,
        unasked: Mapping[str, Sequence[tuple[str, str]]],
        owns_ledger: bool,
        durable: bool,
        owns_engine: bool = True,
    ) -> None:
        self.name = mechanism.dataset
        self._durable = durable
        self._mechanism = mechanism
        self._owns_ledger = owns_ledger
        self._owns_engine = owns_engine
        self._unasked = unasked
        self._catalog = Catalog(mechanism.origin.relations, mechanism.origin.public)

    def describe(self) -> Description:
        """What may be asked: the tables with their columns and domains, the population, the caps; never a row."""
        mechanism = self._mechanism
        return Description(
            self.name,
            mechanism.population,
            mechanism.version,
            mechanism.analyst,
            mechanism.caps.caps,
            self._catalog,
            mechanism.budget.unit,
            durable=self._durable,
        )

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the private tables."""
        return tuple(self._catalog.private)

    # -- asking -------------------------------------------------------------------------------------------------

    def quote(self, query: Query[Any] | str | Mapping[str, Any], **terms: Unpack[AskTerms]) -> Quote:
        """What a query would cost: one of this session, its text in SQL, or its plan. No row is read."""
        return self._queried(query).quote(**terms)

    def answer(
        self, query: Query[Any] | str | Mapping[str, Any], *, key: str | None = None, **terms: Unpack[AskTerms]
    ) -> Any:
        """The answer to a query of this session, to its text in SQL, or to its plan."""
        return self._queried(query).answer(key=key, **terms)

    def _queried(self, query: Query[Any] | str | Mapping[str, Any]) -> Query[Any]:
        if isinstance(query, Query):
            return query
        return self.sql(query) if isinstance(query, str) else query_of_plan(self, query)

    def __reduce__(self) -> Never:
        raise TypeError(_NOT_COPIED)

    def sql(self, text: str) -> Query[Answer]:
        """A question in SQL; refused here, at no cost, if it cannot be answered."""
        read = self._mechanism.questions.read(text, lambda: sql.read(text, self._catalog))
        return self._query(QueryRequest(read.question, text, read.options))

    def as_analyst(self, name: str) -> Session:
        """A session on the same tables and ledger for an analyst, who sees only their own entries and budget.

        The custodian makes it; it shares the engine and the ledger, from any thread, and closing it closes neither.
        An analyst whom the ledger does not know for these tables is refused (`NotFound`), and so is one who was revoked
        (`AccessDenied`). An analyst's session cannot ask as somebody else.
        """
        return self._sharing_session(self._mechanism.as_analyst(name))

    def _sharing_session(self, mechanism: InteractiveMechanism) -> Session:
        """Another session that shares the engine and the ledger, and closes neither."""
        return Session(mechanism, unasked=self._unasked, owns_ledger=False, owns_engine=False, durable=self._durable)

    def table(self, name: str | None = None) -> frame.Table:
        """A question in Python, starting from a table; the only one if no name is given."""
        relation = self._catalog.find(self._named(name))
        if isinstance(relation, PublicTable):
            raise InvalidParameter(
                "table", name, "is a public table: there is nothing to protect", hint="join it to a private table"
            )
        return frame.Table(relation, self._catalog, self._ask)

    def _ask(self, question: Question) -> Query[Answer]:
        return self._query(QueryRequest(question))

    def _query(self, request: Request) -> Query[Any]:
        return Query(self, self._mechanism, request)

    def _named(self, name: str | None) -> str:
        if name is not None:
            return name
        tables = list(self._catalog.private)
        if len(tables) == 1:
            return tables[0]
        raise InvalidParameter("table", None, "is missing: there are several tables", hint=", ".join(tables))

    def batch(self, queries: Sequence[Query[Answer] | str]) -> Query[list[Answer]]:
        """Several questions, SQL texts or `Query` objects, under one charge: the answer is a list of answers.

        The spend, the caps and the confidence of `quote` and `answer` hold for the whole batch.
        """
        requests = [query.request for query in asked_together(self, queries)]
        if not all(isinstance(request, QueryRequest) for request in requests):
            raise InvalidParameter(
                "queries", "a request of another kind", "is not a question", hint="s.sql(…) makes one"
            )
        return self._query(BatchRequest(tuple(requests)))

    def workload(
        self,
        workload: Workload | str,
        *,
        table: str | None = None,
        minimise: str = "rms",
        norm: Number | None = None,
    ) -> Query[WorkloadAnswer]:
        """Many tables of one private table, declared together and answered under one charge: see `gt.workload`.

        Noise is planned for all of them at once. `minimise` says what is made least: the "rms" of the noise in a cell,
        every table by its weight, or the "maximum". A workload may also be written in SQL, by GROUP BY with ROLLUP,
        CUBE or GROUPING SETS: answers have the names that it gives to keys and numbers. With a `norm` all rows of a
        person count, and persons with a greater L2 norm are scaled down to it: n rows in one cell of a table have the
        norm n there, and so have n² rows in cells of their own.
        """
        from giveortake.session.kinds.workloads import WorkloadRequest  # noqa: PLC0415 (most sessions ask none)
        from giveortake.workload.workload import Workload, workload_of  # noqa: PLC0415 (as above)

        if isinstance(workload, str):
            question, sets = sql.read_grouping_sets(workload, self._catalog)
            return self._query(WorkloadRequest(workload_of(question, sets), question.relation, minimise, norm))  # type: ignore[arg-type]  # (checked there)
        if not isinstance(workload, Workload):
            raise InvalidParameter("workload", workload, "is not a workload", hint='gt.workload.marginals(["a", "b"])')
        relation = self._catalog.private[self._private(table)]
        return self._query(WorkloadRequest(workload, relation, minimise, norm))  # type: ignore[arg-type]  # (checked there)

    def counter(self, column: str, *, horizon: int, table: str | None = None) -> Query[Counter]:
        """A running count under one charge: the number of rows up to each period, one period after the other.

        A period is a day, or a whole number; the first is the lower bound of the column's domain. `horizon` is for how
        many of them the charge is; none may lie beyond the upper bound. The spend is `rho`, `mu`, or `epsilon` and
        `delta`: the noise is Gaussian. `rows_per_person` says how many rows of a person count; the first in time do.
        The answer is a counter, whose `next` releases the next period.
        """
        from giveortake.session.kinds.counters import CounterRequest  # noqa: PLC0415 (most sessions open none)

        return self._query(CounterRequest(self._private(table), column, horizon))

    def weights(
        self, columns: Sequence[str], *, accuracy: Number = "0.1", queries: int = 1000, table: str | None = None
    ) -> Query[Weights]:
        """Very many counts of combinations of declared values, chosen one after the other, under one charge.

        Weights over all combinations, up to a million, answer what they know for free. A count that they get wrong is
        measured, and the weights move. `queries` is the greatest number of counts. An answer is off by at most
        α·n + 2·m: α is `accuracy`, and m is the margin of so many comparisons (`weights.plan.bound(n)`). That is worth
        its price for very many queries of very many rows; for fewer, `workload` is far more accurate at the same price.
        The answer has `count`.
        """
        from giveortake.session.kinds.weights import WeightsRequest  # noqa: PLC0415 (most sessions have none)

        return self._query(WeightsRequest(self._private(table), columns, accuracy, queries))  # type: ignore[arg-type]  # (checked there)

    def partition(self, column: str, *, parts_per_person: int = 1) -> Partition:
        """Disjoint parts of the data, one for each declared value of a column, for the price of the most expensive.

        A person with rows in more than `parts_per_person` parts counts in that many of them, chosen by a hash; all
        parts together then cost as much as that many of the most expensive. The order of questions does not matter.
        """
        part_of_session = self._mechanism.part
        if part_of_session is not None:
            raise InvalidParameter(
                "partition",
                part_of_session.column,
                "cannot be partitioned again: this is already a part",
                hint="partition the whole table",
            )
        parts = parts_of(self._mechanism, list(self._catalog.private.values()), column, parts_per_person)
        sessions = {
            key_of(part.value): Session(
                self._mechanism.in_part(part),
                unasked=self._unasked,
                owns_ledger=False,
                owns_engine=self._owns_engine,
                durable=self._durable,
            )
            for part in parts
        }
        return Partition(column, parts[0].touched, sessions)

    def profile(
        self,
        table: str | None = None,
        *,
        by: Sequence[str] = (),
        columns: Sequence[str] = (),
        most_rows: Number | None = None,
    ) -> Query[Profile]:
        """A profile: how many rows people have, with noise. It costs a pure `epsilon`, once; the ledger keeps it.

        Every person falls into one bin of sizes, so that nothing has to be bounded first. `by` are columns that
        questions will group by: how many groups people have, and how many rows in the largest. `columns` are numbers
        whose bounds are wanted. `most_rows` is a public maximum of rows per person, if there is one: without it there
        is no upper bound on what a cap leaves out. From then on, for askers whose level paid for the profile, quotes
        and answers say what their caps leave out, and `caps="best"` chooses caps by it.
        """
        return self._query(ProfileRequest(self._private(table), by, columns, most_rows))  # type: ignore[arg-type]  # (as above)

    def profiles(self, table: str | None = None) -> list[Profile]:
        """The profiles of a table that the asker's levels paid for, newest first, as released; free."""
        return paid_profiles(self._mechanism, self._private(table))

    def _private(self, name: str | None) -> str:
        """The name of a private table; a public one is refused."""
        named_relation = self._catalog.find(self._named(name))
        if isinstance(named_relation, PublicTable):
            raise InvalidParameter(
                "table", name, "is a public table: there is nothing to protect", hint="name a private one"
            )
        return next(table for table, relation in self._catalog.private.items() if relation is named_relation)

    # -- the budget ---------------------------------------------------------------------------------------------

    @property
    def budget(self) -> Budget:
        """What was granted, what is spent and left of it, and what a next request may cost, as of now."""
        return Budget(self._mechanism)

    def history(self, after: int | None = None, limit: int | None = None) -> History:
        """The ledger's entries about these people, in order, without fingerprints of the data or what contains them.

        Analysts see only their own entries, with numbers of their own. The custodian, who opens the ledger with
        `gt.ledger.open`, reads everything there. `after` is the number of the last entry that was seen; `limit` is the
        greatest number of entries to read, all unless stated.
        """
        mechanism, most = self._mechanism, sys.maxsize if limit is None else limit
        entries = mechanism.ledger.entries(analyst=mechanism.analyst, after=after, limit=most)
        if mechanism.analyst is not None:
            return History(entries, self._mechanism.budget.neighbours)
        visible_entries = (
            replace(entry, content=_without_fingerprint(entry.content), body="", hash="", previous="")
            for entry in entries
        )
        return History(visible_entries, self._mechanism.budget.neighbours)

    # -- what was released ----------------------------------------------------------------------------------------

    def releases(self, after: str | None = None, limit: int = 100, *, newest_first: bool = False) -> Releases:
        """The paid releases of these tables, oldest first: an analyst's own, or all of them for the custodian.

        `after` is the id of the last one that was seen.
        """
        mechanism = self._mechanism
        records = mechanism.ledger.releases(
            analyst=mechanism.analyst,
            dataset=mechanism.dataset,
            after=after,
            limit=limit,
            newest_first=newest_first,
        )
        return Releases(records)

    def release(self, release_id: str, *, index: int | None = None) -> Any:
        """What was released under an id, as it was, with its promise, notes and caps; free however often.

        Of what has several tables, such as a batch, a workload or a profile, `index` picks one of them, counted from 0.
        For a counter it is all counts released so far, for a fit the fitted learner. Answers can be refined.
        """
        return released(self._mechanism, release_id, index)

    # -- opening and closing ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the engine, and the ledger if it was opened here; a session that shares both closes neither."""
        if self._owns_engine:
            self._mechanism.closed.set()
            self._mechanism.engine.close()
            self._mechanism.spool.close()
        if self._owns_ledger:
            self._mechanism.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return session_text(self, self._unasked, self._mechanism)

    def _repr_html_(self) -> str:
        return session_page(self)


def _without_fingerprint(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != "fingerprint"}


def mechanism_of(session: Session) -> InteractiveMechanism:
    """The mechanism of a session, with the engine and the ledger. It is for whoever made the session.

    Only this function gives access to it. It is not part of the public interface: audits of generated tables use it,
    analysts never do.
    """
    return session._mechanism  # noqa: SLF001 (the one way in)
