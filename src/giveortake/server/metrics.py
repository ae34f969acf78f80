"""Health and metrics of the service: numbers of requests and losses, never a value or a name."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import final

from giveortake.server.refusals import Refused
from giveortake.server.routes import Call, Reply, Result, Route
from giveortake.server.schemas import TEXT, of


async def live(_call: Call) -> Result:
    """Report that the front process answers."""
    return {"status": "live"}


async def ready(call: Call) -> Result:
    """Report that every data set has a worker, and that the ledger can be written; refused if not."""
    if not await call.service.ready():
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


_KEPT = 100  # losses that are listed one by one


@final
@dataclass(slots=True)
class Metrics:
    """Counters since the service was started."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    losses: int = 0
    lost: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))
    overruns: Counter[str] = field(default_factory=Counter)
    denied: int = 0

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count one finished request."""
        self.requests[route, status] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]  # (counters count in any numbers)

    def lose(self, why: str) -> None:
        """Count a worker that was lost, or an internal error."""
        self.losses += 1
        self.lost.append(why)

    def exposition(self) -> str:
        """All counters in the text format of Prometheus."""
        lines = ["# TYPE giveortake_requests_total counter"]
        for (route, status), count in sorted(self.requests.items()):
            lines.append(f'giveortake_requests_total{{route="{route}",status="{status}"}} {count}')
        lines.append("# TYPE giveortake_request_seconds_total counter")
        lines.extend(
            f'giveortake_request_seconds_total{{route="{route}"}} {seconds:.6f}'
            for route, seconds in sorted(self.seconds.items())
        )
        for name, value in (("worker_losses", self.losses), ("denied", self.denied)):
            lines += [f"# TYPE giveortake_{name}_total counter", f"giveortake_{name}_total {value}"]
        lines.append("# TYPE giveortake_latency_overruns_total counter")
        for dataset, count in sorted(self.overruns.items()):
            lines.append(f'giveortake_latency_overruns_total{{dataset="{dataset}"}} {count}')
        return "\n".join(lines) + "\n"
