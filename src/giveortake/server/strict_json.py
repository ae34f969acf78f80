"""JSON that means one thing only: what two readers could read differently is refused, and so is what costs too much."""

from __future__ import annotations

import json
import math
from typing import Any

DEEPEST = 16
_MOST_DIGITS = 64  # of a number


class NotStrict(ValueError):
    """The text is not JSON, or could be read in two ways. The error says nothing about its content."""


def read(body: bytes, deepest: int = DEEPEST) -> Any:
    """Read a JSON text in UTF-8.

    Names that occur twice in an object, NaN and infinities, halves of characters, numbers of very many digits and deep
    nesting are refused: different readers make different things of them.

    >>> read(b'{"epsilon": "0.1", "n": [1, 2.5, null]}')
    {'epsilon': '0.1', 'n': [1, 2.5, None]}
    >>> read(b'{"epsilon": 1, "epsilon": 2}')
    Traceback (most recent call last):
    giveortake.server.strict_json.NotStrict
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_finite,
        )
    except (ValueError, RecursionError):
        raise NotStrict from None
    _require_plain(value, deepest)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrict
    return found


def _refuse(_text: str) -> Any:
    raise NotStrict


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise NotStrict
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if len(text) > _MOST_DIGITS or not math.isfinite(number):
        raise NotStrict
    return number


def _require_plain(value: Any, deepest: int) -> None:
    """Refuse deep nesting and lone surrogates, wherever they are."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > deepest:
            raise NotStrict
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                _require_whole(each)
            elif isinstance(each, list):
                below.extend(each)
            elif isinstance(each, dict):
                for name in each:
                    _require_whole(name)
                below.extend(each.values())
        level = below


def _require_whole(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotStrict from None
