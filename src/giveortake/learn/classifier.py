"""The interface of classifiers: declared classes, and predictions of a fitted model for public rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.learn.estimator import Learner
from giveortake.learn.features import (
    Category,
    Feature,
    classes_of,
    complete,
    complete_and_declared,
    feature_from_json,
    features_of,
    is_declared,
    joined,
)
from giveortake.learn.model import Model
from giveortake.learn.task import Ground

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.privacy import Guarantee
    from giveortake.session.vector_run import LearningData

    Reals: TypeAlias = npt.NDArray[np.float64]


class ClassModel(Model):
    """A model of released numbers that gives public rows a probability of each declared class."""

    features: tuple[Feature, ...]
    target: Category

    @abstractmethod
    def scores(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """For each row and class, a number whose exponential is proportional to the probability of the class."""

    def described(self) -> dict[str, Any]:
        """Features and classes: the part of `to_dict` that all models have."""
        return {"features": [each.to_json() for each in self.features], "target": self.target.to_json()}


def features_and_classes(content: dict[str, Any]) -> tuple[tuple[Feature, ...], Category]:
    """Read the features and classes that `described` wrote."""
    target = feature_from_json(content["target"])
    assert isinstance(target, Category)  # noqa: S101 (so it was written)
    return tuple(feature_from_json(each) for each in content["features"]), target


class Classifier(Learner):
    """A model of declared classes. Parameters are those of every learner.

    `target` names the column of classes and `features` those that predict it, all declared ones if none are named.
    `epsilon` and `delta`, or `rho`, or `mu`, is what one fit may cost. `clip` is how many rows' worth of one person
    count. `n` is a public number of rows, if one is known: then a fit that would be noise is refused before it is paid.
    `domains` and `budget` are for rows that you hold yourself, as scikit-learn hands them over.
    """

    kind: ClassVar[str] = "classifier"

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
        domains: Mapping[str, Any] | None = None,
        budget: Guarantee | None = None,
    ) -> None:
        self.target, self.features = target, features
        self.epsilon, self.delta, self.rho, self.mu = epsilon, delta, rho, mu
        self.clip, self.n = clip, n
        self.domains, self.budget = domains, budget

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The declared classes, in their declared order; of truth values False comes first."""
        return _alike(self._require_fitted().target.values)

    def predict_proba(self, rows: Any) -> Reals:
        """The probability of each declared class, for public rows."""
        scores = self._scores(rows)
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))

    def predict_log_proba(self, rows: Any) -> Reals:
        """The logarithms of these probabilities."""
        return np.asarray(np.log(self.predict_proba(rows)))

    def decision_function(self, rows: Any) -> Reals:
        """For two classes the log-odds of the second; for more, a column of scores for each."""
        scores = self._scores(rows)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict(self, rows: Any) -> npt.NDArray[Any]:
        """The most probable class of each public row.

        A number beyond its declared bounds counts as the nearer bound. A missing number and a category that is not
        declared are refused. A missing category adds nothing, and is refused where categories are measured from the
        first one.
        """
        return np.asarray(self.classes_[self._scores(rows).argmax(axis=1)])

    def score(self, rows: Any, y: Any) -> float:
        """The share of public rows whose class is predicted correctly."""
        return float(np.mean(self.predict(rows) == np.asarray(y)))

    def _classes(self, what: str) -> tuple[str, str]:
        """A fact for the card: the two classes, and which of them the model's numbers favour."""
        target = self.model_.target
        first, second = target.values
        return "classes", f"{first} and {second}; {what} make {target.name} = {second} more likely"

    def _scores(self, rows: Any) -> Reals:
        model: ClassModel = self._require_fitted()
        return model.scores(self._public(rows, [each.name for each in model.features]))


def _alike(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Classes as an array of their own type if they share one, else of objects."""
    kinds = {type(each) for each in values}
    return np.array(values) if len(kinds) == 1 and kinds <= {int, bool, str} else np.array(values, dtype=object)


def required_target(target: str | None) -> str:
    """Check that a target is named, and return it."""
    if target is None:
        raise InvalidParameter("target", None, "is missing: name the column to predict", hint='target="…"')
    return target


def planned(
    learner: Classifier, data: LearningData, *, most: int | None = None, declared: bool = False
) -> tuple[Ground, tuple[Feature, ...], Category]:
    """What a classifier learns from: rows of a declared class without missing numbers, features and classes.

    With `declared`, categories of features have to be declared ones, too.
    """
    target = required_target(learner.target)
    features = features_of(data.schema, learner.features, target)
    classes = classes_of(data.schema, target)
    if most is not None and len(classes.values) > most:
        raise InvalidParameter(
            "target",
            target,
            f"has {len(classes.values)} declared classes, and {type(learner).__name__} can separate only {most}",
            hint='gt.learn.NaiveBayes takes more; or derive one class against the rest: gt.col("…") == "…"',
        )
    said = {name: getattr(learner, name) for name in ("epsilon", "delta", "rho", "mu")}
    names = [each.name for each in features]
    there_are = complete_and_declared(data.schema, features) if declared else complete(data.schema, names)
    parts = (there_are, is_declared(classes, data.schema))
    there = [each for each in parts if each is not None]
    ground = Ground.of(data, said, learner.clip, joined("and", there) if there else None)
    return ground, features, classes
