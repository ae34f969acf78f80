"""Descriptions of questions for people, and remarks on values that occur in no row.

Questions and domains are public: nothing here depends on a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import meant
from giveortake.plan import Call, ColumnReference, Filter, Literal
from giveortake.plan.expressions import is_missing
from giveortake.plan.relations import Unary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from giveortake.plan import Aggregate, Domain, Expression, Question, Relation

_LONGEST = 300


def described(questions: Sequence[Question]) -> str:
    """The questions of one charge, for whoever reads the ledger: aggregates, keys, tables and columns.

    It is made from the questions alone. Constants are left out: the ledger need not show what somebody looked for, and
    questions that differ only in constants have different names anyway.
    """
    text = "; ".join(map(_described, questions))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _described(question: Question) -> str:
    measured = ", ".join(dict.fromkeys(_measured(aggregate) for aggregate in question.aggregates()))
    by = f" by {', '.join(name for name, _ in question.keys)}" if question.keys else ""
    tables = ", ".join(dict.fromkeys(table.name for table in question.relation.tables()))
    conditions = dict.fromkeys(column for each in _filters(question.relation) for column in each.condition.columns())
    where = f", where {', '.join(conditions)}" if conditions else ""
    return f"{measured}{by} in {tables}{where}"


def _measured(aggregate: Aggregate) -> str:
    of = {} if aggregate.of is None else dict.fromkeys(aggregate.of.columns())
    return f"{aggregate.kind.value}{' of ' if of else ''}{', '.join(of)}"


def _filters(relation: Relation) -> Iterator[Filter]:
    if isinstance(relation, Filter):
        yield relation
    for source in relation.sources:
        yield from _filters(source)


_LOOKING = frozenset({"eq", "ne", "in"})
_COMPARING = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def undeclared_values(question: Question) -> tuple[str, ...]:
    """A sentence for each value that a column is compared with, but probably never equals.

    NULL is never equal to anything, and a value that is not among the declared categories is probably misspelt.
    """
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
    if expression.name in _COMPARING and any(map(is_missing, expression.arguments)):
        yield "a comparison with NULL is never true: write IS NULL, or IS NOT NULL"
    if expression.name in _LOOKING:
        columns = [each for each in expression.arguments if isinstance(each, ColumnReference)]
        values = [each.value for each in expression.arguments if isinstance(each, Literal) and each.value is not None]
        for column in columns:
            known = schema[column.name].categories or ()
            for value in values if known else ():
                if value not in known:
                    close = meant(str(value), [each for each in known if isinstance(each, str)]).rstrip()
                    yield (
                        f"{str(value)!r} is none of the declared categories of `{column.name}`, and has no group of "
                        f"its own{f'; {close}' if close else ''}"
                    )
    for argument in expression.arguments:
        yield from _of_expression(argument, schema)
