"""Steps of a run, which are released, and how the ledger stores them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.releases import unpacked
from giveortake.errors import LedgerDamaged
from giveortake.privacy import events

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.privacy.events import Event

    Integers: TypeAlias = npt.NDArray[Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """A measured table of counts: released integers, and the deviation of their noise in rows.

    `residual` says that the total and the one-column sums were subtracted.
    """

    names: tuple[str, ...]
    steps: Integers
    sigma: Fraction
    residual: bool

    @property
    def counts(self) -> npt.NDArray[np.float64]:
        """The noisy counts, in rows."""
        cells = self.steps.size
        return self.steps.astype(np.float64) / (float(cells) ** 2 if self.residual else 1.0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyVector:
    """A measured sum of vectors: released integers, in steps, and the noise deviation of a component of weight 1."""

    name: str
    steps: Integers
    sigma: Fraction

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the sum."""
        return (self.name,)


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A table that was selected, by the names of its columns."""

    names: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Watch:
    """A threshold that later comparisons use; its noise is drawn once."""

    threshold: int

    @property
    def names(self) -> tuple[str, ...]:
        """Nothing: a threshold is not about cells."""
        return ()


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """Whether a count was far from the expected one, by the threshold before it; `query` names the cells."""

    query: str
    is_far: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The query that names the cells."""
        return (self.query,)


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """A noisy count of chosen cells."""

    query: str
    count: int
    sigma: Fraction

    @property
    def names(self) -> tuple[str, ...]:
        """The query that names the cells."""
        return (self.query,)


Step: TypeAlias = "NoisyTable | NoisyVector | Choice | Watch | Compared | Counted"


def step_of(content: Any) -> Step:
    """Read a step from what the ledger stores."""
    match content["do"]:
        case "measure":
            numbers, sigma = unpacked(content["steps"]), Fraction(content["sigma"])
            return NoisyTable(tuple(content["table"]), numbers, sigma, content["residual"])
        case "sum":
            return NoisyVector(content["name"], unpacked(content["steps"]), Fraction(content["sigma"]))
        case "select":
            return Choice(tuple(content["table"]))
        case "watch":
            return Watch(content["threshold"])
        case "compare":
            return Compared(content["query"], content["is_far"])
        case "count":
            return Counted(content["query"], content["count"], Fraction(content["sigma"]))
    raise LedgerDamaged("a run holds a step that is not known")


def event_of(content: Any) -> Event | None:
    """The event that a stored step was charged as; None for comparisons, which `watch` has paid for."""
    return None if content["event"] is None else events.Event.from_json(json.dumps(content["event"]))
