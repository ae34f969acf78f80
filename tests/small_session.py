"""A session about sixty people, for tests of what sessions do."""

from __future__ import annotations

from typing import Any

import polars as pl

import giveortake as gt
from giveortake.session import Session
from stated_caps import stating_caps

ROWS = pl.DataFrame(
    {
        "p": [person for person in range(60) for _ in range(1 + person % 3)],
        "x": [float((7 * row) % 11) for row in range(120)],
        "r": [["north", "south"][row % 2] for row in range(120)],
        "q": [f"q{row % 3}" for row in range(120)],
    }
)
DOMAINS: dict[str, Any] = {"x": (0, 10), "r": ["north", "south"]}
COUNT = "SELECT r, COUNT(*) AS n FROM data GROUP BY r"
FOUND = "SELECT q, COUNT(*) AS n, AVG(x) AS m FROM data GROUP BY q"


def small_session(table: Any = ROWS, **options: Any) -> Session:
    """The session, with a large budget unless said otherwise."""
    said = {"unit": "p", "budget": gt.ApproxDP(100, "1e-4"), "domains": DOMAINS, "threads": 1, **options}
    return gt.protect(table, **stating_caps(said))


def charges_of(session: Session) -> int:
    """How often its people were charged."""
    return sum(entry.kind == "reserved" for entry in session.history())
