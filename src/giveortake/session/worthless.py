"""Whether an answer would say nothing, seen before it is paid: no key could be shown, or the noise drowns it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake import exact
from giveortake.compile.measures import DistinctCount, PersonCount, ValueSum
from giveortake.compile.outputs import Linear, Ratio
from giveortake.compile.postprocessing import of_units
from giveortake.compile.releases import without_data
from giveortake.session.best_caps import paid_profiles, profile_for, profiled_table
from giveortake.session.cap_candidates import key_columns
from giveortake.session.margins import quoted_miss
from giveortake.session.size_estimates import mean_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.compile import Measurement, Terms
    from giveortake.compile.measures import Measure
    from giveortake.plan import Question
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profile import Profile
    from giveortake.session.size_bounds import Sizes


_HARDLY = "hardly any key would be shown: that takes about"
_EMPTY = "the answer is empty and costs as much as a full one"


def worthless(
    mechanism: InteractiveMechanism,
    question: Question,
    made: Measurement,
    terms: Terms,
    margins: dict[str, float | str | None],
) -> str | None:
    """A sentence that says why the answer would be worth nothing; None if nothing is known against it.

    It follows from the question, from `n`, which the asker states, and from profiles that the asker's own levels paid
    for. No row is looked at.
    """
    n = None if terms.n is None else float(exact.positive("n", terms.n))
    table, changed = profiled_table(question.relation)
    profiles = [] if table is None else paid_profiles(mechanism, table)
    known = profile_for(profiles, question)
    told = None if known is None else _Told(known, question, float(1 - terms.confidence), whole=not changed)
    return _no_key(made, n, told) or _no_count(made, margins, n, told) or _no_mean(made, n, told, terms)


def doubt_about_keys(
    mechanism: InteractiveMechanism, question: Question, made: Measurement, terms: Terms
) -> str | None:
    """That nobody knows whether any key would be shown, where keys are found and nothing tells how many persons are."""
    if made.selection is None or terms.n is not None:
        return None
    table, _ = profiled_table(question.relation)
    if table is not None and profile_for(paid_profiles(mechanism, table), question) is not None:
        return None
    least = f"{made.selection.least:,} persons"
    return of_units(made, f"only values shared by about {least} will be shown; if there are none, {_EMPTY}")


@final
@dataclass(frozen=True, slots=True)
class _Told:
    """What a profile tells about the groups of a question; `whole` says that it is of all rows that are asked about."""

    profile: Profile
    question: Question
    miss: float
    whole: bool

    @property
    def persons(self) -> float:
        """At most so many persons there are."""
        return self.profile.persons(1 - self.miss)[1]

    @property
    def rows(self) -> float | None:
        """About so many rows there are, of which a question may be about some."""
        return None if self.profile.rows is None else self.profile.rows.left_estimates(self.miss)[1]

    def rows_of_group(self, made: Measurement) -> float | None:
        """About so many rows a group has, if all groups are alike; None if the question is not about all rows."""
        if not self.whole or self.rows is None:
            return None
        return self.rows / max(made.keys.size if made.selection is None else self.keys, 1)

    @property
    def keys(self) -> int:
        """At least so many keys there are, if they have to be found: as many as one person has."""
        groups = self._groups
        return 1 if groups is None else groups.edges[groups.last_seen(self.miss)]

    @property
    def persons_of_key(self) -> float | None:
        """About so many persons a key has at most, in the mean of all keys."""
        groups = self._groups
        return None if groups is None else self.persons * mean_size(groups, self.miss) / self.keys

    @property
    def _groups(self) -> Sizes | None:
        return self.profile.groups if set(self.profile.by) == key_columns(self.question) else None


def _no_key(made: Measurement, n: float | None, told: _Told | None) -> str | None:
    """A key is shown when a noisy number of its persons reaches the threshold, and has no more than there are."""
    if made.selection is None:
        return None
    least = float(made.selection.least)
    more = "lower groups_per_person, ask for more ε or δ for keys, or declare the domain of the grouping columns"
    if n is not None and least > n:
        return f"{_HARDLY} {least:,.0f} persons, and a group has {n:,.0f} rows; {more}"
    if told is not None and least > told.persons:
        return f"{_HARDLY} {least:,.0f} persons, and the profile tells of at most {told.persons:,.0f}; {more}"
    if told is not None and told.persons_of_key is not None and least > told.persons_of_key:
        some = f"the profile tells of about {told.persons_of_key:,.0f} in a group at most, if all groups are alike"
        return f"{_HARDLY} {least:,.0f} persons, and {some}; {more}"
    return None


def _no_count(
    made: Measurement, margins: dict[str, float | str | None], n: float | None, told: _Told | None
) -> str | None:
    """The margin of every count, or sum of whole numbers, is as large as what there is to count or to add up."""
    drowned = []
    for name, formula in made.formulas:
        margin = margins[name]
        if not isinstance(formula, Linear) or not formula.counts or not isinstance(margin, int | float):
            return None
        if not formula.weights:  # a constant, such as COUNT(*) - COUNT(*)
            return None
        measures = [made.measures[index] for index in formula.weights]
        limits = [limit for limit in _limits(made, measures, n, told) if limit[0] <= margin]
        if not limits:
            return None
        drowned.append((margin, *min(limits)))
    if not drowned:
        return None
    margin, _, said = min(drowned)
    return f"the margin, {margin:,.6g}, is no smaller than {said}: ask for more ε, lower caps or fewer groups"


def _limits(
    made: Measurement, measures: Sequence[Measure], n: float | None, told: _Told | None
) -> Iterator[tuple[float, str]]:
    """How much there may be to count, or to add up, in a group, and whence that is known."""
    each = max(_greatest(measure) for measure in measures)
    of = "the" if each == 1 else "the greatest sum of the"
    if n is not None:
        yield n * each, f"{of} {n:,.0f} rows of a group (as was stated)"
    if len(measures) != 1:
        return
    (measure,) = measures
    if isinstance(measure, DistinctCount):
        listed = measure.of.domain(made.question.relation.schema).keys()
        if listed is not None:
            yield len(listed), f"the {len(listed):,} values that there may be"
    if told is None:
        return
    if isinstance(measure, PersonCount):
        yield told.persons, f"the number of persons, at most {told.persons:,.0f} (by the profile)"
    elif n is None and (rows := told.rows_of_group(made)) is not None:
        yield rows * each, f"{of} {rows:,.0f} rows of a group (by the profile, if all groups are alike)"


def _greatest(measure: Measure) -> float:
    """How much one row adds at most."""
    return float(max(abs(measure.quantum.low), abs(measure.quantum.high))) if isinstance(measure, ValueSum) else 1.0


def _no_mean(made: Measurement, n: float | None, told: _Told | None, terms: Terms) -> str | None:
    """The interval of every mean is as wide as the range in which it lies anyway; so many rows would be needed."""
    needed = rows_that_means_need(made, terms)
    rows = told.rows_of_group(made) if n is None and told is not None else n
    if rows is None or not needed or len(needed) < len(made.formulas):
        return None
    name, least = min(needed.items(), key=lambda pair: pair[1])
    if rows > least:
        return None
    known = f"n is {rows:,.0f}" if n is not None else f"the profile tells of about {rows:,.0f} rows in a group"
    return (
        f"the interval of `{name}` is as wide as its range: {known}, and it takes more than {least:,.0f}; "
        "ask for more ε, narrower bounds, larger groups or lower caps"
    )


def rows_that_means_need(made: Measurement, terms: Terms) -> dict[str, float]:
    """How many rows a group needs so that the interval of a mean is narrower than its range; no row is looked at."""
    miss = quoted_miss(made, terms.confidence)
    if miss is None:
        return {}
    measures = without_data(made.measures, made.noises)
    found = {}
    for name, formula in made.formulas:
        if isinstance(formula, Ratio) and formula.low is not None and formula.high is not None:
            whole, spread = formula.margin(measures, miss, 1.0), float(formula.high - formula.low)
            if whole is not None and spread > 0:
                found[name] = 2 * whole / spread
    return found
