"""Synthetic tables and their reports.

- A synthetic table: rows that were drawn from a model, the model, and where both come from.
- Its report: what was spent on what, how exact it is, and what should not be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.answers import Answer, Column, render
from giveortake.answers.render import escaped, text_table
from giveortake.exact import decimal, whole
from giveortake.session.kinds.runs import Choice
from giveortake.synth.rounds import forecast

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from fractions import Fraction

    from giveortake.answers.column import Value
    from giveortake.privacy import Guarantee
    from giveortake.session.kinds.runs import Step
    from giveortake.synth.maximum_likelihood import Fitted, Measured
    from giveortake.synth.model import Model


_WARNINGS = (
    "Tables that were not measured follow only from the measured ones; nothing here says how far off they are.",
    "Intervals and tests that take synthetic rows for real ones are wrong: use measured tables, whose noise is known.",
    "Nothing here was compared with the private table: that would be a question, and would be charged.",
)


@final
@dataclass(frozen=True, slots=True)
class ReportedTable:
    """A pair of columns: how often it was measured, with which noise, and its predicted error."""

    columns: tuple[str, ...]
    times: int
    sigma: float | None
    predicted: float


@final
@dataclass(frozen=True, slots=True)
class Report:
    """What a synthesis has done. `rounds` are steps with their charges; distances are total variation."""

    title: str
    facts: tuple[tuple[str, str], ...]
    rounds: tuple[tuple[str, str, str], ...]
    tables: tuple[ReportedTable, ...]
    warnings: tuple[str, ...]

    @classmethod
    def from_table(cls, synthetic: SyntheticTable, simulations: int) -> Report:
        """The report of a table; the predicted errors are simulated, which takes a fit for each simulation."""
        names = [column.name for column in synthetic.model.columns]
        pairs = list(combinations(range(len(names)), 2))
        wanted = list(
            dict.fromkeys(
                [*(measurement.columns for measurement in synthetic.measured if len(measurement.columns) > 1), *pairs]
            )
        )
        predicted = forecast(
            synthetic.fitted,
            synthetic.measured,
            wanted,
            zeros=synthetic.model.zeros,
            simulations=whole("simulations", simulations),
        )
        tables = []
        for table in wanted:
            measurements = [measurement for measurement in synthetic.measured if measurement.columns == table]
            sigma = sum(measurement.sigma**-2 for measurement in measurements) ** -0.5 if measurements else None
            tables.append(
                ReportedTable(
                    tuple(names[column_index] for column_index in table), len(measurements), sigma, predicted[table]
                )
            )
        converged = (
            "converged" if synthetic.fitted.converged else f"stopped at {synthetic.fitted.distance:.3f} deviations"
        )
        return cls(
            render.of_counted_rows(f"A synthetic table of {len(names)} columns", synthetic.capped_rows),
            (
                ("charge", f"ρ = {decimal(synthetic.rho, 5)}, once, as ZCDP"),
                ("promise", str(synthetic.guarantee)),
                ("rows released", f"about {round(synthetic.model.total):,}"),
                (
                    "model",
                    (
                        f"{synthetic.fitted.tree.cells:,} cells in {len(synthetic.fitted.tree.cliques)} cliques; "
                        f"fit {converged}"
                    ),
                ),
                ("release", synthetic.release_id),
                *(("note", note) for note in synthetic.notes),
            ),
            tuple(
                ("select" if isinstance(step, Choice) else "measure", ", ".join(step.names), decimal(cost, 3))
                for step, cost in synthetic.charges
            ),
            tuple(sorted(tables, key=lambda table: (table.times == 0, -table.predicted))),
            _WARNINGS,
        )

    @property
    def unmeasured(self) -> tuple[tuple[str, ...], ...]:
        """The pairs of columns that were never measured."""
        return tuple(table.columns for table in self.tables if not table.times)

    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """A chart of the predicted errors, of measured and unmeasured tables apart, saved where a path is given."""
        from giveortake.plot import predicted_errors, titled_or_saved  # noqa: PLC0415 (heavy)

        rows = [(" × ".join(table.columns), bool(table.times), table.predicted) for table in self.tables]
        return titled_or_saved(lambda words: predicted_errors(rows, title=words), title)

    def to_markdown(self) -> str:
        """The report as Markdown."""
        parts = [f"# {escaped(self.title)}", *(f"- **{name}**: {escaped(text)}" for name, text in self.facts)]
        parts += ["", "## Charges, step by step", "", *_markdown(("step", "columns", "ρ"), self.rounds)]
        parts += ["", "## Tables", "", *_markdown(_HEAD, self._rows()), ""]
        return "\n".join([*parts, *(f"> {escaped(warning)}\n" for warning in self.warnings)])

    def to_html(self) -> str:
        """The report as a page of HTML; every text is escaped."""
        body = "".join(
            [
                render.card(self.title, render.fact_list(self.facts)),
                render.card("Charges, step by step", render.table(("step", "columns", "ρ"), self.rounds)),
                render.card("Tables", render.table(_HEAD, self._rows())),
                *(f"<p>{render.text(warning)}</p>" for warning in self.warnings),
            ]
        )
        head = f'<meta charset="utf-8"><title>{render.text(self.title)}</title>'
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        parts = [self.title, *(f"  {name}: {text}" for name, text in self.facts), ""]
        parts += [text_table(("step", "columns", "ρ"), self.rounds, ""), text_table(_HEAD, self._rows(), "")]
        return "\n".join([*parts, *self.warnings])

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                ", ".join(table.columns),
                f"{table.times} ×" if table.times else "not measured: do not trust it",
                "" if table.sigma is None else f"{table.sigma:,.1f}",
                f"{table.predicted:.4f}" if table.times else f"≥ {table.predicted:.4f}",
            )
            for table in self.tables
        ]


_HEAD = ("columns", "measured", "deviation of a count, rows", "predicted error")


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


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
    promise: Guarantee
    rho: Fraction
    guarantee: Guarantee
    release_id: str
    surrogates: tuple[str, ...]
    charged: bool
    counted: tuple[str, ...] = ()
    capped_rows: int | None = None  # how many rows of a person count at most; None where all do
    rows: int | None = None
    _drawn: list[Answer] = field(default_factory=list, repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the table."""
        notes = ["one row stands for one row: which rows belong to one person is lost", *self.counted]
        if not self.fitted.converged:
            notes.append(f"the fit has stopped {self.fitted.distance:.2f} deviations from its minimum")
        if not self.charged:
            notes.append("asked before: nothing was charged again")
        return tuple(notes)

    @property
    def table(self) -> Answer:
        """The rows, drawn once: as many as were released, or as asked for. Who reads the release again draws others."""
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
        return Report.from_table(self, simulations)

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
        title = f"SyntheticTable of {names}: {count:,} rows, ρ = {float(self.rho):.4g}"
        return f"<{render.of_counted_rows(title, self.capped_rows)}>"
