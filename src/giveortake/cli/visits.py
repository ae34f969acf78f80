"""The bundled table: invented visits to invented clinics (`benchmarks/make_visits.py` wrote it)."""

from __future__ import annotations

import csv
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

REGIONS = ("north", "east", "south", "west", "coast", "islands")  # public: known without looking at the table
GREATEST_AMOUNT = 500  # public: no clinic charges more


class Visit(NamedTuple):
    """One row."""

    person_id: str
    region: str
    reason: str
    cents: int


def visits() -> list[Visit]:
    """All rows, amounts as whole cents within the public bounds."""
    text = files("giveortake").joinpath("data", "visits.csv").read_text(encoding="utf-8")
    return [
        Visit(row["person_id"], row["region"], row["reason"], cents(row["amount"]))
        for row in csv.DictReader(text.splitlines())
    ]


def one_each(rows: Iterable[Visit]) -> list[Visit]:
    """One visit for every person, so that adding or removing a person adds or removes one row.

    Which one is decided by a hash of the visit itself, never by its place in the table: what is kept of one person
    does not depend on anybody else.
    """
    kept: dict[str, tuple[bytes, Visit]] = {}
    for row in rows:
        candidate = (blake2b(repr(tuple(row)).encode()).digest(), row)
        kept[row.person_id] = min(candidate, kept.get(row.person_id, candidate))
    return [row for _, row in kept.values()]


def cents(amount: str) -> int:
    """An amount with two decimals as whole cents, clamped to the public bounds.

    >>> cents("12.34"), cents("-1.00"), cents("9999.99")
    (1234, 0, 50000)
    """
    whole, _, decimals = amount.partition(".")
    return max(0, min(100 * GREATEST_AMOUNT, int(whole + decimals)))
