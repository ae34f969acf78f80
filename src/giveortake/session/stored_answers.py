"""How answers are stored: found keys and noisy integers, in the ledger or in a file beside it.

Ledgers of all versions use these formats; any change to one of them is a new format.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.key_selection import listed_keys, with_keys
from giveortake.engines import Found
from giveortake.errors import LedgerDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.compile import Release
    from giveortake.engines import Keys
    from giveortake.plan import Value
    from giveortake.session.mechanism import Priced
    from giveortake.session.spool import Spool

Rows: TypeAlias = "list[tuple[Value, ...]]"
Stored: TypeAlias = "dict[str, Any]"  # of one question: keys and arrays, or the file in the spool that holds them

FORMAT = 1
MANY = 1 << 16  # keys per portion: answers with more are found, noised, stored and shown in portions


@final
@dataclass(frozen=True, slots=True, eq=False)
class DrawnAnswer:
    """A drawn answer in the form that will be stored, and the file of its keys until then."""

    stored: Stored
    scratch: str | None = None


# -- writing ----------------------------------------------------------------------------------------------------------


def content_of(stored: list[Stored]) -> dict[str, Any]:
    """What the ledger stores for a charge: one item for each question."""
    return {"format": FORMAT, "parts": stored}


def answer_to_json(found: list[Any] | None, release: Release) -> Stored:
    """One question's noisy integers, and its keys in JSON if they were found."""
    return {"keys": found, "arrays": release.to_json()}


def keys_to_json(rows: Rows) -> list[list[list[Any]]]:
    """Keys as JSON, each value with its kind."""
    return [[_to_json(value) for value in row] for row in rows]


# -- reading ----------------------------------------------------------------------------------------------------------


def stored_of(content: Any, count: int) -> list[Stored]:
    """The stored items of a charge, one for each question; checked."""
    if not isinstance(content, dict) or content.get("format") != FORMAT or len(content["parts"]) != count:
        raise LedgerDamaged("a stored answer is not one to this question")
    stored: list[Stored] = content["parts"]
    return stored


def whole(spool: Spool, asked: Priced, stored: Stored) -> tuple[Keys, Release]:
    """All keys and noisy integers of a question at once."""
    made = asked.made
    if "spool" not in stored:
        keys = asked.keys if asked.keys is not None else with_keys(made, keys_from_json(stored["keys"]))
        return keys, made.read(stored["arrays"])
    lists, releases = [], []
    for line in spool.read(stored["spool"]):
        lists.append(keys_from_json(line["keys"]))
        releases.append(made.read(line["arrays"]))
    arrays = zip(*(release.arrays for release in releases), strict=True)
    joined = made.released(tuple(np.concatenate(each) for each in arrays))
    return listed_keys(made, Found(sum(map(len, lists)), lambda: iter(lists))), joined


def some_at_a_time(spool: Spool, asked: Priced, stored: Stored) -> Iterator[tuple[Keys, Release]]:
    """The keys and noisy integers of a question, portion by portion."""
    if "spool" not in stored:
        yield whole(spool, asked, stored)
        return
    for line in spool.read(stored["spool"]):
        rows = keys_from_json(line["keys"])
        keys = listed_keys(asked.made, Found(len(rows), lambda rows=rows: iter([rows])))  # type: ignore[misc]  # (of this turn of the loop)
        yield keys, asked.made.read(line["arrays"])


def keys_from_json(content: Any) -> Rows:
    """The keys that `keys_to_json` wrote."""
    return [tuple(_from_json(each) for each in row) for row in content]


# -- values -----------------------------------------------------------------------------------------------------------


def _to_json(value: Any) -> list[Any]:
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


def _from_json(content: list[Any]) -> Value:
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
