"""Learners without a target: clusters and principal components."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from giveortake import codec
from giveortake.codec import stored
from giveortake.engines import Component, KeyColumn
from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.learn.base import Learner, Model
from giveortake.learn.features import (
    Feature,
    Reals,
    ScaledNumber,
    complete_and_declared,
    encoded,
    features_of,
    standardisation_of,
    standardisation_sum,
    weighted,
)
from giveortake.learn.moments import MomentsPlan, PrincipalComponents
from giveortake.learn.noisy_sums import FitContext, FitPlan, in_grains, one, steps_for, value, vector_sum
from giveortake.plan import Call, ColumnReference, Derive, Literal
from giveortake.session.kinds.learning_data import LearningData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.learn.features import Standardisation
    from giveortake.learn.noisy_sums import NoisySums
    from giveortake.plan import Expression, Relation
    from giveortake.session.kinds.learning_data import LearningData


@dataclass(eq=False, repr=False)
class _Unsupervised(Learner):
    """The base of learners without a target."""

    _: KW_ONLY
    target: str | None = None
    features: Sequence[str] | None = None

    def _planned(self, data: LearningData, spend: Spend) -> tuple[FitContext, tuple[Feature, ...]]:
        """The complete rows, and the features; a target is refused."""
        if self.target is not None:
            raise InvalidParameter("target", self.target, "has no effect here", hint="features=[…] names columns")
        features = features_of(data.schema, self.features)
        condition = complete_and_declared(data.schema, features)
        return FitContext.from_parameters(data, spend, self.clip, condition), features

    @abstractmethod
    def transform(self, rows: Any) -> Reals:
        """Public rows in other columns: distances from centres, or components."""

    def fit_transform(self, rows: Any, y: Any = None) -> Reals:
        """Fit to rows that you hold yourself, and transform them."""
        return self.fit(rows, y).transform(rows)


STEPS = 5
MOST_CLUSTERS = 50
_SPREAD = 1.5  # deviations from the mean between which centres start
_SEEN = 3.0  # deviations of the noise that a cluster's number of rows has to exceed


@final
class KMeansPlan(FitPlan):
    """The fit of clusters: find where to start, and take a few of Lloyd's steps, with noise in each.

    Guarantee: one sum of vectors for means and deviations, from which centres start, and one in each step, each μ-GDP
    for its part of μ², so that together they are μ-GDP, however the later ones depend on the earlier [DRS22]. A row
    adds 1 and its columns, each between -1 and 1, in the cells of the cluster whose centre is nearest: for d features
    its vector has length √(1 + d) at most. A person's vectors are added up, and cut once, at `clip` times that. Where
    centres start comes from what was released.
    """

    stored_name: ClassVar[str] = "KMeansTask"

    def __init__(self, context: FitContext, features: tuple[Feature, ...], clusters: int) -> None:
        self.context, self.features, self.clusters = context, features, clusters
        self.columns = [column for feature in features for column in feature.design()]
        steps = {f"clusters {step + 1}": Fraction(9, 10) / STEPS for step in range(STEPS)}
        self.shares = {"standardisation": Fraction(1, 10), **steps}

    def known(self) -> list[VectorSum]:
        thirds = np.full((self.clusters, len(self.columns)), 1 / 3)
        return [standardisation_sum(self.context, self.features)] + [self.members(thirds)] * STEPS

    def names(self) -> dict[str, Any]:
        return {
            "features": [codec.write(feature) for feature in self.features],
            "clusters": self.clusters,
            "steps": STEPS,
        }

    def words(self) -> str:
        return f"{self.clusters} clusters by {', '.join(feature.name for feature in self.features)}"

    def members(self, centres: Reals) -> VectorSum:
        """The number of rows nearest to each centre, and the sums of their columns."""
        longest = math.sqrt(1 + len(self.features))
        steps = steps_for(longest, self.context.rows, factors=1)
        values = [one(steps=steps), *(value(column.expression, column.low, steps=steps) for column in self.columns)]
        components = [Component((index,), (0,)) for index in range(len(values))]
        rows, nearest = self._nearest(centres)
        keys = [KeyColumn("cluster", nearest, tuple(range(self.clusters)))]
        return vector_sum(rows, values, components, self.context.rows, keys=keys, longest=longest)

    def _nearest(self, centres: Reals) -> tuple[Relation, Expression]:
        """Rows with a score x·c − ‖c‖²/2 for each centre c, and the index of the greatest score."""
        carried = [(feature.name, ColumnReference(feature.name)) for feature in self.features]
        stem = "near"
        while any(name.startswith(stem) for name in self.context.relation.schema):
            stem += "_"
        scores = [
            (f"{stem} {index}", weighted(self.features, np.concatenate([[-float(centre @ centre) / 2], centre])))
            for index, centre in enumerate(centres)
        ]
        rows = Derive(self.context.relation, (*carried, *scores))
        score_columns = [ColumnReference(name) for name, _ in scores]
        most = score_columns[0] if len(score_columns) == 1 else Call("greatest", tuple(score_columns))
        rows = Derive(rows, (*carried, *((score.name, score) for score in score_columns), (stem, most)))
        branches = [
            part
            for index, score in enumerate(score_columns)
            for part in (Call("eq", (score, ColumnReference(stem))), Literal(index))
        ]
        return rows, Call("case", (*branches, Literal(0)))

    def learn(self, noisy_sums: NoisySums) -> ClusterModel:
        name, share = next(iter(self.shares.items()))
        standardisation = standardisation_of(
            noisy_sums.add_up(name, standardisation_sum(self.context, self.features), share), self.columns
        )
        low = np.array([column.low for column in self.columns], dtype=float)
        moved, centres = 0, np.zeros((0, len(self.columns)))
        for moved in range(self.clusters):
            centres = np.vstack([centres, _start(standardisation, moved)])
        centres, counts = in_grains(np.clip(centres, low, 1)), np.zeros(self.clusters)
        for name, share in list(self.shares.items())[1:]:
            member_sums = noisy_sums.add_up(name, self.members(centres), share)
            counts = member_sums.cells(0)
            sums = np.array([member_sums.cells(index) for index in range(1, 1 + len(self.columns))]).T
            seen = counts > _SEEN * member_sums.deviation()
            centres = centres.copy()
            centres[seen] = sums[seen] / counts[seen, None]
            largest = centres[int(np.argmax(counts))].copy()
            for cluster in np.flatnonzero(~seen).tolist() if name != list(self.shares)[-1] else ():
                moved += 1  # a centre without rows is moved near the one that has most
                centres[cluster] = largest + (_start(standardisation, moved) - standardisation.mean) / 2
            centres = in_grains(np.clip(centres, low, 1))
        return ClusterModel(self.features, centres, np.maximum(counts, 0))


def _start(standardisation: Standardisation, index: int) -> Reals:
    """The index-th of a fixed sequence of points that lie evenly around the mean."""
    count = len(standardisation.mean)
    root = 2.0
    for _ in range(40):
        root = (1 + root) ** (1 / (count + 1))
    even = (0.5 + (index + 1) * root ** -np.arange(1, count + 1)) % 1
    return np.asarray(standardisation.mean + _SPREAD * standardisation.deviation * (2 * even - 1))


@final
@stored("clusters")
@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel(Model):
    """Centres in columns between -1 and 1 (0 and 1 for categories), and about how many rows are nearest to each."""

    features: tuple[Feature, ...]
    centres: Reals
    counts: Reals

    def distances(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """How far public rows are from each centre."""
        rows = encoded(columns, self.features)
        squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ self.centres.T + (self.centres**2).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squares, 0)))

    def own_units(self) -> Reals:
        """Centres in the columns' own units."""
        centres, column_index = self.centres.copy(), 0
        for feature in self.features:
            if isinstance(feature, ScaledNumber):
                low, high = float(feature.low), float(feature.high)
                centres[:, column_index] = (centres[:, column_index] + 1) / 2 * (high - low) + low
            column_index += len(feature.design())
        return centres


@stored("KMeans")
@dataclass(eq=False, repr=False)
class KMeans(_Unsupervised):
    """Clusters of rows by declared columns, each scaled to -1 … 1 by its bounds. There is no target.

    `n_clusters` is how many are looked for; a centre that no row is near has a count of about zero.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> model = gt.learn.KMeans(features=["age", "weight"], n_clusters=2, epsilon=1, delta="1e-7").fit(s)
    >>> model.cluster_centers_.shape
    (2, 2)
    """

    model_class: ClassVar[type[Model]] = ClusterModel
    kind: ClassVar[str] = "clusterer"

    _: KW_ONLY
    n_clusters: int = 5
    n: int | None = None

    def _plan(self, data: LearningData, spend: Spend) -> KMeansPlan:
        context, features = self._planned(data, spend)
        if not 1 <= whole("n_clusters", self.n_clusters) <= MOST_CLUSTERS:
            raise InvalidParameter("n_clusters", self.n_clusters, f"is not a number up to {MOST_CLUSTERS}")
        return KMeansPlan(context, features, self.n_clusters)

    def predict(self, rows: Any) -> npt.NDArray[np.int64]:
        """The index of the nearest centre of each public row."""
        return np.asarray(self.transform(rows).argmin(axis=1))

    def transform(self, rows: Any) -> Reals:
        """How far public rows are from each centre, in columns between -1 and 1."""
        model: ClusterModel = self._require_fitted()
        return model.distances(self._public(rows, [feature.name for feature in model.features]))

    def fit_predict(self, rows: Any, y: Any = None) -> npt.NDArray[np.int64]:
        """Fit to rows that you hold yourself, and say which centre each is nearest to."""
        return self.fit(rows, y).predict(rows)

    def score(self, rows: Any, y: Any = None) -> float:
        """Minus the sum of squared distances of public rows from their centres."""
        return -float((self.transform(rows).min(axis=1) ** 2).sum())

    @property
    def cluster_centers_(self) -> Reals:
        """The centres, in the columns' own units."""
        model: ClusterModel = self._require_fitted()
        return model.own_units()

    @property
    def labels_(self) -> None:
        """Never told: these are the clusters of protected rows."""
        raise AttributeError("labels_ would tell of every row; predict(rows) labels public rows")

    @property
    def inertia_(self) -> None:
        """Not released."""
        raise AttributeError("inertia_ was not released; -score(rows) is that of public rows")

    def _described(self) -> tuple[tuple[str, str], ...]:
        rows = ", ".join(f"{count:,.0f}" for count in self.model_.counts)
        by_row = self.provenance_.guarantee.unit.column is None
        clipped = "" if by_row else "; counted with the clip, so too low where people have many rows"
        return (("rows near each centre", f"about {rows}{clipped}"),)


@final
class ComponentsPlan(FitPlan):
    """The moments of some columns, and the components of them."""

    stored_name: ClassVar[str] = "ComponentsTask"

    def __init__(self, moments: MomentsPlan, k: int) -> None:
        self.context, self.shares = moments.context, moments.shares
        self._moments, self._k = moments, k

    def known(self) -> list[VectorSum]:
        return self._moments.known()

    def names(self) -> dict[str, Any]:
        return self._moments.names()  # what is measured does not depend on how many are wanted

    def words(self) -> str:
        return f"principal components of {', '.join(feature.name for feature in self._moments.features)}"

    def learn(self, noisy_sums: NoisySums) -> PrincipalComponents:
        return self._moments.learn(noisy_sums).pca(self._k)


@final
@stored("PCA")
@dataclass(eq=False, repr=False)
class PCA(_Unsupervised):
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

    model_class: ClassVar[type[Model]] = PrincipalComponents
    kind: ClassVar[str] = "transformer"

    _: KW_ONLY
    n_components: int = 2

    def _plan(self, data: LearningData, spend: Spend) -> ComponentsPlan:
        plan = MomentsPlan(*self._planned(data, spend))
        if whole("n_components", self.n_components) > len(plan.columns):
            raise InvalidParameter("n_components", self.n_components, f"is more than the {len(plan.columns)} columns")
        return ComponentsPlan(plan, self.n_components)

    def transform(self, rows: Any) -> Reals:
        """Public rows in the directions that were found."""
        model: PrincipalComponents = self._require_fitted()
        return model.transform(self._checked_rows(rows))

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
