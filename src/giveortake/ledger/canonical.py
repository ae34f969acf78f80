"""One way to write a value down, so that equal values have equal hashes on every machine and in every year."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import TypeAlias

from giveortake.errors import InvalidParameter

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_DEEPEST = 64
_MOST_DIGITS = 4000  # Python refuses to read integers of more than 4,300 digits


def canonical(value: Json) -> str:
    """JSON with sorted keys, no spaces and nothing but ASCII.

    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str | bytes) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode("ascii") if isinstance(text, str) else text).hexdigest()


def plain(name: str, value: object, depth: int = 0) -> Json:
    """A value as JSON: numbers stay exact, and whatever JSON would change or lose is refused.

    >>> plain("domains", {"amount": (0, Fraction(1, 3))})
    {'amount': [0, '1/3']}
    """
    if depth > _DEEPEST:
        raise InvalidParameter(name, "…", f"nests deeper than {_DEEPEST} levels")
    match value:
        case None | bool():
            return value
        case str():
            return _text(name, value)
        case int() if value.bit_length() < 3 * _MOST_DIGITS:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case Fraction():
            return f"{value.numerator}/{value.denominator}"
        case Decimal() if value.is_finite():
            return str(value)
        case list() | tuple():
            return [plain(name, part, depth + 1) for part in value]
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise InvalidParameter(name, value, "has a key that is not a text, which JSON cannot keep")
            return {_text(name, key): plain(name, part, depth + 1) for key, part in value.items()}
    raise InvalidParameter(
        name, value, f"holds a {type(value).__name__} that JSON cannot keep", hint="pass texts, numbers, lists, dicts"
    )


def _text(name: str, value: str) -> str:
    """A text that is written in one way only: halves of surrogate pairs would merge when they are read again."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidParameter(name, "…", "holds half a character, which cannot be written down") from None
    return value
