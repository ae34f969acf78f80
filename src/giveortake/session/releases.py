"""Releases read again: records, stored integers, and the tables computed from them.

- Read releases that were paid for: compute answers from stored noisy integers. This is post-processing.
- Releases by their ids: what the ledger keeps of a question, and how its answer is read again from that.
- A record holds what an analyst wrote: the text or the plan of each question, constants included, what was spent on it
  and the caps. It holds nothing that any row decides. The custodian, who owns the ledger, can read it.
- The tables of a release: one for a question, several for a batch or a workload, the periods of a counter.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack, final

from giveortake.advice import Advice
from giveortake.answers.terms import CAP_TERMS, Confidence
from giveortake.caching import serving
from giveortake.compile import Caps, Spend, Terms
from giveortake.compile.postprocessing import Circumstances, answer_of
from giveortake.errors import GiveOrTakeError, InvalidParameter, LedgerMismatch, NotFound, QueryRefused, Unprovable
from giveortake.plan import Aggregate, AggregateKind, Measured, Question
from giveortake.plan.codec import question_from_json, question_to_json
from giveortake.plan.expressions import Literal
from giveortake.session import storage
from giveortake.session.partitions import parts_of
from giveortake.session.profiles.best_caps import left_out_of
from giveortake.session.profiles.profile import FORMAT as PROFILE_FORMAT
from giveortake.session.profiles.profile import ProfileRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.answers import Answer
    from giveortake.answers.terms import SpendTerms
    from giveortake.compile import Release
    from giveortake.engines import Keys
    from giveortake.ledger import ReleaseRecord, Reservation
    from giveortake.plan import Relation
    from giveortake.privacy import Guarantee
    from giveortake.session.counters import Counter
    from giveortake.session.mechanism import Charge, InteractiveMechanism, Priced
    from giveortake.session.partitions import Part
    from giveortake.workload.results import WorkloadAnswer
    from giveortake.workload.workload import Workload


@final
@dataclass(frozen=True, slots=True, eq=False)
class PaidRelease:
    """The last paid release of a question, and the earlier ones that it refines.

    `portion` is its index in a stream, if it is part of one; `question_index` is the index of the question in the batch
    of the first release.
    """

    mechanism: InteractiveMechanism
    priced: Priced
    keys: Keys
    last: Release
    reservation: Reservation
    confidence: Confidence
    portion: int | None = None
    earlier: tuple[Release, ...] = ()
    refines: tuple[str, ...] = ()
    promised: tuple[Guarantee, ...] = ()  # by the earlier releases
    looked_up: bool = False  # by its id, instead of by asking the question again
    question_index: int = 0
    twins: int = 0  # how many questions of the same name stand before that one

    def refining(self, earlier_release: PaidRelease) -> PaidRelease:
        """This release as a refinement of `earlier_release`."""
        return replace(
            self,
            earlier=(*earlier_release.earlier, earlier_release.last),
            refines=(*earlier_release.refines, earlier_release.reservation.reference),
            promised=(
                *earlier_release.promised,
                earlier_release.priced.made.promise(earlier_release.mechanism.budget.unit),
            ),
            question_index=earlier_release.question_index,
            twins=earlier_release.twins,
        )

    def read(self, limit: int | None = None) -> Answer:
        """The answer that combines all releases."""
        mechanism, measurement = self.mechanism, self.priced.made
        if self.looked_up:
            mechanism = replace(mechanism, version=self.reservation.version, as_of=self.reservation.number)
        is_replay = not self.looked_up and not self.reservation.charged
        free_note = self.reservation.paid_before(mechanism.version) if is_replay else None
        part = None if mechanism.part is None else mechanism.part.left_out
        circumstances = Circumstances(
            unit=mechanism.budget.unit,
            confidence=self.confidence,
            release_id=self.reservation.id,
            promised=self.promised,
            left_out=left_out_of(mechanism, self.priced.question, measurement, self.confidence),
            before=tuple(note for note in (free_note, self.priced.why) if note is not None),
            after=() if part is None else (part,),
        )
        return answer_of(
            measurement, self.keys, (*self.earlier, self.last), circumstances, limit=limit, refine=self.refine
        )

    def refine(self, *, key: str | None = None, **terms: Unpack[SpendTerms]) -> Answer:
        """Ask the question again at a further price, and combine all answers; found keys are public now."""
        if not all(measure.averages for measure in self.priced.made.measures):
            raise Unprovable(
                "quantiles cannot be refined: their answers cannot be averaged",
                hint="ask the question again at a higher price",
            )
        stated_terms = Terms.of(
            terms, confidence=self.confidence, without=("margin", "share", "key_delta", "n", *CAP_TERMS)
        )
        if stated_terms.spend is None:
            raise InvalidParameter("epsilon", None, "is missing", hint=Advice("{refine}"))
        if self.reservation.version != self.mechanism.version:
            raise LedgerMismatch(
                f"the release is about version {self.reservation.version!r} of the data, which has changed since",
                hint="ask the question again",
            )
        with serving(self.mechanism.cache):
            refinement = self.mechanism.price_refinement(self.priced, stated_terms.spend, self.keys)
            refines = (*self.refines, self.reservation.reference)
            reservation, (part,) = self.mechanism.reserve_and_draw(
                [refinement],
                key,
                stated_terms.confidence,
                refines,
                self.portion,
                refined=self.question_index,
                twins=self.twins,
            )
            keys, release = storage.whole(self.mechanism.spool, refinement, part)
            refined_release = PaidRelease(
                self.mechanism, refinement, keys, release, reservation, stated_terms.confidence, self.portion
            )
            return refined_release.refining(self).read()


def twins_before(priced_questions: Sequence[Priced], index: int) -> int:
    """How many questions before one of a batch have its name: they differ only in what is made of the same numbers."""
    if index == 0:
        return 0
    name = priced_questions[index].made.named()
    return sum(priced.made.named() == name for priced in priced_questions[:index])


FORMAT = 1
_AGAIN = "ask it again: what was paid for is free"


# -- writing ----------------------------------------------------------------------------------------------------------


def record_of(
    mechanism: InteractiveMechanism,
    priced_questions: Sequence[Priced],
    confidence: Confidence,
    refined: int | None = None,
) -> dict[str, Any]:
    """The record that the ledger keeps of questions charged together. It is made from the questions alone.

    `refined` says which question of the first release is refined.
    """
    part = mechanism.part
    return {
        "format": FORMAT,
        "declared": mechanism.declared,
        "confidence": [str(Fraction(confidence)), confidence.over],
        **({} if part is None else {"part": [part.column, Literal(part.value).to_json(), part.touched]}),
        **({} if refined is None else {"refined": refined}),
        "questions": [_question(mechanism, priced) for priced in priced_questions],
    }


def _question(mechanism: InteractiveMechanism, priced: Priced) -> dict[str, Any]:
    return {
        **({} if priced.text is None else {"sql": priced.text}),
        **priced.made.record(priced.question, mechanism.origin),
        **({} if priced.why is None else {"why": priced.why}),
    }


# -- reading ----------------------------------------------------------------------------------------------------------


def paid_release(mechanism: InteractiveMechanism, release_id: str, index: int | None) -> PaidRelease:
    """The paid release with an id, to be read or refined; `index` says which question of a batch.

    Guarantee: it is read by the very measurement that was charged. What the record leads to is compared with what names
    the charge and with the event that was charged, and refused where they differ, so that noisy integers are never read
    by other bounds than those they were drawn by. This is post-processing, and free.
    """
    record = release_of(mechanism, release_id)
    return _Reading(mechanism, record).paid(_question_index(record, index))


def release_of(mechanism: InteractiveMechanism, release_id: str) -> ReleaseRecord:
    """The ledger's record of a release of these tables. A release of other tables is refused as unknown."""
    record = mechanism.ledger.release_record(release_id, analyst=mechanism.analyst)
    if record.dataset != mechanism.dataset:
        raise NotFound(f"there is no release {release_id!r}", hint=Advice("{releases} lists them"))
    return record


def _question_index(record: ReleaseRecord, index: int | None) -> int:
    count = len(_content(record)["questions"])
    if index is None and count == 1:
        return 0
    if type(index) is not int or not 0 <= index < count:
        raise InvalidParameter(
            "place",
            index,
            f"is not the place of a question: there are {count}",
            hint=f"from 0 to {count - 1}",
        )
    return index


def _content(record: ReleaseRecord) -> dict[str, Any]:
    content = record.record
    if not isinstance(content, dict) or content.get("format") != FORMAT or "questions" not in content:
        raise Unprovable(
            f"the release {record.id!r} did not come from a question, and cannot be refined",
            hint="ask the question again at a higher price",
        )
    return content


class _Reading:
    """Reads one release from its record in the ledger."""

    def __init__(self, mechanism: InteractiveMechanism, record: ReleaseRecord) -> None:
        content = _content(record)
        if content["declared"] != mechanism.declared:
            raise LedgerMismatch(
                f"the release {record.id!r} was measured when other domains were declared",
                hint="ask the question again",
            )
        if "part" in content:
            mechanism = mechanism.in_part(part_of(mechanism, content["part"]))
        self._mechanism = mechanism
        self._record = record
        self._content = content

    def paid(self, index: int) -> PaidRelease:
        """The release of the question at an index, with all releases that it refines."""
        request, mechanism = self._record.request, self._mechanism
        refines, portion = tuple(request["refines"]), request.get("portion")
        refined_release: PaidRelease | None = None
        for reference in refines:
            earlier = _Reading(mechanism, self._referred(reference))
            refined_release = earlier.after(refined_release, self._refined() if refined_release is None else 0, portion)
        return self.after(refined_release, index, portion)

    def _refined(self) -> int:
        """Which question of the first release is refined."""
        if "refined" not in self._content:
            raise Unprovable(f"the release {self._record.id!r} does not say what it refines", hint=_AGAIN)
        return int(self._content["refined"])

    def after(self, earlier: PaidRelease | None, index: int, portion: int | None) -> PaidRelease:
        """The release at an index, as a refinement of `earlier` if that is given."""
        mechanism, record = self._mechanism, self._record
        priced_questions = self._priced(earlier)
        self._require_same(priced_questions)
        reservation = mechanism.ledger.release(record.id, analyst=mechanism.analyst)
        if not reservation.settled:
            raise NotFound(
                f"the release {record.id!r} was charged, but has no answer yet",
                hint="ask the question again, with the same key if it had one: it is not charged again",
            )
        stored = storage.stored_of(reservation.answer, len(priced_questions))[index]
        portions = storage.portions_of(mechanism.spool, priced_questions[index], stored)
        keys, release = (
            storage.whole(mechanism.spool, priced_questions[index], stored)
            if portion is None or earlier is not None
            else next(keys_and_release for number, keys_and_release in enumerate(portions) if number == portion)
        )
        over, probability = self._content["confidence"][1], self._content["confidence"][0]
        confidence = Confidence(probability, over)
        paid = PaidRelease(
            mechanism,
            priced_questions[index],
            keys,
            release,
            reservation,
            confidence,
            portion,
            looked_up=True,
            question_index=index,
            twins=twins_before(priced_questions, index),
        )
        return paid if earlier is None else paid.refining(earlier)

    def _priced(self, earlier: PaidRelease | None) -> list[Priced]:
        """The priced questions, rebuilt from the record."""
        priced_questions = []
        for question_record in self._content["questions"]:
            question = self._question(json.loads(question_record["plan"]))
            spend = Spend(**{name: Fraction(amount) for name, amount in question_record["spend"].items()})
            priced = self._price(question, question_record, spend, None if earlier is None else earlier.keys, earlier)
            priced_questions.append(replace(priced, text=question_record.get("sql"), why=question_record.get("why")))
        return priced_questions

    def _price(
        self,
        question: Question,
        question_record: dict[str, Any],
        spend: Spend,
        keys: Keys | None,
        earlier: PaidRelease | None,
    ) -> Priced:
        if earlier is not None and keys is not None:
            return self._mechanism.price_refinement(replace(earlier.priced, question=question), spend, keys)
        return self._mechanism.price_without_engine(question, Caps.of(**question_record["caps"]), spend)

    def _question(self, plan: Any) -> Question:
        try:
            return question_from_json(plan, self._mechanism.origin)
        except QueryRefused as refusal:
            raise LedgerMismatch(
                f"the release {self._record.id!r} cannot be read with the tables at hand: {refusal.message}",
                hint="open the session with the tables that it was asked of",
            ) from None

    def _require_same(self, priced_questions: list[Priced]) -> None:
        """Refuse to read a release if the rebuilt charge differs from the recorded one."""
        request = self._record.request
        try:
            charge = self._mechanism.charge(
                priced_questions,
                tuple(request["refines"]),
                request.get("portion"),
                request.get("profile"),
                request.get("twins", 0),
            )
        except GiveOrTakeError:
            charge = None
        if charge is None or json.loads(charge.question) != request or charge.event != self._record.event:
            raise LedgerMismatch(
                f"the release {self._record.id!r} was measured in another way than this session would",
                hint="open the session as it was when it was asked, or ask the question again",
            )

    def _referred(self, reference: str) -> ReleaseRecord:
        mechanism = self._mechanism
        return mechanism.ledger.release_record(reference, analyst=mechanism.analyst)


def part_of(mechanism: InteractiveMechanism, content: list[Any]) -> Part:
    """The part of a partition that a record names."""
    column, value, touched = content
    tables = list(mechanism.origin.relations.values())
    if mechanism.part is not None:
        raise NotFound("this session sees only a part of the data", hint="read the release from the whole session")
    parts = parts_of(mechanism, tables, column, touched)
    return next(part for part in parts if Literal(part.value).to_json() == value)


MOST_WISHES = 2_000  # a workload with more is not recorded: it can be asked again, but not looked up by its id
_COUNT = Measured(Aggregate(AggregateKind.COUNT_ROWS))


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
            "tables": [[list(marginal.columns), marginal.weight, marginal.of] for marginal in workload.tables],
            "ranges": [[ranges.column, list(ranges.by), ranges.bins, ranges.weight] for ranges in workload.ranges],
            "column_names": [list(names) for names in workload.column_names],
            "measure_names": [list(names) for names in workload.measure_names],
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


def released_table(mechanism: InteractiveMechanism, release_id: str, index: int | None) -> Answer:
    """One table of a release; `index` says which, if there are several."""
    record = release_of(mechanism, release_id)
    if _kind(record) == "questions":
        return _read(mechanism, record, index)
    tables = list(released_tables(mechanism, record))
    if index is None and len(tables) == 1:
        return tables[0]
    if type(index) is not int or not 0 <= index < len(tables):
        raise InvalidParameter(
            "place",
            index,
            f"is not the place of a table: there are {len(tables)}",
            hint=f"from 0 to {len(tables) - 1}",
        )
    return tables[index]


def released_tables(mechanism: InteractiveMechanism, record: ReleaseRecord) -> Iterator[Answer]:
    """All tables of a release, in order. A release without tables, or without a record, is refused with the reason.

    Guarantee: each is read by the very measurement that was charged; what the record leads to is compared with the
    charge, and refused where it differs. This is post-processing, and free.
    """
    match _kind(record):
        case "questions":
            for index in range(len(record.record["questions"])):
                yield _read(mechanism, record, index)
        case "workload":
            yield from _workload(mechanism, record)
        case "counter":
            yield _counter(mechanism, record)


def _read(mechanism: InteractiveMechanism, record: ReleaseRecord, index: int | None) -> Answer:
    """The table of a question; the table of a profile shows the ranges of its bins."""
    answer = paid_release(mechanism, record.id, index).read()
    profile_settings = dict(record.request.get("profile") or {}) if isinstance(record.request, dict) else {}
    if profile_settings.pop("format", None) != PROFILE_FORMAT:
        return answer
    return ProfileRequest.of(mechanism, **profile_settings).table(answer, index or 0)


def _kind(record: ReleaseRecord) -> str:
    """The kind of a release, by its record: "questions", "workload" or "counter"; others are refused."""
    content, request = record.record, record.request
    if isinstance(request, dict) and "run" in request:
        raise Unprovable(
            f"the release {record.id!r} comes from a run, and holds no table: {record.description}",
            hint="save the model or the synthetic table that the run returned: to_json, to_parquet",
        )
    if isinstance(content, dict) and content.get("format") == FORMAT:
        for kind in ("questions", "workload", "counter"):
            if kind in content:
                return kind
    reason = "was charged without its question" if content is None else "was made by a later version"
    if isinstance(request, dict) and "workload" in request:
        reason = "is of a workload that is too large to be stored"
    raise Unprovable(f"the release {record.id!r} {reason}", hint=_AGAIN)


def _workload(mechanism: InteractiveMechanism, record: ReleaseRecord) -> WorkloadAnswer:
    from giveortake.session.workloads import WorkloadQuery  # noqa: PLC0415 (few releases are workloads)
    from giveortake.workload.workload import Marginal, Ranges, Workload  # noqa: PLC0415 (as above)

    mechanism = _as_it_was(mechanism, record)
    content, workload_document = record.record, record.record["workload"]
    workload = Workload(
        tuple(Marginal(tuple(columns), weight, measure) for columns, weight, measure in workload_document["tables"]),
        tuple(Ranges(column, tuple(by), bins, weight) for column, by, bins, weight in workload_document["ranges"]),
        tuple((one, other) for one, other in workload_document["column_names"]),
        tuple((one, other) for one, other in workload_document["measure_names"]),
    )
    try:
        relation = question_from_json(json.loads(content["plan"]), mechanism.origin).relation
    except QueryRefused as refusal:
        raise _unlike(record, f": {refusal.message}") from None
    query = WorkloadQuery(mechanism, workload, relation, workload_document["minimise"], workload_document["norm"])
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
    steps = mechanism.ledger.kept(reservation)
    if not steps:
        raise _unanswered(record)
    return counter.table(steps, range(len(steps)), reservation)


def _opened_counter(mechanism: InteractiveMechanism, content: dict[str, Any]) -> Counter:
    from giveortake.session.counters import Counter, CounterRequest  # noqa: PLC0415 (few releases are counters)

    counter_document, spend = content["counter"], _spend(content)
    relation = mechanism.origin.relations.get(counter_document["table"])
    if relation is None:
        raise NotFound(f"there is no table {counter_document['table']!r} here", hint="open the session that has it")
    terms = replace(Terms.of({}), caps=Caps.of(**content["caps"]), confidence=_confidence(content))
    request = CounterRequest.of(mechanism, relation, counter_document["column"], counter_document["horizon"], terms)
    return Counter(mechanism, request, spend, terms)


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
