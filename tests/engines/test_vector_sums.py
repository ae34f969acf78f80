"""Sums of vectors: the integers of every engine, and that no unit is longer than was said."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from hashlib import md5
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.engines import Component, Engine, KeyColumn, Quantum, Sample, Summand, VectorSum
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.sql import statements
from giveortake.errors import QueryRefused
from giveortake.plan import Call, ColumnReference, Filter, Literal, Relation
from giveortake.session.session import mechanism_of
from inside import engine_of
from replay import Revealing
from tiers import is_long, tiered

STEPS = 64
BOUNDS = (40, 150, 3_000, 10_000_000)
SHAPES = ("gram", "gradient", "cells", "many cells", "cells and a total")
SPARK: dict[bool, tuple[str, ...]] = (  # by persons or by rows; two samples, below, add up to the cells of persons
    {True: SHAPES, False: SHAPES} if is_long() else {True: ("gram", "many cells"), False: ("gram", "cells")}
)
ROWS: dict[str, list[Any]] = {
    "person": [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5, 6],
    "x": [0.5, -1.0, 0.25, 1.0, 1.0, None, 0.1, 0.2, 0.3, 0.4, -0.75, 0.0],
    "y": [1.0, 1.0, -1.0, 0.5, -0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
    "city": ["a", "a", "b", "b", "b", "a", "a", "a", "b", None, "z", "b"],
    "sex": ["f", "f", "f", "m", "m", "f", "m", "m", "m", "m", "f", "f"],
}
DOMAINS = {"x": (-1, 1), "y": (-1, 1), "city": ["a", "b"], "sex": ["f", "m"]}


def value(name: str, steps: int = STEPS) -> Summand:
    return Summand("sum", ColumnReference(name), Quantum(Fraction(1, steps), Fraction(-1), Fraction(1)))


def keys(*names: str) -> tuple[KeyColumn, ...]:
    known: dict[str, tuple[str, ...]] = {"city": ("a", "b"), "sex": ("f", "m")}
    return tuple(KeyColumn(name, ColumnReference(name), known[name]) for name in names)


def gram(count: int) -> tuple[Component, ...]:
    pairs = [(one, other) for one in range(count) for other in range(one, count)]
    return tuple(Component(pair, weight=1 if pair[0] == pair[1] else 2) for pair in pairs)


def session(source: Any, *, person: bool) -> gt.Session:
    unit = "person" if person else gt.ROW
    return gt.protect(source, unit=unit, budget=gt.ZCDP(1), domains=DOMAINS, name="rows")


def shapes(relation: Relation, bound: int, steps: int = STEPS) -> dict[str, VectorSum]:
    numbers = (value("x", steps), value("y", steps))
    one_hot = (Component((), (0,)), Component((), (1,)), Component((1,), (0, 1), weight=2))
    return {
        "gram": VectorSum(relation, numbers, (), gram(2), bound),
        "gradient": VectorSum(relation, numbers, (), (Component((0,)), Component((0, 1)), Component()), bound),
        "cells": VectorSum(relation, numbers, keys("city", "sex"), one_hot, bound),
        "many cells": VectorSum(relation, numbers, keys("city", "sex"), one_hot * 3, bound),
        "cells and a total": VectorSum(relation, numbers, keys("city"), (Component(), Component((1,), (0,))), bound),
    }


def expected(asked: VectorSum, rows: dict[str, list[Any]]) -> list[int]:
    """The same, in Python, with whole numbers wherever it matters."""
    units: dict[Any, list[int]] = {}
    for index in range(len(rows["x"])):
        steps = [_steps(rows[each.expression.name][index], each) for each in asked.values]  # type: ignore[union-attr]
        name = index if asked.by_row else rows["person"][index]
        if asked.by_row and asked.is_gram and not asked.is_uncut:
            length = sum(each**2 for each in steps)
            if length > asked.bound:
                factor = math.sqrt(asked.bound / length) * (1 - 2**-48)
                steps = [math.trunc(each * factor) for each in steps]
        vector = units.setdefault(name, [0] * asked.size)
        for component, start in zip(asked.components, asked.offsets(), strict=True):
            code = 0
            for place_of_key in component.keys:
                column = asked.columns[place_of_key]
                found = rows[column.name][index]
                known = list(column.values or ())
                code = -1 if code < 0 or found not in known else code * len(known) + known.index(found)
            if code >= 0:
                vector[start + code] += math.prod(steps[each] for each in component.factors)
    total = [0] * asked.size
    weights = np.repeat([each.weight for each in asked.components], asked.sizes).tolist()
    for vector in units.values():
        length = sum(weight * cell**2 for weight, cell in zip(weights, vector, strict=True))
        kept = vector
        if length * (1 + 2**-40) > asked.bound**2:
            kept = [math.trunc(cell * (asked.bound * (1 - 2**-48) / math.sqrt(length))) for cell in vector]
        assert sum(weight * cell**2 for weight, cell in zip(weights, kept, strict=True)) <= asked.bound**2
        total = [one + other for one, other in zip(total, kept, strict=True)]
    return total


def _steps(cell: float | None, summand: Summand) -> int:
    quantum = summand.quantum
    assert quantum is not None
    return 0 if cell is None else math.floor(cell * float(1 / quantum.granularity) + 0.5) - quantum.shift


def answer(engine: Engine, asked: VectorSum) -> list[int]:
    return [int(each) for each in Revealing().release(engine.vectors(asked))]


@pytest.mark.parametrize("name", EVERYWHERE)
def test_every_engine_sums_the_same_vectors(name: str, request: pytest.FixtureRequest) -> None:
    put = place(name, request)
    source = put("vectors", pl.DataFrame(ROWS))
    for person in (True, False):
        s = session(source, person=person)
        for bound in BOUNDS if name != "spark" else (150,):  # Spark runs the same words: see the golden statements
            for shape, asked in shapes(mechanism_of(s).origin.relations["rows"], bound).items():
                if name == "spark" and shape not in SPARK[person]:
                    continue
                found = answer(engine_of(s), asked)
                assert found == expected(asked, ROWS), f"{shape}, {bound} steps, {person=}"
        if person:
            some = replace(shapes(mechanism_of(s).origin.relations["rows"], 150)["cells"], sample=Sample("salt", 2**59))
            others = replace(some, sample=Sample("salt", 2**59, others=True))
            hashes = [md5(f"salt{each}".encode(), usedforsecurity=False).hexdigest() for each in range(1, 7)]
            chosen = [place for place, each in enumerate(hashes, 1) if int(each[:15], 16) < 2**59]
            assert 0 < len(chosen) < 6
            kept = [place for place, each in enumerate(ROWS["person"]) if each in chosen]
            of_them = {name: [values[place] for place in kept] for name, values in ROWS.items()}
            assert answer(engine_of(s), some) == expected(some, of_them)
            total = np.array(answer(engine_of(s), some)) + answer(engine_of(s), others)
            assert total.tolist() == expected(some, ROWS)
        else:
            relation = mechanism_of(s).origin.relations["rows"]
            some = replace(shapes(relation, 150)["cells and a total"], sample=Sample("salt", 2**59))
            assert answer(engine_of(s), some) == expected(some, _sampled(some, ROWS))
        s.close()


def _sampled(asked: VectorSum, rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The rows that a sample has, where each is called by its steps, its keys, and its number among those alike."""
    seen: dict[str, int] = {}
    kept = []
    for index in range(len(rows["x"])):
        steps = [_steps(rows[each.expression.name][index], each) for each in asked.values]  # type: ignore[union-attr]
        codes = [str({"a": 0, "b": 1}.get(rows["city"][index], ""))]
        name = ",".join([*map(str, steps), *codes])
        seen[name] = seen.get(name, 0) + 1
        digest = md5(f"salt{name},{seen[name]}".encode(), usedforsecurity=False).hexdigest()
        if int(digest[:15], 16) < 2**59:
            kept.append(index)
    assert 0 < len(kept) < len(rows["x"])
    return {name: [values[index] for index in kept] for name, values in rows.items()}


@pytest.mark.parametrize("person", [True, False])
def test_too_many_rows_for_doubles_or_arrays_are_added_up_in_integers_and_a_person_with_so_many_adds_nothing(
    person: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [place for place, each in enumerate(ROWS["person"]) if not person or ROWS["person"].count(each) <= 3]
    of_few = {name: [values[place] for place in few] for name, values in ROWS.items()}
    assert len(few) == (8 if person else 12)
    with session(pl.DataFrame(ROWS), person=person) as s:
        for bound in BOUNDS:
            for asked in list(shapes(mechanism_of(s).origin.relations["rows"], bound).values())[:2]:
                assert statements.fits_doubles(asked)
                with monkeypatch.context() as patch:
                    patch.setattr(statements, "_EXACT", 3)
                    patch.setattr(fast_paths, "MOST_ROWS", 3)
                    assert answer(engine_of(s), asked) == expected(asked, of_few)
                    patch.setattr("giveortake.engines.duckdb.engine.fits_doubles", lambda _: False)
                    other = replace(asked, bound=asked.bound + 1)
                    assert answer(engine_of(s), other) == expected(other, ROWS)
        for asked in list(shapes(mechanism_of(s).origin.relations["rows"], BOUNDS[-1]).values())[2:]:
            assert fast_paths.suits_counted_cells(asked) is not person
            monkeypatch.setattr(fast_paths, "MOST_ROWS", 3)
            assert answer(engine_of(s), asked) == expected(asked, ROWS)


@pytest.mark.parametrize("person", [True, False])
@pytest.mark.parametrize("bound", tiered([7, 90, 2**30], [1, 7, 90, 2**20, 2**29, 2**30]))
def test_the_sum_is_the_sum_of_units_and_no_unit_is_too_long(bound: int, person: bool) -> None:
    """What a unit adds is what it gives alone: nobody else decides it."""
    random = np.random.default_rng(bound % 1000)
    count = 40 if person else 12
    frame = pl.DataFrame(
        {
            "person": random.integers(0, 7, count),
            "x": random.uniform(-1, 1, count),
            "y": random.choice([-1.0, 0.0, 1.0, 1e-9], count),
            "city": random.choice(["a", "b", "z"], count),
            "sex": random.choice(["f", "m"], count),
            "row": range(count),
        }
    )
    steps = 2**14 if bound > 2**20 else STEPS
    with session(frame, person=person) as s:
        relation, name = mechanism_of(s).origin.relations["rows"], "person" if person else "row"
        units = [
            Filter(relation, Call("eq", (ColumnReference(name), Literal(each))))
            for each in sorted(set(frame[name].to_list()))
        ]
        for shape, asked in shapes(relation, bound, steps).items():
            weights = np.repeat(np.array([each.weight for each in asked.components], dtype=object), asked.sizes)
            alone = [answer(engine_of(s), shapes(unit, bound, steps)[shape]) for unit in units]
            assert all((weights * np.array(each, dtype=object) ** 2).sum() <= bound**2 for each in alone)
            assert any(any(each) for each in alone) or bound < 90
            assert answer(engine_of(s), asked) == [sum(cells) for cells in zip(*alone, strict=True)]


def test_what_cannot_be_summed_is_refused_by_what_it_says() -> None:
    with session(pl.DataFrame(ROWS), person=True) as s:
        relation = mechanism_of(s).origin.relations["rows"]
        with pytest.raises(QueryRefused, match="steps"):
            VectorSum(relation, (value("x"),), (), (Component((0,)),), 2**30 + 1)
        with pytest.raises(QueryRefused, match="steps"):
            VectorSum(relation, (value("x", 2**20),), (), (Component((0, 0)),), 2**30)
        wide = KeyColumn("city", ColumnReference("city"), tuple(str(n) for n in range(2**20 + 1)))
        with pytest.raises(QueryRefused, match="cells"):
            VectorSum(relation, (), (wide,), (Component((), (0,)),), 1)
