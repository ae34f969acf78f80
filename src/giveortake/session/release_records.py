"""Releases by their ids: what the ledger keeps of a question, and how its answer is read again from that.

A record holds what an analyst wrote: the text or the plan of each question, constants included, what was spent on it
and the caps. It holds nothing that any row decides. The custodian, who owns the ledger, can read it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.advice import Advice
from giveortake.answers.terms import Confidence
from giveortake.compile import Caps, Spend
from giveortake.errors import GiveOrTakeError, InvalidParameter, LedgerMismatch, NotFound, QueryRefused, Unprovable
from giveortake.plan.codec import question_from_json
from giveortake.plan.expressions import Literal
from giveortake.session import stored_answers
from giveortake.session.paid_releases import PaidRelease, twins_before
from giveortake.session.partitions import parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.engines import Keys
    from giveortake.ledger import ReleaseRecord
    from giveortake.plan import Question
    from giveortake.session.mechanism import InteractiveMechanism, Priced
    from giveortake.session.partitions import Part

FORMAT = 1
_AGAIN = "ask it again: what was paid for is free"


# -- writing ----------------------------------------------------------------------------------------------------------


def record_of(
    mechanism: InteractiveMechanism, asked: Sequence[Priced], confidence: Confidence, refined: int | None = None
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
        "questions": [_question(mechanism, each) for each in asked],
    }


def _question(mechanism: InteractiveMechanism, asked: Priced) -> dict[str, Any]:
    return {
        **({} if asked.text is None else {"sql": asked.text}),
        **asked.made.record(asked.question, mechanism.origin),
        **({} if asked.why is None else {"why": asked.why}),
    }


# -- reading ----------------------------------------------------------------------------------------------------------


def paid_release(mechanism: InteractiveMechanism, release_id: str, place: int | None) -> PaidRelease:
    """The paid release with an id, to be read or refined; `place` says which question of a batch.

    Guarantee: it is read by the very measurement that was charged. What the record leads to is compared with what names
    the charge and with the event that was charged, and refused where they differ, so that noisy integers are never read
    by other bounds than those they were drawn by. This is post-processing, and free.
    """
    record = release_of(mechanism, release_id)
    return _Reading(mechanism, record).paid(_place(record, place))


def release_of(mechanism: InteractiveMechanism, release_id: str) -> ReleaseRecord:
    """The ledger's record of a release of these tables. A release of other tables is refused as unknown."""
    record = mechanism.ledger.release_record(release_id, analyst=mechanism.analyst)
    if record.dataset != mechanism.dataset:
        raise NotFound(f"there is no release {release_id!r}", hint=Advice("{releases} lists them"))
    return record


def _place(record: ReleaseRecord, place: int | None) -> int:
    count = len(_content(record)["questions"])
    if place is None and count == 1:
        return 0
    if type(place) is not int or not 0 <= place < count:
        raise InvalidParameter(
            "place",
            place,
            f"is not the place of a question: there are {count}",
            hint=f"from 0 to {count - 1}",
        )
    return place


def _content(record: ReleaseRecord) -> dict[str, Any]:
    found = record.record
    if not isinstance(found, dict) or found.get("format") != FORMAT or "questions" not in found:
        raise Unprovable(
            f"the release {record.id!r} did not come from a question, and cannot be refined",
            hint="ask the question again at a higher price",
        )
    return found


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

    def paid(self, place: int) -> PaidRelease:
        """The release of the question at a place, with all releases that it refines."""
        request, mechanism = self._record.request, self._mechanism
        refines, portion = tuple(request["refines"]), request.get("portion")
        found: PaidRelease | None = None
        for reference in refines:
            earlier = _Reading(mechanism, self._referred(reference))
            found = earlier.after(found, self._refined() if found is None else 0, portion)
        return self.after(found, place, portion)

    def _refined(self) -> int:
        """Which question of the first release is refined."""
        if "refined" not in self._content:
            raise Unprovable(f"the release {self._record.id!r} does not say what it refines", hint=_AGAIN)
        return int(self._content["refined"])

    def after(self, earlier: PaidRelease | None, place: int, portion: int | None) -> PaidRelease:
        """The release at a place, as a refinement of `earlier` if that is given."""
        mechanism, record = self._mechanism, self._record
        asked = self._priced(earlier)
        self._require_same(asked)
        reservation = mechanism.ledger.release(record.id, analyst=mechanism.analyst)
        if not reservation.settled:
            raise NotFound(
                f"the release {record.id!r} was charged, but has no answer yet",
                hint="ask the question again, with the same key if it had one: it is not charged again",
            )
        stored = stored_answers.stored_of(reservation.answer, len(asked))[place]
        lines = stored_answers.some_at_a_time(mechanism.spool, asked[place], stored)
        keys, release = (
            stored_answers.whole(mechanism.spool, asked[place], stored)
            if portion is None or earlier is not None
            else next(each for number, each in enumerate(lines) if number == portion)
        )
        over, sure = self._content["confidence"][1], self._content["confidence"][0]
        sure_of = Confidence(sure, over)
        paid = PaidRelease(
            mechanism,
            asked[place],
            keys,
            release,
            reservation,
            sure_of,
            portion,
            looked_up=True,
            place=place,
            twins=twins_before(asked, place),
        )
        return paid if earlier is None else paid.refining(earlier)

    def _priced(self, earlier: PaidRelease | None) -> list[Priced]:
        """The priced questions, rebuilt from the record."""
        found = []
        for said in self._content["questions"]:
            question = self._question(json.loads(said["plan"]))
            spend = Spend(**{name: Fraction(amount) for name, amount in said["spend"].items()})
            again = self._again(question, said, spend, None if earlier is None else earlier.keys, earlier)
            found.append(replace(again, text=said.get("sql"), why=said.get("why")))
        return found

    def _again(
        self, question: Question, said: dict[str, Any], spend: Spend, keys: Keys | None, earlier: PaidRelease | None
    ) -> Priced:
        if earlier is not None and keys is not None:
            return self._mechanism.price_again(replace(earlier.asked, question=question), spend, keys)
        return self._mechanism.price_without_engine(question, Caps.of(**said["caps"]), spend)

    def _question(self, plan: Any) -> Question:
        try:
            return question_from_json(plan, self._mechanism.origin)
        except QueryRefused as refusal:
            raise LedgerMismatch(
                f"the release {self._record.id!r} cannot be read with the tables at hand: {refusal.message}",
                hint="open the session with the tables that it was asked of",
            ) from None

    def _require_same(self, asked: list[Priced]) -> None:
        """Refuse to read a release if the rebuilt charge differs from the recorded one."""
        request = self._record.request
        try:
            charge = self._mechanism.charge(
                asked,
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
