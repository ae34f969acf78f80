"""The least noise that reaches a margin or uses a share of the budget.

- The least spend that reaches a margin: decided before any row is read, and never adjusted afterwards.
- Choose Laplace or Gaussian noise, and how much of it, where only a margin or a share of the budget is stated.

A share is measured in the *meter* of the filter that guards the budget: of a race, the contestant that the custodian
or the first charge fixed; of a sum, the sum. Of either noise, the spend is taken that costs the share of the meter's
limit, and of these the one with the narrowest intervals. Where the first charge is still to fix the meter, all
contestants are tried, and the one that gives the narrowest intervals becomes it.

A share or a margin ends a meter only where nobody loses by it: if no noise of the question has a price in the meter,
and no more of the contestant that becomes the meter was used than of the one that ends. Otherwise it is refused, with
the spend that would pay for it.

Theorem: shares that add up to at most one fit a fresh budget, whatever questions they are spent on, in whatever order
and with whatever noise that has a price in the meter, and each raises the used part by at most itself. Proof: a spend
of share s costs at most s of the meter's limit, also if it is the first charge, which fixes the contestant in which it
costs least. Prices add up there, so while the shares add up to at most one the meter admits them and stays alive, and
with it the race (`ApproxDPFilter`); the δ for finding keys is the same share of the pot. ∎ Laplace noise has a price in
every meter, Gaussian noise in all but the sum of ε, and a run in ρ only in Rényi divergences.

An (ε, δ) that is stated asks for Gaussian noise. Laplace noise at the same ε keeps that promise too: it is taken where
it is narrower and costs no more of the meter, and offered where it costs more. Where groups have to be found, that
holds of every stated spend: a pure ε with its δ for keys is kept by Gaussian noise at that (ε, δ), a ρ by Laplace noise
of ε = √(2ρ). Gaussian noise has no price in a living sum of ε: then it is offered, not taken.

Everything here is decided by the question, the budget and earlier charges of the same level, before any row is read.
A spend that the asker paid for before is taken again, at no cost, even if another would be chosen now.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from giveortake import exact
from giveortake.accounting.pricing import Divergence, Epsilon, Rho
from giveortake.errors import BudgetExceeded, GiveOrTakeError, InvalidParameter
from giveortake.exact import decimal, decimal_down, percent
from giveortake.session.refusals import NO_PRICE, WITHOUT_DELTA
from giveortake.session.requests import Priced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from giveortake.accounting.pricing import Currency
    from giveortake.compile import Spend, Terms
    from giveortake.ledger import TrialFilter
    from giveortake.session.requests import Bound


_FINEST, _COARSEST = Fraction(1, 2**40), Fraction(2**10)


_STEPS = 80  # of a search for a margin; the first few find it where margins are proportional to noise
_FINE = Fraction(1001, 1000)


def price(bound: Bound[Any], terms: Terms) -> Priced[Any]:
    """The spend that the terms state or imply, and what it buys. Nothing is charged, and no row is read.

    What the asker paid for by the same terms is taken again, though they would have other caps by a later profile.
    """
    priced = _price(bound, terms)
    for earlier in bound.earlier(terms):
        if _is_paid(priced):
            return priced
        with suppress(GiveOrTakeError):
            before = _price(earlier, terms)
            if _is_paid(before):
                return before
    return priced


def _price(bound: Bound[Any], terms: Terms) -> Priced[Any]:
    if terms.margin is not None:
        return _by_margin(bound, terms, bound.mechanism.trial())
    if terms.share is not None:
        return _by_share(bound, terms, bound.mechanism.trial())
    if terms.spend is None:
        raise InvalidParameter("epsilon", None, "is missing: say what the answer may cost", hint=bound.hint)
    other = bound.other(terms.spend)
    if other is None:
        return Priced(bound, bound.at(terms.spend))
    return _or_other(bound, terms, other, bound.mechanism.trial())


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
        return _ending(trial, candidates) or candidates[0]
    part, best = fitting[0]
    if len(candidates) == 1:
        return best
    reason = f"these margins take {percent(part, 3)} of what is left of the budget with it"
    if len(fitting) == 1:
        return replace(best, why=f"{_noise(best)}: {reason}; {_other_noise(best)} {_does_not_fit(trial)}")
    return replace(best, why=f"{_noise(best)}: {reason}, and {percent(fitting[1][0], 3)} with {_other_noise(best)}")


def _or_other(bound: Bound[Any], terms: Terms, other: Spend, trial: TrialFilter) -> Priced[Any]:
    """Price a stated spend: with other noise that keeps its promise, if narrower and no dearer in the meter."""
    assert terms.spend is not None  # noqa: S101 (asked only then)
    stated, kept = Priced(bound, bound.at(terms.spend)), Priced(bound, bound.at(other))
    if _is_paid(stated):
        return stated
    if _is_paid(kept):
        return _priced_before(kept)
    widths = [bound.width(priced.measurement, terms) for priced in (stated, kept)]
    if widths[1] >= widths[0]:
        return stated
    events = [bound.event(priced.measurement) for priced in (stated, kept)]
    own, share = map(trial.share_of, events)
    living = [account.currency for account in trial.accounts if account.alive]
    priced = [{meter for meter in living if trial.share_of(event, meter) is not None} for event in events]
    ends = not priced[0] <= priced[1]  # a contestant that the stated spend leaves alive
    if ends or share is None or (own is not None and share > own) or trial.after(events[1]) is None:
        return stated
    promise = "(ε, δ)" if terms.spend.delta is not None else "promise"
    ratio = bound.narrower(100 * (1 - widths[1] / widths[0]))
    return replace(kept, why=f"{_noise(kept)}, which keeps this {promise} and costs no more: {ratio}")


def _by_share(bound: Bound[Any], terms: Terms, trial: TrialFilter) -> Priced[Any]:
    """Price a share of the budget: with the kind of noise that makes narrower intervals."""
    share = terms.share
    assert share is not None  # noqa: S101 (asked only then)
    kinds = bound.kinds(terms, trial)
    options = list(_options(bound, share, kinds, trial, trial.meters))
    ended = [account.currency for account in trial.accounts if not account.alive]
    earlier = _options(bound, share, kinds, trial, ended)  # which may have been the meter when this was asked before
    paid = next((priced for priced, _ in chain(options, earlier) if _is_paid(priced)), None)
    if paid is not None:
        return _priced_before(paid)
    unpriced = not options
    if unpriced:
        living = [account.currency for account in trial.accounts if account.alive]
        options = list(_options(bound, share, kinds, trial, living))
    if not options:
        raise BudgetExceeded(NO_PRICE, cost=None, remaining=trial.share, hint=bound.instead or WITHOUT_DELTA)
    by_amount = [priced for priced, _ in sorted(options, key=lambda option: option[1])]
    left = max(Fraction(0), 1 - trial.share)
    if left < share:
        refusal = f"share = {decimal(share)} of the budget is not left: {percent(left, 3)} of it is"
        return replace(by_amount[-1], refusal=refusal)
    if unpriced:
        return _ending(trial, reversed(by_amount)) or by_amount[-1]
    by_kind = {priced.spend.is_pure: priced for priced in by_amount}  # the greatest of each
    if len(by_kind) == 1:
        (only,) = by_kind.values()
        if len(kinds) == 1 or len(trial.accounts) == 1 or trial.meter is None:
            return only
        reason = f"{_other_noise(only)} has no price in the {trial.meter.name}, the meter of this budget"
        return replace(only, why=f"{_noise(only)}: {reason}")
    widths = {pure: bound.width(priced.measurement, terms) for pure, priced in by_kind.items()}
    best = by_kind[widths[True] <= widths[False]]
    narrower = bound.narrower(100 * (1 - min(widths.values()) / max(widths.values())))
    why = f"{_noise(best)}: at this share {narrower} than with {_other_noise(best)}"
    return replace(best, why=why)


def _options(
    bound: Bound[Any], share: Fraction, kinds: Iterable[Spend], trial: TrialFilter, meters: Iterable[Currency]
) -> Iterator[tuple[Priced[Any], Fraction]]:
    """For each meter and each kind of noise, the spend that takes the share, with its amount."""
    limits = {account.currency: account.limit for account in trial.accounts}
    for meter, kind in product(meters, kinds):

        def cost(amount: Fraction, meter: Currency = meter, kind: Spend = kind) -> Fraction | None:
            return trial.share_of(bound.event_at(spend_of_kind(kind, amount)), meter)

        guess = first_guess(meter, share * limits[meter], pure=kind.is_pure)
        guess = guess if kind.rho is None else _short(float(guess) ** 2 / 2)
        amount = greatest_amount(cost, share, guess) if guess else None
        if amount is not None:
            yield Priced(bound, bound.at(spend_of_kind(kind, amount))), amount


def _does_not_fit(trial: TrialFilter) -> str:
    return "does not fit" if trial.meter is None else f"does not fit the {trial.meter.name}, the meter of this budget"


def _ending(trial: TrialFilter, candidates: Iterable[Priced[Any]]) -> Priced[Any] | None:
    """A spend that does not fit the meter: taken if nobody loses, else refused and offered; None if none is admitted.

    Nobody loses if no more of the contestant that becomes the meter was used than of the one that ends.
    """
    offered = None
    for priced in candidates:
        event = priced.bound.event(priced.measurement)
        after = trial.after(event)
        if after is None or trial.meter is None:
            continue
        if after.share <= trial.share + (after.share_of(event) or 0):
            return priced
        name = next(name for name in ("epsilon", "rho", "mu") if getattr(priced.spend, name) is not None)
        amount = decimal_down(getattr(priced.spend, name), 4)
        refusal = f"it does not fit the {trial.meter.name}, the meter of this budget, and would end it"
        hint = f'{name}="{amount}" ends it: {percent(after.share, 3)} of the budget is used then'
        offered = offered or replace(priced, refusal=refusal, hint=hint)
    return offered


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
