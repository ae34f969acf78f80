"""What is kept of an answer: the keys that were found and the noisy integers, in the ledger or in a file beside it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from giveortake.compile import Release
from giveortake.compile.keys import in_order, listed_keys, with_keys
from giveortake.engines import Found
from giveortake.engines.duckdb.key_order import ordered
from giveortake.errors import LedgerDamaged, QueryFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    """Ask the engine, draw the noise for each integer once, and put what came out into a form that can be kept.

    Keys that are found are kept as soon as they are drawn: whoever asks again after a failure, or at the same time,
    gets no other draw of them.
    """
    if made.selection is None or known is not None:
        return _released(session, made, made.keys() if known is None else known)
    drawn = session.spool.first(name, lambda: _drawn_keys(session, made))
    count = _count(drawn)
    if count > MANY:
        return _released_at_length(session, made, drawn, count)
    rows = [row for line in _lines(drawn) for row in _read(line)]
    return {**_released(session, made, with_keys(made, rows)), "keys": _written(rows)}


def drawn_name(session: Session, made: Measurement, number: str) -> str:
    """Where the keys of an answer are kept until it is settled: a name for this charge and this question alone."""
    parts = [
        session.population,
        session.name,
        session.version,
        session.part_name(),
        made.digest(),
        repr(made.selection),
    ]
    return f"{number}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}.keys"


def _drawn_keys(session: Session, made: Measurement) -> Iterator[Any]:
    """The keys that are found, `MANY` to a line, in the order of their values: the engine's would tell of rows."""
    lists = made.find_keys(session.engine)
    found = _first(lists)
    if len(found) <= MANY:
        yield _written(in_order(found))
        return
    schema = made.question.relation.schema
    domains = [column.expression.domain(schema) for column in made.columns]
    for rows in ordered(chain([found], lists), domains, session.spool.place(), MANY):
        yield _written(rows)


def _released(session: Session, made: Measurement, keys: Keys) -> Part:
    release = made.release(session.engine, keys)
    _require_unchanged(session)
    return {"keys": None, "arrays": release.to_json()}


def _released_at_length(session: Session, made: Measurement, drawn: Path, count: int) -> Part:
    """The same with keys in a file: one line of them is held at a time."""
    keys = listed_keys(made, Found(count, lambda: (_read(line) for line in _lines(drawn))))
    releases = made.releases(session.engine, keys, MANY)
    parts = ({"keys": line, "arrays": each.to_json()} for line, each in zip(_lines(drawn), releases, strict=True))
    kept = session.spool.write(parts)
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


def _count(path: Path) -> int:
    """How many keys there are; every line but the last has `MANY`."""
    full, last = 0, None
    with path.open(encoding="utf-8") as file:
        for line in file:
            full, last = full + 1, line
    return 0 if last is None else (full - 1) * MANY + len(json.loads(last))


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
