"""A last look at the words as they were written.

The parser renames some functions, and some of its builders drop arguments that they do not know. So whatever is called
in the text must itself be on a list, with a number of arguments that is meant.
"""

from __future__ import annotations

from giveortake.errors import QueryRefused
from giveortake.plan.functions import available
from giveortake.sql.tokens import Token, tokens_of


def _words(text: str) -> list[str]:
    return text.split()


_MANY = 1_000
_KEYWORDS = frozenset(
    _words(
        "ALL AND AS ASC BETWEEN BY CASE DESC DISTINCT ELSE EXISTS FILTER FROM GROUP HAVING ILIKE IN IS JOIN LIKE "
        "MATERIALIZED NOT ON OR SELECT THEN USING WHEN WHERE"
    )
)
_ARGUMENTS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_words("SUM AVG MEAN MIN MAX MEDIAN COUNT COUNTIF COUNT_IF"), (1, 1)),
    **dict.fromkeys(_words("VARIANCE VAR_POP VAR_SAMP STDDEV STDDEV_POP STDDEV_SAMP"), (1, 1)),
    **dict.fromkeys(_words("QUANTILE QUANTILE_CONT QUANTILE_DISC APPROX_QUANTILE"), (2, 2)),
    **dict.fromkeys(_words("PERCENTILE_CONT PERCENTILE_DISC"), (1, 2)),
    **dict.fromkeys(_words("ABS FLOOR CEIL CEILING SQRT LN EXP"), (1, 1)),
    **dict.fromkeys(_words("LOWER UPPER LCASE UCASE TRIM LENGTH LEN CHAR_LENGTH CHARACTER_LENGTH"), (1, 1)),
    **dict.fromkeys(_words("YEAR QUARTER MONTH WEEK WEEKOFYEAR DAY DAYOFMONTH DAYOFWEEK ISODOW DAYOFYEAR"), (1, 1)),
    **dict.fromkeys(_words("HOUR MINUTE EXTRACT CAST TRY_CAST"), (1, 1)),
    **dict.fromkeys(_words("DATE_PART DATEPART DATE_TRUNC DATETRUNC MOD NULLIF IFNULL NVL BUCKET"), (2, 2)),
    **dict.fromkeys(_words("GREATEST LEAST CONCAT"), (2, _MANY)),
    "COALESCE": (1, _MANY),
    "ROUND": (1, 2),
    "IF": (2, 3),
    "IIF": (2, 3),
    "CLAMP": (3, 3),
    "SUBSTR": (2, 3),
    "SUBSTRING": (1, 3),  # one, where FROM and FOR part them
}


def require_known_calls(text: str) -> None:
    """Refuse a text in which something is called that is not on the list, whatever the parser made of it."""
    tokens = tokens_of(text)
    for place, token in enumerate(tokens[:-1]):
        if tokens[place + 1].text != "(" or token.kind not in {"word", "quoted"} or str(token) in _KEYWORDS:
            continue
        known = _ARGUMENTS.get(str(token))
        if known is None:
            raise QueryRefused(f"the function {str(token)[:60]} is not answered", hint=available())
        count = _count(tokens, place + 1)
        if not known[0] <= count <= known[1]:
            raise QueryRefused(f"{token} does not take {count} argument{'s' if count != 1 else ''}")


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
