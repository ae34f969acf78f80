"""A miniature pipeline, persons' values bounded, summed and released, to plant mistakes in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from giveortake.audit import Observation, Recorded
from giveortake.errors import InvalidParameter

Rows: TypeAlias = list[dict[str, Any]]
Factory: TypeAlias = Callable[[Rows], Any]


def usable(value: Any) -> bool:
    return value is not None and not math.isnan(value)


def clamped(value: Any, low: int, high: int) -> Fraction:
    """Missing and not-a-number count as zero, whatever the bounds are: a person who said nothing adds nothing."""
    return Fraction(max(low, min(high, value))) if usable(value) else Fraction(0)


def steps(value: Any, low: int, high: int, granularity: Fraction = Fraction(1, 4)) -> int:
    """The clamped value in whole steps, halves upwards."""
    return math.floor(clamped(value, low, high) / granularity + Fraction(1, 2))


def one_row_each(rows: Rows) -> Rows:
    """Of every person one row, chosen by the row's own contents."""
    chosen: dict[Any, dict[str, Any]] = {}
    for row in rows:
        kept = chosen.get(row["user_id"])
        if kept is None or repr(row) < repr(kept):
            chosen[row["user_id"]] = row
    return list(chosen.values())


@dataclass
class Pipeline:
    """Sound: bounded contributions, integers, declared sensitivity as large as the real one."""

    rows: Rows

    low, high, epsilon = -2, 3, Fraction(1, 2)

    def contributions(self) -> Rows:
        return one_row_each(self.rows)

    def total(self) -> Any:
        return sum(steps(row["value"], self.low, self.high) for row in self.contributions())

    def sensitivity(self) -> Any:
        return 4 * max(abs(self.low), abs(self.high))

    def scale(self) -> Any:
        return self.sensitivity() / self.epsilon

    def counts(self) -> dict[Any, int]:
        found = dict.fromkeys(("a", "b", "", "Ünïcode"), 0)
        for row in self.contributions():
            if row["group"] in found:
                found[row["group"]] += 1
        return found

    def run(self, query: str) -> Iterable[Recorded]:
        yield from {"sum": self._sum, "count": self._count, "mean": self._mean}[query]()

    def _sum(self) -> Iterator[Recorded]:
        yield Recorded(self.total(), self.sensitivity(), self.scale(), "sum")

    def _count(self) -> Iterator[Recorded]:
        yield Recorded(self.counts(), 1, 1 / self.epsilon, "count by group")

    def _mean(self) -> Iterator[Recorded]:
        yield from self._sum()
        yield Recorded(len(self.contributions()), 1, 1 / self.epsilon, "number of persons")

    def observe(self, query: str) -> Observation:
        if query not in {"sum", "count", "mean"}:
            raise InvalidParameter("query", query, "is unknown")
        return Observation("answered", f"{query} of persons", self.charge(query), self.shape(query))

    def charge(self, query: str) -> Any:
        return self.epsilon * (2 if query == "mean" else 1)

    def shape(self, query: str) -> Any:
        return len(self.counts()) if query == "count" else 1


class BoundsSurviveRedefinition(Pipeline):
    """A column was redefined as 10·value, and the bounds of the old one are still declared."""

    def total(self) -> Any:
        return 10 * super().total()


class SumOfDoubles(Pipeline):
    """Clamped to ±1e16 and summed as doubles in the order of the rows; 1e16 + 1 − 1e16 is 0 or 1."""

    low, high = -(10**16), 10**16

    def total(self) -> Any:
        total = 0.0
        for row in self.contributions():
            total += float(clamped(row["value"], self.low, self.high))
        return total

    def sensitivity(self) -> Any:
        return 10**16


class RowsInsteadOfPersons(Pipeline):
    """Counts rows where persons were meant: one person can add four."""

    def contributions(self) -> Rows:
        return self.rows


class OddWidthRoundedDown(Pipeline):
    """Half the width of the bounds, in whole numbers, after moving values to the middle: 5 // 2 is 2."""

    def total(self) -> Any:
        middle = Fraction(self.low + self.high, 2)
        return sum(abs(clamped(row["value"], self.low, self.high) - middle) for row in self.contributions())

    def sensitivity(self) -> Any:
        return (self.high - self.low) // 2


class QuantisedWithoutDeriving(Pipeline):
    """Values are rounded to halves, and rounding up to 4 is not in the declared 3.6."""

    def total(self) -> Any:
        return sum(2 * steps(row["value"], -2, 4, Fraction(1, 2)) // 2 for row in self.contributions())

    def sensitivity(self) -> Any:
        return Fraction(36, 10)


class LowerBoundTwice(Pipeline):
    """Clamps with the lower bound on both sides for negative values, and declares the lower bound only."""

    def sensitivity(self) -> Any:
        return 4 * abs(self.low)


class MissingBoundsNoNoise(Pipeline):
    """No bounds were given, so the sensitivity is nothing, and so is the noise."""

    def sensitivity(self) -> Any:
        return 0

    def scale(self) -> Any:
        return 0


class NanIsUpperBound(Pipeline):
    """Not-a-number passes the comparisons and ends as itself."""

    def total(self) -> Any:
        return sum(float("nan") if not usable(r["value"]) else steps(r["value"], -2, 3) for r in self.contributions())


class ScaleFromData(Pipeline):
    """Noise in proportion to the largest value that is there."""

    def sensitivity(self) -> Any:
        values = [abs(clamped(row["value"], self.low, self.high)) for row in self.rows]
        return 4 * max([Fraction(1), *values])


class FirstRowByPosition(Pipeline):
    """Keeps the first seven rows of the table: one person's rows push out another's."""

    def contributions(self) -> Rows:
        return self.rows[:7]

    def sensitivity(self) -> Any:
        return 4 * 3 * 4  # four rows of one person


class MeanChargedOnce(Pipeline):
    """The mean releases a sum and a count, each with all of ε."""

    def run(self, query: str) -> Iterable[Recorded]:
        items = list(super().run(query))
        if len(items) == 2:
            together = [Fraction(item.exact) / Fraction(item.scale) for item in items]
            yield Recorded(together, self.charge(query) / 2, 1, "sum and count, in units of their noise")
        else:
            yield from items


class OverflowingSum(Pipeline):
    """Sums in 8 bits, as a cast in an engine may."""

    def total(self) -> Any:
        return (super().total() * 8 + 128) % 256 - 128

    def sensitivity(self) -> Any:
        return 8 * super().sensitivity()


class KeysFromData(Pipeline):
    """The groups in the answer are those that are there: the shape tells who is."""

    def counts(self) -> dict[Any, int]:
        found: dict[Any, int] = {}
        for row in self.contributions():
            found[row["group"]] = found.get(row["group"], 0) + 1
        return found


class ErrorQuotesRow(Pipeline):
    """Refuses what it cannot parse, and says what it was."""

    def observe(self, query: str) -> Observation:
        for row in self.rows:
            if row["value"] is None:
                raise ValueError(f"cannot cast {row['group']!r} of user {row['user_id']}")
        return super().observe(query)


class ChargeDependsOnRows(Pipeline):
    """Charges for the groups that are there."""

    def charge(self, query: str) -> Any:
        return self.epsilon * len({row["group"] for row in self.rows})


class DivisionByZeroShows(Pipeline):
    """Divides by the number of persons in a group that may be empty."""

    def shape(self, query: str) -> Any:
        return 1 if query == "sum" else bool(1 / sum(row["group"] == "a" for row in self.rows))


class FailsOnInfinity(Pipeline):
    """An engine that raises where a value overflows."""

    def observe(self, query: str) -> Observation:
        if any(row["value"] in {math.inf, -math.inf} for row in self.rows):
            raise OverflowError
        return super().observe(query)
