"""The least noise that reaches a margin or uses a share of the budget.

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
from typing import TYPE_CHECKING, Any, final

from giveortake import exact
from giveortake.accounting.pricing import Divergence, Epsilon, Rho
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.exact import decimal, percent
from giveortake.session.refusals import NO_PRICE, WITHOUT_DELTA
from giveortake.session.requests import Priced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.accounting.pricing import Currency
    from giveortake.compile import Spend, Terms
    from giveortake.ledger import TrialFilter
    from giveortake.session.requests import Bound


_FINEST, _COARSEST = Fraction(1, 2**40), Fraction(2**10)


_STEPS = 80  # of a search for a margin; the first few find it where margins are proportional to noise
_FINE = Fraction(1001, 1000)


def price(bound: Bound[Any], terms: Terms) -> Priced[Any]:
    """The spend that the terms state or imply, and what it buys. Nothing is charged, and no row is read."""
    if terms.margin is not None:
        return _by_margin(bound, terms, bound.mechanism.trial())
    if terms.share is not None:
        return _by_share(bound, terms, bound.mechanism.trial())
    if terms.spend is None:
        raise InvalidParameter("epsilon", None, "is missing: say what the answer may cost", hint=bound.hint)
    return Priced(bound, bound.at(terms.spend))


def amount_of(spend: Spend) -> Fraction:
    """The ε of a pure spend, or else its ρ or μ."""
    amount = spend.epsilon if spend.is_pure else spend.mu if spend.rho is None else spend.rho
    assert amount is not None  # noqa: S101 (an (ε, δ) is no kind of noise)
    return amount


def spend_of_kind(kind: Spend, amount: Fraction) -> Spend:
    """Another amount of the same kind of noise."""
    if kind.is_pure:
        return replace(kind, epsilon=amount)
    return replace(kind, mu=amount) if kind.rho is None else replace(kind, rho=amount)


def least_spend(bound: Bound[Any], kind: Spend, terms: Terms) -> Spend | None:
    """The least spend of a kind, up to 0.1 %, at which no column exceeds the wanted margin; None if none reaches it.

    Margins are about proportional to the noise, which tells where to look next; where they are not, intervals are
    halved.
    """
    assert terms.margin is not None  # noqa: S101 (asked only then)
    reach = float(exact.positive("margin", terms.margin))
    low, high, amount = _FINEST, None, Fraction(1)
    for _ in range(_STEPS):
        widest = bound.widest(bound.at(spend_of_kind(kind, amount)), terms)
        if widest <= reach:
            high = amount
        elif amount >= _COARSEST:
            return None
        else:
            low = amount
        if high is not None and high <= low * _FINE:
            break
        close = widest <= reach and widest * float(_FINE) > reach
        factor = 1 / float(_FINE) if close else widest / reach * (1 + 2**-12) if math.isfinite(widest) else 16.0
        amount = min(_short(max(float(amount) * factor, float(_FINEST))), _COARSEST)
        if high is not None and not low < amount < high:
            amount = _short(math.sqrt(float(low * high)))
            if not low < amount < high:  # so near to zero, no number of few digits lies between
                break
    return None if high is None else spend_of_kind(kind, high)


_MEAN_OF_PURE = 1.2534  # √(2π)/2: μ of an ε-DP release is at most this times ε; it starts a search, no more
_CLOSE = Fraction(10001, 10000)
_BELOW = 0.99998  # of where a step of the search would end: what is sought is not above
_MOST_STEPS = 40


def _by_margin(bound: Bound[Any], terms: Terms, trial: TrialFilter) -> Priced[Any]:
    """Price a margin: with Laplace or Gaussian noise, whichever leaves more of the budget."""
    spends = [least_spend(bound, kind, terms) for kind in bound.kinds(terms, trial)]
    candidates = [Priced(bound, bound.at(spend)) for spend in spends if spend is not None]
    if not candidates:
        raise InvalidParameter(
            "margin",
            terms.margin,
            "is too small: no noise, however little, gives so narrow a margin",
            hint="ask for a wider margin",
        )
    paid = next((priced for priced in candidates if _is_paid(priced)), None)
    if paid is not None:
        return _priced_before(paid)
    parts = [(trial.part_of_rest(bound.event(priced.measurement)), priced) for priced in candidates]
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


def _by_share(bound: Bound[Any], terms: Terms, trial: TrialFilter) -> Priced[Any]:
    """Price a share of the budget: with the kind of noise that makes narrower intervals."""
    assert terms.share is not None  # noqa: S101 (asked only then)
    options = list(_options(bound, terms, trial))
    paid = next((option.priced for option in options if _is_paid(option.priced)), None)
    if paid is not None:
        return _priced_before(paid)
    left = max(Fraction(0), 1 - trial.share)
    affordable = [option for option in options if option.used is not None and option.used <= trial.share + terms.share]
    if not options:
        raise BudgetExceeded(NO_PRICE, cost=None, remaining=trial.share, hint=bound.instead or WITHOUT_DELTA)
    if left < terms.share or not affordable:
        least = min(options, key=lambda option: option.cost).priced
        refusal = f"share = {decimal(terms.share)} of the budget is not left: {percent(left, 3)} of it is"
        return replace(least, refusal=refusal)
    by_amount = sorted(affordable, key=lambda option: option.amount)
    greatest = {option.priced.spend.is_pure: option for option in by_amount}  # of each noise
    if len(greatest) == 1 and len(bound.kinds(terms, trial)) == 1:
        return next(iter(greatest.values())).priced
    widths = {option: bound.width(option.priced.measurement, terms) for option in greatest.values()}
    best, *others = sorted(widths, key=lambda option: widths[option])
    noise, other_noise = _noise(best.priced), _other_noise(best.priced)
    if others:
        narrower = 100 * (1 - widths[best] / widths[others[0]])
        why = f"{noise}: at this share intervals are {narrower:.0f} % narrower than with {other_noise}"
    elif all(option.priced.spend.is_pure for option in options):
        return best.priced
    else:
        why = f"{noise}: {other_noise} would use more than this share of what is left"
    return replace(best.priced, why=why)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """A possible spend: its amount, its cost in the account it was made for, and the used part after it."""

    priced: Priced[Any]
    amount: Fraction
    cost: Fraction
    used: Fraction | None


def _options(bound: Bound[Any], terms: Terms, trial: TrialFilter) -> Iterator[_Option]:
    """For each account and each kind of noise, the spend that costs the share of the account's limit."""
    share = terms.share or Fraction(0)
    seen = set()
    for account in trial.accounts:
        for kind in bound.kinds(terms, trial):
            target = share * account.limit

            def cost(amount: Fraction, currency: Currency = account.currency, kind: Spend = kind) -> Fraction | None:
                return trial.cost(bound.event_at(spend_of_kind(kind, amount)), currency)

            guess = first_guess(account.currency, target, pure=kind.is_pure)
            guess = guess if kind.rho is None else _short(float(guess) ** 2 / 2)
            amount = greatest_amount(cost, target, guess) if target else None
            if amount is None or (amount, kind.is_pure) in seen:
                continue
            seen.add((amount, kind.is_pure))
            spend = spend_of_kind(kind, amount)
            after = trial.after(bound.event_at(spend))
            yield _Option(Priced(bound, bound.at(spend)), amount, target, None if after is None else after.share)


def _is_paid(priced: Priced[Any]) -> bool:
    return priced.bound.mechanism.is_paid(priced.bound, priced.charge())


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
    for _ in range(_MOST_STEPS):
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


def _priced_before(priced: Priced[Any]) -> Priced[Any]:
    return replace(priced, why=f"{_noise(priced)}, as when this was asked before")


def _noise(priced: Priced[Any]) -> str:
    return "Laplace noise" if priced.spend.is_pure else "Gaussian noise"


def _other_noise(priced: Priced[Any]) -> str:
    return "Gaussian noise" if priced.spend.is_pure else "Laplace noise"
