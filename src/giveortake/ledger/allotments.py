"""Allotments: a grant is taken from the people's budget once, and nobody else's questions affect it afterwards.

Theorem. Let a population promise B. An allotment is an interactive mechanism whose own filter promises Aᵢ; the
custodian's own questions are guarded by a filter that promises the rest, R. If these add up to B in B's own currency,

    pure: Σεᵢ + ε_R ≤ ε    (ε, δ): Σεᵢ + ε_R ≤ ε and Σδᵢ + δ_R ≤ δ    zCDP: Σρᵢ + ρ_R ≤ ρ    Gaussian: Σμᵢ² + μ_R² ≤ μ²

then all answers together keep B, however the analysts collude and interleave: interactive mechanisms compose
concurrently as they do one after the other ([VW21] for pure, [Lyu22] for (ε, δ) and Rényi, [VZ23] for f-DP promises),
also when each Aᵢ is chosen after seeing earlier answers [HSTVVXZ23]. Each analyst's own promise is their allotment.

There is no race above allotments. A race over the charges of everybody would admit more, but would refuse one analyst
because of what another has asked, and so tell one about the other.

The rest of an (ε, δ) budget is guarded by a race, whose δⱼ are fixed when it begins. As long as the custodian has
charged nothing to it, an allotment begins it anew, with less. From the custodian's first charge on it stays as it is,
and an allotment is charged to it like a question, as the one interactive mechanism that it is: dealing out a race's ε
and δ anew after seeing how the loss grew would prove nothing. Nor is a raise charged by its difference d alone: an
(ε + d)-DP mechanism is more than an ε-DP one and a d-DP one together (randomized response with ε + d tells the truth
more often), so that only twice the race's δ could be promised.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.accounting.filters import Race
from giveortake.accounting.filters import filter as filter_of
from giveortake.accounting.pricing import Epsilon
from giveortake.errors import BudgetExceeded, LedgerDamaged, LedgerMismatch
from giveortake.exact import shown
from giveortake.ledger.promises import restated
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.accounting.filters import Filter
    from giveortake.ledger.levels import Level

_ADDS: dict[type[Guarantee], tuple[type[Guarantee], ...]] = {
    PureDP: (PureDP,),
    ApproxDP: (PureDP, ApproxDP),
    ZCDP: (ZCDP, PureDP),
    GaussianDP: (GaussianDP,),
    RenyiDP: (PureDP, ZCDP),
}


_TWO_PARTS = (PureDP, ApproxDP)
_CURRENCIES: dict[type[Guarantee], str] = {
    PureDP: "a pure ε",
    ApproxDP: "ε and δ",
    ZCDP: "ρ",
    GaussianDP: "μ",
    RenyiDP: "Rényi ε",
}


def _said(promise: Guarantee) -> str:
    """The numbers of a promise, without the explanation in parentheses."""
    return str(promise).partition(" (")[0]


def require_addable(budget: Guarantee, promise: Guarantee) -> None:
    """Refuse an allotment that does not add up in the currency of the budget it is taken from."""
    kinds = _ADDS[type(budget)]
    if not isinstance(promise, kinds):
        raise LedgerMismatch(
            f"an allotment of {_said(promise)} does not add up to {_said(budget)} by basic composition",
            hint=f"grant {' or '.join(_CURRENCIES[kind] for kind in kinds)}",
        )


def require_same_kind(old: Guarantee | None, new: Guarantee) -> None:
    """Refuse another kind of promise in the place of an allotment.

    Neither a pure promise nor a zCDP one is always the larger: at Rényi order 32, ρ = 1.9 is 60.8 and ε = 2 is no more
    than 2. Only one of the two is counted, so it has to be the larger in every currency that the people's budget has or
    will have. A pure promise is an (ε, 0) one.
    """
    if old is None or type(old) is type(new) or (isinstance(old, _TWO_PARTS) and isinstance(new, _TWO_PARTS)):
        return
    raise LedgerMismatch(
        f"an allotment of {_said(old)} cannot become one of {_said(new)}: neither is the larger in every currency",
        hint=f"grant {_CURRENCIES[type(old)]} again, or revoke this analyst and let them in under another name",
    )


def larger(old: Guarantee | None, new: Guarantee) -> Guarantee:
    """Return what counts for a changed allotment: the larger of old and new, since a grant is never taken back."""
    if old is None:
        return new
    if isinstance(old, ApproxDP) or isinstance(new, ApproxDP):
        (epsilon, delta), (later, more) = _parts(old), _parts(new)
        return ApproxDP(max(epsilon, later), max(delta, more), unit=new.unit, neighbours=new.neighbours)
    return max(old, new, key=_size)


def rest(budget: ApproxDP, allotments: Iterable[Guarantee]) -> tuple[Fraction, Fraction]:
    """Return the ε and δ of a budget that are not granted; BudgetExceeded if the allotments exceed it."""
    granted = [_parts(each) for each in allotments]
    epsilon = budget.epsilon - sum((each for each, _ in granted), Fraction(0))
    delta = budget.delta - sum((each for _, each in granted), Fraction(0))
    if epsilon < 0 or delta < 0:
        raise BudgetExceeded(
            f"the allotments would add up to ε = {shown(budget.epsilon - epsilon)}, δ = {shown(budget.delta - delta)}: "
            "more than the whole budget",
            hint="the whole allotment is taken from the population when it is granted, used or not",
        )
    return epsilon, delta


def filter_of_rest(budget: ApproxDP, allotments: Iterable[Guarantee]) -> Filter:
    """A new filter for the part of a budget that is not granted."""
    epsilon, delta = rest(budget, allotments)
    if delta:
        return filter_of(replace(budget, epsilon=epsilon, delta=delta))
    if epsilon:
        return filter_of(PureDP(epsilon, unit=budget.unit, neighbours=budget.neighbours))
    return Race(replace(budget, epsilon=Fraction(0)), keys=0, contestants=[(Epsilon(), Fraction(0))])  # admits nothing


def charged_for(level: Level) -> dict[int, Any]:
    """Return the event that each grant is charged as, by its number, once no allotment is set aside any more.

    Only an (ε, δ) budget sets allotments aside. Under any other budget, every allotment is charged to the filter.
    """
    set_aside = {number: each for number, each in level.allotments.items() if number not in level.granted}
    return level.granted | {number: restated(each).to_dict() for number, each in set_aside.items()}


def require_sound(budget: Guarantee, allotments: Iterable[Guarantee], found: Filter) -> None:
    """Check that the filter that an entry states for the rest starts with no more; LedgerDamaged if not."""
    if not isinstance(budget, ApproxDP):
        raise LedgerDamaged("an entry states a rest where allotments are charged one by one")
    epsilon, delta = rest(budget, allotments)
    accounts = [*found.accounts, *([found.pot] if found.pot else [])]
    stated = sum((account.delta for account in accounts), Fraction(0))
    if any(account.spent for account in accounts) or _parts(found.budget)[0] > epsilon or stated > delta:
        raise LedgerDamaged("an allotment leaves more than there is")


def _parts(promise: Guarantee) -> tuple[Fraction, Fraction]:
    match promise:
        case ApproxDP():
            return promise.epsilon, promise.delta
        case PureDP():
            return promise.epsilon, Fraction(0)
    raise LedgerDamaged(f"{promise!r} was counted in an (ε, δ) budget")


def part_of(budget: Guarantee, allotment: Guarantee) -> Fraction:
    """The share of a budget that an allotment takes, in the budget's own currency: of ε, or of δ where ε is zero.

    >>> part_of(gt.PureDP(4), gt.PureDP(1)), part_of(gt.GaussianDP(2), gt.GaussianDP(1))
    (Fraction(1, 4), Fraction(1, 4))
    """
    match budget:
        case PureDP() | ApproxDP():
            parts = zip(_parts(allotment), _parts(budget), strict=True)
            return next((part / whole for part, whole in parts if whole), Fraction(0))
        case ZCDP():
            return _size(allotment) / budget.rho
        case GaussianDP():
            return _size(allotment) ** 2 / budget.mu**2
        case RenyiDP():
            return max(_at_order(allotment, order) / limit for order, limit in budget.curve if limit)
    raise LedgerDamaged(f"{budget!r} is not a budget that allotments can be taken from")


def _at_order(promise: Guarantee, order: Fraction) -> Fraction:
    found = order * _size(promise)
    return min(found, promise.epsilon) if isinstance(promise, PureDP) else found


def _size(promise: Guarantee) -> Fraction:
    match promise:
        case PureDP():
            return promise.epsilon**2 / 2  # as zCDP, in which the two may meet
        case ZCDP():
            return promise.rho
        case GaussianDP():
            return promise.mu
    raise LedgerDamaged(f"{promise!r} was counted as an allotment")
