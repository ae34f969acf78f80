"""Long texts: the same rows, keys and values count as of short ones, and one person's texts make no question fail."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import giveortake as gt
from giveortake.audit.cases import shapes_of
from giveortake.audit.neighbours import Table, random_row, random_rows, random_visits
from giveortake.compile.partition_selection import with_keys
from giveortake.configuration import protection_arguments
from giveortake.engines.duckdb import long_texts as choices
from giveortake.engines.duckdb import long_texts as wide_rows
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.duckdb.long_texts import WideRows
from giveortake.engines.runtime import failure
from giveortake.session import Session
from inside import engine_of, measured
from replay import MODES, SPEND, Mode, exact_integers, exact_units
from tiers import tiered

PREFIX = "a very long beginning " * 20
ALWAYS, NEVER = -1, 10**9


def long_texts() -> Table:
    """Persons with few and many rows, whose texts are short, or long and alike up to their ends."""
    luck = random.Random("wide")  # noqa: S311 (which rows are tried need not be secret)
    rows = [row for person in range(12) for row in random_rows(luck, person)]
    rows += [random_row(luck, 77) for _ in range(300)] + [random_row(luck, None) for _ in range(5)]
    for row in rows:
        row["q"] = luck.choice(["", PREFIX, PREFIX.upper()]) + row["q"] if row["q"] is not None else None
        row["r"] = luck.choice([row["r"], row["r"], PREFIX + str(luck.randrange(3))])
    return Table(tuple(rows), tuple(visit for person in range(12) for visit in random_visits(luck, person)))


WIDE = long_texts()


def exact(session: Session, text: str) -> Any:
    """The keys with their units and the integers of a question, before noise."""
    made = measured(session, text, SPEND)
    engine = engine_of(session)
    if made.selection is None:
        return [array.tolist() for array in exact_integers(made, engine)]
    units = exact_units(made, engine)
    return units, [array.tolist() for array in exact_integers(made, engine, with_keys(made, units))]


def either_way(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found by sorting texts, and by what stands for them."""
    found = []
    for narrow in (NEVER, ALWAYS):
        monkeypatch.setattr(wide_rows, "NARROW", narrow)
        found.append(ask())
    return found[0], found[1]


@pytest.mark.parametrize("mode", [MODES[1], MODES[2]], ids=lambda mode: mode.name)
def test_the_same_rows_keys_and_values_count(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> dict[str, Any]:
        shapes = shapes_of(by_person=True, few_rows=mode.few_rows)
        with mode.session(WIDE) as session:
            return {
                name: exact(session, shapes[name]) for name in sorted(shapes)[:: 9 if mode.few_rows else tiered(3, 1)]
            }

    one, other = either_way(monkeypatch, ask)
    assert one == other


def test_the_same_parts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    caps = {"groups_per_person": 2, "rows_per_group": 3}
    table = pl.DataFrame([{"p": row["p"], "r": row["r"], "q": row["q"]} for row in WIDE.rows])
    table = table.with_columns(pl.when(pl.col("r").is_in(["north", "south"])).then("r").otherwise(pl.lit(PREFIX) + "r"))

    def ask() -> list[Any]:
        with protect(table, domains={"r": ["north", "south"]}, **caps) as session:
            parts = session.partition("r", parts_per_person=2)
            return [exact(parts[each], "SELECT COUNT(*) AS n FROM t") for each in ("north", "south")]

    one, other = either_way(monkeypatch, ask)
    assert one == other
    assert all(found[0][0] > 0 for found in one)


# -- texts that share a hash ------------------------------------------------------------------------------------------

PRIME, SCRAMBLE, OF_PERSON, OF_PART = 2**31 - 1, 1_583_458_089, 14_348_907, 11_184_811  # of `hashes`
WITH_ANY = -OF_PART * pow(SCRAMBLE, -1, PRIME) % PRIME  # a whole number that makes every hash zero, in the last place
OF_NOBODY = (-OF_PERSON * pow(OF_PART, -1, PRIME) - OF_PERSON) * pow(SCRAMBLE, -1, PRIME) % PRIME  # such a person


@pytest.mark.parametrize("prefix", ["", PREFIX], ids=["short", "long"])
def test_of_equal_hashes_the_content_decides(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question, or a row, can give all of a person's parts one hash; then the first by their values count."""
    luck = random.Random("ties")  # noqa: S311 (which rows are tried need not be secret)
    texts = [f"{prefix}{number:04}" for number in range(40)] * 2
    luck.shuffle(texts)
    table = pl.DataFrame({"p": [OF_NOBODY] * 80 + [3, 4], "q": [*texts, *texts[:2]], "z": [WITH_ANY] * 82})

    def ask(**caps: int) -> list[Any]:
        with protect(table, domains={"z": (0, 2**31)}, **caps) as session:
            return [
                exact(session, "SELECT q, z, COUNT(*) AS n FROM t GROUP BY q, z"),
                exact(session, "SELECT COUNT(DISTINCT q) AS n FROM t"),
                exact(session, f"SELECT COUNT(DISTINCT q) AS n FROM t WHERE q < '{prefix}0007'"),
            ]

    for caps in ({"groups_per_person": 7, "rows_per_group": 7}, {"rows_per_person": 7}):
        one, other = either_way(monkeypatch, partial(ask, **caps))
        assert one == other
        first = [f"{prefix}{number:04}" for number in (range(7) if "rows_per_group" in caps else [0, 0, 1, 1, 2, 2, 3])]
        assert {key for (key, _), units in other[0][0].items() if units} >= set(first)


def test_no_more_texts_are_held_than_may_count() -> None:
    lines = [(number, f"{place:03}".encode(), f"{place:03}".encode()) for place in range(99) for number in (1, 2)]
    random.Random("lines").shuffle(lines)  # noqa: S311 (the order of lines need not be secret)
    held = choices.least(iter([*lines, *lines]), {1: 2, 2: 5})
    assert sorted(held) == [(1, b"000"), (1, b"001"), *((2, f"{place:03}".encode()) for place in range(5))]


def test_what_stands_for_a_text_is_that_of_no_other() -> None:
    """Nobody's text is taken for a longer one by being its hash."""
    long = PREFIX + "end"
    hashed = hashlib.sha256(long.encode()).hexdigest()
    texts = [*("a" * size for size in (1, 62, 63, 64, 65)), "é" * 31, "é" * 32, long, hashed, hashed[:63], None]
    listed = ", ".join("NULL" if text is None else f"'{text}'" for text in texts)
    select = f"SELECT {DuckDBDialect().brief('t')} FROM (SELECT unnest([{listed}]) AS t)"
    shown = [text for (text,) in duckdb.execute(select).fetchall()]
    assert len(set(shown)) == len(texts)
    assert shown[-1] is None
    assert all(len(text.encode()) <= 64 for text in shown if text is not None)


# -- one heavy person -------------------------------------------------------------------------------------------------

HEAVY = 10_000  # rows of one person, each with a text of its own
LITTLE = "40MB"
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM t",
    "SELECT q, COUNT(*) AS n FROM t GROUP BY q",
    "SELECT COUNT(DISTINCT q) AS n FROM t",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT p, q FROM t)",
    "SELECT AVG(CLAMP(n, 0, 9)) AS n FROM (SELECT p, COUNT(DISTINCT q) AS n FROM t GROUP BY p)",
]


def protect(source: Any, **more: Any) -> Session:
    options = {"unit": "p", "budget": gt.ApproxDP(10**8, "1e-5"), "name": "t", **more}
    return gt.protect(source, **protection_arguments(options))


def persons(heavy: int) -> pl.DataFrame:
    """Many persons with little text, and one with as much as 4,096 characters in each of their rows."""
    texts = [f"k{number % 50}" for number in range(2_000)]
    texts += [f"{number} {hashlib.sha256(str(number).encode()).hexdigest() * 64}"[:4096] for number in range(heavy)]
    return pl.DataFrame({"p": [*(number % 500 for number in range(2_000)), *[1000] * heavy], "q": texts})


def kinds(table: pl.DataFrame, **caps: int) -> list[str]:
    """What became of each question."""
    found = []
    with protect(table, memory=LITTLE, threads=1, failures=99, **caps) as session:
        for text in QUESTIONS:
            question = session.sql(text)
            delta: dict[str, Any] = {"key_delta": "1e-9"} if question.question.finds_keys else {}
            try:
                question.answer(epsilon=1, **delta)
                found.append("answered")
            except gt.errors.QueryFailed as failed:
                found.append(f"failed: {failed.cause}")
    return found


@pytest.mark.parametrize(
    "caps", [{"groups_per_person": 40, "rows_per_group": 5}, {"rows_per_person": 150}], ids=["caps", "few rows"]
)
def test_one_person_with_much_text_makes_no_question_fail(caps: dict[str, int]) -> None:
    assert kinds(persons(0), **caps) == kinds(persons(HEAVY), **caps) == ["answered"] * len(QUESTIONS)


@pytest.mark.parametrize("heavy", [0, HEAVY])
def test_under_a_time_limit_rows_are_chosen_before_any_question(heavy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows a person has stored is no part of what a question takes."""
    with protect(persons(heavy), rows_per_person=150, memory=LITTLE, threads=1, seconds=60) as session:
        monkeypatch.setattr(WideRows, "has_wide_rows", lambda *_: pytest.fail("rows are chosen in a question"))
        assert session.sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=10**6).to_dict()["n"] == [
            2_000 + min(heavy, 150)
        ]


def test_what_cannot_be_prepared_is_the_custodians_to_see(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> None:
        raise failure("memory")

    monkeypatch.setattr(DuckDBEngine, "_make_capped_rows", give_up)
    with pytest.raises(gt.errors.InvalidParameter, match="rows_per_person"):
        protect(persons(0), rows_per_person=3, seconds=60)


def test_tables_of_few_rows_do_not_pile_up() -> None:
    table = pl.DataFrame({"p": [1, 1, 2], "q": ["a", "b", "c"]})
    with protect(table, groups_per_person=2, rows_per_group=2) as session:
        question = session.sql("SELECT COUNT(*) AS n FROM t")
        for most in (*range(1, 20), 1):
            assert question.answer(epsilon=10**6, rows_per_person=most).to_dict()["n"] == [min(most, 2) + 1]
        made = engine_of(session)._rows("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'bounded%'")
        assert made[0][0] <= 9


def test_parquet_that_does_not_fit_into_memory_is_told_apart_from_damage(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = f"SELECT i AS p, i || repeat('x', 4090) AS q FROM range({4 * HEAVY}) AS numbers(i)"
    duckdb.sql(f"COPY ({texts}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 122880)")
    with pytest.raises(gt.errors.InvalidParameter, match="memory"):
        protect(path, groups_per_person=1, rows_per_group=1, memory=LITTLE)
