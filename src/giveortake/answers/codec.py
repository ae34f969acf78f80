"""Answers as JSON and back, whole: kinds, intervals and provenance, so that what is read equals what was written."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.answers.column import Column, Kind, Value
from giveortake.answers.terms import Caps, Confidence, LeftOut
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.exact import fraction_text, read_fraction

if TYPE_CHECKING:
    from giveortake.answers.answer import Released


FORMAT = 1
_READ: dict[Kind, Callable[[Any], Value]] = {
    "date": dt.date.fromisoformat,
    "time": dt.datetime.fromisoformat,
    "decimal": Decimal,
}
_TYPES: dict[Kind, tuple[type, ...]] = {
    "integer": (int,),
    "float": (int, float),
    "text": (str,),
    "truth": (bool,),
    "date": (str,),
    "time": (str,),
    "decimal": (str, int, float),
    "nothing": (),
}
_NOT_FINITE = ("inf", "-inf", "nan")


def to_json(answer: Released, kind: str) -> str:
    """The table and its provenance as JSON.

    `columns` holds the plain table: a number that is not finite is null there, a decimal or a date is text. What else
    it takes to read the same answer again stands beside it: the kinds of the columns, which of them have intervals,
    which numbers are not finite, and the promises as numbers.
    """
    parts = answer.to_dict()
    document = {
        "columns": {name: [_jsonable(value) for value in values] for name, values in parts.items()},
        **_provenance_to_json(answer),
        "format": FORMAT,
        "kind": kind,
        "kinds": [[column.name, column.kind] for column in answer.columns],
        "intervals": [column.name for column in answer.columns if column.has_interval],
        "not_finite": {name: infinities for name, values in parts.items() if (infinities := _not_finite(values))},
        "promises": {"guarantee": _promised(answer.guarantee), "cost": _promised(answer.cost)},
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, default=str)


def provenance_of(answer: Released) -> str:
    """The provenance of an answer as JSON in ASCII, for the metadata of files."""
    return json.dumps(_provenance_to_json(answer), allow_nan=False, default=str)


def _provenance_to_json(answer: Released) -> dict[str, Any]:
    recipe = dict(answer.recipe) if isinstance(answer.recipe, Mapping) else list(answer.recipe)
    return {
        "confidence": str(answer.confidence),
        **({} if answer.confidence.over == "cell" else {"confidence_over": answer.confidence.over}),
        "guarantee": None if answer.guarantee is None else str(answer.guarantee),
        "cost": None if answer.cost is None else str(answer.cost),
        "release_id": answer.release_id,
        "citations": list(answer.citations),
        "recipe": recipe,
        "entropy": answer.entropy,
        "notes": list(answer.notes),
        "caps": None if answer.caps is None else answer.caps.to_json(),
        "left_out": None if answer.left_out is None else answer.left_out.to_json(),
    }


def from_json(text: str, kind: str) -> tuple[list[Column], dict[str, Any]]:
    """The columns and the provenance that `to_json` wrote. Anything else is refused with one sentence."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or "format" not in document:
            raise _refusal("does not say which version wrote it", hint="to_json of this version writes it")
        if document["format"] != FORMAT:
            raise _refusal("was made by a later version", hint="upgrade giveortake")
        if document["kind"] != kind:
            raise _refusal(f"holds a {document['kind']}, not a {kind}")
        return _columns(document), _provenance(document)
    except GiveOrTakeError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, InvalidOperation, RecursionError, OverflowError):
        raise _refusal("is not an answer in JSON, or a damaged one") from None


def _columns(document: dict[str, Any]) -> list[Column]:
    parts = {
        name: _with_not_finite(values, document["not_finite"].get(name, {}))
        for name, values in document["columns"].items()
    }
    intervals = document["intervals"]
    columns = []
    for name, kind in document["kinds"]:
        names = [name, f"{name}_low", f"{name}_high"] if name in intervals else [name]
        values = [[_read(kind, value) for value in parts.pop(part_name)] for part_name in names]
        columns.append(Column(name, *values, kind=kind))
    if parts or not set(intervals) <= {column.name for column in columns}:
        raise _refusal("has columns that it says nothing about")
    return columns


def _read(kind: Kind, value: Any) -> Value:
    if value is not None and type(value) not in _TYPES[kind]:
        raise TypeError
    as_it_is = value is None or isinstance(value, int) or kind not in _READ
    cell: Value = value if as_it_is else _READ[kind](value)
    return cell


def _with_not_finite(values: list[Any], words: dict[str, str]) -> list[Any]:
    numbers = list(values)
    for index, word in words.items():
        if word not in _NOT_FINITE or numbers[int(index)] is not None:
            raise ValueError
        numbers[int(index)] = float(word)
    return numbers


def _provenance(document: dict[str, Any]) -> dict[str, Any]:
    texts = {name: document[name] for name in ("release_id", "entropy")}
    if not all(value is None or isinstance(value, str) for value in texts.values()):
        raise TypeError
    lists = {name: tuple(map(str, document[name])) for name in ("citations", "notes")}
    recipe = document["recipe"]
    promises = {name: document["promises"][name] for name in ("guarantee", "cost")}
    return {
        **texts,
        **lists,
        **{name: document[name] if promise is None else _promise(promise) for name, promise in promises.items()},
        "recipe": recipe if isinstance(recipe, dict) else tuple(recipe),
        "caps": None if document["caps"] is None else Caps.of(**document["caps"]),
        "left_out": None if document["left_out"] is None else LeftOut.from_json(document["left_out"]),
        "confidence": Confidence(document["confidence"], document.get("confidence_over")),
    }


def _promised(thing: object) -> Any:
    """A promise or a number in a form that can be read again; None if only its text is kept."""
    from giveortake.privacy import documents  # noqa: PLC0415 (answers of surveys need none of it)

    if type(thing) in documents.KINDS.values():
        return documents.promise_to_json(thing)  # type: ignore[arg-type]  # (it is of one of the kinds)
    return fraction_text(thing) if isinstance(thing, Fraction) else None


def _promise(content: Any) -> Any:
    from giveortake.privacy import documents  # noqa: PLC0415 (answers of surveys need none of it)

    if isinstance(content, str):
        return read_fraction("promise", content, signed=True)
    return documents.promise_from_json(content)


def _not_finite(values: list[Value]) -> dict[str, str]:
    return {
        str(index): str(float(value))
        for index, value in enumerate(values)
        if isinstance(value, float | Decimal) and not math.isfinite(value)
    }


def _jsonable(value: Value) -> Value:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    return value if value is None or isinstance(value, int | str) else value.isoformat()


def _refusal(problem: str, hint: str | None = None) -> InvalidParameter:
    return InvalidParameter("text", "the document", problem, hint=hint)
