"""Stochastic gradient descent on samples of persons [ACGMMTZ16]: every step is a noisy sum over a secret sample.

Guarantee: in each of the declared steps every person is in the sample on their own, with probability `rate`; the sum of
their rows' gradients is cut to length `clip` once, and Gaussian noise of `noise_multiplier`·`clip` is added. That is
Poisson-sampled Gaussian noise, repeated, and charged as that before a row is read; the accountant that certifies
the budget finds the multiplier. Samples and their sizes stay secret, and nothing is divided by a size: a step is the
noisy sum divided by rate·n, with an n that is public. A row whose gradient cannot be computed counts as zero. Where a
person is changed, sampling has no price here, and it is refused. Every step is kept in the ledger: checkpoints are
releases. Where rows are what is protected, rows are sampled.

A loss is an allow-listed expression (see `scores`), or the name of code that the custodian registered, which is called
for each sampled person by itself and never comes from an analyst (see `trusted_gradients` for what it has to keep).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.accounting.composition import calibrate
from giveortake.caching import cached
from giveortake.engines import Component, Sample, VectorSum
from giveortake.errors import InvalidParameter, LedgerDamaged, Unprovable
from giveortake.exact import positive, whole
from giveortake.learn.features import complete_and_declared, features_of
from giveortake.learn.lattice import GRAIN, STEPS, lattice_of, one, value
from giveortake.learn.linear_scores import LinearScores
from giveortake.learn.model import Pass, Provenance
from giveortake.learn.scores import filled, is_code, score_of, slope_of, target_of, target_value
from giveortake.learn.task import Ground
from giveortake.privacy import ApproxDP, events
from giveortake.session.adaptive_run import TrustedCode
from giveortake.session.run_steps import NoisyVector
from giveortake.session.vector_run import LearningData, served_to_asker

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake import frame
    from giveortake.exact import Number
    from giveortake.learn.features import Feature
    from giveortake.learn.scores import Loss
    from giveortake.plan import Expression
    from giveortake.session import Session

    Reals: TypeAlias = npt.NDArray[np.float64]


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
    said = Schedule(
        whole("steps", steps), positive("rate", rate), whole("n", n), positive("clip", clip), float(learning_rate)
    )
    if said.rate >= 1:
        raise InvalidParameter("rate", rate, "is not a share of the people below 1", hint='rate="1/10"')
    data = LearningData.of(s)
    return _Descent.of(data, target, features, loss, ground={"epsilon": epsilon, "delta": delta}).run(said, key)


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

    ground: Ground
    features: tuple[Feature, ...]
    target: Feature
    slope: Expression | None  # none where trusted code is called
    loss: str

    @classmethod
    def of(
        cls, data: LearningData, target: str, features: Sequence[str] | None, loss: Loss, *, ground: dict[str, Any]
    ) -> _Descent:
        """Check what was stated, and plan the descent."""
        used = features_of(data.schema, features, target)
        wanted = target_of(data.schema, target, loss)
        slope = None if is_code(loss) else slope_of(loss)
        if slope is None:
            data.require_trusted(str(loss))
        if data.budget.neighbours == "change-one":
            raise Unprovable(
                "sampling of persons has no price where a person is changed",
                hint='neighbours="add-remove" in gt.protect',
            )
        condition = complete_and_declared(data.schema, (*used, wanted))
        most = None if data.relation.most_rows else 1
        named = loss if isinstance(loss, str) else "chosen"
        return cls(Ground.of(data, ground, most, condition), used, wanted, slope, named)

    def gradient(self, theta: Reals, bound: int) -> VectorSum:
        """The sum of gradients: the slope of a row times (1, x)."""
        columns = [column for feature in self.features for column in feature.design()]
        if self.slope is None:
            rows = [value(target_value(self.target)), *(value(each.expression, each.low) for each in columns)]
            cells = tuple(Component((place,)) for place in range(len(theta)))  # filled by trusted code
            return VectorSum(self.ground.relation, tuple(rows), (), cells, bound)
        slope = filled(self.slope, score_of(columns, theta.tolist()), self.target)
        values = [value(slope), one(), *(value(each.expression, each.low) for each in columns)]
        components = [Component((0, place)) for place in range(1, len(values))]
        return VectorSum(self.ground.relation, tuple(values), (), tuple(components), bound)

    def run(self, said: Schedule, key: str | None) -> Descent:
        """Charge all steps, and make them."""
        spend = self.ground.spend
        assert spend.epsilon is not None and spend.delta is not None  # noqa: S101, PT018 (both were stated)
        multiplier = _multiplier(spend.epsilon, spend.delta, said.steps, said.rate)
        declared = events.Repeated(events.Subsampled(events.Gaussian(multiplier), said.rate), said.steps)
        bound = max(1, int(said.clip * STEPS**2))
        theta = np.zeros(1 + sum(len(each.design()) for each in self.features))
        first = self.gradient(theta, bound)
        self.ground.data.require(replace(first, sample=Sample("", 0)))  # refused, if need be, before any charge
        named = self._said(said) | {"lattice": lattice_of(first)}
        request = self.ground.data.sample_request(spend, declared, said=named, words=self._words())
        path = []
        with request.begin(key) as run:
            kept = list(run.steps)
            for place in range(said.steps):
                if place < len(kept):
                    drawn = kept[place]
                    if not isinstance(drawn, NoisyVector) or len(drawn.steps) != first.size:
                        raise LedgerDamaged("a descent that was kept has other steps than this one")
                else:
                    by = TrustedCode(self.loss, tuple(theta.tolist()), STEPS, STEPS**2) if self.slope is None else None
                    asked = self.gradient(theta, bound)
                    drawn = run.add_up_sample(f"step {place + 1}", asked, multiplier * bound, by)
                far = said.learning_rate / math.sqrt(1 + place / 10)
                theta = np.round((theta - far * said.mean(drawn.steps)) * GRAIN) / GRAIN
                path.append(theta)
            run.settle()
        made = Provenance(
            "sgd",
            self._words(),
            ApproxDP(spend.epsilon, spend.delta, unit=request.promise.unit, neighbours=request.promise.neighbours),
            str(spend),
            0,
            (Pass(f"{said.steps} samples of {float(said.rate):.3g} of all", "1", float(1 / multiplier)),),
            run.id,
            (
                f"of a person's gradient in each step, a length of {float(said.clip):g} counts",
                *(() if run.charged else ("fitted before at this price: nothing was charged again",)),
            ),
        )
        return Descent(self.features, self.target, np.mean(path[len(path) // 2 :], axis=0), made, np.array(path))

    def _words(self) -> str:
        loss = "model of a chosen loss" if self.loss == "chosen" else f"{self.loss} model"
        loss = f"model by the code {self.loss}" if self.slope is None else loss
        return f"a {loss} of {self.target.name} by gradient descent"

    def _said(self, schedule: Schedule) -> dict[str, Any]:
        return {
            "learner": "sgd",
            "loss": {"code": self.loss} if self.slope is None else self.slope.to_json(),
            "target": self.target.to_json(),
            "features": [each.to_json() for each in self.features],
            "filter": self.ground.relation.to_json(),
            "schedule": schedule.to_json(),
            "grain": GRAIN,
        }


@final
@dataclass(frozen=True, eq=False)
class Descent(LinearScores):
    """A linear model that was found by descent.

    `coefficients` are the mean of the second half of the path; `path` has every step, all of which were released.
    """

    path: Reals = field(repr=False, default_factory=lambda: np.zeros((0, 0)))

    learner: ClassVar[str] = "sgd"
