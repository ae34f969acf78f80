"""Moments of declared columns: their number, sums and products, in one release, for many models at no further cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.learn.features import Feature, ScaledNumber, complete, features_of
from giveortake.learn.lattice import gram, one, value, vector_sum
from giveortake.learn.passes import passes
from giveortake.learn.task import Ground, Task
from giveortake.session.vector_run import LearningData

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake import frame
    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.passes import Passes
    from giveortake.privacy import Guarantee
    from giveortake.session import Session

    Reals: TypeAlias = npt.NDArray[np.float64]


def moments(
    s: Session | frame.Table,
    columns: Sequence[str] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    clip: int | None = None,
    key: str | None = None,
) -> Moments:
    """n, XᵀX and with it Xᵀy of declared columns, for whichever of them is the target, in one Gaussian release.

    Guarantee: the products of a row's numbers (1, x₁, …), each between -1 and 1 and in whole steps, are a Gram matrix
    of length Σ x²; above the diagonal they count twice and get noise σ/√2. So a row of d columns moves the release by
    at most 1 + d, relative to σ, and a person by at most `clip` times that. What is computed from it is free.
    """
    data = LearningData.of(s)
    features = features_of(data.schema, columns)
    said = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
    ground = Ground.of(data, said, clip, complete(data.schema, [each.name for each in features]))
    task = MomentsTask(ground, features)
    request = task.request()
    with passes(request, key) as made:
        return task.learn(made).promised(request.promise)


@final
class MomentsTask(Task):
    """One pass: all products of the columns."""

    def __init__(self, ground: Ground, features: tuple[Feature, ...]) -> None:
        self.ground, self.features = ground, features
        self.shares = {"products": Fraction(1)}
        self.columns = [column for feature in features for column in feature.design()]

    def known(self) -> list[VectorSum]:
        values = [one(), *(value(each.expression, each.low) for each in self.columns)]
        return [
            vector_sum(
                self.ground.relation, values, gram(len(values)), self.ground.rows, longest=1 + len(self.features)
            )
        ]

    def names(self) -> dict[str, Any]:
        return {"features": [each.to_json() for each in self.features]}

    def words(self) -> str:
        return f"the moments of {', '.join(each.name for each in self.features)}"

    def learn(self, passes: Passes) -> Moments:
        (asked,) = self.known()
        made = passes.add_up("products", asked, self.shares["products"])
        return Moments(self.features, made.matrix(), made.deviation(0))


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """Released products of (1, z₁, …), where z are the columns between -1 and 1, or 0 and 1 for categories.

    `scaled` is their matrix; `noise` the deviation of its noise on the diagonal, √2 times less beside it.
    """

    features: tuple[Feature, ...]
    scaled: Reals
    noise: float
    guarantee: Guarantee | None = None

    def promised(self, guarantee: Guarantee) -> Moments:
        """The same with what it promises."""
        return Moments(self.features, self.scaled, self.noise, guarantee)

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

    def _affine(self) -> Reals:
        """What makes (1, x₁, …) of (1, z₁, …)."""
        found = np.eye(len(self.scaled))
        place = 1
        for feature in self.features:
            for _ in feature.design():
                if isinstance(feature, ScaledNumber):
                    low, high = float(feature.low), float(feature.high)
                    found[place, place], found[place, 0] = (high - low) / 2, (high + low) / 2
                place += 1
        return found

    def place(self, name: str) -> int:
        """Where a column is in the matrices."""
        if name not in self.names:
            raise InvalidParameter("target", name, "is not among the columns", hint=f"columns: {', '.join(self.names)}")
        return self.names.index(name) + 1
