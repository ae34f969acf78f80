"""The keyword arguments that cap a person's contribution, and all keyword arguments of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from giveortake.answers.spend_terms import SpendTerms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.exact import Number


class CapTerms(TypedDict, total=False):
    """How much of one person counts. Each cap only lowers what counts, and the noise follows the caps.

    - `rows_per_person`: how many rows of a person count in each table, chosen before any filter; a number, or one for
      each table: `{"flights": 600, "planes": 1}`
    - `groups_per_person`: how many groups of the answer a person counts in
    - `rows_per_group`: how many rows of a person count in each group, or in all if there are no groups
    - `caps`: `"best"` takes the caps of the least total error of what is asked, by a profile that was released
    """

    rows_per_person: Number | Mapping[str, Number] | None
    groups_per_person: Number | None
    rows_per_group: Number | None
    caps: str | None


class AskTerms(SpendTerms, CapTerms, total=False):
    """All keyword arguments of a question: what it may cost, and how much of one person counts."""


CAP_TERMS = tuple(CapTerms.__annotations__)
