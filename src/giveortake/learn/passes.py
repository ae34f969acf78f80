"""The passes of a fit over the rows: each is a sum of vectors with noise, at a share of one charge.

A fit that was interrupted goes on: passes that were drawn before are read, by their names, and not drawn again.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import LedgerDamaged
from giveortake.mechanisms.vectors import VectorNoise
from giveortake.session.run_steps import NoisyVector

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.session.adaptive_run import AdaptiveRun
    from giveortake.session.run_requests import RunRequest

    Reals: TypeAlias = npt.NDArray[np.float64]

_STANDS_OUT = 6.0  # deviations, which noise alone reaches once in 500 million sums
_SLACK = 1 - Fraction(1, 1 << 30)  # so that rounded prices of all passes stay within the charge


@final
@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """A released sum in whole numbers: each component's cells, and the deviation of their noise."""

    asked: VectorSum
    name: str
    steps: npt.NDArray[Any]
    sigma: Fraction
    mu: Fraction

    def cells(self, place: int) -> Reals:
        """The cells of one component."""
        start = self.asked.offsets()[place]
        return np.asarray(self.steps[start : start + self.asked.sizes[place]].astype(np.float64) * self._unit(place))

    def deviation(self, place: int = 0) -> float:
        """The deviation of the noise of each cell of a component, rounding to whole steps included."""
        blocks = tuple(zip(self.asked.sizes, (each.weight for each in self.asked.components), strict=True))
        noise = VectorNoise(self.sigma, blocks).deviation(self.asked.components[place].weight)
        return float(np.sqrt(float(noise) ** 2 + 1 / 12) * self._unit(place))

    def greatest(self) -> float:
        """How many deviations of its noise the greatest cell is away from zero."""
        places = range(len(self.asked.components))
        return max(float(np.abs(self.cells(place)).max(initial=0.0)) / self.deviation(place) for place in places)

    def matrix(self) -> Reals:
        """The symmetric matrix of a sum of all products."""
        count = len(self.asked.values)
        upper = np.zeros((count, count))
        upper[np.triu_indices(count)] = [self.cells(place)[0] for place in range(len(self.asked.components))]
        return np.asarray(upper + np.triu(upper, 1).T)

    def _unit(self, place: int) -> float:
        """What one step is worth: the product of the factors' steps."""
        found = Fraction(1)
        for factor in self.asked.components[place].factors:
            quantum = self.asked.values[factor].quantum
            assert quantum is not None  # noqa: S101 (values have one)
            found *= quantum.granularity
        return float(found)


@final
class Passes:
    """The passes of one fit, in order. `released` are those made so far."""

    def __init__(self, run: AdaptiveRun, mu: Fraction) -> None:
        self._run, self._mu = run, mu
        self._kept = list(run.steps)
        self.released: list[Released] = []
        self.notes: list[str] = []  # what a fit says of itself

    @property
    def charged(self) -> bool:
        """Whether this fit was charged now, not before."""
        return self._run.charged

    @property
    def release_id(self) -> str:
        """The id of the fit in the ledger."""
        return self._run.id

    def add_up(self, name: str, asked: VectorSum, share: Fraction) -> Released:
        """Release a sum with noise, for the part `share` of μ². Shares of all passes add up to at most 1."""
        mu = exact.sqrt_down(self._mu**2 * share * _SLACK)
        place = len(self.released)
        if place < len(self._kept):
            step = self._kept[place]
            if not isinstance(step, NoisyVector) or step.name != name or len(step.steps) != asked.size:
                raise LedgerDamaged("a fit that was kept has other passes than this one")
        else:
            step = self._run.add_up(name, asked, mu)
        made = Released(asked, name, step.steps, step.sigma, mu)
        self.released.append(made)
        return made

    def remarks(self) -> tuple[str, ...]:
        """A warning if no released sum of the first pass stands out from its noise; this is post-processing."""
        if not self.released or self.released[0].greatest() >= _STANDS_OUT:
            return tuple(self.notes)
        return (
            "worthless: no sum of the first pass stands out from its noise, so the model tells nothing of the rows",
        )


def noise_of(asked: VectorSum, request: RunRequest, share: Fraction) -> float:
    """The greatest deviation of the noise in a sum, in rows' worth, if the sum gets the part `share` of μ²."""
    assert request.mu is not None  # noqa: S101 (a run of sums of vectors has one)
    mu = exact.sqrt_down(request.mu**2 * share * _SLACK)
    changed = request.promise.neighbours == "change-one"
    sigma = exact.sqrt_up(Fraction(asked.moved_squared(changed=changed))) / mu
    made = Released(asked, "", np.zeros(0), sigma, mu)
    return max(made.deviation(place) for place in range(len(asked.components)))


@contextmanager
def passes(request: RunRequest, key: str | None) -> Iterator[Passes]:
    """Charge, let the fit make its passes, and settle what it drew as its answer."""
    assert request.mu is not None  # noqa: S101 (a run of sums of vectors has one)
    with request.begin(key) as run:
        made = Passes(run, request.mu)
        yield made
        if not run.is_settled:
            run.settle()
