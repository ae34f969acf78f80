"""Linear regression, with and without a penalty: means and deviations, products, and a noise-aware inverse."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.answers import Answer
from giveortake.answers.column import Column
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import non_negative, open_probability, positive, shown
from giveortake.learn.coefficient_intervals import Evidence
from giveortake.learn.estimator import Regressor
from giveortake.learn.features import ScaledNumber, added, complete_and_declared, feature_of, features_of
from giveortake.learn.lattice import GRAIN, gram_sum
from giveortake.learn.linear_model import LinearModel, affine
from giveortake.learn.noise_aware import followed, wiener
from giveortake.learn.noise_aware import positive as positive_part
from giveortake.learn.standardisation import FARTHEST, Standardisation, standardisation_of, standardisation_sum
from giveortake.learn.task import Ground, Task
from giveortake.plan import Call, ColumnReference, Derive, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.features import Feature
    from giveortake.learn.model import Model
    from giveortake.learn.passes import Passes, Released
    from giveortake.plan import Expression, Relation
    from giveortake.session.vector_run import LearningData

    Reals: TypeAlias = npt.NDArray[np.float64]

_PRIOR = 2.0  # the assumed sum of squares of standard coefficients
_EDGE = 0.35  # of the largest eigenvalue that noise alone would have
_ERRORS = 2.5  # deviations of an error that count whole in a row of the farthest columns, and more in nearer ones
_MARK = 0.3  # what marks a row that is made shorter, as a part of the longest


@final
class LinearTask(Task):
    """Three passes: means and deviations, the products of standard columns, and for intervals those of errors.

    Guarantee: the released standardisation is public when the products are summed. A row (1, z, y) of standard numbers
    is made shorter as a whole where its length is more than √(1 + reach²·d), so that one row moves the products by no
    more than 1 + reach²·d: it then counts less, and says the same. The errors' products are of (y − xᵀθ)·x, with a θ
    that was released, and have the same bound.
    """

    stored_name: ClassVar[str] = "LinearTask"

    def __init__(
        self,
        ground: Ground,
        features: tuple[Feature, ...],
        target: ScaledNumber,
        *,
        penalty: float | None,
        reach: Fraction,
        intervals: bool,
    ) -> None:
        self.ground, self.features, self.target = ground, features, target
        self.penalty, self.reach, self.intervals = penalty, reach, intervals
        self.columns = [column for each in (*features, target) for column in each.design()]
        self.longest = 1 + float(reach) ** 2 * len(self.columns)
        tenth = Fraction(1, 10)
        self.shares = {"standardisation": tenth, "products": 9 * tenth}
        if intervals:
            self.shares = {"standardisation": tenth, "products": 7 * tenth, "errors": 2 * tenth}

    def known(self) -> list[VectorSum]:
        raw = self._derived(self.ground.relation, [each.expression for each in self.columns])
        sums = [self._standardisation(), self._products(raw)]
        return [*sums, self._errors(raw, np.ones(len(self.columns)), 1.0)] if self.intervals else sums

    def names(self) -> dict[str, Any]:
        return {
            "features": [each.to_json() for each in self.features],
            "target": self.target.to_json(),
            "reach": str(self.reach),
        }

    def words(self) -> str:
        return f"a linear regression of {self.target.name}"

    def learn(self, passes: Passes) -> LinearModel:
        first = passes.add_up("standardisation", self._standardisation(), self.shares["standardisation"])
        standard = standardisation_of(first, self.columns)
        expressions = standard.expressions([each.expression for each in self.columns])
        rows = self._derived(self.ground.relation, expressions)
        made = passes.add_up("products", self._products(rows), self.shares["products"])
        matrix, noise = made.matrix(), made.deviation()
        gram, products = matrix[:-1, :-1], matrix[:-1, -1]
        size = len(products)
        floor = _EDGE * noise * math.sqrt(2 * size)
        theta = wiener(gram, 0.75 * noise**2, _PRIOR / max(size, 4), floor, self.penalty) @ products
        theta = np.round(theta * GRAIN) / GRAIN
        own, shift = self._own_units(standard)
        evidence = None
        if self.intervals:
            missed = float(matrix[-1, -1] - 2 * products @ theta + theta @ gram @ theta)
            error = math.sqrt(min(max(missed / max(matrix[0, 0], 1.0), 0.01), 1.0))
            error = math.ceil(_ERRORS * error * 1024) / 1024
            errors = passes.add_up("errors", self._errors(rows, theta, error), self.shares["errors"])
            evidence = self._evidence(made, errors, error, own, shift)
        centres, halves = affine(self.features)
        coefficients = shift + own @ theta
        weights = np.concatenate([[coefficients[0] + coefficients[1:] @ centres], coefficients[1:] * halves])
        bounds = (float(self.target.low), float(self.target.high))
        return LinearModel(self.target.name, bounds, self.features, weights, followed(gram, floor), evidence)

    def _standardisation(self) -> VectorSum:
        return standardisation_sum(self.ground, (*self.features, self.target))

    def _derived(self, relation: Relation, expressions: Sequence[Expression]) -> Derive:
        """Rows with these columns, each computed once even if used often; none is named like the person column."""
        person = relation.person or "row"
        return Derive(relation, tuple((f"{person}_{place}", each) for place, each in enumerate(expressions)))

    def _products(self, rows: Derive) -> VectorSum:
        """All products of 1 and the columns, the target last."""
        columns = [ColumnReference(name) for name, _ in rows.named]
        values = [(Literal(Fraction(1)), 0.0, 1.0), *((each, -FARTHEST, FARTHEST) for each in columns)]
        return gram_sum(rows, values, self.ground.rows, longest=self.longest)

    def _errors(self, rows: Derive, theta: Reals, error: float) -> VectorSum:
        """All products of (y − xᵀθ)/error · x with each other; the last value marks rows that are made shorter."""
        columns = [ColumnReference(name) for name, _ in rows.named]
        weights = [Literal(Fraction(-each)) for each in theta.tolist()]
        expected = [Call("multiply", pair) for pair in zip(columns[:-1], weights[1:], strict=True)]
        missed = Call("multiply", (added([columns[-1], weights[0], *expected]), Literal(Fraction(1 / error))))
        square = added([Call("multiply", (each, each)) for each in columns])
        is_long = Call("gt", (square, Literal(Fraction(self.longest - 1))))
        mark = self._mark()
        marked = Call("case", (is_long, Literal(Fraction(mark)), Literal(Fraction(0))))
        derived = self._derived(rows, [missed, marked, *columns[:-1]])
        left, shortened, *others = [ColumnReference(name) for name, _ in derived.named]
        values: list[tuple[Expression, float, float]] = [
            (left, -FARTHEST, FARTHEST),
            *((Call("multiply", (left, each)), -FARTHEST, FARTHEST) for each in others),
            (shortened, 0.0, mark),
        ]
        return gram_sum(derived, values, self.ground.rows, longest=self.longest + mark**2)

    def _mark(self) -> float:
        return min(math.ceil(_MARK * math.sqrt(self.longest) * 64) / 64, float(FARTHEST))

    def _own_units(self, standard: Standardisation) -> tuple[Reals, Reals]:
        """What turns standard coefficients into those in own units: a matrix, and a shift of the intercept."""
        (centre,), (half,) = affine([self.target])
        centres, halves = affine(self.features)
        means, deviations = standard.mean[:-1] * halves + centres, standard.deviation[:-1] * halves
        high = half * standard.deviation[-1]
        found = np.diag(np.concatenate([[high], high / deviations]))
        found[0, 1:] = -high * means / deviations
        return found, np.concatenate([[centre + half * standard.mean[-1]], np.zeros(len(means))])

    def _evidence(self, made: Released, errors: Released, error: float, own: Reals, shift: Reals) -> Evidence:
        matrix, meat = made.matrix(), errors.matrix()
        shortened = meat[-1, -1] / self._mark() ** 2 / max(matrix[0, 0], 1.0)
        return Evidence(
            matrix[:-1, :-1],
            matrix[:-1, -1],
            positive_part(meat[:-1, :-1]) * error**2,
            made.deviation(),
            shift,
            own,
            float(np.clip(shortened, 0, 1)),
        )


class _Linear(Regressor):
    """The base of linear learners."""

    made: ClassVar[type[Model]] = LinearModel
    model_: LinearModel
    clip: int | None

    def _planned(self, data: LearningData, *, penalty: float | None, reach: Fraction, intervals: bool) -> LinearTask:
        if self.target is None:
            raise InvalidParameter("target", None, "is missing: say which column is learned", hint='target="…"')
        features = features_of(data.schema, self.features, self.target)
        target = feature_of(data.schema, self.target, "target")
        if not isinstance(target, ScaledNumber):
            raise InvalidParameter(
                "target", self.target, "is not a number with declared bounds", hint="LogisticRegression learns classes"
            )
        ground = self._ground(data, complete_and_declared(data.schema, (*features, target)))
        return LinearTask(ground, features, target, penalty=penalty, reach=reach, intervals=intervals)

    def predict(self, rows: Any) -> Reals:
        """Predictions for public rows: a frame, a mapping of columns, or an array with the features in order."""
        model: LinearModel = self._require_fitted()
        return model.predict(self._alike(rows))

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
        followed, of = model.followed
        rest = "" if followed == of else "; in the others noise decides, and they are hardly followed"
        said = f"{followed} of {of}{rest}"
        return (("model", repr(model)), ("directions followed", said))


@final
class LinearRegression(_Linear):
    """Least squares from one release of products, after a private standardisation.

    Guarantee: μ-GDP for all passes together, one charge; see `LinearTask`. In each direction of the columns the inverse
    weighs what the noise there allows, so that a small table gives a cautious model.

    With `intervals=True` a fifth of μ² goes to the products of errors, and `coefficients()` has the *unshrunk*
    estimates with intervals that hold whatever the errors' variance depends on. They are about the regression in which
    rows farther out than `reach` standard lengths count less, and a note says how many these are. `reach` is 1 without
    intervals, which predicts best, and 3 with them. Intervals need one row a person. Choosing columns by what a fit
    shows is free in privacy, not in inference: intervals of coefficients that were chosen for their size do not hold.
    """

    stored_name: ClassVar[str] = "LinearRegression"

    def __init__(
        self,
        target: str | None = None,
        features: Sequence[str] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        clip: int | None = None,
        intervals: bool = False,
        reach: Number | None = None,
        domains: Any = None,
        budget: Any = None,
    ) -> None:
        self.target, self.features = target, features
        self.epsilon, self.delta, self.rho, self.mu = epsilon, delta, rho, mu
        self.clip, self.intervals, self.reach = clip, intervals, reach
        self.domains, self.budget = domains, budget

    def _task(self, data: LearningData) -> LinearTask:
        reach = self.reach if self.reach is not None else (3 if self.intervals else 1)
        task = self._planned(data, penalty=None, reach=positive("reach", reach), intervals=bool(self.intervals))
        if self.intervals and not task.ground.by_row:
            raise QueryRefused(
                "intervals of coefficients need one row a person: errors of one person's rows depend on each other",
                hint="make one row of a person with s.table().per_person(…), or leave intervals=True out",
            )
        return task

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
        found = model.evidence.intervals(float(sure))
        values, low, high = zip(*found, strict=True)
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
        said = f"{shown(Fraction(evidence.shortened) * 100, 2)} % of rows, about, were scaled down"
        return (*super()._described(), ("intervals", said))


_REACH = "intervals are about the regression in which they count less; a larger reach= has fewer, and more noise"


@final
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

    stored_name: ClassVar[str] = "Ridge"

    def __init__(
        self,
        target: str | None = None,
        features: Sequence[str] | None = None,
        *,
        penalty: Number = 1.0,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        clip: int | None = None,
        domains: Any = None,
        budget: Any = None,
    ) -> None:
        self.target, self.features, self.penalty = target, features, penalty
        self.epsilon, self.delta, self.rho, self.mu = epsilon, delta, rho, mu
        self.clip, self.domains, self.budget = clip, domains, budget

    def _task(self, data: LearningData) -> LinearTask:
        penalty = float(non_negative("penalty", self.penalty))
        return self._planned(data, penalty=penalty, reach=Fraction(1), intervals=False)
