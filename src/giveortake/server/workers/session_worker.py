"""The operations of workers that hold a session: called by name, with plain values, for one analyst or the custodian.

The curve of a query, its margins at nine spends, comes first; then one function for each operation.
"""

from __future__ import annotations

import atexit
import json
import math
import signal
import time
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake import codec
from giveortake.caching import serving
from giveortake.configuration import configurations, select_section
from giveortake.errors import NotFound, QueryRefused
from giveortake.exact import rational, spendable, sqrt_down
from giveortake.ledger.reservations import Pace
from giveortake.plan import Value
from giveortake.plan.question import aggregates_in
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from giveortake.privacy.definitions import gaussian_mu
from giveortake.server import responses
from giveortake.server.responses import StaleTable, formatted, json_result
from giveortake.session.kinds.queries import BatchRequest, QueryRequest
from giveortake.session.partitions import key_of
from giveortake.session.releases import release_of
from giveortake.session.requests import KINDS, request_of
from giveortake.session.session import mechanism_of, mechanism_of_query, query_of, query_of_plan, session_as_now
from giveortake.wire import documents
from giveortake.wire.documents import (
    described,
    entry_document,
    profile_document,
    quote_document,
    release_document,
    standing_document,
)
from giveortake.wire.releases import release_id_of, released_document, stored_document, stored_profiles, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.answers import Answer
    from giveortake.privacy import Guarantee
    from giveortake.server.responses import Result
    from giveortake.server.workers.worker import Operation
    from giveortake.session import Query, Session


POINTS = 9
_DOWN_TO = 100  # the least spend of a curve is this part of the greatest
_CURRENCIES = ("epsilon", "rho", "mu", "share")
_DIGITS = 3
_SLICE = 0.05  # seconds


def curve_of(
    session: Session,
    query: Query[Answer],
    terms: dict[str, Any],
    wanted: str | None = None,
    spends: list[str] | None = None,
) -> dict[str, Any]:
    """Nine quotes in the currency of the terms, from a hundredth of the greatest spend up to all of it.

    The greatest spend is what `terms` state, or the whole budget if they state none, in the currency that is `wanted`;
    what is too dear is marked as such, so that it can be shaded. A worker is not taken from others for long: what is
    not quoted after a moment is left, as `spends` to ask for next.
    """
    currency = next((name for name in _CURRENCIES if name in terms), wanted or "epsilon")
    left = _spends(session, currency, terms) if spends is None else spends
    points: list[dict[str, Any]] = []
    sure = ""
    spans: dict[str, float] = {}
    until = time.monotonic() + _SLICE
    while left and (not points or time.monotonic() < until):
        spend, *left = left
        quote = query.quote(**{**terms, currency: spend})
        sure, spans = str(quote.confidence), dict(quote.spans)
        points.append(
            {
                "spend": spend,
                "words": quote.spend,
                "margins": {name: _finite(margin) for name, margin in quote.margins.items()},
                "share": None if quote.share is None else float(quote.share),
                "admitted": quote.admitted,
                "worthless": quote.worthless,
            }
        )
    return {"currency": currency, "confidence": sure, "points": points, "spans": spans, "spends": left}


def _spends(session: Session, currency: str, terms: dict[str, Any]) -> list[str]:
    greatest = spendable(currency, terms[currency]) if currency in terms else _whole(session, currency, terms)
    unrounded = (float(greatest) * _DOWN_TO ** (index / (POINTS - 1) - 1) for index in range(POINTS))
    return list(dict.fromkeys(map(_rounded, unrounded)))


def _whole(session: Session, currency: str, terms: dict[str, Any]) -> Fraction:
    """About what the whole budget is in a currency: where a curve ends, and no promise."""
    budget = session.budget.granted
    if currency == "share":
        return Fraction(1)
    if currency == "epsilon" and isinstance(budget, PureDP | ApproxDP):
        return budget.epsilon
    if currency == "epsilon" and "delta" not in terms:
        return session.budget.affordable or Fraction(1)
    mu = _mu(budget)
    if currency == "epsilon":
        return GaussianDP(mu).epsilon_at(rational("delta", terms["delta"]))
    return mu**2 / 2 if currency == "rho" else mu


def _mu(budget: Guarantee) -> Fraction:
    """The μ of Gaussian noise that would use a whole budget up, about."""
    match budget:
        case ApproxDP():
            return gaussian_mu(budget.epsilon, budget.delta)
        case ZCDP():
            return sqrt_down(2 * budget.rho)
        case GaussianDP():
            return budget.mu
    stated = getattr(budget, "epsilon", None)  # of a pure one, in which Gaussian noise has no price
    return stated if isinstance(stated, Fraction) else Fraction(1)


def _rounded(spend: float) -> str:
    """A spend of a few digits, which people can read and say again.

    >>> _rounded(0.0177827941), _rounded(2.0)
    ('0.0178', '2')
    """
    digits = max(_DIGITS - 1 - math.floor(math.log10(spend)), 0)
    return f"{spend:.{digits}f}".rstrip("0").rstrip(".") if digits else str(round(spend))


def _finite(margin: float | str | None) -> float | str | None:
    return None if isinstance(margin, float) and not math.isfinite(margin) else margin


Request: TypeAlias = "dict[str, Any]"
_LISTED = 100  # categories of a column that a page lists
_DESCRIBED = 64  # sessions of analysts that are kept
_MOST, _MOST_BY_BEST_CAPS = 200, 50  # the total weight of aggregates that are priced at once
_WEIGHTS = {
    **dict.fromkeys(("count rows", "count values", "count persons", "count distinct", "sum"), 1),
    **dict.fromkeys(("mean", "quantile"), 3),
    **dict.fromkeys(("variance", "standard deviation", "sample variance", "sample standard deviation"), 4),
}
_OF_TWO_COLUMNS = 6
_DEEPEST_PLAN = 500  # levels of JSON: more than any plan that the session reads


def open_operations(task: dict[str, Any]) -> dict[str, Operation]:
    """Open the session that the task describes, and return the operations of a worker."""
    configured = select_section(configurations(task["toml"]), task["name"])
    overrides = {} if "seconds" in configured.settings else {"seconds": task.get("seconds")}
    sessions = AnalystSessions(configured.open(**overrides, by=task.get("by")))
    atexit.register(sessions.session.close)  # which removes what the engine has written
    if task.get("is_job"):
        supervision = mechanism_of(sessions.session).supervision
        signal.signal(signal.SIGTERM, lambda *_: supervision.is_stopping.set())
        supervision.step_stored = task["step_stored"]
    if task.get("pace") is not None:
        mechanism_of(sessions.session).ledger.pace = Pace(task["pace"])  # what becomes of charges is written on a beat
    for module in ("giveortake.sql.select", *KINDS.values()):
        import_module(module)  # or the first who asks for it would wait, and others would not
    return {name: partial(sessions.run, operation) for name, operation in OPERATIONS.items()}


@final
@dataclass(slots=True)
class AnalystSessions:
    """One engine, and a session for each analyst who has asked."""

    session: Session
    _sessions: dict[str, Session] = field(default_factory=dict)

    def run(self, operation: Callable[[Session, Request], Any], request: Request) -> Any:
        """One operation, for whoever asks; none once the ledger has a newer version of the table than was opened."""
        mechanism = mechanism_of(self.session)
        if mechanism.ledger.versions(mechanism.dataset)[-1][0] != mechanism.version:
            raise StaleTable
        session = self.session_of(request["analyst"])
        with serving(mechanism_of(session).cache):
            return operation(session, request)

    def session_of(self, analyst: str | None) -> Session:
        """The session of an analyst, or the custodian's own.

        The ledger is asked each time what is promised to them, and whether they may still ask.
        """
        if analyst is None:
            return session_as_now(self.session)
        known = self._sessions.pop(analyst, None)
        if len(self._sessions) >= _DESCRIBED:
            del self._sessions[next(iter(self._sessions))]  # of whoever has not asked for longest
        self._sessions[analyst] = self.session.as_analyst(analyst) if known is None else session_as_now(known)
        return self._sessions[analyst]


# -- before asking ----------------------------------------------------------------------------------------------------


def describe(session: Session, _request: Request) -> Result:
    """What may be asked of the data set, and what is left of the budget, as JSON that the front need not read."""
    return json_result(_described(session))


def outline(session: Session, _request: Request) -> Result:
    """The same for pages: of each column the first categories, and how many there are."""
    document = _described(session)
    for table in (*document["tables"], *document["public"]):
        for column in table["columns"]:
            if column["categories"] is not None:
                column["count"] = len(column["categories"])
                column["categories"] = column["categories"][:_LISTED]
    return document


def _described(session: Session) -> dict[str, Any]:
    return {**described(session), "standing": standing_document(session)}


def budget(session: Session, _request: Request) -> Result:
    """What is left of the budget."""
    return standing_document(session)


def quote(session: Session, request: Request) -> Result:
    """The quote of whatever can be bought."""
    quote = _query(session, request).quote(**request["terms"])
    return {**quote_document(quote, standing_document(session)), "version": mechanism_of(session).version}


def curve(session: Session, request: Request) -> Result:
    """The quotes of a question at nine spends, or the first of them and the spends that are left."""
    query: Any = _query(session, request)
    return curve_of(session, query, request["terms"], request.get("currency"), request.get("spends"))


# -- asking -----------------------------------------------------------------------------------------------------------


def answer(session: Session, request: Request) -> Result:
    """Answer whatever can be bought: as JSON, as a file, or as it is stored."""
    query = _query(session, request)
    if request["format"] == "stored":
        mechanism, terms = mechanism_of_query(query), query.terms(request["terms"])
        with serving(mechanism.cache):
            _, _, reservation = mechanism.buy(query.request, terms, request["key"])
            return json_result(stored_document(mechanism, reservation.id, reservation), reservation.id)
    return released_result(query.answer(key=request["key"], **request["terms"]), request["format"])


def released_result(release: Any, wanted: str) -> Result:
    """A release of any kind in a format."""
    if wanted == "json":
        return json_result(released_document(release), release_id_of(release))
    return formatted(table_of(release), wanted)


def advance(session: Session, request: Request) -> Result:
    """The next step of a counter or of weights."""
    mechanism, release = mechanism_of(session), request["release"]
    reading = mechanism.reading(release)
    mechanism.advance(reading.priced, reading.terms, release, request["argument"])
    return json_result(stored_document(mechanism, release), release)


def stream(session: Session, request: Request) -> Result:
    """One part of a large answer, and whether it is the last: all parts have one price and one key."""
    parts: Iterator[Answer] = iter(_query(session, request).stream(key=request["key"], **request["terms"]))
    for _ in range(request["index"]):
        if next(parts, None) is None:
            raise NotFound("the stream has fewer parts")
    answer, next_answer = next(parts, None), next(parts, None)
    if answer is None:
        raise NotFound("the stream has fewer parts")
    return json_result({"answer": json.loads(answer.to_json()), "last": next_answer is None}, answer.release_id)


def profiles(session: Session, request: Request) -> Result:
    """The profiles of every table that were paid for."""
    if request["format"] == "stored":
        return {"profiles": stored_profiles(mechanism_of(session))}
    tables = session.describe().catalog.private
    return {"profiles": [profile_document(profile) for name in tables for profile in session.profiles(name)]}


# -- what was asked ---------------------------------------------------------------------------------------------------


def history(session: Session, request: Request) -> Result:
    """The ledger's entries for the caller, from one number on."""
    limit = request["limit"]
    entries = session.history(request["after"], limit + 1)
    return {"entries": [entry_document(entry) for entry in entries[:limit]], "more": len(entries) > limit}


def releases(session: Session, request: Request) -> Result:
    """A page of the releases that the caller has paid for."""
    limit = request["limit"]
    releases = session.releases(request["after"], limit + 1, newest_first=request["newest_first"])
    return {"releases": [release_document(release) for release in releases[:limit]], "more": len(releases) > limit}


def release_record(session: Session, request: Request) -> Result:
    """The ledger's record of one release."""
    return release_document(release_of(mechanism_of(session), request["release"]))


def release(session: Session, request: Request) -> Result:
    """What was released."""
    if request["format"] == "stored":
        return json_result(stored_document(mechanism_of(session), request["release"]), request["release"])
    return released_result(session.release(request["release"], index=request["place"]), request["format"])


def report(session: Session, request: Request) -> Result:
    """A release as a page that stands alone."""
    from giveortake.publication import report as page_of  # noqa: PLC0415 (few ask for one)

    page = page_of(session, request["release"], index=request["place"])
    return {"release_id": request["release"]}, page.encode()


def refine(session: Session, request: Request) -> Result:
    """Refine a release, and return the combined answer."""
    answer = session.release(request["release"], index=request["place"]).refine(key=request["key"], **request["terms"])
    return formatted(answer, request["format"])


def _query(session: Session, request: Request) -> Query[Any]:
    """What is wanted, as a query of the session, or of a part of its tables, if it can be priced quickly."""
    if (part := request.get("part")) is not None:
        value = codec.read(Value, part["value"], what="part_of_tables")
        session = session.partition(part["column"], parts_per_person=part.get("parts_per_person", 1))[key_of(value)]
    ((kind, content),) = request["wanted"].items()
    try:
        match kind:
            case "queries":
                query: Query[Any] = session.batch([_question(session, question) for question in content])
            case "workload":
                return documents.workload_query(session, content)
            case "request":
                query = query_of(session, request_of(_document(content), mechanism_of(session).origin))
            case _:
                query = _question(session, request["wanted"])
    except RecursionError:
        raise QueryRefused("the question nests too deeply", hint="say it in fewer steps") from None
    _require_few(query, request["terms"])
    return query


def _question(session: Session, question: dict[str, Any]) -> Query[Answer]:
    """A question in SQL, or the plan of a frame."""
    return session.sql(question["sql"]) if "sql" in question else query_of_plan(session, _document(question["plan"]))


def _require_few(query: Query[Any], terms: dict[str, Any]) -> None:
    """Refuse questions that take long to price: quotes are free, and must be quick.

    An aggregate of weight 1 takes up to two hundredths of a second; the best caps are found by pricing some ten
    choices.
    """
    request = query.request
    queries = request.queries if isinstance(request, BatchRequest) else [request]
    questions = [asked.question for asked in queries if isinstance(asked, QueryRequest)]
    kinds = [aggregate.kind for question in questions for aggregate in aggregates_in(question)]
    weight = sum(_WEIGHTS.get(kind, _OF_TWO_COLUMNS) for kind in kinds)
    most = _MOST_BY_BEST_CAPS if terms.get("caps") == "best" else _MOST
    if weight > most:
        raise QueryRefused(
            f"{len(kinds):,} aggregates weigh {weight:,}, and a service prices at most {most} at once: a count or a "
            f"sum weighs 1, a mean or a quantile 3, a deviation 4, what is about two columns {_OF_TWO_COLUMNS}",
            hint="ask for them in several questions" if most == _MOST else "state the caps, or ask several questions",
        )


def _document(content: dict[str, Any] | str) -> dict[str, Any]:
    """A plan or a request as a dictionary; given as text, it may nest as deeply as plans do."""
    if isinstance(content, dict):
        return content
    try:
        document = responses.read(content.encode(), _DEEPEST_PLAN)
    except responses.NotStrict:
        document = None
    if not isinstance(document, dict):
        raise QueryRefused("the text is not a plan", hint="a plan is what Query.plan writes, in strict JSON")
    return document


OPERATIONS: dict[str, Callable[[Session, Request], Result]] = {
    operation.__name__: operation
    for operation in (
        *(describe, outline, budget, quote, curve, answer, advance, stream, profiles),
        *(history, releases, release_record, release, report, refine),
    )
}
