"""The ASGI application: guard, routing, metrics, the log, and one place that sends all responses.

- Health and metrics: numbers of requests and losses, never a value or a name.
- The custodian's log: one line of JSON for each request, without rows, constants of queries, or tokens' secrets.
- All routes of the service and all pages of the console, in the order in which they are tried.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import fcntl
import json
import os
import re
import secrets
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, final

from giveortake.caching import Cache, serving
from giveortake.server import added_tables, analyst_routes, custodian_routes, routes
from giveortake.server.console import approvals, custodian, login, overview, profiles, release_pages, tables, workbench
from giveortake.server.guard import Guard, address_of
from giveortake.server.limits import Work
from giveortake.server.responses import Refusal, json_bytes, refusal_bytes, send_time
from giveortake.server.routes import TEXT, Call, Reply, Result, Route, object_of
from giveortake.wire.errors import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from giveortake.hints import Face
    from giveortake.server.responses import Headers
    from giveortake.server.routes import Principal, Receive, Scope, Send
    from giveortake.server.service import Service


async def live(_call: Call) -> Result:
    """Report that the front process answers."""
    return {"status": "live"}


async def ready(call: Call) -> Result:
    """Report that every data set has a worker, and that the ledger can be written; refused if not."""
    if not await call.service.ready():
        raise Refusal("overloaded")
    return {"status": "ready"}


async def metrics(call: Call) -> Result:
    """Counters in the text format of Prometheus."""
    return Reply(call.service.metrics.exposition().encode(), "text/plain; version=0.0.4; charset=utf-8")


_STATUS = object_of("status", status=TEXT)
METRIC_ROUTES = (
    Route("GET", "/health/live", "anybody", "whether the process answers", live, result=_STATUS),
    Route("GET", "/health/ready", "anybody", "whether questions can be asked", ready, result=_STATUS),
    Route("GET", "/metrics", "monitor", "counters for Prometheus, without values", metrics, media=("text/plain",)),
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


SIZE = 10_000_000  # bytes of one file
FILES = 10  # that are kept besides


@final
class Log:
    """A log file that is begun anew when it is large; without a path, nothing is written.

    Several services may write to one file: each line is appended by one call, and who begins a new file holds a lock.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: int | None = None

    def request(self, route: str, *, status: int, seconds: float, **fields: str | None) -> None:
        """Log a finished request. Route and cause are words of our own.

        Nothing that was sent is logged, but for the client's own id of the request, if it is short and plain.
        """
        self.say("request", route=route, status=status, milliseconds=round(1000 * seconds, 1), **fields)

    def say(self, event: str, **fields: Any) -> None:
        """Log an event. A full disk keeps nobody from asking."""
        if self._path is None:
            return
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        line = {"at": now, "front": os.getpid(), "what": event}
        line |= {name: value for name, value in fields.items() if value is not None}
        with suppress(OSError):
            os.write(self._opened(self._path), json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self, path: Path) -> int:
        """The open log file; a new one is begun if it is too large."""
        if self._file is not None and _is_at(self._file, path):
            if os.fstat(self._file).st_size < SIZE:
                return self._file
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return self._file  # somebody else begins a new one, and nobody waits for them
            if _is_at(self._file, path):  # nobody else was faster
                _move_up(path)
        self.close()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        return self._file


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _move_up(path: Path) -> None:
    """Renumber the older files, so that the path is free; the oldest is removed."""
    for number in range(FILES - 1, 0, -1):
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}.{number}").replace(path.with_name(f"{path.name}.{number + 1}"))
    path.replace(path.with_name(f"{path.name}.1"))


_OWN = (*METRIC_ROUTES, *analyst_routes.ROUTES, *custodian_routes.ROUTES, *added_tables.ROUTES)
_PAGES = (login, overview, workbench, release_pages, profiles, approvals, custodian, tables)
ROUTES = (*_OWN, routes.route_of(_OWN), *(route for page in _PAGES for route in page.ROUTES))


_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_LONG = 0.5  # seconds after which it is checked again whether the caller was revoked


@final
@dataclass(slots=True)
class _Trail:
    """What the log learns about a request on its way: no content."""

    request: str
    is_browsing: bool = False
    route: Route | None = None
    principal: Principal | None = None
    path: dict[str, str] = field(default_factory=dict)
    dataset: str | None = None
    status: int = 0
    cause: str | None = None


@final
class Application:
    """The ASGI application. It answers the routes of the table, and nothing else."""

    def __init__(
        self,
        service: Service,
        routes: Sequence[Route],
        log: Log,
        *,
        page_refusal: Callable[[Refusal, Principal | None], Reply] | None = None,
    ) -> None:
        self.service = service
        self.routes = tuple(routes)
        self._log = log
        self._guard = Guard.from_settings(service, service.settings)
        self._table = [(_pattern(route.path), route) for route in routes]
        self._page_refusal = page_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no WebSockets
        started, trail = time.monotonic(), _Trail(_request_id(scope), _is_browsing(scope))
        try:
            with serving(Cache()):  # what one request computes makes no other faster
                headers, body, trail.status = await self._handled(scope, receive, trail, started)
        except Refusal as refused:
            headers, body, trail.status = self._refused(refused, trail)
        except Exception as error:  # noqa: BLE001 (told by its class alone)
            self.service.metrics.lose(f"front: {type(error).__name__}")
            headers, body, trail.status = self._refused(Refusal("internal"), trail)
        seconds = time.monotonic() - started
        name = "other" if trail.route is None else trail.route.name
        self.service.metrics.count(name, trail.status, seconds)
        self._log.request(
            name,
            status=trail.status,
            cause=trail.cause,
            token=None if trail.principal is None else trail.principal.token,
            analyst=None if trail.principal is None else trail.principal.analyst,
            dataset=trail.dataset,
            address=address_of(scope),
            request=trail.request,
            seconds=seconds,
        )
        headers = [*headers, (b"x-request-id", trail.request.encode())]
        await send({"type": "http.response.start", "status": trail.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _handled(
        self, scope: Scope, receive: Receive, trail: _Trail, started: float
    ) -> tuple[Headers, bytes, int]:
        route, trail.path, methods = self._matched_route(scope)
        trail.route = route
        guard = self._guard
        principal = None
        if route is None or route.role != "anybody":
            trail.principal = principal = await guard.principal(scope)
        if route is None:
            raise _other_method(methods) if methods else Refusal("not_found")
        if principal is None:
            return _sent(await self._answered(route, trail, scope, receive, Work("")))
        guard.require_role(route, principal)
        work = guard.begin(route, principal)
        try:
            sent = _sent(await self._answered(route, trail, scope, receive, work))
        finally:
            try:
                await self._wait(trail, started)  # before anybody can notice that there is room for another request
            finally:
                guard.end(work)
        if time.monotonic() - started > _LONG:
            await guard.require_still(scope, trail.dataset)
        return sent

    async def _answered(self, route: Route, trail: _Trail, scope: Scope, receive: Receive, work: Work) -> Result:
        path, principal = trail.path, trail.principal
        if self.service.draining and route.path != "/health/live":
            raise Refusal("draining")
        if path.get("dataset") in (() if principal is None else principal.datasets):
            trail.dataset = path["dataset"]
        query = self._guard.query(route, scope)
        body = await self._guard.body(route, scope, receive)
        if route.body is not None and principal is not None:
            await self._guard.require_still(scope, trail.dataset)
        face: Face = "console" if route.page else "service"
        entrance = partial(self._guard.log_in, scope), partial(self._guard.log_out, scope)
        return await route.handler(Call(self.service, principal, path, query, body, *entrance, face, work))

    def _matched_route(self, scope: Scope) -> tuple[Route | None, dict[str, str], list[str]]:
        """The route of a request; if there is none, the methods that its path takes."""
        methods: list[str] = []
        for pattern, route in self._table:
            if (match := pattern.fullmatch(scope["path"])) is None:
                continue
            if scope["method"] == route.method or (scope["method"], route.method) == ("HEAD", "GET"):
                return route, match.groupdict(), []
            methods.append(route.method)
        return None, {}, methods

    def _refused(self, refused: Refusal, trail: _Trail) -> tuple[Headers, bytes, int]:
        trail.cause, principal = refused.cause.name, trail.principal
        # A principal that is None: see `Guard.principal`.
        if refused.why is not None and (principal is None or principal.role == "custodian"):
            refused.document["error"] |= {"message": refused.why, "hint": None}
        retry_headers = [(b"retry-after", str(refused.retry_after).encode())] if refused.cause.status == 429 else []
        is_page = trail.is_browsing or (trail.route is not None and trail.route.page)
        if is_page and self._page_refusal is not None:
            headers, body, status = _sent(self._page_refusal(refused, trail.principal))
            return [*headers, *retry_headers], body, status
        headers, body = refusal_bytes(refused.cause, document=refused.document)
        return [*headers, *retry_headers], body, refused.cause.status

    async def _wait(self, trail: _Trail, started: float) -> None:
        """Wait until the data set's fixed time, if it has one, for routes that touch rows; count overruns."""
        route = trail.route
        fixed = None if trail.dataset is None else self.service.settings.latency.get(trail.dataset)
        if route is None or not route.touches or fixed is None:
            return
        leaves = send_time(started, time.monotonic(), fixed)
        if leaves.is_overrun:
            self.service.metrics.overruns[trail.dataset or ""] += 1
        await asyncio.sleep(max(0.0, leaves.at - time.monotonic()))


def _request_id(scope: Scope) -> str:
    """The name of a request in the log: that which a client or a proxy gave it, if short and plain, or a new one.

    It is no secret, and nothing is decided by it.
    """
    request_id = dict(scope["headers"]).get(b"x-request-id", b"")
    return request_id.decode("ascii") if _REQUEST_ID.fullmatch(request_id) else secrets.token_hex(8)


def _is_browsing(scope: Scope) -> bool:
    """Whether a browser opens this address, so that a refusal is a page; programs get JSON.

    Browsers say so in a header. Old ones ask for HTML, as some programs do too: below /v1/ they get JSON.
    """
    headers = dict(scope["headers"])
    mode = headers.get(b"sec-fetch-mode")
    if mode is not None:
        return bool(mode == b"navigate")
    return b"text/html" in headers.get(b"accept", b"") and not scope["path"].startswith("/v1/")


def _sent(result: Result) -> tuple[Headers, bytes, int]:
    if isinstance(result, Reply):
        length = (b"content-length", str(len(result.content)).encode())
        kind = (b"content-type", result.media_type.encode())
        return [kind, length, *result.headers], result.content, result.status
    headers, body = json_bytes(result)
    return headers, body, 200


def _other_method(methods: Sequence[str]) -> Refusal:
    """The refusal of a method where the path takes others, which the table of routes tells everybody."""
    cause, ways = BY_NAME["method"], " or ".join(dict.fromkeys(methods))
    return Refusal(cause, {"error": {"cause": cause.name, "message": cause.message, "hint": f"send it by {ways}"}})


def _pattern(path: str) -> re.Pattern[str]:
    """The pattern of a path: names of analysts may hold slashes.

    >>> _pattern("/v1/analysts/{analyst}/revoke").fullmatch("/v1/analysts/a/b/revoke").groupdict()
    {'analyst': 'a/b'}
    """
    parts = re.split(r"{(\w+)}", path)
    names = [f"(?P<{name}>{'.+' if name == 'analyst' else '[^/]+'})" for name in parts[1::2]]
    return re.compile("".join(map("".join, zip(map(re.escape, parts[::2]), [*names, ""], strict=True))), re.DOTALL)
