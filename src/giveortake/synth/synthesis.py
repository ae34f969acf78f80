"""`synthesize`: a synthetic table from a session, under one charge.

- Which tables a synthesis may measure, as they were asked for: a workload of marginals, or lists of columns.
- What a synthesis would cost, and about how exact it will be, before anything is charged.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from giveortake import codec
from giveortake.answers.render import of_counted_rows
from giveortake.answers.terms import CAP_TERMS
from giveortake.errors import InvalidParameter, did_you_mean
from giveortake.exact import decimal, positive, whole
from giveortake.plan import Kind
from giveortake.plan.describe import capped_rows
from giveortake.progress import rounds_shown
from giveortake.session.kinds.learning_data import served_to_asker
from giveortake.session.kinds.runs import BoundPlan, NoisyTable, PlannedRun, Run
from giveortake.session.requests import Request, request
from giveortake.session.session import mechanism_of
from giveortake.synth.columns import (
    FunctionalDependency,
    Never,
    declared_edges,
    fine_edges,
    key_column,
    model_column,
    quantile_edges,
    stated_bins,
    written_zero,
    zero_factors,
    zero_of,
)
from giveortake.synth.junction_tree import cells_of
from giveortake.synth.maximum_likelihood import optimizer
from giveortake.synth.model import Model
from giveortake.synth.rounds import (
    FOR_SELECTION,
    FOR_SINGLE_COLUMNS,
    MOST_CELLS,
    MOST_IN_TABLE,
    ROUNDS_PER_COLUMN,
    Rounds,
    pairs_within,
    single_shares,
)
from giveortake.synth.synthetic_table import SyntheticTable
from giveortake.workload import Workload
from giveortake.workload.bound_workload import Attributes, declared_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from giveortake.compile import Spend, Terms
    from giveortake.engines import KeyColumn
    from giveortake.exact import Number
    from giveortake.plan import Relation
    from giveortake.session.kinds.runs import AdaptiveRun
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.quotes import Quote
    from giveortake.session.session import Session
    from giveortake.synth.columns import Zero
    from giveortake.synth.model import ModelColumn


_LARGEST = 3  # columns of one table
_WEIGHTS = 1 << 10  # the whole number that the greatest weight becomes


def wanted_tables(workload: Any, names: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The tables with their weights as whole numbers, in proportion. Single columns are measured anyway.

    >>> wanted_tables([("age", "sex"), ("age", "region")], ["age", "sex", "region"])
    {('age', 'sex'): 1024, ('age', 'region'): 1024}
    """
    listed = _listed(workload)
    weights: dict[tuple[str, ...], Fraction] = {}
    for table, weight in listed:
        for name in table:
            if name not in names:
                raise InvalidParameter(
                    "workload",
                    name,
                    "is not one of the columns",
                    hint=did_you_mean(str(name), names) or "add it to columns=",
                )
        if len(set(table)) < len(table) or len(table) > _LARGEST:
            raise InvalidParameter("workload", list(table), f"is not a table of up to {_LARGEST} different columns")
        if len(table) > 1:
            ordered = tuple(sorted(table, key=list(names).index))
            weights[ordered] = weights.get(ordered, Fraction(0)) + positive("weight", weight)
    if not weights:
        raise InvalidParameter("workload", workload, "holds no table of two columns", hint="leave it out for all pairs")
    greatest = max(weights.values())
    return {table: max(1, round(weight / greatest * _WEIGHTS)) for table, weight in weights.items()}


def _listed(workload: Any) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(workload, Workload):
        marginals = workload.marginal_weights()
        if workload.ranges or set(marginals) != {None}:
            raise InvalidParameter(
                "workload", workload, "asks for more than counts of tables", hint="gt.workload.marginals([…], up_to=2)"
            )
        return [(tuple(sorted(table)), weight) for table, weight in marginals[None].items()]
    if isinstance(workload, Mapping):
        return [(tuple(table), weight) for table, weight in workload.items()]
    if isinstance(workload, Sequence) and not isinstance(workload, str):
        if any(isinstance(table, str) or not isinstance(table, Sequence) for table in workload):
            raise InvalidParameter("workload", workload, "is not a list of lists", hint='[("age", "sex"), …]')
        return [(tuple(table), 1) for table in workload]
    raise InvalidParameter("workload", workload, "is not a workload", hint='[("age", "sex"), …]')


FORMAT = 1
MOST_COLUMNS = 100
FOR_BINS = Fraction(1, 20)  # of ρ, if any column has bins by quantiles
LEAST_ROUND = Fraction(1, 10**8)  # ρ of one round: below it, selections are random and counts are noise


@served_to_asker
def synthesize(
    session: Session,
    *,
    columns: Sequence[str],
    workload: Any = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number | None = None,
    bins: Mapping[str, Any] | None = None,
    zeros: Sequence[Zero] = (),
    rows: int | str = "released",
    key: str | None = None,
    table: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SyntheticTable:
    """A synthetic table of some columns, which keeps what was measured of the private one; one charge of ZCDP(ρ).

    Single columns are measured first; then, again and again, the table of two columns (or those of `workload`) that the
    model fits worst is selected and measured. ρ is what the race of an (ε, δ) budget admits. Numbers are counted in
    `bins`: edges `[0, 10, 100]`, an edge twice for a bin of that one number, or a number of bins by private quantiles,
    which takes a twentieth of ρ. `zeros` are combinations of values that cannot be, `{"sex": "male", "pregnant":
    "yes"}`, or `FunctionalDependency`. `rows` is how many are drawn: as many as were released, or a number; never the
    true one. A column that names the unit gets fresh keys.

    A run that is interrupted stays charged, and continues where it was when the same is asked again.
    """
    count = None if rows == "released" else whole("rows", rows)
    wanted = SynthesisRequest.of(session, table, columns, workload, bins, zeros)
    terms = wanted.terms({"epsilon": epsilon, "delta": delta, "share": share})
    mechanism = mechanism_of(session)
    synthetic: SyntheticTable = mechanism.answer(replace(wanted, progress=progress), terms, key)
    return replace(synthetic, rows=count)


@served_to_asker
def quote(
    session: Session,
    *,
    columns: Sequence[str],
    workload: Any = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number | None = None,
    bins: Mapping[str, Any] | None = None,
    zeros: Sequence[Zero] = (),
    rows: int | str = "released",  # noqa: ARG001 (costs nothing)
    key: str | None = None,  # noqa: ARG001 (nothing is charged)
    table: str | None = None,
    progress: Callable[[int, int], None] | None = None,  # noqa: ARG001 (there is nothing to wait for)
) -> Quote:
    """What `synthesize` with the same arguments would cost and do. No row is read, and nothing is charged."""
    wanted = SynthesisRequest.of(session, table, columns, workload, bins, zeros)
    mechanism = mechanism_of(session)
    return mechanism.quote(wanted, wanted.terms({"epsilon": epsilon, "delta": delta, "share": share}))


Edge: TypeAlias = int | float | str | Fraction | dt.datetime | dt.date


@final
@request("synthesis")
@dataclass(frozen=True, slots=True, eq=False)
class SynthesisRequest(Request):
    """A synthetic table of some columns; see `synthesize`. `wanted` are the tables that may be measured."""

    without: ClassVar[tuple[str, ...]] = (
        *("rho", "mu", "margin", "confidence", "confidence_over", "key_delta", "aim", "n"),
        *CAP_TERMS,
    )
    table: str
    columns: tuple[str, ...]
    wanted: tuple[tuple[tuple[str, ...], int], ...] | None = None
    bins: Mapping[str, int | tuple[Edge, ...]] = field(default_factory=dict)
    zeros: tuple[FunctionalDependency | Never, ...] = ()
    progress: Any = field(default=None, metadata={"stored": False})  # is told of each round

    @classmethod
    def of(  # noqa: PLR0917 (they are what `synthesize` takes)
        cls, session: Session, table: str | None, columns: Any, workload: Any, bins: Any, zeros: Any
    ) -> SynthesisRequest:
        """Check what was stated."""
        name, relation = _private(session, table)
        names, _ = _names(columns, relation)
        wanted = None if workload is None else tuple(wanted_tables(workload, names).items())
        if isinstance(zeros, str | Mapping) or not isinstance(zeros, Sequence):
            raise InvalidParameter("zeros", zeros, "is not a list", hint='zeros=[{"sex": "male", "pregnant": "yes"}]')
        edges = {
            column: listed if isinstance(listed, int) else tuple(listed)
            for column, listed in stated_bins(bins, names).items()
        }
        return cls(name, tuple(columns), wanted, edges, tuple(written_zero(zero) for zero in zeros))

    def terms(self, stated: Mapping[str, Any]) -> Terms:
        terms = super(SynthesisRequest, self).terms(
            {name: value for name, value in stated.items() if value is not None}
        )
        if terms.share is None:
            for name, fix in (("epsilon", "1"), ("delta", "1e-6")):
                if stated.get(name) is None:
                    raise InvalidParameter(
                        name, None, "is missing: synthetic tables are made of Gaussian noise", hint=f'{name}="{fix}"'
                    )
        return terms

    def bind(self, mechanism: InteractiveMechanism, _terms: Terms) -> BoundPlan:
        optimizer()  # without scipy nothing is charged
        relation = mechanism.table(self.table)

        def plan(spend: Spend) -> PlannedRun:
            synthesis = Synthesis.from_request(mechanism, relation, spend, self)

            def complete(run: AdaptiveRun) -> SyntheticTable:
                with watched(self.progress) as report_progress:
                    return synthesis.complete(run, report_progress)

            return PlannedRun(synthesis.run, complete, synthesis.quoted)

        return BoundPlan(self, mechanism, plan, in_rho=True)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Synthesis:
    """A checked request for a synthesis. Making one charges nothing, and looks at no row."""

    run: Run
    relation: Relation
    names: tuple[str, ...]
    surrogates: tuple[str, ...]  # columns that name the unit, which get fresh keys
    declared: tuple[ModelColumn | None, ...]  # None where bins are still to be found
    by_quantiles: Mapping[str, int]
    wanted: Mapping[tuple[str, ...], int] | None
    zeros: tuple[Zero, ...]

    @classmethod
    def from_request(
        cls, mechanism: InteractiveMechanism, relation: Relation, spend: Spend, request: SynthesisRequest
    ) -> Synthesis:
        """Check what was asked for; whatever cannot be done is refused here, before any charge."""
        zeros = [zero_of(zero) for zero in request.zeros]
        names, surrogates = _names(request.columns, relation)
        bins_by_column = stated_bins(request.bins, names)
        by_quantiles = {column_name: count for column_name, count in bins_by_column.items() if isinstance(count, int)}
        edges = {
            column_name: declared_edges(relation, column_name, listed)
            for column_name, listed in bins_by_column.items()
            if column_name not in by_quantiles
        }
        declared = tuple(
            None if column_name in by_quantiles else model_column(relation, column_name, edges.get(column_name))
            for column_name in names
        )
        wanted = None if request.wanted is None else wanted_tables(dict(request.wanted), names)
        content = {
            "format": FORMAT,
            "synthesis": [None if column is None else column.to_json() for column in declared],
            "columns": list(names),
            "quantiles": {
                column_name: [count, *map(str, fine_edges(relation, column_name))]
                for column_name, count in by_quantiles.items()
            },
            "wanted": None if wanted is None else [[*wanted_table, weight] for wanted_table, weight in wanted.items()],
            "zeros": [codec.write(zero) for zero in request.zeros],
        }
        description = f"a synthetic table of {', '.join(names)}"
        listed = [column.name for column in declared if column is not None and column.categories is not None]
        rows = declared_rows(relation, Attributes.of(relation, listed))
        run = Run.of_tables(mechanism, rows, spend, content, description)
        synthesis = cls(run, relation, names, surrogates, declared, by_quantiles, wanted, tuple(zeros))
        synthesis._require_possible()
        return synthesis

    # -- before the charge --------------------------------------------------------------------------------------

    def _require_possible(self) -> None:
        sizes = self._expected_sizes()
        rounds = ROUNDS_PER_COLUMN * len(sizes)
        if self.run.rho / rounds < LEAST_ROUND:
            raise InvalidParameter(
                "epsilon",
                str(self.run.spend),
                f"buys only ρ = {decimal(self.run.rho, 3)}, too little for {rounds} rounds",
                hint="spend more, or name fewer columns",
            )
        if sum(sizes) > MOST_CELLS:
            raise InvalidParameter(
                "columns",
                f"{len(sizes)} columns of {sum(sizes):,} values",
                f"are too many for a model of {MOST_CELLS:,} cells",
                hint="name fewer columns, or give the widest of them bins",
            )
        for table in self.tables(sizes):
            if cells_of(table, sizes) > MOST_IN_TABLE:
                raise InvalidParameter(
                    "workload",
                    [self.names[column_index] for column_index in table],
                    f"has {cells_of(table, sizes):,} cells, more than {MOST_IN_TABLE:,}",
                    hint="leave it out, or give its widest column bins",
                )
        self._require_possible_zeros()
        fine = [self._fine_key(name) for name in self.by_quantiles]
        known = [key_column(column) for column in self.declared if column is not None]
        self.run.require([(key,) for key in (*fine, *known)])

    def _require_possible_zeros(self) -> None:
        for zero in self.zeros:
            named = {zero.column, zero.other} if isinstance(zero, FunctionalDependency) else set(zero)
            if named & self.by_quantiles.keys():
                raise InvalidParameter(
                    "zeros",
                    sorted(named & self.by_quantiles.keys()),
                    "has bins by quantiles, whose edges are not known yet",
                    hint="list the edges of its bins",
                )
        columns = [
            model_column(self.relation, name, fine_edges(self.relation, name)) if column is None else column
            for name, column in zip(self.names, self.declared, strict=True)
        ]
        zero_factors(self.zeros, columns, MOST_CELLS)

    def _expected_sizes(self) -> list[int]:
        """The number of values of each column; for bins by quantiles, the most that are possible."""
        return [
            self.by_quantiles[name] + self.relation.schema[name].nullable if column is None else column.size
            for name, column in zip(self.names, self.declared, strict=True)
        ]

    def tables(self, sizes: Sequence[int]) -> dict[tuple[int, ...], int]:
        """The tables that may be measured, by the indices of their columns, with their weights."""
        if self.wanted is None:
            return dict.fromkeys(pairs_within(sizes), 1)
        return {
            tuple(sorted(self.names.index(name) for name in table)): weight for table, weight in self.wanted.items()
        }

    def quoted(self) -> dict[str, Any]:
        """About how exact it will be: the rounds that the charge is shared out among, and the deviations, in rows."""
        sizes = self._expected_sizes()
        tables = self.tables(sizes)
        rho = self.run.rho * ((1 - FOR_BINS) if self.by_quantiles else 1)
        rounds = ROUNDS_PER_COLUMN * len(sizes)
        moved = self.run.moved_by_unit
        of_round = float(2 * rho * (1 - FOR_SINGLE_COLUMNS) * (1 - FOR_SELECTION) / rounds)
        pairs, ends = len(sizes) * (len(sizes) - 1) // 2, self.run.contestants_ended()
        too_large = pairs - len(tables) if self.wanted is None else 0
        return {
            "title": of_counted_rows(
                f"{self.run.words}: one charge of ρ = {decimal(self.run.rho, 4)}", capped_rows(self.relation)
            ),
            "lines": tuple(
                {"column": name, "deviation": moved / float(2 * rho * FOR_SINGLE_COLUMNS * share) ** 0.5}
                for name, share in zip(self.names, single_shares(sizes), strict=True)
            ),
            "facts": {
                "rho": self.run.rho,
                "rounds": rounds,
                "tables": len(tables),
                "deviation_of_round": moved / of_round**0.5,
            },
            "notes": (
                *self.counted,
                *([f"{too_large} pairs of columns have too many cells, and are never measured"] if too_large else []),
                *(
                    [f"several sums guard the budget: this ends those of {', '.join(ends)}, and the others go on"]
                    if ends
                    else []
                ),
            ),
        }

    @property
    def counted(self) -> tuple[str, ...]:
        """Which rows are in no table, and which are in a bin beyond its edges. All tables count the same rows."""
        known = [column for column in self.declared if column is not None]
        listed = [column.name for column in known if column.categories is not None and not _has_every_value(column)]
        notes = [f"rows with an undeclared value of {', '.join(listed)} are left out of all tables"] if listed else []
        for column in known:
            domain = self.relation.schema[column.name]
            if column.edges is not None and (domain.low is None or domain.low < column.edges[0]):
                notes.append(f"numbers of {column.name} below its first edge are in its first bin")
            if column.edges is not None and (domain.high is None or domain.high > column.edges[-1]):
                notes.append(f"numbers of {column.name} above its last edge are in its last bin")
        return tuple(notes)

    # -- the run ------------------------------------------------------------------------------------------------

    def complete(self, run: AdaptiveRun, report_progress: Callable[[int, int], None]) -> SyntheticTable:
        """Run it to its end, and make the table."""
        columns = self._columns(run)
        sizes = [column.size for column in columns]
        zeros = zero_factors(self.zeros, columns, MOST_CELLS)
        rounds = Rounds([key_column(column) for column in columns], self.tables(sizes), zeros, run, report_progress)
        fitted = rounds.complete()
        return SyntheticTable(
            Model.from_fit(columns, fitted, zeros),
            fitted,
            tuple(rounds.measured()),
            tuple(run.charges()),
            self.run.stated,
            self.run.rho,
            self.run.promise,
            run.id,
            self.surrogates,
            charged=run.charged,
            counted=self.counted,
            capped_rows=capped_rows(self.relation),
        )

    def _columns(self, run: AdaptiveRun) -> list[ModelColumn]:
        """All columns; bins by quantiles come from noisy counts of narrow bins, which are measured first."""
        measured = {step.names: step for step in run.steps if isinstance(step, NoisyTable)}
        share = FOR_BINS * run.rho / max(1, len(self.by_quantiles))
        columns = []
        for name, column in zip(self.names, self.declared, strict=True):
            if column is not None:
                columns.append(column)
                continue
            fine = fine_edges(self.relation, name)
            key = self._fine_key(name)
            step = measured.get((key.name,)) or run.measure((key,), share, residual=False)
            counts = step.counts[: len(fine) - 1].tolist()
            edges = quantile_edges(fine, counts, self.by_quantiles[name])
            columns.append(model_column(self.relation, name, edges))
        return columns

    def _fine_key(self, name: str) -> KeyColumn:
        """The narrow bins of a column, under a name of their own."""
        narrow = model_column(self.relation, name, fine_edges(self.relation, name))
        return replace(key_column(narrow), name=f"narrow bins of {name}")


def _has_every_value(column: ModelColumn) -> bool:
    return column.kind is Kind.BOOLEAN and column.size == 3


def _private(session: Session, table: str | None) -> tuple[str, Relation]:
    if not hasattr(session, "describe"):
        raise InvalidParameter("session", type(session).__name__, "is not a session", hint="gt.protect(…) makes one")
    private = session.describe().catalog.private
    if table is None and len(private) > 1:
        raise InvalidParameter("table", None, "is missing: there are several tables", hint=", ".join(private))
    name = next(iter(private)) if table is None else table
    if name not in private:
        raise InvalidParameter(
            "table", name, "is not a private table", hint=f"{did_you_mean(name, private)}{', '.join(private)}"
        )
    return name, private[name]


def _names(columns: Sequence[str], relation: Relation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that are modelled, and those that get fresh keys."""
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InvalidParameter("columns", columns, "is not a list of columns", hint='columns=["age", "region"]')
    surrogates = tuple(name for name in columns if name == relation.person)
    names = tuple(name for name in columns if name != relation.person)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidParameter("columns", list(columns), "names fewer than two columns, or one of them twice")
    if len(names) > MOST_COLUMNS:
        raise InvalidParameter("columns", len(names), f"are more than {MOST_COLUMNS}", hint="name those that matter")
    return names, surrogates


def watched(
    progress: Callable[[int, int], None] | None,
) -> AbstractContextManager[Callable[[int, int], None]]:
    """What is called with every round: `progress`, or else a function that shows rounds in a terminal."""
    if progress is not None:
        return nullcontext(progress)
    return rounds_shown("synthesising")
