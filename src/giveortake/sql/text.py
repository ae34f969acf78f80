"""SQL before parsing and when it is refused: tokens, typos, refusals with hints.

Rewrite examples in hints, which are about `trips`, for a table of the session.

Refusals of SQL by name, with hints what to write instead.

Find the error in a text that cannot be parsed, and the keyword that was probably meant.

Checks of the tokens before parsing: one SELECT, not too deep, known functions; BigQuery's clauses are rewritten.

`SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(…)` becomes SELECT and a dictionary. `SUM(x, contribution_bounds_per_group =>
(a, b))` becomes `SUM(CLAMP(x, a, b))`: contributions are bounded row by row here, so bounds apply to each row.

The parser renames some functions, and some of its builders drop arguments that they do not know. So every function that
the text calls must itself be on a list, with an allowed number of arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TYPE_CHECKING, NoReturn, final

from sqlglot import exp

from giveortake.advice import Advice
from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.exact import rational
from giveortake.plan.functions import FUNCTIONS, available
from giveortake.plan.question import AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Collection
    from fractions import Fraction

    from sqlglot.errors import SqlglotError

    from giveortake.plan import Catalog
    from giveortake.plan.domains import Domain


_EXAMPLE_NAMES = re.compile(r"\b(trips|user_id|amount|region)\b")


def about_own_table(hint: str, catalog: Catalog) -> str:
    """The hint for the first private table: its person, a bounded number, and a column with known values.

    Names without a counterpart, and names that the table has itself, stay as they are.
    """
    if not catalog.private:
        return hint
    table, relation = next(iter(catalog.private.items()))
    schema, person = relation.schema, relation.person
    columns = {name: domain for name, domain in schema.items() if name != person}
    counterparts = {
        "trips": table if "trips" not in catalog.private else None,
        "user_id": person,
        "amount": next((name for name, domain in columns.items() if _is_bounded(domain)), None),
        "region": next((name for name, domain in columns.items() if domain.categories is not None), None),
    }

    def own(match: re.Match[str]) -> str:
        name = counterparts[match[0]]
        return match[0] if name is None or match[0] in schema else in_sql(name)

    def write(text: str) -> str:
        return _EXAMPLE_NAMES.sub(own, text)

    return hint.rewritten(write) if isinstance(hint, Advice) else write(hint)


def name_without_quotes(text: str, catalog: Catalog) -> str | None:
    """A column with blanks in its name that a text names without quotes around it; None if there is none."""
    names = {name for relation in catalog.private.values() for name in relation.schema if " " in name.strip()}
    for name in sorted(names):
        if re.search(rf"(?<![\w\"'`]){re.escape(name)}(?![\w\"'`])", text, re.IGNORECASE):
            return name
    return None


def _is_bounded(domain: Domain) -> bool:
    return domain.kind.is_number and domain.low is not None and domain.high is not None


def in_sql(name: str) -> str:
    """A name as SQL writes it, in quotes if needed.

    >>> in_sql("fee"), in_sql("Fee (EUR)")
    ('fee', '"Fee (EUR)"')
    """
    return name if name.isidentifier() else f'"{name.replace(chr(34), chr(34) * 2)}"'


_BY_REGION = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
_WORKLOAD = Advice(
    "{workload} answers the same text, all sets together", "one by one: {alone}", between="; ", alone=_BY_REGION
)
_TOP = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region ORDER BY n DESC LIMIT 10"
_OF_PERSONS = "SELECT AVG(CLAMP(n, 0, 9)) AS mean FROM (SELECT user_id, COUNT(*) AS n FROM trips GROUP BY user_id)"
_JOIN = "SELECT zone, COUNT(*) AS n FROM trips JOIN zones USING (region) GROUP BY zone"
_COUNT = "SELECT COUNT(*) AS n FROM trips"
_AGGREGATE_EXAMPLE = (
    "SELECT COUNT(*) AS n, SUM(amount) AS total, AVG(amount) AS mean, MEDIAN(amount) AS median FROM trips"
)
_WRITTEN = "SELECT COUNT(*) AS n FROM trips WHERE amount > 100"
_DATED = "SELECT COUNT(*) AS n FROM trips WHERE day > DATE '2024-01-31'"
_LISTED = "SELECT COUNT(*) AS n FROM (SELECT user_id, region, amount FROM trips)"

# Each entry has a reason or advice, and then an example query that works: a test runs them all.
_CLAUSES = {
    "distinct": ("DISTINCT", f"group instead: {_BY_REGION}"),
    "qualify": ("QUALIFY", f"HAVING, ORDER BY and LIMIT work on the answer: {_TOP}"),
    "windows": (
        "WINDOW",
        "write it after OVER: SELECT region, SUM(COUNT(*)) OVER (ORDER BY region) AS n FROM trips GROUP BY region",
    ),
    "sample": ("a SAMPLE", f"leave it out, noise is added anyway: {_COUNT}"),
    "locks": ("FOR UPDATE", f"leave it out, nothing is changed: {_COUNT}"),
    "into": ("INTO", f"use the answer, nothing is written: {_COUNT}"),
    "laterals": ("LATERAL", f"join a public table, or a subquery on the person: {_JOIN}"),
    "offset": ("OFFSET", f"use LIMIT, and skip rows of the answer yourself: {_TOP}"),
    "order": ("ORDER BY inside a subquery", f"order the answer, outside: {_TOP}"),
    "limit": ("LIMIT inside a subquery, which depends on everybody's rows", f"limit the answer, outside: {_TOP}"),
    "recursive": (
        "WITH RECURSIVE",
        "use a plain WITH: WITH north AS (SELECT * FROM trips WHERE region = 'north') SELECT COUNT(*) AS n FROM north",
    ),
    "pivots": (
        "PIVOT",
        (
            "use one FILTER for each column: SELECT COUNT(*) FILTER (WHERE region = 'north') AS north, "
            "COUNT(*) FILTER (WHERE region = 'south') AS south FROM trips"
        ),
    ),
    "db": ("a schema before a table's name", f"write only the table's name: {_COUNT}"),
    "catalog": ("a catalog before a table's name", f"write only the table's name: {_COUNT}"),
    "joins": ("a join in parentheses", f"write joins one after another: {_JOIN}"),
    "columns": (
        "a list of column names after an alias",
        "name columns with AS inside: SELECT COUNT(a) AS n FROM (SELECT amount AS a FROM trips) AS t",
    ),
    "method": ("NATURAL, ASOF and other special joins", f"say which column: {_JOIN}"),
    "except_": ("EXCLUDE", f"list the columns: {_LISTED}"),
    "replace": ("REPLACE", f"list the columns: {_LISTED}"),
    "rename": ("RENAME", f"list the columns: {_LISTED}"),
    "rollup": ("ROLLUP", _WORKLOAD),
    "cube": ("CUBE", _WORKLOAD),
    "grouping_sets": ("GROUPING SETS", _WORKLOAD),
    "all": ("GROUP BY ALL", f"name the columns to group by: {_BY_REGION}"),
    "totals": ("WITH TOTALS", f"ask one more question: {_COUNT}"),
    "by_name": (
        "UNION BY NAME",
        (
            "list the columns in the same order on both sides: SELECT COUNT(*) AS n FROM "
            "(SELECT user_id, amount FROM trips UNION ALL SELECT user_id, amount FROM trips)"
        ),
    ),
    "limit_options": ("LIMIT with a percentage or ties", f"LIMIT and a number: {_TOP}"),
    "order_by": ("an ORDER BY inside an aggregate", f"leave it out, sums have no order: {_AGGREGATE_EXAMPLE}"),
    "query": (
        "IN with a subquery",
        (
            "over a public table, joined by AND, it is: SELECT COUNT(*) AS n FROM trips WHERE age > 3 AND region IN "
            "(SELECT region FROM zones)"
        ),
    ),
}
_HINTS: dict[str, str] = {
    "Window": f"over one person's rows it is, in a subquery that groups by the person: {_OF_PERSONS}",
    "AnyValue": f"group by the column, or take a quantile: {_BY_REGION}",
    "ArrayAgg": f"answers are numbers: {_AGGREGATE_EXAMPLE}",
    "List": f"answers are numbers: {_AGGREGATE_EXAMPLE}",
    "GroupConcat": f"answers are numbers: {_AGGREGATE_EXAMPLE}",
    "Subquery": f"join a public table, or a subquery on the person: {_JOIN}",
    "Exists": "a public table goes into IN: SELECT COUNT(*) AS n FROM trips WHERE region IN (SELECT region FROM zones)",
    "Rand": f"noise is added anyway: {_COUNT}",
    "ApproxDistinct": "COUNT(DISTINCT) answers it, with noise: SELECT COUNT(DISTINCT region) AS n FROM trips",
    "IntDiv": "SELECT SUM(FLOOR(amount / 10)) AS tens FROM trips",
    "Log": "SELECT AVG(LN(CLAMP(amount, 1, 500)) / LN(10)) AS mean FROM trips",
    "NullSafeEQ": "SELECT COUNT(*) AS n FROM trips WHERE region = 'north' OR region IS NULL",
    "NullSafeNEQ": "SELECT COUNT(*) AS n FROM trips WHERE region <> 'north' OR region IS NULL",
    "Interval": "SELECT COUNT(*) AS n FROM trips WHERE day + INTERVAL 7 DAY > DATE '2024-01-31'",
    "CurrentDate": f"write the date out, or the answer would change by itself: {_DATED}",
    "CurrentTimestamp": f"write the date out, or the answer would change by itself: {_DATED}",
    "Placeholder": f"write the value out: {_WRITTEN}",
    "Parameter": f"write the value out: {_WRITTEN}",
    "Star": f"name the columns and aggregate them: {_AGGREGATE_EXAMPLE}",
    "Escape": "LIKE knows only % and _: SELECT COUNT(*) AS n FROM trips WHERE region LIKE 'n%'",
    "Distinct": "other DISTINCT aggregates are not: SELECT COUNT(DISTINCT region) AS n FROM trips",
    "GroupingSets": _WORKLOAD,
    "Rollup": _WORKLOAD,
    "Cube": _WORKLOAD,
    "Order": f"leave it out, sums have no order: {_AGGREGATE_EXAMPLE}",
    "IgnoreNulls": f"aggregates leave missing values out anyway: {_AGGREGATE_EXAMPLE}",
    "Fetch": f"LIMIT and a number: {_TOP}",
    "RegexpLike": "SELECT COUNT(*) AS n FROM trips WHERE region LIKE 'n%' OR region IN ('south', 'east')",
    "SimilarTo": "SELECT COUNT(*) AS n FROM trips WHERE region LIKE 'n%' OR region IN ('south', 'east')",
}
_NAMES = {
    "Window": "a window function (OVER)",
    "Subquery": "a subquery as a value",
    "Select": "a subquery as a value",
    "Exists": "EXISTS",
    "Star": "`*`",
    "Rand": "RANDOM()",
    "IntDiv": "the operator //",
    "NullSafeEQ": "IS NOT DISTINCT FROM",
    "NullSafeNEQ": "IS DISTINCT FROM",
    "Placeholder": "a parameter",
    "Tuple": "a row of several values",
    "Bracket": "an element of a list",
    "GroupConcat": "STRING_AGG",
    "ArrayAgg": "ARRAY_AGG or LIST",
    "AnyValue": "ANY_VALUE",
    "GroupingSets": "GROUPING SETS",
    "Explode": "UNNEST",
    "Values": "VALUES",
    "Lateral": "LATERAL",
    "Unnest": "UNNEST",
    "ReadCSV": "a table function (READ_CSV)",
    "ReadParquet": "a table function (READ_PARQUET)",
}


def allow(node: exp.Expr, *names: str) -> None:
    """Refuse a node that has any argument other than the given ones."""
    for name, value in node.args.items():
        if name in names or value is None or value is False or value == []:
            continue
        label, hint = _CLAUSES.get(name, (f"{named(node)} with {name.strip('_').replace('_', ' ').upper()}", None))
        raise QueryRefused(f"{label} is not answered", hint=hint)


def named(node: object) -> str:
    """The name of a node for people."""
    kind = type(node).__name__
    if kind in _NAMES:
        return _NAMES[kind]
    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this).upper()[:60]}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name()}"
    spelled = "".join(f" {letter}" if letter.isupper() and i else letter for i, letter in enumerate(kind))
    return spelled.upper() if len(kind) > 2 else kind


def refuse(node: object, where: str = "here", *, hint: str | None = None) -> NoReturn:
    """Refuse a construct, and say what to write instead."""
    if isinstance(node, exp.IgnoreNulls):
        node = node.this
    hint = hint or _HINTS.get(type(node).__name__)
    if hint is None and isinstance(node, exp.Func) and not isinstance(node, exp.AggFunc):
        hint = available()
    raise QueryRefused(f"{named(node)} is not answered {where}".rstrip(), hint=hint)


_EXAMPLE = "an example: SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
_CLAUSE_WORDS = ("SELECT", "FROM", "WHERE", "HAVING", "LIMIT", "JOIN", "USING", "BETWEEN", "DISTINCT", "AND", "LIKE")
_CLAUSE_KEYWORDS = {
    **{word: word for word in _CLAUSE_WORDS},
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
    start = sum(len(earlier_line) + 1 for earlier_line in text.split("\n")[: line - 1]) + end - len(word)
    previous_word = _WORD_BEFORE.search(text, max(start - _NEAR, 0), start)
    before = previous_word[1] if previous_word else ""
    if before.upper() in {"GROUP", "ORDER"}:
        return start, word, f"did you mean {before.upper()} BY? "
    slips = [(start, word), (start if previous_word is None else previous_word.start(), before)]
    position, slip = max(slips, key=lambda candidate: _keyword(candidate[1])[0])
    likeness, keyword = _keyword(slip)
    if likeness >= _ALIKE:
        return position, slip, f"did you mean {keyword}? "
    return start, word, "a parenthesis is not closed before it; " if details["description"] == "Expecting )" else ""


def _keyword(word: str) -> tuple[float, str]:
    """How much a word resembles a keyword, and which; 0 if it is spelled correctly."""
    if word.upper() in {"GROUP", "ORDER", *_CLAUSE_KEYWORDS.values()}:
        return 0, ""
    return max(
        (SequenceMatcher(None, spelling, word[:_NEAR].upper()).ratio(), keyword)
        for spelling, keyword in _CLAUSE_KEYWORDS.items()
    )


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
