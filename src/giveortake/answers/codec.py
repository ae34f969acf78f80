"""Answers as JSON and back, whole: kinds, intervals and provenance, so that what is read equals what was written."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake import codec
from giveortake.answers.column import Column, Kind, Value, Values, plain
from giveortake.answers.terms import Caps, Confidence, LeftOut
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from giveortake.answers.answer import Released


@final
@codec.complete
@dataclass(frozen=True, slots=True)
class Provenance:
    """What an answer holds besides its table. Promises are documents, fractions, or texts of other promises."""

    guarantee: Any
    cost: Any
    release_id: str | None
    confidence: Confidence
    citations: tuple[str, ...]
    recipe: dict[str, Any] | tuple[str, ...]
    entropy: str
    notes: tuple[str, ...]
    caps: Caps | None
    left_out: LeftOut | None


@final
@codec.complete
@dataclass(frozen=True, slots=True)
class _Head:
    """What it takes to read the table of an answer: the kinds of its columns, and which of them have intervals.

    `noise` lists those whose intervals cover truncation too; the ends of the part for noise alone are columns then.
    `open_sides` says of others that truncation may move them further down, up, or both.
    """

    kind: str
    kinds: tuple[tuple[str, Kind], ...]
    intervals: tuple[str, ...]
    noise: tuple[str, ...] = ()
    open_sides: Mapping[str, tuple[bool, bool]] = field(default_factory=dict)


NAMES = tuple(part.name for part in fields(Provenance))
_NOT_FINITE = ("inf", "-inf", "nan")


def _float(cell: Any) -> Value:
    if isinstance(cell, str) and cell not in _NOT_FINITE:
        raise ValueError
    return float(cell) if isinstance(cell, str) else cell


_READ: dict[Kind, tuple[tuple[type, ...], Callable[[Any], Value]]] = {
    "integer": ((int,), int),
    "float": ((int, float, str), _float),
    "text": ((str,), str),
    "truth": ((bool,), bool),
    "date": ((str,), dt.date.fromisoformat),
    "time": ((str,), dt.datetime.fromisoformat),
    "decimal": ((str, int, float), lambda cell: Decimal(cell) if isinstance(cell, str) else cell),
    "nothing": ((), str),
}


def to_json(answer: Released, kind: str) -> str:
    """The table and its provenance as JSON; numbers that are not finite, decimals, days and times are texts."""
    parts = {name: (column.kind, values) for column in answer.columns for name, values in column.parts().items()}
    for column in answer.columns:
        parts |= dict(zip(_noise_names(column.name), ((column.kind, end) for end in column.noise or ()), strict=False))
    head = _Head(
        kind,
        tuple((column.name, column.kind) for column in answer.columns),
        tuple(column.name for column in answer.columns if column.has_interval),
        tuple(column.name for column in answer.columns if column.noise is not None),
        {column.name: column.open_sides for column in answer.columns if any(column.open_sides)},
    )
    columns = {name: _cells(kind, values) for name, (kind, values) in parts.items()}
    document = {"columns": columns, **codec.write(head, _Head), **_provenance_to_json(answer)}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, default=str)


def provenance_of(answer: Released) -> str:
    """The provenance of an answer as JSON in ASCII, for the metadata of files."""
    return json.dumps(_provenance_to_json(answer), allow_nan=False, default=str)


def _provenance_to_json(answer: Released) -> dict[str, Any]:
    content = {name: getattr(answer, name) for name in NAMES}
    content |= {name: _promise_to_json(content[name]) for name in ("guarantee", "cost")}
    content["recipe"] = dict(answer.recipe) if isinstance(answer.recipe, Mapping) else answer.recipe
    document: dict[str, Any] = codec.write(Provenance(**content), Provenance)
    return document


def from_json(text: str, kind: str) -> tuple[list[Column], dict[str, Any]]:
    """The columns and the provenance that `to_json` wrote. Anything else is refused with one sentence."""
    document = codec.parsed(text, what="answer")
    if not isinstance(document, dict) or document.get("kind") != kind:
        raise InvalidParameter("answer", "the document", f"is not JSON of an {kind}")
    try:
        table = document.pop("columns")
        head = codec.read(_Head, {part.name: document.pop(part.name) for part in fields(_Head)}, what="answer")
        provenance = codec.read(Provenance, document, what="answer")
        content = {name: getattr(provenance, name) for name in NAMES}
        content |= {name: _promise_of(content[name]) for name in ("guarantee", "cost")}
        return _columns(head, table), content
    except InvalidParameter:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, InvalidOperation, OverflowError):
        raise InvalidParameter("answer", "the document", f"is not JSON of an {kind}, or damaged") from None


def _columns(head: _Head, table: dict[str, Any]) -> list[Column]:
    columns = []
    for name, kind in head.kinds:
        names = [name, f"{name}_low", f"{name}_high"] if name in head.intervals else [name]
        parts = [_values(kind, table.pop(part)) for part in names]
        low, high = (_values(kind, table.pop(part)) if name in head.noise else [] for part in _noise_names(name))
        sides = head.open_sides.get(name, (False, False))
        noise = (low, high) if name in head.noise else None
        columns.append(Column(name, *parts, kind=kind, noise=noise, open_sides=sides))
    if table or not set(head.intervals) <= {column.name for column in columns}:
        raise InvalidParameter("answer", "the document", "has columns that it says nothing about")
    return columns


def _noise_names(name: str) -> tuple[str, str]:
    """The ends of the noise of a column, under names that no column of an answer has."""
    return f"{name} noise low", f"{name} noise high"


def _values(kind: Kind, cells: list[Any]) -> list[Value]:
    types, read = _READ[kind]
    if not set(map(type, cells)) <= {*types, type(None)}:
        raise TypeError
    return cells if kind in {"integer", "text", "truth"} else [None if cell is None else read(cell) for cell in cells]


def _cells(kind: Kind, values: Values) -> list[Any]:
    if kind == "float" and isinstance(values, np.ndarray) and bool(np.isfinite(values).all()):
        return list(values.tolist())
    listed = plain(values)
    if kind in {"integer", "text", "truth", "nothing"}:
        return list(listed)
    return list(map(_cell, listed))


def _cell(value: Value) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return str(value)
        case dt.date():
            return value.isoformat()
    return value


def _promise_to_json(promise: object) -> Any:
    if isinstance(promise, Fraction):
        return codec.fraction_text(promise)
    try:
        return None if promise is None else codec.write(promise)
    except TypeError:  # of a kind that no budget is kept in
        return str(promise)


def _promise_of(content: Any) -> Any:
    if isinstance(content, dict):
        from giveortake.privacy import Guarantee  # noqa: PLC0415 (answers of surveys need none of it)

        return codec.read(Guarantee, content, what="answer")
    with suppress(ValueError):
        return codec.fraction_of(content)
    return content if content is None else str(content)
