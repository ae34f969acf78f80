"""Choose Laplace or Gaussian noise, and how much of it, where only a margin or a share of the budget is stated.

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

from giveortake.accounting.pricing import Divergence, Epsilon, Rho
from giveortake.compile import Spend
from giveortake.errors import InvalidParameter
from giveortake.exact import shown
from giveortake.session.margins import least_spend, typical_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.accounting.pricing import Currency
    from giveortake.compile import Caps, Measurement, Terms
    from giveortake.ledger import Trial
    from giveortake.plan import Question
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism, Priced

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


def price_by_margin(asking: Pricing, terms: Terms, trial: Trial) -> Priced:
    """Price a margin: with Laplace or Gaussian noise, whichever leaves more of the budget."""
    pot = asking.mechanism.key_pot
    keys = terms.key_delta if terms.key_delta is not None or pot is None else pot / 10
    pure = [account.currency for account in trial.accounts] == [Epsilon()]
    kinds = [Spend(epsilon=Fraction(1), keys=keys), *([] if pure else [Spend(mu=Fraction(1), keys=keys)])]
    spends = [least_spend(asking.measure, kind, terms) for kind in kinds]
    found = [asking.at(spend) for spend in spends if spend is not None]
    if not found:
        raise InvalidParameter(
            "margin",
            terms.margin,
            "is too small: no noise, however little, gives so narrow a margin",
            hint="ask for a wider margin",
        )
    for each in found:
        if asking.is_paid(each):
            return _again(each)
    parts = [(trial.part_of_rest(asking.event(each)), each) for each in found]
    fitting = sorted(((part, each) for part, each in parts if part is not None), key=lambda pair: pair[0])
    if not fitting:
        return found[0]
    part, best = fitting[0]
    if len(found) == 1:
        return best
    told = f"these margins take {_percent(part)} of what is left of the budget with it"
    if len(fitting) == 1:
        return replace(best, why=f"{_noise(best)}: {told}; {_other(best)} does not fit")
    return replace(best, why=f"{_noise(best)}: {told}, and {_percent(fitting[1][0])} with {_other(best)}")


def price_by_share(asking: Pricing, terms: Terms, trial: Trial) -> Priced:
    """Price a share of the budget: with Laplace or Gaussian noise, whichever makes narrower intervals."""
    assert terms.share is not None  # noqa: S101 (asked only then)
    options = list(_options(asking, terms, trial))
    for each in options:
        if asking.is_paid(each.priced):
            return _again(each.priced)
    left = max(Fraction(0), 1 - trial.share)
    within = [each for each in options if each.used is not None and each.used <= trial.share + terms.share]
    if left < terms.share or not within:
        least = min(options, key=lambda each: each.cost).priced
        refusal = f"share = {shown(terms.share)} of the budget is not left: {_percent(left)} of it is"
        return replace(least, refusal=refusal)
    best = min(within, key=lambda each: each.width)
    others = [each for each in within if each.priced.spend.is_pure != best.priced.spend.is_pure]
    noise, other = _noise(best.priced), _other(best.priced)
    if others:
        narrower = 100 * (1 - best.width / min(each.width for each in others))
        why = f"{noise}: at this share intervals are {narrower:.0f} % narrower than with {other}"
    elif all(each.priced.spend.is_pure for each in options):
        return best.priced
    else:
        why = f"{noise}: {other} would use more than this share of what is left"
    return replace(best.priced, why=why)


@final
@dataclass(frozen=True, slots=True)
class _Option:
    """A possible spend: its cost in the account it was made for, the used part after it, and the interval width."""

    priced: Priced
    cost: Fraction
    used: Fraction | None
    width: float


def _options(asking: Pricing, terms: Terms, trial: Trial) -> Iterator[_Option]:
    """For each account and each kind of noise, the spend that costs the share of the account's limit."""
    share, pot = terms.share or Fraction(0), trial.pot
    keys = terms.key_delta if terms.key_delta is not None or pot is None else share * pot.limit
    seen = set()
    for account in trial.accounts:
        for kind in (Spend(epsilon=Fraction(1), keys=keys), Spend(mu=Fraction(1), keys=keys)):
            target = share * account.limit

            def priced(amount: Fraction, kind: Spend = kind) -> Priced:
                spend = replace(kind, epsilon=amount) if kind.is_pure else replace(kind, mu=amount)
                return asking.at(spend)

            def cost(
                amount: Fraction, currency: Currency = account.currency, priced: Callable[[Fraction], Priced] = priced
            ) -> Fraction | None:
                return trial.cost(asking.event(priced(amount)), currency)

            amount = (
                greatest_amount(cost, target, first_guess(account.currency, target, pure=kind.is_pure))
                if target
                else None
            )
            if amount is None or (amount, kind.is_pure) in seen:
                continue
            seen.add((amount, kind.is_pure))
            made = priced(amount)
            after = trial.after(asking.event(made))
            width = typical_width(made.made, terms.confidence, terms.n)
            yield _Option(made, target, None if after is None else after.share, width)


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


def _again(priced: Priced) -> Priced:
    return replace(priced, why=f"{_noise(priced)}, as when this was asked before")


def _noise(priced: Priced) -> str:
    return "Laplace noise" if priced.spend.is_pure else "Gaussian noise"


def _other(priced: Priced) -> str:
    return "Gaussian noise" if priced.spend.is_pure else "Laplace noise"


def _percent(part: Fraction) -> str:
    return f"{shown(100 * part, 3)} %"
