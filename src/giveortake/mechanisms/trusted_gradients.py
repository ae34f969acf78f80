"""Gradients by code that a custodian trusts: called for each unit by itself, cut on integers, added up, with noise."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.mechanisms.bounded_integers import MOST_ROWS, BoundedIntegers
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.vector_noise import VectorNoise
    from giveortake.privacy import events
    from giveortake.randomness import Entropy

    Integers: TypeAlias = npt.NDArray[Any]
    Reals: TypeAlias = npt.NDArray[np.float64]
    Trusted: TypeAlias = "Callable[[Reals, UnitRows], Any]"
    StepsOfUnits: TypeAlias = "list[list[list[int]]]"  # of each unit, of each of its rows: the target, then the columns

_LESS = 1 - 2.0**-40  # leaves room for more than doubles may be wrong by


@final
@dataclass(frozen=True, slots=True, eq=False)
class UnitRows:
    """The rows of one person, or one row where rows are protected, as trusted code sees them.

    `x` has a line for each row: 1, and then the columns of features between -1 and 1. `y` has the targets: 1 or 0 for
    classes, and from -1 to 1 for numbers. Both are whole multiples of a step; the order of rows means nothing.
    """

    x: Reals
    y: Reals


@final
@dataclass(frozen=True, slots=True, eq=False)
class TrustedGradients(Mechanism["StepsOfUnits", "Integers"]):
    """The sum over units of the gradients that trusted code computes, each cut to a length, with normal noise.

    Guarantee [ACGMMTZ16]: whatever the code returns, a unit's integers have length at most `bound`, so that a unit that
    is added or removed moves the sum by no more, *if* the code is a function of its two arguments alone. That is what a
    custodian vouches for: code that remembers the units before, or looks at anything else, is not covered.

    Proof: a unit's rows come in an order that their own integers decide, in arrays made for this call, with a copy of
    θ; so what the code returns depends on nothing but them. It is cut in doubles, and the integers that result count if
    the sum of their squares, in integers of any size, is at most `bound`²; else they are zero. The sum is exact. What
    is no vector of finite numbers in the right length, and whatever is raised, counts as zero: it is no outcome. Only
    an interruption from the keyboard ends it, and that is the custodian's. ∎
    """

    code: Trusted
    theta: tuple[float, ...]
    steps: int  # that make 1 in a row
    unit: int  # steps that make 1 in a gradient
    bound: int
    noise: VectorNoise

    citation: ClassVar[str] = "Abadi et al.: Deep learning with differential privacy, CCS 2016"

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """The event of its noise; `sensitivity` is how far one unit moves the sum."""
        return self.noise.event(sensitivity)

    def release(self, value: StepsOfUnits | Sensitive[StepsOfUnits], entropy: Entropy | None = None) -> Integers:
        """The sum with noise, in steps."""
        total = BoundedIntegers.of(self.summed(opened(value, self)), MOST_ROWS * self.bound)
        return self.noise.release(Sensitive(total), entropy)

    def summed(self, units: StepsOfUnits) -> Integers:
        """The sum without noise."""
        total = [0] * len(self.theta)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # a warning may depend on rows
            for rows in units:
                total = [sofar + each for sofar, each in zip(total, self.cut(self._gradient(rows)), strict=True)]
        return np.array(total, dtype=object)

    def _gradient(self, rows: list[list[int]]) -> Reals:
        """The gradient that the code returns for a unit; zero if it raises or returns anything else."""
        table = np.array(sorted(rows), dtype=np.float64) / self.steps
        x = np.column_stack([np.ones(len(table)), table[:, 1:]])
        try:
            found = np.array(self.code(np.array(self.theta), UnitRows(x, table[:, 0].copy())), dtype=np.float64)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 (whatever it is, a row may have decided it)
            return np.zeros(len(self.theta))
        return found if found.shape == (len(self.theta),) and np.isfinite(found).all() else np.zeros(len(self.theta))

    def cut(self, gradient: Reals) -> list[int]:
        """A gradient as whole steps, no longer than the bound: checked on integers."""
        largest = float(np.abs(gradient).max())
        if largest == 0:
            return [0] * len(gradient)
        shape = gradient / largest  # so that no square is too large
        length = float(np.sqrt((shape * shape).sum()))
        most = min(largest * self.unit, self.bound * _LESS / length)
        steps = [math.trunc(each * most) for each in shape.tolist()]
        return steps if sum(each * each for each in steps) <= self.bound**2 else [0] * len(steps)
