"""Linear models: released coefficients, predictions for public rows, and intervals where they were paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.learn.coefficient_intervals import Evidence
from giveortake.learn.features import Feature, ScaledNumber, feature_from_json, public_columns
from giveortake.learn.model import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """A number that is predicted by a weighted sum of columns.

    `weights` are in the target's own units: the intercept, then one for each design column between -1 and 1, or of 0
    and 1 for a category. `intercept` and `coefficients` are the same for the columns in their own units. Predictions
    are clamped to the target's declared bounds. `followed` is how many directions of the columns the noise
    left to be followed, of how many; where it is none the model expects about the mean of everything.
    """

    target: str
    bounds: tuple[float, float]
    features: tuple[Feature, ...]
    weights: Reals
    followed: tuple[int, int]
    evidence: Evidence | None = None

    @property
    def names(self) -> list[str]:
        """The design columns: numbers, and one for each category but the first."""
        return [column.name for feature in self.features for column in feature.design()]

    @property
    def coefficients(self) -> Reals:
        """How much more is expected with 1 more of each column, or with a category instead of the first."""
        return np.asarray(self.weights[1:] / affine(self.features)[1])

    @property
    def intercept(self) -> float:
        """The prediction where all columns are 0, and every category is the first."""
        centres, halves = affine(self.features)
        return float(self.weights[0] - (self.weights[1:] * centres / halves).sum())

    def predict(self, rows: Any) -> Reals:
        """Predictions for public rows."""
        found = public_columns(rows, [feature.name for feature in self.features])
        encoded = np.hstack([feature.encode(found[feature.name]) for feature in self.features])
        return np.asarray(np.clip(self.weights[0] + encoded @ self.weights[1:], *self.bounds))

    def __repr__(self) -> str:
        named = zip(self.names, self.coefficients.tolist(), strict=True)
        terms = "".join(f" {'−' if each < 0 else '+'} {abs(each):.4g}·{name}" for name, each in named)
        return f"{self.target} ≈ {self.intercept:.4g}{terms}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "bounds": list(self.bounds),
            "features": [each.to_json() for each in self.features],
            "weights": self.weights.tolist(),
            "followed": list(self.followed),
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LinearModel:
        said = content["evidence"]
        return cls(
            content["target"],
            (content["bounds"][0], content["bounds"][1]),
            tuple(feature_from_json(each) for each in content["features"]),
            np.asarray(content["weights"], dtype=np.float64),
            (content["followed"][0], content["followed"][1]),
            None if said is None else Evidence.from_dict(said),
        )


def affine(features: Sequence[Feature]) -> tuple[Reals, Reals]:
    """For each design column z of some features, the centre and half the width of x = centre + half·z."""
    pairs = [
        (float(each.low + each.high) / 2, float(each.high - each.low) / 2)
        if isinstance(each, ScaledNumber)
        else (0.0, 1.0)
        for each in features
        for _ in each.design()
    ]
    found = np.array(pairs, dtype=np.float64).reshape(len(pairs), 2)
    return found[:, 0], found[:, 1]
