"""Record and replay: no unit moves any aggregate by more than was declared, on any table; and mutants are caught."""

from __future__ import annotations

import pytest
from query_shapes import shapes_of
from replay import MODES, Mode, replay

PAIRS = 5


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.name}, {mode.change}")
def test_no_neighbour_moves_an_aggregate_by_more_than_was_declared(mode: Mode) -> None:
    shapes = shapes_of(by_person=mode.by_person)
    assert len(shapes) >= 40
    seen = replay(mode, shapes, PAIRS)
    assert seen.violations == []
    assert max(seen.nearest.values()) == 1  # and some reach it
