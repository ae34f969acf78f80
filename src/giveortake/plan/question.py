"""Questions: what is asked of which rows, what is computed from the answer for free, and which tables may be named.

A plan is made of public values, and whoever holds one can make another: with another table, other bounds, another
person, or another part of the data. Sensitivities are derived from plans. So before a question is priced, every path
from it to rows has to pass through one of the session's own relations (the same object, not an equal one), and
everything on the way has to be a node that the plan knows.

Plans are written and read by `giveortake.codec`. A document names its tables, with fingerprints of public ones;
everything else is spelled out, and every node checks itself when it is made.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, final
from typing import Literal as OneOf

from giveortake import codec
from giveortake.codec import stored
from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.plan.expressions import (
    COMPARISONS,
    Call,
    ColumnReference,
    Domain,
    Expression,
    Kind,
    Literal,
    Value,
    comparable,
    require_shallow,
)
from giveortake.plan.relations import (
    Aggregate,
    Derive,
    Filter,
    JoinPersons,
    JoinPublic,
    KeepParts,
    PerPerson,
    PublicTable,
    Relation,
    Scan,
    SemiJoin,
    Unary,
    Union,
    require_few_steps,
    require_name,
    require_short_keys,
    require_short_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from giveortake.plan.expressions import Schema
    from giveortake.plan.relations import PrivateTable


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
    if not (condition.operation in COMPARISONS and len(parts) == 2) and not (
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


Json: TypeAlias = Any

_NAMED = 'the tables are {}; a table to join is named first: gt.protect(…, public={{"regions": table}})'


@final
@dataclass(frozen=True, slots=True, repr=False)
class Catalog:
    """Private relations and public tables by name, in any case of letters."""

    private: Mapping[str, Relation]
    public: Mapping[str, PublicTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [name.casefold() for name in (*self.private, *self.public)]
        if len(set(names)) < len(names):
            raise InvalidParameter(
                "catalog", sorted(names), "has two tables of the same name", hint="rename one of them"
            )

    def __repr__(self) -> str:
        public = (f"{name}({', '.join(table.schema)}), public" for name, table in self.public.items())
        private = (f"{name}({', '.join(relation.schema)})" for name, relation in self.private.items())
        return f"<Catalog: {'; '.join([*private, *public])}>"

    def find(self, name: str) -> Relation | PublicTable:
        """The table of that name, or a refusal that lists the tables there are."""
        tables: dict[str, Relation | PublicTable] = {**self.private, **self.public}
        if not hasattr(name, "casefold"):
            raise InvalidParameter("table", name, "is not the name of a table", hint=_NAMED.format(", ".join(tables)))
        for known, table in tables.items():
            if known.casefold() == name.casefold():
                return table
        raise QueryRefused(
            f"there is no table `{name}`",
            hint=f"{did_you_mean(name, tables)}the tables are {', '.join(tables) or 'none'}",
        )

    def find_public(self, name: str) -> PublicTable:
        """The public table of that name."""
        table = self.find(name)
        if isinstance(table, PublicTable):
            return table
        raise QueryRefused(
            f"`{name}` is a private table, and private tables can only be joined on the person",
            hint="join them ON the person",
        )


def meet_public(
    source: Relation, public: PublicTable, on: Expression, column: str, *, optional: bool
) -> tuple[JoinPublic, dict[str, str]]:
    """The join with a public table, and the names of that table's columns in it.

    A name that is taken becomes `table.column`. The column joined on is that of the left side, if both are equal.
    """
    names: dict[str, str] = {}
    for name in public.schema:
        if name == column and not optional and isinstance(on, ColumnReference):
            continue
        names[name] = free_name(name, public.name, (*source.schema, *names.values()))
    join = JoinPublic(source, public, on, column, tuple(names.items()), optional)
    if column not in names and isinstance(on, ColumnReference):
        names[column] = on.name
    return join, names


def meet_persons(left: Relation, right: Relation, *, optional: bool) -> tuple[JoinPersons, dict[str, str]]:
    """The join of two private relations on the person, and the names of the right one's columns in it."""
    names: dict[str, str] = {}
    prefix = right.tables()[0].name
    for name in right.schema:
        if name == right.person and not optional:
            continue
        names[name] = free_name(name, prefix, (*left.schema, *names.values()))
    join = JoinPersons(left, right, tuple(names.items()), optional)
    names.setdefault(str(right.person), str(left.person))
    return join, names


def free_name(name: str, prefix: str, taken: Iterable[str]) -> str:
    """The name itself, or `prefix.name`, or that with a number: the first that nothing else has, whatever its case.

    >>> free_name("zone", "zones", ["Zone"])
    'zones.zone'
    """
    used = {taken_name.casefold() for taken_name in taken}
    candidate, number = name, 1
    while candidate.casefold() in used:
        candidate = f"{prefix}.{name}" if number == 1 else f"{prefix}.{name}.{number}"
        number += 1
    return candidate


_STEPS = {Filter, Derive, JoinPublic, SemiJoin, JoinPersons, Union, PerPerson, KeepParts}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The relations that questions may start from, and the public tables that they may join, by name.

    `uncapped` are the private tables without caps on rows, for profiles, which help to choose caps and bounds.

    Guarantee: a plan that `codec.read` makes with an origin as its references is made of the origin's own tables, the
    same objects, and of nodes that have checked themselves; so a document cannot change who is protected, or the
    bounds. Anything else is refused before a row is read or a budget is looked at.
    """

    relations: Mapping[str, Relation]
    uncapped: Mapping[str, Scan]
    public: Mapping[str, PublicTable]

    @classmethod
    def of(
        cls,
        private: Iterable[PrivateTable],
        public: Iterable[PublicTable],
        rows_in: Callable[[str], int | None],
    ) -> Origin:
        """The origin of the given tables; `rows_in` gives the default cap on rows per person."""
        tables = list(private)
        return cls(
            MappingProxyType({table.name: Scan(table, rows_in(table.name)) for table in tables}),
            MappingProxyType({table.name: Scan(table, is_whole=True) for table in tables}),
            MappingProxyType({table.name: table for table in public}),
        )

    def narrowed(self, narrow: Callable[[Relation], Relation]) -> Origin:
        """This origin, restricted to a part of each relation."""
        relations = {name: narrow(relation) for name, relation in self.relations.items()}
        return Origin(MappingProxyType(relations), MappingProxyType({}), self.public)

    def name_of(self, value: object) -> Json:
        """The name of a table, for documents; None for what is no table. Another's table is refused."""
        if isinstance(value, PublicTable):
            return {codec.KIND: "public table", "name": value.name, "fingerprint": value.fingerprint}
        if isinstance(value, Relation):
            for kind, tables in (("table", self.relations), ("whole table", self.uncapped)):
                for name, own in tables.items():
                    if own is value:
                        return {codec.KIND: kind, "name": name}
            if isinstance(value, Scan):
                _refuse()
        return None

    def find(self, kind: type, document: Json) -> object:
        """The table that a document names; None if it spells out something else."""
        if kind is PublicTable:
            public = _table_named("public table", document, self.public, "fingerprint")
            if public.fingerprint != document["fingerprint"]:
                raise QueryRefused(
                    f"the public table `{public.name}` holds something else now", hint="ask the question again"
                )
            return public
        tag = document.get(codec.KIND) if kind is Relation and isinstance(document, dict) else None
        if tag == "table":
            return _table_named("table", document, self.relations)
        return _table_named("whole table", document, self.uncapped) if tag == "whole table" else None

    def require(self, question: Question) -> None:
        """Refuse a question that is not made from these relations and tables."""
        if type(question) is not Question:
            _refuse()
        self._require(question.relation)
        for _, key in question.keys:
            _require_plain(key)
        for aggregate in question.aggregates():
            if type(aggregate) is not Aggregate:
                _refuse()
            for expression in aggregate.expressions:
                _require_plain(expression)

    def _require(self, relation: Relation) -> None:
        if any(relation is own for own in (*self.relations.values(), *self.uncapped.values())):
            return
        if type(relation) not in _STEPS:
            _refuse()
        if isinstance(relation, SemiJoin) and relation.condition is not None:
            _require_plain(relation.condition)
        if isinstance(relation, JoinPublic | SemiJoin) and not any(
            relation.public is own for own in self.public.values()
        ):
            _refuse()
        if isinstance(relation, PerPerson) and any(type(feature) is not Aggregate for _, feature in relation.features):
            _refuse()
        if isinstance(relation, Unary):
            for expression in relation.computed():
                _require_plain(expression)
        for source in relation.sources:
            self._require(source)


_Table = TypeVar("_Table")


def _table_named(kind: str, document: Json, tables: Mapping[str, _Table], *others: str) -> _Table:
    """The table of some kind that a document names, and nothing else."""
    if not isinstance(document, dict) or document.keys() != {codec.KIND, "name", *others} or document["kind"] != kind:
        raise QueryRefused(f"the plan does not name a {kind}")
    name = document["name"]
    if not isinstance(name, str) or name not in tables:
        hint = f"there are: {', '.join(tables) or 'none'}"
        raise QueryRefused(f"there is no {kind} `{str(name)[:40]}`", hint=hint)
    return tables[name]


@final
class _TablesByCaps:
    """Names of tables in digests: with their caps, and how rows are chosen, as a measurement has them."""

    def name_of(self, value: object) -> Json:
        if isinstance(value, PublicTable):
            return [value.name, value.fingerprint]
        if isinstance(value, Scan):
            return [value.table.name, value.most_rows_of_person, *value.rule]
        return None

    def find(self, kind: type, document: Json) -> object:
        raise NotImplementedError


_BY_CAPS = _TablesByCaps()


def identity(*plans: object) -> str:
    """A digest of plans, and of what is made of plans, for names in ledgers: the same for equal plans."""
    hints = (Relation if isinstance(plan, Relation) else None for plan in plans)
    documents = [codec.write(plan, hint, references=_BY_CAPS) for plan, hint in zip(plans, hints, strict=True)]
    return hashlib.sha256(codec.text_of(documents, Any).encode()).hexdigest()


def _require_plain(expression: Expression) -> None:
    if type(expression) not in {ColumnReference, Literal, Call}:
        _refuse()
    if isinstance(expression, Call):
        for argument in expression.arguments:
            _require_plain(argument)


def _refuse() -> NoReturn:
    raise QueryRefused(
        "the question was not made from this session's own tables", hint="begin with a table of it, or with SQL"
    )
