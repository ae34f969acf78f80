"""Matrices for running totals: what is released so that the number of values below every border is known well.

Bins hold integers x. A strategy releases B·x with noise, where B is a public matrix of whole numbers that are not
negative, and estimates every running total of x from that. The estimate is post-processing; only B has a price.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    Integers: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]

EXACT = 2**53  # whole numbers below it, and their sums below it, are exact in doubles in any order


class PrefixStrategy(ABC):
    """A matrix B over `size` bins, and unbiased running totals from B·x + noise.

    Guarantee: let one unit put whole numbers that are not negative, and are c in total, into the bins of one key. It
    moves every section of B·x by at most c·`l1` in L1 and c·`l2` in L2, because B·u is a sum of c columns of B and
    norms are convex (the bound is reached where all lie in the bin of the longest column; that several columns were
    at right angles, so that √c would do, is false: they are not negative). If a unit is changed, B·u₁ − B·u₂ has no
    more than √(‖B·u₁‖² + ‖B·u₂‖²) in L2, because the inner product of two such vectors is not negative.
    """

    __slots__ = ()

    kind: ClassVar[str]  # as ledgers name it

    @property
    @abstractmethod
    def size(self) -> int:
        """How many bins there are."""

    @property
    @abstractmethod
    def fineness(self) -> int:
        """How much one value counts in the released integer that is nearest to its bin."""

    @property
    @abstractmethod
    def sections(self) -> tuple[int, ...]:
        """How many integers each part of B·x has; each part gets noise of its own price."""

    @property
    @abstractmethod
    def l1(self) -> Fraction:
        """The greatest L1 norm of a column, in any section."""

    @property
    @abstractmethod
    def l2(self) -> Fraction:
        """The greatest L2 norm of a column, in any section, rounded up."""

    @property
    @abstractmethod
    def growth(self) -> int:
        """The greatest sum of a row of B: no integer of B·x is farther from zero than that times the greatest of x."""

    @abstractmethod
    def transform(self, bins: Integers) -> Integers:
        """B·x for every row x of an array, exactly where it is below `EXACT`."""

    @abstractmethod
    def running_totals(self, released: Floats) -> Floats:
        """Unbiased running totals for every row of released integers: `size` + 1 of them, the first is zero.

        It is linear in what was released, and exact if there was no noise.
        """

    @abstractmethod
    def to_json(self) -> list[Any]:
        """The name of the matrix in a ledger. This is a stored format: a name always means the same matrix."""

    def weights(self) -> Floats:
        """How much every released integer (columns) counts in every running total (rows)."""
        return np.ascontiguousarray(self.running_totals(np.eye(sum(self.sections))).T)
