"""Semi-joins: rows whose value occurs in a public table, IN (SELECT … FROM public)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import QueryRefused
from giveortake.plan.arguments import require_true_or_false
from giveortake.plan.domains import Kind
from giveortake.plan.expressions import ColumnReference, Expression, require_shallow
from giveortake.plan.relations import Unary

if TYPE_CHECKING:
    from giveortake.plan.tables import PublicTable


@final
@dataclass(frozen=True, slots=True)
class SemiJoin(Unary):
    """The rows whose value occurs in a column of a public table, or with `negated` those whose value does not.

    `condition` says which rows of the public table count. Locality: whether a row stays depends on itself and on what
    is public; no row multiplies, however often a value occurs there. As in SQL, a missing value never matches, and
    with `negated` no row stays if a value in the column is missing.
    """

    public: PublicTable
    on: Expression
    public_column: str
    condition: Expression | None = None
    negated: bool = False

    def __post_init__(self) -> None:
        require_shallow(self.on)
        theirs, ours = (
            ColumnReference(self.public_column).domain(self.public.schema),
            self.on.domain(self.source.schema),
        )
        if theirs.kind is not ours.kind or theirs.kind in {Kind.REAL, Kind.DECIMAL}:
            raise QueryRefused(
                f"{ours.kind} values cannot be looked up among {theirs.kind} values",
                hint="whole numbers, texts and dates are, in columns of the same kind",
            )
        if self.condition is not None:
            require_true_or_false(self.condition, self.public.schema)

    def computed(self) -> tuple[Expression, ...]:
        return (self.on,)

    def to_json(self) -> Any:
        public = [self.public.name, self.public.fingerprint]
        condition = None if self.condition is None else self.condition.to_json()
        return [
            "semi join",
            self.source.to_json(),
            public,
            self.on.to_json(),
            self.public_column,
            condition,
            self.negated,
        ]
