"""Whether an answer would say nothing, seen before it is paid: no key could be shown, or the noise drowns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake import exact
from giveortake.compile.outputs import Ratio
from giveortake.compile.releases import without_data
from giveortake.session.best_caps import profiled_table
from giveortake.session.profile_releases import paid_profiles

if TYPE_CHECKING:
    from giveortake.compile import Measurement, Terms
    from giveortake.plan import Question
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profile import Profile


_HARDLY = "hardly any key would be shown: that takes about"


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
    known = next((each for each in profiles if each.rows is not None), None)
    return (
        _no_key(made, n, known, terms)
        or _no_count(made, margins, n, known if not changed else None, terms)
        or _no_mean(made, margins, n, terms)
    )


def _no_key(made: Measurement, n: float | None, profile: Profile | None, terms: Terms) -> str | None:
    """A key is shown when a noisy number of its persons reaches the threshold, and has no more than there are."""
    if made.selection is None:
        return None
    least = float(made.selection.least)
    more = "ask for more ε or δ for keys, or declare the domain of the grouping columns"
    if n is not None and least > n:
        return f"{_HARDLY} {least:,.0f} persons, and a group has {n:,.0f} rows; {more}"
    if profile is not None:
        _, most = profile.persons(terms.confidence)
        if least > most:
            return f"{_HARDLY} {least:,.0f} persons, and the profile tells of at most {most:,.0f}; {more}"
    return None


def _no_count(
    made: Measurement, margins: dict[str, float | str | None], n: float | None, profile: Profile | None, terms: Terms
) -> str | None:
    """The margin of every count is as large as what there is to count."""
    rows, whence = n, "as was stated"
    if rows is None and profile is not None and profile.rows is not None and made.selection is None:
        _, total = profile.rows.left_estimates(float(1 - terms.confidence))
        rows, whence = total / max(made.keys().size, 1), "by the profile, if all groups are alike"
    counts = [
        margin for name, formula in made.formulas if formula.counts and isinstance(margin := margins[name], int | float)
    ]
    if rows is None or not counts or min(counts) < rows or len(counts) < len(made.formulas):
        return None
    return (
        f"the margin, {min(counts):,.6g}, is as large as the {rows:,.0f} rows of a group ({whence}): ask for more ε, "
        "lower caps or fewer groups"
    )


def _no_mean(made: Measurement, margins: dict[str, float | str | None], n: float | None, terms: Terms) -> str | None:
    """The margin of every mean is as wide as the range in which it lies anyway; so many rows would be needed."""
    measures, needed = without_data(made.measures, made.noises), []
    for name, formula in made.formulas:
        if not isinstance(formula, Ratio) or formula.low is None or formula.high is None:
            return None
        margin, spread = margins[name], float(formula.high - formula.low)
        if n is None or not isinstance(margin, int | float) or margin < spread / 2 or spread == 0:
            return None
        whole = formula.margin(measures, float(1 - terms.confidence), 1.0)
        needed.append((name, 2 * (whole or 0.0) / spread))
    if not needed:
        return None
    name, rows = min(needed, key=lambda pair: pair[1])
    return (
        f"the interval of `{name}` is as wide as its range: n would have to be larger than {rows:,.0f}, and is "
        f"{n:,.0f}; ask for more ε, narrower bounds or lower caps"
    )
