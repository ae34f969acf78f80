"""Engines have the protocol's methods and no others: what they know of rows leaves as `Sensitive`, or not at all."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from giveortake.engines import Engine
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.engines.protocol import HandsOverRows
from giveortake.engines.spark.engine import SparkEngine
from toy_engine import SQLiteEngine

ENGINES: list[type[Any]] = [DuckDBEngine, PostgresEngine, SparkEngine, SQLiteEngine]
TOLD = {  # what leaves an engine otherwise: its version, what types and public tables say, and whether files changed
    "add": "Source",
    "add_public": "PublicContent",
    "close": "None",
    "hold_to_content": "None",
    "lock": "None",
    "prepare": "None",
    "require_runnable": "None",
    "unchanged": "bool",
}


def _public(kind: type[Any]) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_has_what_the_protocol_has_and_nothing_more(kind: type[Any]) -> None:
    within = _public(HandsOverRows) if kind is DuckDBEngine else set()  # what engines of this process may have besides
    assert _public(kind) == _public(Engine) | within
    assert getattr(kind, "__final__", False)


@pytest.mark.parametrize("name", sorted(_public(Engine) - {"identity", "has_witnesses"} | _public(HandsOverRows)))
def test_whatever_is_computed_of_rows_leaves_as_sensitive(name: str) -> None:
    returned = str(inspect.signature(getattr(Engine, name, None) or getattr(HandsOverRows, name)).return_annotation)
    assert returned == TOLD.get(name) or "Sensitive[" in returned
