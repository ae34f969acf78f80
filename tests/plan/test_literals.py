"""Values that a question writes itself."""

from __future__ import annotations

import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import QueryRefused


def test_half_a_character_is_refused_at_no_cost_in_sql_and_in_frames() -> None:
    table = pl.DataFrame({"p": [1, 2], "k": ["a", "b"]})
    with gt.protect(table, unit="p", budget=gt.PureDP(1), name="t", rows_per_person=1) as s:
        for half in ("\ud800", "a\udfffb"):
            with pytest.raises(QueryRefused, match="character"):
                s.sql(f"SELECT COUNT(*) AS n FROM t WHERE k = '{half}'")
            with pytest.raises(QueryRefused, match="character"):
                s.table("t").filter(gt.col("k") == half)
        assert s.sql("SELECT COUNT(*) AS n FROM t WHERE k = '\U0001f642'").answer(epsilon="0.5").value is not None
        assert s.spent == 0.5
