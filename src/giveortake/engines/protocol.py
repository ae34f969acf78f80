"""The protocol that every engine keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from giveortake.engines.questions import Bins, Distinct, Persons, Tally
    from giveortake.mechanisms import Sensitive
    from giveortake.plan import Domain, Value

    FoundUnits: TypeAlias = tuple[list[tuple[Value, ...]], npt.NDArray[np.int64]]


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A table as an engine sees it: its columns with what their types say, and what tells this content from others."""

    name: str
    columns: tuple[tuple[str, Domain], ...]
    fingerprint: str


class Engine(Protocol):
    """Executes tallies where the data is. Nothing but integers, and keys that are to be selected, comes back.

    Integers come as arrays with one row for each key in the order of `Keys`, all of them, zeros included. They do not
    depend on the order of rows, the number of threads or the engine.
    """

    @property
    def identity(self) -> str:
        """The engine and its version: with another one, hashes may choose other parts of a person."""

    def tally(self, tally: Tally) -> Sensitive[list[npt.NDArray[Any]]]:
        """One array for each summand."""

    def bins(self, bins: Bins) -> Sensitive[npt.NDArray[np.int64]]:
        """An array of keys × bins."""

    def distinct(self, distinct: Distinct) -> Sensitive[npt.NDArray[np.int64]]:
        """The number of distinct values for each key."""

    def persons(self, persons: Persons) -> Iterator[Sensitive[FoundUnits]]:
        """The keys that occur and the number of units of each: some at a time, each once, in whatever order."""

    def in_parts(self, asked: Tally | Bins | Distinct, size: int) -> Iterator[Sensitive[Any]]:
        """What `tally`, `bins` or `distinct` give, for so many keys at a time, in the order of the keys."""

    def unchanged(self) -> bool:
        """Whether the data is still what it was when it was registered."""

    def close(self) -> None:
        """Let go of the data."""
