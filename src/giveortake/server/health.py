"""Routes for whoever runs the service: is it alive, is it ready, how is it."""

from __future__ import annotations

from giveortake.server.refusals import Refused
from giveortake.server.routes import Call, Reply, Result, Route
from giveortake.server.schemas import TEXT, of


async def live(_call: Call) -> Result:
    """The front process answers."""
    return {"status": "live"}


async def ready(call: Call) -> Result:
    """Every data set has a worker."""
    if not call.service.is_ready:
        raise Refused("overloaded")
    return {"status": "ready"}


async def metrics(call: Call) -> Result:
    """Counters in the text format of Prometheus."""
    return Reply(call.service.metrics.exposition().encode(), "text/plain; version=0.0.4; charset=utf-8")


_STATUS = of("status", status=TEXT)
ROUTES = (
    Route("GET", "/health/live", "anybody", "whether the process answers", live, result=_STATUS),
    Route("GET", "/health/ready", "anybody", "whether questions can be asked", ready, result=_STATUS),
    Route("GET", "/metrics", "custodian", "counters for Prometheus, without values", metrics, media=("text/plain",)),
)
