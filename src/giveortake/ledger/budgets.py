"""Budgets and allotments: what a grant takes from the people's budget, and how a budget is replaced by another one.

An allotment is taken once, and nobody else's questions affect it afterwards. What it takes from the levels above it is
worked out in a transaction, and refused or written whole. A new budget has to fit everything that was charged so far.

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

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from giveortake import codec
from giveortake.accounting.filters import ApproxDPFilter, meter_fixed_by
from giveortake.accounting.filters import filter as filter_of
from giveortake.accounting.pricing import Epsilon
from giveortake.errors import BudgetExceeded, InvalidParameter, LedgerDamaged, LedgerMismatch, Unprovable
from giveortake.exact import decimal, decimal_down, shorter_up
from giveortake.ledger.chain.entries import NOTHING, Json, charges, event_from_dict, named, plain
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    Neighbours,
    PureDP,
    RenyiDP,
    Unit,
    events,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.accounting.filters import Filter, Meter
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.state import Level, State
    from giveortake.privacy.events import Event


SomePromise = TypeVar("SomePromise", bound=Guarantee)


def protecting(name: str, promise: SomePromise, protected: Unit) -> SomePromise:
    """Return a budget as a promise to `protected`; a budget without a unit takes this one."""
    if not isinstance(promise, Guarantee):
        raise InvalidParameter(name, promise, "is not a promise", hint='write, for example, PureDP("1")')
    if promise.unit == protected:
        return promise
    if promise.unit == ROW:
        return replace(promise, unit=protected)
    raise LedgerMismatch(
        f"the {name} protects {promise.unit}, but it is declared for {protected}",
        hint="write the budget for the unit that is protected there",
    )


def for_group(event: events.Event, size: int, neighbours: Neighbours) -> events.Event:
    """Restate an event on single rows for a person with at most `size` rows.

    Guarantee (group privacy, [PDP21, L1.7], [Lal20, Prop. 6]): k rows are k steps of the neighbouring relation. Noise
    that is calibrated to a sensitivity Δ faces at most kΔ; other events are restated by what they promise to groups.
    Under change-one, a release from one part of the data is k steps, each with the weaker of its cases
    (`InPart.cases`): the rows may lie in k parts, so it adds to the releases from the others.
    """
    if size == 1:
        return event
    match event:
        case events.Laplace():
            return events.Laplace(event.noise_multiplier / size)
        case events.Gaussian():
            return events.Gaussian(event.noise_multiplier / size)
        case events.Geometric():
            return events.Geometric(event.scale, event.sensitivity * size)
        case events.DiscreteGaussian():
            return events.DiscreteGaussian(event.sigma, event.sensitivity * size)
        case events.Exponential():
            return events.Exponential(event.epsilon * size)
        case events.Composed():
            return events.Composed([for_group(part, size, neighbours) for part in event.events])
        case events.Repeated():
            return events.Repeated(for_group(event.event, size, neighbours), event.times)
    return restated(event.guarantee(neighbours=neighbours).group(size))


def restated(promise: Guarantee) -> events.Event:
    """An event that makes exactly this promise, and no better one."""
    match promise:
        case PureDP():
            return events.Pure(promise.epsilon)
        case ApproxDP():
            return events.Approx(promise.epsilon, promise.delta)
        case ZCDP():
            return events.ZCDP(promise.rho)
        case GaussianDP():
            return events.Gaussian(1 / promise.mu)
    raise Unprovable(
        f"no event is known that makes the promise {promise!r}",
        hint="bound what a person contributes, and declare the data set with the person as its unit",
    )


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


def promise_text(promise: object) -> str:
    """The numbers of a promise, without the explanation in parentheses.

    >>> promise_text(gt.PureDP("0.5")), promise_text(gt.ApproxDP(1, "1e-6"))
    ('ε = 0.5', 'ε = 1, δ = 1e-6')
    """
    return str(promise).partition(" (")[0]


def require_addable(budget: Guarantee, promise: Guarantee) -> None:
    """Refuse an allotment that does not add up in the currency of the budget it is taken from."""
    kinds = _ADDS[type(budget)]
    if not isinstance(promise, kinds):
        raise LedgerMismatch(
            f"an allotment of {promise_text(promise)} does not add up to {promise_text(budget)} by basic composition",
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
        f"an allotment of {promise_text(old)} cannot become one of {promise_text(new)}: "
        "neither is the larger in every currency",
        hint=f"grant {_CURRENCIES[type(old)]} again, or revoke this analyst and let them in under another name",
    )


def larger(old: Guarantee | None, new: Guarantee) -> Guarantee:
    """Return what counts for a changed allotment: the larger of old and new, since a grant is never taken back."""
    if old is None:
        return new
    if isinstance(old, ApproxDP) or isinstance(new, ApproxDP):
        (epsilon, delta), (new_epsilon, new_delta) = _parts(old), _parts(new)
        return ApproxDP(max(epsilon, new_epsilon), max(delta, new_delta), unit=new.unit, neighbours=new.neighbours)
    return max(old, new, key=_size)


def unallotted(budget: ApproxDP, allotments: Iterable[Guarantee]) -> tuple[Fraction, Fraction]:
    """Return the ε and δ of a budget that are not granted; BudgetExceeded if the allotments exceed it."""
    granted = [_parts(allotment) for allotment in allotments]
    epsilon = budget.epsilon - sum((granted_epsilon for granted_epsilon, _ in granted), Fraction(0))
    delta = budget.delta - sum((granted_delta for _, granted_delta in granted), Fraction(0))
    if epsilon < 0 or delta < 0:
        raise BudgetExceeded(
            f"the allotments would add up to ε = {decimal(budget.epsilon - epsilon)}, "
            f"δ = {decimal(budget.delta - delta)}: more than the whole budget",
            hint="the whole allotment is taken from the population when it is granted, used or not",
        )
    return epsilon, delta


def filter_of_rest(budget: ApproxDP, allotments: Iterable[Guarantee], meter: Meter | None = None) -> Filter:
    """A new filter for the part of a budget that is not granted, with the meter that the custodian fixed."""
    epsilon, delta = unallotted(budget, allotments)
    if delta:
        return filter_of(replace(budget, epsilon=epsilon, delta=delta), meter=meter if epsilon else None)
    if epsilon:
        return filter_of(PureDP(epsilon, unit=budget.unit, neighbours=budget.neighbours))
    nothing = replace(budget, epsilon=Fraction(0))
    return ApproxDPFilter(nothing, keys=0, contestants=[(Epsilon(), Fraction(0))])


def charged_for(level: Level) -> dict[int, Any]:
    """Return the event that each grant is charged as, by its number, once no allotment is set aside any more.

    Only an (ε, δ) budget sets allotments aside. Under any other budget, every allotment is charged to the filter.
    """
    set_aside = {number: allotment for number, allotment in level.allotments.items() if number not in level.granted}
    return level.granted | {number: codec.write(restated(allotment)) for number, allotment in set_aside.items()}


def require_sound(budget: Guarantee, allotments: Iterable[Guarantee], guard: Filter) -> None:
    """Check that the filter that an entry states for the rest starts with no more; LedgerDamaged if not."""
    if not isinstance(budget, ApproxDP):
        raise LedgerDamaged("an entry states a rest where allotments are charged one by one")
    epsilon, delta = unallotted(budget, allotments)
    accounts = [*guard.accounts, *([guard.pot] if guard.pot else [])]
    stated = sum((account.delta for account in accounts), Fraction(0))
    if any(account.spent for account in accounts) or _parts(guard.budget)[0] > epsilon or stated > delta:
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
    divergence = order * _size(promise)
    return min(divergence, promise.epsilon) if isinstance(promise, PureDP) else divergence


def _size(promise: Guarantee) -> Fraction:
    match promise:
        case PureDP():
            return promise.epsilon**2 / 2  # as zCDP, in which the two may meet
        case ZCDP():
            return promise.rho
        case GaussianDP():
            return promise.mu
    raise LedgerDamaged(f"{promise!r} was counted as an allotment")


def take(
    transaction: Transaction, number: int, promise: Guarantee, above: Iterable[Level]
) -> tuple[dict[str, Json], dict[int, Filter]]:
    """What the grant of this number takes from the levels above it: as an entry says it, and their filters afterwards.

    Guarantee: basic composition in the currency of each level above. BudgetExceeded, and nothing taken, if it does not
    fit. A grant that is changed is taken anew where that is more, and never given back where it is less.
    """
    deductions: dict[str, Json] = {}
    filters: dict[int, Filter] = {}
    for level in above:
        assert level.budget is not None  # noqa: S101 (only levels with a cap are above)
        require_addable(level.budget, promise)
        require_same_kind(level.allotments.get(number), promise)
        counted = larger(level.allotments.get(number), promise)
        if counted == level.allotments.get(number):
            continue
        try:
            content, filters[level.number] = _taken(transaction, level, number, counted)
        except BudgetExceeded as refusal:
            raise BudgetExceeded(
                f"the {level.kind} {level.name!r} cannot grant that: {refusal.message}",
                cost=refusal.cost,
                remaining=refusal.remaining,
                hint=_ways_out(transaction, level, number, counted, refusal.remaining),
            ) from None
        deductions[str(level.number)] = content
    return deductions, filters


def require_ungranted(state: State, level: Level) -> None:
    """Refuse a first cap of a data set that analysts with allotments may ask already.

    An allotment is counted by levels that have a cap when it is granted, and what analysts spend of it by their own
    levels alone: a cap that comes later knows of neither.
    """
    if level.kind != "data set" or level.budget is not None:
        return
    grants = [grant for grant in state.grants.values() if level.name in grant.datasets]
    if grants and state.populations[state.datasets[level.name].population].allotted:
        raise LedgerMismatch(
            f"the data set {level.name!r} has no cap, and {grants[0].analyst!r} was granted it without one",
            hint="cap a data set before you let analysts ask it, or lower their budget or that of the people",
        )


def _ways_out(transaction: Transaction, level: Level, number: int, counted: Guarantee, left: object) -> str:
    """A hint if a grant does not fit. A raise that is charged whole may fit as a second, smaller grant."""
    if number not in level.allotments and level.charged and isinstance(counted, ApproxDP):
        fitting = _fitting(transaction, level, number, counted, left)
        if fitting is not None:
            return (
                "your own first question fixed how the rest of δ is used, and little of it can be granted since then: "
                f"{fitting} fits; or raise the people's promise"
            )
    is_raise = number in level.allotments and number not in level.granted
    if is_raise and level.charged and isinstance(level.budget, ApproxDP):
        with suppress(BudgetExceeded):  # with which no other name helps
            unallotted(level.budget, (level.allotments | {number: counted}).values())
            return (
                "after the custodian's first question a raise is charged whole, beside what was set aside: grant the "
                "difference to another name, or raise the people's promise"
            )
    return "the whole allotment is taken from what is neither spent nor granted to others"


def _fitting(transaction: Transaction, level: Level, number: int, counted: ApproxDP, left: object) -> str | None:
    """What could be granted at the same ε: with the δ that is left, or without one; None if its ε does not fit."""
    terms: Any = {"unit": counted.unit, "neighbours": counted.neighbours}
    if isinstance(left, Fraction) and 0 < left < counted.delta:
        with suppress(BudgetExceeded):
            least = ApproxDP(counted.epsilon, decimal_down(left), **terms)
            _taken(transaction, level, number, least)
            return f"ε = {decimal(least.epsilon)}, δ = {decimal(least.delta)}"
    with suppress(BudgetExceeded):
        _taken(transaction, level, number, PureDP(counted.epsilon, **terms))
        return f"ε = {decimal(counted.epsilon)} without a δ"
    return None


def _taken(transaction: Transaction, level: Level, number: int, counted: Guarantee) -> tuple[dict[str, Json], Filter]:
    all_counted = (level.allotments | {number: counted}).values()
    if isinstance(level.budget, ApproxDP):
        unallotted(level.budget, all_counted)
        if not level.charged:
            guard = filter_of_rest(level.budget, all_counted, meter_fixed_by(level.initial))
            unspent = plain("filter", guard.snapshot())
            return {"rest": codec.write(guard.budget), "filter": unspent}, guard
    event = restated(counted)
    if number in level.granted:
        guard = filter_of(level.guarded, snapshot=level.initial)  # type: ignore[arg-type]  # (it has a budget)
        granted = {grant: event_from_dict(past) for grant, past in level.granted.items()} | {number: event}
        for past_event in (*granted.values(), *own_history(transaction, level)):
            guard.charge(past_event)
    else:
        before = transaction.filter_of(level)
        assert before is not None  # noqa: S101 (it has a budget)
        guard = before.copy()
        guard.charge(event)
    return {"event": codec.write(event)}, guard


def own_history(transaction: Transaction, level: Level) -> Iterator[Event]:
    """Everything that was charged to a level by entries."""
    for entry in transaction.tables.entries(1, NOTHING):
        for charged, event in charges(entry):
            if charged == level.number:
                yield event_from_dict(event)


Spent: TypeAlias = Literal["spent"]

_PRECISE = Fraction(1, 1024)  # of a budget that is lowered
_SQUARE = 10**12


def change_budget(transaction: Transaction, level: Level, budget: Guarantee | Spent, reason: str) -> None:
    """Replace the promise of a level: its whole history is run again under the new filter.

    "spent" is the least promise of the same kind, up to a thousandth of it, that everything so far fits; δ stays.

    Guarantee: nothing is admitted anew unless everything admitted before fits the new budget, so a cap is never
    lowered under what is spent. The old promise is void, which is why this is an entry in the chain. What a population
    has granted stays granted: it is set aside from an (ε, δ) promise and charged to any other. A larger allotment is
    taken from the levels above.
    """
    own = list(own_history(transaction, level))
    promise = _least(level, own) if budget == "spent" else protecting("budget", budget, level.unit)
    if promise.neighbours != level.neighbours:
        raise LedgerMismatch(
            f"{level.name!r} counts neighbours as {level.neighbours}, and a new budget cannot change that"
        )
    require_ungranted(transaction.state, level)
    for allotment in level.allotments.values():
        require_addable(promise, allotment)
    guard, set_aside = _unspent(level, promise)
    content: dict[str, Json] = {
        "level": level.number,
        "budget": codec.write(promise),
        "reason": named("reason", reason),
        "filter": plain("filter", guard.snapshot()),
    }
    if set_aside:
        content["rest"] = codec.write(guard.budget)
    _rerun(guard, level, own, set_aside=set_aside)
    filters = {level.number: guard}
    grant = transaction.state.grant_of(level)
    if (
        grant is not None
        and transaction.state.populations[transaction.state.datasets[grant.datasets[0]].population].allotted
    ):
        content["above"], above_filters = take(
            transaction, level.number, promise, transaction.state.capped_above(grant.datasets)
        )
        filters |= above_filters
    transaction.add("budget", content, filters)


def _unspent(level: Level, promise: Guarantee) -> tuple[Filter, bool]:
    """A filter for a promise, with nothing charged yet, and whether what was granted is set aside from it."""
    if not isinstance(promise, ApproxDP):
        return filter_of(promise), False
    meter = meter_fixed_by(level.initial) if promise.epsilon else None
    if level.allotments:
        return filter_of_rest(promise, level.allotments.values(), meter), True
    return filter_of(promise, meter=meter), False


def _least(level: Level, own: list[Event]) -> Guarantee:
    """The least part of a level's promise, up to a thousandth, that everything charged so far fits."""
    if level.budget is None or level.closed is not None:
        raise LedgerMismatch(f"what {level.name!r} has spent is not known, or has no cap", hint="state a budget")

    def guard_of(part: Fraction) -> Filter | None:
        try:
            guard, set_aside = _unspent(level, _shrink(level.budget, part))
            _rerun(guard, level, own, set_aside=set_aside)
        except BudgetExceeded:
            return None
        return guard

    whole = guard_of(Fraction(1))
    share = Fraction(1) if whole is None else whole.share
    for first in (share, shorter_up(Fraction(isqrt(ceil(share * _SQUARE)) + 1, isqrt(_SQUARE)))):  # μ adds by squares
        if 0 < first < 1 and guard_of(first) is not None:
            return _shrink(level.budget, first)
    low, high = Fraction(0), Fraction(1)
    while high - low > _PRECISE:
        middle = (low + high) / 2
        low, high = (low, middle) if guard_of(middle) is not None else (middle, high)
    return _shrink(level.budget, high)


def _shrink(promise: Guarantee | None, part: Fraction) -> Guarantee:
    """A part of a promise, in its own currency: of ε, ρ, μ, or of each order."""
    match promise:
        case RenyiDP():
            return replace(promise, curve=tuple((order, shorter_up(limit * part)) for order, limit in promise.curve))
        case ZCDP():
            return replace(promise, rho=shorter_up(promise.rho * part))
        case GaussianDP():
            return replace(promise, mu=shorter_up(promise.mu * part))
        case PureDP() | ApproxDP():
            return replace(promise, epsilon=shorter_up(promise.epsilon * part))
    raise LedgerMismatch(f"{promise!r} cannot be lowered by a part", hint="state a budget")


def _rerun(guard: Filter, level: Level, own: list[Event], *, set_aside: bool) -> None:
    granted = () if set_aside else map(event_from_dict, charged_for(level).values())
    try:
        for event in (*granted, *own):
            guard.charge(event)
    except BudgetExceeded as refusal:
        message = refusal.message.replace("this charge", "a charge of the past", 1)
        raise BudgetExceeded(
            f"the {level.kind} {level.name!r} has spent or given more than the new budget allows: {message}",
            cost=refusal.cost,
            remaining=refusal.remaining,
            hint="a budget can be raised, or lowered to what was spent and given",
        ) from None
