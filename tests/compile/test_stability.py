"""Sensitivities against all that one unit can do, where there are few rows, groups and values."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from giveortake.compile.sensitivity import Stability

Rows = tuple[tuple[int, int], ...]  # of a unit: the group and the value of each
GROUPS = 3
CUT = [(None, 2, 2), (3, 2, 2), (3, 3, 2), (3, 1, 1), (1, 1, 1)]  # rows of a unit, groups, rows in a group that count


def _stability(rows: int | None, groups: int, rows_in_group: int, **terms: Any) -> Stability:
    usual: dict[str, Any] = {"is_cut": True, "neighbours": "add-remove", "grouped": True, "keys": GROUPS}
    return Stability(rows, groups, rows_in_group, **(usual | terms))


def _units(values: range, most: int) -> list[Rows]:
    """Everybody with up to so many rows."""
    single = list(itertools.product(range(GROUPS), values))
    return [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(single, size)]


def _sums(unit: Rows, stability: Stability) -> tuple[Fraction, ...]:
    """What a unit adds to the sum of each group, as the bounds of the engine leave it."""
    held = [[value for group, value in unit if group == place] for place in range(GROUPS)]
    several = max(sum(map(bool, held)), 1)
    part = min(Fraction(1), Fraction(stability.touched, several))
    return tuple(sum(own) * part * min(Fraction(1), Fraction(stability.most_in_group, len(own) or 1)) for own in held)


def _norms(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> tuple[Fraction, Fraction]:
    apart = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return sum(apart, Fraction(0)), sum((each * each for each in apart), Fraction(0))


def test_no_unit_moves_sums_by_more_than_their_sensitivity_and_some_by_as_much() -> None:
    for (rows, groups, in_group), (least, most) in itertools.product(CUT, [(0, 1), (-2, 1), (-1, 2)]):
        stability = _stability(rows, groups, in_group)
        units = _units(range(least, most + 1), 4 if rows is None else rows)
        l1, l2 = stability.sensitivity(least, most)
        found = [_norms(_sums(unit, stability), (Fraction(0),) * GROUPS) for unit in units]
        assert max(each for each, _ in found) == l1, (rows, groups, in_group, least, most)
        greatest = max(square for _, square in found)
        assert greatest <= l2**2, (rows, groups, in_group, least, most)
        assert math.isclose(greatest, l2**2, rel_tol=1e-9), (rows, groups, in_group, least, most)


def test_no_changed_unit_moves_sums_by_more_than_their_sensitivity() -> None:
    kept = [(3, 1, 1, True), (2, 2, 2, False), (1, 1, 1, True), (1, 1, 1, False)]
    for (rows, groups, in_group, is_cut), (least, most) in itertools.product(kept, [(0, 1), (-2, 1), (1, 2)]):
        for grouped in (True, False):
            terms: dict[str, Any] = {"neighbours": "change-one", "is_cut": is_cut, "grouped": grouped}
            stability = _stability(rows, groups, in_group, **terms)
            units = [unit for unit in _units(range(least, most + 1), rows) if grouped or not any(at for at, _ in unit)]
            l1, l2 = stability.sensitivity(least, most)
            sums = {_sums(unit, stability) for unit in units}
            found = list(itertools.starmap(_norms, itertools.combinations(sums, 2)))
            assert max(each for each, _ in found) <= l1, (stability, least, most)
            assert max(square for _, square in found) <= l2**2, (stability, least, most)


def test_distinct_values_of_a_changed_unit_leave_and_enter() -> None:
    for is_cut in (True, False):
        added, changed = (
            _stability(3, 3, 1, is_cut=is_cut, neighbours=each).of_distinct() for each in ("add-remove", "change-one")
        )
        assert changed == (2 * added[0], 2 * added[1])
        assert added[0] == 3
