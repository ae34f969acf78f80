"""The backend that opens PostgreSQL, for addresses of its servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.engines.protocol import Engine, Limits


@final
class PostgresBackend:
    """The backend for tables that a URL of PostgreSQL names."""

    name = "postgresql"
    schemes: tuple[str, ...] = ("postgresql", "postgres")

    def claims(self, source: object) -> bool:
        return False

    def open(self, source: object, limits: Limits) -> Engine:
        from giveortake.engines.postgres.engine import PostgresEngine  # noqa: PLC0415 (brings psycopg)

        return PostgresEngine(str(source), seconds=limits.seconds)


POSTGRES = PostgresBackend()
