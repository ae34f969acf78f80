"""The rounds of a synthesis: what is measured next, and how wrong the model still is.

- Rounds measure single columns, then select and measure what the model fits worst [MMSM22]. All that a round sees are
  released numbers. A run that was interrupted begins with what was drawn before, and goes on from there: the model is
  fitted again, which costs nothing.
- A forecast of errors, without another look at rows: the fitted model is taken for the truth, what was measured is
  simulated from it with the noise it had, and fitted anew to the end. How far the new tables are from the model's tells
  how far the model's are from the private ones, as far as noise is the reason. What was never measured may be wrong for
  another reason, and no simulation shows that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.mechanisms.marginals import row_sensitivity
from giveortake.mechanisms.selection import Candidate
from giveortake.randomness import SYSTEM_ENTROPY, uniform_integers
from giveortake.session.kinds.runs import Choice, NoisyTable
from giveortake.synth.junction_tree import Triangulation, cells_of
from giveortake.synth.maximum_likelihood import Measured, fit, released_total, without_low_orders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.engines import KeyColumn
    from giveortake.randomness import Entropy
    from giveortake.session.kinds.runs import AdaptiveRun, Step
    from giveortake.synth.junction_tree import Columns
    from giveortake.synth.maximum_likelihood import Fitted

    Floats: TypeAlias = npt.NDArray[np.float64]


_DIGITS = 1 << 53


def forecast(
    fitted: Fitted,
    measured: Sequence[Measured],
    tables: Sequence[Columns],
    *,
    zeros: Mapping[Columns, Floats],
    simulations: int,
    entropy: Entropy = SYSTEM_ENTROPY,
) -> dict[Columns, float]:
    """The expected total variation distance of each table: half the sum of all differences of shares."""
    distances = dict.fromkeys(tables, 0.0)
    sizes = fitted.tree.sizes
    for _ in range(simulations):
        simulated = [_simulated(fitted, measurement, entropy) for measurement in measured]
        refitted = fit(sizes, simulated, fitted.total, zeros=zeros, start=fitted.factors)
        for table in tables:
            distance = 0.5 * float(
                np.abs(refitted.calibrated.marginal(table) - fitted.calibrated.marginal(table)).sum()
            )
            distances[table] += distance / simulations
    return distances


def _simulated(fitted: Fitted, measured: Measured, entropy: Entropy) -> Measured:
    noisy = fitted.counts(measured.columns) + measured.sigma * _normal(measured.counts.shape, entropy)
    return Measured(
        measured.columns, without_low_orders(noisy) if measured.residual else noisy, measured.sigma, measured.residual
    )


def _normal(shape: tuple[int, ...], entropy: Entropy) -> Floats:
    """Normal numbers in doubles: a simulation protects nobody, and needs no exact law."""
    size = int(np.prod(shape))
    first, second = ((uniform_integers(_DIGITS, size, entropy) + 0.5) / _DIGITS for _ in range(2))
    drawn: Floats = (np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)).reshape(shape)
    return drawn


FOR_SINGLE_COLUMNS = Fraction(1, 5)  # of ρ
FOR_SELECTION = Fraction(1, 10)  # of a round
ROUNDS_PER_COLUMN = 3
MOST_CELLS = 150_000  # of the junction tree
MOST_IN_TABLE = 20_000  # cells of a table that is measured
_GROWTH = Fraction(3, 2)  # of a round's ρ, when the last one changed little: at 4, too few rounds would be left
_EARLY = 0.25  # of the junction tree's cells that may be used from the first round on
_HANDICAP = 0.5  # of the noise that a table would get: large tables of noise are not worth measuring
_MEAN_OF_NORMAL = math.sqrt(2 / math.pi)
_DUST = Fraction(1, 1000)  # of a round: what is too little for another one


@final
@dataclass(slots=True, eq=False)
class Rounds:
    """A synthesis in progress. `candidates` are the tables that may be measured, with their weights."""

    columns: Sequence[KeyColumn]
    candidates: Mapping[Columns, int]
    zeros: Mapping[Columns, Floats]
    run: AdaptiveRun
    report_progress: Callable[[int, int], None]
    model: Fitted | None = field(default=None, init=False)
    _step: Fraction = field(default=Fraction(0), init=False)
    _cells: dict[tuple[frozenset[Columns], Columns], int] = field(default_factory=dict, init=False)

    @property
    def sizes(self) -> list[int]:
        """The number of values of each column."""
        return [len(column.values or ()) for column in self.columns]

    @property
    def planned(self) -> int:
        """About how many rounds there are."""
        return ROUNDS_PER_COLUMN * len(self.columns)

    def measured(self) -> list[Measured]:
        """Everything that was measured of tables of these columns, in order."""
        column_indices = {column.name: column_index for column_index, column in enumerate(self.columns)}
        return [
            Measured(tuple(column_indices[name] for name in step.names), step.counts, float(step.sigma), step.residual)
            for step in self.run.steps
            if isinstance(step, NoisyTable) and set(step.names) <= column_indices.keys()
        ]

    def complete(self) -> Fitted:
        """Run to the end from the current state; then fit what was measured as well as possible.

        Only what was measured decides where that fit begins: whoever asks again, or reads the release, gets this model.
        """
        if not self.run.is_settled:
            self._measure_single_columns()
            self._run_rounds()
            self.run.settle()
        measured = self.measured()
        return fit(self.sizes, measured, released_total(measured), zeros=self.zeros)

    # -- single columns -----------------------------------------------------------------------------------------

    def _measure_single_columns(self) -> None:
        """Measure every column, with a share of ρ by the number of its values to the power of 2/3."""
        done = {measurement.columns for measurement in self.measured()}
        shares = single_shares(self.sizes)
        whole = self.run.left + sum((cost for step, cost in self.run.charges() if self._is_single(step)), Fraction(0))
        for column_index, column in enumerate(self.columns):
            if (column_index,) not in done:
                self.run.measure((column,), whole * FOR_SINGLE_COLUMNS * shares[column_index], residual=False)

    def _is_single(self, step: Step) -> bool:
        names = {column.name for column in self.columns}
        return isinstance(step, NoisyTable) and len(step.names) == 1 and step.names[0] in names

    # -- rounds -------------------------------------------------------------------------------------------------

    def _run_rounds(self) -> None:
        self._resume()
        done = sum(isinstance(step, Choice) for step in self.run.steps)
        while self.run.left > self._step * _DUST:
            self.report_progress(done, max(self.planned, done + 1))
            if not self._round():
                break
            done += 1
        self.report_progress(done, done)

    def _resume(self) -> None:
        """Resume: set the size of a round, measure what was selected but not yet measured, and fit the model."""
        pairs = [pair for pair in self.run.charges() if not self._is_single(pair[0])]
        names = {column.name for column in self.columns}
        costs = [cost for step, cost in pairs if set(step.names) <= names]
        self._step = sum(costs[-2:], Fraction(0)) if len(costs) >= 2 else self.run.left / self.planned
        last = self.run.steps[-1]
        if isinstance(last, Choice):
            self._measure(tuple(self._column_index(name) for name in last.names), self._step * (1 - FOR_SELECTION))
        self._fit()

    def _round(self) -> bool:
        """Select a table and measure what single columns do not explain of it; False if there is none."""
        run, model = self.run, self._model
        if run.left < 2 * self._step:
            self._step = run.left
        for_selection = self._step * FOR_SELECTION
        for_values = self._step - for_selection
        tables = self._allowed_tables()
        if not tables:
            return False
        expected = {table: model.counts(table) for table in tables}
        noise = {table: self._noise(table, for_values) for table in tables}
        offered = [
            Candidate.from_counts(expected[table], weight=self.candidates[table], handicap=_HANDICAP * noise[table])
            for table in tables
        ]
        chosen = tables[run.select([self._keys(table) for table in tables], offered, for_selection)]
        self._measure(chosen, min(for_values, run.left))
        self._fit()
        moved = float(np.abs(self._model.counts(chosen) - expected[chosen]).sum())
        if moved <= noise[chosen]:
            self._step *= _GROWTH
        return True

    def _measure(self, table: Columns, rho: Fraction) -> None:
        self.run.measure(self._keys(table), rho, residual=True)

    def _fit(self) -> None:
        measured = self.measured()
        start = None if self.model is None else self.model.factors
        total = released_total(measured)
        self.model = fit(self.sizes, measured, total, zeros=self.zeros, start=start, rough=True)

    @property
    def _model(self) -> Fitted:
        assert self.model is not None  # noqa: S101 (fitted before the first round)
        return self.model

    def _noise(self, table: Columns, rho: Fraction) -> float:
        """The expected sum of all absolute noises that a table would get."""
        shape = tuple(self.sizes[column_index] for column_index in table)
        moved = float(row_sensitivity(shape, self.run.neighbours)) * self.run.rows_of_unit
        return _MEAN_OF_NORMAL * moved / math.sqrt(2 * rho) * math.prod(shape)

    def _allowed_tables(self) -> list[Columns]:
        """The tables that the junction tree can add; it may grow as more of ρ is spent."""
        tree = self._model.tree
        most = MOST_CELLS * max(_EARLY, 1 - float(self.run.left / self.run.rho))
        modelled = frozenset([*(measurement.columns for measurement in self.measured()), *self.zeros])
        return [
            table
            for table in self.candidates
            if tree.home(table) is not None or self._cells_with(modelled, table) <= most
        ]

    def _cells_with(self, modelled: frozenset[Columns], table: Columns) -> int:
        """How many cells the junction tree would have with one more table in it."""
        if (modelled, table) not in self._cells:
            self._cells[modelled, table] = Triangulation.from_groups(self.sizes, [*sorted(modelled), table]).cells
        return self._cells[modelled, table]

    def _keys(self, table: Columns) -> tuple[KeyColumn, ...]:
        return tuple(self.columns[column_index] for column_index in table)

    def _column_index(self, name: str) -> int:
        return [column.name for column in self.columns].index(name)


def single_shares(sizes: Sequence[int]) -> list[Fraction]:
    """How the ρ for single columns is shared out: by the power 2/3 of their sizes, for the least total error."""
    weights = [Fraction(round(size ** (2 / 3) * 1024)) for size in sizes]
    return [weight / sum(weights) for weight in weights]


def pairs_within(sizes: Sequence[int]) -> list[Columns]:
    """All pairs of columns whose table is small enough to be measured."""
    count = len(sizes)
    pairs = [(one, other) for one in range(count) for other in range(one + 1, count)]
    return [pair for pair in pairs if cells_of(pair, sizes) <= MOST_IN_TABLE]
