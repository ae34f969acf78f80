"""The caps of the least total error, chosen by a profile that was released: what noise adds and caps leave out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from giveortake import exact
from giveortake.answers.left_out import CapLine, LeftOut
from giveortake.compile import Caps
from giveortake.compile.measures import PersonCount, RowCount
from giveortake.compile.provenance import caps_of
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.mechanisms import Gaussian
from giveortake.mechanisms.tails import quantile
from giveortake.plan import Column, Derive, Filter, JoinPublic, Scan
from giveortake.plan.relations import Unary
from giveortake.session.profile_releases import paid_profiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from giveortake.compile import Measurement, Rules, Terms
    from giveortake.plan import Question, Relation
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profile import Profile

_LINES = 6  # of the table in a quote
_SIDE = 10  # caps on groups that are tried, and on rows in each
_NO_PROFILE = "no profile of it was released: s.profile(epsilon=…) makes one"


def with_best_caps(mechanism: InteractiveMechanism, question: Question, terms: Terms, rules: Rules) -> Terms:
    """The terms with the caps of the least total error in place of `caps="best"`, at what the terms spend.

    Guarantee: the choice reads the question, the schema and profiles that every level of the asker paid for, nothing
    else. It is post-processing for these levels; the caps that were chosen are part of what names the question.
    """
    if not terms.best_caps:
        return terms
    if terms.margin is not None:
        raise InvalidParameter(
            "caps",
            "best",
            "goes with a spend: it weighs noise against what caps leave out, and a margin decides the noise already",
            hint='state epsilon="0.1" or share="1/10" in the place of the margin, or state the caps',
        )
    stated = replace(terms, best_caps=False)
    table, why = profiled_table(question.relation)
    if table is None:
        raise QueryRefused(f'caps="best" takes caps from a profile of one table: {why}', hint="state the caps")
    profile = _profile_for(paid_profiles(mechanism, table), question)
    if profile is None or profile.rows is None:
        raise QueryRefused(
            f'caps="best" takes caps from a profile, and none of {table} was released to you',
            hint='s.profile(epsilon="0.1") makes one, once',
        )
    candidates = _Candidates(mechanism, question, stated, rules, profile, table)
    if terms.share is not None:
        candidates = replace(candidates, terms=candidates.with_spend_of_share())
    best = candidates.best()
    return stated if best is None else replace(stated, caps=best)


def left_out_of(mechanism: InteractiveMechanism, question: Question, made: Measurement, terms: Terms) -> LeftOut | None:
    """What the caps of a measurement leave out of the table, as far as the asker's own profiles tell; None: nothing.

    With a spend in the terms, other caps at the same spend stand beside it.
    """
    caps = caps_of(made)
    if caps is None or all(isinstance(each, PersonCount) for each in made.measures):
        return None
    sure = terms.confidence
    table, why = profiled_table(question.relation)
    profile = None if table is None else _profile_for(paid_profiles(mechanism, table), question)
    if table is None or profile is None or profile.rows is None:
        return LeftOut(None, None, None, sure, why or _NO_PROFILE, profiled=False)
    lines: tuple[CapLine, ...] = ()
    if terms.spend is not None:
        lines = _Candidates(mechanism, question, replace(terms, best_caps=False), made.rules, profile, table).lines()
    if why:
        return LeftOut(None, None, None, sure, why, lines=lines)
    return replace(_left_out(profile, question, caps, table, sure), lines=lines)


def profiled_table(relation: Relation) -> tuple[str | None, str]:
    """The table that a relation is made of, and why a profile of it says nothing about the relation, if it does not.

    Columns that are added, or looked up for every row, leave the rows as they are.
    """
    why = ""
    while not isinstance(relation, Scan):
        if not isinstance(relation, Unary):
            return None, "the question is about several tables, and a profile is of one"
        keeps = isinstance(relation, Derive) or (isinstance(relation, JoinPublic) and relation.optional)
        if not keeps:
            what = "a filter" if isinstance(relation, Filter) else "what the question makes of the table"
            why = f"the profile is of the whole table, and nobody has released one after {what}"
        relation = relation.source
    return relation.table.name, why


def _profile_for(profiles: Sequence[Profile], question: Question) -> Profile | None:
    """The profile that knows the question's groups, else any; of several, the one with the least noise."""
    keys = _key_columns(question)
    known = [each for each in profiles if each.rows is not None]
    return min(known, key=lambda each: (set(each.by) != keys, each.noise_scale), default=None)


def _key_columns(question: Question) -> set[str] | None:
    """The columns that a question groups by, if it groups by columns alone."""
    keys = [key for _, key in question.keys]
    return {key.name for key in keys if isinstance(key, Column)} if all(isinstance(k, Column) for k in keys) else None


def _left_out(profile: Profile, question: Question, caps: Caps, table: str, sure: Fraction) -> LeftOut:
    groups = caps.groups_per_person if question.keys else None
    if groups is not None and set(profile.by) != _key_columns(question):
        return LeftOut(None, None, None, sure, "the profile is not of these groups: by=[…] names them")
    return profile.left_out(
        rows_per_person=caps.rows_in(table),
        groups_per_person=groups,
        rows_per_group=caps.rows_per_group,
        confidence=sure,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Caps that a question could have, and what error each of them has."""

    mechanism: InteractiveMechanism
    question: Question
    terms: Terms
    rules: Rules
    profile: Profile
    table: str

    def best(self) -> Caps | None:
        """The caps of the least total error; None if nothing has to be capped."""
        if self._needs_none():
            return None
        judged = [(line.error, caps) for caps, line in self._judged(self._listed())]
        if not judged:
            raise QueryRefused("no caps of the profile are within the custodian's maxima", hint="state the caps")
        return min(judged, key=lambda pair: pair[0])[1]

    def with_spend_of_share(self) -> Terms:
        """The terms with what a share comes to, so that all caps are compared at one spend."""
        one_row = replace(self.terms, caps=self._with_stated(self._all_rows(1)))
        spend = self.mechanism.price(self.question, one_row, self.rules).spend
        return replace(self.terms, share=None, spend=spend)

    def lines(self) -> tuple[CapLine, ...]:
        """Some of them, from the least cap to the greatest, to compare."""
        listed = [caps for caps in self._listed() if caps.groups_per_person is None or caps.rows_per_person is not None]
        step = max(1, -(-len(listed) // _LINES))
        return tuple(line for _, line in self._judged(listed[(len(listed) - 1) % step :: step]))

    def _needs_none(self) -> bool:
        try:
            made = self._measured(Caps())
        except QueryRefused:
            return False
        return caps_of(made) is None

    def _listed(self) -> Iterator[Caps]:
        """All rows of a person up to where people were seen; groups and rows in each where that may be better.

        Under Laplace noise a cap on all rows keeps no less than one on groups that has the same noise; under Gaussian
        noise, and where keys have to be found, fewer groups cost less.
        """
        rows = self.profile.rows
        assert rows is not None  # noqa: S101 (asked of persons alone)
        miss = float(1 - self.terms.confidence)
        for cap in rows.edges[: rows.last_seen(miss) + 1]:
            yield self._all_rows(cap)
        groups, largest = self.profile.groups, self.profile.largest_groups
        if groups is None or largest is None or set(self.profile.by) != _key_columns(self.question):
            return
        made = self._measured(self._all_rows(1))
        if made.selection is None and not any(isinstance(noise, Gaussian) for noise in made.noises):
            return
        for most_groups in _some(groups.edges[: groups.last_seen(miss) + 1]):
            for most_rows in _some(largest.edges[: largest.last_seen(miss) + 1]):
                yield Caps(most_groups, most_rows, self._others(most_groups * most_rows))

    def _all_rows(self, cap: int) -> Caps:
        """So many rows of a person, whatever groups they are in; the custodian's defaults give way."""
        custodian = self.mechanism.caps
        gives_way = custodian.caps.stated and not custodian.are_maxima
        if not self.question.keys:
            return Caps(None, cap, self._others(cap))
        inside = cap if gives_way else None
        return Caps(inside, inside, {self.table: cap})

    def _others(self, rows: int) -> dict[str, int] | None:
        """What takes the place of the custodian's default for all rows, if there is one."""
        custodian = self.mechanism.caps
        stated = custodian.caps.rows_in(self.table) is not None and not custodian.are_maxima
        return {self.table: rows} if stated else None

    def _judged(self, listed: Iterable[Caps]) -> Iterator[tuple[Caps, CapLine]]:
        rows = self.profile.rows
        assert rows is not None  # noqa: S101 (asked of persons alone)
        miss = float(1 - self.terms.confidence)
        _, total = rows.left_estimates(miss)
        for said in listed:
            caps = self._with_stated(said)
            try:
                made = self._measured(caps)
            except QueryRefused:  # beyond the custodian's maxima
                continue
            resolved = caps_of(made)
            if resolved is None:
                continue
            left = _left_out(self.profile, self.question, resolved, self.table, self.terms.confidence)
            if left.low is None or left.high is None or left.estimate is None:
                continue
            margin = _margin_in_rows(made, miss)
            error = margin + left.estimate * self._rows_of_group(made, total)
            if made.selection is not None:  # a group that is just not shown is wrong by all its rows
                error += made.selection.least * total / max(self.profile.persons(self.terms.confidence)[1], 1.0)
            yield caps, CapLine(str(resolved), margin, left.low, left.high, left.estimate, error)

    def _with_stated(self, caps: Caps) -> Caps:
        """With what the question states itself in the place of what is chosen."""
        stated = self.terms.caps
        return Caps(
            stated.groups_per_person or caps.groups_per_person,
            stated.rows_per_group or caps.rows_per_group,
            stated.rows_per_person or caps.rows_per_person,
        )

    def _rows_of_group(self, made: Measurement, total: float) -> float:
        """How many rows of a group may be left out: as many as it has, if that was said, else the root mean square.

        What is left out may lie in all groups alike, or in one of k: N/k rows of each, or N of one. The geometric mean
        of both, N/√k, is the root mean square of the latter.
        """
        if self.terms.n is not None:
            return float(exact.positive("n", self.terms.n))
        keys = 1 if made.selection is not None else max(made.keys().size, 1)
        return total / math.sqrt(keys)

    def _measured(self, caps: Caps) -> Measurement:
        resolved = self.mechanism.resolve_caps(replace(self.terms, caps=caps))
        if self.terms.spend is None:
            return self.mechanism.price(self.question, replace(self.terms, caps=caps), self.rules).made
        spend = self.mechanism.with_key_delta(self.question, self.terms.spend, self.rules)
        return self.mechanism.measure(self.question, resolved, spend, rules=self.rules)


def _some(edges: Sequence[int]) -> Sequence[int]:
    """The last of them, and not too many of the others."""
    step = max(1, -(-len(edges) // _SIDE))
    return edges[(len(edges) - 1) % step :: step]


def _margin_in_rows(made: Measurement, miss: float) -> float:
    """The margin of a number of rows; of what else is measured, as many rows as its noise hides."""
    place = next((i for i, each in enumerate(made.measures) if isinstance(each, RowCount)), 0)
    measure, noise = made.measures[place], made.noises[place]
    l1, l2 = made.stability.sensitivity(0, 1)
    one = l2 / measure.l2 if isinstance(noise, Gaussian) else l1 / measure.l1
    return quantile([noise.tail], miss) * float(one)
