"""Means and deviations of columns by one release, so that later sums are of numbers of about the same size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.engines import Component
from giveortake.learn.lattice import GRAIN, one, value, vector_sum
from giveortake.plan import Call, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.learn.features import DesignColumn, Feature
    from giveortake.learn.passes import Released
    from giveortake.learn.task import Ground
    from giveortake.plan import Expression

    Reals: TypeAlias = npt.NDArray[np.float64]

FEWEST = 10.0  # a released number of rows counts as at least this
FARTHEST = 16  # deviations from the mean; numbers farther away are moved there


@final
@dataclass(frozen=True, slots=True, eq=False)
class Standardisation:
    """About how many rows there are, and the mean and deviation of each column; all of it was released."""

    n: float
    mean: Reals
    deviation: Reals

    def expressions(self, columns: Sequence[Expression]) -> list[Expression]:
        """(x − mean)/deviation of each column, as the engine computes it."""
        pairs = zip(columns, self.mean.tolist(), self.deviation.tolist(), strict=True)
        return [
            Call("multiply", (Call("subtract", (each, Literal(Fraction(mean)))), Literal(Fraction(1 / deviation))))
            for each, mean, deviation in pairs
        ]

    def apply(self, columns: Reals) -> Reals:
        """(x − mean)/deviation of public rows, within ±FARTHEST."""
        return np.asarray(np.clip((columns - self.mean) / self.deviation, -FARTHEST, FARTHEST))

    def to_dict(self) -> dict[str, Any]:
        """All fields as lists and numbers."""
        return {"n": self.n, "mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Standardisation:
        """Read what `to_dict` wrote."""
        return cls(content["n"], np.asarray(content["mean"], float), np.asarray(content["deviation"], float))


def standardisation_sum(ground: Ground, features: Sequence[Feature]) -> VectorSum:
    """The sum of (1, x, x²) over rows, for all design columns x of some features.

    Guarantee: a number lies between -1 and 1, and of the columns of one category one at most is 1. So a row's vector
    has length √(1 + 2d) at most for d features. The number of rows is one of the products: all have the same lattice.
    """
    columns = [column for each in features for column in each.design()]
    values = [one(), *(value(each.expression, each.low) for each in columns)]
    places = range(1, len(values))
    components = [Component((0, 0)), *(Component((0, j)) for j in places), *(Component((j, j)) for j in places)]
    return vector_sum(ground.relation, values, components, ground.rows, longest=math.sqrt(1 + 2 * len(features)))


def standardisation_of(released: Released, columns: Sequence[DesignColumn]) -> Standardisation:
    """Means and deviations of released sums; a deviation that is mostly noise is taken to be larger than it seems.

    Numbers are rounded to 20 binary digits after the point, so that engines and public rows are given the same.
    """
    count = len(columns)
    sums = np.array([released.cells(place)[0] for place in range(1 + 2 * count)])
    n = max(float(sums[0]), FEWEST)
    lows = np.array([each.low for each in columns], dtype=float)
    mean = np.clip(sums[1 : 1 + count] / n, lows, 1)
    square = np.clip(sums[1 + count :] / n, 0, 1)
    doubt = min(max(0.02, 2 * released.deviation() / n), 1.0)  # of a mean, by the noise
    least = max(doubt, min(1.0, math.sqrt(doubt) / 4))
    deviation = np.maximum(np.sqrt(np.maximum(square - mean**2, 0)), least)
    return Standardisation(n, _short(mean), _short(deviation))


def _short(numbers: Reals) -> Reals:
    return np.asarray(np.round(numbers * GRAIN) / GRAIN)
