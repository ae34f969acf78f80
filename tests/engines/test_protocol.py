"""Engines have the protocol's methods and no others: what they know of rows leaves as `Sensitive`, or not at all."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from giveortake.engines import Engine
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.engines.spark.engine import SparkEngine
from toy_engine import SQLiteEngine

ENGINES: list[type[Any]] = [DuckDBEngine, PostgresEngine, SparkEngine, SQLiteEngine]
TOLD = {  # what leaves an engine otherwise: its version, what types and public tables say, and whether files changed
    "add": "Source",
    "add_public": "PublicContent",
    "close": "None",
    "lock": "None",
    "prepare": "None",
    "require_runnable": "None",
    "unchanged": "bool",
}


def _public(kind: type[Any]) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_has_what_the_protocol_has_and_nothing_more(kind: type[Any]) -> None:
    assert _public(kind) == _public(Engine)
    assert getattr(kind, "__final__", False)


@pytest.mark.parametrize("name", sorted(_public(Engine) - {"identity", "has_witnesses"}))
def test_whatever_is_computed_of_rows_leaves_as_sensitive(name: str) -> None:
    returned = str(inspect.signature(getattr(Engine, name)).return_annotation)
    assert returned == TOLD.get(name) or "Sensitive[" in returned
