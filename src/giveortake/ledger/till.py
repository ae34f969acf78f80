"""Spending budgets: what is affordable, what is charged before the data is touched, and what is answered."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from giveortake.errors import ApprovalRequired, InvalidParameter
from giveortake.ledger import draws, outlooks, reservations
from giveortake.ledger.entries import canonical, digest, plain
from giveortake.ledger.office import Office
from giveortake.ledger.reservations import Reservation, Waiting
from giveortake.ledger.standings import Standing, meant, standing_of
from giveortake.ledger.trials import Trial, trial_of
from giveortake.mechanisms.mechanism import Sensitive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from fractions import Fraction

    from giveortake.ledger.paces import Pace
    from giveortake.privacy.events import Event


class Till(Office):
    """The charging calls of a ledger: they charge every level, durably, and keep one answer for each charge."""

    pace: Pace | None = None  # on which answers, draws and failures are written, if their times must not depend on rows

    def affordable(self, level: Standing) -> Fraction | None:
        """The greatest ε, up to rounding, of a pure release that a level would admit now; None if it has no cap."""
        with self.chain.looking() as draft:
            return outlooks.affordable(draft, meant(draft.book, level))

    def trial(self, level: Standing, *, dataset: str, analyst: str | None = None) -> Trial | None:
        """A copy of a level's filter, on which charges to a data set can be tried; None if the level has no cap."""
        with self.chain.looking() as draft:
            return trial_of(draft, meant(draft.book, level), draft.book.dataset_for(dataset, analyst))

    def admits(self, event: Event, *, dataset: str, analyst: str | None = None) -> bool:
        """Whether every level would admit an event now; nothing is charged, and the next charge may change it."""
        with self.chain.looking() as draft:
            return outlooks.admits(draft, event, dataset=dataset, analyst=analyst)

    def deciding(self, dataset: str, *, analyst: str | None = None) -> Standing:
        """The level that decides about the next question, as it is now: an analyst's own, else the population's."""
        with self.chain.looking() as draft:
            return standing_of(draft, outlooks.deciding(draft, dataset, analyst))

    def rest(self, dataset: str, *, analyst: str | None = None) -> tuple[Standing, Fraction | None]:
        """The level that decides about the next question, and what is affordable there."""
        with self.chain.looking() as draft:
            level = outlooks.deciding(draft, dataset, analyst)
            return standing_of(draft, level), outlooks.affordable(draft, level)

    def outlook(
        self,
        event: Event,
        *,
        dataset: str,
        version: str,
        analyst: str | None = None,
        request: object = None,
        question: str | None = None,
    ) -> outlooks.Outlook:
        """All that a quote needs: the level that decides, whether every level admits an event, and paid profiles.

        With `question`, also whether the asker paid for exactly that before; with `request`, whether it is approved.
        """
        with self.chain.looking() as draft:
            where: Any = {"dataset": dataset, "version": version, "analyst": analyst}
            return outlooks.outlook(draft, event, request=request, question=question, **where)

    def reserve(
        self,
        event: Event,
        *,
        dataset: str,
        analyst: str | None = None,
        key: str | None = None,
        request: object = None,
        question: str | None = None,
        version: str | None = None,
        asked: str | None = None,
        record: object = None,
    ) -> Reservation:
        """Charge an event to every level, durably, before the data is touched. Nothing refunds it.

        `key` is the analyst's idempotency key: the same key and request find the same reservation, and its answer.
        `question` names what is asked, bounds included: a stored answer to it is free for levels that have paid, and
        an analyst who asks it again before it is answered finds the reservation that is there. Reserve inside
        `ledger.turn`, so that only one of those who ask the same at the same moment goes on to answer it. `asked` says
        it in words, for whoever reads the ledger, and `record` exactly, so that the release can be read again by its
        id; they decide nothing.
        """
        with self.chain.changing() as draft:
            found = reservations.reserve(
                draft,
                event,
                dataset=dataset,
                analyst=analyst,
                key=key,
                request=request,
                question=question,
                version=version,
                said=asked,
                record=record,
            )
        if self.pace is not None:
            self.pace.begin()
        if isinstance(found, Waiting):
            raise ApprovalRequired(
                f"this spend is large for {found.level!r} and waits for approval (request {found.request})",
                request=found.request,
                hint=f"once the custodian approves request {found.request}, ask the same question again",
            )
        return found

    def knows(
        self,
        event: Event,
        *,
        dataset: str,
        analyst: str | None = None,
        key: str | None = None,
        request: object = None,
        question: str | None = None,
    ) -> bool:
        """Whether `reserve` would find an earlier reservation, by key and request or by question. It only looks."""
        with self.chain.looking() as draft:
            return reservations.knows(
                draft, event, dataset=dataset, analyst=analyst, key=key, request=request, question=question
            )

    def is_paid(self, event: Event, *, dataset: str, analyst: str | None = None, question: str) -> bool:
        """Whether `reserve` would find this question at no cost: its asker paid for it before. It only looks."""
        with self.chain.looking() as draft:
            return reservations.is_paid(draft, event, dataset=dataset, analyst=analyst, question=question)

    def settle(self, reservation: Reservation | int, answer: object) -> Any:
        """Keep an answer unless there is one, and return the one that is kept: nothing else may be released."""
        number = _number(reservation)
        self.wait_for_beat()
        with self.chain.changing() as draft:
            return reservations.settle(draft, number, answer)

    def keep(self, reservation: Reservation | int, place: int, drawn: object) -> Any:
        """Store the next of several draws for a reservation, durably; any other place is refused.

        Call it before the draw is used: a run that is resumed gets the same draw again.
        """
        number = _number(reservation)
        self.wait_for_beat()
        with self.chain.changing() as draft:
            return draws.keep(draft, number, place, drawn)

    def kept(self, reservation: Reservation | int) -> list[Any]:
        """The stored draws of a reservation, in order."""
        number = _number(reservation)
        with self.chain.looking() as draft:
            return draws.kept(draft, number)

    def pad(self, reservation: Reservation, place: int) -> Sensitive[int]:
        """A secret 256-bit number for one draw: the sum of both can be stored, and reveals nothing of the draw.

        It follows from the secret beside the mark. Whoever has both the ledger and that secret can subtract it again.
        """
        with self.chain.changing() as draft:
            return Sensitive(int.from_bytes(draft.pad(f"{reservation.id} {place}"), "big"))

    @contextmanager
    def turn(
        self, question: str, *, dataset: str, analyst: str | None = None, event: Event | None = None
    ) -> Iterator[None]:
        """Wait until nobody else, in any thread or process, is about to answer this analyst's same question.

        Whoever reserves inside and finds a reservation that is neither fresh nor settled knows that its executor is
        gone: it failed or crashed. The turn ends with its process, however that ends. With a pace, whoever had to wait,
        or finds that another has charged `event` for it and is gone, goes on at a beat of their own: the time of this
        charge does not reveal when the other's process ended.
        """
        name, begun = digest(canonical([analyst, dataset, plain("question", question)])), time.monotonic()
        with self.chain.mark.turn(name) as waited:
            if self.pace is not None and (waited or self._was_begun(event, question, dataset, analyst)):
                self.pace.wait(begun)
            yield

    def _was_begun(self, event: Event | None, question: str, dataset: str, analyst: str | None) -> bool:
        if event is None:
            return False
        with self.chain.looking() as draft:
            return reservations.is_unsettled(draft, event, dataset=dataset, analyst=analyst, question=question)

    def wait_for_beat(self) -> None:
        """With a pace, wait for the next beat after the last charge: the time of what follows reveals nothing."""
        if self.pace is not None:
            self.pace.wait()

    def begin_again(self, reservation: Reservation | int) -> None:
        """Record that a reservation which is neither fresh nor settled is going to be executed once more.

        Call it before the data is touched again. It counts against the analyst's allowance of failures, because how
        often a question had to be executed may tell something about rows; AllowanceExceeded if that is used up.
        """
        number = _number(reservation)
        with self.chain.changing() as draft:
            reservations.begin_again(draft, number)

    def require_failures_left(self, reservation: Reservation | int) -> None:
        """Call this before each of several draws: AllowanceExceeded if the asker's failures are used up."""
        number = _number(reservation)
        with self.chain.looking() as draft:
            reservations.require_failures_left(draft, number)

    def fail(self, reservation: Reservation | int, *, defect: bool = False) -> None:
        """Record that the executor ran out of memory, time or disk on a reservation, before the asker is told.

        Call it when such a failure is about to be raised to the asker, and raise only after it has returned: it is
        durable then. A crash needs no call. It counts against the allowance of whoever asked, and a `defect`, an error
        that no limit explains, uses all of it up: one row may decide it, and it would tell one person after the other.
        """
        number = _number(reservation)
        self.wait_for_beat()
        with self.chain.changing() as draft:
            reservations.fail(draft, number, defect=defect)

    def fail_key(
        self, key: str, *, analyst: str | None = None, since: datetime | None = None, defect: bool = False
    ) -> None:
        """Record a failure, by idempotency key, for an executor that ended before it could call `fail`.

        Call it once the executor is gone, and before its asker is told. Nothing is counted if nothing was charged under
        the key, or if its answer was there before the executor was asked, `since` then. An answer that it stored in its
        last moment was not told; that it failed is.
        """
        with self.chain.changing() as draft:
            known = reservations.of_key(draft, analyst, key)
            if known is not None:
                reservations.fail(draft, known[0], since=since, defect=defect)


def _number(reservation: Reservation | int) -> int:
    number = reservation.number if isinstance(reservation, Reservation) else reservation
    if type(number) is not int:  # True and 4.0 would find the entries 1 and 4
        raise InvalidParameter("reservation", number, "is neither a reservation nor the number of one")
    return number
