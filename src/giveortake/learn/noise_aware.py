"""Inverses of matrices that were released with noise: directions in which noise dominates are hardly followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]


_LITTLE = 0.05
_WHY = "too few rows tell of them at this noise"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """A symmetric matrix that was released with noise: its eigenvectors `directions` and eigenvalues `sizes`."""

    sizes: Reals
    directions: Reals

    @classmethod
    def of(cls, matrix: Reals) -> Curvature:
        """Decompose a matrix; nothing else here takes long."""
        return cls(*np.linalg.eigh((matrix + matrix.T) / 2))

    def inverse(
        self, noise: float, prior: float, floor: float, *, penalty: float | None = None, scale: float = 1.0
    ) -> Reals:
        """`wiener` of `scale` times the matrix."""
        kept = np.maximum(scale * self.sizes, floor)
        pulled = noise / prior + kept * (1 / prior if penalty is None else penalty)
        return np.asarray((self.directions * (kept / (kept**2 + pulled))) @ self.directions.T)

    def positive(self) -> Reals:
        """The nearest matrix without negative eigenvalues."""
        return np.asarray((self.directions * np.maximum(self.sizes, 0)) @ self.directions.T)


def shrunk(followed: Reals, gains: Sequence[float], directions: int, what: str) -> list[str]:
    """What a card says of a fit whose steps, each with its gain, follow so much of what is missing; nothing if all."""
    left = np.eye(len(followed))
    for gain in gains:
        left = left @ (np.eye(len(followed)) - gain * followed)
    part = (float(np.trace(left)) - (len(followed) - directions)) / directions
    return [f"shrunk: {what} are drawn towards 0 by about {part:.0%} on average: {_WHY}"] if part > _LITTLE else []


def wiener(curvature: Reals, noise: float, prior: float, floor: float, penalty: float | None = None) -> Reals:
    """The matrix that takes a noisy sum b to coefficients θ, where curvature·θ would be b without noise.

    `noise` is the variance of each number of b, `prior` how large the square of a coefficient is thought to be, and
    `floor` the size of the curvature's own noise, below which no eigenvalue is believed. In a direction of eigenvalue h
    the gain is h/(h² + (noise + h)/prior): 1/h where the signal is large, and next to nothing where noise is. A stated
    `penalty` of ridge regression takes the place of 1/prior beside h. It is post-processing: nothing here reads rows.

    >>> import numpy as np
    >>> wiener(np.diag([100.0, 1.0]), noise=1.0, prior=100.0, floor=0.5).round(3).tolist()
    [[0.01, 0.0], [0.0, 0.98]]
    """
    return Curvature.of(curvature).inverse(noise, prior, floor, penalty=penalty)


def positive(matrix: Reals) -> Reals:
    """The nearest symmetric matrix without negative eigenvalues."""
    return Curvature.of(matrix).positive()


def followed(curvature: Reals, floor: float) -> tuple[int, int]:
    """How many eigenvalues of a released matrix exceed `floor`, the size of its noise; and how many there are."""
    sizes = np.linalg.eigvalsh((curvature + curvature.T) / 2)
    return int((sizes > floor).sum()), len(sizes)
