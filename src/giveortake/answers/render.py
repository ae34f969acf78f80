"""Numbers, texts and answers as people read them: plain text, terminal tables, HTML and Markdown.

Numbers have as many digits as their margin justifies. Nothing in a text from outside moves a cursor, reverses a line,
hides, or is markup.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeVar, overload
from unicodedata import category

from giveortake.answers.column import NUMBERS, Column, Value
from giveortake.exact import counted, decimal, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from giveortake.answers.answer import Released


_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, marks of direction, half letters, ends of lines
_JOINERS = frozenset("\u200c\u200d")  # belong to words of some languages, and to emoji


def printable(text: str) -> str:
    r"""A text in which control and bidirectional characters are written as escapes; all others as they are.

    >>> print(printable("café"), printable("red\x1b[2J"), printable("abc\u202egpj.exe"))
    café red\x1b[2J abc\u202egpj.exe
    """
    if text.isprintable():
        return text
    return "".join(_escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    if letter in _JOINERS or category(letter) not in _HIDDEN:
        return letter
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


_DIGITS = 2  # of a margin
_PLAIN_DIGITS = 6  # of a number without one
_UNEVEN = 1.1  # an interval whose sides differ by more is written with both


def number_text(value: Value) -> str:
    """One value without a margin.

    >>> number_text(1234567), number_text(0.1234567), number_text(None), number_text(True)
    ('1,234,567', '0.123457', '–', 'true')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float | Decimal):
        return _number(float(value), _places(abs(float(value)), _PLAIN_DIGITS), trim=True)
    return (
        printable(value)
        if isinstance(value, str)
        else value.isoformat(sep=" ")
        if isinstance(value, datetime.datetime)
        else value.isoformat()
    )


def shown_with_margin(value: Value, low: Value, high: Value) -> tuple[str, str]:
    """A value and its margin, as texts. A value at an end of its interval, moved there to a bound, comes second.

    >>> shown_with_margin(1204, 1190, 1218), shown_with_margin(0.30712, 0.2741, 0.3402)
    (('1,204', '± 14'), ('0.307', '± 0.033'))
    >>> shown_with_margin(0.01, 0.0, 0.05)
    ('0.010', '+0.040 −0.010')
    >>> shown_with_margin(0.0, 0.0, 1782.4)
    ('0 … 1,782', 'estimate 0')
    """
    ends = [end for end in (value, low, high) if isinstance(end, int | float | Decimal) and not isinstance(end, bool)]
    if len(ends) < 3:
        return number_text(value), "" if low is None or high is None else f"{number_text(low)} … {number_text(high)}"
    if all(isinstance(end, int) for end in ends):
        return _sides(int(ends[0]), int(ends[1]), int(ends[2]), 0)
    middle, below, above = map(float, ends)
    if math.isnan(below) and math.isnan(above):
        return number_text(middle), ""
    if math.isinf(below) or math.isinf(above):
        sides = "" if math.isinf(below) and math.isinf(above) else f"{number_text(low)} … {number_text(high)}, "
        return number_text(middle), f"{sides}unbounded"
    widest = max(above - middle, middle - below)
    if not math.isfinite(widest) or widest <= 0:
        return number_text(middle), "" if widest == 0 else f"{number_text(low)} … {number_text(high)}"
    places = _places(widest, _DIGITS)
    return _sides(middle, below, above, places)


def shown_column(rows: Sequence[tuple[Value, Value, Value]]) -> list[tuple[str, str]]:
    """The values of a column with what stands beside them; whole numbers all in one form.

    >>> shown_column([(2, 1, 9), (9, 4, 9), (5, 4, 6)])
    [('1 … 9', 'estimate 2'), ('4 … 9', 'estimate 9'), ('4 … 6', 'estimate 5')]
    """
    if not all(type(number) is int for row in rows for number in row):
        return [shown_with_margin(*row) for row in rows]
    whole = [(int(value), int(low), int(high)) for value, low, high in rows]  # type: ignore[arg-type]  # (they are)
    form = max((_form(high - value, value - low, value in {low, high}, 1) for value, low, high in whole), default=0)
    return [_sides(*row, 0, form) for row in whole]


def beyond_noise(column: Column, rows: int) -> list[str]:
    """For the first rows of an estimate, how much farther than noise truncation may move it; rounded up.

    >>> from giveortake.answers.column import Column
    >>> beyond_noise(Column("n", [120], [114], [200], noise=([114], [126])), 1)
    ['up to 74 more']
    """
    if column.noise is None:
        return [""] * min(len(column), rows)
    return [
        _beyond(value, *noise, low, high)
        for (value, low, high), noise in islice(zip(column.triples(), column.noise_ends(), strict=True), rows)
    ]


def _beyond(value: Value, noise_low: Value, noise_high: Value, low: Value, high: Value) -> str:
    if not (is_interval(noise_low, noise_high) and is_interval(low, high)):
        return (
            "" if (low, high) == (noise_low, noise_high) else f"{number_text(low)} … {number_text(high)} for all rows"
        )
    middle, inner_low, inner_high, below, above = (_as_float(end) for end in (value, noise_low, noise_high, low, high))
    widest = max(inner_high - middle, middle - inner_low)
    whole = all(type(end) is int for end in (value, low, high))
    places = 0 if whole or not math.isfinite(widest) or widest <= 0 else _places(widest, _DIGITS)
    sides = [(above - inner_high, "more"), (inner_low - below, "less")]
    texts = [f"{_number_up(size, places)} {side}" for size, side in sides if size > 0]
    return f"up to {' or '.join(texts)}" if texts else ""


def _number_up(number: float, places: int) -> str:
    """A positive number, rounded up to so many places; what is lost in doubles does not count."""
    if not math.isfinite(number) or places > 12 or number >= 1e15:
        return _number(number, places)
    return _number(math.ceil(number * 10**places * (1 - 1e-9)) / 10**places, places)


def _as_float(value: Any) -> float:
    return float(value) if isinstance(value, int | float | Decimal) else math.nan


def _form(up: float, down: float, at_end: bool, step: int) -> int:
    """0 if one margin says both sides, of whole numbers but for one step of rounding; 1 for two, 2 for the ends."""
    if min(up, down) >= 0 and max(up, down) <= max(_UNEVEN * min(up, down), min(up, down) + step):
        return 0
    return 2 if at_end else 1


def _sides(middle: float, below: float, above: float, places: int, form: int | None = None) -> tuple[str, str]:
    up, down = above - middle, middle - below
    estimate, *ends = (
        f"{number:,}" if isinstance(number, int) else _number(number, places) for number in (middle, below, above)
    )
    if form is None:
        form = _form(up, down, estimate in ends, isinstance(middle, int))
    if form == 0:
        return estimate, f"± {_number(max(up, down), places)}"
    if form == 2:
        return " … ".join(ends), f"estimate {estimate}"
    signs = ("+" if up >= 0 else "−", "−" if down >= 0 else "+")
    return estimate, f"{signs[0]}{_number(abs(up), places)} {signs[1]}{_number(abs(down), places)}"


def _places(size: float, digits: int) -> int:
    """How many decimal places show `digits` significant digits of a number of that size."""
    if size == 0 or not math.isfinite(size):
        return 0
    return max(0, digits - 1 - math.floor(math.log10(size)))


def _number(number: float, places: int, *, trim: bool = False) -> str:
    if not math.isfinite(number):
        return {True: "∞", False: "−∞"}.get(number > 0, "–") if not math.isnan(number) else "–"
    if places > 12 or abs(number) >= 1e15:
        return f"{number:.{_PLAIN_DIGITS}g}"
    text = f"{number:,.{places}f}"
    if trim and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.lstrip("-") if not text.strip("-0.,") else text


_WHOLE = "display:inline-block;width:120px;height:9px;background:#eee;vertical-align:middle"


def text(words: object) -> str:
    """A text, escaped for a page."""
    return escape(printable(str(words)))


def card(title: str, *parts: str) -> str:
    """A title and the parts below it, which are HTML."""
    return f'<div style="margin:4px 0"><strong>{text(title)}</strong>{"".join(parts)}</div>'


def fact_list(rows: Iterable[tuple[str, str]]) -> str:
    """A table of labels and their texts; an empty label continues the one before."""
    cells = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{text(label)}</th>'
        f'<td style="text-align:left">{text(fact)}</td></tr>'
        for label, fact in rows
    )
    return f"<table><tbody>{cells}</tbody></table>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts; a `Bar` is drawn as it is."""
    named = "".join(f'<th style="text-align:left">{text(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{named}</tr></thead><tbody>{body}</tbody></table>"


def used(share: Fraction) -> Bar:
    """How much of a budget is used, as a bar with the number beside it."""
    return Bar(
        f'<span style="{_WHOLE}"><span style="display:block;height:9px;background:#36c;'
        f'width:{float(min(Fraction(1), share)):.1%}"></span></span> {text(percent(share, 3))}'
    )


class Bar(str):
    """HTML that was made here, and is not escaped again."""

    __slots__ = ()


def _cell(content: str) -> str:
    return f'<td style="text-align:left">{content if isinstance(content, Bar) else text(content)}</td>'


_MOST_ROWS = 20
_FARTHEST = 10**300
FOR_ALL_ROWS = " for all rows; they cover truncation by caps"
_BAR = (
    "position:relative;display:inline-block;width:120px;height:9px;background:#eee;vertical-align:middle;margin:0 8px;"
    "print-color-adjust:exact"
)
_SOLID = "top:3px;height:3px;background:#888"
_HATCHED = "top:1px;height:7px;background:repeating-linear-gradient(90deg,#888 0 1.5px,transparent 1.5px 4px)"


def as_text(answer: Released) -> str:
    """A plain table, short enough for a prompt, with the facts and the notes below."""
    lines = head_lines(answer, _MOST_ROWS)
    hidden = len(answer) - _MOST_ROWS
    lines += [f"… {counted(hidden, 'more row')}"] if hidden > 0 else []
    return "\n".join([*lines, " · ".join(facts(answer)), *notes(answer)])


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
        for _ in range(column.has_interval + (column.noise is not None)):
            table.add_column("", style="dim")
    texts: list[tuple[str, ...]] = []
    for column in answer.columns:
        values, margins, beyond = _texts(column, _MOST_ROWS)
        texts += [values, *([margins] * column.has_interval), *([beyond] * (column.noise is not None))]
    for row in zip(*texts, strict=True):
        table.add_row(*(Text(cell) for cell in row))
    return Group(table, *(Text(line, style="dim") for line in _footer(answer, _MOST_ROWS)))


def _footer(answer: Released, rows: int, bars: Sequence[str] = ()) -> list[str]:
    """What stands below the first rows: how many more there are, the facts, what bars mean, the promise, the notes."""
    hidden = [f"… {counted(len(answer) - rows, 'more row')}"] if len(answer) > rows else []
    promise = [] if answer.guarantee is None else [str(answer.guarantee)]
    return [*hidden, " · ".join(facts(answer)), *bars, *promise, *notes(answer)]


def aligned(rows: Sequence[Sequence[str]], justify: Callable[[str, int], str] = str.ljust) -> list[str]:
    """Rows of texts as lines in which every column is as wide as its widest text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(justify, row, widths)).rstrip() for row in rows]


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], foot: str) -> str:
    """Texts in columns, with a line below."""
    return "\n".join([*(aligned([head, *rows]) if rows else []), foot])


def rich_table(head: Sequence[str], rows: Sequence[Sequence[str]], foot: str) -> Any:
    """The same table for a terminal with colours."""
    from rich.console import Group  # noqa: PLC0415 (heavy)
    from rich.table import Table  # noqa: PLC0415 (heavy)
    from rich.text import Text  # noqa: PLC0415 (heavy)

    table = Table(pad_edge=False, box=None)
    for index, name in enumerate(head):
        table.add_column(name, no_wrap=index == 0)  # people copy from the first column: it is not wrapped
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
    footer = _footer(answer, rows, legend(answer.columns))
    if not foot:
        footer = footer[:1] if len(answer) > rows else []
    text = "<br>".join(map(escape, footer))
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{text}</small></div>"


def shown_cells(column: Column, most: int) -> list[tuple[str, str, str]]:
    """Of the first rows the values, their margins of noise, and how much farther truncation may move them.

    A whole number that is a key is written as it is: 2010 may be a year.
    """
    values = list(islice(column, most))
    if not column.has_interval:
        return [(str(value) if type(value) is int else number_text(value), "", "") for value in values]
    ends = islice(column.noise_ends(), most)
    pairs = shown_column([(value, low, high) for value, (low, high) in zip(values, ends, strict=True)])
    return [(*pair, beyond) for pair, beyond in zip(pairs, beyond_noise(column, most), strict=True)]


def with_beyond(margin: str, beyond: str) -> str:
    """A margin of noise, and behind it how much farther truncation may move the number."""
    return ", ".join(filter(None, (margin, beyond)))


def _texts(column: Column, most: int) -> list[tuple[str, ...]]:
    """The values, margins and rests of the first rows."""
    cells = shown_cells(column, most)
    return [tuple(cell[part] for cell in cells) for part in range(3)]


def _cells(column: Column, rows: int) -> list[str]:
    values, margins, beyond = _texts(column, rows)
    widest = max(map(len, values), default=0)
    justified = [value.rjust(widest) if column.kind in NUMBERS else value.ljust(widest) for value in values]
    if any(beyond):
        commas = [f"{margin}," if rest else margin for margin, rest in zip(margins, beyond, strict=True)]
        farthest = max(map(len, commas))
        margins = tuple(f"{margin.ljust(farthest)} {rest}" for margin, rest in zip(commas, beyond, strict=True))
    texts = [f"{value} {margin}".rstrip() for value, margin in zip(justified, margins, strict=True)]
    lines = [printable(column.name), *texts]
    width = max(map(len, lines))
    return [text.ljust(width) for text in lines]


def _html_cells(column: Column, most: int) -> list[str]:
    align = f'<td style="text-align:{_align(column)}">'
    texts = [(escape(value), escape(with_beyond(*parts))) for value, *parts in shown_cells(column, most)]
    if not column.has_interval:
        return [f"{align}{value}</td>" for value, _ in texts]
    bars = _bars(column, most)
    return [
        f'{align}{value}</td><td style="opacity:.7;white-space:nowrap">{margin}</td><td>{bar}</td>'
        for (value, margin), bar in zip(texts, bars, strict=True)
    ]


def _bars(column: Column, most: int) -> list[str]:
    """A bar for each interval, all on the scale of the finite ends; infinite ends reach beyond the scale."""
    rows = [(*row, *noise) for row, noise in islice(zip(column.triples(), column.noise_ends(), strict=True), most)]
    numbers = [tuple(map(_finite, row)) for row in rows]
    known = [end for row in numbers for end in row if end is not None]
    least, greatest = min([0.0, *known]), max([0.0, *known])
    span = greatest - least or 1.0
    scaled = [[None if end is None else (end - least) / span for end in row] for row in numbers]
    drawn = [is_interval(*row[1:3]) for row in rows]
    return [_bar(row, column.open_sides) if has_bar else "" for row, has_bar in zip(scaled, drawn, strict=True)]


def _bar(ends: Sequence[float | None], open_sides: tuple[bool, bool]) -> str:
    """An interval on a scale from 0 to 1: noise is solid, truncation hatched.

    An arrow at the edge means that an end is missing, and one at an end that truncation may go further.
    """
    value, low, high, noise_low, noise_high = ends
    left, right = max(0.0, low or 0.0), 1.0 if high is None else min(1.0, high)
    inner = max(left, noise_low or 0.0), right if noise_high is None else min(right, noise_high)
    ranges = [(left, inner[0], _HATCHED), (*inner, _SOLID), (inner[1], right, _HATCHED)]
    parts = [
        f'<span style="position:absolute;left:{100 * start:.1f}%;width:{100 * (end - start):.1f}%;{look}"></span>'
        for start, end, look in ranges
        if end > start or look == _SOLID
    ]
    if value is not None:
        at = f"position:absolute;top:0;height:9px;width:2px;background:#222;left:{100 * value:.1f}%"
        parts.append(f'<span style="{at}"></span>')
    edges = [(low is None, "left:-7px", "◂"), (high is None, "right:-7px", "▸")]
    sides = [
        (open_sides[0], f"right:{100 - 100 * left:.1f}%", "◃"),
        (open_sides[1], f"left:{100 * right:.1f}%", "▹"),
    ]
    for has_arrow, side, arrow in (*edges, *sides):
        if has_arrow:
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


def _align(column: Column) -> Literal["left", "right"]:
    return "right" if column.kind in NUMBERS else "left"


def facts(answer: Released) -> list[str]:
    """How many rows there are, which rows of the table their numbers are about, how sure they are, what they cost."""
    facts = [counted(len(answer), "row")]
    estimates = [column for column in answer.columns if column.has_interval]
    facts += filter(None, [which_rows(answer)])
    if estimates:
        together = "each" if answer.confidence.over == "cell" else "all together"
        scope = FOR_ALL_ROWS if covers_truncation(answer.columns) else ""
        facts.append(f"intervals hold with {percent(answer.confidence)} {together}{scope}")
    if answer.cost is not None:
        cost = answer.cost
        facts.append(f"cost {'ε = ' + decimal(cost) if isinstance(cost, Fraction) else shown_cost(cost)}")
    return facts


def is_open(columns: Iterable[Column]) -> bool:
    """Whether rows that caps cut may move some numbers further than their intervals tell."""
    return any(any(column.open_sides) for column in columns)


def covers_truncation(columns: Iterable[Column]) -> bool:
    """Whether some intervals also cover the rows that caps cut."""
    return any(column.noise is not None for column in columns)


def rows_counted(caps: object, *, several: bool) -> str:
    """Which rows numbers are about from which caps cut rows, and nobody knows how many.

    >>> rows_counted("at most 3 rows of a person", several=False)
    'of at most 3 rows of a person; more rows are not in this number'
    """
    some = "some rows of a person" if caps is None else caps
    return f"of {some}; more rows are not in {'these numbers' if several else 'this number'}"


def of_counted_rows(title: str, most_rows: int | None) -> str:
    """A headline that says which rows it is about, where at most so many of a person count; None: all of them do.

    >>> of_counted_rows("moments of 2 columns", 4)
    'moments of 2 columns, of at most 4 rows of a person; more rows are not in these numbers'
    """
    if most_rows is None:
        return title
    counted_rows = f"at most {counted(most_rows, 'row')} of a person"
    return f"{title}, {rows_counted(counted_rows, several=True)}"


def which_rows(answer: Released) -> str:
    """Which rows the numbers of an answer are about, if caps cut rows and nobody knows how many; else empty."""
    if not is_open(answer.columns):
        return ""
    estimates = sum(column.has_interval for column in answer.columns)
    return printable(rows_counted(answer.caps, several=len(answer) * estimates > 1))


def legend(columns: Sequence[Column]) -> list[str]:
    """What the parts of bars mean, where caps cut rows."""
    parts = ["solid: noise; hatched or pale: rows that caps may cut"] * covers_truncation(columns)
    return [*parts, *["an open arrow: rows beyond the caps may move a number further that way"] * is_open(columns)]


def notes(answer: Released) -> list[str]:
    """The notes of an answer, with hidden characters escaped."""
    return [printable(note) for note in answer.notes]


def caps_of(answer: Released) -> str | None:
    """How much of one person counts, in words, if anything was capped."""
    caps = answer.recipe.get("contributions") if isinstance(answer.recipe, Mapping) else None
    return None if caps is None else printable(str(caps))


def shown_cost(cost: object) -> str:
    """A cost as its own text up to a colon if that is short, else as it is written in code."""
    text = str(cost).partition(":")[0]
    return text if len(text) <= 40 else repr(cost)


T = TypeVar("T")
_MOST = 20  # lines that are shown
_WIDEST = 56  # letters of a cell


class Listing(list[T]):
    """A list that prints as a table: `head` names the columns, `cells` makes the line of one element."""

    head: tuple[str, ...] = ()
    nouns: tuple[str, str] = ("thing", "things")

    def cells(self, element: T) -> tuple[str, ...]:
        """The texts in the line of one element."""
        raise NotImplementedError

    def _lines(self) -> list[tuple[str, ...]]:
        return [tuple(_cut(cell) for cell in self.cells(element)) for element in list.__getitem__(self, slice(_MOST))]

    def _foot(self) -> str:
        remaining = len(self) - _MOST
        return f"… {remaining:,} more" if remaining > 0 else f"{len(self):,} {self.nouns[len(self) != 1]}"

    def __repr__(self) -> str:
        return text_table(self.head, self._lines(), self._foot())

    def __rich__(self) -> Any:
        return rich_table(self.head, self._lines(), self._foot())

    def _repr_html_(self) -> str:
        return f"<div>{table(self.head, self._lines())}<small>{text(self._foot())}</small></div>"

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Listing[T]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> T | Listing[T]:
        if isinstance(index, slice):
            return self._like(list.__getitem__(self, index))
        return list.__getitem__(self, index)

    def _like(self, things: list[T]) -> Listing[T]:
        """A listing of the same kind with some of the elements."""
        return type(self)(things)


def _cut(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"


_SIGNS = re.compile(r"([\\`*_\[\]<>|~&:!#$@^{}]|(?<=www)\.)", re.IGNORECASE)  # that mean something in some Markdown


def as_markdown(answer: Released) -> str:
    """A table with every row, and below it what was promised and how sure it is."""
    rule = ["---:" if column.kind in NUMBERS else ":---" for column in answer.columns]
    cells = [
        [
            escaped(" ".join(filter(None, (value, with_beyond(*parts)))))
            for value, *parts in shown_cells(column, len(column))
        ]
        for column in answer.columns
    ]
    lines = [[escaped(printable(column.name)) for column in answer.columns], rule, *zip(*cells, strict=True)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    below = "  \n".join(escaped(line) for line in [" · ".join(facts(answer)), *notes(answer)])
    return f"{table}\n\n{below}\n"


def escaped(text: str) -> str:
    r"""A text that Markdown shows as it is: no link, no emphasis, no tag, no further cell.

    >>> print(escaped("a|b <b> [x](http://y) www.z"))
    a\|b \<b\> \[x\](http\://y) www\.z
    """
    return _SIGNS.sub(r"\\\1", text)
