"""What an answer will be worth, known before it is paid for.

- The margins of its columns, and the typical width of its intervals.
- Whether it would be worthless: no key could be shown, or noise drowns it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake import exact
from giveortake.answers.terms import LeftOut
from giveortake.compile.design import parts_of
from giveortake.compile.formulas import Linear, QuantileOf, Ratio
from giveortake.compile.measures import DistinctCount, PersonCount, ValueSum, without_data
from giveortake.compile.postprocessing import of_units
from giveortake.session.profiles.best_caps import key_columns, paid_profiles, profile_for, profiled_table
from giveortake.session.profiles.estimates import mean_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from giveortake.answers.terms import Confidence
    from giveortake.compile import Measurement, Terms
    from giveortake.compile.formulas import Formula
    from giveortake.compile.measures import Combined, Measure
    from giveortake.exact import Number
    from giveortake.plan import Question
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profiles.estimates import Sizes
    from giveortake.session.profiles.profile import Profile


def column_margins(
    measurement: Measurement, confidence: Confidence, n: Number | None, left_out: LeftOut | None = None
) -> dict[str, float | None]:
    """The margin of every column, of noise alone; None if it depends on rows, or is that of a mean without `n`.

    What caps leave out takes its part of the chance to miss.
    """
    measures = measures_of(measurement, left_out)
    miss = quoted_miss(measurement, LeftOut.confidence_of_noise(left_out, confidence))
    if miss is None:
        return {name: None for name, _ in measurement.formulas}
    number = None if n is None else float(exact.positive("n", n))
    return {name: formula.margin(measures, miss, number) for name, formula in measurement.formulas}


def measures_of(measurement: Measurement, left_out: LeftOut | None) -> Mapping[int, Combined]:
    """The noise of every measure, and the limit of the rows that caps leave out."""
    rows = 0 if left_out is None or left_out.rows is None else left_out.rows
    return without_data(measurement.measures, measurement.noises, truncated_rows=rows)


def truncation_margins(
    measurement: Measurement, n: Number | None, left_out: LeftOut | None
) -> dict[str, float | str | None]:
    """How much farther than noise what caps leave out may move each column; None where nothing is known that limits it.

    It is empty if the caps leave nothing out.
    """
    if left_out is None or left_out.rows == 0:
        return {}
    measures, number = measures_of(measurement, left_out), None if n is None else float(exact.positive("n", n))
    reaches: dict[str, float | str | None] = {}
    for name, formula in measurement.formulas:
        if not formula.has_interval:
            continue
        if left_out.rows is None:
            reaches |= {name: None} if any(left_out.open_sides(*formula.of_row(measurement.measures))) else {}
        else:
            reaches[name] = formula.reach_of_truncation(measures, number)
    return reaches


def quoted_miss(measurement: Measurement, confidence: Confidence) -> float | None:
    """The probability with which an interval may miss; None if all have to hold and their number is unknown."""
    if measurement.selection is not None and confidence.over == "answer":
        return None
    return confidence.miss(measurement.keys.size * len(measurement.formulas) if measurement.selection is None else 1)


def typical_width(measurement: Measurement, confidence: Confidence, n: Number | None) -> float:
    """The typical width of a measurement's intervals: the geometric mean over all columns whose width is known.

    Means count as if there were `n` rows, or one if `n` is unknown: the same for both kinds of noise.
    """
    measures = without_data(measurement.measures, measurement.noises)
    number = 1.0 if n is None else float(exact.positive("n", n))
    miss = quoted_miss(measurement, confidence) or float(1 - confidence)
    widths = [width for _, formula in measurement.formulas for width in _widths(formula, measures, miss, number)]
    positive_widths = [width for width in widths if width > 0]
    if not positive_widths:  # no column has a known width: compare the noise itself
        positive_widths = [float(noise.tail.variance) ** 0.5 for noise in measurement.noises]
    return math.exp(sum(math.log(width) for width in positive_widths) / len(positive_widths))


def worth(measurement: Measurement, confidence: Confidence, n: Number | None) -> float:
    """The typical width; where groups have to be found, its geometric mean with the number that shows one.

    To find many groups, that number alone.
    """
    if measurement.selection is None:
        return typical_width(measurement, confidence, n)
    least = float(measurement.selection.least)
    if measurement.spend.aim == "groups":
        return least
    return math.sqrt(least * typical_width(measurement, confidence, n))


def _widths(formula: Formula, measures: Mapping[int, Combined], miss: float, number: float) -> Iterator[float]:
    """The margins of a formula: its own, or those of its parts; for a quantile, the margin of its rank."""
    own = formula.margin(measures, miss, number)
    if own is not None:
        yield own
    elif isinstance(formula, QuantileOf):
        distribution = measures[formula.measure].distribution
        if distribution is not None:
            yield distribution.rank_margin(formula.quantile, miss)
    else:
        for part in parts_of(formula):
            yield from _widths(part, measures, miss, number)


_HARDLY = "hardly any key would be shown: that takes about"
_EMPTY = "the answer is empty and costs as much as a full one"


def worthless(
    mechanism: InteractiveMechanism,
    question: Question,
    measurement: Measurement,
    terms: Terms,
    margins: dict[str, float | str | None],
) -> str | None:
    """A sentence that says why the answer would be worth nothing; None if nothing is known against it.

    It depends on the question, on `n`, which the asker states, and on profiles that the asker's own levels paid for.
    No row is read.
    """
    n = None if terms.n is None else float(exact.positive("n", terms.n))
    table, changed = profiled_table(question.relation)
    profiles = [] if table is None else paid_profiles(mechanism, table)
    profile = profile_for(profiles, question)
    facts = (
        None if profile is None else _ProfileFacts(profile, question, float(1 - terms.confidence), whole=not changed)
    )
    return (
        _no_key(measurement, n, facts)
        or _no_count(measurement, margins, n, facts)
        or _no_mean(measurement, n, facts, terms)
    )


def doubt_about_keys(
    mechanism: InteractiveMechanism, question: Question, measurement: Measurement, terms: Terms
) -> str | None:
    """A sentence if keys have to be found, and no profile tells how many persons there are: perhaps none is shown."""
    if measurement.selection is None or terms.n is not None:
        return None
    table, _ = profiled_table(question.relation)
    if table is not None and profile_for(paid_profiles(mechanism, table), question) is not None:
        return None
    least = f"{measurement.selection.least:,} {measurement.selection.counted}"
    return of_units(measurement, f"only groups of about {least} will be shown; if there are none, {_EMPTY}")


@final
@dataclass(frozen=True, slots=True)
class _ProfileFacts:
    """What a profile says about the groups of a question; `whole`: the question is about all rows of the profile."""

    profile: Profile
    question: Question
    miss: float
    whole: bool

    @property
    def persons(self) -> float:
        """An upper bound of the number of persons."""
        return self.profile.persons(1 - self.miss)[1]

    @property
    def rows(self) -> float | None:
        """An estimate of the number of rows in the table; a question may be about some of them."""
        return None if self.profile.rows is None else self.profile.rows.left_estimates(self.miss)[1]

    def rows_of_group(self, measurement: Measurement) -> float | None:
        """An estimate of the rows of a group, if all groups are alike; None if the question is not about all rows."""
        if not self.whole or self.rows is None:
            return None
        return self.rows / max(measurement.keys.size if measurement.selection is None else self.keys, 1)

    @property
    def keys(self) -> int:
        """At least how many keys there are, if they have to be found: as many as one person has."""
        groups = self._groups
        return 1 if groups is None else groups.edges[groups.last_seen(self.miss)]

    @property
    def persons_of_key(self) -> float | None:
        """An estimate, from above, of the mean number of persons per key."""
        groups = self._groups
        return None if groups is None else self.persons * mean_size(groups, self.miss) / self.keys

    @property
    def _groups(self) -> Sizes | None:
        return self.profile.groups if set(self.profile.by) == key_columns(self.question) else None


def _no_key(measurement: Measurement, n: float | None, facts: _ProfileFacts | None) -> str | None:
    """A sentence if no key is likely to have enough persons to be shown; else None."""
    if measurement.selection is None:
        return None
    selection, least = measurement.selection, float(measurement.selection.least_persons)
    remedy = "lower groups_per_person, ask for more ε or δ for keys, or declare the domain of the grouping columns"
    if n is not None and selection.least > n:
        return f"{_HARDLY} {selection.least:,} {selection.counted}, and a group has {n:,.0f} rows; {remedy}"
    if facts is not None and least > facts.persons:
        return f"{_HARDLY} {least:,.0f} persons, and the profile tells of at most {facts.persons:,.0f}; {remedy}"
    if facts is not None:
        by_rows = selection.counted != "persons"
        size = facts.rows_of_group(measurement) if by_rows else facts.persons_of_key
        if size is not None and selection.least > size:
            group_size = f"the profile tells of about {size:,.0f} in a group at most, if all groups are alike"
            return f"{_HARDLY} {selection.least:,} {selection.counted}, and {group_size}; {remedy}"
    return None


def _no_count(
    measurement: Measurement, margins: dict[str, float | str | None], n: float | None, facts: _ProfileFacts | None
) -> str | None:
    """A sentence if the margin of every count or sum is as large as what it can amount to; else None."""
    drowned = []
    for name, formula in measurement.formulas:
        margin = margins[name]
        if not isinstance(formula, Linear) or not formula.counts or not isinstance(margin, int | float):
            return None
        if not formula.weights:  # a constant, such as COUNT(*) - COUNT(*)
            return None
        measures = [measurement.measures[index] for index in formula.weights]
        limits = [limit for limit in _limits(measurement, measures, n, facts) if limit[0] <= margin]
        if not limits:
            return None
        drowned.append((margin, *min(limits)))
    if not drowned:
        return None
    margin, _, limit_text = min(drowned)
    return f"the margin, {margin:,.6g}, is no smaller than {limit_text}: ask for more ε, lower caps or fewer groups"


def _limits(
    measurement: Measurement, measures: Sequence[Measure], n: float | None, facts: _ProfileFacts | None
) -> Iterator[tuple[float, str]]:
    """Upper limits of a count or sum in a group, each with words that say how it is known."""
    row_maximum = max(_greatest(measure) for measure in measures)
    quantity = "the" if row_maximum == 1 else "the greatest sum of the"
    if n is not None:
        yield n * row_maximum, f"{quantity} {n:,.0f} rows of a group (as was stated)"
    if len(measures) != 1:
        return
    (measure,) = measures
    if isinstance(measure, DistinctCount):
        listed = measure.expression.domain(measurement.question.relation.schema).keys()
        if listed is not None:
            yield len(listed), f"the {len(listed):,} values that there may be"
    if facts is None:
        return
    if isinstance(measure, PersonCount):
        yield facts.persons, f"the number of persons, at most {facts.persons:,.0f} (by the profile)"
    elif n is None and (rows := facts.rows_of_group(measurement)) is not None:
        yield rows * row_maximum, f"{quantity} {rows:,.0f} rows of a group (by the profile, if all groups are alike)"


def _greatest(measure: Measure) -> float:
    """The most that one row can add to a measure."""
    return float(max(abs(measure.quantum.low), abs(measure.quantum.high))) if isinstance(measure, ValueSum) else 1.0


def _no_mean(measurement: Measurement, n: float | None, facts: _ProfileFacts | None, terms: Terms) -> str | None:
    """A sentence if the interval of every mean is as wide as its declared range; else None."""
    needed = rows_that_means_need(measurement, terms)
    rows = facts.rows_of_group(measurement) if n is None and facts is not None else n
    if rows is None or not needed or len(needed) < len(measurement.formulas):
        return None
    name, least = min(needed.items(), key=lambda pair: pair[1])
    if rows > least:
        return None
    size_text = f"n is {rows:,.0f}" if n is not None else f"the profile tells of about {rows:,.0f} rows in a group"
    return (
        f"the interval of `{name}` is as wide as its range: {size_text}, and it takes more than {least:,.0f}; "
        "ask for more ε, narrower bounds, larger groups or lower caps"
    )


def rows_that_means_need(measurement: Measurement, terms: Terms) -> dict[str, float]:
    """The rows that a group needs, for each mean, so that its interval is narrower than its range; no row is read."""
    miss = quoted_miss(measurement, terms.confidence)
    if miss is None:
        return {}
    measures = without_data(measurement.measures, measurement.noises)
    formulas, rows_needed = dict(measurement.formulas), {}
    for name, spread in spans_of_means(measurement).items():
        margin_of_one_row = formulas[name].margin(measures, miss, 1.0)
        if margin_of_one_row is not None:
            rows_needed[name] = 2 * margin_of_one_row / spread
    return rows_needed


def spans_of_means(measurement: Measurement) -> dict[str, float]:
    """How wide the bounds of each mean are, which have a width: no margin is wider."""
    bounds = [(name, formula.low, formula.high) for name, formula in measurement.formulas if isinstance(formula, Ratio)]
    return {
        name: float(high - low) for name, low, high in bounds if low is not None and high is not None and high > low
    }
