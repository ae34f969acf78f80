"""Calls of every function that the plan admits, and the evil rows that they are tried on."""

from __future__ import annotations

import random
from fractions import Fraction

from giveortake.audit.neighbours import Row, random_row
from giveortake.errors import QueryRefused
from giveortake.plan import Call, ColumnReference, Expression, Literal, Scan
from giveortake.plan.functions import FUNCTIONS

LUCK = random.Random("evil rows")  # noqa: S311 (which rows are tried need not be secret)
ROWS: list[Row] = [random_row(LUCK, person) for person in range(150)]
CLAMPED = Call("clamp", (ColumnReference("x"), Literal(-2), Literal(5)))
LEAVES: list[Expression] = [
    *(ColumnReference(name) for name in ("x", "y", "i", "w", "q", "b", "d", "e", "t", "c", "r")),
    CLAMPED,
    Literal(0),
    Literal(2),
    Literal(Fraction(5, 2)),
    Literal("%a_"),
    Literal("year"),
    Literal("week"),
    Literal(True),
    Literal(None),
]

_UNITS = [Literal(unit) for unit in ("day", "week", "month", "quarter", "year", "hour", "minute")]
_STEPS = [Literal(by) for by in (1, -1, 7, -30, 1_000, -40_000, 3_000_000, -3_652_058)]
WRITTEN: dict[str, tuple[int, list[Literal]]] = {  # which argument is written out, and how it may be
    "date_trunc": (0, _UNITS),
    "date_diff": (0, _UNITS),
    "add_days": (1, _STEPS),
    "add_months": (1, [*_STEPS, Literal(119_987), Literal(-119_987)]),
    "add_seconds": (1, [*_STEPS, Literal(315_537_897_599), Literal(-315_537_897_599)]),
    "power": (1, [Literal(by) for by in (0, 1, 2, 3, 31, 32, -1, -2, Fraction(1, 2), Fraction(-3, 2), Fraction(7, 3))]),
    "round": (1, [Literal(digits) for digits in (0, 1, 2, 9, -1, -9)]),
}


def calls(name: str, parts: list[Expression], luck: random.Random, count: int, scan: Scan) -> list[Expression]:
    """Calls of a function that the plan admits, of random arguments."""
    function = FUNCTIONS[name]
    found: list[Expression] = []
    for _ in range(count * 60):
        size = function.least if function.most == function.least else function.least + luck.randrange(2)
        place, written = WRITTEN.get(name, (None, []))
        call = Call(name, tuple(luck.choice(written if each == place else parts) for each in range(size)))
        if is_admitted(call, scan) and call not in found:
            found.append(call)
        if len(found) == count:
            break
    return found


def is_admitted(call: Call, scan: Scan) -> bool:
    """Whether the plan admits a call."""
    try:
        call.domain(scan.schema)
    except QueryRefused:
        return False
    return True
