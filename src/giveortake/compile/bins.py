"""Numbers of values in bins, from which quantiles are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import engines
from giveortake.compile.measures import MeasureOfValues, fineness_of
from giveortake.compile.quantiles import RunningTotals
from giveortake.compile.releases import Combined
from giveortake.exact import sqrt_up
from giveortake.mechanisms.prefix_sums import ConsistentTree, SquareRoot
from giveortake.plan import Kind
from giveortake.privacy import events

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.compile.measures import Inquiry
    from giveortake.compile.stability import Stability
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.mechanisms.bounded_integers import PrefixStrategy
    from giveortake.mechanisms.tails import Tail
    from giveortake.plan import Domain, Expression
    from giveortake.privacy.events import Event

    Floats: TypeAlias = npt.NDArray[np.float64]

MOST = {False: 1024, True: 1000}  # bins at most, by whether the noise is pure: 1,000 fill a tree of ten by ten by ten
_NARROWEST = Fraction(1, 2**60)


@final
@dataclass(frozen=True, slots=True)
class PrefixSums(MeasureOfValues):
    """The numbers of values in bins from `low` on, times the matrix of a strategy for running totals.

    A value may count in parts of 1 / `fineness`. None is above `high`.
    """

    fineness: int
    strategy: PrefixStrategy
    low: Fraction
    width: Fraction
    high: Fraction
    whole: bool

    kind: ClassVar[str] = "prefix sums"
    averages: ClassVar[bool] = False

    @classmethod
    def within(cls, stability: Stability, of: Expression, domain: Domain, *, pure: bool) -> PrefixSums:
        """Bins between the bounds of a domain; whole numbers are never split between bins.

        Guarantee: in all keys together, a unit that is added or removed moves the matrix times the bins as far as it
        moves numbers of rows, times the longest column (see `PrefixStrategy`). One that is changed moves it twice as
        far in L1, and √2 times in L2: what it had and what it has now are vectors that are not negative.
        """
        low, high = domain.ends()
        whole = domain.kind is Kind.INTEGER
        if whole:
            low, high = Fraction(ceil(low)), Fraction(floor(high))
            values = max(int(high - low) + 1, 1)
            width = Fraction(-(-values // MOST[pure]))
            size = -(-values // int(width))
        else:
            size = MOST[pure]
            width = max((high - low) / size, _NARROWEST)
        strategy = ConsistentTree.over(size) if pure else SquareRoot(size)
        fine = fineness_of(stability)
        l1, l2 = replace(stability, neighbours="add-remove").sensitivity(0, fine, binned=True)
        if stability.neighbours == "change-one":
            l1, l2 = 2 * l1, sqrt_up(Fraction(2)) * l2
        return cls(l1 * strategy.l1, l2 * strategy.l2, of, fine, strategy, low, width, high, whole)

    @property
    def granularity(self) -> Fraction:
        return Fraction(1, self.fineness)

    @property
    def name(self) -> str:
        return f"running totals {self.of_what}"

    @property
    def sections(self) -> tuple[int, ...]:
        return self.strategy.sections

    def ask(self, inquiry: Inquiry, index: int) -> None:
        bins = self.strategy.size
        question = engines.Bins(
            inquiry.relation, inquiry.keys, self.of, self.low, self.width, bins, inquiry.bounding, self.fineness
        )
        inquiry.add(index, question)

    def prepared(self, exact: Sensitive[Any]) -> Sensitive[Any]:
        return exact.through(self.strategy)

    def event(self, noise: RoundedNoise) -> Event:
        single = noise.event_within(self.l1, self.l2)
        return single if self.levels == 1 else events.Repeated(single, self.levels)

    def described(self, noise: RoundedNoise) -> str:
        told = noise.told(self.granularity / self.strategy.fineness)
        over = f"{told}, on running totals over {self.strategy.size:,} bins"
        return over if self.levels == 1 else f"{told}, on each of {self.levels} levels of a tree of bins"

    def of_no_keys(self) -> npt.NDArray[np.int64]:
        return np.zeros((0, sum(self.sections)), dtype=np.int64)

    def combined(
        self, steps: Floats, tails: tuple[Tail, ...], only: tuple[npt.NDArray[Any], RoundedNoise] | None
    ) -> Combined:
        unit = float(self.granularity)
        (tail,) = tails  # a measure that cannot be averaged has one release
        ends = float(self.low), float(self.width), float(self.high)
        totals = RunningTotals(self.strategy, steps, tail.times(1 / unit), unit, *ends, self.whole)
        return Combined(np.zeros(len(steps)), tails, unit / 2, distribution=totals)

    def to_json(self) -> list[Any]:
        matrix = [*self.strategy.to_json(), str(self.high)]
        return self._written(self.of, fineness=self.fineness, bins=(matrix, self.low, self.width))
