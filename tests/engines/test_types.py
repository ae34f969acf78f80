"""What is printed has the type of its domain's kind: what is compared, joined and grouped is what the plan says."""

from __future__ import annotations

import random
from typing import Any

import pytest

from evil_calls import LEAVES, calls
from evil_tables import DOMAINS, SCHEMA, frame
from giveortake.audit.neighbours import random_row
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.plan import Kind, PrivateTable, Scan
from giveortake.plan.expressions import declared
from giveortake.plan.functions import FUNCTIONS
from tiers import tiered

TYPES = {
    Kind.INTEGER: ("BIGINT", "INTEGER"),
    Kind.REAL: ("DOUBLE",),
    Kind.TEXT: ("VARCHAR",),
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.DATE: ("DATE",),
    Kind.TIMESTAMP: ("TIMESTAMP",),
    Kind.DECIMAL: ("DECIMAL",),
}


@pytest.fixture(scope="module")
def asked() -> Any:
    engine = DuckDBEngine(threads=1)
    luck = random.Random("types")  # noqa: S311 (which rows are tried need not be secret)
    source = engine.add("evil", frame([random_row(luck, 1) for _ in range(3)], SCHEMA), {})
    columns = tuple(
        (name, declared(name, DOMAINS[name], domain) if name in DOMAINS else domain) for name, domain in source.columns
    )
    yield engine, Scan(PrivateTable("evil", columns, None))
    engine.close()


def test_every_function_has_the_type_of_its_kind(asked: Any) -> None:
    assert [wrong for name in sorted(FUNCTIONS) for wrong in _wrong_types(name, *asked)] == []


def _wrong_types(name: str, engine: Any, scan: Scan) -> list[tuple[Any, str]]:
    luck = random.Random(name)  # noqa: S311 (see above)
    printer = engine._printer
    plain = calls(name, LEAVES, luck, tiered(10, 30), scan)
    others = luck.sample(sorted(FUNCTIONS), tiered(15, len(FUNCTIONS)))
    nested = [call for outer in others for call in calls(outer, [*plain, *LEAVES], luck, 1, scan)]
    expressions = [*plain, *nested]
    listed = ", ".join(f"typeof({printer.expression(each, scan.schema)})" for each in expressions)
    types = engine._rows(f"SELECT {listed} FROM ({printer.relation(scan)}) AS t LIMIT 1")[0]
    return [
        (each, found)
        for each, found in zip(expressions, types, strict=True)
        if found != '"NULL"' and not found.startswith(TYPES[each.domain(scan.schema).kind])
    ]
