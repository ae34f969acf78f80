"""Workloads: many tables under one charge, and its price.

The price of a workload: a stated spend, the least spend that reaches a margin, or a share of the budget.

Where the spend is not stated, Laplace and Gaussian noise are compared, by the rules of `cheapest_noise`. The event of a
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
from giveortake.exact import positive, shown, shown_down
from giveortake.session.mechanism import Charge, sealed_question
from giveortake.session.pricing import first_guess, greatest_amount, no_price, share_of_budget
from giveortake.session.profiles.best_caps import left_out_under
from giveortake.session.quotes import WorkloadQuote
from giveortake.session.refusals import no_share, too_dear
from giveortake.session.releases import workload_record
from giveortake.session.session import served
from giveortake.session.storage import MANY
from giveortake.workload.bound_workload import AskedWorkload, norm_of
from giveortake.workload.measurement import WorkloadMeasurement, event_at, measured, name_of
from giveortake.workload.residuals import Goal
from giveortake.workload.results import POST_PROCESSED, WorkloadAnswer, lines_of

if TYPE_CHECKING:
    from giveortake.answers.terms import AskTerms, Confidence, LeftOut
    from giveortake.compile import Caps
    from giveortake.exact import Number
    from giveortake.ledger import Reservation, Trial
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

    made: WorkloadMeasurement
    why: str | None = None  # why this noise, if it was chosen here
    refusal: str | None = None  # what would be charged is more than the terms allow


@final
@dataclass(frozen=True, slots=True, eq=False)
class WorkloadPricing:
    """A workload whose price is sought."""

    mechanism: InteractiveMechanism
    asked: AskedWorkload
    goal: Goal

    def price(self, said: Terms) -> PricedWorkload:
        """The spend that the terms state or imply, and what it buys. Nothing is charged, and no row is read."""
        if said.margin is not None:
            return self._by_margin(said, self.mechanism.trial())
        if said.share is not None:
            return self._by_share(said.share, said.confidence, self.mechanism.trial())
        if said.spend is None:
            raise InvalidParameter(
                "epsilon",
                None,
                "is missing: say what the answer may cost",
                hint=Advice(
                    "{rho}", "{epsilon}", "{margin}", "{share}", rho="1/100", epsilon="1", margin=50, share="1/10"
                ),
            )
        return PricedWorkload(self.at(said.spend))

    def at(self, spend: Spend) -> WorkloadMeasurement:
        """The measurement that a spend buys."""
        return measured(self.asked, spend, self.goal)

    def charge(self, spend: Spend) -> Charge:
        """The charge for the workload at a spend, with the name by which it is found again."""
        part = self.mechanism.part
        name: dict[str, Any] = name_of(self.asked, spend, self.goal)
        request = {**name, "part": None if part is None else part.name(self.asked.caps)}
        return Charge(self.event(spend), request, self.asked.in_words())

    def event(self, spend: Spend) -> Event:
        """The event that is charged for the workload at a spend."""
        whole, part = event_at(spend), self.mechanism.part
        if part is None:
            return whole
        return part.event(whole, whole, part.partition(self.asked.caps))  # if a unit is added, it costs no more

    def widest(self, made: WorkloadMeasurement, sure: Confidence) -> float:
        """The greatest margin of all tables."""
        return float(max(line["margin"] for line in self._lines(made, sure)))

    def other_noise(self, spend: Spend, sure: Confidence) -> str | None:
        """A remark if the other kind of noise would be better at the same part of the remaining budget; else None."""
        if self.asked.cells > MOST_COMPARED or self.asked.norm is not None:
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
        other = _spend(Fraction(shown_down(amount, 4)), pure=not spend.is_pure)
        ours, theirs = (self._typical(self.at(each), sure) for each in (spend, other))
        if theirs > _BETTER * ours:
            return None
        amount, gain = amount_of(other), _narrower(theirs, ours)
        asked = f'epsilon="{shown(amount)}", without δ,' if other.is_pure else f'mu="{shown(amount)}"'
        return f"{asked} takes no more of the budget, and with {_noise(other)} margins are {gain} narrower"

    # -- a margin, and a share ----------------------------------------------------------------------------------

    def _by_margin(self, said: Terms, trial: Trial) -> PricedWorkload:
        """Price a margin in every table: with the noise that leaves more of the budget."""
        wanted = float(positive("margin", said.margin or 0))
        spends = [self._least(wanted, said.confidence, pure=pure) for pure in self._noises(trial)]
        found = [each for each in spends if each is not None]
        if not found:
            raise InvalidParameter(
                "margin",
                said.margin,
                "is too small: no noise, however little, gives so narrow a margin",
                hint="ask for a wider margin",
            )
        paid = next((each for each in found if self._is_paid(each)), None)
        if paid is not None:
            return PricedWorkload(self.at(paid), f"{_noise(paid)}, as when this was asked before")
        parts = [(trial.part_of_rest(self.event(each)), each) for each in found]
        fitting = sorted(((part, each) for part, each in parts if part is not None), key=lambda pair: pair[0])
        if not fitting:
            return PricedWorkload(self.at(found[0]))
        part, best = fitting[0]
        why = f"{_noise(best)}: these margins take {shown(100 * part, 3)} % of what is left of the budget with it"
        if len(fitting) > 1:
            why += f", and {shown(100 * fitting[1][0], 3)} % with {_noise(fitting[1][1])}"
        return PricedWorkload(self.at(best), why)

    def _least(self, wanted: float, sure: Confidence, *, pure: bool) -> Spend | None:
        """The least spend of a kind, up to 0.1 %, at which no margin exceeds the wanted one; None if none does."""
        amount = 1.0
        for _ in range(_STEPS):
            spend = _spend(Fraction(amount).limit_denominator(10**12), pure=pure)
            widest = self.widest(self.at(spend), sure)
            if wanted * 0.999 <= widest <= wanted:
                return spend
            amount *= widest / wanted * (1 + 2**-20)
        return None

    def _by_share(self, share: Fraction, sure: Confidence, trial: Trial) -> PricedWorkload:
        """Price a share of the budget: with the noise that makes narrower intervals."""
        options = self._options(share, trial)
        paid = next((each for each in options if self._is_paid(each)), None)
        if paid is not None:
            return PricedWorkload(self.at(paid), f"{_noise(paid)}, as when this was asked before")
        left = max(Fraction(0), 1 - trial.share)
        within = []
        for spend in options:
            after = trial.after(self.event(spend))
            if after is not None and after.share <= trial.share + share:
                within.append(spend)
        if left < share or not within:
            refusal = f"share = {shown(share)} of the budget is not left: {shown(100 * left, 3)} % of it is"
            return PricedWorkload(self.at(min(options, key=amount_of)), refusal=refusal)
        most = [
            max((each for each in within if each.is_pure == pure), key=amount_of, default=None)
            for pure in self._noises(trial)
        ]
        plans = [self.at(each) for each in most if each is not None]
        best, *others = sorted(plans, key=lambda made: self._typical(made, sure))
        if not others:
            return PricedWorkload(best)
        ours, theirs = self._typical(best, sure), self._typical(others[0], sure)
        told = f"at this share margins are {_narrower(ours, theirs)} narrower than with {_noise(others[0].spend)}"
        return PricedWorkload(best, f"{_noise(best.spend)}: {told}")

    def _options(self, share: Fraction, trial: Trial) -> list[Spend]:
        """For each account and each kind of noise, the spend that costs the share of the account's limit."""
        found: dict[tuple[bool, Fraction], Spend] = {}
        for account in trial.accounts:
            for pure in self._noises(trial):
                target = share * account.limit
                if not target:
                    continue
                amount = greatest_amount(
                    lambda each, account=account, pure=pure: trial.cost(  # type: ignore[misc]  # (defaults bind now)
                        self.event(_spend(each, pure=pure)), account.currency
                    ),
                    target,
                    first_guess(account.currency, target, pure=pure),
                )
                if amount is not None:
                    found.setdefault((pure, amount), _spend(amount, pure=pure))
        return list(found.values())

    def _noises(self, trial: Trial) -> tuple[bool, ...]:
        """The kinds of noise to compare: True for Laplace, False for Gaussian."""
        if [account.currency for account in trial.accounts] == [Epsilon()]:
            return (True,)
        return (False,) if self.asked.cells > MOST_COMPARED or self.asked.norm is not None else (False, True)

    def _is_paid(self, spend: Spend) -> bool:
        mechanism, charge = self.mechanism, self.charge(spend)
        return mechanism.ledger.is_paid(
            charge.event, dataset=mechanism.dataset, analyst=mechanism.analyst, question=charge.question
        )

    def _typical(self, made: WorkloadMeasurement, sure: Confidence) -> float:
        """The geometric mean of the margins of all tables."""
        margins = [line["margin"] for line in self._lines(made, sure)]
        return math.exp(sum(map(math.log, margins)) / len(margins))

    def _lines(self, made: WorkloadMeasurement, sure: Confidence) -> list[dict[str, Any]]:
        return lines_of(self.asked, made.design, sure.miss(self.asked.cells))


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
