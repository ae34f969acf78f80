"""Questions: what is asked of which rows, and what is computed from the answer for free.

- Post-processing: functions of noisy numbers, and of the rows of the noisy answer. They read what was released.
- HAVING: which comparisons there are, and between what.

SQL and frames both use the tables of functions here, and that of aggregates.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final
from typing import Literal as OneOf

from giveortake.codec import stored
from giveortake.errors import QueryRefused
from giveortake.plan.aggregates import Aggregate
from giveortake.plan.domains import Domain, Kind, Value, comparable
from giveortake.plan.expressions import ColumnReference, Expression, Literal, require_shallow
from giveortake.plan.relations import (
    Derive,
    JoinPublic,
    Relation,
    Scan,
    Union,
    require_few_steps,
    require_name,
    require_short_keys,
    require_short_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.plan.domains import Schema


MOST_DIGITS = 12
_MOST_PLACES = 1_000_000  # rows that a window, or LAG, may reach

# The least and greatest number of arguments of a function of answers; None: no limit.
FUNCTIONS_OF_ANSWERS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1),
    "sign": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "round": (1, 1),
    "to_integer": (1, 1),
    "sqrt": (1, 1),
    "ln": (1, 1),
    "exp": (1, 1),
    "power": (1, 1),
    "coalesce": (2, None),
    "nullif": (2, 2),
    "greatest": (2, None),
    "least": (2, None),
}
# Functions of the rows of an answer: whether each takes a number, and whether it needs an order.
WINDOWS: dict[str, tuple[bool, bool]] = {
    "sum": (True, False),
    "mean": (True, False),
    "minimum": (True, False),
    "maximum": (True, False),
    "count": (False, False),
    "row_number": (False, True),
    "rank": (False, True),
    "dense_rank": (False, True),
    "ntile": (False, True),
    "lag": (True, True),
    "lead": (True, True),
    "first": (True, True),
    "last": (True, True),
}
FRAMED = frozenset({"sum", "mean", "minimum", "maximum", "count", "first", "last"})
SHIFTED = frozenset({"lag", "lead"})
RANKED = frozenset({"row_number", "rank", "dense_rank"})


@final
@stored("computed")
@dataclass(frozen=True, slots=True)
class Computed:
    """A function of answers. `constant` is the digits of ROUND, or the exponent of POWER."""

    function: str
    parts: tuple[Output, ...]
    constant: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        least, most = FUNCTIONS_OF_ANSWERS[self.function]
        if len(self.parts) < least or (most is not None and len(self.parts) > most):
            raise QueryRefused(f"{self.function.upper()} does not take {len(self.parts)} answers")
        if self.function == "round" and (self.constant.denominator != 1 or abs(self.constant) > MOST_DIGITS):
            raise QueryRefused(
                f"ROUND takes up to {MOST_DIGITS} digits", hint="SELECT ROUND(AVG(amount), 2) AS mean FROM trips"
            )
        if self.function == "power" and abs(self.constant) > 32:
            raise QueryRefused(
                "POWER takes exponents up to 32", hint="SELECT POWER(AVG(amount), 2) AS square FROM trips"
            )


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a window around each row: how many before and after it in its order; None means all.

    With `peers`, rows that are equal in the order belong together, which is SQL's default.
    """

    before: int | None = None
    after: int | None = 0
    peers: bool = True

    def __post_init__(self) -> None:
        if any(end is not None and abs(end) > _MOST_PLACES for end in (self.before, self.after)):
            raise QueryRefused(f"a window reaches up to {_MOST_PLACES:,} rows")


@final
@stored("window")
@dataclass(frozen=True, slots=True)
class Window:
    """A function of rows of the answer: those with equal keys `partition`, in an order, within a frame.

    It is computed from the rows that HAVING keeps, before ORDER BY and LIMIT. `places` is the offset of LAG and LEAD,
    and the number of parts of NTILE.
    """

    function: str
    argument: Output | None = None
    partition: tuple[str, ...] = ()
    order: tuple[Order, ...] = ()
    frame: Frame | None = None
    places: int = 1

    def __post_init__(self) -> None:
        needs, ordered = WINDOWS[self.function]
        name = self.function.upper()
        if needs != (self.argument is not None):
            without = f"takes no value{', but order_by=, in SQL OVER (ORDER BY …)' if ordered else ''}"
            raise QueryRefused(f"{name} OVER {'is of an aggregate' if needs else without}")
        if ordered and not self.order:
            raise QueryRefused(
                f"{name} needs an order",
                hint="SELECT region, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM trips GROUP BY region",
            )
        if self.frame is not None and (self.function not in FRAMED or not self.order):
            raise QueryRefused(f"{name} OVER takes no frame of rows without an order")
        if self.function == "ntile" and self.places < 1:
            raise QueryRefused(
                "NTILE takes at least one part",
                hint="SELECT region, NTILE(4) OVER (ORDER BY COUNT(*)) AS quarter FROM trips GROUP BY region",
            )
        if not 0 <= self.places <= _MOST_PLACES:
            raise QueryRefused(f"{name} goes up to {_MOST_PLACES:,} rows")


_OF_PERSONS = (
    "group by person inside a subquery and aggregate outside: SELECT AVG(CLAMP(n, 0, 9)) AS mean "
    "FROM (SELECT {person}, COUNT(*) AS n FROM {table} GROUP BY {person})"
)


@final
@stored("measured")
@dataclass(frozen=True, slots=True)
class Measured:
    """The noisy answer of an aggregate, as part of an expression over answers."""

    aggregate: Aggregate


Operation: TypeAlias = OneOf["add", "subtract", "multiply", "divide"]


@final
@stored("arithmetic")
@dataclass(frozen=True, slots=True)
class Quotient:
    """Arithmetic over answers, free as post-processing; `operation` is add, subtract, multiply or divide."""

    operation: Operation
    left: Output
    right: Output


Output: TypeAlias = Measured | Quotient | Computed | Window | Fraction
OUTPUTS = (Measured, Quotient, Computed, Window, Fraction)


@final
@stored("condition")
@dataclass(frozen=True, slots=True)
class Condition:
    """HAVING: a condition on rows of the answer; comparisons of outputs, combined by and, or, not."""

    operation: str
    parts: tuple[ConditionPart, ...]


ConditionPart: TypeAlias = Condition | Output | ColumnReference | Value


@final
@stored("order")
@dataclass(frozen=True, slots=True)
class Order:
    """ORDER BY one column of the answer; or `by` an output that the answer does not show."""

    column: str
    descending: bool = False
    missing_first: bool = False
    by: Output | None = None


@final
@stored("question")
@dataclass(frozen=True, slots=True)
class Question:
    """A relation, the keys to group it by, and the columns of the answer."""

    relation: Relation
    keys: tuple[tuple[str, Expression], ...]
    outputs: tuple[tuple[str, Output], ...]
    having: Condition | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    columns: tuple[str, ...] = ()  # names of keys and outputs in the order of the answer
    distinct: bool = False  # SELECT DISTINCT of declared keys, answered from the domains alone

    def __post_init__(self) -> None:
        if self.distinct:
            self._require_plain_columns()
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
        self._require_plain_columns()
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
        if self.having is not None:
            _require_condition(self.having, dict(self.keys), schema)
        aggregates = self.aggregates()
        if not aggregates:
            raise QueryRefused(
                "a window function (OVER) is computed from the noisy answer, and the question asks for nothing else",
                hint="SELECT region, COUNT(*) AS n, COUNT(*) OVER () AS groups FROM trips GROUP BY region",
            )
        for aggregate in aggregates:
            aggregate.require_releasable(schema)
        measured = (expression for aggregate in aggregates for expression in aggregate.expressions)
        keys = [key for _, key in self.keys]
        require_short_texts(self.relation, [*keys, *measured])
        distinct = (
            aggregate.expression
            for aggregate in aggregates
            if aggregate.is_distinct and aggregate.expression is not None
        )
        require_short_keys(self.relation, [*keys, *distinct])

    def _require_plain_columns(self) -> None:
        """Check the names of columns, and what is said of them; SQL and frames cannot express anything else."""
        require_few_steps(self.relation)
        for name, key in (*self.keys, *self.outputs):
            if key != ColumnReference(name):
                require_name(name)
        names = [name for name, _ in (*self.keys, *self.outputs)]
        if not set(self.columns) <= set(names) or len(set(self.columns)) < len(self.columns):
            raise QueryRefused("the plan shows columns that its answer does not have")
        if any(order.by is None and order.column not in names for order in self.order):
            raise QueryRefused("the plan orders by a column that its answer does not have")
        if self.limit is not None and self.limit < 0:
            raise QueryRefused("a limit cannot be negative")

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
            columns = {*window.partition, *(order.column for order in window.order if order.by is None)}
            if not columns <= names:
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
            return (*(() if node.argument is None else (node.argument,)), *node.order)
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
    outputs: list[Output] = []
    for part in parts:
        if isinstance(part, Condition | Order):
            outputs += hidden_outputs(part)
        elif isinstance(part, OUTPUTS) and not isinstance(part, Fraction):
            outputs.append(part)
    return outputs


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
            output = None if node.argument is None else with_aggregates(node.argument, change)
            return replace(node, argument=output, order=tuple(ordered_by(order, change) for order in node.order))
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
    declared = f'domains={{"{name}": {{"bounds": (1, 20), "integer": True}}}}'
    return f"BUCKET({name}, width); whole numbers of a CSV file: {declared}"


_JOINED = {"and": 2, "or": 2, "not": 1}
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def _require_condition(condition: Condition, keys: Mapping[str, Expression], schema: Schema) -> None:
    """Refuse a condition that could not be evaluated on every row of an answer, before anything is charged."""
    parts = condition.parts
    if condition.operation in _JOINED:
        inner = [part for part in parts if isinstance(part, Condition)]
        if len(inner) != len(parts) or len(parts) != _JOINED[condition.operation]:
            raise QueryRefused(f"{condition.operation.upper()} joins conditions, one or two")
        for part in inner:
            _require_condition(part, keys, schema)
        return
    kinds = [_kind(part, keys, schema) for part in parts]
    if condition.operation == "is_null" and len(parts) == 1:
        return
    if not (condition.operation in _COMPARISONS and len(parts) == 2) and not (
        condition.operation == "in" and len(parts) > 1
    ):
        raise QueryRefused(
            f"HAVING knows no {condition.operation!r} of {len(parts)}",
            hint="comparisons, IN and IS NULL are answered",
        )
    one, *others = kinds
    for other in others:
        if one is not None and other is not None and not comparable(one, other):
            raise QueryRefused(
                f"a {one} value cannot be compared with a {other} value",
                hint="numbers are written 10, texts 'north', dates DATE '2024-01-31', truth values TRUE",
            )


def _kind(part: object, keys: Mapping[str, Expression], schema: Schema) -> Kind | None:
    """The kind of value that a part has on every row; None if it is NULL."""
    match part:
        case None:
            return None
        case ColumnReference() if part.name in keys:
            return keys[part.name].domain(schema).kind
        case Measured() | Quotient() | Computed() | Fraction():
            return Kind.REAL
        case bool() | str() | dt.date():
            return Literal(part).domain({}).kind
    raise QueryRefused("HAVING compares only aggregates, keys and values", hint="conditions on rows go into WHERE")
