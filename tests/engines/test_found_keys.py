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
from giveortake.engines.sql.printer import mark
from giveortake.plan import ColumnReference, Kind, PrivateTable, Scan
from tiers import is_long

GROUPS = 2
KEYS: dict[str, tuple[list[Any], Any]] = {
    "text": ([f"k{index}" for index in range(20)], "a new key"),
    "numbers": (list(range(20)), -5),
    "wide numbers": (list(range(20)), -(2**40)),
    "missing": ([f"k{index}" for index in range(20)], None),
    "decimals": ([Decimal(index) / 4 for index in range(20)], Decimal("-7.25")),
}


def found(rows: list[tuple[Any, Any]], weights: tuple[int, ...] | None = None, **limits: Any) -> Counter[Any]:
    engine = DuckDBEngine(**limits)
    table = pl.DataFrame({"p": [person for person, _ in rows], "k": [key for _, key in rows]})
    source = engine.add("t", table, {})
    columns = tuple((name, domain.complete() if name == "p" else domain) for name, domain in source.columns)
    scan = Scan(PrivateTable("t", columns, "p"), None)
    keys, counts = engine._persons(Persons(scan, Keys((KeyColumn("k", ColumnReference("k"), None),)), GROUPS, weights))
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


@pytest.mark.parametrize("kind", KEYS)
def test_a_person_shares_out_a_weight_by_how_many_keys_they_have(kind: str) -> None:
    values, new = KEYS[kind]
    rows = [(person, values[(person * 7 + step) % 20]) for person in range(60) for step in range(1 + person % 4)]
    before, after = found(rows, (10, 7)), found([*rows, (60, new), (60, values[0]), (60, new)], (10, 7))
    assert sum(before.values()) == 15 * 10 + 45 * 2 * 7
    assert after - before == Counter({new: 7, values[0]: 7})
    assert not before - after
    alone = Counter(key for person, key in rows if person % 4 == 0)
    light = Counter(key for person, key in rows if person % 4 == 1)
    few = found([(person, key) for person, key in rows if person % 4 < 2], (10, 7))
    assert few == Counter({key: 10 * alone[key] + 7 * light[key] for key in {*alone, *light}})


@pytest.mark.parametrize(
    ("length", "heavy", "name"),
    [(1000, 30_000, str)]
    if not is_long()
    else [(*size, name) for size in ((1, 200_000), (1000, 30_000)) for name in (int, str)],
)
def test_one_person_with_very_many_keys_adds_their_share_when_memory_is_short(
    name: Any, length: int, heavy: int
) -> None:
    """They make no question fail, and give the least weight to as many keys as count."""
    rows = [(name(person), "k" * length + str(person * step % 50)) for person in range(400) for step in range(5)]
    many = [(name(1000), "h" * length + str(number)) for number in range(heavy)]
    before, after = (found(each, (10, 7), memory="40MB", threads=1) for each in (rows, rows + many))
    assert sorted((after - before).values()) == [7] * GROUPS
    assert not before - after


def test_marks_are_of_values_not_of_how_they_are_stored() -> None:
    engine = DuckDBEngine()
    kinds = (Kind.INTEGER, Kind.TEXT, Kind.DECIMAL, Kind.REAL, Kind.BOOLEAN)
    same = [mark(DuckDBDialect(), text, Kind.DECIMAL) for text in ("1.5", "1.50")]
    assert len(set(engine._rows(f"SELECT unnest([{', '.join(same)}])"))) == 1
    texts = [mark(DuckDBDialect(), f"'{text}'", Kind.TEXT) for text in ("1", "1 ", "", "None", "é", "e\u0301")]
    assert len(set(engine._rows(f"SELECT unnest([{', '.join(texts)}])"))) == len(texts)
    assert {engine._rows(f"SELECT {mark(DuckDBDialect(), 'NULL', kind)}")[0] for kind in kinds} == {(-1583458089,)}
