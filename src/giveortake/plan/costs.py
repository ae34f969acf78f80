"""What one row can make an engine hold or compute: every text is of bounded length, and a question makes few of them.

Guarantee (bounded cost of a row): the characters that an engine makes for one row are at most `MOST_MADE`, and those
that it keeps of it, in keys and distinct values, at most `MOST_KEPT`, whatever the row holds. Of a person's rows that a
join multiplies, it keeps at most `MOST_JOINED`.

Proof: a stored text is cut to the width of its column where it is read. A function's text is at most as long as its
domain says (`texts`, `choices`), by induction over its arguments. The texts that a question makes of a row are those of
its functions, once each, and their widths are added up here. ∎ So no question makes a text of one person grow until it
fails, which would be an answer without noise. What a person has stored themselves, in however many rows, is read all
the same: see the page on sharp edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan.domains import Kind
from giveortake.plan.expressions import Call, Column
from giveortake.plan.relations import PerPerson, Unary, person_joins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.plan.expressions import Expression
    from giveortake.plan.relations import Relation
    from giveortake.plan.tables import Schema

MOST_MADE = 1 << 16  # characters of all texts that a question makes of one row
MOST_KEPT = 1 << 14  # of those that it groups by or counts distinct values of
MOST_JOINED = 1 << 24  # of these, in all rows that a join makes of one person's


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
    """Refuse to group by, or to count distinct values of, texts that were made and could be too long together."""
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
        own = _kept_of([*map(Column, relation.keys), *distinct], relation.source.schema)
    return own + sum(map(_kept_by, relation.sources))


def _kept_of(expressions: Iterable[Expression], schema: Schema) -> int:
    """The widths of texts that are made; stored ones take no more room than they do already."""
    return sum(each.domain(schema).made or 0 for each in expressions)


def _made_by(relation: Relation) -> int:
    made = sum(map(_made_by, relation.sources))
    return made + _made_of(relation.computed(), relation.source.schema) if isinstance(relation, Unary) else made


def _made_of(expressions: Iterable[Expression], schema: Schema) -> int:
    return sum(_made_in(expression, schema) for expression in expressions)


def _made_in(expression: Expression, schema: Schema) -> int:
    """The widths of all texts that functions make, those inside of others included."""
    if not isinstance(expression, Call):
        return 0
    made = sum(_made_in(argument, schema) for argument in expression.arguments)
    if expression.name == "ilike":  # compares small letters, which are made first
        return made + expression.arguments[0].domain(schema).width
    domain = expression.domain(schema)
    return made + domain.width if domain.kind is Kind.TEXT else made
