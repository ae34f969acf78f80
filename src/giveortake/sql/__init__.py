"""SQL as one of two front ends to a plan: read, never forwarded.

sqlglot parses the text; an allow-list of its nodes and of their arguments becomes a `Question`. Whatever is not on the
list is refused with its name and, where there is one, a rewrite. What an error says depends on the query and on
schemas alone. The parser is imported when it is first needed.
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
    """A question, and the options that `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(…)` gave with it."""

    question: Question
    options: dict[str, Fraction | str] = field(default_factory=dict)


def parse(text: str, catalog: Catalog) -> Question:
    """The question that a SELECT asks, or a `QueryRefused` that names what is not answered."""
    return read(text, catalog).question


def read(text: str, catalog: Catalog) -> Read:
    """The question together with `epsilon` and `delta`, or `share`, if the text states them as BigQuery does."""
    from giveortake.sql.reading import read_text  # noqa: PLC0415 (the parser takes half a second to import)

    question, options = read_text(text, catalog)
    return Read(question, options)


def read_grouping_sets(text: str, catalog: Catalog) -> tuple[Question, tuple[tuple[str, ...], ...]]:
    """The question of a SELECT with ROLLUP, CUBE or GROUPING SETS by all of its keys, and the sets of keys."""
    from giveortake.sql import grouping_sets  # noqa: PLC0415 (the parser takes half a second to import)

    return grouping_sets.read_grouping_sets(text, catalog)
