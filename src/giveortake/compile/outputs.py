"""Answers from noisy measures, each with an interval that holds with the stated confidence.

A formula is linear in the measures, a quotient of two such, a quantile of bins, or a function of formulas. For the
first two the law of the noise is known and the intervals use it; for the rest the confidence is shared out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.acceptance import Acceptance
from giveortake.compile.truncation import truncated_interval
from giveortake.errors import QueryRefused
from giveortake.mechanisms import tails
from giveortake.mechanisms.bounded_integers import BoundedIntegers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from giveortake.compile.quantiles import RunningTotals
    from giveortake.compile.releases import Combined
    from giveortake.compile.windows import AnswerRows

Floats: TypeAlias = "npt.NDArray[np.float64]"

_INT64 = 1 << 62
_GREATEST = 2**400  # constant in an answer: doubles hold it times any noisy sum


@dataclass(frozen=True, slots=True)
class _Formula(ABC):
    """How a column of an answer is computed from the measures."""

    @abstractmethod
    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        """The values for `size` keys, and intervals that miss with probability at most `miss` each."""

    def margin(self, measures: Mapping[int, Combined], miss: float, number: float | None) -> float | None:
        """Half the width of the interval; None if it depends on rows. `number` is the number of values, if known."""
        return None

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str | None:
        """The margin in words, if it depends on rows."""
        return None

    def bound(self, rows: AnswerRows) -> Formula:
        """The formula with the rows of the answer; most formulas need only their own row, and stay as they are."""
        return self

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
        if any(abs(each) > _GREATEST for each in (*self.weights.values(), self.constant)):
            raise QueryRefused("an answer is multiplied by a number, or moved by one, that is beyond 2^400")

    def plus(self, other: Linear) -> Linear:
        """The sum of two linear formulas."""
        weights = dict(self.weights)
        for index, weight in other.weights.items():
            weights[index] = weights.get(index, Fraction(0)) + weight
        kept = {index: weight for index, weight in weights.items() if weight}
        return Linear(kept, self.constant + other.constant, self.whole and other.whole)

    def times(self, factor: Fraction) -> Linear:
        """The formula times a factor."""
        weights = {index: weight * factor for index, weight in self.weights.items() if weight * factor}
        return Linear(weights, self.constant * factor, self.whole and factor.denominator == 1)

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        return _linear(self, measures, miss, size)

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

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        over, under = (_plain(each, measures, size) for each in (self.over, self.under))
        low = -math.inf if self.low is None else float(self.low)
        high = math.inf if self.high is None else float(self.high)
        indices = sorted({*self.over.weights, *self.under.weights})
        parts = [(measures[index], _weight(self.over, index), _weight(self.under, index)) for index in indices]
        value, *ends = Acceptance(over, under, parts, miss).interval(low, high, float(self.slack))
        return Evaluated(value, *ends)

    def margin(self, measures: Mapping[int, Combined], miss: float, number: float | None) -> float | None:
        return None if number is None else self._margin(measures, miss, number)

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str:
        return f"{self._margin(measures, miss, 1.0):.4g} / n"

    def _margin(self, measures: Mapping[int, Combined], miss: float, number: float) -> float:
        """About half the width of the interval if `under` were equal to `number`."""
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
        return Evaluated(*(_integers(np.rint(each)) if self.whole else each for each in (value, low, high)))

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str:
        return f"the values up to {self._distribution(measures).rank_margin(self.quantile, miss):,.4g} ranks away"

    def _distribution(self, measures: Mapping[int, Combined]) -> RunningTotals:
        found = measures[self.measure].distribution
        assert found is not None  # noqa: S101 (bins have one)
        return found


@final
@dataclass(frozen=True, slots=True)
class Apply(_Formula):
    """A function of formulas: arithmetic, a square root, or the spread a − b² of two moments."""

    function: str
    parts: tuple[Formula, ...]

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        parts = [part.evaluate(measures, miss / self.leaves, size) for part in self.parts]
        return _FUNCTIONS[self.function](*map(_floats, parts))

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


def evaluated(formula: Formula, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
    """A formula's values for every key, and intervals that miss with probability at most `miss` each.

    Guarantee: an interval of a linear formula has its probability from the exact law of the noise, rounding included.
    For one of a quotient see `giveortake.compile.acceptance`. Functions of several intervals hold together by the union
    bound.
    """
    return formula.evaluate(measures, miss, size)


def margin(formula: Linear, measures: Mapping[int, Combined], miss: float) -> float:
    """Half the width of the interval of a linear formula; it does not depend on rows."""
    if not formula.weights:
        return 0.0
    strays, slack = _strays(formula, measures)
    return tails.quantile(strays, miss) + slack


def _strays(formula: Linear, measures: Mapping[int, Combined]) -> tuple[list[tails.Tail], float]:
    """The noise terms of a linear formula, and how far rounding may move it."""
    found: list[tails.Tail] = []
    slack = 0.0
    for index, weight in formula.weights.items():
        combined = measures[index]
        size = abs(float(weight))
        found += [each.times(size) for each in combined.tails]
        slack += combined.slack * size
    return found, slack


def _linear(formula: Linear, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
    decided = [measures[index] for index in formula.weights if measures[index].decided is not None]
    if decided:  # a deciding measure is never part of another formula
        return _decided(formula, measures, decided[0], miss, size)
    return _undecided(formula, measures, miss, size)


def _decided(
    formula: Linear, measures: Mapping[int, Combined], combined: Combined, miss: float, size: int
) -> Evaluated:
    """The interval of a number that was shown because it was large, intersected with that of later releases.

    Each of the two misses with probability miss / 2 at most, given that the number was shown, so that both hold
    together. If they do not intersect, one of them has missed: then the one with less noise is taken.
    """
    assert combined.decided is not None  # noqa: S101 (asked only then)
    if combined.decided.alone:
        low, high = truncated_interval(combined.decided, miss)
        return Evaluated(np.clip(combined.decided.numbers, low, high), low, high)
    low, high = truncated_interval(combined.decided, miss / 2)
    plain = {**measures, **{index: replace(measures[index], decided=None) for index in formula.weights}}
    later = _undecided(formula, plain, miss / 2, size)
    lows, highs = np.maximum(low, later.low), np.minimum(high, later.high)
    noises = combined.decided.tail.variance, sum(each.variance for each in combined.tails)
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
    values = np.full(size, float(formula.constant))
    for index, weight in formula.weights.items():
        values = values + measures[index].values * float(weight)
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
    return Evaluated(*(np.sqrt(np.maximum(each, 0.0)) for each in (a.values, a.low, a.high)))


def _spread(a: Evaluated, b: Evaluated) -> Evaluated:
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


def _floats(part: Evaluated) -> Evaluated:
    return Evaluated(*(np.asarray(each, dtype=np.float64) for each in (part.values, part.low, part.high)))


def _times(a: Evaluated, b: Evaluated) -> Evaluated:
    with np.errstate(invalid="ignore"):
        corners = np.array([x * y for x in (a.low, a.high) for y in (b.low, b.high)])
        low = np.where(np.isnan(corners), np.inf, corners).min(axis=0)
        high = np.where(np.isnan(corners), -np.inf, corners).max(axis=0)
    crossed = low > high  # zero times an unbounded interval
    return Evaluated(a.values * b.values, np.where(crossed, -np.inf, low), np.where(crossed, np.inf, high))


def _over(a: Evaluated, b: Evaluated) -> Evaluated:
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
