"""Releases read again by their ids, from the ledger's records alone. This is post-processing, and free.

A record holds what an analyst wrote: the request, constants included, what was spent on it and the caps. It holds
nothing that any row decides. The custodian, who owns the ledger, can read it.

Guarantee: a release is read by the very measurement that was charged. What the record leads to is compared with what
names the charge and with the event that was charged, and refused where they differ, so that noisy integers are never
read by other bounds than those they were drawn by. Steps are replayed, and none is drawn.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from giveortake import codec
from giveortake.compile import Terms
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryRefused, Unprovable
from giveortake.plan import Value
from giveortake.session.kinds.queries import BoundQuestions
from giveortake.session.partitions import parts_of
from giveortake.session.refusals import unanswered
from giveortake.session.requests import Priced, Record, request_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.answers import Answer
    from giveortake.ledger import ReleaseRecord, Reservation
    from giveortake.session.kinds.queries import PaidRelease
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.requests import PartOfTables, Request
    from giveortake.session.steps import Steps

_AGAIN = "ask it again: what was paid for is free"


def release_of(mechanism: InteractiveMechanism, release_id: str) -> ReleaseRecord:
    """The ledger's record of a release of these tables. A release of other tables is refused as unknown."""
    record = mechanism.ledger.release_record(release_id, analyst=mechanism.analyst)
    if record.dataset != mechanism.dataset:
        raise NotFound(f"there is no release {release_id!r}", hint="s.releases() lists them")
    return record


def released(mechanism: InteractiveMechanism, release_id: str, index: int | None = None) -> Any:
    """What was released under an id, as it was; `index` picks one of several tables."""
    reading = mechanism.reading(release_id)
    return reading.read() if index is None else reading.table(index)


def released_tables(mechanism: InteractiveMechanism, release_id: str) -> Iterator[Answer]:
    """All tables of a release, in order. A release without tables, or without a record, is refused with the reason."""
    reading = mechanism.reading(release_id)
    for index in range(max(1, reading.bound.tables)):
        yield reading.table(index)


def paid_release(
    mechanism: InteractiveMechanism, release_id: str, index: int | None, portion: int | None = None
) -> PaidRelease:
    """The paid release of a question, to be refined; `index` says which question of a batch."""
    reading = mechanism.reading(release_id)
    bound = reading.bound
    if not isinstance(bound, BoundQuestions):
        raise Unprovable(
            f"the release {release_id!r} did not come from a question, and cannot be refined",
            hint="ask the question again at a higher price",
        )
    chosen = 0 if bound.refined is not None else reading.checked(index, "question")
    of_first = None if bound.refined is not None else portion
    paid = bound.whole(chosen, reading.priced, *reading.outcome, reading.terms, portion=of_first)
    return replace(paid, looked_up=True)


@final
class Reading:
    """One release, read by its record: by the request that it holds, or by another that is answered by it.

    Requests that differ in how their answers are ordered, named or cut have one measurement, and so one release.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism,
        release: ReleaseRecord,
        steps: Steps | None = None,
        request: Request | None = None,
    ) -> None:
        self.release, self._steps, self._request = release, steps, request
        record = Record.of(release.record)
        if record is None:
            raise _unread(release)
        if record.declared != mechanism.declared:
            raise LedgerMismatch(
                f"the release {release.id!r} was measured when other domains were declared",
                hint="ask the question again",
            )
        self._record = record
        self._mechanism = mechanism if record.part is None else in_part_of(mechanism, record.part)
        self.terms = replace(Terms.of({}), confidence=record.confidence)

    @cached_property
    def priced(self) -> Priced[Any]:
        """The measurement that was charged, made again from the record."""
        record, mechanism = self._record, self._mechanism
        try:
            request = self._request or request_of(codec.parsed(record.request, what="request"), mechanism.origin)
            bound = request.bind_paid(mechanism, self.terms, record.parts)
            priced = Priced(bound, bound.at(record.spend), record.why)
        except (InvalidParameter, QueryRefused) as refusal:
            raise _unlike(self.release, f": {refusal.message}") from None
        charge = priced.charge()
        if charge.name != self.release.request or charge.event != self.release.event:
            raise _unlike(self.release)
        return priced

    @property
    def bound(self) -> Any:
        """The request on the tables of the session, as it was paid for."""
        return self.priced.bound

    @cached_property
    def outcome(self) -> tuple[Any, Reservation]:
        """What the measurement returns on its stored steps, and their reservation; nothing is drawn."""
        priced = self.priced
        if self._steps is None:
            steps = self._mechanism.stored(priced, self.release.id)
        else:
            steps = self._steps.admitted_by(priced.bound.inner_filter(priced.measurement))
        if not steps.reservation.settled and not priced.bound.interactive:
            raise unanswered(self.release.id)
        return priced.bound.run(priced.measurement, steps), steps.reservation

    def read(self, terms: Terms | None = None) -> Any:
        """What was released, of whatever kind; with terms, as who has just asked for it is told."""
        outcome, reservation = self.outcome
        return self.bound.read(self.priced, outcome, reservation, terms or self.terms, looked_up=terms is None)

    def table(self, index: int | None) -> Answer:
        """The table at an index."""
        chosen = self.checked(index, "table") if self.bound.tables else 0
        table: Answer = self.bound.table(chosen, self.priced, *self.outcome, self.terms)
        return table

    def checked(self, index: int | None, noun: str) -> int:
        """The index of one of the tables; it may be left out if there is but one."""
        count = self.bound.tables
        if index is None and count == 1:
            return 0
        if type(index) is not int or not 0 <= index < count:
            raise InvalidParameter(
                "index", index, f"is not that of a {noun}: there are {count}", hint=f"from 0 to {count - 1}"
            )
        return index


def in_part_of(mechanism: InteractiveMechanism, part: PartOfTables) -> InteractiveMechanism:
    """The mechanism of the part that a record names: of the session's own part, or of one of the whole session."""
    own = mechanism.part
    if own is not None:
        if (own.column, codec.write(own.value, Value), own.touched) == _name_of(part):
            return mechanism
        raise NotFound("this session sees only a part of the data", hint="read the release from the whole session")
    parts = parts_of(mechanism, list(mechanism.origin.relations.values()), part.column, part.parts_per_person)
    wanted = codec.write(part.value, Value)
    return mechanism.in_part(next(known for known in parts if codec.write(known.value, Value) == wanted))


def _name_of(part: PartOfTables) -> tuple[str, Any, int]:
    return part.column, codec.write(part.value, Value), part.parts_per_person


def _unread(release: ReleaseRecord) -> Unprovable:
    """The reason why a release cannot be read."""
    reason = "was charged without its question" if release.record is None else "was made by a later version"
    if isinstance(release.request, dict) and "workload" in release.request:
        reason = "is of a workload that is too large to be stored"
    return Unprovable(f"the release {release.id!r} {reason}", hint=_AGAIN)


def _unlike(release: ReleaseRecord, why: str = "") -> LedgerMismatch:
    return LedgerMismatch(
        f"the release {release.id!r} was measured in another way than this session would{why}",
        hint="open the session as it was when it was asked, or ask the question again",
    )
