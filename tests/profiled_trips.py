"""Trips of people who made few, many and very many of them, and a session that knows their profile."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.session import Session

PLENTY = gt.PureDP(10_000)
COUNT = "SELECT COUNT(*) AS n FROM trips"
BY_REGION = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
BY_TOWN = "SELECT town, COUNT(*) AS n FROM trips GROUP BY town"


def trips() -> pl.DataFrame:
    """Two hundred people with one trip, forty with twenty in each of two regions, one with three hundred in one."""
    people = [*range(200), *(p for p in range(200, 240) for _ in range(40)), *[999] * 300]
    regions = ["north"] * 200 + ["north", "south"] * 800 + ["west"] * 300
    amounts = [1.5 + p % 3 if p < 999 else -40.0 for p in people]
    return pl.DataFrame({"person": people, "region": regions, "amount": amounts})


def session(**more: Any) -> Session:
    options: dict[str, Any] = {"unit": "person", "budget": PLENTY, "name": "trips"} | more
    domains = {"region": ["north", "south", "west"], "amount": (-50, 50)}
    return gt.protect(trips(), **protection_arguments({"domains": domains, "threads": 1, **options}))


def profiled(**more: Any) -> Session:
    s = session(**more)
    s.profile(most_rows=300).answer(epsilon=500)
    return s


def found_keys() -> Session:
    """Four hundred people with forty rows in four of twenty towns, most of them in one; ten have many, everywhere."""
    luck = random.Random("towns")  # noqa: S311 (of a table that is not secret)
    people = [p for p in range(400) for _ in range(40 if p % 40 else 200)]
    towns = [f"town {(p + (max(0, luck.randrange(10) - 6) if p % 40 else luck.randrange(20))) % 20}" for p in people]
    table = pl.DataFrame({"person": people, "town": towns})
    return gt.protect(table, unit="person", budget=gt.ApproxDP(2_000, "1e-3"), name="trips", engine={"threads": 1})
