"""Answers as Markdown: a table that every Markdown reader draws, in which no text of the data is markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from giveortake.answers.column import NUMBERS
from giveortake.answers.faces import facts, notes, shown_cells
from giveortake.answers.printable import printable

if TYPE_CHECKING:
    from giveortake.answers.answer import Released

_SIGNS = re.compile(r"([\\`*_\[\]<>|~&:!#$@^{}]|(?<=www)\.)", re.IGNORECASE)  # that mean something in some Markdown


def as_markdown(answer: Released) -> str:
    """A table with every row, and below it what was promised and how sure it is."""
    rule = ["---:" if column.kind in NUMBERS else ":---" for column in answer.columns]
    cells = [
        [escaped(" ".join(filter(None, pair))) for pair in shown_cells(column, list(column.triples()))]
        for column in answer.columns
    ]
    lines = [[escaped(printable(column.name)) for column in answer.columns], rule, *zip(*cells, strict=True)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    below = "  \n".join(escaped(line) for line in [" · ".join(facts(answer, at_length=True)), *notes(answer)])
    return f"{table}\n\n{below}\n"


def escaped(text: str) -> str:
    r"""A text that Markdown shows as it is: no link, no emphasis, no tag, no further cell.

    >>> print(escaped("a|b <b> [x](http://y) www.z"))
    a\|b \<b\> \[x\](http\://y) www\.z
    """
    return _SIGNS.sub(r"\\\1", text)
