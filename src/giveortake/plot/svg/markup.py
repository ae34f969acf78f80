"""Pieces of HTML and SVG, built from names and numbers. Every text is escaped here, hidden characters included."""

from __future__ import annotations

from html import escape
from typing import final

from giveortake.answers.text import printable

Attribute = str | int | float | bool | None


@final
class Markup(str):
    """HTML that was made here: templates put it into a page as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def tag(name: str, *content: object, **attributes: Attribute) -> Markup:
    """An element. Content that is no `Markup` is text; attributes that are None or False are left out.

    >>> print(tag("b", "a < b", title='"x"', x1=1.25, class_="note"))
    <b title="&quot;x&quot;" x1="1.25" class="note">a &lt; b</b>
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>{joined(*content)}</{name}>")


def joined(*content: object) -> Markup:
    """Elements and texts, one after the other."""
    return Markup("".join(str(each) if isinstance(each, Markup) else text(each) for each in content))


def text(words: object) -> Markup:
    """A text, escaped for a page."""
    return Markup(escape(printable(str(words))))


def percent(share: float) -> str:
    """A place or a length in percent of the whole."""
    return f"{number(100 * share)}%"


def number(value: float) -> str:
    """A coordinate: no more digits than a screen can show.

    >>> number(33.33333), number(20.0), number(-0.001)
    ('33.33', '20', '0')
    """
    written = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if written == "-0" else written


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f' {name}=""'
    return f' {name}="{number(value) if isinstance(value, float) else text(value)}"'
