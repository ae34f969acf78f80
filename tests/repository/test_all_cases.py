"""A test with many cases tries all of them, and reports every failure."""

from __future__ import annotations

import inspect

import pytest

from cases import all_cases


def test_all_cases_is_tried_and_every_failure_reported() -> None:
    tried: list[tuple[int, str]] = []

    @all_cases("number", [1, 2, 3])
    @all_cases("letter", ["a", "b"])
    def odd(number: int, letter: str, fixture: str) -> None:
        tried.append((number, letter + fixture))
        assert number != 2

    assert list(inspect.signature(odd).parameters) == ["fixture"]
    with pytest.raises(BaseExceptionGroup) as failures:
        odd(fixture="!")
    assert tried == [(number, letter) for number in (1, 2, 3) for letter in ("a!", "b!")]
    assert len(failures.value.exceptions) == 2


def test_a_single_failure_is_raised_as_it_is_with_a_note_of_its_case() -> None:
    @all_cases(("first", "second"), [(1, 2), pytest.param(3, 3, id="equal"), (4, 5)])
    def different(first: int, second: int) -> None:
        assert first != second

    with pytest.raises(AssertionError) as failure:
        different()
    assert failure.value.__notes__ == ["case: equal"]
