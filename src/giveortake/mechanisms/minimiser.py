"""Output perturbation: the minimiser of a regularised convex loss, with noise, and nothing of the search for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.randomness import Entropy

    Integers: TypeAlias = npt.NDArray[Any]
    Reals: TypeAlias = npt.NDArray[np.float64]

Slopes: TypeAlias = "Callable[[tuple[int, ...]], tuple[Sensitive[Integers], Sensitive[Integers]]]"


@final
@dataclass(frozen=True, slots=True)
class PerturbedMinimiser(Mechanism["Slopes", "Integers | None"]):
    """A point θ at which Σ gᵢ(θ) + Λθ is next to nothing, in whole steps, with normal noise on it.

    gᵢ is the gradient of a unit's convex loss. `fineness` is how many steps of θ make 1, `unit` how many steps of the
    gradients do. Every release makes the same number of `passes`: how long it takes does not tell how hard the search
    was. `release` gives None if no pass came within the tolerance.

    Guarantee [CMS11, Lemma 8 of it for points that are nearly minima]: let every gᵢ be monotone,
    ⟨gᵢ(θ) − gᵢ(θ′), θ − θ′⟩ ≥ 0, and no longer than L; let F = Σ gᵢ + Λθ and ‖F(θ)‖ ≤ τ at the point that is
    found. Then a unit that is added or removed moves the point by at most (L + 2τ)/Λ, and one that is changed by at
    most (2L + 2τ)/Λ. Proof: let F′ = F + g be a neighbour's, and θ, θ′ the points. Λ‖θ − θ′‖² ≤ ⟨F(θ) − F(θ′),
    θ − θ′⟩ because F − Λθ is monotone; F(θ′) = F′(θ′) − g(θ′), so the right side is at most
    (τ + τ + L)·‖θ − θ′‖. ∎ Steps of the lattice need no term of their own: the point that is tested is one of its
    points, and the test is on integers. A release that finds no point is a failure, which no noise covers: a fixed
    point in its place would move by more than this between neighbours of which one is found. Whoever releases
    tells one fixed sentence then, and the ledger counts it with the other failures.
    """

    sigma: Fraction  # of the noise, in steps of θ
    strength: Fraction  # Λ
    tolerance: Fraction  # τ
    fineness: int
    unit: int
    curvature_unit: int
    size: int
    passes: int
    farthest: int  # from zero, in whole numbers, in each coordinate

    citation: ClassVar[str] = "Chaudhuri, Monteleoni, Sarwate: Differentially private empirical risk minimization, 2011"

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release; `sensitivity` is how far one unit moves the point, in steps."""
        return events.Gaussian(self.sigma / Fraction(sensitivity))

    def moved(self, longest: Fraction, *, changed: bool) -> Fraction:
        """How far one unit moves the point, in steps; `longest` is the length of a unit's gradient."""
        return ((2 if changed else 1) * longest + 2 * self.tolerance) / self.strength * self.fineness

    def release(self, value: Slopes | Sensitive[Slopes], entropy: Entropy | None = None) -> Integers | None:
        """The point with noise, in steps."""
        found = self.minimiser(opened(value, self))
        if found is None:
            return None
        return np.array(found, dtype=object) + rounded_normal(self.sigma, self.size, source(entropy))

    def minimiser(self, slopes: Slopes) -> tuple[int, ...] | None:
        """The point itself, by Newton's steps, halved where the gradient grew."""
        here = best = (0,) * self.size
        found: tuple[int, ...] | None = None
        least, direction, step = np.inf, np.zeros(self.size), 1.0
        for _ in range(self.passes):
            gradient, curvature = (each.open(self) for each in slopes(here))
            force = self._force(here, gradient)
            if found is None and sum(each**2 for each in force) <= self.tolerance**2:
                found = here
            if found is not None:
                continue  # the same pass again: nobody is told by the time it takes when the search was over
            size = float(sum(each**2 for each in force))
            if size < least:
                least, best, step = size, here, 1.0
                direction = self._direction(np.array([float(each) for each in force]), curvature)
            else:
                step /= 2
            here = self._point(best, step * direction)
        return found

    def _force(self, here: tuple[int, ...], gradient: Integers) -> list[Fraction]:
        """Σ gᵢ(θ) + Λθ, exactly."""
        pairs = zip(gradient.tolist(), here, strict=True)
        return [
            Fraction(int(slope), self.unit) + self.strength * Fraction(place, self.fineness) for slope, place in pairs
        ]

    def _direction(self, force: Reals, curvature: Integers) -> Reals:
        upper = np.zeros((self.size, self.size))
        upper[np.triu_indices(self.size)] = [float(each) / self.curvature_unit for each in curvature.tolist()]
        whole = upper + np.triu(upper, 1).T + float(self.strength) * np.eye(self.size)
        return np.asarray(np.linalg.lstsq(whole, -force, rcond=None)[0])

    def _point(self, start: tuple[int, ...], far: Reals) -> tuple[int, ...]:
        most = self.farthest * self.fineness
        moved = np.clip(np.nan_to_num(far) * self.fineness, -2 * most, 2 * most)
        return tuple(
            int(min(max(place + round(each), -most), most)) for place, each in zip(start, moved.tolist(), strict=True)
        )
