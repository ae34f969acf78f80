"""Profiles on every engine: the same bins, a heavy person in one of them, and no row that makes them fail."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.compile import Spend, Terms
from giveortake.session import Session
from giveortake.session.profiles.profile import ProfileRequest
from giveortake.session.session import mechanism_of
from inside import engine_of
from replay import exact_integers
from tiers import tiered

HEAVY = tiered(20_000, 60_000)


def exact_bins(s: Session, table: str, by: list[str], columns: list[str]) -> list[list[int]]:
    """What noise would be added to, dimension by dimension."""
    profile = ProfileRequest.of(table, by, columns).bind(mechanism_of(s), Terms.of({"epsilon": 1}))
    made = profile.at(Spend(epsilon=Fraction(1))).made()
    return [exact_integers(measurement, engine_of(s))[0].tolist() for measurement in made]


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
