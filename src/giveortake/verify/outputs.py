"""Outputs of a program: which can be told apart at all, and which of them are one and the same."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import nan
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from giveortake.errors import InvalidParameter

_WRITTEN_ALIKE = frozenset({bool, int, str, bytes, Fraction, type(None)})  # if they are equal
_PLAIN = _WRITTEN_ALIKE | {float, complex, Decimal, range, dt.date, dt.datetime, dt.time, dt.timedelta}
_ZONES = frozenset({type(None), dt.timezone, ZoneInfo})
NAN = nan  # the one not-a-number that stands for all in a table


def canonical(output: Any) -> Any:
    """The output itself, with one not-a-number in place of all floats that are none.

    Refuse an output that may differ from another in what neither `==` nor its parts nor its text show. Known are plain
    values, scalars of numpy, members of enums, and tuples, frozen sets and frozen dataclasses of these.
    """
    kind = type(output)
    if kind in _WRITTEN_ALIKE:
        return output
    if kind is float:
        return NAN if output != output else output  # noqa: PLR0124 (not a number)
    if kind is tuple:
        return tuple(map(canonical, output))
    _require_known(output)
    return output


def _require_known(output: Any) -> None:
    if _is_plain(output):
        if (type(output) is Decimal and output.is_nan()) or output != output:  # noqa: PLR0124 (not a number)
            _refuse(output, "is not a number or time, but one of several kinds of none")
        return
    parts = _parts(output)
    if parts is None:
        _refuse(output, f"is a {type(output).__name__}, which may hold more than can be compared")
    for part in parts or ():
        _require_known(part)


def _is_plain(output: Any) -> bool:
    kind = type(output)
    if kind in _PLAIN:
        return type(getattr(output, "tzinfo", None)) in _ZONES
    is_scalar = isinstance(output, np.generic) and kind.__module__ == "numpy" and kind is not np.void
    return is_scalar or isinstance(output, Enum)


def _parts(output: Any) -> list[Any] | None:
    """All that an output consists of; None if that is not known."""
    named: list[str] = []
    if type(output) is frozenset or isinstance(output, tuple):
        parts = list(output)
    elif is_dataclass(type(output)) and type(output).__dataclass_params__.frozen:
        named = [each.name for each in fields(output)]
        parts = [getattr(output, name) for name in named]
    else:
        return None
    return None if getattr(output, "__dict__", {}).keys() - set(named) else parts


def _refuse(output: Any, problem: str) -> None:
    hint = "return a text, a number, or a tuple of these, such as str(answer)"
    raise InvalidParameter("output", output, problem, hint=hint)


def same(one: Any, other: Any) -> bool:
    """Whether nobody can tell them apart: equal, of the same type, with the same parts, and written alike.

    Python calls many things equal that a reader tells apart: 1.0 and 1.00, zeros of two signs, one moment in two zones,
    frozen sets that are written in two orders.
    """
    if one is other:
        return True
    if type(one) is not type(other) or one != other:
        return False
    if type(one) in _WRITTEN_ALIKE:
        return True
    if _is_plain(one):
        return repr(one) == repr(other)
    parts, others = _parts(one), _parts(other)
    return parts is not None and others is not None and len(parts) == len(others) and all(map(same, parts, others))


def refuse_if_different(one: Any, other: Any) -> None:
    """Refuse two outputs that Python calls equal and a reader can tell apart."""
    if not same(one, other):
        raise InvalidParameter(
            "output",
            (one, other),
            "are two outputs that Python calls equal and a reader does not",
            hint="return plain values of one type only, such as int(answer), and tuple(sorted(answer)) for a set",
        )
