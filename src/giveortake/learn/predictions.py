"""Predictions of fitted models for rows behind a session, as expressions: engines compute them, nobody sees them."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.errors import QueryRefused
from giveortake.learn.features import ScaledNumber, added
from giveortake.learn.lattice import GRAIN
from giveortake.learn.linear_model import LinearModel
from giveortake.learn.linear_scores import LinearScores
from giveortake.learn.logistic import LogisticModel
from giveortake.learn.scores import score_of, target_value
from giveortake.learn.shapes import AdditiveModel
from giveortake.plan import Call, ColumnReference, Expression
from giveortake.plan import Literal as Constant

if TYPE_CHECKING:
    from giveortake.learn.features import Feature


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
    low, high = (Fraction(each) for each in model.bounds)
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
        place: Any = shape.bins.key().expression
        terms.append(shape.bins.effect(place, shape.effects.tolist(), -np.arange(shape.bins.size, dtype=float)))
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
    return score_of(columns, [round(float(each) * GRAIN) / GRAIN for each in weights])
