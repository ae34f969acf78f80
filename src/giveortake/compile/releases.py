"""What was released, as it is kept, and several releases of the same measures combined into better ones."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.errors import LedgerDamaged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.compile.measures import Measure
    from giveortake.compile.quantiles import Distribution
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.mechanisms.tails import Tail

    Floats: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Noisy integers, one array for each measure (keys × nodes of the tree for bins), and the noise they got."""

    arrays: tuple[npt.NDArray[Any], ...]
    noises: tuple[RoundedNoise, ...]

    def to_json(self) -> list[Any]:
        """Compact and exact."""
        return [_packed(array) for array in self.arrays]

    @classmethod
    def from_json(cls, content: Any, noises: tuple[RoundedNoise, ...]) -> Release:
        """What `to_json` wrote."""
        if not isinstance(content, list) or len(content) != len(noises):
            raise LedgerDamaged("a stored answer does not have the measures of its question")
        return cls(tuple(_unpacked(each) for each in content), noises)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """One measure in units of its values: what all releases together say, and what noise is left in it."""

    values: Floats
    tails: tuple[Tail, ...]
    slack: float
    whole_values: npt.NDArray[Any] | None = None
    noise: RoundedNoise | None = None
    distribution: Distribution | None = None

    def whole_margin(self, miss: float) -> int:
        """The exact margin of whole numbers that were released once."""
        assert self.noise is not None  # noqa: S101 (asked only where whole_values is there)
        return self.noise.margin(1 - Fraction(miss))


def combined(measures: Sequence[Measure], releases: Sequence[Release]) -> Mapping[int, Combined]:
    """The best linear unbiased combination: every release weighs as its inverse variance."""
    return {index: _combined(measure, index, releases) for index, measure in enumerate(measures)}


def without_data(measures: Sequence[Measure], noises: Sequence[RoundedNoise]) -> Mapping[int, Combined]:
    """The noise alone, for margins before anything is released."""
    return combined(measures, [Release(tuple(each.of_no_keys() for each in measures), tuple(noises))])


def _combined(measure: Measure, index: int, releases: Sequence[Release]) -> Combined:
    unit = float(measure.granularity)
    present = [(release.arrays[index], release.noises[index]) for release in releases]
    weights = [1 / noise.tail.variance for _, noise in present]
    shares = [weight / sum(weights) for weight in weights]
    steps = sum(
        (np.asarray(array, dtype=np.float64) * share for (array, _), share in zip(present, shares, strict=True))
    )
    assert isinstance(steps, np.ndarray)  # noqa: S101 (there is at least one release)
    tails = tuple(noise.tail.times(unit * share) for (_, noise), share in zip(present, shares, strict=True))
    return measure.combined(steps, tails, present[0] if len(present) == 1 else None)


def _packed(array: npt.NDArray[Any]) -> Any:
    if array.dtype == object:
        listed = [str(value) for value in array.ravel().tolist()]
        return listed if array.ndim == 1 else {"shape": list(array.shape), "wide": listed}
    raw = np.ascontiguousarray(array.astype("<i8")).tobytes()
    return {"shape": list(array.shape), "int64": base64.b64encode(zlib.compress(raw, 1)).decode()}


def _unpacked(content: Any) -> npt.NDArray[Any]:
    if isinstance(content, list):
        return _wide(content)
    if "wide" in content:
        return _wide(content["wide"]).reshape(content["shape"])
    raw = zlib.decompress(base64.b64decode(content["int64"]))
    return np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(content["shape"])


def _wide(listed: list[str]) -> npt.NDArray[Any]:
    """Whole numbers of more than 64 bits."""
    return np.array([int(value) for value in listed], dtype=object)
