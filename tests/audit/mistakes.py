"""Mistakes, planted where every kind of request passes, or where one does; the harness must find each of them.

`ANYWHERE` are tried on every kind, `SOMEWHERE` on the requests that they name, under a declaration that shows them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import pytest

from giveortake.audit.cases import OTHERS, queries, query
from giveortake.audit.conformance import DECLARATIONS, Case, Declaration, conform
from giveortake.audit.neighbours import Table
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
from giveortake.engines.sql.printer import Printer, bounded_name
from giveortake.engines.sql.statements import Coded
from giveortake.errors import QueryRefused
from giveortake.exact import sqrt_down, sqrt_up
from giveortake.ledger import Ledger
from giveortake.mechanisms.prefix_sums import SquareRoot, running_count_sensitivity
from giveortake.plan import JoinPersons, JoinPublic, Kind, Scan, Union
from giveortake.privacy import events
from giveortake.session.kinds import counters
from giveortake.session.kinds.runs import AdaptiveRun
from giveortake.session.mechanism import InteractiveMechanism
from giveortake.session.requests import Priced
from giveortake.session.session import mechanism_of
from giveortake.session.steps import Steps

Patch: TypeAlias = pytest.MonkeyPatch
Mistake: TypeAlias = Callable[[Patch], None]
MANY = 10**6


def is_found(cases: list[Case], declaration: str, first: int = 0, seeds: int = 12, spend: str | None = None) -> bool:
    """Whether some comparison is a violation, on the first tables where one is."""
    chosen = {declaration: DECLARATIONS[declaration]}
    bought = [case if spend is None else replace(case, spends=(spend,)) for case in cases]
    return any(conform(bought, chosen, neighbours=3, seed=seed).violations for seed in range(first, first + seeds))


# -- anywhere ---------------------------------------------------------------------------------------------------------


def _rows(patch: Patch) -> Callable[[InteractiveMechanism], int]:
    """How many rows there are behind a session: what none of the planted texts should tell."""
    rows: dict[int, int] = {}
    sound = Declaration.session

    def session(self: Declaration, table: Table, *more: Any, **options: Any) -> Any:
        made = sound(self, table, *more, **options)
        rows[id(mechanism_of(made).ledger)] = len(table.rows)
        return made

    patch.setattr(Declaration, "session", session)
    return lambda mechanism: rows[id(mechanism.ledger)]


def cheaper(event: events.Event) -> events.Event:
    """An event of much less than the noise's price."""
    match event:
        case events.Laplace() | events.Gaussian():
            return type(event)(8 * event.noise_multiplier)
        case events.ZCDP():
            return events.ZCDP(event.rho / 64)
        case events.Composed():
            return events.Composed([cheaper(inner) for inner in event.events])
        case events.Repeated():
            return events.Repeated(cheaper(event.event), event.times)
        case events.Subsampled():
            return events.Subsampled(cheaper(event.event), event.rate)
        case events.GaussianKeys():
            return events.GaussianKeys(8 * event.noise_multiplier, event.delta)
        case events.InPart():
            return events.InPart(cheaper(event.event), cheaper(event.added), event.partition, event.part, event.touched)
    return event


def _charge_below_the_noise(patch: Patch) -> None:
    sound = Priced.charge

    def charge(self: Any, terms: Any = None) -> Any:
        made = sound(self, terms)
        return replace(made, event=cheaper(made.event))

    patch.setattr(Priced, "charge", charge)


def _charge_by_rows(patch: Patch) -> None:
    sound, rows = Priced.charge, _rows(patch)

    def charge(self: Any, terms: Any = None) -> Any:
        made = sound(self, terms)
        return replace(made, event=cheaper(made.event)) if rows(self.bound.mechanism) % 2 else made

    patch.setattr(Priced, "charge", charge)


def _words_about_rows(patch: Patch) -> None:
    sound, rows = Priced.charge, _rows(patch)

    def charge(self: Any, terms: Any = None) -> Any:
        return replace(made := sound(self, terms), description=f"{made.description} of {rows(self.bound.mechanism)}")

    patch.setattr(Priced, "charge", charge)


def _refusal_about_rows(patch: Patch) -> None:
    rows = _rows(patch)

    def reserve(self: InteractiveMechanism, *_: Any) -> None:
        raise QueryRefused(f"{rows(self)} rows are too few")

    patch.setattr(InteractiveMechanism, "reserve", reserve)


def _in_draws(change: Callable[[Callable[[], Any], int], Any]) -> Mistake:
    """Whatever draws does so by `change`, which knows how many rows there are."""

    def mistake(patch: Patch) -> None:
        rows, draw, settle = _rows(patch), Steps.draw, Steps.settle

        def drawn(self: Any, event: Any, fields: Any, sound: Callable[[], Any]) -> Any:
            return draw(self, event, fields, lambda: change(sound, rows(self._mechanism)))

        def settled(self: Any, sound: Callable[[], Any]) -> Any:
            return settle(self, lambda: change(sound, rows(self._mechanism)))

        patch.setattr(Steps, "draw", drawn)
        patch.setattr(Steps, "settle", settled)

    return mistake


def _twice(draw: Callable[[], Any], _: int) -> Any:
    draw()
    return draw()


def _twice_for_some_rows(draw: Callable[[], Any], rows: int) -> Any:
    return _twice(draw, rows) if rows % 2 else draw()


def _fails_for_some_rows(draw: Callable[[], Any], rows: int) -> Any:
    if rows % 2:
        raise MemoryError
    return draw()


def _entry_with_rows(patch: Patch) -> None:
    """What is stored has a further field, which rows decide."""
    rows: list[int] = []
    number = _rows(patch)
    reserve, keep, settle = InteractiveMechanism.reserve, Ledger.keep, Ledger.settle

    def reserved(self: InteractiveMechanism, *arguments: Any) -> Any:
        rows[:] = [number(self)]
        return reserve(self, *arguments)

    patch.setattr(InteractiveMechanism, "reserve", reserved)
    patch.setattr(Ledger, "keep", lambda self, r, index, step: keep(self, r, index, {**step, "rows": rows[0]}))
    patch.setattr(Ledger, "settle", lambda self, r, answer: settle(self, r, {**answer, "rows": rows[0]}))


ANYWHERE: dict[str, Mistake] = {
    "the charge is below the noise": _charge_below_the_noise,
    "the charge depends on rows": _charge_by_rows,
    "the ledger's words tell of rows": _words_about_rows,
    "a refusal tells of rows": _refusal_about_rows,
    "every draw is made twice": _in_draws(_twice),
    "rows decide how often it is drawn": _in_draws(_twice_for_some_rows),
    "rows decide whether a draw fails": _in_draws(_fails_for_some_rows),
    "what is stored tells of rows": _entry_with_rows,
}
BY_KIND: dict[str, list[Case]] = {
    "query": [case for case in queries() if case.name in {"sum by declared", "several by declared", "a part"}],
    **{
        kind: list(cases)
        for kind, cases in itertools.groupby(
            sorted((case for case in OTHERS if case.kind != "query"), key=lambda case: case.kind),
            key=lambda case: case.kind,
        )
    },
}
SHOWN_BY = {"profile": ("few rows", "ε")}  # where a kind is answered, if not for rows under (ε, δ)
IN_THE_GATE = (  # a mistake for every kind, and every mistake for some
    *zip(ANYWHERE, sorted(BY_KIND), strict=False),
    ("the charge is below the noise", "query"),
    ("every draw is made twice", "workload"),
)


# -- somewhere --------------------------------------------------------------------------------------------------------


def _bounding(change: Callable[[Bounding], Bounding]) -> Mistake:
    """The engine is asked to bound less than was declared."""

    def mistake(patch: Patch) -> None:
        for name in ("tally_statement", "bins_statement", "distinct_statement"):
            patch.setattr(statements, name, _less_bounded(getattr(statements, name), change))

    return mistake


def _less_bounded(statement: Any, change: Callable[[Bounding], Bounding]) -> Any:
    return lambda printer, asked, coded: statement(
        printer, asked if asked.bounding is None else replace(asked, bounding=change(asked.bounding)), coded
    )


def _no_clamp(patch: Patch) -> None:
    def steps(_dialect: Dialect, column: str, _kind: Kind, quantum: Any) -> str:
        real = f"least(greatest(CAST({column} AS DOUBLE), -1e9), 1e9)"
        return f"CAST(floor({real} * {float(1 / quantum.granularity)!r} + 0.5) AS HUGEINT)"

    patch.setattr(fast_paths, "steps_before_shift", steps)


def _shift_forgotten(patch: Patch) -> None:
    sound = DuckDBEngine._tally_statement

    def forgotten(self: DuckDBEngine, tally: Tally, coded: Coded) -> str:
        summands = [each if each.quantum is None else _unshifted(each, each.quantum) for each in tally.summands]
        return sound(self, replace(tally, summands=tuple(summands)), coded)

    patch.setattr(DuckDBEngine, "_tally_statement", forgotten)


def _unshifted(summand: Summand, quantum: Quantum) -> Summand:
    return replace(summand, quantum=replace(quantum, shift=0))


def _sensitivity(change: Callable[[Fraction, Fraction], tuple[Fraction, Fraction]]) -> Mistake:
    def mistake(patch: Patch) -> None:
        sound = Stability.sensitivity

        def lowered(self: Stability, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
            return change(*sound(self, least, most, binned=binned))

        patch.setattr(Stability, "sensitivity", lowered)

    return mistake


def _spread_without_zero(patch: Patch) -> None:
    """What was shipped at first: a column without missing values never contributes zero."""
    sound = Stability.sensitivity

    def lowered(self: Stability, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
        l1, l2 = sound(self, least, most, binned=binned)
        return (Fraction(most - least), Fraction(most - least)) if not self.grouped and least > 0 else (l1, l2)

    patch.setattr(Stability, "sensitivity", lowered)


def _rows_of_keys(patch: Patch) -> None:
    """Rows are counted where persons should be."""

    def statement(printer: Printer, persons: Any, coded: Any, _weights: Any = None) -> str:
        inner = statements.select_rows(printer, persons.relation, persons.keys, [], None)
        return f"SELECT {coded.code()} AS code, count(*) FROM ({inner}) AS r{coded.joins(printer, 'r')} GROUP BY ALL"

    patch.setattr(own_statements, "persons_statement", statement)


def _all_keys(patch: Patch) -> None:
    sound = own_statements.persons_statement
    patch.setattr(
        own_statements,
        "persons_statement",
        lambda printer, persons, coded, weights=None: sound(printer, replace(persons, groups=1000), coded, weights),
    )


def _equal_weights(patch: Patch) -> None:
    """However many keys a person has, each weighs as much as the only one of another."""
    sound = DuckDBEngine._weights
    patch.setattr(DuckDBEngine, "_weights", lambda self, weights: sound(self, weights and weights[:1] * len(weights)))


def _nobody_counts(patch: Patch) -> None:
    """Rows without a person are kept."""

    def scan(self: Printer, node: Scan, _wanted: list[str]) -> str:
        columns = ", ".join(f'{self.read(name, domain)} AS "{name}"' for name, domain in node.table.columns)
        return f"SELECT {columns} FROM {self._sources[node.table.name]}"

    patch.setattr(Printer, "_scan", scan)


def _too_many_rows(patch: Patch) -> None:
    """The table with few rows of each person has all of them."""

    def prepare(self: DuckDBEngine, relation: Any) -> None:
        for scan in relation.scans():
            self._sources[bounded_name(scan)] = self._sources[scan.table.name]

    patch.setattr(DuckDBEngine, "_prepare", prepare)


def _any_join(patch: Patch) -> None:
    """A public table may be joined on a column whose values occur many times."""
    patch.setattr(JoinPublic, "__post_init__", lambda self: None)


def _sum_of_rows(patch: Patch) -> None:
    patch.setattr(Union, "most_rows", property(lambda self: self.left.most_rows))


def _product_of_rows(patch: Patch) -> None:
    patch.setattr(JoinPersons, "most_rows", property(lambda self: self.left.most_rows))


def _all_rows_kept(patch: Patch) -> None:
    """The engine keeps more rows of a person than a question's caps say."""
    sound = Printer.capped_rows
    patch.setattr(Printer, "capped_rows", lambda self, scan: sound(self, replace(scan, most_rows_of_person=MANY)))


def _root_of_rows(patch: Patch) -> None:
    """Where rows are capped in all and in a group, each is taken for a group of its own."""
    sound = Stability._counted

    def lowered(self: Stability) -> tuple[Fraction, Fraction]:
        l1, l2 = sound(self)
        return (l1, l2) if self.rows is None else (l1, min(l2, sqrt_up(l1)))

    patch.setattr(Stability, "_counted", lowered)


def _lowered_and_not_kept(patch: Patch) -> None:
    """Caps below the rows that count in a table lower the noise, and the engine is not told."""
    sound: Any = Stability.bounding
    patch.setattr(Stability, "bounding", property(lambda self: sound.fget(self) if self.rows is None else None))


def _distinct_once(patch: Patch) -> None:
    patch.setattr(Stability, "of_distinct", lambda self: (Fraction(1), Fraction(1)))


def _persons_once(patch: Patch) -> None:
    patch.setattr(Stability, "of_persons", lambda self, fineness: (Fraction(fineness), Fraction(fineness)))


def _corner_alone(patch: Patch) -> None:
    """A matrix is taken for its entries on the diagonal."""
    patch.setattr(SquareRoot, "l2", property(lambda self: Fraction(self.fineness)))


def _right_angles(patch: Patch) -> None:
    """Columns of a matrix are taken to be at right angles, so that five rows move it by √5 columns."""
    sound = PrefixSums.within
    lowered = lambda *terms, **more: replace(found := sound(*terms, **more), l2=found.l2 / sqrt_down(Fraction(5)))  # noqa: E731
    patch.setattr(PrefixSums, "within", lowered)


def _rows_beside_sums(patch: Patch) -> None:
    """Numbers of rows are released as if they were a side of the sum before them."""
    patch.setattr(RowCount, "joined", True)
    patch.setattr(design, "_bases", lambda plain: [])


def _far_side(patch: Patch) -> None:
    """The upper side counts from beyond the upper bound."""
    sound = Sides.within

    def within(*arguments: Any, **options: Any) -> Sides:
        sides = sound(*arguments, **options)
        quantum = sides.high.quantum
        return replace(sides, high=replace(sides.high, quantum=replace(quantum, shift=quantum.shift + quantum.reach)))

    patch.setattr(Sides, "within", within)


def _missing_everywhere(patch: Patch) -> None:
    """Every row counts as one without a value."""

    def ask(self: MissingCount, inquiry: Any, index: int) -> None:
        inquiry.add_summand(index, Summand("rows", fineness=self.fineness))

    patch.setattr(MissingCount, "ask", ask)


def _a_person_is_a_row(patch: Patch) -> None:
    patch.setattr(AdaptiveRun, "rows_of_unit", property(lambda _: 1))


def _periods_of_one_row(patch: Patch) -> None:
    sound: Any = running_count_sensitivity
    patch.setattr(
        counters, "running_count_sensitivity", lambda horizon, rows, neighbours: sound(horizon, 1, neighbours)
    )


def _text(text: str) -> list[Case]:
    return [Case(text, "query", query(text))]


def _shapes(*names: str) -> list[Case]:
    cases = [case for case in (*queries(), *OTHERS) if case.name in names]
    assert len(cases) == len(names), names
    return cases


_SUSPECTS = _shapes("several by declared", "number, sum and mean")
_BY_KEY = _shapes("several by discovered")
ROW, CAPPED, FEW, STATED = "rows", "persons", "few rows", "caps of each request"
SOMEWHERE: dict[str, tuple[str, Mistake, list[Case]]] = {
    "caps on rows are ignored": (CAPPED, _bounding(lambda b: Bounding(b.groups, MANY)), _SUSPECTS),
    "caps on groups are ignored": (CAPPED, _bounding(lambda b: Bounding(MANY, b.rows)), _SUSPECTS),
    "numbers are not clamped": (ROW, _no_clamp, _SUSPECTS),
    "the middle is not taken off": (ROW, _shift_forgotten, _text("SELECT AVG(y) AS a FROM data")),
    "sensitivities are one step too low": (ROW, _sensitivity(lambda a, b: (a - 1, b)), _shapes("sum, ungrouped")),
    "L2 forgets the groups": (CAPPED, _sensitivity(lambda a, b: (a, b * Fraction(7, 10))), _SUSPECTS),
    "a changed person counts once": (f"{CAPPED}, change-one", _sensitivity(lambda a, b: (a / 2, b / 2)), _SUSPECTS),
    "a changed row never counts zero": (
        f"{ROW}, change-one",
        _spread_without_zero,
        _shapes("sum away from zero, ungrouped"),
    ),
    "rows are thresholded instead of persons": (CAPPED, _rows_of_keys, _BY_KEY),
    "a person has any number of keys": (CAPPED, _all_keys, _BY_KEY),
    "keys of a person weigh alike": (CAPPED, _equal_weights, _BY_KEY),
    "rows of nobody count": (CAPPED, _nobody_counts, _SUSPECTS),
    "rows of a person are not limited": (FEW, _too_many_rows, _SUSPECTS),
    "a public join multiplies rows": (
        ROW,
        _any_join,
        _text("SELECT COUNT(*) AS a FROM data JOIN zones ON 'down' = part"),
    ),
    "a union counts one side": (FEW, _sum_of_rows, _shapes("union")),
    "a join of persons counts one side": ("few rows of two tables", _product_of_rows, _shapes("join persons")),
    "rows that a question caps are kept": (STATED, _all_rows_kept, _SUSPECTS),
    "rows of two caps are groups of their own": (STATED, _root_of_rows, _SUSPECTS),
    "one cap below another is not kept": (STATED, _lowered_and_not_kept, _SUSPECTS),
    "distinct values count once": (CAPPED, _distinct_once, _shapes("distinct, ungrouped")),
    "a matrix is as long as its diagonal": (ROW, _corner_alone, _shapes("median, ungrouped")),
    "columns of a matrix are at right angles": (FEW, _right_angles, _shapes("quantile of integers, ungrouped")),
    "rows are released beside sums": (ROW, _rows_beside_sums, _text("SELECT SUM(x) AS s, COUNT(*) AS a FROM data")),
    "a side counts from beyond the bounds": (ROW, _far_side, _shapes("mean, ungrouped")),
    "values count as missing": (CAPPED, _missing_everywhere, _text("SELECT COUNT(*) AS a, AVG(x) AS m FROM data")),
    "persons count in one group": (CAPPED, _persons_once, _shapes("persons by declared")),
    "a person of a run is a row": (FEW, _a_person_is_a_row, _shapes("synthesis", "weights")),
    "a person is in one period once": (FEW, _periods_of_one_row, _shapes("counter")),
}
