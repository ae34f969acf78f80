"""Linear regression, with and without a penalty, and intervals of its coefficients.

- Inverses of matrices that were released with noise: directions in which noise dominates are hardly followed.
- Intervals of the coefficients of a regression whose products were released with noise.
- Linear models: released coefficients, and predictions for public rows.
- The fit: means and deviations, products, a noise-aware inverse, and where they are paid for the products of errors.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake import codec
from giveortake.answers import Answer
from giveortake.answers.column import Column
from giveortake.codec import stored
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import Number, decimal, non_negative, open_probability, positive
from giveortake.learn.base import Model, Regressor
from giveortake.learn.features import (
    FARTHEST,
    Feature,
    Reals,
    ScaledNumber,
    Standardisation,
    added,
    complete_and_declared,
    feature_of,
    features_of,
    public_columns,
    standardisation_of,
    standardisation_sum,
)
from giveortake.learn.noisy_sums import FitContext, FitPlan, gram_sum, in_grains
from giveortake.plan import Call, ColumnReference, Derive, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.learn.noisy_sums import NoisySums, Released
    from giveortake.plan import Expression, Relation
    from giveortake.session.kinds.learning_data import LearningData


_LITTLE = 0.05
_WHY = "too few rows tell of them at this noise"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """A symmetric matrix that was released with noise: its eigenvectors `directions` and eigenvalues `sizes`."""

    sizes: Reals
    directions: Reals

    @classmethod
    def from_matrix(cls, matrix: Reals) -> Curvature:
        """Decompose a matrix; nothing else here takes long."""
        return cls(*np.linalg.eigh((matrix + matrix.T) / 2))

    def inverse(
        self, noise: float, prior: float, floor: float, *, penalty: float | None = None, scale: float = 1.0
    ) -> Reals:
        """`wiener` of `scale` times the matrix."""
        eigenvalues = np.maximum(scale * self.sizes, floor)
        pulled = noise / prior + eigenvalues * (1 / prior if penalty is None else penalty)
        return np.asarray((self.directions * (eigenvalues / (eigenvalues**2 + pulled))) @ self.directions.T)

    def positive(self) -> Reals:
        """The nearest matrix without negative eigenvalues."""
        return np.asarray((self.directions * np.maximum(self.sizes, 0)) @ self.directions.T)


def shrunk(followed: Reals, gains: Sequence[float], directions: int, parameters: str) -> list[str]:
    """What a card says of a fit whose steps, each with its gain, follow so much of what is missing; nothing if all."""
    left = np.eye(len(followed))
    for gain in gains:
        left = left @ (np.eye(len(followed)) - gain * followed)
    part = (float(np.trace(left)) - (len(followed) - directions)) / directions
    return (
        [f"shrunk: {parameters} are drawn towards 0 by about {part:.0%} on average: {_WHY}"] if part > _LITTLE else []
    )


def wiener(curvature: Reals, noise: float, prior: float, floor: float, penalty: float | None = None) -> Reals:
    """The matrix that takes a noisy sum b to coefficients θ, where curvature·θ would be b without noise.

    `noise` is the variance of each number of b, `prior` how large the square of a coefficient is thought to be, and
    `floor` the size of the curvature's own noise, below which no eigenvalue is believed. In a direction of eigenvalue h
    the gain is h/(h² + (noise + h)/prior): 1/h where the signal is large, and next to nothing where noise is. A stated
    `penalty` of ridge regression takes the place of 1/prior beside h. It is post-processing: nothing here reads rows.

    >>> import numpy as np
    >>> wiener(np.diag([100.0, 1.0]), noise=1.0, prior=100.0, floor=0.5).round(3).tolist()
    [[0.01, 0.0], [0.0, 0.98]]
    """
    return Curvature.from_matrix(curvature).inverse(noise, prior, floor, penalty=penalty)


def positive_part(matrix: Reals) -> Reals:
    """The nearest symmetric matrix without negative eigenvalues."""
    return Curvature.from_matrix(matrix).positive()


def followed(curvature: Reals, floor: float) -> tuple[int, int]:
    """How many eigenvalues of a released matrix exceed `floor`, the size of its noise; and how many there are."""
    sizes = np.linalg.eigvalsh((curvature + curvature.T) / 2)
    return int((sizes > floor).sum()), len(sizes)


_DOUBLINGS = 10  # of the delta method's margin, beyond which an interval is taken to have no end
_HALVINGS = 24
_STEPS = 60


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What was released of a regression in standardised columns: G̃, b̃, the meat M̃, and the deviation of G̃'s noise.

    Guarantee [AR49, GKMC12]: let G = Σ xxᵀ and b = Σ xy be of the rows, and E, e the noise that was added to them. At
    the coefficients β of the population the released b̃ − G̃β = Σ x(y − xᵀβ) + e − Eβ has mean 0 and the covariance
    V(β) = M + σ²/2·((1 + βᵀβ)·I + ββᵀ). There M = Σ (y − xᵀβ)²xxᵀ, whatever the variance of errors depends on; the rest
    is the law of the noise, of deviation σ on the diagonal and σ/√2 beside it. No error in G̃ is neglected: where noise
    decides, the interval is wide or without end. A value of a coefficient is in the interval if some β with that value
    has (b̃ − G̃β)ᵀ V(β)⁻¹ (b̃ − G̃β) ≤ χ²₁. This holds as Σ x(y − xᵀβ) becomes normal, with many rows; M is released, too,
    at the predicted errors. Each interval holds by itself.

    The coefficients in the columns' own units, the intercept first, are shift + transform·θ for θ in standard ones.
    `shortened` is about which part of the rows was too far out to count whole.
    """

    gram: Reals
    products: Reals
    meat: Reals
    noise: float
    shift: Reals
    transform: Reals
    shortened: float

    def estimate(self) -> Reals:
        """The coefficients that solve G̃θ = b̃, without any shrinking, in standard units."""
        return np.asarray(np.linalg.lstsq(self.gram, self.products, rcond=None)[0])

    def intervals(self, confidence: float) -> list[tuple[float, float, float]]:
        """The intercept and each coefficient in own units: estimate and ends of the interval, each by itself."""
        intervals = [self._interval(direction, confidence) for direction in self.transform]
        pairs = zip(intervals, self.shift.tolist(), strict=True)
        return [(middle + shift, low + shift, high + shift) for (middle, low, high), shift in pairs]

    def _interval(self, direction: Reals, confidence: float) -> tuple[float, float, float]:
        """The estimate of direction·θ, and the two ends of its interval; infinite where nothing bounds it."""
        most = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
        least = LeastDistance(self, direction)
        middle = float(direction @ least.start)
        margin = least.delta_margin() * math.sqrt(most)
        ends = [least.end(middle, sign * margin, most) for sign in (-1, 1)]
        if not all(map(math.isfinite, ends)):  # a set that is unbounded on one side says nothing
            return middle, -math.inf, math.inf
        return middle, ends[0], ends[1]


@final
class LeastDistance:
    """The least distance of all β with a given value of direction·β."""

    def __init__(self, evidence: Evidence, direction: Reals) -> None:
        self.evidence = evidence
        self.start = evidence.estimate()
        self._direction = direction
        self._along = direction / (direction @ direction)
        size = len(direction)
        self._complement = np.linalg.qr(np.column_stack([direction, np.eye(size)]))[0][:, 1:size]

    def delta_margin(self) -> float:
        """One deviation of the estimate by the delta method: where the search begins."""
        across = np.linalg.lstsq(self.evidence.gram.T, self._direction, rcond=None)[0]
        return math.sqrt(float(across @ self._covariance(self.start) @ across))

    def end(self, middle: float, margin: float, most: float) -> float:
        """Where the distance becomes more than allowed, going from the middle in the direction of the margin."""
        inside, outside = 0.0, margin
        for _ in range(_DOUBLINGS):
            if self.distance(middle + outside) > most:
                break
            inside, outside = outside, 2 * outside
        else:
            return math.copysign(math.inf, margin)
        for _ in range(_HALVINGS):
            between = (inside + outside) / 2
            if self.distance(middle + between) > most:
                outside = between
            else:
                inside = between
        return middle + outside

    def distance(self, value: float) -> float:
        """The least (b̃ − G̃β)ᵀ V(β)⁻¹ (b̃ − G̃β) where direction·β is a value, by steps of Gauss and Newton.

        Half the slope is −D̂ᵀu with u = V⁻¹(b̃ − G̃β) and D̂ = G̃ + σ²/2·(uβᵀ + (u·β)·I): V depends on β as well.
        """
        noise = self.evidence.noise**2 / 2
        beta = self.start + self._along * (value - float(self._direction @ self.start))
        least, solved, covariance = self._at(beta)
        for _ in range(_STEPS):
            slopes = self.evidence.gram + noise * (np.outer(solved, beta) + (solved @ beta) * np.eye(len(beta)))
            across = slopes @ self._complement
            curvature = across.T @ np.linalg.solve(covariance, across)
            step = np.linalg.lstsq(curvature, across.T @ solved, rcond=None)[0]
            gain, share = float(across.T @ solved @ step), 1.0
            if gain < 1e-9 * (1 + least):
                break
            while share > 1e-5:
                tried = beta + share * (self._complement @ step)
                attempt = self._at(tried)
                if attempt[0] < least - 1e-4 * share * gain:
                    beta, (least, solved, covariance) = tried, attempt
                    break
                share /= 2
            else:
                break
        return least

    def _at(self, beta: Reals) -> tuple[float, Reals, Reals]:
        covariance = self._covariance(beta)
        left = self.evidence.products - self.evidence.gram @ beta
        solved = np.linalg.solve(covariance, left)
        return float(left @ solved), np.asarray(solved, dtype=np.float64), covariance

    def _covariance(self, beta: Reals) -> Reals:
        noise = self.evidence.noise**2 / 2
        return np.asarray(self.evidence.meat + noise * ((1 + beta @ beta) * np.eye(len(beta)) + np.outer(beta, beta)))


@final
@stored("linear")
@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """A number that is predicted by a weighted sum of columns.

    `weights` are in the target's own units: the intercept, then one for each design column between -1 and 1, or of 0
    and 1 for a category. `intercept` and `coefficients` are the same for the columns in their own units. Predictions
    are clamped to the target's declared bounds. `followed` is how many directions of the columns the noise
    left to be followed, of how many; where it is none the model expects about the mean of everything.
    """

    target: str
    bounds: tuple[float, float]
    features: tuple[Feature, ...]
    weights: Reals
    followed: tuple[int, int]
    evidence: Evidence | None = None

    @property
    def names(self) -> list[str]:
        """The design columns: numbers, and one for each category but the first."""
        return [column.name for feature in self.features for column in feature.design()]

    @property
    def coefficients(self) -> Reals:
        """How much more is expected with 1 more of each column, or with a category instead of the first."""
        return np.asarray(self.weights[1:] / affine(self.features)[1])

    @property
    def intercept(self) -> float:
        """The prediction where all columns are 0, and every category is the first."""
        centres, halves = affine(self.features)
        return float(self.weights[0] - (self.weights[1:] * centres / halves).sum())

    def predict(self, rows: Any) -> Reals:
        """Predictions for public rows."""
        columns = public_columns(rows, [feature.name for feature in self.features])
        encoded = np.hstack([feature.encode(columns[feature.name]) for feature in self.features])
        return np.asarray(np.clip(self.weights[0] + encoded @ self.weights[1:], *self.bounds))

    def __repr__(self) -> str:
        named = zip(self.names, self.coefficients.tolist(), strict=True)
        terms = "".join(
            f" {'−' if coefficient < 0 else '+'} {abs(coefficient):.4g}·{name}" for name, coefficient in named
        )
        return f"{self.target} ≈ {self.intercept:.4g}{terms}"


def affine(features: Sequence[Feature]) -> tuple[Reals, Reals]:
    """For each design column z of some features, the centre and half the width of x = centre + half·z."""
    pairs = [
        (float(feature.low + feature.high) / 2, float(feature.high - feature.low) / 2)
        if isinstance(feature, ScaledNumber)
        else (0.0, 1.0)
        for feature in features
        for _ in feature.design()
    ]
    centres_and_halves = np.array(pairs, dtype=np.float64).reshape(len(pairs), 2)
    return centres_and_halves[:, 0], centres_and_halves[:, 1]


_PRIOR = 2.0  # the assumed sum of squares of standard coefficients
_EDGE = 0.35  # of the largest eigenvalue that noise alone would have
_ERRORS = 2.5  # deviations of an error that count whole in a row of the farthest columns, and more in nearer ones
_MARK = 0.3  # what marks a row that is made shorter, as a part of the longest


@final
class LinearPlan(FitPlan):
    """Three passes: means and deviations, the products of standard columns, and for intervals those of errors.

    Guarantee: the released standardisation is public when the products are summed. A row (1, z, y) of standard numbers
    is made shorter as a whole where its length is more than √(1 + reach²·d), so that one row moves the products by no
    more than 1 + reach²·d: it then counts less, and says the same. The errors' products are of (y − xᵀθ)·x, with a θ
    that was released, and have the same bound.
    """

    stored_name: ClassVar[str] = "LinearTask"

    def __init__(
        self,
        context: FitContext,
        features: tuple[Feature, ...],
        target: ScaledNumber,
        *,
        penalty: float | None,
        reach: Fraction,
        intervals: bool,
    ) -> None:
        self.context, self.features, self.target = context, features, target
        self.penalty, self.reach, self.intervals = penalty, reach, intervals
        self.columns = [column for feature in (*features, target) for column in feature.design()]
        self.longest = 1 + float(reach) ** 2 * len(self.columns)
        tenth = Fraction(1, 10)
        self.shares = {"standardisation": tenth, "products": 9 * tenth}
        if intervals:
            self.shares = {"standardisation": tenth, "products": 7 * tenth, "errors": 2 * tenth}

    def known(self) -> list[VectorSum]:
        raw = self._derived(self.context.relation, [column.expression for column in self.columns])
        sums = [self._standardisation(), self._products(raw)]
        return [*sums, self._errors(raw, np.ones(len(self.columns)), 1.0)] if self.intervals else sums

    def names(self) -> dict[str, Any]:
        return {
            "features": [codec.write(feature) for feature in self.features],
            "target": codec.write(self.target),
            "reach": str(self.reach),
        }

    def words(self) -> str:
        return f"a linear regression of {self.target.name}"

    def learn(self, noisy_sums: NoisySums) -> LinearModel:
        first = noisy_sums.add_up("standardisation", self._standardisation(), self.shares["standardisation"])
        standard = standardisation_of(first, self.columns)
        expressions = standard.expressions([column.expression for column in self.columns])
        rows = self._derived(self.context.relation, expressions)
        product_sums = noisy_sums.add_up("products", self._products(rows), self.shares["products"])
        matrix, noise = product_sums.matrix(), product_sums.deviation()
        gram, products = matrix[:-1, :-1], matrix[:-1, -1]
        size = len(products)
        floor = _EDGE * noise * math.sqrt(2 * size)
        theta = wiener(gram, 0.75 * noise**2, _PRIOR / max(size, 4), floor, self.penalty) @ products
        theta = in_grains(theta)
        own, shift = self._own_units(standard)
        evidence = None
        if self.intervals:
            missed = float(matrix[-1, -1] - 2 * products @ theta + theta @ gram @ theta)
            error = math.sqrt(min(max(missed / max(matrix[0, 0], 1.0), 0.01), 1.0))
            error = math.ceil(_ERRORS * error * 1024) / 1024
            errors = noisy_sums.add_up("errors", self._errors(rows, theta, error), self.shares["errors"])
            evidence = self._evidence(product_sums, errors, error, own, shift)
        centres, halves = affine(self.features)
        coefficients = shift + own @ theta
        weights = np.concatenate([[coefficients[0] + coefficients[1:] @ centres], coefficients[1:] * halves])
        bounds = (float(self.target.low), float(self.target.high))
        return LinearModel(self.target.name, bounds, self.features, weights, followed(gram, floor), evidence)

    def _standardisation(self) -> VectorSum:
        return standardisation_sum(self.context, (*self.features, self.target))

    def _derived(self, relation: Relation, expressions: Sequence[Expression]) -> Derive:
        """Rows with these columns, each computed once even if used often; none is named like the person column."""
        person = relation.person or "row"
        return Derive(
            relation, tuple((f"{person}_{index}", expression) for index, expression in enumerate(expressions))
        )

    def _products(self, rows: Derive) -> VectorSum:
        """All products of 1 and the columns, the target last."""
        columns = [ColumnReference(name) for name, _ in rows.named]
        values = [(Literal(Fraction(1)), 0.0, 1.0), *((column, -FARTHEST, FARTHEST) for column in columns)]
        return gram_sum(rows, values, self.context.rows, longest=self.longest)

    def _errors(self, rows: Derive, theta: Reals, error: float) -> VectorSum:
        """All products of (y − xᵀθ)/error · x with each other; the last value marks rows that are made shorter."""
        columns = [ColumnReference(name) for name, _ in rows.named]
        weights = [Literal(Fraction(-coefficient)) for coefficient in theta.tolist()]
        expected = [Call("multiply", pair) for pair in zip(columns[:-1], weights[1:], strict=True)]
        missed = Call("multiply", (added([columns[-1], weights[0], *expected]), Literal(Fraction(1 / error))))
        square = added([Call("multiply", (column, column)) for column in columns])
        is_long = Call("gt", (square, Literal(Fraction(self.longest - 1))))
        mark = self._mark()
        marked = Call("case", (is_long, Literal(Fraction(mark)), Literal(Fraction(0))))
        derived = self._derived(rows, [missed, marked, *columns[:-1]])
        left, shortened, *regressors = [ColumnReference(name) for name, _ in derived.named]
        values: list[tuple[Expression, float, float]] = [
            (left, -FARTHEST, FARTHEST),
            *((Call("multiply", (left, column)), -FARTHEST, FARTHEST) for column in regressors),
            (shortened, 0.0, mark),
        ]
        return gram_sum(derived, values, self.context.rows, longest=self.longest + mark**2)

    def _mark(self) -> float:
        return min(math.ceil(_MARK * math.sqrt(self.longest) * 64) / 64, float(FARTHEST))

    def _own_units(self, standard: Standardisation) -> tuple[Reals, Reals]:
        """What turns standard coefficients into those in own units: a matrix, and a shift of the intercept."""
        (centre,), (half,) = affine([self.target])
        centres, halves = affine(self.features)
        means, deviations = standard.mean[:-1] * halves + centres, standard.deviation[:-1] * halves
        high = half * standard.deviation[-1]
        transform = np.diag(np.concatenate([[high], high / deviations]))
        transform[0, 1:] = -high * means / deviations
        return transform, np.concatenate([[centre + half * standard.mean[-1]], np.zeros(len(means))])

    def _evidence(self, product_sums: Released, errors: Released, error: float, own: Reals, shift: Reals) -> Evidence:
        matrix, meat = product_sums.matrix(), errors.matrix()
        shortened = meat[-1, -1] / self._mark() ** 2 / max(matrix[0, 0], 1.0)
        return Evidence(
            matrix[:-1, :-1],
            matrix[:-1, -1],
            positive_part(meat[:-1, :-1]) * error**2,
            product_sums.deviation(),
            shift,
            own,
            float(np.clip(shortened, 0, 1)),
        )


class _Linear(Regressor):
    """The base of linear learners."""

    model_class: ClassVar[type[Model]] = LinearModel

    def _planned(
        self, data: LearningData, spend: Spend, *, penalty: float | None, reach: Fraction, intervals: bool
    ) -> LinearPlan:
        if self.target is None:
            raise InvalidParameter("target", None, "is missing: say which column is learned", hint='target="…"')
        features = features_of(data.schema, self.features, self.target)
        target = feature_of(data.schema, self.target, "target")
        if not isinstance(target, ScaledNumber):
            raise InvalidParameter(
                "target", self.target, "is not a number with declared bounds", hint="LogisticRegression learns classes"
            )
        context = FitContext.from_parameters(
            data, spend, self.clip, complete_and_declared(data.schema, (*features, target))
        )
        return LinearPlan(context, features, target, penalty=penalty, reach=reach, intervals=intervals)

    def predict(self, rows: Any) -> Reals:
        """Predictions for public rows: a frame, a mapping of columns, or an array with the features in order."""
        model: LinearModel = self._require_fitted()
        return model.predict(self._checked_rows(rows))

    @property
    def coef_(self) -> Reals:
        """The coefficients that predict, in the columns' own units; `model_.names` are their names."""
        model: LinearModel = self._require_fitted()
        return model.coefficients

    @property
    def intercept_(self) -> float:
        """The prediction where all columns are 0."""
        model: LinearModel = self._require_fitted()
        return model.intercept

    def _described(self) -> tuple[tuple[str, str], ...]:
        model = self.model_
        followed, directions = model.followed
        suffix = "" if followed == directions else "; in the others noise decides, and they are hardly followed"
        text = f"{followed} of {directions}{suffix}"
        return (("model", repr(model)), ("directions followed", text))


@final
@stored("LinearRegression")
@dataclass(eq=False, repr=False)
class LinearRegression(_Linear):
    """Least squares from one release of products, after a private standardisation.

    Guarantee: μ-GDP for all passes together, one charge; see `LinearPlan`. In each direction of the columns the inverse
    weighs what the noise there allows, so that a small table gives a cautious model.

    With `intervals=True` a fifth of μ² goes to the products of errors, and `coefficients()` has the *unshrunk*
    estimates with intervals that hold whatever the errors' variance depends on. They are about the regression in which
    rows farther out than `reach` standard lengths count less, and a note says how many these are. `reach` is 1 without
    intervals, which predicts best, and 3 with them. Intervals need one row a person. Choosing columns by what a fit
    shows is free in privacy, not in inference: intervals of coefficients that were chosen for their size do not hold.
    """

    _: KW_ONLY
    intervals: bool = False
    reach: Number | None = None

    def _plan(self, data: LearningData, spend: Spend) -> LinearPlan:
        reach = self.reach if self.reach is not None else (3 if self.intervals else 1)
        plan = self._planned(data, spend, penalty=None, reach=positive("reach", reach), intervals=bool(self.intervals))
        if self.intervals and not plan.context.by_row:
            raise QueryRefused(
                "intervals of coefficients need one row a person: errors of one person's rows depend on each other",
                hint="make one row of a person with s.table().per_person(…), or leave intervals=True out",
            )
        return plan

    def coefficients(self, confidence: Number = "0.95") -> Answer:
        """The unshrunk estimates with their intervals, in own units; an interval without an end says nothing."""
        model: LinearModel = self._require_fitted()
        if model.evidence is None:
            raise InvalidParameter(
                "intervals",
                False,
                "was passed: the fit released nothing that intervals could be computed from",
                hint="fit with intervals=True",
            )
        sure = open_probability("confidence", confidence)
        intervals = model.evidence.intervals(float(sure))
        values, low, high = zip(*intervals, strict=True)
        note = f"about {model.evidence.shortened:.1%} of the rows were too far out to count in full: {_REACH}"
        return Answer(
            [
                Column("column", ["(intercept)", *model.names]),
                Column("coefficient", list(values), list(low), list(high)),
            ],
            guarantee=self.provenance_.guarantee,
            release_id=self.provenance_.release_id,
            confidence=sure,
            notes=(note,),
        )

    def _described(self) -> tuple[tuple[str, str], ...]:
        evidence = self.model_.evidence
        if evidence is None:
            return super()._described()
        text = f"{decimal(Fraction(evidence.shortened) * 100, 2)} % of rows, about, were scaled down"
        return (*super()._described(), ("intervals", text))


_REACH = "intervals are about the regression in which they count less; a larger reach= has fewer, and more noise"


@final
@stored("Ridge")
@dataclass(eq=False, repr=False)
class Ridge(_Linear):
    """Least squares with a penalty on the squares of standard coefficients, stated as a number of rows.

    Guarantee: that of `LinearRegression`. The penalty is stated; choosing one by looking at released models is free in
    privacy. No intervals are shown: a penalty moves estimates by an amount that is not known.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> model = gt.learn.Ridge("weight", ["age"], penalty=10, epsilon=1, delta="1e-7").fit(s)
    >>> young, old = model.predict(pl.DataFrame({"age": [20, 50]}))
    >>> bool(young < old)
    True
    """

    _: KW_ONLY
    penalty: Number = 1.0

    def _plan(self, data: LearningData, spend: Spend) -> LinearPlan:
        penalty = float(non_negative("penalty", self.penalty))
        return self._planned(data, spend, penalty=penalty, reach=Fraction(1), intervals=False)
