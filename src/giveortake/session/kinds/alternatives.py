"""Better ways to ask: the same share of the budget with other noise, other caps, declared groups or a workload.

They are priced, never guessed: each has the arguments that take it and the margin that it would have. No row is read.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from giveortake.compile import Caps, Spend, measurement
from giveortake.compile.measures import RowCount
from giveortake.engines import KeyColumn, Keys
from giveortake.errors import GiveOrTakeError
from giveortake.exact import decimal, decimal_down
from giveortake.plan import ColumnReference, Scan
from giveortake.privacy import events
from giveortake.session.kinds.usefulness import column_margins, typical_width
from giveortake.session.pricing import amount_of, first_guess, greatest_amount, spend_of_kind
from giveortake.session.profiles.best_caps import paid_profiles, profile_for, profiled_table
from giveortake.session.quotes import Alternative
from giveortake.sql.refusals import in_sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from giveortake.accounting.pricing import Currency
    from giveortake.compile import Measurement, Terms
    from giveortake.ledger import TrialFilter
    from giveortake.session.kinds.queries import BoundQuestions, PricedQuestion
    from giveortake.session.requests import Bound, Priced

_WORTHWHILE = 0.9  # of the width: what narrows it less is not shown
_MOST = 2
_DIGITS = 4
_WITHIN = ("groups_per_person", "rows_per_group")


def other_noise(bound: Bound[Any], spend: Spend, trial: TrialFilter) -> Spend | None:
    """A spend on the other kind of noise that takes no more of the meter, in few digits; None if there is none.

    It is sought by the price of the noise alone, and checked by the event that would be charged.
    """
    share, greatest = trial.share_of(bound.event_at(spend)), Fraction(0)
    if not share:
        return None
    for account in trial.accounts:
        if account.currency not in trial.meters:
            continue

        def cost(amount: Fraction, meter: Currency = account.currency) -> Fraction | None:
            noise = events.Gaussian(1 / amount) if spend.is_pure else events.Laplace(1 / amount)
            return trial.share_of(noise, meter)

        guess = first_guess(account.currency, share * account.limit, pure=not spend.is_pure)
        greatest = max(greatest, (greatest_amount(cost, share, guess) if guess else None) or greatest)
    if not greatest:
        return None
    kind = replace(spend, epsilon=None, delta=None, rho=None, mu=None)
    kind = replace(kind, mu=Fraction(1)) if spend.is_pure else replace(kind, epsilon=Fraction(1))
    other = spend_of_kind(kind, Fraction(decimal_down(greatest, _DIGITS)))
    taken = trial.share_of(bound.event_at(other))
    return other if taken is not None and taken <= share else None


def stated(spend: Spend) -> dict[str, str]:
    """A spend on Laplace or Gaussian noise as arguments."""
    keys = {} if spend.keys is None else {"key_delta": decimal(spend.keys)}
    return {"epsilon" if spend.is_pure else "mu": decimal(amount_of(spend)), **keys}


def with_other_noise(bound: Bound[Any], spend: Spend, terms: Terms, trial: TrialFilter) -> tuple[Alternative, ...]:
    """The other kind of noise at the same share, if intervals are narrower with it."""
    other = other_noise(bound, spend, trial)
    if other is None:
        return ()
    now, then = (bound.width(bound.at(option), terms) for option in (spend, other))
    return (Alternative(stated(other), None, None, None, 1 - then / now),) if then < _WORTHWHILE * now else ()


def alternatives(
    bound: BoundQuestions,
    part: PricedQuestion,
    terms: Terms,
    trial: TrialFilter,
    *,
    truncation: Mapping[str, int | float | str | None],
) -> tuple[Alternative, ...]:
    """At most two better ways to ask one question; what an (ε, δ) would be as Laplace noise stands first.

    `truncation` tells how much farther than noise its intervals reach.
    """
    ways: list[Alternative | None] = [*_cutting_nothing(bound, part, terms, truncation)]
    ways += [_alternative(part.made, other, terms, arguments) for arguments, other in _ways(bound, part, terms, trial)]
    ways += _searches(bound, part, terms, trial)
    narrowest = sorted(filter(None, ways), key=lambda way: -way.narrower)
    return (*_dearer(bound, part, terms, trial), *narrowest)[:_MOST]


def _ways(
    bound: BoundQuestions, part: PricedQuestion, terms: Terms, trial: TrialFilter
) -> Iterator[tuple[dict[str, str], Measurement]]:
    """Arguments, and the measurements that they amount to: other noise, other caps, both, and declared groups."""
    made = part.made
    if made.selection is not None:  # the price of a search depends on the caps
        names = [key.name for _, key in part.question.keys if isinstance(key, ColumnReference)]
        domains = "{" + ", ".join(f'"{name}": […]' for name in names) + "}"
        yield {"domains": domains}, _with_declared_groups(bound, part)
        return
    spends: list[tuple[dict[str, str], Spend]] = [({}, made.spend)]
    if terms.spend is not None and (other := other_noise(bound, made.spend, trial)) is not None:
        spends.append((stated(other), other))
    caps: list[tuple[dict[str, str], Caps]] = [({}, made.caps)]
    if (panel := _one_row_in_each_group(bound, part, terms)) is not None:
        caps.append(({name: str(cap) for name in _WITHIN if (cap := getattr(panel, name)) is not None}, panel))
    for (cap_arguments, other_caps), (spend_arguments, spend) in product(caps, spends):
        arguments = {**cap_arguments, **spend_arguments}
        if arguments and not (cap_arguments and spend.is_pure):  # of Laplace noise the rows count, not where they are
            with suppress(GiveOrTakeError):
                yield arguments, bound.mechanism.measured(part.question, other_caps, spend)


def _searches(bound: BoundQuestions, part: PricedQuestion, terms: Terms, trial: TrialFilter) -> Iterator[Alternative]:
    """A search by weights, which shows smaller groups, at a pure ε with a δ; also if that ends the meter."""
    now, spend, pot = part.made, part.made.spend, bound.mechanism.key_pot
    is_best = spend.aim == "groups" and not spend.is_pure
    if now.selection is None or is_best or len(bound.queries) > 1 or bound.refined is not None:
        return
    by_weights = replace(spend if terms.spend is None else terms.spend, aim="groups")
    options: list[tuple[dict[str, str], Spend]] = [({}, by_weights)]
    if by_weights.is_pure and pot is not None:  # which has no weights
        options = [({"epsilon": decimal(amount_of(by_weights)), "delta": decimal(pot)}, replace(by_weights, delta=pot))]
    for arguments, option in options:
        with suppress(GiveOrTakeError):
            priced = bound.at(option)
            event, other = bound.event(priced), priced.parts[0].made
            after = trial.after(event)
            if other.selection is None or after is None:
                continue
            least = other.selection.least / now.selection.least
            sizes = [f"{made.least:,} {made.counted}" for made in (other.selection, now.selection)]
            groups = f"groups of about {sizes[0]} instead of {sizes[1]}"
            if trial.meter is not None and trial.share_of(event) is None:
                groups += f"; it ends the {trial.meter.name}"
            own, share = trial.share_of(bound.event_at(spend)), after.share_of(event)
            dearer = share if share is not None and own is not None and share > own else None
            if least < _WORTHWHILE:
                column, margins = _margins(now, other, terms)
                yield Alternative({**arguments, "aim": "groups"}, column, *margins, 1 - least, dearer, groups)


def _cutting_nothing(
    bound: BoundQuestions, part: PricedQuestion, terms: Terms, truncation: Mapping[str, int | float | str | None]
) -> Iterator[Alternative]:
    """The greatest number of rows of a person as the cap, if noise and truncation together reach less far with it."""
    table, _ = profiled_table(part.question.relation)
    profile = None if table is None else profile_for(paid_profiles(bound.mechanism, table), part.question)
    if profile is None or profile.most_rows is None or table is None:
        return
    caps = Caps(rows_per_person={table: profile.most_rows})
    with suppress(GiveOrTakeError):
        resolved = bound.mechanism.resolve_caps(replace(terms, caps=caps), part.question)
        other = bound.mechanism.measured(part.question, resolved, part.made.spend)
        column, (margin, now) = _margins(part.made, other, terms)
        farther = truncation.get(column or "")
        if margin is not None and now is not None and isinstance(farther, int | float):
            narrower = 1 - margin / (now + farther)
            if narrower > 1 - _WORTHWHILE:
                arguments = {"rows_per_person": str(profile.most_rows)}
                yield Alternative(arguments, column, margin, now + farther, narrower)


def _one_row_in_each_group(bound: BoundQuestions, part: PricedQuestion, terms: Terms) -> Caps | None:
    """Caps for who has a row in each of many groups: as many groups as rows count now, and one row in each."""
    stability = part.made.stability
    table, _ = profiled_table(part.question.relation)
    is_known = table is not None and bool(paid_profiles(bound.mechanism, table))  # and what it says is in the quote
    is_needless = (
        is_known or bound.resolved[0].are_best or not part.question.keys or (stability.rows_in_group or 1) == 1
    )
    if is_needless or bound.mechanism.part is not None:
        return None
    groups = min(stability.rows or 1, stability.keys or math.inf)
    try:
        return bound.mechanism.resolve_caps(replace(terms, caps=Caps(int(groups), 1)), part.question)
    except GiveOrTakeError:  # above the custodian's maxima
        return None


def _with_declared_groups(bound: BoundQuestions, part: PricedQuestion) -> Measurement:
    """The question as it would be if its groups were declared, and as many as one person may be in."""
    made = part.made
    count = max(made.stability.groups or 1, 1)
    columns = tuple(
        KeyColumn(name, key, tuple(map(str, range(count if index == 0 else 1))))
        for index, (name, key) in enumerate(part.question.keys)
    )
    spend, neighbours = replace(made.spend, keys=None), bound.mechanism.budget.neighbours
    return measurement(part.question, made.caps, neighbours, spend, Keys(columns))


def _dearer(bound: BoundQuestions, part: PricedQuestion, terms: Terms, trial: TrialFilter) -> Iterator[Alternative]:
    """Laplace noise at the ε of an (ε, δ), where it is narrower and dearer: then a quote shows both."""
    pure = None if terms.spend is None or part.made.spend.is_pure else bound.pure(terms.spend)
    if pure is not None:
        laplace = bound.at(pure)
        share = trial.share_of(bound.event(laplace))
        way = _alternative(part.made, laplace.parts[0].made, terms, stated(pure), share=share)
        if way is not None:
            yield way


def _alternative(
    now: Measurement, other: Measurement, terms: Terms, arguments: Mapping[str, str], *, share: Fraction | None = None
) -> Alternative | None:
    """What another measurement is worth, with the margin of the first column that has one; None if too little."""
    widths = [typical_width(made, terms.confidence, terms.n) for made in (now, other)]
    if widths[1] >= _WORTHWHILE * widths[0]:
        return None
    column, margins = _margins(now, other, terms)
    return Alternative(arguments, column, *margins, 1 - widths[1] / widths[0], share)


def _margins(
    now: Measurement, other: Measurement, terms: Terms
) -> tuple[str | None, tuple[float | None, float | None]]:
    """The first column that has a margin in both, and its margins: that of the other first."""
    before, after = (column_margins(made, terms.confidence, terms.n) for made in (now, other))
    column = next((name for name in before if before[name] is not None and after.get(name) is not None), None)
    return column, (None, None) if column is None else (after[column], before[column])


def as_workload(bound: BoundQuestions, priced: Priced[Any], terms: Terms) -> tuple[Alternative, ...]:
    """A workload in the place of several counts of groups of one table, if that narrows them."""
    from giveortake.session.kinds.workloads import WorkloadRequest  # noqa: PLC0415 (few batches are counts alone)
    from giveortake.workload.workload import Marginal, Workload  # noqa: PLC0415 (as above)

    parts: tuple[PricedQuestion, ...] = priced.measurement.parts
    scan, groups = parts[0].question.relation, []
    for part in parts:
        names = _counted_groups(part)
        if names is None or not isinstance(scan, Scan) or part.question.relation != scan:
            return ()
        groups.append(names)
    assert isinstance(scan, Scan)  # noqa: S101 (there are parts)
    try:
        workload = WorkloadRequest(Workload(tuple(map(Marginal, groups))), scan).bind(bound.mechanism, terms)
        width = workload.width(workload.at(priced.spend), terms)
    except GiveOrTakeError:
        return ()
    now = bound.width(priced.measurement, terms)
    if width >= _WORTHWHILE * now:
        return ()
    columns = [in_sql(column) for column in dict.fromkeys(column for names in groups for column in names)]
    sets = ", ".join(f"({', '.join(map(in_sql, names))})" for names in groups)
    selected, table = ", ".join([*columns, "COUNT(*) AS n"]), in_sql(scan.table.name)
    text = f"SELECT {selected} FROM {table} GROUP BY GROUPING SETS ({sets})"  # noqa: S608 (a text for people)
    return (Alternative({"workload": text}, None, None, None, 1 - width / now),)


def _counted_groups(part: PricedQuestion) -> tuple[str, ...] | None:
    """The columns by which a question counts rows; None if it is another question, or has groups to discover."""
    keys, measures = part.question.keys, part.made.measures
    names = tuple(key.name for _, key in keys if isinstance(key, ColumnReference))
    is_count = len(measures) == 1 and isinstance(measures[0], RowCount) and len(part.made.formulas) == 1
    return names if is_count and len(names) == len(keys) and part.made.selection is None else None
