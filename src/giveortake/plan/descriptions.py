"""What was asked, in a few words for the ledger: aggregates, keys, tables and columns, and no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.plan import Filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.plan import Aggregate, Question, Relation

_LONGEST = 300


def described(questions: Sequence[Question]) -> str:
    """The questions of one charge, for whoever reads the ledger.

    It is made of the questions alone. Constants in them are left out: the ledger need not know what somebody looked
    for, and the question's name tells apart what differs in them.
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
