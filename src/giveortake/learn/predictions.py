"""What fitted models say of rows behind a session, as expressions: the engine computes them, and nobody sees them."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from giveortake.errors import QueryRefused
from giveortake.learn.features import ScaledNumber
from giveortake.learn.linear_model import LinearModel
from giveortake.learn.linear_scores import LinearScores
from giveortake.learn.scores import score_of, target_value
from giveortake.plan import Call, Column, Expression, Literal

if TYPE_CHECKING:
    from giveortake.learn.features import Feature

_GRAIN = 1 << 20  # numbers of models are rounded to so many parts of 1


@singledispatch
def gain(model: Any) -> Expression:
    """How good a model's guess is in a row, from 0 to 1: of classes 1 if it is right, of numbers 1 − |error|/width.

    The width is that of the declared bounds. Squares would be smaller still beside the noise, where errors are small.
    """
    raise QueryRefused(
        f"what a {type(model).__name__} says cannot be computed behind a session",
        hint="candidates are linear models, logistic ones, and those of sgd and output_perturbation",
    )


@gain.register
def _linear(model: LinearModel) -> Expression:
    low, high = (Fraction(each) for each in model.bounds)
    guess = Call("clamp", (_score(model.features, model.weights), Literal(low), Literal(high)))
    return near(Call("subtract", (guess, Column(model.target))), high - low)


@gain.register
def _scores(model: LinearScores) -> Expression:
    score = _score(model.features, model.coefficients)
    if isinstance(model.target, ScaledNumber):
        guess = Call("clamp", (score, Literal(Fraction(-1)), Literal(Fraction(1))))
        return near(Call("subtract", (guess, target_value(model.target))), Fraction(2))
    return right(score, target_value(model.target))


def near(error: Expression, width: Fraction) -> Expression:
    """1 − |error|/width."""
    return Call("subtract", (Literal(Fraction(1)), Call("multiply", (Call("abs", (error,)), Literal(1 / width)))))


def right(score: Expression, truth: Expression) -> Expression:
    """1 where the score is positive and the truth is 1, or neither is; else 0."""
    guess = Call("case", (Call("gt", (score, Literal(Fraction(0)))), Literal(1), Literal(0)))
    return Call("case", (Call("eq", (guess, truth)), Literal(1), Literal(0)))


def _score(features: tuple[Feature, ...], weights: Any) -> Expression:
    columns = [column for feature in features for column in feature.design()]
    return score_of(columns, [round(float(each) * _GRAIN) / _GRAIN for each in weights])
