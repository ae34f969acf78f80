"""Small pieces of HTML for notebooks. Every text is escaped here, hidden characters included."""

from __future__ import annotations

from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from giveortake.answers.printable import printable
from giveortake.exact import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WHOLE = "display:inline-block;width:120px;height:9px;background:#eee;vertical-align:middle"


def text(words: object) -> str:
    """A text, escaped for a page."""
    return escape(printable(str(words)))


def card(title: str, *parts: str) -> str:
    """A title and the parts below it, which are HTML."""
    return f'<div style="margin:4px 0"><strong>{text(title)}</strong>{"".join(parts)}</div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of labels and their texts; an empty label continues the one before."""
    cells = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{text(label)}</th>'
        f'<td style="text-align:left">{text(said)}</td></tr>'
        for label, said in rows
    )
    return f"<table><tbody>{cells}</tbody></table>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts; a `Bar` is drawn as it is."""
    named = "".join(f'<th style="text-align:left">{text(each)}</th>' for each in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{named}</tr></thead><tbody>{body}</tbody></table>"


def used(share: Fraction) -> Bar:
    """How much of a budget is used, as a bar with the number beside it."""
    return Bar(
        f'<span style="{_WHOLE}"><span style="display:block;height:9px;background:#36c;'
        f'width:{float(min(Fraction(1), share)):.1%}"></span></span> {text(shown(100 * share, 3))} %'
    )


class Bar(str):
    """HTML that was made here, and is not escaped again."""

    __slots__ = ()


def _cell(said: str) -> str:
    return f'<td style="text-align:left">{said if isinstance(said, Bar) else text(said)}</td>'
