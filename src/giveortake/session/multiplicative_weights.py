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
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypeAlias, final

import numpy as np

from giveortake.accounting.filters import admitted_rho
from giveortake.answers import Answer, Column
from giveortake.engines import KeyColumn
from giveortake.errors import BudgetExceeded, InvalidParameter, MechanismSpent, did_you_mean
from giveortake.exact import decimal, open_probability, sqrt_down, whole
from giveortake.mechanisms import AboveThreshold, Gaussian
from giveortake.plan import ColumnReference
from giveortake.plan.domains import stored_type
from giveortake.privacy import ApproxDP
from giveortake.session.runs import Compared, Counted, RunRequest
from giveortake.session.session import served

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.runs import AdaptiveRun, Step

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
@served
class MultiplicativeWeights:
    """Counts of combinations of values, asked one after the other: `with s.multiplicative_weights(…) as w: w.count(…)`.

    All of them are one charge. An interrupted object continues when the same is asked for again; `close` ends it.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism,
        table: str,
        columns: Sequence[str],
        *,
        epsilon: Number,
        delta: Number,
        accuracy: Number,
        queries: int,
        key: str | None,
    ) -> None:
        relation = mechanism.origin.relations[table]
        self._columns = tuple(_key_column(relation.schema, name) for name in columns)
        self._sizes = [len(column.values or ()) for column in self._columns]
        cells = math.prod(self._sizes)
        if not columns or len(set(columns)) < len(columns):
            raise InvalidParameter("columns", list(columns), "are empty, or name a column twice")
        if cells > MOST_CELLS:
            raise InvalidParameter(
                "columns", list(columns), f"have {cells:,} combinations, more than {MOST_CELLS:,}", hint="name fewer"
            )
        promise = ApproxDP(epsilon, delta)
        share, rho = open_probability("accuracy", accuracy), admitted_rho(promise)
        query_count = whole("queries", queries)
        updates = max(1, math.ceil(4 * math.log(cells) / float(share) ** 2))
        self.plan = WeightsPlan(rho, share, query_count, updates, cells, relation.most_rows or 1)
        identity = {
            "multiplicative weights": 1,
            "columns": [
                [column.name, [[stored_type(value), str(value)] for value in column.values or ()]]
                for column in self._columns
            ],
            "accuracy": str(share),
            "queries": query_count,
        }
        words = f"counts of {', '.join(columns)}"
        request = RunRequest.of_mechanism(mechanism, table, rho, identity, words, stated=promise)
        request.require([self._columns])
        self._mechanism = mechanism
        self._one_at_a_time = threading.Lock()
        self._stack = ExitStack()
        self._run: AdaptiveRun = self._stack.enter_context(request.begin(key))
        try:
            self._begin(cells)
        except BaseException:  # the caller gets no object that could be closed
            self._stack.close()
            raise

    def _begin(self, cells: int) -> None:
        """Count all rows; if that was done before, replay the stored steps."""
        self._shares: Floats = np.full(cells, 1 / cells)
        self._known: dict[str, Answer] = {}
        self._distances: list[float] = []
        self._queries_asked = 0
        everything = np.ones(cells, dtype=bool)
        if not self._run.steps:
            self._run.count(self._columns, everything, _EVERYTHING, self.plan.rho * _FOR_TOTAL)
        first = self._run.steps[0]
        assert isinstance(first, Counted)  # noqa: S101 (the first step counts all rows)
        self._rows = max(1.0, float(first.count))
        for step in self._run.steps[1:]:
            self._take_up(step)

    # -- asking -------------------------------------------------------------------------------------------------

    def count(self, *patterns: Mapping[str, Any]) -> Answer:
        """How many rows have one of these combinations: `{"region": ["north", "west"], "married": True}`.

        An answer from the weights costs nothing, and its interval is the bound of the theorem. A count that was far is
        measured, and its interval is that of its noise.
        """
        query = self._query_of(patterns)
        with self._one_at_a_time:
            return self._known[query] if query in self._known else self._ask(query)

    def _ask(self, query: str) -> Answer:
        cells = self._cells_of(query)
        if self._run.is_settled:
            raise MechanismSpent("these weights are closed, and only repeat what was asked before")
        if self._queries_asked >= self.plan.queries:
            raise MechanismSpent(f"{self.plan.queries:,} queries were planned, and all of them were asked")
        half = self.plan.for_update / 2
        try:
            if not self._run.is_watching:
                self._run.watch(math.ceil(float(self.plan.accuracy) * self._rows + self.plan.margin), half)
            expected = float(self._shares[cells].sum()) * self._rows
            is_far = self._run.is_far(self._columns, cells, query, round(expected))
        except BudgetExceeded:
            raise MechanismSpent(
                f"the weights have moved {self.updates} times, as often as was paid for",
                hint="what was asked before can still be asked; a coarser accuracy allows more moves",
            ) from None
        self._queries_asked += 1
        if not is_far:
            return self._answer_from_weights(query)
        return self._measured(self._run.count(self._columns, cells, query, min(half, self._run.left)))

    def _answer_from_weights(self, query: str) -> Answer:
        """Answer a query from the weights, and remember the answer."""
        expected = float(self._shares[self._cells_of(query)].sum()) * self._rows
        return self._keep(query, expected, self.plan.bound(self._rows), "the weights tell it")

    def _measured(self, counted: Counted) -> Answer:
        """Remember a measured count as the answer, and move the weights towards it."""
        cells = self._cells_of(counted.query)
        expected = float(self._shares[cells].sum()) * self._rows
        self._distances.append(abs(counted.count - expected))
        step = float(self.plan.accuracy) / 2 * (1 if counted.count > expected else -1)
        self._shares[cells] *= math.exp(step)
        self._shares /= self._shares.sum()
        margin = Gaussian(counted.sigma).margin(_CONFIDENCE)
        return self._keep(counted.query, float(counted.count), float(margin), "measured: the weights were far from it")

    def _take_up(self, step: Step) -> None:
        """Replay a stored step: remember its answer again, and move the weights as before."""
        if isinstance(step, Compared):
            self._queries_asked += 1
            if not step.is_far:
                self._answer_from_weights(step.query)
        elif isinstance(step, Counted):
            self._measured(step)

    def _keep(self, query: str, count: float, margin: float, note: str) -> Answer:
        column = Column("n", [count], [max(0.0, count - margin)], [max(0.0, count + margin)])
        self._known[query] = Answer([column], confidence=_CONFIDENCE, notes=(note,), release_id=self._run.id)
        return self._known[query]

    def _query_of(self, patterns: Sequence[Mapping[str, Any]]) -> str:
        """Patterns as text: for each column of a pattern, the indices of its allowed values."""
        if not patterns:
            raise InvalidParameter("patterns", "nothing", "says which rows count", hint='w.count({"region": "north"})')
        names = [column.name for column in self._columns]
        indexed_patterns = []
        for pattern in patterns:
            for name in pattern:
                if name not in names:
                    hint = did_you_mean(str(name), names) or None
                    raise InvalidParameter("patterns", name, "is not one of the columns", hint=hint)
            axes = sorted((names.index(name), allowed) for name, allowed in pattern.items())
            indexed_patterns.append([[axis, _value_indices(self._columns[axis], allowed)] for axis, allowed in axes])
        return json.dumps([pattern for pattern, _ in itertools.groupby(sorted(indexed_patterns))])

    def _cells_of(self, query: str) -> Chosen:
        """The combinations that fit one of the patterns."""
        cells = np.zeros(self._sizes, dtype=bool)
        for pattern in json.loads(query):
            matches = np.ones(self._sizes, dtype=bool)
            for axis, indices in pattern:
                allowed = np.isin(np.arange(self._sizes[axis]), indices)
                matches &= allowed.reshape([-1 if dimension == axis else 1 for dimension in range(len(self._sizes))])
            cells |= matches
        return cells.ravel()

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def updates(self) -> int:
        """How often the weights have moved."""
        return len(self._distances)

    def close(self) -> None:
        """End the run: nothing more is drawn. The charge remains."""
        self._run.settle()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._stack.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        plan = self.plan
        greatest_distance = f"{max(self._distances):,.0f} rows at most" if self._distances else "no far query"
        return (
            f"<MultiplicativeWeights over {plan.cells:,} combinations of about {self._rows:,.0f} rows: "
            f"{self._queries_asked:,} of {plan.queries:,} queries asked\n"
            f"  an answer from the weights is off by {plan.bound(self._rows):,.0f} rows at most, by the theorem "
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
