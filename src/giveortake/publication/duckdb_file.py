"""Publishing into a schema of a DuckDB file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from giveortake.engines.duckdb.tables import open_database
from giveortake.engines.sql.dialect import single_quoted
from giveortake.errors import InvalidParameter
from giveortake.publication.names import quoted
from giveortake.publication.tables import CATALOGUE
from giveortake.publication.targets import MARK, Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from giveortake.answers import Answer


@contextmanager
def duckdb_schema(path: Path, schema: str) -> Iterator[Target]:
    """Open a schema of a file, in one transaction. A file that holds anything but publications is refused."""
    import duckdb  # noqa: PLC0415 (heavy)

    before = path.exists()
    try:
        with open_database(file=path) as connection:
            connection.execute("BEGIN")
            target = _DuckDBSchema(connection, schema, str(path))
            if before:
                _require_ours(connection, path)
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
            yield target
            connection.execute("COMMIT")
    except (duckdb.IOException, duckdb.CatalogException, duckdb.DependencyException) as error:
        problem = type(error).__name__.removesuffix("Exception")
        raise InvalidParameter(
            "to",
            str(path),
            f"cannot be written ({problem}); nothing was changed",
            hint="is it a DuckDB file that no other program has open, in a folder that exists?",
        ) from None


def _require_ours(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a file with tables that we did not publish: a protected table may lie in a DuckDB file."""
    comments = connection.execute("SELECT comment FROM duckdb_tables() WHERE NOT internal").fetchall()
    if not all((comment or "").endswith(MARK) for (comment,) in comments):
        raise InvalidParameter(
            "to", str(path), "holds tables that were not published by giveortake", hint="name a file of its own"
        )


@final
class _DuckDBSchema(Target):
    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: str, place: str) -> None:
        self._connection = connection
        self._schema = schema
        self.place = place

    def held(self) -> Mapping[str, tuple[list[tuple[str, str]], str]]:
        tables = "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = ?"
        found = self._connection.execute(tables, [self._schema]).fetchall()
        columns = (
            "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ? "
            "ORDER BY column_index"
        )
        return {
            name: (self._connection.execute(columns, [self._schema, name]).fetchall(), comment or "")
            for name, comment in found
        }

    def types(self, table: Answer) -> list[tuple[str, str]]:
        self._connection.register("published_now", table)
        found = self._connection.execute("DESCRIBE SELECT * FROM published_now").fetchall()
        self._connection.unregister("published_now")
        return [(name, "VARCHAR" if kind == '"NULL"' else kind) for name, kind, *_ in found]

    def create(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
        self._connection.execute(f"CREATE TABLE {self._named(name)} ({listed})")

    def empty(self, name: str) -> None:
        self._connection.execute(f"DELETE FROM {self._named(name)}")  # noqa: S608 (a quoted name)

    def drop(self, name: str) -> None:
        self._connection.execute(f"DROP TABLE {self._named(name)}")

    def fill(self, name: str, table: Answer) -> None:
        self._connection.register("published_now", table)
        self._connection.execute(f"INSERT INTO {self._named(name)} SELECT * FROM published_now")  # noqa: S608 (as above)
        self._connection.unregister("published_now")

    def forget(self, release_ids: Sequence[str]) -> None:
        statement = f"DELETE FROM {self._named(CATALOGUE)} WHERE release_id = ?"  # noqa: S608 (as above)
        if release_ids:
            self._connection.executemany(statement, [[each] for each in dict.fromkeys(release_ids)])

    def comment(self, name: str, said: str, columns: Sequence[tuple[str, str]]) -> None:
        self._connection.execute(f"COMMENT ON TABLE {self._named(name)} IS {single_quoted(said)}")
        for column, words in columns:
            self._connection.execute(
                f"COMMENT ON COLUMN {self._named(name)}.{quoted(column)} IS {single_quoted(words)}"
            )

    def _named(self, name: str) -> str:
        return f"{quoted(self._schema)}.{quoted(name)}"
