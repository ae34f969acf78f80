"""What a synthesis would cost, and about how exact it will be, before anything is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.exact import shown
from giveortake.session.pages import ASKED_BEFORE, WAITS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from giveortake.privacy import ApproxDP


@final
@dataclass(frozen=True, slots=True)
class SynthesisQuote:
    """The charge, the rounds it is shared out among, and the deviations of what will be measured, in rows."""

    rho: Fraction
    promise: ApproxDP
    rounds: int
    single_columns: Mapping[str, float]
    of_round: float  # the deviation of a count that one round measures, before what residuals save
    tables: int
    too_large: int
    ends: tuple[str, ...]
    admitted: bool
    counted: tuple[str, ...] = ()
    paid: bool = False  # the same asker paid for the same table, and gets it again for free
    approval: bool = False  # the custodian has to approve the charge first

    def __repr__(self) -> str:
        worst = max(self.single_columns, key=lambda name: self.single_columns[name])
        budget = f"ε = {shown(self.promise.epsilon)}, δ = {shown(self.promise.delta)}"
        tables = "1 table" if self.tables == 1 else f"{self.tables} tables"
        lines = [
            f"one charge of ρ = {shown(self.rho, 4)}: the most that a budget of {budget} admits at once",
            f"single columns: ± {self.single_columns[worst]:,.0f} rows or less (one deviation, {worst})",
            f"about {self.rounds} rounds: each measures one of {tables}, ± {self.of_round:,.0f} rows",
        ]
        lines += self.counted
        if self.too_large:
            lines.append(f"{self.too_large} pairs of columns have too many cells, and are never measured")
        if self.ends:
            lines.append(
                f"several sums guard the budget side by side: this ends those of {', '.join(self.ends)}, and the "
                "others go on"
            )
        if not self.admitted:
            lines.append("the budget does not admit it now")
        lines += [ASKED_BEFORE] * self.paid + [WAITS] * self.approval
        return "\n".join(lines)
