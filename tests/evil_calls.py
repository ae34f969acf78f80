"""Calls of every function that the plan admits, and the evil rows that they are tried on."""

from __future__ import annotations

import random
from fractions import Fraction

from evil_tables import Row, random_row
from giveortake.errors import QueryRefused
from giveortake.plan import Call, Column, Expression, Literal, Scan
from giveortake.plan.functions import FUNCTIONS

LUCK = random.Random("evil rows")  # noqa: S311 (which rows are tried need not be secret)
ROWS: list[Row] = [random_row(LUCK, person) for person in range(150)]
CLAMPED = Call("clamp", (Column("x"), Literal(-2), Literal(5)))
LEAVES: list[Expression] = [
    *(Column(name) for name in ("x", "y", "i", "w", "q", "b", "d", "e", "t", "c", "r")),
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


def calls(name: str, parts: list[Expression], luck: random.Random, count: int, scan: Scan) -> list[Expression]:
    """Calls of a function that the plan admits, of random arguments."""
    function = FUNCTIONS[name]
    found: list[Expression] = []
    for _ in range(count * 60):
        size = function.least if function.most == function.least else function.least + luck.randrange(2)
        call = Call(name, tuple(luck.choice(parts) for _ in range(size)))
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
