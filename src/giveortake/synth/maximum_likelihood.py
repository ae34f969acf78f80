"""The distribution that fits noisy counts best, found by L-BFGS [LN89].

A model is fitted to released counts and to nothing else. They are made of noisy integers that a ledger has kept; no
exact count can be put in their place by accident, because `Sensitive` values have no arithmetic.

Of all distributions p of N rows it is the one that minimises

    Σ over measured marginals of |N·p_r − y_r|² / (2·σ_r²)  −  λ·N·H(p),

with entropy H, a penalty on whatever is not needed to explain the counts. At λ = 1 this is the most likely table where
every table is as likely as any other; less entropy (λ = 1/10 of what noise of the usual size is worth) shrinks less.
The minimum is an exponential family over the measured marginals, and is found in its dual, which is smooth and strongly
convex in θ:

    N·log Z(θ) − ⟨θ, y⟩ + Σ λσ_r²|θ_r|² / 2.

The variable of the search is θ_r·σ_r·√λ, in which the quadratic part is the same for every marginal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.errors import InvalidParameter, NotFound, extra
from giveortake.mechanisms import Sensitive
from giveortake.synth.junction_tree import JunctionTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.synth.junction_tree import Calibrated, Columns

    Floats: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Noisy counts of all combinations of some columns, with independent normal noise of deviation `sigma`.

    A `residual` has only the part that no single column and no total explains: constants and sums over all but one
    column are taken out of it, and of its noise.
    """

    columns: Columns
    counts: Floats
    sigma: float
    residual: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.counts, Sensitive):
            raise InvalidParameter("counts", "<sensitive>", "is not a noisy count", hint="release it first")
        if self.counts.ndim != len(self.columns) or not self.sigma > 0:
            raise InvalidParameter("counts", self.counts.shape, "does not go with its columns, or has no noise")


def without_low_orders(table: Floats) -> Floats:
    """A table without its constant part and without the parts that depend on one column alone.

    >>> import numpy as np
    >>> without_low_orders(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    mean = table.sum() / table.size
    residual: Floats = table - mean
    for axis, size in enumerate(table.shape):
        other_axes = tuple(other_axis for other_axis in range(table.ndim) if other_axis != axis)
        residual = residual - (table.sum(axis=other_axes, keepdims=True) / (table.size // size) - mean)
    return residual


def combined(measured: Iterable[Measured]) -> list[Measured]:
    """Merge what was measured of the same columns into one, weighted by how exact each is."""
    merged: dict[tuple[Columns, bool], Measured] = {}
    for measurement in measured:
        name = (measurement.columns, measurement.residual)
        earlier = merged.get(name)
        if earlier is not None:
            weights = earlier.sigma**-2, measurement.sigma**-2
            counts = (weights[0] * earlier.counts + weights[1] * measurement.counts) / sum(weights)
            merged[name] = Measured(measurement.columns, counts, sum(weights) ** -0.5, measurement.residual)
        else:
            merged[name] = measurement
    return list(merged.values())


def released_total(measured: Iterable[Measured]) -> float:
    """The number of rows by noisy counts, at least one; residuals say nothing about it."""
    whole = [measurement for measurement in measured if not measurement.residual]
    if not whole:
        raise InvalidParameter("measured", "residuals", "do not say how many rows there are")
    weights = [1 / (measurement.counts.size * measurement.sigma**2) for measurement in whole]
    weighted_total = sum(
        weight * float(measurement.counts.sum()) for weight, measurement in zip(weights, whole, strict=True)
    )
    return max(1.0, weighted_total / sum(weights))


def optimizer() -> Any:
    """scipy.optimize, which comes with the extra `[synth]` and is loaded by the first fit."""
    try:
        from scipy import optimize  # noqa: PLC0415 (heavy, and optional)
    except ImportError:
        raise NotFound("synthetic tables need scipy", hint=extra("synth")) from None
    return optimize


def product(one: Floats, other: Floats) -> float:
    """The inner product, in this thread: starting others for it would take longer."""
    return float(np.einsum("i,i", one, other))


ENTROPY = 0.1  # λ, times the median σ
CLOSE = 0.05  # deviations of its noise: how far measured counts may be from the minimum in the end
ROUGH = 0.03  # and between rounds, where more is measured anyway
STEPS, ROUGH_STEPS = 800, 25
_TRIALS = 24  # of lengths of a step, at most
_ROUGH_GAIN = 0.3  # of the objective, times λ: a step that gains less is not followed by another between rounds


@final
@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted distribution, as factors and as probabilities, and how far from the minimum it may be.

    `distance` is the greatest difference, in deviations of its noise, between a measured count and its value at the
    minimum; `converged` says that it is no more than was wanted.
    """

    factors: Mapping[Columns, Floats]
    calibrated: Calibrated
    total: float
    distance: float
    converged: bool
    steps: int

    @property
    def tree(self) -> JunctionTree:
        """The junction tree: which columns are modelled together."""
        return self.calibrated.tree

    def counts(self, columns: Columns) -> Floats:
        """The expected counts of any columns, in increasing order."""
        return self.calibrated.marginal(columns) * self.total


def fit(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    total: float,
    *,
    zeros: Mapping[Columns, Floats] | None = None,
    start: Mapping[Columns, Floats] | None = None,
    together: Sequence[Columns] = (),
    rough: bool = False,
) -> Fitted:
    """Fit the best distribution of `total` rows to what was measured: released values, and nothing else.

    `zeros` are factors of 0 and, for impossible cells, −∞. `start` are the factors of an earlier fit. `together` are
    further columns that are to lie in one clique. A `rough` fit stops sooner.
    """
    if not all(isinstance(measurement, Measured) for measurement in measured):
        raise InvalidParameter("measured", "values", "are not all noisy counts", hint="a model sees nothing else")
    parts, fixed = combined(measured), dict(zeros or {})
    tree = JunctionTree.from_groups(sizes, [*(measurement.columns for measurement in parts), *fixed, *together])
    entropy = ENTROPY / float(np.median([measurement.sigma for measurement in parts]))
    objective = _Objective(tree, parts, total, fixed, entropy)
    close, steps = (ROUGH, ROUGH_STEPS) if rough else (CLOSE, STEPS)
    last = math.inf

    def gains_enough(intermediate_result: Any) -> None:
        nonlocal last
        if rough and last - intermediate_result.fun < _ROUGH_GAIN * entropy:
            raise StopIteration
        last = intermediate_result.fun

    optimum = optimizer().minimize(
        objective,
        objective.beginning(start or {}),
        jac=True,
        method="L-BFGS-B",
        callback=gains_enough,
        options={"gtol": close / entropy**0.5, "ftol": 0.0, "maxiter": steps, "maxfun": _TRIALS * steps},
    )
    factors = objective.factors(optimum.x)
    calibrated, _ = tree.calibrate(with_zeros(factors, fixed))
    distance = float(np.abs(optimum.jac).max(initial=0.0)) * entropy**0.5
    return Fitted(factors, calibrated, total, distance, distance <= close, optimum.nit)


def with_zeros(factors: Mapping[Columns, Floats], zeros: Mapping[Columns, Floats]) -> dict[Columns, Floats]:
    """Add the factors of impossible cells to those of a fit."""
    joined = dict(factors)
    for columns, factor in zeros.items():
        joined[columns] = joined[columns] + factor if columns in joined else factor
    return joined


@final
class _Objective:
    """The dual, its gradient, and the way from one vector to the factors of all marginals and back."""

    def __init__(
        self, tree: JunctionTree, parts: list[Measured], total: float, zeros: dict[Columns, Floats], entropy: float
    ) -> None:
        self._tree, self._parts, self._total, self._zeros = tree, parts, total, zeros
        ends = np.cumsum([part.counts.size for part in parts])
        self._slices = [slice(int(end) - part.counts.size, int(end)) for end, part in zip(ends, parts, strict=True)]
        self._counts = np.concatenate([part.counts.ravel() for part in parts])
        self._scale = np.concatenate([np.full(part.counts.size, part.sigma) for part in parts]) * entropy**0.5

    def beginning(self, start: Mapping[Columns, Floats]) -> Floats:
        point: Floats = np.zeros(self._counts.size)
        taken = set()
        for part_slice, part in zip(self._slices, self._parts, strict=True):
            if part.columns in start and part.columns not in taken:
                taken.add(part.columns)
                factor = start[part.columns]
                point[part_slice] = (without_low_orders(factor) if part.residual else factor).ravel()
        point *= self._scale
        return point

    def factors(self, point: Floats) -> dict[Columns, Floats]:
        theta = point / self._scale
        factors: dict[Columns, Floats] = {}
        for part_slice, part in zip(self._slices, self._parts, strict=True):
            factor = theta[part_slice].reshape(part.counts.shape)
            factors[part.columns] = factors[part.columns] + factor if part.columns in factors else factor
        return factors

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        factors = self.factors(point)
        calibrated, logarithm = self._tree.calibrate(with_zeros(factors, self._zeros))
        if not np.isfinite(logarithm):
            return float("inf"), point
        expected = np.empty(self._counts.size)
        for part_slice, part in zip(self._slices, self._parts, strict=True):
            counts = calibrated.inside(part.columns) * self._total
            expected[part_slice] = (without_low_orders(counts) if part.residual else counts).ravel()
        theta = point / self._scale
        value = self._total * logarithm - product(theta, self._counts) + 0.5 * product(point, point)
        return value, (expected - self._counts) / self._scale + point
