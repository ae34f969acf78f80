"""Requests: everything that can be bought is one kind of thing.

1. A *request* is what somebody wants, without a session: a query, a batch, a workload, a counter, a profile, a fit, …
2. *Bound* to the tables of a session, its caps are resolved, and what cannot be answered is refused.
3. At a spend it has a *measurement*: what is asked of the engine, the noise, and the event that is charged. `priced`
   says why this spend, if it was chosen here.
4. The *charge* is in the ledger, durably and at every level, before a row is read. Nothing refunds it.
5. *Steps* draw, once. Whoever reads a release again runs the same measurement on steps that are all there.
6. A *release* is made of the steps. This is post-processing, and always free.

A kind of request supplies only what is its own: `InteractiveMechanism` quotes, charges, draws and reads all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping  # noqa: TC003 (the codec reads hints)
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, final

from giveortake import codec
from giveortake.answers.terms import Caps, Confidence
from giveortake.caching import cached
from giveortake.compile import Spend, Terms
from giveortake.errors import InvalidParameter, MechanismSpent, Unprovable
from giveortake.ledger import Charge
from giveortake.plan import Value  # noqa: TC001 (the codec reads hints)
from giveortake.session.refusals import gaussian_event, too_dear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from giveortake.answers import Answer
    from giveortake.errors import BudgetExceeded
    from giveortake.ledger import Reservation, TrialFilter
    from giveortake.ledger.budget_status import Admission
    from giveortake.plan import Origin
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.steps import InnerFilter, Steps


class Measurement(Protocol):
    """What a spend buys: it is made without reading rows."""

    @property
    def spend(self) -> Spend:
        """The spend, with the δ for finding keys if there are any to find."""


KINDS = {
    "query": "giveortake.session.kinds.queries",
    "batch": "giveortake.session.kinds.queries",
    "refinement": "giveortake.session.kinds.queries",
    "workload": "giveortake.session.kinds.workloads",
    "profile": "giveortake.session.profiles.profile",
    "counter": "giveortake.session.kinds.counters",
    "weights": "giveortake.session.kinds.weights",
    "fit": "giveortake.learn.noisy_sums",
    "synthesis": "giveortake.synth.synthesis",
}  # every kind of request, and the module that has it: imported when a document names it

_Class = TypeVar("_Class", bound="type[Request]")


def request(kind: str) -> Callable[[_Class], _Class]:
    """Register a dataclass as a kind of request: in the ledger, over HTTP and in tests."""

    def register(requested: _Class) -> _Class:
        assert kind in KINDS  # noqa: S101 (one table has all kinds)
        requested.kind = kind
        return codec.stored(kind)(requested)

    return register


def request_of(document: Any, origin: Origin) -> Request:
    """The request that a document holds, about the tables of a session."""
    kind = document.get(codec.KIND) if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidParameter("request", "kind", f"is none of {', '.join(KINDS)}", hint='{"kind": "profile", …}')
    import_module(KINDS[kind])
    made: Request = codec.read(Request, document, references=origin, what="request")
    return made


class Request(ABC):
    """What somebody wants to buy, without a session, a price or a row. A dataclass, written by its fields.

    `kind` is its stored tag, and `without` are the terms that have no meaning for it.
    """

    kind: ClassVar[str]
    without: ClassVar[tuple[str, ...]] = ()
    refusals: ClassVar[Mapping[str, tuple[str, Any]]] = {}  # why a term has no meaning here, and what to do instead

    def terms(self, stated: Mapping[str, Any]) -> Terms:
        """The stated terms, checked; those that have no meaning here are refused by name."""
        for name, value in stated.items():
            if name in self.refusals and value is not None:
                problem, hint = self.refusals[name]
                raise InvalidParameter(name, value, problem, hint=hint)
        return Terms.of(stated, without=self.without)

    @abstractmethod
    def bind(self, mechanism: InteractiveMechanism, terms: Terms) -> Bound[Any]:
        """The request on the tables of a session. Nothing is charged, and no row is read."""

    def bind_paid(self, mechanism: InteractiveMechanism, terms: Terms, parts: Sequence[PaidPart]) -> Bound[Any]:
        """The request as it was paid for: with the caps that were resolved then."""
        return self.bind(mechanism, replace(terms, caps=parts[0].caps))


@final
@dataclass(frozen=True, slots=True)
class PaidPart:
    """What was paid for one question of a request, or for all of it: the spend, the resolved caps, the text in SQL."""

    spend: Spend
    caps: Caps
    sql: str | None = None


@final
@dataclass(frozen=True, slots=True)
class PartOfTables:
    """The part of a partition that a request was about."""

    column: str
    value: Value
    parts_per_person: int


FORMAT = 1  # of records


@final
@codec.stored("release")
@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What the ledger keeps of a release, so that it can be read again by its id. It decides nothing.

    `request` is a text: plans may nest deeper than entries. `declared` says under which declarations it was asked;
    `tables` is how many tables it has, if it is made of tables; `why` says why its spend was chosen.
    """

    declared: str
    confidence: Confidence
    request: str
    spend: Spend
    parts: tuple[PaidPart, ...]
    tables: int = 1
    is_interactive: bool = False
    part: PartOfTables | None = None
    why: str | None = None
    format: int = FORMAT

    @classmethod
    def of(cls, content: object) -> Record | None:
        """The record that a ledger kept; None if there is none, or a later version wrote it."""
        if not isinstance(content, dict) or content.get("format", FORMAT) != FORMAT:
            return None
        record: Record = codec.read(Record, content, what="record")
        return record


_Measurement = TypeVar("_Measurement", bound=Measurement)


class Bound(ABC, Generic[_Measurement]):
    """A request on the tables of a session, with resolved caps. Whatever cannot be answered was refused."""

    kind: ClassVar[str]
    interactive: ClassVar[bool] = False  # whether the asker steers it, one step a call
    any_version: ClassVar[bool] = False  # whether it decides itself from which versions of the tables it draws
    hint: ClassVar[Any] = 'share="5 %", or margin=50, or epsilon="0.1"'
    instead: ClassVar[Any] = None  # what to do where a budget has no price for it at all
    mechanism: InteractiveMechanism
    request: Request
    caps: Caps

    # -- what it costs ------------------------------------------------------------------------------------------

    @abstractmethod
    def at(self, spend: Spend) -> _Measurement:
        """The measurement that a spend buys."""

    @abstractmethod
    def event(self, measurement: _Measurement) -> Event:
        """The event that is charged."""

    def event_at(self, spend: Spend) -> Event:
        """The event that is charged at a spend."""
        return self.event(self.at(spend))

    @abstractmethod
    def promise(self, measurement: _Measurement) -> Guarantee:
        """The promise that the whole release keeps."""

    @abstractmethod
    def kinds(self, terms: Terms, trial: TrialFilter) -> list[Spend]:
        """The kinds of noise that may be chosen for a margin or a share: a spend of 1 in the currency of each."""

    def pure(self, spend: Spend) -> Spend | None:
        """The pure spend at the ε of an (ε, δ), if Laplace noise may be taken for it; else None."""
        return None

    def other(self, spend: Spend) -> Spend | None:
        """Another spend that keeps the promise of a stated one, and is taken where it is better and no dearer."""
        return self.pure(spend)

    def width(self, measurement: _Measurement, terms: Terms) -> float:
        """The typical width of its intervals, by which kinds of noise are compared."""
        raise NotImplementedError

    def narrower(self, percent: float) -> str:
        """By how much a typical width is less than another, in words."""
        return f"intervals are {percent:.0f} % narrower"

    def widest(self, measurement: _Measurement, terms: Terms) -> float:
        """The greatest margin of its columns; a request without widths takes no `margin`."""
        raise NotImplementedError

    def refused(self, priced: Priced[_Measurement], event: Event, refusal: BudgetExceeded) -> BudgetExceeded:
        """The ledger's refusal, in the terms of the request."""
        spend = priced.spend
        return too_dear(self.mechanism, str(spend), spend, event, refusal, event_at=self.about, instead=self.instead)

    def about(self, spend: Spend) -> Event:
        """About what is charged at a spend, for hints what would fit."""
        return gaussian_event(spend)

    # -- what names and describes it ----------------------------------------------------------------------------

    @abstractmethod
    def name(self, measurement: _Measurement) -> dict[str, Any]:
        """What identifies the measurement: not its text, its order or its confidence."""

    @abstractmethod
    def words(self, measurement: _Measurement) -> str:
        """What is wanted, in words for the ledger."""

    def parts(self, measurement: _Measurement) -> tuple[PaidPart, ...]:
        """What is paid for each of its questions, or for all of it."""
        return (PaidPart(measurement.spend, self.caps),)

    @property
    def tables(self) -> int:
        """How many tables its release has; 0 if it is a model."""
        return 1

    @property
    def is_recorded(self) -> bool:
        """Whether its release can be read by its id."""
        return True

    def key(self, stated: str | None, charge: Charge) -> str | None:
        """The idempotency key: the one that was stated, or none."""
        return stated

    # -- what it gives ------------------------------------------------------------------------------------------

    def earlier(self, terms: Terms) -> Iterator[Bound[_Measurement]]:
        """The request as the same terms bound it before: what was paid for then is found again."""
        return iter(())

    def require_runnable(self, measurement: _Measurement) -> None:
        """Refuse what the engine could not run, before it is charged."""

    def inner_filter(self, measurement: _Measurement) -> InnerFilter | None:
        """What admits each of several steps; None if there is but one."""
        return None

    @abstractmethod
    def run(self, measurement: _Measurement, steps: Steps) -> Any:
        """Draw what is not there yet, and return what is there. On the steps of a release it draws nothing."""

    def advance(self, measurement: _Measurement, steps: Steps, argument: Any) -> None:
        """Draw the next step, if the asker steers it; `argument` says what is asked for."""
        raise MechanismSpent("there is nothing more to draw", hint="s.release(…) reads it again")

    @abstractmethod
    def read(
        self, priced: Priced[_Measurement], outcome: Any, reservation: Reservation, terms: Terms, *, looked_up: bool
    ) -> Any:
        """The release, made of what `run` returned; `looked_up` says that it is read by its id."""

    def table(
        self, index: int, priced: Priced[_Measurement], outcome: Any, reservation: Reservation, terms: Terms
    ) -> Answer:
        """One of the tables of a release that is read by its id."""
        if not self.tables:
            raise Unprovable(
                f"the release {reservation.id!r} comes from a run, and holds no table",
                hint="read it with s.release(…)",
            )
        answer: Answer = self.read(priced, outcome, reservation, terms, looked_up=True)
        return answer

    @abstractmethod
    def quoted(self, priced: Priced[_Measurement], terms: Terms, admission: Admission) -> dict[str, Any]:
        """What a quote says of it besides its price: margins, notes, advice. No row is read."""


@cached(64)
def _written(requested: Request, origin: Origin) -> str:
    """A request as records keep it."""
    return codec.text_of(requested, references=origin)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Priced(Generic[_Measurement]):
    """A measurement with the spend that buys it, and why this spend, if it was chosen here."""

    bound: Bound[_Measurement]
    measurement: _Measurement
    why: str | None = None
    refusal: str | None = None  # what would be charged is more than the terms allow
    hint: str | None = None  # what to do then, unless a smaller share would fit

    @property
    def spend(self) -> Spend:
        """What is paid."""
        return self.measurement.spend

    def charge(self, terms: Terms | None = None) -> Charge:
        """What the ledger is asked to charge; with the record if terms are given."""
        bound, measurement = self.bound, self.measurement
        mechanism = bound.mechanism
        record = None if terms is None or not bound.is_recorded else self._record(terms)
        return Charge(
            bound.event(measurement),
            mechanism.dataset,
            mechanism.analyst,
            name=bound.name(measurement),
            version=mechanism.version,
            description=bound.words(measurement),
            record=None if record is None else codec.write(record),
        )

    def _record(self, terms: Terms) -> Record:
        bound, part = self.bound, self.bound.mechanism.part
        return Record(
            bound.mechanism.declared,
            terms.confidence,
            _written(bound.request, bound.mechanism.origin),
            self.spend,
            bound.parts(self.measurement),
            bound.tables,
            bound.interactive,
            None if part is None else PartOfTables(part.column, part.value, part.touched),
            self.why,
        )
