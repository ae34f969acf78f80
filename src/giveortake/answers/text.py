"""Numbers and texts of an answer as people read them.

- Texts from outside, made safe to show: nothing in them moves a cursor, reverses a line or hides.
- Numbers of an answer as people read them: with as many digits as their margin justifies.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.answers.column import Value


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
