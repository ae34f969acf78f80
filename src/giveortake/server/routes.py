"""Routes: lines of the table from which routing, authorisation, the OpenAPI document and tests are made."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.server.limits import Work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from giveortake.advice import Face
    from giveortake.server.refusals import Headers
    from giveortake.server.schemas import Schema
    from giveortake.server.service import Service

Role: TypeAlias = Literal["anybody", "analyst", "custodian"]  # an analyst's routes are open to custodians too
Result: TypeAlias = "dict[str, Any] | Reply"


@final
@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking, as a clerk found: a custodian or the analyst of that name, and the data sets they may ask."""

    token: str
    role: Literal["analyst", "custodian"]
    analyst: str | None
    datasets: tuple[str, ...]
    revoked: bool = False

    @property
    def asker(self) -> str:
        """Whose limits and turns count: all tokens of an analyst are one asker, and each of a custodian is one."""
        return f"token {self.token}" if self.analyst is None else f"analyst {self.analyst}"


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """A result that is no JSON: a page or a file."""

    content: bytes
    media_type: str
    status: int = 200
    headers: Headers = field(default_factory=list)


@final
@dataclass(frozen=True, slots=True)
class Call:
    """One request that the guard has let in: who asks for what. `service` leads to the workers."""

    service: Service
    principal: Principal | None
    path: dict[str, str]
    query: dict[str, Any]
    body: dict[str, Any]
    log_in: Callable[[str], Awaitable[str]]  # a browser, with a token; the result is for its cookie
    log_out: Callable[[], None]
    face: Face = "service"  # whose words a refusal uses
    work: Work = field(default_factory=lambda: Work(""))  # what it takes of workers

    @property
    def who(self) -> Principal:
        """Whoever is asking; not for routes that are open to anybody."""
        assert self.principal is not None  # noqa: S101 (the guard has let them in)
        return self.principal


@final
@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path, who may use them, and the shapes of body and result.

    `handler` returns a plain dictionary, or a `Reply`; so a page can be made from the result of the same handler.
    Routes of `page` take forms, answer with pages, and send whoever has no token to the login page.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    role: Role
    summary: str
    handler: Callable[[Call], Awaitable[Result]]
    body: Schema | None = None
    query: dict[str, Schema] = field(default_factory=dict)
    result: Schema = field(default_factory=dict)
    media: tuple[str, ...] = ("application/json",)
    page: bool = False
    touches: bool = False  # rows: takes a fixed time where the data set has one

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters in its path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def name(self) -> str:
        """The name in logs and metrics, which holds nothing of a request."""
        return f"{self.method} {self.path}"
