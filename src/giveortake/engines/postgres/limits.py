"""What PostgreSQL cannot run, as far as the question alone shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.questions import Tally
from giveortake.engines.vector_sums import VectorSum
from giveortake.errors import QueryRefused
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Collection

    from giveortake.engines.questions import Asked

_MOST_COLUMNS = 1664  # of one SELECT
_LONGEST_NAME = 63  # bytes; the rest is cut off silently
_OUR_OWN = 4  # columns that statements add


def require_within_limits(asked: Asked) -> None:
    """Refuse a question whose statement PostgreSQL would refuse or misread."""
    numbers = 1
    if isinstance(asked, Tally):
        numbers = len(asked.summands)
    elif isinstance(asked, VectorSum):
        numbers = max(len(asked.values), 2 * len(asked.components))
    _require_few(len(asked.keys.columns) + numbers)
    schema = asked.relation.schema
    for column in asked.keys.columns:
        if column.values is not None and column.expression.domain(schema).kind is Kind.TEXT:
            _require_texts(column.values)


def require_columns(names: Collection[str]) -> None:
    """Refuse too many columns in one SELECT, or names that PostgreSQL would cut to the same name."""
    _require_few(len(names))
    if len({name.encode()[:_LONGEST_NAME] for name in names}) < len(names):
        raise QueryRefused(
            f"two columns' names differ only after {_LONGEST_NAME} bytes, where PostgreSQL cuts names off",
            hint="take shorter names",
        )


def _require_few(columns: int) -> None:
    if columns + _OUR_OWN > _MOST_COLUMNS:
        raise QueryRefused(
            f"the question takes more than the {_MOST_COLUMNS:,} columns that a SELECT of PostgreSQL may have",
            hint="ask for fewer numbers at once",
        )


def _require_texts(values: Collection[object]) -> None:
    if "\0" in "".join(str(value) for value in values):
        raise QueryRefused(
            "a key is a text with a NUL character in it, which PostgreSQL does not have",
            hint="declare only the column's other categories",
        )
