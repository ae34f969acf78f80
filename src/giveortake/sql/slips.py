"""Find the error in a text that cannot be parsed, and the keyword that was probably meant."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused

if TYPE_CHECKING:
    from sqlglot.errors import SqlglotError

_EXAMPLE = "an example: SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
_CLAUSES = ("SELECT", "FROM", "WHERE", "HAVING", "LIMIT", "JOIN", "USING", "BETWEEN", "DISTINCT", "AND", "LIKE")
_KEYWORDS = {
    **{word: word for word in _CLAUSES},
    **{word: f"{word.removesuffix('BY')} BY" for word in ("GROUP", "ORDER", "GROUPBY", "ORDERBY")},
}
_ALIKE = 0.6  # similarity from which a word is taken for a keyword
_NEAR = 80  # characters before the error in which a misspelt keyword is looked for
_WORD_BEFORE = re.compile(r"(\w+)\s*$")


def not_understood(text: str, error: SqlglotError) -> QueryRefused:
    """The refusal of a text that cannot be parsed: the wrong word, its place, and what may have been meant."""
    at_fault = _at_fault(text, error)
    if at_fault is None:
        closed = "" if text.count("'") % 2 == 0 else "a text is not closed: 'north'; "
        return QueryRefused("the query is not understood", hint=f"{closed}{_EXAMPLE}")
    start, word, meaning = at_fault
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return QueryRefused(
        f"the query is not understood at `{word[:40]}` (line {line}, column {column})", hint=f"{meaning}{_EXAMPLE}"
    )


def _at_fault(text: str, error: SqlglotError) -> tuple[int, str, str] | None:
    """The place of the wrong word, the word, and the start of the hint; None if it is not found.

    A misspelt keyword may have been read as a name, so words before the error are checked too.
    """
    details = (getattr(error, "errors", None) or [{}])[0]
    line, end, word = details.get("line"), details.get("col"), details.get("highlight")
    if not line or not end or not word:
        return None
    start = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + end - len(word)
    found = _WORD_BEFORE.search(text, max(start - _NEAR, 0), start)
    before = found[1] if found else ""
    if before.upper() in {"GROUP", "ORDER"}:
        return start, word, f"did you mean {before.upper()} BY? "
    slips = [(start, word), (start if found is None else found.start(), before)]
    place, slip = max(slips, key=lambda each: _keyword(each[1])[0])
    likeness, keyword = _keyword(slip)
    if likeness >= _ALIKE:
        return place, slip, f"did you mean {keyword}? "
    return start, word, "a parenthesis is not closed before it; " if details["description"] == "Expecting )" else ""


def _keyword(word: str) -> tuple[float, str]:
    """How much a word resembles a keyword, and which; 0 if it is spelled correctly."""
    if word.upper() in {"GROUP", "ORDER", *_KEYWORDS.values()}:
        return 0, ""
    return max((SequenceMatcher(None, each, word[:_NEAR].upper()).ratio(), meant) for each, meant in _KEYWORDS.items())
