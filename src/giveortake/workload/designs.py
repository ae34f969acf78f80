"""Designs of workloads: what is measured, with how much noise, and how tables follow from it.

The Gaussian design takes residuals of marginals, planned in closed form: the promise is split among them for the least
variance of the requested tables [XWZK23]. The design for a pure ε takes whole tables with Laplace noise, by the best of
a few strategies: residuals save nothing there, because in L1 a row without its means is longer than the row itself. No
best strategy is known in closed form, so a few are compared by their variances.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np

from giveortake.caching import cached
from giveortake.errors import Unprovable
from giveortake.exact import ceiling
from giveortake.mechanisms import Gaussian, Laplace
from giveortake.mechanisms.additive import LaplaceTail, NormalTail, quantile, quantiles
from giveortake.mechanisms.marginals import Residual, cell_variance, rebuilt
from giveortake.mechanisms.prefix_sums import ConsistentTree, SquareRoot
from giveortake.privacy import events
from giveortake.workload.bound_workload import MOST_IN_TABLE, ClippedPersons, Incidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.marginals import Contribution
    from giveortake.mechanisms.mechanism import BoundedIntegers, PrefixStrategy
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy, IntArray
    from giveortake.workload.bound_workload import BoundWorkload, Layer, RangeTable

    Floats: TypeAlias = npt.NDArray[np.float64]
    Tables: TypeAlias = "tuple[tuple[int, ...], ...]"


BITS = 30  # precision to which scales are rounded up


class Design(ABC):
    """Independent parts, each an array of noisy integers, from which all tables are computed.

    The parts of the layers come first, in the order of the layers, then one for each range.
    """

    workload: BoundWorkload
    scales: tuple[tuple[Fraction, ...], ...]  # of each layer and measured table; in rows, or steps of the sum
    runs: tuple[RangeNoise, ...]

    @property
    @abstractmethod
    def measured(self) -> list[Tables]:
        """For each layer, the attributes of the tables that are measured."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the strategy, for people and for the ledger."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of the whole release."""

    @abstractmethod
    def released(self, layer: int, part: int) -> int:
        """The number of integers of a part."""

    @abstractmethod
    def release(self, layer: int, part: int, table: Sensitive[BoundedIntegers], entropy: Entropy | None) -> IntArray:
        """Draw the noisy integers of a part, once, from the exact table of its attributes."""

    @abstractmethod
    def estimate(self, layer: int, attributes: tuple[int, ...], parts: list[IntArray]) -> Floats:
        """An unbiased table of some attributes from the integers of all parts of a layer, flat, in steps."""

    @abstractmethod
    def variance(self, layer: int, attributes: tuple[int, ...]) -> float:
        """The variance of each cell of an estimated table, in steps."""

    @abstractmethod
    def margin(self, layer: int, attributes: tuple[int, ...], miss: float) -> float:
        """The margin of a cell, in steps, which is exceeded with probability `miss` at most."""

    @property
    @abstractmethod
    def citations(self) -> tuple[str, ...]:
        """The citations of its theorems."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RangeNoise:
    """The matrix of running totals of a range, and the noise on it."""

    table: RangeTable
    strategy: PrefixStrategy
    noise: Gaussian | Laplace

    def release(self, bins: Sensitive[BoundedIntegers], entropy: Entropy | None) -> IntArray:
        """Draw the noisy integers: keys × integers of a key, flat."""
        noisy_integers: IntArray = np.asarray(self.noise.release(bins.through(self.strategy), entropy)).reshape(-1)
        return noisy_integers

    def totals(self, released: IntArray) -> Floats:
        """Unbiased running totals: keys × (bins + 1); the first is zero."""
        shaped = np.asarray(released, dtype=np.float64).reshape(-1, sum(self.strategy.sections))
        return self.strategy.running_totals(shaped)

    def margins(self, weights: Floats, miss: float) -> Floats:
        """The margins of weighted sums of the released integers, one for each row of weights."""
        scale = float(self.noise.scale_in_steps)
        if isinstance(self.noise, Laplace):
            noise: Floats = scale * quantiles(weights, miss)
        else:
            noise = quantile([NormalTail(1.0)], miss) * np.sqrt((scale**2 + 1 / 12) * (weights**2).sum(axis=1))
        return noise

    def deviations(self) -> Floats:
        """The standard deviation of every running total but the first."""
        variance = self.noise.tail.variance + 1 / 12
        deviations: Floats = np.sqrt(variance * (self.strategy.weights()[1:] ** 2).sum(axis=1))
        return deviations


def strategy_of(bins: int, *, pure: bool) -> PrefixStrategy:
    """The best known matrix of running totals for a number of bins."""
    return ConsistentTree.over(bins) if pure else SquareRoot(bins)


def rounded_up(scale: float) -> Fraction:
    """A scale rounded up to a short fraction, by at least 2⁻³⁰ of it."""
    if not math.isfinite(scale) or scale <= 0:
        raise Unprovable("the noise of the workload has no bound; nothing was charged", hint="spend more")
    mantissa, exponent = math.frexp(scale)
    return Fraction(math.ceil(mantissa * 2**BITS) + 1) * Fraction(2) ** (exponent - BITS)


def normal_margin(deviation: float, miss: float) -> float:
    """The margin of normal noise, which is exceeded with probability `miss`."""
    return quantile([NormalTail(deviation)], miss)


def laplace_margin(scale: float, terms: int, miss: float) -> float:
    """The margin of a sum of `terms` Laplace noises, each rounded to whole steps.

    The effect of rounding is bounded by half a step for each of them, or by Hoeffding's inequality with a thousandth of
    `miss`.
    """
    rounding = min(terms / 2, math.sqrt(terms / 2 * math.log(2000 / miss)))
    if terms == 1:
        return quantile([LaplaceTail(scale)], miss) + rounding
    return scale * float(quantiles(np.ones((1, terms)), 0.999 * miss)[0]) + rounding


_WAYS = ("each by itself", "the largest alone", "one table of all columns")


@final
@dataclass(frozen=True, slots=True, eq=False)
class LaplaceDesign(Design):
    """Some tables with Laplace noise; every marginal is a sum over the best of them for it.

    Guarantee: a unit of m rows moves every table by at most m·X in L1, where X is the most that a row adds, and twice
    that if it is changed. The prices of independent parts add up to no more than ε [DMNS06], [PDP21, L1.2].
    """

    workload: BoundWorkload
    epsilon: Fraction
    ways: tuple[int, ...]
    tables: tuple[Tables, ...]
    scales: tuple[tuple[Fraction, ...], ...]
    runs: tuple[RangeNoise, ...]

    @classmethod
    def planned(cls, workload: BoundWorkload, epsilon: Fraction, goal: Goal) -> LaplaceDesign:
        """Choose the best tables for each layer, and the split of ε among all parts that minimises the goal."""
        ways, losses, prices = [], [], []
        for layer in workload.layers:
            options = [(way, _coefficients(layer, tables, goal)) for way, tables in _ways(layer)]
            price = [[float(_price(workload, layer, table)) for table in table_list] for _, table_list in _ways(layer)]
            totals = [
                _least(coefficients, np.array(way_prices), goal)
                for (_, coefficients), way_prices in zip(options, price, strict=True)
            ]
            best = int(np.argmin(totals))
            ways.append(options[best][0])
            losses.append(options[best][1])
            prices.append(np.array(price[best]))
        for range_table in workload.ranges:
            strategy = strategy_of(range_table.bins, pure=True)
            rows = (strategy.weights()[1:] ** 2).sum(axis=1)
            losses.append(np.array([range_table.weight * 2 * (rows.mean() if goal == "rms" else rows.max())]))
            prices.append(np.array([float(_range_price(workload, range_table.bins))]))
        loss, price_of_all = np.concatenate(losses), np.concatenate(prices)
        scales = np.cbrt(price_of_all / loss) if goal == "rms" else 1 / np.sqrt(loss)
        scales *= (price_of_all / scales).sum() / float(epsilon)
        return cls.of(workload, epsilon, ways, [rounded_up(float(scale)) for scale in scales])

    @classmethod
    def of(
        cls, workload: BoundWorkload, epsilon: Fraction, ways: Sequence[int], scales: Sequence[Fraction]
    ) -> LaplaceDesign:
        """The design with given ways and scales, in the order of the parts; refused if they do not keep ε."""
        remaining_scales = iter(scales)
        tables = tuple(dict(_ways(layer))[way] for layer, way in zip(workload.layers, ways, strict=True))
        noises = tuple(tuple(itertools.islice(remaining_scales, len(layer_tables))) for layer_tables in tables)
        runs = tuple(
            RangeNoise(range_table, strategy_of(range_table.bins, pure=True), Laplace(next(remaining_scales)))
            for range_table in workload.ranges
        )
        design = cls(workload, epsilon, tuple(ways), tables, noises, runs)
        if design.price() > epsilon:
            raise Unprovable("the parts of the workload cost more than the whole; nothing was charged")
        return design

    @property
    def name(self) -> str:
        way_names = dict.fromkeys(_WAYS[way] for way in self.ways)
        return f"best of {len(_WAYS)} Laplace strategies: {', '.join(way_names) or 'running totals in trees'}"

    @property
    def measured(self) -> list[Tables]:
        return list(self.tables)

    @property
    def event(self) -> events.Laplace:
        return self.event_of(self.epsilon)

    @classmethod
    def event_of(cls, epsilon: Fraction) -> events.Laplace:
        """The event that every plan for ε is charged as."""
        return events.Laplace(1 / epsilon)

    @property
    def citations(self) -> tuple[str, ...]:
        return (Laplace.citation,)

    def price(self) -> Fraction:
        """The ε of all parts together."""
        price = Fraction(0)
        for layer, tables, noises in zip(self.workload.layers, self.tables, self.scales, strict=True):
            pairs = zip(tables, noises, strict=True)
            price += sum((_price(self.workload, layer, table) / noise for table, noise in pairs), Fraction(0))
        for run in self.runs:
            price += _range_price(self.workload, run.table.bins) / run.noise.scale_in_steps
        return price

    def released(self, layer: int, part: int) -> int:
        return self.workload.layers[layer].layout.cells_of(self.tables[layer][part])

    def release(self, layer: int, part: int, table: Sensitive[BoundedIntegers], entropy: Entropy | None) -> IntArray:
        noisy_integers: IntArray = np.asarray(Laplace(self.scales[layer][part]).release(table, entropy)).reshape(-1)
        return noisy_integers

    def estimate(self, layer: int, attributes: tuple[int, ...], parts: list[IntArray]) -> Floats:
        part, _ = self._best(layer, attributes)
        table = self.tables[layer][part]
        layout = self.workload.layers[layer].layout
        summed_axes = tuple(axis for axis, attribute in enumerate(table) if attribute not in attributes)
        shaped = np.asarray(parts[part], dtype=np.float64).reshape(layout.sizes_of(table))
        summed: Floats = shaped.sum(axis=summed_axes).reshape(-1)
        return summed

    def variance(self, layer: int, attributes: tuple[int, ...]) -> float:
        part, terms = self._best(layer, attributes)
        return terms * (2 * float(self.scales[layer][part]) ** 2 + 1 / 12)

    def margin(self, layer: int, attributes: tuple[int, ...], miss: float) -> float:
        part, terms = self._best(layer, attributes)
        return laplace_margin(float(self.scales[layer][part]), terms, miss)

    def _best(self, layer: int, attributes: tuple[int, ...]) -> tuple[int, int]:
        """The table that gives a marginal by summing the fewest cells, and the number of these cells."""
        layout, wanted = self.workload.layers[layer].layout, set(attributes)
        cells = layout.cells_of(attributes)
        fits = [
            (layout.cells_of(table) // cells * self.scales[layer][part] ** 2, part)
            for part, table in enumerate(self.tables[layer])
            if wanted <= set(table)
        ]
        _, best = min(fits)
        return best, layout.cells_of(self.tables[layer][best]) // cells


def _ways(layer: Layer) -> list[tuple[int, Tables]]:
    """The possible ways to measure a layer: the number of each, and the tables it measures."""
    marginals = layer.layout.marginals
    largest = tuple(layer.layout.largest())
    together = tuple(sorted(set(itertools.chain(*marginals))))
    ways: list[tuple[int, Tables]] = [(0, marginals), (1, largest)]
    if layer.layout.cells_of(together) <= MOST_IN_TABLE:
        ways.append((2, (together,)))
    return ways


def _coefficients(layer: Layer, tables: Tables, goal: Goal) -> Floats:
    """The weight of each table's squared scale in the goal, if every marginal uses the smallest table it is in."""
    layout = layer.layout
    if tables == layout.marginals:
        return 2 * layer.weights / layer.contribution(1).reach ** 2
    cells = [layout.cells_of(table) for table in tables]
    order = sorted(range(len(tables)), key=cells.__getitem__)
    coefficients = np.zeros(len(tables))
    for marginal, weight in zip(layout.marginals, layer.weights.tolist(), strict=True):
        best = next(table_index for table_index in order if set(marginal) <= set(tables[table_index]))
        loss = 2 * weight * (cells[best] // layout.cells_of(marginal)) / layer.contribution(1).reach ** 2
        coefficients[best] = coefficients[best] + loss if goal == "rms" else max(coefficients[best], loss)
    return coefficients


def _least(losses: Floats, prices: Floats, goal: Goal) -> float:
    """The least value of the goal at ε = 1: of Σ c·b², or of the greatest c·b², where Σ q/b is one."""
    if goal == "rms":
        return float(np.cbrt(losses * prices**2).sum() ** 3)
    return float((prices * np.sqrt(losses)).sum() ** 2)


def _price(workload: BoundWorkload, layer: Layer, table: tuple[int, ...]) -> Fraction:
    """The L1 sensitivity of a table."""
    contribution = layer.contribution(workload.rows)
    if workload.neighbours == "add-remove":
        return Fraction(workload.rows * contribution.reach)
    if not table:
        return Fraction(workload.rows * max(contribution.reach, contribution.most - contribution.least))
    return Fraction(2 * workload.rows * contribution.reach)


def _range_price(workload: BoundWorkload, bins: int) -> Fraction:
    strategy = strategy_of(bins, pure=True)
    once = workload.rows * len(strategy.sections) * strategy.l1
    return once if workload.neighbours == "add-remove" else 2 * once


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
    scales: tuple[tuple[Fraction, ...], ...]
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
    def measured(self) -> list[Tables]:
        return [layer.layout.residuals for layer in self.workload.layers]

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
        for layer, sigmas in zip(self.workload.layers, self.scales, strict=True):
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
        return ClippedPersons.of(self.workload, self.scales, self.charged)

    def released(self, layer: int, part: int) -> int:
        return self._residual(layer, part).released

    def release(self, layer: int, part: int, table: Sensitive[BoundedIntegers], entropy: Entropy | None) -> IntArray:
        return self._residual(layer, part).release(table, entropy)

    def _residual(self, layer: int, part: int) -> Residual:
        layout = self.workload.layers[layer].layout
        return Residual(layout.sizes_of(layout.residuals[part]), self.scales[layer][part])

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
