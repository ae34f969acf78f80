"""What one row can make an engine hold or compute: every text is of bounded length, and a question makes few of them.

Guarantee (totality): the characters that an engine makes for one row are at most `MOST_MADE`, whatever the row holds.
Proof: a stored text is cut to the width of its column where it is read. A function's text is at most as long as its
domain says (`texts`, `choices`), by induction over its arguments. The texts that a question makes of a row are those of
its functions, once each, and their widths are added up here. ∎ So no person can make a text of theirs grow until a
question fails, which would be an answer without noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan.domains import Kind
from giveortake.plan.expressions import Call
from giveortake.plan.relations import Unary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.plan.expressions import Expression
    from giveortake.plan.relations import Relation
    from giveortake.plan.tables import Schema

MOST_MADE = 1 << 16  # characters of all texts that a question makes of one row


def require_short_texts(relation: Relation, expressions: Iterable[Expression]) -> None:
    """Refuse a question whose texts could be too long together; `expressions` are its keys and what it aggregates."""
    made = _made_by(relation) + _made_of(expressions, relation.schema)
    if made > MOST_MADE:
        raise QueryRefused(
            f"the texts that the question makes of one row could have {made:,} characters, more than {MOST_MADE:,}",
            hint="take parts of texts first: SUBSTRING(x, 1, 100); or let the custodian declare a max_length",
        )


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
