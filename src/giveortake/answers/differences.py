"""The difference of two answers, row by row: how much each number changed, with an interval that holds the change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.column import NUMBERS, Column
from giveortake.answers.text import printable
from giveortake.errors import InvalidParameter, QueryRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.answers.answer import Answer
    from giveortake.answers.column import Value


_TWICE = "has several rows with the same keys: they cannot be told apart"


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one release to another: keys, a column for each common estimate, and what has no match."""

    keys: tuple[Column, ...]
    estimates: tuple[Column, ...]
    before: tuple[Column, ...]
    after: tuple[Column, ...]
    confidence: Fraction
    together: bool  # whether all intervals hold together with that confidence, or each by itself
    only_before: int
    only_after: int
    left_aside: tuple[str, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.estimates[0])

    @property
    def certain(self) -> tuple[bool, ...]:
        """For each row, whether the interval of the first difference lies on one side of zero."""
        return tuple(_beside_zero(low, high) for _, low, high in self.estimates[0].triples())


def difference(before: Answer, after: Answer) -> Difference:
    """`after` minus `before`, for rows with the same keys and estimates of the same name, in the order of `after`.

    Guarantee [union bound]: where the intervals of two numbers hold with confidence 1 − α and 1 − β, the interval from
    `low − other's high` to `high − other's low` holds the difference with at least 1 − α − β, however the noises hang
    together. Two releases may share noise (one refines the other), so nothing is won by calling them independent: that
    would raise 90 % to 90.25 % at most. Where both state their confidence for all cells together, so does the result.
    Rounding of numbers: the ends go to the next float outwards.
    """
    names = [key.name for key in after.keys]
    if sorted(names) != sorted(key.name for key in before.keys):
        raise QueryRefused(
            "these two releases are grouped by different columns", hint="compare answers that are grouped alike"
        )
    columns_before = {column.name: column for column in before.estimates}
    common = [
        column.name
        for column in after.estimates
        if column.name in columns_before and {column.kind, columns_before[column.name].kind} <= NUMBERS
    ]
    if not common:
        raise QueryRefused(
            "these two releases have no column of numbers with the same name", hint="give both the same names, with AS"
        )
    rows_before, rows_after = _row_indices(before, names), _row_indices(after, names)
    shared = [key for key in rows_after if key in rows_before]
    indices_after, indices_before = [rows_after[key] for key in shared], [rows_before[key] for key in shared]
    new = [_selected_rows(after[name], indices_after) for name in common]
    old = [_selected_rows(before[name], indices_before) for name in common]
    missed = (1 - Fraction(before.confidence)) + (1 - Fraction(after.confidence))
    everything = {column.name for column in (*before.estimates, *after.estimates)}
    return Difference(
        keys=tuple(_selected_rows(after[name], indices_after) for name in names),
        estimates=tuple(_difference(a, b) for a, b in zip(new, old, strict=True)),
        before=tuple(old),
        after=tuple(new),
        confidence=max(Fraction(0), 1 - missed),
        together=before.confidence.over == after.confidence.over == "answer",
        only_before=len(rows_before) - len(shared),
        only_after=len(rows_after) - len(shared),
        left_aside=tuple(sorted(everything - set(common))),
        notes=tuple(_notes(before, after)),
    )


def _notes(before: Answer, after: Answer) -> list[str]:
    if before.release_id == after.release_id:
        return ["both are the same release: every difference is zero, and the intervals say nothing"]
    if before.caps != after.caps:
        first, second = (printable(str(answer.caps or "everything of a person counts")) for answer in (before, after))
        return [f"they count differently: {first} in the first, {second} in the second; part of a change may be that"]
    return []


def _row_indices(answer: Answer, names: Sequence[str]) -> dict[tuple[Value, ...], int]:
    keys = zip(*(answer[name] for name in names), strict=True) if names else [()] * len(answer)
    indices: dict[tuple[Value, ...], int] = {}
    for index, key in enumerate(keys):
        if key in indices:
            raise InvalidParameter("releases", "one of them", _TWICE)
        indices[key] = index
    return indices


def _selected_rows(column: Column, indices: Sequence[int]) -> Column:
    rows = list(column.triples())
    values, lows, highs = ([rows[index][part] for index in indices] for part in range(3))
    if not column.has_interval:
        return Column(column.name, values, kind=column.kind)
    return Column(column.name, values, lows, highs, kind=column.kind)


def _difference(after: Column, before: Column) -> Column:
    values, lows, highs = [], [], []
    for (value, low, high), (other, other_low, other_high) in zip(after.triples(), before.triples(), strict=True):
        values.append(_minus(value, other, 0))
        lows.append(_minus(low, other_high, -1))
        highs.append(_minus(high, other_low, 1))
    return Column(after.name, values, lows, highs, kind="nothing")


def _minus(value: Value, other: Value, outwards: int) -> int | float | None:
    """A difference; that of floats goes to the next float outwards, so that no interval shrinks by rounding."""
    if isinstance(value, int) and isinstance(other, int):
        return value - other
    if value is None or other is None:
        return None
    a, b = _float(value), _float(other)
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and a == b):
        return None if outwards == 0 else outwards * math.inf
    change = a - b
    return math.nextafter(change, outwards * math.inf) if outwards and math.isfinite(change) else change


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int | float | Decimal) else math.nan


def _beside_zero(low: Value, high: Value) -> bool:
    return isinstance(low, int | float) and isinstance(high, int | float) and (low > 0 or high < 0)
