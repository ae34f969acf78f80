"""Linear models of one score, as descents make them, and their predictions for public rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.learn.card import Card
from giveortake.learn.features import Category, Feature, feature_from_json, public_columns
from giveortake.learn.model import Provenance, read, written
from giveortake.learn.scores import STEEPEST

if TYPE_CHECKING:
    from typing import Self

    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Coefficients of (1, z), where z are columns between -1 and 1; a score is their sum of products."""

    features: tuple[Feature, ...]
    target: Feature
    coefficients: Reals
    provenance: Provenance

    learner: ClassVar[str]

    def decision_function(self, rows: Any) -> Reals:
        """θ·(1, z) of public rows."""
        found = public_columns(rows, [each.name for each in self.features])
        encoded = np.hstack([each.encode(found[each.name]) for each in self.features])
        return np.asarray(self.coefficients[0] + encoded @ self.coefficients[1:])

    def predict_proba(self, rows: Any) -> Reals:
        """The probabilities of both classes."""
        if not isinstance(self.target, Category):
            raise InvalidParameter("loss", "squared", "gives numbers, not probabilities", hint="predict(rows)")
        chance = 1 / (1 + np.exp(-np.clip(self.decision_function(rows), -STEEPEST, STEEPEST)))
        return np.column_stack([1 - chance, chance])

    def predict(self, rows: Any) -> npt.NDArray[Any]:
        """The more probable class, or the number."""
        found = self.decision_function(rows)
        if isinstance(self.target, Category):
            return np.asarray(np.array(self.target.values, dtype=object)[(found > 0).astype(int)])
        low, high = float(self.target.low), float(self.target.high)
        return np.asarray((np.clip(found, -1, 1) + 1) / 2 * (high - low) + low)

    def card(self) -> Card:
        """How the model came to be."""
        return Card(self.provenance)

    def to_json(self) -> str:
        """The model as JSON; `from_json` reads it."""
        content = {
            "features": [each.to_json() for each in self.features],
            "target": self.target.to_json(),
            "coefficients": self.coefficients.tolist(),
        }
        return written(self.learner, {}, content, self.provenance)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the model that `to_json` wrote."""
        content = read(text, cls.learner)
        model = content["model"]
        features = tuple(feature_from_json(each) for each in model["features"])
        target = feature_from_json(model["target"])
        coefficients = np.asarray(model["coefficients"], dtype=np.float64)
        return cls(features, target, coefficients, Provenance.from_dict(content["provenance"]))
