"""Hashes that decide which parts of a person count when not all of them can, the same on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from giveortake.engines.sql.dialect import Dialect

_PRIME = 2**31 - 1
_SCRAMBLE = 1_583_458_089  # the constants are the hash's key: public, because no promise depends on them
_OF_PERSON, _OF_PART = 14_348_907, 11_184_811
_MISSING = -1
_MOST_MARKED = 2.0**40


def mark(dialect: Dialect, column: str, kind: Kind) -> str:
    """A number below 2³¹ made of a value alone, the same on every engine; different values seldom share one."""
    match kind:
        case Kind.INTEGER:
            number = column
        case Kind.BOOLEAN:
            number = dialect.truth_as_number(column)
        case Kind.TEXT:
            number = dialect.digest(column)
        case Kind.DATE:
            number = dialect.days(column)
        case Kind.TIMESTAMP:
            days = dialect.days(f"CAST({column} AS DATE)")
            number = f"({days} * 1440 + {dialect.hour(column)} * 60 + {dialect.minute(column)})"
        case _:
            real, most = dialect.real(column, kind), dialect.double(_MOST_MARKED)
            steps = f"CAST(floor({real} * {dialect.double(2.0**20)}) AS BIGINT)"
            number = f"CASE WHEN abs({real}) < {most} THEN {steps} WHEN {real} IS NOT NULL THEN 1 END"
    return f"((coalesce({dialect.narrow(number)}, {_MISSING}) % {_PRIME}) * {_SCRAMBLE}) % {_PRIME}"


def hash_of(*marks: str) -> str:
    """A number of 31 bits made of marks, by which a person's parts are ordered.

    Remainders modulo the prime 2³¹ − 1, multiplied. No product leaves 64 bits: remainders are below 2³¹ and the
    constants added to them below 2²⁴. Equal numbers are followed by an order of the values themselves.
    """
    text, *others = (f"({mark})" for mark in marks)
    for other in others:
        text = f"((({text} + {_OF_PERSON}) * ({other} + {_OF_PART})) % {_PRIME})"
    return f"abs({text})"


def hashes_of(numbers: npt.NDArray[np.int64], marks: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Compute `hash_of` for many persons, who are whole numbers, and many parts, in NumPy: the same integers.

    Remainders have the sign of what is divided, as in SQL.
    """
    found: npt.NDArray[np.int64] = np.fmod(np.fmod(numbers, _PRIME) * _SCRAMBLE, _PRIME)
    for each in marks:
        found = np.fmod((found + _OF_PERSON) * (each + _OF_PART), _PRIME)
    return np.abs(found)
