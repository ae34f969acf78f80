"""The least and the greatest number for which a statement holds are bracketed to 79 bits, on the safe side."""

from __future__ import annotations

import hashlib
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cases import some_examples
from giveortake import exact

FACTOR = 1 + Fraction(1, 2**79)

thresholds = st.fractions(min_value=Fraction(1, 10**20), max_value=10**20).filter(lambda t: t > 0)


@some_examples
@given(thresholds, thresholds)
def test_the_least_number_is_found_from_any_start(threshold: Fraction, start: Fraction) -> None:
    found = exact.least_that(lambda x: x >= threshold, start=start)
    assert threshold <= found <= threshold * FACTOR


@some_examples
@given(thresholds, thresholds)
def test_the_greatest_number_is_found_from_any_start(threshold: Fraction, start: Fraction) -> None:
    found = exact.greatest_that(lambda x: x <= threshold, start=start)
    assert threshold / FACTOR <= found <= threshold


@some_examples
@given(thresholds)
def test_least_and_greatest_mirror_each_other(threshold: Fraction) -> None:
    least = exact.least_that(lambda x: x >= threshold)
    greatest = exact.greatest_that(lambda x: x <= 1 / threshold)
    assert greatest == 1 / least


@some_examples
@given(thresholds, st.integers())
def test_a_number_is_returned_only_if_the_statement_was_proved_for_it(threshold: Fraction, seed: int) -> None:
    def proof_succeeds(x: Fraction) -> bool:  # true above the threshold, unless the prover has a bad day
        bad_day = hashlib.sha256(f"{seed} {x}".encode()).digest()[0] < 64
        return x >= threshold and not bad_day

    assert proof_succeeds(exact.least_that(proof_succeeds))


@some_examples
@given(thresholds)
def test_the_statement_is_only_ever_asked_about_positive_numbers(threshold: Fraction) -> None:
    asked: list[Fraction] = []

    def holds(x: Fraction) -> bool:
        asked.append(x)
        return x >= threshold

    exact.least_that(holds)
    assert min(asked) > 0


@some_examples
@given(st.fractions())
def test_the_ceiling_is_the_least_integer_above(number: Fraction) -> None:
    assert number <= exact.ceiling(number) < number + 1
