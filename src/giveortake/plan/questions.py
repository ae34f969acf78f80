"""Questions: what is asked of which rows, and what is computed from the answers for free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.advice import declaring
from giveortake.errors import QueryRefused
from giveortake.plan.computed import Computed, Window
from giveortake.plan.costs import require_few_kept, require_short_texts
from giveortake.plan.domains import Kind
from giveortake.plan.expressions import ColumnReference, Expression, require_shallow
from giveortake.plan.relations import Derive, JoinPublic, Relation, Scan, Union

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan.aggregates import Aggregate
    from giveortake.plan.domains import Domain

_OF_PERSONS = (
    "group by person inside a subquery and aggregate outside: SELECT AVG(CLAMP(n, 0, 9)) AS mean "
    "FROM (SELECT {person}, COUNT(*) AS n FROM {table} GROUP BY {person})"
)


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """The noisy answer of an aggregate, as part of an expression over answers."""

    aggregate: Aggregate


@final
@dataclass(frozen=True, slots=True)
class Quotient:
    """Arithmetic over answers, free as post-processing; `operation` is add, subtract, multiply or divide."""

    operation: str
    left: Output
    right: Output


Output: TypeAlias = "Measured | Quotient | Computed | Window | Fraction"
OUTPUTS = (Measured, Quotient, Computed, Window, Fraction)


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """HAVING: a condition on rows of the answer; comparisons of outputs, combined by and, or, not."""

    operation: str
    parts: tuple[Condition | Output | ColumnReference | object, ...]


@final
@dataclass(frozen=True, slots=True)
class Order:
    """ORDER BY one column of the answer; or `by` an output that the answer does not show."""

    column: str
    descending: bool = False
    missing_first: bool = False
    by: Output | None = None


@final
@dataclass(frozen=True, slots=True)
class Question:
    """A relation, the keys to group it by, and the columns of the answer."""

    relation: Relation
    keys: tuple[tuple[str, Expression], ...]
    outputs: tuple[tuple[str, Output], ...]
    having: Condition | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    shown: tuple[str, ...] = ()  # names of keys and outputs in the order of the answer
    distinct: bool = False  # SELECT DISTINCT of declared keys, answered from the domains alone

    def __post_init__(self) -> None:
        if self.distinct:
            self._require_known()
            return
        if not self.outputs and self.keys:
            raise QueryRefused(
                "the question asks for keys, but for no number to measure",
                hint="SELECT region, COUNT(*) AS n FROM trips GROUP BY region ORDER BY n DESC LIMIT 1",
            )
        if not self.outputs:
            raise QueryRefused(
                "the question asks for rows, not for aggregates",
                hint="SELECT COUNT(*) AS n, SUM(amount) AS total, AVG(amount) AS mean FROM trips",
            )
        names = [*(name for name, _ in self.keys), *(name for name, _ in self.outputs)]
        taken = {*names, *(f"{n}_{end}" for n, _ in self.outputs for end in ("low", "high"))}
        if len(taken) < len(names) + 2 * len(self.outputs):
            raise QueryRefused("two columns of the answer have the same name", hint="give them different names with AS")
        schema = self.relation.schema
        for _, key in self.keys:
            require_shallow(key)
            domain = key.domain(schema)
            if domain.kind in {Kind.REAL, Kind.TIMESTAMP}:
                raise QueryRefused(f"{domain.kind} values cannot be grouped by", hint=_keys_instead(key, domain.kind))
            if self.relation.person is not None and self.relation.person in set(key.columns()):
                person, table = self.relation.person, self.relation.tables()[0].name
                raise QueryRefused(
                    f"`{person}` names people, and an answer is never about one person",
                    hint=_OF_PERSONS.format(person=person, table=table),
                )
        self._require_plain_windows()
        aggregates = self.aggregates()
        if not aggregates:
            raise QueryRefused(
                "a window function (OVER) is computed from the noisy answer, and the question asks for nothing else",
                hint="SELECT region, COUNT(*) AS n, COUNT(*) OVER () AS groups FROM trips GROUP BY region",
            )
        for aggregate in aggregates:
            aggregate.require_releasable(schema)
        measured = (each for aggregate in aggregates for each in aggregate.expressions)
        keys = [key for _, key in self.keys]
        require_short_texts(self.relation, [*keys, *measured])
        distinct = (aggregate.of for aggregate in aggregates if aggregate.is_distinct and aggregate.of is not None)
        require_few_kept(self.relation, [*keys, *distinct])

    def _require_known(self) -> None:
        """Refuse SELECT DISTINCT unless all keys are declared: then it needs no rows."""
        schema, hint = self.relation.schema, "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
        if self.outputs or self.having is not None or not self.keys:
            raise QueryRefused("DISTINCT together with aggregates is not answered", hint=hint)
        for _, key in self.keys:
            if self.relation.person is not None and self.relation.person in set(key.columns()):
                raise QueryRefused(f"`{self.relation.person}` names people, and people are never shown", hint=hint)
            if key.domain(schema).keys() is None:
                raise QueryRefused(
                    "DISTINCT is answered only for declared keys: others are found in the data, with a noisy count",
                    hint=hint,
                )
        if not keeps_rows(self.relation):
            raise QueryRefused(
                "DISTINCT after WHERE or JOIN is not answered: rows decide which keys are left",
                hint="SELECT region, COUNT(*) AS n FROM trips WHERE amount > 9 GROUP BY region HAVING COUNT(*) > 0",
            )

    def _require_plain_windows(self) -> None:
        """Check windows: they are computed after HAVING, and only from keys and aggregates."""
        if self.having is not None and windows_in(self.having):
            raise QueryRefused(
                "HAVING comes before OVER",
                hint="SELECT region, SUM(COUNT(*)) OVER () AS n FROM trips GROUP BY region HAVING COUNT(*) > 3",
            )
        names = {name for name, _ in self.keys}
        for window in windows_in(self):
            if any(windows_in(part) for part in parts_of(window)):
                raise QueryRefused(
                    "OVER inside OVER is not answered",
                    hint="SELECT region, SUM(COUNT(*)) OVER () AS n FROM trips GROUP BY region",
                )
            asked = {*window.partition, *(each.column for each in window.order if each.by is None)}
            if not asked <= names:
                raise QueryRefused("OVER goes by keys and by aggregates of the answer", hint="GROUP BY the column")

    @property
    def finds_keys(self) -> bool:
        """Whether some keys have to be found in the data."""
        return None in [domain.keys() for domain in self.key_domains()]

    def key_domains(self) -> list[Domain]:
        """The domain of each key."""
        schema = self.relation.schema
        return [key.domain(schema) for _, key in self.keys]

    @property
    def has_one_row_in_group(self) -> bool:
        """Whether a person has at most one row in each group, because the keys single out a person's row."""
        return self.relation.is_one_row_for({key.name for _, key in self.keys if isinstance(key, ColumnReference)})

    def aggregates(self) -> list[Aggregate]:
        """All aggregates that the answer is computed from, each once, in the order of their first use."""
        return list(dict.fromkeys(aggregates_in(self)))

    @property
    def has_windows(self) -> bool:
        """Whether any output is computed from several rows of the answer."""
        return bool(windows_in(self))


def parts_of(node: object) -> tuple[object, ...]:
    """The direct parts of an output, an order or a condition."""
    match node:
        case Quotient():
            return node.left, node.right
        case Computed() | Condition():
            return node.parts
        case Window():
            return (*(() if node.of is None else (node.of,)), *node.order)
        case Order():
            return () if node.by is None else (node.by,)
        case Question():
            return (
                *(output for _, output in node.outputs),
                *([] if node.having is None else [node.having]),
                *node.order,
            )
        case _:
            return ()


def aggregates_in(node: object) -> list[Aggregate]:
    """The aggregates below an output, an order or a condition."""
    if isinstance(node, Measured):
        return [node.aggregate]
    return [aggregate for part in parts_of(node) for aggregate in aggregates_in(part)]


def hidden_outputs(node: Question | Condition | Order) -> list[Output]:
    """The outputs that only HAVING and ORDER BY use."""
    match node:
        case Question():
            parts: tuple[object, ...] = (*([] if node.having is None else [node.having]), *node.order)
        case _:
            parts = parts_of(node)
    found: list[Output] = []
    for part in parts:
        if isinstance(part, Condition | Order):
            found += hidden_outputs(part)
        elif isinstance(part, OUTPUTS) and not isinstance(part, Fraction):
            found.append(part)
    return found


def windows_in(node: object) -> list[Window]:
    """The windows below an output, an order or a condition."""
    own = [node] if isinstance(node, Window) else []
    return [*own, *(window for part in parts_of(node) for window in windows_in(part))]


def with_aggregates(node: Output, change: Callable[[Aggregate], Aggregate]) -> Output:
    """An output with each aggregate replaced by `change` of it."""
    match node:
        case Measured():
            return Measured(change(node.aggregate))
        case Quotient():
            return Quotient(node.operation, with_aggregates(node.left, change), with_aggregates(node.right, change))
        case Computed():
            return replace(node, parts=tuple(with_aggregates(part, change) for part in node.parts))
        case Window():
            of = None if node.of is None else with_aggregates(node.of, change)
            return replace(node, of=of, order=tuple(ordered_by(each, change) for each in node.order))
        case _:
            return node


def ordered_by(order: Order, change: Callable[[Aggregate], Aggregate]) -> Order:
    """An order with each aggregate replaced by `change` of it."""
    return order if order.by is None else replace(order, by=with_aggregates(order.by, change))


def keeps_rows(relation: Relation) -> bool:
    """Whether a relation keeps every row of its tables, so that all declared keys may occur."""
    match relation:
        case Scan():
            return True
        case Derive() | Union():
            return all(map(keeps_rows, relation.sources))
        case JoinPublic():
            return relation.optional and keeps_rows(relation.source)
        case _:
            return False


def _keys_instead(key: Expression, kind: Kind) -> str:
    """What may be grouped by instead of times or real numbers."""
    name = key.name if isinstance(key, ColumnReference) else "x"
    if kind is Kind.TIMESTAMP:
        return f"DATE_TRUNC('day', {name}), or CAST({name} AS DATE)"
    declared = declaring(name, '{"bounds": (1, 20), "integer": True}', "1,2,3")
    return declared.rewritten(lambda said: f"BUCKET({name}, width); whole numbers of a CSV file: {said}")
