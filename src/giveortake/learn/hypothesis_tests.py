"""Tests of hypotheses from what was released, and the tables of counts behind them.

Guarantee [GLRV16]: nothing in a test reads rows. Under the hypothesis the statistic is redrawn 9,999 times: rows as the
hypothesis has them, at margins, means and variances that are estimated from the release, and the noise by its own law.
The p-value is the share of draws that are as far out as what was released, which counts, too. It is uniform under the
hypothesis as far as these estimates are near, which they are with many rows: measured, between 4 and 6 % of p-values
are below 5 % from n·μ = 40 on, and fewer below that. A classical p-value, which takes noisy counts for counts, is too
small. Persons with several rows are refused: their rows are not independent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, final

import numpy as np

from giveortake import codec
from giveortake.answers import render
from giveortake.codec import stored
from giveortake.engines import Component, KeyColumn
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import counted, positive
from giveortake.learn.base import Document
from giveortake.learn.features import Category, Reals, ScaledNumber, classes_of
from giveortake.learn.moments import Moments
from giveortake.learn.noisy_sums import (
    FitContext,
    FitPlan,
    FitTerms,
    Fitting,
    fit_terms,
    names_of,
    planned_run,
    promised,
    vector_sum,
)
from giveortake.plan import ColumnReference
from giveortake.privacy import Guarantee
from giveortake.session.kinds.learning_data import LearningData, served_to_asker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake import frame
    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.learn.noisy_sums import NoisySums
    from giveortake.session import Session
    from giveortake.session.kinds.runs import PlannedRun


@served_to_asker
def contingency(
    s: Session | frame.Table,
    columns: Sequence[str],
    *,
    clip: int | None = None,
    key: str | None = None,
    **terms: Unpack[FitTerms],
) -> Contingency:
    """Counts by one or two columns of declared categories, in one Gaussian release.

    Guarantee: a row is in one cell at most, so it moves the table by 1 if it is added, by √2 if it is changed, and a
    person by `clip` times that. Rows with a missing or undeclared category are in no cell.
    """
    table: Contingency = ContingencyFitting(names_of(columns), clip).answered(LearningData.of(s), fit_terms(terms), key)
    return table


@final
@stored("contingency of columns")
@dataclass(frozen=True, eq=False)
class ContingencyFitting(Fitting):
    """Counts by one or two columns."""

    columns: tuple[str, ...]
    clip: int | None = None

    def planned(self, data: LearningData, spend: Spend, n: int | None = None) -> PlannedRun:
        columns = self.columns
        if len(columns) not in {1, 2} or len(set(columns)) < len(columns):
            raise InvalidParameter("columns", columns, "needs one column or two, in a list", hint='["sex", "smoker"]')
        categories = tuple(classes_of(data.schema, name, "columns") for name in columns)
        return planned_run(
            ContingencyPlan(FitContext.from_parameters(data, spend, self.clip, None), categories), promised, n
        )


@final
class ContingencyPlan(FitPlan):
    """One pass: the number of rows in each cell."""

    stored_name: ClassVar[str] = "ContingencyTask"

    def __init__(self, context: FitContext, columns: tuple[Category, ...]) -> None:
        self.context, self.columns = context, columns
        self.shares = {"counts": Fraction(1)}

    def known(self) -> list[VectorSum]:
        keys = [KeyColumn(column.name, ColumnReference(column.name), column.values) for column in self.columns]
        cells = Component((), tuple(range(len(keys))))
        return [vector_sum(self.context.relation, (), [cells], self.context.rows, keys=keys)]

    def names(self) -> dict[str, Any]:
        return {"columns": [codec.write(column) for column in self.columns]}

    def words(self) -> str:
        return f"a table of {' and '.join(column.name for column in self.columns)}"

    def learn(self, noisy_sums: NoisySums) -> Contingency:
        released = noisy_sums.add_up("counts", self.known()[0], self.shares["counts"])
        shape = [len(column.values) for column in self.columns]
        return Contingency(
            self.columns,
            released.cells(0).reshape(shape),
            released.deviation(),
            by_row=self.context.by_row,
            capped_rows=self.context.capped_rows,
        )


@final
@stored("contingency")
@dataclass(frozen=True, eq=False, repr=False)
class Contingency(Document):
    """Released counts, each give or take noise of the same deviation; some may be negative.

    `by_row` says that no person has more than one row, which tests of hypotheses need.
    """

    columns: tuple[Category, ...]
    counts: Reals
    noise: float
    guarantee: Guarantee | None = None
    release_id: str | None = None
    by_row: bool = False
    capped_rows: int | None = None  # how many rows of a person count at most; None where all do

    @property
    def n(self) -> float:
        """About how many rows there are."""
        return float(self.counts.sum())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        first = self.columns[0]
        head = [str(value) for value in self.columns[1].values] if len(self.columns) == 2 else ["n"]
        rows = [
            [str(name), *(f"{count:,.0f}" for count in np.atleast_1d(self.counts[index]))]
            for index, name in enumerate(first.values)
        ]
        return [" by ".join(column.name for column in self.columns), *head], rows

    def _title(self) -> str:
        return render.of_counted_rows(f"{self.n:,.0f} rows, each count ± {2 * self.noise:,.0f}", self.capped_rows)

    def __repr__(self) -> str:
        head, rows = self._table()
        return "\n".join([*render.aligned([head, *rows], str.rjust), self._title()])

    def _repr_html_(self) -> str:
        return render.card(self._title(), render.table(*self._table()))


_DRAWS = 9_999
_SEED = 20_160_619  # the same release has the same p-value


@final
@dataclass(frozen=True, repr=False)
class HypothesisTest:
    """A hypothesis, how far from it the released numbers are, and how often they would be that far under it."""

    hypothesis: str
    statistic: float
    p_value: float
    estimate: float | None = None
    estimate_of: str = ""
    capped_rows: int | None = None  # how many rows of a person count at most; None where all do

    def _facts(self) -> list[tuple[str, str]]:
        least = 1 / (_DRAWS + 1)
        p = f"below {2 * least:.1g}" if self.p_value <= least else f"{self.p_value:.4f}"
        facts = [("p", p), ("statistic", f"{self.statistic:.4g}; its distribution includes the noise")]
        return facts if self.estimate is None else [*facts, (self.estimate_of, f"about {self.estimate:.4g}")]

    def __repr__(self) -> str:
        title = render.of_counted_rows(f"hypothesis: {self.hypothesis}", self.capped_rows)
        return "\n".join([title, *(f"  {name}: {text}" for name, text in self._facts())])

    def _repr_html_(self) -> str:
        title = render.of_counted_rows(self.hypothesis, self.capped_rows)
        return render.card(title, render.fact_list(self._facts()))


def independence(table: Contingency) -> HypothesisTest:
    """χ² test that two columns are independent. Margins are estimated, so this holds for large n·μ."""
    _require_columns(table, 2, "independence")
    n = _rows(table.n, table.noise)
    first, second = (_shares(table.counts.sum(axis=axis)) for axis in (1, 0))
    drawn = _noisy_counts(n, np.outer(first, second), table.noise)
    statistics = _chi_square_of_independence(np.concatenate([table.counts[None], drawn]), table.noise)
    names = [column.name for column in table.columns]
    return _test(f"{names[0]} and {names[1]} are independent", statistics, table)


def goodness_of_fit(table: Contingency, expected: Mapping[Any, Any] | Sequence[Any] | None = None) -> HypothesisTest:
    """χ² test that the categories of one column have the expected shares, or equal ones."""
    _require_columns(table, 1, "goodness_of_fit")
    shares = _expected(table.columns[0], expected)
    n = _rows(table.n, table.noise)
    counts = np.concatenate([table.counts[None], _noisy_counts(n, shares, table.noise)])
    means = counts.sum(axis=1, keepdims=True) * shares
    statistics = _squares(counts, means, table.noise, (1,))
    return _test(f"{table.columns[0].name} has the expected shares", statistics, table)


def difference_of_means(moments: Moments, value: str, by: str) -> HypothesisTest:
    """Test that the mean of a number is the same where a column has its first and where it has its second value.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(2, "1e-6"), domains=domains)
    >>> moments = gt.learn.moments(s, ["age", "sick"], epsilon=1, delta="1e-7")
    >>> gt.learn.difference_of_means(moments, "age", "sick").p_value < 0.01
    True
    """
    _require_moments(moments)
    column, _ = moments.feature(by)
    if not isinstance(column, Category) or len(column.values) != 2:
        raise InvalidParameter("by", by, "does not have exactly two declared values", hint="anova(…) compares several")
    test = anova(moments, value, by)
    one, other = (f"{by}={label}" for label in column.values)
    group = _Groups.from_moments(moments, value, by)
    sums, counts = group.released()
    means = sums / np.maximum(counts, group.noise)
    number, _ = moments.feature(value)
    half = float(number.high - number.low) / 2 if isinstance(number, ScaledNumber) else 1.0
    return HypothesisTest(
        f"{value} has the same mean for {one} and {other}",
        test.statistic,
        test.p_value,
        float(means[1] - means[0]) * half,
        f"mean for {other} less that for {one}",
        moments.capped_rows,
    )


def anova(moments: Moments, value: str, by: str) -> HypothesisTest:
    """Test that the mean of a number is the same in all groups, whose variances are taken to be equal.

    Rows without a declared category are in no group, and in no moments. Means and variance are estimated: it holds for
    large n·μ.
    """
    _require_moments(moments)
    statistics = _Groups.from_moments(moments, value, by).statistics(np.random.default_rng(_SEED))
    return _test(f"{value} has the same mean for every {by}", statistics, moments)


def correlation(moments: Moments, first: str, second: str) -> HypothesisTest:
    """Test that two numbers are not correlated, being independent. Variances are estimated: it holds for large n·μ.

    >>> import polars as pl
    >>> people = {"age": [20, 30, 40, 50] * 500, "weight": [60, 65, 70, 80] * 500, "sick": [0, 0, 1, 1] * 500}
    >>> domains = {"age": (0, 100), "weight": (40, 120), "sick": [0, 1]}
    >>> s = gt.protect(pl.DataFrame(people), unit=gt.ROW, budget=gt.ApproxDP(4, "1e-6"), domains=domains)
    >>> moments = gt.learn.moments(s, ["age", "weight"], epsilon=3, delta="1e-7")
    >>> gt.learn.correlation(moments, "age", "weight").p_value < 0.01
    True
    """
    _require_moments(moments)
    indexes = [_number(moments, name) for name in (first, second)]
    if first == second:
        raise InvalidParameter("second", second, "is the first column: there is nothing to test")
    random, sigma = np.random.default_rng(_SEED), moments.noise
    n = _rows(moments.n, sigma)
    chosen = np.ix_([0, *indexes], [0, *indexes])
    matrix = moments.scaled[chosen]
    means = np.clip(matrix[0, 1:] / n, -1, 1)
    spreads = np.clip(np.diag(matrix)[1:] / n - means**2, 1e-6, 1)
    sums = n * means + np.sqrt(n * spreads) * random.normal(size=(_DRAWS, 2))
    squares = spreads * random.chisquare(max(n - 1, 1), (_DRAWS, 2)) + sums**2 / n
    cross = np.sqrt(n * spreads.prod()) * random.normal(size=_DRAWS) + sums.prod(axis=1) / n
    drawn = np.column_stack([np.full(_DRAWS, float(n)), sums, squares, cross])
    drawn += sigma * random.normal(size=drawn.shape) * np.array([1, 0.5**0.5, 0.5**0.5, 1, 1, 0.5**0.5])
    released = np.array([matrix[0, 0], *matrix[0, 1:], *np.diag(matrix)[1:], matrix[1, 2]])
    statistics = _correlations(np.concatenate([released[None], drawn]), sigma)
    test = _test(f"{first} and {second} are not correlated", np.abs(statistics), moments)
    names = moments.names
    related = moments.correlations()[names.index(first), names.index(second)]
    return replace(test, estimate=float(related), estimate_of="correlation")


# -- sums of groups -----------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class _Groups:
    """Numbers of rows and sums of a number by group, from moments: the first group is the total less the others."""

    total: Reals  # n, the sum, the sum of squares
    counts: Reals  # of all groups but the first
    sums: Reals
    noise: float

    @classmethod
    def from_moments(cls, moments: Moments, value: str, by: str) -> _Groups:
        column, indexes = moments.feature(by)
        if not isinstance(column, Category):
            raise InvalidParameter("by", by, "has no declared categories")
        number_index, matrix = _number(moments, value), moments.scaled
        total = np.array([matrix[0, 0], matrix[0, number_index], matrix[number_index, number_index]])
        return cls(total, matrix[0, indexes], matrix[number_index, indexes], moments.noise)

    def released(self) -> tuple[Reals, Reals]:
        """The sums and the numbers of rows of all groups."""
        sums = np.concatenate([[self.total[1] - self.sums.sum()], self.sums])
        return sums, np.concatenate([[self.total[0] - self.counts.sum()], self.counts])

    def statistics(self, random: np.random.Generator) -> Reals:
        """How far groups are from one mean: first as released, then as redrawn under the hypothesis."""
        sigma = self.noise
        _, counts = self.released()
        group_sizes = np.maximum(np.rint(counts), 1)
        n = _rows(self.total[0], sigma)
        mean = float(np.clip(self.total[1] / n, -1, 1))
        spread = float(np.clip(self.total[2] / n - mean**2, 1e-6, 1))
        sums = group_sizes * mean + np.sqrt(group_sizes * spread) * random.normal(size=(_DRAWS, len(group_sizes)))
        within = spread * random.chisquare(max(group_sizes.sum() - len(group_sizes), 1), _DRAWS)
        squares = within + (sums**2 / group_sizes).sum(axis=1)
        total = np.column_stack([np.full(_DRAWS, group_sizes.sum()), sums.sum(axis=1), squares])
        total += sigma * random.normal(size=total.shape) * np.array([1, 0.5**0.5, 1])
        shape, product_noise = (_DRAWS, len(self.counts)), sigma * 0.5**0.5
        drawn = (
            total,
            np.broadcast_to(group_sizes[1:], shape) + product_noise * random.normal(size=shape),
            sums[:, 1:] + product_noise * random.normal(size=shape),
        )
        observed = (self.total, self.counts, self.sums)
        totals, counts, sums = (np.concatenate([one[None], many]) for one, many in zip(observed, drawn, strict=True))
        return _distances(totals, counts, sums, sigma)


def _distances(total: Reals, counts: Reals, sums: Reals, sigma: float) -> Reals:
    """Σ (Sᵍ − nᵍ·m)²/(nᵍ·v + noise), over all groups."""
    n = np.maximum(total[:, 0], max(sigma, 1))
    mean = np.clip(total[:, 1] / n, -1, 1)
    spread = np.clip(total[:, 2] / n - mean**2, 1e-6, 1)
    counts = np.column_stack([total[:, 0] - counts.sum(axis=1), counts])
    sums = np.column_stack([total[:, 1] - sums.sum(axis=1), sums])
    other_groups = counts.shape[1] - 1
    noises = sigma**2 * np.array([1.5 + other_groups / 2, *([1.0] * other_groups)])
    away = (sums - counts * mean[:, None]) ** 2
    return np.asarray((away / (np.maximum(counts, 0) * spread[:, None] + noises)).sum(axis=1))


def _correlations(drawn: Reals, sigma: float) -> Reals:
    """Sums of products about the means, in standard deviations."""
    n = np.maximum(drawn[:, 0], max(sigma, 1))
    means = np.clip(drawn[:, 1:3] / n[:, None], -1, 1)
    spreads = np.clip(drawn[:, 3:5] / n[:, None] - means**2, 1e-6, 1)
    centred = drawn[:, 5] - n * means.prod(axis=1)
    return np.asarray(centred / np.sqrt(n * spreads.prod(axis=1) + sigma**2))


# -- tables ---------------------------------------------------------------------------------------------------------


def _noisy_counts(n: int, shares: Reals, sigma: float) -> Reals:
    random = np.random.default_rng(_SEED)
    counts = random.multinomial(n, shares.ravel() / shares.sum(), _DRAWS).reshape(_DRAWS, *shares.shape)
    return np.asarray(counts + sigma * random.normal(size=counts.shape))


def _chi_square_of_independence(counts: Reals, sigma: float) -> Reals:
    total = np.maximum(counts.sum(axis=(1, 2)), 1)[:, None, None]
    means = np.maximum(counts.sum(axis=2, keepdims=True), 0) * np.maximum(counts.sum(axis=1, keepdims=True), 0) / total
    return _squares(counts, means, sigma, (1, 2))


def _squares(counts: Reals, means: Reals, sigma: float, axes: tuple[int, ...]) -> Reals:
    """Σ (O − E)²/(E + σ²): cells in which noise decides weigh little."""
    return np.asarray(((counts - means) ** 2 / (np.maximum(means, 0) + max(sigma**2, 1e-9))).sum(axis=axes))


def _shares(margin: Reals) -> Reals:
    counts = np.maximum(margin, 0)
    return np.asarray(counts / counts.sum()) if counts.sum() > 0 else np.full(len(counts), 1 / len(counts))


def _expected(column: Category, expected: Mapping[Any, Any] | Sequence[Any] | None) -> Reals:
    if expected is None:
        return np.full(len(column.values), 1 / len(column.values))
    listed = [expected.get(value) for value in column.values] if isinstance(expected, Mapping) else list(expected)
    if len(listed) != len(column.values) or any(share is None for share in listed):
        raise InvalidParameter(
            "expected", expected, f"does not have a share for each of {len(column.values)} categories"
        )
    shares = np.array([float(positive("expected", share)) for share in listed if share is not None])
    return np.asarray(shares / shares.sum())


# -- both -----------------------------------------------------------------------------------------------------------


def _test(hypothesis: str, statistics: Reals, released: Contingency | Moments) -> HypothesisTest:
    """The test with its p-value: the share of statistics no less than the first, the released one, included."""
    p_value = float((statistics >= statistics[0]).mean())
    return HypothesisTest(hypothesis, float(statistics[0]), p_value, capped_rows=released.capped_rows)


def _rows(n: float, noise: float) -> int:
    return round(max(n, noise, 1.0))


def _number(moments: Moments, name: str) -> int:
    feature, indexes = moments.feature(name)
    if not isinstance(feature, ScaledNumber):
        raise InvalidParameter("value", name, "is not a number", hint="independence(…) is for categories")
    return indexes[0]


def _require_columns(table: object, count: int, test: str) -> None:
    """Refuse what is no table of counts by so many columns."""
    if not isinstance(table, Contingency):
        columns = '["region"]' if count == 1 else '["region", "sex"]'
        raise InvalidParameter(
            "table",
            type(table).__name__,
            "is not a table of counts",
            hint=f'gt.learn.{test}(gt.learn.contingency(s, {columns}, epsilon="1", delta="1e-6"))',
        )
    names = [column.name for column in table.columns]
    if len(names) != count:
        example_columns = json.dumps([*names, "…"][:count], ensure_ascii=False)
        raise InvalidParameter(
            "table",
            " by ".join(names),
            f"has {counted(len(names), 'column')}, and {test} takes {'one' if count == 1 else 'two'}",
            hint=f'gt.learn.contingency(s, {example_columns}, epsilon="1", delta="1e-6")',
        )
    _require_one_row_each(table)


def _require_moments(moments: object) -> None:
    """Refuse what are no moments."""
    if not isinstance(moments, Moments):
        raise InvalidParameter(
            "moments",
            type(moments).__name__,
            "is not what gt.learn.moments released",
            hint='gt.learn.moments(s, ["age", "sex"], epsilon="1", delta="1e-6") makes them',
        )
    _require_one_row_each(moments)


def _require_one_row_each(released: Contingency | Moments) -> None:
    if not released.by_row:
        raise QueryRefused(
            "a test needs one row a person: several rows of one are not independent",
            hint="make one row of a person with s.table().per_person(…)",
        )
