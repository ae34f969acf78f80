"""Workloads: many tables under one charge, and its price.

The price of a workload: a stated spend, the least spend that reaches a margin, or a share of the budget.

Where the spend is not stated, Laplace and Gaussian noise are compared, by the rules of `pricing`. The event of a
workload follows from its spend alone, so that prices are compared without a plan; no row decides anything.

Workloads: many tables under one charge, by the steps of every question: price → reserve → draw → settle → read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack, final, get_args

from giveortake.accounting.pricing import Epsilon
from giveortake.advice import Advice
from giveortake.arguments import told_by_name
from giveortake.compile import Spend, Terms
from giveortake.compile.postprocessing import ENTROPY
from giveortake.engines.runtime import failure
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.exact import decimal, decimal_down, percent, positive
from giveortake.session.mechanism import Charge, sealed_question
from giveortake.session.pricing import first_guess, greatest_amount, no_price, share_of_budget
from giveortake.session.profiles.best_caps import left_out_under
from giveortake.session.quotes import WorkloadQuote
from giveortake.session.refusals import no_share, too_dear
from giveortake.session.releases import workload_record
from giveortake.session.session import served
from giveortake.session.storage import MANY
from giveortake.workload.bound_workload import BoundWorkload, norm_of
from giveortake.workload.measurement import WorkloadMeasurement, event_at, measured, name_of
from giveortake.workload.residuals import Goal
from giveortake.workload.results import POST_PROCESSED, WorkloadAnswer, lines_of

if TYPE_CHECKING:
    from giveortake.answers.terms import AskTerms, Confidence, LeftOut
    from giveortake.compile import Caps
    from giveortake.exact import Number
    from giveortake.ledger import Reservation, TrialFilter
    from giveortake.plan import Relation
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.workload.workload import Workload


MOST_COMPARED = 20_000  # cells: for larger workloads only one kind of noise is planned
_STEPS = 60
_BETTER = 0.97  # of the noise: a smaller gain is not worth a remark


@final
@dataclass(frozen=True, slots=True, eq=False)
class PricedWorkload:
    """A workload with its price: the measurement that a spend buys."""

    measurement: WorkloadMeasurement
    why: str | None = None  # why this noise, if it was chosen here
    refusal: str | None = None  # what would be charged is more than the terms allow


@final
@dataclass(frozen=True, slots=True, eq=False)
class WorkloadPricing:
    """A workload whose price is sought."""

    mechanism: InteractiveMechanism
    bound_workload: BoundWorkload
    goal: Goal

    def price(self, terms: Terms) -> PricedWorkload:
        """The spend that the terms state or imply, and what it buys. Nothing is charged, and no row is read."""
        if terms.margin is not None:
            return self._by_margin(terms, self.mechanism.trial())
        if terms.share is not None:
            return self._by_share(terms.share, terms.confidence, self.mechanism.trial())
        if terms.spend is None:
            raise InvalidParameter(
                "epsilon",
                None,
                "is missing: say what the answer may cost",
                hint=Advice(
                    "{rho}", "{epsilon}", "{margin}", "{share}", rho="1/100", epsilon="1", margin=50, share="1/10"
                ),
            )
        return PricedWorkload(self.at(terms.spend))

    def at(self, spend: Spend) -> WorkloadMeasurement:
        """The measurement that a spend buys."""
        return measured(self.bound_workload, spend, self.goal)

    def charge(self, spend: Spend) -> Charge:
        """The charge for the workload at a spend, with the name by which it is found again."""
        part = self.mechanism.part
        name: dict[str, Any] = name_of(self.bound_workload, spend, self.goal)
        request = {**name, "part": None if part is None else part.name(self.bound_workload.caps)}
        return Charge(self.event(spend), request, self.bound_workload.in_words())

    def event(self, spend: Spend) -> Event:
        """The event that is charged for the workload at a spend."""
        whole, part = event_at(spend), self.mechanism.part
        if part is None:
            return whole
        return part.event(
            whole, whole, part.partition(self.bound_workload.caps)
        )  # if a unit is added, it costs no more

    def widest(self, measurement: WorkloadMeasurement, confidence: Confidence) -> float:
        """The greatest margin of all tables."""
        return float(max(line["margin"] for line in self._lines(measurement, confidence)))

    def other_noise(self, spend: Spend, confidence: Confidence) -> str | None:
        """A remark if the other kind of noise would be better at the same part of the remaining budget; else None."""
        if self.bound_workload.cells > MOST_COMPARED or self.bound_workload.norm is not None:
            return None
        trial = self.mechanism.trial()
        part = trial.part_of_rest(self.event(spend))
        if not part:
            return None
        guess = spend.epsilon if spend.is_pure and spend.epsilon else spend.gaussian()

        def taken(amount: Fraction) -> Fraction | None:
            return trial.part_of_rest(self.event(_spend(amount, pure=not spend.is_pure)))

        amount = greatest_amount(taken, part, Fraction(f"{float(guess):.6g}"))
        if amount is None:
            return None
        other = _spend(Fraction(decimal_down(amount, 4)), pure=not spend.is_pure)
        ours, theirs = (self._typical(self.at(spend_option), confidence) for spend_option in (spend, other))
        if theirs > _BETTER * ours:
            return None
        amount, gain = amount_of(other), _narrower(theirs, ours)
        argument = f'epsilon="{decimal(amount)}", without δ,' if other.is_pure else f'mu="{decimal(amount)}"'
        return f"{argument} takes no more of the budget, and with {_noise(other)} margins are {gain} narrower"

    # -- a margin, and a share ----------------------------------------------------------------------------------

    def _by_margin(self, terms: Terms, trial: TrialFilter) -> PricedWorkload:
        """Price a margin in every table: with the noise that leaves more of the budget."""
        wanted_margin = float(positive("margin", terms.margin or 0))
        spends = [self._least(wanted_margin, terms.confidence, pure=pure) for pure in self._noises(trial)]
        candidates = [spend for spend in spends if spend is not None]
        if not candidates:
            raise InvalidParameter(
                "margin",
                terms.margin,
                "is too small: no noise, however little, gives so narrow a margin",
                hint="ask for a wider margin",
            )
        paid = next((spend for spend in candidates if self._is_paid(spend)), None)
        if paid is not None:
            return PricedWorkload(self.at(paid), f"{_noise(paid)}, as when this was asked before")
        parts = [(trial.part_of_rest(self.event(spend)), spend) for spend in candidates]
        fitting = sorted(((part, spend) for part, spend in parts if part is not None), key=lambda pair: pair[0])
        if not fitting:
            return PricedWorkload(self.at(candidates[0]))
        part, best = fitting[0]
        why = f"{_noise(best)}: these margins take {percent(part, 3)} of what is left of the budget with it"
        if len(fitting) > 1:
            why += f", and {percent(fitting[1][0], 3)} with {_noise(fitting[1][1])}"
        return PricedWorkload(self.at(best), why)

    def _least(self, wanted_margin: float, confidence: Confidence, *, pure: bool) -> Spend | None:
        """The least spend of a kind, up to 0.1 %, at which no margin exceeds the wanted one; None if none does."""
        amount = 1.0
        for _ in range(_STEPS):
            spend = _spend(Fraction(amount).limit_denominator(10**12), pure=pure)
            widest = self.widest(self.at(spend), confidence)
            if wanted_margin * 0.999 <= widest <= wanted_margin:
                return spend
            amount *= widest / wanted_margin * (1 + 2**-20)
        return None

    def _by_share(self, share: Fraction, confidence: Confidence, trial: TrialFilter) -> PricedWorkload:
        """Price a share of the budget: with the noise that makes narrower intervals."""
        options = self._options(share, trial)
        paid = next((spend for spend in options if self._is_paid(spend)), None)
        if paid is not None:
            return PricedWorkload(self.at(paid), f"{_noise(paid)}, as when this was asked before")
        left = max(Fraction(0), 1 - trial.share)
        affordable = []
        for spend in options:
            after = trial.after(self.event(spend))
            if after is not None and after.share <= trial.share + share:
                affordable.append(spend)
        if left < share or not affordable:
            refusal = f"share = {decimal(share)} of the budget is not left: {percent(left, 3)} of it is"
            return PricedWorkload(self.at(min(options, key=amount_of)), refusal=refusal)
        greatest_spends = [
            max((spend for spend in affordable if spend.is_pure == pure), key=amount_of, default=None)
            for pure in self._noises(trial)
        ]
        plans = [self.at(spend) for spend in greatest_spends if spend is not None]
        best, *others = sorted(plans, key=lambda measurement: self._typical(measurement, confidence))
        if not others:
            return PricedWorkload(best)
        ours, theirs = self._typical(best, confidence), self._typical(others[0], confidence)
        reason = f"at this share margins are {_narrower(ours, theirs)} narrower than with {_noise(others[0].spend)}"
        return PricedWorkload(best, f"{_noise(best.spend)}: {reason}")

    def _options(self, share: Fraction, trial: TrialFilter) -> list[Spend]:
        """For each account and each kind of noise, the spend that costs the share of the account's limit."""
        spends: dict[tuple[bool, Fraction], Spend] = {}
        for account in trial.accounts:
            for pure in self._noises(trial):
                target = share * account.limit
                if not target:
                    continue
                amount = greatest_amount(
                    lambda candidate, account=account, pure=pure: trial.cost(  # type: ignore[misc]  # (defaults bind now)
                        self.event(_spend(candidate, pure=pure)), account.currency
                    ),
                    target,
                    first_guess(account.currency, target, pure=pure),
                )
                if amount is not None:
                    spends.setdefault((pure, amount), _spend(amount, pure=pure))
        return list(spends.values())

    def _noises(self, trial: TrialFilter) -> tuple[bool, ...]:
        """The kinds of noise to compare: True for Laplace, False for Gaussian."""
        if [account.currency for account in trial.accounts] == [Epsilon()]:
            return (True,)
        return (
            (False,)
            if self.bound_workload.cells > MOST_COMPARED or self.bound_workload.norm is not None
            else (False, True)
        )

    def _is_paid(self, spend: Spend) -> bool:
        mechanism, charge = self.mechanism, self.charge(spend)
        return mechanism.ledger.is_paid(
            charge.event, dataset=mechanism.dataset, analyst=mechanism.analyst, question=charge.question
        )

    def _typical(self, measurement: WorkloadMeasurement, confidence: Confidence) -> float:
        """The geometric mean of the margins of all tables."""
        margins = [line["margin"] for line in self._lines(measurement, confidence)]
        return math.exp(sum(map(math.log, margins)) / len(margins))

    def _lines(self, measurement: WorkloadMeasurement, confidence: Confidence) -> list[dict[str, Any]]:
        return lines_of(self.bound_workload, measurement.design, confidence.miss(self.bound_workload.cells))


def amount_of(spend: Spend) -> Fraction:
    """The ε or μ of a spend."""
    return spend.epsilon or spend.mu or Fraction(0)


def _spend(amount: Fraction, *, pure: bool) -> Spend:
    return Spend(epsilon=amount) if pure else Spend(mu=amount)


def _noise(spend: Spend) -> str:
    return "Laplace noise" if spend.is_pure else "Gaussian noise"


def _narrower(ours: float, theirs: float) -> str:
    return f"{100 * (1 - ours / theirs):.0f} %"


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
        stated_terms = _terms(terms)
        mechanism, pricing = self._mechanism, self._pricing(stated_terms)
        priced = pricing.price(stated_terms)
        measurement, event = priced.measurement, pricing.event(priced.measurement.spend)
        is_spend_chosen = stated_terms.margin is not None or stated_terms.share is not None
        cheaper = None if is_spend_chosen else pricing.other_noise(measurement.spend, stated_terms.confidence)
        share = share_of_budget(mechanism.budget, event)
        admission = mechanism.admission(pricing.charge(measurement.spend))
        miss = stated_terms.confidence.miss(measurement.workload.cells)
        return WorkloadQuote(
            str(measurement.spend),
            measurement.event.guarantee(unit=mechanism.budget.unit, neighbours=mechanism.budget.neighbours),
            measurement.design.name,
            tuple(lines_of(measurement.workload, measurement.design, miss)),
            stated_terms.confidence,
            priced.refusal is None and (admission.admitted or admission.paid),
            share=share,
            caps=measurement.workload.counted,
            left_out=self._left_out(measurement, stated_terms.confidence),
            remaining=admission.status.remaining,
            remarks=(
                *no_price(share, mechanism.budget, event),
                *_norm_note(measurement),
                *(remark for remark in (priced.why, priced.refusal) if remark is not None),
            ),
            advice=() if cheaper is None else (cheaper,),
            paid=priced.refusal is None and admission.paid,
            approval=admission.waits and not admission.paid,
        )

    @told_by_name()
    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> WorkloadAnswer:
        """All tables, under one charge. `key` makes a retry safe; a paid workload is free at the same price."""
        stated_terms = _terms(terms)
        mechanism, pricing = self._mechanism, self._pricing(stated_terms)
        priced = pricing.price(stated_terms)
        measurement, charge = (
            priced.measurement,
            self._charge(pricing, priced.measurement.spend, stated_terms.confidence),
        )
        mechanism.engine.require_runnable(measurement.questions())

        def reserve() -> Reservation:
            if priced.refusal is not None:
                raise no_share(mechanism, measurement.spend, priced.refusal)
            try:
                return mechanism.reserve_charge(charge, key)
            except BudgetExceeded as refusal:
                costs = str(measurement.spend)
                raise too_dear(mechanism, costs, measurement.spend, charge.event, refusal, event_at=event_at) from None

        def draw(reservation: Reservation) -> Any:
            return sealed_question(lambda: mechanism.ledger.settle(reservation, self._drawn(measurement)))

        reservation, content = mechanism.draw_once(charge, reserve, draw)
        return self.read(
            priced, stated_terms.confidence, reservation, reservation.answer if content is None else content
        )

    def paid(self, spend: Spend, caps: Caps) -> tuple[PricedWorkload, Charge]:
        """The measurement and the charge of a workload that was paid for, rebuilt from the ledger's record."""
        pricing = self._pricing_under(caps)
        return PricedWorkload(pricing.at(spend)), pricing.charge(spend)

    # -- inside -------------------------------------------------------------------------------------------------

    def _charge(self, pricing: WorkloadPricing, spend: Spend, confidence: Confidence) -> Charge:
        """The charge, with the record by which the tables can be read by their release id."""
        record = workload_record(
            self._mechanism,
            self.workload,
            self._relation,
            count=pricing.bound_workload.count,
            minimise=self.minimise,
            norm=self.norm,
            spend=spend,
            caps=pricing.bound_workload.caps,
            confidence=confidence,
        )
        return replace(pricing.charge(spend), record=record)

    def _pricing(self, terms: Terms) -> WorkloadPricing:
        return self._pricing_under(self._mechanism.resolve_caps(terms))

    def _pricing_under(self, caps: Caps) -> WorkloadPricing:
        mechanism = self._mechanism
        bound_workload = BoundWorkload.of(self.workload, self._relation, caps, mechanism.budget.neighbours, self.norm)
        mechanism.origin.require(bound_workload.attributes.question(self._relation, self._sums(bound_workload)))
        return WorkloadPricing(mechanism, bound_workload, self.minimise)

    def _sums(self, bound_workload: BoundWorkload) -> list[str]:
        return [layer.of for layer in bound_workload.layers if layer.of is not None]

    def _drawn(self, measurement: WorkloadMeasurement) -> Any:
        mechanism = self._mechanism
        content = measurement.draw(mechanism.engine)
        if not mechanism.engine.unchanged():
            raise failure("changed")
        if measurement.workload.cells > MANY:
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
        mechanism, measurement = self._mechanism, priced.measurement
        if "spool" in content:
            (content,) = mechanism.spool.read(content["spool"])
        release = measurement.read(content)
        promise = measurement.event.guarantee(unit=mechanism.budget.unit, neighbours=mechanism.budget.neighbours)
        notes = [] if (free_note := reservation.paid_before(mechanism.version)) is None or looked_up else [free_note]
        notes += [] if priced.why is None else [priced.why]
        if names := measurement.workload.attributes.names:
            notes.append(f"rows with an undeclared value of {', '.join(names)} are left out of all")
        notes += [
            f"values of `{column}` beyond its bounds count at the bound"
            for column in dict.fromkeys(ranges.column for ranges in measurement.workload.ranges)
        ]
        notes += ["; ".join(words)] if (words := measurement.workload.counted_in_words()) else []
        counts = {layer.name for layer in measurement.workload.layers if layer.of is None} | (
            {"n"} if measurement.workload.ranges else set()
        )
        notes += [f"{name}{POST_PROCESSED}" for name in sorted(counts)]
        left_out = self._left_out(measurement, confidence)
        notes += [] if left_out is None else [str(left_out)]
        provenance = {
            "guarantee": promise,
            "cost": promise,
            "release_id": reservation.id,
            "citations": release.design.citations,
            "recipe": {"spend": str(measurement.spend), "strategy": release.design.name},
            "entropy": ENTROPY,
            "notes": tuple(notes),
            "caps": measurement.workload.counted,
            "left_out": left_out,
        }
        return WorkloadAnswer(release, confidence, provenance)

    def _left_out(self, measurement: WorkloadMeasurement, confidence: Confidence) -> LeftOut | None:
        """What the cap leaves out of the table: it chooses rows before those with declared values are taken."""
        question = replace(measurement.workload.question, relation=self._relation)
        return left_out_under(self._mechanism, question, measurement.workload.counted, confidence)

    def __repr__(self) -> str:
        return f"<WorkloadQuery of {self._mechanism.dataset}: {self.workload!r}>"


def _norm_note(measurement: WorkloadMeasurement) -> list[str]:
    """A note on how much of a person counts under a norm; none without a norm, where caps say it."""
    return [] if measurement.workload.norm is None else ["; ".join(measurement.workload.counted_in_words())]


def _terms(terms: AskTerms) -> Terms:
    """The terms of a workload. Caps that make sense only for a single table are refused by name."""
    for name, value in terms.items():
        if name in _OTHER_CAPS and value is not None:
            problem, hint = _OTHER_CAPS[name]
            raise InvalidParameter(name, value, problem, hint=hint)
    return Terms.of(terms, without=_WITHOUT)
