"""Steps: the draws of one charge, in order. They are the only way from a charge to rows.

A charge buys a measurement, and the measurement draws: once, or again and again. Each draw is a *step*. It is admitted
by what was charged, drawn so that no error and no traceback reveals rows, counted if it fails, and stored before
anybody sees it. A step that is stored is replayed and never drawn again.

Between two calls of an interactive request, such as a counter, no lock is held and no secret is in memory: steps are
opened for each call, and what the next step needs of an earlier one is stored under a pad (`Steps.pad`).
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, final

from giveortake import codec
from giveortake.engines.runtime import as_one_question, failure
from giveortake.errors import (
    BudgetExceeded,
    LedgerError,
    LedgerMismatch,
    MechanismSpent,
    QueryFailed,
    QueryRefused,
    Unavailable,
    line_of,
)
from giveortake.privacy import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from giveortake.ledger import Charge, Reservation
    from giveortake.mechanisms import Sensitive
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism

Json = Any
_Drawn = TypeVar("_Drawn")


def sealed(draw: Callable[[], _Drawn]) -> _Drawn:
    """Return what `draw` returns; let no error reveal rows.

    Any failure is raised as an error of our own, without its cause: other errors, and the variables in a traceback,
    may hold keys and exact counts. What neither a limit of the engine nor the ledger explains is a defect: one row may
    decide it. An interruption is raised without its traceback.
    """
    failed: BaseException
    try:
        return draw()
    except (QueryFailed, LedgerError) as error:
        failed = error
    except MemoryError as error:
        failed = failure("memory", type(error))
    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
        failed = error
    except BaseException as error:  # noqa: BLE001 (raised below, without its traceback; libraries panic by such errors)
        failed = failure("defect", type(error), line_of(error))
    failed.__context__ = None
    raise failed.with_traceback(None) from None


def sealed_question(draw: Callable[[], _Drawn]) -> _Drawn:
    """Call `draw` as `sealed` does, within the time limit of one question."""
    return sealed(lambda: as_one_question(draw))


class InnerFilter(Protocol):
    """What admits the steps of one charge, so that together they cost no more than was charged: an inner filter."""

    def copy(self) -> Self:
        """A copy, on which a step can be tried."""

    def charge(self, event: Event) -> None:
        """Admit a step, or refuse it."""


@final
class DeclaredSteps:
    """Admits the declared number of equal steps, and nothing else."""

    def __init__(self, declared: events.Repeated, done: int = 0) -> None:
        self._declared, self._done = declared, done

    def copy(self) -> DeclaredSteps:
        """A copy, on which a step can be tried."""
        return DeclaredSteps(self._declared, self._done)

    def charge(self, event: Event) -> None:
        """Count a step, or refuse it."""
        if event != self._declared.event or self._done >= self._declared.times:
            raise BudgetExceeded("this step was not declared", cost=event, remaining=self._declared.times - self._done)
        self._done += 1


def event_of(step: Json) -> Event | None:
    """The event that a stored step was admitted as; None for what an earlier one has paid for."""
    return None if step["event"] is None else codec.read(events.Event, step["event"], what="step")


def steps_in(answer: Json) -> list[Json]:
    """The steps in a stored answer; none if it was drawn at once."""
    return list(answer["steps"]) if isinstance(answer, dict) and "steps" in answer else []


@final
class Steps:
    """The steps of a charge: those that are stored, and a way to draw the next.

    Draws are made one at a time. If one fails or is interrupted, this object draws nothing more: it may not know what
    was stored. Ask for the same again to go on from what the ledger has.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism,
        reservation: Reservation,
        stored: list[Json],
        inner_filter: InnerFilter | None = None,
        *,
        interactive: bool = False,
    ) -> None:
        self.reservation, self.stored, self.inner_filter = reservation, stored, inner_filter
        self._mechanism, self._interactive = mechanism, interactive
        self._one_at_a_time = threading.Lock()
        self._is_over = False
        for step in stored if inner_filter is not None else ():
            event = event_of(step)
            if event is not None:
                inner_filter.charge(event)  # type: ignore[union-attr]  # (there are steps to admit)

    def admitted_by(self, inner_filter: InnerFilter | None) -> Steps:
        """The same stored steps, as this inner filter has admitted them; nothing more is drawn."""
        steps = Steps(self._mechanism, self.reservation, self.stored, inner_filter)
        steps.close()
        return steps

    @property
    def is_settled(self) -> bool:
        """Whether there is a final answer; then nothing more is drawn."""
        return self.reservation.settled

    @property
    def is_over(self) -> bool:
        """Whether nothing more is drawn here."""
        return self._is_over or self.is_settled

    def draw(self, event: Event | None, fields: dict[str, Json], draw: Callable[[], dict[str, Json]]) -> Json:
        """Admit an event, draw, and store the step: `fields`, which no row decides, and what was drawn."""
        with self._one_at_a_time:
            if self.is_over:
                raise MechanismSpent("this run has ended or was interrupted", hint="ask again: what was drawn is kept")
            if self.inner_filter is not None:
                fields = {"event": None if event is None else codec.write(event), **fields}
                if event is not None:
                    self.inner_filter.copy().charge(event)
            index, ledger = len(self.stored), self._mechanism.ledger
            self._stop_if_asked()
            ledger.require_failures_left(self.reservation)
            begun = self._begin(index)
            self._is_over = True  # until the step is stored
            try:
                step = sealed_question(lambda: ledger.keep(self.reservation, index, fields | draw()))
            except QueryFailed as failed:
                ledger.fail(self.reservation, defect=failed.cause == "defect")
                raise
            if begun is not None:
                self._mechanism.spool.forget(begun)
            if event is not None and self.inner_filter is not None:
                self.inner_filter.charge(event)
            self.stored.append(step)
            self._is_over = False
            self._mechanism.supervision.step_stored()
            return step

    def _stop_if_asked(self) -> None:
        """Stop between two steps of a run if this process is to end: that is no failure, because no row decides it."""
        mechanism = self._mechanism
        if self.inner_filter is None or self._interactive or not mechanism.supervision.is_stopping.is_set():
            return
        self._is_over = True
        mechanism.spool.first(_paused(self.reservation), list)
        raise Unavailable("the service is stopping", hint="ask again with the same key: what was drawn is kept")

    def _begin(self, index: int) -> str | None:
        """Count each execution of an interactive step but the first. Others are counted when steps are opened."""
        if not self._interactive:
            return None
        mechanism, begun = self._mechanism, f"{self.reservation.reference}-{index}.begun"
        if mechanism.spool.has(begun):
            mechanism.ledger.wait_for_beat()  # when this step was ended is not told by when it is begun again
            mechanism.ledger.begin_again(self.reservation)
        mechanism.spool.first(begun, lambda: [index])
        return begun

    def settle(self, draw: Callable[[], Json]) -> Json:
        """The final answer: the one that is stored, or else what `draw` returns, once it is stored.

        If another process has stored its answer first, then that is the answer.
        """
        if self.is_settled:
            return self.reservation.answer
        if self._is_over:
            raise MechanismSpent("this run has ended or was interrupted", hint="ask again: what was drawn is kept")
        ledger = self._mechanism.ledger
        try:
            answer = sealed(lambda: ledger.settle(self.reservation, draw()))
        except QueryFailed as failed:
            ledger.fail(self.reservation, defect=failed.cause == "defect")
            raise
        if not self.reservation.fresh:  # somebody else has begun, and may have been killed
            with suppress(OSError):
                self._mechanism.spool.clear(self.reservation.id, answer)
        return answer

    def pad(self, index: int) -> Sensitive[int]:
        """The secret number under which what is drawn at a step can be stored for the steps after it."""
        return self._mechanism.ledger.pad(self.reservation, index)

    def close(self) -> None:
        """Nothing more is drawn here."""
        self._is_over = True


@contextmanager
def steps_of(
    mechanism: InteractiveMechanism,
    charge: Charge,
    reserve: Callable[[], Reservation],
    *,
    inner_filter: InnerFilter | None = None,
    interactive: bool = False,
    any_version: bool = False,
) -> Iterator[Steps]:
    """Charge, and give the steps: none yet, those of a run that was interrupted, or all of what has an answer.

    Who asks for the same at the same moment waits, and gets the same steps. What was charged for one version of a table
    is drawn from that version alone; with `any_version`, whoever draws decides that.

    Guarantee: a failure that is raised by a draw, and every execution but the first, is counted in the ledger before
    anybody can notice it. Who ends this process in the middle counts that (`ledger.fail_key`) before telling it.
    """
    name = f"{mechanism.ledger.id} {charge.identity}"
    with _once_in_a_thread(name), mechanism.ledger.turn(charge, interactive=interactive):
        reservation = reserve()
        stored: list[Json] = []
        if reservation.settled:
            stored = steps_in(reservation.answer)
        elif not reservation.fresh:
            stored = mechanism.ledger.kept(reservation)
        if not reservation.settled:
            if not any_version:
                _require_version(mechanism, reservation)
            if mechanism.spool.has(_paused(reservation)):
                mechanism.spool.forget(_paused(reservation))
            elif not reservation.fresh and not interactive:
                mechanism.ledger.begin_again(reservation)
        steps = Steps(mechanism, reservation, stored, inner_filter, interactive=interactive)
        try:
            yield steps
        finally:
            steps.close()


def stored_steps(mechanism: InteractiveMechanism, release_id: str, inner_filter: InnerFilter | None = None) -> Steps:
    """The steps of a release as they are stored. Nothing is charged, and nothing more is drawn with them."""
    reservation = mechanism.ledger.release(release_id, analyst=mechanism.analyst)
    stored = steps_in(reservation.answer) if reservation.settled else mechanism.ledger.kept(reservation)
    return Steps(mechanism, reservation, stored).admitted_by(inner_filter)


def _paused(reservation: Reservation) -> str:
    """The name of the file that says that a run was stopped between two steps."""
    return f"{reservation.reference}.paused"


def _require_version(mechanism: InteractiveMechanism, reservation: Reservation) -> None:
    """Refuse to execute a charge on another version of the table than it was made for."""
    if reservation.version != mechanism.version:
        raise LedgerMismatch(
            f"this key was charged for version {reservation.version!r} of {mechanism.dataset!r}, which is at "
            f"{mechanism.version!r} now, and there is no answer; the charge stands",
            hint="ask again with a new key: that is a new charge",
        )


_open: set[tuple[str, int]] = set()  # names of charges and threads: a thread must not wait for itself


@contextmanager
def _once_in_a_thread(name: str) -> Iterator[None]:
    """Refuse what the same thread has open already: it would wait for itself for ever."""
    opened = (name, threading.get_ident())
    if opened in _open:
        raise QueryRefused("this run is already open in this thread", hint="go on with it, or close it first")
    _open.add(opened)
    try:
        yield
    finally:
        _open.discard(opened)
