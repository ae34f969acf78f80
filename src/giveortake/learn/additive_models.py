"""Additive classifiers and regressors: sums of one shape for each feature, which can be looked at."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from giveortake.arguments import TO_SAVE, told_by_name
from giveortake.errors import InvalidParameter
from giveortake.learn.additive import AdditiveTask
from giveortake.learn.bins import binned, is_stated
from giveortake.learn.classifier import Classifier, planned, required_target
from giveortake.learn.estimator import Learner, Regressor
from giveortake.learn.features import ScaledNumber, complete, feature_of, features_of
from giveortake.learn.shapes import AdditiveModel

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.learn.features import Category, Feature
    from giveortake.learn.model import Model
    from giveortake.learn.task import Ground
    from giveortake.privacy import Guarantee
    from giveortake.session.vector_run import LearningData

    Reals: TypeAlias = npt.NDArray[np.float64]

    Bins: TypeAlias = "int | Mapping[str, int | Sequence[Number]] | None"

_USUAL_BINS = 32  # fine ones, where no public number of rows is known


class _Additive(Learner):
    """The base of additive classifiers and regressors."""

    made: ClassVar[type[Model]] = AdditiveModel

    def __init__(
        self,
        target: str | None = None,
        features: Sequence[str] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        clip: int | None = None,
        n: int | None = None,
        bins: Bins = None,
        domains: Mapping[str, Any] | None = None,
        budget: Guarantee | None = None,
    ) -> None:
        self.target, self.features = target, features
        self.epsilon, self.delta, self.rho, self.mu = epsilon, delta, rho, mu
        self.clip, self.n, self.bins = clip, n, bins
        self.domains, self.budget = domains, budget

    def _additive(self, ground: Ground, features: tuple[Feature, ...], target: Category | ScaledNumber) -> AdditiveTask:
        usual = _USUAL_BINS if self.n is None else fine_bins(self.n / ground.rows, len(features), float(ground.mu))
        fine = tuple(binned(each, self.bins, usual) for each in features)
        stated = frozenset(each.name for each in features if is_stated(each, self.bins))
        return AdditiveTask(ground, fine, target, stated)

    def shapes(self) -> dict[str, list[tuple[str, float, float]]]:
        """For each feature, the name of each bin, what it adds, and one deviation of that."""
        model: AdditiveModel = self._require_fitted()
        return {
            each.bins.name: list(
                zip(
                    each.bins.labels(),
                    (each.effects * model.unit).tolist(),
                    (each.deviations * model.unit).tolist(),
                    strict=True,
                )
            )
            for each in model.shapes
        }

    @told_by_name(elsewhere=TO_SAVE)
    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """Each feature's shape with a band of two deviations, saved where a path is given; needs the extra `[plot]`."""
        from giveortake.plot import titled_or_saved  # noqa: PLC0415 (heavy)
        from giveortake.plot.shapes import shapes  # noqa: PLC0415 (heavy)

        return titled_or_saved(lambda words: shapes(self._drawn(), *self._axis(), title=words), title)

    def _drawn(self) -> list[tuple[str, list[tuple[Any, float, float]]]]:
        """For each feature, its bins as ends or as names, what each adds, and two deviations of that."""
        model: AdditiveModel = self._require_fitted()
        found = []
        for each in model.shapes:
            bins = each.bins
            ends: list[Any] = list(bins.ends()) if hasattr(bins, "ends") else bins.labels()
            effects, doubts = (each.effects * model.unit).tolist(), (2 * each.deviations * model.unit).tolist()
            found.append((bins.name, list(zip(ends, effects, doubts, strict=True))))
        return found

    def _axis(self) -> tuple[str, str]:
        raise NotImplementedError

    def _described(self) -> tuple[tuple[str, str], ...]:
        bins = ", ".join(f"{each.bins.name} {each.bins.size}" for each in self.model_.shapes)
        return (("bins", bins),)


class AdditiveClassifier(_Additive, Classifier):
    """Two declared classes, predicted by one shape per feature: what each bin adds to the second's log-odds.

    `bins` is how many fine bins each number is cut into before they are merged, or by name a number or a list of edges,
    which are taken as they are. The other parameters are those of every classifier.
    """

    stored_name: ClassVar[str] = "AdditiveClassifier"

    def _task(self, data: LearningData) -> AdditiveTask:
        return self._additive(*planned(self, data, most=2))

    def _described(self) -> tuple[tuple[str, str], ...]:
        return (self._classes("shapes above 0"), *super()._described())

    def _axis(self) -> tuple[str, str]:
        target = self.model_.target
        return "log-odds", f"Above 0: {target.name} = {target.values[1]} is more likely"


class AdditiveRegressor(_Additive, Regressor):
    """A bounded number, predicted by a sum of one shape per feature. Parameters are those of `AdditiveClassifier`.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> model = gt.learn.AdditiveRegressor("weight", ["age"], epsilon=1, delta="1e-7").fit(s)
    >>> young, old = model.predict(pl.DataFrame({"age": [20, 50]}))
    >>> bool(young < old)
    True
    """

    stored_name: ClassVar[str] = "AdditiveRegressor"

    def _task(self, data: LearningData) -> AdditiveTask:
        target = required_target(self.target)
        features = features_of(data.schema, self.features, target)
        wanted = feature_of(data.schema, target, "target")
        if not isinstance(wanted, ScaledNumber):
            raise InvalidParameter(
                "target", target, "is not a number with declared bounds", hint="AdditiveClassifier learns classes"
            )
        ground = self._ground(data, complete(data.schema, [target, *(each.name for each in features)]))
        return self._additive(ground, features, wanted)

    def predict(self, rows: Any) -> Reals:
        """The expected number of each public row, within the declared bounds."""
        model: AdditiveModel = self._require_fitted()
        return model.numbers(self._public(rows, [each.name for each in model.features]))

    def _axis(self) -> tuple[str, str]:
        return self.model_.target.name, f"What each feature adds to {self.model_.target.name}"


def fine_bins(rows: float, features: int, mu: float) -> int:
    """How many fine bins to take, 8 to 64: the noise is about a third of an even share of the public number of rows."""
    fits = max(rows * mu / (3 * math.sqrt(features)), 1.0)
    return 1 << min(max(math.floor(math.log2(fits)), 3), 6)
