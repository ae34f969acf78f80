"""Surveys of categories: each report supports some of them, supports are counted, and shares are made consistent.

Consistent shares are not negative and add up to one [WLLL20]. Making them so is post-processing of reports, and free.

Theorem [WBLJ17]: let a report support the respondent's own category with probability p* and every other one with
probability q* < p*. Then the number of supports of a category is, over independent respondents of whom a share f has
it, binomial (n, q* + f·(p* − q*)), and (count/n − q*)/(p* − q*) is an unbiased estimate of f.
"""

from __future__ import annotations

from abc import abstractmethod
from math import ceil, inf
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.exact import Number, closed_probability, open_probability, positive, whole
from giveortake.local.survey import (
    USUAL,
    FloatArray,
    Interval,
    Oracle,
    checked_interval,
    interval_of,
    is_unicode,
    least_number,
    quantile,
    require_possible,
)
from giveortake.mechanisms.histogram import checked_categories, positions

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from fractions import Fraction


Consistency: TypeAlias = Literal["clip", "norm-mul", "norm-sub", "base-cut"]


def made_consistent(shares: FloatArray, how: Consistency, spread: float, confidence: Number) -> FloatArray:
    """Make shares consistent in the way that `how` names.

    "clip" cuts each to [0, 1]; "norm-mul" cuts negative ones and rescales; "norm-sub" finds the nearest shares that are
    not negative and add up to one; "base-cut" keeps those that stand out from noise of standard
    deviation `spread` when all categories are looked at together.
    """
    if how not in get_args(Consistency):
        raise InvalidParameter("consistent", how, "is unknown", hint=f"write one of {', '.join(get_args(Consistency))}")
    if how == "clip":
        clipped: FloatArray = np.clip(shares, 0, 1)
        return clipped
    if how == "norm-mul":
        return rescaled(shares)
    if how == "norm-sub":
        return on_simplex(shares)
    missed: Fraction = 1 - open_probability("confidence", confidence)
    bar = quantile(1 - 2 * missed / max(2, shares.size)) * spread  # one-sided, shared by all categories
    standing_out: FloatArray = np.where(shares >= bar, np.clip(shares, 0, 1), 0.0)
    return standing_out


def rescaled(shares: FloatArray) -> FloatArray:
    """Negative shares cut, and the rest multiplied so that they add up to one; equal shares if nothing is left."""
    nonnegative: FloatArray = np.maximum(shares, 0.0)
    total = float(nonnegative.sum())
    return nonnegative / total if total > 0 else np.full_like(shares, 1 / shares.size)


def on_simplex(shares: FloatArray) -> FloatArray:
    """The nearest point, by least squares, whose coordinates are not negative and add up to one.

    Subtract one number from all and cut at zero; the number is found from the sorted shares.

    >>> on_simplex(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, shares.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    nearest: FloatArray = np.maximum(shares - excess[last], 0.0)
    return nearest


_COMFORT = 2  # the least n is searched below this many times what the normal law says


class Supports(Oracle):
    """A survey whose reports support categories with probability p* (one's own) or q* (any other)."""

    __slots__ = ()

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities p* and q*."""

    def variance(self, n: int, frequency: Number, *, fixed: bool = False) -> Fraction:
        """The variance of the unclipped estimate of a category that a share `frequency` has.

        Theorem [Lal20, eq. 14], [WBLJ17]: θ(1−θ) / (n·(p*−q*)²) with θ = q* + f·(p*−q*), over respondents drawn from
        a population. With `fixed`, over the coins alone: (f·p*(1−p*) + (1−f)·q*(1−q*)) / (n·(p*−q*)²).
        """
        true, false = self.support
        share, count = closed_probability("frequency", frequency), whole("n", n)
        if fixed:
            spread = share * true * (1 - true) + (1 - share) * false * (1 - false)
        else:
            theta = false + share * (true - false)
            spread = theta * (1 - theta)
        return spread / (count * (true - false) ** 2)

    def sample_size(
        self,
        margin: Number,
        confidence: Number = USUAL,
        *,
        frequency: Number | None = None,
        interval: Interval = "guaranteed",
    ) -> int:
        """The least number of respondents whose interval is at most ± margin on either side.

        At the frequency given, or at the worst one; the "normal" interval [Lal20, eq. 15] needs slightly fewer.
        """
        reach = float(positive("margin", margin))
        true, false = map(float, self.support)
        middle = min(max(0.5, false), true)
        if frequency is not None:
            middle = false + float(closed_probability("frequency", frequency)) * (true - false)
        z = quantile(confidence)
        gap = (true - false) * reach
        textbook = z * z * middle * (1 - middle) / (gap * gap) if gap * gap else inf
        require_possible(textbook, margin)
        if checked_interval(interval) == "normal":
            return max(1, ceil(textbook))
        first = int(_COMFORT * textbook) + 10
        return least_number(lambda n: self._reaches(n, middle, reach, confidence), first, margin)

    def shares(
        self, counts: Any, n: int, confidence: Number, interval: Interval
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Unbiased shares from counts of supports, with the ends of their intervals."""
        true, false = map(float, self.support)
        low, high = interval_of(counts, n, confidence, interval)
        numbers = (np.asarray(counts, dtype=np.float64) / n, low, high)
        value, below, above = ((number - false) / (true - false) for number in numbers)
        return value, below, above

    def _reaches(self, n: int, middle: float, margin: float, confidence: Number) -> bool:
        count = min(n, max(0, round(n * middle)))
        value, low, high = self.shares([count], n, confidence, "guaranteed")
        return bool(max(high[0] - value[0], value[0] - low[0]) <= margin)


class FrequencyOracle(Supports):
    """A survey of how many respondents are in each of the categories, which are known beforehand."""

    __slots__ = ()

    categories: tuple[str | int | bool, ...]

    @abstractmethod
    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many reports support each category."""

    @abstractmethod
    def bits(self) -> int:
        """The size of one report, in bits."""

    def estimate(
        self,
        reports: Any,
        confidence: Number = USUAL,
        *,
        interval: Interval = "guaranteed",
        consistent: Consistency | None = None,
    ) -> Answer:
        """The share of every category, with an interval for each.

        Shares are unbiased, and so may be below 0 or above 1, unless `consistent` asks for "clip", "norm-mul",
        "norm-sub" or "base-cut"; that costs no privacy. Intervals are then cut to [0, 1] and hold the consistent share.
        """
        data = self._data(reports)
        shares, low, high = self.shares(self.counts(data), len(data), confidence, interval)
        if consistent is not None:
            spread = float(self.variance(len(data), 0)) ** 0.5
            shares = made_consistent(shares, consistent, spread, confidence)
            low, high = np.clip(low, 0, shares), np.clip(high, shares, 1)
        return Answer(
            [Column("category", category_column(self.categories)), Column("share", shares, low, high)],
            **self._provenance(reports, confidence, len(data), interval=interval, consistent=consistent or "no"),
        )

    def code(self, value: Any) -> int:
        return int(self.codes([value])[0])

    def is_code(self, code: object) -> bool:
        return type(code) is int and 0 <= code < len(self.categories)

    def codes(self, values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The place of every answer among the categories; an answer outside them is refused, and not quoted."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and self._are_places():
            if values.ndim != 1:
                raise InvalidParameter("values", HIDDEN, "is a table, not a column", hint="pass one of its columns")
            if values.size and (values.min() < 0 or values.max() >= len(self.categories)):
                raise InvalidParameter("answer", HIDDEN, f"is not one of 0 … {len(self.categories) - 1}")
            return values.astype(np.int64, copy=False)
        try:
            return positions(values, self.categories)
        except InvalidParameter as error:
            if error.name != "answer":
                raise
            known = listed_shortly([repr(category) for category in self.categories])
            hint = "list every possible answer among the categories"
            raise InvalidParameter("answer", HIDDEN, f"is not one of the categories {known}", hint=hint) from None

    def _are_places(self) -> bool:
        last = self.categories[-1]
        return type(last) is int and last == len(self.categories) - 1 and self.categories == tuple(range(last + 1))


def survey_categories(categories: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """At least two distinct categories that JSON can hold: texts, whole numbers or truth values."""
    distinct_categories = checked_categories(categories, least=2)
    if len(set(map(str, distinct_categories))) < len(distinct_categories):
        raise InvalidParameter(
            "categories", list(distinct_categories), "look the same as texts", hint='1 and "1" cannot be told apart'
        )
    for category in distinct_categories:
        if type(category) not in {str, int, bool}:
            raise InvalidParameter(
                "categories", category, "cannot be written to clients", hint="use texts, whole numbers or truth values"
            )
        if type(category) is str and not is_unicode(category):
            raise InvalidParameter("categories", category, "contains half a character (a lone surrogate)")
    return distinct_categories


def listed_shortly(texts: list[str], most: int = 10) -> str:
    """Texts as a list that says how many it leaves out.

    >>> listed_shortly(["a", "b", "c"], most=2)
    'a, b … and 1 more'
    """
    hidden = len(texts) - most
    return ", ".join(texts[:most]) + (f" … and {hidden:,} more" if hidden > 0 else "")


def category_column(categories: tuple[Hashable, ...]) -> list[Any]:
    """Categories as a column: of their own kind if they are of one, else as texts."""
    kinds = {type(category) for category in categories}
    return list(categories) if len(kinds) == 1 else [str(category) for category in categories]
