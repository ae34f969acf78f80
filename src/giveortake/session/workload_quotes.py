"""Quotes of workloads: the cost, and the margins of each table, known without reading a row."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.render import FOR_NOISE
from giveortake.arguments import TO_SAVE, told_by_name
from giveortake.errors import InvalidParameter
from giveortake.exact import counted, shown
from giveortake.session.margins import unfitting
from giveortake.session.pages import ASKED_BEFORE, WAITS

if TYPE_CHECKING:
    import os
    from fractions import Fraction

    from giveortake.answers.terms import Caps, Confidence, LeftOut
    from giveortake.privacy import Guarantee

_SHOWN = 12  # tables in a text


@final
@dataclass(frozen=True, slots=True)
class WorkloadQuote:
    """The price of a workload; for each table the standard deviation and margin of a cell, also for an equal split.

    `lines` has one dictionary for each table; `admitted` says whether the budget would admit it now, `share` how much
    of a fresh budget it would use, `caps` how much of a person counts, and `left_out` what that leaves out. `advice` is
    what would tell more. `paid` says that it was answered for the same asker at this price, and is free; `approval`
    that the custodian has to approve it first.
    """

    spend: str
    cost: Guarantee
    strategy: str
    lines: tuple[dict[str, Any], ...]
    confidence: Confidence
    admitted: bool
    share: Fraction | None = None
    caps: Caps | None = None
    left_out: LeftOut | None = None
    remaining: Any = None
    remarks: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    paid: bool = False
    approval: bool = False

    @property
    def margins(self) -> dict[tuple[str, ...], float]:
        """The margin of a cell of every table of counts, by the columns of the table."""
        return {line["table"]: line["margin"] for line in self.lines if line["of"] == "n"}

    @property
    def rms(self) -> float:
        """The root mean square of the standard deviations of a cell, over all tables of counts."""
        return self._rms("sd")

    @property
    def equal_rms(self) -> float:
        """The `rms` if the promise were split equally among all tables."""
        return self._rms("equal_sd")

    def _rms(self, name: str) -> float:
        counts = [line[name] for line in self.lines if line["of"] == "n"]
        return math.sqrt(sum(each**2 for each in counts) / max(len(counts), 1))

    def line(self, *columns: str) -> dict[str, Any]:
        """The line of the table with the given columns."""
        for line in self.lines:
            if set(line["table"]) == set(columns):
                return line
        known = "; ".join(", ".join(line["table"]) for line in self.lines[:5])
        raise InvalidParameter("columns", columns, "are not the columns of one of the tables", hint=f"such as {known}")

    def to_json(self) -> str:
        """The whole quote as JSON."""
        return json.dumps(
            {
                "spend": self.spend,
                "cost": str(self.cost),
                "strategy": self.strategy,
                "confidence": str(self.confidence),
                "admitted": self.admitted,
                "paid": self.paid,
                "approval": self.approval,
                "share": None if self.share is None else float(self.share),
                "contributions": None if self.caps is None else str(self.caps),
                "left_out": None if self.left_out is None else self.left_out.to_json(),
                "notes": list(self.remarks),
                "advice": list(self.advice),
                "tables": [{**line, "table": list(line["table"])} for line in self.lines],
            },
            ensure_ascii=False,
        )

    @told_by_name(elsewhere=TO_SAVE)
    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """An altair chart of the standard deviation of every table, beside that of an equal split; a path saves it."""
        from giveortake import plot  # noqa: PLC0415 (heavy)

        return plot.titled_or_saved(lambda words: plot.workloads(self.lines, title=words), title)

    def __str__(self) -> str:
        lines = [*self._facts(), f"strategy: {self.strategy}"]
        lines.extend(_told(line) for line in self.lines[:_SHOWN])
        if len(self.lines) > _SHOWN:
            lines.append(f"  … and {len(self.lines) - _SHOWN:,} more in .lines")
        lines.append(f"rms of a cell: sd {self.rms:,.4g}, by an equal split {self.equal_rms:,.4g}")
        return "\n".join([*lines, *self._remarks()])

    __repr__ = __str__

    def _facts(self) -> list[str]:
        together = "each" if self.confidence.over == "cell" else "all together"
        fits = ASKED_BEFORE if self.paid else "the budget admits it"
        fits = fits if self.admitted else unfitting(self.share, self.remarks)
        share = "" if self.share is None else f"; that is {shown(100 * self.share, 3)} % of a fresh budget"
        return [
            f"workload of {counted(len(self.lines), 'table')} at {self.spend}: {fits}{share}",
            *[WAITS] * self.approval,
            f"margins hold with {shown(100 * self.confidence)} % {together}{'' if self.caps is None else FOR_NOISE}",
        ]

    def _remarks(self) -> list[str]:
        caps = [] if self.caps is None else [f"contributions: {self.caps}"]
        caps += [] if self.left_out is None else [f"left out: {self.left_out}"]
        return [*caps, *(f"note: {each}" for each in self.remarks), *(f"cheaper: {each}" for each in self.advice)]

    def _repr_html_(self) -> str:
        heads = ("table", "cells", "sd", "margin", "sd by an equal split")
        rows = [
            (_name(line), f"{line['cells']:,}", *(f"{line[each]:,.4g}" for each in ("sd", "margin", "equal_sd")))
            for line in self.lines
        ]
        head = "".join(f"<th>{each}</th>" for each in heads)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        before, after = (
            "".join(f"<p>{html.escape(each)}</p>" for each in some) for some in (self._facts(), self._remarks())
        )
        return f"{before}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"


def _name(line: dict[str, Any]) -> str:
    of = "" if line["of"] == "n" else f"{line['of']} by "
    return of + (" × ".join(line["table"]) or "total")


def _told(line: dict[str, Any]) -> str:
    return (
        f"  {_name(line)}: {counted(line['cells'], 'cell')} ± {line['margin']:,.4g} "
        f"(sd {line['sd']:,.4g}, by an equal split {line['equal_sd']:,.4g})"
    )
