"""What the entries of a ledger say, taken together: a pure fold over the chain, with no opinion of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, final

from giveortake.errors import AccessDenied, LedgerDamaged, LedgerRolledBack, LedgerTooNew, NotFound
from giveortake.ledger.allotments import larger
from giveortake.ledger.entries import FORMAT, NOTHING, RESTORE, UPGRADE, Entry, Point, canonical, digest
from giveortake.ledger.levels import FAILURES, DataSet, Grant, Level, Paid, Requested, Reserved, Token
from giveortake.ledger.promises import promise_from_json
from giveortake.privacy import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.privacy import Neighbours

_HASH = 32  # bytes
Found = TypeVar("Found")


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
    keys: dict[tuple[str | None, str], int] = field(default_factory=dict)
    reservations: dict[int, Reserved] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    paid: dict[tuple[str | None, str], Paid] = field(default_factory=dict)  # by who may see it, and the question
    unsettled: dict[tuple[str | None, str], int] = field(default_factory=dict)  # by who asked it, and the question
    requests: dict[str, Requested] = field(default_factory=dict)  # the last that needed approval, by what was asked
    requests_by_id: dict[int, Requested] = field(default_factory=dict)  # all of them
    tokens: dict[str, Token] = field(default_factory=dict)
    profiles: dict[str, list[int]] = field(default_factory=dict)  # reservations of profiles, by data set
    before_0_2: bool = False  # whether anything was asked by an earlier version
    moved: int | None = None  # the entry that says that the mark left its place beside the ledger
    lost: int | None = None  # the last restoration after which nobody knows what was spent
    _hashes: bytearray = field(default_factory=bytearray)

    @property
    def head(self) -> Point:
        """The last entry."""
        number = len(self._hashes) // _HASH
        return Point(self.ledger, number, self.hash_of(number))

    def hash_of(self, number: int) -> str:
        """The hash of one entry."""
        return self._hashes[(number - 1) * _HASH : number * _HASH].hex() if number else NOTHING

    def apply(self, entry: Entry) -> None:
        """Take one more entry into account."""
        if entry.number != self.head.number + 1 or entry.previous != self.head.hash:
            raise LedgerDamaged(f"entry {entry.number} does not follow entry {self.head.number}", hint=RESTORE)
        if (entry.number == 1) != (entry.kind == "ledger"):
            raise LedgerDamaged(f"entry {entry.number} cannot be of kind {entry.kind!r}", hint=RESTORE)
        handler = getattr(self, f"_{entry.kind}", None)
        if entry.kind not in KINDS or handler is None:  # its hash is right, so somebody meant it
            raise LedgerTooNew(
                f"entry {entry.number} is of the kind {entry.kind!r}, which this giveortake does not know", hint=UPGRADE
            )
        try:
            handler(entry.number, entry.content)
            for level, snapshot in entry.content.get("snapshots", {}).items():
                self.levels[int(level)].snapshot = snapshot
        except (LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"entry {entry.number} does not fit the entries before it", hint=RESTORE) from error
        self._hashes += bytes.fromhex(entry.hash)

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
        question = question_digest(content)
        answer = content["answered_by"]
        levels = tuple(map(int, content["levels"]))
        kind = "population" if content["analyst"] is None else "analyst"
        own = tuple(level for level in levels if self.levels[level].kind == kind)
        self.reservations[number] = Reserved(
            number,
            content["analyst"],
            content["dataset"],
            content["version"],
            question,
            levels,
            answer,
            content.get("id", f"{content['dataset']}/{number}"),  # as 0.1 named them
            own,
        )
        self.ids[self.reservations[number].id] = number
        self.before_0_2 |= "id" not in content
        for level in levels:
            self.levels[level].charged = True
        for level in own if answer is None else ():
            self.levels[level].asked += 1
        if content["key"] is not None:
            if (content["analyst"], content["key"]) in self.keys:
                raise LedgerDamaged(f"entry {number} uses an idempotency key twice", hint=RESTORE)
            self.keys[content["analyst"], content["key"]] = number
        key = self.paid_key(content)
        if answer is not None and key is not None:
            self.paid[key].levels.update(levels)
        if answer is None and question is not None:
            self.unsettled[content["analyst"], question] = number
        if self.requests and (request := self.requests.pop(approval_digest(content), None)) is not None:
            request.state = "used"
        if isinstance(content["request"], dict) and "profile" in content["request"]:
            self.profiles.setdefault(content["dataset"], []).append(number)

    def _settled(self, number: int, content: dict[str, Any]) -> None:
        reserved = self.reservations.get(content["reservation"])
        if reserved is None or reserved.answer is not None:
            raise LedgerDamaged(f"entry {number} settles what is not waiting for an answer", hint=RESTORE)
        reserved.answer = number
        if reserved.question is not None:
            above = self.populations[self.datasets[reserved.dataset].population]
            payer = reserved.analyst if above.allotted else None
            self.paid.setdefault((payer, reserved.question), Paid(number, set(reserved.levels)))
            if self.unsettled.get((reserved.analyst, reserved.question)) == reserved.number:
                del self.unsettled[reserved.analyst, reserved.question]

    def _drawn(self, number: int, content: dict[str, Any]) -> None:
        reserved = self.reservations.get(content["reservation"])
        if reserved is None or reserved.answer is not None or content["place"] != len(reserved.drawn):
            raise LedgerDamaged(f"entry {number} was drawn for what is not waiting for it", hint=RESTORE)
        reserved.drawn.append(number)
        for level in reserved.own:
            self.levels[level].steps += 1

    def _failed(self, _number: int, content: dict[str, Any]) -> None:
        reserved = self.reservations[content["reservation"]]
        reserved.failed = True
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
        new = Requested(number, name, approval_digest(content), content["analyst"])
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

    def _moved(self, number: int, content: dict[str, Any]) -> None:
        if content["what"] == "mark":
            self.moved = number

    def _restored(self, number: int, content: dict[str, Any]) -> None:
        for level in content["closed"]:
            self.levels[level].closed = number
        for reserved in self.reservations.values():
            if reserved.answer is None:
                reserved.lost = number
        self.unsettled.clear()
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


_ASKED = ("analyst", "dataset", "event", "key", "question", "request")


def request_digest(content: dict[str, Any]) -> str:
    """What an idempotency key stands for, in 64 characters: everything that was asked, but not when."""
    return digest(canonical({name: content.get(name) for name in _ASKED}))


def approval_digest(content: dict[str, Any]) -> str:
    """What an approval is for: what was asked, of which version of the data."""
    return digest(canonical({name: content.get(name) for name in (*_ASKED, "version")}))


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
