"""Marginals measured by residuals: what a table says that no table over fewer of its attributes does [XWZK23].

`Residual` measures that part of one table; tables are rebuilt from such parts. `InteractionResiduals` measures all that
a table tells beyond its single columns.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import lattice
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.randomness import Entropy, IntArray

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = BoundedIntegers | IntArray
    IntegerValues: TypeAlias = BoundedIntegers | npt.NDArray[Any]


_ROUNDED = Fraction(1, 12)  # the variance of rounding to whole steps


@final
@dataclass(frozen=True, slots=True)
class Residual(Mechanism["Integers", "IntArray"]):
    """H(N·x + z) of a table x over attributes of `sizes` values: N is the number of cells, H differences on each axis.

    Along every axis H takes the first value from each of the others, so that it annihilates tables that are constant
    along any one axis: what tables over fewer attributes tell. z is normal noise of scale N·`sigma`, rounded to whole
    numbers. With `estimate`, `sigma` is the noise in one cell before those tables are taken out of it.

    Guarantee: let a unit move x by the integers u. H(N·x + N·u + z) = H(N·x + N·Pu + z), where P takes the mean out
    along every axis, because u − Pu is a sum of tables that are constant along some axis. N·Pu is a table of integers,
    and z is normal noise that was rounded, so that this is post-processing of the continuous mechanism with a shift of
    N·‖Pu‖: a release is (‖Pu‖ / sigma)-GDP, exactly. `Contribution` says how large ‖Pu‖ can be. Without the factor N,
    Pu would not be on the integers, and its saving would be a claim about noise that nobody drew.

    >>> Residual((2, 3), sigma=1).release(np.array([[5, 1, 0], [0, 0, 4]])).shape
    (2,)
    """

    sizes: tuple[int, ...]
    sigma: Fraction

    citation: ClassVar[str] = (
        "Xiao, Wang, Zhang, Kifer: An optimal and scalable matrix mechanism for noisy marginals under convex loss "
        "functions, NeurIPS 2023"
    )

    def __init__(self, sizes: Sequence[int], sigma: Number) -> None:
        for size in sizes:
            if size < 2:
                raise InvalidParameter("sizes", tuple(sizes), "has an attribute of one value, which has no residual")
        object.__setattr__(self, "sizes", tuple(sizes))
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))

    @property
    def cells(self) -> int:
        """N: how many cells the table has."""
        return math.prod(self.sizes)

    @property
    def released(self) -> int:
        """How many integers are released."""
        return math.prod(size - 1 for size in self.sizes)

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release, when one unit moves Px by at most `sensitivity` in L2."""
        return events.Gaussian(self.sigma / exact.at_least("sensitivity", sensitivity))

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> IntArray:
        """The differences of the table with noise, flat: every value of an axis but the first, less the first."""
        table = lattice.bounded("value", opened(value, self))
        if table.size != self.cells:
            raise InvalidParameter("value", table.size, f"cells do not make a table of {self.sizes}")
        noise = rounded_normal(self.cells * self.sigma, self.cells, source(entropy))
        return table.times(self.cells).plus(noise).mapped(self.differences, 1 << len(self.sizes)).released()

    def differences(self, table: IntArray) -> IntArray:
        """H of a table, flat: a linear map."""
        cells = table.reshape(self.sizes)
        for axis in range(len(self.sizes)):
            later, first = np.split(cells, [1], axis=axis)[::-1]
            cells = later - first
        return cells.reshape(-1)

    def estimate(self, released: IntArray) -> Floats:
        """An unbiased estimate of Px, and Px itself if there was no noise."""
        table = (np.asarray(released, dtype=np.float64) / self.cells).reshape([size - 1 for size in self.sizes])
        for axis in range(len(self.sizes)):
            padded = np.concatenate([np.zeros_like(table.take([0], axis=axis)), table], axis=axis)
            table = padded - padded.mean(axis=axis, keepdims=True)
        return table

    @property
    def variance(self) -> float:
        """The variance of x + z/N in each cell, rounding included. The covariance of an estimate is that times P."""
        return float(self.sigma**2 + _ROUNDED / self.cells**2)


@final
@dataclass(frozen=True, slots=True)
class Contribution:
    """What one unit adds to a table: up to `rows` rows, each `least` to `most` steps in one cell.

    A row may always be left out. `apart` says that no two rows of a unit are in the same cell of the table.
    """

    rows: int = 1
    least: int = 1
    most: int = 1
    apart: bool = False

    @property
    def reach(self) -> int:
        """The most that one row adds, apart from its sign."""
        return max(abs(self.least), abs(self.most))

    def square_if_added(self, sizes: Sequence[int]) -> Fraction:
        """The greatest ‖Pu‖² where a unit is added or removed.

        Guarantee: for one row u = v·e in one cell, ‖Pu‖² = v²·p with p = Π(1 − 1/nᵢ). m rows have m²·v²·p, by
        the triangle inequality: they may share a cell. Only where they may not, P is a projection and leaves m·v².
        """
        square = self.rows**2 * self.reach**2 * shrinkage(sizes)
        return min(square, Fraction(self.rows * self.reach**2)) if self.apart else square

    def square_if_moved(self, sizes: Sequence[int]) -> Fraction:
        """The greatest ‖P(u − u′)‖² where each row of a unit becomes another row, and none is left out.

        Guarantee: ⟨Peₐ, Pe_b⟩ = Π(1{aᵢ = bᵢ} − 1/nᵢ) lies between −p/(n − 1), where a and b differ in the attribute of
        the fewest values n alone, and p. The square of ‖P(v·eₐ − w·e_b)‖ is linear in it: at the one end at most
        2·X²·p·n/(n − 1) for |v|, |w| ≤ X, at the other (v − w)²·p. Of the total, where nothing is taken out, only the
        second is left: a row that moves does not change it. m rows: as in `square_if_added`.
        """
        spread = self.most - self.least
        if not sizes:
            return Fraction(self.rows**2 * spread**2)
        least = min(sizes)
        apart_square = 2 * self.reach**2 * Fraction(least, least - 1)
        square = self.rows**2 * shrinkage(sizes) * max(Fraction(spread**2), apart_square)
        if self.apart:
            widest = max(self.most, 0) - min(self.least, 0)
            return min(square, Fraction(self.rows * max(widest**2, 2 * self.reach**2)))
        return square


def shrinkage(sizes: Iterable[int]) -> Fraction:
    """p: the squared length of Pe, where e is one in one cell of a table."""
    return math.prod((Fraction(size - 1, size) for size in sizes), start=Fraction(1))


def rebuilt(sizes: Sequence[int], parts: Mapping[tuple[int, ...], Floats]) -> Floats:
    """A table of `sizes` from estimates of its residuals, by their axes: each is spread evenly over the other axes.

    It is exact if they are: the residuals of all sets of axes add up to the table.
    """
    table = np.zeros(tuple(sizes))
    for axes, part in parts.items():
        other_cells = math.prod(size for axis, size in enumerate(sizes) if axis not in axes)
        table = table + part.reshape([size if axis in axes else 1 for axis, size in enumerate(sizes)]) / other_cells
    return table


def cell_variance(sizes: Sequence[int], variances: Mapping[tuple[int, ...], float]) -> float:
    """The variance of every cell of a `rebuilt` table, from those of the residuals (`Residual.variance`)."""
    total = 0.0
    for axes, variance in variances.items():
        inside = math.prod(1 - 1 / size for axis, size in enumerate(sizes) if axis in axes)
        outside = math.prod(1 / size**2 for axis, size in enumerate(sizes) if axis not in axes)
        total += variance * inside * outside
    return total


def covariance(sizes: Sequence[int], variances: Mapping[tuple[int, ...], float]) -> Floats:
    """The covariance of all cells of a `rebuilt` table, in the order in which they are listed."""
    cells = math.prod(sizes)
    matrix = np.zeros((cells, cells))
    for axes, variance in variances.items():
        product = np.ones((1, 1))
        for axis, size in enumerate(sizes):
            centred = np.eye(size) - 1 / size
            product = np.kron(product, centred if axis in axes else np.full((size, size), 1 / size**2))
        matrix += variance * product
    return matrix


@final
@dataclass(frozen=True, slots=True)
class InteractionResiduals(Mechanism["Integers", "npt.NDArray[Any]"]):
    """A table of counts, of which the total and all sums of one column are taken out, with normal noise.

    Let Π be the number of cells and H the projection that takes out constants and what one column alone explains. The
    release is Π·H(Π·x + z), which is a table of integers, with z normal of deviation σ·Π, rounded to integers. Divided
    by Π² it estimates H·x with noise of deviation σ per cell, itself projected.

    Guarantee: for a row that is added or removed it is (s/σ)-GDP, s² = 1 − Π(1/nᵢ) − Σᵢ(1 − 1/nᵢ)·Πⱼ≠ᵢ(1/nⱼ), which is
    less than 1. Proof: a row adds e, one cell, to x. Since H·H = H, the release is a function of H(Π·x + z) and
    H(Π·x + Π·e + z) = H(Π·x + v + z) with v = Π·H·e: integers, because Π times every sum over all cells of all columns
    but one, divided by their number, is whole. On integers the rounded noise is post-processing of the continuous one,
    and Π·x + v + z differs from Π·x + z by a shift of length ‖v‖ = Π·s. ∎ Where a row is changed, v = Π·H(e − e′), and
    s² is the greatest ‖H(e − e′)‖² over all ways in which two cells can agree on some columns. m rows move it by at
    most m times as much.

    >>> row_sensitivity((2, 2), "add-remove")
    Fraction(1, 2)
    """

    shape: tuple[int, ...]
    sigma: Fraction

    citation: ClassVar[str] = "Xiao, Wang, Zhang, Kifer: An optimal and scalable matrix mechanism for marginals, 2023"

    def __init__(self, shape: tuple[int, ...], sigma: Number) -> None:
        if len(shape) < 2 or min(shape) < 2:
            raise InvalidParameter("shape", shape, "has no interactions: two columns of two values have some")
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return math.prod(self.shape)

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A release that one unit moves by at most `sensitivity`: `row_sensitivity`, times the rows of a unit."""
        return events.Gaussian(self.sigma / exact.positive("sensitivity", sensitivity))

    def release(
        self, value: IntegerValues | Sensitive[IntegerValues], entropy: Entropy | None = None
    ) -> npt.NDArray[Any]:
        """Π·H(Π·x + z), as integers."""
        counts = lattice.bounded("value", opened(value, self))
        noise = rounded_normal(self.sigma * self.cells, self.cells, source(entropy))
        noisy = counts.mapped(np.ravel, 1).times(self.cells).plus(noise)
        growth = self.cells * 2 * (1 + len(self.shape))
        return noisy.mapped(lambda limb: projected(limb.reshape(self.shape)), growth).released()


def projected(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Π·H of a table, in whole numbers: its own cells and their total take 2·Π of these, and every axis as many."""
    total = table.sum()
    projection: npt.NDArray[Any] = table * table.size - total
    for axis, size in enumerate(table.shape):
        other_axes = tuple(other_axis for other_axis in range(table.ndim) if other_axis != axis)
        projection = projection - (table.sum(axis=other_axes, keepdims=True) * size - total)
    return projection


def row_sensitivity(shape: tuple[int, ...], neighbours: Neighbours) -> Fraction:
    """How far one row moves H·x for a table of that shape, in L2, rounded up."""
    length = _product(shape, (True,) * len(shape))
    if neighbours == "change-one":
        agreeing = itertools.product((True, False), repeat=len(shape))
        moved = [2 * length - 2 * _product(shape, agreement) for agreement in agreeing if not all(agreement)]
        length = max(length, *moved)  # one of the two rows may be in no cell
    return exact.sqrt_up(length)


def _product(shape: tuple[int, ...], agree: tuple[bool, ...]) -> Fraction:
    """⟨H·e, H·e′⟩ for two cells that agree on some columns: of all parts, those of two columns and more."""
    shares = [Fraction(1, size) for size in shape]
    own = [(1 - share) if same else -share for share, same in zip(shares, agree, strict=True)]
    everything = math.prod((factor + share for factor, share in zip(own, shares, strict=True)), start=Fraction(1))
    constant = math.prod(shares, start=Fraction(1))
    single = sum((factor * constant / share for factor, share in zip(own, shares, strict=True)), Fraction(0))
    return everything - constant - single
