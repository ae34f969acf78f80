"""Real numbers on the lattice: the sensitivity that is declared is the real one, and low bits say nothing."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction as F
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
import laws
from cases import all_cases, some_examples
from giveortake.errors import SensitiveValue
from giveortake.exact import at_least, sqrt_up
from giveortake.mechanisms import Laplace, Lattice, Sensitive
from giveortake.mechanisms.lattice import added, read
from giveortake.mechanisms.mechanism import BoundedIntegers

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


NUMBERS = [1, 2, 3]


@all_cases(
    "column",
    [
        NUMBERS,
        tuple(NUMBERS),
        np.array(NUMBERS, dtype=np.int8),
        np.array(NUMBERS, dtype=np.uint16),
        np.array(NUMBERS, dtype=np.uint64),
        np.array(NUMBERS, dtype=object),
        pl.Series(NUMBERS),
        pd.Series(NUMBERS),
        pa.array(NUMBERS),
        pa.chunked_array([[1], [2, 3]]),
    ],
    ids=["list", "tuple", "int8", "uint16", "uint64", "objects", "polars", "pandas", "arrow", "arrow chunks"],
)
def test_whole_columns_give_int64_arrays(column: Any) -> None:
    released = gt.laplace(column, sensitivity=1, epsilon=100)
    assert isinstance(released, np.ndarray)
    assert released.dtype == np.int64
    assert np.abs(released - NUMBERS).max() < 2


@all_cases(
    "column",
    [
        [0.5, 1.5],
        np.array([0.5, 1.5], dtype=np.float32),
        pl.Series([0.5, 1.5]),
        pd.Series([0.5, 1.5]),
        pa.array([0.5, 1.5]),
        [F(1, 2), 1.5],
    ],
    ids=["list", "float32", "polars", "pandas", "arrow", "mixed"],
)
def test_real_columns_give_float_arrays(column: Any) -> None:
    for released in (
        gt.laplace(column, sensitivity=1, epsilon=10),
        gt.gaussian(column, sensitivity=1, epsilon=10, delta="1e-6"),
    ):
        assert released.dtype == np.float64
        assert np.abs(released - [0.5, 1.5]).max() < 20


@all_cases("epsilon", [F(1), F(1, 10)])
def test_neighbours_of_numpys_rounding_are_released_as_far_apart_as_they_are(epsilon: F) -> None:
    """numpy would turn [2⁶⁰ + 127, ½] and [2⁶⁰ + 129, ½] into doubles that are 256 apart."""
    for low, high in (([2**60 + 127, 0.5], [2**60 + 129, 0.5]), ([2**63 - 1, -1], [2**63, -1])):
        first, second = read("value", low), read("value", high)
        (before, _), (after, _) = first.flat.tolist(), second.flat.tolist()
        assert abs(F(before) - F(after)) in {1, 2}
        assert first.is_float == second.is_float
        assert first.is_whole == second.is_whole
    kinds = {gt.laplace([top, -1], sensitivity=1, epsilon=epsilon).dtype.kind for top in (2**63 - 10**6, 2**63 + 10**6)}
    assert kinds == {"i", "O"}, "the released numbers alone decide"
    picked = {gt.exponential("xy", [2**60 + d, 2**60 + 128, 0.5][:2], sensitivity=2, epsilon=epsilon) for d in range(9)}
    assert picked <= {"x", "y"}


def test_sums_at_the_edge_of_int64_do_not_wrap() -> None:
    for size in (8, 9):
        halves = np.full(size, 2**62, dtype=np.int64)
        assert set(added(halves, halves).tolist()) == {2**63}
        assert set(added(-halves, -halves).tolist()) == {-(2**63)}


def test_the_shape_is_kept_and_empty_arrays_stay_empty() -> None:
    assert gt.laplace(np.zeros((3, 4, 5), dtype=int), sensitivity=1, epsilon=1).shape == (3, 4, 5)
    assert gt.laplace(np.zeros((2, 3)), sensitivity=1, epsilon=1).shape == (2, 3)
    assert gt.laplace(np.zeros(0), sensitivity=1, epsilon=1).shape == (0,)
    assert gt.gaussian([], sensitivity=1, mu=1).shape == (0,)
    assert gt.gaussian(np.zeros((0, 3), dtype=int), sensitivity=1, mu=1).shape == (0, 3)


@all_cases("value", [2**63 - 1, -(2**63), 2**64 - 1, 10**30])
def test_integers_of_any_size_are_exact(value: int) -> None:
    for released in (
        gt.laplace(value, sensitivity=1, epsilon=1),
        gt.laplace(np.array([value, value], dtype=object), sensitivity=1, epsilon=1)[0],
        gt.laplace([value, value], sensitivity=1, epsilon=1)[0],
    ):
        assert abs(int(released) - value) < 200


def test_the_type_of_an_array_says_no_more_than_its_numbers() -> None:
    small = gt.laplace(np.zeros(10, dtype=np.int64), sensitivity=1, epsilon="1e-15")
    assert small.dtype == np.int64
    large = gt.laplace(np.zeros(10, dtype=np.int64), sensitivity=1, epsilon="1e-30")
    assert large.dtype == object
    assert all(isinstance(number, int) for number in large)


def test_the_input_is_never_written_to() -> None:
    column = np.arange(100_000)
    column.flags.writeable = False
    gt.laplace(column, sensitivity=1, epsilon=1)
    reals = np.arange(1000.0)
    reals.flags.writeable = False
    gt.gaussian(reals, sensitivity=1, mu=1)
    assert (reals == np.arange(1000.0)).all()


def test_what_is_made_of_a_sensitive_value_has_a_name_and_stays_sensitive() -> None:
    noise = Laplace("1e-3")  # which rounds to zero
    bins = Sensitive([BoundedIntegers.clamped(np.array(each), 9) for each in ([[1, 2, 3, 4]], [[5, 6]])])
    assert noise.release(bins.item(1)).tolist() == [[5, 6]]
    assert noise.release(bins.item(0).part(0, 1)).tolist() == [[1, 2, 3, 4]]
    assert repr(bins.item(0).part(0, 1)) == "<sensitive>"
    with pytest.raises(SensitiveValue):
        Sensitive(np.array([[1, 2]])).part(0, 1)  # type: ignore[misc]  # (it has no bound)
    table: Any = Sensitive({"Ada": 1})
    with pytest.raises(SensitiveValue):
        table.item("Ada")


def test_no_function_of_a_caller_sees_a_sensitive_value() -> None:
    public = {name for name in dir(Sensitive) if not name.startswith("_")}
    # some of it, sums over axes, and through a strategy of prefix sums: no other function
    assert public == {"item", "open", "part", "summed", "through"}


def test_a_sensitive_value_shows_itself_to_mechanisms_only() -> None:
    secret = Sensitive(np.array([4711]))
    stranger: Any = "me"
    assert repr(secret) == str(secret) == f"{secret}" == f"{secret:>3}" == "<sensitive>"
    assert abs(int(Laplace("0.1").release(secret)[0]) - 4711) < 30
    for misuse in (
        lambda: bool(secret),
        lambda: secret.open(stranger),
        lambda: pickle.dumps(secret),
        lambda: copy.deepcopy(secret),
    ):
        with pytest.raises(SensitiveValue):
            misuse()
