"""What is kept of an answer: the keys that were found and the noisy integers, in the ledger or in a file beside it."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from giveortake.compile import Release
from giveortake.compile.keys import listed_keys, with_keys
from giveortake.engines import Found
from giveortake.engines.ordering import ordered
from giveortake.errors import LedgerDamaged, QueryFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from giveortake.compile import Measurement
    from giveortake.engines import Keys
    from giveortake.plan import Value
    from giveortake.session.session import Session
    from giveortake.session.spooling import Spool

    Rows: TypeAlias = list[tuple[Value, ...]]

Part: TypeAlias = "dict[str, Any]"

FORMAT = 1
MANY = 1 << 18  # keys; more than these are found, noised, kept and shown so many at a time


def executed(session: Session, made: Measurement, known: Keys | None, name: str) -> Part:
    """Ask the engine, draw the noise for each integer once, and put what came out into a form that can be kept."""
    found = None
    keys = made.keys() if known is None else known
    if made.selection is not None and known is None:
        lists = made.find_keys(session.engine)
        found = _first(lists)
        if len(found) > MANY:
            return _executed_at_length(session, made, chain([found], lists), name)
        keys = with_keys(made, found)
    release = made.release(session.engine, keys)
    _require_unchanged(session)
    return {"keys": None if found is None else _written(found), "arrays": release.to_json()}


def _executed_at_length(session: Session, made: Measurement, lists: Iterable[Rows], name: str) -> Part:
    """The same with keys in a file: one part of them is held at a time."""
    count = 0
    schema = made.question.relation.schema
    domains = [column.expression.domain(schema) for column in made.columns]

    def lines() -> Iterator[Any]:
        nonlocal count
        for rows in ordered(lists, domains, session.spool.place(), MANY):
            count += len(rows)
            yield _written(rows)

    scratch = session.spool.scratch(lines())
    try:
        keys = listed_keys(made, Found(count, lambda: (_read(line) for line in _lines(scratch))))
        releases = made.releases(session.engine, keys, MANY)
        parts = (
            {"keys": line, "arrays": release.to_json()} for line, release in zip(_lines(scratch), releases, strict=True)
        )
        kept = session.spool.write(name, parts)
    finally:
        scratch.unlink(missing_ok=True)
    _require_unchanged(session)
    return {"spool": kept}


def _require_unchanged(session: Session) -> None:
    if not session.engine.unchanged():
        raise QueryFailed("the table changed while it was read; what was charged stands")


def _first(lists: Iterator[Rows]) -> Rows:
    """Keys until there are many, or no more."""
    found: Rows = []
    for rows in lists:
        found.extend(rows)
        if len(found) > MANY:
            break
    return found


# -- reading it again -----------------------------------------------------------------------------------------------


def parts_of(content: Any, count: int) -> list[Part]:
    """The parts of a kept answer, one for each question."""
    if not isinstance(content, dict) or content.get("format") != FORMAT or len(content["parts"]) != count:
        raise LedgerDamaged("a stored answer is not one to this question")
    parts: list[Part] = content["parts"]
    return parts


def whole(spool: Spool, made: Measurement, part: Part, known: Keys | None) -> tuple[Keys, Release]:
    """Everything at once."""
    if "spool" not in part:
        keys = made.keys() if known is None else known
        if part["keys"] is not None and known is None:
            keys = with_keys(made, _read(part["keys"]))
        return keys, Release.from_json(part["arrays"], made.noises)
    lists, releases = [], []
    for line in spool.read(part["spool"]):
        lists.append(_read(line["keys"]))
        releases.append(Release.from_json(line["arrays"], made.noises))
    arrays = zip(*(release.arrays for release in releases), strict=True)
    joined = Release(tuple(np.concatenate(each) for each in arrays), made.noises)
    return listed_keys(made, Found(sum(map(len, lists)), lambda: iter(lists))), joined


def some_at_a_time(spool: Spool, made: Measurement, part: Part) -> Iterator[tuple[Keys, Release]]:
    """The same, of which only one part is held at a time."""
    if "spool" not in part:
        yield whole(spool, made, part, None)
        return
    for line in spool.read(part["spool"]):
        rows = _read(line["keys"])
        keys = listed_keys(made, Found(len(rows), lambda rows=rows: iter([rows])))  # type: ignore[misc]
        yield keys, Release.from_json(line["arrays"], made.noises)


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _written(rows: Rows) -> list[list[list[Any]]]:
    return [[_plain(value) for value in row] for row in rows]


def _read(content: Any) -> Rows:
    return [tuple(_value(each) for each in row) for row in content]


def _plain(value: Any) -> list[Any]:
    match value:
        case None:
            return ["null", ""]
        case bool():
            return ["bool", str(int(value))]
        case int():
            return ["int", str(value)]
        case str():
            return ["str", value]
        case dt.date() if not isinstance(value, dt.datetime):
            return ["date", value.isoformat()]
    return ["decimal", str(Fraction(str(value)))]


def _value(content: list[Any]) -> Value:
    kind, text = map(str, content)
    match kind:
        case "null":
            return None
        case "bool":
            return text == "1"
        case "int":
            return int(text)
        case "str":
            return str(text)
        case "date":
            return dt.date.fromisoformat(text)
        case _:
            return Fraction(text)
