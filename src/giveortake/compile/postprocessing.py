"""From noisy integers to an answer and its notes: all of it is post-processing, and free.

Key columns, the formulas with their intervals, HAVING, ORDER BY and LIMIT; then the promise of the answer, its recipe
and the citations.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.answers.answer import Remark
from giveortake.answers.render import number_text
from giveortake.answers.terms import LeftOut
from giveortake.compile.design import Measures
from giveortake.compile.formulas import Ratio
from giveortake.compile.measures import combined
from giveortake.compile.windows import AnswerRows, in_order
from giveortake.exact import exact_decimal
from giveortake.plan import ColumnReference, Computed, Kind, Literal, Measured, Quotient
from giveortake.plan.describe import rows_in_no_group, rows_without, undeclared_values, values_at_ends
from giveortake.plan.question import Condition, aggregates_in
from giveortake.privacy.definitions import together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from giveortake.answers.column import Kind as Face
    from giveortake.answers.terms import Confidence
    from giveortake.compile.measurement import Measurement
    from giveortake.compile.measures import Combined, Release
    from giveortake.engines import Keys
    from giveortake.plan import Question, Value
    from giveortake.privacy import Guarantee, Unit

FACES: dict[Kind, Face] = {
    Kind.INTEGER: "integer",
    Kind.DECIMAL: "decimal",
    Kind.REAL: "float",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "truth",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "time",
}

_AS_WIDE = 0.95  # of the bounds: an interval that wide says nothing

ENTROPY = "the operating system's generator; a guarantee assumes ideal coins, which makes it computational"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What an answer says beyond its releases."""

    unit: Unit
    confidence: Confidence
    release_id: str
    promised: tuple[Guarantee, ...] = ()  # by the releases that are refined
    left_out: LeftOut | None = None
    before: tuple[str, ...] = ()  # notes that come first
    after: tuple[str, ...] = ()


def answer_of(
    measurement: Measurement,
    keys: Keys,
    releases: Sequence[Release],
    circumstances: Circumstances,
    *,
    limit: int | None = None,
    refine: Callable[..., Answer] | None = None,
) -> Answer:
    """The answer from all releases. Its guarantee covers all of them together, its cost is that of the last one."""
    cost = measurement.promise(circumstances.unit)
    guarantee = cost
    joint: tuple[str, ...] = ()
    if circumstances.promised:
        guarantee = together([*circumstances.promised, cost])
        numbers, _, _ = str(guarantee).partition(":")  # without the sentence
        joint = (f"together with what it refines, it keeps {numbers}",)
    columns = answer_columns(
        measurement, keys, releases, circumstances.confidence, limit, left_out=circumstances.left_out
    )
    selections = [] if measurement.selection is None else [measurement.selection.mechanism.citation]
    return Answer(
        columns,
        refine=refine,
        guarantee=guarantee,
        cost=cost,
        citations=tuple(dict.fromkeys([*selections, *(noise.citation for noise in measurement.noises)])),
        recipe=_recipe(measurement),
        notes=(
            *circumstances.before,
            *undeclared_values(measurement.question),
            *values_at_ends(measurement.question),
            *joint,
            *_notes(measurement),
            *rows_in_no_group(measurement.question),
            *_missing(measurement, columns, limit),
            *_empty(measurement, keys),
            *_unknown(measurement, columns),
            *circumstances.after,
            *(() if circumstances.left_out is None else (str(circumstances.left_out),)),
        ),
        caps=measurement.binding_caps,
        left_out=circumstances.left_out,
        release_id=circumstances.release_id,
        confidence=circumstances.confidence,
        entropy=ENTROPY,
    )


def answer_columns(
    measurement: Measurement,
    keys: Keys,
    releases: Sequence[Release],
    confidence: Confidence,
    limit: int | None = None,
    *,
    left_out: LeftOut | None = None,
) -> list[Column]:
    """The columns computed from all releases of the same measures, keys first or in the stated order.

    `limit` is a maximum of rows, in addition to that of the question. `left_out` tells how many rows contribution
    bounds may leave out, in all groups together, except with a part of the probability to miss. Intervals hold the
    numbers of all rows then, and the rest of that probability is for the noise. If nothing is known of these rows,
    intervals hold the numbers of the rows that count, and are open on the side of the others.
    """
    rows = keys.rows()
    left_out_rows = 0 if left_out is None else left_out.rows
    miss = LeftOut.confidence_of_noise(left_out, confidence).miss(len(rows) * len(measurement.formulas))
    measures = combined(measurement.measures, releases, miss)
    of_all_rows = combined(measurement.measures, releases, miss, truncated_rows=left_out_rows) if left_out_rows else {}
    columns = _key_columns(measurement.question, keys, rows)
    measured = list(measurement.measures)
    formulas = Measures(measurement.question, measurement.stability, measurement.is_pure, measured, measurement.basis)
    row_mask = np.ones(len(rows), dtype=bool)
    if measurement.question.having is not None:
        truth = _Condition(measurement, rows, measures, miss, formulas).holds(measurement.question.having)
        row_mask = np.array([truth_value is True for truth_value in truth], dtype=bool)
    names = tuple(column.name for column in keys.columns)
    by_noise = measurement.selection is not None or bool(aggregates_in(measurement.question.having))
    answered = AnswerRows(names, rows, row_mask, by_noise)
    for name, formula in measurement.formulas:
        bound_formula = formula.bound(answered)
        estimates = bound_formula.evaluate(measures, miss, len(rows))
        if not formula.has_interval:
            columns.append(Column(name, _listed(estimates.values)))
            continue
        ends = (_listed(estimates.low), _listed(estimates.high))
        if of_all_rows:
            whole = bound_formula.evaluate(of_all_rows, miss, len(rows))
            widest = (np.fmin(estimates.low, whole.low), np.fmax(estimates.high, whole.high))
            columns.append(Column(name, _listed(estimates.values), *map(_listed, widest), noise=ends))
        else:
            sides = (False, False)
            if left_out is not None and left_out.rows is None:
                sides = left_out.open_sides(*formula.of_row(measurement.measures))
            columns.append(Column(name, _listed(estimates.values), *ends, open_sides=sides))
    row_indices = np.flatnonzero(row_mask).tolist()
    for order in reversed(measurement.question.order):
        if order.by is None:
            sort_column = next(column for column in columns if column.name == order.column)
            row_indices = in_order(_present(sort_column), row_indices, order)
        else:
            hidden = formulas.formula(order.by).bound(answered).evaluate(measures, miss, len(rows))
            row_indices = in_order(_present(hidden.values.tolist()), row_indices, order)
    for most in (measurement.question.limit, limit):
        row_indices = row_indices if most is None else row_indices[:most]
    if row_indices != list(range(len(rows))):
        columns = [column.selected(row_indices) for column in columns]
    by_name = {column.name: column for column in columns}
    return [by_name[name] for name in measurement.question.columns or tuple(by_name)]


def known_columns(question: Question, keys: Keys) -> list[Column]:
    """An answer's columns if it has only keys, in the order asked for."""
    rows = keys.rows()
    columns = _key_columns(question, keys, rows)
    by_name = {column.name: column for column in columns}
    row_indices = list(range(len(rows)))
    for order in reversed(question.order):
        row_indices = in_order(_present(by_name[order.column]), row_indices, order)
    row_indices = row_indices if question.limit is None else row_indices[: question.limit]
    return [by_name[name].selected(row_indices) for name in question.columns or tuple(by_name)]


def _key_columns(question: Question, keys: Keys, rows: list[tuple[Value, ...]]) -> list[Column]:
    schema = question.relation.schema
    return [
        Column(
            column.name, [face(row[column_index]) for row in rows], kind=FACES[column.expression.domain(schema).kind]
        )
        for column_index, column in enumerate(keys.columns)
    ]


def _listed(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    return [int(value) for value in values]


def _present(values: Iterable[Any]) -> list[Any]:
    """Plain values, with None for NaN."""
    return [None if value != value else value for value in values]  # noqa: PLR0124 (not a number)


def face(value: Value) -> Any:
    """A key in the form that answers show."""
    return exact_decimal(value) if isinstance(value, Fraction) else value


class _Condition:
    """Three-valued logic over the rows of an answer."""

    def __init__(
        self,
        measurement: Measurement,
        rows: list[tuple[Value, ...]],
        measures: Mapping[int, Combined],
        miss: float,
        formulas: Measures,
    ) -> None:
        self._measurement, self._rows, self._measures, self._miss = measurement, rows, measures, miss
        self._formulas = formulas

    def holds(self, condition: Condition) -> list[bool | None]:
        parts = condition.parts
        match condition.operation:
            case "and" | "or":
                one, other = (self.holds(part) for part in parts if isinstance(part, Condition))
                return [
                    _both(a, b) if condition.operation == "and" else _either(a, b)
                    for a, b in zip(one, other, strict=True)
                ]
            case "not":
                (inner,) = (self.holds(part) for part in parts if isinstance(part, Condition))
                return [None if truth_value is None else not truth_value for truth_value in inner]
            case "is_null":
                return [value is None for value in self._values(parts[0])]
            case "in":
                first, *options = [self._values(part) for part in parts]
                rows = enumerate(first)
                return [
                    None if value is None else any(value == option[row] for option in options) for row, value in rows
                ]
        one_side, other_side = (self._values(part) for part in parts)
        compare = _COMPARE[condition.operation]
        return [
            None if one is None or other is None else compare(one, other)
            for one, other in zip(one_side, other_side, strict=True)
        ]

    def _values(self, part: object) -> list[Any]:
        if isinstance(part, Measured | Quotient | Computed):
            estimates = self._formulas.formula(part).evaluate(self._measures, self._miss, len(self._rows))
            return _present(estimates.values.tolist())
        if isinstance(part, ColumnReference):
            column_index = [name for name, _ in self._measurement.question.keys].index(part.name)
            return [row[column_index] for row in self._rows]
        value = part.value if isinstance(part, Literal) else part
        return [float(value) if isinstance(value, Fraction) else value] * len(self._rows)


def _both(a: bool | None, b: bool | None) -> bool | None:
    return False if False in {a, b} else None if None in {a, b} else True


def _either(a: bool | None, b: bool | None) -> bool | None:
    return True if True in {a, b} else None if None in {a, b} else False


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


# -- provenance ------------------------------------------------------------------------------------------------------


def noise_in_words(measurement: Measurement) -> dict[str, str]:
    """The noise of every measure, by its name."""
    return {
        measure.name: measure.described(noise)
        for measure, noise in zip(measurement.measures, measurement.noises, strict=True)
    }


def caps_in_words(measurement: Measurement) -> str | None:
    """How much of one person counts, if anything is capped."""
    return None if measurement.binding_caps is None else str(measurement.binding_caps)


def of_units(measurement: Measurement, text: str) -> str:
    """A text about persons, or about rows if single rows are protected."""
    return text if measurement.question.relation.person is not None else text.replace("person", "row")


def _recipe(measurement: Measurement) -> dict[str, object]:
    """The spend, the caps, how keys are found, and the noise of every measure."""
    steps: dict[str, object] = {"spend": str(measurement.spend)}
    if measurement.binding_caps is not None:
        steps["contributions"] = str(measurement.binding_caps)
    if measurement.selection is not None:
        selection_text = (
            f"found in the data: shown if {measurement.selection.in_words}, "
            f"of at most {measurement.selection.touched} keys of each"
        )
        steps["keys"] = of_units(measurement, selection_text)
    return {**steps, **noise_in_words(measurement)}


def _empty(measurement: Measurement, keys: Keys) -> list[str]:
    """A remark with advice if no key was found."""
    if measurement.selection is None or keys.size:
        return []
    advice = "ask for more ε, for more δ for keys or for wider groups, or declare the domain of the grouping columns"
    return [Remark(f"no key was shown: {advice}")]


def _missing(measurement: Measurement, columns: list[Column], limit: int | None) -> list[str]:
    """Which keys are missing in a group: tables show a dash there. Noise may decide whether it is shown."""
    names = {name for name, _ in measurement.question.keys}
    incomplete_columns = [
        column for column in columns if column.name in names and any(value is None for value in column)
    ]
    unread = {column.name: any(isinstance(value, dt.date) for value in column) for column in incomplete_columns}
    other = " (of a CSV file also those whose date is not written as 2024-12-31)"
    notes = [
        f"– in `{name}`: the rows without one{other if dated else ''}, which are a group of their own"
        for name, dated in unread.items()
    ]
    all_shown = (measurement.selection, measurement.question.having, measurement.question.limit, limit) == (None,) * 4
    return notes if all_shown else [Remark(note) for note in notes]


def _unknown(measurement: Measurement, columns: list[Column]) -> list[str]:
    """Notes on quotients whose intervals say nothing, such as means of very few rows."""
    by_name = {column.name: column for column in columns}
    notes: list[str] = []
    for name, formula in measurement.formulas:
        if isinstance(formula, Ratio) and formula.low is not None and formula.high is not None:
            low, high = float(formula.low), float(formula.high)
            starts, ends = (np.asarray(end, dtype=np.float64) for end in (by_name[name].low, by_name[name].high))
            wide = int(np.count_nonzero(ends - starts >= _AS_WIDE * (high - low))) if low < high else 0
            if wide:
                caps = "higher caps, " if by_name[name].noise is not None else ""
                scope = "" if len(starts) == 1 else f"in {wide:,} of {len(starts):,} rows "
                notes.append(
                    Remark(
                        f"{scope}the interval of `{name}` is as wide as its bounds, {number_text(low)} to "
                        f"{number_text(high)}, and "
                        f"says nothing about it: ask for more ε, {caps}narrower bounds or larger groups"
                    )
                )
    return notes


def _notes(measurement: Measurement) -> tuple[str, ...]:
    """Notes on what the answer leaves out."""
    notes = []
    if measurement.selection is not None:
        least, counted = measurement.selection.least, measurement.selection.counted
        shared = f"only keys of about {least:,} {counted} or more are shown; declared domains show all"
        notes.append(of_units(measurement, shared))
        if measurement.selection.decides is not None:
            notes.append(
                "the noisy numbers that decided which keys to show are the answer: none of them is below the threshold"
            )
    person = measurement.question.relation.person
    if person is not None:
        without = rows_without(person)
        notes.append(without if measurement.binding_caps is None else f"{measurement.binding_caps}; {without}")
    bare = [name for name, formula in measurement.formulas if not formula.has_interval]
    if bare:
        notes.append(f"no interval is claimed for {', '.join(f'`{name}`' for name in bare)}: the order of rows decides")
    return tuple(notes)
