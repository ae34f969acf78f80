"""Login and logout, and what a page says about a refusal.

- A refusal on a page: what happened, whether anything was charged, and what to do.
- Login: a token is pasted once; a cookie that scripts and other sites cannot use names the login.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from giveortake.server.console.views import page, rendered, see, static_file
from giveortake.server.guard import cookie_name
from giveortake.server.responses import Refusal
from giveortake.server.routes import Call, Reply, Result, Route, object_of, text

if TYPE_CHECKING:
    from giveortake.server.routes import Principal
    from giveortake.server.settings import Settings


NOTHING = "Nothing was charged."
ONCE = "If it was charged, it is charged once: the same button sends the same key, and the answer is then free."
_TITLES = {
    "unauthenticated": ("A token is needed", NOTHING),
    "role": ("This is for the custodian", NOTHING),
    "foreign_page": ("This came from another site", NOTHING),
    "revoked": ("Your access was revoked", "Answers you already received remain valid."),
    "not_found": ("Nothing here", NOTHING),
    "method": ("This address cannot be opened like that", NOTHING),
    "refused": ("This cannot be asked", NOTHING),
    "invalid": ("That does not fit", NOTHING),
    "malformed": ("That does not fit", NOTHING),
    "unprovable": ("Nothing could be promised for this", NOTHING),
    "unpriced": ("This has no price here", NOTHING),
    "budget": ("Too expensive", NOTHING),
    "allowance": ("No more questions", NOTHING),
    "approval_required": (
        "This waits for approval",
        "Nothing was charged yet. Once it is approved, ask the same again.",
    ),
    "key_conflict": ("This key was used for another question", NOTHING),
    "table_changed": ("The ledger holds something else", NOTHING),
    "closed": ("This budget is closed", NOTHING),
    "too_many": ("Too many requests", NOTHING),
    "failed": (
        "The question failed",
        "It was charged: that something failed could tell something. Asking again is free.",
    ),
    "worker_lost": ("The worker was lost", ONCE),
    "deadline": ("The question took too long, and was ended", ONCE),
    "overloaded": ("No worker is free", ONCE),
    "busy": ("The ledger is busy", ONCE),
    "ledger": ("The ledger cannot be used now", ONCE),
    "draining": ("The service is stopping", ONCE),
    "internal": ("Something went wrong here", ONCE),
}

_WORDS = {  # messages of pages that differ from those of the API
    "not_found": "There is nothing at this address, or nothing for you: a page does not say which.",
    "method": "A button of a page leads there.",
}
_HINTS = {  # hints of pages that differ from those of the API
    "revoked": "whoever keeps the data can let you in again",
    "worker_lost": "",
    "deadline": "",
}


@final
@dataclass(frozen=True, slots=True)
class Notice:
    """The words of a panel on a page."""

    cause: str
    title: str
    message: str
    hint: str
    charged: str
    calm: bool = False


def notice_of(refused: Refusal, *, exhausted: bool = False) -> Notice:
    """A refusal, in the words of a page."""
    cause = refused.cause.name
    error = refused.document["error"]
    title, charged = _TITLES.get(cause, ("This cannot be done", NOTHING))
    hint = _HINTS.get(cause, error.get("hint") or "")
    message = "" if cause in _HINTS else _WORDS.get(cause) or str(error.get("message") or "")
    if cause == "budget" and exhausted:
        title, hint = (
            "Your allotment is used up",
            "the custodian can grant more; what was released stays readable, free",
        )
    return Notice(cause, title, message, str(hint), charged)


EXHAUSTED = Notice(
    "budget",
    "Your allotment is used up",
    "",
    "the custodian can grant more; what was released stays readable, free",
    NOTHING,
    calm=True,
)
EDITED = Notice(
    "unquoted",
    "This was changed after its price was quoted",
    "",
    "look at its own price and margin, then ask",
    NOTHING,
    calm=True,
)
NO_LONGER_FREE = Notice(
    "unquoted",
    "This is no longer free",
    "",
    "the table has changed since this was quoted: look at the price, then ask",
    NOTHING,
    calm=True,
)


_TOKEN = re.compile(r"[!#-+\--:<-\[\]-~]{1,200}")  # what a header can hold
_MEDIA = {
    "console.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    **dict.fromkeys(("workbench.js", "editor.js"), "text/javascript; charset=utf-8"),
}
_KEEPER = "from whoever keeps the data"
_PRINTED = "the terminal that started this service printed two tokens, of an analyst and of the custodian: paste one"
_KEPT = "Browsers stay logged in only over HTTPS, except on the machine that serves this page."
_NEEDED = Notice(
    "unauthenticated",
    "This token was not accepted",
    f"Paste yours below, all of it. If it worked before, it has expired or was revoked. {_KEPT}",
    "whoever keeps the data gives new ones",
    "",
    calm=True,
)
_FIRST = Notice(
    "unauthenticated",
    "A token is needed",
    f"Paste yours below. {_KEPT}",
    "whoever keeps the data gives them out",
    "",
    calm=True,
)


async def login_page(call: Call) -> Result:
    """The page where a token is pasted."""
    notice = {"first": _FIRST, None: None}.get(call.query.get("why"), _NEEDED)
    whence = "as the terminal that started this service printed it" if call.service.settings.demo else _KEEPER
    if notice is not None and call.service.settings.demo:
        notice = replace(notice, hint=_PRINTED)
    return page(call, "login.html", notice=notice, whence=whence)


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
        raise Refusal("not_found")
    return Reply(static_file(name), _MEDIA[name])


def page_refusal(refused: Refusal, principal: Principal | None) -> Reply:
    """The page of a refusal; whoever has no valid token is sent to the login page."""
    if refused.cause.name == "unauthenticated":
        return see("/login?why=first" if refused.without_token else "/login?why=token")
    notice = notice_of(refused)
    back = "/" if principal is not None else "/login"
    return rendered(
        "refusal.html", principal, status=refused.cause.status, notice=notice, back=back, here="", dataset=None
    )


def _cookie(settings: Settings, login: str) -> bytes:
    name, secure = cookie_name(settings), "; Secure" * settings.secure_cookies
    ends = "" if login else "; Max-Age=0"
    return f"{name}={login}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}".encode("ascii")


ROUTES = (
    Route("GET", "/login", "anybody", "where a token is pasted", login_page, query={"why": text(20)}, page=True),
    Route(
        "POST", "/login", "anybody", "log in with a token", login, body=object_of("token", token=text(400)), page=True
    ),
    Route("POST", "/logout", "analyst", "end the login", logout, body=object_of(), page=True),
    Route(
        "GET", "/static/{name}", "anybody", "styles and scripts", static, media=tuple(set(_MEDIA.values())), page=True
    ),
)
