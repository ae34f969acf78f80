"""Read releases that were paid for: compute answers from stored noisy integers. This is post-processing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack, final

from giveortake.advice import Advice
from giveortake.answers.terms import CAP_TERMS
from giveortake.caching import serving
from giveortake.compile import Terms
from giveortake.compile.postprocessing import Circumstances, answer_of
from giveortake.errors import InvalidParameter, LedgerMismatch, Unprovable
from giveortake.session import stored_answers
from giveortake.session.best_caps import left_out_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.answers import Answer
    from giveortake.answers.terms import Confidence, SpendTerms
    from giveortake.compile import Release
    from giveortake.engines import Keys
    from giveortake.ledger import Reservation
    from giveortake.privacy import Guarantee
    from giveortake.session.mechanism import InteractiveMechanism, Priced


@final
@dataclass(frozen=True, slots=True, eq=False)
class PaidRelease:
    """The last paid release of a question, and the earlier ones that it refines.

    `portion` is its place in a stream, if it is part of one; `place` is the place of the question in the batch of the
    first release.
    """

    mechanism: InteractiveMechanism
    asked: Priced
    keys: Keys
    last: Release
    reservation: Reservation
    confidence: Confidence
    portion: int | None = None
    earlier: tuple[Release, ...] = ()
    refines: tuple[str, ...] = ()
    promised: tuple[Guarantee, ...] = ()  # by the earlier releases
    looked_up: bool = False  # by its id, instead of by asking the question again
    place: int = 0
    twins: int = 0  # how many questions of the same name stand before that one

    def refining(self, before: PaidRelease) -> PaidRelease:
        """This release as a refinement of `before`."""
        return replace(
            self,
            earlier=(*before.earlier, before.last),
            refines=(*before.refines, before.reservation.reference),
            promised=(*before.promised, before.asked.made.promise(before.mechanism.budget.unit)),
            place=before.place,
            twins=before.twins,
        )

    def read(self, limit: int | None = None) -> Answer:
        """The answer that combines all releases."""
        mechanism, made = self.mechanism, self.asked.made
        if self.looked_up:
            mechanism = replace(mechanism, version=self.reservation.version, as_of=self.reservation.number)
        is_told = not self.looked_up and not self.reservation.charged
        free = self.reservation.paid_before(mechanism.version) if is_told else None
        part = None if mechanism.part is None else mechanism.part.left_out
        around = Circumstances(
            unit=mechanism.budget.unit,
            confidence=self.confidence,
            release_id=self.reservation.id,
            promised=self.promised,
            left_out=left_out_of(mechanism, self.asked.question, made, self.confidence),
            before=tuple(note for note in (free, self.asked.why) if note is not None),
            after=() if part is None else (part,),
        )
        return answer_of(made, self.keys, (*self.earlier, self.last), around, limit=limit, refine=self.refine)

    def refine(self, *, key: str | None = None, **terms: Unpack[SpendTerms]) -> Answer:
        """Ask the question again at a further price, and combine all answers; found keys are public now."""
        if not all(measure.averages for measure in self.asked.made.measures):
            raise Unprovable(
                "quantiles cannot be refined: their answers cannot be averaged",
                hint="ask the question again at a higher price",
            )
        said = Terms.of(terms, confidence=self.confidence, without=("margin", "share", "key_delta", "n", *CAP_TERMS))
        if said.spend is None:
            raise InvalidParameter("epsilon", None, "is missing", hint=Advice("{refine}"))
        if self.reservation.version != self.mechanism.version:
            raise LedgerMismatch(
                f"the release is about version {self.reservation.version!r} of the data, which has changed since",
                hint="ask the question again",
            )
        with serving(self.mechanism.cache):
            again = self.mechanism.price_again(self.asked, said.spend, self.keys)
            refines = (*self.refines, self.reservation.reference)
            reservation, (part,) = self.mechanism.reserve_and_draw(
                [again], key, said.confidence, refines, self.portion, refined=self.place, twins=self.twins
            )
            keys, release = stored_answers.whole(self.mechanism.spool, again, part)
            new = PaidRelease(self.mechanism, again, keys, release, reservation, said.confidence, self.portion)
            return new.refining(self).read()


def twins_before(asked: Sequence[Priced], place: int) -> int:
    """How many questions before one of a batch have its name: they differ only in what is made of the same numbers."""
    if place == 0:
        return 0
    name = asked[place].made.named()
    return sum(each.made.named() == name for each in asked[:place])
