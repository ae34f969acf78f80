"""Arrays in this process as a table that can be protected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt


def held(columns: Mapping[str, npt.NDArray[np.float64 | np.int64 | np.bool_ | np.str_]]) -> Any:
    """A table of columns: numbers, truth values or texts."""
    arrays = dict(columns)  # by this name DuckDB finds them
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    table = connection.sql("SELECT * FROM arrays")
    assert arrays is not None  # noqa: S101 (it is read by its name, above)
    return table
