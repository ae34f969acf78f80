"""The reference of SQL says what is true."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import QueryRefused
from giveortake.plan.functions import CASTS, FUNCTIONS
from giveortake.sql.rows import PARTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
PAIRS = re.findall(r"^\| `(SELECT .+?)` \| `(SELECT .+?)` \|$", PAGE, re.MULTILINE)
SIGNS = {"add", "subtract", "multiply", "divide", "modulo", "negate", "eq", "ne", "lt", "le", "gt", "ge"}
SPELLED = {"is_null": "IS NULL", "to_real": "DOUBLE", "to_integer": "BIGINT", "to_text": "VARCHAR", "to_date": "DATE"}


@pytest.fixture(scope="module")
def session() -> gt.session.Session:
    trips = pl.DataFrame(
        {"user_id": ["a"], "region": ["north"], "amount": [1.0], "age": [3], "day": pl.Series([0]).cast(pl.Date)}
    )
    return gt.protect(
        {"trips": trips},
        name="trips",
        unit="user_id",
        budget=gt.PureDP(1),
        domains={"region": ["north", "south"], "amount": (0, 500), "age": (0, 120)},
        public={"zones": pl.DataFrame({"region": ["north", "south"], "zone": ["cold", "warm"]})},
        caps={"groups_per_person": 4, "rows_per_group": 4},
    )


def test_what_the_page_refuses_is_refused_with_a_hint_and_its_rewrites_are_not(session: gt.session.Session) -> None:
    assert len(PAIRS) > 20
    answered, without_a_hint = [], []
    for refused, instead in PAIRS:
        session.sql(instead)
        try:
            session.sql(refused)
        except QueryRefused as refusal:
            without_a_hint += [refused] * (not refusal.hint)
        else:
            answered.append(refused)
    assert (answered, without_a_hint) == ([], [])


def test_every_function_is_on_the_page() -> None:
    for name in FUNCTIONS.keys() - SIGNS:
        assert re.search(rf"`[^`]*\b{SPELLED.get(name, name.upper())}\b", PAGE), name
    for name in CASTS:
        assert name.upper() in PAGE or name in {"float", "int", "text"}
    assert set(PARTS.values()) <= FUNCTIONS.keys()
