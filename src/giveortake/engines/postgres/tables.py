"""Tables of PostgreSQL: where they are, what their types say, and whether they were written to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from giveortake.engines.protocol import Source
from giveortake.engines.sql.dialect import double_quoted, single_quoted
from giveortake.errors import HIDDEN, InvalidParameter, NotFound
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run: TypeAlias = "Callable[[str], list[tuple[Any, ...]]]"

SCHEMES = ("postgresql", "postgres")
_MOST_DIGITS = 38
_LISTED = 20
_TABLES = (
    "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')"
)
_IS_WATCHED = (  # whether what is read changes by writes alone, and the server counts them: a policy may ask the clock
    "(c.relkind = 'p' AND NOT EXISTS (SELECT FROM pg_partition_tree(c.oid) AS p JOIN pg_catalog.pg_class AS l "
    "ON l.oid = p.relid WHERE l.relkind = 'f') OR c.relkind IN ('r', 'm') AND NOT c.relhassubclass) "
    "AND NOT row_security_active(c.oid) AND NOT pg_is_in_recovery() AND current_setting('track_counts') = 'on'"
)
_CAN_LOCK = "c.relkind IN ('r', 'p') AND has_table_privilege(c.oid, 'SELECT')"
_WRITES = (
    "SELECT CAST(relid AS OID), pg_relation_filenode(relid), pg_stat_get_tuples_inserted(relid), "
    "pg_stat_get_tuples_updated(relid), pg_stat_get_tuples_deleted(relid) FROM "
    "(SELECT relid FROM pg_partition_tree({oid}) UNION SELECT CAST({oid} AS REGCLASS)) AS t ORDER BY relid"
)
_OBSERVE = (  # a number of a transaction may come again in a server that crashed or was put back, but no session does
    f"SELECT CAST(to_regclass({{qualified_name}}) AS OID) = c.oid, {_IS_WATCHED}, "
    "txid_snapshot_xmin(s) = txid_snapshot_xmax(s), "
    "concat(s, ' since ', (SELECT backend_start FROM pg_stat_get_activity(pg_backend_pid()))), "
    "ARRAY(SELECT CAST(relid AS OID) FROM pg_partition_tree(c.oid) ORDER BY 1) "
    "FROM pg_catalog.pg_class AS c, txid_current_snapshot() AS s WHERE c.oid = {oid}"
)


def split(url: object) -> tuple[str, str | None]:
    """The address of a database, and the table that `?table=` names.

    >>> split("postgresql://ann@db/clinic?table=visits&sslmode=require")
    ('postgresql://ann@db/clinic?sslmode=require', 'visits')
    """
    if not isinstance(url, str) or url.partition("://")[0].strip().lower() not in SCHEMES:
        raise InvalidParameter("source", HIDDEN, "is not a PostgreSQL URL", hint="postgresql://host/database?table=t")
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        raise InvalidParameter("source", HIDDEN, "is not a URL") from None
    options = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(name, value) for name, value in options if name != "table"], safe="/", quote_via=quote)
    return f"postgresql://{urlunsplit(parts._replace(scheme='', query=query)).removeprefix('//')}", dict(options).get(
        "table"
    )


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """A table in a database, `qualified_name` in its schema. Writes change `state`, where they are counted."""

    source: Source
    oid: int
    qualified_name: str
    columns: tuple[tuple[str, str], ...]
    can_lock: bool
    state: tuple[Any, ...] = ()
    compared_in: str | None = None  # the snapshot in which the content was last found to be the registered one
    partitions: tuple[int, ...] = ()  # that it had then

    def text(self) -> str:
        """The SQL that reads the table: each column as the one type of its kind."""
        types = dict(self.columns)
        columns = (f"{_read(name, types[name])} AS {double_quoted(name)}" for name, _ in self.source.columns)
        return f"(SELECT {', '.join(columns)} FROM {self.qualified_name} AS t)"

    def if_same_columns(self, run: Run) -> Stored | None:
        """The same table if its name still means it, with the same columns: it is read by its name."""
        return None if self._observe(run) is None else self

    def if_unchanged(self, run: Run) -> Stored | None:
        """This table if its content is still the same, else None.

        Its file and the numbers of rows that were ever inserted, updated and deleted tell that nothing was written; if
        they differ, the content is compared. PostgreSQL counts what another connection wrote some seconds late, ten if
        that connection stays idle, so that a release may still read it under the old name. Only what parts and counters
        promise depends on that, and those ask `if_registered_content`.
        """
        observation = self._observe(run)
        if observation is None:
            return None
        state = _state(run, self.oid) if observation.is_watched else ()
        if state and state == self.state:
            return self
        return replace(self, state=state) if _digest(run, self) == self.source.fingerprint else None

    def if_registered_content(self, run: Run) -> Stored | None:
        """This table if the transaction that `run` reads in sees exactly the registered content, else None.

        Guarantee: what is written gets a number, and a snapshot while nobody writes names the numbers of all that was
        ever written: if it is the one in which the content was last compared, by this session of the server, a table
        that only writes change has the same content. It was locked before: TRUNCATE and new names are of no snapshot.
        Else all of it is read and compared, in this transaction.
        """
        observation = self._observe(run)
        if observation is None:
            return None
        is_known = (
            observation.is_quiet
            and observation.snapshot == self.compared_in
            and tuple(observation.partitions) == self.partitions
        )
        if is_known and observation.is_watched and self.can_lock:
            return self
        if _digest(run, self) != self.source.fingerprint:
            return None
        compared_in = observation.snapshot if observation.is_quiet else None
        return replace(self, compared_in=compared_in, partitions=tuple(observation.partitions))

    def if_same_partitions(self, run: Run) -> Stored | None:
        """The same table if, after it was read, it has the partitions that `if_registered_content` saw.

        A new one is of no snapshot.
        """
        observation = self._observe(run)
        return self if observation is not None and tuple(observation.partitions) == self.partitions else None

    def _observe(self, run: Run) -> _Observation | None:
        """What the server says of the table, unless it is gone, has another name or other columns."""
        rows = run(_OBSERVE.format(oid=self.oid, qualified_name=single_quoted(self.qualified_name)))
        is_same = rows and rows[0][0] and _columns(run, self.oid) == (self.columns, self.source.loose)
        return _Observation(*rows[0]) if is_same else None


@final
class _Observation(NamedTuple):
    """What may differ from one question to the next."""

    is_named: bool
    is_watched: bool
    is_quiet: bool
    snapshot: str
    partitions: list[int]


def find(run: Run, schemas: Sequence[str], name: str, table: str) -> Stored:
    """A table by its name in the first of some schemas, or by schema.name.

    Where policies hide rows from the user, the question is about the visible ones.
    """
    table_literal = single_quoted(table)
    schema_rank = (
        f"array_position(CAST(ARRAY[{', '.join(map(single_quoted, schemas))}] AS TEXT[]), CAST(n.nspname AS TEXT))"
    )
    rows = run(
        f"SELECT c.oid, n.nspname, c.relname, {_IS_WATCHED}, {_CAN_LOCK} {_TABLES} "
        f"AND (c.relname = {table_literal} AND {schema_rank} IS NOT NULL "
        f"OR n.nspname || '.' || c.relname = {table_literal}) "
        f"ORDER BY {schema_rank} NULLS LAST, c.oid LIMIT 1"
    )
    if not rows:
        relations = run(f"SELECT c.relname {_TABLES} AND {schema_rank} IS NOT NULL ORDER BY 1")
        names = ", ".join(relation_name for (relation_name,) in relations[:_LISTED]) or "none"
        raise NotFound(f"the database has no table {table!r}", hint=f"it has {names}: add ?table=NAME to the address")
    ((oid, schema, relation, is_watched, can_lock),) = rows
    columns, loose = _columns(run, oid)
    domains = tuple((column, domain) for column, kind in columns if (domain := _domain(kind)) is not None)
    unasked = tuple((column, kind) for column, kind in columns if _domain(kind) is None)
    qualified_name = f"{double_quoted(schema)}.{double_quoted(relation)}"
    state = _state(run, oid) if is_watched else ()
    stored = Stored(Source(name, domains, "", unasked, loose), oid, qualified_name, columns, can_lock, state)
    return replace(stored, source=replace(stored.source, fingerprint=_digest(run, stored)))


def _columns(run: Run, oid: int) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Names and types, `enum` for all enumerations; and the names of texts that a collation compares loosely."""
    rows = run(
        "SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typnamespace = 'pg_catalog'::regnamespace "
        "THEN format_type(a.atttypid, a.atttypmod) ELSE '' END, coalesce(NOT l.collisdeterministic, false) "
        "FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid "
        "LEFT JOIN pg_catalog.pg_collation AS l ON l.oid = a.attcollation "
        f"WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    )
    return tuple((name, kind) for name, kind, _ in rows), tuple(name for name, _, is_loose in rows if is_loose)


def _state(run: Run, oid: int) -> tuple[Any, ...]:
    return tuple(run(_WRITES.format(oid=oid)))


def _digest(run: Run, stored: Stored) -> str:
    """A fingerprint by one scan: the number of rows and the sum of their hashes, whatever their order."""
    row = "ROW(t.*)"  # t alone would mean a column of that name
    hashed = f"CAST(CAST('x' || left(md5(CAST({row} AS TEXT)), 15) AS BIT(60)) AS BIGINT)"
    ((count, mixed),) = run(f"SELECT count(*), sum({hashed}) FROM {stored.qualified_name} AS t")
    return hashlib.sha256(f"{stored.columns}|{count}|{mixed}".encode()).hexdigest()


_KINDS = {
    "smallint": Kind.INTEGER,
    "integer": Kind.INTEGER,
    "bigint": Kind.INTEGER,
    "real": Kind.REAL,
    "double precision": Kind.REAL,
    "numeric": Kind.REAL,
    "text": Kind.TEXT,
    "character varying": Kind.TEXT,
    "character": Kind.TEXT,
    "name": Kind.TEXT,
    "uuid": Kind.TEXT,
    "enum": Kind.TEXT,
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    "timestamp without time zone": Kind.TIMESTAMP,
}


def _domain(kind: str) -> Domain | None:
    """The domain of a type: decimals of at most 38 digits are decimals, others real numbers."""
    scale = _scale(kind)
    if scale is not None:
        return Domain(Kind.DECIMAL, step=Fraction(1, 10**scale))
    plain = _plain(kind)
    return Domain(_KINDS[plain]) if plain in _KINDS else None


def _plain(kind: str) -> str:
    """A type without its lengths: timestamp(3) without time zone is one."""
    before, bracket, after = kind.partition("(")
    return before + after.partition(")")[2] if bracket and not kind.endswith("[]") else kind


def _scale(kind: str) -> int | None:
    if not kind.startswith("numeric(") or kind.endswith("[]"):
        return None
    digits, scale = (int(number) for number in kind.removeprefix("numeric(").rstrip(")").split(","))
    return scale if digits <= _MOST_DIGITS and 0 <= scale <= _MOST_DIGITS else None


def _read(name: str, kind: str) -> str:
    """A stored column as the one type of its kind; nothing that it may hold makes that fail."""
    column = f"t.{double_quoted(name)}"
    if _scale(kind) is not None:
        return f"nullif({column}, 'NaN')"
    match _KINDS[_plain(kind)]:
        case Kind.INTEGER:
            return f"CAST({column} AS BIGINT)"
        case Kind.TEXT:
            return f'CAST({column} AS TEXT) COLLATE "C"'
        case Kind.REAL if _plain(kind) == "numeric":
            return (
                f"CASE WHEN {column} = 'NaN' THEN NULL "
                f"WHEN abs({column}) >= 1.7976931348623158e308 THEN sign({column}) * CAST('inf' AS DOUBLE PRECISION) "
                f"WHEN abs({column}) <= 2.4703282292062328e-324 THEN 0 ELSE CAST({column} AS DOUBLE PRECISION) END"
            )
        case Kind.REAL:
            return f"CAST({column} AS DOUBLE PRECISION)"
        case _:
            return column
