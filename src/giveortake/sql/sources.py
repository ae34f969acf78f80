"""FROM and WHERE in SQL: joins, subqueries, WITH, UNION ALL, features of each person, and IN with a public table.

Each becomes a relation whose rows belong to units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import (
    Call,
    ColumnReference,
    Derive,
    Expression,
    Filter,
    PerPerson,
    PublicTable,
    Relation,
    SemiJoin,
    Union,
    free_name,
    meet_persons,
    meet_public,
    require_few_steps,
)
from giveortake.sql.outputs import aggregate, group_keys, has_aggregate, is_aggregate, key_expression
from giveortake.sql.refusals import allow, named, refuse
from giveortake.sql.rows import Rows, Scope, View, column_name, unaliased

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.plan import Aggregate, Catalog, Schema


@final
class _PublicRows(Rows):
    """Reads expressions over the rows of a public table."""

    def __init__(self, scope: Scope, table: PublicTable, name: str) -> None:
        super().__init__(scope)
        self._table, self._name = table, name

    @property
    def schema(self) -> Schema:
        return self._table.schema

    def column(self, node: exp.Expr) -> ColumnReference:
        name, table = column_name(node)
        columns = [own_name for own_name in self._table.schema if own_name.casefold() == name.casefold()]
        if not columns or (table is not None and table.casefold() != self._name.casefold()):
            raise QueryRefused(
                f"there is no column `{name[:60]}` in the public table `{self._table.name}`",
                hint=f"the columns are {', '.join(self._table.schema)}; a subquery of IN reads no others",
            )
        return ColumnReference(columns[0])


def filtered(scope: Scope, node: exp.Expr, tables: Tables) -> Relation:
    """The rows for which a condition is true; parts of it joined by AND may be IN with a public table."""
    parts = _conjuncts(node)
    looking = [part for part in parts if _membership(part) is not None]
    if not looking:
        return Filter(scope.relation, Rows(scope).expression(node))
    relation = scope.relation
    plain: Expression | None = None
    for part in parts:
        if _membership(part) is None:
            read = Rows(scope).expression(part)
            plain = read if plain is None else Call("and", (plain, read))
    if plain is not None:
        relation = Filter(relation, plain)
    for part in looking:
        relation = _semi_join(relation, scope, part, tables)
    return relation


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    if type(node) is exp.Paren:
        allow(node, "this")
        return _conjuncts(node.this)
    if type(node) is exp.And:
        allow(node, "this", "expression")
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _membership(node: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """The node of an IN with a subquery, and whether it is negated; None for other nodes."""
    negated = False
    while type(node) in {exp.Paren, exp.Not}:
        negated = negated != (type(node) is exp.Not)
        node = node.this
    return (node, negated) if type(node) is exp.In and node.args.get("query") is not None else None


def _semi_join(relation: Relation, scope: Scope, part: exp.Expr, tables: Tables) -> SemiJoin:
    membership = _membership(part)
    assert membership is not None  # noqa: S101 (it was looked for)
    node, negated = membership
    allow(node, "this", "query")
    query = node.args["query"]
    while type(query) is exp.Subquery:
        allow(query, "this")
        query = query.this
    table, name = _public(query, tables)
    rows = _PublicRows(scope, table, name)
    chosen = query.expressions[0] if len(query.expressions) == 1 else None
    if not isinstance(chosen, exp.Column):
        raise QueryRefused(
            "IN with a subquery takes one column of a public table",
            hint="SELECT COUNT(*) AS n FROM trips WHERE region IN (SELECT region FROM zones)",
        )
    where = query.args.get("where")
    if where is not None:
        allow(where, "this")
    condition = None if where is None else rows.expression(where.this)
    return SemiJoin(relation, table, Rows(scope).expression(node.this), rows.column(chosen).name, condition, negated)


def _public(query: exp.Expr, tables: Tables) -> tuple[PublicTable, str]:
    """The public table that a subquery of IN reads; a private one is refused: it would be an answer without noise."""
    allow(query, "expressions", "from_", "where", "distinct")
    first = query.args.get("from_")
    node = None if first is None else first.this
    if first is None or type(node) is not exp.Table or not isinstance(node.this, exp.Identifier):
        raise QueryRefused(
            "IN with a subquery reads one public table",
            hint="SELECT COUNT(*) AS n FROM trips WHERE region IN (SELECT region FROM zones)",
        )
    allow(first, "this")
    allow(node, "this", "alias")
    table = tables.find(str(node.name))
    if not isinstance(table, PublicTable):
        raise QueryRefused(
            "IN with a subquery of private rows is not answered: rows of one person would decide about another's",
            hint="SELECT COUNT(*) AS n FROM trips JOIN (SELECT DISTINCT user_id FROM trips) AS others USING (user_id)",
        )
    return table, str(node.alias or node.name)


_MOST_COLUMNS = 1_000
_SELECT = ("expressions", "from_", "joins", "where", "with_")


@final
@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that FROM may name: those of WITH, which take precedence, and those of the catalog."""

    catalog: Catalog
    parts: Mapping[str, View]

    def find(self, name: str) -> View | PublicTable:
        """The table that a name in FROM means."""
        part = self.parts.get(name.casefold())
        if part is not None:
            return part
        if any(sign in name for sign in "./\\:*"):
            raise QueryRefused(
                f"queries cannot read files: there is no table `{name[:60]}`", hint="ask a table by its name"
            )
        table = self.catalog.find(name)
        return View.of_relation(table) if isinstance(table, Relation) else table

    def with_parts(self, node: exp.Expr) -> Tables:
        """These tables, and those that the query's WITH defines."""
        clause = node.args.get("with_")
        if clause is None:
            return self
        allow(clause, "expressions")
        tables, seen = self, set[str]()
        for part in clause.expressions:
            allow(part, "this", "alias", "materialized")
            allow(part.args["alias"], "this")
            name = str(part.alias).casefold()
            if name in seen:
                raise QueryRefused(f"WITH names `{name}` twice", hint="give the parts different names")
            seen.add(name)
            tables = Tables(self.catalog, {**tables.parts, name: subquery(part.this, tables)})
        return tables


def source(node: exp.Expr, tables: Tables) -> Scope:
    """Read FROM with its joins and WHERE: the rows that a SELECT works on."""
    first = node.args.get("from_")
    if first is None:
        raise QueryRefused("a SELECT without FROM is not answered", hint="SELECT COUNT(*) AS n FROM trips")
    allow(first, "this")
    name, table = _table(first.this, tables)
    joins = list(node.args.get("joins") or [])
    if isinstance(table, PublicTable):
        if not joins:
            raise QueryRefused(
                f"`{table.name}` is a public table, and nothing private is in FROM",
                hint="read public tables without asking, or join: SELECT region, COUNT(*) AS n FROM trips JOIN zones "
                "USING (region) GROUP BY region",
            )
        scope = _turned_around(name, table, joins.pop(0), tables)
    else:
        scope = Scope(table.relation, ((name, table.columns),))
    for join in joins:
        scope = _joined(scope, join, tables)
    where = node.args.get("where")
    if where is not None:
        allow(where, "this")
        scope = Scope(filtered(scope, where.this, tables), scope.sources, scope.merged)
    return scope


def _table(node: exp.Expr, tables: Tables) -> tuple[str, View | PublicTable]:
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias):
        allow(alias, "this")
    if type(node) is exp.Table:
        if not isinstance(node.this, exp.Identifier):
            raise QueryRefused(f"a table function is not answered: {named(node.this)}", hint="ask a table by its name")
        allow(node, "this", "alias")
        return str(node.alias or node.name), tables.find(str(node.name))
    if type(node) is exp.Subquery:
        allow(node, "this", "alias", "with_")
        if not isinstance(node.this, exp.Query):
            raise QueryRefused("a table or a join in parentheses is not answered", hint="write joins one after another")
        return str(node.alias), subquery(node.this, tables.with_parts(node))
    return refuse(node, "in FROM", hint="SELECT COUNT(*) AS n FROM trips JOIN zones USING (region)")


# -- joins ------------------------------------------------------------------------------------------------------------


_TURNED = (
    "it would keep rows of a public table that belong to nobody",
    "SELECT COUNT(*) AS n FROM trips LEFT JOIN zones USING (region)",
)


def _side(join: exp.Expr) -> str:
    """The side of a join: LEFT, RIGHT or "". Other joins are refused."""
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if isinstance(join.this, exp.Lateral):
        refuse(join.this, hint="join a public table, or a subquery on the person")
    allow(join, "this", "side", "kind", "on", "using")
    if side not in {"", "LEFT", "RIGHT"} or kind not in {"", "INNER", "OUTER"}:
        label = kind if side in {"", "LEFT", "RIGHT"} else side
        raise QueryRefused(
            f"a {label} JOIN is not answered: JOIN, LEFT JOIN and RIGHT JOIN are, with ON or USING",
            hint="SELECT COUNT(*) AS n FROM trips LEFT JOIN zones USING (region)",
        )
    if join.args.get("on") is None and not join.args.get("using"):
        raise QueryRefused(
            "a cross join (a comma in FROM, or JOIN without ON) is not answered",
            hint="SELECT COUNT(*) AS n FROM trips JOIN zones USING (region)",
        )
    return side


def _turned_around(name: str, public: PublicTable, join: exp.Expr, tables: Tables) -> Scope:
    """The join of a public table with a private one, turned around so that it starts with the private one."""
    side = _side(join)
    other, view = _table(join.this, tables)
    if isinstance(view, PublicTable):
        raise QueryRefused(
            "a join begins with a private table, or has it right after one public table",
            hint="SELECT COUNT(*) AS n FROM zones JOIN trips USING (region)",
        )
    if side == "LEFT":
        raise QueryRefused(f"a LEFT JOIN after a public table is not answered: {_TURNED[0]}", hint=_TURNED[1])
    scope = Scope(view.relation, ((other, view.columns),))
    return _met(scope, join, name, public, optional=side == "RIGHT")


def _joined(scope: Scope, join: exp.Expr, tables: Tables) -> Scope:
    side = _side(join)
    name, right = _table(join.this, tables)
    if side != "RIGHT":
        return _met(scope, join, name, right, optional=side == "LEFT")
    if isinstance(right, PublicTable):
        raise QueryRefused(f"a RIGHT JOIN with a public table is not answered: {_TURNED[0]}", hint=_TURNED[1])
    both = _both(scope, name, right)
    _require_persons(scope, both, name, right.relation, join)
    relation, names = meet_persons(right.relation, scope.relation, optional=True)
    require_few_steps(relation)
    moved = [
        (owner, {visible: names[inside] for visible, inside in columns.items()}) for owner, columns in scope.sources
    ]
    return Scope(relation, ((name, right.columns), *moved), scope.merged | _merged(join))


def _both(scope: Scope, name: str, right: View | PublicTable) -> Scope:
    if any(name.casefold() == owner.casefold() for owner, _ in scope.sources):
        raise QueryRefused(f"two tables in FROM are called `{name}`", hint="give them different names with AS")
    theirs = {column: column for column in right.schema} if isinstance(right, PublicTable) else right.columns
    return Scope(scope.relation, (*scope.sources, (name, theirs)), scope.merged)


def _met(scope: Scope, join: exp.Expr, name: str, right: View | PublicTable, *, optional: bool) -> Scope:
    both = _both(scope, name, right)
    relation: Relation
    if isinstance(right, PublicTable):
        ours, column = _key(scope, both, name, join.args.get("on"), join.args.get("using"))
        relation, names = meet_public(scope.relation, right, ours, column, optional=optional)
        columns = names
    else:
        _require_persons(scope, both, name, right.relation, join)
        relation, names = meet_persons(scope.relation, right.relation, optional=optional)
        columns = {visible: names[inside] for visible, inside in right.columns.items()}
    require_few_steps(relation)
    return Scope(relation, (*scope.sources, (name, columns)), scope.merged | _merged(join))


def _merged(join: exp.Expr) -> frozenset[str]:
    return frozenset(str(column.name).casefold() for column in join.args.get("using") or [])


def _require_persons(scope: Scope, both: Scope, name: str, right: Relation, join: exp.Expr) -> None:
    """Check that private tables are joined on the person."""
    ours, column = _key(scope, both, name, join.args.get("on"), join.args.get("using"))
    person, other = scope.relation.person, right.person
    if person is None or other is None or ours != ColumnReference(person) or column != other:
        raise QueryRefused(
            "private tables can only be joined on the person",
            hint=f"ON {scope.sources[0][0]}.{person} = {name}.{other}"
            if person and other
            else "where every row is protected by itself, there is no person to join on",
        )


def _key(
    left: Scope, both: Scope, name: str, on: exp.Expr | None, using: list[exp.Expr] | None
) -> tuple[Expression, str]:
    """The expression on the left and the column on the right that a join makes equal."""
    right = Scope(left.relation, both.sources[-1:])
    if using:
        if len(using) != 1 or on is not None:
            raise QueryRefused("a join on several columns is not answered", hint="USING one column")
        key = str(using[0].name)
        return ColumnReference(left.column(key)), right.column(key)
    while isinstance(on, exp.Paren):
        on = on.this
    if not isinstance(on, exp.EQ):
        problem = (
            "a join on several conditions" if isinstance(on, exp.And | exp.Or) else "a join on something else than ="
        )
        raise QueryRefused(
            f"{problem} is not answered",
            hint="conditions go into WHERE: SELECT COUNT(*) AS n FROM trips JOIN zones ON trips.region = zones.region "
            "WHERE age > 3",
        )
    allow(on, "this", "expression")
    for one, other in ((on.this, on.expression), (on.expression, on.this)):
        if isinstance(other, exp.Column) and _is_of(other, left, right, name) and not _mentions(one, left, right, name):
            return Rows(left).expression(one), right.column(column_name(other)[0])
    raise QueryRefused(
        f"ON must make a column of `{name}` equal to one of the tables before it",
        hint="SELECT COUNT(*) AS n FROM trips JOIN zones ON trips.region = zones.region",
    )


def _is_of(node: exp.Expr, left: Scope, right: Scope, name: str) -> bool:
    column, table = column_name(node)
    if table is not None:
        return table.casefold() == name.casefold()
    if left.matches(column) and right.matches(column):
        raise QueryRefused(f"`{column}` is ambiguous", hint=f"write {name}.{column}")
    return bool(right.matches(column))


def _mentions(node: exp.Expr, left: Scope, right: Scope, name: str) -> bool:
    return any(_is_of(column, left, right, name) for column in node.find_all(exp.Column))


# -- subqueries -------------------------------------------------------------------------------------------------------


def subquery(node: exp.Expr, tables: Tables) -> View:
    """Read a query in FROM or WITH: rows with their person, features of persons, or a UNION ALL of those."""
    if type(node) is exp.Subquery:
        allow(node, "this", "with_")
        return subquery(node.this, tables.with_parts(node))
    if type(node) is exp.Union:
        return _union(node, tables.with_parts(node))
    if isinstance(node, exp.SetOperation):
        refuse(node, hint="put a condition into WHERE: SELECT COUNT(*) AS n FROM trips WHERE region = 'north'")
    if type(node) is not exp.Select:
        refuse(node, "in FROM")
    for item in selected(node):
        window = item.find(exp.Window)
        if window is not None:
            refuse(window)
    tables = tables.with_parts(node)
    grouped = node.args.get("group") is not None or node.args.get("distinct") is not None
    if grouped or node.args.get("having") is not None or any(has_aggregate(item) for item in node.expressions):
        return per_person(node, tables)
    allow(node, *_SELECT)
    scope = source(node, tables)
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star):
        allow(node.expressions[0])
        return View(scope.relation, dict(scope.star()))
    named_items: list[tuple[str, Expression]] = []
    for item in node.expressions:
        named_items.extend(_item(item, scope))
    return projected(scope.relation, named_items)


def _item(item: exp.Expr, scope: Scope) -> list[tuple[str, Expression]]:
    if isinstance(item, exp.Star):
        allow(item)
        return [(name, ColumnReference(inside)) for name, inside in scope.star()]
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        allow(item, "this", "table")
        allow(item.this)
        owner = str(item.table)
        columns = [columns for name, columns in scope.sources if name.casefold() == owner.casefold()]
        if not columns:
            raise QueryRefused(f"there is no table `{owner}` in FROM")
        return [(name, ColumnReference(inside)) for name, inside in columns[0].items()]
    name, inside = unaliased(item)
    expression = Rows(scope).expression(inside)
    if name is None and not isinstance(inside, exp.Column):
        raise QueryRefused(f"{named(inside)} in a subquery needs a name", hint="… AS name")
    return [(name or str(inside.name), expression)]


def selected(node: exp.Expr) -> list[exp.Expr]:
    """The items of a SELECT."""
    items: list[exp.Expr] = node.expressions
    if len(items) > _MOST_COLUMNS:
        raise QueryRefused(
            f"a SELECT of more than {_MOST_COLUMNS:,} columns is not answered", hint="ask several questions"
        )
    return items


def projected(relation: Relation, items: list[tuple[str, Expression]]) -> View:
    """The view of a subquery's columns. The person's column is kept, and no other may take its name."""
    require_distinct([name for name, _ in items])
    person = relation.person
    columns: dict[str, str] = {}
    derived: list[tuple[str, Expression]] = []
    for name, expression in items:
        if person is not None and expression == ColumnReference(person):
            columns[name] = person
            continue
        require_not_person(name, relation)
        columns[name] = name
        derived.append((name, expression))
    return View(Derive(relation, tuple(derived)), columns)


def require_distinct(names: list[str]) -> None:
    """Refuse two columns with the same name, in any case of letters."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise QueryRefused(f"there are two columns `{name}`", hint="give them different names with AS")
        seen.add(name.casefold())


def require_not_person(name: str, relation: Relation) -> None:
    """Refuse a column with the name of the person's column."""
    if relation.person is not None and name.casefold() == relation.person.casefold():
        raise QueryRefused(
            f"`{name}` says whose row it is and cannot be redefined",
            hint="give the column another name",
        )


def _union(node: exp.Expr, tables: Tables) -> View:
    if node.args.get("distinct"):
        raise QueryRefused(
            "UNION, which compares rows of different persons, is not answered",
            hint="SELECT COUNT(*) AS n FROM (SELECT user_id FROM trips UNION ALL SELECT user_id FROM trips)",
        )
    allow(node, "this", "expression", "with_")
    left, right = subquery(node.this, tables), subquery(node.expression, tables)
    if len(left.columns) != len(right.columns):
        raise QueryRefused("both sides of UNION ALL must have the same number of columns", hint="list them in SELECT")
    for one, other in zip(left.columns.values(), right.columns.values(), strict=True):
        if (one == left.relation.person) != (other == right.relation.person):
            raise QueryRefused(
                "both sides of UNION ALL must have the person in the same place", hint="list the columns in SELECT"
            )
    return View(Union(_narrowed(left, left), _narrowed(right, left)), dict(left.columns))


def _narrowed(view: View, like: View) -> Relation:
    """A relation with exactly the columns of a view, under the inner names of the other view."""
    relation = view.relation
    pairs = list(zip(like.columns.values(), view.columns.values(), strict=True))
    wanted = {*(new for new, _ in pairs), *([relation.person] if relation.person is not None else [])}
    if all(new == old for new, old in pairs) and set(relation.schema) == wanted:
        return relation
    return Derive(relation, tuple({new: ColumnReference(old) for new, old in pairs if old != relation.person}.items()))


class _Features(Rows):
    """Reads expressions over the groups of a person: keys, aggregates, and functions of those."""

    def __init__(self, scope: Scope, keys: dict[Expression, str]) -> None:
        super().__init__(scope)
        self.rows = Rows(scope)
        self.keys = keys
        self.features: dict[str, Aggregate] = {}
        self.reserved: set[str] = set()  # the subquery's own aliases

    @property
    def schema(self) -> Schema:
        return self.relation().schema

    def relation(self) -> PerPerson:
        """One row for each person and key, with the features that were asked for so far."""
        relation = self.scope.relation
        keys = tuple(name for name in self.keys.values() if name != relation.person)
        return PerPerson(relation, keys, tuple(self.features.items()))

    def expression(self, node: exp.Expr) -> Expression:
        if is_aggregate(node):
            feature, name = aggregate(node, self.rows, feature=True)
            known = [known_name for known_name, known_feature in self.features.items() if known_feature == feature]
            return ColumnReference(known[0] if known else self.add(self._unused(name), feature))
        if not has_aggregate(node):
            whole = self.rows.expression(node)
            if whole in self.keys:
                return ColumnReference(self.keys[whole])
        return super().expression(node)

    def add(self, name: str, feature: Aggregate) -> str:
        """Add a feature under a name."""
        require_not_person(name, self.scope.relation)
        self.features[name] = feature
        return name

    def column(self, node: exp.Expr) -> Expression:
        raise QueryRefused(
            f"`{str(node.name)[:60]}` is neither grouped by nor inside an aggregate", hint="add it to GROUP BY"
        )

    def _unused(self, name: str) -> str:
        taken = {*self.scope.relation.schema, *self.keys.values(), *self.features, *self.reserved}
        return free_name(name, "feature", taken)


def per_person(node: exp.Expr, tables: Tables) -> View:
    """Read a subquery that groups by the person."""
    allow(node, "expressions", "from_", "joins", "where", "with_", "group", "having", "distinct")
    scope = source(node, tables)
    items = [unaliased(item) for item in node.expressions]
    aliases = {name.casefold(): inside for name, inside in items if name is not None}
    keys = [key_expression(key, scope, aliases) for key in group_keys(node)]
    person = scope.relation.person
    if person is None or ColumnReference(person) not in keys:
        raise QueryRefused(
            "an aggregate inside a subquery that does not group by the person is not answered: it would be an "
            "aggregate of many persons inside another one",
            hint=f"GROUP BY {person} inside" if person else "ask for the inner aggregate and compute with the answer",
        )
    scope, named = _with_keys(scope, keys, [(name, Rows(scope), inside) for name, inside in items if name is not None])
    reader = _Features(scope, named)
    reader.reserved = {name for name, _ in items if name is not None}
    chosen = [_chosen(name, inside, reader) for name, inside in items]
    having = node.args.get("having")
    condition = None
    if having is not None:
        allow(having, "this")
        condition = reader.expression(having.this)
    relation: Relation = reader.relation()
    if condition is not None:
        relation = Filter(relation, condition)
    require_distinct([name for name, _ in chosen])
    for name, expression in chosen:
        if expression != ColumnReference(person):
            require_not_person(name, relation)
    if all(isinstance(expression, ColumnReference) for _, expression in chosen):
        return View(
            relation, {name: expression.name for name, expression in chosen if isinstance(expression, ColumnReference)}
        )
    return projected(relation, chosen)


def _with_keys(
    scope: Scope, keys: list[Expression], items: list[tuple[str, Rows, exp.Expr]]
) -> tuple[Scope, dict[Expression, str]]:
    """The scope with computed keys added as columns, under their names in SELECT, and all keys with their names."""
    named: dict[Expression, str] = {}
    computed: dict[str, Expression] = {}
    for key in keys:
        if isinstance(key, ColumnReference):
            named[key] = key.name
            continue
        aliases = [name for name, rows, inside in items if not has_aggregate(inside) and rows.expression(inside) == key]
        name = free_name(aliases[0] if aliases else "key", "key", (*scope.relation.schema, *computed))
        named[key] = name
        computed[name] = key
    if not computed:
        return scope, named
    stored = {name: ColumnReference(name) for name in scope.relation.schema if name != scope.relation.person}
    return Scope(Derive(scope.relation, tuple({**stored, **computed}.items())), scope.sources, scope.merged), named


def _chosen(name: str | None, node: exp.Expr, reader: _Features) -> tuple[str, Expression]:
    if is_aggregate(node):
        feature, usual = aggregate(node, reader.rows, feature=True)
        wanted = name or usual
        taken = {taken_name.casefold() for taken_name in (*reader.features, *reader.keys.values())}
        return wanted, ColumnReference(
            reader.add(wanted, feature)
        ) if wanted.casefold() not in taken else reader.expression(node)
    expression = reader.expression(node)
    if name is None and not isinstance(node, exp.Column):
        raise QueryRefused("an expression in a subquery needs a name", hint="… AS name")
    return name or str(node.name), expression
