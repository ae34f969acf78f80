"""One Spark session for each process of the tests, with a log of all events."""

from __future__ import annotations

import functools
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_SHOWN = (  # what the pages would show: plans of a thousand questions would fill the memory
    "spark.sql.ui.retainedExecutions",
    "spark.ui.retainedJobs",
    "spark.ui.retainedStages",
    "spark.ui.retainedTasks",
)
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # no second compiler for code that runs once: half the work
# For the one process that is asked a thousand questions. One compiler alone has 48 MB, and throws away code that it has
# to compile again; classes that Spark generates are not searched for unused ones before they are many; and what a
# question leaves behind is gone before it counts as old.
ROOMY = f"{SHORT_LIVED} -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m -Xms1536m -Xmn1g"


@functools.cache
def event_log() -> Path:
    """The folder where Spark writes down every event."""
    return Path(tempfile.mkdtemp(prefix="spark-events-"))


@functools.cache
def spark_session() -> SparkSession:
    """Two threads of this machine."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (a heavy library)

    session = quietly(configured(SparkSession.builder.master("local[2]")).getOrCreate)
    _compile_once(session)
    return session  # type: ignore[no-any-return]


def stop_session() -> Any:
    """Stop the one session. Its virtual machine stays, and whoever asks next gets another session in it."""
    session = spark_session()
    machine = session._jvm
    session.stop()
    spark_session.cache_clear()
    return machine


def _compile_once(session: Any) -> None:
    """Let this thread of the driver find classes where tasks find them.

    Spark compiles code before it sends a task, and keeps it for whoever has the same class loader. Tasks have one of
    their own, and would compile all of it again.
    """
    session.range(1).collect()
    thread = session._jvm.java.lang.Thread
    (loader, *_) = [
        each.getContextClassLoader()
        for each in thread.getAllStackTraces().keySet().toArray()
        if str(each.getName()).startswith("Executor task")
    ]
    thread.currentThread().setContextClassLoader(loader)


def configured(builder: Any) -> Any:
    """Little memory, few partitions, no pages, and a log of events."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **dict.fromkeys(NOT_SHOWN, "1"),
        "spark.driver.memory": "1536m",
        "spark.driver.extraJavaOptions": ROOMY,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.buffer.pageSize": "256k",  # every map and sorter takes a page, of 16 MB else, and clears it
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": event_log().as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.sql.warehouse.dir": (event_log() / "warehouse").as_uri(),
    }
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    return builder


def quietly(start: Any) -> Any:
    """Start Spark; what its libraries say about one another and leave open is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = start()
    session.sparkContext.setLogLevel("OFF")
    return session
