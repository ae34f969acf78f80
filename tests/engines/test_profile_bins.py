"""Profiles on every engine: the same bins, a heavy person in one of them, and no row that makes them fail."""

from __future__ import annotations

import random
from fractions import Fraction

import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, OTHERS, place
from giveortake.audit.neighbours import Row, Table, random_row, random_rows
from giveortake.compile import Spend, Terms
from giveortake.session import Session
from giveortake.session.profiles.profile import ProfileRequest
from giveortake.session.session import mechanism_of
from inside import engine_of
from replay import MODES, exact_integers
from tiers import is_long, tiered

HEAVY = tiered(20_000, 60_000)


def evil_table() -> Table:
    luck = random.Random("profiles")  # noqa: S311 (which rows are tried need not be secret)
    rows: list[Row] = []
    for person in range(40):
        rows += random_rows(luck, person)
    rows += [random_row(luck, 77) for _ in range(300)]
    rows += [random_row(luck, None) for _ in range(20)]
    return Table(tuple({**row, "q": (row["q"] or "").replace("\0", "") or None} for row in rows), ())


def exact_bins(s: Session, table: str, by: list[str], columns: list[str]) -> list[list[int]]:
    """What noise would be added to, dimension by dimension."""
    profile = ProfileRequest(table, tuple(by), tuple(columns)).bind(mechanism_of(s), Terms.of({"epsilon": 1}))
    made = profile.at(Spend(epsilon=Fraction(1))).made()
    return [exact_integers(measurement, engine_of(s))[0].tolist() for measurement in made]


@pytest.mark.parametrize("where", OTHERS)
def test_every_engine_finds_the_same_bins(where: str, request: pytest.FixtureRequest) -> None:
    table, mode = evil_table(), MODES[1]
    with mode.session(table) as one, mode.session(table, place(where, request)) as other:
        schema = mechanism_of(one).origin.uncapped["data"].schema
        columns = [name for name, domain in schema.items() if domain.kind.is_number and name != "p"]
        by = [name for name, domain in schema.items() if name != "p" and domain.kind.value in {"text", "date"}]
        assert len(columns) >= 2
        some = where == "spark" and not is_long()  # each number of groups and each column takes statements
        for groups in [by[:2]] if some else ([], by[:1], by[:3]):
            columns = columns[:2] if some else columns
            found = exact_bins(one, "data", groups, columns)
            assert exact_bins(other, "data", groups, columns) == found
            assert all(sum(each) == sum(found[0]) for each in found)  # everybody is in one bin of each dimension


@pytest.mark.parametrize("where", EVERYWHERE)
def test_a_person_as_heavy_as_may_be_is_one_person(where: str, request: pytest.FixtureRequest) -> None:
    frame = pl.DataFrame(
        {
            "person": [1] * HEAVY + [2, 3],
            "note": [f"{'long ' * 40}{i}" for i in range(HEAVY)] + ["a", "b"],
            "x": [1e300, -1e300, *[0.5] * HEAVY],
        }
    )
    placed = place(where, request)("trips", frame)
    with gt.protect(placed, unit="person", budget=gt.PureDP(5), name="trips", engine={"threads": 1}) as s:
        rows, groups, largest, magnitude = exact_bins(s, "trips", ["note"], ["x"])
    assert [n for n in rows if n] == [2, 1]
    assert [n for n in groups if n] == [2, 1]
    assert [n for n in largest if n] == [3]
    assert (sum(magnitude), magnitude[-1]) == (3, 1)  # beyond the last power, and below zero
