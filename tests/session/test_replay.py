"""Record and replay: no unit moves any aggregate by more than was declared, on any table; and mutants are caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from giveortake.compile import design
from giveortake.compile.measures import MissingCount, PrefixSums, RowCount, Sides
from giveortake.compile.sensitivity import Stability
from giveortake.engines import Quantum, Summand, Tally
from giveortake.engines.duckdb import engine as own_statements
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import Bounding
from giveortake.engines.sql import statements
from giveortake.engines.sql.dialect import Dialect
from giveortake.engines.sql.printer import Printer
from giveortake.engines.sql.statements import Coded
from giveortake.exact import sqrt_down, sqrt_up
from giveortake.mechanisms.prefix_sums import SquareRoot
from giveortake.plan import JoinPersons, JoinPublic, Kind, Scan, Union
from query_shapes import OF_PERSONS, OF_PERSONS_WITH_FEW_ROWS, PLAIN, RELATIONS, shapes_of
from replay import ASKED, MODES, Mode, replay
from tiers import tiered

TOGETHER = {
    "number, sum and mean": "SELECT COUNT(*) AS n, SUM(y) AS s, AVG(y) AS m FROM data",
    "numbers and means by declared": "SELECT r, COUNT(*) AS n, AVG(x) AS m, AVG(i) AS k FROM data GROUP BY r",
    "rows and deviation by discovered": "SELECT q, COUNT(*) AS n, STDDEV(c) AS d FROM data GROUP BY q",
}
ROW, CAPPED, FEW, ROW_CHANGED, CAPPED_CHANGED, FEW_CHANGED = MODES


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.name}, {mode.change}")
def test_no_neighbour_moves_an_aggregate_by_more_than_was_declared(mode: Mode) -> None:
    shapes = shapes_of(by_person=mode.by_person, few_rows=mode.few_rows) | TOGETHER
    assert len(shapes) >= 40
    seen = replay(mode, shapes, tables=tiered(1, 3), neighbours=tiered(2, 4), seed=2)
    assert seen.violations == []
    assert {name.partition("/")[0].removesuffix(", by weights") for name in seen.nearest} >= {*shapes}
    assert max(seen.nearest.values()) == 1  # and some reach it


@pytest.mark.parametrize("mode", ASKED, ids=lambda mode: mode.change)
def test_no_neighbour_moves_more_whatever_caps_a_question_states(mode: Mode) -> None:
    shapes = shapes_of(by_person=True, few_rows=True)
    seen = replay(mode, shapes, tables=tiered(1, 3), neighbours=tiered(2, 4), seed=1)
    assert seen.violations == []
    assert len({name.partition("/")[0] for name in seen.nearest}) == len(shapes)
    assert max(seen.nearest.values()) == 1


# -- mutants: what the replay would say if a line of the package were wrong -----------------------------------------

Mutation = Callable[[pytest.MonkeyPatch], None]
MANY = 10**6


def _bounding(change: Callable[[Bounding], Bounding]) -> Mutation:
    """The engine is asked to bound less than was declared."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        for name in ("tally_statement", "bins_statement", "distinct_statement"):
            patch.setattr(statements, name, _less_bounded(getattr(statements, name), change))

    return mutate


def _less_bounded(statement: Any, change: Callable[[Bounding], Bounding]) -> Any:
    from dataclasses import replace  # noqa: PLC0415

    return lambda printer, asked, coded: statement(
        printer, asked if asked.bounding is None else replace(asked, bounding=change(asked.bounding)), coded
    )


def _no_clamp(patch: pytest.MonkeyPatch) -> None:
    def steps(_dialect: Dialect, column: str, _kind: Kind, quantum: Any) -> str:
        real = f"least(greatest(CAST({column} AS DOUBLE), -1e9), 1e9)"
        return f"CAST(floor({real} * {float(1 / quantum.granularity)!r} + 0.5) AS HUGEINT)"

    patch.setattr(fast_paths, "steps_before_shift", steps)


def _shift_forgotten(patch: pytest.MonkeyPatch) -> None:
    sound = DuckDBEngine._tally_statement

    def forgotten(self: DuckDBEngine, tally: Tally, coded: Coded) -> str:
        summands = [each if each.quantum is None else _unshifted(each, each.quantum) for each in tally.summands]
        return sound(self, replace(tally, summands=tuple(summands)), coded)

    patch.setattr(DuckDBEngine, "_tally_statement", forgotten)


def _unshifted(summand: Summand, quantum: Quantum) -> Summand:
    return replace(summand, quantum=replace(quantum, shift=0))


def _sensitivity(change: Callable[[Fraction, Fraction], tuple[Fraction, Fraction]]) -> Mutation:
    def mutate(patch: pytest.MonkeyPatch) -> None:
        sound = Stability.sensitivity

        def lowered(self: Stability, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
            return change(*sound(self, least, most, binned=binned))

        patch.setattr(Stability, "sensitivity", lowered)

    return mutate


def _spread_without_zero(patch: pytest.MonkeyPatch) -> None:
    """What was shipped at first: a column without missing values never contributes zero."""
    sound = Stability.sensitivity

    def lowered(self: Stability, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
        l1, l2 = sound(self, least, most, binned=binned)
        return (Fraction(most - least), Fraction(most - least)) if not self.grouped and least > 0 else (l1, l2)

    patch.setattr(Stability, "sensitivity", lowered)


def _rows_of_keys(patch: pytest.MonkeyPatch) -> None:
    """Rows are counted where persons should be."""

    def statement(printer: Printer, persons: Any, coded: Any, _weights: Any = None) -> str:
        inner = statements.select_rows(printer, persons.relation, persons.keys, [], None)
        return f"SELECT {coded.code()} AS code, count(*) FROM ({inner}) AS r{coded.joins(printer, 'r')} GROUP BY ALL"

    patch.setattr(own_statements, "persons_statement", statement)


def _all_keys(patch: pytest.MonkeyPatch) -> None:
    sound = own_statements.persons_statement
    patch.setattr(
        own_statements,
        "persons_statement",
        lambda printer, persons, coded, weights=None: sound(printer, replace(persons, groups=1000), coded, weights),
    )


def _equal_weights(patch: pytest.MonkeyPatch) -> None:
    """However many keys a person has, each weighs as much as the only one of another."""
    sound = DuckDBEngine._weights
    patch.setattr(DuckDBEngine, "_weights", lambda self, weights: sound(self, weights and weights[:1] * len(weights)))


def _nobody_counts(patch: pytest.MonkeyPatch) -> None:
    """Rows without a person are kept."""

    def scan(self: Printer, node: Scan, _wanted: list[str]) -> str:
        columns = ", ".join(f'{self.read(name, domain)} AS "{name}"' for name, domain in node.table.columns)
        return f"SELECT {columns} FROM {self._sources[node.table.name]}"

    patch.setattr(Printer, "_scan", scan)


def _too_many_rows(patch: pytest.MonkeyPatch) -> None:
    """The table with few rows of each person has all of them."""

    def prepare(self: DuckDBEngine, relation: Any) -> None:
        from giveortake.engines.sql.printer import bounded_name  # noqa: PLC0415

        for scan in relation.scans():
            self._sources[bounded_name(scan)] = self._sources[scan.table.name]

    patch.setattr(DuckDBEngine, "_prepare", prepare)


def _any_join(patch: pytest.MonkeyPatch) -> None:
    """A public table may be joined on a column whose values occur many times."""
    patch.setattr(JoinPublic, "__post_init__", lambda self: None)


def _sum_of_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Union, "most_rows", property(lambda self: self.left.most_rows))


def _product_of_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(JoinPersons, "most_rows", property(lambda self: self.left.most_rows))


def _all_rows_kept(patch: pytest.MonkeyPatch) -> None:
    """The engine keeps more rows of a person than a question's caps say."""
    sound = Printer.capped_rows
    patch.setattr(Printer, "capped_rows", lambda self, scan: sound(self, replace(scan, most_rows_of_person=MANY)))


def _root_of_rows(patch: pytest.MonkeyPatch) -> None:
    """Where rows are capped in all and in a group, each is taken for a group of its own."""
    sound = Stability._counted

    def lowered(self: Stability) -> tuple[Fraction, Fraction]:
        l1, l2 = sound(self)
        return (l1, l2) if self.rows is None else (l1, min(l2, sqrt_up(l1)))

    patch.setattr(Stability, "_counted", lowered)


def _lowered_and_not_kept(patch: pytest.MonkeyPatch) -> None:
    """Caps below the rows that count in a table lower the noise, and the engine is not told."""
    sound: Any = Stability.bounding
    patch.setattr(Stability, "bounding", property(lambda self: sound.fget(self) if self.rows is None else None))


def _distinct_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Stability, "of_distinct", lambda self: (Fraction(1), Fraction(1)))


def _persons_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Stability, "of_persons", lambda self, fineness: (Fraction(fineness), Fraction(fineness)))


def _corner_alone(patch: pytest.MonkeyPatch) -> None:
    """A matrix is taken for its entries on the diagonal."""
    patch.setattr(SquareRoot, "l2", property(lambda self: Fraction(self.fineness)))


def _right_angles(patch: pytest.MonkeyPatch) -> None:
    """Columns of a matrix are taken to be at right angles, so that five rows move it by √5 columns."""
    sound = PrefixSums.within
    lowered = lambda *terms, **more: replace(found := sound(*terms, **more), l2=found.l2 / sqrt_down(Fraction(5)))  # noqa: E731
    patch.setattr(PrefixSums, "within", lowered)


def _rows_beside_sums(patch: pytest.MonkeyPatch) -> None:
    """Numbers of rows are released as if they were a side of the sum before them."""
    patch.setattr(RowCount, "joined", True)
    patch.setattr(design, "_bases", lambda plain: [])


def _far_side(patch: pytest.MonkeyPatch) -> None:
    """The upper side counts from beyond the upper bound."""
    sound = Sides.within

    def within(*arguments: Any, **options: Any) -> Sides:
        sides = sound(*arguments, **options)
        quantum = sides.high.quantum
        return replace(sides, high=replace(sides.high, quantum=replace(quantum, shift=quantum.shift + quantum.reach)))

    patch.setattr(Sides, "within", within)


def _missing_everywhere(patch: pytest.MonkeyPatch) -> None:
    """Every row counts as one without a value."""

    def ask(self: MissingCount, inquiry: Any, index: int) -> None:
        inquiry.add_summand(index, Summand("rows", fineness=self.fineness))

    patch.setattr(MissingCount, "ask", ask)


MULTIPLYING = {"multiplied": "SELECT COUNT(*) AS a FROM data JOIN zones ON 'down' = part"}
_SUSPECTS: dict[str, str] = {
    "rows": "SELECT r, COUNT(*) AS a, SUM(x) AS s FROM data GROUP BY r",
    "all": "SELECT COUNT(*) AS a, SUM(x) AS s FROM data",
}
MUTANTS: dict[str, tuple[Mode, Mutation, dict[str, str]]] = {
    "caps on rows are ignored": (CAPPED, _bounding(lambda b: Bounding(b.groups, MANY)), {}),
    "caps on groups are ignored": (CAPPED, _bounding(lambda b: Bounding(MANY, b.rows)), {}),
    "numbers are not clamped": (ROW, _no_clamp, {}),
    "the middle is not taken off": (ROW, _shift_forgotten, {"mean": "SELECT AVG(y) AS a FROM data"}),
    "sensitivities are one step too low": (
        ROW,
        _sensitivity(lambda l1, l2: (l1 - 1, l2)),
        {"sum": PLAIN["sum, ungrouped"]},
    ),
    "L2 forgets the groups": (CAPPED, _sensitivity(lambda l1, l2: (l1, l2 * Fraction(7, 10))), {}),
    "a changed person counts once": (CAPPED_CHANGED, _sensitivity(lambda l1, l2: (l1 / 2, l2 / 2)), {}),
    "a changed row never counts zero": (
        ROW_CHANGED,
        _spread_without_zero,
        {"s": PLAIN["sum away from zero, ungrouped"]},
    ),
    "rows are thresholded instead of persons": (CAPPED, _rows_of_keys, {"keys": PLAIN["several by discovered"]}),
    "a person has any number of keys": (CAPPED, _all_keys, {"keys": PLAIN["several by discovered"]}),
    "keys of a person weigh alike": (CAPPED, _equal_weights, {"keys": PLAIN["several by discovered"]}),
    "rows of nobody count": (CAPPED, _nobody_counts, {}),
    "rows of a person are not limited": (FEW, _too_many_rows, {}),
    "a public join multiplies rows": (ROW, _any_join, MULTIPLYING),
    "a union counts one side": (FEW, _sum_of_rows, {"union": RELATIONS["union"]}),
    "a join of persons counts one side": (FEW, _product_of_rows, {"join": OF_PERSONS_WITH_FEW_ROWS["join persons"]}),
    "rows that a question caps are kept": (ASKED[0], _all_rows_kept, {}),
    "rows of two caps are groups of their own": (ASKED[0], _root_of_rows, {}),
    "one cap below another is not kept": (ASKED[0], _lowered_and_not_kept, {}),
    "distinct values count once": (CAPPED, _distinct_once, {"distinct": PLAIN["distinct, ungrouped"]}),
    "a matrix is as long as its diagonal": (ROW, _corner_alone, {"median": PLAIN["median, ungrouped"]}),
    "columns of a matrix are at right angles": (
        FEW,
        _right_angles,
        {"median": PLAIN["quantile of integers, ungrouped"]},
    ),
    "rows are released beside sums": (ROW, _rows_beside_sums, {"both": "SELECT SUM(x) AS s, COUNT(*) AS a FROM data"}),
    "a side counts from beyond the bounds": (ROW, _far_side, {"mean": PLAIN["mean, ungrouped"]}),
    "values count as missing": (CAPPED, _missing_everywhere, {"mean": "SELECT COUNT(*) AS a, AVG(x) AS m FROM data"}),
    "persons count in one group": (CAPPED, _persons_once, {"persons": OF_PERSONS["persons by declared"]}),
}


SEEDS = {  # where a mutant is seen soonest, if not at once
    "caps on groups are ignored": 6,
    "a changed person counts once": 4,
    "rows are thresholded instead of persons": 1,
    "keys of a person weigh alike": 37,
    "a join of persons counts one side": 1,
    "rows of two caps are groups of their own": 6,
    "one cap below another is not kept": 1,
    "a matrix is as long as its diagonal": 4,
    "a side counts from beyond the bounds": 1,
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_replay_catches_mutants(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mode, mutate, shapes = MUTANTS[name]
    mutate(monkeypatch)
    shapes, first = shapes or _SUSPECTS, SEEDS.get(name, 0)
    seeds = range(first, first + 12)
    assert any(replay(mode, shapes, tables=1, neighbours=3, seed=seed).violations for seed in seeds)
