"""What is refused says why, and every line that a hint writes down runs."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from test_refused_texts import WITH_HINTS

from asked_tables import CATALOG as OTHERS
from giveortake import sql
from giveortake.errors import QueryRefused
from giveortake.plan import Catalog, Domain, Kind, PrivateTable, PublicTable, Scan
from giveortake.sql import refusals

TRIPS = PrivateTable(
    "trips",
    (
        ("user_id", Domain(Kind.TEXT)),
        ("region", Domain(Kind.TEXT, categories=("north", "south"))),
        ("amount", Domain(Kind.REAL, Fraction(0), Fraction(500))),
        ("age", Domain(Kind.INTEGER, Fraction(0), Fraction(120))),
        ("day", Domain(Kind.DATE)),
    ),
    "user_id",
)
ZONES = PublicTable(
    "zones",
    (("region", Domain(Kind.TEXT, nullable=False)), ("zone", Domain(Kind.TEXT, categories=("cold", "warm")))),
    frozenset({"region"}),
)
CATALOG = Catalog({"trips": Scan(TRIPS, 20)}, {"zones": ZONES})
LINE = re.compile(r"(?:^|(?<=[:;] ))(?:WITH|SELECT) .*\bFROM\b.*$")
BY_NAME = {**{name: hint for name, (_, hint) in refusals._CLAUSES.items()}, **refusals._HINTS}


def _hint_of(text: str) -> str:
    with pytest.raises(QueryRefused) as refusal:
        sql.parse(text, OTHERS)
    assert refusal.value.hint
    return refusal.value.hint


def _runs(line: str) -> bool:
    try:
        return bool(sql.parse(line, CATALOG).aggregates())
    except QueryRefused:
        return False


def test_what_is_refused_by_name_is_told_with_a_line_that_runs() -> None:
    lines = {name: LINE.search(hint) for name, hint in BY_NAME.items()}
    assert [name for name, line in lines.items() if line is None or not _runs(line[0])] == []


def test_a_line_in_a_hint_runs_and_most_hints_have_one() -> None:
    hints = [_hint_of(text) for text, _ in WITH_HINTS]
    lines = {match[0] for match in map(LINE.search, hints) if match is not None}
    assert [line for line in lines if not _runs(line)] == []
    assert sum(LINE.search(hint) is not None for hint in hints) >= len(hints) / 2


@pytest.mark.parametrize(
    "text", ["SELECT * FROM stays", "SELECT COUNT(*) AS n FROM stays WHERE cost > (SELECT AVG(cost) FROM stays)"]
)
def test_a_line_in_a_hint_is_about_the_table_and_the_columns_that_are_there(text: str) -> None:
    columns = (
        ("who is it", Domain(Kind.TEXT)),
        ("ward", Domain(Kind.TEXT, categories=("a", "b"))),
        ("cost", Domain(Kind.REAL, Fraction(0), Fraction(9))),
    )
    own = Catalog({"stays": Scan(PrivateTable("stays", columns, "who is it"), 20)})
    with pytest.raises(QueryRefused) as refusal:
        sql.parse(text, own)
    line = LINE.search(refusal.value.hint or "")
    assert line is not None
    assert "cost" in line[0]
    assert sql.parse(line[0], own).aggregates()
