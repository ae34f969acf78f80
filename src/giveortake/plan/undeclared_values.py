"""Values that a question looks for and that the domain of their column does not have: mostly misspelt ones.

Domains are public, and so is the question: what is told here depends on no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import meant
from giveortake.plan import Call, Column, Literal
from giveortake.plan.relations import Unary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from giveortake.plan import Domain, Expression, Question, Relation

_LOOKING = frozenset({"eq", "ne", "in"})


def undeclared_values(question: Question) -> tuple[str, ...]:
    """A sentence for each value that is compared with a column whose declared categories lack it."""
    found = dict.fromkeys(_of_relation(question.relation))
    schema = question.relation.schema
    for _, key in question.keys:
        found |= dict.fromkeys(_of_expression(key, schema))
    for aggregate in question.aggregates():
        for expression in aggregate.expressions:
            found |= dict.fromkeys(_of_expression(expression, schema))
    return tuple(found)


def _of_relation(relation: Relation) -> Iterator[str]:
    if isinstance(relation, Unary):
        for expression in relation.computed():
            yield from _of_expression(expression, relation.source.schema)
    for source in relation.sources:
        yield from _of_relation(source)


def _of_expression(expression: Expression, schema: Mapping[str, Domain]) -> Iterator[str]:
    if not isinstance(expression, Call):
        return
    if expression.name in _LOOKING:
        columns = [each for each in expression.arguments if isinstance(each, Column)]
        values = [each.value for each in expression.arguments if isinstance(each, Literal) and each.value is not None]
        for column in columns:
            known = schema[column.name].categories or ()
            for value in values if known else ():
                if value not in known:
                    close = meant(str(value), [each for each in known if isinstance(each, str)]).rstrip()
                    yield (
                        f"{str(value)!r} is none of the declared categories of `{column.name}`: no row has it"
                        f"{f'; {close}' if close else ''}"
                    )
    for argument in expression.arguments:
        yield from _of_expression(argument, schema)
