"""Outputs of a program: which of them are one and the same."""

from __future__ import annotations

from math import copysign, nan
from typing import Any

from giveortake.errors import InvalidParameter

NAN = nan  # the one not-a-number that stands for all in a table


def canonical(output: Any) -> Any:
    """The output itself, with one not-a-number in place of all."""
    if isinstance(output, tuple) and type(output) is tuple:
        return tuple(map(canonical, output))
    return NAN if output != output else output  # noqa: PLR0124 (not a number)


def same(one: Any, other: Any) -> bool:
    """Whether nobody can tell them apart: equal, and of the same type, and zeros of the same sign."""
    if one is other:
        return True
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return not isinstance(one, float) or copysign(1, one) == copysign(1, other)


def refuse_if_different(one: Any, other: Any) -> None:
    """Two outputs that Python calls equal must be the same."""
    if not same(one, other):
        raise InvalidParameter(
            "output",
            (one, other),
            "are two outputs that Python calls equal and a reader does not",
            hint="return one type only, such as int(answer)",
        )
