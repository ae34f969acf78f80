"""Documents that a service and its clients exchange, written by the one and read by the other.

- Profiles and quotes; releases, approvals and ledger entries.
- Budget status: what is spent and left, in words and, where there is one, as a number.
- Data sets: tables, columns and their domains; never a row or a count.
- Workloads and their answers.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from dataclasses import fields
from fractions import Fraction
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, final

from giveortake import codec
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.exact import fraction_text, read_fraction
from giveortake.ledger import Entry, ReleaseRecord, Reservation
from giveortake.ledger.releases import parts_of
from giveortake.plan import Domain, Kind, Origin, PrivateTable, PublicTable
from giveortake.privacy.events import Event
from giveortake.session.profiles.histograms import dimensions_of
from giveortake.session.profiles.profile import Profile
from giveortake.session.quotes import Quote
from giveortake.session.session import mechanism_of
from giveortake.workload.workload import Marginal, Workload, ranges, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.ledger import Approval, BudgetStatus, Ledger
    from giveortake.plan import Relation
    from giveortake.plan.expressions import Value
    from giveortake.session import Session
    from giveortake.session.session import Query
    from giveortake.workload.results import WorkloadAnswer

_QUOTED = tuple(field.name for field in fields(Quote))


def profile_document(profile: Profile) -> dict[str, Any]:
    """A profile as a document: what was released, and what is computed from it."""
    has_persons = profile.rows is not None
    return {
        "table": profile.table,
        "by": list(profile.by),
        "columns": list(profile.columns),
        "most_rows": profile.most_rows,
        "epsilon": str(profile.epsilon),
        "release_id": profile.release_id,
        "notes": list(profile.notes),
        "counts": [list(bin_counts) for bin_counts in profile.counts],
        "noise_scale": profile.noise_scale,
        "caps": profile.caps(),
        "bounds": {name: list(ends) for name, ends in profile.bounds.items()},
        "persons": list(profile.persons()) if has_persons else None,
        "lines": [_finite(line) for line in profile.lines()] if has_persons else [],
        "words": str(profile),
    }


def profile_of(document: dict[str, Any], relation: Relation) -> Profile:
    """The profile in a document, equal to the released one."""
    by, columns, most = document["by"], document["columns"], document["most_rows"]
    return Profile(
        document["table"],
        tuple(by),
        tuple(columns),
        most,
        Fraction(document["epsilon"]),
        document["release_id"],
        tuple(document["notes"]),
        dimensions_of(relation, by, columns, most),
        tuple(tuple(bin_counts) for bin_counts in document["counts"]),
        document["noise_scale"],
    )


def _finite(line: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in line.items()}


def standing_document(session: Session) -> dict[str, Any]:
    """The state of the level that decides about the asker's next question."""
    return _document(*mechanism_of(session).rest())


def level_document(book: Ledger, standing: BudgetStatus) -> dict[str, Any]:
    """The state of any level of a ledger, for the custodian."""
    large = standing.approval_above
    named = {"number": standing.number, "name": standing.name, "allotted": standing.allotted}
    named |= {"approval_above": None if large is None else str(large)}
    return named | _document(standing, book.affordable(standing))


def _document(standing: BudgetStatus, left: Fraction | None) -> dict[str, Any]:
    return {
        "level": standing.kind,
        "budget": None if standing.budget is None else str(standing.budget),
        "promise": None if standing.budget is None else codec.write(standing.budget),
        "spent": _amount(standing.spent),
        "remaining": _amount(standing.remaining),
        "share": None if standing.share is None else float(standing.share),
        "meter": standing.meter,
        "given": float(standing.given),
        "given_exactly": fraction_text(standing.given),
        "own": None if standing.own is None else float(standing.own),
        "allotments": [str(allotment).partition(" (")[0] for allotment in standing.allotments],
        "affordable": None if left is None else float(left),
        "affordable_exactly": None if left is None else fraction_text(left),
        "closed": standing.closed,
    }


def _amount(value: Any) -> dict[str, Any]:
    return {"words": str(value), "exactly": fraction_text(value) if isinstance(value, Fraction) else None}


@final
class Balance(str):
    """What a race of filters has left or has spent, in words: no single number says it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def amount_of(document: dict[str, Any]) -> Fraction | Balance:
    """The number in a document, or its words if there is none."""
    number = document["exactly"]
    return Balance(document["words"]) if number is None else read_fraction("promise", number, signed=True)


def quote_document(quote: Quote, standing: dict[str, Any]) -> dict[str, Any]:
    """A quote as a document, with the state of the asker's budget."""
    return {**codec.write(quote, Quote), "standing": standing}


def quote_of(document: Mapping[str, Any]) -> Quote:
    """The quote in a document; a service says more beside it."""
    quote: Quote = codec.read(Quote, {name: document[name] for name in _QUOTED}, what="quote")
    return quote


def release_document(record: ReleaseRecord) -> dict[str, Any]:
    """A release as a document: the question in words and exactly, and whether its answer can be read."""
    return {
        "id": record.id,
        "at": record.at,
        "analyst": record.analyst,
        "dataset": record.dataset,
        "version": record.version,
        "asked": record.description,
        "key": record.key,
        "settled": record.settled,
        "failed": record.failed,
        "free": record.free,
        "told": record.has_period,
        "readable": record.tables > 0,  # what a service can give back
        "tables": record.tables,
        "event": codec.write(record.event),
        "questions": _questions(record.record),
        "request": record.request,
        "record": record.record,
    }


def release_of(document: dict[str, Any]) -> ReleaseRecord:
    """The release record in a document."""
    names = ("id", "at", "analyst", "dataset", "version", "record", "request", "key", "settled", "failed")
    return ReleaseRecord(
        event=codec.read(Event, document["event"]),
        description=document["asked"],
        free=document.get("free", False),
        has_period=document.get("told", False),
        **{name: document[name] for name in names},
    )


_RESERVATION_FIELDS = ("dataset", "version", "fresh", "settled", "answer", "id", "paid_at", "original")


def reservation_document(reservation: Reservation) -> dict[str, Any]:
    """A reservation as its asker may see it: without its number and the names of levels, which tell of others."""
    return {name: getattr(reservation, name) for name in _RESERVATION_FIELDS} | {"charged": bool(reservation.charged)}


def reservation_of(document: dict[str, Any]) -> Reservation:
    """The reservation in a document."""
    charged = ("the asker",) if document["charged"] else ()
    return Reservation(number=0, charged=charged, **{name: document[name] for name in _RESERVATION_FIELDS})


def approval_document(approval: Approval) -> dict[str, Any]:
    """A large spend that needs approval: who asks, what, at what price, and what was decided."""
    names = ("request", "state", "at", "analyst", "dataset", "version", "description", "reason", "by", "decided")
    fields = {"asked" if name == "description" else name: getattr(approval, name) for name in (*names, "expires")}
    price = _price(approval)
    return {**fields, "price": price, "event": codec.write(approval.event), "questions": _questions(approval.record)}


def _price(approval: Approval) -> str | None:
    """What would be charged, as a promise in one line; None if there is no such promise."""
    try:
        return str(approval.event.guarantee()).partition(" (")[0]
    except GiveOrTakeError:
        return None


def _questions(record: Any) -> list[dict[str, Any]]:
    return [{"sql": part.get("sql"), "spend": part["spend"], "caps": part.get("caps")} for part in parts_of(record)]


def entry_document(entry: Entry) -> dict[str, Any]:
    """One entry of the ledger, as the asker may see it."""
    return {"number": entry.number, "kind": entry.kind, "at": entry.at, "content": dict(entry.content)}


def entry_of(document: dict[str, Any]) -> Entry:
    """The entry in a document, without hashes, which only the custodian sees."""
    return Entry(document["number"], document["kind"], document["at"], "", document["content"], "", "")


_NUMBER = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")  # the limits of doubles have fewer digits


def described(session: Session) -> dict[str, Any]:
    """The description of a session's data set: everything that an analyst may know before asking."""
    caps, mechanism = session.describe().caps, mechanism_of(session)
    return {
        "name": session.name,
        "population": session.describe().population,
        "unit": session.budget.granted.unit.column,
        "neighbours": session.budget.granted.neighbours,
        "budget": str(session.budget.granted),
        "promise": codec.write(session.budget.granted),
        "promise_to_all": _promise_to_all(session),
        "caps": caps.to_json() if caps.stated else None,
        "caps_are_maxima": mechanism.caps.are_maxima,
        "version": mechanism.version,
        "declared": mechanism.declared,
        "engine": mechanism.engine.identity,
        "version_of_service": version("giveortake"),
        "caps_in_words": str(caps) if caps.stated else "each question says how much of a person counts",
        "tables": [_table(name, relation) for name, relation in session.describe().catalog.private.items()],
        "public": [_public(table) for table in session.describe().catalog.public.values()],
    }


def _promise_to_all(session: Session) -> dict[str, Any] | None:
    """The promise that all answers to all analysts together keep: it is public."""
    levels = mechanism_of(session).ledger.levels()
    budget = next(
        level.budget for level in levels if (level.kind, level.name) == ("population", session.describe().population)
    )
    return None if budget is None else codec.write(budget)


def origin_of(document: Mapping[str, Any]) -> Origin:
    """The tables in a description, with which questions can be parsed without any data."""
    private = [
        PrivateTable(
            table["name"], tuple((column["name"], _domain_of(column)) for column in table["columns"]), document["unit"]
        )
        for table in document["tables"]
    ]
    public = [
        PublicTable(
            table["name"],
            tuple((column["name"], _domain_of(column)) for column in table["columns"]),
            frozenset(table["unique"]),
            table["fingerprint"],
        )
        for table in document["public"]
    ]
    rows = {table["name"]: table["rows_per_person"] for table in document["tables"]}
    return Origin.of(private, public, rows.__getitem__)


def _table(name: str, relation: Any) -> dict[str, Any]:
    return {
        "name": name,
        "rows_per_person": relation.most_rows_of_person,
        "columns": [_column(column, domain) for column, domain in relation.table.columns],
    }


def _public(table: PublicTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "unique": sorted(table.unique),
        "fingerprint": table.fingerprint,
        "columns": [_column(name, domain) for name, domain in table.columns],
    }


def _column(name: str, domain: Domain) -> dict[str, Any]:
    return {
        "name": name,
        "kind": str(domain.kind),
        "nullable": domain.nullable,
        "low": _number(domain.low),
        "high": _number(domain.high),
        "step": _number(domain.step),
        "longest": domain.longest,
        "categories": None if domain.categories is None else [_value(category) for category in domain.categories],
        "words": _words(domain),
    }


def _domain_of(column: Mapping[str, Any]) -> Domain:
    kind = Kind(column["kind"])
    categories = column["categories"]
    return Domain(
        kind,
        _fraction(column["low"]),
        _fraction(column["high"]),
        None if categories is None else tuple(_value_of(category, kind) for category in categories),
        column["nullable"],
        _fraction(column["step"]),
        column["longest"],
    )


def _number(number: Fraction | None) -> str | None:
    return None if number is None else str(number)


def _fraction(text: str | None) -> Fraction | None:
    """A number as `_number` wrote it, and nothing else: an exponent could mean an endlessly long number."""
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise InvalidParameter("number", text[:40], "is not written as p or p/q", hint="upgrade the service")
    return Fraction(text)


def _value(value: Value) -> Any:
    match value:
        case dt.date():
            return value.isoformat()
        case Fraction():
            return str(value)
    return value


def _value_of(value: Any, kind: Kind) -> Value:
    match kind, value:
        case (Kind.DATE, str()):
            return dt.date.fromisoformat(value)
        case (Kind.TIMESTAMP, str()):
            return dt.datetime.fromisoformat(value)
        case ((Kind.DECIMAL | Kind.REAL), str()):
            return Fraction(value)
    plain: Value = value
    return plain


def _words(domain: Domain) -> str:
    """A domain in a few words, for people."""
    if domain.categories is not None:
        return f"{len(domain.categories)} categories"
    if domain.longest is not None:
        return f"{domain.kind} of at most {domain.longest:,} characters"
    if domain.low is None or domain.high is None:
        return f"{domain.kind}, nothing declared"
    ends = (domain.low, domain.high)
    if domain.kind in {Kind.DATE, Kind.TIMESTAMP}:
        first, last = (dt.date.fromordinal(int(end)).isoformat() for end in ends)
        return f"{domain.kind}, {first} to {last}"
    return f"{domain.kind}, {float(domain.low):,g} to {float(domain.high):,g}"


def workload_document(workload: Workload | str) -> dict[str, Any]:
    """A workload as a document."""
    if isinstance(workload, str):
        return {"sql": workload}
    return {
        "tables": [
            {"columns": list(table.columns), "weight": table.weight, "of": table.of} for table in workload.tables
        ],
        "ranges": [
            {
                "column": column_range.column,
                "by": list(column_range.by),
                "bins": column_range.bins,
                "weight": column_range.weight,
            }
            for column_range in workload.ranges
        ],
    }


def workload_query(session: Session, document: Mapping[str, Any]) -> Query[WorkloadAnswer]:
    """The workload in a document, as a question to a session; it is checked like one written in Python."""
    workload: Workload | str = document["sql"] if "sql" in document else _workload(document)
    return session.workload(
        workload, table=document.get("table"), minimise=document.get("minimise", "rms"), norm=document.get("norm")
    )


def _workload(document: Mapping[str, Any]) -> Workload:
    parts = [_workload_table(table) for table in document.get("tables", ())]
    parts += [
        ranges(fields["column"], by=fields.get("by"), bins=fields.get("bins"), weight=fields.get("weight", 1))
        for fields in document.get("ranges", ())
    ]
    if not parts:
        raise InvalidParameter("workload", {}, "asks for no table", hint='{"tables": [{"columns": ["region"]}]}')
    return sum(parts[1:], parts[0])


def _workload_table(table: Mapping[str, Any]) -> Workload:
    columns = tuple(table["columns"])
    (checked_table,) = total(of=table.get("of"), weight=table.get("weight", 1)).tables
    if len(set(columns)) < len(columns):
        raise InvalidParameter("columns", list(columns), "lists a column twice")
    return Workload((Marginal(columns, checked_table.weight, checked_table.of),))


def answer_document(answer: WorkloadAnswer) -> dict[str, Any]:
    """The answer to a workload as a document: each table is an answer, with the names of its columns."""
    return {
        "release_id": answer.release_id,
        "notes": list(answer.notes),
        "stacking": answer.stacking,
        "tables": [{"columns": list(names), "answer": json.loads(answer[names].to_json())} for names in answer.tables],
    }
