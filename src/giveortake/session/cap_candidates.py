"""Caps that a question could have, and the error of each: its noise, and what it leaves out by a profile."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

from giveortake import exact
from giveortake.answers.terms import CapLine, LeftOut
from giveortake.compile import Caps
from giveortake.errors import QueryRefused
from giveortake.mechanisms import Gaussian
from giveortake.plan import ColumnReference
from giveortake.session.cap_errors import margin_and_error
from giveortake.session.size_estimates import USUAL, mean_size, people

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from giveortake.compile import Measurement, Terms
    from giveortake.plan import Question
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profile import Profile
    from giveortake.session.size_bounds import Sizes

_LINES = 6  # in the table of a quote: caps on all rows of a person
_SIDE = 14  # caps of each kind that are tried together


class _Choice(NamedTuple):
    """Caps on all rows of a person, on their groups, and on their rows in each group."""

    rows: int | None
    groups: int | None = None
    inside: int | None = None

    @property
    def plain(self) -> _Choice:
        """The same caps without the one on all rows, if the other two imply it."""
        needless = self.groups and self.inside and self.rows and self.rows >= self.groups * self.inside
        return self._replace(rows=None) if needless else self


def key_columns(question: Question) -> set[str] | None:
    """The columns that a question groups by, if it groups by columns alone."""
    keys = [key for _, key in question.keys]
    references = [key for key in keys if isinstance(key, ColumnReference)]
    return {key.name for key in references} if len(references) == len(keys) else None


def left_out_by(profile: Profile, question: Question, caps: Caps, table: str, sure: Fraction) -> LeftOut:
    """What the caps of a question leave out of its table, by a profile of that table."""
    groups = caps.groups_per_person if question.keys else None
    if groups is not None and set(profile.by) != key_columns(question):
        return LeftOut(
            None, None, None, sure, "the profile does not cover these groups; a profile by those columns would"
        )
    return profile.left_out(
        rows_per_person=caps.rows_in(table),
        groups_per_person=groups,
        rows_per_group=caps.rows_per_group,
        confidence=sure,
    )


@final
@dataclass(eq=False)
class Candidates:
    """Caps that a question could have at a spend. The error of each choice is computed once."""

    mechanism: InteractiveMechanism
    question: Question
    terms: Terms
    profile: Profile
    table: str
    _judged: dict[_Choice, tuple[Caps, CapLine] | None] = field(default_factory=dict)

    def best(self) -> Caps | None:
        """The caps of the least total error; None if nothing has to be capped."""
        if self._needs_none():
            return None
        found = self._least()
        if found is None:
            raise QueryRefused("all caps of the profile are above the custodian's maxima", hint="state the caps")
        return found[0]

    def with_spend_of_share(self) -> Terms:
        """The terms with the spend that their share amounts to, so that all caps are compared at one spend."""
        one_row = replace(self.terms, caps=self._with_stated(self._caps(_Choice(1))))
        spend = self.mechanism.price(self.question, one_row).spend
        return replace(self.terms, share=None, spend=spend)

    def lines(self, made: Measurement, *, is_best: bool) -> tuple[CapLine, ...]:
        """The table of a quote: the caps of a measurement, the best caps, some caps on all rows; least noise first.

        With `is_best`, the measurement has the best caps, and they are not searched for.
        """
        best = None if is_best else self._least()
        some = [self._judge(_Choice(cap)) for cap in _some(self._caps_on_rows(), _LINES)]
        found = [self._line(made), *(pair[1] for pair in (best, *some) if pair is not None)]
        unique = {line.caps: line for line in found if line is not None}
        return tuple(sorted(unique.values(), key=lambda line: line.margin))

    # -- the search ---------------------------------------------------------------------------------------------

    def _least(self) -> tuple[Caps, CapLine] | None:
        """Search for the caps with the least error.

        Under Laplace noise, a cap on all rows keeps no less than other caps with the same noise. Under Gaussian noise,
        and where keys have to be found, fewer groups cost less. There all three caps are tried together: the search
        starts from the best cap on all rows, and from the caps that leave 95 % of the people unchanged; it moves one
        cap at a time while the error falls.
        """
        for cap in self._caps_on_rows():
            self._judge(_Choice(cap))
        axes = self._axes()
        if axes is not None:
            usual = self.profile.caps()
            whole = min(self._found(), key=lambda pair: pair[0].error, default=None)
            starts = [_Choice(usual["rows_per_person"], usual["groups_per_person"], usual["rows_per_group"])]
            if whole is not None and whole[1].rows is not None:
                starts.append(_Choice(whole[1].rows, axes[1][-1], axes[2][-1]))
            for start in starts:
                self._descend(start, axes)
        found = min(self._found(), key=lambda pair: pair[0].error, default=None)
        return None if found is None else self._judged[found[1]]

    def _descend(self, choice: _Choice, axes: tuple[Sequence[int], ...]) -> None:
        least = self._error(choice)
        while True:
            before = choice
            for place, edges in enumerate(axes):
                for edge in edges:
                    moved = _Choice(*(edge if at == place else cap for at, cap in enumerate(choice)))
                    if self._error(moved) < least:
                        choice, least = moved, self._error(moved)
            if choice == before:
                return

    def _axes(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]] | None:
        """The caps of each kind to try; None if only caps on all rows need to be tried, or can be judged."""
        groups, largest = self.profile.groups, self.profile.largest_groups
        if groups is None or largest is None or set(self.profile.by) != key_columns(self.question):
            return None
        made = self._measured(self._caps(_Choice(1)))
        if made.selection is None and not any(isinstance(noise, Gaussian) for noise in made.noises):
            return None
        each = (self._caps_on_rows(), self._tried(groups), self._tried(largest))
        return _some(each[0], _SIDE), _some(each[1], _SIDE), _some(each[2], _SIDE)

    def _caps_on_rows(self) -> Sequence[int]:
        return self._tried(self._rows)

    def _tried(self, sizes: Sizes) -> Sequence[int]:
        """The caps to try: up to the size that no person is expected to exceed."""
        there = people(sizes, self._miss, USUAL) > 0
        last = max((place for place, some in enumerate(there) if some), default=0)
        return sizes.edges[: max(last, sizes.last_seen(self._miss)) + 1]

    def _found(self) -> Iterator[tuple[CapLine, _Choice]]:
        return ((pair[1], choice) for choice, pair in self._judged.items() if pair is not None)

    def _needs_none(self) -> bool:
        try:
            made = self._measured(Caps())
        except QueryRefused:
            return False
        return made.binding_caps is None

    # -- one choice ---------------------------------------------------------------------------------------------

    def _error(self, choice: _Choice) -> float:
        pair = self._judge(choice.plain)
        return math.inf if pair is None else pair[1].error

    def _judge(self, choice: _Choice) -> tuple[Caps, CapLine] | None:
        if choice not in self._judged:
            caps = self._with_stated(self._caps(choice))
            try:
                line = self._line(self._measured(caps))
            except QueryRefused:  # beyond the custodian's maxima
                line = None
            self._judged[choice] = None if line is None else (caps, line)
        return self._judged[choice]

    def _line(self, made: Measurement) -> CapLine | None:
        caps = made.binding_caps
        if caps is None:
            return None
        left = left_out_by(self.profile, self.question, caps, self.table, self.terms.confidence)
        if left.low is None or left.high is None or left.estimate is None:
            return None
        _, total = self._rows.left_estimates(self._miss)
        margin, error = margin_and_error(
            made, self.profile, self._miss, left.estimate, self._rows_of_group(made, total)
        )
        if made.selection is not None:  # a group that is just not shown is wrong by all its rows
            groups = self.profile.groups
            each = 1.0 if groups is None else mean_size(groups, self._miss)
            error += made.selection.least * mean_size(self._rows, self._miss) / each
        return CapLine(str(caps), margin, left.low, left.high, left.estimate, error, bool(self.question.keys))

    def _caps(self, choice: _Choice) -> Caps:
        """A choice as the caps of a question, which override the custodian's defaults."""
        if choice.groups is not None and choice.inside is not None:
            most = choice.groups * choice.inside
            return Caps(
                choice.groups, choice.inside, self._others(most) if choice.rows is None else {self.table: choice.rows}
            )
        cap = choice.rows or 1
        if not self.question.keys:
            return Caps(None, cap, self._others(cap))
        custodian = self.mechanism.caps
        inside = cap if custodian.caps.stated and not custodian.are_maxima else None
        return Caps(inside, inside, {self.table: cap})

    def _others(self, rows: int) -> dict[str, int] | None:
        """The cap that replaces the custodian's default on all rows; None if there is no such default."""
        custodian = self.mechanism.caps
        stated = custodian.caps.rows_in(self.table) is not None and not custodian.are_maxima
        return {self.table: rows} if stated else None

    def _with_stated(self, caps: Caps) -> Caps:
        """The chosen caps, replaced by those that the question states itself."""
        stated = self.terms.caps
        return Caps(
            stated.groups_per_person or caps.groups_per_person,
            stated.rows_per_group or caps.rows_per_group,
            stated.rows_per_person or caps.rows_per_person,
        )

    def _rows_of_group(self, made: Measurement, total: float) -> float:
        """How many rows of a group may be left out: all `n` of them, if `n` was stated, else the root mean square.

        The rows left out may be spread over all k groups, N/k of each, or be N rows of one group. The geometric mean
        of both, N/√k, is the root mean square of the latter. If keys have to be found, k is at least the number of
        groups that one person has.
        """
        if self.terms.n is not None:
            return float(exact.positive("n", self.terms.n))
        keys = made.keys.size if made.selection is None else self._least_keys
        return total / math.sqrt(max(keys, 1))

    def _measured(self, caps: Caps) -> Measurement:
        resolved = self.mechanism.resolve_caps(replace(self.terms, caps=caps))
        if self.terms.spend is None:
            return self.mechanism.price(self.question, replace(self.terms, caps=caps)).made
        return self.mechanism.measure(self.question, resolved, self.terms.spend)

    @cached_property
    def _least_keys(self) -> int:
        groups = self.profile.groups
        if groups is None or set(self.profile.by) != key_columns(self.question):
            return 1
        return groups.edges[groups.last_seen(self._miss)]

    @property
    def _miss(self) -> float:
        return float(1 - self.terms.confidence)

    @cached_property
    def _rows(self) -> Sizes:
        rows = self.profile.rows
        assert rows is not None  # noqa: S101 (asked of persons alone)
        return rows


def _some(edges: Sequence[int], most: int) -> Sequence[int]:
    """At most `most` of the edges, evenly spaced, with the last among them."""
    step = max(1, -(-len(edges) // most))
    return edges[(len(edges) - 1) % step :: step]
