"""How much of a person counts: the custodian's bounds on contributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.errors import InvalidParameter
from giveortake.exact import whole

if TYPE_CHECKING:
    from giveortake.exact import Number

USUAL_GROUPS, USUAL_ROWS = 4, 4


@final
@dataclass(frozen=True, slots=True)
class Caps:
    """At most `groups` groups of a person count and at most `rows` rows in each; or at most `total` rows altogether.

    With `total` the rows are chosen once, before any question and its filters, by a hash of their content.
    """

    groups: int = USUAL_GROUPS
    rows: int = USUAL_ROWS
    total: int | None = None
    stated: bool = True

    @classmethod
    def of(
        cls,
        groups_per_person: Number | None,
        rows_per_group: Number | None,
        rows_per_person: Number | None,
    ) -> Caps:
        """The caps that a custodian states, or the usual ones."""
        if rows_per_person is not None:
            if groups_per_person is not None or rows_per_group is not None:
                raise InvalidParameter(
                    "rows_per_person",
                    rows_per_person,
                    "bounds all rows of a person already",
                    hint="state it alone, or groups_per_person and rows_per_group",
                )
            return cls(total=whole("rows_per_person", rows_per_person))
        stated = groups_per_person is not None or rows_per_group is not None
        return cls(
            USUAL_GROUPS if groups_per_person is None else whole("groups_per_person", groups_per_person),
            USUAL_ROWS if rows_per_group is None else whole("rows_per_group", rows_per_group),
            stated=stated,
        )

    def __str__(self) -> str:
        if self.total is not None:
            return f"at most {self.total} rows of a person, chosen before the filter"
        return f"a person counts in at most {self.groups} groups, with at most {self.rows} rows in each"
