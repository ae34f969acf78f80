"""Output perturbation for regularised risks [CMS11]: descent on Σℓ + Λ‖θ‖²/2, and noise on where it leads.

Guarantee: `PerturbedDescent` proves how far a unit moves the point that is released, for every table and any number of
passes: by about m·X/Λ where m rows of a unit count and a row has length X, and twice that where it is changed. Gaussian
noise covers that. What the proof asks of gradients holds for them as engines compute them: a row's numbers x are
multiples of 2⁻¹⁰ and θ of 2⁻²⁶ below 64, so doubles hold every score ⟨θ, x⟩ exactly, in whatever order it is summed.
The slope of a loss is a chain of straight lines, sums of clamped scores times multiples of 2⁻¹², and exact too. It is
cut into a coarse and a fine part, both whole numbers of steps, whose sums are sums of integers: what is lost of a row's
slope is half a fine step, and a whole one is accounted for. No unit is cut: m is a cap on rows that the engine keeps,
or 1. ∎

Every fit makes the passes that were stated, each of them executed by the engine and none remembered: neither an outcome
nor the number of statements depends on rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final, get_args

import numpy as np

from giveortake.engines import Component, VectorSum
from giveortake.engines.questions import LONGEST
from giveortake.errors import InvalidParameter, LedgerDamaged, QueryRefused
from giveortake.exact import positive, shown, whole
from giveortake.frame import col
from giveortake.learn.features import added, complete_and_declared, features_of
from giveortake.learn.lattice import STEPS, lattice_of, one, value
from giveortake.learn.linear_scores import LinearScores
from giveortake.learn.model import Pass, Provenance
from giveortake.learn.scores import target_of, target_value
from giveortake.learn.task import Ground
from giveortake.mechanisms.vectors import PerturbedDescent
from giveortake.plan import Call, ColumnReference, Derive
from giveortake.plan import Literal as Constant
from giveortake.session.run_steps import NoisyVector
from giveortake.session.vector_run import LearningData, served_to_asker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake import frame
    from giveortake.exact import Number
    from giveortake.learn.features import DesignColumn, Feature
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.plan import Expression, Relation
    from giveortake.session import Session

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
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    key: str | None = None,
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
    >>> said = {"regularisation": 100, "passes": 30, "epsilon": 1, "delta": "1e-7"}
    >>> model = gt.learn.output_perturbation(s, "sick", ["age"], **said)
    >>> model.coefficients.shape  # the intercept, and one for age
    (2,)
    """
    if loss not in get_args(Convex):
        raise InvalidParameter("loss", loss, "is not known to be convex", hint='loss="logistic", or loss="huber"')
    if whole("passes", passes) > MOST_PASSES:
        raise InvalidParameter("passes", passes, f"is more than {MOST_PASSES:,}", hint="take a larger regularisation")
    data = LearningData.of(s)
    data.require_unwitnessed("the points of a descent are secret, and the engine's statements would contain them")
    used = features_of(data.schema, features, target)
    wanted = target_of(data.schema, target, "logistic" if loss == "logistic" else "squared")
    if data.relation.person is not None and data.relation.most_rows is None:
        raise QueryRefused(
            f"a `{data.relation.person}` may have any number of rows, and gradients are not cut here",
            hint="rows_per_person=1 in gt.protect, or one row for each person by s.table().per_person(…)",
        )
    said = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
    ground = Ground.of(data, said, None, complete_and_declared(data.schema, (*used, wanted)))
    return Risk(ground, used, wanted, loss, positive("regularisation", regularisation), passes).run(key)


@final
@dataclass(frozen=True, eq=False)
class PerturbedModel(LinearScores):
    """A linear model with noise of one `deviation` on each of its coefficients."""

    deviation: float = math.nan

    learner: ClassVar[str] = "output_perturbation"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """A regularised risk to be minimised; making one charges nothing."""

    ground: Ground
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
        return self.ground.relation.most_rows or 1

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
        return VectorSum(self.ground.relation, (), (), (Component(),), self.rows + 1)  # so that no unit is cut

    def asked(self, point: tuple[int, ...]) -> VectorSum:
        """The sum of gradients of all rows at a point: coarse parts, then fine ones."""
        steps, half = self.slope_steps, Fraction(1, 2)
        numbers = [one(), *(value(ColumnReference(f"z{place}"), each.low) for place, each in enumerate(self.columns))]
        parts = [value(ColumnReference("coarse"), steps=steps), value(ColumnReference("fine"), -half, half, steps)]
        products = [Component((part, place)) for part in (0, 1) for place in range(2, len(numbers) + 2)]
        return VectorSum(self._sloped(point), (*parts, *numbers), (), tuple(products), self._bound(steps))

    def _sloped(self, point: tuple[int, ...]) -> Relation:
        """The rows as whole steps z0, z1, …, and the coarse and fine parts of their slopes at a point."""
        named = [
            (f"z{place}", _on_lattice(each.expression, each.low, STEPS)) for place, each in enumerate(self.columns)
        ]
        rows = Derive(self.ground.relation, (*named, ("target", _on_lattice(target_value(self.target), -1, _TARGETS))))
        theta = [Constant(Fraction(each, FINENESS)) for each in point]
        terms = [
            Call("multiply", (ColumnReference(name), each)) for (name, _), each in zip(named, theta[1:], strict=True)
        ]
        carried = [(name, ColumnReference(name)) for name, _ in named]
        scored = Derive(rows, (*carried, ("target", ColumnReference("target")), ("score", added([theta[0], *terms]))))
        sloped = Derive(scored, (*carried, ("slope", _slope(self.loss))))
        coarse = _on_lattice(ColumnReference("slope"), -1, self.slope_steps)
        parted = Derive(sloped, (*carried, ("slope", ColumnReference("slope")), ("coarse", coarse)))
        rest = Call("subtract", (ColumnReference("slope"), ColumnReference("coarse")))
        fine = Call("multiply", (rest, Constant(Fraction(self.slope_steps))))
        return Derive(parted, (*carried, ("coarse", ColumnReference("coarse")), ("fine", fine)))

    def joined(self, parts: BoundedIntegers) -> BoundedIntegers:
        """Both parts of a sum of gradients as one, in fine steps."""
        half = len(parts) // 2
        return parts[:half].times(self.slope_steps).plus(parts[half:])

    def mechanism(self, mu: Fraction, *, changed: bool) -> PerturbedDescent:
        """The descent with the noise that keeps μ."""
        fine = self.slope_steps**2
        bare = PerturbedDescent(
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
        return replace(bare, sigma=Fraction(math.ceil(bare.moved(self.rows, changed=changed) / mu)))

    def run(self, key: str | None) -> PerturbedModel:
        """Charge, descend, and release."""
        data = self.ground.data
        first = self.asked((0,) * (1 + len(self.columns)))
        named = self._said() | {"lattice": lattice_of(first)}
        request = data.request([self.counted(), first], self.ground.spend, named, f"{self._words()} of {data.name}")
        assert request.mu is not None  # noqa: S101 (a run of sums of vectors has one)
        promise = request.promise
        mechanism = self.mechanism(request.mu, changed=promise.neighbours == "change-one")
        with request.begin(key) as run:
            kept = list(run.steps)
            drawn = kept[0] if kept else run.descend(mechanism, self)
            if not isinstance(drawn, NoisyVector) or len(drawn.steps) != mechanism.size:
                raise LedgerDamaged("a stored descent cannot be read")
            run.settle()
        deviation = float(drawn.sigma) / FINENESS
        made = Provenance(
            "output_perturbation",
            self._words(),
            promise,
            str(self.ground.spend),
            self.rows,
            (Pass(f"the end of {self.passes} passes", "1", float(request.mu)),),
            run.id,
            (
                f"Λ = {shown(self.strength, 4)}; noise of {deviation:.3g} on each coefficient",
                *(() if run.charged else ("fitted before at this price: nothing was charged again",)),
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
    heights = [Fraction(1 / (1 + math.exp(-float(each)))) for each in ends]
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
