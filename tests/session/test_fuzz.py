"""Random questions end alike on neighbouring tables, however heavy the one person is in whom they differ."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from giveortake.plan import relations
from random_questions import ROWS_OF_HEAVIEST, Fuzz, fuzz, neighbours, outcome
from tiers import tiered


def test_a_heavy_person_decides_no_outcome_of_random_questions() -> None:
    """`giveortake bench fuzz` asks 10,000."""
    found = fuzz(tiered(24, 240), per_table=tiered(12, 60))
    assert found.differences == []
    assert found.kinds["answered"] > tiered(8, 120)
    assert found.kinds["failed"] == 0


def test_a_person_with_megabytes_of_text_decides_no_outcome() -> None:
    found = fuzz(tiered(3, 12), "heaviest", per_table=tiered(3, 4), rows=ROWS_OF_HEAVIEST)
    assert found.differences == []
    assert found.kinds["failed"] == 0


def test_a_heavy_person_decides_no_outcome_whatever_caps_a_question_states() -> None:
    found = fuzz(tiered(12, 120), "caps", mode="caps of each question")
    assert found.differences == []
    assert found.kinds["answered"] > tiered(3, 40)
    assert found.kinds["failed"] == 0


@pytest.mark.parametrize("bounded", [True, False])
def test_texts_without_a_bound_would_tell_whether_the_person_is_there(
    bounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not bounded:
        monkeypatch.setattr(relations, "MOST_MADE", 1 << 60)
        monkeypatch.setattr(relations, "MOST_KEPT", 1 << 60)
        monkeypatch.setattr(relations, "MOST_JOINED", 1 << 60)
    found: Fuzz = fuzz(1, "growing 0", growing=1.0)
    if bounded:
        assert found.differences == []
    else:
        assert any(each.startswith("answered / failed: memory") for each in found.differences)


def test_a_question_whose_numbers_are_all_known_is_refused_before_it_is_charged() -> None:
    """With keys that are found it was charged, and failed."""
    with ExitStack() as stack:
        light, _ = neighbours(stack, "caps", "known")
        for keys in ("", "q", "r"):
            shown, grouped = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
            text = f"SELECT {shown}STDDEV(CLAMP(99, -10, 10)) AS a FROM data{grouped}"
            assert outcome(light, text).startswith("refused: QueryRefused"), keys
        assert all(entry.kind != "reserved" for entry in light.history())
