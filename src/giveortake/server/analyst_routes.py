"""Routes of analysts: what there is, what it would cost, answers, and what was asked before."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any, TypeAlias

from giveortake.server import routes
from giveortake.server.responses import MEDIA, Refusal, malformed
from giveortake.server.routes import (
    OBJECT,
    TEXT,
    TRUTH,
    Call,
    Reply,
    Result,
    Route,
    listed,
    maybe,
    object_of,
)

File: TypeAlias = "tuple[str, bytes]"  # the id of a release, and what a worker wrote


async def me(call: Call) -> Result:
    """Who is asking, and which data sets they may ask."""
    who = call.who
    return {"role": who.role, "analyst": who.analyst, "token": who.token, "datasets": list(who.datasets)}


async def datasets(call: Call) -> Result:
    """Every data set that the caller may ask."""
    calls = [replace(call, path={"dataset": name}) for name in call.who.datasets]
    descriptions = await asyncio.gather(
        *(call.service.ask_for_bytes(dataset_call, "describe") for dataset_call in calls)
    )
    return Reply(b'{"datasets":[' + b",".join(content for _, content in descriptions) + b"]}", MEDIA["json"])


async def dataset(call: Call) -> Result:
    """One data set."""
    _, content = await call.service.ask_for_bytes(call, "describe")
    return Reply(content, MEDIA["json"])


async def outline(call: Call) -> Result:
    """One data set as pages show it: however many categories there are, it is small."""
    return await call.service.ask(call, "outline")


async def budget(call: Call) -> Result:
    """What the caller has spent of a data set's budget, and what is left."""
    return await call.service.ask(call, "budget")


async def quote(call: Call) -> Result:
    """The quote of whatever can be bought."""
    return await call.service.ask(call, "quote", **_wanted(call))


async def curve(call: Call) -> Result:
    """The quotes of a question at nine spends, asked for in parts: others have their turns between them."""
    curve_document: dict[str, Any] = {"points": [], "spends": None}
    while curve_document["spends"] != []:
        before = curve_document["points"]
        curve_document = await call.service.ask(
            call, "curve", currency=call.body.get("currency"), spends=curve_document["spends"], **_wanted(call)
        )
        curve_document["points"] = before + curve_document["points"]
    return {name: value for name, value in curve_document.items() if name != "spends"}


async def answer(call: Call) -> Result:
    """Answer whatever can be bought, in the format that is asked for; of a job that takes long, how far it is."""
    wanted, arguments = call.query.get("format", "json"), {"key": call.body["key"], **_wanted(call)}
    document, content = await call.service.ask_for_bytes(call, "answer", slow=True, format=wanted, **arguments)
    if "pending" in document:
        return Reply(json.dumps({"pending": {"steps": document["pending"]}}).encode(), MEDIA["json"], status=202)
    return _sent(call, (document["release_id"], content))


async def answered(call: Call) -> File:
    """Answer a question; return the release id and the bytes that the worker wrote."""
    return await _file(call, "answer", key=call.body["key"], **_wanted(call))


async def stream(call: Call) -> Result:
    """One part of a large answer."""
    return _sent(call, await _file(call, "stream", key=call.body["key"], index=call.body["part"], **_wanted(call)))


async def profiles(call: Call) -> Result:
    """The profiles that the caller has paid for."""
    return await call.service.ask(call, "profiles", format=call.query.get("format", "json"))


async def history(call: Call) -> Result:
    """The ledger's entries about the caller."""
    return await call.service.ask(call, "history", after=call.query.get("after", 0), limit=call.query.get("limit", 100))


async def releases(call: Call) -> Result:
    """The releases that the caller has paid for."""
    return await call.service.ask(
        call,
        "releases",
        after=call.query.get("after"),
        limit=call.query.get("limit", 100),
        newest_first=call.query.get("order") == "newest",
    )


async def approvals(call: Call) -> Result:
    """The caller's own large spends, and what was decided about them."""
    name = call.path["dataset"]
    if name not in call.who.datasets:  # absent and forbidden are one and the same
        raise Refusal("not_found")
    return await call.service.ask_ledger(call, "own_approvals", dataset=name)


async def release(call: Call) -> Result:
    """A stored answer, in the format that is asked for."""
    return _sent(call, await released(call))


async def released(call: Call) -> File:
    """A stored answer: the release id and the bytes that the worker wrote."""
    return await _file(call, "release", release=call.path["release"], place=call.query.get("place"))


async def report(call: Call) -> Result:
    """A release as a page that stands alone. It is sent as a file: the browser does not show it from here."""
    arguments = {"release": call.path["release"], "place": call.query.get("place")}
    document, content = await call.service.ask_for_bytes(call, "report", slow=True, format="html", **arguments)
    name = f'attachment; filename="{document["release_id"]}.html"'.replace("/", "-")
    headers = [(b"content-disposition", name.encode("latin-1", "replace"))]
    return Reply(content, _PAGE_MEDIA, headers=headers)


async def record(call: Call) -> Result:
    """What the ledger says of one release."""
    return await call.service.ask(call, "release_record", release=call.path["release"])


async def advance(call: Call) -> Result:
    """The next step of a counter or of weights; its steps so far."""
    return _sent(call, await _file(call, "advance", release=call.path["release"], argument=call.body["argument"]))


async def refine(call: Call) -> Result:
    """Refine a release, and send the combined answer."""
    return _sent(call, await refined(call))


async def refined(call: Call) -> File:
    """Refine a release; return its id and the bytes that the worker wrote."""
    return await _file(
        call,
        "refine",
        release=call.path["release"],
        place=call.query.get("place"),
        terms=call.body["terms"],
        key=call.body["key"],
    )


async def _file(call: Call, operation: str, **arguments: Any) -> File:
    """The result of an operation in the format that is asked for, with the id of its release."""
    wanted = call.query.get("format", "json")
    document, content = await call.service.ask_for_bytes(call, operation, slow=True, format=wanted, **arguments)
    return document["release_id"], content


def _sent(call: Call, file: File) -> Reply:
    """A result as a reply: JSON as it is, other formats as a file named after the release."""
    (release_id, content), wanted = file, call.query.get("format", "json")
    if wanted in {"json", "stored"}:
        return Reply(content, MEDIA["json"])
    name = f'attachment; filename="{release_id}.{wanted}"'.replace("/", "-")
    return Reply(content, MEDIA[wanted], headers=[(b"content-disposition", name.encode("latin-1", "replace"))])


_KINDS = ("sql", "plan", "queries", "workload", "request")


def _wanted(call: Call) -> dict[str, Any]:
    """What a body asks for: exactly one of SQL, a plan, several of them, a workload, and any other request."""
    wanted = {name: call.body[name] for name in _KINDS if name in call.body}
    if len(wanted) != 1:
        raise malformed(
            f"a body asks for exactly one of {', '.join(_KINDS)}", '"sql": "SELECT COUNT(*) AS n FROM trips"'
        )
    for query in wanted.get("queries", ()):
        if len(query) != 1:
            raise malformed("a query is exactly one of sql and plan", '{"sql": "SELECT COUNT(*) AS n FROM trips"}')
    workload = wanted.get("workload")
    if workload is not None and ("sql" in workload) == ("tables" in workload or "ranges" in workload):
        raise malformed("a workload is either sql, or tables and ranges", '"tables": [{"columns": ["region"]}]')
    return {"wanted": wanted, "terms": call.body.get("terms", {}), "part": call.body.get("part_of_tables")}


_AT = "/v1/datasets/{dataset}"
_RELEASE = f"{_AT}/releases/{{release}}"
_ASKED = {**routes.REQUEST, "terms": routes.TERMS}
_PAID = {"key": routes.KEY, "terms": routes.TERMS}
_FORMATS = {"format": routes.FORMAT}
_PLACE = {"place": routes.PLACE}
_FILES = tuple(MEDIA.values())
_PAGE_MEDIA = "text/html; charset=utf-8"
_ME = object_of("role", role=TEXT, analyst=maybe(TEXT), token=TEXT, datasets=listed(TEXT))
_ALL = object_of("datasets", datasets=listed(routes.DATASET))
_PAGE = {"after": routes.RELEASE, "limit": routes.LIMIT, "order": {"type": "string", "enum": ["oldest", "newest"]}}

ROUTES = (
    Route("GET", "/v1/me", "analyst", "who asks, and of what", me, result=_ME),
    Route("GET", "/v1/datasets", "analyst", "what may be asked: tables, domains and caps", datasets, result=_ALL),
    Route("GET", _AT, "analyst", "one data set", dataset, result=routes.DATASET),
    Route("GET", f"{_AT}/budget", "analyst", "what is spent and what is left", budget, result=routes.STANDING),
    Route(
        *("POST", f"{_AT}/quote", "analyst", "what an answer would cost, and how sure it would be; free", quote),
        body=object_of("terms", **_ASKED),
        result=routes.QUOTE,
    ),
    Route(
        *("POST", f"{_AT}/curve", "analyst", "margins at nine spends; free", curve),
        body=object_of(currency=routes.CURRENCY, **_ASKED),
        result=routes.CURVE,
    ),
    Route(
        *("POST", f"{_AT}/answer", "analyst", "an answer; a retry with the same key is charged once", answer),
        body=object_of("key", "terms", key=routes.KEY, **_ASKED),
        query=_FORMATS,
        result=OBJECT,
        media=_FILES,
        touches=True,
        may_go_on=True,
    ),
    Route(
        *("POST", f"{_AT}/stream", "analyst", "one part of a very large answer; all have one key", stream),
        body=object_of("key", "terms", "part", key=routes.KEY, part=routes.PART, **_ASKED),
        result=object_of("answer", "last", answer=routes.ANSWER, last=TRUTH),
        touches=True,
    ),
    Route(
        *("GET", f"{_AT}/profiles", "analyst", "profiles that the asker has paid for, again; free", profiles),
        query={"format": routes.STORED},
        result=object_of("profiles", profiles=listed(OBJECT)),
    ),
    Route(
        *("GET", f"{_AT}/history", "analyst", "what the ledger says of the asker", history),
        query={"after": routes.NUMBER_OF_ENTRY, "limit": routes.LIMIT},
        result=object_of("entries", "more", entries=listed(OBJECT), more=TRUTH),
    ),
    Route(
        *("GET", f"{_AT}/releases", "analyst", "what the asker has paid for", releases),
        query=_PAGE,
        result=object_of("releases", "more", releases=listed(routes.RELEASED), more=TRUTH),
    ),
    Route(
        *("GET", f"{_AT}/approvals", "analyst", "large spends of the asker, and what was decided", approvals),
        result=object_of("approvals", approvals=listed(routes.APPROVAL)),
    ),
    Route(
        *("GET", _RELEASE, "analyst", "an answer that was released, again; free", release),
        query=_FORMATS | _PLACE,
        result=OBJECT,
        media=_FILES,
    ),
    Route(
        *(
            "GET",
            f"{_RELEASE}/report",
            "analyst",
            "the same as a page for people: a file in HTML without script",
            report,
        ),
        query=_PLACE,
        media=(_PAGE_MEDIA,),
    ),
    Route(
        *("GET", f"{_RELEASE}/record", "analyst", "what the ledger says of one release", record),
        result=routes.RELEASED,
    ),
    Route(
        *(
            "POST",
            f"{_RELEASE}/advance",
            "analyst",
            "the next period of a counter, or one more count of weights",
            advance,
        ),
        body=object_of("argument", argument=routes.ARGUMENT),
        result=OBJECT,
        touches=True,
    ),
    Route(
        *("POST", f"{_RELEASE}/refine", "analyst", "the same asked once more, and combined", refine),
        body=object_of("key", "terms", **_PAID),
        query=_FORMATS | _PLACE,
        result=routes.ANSWER,
        media=_FILES,
        touches=True,
    ),
)
