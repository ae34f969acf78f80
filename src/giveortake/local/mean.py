"""The mean of bounded numbers, each randomised by its owner."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final, get_args

import numpy as np

from giveortake.answers import Estimate
from giveortake.codec import stored
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.exact import Number, open_probability, positive, rational, whole
from giveortake.local.survey import (
    USUAL,
    Interval,
    Oracle,
    checked_interval,
    interval_of,
    is_one,
    least_number,
    quantile,
    survey_epsilon,
    survey_name,
    whole_numbers,
)
from giveortake.mechanisms.histogram import elements
from giveortake.mechanisms.mechanism import source
from giveortake.randomness import bernoulli, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from giveortake.randomness import Entropy

Method: TypeAlias = Literal["stochastic-rounding", "piecewise"]

_FINE = 128  # reports of the piecewise method are 0 … 128
_GRID = 40  # bits: a number is put on a grid of 2^-40 of the range before anything else


@stored("mean")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class Mean(Oracle):
    """Round your number at random to one of a few levels, then report near the level with r times the probability.

    Guarantee [DJW18, WXYX19]: a report j has weight r if it is within `reach` of level + reach, else weight 1, out of
    `outcomes` reports; so whatever two numbers are, the ratio is at most r ≤ e^ε, and rounding before is part of the
    input. With two outcomes this is stochastic rounding followed by randomized response; with more, the piecewise
    mechanism on whole numbers, better from ε ≈ 1.3 on. Unless `method` says which, the one with the smaller worst
    variance is taken. Numbers outside the bounds count as the nearer bound.

    >>> Mean((0, 100), epsilon=1).method, Mean((0, 100), epsilon=4).method
    ('stochastic-rounding', 'piecewise')
    """

    bounds: tuple[Fraction, Fraction]
    epsilon: Fraction
    method: Method
    outcomes: int = field(init=False)
    reach: int = field(init=False)
    name: str = ""

    citation: ClassVar[str] = (
        "Duchi, Jordan, Wainwright: Minimax optimal procedures, JASA 2018; Wang et al.: Collecting and analyzing "
        "multidimensional data with local differential privacy, ICDE 2019"
    )

    def __init__(
        self, bounds: tuple[Number, Number], epsilon: Number, *, method: Method | None = None, name: str = ""
    ) -> None:
        low, high = _checked_bounds(bounds)
        self._set(bounds=(low, high), name=survey_name(name), epsilon=survey_epsilon(epsilon))
        if method is not None and method not in get_args(Method):
            raise InvalidParameter("method", method, "is unknown", hint=f"write one of {', '.join(get_args(Method))}")
        reach = _best_reach(self.ratio)
        if method is None:
            worst = [_worst_variance(self.ratio, *shape) for shape in ((2, 0), (_FINE + 1, reach))]
            method = "stochastic-rounding" if worst[0] <= worst[1] else "piecewise"
        outcomes, reach = (2, 0) if method == "stochastic-rounding" else (_FINE + 1, reach)
        self._set(method=method, outcomes=outcomes, reach=reach)

    @property
    def levels(self) -> int:
        """The greatest level; the least one is 0."""
        return self.outcomes - 1 - 2 * self.reach

    def code(self, value: Any) -> int:
        return int(self._steps([value])[0])

    def is_code(self, code: object) -> bool:
        return type(code) is int and 0 <= code <= 1 << _GRID

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        level, remainder = divmod(int(self._steps([value])[0]) * self.levels, 1 << _GRID)
        up = Fraction(remainder, 1 << _GRID)
        below, above = (self._law_of_level(min(self.levels, one)) for one in (level, level + 1))
        return {j: (1 - up) * below[j] + up * above[j] for j in range(self.outcomes)}

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        coins = source(entropy)
        scaled = self._steps([values] if is_one(values) else values) * self.levels
        level, remainder = scaled >> _GRID, scaled & ((1 << _GRID) - 1)
        level += uniform_integers(1 << _GRID, scaled.size, coins) < remainder
        width = 2 * self.reach + 1
        # Weight r on the window and 1 elsewhere: weight r − 1 on the window, and 1 everywhere.
        near = bernoulli((self.ratio - 1) * width * self._unit, scaled.size, coins)
        reports = uniform_integers(self.outcomes, scaled.size, coins)
        reports[near] = level[near] + uniform_integers(width, int(near.sum()), coins)
        return int(reports[0]) if is_one(values) else self._reports(reports)

    def estimate(
        self,
        reports: Any,
        confidence: Number = USUAL,
        *,
        interval: Interval = "guaranteed",
        consistent: Literal["clip"] | None = None,
    ) -> Estimate:
        """The mean of the respondents' numbers, unbiased, with an interval.

        "guaranteed" holds for every number of respondents: [ZS13] for two outcomes, the empirical Bernstein bound
        [MP09] for more; "normal" in the limit. Unbiased, the mean may lie beyond the bounds, unless `consistent="clip"`
        asks for the nearer bound; that costs no privacy.
        """
        if consistent not in {None, "clip"}:
            raise InvalidParameter("consistent", consistent, "is unknown for a mean", hint='write "clip"')
        data = self._data(reports)
        if self.outcomes == 2:
            low, high = interval_of([int(data.sum())], data.size, confidence, interval)
            ends = float(low[0]), float(high[0])
        else:
            reach = self._reach_of_mean(float(data.var()), data.size, confidence, checked_interval(interval))
            ends = float(data.mean()) - reach, float(data.mean()) + reach
        value, below, above = (self._number(mean) for mean in (float(data.mean()), *ends))
        if consistent is not None:
            low_end, high_end = map(float, self.bounds)
            value, below, above = (min(max(number, low_end), high_end) for number in (value, below, above))
        provenance = self._provenance(reports, confidence, data.size, interval=interval, consistent=consistent or "no")
        return Estimate(value, below, above, name="mean", **provenance)

    def variance(self, n: int, frequency: Number) -> Fraction:
        """The variance of the estimate if everybody has the same number `frequency`, which lies within the bounds."""
        law = self.law(frequency)
        mean = sum((j * law[j] for j in range(self.outcomes)), Fraction(0))
        square = sum((j * j * law[j] for j in range(self.outcomes)), Fraction(0))
        width = self.bounds[1] - self.bounds[0]
        return (square - mean**2) * (width * self._slope) ** 2 / whole("n", n)

    def sample_size(self, margin: Number, confidence: Number = USUAL) -> int:
        """The least number of respondents whose guaranteed interval is at most ± margin, whatever their numbers are."""
        target = float(positive("margin", margin))
        width = float((self.bounds[1] - self.bounds[0]) * self._slope)
        spread = float(_worst_spread(self.ratio, self.outcomes, self.reach))

        def reaches(n: int) -> bool:
            if self.outcomes > 2:
                return self._reach_of_mean(spread, n, confidence, "guaranteed") * width <= target
            low, high = interval_of([n // 2], n, confidence, "guaranteed")
            return max(float(high[0]) - n // 2 / n, n // 2 / n - float(low[0])) * width <= target

        return max(2, least_number(reaches, 2, margin))

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        return whole_numbers(listed, self.outcomes)

    @property
    def _unit(self) -> Fraction:
        return _unit(self.ratio, self.outcomes, self.reach)

    @property
    def _slope(self) -> Fraction:
        """How far the mean of the range [0, 1] moves for one step of the mean report."""
        return 1 / (self._unit * (self.ratio - 1) * (2 * self.reach + 1) * self.levels)

    def _law_of_level(self, level: int) -> list[Fraction]:
        unit, window = _unit(self.ratio, self.outcomes, self.reach), range(level, level + 2 * self.reach + 1)
        return [unit * (self.ratio if j in window else 1) for j in range(self.outcomes)]

    def _number(self, mean_report: float) -> float:
        least = self._unit * (
            Fraction(self.outcomes * (self.outcomes - 1), 2) + (self.ratio - 1) * (2 * self.reach + 1) * self.reach
        )
        share = (Fraction(mean_report) - least) * self._slope
        return float(self.bounds[0] + share * (self.bounds[1] - self.bounds[0]))

    def _reach_of_mean(self, spread: float, n: int, confidence: Number, interval: Interval) -> float:
        if interval == "normal":
            return quantile(confidence) * math.sqrt(spread / n)
        if n < 2:
            return float(self.outcomes)
        surely = math.log(4 / float(1 - open_probability("confidence", confidence)))
        corrected = spread * n / (n - 1)
        return math.sqrt(2 * corrected * surely / n) + 7 * (self.outcomes - 1) * surely / (3 * (n - 1))

    def _steps(self, values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers on the grid, 0 … 2^40, the ends being the bounds."""
        try:
            whole_column = isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and values.ndim == 1
            listed = values if whole_column else [float(value) for value in elements(values)]
            numbers = np.array(listed, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter("answer", HIDDEN, "is not a number") from None
        if np.isnan(numbers).any():
            raise InvalidParameter("answer", HIDDEN, "is not a number")
        low, high = map(float, self.bounds)
        share = (np.clip(numbers, low, high) - low) / (high - low)
        return np.rint(np.clip(share, 0, 1) * 2.0**_GRID).astype(np.int64)


def _checked_bounds(bounds: tuple[Number, Number]) -> tuple[Fraction, Fraction]:
    if not hasattr(bounds, "__len__") or len(bounds) != 2:
        raise InvalidParameter("bounds", bounds, "is not a pair of numbers", hint="write bounds=(0, 100)")
    low, high = (rational("bounds", end) for end in bounds)
    if low >= high or abs(low) > 10**15 or abs(high) > 10**15:
        raise InvalidParameter("bounds", bounds, "are not a lower and a greater number of at most 10^15")
    if float(low) == float(high):
        raise InvalidParameter("bounds", bounds, "are the same number in double precision")
    return low, high


def _unit(ratio: Fraction, outcomes: int, reach: int) -> Fraction:
    return 1 / ((2 * reach + 1) * (ratio - 1) + outcomes)


def _spread(ratio: Fraction, outcomes: int, reach: int, levels: tuple[int, int]) -> Fraction:
    """The variance of a report at one of two levels, either of them with probability ½."""
    unit = _unit(ratio, outcomes, reach)
    windows = [range(level, level + 2 * reach + 1) for level in levels]

    def mean(statistic: Callable[[int], int]) -> Fraction:
        """Weight 1 everywhere, and r − 1 more in either window: whole numbers are summed, fractions once."""
        everywhere = sum(statistic(j) for j in range(outcomes))
        inside = sum(statistic(j) for window in windows for j in window)
        return unit * (everywhere + (ratio - 1) * Fraction(inside, 2))

    return mean(lambda j: j * j) - mean(lambda j: j) ** 2


def _worst_spread(ratio: Fraction, outcomes: int, reach: int) -> Fraction:
    """The greatest variance of a report: when half of the respondents are at either bound."""
    return _spread(ratio, outcomes, reach, (0, outcomes - 1 - 2 * reach))


def _worst_variance(ratio: Fraction, outcomes: int, reach: int) -> Fraction:
    """The greatest variance that coins give the estimate of one number in [0, 1]: at a bound or in the middle."""
    unit, levels = _unit(ratio, outcomes, reach), outcomes - 1 - 2 * reach
    middle = (levels // 2, min(levels, levels // 2 + 1))
    worst = max(_spread(ratio, outcomes, reach, pair) for pair in ((0, 0), middle))
    return worst / (unit * (ratio - 1) * (2 * reach + 1) * levels) ** 2


@lru_cache(maxsize=64)
def _best_reach(ratio: Fraction) -> int:
    return min(range(_FINE // 2), key=lambda reach: _worst_variance(ratio, _FINE + 1, reach))
