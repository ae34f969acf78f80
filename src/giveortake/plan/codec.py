"""Questions as JSON and back.

- Write questions as JSON, exactly, for ledgers and clients.
- A document names its tables, with fingerprints of public ones; everything else is spelled out. Ledgers of all versions
  use this format.
- Read questions from that JSON, with the session's own tables and no others.

The tables that a document names are taken from the session, the same objects, so that a document cannot change who is
protected, or the bounds. Everything else is checked as if it had been written here: every node checks itself when it
is made, and what no node checks is checked in this file. Nodes of unknown kinds are refused.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, final

from giveortake.errors import GiveOrTakeError, InvalidParameter, QueryRefused
from giveortake.exact.numbers import integer, rational
from giveortake.plan.catalog import require_name
from giveortake.plan.expressions import DEEPEST, Call, ColumnReference, Expression, Literal
from giveortake.plan.question import (
    FUNCTIONS_OF_ANSWERS,
    WINDOWS,
    Aggregate,
    AggregateKind,
    Computed,
    Condition,
    Frame,
    Measured,
    Order,
    Output,
    Question,
    Quotient,
    Window,
)
from giveortake.plan.relations import (
    Derive,
    Filter,
    JoinPersons,
    JoinPublic,
    KeepParts,
    PerPerson,
    Relation,
    Scan,
    SemiJoin,
    Union,
    require_few_steps,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.plan.catalog import Origin
    from giveortake.plan.domains import Value
    from giveortake.plan.relations import PublicTable


Json: TypeAlias = Any

FORMAT = 1


def question_to_json(question: Question, origin: Origin) -> dict[str, Json]:
    """A question about the tables of an origin, as plain lists, numbers and text."""
    return {
        "format": FORMAT,
        "relation": _relation_to_json(question.relation, origin),
        "keys": [[name, key.to_json()] for name, key in question.keys],
        "outputs": [[name, _output_to_json(output)] for name, output in question.outputs],
        "having": None if question.having is None else _condition_to_json(question.having),
        "order": [_order_to_json(order) for order in question.order],
        "limit": question.limit,
        "shown": list(question.columns),
        "distinct": question.distinct,
    }


def _relation_to_json(relation: Relation, origin: Origin) -> Json:
    for kind, tables in (("table", origin.relations), ("whole table", origin.uncapped)):
        for name, own in tables.items():
            if own is relation:
                return [kind, name]
    if isinstance(relation, Scan):
        raise QueryRefused("a Scan that is none of the session's own tables cannot be written down")
    return relation.to_json(partial(_relation_to_json, origin=origin))


def _output_to_json(output: Output) -> Json:
    match output:
        case Measured():
            return ["measured", output.aggregate.to_json()]
        case Quotient():
            return ["arithmetic", output.operation, _output_to_json(output.left), _output_to_json(output.right)]
        case Computed():
            return ["computed", output.function, [_output_to_json(part) for part in output.parts], str(output.constant)]
        case Window():
            frame = output.frame
            return [
                "window",
                output.function,
                None if output.argument is None else _output_to_json(output.argument),
                list(output.partition),
                [_order_to_json(order) for order in output.order],
                None if frame is None else [frame.before, frame.after, frame.peers],
                output.places,
            ]
        case Fraction():
            return ["number", str(output)]
    raise QueryRefused(f"a {type(output).__name__} is not a part of an answer")


def _order_to_json(order: Order) -> Json:
    by = None if order.by is None else _output_to_json(order.by)
    return [order.column, order.descending, order.missing_first, by]


def _condition_to_json(condition: Condition) -> Json:
    return ["condition", condition.operation, [_part_to_json(part) for part in condition.parts]]


def _part_to_json(part: Any) -> Json:
    match part:
        case Condition():
            return _condition_to_json(part)
        case Measured() | Quotient() | Computed() | Window() | Fraction():
            return _output_to_json(part)
        case ColumnReference():
            return part.to_json()
        case _:
            return Literal(part).to_json()


_ARITHMETIC = frozenset({"add", "subtract", "multiply", "divide"})
_MOST_NODES = 20_000  # relations, expressions and outputs of one document
_Item = TypeVar("_Item")


def question_from_json(content: Json, origin: Origin) -> Question:
    """The question that `question_to_json` wrote, about the tables of an origin.

    Guarantee: what is returned is made of the origin's own tables and of nodes that have checked themselves; anything
    else is refused by a `QueryRefused`, before a row is read or a budget is looked at.
    """
    try:
        return _Reader(origin).question(content)
    except GiveOrTakeError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError, ZeroDivisionError):
        return _refuse("this is not a plan, or a damaged one")


@final
class _Reader:
    """Reads one document. It counts nodes, so that no document takes long."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._nodes = 0
        self._relations: dict[str, Callable[..., Relation]] = {
            "table": self._table,
            "whole table": self._whole_table,
            "filter": self._filter,
            "derive": self._derive,
            "join public": self._join_public,
            "semi join": self._semi_join,
            "join persons": self._join_persons,
            "union": self._union,
            "per person": self._per_person,
            "keep parts": self._keep_parts,
        }
        self._outputs: dict[str, Callable[..., Output]] = {
            "measured": lambda content: Measured(self._aggregate(content)),
            "arithmetic": self._arithmetic,
            "computed": self._computed,
            "window": self._window,
            "number": _number,
        }

    def question(self, content: Json) -> Question:
        if not isinstance(content, dict) or "format" not in content:
            _refuse("the plan does not say which version wrote it")
        if content["format"] != FORMAT:
            _refuse("the plan was made by a later version", hint="upgrade giveortake")
        if set(content) != _FIELDS:
            _refuse(f"a plan has the fields {', '.join(sorted(_FIELDS))}, and no others")
        having = content["having"]
        question = Question(
            self.relation(content["relation"]),
            self._named(content["keys"], self._expression),
            self._named(content["outputs"], self._output),
            None if having is None else self._condition(having),
            tuple(self._order(order) for order in _list(content["order"])),
            _limit(content["limit"]),
            tuple(map(_text, _list(content["shown"]))),
            _truth(content["distinct"]),
        )
        self._require_plain(question)
        return question

    def _require_plain(self, question: Question) -> None:
        """Check what questions do not check themselves, because SQL and frames cannot express it."""
        names = [*(name for name, _ in question.keys), *(name for name, _ in question.outputs)]
        if not set(question.columns) <= set(names) or len(set(question.columns)) < len(question.columns):
            _refuse("the plan shows columns that its answer does not have")
        if any(order.by is None and order.column not in names for order in question.order):
            _refuse("the plan orders by a column that its answer does not have")

    # -- relations ------------------------------------------------------------------------------------------------

    def relation(self, content: Json) -> Relation:
        relation = self._node("relation", content, self._relations)
        require_few_steps(relation)
        return relation

    def _table(self, name: Json) -> Relation:
        return _item_named("table", _text(name), self._origin.relations)

    def _whole_table(self, name: Json) -> Relation:
        return _item_named("table", _text(name), self._origin.uncapped)

    def _public(self, content: Json) -> PublicTable:
        name, fingerprint = _list(content)
        table = _item_named("public table", _text(name), self._origin.public)
        if table.fingerprint != fingerprint:
            _refuse(f"the public table `{table.name}` holds something else now", hint="ask the question again")
        return table

    def _filter(self, source: Json, condition: Json) -> Relation:
        return Filter(self.relation(source), self._expression(condition))

    def _derive(self, source: Json, named: Json) -> Relation:
        return Derive(self.relation(source), self._named(named, self._expression))

    def _join_public(self, *content: Json) -> Relation:
        source, public, on, column, taken, optional = content
        table = self._public(public)
        pairs = _pairs(taken, table.schema)
        return JoinPublic(self.relation(source), table, self._expression(on), _text(column), pairs, _truth(optional))

    def _semi_join(self, *content: Json) -> Relation:
        source, public, on, column, condition, negated = content
        where = None if condition is None else self._expression(condition)
        return SemiJoin(
            self.relation(source), self._public(public), self._expression(on), _text(column), where, _truth(negated)
        )

    def _join_persons(self, left: Json, right: Json, taken: Json, optional: Json) -> Relation:
        one, other = self.relation(left), self.relation(right)
        return JoinPersons(one, other, _pairs(taken, other.schema), _truth(optional))

    def _union(self, left: Json, right: Json) -> Relation:
        return Union(self.relation(left), self.relation(right))

    def _per_person(self, source: Json, keys: Json, features: Json) -> Relation:
        names = tuple(map(_text, _list(keys)))
        return PerPerson(self.relation(source), names, self._named(features, self._aggregate))

    def _keep_parts(self, source: Json, column: Json, most: Json) -> Relation:
        relation, most_parts = self.relation(source), _whole(most)
        ColumnReference(_text(column)).domain(relation.schema)
        if relation.person is None or most_parts < 1:
            _refuse("parts are kept of persons, one of each at least")
        return KeepParts(relation, column, most_parts)

    # -- expressions and what is made of answers ------------------------------------------------------------------

    def _expression(self, content: Json, depth: int = 0) -> Expression:
        self._count()
        if depth > DEEPEST:
            _refuse(f"an expression nests deeper than {DEEPEST} levels")
        match content:
            case ["column", str(name)]:
                return ColumnReference(name)
            case ["literal", str(kind), text]:
                return Literal(_value(kind, text))
            case ["call", str(name), *arguments]:
                return Call(name, tuple(self._expression(argument, depth + 1) for argument in arguments))
        return _refuse_kind("expression", content)

    def _aggregate(self, content: Json) -> Aggregate:
        self._count()
        kind, first, quantile, *optional_second = _list(content)
        if kind not in list(AggregateKind):
            _refuse_kind("aggregate", content)
        (second,) = optional_second or [None]
        shape = (first is not None, quantile is not None, second is not None)
        if shape != _SHAPES.get(AggregateKind(kind), _OF_ONE):
            _refuse(f"the plan holds a {kind} of something else than it is of")
        return Aggregate(
            AggregateKind(kind),
            None if first is None else self._expression(first),
            None if quantile is None else _number(quantile),
            None if second is None else self._expression(second),
        )

    def _output(self, content: Json) -> Output:
        return self._node("output", content, self._outputs)

    def _arithmetic(self, operation: Json, left: Json, right: Json) -> Output:
        if operation not in _ARITHMETIC:
            _refuse_kind("operation", [operation])
        return Quotient(operation, self._output(left), self._output(right))

    def _computed(self, function: Json, parts: Json, constant: Json) -> Output:
        if function not in FUNCTIONS_OF_ANSWERS:
            _refuse_kind("function of answers", [function])
        return Computed(function, tuple(map(self._output, _list(parts))), _number(constant))

    def _window(self, *content: Json) -> Output:
        function, output, partition, order, frame, places = content
        if function not in WINDOWS:
            _refuse_kind("window", [function])
        return Window(
            function,
            None if output is None else self._output(output),
            tuple(map(_text, _list(partition))),
            tuple(map(self._order, _list(order))),
            None if frame is None else _frame(frame),
            _whole(places),
        )

    def _order(self, content: Json) -> Order:
        column, descending, missing_first, by = _list(content)
        output = None if by is None else self._output(by)
        return Order(_text(column), _truth(descending), _truth(missing_first), output)

    def _condition(self, content: Json, depth: int = 0) -> Condition:
        self._count()
        if depth > DEEPEST:
            _refuse(f"a condition nests deeper than {DEEPEST} levels")
        match content:
            case ["condition", str(operation), list(parts)]:
                return Condition(operation, tuple(self._part(part, depth + 1) for part in parts))
        return _refuse_kind("condition", content)

    def _part(self, content: Json, depth: int) -> object:
        match content:
            case ["condition", *_]:
                return self._condition(content, depth)
            case ["column", str(name)]:
                return ColumnReference(name)
            case ["literal", str(kind), text]:
                return Literal(_value(kind, text)).value
        return self._output(content)

    # -- inside -----------------------------------------------------------------------------------------------------

    def _node(self, role: str, content: Json, known: Mapping[str, Callable[..., _Item]]) -> _Item:
        self._count()
        kind, *parts = _list(content)
        make = known.get(kind) if isinstance(kind, str) else None
        return _refuse_kind(role, content) if make is None else make(*parts)

    def _named(self, content: Json, read: Callable[[Json], _Item]) -> tuple[tuple[str, _Item], ...]:
        return tuple((require_name(_text(name)), read(node)) for name, node in _list(content))

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            _refuse(f"the plan has more than {_MOST_NODES:,} nodes", hint="ask a simpler question")


_OF_ONE, _OF_PAIRS = (True, False, False), (True, False, True)
_SHAPES = {  # whether an aggregate has an expression, a fraction, and a second expression
    AggregateKind.COUNT_ROWS: (False, False, False),
    AggregateKind.COUNT_PERSONS: (False, False, False),
    AggregateKind.QUANTILE: (True, True, False),
    AggregateKind.COVARIANCE: _OF_PAIRS,
    AggregateKind.SAMPLE_COVARIANCE: _OF_PAIRS,
    AggregateKind.CORRELATION: _OF_PAIRS,
    AggregateKind.SLOPE: _OF_PAIRS,
    AggregateKind.INTERCEPT: _OF_PAIRS,
}
_FIELDS = {"format", "relation", "keys", "outputs", "having", "order", "limit", "shown", "distinct"}


def _value(kind: str, text: Json) -> Value:
    """The value of a literal: `kind` is the name of its type."""
    match kind:
        case "NoneType" if text is None:
            return None
        case "bool" if text in {"True", "False"}:
            return bool(text == "True")
        case "int":
            return integer(_text(text))
        case "Fraction":
            return _number(text)
        case "str":
            return _text(text)
        case "date":
            return dt.date.fromisoformat(_text(text))
        case "datetime":
            moment = dt.datetime.fromisoformat(_text(text))
            return moment if moment.tzinfo is None else _refuse("a time has a zone, and columns have none")
    return _refuse_kind("literal", [kind])


def _pairs(content: Json, columns: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Columns that are taken from a table, each with its new name."""
    pairs = []
    for old, new in _list(content):
        if old not in columns:
            _refuse("the plan takes a column that its table does not have")
        pairs.append((_text(old), require_name(_text(new))))
    return tuple(pairs)


def _frame(content: Json) -> Frame:
    before, after, peers = _list(content)
    return Frame(None if before is None else _whole(before), None if after is None else _whole(after), _truth(peers))


def _limit(content: Json) -> int | None:
    if content is None:
        return None
    return _whole(content) if _whole(content) >= 0 else _refuse("a limit cannot be negative")


def _item_named(kind: str, name: str, items: Mapping[str, _Item]) -> _Item:
    if name not in items:
        _refuse(f"there is no {kind} `{name}`", hint=f"there are: {', '.join(items) or 'none'}")
    return items[name]


def _list(content: Json) -> list[Json]:
    return content if isinstance(content, list) else _refuse("this is not a plan, or a damaged one")


def _text(content: Json) -> str:
    return content if isinstance(content, str) else _refuse("this is not a plan, or a damaged one")


def _number(content: Json) -> Fraction:
    """A number from text, with a limit on its digits: "1e30000000" would take very long."""
    try:
        return rational("number", _text(content))
    except InvalidParameter as error:
        return _refuse("the plan holds a number that cannot be read, or is too long", hint=error.hint)


def _truth(content: Json) -> bool:
    return content if isinstance(content, bool) else _refuse("this is not a plan, or a damaged one")


def _whole(content: Json) -> int:
    return content if type(content) is int else _refuse("this is not a plan, or a damaged one")


def _refuse_kind(role: str, content: Json) -> NoReturn:
    kind = content[0] if isinstance(content, list) and content and isinstance(content[0], str) else None
    named = "of no kind" if kind is None else f"of the kind {kind[:40]!r}, which is unknown here"
    _refuse(f"the plan holds one {role} {named}", hint=None if kind is None else "upgrade giveortake")


def _refuse(problem: str, hint: str | None = None) -> NoReturn:
    raise QueryRefused(problem, hint=hint)
