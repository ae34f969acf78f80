"""Routes as lines of one table: who may use them, the shapes of body and result, and the OpenAPI document.

- JSON Schema for bodies and results: the same schema is checked and documented. A refusal names a field of it, never
  what was sent.
- The schemas that several routes use, and what a handler gets and returns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.errors import did_you_mean
from giveortake.ledger.chain.entries import LONGEST_REASON
from giveortake.server.limits import Work
from giveortake.server.responses import MEDIA
from giveortake.wire.errors import CAUSES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    from giveortake.hints import Face
    from giveortake.ledger.chain.state import TokenRole
    from giveortake.server.responses import Headers
    from giveortake.server.service import Service


Schema: TypeAlias = "dict[str, Any]"
Scope: TypeAlias = "MutableMapping[str, Any]"  # these three as ASGI has them
Receive: TypeAlias = "Callable[[], Awaitable[MutableMapping[str, Any]]]"
Send: TypeAlias = "Callable[[MutableMapping[str, Any]], Awaitable[None]]"

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


_EXAMPLES = {  # of fields that are often forgotten
    "key": '"key": "monthly-2027-01": a text of your own, new for every question; sent again, it is charged once',
    "terms": '"terms": {"epsilon": "0.1"} says what the answer may cost',
    "queries": '"queries": [{"sql": "SELECT COUNT(*) AS n FROM trips"}]',
    "epsilon": '"epsilon": "0.1"',
    "budget": '"budget": {"epsilon": "1"}, or {"epsilon": "1", "delta": "1e-8"}',
    "reason": '"reason": "asked for by the board"',
    "workload": '"workload": {"tables": [{"columns": ["region"]}]}, or {"sql": "SELECT …"}',
    "rows_per_person": '"rows_per_person": 10, or {"trips": 10}',
    "part": '"part": 0, then 1, until "last" is true',
}


class ShapeError(ValueError):
    """A value does not have the required shape; `problem` says where, in words of our own."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        self.problem, self.hint = problem, hint
        super().__init__(problem)


def require(value: Any, schema: Schema, label: str = "the body") -> None:
    """Refuse a value that does not have the shape of a schema.

    >>> require({"epsilon": []}, object_of(epsilon=NUMBER))
    Traceback (most recent call last):
    giveortake.server.routes.ShapeError: epsilon is not a string or number
    """
    if "anyOf" in schema:
        _require_any(value, schema["anyOf"], label)
        return
    kinds = schema.get("type", list(_TYPES))
    named = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in named):
        raise ShapeError(f"{label} is not {_article(named[0])} {' or '.join(named)}", _EXAMPLES.get(label))
    if "enum" in schema and value not in schema["enum"]:
        raise ShapeError(f"{label} has no such value", f"one of {', '.join(map(str, schema['enum']))}")
    match value:
        case str():
            _require_size(len(value), schema, "Length", label, "characters")
        case list():
            _require_size(len(value), schema, "Items", label, "items")
            for item in value:
                require(item, schema.get("items", {}), f"an item of {label}")
        case dict():
            _require_fields(value, schema, label)
        case bool() | None:
            pass
        case _:
            _require_within(value, schema, label)


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"


def _require_any(value: Any, choices: list[Schema], label: str) -> None:
    others = [choice for choice in choices if choice.get("type") != "null"]
    if len(others) == 1 and value is not None:
        require(value, others[0], label)
        return
    for choice in choices:
        try:
            require(value, choice, label)
        except ShapeError:
            continue
        return
    raise ShapeError(f"{label} has none of the shapes that it may have", _EXAMPLES.get(label))


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _require_size(size: int, schema: Schema, keyword: str, label: str, words: str) -> None:
    if size < schema.get(f"min{keyword}", 0):
        raise ShapeError(f"{label} has fewer than {schema[f'min{keyword}']} {words}")
    if size > schema.get(f"max{keyword}", size):
        raise ShapeError(f"{label} has more than {schema[f'max{keyword}']} {words}")


def _require_within(value: float, schema: Schema, label: str) -> None:
    if value < schema.get("minimum", value) or value > schema.get("maximum", value):
        raise ShapeError(f"{label} is not between {schema.get('minimum')} and {schema.get('maximum')}")


def _require_fields(value: dict[str, Any], schema: Schema, label: str) -> None:
    known = schema.get("properties")
    additional = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            raise ShapeError(f"{name} is missing", _EXAMPLES.get(name))
    for name, field_value in value.items():
        if known is not None and name in known:
            require(field_value, known[name], name)
        elif isinstance(additional, dict):
            require(field_value, additional, f"a value of {label}")
        elif not additional:
            listed = f"{label} has a name that is not known; known: {', '.join(known or ())}"
            raise ShapeError(listed, did_you_mean(name, known or ()).rstrip() or None)
    if "maxProperties" in schema:
        _require_size(len(value), schema, "Properties", label, "names")


# -- words for making them ----------------------------------------------------------------------------------------


def object_of(*required: str, **fields: Schema) -> Schema:
    """An object with these fields and no others."""
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def listed(item: Schema, most: int | None = None) -> Schema:
    """A list of such items."""
    return {"type": "array", "items": item, **({} if most is None else {"maxItems": most})}


def maybe(schema: Schema) -> Schema:
    """The schema of the same, or null."""
    kinds = schema["type"]
    return {**schema, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}


def text(most: int, least: int = 1) -> Schema:
    """A text of `least` to `most` characters."""
    return {"type": "string", "minLength": least, "maxLength": most}


def inlined(schema: Schema) -> Schema:
    """A schema with its definitions in their places; none may hold itself."""
    definitions: Schema = schema.get("$defs", {})

    def replaced(part: Any) -> Any:
        if isinstance(part, list):
            return [replaced(element) for element in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return replaced(definitions[part["$ref"].removeprefix("#/$defs/")])
        return {name: replaced(value) for name, value in part.items() if name != "$defs"}

    inlined_schema: Schema = replaced(schema)
    return inlined_schema


ANY: Schema = {}
TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": ["string", "number"], "maxLength": 64}  # a text is exact: "0.1", "1/3"
OBJECT: Schema = {"type": "object"}
NAMES = listed(text(200), 1000)


KEY = text(200)
SQL = text(20_000)
REASON = text(LONGEST_REASON)
FORMAT: Schema = {"type": "string", "enum": [*MEDIA, "stored"]}  # as it is stored, for sessions of `gt.connect`
LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": 1000}
CAP: Schema = {
    "anyOf": [NUMBER, {"type": "object", "additionalProperties": NUMBER, "maxProperties": 100}],
}
TERMS: Schema = {
    **object_of(
        epsilon=NUMBER,
        delta=NUMBER,
        rho=NUMBER,
        mu=NUMBER,
        margin=NUMBER,
        share=NUMBER,
        confidence=NUMBER,
        confidence_over={"type": "string", "enum": ["cell", "answer"]},
        key_delta=NUMBER,
        aim={"type": "string", "enum": ["numbers", "groups"]},
        n=NUMBER,
        rows_per_person=CAP,
        groups_per_person=NUMBER,
        rows_per_group=NUMBER,
        caps={"type": "string", "enum": ["best"]},
    ),
    "description": "What the answer may cost, how sure it is to be, and how much of a person counts. Numbers may be "
    'texts, which are exact: "0.1", "1/3".',
}
QUESTION: Schema = {
    "sql": {**SQL, "description": "the question in SQL; or `plan`"},
    "plan": {
        "type": ["object", "string"],
        "maxLength": 60_000,
        "description": "a question as Query.plan writes it, or that as a text, which may nest deeper; or `sql`",
    },
}
REQUEST: Schema = {
    **QUESTION,
    "queries": {**listed(object_of(**QUESTION), 100), "description": "several questions, under one charge"},
    "workload": object_of(
        sql=SQL,
        table=text(200),
        minimise={"type": "string", "enum": ["rms", "maximum"]},
        norm=NUMBER,
        tables=listed(object_of("columns", columns=NAMES, weight=NUMBER, of=maybe(text(200))), 10_000),
        ranges=listed(object_of("column", column=text(200), by=NAMES, bins=maybe(WHOLE), weight=NUMBER), 100),
    ),
    "request": {
        "type": ["object", "string"],
        "maxLength": 60_000,
        "description": 'anything that can be bought: {"kind": "profile", "table": "trips"}, a counter, weights, a fit, '
        "a synthesis; or that as a text, which may nest deeper",
    },
    "part_of_tables": {
        **object_of("column", "value", column=text(200), value=ANY, parts_per_person=WHOLE),
        "description": "the part of a partition that is asked about, if not all rows are",
    },
}
ARGUMENT: Schema = {
    "type": ["array", "string", "integer", "null"],
    "maxLength": 60_000,
    "description": 'of weights, the combinations to count: [{"region": "north"}]; of a counter, how many periods there '
    "are already, so that a retry draws none twice, or null",
}
STORED: Schema = {"type": "string", "enum": ["json", "stored"]}
CURRENCY: Schema = {
    "type": "string",
    "enum": ["epsilon", "rho", "mu", "share"],
    "description": "in what a curve is drawn if the terms state no spend; epsilon unless said",
}
BUDGET: Schema = {
    **object_of(epsilon=NUMBER, delta=NUMBER, rho=NUMBER, mu=NUMBER),
    "description": 'a promise: {"epsilon": "1"}, {"epsilon": "1", "delta": "1e-8"}, {"rho": "0.1"} or {"mu": "1"}',
}

AMOUNT = object_of("words", words=TEXT, exactly=maybe(TEXT))
NUMBER_OF_BUDGET: Schema = {"type": ["number", "null"]}
STANDING: Schema = {
    "type": "object",
    "required": ["level", "budget", "spent", "remaining", "share", "meter", "affordable"],
    "properties": {
        "level": TEXT,
        "budget": maybe(TEXT),
        "spent": AMOUNT,
        "remaining": AMOUNT,
        "share": {"type": ["number", "null"]},
        "meter": {**maybe(TEXT), "description": "the currency in which `share` is measured, in words"},
        "given": {**NUMBER_OF_BUDGET, "description": "the part of the budget that was given to analysts"},
        "own": {**NUMBER_OF_BUDGET, "description": "the part that the asker's own questions have spent"},
        "affordable": {"type": ["number", "null"]},
    },
}
COLUMN: Schema = {
    "type": "object",
    "required": ["name", "kind", "nullable", "words"],
    "properties": {"name": TEXT, "kind": TEXT, "low": maybe(TEXT), "high": maybe(TEXT), "words": TEXT},
}
TABLE: Schema = {
    "type": "object",
    "required": ["name", "columns"],
    "properties": {"name": TEXT, "columns": listed(COLUMN), "rows_per_person": maybe(WHOLE)},
}
DATASET: Schema = {
    "type": "object",
    "required": ["name", "unit", "caps", "caps_in_words", "tables", "public", "standing"],
    "properties": {"name": TEXT, "unit": maybe(TEXT), "tables": listed(TABLE), "standing": STANDING},
}
MARGINS: Schema = {"type": "object", "additionalProperties": {"type": ["number", "string", "null"]}}
QUOTE: Schema = {
    "type": "object",
    "required": ["spend", "margins", "truncation", "admitted", "confidence", "standing"],
    "properties": {
        "spend": TEXT,
        "margins": MARGINS,
        "truncation": MARGINS,
        "admitted": TRUTH,
        "approval": TRUTH,
        "standing": STANDING,
    },
}
POINT: Schema = {
    "type": "object",
    "required": ["spend", "words", "margins", "share", "admitted"],
    "properties": {"spend": TEXT, "words": TEXT, "margins": MARGINS, "admitted": {"type": "boolean"}},
}
CURVE: Schema = {
    "type": "object",
    "required": ["currency", "confidence", "points"],
    "properties": {"currency": TEXT, "confidence": TEXT, "points": listed(POINT)},
}
ANSWER: Schema = {
    "type": "object",
    "required": ["columns", "noise", "open_sides", "release_id", "confidence", "notes", "cost", "guarantee"],
    "properties": {
        "columns": OBJECT,
        "noise": listed(TEXT),
        "open_sides": OBJECT,
        "release_id": TEXT,
        "notes": listed(TEXT),
    },
}
RELEASED: Schema = {
    "type": "object",
    "required": ["id", "at", "dataset", "asked", "settled", "failed", "free", "questions"],
    "properties": {"id": TEXT, "at": TEXT, "asked": maybe(TEXT), "settled": TRUTH, "failed": TRUTH},
}
APPROVAL: Schema = {
    "type": "object",
    "required": ["request", "state", "at", "dataset", "asked", "price", "questions", "reason", "expires"],
    "properties": {"request": WHOLE, "state": TEXT, "at": TEXT, "price": maybe(TEXT), "reason": maybe(TEXT)},
}
RELEASE = text(200)
PLACE: Schema = {"type": "integer", "minimum": 0, "maximum": 9_999}
PART: Schema = {"type": "integer", "minimum": 0, "maximum": 999_999}
NUMBER_OF_ENTRY: Schema = {"type": "integer", "minimum": 0, "maximum": 10**15}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 10**9}


Role: TypeAlias = Literal["anybody", "monitor", "auditor", "analyst", "custodian"]  # custodians may do what others may
Result: TypeAlias = "dict[str, Any] | Reply"


@final
@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking, as the ledger has it: the role, the name of an analyst, and the data sets that they may ask."""

    token: str
    role: TokenRole
    analyst: str | None
    datasets: tuple[str, ...]
    revoked: bool = False

    @property
    def caller(self) -> str:
        """Whose limits and turns count: all tokens of an analyst are one caller, and each of a custodian is one."""
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

    method: Literal["GET", "POST"]
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
    may_go_on: bool = False  # longer than a request may wait, which is told with 202

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters in its path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def name(self) -> str:
        """The name in logs and metrics, which holds nothing of a request."""
        return f"{self.method} {self.path}"


_REFUSAL: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["cause", "message", "hint"],
            "properties": {
                "cause": {"type": "string", "enum": [cause.name for cause in CAUSES]},
                "message": {"type": "string"},
                "hint": {"type": ["string", "null"]},
            },
        }
    },
}


def openapi(routes: Iterable[Route]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of every route except pages."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not route.page:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "giveortake",
            "version": version("giveortake"),
            "summary": "Numbers, give or take an honest margin",
        },
        "paths": paths,
        "components": {
            "schemas": {"Refusal": _REFUSAL},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Refusal": {"description": "a refusal", "content": _json({"$ref": _REFUSED})}},
        },
    }


_REFUSED = "#/components/schemas/Refusal"


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", route.name.lower()).strip("_"),
        "summary": route.summary,
        "description": _FOR[route.role],
        "security": [] if route.role == "anybody" else [{"token": []}],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": _SEGMENT} for name in route.parameters),
            *({"name": name, "in": "query", "schema": schema} for name, schema in route.query.items()),
        ],
        "responses": {
            "200": {"description": route.summary, "content": _results(route)},
            **({"202": _PENDING} if route.may_go_on else {}),
            "default": {"$ref": "#/components/responses/Refusal"},
        },
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(route.body)}
    return operation


_FOR = {
    "anybody": "For anybody.",
    "monitor": "For monitors and custodians.",
    "auditor": "For auditors and custodians.",
    "analyst": "For analysts and custodians.",
    "custodian": "For custodians.",
}
_SEGMENT = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}


def _results(route: Route) -> dict[str, Any]:
    return {
        kind.partition(";")[0]: {"schema": (route.result or OBJECT) if "json" in kind else {"type": "string"}}
        for kind in route.media
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_PENDING = {
    "description": "a fit or a synthesis goes on: send the same request again, with its key",
    "content": _json(object_of("pending", pending=object_of("steps", steps=WHOLE))),
}


def route_of(routes: Iterable[Route]) -> Route:
    """The route that serves the document of these routes and of itself."""
    listed = list(routes)

    async def document(_call: Call) -> Result:
        """The OpenAPI document."""
        return openapi(listed)

    route = Route("GET", "/v1/openapi.json", "analyst", "this document", document, result=OBJECT)
    listed.append(route)
    return route
