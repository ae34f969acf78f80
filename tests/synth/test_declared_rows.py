"""All tables of a synthesis count the same rows: a row with an undeclared value is in none of them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.session import Session

ASKED = {"columns": ["region", "reason"], "epsilon": 50, "delta": "1e-6"}


@pytest.mark.parametrize("undeclared", ["other", None])
def test_undeclared_values_of_one_column_do_not_move_the_others(undeclared: str | None) -> None:
    rows = [("north", "flu")] * 900 + [("north", undeclared)] * 2000 + [("south", "cold")] * 600
    frame = pl.DataFrame(rows, schema=["region", "reason"], orient="row")
    domains = {"region": ["north", "south"], "reason": ["flu", "cold"]}
    with gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(50, "1e-6"), domains=domains, name="visits") as session:
        notes = gt.synth.quote(session, **ASKED).notes  # type: ignore[arg-type]
        (left_out,) = [note for note in notes if "undeclared" in note]
        made = gt.synth.synthesize(session, **ASKED)  # type: ignore[arg-type]
    assert left_out in made.notes
    assert "region, reason" in left_out
    counts = dict(
        made.marginal("region", "reason").to_polars().select(pl.concat_str("region", "reason"), "n").iter_rows()
    )
    for cell, true in {"northflu": 900, "northcold": 0, "southflu": 0, "southcold": 600}.items():
        assert abs(counts[cell] - true) < 100, cell  # more than ten deviations


def _about_rows(session: Session, **asked: Any) -> list[str]:
    return [note for note in gt.synth.quote(session, **asked).notes if "undeclared" in note or " edge " in note]


def test_numbers_beyond_listed_edges_are_told() -> None:
    frame = pl.DataFrame({"x": [1.0, 200.0] * 50, "sex": ["f", "m"] * 50})
    domains = {"x": (0, 500), "sex": ["f", "m"]}
    with gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains=domains) as session:
        asked = {"columns": ["x", "sex"], "epsilon": 8, "delta": "1e-6"}
        narrow = _about_rows(session, bins={"x": [1, 10, 100]}, **asked)
        assert len(narrow) == 3  # below the first edge, and above the last one
        assert all(" x " in note for note in narrow[1:])
        whole = _about_rows(session, bins={"x": [0, 10, 500]}, **asked)
        assert len(whole) == 1
