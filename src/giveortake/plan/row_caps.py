"""The tables of a question, with as many rows of each person as may count in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from giveortake.plan.relations import Binary, Relation, Scan, Unary, require_few_matches

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan.aggregates import Question


def with_row_caps(question: Question, rows_in: Callable[[str], int | None]) -> Question:
    """The question about tables of which each person keeps so many rows; `rows_in` is asked by a table's name.

    Tables that are read whole stay as they are. What follows from the caps, as the bounds of a person's sums, is
    derived again, and a join that would multiply a person's rows too often is refused.
    """
    made: dict[int, Relation] = {}

    def capped(relation: Relation) -> Relation:
        if id(relation) not in made:
            made[id(relation)] = _with_sources(relation, capped, rows_in)
        return made[id(relation)]

    relation = capped(question.relation)
    require_few_matches(relation)
    return question if relation is question.relation else replace(question, relation=relation)


def _with_sources(
    relation: Relation, capped: Callable[[Relation], Relation], rows_in: Callable[[str], int | None]
) -> Relation:
    """The same step of capped sources; the very object if nothing changes."""
    if isinstance(relation, Scan):
        most = (
            relation.most_rows_of_person
            if relation.is_whole or relation.person is None
            else rows_in(relation.table.name)
        )
        return relation if most == relation.most_rows_of_person else replace(relation, most_rows_of_person=most)
    sources = tuple(map(capped, relation.sources))
    if all(one is other for one, other in zip(sources, relation.sources, strict=True)):
        return relation
    if isinstance(relation, Unary):
        return replace(relation, source=sources[0])
    assert isinstance(relation, Binary)  # noqa: S101 (there are no others)
    return replace(relation, left=sources[0], right=sources[1])
