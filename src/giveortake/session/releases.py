"""Releases read again by their ids, from the ledger's records alone. This is post-processing, and free.

A record holds what an analyst wrote: the text or the plan of each question, constants included, what was spent on it
and the caps. It holds nothing that any row decides. The custodian, who owns the ledger, can read it.

Guarantee: a release is read by the very measurement that was charged. What the record leads to is compared with what
names the charge and with the event that was charged, and refused where they differ, so that noisy integers are never
read by other bounds than those they were drawn by. Steps are replayed, and none is drawn.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

from giveortake import codec
from giveortake.answers.terms import Confidence
from giveortake.codec import write
from giveortake.compile import Caps, Spend, Terms
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryRefused, Unprovable
from giveortake.plan import Question, Value
from giveortake.session.kinds.counters import CounterRequest
from giveortake.session.kinds.queries import BoundQuestions, QueryRequest, RefinementRequest
from giveortake.session.mechanism import FORMAT
from giveortake.session.partitions import parts_of
from giveortake.session.profiles.profile import FORMAT as PROFILE_FORMAT
from giveortake.session.profiles.profile import BoundProfile, ProfileRequest
from giveortake.session.refusals import unanswered
from giveortake.session.requests import Priced
from giveortake.session.steps import stored_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from giveortake.answers import Answer
    from giveortake.ledger import ReleaseRecord
    from giveortake.session.kinds.queries import PaidRelease
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.requests import Bound

_AGAIN = "ask it again: what was paid for is free"


def release_of(mechanism: InteractiveMechanism, release_id: str) -> ReleaseRecord:
    """The ledger's record of a release of these tables. A release of other tables is refused as unknown."""
    record = mechanism.ledger.release_record(release_id, analyst=mechanism.analyst)
    if record.dataset != mechanism.dataset:
        raise NotFound(f"there is no release {release_id!r}", hint="s.releases() lists them")
    return record


def released(mechanism: InteractiveMechanism, release_id: str, index: int | None = None) -> Any:
    """What was released under an id: a table, a model, a synthetic table; `index` says which of several tables."""
    record = release_of(mechanism, release_id)
    reading = Reading(mechanism, record)
    if reading.kind == "run":
        return reading.read()
    tables = (
        reading.tables() if index is None or reading.kind != "questions" else [reading.table(_checked(index, reading))]
    )
    tables = list(tables)
    if len(tables) == 1 and (index is None or reading.kind == "questions"):
        return tables[0]
    if type(index) is not int or not 0 <= index < len(tables):
        raise _no_such(index, len(tables), "table")
    return tables[index]


def released_tables(mechanism: InteractiveMechanism, record: ReleaseRecord) -> Iterator[Answer]:
    """All tables of a release, in order. A release without tables, or without a record, is refused with the reason."""
    reading = Reading(mechanism, record)
    if reading.kind == "run":
        raise Unprovable(
            f"the release {record.id!r} comes from a run, and holds no table: {record.description}",
            hint="read it with s.release(…)",
        )
    yield from reading.tables()


def paid_release(mechanism: InteractiveMechanism, release_id: str, index: int | None) -> PaidRelease:
    """The paid release of a question, to be refined; `index` says which question of a batch."""
    record = release_of(mechanism, release_id)
    if not isinstance(record.record, dict) or "questions" not in record.record:
        raise Unprovable(
            f"the release {record.id!r} did not come from a question, and cannot be refined",
            hint="ask the question again at a higher price",
        )
    reading = Reading(mechanism, record)
    return reading.paid(_checked(index, reading))


def _checked(index: int | None, reading: Reading) -> int:
    count = len(reading.content["questions"])
    if index is None and count == 1:
        return 0
    if type(index) is not int or not 0 <= index < count:
        raise _no_such(index, count, "question")
    return index


def _no_such(index: int | None, count: int, noun: str) -> InvalidParameter:
    return InvalidParameter(
        "place", index, f"is not the place of a {noun}: there are {count}", hint=f"from 0 to {count - 1}"
    )


@final
class Reading:
    """One release, read by its record."""

    def __init__(self, mechanism: InteractiveMechanism, record: ReleaseRecord) -> None:
        self.record, self.kind = record, _kind(record)
        self.content: dict[str, Any] = record.record
        if self.content["declared"] != mechanism.declared:
            raise LedgerMismatch(
                f"the release {record.id!r} was measured when other domains were declared",
                hint="ask the question again",
            )
        self._asked = mechanism  # which reads what this release refines
        if "part" in self.content:
            mechanism = in_part_of(mechanism, self.content["part"])
        self.mechanism = mechanism
        over, probability = self.content["confidence"][1], self.content["confidence"][0]
        self.terms = replace(Terms.of({}), confidence=Confidence(probability, over))

    # -- what was asked -----------------------------------------------------------------------------------------

    def priced(self, earlier: PaidRelease | None = None) -> Priced[Any]:
        """The measurement that was charged, made again from the record."""
        try:
            bound, spend = self._bound(earlier)
            priced = Priced(bound, bound.at(spend), self._why())
        except QueryRefused as refusal:
            raise _unlike(self.record, f": {refusal.message}") from None
        charge = priced.charge()
        if charge.name != self.record.request or charge.event != self.record.event:
            raise _unlike(self.record)
        return priced

    def _why(self) -> str | None:
        questions = self.content.get("questions") or [self.content]
        why: str | None = questions[0].get("why")
        return why

    def _bound(self, earlier: PaidRelease | None) -> tuple[Bound[Any], Spend]:
        """The request on these tables, and what was spent on it."""
        content, mechanism = self.content, self.mechanism
        terms = replace(self.terms, caps=Caps(**content["caps"])) if "caps" in content else self.terms
        match self.kind:
            case "questions":
                return self._questions(earlier)
            case "workload":
                return _workload_request(mechanism, content).bind(mechanism, terms), _spend(content["spend"])
            case "counter":
                return CounterRequest(**content["counter"]).bind(mechanism, terms), _spend(content["spend"])
            case "weights":
                from giveortake.session.kinds.weights import WeightsRequest  # noqa: PLC0415 (few releases are weights)

                return WeightsRequest.of(**content["weights"]).bind(mechanism, terms), _spend(content["spend"])
        module = import_module(_MODULES[content["run"]["kind"]])
        bound: Bound[Any] = module.bound_of_record(mechanism, content["run"], _spend(content["spend"]))
        return bound, _spend(content["spend"])

    def _questions(self, earlier: PaidRelease | None) -> tuple[Bound[Any], Spend]:
        content, mechanism = self.content, self.mechanism
        listed = content["questions"]
        spend = _spend(listed[0]["spend"])
        settings = dict(self.record.request.get("profile") or {}) if isinstance(self.record.request, dict) else {}
        if settings:
            if settings.pop("format") != PROFILE_FORMAT:
                raise Unprovable(f"the release {self.record.id!r} was made by a later version", hint=_AGAIN)
            spend = Spend(epsilon=Fraction(settings.pop("epsilon")))
            return ProfileRequest.of(**settings).bind(mechanism, self.terms), spend
        queries = [QueryRequest(self._question(json.loads(query["plan"])), query.get("sql")) for query in listed]
        if earlier is not None:
            refined = replace(earlier, priced=replace(earlier.priced, question=queries[0].question))
            return RefinementRequest(refined).bind(mechanism, self.terms), spend
        caps = tuple(Caps(**query["caps"]) for query in listed)
        kind = "query" if len(queries) == 1 else "batch"
        each = tuple(_spend(query["spend"]) for query in listed)
        return BoundQuestions(kind, mechanism, tuple(queries), caps, spends=each), spend

    def _question(self, plan: Any) -> Question:
        try:
            question: Question = codec.read(Question, plan, references=self.mechanism.origin, what="plan")
        except (InvalidParameter, QueryRefused) as refusal:
            raise _unlike(self.record, f": {refusal.message}") from None
        return question

    # -- what was released --------------------------------------------------------------------------------------

    @contextmanager
    def _outcome(self, priced: Priced[Any]) -> Iterator[tuple[Any, Any]]:
        """What a measurement returns on its stored steps, and their reservation; nothing is drawn."""
        steps = stored_steps(self.mechanism, self.record.id, priced.bound.inner_filter(priced.measurement))
        reservation = steps.reservation
        if not reservation.settled and not priced.bound.interactive:
            raise unanswered(self.record.id)
        yield priced.bound.run(priced.measurement, steps), reservation

    def read(self) -> Any:
        """What was released, of whatever kind."""
        priced = self.priced()
        with self._outcome(priced) as (outcome, reservation):
            return priced.bound.read(priced, outcome, reservation, self.terms, looked_up=True)

    def tables(self) -> Iterator[Answer]:
        """All tables, in order."""
        if self.kind == "questions":
            for index in range(len(self.content["questions"])):
                yield self.table(index)
        elif self.kind == "workload":
            yield from self.read()
        else:
            yield self.read()

    def table(self, index: int) -> Answer:
        """The answer to the question at an index; of a profile, with the ranges of its bins."""
        answer = self.paid(index).read()
        settings = dict(self.record.request.get("profile") or {}) if isinstance(self.record.request, dict) else {}
        if settings.pop("format", None) != PROFILE_FORMAT:
            return answer
        settings.pop("epsilon")
        return ProfileRequest.of(**settings).bind(self.mechanism, self.terms).table(answer, index)

    def paid(self, index: int) -> PaidRelease:
        """The release of the question at an index, with all releases that it refines."""
        request, earlier = self.record.request, None
        portion = request.get("portion")
        for reference in request["refines"]:
            reading = Reading(self._asked, self._referred(reference))
            earlier = reading.after(earlier, self._refined() if earlier is None else 0, portion)
        return self.after(earlier, index, portion)

    def _refined(self) -> int:
        """Which question of the first release is refined."""
        if "refined" not in self.content:
            raise Unprovable(f"the release {self.record.id!r} does not say what it refines", hint=_AGAIN)
        return int(self.content["refined"])

    def after(self, earlier: PaidRelease | None, index: int, portion: int | None) -> PaidRelease:
        """The release at an index, as a refinement of `earlier` if that is given."""
        priced = self.priced(earlier)
        bound = priced.bound.questions(priced.spend) if isinstance(priced.bound, BoundProfile) else priced.bound
        assert isinstance(bound, BoundQuestions)  # noqa: S101 (asked of questions alone)
        with self._outcome(priced) as (stored, reservation):
            paid = bound.paid(
                priced, stored, reservation, self.terms, index, portion=portion if earlier is None else None
            )
        paid = replace(paid, portion=portion, looked_up=True)
        return paid if earlier is None else paid.refining(earlier)

    def _referred(self, reference: object) -> ReleaseRecord:
        """The record of a release that this one refines."""
        if not isinstance(reference, str):
            raise Unprovable(f"the release {self.record.id!r} does not say what it refines", hint=_AGAIN)
        return release_of(self.mechanism, reference)


_MODULES = {
    "fit": "giveortake.learn.base",
    "synthesis": "giveortake.synth.synthesis",
}  # which know how to read their runs


def _workload_request(mechanism: InteractiveMechanism, content: Mapping[str, Any]) -> Any:
    from giveortake.session.kinds.workloads import WorkloadRequest  # noqa: PLC0415 (few releases are workloads)
    from giveortake.workload.workload import Marginal, Ranges, Workload  # noqa: PLC0415 (as above)

    document = content["workload"]
    workload = Workload(
        tuple(Marginal(tuple(columns), weight, measure) for columns, weight, measure in document["tables"]),
        tuple(Ranges(column, tuple(by), bins, weight) for column, by, bins, weight in document["ranges"]),
        tuple((one, other) for one, other in document["column_names"]),
        tuple((one, other) for one, other in document["measure_names"]),
    )
    relation = codec.value_of(Question, content["plan"], references=mechanism.origin).relation
    return WorkloadRequest.of(workload, relation, document["minimise"], document["norm"])


def in_part_of(mechanism: InteractiveMechanism, content: list[Any]) -> InteractiveMechanism:
    """The mechanism of the part that a record names: of the session's own part, or of one of the whole session."""
    column, value, touched = content
    if mechanism.part is not None:
        if [mechanism.part.column, write(mechanism.part.value, Value), mechanism.part.touched] == content:
            return mechanism
        raise NotFound("this session sees only a part of the data", hint="read the release from the whole session")
    parts = parts_of(mechanism, list(mechanism.origin.relations.values()), column, touched)
    return mechanism.in_part(next(part for part in parts if write(part.value, Value) == value))


def _kind(record: ReleaseRecord) -> str:
    """The kind of a release, by its record; a release that cannot be read is refused with the reason."""
    content, request = record.record, record.request
    if isinstance(content, dict) and content.get("format") == FORMAT:
        for kind in ("questions", "workload", "counter", "weights", "run"):
            if kind in content:
                return kind
    reason = "was charged without its question" if content is None else "was made by a later version"
    if isinstance(request, dict) and "workload" in request:
        reason = "is of a workload that is too large to be stored"
    raise Unprovable(f"the release {record.id!r} {reason}", hint=_AGAIN)


def _unlike(record: ReleaseRecord, why: str = "") -> LedgerMismatch:
    return LedgerMismatch(
        f"the release {record.id!r} was measured in another way than this session would{why}",
        hint="open the session as it was when it was asked, or ask the question again",
    )


def _spend(amounts: Mapping[str, str]) -> Spend:
    return Spend(**{name: Fraction(amount) for name, amount in amounts.items()})
