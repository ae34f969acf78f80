"""Scores of linear models: θ·(1, z) as the engine computes it, and their slopes by allow-listed losses.

A loss is given by its slope, the derivative of ℓ(score, target) in the score: an expression of the columns `score` and
`target`, made of allow-listed functions. No code of an analyst's is called with rows: a function that makes such an
expression is called once, with the two columns, and never sees a value.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from giveortake.errors import InvalidParameter
from giveortake.frame import Expr, col
from giveortake.learn.features import (
    Category,
    ScaledNumber,
    added,
    classes_of,
    feature_of,
)
from giveortake.plan import Call, ColumnReference, Domain, Kind
from giveortake.plan import Literal as Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from giveortake.learn.features import DesignColumn, Feature
    from giveortake.plan import Expression

Loss: TypeAlias = "Literal['logistic', 'squared'] | str | Callable[[Expr, Expr], Expr]"
_NAMED: TypeAlias = Literal["logistic", "squared"]
STEEPEST = 30  # beyond which the logistic function is 0 or 1
_SCORE, _TARGET = "score", "target"
_DOMAINS = {name: Domain(Kind.REAL, Fraction(-64), Fraction(64), nullable=False) for name in (_SCORE, _TARGET)}


def is_code(loss: object) -> bool:
    """Whether a loss is the name of code that a custodian trusts, name@version."""
    return isinstance(loss, str) and "@" in loss


def target_of(schema: Mapping[str, Domain], target: str, loss: Loss) -> Feature:
    """The target as a loss needs it: two declared classes, or a bounded number."""
    if not callable(loss) and not is_code(loss) and loss not in get_args(_NAMED):
        raise InvalidParameter(
            "loss",
            loss,
            "is unknown",
            hint='loss="logistic", loss="squared", or lambda score, y: (score - y).clamp(-1, 1)',
        )
    wanted: Feature = classes_of(schema, target) if loss == "logistic" else feature_of(schema, target, "target")
    if isinstance(wanted, Category) and len(wanted.values) != 2:
        raise InvalidParameter(
            "target",
            target,
            "does not have exactly two declared classes",
            hint="one of them against the rest: derive it",
        )
    if loss == "squared" and not isinstance(wanted, ScaledNumber):
        raise InvalidParameter(
            "target", target, "is not a number with declared bounds", hint='loss="logistic" learns classes'
        )
    return wanted


def slope_of(loss: Loss) -> Expression:
    """The derivative of a loss in the score, as an expression of `score` and `target`.

    >>> slope_of(lambda score, y: (score - y).clamp(-1, 1)).to_json()[:2]
    ['call', 'clamp']
    """
    score, target = col(_SCORE), col(_TARGET)
    if loss == "squared":
        return (score - target).node
    if loss == "logistic":
        return (1 / (1 + (-score.clamp(-STEEPEST, STEEPEST)).exp()) - target).node
    assert callable(loss)  # noqa: S101 (checked with the target)
    made: object = loss(score, target)  # somebody else's code: anything may come back
    if not isinstance(made, Expr) or not set(made.node.columns()) <= set(_DOMAINS):
        raise InvalidParameter(
            "loss", type(made).__name__, "is not an expression of `score` and `target` only", hint="score - y is one"
        )
    if not made.node.domain(_DOMAINS).kind.is_number:
        raise InvalidParameter("loss", repr(made), "is not a number", hint="its derivative in the score is one")
    return made.clamp(-1, 1).node


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
            return Call(name, tuple(_filled(each, named) for each in arguments))
    return expression


def score_of(columns: Sequence[DesignColumn], theta: Sequence[float]) -> Expression:
    """θ₀ + θ₁·z₁ + …, as a balanced sum: its depth is the logarithm of their number."""
    pairs = zip(columns, theta[1:], strict=True)
    terms = [Call("multiply", (column.expression, Constant(Fraction(each)))) for column, each in pairs]
    return added([Constant(Fraction(theta[0])), *terms])
