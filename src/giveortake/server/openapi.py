"""The OpenAPI document, made of the table of routes: what it says is what is checked."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from giveortake.server.routes import Route
from giveortake.server.schemas import OBJECT
from giveortake.wire.causes import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.server.routes import Call, Result

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
    found: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", route.name.lower()).strip("_"),
        "summary": route.summary,
        "description": {"anybody": "For anybody.", "analyst": "For analysts and custodians."}.get(
            route.role, "For custodians."
        ),
        "security": [] if route.role == "anybody" else [{"token": []}],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": _SEGMENT} for name in route.parameters),
            *({"name": name, "in": "query", "schema": schema} for name, schema in route.query.items()),
        ],
        "responses": {
            "200": {"description": route.summary, "content": _results(route)},
            "default": {"$ref": "#/components/responses/Refusal"},
        },
    }
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": _json(route.body)}
    return found


_SEGMENT = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}


def _results(route: Route) -> dict[str, Any]:
    return {
        kind.partition(";")[0]: {"schema": (route.result or OBJECT) if "json" in kind else {"type": "string"}}
        for kind in route.media
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def route_of(routes: Iterable[Route]) -> Route:
    """The route that serves the document of these routes and of itself."""
    listed = list(routes)

    async def document(_call: Call) -> Result:
        """The OpenAPI document."""
        return openapi(listed)

    found = Route("GET", "/v1/openapi.json", "analyst", "this document", document, result=OBJECT)
    listed.append(found)
    return found
