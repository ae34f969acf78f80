"""Estimates and their intervals, drawn in the form that suits the keys of an answer."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from giveortake.answers.answer import Released
from giveortake.answers.faces import caps_of, facts, notes
from giveortake.answers.printable import printable
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.plot.forms import Categories, Form, Numbers, Times
from giveortake.plot.rows import Rows
from giveortake.plot.theme import altair, without_tags

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHARACTERS = 74  # of a line of the caption, which is then about as wide as a chart
_SIDE_BY_SIDE = 2
_MOST_APART = 3  # rows without a key that are told in the caption


def intervals(answer: Any, *, title: str | None = None) -> Any:
    """An altair chart of every estimate in an answer, with its interval, by key.

    Dates and times become a line with a band on a time axis, numbers points in their order, all else one line each,
    the greatest first. An interval without an end reaches to the edge and has an arrow there; the axis is that of the
    finite ends. Every row is drawn, or told in the caption. One estimate is a chart that others can be laid upon
    (`answer.plot() + other`), several are charts side by side.
    """
    if not isinstance(answer, Released):
        hint = "gt.plot.intervals(query.answer(epsilon=0.1))"
        raise InvalidParameter("answer", HIDDEN, f"is not an answer: its type is {type(answer).__name__}", hint=hint)
    alt = altair()
    estimates = [column for column in answer.columns if column.has_interval]
    keys = [column for column in answer.columns if not column.has_interval]
    form = _form(keys, len(answer))
    tables = [Rows.of(form, keys, column, estimates[0]) for column in estimates]
    charts = [form.chart(rows) for rows in tables]
    words = title if title is not None else _title([column.name for column in estimates], [key.name for key in keys])
    told = [line for rows in tables for line in rows.apart()]
    lines = [part for line in [*_caption(answer), *told] for part in wrap(line, _CHARACTERS)]
    heading = alt.TitleParams(words, subtitle=lines, anchor="start", frame="group" if len(charts) == 1 else "bounds")
    if len(charts) == 1:
        return without_tags(charts[0].properties(title=heading))
    joined = alt.hconcat(*charts) if len(charts) <= _SIDE_BY_SIDE else alt.concat(*charts, columns=_SIDE_BY_SIDE)
    return without_tags(joined.properties(title=heading))


def _form(keys: Sequence[Any], rows: int) -> Form:
    """The form that the keys ask for: by the first key with an order of its own; the others tell lines apart."""
    for place, key in enumerate(keys):
        if sum(value is None for value in key) > _MOST_APART:
            continue
        if key.kind in {"date", "time"}:
            return Times(place, rows)
        if key.kind in {"integer", "decimal", "float"} and _finite(key):
            return Numbers(place, rows)
    return Categories(rows)


def _finite(key: Any) -> bool:
    return all(value is None or math.isfinite(value) for value in key)


def _title(estimates: Sequence[str], keys: Sequence[str]) -> str:
    by = f" by {', '.join(map(printable, keys))}" if keys else ""
    return f"{', '.join(map(printable, estimates))}{by}"


def _caption(answer: Any) -> list[str]:
    """What is promised, how sure it is, and how much of a person counts."""
    caps = caps_of(answer)
    said = [note for note in notes(answer) if "nothing was charged" not in note]  # which is about one call
    return [" · ".join(facts(answer)), *([] if caps is None or any(caps in note for note in said) else [caps]), *said]
