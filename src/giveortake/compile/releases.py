"""What was released, as it is kept, and several releases of the same measures combined into better ones."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.quantiles import tree_levels
from giveortake.compile.tails import Term
from giveortake.errors import LedgerDamaged
from giveortake.mechanisms import Gaussian, Laplace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.compile.measures import Measure

    Floats: TypeAlias = npt.NDArray[np.float64]
    Noise: TypeAlias = Laplace | Gaussian


@final
@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Noisy integers, one array for each measure (keys × nodes of the tree for bins), and the noise they got."""

    arrays: tuple[npt.NDArray[Any], ...]
    noises: tuple[Noise, ...]

    def to_json(self) -> list[Any]:
        """Compact and exact."""
        return [_packed(array) for array in self.arrays]

    @classmethod
    def from_json(cls, content: Any, noises: tuple[Noise, ...]) -> Release:
        """What `to_json` wrote."""
        if not isinstance(content, list) or len(content) != len(noises):
            raise LedgerDamaged("a stored answer does not have the measures of its question")
        return cls(tuple(_unpacked(each) for each in content), noises)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """One measure in units of its values: what all releases together say, and what noise is left in it."""

    values: Floats
    terms: tuple[Term, ...]
    slack: float
    whole_values: npt.NDArray[Any] | None = None
    noise: Noise | None = None
    levels: list[Floats] = field(default_factory=list)
    low: float = 0.0
    width: float = 1.0

    def whole_margin(self, miss: float) -> int:
        """The exact margin of whole numbers that were released once."""
        assert self.noise is not None  # noqa: S101 (asked only where whole_values is there)
        return self.noise.margin(1 - Fraction(miss))


def combined(measures: Sequence[Measure], releases: Sequence[Release]) -> Mapping[int, Combined]:
    """The best linear unbiased combination: every release weighs as its inverse variance."""
    return {index: _combined(measure, index, releases) for index, measure in enumerate(measures)}


def without_data(measures: Sequence[Measure], noises: Sequence[Noise]) -> Mapping[int, Combined]:
    """The noise alone, for margins before anything is released."""
    empty = tuple(
        np.zeros((0, 2 ** (each.levels + 1) - 2) if each.kind == "bins" else 0, dtype=np.int64) for each in measures
    )
    return combined(measures, [Release(empty, tuple(noises))])


def _combined(measure: Measure, index: int, releases: Sequence[Release]) -> Combined:
    unit = float(measure.granularity)
    present = [(release.arrays[index], release.noises[index]) for release in releases]
    weights = [1 / variance(noise) for _, noise in present]
    shares = [weight / sum(weights) for weight in weights]
    values = sum(
        (np.asarray(array, dtype=np.float64) * share for (array, _), share in zip(present, shares, strict=True))
    )
    assert isinstance(values, np.ndarray)  # noqa: S101 (there is at least one release)
    terms = tuple(term(noise, unit * share) for (_, noise), share in zip(present, shares, strict=True))
    slack = unit / 2
    if measure.kind == "bins":
        nodes = values * unit
        return Combined(
            np.zeros(len(nodes)),
            terms,
            slack,
            levels=_levels_of(nodes),
            low=float(measure.low),
            width=float(measure.width),
        )
    if len(present) == 1 and measure.granularity == 1:
        return Combined(values, terms, slack, present[0][0], present[0][1])
    return Combined(values * unit, terms, slack)


def term(noise: Noise, unit: float) -> Term:
    """The noise of one release in other units."""
    if isinstance(noise, Laplace):
        return Term("laplace", float(noise.scale) * unit)
    return Term("normal", float(noise.sigma) * unit)


def variance(noise: Noise) -> float:
    """The variance of the continuous law, in steps."""
    return 2 * float(noise.scale) ** 2 if isinstance(noise, Laplace) else float(noise.sigma) ** 2


def nodes_of(leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All levels of the tree side by side: 2, 4, 8, … columns."""
    return np.concatenate(tree_levels(leaves), axis=1)


def _levels_of(nodes: Floats) -> list[Floats]:
    levels, start, width = [], 0, 2
    while start < nodes.shape[1]:
        levels.append(nodes[:, start : start + width])
        start, width = start + width, width * 2
    return levels


def _packed(array: npt.NDArray[Any]) -> Any:
    if array.dtype == object:
        return [str(value) for value in array.ravel().tolist()]
    raw = np.ascontiguousarray(array.astype("<i8")).tobytes()
    return {"shape": list(array.shape), "int64": base64.b64encode(zlib.compress(raw, 1)).decode()}


def _unpacked(content: Any) -> npt.NDArray[Any]:
    if isinstance(content, list):
        return np.array([int(value) for value in content], dtype=object)
    raw = zlib.decompress(base64.b64decode(content["int64"]))
    return np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(content["shape"])
