"""Shapes of bodies and results as JSON Schema; the same table is checked and documented.

A refusal names a field of our own schema, never what was sent.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from giveortake.errors import meant

Schema: TypeAlias = "dict[str, Any]"

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
    "questions": '"questions": [{"sql": "SELECT COUNT(*) AS n FROM trips"}]',
    "epsilon": '"epsilon": "0.1"',
    "budget": '"budget": {"epsilon": "1"}, or {"epsilon": "1", "delta": "1e-8"}',
    "reason": '"reason": "asked for by the board"',
    "workload": '"workload": {"tables": [{"columns": ["region"]}]}, or {"sql": "SELECT …"}',
    "rows_per_person": '"rows_per_person": 10, or {"trips": 10}',
    "part": '"part": 0, then 1, until "last" is true',
}


class Misshapen(ValueError):
    """A value does not have the required shape; `problem` says where, in words of our own."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        self.problem, self.hint = problem, hint
        super().__init__(problem)


def require(value: Any, schema: Schema, place: str = "the body") -> None:
    """Refuse a value that does not have the shape of a schema.

    >>> require({"epsilon": []}, of(epsilon=NUMBER))
    Traceback (most recent call last):
    giveortake.server.schemas.Misshapen: epsilon is not a string or number
    """
    if "anyOf" in schema:
        _require_any(value, schema["anyOf"], place)
        return
    kinds = schema.get("type", list(_TYPES))
    named = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in named):
        raise Misshapen(f"{place} is not {_article(named[0])} {' or '.join(named)}", _EXAMPLES.get(place))
    if "enum" in schema and value not in schema["enum"]:
        raise Misshapen(f"{place} has no such value", f"one of {', '.join(map(str, schema['enum']))}")
    match value:
        case str():
            _require_size(len(value), schema, "Length", place, "characters")
        case list():
            _require_size(len(value), schema, "Items", place, "items")
            for each in value:
                require(each, schema.get("items", {}), f"an item of {place}")
        case dict():
            _require_fields(value, schema, place)
        case bool() | None:
            pass
        case _:
            _require_within(value, schema, place)


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"


def _require_any(value: Any, choices: list[Schema], place: str) -> None:
    for each in choices:
        try:
            require(value, each, place)
        except Misshapen:
            continue
        return
    raise Misshapen(f"{place} has none of the shapes that it may have", _EXAMPLES.get(place))


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _require_size(size: int, schema: Schema, what: str, place: str, words: str) -> None:
    if size < schema.get(f"min{what}", 0):
        raise Misshapen(f"{place} has fewer than {schema[f'min{what}']} {words}")
    if size > schema.get(f"max{what}", size):
        raise Misshapen(f"{place} has more than {schema[f'max{what}']} {words}")


def _require_within(value: float, schema: Schema, place: str) -> None:
    if value < schema.get("minimum", value) or value > schema.get("maximum", value):
        raise Misshapen(f"{place} is not between {schema.get('minimum')} and {schema.get('maximum')}")


def _require_fields(value: dict[str, Any], schema: Schema, place: str) -> None:
    known = schema.get("properties")
    others = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            raise Misshapen(f"{name} is missing", _EXAMPLES.get(name))
    for name, each in value.items():
        if known is not None and name in known:
            require(each, known[name], name)
        elif isinstance(others, dict):
            require(each, others, f"a value of {place}")
        elif not others:
            listed = f"{place} has a name that is not known; known: {', '.join(known or ())}"
            raise Misshapen(listed, meant(name, known or ()).rstrip() or None)
    if "maxProperties" in schema:
        _require_size(len(value), schema, "Properties", place, "names")


# -- words for making them ----------------------------------------------------------------------------------------


def of(*required: str, **fields: Schema) -> Schema:
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


ANY: Schema = {}
TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": ["string", "number"], "maxLength": 64}  # a text is exact: "0.1", "1/3"
OBJECT: Schema = {"type": "object"}
NAMES = listed(text(200), 1000)
