"""Logistic regression by a few Newton steps: noisy products of columns tell the curvature, and each step a gradient.

Guarantee: three kinds of sums of vectors, each μ-GDP for its part of μ², so that together they are μ-GDP, however the
later ones depend on what the earlier ones released [DRS22]. (1) Numbers, sums and squares of columns, for their means
and deviations. (2) All products of √g·(1, z), where z are the columns after that, as one Gram matrix, with
g = min(1, C²/‖(1, z)‖²) and C² = 1 + columns: length C² at most. (3) In each step, the sum of g·(y − σ(θ·x))·(1, z). A
misfit y − σ is between -m and m, with m = ½ in the first step, at even odds, and 1 in the others: so a row's vector has
length m·C at most. What rounding makes longer is cut. A person's vectors are added up, and cut once, at `clip` times
that.

The first step starts from the rate of the second class, which its sum tells. The steps' gains are 1, 1, ½, ⅓, ¼: after
two Newton steps the noises of the later ones average out. A direction in which the noise is as large as the curvature
is hardly followed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.engines import Component
from giveortake.engines.questions import LONGEST
from giveortake.errors import InvalidParameter
from giveortake.learn.classifier import Classifier, ClassModel, features_and_classes, planned
from giveortake.learn.features import Category, Feature, added, encoded, weighted
from giveortake.learn.lattice import GRAIN, gram_sum, one, steps_for, value, vector_sum
from giveortake.learn.linear_model import affine
from giveortake.learn.logistic_curvature import LineCurvature, chances, followed_along, log_odds
from giveortake.learn.noise_aware import positive, shrunk
from giveortake.learn.scores import STEEPEST
from giveortake.learn.standardisation import FARTHEST, FEWEST, Standardisation, standardisation_of, standardisation_sum
from giveortake.learn.task import Task
from giveortake.plan import Call, ColumnReference, Derive, Literal

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.learn.model import Model
    from giveortake.learn.passes import Passes
    from giveortake.learn.task import Ground
    from giveortake.plan import Expression, Relation
    from giveortake.session.vector_run import LearningData

    Reals: TypeAlias = npt.NDArray[np.float64]

GAINS = (1.0, 1.0, 1 / 2, 1 / 3, 1 / 4)
MOST_COLUMNS = 100  # of a Gram matrix that an engine plans in seconds
PARTS = (Fraction(1, 9), *([Fraction(2, 9)] * 4))  # of what steps get: the first has misfits of a half
MISFITS = (Fraction(1, 2), *([Fraction(1)] * 4))  # how large they are at most: a half at even odds
_FITTED, _WANTED, _LENGTH = "fitted number", "wanted number", "square of length"
_FINEST = 1 << 16  # steps of 1 in a misfit: those of a class of one in a thousand are small


def logistic(slope: Expression) -> Expression:
    """1/(1 + e^(−slope)), as engines compute it: the slope is clamped first, so that nothing overflows."""
    steep = Call("clamp", (slope, Literal(Fraction(-STEEPEST)), Literal(Fraction(STEEPEST))))
    odds = Call("exp", (Call("negate", (steep,)),))
    return Call("divide", (Literal(Fraction(1)), Call("add", (Literal(Fraction(1)), odds))))


@final
class LogisticTask(Task):
    """The fit of a logistic regression: standardise, add up the Gram matrix, and take Newton steps."""

    stored_name: ClassVar[str] = "LogisticTask"

    def __init__(self, ground: Ground, features: tuple[Feature, ...], target: Category) -> None:
        self.ground, self.features, self.target = ground, features, target
        self.columns = [column for feature in features for column in feature.design()]
        if len(self.columns) > MOST_COLUMNS:
            raise InvalidParameter(
                "features",
                len(self.columns),
                f"make more than {MOST_COLUMNS} columns, one for each category but the first",
                hint="gt.learn.AdditiveClassifier takes categories as they are; or name fewer features",
            )
        steps = {f"gradient {place + 1}": Fraction(7, 10) * part for place, part in enumerate(PARTS)}
        self.shares = {"standardisation": Fraction(1, 10), "curvature": Fraction(2, 10), **steps}

    @property
    def _count(self) -> int:
        return 1 + len(self.columns)

    def known(self) -> list[VectorSum]:
        third, zeros = np.full(len(self.columns), 1 / 3), np.full(self._count, 1 / 3)
        usual = Standardisation(1.0, third, third)
        sums = [standardisation_sum(self.ground, self.features), self.products(usual)]
        return sums + [self.gradient(usual, zeros, most) for most in MISFITS]

    def names(self) -> dict[str, Any]:
        return {"features": [each.to_json() for each in self.features], "target": self.target.to_json(), "gains": GAINS}

    def words(self) -> str:
        return f"a logistic regression of {self.target.name}"

    def products(self, usual: Standardisation) -> VectorSum:
        """All products of (1, z), where rows weigh as they do in gradients."""
        rows, names, share = self._weighed(usual)
        root = Call("sqrt", (share,))
        columns = [(Call("multiply", (each, root)), float(-FARTHEST), float(FARTHEST)) for each in names]
        return gram_sum(rows, [(root, 0.0, 1.0), *columns], self.ground.rows, longest=self._count)

    def _weighed(
        self, usual: Standardisation, *more: tuple[str, Expression]
    ) -> tuple[Relation, list[ColumnReference], Expression]:
        """Rows with their standardised columns and some more, these columns, and what a row weighs.

        A row whose numbers are long weighs less, whatever its class: were misfits cut instead, a class of few rows,
        whose misfits are large, would lose more of itself than the other.
        """
        columns = [(f"column {place}", each) for place, each in enumerate(self._standard(usual))]
        names = [ColumnReference(name) for name, _ in columns]
        length = added([Literal(Fraction(1)), *(Call("multiply", (each, each)) for each in names)])
        kept = [(name, ColumnReference(name)) for name, _ in (*columns, *more)]
        least = Literal(Fraction(self._count))
        rows = Derive(self.ground.relation, (*columns, *more))
        rows = Derive(rows, (*kept, (_LENGTH, Call("greatest", (length, least)))))
        return rows, names, Call("divide", (least, ColumnReference(_LENGTH)))

    def gradient(self, usual: Standardisation, theta: Reals, most: Fraction) -> VectorSum:
        """The sum of the misfit times (1, z), where θ is about z, and misfits are no larger than `most`."""
        fitted = (_FITTED, weighted(self.features, plain(usual, theta)))
        wanted = (_WANTED, self.target.is_value(self.target.values[1]))
        rows, names, share = self._weighed(usual, fitted, wanted)
        misfit = Call("subtract", (ColumnReference(_WANTED), logistic(ColumnReference(_FITTED))))
        longest = float(most) * math.sqrt(self._count)
        fine, steps = _steps(longest, self.ground.rows)
        values = [
            value(Call("multiply", (misfit, share)), -most, most, fine),
            one(steps=steps),
            *(value(each, -FARTHEST, FARTHEST, steps) for each in names),
        ]
        components = [Component((0, place)) for place in range(1, len(values))]
        return vector_sum(rows, values, components, self.ground.rows, longest=longest)

    def _standard(self, usual: Standardisation) -> list[Expression]:
        return usual.expressions([each.expression for each in self.columns])

    def _line(self, usual: Standardisation, moments: Reals) -> LineCurvature:
        """The curvature of the fit, with the two values of columns of categories."""
        shares = np.where([each.low == 0 for each in self.columns], np.clip(usual.mean, 0, 1), 0.0)
        ends = (np.array([[1.0], [0.0]]) - usual.mean) / usual.deviation
        return LineCurvature(moments, np.insert(ends, 0, 1.0, axis=1), np.insert(shares, 0, 0.0))

    def learn(self, passes: Passes) -> LogisticModel:
        shares = list(self.shares.items())
        name, share = shares[0]
        usual = standardisation_of(
            passes.add_up(name, standardisation_sum(self.ground, self.features), share), self.columns
        )
        name, share = shares[1]
        made = passes.add_up(name, self.products(usual), share)
        doubt = made.deviation(0) * math.sqrt(2 * self._count) / 2
        moments = positive(made.matrix())
        moments[0, 0] = n = max(float(moments[0, 0]), FEWEST)
        line = self._line(usual, moments)
        theta, noise = np.zeros(self._count), 1.0
        for (name, share), gain, most in zip(shares[2:], GAINS, MISFITS, strict=True):
            made = passes.add_up(name, self.gradient(usual, theta, most), share)
            slope = np.array([made.cells(each)[0] for each in range(self._count)])
            noise = made.deviation()
            if most < 1:  # at even odds: what the rate of all rows leaves is learned from, not what even odds leave
                theta[0] = log_odds(0.5 + slope[0] / n, noise / n)
                slope = slope - (chances(theta[0]) - 0.5) * moments[0]

            def direction(place: Reals, slope: Reals = gain * slope, noise: float = noise) -> Reals:
                return np.asarray(line.inverse(line.at(place), noise, doubt) @ slope)

            theta = np.round(followed_along(theta, direction) * GRAIN) / GRAIN
        curvature = line.at(theta)
        followed = line.inverse(curvature, noise, doubt) @ curvature
        passes.notes += shrunk(followed, GAINS, self._count, "coefficients")
        return LogisticModel(self.features, self.target, plain(usual, theta))


def _steps(longest: float, rows: int) -> tuple[int, int]:
    """Steps of 1 in misfits and in columns, so that products are no longer than engines take: as many as fit."""
    steps = steps_for(longest * 32, rows, factors=2)
    fine = steps
    while fine < _FINEST and math.ceil(longest * steps * fine * 2) * rows <= LONGEST:
        fine *= 2
    return fine, steps


def plain(usual: Standardisation, theta: Reals) -> Reals:
    """Coefficients of standardised columns as those of the columns between -1 and 1, in 20 binary digits."""
    each = theta[1:] / usual.deviation
    whole = np.concatenate([[theta[0] - each @ usual.mean], each])
    return np.asarray(np.round(whole * GRAIN) / GRAIN)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LogisticModel(ClassModel):
    """Coefficients of (1, x), where x are columns between -1 and 1, or 0 and 1 for categories."""

    features: tuple[Feature, ...]
    target: Category
    coefficients: Reals

    @property
    def names(self) -> list[str]:
        """The columns: numbers, and one for each category but the first."""
        return [column.name for feature in self.features for column in feature.design()]

    def scores(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        slope = self.coefficients[0] + encoded(columns, self.features) @ self.coefficients[1:]
        half = np.clip(slope, -STEEPEST, STEEPEST) / 2
        return np.column_stack([-half, half])

    def to_dict(self) -> dict[str, Any]:
        return {**self.described(), "coefficients": self.coefficients.tolist()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LogisticModel:
        return cls(*features_and_classes(content), np.asarray(content["coefficients"], dtype=np.float64))


class LogisticRegression(Classifier):
    """Two declared classes, predicted by a weighted sum of bounded columns and categories.

    The first category is the baseline of the others. A row without a declared one is not learned from, a public row
    without one is refused.

    >>> import numpy as np, polars as pl, giveortake as gt
    >>> x = np.random.default_rng(1).uniform(-1, 1, 20_000)
    >>> with gt.protect(pl.DataFrame({"x": x, "late": x > 0}), unit=gt.ROW, budget=gt.ApproxDP(3, "1e-5"),
    ...                 domains={"x": (-1, 1)}) as s:
    ...     model = gt.learn.LogisticRegression("late", ["x"], epsilon=1, delta="1e-6").fit(s)
    >>> model.predict([[-0.5], [0.5]])
    array([False,  True])
    """

    stored_name: ClassVar[str] = "LogisticRegression"
    made: ClassVar[type[Model]] = LogisticModel

    def _task(self, data: LearningData) -> LogisticTask:
        return LogisticTask(*planned(self, data, most=2, declared=True))

    @property
    def coef_(self) -> Reals:
        """What one more of each column adds to the log-odds, or a category instead of the first; in one row.

        The odds are those of the second class, `classes_[1]`: of truth values, True. The columns are `model_.names`.
        """
        model: LogisticModel = self._require_fitted()
        return np.asarray(model.coefficients[1:] / affine(model.features)[1])[None, :]

    @property
    def intercept_(self) -> Reals:
        """The log-odds where all columns are 0, and every category is the first."""
        model: LogisticModel = self._require_fitted()
        centres, halves = affine(model.features)
        return np.asarray([model.coefficients[0] - (model.coefficients[1:] * centres / halves).sum()])

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (self._classes("positive coefficients"),)
