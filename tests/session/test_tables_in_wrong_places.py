"""A table that stands in the wrong argument is refused without a word of what is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import GiveOrTakeError, InvalidParameter
from small_session import small_session

HIDDEN = "HIDDENROW"
TABLES = {
    "pandas": pd.DataFrame({"p": [HIDDEN, "x"]}),
    "a column of pandas": pd.Series([HIDDEN, "x"]),
    "polars": pl.DataFrame({"p": [HIDDEN, "x"]}),
    "arrow": pl.DataFrame({"p": [HIDDEN, "x"]}).to_arrow(),
    "an array": np.array([HIDDEN, "x"]),
    "in a list": [pd.Series([HIDDEN])],
    "in a dictionary": {"a": np.array([HIDDEN])},
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_no_refusal_tells_what_is_in_a_table(table: Any) -> None:
    assert HIDDEN not in str(InvalidParameter("epsilon", table, "is not a number"))
    with small_session() as s:
        for wrong in (
            lambda: s.profile(table, epsilon=1),
            lambda: s.batch(table, epsilon=1),
            lambda: s.table(table),
            lambda: s.sql("SELECT COUNT(*) AS n FROM data").answer(epsilon=table),
            lambda: gt.protect(pl.DataFrame({"p": [1]}), unit="p", budget=gt.PureDP(1), name=table),
            lambda: gt.protect(pl.DataFrame({"p": [1]}), unit="p", budget=gt.PureDP(1), domains=table),
        ):
            with pytest.raises(GiveOrTakeError) as refused:
                wrong()
            assert HIDDEN not in str(refused.value)
