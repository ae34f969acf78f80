"""Classifiers: logistic regression, naive Bayes and class means.

- The base of classifiers: declared classes, and predictions of a fitted model for public rows.
- Logistic regression by a few Newton steps, with a curvature that is computed from what was released.
- Naive Bayes and class means: one pass over the rows, for tables too small for anything that needs more.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from giveortake import codec
from giveortake.codec import stored
from giveortake.engines import Component, KeyColumn
from giveortake.engines.questions import LONGEST
from giveortake.errors import InvalidParameter
from giveortake.learn.base import Learner, Model, required_target
from giveortake.learn.features import (
    FARTHEST,
    FEWEST,
    Category,
    Feature,
    Reals,
    ScaledNumber,
    Standardisation,
    added,
    classes_of,
    complete,
    complete_and_declared,
    encoded,
    features_of,
    is_declared,
    joined,
    standardisation_of,
    standardisation_sum,
    weighted,
)
from giveortake.learn.gradient_descent import STEEPEST
from giveortake.learn.linear import Curvature, affine, positive_part, shrunk
from giveortake.learn.noisy_sums import (
    FitContext,
    FitPlan,
    gram_sum,
    in_grains,
    one,
    steps_for,
    value,
    vector_sum,
)
from giveortake.plan import Call, ColumnReference, Derive, Literal
from giveortake.session.kinds.learning_data import LearningData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.learn.noisy_sums import NoisySums, Released
    from giveortake.plan import Expression, Relation
    from giveortake.session.kinds.learning_data import LearningData


class ClassModel(Model):
    """A model of released numbers that gives public rows a probability of each declared class."""

    features: tuple[Feature, ...]
    target: Category

    @abstractmethod
    def scores(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """For each row and class, a number whose exponential is proportional to the probability of the class."""


@dataclass(eq=False, repr=False)
class Classifier(Learner):
    """A model of declared classes. Parameters are those of every learner.

    `target` names the column of classes and `features` those that predict it, all declared ones if none are named.
    `epsilon` and `delta`, or `rho`, or `mu`, is what one fit may cost. `clip` is how many rows' worth of one person
    count. `n` is a public number of rows, if one is known: then a fit that would be noise is refused before it is paid.
    `domains` and `budget` are for rows that you hold yourself, as scikit-learn hands them over.
    """

    kind: ClassVar[str] = "classifier"

    _: KW_ONLY
    n: int | None = None

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The declared classes, in their declared order; of truth values False comes first."""
        return _class_array(self._require_fitted().target.values)

    def predict_proba(self, rows: Any) -> Reals:
        """The probability of each declared class, for public rows."""
        scores = self._scores(rows)
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))

    def predict_log_proba(self, rows: Any) -> Reals:
        """The logarithms of these probabilities."""
        return np.asarray(np.log(self.predict_proba(rows)))

    def decision_function(self, rows: Any) -> Reals:
        """For two classes the log-odds of the second; for more, a column of scores for each."""
        scores = self._scores(rows)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict(self, rows: Any) -> npt.NDArray[Any]:
        """The most probable class of each public row.

        A number beyond its declared bounds counts as the nearer bound. A missing number and a category that is not
        declared are refused. A missing category adds nothing, and is refused where categories are measured from the
        first one.
        """
        return np.asarray(self.classes_[self._scores(rows).argmax(axis=1)])

    def score(self, rows: Any, y: Any) -> float:
        """The share of public rows whose class is predicted correctly."""
        return float(np.mean(self.predict(rows) == np.asarray(y)))

    def _planned(
        self, data: LearningData, spend: Spend, *, most: int | None = None, declared: bool = False
    ) -> tuple[FitContext, tuple[Feature, ...], Category]:
        """What it learns from: rows of a declared class without missing numbers, features, and at most `most` classes.

        With `declared`, categories of features have to be declared ones, too.
        """
        target = required_target(self.target)
        features = features_of(data.schema, self.features, target)
        classes = classes_of(data.schema, target)
        if most is not None and len(classes.values) > most:
            raise InvalidParameter(
                "target",
                target,
                f"has {len(classes.values)} declared classes, and {type(self).__name__} can separate only {most}",
                hint='gt.learn.NaiveBayes takes more; or derive one class against the rest: gt.col("…") == "…"',
            )
        names = [feature.name for feature in features]
        completeness = complete_and_declared(data.schema, features) if declared else complete(data.schema, names)
        parts = (completeness, is_declared(classes, data.schema))
        conditions = [part for part in parts if part is not None]
        condition = joined("and", conditions) if conditions else None
        return FitContext.from_parameters(data, spend, self.clip, condition), features, classes

    def _classes(self, numbers: str) -> tuple[str, str]:
        """A fact for the card: the two classes, and which of them the model's numbers favour."""
        target = self.model_.target
        first, second = target.values
        return "classes", f"{first} and {second}; {numbers} make {target.name} = {second} more likely"

    def _scores(self, rows: Any) -> Reals:
        model: ClassModel = self._require_fitted()
        return model.scores(self._public(rows, [feature.name for feature in model.features]))


def _class_array(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Classes as an array of their own type if they share one, else of objects."""
    kinds = {type(value) for value in values}
    return np.array(values) if len(kinds) == 1 and kinds <= {int, bool, str} else np.array(values, dtype=object)


_NODES = np.linspace(-4, 4, 65)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
_WIDE = 4.0  # a deviation of log-odds: of larger ones too few nodes lie where the logistic function is steep
_GAP = 0.5
_LOG_ODDS = np.arange(-STEEPEST, STEEPEST + _GAP, _GAP)
_LEAST = 1e-9
_TINY = float(np.finfo(np.float64).tiny)
_PRIOR = 0.3  # how large the square of a coefficient of a standardised column is thought to be
_PARTS = 8  # of a step, each with the curvature of where it begins


def steepness(mean: Reals, variance: Reals | float) -> Reals:
    """E[w], E[w′] and E[w″] of w = σ(1 − σ), where log-odds are normal with a mean and a variance.

    >>> [round(float(number), 4) for number in steepness(np.array(0.0), 0.0)]
    [0.25, 0.0, -0.125]
    """
    mean, spread = np.broadcast_arrays(mean, np.sqrt(np.maximum(variance, 0)))
    narrow = _over_deviations(mean[..., None], np.minimum(spread, _WIDE)[..., None])
    return np.where(spread > _WIDE, _over_log_odds(mean[..., None], np.maximum(spread, _WIDE)[..., None]), narrow)


def _over_deviations(mean: Reals, spread: Reals) -> Reals:
    """`steepness` by nodes up to four deviations from the mean."""
    chance = chances(mean + spread * _NODES)
    slope = chance * (1 - chance)
    tilt = 1 - 2 * chance
    return np.stack([slope @ _WEIGHTS, (slope * tilt) @ _WEIGHTS, (slope * (tilt**2 - 2 * slope)) @ _WEIGHTS])


def _over_log_odds(mean: Reals, spread: Reals) -> Reals:
    """`steepness` by nodes wherever w is not nearly 0, however wide the normal law is.

    The derivatives are Stein's: E[w′] = E[w·z]/s and E[w″] = E[w·(z² − 1)]/s², for log-odds z deviations s from the
    mean. Sums at gaps of ½ are integrals up to about e^(−4π²), because w has no pole nearer to the real line than π.
    """
    away = (_LOG_ODDS - mean) / spread
    chance = chances(_LOG_ODDS)
    part = chance * (1 - chance) * np.exp(-(away**2) / 2) * _GAP / (spread * np.sqrt(2 * np.pi))
    integrands = [part, part * away / spread, part * (away**2 - 1) / spread**2]
    return np.stack([integrand.sum(axis=-1) for integrand in integrands])


def steepness_about(mean: Reals, variance: Reals | float) -> Reals:
    """E[w] nearly, at once: a normal variable makes the logistic function flatter by κ = 1/√(1 + π·variance/8)."""
    flatter = 1 / np.sqrt(1 + np.pi / 8 * np.maximum(variance, 0.0))
    chance = chances(flatter * mean)
    return np.asarray(flatter * chance * (1 - chance))


def chances(log_odds: Reals) -> Reals:
    """1/(1 + e^(−log-odds)), as rows are given it."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -STEEPEST, STEEPEST))))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LineCurvature:
    """How steep the logistic function is where rows are, by the released sums of products Σ xxᵀ of columns x.

    The misfits of a fit θ have the curvature Σ p(1 − p)·xxᵀ, where p depends on the row. To measure it anew at each fit
    would cost as much as the products of the columns again. What is released of them tells about as much: the log-odds
    θ·x have a known mean and variance, and what follows from these for normal columns is their mean steepness, and how
    it changes with each column. An error in it makes a step too short or too long, and no fit wrong: where the sum of
    misfits is zero, no step is taken. All of it is post-processing. The first column is 1.

    `ends` has two lines: what a column is for rows of a category and for others, or nothing for numbers, and `shares`
    the part of the rows that are of it.
    """

    moments: Reals
    ends: Reals
    shares: Reals

    def at(self, theta: Reals) -> Reals:
        """Σ w·xxᵀ at log-odds θ·x.

        With E[x] = m and Cov(x)·θ = v, a normal x has E[w·xxᵀ] = E[w]·E[xxᵀ] + E[w′]·(m·vᵀ + v·mᵀ) + E[w″]·v·vᵀ. A
        column of two values is not normal: where rows of a rare category are steeper than this, that much is added to
        its own square. Nothing is scaled or taken away: columns that nearly add up to another would become a direction
        in which steps have no end.

        E[w″] is at least E[w′]²/E[w] − E[w]/variance, as of every normal law: so no direction has a negative curvature.
        """
        n, moments = self.moments[0, 0], self.moments
        means = moments[0] / n
        along = moments @ theta / n - means * (means @ theta)
        middle, variance = float(means @ theta), float(theta @ along)
        level, tilt, bend = steepness(np.array(middle), variance)
        bend = max(bend, tilt * (tilt / max(level, _TINY)) - level / max(variance, _LEAST))
        both = np.outer(means, along)
        curvature = level * moments + n * (tilt * (both + both.T) + bend * np.outer(along, along))
        squares = np.maximum(np.diag(moments), 0)
        spreads = np.maximum(squares / n - means**2, _LEAST)
        log_odds = middle + along / spreads * (self.ends - means)
        slopes = steepness(log_odds, np.maximum(variance - along**2 / spreads, 0))[0]
        parts = np.array([self.shares, 1 - self.shares]) * self.ends**2
        steep = (slopes * parts).sum(axis=0) / np.maximum(parts.sum(axis=0), _LEAST)
        excess = np.where(self.shares > 0, np.maximum(steep * squares - np.diag(curvature), 0), 0)
        return np.asarray(curvature + np.diag(excess))

    def inverse(self, curvature: Reals, noise: float, doubt: float) -> Reals:
        """What takes a gradient with noise to a step; `doubt` is the size of the noise of the moments."""
        floor = float(np.trace(curvature) / np.trace(self.moments)) * doubt
        return Curvature.from_matrix(curvature).inverse(noise**2, _PRIOR, floor)


def followed_along(start: Reals, direction: Callable[[Reals], Reals]) -> Reals:
    """Where one gets from a start in one step if its direction is asked for again on the way.

    A Newton step in one piece goes much too far where chances are small and rise: the curvature rises with them.
    """
    point = start
    for _ in range(_PARTS):
        middle = point + direction(point) / (2 * _PARTS)
        point = point + direction(middle) / _PARTS
    return point


def log_odds(rate: float, doubt: float) -> float:
    """The log-odds of a rate, taken to be no nearer to 0 or 1 than a doubt."""
    least = min(max(doubt, 1e-6), 0.5)
    bounded_rate = min(max(rate, least), 1 - least)
    return float(np.log(bounded_rate / (1 - bounded_rate)))


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
class LogisticPlan(FitPlan):
    """The fit of a logistic regression: standardise, add up the Gram matrix, and take Newton steps.

    Guarantee: three kinds of sums of vectors, each μ-GDP for its part of μ², so that together they are μ-GDP, however
    the later ones depend on what the earlier ones released [DRS22]. (1) Numbers, sums and squares of columns, for their
    means and deviations. (2) All products of √g·(1, z), where z are the columns after that, as one Gram matrix, with
    g = min(1, C²/‖(1, z)‖²) and C² = 1 + columns: length C² at most. (3) In each step, the sum of
    g·(y − σ(θ·x))·(1, z). A misfit y − σ is between -m and m, with m = ½ in the first step, at even odds, and 1 in the
    others: so a row's vector has length m·C at most. What rounding makes longer is cut. A person's vectors are added
    up, and cut once, at `clip` times that.

    The first step starts from the rate of the second class, which its sum tells. The steps' gains are 1, 1, ½, ⅓, ¼:
    after two Newton steps the noises of the later ones average out. A direction in which the noise is as large as the
    curvature is hardly followed.
    """

    stored_name: ClassVar[str] = "LogisticTask"

    def __init__(self, context: FitContext, features: tuple[Feature, ...], target: Category) -> None:
        self.context, self.features, self.target = context, features, target
        self.columns = [column for feature in features for column in feature.design()]
        if len(self.columns) > MOST_COLUMNS:
            raise InvalidParameter(
                "features",
                len(self.columns),
                f"make more than {MOST_COLUMNS} columns, one for each category but the first",
                hint="gt.learn.AdditiveClassifier takes categories as they are; or name fewer features",
            )
        steps = {f"gradient {step + 1}": Fraction(7, 10) * part for step, part in enumerate(PARTS)}
        self.shares = {"standardisation": Fraction(1, 10), "curvature": Fraction(2, 10), **steps}

    @property
    def _count(self) -> int:
        return 1 + len(self.columns)

    def known(self) -> list[VectorSum]:
        third, zeros = np.full(len(self.columns), 1 / 3), np.full(self._count, 1 / 3)
        standardisation = Standardisation(1.0, third, third)
        sums = [standardisation_sum(self.context, self.features), self.products(standardisation)]
        return sums + [self.gradient(standardisation, zeros, most) for most in MISFITS]

    def names(self) -> dict[str, Any]:
        return {
            "features": [codec.write(feature) for feature in self.features],
            "target": codec.write(self.target),
            "gains": GAINS,
        }

    def words(self) -> str:
        return f"a logistic regression of {self.target.name}"

    def products(self, standardisation: Standardisation) -> VectorSum:
        """All products of (1, z), where rows weigh as they do in gradients."""
        rows, names, share = self._weighed(standardisation)
        root = Call("sqrt", (share,))
        columns = [(Call("multiply", (column, root)), float(-FARTHEST), float(FARTHEST)) for column in names]
        return gram_sum(rows, [(root, 0.0, 1.0), *columns], self.context.rows, longest=self._count)

    def _weighed(
        self, standardisation: Standardisation, *further_columns: tuple[str, Expression]
    ) -> tuple[Relation, list[ColumnReference], Expression]:
        """Rows with their standardised columns and some more, these columns, and what a row weighs.

        A row whose numbers are long weighs less, whatever its class: were misfits cut instead, a class of few rows,
        whose misfits are large, would lose more of itself than the other.
        """
        standard = standardisation.expressions([column.expression for column in self.columns])
        columns = [(f"column {index}", expression) for index, expression in enumerate(standard)]
        names = [ColumnReference(name) for name, _ in columns]
        length = added([Literal(Fraction(1)), *(Call("multiply", (column, column)) for column in names)])
        carried = [(name, ColumnReference(name)) for name, _ in (*columns, *further_columns)]
        least = Literal(Fraction(self._count))
        rows = Derive(self.context.relation, (*columns, *further_columns))
        rows = Derive(rows, (*carried, (_LENGTH, Call("greatest", (length, least)))))
        return rows, names, Call("divide", (least, ColumnReference(_LENGTH)))

    def gradient(self, standardisation: Standardisation, theta: Reals, most: Fraction) -> VectorSum:
        """The sum of the misfit times (1, z), where θ is about z, and misfits are no larger than `most`."""
        fitted = (_FITTED, weighted(self.features, plain(standardisation, theta)))
        target_column = (_WANTED, self.target.is_value(self.target.values[1]))
        rows, names, share = self._weighed(standardisation, fitted, target_column)
        misfit = Call("subtract", (ColumnReference(_WANTED), logistic(ColumnReference(_FITTED))))
        longest = float(most) * math.sqrt(self._count)
        fine, steps = _steps(longest, self.context.rows)
        values = [
            value(Call("multiply", (misfit, share)), -most, most, fine),
            one(steps=steps),
            *(value(column, -FARTHEST, FARTHEST, steps) for column in names),
        ]
        components = [Component((0, index)) for index in range(1, len(values))]
        return vector_sum(rows, values, components, self.context.rows, longest=longest)

    def _line(self, standardisation: Standardisation, moments: Reals) -> LineCurvature:
        """The curvature of the fit, with the two values of columns of categories."""
        shares = np.where([column.low == 0 for column in self.columns], np.clip(standardisation.mean, 0, 1), 0.0)
        ends = (np.array([[1.0], [0.0]]) - standardisation.mean) / standardisation.deviation
        return LineCurvature(moments, np.insert(ends, 0, 1.0, axis=1), np.insert(shares, 0, 0.0))

    def learn(self, noisy_sums: NoisySums) -> LogisticModel:
        shares = list(self.shares.items())
        name, share = shares[0]
        standardisation = standardisation_of(
            noisy_sums.add_up(name, standardisation_sum(self.context, self.features), share), self.columns
        )
        name, share = shares[1]
        product_sums = noisy_sums.add_up(name, self.products(standardisation), share)
        doubt = product_sums.deviation(0) * math.sqrt(2 * self._count) / 2
        moments = positive_part(product_sums.matrix())
        moments[0, 0] = n = max(float(moments[0, 0]), FEWEST)
        line = self._line(standardisation, moments)
        theta, noise = np.zeros(self._count), 1.0
        for (name, share), gain, most in zip(shares[2:], GAINS, MISFITS, strict=True):
            gradient_sums = noisy_sums.add_up(name, self.gradient(standardisation, theta, most), share)
            slope = np.array([gradient_sums.cells(index)[0] for index in range(self._count)])
            noise = gradient_sums.deviation()
            if most < 1:  # at even odds: what the rate of all rows leaves is learned from, not what even odds leave
                theta[0] = log_odds(0.5 + slope[0] / n, noise / n)
                slope = slope - (chances(theta[0]) - 0.5) * moments[0]

            def direction(point: Reals, slope: Reals = gain * slope, noise: float = noise) -> Reals:
                return np.asarray(line.inverse(line.at(point), noise, doubt) @ slope)

            theta = in_grains(followed_along(theta, direction))
        curvature = line.at(theta)
        followed = line.inverse(curvature, noise, doubt) @ curvature
        noisy_sums.notes += shrunk(followed, GAINS, self._count, "coefficients")
        return LogisticModel(self.features, self.target, plain(standardisation, theta))


def _steps(longest: float, rows: int) -> tuple[int, int]:
    """Steps of 1 in misfits and in columns, so that products are no longer than engines take: as many as fit."""
    steps = steps_for(longest * 32, rows, factors=2)
    fine = steps
    while fine < _FINEST and math.ceil(longest * steps * fine * 2) * rows <= LONGEST:
        fine *= 2
    return fine, steps


def plain(standardisation: Standardisation, theta: Reals) -> Reals:
    """Coefficients of standardised columns as those of the columns between -1 and 1, in 20 binary digits."""
    slopes = theta[1:] / standardisation.deviation
    coefficients = np.concatenate([[theta[0] - slopes @ standardisation.mean], slopes])
    return in_grains(coefficients)


@final
@stored("logistic")
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


@stored("LogisticRegression")
@dataclass(eq=False, repr=False)
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

    model_class: ClassVar[type[Model]] = LogisticModel

    def _plan(self, data: LearningData, spend: Spend) -> LogisticPlan:
        return LogisticPlan(*self._planned(data, spend, most=2, declared=True))

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


_EVEN_VARIANCE = 1 / 3  # the variance of numbers that are spread evenly over their bounds
_LEAST_DEVIATION = 0.02  # deviation of a number, as a part of its bounds


@final
class BayesPlan(FitPlan):
    """One pass: for each class its number of rows, sums of numbers, and counts of categories.

    Guarantee: a row of one of the declared classes adds, in the cells of its class alone, 1, each number x between -1
    and 1, x² − ½ if variances are wanted, and 1 in the cell of each of its categories. Because |x² − ½| ≤ ½, its vector
    has length √(1 + c + d) at most for c categories and d numbers, and √(1 + c + 5d/4) with variances. A person's
    vectors are added up, and cut once, at `clip` times that. The sum is μ-GDP, and all else is computed from it.
    """

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
            squares = [
                Call("subtract", (Call("multiply", (number.scaled(),) * 2), Literal(Fraction(1, 2))))
                for number in self.numbers
            ]
            values += [value(square, -0.5, 0.5, steps) for square in squares]
        keys = [
            KeyColumn(category.name, ColumnReference(category.name), category.values)
            for category in (self.target, *self.categories)
        ]
        components = [Component((index,), (0,)) for index in range(len(values))]
        components += [Component((0,), (0, index)) for index in range(1, len(keys))]
        return [vector_sum(self.context.relation, values, components, self.context.rows, keys=keys, longest=longest)]

    def names(self) -> dict[str, Any]:
        features = [codec.write(feature) for feature in self.features]
        return {"features": features, "target": codec.write(self.target), "variances": self.variances}

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
        spread = np.full_like(means, _EVEN_VARIANCE)
        if self.variances:
            squares = _table(class_sums, range(1 + count, 1 + 2 * count), len(counts)) / counts[:, None] + 0.5
            raw = np.clip(squares - means**2, _LEAST_DEVIATION**2, 1)
            pooled_variance = (counts @ raw) / counts.sum()
            known = (counts / (counts + 3 * noise))[:, None]  # the rest is taken from all classes together
            spread = known * raw + (1 - known) * pooled_variance
        spread = np.maximum(spread, _LEAST_DEVIATION**2) + (doubt**2 if self.variances else doubt.max() ** 2)
        first = 1 + count * (2 if self.variances else 1)
        levels = []
        for index, category in enumerate(self.categories):
            table = np.maximum(class_sums.cells(first + index).reshape(len(counts), len(category.values)), 0)
            pooled_levels = table.sum(axis=0) + 1  # a level that the noise hides is as frequent in a class as in all
            table = table + (1 + noise) * len(category.values) * pooled_levels / pooled_levels.sum()
            levels.append(np.log(table / table.sum(axis=1, keepdims=True)))
        return BayesModel(self.features, self.target, np.log(counts / counts.sum()), means, spread, tuple(levels))


def _table(released: Released, indexes: range, classes: int) -> Reals:
    """Cells of some components, a row for each class."""
    return np.array([released.cells(index) for index in indexes]).reshape(-1, classes).T


@final
@stored("bayes")
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


@stored("NaiveBayes")
@dataclass(eq=False, repr=False)
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

    model_class: ClassVar[type[Model]] = BayesModel

    def _plan(self, data: LearningData, spend: Spend) -> BayesPlan:
        return BayesPlan(*self._planned(data, spend), variances=True)

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (("classes", ", ".join(str(label) for label in self.model_.target.values)),)


@stored("ClassMeans")
@dataclass(eq=False, repr=False)
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

    model_class: ClassVar[type[Model]] = BayesModel

    def _plan(self, data: LearningData, spend: Spend) -> BayesPlan:
        return BayesPlan(*self._planned(data, spend), variances=False)

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (("classes", ", ".join(str(label) for label in self.model_.target.values)),)
