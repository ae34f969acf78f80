"""The Gaussian design of workloads: residuals of marginals, planned in closed form.

The promise is split among measurements for the least variance of the requested tables [XWZK23].
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np

from giveortake.caching import cached
from giveortake.errors import Unprovable
from giveortake.exact import ceiling
from giveortake.mechanisms import Gaussian
from giveortake.mechanisms.marginals import Residual, cell_variance, rebuilt
from giveortake.privacy import events
from giveortake.workload.bound_workload import ClippedPersons, Incidence
from giveortake.workload.designs import BITS, Design, RangeNoise, normal_margin, rounded_up, strategy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.marginals import Contribution
    from giveortake.mechanisms.mechanism import BoundedIntegers, PrefixStrategy
    from giveortake.randomness import Entropy, IntArray
    from giveortake.workload.bound_workload import BoundWorkload

    Floats: TypeAlias = npt.NDArray[np.float64]


Goal: TypeAlias = Literal["rms", "maximum"]

_ROUNDS = 300
_CLOSE = 1.005  # the greatest variance of what is found, against a lower bound of every plan


def least_noise(coefficients: Floats, prices: Floats, square: float) -> Floats:
    """The variances v that minimise Σ c·v, where Σ q/v is `square`: the μ² that may be spent.

    By Cauchy and Schwarz, Σ c·v · Σ q/v ≥ (Σ √(c·q))², and v = √(q/c) · Σ √(c·q) / μ² reaches it. Parts of price 0 get
    no noise here.

    >>> least_noise(np.array([1.0, 4.0]), np.array([1.0, 1.0]), 1.0)
    array([3. , 1.5])
    """
    together = np.sqrt(coefficients * prices).sum()
    variances: Floats = np.sqrt(prices / coefficients) * together / square
    return variances


def goal_weights(incidence: Incidence, prices: Floats, weights: Floats, goal: Goal) -> Floats:
    """The weights with which `least_noise` reaches the goal; for "rms", the stated ones.

    For the maximum, of weight times variance, they are found in rounds. Whatever weights w ≥ 0 of sum one minimise
    Σ w·s·Var, its minimum is below the greatest s·Var of any plan; weights grow where that is large until the two meet.
    """
    if goal == "rms":
        return weights
    shares = np.full(len(weights), 1 / len(weights))
    best, least = weights, np.inf
    for _ in range(_ROUNDS):
        coefficients = incidence.coefficients(shares * weights)
        losses = weights * incidence.variances(least_noise(coefficients, prices, 1.0))
        greatest = losses.max()
        if greatest < least:
            best, least = shares * weights, greatest
        if least <= _CLOSE * float(shares @ losses):
            break
        shares = shares * np.sqrt(losses)
        shares /= shares.sum()
    return best


_ROUNDING = Fraction(1, 4 * 2**BITS)
_FINE = 2**96  # prices are added in whole parts of that


def _charged(mu: Fraction) -> Fraction:
    return mu * (1 - _ROUNDING)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResidualDesign(Design):
    """Residuals of all layers, and ranges through the square root, as one Gaussian release.

    Guarantee: for two neighbours, all parts together are one Gaussian release whose shift, each part in units of its
    noise, has the squared length Σ ‖Pu‖²/σ². A row that is added has `square_if_added` in every part, one that becomes
    another row `square_if_moved`, and a unit of m rows no more than m times the longer of both, by the triangle
    inequality. So under change-one a total costs nothing as long as its noise is no less than what a row that is left
    out pays for, where a row is in all parts or in none (`BoundWorkload.is_all_or_none`). Elsewhere it may leave some
    parts and move in others, and has the longer of both in each. Where these are at most μ, the release is μ-GDP
    [DRS22]. Of persons who are scaled down to a norm `ClippedPersons` says how far they move all parts together.
    """

    workload: BoundWorkload
    mu: Fraction
    sigmas: tuple[tuple[Fraction, ...], ...]
    runs: tuple[RangeNoise, ...]

    @classmethod
    def planned(cls, workload: BoundWorkload, mu: Fraction, goal: Goal) -> ResidualDesign:
        """The design with the least noise that keeps μ. Variances of sums are in units of a row's greatest value."""
        incidence, weights = _problem(workload)
        added, moved = _squares(workload)
        prices = added if workload.neighbours == "add-remove" or not moved.any() else moved
        chosen = goal_weights(incidence, prices, weights, goal)
        noise = least_noise(incidence.coefficients(chosen), prices, float(mu) ** 2)
        free = prices == 0  # the total of rows: one that is left out pays for it what one that moves pays elsewhere
        if free.any():
            noise[free] = added[free].sum() / ((moved - added)[~free] / noise[~free]).sum()
        return cls.of(workload, mu, [rounded_up(float(deviation)) for deviation in np.sqrt(noise)])

    @classmethod
    def of(cls, workload: BoundWorkload, mu: Fraction, scales: Sequence[Fraction]) -> ResidualDesign:
        """The design with given scales, in the order of the parts; refused if they do not keep μ."""
        remaining_scales = iter(scales)
        sigmas = tuple(
            tuple(itertools.islice(remaining_scales, len(layer.layout.residuals))) for layer in workload.layers
        )
        runs = tuple(
            RangeNoise(range_table, strategy_of(range_table.bins, pure=False), Gaussian(next(remaining_scales)))
            for range_table in workload.ranges
        )
        design = cls(workload, mu, sigmas, runs)
        if design.square() > design.charged**2:
            raise Unprovable("the parts of the workload cost more than the whole; nothing was charged")
        return design

    @property
    def name(self) -> str:
        return "residuals"

    @property
    def measured(self) -> list[list[tuple[int, ...]]]:
        return [list(layer.layout.residuals) for layer in self.workload.layers]

    @property
    def scales(self) -> list[list[Fraction]]:
        return [list(layer_sigmas) for layer_sigmas in self.sigmas]

    @property
    def event(self) -> events.Gaussian:
        return self.event_of(self.mu)

    @classmethod
    def event_of(cls, mu: Fraction) -> events.Gaussian:
        """The event that every plan for μ is charged as."""
        return events.Gaussian(1 / _charged(mu))

    @property
    def charged(self) -> Fraction:
        """The μ that is charged: a little less than the spend, which scales that are rounded up still keep.

        So a filter that rounds up still admits a spend of all that it has.
        """
        return _charged(self.mu)

    @property
    def citations(self) -> tuple[str, ...]:
        return (Residual.citation, Gaussian.citation)

    def square(self) -> Fraction:
        """The greatest squared length of the shift of one unit, rounded up: what is charged is no less."""
        if self.workload.norm is not None:
            return self.persons.square()
        added, moved = Fraction(0), Fraction(0)
        for layer, sigmas in zip(self.workload.layers, self.sigmas, strict=True):
            contribution = layer.contribution(self.workload.rows)
            sizes = layer.layout.sizes
            alike = Counter(
                (tuple(sorted(sizes[attribute] for attribute in residual)), sigma)
                for residual, sigma in zip(layer.layout.residuals, sigmas, strict=True)
            )
            for (sizes_of_part, sigma), count in alike.items():
                if_added, if_moved = _both(contribution, sizes_of_part, is_all_or_none=self.workload.is_all_or_none)
                added += _rounded_up(count * if_added / sigma**2)
                moved += _rounded_up(count * if_moved / sigma**2)
        for run in self.runs:
            if_added, if_moved = _range_squares(run.strategy, self.workload.rows)
            added += _rounded_up(if_added / run.noise.scale_in_steps**2)
            moved += _rounded_up(if_moved / run.noise.scale_in_steps**2)
        return added if self.workload.neighbours == "add-remove" else max(added, moved)

    @property
    def persons(self) -> ClippedPersons:
        """Persons scaled down to the greatest norm that this noise allows."""
        return ClippedPersons.of(self.workload, self.sigmas, self.charged)

    def released(self, layer: int, part: int) -> int:
        return self._residual(layer, part).released

    def release(self, layer: int, part: int, table: Sensitive[BoundedIntegers], entropy: Entropy | None) -> IntArray:
        return self._residual(layer, part).release(table, entropy)

    def _residual(self, layer: int, part: int) -> Residual:
        layout = self.workload.layers[layer].layout
        return Residual(layout.sizes_of(layout.residuals[part]), self.sigmas[layer][part])

    def estimate(self, layer: int, attributes: tuple[int, ...], parts: list[IntArray]) -> Floats:
        sizes = self.workload.layers[layer].layout.sizes_of(attributes)
        residuals = {}
        for axes, part in self._inside(layer, attributes):
            residuals[axes] = self._residual(layer, part).estimate(parts[part])
        return rebuilt(sizes, residuals).reshape(-1)

    def variance(self, layer: int, attributes: tuple[int, ...]) -> float:
        return cell_variance(self.workload.layers[layer].layout.sizes_of(attributes), self.variances(layer, attributes))

    def variances(self, layer: int, attributes: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        """The variance of every residual in a table of some attributes, by its axes there."""
        return {axes: self._residual(layer, part).variance for axes, part in self._inside(layer, attributes)}

    def margin(self, layer: int, attributes: tuple[int, ...], miss: float) -> float:
        return normal_margin(self.variance(layer, attributes) ** 0.5, miss)

    def _inside(self, layer: int, attributes: tuple[int, ...]) -> Iterable[tuple[tuple[int, ...], int]]:
        """The residuals of a table: their axes in it, and their indices among the parts."""
        indices = _residual_indices(self.workload.layers[layer].layout)
        for length in range(len(attributes) + 1):
            for axes in itertools.combinations(range(len(attributes)), length):
                yield axes, indices[tuple(attributes[axis] for axis in axes)]


@cached(16)
def _residual_indices(layout: Any) -> dict[tuple[int, ...], int]:
    return {residual: index for index, residual in enumerate(layout.residuals)}


def _problem(workload: BoundWorkload) -> tuple[Incidence, Floats]:
    """How the variances of all tables depend on those of all parts, and the weight of each table."""
    parts, weights = [], []
    for layer in workload.layers:
        parts.append(layer.layout.incidence)
        weights.append(layer.weights / layer.contribution(1).reach ** 2)
    for range_table in workload.ranges:
        rows = strategy_of(range_table.bins, pure=False).weights()[1:]
        mean = np.array([(rows**2).sum(axis=1).mean()])
        parts.append(Incidence(1, 1, np.array([0]), np.array([0]), mean))
        weights.append(np.array([range_table.weight]))
    return Incidence.joined(parts), np.concatenate(weights)


def _squares(workload: BoundWorkload) -> tuple[Floats, Floats]:
    """Approximate prices of all parts, for planning; the price of the plan is computed again exactly."""
    if workload.norm is not None:
        longest = [
            (workload.norm * layer.contribution(1).reach) ** 2
            for layer in workload.layers
            for _ in layer.layout.residuals
        ]
        return np.array(longest, dtype=np.float64), 2 * np.array(longest, dtype=np.float64)
    added: list[float] = []
    moved: list[float] = []
    for layer in workload.layers:
        contribution, sizes = layer.contribution(workload.rows), layer.layout.sizes
        known: dict[tuple[int, ...], tuple[float, float]] = {}
        for residual in layer.layout.residuals:
            alike = tuple(sorted(sizes[attribute] for attribute in residual))
            if alike not in known:
                if_added, if_moved = _both(contribution, alike, is_all_or_none=workload.is_all_or_none)
                known[alike] = float(if_added), float(if_moved)
            added.append(known[alike][0])
            moved.append(known[alike][1])
    for range_table in workload.ranges:
        if_added, if_moved = _range_squares(strategy_of(range_table.bins, pure=False), workload.rows)
        added.append(float(if_added))
        moved.append(float(if_moved))
    return np.array(added), np.array(moved)


def _both(contribution: Contribution, sizes: Sequence[int], *, is_all_or_none: bool) -> tuple[Fraction, Fraction]:
    """The squared L2 sensitivity of a part: if a unit is added, and if it is changed.

    If a changed row may leave this part and stay in another, the second is no less than the first.
    """
    added, moved = contribution.square_if_added(sizes), contribution.square_if_moved(sizes)
    return added, moved if is_all_or_none else max(added, moved)


def _rounded_up(price: Fraction) -> Fraction:
    """A price rounded up slightly, so that sums stay short."""
    return Fraction(ceiling(price * _FINE), _FINE)


def _range_squares(strategy: PrefixStrategy, rows: int) -> tuple[Fraction, Fraction]:
    """The squared L2 sensitivity of a range: if a unit is added, and if it is changed."""
    square = (rows * strategy.l2) ** 2
    return square, 2 * square
