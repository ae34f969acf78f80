"""SQL, one of two front ends to a plan: it is parsed, and never forwarded to an engine.

sqlglot parses the text; an allow-list of its nodes and of their arguments becomes a `Question`. Anything that is not on
the list is refused with its name and, if there is one, a rewrite. Errors depend only on the query and on schemas. The
parser is imported when it is first needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.plan import Catalog, Question

__all__ = ["Read", "parse", "read", "read_grouping_sets"]


@final
@dataclass(frozen=True, slots=True)
class Read:
    """A question, and the options of its `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(…)`."""

    question: Question
    options: dict[str, Fraction | str] = field(default_factory=dict)


def parse(text: str, catalog: Catalog) -> Question:
    """The question that a SELECT asks, or a `QueryRefused` that names what is not answered."""
    return read(text, catalog).question


def read(text: str, catalog: Catalog) -> Read:
    """The question together with `epsilon` and `delta`, or `share`, if the text states them as BigQuery does."""
    from giveortake.sql.select import read_text  # noqa: PLC0415 (the parser takes half a second to import)

    question, options = read_text(text, catalog)
    return Read(question, options)


def read_grouping_sets(text: str, catalog: Catalog) -> tuple[Question, tuple[tuple[str, ...], ...]]:
    """The question of a SELECT with ROLLUP, CUBE or GROUPING SETS, grouped by all keys, and the sets of keys."""
    from giveortake.sql import select  # noqa: PLC0415 (the parser takes half a second to import)

    return select.read_grouping_sets(text, catalog)
