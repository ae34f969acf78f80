"""A synthetic table: rows that were drawn from a model, the model, and where both come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.synth.report import Report

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.answers.column import Value
    from giveortake.privacy import ApproxDP, Guarantee
    from giveortake.session.run_steps import Step
    from giveortake.synth.maximum_likelihood import Fitted
    from giveortake.synth.measured import Measured
    from giveortake.synth.model import Model


@final
@dataclass(frozen=True, slots=True, eq=False)
class SyntheticTable:
    """Rows of a model that was fitted to noisy counts. No row is anybody's.

    One row of it stands for one row of the private table: which rows belong to one person is lost.
    """

    model: Model
    fitted: Fitted
    measured: tuple[Measured, ...]
    charges: tuple[tuple[Step, Fraction], ...]
    promise: ApproxDP
    rho: Fraction
    guarantee: Guarantee
    release_id: str
    surrogates: tuple[str, ...]
    rows: int | None
    charged: bool
    counted: tuple[str, ...] = ()
    _drawn: list[Answer] = field(default_factory=list, repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the table."""
        said = ["one row stands for one row: which rows belong to one person is lost", *self.counted]
        if not self.fitted.converged:
            said.append(f"the fit has stopped {self.fitted.distance:.2f} deviations from its minimum")
        if not self.charged:
            said.append("asked before: nothing was charged again")
        return tuple(said)

    @property
    def table(self) -> Answer:
        """The rows, drawn once: as many as were released, or as were asked for."""
        if not self._drawn:
            self._drawn.append(self.sample(self.rows))
        return self._drawn[0]

    def sample(self, rows: int | None = None) -> Answer:
        """Other rows of the same model, for free."""
        drawn = self.model.sample(rows)
        count = len(drawn)
        keys = [Column(name, np.arange(1, count + 1)) for name in self.surrogates]
        return Answer([*keys, *drawn.columns], notes=drawn.notes)

    def marginal(self, *columns: str) -> Answer:
        """The expected counts of some columns, by the model itself: closer than counting synthetic rows."""
        return self.model.marginal(*columns)

    def report(self, *, simulations: int = 4) -> Report:
        """Charges by round, what was measured, the predicted error of each pair, and what was not measured."""
        return Report.of(self, simulations)

    def to_polars(self) -> Any:
        """A polars DataFrame of the rows."""
        return self.table.to_polars()

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the rows."""
        return self.table.to_pandas()

    def to_arrow(self) -> Any:
        """A pyarrow Table of the rows."""
        return self.table.to_arrow()

    def to_dict(self) -> dict[str, list[Value]]:
        """Lists of the values of each column."""
        return self.table.to_dict()

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """The rows as CSV, written to `path` or returned; no text is a formula, as in `Answer.to_csv`."""
        return self.table.to_csv(path)

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows to a Parquet file."""
        self.table.to_parquet(path)

    def to_duckdb(self, path: str | Path, table: str = "synthetic") -> None:
        """Write the rows into a table of a DuckDB file, which must not be there yet."""
        from giveortake.engines.duckdb.tables import write_table  # noqa: PLC0415 (heavy)

        write_table(self.table, Path(path), table)

    def __len__(self) -> int:
        return len(self.table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow C stream."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names = ", ".join([*self.surrogates, *(column.name for column in self.model.columns)])
        count = round(self.model.total) if self.rows is None else self.rows
        return f"<SyntheticTable of {names}: {count:,} rows, ρ = {float(self.rho):.4g}>"
