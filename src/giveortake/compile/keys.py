"""Keys that were found in the data: how they are named to engines, and in which order they are answered."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from giveortake.compile.rules import Rules
from giveortake.engines import Found, Keys
from giveortake.engines.questions import WIDEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.compile.measurement import Measurement
    from giveortake.plan import Question, Value


def known_values(question: Question, rules: Rules) -> list[tuple[Value, ...] | None]:
    """The values of each key column, as far as the rules know them beforehand."""
    domains = question.key_domains()
    if rules is Rules.FIRST:
        return [domain.keys_of_first_rules() for domain in domains]
    return [domain.keys() for domain in domains]


def finds_keys(question: Question, rules: Rules) -> bool:
    """Whether some keys are to be found in the data, by the rules."""
    return None in known_values(question, rules)


def with_keys(made: Measurement, found: Iterable[tuple[Value, ...]]) -> Keys:
    """The keys that were found, as positions among all combinations of their values if these fit into 64 bits."""
    listed = in_order(found)
    values = [_ordered({row[i] for row in listed}) for i in range(len(made.columns))]
    if math.prod(len(each) for each in values) >= WIDEST:
        return listed_keys(made, Found(len(listed), lambda: iter([listed])))
    places = [{value: place for place, value in enumerate(each)} for each in values]
    codes = set()
    for row in listed:
        code = 0
        for i, value in enumerate(row):
            code = code * len(values[i]) + places[i][value]
        codes.add(code)
    columns = tuple(replace(column, values=tuple(each)) for column, each in zip(made.columns, values, strict=True))
    return Keys(columns, tuple(sorted(codes)))


def in_order(rows: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """Keys in the order of their values; what is missing comes last."""
    return sorted(rows, key=lambda row: [(value is None, value) for value in row])


def listed_keys(made: Measurement, found: Found) -> Keys:
    """Keys that were found, as a list."""
    return Keys(made.columns, found=found)


def key_rows(keys: Keys) -> list[tuple[Value, ...]]:
    """Every key in the order of the answer."""
    if keys.found is not None:
        return [row for rows in keys.found.lists() for row in rows]
    values = [column.values or () for column in keys.columns]
    if keys.wanted is None:
        return list(itertools.product(*values))
    rows = []
    for code in keys.wanted:
        row: list[Value] = []
        rest = code
        for each in reversed(values):
            rest, place = divmod(rest, len(each))
            row.append(each[place])
        rows.append(tuple(reversed(row)))
    return rows


def _ordered(values: set[Value]) -> list[Value]:
    present: list[Any] = sorted((value for value in values if value is not None), key=lambda v: (type(v).__name__, v))
    return [*present, None] if None in values else present
