"""Additive models: one shape for each feature, made of bins, found by Newton steps on sums of misfits by bin.

- Features in bins, each with one number in an additive model: for the engine and for public rows.
- Fitted models: for each feature its shape, one released number for each bin, and how sure it is.
- Steps of a fit, by what was released: rows in bins and in pairs of bins. All of it is post-processing.
- Additive classifiers and regressors: sums of one shape for each feature, which can be looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np
import numpy.typing as npt

from giveortake import codec
from giveortake.codec import stored
from giveortake.engines import Component, KeyColumn
from giveortake.errors import InvalidParameter
from giveortake.exact import Number, rational, whole
from giveortake.learn.base import Learner, Model, Regressor, required_target
from giveortake.learn.classification import (
    GAINS,
    MISFITS,
    PARTS,
    Classifier,
    chances,
    followed_along,
    log_odds,
    logistic,
    steepness_about,
)
from giveortake.learn.features import (
    Category,
    Feature,
    Reals,
    ScaledNumber,
    added,
    complete,
    feature_of,
    features_of,
    matches,
)
from giveortake.learn.gradient_descent import STEEPEST
from giveortake.learn.linear import Curvature, shrunk
from giveortake.learn.noisy_sums import FitContext, FitPlan, in_grains, one, steps_for, value, vector_sum
from giveortake.plan import Call, ColumnReference, Derive, Literal

if TYPE_CHECKING:
    import os

    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.learn.noisy_sums import NoisySums, Released
    from giveortake.plan import Expression, Relation
    from giveortake.session.kinds.learning_data import LearningData


Bins: TypeAlias = int | Mapping[str, int | Sequence[Number]] | Sequence[Number] | None
MOST_BINS = 256  # of one number


def by_halves(column: ColumnReference, edges: Sequence[Literal], chosen: Sequence[Expression]) -> Expression:
    """Choose an expression by how many edges a column has reached, with as few comparisons as possible."""
    if len(chosen) == 1:
        return chosen[0]
    half = len(chosen) // 2
    below = Call("lt", (column, edges[half - 1]))
    lower, upper = by_halves(column, edges[: half - 1], chosen[:half]), by_halves(column, edges[half:], chosen[half:])
    return Call("case", (below, lower, upper))


@final
@stored("bins")
@dataclass(frozen=True, slots=True)
class BinnedNumber:
    """A number, cut at edges within its declared bounds. Numbers outside are in the first or the last bin."""

    number: ScaledNumber
    edges: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        inside = all(self.number.low < edge < self.number.high for edge in self.edges)
        if not inside or list(self.edges) != sorted(set(self.edges)) or len(self.edges) >= MOST_BINS:
            raise InvalidParameter(
                "bins", self.name, f"has edges that are not fewer than {MOST_BINS}, rising and inside"
            )

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.number.name

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.edges) + 1

    def key(self) -> KeyColumn:
        """The key column in which the engine finds a row's bin."""
        literals = [Literal(index) for index in range(self.size)]
        by_bin = by_halves(ColumnReference(self.name), [Literal(edge) for edge in self.edges], literals)
        return KeyColumn(self.name, by_bin, tuple(range(self.size)))

    def effect(self, bins: ColumnReference, effects: Sequence[float], counts: Reals) -> Expression:
        """The number of a row's bin; the column `bins` holds the bin's index."""
        edges = [Literal(index) for index in range(1, self.size)]
        return by_halves(bins, edges, [Literal(Fraction(effect)) for effect in effects])

    def indexes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The bins of public values; values beyond the bounds are in the outermost."""
        cuts = np.array([float(edge) for edge in self.edges])
        return np.searchsorted(cuts, self.number.numbers(values), side="right").astype(np.int64)

    def merged(self, counts: Reals, least: float) -> BinnedNumber:
        """Merge neighbouring bins until each has `least` rows by released counts."""
        edges, rows = [], 0.0
        for index, count in enumerate(counts.tolist()):
            rows += count
            if rows >= least and index < len(self.edges):
                edges.append(self.edges[index])
                rows = 0.0
        if rows < least and edges:
            edges.pop()
        return BinnedNumber(self.number, tuple(edges))

    def ends(self) -> list[tuple[float, float]]:
        """Where each bin begins and ends."""
        cuts = [float(edge) for edge in (self.number.low, *self.edges, self.number.high)]
        return list(itertools.pairwise(cuts))

    def labels(self) -> list[str]:
        """The name of each bin."""
        return [f"{low:g} … {high:g}" for low, high in self.ends()]


@final
@stored("categories")
@dataclass(frozen=True, slots=True)
class BinnedCategory:
    """A column of categories: each is a bin."""

    category: Category

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.category.name

    @property
    def size(self) -> int:
        """How many categories there are."""
        return len(self.category.values)

    def key(self) -> KeyColumn:
        """The key column that holds a row's category."""
        return KeyColumn(self.name, ColumnReference(self.name), self.category.values)

    def effect(self, bins: ColumnReference, effects: Sequence[float], counts: Reals) -> Expression:
        """The number of a row's category, which the column `bins` holds; frequent categories are tested first."""
        branches: list[Expression] = []
        for index in np.argsort(-counts, kind="stable").tolist():
            branches += [matches(bins, self.category.values[index]), Literal(Fraction(effects[index]))]
        return Call("case", (*branches, Literal(Fraction(0))))

    def indexes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The indexes of public values among the categories; -1 where one is missing. Others are refused."""
        return self.category.indexes(values)

    def labels(self) -> list[str]:
        """The name of each category."""
        return ["–" if category is None else str(category) for category in self.category.values]


Binned: TypeAlias = BinnedNumber | BinnedCategory


def binned(feature: Feature, bins: object, default_bins: int) -> Binned:
    """Put a feature in bins: a number of equal bins, or stated edges, by name or for all features."""
    if isinstance(feature, Category):
        return BinnedCategory(feature)
    stated = (
        bins.get(feature.name, default_bins) if isinstance(bins, Mapping) else (default_bins if bins is None else bins)
    )
    if isinstance(stated, list | tuple):
        edges = tuple(rational("bins", edge) for edge in stated)
        inside = all(feature.low < edge < feature.high for edge in edges)
        if not inside or list(edges) != sorted(set(edges)) or len(edges) >= MOST_BINS:
            raise InvalidParameter("bins", stated, f"are not increasing edges within the bounds of {feature.name}")
        return BinnedNumber(feature, edges)
    count = whole("bins", stated)  # type: ignore[arg-type]  # (checked there)
    if not 1 <= count <= MOST_BINS:
        raise InvalidParameter("bins", stated, f"is not a number of bins up to {MOST_BINS}", hint="bins=32")
    width = (feature.high - feature.low) / count
    cuts = (feature.low + index * width for index in range(1, count))
    return BinnedNumber(feature, tuple(Fraction(float(cut)) for cut in cuts))


def is_stated(feature: Feature, bins: object) -> bool:
    """Whether the bins of a feature stay as they are: categories, and numbers with stated edges."""
    if isinstance(feature, Category):
        return True
    return isinstance(bins.get(feature.name) if isinstance(bins, Mapping) else bins, list | tuple)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What each bin of a feature adds, less the mean over rows, and its deviation: by noise, sampling and shrinking."""

    bins: Binned
    effects: Reals
    deviations: Reals

    def __post_init__(self) -> None:
        if not len(self.effects) == len(self.deviations) == self.bins.size:
            raise InvalidParameter("shape", self.bins.name, "has not one effect and one deviation for each bin")

    def contributions(self, values: npt.NDArray[Any]) -> Reals:
        """What public values add; a missing category adds nothing."""
        indexes = self.bins.indexes(values)
        return np.where(indexes < 0, 0.0, self.effects[np.maximum(indexes, 0)])


@final
@stored("additive")
@dataclass(frozen=True, slots=True, eq=False)
class AdditiveModel(Model):
    """A constant and a shape for each feature; they add up to log-odds of the second class, or to a scaled number."""

    target: Category | ScaledNumber
    constant: float
    shapes: tuple[Shape, ...]

    @property
    def features(self) -> tuple[Binned, ...]:
        """The features in their bins."""
        return tuple(shape.bins for shape in self.shapes)

    def totals(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """The sum of shapes, for each public row."""
        length = len(next(iter(columns.values())))
        return np.asarray(
            sum(
                (shape.contributions(columns[shape.bins.name]) for shape in self.shapes), np.full(length, self.constant)
            )
        )

    def scores(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """Half the log-odds against and for the second class."""
        half = np.clip(self.totals(columns), -STEEPEST, STEEPEST) / 2
        return np.column_stack([-half, half])

    def numbers(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """The target's own numbers, within its bounds."""
        assert isinstance(self.target, ScaledNumber)  # noqa: S101 (asked of regressors)
        low, high = float(self.target.low), float(self.target.high)
        return np.asarray((np.clip(self.totals(columns), -1, 1) + 1) / 2 * (high - low) + low)

    @property
    def unit(self) -> float:
        """What 1 of a shape is worth: 1 in log-odds, else half the width of the target's bounds."""
        return 1.0 if isinstance(self.target, Category) else float(self.target.high - self.target.low) / 2


_PRIOR = 0.1  # how large the square of a bin's number is thought to be
_PRIOR_OF_ALL = 4.0  # the same of what all bins have in common
_FEWEST = 20.0
_BARELY = 1e-6


@final
@dataclass(frozen=True, slots=True, eq=False)
class _BinMeans:
    """Numbers of bins less their feature's mean, the excess of each other feature in rows of a bin, and the rest.

    That is the mean of all log-odds, the variance of each feature's numbers, and how steep the loss is in each bin.
    """

    own: Reals
    cross_effects: Reals
    middle: float
    spreads: Reals
    steep: Reals


@final
class AdditiveSteps:
    """Where a fit gets to by sums of misfits.

    `pairs` are rows in both of two bins, and `rows` those in each, by feature.

    `noise` is that of the pairs. Bins of classes are as steep as the logistic function is for their rows, those of
    numbers 1 everywhere.
    """

    def __init__(self, pairs: Reals, rows: Sequence[Reals], noise: float, *, is_classifier: bool) -> None:
        self._pairs, self._rows, self._noise, self._is_classifier = pairs, rows, noise, is_classifier
        self._ends = np.cumsum([0, *(len(counts) for counts in rows)])
        self._parts = [slice(*ends) for ends in pairwise(self._ends.tolist())]
        self._feature_indicators = np.repeat(np.eye(len(rows)), np.diff(self._ends), axis=0)
        self.n = max(float(sum(counts.sum() for counts in rows)) / len(rows), _FEWEST)

    @property
    def size(self) -> int:
        """How many bins there are."""
        return int(self._ends[-1])

    def from_rate(self, sums: Reals, noise: float) -> tuple[Reals, Reals]:
        """The fit that has the rate of all rows everywhere, and the misfits there, of those at even odds."""
        features = len(self._rows)
        doubt = noise * math.sqrt(self.size) / features / self.n
        start = log_odds(0.5 + float(sums.sum()) / features / self.n, doubt)
        return np.full(self.size, start / features), sums - (chances(np.array(start)) - 0.5) * self._counts()

    def after(self, total: Reals, sums: Reals, noise: float, variance: float) -> Reals:
        """Where a fit gets to from where its misfits have these sums."""
        weights = self._weights(total)
        curvature = self._curvature(weights)
        inverse = self._inverse(curvature, weights, noise, variance)
        height = float(np.diag(weights) @ self._counts()) / len(self._rows)
        common = self._common(sums, noise, height, variance)
        left = sums - common * curvature.positive().sum(axis=1)
        if not self._is_classifier:
            return np.asarray(total + common + inverse @ left)
        before = self._bin_means(total).steep

        def direction(point: Reals) -> Reals:
            """With bins that become steeper on the way, as those do in which a rare class is frequent."""
            steeper = np.sqrt(np.maximum(self._bin_means(point).steep / before, 1.0))
            return np.asarray(common + (inverse @ (left / steeper)) / steeper)

        return followed_along(total, direction)

    def covariance(
        self, total: Reals, noise: float, variance: float, gains: Sequence[float]
    ) -> tuple[Reals, list[str]]:
        """Of the numbers of bins: by noise, which the last steps average, by sampling, and by shrinking; and notes."""
        steps = sum(gain < 1 for gain in gains) + 1  # the last that is taken in full, and those after it
        weights = self._weights(total)
        curvature = self._curvature(weights)
        inverse, seen = self._inverse(curvature, weights, noise, variance), curvature.positive()
        spread = noise**2 / steps * np.eye(self.size) + variance * seen
        unseen = np.eye(self.size) - inverse @ seen  # by how much bins are drawn to what is common
        squares = np.maximum(self._feature_indicators @ self._bin_means(total).spreads, _PRIOR)  # of what is shrunk
        directions = self.size - len(self._parts) + 1
        notes = shrunk(inverse @ seen, gains, directions, "shapes") if self._is_classifier else []
        return np.asarray(inverse @ spread @ inverse + (unseen * squares) @ unseen.T), notes

    def _counts(self) -> Reals:
        return np.maximum(np.concatenate(self._rows), 0)

    def _bin_means(self, total: Reals) -> _BinMeans:
        """What rows of each bin have of the numbers of other features.

        Pairs tell of it; those of a bin with few rows are believed less.
        """
        means, spreads = np.zeros(len(self._parts)), np.zeros(len(self._parts))
        for feature_index, (part, rows) in enumerate(zip(self._parts, self._rows, strict=True)):
            weights = np.maximum(rows, 1.0)
            means[feature_index] = np.average(total[part], weights=weights)
            spreads[feature_index] = np.average((total[part] - means[feature_index]) ** 2, weights=weights)
        own, counts = total - np.repeat(means, np.diff(self._ends)), self._counts()
        cross_effects = (self._pairs * own) @ self._feature_indicators
        cross_effects *= (counts / (counts**2 + self._noise**2 * self.size + 1))[:, None]
        cross_effects[self._feature_indicators > 0] = 0  # a bin's own number is no other's
        other_variance = spreads.sum() - self._feature_indicators @ spreads
        middle = own + cross_effects.sum(axis=1) + means.sum()
        return _BinMeans(own, cross_effects, float(means.sum()), spreads, steepness_about(middle, other_variance))

    def _weights(self, total: Reals) -> Reals:
        """How steep the loss is for rows in both of two bins, and on the diagonal for rows in one.

        Their log-odds have the numbers of these bins, and of other features' numbers a mean and a variance.
        """
        if not self._is_classifier:
            return np.ones_like(self._pairs)
        bin_means = self._bin_means(total)
        if len(self._parts) == 1:
            return np.diag(bin_means.steep)
        weights, alone = np.zeros_like(self._pairs), np.zeros((self.size, len(self._parts)))
        pair_rows, bin_log_odds = (
            np.maximum(self._pairs, 0) + _BARELY,
            bin_means.own + bin_means.cross_effects.sum(axis=1),
        )
        for left, right in combinations(range(len(self._parts)), 2):
            first, second = self._parts[left], self._parts[right]
            first_log_odds, second_log_odds = (
                bin_log_odds[first] - bin_means.cross_effects[first, right],
                bin_log_odds[second] - bin_means.cross_effects[second, left],
            )
            other_variance = bin_means.spreads.sum() - bin_means.spreads[left] - bin_means.spreads[right]
            block = steepness_about(first_log_odds[:, None] + second_log_odds + bin_means.middle, other_variance)
            weights[first, second], weights[second, first] = block, block.T
            alone[first, right] = np.average(block, weights=pair_rows[first, second], axis=1)
            alone[second, left] = np.average(block, weights=pair_rows[first, second], axis=0)
        np.fill_diagonal(weights, alone.sum(axis=1) / (len(self._parts) - 1))
        return weights

    def _curvature(self, weights: Reals) -> Curvature:
        """Of all bins, without what moves those of one feature up and of another down: that changes no row."""
        return Curvature.from_matrix(
            self._without_opposing_shifts(self._without_opposing_shifts(self._pairs * weights).T)
        )

    def _without_opposing_shifts(self, columns: Reals) -> Reals:
        """Columns without what moves features against each other."""
        means = (self._feature_indicators.T @ columns) / np.diff(self._ends)[:, None]
        return np.asarray(columns - self._feature_indicators @ means + columns.mean(axis=0))

    def _inverse(self, curvature: Curvature, weights: Reals, noise: float, variance: float) -> Reals:
        """What takes sums to numbers of bins."""
        steep = float(np.average(np.diag(weights), weights=np.maximum(self._counts(), 1.0)))
        floor = steep * self._noise * math.sqrt(self.size)
        inverse = curvature.inverse(noise**2 / variance, _PRIOR / variance, floor)
        return self._without_opposing_shifts(self._without_opposing_shifts(inverse).T)

    def _common(self, sums: Reals, noise: float, height: float, variance: float) -> float:
        """What all bins of all features move by together: a row has one bin of each, so all have the same misfits.

        Bins are drawn to this, and not to even odds: those of few rows would stay there.
        """
        features = len(self._rows)
        misfits, doubt = float(sums.sum()) / features, noise**2 * self.size / features**2
        return height / (height**2 + (doubt + height * variance) / _PRIOR_OF_ALL) * misfits / features


_GAINS = (1.0, 1.0, 1 / 2, 1 / 3)  # of numbers: one step is the fit but for noise
MOST_CELLS = 2_000  # bins of all features: their curvature has the square of it
MOST_FITTED_BINS = 16  # of a number, after merging
_WANTED, _FITTED = "wanted number", "fitted number"
_LEAST_MISFIT = Fraction(1, 16)
_FINEST = 1 << 20  # steps of 1 in a misfit of classes: those of a class of one in a thousand are small


@final
class AdditivePlan(FitPlan):
    """The fit of an additive model: count, merge bins, count pairs, and take Newton steps.

    Guarantee: three kinds of sums of vectors, each μ-GDP for its part of μ², so that together they are μ-GDP, however
    the later ones depend on what the earlier ones released [DRS22]. A row is in one bin of each of d features. (1) Rows
    in fine bins of the numbers: length √numbers. (2) Rows in each bin and in each pair of bins of two features: length
    √(d(d + 1)/2). (3) In each step the sum of misfits by bin, where a misfit is between -m and m: length m·√d. Of
    classes m is ½ in the first step, at even odds, and 1 in the others. Of numbers the length is m·√(d + 1) with the
    sum of squares, which tells how small m may be in the next step. A person's vectors are added up, and cut once, at
    `clip` times that.

    Fine bins are merged by their released counts until each has rows enough to outweigh the noise; nothing of the bins
    comes from rows otherwise. The pairs are the curvature of the Newton steps; of classes those start from their rate.
    """

    stored_name: ClassVar[str] = "AdditiveTask"

    def __init__(
        self, context: FitContext, fine: tuple[Binned, ...], target: Category | ScaledNumber, stated: frozenset[str]
    ) -> None:
        self.context, self.fine, self.target, self.stated = context, fine, target, stated
        if self._most_cells() > MOST_CELLS:
            raise InvalidParameter(
                "features",
                self._most_cells(),
                f"make more than {MOST_CELLS:,} bins",
                hint="leave out columns with many categories, or name fewer features",
            )
        parts = {"bins": Fraction(3, 20)} if self._to_merge() else {}
        remaining_share = 1 - sum(parts.values())
        parts["pairs"] = remaining_share * Fraction(5, 17)
        self.gains = GAINS if self.is_classifier else _GAINS
        step_shares = PARTS if self.is_classifier else [Fraction(1, len(_GAINS))] * len(_GAINS)
        steps = {
            f"misfits {index + 1}": remaining_share * Fraction(12, 17) * part for index, part in enumerate(step_shares)
        }
        self.shares = {**parts, **steps}

    def _to_merge(self) -> list[BinnedNumber]:
        return [
            feature for feature in self.fine if isinstance(feature, BinnedNumber) and feature.name not in self.stated
        ]

    def _most_cells(self) -> int:
        merged = {feature.name for feature in self._to_merge()}
        return sum(
            min(feature.size, MOST_FITTED_BINS + 1) if feature.name in merged else feature.size for feature in self.fine
        )

    def known(self) -> list[VectorSum]:
        coarse = [self._widest(feature) for feature in self.fine]
        zeros = [np.full(feature.size, 1 / 3) for feature in coarse]
        first = [self.counts()] if self._to_merge() else []
        mosts = MISFITS if self.is_classifier else [Fraction(1)] * len(self.gains)
        return [*first, self.pairs(coarse), *(self.misfits(coarse, zeros, zeros, most) for most in mosts)]

    def _widest(self, fine: Binned) -> Binned:
        """The most bins that merging can leave: a sum that engines take for these they take for fewer."""
        if isinstance(fine, BinnedNumber) and fine.name not in self.stated:
            return BinnedNumber(fine.number, fine.edges[:MOST_FITTED_BINS])
        return fine

    def names(self) -> dict[str, Any]:
        bins = [codec.write(feature) for feature in self.fine]
        return {"bins": bins, "target": codec.write(self.target), "stated": sorted(self.stated), "gains": self.gains}

    def words(self) -> str:
        return f"an additive model of {self.target.name}"

    # -- sums ---------------------------------------------------------------------------------------------------

    def counts(self) -> VectorSum:
        """The sum that counts rows in fine bins."""
        fine = self._to_merge()
        return self._row_counts(fine, [(index,) for index in range(len(fine))])

    def pairs(self, coarse: Sequence[Binned]) -> VectorSum:
        """The sum that counts rows in bins, and in pairs of bins."""
        indexes = range(len(coarse))
        return self._row_counts(coarse, [*((index,) for index in indexes), *combinations(indexes, 2)])

    def _row_counts(self, features: Sequence[Binned], cells: list[tuple[int, ...]]) -> VectorSum:
        steps = steps_for(math.sqrt(len(cells)), self.context.rows, factors=1)
        keys = [feature.key() for feature in features]
        components = [Component((0,), cell) for cell in cells]
        return vector_sum(self.context.relation, [one(steps=steps)], components, self.context.rows, keys=keys)

    def misfits(
        self, coarse: Sequence[Binned], effects: Sequence[Reals], counts: Sequence[Reals], most: Fraction
    ) -> VectorSum:
        """The sum of misfits by bin, each within ±`most`; for a number as target also the sum of their squares."""
        longest = float(most) * math.sqrt(len(coarse) + (not self.is_classifier))
        steps = steps_for(longest, self.context.rows, factors=1, most=_FINEST if self.is_classifier else None)
        relation, fitted = self._fitted(coarse, effects, counts)
        misfit = Call("subtract", (ColumnReference(_WANTED), logistic(fitted) if self.is_classifier else fitted))
        values = [value(misfit, -most, most, steps)]
        components = [Component((0,), (index,)) for index in range(len(coarse))]
        if not self.is_classifier:
            square = Call("multiply", (Call("multiply", (misfit, misfit)), Literal(1 / most)))
            values.append(value(square, 0, most, steps))
            components.append(Component((1,)))
        keys = [
            KeyColumn(feature.name, ColumnReference(_in_bins(index)), feature.key().values)
            for index, feature in enumerate(coarse)
        ]
        return vector_sum(relation, values, components, self.context.rows, keys=keys, longest=longest)

    def _fitted(
        self, coarse: Sequence[Binned], effects: Sequence[Reals], counts: Sequence[Reals]
    ) -> tuple[Relation, Expression]:
        """The rows with columns for their bins and their target, and the sum of the effects of their bins.

        Each is derived as a column of its own: expressions that contain one another would be printed many times.
        """
        target = self.target
        target_number = target.is_value(target.values[1]) if isinstance(target, Category) else target.scaled()
        bins = [(_in_bins(index), feature.key().expression) for index, feature in enumerate(coarse)]
        rows = Derive(self.context.relation, (*bins, (_WANTED, target_number)))
        carried = [(name, ColumnReference(name)) for name in (_WANTED, *(name for name, _ in bins))]
        numbered = enumerate(zip(coarse, effects, counts, strict=True))
        added_up = [
            (f"effect {index}", feature.effect(ColumnReference(_in_bins(index)), bin_effects.tolist(), bin_counts))
            for index, (feature, bin_effects, bin_counts) in numbered
        ]
        rows = Derive(rows, (*carried, *added_up))
        rows = Derive(rows, (*carried, (_FITTED, added([ColumnReference(name) for name, _ in added_up]))))
        return rows, ColumnReference(_FITTED)

    @property
    def is_classifier(self) -> bool:
        """Whether the target is a column of classes."""
        return isinstance(self.target, Category)

    # -- learning -----------------------------------------------------------------------------------------------

    def learn(self, noisy_sums: NoisySums) -> AdditiveModel:
        coarse = self._merged(noisy_sums) if self._to_merge() else list(self.fine)
        pair_counts = noisy_sums.add_up("pairs", self.pairs(coarse), self.shares["pairs"])
        pairs, rows = _pairs(pair_counts, coarse)
        fit = AdditiveSteps(pairs, rows, pair_counts.deviation(), is_classifier=self.is_classifier)
        total, most, variance, noise = np.zeros(fit.size), MISFITS[0] if self.is_classifier else Fraction(1), 1.0, 1.0
        for step, gain in enumerate(self.gains):
            name = f"misfits {step + 1}"
            vector_sum = self.misfits(coarse, _split(total, coarse), rows, most)
            misfit_sums = noisy_sums.add_up(name, vector_sum, self.shares[name])
            sums = np.concatenate([misfit_sums.cells(index) for index in range(len(coarse))])
            noise = misfit_sums.deviation()
            if not self.is_classifier:
                mean = float(misfit_sums.cells(len(coarse))[0]) * float(most) / fit.n
                variance = min(max(mean, 2 * noise * float(most) / fit.n, 1e-4), 1.0)
                most = _as_small(variance, most)
            elif step == 0:  # at even odds: what the rate of all rows leaves is learned from
                most, total, sums = Fraction(1), *fit.from_rate(sums, noise)
            total = in_grains(fit.after(total, gain * sums, noise, variance))
        doubts, notes = fit.covariance(total, noise, variance, self.gains)
        noisy_sums.notes += notes
        centred = _centring(rows)  # features share what is common to their bins in many ways, and no shape has it
        deviations = np.sqrt(np.maximum(np.diag(centred @ doubts @ centred.T), 0))
        return self._model(coarse, _split(total, coarse), _split(deviations, coarse), rows)

    def _merged(self, noisy_sums: NoisySums) -> list[Binned]:
        """The features, with fine bins of numbers merged by released counts."""
        fine = self._to_merge()
        bin_counts = noisy_sums.add_up("bins", self.counts(), self.shares["bins"])
        counts = {feature.name: bin_counts.cells(index) for index, feature in enumerate(fine)}
        n = max(float(np.mean([feature_counts.sum() for feature_counts in counts.values()])), _FEWEST)
        least = max(n / MOST_FITTED_BINS, 3 * bin_counts.deviation())
        coarse: list[Binned] = []
        for feature in self.fine:
            merge = isinstance(feature, BinnedNumber) and feature.name in counts
            coarse.append(feature.merged(counts[feature.name], least) if merge else feature)  # type: ignore[union-attr]  # (a number)
        return coarse

    def _model(
        self, coarse: Sequence[Binned], effects: list[Reals], deviations: list[Reals], rows: list[Reals]
    ) -> AdditiveModel:
        """The model: shapes whose mean over rows is zero, and a constant."""
        constant, shapes = 0.0, []
        for feature, bin_effects, doubt, counts in zip(coarse, effects, deviations, rows, strict=True):
            mean = float(np.average(bin_effects, weights=np.maximum(counts, 1.0)))
            constant += mean
            shapes.append(Shape(feature, bin_effects - mean, doubt))
        return AdditiveModel(self.target, constant, tuple(shapes))


def _pairs(released: Released, coarse: Sequence[Binned]) -> tuple[Reals, list[Reals]]:
    """The matrix of rows in both of two bins, and the rows in each bin."""
    rows = [released.cells(index) for index in range(len(coarse))]
    offsets = np.cumsum([0, *(feature.size for feature in coarse)])
    pairs = np.diag(np.concatenate(rows))
    for index, (one_, other) in enumerate(combinations(range(len(coarse)), 2), len(coarse)):
        block = released.cells(index).reshape(coarse[one_].size, coarse[other].size)
        pairs[offsets[one_] : offsets[one_ + 1], offsets[other] : offsets[other + 1]] = block
        pairs[offsets[other] : offsets[other + 1], offsets[one_] : offsets[one_ + 1]] = block.T
    return pairs, rows


def _centring(rows: Sequence[Reals]) -> Reals:
    """The matrix that subtracts from the numbers of each feature's bins their mean over rows."""
    sizes = [len(feature_counts) for feature_counts in rows]
    matrix = np.eye(sum(sizes))
    for start, counts in zip(np.cumsum([0, *sizes]), rows, strict=False):
        weights = np.maximum(counts, 1.0)
        matrix[start : start + len(counts), start : start + len(counts)] -= weights / weights.sum()
    return matrix


def _split(numbers: Reals, coarse: Sequence[Binned]) -> list[Reals]:
    """Split the numbers of all bins by feature."""
    return np.split(numbers, np.cumsum([feature.size for feature in coarse])[:-1])


def _as_small(variance: float, most: Fraction) -> Fraction:
    """The bound of misfits in the next step: three deviations of the last ones, and no larger than their bound."""
    eighth = Fraction(math.ceil(3 * math.sqrt(variance) * 64), 64)
    return max(min(eighth, most), _LEAST_MISFIT)


def _in_bins(feature_index: int) -> str:
    """The name of the column that holds a feature's bins."""
    return f"bin {feature_index}"


_USUAL_BINS = 32  # fine ones, where no public number of rows is known


@dataclass(eq=False, repr=False)
class _Additive(Learner):
    """The base of additive classifiers and regressors."""

    model_class: ClassVar[type[Model]] = AdditiveModel

    _: KW_ONLY
    n: int | None = None
    bins: Bins = None

    def _additive(
        self, context: FitContext, features: tuple[Feature, ...], target: Category | ScaledNumber
    ) -> AdditivePlan:
        default_bins = (
            _USUAL_BINS if self.n is None else fine_bins(self.n / context.rows, len(features), float(context.mu))
        )
        fine = tuple(binned(feature, self.bins, default_bins) for feature in features)
        stated = frozenset(feature.name for feature in features if is_stated(feature, self.bins))
        return AdditivePlan(context, fine, target, stated)

    def shapes(self) -> dict[str, list[tuple[str, float, float]]]:
        """For each feature, the name of each bin, what it adds, and one deviation of that."""
        model: AdditiveModel = self._require_fitted()
        return {
            shape.bins.name: list(
                zip(
                    shape.bins.labels(),
                    (shape.effects * model.unit).tolist(),
                    (shape.deviations * model.unit).tolist(),
                    strict=True,
                )
            )
            for shape in model.shapes
        }

    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """Each feature's shape with a band of two deviations, saved where a path is given; needs the extra `[plot]`."""
        from giveortake.plot import titled_or_saved  # noqa: PLC0415 (heavy)
        from giveortake.plot.intervals import shapes  # noqa: PLC0415 (heavy)

        return titled_or_saved(lambda words: shapes(self._drawn(), *self._axis(), title=words), title)

    def _drawn(self) -> list[tuple[str, list[tuple[Any, float, float]]]]:
        """For each feature, its bins as ends or as names, what each adds, and two deviations of that."""
        model: AdditiveModel = self._require_fitted()
        drawn_shapes = []
        for shape in model.shapes:
            bins = shape.bins
            ends: list[Any] = list(bins.ends()) if hasattr(bins, "ends") else bins.labels()
            effects, doubts = (shape.effects * model.unit).tolist(), (2 * shape.deviations * model.unit).tolist()
            drawn_shapes.append((bins.name, list(zip(ends, effects, doubts, strict=True))))
        return drawn_shapes

    def _axis(self) -> tuple[str, str]:
        raise NotImplementedError

    def _described(self) -> tuple[tuple[str, str], ...]:
        bins = ", ".join(f"{shape.bins.name} {shape.bins.size}" for shape in self.model_.shapes)
        return (("bins", bins),)


@stored("AdditiveClassifier")
@dataclass(eq=False, repr=False)
class AdditiveClassifier(_Additive, Classifier):
    """Two declared classes, predicted by one shape per feature: what each bin adds to the second's log-odds.

    `bins` is how many fine bins each number is cut into before they are merged, or by name a number or a list of edges,
    which are taken as they are. The other parameters are those of every classifier.
    """

    def _plan(self, data: LearningData, spend: Spend) -> AdditivePlan:
        return self._additive(*self._planned(data, spend, most=2))

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (self._classes("shapes above 0"), *super()._described())

    def _axis(self) -> tuple[str, str]:
        target = self.model_.target
        return "log-odds", f"Above 0: {target.name} = {target.values[1]} is more likely"


@stored("AdditiveRegressor")
@dataclass(eq=False, repr=False)
class AdditiveRegressor(_Additive, Regressor):
    """A bounded number, predicted by a sum of one shape per feature. Parameters are those of `AdditiveClassifier`.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> model = gt.learn.AdditiveRegressor("weight", ["age"], epsilon=1, delta="1e-7").fit(s)
    >>> young, old = model.predict(pl.DataFrame({"age": [20, 50]}))
    >>> bool(young < old)
    True
    """

    def _plan(self, data: LearningData, spend: Spend) -> AdditivePlan:
        target = required_target(self.target)
        features = features_of(data.schema, self.features, target)
        target_feature = feature_of(data.schema, target, "target")
        if not isinstance(target_feature, ScaledNumber):
            raise InvalidParameter(
                "target", target, "is not a number with declared bounds", hint="AdditiveClassifier learns classes"
            )
        condition = complete(data.schema, [target, *(feature.name for feature in features)])
        context = FitContext.from_parameters(data, spend, self.clip, condition)
        return self._additive(context, features, target_feature)

    def predict(self, rows: Any) -> Reals:
        """The expected number of each public row, within the declared bounds."""
        model: AdditiveModel = self._require_fitted()
        return model.numbers(self._public(rows, [feature.name for feature in model.features]))

    def _axis(self) -> tuple[str, str]:
        return self.model_.target.name, f"What each feature adds to {self.model_.target.name}"


def fine_bins(rows: float, features: int, mu: float) -> int:
    """How many fine bins to take, 8 to 64: the noise is about a third of an even share of the public number of rows."""
    fits = max(rows * mu / (3 * math.sqrt(features)), 1.0)
    return 1 << min(max(math.floor(math.log2(fits)), 3), 6)
