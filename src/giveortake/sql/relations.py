"""Read FROM, joins, subqueries, WITH and UNION ALL: each becomes a relation whose rows belong to units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import (
    ColumnReference,
    Derive,
    PublicTable,
    Relation,
    Union,
    meet_persons,
    meet_public,
    require_few_steps,
)
from giveortake.sql.aggregates import has_aggregate
from giveortake.sql.expressions import Rows, column_name, unaliased
from giveortake.sql.refusals import allow, named, refuse
from giveortake.sql.scope import Scope, View
from giveortake.sql.semi_joins import filtered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.plan import Catalog, Expression

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
        found = self.catalog.find(name)
        return View.of(found) if isinstance(found, Relation) else found

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
    name, found = _table(first.this, tables)
    joins = list(node.args.get("joins") or [])
    if isinstance(found, PublicTable):
        if not joins:
            raise QueryRefused(
                f"`{found.name}` is a public table, and nothing private is in FROM",
                hint="read public tables without asking, or join: SELECT region, COUNT(*) AS n FROM trips JOIN zones "
                "USING (region) GROUP BY region",
            )
        scope = _turned_around(name, found, joins.pop(0), tables)
    else:
        scope = Scope(found.relation, ((name, found.columns),))
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
    moved = [(owner, {shown: names[inside] for shown, inside in columns.items()}) for owner, columns in scope.sources]
    return Scope(relation, ((name, right.columns), *moved), scope.merged | _merged(join))


def _both(scope: Scope, name: str, right: View | PublicTable) -> Scope:
    if any(name.casefold() == owner.casefold() for owner, _ in scope.sources):
        raise QueryRefused(f"two tables in FROM are called `{name}`", hint="give them different names with AS")
    theirs = {each: each for each in right.schema} if isinstance(right, PublicTable) else right.columns
    return Scope(scope.relation, (*scope.sources, (name, theirs)), scope.merged)


def _met(scope: Scope, join: exp.Expr, name: str, right: View | PublicTable, *, optional: bool) -> Scope:
    both = _both(scope, name, right)
    relation: Relation
    if isinstance(right, PublicTable):
        ours, column = _key(scope, both, name, join.args.get("on"), join.args.get("using"))
        relation, names = meet_public(scope.relation, right, ours, column, optional=optional)
        shown = names
    else:
        _require_persons(scope, both, name, right.relation, join)
        relation, names = meet_persons(scope.relation, right.relation, optional=optional)
        shown = {visible: names[inside] for visible, inside in right.columns.items()}
    require_few_steps(relation)
    return Scope(relation, (*scope.sources, (name, shown)), scope.merged | _merged(join))


def _merged(join: exp.Expr) -> frozenset[str]:
    return frozenset(str(each.name).casefold() for each in join.args.get("using") or [])


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
        what = "a join on several conditions" if isinstance(on, exp.And | exp.Or) else "a join on something else than ="
        raise QueryRefused(
            f"{what} is not answered",
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
    return any(_is_of(each, left, right, name) for each in node.find_all(exp.Column))


# -- subqueries -------------------------------------------------------------------------------------------------------


def subquery(node: exp.Expr, tables: Tables) -> View:
    """Read a query in FROM or WITH: rows with their person, features of persons, or a UNION ALL of those."""
    from giveortake.sql.features import per_person  # noqa: PLC0415 (features are made of subqueries in turn)

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
    if grouped or node.args.get("having") is not None or any(has_aggregate(each) for each in node.expressions):
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
    shown: dict[str, str] = {}
    derived: list[tuple[str, Expression]] = []
    for name, expression in items:
        if person is not None and expression == ColumnReference(person):
            shown[name] = person
            continue
        require_not_person(name, relation)
        shown[name] = name
        derived.append((name, expression))
    return View(Derive(relation, tuple(derived)), shown)


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
