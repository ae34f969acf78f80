"""Inverses of matrices that were released with noise: directions that the noise decides are hardly followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]


def wiener(curvature: Reals, noise: float, prior: float, floor: float, penalty: float | None = None) -> Reals:
    """What takes a noisy sum b to coefficients θ, where curvature·θ would be b without noise.

    `noise` is the variance of each number of b, `prior` how large the square of a coefficient is thought to be, and
    `floor` the size of the curvature's own noise, below which no eigenvalue is believed. In a direction of eigenvalue h
    the gain is h/(h² + (noise + h)/prior): 1/h where the signal is large, and next to nothing where noise is. A stated
    `penalty` of ridge regression takes the place of 1/prior beside h. It is post-processing: nothing here reads rows.

    >>> import numpy as np
    >>> wiener(np.diag([100.0, 1.0]), noise=1.0, prior=100.0, floor=0.5).round(3).tolist()
    [[0.01, 0.0], [0.0, 0.98]]
    """
    sizes, directions = np.linalg.eigh((curvature + curvature.T) / 2)
    kept = np.maximum(sizes, floor)
    pulled = noise / prior + kept * (1 / prior if penalty is None else penalty)
    return np.asarray((directions * (kept / (kept**2 + pulled))) @ directions.T)


def positive(matrix: Reals) -> Reals:
    """The nearest symmetric matrix without negative eigenvalues."""
    sizes, directions = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((directions * np.maximum(sizes, 0)) @ directions.T)


def followed(curvature: Reals, floor: float) -> tuple[int, int]:
    """How many directions of a released matrix are more than its noise, and of how many."""
    sizes = np.linalg.eigvalsh((curvature + curvature.T) / 2)
    return int((sizes > floor).sum()), len(sizes)
