"""Arrays in, arrays out: numpy first, columns of Polars, pandas and Arrow accepted; and what stays sensitive."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction as F
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.errors import SensitiveValue
from giveortake.mechanisms import Laplace, Sensitive
from giveortake.mechanisms.lattice import added, read
from giveortake.mechanisms.mechanism import BoundedIntegers

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
