"""Plain DuckDB: no noise, no ledger; with `windows` and `preaggregated` the bounding as it is written by hand."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import questions
from contestant import main

if TYPE_CHECKING:
    from collections.abc import Callable

CLAMPED = "least(greatest(amount, 0), 100)"
WINDOWS = f"""WITH rows_ranked AS (SELECT user_id, category, {CLAMPED} AS x, row_number() OVER
    (PARTITION BY user_id, category ORDER BY hash(amount, day, 42)) AS row FROM payments),
  groups_ranked AS (SELECT category, x, dense_rank() OVER (PARTITION BY user_id ORDER BY hash(category, user_id, 42))
    AS place FROM rows_ranked WHERE row <= {questions.ROWS})
SELECT category, count(*), sum(x), avg(x) FROM groups_ranked WHERE place <= {questions.GROUPS} GROUP BY 1"""
PREAGGREGATED = f"""WITH pairs AS (SELECT user_id, category, least(count(*), {questions.ROWS}) AS n,
    least(sum({CLAMPED}), {100 * questions.ROWS}) AS total FROM payments GROUP BY ALL),
  ranked AS (SELECT category, n, total, row_number() OVER (PARTITION BY user_id ORDER BY hash(category, user_id, 42))
    AS place FROM pairs)
SELECT category, sum(n), sum(total), sum(total) / sum(n) FROM ranked WHERE place <= {questions.GROUPS} GROUP BY 1"""
DISCOVERED = f"""WITH pairs AS (SELECT DISTINCT user_id, category, day FROM payments),
  ranked AS (SELECT category, day, row_number() OVER (PARTITION BY user_id ORDER BY hash(category, day, user_id, 42))
    AS place FROM pairs)
SELECT category, day, count(*) AS n FROM ranked WHERE place <= {questions.GROUPS} GROUP BY ALL HAVING n >= 5"""
TEXTS = {
    "count": questions.by_region(),
    "sums": questions.by_category(questions.PLAIN),
    "sums other": questions.by_other_key(questions.PLAIN),
    "sums filtered": questions.by_category(questions.PLAIN, f"WHERE {questions.FILTER}"),
    "windows": WINDOWS,
    "preaggregated": PREAGGREGATED,
    "discovered": DISCOVERED,
    "discovered unbounded": questions.by_category_and_day(),
    "quantiles": f"SELECT region, quantile_cont(amount, {list(questions.QUANTILES)}) FROM payments GROUP BY region",
}


def task(text: str, path: str) -> Callable[[], int]:
    where = path if Path(path).is_file() else f"{path}/*.parquet"

    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW payments AS SELECT * FROM read_parquet('{where}')")
    return lambda: len(connection.execute(text).fetchall())


if __name__ == "__main__":
    main({name: partial(task, text) for name, text in TEXTS.items()})
