"""A last look at the words as they were written.

The parser renames some functions, and some of its builders drop arguments that they do not know. So whatever is called
in the text must itself be on a list, with a number of arguments that is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused, meant
from giveortake.plan.aggregates import AGGREGATES
from giveortake.plan.functions import FUNCTIONS, available
from giveortake.sql.tokens import Token, tokens_of

if TYPE_CHECKING:
    from collections.abc import Collection


def _words(text: str) -> list[str]:
    return text.split()


_MANY = 1_000
_KEYWORDS = frozenset(
    _words(
        "ALL AND AS ASC BETWEEN BY CASE DESC DISTINCT ELSE EXISTS FILTER FROM GROUP HAVING ILIKE IN IS JOIN LIKE "
        "MATERIALIZED NOT ON OR OVER SELECT THEN USING WHEN WHERE"
    )
)
_FORMS: dict[str, tuple[int, int]] = {  # what has a form of its own, or takes other arguments than the function it is
    "COUNT": (1, 1),
    **dict.fromkeys(_words("QUANTILE QUANTILE_CONT QUANTILE_DISC APPROX_QUANTILE"), (2, 2)),
    **dict.fromkeys(_words("PERCENTILE_CONT PERCENTILE_DISC"), (1, 2)),
    **dict.fromkeys(_words("EXTRACT CAST TRY_CAST"), (1, 1)),
    **dict.fromkeys(_words("DATE_PART DATEPART DATE_TRUNC DATETRUNC MOD IFNULL NVL DATE_ADD DATE_SUB"), (2, 2)),
    **dict.fromkeys(_words("DATE_DIFF DATEDIFF"), (3, 3)),
    "INTERVAL": (1, 1),
    **dict.fromkeys(_words("ROW_NUMBER RANK DENSE_RANK"), (0, 0)),
    **dict.fromkeys(_words("LAG LEAD"), (1, 3)),
    **dict.fromkeys(_words("FIRST_VALUE LAST_VALUE"), (1, 1)),
    "DECIMAL": (2, 2),
    "ROUND": (1, 2),
    "IF": (2, 3),
    "IIF": (2, 3),
    "SUBSTRING": (1, 3),  # one, where FROM and FOR part them
}
_ARGUMENTS = {
    **{spelled: (each.least, each.most or _MANY) for each in FUNCTIONS.values() for spelled in each.sql},
    **{spelled: (each.arguments, each.arguments) for each in AGGREGATES.values() for spelled in each.sql},
    **_FORMS,
}
_AGGREGATES = ("COUNT", "QUANTILE", *(each.sql[0] for each in AGGREGATES.values() if each.sql))


def require_known_calls(text: str) -> None:
    """Refuse a text in which something is called that is not on the list, whatever the parser made of it."""
    require_known_names(text)
    tokens = tokens_of(text)
    for place, token in _calls(tokens):
        known, count = _ARGUMENTS[str(token)], _count(tokens, place + 1)
        if not known[0] <= count <= known[1]:
            raise QueryRefused(f"{token} does not take {count} argument{'s' if count != 1 else ''}")


def require_known_names(text: str, *, but: Collection[str] = (), resembling: bool = False) -> None:
    """Refuse a text by the first name that is called and not on the list, except for those in `but`.

    `resembling` looks only at names that are spelled almost like one on the list.
    """
    for _, token in _calls(tokens_of(text)):
        name = str(token)
        if name in _ARGUMENTS or name in but or (resembling and not meant(name, _ARGUMENTS)):
            continue
        raise QueryRefused(f"the function {name[:60]} is not answered", hint=_instead_of(name))


def _calls(tokens: list[Token]) -> list[tuple[int, Token]]:
    return [
        (place, token)
        for place, token in enumerate(tokens[:-1])
        if tokens[place + 1].text == "(" and token.kind in {"word", "quoted"} and str(token) not in _KEYWORDS
    ]


def _instead_of(name: str) -> str:
    return f"{meant(name, _ARGUMENTS)}{available()}; aggregates: {', '.join(_AGGREGATES)}"


def _count(tokens: list[Token], opening: int) -> int:
    depth, commas = 0, 0
    for place in range(opening, len(tokens)):
        sign = tokens[place].text
        if sign in {"(", "[", "{"}:
            depth += 1
        elif sign in {")", "]", "}"}:
            depth -= 1
            if depth == 0:
                return commas + 1 if place > opening + 1 else 0
        elif sign == "," and depth == 1:
            commas += 1
    return commas + 1
