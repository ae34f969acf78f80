"""From SQL text to a question: the outermost SELECT, with ROLLUP, CUBE and GROUPING SETS.

- From a text to a question: parse, then read the outermost SELECT.
- Read GROUP BY with ROLLUP, CUBE and GROUPING SETS: one question by all keys, and the requested sets of keys.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from giveortake.errors import QueryRefused
from giveortake.plan import ColumnReference, Question
from giveortake.plan.question import aggregates_in, windows_in
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
from giveortake.sql.tokens import prepare, require_known_calls, require_known_names

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.plan import Catalog, Expression
    from giveortake.plan.question import Output


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


def parsed_select(text: str) -> exp.Expr:
    """The outermost SELECT of a text."""
    plain, _ = prepare(text)
    return _parsed(plain)


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
        if isinstance(node, exp.Column):
            raise QueryRefused(
                f"`{str(node.name)[:60]}` is neither grouped by nor inside an aggregate, and rows are never shown",
                hint="GROUP BY it, or aggregate it: SELECT region, AVG(amount) AS mean FROM trips GROUP BY region",
            )
        raise QueryRefused(
            "a column of SELECT is neither grouped by nor an aggregate, and rows are never shown",
            hint="GROUP BY it, or aggregate it: SELECT region, AVG(amount) AS mean FROM trips GROUP BY region",
        )
    if name is None:
        name = _key_name(node, rows)
    return name, expression


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
    node = parsed_select(text)
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
