"""The application: guard, routing by Starlette from the table of routes, and one place that sends all responses."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, final

from starlette.routing import Match
from starlette.routing import Route as StarletteRoute

from giveortake.caching import Cache, serving
from giveortake.server.guard import Guard, address_of
from giveortake.server.latency import departure
from giveortake.server.limits import Work
from giveortake.server.refusals import Refused, json_bytes, refusal_bytes
from giveortake.server.routes import Call, Reply
from giveortake.wire.causes import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import Receive, Scope, Send

    from giveortake.advice import Face
    from giveortake.server.log import Log
    from giveortake.server.refusals import Headers
    from giveortake.server.routes import Principal, Result, Route
    from giveortake.server.service import Service

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_LONG = 0.5  # seconds after which it is checked again whether the asker was revoked


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
        page_refusal: Callable[[Refused, Principal | None], Reply] | None = None,
    ) -> None:
        self.service = service
        self.routes = tuple(routes)
        self._log = log
        self._guard = Guard.of(service, service.settings)
        self._table = [(StarletteRoute(_pattern(each.path), _unused, methods=[each.method]), each) for each in routes]
        self._page_refusal = page_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return  # no WebSockets
        started, trail = time.monotonic(), _Trail(_request_id(scope), _is_browsing(scope))
        try:
            with serving(Cache()):  # what one request computes makes no other faster
                headers, body, trail.status = await self._handled(scope, receive, trail, started)
        except Refused as refused:
            headers, body, trail.status = self._refused(refused, trail)
        except Exception as error:  # noqa: BLE001 (told by its class alone)
            self.service.metrics.lose(f"front: {type(error).__name__}")
            headers, body, trail.status = self._refused(Refused("internal"), trail)
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
        route, trail.path, methods = self._found(scope)
        trail.route = route
        guard = self._guard
        principal = None
        if route is None or route.role != "anybody":
            trail.principal = principal = await guard.principal(scope)
        if route is None:
            raise _other_method(methods) if methods else Refused("not_found")
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
            raise Refused("draining")
        if path.get("dataset") in (() if principal is None else principal.datasets):
            trail.dataset = path["dataset"]
        query = self._guard.query(route, scope)
        body = await self._guard.body(route, scope, receive)
        if route.body is not None and principal is not None:
            await self._guard.require_still(scope, trail.dataset)
        face: Face = "console" if route.page else "service"
        entrance = partial(self._guard.log_in, scope), partial(self._guard.log_out, scope)
        return await route.handler(Call(self.service, principal, path, query, body, *entrance, face, work))

    def _found(self, scope: Scope) -> tuple[Route | None, dict[str, str], list[str]]:
        """The route of a request; if there is none, the methods that its path takes."""
        methods: list[str] = []
        for matcher, route in self._table:
            match, found = matcher.matches(scope)
            if match is Match.FULL:
                return route, dict(found["path_params"]), []
            if match is Match.PARTIAL:
                methods.append(route.method)
        return None, {}, methods

    def _refused(self, refused: Refused, trail: _Trail) -> tuple[Headers, bytes, int]:
        trail.cause, who = refused.cause.name, trail.principal
        if refused.why is not None and (who is None or who.role == "custodian"):  # None: see `Guard.principal`
            refused.document["error"] |= {"message": refused.why, "hint": None}
        more = [(b"retry-after", str(refused.retry_after).encode())] if refused.cause.status == 429 else []
        is_page = trail.is_browsing or (trail.route is not None and trail.route.page)
        if is_page and self._page_refusal is not None:
            headers, body, status = _sent(self._page_refusal(refused, trail.principal))
            return [*headers, *more], body, status
        headers, body = refusal_bytes(refused.cause, document=refused.document)
        return [*headers, *more], body, refused.cause.status

    async def _wait(self, trail: _Trail, started: float) -> None:
        """Wait until the data set's fixed time, if it has one, for routes that touch rows; count overruns."""
        route = trail.route
        fixed = None if trail.dataset is None else self.service.settings.latency.get(trail.dataset)
        if route is None or not route.touches or fixed is None:
            return
        leaves = departure(started, time.monotonic(), fixed)
        if leaves.is_overrun:
            self.service.metrics.overruns[trail.dataset or ""] += 1
        await asyncio.sleep(max(0.0, leaves.at - time.monotonic()))


def _request_id(scope: Scope) -> str:
    """The name of a request in the log: that which a client or a proxy gave it, if short and plain, or a new one.

    It is no secret, and nothing is decided by it.
    """
    found = dict(scope["headers"]).get(b"x-request-id", b"")
    return found.decode("ascii") if _REQUEST_ID.fullmatch(found) else secrets.token_hex(8)


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


async def _unused(_request: Any) -> Any:
    """Never called: Starlette only matches paths here."""
    raise NotImplementedError


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _other_method(methods: Sequence[str]) -> Refused:
    """The refusal of a method where the path takes others, which the table of routes tells everybody."""
    cause, ways = BY_NAME["method"], " or ".join(dict.fromkeys(methods))
    return Refused(cause, {"error": {"cause": cause.name, "message": cause.message, "hint": f"send it by {ways}"}})


def _pattern(path: str) -> str:
    """The pattern of a path: names of analysts may hold slashes."""
    return path.replace("{analyst}", "{analyst:path}")
