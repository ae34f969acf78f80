"""Outputs of a program: which can be told apart at all, and which of them are one and the same."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import nan
from pickle import PicklingError
from types import MemberDescriptorType
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from giveortake.errors import InvalidParameter

_WRITTEN_ALIKE = frozenset({bool, int, str, bytes, type(None)})  # if they are equal
_PLAIN = _WRITTEN_ALIKE | {float, complex, Decimal, range, dt.date, dt.datetime, dt.time, dt.timedelta}
_SCALARS = frozenset(np.sctypeDict.values()) - {np.object_, np.void}
_MIXINS = _PLAIN | {object, Enum, tuple, frozenset}  # whose comparison members of enums may have
_COMPARISON = ("__eq__", "__ne__", "__hash__")
NAN = nan  # the one not-a-number that stands for all in a table


def canonical(output: Any) -> Any:
    """The output itself, with one not-a-number in place of all floats that are none.

    Refuse an output that may differ from another in what neither `==` nor its parts nor its text show. Known are plain
    values, scalars of numpy, members of enums, and tuples, named tuples, frozen sets and frozen dataclasses of these.
    """
    kind = type(output)
    if kind in _WRITTEN_ALIKE:
        return output
    if kind is float:
        return NAN if output != output else output  # noqa: PLR0124 (not a number)
    if kind is tuple:
        return tuple(map(canonical, output))
    _require_known(output)
    _require_hashable(output)
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


def _require_hashable(output: Any) -> None:
    try:
        hash(output)
    except TypeError:
        _refuse(output, f"is a {type(output).__name__}, which has no hash, so it cannot stand in a table")


def _is_plain(output: Any) -> bool:
    kind = type(output)
    if kind in _PLAIN:
        return _is_known_zone(getattr(output, "tzinfo", None))
    if issubclass(kind, Enum):
        return _inherits(kind, _COMPARISON, _MIXINS)
    return kind in _SCALARS


def _is_known_zone(zone: dt.tzinfo | None) -> bool:
    """Whether a zone holds nothing but what is written of it."""
    if type(zone) is dt.timezone:
        return type(zone.utcoffset(None)) is dt.timedelta and type(zone.tzname(None)) is str
    return zone is None or (type(zone) is ZoneInfo and type(zone.key) is str and not _is_from_file(zone))


def _is_from_file(zone: ZoneInfo) -> bool:
    """Whether a zone has rules of its own, whatever its name: only such a zone cannot be pickled."""
    try:
        zone.__reduce__()
    except PicklingError:
        return True
    return False


def _inherits(kind: type, names: tuple[str, ...], known: frozenset[object]) -> bool:
    """Whether a class takes each of these methods from a known class."""
    return all(next(base for base in kind.__mro__ if name in vars(base)) in known for name in names)


def _parts(output: Any) -> list[Any] | None:
    """All that an output consists of; None if that is not known."""
    kind = type(output)
    if kind is Fraction:
        return [output.numerator, output.denominator]  # which may be integers of numpy
    if kind in {tuple, frozenset} or _is_named_tuple(output):
        return list(output)
    return _values(output) if is_dataclass(kind) and output.__dataclass_params__.frozen else None


def _is_named_tuple(output: Any) -> bool:
    """Whether it is a named tuple and no more; tuples of the system, such as `time.struct_time`, hide items."""
    kind = type(output)
    if not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return False
    plain = _inherits(kind, (*_COMPARISON, "__iter__"), frozenset({tuple}))
    return plain and not getattr(output, "__dict__", None)


def _values(output: Any) -> list[Any] | None:
    """What a dataclass holds; None if it may hold more than its fields."""
    names = [each.name for each in fields(output)]
    attributes = getattr(output, "__dict__", {})
    if not (_holds_each_once(output, names) and all(hasattr(output, name) for name in names)):
        return None
    return [attributes[name] if name in attributes else getattr(output, name) for name in names]


def _holds_each_once(output: Any, names: list[str]) -> bool:
    """Whether an object holds these at most, none twice: no other slot of a base, and no number that it is."""
    kind = type(output)
    slots = [name for base in kind.__mro__ for name, each in vars(base).items() if type(each) is MemberDescriptorType]
    held = [*slots, *getattr(output, "__dict__", {})]
    once = len(set(held)) == len(held) and set(held) <= set(names)
    return once and _inherits(kind, ("__new__", "__getattribute__"), frozenset({object}))


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
        return not isinstance(one, Enum) and repr(one) == repr(other)  # two members differ, whatever they say
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
