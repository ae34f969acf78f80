"""Write questions as JSON, exactly, for ledgers and clients. `document_reader` reads it.

A document names its tables, with fingerprints of public ones; everything else is spelled out. Ledgers of all versions
use this format.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from giveortake.errors import QueryRefused
from giveortake.plan.computed import Computed, Window
from giveortake.plan.expressions import ColumnReference, Literal
from giveortake.plan.questions import Condition, Measured, Order, Output, Question, Quotient
from giveortake.plan.relations import Derive, Filter, JoinPersons, JoinPublic, KeepParts, PerPerson, Relation, Union
from giveortake.plan.semi_joins import SemiJoin

if TYPE_CHECKING:
    from giveortake.plan.catalog import Origin
    from giveortake.plan.tables import PublicTable

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
        "order": [_order_to_json(each) for each in question.order],
        "limit": question.limit,
        "shown": list(question.shown),
        "distinct": question.distinct,
    }


def _relation_to_json(relation: Relation, origin: Origin) -> Json:
    for kind, tables in (("table", origin.relations), ("whole table", origin.uncapped)):
        for name, own in tables.items():
            if own is relation:
                return [kind, name]

    def written(source: Relation) -> Json:
        return _relation_to_json(source, origin)

    match relation:
        case Filter():
            return ["filter", written(relation.source), relation.condition.to_json()]
        case Derive():
            return ["derive", written(relation.source), [[name, each.to_json()] for name, each in relation.named]]
        case JoinPublic():
            return [
                "join public",
                written(relation.source),
                _public_to_json(relation.public),
                relation.on.to_json(),
                relation.public_column,
                [list(pair) for pair in relation.taken],
                relation.optional,
            ]
        case SemiJoin():
            return [
                "semi join",
                written(relation.source),
                _public_to_json(relation.public),
                relation.on.to_json(),
                relation.public_column,
                None if relation.condition is None else relation.condition.to_json(),
                relation.negated,
            ]
        case JoinPersons():
            taken = [list(pair) for pair in relation.taken]
            return ["join persons", written(relation.left), written(relation.right), taken, relation.optional]
        case Union():
            return ["union", written(relation.left), written(relation.right)]
        case PerPerson():
            features = [[name, feature.to_json()] for name, feature in relation.features]
            return ["per person", written(relation.source), list(relation.keys), features]
        case KeepParts():
            return ["keep parts", written(relation.source), relation.column, relation.most]
    raise QueryRefused(f"a {type(relation).__name__} that is none of the session's own tables cannot be written down")


def _public_to_json(table: PublicTable) -> Json:
    return [table.name, table.fingerprint]


def _output_to_json(output: Output) -> Json:
    match output:
        case Measured():
            return ["measured", output.aggregate.to_json()]
        case Quotient():
            return ["arithmetic", output.operation, _output_to_json(output.left), _output_to_json(output.right)]
        case Computed():
            return ["computed", output.function, [_output_to_json(each) for each in output.parts], str(output.constant)]
        case Window():
            frame = output.frame
            return [
                "window",
                output.function,
                None if output.of is None else _output_to_json(output.of),
                list(output.partition),
                [_order_to_json(each) for each in output.order],
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
    return ["condition", condition.operation, [_part_to_json(each) for each in condition.parts]]


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
