"""Which of a person's keys are counted when keys are looked for: no other person has a say in it."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from giveortake.engines import KeyColumn, Keys, Persons
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.sql.hashes import mark
from giveortake.plan import Column, Kind, PrivateTable, Scan

GROUPS = 2
KEYS: dict[str, tuple[list[Any], Any]] = {
    "text": ([f"k{index}" for index in range(20)], "a new key"),
    "numbers": (list(range(20)), -5),
    "wide numbers": (list(range(20)), -(2**40)),
    "missing": ([f"k{index}" for index in range(20)], None),
    "decimals": ([Decimal(index) / 4 for index in range(20)], Decimal("-7.25")),
}


def found(rows: list[tuple[int, Any]]) -> Counter[Any]:
    engine = DuckDBEngine()
    table = pl.DataFrame({"p": [person for person, _ in rows], "k": [key for _, key in rows]})
    source = engine.add("t", table, {})
    columns = tuple((name, domain.complete() if name == "p" else domain) for name, domain in source.columns)
    scan = Scan(PrivateTable("t", columns, "p"), None)
    keys, counts = engine._persons(Persons(scan, Keys((KeyColumn("k", Column("k"), None),)), GROUPS))
    engine.close()
    return Counter(dict(zip([key for (key,) in keys], counts.tolist(), strict=True)))


@pytest.mark.parametrize("kind", KEYS)
def test_a_person_with_a_new_key_moves_no_more_than_their_own_keys(kind: str) -> None:
    values, new = KEYS[kind]
    rows = [(person, values[(person * 7 + step * (1 + person % 5)) % 20]) for person in range(500) for step in range(6)]
    before, after = found(rows), found([*rows, (500, new)])
    assert sum(before.values()) == 500 * GROUPS
    assert after - before == Counter({new: 1})
    assert not before - after


def test_marks_are_of_values_not_of_how_they_are_stored() -> None:
    engine = DuckDBEngine()
    kinds = (Kind.INTEGER, Kind.TEXT, Kind.DECIMAL, Kind.REAL, Kind.BOOLEAN)
    same = [mark(DuckDBDialect(), text, Kind.DECIMAL) for text in ("1.5", "1.50")]
    assert len(set(engine._rows(f"SELECT unnest([{', '.join(same)}])"))) == 1
    texts = [mark(DuckDBDialect(), f"'{text}'", Kind.TEXT) for text in ("1", "1 ", "", "None", "é", "e\u0301")]
    assert len(set(engine._rows(f"SELECT unnest([{', '.join(texts)}])"))) == len(texts)
    assert {engine._rows(f"SELECT {mark(DuckDBDialect(), 'NULL', kind)}")[0] for kind in kinds} == {(-1583458089,)}
