"""The distribution that fits noisy counts best, with a penalty on whatever is not needed to explain them.

Of all distributions p of N rows it is the one that minimises

    Σ over measured marginals of |N·p_r − y_r|² / (2·σ_r²)  −  λ·N·H(p),

with entropy H. At λ = 1 this is the most likely table where every table is as likely as any other; less entropy
(λ = 1/10 of what noise of the usual size is worth) shrinks less. The minimum is an exponential family over the
measured marginals, and is found in its dual, which is smooth and strongly convex in θ:

    N·log Z(θ) − ⟨θ, y⟩ + Σ λσ_r²|θ_r|² / 2.

The variable of the search is θ_r·σ_r·√λ, in which the quadratic part is the same for every marginal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.synth.junction_tree import JunctionTree
from giveortake.synth.measured import Measured, combined, without_low_orders
from giveortake.synth.minimum import minimum, product

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.synth.junction_tree import Calibrated
    from giveortake.synth.triangulation import Columns

    Floats: TypeAlias = npt.NDArray[np.float64]

ENTROPY = 0.1  # λ, times the median σ
CLOSE = 0.05  # deviations of its noise: how far measured counts may be from the minimum in the end
ROUGH = 0.03  # and between rounds, where more is measured anyway
STEPS, ROUGH_STEPS = 800, 25
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
    if not all(isinstance(each, Measured) for each in measured):
        raise InvalidParameter("measured", "values", "are not all noisy counts", hint="a model sees nothing else")
    parts, fixed = combined(measured), dict(zeros or {})
    tree = JunctionTree.of(sizes, [*(each.columns for each in parts), *fixed, *together])
    entropy = ENTROPY / float(np.median([each.sigma for each in parts]))
    objective = _Objective(tree, parts, total, fixed, entropy)
    found = minimum(
        objective,
        objective.beginning(start or {}),
        tolerance=(ROUGH if rough else CLOSE) / entropy**0.5,
        steps=ROUGH_STEPS if rough else STEPS,
        least_gain=_ROUGH_GAIN * entropy if rough else 0.0,
    )
    factors = objective.factors(found.place)
    calibrated, _ = tree.calibrate(with_zeros(factors, fixed))
    return Fitted(factors, calibrated, total, found.steepness * entropy**0.5, found.converged, found.steps)


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
        ends = np.cumsum([each.counts.size for each in parts])
        self._places = [slice(int(end) - each.counts.size, int(end)) for end, each in zip(ends, parts, strict=True)]
        self._counts = np.concatenate([each.counts.ravel() for each in parts])
        self._scale = np.concatenate([np.full(each.counts.size, each.sigma) for each in parts]) * entropy**0.5

    def beginning(self, start: Mapping[Columns, Floats]) -> Floats:
        begun: Floats = np.zeros(self._counts.size)
        taken = set()
        for place, each in zip(self._places, self._parts, strict=True):
            if each.columns in start and each.columns not in taken:
                taken.add(each.columns)
                factor = start[each.columns]
                begun[place] = (without_low_orders(factor) if each.residual else factor).ravel()
        begun *= self._scale
        return begun

    def factors(self, place: Floats) -> dict[Columns, Floats]:
        theta = place / self._scale
        found: dict[Columns, Floats] = {}
        for where, each in zip(self._places, self._parts, strict=True):
            factor = theta[where].reshape(each.counts.shape)
            found[each.columns] = found[each.columns] + factor if each.columns in found else factor
        return found

    def __call__(self, place: Floats) -> tuple[float, Floats]:
        factors = self.factors(place)
        calibrated, logarithm = self._tree.calibrate(with_zeros(factors, self._zeros))
        if not np.isfinite(logarithm):
            return float("inf"), place
        expected = np.empty(self._counts.size)
        for where, each in zip(self._places, self._parts, strict=True):
            counts = calibrated.inside(each.columns) * self._total
            expected[where] = (without_low_orders(counts) if each.residual else counts).ravel()
        theta = place / self._scale
        value = self._total * logarithm - product(theta, self._counts) + 0.5 * product(place, place)
        return value, (expected - self._counts) / self._scale + place
