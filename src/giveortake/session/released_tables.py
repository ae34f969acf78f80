"""The tables of a release: one for a question, several for a batch or a workload, the periods of a counter."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.answers.terms import Confidence
from giveortake.compile import Caps, Spend, Terms
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryRefused, Unprovable
from giveortake.plan import Aggregate, AggregateKind, Measured, Question
from giveortake.plan.codec import question_from_json, question_to_json
from giveortake.plan.expressions import Literal
from giveortake.session.profile_releases import FORMAT as PROFILE_FORMAT
from giveortake.session.profile_releases import ProfileRequest
from giveortake.session.release_records import FORMAT, paid_release, part_of, release_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.answers import Answer
    from giveortake.ledger import ReleaseRecord
    from giveortake.plan import Relation
    from giveortake.session.counters import Counter
    from giveortake.session.mechanism import Charge, InteractiveMechanism
    from giveortake.workload.results import WorkloadAnswer
    from giveortake.workload.workload import Workload

MOST_WISHES = 2_000  # a workload with more is not recorded: it can be asked again, but not looked up by its id
_COUNT = Measured(Aggregate(AggregateKind.COUNT_ROWS))
_AGAIN = "ask it again: what was paid for is free"


# -- writing ----------------------------------------------------------------------------------------------------------


def workload_record(
    mechanism: InteractiveMechanism,
    workload: Workload,
    relation: Relation,
    *,
    count: int,
    minimise: str,
    norm: Fraction | None,
    spend: Spend,
    caps: Caps,
    confidence: Confidence,
) -> dict[str, Any] | None:
    """The record of a workload, with which its tables can be read by its id; None if it would be too large."""
    if len(workload.tables) + len(workload.ranges) > MOST_WISHES:
        return None
    return {
        **_common(mechanism, spend, caps, confidence),
        "workload": {
            "tables": [[list(each.columns), each.weight, each.of] for each in workload.tables],
            "ranges": [[each.column, list(each.by), each.bins, each.weight] for each in workload.ranges],
            "column_names": [list(each) for each in workload.column_names],
            "measure_names": [list(each) for each in workload.measure_names],
            "count": count,  # the number of distinct tables
            "minimise": minimise,
            "norm": None if norm is None else str(norm),
        },
        "plan": json.dumps(question_to_json(Question(relation, (), (("n", _COUNT),)), mechanism.origin)),
    }


def counter_record(
    mechanism: InteractiveMechanism, table: str, column: str, horizon: int, *, spend: Spend, terms: Terms
) -> dict[str, Any]:
    """The record of a counter, with which its counts can be read by its id."""
    common = _common(mechanism, spend, mechanism.resolve_caps(terms), terms.confidence)
    return {**common, "counter": {"table": table, "column": column, "horizon": horizon}}


def _common(mechanism: InteractiveMechanism, spend: Spend, caps: Caps, confidence: Confidence) -> dict[str, Any]:
    part = mechanism.part
    return {
        "format": FORMAT,
        "declared": mechanism.declared,
        "confidence": [str(Fraction(confidence)), confidence.over],
        **({} if part is None else {"part": [part.column, Literal(part.value).to_json(), part.touched]}),
        "spend": spend.to_json(),
        "caps": caps.to_json(),
    }


# -- reading ----------------------------------------------------------------------------------------------------------


def released_table(mechanism: InteractiveMechanism, release_id: str, place: int | None) -> Answer:
    """One table of a release; `place` says which, if there are several."""
    record = release_of(mechanism, release_id)
    if _kind(record) == "questions":
        return _read(mechanism, record, place)
    found = list(released_tables(mechanism, record))
    if place is None and len(found) == 1:
        return found[0]
    if type(place) is not int or not 0 <= place < len(found):
        raise InvalidParameter(
            "place",
            place,
            f"is not the place of a table: there are {len(found)}",
            hint=f"from 0 to {len(found) - 1}",
        )
    return found[place]


def released_tables(mechanism: InteractiveMechanism, record: ReleaseRecord) -> Iterator[Answer]:
    """All tables of a release, in order. A release without tables, or without a record, is refused with the reason.

    Guarantee: each is read by the very measurement that was charged; what the record leads to is compared with the
    charge, and refused where it differs. This is post-processing, and free.
    """
    match _kind(record):
        case "questions":
            for place in range(len(record.record["questions"])):
                yield _read(mechanism, record, place)
        case "workload":
            yield from _workload(mechanism, record)
        case "counter":
            yield _counter(mechanism, record)


def _read(mechanism: InteractiveMechanism, record: ReleaseRecord, place: int | None) -> Answer:
    """The table of a question; the table of a profile shows the ranges of its bins."""
    found = paid_release(mechanism, record.id, place).read()
    said = dict(record.request.get("profile") or {}) if isinstance(record.request, dict) else {}
    if said.pop("format", None) != PROFILE_FORMAT:
        return found
    return ProfileRequest.of(mechanism, **said).table(found, place or 0)


def _kind(record: ReleaseRecord) -> str:
    """The kind of a release, by its record: "questions", "workload" or "counter"; others are refused."""
    found, request = record.record, record.request
    if isinstance(request, dict) and "run" in request:
        raise Unprovable(
            f"the release {record.id!r} comes from a run, and holds no table: {record.asked}",
            hint="save the model or the synthetic table that the run returned: to_json, to_parquet",
        )
    if isinstance(found, dict) and found.get("format") == FORMAT:
        for kind in ("questions", "workload", "counter"):
            if kind in found:
                return kind
    what = "was charged without its question" if found is None else "was made by a later version"
    if isinstance(request, dict) and "workload" in request:
        what = "is of a workload that is too large to be stored"
    raise Unprovable(f"the release {record.id!r} {what}", hint=_AGAIN)


def _workload(mechanism: InteractiveMechanism, record: ReleaseRecord) -> WorkloadAnswer:
    from giveortake.session.workloads import WorkloadQuery  # noqa: PLC0415 (few releases are workloads)
    from giveortake.workload.workload import RangeWish, TableWish, Workload  # noqa: PLC0415 (as above)

    mechanism = _as_it_was(mechanism, record)
    content, said = record.record, record.record["workload"]
    workload = Workload(
        tuple(TableWish(tuple(columns), weight, of) for columns, weight, of in said["tables"]),
        tuple(RangeWish(column, tuple(by), bins, weight) for column, by, bins, weight in said["ranges"]),
        tuple((one, other) for one, other in said["column_names"]),
        tuple((one, other) for one, other in said["measure_names"]),
    )
    try:
        relation = question_from_json(json.loads(content["plan"]), mechanism.origin).relation
    except QueryRefused as refusal:
        raise _unlike(record, f": {refusal.message}") from None
    query = WorkloadQuery(mechanism, workload, relation, said["minimise"], said["norm"])
    priced, charge = query.paid(_spend(content), Caps.of(**content["caps"]))
    _require_same(record, charge)
    reservation = mechanism.ledger.release(record.id, analyst=mechanism.analyst)
    if not reservation.settled:
        raise _unanswered(record)
    return query.read(priced, _confidence(content), reservation, reservation.answer, looked_up=True)


def _counter(mechanism: InteractiveMechanism, record: ReleaseRecord) -> Answer:
    mechanism = _as_it_was(mechanism, record)
    counter = _opened_counter(mechanism, record.record)
    _require_same(record, counter.charge())
    reservation = mechanism.ledger.release(record.id, analyst=mechanism.analyst)
    kept = mechanism.ledger.kept(reservation)
    if not kept:
        raise _unanswered(record)
    return counter.table(kept, range(len(kept)), reservation)


def _opened_counter(mechanism: InteractiveMechanism, content: dict[str, Any]) -> Counter:
    from giveortake.session.counters import AskedCounter, Counter  # noqa: PLC0415 (few releases are counters)

    said, spend = content["counter"], _spend(content)
    relation = mechanism.origin.relations.get(said["table"])
    if relation is None:
        raise NotFound(f"there is no table {said['table']!r} here", hint="open the session that has it")
    terms = replace(Terms.of({}), caps=Caps.of(**content["caps"]), confidence=_confidence(content))
    asked = AskedCounter.of(mechanism, relation, said["column"], said["horizon"], terms)
    return Counter(mechanism, asked, spend, terms)


def _as_it_was(mechanism: InteractiveMechanism, record: ReleaseRecord) -> InteractiveMechanism:
    content = record.record
    if content["declared"] != mechanism.declared:
        raise LedgerMismatch(
            f"the release {record.id!r} was measured when other domains were declared", hint="ask the question again"
        )
    return mechanism.in_part(part_of(mechanism, content["part"])) if "part" in content else mechanism


def _require_same(record: ReleaseRecord, charge: Charge) -> None:
    if json.loads(charge.question) != record.request or charge.event != record.event:
        raise _unlike(record)


def _unlike(record: ReleaseRecord, why: str = "") -> LedgerMismatch:
    return LedgerMismatch(
        f"the release {record.id!r} was measured in another way than this session would{why}",
        hint="open the session as it was when it was asked, or ask the question again",
    )


def _unanswered(record: ReleaseRecord) -> NotFound:
    return NotFound(
        f"the release {record.id!r} was charged, but has no answer yet", hint="ask it again: it is not charged again"
    )


def _spend(content: dict[str, Any]) -> Spend:
    return Spend(**{name: Fraction(amount) for name, amount in content["spend"].items()})


def _confidence(content: dict[str, Any]) -> Confidence:
    return Confidence(*content["confidence"])
