"""The rows of a chart of intervals: finite numbers and texts, with a mark on intervals without an end."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.render import is_interval
from giveortake.answers.text import number_text, printable, shown_with_margin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.plot.forms import Form


@final
@dataclass(frozen=True, slots=True)
class Rows:
    """One estimate by its keys. `order` and `series` are the labels of places and lines in the order of the chart."""

    name: str
    key: str
    values: list[dict[str, Any]]
    order: list[str]
    series: list[str]
    whole: bool = False

    @classmethod
    def of(cls, form: Form, keys: Sequence[Any], column: Any, first: Any) -> Rows:
        """The rows of a column. The first estimate of an answer orders all of them, so that charts can be compared."""
        places, series = form.labels(keys, len(column))
        sizes = [_number(value) for value in first]
        values = []
        for row, (value, low, high) in enumerate(column.triples()):
            text, beside = shown_with_margin(value, low, high)
            ends = {"low": _number(low), "high": _number(high)}
            values.append(
                {
                    "place": form.position(keys, row, places[row]),
                    "series": series[row],
                    "key": " · ".join(filter(None, (places[row], series[row]))),
                    "value": _number(value),
                    **ends,
                    "open": _open(low, high),
                    "shown": f"{text} {beside}".rstrip(),
                }
            )
        return cls(
            column.name,
            form.heading(keys),
            values,
            _ordered(places, sizes),
            list(dict.fromkeys(series)),
            whole=column.kind == "integer",
        )

    @property
    def has_zero(self) -> bool:
        """Whether the axis includes zero: for counts, and where zero is near; one interval alone fills the axis."""
        return len(self.values) > 1 and (self.whole or self.is_near_zero)

    def beside_each_other(self) -> list[dict[str, Any]]:
        """The values, with points of different lines at one number moved apart by less than the least distance."""
        places = sorted({row["place"] for row in self.values if row["place"] is not None})
        least = min((after - before for before, after in pairwise(places)), default=1.0)
        step = 0.5 * least / len(self.series)
        middle = (len(self.series) - 1) / 2
        moved = {name: (number - middle) * step for number, name in enumerate(self.series)}
        return [
            row if row["place"] is None else row | {"place": row["place"] + moved[row["series"]]} for row in self.values
        ]

    @property
    def is_near_zero(self) -> bool:
        """Whether an axis that includes zero is at most twice as long as one that does not."""
        drawn = [row for row in self.values if row["place"] is not None]
        ends = [row[each] for row in drawn for each in ("value", "low", "high") if row[each] is not None]
        return not ends or min(map(abs, (min(ends), max(ends)))) <= max(ends) - min(ends)

    def apart(self) -> list[str]:
        """The rows that have no place on an axis, in words."""
        return [
            f"without {self.key}{', ' * bool(row['series'])}{row['series']}: {printable(self.name)} {row['shown']}"
            for row in self.values
            if row["place"] is None
        ]


def keys_of(columns: Sequence[Any]) -> list[Any]:
    """The key columns, without columns that are computed from estimates, such as ranks and `n_consistent`."""
    before = list(takewhile(lambda column: not column.has_interval, columns))
    made = {f"{column.name}_consistent" for column in columns if column.has_interval}
    return before or [column for column in columns if not column.has_interval and column.name not in made]


def distinct(labels: Sequence[str], keys: Sequence[object]) -> list[str]:
    """Labels in which different keys never look the same, since rows of one label would be drawn as one.

    >>> distinct(["–", "–", "a"], [None, "–", "a"])
    ['–', '– (2)', 'a']
    """
    given: dict[object, str] = {}
    taken: set[str] = set()
    for label, key in zip(labels, keys, strict=True):
        if key not in given:
            candidate, number = label, 1
            while candidate in taken:
                number += 1
                candidate = f"{label} ({number})"
            given[key] = candidate
            taken.add(candidate)
    return [given[key] for key in keys]


def joined(values: Sequence[Any]) -> str:
    """Keys as one label."""
    return " · ".join(_label(value) for value in values)


def _label(value: Any) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else number_text(value)


def _ordered(places: Sequence[str], sizes: Sequence[float | None]) -> list[str]:
    """Places by the greatest value at each, the greatest first; places without a value come last."""
    greatest: dict[str, float] = {}
    for place, size in zip(places, sizes, strict=True):
        greatest[place] = max(greatest.get(place, -math.inf), -math.inf if size is None else size)
    return sorted(greatest, key=lambda place: -greatest[place])


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, str | dt.date):
        return None
    return float(value) if math.isfinite(value) else None


def _open(low: Any, high: Any) -> str:
    """Which ends of an interval are missing; "none" if there is no interval."""
    if not is_interval(low, high):
        return "none"
    below, above = _number(low) is None, _number(high) is None
    return "both" if below and above else "low" if below else "high" if above else ""
