"""The records in a book: levels that are charged, data sets, grants, reservations and stored answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

from giveortake.ledger.entries import NOTHING

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee, Neighbours, Unit

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
class Reserved:
    """One reservation, and the entry that holds its answer, once there is one."""

    number: int
    analyst: str | None
    dataset: str
    version: str
    question: str | None
    levels: tuple[int, ...]
    answer: int | None
    id: str
    own: tuple[int, ...] = ()  # the levels of the asker alone
    failed: bool = False
    lost: int | None = None  # the restoration after which nobody knows whether it was answered


@final
@dataclass(slots=True)
class Paid:
    """A stored answer, the levels that have paid for it, and the first reservation by which each asker did."""

    answer: int
    levels: set[int]
    by: dict[str | None, int]


@final
@dataclass(slots=True)
class Token:
    """A secret that lets somebody in: a custodian, or an analyst. `hash` is the SHA-256 of its text."""

    number: int
    id: str
    analyst: str | None  # None: a custodian
    hash: str
    expires: str
    revoked: bool = False


@final
@dataclass(slots=True)
class Requested:
    """A large spend that somebody asked for, and what the custodian decided. `digest` says what was asked."""

    number: int
    id: int
    digest: str
    analyst: str | None
    state: Literal["waiting", "approved", "denied", "used"] = "waiting"
    decision: int | None = None  # the entry that says so
    expires: str | None = None  # until when an approval may be used
