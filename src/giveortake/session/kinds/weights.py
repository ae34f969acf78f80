"""Private multiplicative weights [HR10]: very many counts, chosen one after the other, of which few cost anything.

Weights over all combinations of some columns answer every query that they answer well, for free. The sparse vector
technique checks whether they do; if not, the count is measured, and the weights move towards it.

Theorem. Let D be the number of combinations, and α the accuracy, as a share of n rows. If every far query is off by at
least α·n, there are at most 4·ln D/α² of them. Proof: let the weights p be multiplied by e^(±α/2) on the cells of the
query, towards the count. KL(x‖p) falls by ±(α/2)·(q(x) − q(p)) − ln(1 + …) ≥ (α/2)·α − (α/2)² = α²/4, because
e^u ≤ 1 + u + u² for |u| ≤ 1; it begins at ln D at most, and never is below zero. ∎ Which way is towards the count is
told by a noisy one, whose noise has to be below α·n. The threshold is α·n and the margin m of the sparse vector above
it, so that with the stated confidence no far query is nearer than α·n, and no other answer is off by more than
α·n + 2·m.
"""

from __future__ import annotations

import itertools
import json
import math
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import codec
from giveortake.accounting.pricing import priced_within
from giveortake.answers import Answer, Column
from giveortake.answers.render import of_counted_rows
from giveortake.answers.terms import CAP_TERMS, Caps
from giveortake.caching import served
from giveortake.engines import KeyColumn
from giveortake.errors import InvalidParameter, MechanismSpent, did_you_mean
from giveortake.exact import decimal, open_probability, sqrt_down, whole
from giveortake.mechanisms import AboveThreshold, Gaussian
from giveortake.plan import ColumnReference, Value
from giveortake.plan.describe import capped_rows
from giveortake.privacy import events
from giveortake.session.kinds.runs import BoundRun, Compared, Counted, Run, rho_of, step_of
from giveortake.session.refusals import unanswered
from giveortake.session.requests import Request, request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.compile import Spend, Terms
    from giveortake.ledger import Charge, Reservation
    from giveortake.ledger.budget_status import Admission
    from giveortake.plan import Relation
    from giveortake.privacy.events import Event
    from giveortake.session.kinds.runs import AdaptiveRun, Step
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.requests import Priced
    from giveortake.session.steps import Steps

    Floats: TypeAlias = npt.NDArray[np.float64]
    Chosen: TypeAlias = npt.NDArray[np.bool_]

MOST_CELLS = 10**6
_FOR_TOTAL = Fraction(1, 20)  # of ρ
_CONFIDENCE = Fraction(95, 100)
_EVERYTHING = "all rows"


@final
@dataclass(frozen=True, slots=True)
class WeightsPlan:
    """What ρ buys: the number of far queries, the noise of each, and the accuracy of answers as a share of n rows."""

    rho: Fraction
    accuracy: Fraction
    queries: int
    updates: int  # 4·ln D/α², which the theorem allows at most
    cells: int
    rows_of_unit: int

    @property
    def for_update(self) -> Fraction:
        """The ρ of one far query: half is for the comparison, half for the count."""
        return self.rho * (1 - _FOR_TOTAL) / self.updates

    @property
    def margin(self) -> float:
        """The margin m of all comparisons together, in rows: beyond it from the threshold, none is wrong."""
        epsilon = sqrt_down(self.for_update)  # 2·ρ/2
        guard = AboveThreshold(0, epsilon, self.rows_of_unit)
        missing = (1 - _CONFIDENCE) / self.updates
        return float(guard.margin(1 - missing, questions=self.queries))

    def bound(self, rows: float) -> float:
        """By how many rows a free answer may be wrong, with the stated confidence."""
        return float(self.accuracy) * rows + 2 * self.margin

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a measured count, in rows."""
        return self.rows_of_unit / math.sqrt(self.for_update)


@final
@request("weights")
@dataclass(frozen=True, slots=True, eq=False)
class WeightsRequest(Request):
    """Counts of combinations of declared values, chosen one after the other; see `Session.weights`."""

    without: ClassVar[tuple[str, ...]] = (
        *("margin", "confidence", "confidence_over", "key_delta", "aim", "n"),
        *CAP_TERMS,
    )
    table: str
    columns: tuple[str, ...]
    accuracy: Fraction = Fraction(1, 10)
    queries: int = 1000

    def __post_init__(self) -> None:
        columns: Any = self.columns
        if not isinstance(columns, list | tuple) or not columns or len(set(columns)) < len(columns):
            raise InvalidParameter("columns", columns, "are no list, are empty, or name a column twice")
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "accuracy", open_probability("accuracy", self.accuracy))
        object.__setattr__(self, "queries", whole("queries", self.queries))

    def bind(self, mechanism: InteractiveMechanism, _terms: Terms) -> BoundWeights:
        relation = mechanism.table(self.table)
        columns = tuple(_key_column(relation.schema, name) for name in self.columns)
        cells = math.prod(len(column.values or ()) for column in columns)
        if cells > MOST_CELLS:
            raise InvalidParameter(
                "columns",
                list(self.columns),
                f"have {cells:,} combinations, more than {MOST_CELLS:,}",
                hint="name fewer",
            )
        return BoundWeights(mechanism, self, relation, columns)


@final
@dataclass(frozen=True, slots=True)
class WeightsMeasurement:
    """The run of weights at a spend, and what it buys."""

    run: Run
    plan: WeightsPlan
    state: WeightsState

    @property
    def spend(self) -> Spend:
        """What is paid."""
        return self.run.spend


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundWeights(BoundRun[WeightsMeasurement]):
    """Weights over the combinations of some columns of a table of a session.

    The asker steers them, one count a call: between two calls no lock is held, and the threshold of comparisons is
    stored under a pad. They are of one version of the table: another version is another charge.
    """

    kind: ClassVar[str] = "weights"
    interactive: ClassVar[bool] = True
    hint: ClassVar[Any] = 'epsilon="1", delta="1e-8"'
    mechanism: InteractiveMechanism
    request: WeightsRequest
    relation: Relation
    columns: tuple[KeyColumn, ...]

    def at(self, spend: Spend) -> WeightsMeasurement:
        if spend.is_pure:
            raise InvalidParameter("delta", None, "is missing: weights add Gaussian noise", hint=self.hint)
        request = self.request
        identity = {
            "multiplicative weights": 2,
            "columns": [[column.name, codec.write(column.values, tuple[Value, ...])] for column in self.columns],
            "accuracy": str(request.accuracy),
            "queries": request.queries,
        }
        words = f"counts of {', '.join(request.columns)}"
        run = Run.of_tables(self.mechanism, self.relation, spend, identity, words)
        cells = math.prod(len(column.values or ()) for column in self.columns)
        updates = max(1, math.ceil(4 * math.log(cells) / float(request.accuracy) ** 2))
        plan = WeightsPlan(run.rho, request.accuracy, request.queries, updates, cells, self.relation.most_rows or 1)
        return WeightsMeasurement(run, plan, WeightsState(self.columns, plan))

    def event_at(self, spend: Spend) -> Event:
        return events.ZCDP(priced_within(rho_of(spend)))

    def require_runnable(self, measurement: WeightsMeasurement) -> None:
        measurement.run.require([self.columns])

    def key(self, _stated: str | None, charge: Charge) -> str:
        """Its own, as a counter has: whoever goes on finds the one charge for this version, and makes no other."""
        return f"weights {self.mechanism.version} {charge.identity}"

    def run(self, measurement: WeightsMeasurement, steps: Steps) -> AdaptiveRun:
        """Count all rows first; this is the only step that the asker does not steer."""
        run = self.adaptive_run(measurement, steps)
        if not run.steps and not steps.is_over:
            everything = np.ones(measurement.plan.cells, dtype=bool)
            run.count(self.columns, everything, _EVERYTHING, measurement.plan.rho * _FOR_TOTAL)
        return run

    def read(
        self,
        priced: Priced[WeightsMeasurement],
        outcome: Any,
        reservation: Reservation,
        terms: Terms,
        *,
        looked_up: bool,
    ) -> Any:
        """The weights; for a release that is read by its id, all counts that were told, as one table."""
        if looked_up and not outcome.steps:
            raise unanswered(reservation.id)
        weights = Weights(priced, terms, outcome, reservation.id)
        return weights.answers() if looked_up else weights

    def advance(self, measurement: WeightsMeasurement, steps: Steps, argument: Any) -> None:
        """Tell one more count: compare it with the weights, and measure it if it is far."""
        state, plan = measurement.state, measurement.plan
        if isinstance(argument, list):
            argument = state.query_of(argument)
        state.require(argument)
        run, half = self.adaptive_run(measurement, steps), plan.for_update / 2
        last = run.steps[-1]
        if isinstance(last, Compared) and last.is_far:  # whoever made the comparison was interrupted
            run.count(self.columns, state.cells_of(last.query), last.query, min(half, run.left))
        state.take_up(run.steps)
        if argument in state.told:
            return
        if state.queries_asked >= plan.queries:
            raise MechanismSpent(f"{plan.queries:,} queries were planned, and all of them were asked")
        if not run.is_watching:
            if run.left < 2 * half:  # for the comparisons, and for the count of the one that is far
                raise MechanismSpent(
                    f"the weights have moved {len(state.distances)} times, as often as was paid for",
                    hint="what was asked before can still be asked; a coarser accuracy allows more moves",
                )
            run.watch(math.ceil(float(plan.accuracy) * state.rows + plan.margin), half)
        cells = state.cells_of(argument)
        if run.is_far(self.columns, cells, argument, round(state.expected(argument))):
            run.count(self.columns, cells, argument, half)
        state.take_up(run.steps)

    def quoted(self, priced: Priced[WeightsMeasurement], _terms: Terms, _admission: Admission) -> dict[str, Any]:
        plan = priced.measurement.plan
        return {
            "title": of_counted_rows(
                f"counts of {', '.join(self.request.columns)}, of {plan.cells:,} combinations",
                capped_rows(self.relation),
            ),
            "facts": {
                "queries": plan.queries,
                "updates": plan.updates,
                "margin_of_comparisons": plan.margin,
                "deviation_of_a_measured_count": plan.deviation,
            },
            "notes": (
                f"a free answer is off by at most {decimal(plan.accuracy)} of the rows and {2 * plan.margin:,.0f} rows",
                *([] if priced.why is None else [priced.why]),
            ),
        }


@final
class WeightsState:
    """What the steps so far tell: the weights, the counts that were told, and how many were asked for."""

    def __init__(self, columns: tuple[KeyColumn, ...], plan: WeightsPlan) -> None:
        self.columns, self.plan = columns, plan
        self._sizes = [len(column.values or ()) for column in columns]
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._shares: Floats = np.full(self.plan.cells, 1 / self.plan.cells)
        self.told: dict[str, tuple[float, float, str]] = {}  # count, margin and note of each query
        self.distances: list[float] = []
        self.queries_asked = self._taken_up = 0
        self.rows = 1.0

    def take_up(self, steps: Sequence[Step]) -> None:
        """Take up the steps that are new here: remember their counts, and move the weights.

        Who is interrupted in the middle forgets all of them, and takes them up again from the first.
        """
        with self._lock:
            try:
                for index in range(self._taken_up, len(steps)):
                    self._take_up_step(index, steps[index])
            except BaseException:
                self._begin()
                raise
            self._taken_up = max(self._taken_up, len(steps))

    def _take_up_step(self, index: int, step: Step) -> None:
        if index == 0:
            assert isinstance(step, Counted)  # noqa: S101 (the first step counts all rows)
            self.rows = max(1.0, float(step.count))
        elif isinstance(step, Compared):
            self.queries_asked += 1
            if not step.is_far:
                self.told[step.query] = self.expected(step.query), self.plan.bound(self.rows), "the weights tell it"
        elif isinstance(step, Counted):
            self._measured(step)

    def _measured(self, counted: Counted) -> None:
        """Remember a measured count, and move the weights towards it."""
        expected = self.expected(counted.query)
        self.distances.append(abs(counted.count - expected))
        step = float(self.plan.accuracy) / 2 * (1 if counted.count > expected else -1)
        self._shares[self.cells_of(counted.query)] *= math.exp(step)
        self._shares /= self._shares.sum()
        margin = float(Gaussian(counted.sigma).margin(_CONFIDENCE))
        self.told[counted.query] = float(counted.count), margin, "measured: the weights were far from it"

    def expected(self, query: str) -> float:
        """The count of a query by the weights."""
        return float(self._shares[self.cells_of(query)].sum()) * self.rows

    # -- queries ------------------------------------------------------------------------------------------------

    def query_of(self, patterns: Sequence[Mapping[str, Any]]) -> str:
        """Patterns as text: for each column of a pattern, the indices of its allowed values."""
        if not patterns:
            raise InvalidParameter("patterns", "nothing", "says which rows count", hint='w.count({"region": "north"})')
        names = [column.name for column in self.columns]
        indexed_patterns = []
        for pattern in patterns:
            for name in pattern:
                if name not in names:
                    hint = did_you_mean(str(name), names) or None
                    raise InvalidParameter("patterns", name, "is not one of the columns", hint=hint)
            axes = sorted((names.index(name), allowed) for name, allowed in pattern.items())
            indexed_patterns.append([[axis, _value_indices(self.columns[axis], allowed)] for axis, allowed in axes])
        return json.dumps([pattern for pattern, _ in itertools.groupby(sorted(indexed_patterns))])

    def require(self, query: object) -> None:
        """Refuse a text that `query_of` does not write."""
        patterns: Any = codec.parsed(query, what="patterns") if isinstance(query, str) else None
        hint: Any = list[list[tuple[int, list[int]]]]
        listed = [[list(pair) for pair in pattern] for pattern in codec.read(hint, patterns, what="patterns")]
        within = all(
            0 <= axis < len(self._sizes) and all(0 <= index < self._sizes[axis] for index in indices)
            for pattern in listed
            for axis, indices in pattern
        )
        if not listed or not within or json.dumps(listed) != query:
            raise InvalidParameter("patterns", str(query)[:40], "are not combinations of these columns")

    def cells_of(self, query: str) -> Chosen:
        """The combinations that fit one of the patterns."""
        cells = np.zeros(self._sizes, dtype=bool)
        for pattern in json.loads(query):
            matches = np.ones(self._sizes, dtype=bool)
            for axis, indices in pattern:
                allowed = np.isin(np.arange(self._sizes[axis]), indices)
                matches &= allowed.reshape([-1 if dimension == axis else 1 for dimension in range(len(self._sizes))])
            cells |= matches
        return cells.ravel()

    def in_words(self, query: str) -> str:
        """The combinations that a query counts, for people."""
        patterns = [
            " and ".join(
                f"{self.columns[axis].name} in ({', '.join(self._value_texts(axis, indices))})"
                for axis, indices in pattern
            )
            for pattern in json.loads(query)
        ]
        return " or ".join(pattern or "any" for pattern in patterns)

    def _value_texts(self, axis: int, indices: Sequence[int]) -> list[str]:
        values = self.columns[axis].values or ()
        return [str(values[index]) for index in indices]


@final
@served
class Weights:
    """Counts of combinations of values, asked one after the other: `w.count({"region": "north"})`.

    All of them are one charge, which was made when they were answered. Asking for the same weights again goes on.
    """

    def __init__(self, priced: Priced[WeightsMeasurement], terms: Terms, run: AdaptiveRun, release_id: str) -> None:
        self._bound: Any = priced.bound
        self._priced, self._terms, self._mechanism = priced, terms, priced.bound.mechanism
        self.plan, self.release_id, self._state = priced.measurement.plan, release_id, priced.measurement.state
        self._state.take_up(run.steps)

    def count(self, *patterns: Mapping[str, Any]) -> Answer:
        """How many rows have one of these combinations: `{"region": ["north", "west"], "married": True}`.

        An answer from the weights costs nothing, and its interval is the bound of the theorem. A count that was far is
        measured, and its interval is that of its noise.
        """
        query = self._state.query_of(patterns)
        if query not in self._state.told:
            self._take_up(self._mechanism.advance(self._priced, self._terms, self.release_id, query))
        return self._answer(query)

    def _take_up(self, steps: Steps) -> None:
        self._state.take_up([step_of(content) for content in steps.stored])

    def _answer(self, query: str) -> Answer:
        count, margin, note = self._state.told[query]
        ends = [max(0.0, count - margin)], [max(0.0, count + margin)]
        column = Column("n", [count], *ends, open_sides=(False, self._caps is not None))
        return Answer([column], confidence=_CONFIDENCE, notes=(note,), release_id=self.release_id, caps=self._caps)

    @property
    def _caps(self) -> Caps | None:
        most = capped_rows(self._bound.relation)
        return None if most is None else Caps(rows_per_person=most)

    def answers(self) -> Answer:
        """All counts that were told so far, as one table; free."""
        self._take_up(self._mechanism.stored(self._priced, self.release_id))
        told = list(self._state.told)
        columns = [self._answer(query).columns[-1] for query in told]
        values, lows, highs = ([getattr(column, name)[0] for column in columns] for name in ("values", "low", "high"))
        promise = self._bound.promise(self._priced.measurement)
        return Answer(
            [
                Column("rows_where", [self._state.in_words(query) for query in told], kind="text"),
                Column("n", values, lows, highs, open_sides=(False, self._caps is not None)),
            ],
            caps=self._caps,
            guarantee=promise,
            cost=promise,
            confidence=_CONFIDENCE,
            release_id=self.release_id,
            notes=(f"{len(told):,} counts, under one charge",),
        )

    @property
    def updates(self) -> int:
        """How often the weights have moved."""
        return len(self._state.distances)

    def __repr__(self) -> str:
        plan, state = self.plan, self._state
        greatest_distance = f"{max(state.distances):,.0f} rows at most" if state.distances else "no far query"
        return (
            f"<Weights over {plan.cells:,} combinations of about {state.rows:,.0f} rows: "
            f"{state.queries_asked:,} of {plan.queries:,} queries asked\n"
            f"  an answer from the weights is off by {plan.bound(state.rows):,.0f} rows at most, by the theorem "
            f"(α = {decimal(plan.accuracy)}); seen: {greatest_distance}\n"
            f"  the weights have moved {self.updates} times; by the theorem, {plan.updates:,} times at most>"
        )


def _key_column(schema: Mapping[str, Any], name: str) -> KeyColumn:
    if name not in schema:
        raise InvalidParameter("columns", name, "is not a column here", hint=did_you_mean(str(name), schema) or None)
    values = schema[name].keys()
    if values is None:
        raise InvalidParameter("columns", name, "has no declared values", hint="declare them")
    return KeyColumn(name, ColumnReference(name), values)


def _value_indices(column: KeyColumn, allowed: Any) -> list[int]:
    allowed_values = list(allowed) if isinstance(allowed, list | tuple | set | frozenset) else [allowed]
    declared_values = list(column.values or ())
    for value in allowed_values:
        if not any(type(value) is type(declared) and value == declared for declared in declared_values):
            raise InvalidParameter("patterns", value, f"is not a declared value of `{column.name}`")
    are_allowed = [
        any(type(value) is type(declared) and value == declared for value in allowed_values)
        for declared in declared_values
    ]
    return [index for index, is_allowed in enumerate(are_allowed) if is_allowed]
