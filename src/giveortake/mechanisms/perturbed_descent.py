"""Output perturbation: the last point of a fixed number of gradient steps, with noise; the others stay secret."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from giveortake.exact import sqrt_up
from giveortake.mechanisms.bounded_integers import BoundedIntegers
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.randomness import Entropy

    Integers: TypeAlias = npt.NDArray[Any]
    Gradient: TypeAlias = "Callable[[tuple[int, ...]], Sensitive[BoundedIntegers]]"


@final
@dataclass(frozen=True, slots=True)
class Slopes:
    """How many rows there are, and the sum of their gradients at a point, in steps."""

    rows: Sensitive[BoundedIntegers]
    gradient: Gradient


@final
@dataclass(frozen=True, slots=True)
class PerturbedDescent(Mechanism["Slopes", "Integers"]):
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

    citation: ClassVar[str] = "Chaudhuri, Monteleoni, Sarwate: Differentially private empirical risk minimization, 2011"

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release; `sensitivity` is how far one unit moves the point, in steps."""
        return events.Gaussian(self.sigma / Fraction(sensitivity))

    def moved(self, rows: int, *, changed: bool) -> Fraction:
        """How far a unit of `rows` rows moves the point, in steps; rounded up.

        >>> made = PerturbedDescent(1, 2, 1, 1, 3, 1000, 1, Fraction(0), 1, 1)  # ½ · (1 + ¼), and 3 roundings of each
        >>> float(made.moved(1, changed=False))
        628.0
        """
        k, root = self.passes, sqrt_up(Fraction(self.longest))
        stable = rows * root / self.strength * (1 + Fraction(k - 1, k + 1) ** (k - 1))
        rounded = self.known_to / self.steepest + sqrt_up(Fraction(self.size)) / (2 * self.fineness)  # X is at least 1
        return ((2 if changed else 1) * stable + 2 * k * rounded) * self.fineness

    def release(self, value: Slopes | Sensitive[Slopes], entropy: Entropy | None = None) -> Integers:
        """The point with noise, in steps."""
        point = BoundedIntegers.of(self.point(opened(value, self)), self.farthest * self.fineness)
        return point.plus(rounded_normal(self.sigma, self.size, source(entropy))).released().astype(object)

    def point(self, slopes: Slopes) -> tuple[int, ...]:
        """The point without noise, in exact fractions: every table takes the same number of passes."""
        (rows,) = slopes.rows.open(self).tolist()
        inverse = self.strength + self.steepest * self.longest * int(rows)
        most, here = Fraction(self.farthest * self.fineness), (0,) * self.size
        for _ in range(self.passes):
            gradient = slopes.gradient(here).open(self).tolist()
            force = [
                Fraction(int(slope) * self.fineness, self.unit) + self.strength * place
                for slope, place in zip(gradient, here, strict=True)
            ]
            steps = [place - each / inverse for place, each in zip(here, force, strict=True)]
            here = tuple(round(min(max(each, -most), most)) for each in steps)
        return here
