"""HAVING, ORDER BY and LIMIT: they act on the noisy answer, and are free."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.answers import Column
from giveortake.compile import evaluated
from giveortake.compile.aggregates import Measures
from giveortake.plan import Column as KeyColumn
from giveortake.plan import Literal, Measured, Quotient
from giveortake.plan.aggregates import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.compile import Measurement
    from giveortake.compile.releases import Combined
    from giveortake.plan import Value


def arranged(
    made: Measurement,
    columns: list[Column],
    rows: list[tuple[Value, ...]],
    measures: Mapping[int, Combined],
    miss: float,
    *,
    limit: int | None = None,
) -> list[Column]:
    """The rows that HAVING keeps, in the order asked for, as many as asked for, columns as they were named."""
    question = made.question
    kept = list(range(len(rows)))
    if question.having is not None:
        condition = _Condition(made, rows, measures, miss)
        truth = condition.holds(question.having)
        kept = [place for place in kept if truth[place] is True]
    for order in reversed(question.order):
        values = next(column for column in columns if column.name == order.column).values
        present = [place for place in kept if values[place] is not None]
        missing = [place for place in kept if values[place] is None]
        ranked: list[tuple[Any, int]] = sorted(
            ((values[place], -place if order.descending else place) for place in present), reverse=order.descending
        )
        present = [abs(place) for _, place in ranked]
        kept = [*missing, *present] if order.missing_first else [*present, *missing]
    for most in (question.limit, limit):
        kept = kept if most is None else kept[:most]
    if kept != list(range(len(rows))):
        columns = [_taken(column, kept) for column in columns]
    by_name = {column.name: column for column in columns}
    names = question.shown or tuple(by_name)
    return [by_name[name] for name in names]


def _taken(column: Column, places: list[int]) -> Column:
    ends = [None if end is None else _pick(end, places) for end in (column.low, column.high)]
    return Column(column.name, _pick(column.values, places), ends[0], ends[1], kind=column.kind)


def _pick(values: Any, places: list[int]) -> Any:
    return values[places] if isinstance(values, np.ndarray) else [values[place] for place in places]


class _Condition:
    """Three-valued logic over the rows of an answer."""

    def __init__(
        self, made: Measurement, rows: list[tuple[Value, ...]], measures: Mapping[int, Combined], miss: float
    ) -> None:
        self._made, self._rows, self._measures, self._miss = made, rows, measures, miss
        self._formulas = Measures(made.question, made.stability, list(made.measures))

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
                return [None if each is None else not each for each in inner]
            case "is_null":
                return [each is None for each in self._values(parts[0])]
            case "in":
                first, *others = [self._values(part) for part in parts]
                return [None if v is None else any(v == o[i] for o in others) for i, v in enumerate(first)]
        one_side, other_side = (self._values(part) for part in parts)
        compare = _COMPARE[condition.operation]
        return [None if a is None or b is None else compare(a, b) for a, b in zip(one_side, other_side, strict=True)]

    def _values(self, part: object) -> list[Any]:
        if isinstance(part, Measured | Quotient):
            each = evaluated(self._formulas.formula(part), self._measures, self._miss, len(self._rows))
            return [None if value != value else value for value in each.values.tolist()]  # noqa: PLR0124 (not a number)
        if isinstance(part, KeyColumn):
            place = [name for name, _ in self._made.question.keys].index(part.name)
            return [row[place] for row in self._rows]
        value = part.value if isinstance(part, Literal) else part
        return [float(value) if isinstance(value, Fraction) else value] * len(self._rows)


def _both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _either(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
