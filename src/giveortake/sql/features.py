"""Read GROUP BY person in a subquery: features of each person, which the outer query aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import ColumnReference, Derive, Expression, Filter, PerPerson, Relation, free_name
from giveortake.sql.aggregates import aggregate, group_keys, has_aggregate, is_aggregate, key_expression
from giveortake.sql.expressions import Rows, unaliased
from giveortake.sql.refusals import allow
from giveortake.sql.relations import projected, require_distinct, require_not_person, source
from giveortake.sql.scope import Scope, View

if TYPE_CHECKING:
    from giveortake.plan import Aggregate, Schema
    from giveortake.sql.relations import Tables


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
            found, name = aggregate(node, self.rows, feature=True)
            known = [each for each, other in self.features.items() if other == found]
            return ColumnReference(known[0] if known else self.add(self._unused(name), found))
        if not has_aggregate(node):
            whole = self.rows.expression(node)
            if whole in self.keys:
                return ColumnReference(self.keys[whole])
        return super().expression(node)

    def add(self, name: str, found: Aggregate) -> str:
        """Add a feature under a name."""
        require_not_person(name, self.scope.relation)
        self.features[name] = found
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
    keys = [key_expression(each, scope, aliases) for each in group_keys(node)]
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
    for name, each in chosen:
        if each != ColumnReference(person):
            require_not_person(name, relation)
    if all(isinstance(each, ColumnReference) for _, each in chosen):
        return View(relation, {name: each.name for name, each in chosen if isinstance(each, ColumnReference)})
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
        asked = [name for name, rows, inside in items if not has_aggregate(inside) and rows.expression(inside) == key]
        name = free_name(asked[0] if asked else "key", "key", (*scope.relation.schema, *computed))
        named[key] = name
        computed[name] = key
    if not computed:
        return scope, named
    kept = {name: ColumnReference(name) for name in scope.relation.schema if name != scope.relation.person}
    return Scope(Derive(scope.relation, tuple({**kept, **computed}.items())), scope.sources, scope.merged), named


def _chosen(name: str | None, node: exp.Expr, reader: _Features) -> tuple[str, Expression]:
    if is_aggregate(node):
        found, usual = aggregate(node, reader.rows, feature=True)
        wanted = name or usual
        taken = {each.casefold() for each in (*reader.features, *reader.keys.values())}
        return wanted, ColumnReference(
            reader.add(wanted, found)
        ) if wanted.casefold() not in taken else reader.expression(node)
    expression = reader.expression(node)
    if name is None and not isinstance(node, exp.Column):
        raise QueryRefused("an expression in a subquery needs a name", hint="… AS name")
    return name or str(node.name), expression
