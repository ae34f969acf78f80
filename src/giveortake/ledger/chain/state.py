"""The state of a ledger: levels, data sets, grants, reservations and stored answers, as a fold over its entries.

What is small stays in memory, and a checkpoint writes it down (`checkpoints`); what grows with every charge is looked
up in an index (`entries`), and read from the entries. An entry that does not follow from those before it is
LedgerDamaged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, final

from giveortake.errors import AccessDenied, LedgerDamaged, LedgerRolledBack, LedgerTooNew, NotFound
from giveortake.ledger.budgets import charged_for, larger
from giveortake.ledger.chain.entries import (
    FORMAT,
    NOTHING,
    RESTORE,
    UPGRADE,
    Entry,
    EntryIndex,
    Hashes,
    Point,
    approval_digest,
    approval_digests,
    asked_of,
    digest,
    entries_of,
    measurement_digest,
    name_of,
    promise_from_json,
)
from giveortake.privacy import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from giveortake.ledger.chain.entries import Json
    from giveortake.ledger.chain.store import Tables
    from giveortake.privacy import Guarantee, Neighbours


TokenRole: TypeAlias = Literal["monitor", "auditor", "analyst", "custodian"]

FAILURES = 3  # that one analyst may observe, unless the custodian says otherwise


@final
@dataclass(slots=True)
class Level:
    """Something that charges are counted against. Its number is that of the entry that made it."""

    number: int
    kind: str
    name: str
    unit: Unit
    neighbours: Neighbours
    budget: Guarantee | None
    approval: Guarantee | None
    snapshot: str | None = None  # the hash of its filter's state
    closed: int | None = None  # the entry that closed it
    allotted: bool = False  # whether its analysts have allotments; else they draw from one pool
    guarded: Guarantee | None = None  # what its own filter promises: the budget, or what allotments leave of it
    initial: Any = None  # that filter's state before anything was charged
    allotments: dict[int, Guarantee] = field(default_factory=dict)  # what is counted for the grant of that number
    granted: dict[int, Any] = field(default_factory=dict)  # the event that was charged for it, if it was not set aside
    charged: bool = False
    failures: int = FAILURES  # that may be observed before the custodian has to look
    questions: int | None = None  # that may be asked at all
    failed: int = 0  # since the custodian looked
    failed_ever: int = 0
    defects: int = 0  # of those failures, the ones that no limit explains
    stopped: bool = False  # by a defect, until the custodian has looked
    asked: int = 0
    steps: int = 0  # of runs and counters, each of which may fail by itself
    used: str = NOTHING  # the hash of what was used after each charge, one after the other

    @property
    def failures_ever(self) -> int:
        """How many failures the asker can have observed once the allowance is used up."""
        return self.failed_ever + self.failures_left

    @property
    def failures_left(self) -> int:
        """How many failures the asker may still observe."""
        return 0 if self.stopped else max(0, self.failures - self.failed)


@final
@dataclass(slots=True)
class DataSet:
    """A table of a population, and the versions it has had."""

    level: Level
    population: str
    unit: Unit
    rows_per_person: int | None
    domains: Any
    versions: list[tuple[str, str | None]]  # name and fingerprint, oldest first

    @property
    def version(self) -> str:
        """The version that questions are answered from now."""
        return self.versions[-1][0]


@final
@dataclass(frozen=True, slots=True)
class Grant:
    """The right of an analyst to ask some data sets of one population, together within one cap."""

    level: Level
    analyst: str
    datasets: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class ReservationRecord:
    """One reservation, and the entry that holds its answer, once there is one."""

    number: int
    analyst: str | None
    dataset: str
    version: str
    measurement: str | None  # the digest of what was measured
    levels: tuple[int, ...]
    answer: int | None
    id: str
    own: tuple[int, ...] = ()  # the levels of the asker alone
    failed: bool = False
    lost: int | None = None  # the restoration after which nobody knows whether it was answered


@final
@dataclass(slots=True)
class Release:
    """A stored answer, the levels that have paid for it, and the first reservation by which each asker did."""

    answer: int
    levels: set[int]
    by: dict[str | None, int]


@final
@dataclass(slots=True)
class Token:
    """A secret that lets somebody in, by its role. `hash` is the SHA-256 of its text."""

    number: int
    id: str
    role: TokenRole
    analyst: str | None  # of an analyst's token
    hash: str
    expires: str
    revoked: bool = False


@final
@dataclass(slots=True)
class ApprovalRequest:
    """A large spend that somebody asked for, and what the custodian decided. `digest` says what was asked."""

    number: int
    id: int
    digest: str
    analyst: str | None
    state: Literal["waiting", "approved", "denied", "used"] = "waiting"
    decision: int | None = None  # the entry that says so
    expires: str | None = None  # until when an approval may be used


Content: TypeAlias = "Mapping[str, Any]"

DONE = 200  # closed requests of each analyst that the state remembers


def _ledger(state: State, _number: int, content: Content) -> None:
    if content["format"] != FORMAT:
        raise LedgerTooNew(f"this giveortake does not know the format {content['format']!r}", hint=UPGRADE)
    state.ledger = content["ledger"]


def _population(state: State, number: int, content: Content) -> None:
    state.populations[content["name"]] = _level(state, number, "population", content, content["budget"]["neighbours"])


def _dataset(state: State, number: int, content: Content) -> None:
    level = _level(state, number, "data set", content, state.populations[content["population"]].neighbours)
    state.datasets[content["name"]] = DataSet(
        level,
        content["population"],
        level.unit,
        content["rows_per_person"],
        content["domains"],
        [],
    )
    _version(state, number, content)


def _declared(state: State, number: int, content: Content) -> None:
    state.datasets[content["name"]].domains = content["domains"]
    _version(state, number, content)


def _version(state: State, _number: int, content: Content) -> None:
    state.datasets[content["name"]].versions.append((content["version"], content["fingerprint"]))
    if content["fingerprint"] is not None:
        state.fingerprints.setdefault(content["fingerprint"], content["name"])


def _analyst(state: State, number: int, content: Content) -> None:
    datasets = tuple(content["datasets"])
    level = _level(state, number, "analyst", content, state.datasets[datasets[0]].level.neighbours)
    state.grants[content["name"], datasets] = Grant(level, content["name"], datasets)
    _allot(state, level, content)


def _allot(state: State, level: Level, content: Content) -> None:
    """Count what a grant takes from the levels above it."""
    assert level.budget is not None or "above" not in content  # noqa: S101 (what takes nothing has no budget)
    for above, deduction in content.get("above", {}).items():
        giver = state.levels[int(above)]
        giver.allotments[level.number] = larger(giver.allotments.get(level.number), level.budget)  # type: ignore[arg-type]  # (see above)
        if "rest" in deduction:
            giver.guarded, giver.initial = promise_from_json(deduction["rest"]), deduction["filter"]
        else:
            giver.granted[level.number] = deduction["event"]
            giver.charged = True


def _revoked(state: State, _number: int, content: Content) -> None:
    state.revoked.add(content["analyst"])


def _readmitted(state: State, _number: int, content: Content) -> None:
    state.revoked.discard(content["analyst"])


def _reserved(state: State, number: int, content: Content) -> None:
    reserved = state.reserved_as(number, content)
    if content["key"] is not None:
        _note_key(state, number, "key", content)
    state.remember(reserved)
    state.note(number, "id", reserved.id)
    state.asked += 1
    for level in reserved.levels:
        state.levels[level].charged = True
    if reserved.answer is None:
        for level in reserved.own:
            state.levels[level].asked += 1
        if reserved.measurement is not None:
            state.note(number, "asked", content["analyst"], reserved.measurement)
    elif reserved.measurement is not None:
        payer = state.payer(reserved.analyst, reserved.dataset)
        if state.first("paid", payer, reserved.measurement) is None:
            raise LedgerDamaged(f"entry {number} gives out an answer that is not there", hint=RESTORE)
        if reserved.levels:
            state.note(number, "paid", payer, reserved.measurement)
    for name in approval_digests(content) if state.requests else ():
        if (request := state.requests.pop(name, None)) is not None:
            request.state = "used"
            _forget_requests(state, request.analyst)
    if isinstance(content["name"], dict) and "profile" in content["name"]:
        state.note(number, "profile", content["dataset"])


def _alias(state: State, number: int, content: Content) -> None:
    """Count a further key for a release that is paid and answered as one question; it charges nothing."""
    analyst, reserved = content["analyst"], state.reservation(state.first("id", content["release"]))
    if reserved.answer is None or state.payer(reserved.analyst, reserved.dataset) not in {None, analyst}:
        raise LedgerDamaged(f"entry {number} gives out an answer that is not there", hint=RESTORE)
    _note_key(state, number, "alias", content)
    state.note(number, "aliased", analyst, reserved.id)
    for level in state.askers(analyst, reserved.dataset):
        level.asked += 1


def _note_key(state: State, number: int, kind: str, content: Content) -> None:
    name = content["analyst"], content["key"]
    if any(state.first(earlier, *name) is not None for earlier in ("key", "alias")):
        raise LedgerDamaged(f"entry {number} uses an idempotency key twice", hint=RESTORE)
    state.note(number, kind, *name)


def _settled(state: State, number: int, content: Content) -> None:
    reserved = state.find_reservation(content["reservation"])
    if reserved is None or reserved.answer is not None:
        raise LedgerDamaged(f"entry {number} settles what is not waiting for an answer", hint=RESTORE)
    state.note(number, "settled", reserved.number)
    state.remember_settlement(number, reserved.number)
    if reserved.measurement is not None:
        payer = state.payer(reserved.analyst, reserved.dataset)
        if state.first("paid", payer, reserved.measurement) is None:
            state.note(number, "paid", payer, reserved.measurement)


def _drawn(state: State, number: int, content: Content) -> None:
    reserved, index = state.find_reservation(content["reservation"]), content["place"]
    if reserved is None or reserved.answer is not None or not state.is_next(reserved.number, index):
        raise LedgerDamaged(f"entry {number} was drawn for what is not waiting for it", hint=RESTORE)
    state.note(number, "drawn", reserved.number, index)
    for level in reserved.own:
        state.levels[level].steps += 1


def _failed(state: State, number: int, content: Content) -> None:
    reserved = state.reservation(content["reservation"])
    if not reserved.failed and reserved.answer is None:  # else it was answered, and its asker was told of a failure
        state.note(number, "failed", reserved.number)
    _count_failure(state, reserved)


def _defect(state: State, number: int, content: Content) -> None:
    """Count a failure that no limit explains: its asker observes no other until the custodian has looked."""
    _failed(state, number, content)
    reserved = state.reservation(content["reservation"])
    for level in reserved.own:
        state.levels[level].defects += 1
        state.levels[level].stopped = True
    for grant in () if reserved.analyst is None else state.grants_of(reserved.analyst):
        grant.level.stopped = True  # of other data sets too: the mistake may tell of the same people there


def _repeated(state: State, _number: int, content: Content) -> None:
    _count_failure(state, state.reservation(content["reservation"]))


def _count_failure(state: State, reserved: ReservationRecord) -> None:
    for level in reserved.own:
        state.levels[level].failed += 1
        state.levels[level].failed_ever += 1


def _forgiven(state: State, _number: int, content: Content) -> None:
    state.levels[content["level"]].failed = 0
    state.levels[content["level"]].stopped = False


def _requested(state: State, number: int, content: Content) -> None:
    new = ApprovalRequest(number, content["id"], approval_digest(content), content["analyst"])
    state.requests[new.digest] = state.requests_by_id[new.id] = new
    _forget_requests(state, new.analyst)


def _forget_requests(state: State, analyst: str | None) -> None:
    """Keep an analyst's last closed requests (used, or asked for anew), however many others have."""
    own = (request for request in state.requests_by_id.values() if request.analyst == analyst)
    closed = [request for request in own if state.requests.get(request.digest) is not request]
    if len(closed) > DONE:
        del state.requests_by_id[closed[0].id]


def _approved(state: State, number: int, content: Content) -> None:
    request = state.requests[content["request"]]
    request.state, request.decision, request.expires = "approved", number, content.get("expires")


def _denied(state: State, number: int, content: Content) -> None:
    request = state.requests[content["request"]]
    request.state, request.decision, request.expires = "denied", number, None


def _token(state: State, number: int, content: Content) -> None:
    if content["id"] in state.tokens:
        raise LedgerDamaged(f"entry {number} issues a token twice", hint=RESTORE)
    state.tokens[content["id"]] = Token(
        number, content["id"], content["role"], content["analyst"], content["hash"], content["expires"]
    )


def _withdrawn(state: State, _number: int, content: Content) -> None:
    state.tokens[content["token"]].revoked = True


def _budget(state: State, _number: int, content: Content) -> None:
    level = state.levels[content["level"]]
    level.budget = promise_from_json(content["budget"])
    level.guarded, level.initial = level.budget, content["filter"]
    level.closed = None
    if "rest" in content:
        level.guarded, level.granted = promise_from_json(content["rest"]), {}
    else:
        level.granted = charged_for(level)
        level.charged |= bool(level.granted)
    _allot(state, level, content)


def _limits(state: State, _number: int, content: Content) -> None:
    level = state.levels[content["level"]]
    if "approval_above" in content:
        above = content["approval_above"]
        level.approval = None if above is None else promise_from_json(above)
    level.failures = content.get("failures", level.failures)
    level.questions = content.get("questions", level.questions)


def _nothing(_state: State, _number: int, _content: Content) -> None:
    """Add nothing: a checkpoint repeats what the entries before it say, and the state folder where a ledger lies."""


def _restored(state: State, number: int, content: Content) -> None:
    for level in content["closed"]:
        state.levels[level].closed = number
    state.restored = number
    for charged in map(int, content["levels"]):
        state.levels[charged].charged = True
    if content["event"] is None:
        state.lost = number


def _level(state: State, number: int, kind: str, content: Content, neighbours: Neighbours) -> Level:
    budget, approval = content["budget"], content["approval_above"]
    level = Level(
        number,
        kind,
        content["name"],
        Unit(content["unit"]),
        neighbours,
        None if budget is None else promise_from_json(budget),
        None if approval is None else promise_from_json(approval),
        closed=None if budget is None else state.lost,
        allotted=content.get("analysts") == "allotted",
        initial=content.get("filter"),
        failures=content.get("failures", FAILURES),
        questions=content.get("questions"),
    )
    level.guarded = level.budget
    state.levels[number] = level
    return level


@final
@dataclass(frozen=True, slots=True)
class EntryType:
    """What an entry adds to the state, what says whose it is, and which fields that analyst may read.

    `owner` is "name" or "analyst", fields that name the analyst, or "reservation" or "level", fields that name one of
    theirs. None but the custodian reads entries without an owner.
    """

    apply: Callable[[State, int, Content], None]
    owner: Literal["name", "analyst", "reservation", "level"] | None = None
    readable: tuple[str, ...] = ()


_OF_QUESTION = ("id", "dataset", "version", "event", "key", "name", "description", "record")
ENTRY_TYPES: dict[str, EntryType] = {
    "alias": EntryType(_alias, "analyst", ("key", "release")),
    "analyst": EntryType(_analyst, "name", ("datasets", "budget", "approval_above", "failures", "questions")),
    "approved": EntryType(_approved, "analyst", ("reason", "expires")),
    "budget": EntryType(_budget, "level", ("budget", "reason")),
    "checkpoint": EntryType(_nothing),
    "dataset": EntryType(_dataset),
    "declared": EntryType(_declared),
    "defect": EntryType(_defect, "reservation"),
    "denied": EntryType(_denied, "analyst", ("reason",)),
    "drawn": EntryType(_drawn, "reservation", ("place", "drawn")),
    "failed": EntryType(_failed, "reservation"),
    "forgiven": EntryType(_forgiven, "level", ("reason",)),
    "ledger": EntryType(_ledger),
    "limits": EntryType(_limits, "level", ("approval_above", "failures", "questions", "reason")),
    "moved": EntryType(_nothing),
    "population": EntryType(_population),
    "readmitted": EntryType(_readmitted, "analyst", ("reason",)),
    "repeated": EntryType(_repeated, "reservation"),
    "requested": EntryType(_requested, "analyst", _OF_QUESTION),
    "reserved": EntryType(_reserved, "analyst", _OF_QUESTION),
    "restored": EntryType(_restored),
    "revoked": EntryType(_revoked, "analyst", ("reason",)),
    "settled": EntryType(_settled, "reservation", ("answer",)),
    "token": EntryType(_token),
    "version": EntryType(_version),
    "withdrawn": EntryType(_withdrawn),
}


Value = TypeVar("Value")


@final
@dataclass(slots=True)
class Rows:
    """Rows of the index tables, which follow from entries and are stored beside them."""

    finds: list[tuple[int, int, bytes]] = field(default_factory=list)  # bucket, number, name
    lists: list[tuple[str, int, int]] = field(default_factory=list)  # name, index, number
    used: list[tuple[int, int, str]] = field(default_factory=list)  # level, number, share


@final
@dataclass(slots=True)
class EntryList:
    """The length of a list of entries, and a chained hash of their numbers."""

    count: int = 0
    numbers: str = NOTHING


@final
@dataclass(slots=True)
class State:
    """The state of a ledger after its last entry."""

    ledger: str = ""
    populations: dict[str, Level] = field(default_factory=dict)
    datasets: dict[str, DataSet] = field(default_factory=dict)
    grants: dict[tuple[str, tuple[str, ...]], Grant] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    fingerprints: dict[str, str] = field(default_factory=dict)
    requests: dict[str, ApprovalRequest] = field(
        default_factory=dict
    )  # the last that needed approval, by what was asked
    requests_by_id: dict[int, ApprovalRequest] = field(default_factory=dict)  # open ones, and the last closed ones
    tokens: dict[str, Token] = field(default_factory=dict)
    lost: int | None = None  # the last restoration after which nobody knows what was spent
    restored: int = 0  # the last restoration: what had no answer then will never have one
    asked: int = 0  # reservations
    lists: dict[str, EntryList] = field(default_factory=dict)  # of entries: those of an analyst, and what was asked
    # -- beside what a checkpoint writes down
    hashes: Hashes = field(default_factory=Hashes)
    entry_index: EntryIndex = field(default_factory=EntryIndex)
    reader: Tables | None = None  # reads what is not in memory
    rows: Rows = field(default_factory=Rows)  # of the entries taken since they were last kept
    _recent: dict[int, ReservationRecord] = field(default_factory=dict)  # reservations since the last checkpoint
    _settlements: dict[int, int] = field(default_factory=dict)  # which reservations were settled since then, and where

    @property
    def head(self) -> Point:
        """The last entry."""
        number = self.hashes.head
        return Point(self.ledger, number, self.hash_of(number))

    def hash_of(self, number: int) -> str:
        """The hash of one entry."""
        return self.hashes.hash_of(number, self.reader)

    def take_rows(self) -> Rows:
        """Return the index rows of the entries applied since the last call, to be stored beside them."""
        rows, self.rows = self.rows, Rows()
        return rows

    def remember(self, reserved: ReservationRecord) -> None:
        """Keep a reservation in memory until the next checkpoint."""
        self._recent[reserved.number] = reserved

    def remember_settlement(self, number: int, reservation: int) -> None:
        """Keep in memory until the next checkpoint which reservation an entry settles."""
        self._settlements[number] = reservation

    def forget_recent(self) -> None:
        """Drop recent reservations and settlements from memory; from now on they are looked up."""
        self._recent.clear()
        self._settlements.clear()

    def apply(self, entry: Entry) -> None:
        """Take one more entry into account."""
        head = self.hashes.head
        if entry.number != head + 1 or entry.previous != self.hash_of(head):
            raise LedgerDamaged(f"entry {entry.number} does not follow entry {head}", hint=RESTORE)
        if (entry.number == 1) != (entry.kind == "ledger"):
            raise LedgerDamaged(f"entry {entry.number} cannot be of kind {entry.kind!r}", hint=RESTORE)
        entry_type = ENTRY_TYPES.get(entry.kind)
        if entry_type is None:  # its hash is right, so a later version wrote it
            raise LedgerTooNew(
                f"entry {entry.number} is of the kind {entry.kind!r}, which this giveortake does not know", hint=UPGRADE
            )
        try:
            entry_type.apply(self, entry.number, entry.content)
            self._count_used(entry)
            self._list(entry)
        except (LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"entry {entry.number} does not fit the entries before it", hint=RESTORE) from error
        self.hashes.append(entry.hash)

    def _count_used(self, entry: Entry) -> None:
        """Note the filter states that an entry leaves, and how much of their budgets is used."""
        for level, snapshot in entry.content.get("snapshots", {}).items():
            charged_level, share = self.levels[int(level)], entry.content["used"][level]
            charged_level.snapshot = snapshot
            charged_level.used = digest(f"{charged_level.used} {entry.number} {share}")
            self.rows.used.append((charged_level.number, entry.number, share))

    def _list(self, entry: Entry) -> None:
        """Add an entry to the list of its analyst, and a reservation to the lists of what was asked."""
        owner = self.owner(entry)
        names = [] if owner is None else [entries_of(owner)]
        if entry.kind == "reserved":
            asker = entry.content["analyst"]
            askers = (None,) if asker is None else (None, asker)  # in one order, which checkpoints keep
            names += [asked_of(analyst, dataset) for analyst in askers for dataset in (None, entry.content["dataset"])]
        for name in names:
            listed = self.lists.setdefault(name, EntryList())
            listed.count += 1
            listed.numbers = digest(f"{listed.numbers} {entry.number}")
            self.rows.lists.append((name, listed.count, entry.number))

    def owner(self, entry: Entry) -> str | None:
        """Return the analyst who may read an entry, as it is about them or what they asked; None if nobody."""
        content = entry.content
        match ENTRY_TYPES[entry.kind].owner:
            case "name" | "analyst" as field:
                return None if content.get(field) is None else str(content[field])
            case "reservation":
                reserved = self._as_reserved(content["reservation"])
                return None if reserved is None else reserved.analyst
            case "level":
                level = self.levels[content["level"]]
                return level.name if level.kind == "analyst" else None
        return None

    def agrees_with(self, mark: Point) -> bool:
        """Whether the mark is at the head; LedgerRolledBack if the ledger has lost what the mark remembers."""
        head = self.head
        if head.number < mark.number:
            raise LedgerRolledBack(
                f"the ledger ends at entry {head.number}, but its mark remembers entry {mark.number}: it is an old "
                "copy, or it has lost its end",
                hint=RESTORE,
            )
        if self.hash_of(mark.number) != mark.hash:
            raise LedgerRolledBack(
                f"entry {mark.number} is not the one that the mark remembers: this is another history", hint=RESTORE
            )
        return head.number == mark.number

    # -- looking things up ------------------------------------------------------------------------------------

    def numbers(self, kind: str, *parts: Json) -> list[int]:
        """All entries noted under this kind and these parts, in order."""
        return self.entry_index.numbers(name_of(kind, *parts), self.reader)

    def first(self, kind: str, *parts: Json) -> int | None:
        """The first entry noted under this kind and these parts; None if there is none."""
        return next(iter(self.numbers(kind, *parts)), None)

    def reservation(self, number: int | None) -> ReservationRecord:
        """The reservation of this number; KeyError if it is none."""
        reserved = self.find_reservation(number)
        if reserved is None:
            raise KeyError(number)
        return reserved

    def askers(self, analyst: str | None, dataset: str) -> list[Level]:
        """The levels that count what somebody asks: an analyst's own, or the population's for the custodian."""
        if analyst is None:
            return [self.populations[self.datasets[dataset].population]]
        return [grant.level for grant in self.grants_of(analyst, dataset)]

    def note(self, number: int, kind: str, *parts: Json) -> None:
        """Note the kind and the parts by which an entry is found."""
        self.rows.finds.append(self.entry_index.add(number, name_of(kind, *parts)))

    def _as_reserved(self, number: int) -> ReservationRecord | None:
        """A reservation as its own entry states it, without what came later; None if it is none."""
        reserved = self._recent.get(number)
        if reserved is not None or not 0 < number <= self.hashes.base:
            return reserved
        entry = self.hashes.entry(number, self.reader)
        return self.reserved_as(number, entry.content) if entry.kind == "reserved" else None

    def find_reservation(self, number: int | None) -> ReservationRecord | None:
        """The reservation of this number, with its answer if there is one; None if it is none."""
        reserved = None if number is None else self._as_reserved(number)
        if reserved is None or reserved.answer is not None:
            return reserved
        number = reserved.number
        answer, failed = self.first("settled", number), self.first("failed", number) is not None
        return replace(reserved, answer=answer, failed=failed, lost=self.restored if self.restored > number else None)

    def reserved_as(self, number: int, content: Mapping[str, Any]) -> ReservationRecord:
        """Build a reservation from the content of its entry."""
        levels = tuple(map(int, content["levels"]))
        kind = "population" if content["analyst"] is None else "analyst"
        return ReservationRecord(
            number,
            content["analyst"],
            content["dataset"],
            content["version"],
            measurement_digest(content),
            levels,
            content["answered_by"],
            content["id"],
            tuple(level for level in levels if self.levels[level].kind == kind),
        )

    def payer(self, analyst: str | None, dataset: str) -> str | None:
        """Whose stored answers somebody finds: where analysts have allotments, only their own; else everybody's."""
        return analyst if self.populations[self.datasets[dataset].population].allotted else None

    def release(self, analyst: str | None, dataset: str, measurement: str | None) -> Release | None:
        """The stored answer to the measurement with this digest; None if the analyst finds none.

        The first entry noted settled it, the later ones paid for that answer too.
        """
        numbers = [] if measurement is None else self.numbers("paid", self.payer(analyst, dataset), measurement)
        if not numbers:
            return None
        payers = [self.reservation(number) for number in (self._settles(numbers[0]), *numbers[1:])]
        by = {reserved.analyst: reserved.number for reserved in reversed(payers)}  # the first of each
        return Release(numbers[0], {level for reserved in payers for level in reserved.levels}, by)

    def _settles(self, number: int) -> int:
        if number in self._settlements:
            return self._settlements[number]
        return int(self.hashes.entry(number, self.reader).content["reservation"])

    def unsettled(self, analyst: str | None, measurement: str | None) -> int | None:
        """The last reservation of an analyst for the measurement with this digest, if it has no answer yet."""
        numbers = [] if measurement is None else self.numbers("asked", analyst, measurement)
        if not numbers or numbers[-1] < self.restored or self.reservation(numbers[-1]).answer is not None:
            return None
        return numbers[-1]

    def grant_of(self, level: Level) -> Grant | None:
        """The grant that a level belongs to, if it is an analyst's."""
        return next((grant for grant in self.grants.values() if grant.level is level), None)

    def is_next(self, number: int, index: int) -> bool:
        """Whether exactly `index` draws are stored for a reservation so far."""
        if type(index) is not int or index < 0:  # True would be another index than 1
            return False
        is_drawn = self.first("drawn", number, index) is not None
        return not is_drawn and (index == 0 or self.first("drawn", number, index - 1) is not None)

    def population(self, name: str) -> Level:
        """The level of a population."""
        return self._lookup("population", name, self.populations)

    def dataset(self, name: str) -> DataSet:
        """The data set of this name."""
        return self._lookup("data set", name, self.datasets)

    def dataset_for(self, name: str, analyst: str | None) -> DataSet:
        """A data set that an analyst may ask; any other is as unknown as one that never existed."""
        if analyst is None:
            return self.dataset(name)
        if analyst in self.revoked:
            raise AccessDenied(f"the analyst {analyst!r} was revoked", hint="ask the custodian")
        if not self.grants_of(analyst, name):
            own = sorted({dataset for grant in self.grants_of(analyst) for dataset in grant.datasets})
            raise NotFound(
                f"there is no data set {name!r} for the analyst {analyst!r}",
                hint=f"there are: {', '.join(own)}" if own else "the custodian can let them ask",
            )
        return self.dataset(name)

    def capped_above(self, datasets: Iterable[str]) -> list[Level]:
        """The levels that an allotment is taken from: its population, and those of its data sets that have a cap."""
        sets = [self.datasets[name] for name in datasets]
        return [
            self.populations[sets[0].population],
            *(table.level for table in sets if table.level.budget is not None),
        ]

    def grants_of(self, analyst: str, dataset: str | None = None) -> list[Grant]:
        """The grants of an analyst, for one data set or for any."""
        return [
            grant
            for (name, datasets), grant in self.grants.items()
            if name == analyst and (dataset is None or dataset in datasets)
        ]

    def _lookup(self, kind: str, name: str, among: dict[str, Value]) -> Value:
        if name not in among:
            names = ", ".join(among) or "none"
            raise NotFound(f"the ledger has no {kind} {name!r}", hint=f"there are: {names}")
        return among[name]
