"""Budget status and admission: what a level has spent and has left, and whether it would admit a charge."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers import render
from giveortake.errors import BudgetExceeded, InvalidParameter, LedgerMismatch
from giveortake.exact import percent
from giveortake.ledger import reservations
from giveortake.ledger.budgets import part_of, promise_text
from giveortake.ledger.chain.entries import promise_from_json
from giveortake.ledger.reservations import level_event
from giveortake.privacy import ApproxDP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from giveortake.accounting.filters import Filter
    from giveortake.accounting.pricing import Account, Currency
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.entries import Entry
    from giveortake.ledger.chain.state import DataSet, Level, State
    from giveortake.ledger.reservations import Charge
    from giveortake.privacy import Guarantee, Unit
    from giveortake.privacy.events import Event


@final
@dataclass(frozen=True, slots=True, eq=False)
class TrialFilter:
    """A copy of a level's filter, on which charges to one data set can be tried."""

    _guard: Filter
    _level: Level
    _table: DataSet

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Every running total of the filter, with its limit."""
        return self._guard.accounts

    @property
    def pot(self) -> Account | None:
        """The δ set aside for finding keys, if the budget has any."""
        return self._guard.pot

    @property
    def share(self) -> Fraction:
        """How much of the budget is used, in its meter."""
        return self._guard.share

    @property
    def meter(self) -> Currency | None:
        """The currency in which shares of the budget are measured; None if the first charge will fix it."""
        return self._guard.meter

    @property
    def meters(self) -> tuple[Currency, ...]:
        """The meter, or the currencies of which the first charge fixes one."""
        return self._guard.meters

    def share_of(self, event: Event, meter: Currency | None = None) -> Fraction | None:
        """How much of the whole budget an event takes by itself, in the meter; None if it has no price there."""
        return self._guard.share_of(level_event(event, self._level, self._table), meter)

    def part_of_rest(self, event: Event) -> Fraction | None:
        """How large a part of what is left in the meter an event would take; None if it does not fit there."""
        return self._guard.part_of_rest(level_event(event, self._level, self._table))

    def after(self, event: Event) -> TrialFilter | None:
        """The trial filter after one more charge; None if it does not fit."""
        twin = self._guard.copy()
        try:
            twin.charge(level_event(event, self._level, self._table))
        except BudgetExceeded:
            return None
        return TrialFilter(twin, self._level, self._table)


def trial_of(transaction: Transaction, level: Level, table: DataSet) -> TrialFilter | None:
    """A trial filter of a level as it is now; None if it has no cap of its own."""
    guard = transaction.filter_of(level)
    return None if guard is None else TrialFilter(guard.copy(), level, table)


@final
@dataclass(frozen=True, slots=True, repr=False)
class BudgetStatus:
    """What a level may spend and has spent, at one moment. A level without a budget only counts.

    Of a population whose analysts have `allotments`, `remaining` is what the custodian holds. `given` is the part of
    the whole budget that was given to analysts, whether they have used it or not, and `own` the part that was charged
    for the custodian's own questions: with what is left they add up to 1. An allotment that was set aside and then
    raised, after the custodian's first question, was given twice, and counts so. `spent` and `share` are the filter's,
    in which an allotment counts as a charge once it is taken from a filter that has begun. `share` is measured in the
    `meter`: of an (ε, δ) budget the currency that the custodian or the first charge fixed.
    """

    number: int
    kind: str
    name: str
    unit: Unit
    budget: Guarantee | None
    spent: Any
    remaining: Any
    share: Fraction | None
    meter: str | None
    closed: bool
    allotted: bool = False
    allotments: tuple[Guarantee, ...] = ()
    approval_above: Guarantee | None = None  # what costs more waits for the custodian
    given: Fraction = Fraction(0)
    own: Fraction | None = None

    @property
    def used(self) -> Fraction | None:
        """The part of the whole budget that was spent or given to analysts; None without a budget."""
        return None if self.own is None else self.given + self.own

    def __repr__(self) -> str:
        kind, name, protects, budget, spent, granted = _row(self)
        spent_text = f"{percent(self.own, 3)} spent" if self.own is not None and not self.closed else spent
        parts = [budget, f"protects {protects}", spent_text, f"{granted} given to analysts" if granted else ""]
        return f"<BudgetStatus of {kind} {name}: {', '.join(filter(None, parts))}>"

    def _repr_html_(self) -> str:
        return status_table([self])


@final
class BudgetStatuses(list[BudgetStatus]):
    """Several budget statuses, which a notebook shows as one table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return status_table(self)


def status_table(statuses: Iterable[BudgetStatus]) -> str:
    """A table for notebooks: each level's budget, and how much of it was spent and given to analysts."""
    head = ("level", "name", "protects", "budget", "spent", "given to analysts")
    return render.table(head, [_row(status) for status in statuses])


def _row(level: BudgetStatus) -> tuple[str, ...]:
    budget = "of its people" if level.budget is None else promise_text(level.budget)
    spent = "" if level.own is None else "closed" if level.closed else render.used(level.own)
    granted = percent(level.given, 3) if level.given else ""
    return level.kind, level.name, level.unit.column or "row", budget, spent, granted


def level_of(state: State, status: BudgetStatus) -> Level:
    """The level that a budget status describes; one of another ledger is refused."""
    if not isinstance(status, BudgetStatus):
        raise InvalidParameter("level", status, "is not a standing", hint="`ledger.levels()` lists them")
    level = state.levels.get(status.number)
    if level is None or (level.kind, level.name, level.unit) != (status.kind, status.name, status.unit):
        raise LedgerMismatch(
            f"the {status.kind} {status.name!r} is not level {status.number} of this ledger",
            hint="take the standing from the ledger whose budget is to change",
        )
    return level


def status_of(transaction: Transaction, level: Level) -> BudgetStatus:
    """The budget status of a level."""
    guard = transaction.filter_of(level)
    granted_part, own = _parts(level, None if guard is None else guard.share)
    return BudgetStatus(
        number=level.number,
        kind=level.kind,
        name=level.name,
        unit=level.unit,
        budget=level.budget,
        spent=None if guard is None else guard.spent,
        remaining=None if guard is None else guard.remaining,
        share=None if guard is None else guard.share,
        meter=None if guard is None or guard.meter is None else guard.meter.name,
        closed=level.closed is not None,
        allotted=level.allotted,
        allotments=tuple(level.allotments.values()),
        approval_above=level.approval,
        given=granted_part,
        own=own,
    )


def _parts(level: Level, share: Fraction | None) -> tuple[Fraction, Fraction | None]:
    """The parts of a budget that were given to analysts and spent; 0 and None for a level without a budget.

    Allotments of an (ε, δ) budget are set aside before its filter begins, which then guards the rest; all others are
    charges to the filter, `level.granted`. One that was set aside and raised later is both, and was given twice.
    """
    if share is None or level.budget is None:
        return Fraction(0), None
    used = used_of(level, share)
    charged = (part_of(level.budget, level.allotments[number]) for number in level.granted)
    granted_part = min(used, _set_aside(level) + sum(charged, Fraction(0)))
    return granted_part, used - granted_part


def used_of(level: Level, share: Fraction) -> Fraction:
    """How much of a level's whole budget is spent or given to analysts, from the used share of its filter."""
    before = _set_aside(level)
    return before + share * (1 - before)


def _set_aside(level: Level) -> Fraction:
    """The part of a level's budget that its filter does not guard: only an (ε, δ) budget has one."""
    if not isinstance(level.budget, ApproxDP) or level.guarded is None:
        return Fraction(0)
    return 1 - part_of(level.budget, level.guarded)


@final
@dataclass(frozen=True, slots=True)
class Admission:
    """The level that decides about a question, whether all levels would admit it now, and paid profiles.

    `profiles` are those of the asker's own levels, as `Ledger.profiles` tells them. `used_after` is how much of that
    level's budget would be spent or given away once the question is charged; None if it is not admitted. `paid` says
    that there is an answer to exactly this, for which the asker's own levels paid: it is free. What others paid for is
    not told, and what was charged and has no answer is free only under the same key. `waits` says that it is large, and
    has to be approved first. `share` is the part of the whole budget that the question takes, in the `meter` that there
    is afterwards; `ends` the meter that there is now, if the question would end it. `more` is how many more like it fit
    then, if nothing else is charged.
    """

    status: BudgetStatus
    admitted: bool
    profiles: list[tuple[Any, str, Any]]
    used_after: Fraction | None
    paid: bool = False
    waits: bool = False
    share: Fraction | None = None
    meter: str | None = None
    ends: str | None = None
    more: int | None = None


def admission(transaction: Transaction, charge: Charge) -> Admission:
    """Everything that a quote asks a ledger about a charge."""
    event, dataset, analyst = charge.event, charge.dataset, charge.analyst
    level = deciding(transaction, dataset, analyst)
    trial = trial_of(transaction, level, transaction.state.dataset_for(dataset, analyst))
    after = None if trial is None else trial.after(event)
    paid = reservations.is_answered(transaction, charge)
    then = trial if after is None or paid else after
    meter = None if then is None else then.meter
    share = None if then is None else then.share_of(event)
    is_changed = trial is not None and trial.meter not in {None, meter}
    part = None if then is None else then.part_of_rest(event)
    return Admission(
        status_of(transaction, level),
        admits(transaction, event, dataset=dataset, analyst=analyst),
        reservations.profiles(transaction, dataset, analyst, charge.version),
        None if after is None else used_of(level, after.share),
        paid,
        reservations.would_wait(transaction, charge),
        None if share is None or share > 1 else share,
        None if meter is None else meter.name,
        trial.meter.name if is_changed and trial is not None and trial.meter is not None else None,
        None if part == 0 else 0 if part is None else int(1 / part),
    )


def deciding(transaction: Transaction, dataset: str, analyst: str | None) -> Level:
    """The level that decides about the next question: the analyst's cap with least left, else the population."""
    table = transaction.state.dataset_for(dataset, analyst)
    own = [] if analyst is None else [grant.level for grant in transaction.state.grants_of(analyst, dataset)]
    capped = [level for level in own if level.budget is not None]
    if len(capped) > 1:
        return min(capped, key=lambda level: affordable(transaction, level) or Fraction(0))
    return capped[0] if capped else transaction.state.population(table.population)


def affordable(transaction: Transaction, level: Level) -> Fraction | None:
    """The greatest ε, up to rounding, of a pure release that a level would admit now; None if it has no cap."""
    if level.closed is not None:
        return Fraction(0)
    return transaction.affordable(level)


def admits(transaction: Transaction, event: Event, *, dataset: str, analyst: str | None) -> bool:
    """Whether every level would admit an event now."""
    table = transaction.state.dataset_for(dataset, analyst)
    return all(
        level.closed is None
        and (
            (guard := transaction.filter_of(level)) is None
            or guard.admits(reservations.level_event(event, level, table))
        )
        for level in reservations.levels_of(transaction.state, table, analyst)
    )


def used_of_whole(
    used: Mapping[int, list[tuple[int, Fraction]]], history: Iterable[Entry]
) -> dict[int, list[tuple[int, Fraction]]]:
    """Return `Ledger.burn_down` for whole budgets: what was set aside for analysts counts as used too."""
    guarded = dict(_guarded(history))
    burn_down: dict[int, list[tuple[int, Fraction]]] = {}
    for level, points in used.items():
        part = Fraction(1)
        burn_down[level] = []
        for number, share in points:
            part = guarded.get((level, number), part)
            burn_down[level].append((number, 1 - part * (1 - share)))
    return burn_down


def _guarded(history: Iterable[Entry]) -> Iterator[tuple[tuple[int, int], Fraction]]:
    """Yield, for each (level, entry) that changes it, the part of the level's budget that its filter guards."""
    budgets: dict[int, Guarantee] = {}
    for entry in history:
        content = entry.content
        if content.get("budget") is not None:
            level = content.get("level", entry.number)
            budgets[level] = promise_from_json(content["budget"])
            yield (level, entry.number), _part(budgets[level], content)
        for above, deduction in content.get("above", {}).items():
            if "rest" in deduction:
                yield (int(above), entry.number), _part(budgets[int(above)], deduction)


def _part(budget: Guarantee, stated: Mapping[str, Any]) -> Fraction:
    """The part of a budget that is the stated rest; all of it if none is stated."""
    if not isinstance(budget, ApproxDP) or "rest" not in stated:
        return Fraction(1)
    return part_of(budget, promise_from_json(stated["rest"]))
