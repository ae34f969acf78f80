"""Two answers are compared row by row, with intervals that hold the differences."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import giveortake as gt
from giveortake.answers import Answer, Column, difference
from giveortake.errors import QueryRefused


def released(values: dict[str, tuple[int, int]], name: str = "r", **more: Any) -> Answer:
    middles, margins = zip(*values.values(), strict=True)
    lows, highs = ([m + sign * w for m, w in zip(middles, margins, strict=True)] for sign in (-1, 1))
    return Answer([Column("region", list(values)), Column("n", middles, lows, highs)], release_id=name, **more)


def test_the_interval_of_a_difference_is_as_wide_as_both_and_states_what_it_holds_with() -> None:
    found = difference(released({"n": (100, 10), "s": (50, 10)}, "a"), released({"s": (90, 5), "n": (95, 5)}, "b"))
    assert list(found.keys[0]) == ["s", "n"]
    assert list(found.estimates[0].triples()) == [(40, 25, 55), (-5, -20, 10)]
    assert found.certain == (True, False)
    assert found.confidence == Fraction(9, 10)


def test_the_interval_of_a_difference_holds_whenever_both_intervals_do() -> None:
    found = difference(released({"x": (0, 3)}, "a"), released({"x": (1, 2)}, "b"))
    ends = found.estimates[0].low, found.estimates[0].high
    reached = [b - a for a in range(-3, 4) for b in range(-1, 4)]  # whatever the two truths are
    assert ends == ((min(reached),), (max(reached),))


def test_rows_without_a_partner_are_counted_and_other_columns_left_aside() -> None:
    found = difference(released({"n": (1, 1), "gone": (2, 1)}, "a"), released({"n": (3, 1), "new": (4, 1)}, "b"))
    assert (len(found), found.only_before, found.only_after, found.left_aside) == (1, 1, 1, ())
    with pytest.raises(QueryRefused):
        difference(released({"n": (1, 1)}), Answer([Column("n", [1], [0], [2])]))
    with pytest.raises(QueryRefused):
        difference(released({"n": (1, 1)}), Answer([Column("region", ["n"]), Column("m", [1], [0], [2])]))


def test_caps_that_differ_and_a_release_beside_itself_are_told() -> None:
    capped = gt.answers.terms.Caps(rows_per_group=1)
    found = difference(released({"n": (1, 1)}, "a"), released({"n": (1, 1)}, "b", caps=capped))
    assert "at most 1 row of a person in the second" in found.notes[0]
    assert "same release" in difference(released({"n": (1, 1)}), released({"n": (1, 1)})).notes[0]


def test_what_has_no_end_has_none_in_a_difference_and_floats_are_rounded_outwards() -> None:
    one = Answer([Column("m", [0.3], [0.1], [math.inf])], release_id="a")
    other = Answer([Column("m", [0.1], [0.1], [0.2])], release_id="b")
    ((_, low, high),) = difference(one, other).estimates[0].triples()
    assert low == -math.inf
    assert high == math.nextafter(0.2 - 0.1, 1)
