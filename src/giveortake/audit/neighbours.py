"""Adversarial tables and their neighbours: whatever a table can hold, in rows that were made up.

- Tables of few persons, full of values that break programs: NULL, NaN, infinities, the ends of every type, texts that
  are no words, persons with very many rows, and rows of nobody.
- Neighbours of a table under both relations, for rows and for persons, often as far away as they can be.

Generated rows are no secret: a seed makes them the same in every run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]
Change: TypeAlias = Literal["add-remove", "change-one"]
Dice: TypeAlias = random.Random

NAN, INF = float("nan"), float("inf")
LEAST, MOST = -(2**63), 2**63 - 1
FIRST_DAY = -719_162  # 0001-01-01, in days since 1970
DAYS = [None, 2**31 - 1, -(2**31) + 2, FIRST_DAY - 1, FIRST_DAY, 2_932_896, 2_932_897, 0, 19_723, 19_725]
MOMENTS = [None, MOST, LEAST + 1, -62_135_596_800_000, 0, 1_704_070_861_000, 253_402_300_800_000, 2**55]

_POOLS: dict[str, list[Any]] = {
    "x": [None, NAN, INF, -INF, -0.0, 0.0, 7.0, -3.0, 1e308, -1e308, 5e-324, 2.5, 7.000001],
    "y": [None, NAN, 10.0, 12.0, 11.3, 12.0, 10.5, -INF, INF, 0.0],
    "i": [None, LEAST, MOST, 0, 300, -5, 17, 299],
    "w": [None, LEAST, MOST, 0, 1, -1, 2**53 + 1],
    "r": ["north", "south", "øst", "west", None, ""],
    "n": ["a", "b", None, "c"],
    "q": [None, "", "日本", "a'b", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "\u0000z", "é", "e\u0301"],
    "b": [True, False, None],
    "d": DAYS,
    "e": [None, 19_723, 19_724, 19_727, 19_728, 2**31 - 1],
    "t": MOMENTS,
    "c": [None, 0, 10_000, 9_999, 1, -1, 10**17],
}
_LARGEST: Row = {
    "x": 7.0, "y": 12.0, "i": 300, "w": MOST, "r": "north", "n": None, "q": "q0", "b": True,
    "d": 19_723, "e": 19_723, "t": 1_704_070_861_000, "c": 10_000,
}  # fmt: skip
_DECLARED: dict[str, list[Any]] = {
    "r": ["north", "south", "øst"],
    "n": ["a", "b", None],
    "q": ["q0", "q1", "q2", "q3", "q4"],
    "b": [True, False],
    "e": [19_723, 19_724, 19_727],
    "w": [0, 1, -1, MOST],
}


@final
@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table and of the visits of the same persons.

    Dates are numbers of days since 1970, moments of milliseconds, and decimals of hundredths: so they may be anything.
    """

    rows: tuple[Row, ...]
    visits: tuple[Row, ...] = ()


def random_row(dice: Dice, person: int | None) -> Row:
    """Any row at all."""
    return {"p": person, **{name: dice.choice(pool) for name, pool in _POOLS.items()}}


STYLES = ("few", "few", "largest", "smallest", "wide", "heavy", "none")
FARTHEST = ("largest", "smallest", "spread")  # of persons who move aggregates as far as they may, or nearly


def random_rows(dice: Dice, person: int | None, styles: tuple[str, ...] = STYLES) -> list[Row]:
    """The rows of one person: few, many of one kind, or spread over every group; at times as large as can be."""
    style = dice.choice(styles)
    if style == "none":
        return []
    if style == "few":
        return [random_row(dice, person) for _ in range(dice.randint(1, 3))]
    if style == "heavy":
        return [random_row(dice, person)] * dice.randint(5, 40)
    base = dict(_LARGEST) if style != "smallest" else {**_LARGEST, "x": -3.0, "y": 10.0, "i": -5, "c": 0}
    rows = []
    for number in range(dice.choice([1, 4, 9, 30]) if style != "spread" else dice.choice([9, 12, 30])):
        row = {"p": person, **base}
        if style == "wide":
            for name in ("r", "n", "q", "b", "e"):
                row[name] = dice.choice(_POOLS[name])
        if style == "spread":  # as many rows in every group
            row |= {name: _DECLARED[name][number % len(_DECLARED[name])] for name in _DECLARED}
        rows.append(row)
    return rows


def random_visits(dice: Dice, person: int | None) -> list[Row]:
    """Up to seven visits of one person."""
    return [
        {"p": person, "k": dice.choice(["u", "v", "w", None]), "v": dice.choice([None, NAN, INF, -0.0, 5.0, 5.0, 1.5])}
        for _ in range(dice.choice([0, 1, 2, 7]))
    ]


def random_table(dice: Dice) -> Table:
    """A table of few persons, at times an empty one."""
    rows: list[Row] = []
    visits: list[Row] = []
    for person in range(dice.choice([0, 1, 3, 8])):
        rows += random_rows(dice, person)
        visits += random_visits(dice, person)
    return Table(tuple(rows), tuple(visits))


def neighbour_by_person(dice: Dice, table: Table, change: Change) -> Table:
    """One person more, or another in the place of one; rows of nobody, which do not count, come and go."""
    rows, visits = list(table.rows), list(table.visits)
    person = 100
    if change == "change-one":
        person = dice.choice([row["p"] for row in rows] or [100])
        rows = [row for row in rows if row["p"] != person]
        visits = [row for row in visits if row["p"] != person]
    rows += random_rows(dice, person, dice.choice([STYLES, FARTHEST]))
    visits += random_visits(dice, person)
    rows += [{**row, "p": None} for row in random_rows(dice, None)]
    visits += random_visits(dice, None)
    dice.shuffle(rows)
    dice.shuffle(visits)
    return Table(tuple(rows), tuple(visits))


def neighbour_by_row(dice: Dice, table: Table, change: Change) -> Table:
    """One row more, or another in the place of one."""
    rows = list(table.rows)
    if change == "change-one":
        if rows:
            rows.pop(dice.randrange(len(rows)))
        else:
            return table
    row = random_row(dice, dice.choice([None, 0, 100]))
    if dice.random() < 0.5:
        row = {**row, **_LARGEST}
    rows.append(row)
    dice.shuffle(rows)
    return Table(tuple(rows), table.visits)
