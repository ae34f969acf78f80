"""From SQL text to a question: tokens are checked, the text is parsed, and the outermost SELECT is read.

- Before and after parsing: one SELECT, not too deep, known functions. The parser renames some functions, and builders
  of some drop arguments that they do not know, so every function that the text calls must itself be on a list, with an
  allowed number of arguments.
- BigQuery's clauses: `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(…)` becomes SELECT and a dictionary, and
  `SUM(x, contribution_bounds_per_group => (a, b))` becomes `SUM(CLAMP(x, a, b))`, where bounds apply to each row.
- ROLLUP, CUBE and GROUPING SETS: one question by all keys, and the requested sets of keys.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.exact import rational
from giveortake.plan import ColumnReference, Question
from giveortake.plan.functions import FUNCTIONS, available
from giveortake.plan.question import aggregates_in, windows_in
from giveortake.plan.relations import AGGREGATES
from giveortake.sql.outputs import (
    Answers,
    Outputs,
    aggregate,
    group_keys,
    has_aggregate,
    is_aggregate,
    key_expression,
    order_of,
)
from giveortake.sql.refusals import about_own_table, allow, in_sql, name_without_quotes, not_understood, refuse
from giveortake.sql.rows import PARSED, Rows, Text, column_name, unaliased
from giveortake.sql.sources import Tables, require_distinct, selected, source

if TYPE_CHECKING:
    from collections.abc import Collection
    from fractions import Fraction

    from giveortake.plan import Catalog, Expression
    from giveortake.plan.question import Output


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
_KNOWN = ("epsilon", "delta", "share", *_CAPS, "caps", "aim", "privacy_unit_column")


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
    if name in {"caps", "aim"} and value.kind == "text":
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
    commas, _ = _commas(tokens, opening)
    if not commas:
        raise QueryRefused("a call is not closed")
    comma = commas[0]
    clamp = [Token("word", "CLAMP"), Token("sign", "("), *tokens[opening + 1 : comma], Token("sign", ","), *bounds]
    return [*tokens[: opening + 1], *clamp, Token("sign", ")"), *tokens[comma : index - 1], *tokens[end:]]


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
    """How many arguments a call has."""
    commas, end = _commas(tokens, opening)
    return 0 if end == opening + 1 else len(commas) + 1


def _commas(tokens: list[Token], opening: int) -> tuple[list[int], int]:
    """Where the commas between the arguments of a call are, and its end."""
    depth, commas = 0, list[int]()
    for index in range(opening, len(tokens)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return commas, index
        if tokens[index].text == "," and depth == 1:
            commas.append(index)
    return commas, len(tokens)


_INSTEAD = dict.fromkeys(  # functions of other dialects, and what to write instead
    ("STRFTIME", "TO_CHAR", "DATE_FORMAT", "FORMAT_DATE"),
    "DATE_TRUNC and YEAR, MONTH, DAY take dates apart: "
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM trips GROUP BY month",
)


_CLAUSES = ("expressions", "from_", "joins", "where", "with_", "group", "having", "order", "limit")


def read_text(text: str, catalog: Catalog) -> tuple[Question, dict[str, Fraction | str]]:
    """The question, and the options of BigQuery's clause. Examples in refusals use a table of the session."""
    try:
        return _read(text, catalog)
    except QueryRefused as refusal:
        unread = refusal.message.startswith(("the query is not understood", "there is no column"))
        if unread and (name := name_without_quotes(text, catalog)) is not None:
            hint = f"a name with blanks stands in double quotes: {in_sql(name)}"
            QueryRefused.__init__(refusal, refusal.message, hint=hint)
        elif refusal.hint is not None and "SELECT " in refusal.hint:
            QueryRefused.__init__(refusal, refusal.message, hint=about_own_table(refusal.hint, catalog))
        raise


def _read(text: str, catalog: Catalog) -> tuple[Question, dict[str, Fraction | str]]:
    plain, options = prepare(text)
    try:
        try:
            question = _question(_parsed(plain), Tables(catalog, {}))
        except QueryRefused as refused:
            if refused.message.startswith("the function ") and "SELECT" not in (refused.hint or ""):
                require_known_names(plain)  # before parsing: the parser may use another name for it
            require_known_names(plain, but=PARSED, resembling=True)
            raise
        require_known_calls(plain)
    except RecursionError:
        raise QueryRefused("the query nests too deeply", hint="use WITH and name the parts") from None
    stated = options.get("privacy_unit_column")
    person = question.relation.person
    if stated is not None and (person is None or str(stated).casefold() != person.casefold()):
        raise QueryRefused(
            f"privacy_unit_column = {str(stated)[:60]} is not the person of this data, which the custodian chose",
            hint="leave it out" if person is None else f"privacy_unit_column = {person}, or leave it out",
        )
    return question, options


def question_of(node: exp.Expr, catalog: Catalog) -> Question:
    """The question of an outermost SELECT."""
    try:
        return _question(node, Tables(catalog, {}))
    except RecursionError:
        raise QueryRefused("the query nests too deeply", hint="use WITH and name the parts") from None


def _parsed(text: str) -> exp.Expr:
    try:
        statements = [statement for statement in sqlglot.parse(text, dialect=Text) if statement is not None]
    except SqlglotError as error:
        raise not_understood(text, error) from None
    except RecursionError:
        raise
    except Exception:  # noqa: BLE001 (whatever goes wrong inside the parser, the query is refused)
        raise QueryRefused("the query is not understood", hint="write it more simply") from None
    if len(statements) != 1:
        raise QueryRefused("several statements cannot be answered at once", hint="ask them one by one")
    node = statements[0]
    while type(node) is exp.Subquery:
        allow(node, "this")
        node = node.this
    if isinstance(node, exp.SetOperation):
        raise QueryRefused(
            f"{type(node).__name__.upper()} of answers is not answered",
            hint="UNION ALL belongs in a subquery: SELECT COUNT(*) AS n FROM (SELECT user_id FROM trips UNION ALL "
            "SELECT user_id FROM trips)",
        )
    if type(node) is not exp.Select:
        refuse(node, "", hint="questions begin with SELECT or WITH: SELECT COUNT(*) AS n FROM trips")
    return node


def _question(node: exp.Expr, tables: Tables) -> Question:
    if node.args.get("distinct") is not None:
        return _distinct(node, tables)
    allow(node, *_CLAUSES)
    scope = source(node, tables.with_parts(node))
    rows = Rows(scope)
    items = [unaliased(item) for item in selected(node)]
    if any(
        isinstance(inside, exp.Star) or (isinstance(inside.this, exp.Star) and type(inside) is exp.Column)
        for _, inside in items
    ):
        raise QueryRefused(
            "`*` asks for rows, and rows are never shown",
            hint="SELECT COUNT(*) AS n, SUM(amount) AS total, AVG(amount) AS mean FROM trips",
        )
    aliases = {name.casefold(): inside for name, inside in items if name is not None}
    grouped = dict.fromkeys(key_expression(key, scope, aliases) for key in group_keys(node))
    keys: list[tuple[str, Expression]] = []
    computed: list[tuple[str, exp.Expr]] = []
    columns: list[str] = []
    taken = {name.casefold() for name, _ in items if name is not None}
    for name, inside in items:
        if has_aggregate(inside):
            chosen = name or _unused(_usual(inside, rows), taken)
            computed.append((chosen, inside))
        else:
            chosen, key = _key(name, inside, rows, grouped)
            chosen = chosen if name is not None else _unused(chosen, taken)
            keys.append((chosen, key))
        taken.add(chosen.casefold())
        columns.append(chosen)
    require_distinct(columns)
    outputs: dict[str, Output] = {}
    for name, inside in computed:
        outputs[name] = _measured(inside, Outputs(rows, tuple(keys), outputs))
    hidden = set(grouped) - {key for _, key in keys}
    if hidden and outputs:
        raise QueryRefused(
            "GROUP BY has a key that is not selected",
            hint="add it to SELECT: SELECT region, COUNT(*) AS n FROM trips GROUP BY region",
        )
    if len({key for _, key in keys}) < len(keys):
        raise QueryRefused("a key is selected twice", hint="select each key once")
    answers = Answers(scope, tuple(keys), tuple(outputs.items()))
    having = None
    if node.args.get("having") is not None:
        allow(node.args["having"], "this")
        having = answers.condition(node.args["having"].this)
    order = order_of(node.args.get("order"), lambda item: _ordered(item, answers, columns), answers.measured)
    return Question(
        scope.relation,
        tuple(keys),
        tuple(outputs.items()),
        having,
        order,
        _limit(node.args.get("limit")),
        tuple(columns),
    )


def _distinct(node: exp.Expr, tables: Tables) -> Question:
    """The question of a SELECT DISTINCT of declared keys."""
    if node.args["distinct"].args.get("on") is not None:
        raise QueryRefused(
            "DISTINCT ON is not answered", hint="SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
        )
    allow(node, "distinct", "expressions", "from_", "joins", "where", "with_", "order", "limit")
    allow(node.args["distinct"])
    scope = source(node, tables.with_parts(node))
    rows = Rows(scope)
    keys: list[tuple[str, Expression]] = []
    for name, inside in (unaliased(item) for item in selected(node)):
        if has_aggregate(inside) or inside.find(exp.Star) is not None:
            raise QueryRefused(
                "DISTINCT together with aggregates is not answered",
                hint="SELECT region, COUNT(*) AS n FROM trips GROUP BY region",
            )
        keys.append((name or _key_name(inside, rows), rows.expression(inside)))
    columns = [name for name, _ in keys]
    require_distinct(columns)
    outside = Answers(scope, tuple(keys), ())
    order = order_of(node.args.get("order"), lambda item: _ordered(item, outside, columns), outside.measured)
    limit = _limit(node.args.get("limit"))
    return Question(scope.relation, tuple(keys), (), None, order, limit, tuple(columns), distinct=True)


def _measured(node: exp.Expr, outputs: Outputs) -> Output:
    output = outputs.read(node)
    if not aggregates_in(output) and not windows_in(output):
        raise QueryRefused("a column of the answer that aggregates nothing is not answered", hint="leave it out")
    return output


def _key(name: str | None, node: exp.Expr, rows: Rows, grouped: dict[Expression, None]) -> tuple[str, Expression]:
    expression = rows.expression(node)
    if expression not in grouped:
        column = f"`{str(node.name)[:60]}`" if isinstance(node, exp.Column) else "a column of SELECT"
        raise QueryRefused(
            f"{column} is neither grouped by nor inside an aggregate, and rows are never shown",
            hint="GROUP BY it, or aggregate it: SELECT region, AVG(amount) AS mean FROM trips GROUP BY region",
        )
    return name or _key_name(node, rows), expression


def _key_name(node: exp.Expr, rows: Rows) -> str:
    if isinstance(node, exp.Column):
        return rows.scope.displayed_name(*column_name(node))
    expression = rows.expression(node)
    columns = list(dict.fromkeys(expression.columns()))
    return "_".join([getattr(expression, "name", "key"), *columns[:1]])


def _usual(node: exp.Expr, rows: Rows) -> str:
    if isinstance(node, exp.Window):
        return node.this.sql_name().lower() if isinstance(node.this, exp.Func) else "value"
    if not is_aggregate(node):
        return "value"
    return aggregate(node, rows)[1]


def _unused(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate.casefold() in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _ordered(node: exp.Expr, answers: Answers, columns: list[str]) -> str | None:
    """The column of the answer that ORDER BY names; None if it orders by another output."""
    if isinstance(node, exp.Literal) and not node.is_string:
        text = str(node.this)
        if text.isdecimal() and len(text) < 6 and 1 <= int(text) <= len(columns):
            return columns[int(text) - 1]
        raise QueryRefused(f"ORDER BY {text[:20]} is not a column of the answer", hint="name the column")
    name = answers.name_of(node)
    if name is None and not has_aggregate(node) and not _of_outputs(node, answers):
        raise QueryRefused(
            "ORDER BY something that the answer does not hold is not answered", hint=f"by {', '.join(columns)}"
        )
    return name


def _of_outputs(node: exp.Expr, answers: Answers) -> bool:
    """Whether a node uses only columns of the answer, by name."""
    names = {name.casefold() for name, _ in answers.outputs}
    columns = [str(column.name).casefold() for column in node.find_all(exp.Column)]
    return bool(columns) and set(columns) <= names


def _limit(node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    if type(node) is not exp.Limit:
        refuse(node)
    allow(node, "expression")
    value = node.expression
    if (
        isinstance(value, exp.Literal)
        and not value.is_string
        and str(value.this).isdecimal()
        and len(str(value.this)) < 10
    ):
        return int(value.this)
    raise QueryRefused(
        "LIMIT needs a whole number, written out",
        hint="SELECT region, COUNT(*) AS n FROM trips GROUP BY region LIMIT 10",
    )


_EXAMPLE = "SELECT region, sex, COUNT(*) AS n FROM people GROUP BY CUBE (region, sex)"
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def read_grouping_sets(text: str, catalog: Catalog) -> tuple[Question, tuple[tuple[str, ...], ...]]:
    """The question by all keys together, and every set of key columns, each once, in the order of SQL.

    The sets have the table's names of columns; the names that the query gives to keys are in the question.
    """
    plain_text, _ = prepare(text)
    node = _parsed(plain_text)
    group = node.args.get("group")
    if group is None or not any(isinstance(part, _SETS) for part in group.expressions):
        raise QueryRefused("a workload in SQL has ROLLUP, CUBE or GROUPING SETS", hint=_EXAMPLE)
    allow(group, "expressions")
    parts = [_sets_of(part) if isinstance(part, _SETS) else [_columns(part)] for part in group.expressions]
    combined = [tuple(itertools.chain(*choice)) for choice in itertools.product(*parts)]
    every = list({column.sql(): column for column in itertools.chain(*combined)}.values())
    plain = exp.Group(expressions=[column.copy() for column in every])
    node.set("group", plain if every else None)
    question = question_of(node, catalog)
    if question.having is not None or question.order or question.limit is not None:
        raise QueryRefused("a workload has no HAVING, ORDER BY or LIMIT", hint="sort and filter what is answered")
    columns = {name: key.name for name, key in question.keys if isinstance(key, ColumnReference)}
    if len(columns) < len(question.keys):
        raise QueryRefused("a workload is grouped by columns as they are", hint=_EXAMPLE)
    known = {name.casefold(): column for name, column in columns.items()}
    known |= {column.casefold(): column for column in columns.values()}
    key_sets = [tuple(dict.fromkeys(known[column.name.casefold()] for column in chosen)) for chosen in combined]
    return question, tuple(dict.fromkeys(key_sets))


def _sets_of(node: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """The sets of keys that one item of GROUP BY means."""
    if isinstance(node, exp.GroupingSets):
        listed = [_sets_of(part) if isinstance(part, _SETS) else [_columns(part)] for part in node.expressions]
        return list(itertools.chain(*listed))
    keys = [_columns(part) for part in node.expressions]
    if isinstance(node, exp.Rollup):
        return [tuple(itertools.chain(*keys[:length])) for length in range(len(keys), -1, -1)]
    several = (subset for length in range(len(keys), -1, -1) for subset in itertools.combinations(keys, length))
    return [tuple(itertools.chain(*subset)) for subset in several]


def _columns(node: exp.Expr) -> tuple[exp.Expr, ...]:
    """The columns of one set: several in parentheses, or a single one."""
    if isinstance(node, exp.Paren):
        return _columns(node.this)
    if isinstance(node, exp.Tuple):
        return tuple(itertools.chain(*(_columns(part) for part in node.expressions)))
    if not isinstance(node, exp.Column):
        raise QueryRefused("ROLLUP, CUBE and GROUPING SETS are made of columns", hint=_EXAMPLE)
    return (node,)
