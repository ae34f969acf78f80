"""Texts from outside, made safe to show: nothing in them moves a cursor, reverses a line or hides."""

from __future__ import annotations

from unicodedata import category

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


def with_article(name: str) -> str:
    """A name after its article.

    >>> with_article("user_id"), with_article("Employee ID")
    ('a user_id', 'an Employee ID')
    """
    return f"{'an' if name[:1].lower() in {'a', 'e', 'i', 'o'} else 'a'} {name}"
