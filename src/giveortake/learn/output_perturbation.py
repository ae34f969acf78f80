"""Output perturbation for regularised risks [CMS11]: the minimiser of Σℓ + Λ‖θ‖²/2, with noise, in one release.

Guarantee: with a public Λ the point that is released moves by at most (m·L + 2τ)/Λ if a unit is added or removed, and
by (2m·L + 2τ)/Λ if it is changed, where m rows of a unit count, a row's gradient has length L at most, and τ is the
length of the gradient at which the search ends; Gaussian noise covers that. Proof: `PerturbedMinimiser` proves it for
gradients that are monotone. Here they are, as they are computed, and not only as they are meant: a row's numbers x are
multiples of 2⁻¹⁰ and θ of 2⁻²⁶, so doubles hold every score ⟨θ, x⟩ exactly, in whatever order it is summed; the slope
of the loss is a sum of clamped scores times positive multiples of 2⁻¹², exact too, and grows with the score; rounding
it to whole steps keeps that. So (r(s) − r(s′))·(s − s′) ≥ 0 for each row, which is ⟨g(θ) − g(θ′), θ − θ′⟩ ≥ 0. No unit
is cut: that would not be monotone. m is a cap on rows that the engine keeps, or 1. ∎

The logistic slope is a chain of straight lines between points of it, nowhere farther than 0.0075 away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final, get_args

import numpy as np

from giveortake import exact
from giveortake.engines import Component, VectorSum
from giveortake.engines.vector_sums import LONGEST
from giveortake.errors import InvalidParameter, LedgerDamaged, QueryRefused
from giveortake.exact import positive
from giveortake.frame import col, when
from giveortake.frame.expressions import When
from giveortake.learn.features import added, complete, features_of
from giveortake.learn.lattice import STEPS, gram, one, value
from giveortake.learn.linear_scores import LinearScores
from giveortake.learn.model import Pass, Provenance
from giveortake.learn.scores import target_of, target_value
from giveortake.learn.task import Ground
from giveortake.mechanisms.minimiser import PerturbedMinimiser
from giveortake.plan import Call, Column, Derive
from giveortake.plan import Literal as Constant
from giveortake.session.run_steps import NoisyVector
from giveortake.session.vector_run import LearningData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake import frame
    from giveortake.exact import Number
    from giveortake.learn.features import DesignColumn, Feature
    from giveortake.plan import Expression, Relation
    from giveortake.session import Session

Convex: TypeAlias = Literal["logistic", "huber"]
FINENESS = 1 << 26  # steps of a coefficient
_FARTHEST = 64  # where coefficients are looked for
_FINEST = 1 << 17  # steps of a slope
_COARSE = 1 << 6  # steps of a curvature, which decides no promise
_SLOPES = 1 << 12  # steps of the slopes of straight lines
_KNOTS = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(6), Fraction(8))
_PASSES = 16
_TOLERANCE = Fraction(1, 32)  # of the longest gradient


def output_perturbation(
    s: Session | frame.Table,
    target: str,
    features: Sequence[str] | None = None,
    *,
    regularisation: Number,
    loss: Convex = "logistic",
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    key: str | None = None,
) -> PerturbedModel:
    """A linear model as the minimiser of a regularised risk, with noise on its coefficients.

    `regularisation` is Λ in Σℓ + Λ‖θ‖²/2, a public number; a hundredth of the number of rows is a beginning. The larger
    it is, the less noise is needed, and the nearer to zero coefficients are drawn. `loss` is "logistic", or "huber",
    the squared one that grows straight beyond half of the target's range. A search that ends without a minimum is told
    as `QueryFailed`, one fixed sentence, and counted with the failures that a session has.
    """
    if loss not in get_args(Convex):
        raise InvalidParameter("loss", loss, "is not known to be convex", hint='loss="logistic", or loss="huber"')
    data = LearningData.of(s)
    used = features_of(data.schema, features, target)
    wanted = target_of(data.schema, target, "logistic" if loss == "logistic" else "squared")
    condition = complete(data.schema, [each.name for each in (*used, wanted)])
    if data.relation.person is not None and data.relation.most_rows is None:
        raise QueryRefused(
            f"a `{data.relation.person}` may have any number of rows, and gradients are not cut here",
            hint="rows_per_person=1 in gt.protect, or one row for each person by s.table().per_person(…)",
        )
    ground = Ground.of(data, {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}, None, condition)
    return _Risk(ground, used, wanted, loss, positive("regularisation", regularisation)).run(key)


@final
@dataclass(frozen=True, eq=False)
class PerturbedModel(LinearScores):
    """A linear model with noise of one `deviation` on each of its coefficients."""

    deviation: float = math.nan

    learner: ClassVar[str] = "output_perturbation"


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Risk:
    """What is minimised; nothing is charged by making one."""

    ground: Ground
    features: tuple[Feature, ...]
    target: Feature
    loss: Convex
    strength: Fraction

    @property
    def columns(self) -> list[DesignColumn]:
        return [column for feature in self.features for column in feature.design()]

    @property
    def rows(self) -> int:
        """How many rows of a unit count, at most: more than one where rows are repeated, or a person has several."""
        return self.ground.relation.most_rows or 1

    @property
    def slope_steps(self) -> int:
        """As many steps of the slope as keep gradients of a unit within what engines take."""
        steps = _FINEST
        while steps > 1 and self._bound(steps) > LONGEST:
            steps //= 2
        if steps < STEPS // 4:
            raise QueryRefused("a person's gradient could be too long", hint="take fewer rows of a person, or features")
        return steps

    def _bound(self, slope_steps: int) -> int:
        """Just above the greatest length that a unit's gradient can have, so that nobody's is ever cut.

        Each number is at most 1, and of the columns of a category one at most is not 0.
        """
        longest = math.isqrt((1 + len(self.features)) * (slope_steps * STEPS * self.rows) ** 2) + 1
        return longest + longest // (1 << 30) + 1

    def asked(self, point: tuple[int, ...]) -> tuple[VectorSum, VectorSum]:
        """Gradients and curvatures of all rows at a point."""
        relation, steps = self._scored(point), self.slope_steps
        numbers = [one(), *(value(Column(f"z{place}"), each.low) for place, each in enumerate(self.columns))]
        slope, curve = value(_slope(self.loss), steps=steps), value(_curve(self.loss), 0, 1, _COARSE)
        pairs = tuple(Component((0, *(1 + place for place in each.factors))) for each in gram(len(numbers)))
        products = tuple(Component((0, place)) for place in range(1, len(numbers) + 1))
        gradient = VectorSum(relation, (slope, *numbers), (), products, self._bound(steps))
        return gradient, VectorSum(relation, (curve, *numbers), (), pairs, LONGEST)

    def _scored(self, point: tuple[int, ...]) -> Relation:
        """The rows as whole steps z0, z1, …, their target, and their score at a point."""
        named = [(f"z{place}", _on_lattice(each)) for place, each in enumerate(self.columns)]
        rows = Derive(self.ground.relation, (*named, ("target", target_value(self.target))))
        theta = [Constant(Fraction(each, FINENESS)) for each in point]
        terms = [Call("multiply", (Column(name), each)) for (name, _), each in zip(named, theta[1:], strict=True)]
        carried = [(name, Column(name)) for name in (*(name for name, _ in named), "target")]
        return Derive(rows, (*carried, ("score", added([theta[0], *terms]))))

    def mechanism(self, mu: Fraction, *, changed: bool) -> PerturbedMinimiser:
        """The noise that keeps μ."""
        size, unit = 1 + len(self.columns), self.slope_steps * STEPS
        longest = Fraction(self._bound(self.slope_steps), unit)
        bare = PerturbedMinimiser(
            Fraction(1),
            self.strength,
            longest * _TOLERANCE,
            FINENESS,
            unit,
            _COARSE * STEPS**2,
            size,
            _PASSES,
            _FARTHEST,
        )
        sigma = bare.moved(longest, changed=changed) / mu
        return PerturbedMinimiser(Fraction(math.ceil(sigma)), *_rest(bare))

    def run(self, key: str | None) -> PerturbedModel:
        """Charge, search, and release."""
        data = self.ground.data
        zero = self.asked((0,) * (1 + len(self.columns)))
        request = data.request(zero, self.ground.spend, self._said(), f"{self._words()} of {data.name}")
        assert request.mu is not None  # noqa: S101 (a run of sums of vectors has one)
        promise = request.promise
        mechanism = self.mechanism(request.mu, changed=promise.neighbours == "change-one")
        with request.begin(key) as run:
            kept = list(run.steps)
            drawn = kept[0] if kept else run.minimise("minimiser", mechanism, self.asked)
            if not isinstance(drawn, NoisyVector):
                raise LedgerDamaged("a minimiser that was kept is none")
            run.settle()
        deviation = float(drawn.sigma) / FINENESS
        made = Provenance(
            "output_perturbation",
            self._words(),
            promise,
            str(self.ground.spend),
            self.rows,
            (Pass("the minimiser, in passes that are not told", "1", float(request.mu)),),
            run.id,
            (
                f"Λ = {exact.shown(self.strength, 4)}; noise of {deviation:.3g} on each coefficient",
                *(() if run.charged else ("fitted before at this price: nothing was charged",)),
            ),
        )
        theta = drawn.steps.astype(np.float64) / FINENESS
        return PerturbedModel(self.features, self.target, theta, made, deviation)

    def _words(self) -> str:
        return f"a regularised {self.loss} model of {self.target.name}"

    def _said(self) -> dict[str, Any]:
        return {
            "learner": "output_perturbation",
            "loss": self.loss,
            "target": self.target.to_json(),
            "features": [each.to_json() for each in self.features],
            "filter": self.ground.relation.to_json(),
            "regularisation": str(self.strength),
            "passes": _PASSES,
            "tolerance": str(_TOLERANCE),
        }


def _rest(bare: PerturbedMinimiser) -> tuple[Any, ...]:
    names = ("strength", "tolerance", "fineness", "unit", "curvature_unit", "size", "passes", "farthest")
    return tuple(getattr(bare, name) for name in names)


def _on_lattice(column: DesignColumn) -> Expression:
    """A column in whole steps, by the operations that its sum does: the score sees what the gradient is made of."""
    within = Call("clamp", (column.expression, Constant(Fraction(column.low)), Constant(Fraction(1))))
    steps = Call("multiply", (within, Constant(Fraction(STEPS))))
    whole = Call("floor", (Call("add", (steps, Constant(Fraction(1, 2)))),))
    return Call("multiply", (whole, Constant(Fraction(1, STEPS))))


def chain() -> list[tuple[Fraction, Fraction]]:
    """Pairs (e, b): ½ + Σ e·clamp(s, −b, b) is the logistic function at the knots, up to 2⁻¹² a line, and grows.

    >>> all(height > 0 for height, _ in chain())
    True
    >>> float(sum(height * min(Fraction(2), knot) for height, knot in chain())) + 0.5  # the logistic function: 0.8808
    0.880859375
    """
    ends = [Fraction(0), *_KNOTS]
    heights = [Fraction(1 / (1 + math.exp(-float(each)))) for each in ends]
    lines = [
        Fraction(round((high - low) / (end - start) * _SLOPES), _SLOPES)
        for start, end, low, high in zip(ends, ends[1:], heights, heights[1:], strict=False)
    ]
    return [(line - after, end) for line, after, end in zip(lines, [*lines[1:], Fraction(0)], _KNOTS, strict=True)]


def _slope(loss: Convex) -> Expression:
    score, target = col("score"), col("target")
    if loss == "huber":
        return (score - target).clamp(-1, 1).node
    terms = [(score.clamp(-end, end) * height).node for height, end in chain()]
    return Call("subtract", (added([*terms, Constant(Fraction(1, 2))]), target.node))


def _curve(loss: Convex) -> Expression:
    """About how fast the slope grows: it steers the search, and decides nothing that is promised."""
    score, target = col("score"), col("target")
    if loss == "huber":
        return when((score - target).abs() <= 1).then(1).otherwise(0).node
    found = When()
    for end in _KNOTS:
        line = sum((height for height, knot in chain() if knot >= end), Fraction(0))
        found = found.when(score.abs() < end).then(line)
    return found.otherwise(0).node
