"""Reservations: the only way in which a budget is spent and an answer is stored.

Entries about a charge are written at moments that do not depend on rows (`Pace`). A run that chooses its next
measurement by the last one has no answer until it ends, and its draws may be known outside before; so every draw is an
entry of its own, stored before it is used, and a resumed run begins with them.

The allowance of failures limits what can be learnt by making questions fail, which no ε covers. Which of N questions
failed, when k of them may, takes one of Σ_{j ≤ k} C(N, j) values: up to log₂ of that many bits. Each step of a run or a
counter may fail by itself, and is one of the N; so is each execution of a question after its first. Each failure also
names one of six causes, up to log₂ 6 bits more. Analysts who collude add theirs up. A defect, an error of the program
that no limit explains, ends the allowance at once: one row may decide it, so that three of them would tell of three
people. It is a limit on a side channel, not a guarantee of differential privacy.
"""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any, final

from giveortake import codec
from giveortake.accounting.filters import filter as filter_of
from giveortake.errors import (
    AccessDenied,
    AllowanceExceeded,
    BudgetExceeded,
    IdempotencyConflict,
    InvalidParameter,
    LedgerMismatch,
    MechanismSpent,
    NotFound,
    PopulationClosed,
)
from giveortake.ledger import approvals
from giveortake.ledger.budgets import for_group
from giveortake.ledger.chain.entries import canonical, digest, measurement_digest, plain, request_digest
from giveortake.ledger.releases import minute, number_of
from giveortake.privacy.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from giveortake.accounting.filters import Filter
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.state import DataSet, Level, ReservationRecord, State


@final
class Pace:
    """A beat that starts with a charge; what becomes of the charge is written on it.

    Guarantee: an answer, a draw or a failure is written (k − ½)·t seconds after its charge, for a whole number k. So
    whoever reads the ledger meanwhile, its times and the order of its entries, learns k alone, which is one unless the
    question took longer than t/2. Whoever waits for the process that answers learns nothing else either, because it
    is not free before. One process answers one question at a time.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._start: float | None = None

    def begin(self) -> None:
        """Start the beat: something was charged just now."""
        self._start = time.monotonic()

    def wait(self, since: float | None = None) -> None:
        """Wait for the next beat after the last charge, or after `since`, a moment of the same clock."""
        now = time.monotonic()
        start = (now if self._start is None else self._start) if since is None else since
        time.sleep(max(0.0, beat(start, now, self.seconds) - now))


def beat(start: float, end: float, seconds: float) -> float:
    """The first moment half-way between two multiples of `seconds` after `start` that is not before `end`.

    >>> beat(10.0, 10.3, 2.0), beat(10.0, 11.5, 2.0), beat(10.0, 13.0, 2.0)
    (11.0, 13.0, 13.0)
    """
    turns = max(1, math.ceil((end - start) / seconds + 0.5))
    return start + (turns - 0.5) * seconds


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """How many failures one asker may observe and has observed, and what they can reveal.

    `allowed` counts those that were reset as well; `questions` is what may be asked at most if that is bounded, else
    what was asked so far. `steps` are those that runs and counters have taken, each of which might have failed. `bits`
    is what they can reveal once the allowance is used up, and `revealed` what the `failed` ones among all `executions`
    so far can have; both are rounded up to a tenth. `defects` are those that no limit explains.
    """

    level: int
    kind: str
    name: str
    failed: int
    left: int
    allowed: int
    questions: int
    bits: Fraction
    steps: int = 0
    defects: int = 0
    executions: int = 0
    revealed: Fraction = Fraction(0)


def allowance(level: Level) -> Allowance:
    """The allowance of an analyst's level, or of the custodian's own questions to a population."""
    questions = level.asked if level.questions is None else level.questions
    allowed = level.failures_ever
    executions = level.asked + level.steps + level.failed_ever  # of which some may be repetitions
    revealed_bits = bits_of(executions, level.failed_ever)
    return Allowance(
        *(level.number, level.kind, level.name, level.failed_ever, level.failures_left, allowed, questions),
        max(bits_of(questions + level.steps, allowed), revealed_bits),
        level.steps,
        level.defects,
        executions,
        revealed_bits,
    )


def revealed(allowances: Iterable[Allowance]) -> Fraction:
    """What all failures together can have revealed: k of all askers among the N executions of all askers, in bits."""
    listed = list(allowances)
    return bits_of(sum(allowance.executions for allowance in listed), sum(allowance.failed for allowance in listed))


def bits_of(questions: int, failures: int) -> Fraction:
    """log₂ Σ_{j ≤ k} C(N, j), rounded up to a tenth, in whole numbers alone.

    >>> bits_of(10**6, 3), bits_of(10, 0), bits_of(3, 7)
    (Fraction(573, 10), Fraction(0, 1), Fraction(3, 1))
    """
    outcomes = sum(comb(questions, failed) for failed in range(min(questions, failures) + 1))
    return Fraction((outcomes**10 - 1).bit_length(), 10)


_LONGEST_KEY = 500
ALIASES = 8  # further keys of one asker that are remembered for a release
_CLOCKS = timedelta(seconds=1)  # by which two clocks may differ


@final
@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that is durably in the ledger, and its answer if that is there too.

    `charged` names the levels that paid for it now; none did when every level had paid for a stored answer before.
    `fresh` says that this call wrote it, and not an earlier one with the same idempotency key or the same question. One
    that is neither fresh nor settled was begun before: `ledger.begin_again` comes before it is executed once more.
    `id` is its public name. It is random: a number would reveal how much others have asked. `paid_at` is when the asker
    was charged, if that was earlier, and `original` the release that was charged then, if it is another.
    """

    number: int
    dataset: str
    version: str
    charged: tuple[str, ...]
    fresh: bool
    settled: bool
    answer: Any = None
    id: str = ""
    paid_at: str = ""
    original: str = ""

    def paid_before(self, version: str) -> str | None:
        """A note that nothing was charged now, and when it was; None if it was charged now.

        `version` is that of the table now: a key that is remembered gives the same answer, also after the table has
        changed.
        """
        if self.charged:
            return None
        on = f" and paid for on {minute(self.paid_at)} UTC" if self.paid_at else ""
        about = f"; it is about version {self.version!r} of the table, which is at {version!r} now: a new key asks anew"
        return f"asked before at this price{on}: nothing was charged again{about if version != self.version else ''}"

    @property
    def reference(self) -> str:
        """Its name in files and in requests that refine it: its id.

        If it was read again for free, it is the name of the release that was paid for, so that refining either one
        refines the same, and is paid once.
        """
        return self.original or self.id


@final
@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A spend that the custodian has to approve first."""

    request: int
    level: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """What the ledger is asked to charge: the event, for whom and on which data set, and what names the measurement.

    `key` is the analyst's idempotency key: the same key and name find the same reservation, and its answer. `name` says
    what is measured, caps included, as JSON: a stored answer to it is free for levels that have paid, and an analyst
    who asks it again before it is answered finds the reservation that is there. What has no name is found by its key
    alone. `version` is that of the table that the asker knows. `description` says it in words, for whoever reads the
    ledger, and `record` exactly, so that the release can be read again by its id; they decide nothing.
    """

    event: Event
    dataset: str
    analyst: str | None = None
    key: str | None = None
    name: Any = None
    version: str | None = None
    description: str | None = None
    record: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            hint = 'charge what ran, such as events.Pure("0.1")'
            raise InvalidParameter("event", self.event, "is not an event", hint=hint)
        key: object = self.key
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY):
            raise InvalidParameter("key", self.key, f"is not a text of 1 to {_LONGEST_KEY} characters")
        for name in ("key", "name", "description", "record"):
            object.__setattr__(self, name, plain(name, getattr(self, name)))

    @property
    def identity(self) -> str:
        """A digest of who measures what of which data set, at whatever price and of whatever version."""
        return digest(canonical([self.analyst, self.dataset, self.name]))


def reserve(transaction: Transaction, charge: Charge) -> Reservation | PendingApproval:
    """Charge every level that has not paid yet, or none of them.

    Guarantee: the decision and the charge are one transaction that no other writer can enter. A level that refuses
    leaves all levels as they were. The same key and name give the reservation that is there, at no cost; so does the
    same measurement of the same analyst while it has no answer yet, so that one charge pays for one answer. A
    measurement that is paid and answered gives its reservation under any key, and at most a short entry remembers the
    key.
    """
    analyst, dataset, event = charge.analyst, charge.dataset, charge.event
    table = transaction.state.dataset_for(dataset, analyst)
    levels = levels_of(transaction.state, table, analyst)
    content = _content(charge, table)
    if charge.description is not None:
        content["description"] = charge.description
    if charge.record is not None:
        content["record"] = charge.record
    earlier = None if charge.key is None else of_key(transaction, analyst, charge.key)
    if earlier is not None:
        return _again(transaction, *earlier, content)
    if charge.version not in {None, table.version}:
        raise LedgerMismatch(
            f"{dataset!r} is at version {table.version!r} now, not {charge.version!r}", hint="ask again"
        )
    measurement = measurement_digest(content)
    release = transaction.state.release(analyst, dataset, measurement)
    if release is not None:
        content["answered_by"] = release.answer
        levels = [level for level in levels if level.number not in release.levels]
    elif charge.key is None:
        pending = transaction.state.unsettled(analyst, measurement)
        if pending is not None and {level.number for level in levels} <= set(
            transaction.state.reservation(pending).levels
        ):
            return _reservation(transaction, pending, analyst)
    large = _finding_large(_approving(transaction.state, table, levels), event, table)
    request = None if large is None else approvals.decide(transaction, content)
    if large is not None and request is not None:
        return PendingApproval(request, large.name)
    if release is not None and not levels:
        original = transaction.stored(release.answer).content["reservation"]
        repeated = _reservation(transaction, release.by.get(analyst, original), analyst)
        if charge.key is not None:
            _remember(transaction, repeated, content)
        return repeated
    if release is None:
        _require_allowance(transaction.state, table, levels, analyst)
    return _charge(transaction, levels, event, table, content)


def knows(transaction: Transaction, charge: Charge) -> bool:
    """Whether this was reserved before: under this key, or as this measurement."""
    analyst, table = charge.analyst, transaction.state.dataset_for(charge.dataset, charge.analyst)
    content = _content(charge, table)
    earlier = None if charge.key is None else of_key(transaction, analyst, charge.key)
    if earlier is not None:
        return earlier[1] == request_digest(content)
    measurement = measurement_digest(content)
    return (
        transaction.state.release(analyst, charge.dataset, measurement) is not None
        or transaction.state.unsettled(analyst, measurement) is not None
    )


def is_paid(transaction: Transaction, charge: Charge) -> bool:
    """Whether all levels of the asker paid for this measurement. What others paid for is not revealed."""
    if is_answered(transaction, charge):
        return True
    state, pending = transaction.state, unsettled(transaction, charge)
    levels = levels_of(state, state.dataset(charge.dataset), charge.analyst)
    return pending is not None and {level.number for level in levels} <= set(state.reservation(pending).levels)


def is_answered(transaction: Transaction, charge: Charge) -> bool:
    """Whether all levels of the asker paid for a stored answer to this measurement: it is free under any key."""
    table = transaction.state.dataset_for(charge.dataset, charge.analyst)
    measurement = measurement_digest(_content(charge, table))
    release = transaction.state.release(charge.analyst, charge.dataset, measurement)
    levels = levels_of(transaction.state, table, charge.analyst)
    return release is not None and {level.number for level in levels} <= release.levels


def unsettled(transaction: Transaction, charge: Charge) -> int | None:
    """The reservation that the asker was charged for this measurement, if it has no answer yet."""
    table = transaction.state.dataset_for(charge.dataset, charge.analyst)
    return transaction.state.unsettled(charge.analyst, measurement_digest(_content(charge, table)))


def _content(charge: Charge, table: DataSet) -> dict[str, Any]:
    """The content of a reservation's entry, without the levels that pay."""
    return {
        "analyst": charge.analyst,
        "dataset": table.level.name,
        "event": codec.write(charge.event),
        "key": charge.key,
        "name": charge.name,
        "version": table.version,
        "answered_by": None,
    }


def settle(transaction: Transaction, number: int, answer: object) -> Any:
    """Keep the answer of a reservation unless there is one already, and return the one that is kept."""
    reserved = _reserved(transaction, number)
    if reserved.analyst in transaction.state.revoked:
        raise AccessDenied(f"the analyst {reserved.analyst!r} was revoked; the charge stands")
    if reserved.answer is None:
        _require_known(reserved)
        require_not_stopped(transaction.state, reserved)
        stored_answer = plain("answer", answer)
        transaction.add("settled", {"reservation": number, "answer": stored_answer})
        return stored_answer
    return transaction.stored(reserved.answer).content["answer"]


def require_not_stopped(state: State, reserved: ReservationRecord) -> None:
    """Refuse to store anything for an asker who has met a defect.

    Sessions make the same failure of this as of a defect, so that questions which were under way at that moment look
    alike: together they tell no more than the first one.
    """
    if any(state.levels[level].stopped for level in reserved.own):
        raise MechanismSpent("a question of this asker has failed by a defect, and nothing more is stored")


def fail(transaction: Transaction, number: int, *, since: datetime | None = None, defect: bool = False) -> None:
    """Count a failure that the asker is about to observe, unless the answer was already there (before `since`)."""
    answer = _reserved(transaction, number).answer
    if answer is None or (
        since is not None and datetime.fromisoformat(transaction.stored(answer).at) >= since - _CLOCKS
    ):
        transaction.add("defect" if defect else "failed", {"reservation": number})


def begin_again(transaction: Transaction, number: int) -> None:
    """Count another execution of a reservation that was begun before; refused if the allowance is used up."""
    reserved = _reserved(transaction, number)
    if reserved.answer is None:
        _require_known(reserved)
        require_failures_left(transaction, number)
        transaction.add("repeated", {"reservation": number})


def require_failures_left(transaction: Transaction, number: int) -> None:
    """Refuse another draw for a reservation without an answer whose asker has used up the failure allowance."""
    reserved = _reserved(transaction, number)
    for level in reserved.own if reserved.answer is None else ():
        _require_failures_left(transaction.state.levels[level])


def _reserved(transaction: Transaction, number: int) -> ReservationRecord:
    reserved = transaction.state.find_reservation(number)
    if reserved is None:
        raise NotFound(f"entry {number} is not a reservation")
    return reserved


def _require_allowance(state: State, table: DataSet, levels: list[Level], analyst: str | None) -> None:
    """Refuse an asker with too many failures or questions of their own; those of others do not count."""
    kind = "population" if analyst is None else "analyst"
    own = [level for level in levels if level.kind == kind] or [state.population(table.population)]
    for level in own:
        _require_failures_left(level)
        if level.questions is not None and level.asked >= level.questions:
            raise AllowanceExceeded(
                f"{level.questions} questions were allowed, and all of them were asked; nothing was charged",
                hint="you can still ask for stored answers; the custodian can grant more questions",
            )


def _require_failures_left(level: Level) -> None:
    if not level.failures_left:
        why = "a question has failed by a defect" if level.stopped else f"{level.failed} questions have failed, and "
        only = "" if level.stopped else f"only {level.failures} may"
        raise AllowanceExceeded(
            f"{why}{only}: the custodian has to look into it first; nothing was charged",
            hint="you can still ask for stored answers; the custodian can reset the count of failures",
        )


def _approving(state: State, table: DataSet, levels: list[Level]) -> list[Level]:
    """The levels whose approval thresholds apply: also those above, which depend on the spend alone."""
    above = [state.population(table.population), table.level]
    return [*(level for level in above if level not in levels), *levels] if levels else levels


def level_event(event: Event, level: Level, table: DataSet) -> Event:
    """The event in the unit of a level: a person with several rows is a group of rows."""
    if level.unit == table.unit or table.rows_per_person is None:
        return event
    return for_group(event, table.rows_per_person, level.neighbours)


def levels_of(state: State, table: DataSet, analyst: str | None) -> list[Level]:
    """The levels that have to admit a question of this analyst to this data set."""
    above = [state.population(table.population), table.level]
    if analyst is None:
        return above
    state.dataset_for(table.level.name, analyst)
    own = [grant.level for grant in state.grants_of(analyst, table.level.name)]
    return own if above[0].allotted else [*above, *own]


def of_key(transaction: Transaction, analyst: str | None, key: str) -> tuple[int, str] | None:
    """The reservation that an analyst's key stands for, and the digest of the key's request; None if it is new."""
    number = transaction.state.first("key", analyst, key)
    if number is not None:
        return number, request_digest(transaction.stored(number).content)
    alias = transaction.state.first("alias", analyst, key)
    if alias is None:
        return None
    content = transaction.stored(alias).content
    return number_of(transaction, content["release"], None), content["request"]


def _remember(transaction: Transaction, reservation: Reservation, content: dict[str, Any]) -> None:
    """Note a further key of a release, while the asker has questions left and the release has few such keys.

    It counts as a question. Any other key is not remembered: it finds the same answer by the question, as long as the
    table has this version.
    """
    state, analyst = transaction.state, content["analyst"]
    askers = state.askers(analyst, reservation.dataset)
    has_room = all(level.questions is None or level.asked < level.questions for level in askers)
    if has_room and len(state.numbers("aliased", analyst, reservation.id)) < ALIASES:
        alias = {"analyst": analyst, "key": content["key"], "release": reservation.id}
        transaction.add("alias", {**alias, "request": request_digest(content)})


def _again(transaction: Transaction, earlier: int, request: str, content: dict[str, Any]) -> Reservation:
    if request != request_digest(content):
        raise IdempotencyConflict(
            f"the key {content['key']!r} was used for another request",
            hint="use a new key for a new request",
        )
    _require_known(transaction.state.reservation(earlier))
    return _reservation(transaction, earlier, content["analyst"])


def _require_known(reserved: ReservationRecord) -> None:
    """Refuse a reservation whose answer may have been released and then lost."""
    if reserved.answer is None and reserved.lost is not None:
        raise LedgerMismatch(
            "the ledger was restored and may have lost the answer; the charge stands",
            hint="ask again with a new key: that is a new charge",
        )


def _finding_large(levels: list[Level], event: Event, table: DataSet) -> Level | None:
    """A level that finds this spend large: more than its threshold would admit."""
    return next(
        (
            level
            for level in levels
            if level.approval is not None and not filter_of(level.approval).admits(level_event(event, level, table))
        ),
        None,
    )


def would_wait(transaction: Transaction, charge: Charge) -> bool:
    """Whether some level finds this spend large, and it is not approved yet."""
    table = transaction.state.dataset_for(charge.dataset, charge.analyst)
    levels = _approving(transaction.state, table, levels_of(transaction.state, table, charge.analyst))
    is_large = _finding_large(levels, charge.event, table) is not None
    return is_large and not approvals.is_approved(transaction, _content(charge, table))


def _charge(
    transaction: Transaction, levels: list[Level], event: Event, table: DataSet, content: dict[str, Any]
) -> Reservation:
    charged: dict[int, Filter] = {}
    content["levels"] = {}
    for level in levels:
        if level.closed is not None:
            raise PopulationClosed(
                f"the {level.kind} {level.name!r} is closed: the ledger was restored and what was spent before that is "
                "not known",
                hint="the custodian has to set a new budget (`giveortake admin budget change`)",
            )
        level_charge = level_event(event, level, table)
        content["levels"][str(level.number)] = None if level_charge == event else codec.write(level_charge)
        guard = transaction.filter_of(level)
        if guard is not None:
            charged[level.number] = _admitted(guard, level, level_charge)
    content["id"] = secrets.token_hex(12)
    new = transaction.add("reserved", content, charged)
    answer = content["answered_by"]
    return Reservation(
        new.number,
        content["dataset"],
        content["version"],
        tuple(level.name for level in levels),
        fresh=True,
        settled=answer is not None,
        answer=None if answer is None else transaction.stored(answer).content["answer"],
        id=content["id"],
        **_payment(transaction, content),
    )


def _admitted(guard: Filter, level: Level, event: Event) -> Filter:
    """Return a charged copy of a filter. The one given does not change, and nothing is committed yet."""
    after = guard.copy()
    try:
        after.charge(event)
    except BudgetExceeded as refusal:
        raise type(refusal)(
            f"the {level.kind} {level.name!r} refuses: {refusal.message}",
            cost=refusal.cost,
            remaining=refusal.remaining,
            hint="the status of the budget says which ε still fits; the custodian can change a budget",
        ) from None
    return after


def _payment(transaction: Transaction, content: Mapping[str, Any]) -> dict[str, str]:
    """When the asker first paid for the stored answer of a reservation, and by which one; nothing of other askers."""
    analyst, dataset = content["analyst"], content["dataset"]
    is_answered_before = content["answered_by"] is not None
    release = transaction.state.release(analyst, dataset, measurement_digest(content)) if is_answered_before else None
    own = None if release is None else release.by.get(analyst)
    if own is None:
        return {}
    first = transaction.stored(own)
    return {"paid_at": first.at, "original": first.content["id"]}


def _reservation(transaction: Transaction, number: int, analyst: str | None) -> Reservation:
    """An earlier reservation, as this asker may see it."""
    reserved = transaction.state.reservation(number)
    answer = None if reserved.answer is None else transaction.stored(reserved.answer).content["answer"]
    entry = transaction.stored(number)
    free = not entry.content["levels"] and entry.content["answered_by"] is not None
    own = {"paid_at": entry.at} if reserved.analyst == analyst else {}
    return Reservation(
        number,
        reserved.dataset,
        reserved.version,
        (),
        fresh=False,
        settled=reserved.answer is not None,
        answer=answer,
        id=reserved.id,
        **(_payment(transaction, entry.content) if free else own),
    )


def released(transaction: Transaction, release: str, analyst: str | None) -> Reservation:
    """The reservation with this release id: an analyst's own; the custodian finds everybody's."""
    return _reservation(transaction, number_of(transaction, release, analyst), analyst)


def profiles(
    transaction: Transaction, dataset: str, analyst: str | None, version: str | None, before: int | None = None
) -> list[tuple[Any, str, Any]]:
    """The name, the id and the stored answer of each profile of this version, the newest first.

    With `before`, only those paid for before that entry. A profile that the custodian paid for is everybody's.

    Guarantee: any other is found only if every level that the asker draws on has paid for it. What is made of a profile
    is post-processing for those levels, and for no other. The custodian's own is charged to the population, published
    to all who may ask, and so part of what everybody knows.
    """
    state = transaction.state
    table = state.dataset_for(dataset, analyst)  # first, so that nobody learns whether others have a profile
    levels = {buyer: {level.number for level in levels_of(state, table, buyer)} for buyer in {None, analyst}}
    profiles_by_answer: dict[int, tuple[Any, str, Any]] = {}
    for number in reversed(state.numbers("profile", dataset)):
        reserved = state.reservation(number)
        if analyst is not None and reserved.analyst not in levels:
            continue  # nobody learns of another's reservation of the same profile
        buyer = analyst if analyst is None else reserved.analyst
        release = state.release(buyer, dataset, reserved.measurement)
        is_early = before is None or (release is not None and release.answer < before)
        if (
            reserved.version == version
            and release is not None
            and levels[buyer] <= release.levels
            and release.answer not in profiles_by_answer
            and is_early
        ):
            name = transaction.stored(number).content["name"]
            profiles_by_answer[release.answer] = (
                name,
                reserved.id,
                transaction.stored(release.answer).content["answer"],
            )
    return list(profiles_by_answer.values())


def keep(transaction: Transaction, number: int, index: int, content: object) -> Any:
    """Keep the draw at an index, which has to be the next one.

    Guarantee: whoever is behind, because somebody else went on or because they were interrupted, is refused before
    anything is written, and what they drew is forgotten. So there is one sequence of draws, and nobody who was not
    told of the last one adds to it.
    """
    reserved = _unsettled(transaction, number)
    if not transaction.state.is_next(reserved.number, index):
        raise LedgerMismatch(
            "what is drawn here has gone on elsewhere, or was interrupted", hint="open it again: what was drawn is kept"
        )
    require_not_stopped(transaction.state, reserved)
    draw = plain("drawn", content)
    transaction.add("drawn", {"reservation": number, "place": index, "drawn": draw})
    return draw


def draws_of(transaction: Transaction, number: int) -> list[Any]:
    """What was drawn for a reservation so far, in order."""
    state, reservation = transaction.state, _reserved(transaction, number).number
    draws: list[Any] = []
    while (entry := state.first("drawn", reservation, len(draws))) is not None:
        draws.append(transaction.stored(entry).content["drawn"])
    return draws


def _unsettled(transaction: Transaction, number: int) -> ReservationRecord:
    reserved = _reserved(transaction, number)
    if reserved.analyst in transaction.state.revoked:
        raise AccessDenied(f"the analyst {reserved.analyst!r} was revoked; the charge stands")
    if reserved.answer is not None or reserved.lost is not None:
        raise LedgerMismatch("nothing more is drawn for what has an answer, or may have lost it")
    return reserved
