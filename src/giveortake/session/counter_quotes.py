"""Quotes of counters: the cost, and the margin after each period, known without reading a row."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.render import FOR_NOISE
from giveortake.exact import counted, shown
from giveortake.session.margins import unfitting
from giveortake.session.pages import WAITS

if TYPE_CHECKING:
    from giveortake.answers.terms import Caps, Confidence, LeftOut
    from giveortake.privacy import Guarantee

_SHOWN = (1, 7, 30, 100, 365, 1000)


@final
@dataclass(frozen=True, slots=True)
class CounterQuote:
    """The one charge for all periods of a horizon, and the margin of the running count after each of them.

    `margins[0]` is that of the first period. `admitted` says whether the budget would admit the charge now, `share` how
    much of a fresh budget it would use; `alone` is the margin at the horizon if every period got its own noise.
    `approval` says that the custodian has to approve the charge first.
    """

    spend: str
    cost: Guarantee
    column: str
    first: Any
    last: Any
    margins: tuple[float, ...]
    alone: float
    confidence: Confidence
    admitted: bool
    is_charged: bool
    share: Fraction | None
    caps: Caps | None
    remarks: tuple[str, ...] = ()
    left_out: LeftOut | None = None
    approval: bool = False

    @property
    def horizon(self) -> int:
        """How many periods the charge is for."""
        return len(self.margins)

    @property
    def margin(self) -> float:
        """The margin after the last period, which is the widest."""
        return self.margins[-1]

    def to_json(self) -> str:
        """The whole quote as JSON."""
        return json.dumps(
            {
                "spend": self.spend,
                "cost": str(self.cost),
                "column": self.column,
                "first": str(self.first),
                "last": str(self.last),
                "horizon": self.horizon,
                "margins": list(self.margins),
                "confidence": str(self.confidence),
                "admitted": self.admitted,
                "charged": self.is_charged,
                "approval": self.approval,
                "share": None if self.share is None else float(self.share),
                "contributions": None if self.caps is None else str(self.caps),
                "left_out": None if self.left_out is None else self.left_out.to_json(),
            },
            ensure_ascii=False,
        )

    def __str__(self) -> str:
        together = "each" if self.confidence.over == "cell" else "all together"
        periods = counted(self.horizon, "period")
        lines = [
            f"running count by {self.column}, {self.first} to {self.last}: one charge of {self.spend} for {periods}",
            self._fits(),
            *[WAITS] * self.approval,
        ]
        places = [each for each in _SHOWN if each < self.horizon] + [self.horizon]
        lines.extend(f"  after {counted(each, 'period')} ± {self.margins[each - 1]:,.4g}" for each in places)
        sure = f"with {shown(100 * self.confidence)} % {together}{'' if self.caps is None else FOR_NOISE}"
        lines.append(f"  ({sure}; noise on every period alone would be ± {self.alone:,.4g})")
        if self.caps is not None:
            lines.append(f"contributions: the first {self.caps.rows_per_person} in time of the rows of a person")
        if self.left_out is not None:
            lines.append(f"left out: {self.left_out}")
        return "\n".join(lines)

    __repr__ = __str__

    def _fits(self) -> str:
        if self.is_charged:
            return "it was charged before; going on costs nothing"
        if not self.admitted:
            return "; ".join([unfitting(self.share, self.remarks), *(each.partition(": ")[2] for each in self.remarks)])
        return f"the budget admits it; that is {shown(100 * (self.share or Fraction(0)), 3)} % of a fresh budget"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
