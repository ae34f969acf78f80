"""The contribution bounds with the least total error, by a released profile.

The error of an answer under caps, in rows: the noise of its columns, and the effect of the rows that are left out.

The unit depends on the column. A row that is left out lowers a count by one. It lowers a sum by its value, and the
greatest value counts as one row. A mean or a quantile moves only as far as the rows left out differ from the others;
its whole range counts as all rows. All columns have the same weight.

- Caps that a question could have, and the error of each: its noise, and what it leaves out by a profile.
- Choose the caps with the least total error by a released profile: the error of noise and of what caps leave out.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

from giveortake import exact
from giveortake.answers.terms import CapLine, LeftOut
from giveortake.compile import Caps, Spend, Terms
from giveortake.compile.design import parts_of
from giveortake.compile.formulas import Linear, QuantileOf, Ratio, margin
from giveortake.compile.measures import MeasureOfSteps, PersonCount, Side, without_data
from giveortake.errors import QueryRefused
from giveortake.mechanisms import Gaussian
from giveortake.plan import ColumnReference, Derive, Filter, JoinPersons, JoinPublic, Scan, SemiJoin, Union
from giveortake.plan.relations import Unary
from giveortake.session import storage
from giveortake.session.profiles.estimates import USUAL, mean_size, people
from giveortake.session.profiles.profile import FORMAT, ProfileRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from giveortake.compile import Measurement
    from giveortake.compile.formulas import Formula
    from giveortake.compile.measures import Combined
    from giveortake.plan import Question, Relation
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profiles.estimates import Sizes
    from giveortake.session.profiles.profile import Profile


_Weighed: TypeAlias = "Linear | Ratio | QuantileOf"

_USUAL_VALUE = 0.5  # as a part of the greatest value, if nothing is known
_USUAL_DISTANCE = 0.5  # of values from their mean, as a part of the usual value
_LEAST_KEPT = 1e-3  # share of the rows: a mean of fewer says nothing anyway


def margin_and_error(
    measurement: Measurement, profile: Profile, miss: float, left_out: float, rows: float
) -> tuple[float, float]:
    """The margin of the noise and the whole error, in rows, in a group of `rows` of which a share is `left_out`."""
    measures, formulas = without_data(measurement.measures, measurement.noises), _columns(measurement)
    margins = [_margin_in_rows(measurement, formula, measures, miss) for formula in formulas]
    kept_shares = [1.0 if isinstance(formula, Linear) else max(1 - left_out, _LEAST_KEPT) for formula in formulas]
    biases = [left_out * rows * _worth_of_row(measurement, formula, profile) for formula in formulas]
    errors = [noise / share + bias for noise, share, bias in zip(margins, kept_shares, biases, strict=True)]
    return sum(margins) / len(formulas), sum(errors) / len(formulas)


def error_unit_in_words(measurement: Measurement) -> str | None:
    """The unit of the errors of caps, in words; None if only rows are counted."""
    if all(isinstance(formula, Linear) and not _summed(measurement, formula) for formula in _columns(measurement)):
        return None
    names = ", ".join(f"`{name}`" for name, _ in measurement.formulas)
    return (
        f"these caps make the error of {names} least. Errors are compared as numbers of rows: a sum that is wrong by "
        "its greatest value is wrong by one row, a mean or a quantile that is wrong by its whole range by all rows"
    )


def _columns(measurement: Measurement) -> list[_Weighed]:
    """The formulas whose errors count: one for each number asked for; a function of several is split into parts."""
    formulas = [part for _, formula in measurement.formulas for part in _parts(formula)]
    if not measurement.question.keys:  # capping rows never removes a person
        formulas = [part for part in formulas if not _counts_persons(measurement, part)] or formulas
    return formulas or [Linear({index: Fraction(1)}, Fraction(0)) for index in range(len(measurement.measures))]


def _parts(formula: Formula) -> Iterator[_Weighed]:
    if isinstance(formula, Ratio) and (formula.low is None or formula.high is None or formula.low >= formula.high):
        yield from _parts(formula.over)
        yield from _parts(formula.under)
    elif isinstance(formula, Ratio | QuantileOf):
        yield formula
    elif isinstance(formula, Linear):
        if formula.weights:
            yield formula
    else:
        for part in parts_of(formula):
            yield from _parts(part)


def _counts_persons(measurement: Measurement, formula: _Weighed) -> bool:
    return isinstance(formula, Linear) and all(
        isinstance(measurement.measures[index], PersonCount) for index in formula.weights
    )


def _margin_in_rows(
    measurement: Measurement, formula: _Weighed, measures: Mapping[int, Combined], miss: float
) -> float:
    """The margin of a column's noise, in rows."""
    if isinstance(formula, QuantileOf):
        distribution = measures[formula.measure].distribution
        assert distribution is not None  # noqa: S101 (bins have one)
        return distribution.rank_margin(formula.quantile, miss)
    if isinstance(formula, Ratio) and formula.low is not None and formula.high is not None:
        whole = formula.margin(measures, miss, 1.0) or 0.0
        return whole / float(formula.high - formula.low)
    assert isinstance(formula, Linear)  # noqa: S101 (what is left)
    greatest = max(abs(weight) * _greatest(measurement, index) for index, weight in formula.weights.items())
    return margin(formula, measures, miss) / float(greatest or 1)


def _worth_of_row(measurement: Measurement, formula: _Weighed, profile: Profile) -> float:
    """How much a row that is left out changes a column, as a part of the greatest possible change.

    1 for a count. For a sum, the usual value over the greatest: one half if nothing is known, or half of the mean of
    all persons' greatest values if the profile has the column. For a mean or a quantile, half of that.
    """
    if isinstance(formula, Linear):
        summed = _summed(measurement, formula)
        return _usual_value(summed, profile) if summed else 1.0
    indices = (formula.measure,) if isinstance(formula, QuantileOf) else formula.over.weights
    return _USUAL_DISTANCE * _usual_value(_of_values(measurement, indices), profile)


def _usual_value(measures: list[MeasureOfSteps], profile: Profile) -> float:
    for measure in measures:
        greatest = max(abs(measure.quantum.low), abs(measure.quantum.high))
        usual_magnitude = (
            profile.usual_magnitude(measure.expression.name)
            if isinstance(measure.expression, ColumnReference)
            else None
        )
        if usual_magnitude is not None and greatest:
            return _USUAL_VALUE * min(1.0, usual_magnitude / float(greatest))
    return _USUAL_VALUE


def _summed(measurement: Measurement, formula: Linear) -> list[MeasureOfSteps]:
    """The measures of values that a column adds up; none for a count, to which all rows add the same."""
    measures = _of_values(measurement, formula.weights)
    distances = [weight for index, weight in formula.weights.items() if isinstance(measurement.measures[index], Side)]
    return [] if len(distances) == len(measures) and not sum(distances) else measures


def _of_values(measurement: Measurement, indices: Iterable[int]) -> list[MeasureOfSteps]:
    return [measure for index in indices if isinstance(measure := measurement.measures[index], MeasureOfSteps)]


def _greatest(measurement: Measurement, index: int) -> Fraction:
    """The most that one row can add to a measure."""
    measure = measurement.measures[index]
    return measure.quantum.reach * measure.quantum.granularity if isinstance(measure, MeasureOfSteps) else Fraction(1)


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


def left_out_by(profile: Profile, question: Question, caps: Caps, table: str, confidence: Fraction) -> LeftOut:
    """What the caps of a question leave out of its table, by a profile of that table."""
    groups = caps.groups_per_person if question.keys else None
    knows_groups = set(profile.by) == key_columns(question)
    rows = profile.most_rows_left_out(caps, confidence, grouped=bool(question.keys), knows_groups=knows_groups)
    if groups is not None and not knows_groups:
        why = "the profile does not cover these groups; a profile by those columns would"
        return LeftOut(None, None, None, confidence, why, rows=rows)
    left_out = profile.left_out(
        rows_per_person=caps.rows_in(table),
        groups_per_person=groups,
        rows_per_group=caps.rows_per_group,
        confidence=confidence,
    )
    return replace(left_out, rows=rows)


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
        if self.terms.share is not None:
            return replace(self, terms=self.with_spend_of_share(), _judged={}).best()
        if self._needs_none():
            return None
        least = self._least()
        if least is None:
            raise QueryRefused("all caps of the profile are above the custodian's maxima", hint="state the caps")
        return least[0]

    def with_spend_of_share(self) -> Terms:
        """The terms with the spend that their share amounts to, so that all caps are compared at one spend."""
        one_row = replace(self.terms, caps=self._with_stated(self._caps(_Choice(1))))
        spend = _measurement(self.mechanism, self.question, one_row).spend
        return replace(self.terms, share=None, spend=spend)

    def lines(self, measurement: Measurement, *, is_best: bool) -> tuple[CapLine, ...]:
        """The table of a quote: the caps of a measurement, the best caps, some caps on all rows; least noise first.

        With `is_best`, the measurement has the best caps, and they are not searched for.
        """
        best = None if is_best else self._least()
        judged_caps = [self._judge(_Choice(cap)) for cap in _some(self._caps_on_rows(), _LINES)]
        cap_lines = [self._line(measurement), *(pair[1] for pair in (best, *judged_caps) if pair is not None)]
        unique = {(round(line.margin, 6), line.high): line for line in reversed(cap_lines) if line is not None}
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
            whole = min(self._judged_lines(), key=lambda pair: pair[0].error, default=None)
            starts = [_Choice(usual["rows_per_person"], usual["groups_per_person"], usual["rows_per_group"])]
            if whole is not None and whole[1].rows is not None:
                starts.append(_Choice(whole[1].rows, axes[1][-1], axes[2][-1]))
            for start in starts:
                self._descend(start, axes)
        least = min(self._judged_lines(), key=lambda pair: pair[0].error, default=None)
        return None if least is None else self._judged[least[1]]

    def _descend(self, choice: _Choice, axes: tuple[Sequence[int], ...]) -> None:
        least = self._error(choice)
        while True:
            before = choice
            for axis, edges in enumerate(axes):
                for edge in edges:
                    neighbour = _Choice(*(edge if position == axis else cap for position, cap in enumerate(choice)))
                    if self._error(neighbour) < least:
                        choice, least = neighbour, self._error(neighbour)
            if choice == before:
                return

    def _axes(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]] | None:
        """The caps of each kind to try; None if only caps on all rows need to be tried, or can be judged."""
        groups, largest = self.profile.groups, self.profile.largest_groups
        if groups is None or largest is None or set(self.profile.by) != key_columns(self.question):
            return None
        measurement = self._measured(self._caps(_Choice(1)))
        if measurement.selection is None and not any(isinstance(noise, Gaussian) for noise in measurement.noises):
            return None
        caps_by_kind = (self._caps_on_rows(), self._tried(groups), self._tried(largest))
        return _some(caps_by_kind[0], _SIDE), _some(caps_by_kind[1], _SIDE), _some(caps_by_kind[2], _SIDE)

    def _caps_on_rows(self) -> Sequence[int]:
        return self._tried(self._rows)

    def _tried(self, sizes: Sizes) -> Sequence[int]:
        """The caps to try: up to the size that no person is expected to exceed."""
        are_populated = people(sizes, self._miss, USUAL) > 0
        last = max((index for index, has_persons in enumerate(are_populated) if has_persons), default=0)
        return sizes.edges[: max(last, sizes.last_seen(self._miss)) + 1]

    def _judged_lines(self) -> Iterator[tuple[CapLine, _Choice]]:
        return ((pair[1], choice) for choice, pair in self._judged.items() if pair is not None)

    def _needs_none(self) -> bool:
        try:
            measurement = self._measured(Caps())
        except QueryRefused:
            return False
        return measurement.binding_caps is None

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

    def _line(self, measurement: Measurement) -> CapLine | None:
        caps = measurement.binding_caps
        if caps is None:
            return None
        left = left_out_by(self.profile, self.question, caps, self.table, self.terms.confidence)
        if left.low is None or left.high is None or left.estimate is None:
            return None
        _, total = self._rows.left_estimates(self._miss)
        margin, error = margin_and_error(
            measurement, self.profile, self._miss, left.estimate, self._rows_of_group(measurement, total)
        )
        if measurement.selection is not None:  # a group that is just not shown is wrong by all its rows
            groups = self.profile.groups
            least = float(measurement.selection.least)
            if measurement.selection.counted == "persons":
                least *= mean_size(self._rows, self._miss) / (1.0 if groups is None else mean_size(groups, self._miss))
            error += least
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

    def _rows_of_group(self, measurement: Measurement, total: float) -> float:
        """How many rows of a group may be left out: all `n` of them, if `n` was stated, else the root mean square.

        The rows left out may be spread over all k groups, N/k of each, or be N rows of one group. The geometric mean
        of both, N/√k, is the root mean square of the latter. If keys have to be found, k is at least the number of
        groups that one person has.
        """
        if self.terms.n is not None:
            return float(exact.positive("n", self.terms.n))
        keys = measurement.keys.size if measurement.selection is None else self._least_keys
        return total / math.sqrt(max(keys, 1))

    def _measured(self, caps: Caps) -> Measurement:
        resolved = self.mechanism.resolve_caps(replace(self.terms, caps=caps))
        if self.terms.spend is None:
            return _measurement(self.mechanism, self.question, replace(self.terms, caps=caps))
        return self.mechanism.measured(self.question, resolved, self.terms.spend)

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


def _measurement(mechanism: InteractiveMechanism, question: Question, terms: Terms) -> Measurement:
    """The measurement that the terms buy, with the caps that they state."""
    from giveortake.session.kinds.queries import QueryRequest  # noqa: PLC0415 (as above)
    from giveortake.session.pricing import price  # noqa: PLC0415 (questions are priced with their best caps)

    measurement: Measurement = price(QueryRequest(question).bind(mechanism, terms), terms).measurement.parts[0].made
    return measurement


def _some(edges: Sequence[int], most: int) -> Sequence[int]:
    """At most `most` of the edges, evenly spaced, with the last among them."""
    step = max(1, -(-len(edges) // most))
    return edges[(len(edges) - 1) % step :: step]


_IN_PART = "the profile covers the whole table, not this part of it"
_MOST_COMPARED = 24  # measures of a question: every choice of caps prices all of them again
_NO_PROFILE = "no profile of the table was at hand"
_NO_PROFILE_THAT_TELLS = "a profile covers the whole table, before any filter or join"
_OF_PERSONS = "a profile tells how many rows they cut, and persons are counted here"


@final
@dataclass(frozen=True, slots=True)
class ResolvedCaps:
    """The caps of a question, and why it has these; `by_profile` if one chose them, as the best ones if `are_best`."""

    caps: Caps
    why: str | None = None
    are_best: bool = False
    by_profile: bool = False


def resolved_caps(mechanism: InteractiveMechanism, question: Question, terms: Terms) -> ResolvedCaps:
    """The caps of a question: those it states; else the best ones by a profile, if there is one; else the custodian's.

    A cap that lowers no noise is left out, whoever stated it; only maxima of the custodian hold even then.

    Guarantee: the choice reads the question, the schema and profiles that every level of the asker paid for or that the
    custodian published, nothing else. It is post-processing for these levels; the caps that were chosen are part of
    what names the question.
    """
    stated = replace(terms, best_caps=False)
    best = _best_caps(mechanism, question, terms)
    wanted = mechanism.caps.of_question(stated.caps)
    if best is not None:
        stated = replace(stated, caps=best[0])
    caps = mechanism.resolve_caps(stated, question)
    if not caps.stated:
        why = _NO_CAP_NEEDED if wanted.stated else None
        return ResolvedCaps(caps, why, are_best=best is not None, by_profile=best is not None)
    if best is not None:
        weighed = terms.margin is None
        which = "of the least error at this spend" if weighed else "that leave 95 % of persons as they are"
        return ResolvedCaps(caps, f"caps: {which}, by the profile {best[1]}", are_best=weighed, by_profile=True)
    return ResolvedCaps(caps, None if terms.caps.stated else "caps: the custodian's")


_NO_CAP_NEEDED = "caps: none; they would lower no noise here, and only take rows away"


def _best_caps(mechanism: InteractiveMechanism, question: Question, terms: Terms) -> tuple[Caps, str] | None:
    """The caps of the least error at the spend, and the profile that tells.

    A margin fixes the noise, and there is no spend to weigh it at: where the custodian has no caps either, those that
    leave 95 % of the persons as they are hold. None if nothing has to be capped, if the terms state caps, or if there
    is no profile; where `caps="best"` is stated, that is refused.
    """
    by_margin = terms.margin is not None
    is_unpriced = terms.spend is None and terms.share is None and not by_margin
    if not terms.best_caps and (terms.caps.stated or is_unpriced or (by_margin and mechanism.caps.caps.stated)):
        return None
    table, why = profiled_table(question.relation)
    profile = None if table is None else profile_for(paid_profiles(mechanism, table), question)
    if table is not None and profile is not None and by_margin:
        return Caps(rows_per_person={table: profile.caps()["rows_per_person"]}), profile.release_id
    if table is not None and profile is not None:
        try:
            best = Candidates(mechanism, question, replace(terms, best_caps=False), profile, table).best()
        except QueryRefused:  # all are above the custodian's maxima
            if terms.best_caps:
                raise
            return None
        return None if best is None else (best, profile.release_id)
    if not terms.best_caps:
        return None
    if table is None:
        caps = dict.fromkeys(_tables(question.relation), 10)
        raise QueryRefused(
            f"the best caps are taken from a profile of one table: {why}",
            hint=f"state them; a profile of each table helps to choose: rows_per_person={json.dumps(caps)}",
        )
    raise QueryRefused(
        f"the best caps are taken from a profile, and none of {table} was released to you", hint="buy a profile first"
    )


def left_out_of(
    mechanism: InteractiveMechanism,
    question: Question,
    measurement: Measurement,
    confidence: Fraction,
    terms: Terms | None = None,
    *,
    are_best: bool = False,
) -> LeftOut | None:
    """What the caps of a measurement leave out of the table, as far as the asker's own profiles tell; None: nothing.

    If `terms` are given, the result lists other caps at the same spend, too: none of them has a smaller error than
    those that `caps="best"` takes, which these are if `are_best`.
    """
    caps, confidence = measurement.binding_caps, LeftOut.confidence_beside(confidence)
    if caps is None:
        return None
    table, profile, why = table_and_profile = _profile_that_tells(mechanism, question)
    left_out = _left_out(table_and_profile, question, caps, confidence)
    if all(isinstance(measure, PersonCount) for measure in measurement.measures):
        everybody = not (question.keys or why)  # whoever has fewer rows is still there
        left_out = LeftOut(
            None, None, None, confidence, _OF_PERSONS, profiled=False, rows=left_out.rows, only_adds=left_out.only_adds
        )
        return None if everybody else left_out
    if table is None or profile is None or terms is None:
        return left_out
    lines: tuple[CapLine, ...] = ()
    if are_best or len(measurement.measures) <= _MOST_COMPARED:
        sure = LeftOut.confidence_of_noise(left_out, terms.confidence)  # as in the margins beside these lines
        uncapped_terms = replace(terms, best_caps=False, caps=terms.caps if are_best else Caps(), confidence=sure)
        lines = Candidates(mechanism, question, uncapped_terms, profile, table).lines(measurement, is_best=are_best)
    return replace(left_out, lines=lines)


def left_out_under(
    mechanism: InteractiveMechanism, question: Question, caps: Caps | None, confidence: Fraction
) -> LeftOut | None:
    """What caps leave out of the rows of a question, as far as the asker's own profiles tell; None: nothing."""
    if caps is None:
        return None
    return _left_out(_profile_that_tells(mechanism, question), question, caps, LeftOut.confidence_beside(confidence))


def _left_out(
    table_and_profile: tuple[str | None, Profile | None, str], question: Question, caps: Caps, confidence: Fraction
) -> LeftOut:
    table, profile, why = table_and_profile
    if table is None or profile is None or (why and not _is_of_rows(question.relation)):
        adds = _only_adds(question.relation)
        return LeftOut(None, None, None, confidence, why or _NO_PROFILE, profiled=profile is not None, only_adds=adds)
    left_out = left_out_by(profile, question, caps, table, confidence)
    return LeftOut(None, None, None, confidence, why, rows=left_out.rows) if why else left_out


def _profile_that_tells(mechanism: InteractiveMechanism, question: Question) -> tuple[str | None, Profile | None, str]:
    """The table of a question, the best profile of it, and why that says nothing about the question, if it does not."""
    table, why = profiled_table(question.relation)
    profile = None if table is None else profile_for(paid_profiles(mechanism, table), question)
    if mechanism.part is not None:
        why = _IN_PART
    elif why and table is not None and profile is None:
        why = _NO_PROFILE_THAT_TELLS
    return table, profile, why


def paid_profiles(mechanism: InteractiveMechanism, table: str) -> list[Profile]:
    """The profiles of a table that the asker's own levels paid for, newest first; none in a part of the table.

    Guarantee: they are read from the ledger alone. Whatever is chosen by them is post-processing for these levels.
    """
    if mechanism.part is not None:
        return []
    profiles = []
    for request, release_id, content in stored_profiles(mechanism):
        settings = dict(request["profile"])
        if settings.pop("format") == FORMAT and settings["table"] == table:
            spend = Spend(epsilon=Fraction(settings.pop("epsilon")))
            bound = ProfileRequest(**settings).bind(mechanism, Terms.of({}))
            profiles.append(bound.profile_of(storage.stored_of(content, len(bound.dimensions)), spend, release_id))
    return profiles


def stored_profiles(mechanism: InteractiveMechanism) -> tuple[tuple[Any, str, Any], ...]:
    """The names, ids and contents of all profiles that the asker may use, newest first."""
    if mechanism.paid_profiles is not None:
        return mechanism.paid_profiles
    scope: Any = {"version": mechanism.version, "analyst": mechanism.analyst, "before": mechanism.as_of}
    return tuple(mechanism.ledger.profiles(mechanism.dataset, **scope))


def profiled_table(relation: Relation) -> tuple[str | None, str]:
    """The table that a relation is made of, and why its profile does not describe the relation ("" if it does).

    Columns that are added, or looked up for every row, leave the rows as they are.
    """
    why = ""
    while not isinstance(relation, Scan):
        if not isinstance(relation, Unary):
            return None, "the question is about several tables, and a profile describes one"
        keeps = isinstance(relation, Derive) or (isinstance(relation, JoinPublic) and relation.optional)
        if not keeps:
            operation = "a filter" if isinstance(relation, Filter) else "a join, a union or a subquery"
            why = f"the profile covers the whole table, not the rows after {operation}"
        relation = relation.source
    return relation.table.name, why


def _is_of_rows(relation: Relation) -> bool:
    """Whether each row of a relation is made of one row of a table: then it has no more of a person beyond any cap."""
    while isinstance(relation, Derive | Filter | JoinPublic | SemiJoin):
        relation = relation.source
    return isinstance(relation, Scan)


def _only_adds(relation: Relation) -> bool:
    """Whether a further row of a table only adds rows to a relation: it changes none that are there, and takes none."""
    if not isinstance(relation, Scan | Derive | Filter | JoinPublic | SemiJoin | Union | JoinPersons):
        return False
    if isinstance(relation, JoinPersons) and relation.optional:
        return False
    return all(map(_only_adds, relation.sources))


def _tables(relation: Relation) -> list[str]:
    """The private tables that a relation is made of."""
    if isinstance(relation, Scan):
        return [relation.table.name]
    return [name for source in relation.sources for name in _tables(source)]


def profile_for(profiles: Sequence[Profile], question: Question) -> Profile | None:
    """The profile that knows the question's groups, else any; of several, the one with the least noise."""
    profiles_of_rows = [profile for profile in profiles if profile.rows is not None]
    if not profiles_of_rows:
        return None
    keys = key_columns(question)
    return min(profiles_of_rows, key=lambda profile: (set(profile.by) != keys, profile.noise_scale))
