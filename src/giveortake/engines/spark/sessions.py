"""Sessions of Spark: the one that a source belongs to, and one of our own beside it that no user's setting reaches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from giveortake.engines.spark.tables import connect
from giveortake.errors import GiveOrTakeError, NotFound, extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # results are read once
    "spark.sql.parser.manageParserCaches": "true",  # what the parser learns of each question would stay for ever,
    "spark.sql.parser.parserDfaCacheFlushRatio": "5",  # gigabytes after many; it forgets at 5 % of the driver's memory
}
_FORGOTTEN = ("spark.sql.legacy.", "spark.sql.ansi.", "spark.sql.parser.")
_KEPT = ("spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold")
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def session_of(source: object) -> SparkSession:
    """The session that a source belongs to."""
    if not isinstance(source, str):
        return source.sparkSession  # type: ignore[attr-defined, no-any-return]  # (a DataFrame, of either kind)
    try:
        return connect(source)[0]
    except GiveOrTakeError:
        raise
    except ImportError:
        raise NotFound("a table of Spark needs pyspark", hint=extra("spark")) from None
    except Exception:  # noqa: BLE001 (Spark raises whatever it pleases, with addresses in it)
        raise NotFound(
            "Spark cannot be started or reached",
            hint="is Java 17 or newer installed (`java -version`, JAVA_HOME), and does the master answer?",
        ) from None


def session_beside(session: SparkSession) -> SparkSession:
    """A session on the same cluster, with the settings under which integers are the same everywhere."""
    beside = session.newSession()
    for setting in list(beside.conf.getAll):
        if setting.startswith(_FORGOTTEN):
            beside.conf.unset(setting)
    for setting in _KEPT:
        beside.conf.set(setting, str(session.conf.get(setting)))
    for setting, value in _SETTINGS.items():
        beside.conf.set(setting, value)
    return beside


@contextmanager
def silent() -> Iterator[None]:
    """Keep pyspark from logging Spark's error messages."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 (a heavy library)

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled
