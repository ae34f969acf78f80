"""A released table that is too large to be held: one `Answer` after another."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.printable import printable
from giveortake.errors import NotFound
from giveortake.progress import rows_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from giveortake.answers.answer import Answer


@final
class Stream:
    """Answers to one question, each about some of the keys; each states the cost of all of them together.

    It can be read any number of times: noise is drawn once, and kept.
    """

    __slots__ = ("_first", "_portions")

    def __init__(self, portions: Callable[[], Iterator[Answer]]) -> None:
        self._portions = portions
        first = next(portions(), None)
        if first is None:
            raise NotFound("the stream has no answer")
        self._first = first

    def __iter__(self) -> Iterator[Answer]:
        return self._portions()

    @property
    def guarantee(self) -> Any:
        """What the whole table promises."""
        return self._first.guarantee

    @property
    def cost(self) -> Any:
        """What the whole table cost."""
        return self._first.cost

    @property
    def release_id(self) -> str | None:
        """The id of the release in the ledger."""
        return self._first.release_id

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the table."""
        return self._first.notes

    def to_reader(self) -> Any:
        """A pyarrow RecordBatchReader; needs pyarrow."""
        import pyarrow  # noqa: PLC0415 (heavy)

        schema = self._first.to_arrow().schema
        batches = (batch for portion in self for batch in portion.to_arrow().cast(schema).to_batches())
        return pyarrow.RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow C stream, for every library that reads one."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: str | Path, *, progress: Callable[[int], None] | None = None) -> None:
        """The table as a Parquet file; needs pyarrow.

        `progress` is called with the number of rows written; without it, a terminal shows the number.
        """
        import pyarrow.parquet  # noqa: PLC0415 (heavy)

        reader, rows = self.to_reader(), 0
        with _watched(progress) as told, pyarrow.parquet.ParquetWriter(path, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
                told(rows)

    def __repr__(self) -> str:
        return f"<Stream {self.release_id}: {', '.join(printable(column.name) for column in self._first.columns)}>"


def _watched(progress: Callable[[int], None] | None) -> AbstractContextManager[Callable[[int], None]]:
    if progress is not None:
        return nullcontext(progress)
    return rows_shown("writing")
