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
from giveortake.learn.base import Classifier, ClassModel, Task, features_and_classes, planned
from giveortake.learn.features import Category, Feature, ScaledNumber
from giveortake.learn.noisy_sums import one, steps_for, value, vector_sum
from giveortake.plan import Call, ColumnReference, Literal

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.learn.base import Ground, Model
    from giveortake.learn.noisy_sums import Passes, Released
    from giveortake.plan import Expression
    from giveortake.session.learning_data import LearningData

    Reals: TypeAlias = npt.NDArray[np.float64]

_HALF = Fraction(1, 2)
_USUAL = 1 / 3  # the variance of numbers that are spread evenly over their bounds
_LEAST = 0.02  # deviation of a number, as a part of its bounds


@final
class BayesTask(Task):
    """One pass: for each class its number of rows, sums of numbers, and counts of categories."""

    stored_name: ClassVar[str] = "BayesTask"

    def __init__(self, ground: Ground, features: tuple[Feature, ...], target: Category, *, variances: bool) -> None:
        self.ground, self.features, self.target, self.variances = ground, features, target, variances
        self.numbers = [each for each in features if isinstance(each, ScaledNumber)]
        self.categories = [each for each in features if isinstance(each, Category)]
        self.shares = {"classes": Fraction(1)}

    def known(self) -> list[VectorSum]:
        longest = (1 + len(self.categories) + len(self.numbers) * (1.25 if self.variances else 1)) ** 0.5
        steps = steps_for(longest, self.ground.rows, factors=1)
        values = [one(steps=steps), *(value(each.scaled(), steps=steps) for each in self.numbers)]
        if self.variances:
            values += [value(_square(each.scaled()), -0.5, 0.5, steps) for each in self.numbers]
        keys = [
            KeyColumn(each.name, ColumnReference(each.name), each.values) for each in (self.target, *self.categories)
        ]
        components = [Component((place,), (0,)) for place in range(len(values))]
        components += [Component((0,), (0, place)) for place in range(1, len(keys))]
        return [vector_sum(self.ground.relation, values, components, self.ground.rows, keys=keys, longest=longest)]

    def names(self) -> dict[str, Any]:
        features = [each.to_json() for each in self.features]
        return {"features": features, "target": self.target.to_json(), "variances": self.variances}

    def words(self) -> str:
        what = "naive Bayes" if self.variances else "class means"
        return f"{what} of {self.target.name}"

    def learn(self, passes: Passes) -> BayesModel:
        (asked,) = self.known()
        made = passes.add_up("classes", asked, self.shares["classes"])
        noise = made.deviation()
        counts = np.maximum(made.cells(0), max(noise, 1.0))
        doubt = (noise / counts)[:, None]
        count = len(self.numbers)
        means = np.clip(_table(made, range(1, 1 + count), len(counts)) / counts[:, None], -1, 1)
        spread = np.full_like(means, _USUAL)
        if self.variances:
            squares = _table(made, range(1 + count, 1 + 2 * count), len(counts)) / counts[:, None] + 0.5
            raw = np.clip(squares - means**2, _LEAST**2, 1)
            of_all = (counts @ raw) / counts.sum()
            known = (counts / (counts + 3 * noise))[:, None]  # the rest is taken from all classes together
            spread = known * raw + (1 - known) * of_all
        spread = np.maximum(spread, _LEAST**2) + (doubt**2 if self.variances else doubt.max() ** 2)
        first = 1 + count * (2 if self.variances else 1)
        levels = []
        for place, category in enumerate(self.categories):
            table = np.maximum(made.cells(first + place).reshape(len(counts), len(category.values)), 0)
            every = table.sum(axis=0) + 1  # a level that the noise hides is as frequent in a class as in all
            table = table + (1 + noise) * len(category.values) * every / every.sum()
            levels.append(np.log(table / table.sum(axis=1, keepdims=True)))
        return BayesModel(self.features, self.target, np.log(counts / counts.sum()), means, spread, tuple(levels))


def _square(number: Expression) -> Expression:
    """x² − ½."""
    return Call("subtract", (Call("multiply", (number, number)), Literal(_HALF)))


def _table(made: Released, places: range, classes: int) -> Reals:
    """Cells of some components, a row for each class."""
    return np.array([made.cells(place) for place in places]).reshape(-1, classes).T


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
        found = np.tile(self.prior, (length, 1))
        numbers = [each for each in self.features if isinstance(each, ScaledNumber)]
        for place, number in enumerate(numbers):
            away = number.encode(columns[number.name]) - self.means[None, :, place]
            variance = self.variances[None, :, place]
            found -= away**2 / (2 * variance) + np.log(variance) / 2
        categories = [each for each in self.features if isinstance(each, Category)]
        for category, logs in zip(categories, self.levels, strict=True):
            at = category.places(columns[category.name])
            found += np.where(at[:, None] < 0, 0.0, logs.T[np.maximum(at, 0)])
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.described(),
            "prior": self.prior.tolist(),
            "means": self.means.tolist(),
            "variances": self.variances.tolist(),
            "levels": [each.tolist() for each in self.levels],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> BayesModel:
        features, target = features_and_classes(content)
        shape = (len(target.values), sum(isinstance(each, ScaledNumber) for each in features))
        numbers = [np.asarray(content[name], dtype=np.float64).reshape(shape) for name in ("means", "variances")]
        levels = tuple(np.asarray(each, dtype=np.float64) for each in content["levels"])
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
    made: ClassVar[type[Model]] = BayesModel

    def _task(self, data: LearningData) -> BayesTask:
        return BayesTask(*planned(self, data), variances=True)

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (("classes", ", ".join(str(each) for each in self.model_.target.values)),)


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
    made: ClassVar[type[Model]] = BayesModel

    def _task(self, data: LearningData) -> BayesTask:
        return BayesTask(*planned(self, data), variances=False)

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (("classes", ", ".join(str(each) for each in self.model_.target.values)),)
