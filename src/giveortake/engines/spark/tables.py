"""Tables of Spark: how they are found, and whether they give the same rows each time.

What user-defined functions do, and how the rows came about that a plan begins with, is in no plan.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final
from urllib.parse import parse_qs

from giveortake.engines.spark.dialect import SparkDialect
from giveortake.errors import HIDDEN, InvalidParameter, NotFound, safe_text
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType


_CHOOSING = {"Sample", "GlobalLimit", "LocalLimit", "Offset", "Tail", "AsOfJoin", "AttachDistributedSequence"}
_CLOCKS = {"CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now"}
_BUILT_IN = "org.apache.spark.sql.catalyst.expressions.aggregate."
_OF_ANY_ORDER = {  # aggregates that are the same, but for the last bits of doubles, in whatever order their rows come
    *("Count", "CountIf", "Sum", "Average", "Min", "Max", "Product", "HyperLogLogPlusPlus", "PivotFirst"),
    *("BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg"),
    *("Median", "Percentile", "PercentileCont", "PercentileDisc"),
    *("StddevPop", "StddevSamp", "VariancePop", "VarianceSamp", "Skewness", "Kurtosis"),
    *("Corr", "CovPopulation", "CovSample", "RegrCount", "RegrAvgX", "RegrAvgY", "RegrR2", "RegrReplacement"),
    *("RegrSXX", "RegrSXY", "RegrSYY", "RegrSlope", "RegrIntercept", "AggregateExpression"),
}
_OF_PEERS = {"Rank", "DenseRank", "PercentRank", "CumeDist"}  # the same for all rows that are ordered alike
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_TOLD_APART = {  # types of which what is ordered alike is the same; zeros have signs, and collations take texts for one
    *("tinyint", "smallint", "int", "bigint", "boolean", "string", "date", "timestamp", "timestamp_ntz"),
}


def is_computed_anew(plan: Any, machine: Any) -> bool:
    """Whether luck or a clock decides about it."""
    plans = list(_with_subqueries(plan))
    if not all(part.deterministic() for part in plans):
        return True
    if not plan.containsPattern(machine.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()):
        return False  # nothing of now or here, as users and clocks are: expressions are many to look at
    return any(
        _class(expression) in _CLOCKS for part in plans for node in _nodes(part) for expression in _expressions(node)
    )


def chooses_rows(plan: Any) -> bool:
    """Whether any part of it takes some rows of many, where nothing says which."""
    return any(_chooses(operator) for part in _with_subqueries(plan) for operator in _nodes(part))


def _with_subqueries(plan: Any) -> Iterator[Any]:
    yield plan
    yield from _members(plan.subqueriesAll())


def _chooses(operator: Any) -> bool:
    match operator.nodeName():
        case "Deduplicate":
            return bool(operator.keys().size() < operator.child().output().size())
        case "Aggregate":
            return any(map(_depends_on_order, _expressions(operator)))
        case "Window":
            return not _orders_all(operator) and any(map(_depends_on_peers, _expressions(operator)))
        case name:
            return name in _CHOOSING


def _depends_on_order(expression: Any) -> bool:
    name = str(expression.getClass().getName())
    return name.startswith(_BUILT_IN) and name.removeprefix(_BUILT_IN) not in _OF_ANY_ORDER


def _depends_on_peers(expression: Any) -> bool:
    """Whether the function of a window tells rows apart that its order does not."""
    if _class(expression) != "WindowExpression":
        return _depends_on_order(expression)
    function, specification = _members(expression.children())
    *_, frame = _members(specification.children())
    frame_sql = str(frame.sql())
    of_peers = _class(function) == "AggregateExpression" and (frame_sql == _WHOLE or frame_sql.startswith("RANGE"))
    return _class(function) not in _OF_PEERS and not of_peers


def _orders_all(window: Any) -> bool:
    """Whether rows that a window's order does not tell apart are the same in all columns."""
    keys = [*_members(window.partitionSpec()), *(order.child() for order in _members(window.orderSpec()))]
    ordered = {expression.exprId().id() for expression in keys if _class(expression) == "AttributeReference"}
    return all(
        column.exprId().id() in ordered
        and column.dataType().simpleString().partition("(")[0] in {*_TOLD_APART, "decimal"}
        for column in _members(window.child().output())
    )


def _expressions(operator: Any) -> Iterator[Any]:
    for expression in _members(operator.expressions()):
        yield from _nodes(expression)


def _nodes(tree: Any) -> Iterator[Any]:
    """A plan or an expression, and all that is below it."""
    yield tree
    for child in _members(tree.children()):
        yield from _nodes(child)


def _members(sequence: Any) -> Iterator[Any]:
    for index in range(sequence.size()):
        yield sequence.apply(index)


def _class(node: Any) -> str:
    return str(node.getClass().getSimpleName())


_WRITE_IT = "write it to a table first, and protect that one"
_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), Kind.INTEGER),
    **dict.fromkeys(("float", "double"), Kind.REAL),
    **dict.fromkeys(("string", "char", "varchar"), Kind.TEXT),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Kind.TIMESTAMP),
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
}


def connect(url: str) -> tuple[SparkSession, str]:
    """The session and the table that a URL names; the session lives until the caller stops it.

    `spark://host:port?table=db.trips` names a cluster, `sc://host:port?table=db.trips` a server of Spark Connect, and
    a plain `db.trips` a table of the session that already exists.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 (a heavy library, needed from here on)

    session = SparkSession.getActiveSession()
    address, _, options = url.strip().partition("?")
    scheme, separator, host = address.partition("://")
    if not separator:
        if session is None:
            raise NotFound("there is no Spark session", hint="start one, or write spark://host:port?table=db.trips")
        return session, url
    tables = parse_qs(options).get("table", [])
    scheme = scheme.lower()
    if len(tables) != 1 or scheme not in {"spark", "sc"}:
        raise InvalidParameter(
            "source", HIDDEN, "names no table of Spark", hint="write spark://host:port?table=db.trips"
        )
    address = f"{scheme}://{host}"
    if session is None:
        builder = SparkSession.builder
        session = _started(builder.remote(address) if scheme == "sc" else builder.master(address))
    if not _is_at(session, address):
        raise InvalidParameter(
            "source",
            HIDDEN,
            "is in another Spark than the session that is active",
            hint="stop that session, or name a table of it without an address",
        )
    return session, tables[0]


def _started(builder: SparkSession.Builder) -> SparkSession:
    """Start a session. Spark's error messages may hold its address, and are not passed on."""
    with suppress(Exception):  # Spark and its gateway raise whatever they please
        return builder.getOrCreate()
    raise NotFound("Spark cannot be reached, or does not let giveortake in", hint="check host and port")


def _is_at(session: SparkSession, address: str) -> bool:
    if not is_connect(session):
        return session.sparkContext.master == address
    if not address.startswith("sc://"):
        return False
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 (see above)

    client: Any = session.client
    with suppress(Exception):  # what is no address of Spark Connect
        return bool(client.host == DefaultChannelBuilder(address).host)
    return False


def is_connect(session: SparkSession) -> bool:
    """Whether the session is that of Spark Connect, which has no virtual machine beside it."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def frame_of(session: SparkSession, source: object) -> DataFrame:
    """A DataFrame, or the table of that name."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 (see above)

    if isinstance(source, str):
        try:
            return session.table(source)
        except PySparkException:
            raise NotFound(f"Spark has no table {safe_text(source)!r}") from None
    if not type(source).__module__.startswith("pyspark.sql.") or not hasattr(source, "createGlobalTempView"):
        problem = f"is not a Spark table: its type is {type(source).__name__}"
        raise InvalidParameter("source", HIDDEN, problem, hint="pass a DataFrame or a table's name")
    frame: Any = source
    if is_connect(session) != is_connect(frame.sparkSession):
        raise InvalidParameter("source", HIDDEN, "belongs to another Spark than the session")
    return frame  # type: ignore[no-any-return]  # (pyspark has no types here)


def require_readable(frame: DataFrame) -> None:
    """Refuse a table that may have other rows each time it is read."""
    if frame.isStreaming:
        raise InvalidParameter("source", HIDDEN, "is a stream", hint=_WRITE_IT)
    names = [name.lower() for name in frame.columns]
    if len(set(names)) < len(names):
        raise InvalidParameter("source", HIDDEN, "has columns whose names differ only in case", hint="rename them")
    if is_connect(frame.sparkSession):
        return  # what it computes is known to the server alone
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 (Spark tells it nowhere else)
    machine = frame.sparkSession._jvm  # noqa: SLF001 (as above)
    if is_computed_anew(plan, machine):
        problem = "is computed anew, with luck or by the clock, each time it is read"
        raise InvalidParameter("source", HIDDEN, problem, hint=_WRITE_IT)
    if chooses_rows(plan):
        raise InvalidParameter("source", HIDDEN, "takes some rows of others, not always the same", hint=_WRITE_IT)


def offered_columns(frame: DataFrame) -> tuple[tuple[str, Domain], ...]:
    """The columns of a kind that can be asked about, and what their types say. Arrays, maps and bytes cannot."""
    domains = [(field.name, _domain(field.dataType)) for field in frame.schema.fields]
    return tuple((name, domain) for name, domain in domains if domain is not None)


def unasked_columns(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    """The columns of kinds that cannot be asked about, and their types."""
    fields = frame.schema.fields
    return tuple((field.name, field.dataType.simpleString()) for field in fields if _domain(field.dataType) is None)


def _domain(kind: DataType) -> Domain | None:
    name = kind.typeName().partition(" ")[0].partition("(")[0]
    if name == "decimal":
        return Domain(Kind.DECIMAL, step=Fraction(1, 10 ** int(getattr(kind, "scale", 0))))
    return Domain(_KINDS[name]) if name in _KINDS else None


def selected(frame: DataFrame, columns: tuple[tuple[str, Domain], ...]) -> DataFrame:
    """The columns that are offered alone. Collations, under which different texts are equal, are left behind.

    CHAR and VARCHAR do not tell theirs.
    """
    dialect = SparkDialect()
    plain = {field.name for field in frame.schema.fields if getattr(field.dataType, "collation", None) == _PLAIN}
    texts = []
    for name, domain in columns:
        column, is_plain = dialect.identifier(name), domain.kind is not Kind.TEXT or name in plain
        texts.append(column if is_plain else f"CAST({column} AS STRING COLLATE {_PLAIN}) AS {column}")
    return frame.selectExpr(*texts)


_PLAIN = "UTF8_BINARY"


@final
@dataclass(frozen=True, slots=True)
class Files:
    """The files that a table is read from, with their sizes and times, as far as Spark knows them."""

    frame: DataFrame
    table: str | None
    states: frozenset[tuple[str, int, int]]

    @classmethod
    def of(cls, frame: DataFrame, source: object) -> Files:
        """The files of a table as they are now."""
        return cls(frame, source if isinstance(source, str) else None, _states(frame))

    def unchanged(self) -> bool:
        """Whether the files are still there and the same. What parts and counters promise depends on it."""
        with suppress(Exception):  # Spark and its gateway raise whatever they please about files that are gone
            frame = self.frame if self.table is None else self.frame.sparkSession.table(self.table)
            return _states(frame) == self.states
        return False


def _states(frame: DataFrame) -> frozenset[tuple[str, int, int]]:
    session = frame.sparkSession
    if is_connect(session):
        return frozenset()
    path_of, uri_of = _classes(session._jvm)  # noqa: SLF001 (file systems are known to the virtual machine alone)
    configuration = session._jsc.hadoopConfiguration()  # noqa: SLF001 (see above)
    states = set()
    for name in frame.inputFiles():
        path = path_of(uri_of(name))
        status = path.getFileSystem(configuration).getFileStatus(path)
        states.add((name, status.getLen(), status.getModificationTime()))
    return frozenset(states)


@lru_cache(maxsize=1)
def _classes(machine: Any) -> tuple[Any, Any]:
    """The Java classes of paths and URIs, looked up once: finding a class by its name is slow."""
    return machine.org.apache.hadoop.fs.Path, machine.java.net.URI
