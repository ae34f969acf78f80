"""Tokens of a text, checked before and after it is parsed: one SELECT, not too deep, known functions.

- `prepare` rewrites BigQuery's clauses. `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(…)` becomes SELECT and a dictionary.
  `SUM(x, contribution_bounds_per_group => (a, b))` becomes `SUM(CLAMP(x, a, b))`: contributions are bounded row by row
  here, so bounds apply to each row.
- `require_known_calls`: the parser renames some functions, and some of its builders drop arguments that they do not
  know. So every function that the text calls must itself be on a list, with an allowed number of arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, final

from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.exact import rational
from giveortake.plan.aggregates import AGGREGATES
from giveortake.plan.functions import FUNCTIONS, available

if TYPE_CHECKING:
    from collections.abc import Collection
    from fractions import Fraction


LONGEST = 100_000  # characters of a query
_DEEPEST = 150  # open parentheses, brackets and CASEs

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<open>/\*.*)
  | (?P<text>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<word>[^\W\d]\w*)
  | (?P<sign>=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BOUNDS = {"CONTRIBUTION_BOUNDS_PER_GROUP", "CONTRIBUTION_BOUNDS_PER_ROW"}
_CLAMPED = {
    "SUM",
    "AVG",
    "MEAN",
    "PERCENTILE_CONT",
    "QUANTILE",
    "QUANTILE_CONT",
    "APPROX_QUANTILE",
    "VARIANCE",
    "STDDEV",
}
_CAPS = ("rows_per_person", "groups_per_person", "rows_per_group")
_OURS = {"max_groups_contributed": "groups_per_person", "max_rows_contributed": "rows_per_person"}
_KNOWN = ("epsilon", "delta", "share", *_CAPS, "caps", "privacy_unit_column")


@final
@dataclass(frozen=True, slots=True)
class Token:
    """A token of the text, and its kind."""

    kind: str
    text: str
    apart: bool = True  # whether a blank separates it from the token before

    def __str__(self) -> str:
        return self.text.upper() if self.kind == "word" else self.text


def prepare(text: str) -> tuple[str, dict[str, Fraction | str]]:
    """The text without BigQuery's additions, and their options."""
    if not isinstance(text, str):
        raise QueryRefused(f"a query is a text, not a {type(text).__name__}")
    if len(text) > LONGEST:
        raise QueryRefused(f"the query is longer than {LONGEST:,} characters", hint="ask several questions")
    if "\0" in text:
        raise QueryRefused("the query holds a NUL character")
    tokens = tokens_of(text)
    _require_one_select(tokens)
    plain, options = _without_options(tokens)
    plain = _with_clamps(plain)
    if plain is tokens:
        return text, options
    return "".join(f" {token.text}" if token.apart else token.text for token in plain), options


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, without blanks and comments."""
    tokens: list[Token] = []
    apart = True
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "open":
            raise QueryRefused("a comment is not closed", hint="/* … */")
        if match.lastgroup != "blank":
            tokens.append(Token(str(match.lastgroup), match.group(), apart))
        apart = match.lastgroup == "blank"
    return tokens


def _require_one_select(tokens: list[Token]) -> None:
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if not tokens:
        raise QueryRefused("the query is empty", hint="SELECT COUNT(*) AS n FROM trips")
    if any(token.text == ";" for token in tokens):
        raise QueryRefused(
            "several statements, separated by `;`, cannot be answered at once", hint="ask them one by one"
        )
    first = next((token for token in tokens if token.text != "("), tokens[0])
    if str(first) not in {"SELECT", "WITH"}:
        raise QueryRefused(f"a question cannot start with {str(first)[:40]}", hint="start with SELECT or WITH")
    depth = deepest = 0
    for token in tokens:
        if token.text in {"(", "[", "{"} or str(token) == "CASE":
            depth += 1
            deepest = max(depth, deepest)
        elif token.text in {")", "]", "}"} or str(token) == "END":
            depth -= 1
    if deepest > _DEEPEST:
        raise QueryRefused(f"the query nests deeper than {_DEEPEST} levels", hint="use WITH and name the parts")


# -- SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…) ---------------------------------------------------------------------


def _without_options(tokens: list[Token]) -> tuple[list[Token], dict[str, Fraction | str]]:
    indices = [i for i, token in enumerate(tokens) if str(token) == "DIFFERENTIAL_PRIVACY"]
    indices = [i for i in indices if i >= 2 and str(tokens[i - 1]) == "WITH" and str(tokens[i - 2]) == "SELECT"]
    if not indices:
        return tokens, {}
    index = indices[0]
    opened = sum({"(": 1, ")": -1}.get(token.text, 0) for token in tokens[:index])
    if len(indices) > 1 or opened:
        raise QueryRefused(
            "WITH DIFFERENTIAL_PRIVACY belongs to the outermost SELECT, once", hint="take it out of the subquery"
        )
    end = index + 1
    options: dict[str, Fraction | str] = {}
    if end < len(tokens) and str(tokens[end]) == "OPTIONS":
        options, end = _options(tokens, end + 1)
    return [*tokens[: index - 1], *tokens[end:]], options


def _options(tokens: list[Token], start: int) -> tuple[dict[str, Fraction | str], int]:
    bad = QueryRefused("OPTIONS is not understood", hint="OPTIONS(epsilon = 0.1, delta = 1e-7)")
    if start >= len(tokens) or tokens[start].text != "(":
        raise bad
    end = next((i for i in range(start, len(tokens)) if tokens[i].text == ")"), None)
    if end is None:
        raise bad
    options: dict[str, Fraction | str] = {}
    inside = tokens[start + 1 : end]
    while inside:
        comma = next((i for i, token in enumerate(inside) if token.text == ","), len(inside))
        part, inside = inside[:comma], inside[comma + 1 :]
        if len(part) != 3 or part[0].kind != "word" or part[1].text != "=":
            raise bad
        option = part[0].text.lower()
        name = _OURS.get(option, option)
        if name in options:
            raise QueryRefused(f"the option {option} is given twice", hint="leave one of them out")
        options[name] = _option(name, part[2])
    return options, end + 1


def _option(name: str, value: Token) -> Fraction | str:
    if name in {"epsilon", "delta", "share", *_CAPS} and value.kind == "number":
        return _number(value.text)
    if name == "caps" and value.kind == "text":
        return value.text[1:-1].replace("''", "'")
    if name == "privacy_unit_column" and value.kind in {"word", "quoted"}:
        return value.text[1:-1].replace('""', '"') if value.kind == "quoted" else value.text
    if name in _KNOWN:
        raise QueryRefused(f"the option {name} has a value that is not understood", hint="OPTIONS(epsilon = 0.1)")
    raise QueryRefused(f"the option {name} is not known", hint=f"known: {', '.join(_KNOWN)}")


def _number(text: str) -> Fraction:
    try:
        return rational("number", text.replace("_", ""))
    except InvalidParameter:
        raise QueryRefused("a number in OPTIONS is not understood") from None


# -- SUM(x, contribution_bounds_per_group => (a, b)) ------------------------------------------------------------------


def _with_clamps(tokens: list[Token]) -> list[Token]:
    while True:
        index = next(
            (
                i
                for i, t in enumerate(tokens)
                if str(t) in _BOUNDS and i + 1 < len(tokens) and tokens[i + 1].text == "=>"
            ),
            None,
        )
        if index is None:
            return tokens
        tokens = _clamped(tokens, index)


def _clamped(tokens: list[Token], index: int) -> list[Token]:
    name = tokens[index].text
    opening = _opening(tokens, index)
    function = str(tokens[opening - 1]) if opening > 0 else ""
    if function not in _CLAMPED:
        raise QueryRefused(
            f"{name} cannot be used in {function or 'this place'}",
            hint="SUM(x, contribution_bounds_per_group => (0, 100)); to cap counts, OPTIONS(rows_per_group = 10)",
        )
    bounds, end = _pair(tokens, index + 2, name)
    if tokens[index - 1].text != "," or end >= len(tokens) or tokens[end].text != ")":
        raise QueryRefused(f"{name} must be the last argument of {function}", hint=f"{function}(x, {name} => (0, 100))")
    comma = _first_comma(tokens, opening)
    clamp = [Token("word", "CLAMP"), Token("sign", "("), *tokens[opening + 1 : comma], Token("sign", ","), *bounds]
    return [*tokens[: opening + 1], *clamp, Token("sign", ")"), *tokens[comma : index - 1], *tokens[end:]]


def _first_comma(tokens: list[Token], opening: int) -> int:
    """The place of the comma after the first argument of a call."""
    depth = 0
    for i in range(opening, len(tokens)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(tokens[i].text, 0)
        if tokens[i].text == "," and depth == 1:
            return i
    raise QueryRefused("a call is not closed")


def _opening(tokens: list[Token], index: int) -> int:
    """The place of the parenthesis that opens around a token; 0 if there is none."""
    depth = 0
    for i in range(index - 1, -1, -1):
        if tokens[i].text == ")":
            depth += 1
        elif tokens[i].text == "(":
            if depth == 0:
                return i
            depth -= 1
    return 0


def _pair(tokens: list[Token], start: int, name: str) -> tuple[list[Token], int]:
    end = next((i for i in range(start, len(tokens)) if tokens[i].text == ")"), None)
    inside = [] if end is None else tokens[start + 1 : end]
    shape = "".join({"number": "n"}.get(token.kind, token.text) for token in inside)
    if end is None or tokens[start].text != "(" or not re.fullmatch("-?n,-?n", shape):
        raise QueryRefused(f"{name} needs two numbers", hint=f"{name} => (0, 100)")
    return inside, end + 1


def _words(text: str) -> list[str]:
    return text.split()


_MANY = 1_000
_KEYWORDS = frozenset(
    _words(
        "ALL AND AS ASC BETWEEN BY CASE DESC DISTINCT ELSE EXISTS FILTER FROM GROUP HAVING ILIKE IN IS JOIN LIKE "
        "MATERIALIZED NOT ON OR OVER SELECT THEN USING WHEN WHERE"
    )
)
_FORMS: dict[str, tuple[int, int]] = {  # special syntax, or other numbers of arguments than in the plan
    "COUNT": (1, 1),
    **dict.fromkeys(_words("QUANTILE QUANTILE_CONT QUANTILE_DISC APPROX_QUANTILE"), (2, 2)),
    **dict.fromkeys(_words("PERCENTILE_CONT PERCENTILE_DISC"), (1, 2)),
    **dict.fromkeys(_words("EXTRACT CAST TRY_CAST"), (1, 1)),
    **dict.fromkeys(_words("DATE_PART DATEPART DATE_TRUNC DATETRUNC MOD IFNULL NVL DATE_ADD DATE_SUB"), (2, 2)),
    **dict.fromkeys(_words("DATE_DIFF DATEDIFF"), (3, 3)),
    "INTERVAL": (1, 1),
    **dict.fromkeys(_words("ROW_NUMBER RANK DENSE_RANK"), (0, 0)),
    "NTILE": (1, 1),
    **dict.fromkeys(_words("LAG LEAD"), (1, 3)),
    **dict.fromkeys(_words("FIRST_VALUE LAST_VALUE"), (1, 1)),
    "DECIMAL": (2, 2),
    "ROUND": (1, 2),
    "IF": (2, 3),
    "IIF": (2, 3),
    "SUBSTRING": (1, 3),  # one, if FROM and FOR separate them
}
ARGUMENTS = {
    **{
        spelled: (function.least, function.most or _MANY) for function in FUNCTIONS.values() for spelled in function.sql
    },
    **{
        spelled: (function.arguments, function.arguments)
        for function in AGGREGATES.values()
        for spelled in function.sql
    },
    **_FORMS,
}
_AGGREGATES = ("COUNT", "QUANTILE", *(function.sql[0] for function in AGGREGATES.values() if function.sql))


def require_known_calls(text: str) -> None:
    """Refuse a text that calls a function that is not on the list, or with a wrong number of arguments."""
    require_known_names(text)
    tokens = tokens_of(text)
    for index, token in _calls(tokens):
        known, count = ARGUMENTS[str(token)], _count(tokens, index + 1)
        if not known[0] <= count <= known[1]:
            raise QueryRefused(f"{token} does not take {count} argument{'s' if count != 1 else ''}")


def require_known_names(text: str, *, but: Collection[str] = (), resembling: bool = False) -> None:
    """Refuse a text that calls a function that is neither on the list nor in `but`.

    `resembling` checks only names that are spelled almost like one on the list.
    """
    tokens = tokens_of(text)
    for index, token in _calls(tokens):
        name = str(token)
        if name in ARGUMENTS or name in but or (resembling and not _is_like_one(name)):
            continue
        inside = takewhile(lambda token_inside: token_inside.text != ")", tokens[index + 2 :])
        column = ([token_inside.text for token_inside in inside if token_inside.kind in {"word", "quoted"}] or ["day"])[
            -1
        ]
        raise QueryRefused(f"the function {name[:60]} is not answered", hint=_instead_of(name, column))


def _calls(tokens: list[Token]) -> list[tuple[int, Token]]:
    return [
        (index, token)
        for index, token in enumerate(tokens[:-1])
        if tokens[index + 1].text == "(" and token.kind in {"word", "quoted"} and str(token) not in _KEYWORDS
    ]


def _is_like_one(name: str) -> bool:
    return name in _INSTEAD or bool(did_you_mean(name, ARGUMENTS))


def _instead_of(name: str, column: str) -> str:
    if name in _INSTEAD:
        return _INSTEAD[name].replace("day)", f"{column})")
    return f"{did_you_mean(name, ARGUMENTS)}{available()}; aggregates: {', '.join(_AGGREGATES)}"


def _count(tokens: list[Token], opening: int) -> int:
    depth, commas = 0, 0
    for index in range(opening, len(tokens)):
        sign = tokens[index].text
        if sign in {"(", "[", "{"}:
            depth += 1
        elif sign in {")", "]", "}"}:
            depth -= 1
            if depth == 0:
                return commas + 1 if index > opening + 1 else 0
        elif sign == "," and depth == 1:
            commas += 1
    return commas + 1


_INSTEAD = dict.fromkeys(  # functions of other dialects, and what to write instead
    ("STRFTIME", "TO_CHAR", "DATE_FORMAT", "FORMAT_DATE"),
    "DATE_TRUNC and YEAR, MONTH, DAY take dates apart: "
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM trips GROUP BY month",
)
