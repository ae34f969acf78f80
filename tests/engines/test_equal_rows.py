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
from engine_places import EVERYWHERE, place
from giveortake.engines import KeyColumn, Keys, Summand, Tally
from giveortake.engines.duckdb import long_texts
from giveortake.engines.sql import printer
from giveortake.plan import Call, ColumnReference, Literal
from giveortake.session.session import mechanism_of
from inside import engine_of
from replay import Revealing
from tiers import tiered

Row = tuple[int | None, str | None, int | None, float | None]  # a person, and what they hold
Kept = Counter[tuple[int, str | None, int | None, bool]]  # rows by content, of which only NULL and NaN are alike

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
    domains: Any = {"g": [text for text in TEXTS if text], "w": [number for number in NUMBERS if number is not None]}
    budget = gt.PureDP(1)
    with pytest.MonkeyPatch.context() as patch, gt.protect(source, unit="p", name="t", budget=budget, domains=domains) as s:
        patch.setattr(long_texts, "NARROW", narrow)
        columns = [
            KeyColumn("p", ColumnReference("p"), persons),
            KeyColumn("g", ColumnReference("g"), TEXTS),
            KeyColumn("w", ColumnReference("w"), NUMBERS),
            KeyColumn("x", Call("is_null", (ColumnReference("x"),)), (False, True)),
        ]
        keys = Keys(tuple(columns))
        scan: Any = replace(mechanism_of(s).table("t"), most_rows_of_person=most)
        (numbers,) = Revealing().release(engine_of(s).tally(Tally(scan, keys, (Summand("rows"),))))
        found: Any = {key: int(number) for key, number in zip(keys.rows(), numbers.tolist(), strict=True) if number}
        return Counter(found)


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"p": pl.Int64, "g": pl.String, "w": pl.Int64, "x": pl.Float64}, orient="row")


# -- the rule, once more --------------------------------------------------------------------------------------------

PRIME, SCRAMBLE, OF_PERSON, OF_PART = 2**31 - 1, 1_583_458_089, 14_348_907, 11_184_811


def remainder(number: int) -> int:
    return number % PRIME if number >= 0 else -(-number % PRIME)


def mark(value: str | float | None) -> int:
    match value:
        case None:
            number = -1
        case str():
            number = int(md5(value.encode()).hexdigest()[:15], 16)  # noqa: S324 (as engines do)
        case float():
            number = math.floor(value * 2**20)
        case int():
            number = value
    return remainder(remainder(number) * SCRAMBLE)


def hashed(first: int, *marks: int) -> int:
    for other in marks:
        first = remainder((first + OF_PERSON) * (other + OF_PART))
    return abs(first)


def content_of(row: Row) -> Row:
    person, text, number, real = row
    return person, text, number, None if real is None or math.isnan(real) else 0.0


def rank(content: Row, ordinal: int) -> tuple[Any, ...]:
    of_content = hashed(*map(mark, content))
    ranked = of_content if ordinal == 1 else hashed(of_content, mark(ordinal), mark(ordinal))
    return ranked, of_content, *((value is None, value) for value in content), ordinal


def kept_as_stated(rows: list[Row], most: int) -> Kept:
    kept: Kept = Counter()
    for person in {row[0] for row in rows} - {None}:
        contents = Counter(content_of(row) for row in rows if row[0] == person)
        ranked = sorted(rank(content, ordinal + 1) for content, n in contents.items() for ordinal in range(n))
        places = {rank(content, ordinal + 1): content for content, n in contents.items() for ordinal in range(n)}
        for line in ranked[:most]:
            _, text, number, real = places[line]
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
