"""Export all tables of a workload as one, in the formats of an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from giveortake.answers import Answer


class StackedFaces(ABC):
    """Tables that can be stacked into one answer, and exported like one."""

    @abstractmethod
    def stacked(self) -> Answer:
        """All tables as one, as SQL stacks GROUPING SETS: a column that a table lacks is missing."""

    def to_dict(self) -> dict[str, list[Any]]:
        """All tables stacked, as lists by column."""
        return self.stacked().to_dict()

    def to_json(self) -> str:
        """All tables stacked, and where they came from, as JSON; `gt.answers.Answer.from_json` reads it."""
        return self.stacked().to_json()

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """All tables stacked, as CSV: written to `path`, or returned if there is none."""
        return self.stacked().to_csv(path)

    def to_arrow(self) -> Any:
        """All tables stacked, as a pyarrow Table."""
        return self.stacked().to_arrow()

    def to_polars(self) -> Any:
        """All tables stacked, as a polars DataFrame."""
        return self.stacked().to_polars()

    def to_pandas(self) -> Any:
        """All tables stacked, as a pandas DataFrame."""
        return self.stacked().to_pandas()

    def to_parquet(self, path: str | Path) -> None:
        """All tables stacked, as a Parquet file."""
        self.stacked().to_parquet(path)
