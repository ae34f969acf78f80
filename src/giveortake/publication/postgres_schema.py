"""Publishing into a schema of a PostgreSQL database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import HIDDEN, InvalidParameter, NotFound, extra
from giveortake.publication.tables import CATALOGUE
from giveortake.publication.targets import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from psycopg import Connection

    from giveortake.answers import Answer
    from giveortake.answers.column import Kind, Value

_TYPES: dict[Kind, str] = {
    "integer": "bigint",
    "float": "double precision",
    "text": "text",
    "truth": "boolean",
    "date": "date",
    "time": "timestamp without time zone",
    "decimal": "numeric",
    "nothing": "text",
}
_HELD = """
SELECT c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''),
       coalesce(array_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped), '{}'),
       coalesce(array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum)
                FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped), '{}')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname = %s AND c.relkind IN ('r', 'v', 'm', 'p', 'f', 'S') GROUP BY c.oid, c.relname
"""
_PINNED = "SET LOCAL search_path = pg_catalog, pg_temp"  # functions of others, which fit better, are not found
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('giveortake publication ' || %s, 0))"


@contextmanager
def postgres_schema(address: str, schema: str) -> Iterator[Target]:
    """Open a schema of a database, in one transaction, which waits for any other that publishes there."""
    try:
        import psycopg  # noqa: PLC0415 (heavy)
        from psycopg import sql  # noqa: PLC0415 (heavy)
    except ImportError:
        raise NotFound("PostgreSQL needs psycopg", hint=extra("postgres")) from None
    try:
        with psycopg.connect(address) as connection:
            connection.execute(_PINNED)
            connection.execute(_ONE_AT_A_TIME, [schema])
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
            yield _PostgresSchema(connection, schema)
    except psycopg.Error as error:
        told = error.diag.message_primary or type(error).__name__
        raise InvalidParameter(
            "to",
            HIDDEN,
            f"cannot be written ({told}); nothing was changed",
            hint="postgresql://user@host/database, whose user may create a schema",
        ) from None


@final
class _PostgresSchema(Target):
    def __init__(self, connection: Connection[Any], schema: str) -> None:
        from psycopg import sql  # noqa: PLC0415 (it is there: this is its connection)

        self._connection, self._schema, self._sql = connection, schema, sql
        self.place = schema

    def held(self) -> Mapping[str, tuple[list[tuple[str, str]], str]]:
        found = self._connection.execute(_HELD, [self._schema]).fetchall()
        return {name: (list(zip(columns, kinds, strict=True)), comment) for name, comment, columns, kinds in found}

    def types(self, table: Answer) -> list[tuple[str, str]]:
        return [(column.name, _type(column.kind, column)) for column in table.columns]

    def create(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        listed = [self._written("{} " + kind, column) for column, kind in columns]  # kinds are our own
        self._connection.execute(
            self._sql.SQL("CREATE TABLE {} ({})").format(self._named(name), self._sql.SQL(", ").join(listed))
        )

    def empty(self, name: str) -> None:
        self._run("DELETE FROM {}", name)

    def drop(self, name: str) -> None:
        self._run("DROP TABLE {}", name)

    def fill(self, name: str, table: Answer) -> None:
        rows = zip(*table.columns, strict=True)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(self._sql.SQL("COPY {} FROM STDIN").format(self._named(name))) as copy,
        ):
            for row in rows:
                copy.write_row([storable(each) for each in row])

    def forget(self, release_ids: Sequence[str]) -> None:
        statement = self._sql.SQL("DELETE FROM {} WHERE release_id = ANY(%s)").format(self._named(CATALOGUE))
        self._connection.execute(statement, [list(release_ids)])

    def comment(self, name: str, said: str, columns: Sequence[tuple[str, str]]) -> None:
        written = self._sql.Literal(said)
        self._connection.execute(self._sql.SQL("COMMENT ON TABLE {} IS {}").format(self._named(name), written))
        for column, words in columns:
            statement = self._sql.SQL("COMMENT ON COLUMN {}.{} IS {}").format(
                self._named(name), self._sql.Identifier(column), self._sql.Literal(words)
            )
            self._connection.execute(statement)

    def _run(self, statement: str, name: str) -> None:
        self._connection.execute(self._sql.SQL(statement).format(self._named(name)))

    def _written(self, text: str, name: str) -> Any:
        return self._sql.SQL(text).format(self._sql.Identifier(name))

    def _named(self, name: str) -> Any:
        return self._sql.Identifier(self._schema, name)


def _type(kind: Kind, values: Any) -> str:
    """The type of a column; whole numbers beyond 64 bits are numeric."""
    if kind == "integer" and any(each is not None and not -(2**63) <= each < 2**63 for each in values):
        return "numeric"
    return _TYPES[kind]


def storable(value: Value) -> Value:
    """A value as PostgreSQL can hold it: NUL in texts is replaced."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
