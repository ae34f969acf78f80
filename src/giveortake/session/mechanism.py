"""The interactive mechanism: what stands between requests and rows.

It quotes every kind of request, charges it before a row is read, lets it draw, and reads its release (`requests`).
Parsed texts, and the part of a question's pricing that no amount affects, are cached between two quotes. Both are
functions of the question, the schema and the caps alone, and each asker has a cache, so that the time of a quote does
not reveal what others have asked.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from giveortake.caching import Cache
from giveortake.compile.measurement import needed_caps, prepared
from giveortake.errors import AccessDenied, BudgetExceeded, LedgerMismatch, NotFound, QueryRefused
from giveortake.exact import percent
from giveortake.privacy import ApproxDP
from giveortake.session.pricing import price
from giveortake.session.quotes import Quote
from giveortake.session.refusals import no_price, no_share
from giveortake.session.steps import steps_of, stored_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from contextlib import AbstractContextManager
    from fractions import Fraction

    from giveortake.answers import Stream
    from giveortake.compile import Caps, CustodianCaps, Measurement, Spend, Terms
    from giveortake.compile.measurement import Prepared
    from giveortake.engines import Engine
    from giveortake.ledger import BudgetStatus, Charge, Ledger, Reservation, TrialFilter
    from giveortake.ledger.budget_status import Admission
    from giveortake.mechanisms.vectors import Trusted
    from giveortake.plan import Origin, Question, Relation
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.kinds.queries import PricedQuestion
    from giveortake.session.parse_cache import ReadingCache
    from giveortake.session.partitions import Part
    from giveortake.session.releases import Reading
    from giveortake.session.requests import Bound, Priced, Request
    from giveortake.session.steps import Steps
    from giveortake.session.storage import Spool
    from giveortake.sql import Read


_MOST = 256  # entries of each cache
_Result = TypeVar("_Result")


@final
class LRUCache(Generic[_Result]):
    """A cache of the most recently used results. Threads may share it."""

    def __init__(self, capacity: int = _MOST) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Hashable, _Result] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], _Result]) -> _Result:
        """The cached result for a key, or the result of `make`, which is cached unless it raises."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        entry = make()
        with self._lock:
            self._entries[key] = entry
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        return entry


@final
@dataclass(slots=True, eq=False)
class PreparedQuestion:
    """A question prepared for given caps. It holds the question object, so that its id stays unique."""

    question: Question
    prepared: Prepared
    is_runnable: bool = False  # whether the engine has accepted it, at known keys


@final
class PreparedQuestions:
    """A cache of parsed and prepared questions for one asker; `disk_cache` adds a cache of parsed texts on disk."""

    def __init__(self, disk_cache: ReadingCache | None = None) -> None:
        self._disk_cache = disk_cache
        self._read: LRUCache[Read] = LRUCache()
        self._prepared: LRUCache[PreparedQuestion] = LRUCache()
        self._needed: LRUCache[tuple[Question, Caps]] = LRUCache()

    def read(self, text: str, read: Callable[[], Read]) -> Read:
        """The reading of a text, from a cache or by `read`."""
        if not isinstance(text, str):
            return read()  # which refuses it
        disk_cache = self._disk_cache
        return self._read.get(text, read if disk_cache is None else lambda: disk_cache.read(text, read))

    def needed_caps(self, question: Question, caps: Caps, needed: Callable[[], Caps]) -> Caps:
        """The caps without needless ones, cached like what is prepared."""
        return self._needed.get((id(question), repr(caps)), lambda: (question, needed()))[1]

    def prepared(
        self, question: Question, caps: Caps, prepare: Callable[[], Prepared], spend: Spend
    ) -> PreparedQuestion:
        """The part of a question's pricing that no amount affects, cached; the kind of noise and the aim do.

        It is found by the id of the question object, which stays unique while the cache holds that object.
        """
        key = (id(question), repr(caps), spend.is_pure, spend.aim)
        return self._prepared.get(key, lambda: PreparedQuestion(question, prepare()))


@final
@dataclass(slots=True, eq=False)
class Supervision:
    """What whoever runs this process may want of a run of several steps: to hear of each, and to stop between two."""

    is_stopping: Flag = field(default_factory=Flag)
    step_stored: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, eq=False)
class InteractiveMechanism:
    """Everything that stands between questions and rows. Sessions hold it; analysts do not.

    Guarantee (interactive mechanisms, [Har25]): whatever is asked, and however it depends on earlier answers, each
    answer is charged at every level before a row is read, and what the ledger refuses is not asked. So all answers
    together keep the budget of the population.
    """

    engine: Engine
    ledger: Ledger
    spool: Spool
    origin: Origin
    dataset: str
    population: str
    version: str
    budget: Guarantee
    caps: CustodianCaps
    analyst: str | None
    declared: str = ""  # a digest of what is declared about the tables, by which releases are read
    part: Part | None = None  # of a partition, if the session sees only that part
    as_of: int | None = None  # while an old release is read: its entry; later profiles are ignored
    paid_profiles: tuple[tuple[Any, str, Any], ...] | None = None  # from the ledger, if they were read already
    questions: PreparedQuestions = field(default_factory=PreparedQuestions)  # of this asker
    cache: Cache = field(default_factory=Cache)  # of this asker
    trusted: Mapping[str, Trusted] = field(default_factory=dict, repr=False)  # the custodian's code, by name@version
    appended: bool = False  # by the custodian's word: each version of the tables holds the rows of those before it
    closed: Flag = field(default_factory=Flag)  # set when the tables are closed, for all who share them
    supervision: Supervision = field(default_factory=Supervision, repr=False)

    def as_analyst(self, name: str) -> InteractiveMechanism:
        """The same tables and ledger for an analyst. Who is unknown to the ledger, or was revoked, is refused."""
        if self.analyst is not None and name != self.analyst:
            raise AccessDenied(
                "an analyst's session cannot ask as somebody else", hint="only the custodian's session has as_analyst"
            )
        return replace(self, analyst=name, questions=PreparedQuestions(), cache=Cache(), trusted={}).as_now()

    @property
    def granted(self) -> Guarantee:
        """The promise that all answers to the asker together keep."""
        return self.budget

    def as_now(self) -> InteractiveMechanism:
        """This mechanism with the current budget of the ledger, which the custodian may have changed."""
        own = None if self.analyst is None else self.ledger.levels(analyst=self.analyst, dataset=self.dataset)[0]
        people = self.ledger.deciding(self.dataset)
        budget = (people if own is None or not people.allotted else own).budget or self.budget
        return self if budget == self.budget else replace(self, budget=budget)

    def in_part(self, part: Part) -> InteractiveMechanism:
        """This mechanism, restricted to a part of the data."""
        self.engine.hold_to_content()
        return replace(self, part=part, origin=self.origin.narrowed(part.of), questions=PreparedQuestions())

    # -- the whole way ------------------------------------------------------------------------------------------

    def quote(self, request: Request, terms: Terms) -> Quote:
        """What a request would cost, and what its answer would be worth. No row is read, and nothing is charged."""
        priced = price(request.bind(self, terms), terms)
        bound = priced.bound
        bound.require_runnable(priced.measurement)
        charge = priced.charge()
        admission = self.ledger.admission(charge)
        share, meter = admission.share, admission.meter
        own = bound.quoted(priced, terms, admission)
        notes = (
            *no_price(share, self.budget, charge.event, *([] if bound.instead is None else [bound.instead])),
            *([] if priced.refusal is None else [priced.refusal, *([] if priced.hint is None else [priced.hint])]),
            *([] if admission.ends is None else [_ends_meter(admission)]),
            *own.pop("notes", ()),
        )
        is_paid = priced.refusal is None and (admission.paid or self._is_known_by_key(bound, charge))
        return Quote(
            bound.kind,
            own.pop("title", ""),
            str(priced.spend),
            bound.promise(priced.measurement),
            share,
            admission.status.remaining,
            admitted=priced.refusal is None and (admission.admitted or is_paid),
            confidence=terms.confidence,
            paid=is_paid,
            approval=admission.waits and not is_paid,
            used_after=_used_after(admission),
            meter=meter,
            more=admission.more if admission.admitted or is_paid else None,
            notes=notes,
            **own,
        )

    def is_paid(self, bound: Bound[Any], charge: Charge) -> bool:
        """Whether the asker paid for exactly this before, and gets it again at no cost.

        It is found by what names it, or by the key of a request that has one of its own, such as a counter's.
        """
        return self._is_known_by_key(bound, charge) or self.ledger.is_paid(charge)

    def _is_known_by_key(self, bound: Bound[Any], charge: Charge) -> bool:
        key = bound.key(None, charge)
        return key is not None and self.ledger.knows(replace(charge, key=key))

    def answer(self, request: Request, terms: Terms, key: str | None) -> Any:
        """The release of a request, under one charge, which is durable before a row is read."""
        priced, outcome, reservation = self.buy(request, terms, key)
        return priced.bound.read(priced, outcome, reservation, terms, looked_up=False)

    def stream(self, request: Request, terms: Terms, key: str | None) -> Stream:
        """The release of one question as a stream of answers about some keys each."""
        priced, (stored,), reservation = self.buy(request, terms, key)
        bound: Any = priced.bound  # of a question, as `Query.stream` has checked
        stream: Stream = bound.stream(priced, stored, reservation, terms)
        return stream

    def advance(self, priced: Priced[Any], terms: Terms, release_id: str, argument: Any) -> Steps:
        """Draw the next step of a release that its asker steers, and return all of its steps."""
        with self.steps(priced, terms, None) as steps:
            priced.bound.advance(priced.measurement, steps, argument)
            return steps

    def stored(self, priced: Priced[Any], release_id: str) -> Steps:
        """The steps of a release as they are stored. Nothing is charged, and nothing more is drawn with them."""
        return stored_steps(self, release_id, priced.bound.inner_filter(priced.measurement))

    def reading(self, release_id: str) -> Reading:
        """One release, to be read by its record."""
        from giveortake.session.releases import Reading, release_of  # noqa: PLC0415 (which read by mechanisms)

        return Reading(self, release_of(self, release_id))

    def buy(self, request: Request, terms: Terms, key: str | None) -> tuple[Priced[Any], Any, Reservation]:
        """Price, charge and draw a request; what was paid for before is neither charged nor drawn again."""
        priced = price(request.bind(self, terms), terms)
        bound = priced.bound
        bound.require_runnable(priced.measurement)
        with self.steps(priced, terms, key) as steps:
            return priced, bound.run(priced.measurement, steps), steps.reservation

    def steps(self, priced: Priced[Any], terms: Terms, key: str | None) -> AbstractContextManager[Steps]:
        """Charge, and give the steps: none yet, those that were drawn before, or all of what has an answer."""
        bound, charge = priced.bound, priced.charge(terms)

        def reserve() -> Reservation:
            if priced.refusal is not None:
                raise no_share(self, priced.spend, priced.refusal, priced.hint)
            try:
                own_key = bound.key(key, charge)
                return self.reserve(charge if own_key is None else replace(charge, key=own_key))
            except BudgetExceeded as refusal:
                raise bound.refused(priced, charge.event, refusal) from None

        inner_filter = bound.inner_filter(priced.measurement)
        return steps_of(
            self,
            charge,
            reserve,
            inner_filter=inner_filter,
            interactive=bound.interactive,
            any_version=bound.any_version,
        )

    # -- questions ----------------------------------------------------------------------------------------------

    def resolve_caps(self, terms: Terms, question: Question | None = None) -> Caps:
        """The caps of a question: those that it states, and the custodian's where it states none; only needed ones.

        In a part of the tables all of them hold: parts of one partition have the same caps.
        """
        caps = self.caps.of_question(terms.caps)
        if question is None or not caps.stated or self.part is not None:
            return caps

        def needed() -> Caps:
            return needed_caps(question, caps, self.caps.maxima, self.budget.neighbours)

        return self.questions.needed_caps(question, caps, needed)

    def measured(self, question: Question, caps: Caps, spend: Spend) -> Measurement:
        """The measurement that a spend buys; a question that is not about this session's own tables is refused.

        The δ for finding keys is a tenth of `key_pot` unless stated.
        """
        self.origin.require(question)
        return self._prepared(question, caps, spend).prepared.at(spend, self.key_pot)

    def require_runnable(self, part: PricedQuestion, caps: Caps) -> None:
        """Refuse a question that the engine cannot run. What it has accepted once at known keys is not asked again."""
        prepared_question = self._prepared(part.question, caps, part.made.spend)
        if not prepared_question.is_runnable:
            self.engine.require_runnable(part.made.asked())
            prepared_question.is_runnable = part.made.selection is None  # else the statement depends on the spend

    def _prepared(self, question: Question, caps: Caps, spend: Spend) -> PreparedQuestion:
        def prepare() -> Prepared:
            return prepared(question, caps, self.budget.neighbours, spend=spend)

        return self.questions.prepared(question, caps, prepare, spend)

    @property
    def key_pot(self) -> Fraction | None:
        """The δ set aside for finding keys, if the budget has one."""
        return self.budget.delta / 10 if isinstance(self.budget, ApproxDP) else None

    # -- the ledger ---------------------------------------------------------------------------------------------

    def reserve(self, charge: Charge) -> Reservation:
        """Charge, durably, before a row is read. A table that changed is refused first, at no cost."""
        if self.closed.is_set():
            raise QueryRefused("this session is closed; nothing was charged", hint="open it again")
        if not self.engine.unchanged():
            raise LedgerMismatch(
                f"the table {self.dataset!r} has changed since it was protected",
                hint="protect the table again: that registers a new version",
            )
        return self.ledger.reserve(charge)

    def standing(self) -> BudgetStatus:
        """The state of the level that decides about the next question: the analyst's own, else the population's."""
        return self.ledger.deciding(self.dataset, analyst=self.analyst)

    def table(self, name: str) -> Relation:
        """A private table by its name, with the custodian's caps; any other name is refused."""
        relation = self.origin.relations.get(name)
        if relation is None:
            raise NotFound(
                f"there is no private table {name!r} here", hint=f"there are {', '.join(self.origin.relations)}"
            )
        return relation

    def rest(self) -> tuple[BudgetStatus, Fraction | None]:
        """That state, and the greatest pure ε, up to rounding, that would be admitted now."""
        return self.ledger.rest(self.dataset, analyst=self.analyst)

    def trial(self) -> TrialFilter:
        """A copy of the filter that decides about the next question, to try charges on."""
        trial = self.ledger.trial(self.standing(), dataset=self.dataset, analyst=self.analyst)
        assert trial is not None  # noqa: S101 (what stands has a budget)
        return trial

    def admits(self, event: Event) -> bool:
        """Whether every level would admit an event now."""
        return self.ledger.admits(event, dataset=self.dataset, analyst=self.analyst)


def _ends_meter(admission: Admission) -> str:
    """A note if a charge would end the meter: it is told before it happens."""
    used = "" if admission.used_after is None else f", of which {percent(admission.used_after, 3)} is used then"
    return (
        f"this ends the {admission.ends}, the meter of this budget: from then on shares are measured in the "
        f"{admission.meter}{used}"
    )


def _used_after(admission: Admission) -> Fraction | None:
    """How much of the budget would be used after the answer; None if it is not admitted. A replay adds nothing."""
    if admission.paid:
        standing = admission.status
        return None if standing.own is None else standing.given + standing.own
    return admission.used_after if admission.admitted else None
