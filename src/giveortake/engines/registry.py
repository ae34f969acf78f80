"""Choosing the engine of a table: the one that is where the table is. Other packages register theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from giveortake.engines.protocol import Limits
from giveortake.errors import HIDDEN, InvalidParameter, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.engines.protocol import Backend, Engine

GROUP = "giveortake.engines"  # of entry points, by which other packages register a `Backend`
HERE = "here"
_ADDRESS = re.compile(r"\s*(jdbc:|[^/\\]*://)", re.IGNORECASE)
_BUILT_IN = (
    "giveortake.engines.postgres.backend:POSTGRES",
    "giveortake.engines.spark.backend:SPARK",
    "giveortake.engines.duckdb.backend:DUCKDB",
)


def open_engine(
    source: Any, *, memory: str, threads: int | None, seconds: float | None, cache: Path | None = None
) -> Engine:
    """Open an engine for a source, or for a dictionary of sources, which have to be in one place."""
    sources = list(source.values()) if isinstance(source, Mapping) else [source]
    found = {backend.name: backend for backend in map(backend_of, sources or [None])}
    if len(found) > 1:
        raise InvalidParameter(
            "source", sorted(found), "are different places: tables that are asked together lie together"
        )
    (backend,) = found.values()
    return backend.open(sources[0] if sources else None, Limits(memory, threads, seconds, cache))


def require_tables(source: object) -> None:
    """Refuse rows in Python's own lists before anything looks for files among their texts."""
    for each in source.values() if isinstance(source, Mapping) else [source]:
        files = isinstance(each, list | tuple) and each and all(isinstance(part, str | Path) for part in each)
        if isinstance(each, list | tuple | Set | Mapping) and not files:
            raise not_a_table(each)


def not_a_table(source: object) -> InvalidParameter:
    """What is said of a source that is neither a file nor a table of any library."""
    return InvalidParameter(
        "source",
        HIDDEN,
        f"is not a table: its type is {type(source).__name__}",
        hint="pl.DataFrame(data) makes a table of lists; else pass a path to CSV, Parquet or DuckDB, or a Polars, "
        "pandas or Arrow table",
    )


def place_of(source: object) -> str:
    """Where a source is: in a server that its URL names, in Spark, or else `HERE`."""
    return backend_of(source).name


def backend_of(source: object) -> Backend:
    """The backend of a source: one of our own if it knows it, or else the one other package that does."""
    *others, here = (_load(place) for place in _BUILT_IN)
    for backend in (*others, here):
        if _knows(backend, source):
            return backend
    found = [backend for backend in _registered() if _knows(backend, source)]
    if len(found) > 1:
        names = ", ".join(backend.name for backend in found)
        raise InvalidParameter(
            "source", HIDDEN, f"is claimed by several engines: {names}", hint="uninstall all but one"
        )
    if found:
        return found[0]
    if is_address(source):
        known = [scheme for backend in (*others, *_registered()) for scheme in backend.schemes]
        raise InvalidParameter(
            "source",
            HIDDEN,
            "is an address of a kind that is not known",
            hint=f"{', '.join(f'{each}://' for each in known)}, or the path of a file",
        )
    return here  # which says what can be read here


def is_address(source: object) -> bool:
    """Whether a source is the URL of a server, known or not, which may hold a password and is never shown."""
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def table_in(source: str) -> str | None:
    """The table that a URL names, without its schema."""
    named = parse_qs(source.partition("?")[2]).get("table")
    return named[-1].rpartition(".")[2] if named else None


def _knows(backend: Backend, source: object) -> bool:
    if isinstance(source, str) and is_address(source):
        return source.partition("://")[0].strip().lower() in backend.schemes
    return backend.claims(source)


def _load(place: str) -> Backend:
    module, _, name = place.partition(":")
    backend: Backend = getattr(import_module(module), name)
    return backend


def _registered() -> Iterator[Backend]:
    """What other packages register, loaded only when no engine of our own knows a source."""
    from importlib.metadata import entry_points  # noqa: PLC0415 (slow to import, and seldom needed)

    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            backend: Backend = entry.load()
        except Exception:  # noqa: BLE001 (whatever the other package raises)
            raise NotFound(
                f"the engine {entry.name!r} that another package registers cannot be loaded",
                hint=f"import {entry.module} says why",
            ) from None
        yield backend
