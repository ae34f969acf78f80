"""Estimates and their intervals, drawn in the form that suits the keys of an answer."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from giveortake.answers.answer import Released
from giveortake.answers.render import caps_of, facts, notes
from giveortake.answers.text import printable
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.exact import counted
from giveortake.plot.forms import TALLEST, Categories, Form, Numbers, Times
from giveortake.plot.rows import Rows, keys_of
from giveortake.plot.theme import altair, without_tags

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHARACTERS = 74  # of a line of the caption, which is then about as wide as a chart
_SIDE_BY_SIDE = 2
_MOST_APART = 3  # rows without a key that are listed in the caption
_FEWER = "group by fewer columns, or draw a part of answer.to_pandas()"
_MOST_LINES = 30  # each in a small chart of its own


def intervals(answer: Any, *, title: str | None = None) -> Any:
    """An altair chart of every estimate in an answer, with its interval, by key.

    Dates and times become a line with a band on a time axis, numbers points in their order, all else one line each,
    the greatest first. More lines than there are colours get a small chart each; more than 30, and more than 560
    categories, are refused. An interval without an end reaches to the edge and has an arrow there; the axis is that of
    the finite ends. Every row is drawn, or listed in the caption. One estimate is a chart that others can be laid upon
    (`answer.plot() + other`), several are charts side by side.
    """
    if not isinstance(answer, Released):
        hint = "gt.plot.intervals(query.answer(epsilon=0.1))"
        raise InvalidParameter("answer", HIDDEN, f"is not an answer: its type is {type(answer).__name__}", hint=hint)
    charts, told = _charts(answer)
    estimates = [column.name for column in answer.columns if column.has_interval]
    words = title if title is not None else _title(estimates, [key.name for key in keys_of(answer.columns)])
    return _headed(charts, words, [*_caption(answer), *told])


def panels(answers: Sequence[tuple[str, Any]], *, more: int = 0, title: str | None = None) -> Any:
    """Tables of one release in one picture, each named and drawn as `intervals` draws it; `more` are not drawn.

    >>> ages = gt.answers.Column("age", [20, 30]), gt.answers.Column("n", [50, 40], [45, 35], [55, 45])
    >>> type(gt.plot.panels([("age", gt.answers.Answer(ages))])).__name__
    'LayerChart'
    """
    charts, told = [], []
    for name, answer in answers:
        made, without = _charts(answer)
        charts += [chart.properties(title=altair().TitleParams(printable(name), anchor="start")) for chart in made]
        told += without
    words = answers[0][0] if len(charts) == 1 else counted(len(answers) + more, "table")
    rest = [f"{counted(more, 'table')} more: answer[…].plot() draws one"] if more else []
    return _headed(charts, words if title is None else title, [*_caption(answers[0][1], rows=False), *told, *rest])


def _charts(answer: Any) -> tuple[list[Any], list[str]]:
    """A chart for each estimate, and in words the rows that have no place in them."""
    estimates = [column for column in answer.columns if column.has_interval]
    keys = keys_of(answer.columns)
    form = _form(keys, len(answer))
    found = [Rows.of(form, keys, column, estimates[0]) for column in estimates]
    lines = len(found[0].series) if found else 0
    if lines > _MOST_LINES:
        raise InvalidParameter(
            "answer",
            HIDDEN,
            f"has {lines:,} lines along `{found[0].key}`, and a picture tells {_MOST_LINES} apart",
            hint=_FEWER,
        )
    if isinstance(form, Categories) and len(answer) > TALLEST:
        problem = f"has {len(answer):,} rows, and a picture has room for {TALLEST}"
        raise InvalidParameter("answer", HIDDEN, problem, hint=_FEWER)
    return [form.chart(rows) for rows in found], [line for rows in found for line in rows.apart()]


def _headed(charts: list[Any], words: str, caption: list[str]) -> Any:
    """One chart, or several side by side, with a title and a caption that is about as wide."""
    alt = altair()
    wide = min(len(charts), _SIDE_BY_SIDE) * _CHARACTERS
    lines = [part for line in caption for part in wrap(line, wide)]
    heading = alt.TitleParams(words, subtitle=lines, anchor="start", frame="group" if len(charts) == 1 else "bounds")
    if len(charts) == 1:
        return without_tags(charts[0].properties(title=heading))
    joined = alt.hconcat(*charts) if len(charts) <= _SIDE_BY_SIDE else alt.concat(*charts, columns=_SIDE_BY_SIDE)
    own = joined.resolve_scale(color="independent", strokeDash="independent")  # each chart names its own lines
    return without_tags(own.properties(title=heading))


def _form(keys: Sequence[Any], rows: int) -> Form:
    """The form that suits the keys: along the first key with an order of its own; the others make lines."""
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


def _caption(answer: Any, *, rows: bool = True) -> list[str]:
    """How many rows there are, how sure they are, and how much of a person counts."""
    caps = caps_of(answer)
    said = [note for note in notes(answer) if "nothing was charged" not in note]  # which is about one call
    sure = facts(answer, at_length=True)[not rows :]
    return [" · ".join(sure), *([] if caps is None or any(caps in note for note in said) else [caps]), *said]
