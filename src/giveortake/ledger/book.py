"""The book: the state of a ledger in memory, a pure fold over the entries of its chain.

What is small stays in memory, and a checkpoint writes it down (`checkpoints`); what grows with every charge is looked
up (`finds`), and read from the entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from giveortake.advice import Advice
from giveortake.errors import AccessDenied, LedgerDamaged, LedgerRolledBack, LedgerTooNew, NotFound
from giveortake.ledger.digests import asked_of, entries_of, question_digest
from giveortake.ledger.entries import NOTHING, RESTORE, UPGRADE, Entry, Point, digest
from giveortake.ledger.finds import Finds, name_of
from giveortake.ledger.hashes import Hashes
from giveortake.ledger.kinds import KINDS
from giveortake.ledger.levels import DataSet, Grant, Level, Paid, Requested, Reserved, Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from giveortake.ledger.entries import Json
    from giveortake.ledger.store import Transaction

Found = TypeVar("Found")
Asked = TypeVar("Asked")

_OF_ANALYSTS = frozenset({"alias", "reserved", "requested", "approved", "denied", "revoked", "readmitted"})
OF_RESERVATIONS = frozenset({"defect", "drawn", "settled", "failed", "repeated"})


@final
@dataclass(frozen=True, slots=True)
class Lookup(Generic[Asked, Found]):
    """A read-only mapping that looks up each value when it is asked for."""

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
    """Rows of the index tables, which follow from entries and are stored beside them."""

    finds: list[tuple[int, int, bytes]] = field(default_factory=list)  # bucket, number, name
    lists: list[tuple[str, int, int]] = field(default_factory=list)  # name, place, number
    used: list[tuple[int, int, str]] = field(default_factory=list)  # level, number, share


@final
@dataclass(slots=True)
class Listed:
    """The length of a list of entries, and a chained hash of their numbers."""

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
    requests_by_id: dict[int, Requested] = field(default_factory=dict)  # open ones, and the last closed ones
    tokens: dict[str, Token] = field(default_factory=dict)
    lost: int | None = None  # the last restoration after which nobody knows what was spent
    restored: int = 0  # the last restoration: what had no answer then will never have one
    asked: int = 0  # reservations
    lists: dict[str, Listed] = field(default_factory=dict)  # of entries: those of an analyst, and what was asked
    # -- beside what a checkpoint writes down
    hashes: Hashes = field(default_factory=Hashes)
    finds: Finds = field(default_factory=Finds)
    reader: Transaction | None = None  # reads what is not in memory
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
        """Return the index rows of the entries applied since the last call, to be stored beside them."""
        rows, self.rows = self.rows, Rows()
        return rows

    def remember(self, reserved: Reserved) -> None:
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
        handler = KINDS.get(entry.kind)
        if handler is None:  # its hash is right, so a later version wrote it
            raise LedgerTooNew(
                f"entry {entry.number} is of the kind {entry.kind!r}, which this giveortake does not know", hint=UPGRADE
            )
        try:
            handler(self, entry.number, entry.content)
            self._count_used(entry)
            self._list(entry)
        except (LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"entry {entry.number} does not fit the entries before it", hint=RESTORE) from error
        self.hashes.append(entry.hash)

    def _count_used(self, entry: Entry) -> None:
        """Note the filter states that an entry leaves, and how much of their budgets is used."""
        for level, snapshot in entry.content.get("snapshots", {}).items():
            found, share = self.levels[int(level)], entry.content["used"][level]
            found.snapshot = snapshot
            found.used = digest(f"{found.used} {entry.number} {share}")
            self.rows.used.append((found.number, entry.number, share))

    def _list(self, entry: Entry) -> None:
        """Add an entry to the list of its analyst, and a reservation to the lists of what was asked."""
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
        """Return the analyst who may read an entry, as it is about them or what they asked; None if nobody."""
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

    @property
    def keys(self) -> Lookup[tuple[str | None, str], int]:
        """The reservation made under an analyst's idempotency key."""
        return Lookup(lambda asked: self.first("key", *asked))

    @property
    def aliases(self) -> Lookup[tuple[str | None, str], int]:
        """The entry that remembers a further key of an analyst, for a release that was paid before."""
        return Lookup(lambda asked: self.first("alias", *asked))

    @property
    def ids(self) -> Lookup[str, int]:
        """The reservation with this release id."""
        return Lookup(lambda asked: self.first("id", asked))

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
        """Stored answers, by who may see them and the digest of the question."""
        return Lookup(lambda asked: self._paid(*asked))

    @property
    def unsettled(self) -> Lookup[tuple[str | None, str], int]:
        """The last reservation, if it has no answer yet, by who asked and the digest of the question."""
        return Lookup(lambda asked: self._unsettled(*asked))

    def drawn(self, number: int, place: int) -> int | None:
        """The entry that holds a reservation's draw at a place; None if there is none."""
        return self.first("drawn", number, place)

    def _numbers(self, kind: str, *parts: Json) -> list[int]:
        return self.finds.numbers(name_of(kind, *parts), self.reader)

    def aliased(self, analyst: str | None, release: str) -> int:
        """How many further keys an asker has for a release."""
        return len(self._numbers("aliased", analyst, release))

    def askers(self, analyst: str | None, dataset: str) -> list[Level]:
        """The levels that count what somebody asks: an analyst's own, or the population's for the custodian."""
        if analyst is None:
            return [self.populations[self.datasets[dataset].population]]
        return [grant.level for grant in self.grants_of(analyst, dataset)]

    def first(self, kind: str, *parts: Json) -> int | None:
        """The first entry noted under this kind and these parts; None if there is none."""
        return next(iter(self._numbers(kind, *parts)), None)

    def note(self, number: int, kind: str, *parts: Json) -> None:
        """Note the kind and the parts by which an entry is found."""
        self.rows.finds.append(self.finds.add(number, name_of(kind, *parts)))

    def _as_reserved(self, number: int) -> Reserved | None:
        """A reservation as its own entry states it, without what came later; None if it is none."""
        found = self._recent.get(number)
        if found is not None or not 0 < number <= self.hashes.base:
            return found
        entry = self.hashes.entry(number, self.reader)
        return self.reserved_as(number, entry.content) if entry.kind == "reserved" else None

    def _reservation(self, number: int) -> Reserved | None:
        found = self._as_reserved(number)
        if found is None or found.answer is not None:
            return found
        answer, failed = self.first("settled", number), self.first("failed", number) is not None
        return replace(found, answer=answer, failed=failed, lost=self.restored if self.restored > number else None)

    def reserved_as(self, number: int, content: Mapping[str, Any]) -> Reserved:
        """Build a reservation from the content of its entry."""
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
            content["id"],
            tuple(level for level in levels if self.levels[level].kind == kind),
        )

    def _paid(self, payer: str | None, question: str) -> Paid | None:
        """A stored answer: the first entry found settled the question, the later ones paid for that answer too."""
        found = self._numbers("paid", payer, question)
        if not found:
            return None
        payers = [self.reservations[number] for number in (self._settles(found[0]), *found[1:])]
        by = {each.analyst: each.number for each in reversed(payers)}  # the first of each
        return Paid(found[0], {level for each in payers for level in each.levels}, by)

    def _settles(self, number: int) -> int:
        if number in self._settlements:
            return self._settlements[number]
        return int(self.hashes.entry(number, self.reader).content["reservation"])

    def _unsettled(self, analyst: str | None, question: str) -> int | None:
        found = self._numbers("asked", analyst, question)
        if not found or found[-1] < self.restored or self.reservations[found[-1]].answer is not None:
            return None
        return found[-1]

    def grant_of(self, level: Level) -> Grant | None:
        """The grant that a level belongs to, if it is an analyst's."""
        return next((grant for grant in self.grants.values() if grant.level is level), None)

    def is_next(self, number: int, place: int) -> bool:
        """Whether exactly `place` draws are stored for a reservation so far."""
        if type(place) is not int or place < 0:  # True would be another place than 1
            return False
        return self.drawn(number, place) is None and (place == 0 or self.drawn(number, place - 1) is not None)

    def population(self, name: str) -> Level:
        """The level of a population."""
        return self._found("population", name, self.populations)

    def dataset(self, name: str) -> DataSet:
        """The data set of this name."""
        return self._found("data set", name, self.datasets)

    def dataset_for(self, name: str, analyst: str | None) -> DataSet:
        """A data set that an analyst may ask; any other is as unknown as one that never existed."""
        if analyst is None:
            return self.dataset(name)
        if analyst in self.revoked:
            raise AccessDenied(f"the analyst {analyst!r} was revoked", hint="ask the custodian")
        if not self.grants_of(analyst, name):
            own = sorted({each for grant in self.grants_of(analyst) for each in grant.datasets})
            raise NotFound(
                f"there is no data set {name!r} for the analyst {analyst!r}",
                hint=f"there are: {', '.join(own)}" if own else Advice("the custodian lets them ask: {admit}"),
            )
        return self.dataset(name)

    def capped_above(self, datasets: Iterable[str]) -> list[Level]:
        """The levels that an allotment is taken from: its population, and those of its data sets that have a cap."""
        sets = [self.datasets[name] for name in datasets]
        return [self.populations[sets[0].population], *(each.level for each in sets if each.level.budget is not None)]

    def paid_key(self, content: Mapping[str, Any]) -> tuple[str | None, str] | None:
        """The key of a stored answer: where analysts have allotments, only whoever paid finds it."""
        question = question_digest(content)
        if question is None:
            return None
        above = self.populations[self.datasets[content["dataset"]].population]
        return content["analyst"] if above.allotted else None, question

    def grants_of(self, analyst: str, dataset: str | None = None) -> list[Grant]:
        """The grants of an analyst, for one data set or for any."""
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
