"""What the entries of a ledger say, taken together: a pure fold over the chain, with no opinion of its own.

What is small stays in memory, and a checkpoint writes it down (`checkpoints`); what grows with every charge is looked
up (`finds`), and read from the entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from giveortake.errors import AccessDenied, LedgerDamaged, LedgerRolledBack, LedgerTooNew, NotFound
from giveortake.ledger.allotments import larger
from giveortake.ledger.entries import FORMAT, NOTHING, RESTORE, UPGRADE, Entry, Point, canonical, digest
from giveortake.ledger.finds import Finds, name_of
from giveortake.ledger.hashes import Hashes
from giveortake.ledger.levels import FAILURES, DataSet, Grant, Level, Paid, Requested, Reserved, Token
from giveortake.ledger.promises import promise_from_json
from giveortake.privacy import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from giveortake.ledger.entries import Json
    from giveortake.ledger.store import Transaction
    from giveortake.privacy import Neighbours

Found = TypeVar("Found")
Asked = TypeVar("Asked")


@final
@dataclass(frozen=True, slots=True)
class Lookup(Generic[Asked, Found]):
    """Something that is looked up when it is asked for, and then read like a dictionary."""

    get: Callable[[Asked], Found | None]

    def __getitem__(self, asked: Asked) -> Found:
        found = self.get(asked)
        if found is None:
            raise KeyError(asked)
        return found

    def __contains__(self, asked: Asked) -> bool:
        return self.get(asked) is not None


@final
@dataclass(slots=True)
class Rows:
    """What follows from entries and is kept beside them, as rows of tables."""

    finds: list[tuple[int, int, bytes]] = field(default_factory=list)  # bucket, number, name
    lists: list[tuple[str, int, int]] = field(default_factory=list)  # name, place, number
    used: list[tuple[int, int, str]] = field(default_factory=list)  # level, number, share


@final
@dataclass(slots=True)
class Listed:
    """How many entries a list has, and the hash of their numbers, one after the other."""

    count: int = 0
    numbers: str = NOTHING


@final
@dataclass(slots=True)
class Book:
    """The state of a ledger after its last entry."""

    ledger: str = ""
    populations: dict[str, Level] = field(default_factory=dict)
    datasets: dict[str, DataSet] = field(default_factory=dict)
    grants: dict[tuple[str, tuple[str, ...]], Grant] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    fingerprints: dict[str, str] = field(default_factory=dict)
    requests: dict[str, Requested] = field(default_factory=dict)  # the last that needed approval, by what was asked
    requests_by_id: dict[int, Requested] = field(default_factory=dict)  # all of them
    tokens: dict[str, Token] = field(default_factory=dict)
    before_0_2: bool = False  # whether anything was asked by an earlier version
    moved: int | None = None  # the entry that says that the mark left its place beside the ledger
    lost: int | None = None  # the last restoration after which nobody knows what was spent
    restored: int = 0  # the last restoration: what had no answer then will never have one
    asked: int = 0  # reservations
    lists: dict[str, Listed] = field(default_factory=dict)  # of entries: those of an analyst, and what was asked
    unused: int = 0  # the last entry that charged and does not say what was used afterwards
    # -- beside what a checkpoint writes down
    hashes: Hashes = field(default_factory=Hashes)
    finds: Finds = field(default_factory=Finds)
    reader: Transaction | None = None  # in which what is not in memory is read
    rows: Rows = field(default_factory=Rows)  # of the entries taken since they were last kept
    _recent: dict[int, Reserved] = field(default_factory=dict)  # reservations since the last checkpoint
    _settlements: dict[int, int] = field(default_factory=dict)  # which reservations were settled since then, and where

    @property
    def head(self) -> Point:
        """The last entry."""
        number = self.hashes.head
        return Point(self.ledger, number, self.hash_of(number))

    def hash_of(self, number: int) -> str:
        """The hash of one entry."""
        return self.hashes.of(number, self.reader)

    def take_rows(self) -> Rows:
        """What follows from the entries taken since this was last asked, to be kept beside them."""
        rows, self.rows = self.rows, Rows()
        return rows

    def forget_recent(self) -> None:
        """Look up from now on what has been kept in memory so far."""
        self._recent.clear()
        self._settlements.clear()

    def apply(self, entry: Entry) -> None:
        """Take one more entry into account."""
        head = self.hashes.head
        if entry.number != head + 1 or entry.previous != self.hash_of(head):
            raise LedgerDamaged(f"entry {entry.number} does not follow entry {head}", hint=RESTORE)
        if (entry.number == 1) != (entry.kind == "ledger"):
            raise LedgerDamaged(f"entry {entry.number} cannot be of kind {entry.kind!r}", hint=RESTORE)
        handler = getattr(self, f"_{entry.kind}", None)
        if entry.kind not in KINDS or handler is None:  # its hash is right, so somebody meant it
            raise LedgerTooNew(
                f"entry {entry.number} is of the kind {entry.kind!r}, which this giveortake does not know", hint=UPGRADE
            )
        try:
            handler(entry.number, entry.content)
            self._count_used(entry)
            self._list(entry)
        except (LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"entry {entry.number} does not fit the entries before it", hint=RESTORE) from error
        self.hashes.append(entry.hash)

    def _count_used(self, entry: Entry) -> None:
        """Note in which state an entry leaves filters, and what is used of their budgets."""
        shares = entry.content.get("used", {})
        for level, snapshot in entry.content.get("snapshots", {}).items():
            found = self.levels[int(level)]
            found.snapshot = snapshot
            share = shares.get(level)
            if share is None:
                self.unused = entry.number
            else:
                found.used = digest(f"{found.used} {entry.number} {share}")
                self.rows.used.append((found.number, entry.number, share))

    def _list(self, entry: Entry) -> None:
        """Note whose entry it is, if it is an analyst's, and where it is listed if it is a reservation."""
        owner = self.owner(entry)
        names = [] if owner is None else [entries_of(owner)]
        if entry.kind == "reserved":
            asker = entry.content["analyst"]
            askers = (None,) if asker is None else (None, asker)  # in one order, which checkpoints keep
            names += [asked_of(who, what) for who in askers for what in (None, entry.content["dataset"])]
        for name in names:
            known = self.lists.setdefault(name, Listed())
            known.count += 1
            known.numbers = digest(f"{known.numbers} {entry.number}")
            self.rows.lists.append((name, known.count, entry.number))

    def owner(self, entry: Entry) -> str | None:
        """The analyst who may read an entry: what they asked, what they were answered, what was said about them."""
        content = entry.content
        if entry.kind == "analyst":
            return str(content["name"])
        if entry.kind in _OF_ANALYSTS:
            return None if content.get("analyst") is None else str(content["analyst"])
        if entry.kind in OF_RESERVATIONS:
            found = self._as_reserved(content["reservation"])
            return None if found is None else found.analyst
        if entry.kind in {"budget", "forgiven"}:
            level = self.levels[content["level"]]
            return level.name if level.kind == "analyst" else None
        return None

    def agrees_with(self, mark: Point) -> bool:
        """Whether the mark needs no moving. A ledger that has forgotten what the mark remembers is refused."""
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

    @property
    def keys(self) -> Lookup[tuple[str | None, str], int]:
        """The reservation that an analyst's idempotency key stands for."""
        return Lookup(lambda asked: self._first("key", *asked))

    @property
    def ids(self) -> Lookup[str, int]:
        """The reservation that the id of a release names."""
        return Lookup(lambda asked: self._first("id", asked))

    @property
    def profiles(self) -> Lookup[str, list[int]]:
        """The reservations of profiles of a data set."""
        return Lookup(lambda dataset: self._numbers("profile", dataset) or None)

    @property
    def reservations(self) -> Lookup[int, Reserved]:
        """Reservations by their number."""
        return Lookup(self._reservation)

    @property
    def paid(self) -> Lookup[tuple[str | None, str], Paid]:
        """Stored answers, by who may see them, and the question."""
        return Lookup(lambda asked: self._paid(*asked))

    @property
    def unsettled(self) -> Lookup[tuple[str | None, str], int]:
        """The last reservation without an answer, by who asked it, and the question."""
        return Lookup(lambda asked: self._unsettled(*asked))

    def recent(self) -> Iterator[Reserved]:
        """The reservations in memory: all of them, where nothing is kept beside the entries."""
        return (self.reservations[number] for number in self._recent)

    def drawn(self, number: int, place: int) -> int | None:
        """The entry of what was drawn for a reservation at a place, if it was."""
        return self._first("drawn", number, place)

    def _numbers(self, kind: str, *parts: Json) -> list[int]:
        return self.finds.numbers(name_of(kind, *parts), self.reader)

    def _first(self, kind: str, *parts: Json) -> int | None:
        return next(iter(self._numbers(kind, *parts)), None)

    def _note(self, number: int, kind: str, *parts: Json) -> None:
        self.rows.finds.append(self.finds.add(number, name_of(kind, *parts)))

    def _as_reserved(self, number: int) -> Reserved | None:
        """A reservation as its own entry says it, whatever came later."""
        found = self._recent.get(number)
        if found is not None or not 0 < number <= self.hashes.base:
            return found
        entry = self.hashes.entry(number, self.reader)
        return self._reserved_as(number, dict(entry.content)) if entry.kind == "reserved" else None

    def _reservation(self, number: int) -> Reserved | None:
        found = self._as_reserved(number)
        if found is None or found.answer is not None:
            return found
        answer, failed = self._first("settled", number), self._first("failed", number) is not None
        return replace(found, answer=answer, failed=failed, lost=self.restored if self.restored > number else None)

    def _reserved_as(self, number: int, content: dict[str, Any]) -> Reserved:
        """A reservation as its own entry says it."""
        levels = tuple(map(int, content["levels"]))
        kind = "population" if content["analyst"] is None else "analyst"
        return Reserved(
            number,
            content["analyst"],
            content["dataset"],
            content["version"],
            question_digest(content),
            levels,
            content["answered_by"],
            content.get("id", f"{content['dataset']}/{number}"),  # as 0.1 named them
            tuple(level for level in levels if self.levels[level].kind == kind),
        )

    def _paid(self, payer: str | None, question: str) -> Paid | None:
        """The first entry that is found settled the question, and those after it paid for that answer."""
        found = self._numbers("paid", payer, question)
        if not found:
            return None
        first = self.reservations[self._settles(found[0])].levels
        later = [self.reservations[number].levels for number in found[1:]]
        return Paid(found[0], {level for levels in (first, *later) for level in levels})

    def _settles(self, number: int) -> int:
        if number in self._settlements:
            return self._settlements[number]
        return int(self.hashes.entry(number, self.reader).content["reservation"])

    def _unsettled(self, analyst: str | None, question: str) -> int | None:
        found = self._numbers("asked", analyst, question)
        if not found or found[-1] < self.restored or self.reservations[found[-1]].answer is not None:
            return None
        return found[-1]

    def population(self, name: str) -> Level:
        """The level of a population."""
        return self._found("population", name, self.populations)

    def dataset(self, name: str) -> DataSet:
        """A data set."""
        return self._found("data set", name, self.datasets)

    def dataset_for(self, name: str, analyst: str | None) -> DataSet:
        """A data set that an analyst may ask. One of somebody else is as unknown as one that never was."""
        if analyst is None:
            return self.dataset(name)
        if analyst in self.revoked:
            raise AccessDenied(f"the analyst {analyst!r} was revoked", hint="ask the custodian")
        if not self.grants_of(analyst, name):
            own = sorted({each for grant in self.grants_of(analyst) for each in grant.datasets})
            raise NotFound(
                f"there is no data set {name!r} for the analyst {analyst!r}",
                hint=f"there are: {', '.join(own) or 'none'}",
            )
        return self.dataset(name)

    def capped_above(self, datasets: Iterable[str]) -> list[Level]:
        """The levels that an allotment is taken from: its population, and those of its data sets that have a cap."""
        sets = [self.datasets[name] for name in datasets]
        return [self.populations[sets[0].population], *(each.level for each in sets if each.level.budget is not None)]

    def paid_key(self, content: dict[str, Any]) -> tuple[str | None, str] | None:
        """Under what a stored answer is found again: where analysts have allotments, only by who paid for it."""
        question = question_digest(content)
        if question is None:
            return None
        above = self.populations[self.datasets[content["dataset"]].population]
        return content["analyst"] if above.allotted else None, question

    def grants_of(self, analyst: str, dataset: str | None = None) -> list[Grant]:
        """What an analyst was granted, on one data set or on any."""
        return [
            grant
            for (name, datasets), grant in self.grants.items()
            if name == analyst and (dataset is None or dataset in datasets)
        ]

    def _found(self, what: str, name: str, among: dict[str, Found]) -> Found:
        if name not in among:
            there = ", ".join(among) or "none"
            raise NotFound(f"the ledger has no {what} {name!r}", hint=f"there are: {there}")
        return among[name]

    # -- one method for each kind of entry --------------------------------------------------------------------

    def _ledger(self, _number: int, content: dict[str, Any]) -> None:
        if content["format"] != FORMAT:
            raise LedgerTooNew(f"this giveortake does not know the format {content['format']!r}", hint=UPGRADE)
        self.ledger = content["ledger"]

    def _population(self, number: int, content: dict[str, Any]) -> None:
        self.populations[content["name"]] = self._level(number, "population", content, content["budget"]["neighbours"])

    def _dataset(self, number: int, content: dict[str, Any]) -> None:
        level = self._level(number, "data set", content, self.populations[content["population"]].neighbours)
        self.datasets[content["name"]] = DataSet(
            level,
            content["population"],
            level.unit,
            content["rows_per_person"],
            content["domains"],
            [],
        )
        self._version(number, content)

    def _rekeyed(self, _number: int, content: dict[str, Any]) -> None:
        versions = self.datasets[content["name"]].versions
        place = [name for name, _ in versions].index(content["version"])
        versions[place] = content["version"], content["fingerprint"]
        self.fingerprints.setdefault(content["fingerprint"], content["name"])

    def _declared(self, number: int, content: dict[str, Any]) -> None:
        self.datasets[content["name"]].domains = content["domains"]
        self._version(number, content)

    def _version(self, _number: int, content: dict[str, Any]) -> None:
        self.datasets[content["name"]].versions.append((content["version"], content["fingerprint"]))
        if content["fingerprint"] is not None:
            self.fingerprints.setdefault(content["fingerprint"], content["name"])

    def _analyst(self, number: int, content: dict[str, Any]) -> None:
        datasets = tuple(content["datasets"])
        level = self._level(number, "analyst", content, self.datasets[datasets[0]].level.neighbours)
        self.grants[content["name"], datasets] = Grant(level, content["name"], datasets)
        self._allot(level, content)

    def _allot(self, level: Level, content: dict[str, Any]) -> None:
        """Count what a grant takes from the levels above it."""
        assert level.budget is not None or "above" not in content  # noqa: S101 (what takes nothing has no budget)
        for above, taken in content.get("above", {}).items():
            giver = self.levels[int(above)]
            giver.allotments[level.number] = larger(giver.allotments.get(level.number), level.budget)  # type: ignore[arg-type]  # (see above)
            if "rest" in taken:
                giver.guarded, giver.initial = promise_from_json(taken["rest"]), taken["filter"]
            else:
                giver.granted[level.number] = taken["event"]
                giver.charged = True

    def grant_of(self, level: Level) -> Grant | None:
        """The grant that a level belongs to, if it is an analyst's."""
        return next((grant for grant in self.grants.values() if grant.level is level), None)

    def _revoked(self, _number: int, content: dict[str, Any]) -> None:
        self.revoked.add(content["analyst"])

    def _readmitted(self, _number: int, content: dict[str, Any]) -> None:
        self.revoked.discard(content["analyst"])

    def _reserved(self, number: int, content: dict[str, Any]) -> None:
        reserved = self._reserved_as(number, content)
        if content["key"] is not None:
            if (content["analyst"], content["key"]) in self.keys:
                raise LedgerDamaged(f"entry {number} uses an idempotency key twice", hint=RESTORE)
            self._note(number, "key", content["analyst"], content["key"])
        self._recent[number] = reserved
        self._note(number, "id", reserved.id)
        self.asked += 1
        self.before_0_2 |= "id" not in content
        for level in reserved.levels:
            self.levels[level].charged = True
        if reserved.answer is None:
            for level in reserved.own:
                self.levels[level].asked += 1
            if reserved.question is not None:
                self._note(number, "asked", content["analyst"], reserved.question)
        elif reserved.question is not None:
            payer = self._payer(reserved)
            if self._first("paid", payer, reserved.question) is None:
                raise LedgerDamaged(f"entry {number} gives out an answer that is not there", hint=RESTORE)
            if reserved.levels:
                self._note(number, "paid", payer, reserved.question)
        for name in approval_digests(content) if self.requests else ():
            if (request := self.requests.pop(name, None)) is not None:
                request.state = "used"
        if isinstance(content["request"], dict) and "profile" in content["request"]:
            self._note(number, "profile", content["dataset"])

    def _payer(self, reserved: Reserved) -> str | None:
        """Who may see a stored answer: where analysts have allotments, only who paid for it; else everybody."""
        return reserved.analyst if self.populations[self.datasets[reserved.dataset].population].allotted else None

    def _settled(self, number: int, content: dict[str, Any]) -> None:
        reserved = self.reservations.get(content["reservation"])
        if reserved is None or reserved.answer is not None:
            raise LedgerDamaged(f"entry {number} settles what is not waiting for an answer", hint=RESTORE)
        self._note(number, "settled", reserved.number)
        self._settlements[number] = reserved.number
        if reserved.question is not None:
            payer = self._payer(reserved)
            if self._first("paid", payer, reserved.question) is None:
                self._note(number, "paid", payer, reserved.question)

    def _drawn(self, number: int, content: dict[str, Any]) -> None:
        reserved, place = self.reservations.get(content["reservation"]), content["place"]
        if reserved is None or reserved.answer is not None or not self.is_next(reserved.number, place):
            raise LedgerDamaged(f"entry {number} was drawn for what is not waiting for it", hint=RESTORE)
        self._note(number, "drawn", reserved.number, place)
        for level in reserved.own:
            self.levels[level].steps += 1

    def is_next(self, number: int, place: int) -> bool:
        """Whether as many draws as this place says were kept for a reservation, and no more."""
        if type(place) is not int or place < 0:  # True would be another place than 1
            return False
        return self.drawn(number, place) is None and (place == 0 or self.drawn(number, place - 1) is not None)

    def _failed(self, number: int, content: dict[str, Any]) -> None:
        reserved = self.reservations[content["reservation"]]
        if not reserved.failed:
            self._note(number, "failed", reserved.number)
        self._count_failure(reserved)

    def _repeated(self, _number: int, content: dict[str, Any]) -> None:
        self._count_failure(self.reservations[content["reservation"]])

    def _count_failure(self, reserved: Reserved) -> None:
        for level in reserved.own:
            self.levels[level].failed += 1
            self.levels[level].failed_ever += 1

    def _forgiven(self, _number: int, content: dict[str, Any]) -> None:
        self.levels[content["level"]].failed = 0

    def _requested(self, number: int, content: dict[str, Any]) -> None:
        name = content.get("id", number)  # which 0.1 had not
        asked = approval_digest(content) if "id" in content else digest(canonical(content))  # as 0.1 named it
        new = Requested(number, name, asked, content["analyst"])
        self.requests[new.digest] = self.requests_by_id[new.id] = new

    def _approved(self, number: int, content: dict[str, Any]) -> None:
        request = self.requests[content["request"]]
        request.state, request.decision, request.expires = "approved", number, content.get("expires")

    def _denied(self, number: int, content: dict[str, Any]) -> None:
        request = self.requests[content["request"]]
        request.state, request.decision, request.expires = "denied", number, None

    def _token(self, number: int, content: dict[str, Any]) -> None:
        if content["id"] in self.tokens:
            raise LedgerDamaged(f"entry {number} issues a token twice", hint=RESTORE)
        self.tokens[content["id"]] = Token(
            number, content["id"], content["analyst"], content["hash"], content["expires"]
        )

    def _withdrawn(self, _number: int, content: dict[str, Any]) -> None:
        self.tokens[content["token"]].revoked = True

    def _budget(self, _number: int, content: dict[str, Any]) -> None:
        level = self.levels[content["level"]]
        level.budget = promise_from_json(content["budget"])
        level.guarded, level.initial = level.budget, content["filter"]
        level.closed = None
        if "rest" in content:
            level.guarded, level.granted = promise_from_json(content["rest"]), {}
        self._allot(level, content)

    def _checkpoint(self, _number: int, _content: dict[str, Any]) -> None:
        """It says what the entries before it say: see `checkpoints`."""

    def _moved(self, number: int, content: dict[str, Any]) -> None:
        if content["what"] == "mark":
            self.moved = number

    def _restored(self, number: int, content: dict[str, Any]) -> None:
        for level in content["closed"]:
            self.levels[level].closed = number
        self.restored = number
        for charged in map(int, content["levels"]):
            self.levels[charged].charged = True
        if content["event"] is None:
            self.lost = number

    def _level(self, number: int, kind: str, content: dict[str, Any], neighbours: Neighbours) -> Level:
        budget, approval = content["budget"], content["approval_above"]
        level = Level(
            number,
            kind,
            content["name"],
            Unit(content["unit"]),
            neighbours,
            None if budget is None else promise_from_json(budget),
            None if approval is None else promise_from_json(approval),
            closed=None if budget is None else self.lost,
            allotted=content.get("analysts") == "allotted",
            initial=content.get("filter"),
            failures=content.get("failures", FAILURES),
            questions=content.get("questions"),
        )
        level.guarded = level.budget
        self.levels[number] = level
        return level


KINDS = frozenset(
    {
        "analyst",
        "approved",
        "budget",
        "checkpoint",
        "dataset",
        "declared",
        "denied",
        "drawn",
        "failed",
        "forgiven",
        "ledger",
        "moved",
        "population",
        "readmitted",
        "rekeyed",
        "repeated",
        "requested",
        "reserved",
        "restored",
        "revoked",
        "settled",
        "token",
        "version",
        "withdrawn",
    }
)


_OF_ANALYSTS = frozenset({"reserved", "requested", "approved", "denied", "revoked", "readmitted"})
OF_RESERVATIONS = frozenset({"drawn", "settled", "failed", "repeated"})


def entries_of(analyst: str) -> str:
    """The name of the list of an analyst's entries."""
    return canonical(["entries", analyst])


def asked_of(analyst: str | None, dataset: str | None) -> str:
    """The name of the list of reservations, of everybody or of one analyst, of all data sets or of one."""
    return canonical(["asked", analyst, dataset])


_ASKED = ("analyst", "dataset", "event", "key", "question", "request")


def request_digest(content: dict[str, Any]) -> str:
    """What an idempotency key stands for, in 64 characters: everything that was asked, but not when."""
    return digest(canonical({name: content.get(name) for name in _ASKED}))


def approval_digest(content: dict[str, Any]) -> str:
    """What an approval is for: what was asked, of which version of the data; with `any_key`, under whatever key."""
    names = (name for name in (*_ASKED, "version") if not (name == "key" and "any_key" in content))
    return digest(canonical({name: content.get(name) for name in names}))


def approval_digests(content: dict[str, Any]) -> tuple[str, str]:
    """The names under which a spend may have been approved: whatever its key is, and by its key."""
    return approval_digest(content | {"any_key": True}), approval_digest(content)


def question_digest(content: dict[str, Any]) -> str | None:
    """What a stored answer answers: the question, the data version it was asked of, and what was spent on it."""
    if content["question"] is None:
        return None
    return digest(canonical({name: content[name] for name in ("dataset", "event", "question", "version")}))


def charges(entry: Entry) -> Iterator[tuple[int, Any]]:
    """The levels that an entry charges, each with the event in its own unit, as JSON."""
    if entry.kind in {"reserved", "restored"}:
        for level, grouped in entry.content["levels"].items():
            yield int(level), grouped or entry.content["event"]
