"""Released statistics of columns: moments, principal components and means.

- Moments of declared columns: their number, sums and products, in one release, for many models at no further cost.
- Principal components of released moments: directions in which columns spread, and how far.
- The oracle of the statistical-query model [Kea98, BDMN05]: the mean of a bounded number, to a stated tolerance.
  Whatever learns from such means alone learns privately: each answer is one release behind the session's filter, and
  the next question may depend on all earlier answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, final

import numpy as np

from giveortake import codec
from giveortake.answers import Answer, Estimate, render
from giveortake.answers.terms import Caps
from giveortake.codec import stored
from giveortake.compile import Spend, Terms
from giveortake.engines import Component
from giveortake.engines.questions import LONGEST
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import counted, decimal, non_negative, open_probability, positive, whole
from giveortake.frame import Expr
from giveortake.frame.expressions import column_or_expression
from giveortake.learn.base import Document, Model
from giveortake.learn.features import (
    Feature,
    Reals,
    ScaledNumber,
    complete_and_declared,
    features_of,
    public_columns,
)
from giveortake.learn.linear import LinearModel, affine, followed, positive_part, wiener
from giveortake.learn.noisy_sums import (
    FitContext,
    FitPlan,
    FitTerms,
    Fitting,
    fit_terms,
    gram_sum,
    names_of,
    one,
    planned_run,
    promised,
    value,
    vector_sum,
)
from giveortake.plan import Call, Expression, Kind, Literal, identity
from giveortake.privacy import Guarantee
from giveortake.session.kinds.learning_data import LearningData, served_to_asker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake import frame
    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.noisy_sums import NoisySums
    from giveortake.session import Session
    from giveortake.session.kinds.runs import PlannedRun, Run


@final
@stored("components")
@dataclass(frozen=True, eq=False, repr=False)
class PrincipalComponents(Model):
    """The directions of columns between -1 and 1, in rows, that spread most, and the variance in each.

    `edge` is the variance that noise alone would show in the first of them: a direction with less may be noise.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> components = gt.learn.moments(s, ["age", "weight"], epsilon=1, delta="1e-7").pca()
    >>> isinstance(components, gt.learn.PrincipalComponents), components.components.shape
    (True, (2, 2))
    """

    features: tuple[Feature, ...]
    mean: Reals
    components: Reals
    variances: Reals
    total: float
    edge: float

    @classmethod
    def from_products(cls, features: tuple[Feature, ...], scaled: Reals, noise: float, k: int) -> PrincipalComponents:
        """Compute components from released products of (1, z₁, …), with the deviation of their noise."""
        component_count = whole("k", k)
        if component_count >= len(scaled):
            raise InvalidParameter("k", k, f"is more than there are columns, {len(scaled) - 1}")
        n = max(float(scaled[0, 0]), noise, 1.0)
        mean = np.clip(scaled[0, 1:] / n, -1, 1)
        sizes, directions = np.linalg.eigh(scaled[1:, 1:] / n - np.outer(mean, mean))
        components = directions[:, ::-1][:, :component_count].T
        components = (
            components
            * np.where(components[np.arange(component_count), np.abs(components).argmax(axis=1)] < 0, -1, 1)[:, None]
        )
        total = max(float(sizes.sum()), 1e-12)
        edge = noise * math.sqrt(2 * len(mean)) / n
        return cls(features, mean, components, np.maximum(sizes[::-1][:component_count], 0), total, edge)

    @property
    def names(self) -> list[str]:
        """The columns: numbers, and one for each category but the first."""
        return [column.name for feature in self.features for column in feature.design()]

    @property
    def ratio(self) -> Reals:
        """The part of all variance in each direction."""
        return np.asarray(np.clip(self.variances / self.total, 0, 1))

    def transform(self, rows: Any) -> Reals:
        """Public rows in these directions, less the mean."""
        columns = public_columns(rows, [feature.name for feature in self.features])
        encoded = np.hstack([feature.encode(columns[feature.name]) for feature in self.features])
        return np.asarray((encoded - self.mean) @ self.components.T)

    def __repr__(self) -> str:
        lines = [
            f"  {share:6.1%}{' ' if variance > self.edge else '?'} {_mix(self.names, direction)}"
            for share, variance, direction in zip(self.ratio, self.variances, self.components, strict=True)
        ]
        doubt = ["  ? may be noise"] if (self.variances <= self.edge).any() else []
        return "\n".join(["principal components, with their part of the variance", *lines, *doubt])


def _mix(names: list[str], direction: Reals) -> str:
    """The columns with the largest weights in a direction, as text."""
    order = np.argsort(-np.abs(direction))[:4]
    terms = " ".join(
        f"{'−' if direction[index] < 0 else '+'} {abs(direction[index]):.2f}·{names[index]}" for index in order
    )
    return terms + (" …" if len(direction) > 4 else "")


_WIDEST = 8  # columns whose correlations are shown, each with each


@served_to_asker
def moments(
    s: Session | frame.Table,
    columns: Sequence[str] | None = None,
    *,
    clip: int | None = None,
    key: str | None = None,
    **terms: Unpack[FitTerms],
) -> Moments:
    """n, XᵀX and with it Xᵀy of declared columns, for whichever of them is the target, in one Gaussian release.

    Guarantee: the products of a row's numbers (1, x₁, …), each between -1 and 1 and in whole steps, are a Gram matrix
    of length Σ x²; above the diagonal they count twice and get noise σ/√2. So a row of d columns moves the release by
    at most 1 + d, relative to σ, and a person by at most `clip` times that. What is computed from it is free.
    """
    moments: Moments = MomentsFitting(None if columns is None else names_of(columns), clip).answered(
        LearningData.of(s), fit_terms(terms), key
    )
    return moments


@final
@stored("moments of columns")
@dataclass(frozen=True, eq=False)
class MomentsFitting(Fitting):
    """The moments of columns."""

    columns: tuple[str, ...] | None = None
    clip: int | None = None

    def planned(self, data: LearningData, spend: Spend, n: int | None = None) -> PlannedRun:
        features = features_of(data.schema, self.columns, called="columns")
        condition = complete_and_declared(data.schema, features)
        plan = MomentsPlan(FitContext.from_parameters(data, spend, self.clip, condition), features)
        return planned_run(plan, promised, n)


@final
class MomentsPlan(FitPlan):
    """One pass: all products of the columns."""

    stored_name: ClassVar[str] = "MomentsTask"

    def __init__(self, context: FitContext, features: tuple[Feature, ...]) -> None:
        self.context, self.features = context, features
        self.shares = {"products": Fraction(1)}
        self.columns = [column for feature in features for column in feature.design()]

    def known(self) -> list[VectorSum]:
        values = [
            (Literal(Fraction(1)), 0.0, 1.0),
            *((column.expression, float(column.low), 1.0) for column in self.columns),
        ]
        return [gram_sum(self.context.relation, values, self.context.rows, longest=1 + len(self.features))]

    def names(self) -> dict[str, Any]:
        return {"features": [codec.write(feature) for feature in self.features]}

    def words(self) -> str:
        return f"the moments of {', '.join(feature.name for feature in self.features)}"

    def learn(self, noisy_sums: NoisySums) -> Moments:
        (vector_sum,) = self.known()
        released = noisy_sums.add_up("products", vector_sum, self.shares["products"])
        return Moments(
            self.features,
            released.matrix(),
            released.deviation(),
            by_row=self.context.by_row,
            capped_rows=self.context.capped_rows,
        )


@final
@stored("moments")
@dataclass(frozen=True, eq=False, repr=False)
class Moments(Document):
    """Released products of (1, z₁, …), where z are the columns between -1 and 1, or 0 and 1 for categories.

    `scaled` is their matrix; `noise` the deviation of its noise on the diagonal, √2 times less beside it. All that is
    computed here is free: regressions on any of the columns, principal components, correlations. Choosing among them by
    what they show is free in privacy, and not in inference. `by_row` says that no person has more than one row.
    """

    features: tuple[Feature, ...]
    scaled: Reals
    noise: float
    guarantee: Guarantee | None = None
    release_id: str | None = None
    by_row: bool = False
    capped_rows: int | None = None  # how many rows of a person count at most; None where all do

    @property
    def names(self) -> list[str]:
        """The columns, with one for each category but the first."""
        return [column.name for feature in self.features for column in feature.design()]

    @property
    def n(self) -> float:
        """The number of rows, give or take `noise`."""
        return float(self.scaled[0, 0])

    @property
    def xtx(self) -> Reals:
        """The products of (1, x₁, …) in the columns' own units."""
        scale = self._affine()
        return np.asarray(scale @ self.scaled @ scale.T)

    def means(self) -> Reals:
        """The means of the columns, in their own units and within their bounds."""
        centres, halves = affine(self.features)
        lows = np.array([column.low for feature in self.features for column in feature.design()], dtype=np.float64)
        return np.asarray(centres + halves * np.clip(self.scaled[0, 1:] / self._rows, lows, 1))

    def covariance(self) -> Reals:
        """The covariance of the columns in their own units: the valid one nearest to what was released."""
        halves = affine(self.features)[1]
        return np.asarray(self._spread() * np.outer(halves, halves))

    def correlations(self) -> Reals:
        """The correlations of the columns, in the order of `names`; 0 for a column that is all noise."""
        spread = self._spread()
        variances = np.diag(spread)
        seen = variances > 2 * self.noise / self._rows
        deviations = np.sqrt(np.where(seen, variances, math.inf))
        correlations = np.clip(spread / np.outer(deviations, deviations), -1, 1)
        np.fill_diagonal(correlations, 1)
        return np.asarray(correlations)

    def ridge(
        self, target: str, features: Sequence[str] | None = None, *, penalty: Number | None = None
    ) -> LinearModel:
        """A linear model of one of the columns by the others, or by some of them; it costs nothing.

        `penalty` is that of ridge regression, on columns between -1 and 1; without one, as much as the noise asks for.
        """
        named = [self._feature(name) for name in features] if features is not None else list(self.features)
        target_feature = self._feature(target)
        chosen = tuple(feature for feature in named if feature.name != target_feature.name)
        if not isinstance(target_feature, ScaledNumber):
            raise InvalidParameter("target", target, "is not a number with declared bounds")
        if not chosen or len(chosen) < len(named) - (features is None) or len(set(named)) < len(named):
            raise InvalidParameter("features", features, "needs columns, each once, without the target")
        ridge_penalty = None if penalty is None else float(non_negative("penalty", penalty))
        indexes = [0, *(index for feature in chosen for index in self._indexes(feature))]
        (last,) = self._indexes(target_feature)
        gram, products = self.scaled[np.ix_(indexes, indexes)], self.scaled[indexes, last]
        floor = 0.35 * self.noise * math.sqrt(2 * len(indexes))
        theta = wiener(gram, 0.75 * self.noise**2, 4.0, floor, ridge_penalty) @ products
        low, high = float(target_feature.low), float(target_feature.high)
        theta *= (high - low) / 2
        theta[0] += (high + low) / 2
        return LinearModel(target_feature.name, (low, high), chosen, theta, followed(gram, floor))

    def pca(self, k: int = 2) -> PrincipalComponents:
        """The k directions in which the columns, between -1 and 1, spread most; it costs nothing."""
        return PrincipalComponents.from_products(self.features, self.scaled, self.noise, k)

    def column_index(self, name: str) -> int:
        """The index of a column in the matrices."""
        if name not in self.names:
            raise InvalidParameter("target", name, "is not among the columns", hint=f"columns: {', '.join(self.names)}")
        return self.names.index(name) + 1

    def feature(self, name: str) -> tuple[Feature, list[int]]:
        """A column as it was declared, and where its numbers are in the matrices."""
        feature = self._feature(name)
        return feature, self._indexes(feature)

    # -- faces --------------------------------------------------------------------------------------------------

    def _table(self) -> tuple[list[str], list[list[str]]]:
        means, deviations = self.means(), np.sqrt(np.maximum(np.diag(self.covariance()), 0))
        related = self.correlations()
        names = self.names
        rows = [[name, f"{means[index]:.4g}", f"{deviations[index]:.4g}"] for index, name in enumerate(names)]
        if len(names) <= _WIDEST:
            correlation_rows = [[f"{correlation:.2f}" for correlation in line] for line in related]
            return ["column", "mean", "deviation", *names], [
                row + line for row, line in zip(rows, correlation_rows, strict=True)
            ]
        strongest = np.abs(related - np.eye(len(names))).argmax(axis=1).tolist()
        notes = [f"{related[index, other]:.2f} with {names[other]}" for index, other in enumerate(strongest)]
        return ["column", "mean", "deviation", "strongest correlation"], [
            [*row, note] for row, note in zip(rows, notes, strict=True)
        ]

    def _title(self) -> str:
        title = f"moments of {counted(len(self.features), 'column')} over {self.n:,.0f} ± {2 * self.noise:,.0f} rows"
        return render.of_counted_rows(title, self.capped_rows)

    def _facts(self) -> list[tuple[str, str]]:
        return [] if self.guarantee is None else [("promise", str(self.guarantee))]

    def __repr__(self) -> str:
        head, rows = self._table()
        lines = render.aligned([head, *rows], str.rjust)
        return "\n".join([self._title(), *(f"  {line}" for line in lines), *(text for _, text in self._facts())])

    def _repr_html_(self) -> str:
        return render.card(self._title(), render.fact_list(self._facts()), render.table(*self._table()))

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _rows(self) -> float:
        return max(self.n, self.noise, 1.0)

    def _spread(self) -> Reals:
        mean = self.scaled[0, 1:] / self._rows
        return positive_part(self.scaled[1:, 1:] / self._rows - np.outer(mean, mean))

    def _feature(self, name: str) -> Feature:
        known = {feature.name: feature for feature in self.features}
        if name not in known:
            raise InvalidParameter("target", name, "is not among the columns", hint=f"columns: {', '.join(known)}")
        return known[name]

    def _indexes(self, feature: Feature) -> list[int]:
        start = 1
        for candidate in self.features:
            wide = len(candidate.design())
            if candidate == feature:
                return list(range(start, start + wide))
            start += wide
        raise AssertionError(feature)

    def _affine(self) -> Reals:
        """The matrix that turns (1, z₁, …) into (1, x₁, …)."""
        centres, halves = affine(self.features)
        matrix = np.diag(np.concatenate([[1.0], halves]))
        matrix[1:, 0] = centres
        return np.asarray(matrix)


_GRAIN = 1 << 20
_FINEST = 1 << 20  # steps of 1


@served_to_asker
def statistical_query(
    s: Session | frame.Table,
    expression: Expr | str,
    *,
    tolerance: Number,
    confidence: Number = "0.95",
    n: int | Estimate | Answer | Moments | None = None,
    key: str | None = None,
) -> Estimate:
    """The mean of an expression over all rows that have a value, within `tolerance` as often as `confidence` says.

    Guarantee: the price follows from the tolerance and from `n`, a lower bound of the number of rows that is public or
    was released: a number, an answer to COUNT(*), whose lower end counts, moments, or else a profile that was paid for.
    Without one it is refused before any charge: a price from the true number would show it. The sum S and the number N
    are released together, with noise of deviation σ on numbers between -1 and 1. For the mean m, the answer is farther
    from m than t only if ±(e − m·e′) > t·(N + e′) for the noises e, e′: two normal numbers of deviation at most
    σ·√(1 + (1 + t)²), against t·N ≥ t·n. Fewer rows than n cost accuracy, never privacy. It is the mean of the rows,
    not of those that they are a sample of.
    """
    data = LearningData.of(s)
    sure, within = open_probability("confidence", confidence), positive("tolerance", tolerance)
    least, certain = _least(data, n, 1 - (1 - sure) / 10), isinstance(n, int)
    fitting = MeanFitting(column_or_expression(expression), within, sure, least, certain)
    terms = replace(Terms.of({}), spend=fitting.plan(data).context.spend)
    estimate: Estimate = fitting.answered(data, terms, key)
    return estimate


@final
@stored("mean of an expression")
@dataclass(frozen=True, eq=False)
class MeanFitting(Fitting):
    """The mean of an expression to a tolerance; `n` is the least number of rows, which is public if `is_certain`."""

    expression: Expression
    tolerance: Fraction
    confidence: Fraction
    n: int
    is_certain: bool
    states_price: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        open_probability("confidence", self.confidence)
        whole("n", self.n)

    def plan(self, data: LearningData) -> MeanPlan:
        """The plan, with the spend that the tolerance asks for."""
        return MeanPlan.for_tolerance(
            data, self.expression, self.tolerance, self.confidence, self.n, is_certain=self.is_certain
        )

    def planned(self, data: LearningData, spend: Spend, _n: int | None = None) -> PlannedRun:
        plan = self.plan(data)
        if plan.context.mu > spend.gaussian():
            needed = decimal(plan.context.mu, 4)
            raise InvalidParameter("mu", str(spend), f"is less than this tolerance asks for, μ = {needed}")
        return planned_run(plan, self._estimate)

    def _estimate(self, plan: FitPlan, mean: Fraction, run: Run, noisy_sums: NoisySums) -> Estimate:
        assert isinstance(plan, MeanPlan)  # noqa: S101 (it was planned here)
        low, high = max(plan.low, mean - plan.tolerance), min(plan.high, mean + plan.tolerance)
        most = plan.context.capped_rows
        return Estimate(
            *(float(number) for number in (mean, low, high)),
            name="mean",
            open_sides=(most is not None, most is not None),
            caps=None if most is None else Caps(rows_per_person=most),
            guarantee=run.promise,
            cost=run.promise,
            release_id=noisy_sums.release_id,
            confidence=self.confidence,
            notes=(f"the tolerance holds if there are {plan.n:,} rows at least",),
        )


@final
class MeanPlan(FitPlan):
    """One pass: the number of rows, and the sum of a number between -1 and 1."""

    stored_name: ClassVar[str] = "MeanTask"

    def __init__(self, context: FitContext, scaled: Expression, low: Fraction, high: Fraction, *, n: int) -> None:
        self.context, self.scaled, self.low, self.high, self.n = context, scaled, low, high, n
        self.shares = {"mean": Fraction(1)}
        self.tolerance = Fraction(0)
        self.steps = _FINEST
        while 2 * self.steps * context.rows > LONGEST:
            self.steps //= 2

    @classmethod
    def for_tolerance(
        cls,
        data: LearningData,
        expression: Expression,
        tolerance: Fraction,
        sure: Fraction,
        n: int,
        *,
        is_certain: bool = True,
    ) -> MeanPlan:
        """Check what was stated, and plan the noise that the tolerance asks for."""
        domain = expression.domain(data.schema)
        low, high = Fraction(0), Fraction(1)
        if domain.kind is Kind.BOOLEAN:
            expression = Call("case", (expression, Literal(Fraction(1)), Literal(Fraction(0))))
        elif domain.is_bounded:
            low, high = domain.ends()
        if domain.kind is not Kind.BOOLEAN and not (domain.is_bounded and low < high):
            raise InvalidParameter(
                "expression", repr(Expr(expression)), "has no bounds", hint='clamp it: gt.col("x").clamp(0, 10)'
            )
        if not tolerance < (high - low) / 2:
            raise InvalidParameter("tolerance", str(tolerance), f"is no less than half of {decimal(high - low)}")
        condition = Call("not", (Call("is_null", (expression,)),)) if domain.nullable else None
        miss = 1 - sure
        noise_miss = miss if is_certain else miss * 9 / 10
        context = FitContext.from_parameters(data, Spend(mu=Fraction(1)), None, condition)
        share = Call("multiply", (Call("subtract", (expression, Literal(low))), Literal(2 / (high - low))))
        plan = cls(context, Call("subtract", (share, Literal(Fraction(1)))), low, high, n=n)
        plan._spend(tolerance, noise_miss)
        return plan

    def _spend(self, tolerance: Fraction, miss: Fraction) -> None:
        """Set the least μ, rounded up, at which the noise stays within the tolerance."""
        self.tolerance = tolerance
        within = float(2 * tolerance / (self.high - self.low)) - 1 / self.steps  # the lattice moves a value by half
        if within <= 0:
            raise InvalidParameter("tolerance", str(tolerance), "is too small for so many rows of a person")
        away = NormalDist().inv_cdf(1 - float(miss) / 2) * math.sqrt(1 + (1 + within) ** 2)
        sigma = within * self.n * self.steps / away
        changed = self.context.data.budget.neighbours == "change-one"
        moved = math.sqrt(self.known()[0].moved_squared(changed=changed))
        mu = Fraction(math.ceil(moved / sigma * (1 + 2**-16) * _GRAIN), _GRAIN)
        self.context = replace(self.context, spend=Spend(mu=mu))

    def known(self) -> list[VectorSum]:
        values = [one(1, self.steps), value(self.scaled, -1, 1, self.steps)]
        return [vector_sum(self.context.relation, values, [Component((0,)), Component((1,))], self.context.rows)]

    def names(self) -> dict[str, Any]:
        return {"expression": identity(self.scaled), "steps": self.steps}

    def words(self) -> str:
        return "a mean"

    def learn(self, noisy_sums: NoisySums) -> Fraction:
        released = noisy_sums.add_up("mean", self.known()[0], self.shares["mean"])
        count, total = released.cells(0)[0], released.cells(1)[0]
        mean = Fraction(min(max(total / count, -1.0), 1.0)) if count > 0 else Fraction(0)
        return self.low + (mean + 1) / 2 * (self.high - self.low)


def _least(data: LearningData, n: int | Estimate | Answer | Moments | None, sure: Fraction) -> int:
    """A lower bound of the number of rows that is public or was released."""
    if isinstance(n, Moments):
        least_rows: float | None = n.n - NormalDist().inv_cdf(float(sure)) * n.noise
    elif isinstance(n, Estimate | Answer):
        low: Any = n.columns[-1].low
        if len(n) != 1 or low is None:
            raise InvalidParameter(
                "n", f"{len(n)} rows", "is not a single count with an interval", hint="SELECT COUNT(*)"
            )
        least_rows = float(low[0])
    else:
        least_rows = data.rows_at_least(sure) if n is None else whole("n", n)
    if least_rows is None:
        raise QueryRefused(
            "nothing public or released says how many rows there are at least, and a price from their true number "
            "would tell it",
            hint="n=10_000, if that is public; or ask for a count first, and say n=count",
        )
    if least_rows < 1:
        raise QueryRefused(
            "the released count does not show that there is even one row", hint="n=10_000, if that is public"
        )
    return math.floor(least_rows)
