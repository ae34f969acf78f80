"""The tables of a question, with as many rows of each person as may count in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan.relations import Binary, JoinPersons, Relation, Scan, Unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan.questions import Question

_MOST_MATCHES = 100_000  # rows that a join may make of one person's rows, where both sides bound them
_MOST_REPEATED = 100  # times that a join may repeat a row, where only the other side bounds a person's rows


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


def require_few_matches(relation: Relation) -> None:
    """Refuse joins that would let one person with many rows make as many as the square of them."""
    for source in relation.sources:
        require_few_matches(source)
    if not isinstance(relation, JoinPersons):
        return
    one, other = relation.left.most_rows, relation.right.most_rows
    if one is None and other is None:
        raise QueryRefused(
            "a person may have any number of rows on both sides of the join, and all pairs of them would be made",
            hint="answer(…, rows_per_person=10), or gt.protect(…, rows_per_person=10) for all questions; or make one "
            "row for each person first (GROUP BY the person in a subquery)",
        )
    most = _MOST_REPEATED if one is None or other is None else _MOST_MATCHES
    if (one or 1) * (other or 1) > most:
        raise QueryRefused(
            f"a join of {_rows_in_words(one)} and {_rows_in_words(other)} of a person multiplies them by more than "
            f"{most:,}",
            hint="state a smaller rows_per_person, or make one row for each person first",
        )


def _rows_in_words(most: int | None) -> str:
    return "any number of rows" if most is None else f"up to {most:,} rows"
