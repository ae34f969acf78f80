"""No row can make a question fail: every function on every evil value, nested, in every place."""

from __future__ import annotations

import random
from typing import Any

import pytest

from evil_calls import LEAVES, ROWS, calls
from evil_tables import DOMAINS, SCHEMA, frame
from giveortake.engines import KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.errors import QueryFailed
from giveortake.plan import ColumnReference, Derive, Expression, Filter, Kind, PrivateTable, Scan
from giveortake.plan.expressions import declared
from giveortake.plan.functions import FUNCTIONS
from tiers import tiered


@pytest.fixture(scope="module")
def engine() -> Any:
    made = DuckDBEngine(threads=1)
    yield made
    made.close()


@pytest.fixture(scope="module")
def scan(engine: DuckDBEngine) -> Scan:
    source = engine.add("evil", frame(ROWS, SCHEMA), {})
    engine.lock()
    columns = tuple(
        (name, declared(name, DOMAINS[name], domain) if name in DOMAINS and name != "y" else domain)
        for name, domain in source.columns
    )
    return Scan(PrivateTable("evil", columns, None))


def _run(engine: DuckDBEngine, scan: Scan, values: list[Expression]) -> None:
    """Count values, in one statement, and use each as a condition or as a key where it can be one."""
    schema = scan.schema
    engine.tally(Tally(scan, Keys(), tuple(Summand("values", value) for value in values)))
    truths = [value for value in values if value.domain(schema).kind is Kind.BOOLEAN][:2]
    for truth in truths:
        engine.tally(Tally(Filter(scan, truth), Keys(), (Summand("rows"),)))
    keys = [value for value in values if value.domain(schema).kind not in {Kind.REAL, Kind.TIMESTAMP}][:2]
    for key in keys:
        derived = Derive(scan, (("k", key),))
        column = KeyColumn("k", ColumnReference("k"), derived.schema["k"].keys())
        list(engine.persons(Persons(derived, Keys((column,)), 1)))
        if column.values is not None:
            engine.tally(Tally(derived, Keys((column,)), (Summand("rows"),)))


def test_every_function_is_total_on_evil_values_and_inside_every_other(engine: DuckDBEngine, scan: Scan) -> None:
    failed = []
    for name in sorted(FUNCTIONS):
        try:
            _require_total(name, engine, scan)
        except QueryFailed:
            failed.append(name)
    assert failed == []


def _require_total(name: str, engine: DuckDBEngine, scan: Scan) -> None:
    luck = random.Random(name)  # noqa: S311 (see above)
    plain = calls(name, LEAVES, luck, tiered(8, 24), scan)
    assert plain, name
    nested = [
        call
        for outer in luck.sample(sorted(FUNCTIONS), tiered(10, 40))
        for call in calls(outer, [*plain, *plain, *LEAVES], luck, 1, scan)
    ]
    _run(engine, scan, plain)
    _run(engine, scan, nested)
