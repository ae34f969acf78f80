"""Limits on what a question can make an engine hold or compute: steps, texts of one row, rows of one person.

Guarantee (bounded cost of a row): the characters that an engine makes for one row are at most `MOST_MADE`, and those
that it keeps of it, in keys and distinct values, at most `MOST_KEPT`, whatever the row holds. Of a person's rows that a
join multiplies, it keeps at most `MOST_JOINED`. All joins and unions of a question together repeat a stored row at most
`_MOST_REPEATED` times, unless caps bound all rows that they make of a person's.

Proof: a stored text is cut to the width of its column where it is read. A function's text is at most as long as its
domain says (`texts`, `choices`), by induction over its arguments. The texts that a question makes of a row are those of
its functions, once each, and their widths are added up here. ∎ So no question makes a text of one person grow until it
fails, which would be an answer without noise. What a person has stored themselves, in however many rows, is read all
the same: see the page on sharp edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.advice import Advice
from giveortake.errors import QueryRefused
from giveortake.plan.domains import Kind
from giveortake.plan.expressions import Call, ColumnReference
from giveortake.plan.relations import JoinPersons, PerPerson, Unary, person_joins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.plan.expressions import Expression
    from giveortake.plan.relations import Relation
    from giveortake.plan.tables import Schema

MOST_MADE = 1 << 16  # characters of all texts that a question makes from one row
MOST_KEPT = 1 << 14  # characters of the texts that it groups by or counts distinct values of
MOST_JOINED = 1 << 24  # characters of these, in all rows that a join makes for one person
_MOST_STEPS = 200  # relations that one question is built of
_MOST_MATCHES = 100_000  # rows that a join may make of one person's rows, where both sides bound them
_MOST_REPEATED = 100  # times that all joins and unions may repeat a row, where nothing bounds a person's rows

_SHORTER = "take parts of texts first: SUBSTRING(x, 1, 100); or let the custodian declare a max_length"


def require_short_texts(relation: Relation, expressions: Iterable[Expression]) -> None:
    """Refuse a question whose texts could be too long together; `expressions` are its keys and what it aggregates."""
    made = _made_by(relation) + _made_of(expressions, relation.schema)
    if made > MOST_MADE:
        raise QueryRefused(
            f"the texts that the question makes of one row could have {made:,} characters, more than {MOST_MADE:,}",
            hint=_SHORTER,
        )


def require_few_kept(relation: Relation, kept: Iterable[Expression]) -> None:
    """Refuse to group by, or count distinct, computed texts that could be too long together."""
    characters = _kept_of(kept, relation.schema) + _kept_by(relation)
    rows = (relation.most_rows or 1) if person_joins(relation) else 1
    if characters > MOST_KEPT or characters * rows > MOST_JOINED:
        raise QueryRefused(
            f"the keys and distinct values that the question makes could have {characters:,} characters in a row, and "
            f"{characters * rows:,} in all that a join makes of a person's rows",
            hint=_SHORTER,
        )


def _kept_by(relation: Relation) -> int:
    own = 0
    if isinstance(relation, PerPerson):
        distinct = (each.of for _, each in relation.features if each.is_distinct and each.of is not None)
        own = _kept_of([*map(ColumnReference, relation.keys), *distinct], relation.source.schema)
    return own + sum(map(_kept_by, relation.sources))


def _kept_of(expressions: Iterable[Expression], schema: Schema) -> int:
    """The widths of computed texts; stored texts take no additional room."""
    return sum(each.domain(schema).made or 0 for each in expressions)


def _made_by(relation: Relation) -> int:
    made = sum(map(_made_by, relation.sources))
    return made + _made_of(relation.computed(), relation.source.schema) if isinstance(relation, Unary) else made


def _made_of(expressions: Iterable[Expression], schema: Schema) -> int:
    return sum(_made_in(expression, schema) for expression in expressions)


def _made_in(expression: Expression, schema: Schema) -> int:
    """The widths of all texts that functions make, nested ones included."""
    if not isinstance(expression, Call):
        return 0
    made = sum(_made_in(argument, schema) for argument in expression.arguments)
    if expression.name == "ilike":  # makes a text in lower case first
        return made + expression.arguments[0].domain(schema).width
    domain = expression.domain(schema)
    return made + domain.width if domain.kind is Kind.TEXT else made


def require_few_steps(relation: Relation) -> None:
    """Refuse a relation of too many steps. A step that is used twice counts twice, as engines would compute it."""
    sizes: dict[int, int] = {}

    def size(node: Relation) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum(map(size, node.sources))
        return sizes[id(node)]

    if size(relation) > _MOST_STEPS:
        raise QueryRefused(f"the question takes more than {_MOST_STEPS} steps", hint="ask a simpler one")


def require_few_matches(relation: Relation) -> None:
    """Refuse joins and unions that could make very many rows of one person's: a square of them, or a large multiple."""
    for source in relation.sources:
        require_few_matches(source)
    rows, times = _grown(relation)
    if isinstance(relation, JoinPersons) and rows > _MOST_MATCHES:
        raise QueryRefused(
            f"a join could make {rows:,} rows of a person's, more than {_MOST_MATCHES:,}",
            hint="state a smaller rows_per_person, or make one row for each person first",
        )
    if times > _MOST_REPEATED:
        raise QueryRefused(
            f"the joins and unions of the question could repeat a row {times:,} times, more than {_MOST_REPEATED}",
            hint="state a smaller rows_per_person, or make one row for each person first",
        )


def _grown(relation: Relation) -> tuple[int, int]:
    """How many rows a person can have at most: so many, and so often each stored row that nothing bounds."""
    match relation:
        case PerPerson(keys=()):
            return 1, 0
        case JoinPersons():
            (one, each), (other, beside) = _grown(relation.left), _grown(relation.right)
            if each and beside:
                raise QueryRefused(
                    "a person may have any number of rows on both sides of the join, and all pairs of them would be "
                    "made",
                    hint=Advice(
                        "{cap}, or {for_all} for all questions",
                        "make one row for each person first (GROUP BY the person in a subquery)",
                        between="; or ",
                    ),
                )
            other = max(other, 1)  # a row that finds none is kept by a left join
            return one * other, each * other + one * beside
        case _ if relation.sources:
            grown = [_grown(source) for source in relation.sources]
            return sum(rows for rows, _ in grown), sum(times for _, times in grown)
        case _:
            return (0, 1) if relation.most_rows is None else (relation.most_rows, 0)
