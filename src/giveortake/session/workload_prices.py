"""The price of a workload: a stated spend, the least spend that reaches a margin, or a share of the budget.

Where the spend is not stated, Laplace and Gaussian noise are compared, by the rules of `cheapest_noise`. The event of a
workload follows from its spend alone, so that prices are compared without a plan; no row decides anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.accounting.pricing import Epsilon
from giveortake.advice import Advice
from giveortake.compile import Spend
from giveortake.errors import InvalidParameter
from giveortake.exact import positive, shown, shown_down
from giveortake.session.cheapest_noise import first_guess, greatest_amount
from giveortake.session.mechanism import Charge
from giveortake.workload.measurement import WorkloadMeasurement, event_at, measured, name_of
from giveortake.workload.results import lines_of

if TYPE_CHECKING:
    from giveortake.answers.terms import Confidence
    from giveortake.compile import Terms
    from giveortake.ledger import Trial
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.workload.bound_workload import AskedWorkload
    from giveortake.workload.residuals import Goal

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
