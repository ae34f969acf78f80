"""Workloads: many tables under one charge, by the steps of every question: price → reserve → draw → settle → read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, final, get_args

from giveortake.advice import Advice
from giveortake.arguments import told_by_name
from giveortake.compile import Terms
from giveortake.compile.postprocessing import ENTROPY
from giveortake.engines.runtime import failure
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.session.best_caps import left_out_under
from giveortake.session.margins import no_price, share_of_budget
from giveortake.session.refusals import no_share, too_dear
from giveortake.session.released_tables import workload_record
from giveortake.session.sealed_draws import sealed_question
from giveortake.session.serving import served
from giveortake.session.stored_answers import MANY
from giveortake.session.workload_prices import PricedWorkload, WorkloadPricing
from giveortake.session.workload_quotes import WorkloadQuote
from giveortake.workload.bound_workload import AskedWorkload, norm_of
from giveortake.workload.measurement import event_at
from giveortake.workload.residuals import Goal
from giveortake.workload.results import POST_PROCESSED, WorkloadAnswer, lines_of

if TYPE_CHECKING:
    from giveortake.answers.terms import AskTerms, Confidence, LeftOut
    from giveortake.compile import Caps, Spend
    from giveortake.exact import Number
    from giveortake.ledger import Reservation
    from giveortake.plan import Relation
    from giveortake.session.mechanism import Charge, InteractiveMechanism
    from giveortake.workload.measurement import WorkloadMeasurement
    from giveortake.workload.workload import Workload

_WITHOUT = ("key_delta", "n", "groups_per_person", "rows_per_group", "caps")
_ROWS = Advice("{rows_per_person} bounds what a person adds to all tables alike", rows_per_person=10)
_OTHER_CAPS = {
    "groups_per_person": ("is for a single table, and a workload has many", _ROWS),
    "rows_per_group": ("is for a single table, and a workload has many", _ROWS),
    "caps": (
        "is for a single question, and a workload has many tables",
        Advice(
            "{profile} tells how much each number of rows leaves out; then {state} {rows_per_person}",
            rows_per_person=10,
        ),
    ),
    "norm": ("belongs to the workload, not to its price", Advice("{norm}")),
}


@final
@served
class WorkloadQuery:
    """Tables that are asked for together: quoted for free, answered under one charge.

    The terms are those of `quote` and `answer` alike: a pure `epsilon` (Laplace noise, the best of a few strategies);
    or `epsilon` and `delta`, `rho`, or `mu` (Gaussian noise on residuals); or the least that reaches a `margin` in
    every table, or a `share` of the whole budget, each with the noise that suits better. `confidence` and
    `confidence_over` say how sure intervals are, each for itself or all of the workload together; `rows_per_person` how
    many rows of a person count.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism,
        workload: Workload,
        relation: Relation,
        minimise: str,
        norm: Number | None = None,
    ) -> None:
        if minimise not in get_args(Goal):
            raise InvalidParameter(
                "minimise", minimise, "is unknown", hint=Advice("{minimise}, or “maximum”", minimise="rms")
            )
        self.workload = workload
        self.minimise: Any = minimise
        self.norm = norm_of(norm)
        self._mechanism = mechanism
        self._relation = relation

    @told_by_name()
    def quote(self, **terms: Unpack[AskTerms]) -> WorkloadQuote:
        """What an answer would cost, and the margins of every table, also for an equal split. No row is read."""
        said = _terms(terms)
        mechanism, pricing = self._mechanism, self._pricing(said)
        priced = pricing.price(said)
        made, event = priced.made, pricing.event(priced.made.spend)
        chosen = said.margin is not None or said.share is not None
        cheaper = None if chosen else pricing.other_noise(made.spend, said.confidence)
        share = share_of_budget(mechanism.budget, event)
        outlook = mechanism.outlook(pricing.charge(made.spend))
        return WorkloadQuote(
            str(made.spend),
            made.event.guarantee(unit=mechanism.budget.unit, neighbours=mechanism.budget.neighbours),
            made.design.name,
            tuple(lines_of(made.asked, made.design, said.confidence.miss(made.asked.cells))),
            said.confidence,
            priced.refusal is None and (outlook.admitted or outlook.paid),
            share=share,
            caps=made.asked.counted,
            left_out=self._left_out(made, said.confidence),
            remaining=outlook.standing.remaining,
            remarks=(
                *no_price(share, mechanism.budget, event),
                *_told(made),
                *(each for each in (priced.why, priced.refusal) if each is not None),
            ),
            advice=() if cheaper is None else (cheaper,),
            paid=priced.refusal is None and outlook.paid,
            approval=outlook.waits and not outlook.paid,
        )

    @told_by_name()
    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> WorkloadAnswer:
        """All tables, under one charge. `key` makes a retry safe; a paid workload is free at the same price."""
        said = _terms(terms)
        mechanism, pricing = self._mechanism, self._pricing(said)
        priced = pricing.price(said)
        made, charge = priced.made, self._charge(pricing, priced.made.spend, said.confidence)
        mechanism.engine.require_runnable(made.questions())

        def reserve() -> Reservation:
            if priced.refusal is not None:
                raise no_share(mechanism, made.spend, priced.refusal)
            try:
                return mechanism.reserve_charge(charge, key)
            except BudgetExceeded as refusal:
                costs = str(made.spend)
                raise too_dear(mechanism, costs, made.spend, charge.event, refusal, event_at=event_at) from None

        def draw(reservation: Reservation) -> Any:
            return sealed_question(lambda: mechanism.ledger.settle(reservation, self._drawn(made)))

        reservation, content = mechanism.draw_once(charge, reserve, draw)
        return self.read(priced, said.confidence, reservation, reservation.answer if content is None else content)

    def paid(self, spend: Spend, caps: Caps) -> tuple[PricedWorkload, Charge]:
        """The measurement and the charge of a workload that was paid for, rebuilt from the ledger's record."""
        pricing = self._asked_with(caps)
        return PricedWorkload(pricing.at(spend)), pricing.charge(spend)

    # -- inside -------------------------------------------------------------------------------------------------

    def _charge(self, pricing: WorkloadPricing, spend: Spend, confidence: Confidence) -> Charge:
        """The charge, with the record by which the tables can be read by their release id."""
        record = workload_record(
            self._mechanism,
            self.workload,
            self._relation,
            count=pricing.asked.count,
            minimise=self.minimise,
            norm=self.norm,
            spend=spend,
            caps=pricing.asked.caps,
            confidence=confidence,
        )
        return replace(pricing.charge(spend), record=record)

    def _pricing(self, said: Terms) -> WorkloadPricing:
        return self._asked_with(self._mechanism.resolve_caps(said))

    def _asked_with(self, caps: Caps) -> WorkloadPricing:
        mechanism = self._mechanism
        asked = AskedWorkload.of(self.workload, self._relation, caps, mechanism.budget.neighbours, self.norm)
        mechanism.origin.require(asked.attributes.question(self._relation, self._sums(asked)))
        return WorkloadPricing(mechanism, asked, self.minimise)

    def _sums(self, asked: AskedWorkload) -> list[str]:
        return [layer.of for layer in asked.layers if layer.of is not None]

    def _drawn(self, made: WorkloadMeasurement) -> Any:
        mechanism = self._mechanism
        content = made.draw(mechanism.engine)
        if not mechanism.engine.unchanged():
            raise failure("changed")
        if made.asked.cells > MANY:
            return {"spool": mechanism.spool.write([content])}
        return content

    def read(
        self,
        priced: PricedWorkload,
        confidence: Confidence,
        reservation: Reservation,
        content: Any,
        *,
        looked_up: bool = False,
    ) -> WorkloadAnswer:
        """The tables from what is stored; `looked_up` says that they are read by an id, without asking again."""
        mechanism, made = self._mechanism, priced.made
        if "spool" in content:
            (content,) = mechanism.spool.read(content["spool"])
        release = made.read(content)
        promise = made.event.guarantee(unit=mechanism.budget.unit, neighbours=mechanism.budget.neighbours)
        notes = [] if (free := reservation.paid_before(mechanism.version)) is None or looked_up else [free]
        notes += [] if priced.why is None else [priced.why]
        if names := made.asked.attributes.names:
            notes.append(f"rows with an undeclared value of {', '.join(names)} are left out of all")
        notes += [
            f"values of `{each}` beyond its bounds count at the bound"
            for each in dict.fromkeys(one.column for one in made.asked.ranges)
        ]
        notes += ["; ".join(told)] if (told := made.asked.counted_in_words()) else []
        counts = {layer.name for layer in made.asked.layers if layer.of is None} | (
            {"n"} if made.asked.ranges else set()
        )
        notes += [f"{name}{POST_PROCESSED}" for name in sorted(counts)]
        left_out = self._left_out(made, confidence)
        notes += [] if left_out is None else [str(left_out)]
        provenance = {
            "guarantee": promise,
            "cost": promise,
            "release_id": reservation.id,
            "citations": release.design.citations,
            "recipe": {"spend": str(made.spend), "strategy": release.design.name},
            "entropy": ENTROPY,
            "notes": tuple(notes),
            "caps": made.asked.counted,
            "left_out": left_out,
        }
        return WorkloadAnswer(release, confidence, provenance)

    def _left_out(self, made: WorkloadMeasurement, confidence: Confidence) -> LeftOut | None:
        """What the cap leaves out of the table: it chooses rows before those with declared values are taken."""
        question = replace(made.asked.question, relation=self._relation)
        return left_out_under(self._mechanism, question, made.asked.counted, confidence)

    def __repr__(self) -> str:
        return f"<WorkloadQuery of {self._mechanism.dataset}: {self.workload!r}>"


def _told(made: WorkloadMeasurement) -> list[str]:
    """A note on how much of a person counts under a norm; none without a norm, where caps say it."""
    return [] if made.asked.norm is None else ["; ".join(made.asked.counted_in_words())]


def _terms(said: AskTerms) -> Terms:
    """The terms of a workload. Caps that make sense only for a single table are refused by name."""
    for name, value in said.items():
        if name in _OTHER_CAPS and value is not None:
            problem, hint = _OTHER_CAPS[name]
            raise InvalidParameter(name, value, problem, hint=hint)
    return Terms.of(said, without=_WITHOUT)
