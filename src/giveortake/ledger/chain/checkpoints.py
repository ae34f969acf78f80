"""Checkpoints: what the entries so far add up to, written down beside them, and its hash in the chain.

Guarantee: a ledger that is opened from a checkpoint is the one that is read from its first entry on. The state after a
checkpoint's entry is a function of the entries before it: of what is small, the text of the checkpoint holds all; of
the rest it holds hashes (`Hashes`, `EntryIndex`). The entry holds the hash of that text, and the mark holds the hash of
a later entry, or of this one. So a text that was edited, an older one in its place, or one of another ledger does not
match; and a checkpoint that the mark does not remember yet is not believed, but derived again from the one before.
"""

from __future__ import annotations

import json
import types
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, final, get_args, get_origin, get_type_hints

from giveortake import codec
from giveortake.errors import LedgerDamaged
from giveortake.ledger.chain.entries import RESTORE, Array, EntryIndex, Hashes, canonical, digest, promise_from_json
from giveortake.ledger.chain.state import ApprovalRequest, DataSet, EntryList, Grant, Level, State, Token
from giveortake.ledger.chain.store import Tables
from giveortake.privacy import Guarantee, Neighbours, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.ledger.chain.entries import Entry, Json


Known: TypeAlias = "Mapping[Any, Mapping[int, Any]]"

_WRITING = 5  # version of what `_encoded` writes, and of what a state forgets
EVERY = 1024  # entries: reading as many takes a second where a million charges are behind them
_BESIDE = frozenset({"entry_index", "hashes", "reader", "rows", "_recent", "_settlements"})
_PARTS = {
    DataSet: "data set",
    Grant: "grant",
    Level: "level",
    EntryList: "listed release",
    ApprovalRequest: "request",
    Token: "token",
}  # with the names by which the shape knows them
_WHOLE = {Level: "levels", ApprovalRequest: "requests_by_id"}  # the field that holds what several fields refer to
_NAMES = {"Guarantee": Guarantee, "Neighbours": Neighbours, "Tables": Tables, "Unit": Unit}


@final
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a ledger as text, with the chunks of hashes that changed since the last checkpoint."""

    text: str
    chunks: Mapping[str, Mapping[int, bytes]]
    anchors: Array
    buckets: Array


def checkpoint_of(state: State) -> Checkpoint:
    """Make a checkpoint of a state, without changing the state."""
    anchors, buckets = state.hashes.sealed(state.reader), state.entry_index.sealed(state.reader)
    chunks = {array.name: array.seal() for array in (anchors, buckets)}
    content = {name: _encoded(getattr(state, name), kind) for name, kind in _state_hints().items()}
    content |= {name: [[key, _fields(part)] for key, part in getattr(state, name).items()] for name in _WHOLE.values()}
    text = canonical({"anchors": anchors.top, "finds": buckets.top, "state": content})  # type: ignore[dict-item]  # (JSON)
    return Checkpoint(text, chunks, anchors, buckets)


def advance(state: State, checkpoint: Checkpoint, *, forget: bool) -> None:
    """Continue from a checkpoint of this state; with `forget`, drop from memory what it holds only as hashes."""
    state.hashes.advance(checkpoint.anchors, forget=forget)
    state.entry_index.advance(checkpoint.buckets, state.hashes.head, forget=forget)
    if forget:
        state.forget_recent()


def content_of(text: str) -> dict[str, Json]:
    """The content of a checkpoint's entry: the hash of its text, and the shape of the state in it."""
    return {"digest": digest(text), "shape": shape()}


def is_known(entry: Entry) -> bool:
    """Whether an entry is a checkpoint in this version's format; those of other versions are ignored."""
    return entry.kind == "checkpoint" and entry.content.get("shape") == shape()


def require_derived(state: State, entry: Entry) -> Checkpoint:
    """Return the checkpoint that the state leads to; LedgerDamaged if the entry says something else."""
    checkpoint = checkpoint_of(state)
    if entry.content != content_of(checkpoint.text):
        raise LedgerDamaged(f"the checkpoint at entry {entry.number} does not follow from history", hint=RESTORE)
    return checkpoint


def state_at(tables: Tables, number: int, text: str) -> State:
    """Rebuild the state from the text of the checkpoint at entry `number`."""
    entry = tables.entry(number)
    if not is_known(entry) or not text.isascii() or entry.content.get("digest") != digest(text):
        raise LedgerDamaged(f"the checkpoint at entry {number} is not what the chain says", hint=RESTORE)
    content, base = json.loads(text), number - 1
    encoded_fields: dict[str, Any] = content["state"]
    known: Known = {
        kind: {key: _instance(kind, encoded, {}) for key, encoded in encoded_fields.pop(name)}
        for kind, name in _WHOLE.items()
    }
    parts: dict[str, Any] = {name: _read(value, _state_hints()[name], known) for name, value in encoded_fields.items()}
    parts |= {_WHOLE[kind]: objects for kind, objects in known.items()}
    state = State(**parts)
    state.hashes = Hashes(base, entry.previous, Array("anchors", content["anchors"], number))
    state.entry_index = EntryIndex(base, Array("finds", content["finds"], number))
    state.reader = tables
    return state


@cache
def shape() -> str:
    """A digest of a state's fields, their types and their encoding: it tells the formats of versions apart."""
    kinds: dict[Any, str] = {State: "book", **_PARTS}
    fields_by_kind: Any = [
        [stored_name, *(f"{name}: {_type_in_words(hint)}" for name, hint in _hints(kind).items())]
        for kind, stored_name in kinds.items()
    ]
    return digest(canonical([_WRITING, *fields_by_kind]))[:16]


def _type_in_words(hint: Any) -> str:
    """A type hint, in which classes of the package have their stored names."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin is not None:
        name = "union" if origin in {Union, types.UnionType} else origin.__name__
        return f"{name}[{', '.join(map(_type_in_words, parts))}]"
    stored_names: dict[Any, str] = {**_PARTS, Guarantee: "promise", Unit: "unit", ...: "..."}
    return stored_names.get(hint) or str(hint.__name__)


@cache
def _state_hints() -> dict[str, Any]:
    """The fields of a state that a checkpoint writes, besides those of `_WHOLE`, with their types."""
    return {name: hint for name, hint in _hints(State).items() if name not in _WHOLE.values()}


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, localns=_NAMES)
    return {part.name: hints[part.name] for part in fields(kind) if kind is not State or part.name not in _BESIDE}


def _fields(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    return {name: _encoded(getattr(value, name), hint) for name, hint in _hints(kind).items()}


def _instance(kind: Any, content: Mapping[str, Any], known: Known) -> Any:
    return kind(**{name: _read(field_value, _hints(kind)[name], known) for name, field_value in content.items()})


def _encoded(value: Any, kind: Any) -> Any:
    """Encode a part of a state as JSON; dictionaries keep the order in which entries filled them."""
    origin, parts = get_origin(kind), get_args(kind)
    if value is None or kind in {Any, bool, int, str} or origin is Literal:
        return value
    if origin in {Union, types.UnionType}:
        return _encoded(value, _wanted(parts))
    if origin is dict:
        return [[_encoded(key, parts[0]), _encoded(element, parts[1])] for key, element in value.items()]
    if origin is set:
        return sorted(_encoded(element, parts[0]) for element in value)
    if origin is list:
        return [_encoded(element, parts[0]) for element in value]
    if origin is tuple:
        return [_encoded(element, part) for element, part in zip(value, _kinds(parts, value), strict=True)]
    if kind is Guarantee:
        return codec.write(value)
    if kind is Unit:
        return [value.column]  # a row has none
    if kind in _WHOLE:
        return value.number if kind is Level else value.id
    if kind in _PARTS:
        return _fields(value)
    raise TypeError(f"a checkpoint cannot hold a {kind}")  # pragma: no cover (a test asks for every part)


def _read(value: Any, kind: Any, known: Known) -> Any:
    """Decode what `_encoded` encoded."""
    origin, parts = get_origin(kind), get_args(kind)
    if value is None or kind in {Any, bool, int, str} or origin is Literal:
        return value
    if origin in {Union, types.UnionType}:
        return _read(value, _wanted(parts), known)
    if origin is dict:
        return {_read(key, parts[0], known): _read(element, parts[1], known) for key, element in value}
    if origin in {list, set}:
        return origin(_read(element, parts[0], known) for element in value)
    if origin is tuple:
        return tuple(_read(element, part, known) for element, part in zip(value, _kinds(parts, value), strict=True))
    if kind is Guarantee:
        return promise_from_json(value)
    if kind is Unit:
        return Unit(*value)
    return known[kind][value] if kind in known else _instance(kind, value, known)


def _wanted(parts: tuple[Any, ...]) -> Any:
    (wanted,) = (part for part in parts if part is not type(None))
    return wanted


def _kinds(parts: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    return (parts[0],) * len(value) if parts[-1] is Ellipsis else parts
