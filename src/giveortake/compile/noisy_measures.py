"""Releases: how they are stored, and how several releases of the same measures are combined."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.errors import LedgerDamaged
from giveortake.mechanisms.additive import quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.compile.intervals import RunningTotals
    from giveortake.compile.measures import Measure
    from giveortake.mechanisms.additive import RoundedNoise, Tail

    Floats: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Deciding:
    """What is known of a deciding number: its threshold, and whether the number of a unit's keys was bounded.

    If so, it was bounded among all keys; later releases bound it among the shown keys, so they count something else.
    """

    threshold: int
    bounded: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Noisy integers, one array for each measure (keys × nodes of the tree for bins), and the noise they got.

    `decided` is about the measures whose noisy number decided which keys are shown.
    """

    arrays: tuple[npt.NDArray[Any], ...]
    noises: tuple[RoundedNoise, ...]
    decided: Mapping[int, Deciding] = field(default_factory=dict)

    def to_json(self) -> list[Any]:
        """The arrays as compact and exact JSON."""
        return [packed(array) for array in self.arrays]


def arrays_from_json(content: Any, count: int) -> tuple[npt.NDArray[Any], ...]:
    """The arrays that `Release.to_json` wrote, one for each of `count` measures."""
    if not isinstance(content, list) or len(content) != count:
        raise LedgerDamaged("a stored answer does not have the measures of its question")
    return tuple(unpacked(packed_array) for packed_array in content)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """Numbers that were shown because they reached a threshold, with the law of their noise before that condition.

    `alone` says that there is no later release of them.
    """

    numbers: npt.NDArray[np.int64]
    tail: Tail
    threshold: int
    alone: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """The combined releases of one measure, in units of its values, and the noise that is left."""

    values: Floats
    tails: tuple[Tail, ...]
    slack: float
    whole_values: npt.NDArray[Any] | None = None
    noise: RoundedNoise | None = None
    distribution: RunningTotals | None = None
    decided: Decided | None = None

    def whole_margin(self, miss: float) -> int:
        """The exact margin of whole numbers that were released once."""
        assert self.noise is not None  # noqa: S101 (asked only where whole_values is there)
        return self.noise.margin(1 - Fraction(miss))


def combined(measures: Sequence[Measure], releases: Sequence[Release], miss: float = 0.05) -> Mapping[int, Combined]:
    """For each measure, the average of its releases, weighted by their inverse variances.

    Guarantee of accuracy: no release widens the interval, at this `miss`, of the average of those before it, nor is one
    worth less than it would be alone: which are averaged is chosen by the laws of their noises, and by no number drawn.
    """
    return {index: _combined(measure, index, releases, miss) for index, measure in enumerate(measures)}


def without_data(measures: Sequence[Measure], noises: Sequence[RoundedNoise]) -> Mapping[int, Combined]:
    """Combined releases that hold only the noise, to compute margins before anything is released."""
    return combined(measures, [Release(tuple(measure.of_no_keys() for measure in measures), tuple(noises))])


def _combined(measure: Measure, index: int, releases: Sequence[Release], miss: float) -> Combined:
    """The combined releases of one measure; the deciding one, whose law differs, is not averaged with later ones."""
    deciding = next((release for release in releases if index in release.decided), None)
    if deciding is None:
        return _averaged(measure, index, releases, miss)
    later_releases = [release for release in releases if index not in release.decided]
    known = deciding.decided[index]
    measured = _averaged(measure, index, later_releases or [deciding], miss)
    if later_releases and known.bounded:
        return measured
    unit = int(1 / measure.granularity)
    numbers, tail = deciding.arrays[index] // unit, deciding.noises[index].tail.times(1 / unit)
    return replace(measured, decided=Decided(numbers, tail, known.threshold, alone=not later_releases))


def _averaged(measure: Measure, index: int, releases: Sequence[Release], miss: float) -> Combined:
    unit = float(measure.granularity)
    release_tails = [release.noises[index].tail for release in releases]
    present = [
        (releases[release_index].arrays[index], releases[release_index].noises[index])
        for release_index in worthwhile(release_tails, miss)
    ]
    shares = _shares([noise.tail for _, noise in present])
    steps = sum(
        (np.asarray(array, dtype=np.float64) * share for (array, _), share in zip(present, shares, strict=True))
    )
    assert isinstance(steps, np.ndarray)  # noqa: S101 (there is at least one release)
    tails = tuple(noise.tail.times(unit * share) for (_, noise), share in zip(present, shares, strict=True))
    return measure.combined(steps, tails, present[0] if len(present) == 1 else None)


def worthwhile(tails: Sequence[Tail], miss: float) -> list[int]:
    """The indices of the noises to average, one by one: each joins the chosen ones, replaces them, or is left out."""
    best, width = [0], quantile(tails[:1], miss)
    for later in range(1, len(tails)):
        for indices in ([*best, later], [later]):
            candidates = [tails[index] for index in indices]
            reached = quantile(
                [tail.times(share) for tail, share in zip(candidates, _shares(candidates), strict=True)], miss
            )
            if reached < width:
                best, width = indices, reached
    return best


def _shares(tails: Sequence[Tail]) -> list[float]:
    weights = [1 / tail.variance for tail in tails]
    return [weight / sum(weights) for weight in weights]


def packed(array: npt.NDArray[Any]) -> Any:
    """Whole numbers as a ledger stores them: compact, and exact for any size."""
    if array.dtype == object:
        listed = [str(value) for value in array.ravel().tolist()]
        return listed if array.ndim == 1 else {"shape": list(array.shape), "wide": listed}
    raw = np.ascontiguousarray(array.astype("<i8")).tobytes()
    return {"shape": list(array.shape), "int64": base64.b64encode(zlib.compress(raw, 1)).decode()}


def unpacked(content: Any) -> npt.NDArray[Any]:
    """The whole numbers that `packed` wrote."""
    if isinstance(content, list):
        return _wide(content)
    if "wide" in content:
        return _wide(content["wide"]).reshape(content["shape"])
    raw = zlib.decompress(base64.b64decode(content["int64"]))
    return np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(content["shape"])


def _wide(listed: list[str]) -> npt.NDArray[Any]:
    """Whole numbers of more than 64 bits."""
    return np.array([int(value) for value in listed], dtype=object)
