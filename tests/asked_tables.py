"""Tables that the tests of both front ends ask."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake import frame
from giveortake.plan import Catalog, Domain, Kind, PrivateTable, PublicTable, Scan

if TYPE_CHECKING:
    from giveortake.plan import Question

TRIPS = PrivateTable(
    "trips",
    (
        ("user_id", Domain(Kind.INTEGER)),
        ("region", Domain(Kind.TEXT, categories=("north", "south"))),
        ("amount", Domain(Kind.REAL, Fraction(0), Fraction(500))),
        ("tip", Domain(Kind.REAL)),
        ("zone", Domain(Kind.INTEGER)),
        ("day", Domain(Kind.DATE)),
        ("at", Domain(Kind.TIMESTAMP)),
        ("paid", Domain(Kind.BOOLEAN)),
        ("age", Domain(Kind.INTEGER, Fraction(0), Fraction(120))),
        ("note", Domain(Kind.TEXT)),
    ),
    "user_id",
)
VISITS = PrivateTable(
    "visits",
    (
        ("user_id", Domain(Kind.INTEGER)),
        ("region", Domain(Kind.TEXT)),
        ("minutes", Domain(Kind.REAL, Fraction(0), Fraction(60))),
    ),
    "user_id",
)
ROWS = PrivateTable("rows", (("None", Domain(Kind.TEXT)), ("x", Domain(Kind.REAL, Fraction(0), Fraction(1)))), None)
ZONES = PublicTable(
    "zones",
    (
        ("zone", Domain(Kind.INTEGER, nullable=False)),
        ("city", Domain(Kind.TEXT, categories=("Rome", "Pisa"))),
        ("region", Domain(Kind.TEXT)),
    ),
    frozenset({"zone"}),
)
CATALOG = Catalog({"trips": Scan(TRIPS, 20), "visits": Scan(VISITS, 5), "rows": Scan(ROWS)}, {"zones": ZONES})


def _same(question: Question) -> Question:
    return question


def table(name: str) -> frame.Table:
    """A table of which `agg` gives the question itself."""
    return frame.Table(CATALOG.private[name], CATALOG, _same)
