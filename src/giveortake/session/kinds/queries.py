"""Queries: questions in SQL or from a frame, alone or in a batch, their refinements, and how their releases are read.

All questions of a request are charged as one event and drawn in one step. SELECT DISTINCT of declared keys is answered
from the domains, without reading rows and without a charge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence  # the codec reads hints
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, final

from giveortake import exact
from giveortake.accounting.pricing import Epsilon
from giveortake.answers import Answer, Stream
from giveortake.answers.terms import CAP_TERMS, Confidence, LeftOut
from giveortake.caching import serving
from giveortake.compile import Caps, Spend, Terms, composed, event_of, joint, measurement
from giveortake.compile.partition_selection import other_search
from giveortake.compile.postprocessing import (
    Circumstances,
    answer_of,
    caps_in_words,
    known_columns,
    noise_in_words,
    of_units,
)
from giveortake.compile.spend import charges_of
from giveortake.engines import KeyColumn, Keys
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryRefused, Unprovable
from giveortake.plan import Question
from giveortake.plan.describe import undeclared_values, values_at_ends
from giveortake.plan.expressions import MOST_KEYS
from giveortake.privacy import ApproxDP, GaussianDP, events
from giveortake.session import storage
from giveortake.session.kinds.alternatives import alternatives, as_workload
from giveortake.session.kinds.usefulness import (
    column_margins,
    doubt_about_keys,
    measures_of,
    quoted_miss,
    rows_that_means_need,
    spans_of_means,
    truncation_margins,
    worth,
    worthless,
)
from giveortake.session.profiles.best_caps import (
    ResolvedCaps,
    error_unit_in_words,
    left_out_of,
    resolved_caps,
    stored_profiles,
)
from giveortake.session.quotes import Quote
from giveortake.session.refusals import deltas_of, missing_for_keys, too_dear
from giveortake.session.requests import Bound, PaidPart, Request, request
from giveortake.session.steps import sealed_question
from giveortake.session.storage import DiscoveryDraw, DrawnAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.answers.terms import SpendTerms
    from giveortake.compile import Measurement, Release
    from giveortake.compile.measurement import Joint
    from giveortake.errors import BudgetExceeded
    from giveortake.ledger import Reservation, TrialFilter
    from giveortake.ledger.budget_status import Admission
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.requests import Priced
    from giveortake.session.steps import Steps
    from giveortake.session.storage import Stored


# -- requests ---------------------------------------------------------------------------------------------------------


@final
@request("query")
@dataclass(frozen=True, slots=True, eq=False)
class QueryRequest(Request):
    """One question, and its text if it was written in SQL; `options` are terms that stand in the text."""

    question: Question
    text: str | None = field(default=None, metadata={"stored": False})  # a record keeps it beside what was paid
    options: Mapping[str, Any] | None = field(default=None, metadata={"stored": False})

    def bind(self, mechanism: InteractiveMechanism, terms: Terms) -> BoundQuestions:
        return BoundQuestions.of(self, mechanism, [self], terms)

    def bind_paid(self, mechanism: InteractiveMechanism, _terms: Terms, parts: Sequence[PaidPart]) -> BoundQuestions:
        return BoundQuestions.paid_before(self, mechanism, [self], parts)


@final
@request("batch")
@dataclass(frozen=True, slots=True, eq=False)
class BatchRequest(Request):
    """Several questions under one charge. The spend, the caps and the confidence hold for all of them."""

    without: ClassVar[tuple[str, ...]] = ("n",)
    queries: tuple[QueryRequest, ...]

    def __post_init__(self) -> None:
        if not self.queries:
            raise InvalidParameter("queries", [], "is empty", hint="name a question")

    def bind(self, mechanism: InteractiveMechanism, terms: Terms) -> BoundQuestions:
        return BoundQuestions.of(self, mechanism, self.queries, terms)

    def bind_paid(self, mechanism: InteractiveMechanism, _terms: Terms, parts: Sequence[PaidPart]) -> BoundQuestions:
        return BoundQuestions.paid_before(self, mechanism, self.queries, parts)


@final
@request("refinement")
@dataclass(frozen=True, slots=True, eq=False)
class RefinementRequest(Request):
    """A released question once more, at a further price; both answers are combined.

    `release` is its id, `index` that of a question of a batch, and `portion` that of a portion of a stream.
    """

    without: ClassVar[tuple[str, ...]] = ("margin", "key_delta", "aim", "n", *CAP_TERMS)
    release: str
    index: int = 0
    portion: int | None = None
    paid: Any = field(default=None, metadata={"stored": False})  # the release, if it was read already

    def bind(self, mechanism: InteractiveMechanism, terms: Terms) -> BoundQuestions:
        """Refuse what cannot be combined: quantiles, and what is about another version of the tables."""
        bound = self.bind_paid(mechanism, terms)
        release = bound.refined
        assert release is not None  # noqa: S101 (just read)
        if not all(measure.averages for measure in release.priced.made.measures):
            raise Unprovable(
                "quantiles cannot be refined: their answers cannot be averaged",
                hint="ask the question again at a higher price",
            )
        if release.reservation.version != mechanism.version:
            raise LedgerMismatch(
                f"the release is about version {release.reservation.version!r} of the data, which has changed since",
                hint="ask the question again",
            )
        return bound

    def bind_paid(
        self, mechanism: InteractiveMechanism, _terms: Terms, _parts: Sequence[PaidPart] = ()
    ) -> BoundQuestions:
        from giveortake.session.releases import paid_release  # noqa: PLC0415 (which reads refinements)

        release: PaidRelease = self.paid or paid_release(mechanism, self.release, self.index, self.portion)
        query = QueryRequest(release.priced.question, release.priced.text)
        caps = ResolvedCaps(release.priced.made.caps)
        return BoundQuestions(self, release.mechanism, (query,), (caps,), refined=release)


# -- measurements -----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class PricedQuestion:
    """A question with the measurement that its part of the spend buys.

    `question` is what was asked; `made.question` is restricted to the rows that count.
    """

    question: Question
    made: Measurement
    why: str | None = None  # why this noise, if it was chosen
    text: str | None = None  # of the question, if it was written in SQL

    @property
    def keys(self) -> Keys | None:
        """The keys of the answer, unless they have to be found."""
        return self.made.keys if self.made.selection is None else None

    def event(self) -> Event:
        """The event of this question alone."""
        return event_of([self.made])


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """The measurements of all questions of a request, at one spend."""

    spend: Spend
    parts: tuple[PricedQuestion, ...]

    @cached_property
    def joint(self) -> Joint:
        """The event, the names and the description of all questions together."""
        return joint(self.made())

    def made(self) -> list[Measurement]:
        """The measurements alone."""
        return [part.made for part in self.parts]


def share_of_each(spend: Spend, questions: Sequence[Question]) -> Spend:
    """What each of several questions may spend: an equal part of ε or ρ, or of μ².

    Guarantee: the shares compose to the spend. ε and ρ add; μ² adds, and that is exact for Gaussian noise, so that a
    batch under (ε, δ) costs no more than one Gaussian release under it [DRS22, Cor. 3.3]. Where keys have to be found,
    ε and δ are split evenly instead.
    """
    count = Fraction(len(questions))
    if spend.is_pure:
        return replace(spend, epsilon=spend.epsilon / count if spend.epsilon is not None else None)
    if spend.rho is not None:
        return replace(spend, rho=spend.rho / count)
    if spend.mu is not None or not any(question.finds_keys for question in questions):
        return Spend(mu=spend.gaussian() / exact.sqrt_up(count), keys=spend.keys, aim=spend.aim)
    assert spend.epsilon is not None and spend.delta is not None  # noqa: S101, PT018 (the last kind of spend)
    return replace(spend, epsilon=spend.epsilon / count, delta=spend.delta / count)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundQuestions(Bound[Measurements]):
    """Questions on the tables of a session, each with its caps.

    `refined` is the release that the one question refines; `profile` holds the settings of a profile, whose questions
    they are.
    """

    request: Request
    mechanism: InteractiveMechanism
    queries: tuple[QueryRequest, ...]
    resolved: tuple[ResolvedCaps, ...]
    key_delta: Fraction | None = None
    refined: PaidRelease | None = None
    profile: Mapping[str, Any] | None = None
    description: str | None = None
    spends: tuple[Spend, ...] | None = None  # of each question, where a release is read again

    @classmethod
    def of(
        cls, request: Request, mechanism: InteractiveMechanism, queries: Sequence[QueryRequest], terms: Terms
    ) -> BoundQuestions:
        """Resolve the caps of each question: those stated, the best by a profile, or the custodian's."""
        questions = [query.question for query in queries]
        one = terms
        if terms.spend is not None and isinstance(request, BatchRequest):
            one = replace(terms, spend=share_of_each(terms.spend, questions))
        elif terms.share is not None:
            one = replace(terms, share=terms.share / len(questions))
        resolved = tuple(resolved_caps(mechanism, question, one) for question in questions)
        return cls(request, mechanism, tuple(queries), resolved, terms.key_delta)

    def earlier(self, terms: Terms) -> Iterator[BoundQuestions]:
        """With the caps of the same terms before the profiles of today were bought, one by one; no profile's last."""
        if terms.best_caps or not any(choice.by_profile for choice in self.resolved):
            return
        stored = stored_profiles(self.mechanism)
        for first in range(1, len(stored) + 1):
            then = replace(self.mechanism, paid_profiles=stored[first:])
            with suppress(QueryRefused):  # nothing bounded it then
                yield replace(self, resolved=BoundQuestions.of(self.request, then, self.queries, terms).resolved)

    @classmethod
    def paid_before(
        cls,
        request: Request,
        mechanism: InteractiveMechanism,
        queries: Sequence[QueryRequest],
        parts: Sequence[PaidPart],
    ) -> BoundQuestions:
        """Questions with the caps and the spends that were paid for."""
        caps, spends = tuple(ResolvedCaps(part.caps) for part in parts), tuple(part.spend for part in parts)
        as_written = (replace(query, text=part.sql) for query, part in zip(queries, parts, strict=True))
        return cls(request, mechanism, tuple(as_written), caps, spends=spends)

    @property
    def kind(self) -> str:  # type: ignore[override]  # (several kinds of requests are questions)
        """The kind of the request."""
        return self.request.kind

    @property
    def caps(self) -> Caps:  # type: ignore[override]  # (of the first question: all questions of a part have the same)
        """The caps of the first question."""
        return self.resolved[0].caps

    @property
    def _questions(self) -> list[Question]:
        return [query.question for query in self.queries]

    # -- what it costs ------------------------------------------------------------------------------------------

    def at(self, spend: Spend) -> Measurements:
        if self.refined is not None:
            (part,) = self._refinement(spend)
            return Measurements(part.made.spend, (part,))
        share = spend if isinstance(self.request, QueryRequest) else share_of_each(spend, self._questions)
        spends = self.spends or (share,) * len(self.queries)
        parts = tuple(
            PricedQuestion(query.question, self.mechanism.measured(query.question, own.caps, of_one), text=query.text)
            for query, own, of_one in zip(self.queries, self.resolved, spends, strict=True)
        )
        if len(parts) == 1:
            return Measurements(parts[0].made.spend, parts)
        keys = sum((part.made.spend.keys or Fraction(0) for part in parts), Fraction(0))
        return Measurements(replace(spend, keys=keys or None), parts)

    def _refinement(self, spend: Spend) -> Iterator[PricedQuestion]:
        """The same question at keys that are public now, measured so that releases combine."""
        assert self.refined is not None  # noqa: S101 (asked only then)
        earlier, mechanism = self.refined, self.mechanism
        question, measured = earlier.priced.question, earlier.priced.made
        mechanism.origin.require(question)
        made = measurement(
            question,
            measured.caps,
            mechanism.budget.neighbours,
            spend,
            earlier.keys,
            basis=measured.basis,
            counted=None if measured.relation is measured.question.relation else measured.relation,
        )
        yield PricedQuestion(question, made, text=earlier.priced.text)

    def event(self, measurement: Measurements) -> Event:
        return self._in_part(measurement.joint.event, measurement)

    def _in_part(self, event: Event, measurement: Measurements) -> Event:
        """The event to charge for `event` if the session sees only a part of the data."""
        part = self.mechanism.part
        if part is None:
            return event
        numbers = {part.partition(made.caps) for made in measurement.made()}
        (partition,) = numbers  # what is asked together has one
        return part.event(event, composed([made.event_if_added() for made in measurement.made()]), partition)

    def promise(self, measurement: Measurements) -> Guarantee:
        """That of the one question; of several, what their spend states, or what their noise and keys compose to."""
        budget, spend = self.mechanism.budget, measurement.spend
        if len(measurement.parts) == 1:
            return measurement.parts[0].made.promise(budget.unit)
        terms: Any = {"unit": budget.unit, "neighbours": budget.neighbours}
        if spend.is_pure or all(made.selection is None for made in measurement.made()):
            return measurement.joint.event.guarantee(**terms)
        if spend.epsilon is not None and spend.delta is not None:
            return ApproxDP(spend.epsilon, spend.delta, **terms)
        charges = charges_of(measurement.joint.event)
        noise = GaussianDP(exact.sqrt_up(charges.squares), **terms).approximate(spend.keys or Fraction(0))
        return noise.compose(ApproxDP(0, charges.delta, **terms))

    def kinds(self, terms: Terms, trial: TrialFilter) -> list[Spend]:
        keys = self.key_delta
        if self.refined is not None:
            keys = None  # which are public now
        elif keys is None and terms.share is None:
            keys = None if self.mechanism.key_pot is None else self.mechanism.key_pot / 10
        elif keys is None and trial.pot is not None and terms.share is not None:
            finding = sum(question.finds_keys for question in self._questions)
            keys = terms.share * trial.pot.limit / max(finding, 1)  # each question takes it
        only_pure = terms.share is None and [account.currency for account in trial.accounts] == [Epsilon()]
        return [
            Spend(epsilon=Fraction(1), keys=keys, aim=terms.aim),
            *([] if only_pure else [Spend(mu=Fraction(1), keys=keys, aim=terms.aim)]),
        ]

    def pure(self, spend: Spend) -> Spend | None:
        if self.refined is not None or self.profile is not None or spend.delta is None:
            return None
        keys, pot = spend.keys, self.mechanism.key_pot
        if keys is None and pot is not None:
            keys = min(spend.delta, pot / 10) / len(self.queries)
        finds_keys = any(question.finds_keys for question in self._questions)
        return Spend(epsilon=spend.epsilon, keys=keys if finds_keys else None, aim=spend.aim)

    def other(self, spend: Spend) -> Spend | None:
        if spend.delta is not None or self.refined is not None or len(self.queries) > 1:
            return self.pure(spend)
        finds_keys, pot = self._questions[0].finds_keys, self.mechanism.key_pot
        return other_search(spend, pot) if finds_keys and self.profile is None else None

    def narrower(self, percent: float) -> str:
        if not any(question.finds_keys for question in self._questions):
            return Bound.narrower(self, percent)
        return f"intervals, and the numbers from which groups are shown, are {percent:.0f} % less on average"

    def width(self, measurement: Measurements, terms: Terms) -> float:
        widths = [worth(made, terms.confidence, terms.n) for made in measurement.made()]
        return math.exp(sum(map(math.log, widths)) / len(widths))  # their geometric mean

    def widest(self, measurement: Measurements, terms: Terms) -> float:
        greatest = 0.0
        for part in measurement.parts:
            left_out = left_out_of(self.mechanism, part.question, part.made, terms.confidence)
            margins = column_margins(part.made, terms.confidence, terms.n, left_out)
            for name, margin in margins.items():
                if margin is None:
                    raise QueryRefused(
                        f"the margin of `{name}` depends on the data, so no spend can be chosen for it",
                        hint="; or ".join([*([_SAY_N] if terms.n is None else []), 'state share="5 %"']),
                    )
                greatest = max(greatest, margin)
        return greatest

    def refused(self, priced: Priced[Measurements], event: Event, refusal: BudgetExceeded) -> BudgetExceeded:
        needed = deltas_of(priced.measurement.made())
        return too_dear(
            self.mechanism, str(priced.spend), priced.spend, event, refusal, needed=needed, event_at=self.about
        )

    # -- what names and describes it ----------------------------------------------------------------------------

    def name(self, measurement: Measurements) -> dict[str, Any]:
        """The names of the questions, what they refine, and the portion of a stream.

        The request of a profile says so, which is how profiles are found again. Questions of a batch that differ only
        in how their answers are ordered have one name, but each has keys and noise of its own: a refinement tells them
        apart by `twins`.
        """
        part, refined = self.mechanism.part, self.refined
        refines = () if refined is None else (*refined.refines, refined.reservation.reference)
        return {
            "questions": measurement.joint.names,
            "refines": list(refines),
            "part": None if part is None else part.name(measurement.parts[0].made.caps),
            **({} if refined is None or refined.portion is None else {"portion": refined.portion}),
            **({} if self.profile is None else {"profile": dict(self.profile)}),
            **({} if refined is None or not refined.twins else {"twins": refined.twins}),
        }

    def words(self, measurement: Measurements) -> str:
        return measurement.joint.words if self.description is None else self.description

    def parts(self, measurement: Measurements) -> tuple[PaidPart, ...]:
        return tuple(PaidPart(part.made.spend, part.made.caps, part.text) for part in measurement.parts)

    @property
    def tables(self) -> int:
        return len(self.queries)

    # -- what it gives ------------------------------------------------------------------------------------------

    def require_runnable(self, measurement: Measurements) -> None:
        for part, choice in zip(measurement.parts, self.resolved, strict=True):
            if self.refined is None:
                self.mechanism.require_runnable(part, choice.caps)
            else:
                self.mechanism.engine.require_runnable(part.made.asked())

    def run(self, measurement: Measurements, steps: Steps) -> list[Stored]:
        drawn: list[DrawnAnswer] = []

        def draw() -> Any:
            drawn.extend(
                self._drawn(part, f"{steps.reservation.reference}-{index}")
                for index, part in enumerate(measurement.parts)
            )
            return storage.content_of([drawn_answer.stored for drawn_answer in drawn])

        try:
            stored = storage.stored_of(steps.settle(draw), len(measurement.parts))
        except BaseException:
            drawn.clear()  # what is not stored is drawn again: no trace may hold both draws
            raise
        spool = self.mechanism.spool
        for drawn_answer, stored_answer in zip(drawn, stored, strict=False):
            if drawn_answer.scratch is not None:
                spool.forget(drawn_answer.scratch)
            if "spool" in drawn_answer.stored and drawn_answer.stored != stored_answer:
                spool.forget(drawn_answer.stored["spool"]["file"])
        return stored

    def _drawn(self, part: PricedQuestion, reference: str) -> DrawnAnswer:
        """Ask the engine and add noise, once to each integer; find keys first if they are not known."""

        def drawn() -> DrawnAnswer:
            if part.keys is not None:
                return DrawnAnswer(storage.answer_to_json(None, part.made.release(self.mechanism.engine, part.keys)))
            return DiscoveryDraw(self.mechanism, part.made, reference).draw()

        return sealed_question(drawn)

    def paid(
        self,
        priced: Priced[Measurements],
        stored: list[Stored],
        reservation: Reservation,
        terms: Terms,
        index: int,
        *,
        portion: int | None = None,
    ) -> PaidRelease:
        """The paid release of the question at an index, or of a portion of its stream."""
        parts, spool = priced.measurement.parts, self.mechanism.spool
        part = replace(parts[index], why=priced.why)
        if portion is None:
            keys, release = storage.whole(spool, part, stored[index])
        else:
            portions = enumerate(storage.portions_of(spool, part, stored[index]))
            matched = next((content for number, content in portions if number == portion), None)
            if matched is None:
                raise NotFound(f"there is no portion {portion} of this release", hint="portions are counted from 0")
            keys, release = matched
        return PaidRelease(
            self.mechanism,
            part,
            keys,
            release,
            reservation,
            terms.confidence,
            question_index=index,
            twins=twins_before(parts, index),
        )

    def read(
        self, priced: Priced[Measurements], outcome: Any, reservation: Reservation, terms: Terms, *, looked_up: bool
    ) -> Any:
        answers = [
            replace(self.whole(index, priced, outcome, reservation, terms), looked_up=looked_up).read()
            for index in range(self.tables)
        ]
        return answers if isinstance(self.request, BatchRequest) else answers[0]

    def table(
        self, index: int, priced: Priced[Measurements], outcome: Any, reservation: Reservation, terms: Terms
    ) -> Answer:
        return replace(self.whole(index, priced, outcome, reservation, terms), looked_up=True).read()

    def whole(
        self,
        index: int,
        priced: Priced[Measurements],
        outcome: Any,
        reservation: Reservation,
        terms: Terms,
        *,
        portion: int | None = None,
    ) -> PaidRelease:
        """The release of the question at an index, or of a portion of it, with all releases that it refines."""
        paid = self.paid(priced, outcome, reservation, terms, index, portion=portion)
        if self.refined is None:
            return replace(paid, portion=portion)
        return replace(paid, portion=self.refined.portion).refining(self.refined)

    def stream(self, priced: Priced[Measurements], stored: Stored, reservation: Reservation, terms: Terms) -> Stream:
        """The answer to the one question as a stream, read from where it is stored, some keys at a time."""
        (part,) = priced.measurement.parts
        part, spool, confidence = replace(part, why=priced.why), self.mechanism.spool, terms.confidence
        if "spool" in stored and confidence.over == "answer":  # the confidence covers all portions together
            keys = sum(len(line["keys"]) for line in spool.read(stored["spool"]))
            confidence = Confidence(confidence, cells=keys * len(part.made.formulas))

        def answers() -> Iterator[Answer]:
            rows_left = part.made.question.limit
            for index, (keys, release) in enumerate(storage.portions_of(spool, part, stored)):
                portion = index if "spool" in stored else None
                paid = PaidRelease(self.mechanism, part, keys, release, reservation, confidence, portion)
                answer = paid.read(limit=rows_left)
                rows_left = None if rows_left is None else rows_left - len(answer)
                yield answer
                if rows_left == 0:
                    return

        return Stream(answers)

    # -- quotes -------------------------------------------------------------------------------------------------

    def quoted(self, priced: Priced[Measurements], terms: Terms, admission: Admission) -> dict[str, Any]:
        mechanism = replace(self.mechanism, paid_profiles=tuple(admission.profiles))
        facts = [
            _quoted(mechanism, replace(part, why=priced.why), terms, resolved)
            for part, resolved in zip(priced.measurement.parts, self.resolved, strict=True)
        ]
        short = (
            []
            if admission.admitted or admission.paid
            else missing_for_keys(admission.status, deltas_of(priced.measurement.made()))
        )
        if len(facts) == 1:
            (only,) = facts
            can_ask = self.refined is None and self.profile is None
            (part,) = priced.measurement.parts
            ways = (
                alternatives(self, part, terms, self.mechanism.trial(), truncation=only["truncation"])
                if can_ask
                else ()
            )
            return {**only, "advice": ways, "notes": (*only["notes"], *short[:1])}
        joined: dict[str, Any] = {"title": f"{len(facts)} questions under one charge"}
        for name in ("margins", "truncation", "noise", "spans"):
            joined[name] = {
                f"{index}.{column}": value for index, fact in enumerate(facts) for column, value in fact[name].items()
            }
        joined["notes"] = tuple(dict.fromkeys(line for fact in facts for line in fact["notes"]))
        joined["advice"] = as_workload(self, priced, terms)
        for name in ("worthless", "doubt"):
            joined[name] = next((fact[name] for fact in facts if fact[name] is not None), None)
        for name in ("caps", "contributions"):
            joined[name] = facts[0][name] if all(fact[name] == facts[0][name] for fact in facts) else None
        return {**joined, "notes": (*joined["notes"], *short[:1])}


_SAY_N = "pass n=, the number of rows if it is public or was released"


# -- releases ---------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class PaidRelease:
    """The last paid release of a question, and the earlier ones that it refines.

    `portion` is its index in a stream, if it is part of one; `question_index` is the index of the question in the batch
    of the first release.
    """

    mechanism: InteractiveMechanism
    priced: PricedQuestion
    keys: Keys
    last: Release
    reservation: Reservation
    confidence: Confidence
    portion: int | None = None
    earlier: tuple[Release, ...] = ()
    refines: tuple[str, ...] = ()
    promised: tuple[Guarantee, ...] = ()  # by the earlier releases
    looked_up: bool = False  # by its id, instead of by asking the question again
    question_index: int = 0
    twins: int = 0  # how many questions of the same name stand before that one

    def refining(self, earlier_release: PaidRelease) -> PaidRelease:
        """This release as a refinement of `earlier_release`."""
        return replace(
            self,
            earlier=(*earlier_release.earlier, earlier_release.last),
            refines=(*earlier_release.refines, earlier_release.reservation.reference),
            promised=(
                *earlier_release.promised,
                earlier_release.priced.made.promise(earlier_release.mechanism.budget.unit),
            ),
            question_index=earlier_release.question_index,
            twins=earlier_release.twins,
        )

    def read(self, limit: int | None = None) -> Answer:
        """The answer that combines all releases."""
        mechanism, measurement = self.mechanism, self.priced.made
        if self.looked_up:
            mechanism = replace(mechanism, version=self.reservation.version, as_of=self.reservation.number)
        is_replay = not self.looked_up and not self.reservation.charged
        free_note = self.reservation.paid_before(mechanism.version) if is_replay else None
        part = None if mechanism.part is None else mechanism.part.left_out
        circumstances = Circumstances(
            unit=mechanism.budget.unit,
            confidence=self.confidence,
            release_id=self.reservation.id,
            promised=self.promised,
            left_out=left_out_of(mechanism, self.priced.question, measurement, self.confidence),
            before=tuple(note for note in (free_note, self.priced.why) if note is not None),
            after=() if part is None else (part,),
        )
        return answer_of(
            measurement, self.keys, (*self.earlier, self.last), circumstances, limit=limit, refine=self.refine
        )

    def refine(self, *, key: str | None = None, **terms: Unpack[SpendTerms]) -> Answer:
        """Ask the question again at a further price, and combine all answers; found keys are public now."""
        stated_terms = Terms.of(terms, confidence=self.confidence, without=RefinementRequest.without)
        if stated_terms.spend is None and stated_terms.share is None:
            raise InvalidParameter("epsilon", None, "is missing", hint='epsilon="0.1"')
        with serving(self.mechanism.cache):
            request = RefinementRequest(self.reservation.reference, self.question_index, self.portion, self)
            answer: Answer = self.mechanism.answer(request, stated_terms, key)
            return answer


def twins_before(priced_questions: Sequence[PricedQuestion], index: int) -> int:
    """How many questions before one of a batch have its name: they differ only in what is made of the same numbers."""
    if index == 0:
        return 0
    name = priced_questions[index].made.named()
    return sum(priced.made.named() == name for priced in priced_questions[:index])


# -- quotes -----------------------------------------------------------------------------------------------------------


def _quoted(
    mechanism: InteractiveMechanism, part: PricedQuestion, terms: Terms, resolved: ResolvedCaps
) -> dict[str, Any]:
    """What a quote says of one question."""
    measurement, confidence, n = part.made, terms.confidence, terms.n
    at_spend = replace(terms, spend=measurement.spend, margin=None, share=None)
    left_out = left_out_of(mechanism, part.question, measurement, confidence, at_spend, are_best=resolved.are_best)
    margins: dict[str, float | str | None] = dict(column_margins(measurement, confidence, n, left_out))
    measures = measures_of(measurement, left_out)
    miss = quoted_miss(measurement, LeftOut.confidence_of_noise(left_out, confidence))
    for name, formula in measurement.formulas:
        if margins[name] is None and miss is not None:
            margins[name] = formula.margin_in_words(measures, miss)
    weighed = error_unit_in_words(measurement) if resolved.are_best else None
    return {
        "margins": margins,
        "truncation": truncation_margins(measurement, n, left_out),
        "noise": noise_in_words(measurement),
        "contributions": caps_in_words(measurement),
        "caps": measurement.binding_caps,
        "keys": _keys(measurement),
        "notes": (
            *(note for note in (part.why, resolved.why, weighed) if note is not None),
            *(note for note in [mechanism.part and mechanism.part.left_out] if note),
            *undeclared_values(part.question),
            *values_at_ends(part.question),
            *_remarks(measurement, margins, terms),
        ),
        "left_out": left_out,
        "worthless": worthless(mechanism, part.question, measurement, terms, margins),
        "doubt": doubt_about_keys(mechanism, part.question, measurement, terms),
        "spans": spans_of_means(measurement),
    }


def _keys(measurement: Measurement) -> str:
    if measurement.selection is not None:
        threshold = of_units(measurement, f"shown when {measurement.selection.in_words}")
        return f"found in the data; {threshold} ({_price_of_keys(measurement.selection.event())})"
    size = measurement.keys.size
    return f"{size:,} known beforehand, all answered" if measurement.columns else "none"


def _price_of_keys(event: events.DiscoveredKeys | events.GaussianKeys) -> str:
    delta = f"δ = {exact.decimal(event.delta)}"
    if isinstance(event, events.DiscoveredKeys):
        return f"ε = {exact.decimal(event.epsilon)}, {delta}"
    return (
        f"μ = {exact.decimal(1 / event.noise_multiplier, 4)}, {delta}; it has no ε, and ends the sum of ε of a budget"
    )


def _remarks(measurement: Measurement, margins: dict[str, float | str | None], terms: Terms) -> list[str]:
    """Remarks: what a joint release saves [PDP21, Ex. 1.4, 1.5], and whether noise would drown the answer (L1.7)."""
    remarks = []
    if any(measure.sections is not None for measure in measurement.measures):
        remarks.append("a narrower CLAMP gives quantiles finer bins, at the same cost")
    keys, times = measurement.stability.keys, _times_the_noise(measurement)
    if keys is not None and times > 1 and measurement.columns:
        factor = exact.decimal(times, 3)
        remarks.append(
            f"the {keys:,} groups are asked together; asked one by one, each would get {factor} times the noise"
        )
    n = None if terms.n is None else exact.positive("n", terms.n)
    remarks.extend(
        f"`{name}` says nothing of a group of fewer than about {rows:,.0f} rows: its interval is as wide as its bounds "
        "there; more ε or narrower bounds help"
        for name, rows in rows_that_means_need(measurement, terms).items()
        if n is None or (n <= rows and len(measurement.formulas) > 1)
    )
    if n is not None:
        counts = [name for name, formula in measurement.formulas if formula.counts]
        remarks.extend(
            f"the margin of `{name}` is no smaller than the {terms.n} rows there are: ask for more ε, or for fewer "
            "columns"
            for name in counts
            if isinstance(margin := margins[name], int | float) and margin >= float(n)
        )
    return remarks


def _times_the_noise(measurement: Measurement) -> Fraction:
    """How many times larger a count's noise would be if each group were asked for alone, at its part of the spend."""
    together, keys = measurement.stability, measurement.stability.keys or 1
    if together.rows_in_group is None:  # only persons are counted
        return Fraction(keys, together.touched)
    alone = replace(together, groups=1, grouped=False, keys=None)
    (whole, root_whole), (part, root_part) = together.sensitivity(0, 1), alone.sensitivity(0, 1)
    return keys * part / whole if measurement.is_pure else exact.sqrt_up(Fraction(keys)) * root_part / root_whole


# -- SELECT DISTINCT --------------------------------------------------------------------------------------------------


_NOTE = "these are the declared keys: no row was asked, and nothing is charged; which of them occur is not told"


def known_answer(mechanism: InteractiveMechanism, question: Question) -> Answer:
    """The declared keys as an answer. It uses no row, so it carries no promise and costs nothing."""
    mechanism.origin.require(question)
    return Answer(known_columns(question, _declared_keys(question)), notes=(_NOTE,))


def known_quote(mechanism: InteractiveMechanism, question: Question, confidence: Confidence) -> Quote:
    """The quote for such an answer: it costs nothing."""
    mechanism.origin.require(question)
    return Quote(
        "query",
        "",
        "nothing",
        None,
        Fraction(0),
        mechanism.standing().remaining,
        admitted=True,
        confidence=confidence,
        keys=f"{_declared_keys(question).size:,} known beforehand, all answered",
        notes=(_NOTE,),
    )


def _declared_keys(question: Question) -> Keys:
    schema = question.relation.schema
    keys = Keys(tuple(KeyColumn(name, key, key.domain(schema).keys()) for name, key in question.keys))
    if keys.size > MOST_KEYS:
        raise QueryRefused(f"the answer would have {keys.size:,} keys, more than {MOST_KEYS:,}", hint="fewer columns")
    return keys
