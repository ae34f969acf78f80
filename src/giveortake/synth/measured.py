"""What was measured of a table: noisy counts, which are released and may be read by everybody.

A model is fitted to these and to nothing else. They are made of noisy integers that a ledger has kept; no exact count
can be put in their place by accident, because `Sensitive` values have no arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.errors import InvalidParameter
from giveortake.mechanisms import Sensitive

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

    from giveortake.synth.triangulation import Columns

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
    rest: Floats = table - mean
    for axis, size in enumerate(table.shape):
        others = tuple(each for each in range(table.ndim) if each != axis)
        rest = rest - (table.sum(axis=others, keepdims=True) / (table.size // size) - mean)
    return rest


def combined(measured: Iterable[Measured]) -> list[Measured]:
    """Merge what was measured of the same columns into one, weighted by how exact each is."""
    found: dict[tuple[Columns, bool], Measured] = {}
    for each in measured:
        name = (each.columns, each.residual)
        earlier = found.get(name)
        if earlier is not None:
            weights = earlier.sigma**-2, each.sigma**-2
            counts = (weights[0] * earlier.counts + weights[1] * each.counts) / sum(weights)
            found[name] = Measured(each.columns, counts, sum(weights) ** -0.5, each.residual)
        else:
            found[name] = each
    return list(found.values())


def released_total(measured: Iterable[Measured]) -> float:
    """The number of rows by noisy counts, at least one; residuals say nothing about it."""
    whole = [each for each in measured if not each.residual]
    if not whole:
        raise InvalidParameter("measured", "residuals", "do not say how many rows there are")
    weights = [1 / (each.counts.size * each.sigma**2) for each in whole]
    told = sum(weight * float(each.counts.sum()) for weight, each in zip(weights, whole, strict=True))
    return max(1.0, told / sum(weights))
