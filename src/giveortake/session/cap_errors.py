"""The error of an answer under caps, in rows: the noise of its columns, and the effect of the rows that are left out.

The unit depends on the column. A row that is left out lowers a count by one. It lowers a sum by its value, and the
greatest value counts as one row. A mean or a quantile moves only as far as the rows left out differ from the others;
its whole range counts as all rows. All columns have the same weight.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from giveortake.compile.design import parts_of
from giveortake.compile.formulas import Linear, QuantileOf, Ratio, margin
from giveortake.compile.measures import MeasureOfSteps, PersonCount, Side
from giveortake.compile.releases import without_data
from giveortake.plan import ColumnReference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from giveortake.compile import Measurement
    from giveortake.compile.formulas import Formula
    from giveortake.compile.releases import Combined
    from giveortake.session.profile import Profile

_Weighed: TypeAlias = "Linear | Ratio | QuantileOf"

_USUAL_VALUE = 0.5  # as a part of the greatest value, if nothing is known
_USUAL_DISTANCE = 0.5  # of values from their mean, as a part of the usual value
_LEAST_KEPT = 1e-3  # share of the rows: a mean of fewer says nothing anyway


def margin_and_error(
    made: Measurement, profile: Profile, miss: float, left_out: float, rows: float
) -> tuple[float, float]:
    """The margin of the noise and the whole error, in rows, in a group of `rows` of which a share is `left_out`."""
    measures, found = without_data(made.measures, made.noises), _columns(made)
    margins = [_margin_in_rows(made, each, measures, miss) for each in found]
    kept = [1.0 if isinstance(each, Linear) else max(1 - left_out, _LEAST_KEPT) for each in found]
    taken = [left_out * rows * _worth_of_row(made, each, profile) for each in found]
    errors = [noise / share + bias for noise, share, bias in zip(margins, kept, taken, strict=True)]
    return sum(margins) / len(found), sum(errors) / len(found)


def what_is_weighed(made: Measurement) -> str | None:
    """The unit of the errors of caps, in words; None if only rows are counted."""
    if all(isinstance(each, Linear) and not _summed(made, each) for each in _columns(made)):
        return None
    names = ", ".join(f"`{name}`" for name, _ in made.formulas)
    return (
        f"these caps make the error of {names} least. Errors are compared as numbers of rows: a sum that is wrong by "
        "its greatest value is wrong by one row, a mean or a quantile that is wrong by its whole range by all rows"
    )


def _columns(made: Measurement) -> list[_Weighed]:
    """The formulas whose errors count: one for each number asked for; a function of several is split into parts."""
    found = [each for _, formula in made.formulas for each in _parts(formula)]
    if not made.question.keys:  # capping rows never removes a person
        found = [each for each in found if not _counts_persons(made, each)] or found
    return found or [Linear({place: Fraction(1)}, Fraction(0)) for place in range(len(made.measures))]


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


def _counts_persons(made: Measurement, formula: _Weighed) -> bool:
    return isinstance(formula, Linear) and all(isinstance(made.measures[at], PersonCount) for at in formula.weights)


def _margin_in_rows(made: Measurement, formula: _Weighed, measures: Mapping[int, Combined], miss: float) -> float:
    """The margin of a column's noise, in rows."""
    if isinstance(formula, QuantileOf):
        distribution = measures[formula.measure].distribution
        assert distribution is not None  # noqa: S101 (bins have one)
        return distribution.rank_margin(formula.quantile, miss)
    if isinstance(formula, Ratio) and formula.low is not None and formula.high is not None:
        whole = formula.margin(measures, miss, 1.0) or 0.0
        return whole / float(formula.high - formula.low)
    assert isinstance(formula, Linear)  # noqa: S101 (what is left)
    greatest = max(abs(weight) * _greatest(made, place) for place, weight in formula.weights.items())
    return margin(formula, measures, miss) / float(greatest or 1)


def _worth_of_row(made: Measurement, formula: _Weighed, profile: Profile) -> float:
    """How much a row that is left out changes a column, as a part of the greatest possible change.

    1 for a count. For a sum, the usual value over the greatest: one half if nothing is known, or half of the mean of
    all persons' greatest values if the profile has the column. For a mean or a quantile, half of that.
    """
    if isinstance(formula, Linear):
        summed = _summed(made, formula)
        return _usual_value(summed, profile) if summed else 1.0
    places = (formula.measure,) if isinstance(formula, QuantileOf) else formula.over.weights
    return _USUAL_DISTANCE * _usual_value(_of_values(made, places), profile)


def _usual_value(measures: list[MeasureOfSteps], profile: Profile) -> float:
    for measure in measures:
        greatest = max(abs(measure.quantum.low), abs(measure.quantum.high))
        known = profile.usual_magnitude(measure.of.name) if isinstance(measure.of, ColumnReference) else None
        if known is not None and greatest:
            return _USUAL_VALUE * min(1.0, known / float(greatest))
    return _USUAL_VALUE


def _summed(made: Measurement, formula: Linear) -> list[MeasureOfSteps]:
    """The measures of values that a column adds up; none for a count, to which all rows add the same."""
    found = _of_values(made, formula.weights)
    distances = [weight for place, weight in formula.weights.items() if isinstance(made.measures[place], Side)]
    return [] if len(distances) == len(found) and not sum(distances) else found


def _of_values(made: Measurement, places: Iterable[int]) -> list[MeasureOfSteps]:
    return [measure for place in places if isinstance(measure := made.measures[place], MeasureOfSteps)]


def _greatest(made: Measurement, place: int) -> Fraction:
    """The most that one row can add to a measure."""
    measure = made.measures[place]
    return measure.quantum.reach * measure.quantum.granularity if isinstance(measure, MeasureOfSteps) else Fraction(1)
