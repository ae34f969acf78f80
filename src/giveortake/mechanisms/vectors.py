"""Gaussian noise for sums of vectors: bounded sums, output perturbation, and gradients by trusted code.

`VectorNoise` is for sums in which some cells weigh more than others. `OutputPerturbation` releases the last point of a
fixed number of gradient steps; the others stay secret. `TrustedGradients` calls a custodian's code for each unit by
itself and adds up what it returns, cut on integers.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.exact import sqrt_up
from giveortake.mechanisms import lattice
from giveortake.mechanisms.mechanism import MOST_ROWS, BoundedIntegers, Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.randomness import Entropy

    IntegerValues: TypeAlias = BoundedIntegers | npt.NDArray[Any]
    Integers: TypeAlias = npt.NDArray[Any]
    Gradient: TypeAlias = "Callable[[tuple[int, ...]], Sensitive[BoundedIntegers]]"
    Reals: TypeAlias = npt.NDArray[np.float64]
    Trusted: TypeAlias = "Callable[[Reals, UnitRows], Any]"
    StepsOfUnits: TypeAlias = "list[list[list[int]]]"


@final
@dataclass(frozen=True, slots=True)
class VectorNoise(Mechanism["Integers", "npt.NDArray[Any]"]):
    """Add normal noise, rounded to whole steps, to blocks of integers: the heavier a block, the less noise it gets.

    `blocks` lists (number of cells, weight) in the order of the cells. A cell of weight w gets noise of deviation
    σ/√w, rounded up.

    Guarantee [DRS22]: if a unit moves the integers by Δ with Σ w·Δ² ≤ d², a release is (d/σ)-GDP. Proof: divide each
    cell by its deviation. The continuous noise is standard normal then, and the shift has length at most
    √(Σ Δ²·w/σ²) ≤ d/σ; rounding on the integers is post-processing. ∎

    >>> VectorNoise(4, ((2, 1), (1, 2))).event(2).guarantee()
    GaussianDP('0.5')
    """

    sigma: Fraction
    blocks: tuple[tuple[int, int], ...]

    citation: ClassVar[str] = "Dong, Roth, Su: Gaussian differential privacy, JRSS B 2022"

    def __init__(self, sigma: Number, blocks: tuple[tuple[int, int], ...]) -> None:
        if any(size < 0 or weight < 1 for size, weight in blocks):
            raise InvalidParameter("blocks", blocks, "needs numbers of cells and weights of at least 1")
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))
        object.__setattr__(self, "blocks", tuple(blocks))

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release; `sensitivity` is the weighted length d."""
        return events.Gaussian(self.sigma / exact.at_least("sensitivity", sensitivity))

    def deviation(self, weight: int) -> Fraction:
        """The deviation of the noise in cells of a weight."""
        return self.sigma if weight == 1 else exact.sqrt_up(self.sigma**2 / weight)

    def deviations(self) -> npt.NDArray[np.float64]:
        """The deviation of the noise in each cell."""
        block_deviations = [np.full(size, float(self.deviation(weight))) for size, weight in self.blocks]
        return np.concatenate(block_deviations) if block_deviations else np.zeros(0)

    def release(
        self, value: IntegerValues | Sensitive[IntegerValues], entropy: Entropy | None = None
    ) -> npt.NDArray[Any]:
        """The integers with noise."""
        exact_sums = lattice.bounded("value", opened(value, self))
        if exact_sums.shape != (sum(size for size, _ in self.blocks),):
            raise InvalidParameter("value", exact_sums.shape, "is not one integer for each cell")
        weights = np.concatenate([np.full(size, weight) for size, weight in self.blocks])
        noise = np.zeros(exact_sums.shape, dtype=object)
        for weight in sorted({weight for _, weight in self.blocks}):
            cells = weights == weight
            noise[cells] = rounded_normal(self.deviation(weight), int(cells.sum()), source(entropy))
        return exact_sums.plus(noise).released().astype(object)


@final
@dataclass(frozen=True, slots=True)
class GradientOracle:
    """How many rows there are, and the sum of their gradients at a point, in steps."""

    rows: Sensitive[BoundedIntegers]
    gradient: Gradient


@final
@dataclass(frozen=True, slots=True)
class OutputPerturbation(Mechanism["GradientOracle", "Integers"]):
    """The k-th point of projected gradient descent on Σ ℓᵢ + Λ‖θ‖²/2, from zero and within a box, with normal noise.

    ℓᵢ is the loss of one row, cᵢ(⟨θ, xᵢ⟩)·xᵢ its gradient: |cᵢ| ≤ 1, cᵢ grows by at most M·t where its argument grows
    by t, and ‖xᵢ‖ ≤ X. A table of N rows takes steps of η = 1/(Λ + M·X²·N).

    Guarantee [CMS11, WLKCJN17]: m rows that are added or removed move the k-th point by at most
    m·X/Λ·(1 + ((k − 1)/(k + 1))^(k − 1)), less than 1.2 times m·X/Λ from seven passes on, whatever the rows are, and
    rows that are changed by twice that. Nothing has to converge: it is the descent that is stable, so no row decides
    an outcome, nor how many passes are made. Rounding moves each table's point by at most k·e more, with
    e = g/(M·X) + √p/(2·fineness), where each row's slope is known to g.

    Proof. Let T be a step of the smaller table, from θ to the box's point nearest to θ − η(∇F(θ)), and η′ ≤ η the other
    table's step. Curvatures are between Λ and Λ + M·X²·N ≤ 1/η, so T with η is a contraction by a = 1 − ηΛ, and with
    η′ by a′ = 1 − η′Λ ≥ a; projections do not expand. The other table's gradient is at most m·X away from that of the
    smaller one. In each coordinate the way to the box's nearest point is min(η·|v|, gap), concave in η: with η′ for η
    a step is shorter by at most (1 − η′/η)·‖θⱼ₊₁ − θⱼ‖ ≤ (1 − η′/η)·aʲ·η·N·X, and (η − η′)·N·X ≤ η′·m·X because
    1/η′ − 1/η = M·X²·m and N·M·X² ≤ 1/η. So Dⱼ₊₁ ≤ a′·Dⱼ + η′·m·X + a′ʲ·η′·m·X, and with η′ = (1 − a′)/Λ
    Dₖ ≤ m·X/Λ·(1 − a′ᵏ + k(1 − a′)·a′ᵏ⁻¹), which is greatest at a′ = (k − 1)/(k + 1). Rows that are changed are removed
    and added. Each computed step is at most e from the exact one: η·N·g·X ≤ g/(M·X), and half a step of the lattice
    in each of p coordinates. ∎
    """

    sigma: Fraction  # of the noise, in steps of θ
    strength: Fraction  # Λ
    steepest: Fraction  # M
    longest: int  # X²
    passes: int
    fineness: int  # steps of θ that make 1
    unit: int  # steps of a gradient that make 1
    known_to: Fraction  # g
    size: int  # p
    farthest: int  # of the box from zero, in whole numbers

    def __post_init__(self) -> None:
        for name in ("sigma", "strength", "steepest", "longest", "passes", "fineness", "unit", "size", "farthest"):
            exact.positive(name, getattr(self, name))  # the proof needs each of them
        exact.non_negative("known_to", self.known_to)

    citation: ClassVar[str] = "Chaudhuri, Monteleoni, Sarwate: Differentially private empirical risk minimization, 2011"

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release; `sensitivity` is how far one unit moves the point, in steps."""
        return events.Gaussian(self.sigma / exact.positive("sensitivity", sensitivity))

    def sensitivity(self, rows: int, *, changed: bool) -> Fraction:
        """How far a unit of `rows` rows moves the point, in steps; rounded up.

        >>> mechanism = OutputPerturbation(1, 2, 1, 1, 3, 1000, 1, Fraction(0), 1, 1)
        >>> float(mechanism.sensitivity(1, changed=False))  # ½ · (1 + ¼), and 3 roundings of each point
        628.0
        """
        k, root = self.passes, sqrt_up(Fraction(self.longest))
        stable = rows * root / self.strength * (1 + Fraction(k - 1, k + 1) ** (k - 1))
        rounded = self.known_to / self.steepest + sqrt_up(Fraction(self.size)) / (2 * self.fineness)  # X is at least 1
        return ((2 if changed else 1) * stable + 2 * k * rounded) * self.fineness

    def release(self, value: GradientOracle | Sensitive[GradientOracle], entropy: Entropy | None = None) -> Integers:
        """The point with noise, in steps."""
        point = BoundedIntegers.clamped(self.point(opened(value, self)), self.farthest * self.fineness)
        return point.plus(rounded_normal(self.sigma, self.size, source(entropy))).released().astype(object)

    def point(self, oracle: GradientOracle) -> tuple[int, ...]:
        """The point without noise, in exact fractions: every table takes the same number of passes."""
        (rows,) = oracle.rows.open(self).tolist()
        inverse = self.strength + self.steepest * self.longest * int(rows)
        most, point = Fraction(self.farthest * self.fineness), (0,) * self.size
        for _ in range(self.passes):
            gradient = oracle.gradient(point).open(self).tolist()
            force = [
                Fraction(int(slope) * self.fineness, self.unit) + self.strength * coordinate
                for slope, coordinate in zip(gradient, point, strict=True)
            ]
            steps = [coordinate - component / inverse for coordinate, component in zip(point, force, strict=True)]
            point = tuple(round(min(max(step, -most), most)) for step in steps)
        return point


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
        total = BoundedIntegers.clamped(self.summed(opened(value, self)), MOST_ROWS * self.bound)
        return self.noise.release(Sensitive(total), entropy)

    def summed(self, units: StepsOfUnits) -> Integers:
        """The sum without noise."""
        total = [0] * len(self.theta)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # a warning may depend on rows
            for rows in units:
                total = [sofar + step for sofar, step in zip(total, self.cut(self._gradient(rows)), strict=True)]
        return np.array(total, dtype=object)

    def _gradient(self, rows: list[list[int]]) -> Reals:
        """The gradient that the code returns for a unit; zero if it raises or returns anything else."""
        table = np.array(sorted(rows), dtype=np.float64) / self.steps
        x = np.column_stack([np.ones(len(table)), table[:, 1:]])
        try:
            gradient = np.array(self.code(np.array(self.theta), UnitRows(x, table[:, 0].copy())), dtype=np.float64)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 (whatever it is, a row may have decided it)
            return np.zeros(len(self.theta))
        return (
            gradient
            if gradient.shape == (len(self.theta),) and np.isfinite(gradient).all()
            else np.zeros(len(self.theta))
        )

    def cut(self, gradient: Reals) -> list[int]:
        """A gradient as whole steps, no longer than the bound: checked on integers."""
        largest = float(np.abs(gradient).max())
        if largest == 0:
            return [0] * len(gradient)
        shape = gradient / largest  # so that no square is too large
        length = float(np.sqrt((shape * shape).sum()))
        most = min(largest * self.unit, self.bound * _LESS / length)
        steps = [math.trunc(component * most) for component in shape.tolist()]
        return steps if sum(step * step for step in steps) <= self.bound**2 else [0] * len(steps)
