"""Real numbers on the lattice: the sensitivity that is declared is the real one, and low bits say nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction as F
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
import laws
from cases import all_cases, some_examples
from giveortake.exact import at_least, sqrt_up
from giveortake.mechanisms import Lattice
from giveortake.mechanisms.lattice import read

finite = st.floats(-1e9, 1e9)
granularities = st.sampled_from([F(1), F(1, 1024), F(4), F(1, 10), F(3, 7)])


@some_examples
@given(finite, finite, granularities)
def test_one_number_moves_at_most_the_declared_steps(x: float, y: float, granularity: F) -> None:
    lattice = Lattice(granularity)
    first, second = read("value", x), read("value", y)
    change = abs(F(x) - F(y))
    moved = abs(int(lattice.steps(first)[0]) - int(lattice.steps(second)[0]))
    assert moved <= lattice.l1_steps(change, whole=False, size=1)
    assert moved <= lattice.l2_steps(change, whole=False, size=1)


@some_examples
@given(st.lists(st.tuples(finite, st.floats(-5, 5)), min_size=1, max_size=6), granularities)
def test_several_numbers_move_at_most_the_declared_steps_together(
    pairs: list[tuple[float, float]], granularity: F
) -> None:
    lattice = Lattice(granularity)
    x = np.array([number for number, _ in pairs])
    y = np.array([number + change for number, change in pairs])
    first, second = read("value", x), read("value", y)
    differences = [abs(F(a) - F(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    moved = [abs(int(a) - int(b)) for a, b in zip(lattice.steps(first), lattice.steps(second), strict=True)]
    assert sum(moved) <= lattice.l1_steps(sum(differences, F(0)), whole=False, size=len(pairs))
    euclidean = sqrt_up(sum((d * d for d in differences), F(0)))
    assert sum(m * m for m in moved) <= lattice.l2_steps(euclidean, whole=False, size=len(pairs)) ** 2


@some_examples
@given(st.lists(finite, min_size=1, max_size=20), st.integers(-20, 20))
def test_the_fast_way_to_the_lattice_agrees_with_exact_arithmetic(numbers: list[float], exponent: int) -> None:
    lattice = Lattice(F(2) ** exponent)
    fast = lattice.steps(read("value", np.array(numbers)))
    exactly = [(2 * F(x) / lattice.granularity + 1) // 2 for x in numbers]
    assert fast.tolist() == exactly


def test_halves_go_up_so_that_one_step_apart_stays_one_step_apart() -> None:
    steps = Lattice(1).steps(read("value", np.array([-1.5, -0.5, 0.5, 1.5, 2.5])))
    assert steps.tolist() == [-1, 0, 1, 2, 3]


def test_integers_keep_their_sensitivity_and_quantised_numbers_do_not() -> None:
    assert Lattice(1).l1_steps(F(3, 2), whole=True, size=10) == F(3, 2)
    assert Lattice(1).l1_steps(F(3, 2), whole=False, size=10) == 2 + 9
    assert Lattice(1).l2_steps(F(3, 2), whole=False, size=10) > F(3, 2) + 3
    assert Lattice(5).l1_steps(F(3, 2), whole=True, size=10) == 1 + 9, "a coarser lattice moves integers too"


@all_cases("value", [0.1, 1.1, 123456.789, -1e-300, 5e-324, 1e15 + 0.125])
def test_every_float_release_is_a_multiple_of_the_same_granularity(value: float) -> None:
    unit = F(1, 2**20)
    for _ in range(50):
        assert F(gt.laplace(value, sensitivity=1, epsilon=1)) % unit == 0
        assert F(gt.laplace(value + 1, sensitivity=1, epsilon=1)) % unit == 0


@pytest.mark.statistical
@all_cases("value", [0.0, 1.0, 0.1, 1.1, 3.3])
def test_the_low_bits_of_a_float_release_are_uniform_whatever_the_value(value: float) -> None:
    draws = gt.laplace(np.full(40_000, value), sensitivity=1, epsilon="0.5", granularity="1/1048576")
    low_bits = (draws * 2**20).astype(np.int64) % 64
    assert laws.looks_like(low_bits, lambda k: 1 / 64 if 0 <= k < 64 else 0.0)
    assert not laws.looks_like(low_bits, lambda k: 1 / 83 if 0 <= k < 83 else 0.0)


@all_cases("granularity", ["0.01", "1/3", 1, "2.5"])
def test_a_granularity_of_the_users_choice_is_kept(granularity: str | int) -> None:
    unit = F(granularity)
    exactly = gt.laplace(F(22, 7), sensitivity=1, epsilon=1, granularity=granularity)
    assert isinstance(exactly, F | int)
    assert F(exactly) % unit == 0
    several = gt.gaussian([F(1, 3), F(2, 3)], sensitivity=1, mu=1, granularity=granularity)
    assert all(F(x) % unit == 0 for x in several)


@all_cases("value", [7, F(1, 3), Decimal("2.50"), 2.5])
def test_a_number_comes_back_as_a_number_of_its_kind(value: object) -> None:
    expected = {int: int, F: F, Decimal: F, float: float}[type(value)]
    assert isinstance(gt.laplace(value, sensitivity=1, epsilon=1), expected)


def test_results_beyond_the_doubles_are_clamped_not_lost() -> None:
    greatest = np.finfo(np.float64).max.item()
    released = [gt.laplace(greatest, sensitivity=1e300, epsilon=1e-6) for _ in range(40)]
    assert all(np.isfinite(released))
    assert max(released) == greatest


def test_a_sensitivity_given_as_a_float_is_never_read_as_less_than_it_is() -> None:
    assert at_least("sensitivity", 0.1) == F(0.1) > F(1, 10)
    assert at_least("sensitivity", 0.3) == F(3, 10) > F(0.3)
    assert at_least("sensitivity", "0.1") == F(1, 10)
    half, single = np.float16(65504), np.float32(123456789)
    assert at_least("sensitivity", cast("float", half)) == 65504, "its shortest decimal is 65500"
    assert at_least("sensitivity", cast("float", single)) == 123456792
    assert gt.mechanisms.Laplace(1).event(0.1).noise_multiplier == 1 / F(0.1)
