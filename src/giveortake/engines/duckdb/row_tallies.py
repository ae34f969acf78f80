"""Tallies of rows by few aggregates: what several summands have in common is computed once for each row.

The integers are those of `giveortake.engines.sql.statements.tally_statement`, whatever the rows, because

- Σ (s − shift) is Σ s − shift · (how many s there are), in integers; 128 bits hold both, for each is below 2⁶³ times
  the number of rows, which is below 2⁶³ too;
- a number that is moved into bounds, and then into narrower ones, could be moved into the narrower ones at once;
- steps are missing where the value is, and nowhere else, so that either may be counted; the other rows lack it.

Values are compared with bounds, which leaves what is missing missing: `least` and `greatest` take twice as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from giveortake.engines.sql.statements import select_rows, told_apart
from giveortake.plan import Call, Kind, Literal

if TYPE_CHECKING:
    from giveortake.engines.questions import Quantum, Summand, Tally
    from giveortake.engines.sql.dialect import Dialect
    from giveortake.engines.sql.relations import Printer
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Expression, Schema


def row_tally_statement(printer: Printer, tally: Tally, coded: Coded) -> str:
    """One row for each key that occurs: its code and its integers, of rows that all count in full."""
    wanted = _Aggregates(printer, tally)
    answers = [f"{wanted.answer(each)} AS a{index}" for index, each in enumerate(tally.summands)]
    keys = coded.names()
    person = told_apart if any(each.counts_persons for each in tally.summands) else None
    rows = select_rows(printer, tally.relation, tally.keys, list(wanted.values.values()), person)
    names = [*keys, *(["p"] if person is not None else []), *wanted.values_counted()]
    computed = [*names, *(f"{text} AS {name}" for text, name in wanted.steps.items())]
    aggregates = [*keys, *(f"{text} AS {name}" for text, name in wanted.aggregates.items())]
    lines = f"SELECT {', '.join(computed) or '1 AS one'} FROM ({rows}) AS r"
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    grouped = f"SELECT {', '.join(aggregates)} FROM ({lines}) AS s{group}"
    return f"SELECT {coded.code()} AS code, {', '.join(answers)} FROM ({grouped}) AS g{coded.joins(printer, 'g')}"


@final
class _Aggregates:
    """Values v0, v1 … of rows, steps s0, s1 … of values, and aggregates t0, t1 … of either, none of them twice.

    Each is known by its text: equal constants may be of different types, equal texts are not.
    """

    def __init__(self, printer: Printer, tally: Tally) -> None:
        self._printer = printer
        self._schema = tally.relation.schema
        self.values: dict[str, Expression] = {}
        self.steps: dict[str, str] = {}
        self.aggregates: dict[str, str] = {}
        self._counted: dict[str, str] = {}  # a column that is missing where a value is
        for each in tally.summands:
            if each.quantum is not None:
                self._steps(each, each.quantum)

    def values_counted(self) -> list[str]:
        """The values that are aggregated themselves."""
        return [name for name in self._counted.values() if name.startswith("v")]

    def answer(self, summand: Summand) -> str:
        """A summand, computed from the aggregates."""
        match summand.kind:
            case "rows":
                return self._aggregate("count(*)")
            case "persons":
                return self._aggregate("count(DISTINCT p)")
            case "values":
                assert summand.of is not None  # noqa: S101 (values have it)
                lacking = _lacking(summand.of)
                if lacking is None:
                    return self._count(summand.of)
                return f"{self._aggregate('count(*)')} - {self._count(lacking)}"
            case "sum":
                assert summand.quantum is not None  # noqa: S101 (sums have it)
                steps, shift = self._steps(summand, summand.quantum), summand.quantum.shift
                total = self._aggregate(f"coalesce(sum({steps}), 0)")
                if not shift:
                    return total
                return f"{total} - CAST({self._aggregate(f'count({steps})')} AS HUGEINT) * ({shift})"

    def _count(self, of: Expression) -> str:
        """How many rows have a value, by steps that are made of it, if there are some."""
        of = _never_moved(of)
        text = self._text(of)
        if text not in self._counted:
            self._counted[text] = self._value(of)
        return self._aggregate(f"count({self._counted[text]})")

    def _steps(self, summand: Summand, quantum: Quantum) -> str:
        assert summand.of is not None  # noqa: S101 (sums have it)
        of = _moved_once(summand.of, quantum, self._schema)
        text = steps_before_shift(self._printer.dialect, self._value(of), of.domain(self._schema).kind, quantum)
        steps = self.steps.setdefault(text, f"s{len(self.steps)}")
        self._counted.setdefault(self._text(_never_moved(of)), steps)
        return steps

    def _value(self, of: Expression) -> str:
        text = self._text(of)
        self.values.setdefault(text, of)
        return f"v{list(self.values).index(text)}"

    def _aggregate(self, text: str) -> str:
        return f"g.{self.aggregates.setdefault(text, f't{len(self.aggregates)}')}"

    def _text(self, of: Expression) -> str:
        return self._printer.expression(of, self._schema)


def _lacking(of: Expression) -> Expression | None:
    """The expression that is missing exactly where a value is present, if the value has that form (`compile.sides`)."""
    match of:
        case Call("case", (Call("is_null", (inner,)), Literal(there), Literal(None))) if there is not None:
            return inner
    return None


def _never_moved(of: Expression) -> Expression:
    """An expression without its outermost clamps, which leave missing values missing."""
    while isinstance(of, Call) and of.name == "clamp":
        of = of.arguments[0]
    return of


def _moved_once(of: Expression, quantum: Quantum, schema: Schema) -> Expression:
    """An expression without outermost clamps that are no narrower than the bounds of its steps."""
    while isinstance(of, Call) and of.name == "clamp":
        outer, inner = of.domain(schema), of.arguments[0].domain(schema)
        is_whole = outer.kind is Kind.INTEGER
        if is_whole is not (inner.kind is Kind.INTEGER) or outer.low is None or outer.high is None:
            return of
        if is_whole and quantum.is_whole:
            low, high = int(outer.low), int(outer.high)
            if quantum.least + quantum.shift < low or high < quantum.most + quantum.shift:
                return of
        elif is_whole or float(quantum.low) < float(outer.low) or float(outer.high) < float(quantum.high):
            return of
        of = of.arguments[0]
    return of


def steps_before_shift(dialect: Dialect, column: str, kind: Kind, quantum: Quantum) -> str:
    """A column of numbers in whole steps, before these are shifted. Missing stays missing."""
    least, most = quantum.least + quantum.shift, quantum.most + quantum.shift
    if quantum.is_whole and kind is Kind.INTEGER:
        return f"CAST({_into_bounds(column, str(least), str(most))} AS BIGINT)"
    real = _into_bounds(dialect.real(column), dialect.double(quantum.low), dialect.double(quantum.high))
    stored = "INTEGER" if -(2**31) < least <= most < 2**31 else "BIGINT"
    return f"CAST({dialect.lattice(real, quantum.granularity)} AS {stored})"


def _into_bounds(number: str, low: str, high: str) -> str:
    within = f"WHEN {number} BETWEEN {low} AND {high} THEN {number}"
    return f"CASE {within} WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} END"
