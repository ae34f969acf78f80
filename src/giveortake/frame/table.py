"""Private tables in Python: methods that derive tables, and methods that ask questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Never, final

from giveortake.errors import QueryRefused, did_you_mean
from giveortake.frame.aggregates import Agg, Check, order_of, released, released_condition, released_order
from giveortake.frame.expressions import Expr, Operand, column_or_expression, node_of
from giveortake.plan import (
    Call,
    Catalog,
    ColumnReference,
    Derive,
    Expression,
    Filter,
    Literal,
    Measured,
    PerPerson,
    Question,
    Relation,
    SemiJoin,
    Union,
    meet_persons,
    meet_public,
    require_few_steps,
    require_name,
)
from giveortake.plan.question import Condition, ConditionPart, Order, Output
from giveortake.plan.times import with_moments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CONDITIONS = {"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "in", "is_null"}


@final
@dataclass(frozen=True, slots=True)
class Table:
    """Rows that belong to persons. Most methods return a new table; `agg` returns a question.

    `ask` turns a plan into a question: a session makes a `Query` of it.
    """

    relation: Relation
    catalog: Catalog
    ask: Callable[[Question], Any]

    def __post_init__(self) -> None:
        require_few_steps(self.relation)
        for name in self.relation.schema:
            require_name(name)

    def __repr__(self) -> str:
        columns = (f"{name} ({domain.kind})" for name, domain in self.relation.schema.items())
        return f"<rows with the columns {', '.join(columns)}; nothing is computed before it is asked>"

    def filter(self, *conditions: Operand) -> Table:
        """The rows for which all conditions are true."""
        table = self
        for condition in conditions:
            if isinstance(condition, str):
                raise QueryRefused(
                    "filter takes an expression, not a text", hint='filter(gt.col("fee") > 1); session.sql(…) takes SQL'
                )
            table = replace(table, relation=Filter(table.relation, table._read(condition)))
        return table

    def derive(self, **named: Operand) -> Table:
        """Add columns, or redefine columns, which lose their old bounds."""
        person = self.relation.person
        columns: dict[str, Expression] = {
            name: ColumnReference(name) for name in self.relation.schema if name != person
        }
        for name, operand in named.items():
            _require_not_person(name, self.relation)
            taken = [column for column in columns if column.casefold() == name.casefold() and column != name]
            if taken:
                raise QueryRefused(f"`{name}` and `{taken[0]}` differ only in case", hint="choose another name")
            columns[name] = self._read(operand)
        return replace(self, relation=Derive(self.relation, tuple(columns.items())))

    def _read(self, operand: Operand) -> Expression:
        """An expression over these rows, in which literal texts compared with dates become dates."""
        return with_moments(node_of(operand), self.relation.schema)

    def select(self, *names: str, **named: Operand) -> Table:
        """Only these columns, and that of the person."""
        person = self.relation.person
        columns: dict[str, Expression] = {}
        for name in names:
            ColumnReference(name).domain(self.relation.schema)
            if name != person:
                columns[name] = ColumnReference(name)
        for name, operand in named.items():
            _require_not_person(name, self.relation)
            columns[name] = self._read(operand)
        if len({name.casefold() for name in columns}) < len(names) - (person in names) + len(named):
            raise QueryRefused("a column is selected twice", hint="name each column once")
        return replace(self, relation=Derive(self.relation, tuple(columns.items())))

    def join(
        self,
        public: str,
        *,
        on: str | Expr,
        column: str | None = None,
        how: str = "inner",
        where: Operand | None = None,
    ) -> Table:
        """Join each row to the row of a public table with its key; `how="left"` keeps rows without a match.

        `column` is the public table's column, if its name differs from `on`. Columns whose names are taken become
        `table.column`. `how="semi"` keeps the rows with a match, `how="anti"` those without, and no column is added;
        `where` is then a condition on rows of the public table.
        """
        table = self.catalog.find_public(public)
        if how not in {"inner", "left", "semi", "anti"}:
            raise QueryRefused(f"how={how!r} is not a join", hint='how="inner", "left", "semi" or "anti"')
        if where is not None and how not in {"semi", "anti"}:
            raise QueryRefused('where= belongs to how="semi" and how="anti"', hint="filter(…) after the join")
        if column is None:
            if not isinstance(on, str):
                raise QueryRefused(
                    "a join on an expression needs column=…", hint=f'column="{min(table.unique, default="")}"'
                )
            column = on
        if column not in table.schema:
            raise QueryRefused(
                f"there is no column `{column}` in `{table.name}`",
                hint=f"{did_you_mean(column, table.schema)}the columns are {', '.join(table.schema)}",
            )
        if how in {"semi", "anti"}:
            condition = None if where is None else node_of(where)
            ours = column_or_expression(on)
            return replace(self, relation=SemiJoin(self.relation, table, ours, column, condition, how == "anti"))
        joined, _ = meet_public(self.relation, table, column_or_expression(on), column, optional=how == "left")
        return replace(self, relation=joined)

    def join_person(self, other: Table, *, how: str = "inner") -> Table:
        """Join each row to every row of the same person in another private table."""
        if how not in {"inner", "left"}:
            raise QueryRefused(f"how={how!r} is not a join", hint='how="inner" or how="left"')
        self._require_same_session(other)
        joined, _ = meet_persons(self.relation, other.relation, optional=how == "left")
        return replace(self, relation=joined)

    def union(self, other: Table) -> Table:
        """The rows of both tables, one below the other."""
        self._require_same_session(other)
        return replace(self, relation=Union(self.relation, other.relation))

    def _require_same_session(self, other: Table) -> None:
        """Refuse a table of another session or part: the charge for a part covers no other rows."""
        if other.catalog is not self.catalog:
            raise QueryRefused("the two tables are of different sessions or parts", hint="take both from one session")

    def per_person(self, by: Sequence[str] = (), **features: Agg) -> Table:
        """One row per person, or per person and values of the columns `by`, with features of their rows."""
        if isinstance(by, str):
            by = [by]
        plain: list[tuple[str, Any]] = []
        for name, feature in features.items():
            _require_not_person(name, self.relation)
            if name.casefold() in {key.casefold() for key in by}:
                raise QueryRefused(f"`{name}` is grouped by and computed", hint="choose another name")
            output = _output(name, feature)
            if not isinstance(output, Measured):
                raise QueryRefused(
                    f"`{name}` is not one aggregate", hint="compute with features in derive(…), after per_person(…)"
                )
            plain.append((name, output.aggregate))
        keys = tuple(name for name in by if name != self.relation.person)
        return replace(self, relation=PerPerson(self.relation, keys, tuple(plain)))

    def group_by(self, *keys: str | list[str] | tuple[str, ...], **named: str | Expr) -> Grouped:
        """Group by columns, or by named expressions: `group_by("region", year=gt.col("day").year())`."""
        names = [name for key in keys for name in ([key] if isinstance(key, str) else key)]
        chosen = [(name, column_or_expression(name)) for name in names]
        chosen += [(name, with_moments(column_or_expression(key), self.relation.schema)) for name, key in named.items()]
        if not chosen:
            raise QueryRefused("group_by needs a key", hint="agg(…) alone asks about all rows")
        return Grouped(self, tuple(chosen))

    def distinct(self, *keys: str) -> Any:
        """Ask which values declared columns may have: answered from the domains, and free."""
        chosen = tuple((key, column_or_expression(key)) for key in keys)
        return self.ask(Question(self.relation, chosen, (), columns=keys, distinct=True))

    def agg(self, *unnamed: Never, **outputs: Agg) -> Any:
        """Ask about all rows."""
        return Grouped(self, ()).agg(*unnamed, **outputs)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Grouped:
    """A table with groups. `having`, `order_by` and `limit` act on the noisy answer, and are free; `agg` asks."""

    table: Table
    keys: tuple[tuple[str, Expression], ...]
    conditions: tuple[Expr | Check, ...] = ()
    order: tuple[Order, ...] = ()
    most: int | None = None

    def __repr__(self) -> str:
        return f"<groups by {', '.join(dict(self.keys)) or 'nothing'} of {self.table!r}; agg(…) asks>"

    def having(self, *conditions: Expr | Check) -> Grouped:
        """Keep rows of the noisy answer: conditions on its columns by name, or on aggregates."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def order_by(self, *columns: str | Agg, descending: bool = False, missing_first: bool = False) -> Grouped:
        """Order the answer by its columns, or by aggregates that it need not show."""
        added = (order_of(column, descending=descending, missing_first=missing_first) for column in columns)
        return replace(self, order=(*self.order, *added))

    def limit(self, most: int) -> Grouped:
        """Keep only the first rows of the answer."""
        if type(most) is not int or most < 0:
            raise QueryRefused("limit needs a whole number", hint="limit(10)")
        return replace(self, most=most)

    def agg(self, *unnamed: Never, **outputs: Agg) -> Any:
        """Ask for these aggregates of each group, each with a name."""
        if unnamed:
            raise QueryRefused("agg takes aggregates with names", hint='agg(n=gt.count(), mean_fee=gt.mean("fee"))')
        relation = self.table.relation
        chosen: dict[str, Output] = {}
        for name, output in outputs.items():
            chosen[name] = released(_output(name, output), relation)
        columns = tuple(require_name(name) for name in (*(name for name, _ in self.keys), *chosen))
        order = tuple(self._by_value(ordering, chosen) for ordering in self.order)
        for ordering in order:
            if ordering.by is None and ordering.column not in columns:
                raise QueryRefused(
                    f"`{ordering.column}` is not a column of the answer", hint=f"the columns are {', '.join(columns)}"
                )
        having = None
        for condition in self.conditions:
            if isinstance(condition, Check):
                check = released_condition(condition.condition, relation)
            else:
                check = self._read(node_of(condition), chosen)
            having = check if having is None else Condition("and", (having, check))
        question = Question(relation, self.keys, tuple(chosen.items()), having, order, self.most, columns)
        return self.table.ask(question)

    def _by_value(self, order: Order, outputs: dict[str, Output]) -> Order:
        """The order by a column of the answer, if it shows the aggregate that is ordered by."""
        order = released_order(order, self.table.relation)
        names = [name for name, output in outputs.items() if output == order.by]
        return replace(order, column=names[0], by=None) if names else order

    def _read(self, node: Expression, outputs: dict[str, Output]) -> Condition:
        if isinstance(node, ColumnReference) and node.name in dict(self.keys):
            return Condition("eq", (node, True))
        if not isinstance(node, Call) or node.name not in _CONDITIONS:
            raise QueryRefused("having compares columns of the answer with values", hint='having(gt.col("n") > 10)')
        if node.name in {"and", "or", "not"}:
            return Condition(node.name, tuple(self._read(argument, outputs) for argument in node.arguments))
        return Condition(node.name, tuple(self._operand(argument, outputs) for argument in node.arguments))

    def _operand(self, node: Expression, outputs: dict[str, Output]) -> ConditionPart:
        match node:
            case Literal():
                number = isinstance(node.value, int | Fraction) and not isinstance(node.value, bool)
                return Fraction(node.value) if number else node.value  # type: ignore[arg-type]  # (a number, as was asked)
            case ColumnReference() if node.name in outputs:
                return outputs[node.name]
            case ColumnReference() if node.name in dict(self.keys):
                return node
            case ColumnReference():
                names = ", ".join([*dict(self.keys), *outputs])
                raise QueryRefused(f"`{node.name}` is not a column of the answer", hint=f"the columns are {names}")
        raise QueryRefused("having compares columns of the answer with values", hint='having(gt.col("n") > 10)')


def _output(name: str, aggregate: object) -> Output:
    if not isinstance(aggregate, Agg):
        raise QueryRefused(f"`{name}` is not an aggregate", hint=f'{name}=gt.count(), or {name}=gt.mean("x")')
    return aggregate.output


def _require_not_person(name: str, relation: Relation) -> None:
    if relation.person is not None and name.casefold() == relation.person.casefold():
        raise QueryRefused(f"`{name}` says whose row it is and cannot be redefined", hint="choose another name")
