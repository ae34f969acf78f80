"""Principal components of released moments: directions in which columns spread, and how far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.learn.features import Feature, feature_from_json, public_columns
from giveortake.learn.model import Model

if TYPE_CHECKING:
    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False, repr=False)
class PrincipalComponents(Model):
    """The directions of columns between -1 and 1, in rows, that spread most, and the variance in each.

    `edge` is the variance that noise alone would show in the first of them: a direction with less may be noise.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> found = gt.learn.moments(s, ["age", "weight"], epsilon=1, delta="1e-7").pca()
    >>> isinstance(found, gt.learn.PrincipalComponents), found.components.shape
    (True, (2, 2))
    """

    features: tuple[Feature, ...]
    mean: Reals
    components: Reals
    variances: Reals
    total: float
    edge: float

    @classmethod
    def of(cls, features: tuple[Feature, ...], scaled: Reals, noise: float, k: int) -> PrincipalComponents:
        """Compute components from released products of (1, z₁, …), with the deviation of their noise."""
        wanted = whole("k", k)
        if wanted >= len(scaled):
            raise InvalidParameter("k", k, f"is more than there are columns, {len(scaled) - 1}")
        n = max(float(scaled[0, 0]), noise, 1.0)
        mean = np.clip(scaled[0, 1:] / n, -1, 1)
        sizes, directions = np.linalg.eigh(scaled[1:, 1:] / n - np.outer(mean, mean))
        found = directions[:, ::-1][:, :wanted].T
        found = found * np.where(found[np.arange(wanted), np.abs(found).argmax(axis=1)] < 0, -1, 1)[:, None]
        total = max(float(sizes.sum()), 1e-12)
        edge = noise * math.sqrt(2 * len(mean)) / n
        return cls(features, mean, found, np.maximum(sizes[::-1][:wanted], 0), total, edge)

    @property
    def names(self) -> list[str]:
        """The columns: numbers, and one for each category but the first."""
        return [column.name for feature in self.features for column in feature.design()]

    @property
    def ratio(self) -> Reals:
        """The part of all variance in each direction."""
        return np.asarray(np.clip(self.variances / self.total, 0, 1))

    def transform(self, rows: Any) -> Reals:
        """Public rows in these directions, less the mean."""
        found = public_columns(rows, [feature.name for feature in self.features])
        encoded = np.hstack([feature.encode(found[feature.name]) for feature in self.features])
        return np.asarray((encoded - self.mean) @ self.components.T)

    def __repr__(self) -> str:
        lines = [
            f"  {share:6.1%}{' ' if variance > self.edge else '?'} {_mix(self.names, direction)}"
            for share, variance, direction in zip(self.ratio, self.variances, self.components, strict=True)
        ]
        doubt = ["  ? may be noise"] if (self.variances <= self.edge).any() else []
        return "\n".join(["principal components, with their part of the variance", *lines, *doubt])

    def to_dict(self) -> dict[str, Any]:
        return {
            "features": [each.to_json() for each in self.features],
            "mean": self.mean.tolist(),
            "components": self.components.tolist(),
            "variances": self.variances.tolist(),
            "total": self.total,
            "edge": self.edge,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> PrincipalComponents:
        return cls(
            tuple(feature_from_json(each) for each in content["features"]),
            np.asarray(content["mean"], dtype=np.float64),
            np.asarray(content["components"], dtype=np.float64),
            np.asarray(content["variances"], dtype=np.float64),
            content["total"],
            content["edge"],
        )


def _mix(names: list[str], direction: Reals) -> str:
    """The columns with the largest weights in a direction, as text."""
    order = np.argsort(-np.abs(direction))[:4]
    said = " ".join(f"{'−' if direction[each] < 0 else '+'} {abs(direction[each]):.2f}·{names[each]}" for each in order)
    return said + (" …" if len(direction) > 4 else "")
