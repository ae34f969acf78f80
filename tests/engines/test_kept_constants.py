"""What engines keep from one question to the next is bounded, however many questions are asked."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.engines.sql.engine import Cache
from inside import engine_of

WIDTHS = (1, 2, 3, 4, 5, 6, 1, 2)
FEW = 40  # values of constants that are kept here
ROOMS = pl.DataFrame({"room": ["a", "b"], "floor": [1, 2]})


def kept_on(engine: Any, where: str) -> list[str]:
    """The tables of constants that are there, whoever may still know of them."""
    if where == "duckdb":
        found = engine._rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'key_table%'")
        return [name for (name,) in found]
    return list(engine._constant_texts if where == "postgresql" else engine._views)


@pytest.mark.parametrize("where", EVERYWHERE)
def test_constants_do_not_pile_up_and_public_tables_stay(where: str, request: pytest.FixtureRequest) -> None:
    put = place(where, request)
    table = pl.DataFrame({"p": [1, 1, 2], "room": ["a", "b", "b"], "x": [0, 9, 23]})
    with gt.protect(
        put("t", table),
        unit="p",
        budget=gt.PureDP(10**12),
        name="t",
        domains={"x": (0, 23), "room": ["a", "b"]},
        rows_per_person=2,
        public={"rooms": ROOMS},
    ) as session:
        engine = engine_of(session)
        engine._constant_tables = Cache(FEW)
        before = len(kept_on(engine, where))
        most = 0
        for width in WIDTHS if where != "spark" else WIDTHS[::2]:  # 1, 3, 5, 1
            text = f"SELECT BUCKET(x, {width}) AS b, COUNT(*) AS n FROM t JOIN rooms ON t.room = rooms.room GROUP BY b"
            answer = session.sql(text).answer(epsilon=10**9).to_dict()
            starts = [width * (x // width) for x in (0, 9, 23)]
            assert answer["n"] == [starts.count(start) for start in range(0, 24, width)] + [0]
            most = max(most, len(kept_on(engine, where)) - before)
            engine._results.clear()  # the next question reads rows again
        assert 1 <= most <= 4, "several of few values, or one of many"


def test_what_was_used_last_is_kept() -> None:
    kept, gone = Cache[str, int](10), list[int]()
    for number, name in enumerate("abc"):
        kept.put(name, number, 4)
    assert kept.get("a") == 0
    kept.trim(gone.append)
    assert (gone, kept.get("a"), kept.get("b"), kept.get("c")) == ([1], 0, None, 2)
    kept.put("d", 3, 11)
    assert kept.get("d") == 3, "until it is trimmed"
    kept.trim(gone.append)
    assert gone == [1, 0, 2, 3]
    kept.put("e", 4, 10)
    kept.trim(gone.append)
    assert kept.get("e") == 4, "sizes were counted down"
    kept.clear()
    kept.put("f", 5, 10)
    kept.trim(gone.append)
    assert (kept.get("e"), kept.get("f")) == (None, 5)
