"""Naive Bayes and class means: one pass over the rows, for tables too small for anything that needs more.

Guarantee: a row of one of the declared classes adds, in the cells of its class alone, 1, each number x between -1 and
1, x² − ½ if variances are wanted, and 1 in the cell of each of its categories. Because |x² − ½| ≤ ½, its vector has
length √(1 + c + d) at most for c categories and d numbers, and √(1 + c + 5d/4) with variances. A person's vectors are
added up, and cut once, at `clip` times that. The sum is μ-GDP, and all else is computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.engines import Component, KeyColumn
from giveortake.learn.base import Classifier, ClassModel, FitPlan, features_and_classes, planned
from giveortake.learn.features import Category, Feature, ScaledNumber
from giveortake.learn.noisy_sums import one, steps_for, value, vector_sum
from giveortake.plan import Call, ColumnReference, Literal

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.learn.base import FitContext, Model
    from giveortake.learn.noisy_sums import NoisySums, Released
    from giveortake.plan import Expression
    from giveortake.session.learning_data import LearningData

    Reals: TypeAlias = npt.NDArray[np.float64]

_HALF = Fraction(1, 2)
_USUAL = 1 / 3  # the variance of numbers that are spread evenly over their bounds
_LEAST = 0.02  # deviation of a number, as a part of its bounds


@final
class BayesPlan(FitPlan):
    """One pass: for each class its number of rows, sums of numbers, and counts of categories."""

    stored_name: ClassVar[str] = "BayesTask"

    def __init__(
        self, context: FitContext, features: tuple[Feature, ...], target: Category, *, variances: bool
    ) -> None:
        self.context, self.features, self.target, self.variances = context, features, target, variances
        self.numbers = [feature for feature in features if isinstance(feature, ScaledNumber)]
        self.categories = [feature for feature in features if isinstance(feature, Category)]
        self.shares = {"classes": Fraction(1)}

    def known(self) -> list[VectorSum]:
        longest = (1 + len(self.categories) + len(self.numbers) * (1.25 if self.variances else 1)) ** 0.5
        steps = steps_for(longest, self.context.rows, factors=1)
        values = [one(steps=steps), *(value(number.scaled(), steps=steps) for number in self.numbers)]
        if self.variances:
            values += [value(_square(number.scaled()), -0.5, 0.5, steps) for number in self.numbers]
        keys = [
            KeyColumn(category.name, ColumnReference(category.name), category.values)
            for category in (self.target, *self.categories)
        ]
        components = [Component((index,), (0,)) for index in range(len(values))]
        components += [Component((0,), (0, index)) for index in range(1, len(keys))]
        return [vector_sum(self.context.relation, values, components, self.context.rows, keys=keys, longest=longest)]

    def names(self) -> dict[str, Any]:
        features = [feature.to_json() for feature in self.features]
        return {"features": features, "target": self.target.to_json(), "variances": self.variances}

    def words(self) -> str:
        learner = "naive Bayes" if self.variances else "class means"
        return f"{learner} of {self.target.name}"

    def learn(self, noisy_sums: NoisySums) -> BayesModel:
        (vector_sum,) = self.known()
        class_sums = noisy_sums.add_up("classes", vector_sum, self.shares["classes"])
        noise = class_sums.deviation()
        counts = np.maximum(class_sums.cells(0), max(noise, 1.0))
        doubt = (noise / counts)[:, None]
        count = len(self.numbers)
        means = np.clip(_table(class_sums, range(1, 1 + count), len(counts)) / counts[:, None], -1, 1)
        spread = np.full_like(means, _USUAL)
        if self.variances:
            squares = _table(class_sums, range(1 + count, 1 + 2 * count), len(counts)) / counts[:, None] + 0.5
            raw = np.clip(squares - means**2, _LEAST**2, 1)
            pooled_variance = (counts @ raw) / counts.sum()
            known = (counts / (counts + 3 * noise))[:, None]  # the rest is taken from all classes together
            spread = known * raw + (1 - known) * pooled_variance
        spread = np.maximum(spread, _LEAST**2) + (doubt**2 if self.variances else doubt.max() ** 2)
        first = 1 + count * (2 if self.variances else 1)
        levels = []
        for index, category in enumerate(self.categories):
            table = np.maximum(class_sums.cells(first + index).reshape(len(counts), len(category.values)), 0)
            pooled_levels = table.sum(axis=0) + 1  # a level that the noise hides is as frequent in a class as in all
            table = table + (1 + noise) * len(category.values) * pooled_levels / pooled_levels.sum()
            levels.append(np.log(table / table.sum(axis=1, keepdims=True)))
        return BayesModel(self.features, self.target, np.log(counts / counts.sum()), means, spread, tuple(levels))


def _square(number: Expression) -> Expression:
    """x² − ½."""
    return Call("subtract", (Call("multiply", (number, number)), Literal(_HALF)))


def _table(released: Released, indexes: range, classes: int) -> Reals:
    """Cells of some components, a row for each class."""
    return np.array([released.cells(index) for index in indexes]).reshape(-1, classes).T


@final
@dataclass(frozen=True, slots=True, eq=False)
class BayesModel(ClassModel):
    """For each class the logarithm of its share, means and variances of numbers, and log frequencies of categories."""

    features: tuple[Feature, ...]
    target: Category
    prior: Reals
    means: Reals
    variances: Reals
    levels: tuple[Reals, ...]

    def scores(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        length = len(next(iter(columns.values())))
        scores = np.tile(self.prior, (length, 1))
        numbers = [feature for feature in self.features if isinstance(feature, ScaledNumber)]
        for index, number in enumerate(numbers):
            away = number.encode(columns[number.name]) - self.means[None, :, index]
            variance = self.variances[None, :, index]
            scores -= away**2 / (2 * variance) + np.log(variance) / 2
        categories = [feature for feature in self.features if isinstance(feature, Category)]
        for category, logs in zip(categories, self.levels, strict=True):
            indexes = category.indexes(columns[category.name])
            scores += np.where(indexes[:, None] < 0, 0.0, logs.T[np.maximum(indexes, 0)])
        return scores

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.described(),
            "prior": self.prior.tolist(),
            "means": self.means.tolist(),
            "variances": self.variances.tolist(),
            "levels": [frequencies.tolist() for frequencies in self.levels],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> BayesModel:
        features, target = features_and_classes(content)
        shape = (len(target.values), sum(isinstance(feature, ScaledNumber) for feature in features))
        numbers = [np.asarray(content[name], dtype=np.float64).reshape(shape) for name in ("means", "variances")]
        levels = tuple(np.asarray(frequencies, dtype=np.float64) for frequencies in content["levels"])
        return cls(features, target, np.asarray(content["prior"], dtype=np.float64), numbers[0], numbers[1], levels)


class NaiveBayes(Classifier):
    """Declared classes, predicted as if columns were independent within each: normal numbers and category frequencies.

    One pass over the rows, so it is good where there are few of them, or ε is small.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> model = gt.learn.NaiveBayes("sick", ["age", "weight"], epsilon=1, delta="1e-7").fit(s)
    >>> model.predict(pl.DataFrame({"age": [20, 50], "weight": [60, 80]})).tolist()
    [0, 1]
    """

    stored_name: ClassVar[str] = "NaiveBayes"
    model_class: ClassVar[type[Model]] = BayesModel

    def _plan(self, data: LearningData) -> BayesPlan:
        return BayesPlan(*planned(self, data), variances=True)

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (("classes", ", ".join(str(label) for label in self.model_.target.values)),)


class ClassMeans(Classifier):
    """Declared classes, predicted by the nearest mean and category frequencies: naive Bayes without variances.

    The least noisy of all classifiers here: nothing is spent on anything but the means of the classes. Probabilities
    are rough where columns are correlated; their order is more reliable.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> model = gt.learn.ClassMeans("sick", ["age", "weight"], epsilon=1, delta="1e-7").fit(s)
    >>> model.predict(pl.DataFrame({"age": [20, 50], "weight": [60, 80]})).tolist()
    [0, 1]
    """

    stored_name: ClassVar[str] = "ClassMeans"
    model_class: ClassVar[type[Model]] = BayesModel

    def _plan(self, data: LearningData) -> BayesPlan:
        return BayesPlan(*planned(self, data), variances=False)

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (("classes", ", ".join(str(label) for label in self.model_.target.values)),)
