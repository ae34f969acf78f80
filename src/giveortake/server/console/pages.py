"""Pages: templates that escape everything, and links between them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from giveortake.answers.text import printable
from giveortake.server.refusals import Refused
from giveortake.server.routes import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from giveortake.server.routes import Call, Principal

HTML = "text/html; charset=utf-8"


def page(call: Call, template: str, *, status: int = 200, **values: Any) -> Reply:
    """Render a page for whoever makes this call."""
    return shown(template, call.principal, status=status, **values)


def shown(template: str, who: Principal | None, *, status: int = 200, **values: Any) -> Reply:
    """Render a page for a principal, or for nobody yet."""
    if values.get("dataset") is None and who is not None and len(who.datasets) == 1:
        values["dataset"] = who.datasets[0]  # whose pages the head of every page leads to
    content = _templates().get_template(template).render(who=who, **values)
    return Reply(content.encode("utf-8", "replace"), HTML, status)


def see(place: str, *, cookie: bytes | None = None) -> Reply:
    """Redirect a browser to another page of ours."""
    more = [] if cookie is None else [(b"set-cookie", cookie)]
    return Reply(b"", HTML, 303, [(b"location", place.encode("ascii")), *more])


def at(call: Call, *, path: dict[str, str] | None = None, **body: Any) -> Call:
    """The call of an API handler with a body, made by a page for the same asker."""
    return replace(call, path=call.path if path is None else call.path | path, query={}, body=body)


async def patiently(handler: Callable[[Call], Awaitable[Any]], call: Call) -> Any:
    """Call a handler that only reads; call it again if its worker was lost, since nothing can be charged."""
    try:
        return await handler(call)
    except Refused as refused:
        if not refused.cause.again:
            raise
        return await handler(call)


def asking_for(call: Call, path: dict[str, str] | None = None, **query: Any) -> Call:
    """The call of an API handler with a query, made by a page for the same asker."""
    return replace(call, path=call.path if path is None else call.path | path, query=query, body={})


def sentence(words: str) -> str:
    """Words as a sentence.

    >>> sentence("at most 4 rows of a person")
    'At most 4 rows of a person.'
    >>> sentence("n_consistent is post-processing")
    'n_consistent is post-processing.'
    """
    said = words.strip()
    is_name = "_" in said.partition(" ")[0]  # of a column, which stays as it is
    first = said[:1].upper() if said[:1].isascii() and not is_name else said[:1]  # and so does an ε
    return said and f"{first}{said[1:]}{'' if said[-1] in '.!?' else '.'}"


def with_names(words: str) -> Markup:
    """Words, escaped; what is in back quotes becomes code.

    >>> with_names("`a<b` is no name")
    Markup('<code>a&lt;b</code> is no name')
    """
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(words))))  # noqa: S704 (escaped before)


@lru_cache(maxsize=1)
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("giveortake.server.console"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["safe_text"] = lambda words: printable(str(words))
    environment.filters["safe_lines"] = lambda words: "\n".join(map(printable, str(words).splitlines()))
    environment.filters["category"] = lambda value: "missing" if value is None else printable(str(value))
    environment.filters["sentence"] = lambda words: sentence(str(words))
    environment.filters["with_names"] = with_names
    return environment


@lru_cache(maxsize=16)
def static_file(name: str) -> bytes:
    """One of the files that come with the console."""
    return (files("giveortake.server.console") / "static" / name).read_bytes()
