"""Random neighbouring tables, full of values that break programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]

_NASTY = (0.0, -0.0, 0.5, 1.5, -1.0, 1e16, 1.0, -1e16, 2.0**53 + 2, 1e300, -1e300, math.inf, -math.inf, math.nan, None)
_KEYS = ("a", "b", "", "Ünïcode", None)


@final
@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two tables that differ in one person, or only in the order of their rows."""

    x: Rows
    y: Rows
    kind: str

    @property
    def equal(self) -> bool:
        """Whether the two hold the same rows."""
        return self.kind == "the same rows in another order"


def random_neighbours(
    count: int, *, seed: int = 0, columns: Mapping[str, Sequence[Any]] | None = None
) -> Iterator[Neighbours]:
    """Tables of persons with up to four rows each: `user_id`, `group` and `value`, or the columns given.

    `columns` maps names of columns to values to choose from. Generated data are no secret: the seed makes them
    the same in every run.
    """
    dice = np.random.default_rng(seed)
    pools = {"group": _KEYS, "value": _NASTY} if columns is None else columns
    for index in range(count):
        persons = [_rows(dice, person, pools) for person in range(int(dice.integers(1, 8)))]
        rows = [row for person in persons for row in person]
        match index % 3:
            case 0:
                smaller = [row for person in persons[:-1] for row in person]
                yield Neighbours(_shuffled(dice, rows), _shuffled(dice, smaller), "one person more")
            case 1:
                changed = [row for person in persons[:-1] for row in person]
                changed += _rows(dice, len(persons) - 1, pools)
                yield Neighbours(_shuffled(dice, rows), _shuffled(dice, changed), "one person changed")
            case _:
                yield Neighbours(rows, _shuffled(dice, rows), "the same rows in another order")


def _rows(dice: np.random.Generator, person: int, pools: Mapping[str, Sequence[Any]]) -> Rows:
    count = int(dice.integers(1, 5))
    return [
        {"user_id": person} | {name: pool[int(dice.integers(len(pool)))] for name, pool in pools.items()}
        for _ in range(count)
    ]


def _shuffled(dice: np.random.Generator, rows: Rows) -> Rows:
    return [rows[place] for place in dice.permutation(len(rows))]
