"""Fitted additive models: for each feature its shape, one released number for each bin, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.learn.bins import Binned, binned_from_json
from giveortake.learn.features import Category, Feature, ScaledNumber, feature_from_json
from giveortake.learn.model import Model
from giveortake.learn.scores import STEEPEST

if TYPE_CHECKING:
    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What each bin of a feature adds, less the mean over rows, and its deviation: by noise, sampling and shrinking."""

    bins: Binned
    effects: Reals
    deviations: Reals

    def of(self, values: npt.NDArray[Any]) -> Reals:
        """What public values add; a missing category adds nothing."""
        places = self.bins.places(values)
        return np.where(places < 0, 0.0, self.effects[np.maximum(places, 0)])


@final
@dataclass(frozen=True, slots=True, eq=False)
class AdditiveModel(Model):
    """A constant and a shape for each feature; they add up to log-odds of the second class, or to a scaled number."""

    target: Category | ScaledNumber
    constant: float
    shapes: tuple[Shape, ...]

    @property
    def features(self) -> tuple[Binned, ...]:
        """The features in their bins."""
        return tuple(each.bins for each in self.shapes)

    def totals(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """The sum of shapes, for each public row."""
        length = len(next(iter(columns.values())))
        return np.asarray(
            sum((each.of(columns[each.bins.name]) for each in self.shapes), np.full(length, self.constant))
        )

    def scores(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """Half the log-odds against and for the second class."""
        half = np.clip(self.totals(columns), -STEEPEST, STEEPEST) / 2
        return np.column_stack([-half, half])

    def numbers(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """The target's own numbers, within its bounds."""
        assert isinstance(self.target, ScaledNumber)  # noqa: S101 (asked of regressors)
        low, high = float(self.target.low), float(self.target.high)
        return np.asarray((np.clip(self.totals(columns), -1, 1) + 1) / 2 * (high - low) + low)

    @property
    def unit(self) -> float:
        """What 1 of a shape is worth: 1 in log-odds, else half the width of the target's bounds."""
        return 1.0 if isinstance(self.target, Category) else float(self.target.high - self.target.low) / 2

    def to_dict(self) -> dict[str, Any]:
        shapes = [[each.bins.to_json(), each.effects.tolist(), each.deviations.tolist()] for each in self.shapes]
        return {"target": self.target.to_json(), "constant": self.constant, "shapes": shapes}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> AdditiveModel:
        target: Feature = feature_from_json(content["target"])
        shapes = (
            Shape(binned_from_json(bins), np.asarray(effects, dtype=np.float64), np.asarray(doubts, dtype=np.float64))
            for bins, effects, doubts in content["shapes"]
        )
        return cls(target, content["constant"], tuple(shapes))
