"""Lists of found keys as tables of Spark: one part of a list is held in this process at a time."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from functools import reduce
from typing import TYPE_CHECKING, final
from uuid import uuid4

from giveortake.engines.failures import failure
from giveortake.engines.scratch import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_FEW = 1 << 18  # keys that a worker may hold all of
_TYPES = {"int64": "BIGINT", "bool": "BOOLEAN", "date32[day]": "DATE", "timestamp[us]": "TIMESTAMP_NTZ"}
_AS_WRITTEN = {"datetimeRebaseMode": "CORRECTED"}  # days of the calendar that Arrow has too


class KeyLists(ABC):
    """A place for lists of keys while they are read."""

    def frame(self, name: str, parts: Iterable[pa.Table]) -> DataFrame:
        """All parts of a list as one DataFrame. Decimals are as wide as the widest of them."""
        frames, size = [], 0
        for part in _larger(parts):
            frames.append(self._part(name, part))
            size += part.num_rows
        whole = reduce(lambda above, below: above.union(below), frames)
        return whole if size <= _FEW else whole.hint("merge")  # the other joins hold all keys in one place

    @abstractmethod
    def _part(self, name: str, part: pa.Table) -> DataFrame:
        """One part of a list as a DataFrame."""

    @abstractmethod
    def forget(self, name: str) -> None:
        """Drop a list."""

    @abstractmethod
    def close(self) -> None:
        """Drop all lists."""


def _larger(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Merge parts that are alike, while they are not very large: Spark takes long to plan many parts."""
    import pyarrow as pa  # noqa: PLC0415 (a heavy library, needed from here on)

    some: list[pa.Table] = []
    for part in parts:
        if some and (some[0].schema != part.schema or sum(each.num_rows for each in some) >= _FEW):
            yield pa.concat_tables(some)
            some = []
        some.append(part)
    yield pa.concat_tables(some)


@final
class KeysInFiles(KeyLists):
    """Lists in files, for a Spark on this machine: neither Python nor the virtual machine holds the keys."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._folder: ScratchFolder | None = None
        self._own: dict[str, Path] = {}

    def _part(self, name: str, part: pa.Table) -> DataFrame:
        types = [f"{field.name} {_TYPES.get(str(field.type), field.type)}" for field in part.schema]
        text = ", ".join(types).replace("decimal128", "DECIMAL")
        return self._session.read.options(**_AS_WRITTEN).schema(text).parquet(self._write(name, part).as_uri())

    def _write(self, name: str, part: pa.Table) -> Path:
        """Write a part to a file of its own, in the folder of its list."""
        import pyarrow.parquet as pq  # noqa: PLC0415 (a heavy library, needed from here on)

        try:
            if self._folder is None:
                self._folder = ScratchFolder()
            folder = self._own.setdefault(name, self._folder.path / name)
            folder.mkdir(mode=0o700, exist_ok=True)
            path = folder / f"{uuid4().hex}.parquet"
            pq.write_table(part, path)
        except OSError as error:
            kind = type(error)
        else:
            return path
        raise failure("other", kind)

    def forget(self, name: str) -> None:
        if name in self._own:
            shutil.rmtree(self._own.pop(name), ignore_errors=True)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


@final
class KeysInDriver(KeyLists):
    """Lists in the driver's virtual machine, for a Spark elsewhere: no place is known that its workers read too."""

    def __init__(self, made: Callable[[pa.Table], DataFrame]) -> None:
        self._made = made

    def _part(self, name: str, part: pa.Table) -> DataFrame:
        return self._made(part)

    def forget(self, name: str) -> None:
        """Do nothing: a list goes with its view."""

    def close(self) -> None:
        """Do nothing: lists go with their views."""
