"""Where a cap chooses rows, equal rows of one person count one by one, and that person's rows alone decide."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from hashlib import md5
from itertools import count
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases
from engine_places import EVERYWHERE, place
from giveortake.engines import KeyColumn, Keys, Summand, Tally
from giveortake.engines.duckdb import long_texts
from giveortake.engines.sql import printer
from giveortake.engines.sql.dialect import Dialect
from giveortake.engines.sql.printer import Printer, hash_of, mark
from giveortake.plan import Call, ColumnReference, Kind, Scan
from giveortake.session.session import mechanism_of
from inside import engine_of
from replay import Revealing
from tiers import tiered

Row = tuple[int | None, str | None, int | None, float | None]  # a person, and what they hold
Kept = Counter[tuple[int | None, str | None, int | None, bool]]  # rows by content, of which only NULL and NaN are alike

LONG = "a very long beginning " * 20
TEXTS, NUMBERS, REALS = ("a", LONG, None), (0, -7, 2**40, None), (0.0, -0.0, math.nan, None)
PERSONS = (0, -1, 2, 3 + 2**31 - 1)  # the last has the hash of 3 would have
NARROW, WIDE = 10**9, -1  # bytes above which rows are long
_NAMES = count()

tables = st.lists(
    st.tuples(
        st.sampled_from([*PERSONS, None]), st.sampled_from(TEXTS), st.sampled_from(NUMBERS), st.sampled_from(REALS)
    ),
    max_size=16,
).flatmap(lambda rows: st.lists(st.sampled_from(rows), max_size=50) if rows else st.just([]))


def kept_by(source: Any, most: int, persons: tuple[int, ...] = PERSONS, *, narrow: int = NARROW) -> Kept:
    """The rows that an engine keeps."""
    columns = [
        KeyColumn("p", ColumnReference("p"), persons),
        KeyColumn("g", ColumnReference("g"), TEXTS),
        KeyColumn("w", ColumnReference("w"), NUMBERS),
        KeyColumn("x", Call("is_null", (ColumnReference("x"),)), (False, True)),
    ]
    keys = Keys(tuple(columns))
    with pytest.MonkeyPatch.context() as patch, gt.protect(source, unit="p", name="t", budget=gt.PureDP(1)) as session:
        patch.setattr(long_texts, "NARROW", narrow)
        scan: Any = mechanism_of(session).table("t")
        tally = Tally(replace(scan, most_rows_of_person=most), keys, (Summand("rows"),))
        (numbers,) = Revealing().release(engine_of(session).tally(tally))
        found: Any = {key: number for key, number in zip(keys.rows(), numbers.tolist(), strict=True) if number}
        return Counter(found)


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"p": pl.Int64, "g": pl.String, "w": pl.Int64, "x": pl.Float64}, orient="row")


# -- the rule, once more --------------------------------------------------------------------------------------------

PRIME, SCRAMBLE, OF_PERSON, OF_PART = 2**31 - 1, 1_583_458_089, 14_348_907, 11_184_811


def remainder(number: int) -> int:
    return number % PRIME if number >= 0 else -(-number % PRIME)


def mark_of(value: str | float | None) -> int:
    if isinstance(value, str):
        number = int(md5(value.encode()).hexdigest()[:15], 16)  # noqa: S324 (as engines do)
    else:
        number = -1 if value is None else value if isinstance(value, int) else math.floor(value * 2**20)
    return remainder(remainder(number) * SCRAMBLE)


def hashed(first: int, *marks: int) -> int:
    for other in marks:
        first = remainder((first + OF_PERSON) * (other + OF_PART))
    return abs(first)


def content_of(row: Row) -> Row:
    person, text, number, real = row
    return person, text, number, None if real is None or math.isnan(real) else 0.0


def rank(content: Row, ordinal: int) -> tuple[Any, ...]:
    of_content = hashed(*map(mark_of, content))
    ranked = of_content if ordinal == 1 else hashed(of_content, mark_of(ordinal), mark_of(ordinal))
    return ranked, of_content, *((value is None, value) for value in content), ordinal


def kept_as_stated(rows: list[Row], most: int) -> Kept:
    kept: Kept = Counter()
    for person in {row[0] for row in rows} - {None}:
        contents = Counter(content_of(row) for row in rows if row[0] == person)
        ranked = {rank(content, ordinal + 1): content for content, n in contents.items() for ordinal in range(n)}
        for first in sorted(ranked)[:most]:
            _, text, number, real = ranked[first]
            kept[person, text, number, real is None] += 1
    return kept


@settings(max_examples=tiered(15, 150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=tables, most=st.integers(1, 6), narrow=st.sampled_from([NARROW, WIDE]))
def test_rows_are_chosen_by_content_and_ordinal(rows: list[Row], most: int, narrow: int) -> None:
    kept = kept_by(frame(rows), most, narrow=narrow)
    assert kept == kept_as_stated(rows, most)
    sizes = Counter(row[0] for row in rows)
    assert all(sum(n for key, n in kept.items() if key[0] == p) == min(sizes[p], most) for p in PERSONS)


def many_equal_rows(seed: str) -> list[Row]:
    """Persons with rows that they, and others, have several times."""
    luck = random.Random(seed)  # noqa: S311 (which rows are tried need not be secret)
    contents = [(luck.choice(TEXTS), luck.choice(NUMBERS), luck.choice(REALS)) for _ in range(4)]
    return [(luck.choice([*PERSONS, None]), *luck.choice(contents)) for _ in range(120)]


@pytest.mark.parametrize("where", EVERYWHERE)
def test_every_engine_chooses_the_same_of_equal_rows(where: str, request: pytest.FixtureRequest) -> None:
    rows = many_equal_rows("engines")
    source = place(where, request)(f"equal_rows_{next(_NAMES)}", frame(rows))
    for most in (1, 4, 15):
        assert kept_by(source, most) == kept_as_stated(rows, most)


# -- nobody else's rows decide ----------------------------------------------------------------------------------------


def moved_by_others(rows: list[Row], most: int) -> int:
    """How many rows of others come or go when one person leaves, over all persons."""
    kept, moved = kept_by(frame(rows), most), 0
    for person in {row[0] for row in rows} - {None}:
        without = kept_by(frame([row for row in rows if row[0] != person]), most)
        others = Counter({key: n for key, n in kept.items() if key[0] != person})
        moved += sum(((others - without) + (without - others)).values())
    return moved


def test_whoever_leaves_moves_no_row_of_others() -> None:
    assert not any(moved_by_others(many_equal_rows(f"table {number}"), 5) for number in range(tiered(4, 40)))


def test_an_ordinal_among_the_equal_rows_of_the_table_would_move_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Printer.capped_rows

    def planted(self: Printer, scan: Scan, rows: str | None = None) -> str:
        text = sound(self, scan, rows)
        own = 'WINDOW w AS (PARTITION BY "p" ORDER BY row_hash, '
        assert own in text
        return text.replace(own, "WINDOW w AS (ORDER BY ")

    monkeypatch.setattr(Printer, "capped_rows", planted)
    assert all(moved_by_others(many_equal_rows(f"table {number}"), 5) for number in range(4))


# -- as in a sample without replacement -------------------------------------------------------------------------------

MANY = tuple(range(tiered(2_000, 20_000)))  # persons: keys of the hash, the same in every run
SHAPES = [(10, 10, 5), (50, 50, 30), (5, 45, 10), (3, 97, 50)]


def moments(first: int, second: int, most: int) -> tuple[float, float, float]:
    """How the rows with the first of two contents that count differ from those of a sample without replacement.

    The distance of their number from its expectation, in standard deviations; the second moment of the persons'
    numbers, as a multiple of their variance; and the fourth, as a multiple of that of a normal distribution.
    """
    rows: list[Row] = [(p, text, 0, None) for p in MANY for text in ["a"] * first + [LONG] * second]
    kept = kept_by(frame(rows), most, MANY)
    size, share = first + second, first / (first + second)
    variance = most * share * (1 - share) * (size - most) / (size - 1)
    distances = [kept[person, "a", 0, True] - most * share for person in MANY]
    second_moment, fourth_moment = (sum(distance**n for distance in distances) / len(MANY) for n in (2, 4))
    total = sum(distances) / math.sqrt(len(MANY) * variance)
    return total, second_moment / variance, fourth_moment / (3 * variance**2)


@all_cases(("first", "second", "most"), SHAPES)
def test_equal_rows_count_as_often_as_in_a_sample_without_replacement(first: int, second: int, most: int) -> None:
    total, variance, fourth = moments(first, second, most)
    assert abs(total) < 2
    assert 0.95 < variance < 1.05
    assert 0.8 < fourth < 1.1


def test_without_ordinals_equal_rows_would_stay_or_go_together() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(printer, "hash_with_ordinal", lambda _dialect, content, _ordinal: content)
        found = {shape: moments(*shape) for shape in SHAPES}
    assert min(variance for _, variance, _ in found.values()) > 3
    assert found[5, 45, 10][0] > 50, "a rare content counted more often than its share"


def test_an_ordinal_that_is_multiplied_in_once_would_keep_stretches_of_equal_rows() -> None:
    def once(dialect: Dialect, content: str, ordinal: str) -> str:
        return hash_of(content, mark(dialect, ordinal, Kind.INTEGER))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(printer, "hash_with_ordinal", once)
        _, variance, fourth = moments(50, 50, 30)
    assert 0.9 < variance < 1.1
    assert fourth > 5
