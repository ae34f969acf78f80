"""Gradient descent: on samples with noise in every step, and with noise on the result.

- Losses, given by their slope, the derivative of ℓ(score, target) in the score: an expression of the columns `score`
  and `target`, made of allow-listed functions. No code of an analyst's is called with rows: a function that makes such
  an expression is called once, with the two columns, and never sees a value.
- Linear models of one score, and their predictions for public rows.
- Stochastic descent on samples of persons (`sgd`), and output perturbation (`output_perturbation`).

Guarantee of stochastic descent [ACGMMTZ16]: in each of the declared steps every person is in the sample on their own,
with probability `rate`; the sum of their rows' gradients is cut to length `clip` once, and Gaussian noise of
`noise_multiplier`·`clip` is added. That is Poisson-sampled Gaussian noise, repeated, and charged as that before a row
is read; the accountant that certifies the budget finds the multiplier. Samples and their sizes stay secret, and nothing
is divided by a size: a step is the noisy sum divided by rate·n, with an n that is public. A row whose gradient cannot
be computed counts as zero. Where a person is changed, sampling has no price here, and it is refused. Every step is kept
in the ledger: checkpoints are releases. Where rows are what is protected, rows are sampled.

A loss is an allow-listed expression (`is_code` tells which is meant), or the name of code that the custodian
registered, which is called for each sampled person by itself and never comes from an analyst (see
`mechanisms.vectors` for what it has to keep).

Guarantee of output perturbation [CMS11], of descent on Σℓ + Λ‖θ‖²/2 with noise on where it leads: `OutputPerturbation`
proves how far a unit moves the point that is released, for every table and any number of passes: by about m·X/Λ where
m rows of a unit count and a row has length X, and twice that where it is changed. Gaussian noise covers that. What the
proof asks of gradients holds for them as engines compute them: a row's numbers x are multiples of 2⁻¹⁰ and θ of 2⁻²⁶
below 64, so doubles hold every score ⟨θ, x⟩ exactly, in whatever order it is summed. The slope of a loss is a chain of
straight lines, sums of clamped scores times multiples of 2⁻¹², and exact too. It is cut into a coarse and a fine part,
both whole numbers of steps, whose sums are sums of integers: what is lost of a row's slope is half a fine step, and a
whole one is accounted for. No unit is cut: m is a cap on rows that the engine keeps, or 1. ∎

Every fit makes the passes that were stated, each of them executed by the engine and none remembered: neither an outcome
nor the number of statements depends on rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, final, get_args

import numpy as np
import numpy.typing as npt

from giveortake import codec
from giveortake.accounting.composition import calibrate
from giveortake.caching import cached
from giveortake.codec import stored
from giveortake.engines import Component, Sample, VectorSum
from giveortake.engines.questions import LONGEST
from giveortake.errors import InvalidParameter, LedgerDamaged, QueryRefused, Unprovable
from giveortake.exact import decimal, positive, whole
from giveortake.frame import Expr, col
from giveortake.learn.base import Card, Document, Pass, Provenance
from giveortake.learn.features import (
    Category,
    Feature,
    Reals,
    ScaledNumber,
    added,
    classes_of,
    complete_and_declared,
    feature_of,
    features_of,
    public_columns,
)
from giveortake.learn.noisy_sums import (
    GRAIN,
    STEPS,
    FitContext,
    FitTerms,
    Fitting,
    fit_terms,
    in_grains,
    lattice_of,
    one,
    value,
)
from giveortake.mechanisms.vectors import OutputPerturbation
from giveortake.plan import Call, ColumnReference, Derive, Domain, Expression, Kind, identity
from giveortake.plan import Literal as Constant
from giveortake.plan.describe import capped_rows
from giveortake.privacy import ApproxDP, events
from giveortake.session.kinds.learning_data import LearningData, served_to_asker
from giveortake.session.kinds.runs import NoisyVector, PlannedRun, TrustedCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from giveortake import frame
    from giveortake.compile import Spend
    from giveortake.exact import Number
    from giveortake.learn.features import DesignColumn
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.plan import Relation
    from giveortake.session import Session
    from giveortake.session.kinds.runs import AdaptiveRun


Loss: TypeAlias = "Literal['logistic', 'squared'] | str | Callable[[Expr, Expr], Expr]"
_NAMED: TypeAlias = Literal["logistic", "squared"]
STEEPEST = 30  # beyond which the logistic function is 0 or 1
MOST_STEPS = 100_000
MOST_LEARNED = 1_000_000  # of a learning rate
_OUTERMOST = 2.0**40  # of a coefficient on its way
_SCORE, _TARGET, _CHOSEN = "score", "target", "chosen"
_DOMAINS = {name: Domain(Kind.REAL, Fraction(-64), Fraction(64), nullable=False) for name in (_SCORE, _TARGET)}


def is_code(loss: object) -> bool:
    """Whether a loss is the name of code that a custodian trusts, name@version."""
    return isinstance(loss, str) and "@" in loss


def target_of(schema: Mapping[str, Domain], target: str, loss: Loss) -> Feature:
    """The target as a loss needs it: two declared classes, or a bounded number."""
    if not callable(loss) and not is_code(loss) and loss not in {*get_args(_NAMED), _CHOSEN}:
        raise InvalidParameter(
            "loss",
            loss,
            "is unknown",
            hint='loss="logistic", loss="squared", or lambda score, y: (score - y).clamp(-1, 1)',
        )
    target_feature: Feature = classes_of(schema, target) if loss == "logistic" else feature_of(schema, target, "target")
    if isinstance(target_feature, Category) and len(target_feature.values) != 2:
        raise InvalidParameter(
            "target",
            target,
            "does not have exactly two declared classes",
            hint="one of them against the rest: derive it",
        )
    if loss == "squared" and not isinstance(target_feature, ScaledNumber):
        raise InvalidParameter(
            "target", target, "is not a number with declared bounds", hint='loss="logistic" learns classes'
        )
    return target_feature


def slope_of(loss: Loss) -> Expression:
    """The derivative of a loss in the score, as an expression of `score` and `target`.

    >>> slope_of(lambda score, y: (score - y).clamp(-1, 1)).name
    'clamp'
    """
    score, target = col(_SCORE), col(_TARGET)
    if loss == "squared":
        return (score - target).node
    if loss == "logistic":
        return (1 / (1 + (-score.clamp(-STEEPEST, STEEPEST)).exp()) - target).node
    assert callable(loss)  # noqa: S101 (checked with the target)
    slope: object = loss(score, target)  # somebody else's code: anything may come back
    _require_slope(slope.node if isinstance(slope, Expr) else slope)
    assert isinstance(slope, Expr)  # noqa: S101 (checked)
    return slope.clamp(-1, 1).node


def _require_slope(slope: object) -> None:
    if not isinstance(slope, Expression) or not set(slope.columns()) <= set(_DOMAINS):
        raise InvalidParameter(
            "loss", type(slope).__name__, "is not an expression of `score` and `target` only", hint="score - y is one"
        )
    if not slope.domain(_DOMAINS).kind.is_number:
        raise InvalidParameter("loss", repr(Expr(slope)), "is not a number", hint="its derivative in the score is one")


def target_value(target: Feature) -> Expression:
    """1 or 0 for the second class or the first, or a number from -1 to 1."""
    return target.scaled() if isinstance(target, ScaledNumber) else target.is_value(target.values[1])


def filled(slope: Expression, score: Expression, target: Feature) -> Expression:
    """A slope with a row's own score and target filled in."""
    return _filled(slope, {_SCORE: score, _TARGET: target_value(target)})


def _filled(expression: Expression, named: Mapping[str, Expression]) -> Expression:
    match expression:
        case ColumnReference(name):
            return named[name]
        case Call(name, arguments):
            return Call(name, tuple(_filled(argument, named) for argument in arguments))
    return expression


def score_of(columns: Sequence[DesignColumn], theta: Sequence[float]) -> Expression:
    """θ₀ + θ₁·z₁ + …, as a balanced sum: its depth is the logarithm of their number."""
    pairs = zip(columns, theta[1:], strict=True)
    terms = [Call("multiply", (column.expression, Constant(Fraction(coefficient)))) for column, coefficient in pairs]
    return added([Constant(Fraction(theta[0])), *terms])


@dataclass(frozen=True, eq=False)
class LinearScores(Document):
    """Coefficients of (1, z), where z are columns between -1 and 1; a score is their sum of products."""

    features: tuple[Feature, ...]
    target: Feature
    coefficients: Reals
    provenance: Provenance

    def decision_function(self, rows: Any) -> Reals:
        """θ·(1, z) of public rows."""
        columns = public_columns(rows, [feature.name for feature in self.features])
        encoded = np.hstack([feature.encode(columns[feature.name]) for feature in self.features])
        return np.asarray(self.coefficients[0] + encoded @ self.coefficients[1:])

    def predict_proba(self, rows: Any) -> Reals:
        """The probabilities of both classes."""
        if not isinstance(self.target, Category):
            raise InvalidParameter("loss", "squared", "gives numbers, not probabilities", hint="predict(rows)")
        chance = 1 / (1 + np.exp(-np.clip(self.decision_function(rows), -STEEPEST, STEEPEST)))
        return np.column_stack([1 - chance, chance])

    def predict(self, rows: Any) -> npt.NDArray[Any]:
        """The more probable class, or the number."""
        scores = self.decision_function(rows)
        if isinstance(self.target, Category):
            return np.asarray(np.array(self.target.values, dtype=object)[(scores > 0).astype(int)])
        low, high = float(self.target.low), float(self.target.high)
        return np.asarray((np.clip(scores, -1, 1) + 1) / 2 * (high - low) + low)

    def card(self) -> Card:
        """How the model came to be."""
        return Card(self.provenance)


@served_to_asker
def sgd(
    s: Session | frame.Table,
    target: str,
    features: Sequence[str] | None = None,
    *,
    loss: Loss = "logistic",
    steps: int = 100,
    rate: Number = Fraction(1, 10),
    n: int,
    epsilon: Number,
    delta: Number,
    clip: Number = 1,
    learning_rate: float = 2.0,
    key: str | None = None,
) -> Descent:
    """A linear model by gradient descent on samples of persons, under one charge for all steps.

    `n` is about how many persons there are: a public number, or a released one; it scales the steps, not the noise.
    `clip` is how long a person's gradient may be, where a row of all ones has a gradient of √(1 + d).
    `loss` is "logistic", "squared", or a function that makes the slope of another one, the derivative in the score, of
    two expressions: `lambda score, y: (score - y).clamp("-1/8", "1/8")` limits outliers. y is 1 or 0 for
    classes, and from -1 to 1 for numbers; slopes beyond ±1 count as ±1.

    Or it is "name@version", code that the custodian registered with `gt.protect(…, trusted=…)`: `function(theta, rows)`
    gives the gradient of one person's rows, of which `rows.x` has a line (1, z) each, and `rows.y` the targets.
    """
    schedule = Schedule(steps, rate, n, clip, learning_rate)  # type: ignore[arg-type]  # (checked there)
    data = LearningData.of(s)
    target_of(data.schema, target, loss)  # refuses other losses
    name, slope = (loss, None) if isinstance(loss, str) else (_CHOSEN, slope_of(loss))
    fitting = DescentFitting(target, None if features is None else tuple(features), name, schedule, slope)
    descent: Descent = fitting.answered(data, fit_terms({"epsilon": epsilon, "delta": delta}), key)
    return descent


@final
@stored("sgd of")
@dataclass(frozen=True, eq=False)
class DescentFitting(Fitting):
    """Descent on samples of persons; `slope` is that of a chosen loss."""

    target: str
    features: tuple[str, ...] | None
    loss: str
    schedule: Schedule
    slope: Expression | None = None

    def __post_init__(self) -> None:
        if (self.loss == _CHOSEN) != (self.slope is not None):
            raise InvalidParameter("loss", self.loss, "is a name, or has a slope")
        if self.slope is not None:
            _require_slope(self.slope)

    def planned(self, data: LearningData, spend: Spend, _n: int | None = None) -> PlannedRun:
        if spend.epsilon is None or spend.delta is None:
            raise InvalidParameter("epsilon", None, "is missing, with a delta", hint='epsilon="1", delta="1e-6"')
        slope = slope_of(self.loss) if self.loss in get_args(_NAMED) else self.slope
        return _Descent.from_fitting(self, data, slope, spend).planned(self.schedule)


@cached(64)
def _multiplier(epsilon: Fraction, delta: Fraction, steps: int, rate: Fraction) -> Fraction:
    """The least noise that is certified to keep (ε, δ) in all steps; it takes seconds to find."""
    return calibrate("gaussian", ApproxDP(epsilon, delta), releases=steps, rate=rate)


@final
@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of a descent: steps, sampling rate, number of persons, clip and learning rate."""

    steps: int
    rate: Fraction
    n: int
    clip: Fraction
    learning_rate: float

    def __post_init__(self) -> None:
        rate, learning_rate = positive("rate", self.rate), float(self.learning_rate)
        if rate >= 1:
            raise InvalidParameter("rate", self.rate, "is not a share of the people below 1", hint='rate="1/10"')
        if whole("steps", self.steps) > MOST_STEPS:
            raise InvalidParameter("steps", self.steps, f"is more than {MOST_STEPS:,}", hint="take fewer, larger ones")
        if not 0 < learning_rate <= MOST_LEARNED:
            raise InvalidParameter("learning_rate", self.learning_rate, f"is not between 0 and {MOST_LEARNED:,}")
        checked = {"steps": whole("steps", self.steps), "rate": rate, "n": whole("n", self.n)}
        for name, number in (checked | {"clip": positive("clip", self.clip), "learning_rate": learning_rate}).items():
            object.__setattr__(self, name, number)

    def to_json(self) -> list[Any]:
        """The schedule as ledgers keep it."""
        return [self.steps, str(self.rate), self.n, str(self.clip), self.learning_rate]

    def mean(self, steps: npt.NDArray[Any]) -> Reals:
        """A sum over a sample as a mean over all persons."""
        return np.asarray(steps.astype(np.float64) / STEPS**2 / (float(self.rate) * self.n))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Descent:
    """A planned descent; making one charges nothing."""

    context: FitContext
    features: tuple[Feature, ...]
    target: Feature
    slope: Expression | None  # none where trusted code is called
    loss: str

    @classmethod
    def from_fitting(
        cls, fitting: DescentFitting, data: LearningData, slope: Expression | None, spend: Spend
    ) -> _Descent:
        """Check what was stated, and plan the descent."""
        used_features = features_of(data.schema, fitting.features, fitting.target)
        target_feature = target_of(data.schema, fitting.target, fitting.loss)
        if slope is None:
            data.require_trusted(fitting.loss)
        if data.budget.neighbours == "change-one":
            raise Unprovable(
                "sampling of persons has no price where a person is changed",
                hint='a budget with neighbours="add-remove"',
            )
        condition = complete_and_declared(data.schema, (*used_features, target_feature))
        most = None if data.relation.most_rows else 1
        context = FitContext.from_parameters(data, spend, most, condition)
        return cls(context, used_features, target_feature, slope, fitting.loss)

    def gradient(self, theta: Reals, bound: int) -> VectorSum:
        """The sum of gradients: the slope of a row times (1, x)."""
        columns = [column for feature in self.features for column in feature.design()]
        if self.slope is None:
            rows = [value(target_value(self.target)), *(value(column.expression, column.low) for column in columns)]
            cells = tuple(Component((index,)) for index in range(len(theta)))  # filled by trusted code
            return VectorSum(self.context.relation, tuple(rows), (), cells, bound)
        slope = filled(self.slope, score_of(columns, theta.tolist()), self.target)
        values = [value(slope), one(), *(value(column.expression, column.low) for column in columns)]
        components = [Component((0, index)) for index in range(1, len(values))]
        return VectorSum(self.context.relation, tuple(values), (), tuple(components), bound)

    def planned(self, schedule: Schedule) -> PlannedRun:
        """All steps, and the model that they lead to."""
        spend = self.context.spend
        assert spend.epsilon is not None and spend.delta is not None  # noqa: S101, PT018 (both were stated)
        multiplier = _multiplier(spend.epsilon, spend.delta, schedule.steps, schedule.rate)
        declared = events.Repeated(events.Subsampled(events.Gaussian(multiplier), schedule.rate), schedule.steps)
        bound = max(1, int(schedule.clip * STEPS**2))
        origin = np.zeros(1 + sum(len(feature.design()) for feature in self.features))
        first = self.gradient(origin, bound)
        self.context.data.require(replace(first, sample=Sample("", 0)))  # refused, if need be, before any charge
        request_fields = self._request_fields(schedule) | {"lattice": lattice_of(first)}
        samples = self.context.data.sample_request(spend, declared, identity=request_fields, words=self._words())

        def complete(run: AdaptiveRun) -> Descent:
            theta, path, stored_steps = origin, [], list(run.steps)
            for step in range(schedule.steps):
                if step < len(stored_steps):
                    drawn = stored_steps[step]
                    if not isinstance(drawn, NoisyVector) or len(drawn.steps) != first.size:
                        raise LedgerDamaged("a descent that was kept has other steps than this one")
                else:
                    trusted_code = (
                        TrustedCode(self.loss, tuple(theta.tolist()), STEPS, STEPS**2) if self.slope is None else None
                    )
                    vector_sum = self.gradient(theta, bound)
                    drawn = run.add_up_sample(f"step {step + 1}", vector_sum, multiplier * bound, trusted_code)
                step_size = schedule.learning_rate / math.sqrt(1 + step / 10)
                theta = in_grains(np.clip(theta - step_size * schedule.mean(drawn.steps), -_OUTERMOST, _OUTERMOST))
                path.append(theta)
            run.settle()
            provenance = Provenance(
                "sgd",
                self._words(),
                samples.stated,
                str(spend),
                0,
                (Pass(f"{schedule.steps} samples of {float(schedule.rate):.3g} of all", "1", float(1 / multiplier)),),
                run.id,
                (
                    f"of a person's gradient in each step, a length of {float(schedule.clip):g} counts",
                    *(() if run.charged else ("fitted before at this price: nothing was charged again",)),
                ),
                capped_rows(self.context.relation),
            )
            mean = np.mean(path[len(path) // 2 :], axis=0)
            return Descent(self.features, self.target, mean, provenance, np.array(path))

        return PlannedRun(samples, complete)

    def _words(self) -> str:
        loss = "model of a chosen loss" if self.loss == _CHOSEN else f"{self.loss} model"
        loss = f"model by the code {self.loss}" if self.slope is None else loss
        return f"a {loss} of {self.target.name} by gradient descent"

    def _request_fields(self, schedule: Schedule) -> dict[str, Any]:
        return {
            "learner": "sgd",
            "loss": {"code": self.loss} if self.slope is None else identity(self.slope),
            "target": codec.write(self.target),
            "features": [codec.write(feature) for feature in self.features],
            "filter": identity(self.context.relation),
            "schedule": schedule.to_json(),
            "grain": GRAIN,
        }


@final
@stored("sgd")
@dataclass(frozen=True, eq=False)
class Descent(LinearScores):
    """A linear model that was found by descent.

    `coefficients` are the mean of the second half of the path; `path` has every step, all of which were released.
    """

    path: Reals = field(repr=False)


Convex: TypeAlias = Literal["logistic", "huber"]
FINENESS = 1 << 26  # steps of a coefficient
MOST_PASSES = 2_000
_FARTHEST = 64  # coefficients lie between −64 and 64
_MOST_COLUMNS = 1_000  # so that scores have few enough digits
_FINEST, _COARSEST = 1 << 15, 1 << 8  # steps of each part of a slope
_TARGETS = 1 << 20  # steps of a target
_SLOPES = 1 << 12  # steps of the slopes of straight lines
_KNOTS = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(6), Fraction(8))


@served_to_asker
def output_perturbation(
    s: Session | frame.Table,
    target: str,
    features: Sequence[str] | None = None,
    *,
    regularisation: Number,
    passes: int = 100,
    loss: Convex = "logistic",
    key: str | None = None,
    **terms: Unpack[FitTerms],
) -> PerturbedModel:
    """A linear model near the minimiser of a regularised risk, with noise on its coefficients.

    `regularisation` is Λ in Σℓ + Λ‖θ‖²/2, a public number; begin with a twentieth of the number of rows. The larger
    it is, the less noise is needed, and the nearer to zero coefficients are drawn. `passes` over the rows are made,
    however near the minimum they come: what is missing to it shrinks to a third in every 1 + N·(1 + features)/(4·Λ) of
    them, for N rows. `loss` is "logistic", or "huber", the squared one that grows straight beyond half of the target's
    range. The logistic slope is a chain of straight lines between points of it, nowhere farther than 0.0075 away.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> parameters = {"regularisation": 100, "passes": 30, "epsilon": 1, "delta": "1e-7"}
    >>> model = gt.learn.output_perturbation(s, "sick", ["age"], **parameters)
    >>> model.coefficients.shape  # the intercept, and one for age
    (2,)
    """
    listed: Any = None if features is None else tuple(features)
    fitting = PerturbationFitting(target, listed, regularisation, passes, loss)  # type: ignore[arg-type]  # (checked there)
    model: PerturbedModel = fitting.answered(LearningData.of(s), fit_terms(terms), key)
    return model


@final
@stored("output perturbation of")
@dataclass(frozen=True, eq=False)
class PerturbationFitting(Fitting):
    """The minimiser of a regularised risk, with noise."""

    target: str
    features: tuple[str, ...] | None
    strength: Fraction
    passes: int
    loss: Convex

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", positive("regularisation", self.strength))
        if self.loss not in get_args(Convex):
            raise InvalidParameter(
                "loss", self.loss, "is not known to be convex", hint='loss="logistic", or loss="huber"'
            )
        if whole("passes", self.passes) > MOST_PASSES:
            raise InvalidParameter(
                "passes", self.passes, f"is more than {MOST_PASSES:,}", hint="take a larger regularisation"
            )

    def planned(self, data: LearningData, spend: Spend, _n: int | None = None) -> PlannedRun:
        data.require_unwitnessed("the points of a descent are secret, and the engine's statements would contain them")
        features = features_of(data.schema, self.features, self.target)
        target = target_of(data.schema, self.target, "logistic" if self.loss == "logistic" else "squared")
        if data.relation.person is not None and data.relation.most_rows is None:
            raise QueryRefused(
                f"a `{data.relation.person}` may have any number of rows, and gradients are not cut here",
                hint="rows_per_person=1 in gt.protect, or one row for each person by s.table().per_person(…)",
            )
        context = FitContext.from_parameters(data, spend, None, complete_and_declared(data.schema, (*features, target)))
        return Risk(context, features, target, self.loss, self.strength, self.passes).planned()


@final
@stored("output perturbation")
@dataclass(frozen=True, eq=False)
class PerturbedModel(LinearScores):
    """A linear model with noise of one `deviation` on each of its coefficients."""

    deviation: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """A regularised risk to be minimised; making one charges nothing."""

    context: FitContext
    features: tuple[Feature, ...]
    target: Feature
    loss: Convex
    strength: Fraction
    passes: int

    def __post_init__(self) -> None:
        if len(self.columns) > _MOST_COLUMNS:
            raise InvalidParameter("features", len(self.columns), f"make more than {_MOST_COLUMNS:,} columns")

    @property
    def columns(self) -> list[DesignColumn]:
        """The numbers of a row, besides 1."""
        return [column for feature in self.features for column in feature.design()]

    @property
    def rows(self) -> int:
        """How many rows of a unit count, at most: more than one where rows are repeated, or a person has several."""
        return self.context.relation.most_rows or 1

    @property
    def slope_steps(self) -> int:
        """How many steps each part of a slope has: gradients of a unit must stay within what engines take."""
        steps = _FINEST
        while steps > _COARSEST and self._bound(steps) > LONGEST:
            steps //= 2
        if self._bound(steps) > LONGEST:
            raise QueryRefused("a person's gradient could be too long", hint="take fewer rows of a person, or features")
        return steps

    def _bound(self, steps: int) -> int:
        """Just above the greatest length that a unit's gradient can have, so that none is ever cut."""
        longest = math.isqrt(2 * (1 + len(self.columns)) * (steps * STEPS * self.rows) ** 2) + 1
        return longest + longest // (1 << 20) + 1

    def counted(self) -> VectorSum:
        """The sum that counts rows."""
        return VectorSum(self.context.relation, (), (), (Component(),), self.rows + 1)  # so that no unit is cut

    def gradient_sum(self, point: tuple[int, ...]) -> VectorSum:
        """The sum of gradients of all rows at a point: coarse parts, then fine ones."""
        steps, half = self.slope_steps, Fraction(1, 2)
        numbers = [
            one(),
            *(value(ColumnReference(f"z{index}"), column.low) for index, column in enumerate(self.columns)),
        ]
        parts = [value(ColumnReference("coarse"), steps=steps), value(ColumnReference("fine"), -half, half, steps)]
        products = [Component((part, index)) for part in (0, 1) for index in range(2, len(numbers) + 2)]
        return VectorSum(self._sloped(point), (*parts, *numbers), (), tuple(products), self._bound(steps))

    def _sloped(self, point: tuple[int, ...]) -> Relation:
        """The rows as whole steps z0, z1, …, and the coarse and fine parts of their slopes at a point."""
        named = [
            (f"z{index}", _on_lattice(column.expression, column.low, STEPS))
            for index, column in enumerate(self.columns)
        ]
        rows = Derive(self.context.relation, (*named, ("target", _on_lattice(target_value(self.target), -1, _TARGETS))))
        theta = [Constant(Fraction(coordinate, FINENESS)) for coordinate in point]
        terms = [
            Call("multiply", (ColumnReference(name), coefficient))
            for (name, _), coefficient in zip(named, theta[1:], strict=True)
        ]
        carried = [(name, ColumnReference(name)) for name, _ in named]
        scored = Derive(rows, (*carried, ("target", ColumnReference("target")), ("score", added([theta[0], *terms]))))
        sloped = Derive(scored, (*carried, ("slope", _slope(self.loss))))
        coarse = _on_lattice(ColumnReference("slope"), -1, self.slope_steps)
        parted = Derive(sloped, (*carried, ("slope", ColumnReference("slope")), ("coarse", coarse)))
        remainder = Call("subtract", (ColumnReference("slope"), ColumnReference("coarse")))
        fine = Call("multiply", (remainder, Constant(Fraction(self.slope_steps))))
        return Derive(parted, (*carried, ("coarse", ColumnReference("coarse")), ("fine", fine)))

    def joined(self, parts: BoundedIntegers) -> BoundedIntegers:
        """Both parts of a sum of gradients as one, in fine steps."""
        half = len(parts) // 2
        return parts[:half].times(self.slope_steps).plus(parts[half:])

    def mechanism(self, mu: Fraction, *, changed: bool) -> OutputPerturbation:
        """The descent with the noise that keeps μ."""
        fine = self.slope_steps**2
        bare = OutputPerturbation(
            Fraction(1),
            self.strength,
            steepest(self.loss),
            1 + len(self.features),
            self.passes,
            FINENESS,
            fine * STEPS,
            Fraction(1, fine),
            1 + len(self.columns),
            _FARTHEST,
        )
        return replace(bare, sigma=Fraction(math.ceil(bare.sensitivity(self.rows, changed=changed) / mu)))

    def planned(self) -> PlannedRun:
        """The descent, and the model that it leads to."""
        data = self.context.data
        first = self.gradient_sum((0,) * (1 + len(self.columns)))
        request_fields = self._request_fields() | {"lattice": lattice_of(first)}
        descent = data.request(
            [self.counted(), first], self.context.spend, request_fields, f"{self._words()} of {data.name}"
        )
        mu, promise = descent.mu or Fraction(0), descent.promise  # a run of sums of vectors has a μ
        mechanism = self.mechanism(mu, changed=promise.neighbours == "change-one")

        def complete(run: AdaptiveRun) -> PerturbedModel:
            drawn = run.steps[0] if run.steps else run.descend(mechanism, self)
            if not isinstance(drawn, NoisyVector) or len(drawn.steps) != mechanism.size:
                raise LedgerDamaged("a stored descent cannot be read")
            run.settle()
            deviation = float(drawn.sigma) / FINENESS
            provenance = Provenance(
                "output_perturbation",
                self._words(),
                promise,
                str(self.context.spend),
                self.rows,
                (Pass(f"the end of {self.passes} passes", "1", float(mu)),),
                run.id,
                (
                    f"Λ = {decimal(self.strength, 4)}; noise of {deviation:.3g} on each coefficient",
                    *(() if run.charged else ("fitted before at this price: nothing was charged again",)),
                ),
                self.context.capped_rows,
            )
            theta = drawn.steps.astype(np.float64) / FINENESS
            return PerturbedModel(self.features, self.target, theta, provenance, deviation)

        return PlannedRun(descent, complete)

    def _words(self) -> str:
        return f"a regularised {self.loss} model of {self.target.name}"

    def _request_fields(self) -> dict[str, Any]:
        return {
            "learner": "output_perturbation",
            "loss": self.loss,
            "target": codec.write(self.target),
            "features": [codec.write(feature) for feature in self.features],
            "filter": identity(self.context.relation),
            "regularisation": str(self.strength),
            "passes": self.passes,
            "fineness": FINENESS,
        }


def _on_lattice(expression: Expression, low: int, steps: int) -> Expression:
    """A number rounded to whole steps as in its sum, so that scores and gradients use the same number."""
    within = Call("clamp", (expression, Constant(Fraction(low)), Constant(Fraction(1))))
    fine = Call("multiply", (within, Constant(Fraction(steps))))
    nearest = Call("floor", (Call("add", (fine, Constant(Fraction(1, 2)))),))
    return Call("multiply", (nearest, Constant(Fraction(1, steps))))


def chain() -> list[tuple[Fraction, Fraction]]:
    """Pairs (e, b): ½ + Σ e·clamp(s, −b, b) is the logistic function at the knots, up to 2⁻¹² a line, and grows.

    >>> all(height > 0 for height, _ in chain())
    True
    >>> float(sum(height * min(Fraction(2), knot) for height, knot in chain())) + 0.5  # the logistic function: 0.8808
    0.880859375
    """
    ends = [Fraction(0), *_KNOTS]
    heights = [Fraction(1 / (1 + math.exp(-float(knot)))) for knot in ends]
    lines = [
        Fraction(round((high - low) / (end - start) * _SLOPES), _SLOPES)
        for start, end, low, high in zip(ends, ends[1:], heights, heights[1:], strict=False)
    ]
    return [(line - after, end) for line, after, end in zip(lines, [*lines[1:], Fraction(0)], _KNOTS, strict=True)]


def steepest(loss: Convex) -> Fraction:
    """The greatest rate at which the slope of a loss grows with the score; at 0 all lines of the chain add up."""
    return Fraction(1) if loss == "huber" else sum((height for height, _ in chain()), Fraction(0))


def _slope(loss: Convex) -> Expression:
    score, target = col("score"), col("target")
    if loss == "huber":
        return (score - target).clamp(-1, 1).node
    terms = [(score.clamp(-end, end) * height).node for height, end in chain()]
    return Call("subtract", (added([*terms, Constant(Fraction(1, 2))]), target.node))
