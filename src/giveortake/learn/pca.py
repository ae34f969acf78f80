"""Principal components as a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.learn.estimator import Learner
from giveortake.learn.features import complete_and_declared, features_of
from giveortake.learn.moments import MomentsTask
from giveortake.learn.principal_components import PrincipalComponents
from giveortake.learn.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.model import Model
    from giveortake.learn.passes import Passes
    from giveortake.session.vector_run import LearningData

    Reals: TypeAlias = npt.NDArray[np.float64]


@final
class ComponentsTask(Task):
    """The moments of some columns, and the components of them."""

    stored_name: ClassVar[str] = "ComponentsTask"

    def __init__(self, moments: MomentsTask, k: int) -> None:
        self.ground, self.shares = moments.ground, moments.shares
        self._moments, self._k = moments, k

    def known(self) -> list[VectorSum]:
        return self._moments.known()

    def names(self) -> dict[str, Any]:
        return self._moments.names()  # what is measured does not depend on how many are wanted

    def words(self) -> str:
        return f"principal components of {', '.join(each.name for each in self._moments.features)}"

    def learn(self, passes: Passes) -> PrincipalComponents:
        return self._moments.learn(passes).pca(self._k)


@final
class PCA(Learner):
    """The directions in which declared columns, between -1 and 1, spread most, from one release of their moments.

    Guarantee: that of `moments`, one charge of μ-GDP. A direction with less variance than noise alone would show is
    marked so. Asking for more of them later is free.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> model = gt.learn.PCA(features=["age", "weight"], n_components=1, epsilon=1, delta="1e-7").fit(s)
    >>> model.components_.shape
    (1, 2)
    """

    stored_name: ClassVar[str] = "PCA"
    made: ClassVar[type[Model]] = PrincipalComponents
    written: ClassVar[str | None] = 'gt.learn.PCA(features=["age", "weight"], n_components=2)'
    kind: ClassVar[str] = "transformer"
    model_: PrincipalComponents

    def __init__(
        self,
        *,
        target: None = None,
        features: Sequence[str] | None = None,
        n_components: int = 2,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        clip: int | None = None,
        domains: Any = None,
        budget: Any = None,
    ) -> None:
        self.target, self.features, self.n_components = target, features, n_components
        self.epsilon, self.delta, self.rho, self.mu = epsilon, delta, rho, mu
        self.clip, self.domains, self.budget = clip, domains, budget

    def _task(self, data: LearningData) -> ComponentsTask:
        if self.target is not None:
            raise InvalidParameter("target", self.target, "has no effect here", hint="features=[…] names columns")
        features = features_of(data.schema, self.features)
        task = MomentsTask(self._ground(data, complete_and_declared(data.schema, features)), features)
        if whole("n_components", self.n_components) > len(task.columns):
            raise InvalidParameter("n_components", self.n_components, f"is more than the {len(task.columns)} columns")
        return ComponentsTask(task, self.n_components)

    def transform(self, rows: Any) -> Reals:
        """Public rows in the directions that were found."""
        model: PrincipalComponents = self._require_fitted()
        return model.transform(self._alike(rows))

    def fit_transform(self, rows: Any, y: Any = None) -> Reals:
        """Fit to rows that you hold yourself, and put them in the directions that were found."""
        return self.fit(rows, y).transform(rows)

    @property
    def components_(self) -> Reals:
        """The directions, one in each row."""
        model: PrincipalComponents = self._require_fitted()
        return model.components

    @property
    def explained_variance_ratio_(self) -> Reals:
        """The part of all variance in each direction."""
        model: PrincipalComponents = self._require_fitted()
        return model.ratio

    @property
    def explained_variance_(self) -> Reals:
        """The variance in each direction, of columns between -1 and 1."""
        model: PrincipalComponents = self._require_fitted()
        return model.variances

    def _described(self) -> tuple[tuple[str, str], ...]:
        return tuple(("component", line.strip()) for line in repr(self.model_).splitlines()[1:])
