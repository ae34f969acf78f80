"""MWEM: multiplicative weights over all combinations of values, steered by the exponential mechanism [HLM12].

Every round selects the table that the weights fit worst, measures it, and multiplies the weights of its cells by what
was measured over what was expected. This is the algorithm of the lectures, over a histogram of up to a million cells; a
junction tree (`synthesize`) does the same job with less noise, and without that bound.

Theorem. Let D be the number of cells, x the shares of the private table, p_t the weights before round t, and σ_t the
noise of the k_t counts that it measures, of n rows. Then

    E (1/T) Σ_t ‖x − p_t‖₁², of the selected tables, is at most (2/T)·(ln D + Σ_t 2·k_t·σ_t/n).

Proof. Let X be the exact counts of the table, y = X + z the noisy ones, M = max(y, σ) and m = M/ΣM. The step multiplies
p by m/p on every cell of the table, so that KL(x‖p) falls by Σ x·ln(m/p) = KL(x‖p) − KL(x‖m), of the table. It begins
at ln D at most, and never is below zero; hence Σ_t KL(x‖p_t) ≤ ln D + Σ_t KL(x‖m_t). By Pinsker's inequality the left
side is at least ½Σ‖x − p_t‖₁². On the right, with S = ΣM: n·KL(x‖m) = ΣX·ln(X/M) + n·ln(S/n) ≤ Σ(X·ln(X/M) − X + M),
because ln u ≤ u − 1, and each of these terms is at most (X − M)²/M ≤ (X − M)²/σ. Now |X − M| ≤ max(|z|, σ), and the
square of that has an expectation of at most 2σ². ∎ A first table, which gives n, is a step as well, whose noise counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.arguments import told_by_name
from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.mechanisms.selection import Candidate
from giveortake.session.runs import Choice, NoisyTable
from giveortake.synth.columns import key_column
from giveortake.synth.junction_tree import JunctionTree
from giveortake.synth.maximum_likelihood import Fitted, Measured, released_total
from giveortake.synth.model import Model
from giveortake.synth.synthesis import Synthesis, watched
from giveortake.synth.synthetic_table import SyntheticTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.session.runs import AdaptiveRun, Step
    from giveortake.session.session import Session
    from giveortake.synth.junction_tree import Columns

    Floats: TypeAlias = npt.NDArray[np.float64]

MOST_CELLS = 10**6
_FOR_TOTAL = Fraction(1, 20)  # of ρ: a first table, which tells how many rows there are
_FOR_SELECTION = Fraction(1, 10)  # of a round
_ROUNDS_PER_COLUMN = 3


@final
@dataclass(frozen=True, slots=True, eq=False)
class WeightedTable:
    """A synthetic table by multiplicative weights; with the error that the theorem promises, and the one that was seen.

    Both are root mean squares over all rounds of the distance ‖x − p‖₁ of the selected table before it was measured:
    `bound` by the theorem, with released numbers alone; `seen` between noisy counts and weights, noise included.
    """

    table: SyntheticTable
    bound: float
    seen: float
    rounds: int

    def __repr__(self) -> str:
        return (
            f"{self.table!r}\n{self.rounds} rounds: the misfit of the selected table, as the root mean square of "
            f"‖x − p‖₁, is at most {self.bound:.3f} by the theorem; {self.seen:.3f} was seen, noise included"
        )


@told_by_name({"columns": 'columns=["age", "region"]'})
def mwem(
    session: Session,
    *,
    columns: Sequence[str],
    epsilon: Number | None = None,
    delta: Number | None = None,
    workload: Any = None,
    bins: Mapping[str, Sequence[Any]] | None = None,
    rounds: int | None = None,
    rows: int | str = "released",
    key: str | None = None,
    table: str | None = None,
) -> WeightedTable:
    """Multiplicative weights over all combinations of some columns, up to a million; one charge of ZCDP(ρ).

    It is there for comparison: `synthesize` measures the same with less noise.
    """
    planned = None if rounds is None else whole("rounds", rounds)
    synthesis = Synthesis.from_arguments(
        session,
        columns=columns,
        workload=workload,
        epsilon=epsilon,
        delta=delta,
        bins=bins,
        table=table,
        algorithm={"mwem": planned},
    )
    if synthesis.by_quantiles:
        raise InvalidParameter("bins", dict(synthesis.by_quantiles), "are bins by quantiles", hint="list their edges")
    sizes = [column.size for column in synthesis.declared if column is not None]
    if math.prod(sizes) > MOST_CELLS:
        raise InvalidParameter(
            "columns",
            list(synthesis.names),
            f"have {math.prod(sizes):,} combinations, more than {MOST_CELLS:,}",
            hint="gt.synth.synthesize has no such limit",
        )
    count = None if rows == "released" else whole("rows", rows)
    with synthesis.request.begin(key) as run, watched(None) as report_progress:
        weights = _Weights(synthesis, run, planned or _ROUNDS_PER_COLUMN * len(sizes))
        while not run.is_settled and weights.rounds < weights.planned:
            report_progress(weights.rounds, weights.planned)
            weights.next_round()
        run.settle()
        return weights.result(count)


@final
class _Weights:
    """The weights after all steps drawn so far."""

    def __init__(self, synthesis: Synthesis, run: AdaptiveRun, planned: int) -> None:
        self._synthesis, self._run, self.planned = synthesis, run, planned
        self._columns = [column for column in synthesis.declared if column is not None]
        self._keys = [key_column(column) for column in self._columns]
        self._sizes = [column.size for column in self._columns]
        self._tables = list(synthesis.tables(self._sizes)) or list(combinations(range(len(self._sizes)), 2))
        self._shares: Floats = np.full(self._sizes, 1 / math.prod(self._sizes))
        self._measured: list[Measured] = []
        self._squares: list[float] = []
        self._noise = 0.0
        if not run.steps:
            run.measure((self._keys[0],), run.rho * _FOR_TOTAL, residual=False)
        for step in run.steps:
            self._take(step)

    @property
    def rounds(self) -> int:
        return len(self._measured) - 1

    def next_round(self) -> None:
        run, last = self._run, self._run.steps[-1]
        round_rho = run.rho * (1 - _FOR_TOTAL) / self.planned
        if isinstance(last, Choice):
            chosen = tuple(self._column_index(name) for name in last.names)
        else:
            offered = [Candidate.of(self._marginal(table) * self._total) for table in self._tables]
            keys = [[self._keys[column_index] for column_index in table] for table in self._tables]
            chosen = self._tables[run.select(keys, offered, round_rho * _FOR_SELECTION)]
        keys_of_chosen = [self._keys[column_index] for column_index in chosen]
        self._take(run.measure(keys_of_chosen, min(round_rho * (1 - _FOR_SELECTION), run.left), residual=False))

    def result(self, rows: int | None) -> WeightedTable:
        synthesis, run = self._synthesis, self._run
        everything = tuple(range(len(self._sizes)))
        tree = JunctionTree.from_groups(self._sizes, [everything])
        factors = {everything: np.log(np.maximum(self._shares, 1e-300))}
        calibrated, _ = tree.calibrate(factors)
        fitted = Fitted(factors, calibrated, self._total, 0.0, converged=True, steps=self.rounds)
        table = SyntheticTable(
            Model.from_fit(self._columns, fitted, {}),
            fitted,
            tuple(self._measured),
            tuple(run.charges()),
            synthesis.promise,
            synthesis.request.rho,
            synthesis.request.promise,
            run.id,
            synthesis.surrogates,
            rows,
            charged=run.charged,
        )
        rounds = max(1, self.rounds)
        bound = math.sqrt(2 / rounds * (math.log(math.prod(self._sizes)) + self._noise / self._total))
        return WeightedTable(table, bound, math.sqrt(sum(self._squares) / rounds), self.rounds)

    def _take(self, step: Step) -> None:
        """Update the weights, if the step measured something. The first table also gives the number of rows."""
        if not isinstance(step, NoisyTable):
            return
        columns = tuple(self._column_index(name) for name in step.names)
        self._measured.append(Measured(columns, step.counts, float(step.sigma)))
        counts = np.maximum(step.counts, float(step.sigma))
        target, current = counts / counts.sum(), self._marginal(columns)
        if len(self._measured) > 1:
            self._squares.append(float(np.abs(step.counts / self._total - current).sum()) ** 2)
        self._noise += 2 * step.counts.size * float(step.sigma)
        ratio = np.divide(target, current, out=np.zeros_like(target), where=current > 0)
        self._shares = self._shares * ratio.reshape(
            [size if column_index in columns else 1 for column_index, size in enumerate(self._sizes)]
        )
        self._shares /= self._shares.sum()

    @property
    def _total(self) -> float:
        return released_total(self._measured[:1])

    def _marginal(self, columns: Columns) -> Floats:
        other_columns = tuple(column_index for column_index in range(len(self._sizes)) if column_index not in columns)
        marginal: Floats = self._shares.sum(axis=other_columns)
        return marginal

    def _column_index(self, name: str) -> int:
        return [column.name for column in self._columns].index(name)
