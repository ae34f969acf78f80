"""Login and logout: a token is pasted once; a cookie that scripts and other sites cannot use names the login."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from giveortake.server.console.pages import page, see, shown, static_file
from giveortake.server.console.states import Told, told
from giveortake.server.guard import cookie_name
from giveortake.server.refusals import Refused
from giveortake.server.routes import Call, Reply, Result, Route
from giveortake.server.schemas import of, text

if TYPE_CHECKING:
    from giveortake.server.routes import Principal
    from giveortake.server.settings import Settings

_TOKEN = re.compile(r"[!#-+\--:<-\[\]-~]{1,200}")  # what a header can hold
_MEDIA = {
    "console.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    **dict.fromkeys(("workbench.js", "editor.js"), "text/javascript; charset=utf-8"),
}
_KEEPER = "from whoever keeps the data"
_PRINTED = "the terminal that started this service printed two tokens, of an analyst and of the custodian: paste one"
_KEPT = "Browsers stay logged in only over HTTPS, except on the machine that serves this page."
_NEEDED = Told(
    "unauthenticated",
    "This token was not accepted",
    f"Paste yours below, all of it. If it worked before, it has expired or was revoked. {_KEPT}",
    "whoever keeps the data gives new ones",
    "",
    calm=True,
)
_FIRST = Told(
    "unauthenticated",
    "A token is needed",
    f"Paste yours below. {_KEPT}",
    "whoever keeps the data gives them out",
    "",
    calm=True,
)


async def login_page(call: Call) -> Result:
    """The page where a token is pasted."""
    said = {"first": _FIRST, None: None}.get(call.query.get("why"), _NEEDED)
    whence = "as the terminal that started this service printed it" if call.service.settings.demo else _KEEPER
    if said is not None and call.service.settings.demo:
        said = replace(said, hint=_PRINTED)
    return page(call, "login.html", told=said, whence=whence)


async def login(call: Call) -> Result:
    """Begin a login with a token; its cookie lets this browser in for twelve hours, or until it is idle for one."""
    token = call.body["token"].strip()
    if not _TOKEN.fullmatch(token):
        return see("/login?why=token")
    return see("/", cookie=_cookie(call.service.settings, await call.log_in(token)))


async def logout(call: Call) -> Result:
    """End the login, here and in the browser."""
    call.log_out()
    return see("/login", cookie=_cookie(call.service.settings, ""))


async def static(call: Call) -> Result:
    """Serve styles and scripts, which are the same for everybody."""
    name = call.path["name"]
    if name not in _MEDIA:
        raise Refused("not_found")
    return Reply(static_file(name), _MEDIA[name])


def page_refusal(refused: Refused, principal: Principal | None) -> Reply:
    """The page of a refusal; whoever has no valid token is sent to the login page."""
    if refused.cause.name == "unauthenticated":
        return see("/login?why=first" if refused.without_token else "/login?why=token")
    said = told(refused)
    back = "/" if principal is not None else "/login"
    return shown("refusal.html", principal, status=refused.cause.status, told=said, back=back, here="", dataset=None)


def _cookie(settings: Settings, login: str) -> bytes:
    name, secure = cookie_name(settings), "; Secure" * settings.secure_cookies
    ends = "" if login else "; Max-Age=0"
    return f"{name}={login}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}".encode("ascii")


ROUTES = (
    Route("GET", "/login", "anybody", "where a token is pasted", login_page, query={"why": text(20)}, page=True),
    Route("POST", "/login", "anybody", "log in with a token", login, body=of("token", token=text(400)), page=True),
    Route("POST", "/logout", "analyst", "end the login", logout, body=of(), page=True),
    Route(
        "GET", "/static/{name}", "anybody", "styles and scripts", static, media=tuple(set(_MEDIA.values())), page=True
    ),
)
