"""Formulas: how columns of an answer follow from noisy measures, with intervals that hold with the stated confidence.

A formula is linear in the measures, a quotient of two such, a quantile of bins, or a function of formulas. For the
first two the distribution of the noise is known, and the intervals use it; for the rest the confidence is shared out.

Covariance, correlation and the line of least squares follow from noisy moments of pairs of bounded values.
With u = x − c and v = y − d around the middles of the bounds, over the pairs in which nothing is missing:
cov = E[uv] − E[u]·E[v], var = E[u²] − E[u]², corr = cov / √(var x · var y), slope = cov / var x,
intercept = E[y] − slope·E[x].

Guarantee: each moment is a quotient with an interval of its own, at its share of the probability to miss, so that all
hold together (union bound). Where they do, every one of these functions lies between its extremes over the intervals,
which interval arithmetic contains. By Cauchy and Schwarz |cov| ≤ √(var x · var y), a correlation lies between −1 and 1,
and variances and covariances of bounded values have bounds, to which all of them are cut.

Guarantee of functions of answers, whose intervals are computed from those of the arguments: each part's interval gets
its share of the probability to miss, so all of them hold together (union bound). Where they hold, so does the interval
of the value: a function that never falls takes both ends along, one that falls and rises takes its extremes between
them. COALESCE also asks, at a share of its own, whether the first argument may be missing in truth; if it may, the
interval holds the other one too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.intervals import Acceptance, noise_of, truncated_interval
from giveortake.errors import QueryRefused
from giveortake.mechanisms import additive as tails
from giveortake.mechanisms.mechanism import BoundedIntegers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.compile.intervals import RunningTotals
    from giveortake.compile.measures import Combined, Measure, RowRange
    from giveortake.compile.windows import AnswerRows


Floats: TypeAlias = "npt.NDArray[np.float64]"

_INT64 = 1 << 62
_OF_DIVISOR = 1 / 8  # of the probability to miss, for the least divisor of a quotient over all rows
_GREATEST = 2**400  # constant in an answer: doubles hold it times any noisy sum


@dataclass(frozen=True, slots=True)
class _Formula(ABC):
    """How a column of an answer is computed from the measures."""

    @abstractmethod
    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        """The values for `size` keys, and intervals that miss with probability at most `miss` each.

        Guarantee: an interval of a linear formula has its probability from the exact distribution of the noise,
        rounding included. For one of a quotient see `giveortake.compile.intervals`. Functions of several intervals hold
        together by the union bound.
        """

    def margin(self, measures: Mapping[int, Combined], miss: float, number: float | None) -> float | None:
        """Half the width of the interval; None if it depends on rows. `number` is the number of values, if known."""
        return None

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str | None:
        """The margin in words, if it depends on rows."""
        return None

    def reach_of_truncation(self, measures: Mapping[int, Combined], number: float | None) -> float | str:
        """How much farther than noise the rows that contribution bounds leave out may move the number, about.

        It is in words if it depends on rows. `number` is the number of values, if known.
        """
        return "farther by truncation, as the data say"

    def bound(self, rows: AnswerRows) -> Formula:
        """The formula with the rows of the answer; most formulas need only their own row, and stay as they are."""
        return self

    def of_row(self, measures: Sequence[Measure]) -> tuple[float, float]:
        """About the least and the most that a row may move the number; for their signs."""
        return -1.0, 1.0

    @property
    def counts(self) -> bool:
        """Whether the formula is a count."""
        return False

    @property
    def leaves(self) -> int:
        """The number of intervals that share the confidence."""
        return 1

    @property
    def has_interval(self) -> bool:
        """Whether its values have valid intervals; a place in the noisy order, for example, has none."""
        return True


@final
@dataclass(frozen=True, slots=True)
class Linear(_Formula):
    """The sum Σ weight · measure + constant; `whole` says that it is a count."""

    weights: Mapping[int, Fraction]
    constant: Fraction
    whole: bool = False

    def __post_init__(self) -> None:
        if any(abs(number) > _GREATEST for number in (*self.weights.values(), self.constant)):
            raise QueryRefused("an answer is multiplied by a number, or moved by one, that is beyond 2^400")

    def plus(self, other: Linear) -> Linear:
        """The sum of two linear formulas."""
        weights = dict(self.weights)
        for index, weight in other.weights.items():
            weights[index] = weights.get(index, Fraction(0)) + weight
        nonzero_weights = {index: weight for index, weight in weights.items() if weight}
        return Linear(nonzero_weights, self.constant + other.constant, self.whole and other.whole)

    def times(self, factor: Fraction) -> Linear:
        """The formula times a factor."""
        weights = {index: weight * factor for index, weight in self.weights.items() if weight * factor}
        return Linear(weights, self.constant * factor, self.whole and factor.denominator == 1)

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        return _widened(_linear(self, measures, miss, size), *truncation(self, measures), whole=self.whole)

    def of_row(self, measures: Sequence[Measure]) -> tuple[float, float]:
        least, most = _row_range([(weight, measures[index].of_row) for index, weight in self.weights.items()])
        return float(least), float(most)

    def reach_of_truncation(self, measures: Mapping[int, Combined], number: float | None) -> float:
        below, above = truncation(self, measures)
        return max(-math.floor(below), math.ceil(above)) if self.whole else max(-below, above)

    def margin(self, measures: Mapping[int, Combined], miss: float, number: float | None) -> float:
        half = margin(self, measures, miss)
        split = any(measures[index].whole_values is None for index in self.weights)
        return math.floor(half + 1.5) if self.whole and split else half  # both ends are rounded outwards

    @property
    def counts(self) -> bool:
        return self.whole


@final
@dataclass(frozen=True, slots=True)
class Ratio(_Formula):
    """The quotient over / under, which lies between `low` and `high` if given; `slack` is what rounding may add."""

    over: Linear
    under: Linear
    low: Fraction | None
    high: Fraction | None
    slack: Fraction

    def times(self, factor: Fraction) -> Ratio:
        """The formula times a factor."""
        ends = [None if end is None else end * factor for end in (self.low, self.high)]
        low, high = ends if factor >= 0 else reversed(ends)
        over, slack = self.over.times(factor), self.slack * abs(factor)
        return replace(self, over=over, low=low, high=high, slack=slack)

    def shifted(self, constant: Fraction) -> Ratio:
        """The quotient plus a constant."""
        low = None if self.low is None else self.low + constant
        high = None if self.high is None else self.high + constant
        return replace(self, over=self.over.plus(self.under.times(constant)), low=low, high=high)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest quotient there may be."""
        return -math.inf if self.low is None else float(self.low), math.inf if self.high is None else float(self.high)

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        indices = sorted({*self.over.weights, *self.under.weights})
        if all(measures[index].truncated is None for index in indices):
            return self._of_counted_rows(measures, miss, size)
        return self._of_all_rows(self._of_counted_rows(measures, miss * (1 - _OF_DIVISOR), size), measures, miss, size)

    def _of_counted_rows(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        indices = sorted({*self.over.weights, *self.under.weights})
        decided = _deciding(indices, measures)
        if decided is not None:
            return _ratio_with_decided(self, decided, measures, miss, size)
        low, high = self.bounds
        over, under = (_plain(linear, measures, size) for linear in (self.over, self.under))
        parts = [(measures[index], _weight(self.over, index), _weight(self.under, index)) for index in indices]
        value, *ends = Acceptance(over, under, parts, miss).interval(low, high, float(self.slack))
        return Evaluated(value, *ends)

    def _of_all_rows(self, estimates: Evaluated, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        """The intervals of the quotient over all rows, from that over the rows that count.

        Guarantee: let the rows that count have the quotient m and the divisor N, and those left out o and n, n at most
        the limit U. As every row by itself has a quotient between `low` and `high`, o lies between low·n and high·n,
        and (N·m + o) / (N + n) is farthest from m at n = U and the least N there may be. The intervals of m and N hold
        together (union bound). Without such bounds, those of both parts over all rows are divided.
        """
        if self.low is None or self.high is None:
            ends = (floats(part.evaluate(measures, miss / 2, size)) for part in (self.over, self.under))
            whole = _over(*ends)
            return Evaluated(
                estimates.values, np.fmin(whole.low, estimates.values), np.fmax(whole.high, estimates.values)
            )
        rows = truncation(self.under, measures)[1]
        least = np.asarray(_linear(self.under, measures, miss * _OF_DIVISOR, size).low, dtype=np.float64)
        part = rows / (np.maximum(least, 0.0) + rows) if rows else np.zeros(size)
        return Evaluated(
            estimates.values,
            estimates.low + part * (float(self.low) - estimates.low),
            estimates.high + part * (float(self.high) - estimates.high),
        )

    def margin(self, measures: Mapping[int, Combined], miss: float, number: float | None) -> float | None:
        return None if number is None else self._margin(measures, miss, number)

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str:
        return f"{self._margin(measures, miss, 1.0):.4g} / n"

    def reach_of_truncation(self, measures: Mapping[int, Combined], number: float | None) -> float | str:
        rows = truncation(self.under, measures)[1]
        if self.low is None or self.high is None:
            return _Formula.reach_of_truncation(self, measures, number)
        widest = rows * float(self.high - self.low)
        return f"{widest:,.4g} / n" if number is None else widest / (number + rows)

    def _margin(self, measures: Mapping[int, Combined], miss: float, number: float) -> float:
        """About half the width of the interval if `under` were equal to `number`."""
        if any(measures[index].truncated is not None for index in (*self.over.weights, *self.under.weights)):
            miss *= 1 - _OF_DIVISOR
        ends = [end for end in (self.low, self.high) if end is not None] or [Fraction(0), Fraction(1)]
        widest = max(margin(self.over.plus(self.under.times(-end)), measures, miss) for end in ends)
        return widest / number + float(self.slack)


@final
@dataclass(frozen=True, slots=True)
class QuantileOf(_Formula):
    """A quantile of the values in bins."""

    measure: int
    quantile: Fraction
    whole: bool

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        low, value, high = self._distribution(measures).band(self.quantile, miss)
        return Evaluated(*(_integers(np.rint(array)) if self.whole else array for array in (value, low, high)))

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str:
        return f"the values up to {self._distribution(measures).rank_margin(self.quantile, miss):,.4g} ranks away"

    def reach_of_truncation(self, measures: Mapping[int, Combined], number: float | None) -> str:
        rows = max(self.quantile, 1 - self.quantile) * Fraction(self._distribution(measures).truncated_rows)
        return f"the values up to {float(rows):,.4g} ranks farther"

    def _distribution(self, measures: Mapping[int, Combined]) -> RunningTotals:
        distribution = measures[self.measure].distribution
        assert distribution is not None  # noqa: S101 (bins have one)
        return distribution


@final
@dataclass(frozen=True, slots=True)
class Apply(_Formula):
    """A function of formulas: arithmetic, a square root, or the spread a − b² of two moments."""

    function: str
    parts: tuple[Formula, ...]

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        parts = [part.evaluate(measures, miss / self.leaves, size) for part in self.parts]
        return _FUNCTIONS[self.function](*map(floats, parts))

    def bound(self, rows: AnswerRows) -> Formula:
        return replace(self, parts=tuple(part.bound(rows) for part in self.parts))

    @property
    def leaves(self) -> int:
        return sum(part.leaves for part in self.parts)

    @property
    def has_interval(self) -> bool:
        return all(part.has_interval for part in self.parts)


Formula: TypeAlias = _Formula


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """Values and the ends of their intervals, one for each key."""

    values: npt.NDArray[Any]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]


def truncation(formula: Linear, measures: Mapping[int, Combined]) -> tuple[float, float]:
    """How far rows that contribution bounds leave out may move a linear formula below and above what counts.

    Guarantee: bounds multiply what a person adds to a group by one factor, or leave rows out, so that the rest is that
    of rows that add up to no more than the limit; any of them may be in this group, or in another.
    """
    limits = [measures[index].truncated for index in formula.weights]
    known = [(weight, limit) for weight, limit in zip(formula.weights.values(), limits, strict=True) if limit]
    if not known:
        return 0.0, 0.0
    least, most = _row_range([(weight, limit.of_row) for weight, limit in known])
    rows = known[0][1].rows
    return rows * float(least), rows * float(most)


def _row_range(rows: Iterable[tuple[Fraction, RowRange]]) -> tuple[Fraction, Fraction]:
    """The least and the most that one row may add to a linear formula; it may also add nothing."""
    totals: dict[object, list[Fraction]] = {}
    for weight, row in rows:
        total = totals.setdefault(row.source, [Fraction(0)] * 3)
        for index, amount in enumerate((row.without, row.low, row.high)):
            total[index] += weight * amount
    least, most = (sum(map(pick, totals.values()), Fraction(0)) for pick in (min, max))
    return min(least, Fraction(0)), max(most, Fraction(0))


def _widened(estimates: Evaluated, below: float, above: float, *, whole: bool) -> Evaluated:
    if not below and not above:
        return estimates
    steps = (math.floor(below), math.ceil(above)) if whole else (below, above)
    return Evaluated(estimates.values, estimates.low + steps[0], estimates.high + steps[1])


def margin(formula: Linear, measures: Mapping[int, Combined], miss: float) -> float:
    """Half the width of the interval of a linear formula; it does not depend on rows."""
    if not formula.weights:
        return 0.0
    strays, slack = noise_of(formula, measures)
    return tails.quantile(strays, miss) + slack


def _linear(formula: Linear, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
    """The interval of a linear formula. A number that decided has a law of its own, and an interval of its own.

    With other measures beside it, both intervals get half of the probability to miss (union bound).
    """
    index = _deciding(formula.weights, measures)
    if index is None:
        return _undecided(formula, measures, miss, size)
    weight, rest = formula.weights[index], _without(formula, index)
    if not rest.weights and weight == 1 and rest.constant == 0:
        return _decided(index, measures, miss, size)
    share = miss / 2 if rest.weights else miss
    count = floats(_decided(index, measures, share, size))
    other = floats(_undecided(replace(rest, whole=False), measures, share, size))
    factor = float(weight)
    ends = [count.low * factor, count.high * factor][:: 1 if weight > 0 else -1]
    total = Evaluated(count.values * factor + other.values, ends[0] + other.low, ends[1] + other.high)
    if not formula.whole:
        return total
    low, high = np.floor(total.low), np.ceil(total.high)
    return Evaluated(_integers(np.rint(total.values)), _integers(low), _integers(high))


def _deciding(indices: Iterable[int], measures: Mapping[int, Combined]) -> int | None:
    """The index of the measure whose number decided which keys are shown; there is one at most."""
    return next((index for index in indices if measures[index].decided is not None), None)


def _without(formula: Linear, index: int) -> Linear:
    """The formula without a measure."""
    return replace(formula, weights={other: weight for other, weight in formula.weights.items() if other != index})


def _ratio_with_decided(
    ratio: Ratio, index: int, measures: Mapping[int, Combined], miss: float, size: int
) -> Evaluated:
    """A quotient in which a number takes part that decided.

    Guarantee: where that number is the divisor, n times a factor, over / under is a constant and what is left of
    `over`, divided by it: as far from the middle of the bounds as values are, if these are centred. Both intervals get
    half of the probability to miss, so that they hold together (union bound), and so does their quotient.
    """
    factor = ratio.under.weights.get(index)
    if factor is not None and len(ratio.under.weights) == 1 and ratio.under.constant == 0:
        shift = ratio.over.weights.get(index, Fraction(0)) / factor
        over = _without(ratio.over, index)
    else:
        shift, over = Fraction(0), ratio.over
    parts = [floats(_linear(replace(part, whole=False), measures, miss / 2, size)) for part in (over, ratio.under)]
    quotient = _plus(_over(*parts), Evaluated(*(np.full(size, float(shift)) for _ in range(3))))
    slack = float(ratio.slack)
    ends = np.clip(quotient.low - slack, *ratio.bounds), np.clip(quotient.high + slack, *ratio.bounds)
    return Evaluated(np.clip(quotient.values, *ends), *ends)


def _decided(index: int, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
    """The interval of a number that was shown because it was large, intersected with that of later releases.

    Each of the two misses with probability miss / 2 at most, given that the number was shown, so that both hold
    together. If they do not intersect, one of them has missed: then the one with less noise is taken.
    """
    combined = measures[index]
    assert combined.decided is not None  # noqa: S101 (asked only then)
    if combined.decided.alone:
        low, high = truncated_interval(combined.decided, miss)
        return Evaluated(np.clip(combined.decided.numbers, low, high), low, high)
    low, high = truncated_interval(combined.decided, miss / 2)
    later = _undecided(Linear({index: Fraction(1)}, Fraction(0), whole=True), measures, miss / 2, size)
    lows, highs = np.maximum(low, later.low), np.minimum(high, later.high)
    noises = combined.decided.tail.variance, sum(tail.variance for tail in combined.tails)
    share = noises[1] / (noises[0] + noises[1])
    surer = (low, high) if share > 0.5 else (later.low, later.high)
    apart = lows > highs
    lows, highs = np.where(apart, surer[0], lows), np.where(apart, surer[1], highs)
    average = np.rint(combined.decided.numbers * share + np.asarray(later.values, dtype=np.float64) * (1 - share))
    return Evaluated(np.clip(_integers(average), lows, highs), lows, highs)


def _undecided(formula: Linear, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
    if formula.whole and len(formula.weights) == 1 and formula.constant == 0:
        ((index, weight),) = formula.weights.items()
        exact = measures[index].whole_values
        if weight == 1 and exact is not None:
            half = measures[index].whole_margin(miss)
            if BoundedIntegers.public(exact).bound + half >= _INT64:
                exact = exact.astype(object)
            return Evaluated(exact, exact - half, exact + half)
    values = _plain(formula, measures, size)
    half_width = margin(formula, measures, miss)
    if formula.whole:
        low, high = np.floor(values - half_width), np.ceil(values + half_width)
        return Evaluated(_integers(np.rint(values)), _integers(low), _integers(high))
    return Evaluated(values, values - half_width, values + half_width)


def _integers(values: Floats) -> npt.NDArray[Any]:
    if (np.abs(values) < 2.0**62).all():
        return values.astype(np.int64)
    return np.array([int(value) for value in values], dtype=object)


def _plain(formula: Linear, measures: Mapping[int, Combined], size: int) -> Floats:
    values = np.full(size, float(formula.constant))
    for index, weight in formula.weights.items():
        values = values + measures[index].values * float(weight)
    return values


def _weight(formula: Linear, index: int) -> float:
    return float(formula.weights.get(index, Fraction(0)))


def _root(a: Evaluated) -> Evaluated:
    return Evaluated(*(np.sqrt(np.maximum(array, 0.0)) for array in (a.values, a.low, a.high)))


def _spread(a: Evaluated, b: Evaluated) -> Evaluated:
    """A − b², which is not negative."""
    squares = _times(b, b)
    least = np.where((b.low <= 0) & (b.high >= 0), 0.0, squares.low)
    value = np.maximum(a.values - b.values**2, 0.0)
    low, high = np.maximum(a.low - squares.high, 0.0), np.maximum(a.high - least, 0.0)
    return Evaluated(value, np.minimum(low, value), np.maximum(high, value))


def _of_sample(variance: Evaluated, n: Evaluated) -> Evaluated:
    """Variance · n / (n − 1); where n may be one, the upper end is infinite, and the value may be missing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        least, value, most = (np.where(x > 1, x / (x - 1), np.nan) for x in (n.high, n.values, n.low))
        high = np.where(n.low > 1, variance.high * most, np.inf)
        return Evaluated(variance.values * value, np.where(n.high > 1, variance.low * least, 0.0), high)


def _plus(a: Evaluated, b: Evaluated) -> Evaluated:
    return Evaluated(a.values + b.values, a.low + b.low, a.high + b.high)


def _minus(a: Evaluated, b: Evaluated) -> Evaluated:
    return Evaluated(a.values - b.values, a.low - b.high, a.high - b.low)


def floats(part: Evaluated) -> Evaluated:
    """Values and ends as floats."""
    return Evaluated(*(np.asarray(array, dtype=np.float64) for array in (part.values, part.low, part.high)))


def _times(a: Evaluated, b: Evaluated) -> Evaluated:
    with np.errstate(invalid="ignore"):
        corners = np.array([x * y for x in (a.low, a.high) for y in (b.low, b.high)])
        low = np.where(np.isnan(corners), np.inf, corners).min(axis=0)
        high = np.where(np.isnan(corners), -np.inf, corners).max(axis=0)
    crossed = low > high  # zero times an unbounded interval
    return Evaluated(a.values * b.values, np.where(crossed, -np.inf, low), np.where(crossed, np.inf, high))


def _over(a: Evaluated, b: Evaluated) -> Evaluated:
    """The quotient, unbounded where the divisor may be zero."""
    apart = (b.low > 0) | (b.high < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        low_end, high_end = np.where(apart, 1 / b.high, -np.inf), np.where(apart, 1 / b.low, np.inf)
        inverse = Evaluated(np.where(b.values != 0, 1 / b.values, np.nan), low_end, high_end)
    return _times(a, inverse)


_FUNCTIONS: dict[str, Callable[..., Evaluated]] = {
    "sqrt": _root,
    "spread": _spread,
    "of a sample": _of_sample,
    "add": _plus,
    "subtract": _minus,
    "multiply": _times,
    "divide": _over,
}


@final
@dataclass(frozen=True, slots=True)
class Moments(Formula):
    """A function of the moments of pairs (u, v): means, means of products, and how many pairs there are.

    Parts that a function does not need are absent, so that they take no share of the confidence.
    """

    function: str
    u: Ratio
    v: Ratio
    uv: Ratio
    uu: Ratio | None = None
    vv: Ratio | None = None
    number: Linear | None = None
    middles: tuple[float, float] = (0.0, 0.0)
    reach: float = np.inf  # the greatest possible covariance of values within these bounds

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        share = miss / self.leaves
        moments = {
            name: floats(part.evaluate(measures, share, size))
            for name, part in (("u", self.u), ("v", self.v), ("uv", self.uv), ("uu", self.uu), ("vv", self.vv))
            if part is not None
        }
        number = None if self.number is None else floats(self.number.evaluate(measures, share, size))
        covariance = _cut(_minus(moments["uv"], _times(moments["u"], moments["v"])), self.reach)
        match self.function:
            case "covariance":
                return covariance
            case "sample covariance":
                assert number is not None  # noqa: S101 (given for it)
                return _times(covariance, _bessel(number))
            case "correlation":
                return _correlation(
                    covariance, _spread(moments["uu"], moments["u"]), _spread(moments["vv"], moments["v"])
                )
        slope = _over(covariance, _spread(moments["uu"], moments["u"]))
        if self.function == "slope":
            return slope
        x, y = self.middles
        of_x, of_y = _shifted(moments["u"], x), _shifted(moments["v"], y)
        return _minus(of_y, _times(slope, of_x))

    @property
    def leaves(self) -> int:
        return 3 + sum(part is not None for part in (self.uu, self.vv, self.number))


def _cut(a: Evaluated, reach: float) -> Evaluated:
    return Evaluated(*(np.clip(array, -reach, reach) for array in (a.values, a.low, a.high)))


def _shifted(a: Evaluated, by: float) -> Evaluated:
    return Evaluated(a.values + by, a.low + by, a.high + by)


def _correlation(covariance: Evaluated, of_x: Evaluated, of_y: Evaluated) -> Evaluated:
    root: Callable[[Floats], Floats] = np.sqrt
    both = Evaluated(root(of_x.values * of_y.values), root(of_x.low * of_y.low), root(of_x.high * of_y.high))
    return _cut(_over(covariance, both), 1.0)


def _bessel(number: Evaluated) -> Evaluated:
    """The factor n / (n − 1), which falls in n; unbounded where n may be one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(number.values > 1, number.values / (number.values - 1), np.nan)
        low = np.where(number.high > 1, number.high / (number.high - 1), 1.0)
        high = np.where(number.low > 1, number.low / (number.low - 1), np.inf)
    return Evaluated(value, low, high)


_WIDENING = {"round", "to_integer"}  # ends are rounded outwards
_KEEPING = {"greatest", "least", "abs"}  # these move no farther than their arguments
_LARGEST = 2.0**62


@dataclass(frozen=True, slots=True)
class OverRows(Formula):
    """A formula that is computed from several rows of the answer."""

    @abstractmethod
    def could_be_missing(self, measures: Mapping[int, Combined], miss: float, size: int) -> npt.NDArray[np.bool_]:
        """For each key, whether the true value may be missing; wrongly denied with probability at most `miss`."""


@final
@dataclass(frozen=True, slots=True)
class FunctionOf(Formula):
    """A function of formulas; `constant` is the digits of ROUND, or the exponent of POWER."""

    function: str
    parts: tuple[Formula, ...]
    constant: Fraction = Fraction(0)

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        share = miss / self.leaves
        parts = [part.evaluate(measures, share * _leaves(part), size) for part in self.parts]
        numbers = [floats(part) for part in parts]
        if self.function == "coalesce":
            doubts = [could_be_missing(part, measures, share * _leaves(part), size) for part in self.parts[:-1]]
            estimates = _coalesce(numbers, doubts)
        elif self.function in _WITH_CONSTANT:
            estimates = _WITH_CONSTANT[self.function](numbers[0], self.constant)
        else:
            estimates = _COMPUTED_FUNCTIONS[self.function](*numbers)
        return whole(estimates) if self.is_whole else estimates

    def margin(self, measures: Mapping[int, Combined], miss: float, number: float | None) -> float | None:
        if self.function not in _WIDENING | _KEEPING:
            return None
        share = miss / self.leaves
        margins = [part.margin(measures, share * _leaves(part), number) for part in self.parts if _leaves(part)]
        known = [half_width for half_width in margins if half_width is not None]
        if len(known) < len(margins):
            return None
        step = 10.0 ** -int(self.constant) if self.function in _WIDENING else 0.0
        return max(known, default=0.0) + 1.5 * step  # half a step for the value, one for the end

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str | None:
        if not self.has_interval:
            return "no interval"
        return self.parts[0].margin_in_words(measures, miss) if self.function in _WIDENING else None

    def bound(self, rows: AnswerRows) -> Formula:
        return replace(self, parts=tuple(part.bound(rows) for part in self.parts))

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        if self.function in {"to_integer", "sign"}:
            return True
        return self.function in _KEEPING and all(map(_is_whole, self.parts))

    @property
    def has_interval(self) -> bool:
        return all(part.has_interval for part in self.parts)

    @property
    def leaves(self) -> int:
        doubted = self.parts[:-1] if self.function == "coalesce" else ()
        return max(1, sum(map(_leaves, (*self.parts, *doubted))))


def _leaves(part: Formula) -> int:
    """The number of intervals that a part needs: none for a constant."""
    return 0 if isinstance(part, Linear) and not part.weights else part.leaves


def _is_whole(part: Formula) -> bool:
    if isinstance(part, Linear):
        return part.whole or (not part.weights and part.constant.denominator == 1)
    return isinstance(part, FunctionOf) and part.is_whole


def could_be_missing(
    formula: Formula, measures: Mapping[int, Combined], miss: float, size: int
) -> npt.NDArray[np.bool_]:
    """For each key, whether the true value may be missing; wrongly denied with probability at most `miss`.

    Sums and counts never are. A quotient is missing if its divisor is zero; a function, if a part of it is, or if its
    interval is unbounded.
    """
    match formula:
        case Linear():
            return np.zeros(size, dtype=bool)
        case Ratio():
            low = formula.under.evaluate(measures, miss, size).low
            nothing: npt.NDArray[np.bool_] = np.asarray(low, dtype=np.float64) <= 0
            return nothing
        case Apply() | FunctionOf():
            share = miss / (len(formula.parts) + 1)
            ends = floats(formula.evaluate(measures, share, size))
            doubt: npt.NDArray[np.bool_] = ~(np.isfinite(ends.low) & np.isfinite(ends.high))
            for part in formula.parts:
                doubt = doubt | could_be_missing(part, measures, share, size)
            return doubt
        case OverRows():
            return formula.could_be_missing(measures, miss, size)
        case _:
            return np.ones(size, dtype=bool)


def whole(estimates: Evaluated) -> Evaluated:
    """The values and ends as integers, if all of them fit."""
    arrays = (estimates.values, estimates.low, estimates.high)
    if all(bool((np.abs(array) < _LARGEST).all()) for array in arrays):
        return Evaluated(*(array.astype(np.int64) for array in arrays))
    return estimates


def _coalesce(parts: list[Evaluated], doubts: list[npt.NDArray[np.bool_]]) -> Evaluated:
    estimates = parts[-1]
    for part, doubt in zip(reversed(parts[:-1]), reversed(doubts), strict=True):
        missing = np.isnan(part.values)
        open_low, open_high = (
            np.where(np.isnan(part.low), -np.inf, part.low),
            np.where(np.isnan(part.high), np.inf, part.high),
        )
        either = doubt | missing
        low = np.where(either, np.minimum(open_low, estimates.low), part.low)
        high = np.where(either, np.maximum(open_high, estimates.high), part.high)
        estimates = Evaluated(np.where(missing, estimates.values, part.values), low, high)
    return estimates


def _null_if(a: Evaluated, b: Evaluated) -> Evaluated:
    return Evaluated(np.where(a.values == b.values, np.nan, a.values), a.low, a.high)


def _rising(function: Callable[[Floats], Floats]) -> Callable[[Evaluated], Evaluated]:
    """Apply a function that never falls, wherever it has a value."""

    def applied(a: Evaluated) -> Evaluated:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return Evaluated(*(function(array) for array in (a.values, a.low, a.high)))

    return applied


def _computed_root(a: Evaluated) -> Evaluated:
    """The square root: missing for a negative value; the ends are those of the part that is not negative."""
    with np.errstate(invalid="ignore"):
        return Evaluated(np.sqrt(a.values), np.sqrt(np.maximum(a.low, 0.0)), np.sqrt(np.maximum(a.high, 0.0)))


def _logarithm(a: Evaluated) -> Evaluated:
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(np.where(a.values > 0, a.values, np.nan))
        return Evaluated(value, np.log(np.maximum(a.low, 0.0)), np.log(np.maximum(a.high, 0.0)))


def _absolute(a: Evaluated) -> Evaluated:
    ends = np.abs(a.low), np.abs(a.high)
    inside = (a.low <= 0) & (a.high >= 0)
    return Evaluated(np.abs(a.values), np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))


def _extreme(pick: Any) -> Callable[..., Evaluated]:
    def applied(*parts: Evaluated) -> Evaluated:
        extremes = parts[0]
        for part in parts[1:]:
            extremes = Evaluated(
                pick(extremes.values, part.values), pick(extremes.low, part.low), pick(extremes.high, part.high)
            )
        return extremes

    return applied


def _rounded(a: Evaluated, digits: Fraction) -> Evaluated:
    """Round halves up, and the ends outwards, so that the interval holds the rounded value as well."""
    scale = 10.0 ** int(digits)
    with np.errstate(over="ignore", invalid="ignore"):
        return Evaluated(
            np.floor(a.values * scale + 0.5) / scale, np.floor(a.low * scale) / scale, np.ceil(a.high * scale) / scale
        )


def _power(a: Evaluated, exponent: Fraction) -> Evaluated:
    """A power with a constant exponent; missing where it is not defined."""
    power, whole = float(exponent), exponent.denominator == 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        base = a.values if whole else np.where(a.values >= 0, a.values, np.nan)
        none = np.isnan(base) | ((base == 0) & (exponent < 0))
        value = np.where(none, np.nan, np.power(base, power))
        low, high = (a.low, a.high) if whole else (np.maximum(a.low, 0.0), np.maximum(a.high, 0.0))
        ends = np.power(low, power), np.power(high, power)
        least, greatest = np.minimum(*ends), np.maximum(*ends)
        across = (low <= 0) & (high >= 0)
        if exponent < 0:  # unbounded near zero
            below = -np.inf if whole and exponent % 2 else 0.0
            return Evaluated(value, np.where(across, below, least), np.where(across, np.inf, greatest))
        if whole and exponent % 2 == 0 and exponent:
            least = np.where(across, 0.0, least)
    return Evaluated(value, least, greatest)


_COMPUTED_FUNCTIONS: dict[str, Callable[..., Evaluated]] = {
    "abs": _absolute,
    "sign": _rising(np.sign),
    "floor": _rising(np.floor),
    "ceil": _rising(np.ceil),
    "sqrt": _computed_root,
    "ln": _logarithm,
    "exp": _rising(np.exp),
    "nullif": _null_if,
    "greatest": _extreme(np.maximum),
    "least": _extreme(np.minimum),
}
_WITH_CONSTANT: dict[str, Callable[[Evaluated, Fraction], Evaluated]] = {
    "round": _rounded,
    "to_integer": _rounded,
    "power": _power,
}
