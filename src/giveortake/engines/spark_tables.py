"""Tables of Spark: how they are found, which of their columns can be asked about, and what tells that they changed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final
from urllib.parse import parse_qs

from giveortake.engines.spark_printer import SparkPrinter
from giveortake.errors import InvalidParameter, NotFound
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

_WRITE_IT = "write it to a table first, and protect that one"
_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), Kind.INTEGER),
    **dict.fromkeys(("float", "double"), Kind.REAL),
    **dict.fromkeys(("string", "char", "varchar"), Kind.TEXT),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Kind.TIMESTAMP),
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
}
_CHOOSING_ROWS = {"Sample", "GlobalLimit", "LocalLimit", "Offset", "Tail"}


def connect(url: str) -> tuple[SparkSession, str]:
    """A session and the name of a table in it; the session is there until whoever asked for it stops it.

    `spark://host:port?table=db.trips` names a cluster, `sc://host:port?table=db.trips` a server of Spark Connect, and
    a plain `db.trips` a table of the session that is there already.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 (a heavy library, needed from here on)

    place, _, options = url.partition("?")
    if "://" not in url:
        session = SparkSession.getActiveSession()
        if session is None:
            raise NotFound("there is no Spark session", hint="start one, or write spark://host:port?table=db.trips")
        return session, url
    tables = parse_qs(options).get("table", [])
    if len(tables) != 1 or not place.startswith(("spark://", "sc://")):
        raise InvalidParameter(
            "source", place, "names no table of Spark", hint="write spark://host:port?table=db.trips"
        )
    builder = SparkSession.builder
    builder = builder.remote(place) if place.startswith("sc://") else builder.master(place)
    return builder.getOrCreate(), tables[0]


def is_connect(session: SparkSession) -> bool:
    """Whether the session is that of Spark Connect, which has no virtual machine beside it."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def found_table(session: SparkSession, source: object) -> DataFrame:
    """A DataFrame, or the table of that name."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 (see above)

    if isinstance(source, str):
        try:
            return session.table(source)
        except PySparkException:
            raise NotFound(f"Spark has no table {source!r}") from None
    if not type(source).__module__.startswith("pyspark.sql.") or not hasattr(source, "createGlobalTempView"):
        raise InvalidParameter("source", source, "is no table of Spark", hint="pass a DataFrame or a table's name")
    frame: Any = source
    if is_connect(session) != is_connect(frame.sparkSession):
        raise InvalidParameter("source", source, "belongs to another Spark than the session")
    return frame  # type: ignore[no-any-return]


def require_readable(frame: DataFrame) -> None:
    """Refuse what is not the same rows each time it is read."""
    if frame.isStreaming:
        raise InvalidParameter("source", frame, "is a stream", hint=_WRITE_IT)
    names = [name.lower() for name in frame.columns]
    if len(set(names)) < len(names):
        raise InvalidParameter("source", frame, "has columns whose names differ in case alone", hint="rename them")
    if is_connect(frame.sparkSession):
        return  # what it computes is known to the server alone
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 (Spark tells it nowhere else)
    if not plan.deterministic():
        raise InvalidParameter("source", frame, "is computed anew, with luck, each time it is read", hint=_WRITE_IT)
    if not _CHOOSING_ROWS.isdisjoint(_operators(plan)):
        raise InvalidParameter("source", frame, "takes some rows of others, not always the same", hint=_WRITE_IT)


def _operators(plan: Any) -> Iterator[str]:
    yield plan.nodeName()
    children = plan.children()
    for place in range(children.size()):
        yield from _operators(children.apply(place))


def offered_columns(frame: DataFrame) -> tuple[tuple[str, Domain], ...]:
    """The columns of a kind that can be asked about, and what their types say. Arrays, maps and bytes cannot."""
    found = [(field.name, _domain(field.dataType)) for field in frame.schema.fields]
    return tuple((name, domain) for name, domain in found if domain is not None)


def _domain(kind: DataType) -> Domain | None:
    name = kind.typeName().partition(" ")[0].partition("(")[0]
    if name == "decimal":
        return Domain(Kind.DECIMAL, step=Fraction(1, 10 ** int(getattr(kind, "scale", 0))))
    return Domain(_KINDS[name]) if name in _KINDS else None


def selected(frame: DataFrame, columns: tuple[tuple[str, Domain], ...]) -> DataFrame:
    """The columns that are offered alone. Collations, under which different texts are equal, are left behind."""
    printer = SparkPrinter({})
    collated = {field.name for field in frame.schema.fields if getattr(field.dataType, "collation", _PLAIN) != _PLAIN}
    texts = []
    for name, _ in columns:
        column = printer.identifier(name)
        texts.append(f"CAST({column} AS STRING COLLATE {_PLAIN}) AS {column}" if name in collated else column)
    return frame.selectExpr(*texts)


_PLAIN = "UTF8_BINARY"


@final
@dataclass(frozen=True, slots=True)
class Files:
    """The files that a table is read from, with their sizes and times, where Spark can tell them."""

    frame: DataFrame
    table: str | None
    states: frozenset[tuple[str, int, int]]

    @classmethod
    def of(cls, frame: DataFrame, source: object) -> Files:
        """Those of now."""
        return cls(frame, source if isinstance(source, str) else None, _states(frame))

    def unchanged(self) -> bool:
        """Whether they are still the same. Differential privacy does not depend on it."""
        frame = self.frame if self.table is None else self.frame.sparkSession.table(self.table)
        return _states(frame) == self.states


def _states(frame: DataFrame) -> frozenset[tuple[str, int, int]]:
    session = frame.sparkSession
    if is_connect(session):
        return frozenset()
    machine: Any = session._jvm  # noqa: SLF001 (file systems are known to the virtual machine alone)
    configuration = session._jsc.hadoopConfiguration()  # noqa: SLF001 (see above)
    found = set()
    for name in frame.inputFiles():
        path = machine.org.apache.hadoop.fs.Path(machine.java.net.URI(name))
        status = path.getFileSystem(configuration).getFileStatus(path)
        found.add((name, status.getLen(), status.getModificationTime()))
    return frozenset(found)
