"""The guard in front of all routes: who is let in, and what of a request is read.

- Logins of the console: a browser's cookie names a login, and never holds the token it was begun with.
- The guard: authenticate → role → content type → at most 64 KB while reading → in time → strict JSON → the shape of the
  route. Not a byte of a body is read before its sender is known. Each step refuses in one shape, in words of our own.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final
from urllib.parse import parse_qsl

from giveortake.server import responses
from giveortake.server.limits import Backlog, InFlight, Rate, Strangers, Work
from giveortake.server.responses import Refusal, malformed
from giveortake.server.routes import ShapeError, require
from giveortake.server.settings import WRONG_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.server.routes import Principal, Receive, Route, Scope
    from giveortake.server.service import Service
    from giveortake.server.settings import Settings


_LONGEST = 12 * 3600.0  # seconds after which a login ends
_IDLE = 3600.0  # seconds without a request after which it ends
_MOST = 20  # logins of one token; one more ends the one that began first


@final
@dataclass(slots=True)
class _Login:
    token: str
    began: float
    seen: float


@final
@dataclass(slots=True)
class Logins:
    """The logins of one front, in memory: they end with it.

    Guarantee: a cookie lets nobody in after log-out, twelve hours after the login, or after an hour without a request.
    What it names is found by its SHA-256, and drawn from 2²⁵⁶ by the operating system.
    """

    clock: Callable[[], float] = time.monotonic
    _open: dict[str, _Login] = field(default_factory=dict, repr=False)

    def begin(self, token: str) -> str:
        """Begin a login with a valid token; return the secret for a cookie."""
        now, secret = self.clock(), secrets.token_hex(32)
        self._open = {name: login for name, login in self._open.items() if _lasts(login, now)}
        same = [name for name, login in self._open.items() if login.token == token]
        for name in same[: max(0, len(same) + 1 - _MOST)]:
            del self._open[name]
        self._open[_name(secret)] = _Login(token, now, now)
        return secret

    def token(self, secret: str) -> str | None:
        """The token of a login that still lasts, which begins to be idle now; None if there is none."""
        login, now = self._open.get(_name(secret)), self.clock()
        if login is None:
            return None
        if not _lasts(login, now):
            self.end(secret)
            return None
        login.seen = now
        return login.token

    def end(self, secret: str) -> None:
        """End a login, if there is one."""
        self._open.pop(_name(secret), None)


def _name(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _lasts(login: _Login, now: float) -> bool:
    return now < login.began + _LONGEST and now < login.seen + _IDLE


MOST = 64 * 1024  # bytes of a body
_COOKIE = "giveortake"
_LONGEST_TOKEN = 200
_ADDRESS = re.compile(r"[0-9A-Za-z.:%-]{1,64}")
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@final
@dataclass(slots=True)
class Guard:
    """Lets requests in, or refuses them.

    Guarantee: not a byte of a body is read before its sender's token and role are known to be good, and never more than
    64 KB of it is held. A refusal holds nothing of what was sent. What is not there and what is not for the caller are
    refused by the same bytes, after the same steps.
    """

    service: Service
    callers: Rate
    in_flight: InFlight
    backlog: Backlog
    strangers: Strangers
    patience: float = 10.0

    @classmethod
    def from_settings(cls, service: Service, settings: Settings) -> Guard:
        """The guard that the settings describe.

        Guarantee: of as many fronts as the configuration says, each has its part of every limit, so that all together
        let through no more than one would, however a proxy spreads requests.
        """
        parts = settings.fronts
        rates = ((settings.requests_per_second, settings.burst), WRONG_TOKENS)
        callers, wrong = (Rate(each_second / parts, burst / parts) for each_second, burst in rates)
        in_flight, backlog = InFlight(settings.in_flight // parts), Backlog(settings.worker_seconds / parts)
        return cls(service, callers, in_flight, backlog, Strangers(wrong), settings.patience)

    # -- who --------------------------------------------------------------------------------------------------------

    async def principal(self, scope: Scope) -> Principal:
        """Authenticate a request, by headers alone.

        Guarantee: an address can try 60 different tokens at once and 2 more each second, so 180 in the first minute
        and 120 in each further one, all fronts together; n addresses, n times as many. The secret of a token has 256
        random bits: a million addresses that guess for a century find that of a token whose name they know with
        probability below 2⁻²⁰³. Valid tokens take no room, and those that were valid within the last hour are let in
        whatever else their address sends.
        """
        headers = headers_of(scope)
        address = address_of(scope)
        token, login = self._token(headers)
        if token is None:
            raise Refusal("unauthenticated", without_token=True)
        principal = await self._known(token, address)
        if principal is None:
            self.service.metrics.denied += 1
            if login is not None:
                self.service.logins.end(login)
            raise Refusal("unauthenticated")
        if login is not None and scope["method"] not in _SAFE_METHODS and not self._own_page(scope, headers):
            raise Refusal("foreign_page")
        if not self.callers.takes(principal.caller):
            raise Refusal("too_many")
        return principal

    async def _known(self, token: str, address: str) -> Principal | None:
        """Whom a token lets in, if the address may still have tokens looked up."""
        name, strangers = hashlib.sha256(token.encode()).hexdigest(), self.strangers
        was_let_in = self.service.was_let_in(token)
        if not was_let_in:
            if strangers.was_wrong(address, name):
                return None
            if not strangers.enters(address, name):  # before it is looked up: many may come at once
                self.service.metrics.denied += 1
                raise Refusal("too_many")
        principal, wrong = None, False
        try:
            principal = await self.service.authenticate(token, address)
            wrong = principal is None
        except Refusal as refused:
            raise refused if self.service.was_custodian(token) else Refusal(refused.cause) from None
        finally:
            if not was_let_in:
                strangers.leaves(address, name, wrong=wrong)
        return principal

    # -- how much ---------------------------------------------------------------------------------------------------

    def begin(self, route: Route, principal: Principal) -> Work:
        """Let a request begin, unless its caller has too much under way; then `end` has to be called.

        What an analyst reads is never refused for the seconds that their questions take.
        """
        caller = principal.caller
        if not self.in_flight.enters(caller):
            raise Refusal("too_many")
        if principal.analyst is None or route.method != "POST":
            return Work(caller)
        try:
            return self.backlog.begin(caller, route.name)
        except Refusal:
            self.in_flight.leaves(caller)
            raise

    def end(self, work: Work) -> None:
        """End a request that `begin` let begin."""
        self.in_flight.leaves(work.caller)
        if work.route:
            self.backlog.end(work)

    async def require_still(self, scope: Scope, dataset: str | None) -> None:
        """Refuse whoever was revoked while their body was read, or while a result about rows was on its way."""
        token, _ = self._token(headers_of(scope))
        principal = None if token is None else await self.service.authenticate(token)
        if principal is None:
            raise Refusal("unauthenticated")
        if principal.revoked and dataset is not None:
            raise Refusal("revoked")

    def _token(self, headers: Mapping[bytes, bytes]) -> tuple[str | None, str | None]:
        """The token of a request, and the login by whose cookie it was found, if it was."""
        text, is_cookie = token_of(headers, cookie_name(self.service.settings))
        if text is None or not is_cookie:
            return text, None
        return self.service.logins.token(text), text

    async def log_in(self, scope: Scope, token: str) -> str:
        """Begin a login with a token, which is checked and limited as in any request; return its secret."""
        bearer = (b"authorization", b"Bearer " + token.encode())
        await self.principal({**scope, "method": "GET", "headers": [bearer]})
        self.log_out(scope)
        return self.service.logins.begin(token)

    def log_out(self, scope: Scope) -> None:
        """End the login of a request's cookie, if it has one."""
        _, login = self._token(headers_of(scope))
        if login is not None:
            self.service.logins.end(login)

    @staticmethod
    def require_role(route: Route, principal: Principal) -> None:
        """Refuse a route that is for another role; custodians may do what all others may."""
        if principal.role not in {route.role, "custodian"}:
            raise Refusal("role")

    # -- what -------------------------------------------------------------------------------------------------------

    async def body(self, route: Route, scope: Scope, receive: Receive) -> dict[str, Any]:
        """The body of a request, read in small parts, in time, and in the shape of its route."""
        if route.body is None:
            return {}
        headers = headers_of(scope)
        own = b"authorization" in headers or self._own_page(scope, headers)  # no browser sends that header by itself
        if route.page and not own:  # who has no token yet could be logged in as somebody else
            raise Refusal("foreign_page")
        wanted = b"application/x-www-form-urlencoded" if route.page else b"application/json"
        if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != wanted:
            raise Refusal("media_type")
        length = headers.get(b"content-length", b"0")
        if len(length) > 10 or not length.isdigit() or int(length) > MOST:
            raise Refusal("too_large")
        try:
            async with asyncio.timeout(self.patience):
                content = await _read(receive)
        except TimeoutError:
            raise Refusal("slow") from None
        value = _form(content) if route.page else _json(content)
        require_shape(value, route.body)
        fields: dict[str, Any] = value
        return fields

    def _own_page(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a page of ours sent this, by what browsers say of their own accord.

        Pages with secure cookies are ours over TLS alone, whether or not the proxy that speaks it is trusted.
        """
        site = headers.get(b"sec-fetch-site")
        if site is not None:
            return site == b"same-origin"
        scheme = "https" if self.service.settings.secure_cookies else scope["scheme"]
        return headers.get(b"origin") == scheme.encode() + b"://" + headers.get(b"host", b"")

    @staticmethod
    def query(route: Route, scope: Scope) -> dict[str, Any]:
        """The query of the address: each name once, and only names that the route knows."""
        try:
            pairs = parse_qsl(
                scope["query_string"].decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict"
            )
        except ValueError:
            raise malformed("the query cannot be read") from None
        parameters: dict[str, Any] = dict(pairs)
        if len(parameters) != len(pairs) or not set(parameters) <= set(route.query):
            known = ", ".join(route.query) or "none"
            raise malformed("the query has a name twice, or one that is not known", f"known: {known}")
        for name, value in parameters.items():
            kinds = route.query[name].get("type")
            if kinds == "integer" and value.isascii() and value.isdigit() and len(value) < 16:
                parameters[name] = int(value)
        require_shape(parameters, {"type": "object", "properties": route.query})
        return parameters


def address_of(scope: Scope) -> str:
    """The address of the client: that of the connection, or what a proxy of the configuration says it is."""
    address = str((scope.get("client") or ("?", 0))[0])
    return address if _ADDRESS.fullmatch(address) else "?"


def require_shape(value: Any, schema: Mapping[str, Any]) -> None:
    """Refuse a value of another shape, in our own words."""
    try:
        require(value, dict(schema))
    except ShapeError as wrong:
        raise malformed(wrong.problem, wrong.hint) from None


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name. If one that matters occurs twice, the request is refused."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in headers and name in {b"authorization", b"cookie", b"content-type", b"content-length", b"origin"}:
            raise malformed("a header occurs twice")
        headers[name] = value
    return headers


def cookie_name(settings: Settings) -> str:
    """The name of the cookie that names a login; its prefix keeps other sites from setting it."""
    return f"__Host-{_COOKIE}" if settings.secure_cookies else _COOKIE


def token_of(headers: Mapping[bytes, bytes], cookie: str) -> tuple[str | None, bool]:
    """The token of a request from its header, or else what this cookie holds, and whether it is from the cookie."""
    authorization = headers.get(b"authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(b" ")
        return _plain(token) if scheme.lower() == b"bearer" else None, False
    for part in headers.get(b"cookie", b"").split(b";"):
        name, _, value = part.strip().partition(b"=")
        if name.decode("latin-1") == cookie:
            return _plain(value), True
    return None, False


def _plain(token: bytes) -> str | None:
    text = token.strip()
    return text.decode("ascii") if 0 < len(text) <= _LONGEST_TOKEN and text.isascii() else None


async def _read(receive: Receive) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal("slow")  # gone; nobody will read it
        part = message.get("body", b"")
        size += len(part)
        if size > MOST:
            raise Refusal("too_large")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _json(content: bytes) -> Any:
    try:
        return responses.read(content)
    except responses.NotStrict:
        raise Refusal("not_json") from None


def _form(content: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(content.decode("ascii"), keep_blank_values=True, max_num_fields=2000, errors="strict")
    except ValueError:
        raise malformed("the form cannot be read") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise malformed("the form has a name twice")
    return fields
