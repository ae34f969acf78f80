"""Which learner suits a table, and which of several fitted models is best.

- `choose`: a learner by a table's schema, the spend, and a number of rows that is public or was released.
- `select`: each candidate is fitted and scored, each fit and each score is a charged release. Predictions for rows
  behind a session are expressions: engines compute them, nobody sees them.

Guarantee: candidates are fitted to most persons and scored on those that are held out, a split that is public and
never changes. Every fit is the charge that it is by itself, and every score is one more: the sum over held-out persons
of (gain, 1), of which a person gives `clip` rows' worth at most, with Gaussian noise. What is chosen is the best of
released scores, which is post-processing. All are released: nothing is saved by releasing the best alone. The other
way, one charge for the best of a secret number of trials [PS22], is refused: ADR 37 says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack, final, get_args

import numpy as np

from giveortake.codec import stored
from giveortake.compile import Spend
from giveortake.engines import Component
from giveortake.errors import InvalidParameter, QueryRefused, Unprovable
from giveortake.exact import open_probability, whole
from giveortake.learn.additive import MOST_CELLS, MOST_FITTED_BINS, AdditiveClassifier, AdditiveModel, AdditiveRegressor
from giveortake.learn.base import Learner, Model
from giveortake.learn.classification import MOST_COLUMNS, ClassMeans, LogisticModel, LogisticRegression, NaiveBayes
from giveortake.learn.features import Category, ScaledNumber, added, classes_of, complete, feature_of, features_of
from giveortake.learn.gradient_descent import LinearScores, score_of, target_value
from giveortake.learn.linear import LinearModel, LinearRegression
from giveortake.learn.moments import MomentsFitting
from giveortake.learn.noisy_sums import (
    GRAIN,
    FitContext,
    FitPlan,
    FitTerms,
    Fitting,
    fit_terms,
    one,
    planned_run,
    value,
    vector_sum,
)
from giveortake.plan import Call, ColumnReference, Expression, Kind, identity
from giveortake.plan import Literal as Constant
from giveortake.privacy import GaussianDP
from giveortake.session.kinds.learning_data import LearningData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake import frame
    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.features import Feature
    from giveortake.learn.noisy_sums import NoisySums
    from giveortake.session import Session
    from giveortake.session.kinds.runs import PlannedRun


@singledispatch
def gain(model: Any) -> Expression:
    """How good a model's guess is in a row, from 0 to 1: of classes 1 if it is right, of numbers 1 − |error|/width.

    The width is that of the declared bounds. Squares would be smaller still beside the noise, where errors are small.
    """
    raise QueryRefused(
        f"the predictions of a {type(model).__name__} cannot be computed inside a session",
        hint="candidates are linear, logistic and additive models",
    )


@gain.register
def _linear(model: LinearModel) -> Expression:
    low, high = (Fraction(bound) for bound in model.bounds)
    guess = Call("clamp", (_score(model.features, model.weights), Constant(low), Constant(high)))
    return near(Call("subtract", (guess, ColumnReference(model.target))), high - low)


@gain.register
def _scores(model: LinearScores) -> Expression:
    score = _score(model.features, model.coefficients)
    if isinstance(model.target, ScaledNumber):
        guess = Call("clamp", (score, Constant(Fraction(-1)), Constant(Fraction(1))))
        return near(Call("subtract", (guess, target_value(model.target))), Fraction(2))
    return right(score, target_value(model.target))


@gain.register
def _logistic(model: LogisticModel) -> Expression:
    return right(_score(model.features, model.coefficients), target_value(model.target))


@gain.register
def _additive(model: AdditiveModel) -> Expression:
    terms: list[Expression] = [Constant(Fraction(model.constant))]
    for shape in model.shapes:
        bin_expression: Any = shape.bins.key().expression
        terms.append(
            shape.bins.effect(bin_expression, shape.effects.tolist(), -np.arange(shape.bins.size, dtype=float))
        )
    score = added(terms)
    if isinstance(model.target, ScaledNumber):
        guess = Call("clamp", (score, Constant(Fraction(-1)), Constant(Fraction(1))))
        return near(Call("subtract", (guess, model.target.scaled())), Fraction(2))
    return right(score, target_value(model.target))


def can_be_scored(model: type[Any]) -> bool:
    """Whether predictions of such models can be computed behind a session."""
    return gain.dispatch(model) is not gain.dispatch(object)


def near(error: Expression, width: Fraction) -> Expression:
    """1 − |error|/width."""
    return Call("subtract", (Constant(Fraction(1)), Call("multiply", (Call("abs", (error,)), Constant(1 / width)))))


def right(score: Expression, truth: Expression) -> Expression:
    """1 where the score is positive and the truth is 1, or neither is; else 0."""
    guess = Call("case", (Call("gt", (score, Constant(Fraction(0)))), Constant(1), Constant(0)))
    return Call("case", (Call("eq", (guess, truth)), Constant(1), Constant(0)))


def _score(features: tuple[Feature, ...], weights: Any) -> Expression:
    columns = [column for feature in features for column in feature.design()]
    return score_of(columns, [round(float(weight) * GRAIN) / GRAIN for weight in weights])


Trials = Literal["charged", "secret"]


def select(
    s: Session | frame.Table,
    candidates: Sequence[Learner],
    *,
    held_out: Number = Fraction(1, 5),
    clip: int | None = None,
    trials: Trials = "charged",
    key: str | None = None,
    **terms: Unpack[FitTerms],
) -> Selection:
    """Fit every candidate, at its own spend, to most persons, and score it on those that are held out.

    The spend that is stated here is that of each score. All together cost what all fits and all scores do. The best
    score is too optimistic: for what the chosen model is worth, ask about rows that decided nothing.
    """
    if trials not in get_args(Trials):
        raise InvalidParameter("trials", trials, "is unknown", hint='trials="charged": each trial is a release')
    if trials == "secret":
        raise Unprovable(
            "one charge for the best of a secret number of trials needs trials that leave no trace, and every draw is "
            "kept here before it is told",
            hint='trials="charged": each trial is a release of its own',
        )
    if not candidates or not all(isinstance(candidate, Learner) for candidate in candidates):
        raise InvalidParameter("candidates", candidates, "needs learners", hint="[Ridge(…), LinearRegression(…)]")
    fitting, scoring = LearningData.of(s).split(open_probability("held_out", held_out))
    score_terms = fit_terms(terms)
    for candidate in candidates:
        if not can_be_scored(candidate.model_class):
            gain(candidate)
        candidate.quote(fitting)  # what cannot be learned is refused before anything is paid
    FitContext.from_parameters(scoring, Spend(mu=Fraction(1)), clip, None)
    scores = []
    for index, candidate in enumerate(candidates):
        candidate.fit(fitting, key=None if key is None else f"{key} fit {index}")
        score_key = None if key is None else f"{key} score {index}"
        scores.append(ScoreFitting(candidate.model_, clip).answered(scoring, score_terms, score_key))
    return Selection(tuple(candidates), tuple(scores))


@final
@dataclass(frozen=True, slots=True)
class Score:
    """A released score from 0 to 1, the larger the better, and about how far the noise moves it.

    For classes it is the share that is right; for numbers 1 − the mean distance from the truth over the width.
    """

    value: float
    deviation: float
    release_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Fitted candidates and their scores, all of them released; `best` is the one with the best score."""

    candidates: tuple[Learner, ...]
    scores: tuple[Score, ...]

    @property
    def best(self) -> Learner:
        """The candidate with the greatest score."""
        return self.candidates[max(range(len(self.scores)), key=lambda index: self.scores[index].value)]

    def __repr__(self) -> str:
        lines = [
            f"{'→' if candidate is self.best else ' '} {score.value:.4f} ± {2 * score.deviation:.4f}  {candidate!r}"
            for candidate, score in zip(self.candidates, self.scores, strict=True)
        ]
        return "\n".join(lines)


@final
@stored("score of a model")
@dataclass(frozen=True, eq=False)
class ScoreFitting(Fitting):
    """How good the guesses of a model are, on the rows that are held out."""

    model: Model
    clip: int | None = None

    def planned(self, data: LearningData, spend: Spend, n: int | None = None) -> PlannedRun:
        model: Any = self.model
        names = [feature.name for feature in model.features]
        target = model.target if isinstance(model.target, str) else model.target.name
        context = FitContext.from_parameters(data, spend, self.clip, complete(data.schema, [*names, target]))
        plan = _ScorePlan(context, gain(model), target)
        return planned_run(plan, lambda _plan, learned, _run, _noisy_sums: learned, n)


@final
class _ScorePlan(FitPlan):
    """One pass: the sum of a model's gains on held-out persons, and how many rows they have."""

    stored_name: ClassVar[str] = "_ScoreTask"

    def __init__(self, context: FitContext, gain: Expression, target: str) -> None:
        self.context, self._gain, self._target = context, gain, target
        self.shares = {"gain": Fraction(1)}

    def known(self) -> list[VectorSum]:
        values = [value(self._gain, 0, 1), one()]
        components = [Component((0,)), Component((1,))]
        return [vector_sum(self.context.relation, values, components, self.context.rows)]

    def names(self) -> dict[str, Any]:
        return {"gain": identity(self._gain)}

    def words(self) -> str:
        return f"the score of a model of {self._target}"

    def learn(self, noisy_sums: NoisySums) -> Score:
        (vector_sum,) = self.known()
        gain_sums = noisy_sums.add_up("gain", vector_sum, self.shares["gain"])
        rows = max(float(gain_sums.cells(1)[0]), 1.0)
        score = min(max(float(gain_sums.cells(0)[0]) / rows, 0.0), 1.0)
        return Score(score, gain_sums.deviation() * math.sqrt(1 + score**2) / rows, noisy_sums.release_id)


FOR_BINS = 15  # n·μ for each bin, from where shapes are better than straight lines
FOR_STEPS = 3  # n·μ for each feature, below which nothing but means outweighs the noise


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A learner that is ready to be fitted, and why it was chosen. Nothing was read, and nothing charged."""

    learner: Learner
    why: str

    def __repr__(self) -> str:
        return f"{self.learner!r}\n  {self.why}"


def choose(
    s: Session | frame.Table,
    target: str,
    features: Sequence[str] | None = None,
    *,
    n: int | None = None,
    clip: int | None = None,
    **terms: Unpack[FitTerms],
) -> Choice:
    """The learner that suits a target, and why.

    `n` is about how many rows there are: a public number, or one that was released. Without it the number comes from
    the table's profile, if one was paid for; else the choice is refused, because the exact number would show in it.

    >>> import giveortake as gt, polars as pl
    >>> rows = pl.DataFrame({"age": [30.0, 60.0], "ill": [False, True]})
    >>> with gt.protect(rows, unit=gt.ROW, budget=gt.ApproxDP(1, "1e-6"), domains={"age": (0, 100)}) as s:
    ...     print(gt.learn.choose(s, "ill", n=500, epsilon="0.1", delta="1e-6").why)
    LogisticRegression: n·μ is about 13.8, and 1 feature would need 3 for steps and 240 for shapes of 16 bins
    """
    data = LearningData.of(s)
    used_features = features_of(data.schema, features, target)

    names = [feature.name for feature in used_features]
    stated = fit_terms(terms)
    bought = MomentsFitting(tuple(names), clip).quoted(data, stated).cost  # of a share, what it buys
    assert isinstance(bought, GaussianDP)  # noqa: S101 (so sums of vectors are charged)
    context = FitContext.from_parameters(data, stated.spend or Spend(mu=bought.mu), clip, None)
    rows = data.rows_about() if n is None else whole("n", n)
    if rows is None:
        raise QueryRefused(
            "the number of rows is not known, and the exact one is not public",
            hint='pass n=10_000, a public or released number; or call s.profile().answer(epsilon="0.1") first',
        )
    signal = float(rows) * float(context.mu) / context.rows
    learner, why = _chosen(data, target, used_features, signal)
    return Choice(learner(target, names, clip=clip, **terms), f"{learner.__name__}: {why}")


def _chosen(data: LearningData, target: str, features: tuple[Feature, ...], signal: float) -> tuple[Any, str]:
    bins = sum(len(feature.values) if isinstance(feature, Category) else MOST_FITTED_BINS for feature in features)
    columns = sum(len(feature.design()) for feature in features)
    count = f"{len(features)} feature{'s' if len(features) > 1 else ''}"
    why = (
        f"n·μ is about {signal:,.3g}, and {count} would need {FOR_STEPS * len(features):,} for steps "
        f"and {FOR_BINS * bins:,} for shapes of {bins:,} bins"
    )
    enough_for_bins = signal >= FOR_BINS * bins and bins <= MOST_CELLS
    if _is_number(data, target):
        return (AdditiveRegressor if enough_for_bins else LinearRegression), why
    classes = len(classes_of(data.schema, target).values)
    if classes > 2:
        learner = NaiveBayes if signal >= FOR_STEPS * classes * len(features) else ClassMeans
        return learner, f"{classes} classes are declared; {why}"
    if enough_for_bins:
        return AdditiveClassifier, why
    if signal < FOR_STEPS * len(features):
        return ClassMeans, why
    if columns > MOST_COLUMNS:
        return NaiveBayes, f"{columns:,} columns are too many for a Gram matrix; {why}"
    return LogisticRegression, why


def _is_number(data: LearningData, target: str) -> bool:
    """Whether a target is a number to be estimated, and no class: it has bounds, and no list of values."""
    feature = feature_of(data.schema, target, "target")
    domain = data.schema[target]
    if isinstance(feature, Category):
        return False
    if domain.kind is Kind.INTEGER and domain.high is not None and domain.low is not None:
        return domain.high - domain.low > 1
    return True
