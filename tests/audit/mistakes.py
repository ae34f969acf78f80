"""Mistakes, planted where every kind of request passes, or where one does; the harness must find each of them.

`ANYWHERE` are tried on every kind, `SOMEWHERE` on the requests that they name, under a declaration that shows them.
`python tests/audit/mistakes.py` prints how many are found.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest

from giveortake.audit.cases import OTHERS, queries, query
from giveortake.audit.conformance import DECLARATIONS, Case, Declaration, conform
from giveortake.audit.neighbours import Table
from giveortake.compile import design
from giveortake.compile.measures import MissingCount, PrefixSums, RowCount, Sides
from giveortake.compile.partition_selection import with_keys
from giveortake.compile.sensitivity import Stability
from giveortake.engines import Keys, Quantum, Summand, Tally, VectorSum
from giveortake.engines.duckdb import engine as own_statements
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import LONGEST, Bounding
from giveortake.engines.sql import statements
from giveortake.engines.sql.dialect import Dialect
from giveortake.engines.sql.printer import Printer, bounded_name
from giveortake.engines.sql.statements import Coded
from giveortake.errors import QueryRefused
from giveortake.exact import sqrt_down, sqrt_up
from giveortake.ledger import Ledger
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.marginals import Contribution, shrinkage
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.mechanisms.partition_selection import KeyCaps
from giveortake.mechanisms.prefix_sums import SquareRoot, running_count_sensitivity
from giveortake.mechanisms.selection import PaddedThreshold, WorstMarginalSelection
from giveortake.mechanisms.vectors import OutputPerturbation, TrustedGradients
from giveortake.plan import JoinPersons, JoinPublic, Kind, PerPerson, Scan, Union
from giveortake.privacy import events
from giveortake.session.kinds import counters, runs
from giveortake.session.kinds.counters import Periods
from giveortake.session.kinds.queries import BoundQuestions
from giveortake.session.kinds.runs import AdaptiveRun, Run
from giveortake.session.kinds.workloads import WorkloadRequest
from giveortake.session.mechanism import InteractiveMechanism
from giveortake.session.profiles import histograms
from giveortake.session.requests import Priced
from giveortake.session.session import mechanism_of
from giveortake.session.steps import Steps
from giveortake.synth import rounds
from giveortake.synth.rounds import Rounds
from giveortake.workload import bound_workload, designs

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


def changed(event: events.Event, change: Callable[[events.Event], events.Event]) -> events.Event:
    """An event, all of whose releases are others."""
    match event:
        case events.Composed():
            return events.Composed([changed(inner, change) for inner in event.events])
        case events.Repeated():
            return events.Repeated(changed(event.event, change), event.times)
        case events.Subsampled():
            return events.Subsampled(changed(event.event, change), event.rate)
        case events.InPart():
            one, added = changed(event.event, change), changed(event.added, change)
            return events.InPart(one, added, event.partition, event.part, event.touched)
    return change(event)


def _wider(event: events.Event) -> events.Event:
    match event:
        case events.Laplace() | events.Gaussian():
            return type(event)(8 * event.noise_multiplier)
        case events.ZCDP():
            return events.ZCDP(event.rho / 64)
        case events.GaussianKeys():
            return events.GaussianKeys(8 * event.noise_multiplier, event.delta)
    return event


def cheaper(event: events.Event) -> events.Event:
    """An event of much less than the noise's price."""
    return changed(event, _wider)


def without_delta(event: events.Event) -> events.Event:
    """The same release, where nobody's group is ever shown by chance."""
    match event:
        case events.GaussianKeys() | events.DiscoveredKeys():
            return replace(event, delta=event.delta / 10**6)
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
    "query": [case for case in queries() if case.name in {"several by declared", "a part"}],
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


def _scaled_counts(patch: Patch) -> None:
    """All keys of a person count, each a part, as sums do at known keys: so more keys are a person's alone."""

    def statement(printer: Printer, persons: Any, coded: Coded, _weights: Any = None) -> str:
        inner = statements.rows_of(printer, persons)
        code = coded.code()
        rows = f"SELECT r.p AS p, {code} AS code FROM ({inner}) AS r{coded.joins(printer, 'r')}"
        pairs = f"SELECT p, code, least(count(*), {persons.rows}) AS c FROM ({rows}) AS l GROUP BY p, code"
        counted = f"SELECT code, c, count(*) OVER (PARTITION BY p) AS m FROM ({pairs}) AS t"
        total = f"CAST(ceil(sum(c * least(m, {persons.groups}) / m)) AS BIGINT)"
        return f"SELECT code, {total} FROM ({counted}) AS t GROUP BY code"

    patch.setattr(own_statements, "persons_statement", statement)


def _all_rows_of_a_key(patch: Patch) -> None:
    sound = own_statements.persons_statement
    patch.setattr(
        own_statements,
        "persons_statement",
        lambda printer, persons, coded, weights=None: sound(printer, replace(persons, rows=MANY), coded, weights),
    )


def _lone(spread: Callable[[KeyCaps], tuple[int, int]]) -> Mistake:
    """A threshold for another spread of a person's lone keys than the worst: so many of them, of so many rows each."""

    def mistake(patch: Patch) -> None:
        patch.setattr(KeyCaps, "spreads", lambda self: iter([(spread(self),)]))

    return mistake


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

    def uncapped(self: Printer, scan: Scan, rows: str | None = None) -> str:
        return sound(self, replace(scan, most_rows_of_person=MANY), rows)

    patch.setattr(Printer, "capped_rows", uncapped)


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


# -- in one kind ------------------------------------------------------------------------------------------------------


def _first_question_alone(kind: str) -> Mistake:
    """Of several questions under one charge the first is charged."""

    def mistake(patch: Patch) -> None:
        sound = BoundQuestions.event

        def event(self: BoundQuestions, measurement: Any) -> events.Event:
            return measurement.parts[0].event() if self.kind == kind else sound(self, measurement)

        patch.setattr(BoundQuestions, "event", event)

    return mistake


def _groups_for_nothing(patch: Patch) -> None:
    """The δ of finding groups is charged for the first question of a batch alone."""

    def event(self: BoundQuestions, measurement: Any) -> events.Event:
        first, *others = [part.event() for part in measurement.parts]
        return events.Composed([first, *(changed(other, without_delta) for other in others)])

    patch.setattr(BoundQuestions, "event", event)


def _text_about_rows_in_a_batch(patch: Patch) -> None:
    """A later question of a batch is refused where there are too few rows."""
    sound, rows = BoundQuestions._drawn, _rows(patch)

    def drawn(self: BoundQuestions, part: Any, reference: str) -> Any:
        if reference.endswith("-2") and rows(self.mechanism) % 2:
            raise QueryRefused("too few rows")
        return sound(self, part, reference)

    patch.setattr(BoundQuestions, "_drawn", drawn)


def _refined_for_nothing(patch: Patch) -> None:
    """A refinement is charged as if it were measured with the noise of both releases together."""
    sound = BoundQuestions.event

    def event(self: BoundQuestions, measurement: Any) -> events.Event:
        return cheaper(sound(self, measurement)) if self.refined is not None else sound(self, measurement)

    patch.setattr(BoundQuestions, "event", event)


def _groups_found_again(patch: Patch) -> None:
    """A refinement measures the groups that rows have, not those that were released."""
    sound = BoundQuestions._refinement

    def refinement(self: BoundQuestions, spend: Any) -> Any:
        release: Any = self.refined
        made = release.priced.made
        if made.selection is None:
            return sound(self, spend)
        groups = [group for units in made.units(self.mechanism.engine) for group in units._hidden[0]]
        return sound(replace(self, refined=replace(release, keys=with_keys(made, groups))), spend)

    patch.setattr(BoundQuestions, "_refinement", refinement)


def _refined_without_caps(patch: Patch) -> None:
    """A refinement has the noise of the first release, and lets all rows of a person count."""
    sound = BoundQuestions._refinement

    def refinement(self: BoundQuestions, spend: Any) -> Any:
        for part in sound(self, spend):
            yield replace(part, made=replace(part.made, stability=replace(part.made.stability, is_cut=False)))

    patch.setattr(BoundQuestions, "_refinement", refinement)


def _root_of_rows_in_tables(patch: Patch) -> None:
    sound = Contribution.square_if_added
    patch.setattr(Contribution, "square_if_added", lambda self, sizes: sound(self, sizes) / max(self.rows, 1))


def _moved_as_twice_added(patch: Patch) -> None:
    """A row that is changed costs 2p, not 2p·n/(n − 1)."""

    def square(self: Contribution, sizes: tuple[int, ...]) -> Fraction:
        return 2 * self.rows**2 * self.reach**2 * shrinkage(sizes) if sizes else Fraction(0)

    patch.setattr(Contribution, "square_if_moved", square)


def _persons_are_not_scaled(patch: Patch) -> None:
    patch.setattr(statements, "_factor", lambda dialect, _: dialect.double(1))
    sound = statements._cells_of_persons
    patch.setattr(statements, "_cells_of_persons", lambda *parts: sound(*parts).replace("WHERE m <= ", "WHERE 0 <= "))


def _sums_in_words(patch: Patch) -> None:
    """Cells of less than 2⁶² are added in 64 bits, whatever their sum is."""

    def summed(self: BoundedIntegers, sizes: Any, kept: Any) -> BoundedIntegers:
        values = self.tolist()
        is_small = all(abs(value) < 2**62 for value in values)
        table = np.array(values, dtype=np.int64 if is_small else object).reshape(tuple(sizes))
        others = tuple(axis for axis in range(len(sizes)) if axis not in kept)
        left = sorted(kept)
        flat = table.sum(axis=others).transpose([left.index(axis) for axis in kept]).reshape(-1)
        return BoundedIntegers.clamped(flat, self.bound * table.size)

    patch.setattr(BoundedIntegers, "summed", summed)


def _values_from_rows(patch: Patch) -> None:
    """Which cells a workload has depends on how many rows there are."""
    sound, values, rows, there = WorkloadRequest.bind, bound_workload._values, _rows(patch), [0]

    def bind(self: WorkloadRequest, mechanism: InteractiveMechanism, terms: Any) -> Any:
        there[:] = [rows(mechanism)]
        return sound(self, mechanism, terms)

    patch.setattr(WorkloadRequest, "bind", bind)
    patch.setattr(bound_workload, "_values", lambda name, domain: values(name, domain)[: 2 + there[0] % 2])


def _ranges_of_one_row(patch: Patch) -> None:
    sound: Any = designs._range_price
    patch.setattr(designs, "_range_price", lambda workload, bins: sound(replace(workload, rows=1), bins))


def _no_pad(patch: Patch) -> None:
    """Exact counts are stored as they are."""
    patch.setattr(Steps, "pad", lambda self, index: Sensitive(0))


def _all_periods_so_far(patch: Patch) -> None:
    """Every step counts all rows again."""
    sound = Periods.tally
    patch.setattr(Periods, "tally", lambda self, index: replace(sound(self, index), keys=Keys(())))


def _a_change_is_an_addition(patch: Patch) -> None:
    sound: Any = running_count_sensitivity
    patch.setattr(counters, "running_count_sensitivity", lambda horizon, rows, _: sound(horizon, rows, "add-remove"))


def _two_bins_of_a_person(patch: Patch) -> None:
    """The bins of the largest group count every group of a person, whose rows are taken to be one a person."""

    def question(self: Any) -> Any:
        sound = histograms.GroupsOfPerson(self.relation, self.by, self.most).question()
        source: Any = sound.relation
        return replace(sound, relation=source.source) if self.by else sound

    patch.setattr(histograms.RowsOfPerson, "question", question)
    patch.setattr(PerPerson, "most_rows", 1)


def _not_cut(patch: Patch) -> None:
    """The vectors of persons are summed however long they are."""
    sound = DuckDBEngine.vectors

    def vectors(self: DuckDBEngine, vector_sum: Any, **options: Any) -> Any:
        return sound(self, replace(vector_sum, bound=LONGEST), **options)

    patch.setattr(DuckDBEngine, "vectors", vectors)


def _cut_by_component(patch: Patch) -> None:
    """A person's vector is cut in each component, not as a whole."""
    sound = DuckDBEngine.vectors

    def vectors(self: DuckDBEngine, vector_sum: Any, **options: Any) -> Any:
        parts = [sound(self, replace(vector_sum, components=(one,)), **options) for one in vector_sum.components]
        sums = [number for part in parts for number in part._hidden.tolist()]
        return Sensitive(BoundedIntegers.clamped(np.array(sums, dtype=object), vector_sum.most))

    patch.setattr(DuckDBEngine, "vectors", vectors)


def _a_model_moves_once(patch: Patch) -> None:
    sound = VectorSum.moved_squared
    patch.setattr(VectorSum, "moved_squared", lambda self, changed: sound(self, changed=False))


def _code_is_trusted_with_lengths(patch: Patch) -> None:
    """What trusted code returns is cut to the longest that an engine sums."""
    sound = TrustedGradients.cut
    patch.setattr(TrustedGradients, "cut", lambda self, gradient: sound(replace(self, bound=16 * self.bound), gradient))


def _steps_of_points_forgotten(patch: Patch) -> None:
    """The sensitivity of a descent's end is in whole numbers, and the noise in steps."""
    sound = OutputPerturbation.sensitivity
    patch.setattr(
        OutputPerturbation,
        "sensitivity",
        lambda self, rows, changed: sound(self, rows, changed=changed) / self.fineness,
    )


def _rows_are_counted_for_a_model(patch: Patch) -> None:
    """A statement about the true number of rows stands in what names a model."""
    sound, rows = Run.of_vectors.__func__, _rows(patch)  # type: ignore[attr-defined]

    def of_vectors(cls: Any, mechanism: Any, relation: Any, spend: Any, identity: dict[str, Any], words: str) -> Any:
        return sound(cls, mechanism, relation, spend, {**identity, "n": rows(mechanism)}, words)

    patch.setattr(Run, "of_vectors", classmethod(of_vectors))


def _true_total(patch: Patch) -> None:
    """A synthetic table has as many rows as the private one."""
    sound, rows = Rounds.complete, _rows(patch)

    def complete(self: Rounds) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(rounds, "released_total", lambda _: rows(self.run._run.mechanism) + 1.0)
            return sound(self)

    patch.setattr(Rounds, "complete", complete)


def _rows_decide_tables(patch: Patch) -> None:
    """Which tables may be measured depends on how many rows there are."""
    sound, rows = Rounds._allowed_tables, _rows(patch)
    patch.setattr(Rounds, "_allowed_tables", lambda self: sound(self)[rows(self.run._run.mechanism) % 2 :])


def _selected_as_one_row(patch: Patch) -> None:
    """The scores of tables are taken to move as far as one row moves them."""
    sound = WorstMarginalSelection

    def selection(candidates: Any, epsilon: Any, _rows: int, neighbours: Any) -> Any:
        return sound(candidates, epsilon, 1, neighbours)

    patch.setattr(runs, "WorstMarginalSelection", selection)


def _threshold_of_one_row(patch: Patch) -> None:
    patch.setattr(runs, "PaddedThreshold", lambda threshold, epsilon, _rows: PaddedThreshold(threshold, epsilon, 1))


def _exact_count_beside_comparisons(patch: Patch) -> None:
    """A comparison stores how far the count was."""
    sound = AdaptiveRun._draw

    def drawn(self: AdaptiveRun, event: Any, fields: dict[str, Any], draw: Any) -> Any:
        def with_count() -> dict[str, Any]:
            step: dict[str, Any] = draw()
            return {**step, "rows": [int(sum(table._hidden.tolist())) for table in self._tables.values()]}

        return sound(self, event, fields, with_count)

    patch.setattr(AdaptiveRun, "_draw", drawn)


def _text(text: str) -> list[Case]:
    return [Case(text, "query", query(text))]


def _shapes(*names: str, spend: str | None = None) -> list[Case]:
    cases = [case for case in (*queries(), *OTHERS) if case.name in names]
    assert len(cases) == len(names), names
    return cases if spend is None else [replace(case, spends=(spend,)) for case in cases]


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
    "rows are thresholded that caps leave out": (CAPPED, _rows_of_keys, _BY_KEY),
    "counts that find keys are scaled": (CAPPED, _scaled_counts, _BY_KEY),
    "a person has any number of rows of a key": (CAPPED, _all_rows_of_a_key, _BY_KEY),
    "a person has one key alone": (CAPPED, _lone(lambda caps: (1, caps.rows)), _BY_KEY),
    "lone keys have one row": (CAPPED, _lone(lambda caps: (caps.groups, 1)), _BY_KEY),
    "a person has any number of keys": (CAPPED, _all_keys, _BY_KEY),
    "keys of a person weigh alike": (CAPPED, _equal_weights, _shapes("many groups")),
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
    "a person of a synthesis is a row": (FEW, _a_person_is_a_row, _shapes("synthesis")),
    "tables are selected by scores of one row": (FEW, _selected_as_one_row, _shapes("synthesis")),
    "a synthetic table has as many rows": (ROW, _true_total, _shapes("synthesis")),
    "rows decide what is measured": (ROW, _rows_decide_tables, _shapes("synthesis")),
    "a person of weights is a row": (FEW, _a_person_is_a_row, _shapes("weights")),
    "a threshold is made for one row": (FEW, _threshold_of_one_row, _shapes("weights")),
    "a threshold is stored without a pad": (ROW, _no_pad, _shapes("weights")),
    "exact counts stand beside comparisons": (ROW, _exact_count_beside_comparisons, _shapes("weights")),
    "a person is in one period once": (FEW, _periods_of_one_row, _shapes("counter")),
    "periods count all rows again": (ROW, _all_periods_so_far, _shapes("counter")),
    "a changed row is in one period": (f"{ROW}, change-one", _a_change_is_an_addition, _shapes("counter")),
    "exact counts are stored without a pad": (ROW, _no_pad, _shapes("counter")),
    "a batch is charged for its first question": (ROW, _first_question_alone("batch"), _shapes("batch")),
    "groups of a batch are found for nothing": (CAPPED, _groups_for_nothing, _shapes("batch")),
    "rows refuse a question of a batch": (ROW, _text_about_rows_in_a_batch, _shapes("batch")),
    "numbers of a batch are not clamped": (ROW, _no_clamp, _shapes("batch")),
    "a refinement is charged too little": (ROW, _refined_for_nothing, _shapes("refinement")),
    "a refinement finds groups again": (CAPPED, _groups_found_again, _shapes("refinement", spend="ε")),
    "a refinement keeps no caps": (CAPPED, _refined_without_caps, _shapes("refinement", spend="ε")),
    "a table of a person costs the root of rows": (FEW, _root_of_rows_in_tables, _shapes("workload", spend="μ")),
    "a moved row costs 2p": (f"{ROW}, change-one", _moved_as_twice_added, _shapes("workload", spend="μ")),
    "persons of a workload are not scaled": (CAPPED, _persons_are_not_scaled, _shapes("workload of clipped persons")),
    "sums of tables go by the size of cells": (ROW, _sums_in_words, _shapes("workload of extremes")),
    "rows decide which cells there are": (ROW, _values_from_rows, _shapes("workload")),
    "ranges of a person count one row": (FEW, _ranges_of_one_row, _shapes("workload of ranges and sums")),
    "a person is in two bins": (CAPPED, _two_bins_of_a_person, _shapes("profile", spend="ε")),
    "a profile is charged for one dimension": (CAPPED, _first_question_alone("profile"), _shapes("profile", spend="ε")),
    "a changed person is in one bin": (
        f"{CAPPED}, change-one",
        _sensitivity(lambda a, b: (a / 2, b / 2)),
        _shapes("profile", spend="ε"),
    ),
    "vectors are not cut": (CAPPED, _not_cut, _shapes("naive Bayes")),
    "vectors are cut by component": (CAPPED, _cut_by_component, _shapes("moments and tests")),
    "a changed person moves a model once": (f"{ROW}, change-one", _a_model_moves_once, _shapes("class means")),
    "gradients of a descent are not cut": (FEW, _not_cut, _shapes("descent")),
    "scores count all rows of a person": (CAPPED, _not_cut, _shapes("scores")),
    "trusted code decides how long gradients are": (
        FEW,
        _code_is_trusted_with_lengths,
        _shapes("descent by trusted code"),
    ),
    "a descent's end is known to fewer steps": (ROW, _steps_of_points_forgotten, _shapes("output perturbation")),
    "the number of rows names a model": (ROW, _rows_are_counted_for_a_model, _shapes("ridge")),
}
SOMEWHERE_IN_THE_GATE = [  # three for each kind
    name
    for kind in BY_KIND
    for name in [name for name, (_, _, cases) in SOMEWHERE.items() if cases[0].kind == kind][:3]
]


def main() -> None:
    """Print what the harness compares by kind and engine, and how many mistakes it finds in each kind."""
    sys.stdout.write(f"{conform([*queries(), *OTHERS], every=7)}\n")
    found: Counter[str] = Counter()
    for declaration, mistake, cases in SOMEWHERE.values():
        with pytest.MonkeyPatch.context() as patch:
            mistake(patch)
            chosen = declaration if ", " in declaration else f"{declaration}, add-remove"
            found[cases[0].kind] += is_found(cases, chosen, seeds=40)
    planted = Counter(cases[0].kind for _, _, cases in SOMEWHERE.values())
    for kind, number in planted.items():
        sys.stdout.write(f"{kind:<12} {found[kind]} of {number} mistakes found\n")


if __name__ == "__main__":
    main()
