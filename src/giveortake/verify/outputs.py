"""Outputs of a program: which of them are one and the same."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from math import nan
from typing import Any

from giveortake.errors import InvalidParameter

_WRITTEN_ALIKE = frozenset({bool, int, str, bytes, Fraction})  # if they are equal
NAN = nan  # the one not-a-number that replaces all others in a table


def canonical(output: Any) -> Any:
    """The output itself, with one not-a-number in place of all."""
    if isinstance(output, tuple) and type(output) is tuple:
        return tuple(map(canonical, output))
    return NAN if output != output else output  # noqa: PLR0124 (not a number)


def same(one: Any, other: Any) -> bool:
    """Whether nobody can tell them apart: equal, of the same type, with the same parts, and written alike.

    Python calls many things equal that a reader tells apart: 1.0 and 1.00, zeros of two signs, one moment in two zones.
    """
    if one is other:
        return True
    if type(one) is not type(other) or one != other:
        return False
    if type(one) in _WRITTEN_ALIKE:
        return True
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    if is_dataclass(one):
        return all(same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    return repr(one) == repr(other)


def refuse_if_different(one: Any, other: Any) -> None:
    """Refuse two outputs that Python calls equal and a reader can tell apart."""
    if not same(one, other):
        raise InvalidParameter(
            "output",
            (one, other),
            "are two outputs that Python calls equal and a reader does not",
            hint="return plain values of one type only, such as int(answer)",
        )
