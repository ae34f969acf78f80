"""Additive models: one number for each bin of each feature, found by Newton steps on sums of misfits by bin.

Guarantee: three kinds of sums of vectors, each μ-GDP for its part of μ², so that together they are μ-GDP, however the
later ones depend on what the earlier ones released [DRS22]. A row is in one bin of each of d features. (1) Rows in fine
bins of the numbers: length √numbers. (2) Rows in each bin and in each pair of bins of two features: length
√(d(d + 1)/2). (3) In each step the sum of misfits by bin, where a misfit is between -m and m: length m·√d. Of
classes m is ½ in the first step, at even odds, and 1 in the others. Of numbers the length is m·√(d + 1) with the sum of
squares, which tells how small m may be in the next step. A person's vectors are added up, and cut once, at `clip` times
that.

Fine bins are merged by their released counts until each has rows enough to outweigh the noise; nothing of the bins
comes from rows otherwise. The pairs are the curvature of the Newton steps; of classes those start from their rate.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.engines import Component, KeyColumn
from giveortake.errors import InvalidParameter
from giveortake.learn.additive_steps import AdditiveSteps
from giveortake.learn.bins import Binned, BinnedNumber
from giveortake.learn.features import Category, ScaledNumber, added
from giveortake.learn.lattice import GRAIN, one, steps_for, value, vector_sum
from giveortake.learn.logistic import GAINS, MISFITS, PARTS, logistic
from giveortake.learn.shapes import AdditiveModel, Shape
from giveortake.learn.task import Task
from giveortake.plan import Call, ColumnReference, Derive, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.learn.passes import Passes, Released
    from giveortake.learn.task import Ground
    from giveortake.plan import Expression, Relation

    Reals: TypeAlias = npt.NDArray[np.float64]

_GAINS = (1.0, 1.0, 1 / 2, 1 / 3)  # of numbers: one step is the fit but for noise
MOST_CELLS = 2_000  # bins of all features: their curvature has the square of it
MOST_BINS = 16  # of a number, after merging
_FEWEST = 20.0
_WANTED, _FITTED = "wanted number", "fitted number"
_LEAST_MISFIT = Fraction(1, 16)
_FINEST = 1 << 20  # steps of 1 in a misfit of classes: those of a class of one in a thousand are small


@final
class AdditiveTask(Task):
    """The fit of an additive model: count, merge bins, count pairs, and take Newton steps."""

    stored_name: ClassVar[str] = "AdditiveTask"

    def __init__(
        self, ground: Ground, fine: tuple[Binned, ...], target: Category | ScaledNumber, stated: frozenset[str]
    ) -> None:
        self.ground, self.fine, self.target, self.stated = ground, fine, target, stated
        if self._most_cells() > MOST_CELLS:
            raise InvalidParameter(
                "features",
                self._most_cells(),
                f"make more than {MOST_CELLS:,} bins",
                hint="leave out columns with many categories, or name fewer features",
            )
        parts = {"bins": Fraction(3, 20)} if self._to_merge() else {}
        rest = 1 - sum(parts.values())
        parts["pairs"] = rest * Fraction(5, 17)
        self.gains = GAINS if self.is_classifier else _GAINS
        of_steps = PARTS if self.is_classifier else [Fraction(1, len(_GAINS))] * len(_GAINS)
        steps = {f"misfits {place + 1}": rest * Fraction(12, 17) * part for place, part in enumerate(of_steps)}
        self.shares = {**parts, **steps}

    def _to_merge(self) -> list[BinnedNumber]:
        return [each for each in self.fine if isinstance(each, BinnedNumber) and each.name not in self.stated]

    def _most_cells(self) -> int:
        merged = {each.name for each in self._to_merge()}
        return sum(min(each.size, MOST_BINS + 1) if each.name in merged else each.size for each in self.fine)

    def known(self) -> list[VectorSum]:
        coarse = [self._widest(each) for each in self.fine]
        zeros = [np.full(each.size, 1 / 3) for each in coarse]
        first = [self.counts()] if self._to_merge() else []
        mosts = MISFITS if self.is_classifier else [Fraction(1)] * len(self.gains)
        return [*first, self.pairs(coarse), *(self.misfits(coarse, zeros, zeros, most) for most in mosts)]

    def _widest(self, fine: Binned) -> Binned:
        """The most bins that merging can leave: a sum that engines take for these they take for fewer."""
        if isinstance(fine, BinnedNumber) and fine.name not in self.stated:
            return BinnedNumber(fine.number, fine.edges[:MOST_BINS])
        return fine

    def names(self) -> dict[str, Any]:
        bins = [each.to_json() for each in self.fine]
        return {"bins": bins, "target": self.target.to_json(), "stated": sorted(self.stated), "gains": self.gains}

    def words(self) -> str:
        return f"an additive model of {self.target.name}"

    # -- sums ---------------------------------------------------------------------------------------------------

    def counts(self) -> VectorSum:
        """The sum that counts rows in fine bins."""
        fine = self._to_merge()
        return self._of_ones(fine, [(place,) for place in range(len(fine))])

    def pairs(self, coarse: Sequence[Binned]) -> VectorSum:
        """The sum that counts rows in bins, and in pairs of bins."""
        places = range(len(coarse))
        return self._of_ones(coarse, [*((place,) for place in places), *combinations(places, 2)])

    def _of_ones(self, features: Sequence[Binned], cells: list[tuple[int, ...]]) -> VectorSum:
        steps = steps_for(math.sqrt(len(cells)), self.ground.rows, factors=1)
        keys = [each.key() for each in features]
        components = [Component((0,), each) for each in cells]
        return vector_sum(self.ground.relation, [one(steps=steps)], components, self.ground.rows, keys=keys)

    def misfits(
        self, coarse: Sequence[Binned], effects: Sequence[Reals], counts: Sequence[Reals], most: Fraction
    ) -> VectorSum:
        """The sum of misfits by bin, each within ±`most`; for a number as target also the sum of their squares."""
        longest = float(most) * math.sqrt(len(coarse) + (not self.is_classifier))
        steps = steps_for(longest, self.ground.rows, factors=1, most=_FINEST if self.is_classifier else None)
        relation, fitted = self._fitted(coarse, effects, counts)
        misfit = Call("subtract", (ColumnReference(_WANTED), logistic(fitted) if self.is_classifier else fitted))
        values = [value(misfit, -most, most, steps)]
        components = [Component((0,), (place,)) for place in range(len(coarse))]
        if not self.is_classifier:
            square = Call("multiply", (Call("multiply", (misfit, misfit)), Literal(1 / most)))
            values.append(value(square, 0, most, steps))
            components.append(Component((1,)))
        keys = [
            KeyColumn(each.name, ColumnReference(_in_bins(place)), each.key().values)
            for place, each in enumerate(coarse)
        ]
        return vector_sum(relation, values, components, self.ground.rows, keys=keys, longest=longest)

    def _fitted(
        self, coarse: Sequence[Binned], effects: Sequence[Reals], counts: Sequence[Reals]
    ) -> tuple[Relation, Expression]:
        """The rows with columns for their bins and their target, and the sum of the effects of their bins.

        Each is derived as a column of its own: expressions that contain one another would be printed many times.
        """
        target = self.target
        wanted = target.is_value(target.values[1]) if isinstance(target, Category) else target.scaled()
        bins = [(_in_bins(place), each.key().expression) for place, each in enumerate(coarse)]
        rows = Derive(self.ground.relation, (*bins, (_WANTED, wanted)))
        kept = [(name, ColumnReference(name)) for name in (_WANTED, *(name for name, _ in bins))]
        three = enumerate(zip(coarse, effects, counts, strict=True))
        added_up = [
            (f"effect {place}", each.effect(ColumnReference(_in_bins(place)), of_bins.tolist(), of_rows))
            for place, (each, of_bins, of_rows) in three
        ]
        rows = Derive(rows, (*kept, *added_up))
        rows = Derive(rows, (*kept, (_FITTED, added([ColumnReference(name) for name, _ in added_up]))))
        return rows, ColumnReference(_FITTED)

    @property
    def is_classifier(self) -> bool:
        """Whether the target is a column of classes."""
        return isinstance(self.target, Category)

    # -- learning -----------------------------------------------------------------------------------------------

    def learn(self, passes: Passes) -> AdditiveModel:
        coarse = self._merged(passes) if self._to_merge() else list(self.fine)
        made = passes.add_up("pairs", self.pairs(coarse), self.shares["pairs"])
        pairs, rows = _pairs(made, coarse)
        fit = AdditiveSteps(pairs, rows, made.deviation(), of_classes=self.is_classifier)
        total, most, variance, noise = np.zeros(fit.size), MISFITS[0] if self.is_classifier else Fraction(1), 1.0, 1.0
        for place, gain in enumerate(self.gains):
            name = f"misfits {place + 1}"
            asked = self.misfits(coarse, _split(total, coarse), rows, most)
            made = passes.add_up(name, asked, self.shares[name])
            sums = np.concatenate([made.cells(each) for each in range(len(coarse))])
            noise = made.deviation()
            if not self.is_classifier:
                mean = float(made.cells(len(coarse))[0]) * float(most) / fit.n
                variance = min(max(mean, 2 * noise * float(most) / fit.n, 1e-4), 1.0)
                most = _as_small(variance, most)
            elif place == 0:  # at even odds: what the rate of all rows leaves is learned from
                most, total, sums = Fraction(1), *fit.from_rate(sums, noise)
            total = np.round(fit.after(total, gain * sums, noise, variance) * GRAIN) / GRAIN
        doubts, notes = fit.covariance(total, noise, variance, self.gains)
        passes.notes += notes
        centred = _centring(rows)  # features share what is common to their bins in many ways, and no shape has it
        deviations = np.sqrt(np.maximum(np.diag(centred @ doubts @ centred.T), 0))
        return self._model(coarse, _split(total, coarse), _split(deviations, coarse), rows)

    def _merged(self, passes: Passes) -> list[Binned]:
        """The features, with fine bins of numbers merged by released counts."""
        fine = self._to_merge()
        made = passes.add_up("bins", self.counts(), self.shares["bins"])
        counts = {each.name: made.cells(place) for place, each in enumerate(fine)}
        n = max(float(np.mean([each.sum() for each in counts.values()])), _FEWEST)
        least = max(n / MOST_BINS, 3 * made.deviation())
        found: list[Binned] = []
        for each in self.fine:
            merge = isinstance(each, BinnedNumber) and each.name in counts
            found.append(each.merged(counts[each.name], least) if merge else each)  # type: ignore[union-attr]  # (a number)
        return found

    def _model(
        self, coarse: Sequence[Binned], effects: list[Reals], deviations: list[Reals], rows: list[Reals]
    ) -> AdditiveModel:
        """The model: shapes whose mean over rows is zero, and a constant."""
        constant, shapes = 0.0, []
        for each, of_bins, doubt, counts in zip(coarse, effects, deviations, rows, strict=True):
            mean = float(np.average(of_bins, weights=np.maximum(counts, 1.0)))
            constant += mean
            shapes.append(Shape(each, of_bins - mean, doubt))
        return AdditiveModel(self.target, constant, tuple(shapes))


def _pairs(made: Released, coarse: Sequence[Binned]) -> tuple[Reals, list[Reals]]:
    """The matrix of rows in both of two bins, and the rows in each bin."""
    rows = [made.cells(place) for place in range(len(coarse))]
    offsets = np.cumsum([0, *(each.size for each in coarse)])
    found = np.diag(np.concatenate(rows))
    for place, (one_, other) in enumerate(combinations(range(len(coarse)), 2), len(coarse)):
        block = made.cells(place).reshape(coarse[one_].size, coarse[other].size)
        found[offsets[one_] : offsets[one_ + 1], offsets[other] : offsets[other + 1]] = block
        found[offsets[other] : offsets[other + 1], offsets[one_] : offsets[one_ + 1]] = block.T
    return found, rows


def _centring(rows: Sequence[Reals]) -> Reals:
    """The matrix that subtracts from the numbers of each feature's bins their mean over rows."""
    sizes = [len(each) for each in rows]
    found = np.eye(sum(sizes))
    for start, counts in zip(np.cumsum([0, *sizes]), rows, strict=False):
        weights = np.maximum(counts, 1.0)
        found[start : start + len(counts), start : start + len(counts)] -= weights / weights.sum()
    return found


def _split(numbers: Reals, coarse: Sequence[Binned]) -> list[Reals]:
    """Split the numbers of all bins by feature."""
    return np.split(numbers, np.cumsum([each.size for each in coarse])[:-1])


def _as_small(variance: float, most: Fraction) -> Fraction:
    """The bound of misfits in the next step: three deviations of the last ones, and no larger than their bound."""
    eighth = Fraction(math.ceil(3 * math.sqrt(variance) * 64), 64)
    return max(min(eighth, most), _LEAST_MISFIT)


def _in_bins(place: int) -> str:
    """The name of the column that holds a feature's bins."""
    return f"bin {place}"
