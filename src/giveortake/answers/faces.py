"""How an answer looks in a terminal, in plain text and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from giveortake.answers.column import NUMBERS, Column, Value
from giveortake.answers.numbers import shown, shown_column
from giveortake.answers.printable import printable
from giveortake.exact import counted
from giveortake.exact import shown as shown_fraction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.answers.answer import Released

_MOST_ROWS = 20
_FARTHEST = 10**300
FOR_NOISE = " for the noise; what caps leave out is not in them"
_BAR = (
    "position:relative;display:inline-block;width:120px;height:9px;background:#eee;vertical-align:middle;margin:0 8px"
)


def as_text(answer: Released) -> str:
    """A plain table, short enough for a prompt, with the facts and the notes below."""
    lines = head_lines(answer, _MOST_ROWS)
    hidden = len(answer) - _MOST_ROWS
    lines += [f"… {counted(hidden, 'more row')}"] if hidden > 0 else []
    return "\n".join([*lines, " · ".join(facts(answer, at_length=True)), *notes(answer)])


def head_lines(answer: Released, rows: int) -> list[str]:
    """The names of the columns and the first rows, in columns of text."""
    columns = [_cells(column, min(len(answer), rows)) for column in answer.columns]
    return ["  ".join(text).rstrip() for text in zip(*columns, strict=True)]


def as_rich(answer: Released) -> Any:
    """A table for a terminal."""
    from rich.console import Group  # noqa: PLC0415 (heavy)
    from rich.table import Table  # noqa: PLC0415 (heavy)
    from rich.text import Text  # noqa: PLC0415 (heavy)

    table = Table(pad_edge=False, box=None)
    for column in answer.columns:
        table.add_column(Text(printable(column.name), style="bold"), justify=_align(column))
        if column.has_interval:
            table.add_column("", style="dim")
    texts: list[list[str]] = []
    for column in answer.columns:
        pairs = shown_cells(column, _head(column, _MOST_ROWS))
        texts += (
            [[value for value, _ in pairs], [beside for _, beside in pairs]]
            if column.has_interval
            else [[value for value, _ in pairs]]
        )
    for row in zip(*texts, strict=True):
        table.add_row(*(Text(cell) for cell in row))
    footer = [" · ".join(facts(answer, at_length=True))]
    if len(answer) > _MOST_ROWS:
        footer.insert(0, f"… {counted(len(answer) - _MOST_ROWS, 'more row')}")
    if answer.guarantee is not None:
        footer.append(str(answer.guarantee))
    return Group(table, *(Text(line, style="dim") for line in [*footer, *notes(answer)]))


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], foot: str) -> str:
    """Texts in columns, with a line below."""
    lines = [head, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    told = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*(told if rows else []), foot])


def rich_table(head: Sequence[str], rows: Sequence[Sequence[str]], foot: str) -> Any:
    """The same table for a terminal with colours."""
    from rich.console import Group  # noqa: PLC0415 (heavy)
    from rich.table import Table  # noqa: PLC0415 (heavy)
    from rich.text import Text  # noqa: PLC0415 (heavy)

    table = Table(pad_edge=False, box=None)
    for place, name in enumerate(head):
        table.add_column(name, no_wrap=place == 0)  # people copy from the first column: it is not wrapped
    for row in rows:
        table.add_row(*map(Text, row))
    return Group(*([table] if rows else []), Text(foot, style="dim"))


def as_html(answer: Released, rows: int = _MOST_ROWS, *, foot: bool = True) -> str:
    """A table for a notebook, with a bar for every interval. Everything that came from outside is escaped.

    Without `foot` there are the rows alone, and how many more there are.
    """
    head = "".join(
        f'<th style="text-align:{_align(column)}">{escape(printable(column.name))}</th>'
        + ("<th></th>" * (2 * column.has_interval))
        for column in answer.columns
    )
    cells = [_html_cells(column, rows) for column in answer.columns]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    lines = [" · ".join(facts(answer, at_length=True))]
    if len(answer) > rows:
        lines.insert(0, f"… {counted(len(answer) - rows, 'more row')}")
    if answer.guarantee is not None:
        lines.append(str(answer.guarantee))
    told = [*lines, *notes(answer)] if foot else lines[:1] if len(answer) > rows else []
    text = "<br>".join(map(escape, told))
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{text}</small></div>"


def shown_cells(column: Column, rows: Sequence[tuple[Value, Value, Value]]) -> list[tuple[str, str]]:
    """Values, and what stands beside them. A whole number that is a key is written as it is: 2010 may be a year."""
    if column.has_interval:
        return shown_column(rows)
    return [(str(value) if type(value) is int else shown(value), "") for value, _, _ in rows]


def _cells(column: Column, rows: int) -> list[str]:
    pairs = shown_cells(column, _head(column, rows))
    widest = max((len(value) for value, _ in pairs), default=0)
    justified = [value.rjust(widest) if column.kind in NUMBERS else value.ljust(widest) for value, _ in pairs]
    texts = [f"{value} {beside}".rstrip() for value, (_, beside) in zip(justified, pairs, strict=True)]
    lines = [printable(column.name), *texts]
    width = max(map(len, lines))
    return [text.ljust(width) for text in lines]


def _html_cells(column: Column, most: int) -> list[str]:
    rows = _head(column, most)
    align = f'<td style="text-align:{_align(column)}">'
    texts = [(escape(value), escape(beside)) for value, beside in shown_cells(column, rows)]
    if not column.has_interval:
        return [f"{align}{value}</td>" for value, _ in texts]
    bars = _bars(rows)
    return [
        f'{align}{value}</td><td style="opacity:.7">{beside}</td><td>{bar}</td>'
        for (value, beside), bar in zip(texts, bars, strict=True)
    ]


def _bars(rows: list[tuple[Value, Value, Value]]) -> list[str]:
    """A bar for each interval, all on the scale of the finite ends; infinite ends reach beyond the scale."""
    numbers = [tuple(map(_finite, row)) for row in rows]
    known = [end for row in numbers for end in row if end is not None]
    least, greatest = min([0.0, *known]), max([0.0, *known])
    span = greatest - least or 1.0
    scaled = [[None if end is None else (end - least) / span for end in row] for row in numbers]
    return [_bar(*row) if is_interval(*given[1:]) else "" for row, given in zip(scaled, rows, strict=True)]


def _bar(value: float | None, low: float | None, high: float | None) -> str:
    """An interval on a scale from 0 to 1, with an arrow where an end is missing."""
    left, right = max(0.0, low or 0.0), 1.0 if high is None else min(1.0, high)
    place = f"left:{100 * left:.1f}%;width:{100 * max(0.0, right - left):.1f}%"
    parts = [f'<span style="position:absolute;top:3px;height:3px;background:#888;{place}"></span>']
    if value is not None:
        at = f"position:absolute;top:0;height:9px;width:2px;background:#222;left:{100 * value:.1f}%"
        parts.append(f'<span style="{at}"></span>')
    for end, side, arrow in ((low, "left:-7px", "◂"), (high, "right:-7px", "▸")):
        if end is None:
            parts.append(f'<span style="position:absolute;top:-4px;color:#888;line-height:17px;{side}">{arrow}</span>')
    return f'<span style="{_BAR}">{"".join(parts)}</span>'


def _finite(end: Value) -> float | None:
    """An end as a float that a scale can hold; None if it is not such a number."""
    if isinstance(end, bool) or not isinstance(end, int | float | Decimal) or math.isnan(end):
        return None
    return float(end) if -_FARTHEST < end < _FARTHEST else None


def is_interval(low: Value, high: Value) -> bool:
    """Whether both ends are numbers, infinite ones too. Dates and missing values get no bar."""
    ends = (low, high)
    return all(isinstance(end, int | float | Decimal) and not math.isnan(end) for end in ends)


def _head(column: Column, rows: int) -> list[tuple[Value, Value, Value]]:
    return list(islice(column.triples(), rows))


def _align(column: Column) -> Literal["left", "right"]:
    return "right" if column.kind in NUMBERS else "left"


def facts(answer: Released, *, at_length: bool = False) -> list[str]:
    """How many rows there are, how sure they are, what they cost; with `at_length` what intervals do not cover."""
    facts = [f"{len(answer):,} row{'s' * (len(answer) != 1)}"]
    if any(column.has_interval for column in answer.columns):
        together = "each" if answer.confidence.over == "cell" else "all together"
        of = FOR_NOISE if at_length and (answer.caps is not None or caps_of(answer) is not None) else ""
        facts.append(f"intervals hold with {shown_fraction(100 * answer.confidence)} % {together}{of}")
    if answer.cost is not None:
        cost = answer.cost
        facts.append(f"cost {'ε = ' + shown_fraction(cost) if isinstance(cost, Fraction) else shown_cost(cost)}")
    return facts


def notes(answer: Released) -> list[str]:
    """The notes of an answer, with hidden characters escaped."""
    return [printable(note) for note in answer.notes]


def caps_of(answer: Released) -> str | None:
    """How much of one person counts, in words, if anything was capped."""
    said = answer.recipe.get("contributions") if isinstance(answer.recipe, Mapping) else None
    return None if said is None else printable(str(said))


def shown_cost(cost: object) -> str:
    """A cost as its own text up to a colon if that is short, else as it is written in code."""
    text = str(cost).partition(":")[0]
    return text if len(text) <= 40 else repr(cost)
