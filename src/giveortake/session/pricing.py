"""The least noise that reaches a margin or uses a share of the budget.

- Batches: questions declared together share one spend.
- The least spend that reaches a margin: decided before any row is read, and never adjusted afterwards.
- Choose Laplace or Gaussian noise, and how much of it, where only a margin or a share of the budget is stated.

A share. Of every account of the filter that guards the budget (of a race: every contestant) and of either noise, take
the spend that costs, in that account's currency, the share of its limit. Of these spends, those count which raise the
*used part* of the budget by no more than the share; the used part is what `standing.share` tells: that of the account
which has most left. The one with the narrowest intervals is spent.

Theorem: shares that add up to at most one fit a fresh budget, whatever questions they are spent on, in whatever order
and with whatever noise. Proof: let u be the used part before a share s. Of a race, u = used/limit of some live
contestant j; the spend that costs s of that limit leaves it at u + s, and if that is at most 1, then j stays alive and
the used part is at most u + s. So a spend that counts exists while u + s ≤ 1, and by induction the used part is at most
the sum of the shares. Of a sum filter u is the greatest used/limit, and the least of the spends raises none of them by
more than s. ∎ If u + s > 1 the question is refused: a budget that ten shares of a tenth have used has no eleventh.

Everything here is decided by the question, the budget and earlier charges of the same level, before any row is read.
A spend that the asker paid for before is taken again, at no cost, even if another would be chosen now.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake import accounting, exact
from giveortake.accounting.pricing import Divergence, Epsilon, Rho
from giveortake.advice import Advice
from giveortake.caching import cached
from giveortake.compile import Spend
from giveortake.compile.design import parts_of
from giveortake.compile.formulas import QuantileOf
from giveortake.compile.noisy_measures import without_data
from giveortake.errors import BudgetExceeded, InvalidParameter, QueryRefused, Unpriced
from giveortake.exact import decimal, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from giveortake.accounting.filters import Filter
    from giveortake.accounting.pricing import Currency
    from giveortake.answers.terms import Confidence
    from giveortake.compile import Caps, Measurement, Terms
    from giveortake.compile.formulas import Formula
    from giveortake.compile.noisy_measures import Combined
    from giveortake.exact import Number
    from giveortake.ledger import TrialFilter
    from giveortake.plan import Question
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism, Priced


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
        return Spend(mu=spend.gaussian() / exact.sqrt_up(count), keys=spend.keys)
    assert spend.epsilon is not None and spend.delta is not None  # noqa: S101, PT018 (the last kind of spend)
    return replace(spend, epsilon=spend.epsilon / count, delta=spend.delta / count)


_FINEST, _COARSEST = Fraction(1, 2**40), Fraction(2**10)


def column_margins(measurement: Measurement, confidence: Confidence, n: Number | None) -> dict[str, float | None]:
    """The margin of every column; None if it depends on rows, or if it is that of a mean and `n` is unknown."""
    measures = without_data(measurement.measures, measurement.noises)
    miss = quoted_miss(measurement, confidence)
    if miss is None:
        return {name: None for name, _ in measurement.formulas}
    number = None if n is None else float(exact.positive("n", n))
    return {name: formula.margin(measures, miss, number) for name, formula in measurement.formulas}


def quoted_miss(measurement: Measurement, confidence: Confidence) -> float | None:
    """The probability with which an interval may miss; None if all have to hold and their number is unknown."""
    if measurement.selection is not None and confidence.over == "answer":
        return None
    return confidence.miss(measurement.keys.size * len(measurement.formulas) if measurement.selection is None else 1)


def typical_width(measurement: Measurement, confidence: Confidence, n: Number | None) -> float:
    """The typical width of a measurement's intervals: the geometric mean over all columns whose width is known.

    Means count as if there were `n` rows, or one if `n` is unknown: the same for both kinds of noise.
    """
    measures = without_data(measurement.measures, measurement.noises)
    number = 1.0 if n is None else float(exact.positive("n", n))
    miss = quoted_miss(measurement, confidence) or float(1 - confidence)
    widths = [width for _, formula in measurement.formulas for width in _widths(formula, measures, miss, number)]
    positive_widths = [width for width in widths if width > 0]
    if not positive_widths:  # no column has a known width: compare the noise itself
        positive_widths = [float(noise.tail.variance) ** 0.5 for noise in measurement.noises]
    return math.exp(sum(math.log(width) for width in positive_widths) / len(positive_widths))


def _widths(formula: Formula, measures: Mapping[int, Combined], miss: float, number: float) -> Iterator[float]:
    """The margins of a formula: its own, or those of its parts; for a quantile, the margin of its rank."""
    own = formula.margin(measures, miss, number)
    if own is not None:
        yield own
    elif isinstance(formula, QuantileOf):
        distribution = measures[formula.measure].distribution
        if distribution is not None:
            yield distribution.rank_margin(formula.quantile, miss)
    else:
        for part in parts_of(formula):
            yield from _widths(part, measures, miss, number)


_SAY_N = "{pass} {n}, the number of rows if it is public or was released"


def least_spend(measure: Callable[[Spend], Measurement], kind: Spend, terms: Terms) -> Spend | None:
    """The least spend of a kind at which no column exceeds the wanted margin; None if no spend reaches it."""
    assert terms.margin is not None  # noqa: S101 (asked only then)
    reach = float(exact.positive("margin", terms.margin))

    def at(amount: Fraction) -> Spend:
        return replace(kind, epsilon=amount) if kind.epsilon is not None else replace(kind, mu=amount)

    def widest(amount: Fraction) -> float:
        margins = column_margins(measure(at(amount)), terms.confidence, terms.n)
        unknown = [name for name, margin in margins.items() if margin is None]
        if unknown:
            raise QueryRefused(
                f"the margin of `{unknown[0]}` depends on the data, so no spend can be chosen for it",
                hint=Advice(*([_SAY_N] if terms.n is None else []), "{state} {epsilon}", between="; or "),
            )
        return max(margin for margin in margins.values() if margin is not None)

    low, high = _FINEST, _COARSEST
    if widest(high) > reach:
        return None
    while high / low > 1 + Fraction(1, 1000):
        middle = Fraction(float(low * high) ** 0.5).limit_denominator(10**12)
        if not low < middle < high:  # so near to zero, no number of few digits lies between
            break
        low, high = (low, middle) if widest(middle) <= reach else (middle, high)
    return at(high)


@cached(64)
def _fresh(budget: Guarantee) -> Filter:
    """A filter that has admitted nothing. It is shared: copy it before charging it."""
    return accounting.filter(budget)


def share_of_budget(budget: Guarantee, event: Event) -> Fraction | None:
    """How much of a fresh budget an event would use; None if it is more than there is."""
    guard = _fresh(budget).copy()
    try:
        guard.charge(event)
    except BudgetExceeded:
        return None
    return guard.share


NO_PRICE = "it has no price in this budget"
WITHOUT_DELTA = Advice("{epsilon}, without δ, asks for Laplace noise, which has a price", epsilon="0.1")


def no_price(share: Fraction | None, budget: Guarantee, event: Event, instead: str = WITHOUT_DELTA) -> tuple[str, ...]:
    """A remark if a budget has no price for an event of any size, such as Gaussian noise in a pure ε; else nothing.

    The remark says what to use `instead`. `share` is the result of `share_of_budget`.
    """
    if share is None:
        try:
            _fresh(budget).copy().charge(event)
        except Unpriced:
            return (f"{NO_PRICE}: {instead}",)
        except BudgetExceeded:
            return ()
    return ()


def unfitting(share: Fraction | None, remarks: tuple[str, ...]) -> str:
    """Why the budget does not admit a quoted charge, in words."""
    if share is not None:
        return "the budget does not admit it any more"
    unpriced = any(remark.startswith(NO_PRICE) for remark in remarks)
    return f"the budget does not admit it: {NO_PRICE}" if unpriced else "it is more than the whole budget"


_MEAN_OF_PURE = 1.2534  # √(2π)/2: μ of an ε-DP release is at most this times ε; it starts a search, no more
_CLOSE = Fraction(10001, 10000)
_BELOW = 0.99998  # of where a step of the search would end: what is sought is not above
_STEPS = 40


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pricing:
    """A question whose price is sought, with its mechanism and caps."""

    mechanism: InteractiveMechanism
    question: Question
    caps: Caps

    def at(self, spend: Spend) -> Priced:
        """The question, priced at a spend."""
        return self.mechanism.price_at(self.question, self.caps, spend)

    def measure(self, spend: Spend) -> Measurement:
        """The measurement that a spend buys."""
        return self.mechanism.measure(self.question, self.caps, spend)

    def event(self, priced: Priced) -> Event:
        """The event that would be charged."""
        return self.mechanism.event([priced])

    def is_paid(self, priced: Priced) -> bool:
        """Whether the question was paid for before, at this price."""
        return self.mechanism.is_paid([priced])


def price_by_margin(pricing: Pricing, terms: Terms, trial: TrialFilter) -> Priced:
    """Price a margin: with Laplace or Gaussian noise, whichever leaves more of the budget."""
    pot = pricing.mechanism.key_pot
    keys = terms.key_delta if terms.key_delta is not None or pot is None else pot / 10
    pure = [account.currency for account in trial.accounts] == [Epsilon()]
    kinds = [Spend(epsilon=Fraction(1), keys=keys), *([] if pure else [Spend(mu=Fraction(1), keys=keys)])]
    spends = [least_spend(pricing.measure, kind, terms) for kind in kinds]
    candidates = [pricing.at(spend) for spend in spends if spend is not None]
    if not candidates:
        raise InvalidParameter(
            "margin",
            terms.margin,
            "is too small: no noise, however little, gives so narrow a margin",
            hint="ask for a wider margin",
        )
    for priced in candidates:
        if pricing.is_paid(priced):
            return _priced_before(priced)
    parts = [(trial.part_of_rest(pricing.event(priced)), priced) for priced in candidates]
    fitting = sorted(((part, priced) for part, priced in parts if part is not None), key=lambda pair: pair[0])
    if not fitting:
        return candidates[0]
    part, best = fitting[0]
    if len(candidates) == 1:
        return best
    reason = f"these margins take {percent(part, 3)} of what is left of the budget with it"
    if len(fitting) == 1:
        return replace(best, why=f"{_noise(best)}: {reason}; {_other_noise(best)} does not fit")
    return replace(best, why=f"{_noise(best)}: {reason}, and {percent(fitting[1][0], 3)} with {_other_noise(best)}")


def price_by_share(pricing: Pricing, terms: Terms, trial: TrialFilter) -> Priced:
    """Price a share of the budget: with Laplace or Gaussian noise, whichever makes narrower intervals."""
    assert terms.share is not None  # noqa: S101 (asked only then)
    options = list(_options(pricing, terms, trial))
    for option in options:
        if pricing.is_paid(option.priced):
            return _priced_before(option.priced)
    left = max(Fraction(0), 1 - trial.share)
    affordable = [option for option in options if option.used is not None and option.used <= trial.share + terms.share]
    if left < terms.share or not affordable:
        least = min(options, key=lambda option: option.cost).priced
        refusal = f"share = {decimal(terms.share)} of the budget is not left: {percent(left, 3)} of it is"
        return replace(least, refusal=refusal)
    best = min(affordable, key=lambda option: option.width)
    other_options = [option for option in affordable if option.priced.spend.is_pure != best.priced.spend.is_pure]
    noise, other_noise = _noise(best.priced), _other_noise(best.priced)
    if other_options:
        narrower = 100 * (1 - best.width / min(option.width for option in other_options))
        why = f"{noise}: at this share intervals are {narrower:.0f} % narrower than with {other_noise}"
    elif all(option.priced.spend.is_pure for option in options):
        return best.priced
    else:
        why = f"{noise}: {other_noise} would use more than this share of what is left"
    return replace(best.priced, why=why)


@final
@dataclass(frozen=True, slots=True)
class _Option:
    """A possible spend: its cost in the account it was made for, the used part after it, and the interval width."""

    priced: Priced
    cost: Fraction
    used: Fraction | None
    width: float


def _options(pricing: Pricing, terms: Terms, trial: TrialFilter) -> Iterator[_Option]:
    """For each account and each kind of noise, the spend that costs the share of the account's limit."""
    share, pot = terms.share or Fraction(0), trial.pot
    keys = terms.key_delta if terms.key_delta is not None or pot is None else share * pot.limit
    seen = set()
    for account in trial.accounts:
        for kind in (Spend(epsilon=Fraction(1), keys=keys), Spend(mu=Fraction(1), keys=keys)):
            target = share * account.limit

            def priced(amount: Fraction, kind: Spend = kind) -> Priced:
                spend = replace(kind, epsilon=amount) if kind.is_pure else replace(kind, mu=amount)
                return pricing.at(spend)

            def cost(
                amount: Fraction, currency: Currency = account.currency, priced: Callable[[Fraction], Priced] = priced
            ) -> Fraction | None:
                return trial.cost(pricing.event(priced(amount)), currency)

            amount = (
                greatest_amount(cost, target, first_guess(account.currency, target, pure=kind.is_pure))
                if target
                else None
            )
            if amount is None or (amount, kind.is_pure) in seen:
                continue
            seen.add((amount, kind.is_pure))
            priced_question = priced(amount)
            after = trial.after(pricing.event(priced_question))
            width = typical_width(priced_question.made, terms.confidence, terms.n)
            yield _Option(priced_question, target, None if after is None else after.share, width)


def first_guess(currency: Currency, target: Fraction, *, pure: bool) -> Fraction:
    """Roughly the ε (if `pure`) or μ that costs `target` in a currency: where a search starts."""
    match currency:
        case Epsilon():
            return target
        case Rho():
            return _short(math.sqrt(2 * target))
        case Divergence():
            return _short(math.sqrt(2 * target / currency.order))
        case _:
            return _short(math.sqrt(target) / (_MEAN_OF_PURE if pure else 1.0))


def greatest_amount(cost: Callable[[Fraction], Fraction | None], target: Fraction, guess: Fraction) -> Fraction | None:
    """The greatest amount, up to one part in 10,000, that costs no more than the target; None if it has no price.

    If the cost is a multiple of the amount, the result is exact. Otherwise the cost grows like a power between the
    first and the second, so that every step at least halves the distance.
    """
    first = cost(guess)
    if not first:
        return None
    exactly = guess * target / first
    if cost(exactly) == target:
        return exactly
    low, amount = None, guess
    for _ in range(_STEPS):
        price = cost(amount)
        if not price:
            return low
        if price <= target:
            low = amount if low is None else max(low, amount)
            if target <= price * _CLOSE:
                break
        amount = _short(float(amount) * math.sqrt(target / price) * _BELOW)
    return low


def _short(amount: float) -> Fraction:
    """A number rounded to six decimal digits."""
    return Fraction(f"{amount:.6g}")


def _priced_before(priced: Priced) -> Priced:
    return replace(priced, why=f"{_noise(priced)}, as when this was asked before")


def _noise(priced: Priced) -> str:
    return "Laplace noise" if priced.spend.is_pure else "Gaussian noise"


def _other_noise(priced: Priced) -> str:
    return "Gaussian noise" if priced.spend.is_pure else "Laplace noise"
