"""The interactive mechanism, from top to bottom: price → reserve → draw → settle → read.

- Draw so that no error and no traceback reveals anything about rows, whatever goes wrong.
- A cache of questions between two quotes: parsed texts, and the part of their pricing that no amount affects.
- Both are functions of the question, the schema and the caps alone. Each asker has a cache, so that the time of a quote
  does not reveal what others have asked.

1. *Price*: the spend that was stated and the measurement that it buys. No row is read, and a refusal costs nothing.
2. *Reserve*: the charge is in the ledger, durably and at every level, before a row is read. Nothing refunds it.
3. *Draw*: the engine is asked, and every integer gets its noise, once.
4. *Settle*: what was drawn is stored, unless something is stored already. Only what is stored is ever shown.
5. *Read*: the answer is computed from what is stored (`releases`). This is post-processing, and always free.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from giveortake.advice import Advice
from giveortake.answers import Stream
from giveortake.answers.terms import Confidence
from giveortake.caching import Cache
from giveortake.compile import composed, event_of, joint, measurement
from giveortake.compile.measurement import prepared
from giveortake.engines.runtime import as_one_question, failure
from giveortake.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidParameter,
    LedgerError,
    LedgerMismatch,
    QueryFailed,
    QueryRefused,
    line_of,
)
from giveortake.privacy import ApproxDP
from giveortake.session import storage
from giveortake.session.pricing import Pricing, price_by_margin, price_by_share
from giveortake.session.profiles.best_caps import with_best_caps
from giveortake.session.refusals import deltas_of, no_share, too_dear
from giveortake.session.releases import PaidRelease, record_of, twins_before
from giveortake.session.storage import DiscoveryDraw, DrawnAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from giveortake.answers import Answer
    from giveortake.compile import Caps, CustodianCaps, Measurement, Spend, Terms
    from giveortake.compile.measurement import Prepared
    from giveortake.engines import Engine, Keys
    from giveortake.ledger import BudgetStatus, Ledger, Reservation, TrialFilter
    from giveortake.ledger.rules.budget_status import Admission
    from giveortake.mechanisms.vectors import Trusted
    from giveortake.plan import Origin, Question
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.parse_cache import ReadingCache
    from giveortake.session.partitions import Part
    from giveortake.session.storage import Spool, Stored
    from giveortake.sql import Read


Drawn = TypeVar("Drawn")


def sealed_question(draw: Callable[[], Drawn]) -> Drawn:
    """Call `draw` as `sealed` does, within the time limit of one question."""
    return sealed(lambda: as_one_question(draw))


def sealed(draw: Callable[[], Drawn]) -> Drawn:
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

    def read(self, text: str, read: Callable[[], Read]) -> Read:
        """The reading of a text, from a cache or by `read`."""
        if not isinstance(text, str):
            return read()  # which refuses it
        disk_cache = self._disk_cache
        return self._read.get(text, read if disk_cache is None else lambda: disk_cache.read(text, read))

    def prepared(
        self, question: Question, caps: Caps, prepare: Callable[[], Prepared], *, pure: bool
    ) -> PreparedQuestion:
        """The part of a question's pricing that no amount affects, cached.

        It is found by the id of the question object, which stays unique while the cache holds that object.
        """
        key = (id(question), repr(caps), pure)
        return self._prepared.get(key, lambda: PreparedQuestion(question, prepare()))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """A question with its price: the measurement that a spend buys.

    `question` is what was asked; `made.question` is restricted to the rows that count.
    """

    question: Question
    made: Measurement
    why: str | None = None  # why this noise, if it was chosen here
    refusal: str | None = None  # what would be charged is more than the terms allow
    text: str | None = None  # of the question, if it was written in SQL

    @property
    def spend(self) -> Spend:
        """What the answer costs."""
        return self.made.spend

    @property
    def keys(self) -> Keys | None:
        """The keys of the answer, unless they have to be found."""
        return self.made.keys if self.made.selection is None else None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """A charge for questions that are asked together: the event, the request that identifies it, and a description.

    `record` holds the questions in full, so that the release can be read again by its id; it does not affect the price.
    """

    event: Event
    request: dict[str, Any]
    words: str
    record: Mapping[str, Any] | None = None

    @property
    def question(self) -> str:
        """The request as text: by it the ledger finds again what was paid for."""
        return json.dumps(self.request, sort_keys=True)


@final
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

    def as_analyst(self, name: str) -> InteractiveMechanism:
        """The same tables and ledger for an analyst. Who is unknown to the ledger, or was revoked, is refused."""
        if self.analyst is not None and name != self.analyst:
            raise AccessDenied(
                "an analyst's session cannot ask as somebody else", hint="only the custodian's session has as_analyst"
            )
        return replace(self, analyst=name, questions=PreparedQuestions(), cache=Cache(), trusted={}).as_now()

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

    def answer(
        self,
        priced_questions: Sequence[Priced],
        confidence: Confidence,
        key: str | None,
        profile: Mapping[str, Any] | None = None,
    ) -> list[Answer]:
        """Answers to questions under one charge, which is durable before the engine is asked the first of them."""
        reservation, stored = self.reserve_and_draw(priced_questions, key, confidence, profile=profile)
        return [
            PaidRelease(
                self,
                priced,
                *storage.whole(self.spool, priced, stored_answer),
                reservation,
                confidence,
                question_index=index,
                twins=twins_before(priced_questions, index),
            ).read()
            for index, (priced, stored_answer) in enumerate(zip(priced_questions, stored, strict=True))
        ]

    def stream(self, priced: Priced, confidence: Confidence, key: str | None) -> Stream:
        """The answer to one question as a stream, read from where it is stored, some keys at a time."""
        if priced.made.question.order:
            raise QueryRefused("ORDER BY needs the whole table at once", hint="sort the rows where you write them")
        if priced.made.question.has_windows:
            raise QueryRefused("OVER needs the whole table at once", hint="compute it where you write the rows")
        reservation, (stored,) = self.reserve_and_draw([priced], key, confidence)
        if "spool" in stored and confidence.over == "answer":  # the confidence covers all portions together
            keys = sum(len(line["keys"]) for line in self.spool.read(stored["spool"]))
            confidence = Confidence(confidence, cells=keys * len(priced.made.formulas))

        def answers() -> Iterator[Answer]:
            rows_left = priced.made.question.limit
            for index, (keys, release) in enumerate(storage.portions_of(self.spool, priced, stored)):
                portion = index if "spool" in stored else None
                answer = PaidRelease(self, priced, keys, release, reservation, confidence, portion).read(
                    limit=rows_left
                )
                rows_left = None if rows_left is None else rows_left - len(answer)
                yield answer
                if rows_left == 0:
                    return

        return Stream(answers)

    def reserve_and_draw(
        self,
        priced_questions: Sequence[Priced],
        key: str | None,
        confidence: Confidence,
        refines: tuple[str, ...] = (),
        portion: int | None = None,
        *,
        profile: Mapping[str, Any] | None = None,
        words: str | None = None,
        refined: int = 0,
        twins: int = 0,
    ) -> tuple[Reservation, list[Stored]]:
        """Charge questions together, and draw the answers that were not drawn before.

        `refined` says which question of the first release is refined, if any, and `twins` how many questions of the
        same name stand before it there; `words` describe the whole request.
        """
        record = record_of(self, priced_questions, confidence, refined if refines else None)
        charge = replace(self.charge(priced_questions, refines, portion, profile, twins), record=record)
        charge = charge if words is None else replace(charge, words=words)

        def draw(reservation: Reservation) -> list[Stored]:
            return sealed(  # a draw that is not stored yet must not show up in a traceback
                lambda: self.settle(
                    reservation,
                    [self.draw(priced, reservation, index) for index, priced in enumerate(priced_questions)],
                )
            )

        reservation, stored = self.draw_once(charge, lambda: self.reserve(priced_questions, key, charge), draw)
        return reservation, storage.stored_of(reservation.answer, len(priced_questions)) if stored is None else stored

    def draw_once(
        self, charge: Charge, reserve: Callable[[], Reservation], draw: Callable[[Reservation], Drawn]
    ) -> tuple[Reservation, Drawn | None]:
        """Charge, then draw and settle; if that was done before, return None: the reservation has the stored answer.

        Who asks the same question at the same moment waits, and gets the same answer.

        Guarantee: a failure that is raised here, and every execution but the first, is counted in the ledger before
        anybody can notice it. Who ends this process in the middle counts that (`ledger.fail_key`) before telling it.
        """
        with self.ledger.turn(charge.question, dataset=self.dataset, analyst=self.analyst, event=charge.event):
            reservation = reserve()
            if reservation.settled:
                return reservation, None
            self.begin(reservation)
            try:
                return reservation, draw(reservation)
            except QueryFailed as failed:
                self.ledger.fail(reservation, defect=failed.cause == "defect")
                raise

    def begin(self, reservation: Reservation) -> None:
        """Count an execution that is not the first, of the version of the table that was charged for, and no other."""
        if reservation.version != self.version:
            raise LedgerMismatch(
                f"this key was charged for version {reservation.version!r} of {self.dataset!r}, which is at "
                f"{self.version!r} now, and there is no answer; the charge stands",
                hint="ask again with a new key: that is a new charge",
            )
        if not reservation.fresh:
            self.ledger.begin_again(reservation)

    # -- 1. price -----------------------------------------------------------------------------------------------

    def price(self, question: Question, terms: Terms) -> Priced:
        """The spend that the terms state or imply, and what it buys. Nothing is charged, and no row is read."""
        terms = with_best_caps(self, question, terms)
        caps = self.resolve_caps(terms)
        if terms.margin is not None:
            return price_by_margin(Pricing(self, question, caps), terms, self.trial())
        if terms.share is not None:
            return price_by_share(Pricing(self, question, caps), terms, self.trial())
        if terms.spend is None:
            raise InvalidParameter(
                "epsilon",
                None,
                "is missing: say what the answer may cost",
                hint=Advice("{epsilon}", "{margin}", "{share}", epsilon="0.1", margin=50, share="1/10"),
            )
        return self.price_at(question, caps, terms.spend)

    def resolve_caps(self, terms: Terms) -> Caps:
        """The caps of a question: those that it states, and the custodian's where it states none."""
        assert not terms.best_caps  # noqa: S101 (`with_best_caps` was asked before)
        return self.caps.of_question(terms.caps)

    def price_at(self, question: Question, caps: Caps, spend: Spend) -> Priced:
        """Price a question at given caps and a given spend.

        One that is not about this session's own tables, or that the engine cannot run, is refused.
        """
        priced = self.price_without_engine(question, caps, spend)
        prepared_question = self._prepared(question, caps, pure=spend.is_pure)
        if not prepared_question.is_runnable:
            self.engine.require_runnable(priced.made.asked())
            prepared_question.is_runnable = priced.made.selection is None  # else the statement depends on the spend
        return priced

    def price_without_engine(self, question: Question, caps: Caps, spend: Spend) -> Priced:
        """Price a question whose answer is only read again: whether the engine could run it does not matter."""
        self.origin.require(question)
        return Priced(question, self.measure(question, caps, spend))

    def price_refinement(self, earlier: Priced, spend: Spend, keys: Keys) -> Priced:
        """Price a refinement: the same question at keys that are public now, measured so that releases combine."""
        question, earlier_measurement = earlier.question, earlier.made
        self.origin.require(question)
        refinement = measurement(
            question, earlier_measurement.caps, self.budget.neighbours, spend, keys, basis=earlier_measurement.basis
        )
        self.engine.require_runnable(refinement.asked())
        return Priced(question, refinement)

    def measure(self, question: Question, caps: Caps, spend: Spend) -> Measurement:
        """The measurement that a spend buys. The δ for finding keys is a tenth of `key_pot` unless stated."""
        return self._prepared(question, caps, pure=spend.is_pure).prepared.at(spend, self.key_pot)

    def _prepared(self, question: Question, caps: Caps, *, pure: bool) -> PreparedQuestion:
        def prepare() -> Prepared:
            return prepared(question, caps, self.budget.neighbours, pure=pure)

        return self.questions.prepared(question, caps, prepare, pure=pure)

    @property
    def key_pot(self) -> Fraction | None:
        """The δ set aside for finding keys, if the budget has one."""
        return self.budget.delta / 10 if isinstance(self.budget, ApproxDP) else None

    def event(self, priced_questions: Sequence[Priced]) -> Event:
        """The event that is charged for questions together."""
        return self._event_in_part(event_of(priced.made for priced in priced_questions), priced_questions)

    def _event_in_part(self, event: Event, priced_questions: Sequence[Priced]) -> Event:
        """The event to charge for `event` if the session sees only a part of the data."""
        if self.part is None:
            return event
        numbers = {self.part.partition(priced.made.caps) for priced in priced_questions}
        (partition,) = numbers  # what is asked together has one
        return self.part.event(
            event, composed([priced.made.event_if_added() for priced in priced_questions]), partition
        )

    # -- 2. reserve ---------------------------------------------------------------------------------------------

    def charge(
        self,
        priced_questions: Sequence[Priced],
        refines: tuple[str, ...] = (),
        portion: int | None = None,
        profile: Mapping[str, Any] | None = None,
        twins: int = 0,
    ) -> Charge:
        """The charge for questions. Its request names the questions, what they refine, and the portion of a stream.

        The request of a profile says so, which is how profiles are found again. Questions of a batch that differ only
        in how their answers are ordered have one name, but each has keys and noise of its own: a refinement tells them
        apart by `twins`.
        """
        joint_measurement = joint([priced.made for priced in priced_questions])
        request = {
            "questions": joint_measurement.names,
            "refines": list(refines),
            "part": None if self.part is None else self.part.name(priced_questions[0].made.caps),
            **({} if portion is None else {"portion": portion}),
            **({} if profile is None else {"profile": dict(profile)}),
            **({"twins": twins} if twins else {}),
        }
        return Charge(self._event_in_part(joint_measurement.event, priced_questions), request, joint_measurement.words)

    def reserve(self, priced_questions: Sequence[Priced], key: str | None, charge: Charge) -> Reservation:
        """Charge, durably, before a row is read. A table that changed is refused first, at no cost."""
        for priced in priced_questions:
            if priced.refusal is not None:
                raise no_share(self, priced.spend, priced.refusal)
        try:
            return self.reserve_charge(charge, key)
        except BudgetExceeded as refusal:
            costs = " and ".join(str(priced.spend) for priced in priced_questions)
            needed = deltas_of(priced.made for priced in priced_questions)
            raise too_dear(self, costs, priced_questions[0].spend, charge.event, refusal, needed=needed) from None

    def reserve_charge(self, charge: Charge, key: str | None) -> Reservation:
        """Reserve any charge; one that does not fit is refused with the ledger's own message."""
        if self.closed.is_set():
            raise QueryRefused("this session is closed; nothing was charged", hint=Advice("{open_again}"))
        if not self.engine.unchanged():
            raise LedgerMismatch(
                f"the table {self.dataset!r} has changed since it was protected",
                hint=Advice("{register_again}"),
            )
        return self.ledger.reserve(
            charge.event,
            dataset=self.dataset,
            analyst=self.analyst,
            key=key,
            request=charge.request,
            question=charge.question,
            version=self.version,
            description=charge.words,
            record=charge.record,
        )

    def standing(self) -> BudgetStatus:
        """The state of the level that decides about the next question: the analyst's own, else the population's."""
        return self.ledger.deciding(self.dataset, analyst=self.analyst)

    def admission(self, charge: Charge) -> Admission:
        """What a quote asks the ledger about a charge: whether it would be admitted, and whether it was paid for."""
        scope: Any = {"dataset": self.dataset, "version": self.version, "analyst": self.analyst}
        return self.ledger.admission(charge.event, request=charge.request, question=charge.question, **scope)

    def trial(self) -> TrialFilter:
        """A copy of the filter that decides about the next question, to try charges on."""
        trial = self.ledger.trial(self.standing(), dataset=self.dataset, analyst=self.analyst)
        assert trial is not None  # noqa: S101 (what stands has a budget)
        return trial

    def is_paid(self, priced_questions: Sequence[Priced]) -> bool:
        """Whether the asker paid for exactly this before, and will get it again at no cost."""
        charge = self.charge(priced_questions)
        return self.ledger.is_paid(charge.event, dataset=self.dataset, analyst=self.analyst, question=charge.question)

    def admits(self, event: Event) -> bool:
        """Whether every level would admit an event now."""
        return self.ledger.admits(event, dataset=self.dataset, analyst=self.analyst)

    # -- 3. draw ------------------------------------------------------------------------------------------------

    def draw(self, priced: Priced, reservation: Reservation, index: int) -> DrawnAnswer:
        """Ask the engine and add noise, once to each integer; find keys first if they are not known."""

        def drawn() -> DrawnAnswer:
            if priced.keys is not None:
                return DrawnAnswer(storage.answer_to_json(None, priced.made.release(self.engine, priced.keys)))
            return DiscoveryDraw(self, priced.made, f"{reservation.reference}-{index}").draw()

        return sealed_question(drawn)

    # -- 4. settle ----------------------------------------------------------------------------------------------

    def settle(self, reservation: Reservation, drawn: Sequence[DrawnAnswer]) -> list[Stored]:
        """Store what was drawn, unless another process stored its draw first: then that is the answer."""
        content = self.ledger.settle(reservation, storage.content_of([drawn_answer.stored for drawn_answer in drawn]))
        stored = storage.stored_of(content, len(drawn))
        for drawn_answer, stored_answer in zip(drawn, stored, strict=True):
            if drawn_answer.scratch is not None:
                self.spool.forget(drawn_answer.scratch)
            if "spool" in drawn_answer.stored and drawn_answer.stored != stored_answer:
                self.spool.forget(drawn_answer.stored["spool"]["file"])
        return stored
