"""Clever algorithms beside plain ones: packed coins, column sums, supports of hash functions, transforms."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from cases import all_cases
from giveortake.local import categories
from giveortake.local.categories import (
    bucket,
    column_sums,
    meeting,
    odd_ones,
    prime_from,
    set_bits,
    supports,
    transformed,
)
from giveortake.randomness import packed_bernoulli
from recorded_entropy import RecordedEntropy, ScriptedEntropy
from statistics_of_draws import counts_are_plausible

coins = sys.modules[packed_bernoulli.__module__]
generator = np.random.default_rng(7)


@pytest.mark.statistical
@all_cases(("claim", "plausible"), [("1/3", True), ("7/30", False), ("13/30", False)])
def test_packed_coins_have_exactly_their_probability(claim: str, plausible: bool) -> None:
    bits = packed_bernoulli(Fraction(1, 3), 20_000, 8, RecordedEntropy("packed")).reshape(-1)
    p = float(Fraction(claim))
    law = [p ** byte.bit_count() * (1 - p) ** (8 - byte.bit_count()) for byte in range(256)]
    assert counts_are_plausible(np.bincount(bits, minlength=256).tolist(), law) == plausible


@all_cases("probability", [Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**9), Fraction(999, 1000)])
def test_the_table_of_packed_coins_cuts_the_unit_interval_exactly(probability: Fraction) -> None:
    pieces = coins._pieces(probability)
    edges = [Fraction(0), *pieces.cuts, Fraction(1)]
    for outcome in range(256):
        ones = outcome.bit_count()
        assert edges[outcome + 1] - edges[outcome] == probability**ones * (1 - probability) ** (8 - ones)
    for first in range(0, 1 << 16, 97):
        low, high = Fraction(first, 1 << 16), Fraction(first + 1, 1 << 16)
        inside = [cut for cut in pieces.cuts if low < cut < high]
        outcome = int(pieces.table[first])
        assert (outcome == 256) == bool(inside)
        assert inside or edges[outcome] <= low < high <= edges[outcome + 1]


def test_a_uniform_number_at_a_cut_draws_more_digits_until_it_is_decided() -> None:
    pieces = coins._pieces(Fraction(1, 3))
    cut = pieces.cuts[10]
    for lower in (0, 2**64 - 1):
        number = int(cut * 2**63)
        settled = coins._settled(number, pieces.cuts, ScriptedEntropy([lower], then=lower & 255))
        assert settled == (10 if lower == 0 else 11)


def test_bits_after_the_last_coin_are_zero() -> None:
    bits = packed_bernoulli(Fraction(999, 1000), 100, 11, RecordedEntropy("rest"))
    assert bits.shape == (100, 2)
    assert int(bits[:, 1].max()) < 8
    assert packed_bernoulli(Fraction(1, 2), 0, 11, RecordedEntropy("none")).shape == (0, 2)


@all_cases("rows", [0, 1, 2, 3, 100, 20_000])
@all_cases("columns", [1, 8, 11, 64, 130])
def test_column_sums_are_the_sums_of_the_columns(rows: int, columns: int) -> None:
    bits = generator.integers(0, 2, size=(rows, columns), dtype=np.uint8)
    packed_rows = np.packbits(bits, axis=1, bitorder="little")
    assert (column_sums(packed_rows, columns) == bits.sum(axis=0, dtype=np.int64)).all()


def test_one_bit_of_every_row_is_set_and_no_other_changes() -> None:
    bits = generator.integers(0, 2, size=(50, 20), dtype=np.uint8)
    rows, places = np.packbits(bits, axis=1, bitorder="little"), generator.integers(0, 20, 50)
    values = generator.integers(0, 2, 50).astype(np.bool_)
    set_bits(rows, places, values)
    bits[np.arange(50), places] = values
    assert (np.unpackbits(rows, axis=1, bitorder="little", count=20) == bits).all()


@all_cases(("prime", "buckets"), [(2, 2), (7, 2), (11, 3), (31, 5), (37, 37), (101, 4)])
@all_cases("cells", [1, 300, 1 << 22])
def test_supports_counted_by_runs_are_those_counted_one_by_one(
    prime: int, buckets: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(categories, "_CELLS", cells)
    a, b = generator.integers(0, prime, (2, 300))
    y = generator.integers(0, buckets, 300)
    values = np.arange(prime)
    plain = (bucket(values[None], a[:, None], b[:, None], prime, buckets) == y[:, None]).sum(axis=0)
    assert (categories._by_runs((a, b, y), values, prime, buckets) == plain).all()
    assert (categories._one_by_one((a, b, y), values, prime, buckets) == plain).all()
    large = 2**31 - 1
    a, b = generator.integers(0, large, (2, 50))
    plain = (bucket(values[None], a[:, None], b[:, None], large, buckets) == y[:50, None]).sum(axis=0)
    assert (supports((a, b, y[:50]), values, large, buckets) == plain).all()


@all_cases(("prime", "buckets"), [(5, 2), (7, 3), (11, 4)])
def test_two_values_meet_exactly_as_often_as_stated(prime: int, buckets: int) -> None:
    pairs = list(product(range(prime), repeat=2))
    met = sum(bucket(1, a, b, prime, buckets) == bucket(3, a, b, prime, buckets) for a, b in pairs)
    assert Fraction(int(met), len(pairs)) == meeting(prime, buckets)


def test_the_next_prime_is_found() -> None:
    assert [prime_from(number) for number in (0, 2, 4, 8, 1024)] == [2, 2, 5, 11, 1031]


def test_the_fast_transform_is_multiplication_with_the_hadamard_matrix() -> None:
    numbers = generator.integers(0, 100, 16)
    signs = np.array([[(-1) ** (i & j).bit_count() for j in range(16)] for i in range(16)])
    assert (transformed(numbers) == signs @ numbers).all()
    assert (odd_ones(16) == np.array([i.bit_count() % 2 == 1 for i in range(16)])).all()
